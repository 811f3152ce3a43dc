/*
 * dp-vbs+: guillotine cuttings of the request (guillotine.h), with a barrier wherever it pays, at
 * every level of the network's structure and within every branch.
 *
 * The layers stand in one line (line.h), so that bytes are exact for any DAG: nothing is set aside
 * for a block of branches, and a barrier between two branches takes the place of the special layer.
 * Blocks keep their structure, so that a cut never takes a piece of one block with a piece of the
 * next: that would gain little (below 0.2 percent on GoogLeNet, up to 1.6 on ResNet-50 in the
 * tightest memory) and take five to ten times as long; the optimum starts from those cuttings.
 * Branches are run in the network's order and, solved once more, in the one that takes least
 * memory. Where the order of the ids is another than branch after branch it is solved too, as a
 * line without structure; where it is not, the schedules of dp-monotone, which take pieces of
 * blocks, are offered beside. So no schedule of fbs, fbs-best, greedy-vbs, dp-monotone and dp-vbs
 * is out of reach.
 */
#include "plan/guillotine.h"
#include "plan/line.h"

#include "base/fail.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* structure: null for none. */
static enum vbs_status solve_order(struct vbs_ctx *ctx, const struct vbs_task *task,
                                   const int *order, const struct vbs_chain *structure,
                                   struct vbs_answers *answers)
{
    struct vbs_arena arena = {0};
    struct vbs_chain line, folded;
    enum vbs_status status = vbs_line_build(ctx, task, &arena, order, &line);

    if (status == VBS_OK && structure)
        status = vbs_line_fold(ctx, &arena, &line, structure, &folded);
    if (status == VBS_OK)
        status =
            vbs_guillotine_solve(ctx, task, structure ? &folded : &line, VBS_CUT_BARRIER, answers);
    vbs_arena_clear(&arena);
    return status;
}

static bool has_branches(const struct vbs_chain *chain)
{
    for (int i = 0; i < chain->n_items; i++)
        if (!chain->items[i].layer)
            return true;
    return false;
}

/* The batches of dp-monotone grow at layers within blocks too, where no cut ends that began before
 * the block. */
static enum vbs_status offer_monotone(struct vbs_ctx *ctx, const struct vbs_task *task,
                                      struct vbs_answers *answers)
{
    void *self = NULL;
    enum vbs_status status = vbs_planner_dp_monotone.open(ctx, task, &self);
    const struct vbs_answers *monotone = self;

    if (status != VBS_OK)
        return status;
    for (int i = 0; status == VBS_OK && i < monotone->n; i++) {
        struct vbs_draft draft = {0};

        status = vbs_answers_plan(ctx, self, monotone->list[i].bytes, &draft);
        if (status == VBS_OK)
            status = vbs_answers_offer(ctx, answers, draft.reserved_bytes, &draft.steps);
        vbs_step_list_clear(&draft.steps);
    }
    if (vbs_answers_peak_bytes(self) > answers->solving_bytes)
        answers->solving_bytes = vbs_answers_peak_bytes(self);
    vbs_answers_close(self);
    return status;
}

static enum vbs_status solve_orders(struct vbs_ctx *ctx, const struct vbs_task *task,
                                    struct vbs_arena *arena, struct vbs_answers *answers)
{
    size_t n = (size_t)task->n_layers, bytes = n * sizeof(int);
    int *by_id = vbs_arena_alloc(arena, n, sizeof *by_id);
    int *by_branch = vbs_arena_alloc(arena, n, sizeof *by_branch);
    int *sorted = vbs_arena_alloc(arena, n, sizeof *sorted);
    struct vbs_chain chain;
    enum vbs_status status;

    if (!by_id || !by_branch || !sorted)
        return vbs_no_memory(ctx);
    status = vbs_chain_build(ctx, task, arena, &chain);
    if (status != VBS_OK)
        return status;
    vbs_line_order_of_ids(task, by_id);
    vbs_line_order_of_chain(&chain, by_branch);
    status = solve_order(ctx, task, by_branch, &chain, answers);
    if (status == VBS_OK && memcmp(by_id, by_branch, bytes) != 0)
        status = solve_order(ctx, task, by_id, NULL, answers);
    else if (status == VBS_OK && has_branches(&chain))
        status = offer_monotone(ctx, task, answers);
    if (status == VBS_OK)
        status = vbs_line_sort_branches(ctx, task, &chain);
    if (status != VBS_OK)
        return status;
    vbs_line_order_of_chain(&chain, sorted);
    return memcmp(sorted, by_branch, bytes) == 0 ? VBS_OK
                                                 : solve_order(ctx, task, sorted, &chain, answers);
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
