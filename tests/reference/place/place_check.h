/*
 * A check of placements, and the best placement of tiny problems by trying all offsets. Shares no
 * code with the planner.
 */
#ifndef TESTS_PLACE_CHECK_H
#define TESTS_PLACE_CHECK_H

#include "vbslab/place.h"

/* Gives the fault of offsets, or null; a static text. Where there is none, *height is the end of
 * the highest rectangle. O(rectangles^2). */
const char *place_fault(const struct vbs_place_problem *problem, const int64_t *offsets,
                        int64_t *height);

/* Gives the largest sum of rectangles that share a step. O(rectangles^2). */
int64_t place_load(const struct vbs_place_problem *problem);

/* Gives the least height of any placement, by trying every offset of every item; limit + 1 where it
 * is above limit. For a few items of a few bytes. */
int64_t place_brute_height(const struct vbs_place_problem *problem, int64_t limit);

#endif
