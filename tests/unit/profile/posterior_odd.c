/*
 * Posterior times at the edges: rows that are refused, times of 0 and of any size, groups of one
 * row and of more than there is room for, and memory that runs out.
 */
#include "cases/timed_profile.h"
#include "support/fault.h"
#include "support/made_profile.h"
#include "support/profile_help.h"
#include "support/tap.h"
#include "vbslab/posterior.h"

#include <float.h>
#include <gsl/gsl_randist.h>
#include <limits.h>
#include <stdlib.h>

static const struct timed_plan PLAN = {.n_layers = 3,
                                       .n_batches = 4,
                                       .n_algorithms = 2,
                                       .stripes = true,
                                       .deviation = 0.05,
                                       .steps = 0.02,
                                       .level = 1,
                                       .context = 0.02};

static enum vbs_status find(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                            const struct vbs_observed_row *executed, int n,
                            struct vbs_profile **made)
{
    const struct vbs_posterior_options options = {
        .struct_size = sizeof options, .n_executed = n, .executed = executed};

    return vbs_profile_posterior(ctx, profile, &options, NULL, made);
}

/* ---- Refusals ---- */

static void refuses(const struct vbs_profile *profile, const char *what,
                    const struct vbs_observed_row *executed)
{
    struct vbs_profile *made = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = find(&ctx, profile, executed, 1, &made);

    ok(status == VBS_INVALID && !made && strstr(vbs_detail(&ctx), "layer"), "%s: %s", what,
       vbs_detail(&ctx));
    vbs_profile_free(made);
}

#define REFUSES(what, ...)                                                                         \
    do {                                                                                           \
        struct vbs_observed_row row = {                                                            \
            .layer = 2, .batch = 3, .algorithm = 1, .time_us = 10, .deviation = 0.1};              \
        __VA_ARGS__;                                                                               \
        refuses(timed->profile, what, &row);                                                       \
    } while (0)

static void refuses_group(const struct vbs_profile *profile, int group)
{
    const struct vbs_observed_row row = {
        .layer = 2, .batch = 3, .algorithm = 1, .time_us = 10, .deviation = 0.1, .group = group};
    struct vbs_profile *made = NULL;
    struct vbs_ctx ctx = {0};

    ok(find(&ctx, profile, &row, 1, &made) == VBS_INVALID && !made &&
           strstr(vbs_detail(&ctx), "group"),
       "group %d: %s", group, vbs_detail(&ctx));
    vbs_profile_free(made);
}

static void executed_rows_are_checked(const struct timed *timed)
{
    const struct vbs_observed_row good = {
        .layer = 2, .batch = 1, .rows = 8, .algorithm = 1, .time_us = 10, .deviation = 0.1};
    struct vbs_profile *made = NULL;
    struct vbs_ctx ctx = {0};

    REFUSES("no layer 0", row.layer = 0);
    REFUSES("no layer behind the last", row.layer = 4);
    REFUSES("no layer below 0", row.layer = -1);
    REFUSES("no such batch", row.batch = 5);
    REFUSES("no such algorithm", row.algorithm = 2);
    REFUSES("an algorithm below 0", row.algorithm = -1);
    REFUSES("no stripe of 3 rows", row.batch = 1; row.rows = 3);
    REFUSES("no stripe at this batch", row.rows = 2);
    REFUSES("rows below 0", row.rows = -1);
    REFUSES("a time that is not a number", row.time_us = NAN);
    REFUSES("a time of 0", row.time_us = 0);
    REFUSES("a time below 0", row.time_us = -1);
    REFUSES("a time without end", row.time_us = INFINITY);
    REFUSES("a time above the largest", row.time_us = 2 * VBS_MAX_TIME_US);
    REFUSES("a deviation of 0", row.deviation = 0);
    REFUSES("a deviation below 0", row.deviation = -0.1);
    REFUSES("a deviation that is not a number", row.deviation = NAN);
    REFUSES("a deviation without end", row.deviation = INFINITY);
    refuses_group(timed->profile, -1);
    refuses_group(timed->profile, VBS_OBSERVED_GROUPS);
    ok(find(&ctx, timed->profile, &good, 1, &made) == VBS_OK, "all rows of a layer are the whole");
    vbs_profile_free(made);
    made = NULL;
    ok(vbs_profile_posterior(&ctx, timed->profile, &(struct vbs_posterior_options){0}, NULL,
                             &made) == VBS_USAGE &&
           !made,
       "options without their size");
    ok(vbs_profile_posterior(&ctx, timed->profile, NULL, NULL, &made) == VBS_OK,
       "without options all are defaults");
    vbs_profile_free(made);
}

/* ---- Times ---- */

/* Makes a profile of one layer with batches 1..n, and with these times, in so many runs. */
static struct vbs_profile *one_layer(int n, const double *times_us, double mad_us, int n_runs)
{
    const int input = 0;
    const struct vbs_profile_layer layer = {
        .name = "l", .kind = "conv", .n_inputs = 1, .inputs = &input};
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_profile_builder_layer(&ctx, builder, &layer);

    for (int i = 0; i < n && status == VBS_OK; i++) {
        const struct vbs_profile_row row = {.time_us = times_us[i],
                                            .mad_us = mad_us,
                                            .low_us = times_us[i],
                                            .high_us = times_us[i],
                                            .n_runs = n_runs};

        status = vbs_profile_builder_row(&ctx, builder, 1, i + 1, "a", &row);
    }
    return made_profile(&ctx, builder, status);
}

static void times_of_0_stay(void)
{
    const double times_us[] = {0, 30, 0, 50};
    struct vbs_profile *profile = one_layer(4, times_us, 0, 5), *made = NULL;
    const struct vbs_observed_row executed[] = {
        {.layer = 1, .batch = 1, .time_us = 3, .deviation = 0.1},
        {.layer = 1, .batch = 2, .time_us = 33, .deviation = 0.01}};
    struct vbs_ctx ctx = {0};

    ok(find(&ctx, profile, executed, 2, &made) == VBS_OK, "a profile with times of 0");
    ok(vbs_profile_find_row(made, 1, 1, 0, 0)->time_us == 0 &&
           vbs_profile_find_row(made, 1, 3, 0, 0)->time_us == 0,
       "has them afterwards, executed or not");
    ok(vbs_profile_find_row(made, 1, 2, 0, 0)->time_us > 31 &&
           vbs_profile_find_row(made, 1, 4, 0, 0)->time_us > 50,
       "and other rows learn from those that were executed");
    vbs_profile_free(profile);
    vbs_profile_free(made);
}

/* Returns the context of a profile with two rows that were measured, and one of time 0. */
static double context_of(const struct vbs_observed_row *executed, int n)
{
    const double times_us[] = {0, 30, 50};
    struct vbs_profile *profile = one_layer(3, times_us, 0, 5), *made = NULL;
    const struct vbs_posterior_options options = {
        .struct_size = sizeof options, .n_executed = n, .executed = executed};
    struct vbs_posterior_report report;

    if (vbs_profile_posterior(NULL, profile, &options, &report, &made) != VBS_OK)
        bail_out("no posterior");
    vbs_profile_free(profile);
    vbs_profile_free(made);
    return report.context;
}

static void a_row_of_0_tells_nothing_of_others(void)
{
    const struct vbs_observed_row executed = {
        .layer = 1, .batch = 1, .time_us = 3, .deviation = 0.1};

    ok(context_of(&executed, 1) == context_of(NULL, 0),
       "where a row of time 0 alone was executed, the context is that of before");
}

static void one_row_keeps_its_median(void)
{
    const double time_us = 80;
    struct vbs_profile *profile = one_layer(1, &time_us, 0, 1), *made = NULL;
    struct vbs_posterior_report report;
    const struct vbs_profile_row *row;

    if (vbs_profile_posterior(NULL, profile, NULL, &report, &made) != VBS_OK)
        bail_out("no posterior");
    row = vbs_profile_find_row(made, 1, 1, 0, 0);
    /* The variance is that of one run and of what schedules do: 0.03^2 + 0.03^2. */
    is_near(log(row->time_us / time_us), 0.0018 / 2, 0.00001,
            "one run of one row is expected anew");
    is_near(log(row->high_us / row->low_us) / 2, 1.96 * sqrt(0.0018), 0.0002,
            "with the interval of a single run");
    ok(report.deviation == 0.03 && row->n_runs == 1 && row->mad_us == 0, "its run is still told");
    vbs_profile_free(profile);
    vbs_profile_free(made);
}

/* Times that no machine has. */
static void tiny_and_huge_times_are_possible(void)
{
    const double times_us[] = {VBS_MAX_TIME_US, DBL_TRUE_MIN, 1, DBL_MIN, 1e-300, 3};
    struct vbs_profile *profile = one_layer(6, times_us, 1e-3, INT_MAX), *made = NULL;
    const struct vbs_observed_row executed[] = {
        {.layer = 1, .batch = 1, .time_us = VBS_MAX_TIME_US, .deviation = 1e-300},
        {.layer = 1, .batch = 2, .time_us = DBL_TRUE_MIN, .deviation = DBL_MAX},
        {.layer = 1, .batch = 2, .time_us = DBL_TRUE_MIN, .deviation = 0.1},
        {.layer = 1, .batch = 3, .time_us = DBL_TRUE_MIN, .deviation = 0.1}};
    struct vbs_ctx ctx = {0};

    ok(find(&ctx, profile, NULL, 0, &made) == VBS_OK, "times of any size are possible");
    vbs_profile_free(made);
    made = NULL;
    ok(find(&ctx, profile, executed, 4, &made) == VBS_OK, "also executed ones");
    vbs_profile_free(made);
    made = NULL;
    ok(find(&ctx, profile, executed + 1, 3, &made) == VBS_OK, "or the smallest of them alone");
    if (ctx.status != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    vbs_profile_free(profile);
    vbs_profile_free(made);
}

static bool same_but_times(const struct vbs_profile_row *a, const struct vbs_profile_row *b)
{
    return b && a->algorithm == b->algorithm && a->ws_bytes == b->ws_bytes &&
           a->weight_bytes == b->weight_bytes && a->format == b->format &&
           a->n_slices == b->n_slices && a->n_runs == b->n_runs && a->rows == b->rows &&
           a->mad_us == b->mad_us &&
           (b->n_runs == 0 || (b->low_us <= b->time_us && b->time_us <= b->high_us));
}

static void hostile_profiles_differ_in_times_only(gsl_rng *rng)
{
    int n_wrong = 0;

    for (int trial = 0; trial < 200; trial++) {
        struct vbs_ctx ctx = {0};
        struct vbs_profile *profile = hostile_profile(&ctx, rng, trial % 4 != 0), *made = NULL;
        struct timed *timed;
        bool good;

        if (!profile)
            bail_out("no profile: %s", vbs_detail(&ctx));
        timed = timed_of(profile);
        good = find(&ctx, profile, NULL, 0, &made) == VBS_OK &&
               made->n_copies == profile->n_copies &&
               strcmp(made->provenance.notes, profile->provenance.notes) == 0;
        for (int i = 0; i < timed->n_rows && good; i++)
            good = same_but_times(timed->rows[i], timed_row(timed, made, i));
        if (!good)
            printf("# profile %d: %s\n", trial, vbs_detail(&ctx));
        n_wrong += !good;
        vbs_profile_free(made);
        timed_free(timed);
    }
    is_int(n_wrong, 0, "of hostile profiles times are other, and nothing else");
}

/* ---- Large groups ---- */

static void groups_are_divided(gsl_rng *rng, int n_batches, int n_algorithms)
{
    const struct timed_plan plan = {.n_layers = 1,
                                    .n_batches = n_batches,
                                    .n_algorithms = n_algorithms,
                                    .n_runs = 5,
                                    .deviation = 0.05,
                                    .steps = 0.01,
                                    .level = 1};
    struct timed *timed = timed_new(rng, &plan);
    struct vbs_profile *made = NULL;
    double raw = 0, better = 0;
    struct vbs_ctx ctx = {0};

    if (find(&ctx, timed->profile, NULL, 0, &made) != VBS_OK)
        bail_out("no posterior: %s", vbs_detail(&ctx));
    for (int i = 0; i < timed->n_rows; i++) {
        raw += pow(log(timed->rows[i]->time_us / timed->alone_us[i]), 2);
        better += pow(log(timed_row(timed, made, i)->time_us / timed->alone_us[i]), 2);
    }
    ok(better < raw / 2, "%d rows of a layer: errors of %.3f become %.3f", timed->n_rows,
       sqrt(raw / timed->n_rows), sqrt(better / timed->n_rows));
    vbs_profile_free(made);
    timed_free(timed);
}

/* ---- Memory that runs out ---- */

static enum vbs_status find_again(struct vbs_ctx *ctx, const void *subject)
{
    const struct timed *timed = subject;
    const struct vbs_observed_row executed = {
        .layer = 2, .batch = 3, .algorithm = 1, .time_us = 10, .deviation = 0.1};
    const struct vbs_posterior_options options = {.struct_size = sizeof options,
                                                  .n_executed = 1,
                                                  .executed = &executed,
                                                  .notes = "noted",
                                                  .draws = true};
    struct vbs_profile *made = (void *)&fault_untouched;
    enum vbs_status status = vbs_profile_posterior(ctx, timed->profile, &options, NULL, &made);

    status = status == VBS_OK ? status : fault_status(status, made);
    if (status == VBS_OK)
        vbs_profile_free(made);
    return status;
}

static void memory_runs_out(const struct timed *timed)
{
    for (int lasting = 0; lasting < 2; lasting++) {
        struct fault_trial trial = {.run = find_again, .subject = timed, .lasting = lasting};

        fault_each(&trial);
        ok(trial.n_faults > 10 && trial.n_wrong == 0 && trial.status == VBS_OK,
           "%d allocations fail, %s", trial.n_faults, trial.way);
    }
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    struct timed *timed;

    gsl_rng_set(rng, 9);
    timed = timed_new(rng, &PLAN);
    executed_rows_are_checked(timed);
    times_of_0_stay();
    a_row_of_0_tells_nothing_of_others();
    one_row_keeps_its_median();
    tiny_and_huge_times_are_possible();
    hostile_profiles_differ_in_times_only(rng);
    groups_are_divided(rng, 300, 1);
    groups_are_divided(rng, 120, 3);
    memory_runs_out(timed);
    timed_free(timed);
    gsl_rng_free(rng);
    return done_testing();
}
