/*
 * From runs of a schedule to executed rows. The time of a step is the median of its runs. Medians
 * of skewed times add up to less than the median of the sums, so that all of them are made longer
 * by one factor, with which they add up to the median of the request. The time of a row is the mean
 * of its steps, because plans sum them.
 */
#include "learn/learn.h"

#include "base/fail.h"
#include "base/grow.h"
#include "vbslab/measure.h"

#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SINGLE_RUN                                                                                 \
    0.05                 /* deviation of the time of one run, as a share, where there is no other  \
                          */
#define OVER_MAD     1.6 /* a standard deviation over the median absolute deviation of some runs */
#define MEDIAN_ERROR 1.25

/* A step with its median time. */
struct observed_step {
    struct vbs_executed_row row; /* of this step alone */
};

static int compare_steps(const void *a, const void *b)
{
    const struct vbs_executed_row *x = &((const struct observed_step *)a)->row;
    const struct vbs_executed_row *y = &((const struct observed_step *)b)->row;
    const int keys[][2] = {{x->layer, y->layer},
                           {x->batch, y->batch},
                           {x->rows, y->rows},
                           {x->algorithm, y->algorithm}};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

/* Sets the median of a step over the kept runs, and the deviation of a single run. */
static void summarise(const struct contender *contender, int64_t step, int n_kept,
                      struct vbs_executed_row *row)
{
    double times_us[LEARN_STEPS_KEPT];
    struct vbs_profile_row summary = {0};

    for (int i = 0; i < n_kept; i++)
        times_us[i] =
            contender->steps_us[(size_t)i * (size_t)contender->schedule->n_steps + (size_t)step];
    vbs_measure_summary(times_us, n_kept, &summary);
    row->time_us = summary.time_us;
    row->deviation = n_kept > 1 && summary.time_us > 0 ? OVER_MAD * summary.mad_us / summary.time_us
                                                       : SINGLE_RUN;
}

/* Lists the compute steps of whole layers; returns their number. *sum_us: of their medians. */
static int64_t list_steps(const struct vbs_profile *profile, const struct contender *contender,
                          int n_kept, struct observed_step *steps, double *sum_us)
{
    const struct vbs_schedule *schedule = contender->schedule;
    int64_t n = 0;

    *sum_us = 0;
    for (int64_t s = 0; s < schedule->n_steps; s++) {
        const struct vbs_step *step = &schedule->steps[s];
        struct vbs_executed_row *row = &steps[n].row;

        if (step->op != VBS_STEP_COMPUTE)
            continue;
        *row = (struct vbs_executed_row){
            .layer = step->layer,
            .batch = step->batch,
            .rows = step->rows,
            .algorithm = vbs_profile_algorithm(profile, schedule->algorithms[step->algorithm])};
        summarise(contender, s, n_kept, row);
        *sum_us += row->time_us;
        n += step->n_slices <= 1 && row->time_us > 0;
    }
    return n;
}

static double median_request(const struct contender *contender, int n_kept)
{
    double times_us[LEARN_STEPS_KEPT];

    for (int i = 0; i < n_kept; i++)
        times_us[i] = contender->times_us[contender->n_runs - 1 - i];
    gsl_sort(times_us, 1, (size_t)n_kept);
    return gsl_stats_median_from_sorted_data(times_us, 1, (size_t)n_kept);
}

/* Makes one row of n steps of the same row. */
static struct vbs_executed_row mean_of(const struct observed_step *steps, int64_t n, int n_kept,
                                       double factor)
{
    struct vbs_executed_row row = steps[0].row;
    double time_us = 0, deviation = 0;

    for (int64_t i = 0; i < n; i++) {
        time_us += steps[i].row.time_us;
        deviation += steps[i].row.deviation;
    }
    row.time_us = factor * time_us / (double)n;
    row.deviation = fmax(1e-6, deviation / (double)n * (n_kept > 2 ? MEDIAN_ERROR : 1) /
                                   sqrt((double)n_kept * (double)n));
    return row;
}

enum vbs_status learn_observe(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                              const struct contender *contender, struct observations *observations)
{
    int n_kept = contender->n_runs < LEARN_STEPS_KEPT ? contender->n_runs : LEARN_STEPS_KEPT;
    struct observed_step *steps;
    enum vbs_status status = VBS_OK;
    double sum_us, factor;
    int64_t n;

    if (n_kept == 0)
        return VBS_OK;
    steps = malloc(((size_t)contender->schedule->n_steps + 1) * sizeof *steps);
    if (!steps)
        return vbs_no_memory(ctx);
    n = list_steps(profile, contender, n_kept, steps, &sum_us);
    factor = sum_us > 0 ? median_request(contender, n_kept) / sum_us : 1;
    qsort(steps, (size_t)n, sizeof *steps, compare_steps);
    for (int64_t first = 0, end; first < n && status == VBS_OK; first = end) {
        for (end = first + 1; end < n && compare_steps(&steps[first], &steps[end]) == 0;)
            end++;
        status = vbs_grow(ctx, &observations->rows, &observations->capacity,
                          (int64_t)observations->n_rows + 1, sizeof *observations->rows);
        if (status == VBS_OK)
            observations->rows[observations->n_rows++] =
                mean_of(steps + first, end - first, n_kept, factor);
    }
    free(steps);
    return status;
}
