#include "simple/replan.h"

#include <stdbool.h>

/* The first smaller budgets are smaller by an eighth, a quarter and a half of the excess, not by
 * all of it, because another plan may lose fewer bytes. */
#define MAX_REPLANS   12
#define SMALL_REPLANS 3

/* Makes a plan for less memory, because the last one exceeds the budget once it is placed; at the
 * end the one of least memory. False where there is none. */
static bool plan_less(struct vbs_ctx *ctx, struct vbs_replan *r, enum vbs_status *status)
{
    int64_t least = vbs_solver_least_bytes(r->solver);
    int64_t peak = (*r->schedule)->predicted.peak_bytes;
    int64_t step = r->placement->placed_bytes - r->memory_bytes;
    struct vbs_schedule *schedule = NULL;

    if (r->n_replans < SMALL_REPLANS)
        step >>= SMALL_REPLANS - r->n_replans;
    if (step < 1)
        step = 1;
    if (peak <= least || r->n_replans == MAX_REPLANS)
        return false;
    r->n_replans++;
    *status = vbs_solver_plan(ctx, r->solver, peak - step > least ? peak - step : least, &schedule);
    if (*status == VBS_OK) {
        vbs_schedule_free(*r->schedule);
        *r->schedule = schedule;
    }
    return true;
}

enum vbs_status vbs_replan(struct vbs_ctx *ctx, struct vbs_replan *replan)
{
    enum vbs_status status = replan->make(ctx, replan->self);

    replan->n_replans = 0;
    replan->placed_bytes = replan->placement->placed_bytes;
    while (status == VBS_INFEASIBLE && plan_less(ctx, replan, &status))
        if (status == VBS_OK)
            status = replan->make(ctx, replan->self);
    return status;
}
