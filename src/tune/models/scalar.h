/* Several objectives as one. Internal to the sub-room. */
#ifndef VBS_TUNE_MODELS_SCALAR_H
#define VBS_TUNE_MODELS_SCALAR_H

#include "tune/problem/problem.h"

/* Writes for each of n complete trials the negative augmented Chebyshev distance of its objectives
 * from the best ones, with weights that are drawn anew for each number of trials (Knowles, ParEGO,
 * 2006, equation 2). */
void vbs_tune_scalar(const struct tune_problem *problem, const int *trials, int n, double *values);

#endif
