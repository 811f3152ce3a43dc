/* The schedules of a comparison, which are judged one by one and executed when all are known. */
#include "cli/compare/compare.h"

#include "base/fail.h"
#include "base/grow.h"

#include <stdlib.h>

enum vbs_status compare_keep_plan(struct vbs_ctx *ctx, void *self,
                                  const struct vbs_compare_row *row,
                                  const struct vbs_schedule *schedule)
{
    struct kept_plans *plans = self;
    struct kept_plan plan = {.planner = row->planner,
                             .memory_bytes = row->memory_bytes,
                             .predicted_us = row->per_sample_us};

    if (!schedule)
        return VBS_OK;
    VBS_TRY(vbs_grow(ctx, &plans->at, &plans->capacity, plans->n + 1, sizeof *plans->at));
    VBS_TRY(vbs_schedule_copy(ctx, schedule, &plan.schedule));
    plans->at[plans->n++] = plan;
    return VBS_OK;
}

void compare_clear_plans(struct kept_plans *plans)
{
    for (int64_t i = 0; i < plans->n; i++)
        vbs_schedule_free(plans->at[i].schedule);
    free(plans->at);
    *plans = (struct kept_plans){0};
}
