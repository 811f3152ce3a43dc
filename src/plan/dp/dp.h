/*
 * plan/dp: dynamic programs on chains. This header names everything that the other sub-rooms of
 * plan use of it. curve.h has the curves that the programs work on.
 */
#ifndef VBS_PLAN_DP_DP_H
#define VBS_PLAN_DP_DP_H

#include "plan/problem/problem.h"

#include <stdbool.h>

extern const struct vbs_planner vbs_planner_dp_monotone;
extern const struct vbs_planner vbs_planner_dp_vbs;
extern const struct vbs_planner vbs_planner_dp_vbs_plus;

/*
 * A network as chains of layers and special layers (VBS III, "Generalization to branched models").
 *
 * A chain is a series composition: a sequence of items through which every sample goes. An item is
 * a layer or a special layer. A special layer is a parallel composition: its branches lead from one
 * source to one sink, each is a chain of its own, and they run one after the other while the input
 * and the output of the whole block are reserved. The layers of a subgraph that is not
 * series-parallel stand in their chain one by one, in topological order. Tensors that bypass such a
 * layer count at every cut that they cross, so that every DAG has a chain.
 *
 * All bytes are per sample and do not count the bytes that an enclosing special layer reserves.
 */
struct vbs_chain {
    int n_items;
    struct vbs_item *items;
    /* [n_items + 1] live bytes before the first item, between items, and after the last. */
    int64_t *cut_bytes;
};

struct vbs_item {
    int layer; /* 1..n, or 0: a special layer or a subchain */
    /* Of a layer: the bytes live before its step, its inputs included, plus those that its output
     * adds. Of a special layer: the bytes reserved for the whole block. */
    int64_t step_bytes;
    int n_branches; /* of a special layer */
    struct vbs_chain *branches;
    struct vbs_chain *subchain; /* a chain in the place of an item: see vbs_line_fold */
};

/* Give the first and the last layer of an item, and the number of layers in the items i..j of a
 * chain. O(items inside). */
int vbs_item_first(const struct vbs_item *item);
int vbs_item_last(const struct vbs_item *item);
int vbs_chain_count(const struct vbs_chain *chain, int i, int j);

/* Writes the layers of a chain in the order in which they run, branches one after the other, and
 * returns their number. O(layers). */
int vbs_chain_layers(const struct vbs_chain *chain, int *order);

/* Gives the explanation the order of the layers of a chain, which is that of the network, where it
 * is another one than that of their numbers. VBS_NO_MEMORY. O(layers). */
enum vbs_status vbs_chain_explain_order(struct vbs_reasons *reasons,
                                        const struct vbs_chain *chain) VBS_MUST_CHECK;

/* Decomposes the network of task into a chain, all of which is allocated in arena. VBS_NO_MEMORY,
 * VBS_INTERRUPTED. O(layers x edges) at worst. */
enum vbs_status vbs_chain_build(struct vbs_ctx *ctx, const struct vbs_task *task,
                                struct vbs_arena *arena, struct vbs_chain *chain) VBS_MUST_CHECK;

/*
 * A network as one line of layers: a chain without special layers, for any DAG.
 *
 * When every sample goes through the layers in one topological order, the tensors that it keeps
 * alive depend only on the number of layers that it has behind it. The bytes of a step are then
 * exact: the sum over the samples of the cut that each of them has reached, plus the bytes that the
 * step itself adds.
 */
/* Makes the chain whose items are the layers order[0..n-1], a topological order; all of it is
 * allocated in arena. VBS_NO_MEMORY. O(layers + edges). */
enum vbs_status vbs_line_build(struct vbs_ctx *ctx, const struct vbs_task *task,
                               struct vbs_arena *arena, const int *order,
                               struct vbs_chain *chain) VBS_MUST_CHECK;

/* Topological orders whose lines are searched. */
struct vbs_orders {
    int n;
    struct {
        int *layers;                /* [n_layers] */
        struct vbs_chain structure; /* the order visits its branches one by one; no items: none */
    } at[3];
};

/*
 * Finds up to three different orders. The first visits the branches of every block one after the
 * other, in the order of the network. The second is the order of the ids. The third sorts the
 * branches of every block so that they take least memory: a branch comes the earlier, the more its
 * peak exceeds the bytes that it leaves (Liu, "An application of generalized tree pebbling to
 * sparse matrix factorization", 1987, applied to whole branches). The peak counts every layer with
 * the largest workspace of its algorithms on one sample. The order of branches makes no difference
 * to dp-vbs, which reserves input and output of the block for all of them. All is allocated in
 * arena. VBS_NO_MEMORY, VBS_INTERRUPTED.
 */
enum vbs_status vbs_orders_find(struct vbs_ctx *ctx, const struct vbs_task *task,
                                struct vbs_arena *arena, struct vbs_orders *orders) VBS_MUST_CHECK;

/* True when the order of the ids is one of the orders, with a line that has no blocks. */
bool vbs_orders_have_plain_ids(const struct vbs_task *task, const struct vbs_orders *orders);

/* Gives line the structure of chain, which has the same order of layers: a special layer becomes a
 * subchain whose items are its branches, and a branch of several layers is a subchain again. Both
 * share the data of line. All else is allocated in arena. VBS_NO_MEMORY. */
enum vbs_status vbs_line_fold(struct vbs_ctx *ctx, struct vbs_arena *arena,
                              const struct vbs_chain *line, const struct vbs_chain *chain,
                              struct vbs_chain *folded) VBS_MUST_CHECK;

/* Groups the items of a chain that has no special layers, and those of its subchains, so that no
 * chain has more than most_items (at least 2) of them (group.c). *grouped shares the data of chain.
 * All else is allocated in arena. VBS_NO_MEMORY. O(items log items). */
enum vbs_status vbs_chain_group(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                const struct vbs_chain *chain, int most_items,
                                struct vbs_chain *grouped) VBS_MUST_CHECK;

#define VBS_LEAST_ITEMS 8 /* of the groups of the coarsest cuttings */

/* Estimates the sums of curves that the cuttings of all orders take for so many samples, where
 * chains are grouped by most_items; 0: they are not. A million of them take about a tenth of a
 * second. O(layers). */
double vbs_orders_effort(const struct vbs_task *task, const struct vbs_orders *orders, int samples,
                         int most_items);
/* Returns the largest groups, VBS_LEAST_ITEMS times a power of two, with which this is at most
 * most_effort, or VBS_LEAST_ITEMS where it never is; 0: it is without groups. */
int vbs_orders_items_within(const struct vbs_task *task, const struct vbs_orders *orders,
                            int samples, double most_effort);

/* Bounds from below and above of the least budget that the guillotine cuttings of a chain need.
 * O(items x batches). */
void vbs_chain_bracket(const struct vbs_task *task, const struct vbs_chain *chain,
                       struct vbs_bracket *bracket);
/* The same for the lines of all orders that vbs_orders_find finds. */
enum vbs_status vbs_orders_bracket(struct vbs_ctx *ctx, const struct vbs_task *task,
                                   struct vbs_bracket *bracket) VBS_MUST_CHECK;

/* The cuttings that are searched; guillotine.c has both recurrences. */
enum vbs_cut_rule { VBS_CUT_PIVOT, VBS_CUT_BARRIER };

/* Adds the best schedules by rule for every budget to a Pareto set. n_sets is 1 or the request. If
 * it is 1, *pareto gets the schedules of the whole request that keep the latency of the task. If it
 * is the request, pareto[b - 1] gets the schedules of b samples, whatever their latency. Adds
 * nothing when the clock reaches task->cut_until_s first. pareto->solving_bytes becomes the largest
 * memory that the search held. VBS_NO_MEMORY names sizes that are too large; VBS_INTERRUPTED. */
enum vbs_status vbs_guillotine_solve(struct vbs_ctx *ctx, const struct vbs_task *task,
                                     const struct vbs_chain *chain, enum vbs_cut_rule rule,
                                     struct vbs_pareto_set *pareto, int n_sets) VBS_MUST_CHECK;

/* Adds the schedules of dp-monotone for every budget, within the latency of the task, to the Pareto
 * set. pareto->solving_bytes becomes at least the largest memory that this held. VBS_NO_MEMORY,
 * VBS_INTERRUPTED. */
enum vbs_status vbs_monotone_offer(struct vbs_ctx *ctx, const struct vbs_task *task,
                                   struct vbs_pareto_set *pareto) VBS_MUST_CHECK;

#endif
