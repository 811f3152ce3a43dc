/*
 * A network as one line of layers: a chain without special layers, for any DAG.
 *
 * When every sample passes the layers in one topological order, what a sample keeps alive depends
 * only on how many layers of the order it has passed. The bytes of a step are then exact: the sum
 * over the samples of the cut at which each of them stands, plus what the step itself adds.
 */
#ifndef VBS_PLAN_DP_LINE_H
#define VBS_PLAN_DP_LINE_H

#include "plan/dp/structure.h"

#include <stdbool.h>

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

#endif
