/*
 * Curves: the best time as a step function of memory, exact to the byte.
 *
 * A curve is a list of points whose bytes rise and whose ticks fall strictly. The time of point i
 * holds from its bytes up to the bytes of point i + 1. Below the first point nothing is feasible; a
 * curve without points is feasible nowhere. Each point has a number, its cut, that tells how the
 * point was made. Its meaning is defined by the caller; sums of curves can be restricted to points
 * whose cuts have one sign.
 */
#ifndef VBS_PLAN_DP_CURVE_H
#define VBS_PLAN_DP_CURVE_H

#include "base/arena.h"
#include "vbslab/status.h"

#include <stdbool.h>
#include <stdint.h>

struct vbs_curve {
    int n;
    int n_runs;
    int64_t first_bytes;  /* of the first point; most sums need only this and last_ticks */
    int64_t last_ticks;   /* of the last point */
    const int64_t *bytes; /* [n] */
    const int64_t *ticks; /* [n] */
    const int32_t *cut;   /* [n] */
    const int32_t *runs;  /* [n_runs] first points of the runs whose cuts have one sign */
    bool first_negative;  /* the cut of the first point is negative */
};

/* A curve, moved right by some bytes. */
struct vbs_moved {
    const struct vbs_curve *curve;
    int64_t by_bytes;
};

static inline struct vbs_moved vbs_moved_by(const struct vbs_curve *curve, int64_t bytes)
{
    return (struct vbs_moved){.curve = curve, .by_bytes = bytes};
}

static inline struct vbs_moved vbs_unmoved(const struct vbs_curve *curve)
{
    return vbs_moved_by(curve, 0);
}

/* The curve with one point: 0 bytes, 0 ticks. */
extern const struct vbs_curve VBS_CURVE_ZERO;

/* Index of the point that holds at bytes, or -1. Logarithmic. */
int vbs_curve_at(const struct vbs_curve *curve, int64_t bytes);

/* Selects the points of a curve whose cut is negative, or is not, or all points. */
enum vbs_points { VBS_POINTS_ALL, VBS_POINTS_NEGATIVE_CUT, VBS_POINTS_OTHER_CUT };

struct vbs_points_buffer {
    int n, capacity;
    int64_t *bytes, *ticks;
    int32_t *cut;
};

/* The lower envelope of the points offered so far. It begins as {0}; vbs_envelope_reset empties it
 * and keeps its memory. */
struct vbs_envelope {
    struct vbs_points_buffer best, gains, merged;
    int64_t most_bytes; /* points above are left out of curves; 0: none */
};

void vbs_envelope_reset(struct vbs_envelope *envelope);
void vbs_envelope_clear(struct vbs_envelope *envelope);

/* Offers a single point. */
enum vbs_status vbs_envelope_offer(struct vbs_ctx *ctx, struct vbs_envelope *envelope,
                                   int64_t bytes, int64_t ticks, int32_t cut) VBS_MUST_CHECK;

/*
 * Offers the sum of the times of two curves as a function of memory, wherever the point of first
 * that holds is selected by which. All points of the sum get cut. Where times are equal, the points
 * that were offered earlier stay. O(points of both curves and of the envelope).
 */
enum vbs_status vbs_envelope_offer_sum(struct vbs_ctx *ctx, struct vbs_envelope *envelope,
                                       struct vbs_moved first, enum vbs_points which,
                                       struct vbs_moved second, int32_t cut) VBS_MUST_CHECK;

/* Copies the points of the envelope up to most_bytes into arena. */
enum vbs_status vbs_envelope_curve(struct vbs_ctx *ctx, const struct vbs_envelope *envelope,
                                   struct vbs_arena *arena, struct vbs_curve *curve) VBS_MUST_CHECK;

#endif
