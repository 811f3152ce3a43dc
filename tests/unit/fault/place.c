/* Every allocation of a placement, of a layout with moves, and of reading and writing its CSV,
 * fails once, and then also every one after it: the calls say so and leave nothing behind. */
#include "fake/exec.h"
#include "reference/place/place_check.h"
#include "support/fault.h"
#include "cases/place_cuts.h"
#include "cases/place_schedules.h"
#include "cases/random_profile.h"
#include "support/tap.h"

#include "base/fail.h"
#include "exec/layout/layout.h"
#include "vbslab/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SEED 11

/* These options allow some searches, so that all of them allocate. */
static const struct vbs_place_options OPTIONS = {
    .struct_size = sizeof(struct vbs_place_options), .time_limit_s = -1, .step_limit = 60000};

static char written[] = "/tmp/vbslab-place-XXXXXX";

typedef enum vbs_status task(struct vbs_ctx *ctx, const void *problem);

static enum vbs_status place(struct vbs_ctx *ctx, const void *problem)
{
    struct vbs_place_result *result = NULL;
    enum vbs_status status = vbs_place_lowest(ctx, problem, &OPTIONS, &result);

    vbs_place_free(result);
    return status;
}

static enum vbs_status read_and_write(struct vbs_ctx *ctx, const void *problem)
{
    struct vbs_place_csv *csv;
    struct vbs_place_result result = {0};
    enum vbs_status status = vbs_place_csv_read(ctx, "tests/data/placement/gaps.csv", &csv);

    (void)problem;
    if (status != VBS_OK)
        return status;
    result.n_items = vbs_place_csv_problem(csv)->n_items;
    result.offsets = calloc((size_t)result.n_items, sizeof *result.offsets);
    status = result.offsets ? vbs_place_csv_write(ctx, csv, &result, written) : vbs_no_memory(ctx);
    free(result.offsets);
    vbs_place_csv_free(csv);
    return status;
}

static void test_allocations(task *run, const struct vbs_place_problem *problem, const char *name,
                             bool lasting)
{
    struct fault_trial trial = {.run = run, .subject = problem, .lasting = lasting};

    fault_each(&trial);
    ok(trial.n_faults > 3 && trial.n_wrong == 0 && trial.status == VBS_OK, "%s: %d allocations, %s",
       name, trial.n_faults, trial.way);
}

/* ---- layouts with moves ---- */

static enum vbs_status fit(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                           const struct vbs_schedule *schedule, int *n_moves)
{
    struct vbs_exec_checked checked = {0};
    struct vbs_exec_fit fit = {0};
    struct vbs_exec_fit_options room = {.block_alignment = 64, .limit_s = 10};
    enum vbs_status status = vbs_exec_check(ctx, &checked, profile, schedule);

    room.bytes = checked.live_bytes;
    if (status == VBS_OK)
        status = vbs_exec_fit(ctx, &fit, &checked, &room);
    *n_moves = fit.layout.moves.n;
    vbs_exec_fit_clear(&fit);
    vbs_exec_checked_clear(&checked);
    return status;
}

/* There are thousands of allocations: each of the first ones fails, and of the others fewer and
 * fewer. */
static void fail_fits(const struct vbs_profile *profile, const struct vbs_schedule *schedule)
{
    int n_faults = 0, n_wrong = 0, n_moves = 0;
    enum vbs_status status = VBS_NO_MEMORY;

    for (int at = 1;; at += 1 + at / 10) {
        struct vbs_ctx ctx = {0};

        allocation_faults = (struct faults){.countdown = at};
        status = fit(&ctx, profile, schedule, &n_moves);
        allocation_faults.countdown = 0;
        if (!allocation_faults.hit)
            break;
        n_faults++;
        n_wrong += status != VBS_NO_MEMORY;
    }
    ok(n_faults > 30 && n_wrong == 0 && status == VBS_OK && n_moves > 0,
       "a layout with %d moves: %d allocations, each fails once", n_moves, n_faults);
}

static void test_fits(gsl_rng *rng)
{
    for (int n_moves = 0; n_moves == 0;) {
        struct vbs_profile *draft = random_profile(rng, RANDOM_BRANCHED, 8);
        struct vbs_profile *profile = draft ? exec_fake_profile(draft, 64) : NULL;
        struct vbs_schedule *schedule =
            profile ? random_schedule(rng, profile, 8, VBS_IO_RESIDENT) : NULL;
        struct vbs_ctx ctx = {0};

        if (schedule && fit(&ctx, profile, schedule, &n_moves) == VBS_OK && n_moves > 0)
            fail_fits(profile, schedule);
        vbs_schedule_free(schedule);
        vbs_profile_free(profile);
        vbs_profile_free(draft);
    }
}

/* The caller asks to stop at each allocation: before every item has an offset there is no result,
 * later the best one so far. */
static void test_interruptions(const struct vbs_place_problem *problem)
{
    volatile sig_atomic_t stop = 0;
    int n_stops = 0, n_wrong = 0, n_results = 0;

    for (;;) {
        struct vbs_ctx ctx = {.cancel = &stop};
        struct vbs_place_result *result = NULL;
        enum vbs_status status;
        int64_t height = -1;

        stop = 0;
        allocation_faults = (struct faults){.countdown = n_stops + 1, .stop = &stop};
        status = vbs_place_lowest(&ctx, problem, &OPTIONS, &result);
        allocation_faults.countdown = 0;
        if (!allocation_faults.hit) {
            vbs_place_free(result);
            break;
        }
        n_stops++;
        if (status == VBS_OK) {
            n_results++;
            n_wrong += !result->interrupted || place_fault(problem, result->offsets, &height) ||
                       height != result->height_bytes;
        } else {
            n_wrong += status != VBS_INTERRUPTED || result;
        }
        vbs_place_free(result);
    }
    ok(n_stops > 10 && n_wrong == 0 && n_results > 2 && n_results < n_stops,
       "stopped at each of %d allocations, %d times with offsets", n_stops, n_results);
}

/* Makes rigid groups that no fixed order places well, in more than one component. */
static struct place_schedule make_groups(gsl_rng *rng)
{
    for (;;) {
        struct place_schedule groups = place_schedule_make(rng, 12, 12);
        struct vbs_place_result *result;
        struct vbs_ctx ctx = {0};
        bool suits = vbs_place_lowest(&ctx, &groups.problem, &OPTIONS, &result) == VBS_OK &&
                     result->height_bytes < result->greedy_height_bytes;

        vbs_place_free(result);
        if (suits)
            return groups;
        place_schedule_clear(&groups);
    }
}

#define N_BUFFERS 50

/* Makes plain buffers whose best placement is not found, so that every search runs. */
static struct vbs_place_problem make_buffers(gsl_rng *rng, struct vbs_place_item *items,
                                             struct vbs_place_rect *rects)
{
    struct vbs_place_problem problem = {.n_items = N_BUFFERS,
                                        .items = items,
                                        .n_rects = N_BUFFERS,
                                        .rects = rects,
                                        .capacity = INT64_MAX};

    for (bool suits = false; !suits;) {
        struct vbs_place_result *result;
        struct vbs_ctx ctx = {0};

        for (int i = 0; i < N_BUFFERS; i++) {
            int64_t lower = (int64_t)gsl_rng_uniform_int(rng, 20);

            items[i] = (struct vbs_place_item){.first_rect = i, .n_rects = 1};
            rects[i] =
                (struct vbs_place_rect){lower, lower + 1 + (int64_t)gsl_rng_uniform_int(rng, 12), 0,
                                        1 + (int64_t)gsl_rng_uniform_int(rng, 1000)};
        }
        suits = vbs_place_lowest(&ctx, &problem, &OPTIONS, &result) == VBS_OK &&
                result->height_bytes > result->bound_bytes;
        vbs_place_free(result);
    }
    return problem;
}

int main(void)
{
    struct vbs_place_item items[N_BUFFERS];
    struct vbs_place_rect rects[N_BUFFERS];
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct vbs_place_problem buffers;
    struct place_schedule groups;
    struct place_cuts cuts;

    gsl_rng_set(rng, SEED);
    cuts = place_cuts_make(
        rng,
        &(struct place_cuts_kind){.n_buffers = 60, .n_steps = 64, .n_units = 64, .unit_bytes = 1});

    groups = make_groups(rng);
    buffers = make_buffers(rng, items, rects);
    close(mkstemp(written));
    for (int lasting = 0; lasting < 2; lasting++) {
        test_allocations(place, &groups.problem, "rigid groups", lasting);
        test_allocations(place, &buffers, "buffers", lasting);
        test_allocations(place, &cuts.problem, "buffers without slack", lasting);
        test_allocations(read_and_write, NULL, "CSV", lasting);
    }
    test_interruptions(&groups.problem);
    test_interruptions(&buffers);
    test_fits(rng);
    unlink(written);
    place_cuts_clear(&cuts);
    place_schedule_clear(&groups);
    gsl_rng_free(rng);
    return done_testing();
}
