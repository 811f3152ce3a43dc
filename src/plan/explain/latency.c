/*
 * The least latency that a planner can keep in any memory.
 *
 * A copy of the profile in which nothing takes memory serves for this: its curves have one point,
 * and a solve takes a fraction of the first one. The least latency lies between the least of all
 * paths through the lattice and the latency of the planner's plan when nothing is bounded. Between
 * the two it is found by bisection, in which each step is a solve.
 */
#include "plan/explain/internal.h"

#include "base/fail.h"
#include "plan/problem/problem.h"

#include <math.h>
#include <stdlib.h>

#define NEAR 1e-9 /* relative tolerance of the search for a latency */

/* Adds to chunk_ticks[c], c = 1..request, the least time in which layer runs c samples. Batch 1 is
 * the first, so that every layer_ticks[c] is set. */
static void add_layer(const struct vbs_task *task, int layer, int64_t *layer_ticks,
                      int64_t *chunk_ticks)
{
    for (int i = 0; i < task->n_batches; i++) {
        int batch = task->profile->batches[i];
        int64_t ticks =
            vbs_task_ticks(task, vbs_task_row(task, layer, batch, 0, INT64_MAX)->time_us);

        for (int c = batch; c <= task->request; c++)
            if (i == 0 || layer_ticks[c - batch] + ticks < layer_ticks[c])
                layer_ticks[c] = layer_ticks[c - batch] + ticks;
    }
    for (int c = 1; c <= task->request; c++)
        chunk_ticks[c] += layer_ticks[c];
}

/* Replaces chunk_ticks[c] by the least longest chunk of all divisions of c samples into chunks, for
 * c = 1..request. */
static void divide(const struct vbs_task *task, int64_t *chunk_ticks)
{
    for (int c = 1; c <= task->request; c++) /* the last chunk begins as all c samples */
        for (int last = 1; last < c; last++) {
            int64_t before = chunk_ticks[c - last], longest = chunk_ticks[last];

            longest = before > longest ? before : longest;
            if (longest < chunk_ticks[c])
                chunk_ticks[c] = longest;
        }
}

/* Computes the least latency of any path through the lattice in unlimited memory, where each layer
 * brings a chunk through in its own best batches. O(layers x request x batches + request^2). */
static enum vbs_status least_of_lattice(struct vbs_ctx *ctx, const struct vbs_problem *problem,
                                        double *latency_us)
{
    size_t n = (size_t)problem->request + 1;
    int64_t *layer_ticks = calloc(n, sizeof *layer_ticks);
    int64_t *chunk_ticks = calloc(n, sizeof *chunk_ticks);
    struct vbs_task task;
    enum vbs_status status =
        layer_ticks && chunk_ticks ? vbs_task_init(ctx, &task, problem) : vbs_no_memory(ctx);

    if (status != VBS_OK)
        goto clean_up;
    for (int k = 1; status == VBS_OK && k <= task.n_layers; k++) {
        if (vbs_cancelled(ctx))
            status = vbs_fail(ctx, VBS_INTERRUPTED, "interrupted");
        add_layer(&task, k, layer_ticks, chunk_ticks);
    }
    if (problem->io == VBS_IO_EXTERNAL)
        divide(&task, chunk_ticks);
    *latency_us = vbs_task_us(&task, chunk_ticks[problem->request]);
    vbs_task_clear(&task);

clean_up:
    free(layer_ticks);
    free(chunk_ticks);
    return status;
}

/* Lowers *latency_us to the latency of the plan for a budget. */
static enum vbs_status walk_budget(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                   int64_t memory_bytes, double *latency_us)
{
    struct vbs_draft draft = {0};
    struct vbs_timeline timeline = {0};
    enum vbs_status status = opened->planner->plan(ctx, opened->self, memory_bytes, &draft);

    if (status == VBS_OK)
        status = vbs_timeline_find(ctx, opened->task, &draft.steps, &timeline);
    if (status == VBS_OK && timeline.latency_us < *latency_us)
        *latency_us = timeline.latency_us;
    vbs_step_list_clear(&draft.steps);
    return status;
}

static enum vbs_status walk_all_budgets(struct vbs_ctx *ctx,
                                        const struct vbs_opened_planner *opened, double *latency_us)
{
    int64_t *bytes;
    int n;
    enum vbs_status status = opened->planner->thresholds(ctx, opened->self, &bytes, &n);

    if (status != VBS_OK)
        return status;
    for (int i = 0; status == VBS_OK && i < n; i++) {
        status = walk_budget(ctx, opened, bytes[i], latency_us);
        if (status == VBS_INFEASIBLE)
            status = VBS_OK;
        if (status == VBS_OK && vbs_cancelled(ctx))
            status = vbs_fail(ctx, VBS_INTERRUPTED, "interrupted");
    }
    free(bytes);
    return status;
}

/* A planner, and the problem for which its latency is computed. */
struct inquiry {
    const struct vbs_planner *planner;
    struct vbs_solver_options options;
    struct vbs_problem problem;
};

/* Lowers *latency_us to the latency of the inquiry's plan at its least budget, or to the lowest of
 * its plans at all breakpoints. */
static enum vbs_status inquire(struct vbs_ctx *ctx, const struct inquiry *inquiry, bool all_budgets,
                               double *latency_us)
{
    struct vbs_task task;
    struct vbs_opened_planner opened = {.planner = inquiry->planner, .task = &task};
    enum vbs_status status;

    VBS_TRY(vbs_task_init(ctx, &task, &inquiry->problem));
    task.options = inquiry->options;
    status = opened.planner->open(ctx, &task, &opened.self);
    if (status == VBS_OK) {
        int64_t least_bytes = opened.planner->least_bytes(opened.self);

        if (all_budgets)
            status = walk_all_budgets(ctx, &opened, latency_us);
        else if (least_bytes < INT64_MAX)
            status = walk_budget(ctx, &opened, least_bytes, latency_us);
        opened.planner->close(opened.self);
    }
    vbs_task_clear(&task);
    return status;
}

/* Bisects between low_us, which cannot be kept, and *high_us, which can. */
static enum vbs_status halve(struct vbs_ctx *ctx, struct inquiry *inquiry, double low_us,
                             double *high_us)
{
    while (*high_us - low_us > NEAR * *high_us) {
        double middle_us = low_us + (*high_us - low_us) / 2, kept_us = *high_us;

        if (middle_us <= 0)
            return VBS_OK;
        inquiry->problem.latency_us = middle_us;
        VBS_TRY(inquire(ctx, inquiry, false, &kept_us));
        if (kept_us < *high_us)
            *high_us = kept_us;
        else
            low_us = middle_us;
    }
    return VBS_OK;
}

/* Lowers *latency_us to the least latency that the planner can keep, if it is smaller. The profile
 * takes no memory. The bound from the lattice is tried first, then whether anything below
 * *latency_us can be kept. */
static enum vbs_status search(struct vbs_ctx *ctx, struct inquiry *inquiry, double *latency_us)
{
    double low_us, found_us = HUGE_VAL;
    enum vbs_status status = least_of_lattice(ctx, &inquiry->problem, &low_us);

    if (status != VBS_OK || low_us >= *latency_us * (1 - NEAR))
        return status;
    inquiry->problem.latency_us = low_us;
    if (low_us > 0)
        status = inquire(ctx, inquiry, false, &found_us);
    if (status != VBS_OK)
        return status;
    if (found_us == HUGE_VAL) {
        inquiry->problem.latency_us = *latency_us < HUGE_VAL ? *latency_us * (1 - NEAR) : 0;
        VBS_TRY(inquire(ctx, inquiry, false, &found_us));
        if (found_us < HUGE_VAL)
            VBS_TRY(halve(ctx, inquiry, low_us, &found_us));
    }
    if (found_us < *latency_us)
        *latency_us = found_us;
    return VBS_OK;
}

/* The problem, and the same on a profile that takes no memory. */
struct both {
    struct vbs_problem real, bare;
};

/* Does the same on any profile. With more memory greedy-vbs takes larger batches and may have a
 * longer latency, so that for it the plans at all breakpoints count. */
static enum vbs_status find_least(struct vbs_ctx *ctx, const struct both *both,
                                  const struct vbs_planner *planner,
                                  const struct vbs_solver_options *options, enum vbs_io io,
                                  double *latency_us)
{
    bool all_budgets = planner->may_be_late;
    struct inquiry inquiry = {.planner = planner, .problem = all_budgets ? both->real : both->bare};

    if (options)
        inquiry.options = *options;
    inquiry.problem.io = io;
    inquiry.problem.latency_us = 0;
    if (all_budgets)
        return inquire(ctx, &inquiry, true, latency_us);
    return search(ctx, &inquiry, latency_us);
}

/* Finds the planner with the least latency; of several the last in the table, which plans the
 * fastest. */
static enum vbs_status ask_others(struct vbs_ctx *ctx, const struct both *both,
                                  const struct vbs_opened_planner *opened,
                                  struct vbs_infeasibility *infeasibility)
{
    double least_us = infeasibility->least_latency_us;
    int n = 0;

    while (opened->others[n])
        n++;
    while (n-- > 0) {
        const struct vbs_planner *planner = opened->others[n];
        double latency_us = least_us;

        if (!vbs_explain_asks(opened, planner, false))
            continue;
        VBS_TRY(find_least(ctx, both, planner, NULL, both->real.io, &latency_us));
        if (latency_us < least_us * (1 - NEAR)) {
            least_us = infeasibility->other_latency_us = latency_us;
            infeasibility->other = planner;
        }
    }
    return VBS_OK;
}

/* Computes the least latency with external io, where io is resident. */
static enum vbs_status ask_external(struct vbs_ctx *ctx, const struct both *both,
                                    const struct vbs_opened_planner *opened,
                                    struct vbs_infeasibility *infeasibility)
{
    double latency_us = infeasibility->least_latency_us;

    if (both->real.io == VBS_IO_EXTERNAL)
        return VBS_OK;
    VBS_TRY(find_least(ctx, both, opened->planner, &opened->task->options, VBS_IO_EXTERNAL,
                       &latency_us));
    if (latency_us < infeasibility->least_latency_us * (1 - NEAR))
        infeasibility->external_latency_us = latency_us;
    return VBS_OK;
}

enum vbs_status vbs_explain_latency(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                    struct vbs_infeasibility *infeasibility)
{
    const struct vbs_without without = {.bytes = true};
    struct both both = {.real = opened->task->problem, .bare = opened->task->problem};
    struct vbs_profile *copy;
    enum vbs_status status;

    VBS_TRY(vbs_profile_without(ctx, both.real.profile, &without, &copy));
    both.bare.profile = copy;
    infeasibility->least_latency_us = HUGE_VAL;
    status = find_least(ctx, &both, opened->planner, &opened->task->options, both.real.io,
                        &infeasibility->least_latency_us);
    if (status == VBS_OK)
        status = ask_external(ctx, &both, opened, infeasibility);
    if (status == VBS_OK)
        status = ask_others(ctx, &both, opened, infeasibility);
    vbs_profile_free(copy);
    return status;
}
