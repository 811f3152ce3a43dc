/*
 * Posterior times by their definition. It shares no code with the library and is slow: the joint
 * normal distribution of everything in a group is written down as one matrix, and is conditioned on
 * one observation after the other.
 *
 * All logarithms are of microseconds per sample. In a group, which holds the rows of one layer (or
 * its stripes of one number of rows) whose times are above 0, row i has algorithm a and batch b,
 * and
 *
 *     f_i   has mean c, the mean of all m, and covariances
 *             cov(f_i, f_j) = [a_i = a_j] (4 + 1 / (b_i b_j) + S^2 k_ij + [i = j] U^2),
 *             k_ij = exp(-(ln b_i - ln b_j)^2 / (2 0.7^2));
 *     h_i = f_i + L + g_i + w_i, where g and w have mean 0 and are independent of f:
 *             cov(g_i + w_i, g_j + w_j) = C^2 (0.7 k_ij + 0.3 [i = j]);
 *     m_i = f_i + an error of variance v_i: what the runs of the row say;
 *     x_i = h_i - L + an error: what executed times say.
 *
 * The runs. Of a row of n > 1 runs, r is the rank of the low end of the median's 95% interval, and
 * z_n the number of standard deviations below the mean at which a normal variable has the
 * probability (r - 0.375) / (n + 0.25). The spread of the row is ln(median / low end) / z_n, or 0
 * where the low end is 0. The noise N is the lower quartile of these spreads over q_n, that of the
 * spreads of n normal values of deviation 1, interpolated between the two next to it, at most 0.05;
 * or 0.03 where no row has two runs. q_n is one of QUARTILES for n up to 8. For more, the spread is
 * taken for a gamma variable of e = (n + 1) / 2 - r exponential gaps, and
 *     q_n = (1 - 1 / (12 e) - 0.6745 / 3 sqrt(1 / e - 1 / (n + 1)))^3. With d,
 * the spread but at most 0.05, the variance of one run is (n d^2 + 4 N^2) / (n + 4), and N^2 for
 * n = 1; v is this over n, times 1.2533^2 for n > 2. m is the logarithm of the median; but for
 * n > 1 and a low end above 0, no more than that of the low end plus z_n d. A row without runs has
 * the logarithm of its time, with the deviation ln(high end / low end) / 3.92 where its interval
 * has a width and is above 0; else, where rows were executed, with 0.05; else it is exact and in no
 * group. The deviations are 0.002 to 1.
 *
 * Errors are widened three times: each time everything is conditioned on all observations, and v_i
 * becomes its value from above times max(1, (4 + r_i^2 / (v_i from above + U^2)) / 5), where r_i is
 * m_i less the expectation of f_i.
 *
 * S and U are those of 0.02, 0.06, 0.2 and 0.005, 0.02, 0.06, 0.15 with the greatest density of all
 * m, unwidened. Before anything was executed, C = 0.03, and L is L0: the logarithm of the sum of
 * all medians over the sum of batch times exp m, of the rows in groups.
 *
 * Executed times. Each is a y, the logarithm of the time of a sample, of variance p: its deviation
 * is that of the executed row, 0.005 to 100. Each stretch (group of executed rows) has a level l
 * and a variance c, L0 and 0.03^2 at first. With the expectations and variances of h from the m
 * alone, at C = 0.03 and L = 0, ten times: of each executed time of the stretch,
 *     V = c + p + max(0, var h - 0.03^2), D = y - E h, T = 3 sqrt V, s = c / V;
 *     l' = (L0 / 0.3^2 + sum of t / V (l + D - l, at most T from 0)) / (1 / 0.3^2 + sum of t / V),
 *          t: exp y over the mean of these over all stretches;
 *     c' = (10 0.03^2 + sum of (s min(T, |D - l'|))^2 + c (1 - s)) / (10 + number of times).
 * Then C^2 is the least c, at most 0.06^2; L the mean of the l of all stretches with a time that
 * is not apart, of all stretches where there are none, weighted by 1 / (c + 1 / w), w the
 * denominator of the last l'; and x of a row the mean of its y - l, weighted by 1 / (p + c - C^2),
 * the sum of which is 1 / variance of x.
 * The drift is the root of (3 0.02^2 + n V) / (3 + n) times (1 + 1 / n), where V is the mean of
 * (l - L)^2 over the same n stretches with the same weights.
 *
 * The time is the batch times exp(E h + min(var h / 2, 0.1)), its interval +- 1.96 deviations of h.
 */
#ifndef TESTS_SLOW_POSTERIOR_H
#define TESTS_SLOW_POSTERIOR_H

#include "vbslab/posterior.h"

struct slow_row {
    int layer, batch;
    const struct vbs_profile_row *row;
    bool used;                  /* it is in a group, and its time is below */
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
