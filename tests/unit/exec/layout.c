/*
 * Layouts of random schedules, with and without relocations and in as little memory as possible,
 * are valid: a checker that knows what every byte holds goes through them step by step.
 */
#include "fake/exec.h"
#include "reference/exec/layout_check.h"
#include "cases/random_rows.h"
#include "cases/random_transfer.h"
#include "cases/random_weights.h"
#include "support/tap.h"

#include <stdlib.h>
#include <time.h>

#define SEED    77
#define PLACE_S 0.15

struct tally {
    int n, n_refused, n_faults, n_moved, n_delayed;
    int n_hurried;           /* layouts found with later loads where there is no time */
    int n_slept, most_slept; /* schedules tried while the processor is with other programs */
    int n_awake;             /* layouts found for them */
    double worst_loss, sum_loss;
};

/* Places a schedule within its load, or, where nothing is found, within the bytes that the refusal
 * names. */
static enum vbs_status fit_schedule(struct vbs_ctx *ctx, struct vbs_exec_fit *fit,
                                    const struct vbs_exec_checked *checked, int64_t *room_bytes)
{
    struct vbs_exec_fit_options room = {
        .bytes = checked->live_bytes, .block_alignment = 64, .limit_s = PLACE_S};
    enum vbs_status status = vbs_exec_fit(ctx, fit, checked, &room);

    for (int i = 0; i < 3 && status == VBS_INFEASIBLE; i++) {
        room.bytes = fit->placement.placed_bytes * (20 + i) / 20;
        vbs_exec_fit_clear(fit);
        status = vbs_exec_fit(ctx, fit, checked, &room);
    }
    *room_bytes = room.bytes;
    return status;
}

static void count_fit(struct tally *tally, const struct vbs_exec_fit *fit, int64_t room_bytes)
{
    const char *fault = layout_fault(fit, room_bytes);
    double live = (double)fit->placement.live_bytes;
    double loss = live > 0 ? (double)fit->placement.placed_bytes / live - 1 : 0;

    if (!fault && fit->layout.height_bytes > room_bytes)
        fault = "higher than it says";
    if (fault && tally->n_faults++ < 5)
        printf("# %s\n", fault);
    tally->n_moved += fit->layout.moves.n > 0;
    tally->n_delayed += fit->placement.n_delayed > 0;
    tally->sum_loss += loss;
    tally->worst_loss = loss > tally->worst_loss ? loss : tally->worst_loss;
}

/* Places with a limit of time that is over at once, in as few bytes as this finds; as on a device,
 * where buffers are never dense, so that some loads have to begin later. */
static void hurry(struct tally *tally, const struct vbs_exec_checked *checked)
{
    struct vbs_exec_fit_options none = {
        .bytes = checked->live_bytes, .block_alignment = 64, .on_device = true, .limit_s = 1e-9};
    struct vbs_exec_fit fit = {0};
    enum vbs_status status = vbs_exec_fit(NULL, &fit, checked, &none);

    if (status == VBS_INFEASIBLE) {
        none.bytes = fit.placement.placed_bytes;
        vbs_exec_fit_clear(&fit);
        status = vbs_exec_fit(NULL, &fit, checked, &none);
    }
    tally->n_hurried += fit.placement.n_delayed > 0;
    tally->n_faults += status != VBS_OK || layout_fault(&fit, none.bytes) != NULL;
    vbs_exec_fit_clear(&fit);
}

/* Holds the search up for longer than its limit, as a machine does that runs other programs. */
static void hold_up(void *self, double share, double left_s, const char *what)
{
    const struct timespec pause = {.tv_sec = 1, .tv_nsec = 100000000};
    bool *held_up = self;

    (void)share;
    (void)left_s;
    (void)what;
    if (!*held_up)
        nanosleep(&pause, NULL);
    *held_up = true;
}

/* Counts whether a layout that needs moves is found although the search is held up. */
static void sleep_over(struct tally *tally, const struct vbs_exec_checked *checked,
                       int64_t room_bytes)
{
    bool held_up = false;
    struct vbs_exec_fit_options busy = {.bytes = room_bytes,
                                        .block_alignment = 64,
                                        .limit_s = 1,
                                        .progress = {.report = hold_up, .self = &held_up}};
    struct vbs_exec_fit fit = {0};

    tally->n_slept++;
    tally->n_awake += vbs_exec_fit(NULL, &fit, checked, &busy) == VBS_OK && held_up;
    vbs_exec_fit_clear(&fit);
}

static void try_schedule(struct tally *tally, const struct vbs_profile *profile,
                         const struct vbs_schedule *schedule)
{
    struct vbs_ctx ctx = {0};
    struct vbs_exec_checked checked = {0};
    struct vbs_exec_fit fit = {0};
    enum vbs_status status = vbs_exec_check(&ctx, &checked, profile, schedule);
    int64_t room_bytes;

    if (status == VBS_OK) {
        hurry(tally, &checked);
        status = fit_schedule(&ctx, &fit, &checked, &room_bytes);
    }
    tally->n++;
    if (status == VBS_OK)
        count_fit(tally, &fit, room_bytes);
    else if (tally->n_refused++ < 5)
        printf("# %s\n", vbs_detail(&ctx));
    if (status == VBS_OK && fit.layout.moves.n > 0 && tally->n_slept < tally->most_slept)
        sleep_over(tally, &checked, room_bytes);
    vbs_exec_fit_clear(&fit);
    vbs_exec_checked_clear(&checked);
}

static void report(const struct tally *tally, const char *what)
{
    ok(2 * tally->n_refused < tally->n && tally->n_faults == 0,
       "%s: %d layouts, %d with moves, %d with later loads, %d not found in time", what, tally->n,
       tally->n_moved, tally->n_delayed, tally->n_refused);
    printf("# placed above live: mean %.2f %%, worst %.1f %%\n",
           100 * tally->sum_loss / (tally->n ? tally->n : 1), 100 * tally->worst_loss);
}

static void try_paths(gsl_rng *rng, enum vbs_io io, int n)
{
    struct tally tally = {.most_slept = io == VBS_IO_RESIDENT};

    for (int i = 0; i < n; i++) {
        struct vbs_profile *draft =
            random_profile(rng, (enum random_graph)(i % RANDOM_N_GRAPHS), RANDOM_MAX_LAYERS);
        struct vbs_profile *profile = draft ? exec_fake_profile(draft, 64) : NULL;
        struct vbs_schedule *schedule =
            profile ? random_schedule(rng, profile, random_int(rng, 1, 16), io) : NULL;

        if (schedule)
            try_schedule(&tally, profile, schedule);
        vbs_schedule_free(schedule);
        vbs_profile_free(profile);
        vbs_profile_free(draft);
    }
    report(&tally, io == VBS_IO_RESIDENT ? "random paths, io resident" : "random paths");
    if (tally.most_slept > 0)
        ok(tally.n_slept == tally.most_slept && tally.n_awake == tally.n_slept,
           "%d of %d with moves found while the processor is with other programs", tally.n_awake,
           tally.n_slept);
}

/* Does the same for schedules with windows, whose rings begin at pages. */
static void try_rows(gsl_rng *rng, enum vbs_io io, int n)
{
    struct tally tally = {0};

    for (int i = 0; i < n; i++) {
        struct vbs_profile *draft = random_rows_profile(rng, 6);
        struct vbs_profile *profile = draft ? exec_fake_profile(draft, 1 + i % 3) : NULL;
        struct vbs_schedule *schedule =
            profile ? random_rows_schedule(rng, profile, random_int(rng, 1, 4), io) : NULL;

        if (schedule)
            try_schedule(&tally, profile, schedule);
        vbs_schedule_free(schedule);
        vbs_profile_free(profile);
        vbs_profile_free(draft);
    }
    report(&tally, io == VBS_IO_RESIDENT ? "random rows, io resident" : "random rows");
}

/* Gives how many layouts have later loads where there is no time. */
static int try_transfers(gsl_rng *rng, enum vbs_io io, int n)
{
    struct tally tally = {0};

    for (int i = 0; i < n; i++) {
        struct vbs_profile *draft = random_transfer_profile(rng, 4, 6);
        struct vbs_profile *profile = draft ? exec_fake_profile(draft, 1) : NULL;
        struct vbs_schedule *schedule =
            profile ? random_transfer_schedule(rng, profile, random_int(rng, 1, 4), io, 4) : NULL;

        if (schedule) {
            schedule->copy = (struct vbs_link){
                .source = "given", .latency_us = 0.001, .bytes_per_us = i % 2 ? 100 : 1e6};
            try_schedule(&tally, profile, schedule);
            schedule->copy = (struct vbs_link){0};
        }
        vbs_schedule_free(schedule);
        vbs_profile_free(profile);
        vbs_profile_free(draft);
    }
    report(&tally, io == VBS_IO_RESIDENT ? "random transfers, io resident" : "random transfers");
    return tally.n_hurried;
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    int n_hurried = 0;

    gsl_rng_set(rng, SEED);
    for (int io = 0; io < 2; io++) {
        try_paths(rng, (enum vbs_io)io, 60);
        try_rows(rng, (enum vbs_io)io, 100);
        n_hurried += try_transfers(rng, (enum vbs_io)io, 100);
    }
    ok(n_hurried > 0, "%d with later loads are found even where no time is left", n_hurried);
    gsl_rng_free(rng);
    return done_testing();
}
