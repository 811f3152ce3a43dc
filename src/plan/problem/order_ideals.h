/*
 * Positions: how far one sample can be in the network, and what it keeps alive there.
 *
 * A sample has finished a set of layers that holds, with each layer, all that it reads (an ideal of
 * the DAG). Samples pass every layer in order, so that a state of the lattice is a
 * descending chain of r such sets, and the live bytes of the state are the sum over its samples:
 * sample s keeps tensor t alive while t is among its finished layers (or the input) and some reader
 * is not. A state is an array of r positions; a chain network of n layers has n + 1 positions.
 *
 * A projection looks at some layers only: positions that agree in them become one, with the least
 * bytes of all, so that what the projection allows is never less than what the network does
 * (pattern databases of heuristic search).
 */
#ifndef VBS_PLAN_PROBLEM_ORDER_IDEALS_H
#define VBS_PLAN_PROBLEM_ORDER_IDEALS_H

#include "plan/problem/task.h"

#include <stdbool.h>

/* A sample at a position passes layer. */
struct vbs_move {
    int layer;
    int to;
    int64_t base_bytes;  /* alive during the step for this sample, its output left out */
    int64_t place_bytes; /* of which the output of an in-place layer may take the place */
};

struct vbs_order_ideals {
    int n;               /* rising by the number of layers done; 0: none, n - 1: all */
    int n_words;         /* 64-bit words of a set of layers */
    int64_t *live_bytes; /* [n] that one sample keeps there */
    uint64_t *done;      /* [n][n_words] bit k - 1: layer k is done */
    int *n_done;         /* [n] layers done */
    int *first_move;     /* [n + 1] */
    struct vbs_move *moves;
    int *projected; /* [n_original] of a projection: each of all positions; else null */
    int n_original;
    struct vbs_arena arena;
};

/* More than these positions are not listed: networks with many parallel branches. */
#define VBS_MAX_ORDER_IDEALS 20000

/* All positions of the task's network; *listed is false, and positions empty, where there are more
 * than VBS_MAX_ORDER_IDEALS. O(positions x (layers + edges)). */
enum vbs_status vbs_order_ideals_list(struct vbs_ctx *ctx, const struct vbs_task *task,
                                      struct vbs_order_ideals *ideals, bool *listed) VBS_MUST_CHECK;

/* The projection onto the layers of a set (n_words as those of all). */
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

/* The move of layer from position, or null. */
static inline const struct vbs_move *vbs_order_ideal_move(const struct vbs_order_ideals *ideals,
                                                          int ideal, int layer)
{
    for (int m = ideals->first_move[ideal]; m < ideals->first_move[ideal + 1]; m++)
        if (ideals->moves[m].layer == layer)
            return &ideals->moves[m];
    return NULL;
}

#endif
