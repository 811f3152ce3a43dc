/*
 * The errors of medians. The few runs of one row say little about their spread, so that each row's
 * own spread counts as n runs beside PRIOR_RUNS runs of the spread that is typical of the profile.
 */
#include "profile/posterior/posterior.h"

#include "base/fail.h"

#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#define PRIOR_RUNS 4
#define NORMAL_95  1.96 /* half of a 95% interval, in standard deviations */
#define MEDIAN_ERROR                                                                               \
    1.2533                /* of a median over that of a mean of many normal values: sqrt(pi / 2) */
#define SINGLE_RUN  0.1   /* of one run, where no row has two */
#define LEAST_ERROR 0.002 /* what the clock and rounding leave */
#define MOST_ERROR  1.0

/* [n] The standard deviation of a normal distribution over the mean of the median absolute
 * deviations of n of its values, by simulation; the last one is used for all larger n, for which it
 * falls to 1.48. */
static const double OVER_MEAN[] = {0,     0,     1.773, 2.205, 2.016, 1.800, 1.765,
                                   1.687, 1.672, 1.633, 1.625, 1.602, 1.595};
/* [n] The same over their median, which is less, because they are skewed. */
static const double OVER_MEDIAN[] = {0,     0,     2.097, 2.773, 2.206, 1.986, 1.873,
                                     1.791, 1.746, 1.705, 1.681, 1.657, 1.642};

#define N_OVER ((int)(sizeof OVER_MEAN / sizeof OVER_MEAN[0]))

static double deviation_of(const struct vbs_profile_row *row, const double *over)
{
    return row->mad_us / row->time_us * over[row->n_runs < N_OVER ? row->n_runs : N_OVER - 1];
}

enum vbs_status vbs_posterior_noise(struct vbs_ctx *ctx, const struct posterior_row *rows, size_t n,
                                    double *deviation)
{
    double *values = malloc((n + 1) * sizeof *values);
    size_t count = 0;

    if (!values)
        return vbs_no_memory(ctx);
    for (size_t i = 0; i < n; i++)
        if (rows[i].row->n_runs > 1 && rows[i].row->time_us > 0)
            values[count++] = deviation_of(rows[i].row, OVER_MEDIAN);
    gsl_sort(values, 1, count);
    *deviation = count > 0 ? gsl_stats_median_from_sorted_data(values, 1, count) : SINGLE_RUN;
    free(values);
    return VBS_OK;
}

double vbs_posterior_error(const struct vbs_profile_row *row, double noise)
{
    double own, error;
    double n = row->n_runs;

    if (n > 0) {
        own = n > 1 ? deviation_of(row, OVER_MEAN) : 0;
        own = sqrt((n * own * own * (n > 1) + PRIOR_RUNS * noise * noise) /
                   (n * (n > 1) + PRIOR_RUNS));
        error = own * (n > 2 ? MEDIAN_ERROR : 1) / sqrt(n);
    } else if (row->low_us > 0 && row->high_us > row->low_us) {
        error = log(row->high_us / row->low_us) / (2 * NORMAL_95);
    } else {
        return 0;
    }
    return fmin(fmax(error, LEAST_ERROR), MOST_ERROR);
}
