/*
 * Curves: the best time as a step function of memory, exact to the byte.
 *
 * A curve is a list of points, bytes rising and ticks falling strictly; point i holds from its
 * bytes up to those of point i + 1. Below the first point nothing is feasible; a curve without
 * points is feasible nowhere. Each point remembers the choice that gave it.
 */
#ifndef VBS_PLAN_CURVE_H
#define VBS_PLAN_CURVE_H

#include "base/arena.h"
#include "vbslab/status.h"

#include <stdbool.h>
#include <stdint.h>

struct vbs_point {
    int64_t bytes;
    int64_t ticks;
    int first; /* what the choice means is its maker's business: */
    int split; /* in dp-vbs the first batch and the item that runs it whole */
};

struct vbs_curve {
    int n;
    const struct vbs_point *points;
};

/* A curve, moved right by some bytes. */
struct vbs_moved {
    const struct vbs_curve *curve;
    int64_t by_bytes;
};

/* The point that holds at bytes, or null. Logarithmic. */
const struct vbs_point *vbs_curve_at(const struct vbs_curve *curve, int64_t bytes);

/* The lower envelope of what was offered so far. Start with {0}; reused by reset. */
struct vbs_envelope {
    struct vbs_point *best, *sum, *merged;
    int n_best, capacity;
};

void vbs_envelope_reset(struct vbs_envelope *envelope);
void vbs_envelope_clear(struct vbs_envelope *envelope);

/* Offers a single point. */
enum vbs_status vbs_envelope_offer(struct vbs_ctx *ctx, struct vbs_envelope *envelope,
                                   struct vbs_point point) VBS_MUST_CHECK;

#define VBS_MAX_PARTS 3

/*
 * Offers the sum of n_parts curves (1..VBS_MAX_PARTS), all at the same memory. Its points carry
 * first, and split, or where split is negative the split of the point of parts[0] that holds there.
 * On equal times what was offered earlier stays. O(points of the parts and of the envelope).
 */
enum vbs_status vbs_envelope_offer_sum(struct vbs_ctx *ctx, struct vbs_envelope *envelope,
                                       const struct vbs_moved *parts, int n_parts, int first,
                                       int split) VBS_MUST_CHECK;

/* Copies the envelope into arena. */
enum vbs_status vbs_envelope_curve(struct vbs_ctx *ctx, const struct vbs_envelope *envelope,
                                   struct vbs_arena *arena, struct vbs_curve *curve) VBS_MUST_CHECK;

#endif
