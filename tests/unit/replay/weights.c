/*
 * With weights inside the budget the replay gives the numbers that were counted by hand: two
 * clocks, slices, packed weight formats and resident weights.
 */
#include "support/tap.h"
#include "cases/weights_chain.h"

#include "vbslab/replay.h"

/* A step as counted by hand. */
struct want {
    double start_us, end_us;
    int64_t memory_bytes;
};

/* Replays steps. Null, and a failed check, where the replay refuses them. */
static struct vbs_replay *replay_steps(const char *name, const struct vbs_profile *profile,
                                       const struct vbs_schedule *schedule)
{
    struct vbs_replay *replay = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_replay_run(&ctx, profile, schedule, -1, true, &replay) != VBS_OK) {
        ok(false, "%s", name);
        printf("#  %s\n", vbs_detail(&ctx));
    }
    return replay;
}

static void check_steps(const char *name, const struct vbs_schedule *schedule,
                        const struct vbs_replay *replay, const struct want *want)
{
    bool same = true;

    for (int64_t i = 0; i < schedule->n_steps; i++) {
        const struct vbs_replay_step *at = &replay->steps[i];

        if (at->start_us == want[i].start_us && at->end_us == want[i].end_us &&
            at->memory_bytes == want[i].memory_bytes)
            continue;
        printf("#  step %" PRId64 ": got %g to %g in %" PRId64 ", want %g to %g in %" PRId64 "\n",
               i + 1, at->start_us, at->end_us, at->memory_bytes, want[i].start_us, want[i].end_us,
               want[i].memory_bytes);
        same = false;
    }
    ok(same, "%s", name);
}

/* One case: its steps, then {start, end, memory} of each. */
#define CASE(name, profile, request, steps, ...)                                                   \
    do {                                                                                           \
        const struct vbs_schedule schedule_ = weights_schedule(request, steps, COUNT(steps));      \
        const struct want want_[] = {__VA_ARGS__};                                                 \
        struct vbs_replay *replay_ = replay_steps(name, profile, &schedule_);                      \
        _Static_assert(COUNT(steps) == COUNT(want_), "one line per step");                         \
        if (replay_)                                                                               \
            check_steps(name, &schedule_, replay_, want_);                                         \
        vbs_replay_free(replay_);                                                                  \
    } while (0)

static void test_clocks(const struct vbs_profile *profile)
{
    static const struct vbs_step AHEAD[] = {LOAD(1, 100),  LOAD(3, 60), RUN(1, 1),
                                            EVICT(1, 100), RUN(2, 1),   RUN(3, 1)};
    static const struct vbs_step BEHIND[] = {LOAD(1, 100), RUN(1, 1), EVICT(1, 100),
                                             LOAD(3, 60),  RUN(2, 1), RUN(3, 1)};
    static const struct vbs_step LAST[] = {LOAD(1, 100), RUN(1, 1), RUN(2, 1),
                                           LOAD(3, 60),  RUN(3, 1), EVICT(3, 60)};

    CASE("a step starts when its weights are there; the next copy runs beside it", profile, 1,
         AHEAD, {0, 11, 100}, {11, 18, 160}, {11, 16, 174}, {16, 16, 70}, {16, 19, 90},
         {19, 26, 85});
    CASE("a load waits for the compute steps before it, whose memory it takes", profile, 1, BEHIND,
         {0, 11, 100}, {11, 16, 114}, {16, 16, 10}, {16, 23, 70}, {16, 19, 90}, {23, 30, 85});
    CASE("a load right before its step is waited for in full", profile, 1, LAST, {0, 11, 100},
         {11, 16, 114}, {16, 19, 130}, {19, 26, 180}, {26, 33, 185}, {33, 33, 100});
}

static void test_totals(const struct vbs_profile *profile)
{
    static const struct vbs_step STEPS[] = {KEEP_SLICE(3, 1, 2, 30),
                                            LOAD(1, 100),
                                            LOAD_SLICE(3, 2, 2, 30),
                                            RUN(1, 1),
                                            RUN(2, 1),
                                            RUN(3, 1)};
    struct vbs_schedule schedule = weights_schedule(1, STEPS, COUNT(STEPS));
    struct vbs_replay *replay = replay_steps("totals", profile, &schedule);

    if (!replay)
        return;
    is_near(replay->time_us, 26, 0, "the request takes until the last step has ended");
    is_near(replay->compute_us, 15, 0, "  computing takes");
    is_near(replay->copy_us, 15, 0, "  and copying, residents not counted");
    is_int(replay->copied_bytes, 130, "  bytes likewise");
    is_int(replay->n_copies, 2, "  copies likewise");
    is_int(replay->resident_bytes, 30, "  resident bytes");
    is_int(replay->steps[2].weight_bytes, 160, "  weights in a load's memory, its own too");
    is_int(replay->steps[3].weight_bytes, 160, "  and in a compute step's");
    is_int(replay->peak_bytes, 190, "  the peak");
    is_int(replay->peak_step, 4, "  is where samples and weights together take most");
    is_near(replay->latency_us, 26, 0, "  the wait of the sample counts the stall");
    vbs_replay_free(replay);
}

/* A load can be the step that exceeds the budget, and a copy the last to end. */
static void test_limits(const struct vbs_profile *profile)
{
    static const struct vbs_step STEPS[] = {KEEP(1, 100), RUN(1, 1), LOAD(3, 60),  EVICT(1, 100),
                                            RUN(2, 1),    RUN(3, 1), EVICT(3, 60), LOAD(1, 100)};
    struct vbs_schedule schedule = weights_schedule(1, STEPS, COUNT(STEPS));
    struct vbs_replay *replay = NULL;

    CASE("a resident is evicted and loaded again", profile, 1, STEPS, {0, 0, 100}, {0, 5, 114},
         {5, 12, 170}, {5, 5, 70}, {5, 8, 90}, {12, 19, 85}, {19, 19, 0}, {19, 30, 100});
    schedule.latency_us = 19;
    is_int(vbs_replay_run(NULL, profile, &schedule, 169, true, &replay), VBS_OK, "  judged");
    is_int(replay->violation_step, 2, "  a load breaks the budget");
    is_int(replay->peak_step, 2, "  and is the peak");
    is_near(replay->time_us, 30, 0, "  a copy ends last");
    ok(replay->in_time && replay->latency_us == 19 && replay->latency_step == 5,
       "  for which no sample waits");
    ok(replay->steps[7].chunk == 1 && replay->steps[7].wait_us == 30,
       "  though it belongs to the last chunk");
    vbs_replay_free(replay);
}

static void test_slices(const struct vbs_profile *profile)
{
    static const struct vbs_step SAME[] = {LOAD_SLICE(1, 1, 2, 50),
                                           LOAD_SLICE(1, 2, 2, 50),
                                           RUN_SLICE(1, 1, 1, 2),
                                           EVICT_SLICE(1, 1, 2, 50),
                                           RUN_SLICE(1, 1, 2, 2),
                                           LOAD(3, 60),
                                           RUN(2, 1),
                                           RUN(3, 1)};
    static const struct vbs_step FINER[] = {LOAD_SLICE(1, 1, 4, 25),
                                            LOAD_SLICE(1, 2, 4, 25),
                                            LOAD_SLICE(1, 3, 4, 25),
                                            LOAD_SLICE(1, 4, 4, 25),
                                            RUN_SLICE(1, 1, 1, 2),
                                            RUN_SLICE(1, 1, 2, 2),
                                            EVICT(1, 100),
                                            KEEP(3, 60),
                                            RUN(2, 1),
                                            RUN(3, 1)};
    static const struct vbs_step COARSER[] = {LOAD(1, 100),
                                              RUN_SLICE(1, 1, 1, 2),
                                              EVICT_SLICE(1, 1, 2, 50),
                                              RUN_SLICE(1, 1, 2, 2),
                                              EVICT_SLICE(1, 2, 2, 50),
                                              LOAD(3, 60),
                                              RUN(2, 1),
                                              RUN(3, 1)};
    struct vbs_step finer[COUNT(FINER)];

    CASE("slices are loaded and run one after another; the output is whole from the first on",
         profile, 1, SAME, {0, 6, 50}, {6, 12, 100}, {6, 8.5, 114}, {8.5, 8.5, 60}, {12, 14.5, 64},
         {14.5, 21.5, 120}, {14.5, 17.5, 140}, {21.5, 28.5, 135});
    CASE("a whole load serves steps in slices, and is evicted in slices", profile, 1, COARSER,
         {0, 11, 100}, {11, 13.5, 114}, {13.5, 13.5, 60}, {13.5, 16, 64}, {16, 16, 10},
         {16, 23, 70}, {16, 19, 90}, {23, 30, 85});
    finer[0] = FINER[7]; /* the resident comes first */
    memcpy(finer + 1, FINER, 7 * sizeof *finer);
    memcpy(finer + 8, FINER + 8, 2 * sizeof *finer);
    CASE("a step waits for each of the finer loads that it reads", profile, 1, finer, {0, 0, 60},
         {0, 3.5, 85}, {3.5, 7, 110}, {7, 10.5, 135}, {10.5, 14, 160}, {7, 9.5, 174},
         {14, 16.5, 174}, {16.5, 16.5, 70}, {16.5, 19.5, 90}, {19.5, 26.5, 85});
}

static void test_uneven_slices(const struct vbs_profile *profile)
{
    static const struct vbs_step CHANNELS[] = {KEEP(3, 60),
                                               LOAD_SLICE(1, 1, 3, 25),
                                               LOAD_SLICE(1, 2, 3, 25),
                                               RUN_SLICE(1, 1, 1, 3),
                                               LOAD_SLICE(1, 3, 3, 50),
                                               RUN_SLICE(1, 1, 2, 3),
                                               RUN_SLICE(1, 1, 3, 3),
                                               RUN(2, 1),
                                               RUN(3, 1)};
    static const struct vbs_step BYTES[] = {KEEP(1, 100),
                                            RUN(1, 1),
                                            RUN(2, 1),
                                            LOAD_SLICE(3, 1, 7, 8),
                                            LOAD_SLICE(3, 2, 7, 9),
                                            LOAD_SLICE(3, 3, 7, 8),
                                            LOAD_SLICE(3, 4, 7, 9),
                                            LOAD_SLICE(3, 5, 7, 8),
                                            LOAD_SLICE(3, 6, 7, 9),
                                            LOAD_SLICE(3, 7, 7, 9),
                                            RUN_SLICE(3, 1, 4, 4),
                                            RUN_SLICE(3, 1, 1, 4),
                                            RUN_SLICE(3, 1, 2, 4),
                                            RUN_SLICE(3, 1, 3, 4)};
    struct vbs_schedule schedule = weights_schedule(1, BYTES, COUNT(BYTES));
    struct vbs_replay *replay;

    CASE("channels go to the slices whole, and with them bytes and time", profile, 1, CHANNELS,
         {0, 0, 60}, {0, 3.5, 85}, {3.5, 7, 110}, {3.5, 4.75, 124}, {7, 13, 170}, {7, 8.25, 174},
         {13, 15.5, 174}, {15.5, 18.5, 190}, {18.5, 25.5, 185});
    replay = replay_steps("without channels bytes are divided", profile, &schedule);
    if (!replay)
        return;
    is_int(replay->copied_bytes, 60, "without channels bytes are divided");
    is_near(replay->steps[11].end_us - replay->steps[11].start_us, 1.75, 1e-12,
            "  and the time evenly");
    ok(replay->steps[10].start_us == replay->steps[9].end_us, "  slices run in any order");
    vbs_replay_free(replay);
}

/* A slice may be ahead by several steps; its output, and the inputs that the other slices still
 * read, stay in memory. */
static void test_progress_of_slices(const struct vbs_profile *profile)
{
    static const struct vbs_step STEPS[] = {KEEP(1, 100),
                                            KEEP(3, 60),
                                            RUN_SLICE(1, 1, 1, 2),
                                            RUN_SLICE(1, 1, 1, 2),
                                            RUN_SLICE(1, 2, 2, 2),
                                            RUN_SLICE(2, 2, 3, 3),
                                            RUN_SLICE(2, 1, 1, 3),
                                            RUN_SLICE(2, 2, 2, 3),
                                            RUN_SLICE(2, 1, 1, 3),
                                            RUN(3, 1),
                                            RUN(3, 1)};
    struct vbs_schedule schedule = weights_schedule(2, STEPS, COUNT(STEPS));
    struct vbs_replay *replay = replay_steps("slices ahead", profile, &schedule);
    static const int64_t LIVE[] = {0, 0, 4, 14, 28, 20, 60, 60, 50, 40, 20};
    static const int64_t ADDED[] = {0, 0, 10, 10, 0, 40, 0, 0, 0, 5, 5};
    static const int64_t DONE[] = {0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1};
    static const int64_t CHUNK[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    bool live = true, added = true, done = true, chunk = true;

    if (!replay)
        return;
    for (int64_t i = 0; i < schedule.n_steps; i++) {
        live = live && replay->steps[i].live_bytes == LIVE[i];
        added = added && replay->steps[i].added_bytes == ADDED[i];
        done = done && replay->steps[i].done_before == DONE[i];
        chunk = chunk && replay->steps[i].chunk == CHUNK[i];
    }
    ok(live, "inputs stay until the last slice has read them");
    ok(added, "outputs come with the slice that is furthest");
    ok(done, "every slice goes through the samples for itself");
    ok(chunk, "nothing ends while a slice is under way");
    is_int(replay->steps[schedule.n_steps - 1].after_bytes, 0, "and nothing is left");
    vbs_replay_free(replay);
}

static void test_chunks(const struct vbs_profile *profile)
{
    static const struct vbs_step STEPS[] = {KEEP(1, 100), RUN(1, 1), RUN(2, 1), LOAD(3, 60),
                                            RUN(3, 1),    RUN(1, 1), RUN(2, 1), RUN(3, 1)};
    static const struct vbs_step AHEAD[] = {
        KEEP(1, 100),          KEEP(3, 60),           RUN(1, 1), RUN(2, 1), RUN(3, 1),
        RUN_SLICE(1, 1, 1, 2), RUN_SLICE(1, 1, 2, 2), RUN(2, 1), RUN(3, 1)};
    static const struct vbs_step OVER[] = {
        KEEP(1, 100), KEEP(3, 60),           RUN(1, 1), RUN(2, 1), RUN_SLICE(1, 1, 1, 2),
        RUN(3, 1),    RUN_SLICE(1, 1, 2, 2), RUN(2, 1), RUN(3, 1)};
    struct vbs_schedule schedule = weights_schedule(2, STEPS, COUNT(STEPS));
    struct vbs_replay *replay = replay_steps("a stall", profile, &schedule);

    if (replay)
        ok(replay->latency_us == 22 && replay->latency_step == 4 && replay->time_us == 37 &&
               replay->steps[3].chunk == 1 && replay->steps[5].chunk == 2 &&
               replay->steps[7].wait_us == 15,
           "a chunk waits for its weights, the next does not");
    vbs_replay_free(replay);
    schedule = weights_schedule(2, AHEAD, COUNT(AHEAD));
    replay = replay_steps("chunks of slices", profile, &schedule);
    if (replay)
        ok(replay->latency_us == 15 && replay->steps[5].chunk == 2 &&
               replay->steps[5].wait_us == 2.5,
           "a chunk may run in slices");
    vbs_replay_free(replay);
    schedule = weights_schedule(2, OVER, COUNT(OVER));
    replay = replay_steps("one chunk", profile, &schedule);
    if (replay)
        ok(replay->latency_us == 30 && replay->steps[8].chunk == 1,
           "a slice that is ahead keeps the chunk going");
    vbs_replay_free(replay);
}

static void test_formats(const struct vbs_profile *profile)
{
    static const struct vbs_step BOTH[] = {LOAD(1, 100),       LOAD_FORMAT(1, WIDE, 110),
                                           RUN_BY(1, 1, WIDE), RUN(1, 1),
                                           KEEP(3, 60),        RUN(2, 2),
                                           RUN(3, 2)};
    struct vbs_step both[COUNT(BOTH)];

    both[0] = BOTH[4];
    memcpy(both + 1, BOTH, 4 * sizeof *both);
    memcpy(both + 5, BOTH + 5, 2 * sizeof *both);
    CASE("each packed format is a copy of its own", profile, 2, both, {0, 0, 60}, {0, 11, 160},
         {11, 23, 270}, {23, 28, 284}, {28, 33, 294}, {33, 39, 330}, {39, 53, 320});
}

/* Steps of another number of slices may follow where none is ahead; also with weights excluded. */
static void test_excluded(const struct vbs_profile *profile)
{
    static const struct vbs_step STEPS[] = {
        RUN_SLICE(1, 1, 2, 2), RUN_SLICE(1, 1, 1, 2), RUN_SLICE(1, 1, 1, 3), RUN_SLICE(1, 1, 2, 3),
        RUN_SLICE(1, 1, 3, 3), RUN_SLICE(2, 2, 1, 1), RUN_SLICE(3, 1, 1, 1), RUN(3, 1)};
    struct vbs_schedule schedule = weights_schedule(2, STEPS, COUNT(STEPS));
    struct vbs_replay *replay;

    schedule.weights = VBS_WEIGHTS_EXCLUDED;
    replay = replay_steps("slices without weights", profile, &schedule);
    if (!replay)
        return;
    is_near(replay->time_us, 30, 1e-12, "slices are taken with weights excluded as well");
    ok(replay->steps[4].weight_bytes == 0 && replay->peak_bytes == 60 && replay->copy_us == 0 &&
           replay->compute_us == replay->time_us,
       "  which then count nowhere");
    vbs_replay_free(replay);
}

static void test_channels(const struct vbs_profile *profile)
{
    static const struct vbs_step STEPS[] = {KEEP(1, 100), LOAD(3, 60), RUN(1, 1), RUN(2, 1),
                                            RUN(3, 1)};
    static const struct vbs_step RESIDENT[] = {KEEP(1, 100), KEEP(3, 60), RUN(1, 1), RUN(2, 1),
                                               RUN(3, 1)};
    struct vbs_schedule schedule = weights_schedule(1, STEPS, COUNT(STEPS));
    struct vbs_replay *replay;

    schedule.copy.source = "disk";
    replay = replay_steps("a measured source", profile, &schedule);
    if (replay)
        is_near(replay->copy_us, 15, 1e-9, "copies from a measured source take what was measured");
    vbs_replay_free(replay);
    schedule = weights_schedule(1, RESIDENT, COUNT(RESIDENT));
    schedule.copy = (struct vbs_link){0};
    replay = replay_steps("no source", profile, &schedule);
    if (replay)
        is_near(replay->time_us, 15, 0, "where all is resident no source is asked for");
    vbs_replay_free(replay);
}

/* Loads from the last slice to the first, with holes and back again, at length. */
static void test_many_slices(const struct vbs_profile *profile)
{
    enum { N = 60 };
    struct vbs_step steps[3 * N + 10];
    struct vbs_schedule schedule;
    struct vbs_replay *replay;
    int64_t n = 0;

    steps[n++] = (struct vbs_step)KEEP(1, 100);
    steps[n++] = (struct vbs_step)RUN(1, 1);
    steps[n++] = (struct vbs_step)RUN(2, 1);
    for (int p = N; p >= 1; p--)
        steps[n++] = (struct vbs_step)LOAD_SLICE(3, p, N, 1);
    steps[n++] = (struct vbs_step)RUN(3, 1);
    for (int p = 2; p <= N; p += 2)
        steps[n++] = (struct vbs_step)EVICT_SLICE(3, p, N, 1);
    for (int p = 2; p <= N; p += 2)
        steps[n++] = (struct vbs_step)LOAD_SLICE(3, p, N, 1);
    steps[n++] = (struct vbs_step)RUN(1, 1);
    steps[n++] = (struct vbs_step)RUN(2, 1);
    steps[n++] = (struct vbs_step)RUN(3, 1);
    schedule = weights_schedule(2, steps, n);
    replay = replay_steps("many slices", profile, &schedule);
    if (!replay)
        return;
    is_int(replay->copied_bytes, 90, "slices come and go in any order");
    /* 5 + 3 us, 60 copies of 1.1 us, 7 us, 30 copies, 7 us: the second round computes beside */
    is_near(replay->time_us, 8 + 66 + 7 + 33 + 7, 1e-9, "  and steps wait for the last of them");
    vbs_replay_free(replay);
}

int main(void)
{
    struct vbs_profile *profile = weights_chain(3, false);

    test_clocks(profile);
    test_totals(profile);
    test_limits(profile);
    test_slices(profile);
    test_uneven_slices(profile);
    test_progress_of_slices(profile);
    test_chunks(profile);
    test_formats(profile);
    test_excluded(profile);
    test_channels(profile);
    test_many_slices(profile);
    vbs_profile_free(profile);
    return done_testing();
}
