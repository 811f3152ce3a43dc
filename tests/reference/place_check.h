/*
 * Placements judged, and the best of tiny problems by trying everything. Shares no code with the
 * planner.
 */
#ifndef TESTS_PLACE_CHECK_H
#define TESTS_PLACE_CHECK_H

#include "vbslab/place.h"

/* What is wrong with offsets, or null; a static text. Where nothing is, *height is set: the end of
 * the highest rectangle. O(rectangles^2). */
const char *place_fault(const struct vbs_place_problem *problem, const int64_t *offsets,
                        int64_t *height);

/* The largest sum of rectangles that share a step. O(rectangles^2). */
int64_t place_load(const struct vbs_place_problem *problem);

/* The least height of any placement, by trying every offset of every item; limit + 1 where it is
 * above limit. For a few items of a few bytes. */
int64_t place_brute_height(const struct vbs_place_problem *problem, int64_t limit);

#endif
