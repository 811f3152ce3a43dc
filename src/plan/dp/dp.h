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
 * A chain is a sequence of items that samples pass one after the other. An item is a layer, or a
 * special layer: branches between two points, each a chain of its own, run one after the other
 * while the input and the output of the whole block are set aside. Parts that are not
 * series-parallel stand in their chain layer by layer, in topological order; what passes them by is
 * counted at every cut, so that any DAG becomes a chain.
 *
 * All bytes are per sample and do not count what an enclosing special layer has set aside.
 */
struct vbs_chain {
    int n_items;
    struct vbs_item *items;
    /* [n_items + 1] bytes live between items: before the first, ..., after the last. */
    int64_t *cut_bytes;
};

struct vbs_item {
    int layer; /* 1..n, or 0: a special layer or a part */
    /* A layer: live before its step (its inputs among them) plus what its output adds. A special
     * layer: set aside for the whole block. */
    int64_t step_bytes;
    int n_branches; /* of a special layer */
    struct vbs_chain *branches;
    struct vbs_chain *part; /* a chain that stands in this one, see line.h */
};

/* Everything is allocated in arena. O(layers x edges) at worst. */
enum vbs_status vbs_chain_build(struct vbs_ctx *ctx, const struct vbs_task *task,
                                struct vbs_arena *arena, struct vbs_chain *chain) VBS_MUST_CHECK;

/*
 * A network as one line of layers: a chain without special layers, for any DAG.
 *
 * When every sample passes the layers in one topological order, what a sample keeps alive depends
 * only on how many layers of the order it has passed. The bytes of a step are then exact: the sum
 * over the samples of the cut at which each of them stands, plus what the step itself adds.
 */
/* A chain whose items are the layers order[0..n-1], a topological order. O(layers + edges).
 * Everything is allocated in arena. */
enum vbs_status vbs_line_build(struct vbs_ctx *ctx, const struct vbs_task *task,
                               struct vbs_arena *arena, const int *order,
                               struct vbs_chain *chain) VBS_MUST_CHECK;

/* Topological orders worth a line. */
struct vbs_orders {
    int n;
    struct {
        int *layers;                /* [n_layers] */
        struct vbs_chain structure; /* whose order it is, branch after branch; no items: none */
    } at[3];
};

/*
 * Branch after branch in the network's order; the ids, where that is another; branches sorted so
 * that, run one after the other, they take least memory, where that is another: those first that
 * need most beside what they leave behind (Liu, "An application of generalized tree pebbling to
 * sparse matrix factorization", 1987, for branches as wholes), each layer with the largest scratch
 * of its algorithms on one sample. dp-vbs does not see the order of branches, for it sets input and
 * output aside.
 */
enum vbs_status vbs_orders_find(struct vbs_ctx *ctx, const struct vbs_task *task,
                                struct vbs_arena *arena, struct vbs_orders *orders) VBS_MUST_CHECK;

/* True when the ids are among them as a line without blocks. */
bool vbs_orders_have_plain_ids(const struct vbs_task *task, const struct vbs_orders *orders);

/* The same line with the structure of chain, whose order it has: special layers are parts, chains
 * of their branches, and each branch of several layers is a part again. Shares what line has. */
enum vbs_status vbs_line_fold(struct vbs_ctx *ctx, struct vbs_arena *arena,
                              const struct vbs_chain *line, const struct vbs_chain *chain,
                              struct vbs_chain *folded) VBS_MUST_CHECK;

/* Between which budgets the least one lies for the cuttings of a chain. O(items x batches). */
void vbs_chain_bracket(const struct vbs_task *task, const struct vbs_chain *chain,
                       struct vbs_bracket *bracket);
/* The same for the cuttings of all lines that vbs_orders_find has. */
enum vbs_status vbs_orders_bracket(struct vbs_ctx *ctx, const struct vbs_task *task,
                                   struct vbs_bracket *bracket) VBS_MUST_CHECK;

/* Which cuttings are searched; guillotine.c has both recurrences. */
enum vbs_cut_rule { VBS_CUT_PIVOT, VBS_CUT_BARRIER };

/* Adds to answers the best schedules by rule for every budget, within the latency of the task; with
 * n_answers = request instead of 1 answers[b - 1] gets those of b samples, without regard to a
 * latency. Offers nothing when task->cut_until_s comes before the end. VBS_NO_MEMORY names the
 * sizes that are too much. answers->solving_bytes becomes what
 * this took at most. */
enum vbs_status vbs_guillotine_solve(struct vbs_ctx *ctx, const struct vbs_task *task,
                                     const struct vbs_chain *chain, enum vbs_cut_rule rule,
                                     struct vbs_pareto_set *pareto, int n_sets) VBS_MUST_CHECK;

/* Offers the schedules of dp-monotone for every budget, within the latency of the task.
 * answers->solving_bytes becomes at least what this took. */
enum vbs_status vbs_monotone_offer(struct vbs_ctx *ctx, const struct vbs_task *task,
                                   struct vbs_pareto_set *pareto) VBS_MUST_CHECK;

#endif
