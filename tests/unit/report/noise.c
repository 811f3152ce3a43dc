/*
 * Intervals of gains: on invented measurements whose true times are known, and where nothing is
 * known. Plans are made on the true times, so that only the judge is noisy.
 */
#include "cases/noisy_profile.h"
#include "support/tap.h"
#include "vbslab/posterior.h"

#include "profile/builder.h"
#include "report/compare/noise.h"

#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <stdlib.h>

#define SEED         20260501
#define REQUEST      12
#define MEMORY_BYTES 30000 /* most layers can have a larger batch than the fourth */
#define N_MEASURED   200

static gsl_rng *rng;

static const struct vbs_planner *find(const char *name)
{
    const struct vbs_planner *planner;

    if (vbs_planner_find(NULL, name, &planner) != VBS_OK)
        exit(1);
    return planner;
}

/* The planners that are compared, and the measurement. */
struct trial {
    const struct vbs_profile *profile, *judge;
    const struct vbs_sample_source *samples;
    const char *planners[3];                  /* up to the first null */
    int64_t from_bytes, to_bytes, step_bytes; /* 0: MEMORY_BYTES alone */
};

static enum vbs_status try(struct vbs_ctx *ctx, const struct trial *trial,
                           struct vbs_compare **compare)
{
    struct vbs_problem problem = {.profile = trial->profile, .request = REQUEST};
    struct vbs_byte_range budgets = {MEMORY_BYTES, MEMORY_BYTES, 1, 0};
    const struct vbs_planner *planners[3];
    struct vbs_compare_options options = {.struct_size = sizeof(struct vbs_compare_options),
                                          .judge = trial->judge,
                                          .samples = trial->samples,
                                          .budgets = &budgets,
                                          .planners = planners};

    if (trial->step_bytes > 0)
        budgets = (struct vbs_byte_range){trial->from_bytes, trial->to_bytes, trial->step_bytes, 0};
    while (options.n_planners < 3 && trial->planners[options.n_planners]) {
        planners[options.n_planners] = find(trial->planners[options.n_planners]);
        options.n_planners++;
    }
    return vbs_compare_run(ctx, &problem, &options, compare);
}

/* Runs a trial, which must succeed. */
static struct vbs_compare *run(const struct trial *trial)
{
    struct vbs_compare *compare = NULL;
    struct vbs_ctx ctx = {0};

    if (try(&ctx, trial, &compare) != VBS_OK)
        bail_out("%s", ctx.detail);
    return compare;
}

/* ---- Resampling ---- */

#define MOST_RUNS 6
#define N_LAYERS  8
#define N_DRAWS   (N_LAYERS * NOISY_BATCHES * VBS_NOISE_REPLICATES)

/* How often the median of a resample is half-way between samples i and j of n, in ascending order;
 * i == j where n is odd. */
struct medians {
    double count[MOST_RUNS][MOST_RUNS];
};

/* All n^n resamples. */
static struct medians every_resample(int n)
{
    struct medians medians = {0};
    int n_resamples = 1;

    for (int i = 0; i < n; i++)
        n_resamples *= n;
    for (int code = 0; code < n_resamples; code++) {
        int taken[MOST_RUNS] = {0}, i = 0, j = 0, rest = code;

        for (int k = 0; k < n; k++, rest /= n)
            taken[rest % n]++;
        for (int below = taken[0]; below <= (n - 1) / 2;)
            below += taken[++i];
        for (int below = taken[0]; below <= n / 2;)
            below += taken[++j];
        medians.count[i][j] += 1.0 / n_resamples;
    }
    return medians;
}

/* Counts the places of the draws of a row among its sorted samples. */
static void count_draws(const double *sorted, int n, const struct vbs_spread *spread,
                        struct medians *medians)
{
    for (int r = 0; r < VBS_NOISE_REPLICATES; r++) {
        int best_i = 0, best_j = 0;
        double least = HUGE_VAL;

        for (int i = 0; i < n; i++)
            for (int j = i; j < (n % 2 ? i + 1 : n); j++)
                if (fabs((sorted[i] + sorted[j]) / 2 - spread->time_us[r]) < least) {
                    least = fabs((sorted[i] + sorted[j]) / 2 - spread->time_us[r]);
                    best_i = i;
                    best_j = j;
                }
        medians->count[best_i][best_j] += 1.0 / N_DRAWS;
    }
}

/* Makes the spread of one step alone. */
static void spread_row(struct vbs_noise *noise, const struct noisy *measured, int row,
                       struct vbs_spread *spread)
{
    const char *const algorithm = "direct";
    struct vbs_step step = {.layer = 1 + row / NOISY_BATCHES,
                            .batch = measured->profile->batches[row % NOISY_BATCHES]};
    struct vbs_schedule schedule = {
        .n_algorithms = 1, .algorithms = &algorithm, .n_steps = 1, .steps = &step};
    const struct vbs_mix *mix;
    int n_rows;
    double time_us =
        vbs_profile_rows(measured->profile, step.layer, row % NOISY_BATCHES, &n_rows)->time_us;

    if (vbs_noise_mix(NULL, noise, &schedule, time_us, &mix) != VBS_OK ||
        vbs_noise_spread(NULL, noise, mix, spread) != VBS_OK)
        exit(1);
}

static void draws_are_medians_of_resamples(int n)
{
    struct noisy_plan plan = {.n_layers = N_LAYERS, .n_runs = n, .sigma = 0.5};
    struct noisy *measured = noisy_new(rng, &plan);
    struct vbs_noise *noise = vbs_noise_new(measured->profile, &measured->source);
    struct medians want = every_resample(n), got = {0};
    static struct vbs_spread spread;
    double worst = 0;

    for (int row = 0; noise && row < N_LAYERS * NOISY_BATCHES; row++) {
        double sorted[MOST_RUNS];

        memcpy(sorted, measured->samples_us[row], (size_t)n * sizeof *sorted);
        gsl_sort(sorted, 1, (size_t)n);
        spread_row(noise, measured, row, &spread);
        count_draws(sorted, n, &spread, &got);
    }
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            double p = want.count[i][j], error = fabs(got.count[i][j] - p);

            if (p > 0)
                worst = fmax(worst, error / sqrt(p * (1 - p) / N_DRAWS));
            else if (error > 0)
                worst = HUGE_VAL;
        }
    ok(worst < 4, "medians of %d: %d draws come as often as among all resamples, within %.1f sigma",
       n, N_DRAWS, worst);
    vbs_noise_free(noise);
    noisy_free(measured);
}

/* ---- Truth ---- */

/* Both gains of dp-vbs. */
struct gains {
    struct vbs_gain over[2];
};

static struct gains gains_by(const struct vbs_profile *truth, const struct noisy *measured,
                             bool by_samples)
{
    struct trial trial = {.profile = truth,
                          .judge = measured->profile,
                          .samples = by_samples ? &measured->source : NULL,
                          .planners = {"dp-vbs"}};
    struct vbs_compare *compare = run(&trial);
    struct gains gains = {{compare->rows[0].gain_over_fbs, compare->rows[0].gain_over_fbs_best}};

    vbs_compare_free(compare);
    return gains;
}

static bool covers(const struct vbs_gain *gain, double percent)
{
    return gain->low_percent <= percent && percent <= gain->high_percent;
}

/* The results of N_MEASURED measurements for one gain. */
struct tally {
    int n_covered, n_inside; /* the truth in the interval; the estimate in its own */
    double estimates[N_MEASURED];
    double half_percent; /* sum of half widths */
};

static void count(struct tally *tally, int i, const struct vbs_gain *gain, double true_percent)
{
    tally->n_covered += covers(gain, true_percent);
    tally->n_inside += covers(gain, gain->percent);
    tally->estimates[i] = gain->percent;
    tally->half_percent += (gain->high_percent - gain->low_percent) / 2;
}

static void judge_tally(const struct tally *tally, const char *name)
{
    double scatter = gsl_stats_sd(tally->estimates, 1, N_MEASURED);
    double width = tally->half_percent / N_MEASURED / (1.96 * scatter);

    ok(tally->n_covered >= 0.90 * N_MEASURED,
       "%s: the interval covers the true gain in %d of %d measurements", name, tally->n_covered,
       N_MEASURED);
    ok(width >= 0.85 && width <= 1.4, "%s: it is %.2f times as wide as the scatter", name, width);
    ok(tally->n_inside >= 0.99 * N_MEASURED, "%s: it holds the estimate itself, %d times", name,
       tally->n_inside);
}

static void intervals_cover_the_truth(int n_runs, double sigma, bool by_samples)
{
    struct noisy *truth = noisy_new(rng, &(struct noisy_plan){.n_layers = 12});
    struct noisy_plan plan = {.n_layers = 12, .n_runs = n_runs, .sigma = sigma};
    struct gains real = gains_by(truth->profile, truth, false);
    static struct tally tallies[2];
    char name[80];

    tallies[0] = tallies[1] = (struct tally){0};
    for (int i = 0; i < N_MEASURED; i++) {
        struct noisy *measured = noisy_new(rng, &plan);
        struct gains found = gains_by(truth->profile, measured, by_samples);

        for (int base = 0; base < 2; base++)
            count(&tallies[base], i, &found.over[base], real.over[base].percent);
        noisy_free(measured);
    }
    printf("# true gains %.1f%% and %.1f%%\n", real.over[0].percent, real.over[1].percent);
    for (int base = 0; base < 2; base++) {
        snprintf(name, sizeof name, "%d runs, noise of %g, by %s, over %s", n_runs, sigma,
                 by_samples ? "samples" : "rows", base == 0 ? "fbs" : "fbs-best");
        judge_tally(&tallies[base], name);
    }
    noisy_free(truth);
}

static void rows_give_much_the_same_as_samples(void)
{
    struct noisy *truth = noisy_new(rng, &(struct noisy_plan){.n_layers = 12});
    struct noisy_plan plan = {.n_layers = 12, .n_runs = 25, .sigma = 0.05};
    double by_samples = 0, by_rows = 0, worst = 1;

    for (int i = 0; i < 20; i++) {
        struct noisy *measured = noisy_new(rng, &plan);
        struct gains a = gains_by(truth->profile, measured, true);
        struct gains b = gains_by(truth->profile, measured, false);
        double width_a = a.over[0].high_percent - a.over[0].low_percent;
        double width_b = b.over[0].high_percent - b.over[0].low_percent;

        by_samples += width_a;
        by_rows += width_b;
        worst = fmax(worst, fmax(width_a / width_b, width_b / width_a));
        noisy_free(measured);
    }
    is_near(by_rows / by_samples, 1, 0.1, "intervals from rows are as wide as from samples");
    ok(worst < 1.6, "none differs by more than half, at most %.2f times", worst);
    noisy_free(truth);
}

/* ---- Pairing ---- */

/* The fourth layer takes longer than all the others together, and is as noisy as they are not. */
static double heavy_us(int layer, int batch)
{
    return layer == 4 ? 3000.0 * batch : 20.0 * (4 + batch);
}

static double heavy_sigma(int layer)
{
    return layer == 4 ? 0.2 : 0.01;
}

/* Batch 1 alone fits the heavy layer, so that all schedules run the same row of it. */
static void what_schedules_share_cancels(void)
{
    struct noisy_plan plan = {.n_layers = 8, .time_us = heavy_us};
    struct noisy *truth = noisy_new(rng, &plan), *measured;
    struct trial trial = {
        .planners = {"dp-vbs"}, .from_bytes = 15000, .to_bytes = 15000, .step_bytes = 1};
    struct vbs_compare *compare;
    const struct vbs_gain *gain;

    plan.n_runs = 9;
    plan.layer_sigma = heavy_sigma;
    measured = noisy_new(rng, &plan);
    trial.profile = truth->profile;
    trial.judge = measured->profile;
    trial.samples = &measured->source;
    compare = run(&trial);
    gain = &compare->rows[0].gain_over_fbs;
    ok(compare->rows[0].max_batch > 1 && gain->percent > 1, "dp-vbs gains %.2f%%", gain->percent);
    ok(gain->high_percent - gain->low_percent < 4,
       "by %.2f to %.2f, though most of all the time is uncertain by a tenth", gain->low_percent,
       gain->high_percent);
    vbs_compare_free(compare);
    noisy_free(truth);
    noisy_free(measured);
}

static void equal_schedules_gain_nothing(void)
{
    struct noisy *measured =
        noisy_new(rng, &(struct noisy_plan){.n_layers = 8, .n_runs = 9, .sigma = 0.1});
    struct trial trial = {.profile = measured->profile,
                          .samples = &measured->source,
                          .planners = {"fbs", "fbs-best", "fbs"}};
    struct vbs_compare *compare = run(&trial);
    const struct vbs_compare_row *rows = compare->rows;

    ok(rows[0].gain_over_fbs.low_percent == 0 && rows[0].gain_over_fbs.high_percent == 0 &&
           rows[2].gain_over_fbs.low_percent == 0 && rows[2].gain_over_fbs.high_percent == 0,
       "the gain of a schedule over itself is from 0 to 0");
    ok(rows[1].gain_over_fbs_best.low_percent == 0 && rows[1].gain_over_fbs_best.high_percent == 0,
       "so it is over fbs-best");
    ok(rows[0].noise == rows[2].noise && rows[0].noise != VBS_NOISE_UNKNOWN,
       "rows with the same steps have the same verdict");
    vbs_compare_free(compare);
    trial.planners[1] = "fbs";
    compare = run(&trial);
    ok(compare->rows[0].noise == VBS_NOISE_CLEAR && compare->rows[1].noise == VBS_NOISE_CLEAR,
       "a schedule that all planners share is not within noise of itself");
    vbs_compare_free(compare);
    noisy_free(measured);
}

/* ---- Verdicts ---- */

/* A larger batch saves next to nothing. */
static double flat_us(int layer, int batch)
{
    return 50 * (layer % 3 + 1) * (batch + 1e-4 / batch);
}

static void verdicts_tell_winners_by_luck(void)
{
    struct noisy_plan plan = {.n_layers = 12, .n_runs = 15, .sigma = 0.03, .time_us = flat_us};
    struct noisy *flat = noisy_new(rng, &plan), *steep, *flat_truth, *steep_truth;
    struct trial trial = {.planners = {"fbs", "dp-vbs"}};
    struct vbs_compare *compare;

    plan.time_us = NULL;
    steep = noisy_new(rng, &plan);
    plan.n_runs = 0;
    steep_truth = noisy_new(rng, &plan);
    plan.time_us = flat_us;
    flat_truth = noisy_new(rng, &plan);
    trial.profile = flat_truth->profile;
    trial.judge = flat->profile;
    trial.samples = &flat->source;
    compare = run(&trial);
    ok(compare->rows[0].noise == VBS_NOISE_WITHIN && compare->rows[1].noise == VBS_NOISE_WITHIN,
       "where batches do not matter, the winner is within noise, and so is the loser");
    ok(covers(&compare->rows[1].gain_over_fbs, 0), "and the gain may be none");
    vbs_compare_free(compare);
    trial.profile = steep_truth->profile;
    trial.judge = steep->profile;
    trial.samples = &steep->source;
    compare = run(&trial);
    ok(compare->rows[0].noise == VBS_NOISE_CLEAR && compare->rows[1].noise == VBS_NOISE_CLEAR,
       "where they do, neither is");
    ok(compare->rows[1].gain_over_fbs.low_percent > 0, "and there is a gain");
    vbs_compare_free(compare);
    noisy_free(flat);
    noisy_free(steep);
    noisy_free(flat_truth);
    noisy_free(steep_truth);
}

/* ---- Nothing to know ---- */

static bool is_unknown(const struct vbs_compare_row *row)
{
    return isfinite(row->gain_over_fbs.percent) && isnan(row->gain_over_fbs.low_percent) &&
           isnan(row->gain_over_fbs.high_percent) && row->noise == VBS_NOISE_UNKNOWN;
}

static void exact_times_have_no_interval(void)
{
    struct noisy *exact = noisy_new(rng, &(struct noisy_plan){.n_layers = 8});
    struct noisy *once = noisy_new(rng, &(struct noisy_plan){.n_layers = 8, .n_runs = 1});
    struct trial trial = {.profile = exact->profile, .planners = {"fbs", "dp-vbs"}};
    struct vbs_compare *compare = run(&trial);

    ok(compare->intervals == VBS_INTERVALS_NONE, "no times with intervals, no intervals");
    ok(is_unknown(&compare->rows[0]) && is_unknown(&compare->rows[1]), "and no verdict");
    vbs_compare_free(compare);
    trial.profile = once->profile;
    trial.samples = &once->source;
    compare = run(&trial);
    ok(compare->intervals == VBS_INTERVALS_NONE && is_unknown(&compare->rows[1]),
       "nor from a single run of each");
    is_int(once->n_reads, 0, "whose samples are not even read");
    vbs_compare_free(compare);
    noisy_free(exact);
    noisy_free(once);
}

/* A posterior time is not the median of its samples, which are still those of its row. */
static void posterior_times_have_their_own_intervals(void)
{
    struct noisy *measured =
        noisy_new(rng, &(struct noisy_plan){.n_layers = 8, .n_runs = 9, .sigma = 0.1});
    struct vbs_profile *posterior = NULL;
    struct trial trial = {.planners = {"dp-vbs"}, .samples = &measured->source};
    struct vbs_compare *compare;

    if (vbs_profile_posterior(NULL, measured->profile, NULL, NULL, &posterior) != VBS_OK)
        bail_out("no posterior");
    trial.profile = posterior;
    compare = run(&trial);
    ok(compare->intervals == VBS_INTERVALS_ROWS && measured->n_reads > 0,
       "of posterior times the rows' intervals are used, whatever the samples");
    ok(isfinite(compare->rows[0].gain_over_fbs.low_percent), "and gains have theirs");
    vbs_compare_free(compare);
    vbs_profile_free(posterior);
    noisy_free(measured);
}

/* Makes a copy of a profile with this member times. */
static struct vbs_profile *with_times(const struct vbs_profile *profile, const char *times)
{
    struct vbs_provenance provenance = profile->provenance;
    struct vbs_profile *made = NULL;

    provenance.times = times;
    if (vbs_profile_change(NULL, profile, NULL, &provenance, &made) != VBS_OK)
        bail_out("no profile");
    return made;
}

/* Returns the width of the interval of a gain over fbs. */
static double gain_width(const struct vbs_profile *profile)
{
    struct trial trial = {.profile = profile, .planners = {"dp-vbs"}};
    struct vbs_compare *compare = run(&trial);
    double width =
        compare->rows[0].gain_over_fbs.high_percent - compare->rows[0].gain_over_fbs.low_percent;

    vbs_compare_free(compare);
    return width;
}

/* The range of three runs holds their median with 75%, the interval of a posterior time the time
 * with 95%: 1.150 and 1.960 standard deviations. A single run has no range. */
static void profiles_say_what_intervals_are(void)
{
    const struct noisy_plan three = {.n_layers = 8, .n_runs = 3, .sigma = 0.02};
    const struct noisy_plan one = {.n_layers = 8, .n_runs = 1, .sigma = 0.02};
    struct noisy *measured = noisy_new(rng, &three), *once = noisy_new(rng, &one);
    struct vbs_profile *marked = with_times(measured->profile, VBS_TIMES_POSTERIOR);
    struct vbs_profile *posterior = NULL, *unmarked;
    double ratio = gain_width(measured->profile) / gain_width(marked);

    ok(fabs(ratio / (1.960 / 1.150) - 1) < 0.02,
       "gains by rows of three runs are as uncertain as these are medians or posterior (%.3f)",
       ratio);
    if (vbs_profile_posterior(NULL, once->profile, NULL, NULL, &posterior) != VBS_OK)
        bail_out("no posterior");
    unmarked = with_times(posterior, "");
    ok(gain_width(posterior) > 0 && gain_width(unmarked) == gain_width(posterior),
       "an interval of one run is that of a posterior time, also where the profile does not say "
       "it");
    vbs_profile_free(marked);
    vbs_profile_free(posterior);
    vbs_profile_free(unmarked);
    noisy_free(measured);
    noisy_free(once);
}

static void sources_are_told(void)
{
    struct noisy *measured =
        noisy_new(rng, &(struct noisy_plan){.n_layers = 8, .n_runs = 9, .sigma = 0.1});
    struct trial trial = {.profile = measured->profile, .planners = {"dp-vbs"}};
    struct vbs_compare *compare = run(&trial);

    ok(compare->intervals == VBS_INTERVALS_ROWS, "without samples the rows' intervals are used");
    vbs_compare_free(compare);
    trial.samples = &measured->source;
    measured->n_kept = 0;
    compare = run(&trial);
    ok(compare->intervals == VBS_INTERVALS_ROWS && measured->n_reads > 0,
       "also where a source turns out to keep none");
    vbs_compare_free(compare);
    measured->n_kept = 1;
    compare = run(&trial);
    ok(isfinite(compare->rows[0].gain_over_fbs.low_percent), "or some only");
    vbs_compare_free(compare);
    measured->n_kept = 8 * NOISY_BATCHES;
    measured->n_reads = 0;
    compare = run(&trial);
    ok(compare->intervals == VBS_INTERVALS_SAMPLES, "with samples they are used");
    ok(measured->n_reads > 8 && measured->n_reads < 8 * NOISY_BATCHES,
       "of the rows that schedules run, %d of %d", measured->n_reads, 8 * NOISY_BATCHES);
    vbs_compare_free(compare);
    noisy_free(measured);
}

static void wrong_samples_are_refused(void)
{
    struct noisy_plan plan = {.n_layers = 8, .n_runs = 9, .sigma = 0.1};
    struct noisy *measured = noisy_new(rng, &plan), *other = noisy_new(rng, &plan), *shorter;
    struct trial trial = {
        .profile = measured->profile, .samples = &other->source, .planners = {"dp-vbs"}};
    struct vbs_compare *compare = NULL;
    struct vbs_ctx ctx = {0};

    ok(try(&ctx, &trial, &compare) == VBS_INVALID, "samples of another measurement: %s",
       ctx.detail);
    plan.n_runs = 8;
    shorter = noisy_new(rng, &plan);
    trial.samples = &shorter->source;
    ok(try(&ctx, &trial, &compare) == VBS_INVALID, "or of another number: %s", ctx.detail);
    trial.samples = &measured->source;
    for (int i = 0; i < 8 * NOISY_BATCHES; i++)
        measured->samples_us[i][0] = NAN;
    ok(try(&ctx, &trial, &compare) == VBS_INVALID, "or that are no numbers: %s", ctx.detail);
    measured->fail_at = measured->n_reads + 1;
    ok(try(&ctx, &trial, &compare) == VBS_STORE, "a source that fails is heard: %s", ctx.detail);
    is_str(ctx.detail, "the store is gone", "in its own words");
    ok(!compare, "and nothing is given out");
    noisy_free(measured);
    noisy_free(other);
    noisy_free(shorter);
}

/* ---- The same again ---- */

static bool same_gain(const struct vbs_gain *a, const struct vbs_gain *b)
{
    return a->percent == b->percent && a->low_percent == b->low_percent &&
           a->high_percent == b->high_percent;
}

static void intervals_depend_on_nothing_else(void)
{
    struct noisy *measured =
        noisy_new(rng, &(struct noisy_plan){.n_layers = 12, .n_runs = 11, .sigma = 0.1});
    struct trial trial = {.profile = measured->profile,
                          .samples = &measured->source,
                          .planners = {"greedy-vbs", "dp-vbs"},
                          .from_bytes = 20000,
                          .to_bytes = 60000,
                          .step_bytes = 1000};
    struct vbs_compare *first = run(&trial), *again = run(&trial), *alone;
    int n = first->n_budgets * first->n_planners, n_same = 0, n_alone = 0, n_widths = 0;

    for (int i = 0; i < n; i++)
        n_same += same_gain(&first->rows[i].gain_over_fbs, &again->rows[i].gain_over_fbs) &&
                  same_gain(&first->rows[i].gain_over_fbs_best, &again->rows[i].gain_over_fbs_best);
    is_int(n_same, n, "the same question has the same intervals, to the bit");
    trial.planners[0] = "dp-vbs";
    trial.planners[1] = NULL;
    trial.step_bytes = 1;
    for (int b = first->n_budgets - 1; b >= 0; b -= 8) {
        trial.from_bytes = trial.to_bytes = first->budgets[b];
        alone = run(&trial);
        n_alone++;
        n_widths += same_gain(&alone->rows[0].gain_over_fbs, &first->rows[2 * b + 1].gain_over_fbs);
        vbs_compare_free(alone);
    }
    is_int(n_widths, n_alone, "they do not depend on other planners and budgets");
    vbs_compare_free(first);
    vbs_compare_free(again);
    noisy_free(measured);
}

int main(void)
{
    rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, SEED);
    printf("# seed %d\n", SEED);
    for (int n = 2; n <= MOST_RUNS; n++)
        draws_are_medians_of_resamples(n);
    intervals_cover_the_truth(15, 0.05, true);
    intervals_cover_the_truth(8, 0.2, true);
    intervals_cover_the_truth(25, 0.05, false);
    rows_give_much_the_same_as_samples();
    what_schedules_share_cancels();
    equal_schedules_gain_nothing();
    verdicts_tell_winners_by_luck();
    exact_times_have_no_interval();
    posterior_times_have_their_own_intervals();
    profiles_say_what_intervals_are();
    sources_are_told();
    wrong_samples_are_refused();
    intervals_depend_on_nothing_else();
    gsl_rng_free(rng);
    return done_testing();
}
