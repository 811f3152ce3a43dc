/*
 * Both clocks run for many draws of the rows' times at once: each draw gives the result of a slow
 * reference for the profile with those times, for random networks, loads, evictions and slices.
 */
#include "reference/plan/brute_transfer.h"
#include "cases/random_profile.h"
#include "cases/random_transfer.h"
#include "cases/random_weights.h"
#include "support/tap.h"

#include "report/compare/clocks.h"

#include <signal.h>
#include <stdlib.h>

#define SEED     20260611
#define N_TRIALS 300
#define N_DRAWS  5

/* The numbers that are added to the times of the rows in each draw. */
struct changes {
    const struct vbs_profile *profile;
    const struct vbs_schedule *schedule;
    const struct vbs_profile_row *first;
    float (*added)[N_DRAWS]; /* [row] */
    bool unknown;            /* nothing is known of the last layer */
};

static enum vbs_status find(struct vbs_ctx *ctx, void *self, const struct vbs_step *step,
                            const struct vbs_profile_row **row, const float **draws)
{
    const struct changes *changes = self;

    (void)ctx;
    *row = brute_transfer_row(changes->profile, step);
    *draws = changes->unknown && step->layer == changes->profile->n_layers
                 ? NULL
                 : changes->added[*row - changes->first];
    return VBS_OK;
}

static size_t count_rows(const struct vbs_profile *profile)
{
    size_t n = 0;
    int n_rows;

    for (int k = 1; k <= profile->n_layers; k++)
        for (int b = 0; b < profile->n_batches; b++) {
            vbs_profile_rows(profile, k, b, &n_rows);
            n += (size_t)n_rows;
        }
    return n;
}

/* Makes the profile with the times of one draw. */
static struct vbs_profile *changed(const struct changes *changes, int draw)
{
    const struct vbs_profile *profile = changes->profile;
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *made = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = VBS_OK;

    for (int k = 1; k <= profile->n_layers && status == VBS_OK; k++)
        status = vbs_profile_builder_layer(&ctx, builder, &profile->layers[k]);
    for (int k = 1; k <= profile->n_layers; k++) {
        for (int b = 0; b < profile->n_batches; b++) {
            int n_rows;
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, k, b, &n_rows);

            for (int i = 0; i < n_rows && status == VBS_OK; i++) {
                struct vbs_profile_row row = rows[i];

                row.time_us += (double)changes->added[&rows[i] - changes->first][draw];
                status = vbs_profile_builder_row(&ctx, builder, k, profile->batches[b],
                                                 profile->algorithms[row.algorithm], &row);
            }
        }
    }
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(&ctx, builder, &made);
    vbs_profile_builder_free(builder);
    if (status != VBS_OK)
        bail_out("%s", ctx.detail);
    return made;
}

static double end_of(const struct brute_event *events, int64_t n)
{
    double end_us = 0;

    for (int64_t i = 0; i < n; i++)
        end_us = fmax(end_us, events[i].end_us);
    return end_us;
}

/* Counts the draws whose time differs from the reference. */
static int count_wrong(const struct changes *changes, const struct vbs_link *link,
                       const double *times_us)
{
    struct brute_event *events = calloc((size_t)changes->schedule->n_steps, sizeof *events);
    int n_wrong = 0;

    for (int r = 0; events && r < N_DRAWS; r++) {
        struct vbs_profile *profile = changed(changes, r);
        double want_us;

        if (!brute_transfer_events(profile, changes->schedule, link, events))
            exit(1);
        want_us = end_of(events, changes->schedule->n_steps);
        n_wrong += fabs(times_us[r] - want_us) > 1e-9 * want_us;
        vbs_profile_free(profile);
    }
    free(events);
    return n_wrong;
}

/* Makes a random network and schedule with random changes; the schedule is null where it was
 * refused. */
static void fill(gsl_rng *rng, struct changes *changes, struct vbs_profile **profile,
                 struct vbs_schedule **schedule)
{
    size_t n_rows;
    int n;

    *profile = random_transfer_profile(rng, BRUTE_LAYERS, 6);
    *schedule = *profile ? random_transfer_schedule(rng, *profile, random_int(rng, 1, 3),
                                                    VBS_IO_EXTERNAL, 4)
                         : NULL;
    if (!*schedule)
        return;
    *changes = (struct changes){
        .profile = *profile, .schedule = *schedule, .first = vbs_profile_rows(*profile, 1, 0, &n)};
    n_rows = count_rows(*profile);
    changes->added = calloc(n_rows, sizeof *changes->added);
    for (size_t i = 0; i < n_rows; i++)
        for (int r = 1; r < N_DRAWS; r++)
            changes->added[i][r] = (float)random_int(rng, 0, 20);
}

static void draws_take_what_the_reference_says(gsl_rng *rng)
{
    int n_wrong = 0, n_tried = 0, n_copied = 0, n_beside = 0;
    double factors[BRUTE_LAYERS + 1];

    for (int trial = 0; trial < N_TRIALS; trial++) {
        struct vbs_link link = {.source = "given",
                                .latency_us = random_int(rng, 0, 3),
                                .bytes_per_us = random_int(rng, 1, 4)};
        struct changes changes = {0};
        struct vbs_clock_rows rows = {.self = &changes, .find = find};
        struct vbs_profile *profile;
        struct vbs_schedule *schedule;
        double times_us[N_DRAWS];
        bool known = false;

        fill(rng, &changes, &profile, &schedule);
        if (schedule) {
            struct vbs_ctx ctx = {0};

            link.beside = random_beside(rng, profile->n_layers, factors);
            n_beside += link.beside != NULL;
            schedule->copy = link;
            if (vbs_clocks_run(&ctx, profile, schedule, &link, &rows, N_DRAWS, times_us, &known) !=
                    VBS_OK ||
                !known || count_wrong(&changes, &link, times_us) > 0) {
                printf("# trial %d is wrong: %s\n", trial, ctx.detail);
                n_wrong++;
            }
            n_tried++;
            for (int64_t s = 0; s < schedule->n_steps; s++)
                if (schedule->steps[s].op == VBS_STEP_LOAD && !schedule->steps[s].resident)
                    n_copied++;
        }
        free(changes.added);
        vbs_schedule_free(schedule);
        vbs_profile_free(profile);
    }
    ok(n_wrong == 0 && n_tried > N_TRIALS / 2 && n_copied > n_tried && n_beside > n_tried / 2,
       "%d schedules with %d copies, each in %d draws; %d where copies and layers slow each other "
       "down",
       n_tried, n_copied, N_DRAWS, n_beside);
}

static void what_is_not_known_is_told(gsl_rng *rng)
{
    struct vbs_link link = {.source = "given", .bytes_per_us = 1};
    struct changes changes = {0};
    struct vbs_clock_rows rows = {.self = &changes, .find = find};
    struct vbs_profile *profile;
    struct vbs_schedule *schedule;
    struct vbs_ctx ctx = {0};
    volatile sig_atomic_t stop = 1;
    double times_us[N_DRAWS];
    bool known = true;

    do
        fill(rng, &changes, &profile, &schedule);
    while (!schedule);
    schedule->copy = link;
    changes.unknown = true;
    ok(vbs_clocks_run(&ctx, profile, schedule, &link, &rows, N_DRAWS, times_us, &known) == VBS_OK &&
           !known,
       "a row without draws leaves the times unknown");
    ctx.cancel = &stop;
    ok(vbs_clocks_run(&ctx, profile, schedule, &link, &rows, N_DRAWS, times_us, &known) ==
           VBS_INTERRUPTED,
       "a wish to stop is heard");
    free(changes.added);
    vbs_schedule_free(schedule);
    vbs_profile_free(profile);
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

    gsl_rng_set(rng, SEED);
    printf("# seed %d\n", SEED);
    draws_take_what_the_reference_says(rng);
    what_is_not_known_is_told(rng);
    gsl_rng_free(rng);
    return done_testing();
}
