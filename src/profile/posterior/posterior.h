/*
 * The model of times behind vbslab/posterior.h, and the functions that its files share.
 *
 * Let f be the logarithm of a kernel's time per sample when it is timed alone, and h when it runs
 * as a step of a schedule. Within a group, which holds the rows of one layer (or of its stripes of
 * one number of rows), over the batches b and the algorithms a:
 *
 *     f(a, b) = c_a + o_a / b + s_a(ln b) + u(a, b)
 *     h(a, b) = f(a, b) + level + g(ln b) + w(a, b)
 *
 * c_a and o_a / b are the cost of a sample and of a call; s_a is a smooth function (a Gaussian
 * process with a squared exponential kernel); u are the kernel's steps, where a batch suits its
 * blocking. The level, one for the whole profile, is what schedules do to all kernels; g and w are
 * what they do to this layer at similar batches, and to this row alone. All are normal.
 *
 * The runs of a row say f with an error (noise.c). An executed time is h with its own error. Values
 * far from what the others say have larger errors than their runs show (a burst of the host that
 * all of them met): each error is widened as for a Student's t distribution.
 *
 * The widths of s and u are those of the greatest marginal likelihood over all groups of rows.
 * Executed times come in stretches of time, within which schedules took turns. Each stretch has a
 * level of its own, which is the mean of its times over the posterior times without them, and which
 * is taken from them: only the differences between the rows of a stretch count. The level of the
 * profile is the mean of those of the stretches, weighted by precision; stretches in another state
 * of the machine than the profile is for count only where there are no others. By as much as these
 * levels differ from each other, schedules of a time to come are expected to differ from them: the
 * drift, which is no error of a row and belongs to all together. The width of g and w is what is
 * left of the differences. Where nothing was executed, the level is by how much the
 * medians of all rows together exceed the times of undisturbed runs.
 */
#ifndef VBS_PROFILE_POSTERIOR_POSTERIOR_H
#define VBS_PROFILE_POSTERIOR_POSTERIOR_H

#include "vbslab/posterior.h"

#include "base/arena.h"

#include <gsl/gsl_rng.h>

/* What is known of a row, in logarithms of microseconds per sample of the batch. */
struct posterior_row {
    const struct vbs_profile_row *row;
    int layer, batch;
    bool used; /* it has an error */
    double log_batch;
    double value;          /* of the median */
    double error;          /* standard deviation of value; 0: there is no median to use */
    double executed;       /* of the executed times, which are combined, less the levels; */
    double precision;      /* 1 / variance of executed; 0: the row was not executed */
    double mean, variance; /* the result: of h */
};

/* The widths of the model: standard deviations. */
struct posterior_widths {
    double smooth;  /* of s */
    double steps;   /* of u */
    double level;   /* the value of the level */
    double context; /* of g and w together */
    double drift;   /* of the level of one stretch from the profile's; 0: nothing was executed */
};

/* ---- noise.c ---- */

/* Sets *deviation to the standard deviation of an undisturbed run, as a share of its time, typical
 * of n rows. VBS_NO_MEMORY. */
enum vbs_status vbs_posterior_noise(struct vbs_ctx *ctx, const struct posterior_row *rows, size_t n,
                                    double *deviation) VBS_MUST_CHECK;

/* Fills value and error of a row, whose time is above 0: what its runs say of the time that it
 * takes undisturbed. The error stays 0 where the row is exact. noise: as above. */
void vbs_posterior_locate(struct posterior_row *row, double noise);

/* ---- group.c ---- */

#define POSTERIOR_MOST_ROWS 256 /* of one group */

/* Memory for groups of up to n_rows rows. */
struct posterior_work {
    int n_rows;
    double *covariance;               /* [2 n_rows, 2 n_rows] of observations, then its factor */
    double *cross;                    /* [n_rows, 2 n_rows] */
    double *values, *solved, *errors; /* [2 n_rows] */
    int *observed;     /* [2 n_rows] rows of the group; from n_rows on, of executed times */
    double *posterior; /* [n_rows, n_rows] */
};

enum vbs_status vbs_posterior_work_init(struct vbs_ctx *ctx, struct vbs_arena *arena, int n_rows,
                                        struct posterior_work *work) VBS_MUST_CHECK;

/* Returns the logarithm of the marginal likelihood of the medians of a group of n rows. */
double vbs_posterior_likelihood(struct posterior_row *const *rows, int n,
                                const struct posterior_widths *widths, struct posterior_work *work);

/* Sets mean and variance of the rows of a group. executed: use the executed times, too. rng not
 * null: the means are drawn. */
void vbs_posterior_group(struct posterior_row *const *rows, int n,
                         const struct posterior_widths *widths, bool executed, const gsl_rng *rng,
                         struct posterior_work *work);

/* ---- widths.c ---- */

/* A list of groups: those of rows[first[i]] .. rows[first[i + 1] - 1]. */
struct posterior_groups {
    struct posterior_row **rows;
    int n_groups;
    int *first; /* [n_groups + 1] */
};

/* Finds the widths of s and u. O(groups x n^3). */
void vbs_posterior_find_widths(const struct posterior_groups *groups, struct posterior_work *work,
                               struct posterior_widths *widths);

/* An executed time of a row, as the logarithm of microseconds per sample. */
struct posterior_executed {
    struct posterior_row *row;
    double value, variance; /* of value */
    int stretch;
    bool apart; /* it was executed in another state of the machine than the profile is for */
};

/* Finds the level, the drift and the width of g and w from executed times, of rows whose mean and
 * variance are those without them; the level before is the one that is expected. Then combines the
 * times of each row, less the level of their stretch, as the row's executed time. O(n). */
void vbs_posterior_find_level(const struct posterior_executed *executed, int n,
                              struct posterior_widths *widths);

#endif
