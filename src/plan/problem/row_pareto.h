/*
 * Pareto sets of rows: the least time of a layer at a batch as a step function of the bytes that
 * are left for its workspace and, with weights included, for the weights that the step reads.
 */
#ifndef VBS_PLAN_PROBLEM_ROW_PARETO_H
#define VBS_PLAN_PROBLEM_ROW_PARETO_H

#include <stdint.h>

struct vbs_row_point {
    int64_t ws_bytes, ticks;
};

/* The sets of all layers and batches. In each, bytes ascend and ticks descend. */
struct vbs_row_pareto {
    int n_batches;
    int *first;                   /* [n_layers * n_batches + 1] */
    struct vbs_row_point *points; /* those of layer k at batches[i] begin at first[(k - 1) *
                                     n_batches + i] */
};

/* Gives the ticks of the fastest row that fits into spare_bytes, or -1. */
static inline int64_t vbs_row_pareto_ticks(const struct vbs_row_pareto *row_pareto, int layer,
                                           int batch_index, int64_t spare_bytes)
{
    const int *first = &row_pareto->first[(layer - 1) * row_pareto->n_batches + batch_index];
    int64_t ticks = -1;

    for (int s = first[0]; s < first[1] && row_pareto->points[s].ws_bytes <= spare_bytes; s++)
        ticks = row_pareto->points[s].ticks;
    return ticks;
}

#endif
