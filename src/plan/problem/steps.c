#include "plan/problem/steps.h"

#include "base/fail.h"
#include "base/grow.h"

#include <stdlib.h>

enum vbs_status vbs_step_list_append(struct vbs_ctx *ctx, struct vbs_step_list *list,
                                     const struct vbs_step *step)
{
    if (list->n_steps == VBS_MAX_STEPS)
        return vbs_fail(ctx, VBS_USAGE, "the schedule would have more than %d steps",
                        VBS_MAX_STEPS);
    VBS_TRY(vbs_grow(ctx, &list->steps, &list->capacity, list->n_steps + 1, sizeof *list->steps));
    list->steps[list->n_steps++] = *step;
    return VBS_OK;
}

enum vbs_status vbs_step_list_add(struct vbs_ctx *ctx, struct vbs_step_list *list, int layer,
                                  int batch, int algorithm)
{
    struct vbs_step step = {.layer = layer, .batch = batch, .algorithm = algorithm};

    return vbs_step_list_append(ctx, list, &step);
}

enum vbs_status vbs_step_list_copy(struct vbs_ctx *ctx, const struct vbs_step *steps, int64_t n,
                                   struct vbs_step_list *to)
{
    for (int64_t s = 0; s < n; s++) {
        VBS_TRY(vbs_step_list_append(ctx, to, &steps[s]));
    }
    return VBS_OK;
}

void vbs_step_list_clear(struct vbs_step_list *list)
{
    free(list->steps);
    *list = (struct vbs_step_list){0};
}

double vbs_step_list_us(const struct vbs_task *task, const struct vbs_step_list *list)
{
    double time_us = 0;

    for (int64_t s = 0; s < list->n_steps; s++)
        time_us += vbs_task_step_row(task, &list->steps[s])->time_us;
    return time_us;
}

bool vbs_step_list_same_batches(const struct vbs_step_list *list, const struct vbs_step *steps,
                                int64_t n)
{
    if (list->n_steps != n)
        return false;
    for (int64_t s = 0; s < n; s++)
        if (list->steps[s].layer != steps[s].layer || list->steps[s].batch != steps[s].batch)
            return false;
    return true;
}
