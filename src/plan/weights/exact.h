/*
 * Small problems with transfers: their best schedules, by a search over all lists of steps.
 *
 * exact.c searches; exact_places.c knows what a list of steps leads to.
 */
#ifndef VBS_PLAN_WEIGHTS_EXACT_H
#define VBS_PLAN_WEIGHTS_EXACT_H

#include "plan/problem/problem.h"

#define EXACT_LAYERS   7  /* of a small problem, at most; progress is packed in 64 bits */
#define EXACT_REQUEST  15 /* samples, at most */
#define EXACT_SEGMENTS 10
#define EXACT_BLOCKS   (3 * EXACT_SEGMENTS)

/* Offers the best schedules of a small problem that has weights to copy, and copies and layers that
 * do not slow each other down, for all budgets that matter; nothing for others. Best of those whose
 * layers and weights run and are loaded whole or in halves, and that have no rows. They are found
 * faster where *pareto has good schedules already. It gives up after so many lists that the memory
 * stays below 128 MiB, after so many comparisons of lists as take some seconds, and at the clock
 * until_s (vbs_clock_s; 0: never); schedules that were found until then are offered. VBS_NO_MEMORY,
 * VBS_INTERRUPTED. Exponential in layers, samples and weights. */
enum vbs_status vbs_exact_offer(struct vbs_ctx *ctx, const struct vbs_task *task, double until_s,
                                struct vbs_pareto_set *pareto) VBS_MUST_CHECK;

/* ---- exact_places.c ---- */

/* Packed weights of a layer that steps can load and evict on their own: all of a format, or one of
 * its halves. */
struct exact_segment {
    int layer, format;
    int64_t first, end; /* bytes */
};

/* What one step loads or evicts. */
struct exact_block {
    struct vbs_step step; /* without op */
    unsigned segments;    /* bit i: segment i */
    double copy_us;
};

/* What is computed once for a problem. */
struct exact_problem {
    const struct vbs_task *task;
    int n_segments, n_blocks;
    struct exact_segment segments[EXACT_SEGMENTS];
    struct exact_block blocks[EXACT_BLOCKS];
    double sample_us[EXACT_LAYERS + 1];    /* the least time of one sample */
    double shares[EXACT_LAYERS + 1][2];    /* of both halves in the time of a layer */
    bool has_one_format[EXACT_LAYERS + 1]; /* each row reads weights, all of one format */
};

/* The samples that both halves of each layer have done; [0]: the request. */
struct exact_progress {
    int done[EXACT_LAYERS + 1][2];
};

/* Fills *problem; false where it is too large. O(rows). */
bool vbs_exact_problem_init(struct exact_problem *problem, const struct vbs_task *task);

uint64_t vbs_exact_pack(const struct exact_problem *problem, const struct exact_progress *progress);
void vbs_exact_unpack(const struct exact_problem *problem, uint64_t packed,
                      struct exact_progress *progress);

/* Gives the samples that both halves of a layer have done. */
static inline int vbs_exact_least(const struct exact_progress *progress, int layer)
{
    const int *done = progress->done[layer];

    return done[0] < done[1] ? done[0] : done[1];
}

/* Gives the bytes of segments, bit i: segment i. */
int64_t vbs_exact_bytes(const struct exact_problem *problem, unsigned segments);

/* Gives the segments of which a step on a slice of a layer reads bytes, in a row with weights. */
unsigned vbs_exact_needs(const struct exact_problem *problem, const struct vbs_step *step,
                         const struct vbs_profile_row *row);

/* Gives the bytes of activations between steps. O(layers + edges). */
int64_t vbs_exact_live_bytes(const struct exact_problem *problem,
                             const struct exact_progress *progress);

/* Gives the bytes of activations during a compute step, and changes progress to what is done behind
 * it. O(layers + edges). */
int64_t vbs_exact_step(const struct exact_problem *problem, struct exact_progress *progress,
                       const struct vbs_step *step);

/* Gives lower bounds of the times that are left: of computing, and of copies that must still be
 * made where some segments are in memory and others are to be in the end. */
double vbs_exact_compute_us(const struct exact_problem *problem,
                            const struct exact_progress *progress);
double vbs_exact_copy_us(const struct exact_problem *problem, const struct exact_progress *progress,
                         unsigned loaded, unsigned residents);

#endif
