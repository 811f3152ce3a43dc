/*
 * From runs of schedules to executed rows.
 *
 * The machine is faster in some turns than in others. Its state in a turn is the mean, over the
 * schedules that ran in it, of the logarithm of a run's time over the schedule's usual time, and
 * the usual time the mean of the times less the states: both are found by turns (a two-way layout,
 * fitted by backfitting). Times of steps are divided by the state of their turn.
 *
 * The time of a row is the mean over its steps and over the runs, because plans sum them: where
 * other programs take the processors now and then, a short step mostly takes its own time, and now
 * and then many times as long, so that medians of steps would add up to much less than requests
 * take. Such a mean is uncertain, and says so. In the end all means of a schedule are multiplied by
 * one factor, with which they add up to the median of the request, without waits for loads.
 *
 * Of steps beside which weights were loaded, the time that they would have taken alone counts
 * (beside.c), because that is what rows of a profile are. It rests on a factor that was measured
 * at one batch of the layer and with one of its algorithms, so that what was taken off is uncertain
 * by FACTOR_ERROR of it.
 *
 * On a device the steps of a request have only the profile's shares of its time (steps.c). Each is
 * uncertain by as much as the request took longer or shorter than the profile says, because nothing
 * tells which of its steps did; by LEAST_SHARE at least, and by MOST_SHARE at most, because
 * requests that differ by more do so in all of their steps.
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

#define SINGLE_RUN   0.05 /* deviation of one time, as a share, where there is no other */
#define PRIOR_TIMES  4    /* that the pooled deviation counts for beside a row's own */
#define N_FITS       40   /* of states and usual times */
#define ENOUGH_RUNS  3    /* in the state that the profile is for, so that others do not count */
#define LEAST_SHARE  0.05 /* standard deviation, as a share, of a step that tells no time */
#define MOST_SHARE   0.3
#define FACTOR_ERROR 0.5 /* standard deviation, as a share, of what loads beside a step cost it */

/* A step of a schedule, or all steps of one row. */
struct observed_step {
    struct vbs_observed_row row;
    int64_t n;              /* times */
    double sum_us, squares; /* of the times, of steps alone */
    double beside_us;       /* sum of what loads beside these steps cost them */
    double run_us;          /* sum of the times as they ran, also of those that tell nothing */
};

int learn_compare_rows(const void *a, const void *b)
{
    const struct vbs_observed_row *x = a, *y = b;
    const int keys[][2] = {{x->layer, y->layer},
                           {x->batch, y->batch},
                           {x->rows, y->rows},
                           {x->algorithm, y->algorithm}};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

/* ---- The states of the machine ---- */

static bool is_apart(const struct turns *turns, int turn)
{
    return turns->apart && turns->apart[turn];
}

/* Returns whether some turn of several contenders was in the state that the profile is for. */
static bool is_anchored(const struct turns *turns, const double *counts)
{
    for (int t = 1; t <= turns->last; t++)
        if (counts[t] > 1 && !is_apart(turns, t))
            return true;
    return false;
}

/* Sets each usual time to the mean of the times less the states. */
static void fit_usual(const struct turns *turns, const double *states, double *usual)
{
    for (int c = 0; c < turns->n; c++) {
        const struct contender *contender = &turns->contenders[c];
        double sum = 0;

        for (int i = 0; i < contender->n_runs; i++)
            sum += log(contender->times_us[i]) - states[contender->turns[i]];
        usual[c] = contender->n_runs > 0 ? sum / contender->n_runs : 0;
    }
}

/* Sets each state to the mean of the times less the usual ones. The mean of those that the profile
 * is for, or of all where there is none such, is 0. */
static void fit_states(const struct turns *turns, const double *usual, double *states,
                       double *counts)
{
    double mean = 0, n = 0;
    bool anchored;

    memset(states, 0, ((size_t)turns->last + 1) * sizeof *states);
    memset(counts, 0, ((size_t)turns->last + 1) * sizeof *counts);
    for (int c = 0; c < turns->n; c++) {
        const struct contender *contender = &turns->contenders[c];

        for (int i = 0; i < contender->n_runs; i++) {
            states[contender->turns[i]] += log(contender->times_us[i]) - usual[c];
            counts[contender->turns[i]]++;
        }
    }
    anchored = is_anchored(turns, counts);
    for (int t = 1; t <= turns->last; t++) {
        states[t] /= fmax(1, counts[t]);
        if (counts[t] > 0 && !(anchored && is_apart(turns, t))) {
            mean += states[t];
            n++;
        }
    }
    for (int t = 1; t <= turns->last; t++)
        states[t] -= n > 0 ? mean / n : 0;
}

/* Makes the states of the turns, [last + 1], which the caller frees. A turn of one schedule has
 * none: nothing else tells its state from the schedule's own noise. *anchored: states are those
 * beside the one that the profile is for. */
static enum vbs_status find_states(struct vbs_ctx *ctx, const struct turns *turns, double **made,
                                   bool *anchored)
{
    size_t n = (size_t)turns->last + 1;
    double *states = calloc(n, sizeof *states), *counts = calloc(n, sizeof *counts);
    double *usual = calloc((size_t)turns->n + 1, sizeof *usual);
    enum vbs_status status = states && counts && usual ? VBS_OK : vbs_no_memory(ctx);

    for (int i = 0; i < N_FITS && status == VBS_OK; i++) {
        fit_usual(turns, states, usual);
        fit_states(turns, usual, states, counts);
    }
    for (size_t t = 0; t < n && status == VBS_OK; t++)
        states[t] = counts[t] > 1 ? states[t] : 0;
    *anchored = status == VBS_OK && is_anchored(turns, counts);
    free(counts);
    free(usual);
    if (status == VBS_OK)
        *made = states;
    else
        free(states);
    return status;
}

/* ---- Times ---- */

/* The runs of a contender of which the times of steps are kept: those in the state that the profile
 * is for, where they are enough. */
struct kept_runs {
    const struct turns *turns;
    const struct contender *contender;
    const double *states; /* by turn */
    bool apart;           /* nothing tells the times in the profile's state from these */
    int n;
    int runs[LEARN_STEPS_KEPT];
};

/* Returns whether the runs from number first on in the profile's state are enough. */
static bool has_enough(const struct turns *turns, const struct contender *contender, int first)
{
    int n = 0;

    for (int i = first; i < contender->n_runs; i++)
        n += !is_apart(turns, contender->turns[i]);
    return n >= ENOUGH_RUNS;
}

static void list_runs(struct kept_runs *kept, bool anchored)
{
    const struct contender *contender = kept->contender;
    int first = contender->n_runs > LEARN_STEPS_KEPT ? contender->n_runs - LEARN_STEPS_KEPT : 0;
    bool only = has_enough(kept->turns, contender, first);

    for (int i = first; i < contender->n_runs; i++) {
        bool apart = is_apart(kept->turns, contender->turns[i]);

        kept->apart = kept->apart || (apart && !only && !anchored);
        if (!(apart && only))
            kept->runs[kept->n++] = i;
    }
}

/* Adds the times of a step in the kept runs, without the states of their turns, to those of its
 * row. */
static void add_times(const struct kept_runs *kept, int64_t step, struct observed_step *row)
{
    const struct contender *contender = kept->contender;
    size_t n_steps = (size_t)contender->schedule->n_steps;

    for (int i = 0; i < kept->n; i++) {
        int run = kept->runs[i];
        size_t at = (size_t)(run % LEARN_STEPS_KEPT) * n_steps + (size_t)step;
        double state = exp(kept->states[contender->turns[run]]);
        double run_us = contender->steps_us[at] / state;
        double alone_us = contender->alone_us ? contender->alone_us[at] / state : run_us;

        row->run_us += run_us;
        if (isnan(alone_us))
            continue;
        row->sum_us += alone_us;
        row->squares += alone_us * alone_us;
        row->beside_us += run_us - alone_us;
        row->n++;
    }
}

/* Lists the compute steps of whole layers; returns their number. *sum_us: of the means of all
 * compute steps. */
static int64_t list_steps(const struct vbs_profile *profile, const struct kept_runs *kept,
                          int group, struct observed_step *steps, double *sum_us)
{
    const struct vbs_schedule *schedule = kept->contender->schedule;
    int64_t n = 0;

    *sum_us = 0;
    for (int64_t s = 0; s < schedule->n_steps; s++) {
        const struct vbs_step *step = &schedule->steps[s];

        if (step->op != VBS_STEP_COMPUTE)
            continue;
        steps[n] =
            (struct observed_step){.row = {.layer = step->layer,
                                           .batch = step->batch,
                                           .rows = step->rows,
                                           .algorithm = vbs_profile_algorithm(
                                               profile, schedule->algorithms[step->algorithm]),
                                           .group = group}};
        add_times(kept, s, &steps[n]);
        *sum_us += steps[n].run_us / kept->n;
        n += step->n_slices <= 1 && steps[n].sum_us > 0;
    }
    return n;
}

/* Brings the steps of each row together; returns the number of rows. */
static int64_t join_steps(struct observed_step *steps, int64_t n)
{
    int64_t n_rows = 0;

    qsort(steps, (size_t)n, sizeof *steps, learn_compare_rows); /* by their first member */
    for (int64_t i = 0; i < n; i++) {
        if (n_rows == 0 || learn_compare_rows(&steps[n_rows - 1].row, &steps[i].row) != 0) {
            steps[n_rows++] = steps[i];
            continue;
        }
        steps[n_rows - 1].n += steps[i].n;
        steps[n_rows - 1].sum_us += steps[i].sum_us;
        steps[n_rows - 1].squares += steps[i].squares;
        steps[n_rows - 1].beside_us += steps[i].beside_us;
    }
    return n_rows;
}

/* Returns the variance of the times of a row, as a share of the square of their mean; 0 of one
 * time. */
static double relative_variance(const struct observed_step *row)
{
    double n = (double)row->n, mean = row->sum_us / n;

    return row->n > 1 ? fmax(0, (row->squares / n - mean * mean) / (mean * mean) * n / (n - 1)) : 0;
}

/* Returns the mean of the variances of the rows, weighted by their times. */
static double pooled_variance(const struct observed_step *rows, int64_t n)
{
    double sum = 0, weights = 0;

    for (int64_t i = 0; i < n; i++)
        if (rows[i].n > 1) {
            sum += rows[i].sum_us * relative_variance(&rows[i]);
            weights += rows[i].sum_us;
        }
    return weights > 0 ? sum / weights : SINGLE_RUN * SINGLE_RUN;
}

/* Sets *median_us to the median of the request over all runs, or over those in the profile's state
 * where they are enough, without waits for loads and the states of their turns. */
static enum vbs_status median_request(struct vbs_ctx *ctx, const struct kept_runs *kept,
                                      double *median_us)
{
    const struct contender *contender = kept->contender;
    double *times_us = malloc(((size_t)contender->n_runs + 1) * sizeof *times_us);
    bool only = has_enough(kept->turns, contender, 0);
    size_t n = 0;

    if (!times_us)
        return vbs_no_memory(ctx);
    for (int i = 0; i < contender->n_runs; i++) {
        double wait_us = contender->waits_us ? contender->waits_us[i] : 0;
        double state = exp(kept->states[contender->turns[i]]);

        if (!(only && is_apart(kept->turns, contender->turns[i])))
            times_us[n++] = (contender->times_us[i] - wait_us) / state;
    }
    gsl_sort(times_us, 1, n);
    *median_us = gsl_stats_median_from_sorted_data(times_us, 1, n);
    free(times_us);
    return VBS_OK;
}

/* Returns by how much the shares of a request are uncertain; 0 where steps tell their own times. */
static double share_error(const struct contender *contender, double request_us)
{
    if (!contender->profile_us)
        return 0;
    return fmin(MOST_SHARE, fmax(LEAST_SHARE, fabs(log(request_us / contender->profile_sum_us))));
}

/* Returns the executed row. pooled: the variance that is usual in the schedule; share: the
 * deviation of shares of a request. */
static struct vbs_observed_row executed_row(const struct observed_step *steps, double pooled,
                                            double factor, double share)
{
    struct vbs_observed_row row = steps->row;
    double n = (double)steps->n, own = relative_variance(steps);
    double beside = FACTOR_ERROR * steps->beside_us / steps->sum_us;

    row.time_us = factor * steps->sum_us / n;
    row.deviation = sqrt(((n - 1) * own + PRIOR_TIMES * pooled) / (n - 1 + PRIOR_TIMES) / n +
                         beside * beside + share * share);
    row.deviation = fmax(1e-6, row.deviation);
    return row;
}

/* Appends what the runs of one contender say. */
static enum vbs_status observe_one(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                   const struct kept_runs *kept, int group,
                                   struct observations *observations)
{
    struct observed_step *steps =
        malloc(((size_t)kept->contender->schedule->n_steps + 1) * sizeof *steps);
    enum vbs_status status;
    double sum_us, median_us = 0, factor, pooled;
    int64_t n;

    if (!steps)
        return vbs_no_memory(ctx);
    n = join_steps(steps, list_steps(profile, kept, group, steps, &sum_us));
    status = median_request(ctx, kept, &median_us);
    factor = status == VBS_OK && sum_us > 0 ? median_us / sum_us : 1;
    pooled = pooled_variance(steps, n);
    if (status == VBS_OK)
        status = vbs_grow(ctx, &observations->rows, &observations->capacity,
                          observations->n_rows + n, sizeof *observations->rows);
    for (int64_t i = 0; i < n && status == VBS_OK; i++) {
        struct vbs_observed_row *row = &observations->rows[observations->n_rows++];

        *row = executed_row(&steps[i], pooled, factor, share_error(kept->contender, median_us));
        row->apart = kept->apart;
    }
    free(steps);
    return status;
}

enum vbs_status learn_observe(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                              const struct turns *turns, struct observations *observations)
{
    double *states = NULL;
    bool anchored = false;
    enum vbs_status status = find_states(ctx, turns, &states, &anchored);

    for (int c = 0; c < turns->n && status == VBS_OK; c++) {
        struct kept_runs kept = {
            .turns = turns, .contender = &turns->contenders[c], .states = states};

        list_runs(&kept, anchored);
        if (kept.n > 0)
            status = observe_one(ctx, profile, &kept, turns->number, observations);
    }
    free(states);
    return status;
}

enum vbs_status learn_posterior(struct learning *l, const struct observations *more, bool draws,
                                struct vbs_profile **made)
{
    int n_more = more ? more->n_rows : 0, n = l->settled.n_rows + n_more;
    struct vbs_observed_row *rows = malloc(((size_t)n + 1) * sizeof *rows);
    struct vbs_posterior_options options = {.struct_size = sizeof options,
                                            .n_executed = n,
                                            .executed = rows,
                                            .notes = l->options.notes,
                                            .draws = draws,
                                            .unexecuted = l->unproven,
                                            .seed = draws ? gsl_rng_get(&l->rng) : 0};
    enum vbs_status status;

    if (!rows)
        return vbs_no_memory(l->ctx);
    if (l->settled.n_rows > 0)
        memcpy(rows, l->settled.rows, (size_t)l->settled.n_rows * sizeof *rows);
    if (n_more > 0)
        memcpy(rows + l->settled.n_rows, more->rows, (size_t)n_more * sizeof *rows);
    status = vbs_profile_posterior(l->ctx, l->profile, &options, draws ? NULL : &l->report, made);
    free(rows);
    return status;
}
