/*
 * On random schedules of random profiles the replay agrees with the definition, sample by sample.
 */
#include "reference/plan/brute_common.h"
#include "cases/random_profile.h"
#include "support/tap.h"

#include "vbslab/replay.h"

#include <stdlib.h>

#define SEED       20201
#define N_PROFILES 2000 /* per kind of graph */

/* Compares each step's memory with its definition on one random schedule; false and a line of TAP
 * on mismatch. */
static bool agrees_with_definition(const struct vbs_problem *problem,
                                   const struct vbs_schedule *schedule,
                                   const struct vbs_replay *replay)
{
    int done[RANDOM_MAX_LAYERS + 1] = {0};
    int64_t peak = -1, peak_step = -1, violation_step = -1;
    double clock_us = 0;

    for (int64_t i = 0; i < schedule->n_steps; i++) {
        const struct vbs_step *step = &schedule->steps[i];
        const struct vbs_replay_step *at = &replay->steps[i];
        int index = vbs_profile_batch_index(problem->profile, step->batch), n_rows;
        const struct vbs_profile_row *row =
            vbs_profile_rows(problem->profile, step->layer, index, &n_rows);
        int64_t bytes = brute_step_bytes(problem, done, step->layer, step->batch);

        while (row->algorithm != step->algorithm)
            row++;
        if (at->memory_bytes != bytes + row->ws_bytes || at->ws_bytes != row->ws_bytes ||
            at->live_bytes + at->added_bytes != bytes || at->done_before != done[step->layer] ||
            at->start_us != clock_us || at->end_us != clock_us + row->time_us) {
            printf("# step %" PRId64 ": %" PRId64 " bytes instead of %" PRId64 "\n", i + 1,
                   at->memory_bytes, bytes + row->ws_bytes);
            return false;
        }
        clock_us += row->time_us;
        done[step->layer] += step->batch;
        if (at->memory_bytes > peak) {
            peak = at->memory_bytes;
            peak_step = i;
        }
        if (at->memory_bytes > replay->memory_bytes && violation_step < 0)
            violation_step = i;
        if (at->after_bytes != brute_live_bytes(problem, done)) {
            printf("# after step %" PRId64 ": %" PRId64 " bytes live\n", i + 1, at->after_bytes);
            return false;
        }
    }
    return replay->peak_bytes == peak && replay->peak_step == peak_step &&
           replay->violation_step == violation_step && replay->fits == (violation_step < 0) &&
           replay->time_us == clock_us;
}

static double step_us(const struct vbs_problem *problem, const struct vbs_step *step)
{
    int n_rows;
    const struct vbs_profile_row *row = brute_rows(problem, step->layer, step->batch, &n_rows);

    while (row->algorithm != step->algorithm)
        row++;
    return row->time_us;
}

/* Compares the wait of the samples with its definition, and with the bound of the schedule. */
static bool agrees_with_clock(const struct vbs_problem *problem,
                              const struct vbs_schedule *schedule, const struct vbs_replay *replay)
{
    struct brute_clock clock = {.problem = problem};
    int64_t late_step = -1, latency_step = -1;
    bool same = true;

    for (int64_t i = 0; i < schedule->n_steps; i++) {
        double before_us = clock.chunk_us, longest_us = clock.longest_us;
        double time_us = step_us(problem, &schedule->steps[i]);

        brute_clock_step(&clock, schedule->steps[i].layer, schedule->steps[i].batch, time_us);
        same = same && replay->steps[i].wait_us == before_us + time_us;
        if (clock.longest_us > longest_us)
            latency_step = i;
        if (schedule->latency_us > 0 && before_us + time_us > schedule->latency_us && late_step < 0)
            late_step = i;
    }
    /* Steps that take no time may follow the one that makes a chunk the longest. */
    same = same && replay->latency_us == clock.longest_us && replay->late_step == late_step &&
           replay->in_time == (late_step < 0) && replay->latency_step >= latency_step &&
           replay->steps[replay->latency_step].wait_us == clock.longest_us;
    if (!same)
        printf("# latency %g, not %g; late in step %" PRId64 ", not %" PRId64 "\n",
               replay->latency_us, clock.longest_us, replay->late_step, late_step);
    free(clock.done);
    return same;
}

/* Gives whether the result without a trace is the same. */
static bool agrees_without_trace(const struct vbs_problem *problem,
                                 const struct vbs_schedule *schedule,
                                 const struct vbs_replay *traced)
{
    struct vbs_replay *replay = NULL;
    bool same =
        vbs_replay_run(NULL, problem->profile, schedule, traced->memory_bytes, false, &replay) ==
            VBS_OK &&
        replay->peak_bytes == traced->peak_bytes && replay->peak_step == traced->peak_step &&
        replay->violation_step == traced->violation_step && replay->time_us == traced->time_us &&
        replay->latency_us == traced->latency_us && replay->latency_step == traced->latency_step &&
        replay->late_step == traced->late_step && replay->in_time == traced->in_time;

    vbs_replay_free(replay);
    return same;
}

static bool random_replay_agrees(gsl_rng *rng, const struct vbs_profile *profile, enum vbs_io io)
{
    struct vbs_problem problem = {.profile = profile, .request = random_int(rng, 1, 8), .io = io};
    struct vbs_schedule *schedule = random_schedule(rng, profile, (int)problem.request, io);
    struct vbs_replay *replay = NULL;
    struct vbs_ctx ctx = {0};
    bool same;

    if (schedule && random_once_in(rng, 2))
        schedule->latency_us = random_int(rng, 1, 300);
    same = schedule && vbs_replay_run(&ctx, profile, schedule, random_int(rng, 0, 150), true,
                                      &replay) == VBS_OK;

    if (!same)
        printf("# %s\n", vbs_detail(&ctx));
    same = same && agrees_with_definition(&problem, schedule, replay) &&
           agrees_with_clock(&problem, schedule, replay) &&
           agrees_without_trace(&problem, schedule, replay);
    vbs_replay_free(replay);
    vbs_schedule_free(schedule);
    return same;
}

static void test_random(enum random_graph graph, const char *kind)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    int n_wrong[2] = {0}, n_refused = 0;

    gsl_rng_set(rng, SEED + (unsigned long)graph);
    for (int i = 0; i < N_PROFILES; i++) {
        struct vbs_profile *profile = random_profile(rng, graph, 10);

        if (!profile) {
            n_refused++;
            continue;
        }
        n_wrong[0] += !random_replay_agrees(rng, profile, VBS_IO_EXTERNAL);
        n_wrong[1] += !random_replay_agrees(rng, profile, VBS_IO_RESIDENT);
        vbs_profile_free(profile);
    }
    gsl_rng_free(rng);
    is_int(n_refused, 0, "random profiles are profiles");
    ok(n_wrong[0] == 0, "%d random schedules of %s networks agree with the definition, external",
       N_PROFILES, kind);
    ok(n_wrong[1] == 0, "%d random schedules of %s networks agree with the definition, resident",
       N_PROFILES, kind);
}

int main(void)
{
    printf("# seed %d\n", SEED);
    test_random(RANDOM_LINEAR, "linear");
    test_random(RANDOM_BRANCHED, "branched");
    test_random(RANDOM_DAG, "arbitrary");
    return done_testing();
}
