/* Least times against bytes, each with the choice that leads to it. Internal to plan/recompute. */
#ifndef VBS_PLAN_RECOMPUTE_ESTIMATES_H
#define VBS_PLAN_RECOMPUTE_ESTIMATES_H

#include "vbslab/status.h"

#include <stdint.h>

/* The least time from so many bytes on. */
struct estimate_point {
    int64_t bytes;
    double us;
    int from;  /* of a path: the layer after the path that it extends; else unused */
    int tiles; /* of a segment: the rows of a tile; 0: one layer on whole samples */
    int tail;  /* of a segment: 1 where its last layer accumulates, else 0 */
};

/* Points with bytes ascending and us descending, once estimate_curve_settle has been called. */
struct estimate_curve {
    struct estimate_point *points;
    int64_t n, capacity;
};

/* Adds a point in any order. VBS_NO_MEMORY. */
enum vbs_status vbs_estimate_offer(struct vbs_ctx *ctx, struct estimate_curve *curve,
                                   const struct estimate_point *point) VBS_MUST_CHECK;

/* Sorts the points and removes those that take no less time than one with no more bytes; of points
 * that are equal the one that was offered first stays. O(n log n). */
void vbs_estimate_settle(struct estimate_curve *curve);

/* Gives the last point with at most so many bytes, or null. O(log n). */
const struct estimate_point *vbs_estimate_at(const struct estimate_curve *curve, int64_t bytes);

/* Offers to *sums the sums of two settled curves, at the bytes at which one of them falls: the time
 * is that of both within the same bytes. from, and the choice of the second curve, go with it.
 * VBS_NO_MEMORY. */
enum vbs_status vbs_estimate_offer_sums(struct vbs_ctx *ctx, struct estimate_curve *sums,
                                        const struct estimate_curve *first, int from,
                                        const struct estimate_curve *second) VBS_MUST_CHECK;

#endif
