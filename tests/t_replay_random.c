/* Replay against the definition, sample by sample, on random schedules of random profiles. */
#include "brute_force.h"
#include "random_profile.h"
#include "tap.h"

#include "vbslab/replay.h"

#define SEED       20201
#define N_PROFILES 2000 /* per kind of graph */

/* The definition of each step's memory on one random schedule; false and a line on mismatch. */
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

/* Without a trace the answer is the same. */
static bool agrees_without_trace(const struct vbs_problem *problem,
                                 const struct vbs_schedule *schedule,
                                 const struct vbs_replay *traced)
{
    struct vbs_replay *replay = NULL;
    bool same =
        vbs_replay_run(NULL, problem->profile, schedule, traced->memory_bytes, false, &replay) ==
            VBS_OK &&
        replay->peak_bytes == traced->peak_bytes && replay->peak_step == traced->peak_step &&
        replay->violation_step == traced->violation_step && replay->time_us == traced->time_us;

    vbs_replay_free(replay);
    return same;
}

static bool random_replay_agrees(gsl_rng *rng, const struct vbs_profile *profile, enum vbs_io io)
{
    struct vbs_problem problem = {.profile = profile, .request = random_int(rng, 1, 8), .io = io};
    struct vbs_schedule *schedule = random_schedule(rng, profile, (int)problem.request, io);
    struct vbs_replay *replay = NULL;
    struct vbs_ctx ctx = {0};
    bool same = schedule && vbs_replay_run(&ctx, profile, schedule, random_int(rng, 0, 150), true,
                                           &replay) == VBS_OK;

    if (!same)
        printf("# %s\n", vbs_detail(&ctx));
    same = same && agrees_with_definition(&problem, schedule, replay) &&
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
