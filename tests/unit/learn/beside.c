/* What steps would have taken without the loads beside them: by hand, as the inverse of what the
 * replay makes of the two clocks, and in the rows that executed schedules tell of. */
#include "cases/random_transfer.h"
#include "cases/random_weights.h"
#include "cases/weights_chain.h"
#include "learn/learn.h"
#include "support/fault.h"
#include "support/tap.h"
#include "vbslab/replay.h"

#include <stdlib.h>

#define SEED        8713
#define N_PROFILES  2000
#define N_SCHEDULES 3 /* of each */
#define NEAR        1e-9

/* ---- By hand ---- */

static const double FACTORS[] = {1.5, 2, 1, 4};

/* Layer 1 runs beside the end of the first load and the whole second one, layer 2 beside the third,
 * which goes on beside layer 3 and ends before this one does. */
static const struct vbs_step STEPS[] = {KEEP(1, 100), LOAD(3, 30),  LOAD(3, 10),
                                        RUN(1, 1),    LOAD(3, 20),  RUN(2, 1),
                                        RUN(3, 1),    EVICT(3, 60), RUN(1, 1)};

static const struct vbs_exec_step TIMES[COUNT(STEPS)] = {
    {0, 0}, {0, 6}, {6, 8}, {2, 12}, {12, 20}, {12, 15}, {15, 27}, {0, 0}, {27, 31}};

static const int64_t COMPUTED[] = {3, 5, 6, 8};

static bool are(const struct vbs_schedule *schedule, const double *expected)
{
    double alone_us[COUNT(STEPS)];
    struct vbs_ctx ctx = {0};
    bool same = learn_alone(&ctx, schedule, TIMES, alone_us) == VBS_OK;

    for (int i = 0; i < 4 && same; i++) {
        double at = alone_us[COMPUTED[i]];

        same = isnan(expected[i]) ? isnan(at) : fabs(at - expected[i]) < NEAR;
        if (!same)
            printf("# step %d: %g, not %g\n", (int)COMPUTED[i], at, expected[i]);
    }
    return same;
}

static void times_beside_loads_are_divided_by_the_factor(void)
{
    struct vbs_schedule schedule = weights_schedule(1, STEPS, COUNT(STEPS));

    schedule.copy.beside = FACTORS;
    ok(are(&schedule, (const double[]){4 + 6 / 2.0, 3, 7 + 5 / 4.0, 4}),
       "the time beside loads is divided by the factor of the layer");
    schedule.copy.beside = NULL;
    ok(are(&schedule, (const double[]){NAN, NAN, NAN, 4}),
       "without factors only steps beside which no load ran tell anything");
}

/* ---- The inverse of the replay ---- */

/* What the random schedules had. */
struct met {
    int slowed, alone;
};

static struct vbs_exec_step *times_of(const struct vbs_replay *replay)
{
    struct vbs_exec_step *times = calloc((size_t)replay->n_steps + 1, sizeof *times);

    for (int64_t s = 0; times && s < replay->n_steps; s++)
        times[s] = (struct vbs_exec_step){replay->steps[s].start_us, replay->steps[s].end_us};
    return times;
}

/* Compares the steps of a schedule, without what loads cost them, with those of a replay in which
 * loads cost nothing. */
static bool is_undone(const struct vbs_schedule *schedule, const struct vbs_replay *slowed,
                      const struct vbs_replay *plain, struct met *met)
{
    struct vbs_exec_step *times = times_of(slowed);
    double *alone_us = calloc((size_t)schedule->n_steps + 1, sizeof *alone_us);
    struct vbs_ctx ctx = {0};
    bool same = times && alone_us && learn_alone(&ctx, schedule, times, alone_us) == VBS_OK;

    for (int64_t s = 0; s < schedule->n_steps && same; s++) {
        double took_us = times[s].end_us - times[s].start_us;
        double want_us = plain->steps[s].end_us - plain->steps[s].start_us;

        if (schedule->steps[s].op != VBS_STEP_COMPUTE)
            continue;
        same = fabs(alone_us[s] - want_us) < NEAR * (1 + slowed->time_us);
        met->slowed += took_us > want_us + NEAR;
        met->alone += took_us <= want_us + NEAR;
        if (!same)
            printf("# step %lld: %g of %g, not %g\n", (long long)s, alone_us[s], took_us, want_us);
    }
    free(alone_us);
    free(times);
    return same;
}

static bool schedule_is_undone(gsl_rng *rng, const struct vbs_profile *profile, struct met *met)
{
    struct vbs_schedule *schedule =
        random_transfer_schedule(rng, profile, random_int(rng, 1, 4), VBS_IO_EXTERNAL, 4);
    double factors[VBS_MAX_LAYERS + 1];
    struct vbs_replay *slowed = NULL, *plain = NULL;
    struct vbs_ctx ctx = {0};
    bool same = false;

    if (!schedule)
        return false;
    schedule->copy = (struct vbs_link){.source = "given",
                                       .latency_us = random_int(rng, 0, 3),
                                       .bytes_per_us = random_int(rng, 1, 8) / 4.0,
                                       .beside = random_beside(rng, profile->n_layers, factors)};
    if (!schedule->copy.beside) {
        vbs_schedule_free(schedule);
        return true;
    }
    if (vbs_replay_run(&ctx, profile, schedule, -1, true, &slowed) == VBS_OK) {
        struct vbs_schedule other = *schedule;

        other.copy.beside = NULL;
        same = vbs_replay_run(&ctx, profile, &other, -1, true, &plain) == VBS_OK &&
               is_undone(schedule, slowed, plain, met);
    }
    vbs_replay_free(slowed);
    vbs_replay_free(plain);
    vbs_schedule_free(schedule);
    return same;
}

static void what_the_replay_slows_down_is_undone(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct met met = {0};
    int n_wrong = 0;

    gsl_rng_set(rng, SEED);
    for (int i = 0; i < N_PROFILES; i++) {
        struct vbs_profile *profile = random_transfer_profile(rng, 4, 6);

        for (int k = 0; profile && k < N_SCHEDULES; k++)
            n_wrong += !schedule_is_undone(rng, profile, &met);
        vbs_profile_free(profile);
    }
    gsl_rng_free(rng);
    ok(n_wrong == 0, "random schedules: the time of a step alone comes out");
    ok(met.slowed > 1000 && met.alone > 1000, "%d steps were slowed down, %d were not", met.slowed,
       met.alone);
}

/* ---- Rows ---- */

#define N_RUNS 2

/* A contender with two runs of a schedule on the chain: in the second one layer 3 ran beside
 * loads. */
struct runs {
    double times_us[N_RUNS], waits_us[N_RUNS];
    double steps_us[LEARN_STEPS_KEPT * 3], alone_us[LEARN_STEPS_KEPT * 3];
    int turns[N_RUNS];
};

static const struct vbs_step ROWS[] = {RUN(1, 1), LOAD(3, 60), RUN(3, 1)};

static struct contender executed(struct vbs_schedule *schedule, struct runs *runs)
{
    *runs = (struct runs){.times_us = {30, 32},
                          .waits_us = {10, 8},
                          .steps_us = {8, 12, 12, 8, 10, 16},
                          .alone_us = {8, 12, 12, 8, 10, 12},
                          .turns = {1, 2}};
    return (struct contender){.schedule = schedule,
                              .n_runs = N_RUNS,
                              .times_us = runs->times_us,
                              .waits_us = runs->waits_us,
                              .turns = runs->turns,
                              .steps_us = runs->steps_us,
                              .alone_us = runs->alone_us};
}

static enum vbs_status observe(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                               struct contender *contender, struct observations *observations)
{
    struct turns turns = {.contenders = contender, .n = 1, .last = N_RUNS};

    return learn_observe(ctx, profile, &turns, observations);
}

/* The requests took 20 and 24 us without waits, their steps as much: all rows keep their times. */
static void rows_are_without_loads_and_waits(const struct vbs_profile *profile)
{
    struct vbs_schedule schedule = weights_schedule(1, ROWS, COUNT(ROWS));
    struct runs runs;
    struct contender contender = executed(&schedule, &runs);
    struct observations observations = {0};
    const struct vbs_observed_row *rows;
    double spread;

    if (observe(NULL, profile, &contender, &observations) != VBS_OK || observations.n_rows != 2)
        bail_out("%d rows", observations.n_rows);
    rows = observations.rows;
    ok(rows[0].layer == 1 && fabs(rows[0].time_us - 8) < NEAR,
       "a wait for weights is part of no row");
    ok(rows[1].layer == 3 && fabs(rows[1].time_us - 12) < NEAR,
       "nor is what loads beside a step cost it");
    spread = sqrt(rows[0].deviation * rows[0].deviation + 0.25 / 36); /* half of 4 in 24 */
    ok(fabs(rows[1].deviation - spread) < NEAR, "which makes the time of the row less certain");
    observations.n_rows = 0;
    runs.alone_us[5] = NAN;
    if (observe(NULL, profile, &contender, &observations) != VBS_OK || observations.n_rows != 2)
        bail_out("%d rows", observations.n_rows);
    ok(fabs(observations.rows[1].time_us - 12) < NEAR,
       "a time that is not known leaves the others");
    observations.n_rows = 0;
    runs.alone_us[2] = NAN;
    ok(observe(NULL, profile, &contender, &observations) == VBS_OK && observations.n_rows == 1 &&
           observations.rows[0].layer == 1 && fabs(observations.rows[0].time_us - 8) < NEAR,
       "a row of which no time is known is left out");
    free(observations.rows);
}

/* ---- Memory that runs out ---- */

static enum vbs_status run_alone(struct vbs_ctx *ctx, const void *schedule)
{
    double alone_us[COUNT(STEPS)];

    return learn_alone(ctx, schedule, TIMES, alone_us);
}

int main(void)
{
    struct vbs_profile *profile = weights_chain(1, false);
    struct vbs_schedule schedule = weights_schedule(1, STEPS, COUNT(STEPS));
    struct fault_trial trial = {.run = run_alone, .subject = &schedule};

    times_beside_loads_are_divided_by_the_factor();
    what_the_replay_slows_down_is_undone();
    rows_are_without_loads_and_waits(profile);
    fault_each(&trial);
    ok(trial.n_faults > 0 && trial.n_wrong == 0 && trial.status == VBS_OK,
       "%d allocations, each failing once", trial.n_faults);
    vbs_profile_free(profile);
    return done_testing();
}
