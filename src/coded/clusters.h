/*
 * Clusters of sorted weights: each is an interval, and its mean is a value of the codebook.
 * Internal to the room.
 */
#ifndef VBS_CODED_CLUSTERS_H
#define VBS_CODED_CLUSTERS_H

#include "vbslab/status.h"

#include <stdint.h>

/* Sorted weights, and sums of the first of them. Weights are taken relative to their mean, so that
 * differences of sums lose few digits. */
struct vbs_sorted_weights {
    const float *sorted; /* [n] */
    int64_t n;
    double middle; /* the mean of all */
    double *sums;  /* [n + 1] of sorted less middle */
};

/* The mean of weights from..to-1, less the mean of all. */
static inline double vbs_weights_mean(const struct vbs_sorted_weights *weights, int64_t from,
                                      int64_t to)
{
    return (weights->sums[to] - weights->sums[from]) / (double)(to - from);
}

/* Clusters, at least one: cluster c is ends[c - 1]..ends[c]-1, and none is empty. */
struct vbs_clusters {
    int n;
    int64_t *ends; /* space for the most clusters */
};

/* The sum of squared errors of clusters. O(n). */
double vbs_clusters_error(const struct vbs_sorted_weights *weights,
                          const struct vbs_clusters *clusters);

/* The bits of the indices of all weights, by the entropy of how often each occurs. */
double vbs_clusters_bits(const struct vbs_sorted_weights *weights,
                         const struct vbs_clusters *clusters);

/*
 * Finds at most `most` clusters of small error + lambda x bits: the optimum on groups of
 * neighbours (each weight is a group where there are few), then an iteration on all weights from
 * there and from the given clusters, of which the better result is taken. So it is no worse than
 * what the given clusters are. VBS_NO_MEMORY, VBS_INTERRUPTED.
 */
enum vbs_status vbs_clusters_weigh(struct vbs_ctx *ctx, const struct vbs_sorted_weights *weights,
                                   int most, double lambda,
                                   struct vbs_clusters *clusters) VBS_MUST_CHECK;

/* Replaces clusters of the least error by such of few bits whose error is at most (1 + excess)
 * times as large. The same errors. */
enum vbs_status vbs_clusters_relax(struct vbs_ctx *ctx, const struct vbs_sorted_weights *weights,
                                   int most, double excess,
                                   struct vbs_clusters *clusters) VBS_MUST_CHECK;

#endif
