/*
 * dp-vbs+: every guillotine cutting of the request (guillotine.h), with a barrier wherever it pays,
 * at every level and between any two layers.
 *
 * The layers stand in one line (line.h), so that bytes are exact for any DAG: nothing is set aside
 * for a block of branches, and a barrier between two branches takes the place of the special layer.
 * Two orders are solved where they differ, that of the ids and that of dp-vbs, branch after branch,
 * so that no schedule of fbs, fbs-best, greedy-vbs, dp-monotone and dp-vbs is out of its reach.
 */
#include "plan/guillotine.h"
#include "plan/line.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

static enum vbs_status solve_order(struct vbs_ctx *ctx, const struct vbs_task *task,
                                   const int *order, struct vbs_answers *answers)
{
    struct vbs_arena arena = {0};
    struct vbs_chain chain;
    enum vbs_status status = vbs_line_build(ctx, task, &arena, order, &chain);

    if (status == VBS_OK)
        status = vbs_guillotine_solve(ctx, task, &chain, VBS_CUT_BARRIER, answers);
    vbs_arena_clear(&arena);
    return status;
}

static enum vbs_status solve_orders(struct vbs_ctx *ctx, const struct vbs_task *task,
                                    struct vbs_arena *arena, struct vbs_answers *answers)
{
    size_t n = (size_t)task->n_layers;
    int *by_id = vbs_arena_alloc(arena, n, sizeof *by_id);
    int *by_branch = vbs_arena_alloc(arena, n, sizeof *by_branch);
    struct vbs_chain chain;
    enum vbs_status status;

    if (!by_id || !by_branch)
        return vbs_no_memory(ctx);
    status = vbs_chain_build(ctx, task, arena, &chain);
    if (status != VBS_OK)
        return status;
    vbs_line_order_of_ids(task, by_id);
    vbs_line_order_of_chain(&chain, by_branch);
    status = solve_order(ctx, task, by_id, answers);
    if (status == VBS_OK && memcmp(by_id, by_branch, n * sizeof *by_id) != 0)
        status = solve_order(ctx, task, by_branch, answers);
    return status;
}

static enum vbs_status plus_open(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    struct vbs_answers *answers = calloc(1, sizeof *answers);
    struct vbs_arena arena = {0};
    enum vbs_status status;

    if (!answers)
        return vbs_no_memory(ctx);
    answers->task = task;
    status = solve_orders(ctx, task, &arena, answers);
    vbs_arena_clear(&arena);
    if (status != VBS_OK) {
        vbs_answers_close(answers);
        return status;
    }
    *self = answers;
    return VBS_OK;
}

const struct vbs_planner vbs_planner_dp_vbs_plus = {
    .name = "dp-vbs+",
    .summary = "dp-vbs with barriers at every level, its memory exact for any DAG",
    .open = plus_open,
    .plan = vbs_answers_plan,
    .least_bytes = vbs_answers_least_bytes,
    .peak_bytes = vbs_answers_peak_bytes,
    .thresholds = vbs_answers_thresholds,
    .close = vbs_answers_close,
};
