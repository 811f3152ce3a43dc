/* The ratio of times that were taken by turns, from the times of any turns. Internal to the
 * library. */
#ifndef VBS_TURNS_RATIO_H
#define VBS_TURNS_RATIO_H

#include "vbslab/turns.h"

/* Returns the logarithm of the ratio of two times of one turn; NAN where one of them is 0. */
double vbs_turns_logarithm(double time_us, double over_us);

/* Returns the median of ratios and its interval, from their n logarithms, which it sorts: those of
 * vbs_turns_compare. All are NAN where a logarithm is, or n is 0. O(n log n). */
struct vbs_turns_ratio vbs_turns_median_ratio(double *logarithms, int n);

#endif
