/*
 * Posterior times by their definition. It shares no code with the library and is slow: the joint
 * normal distribution of everything in a group is written down as one matrix, and is conditioned on
 * one observation after the other.
 *
 * All logarithms are of microseconds per sample. In a group, which holds the rows of one layer (or
 * its stripes of one number of rows) whose times are above 0, row i has algorithm a and batch b,
 * and
 *
 *     f_i   has mean c, the mean of the logarithms of the medians, and covariances
 *             cov(f_i, f_j) = [a_i = a_j] (4 + 1 / (b_i b_j) + S^2 k_ij + [i = j] U^2),
 *             k_ij = exp(-(ln b_i - ln b_j)^2 / (2 0.7^2));
 *     h_i = f_i + L + g_i + w_i, where g and w have mean 0 and are independent of f:
 *             cov(g_i + w_i, g_j + w_j) = C^2 (k_ij + [i = j]) / 2;
 *     m_i = f_i + an error of variance v_i: the logarithm of the median;
 *     x_i = h_i + an error: the logarithm of the executed time. Its deviation is that of the
 * executed row, 0.005 to 100; of more than one, x_i is the mean, weighted by precision.
 *
 * The errors of m. Of a row of n > 1 runs, whose median absolute deviation is the share d of its
 * time, q_n d and p_n d are estimates of the deviation of a run (q_n: OVER_MEAN; p_n: OVER_MEDIAN).
 * The median of p_n d over all such rows is the noise N, or 0.1. Together with four runs of the
 * noise, the variance of one run is (n (q_n d)^2 + 4 N^2) / (n + 4), or N^2 for n = 1; that of the
 * median is this over n, times 1.2533^2 for n > 2. Rows without runs have 0.05^2. The deviations
 * are 0.002 to 1.
 *
 * Errors are widened three times: each time everything is conditioned on all observations, and v_i
 * becomes its value from above times max(1, (4 + r_i^2 / (v_i from above + U^2)) / 5), where r_i is
 * m_i less the expectation of f_i.
 *
 * S and U are those of 0.02, 0.06, 0.2 and 0.005, 0.02, 0.06, 0.15 with the greatest density of all
 * m, unwidened. L and C start at 0 and 0.03. With the expectations and variances of h from the m
 * alone, at C = 0.03 and L = 0, ten times: of each executed row, with x of variance p,
 *     V = C^2 + p + max(0, var h - 0.03^2), D = x - E h, T = 3 sqrt V, s = C^2 / V;
 *     L' = sum of t / V (L + D - L, at most T from 0) / (1 / 0.3^2 + sum of t / V), t: the executed
 *          time of a sample over the mean of these;
 *     C'^2 = (10 0.03^2 + sum of (s min(T, |D - L|))^2 + C^2 (1 - s)) / (10 + number of rows).
 *
 * The time is the batch times exp(E h + min(var h / 2, 0.1)), its interval +- 1.96 deviations of h.
 */
#ifndef TESTS_SLOW_POSTERIOR_H
#define TESTS_SLOW_POSTERIOR_H

#include "vbslab/posterior.h"

struct slow_row {
    int layer, batch;
    const struct vbs_profile_row *row;
    bool used;                  /* it has a median, and its time is below */
    long double value, error;   /* m and the variance of its error, before widening */
    long double executed;       /* x and */
    long double precision;      /* 1 over its variance; 0: not executed */
    long double mean, variance; /* of h, in the end */
    double time_us, low_us, high_us;
};

struct slow_posterior {
    int n_rows;
    struct slow_row *rows; /* in the order of the profile: layer by layer, stripes last */
    struct vbs_posterior_report report;
};

/* Finds the posterior times of a profile in groups of any size; ends the program where it cannot.
 * O(sum of n^3 over the groups), with large factors. */
struct slow_posterior *slow_posterior_new(const struct vbs_profile *profile,
                                          const struct vbs_observed_row *executed, int n_executed);
void slow_posterior_free(struct slow_posterior *slow);

#endif
