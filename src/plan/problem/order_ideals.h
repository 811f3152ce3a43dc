/*
 * Order ideals (downsets): the sets of layers that one sample can have finished, and the bytes that
 * it keeps alive then.
 *
 * A set of finished layers contains, with each layer, all layers whose outputs this layer reads: it
 * is an order ideal of the DAG. Every layer takes the samples in their order. A state of the
 * lattice is therefore a descending chain of r ideals, one for each sample of the request, and the
 * live bytes of the state are the sum over its samples. A sample keeps tensor t alive while layer t
 * is finished (or t is the input) and some reader of t is not. A state is an array of r ideals, by
 * index. A chain of n layers has n + 1 ideals.
 *
 * A projection regards some layers only: ideals that agree in these layers become one, with the
 * least bytes of all of them. Every schedule of the network is therefore a schedule of the
 * projection (pattern databases of heuristic search).
 */
#ifndef VBS_PLAN_PROBLEM_ORDER_IDEALS_H
#define VBS_PLAN_PROBLEM_ORDER_IDEALS_H

#include "plan/problem/task.h"

#include <stdbool.h>

/* The step of one sample that finishes a layer leads from one ideal to another. */
struct vbs_move {
    int layer;
    int to;              /* ideal */
    int64_t base_bytes;  /* bytes of this sample that are live during the step, without its
                            output */
    int64_t place_bytes; /* those of base_bytes that the output of an in-place layer may
                            overwrite */
};

struct vbs_order_ideals {
    int n;               /* ascending by the number of layers done; ideal 0: none, n - 1: all */
    int n_words;         /* 64-bit words of a set of layers */
    int64_t *live_bytes; /* [n] bytes that one sample keeps alive */
    uint64_t *done;      /* [n][n_words] bit k - 1: layer k is done */
    int *n_done;         /* [n] layers done */
    int *first_move;     /* [n + 1] */
    struct vbs_move *moves;
    int *projected; /* [n_original] of a projection: the image of each original ideal; else null */
    int n_original;
    struct vbs_arena arena;
};

/* Networks with many parallel branches have more ideals than this; they are not listed. */
#define VBS_MAX_ORDER_IDEALS 20000

/* Lists all ideals of the task's network. *listed is false, and *ideals is empty, where there are
 * more than VBS_MAX_ORDER_IDEALS. VBS_NO_MEMORY, VBS_INTERRUPTED. O(ideals x (layers + edges)). */
enum vbs_status vbs_order_ideals_list(struct vbs_ctx *ctx, const struct vbs_task *task,
                                      struct vbs_order_ideals *ideals, bool *listed) VBS_MUST_CHECK;

/* Projects all onto a set of layers, which has all->n_words words. VBS_NO_MEMORY. */
enum vbs_status vbs_order_ideals_project(struct vbs_ctx *ctx, const struct vbs_order_ideals *all,
                                         const uint64_t *layers,
                                         struct vbs_order_ideals *projection) VBS_MUST_CHECK;

void vbs_order_ideals_clear(struct vbs_order_ideals *ideals);

static inline bool vbs_layers_have(const uint64_t *layers, int layer)
{
    return layers[(layer - 1) / 64] >> ((layer - 1) % 64) & 1;
}

static inline void vbs_layers_add(uint64_t *layers, int layer)
{
    layers[(layer - 1) / 64] |= (uint64_t)1 << ((layer - 1) % 64);
}

static inline bool vbs_order_ideal_has(const struct vbs_order_ideals *ideals, int ideal, int layer)
{
    return vbs_layers_have(ideals->done + (size_t)ideal * (size_t)ideals->n_words, layer);
}

/* Gives the move out of an ideal that finishes layer; null where a layer that it reads is not
 * done. */
static inline const struct vbs_move *vbs_order_ideal_move(const struct vbs_order_ideals *ideals,
                                                          int ideal, int layer)
{
    for (int m = ideals->first_move[ideal]; m < ideals->first_move[ideal + 1]; m++)
        if (ideals->moves[m].layer == layer)
            return &ideals->moves[m];
    return NULL;
}

#endif
