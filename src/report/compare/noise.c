/*
 * The 95% intervals of gains, by a paired bootstrap. The time of a row is a median of samples, and
 * two schedules that run the same row share its error; so in each replicate every row is resampled
 * once, and all schedules are timed anew by the same medians. The values of a gain in the
 * replicates are its spread; the 25th smallest and the 25th largest of 999 are the ends of the 95%
 * percentile interval.
 *
 * The median of n values drawn anew from n is known without drawing them: of n = 2m + 1 uniform
 * numbers the median is distributed as Beta(m + 1, m + 1), and the sample at that quantile is the
 * resampled median. For n = 2m the m-th is Beta(m, m + 1), the next one the least of m uniform
 * numbers above it, and the median lies half-way between their samples. This is exactly the
 * bootstrap's distribution, with two random numbers a replicate instead of n and a sort.
 *
 * Where a row has no samples, or its time is not their median, the time is resampled from
 * two halves of normal distributions that meet at it, each as wide as its side of the interval. In
 * simulations (normal, lognormal, exponential, two-humped and contaminated samples, 5 to 25 of 3 to
 * 120 rows) both cover a true gain in 94 to 100% of cases; the basic and the bias-corrected
 * interval fall below 80% where samples have two humps. The same holds for gains only: the medians
 * of skewed samples are a little too high each, which cancels in a ratio of two sums but not in one
 * sum, and so no interval of a time is given.
 *
 * Where weights are copied, time is no sum: in each replicate both clocks run anew (clocks.c), with
 * the link's times of copies taken as exact.
 *
 * The errors of rows are taken to be independent of each other. A row's random numbers depend on
 * the row alone, so that no interval depends on which other intervals are computed, or in which
 * order.
 */
#include "report/compare/noise.h"

#include "base/arena.h"
#include "base/fail.h"
#include "base/grow.h"
#include "profile/slice.h"
#include "report/compare/clocks.h"
#include "report/compare/judge.h"
#include "vbslab/measure.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort_double.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define TAIL     25 /* replicates beyond each end: 2.5% of one more than there are */
#define MIN_RUNS 2  /* runs of a row whose time has an interval */

#define POSTERIOR_TAIL 0.025 /* beyond each end of the interval of a posterior time */

/* A row in a mix. */
struct row_count {
    size_t row;   /* index among all rows of the judge */
    double count; /* how often it runs; a slice counts by its share of the time */
};

struct vbs_mix {
    double time_us;
    int n_rows;
    struct row_count *rows; /* ascending by row */
    /* Where weights are copied the time is no sum of rows. Then the time of each replicate, or null
     * where some row has no interval. */
    bool copies;
    double *replicates_us;
};

/* Resampled times of a row less its median, [VBS_NOISE_REPLICATES]. */
struct row_draws {
    bool done;
    float *us; /* null: the row has no interval */
};

struct vbs_noise {
    const struct vbs_profile *judge;
    const struct vbs_sample_source *samples;
    size_t n_whole, n_rows;  /* rows of whole samples, and with those of stripes behind them */
    struct row_draws *draws; /* [n_rows] */
    double *counts;          /* [n_rows] for the current schedule; 0 between calls */
    size_t *touched;         /* [n_rows] rows whose count is not 0 */
    const struct vbs_mix *last;
    double *scratch; /* of capacity samples */
    int64_t capacity;
    bool from_samples, from_rows; /* which kinds of intervals were used */
    gsl_rng rng;
    struct vbs_arena arena;
};

/* ---- Making ---- */

static const struct vbs_profile_row *first_row(const struct vbs_profile *profile)
{
    int n_rows;

    return vbs_profile_rows(profile, 1, 0, &n_rows);
}

static const struct vbs_profile_stripe *first_stripe(const struct vbs_profile *profile)
{
    int n_stripes;

    return vbs_profile_stripes(profile, 1, &n_stripes);
}

/* Counts the rows of whole samples, and those of stripes. */
static void count_rows(struct vbs_noise *noise)
{
    const struct vbs_profile *judge = noise->judge;
    int n_last;
    const struct vbs_profile_row *last =
        vbs_profile_rows(judge, judge->n_layers, judge->n_batches - 1, &n_last);
    const struct vbs_profile_stripe *stripe;

    noise->n_whole = (size_t)(last - first_row(judge)) + (size_t)n_last;
    stripe = vbs_profile_stripes(judge, judge->n_layers, &n_last);
    noise->n_rows = noise->n_whole + (size_t)(stripe - first_stripe(judge)) + (size_t)n_last;
}

struct vbs_noise *vbs_noise_new(const struct vbs_profile *judge,
                                const struct vbs_sample_source *samples)
{
    struct vbs_noise *noise = calloc(1, sizeof *noise);

    if (!noise)
        return NULL;
    noise->judge = judge;
    noise->samples = samples;
    count_rows(noise);
    noise->draws = vbs_arena_alloc(&noise->arena, noise->n_rows, sizeof *noise->draws);
    noise->counts = vbs_arena_alloc(&noise->arena, noise->n_rows, sizeof *noise->counts);
    noise->touched = vbs_arena_alloc(&noise->arena, noise->n_rows, sizeof *noise->touched);
    /* gsl_rng_alloc would end the program where memory is out. */
    noise->rng.type = gsl_rng_mt19937;
    noise->rng.state = vbs_arena_alloc(&noise->arena, 1, noise->rng.type->size);
    if (!noise->draws || !noise->counts || !noise->touched || !noise->rng.state) {
        vbs_noise_free(noise);
        return NULL;
    }
    return noise;
}

void vbs_noise_free(struct vbs_noise *noise)
{
    if (!noise)
        return;
    free(noise->scratch);
    vbs_arena_clear(&noise->arena);
    free(noise);
}

enum vbs_intervals vbs_noise_intervals(const struct vbs_noise *noise)
{
    if (noise->from_samples)
        return VBS_INTERVALS_SAMPLES;
    return noise->from_rows ? VBS_INTERVALS_ROWS : VBS_INTERVALS_NONE;
}

/* ---- Resampling a row ---- */

/* Gives the resampled median of sorted samples. */
static double draw_median(const gsl_rng *rng, const double *sorted, int n)
{
    int m = n / 2;
    double u = gsl_ran_beta(rng, n % 2 ? m + 1 : m, m + 1), next;

    /* Rounding can make a quantile equal to 1. */
    if (n % 2)
        return sorted[(int)fmin(u * n, n - 1)];
    next = 1 - (1 - u) * pow(gsl_rng_uniform_pos(rng), 1.0 / m);
    return (sorted[(int)fmin(u * n, n - 1)] + sorted[(int)fmin(next * n, n - 1)]) / 2;
}

static void draw_from_samples(const gsl_rng *rng, const double *sorted, int n, double time_us,
                              float *us)
{
    for (int r = 0; r < VBS_NOISE_REPLICATES; r++)
        us[r] = (float)(draw_median(rng, sorted, n) - time_us);
}

/* Returns the probability that a time lies below its interval, which is also the probability that
 * it lies above. Medians of fewer than six runs have the range of the runs, which covers less than
 * 95%; posterior times have 95%, whatever the number of runs. An interval of a single run is no
 * range, which would be empty: an earlier version wrote a posterior time. */
static double tail_of(const struct vbs_profile *judge, const struct vbs_profile_row *row)
{
    return vbs_provenance_posterior(&judge->provenance) || row->n_runs == 1
               ? POSTERIOR_TAIL
               : vbs_measure_tail(row->n_runs);
}

static void draw_from_row(const gsl_rng *rng, const struct vbs_profile *judge,
                          const struct vbs_profile_row *row, float *us)
{
    double width = gsl_cdf_ugaussian_Qinv(tail_of(judge, row));
    double below_us = (row->time_us - row->low_us) / width;
    double above_us = (row->high_us - row->time_us) / width;

    for (int r = 0; r < VBS_NOISE_REPLICATES; r++) {
        double z = gsl_ran_gaussian_ziggurat(rng, 1);

        us[r] = (float)fmax(z * (z < 0 ? below_us : above_us), -row->time_us);
    }
}

/* A row of the judge by its index, with its layer and batch. */
struct place {
    const struct vbs_profile_row *row;
    int layer, batch;
    const char *algorithm;
};

static const struct vbs_profile_row *row_at(const struct vbs_noise *noise, size_t index)
{
    return index < noise->n_whole ? first_row(noise->judge) + index
                                  : &first_stripe(noise->judge)[index - noise->n_whole].row;
}

static struct place find_stripe(const struct vbs_profile *judge, size_t index)
{
    const struct vbs_profile_stripe *stripe = first_stripe(judge) + index;
    int layer = 1, n_stripes;

    while (layer < judge->n_layers && vbs_profile_stripes(judge, layer + 1, &n_stripes) <= stripe)
        layer++;
    return (struct place){
        .row = &stripe->row,
        .layer = layer,
        .batch = stripe->batch,
        .algorithm = judge->algorithms[stripe->row.algorithm],
    };
}

static struct place find_whole(const struct vbs_profile *judge, size_t index)
{
    const struct vbs_profile_row *first = first_row(judge), *row = first + index;
    int low = 0, high = judge->n_layers * judge->n_batches - 1, n_rows;

    while (low < high) {
        int middle = high - (high - low) / 2;

        if (vbs_profile_rows(judge, 1 + middle / judge->n_batches, middle % judge->n_batches,
                             &n_rows) <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return (struct place){
        .row = row,
        .layer = 1 + low / judge->n_batches,
        .batch = judge->batches[low % judge->n_batches],
        .algorithm = judge->algorithms[row->algorithm],
    };
}

/* Returns whether these are the samples that the row was measured by, and sets *is_median: the
 * row's time is their median. They are sorted; NaN may be anywhere. */
static bool are_of_row(double *samples, int n, const struct vbs_profile_row *row, bool *is_median)
{
    struct vbs_profile_row summary = {0};

    for (int i = 0; i < n; i++)
        if (!(samples[i] >= 0 && samples[i] <= VBS_MAX_TIME_US))
            return false;
    vbs_measure_summary(samples, n, &summary);
    *is_median = summary.time_us == row->time_us;
    return n == row->n_runs && (*is_median || summary.mad_us == row->mad_us);
}

/* Reads the row's samples, sorted, into scratch; *n is 0 where there are none, or where the time of
 * the row is not their median, but a posterior time, whose interval tells more than they do. */
static enum vbs_status read_samples(struct vbs_ctx *ctx, struct vbs_noise *noise,
                                    const struct place *place, int *n)
{
    const struct vbs_sample_source *source = noise->samples;
    const double *times_us = NULL;
    enum vbs_status status = VBS_OK;
    bool is_median;

    *n = 0;
    if (source)
        status = source->times(ctx, source->self, place->layer, place->batch, place->row->rows,
                               place->algorithm, &times_us, n);
    if (status != VBS_OK || *n == 0)
        return status;
    if ((status = vbs_grow(ctx, &noise->scratch, &noise->capacity, *n, sizeof *noise->scratch)))
        return status;
    memcpy(noise->scratch, times_us, (size_t)*n * sizeof *times_us);
    if (!are_of_row(noise->scratch, *n, place->row, &is_median))
        return vbs_fail(ctx, VBS_INVALID,
                        "layer %d batch %d algorithm '%s': the samples are not those that the "
                        "profile was made from",
                        place->layer, place->batch, place->algorithm);
    *n = is_median ? *n : 0;
    return VBS_OK;
}

/* Returns whether a row has an interval. That of a single run is empty. */
static bool has_interval(const struct vbs_profile_row *row)
{
    return row->n_runs >= MIN_RUNS || (row->n_runs > 0 && row->low_us < row->high_us);
}

static enum vbs_status draw_row(struct vbs_ctx *ctx, struct vbs_noise *noise, size_t index)
{
    struct place place = index < noise->n_whole ? find_whole(noise->judge, index)
                                                : find_stripe(noise->judge, index - noise->n_whole);
    struct row_draws *draws = &noise->draws[index];
    float *us;
    int n;

    if (vbs_cancelled(ctx))
        return vbs_fail(ctx, VBS_INTERRUPTED, "interrupted");
    draws->done = !has_interval(place.row);
    if (draws->done)
        return VBS_OK;
    VBS_TRY(read_samples(ctx, noise, &place, &n));
    us = vbs_arena_alloc(&noise->arena, VBS_NOISE_REPLICATES, sizeof *us);
    if (!us)
        return vbs_no_memory(ctx);
    /* GSL replaces a seed of 0 by a default, which another row may have. */
    gsl_rng_set(&noise->rng, (unsigned long)index + 1);
    if (n > 0)
        draw_from_samples(&noise->rng, noise->scratch, n, place.row->time_us, us);
    else
        draw_from_row(&noise->rng, noise->judge, place.row, us);
    noise->from_samples = noise->from_samples || n > 0;
    noise->from_rows = noise->from_rows || n == 0;
    *draws = (struct row_draws){.done = true, .us = us};
    return VBS_OK;
}

/* ---- Mixes ---- */

/* Gives the judge's row of a compute step; it must exist. */
static size_t row_of_step(const struct vbs_noise *noise, const struct vbs_schedule *schedule,
                          const struct vbs_step *step)
{
    const struct vbs_profile *judge = noise->judge;
    int algorithm = vbs_profile_algorithm(judge, schedule->algorithms[step->algorithm]);
    const struct vbs_profile_row *row =
        vbs_profile_find_row(judge, step->layer, step->batch, step->rows, algorithm);
    const struct vbs_profile_stripe *stripe;

    if (row->rows == 0)
        return (size_t)(row - first_row(judge));
    stripe = (const struct vbs_profile_stripe *)((const char *)row -
                                                 offsetof(struct vbs_profile_stripe, row));
    return noise->n_whole + (size_t)(stripe - first_stripe(judge));
}

/* Counts how often the schedule runs each row, and lists these rows; returns their number. */
static size_t touch_rows(struct vbs_noise *noise, const struct vbs_schedule *schedule)
{
    size_t n = 0;

    for (int64_t s = 0; s < schedule->n_steps; s++) {
        const struct vbs_step *step = &schedule->steps[s];
        size_t row;

        if (step->op != VBS_STEP_COMPUTE)
            continue;
        row = row_of_step(noise, schedule, step);
        if (noise->counts[row] == 0)
            noise->touched[n++] = row;
        noise->counts[row] +=
            vbs_slice_share(&noise->judge->layers[step->layer], step->slice, step->n_slices);
    }
    return n;
}

static int by_row(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

/* Gives whether two schedules take the same time in all draws, so that no draw tells them apart. */
static bool same_replicates(const struct vbs_mix *a, const struct vbs_mix *b)
{
    if (a->time_us != b->time_us || !a->replicates_us || !b->replicates_us)
        return a->time_us == b->time_us && !a->replicates_us && !b->replicates_us;
    return memcmp(a->replicates_us, b->replicates_us,
                  VBS_NOISE_REPLICATES * sizeof *a->replicates_us) == 0;
}

bool vbs_mix_equal(const struct vbs_mix *a, const struct vbs_mix *b)
{
    if (a == b)
        return true;
    if (a->n_rows != b->n_rows || a->copies != b->copies)
        return false;
    for (int i = 0; i < a->n_rows; i++)
        if (a->rows[i].row != b->rows[i].row || a->rows[i].count != b->rows[i].count)
            return false;
    return !a->copies || same_replicates(a, b);
}

/* Gives whether the rows touched are those of the mix made last, equally often. */
static bool is_last(const struct vbs_noise *noise, size_t n)
{
    if (!noise->last || noise->last->copies || noise->last->n_rows != (int)n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct row_count *counted = &noise->last->rows[i];

        if (counted->row != noise->touched[i] || counted->count != noise->counts[counted->row])
            return false;
    }
    return true;
}

/* The source of the draws for the clocks of a schedule. */
struct clock_source {
    struct vbs_noise *noise;
    const struct vbs_schedule *schedule;
};

static enum vbs_status find_draws(struct vbs_ctx *ctx, void *self, const struct vbs_step *step,
                                  const struct vbs_profile_row **row, const float **draws)
{
    const struct clock_source *source = self;
    struct vbs_noise *noise = source->noise;
    size_t index = row_of_step(noise, source->schedule, step);
    enum vbs_status status = noise->draws[index].done ? VBS_OK : draw_row(ctx, noise, index);

    *row = row_at(noise, index);
    *draws = noise->draws[index].us;
    return status;
}

/* Fills replicates_us of mix, the mix of a schedule that copies. */
static enum vbs_status draw_clocks(struct vbs_ctx *ctx, struct vbs_noise *noise,
                                   const struct vbs_schedule *schedule, struct vbs_mix *mix)
{
    struct clock_source source = {.noise = noise, .schedule = schedule};
    struct vbs_clock_rows rows = {.self = &source, .find = find_draws};
    struct vbs_link link = vbs_judge_link(noise->judge, &schedule->copy);
    double *times_us = vbs_arena_alloc(&noise->arena, VBS_NOISE_REPLICATES, sizeof *times_us);
    bool known;

    if (!times_us)
        return vbs_no_memory(ctx);
    VBS_TRY(vbs_clocks_run(ctx, noise->judge, schedule, &link, &rows, VBS_NOISE_REPLICATES,
                           times_us, &known));
    if (known)
        mix->replicates_us = times_us;
    return VBS_OK;
}

/* Gives whether copies take a part of the time. */
static bool has_copies(const struct vbs_schedule *schedule)
{
    for (int64_t s = 0; s < schedule->n_steps; s++)
        if (schedule->steps[s].op == VBS_STEP_LOAD && !schedule->steps[s].resident)
            return true;
    return false;
}

enum vbs_status vbs_noise_mix(struct vbs_ctx *ctx, struct vbs_noise *noise,
                              const struct vbs_schedule *schedule, double time_us,
                              const struct vbs_mix **mix)
{
    bool copies = has_copies(schedule);
    size_t n = touch_rows(noise, schedule);
    struct vbs_mix *made = NULL;

    qsort(noise->touched, n, sizeof *noise->touched, by_row);
    if (copies || !is_last(noise, n)) {
        made = vbs_arena_alloc(&noise->arena, 1, sizeof *made);
        if (made)
            *made = (struct vbs_mix){
                .time_us = time_us,
                .copies = copies,
                .n_rows = (int)n,
                .rows = vbs_arena_alloc(&noise->arena, n, sizeof *made->rows),
            };
        if (!made || !made->rows)
            made = NULL;
        noise->last = made;
    }
    for (size_t i = 0; i < n; i++) {
        size_t row = noise->touched[i];

        if (made)
            made->rows[i] = (struct row_count){.row = row, .count = noise->counts[row]};
        noise->counts[row] = 0;
    }
    if (!noise->last)
        return vbs_no_memory(ctx);
    *mix = noise->last;
    return copies ? draw_clocks(ctx, noise, schedule, made) : VBS_OK;
}

/* ---- Spreads ---- */

enum vbs_status vbs_noise_spread(struct vbs_ctx *ctx, struct vbs_noise *noise,
                                 const struct vbs_mix *mix, struct vbs_spread *spread)
{
    if (spread->mix == mix)
        return VBS_OK;
    spread->mix = NULL;
    if (mix->copies) {
        spread->known = mix->replicates_us != NULL;
        if (spread->known)
            memcpy(spread->time_us, mix->replicates_us, sizeof spread->time_us);
        spread->mix = mix;
        return VBS_OK;
    }
    spread->known = true;
    for (int r = 0; r < VBS_NOISE_REPLICATES; r++)
        spread->time_us[r] = mix->time_us;
    for (int i = 0; i < mix->n_rows && spread->known; i++) {
        const struct row_draws *draws = &noise->draws[mix->rows[i].row];
        const double count = mix->rows[i].count;

        if (!draws->done)
            VBS_TRY(draw_row(ctx, noise, mix->rows[i].row));
        spread->known = draws->us != NULL;
        for (int r = 0; draws->us && r < VBS_NOISE_REPLICATES; r++)
            spread->time_us[r] += count * (double)draws->us[r];
    }
    spread->mix = mix;
    return VBS_OK;
}

bool vbs_noise_gain(const struct vbs_spread *ours, const struct vbs_spread *base,
                    double *low_percent, double *high_percent)
{
    double gains[VBS_NOISE_REPLICATES], ends[TAIL];

    if (!ours->known || !base->known)
        return false;
    for (int r = 0; r < VBS_NOISE_REPLICATES; r++) {
        if (!(base->time_us[r] > 0))
            return false;
        gains[r] = 100 * (1 - ours->time_us[r] / base->time_us[r]);
    }
    gsl_sort_smallest(ends, TAIL, gains, 1, VBS_NOISE_REPLICATES);
    *low_percent = ends[TAIL - 1];
    gsl_sort_largest(ends, TAIL, gains, 1, VBS_NOISE_REPLICATES);
    *high_percent = ends[TAIL - 1];
    return true;
}
