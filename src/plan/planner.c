#include "plan/planner.h"

#include "base/fail.h"
#include "base/text.h"
#include "plan/lattice.h"
#include "vbslab/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* In the order of tables and plots: baselines first. */
static const struct vbs_planner *const PLANNERS[] = {
    &vbs_planner_fbs,
    &vbs_planner_fbs_best,
    &vbs_planner_greedy_vbs,
    &vbs_planner_dp_vbs,
};

#define N_PLANNERS ((int)(sizeof PLANNERS / sizeof PLANNERS[0]))

const struct vbs_planner *vbs_planner_at(int index)
{
    return index >= 0 && index < N_PLANNERS ? PLANNERS[index] : NULL;
}

const char *vbs_planner_name(const struct vbs_planner *planner)
{
    return planner->name;
}

const char *vbs_planner_summary(const struct vbs_planner *planner)
{
    return planner->summary;
}

enum vbs_status vbs_planner_find(struct vbs_ctx *ctx, const char *name,
                                 const struct vbs_planner **planner)
{
    const char *names[N_PLANNERS], *nearest;

    for (int i = 0; i < N_PLANNERS; i++) {
        names[i] = PLANNERS[i]->name;
        if (strcmp(name, names[i]) == 0) {
            *planner = PLANNERS[i];
            return VBS_OK;
        }
    }
    nearest = vbs_nearest_name(name, names, N_PLANNERS);
    if (nearest)
        return vbs_fail(ctx, VBS_NOT_FOUND, "no planner '%s'; did you mean '%s'?", name, nearest);
    return vbs_fail(ctx, VBS_NOT_FOUND, "no planner '%s'; 'vbslab plan --help' lists them", name);
}

struct vbs_solver {
    const struct vbs_planner *planner;
    struct vbs_task task;
    void *self;
};

enum vbs_status vbs_solver_new(struct vbs_ctx *ctx, const struct vbs_planner *planner,
                               const struct vbs_problem *problem, struct vbs_solver **solver)
{
    struct vbs_solver *made = calloc(1, sizeof *made);
    enum vbs_status status;

    if (!made)
        return vbs_no_memory(ctx);
    made->planner = planner;
    status = vbs_task_init(ctx, &made->task, problem);
    if (status == VBS_OK) {
        status = planner->open(ctx, &made->task, &made->self);
        if (status != VBS_OK)
            vbs_task_clear(&made->task);
    }
    if (status != VBS_OK) {
        free(made);
        return status;
    }
    *solver = made;
    return VBS_OK;
}

void vbs_solver_free(struct vbs_solver *solver)
{
    if (!solver)
        return;
    solver->planner->close(solver->self);
    vbs_task_clear(&solver->task);
    free(solver);
}

int64_t vbs_solver_least_bytes(const struct vbs_solver *solver)
{
    return solver->planner->least_bytes(solver->self);
}

/* The exact peak, and the layer that reaches it first. */
static enum vbs_status find_peak(struct vbs_ctx *ctx, const struct vbs_task *task,
                                 const struct vbs_step_list *steps, int64_t *peak_bytes,
                                 int *peak_layer)
{
    struct vbs_walk walk;
    enum vbs_status status = vbs_walk_init(ctx, &walk, task);

    if (status != VBS_OK)
        return status;
    *peak_bytes = 0;
    *peak_layer = steps->steps[0].layer;
    for (int64_t s = 0; s < steps->n_steps; s++) {
        const struct vbs_step *step = &steps->steps[s];
        int64_t bytes = vbs_walk_step(&walk, step->layer, step->batch) +
                        vbs_task_step_row(task, step)->ws_bytes;

        if (bytes > *peak_bytes) {
            *peak_bytes = bytes;
            *peak_layer = step->layer;
        }
    }
    vbs_walk_clear(&walk);
    return VBS_OK;
}

/* Says from which budget on the planner has a schedule, and which layer binds there. */
static enum vbs_status explain_infeasible(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                          int64_t memory_bytes)
{
    int64_t least = vbs_solver_least_bytes(solver), reserved, peak;
    struct vbs_step_list steps = {0};
    char have[24], need[48];
    int layer = 0;
    enum vbs_status status = solver->planner->plan(ctx, solver->self, least, &steps, &reserved);

    if (status == VBS_OK)
        status = find_peak(ctx, &solver->task, &steps, &peak, &layer);
    vbs_step_list_clear(&steps);
    if (status != VBS_OK)
        return status;
    vbs_format_bytes(memory_bytes, have, sizeof have);
    vbs_format_exact(least, need, sizeof need);
    return vbs_fail(ctx, VBS_INFEASIBLE,
                    "no schedule of %s fits %s; the least budget is %s, where layer '%s' binds",
                    solver->planner->name, have, need, solver->task.profile->layers[layer].name);
}

static enum vbs_status finish(struct vbs_ctx *ctx, struct vbs_solver *solver, int64_t memory_bytes,
                              const struct vbs_step_list *steps, int64_t reserved_bytes,
                              struct vbs_schedule **schedule)
{
    const struct vbs_profile *profile = solver->task.profile;
    struct vbs_schedule draft = {
        .model = profile->circumstances.model,
        .planner = solver->planner->name,
        .request = solver->task.request,
        .memory_bytes = memory_bytes,
        .io = solver->task.problem.io,
        .predicted = {.time_us = vbs_step_list_us(&solver->task, steps),
                      .reserved_bytes = reserved_bytes},
        .n_algorithms = profile->n_algorithms,
        .algorithms = profile->algorithms,
        .n_steps = steps->n_steps,
        .steps = steps->steps,
    };
    int peak_layer;
    enum vbs_status status =
        find_peak(ctx, &solver->task, steps, &draft.predicted.peak_bytes, &peak_layer);

    if (status == VBS_OK)
        status = vbs_task_bound_us(ctx, &solver->task, memory_bytes, &draft.bound.time_us);
    if (status != VBS_OK)
        return status;
    if (draft.predicted.peak_bytes > reserved_bytes || reserved_bytes > memory_bytes)
        return vbs_fail(ctx, VBS_OVER_BUDGET, "%s planned %lld bytes beyond what it had set aside",
                        draft.planner, (long long)(draft.predicted.peak_bytes - reserved_bytes));
    if (draft.bound.time_us > draft.predicted.time_us) /* by the last bit, when the plan meets it */
        draft.bound.time_us = draft.predicted.time_us;
    if (draft.bound.time_us > 0)
        draft.bound.gap_percent =
            100 * (draft.predicted.time_us - draft.bound.time_us) / draft.bound.time_us;
    return vbs_schedule_copy(ctx, &draft, schedule);
}

enum vbs_status vbs_solver_plan(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                int64_t memory_bytes, struct vbs_schedule **schedule)
{
    struct vbs_step_list steps = {0};
    int64_t reserved_bytes = 0;
    enum vbs_status status =
        solver->planner->plan(ctx, solver->self, memory_bytes, &steps, &reserved_bytes);

    if (status == VBS_INFEASIBLE)
        status = explain_infeasible(ctx, solver, memory_bytes);
    else if (status == VBS_OK)
        status = finish(ctx, solver, memory_bytes, &steps, reserved_bytes, schedule);
    vbs_step_list_clear(&steps);
    return status;
}

static int by_bytes(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static bool same_time(double a, double b)
{
    return fabs(a - b) <= VBS_TIME_NOISE * fabs(b);
}

static enum vbs_status trace_points(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                    const int64_t *bytes, int n, struct vbs_frontier *frontier)
{
    for (int i = 0; i < n; i++) {
        struct vbs_step_list steps = {0};
        int64_t reserved;
        double time_us;
        enum vbs_status status;

        if (i > 0 && bytes[i] == bytes[i - 1])
            continue;
        status = solver->planner->plan(ctx, solver->self, bytes[i], &steps, &reserved);
        time_us = vbs_step_list_us(&solver->task, &steps);
        vbs_step_list_clear(&steps);
        if (status == VBS_INFEASIBLE)
            continue;
        if (status != VBS_OK)
            return status;
        if (vbs_cancelled(ctx))
            return vbs_fail(ctx, VBS_INTERRUPTED, "interrupted");
        if (frontier->n_points == 0 ||
            !same_time(frontier->points[frontier->n_points - 1].time_us, time_us))
            frontier->points[frontier->n_points++] =
                (struct vbs_frontier_point){.memory_bytes = bytes[i], .time_us = time_us};
    }
    return VBS_OK;
}

enum vbs_status vbs_solver_frontier(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                    struct vbs_frontier **frontier)
{
    struct vbs_frontier *made = calloc(1, sizeof *made);
    int64_t *bytes = NULL;
    int n = 0;
    enum vbs_status status =
        made ? solver->planner->thresholds(ctx, solver->self, &bytes, &n) : vbs_no_memory(ctx);

    if (status == VBS_OK) {
        made->points = calloc((size_t)n, sizeof *made->points);
        qsort(bytes, (size_t)n, sizeof *bytes, by_bytes);
        status = made->points ? trace_points(ctx, solver, bytes, n, made) : vbs_no_memory(ctx);
    }
    free(bytes);
    if (status != VBS_OK) {
        vbs_frontier_free(made);
        return status;
    }
    *frontier = made;
    return VBS_OK;
}

void vbs_frontier_free(struct vbs_frontier *frontier)
{
    if (!frontier)
        return;
    free(frontier->points);
    free(frontier);
}
