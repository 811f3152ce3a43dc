/*
 * dp-vbs+: guillotine cuttings of the request (guillotine.c), with a barrier wherever it pays, at
 * every level of the network's structure and within every branch.
 *
 * The layers stand in one line (dp.h), so that bytes are exact for any DAG: nothing is reserved for
 * a block of branches, and a barrier between two branches takes the place of the special layer.
 * Blocks keep their structure, so that a cut never takes some layers of one block with some of the
 * next: such cuts would gain little (below 0.2 percent on GoogLeNet, up to 1.6 on ResNet-50 in the
 * tightest memory) and take five to ten times as long; only planner optimal tries them, on networks
 * that are not too large. Branches are run in the network's order and, solved once more, in the
 * order that takes least memory. Where the order of the ids is not branch after branch it is solved
 * too, as a line without structure; where it is, the schedules of dp-monotone, whose batches may
 * cross blocks, are offered as well. So dp-vbs+ is never slower than fbs, fbs-best, greedy-vbs,
 * dp-monotone and dp-vbs.
 */
#include "plan/dp/dp.h"
#include "plan/dp/reasons.h"

#include "base/fail.h"

#include <stdlib.h>

/* Makes the chain of an order, folded where the order has a structure. */
static enum vbs_status make_chain(struct vbs_ctx *ctx, const struct vbs_task *task,
                                  const struct vbs_orders *orders, int at, struct vbs_arena *arena,
                                  struct vbs_chain *chain)
{
    const struct vbs_chain *structure = &orders->at[at].structure;
    struct vbs_chain line;

    VBS_TRY(vbs_line_build(ctx, task, arena, orders->at[at].layers, &line));
    *chain = line;
    return structure->n_items > 0 ? vbs_line_fold(ctx, arena, &line, structure, chain) : VBS_OK;
}

static enum vbs_status solve_order(struct vbs_ctx *ctx, const struct vbs_task *task,
                                   const struct vbs_orders *orders, int at,
                                   struct vbs_pareto_set *pareto)
{
    struct vbs_arena arena = {0};
    struct vbs_chain chain;
    enum vbs_status status = make_chain(ctx, task, orders, at, &arena, &chain);

    if (status == VBS_OK)
        status = vbs_guillotine_solve(ctx, task, &chain, VBS_CUT_BARRIER, pareto, 1);
    vbs_arena_clear(&arena);
    return status;
}

static enum vbs_status plus_open(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    struct vbs_pareto_set *pareto = calloc(1, sizeof *pareto);
    struct vbs_arena arena = {0};
    struct vbs_orders orders;
    enum vbs_status status;

    if (!pareto)
        return vbs_no_memory(ctx);
    pareto->task = task;
    status = vbs_orders_find(ctx, task, &arena, &orders);
    for (int i = 0; status == VBS_OK && i < orders.n; i++)
        status = solve_order(ctx, task, &orders, i, pareto);
    /* The batches of dp-monotone grow at layers within blocks too, where no cut that began before
     * the block may end. */
    if (status == VBS_OK && !vbs_orders_have_plain_ids(task, &orders))
        status = vbs_monotone_offer(ctx, task, pareto);
    vbs_arena_clear(&arena);
    if (status != VBS_OK) {
        vbs_pareto_close(pareto);
        return status;
    }
    *self = pareto;
    return VBS_OK;
}

static enum vbs_status explain_order(struct vbs_reasons *reasons, const struct vbs_orders *orders,
                                     int at, const struct vbs_question *question, bool *found)
{
    struct vbs_arena arena = {0};
    struct vbs_chain chain;
    enum vbs_status status = make_chain(reasons->ctx, reasons->task, orders, at, &arena, &chain);

    if (status == VBS_OK)
        status = vbs_guillotine_explain(reasons, &chain, VBS_CUT_BARRIER, question, found);
    vbs_arena_clear(&arena);
    return status;
}

/* Explains the first order that has the plan or the part. */
static enum vbs_status plus_explain(struct vbs_reasons *reasons, void *self,
                                    const struct vbs_question *question)
{
    struct vbs_arena arena = {0};
    struct vbs_orders orders;
    bool found = false;
    enum vbs_status status = vbs_orders_find(reasons->ctx, reasons->task, &arena, &orders);

    (void)self; /* has schedules and no curves */
    for (int i = 0; status == VBS_OK && !found && i < orders.n; i++)
        status = explain_order(reasons, &orders, i, question, &found);
    if (status == VBS_OK && !found && question->steps)
        status = vbs_monotone_explain(reasons, question, &found);
    vbs_arena_clear(&arena);
    return status == VBS_OK && !found ? VBS_NOT_FOUND : status;
}

/* By rows, samples need less than any step of whole ones: nothing is known from below. */
static enum vbs_status plus_bracket(struct vbs_ctx *ctx, const struct vbs_task *task,
                                    struct vbs_bracket *bracket)
{
    VBS_TRY(vbs_orders_bracket(ctx, task, bracket));
    if (task->has_rows)
        bracket->low_bytes = 0;
    return VBS_OK;
}

const struct vbs_planner vbs_planner_dp_vbs_plus = {
    .name = "dp-vbs+",
    .compared_beside_weights = true,
    .summary = "dp-vbs with barriers at every level, its memory exact for any DAG",
    .source = "VBS III",
    .cost = "that of dp-vbs for each order of the branches, once for all budgets",
    .open = plus_open,
    .bracket = plus_bracket,
    .plan = vbs_pareto_plan_within,
    .least_bytes = vbs_pareto_least_bytes,
    .peak_bytes = vbs_pareto_peak_bytes,
    .thresholds = vbs_pareto_thresholds,
    .explain = plus_explain,
    .explains_parts = true,
    .close = vbs_pareto_close,
};
