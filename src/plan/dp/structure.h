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
#ifndef VBS_PLAN_DP_STRUCTURE_H
#define VBS_PLAN_DP_STRUCTURE_H

#include "plan/problem/planner.h"

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

#endif
