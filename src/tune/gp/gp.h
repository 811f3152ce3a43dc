/*
 * A Gaussian process: what is known of a function from its values at some points.
 *
 * Coordinates of points are numbers; first those along which the function is smooth, then those of
 * categories, which are equal or not. The kernel is Matern 5/2 with a length for each coordinate
 * (automatic relevance determination) over the distance r with r^2 = sum (difference / length)^2,
 * where the difference of two categories is 0 or 1:
 *
 *     k = variance (1 + sqrt(5) r + 5/3 r^2) exp(-sqrt(5) r)
 *
 * and noise is added for each value (Rasmussen, Williams: Gaussian Processes for Machine Learning,
 * 2006, sections 2.2, 4.2, 5.4). Values are taken relative to their mean and deviation. Lengths,
 * variance and noise are those of the maximum posterior density: marginal likelihood times
 * lognormal priors.
 *
 * The sub-room uses of GSL only functions that neither allocate nor fail: those that do report to
 * an error handler which ends the program.
 */
#ifndef VBS_TUNE_GP_H
#define VBS_TUNE_GP_H

#include "base/arena.h"
#include "vbslab/status.h"

#include <stdbool.h>

/* The places of the logarithms of variance and noise behind those of the lengths. */
#define GP_VARIANCE(d)  (d)
#define GP_NOISE(d)     ((d) + 1)
#define GP_N_UNKNOWN(d) ((d) + 2)

/* A Gaussian process. Its memory is in an arena. Threads: one at a time. */
struct tune_gp {
    int n;           /* points, at least 1 */
    int d, n_smooth; /* coordinates, at least 0, and how many of them are not categories */
    const double *x; /* [n, d] */
    double *y;       /* [n] (value - mean) / deviation */
    double mean, deviation;
    double *unknown;  /* [GP_N_UNKNOWN(d)] logarithms of lengths, variance, noise */
    double *scaled;   /* [n, d] coordinates over lengths; of categories themselves */
    double *inverses; /* [d] 1 / length^2 */
    double *factor;   /* [n, n] U of the covariance U^T U, by rows */
    double *weights;  /* [n] covariance^-1 y */
};

/* Makes a process of n values, at points x [n, d], which is borrowed. Its unknowns are those of the
 * priors' centre; learn them, or copy those of another process, and then fit it. VBS_NO_MEMORY. */
enum vbs_status vbs_gp_new(struct vbs_ctx *ctx, struct vbs_arena *arena, int n, int d, int n_smooth,
                           const double *x, const double *values,
                           struct tune_gp *gp) VBS_MUST_CHECK;

/* Gives the negative logarithm of the posterior density of unknowns (up to a constant), and its
 * gradient where that is not null; INFINITY where the covariance is not positive definite. work:
 * [2, n, n]. O(n^3 + n^2 d). */
double vbs_gp_density(struct tune_gp *gp, const double *unknown, double *gradient, double *work);

/* Finds the unknowns, from several starts. At most max_points of the points, evenly chosen, are
 * used. VBS_NO_MEMORY, VBS_INTERRUPTED. O((n^3 + n^2 d) i) for i steps of the search. */
enum vbs_status vbs_gp_learn(struct vbs_ctx *ctx, int max_points,
                             struct tune_gp *gp) VBS_MUST_CHECK;

/* Computes what predictions need, from the unknowns; noise grows where the covariance is not
 * positive definite. O(n^3 / 3). */
void vbs_gp_fit(struct tune_gp *gp);

/* Makes a process with the unknowns, the mean and the deviation of another one from more values
 * [n], at points x [n, d], which is borrowed, and fits it. VBS_NO_MEMORY. O(n^3 / 3). */
enum vbs_status vbs_gp_extend(struct vbs_ctx *ctx, struct vbs_arena *arena,
                              const struct tune_gp *from, int n, const double *x,
                              const double *values, struct tune_gp *gp) VBS_MUST_CHECK;

/* Predicts values at points at [n_at, d]: mean and standard deviation (above 0, without noise).
 * VBS_NO_MEMORY. O(n^2) a point. */
enum vbs_status vbs_gp_predict(struct vbs_ctx *ctx, const struct tune_gp *gp, const double *at,
                               int n_at, double *mean, double *deviation) VBS_MUST_CHECK;

#endif
