#include "exec/replan.h"

#include "base/fail.h"

#include <stdbool.h>

/* The first smaller budgets are smaller by an eighth, a quarter and a half of the excess, not by
 * all of it, because another plan may lose fewer bytes. */
#define MAX_REPLANS   12
#define SMALL_REPLANS 3

/* The most sizes that are tried for a plan of least memory: a search for less may have found a
 * lower placement. */
#define MAX_PLACES 5

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
    if (r->n_replans == MAX_REPLANS || peak - step < least)
        step = peak - least;
    *status = vbs_solver_plan(ctx, r->solver, peak - step, &schedule);
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

enum vbs_status vbs_replan_least(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                 const struct vbs_profile *profile, double limit_s, int64_t *bytes)
{
    int64_t least = vbs_solver_least_bytes(solver);
    struct vbs_exec_options options = {.struct_size = sizeof options, .place_limit_s = limit_s};
    struct vbs_exec_placement placement;
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status;

    *bytes = least;
    if (least == 0 || least == INT64_MAX)
        return VBS_OK;
    status = vbs_solver_plan(ctx, solver, least, &schedule);
    for (int i = 0; i < MAX_PLACES && status == VBS_OK; i++) {
        options.memory_bytes = *bytes;
        status = vbs_exec_place(ctx, profile, schedule, &options, &placement, NULL);
        if (status != VBS_INFEASIBLE)
            break;
        *bytes = placement.placed_bytes > *bytes ? placement.placed_bytes : *bytes + *bytes / 20;
        status = VBS_OK;
    }
    vbs_schedule_free(schedule);
    return status;
}

/* The making of an executor. */
struct preparing {
    const struct vbs_network *network;
    const struct vbs_backend *backend;
    const struct vbs_profile *profile;
    const struct vbs_exec_options *options;
    struct vbs_replanned made;
};

/* Finds offsets before the executor is made, because they need no kernels. */
static enum vbs_status make_executor(struct vbs_ctx *ctx, void *self)
{
    struct preparing *p = self;
    struct vbs_exec_options options = *p->options;
    enum vbs_status status;

    options.progress = (struct vbs_progress){0};
    VBS_TRY(vbs_exec_place(ctx, p->profile, p->made.schedule, &options, &p->made.placement,
                           &p->made.placed));
    options.placed = p->made.placed;
    options.progress = p->options->progress;
    status = vbs_exec_new(ctx, p->network, p->backend, p->profile, p->made.schedule, &options,
                          &p->made.placement, &p->made.exec);
    if (status != VBS_OK) {
        vbs_exec_placed_free(p->made.placed);
        p->made.placed = NULL;
    }
    return status;
}

enum vbs_status vbs_replan_exec(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                const struct vbs_network *network,
                                const struct vbs_backend *backend,
                                const struct vbs_profile *profile,
                                const struct vbs_exec_options *options, struct vbs_replanned *made)
{
    struct preparing p = {
        .network = network, .backend = backend, .profile = profile, .options = options};
    struct vbs_replan replan = {.solver = solver,
                                .memory_bytes = options->memory_bytes,
                                .schedule = &p.made.schedule,
                                .make = make_executor,
                                .self = &p,
                                .placement = &p.made.placement};
    enum vbs_status status = vbs_solver_plan(ctx, solver, options->memory_bytes, &p.made.schedule);

    *made = (struct vbs_replanned){0};
    if (status != VBS_OK)
        return status;
    status = vbs_replan(ctx, &replan);
    p.made.placed_bytes = replan.placed_bytes;
    p.made.n_replans = replan.n_replans;
    if (status != VBS_OK) {
        vbs_schedule_free(p.made.schedule);
        p.made.schedule = NULL;
    }
    *made = p.made;
    return status;
}
