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
 *
 * The solve of a long network takes minutes, and gives no schedule before its end. There, and
 * wherever time is limited, solves of the network in groups of layers come first (group.c): the
 * first, in which the groups are small, has its schedules within a fraction of a second for 1,000
 * layers, and each next one takes about four times as long. When the time is up, or the caller
 * stops the solve, the best schedules so far stand, and where they are as fast as their lower
 * bounds in all budgets that are asked for, no further solve follows. Seconds of processor time of
 * a request of 12 on chains of the analytic backend in 1 MiB, and by how much the plan exceeds its
 * bound:
 *
 *     layers   without groups   in the first groups
 *        250    1.6     3.16%          0.02   3.16%
 *        497   10.6     3.12%          0.05   3.12%
 *      1,000                           0.1    3.13%
 */
#include "plan/dp/dp.h"
#include "plan/dp/reasons.h"

#include "base/clock.h"
#include "base/fail.h"

#include <stdlib.h>

/* The work of a solve (vbs_orders_effort) that no limit ends, and of one before which no other one
 * is needed where there is no limit. */
#define FIRST_EFFORT 2e6
#define LONG_EFFORT  1e8
#define PROVEN       1e-9 /* of the time: sums and ticks differ by less */
#define FEW_BUDGETS  4    /* whose lower bounds are computed */
#define ROWS_SHARE                                                                                 \
    4 /* of the time, as a divisor, in which the first of several looks for segments */
#define FIRST_COUNTS 8 /* numbers of samples that the first of several solves tries one by one */

/* Makes the chain of an order, folded where the order has a structure, and in groups. */
static enum vbs_status make_chain(struct vbs_ctx *ctx, const struct vbs_task *task,
                                  const struct vbs_orders *orders, int at, struct vbs_arena *arena,
                                  struct vbs_chain *chain)
{
    const struct vbs_chain *structure = &orders->at[at].structure;
    struct vbs_chain line, folded;

    VBS_TRY(vbs_line_build(ctx, task, arena, orders->at[at].layers, &line));
    folded = line;
    if (structure->n_items > 0)
        VBS_TRY(vbs_line_fold(ctx, arena, &line, structure, &folded));
    *chain = folded;
    return task->most_items > 0 ? vbs_chain_group(ctx, arena, &folded, task->most_items, chain)
                                : VBS_OK;
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

static enum vbs_status solve_orders(struct vbs_ctx *ctx, const struct vbs_task *task,
                                    const struct vbs_orders *orders, struct vbs_pareto_set *pareto)
{
    for (int i = 0; i < orders->n; i++)
        VBS_TRY(solve_order(ctx, task, orders, i, pareto));
    return VBS_OK;
}

/* Returns the items of the groups that come next, or 0 where no chain has more. */
static int larger_groups(const struct vbs_task *task, const struct vbs_orders *orders, int items)
{
    double all = vbs_orders_effort(task, orders, task->request, 0);

    return vbs_orders_effort(task, orders, task->request, 2 * items) < all ? 2 * items : 0;
}

/* Finds out whether the plans for all budgets that are asked for are as fast as their lower bounds,
 * so that no further solve is needed. */
static enum vbs_status are_proven(struct vbs_ctx *ctx, const struct vbs_task *task,
                                  const struct vbs_pareto_set *pareto, bool *proven)
{
    const struct vbs_solver_options *options = &task->options;

    *proven = options->n_budgets > 0 && options->n_budgets <= FEW_BUDGETS;
    for (int i = 0; *proven && i < options->n_budgets; i++) {
        const struct vbs_pareto_plan *plan = vbs_pareto_within(pareto, options->budgets[i]);
        double bound_us = 0;

        if (plan)
            VBS_TRY(vbs_task_bound_us(ctx, task, options->budgets[i], &bound_us));
        *proven = plan && plan->time_us <= bound_us * (1 + PROVEN);
    }
    return VBS_OK;
}

/* Returns the clock at which the first solve of a limited task looks for no more segments by rows,
 * so that it ends soon after; 0: never. Further solves follow where it is one in groups. */
static double first_rows_until_s(const struct vbs_task *task, bool in_groups)
{
    double now_s = vbs_clock_s(), left_s = task->cut_until_s - now_s;

    return task->cut_until_s > 0 ? now_s + left_s / (in_groups ? ROWS_SHARE : 1) : 0;
}

/* Solves in larger and larger groups, and at last without groups. The first solve has no limit but
 * for its segments by rows. */
static enum vbs_status solve_by_and_by(struct vbs_ctx *ctx, const struct vbs_task *task,
                                       const struct vbs_orders *orders,
                                       struct vbs_pareto_set *pareto)
{
    struct vbs_task part = *task;
    bool proven;

    part.most_items = vbs_orders_items_within(task, orders, task->request, FIRST_EFFORT);
    part.rows_until_s = first_rows_until_s(task, part.most_items > 0);
    part.cut_until_s = 0;
    if (part.most_items > 0 && task->latency_ticks == INT64_MAX)
        part.exact_samples = FIRST_COUNTS;
    VBS_TRY(solve_orders(ctx, &part, orders, pareto));
    part.cut_until_s = task->cut_until_s;
    part.rows_until_s = task->rows_until_s;
    part.exact_samples = task->exact_samples;
    VBS_TRY(are_proven(ctx, task, pareto, &proven));
    while (part.most_items > 0 && !proven && !vbs_task_is_late(task)) {
        enum vbs_status status;

        part.most_items = larger_groups(task, orders, part.most_items);
        status = solve_orders(ctx, &part, orders, pareto);
        if (status == VBS_NO_MEMORY && pareto->n > 0)
            return VBS_OK; /* these groups are too large to solve; the plans of smaller ones stand
                            */
        if (status != VBS_OK)
            return status;
        VBS_TRY(are_proven(ctx, task, pareto, &proven));
    }
    return VBS_OK;
}

static enum vbs_status solve_task(struct vbs_ctx *ctx, const struct vbs_task *task,
                                  const struct vbs_orders *orders, struct vbs_pareto_set *pareto)
{
    bool is_limited =
        task->cut_until_s > 0 || vbs_orders_effort(task, orders, task->request, 0) > LONG_EFFORT;
    bool proven = false;

    if (task->most_items > 0 || !is_limited)
        VBS_TRY(solve_orders(ctx, task, orders, pareto));
    else {
        VBS_TRY(solve_by_and_by(ctx, task, orders, pareto));
        VBS_TRY(are_proven(ctx, task, pareto, &proven));
    }
    /* The batches of dp-monotone grow at layers within blocks too, where no cut that began before
     * the block may end. */
    if (proven || task->most_items > 0 || vbs_task_is_late(task) ||
        vbs_orders_have_plain_ids(task, orders))
        return VBS_OK;
    return vbs_monotone_offer(ctx, task, pareto);
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
    if (status == VBS_OK)
        status = solve_task(ctx, task, &orders, pareto);
    vbs_arena_clear(&arena);
    if (status == VBS_INTERRUPTED && pareto->n > 0) {
        pareto->interrupted = true; /* the best of the schedules so far */
        status = VBS_OK;
    }
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
    const struct vbs_task *task = reasons->task;
    struct vbs_task unlimited = *task;
    struct vbs_arena arena = {0};
    struct vbs_orders orders;
    bool found = false;
    enum vbs_status status = vbs_orders_find(reasons->ctx, task, &arena, &orders);

    (void)self; /* has schedules and no curves */
    unlimited.cut_until_s = 0;
    reasons->task = &unlimited;
    for (int i = 0; status == VBS_OK && !found && i < orders.n; i++)
        status = explain_order(reasons, &orders, i, question, &found);
    if (status == VBS_OK && !found && question->steps)
        status = vbs_monotone_explain(reasons, question, &found);
    reasons->task = task;
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
    .cost = "that of dp-vbs for each order of the branches, once for all budgets; long networks "
            "first in groups of layers",
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
