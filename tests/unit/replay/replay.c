/*
 * The replay finds the memory and the latency that were counted by hand, judges by the limits,
 * refuses schedules that break the rules, and writes its trace.
 */
#include "cases/random_profile.h"
#include "support/made_profile.h"
#include "support/tap.h"

#include "vbslab/replay.h"

#include <stdlib.h>
#include <unistd.h>

/* A layer counted by hand: all bytes per sample. */
struct hand_layer {
    int n_inputs;
    int inputs[3];
    int64_t out_bytes;
    int64_t ws_bytes;
    bool in_place;
};

static struct vbs_profile *make_profile(int64_t input_bytes, const struct hand_layer *layers, int n)
{
    struct vbs_ctx ctx = {0};
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    enum vbs_status status = VBS_OK;

    for (int k = 1; k <= n && status == VBS_OK; k++) {
        const struct hand_layer *hand = &layers[k - 1];
        char name[16];
        struct vbs_profile_layer layer = {.name = name,
                                          .kind = "conv",
                                          .n_inputs = hand->n_inputs,
                                          .inputs = hand->inputs,
                                          .out_bytes = hand->out_bytes,
                                          .in_place = hand->in_place};

        snprintf(name, sizeof name, "L%d", k);
        for (int i = 0; i < hand->n_inputs; i++) {
            int input = hand->inputs[i];

            layer.in_bytes += input == 0 ? input_bytes : layers[input - 1].out_bytes;
        }
        status = vbs_profile_builder_layer(&ctx, builder, &layer);
        for (int b = 1; b <= 2 && status == VBS_OK; b++) {
            struct vbs_profile_row row = {.time_us = b, .ws_bytes = b * hand->ws_bytes};

            status = vbs_profile_builder_row(&ctx, builder, k, b, "default", &row);
        }
    }
    return made_profile(&ctx, builder, status);
}

static const char *const DEFAULT[] = {"default"};

static struct vbs_schedule make_schedule(int64_t request, enum vbs_io io,
                                         const struct vbs_step *steps, int64_t n_steps)
{
    return (struct vbs_schedule){
        .model = "hand",
        .planner = "hand",
        .request = request,
        .memory_bytes = 1000000,
        .io = io,
        .n_algorithms = 1,
        .algorithms = DEFAULT,
        .n_steps = n_steps,
        .steps = steps,
    };
}

/* Replays and compares the memory of each step, and what is left after the last, with those that
 * were counted by hand. */
static void check_memory(const char *name, const struct vbs_profile *profile,
                         const struct vbs_schedule *schedule, const int64_t *want, int64_t after)
{
    struct vbs_ctx ctx = {0};
    struct vbs_replay *replay = NULL;
    enum vbs_status status = vbs_replay_run(&ctx, profile, schedule, -1, true, &replay);
    bool same = status == VBS_OK;

    for (int64_t i = 0; same && i < schedule->n_steps; i++)
        same = replay->steps[i].memory_bytes == want[i];
    ok(same, "%s: memory of every step", name);
    if (status != VBS_OK)
        printf("#  %s\n", vbs_detail(&ctx));
    for (int64_t i = 0; replay && !same && i < schedule->n_steps; i++)
        printf("#  step %" PRId64 ": got %" PRId64 ", want %" PRId64 "\n", i + 1,
               replay->steps[i].memory_bytes, want[i]);
    if (replay)
        is_int(replay->steps[schedule->n_steps - 1].after_bytes, after, "  and after the last");
    vbs_replay_free(replay);
}

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof(array)[0]))

/* One case: request, io, the steps as {layer, batch}, their memory, live bytes after the last. */
#define CASE(name, profile, request, io, steps, after, ...)                                        \
    do {                                                                                           \
        const struct vbs_schedule schedule_ = make_schedule(request, io, steps, COUNT(steps));     \
        const int64_t want_[] = {__VA_ARGS__};                                                     \
        _Static_assert(COUNT(steps) == COUNT(want_), "one number per step");                       \
        check_memory(name, profile, &schedule_, want_, after);                                     \
    } while (0)

#define AT(at_layer, samples)                                                                      \
    {                                                                                              \
        .layer = (at_layer), .batch = (samples)                                                    \
    }

static const struct vbs_step VBS_STEPS[] = {AT(1, 2), AT(2, 1), AT(2, 1), AT(3, 2)};

static void test_vbs_example(void)
{
    static const struct vbs_step ONE_BY_ONE[] = {AT(1, 1), AT(2, 1), AT(3, 1),
                                                 AT(1, 1), AT(2, 1), AT(3, 1)};
    struct vbs_profile *profile = example_profile();
    struct vbs_schedule schedule = make_schedule(2, VBS_IO_EXTERNAL, VBS_STEPS, 4);
    struct vbs_replay *replay = NULL;

    is_int(vbs_replay_run(NULL, profile, &schedule, 7, false, &replay), VBS_OK,
           "the example of VBS III runs");
    is_int(replay->peak_bytes, 7, "  its peak is 7");
    is_int(replay->peak_step, 1, "  first reached by its second step");
    is_near(replay->time_us, 20, 0, "  it takes 20 us");
    is_int(replay->n_steps, 4, "  in 4 steps");
    ok(!replay->steps, "  and there is no trace unless asked for");
    vbs_replay_free(replay);

    CASE("2, 1, 1, 2 external", profile, 2, VBS_IO_EXTERNAL, VBS_STEPS, 0, 6, 7, 7, 6);
    CASE("2, 1, 1, 2 resident", profile, 2, VBS_IO_RESIDENT, VBS_STEPS, 2, 6, 7, 7, 6);
    CASE("one by one external", profile, 2, VBS_IO_EXTERNAL, ONE_BY_ONE, 0, 3, 6, 3, 3, 6, 3);
    CASE("one by one resident", profile, 2, VBS_IO_RESIDENT, ONE_BY_ONE, 2, 4, 7, 4, 4, 7, 4);
    vbs_profile_free(profile);
}

static void test_parts_of_a_step(void)
{
    struct vbs_profile *profile = example_profile();
    struct vbs_schedule schedule = make_schedule(2, VBS_IO_EXTERNAL, VBS_STEPS, 4);
    struct vbs_replay *replay = NULL;

    is_int(vbs_replay_run(NULL, profile, &schedule, 7, true, &replay), VBS_OK, "a trace is kept");
    is_int(replay->steps[2].done_before, 1, "  samples done before a step");
    is_int(replay->steps[2].live_bytes, 2, "  live bytes before it");
    is_int(replay->steps[2].added_bytes, 1, "  what its output adds");
    is_int(replay->steps[2].ws_bytes, 4, "  its workspace");
    is_int(replay->steps[2].memory_bytes, 7, "  all together");
    is_int(replay->steps[2].after_bytes, 2, "  what is live afterwards");
    is_near(replay->steps[2].start_us, 10, 0, "  when it starts");
    is_near(replay->steps[2].end_us, 14, 0, "  and when it ends");
    is_int(replay->steps[0].live_bytes, 2, "  external inputs of a step are live during it");
    vbs_replay_free(replay);
    vbs_profile_free(profile);
}

static void test_skip_connection(void)
{
    static const struct hand_layer PLAIN[] = {
        {1, {0}, 3, 0, false}, {1, {1}, 5, 0, false}, {2, {2, 1}, 7, 0, false}};
    static const struct vbs_step LAG[] = {AT(1, 2), AT(2, 1), AT(3, 1), AT(2, 1), AT(3, 1)};
    static const struct vbs_step ONE[] = {AT(1, 1), AT(2, 1), AT(3, 1)};
    struct vbs_profile *profile = make_profile(2, PLAIN, 3);

    CASE("a skip connection keeps its tensor", profile, 1, VBS_IO_EXTERNAL, ONE, 0, 5, 8, 15);
    CASE("samples are free one by one", profile, 2, VBS_IO_EXTERNAL, LAG, 0, 10, 11, 18, 8, 15);
    CASE("resident adds what waits and what is done", profile, 2, VBS_IO_RESIDENT, LAG, 14, 10, 11,
         18, 15, 22);
    vbs_profile_free(profile);
}

static void test_in_place(void)
{
    static const struct vbs_step ONE[] = {AT(1, 1), AT(2, 1), AT(3, 1)};
    static const struct vbs_step AHEAD[] = {AT(1, 2), AT(2, 1), AT(3, 2), AT(2, 1), AT(4, 2)};
    static const struct hand_layer EQUAL[] = {
        {1, {0}, 3, 0, false}, {1, {1}, 5, 0, false}, {2, {2, 1}, 5, 0, true}};
    static const struct hand_layer LARGER[] = {
        {1, {0}, 3, 0, false}, {1, {1}, 5, 0, false}, {2, {2, 1}, 7, 0, true}};
    static const struct hand_layer SMALLER[] = {
        {1, {0}, 3, 0, false}, {1, {1}, 5, 0, false}, {2, {2, 1}, 1, 0, true}};
    static const struct hand_layer OTHER[] = {
        {1, {0}, 3, 0, false}, {1, {1}, 5, 0, false}, {2, {1, 2}, 5, 0, true}};
    static const struct hand_layer AWAITED[] = {
        {1, {0}, 3, 0, false}, {1, {1}, 3, 0, true}, {2, {1, 2}, 9, 0, false}};
    static const struct hand_layer PARTLY[] = {{1, {0}, 3, 0, false},
                                               {1, {1}, 4, 0, false},
                                               {1, {1}, 3, 0, true},
                                               {2, {2, 3}, 1, 0, false}};
    static const struct hand_layer TWICE[] = {
        {1, {0}, 3, 0, false}, {2, {1, 1}, 4, 0, true}, {1, {2}, 1, 0, false}};
    const struct {
        const char *name;
        const struct hand_layer *layers;
        int64_t want[3];
    } cases[] = {
        {"an add in place adds nothing", EQUAL, {5, 8, 8}},
        {"in place, a larger output adds the difference", LARGER, {5, 8, 10}},
        {"in place, a smaller output gives nothing back during the step", SMALLER, {5, 8, 8}},
        {"in place takes the first input only", OTHER, {5, 8, 10}},
        {"in place takes nothing that others still read", AWAITED, {5, 6, 15}},
        {"an input named twice counts once", TWICE, {5, 4, 5}},
    };
    struct vbs_profile *profile;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct vbs_schedule schedule = make_schedule(1, VBS_IO_EXTERNAL, ONE, 3);

        profile = make_profile(2, cases[i].layers, 3);
        check_memory(cases[i].name, profile, &schedule, cases[i].want, 0);
        vbs_profile_free(profile);
    }
    profile = make_profile(2, PARTLY, 4);
    CASE("in place takes those samples that others have finished", profile, 2, VBS_IO_EXTERNAL,
         AHEAD, 0, 10, 10, 6 + 4 + 3, 3 + 4 + 6 + 4, 8 + 6 + 2);
    vbs_profile_free(profile);
}

static void test_in_place_on_the_network_input(void)
{
    static const struct vbs_step ONE[] = {AT(1, 2)};
    static const struct vbs_step TWO[] = {AT(1, 1), AT(2, 1), AT(1, 1), AT(2, 1)};
    static const struct hand_layer SMALL[] = {{1, {0}, 3, 0, true}};
    static const struct hand_layer LARGE[] = {{1, {0}, 6, 0, true}};
    static const struct hand_layer BOTH[] = {{1, {0}, 3, 0, true}, {1, {0}, 6, 0, true}};
    struct vbs_profile *profile = make_profile(4, SMALL, 1);

    CASE("in place of external samples", profile, 2, VBS_IO_EXTERNAL, ONE, 0, 8);
    CASE("in place of resident samples", profile, 2, VBS_IO_RESIDENT, ONE, 6, 8);
    vbs_profile_free(profile);
    profile = make_profile(4, LARGE, 1);
    CASE("a larger output in place of external samples", profile, 2, VBS_IO_EXTERNAL, ONE, 0, 12);
    vbs_profile_free(profile);
    profile = make_profile(4, BOTH, 2);
    CASE("external samples are taken by their last reader", profile, 2, VBS_IO_EXTERNAL, TWO, 0, 7,
         6, 7, 6);
    CASE("resident samples are taken by their last reader", profile, 2, VBS_IO_RESIDENT, TWO, 18,
         8 + 3, 8 + 3 + 2, 4 + 9 + 3, 4 + 9 + 3 + 2);
    vbs_profile_free(profile);
}

static void test_concat_and_outputs(void)
{
    static const struct hand_layer CONCAT[] = {{1, {0}, 3, 0, false},
                                               {1, {0}, 4, 0, false},
                                               {2, {1, 2}, 7, 0, false},
                                               {1, {3}, 1, 0, false}};
    static const struct hand_layer FREE[] = {
        {1, {0}, 3, 0, false}, {1, {0}, 4, 0, false}, {2, {1, 2}, 1, 0, false}};
    static const struct hand_layer OUTPUTS[] = {
        {1, {0}, 3, 0, false}, {1, {1}, 4, 0, false}, {1, {1}, 5, 0, false}};
    static const struct hand_layer MIXED[] = {{1, {0}, 3, 0, false}, {2, {1, 0}, 4, 0, false}};
    static const struct vbs_step ONE[] = {AT(1, 1), AT(2, 1), AT(3, 1), AT(4, 1)};
    static const struct vbs_step THREE[] = {AT(1, 1), AT(2, 1), AT(3, 1)};
    static const struct vbs_step TWO[] = {AT(1, 2), AT(2, 1), AT(2, 1)};
    struct vbs_profile *profile = make_profile(2, CONCAT, 4);

    CASE("a concat layer copies", profile, 1, VBS_IO_EXTERNAL, ONE, 0, 5, 9, 14, 8);
    CASE("a concat layer copies, resident", profile, 1, VBS_IO_RESIDENT, ONE, 1, 5, 9, 14, 8);
    vbs_profile_free(profile);
    profile = make_profile(2, FREE, 3);
    CASE("a free concat is read side by side", profile, 1, VBS_IO_EXTERNAL, THREE, 0, 5, 9, 8);
    vbs_profile_free(profile);
    profile = make_profile(2, OUTPUTS, 3);
    CASE("several outputs leave", profile, 1, VBS_IO_EXTERNAL, THREE, 0, 5, 7, 8);
    CASE("several outputs stay", profile, 1, VBS_IO_RESIDENT, THREE, 9, 5, 7, 12);
    vbs_profile_free(profile);
    profile = make_profile(2, MIXED, 2);
    CASE("external samples are there for every reader", profile, 2, VBS_IO_EXTERNAL, TWO, 0, 10, 12,
         9);
    CASE("resident samples stay for every reader", profile, 2, VBS_IO_RESIDENT, TWO, 8, 10, 14, 13);
    vbs_profile_free(profile);
}

static void test_budgets(void)
{
    static const struct {
        int64_t budget, first;
        const char *name;
    } CASES[] = {
        {7, -1, "the peak itself fits"},
        {6, 1, "one byte below breaks at the second step"},
        {5, 0, "less breaks at the first step"},
        {0, 0, "a budget of nothing breaks at once"},
        {INT64_MAX, -1, "the largest budget fits"},
    };
    struct vbs_profile *profile = example_profile();
    struct vbs_schedule schedule = make_schedule(2, VBS_IO_EXTERNAL, VBS_STEPS, 4);
    struct vbs_replay *replay;

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        replay = NULL;
        ok(vbs_replay_run(NULL, profile, &schedule, CASES[i].budget, false, &replay) == VBS_OK &&
               replay->violation_step == CASES[i].first && replay->fits == (CASES[i].first < 0) &&
               replay->peak_bytes == 7,
           "%s", CASES[i].name);
        vbs_replay_free(replay);
    }
    schedule.memory_bytes = 6;
    replay = NULL;
    ok(vbs_replay_run(NULL, profile, &schedule, -1, false, &replay) == VBS_OK &&
           replay->memory_bytes == 6 && !replay->fits,
       "without a budget the schedule's own counts");
    vbs_replay_free(replay);
    vbs_profile_free(profile);
}

/* VBS III: 4 us for one sample, 6 for two. */
static void test_latency(void)
{
    static const struct vbs_step ONE_BY_ONE[] = {AT(1, 1), AT(2, 1), AT(3, 1),
                                                 AT(1, 1), AT(2, 1), AT(3, 1)};
    /* Three samples: two at once, then one; the second layer lets a sample wait for the next. */
    static const struct vbs_step UNEVEN[] = {AT(1, 2), AT(2, 2), AT(3, 2),
                                             AT(1, 1), AT(2, 1), AT(3, 1)};
    static const struct vbs_step AHEAD[] = {AT(1, 1), AT(1, 1), AT(2, 1),
                                            AT(3, 1), AT(2, 1), AT(3, 1)};
    static const struct {
        const char *name;
        const struct vbs_step *steps;
        int n_steps;
        int64_t request;
        enum vbs_io io;
        double bound_us, latency_us;
        int64_t latency_step, late_step, n_chunks;
    } CASES[] = {
        {"two at once", VBS_STEPS, 4, 2, VBS_IO_EXTERNAL, 0, 20, 3, -1, 1},
        {"two at once, in time", VBS_STEPS, 4, 2, VBS_IO_EXTERNAL, 20, 20, 3, -1, 1},
        {"two at once, late", VBS_STEPS, 4, 2, VBS_IO_EXTERNAL, 19, 20, 3, 3, 1},
        {"a billionth is rounding", VBS_STEPS, 4, 2, VBS_IO_EXTERNAL, 20 - 1e-8, 20, 3, -1, 1},
        {"more is late", VBS_STEPS, 4, 2, VBS_IO_EXTERNAL, 20 - 1e-7, 20, 3, 3, 1},
        {"two at once, late earlier", VBS_STEPS, 4, 2, VBS_IO_EXTERNAL, 13, 20, 3, 2, 1},
        {"one by one", ONE_BY_ONE, 6, 2, VBS_IO_EXTERNAL, 12, 12, 2, -1, 2},
        {"one by one, late", ONE_BY_ONE, 6, 2, VBS_IO_EXTERNAL, 11.5, 12, 2, 2, 2},
        {"one by one, resident", ONE_BY_ONE, 6, 2, VBS_IO_RESIDENT, 24, 24, 5, -1, 1},
        {"one by one, resident, late", ONE_BY_ONE, 6, 2, VBS_IO_RESIDENT, 17, 24, 5, 4, 1},
        {"the longest chunk counts", UNEVEN, 6, 3, VBS_IO_EXTERNAL, 18, 18, 2, -1, 2},
        {"none of its steps ends the chunk early", AHEAD, 6, 2, VBS_IO_EXTERNAL, 23, 24, 5, 5, 1},
    };
    struct vbs_profile *profile = example_profile();

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct vbs_schedule schedule =
            make_schedule(CASES[i].request, CASES[i].io, CASES[i].steps, CASES[i].n_steps);
        struct vbs_replay *replay = NULL;

        schedule.latency_us = CASES[i].bound_us;
        ok(vbs_replay_run(NULL, profile, &schedule, -1, true, &replay) == VBS_OK &&
               replay->latency_us == CASES[i].latency_us &&
               replay->latency_step == CASES[i].latency_step &&
               replay->latency_bound_us == CASES[i].bound_us &&
               replay->late_step == CASES[i].late_step &&
               replay->in_time == (CASES[i].late_step < 0) && replay->fits &&
               replay->steps[CASES[i].n_steps - 1].chunk == CASES[i].n_chunks,
           "latency: %s", CASES[i].name);
        vbs_replay_free(replay);
    }
    vbs_profile_free(profile);
}

/* A layer alone: each of its steps is a chunk. */
static void test_latency_of_one_layer(void)
{
    static const struct hand_layer ALONE[] = {{1, {0}, 3, 0, false}};
    static const struct vbs_step STEPS[] = {AT(1, 1), AT(1, 2), AT(1, 1)};
    struct vbs_profile *profile = make_profile(2, ALONE, 1);
    struct vbs_schedule schedule = make_schedule(4, VBS_IO_EXTERNAL, STEPS, 3);
    struct vbs_replay *replay = NULL;

    ok(vbs_replay_run(NULL, profile, &schedule, -1, true, &replay) == VBS_OK &&
           replay->latency_us == 2 && replay->latency_step == 1 && replay->steps[2].chunk == 3 &&
           replay->steps[2].wait_us == 1 && replay->steps[2].end_us == 4,
       "each step of a layer alone is a chunk");
    vbs_replay_free(replay);
    vbs_profile_free(profile);
}

static void check_refused(const char *name, const struct vbs_profile *profile,
                          const struct vbs_schedule *schedule, const char *want)
{
    struct vbs_ctx ctx = {0};
    struct vbs_replay *replay = NULL;
    enum vbs_status status = vbs_replay_run(&ctx, profile, schedule, -1, true, &replay);

    ok(status == VBS_INVALID && !replay, "%s is refused", name);
    is_str(vbs_detail(&ctx), want, "  and says why");
    vbs_replay_free(replay);
}

static void test_refused(void)
{
    static const struct {
        const char *name;
        int64_t request, n_steps;
        struct vbs_step steps[4];
        const char *want;
    } CASES[] = {
        {"a step before its inputs",
         2,
         2,
         {AT(1, 1), AT(2, 2)},
         "step 2 of 2, layer 2 'L2' at batch 2: reads up to sample 2 of layer 1 'L1', "
         "which has finished 1"},
        {"a step past the request",
         1,
         1,
         {AT(1, 2)},
         "step 1 of 1, layer 1 'L1' at batch 2: runs past the request; the layer has finished "
         "0 of 1 samples"},
        {"an unknown layer", 2, 1, {AT(4, 1)}, "step 1 of 1: the profile has no layer 4"},
        {"layer 0", 2, 1, {AT(0, 1)}, "step 1 of 1: the profile has no layer 0"},
        {"a batch without a row",
         3,
         1,
         {AT(1, 3)},
         "step 1 of 1, layer 1 'L1' at batch 3: the profile has no batch 3"},
        {"a batch of nothing",
         3,
         1,
         {AT(1, 0)},
         "step 1 of 1, layer 1 'L1' at batch 0: the profile has no batch 0"},
        {"a negative batch",
         3,
         1,
         {AT(1, -1)},
         "step 1 of 1, layer 1 'L1' at batch -1: the profile has no batch -1"},
        {"an algorithm that the profile lacks",
         2,
         1,
         {{.layer = 1, .batch = 1, .algorithm = 1}},
         "step 1 of 1, layer 1 'L1' at batch 1: the profile has no row with algorithm 'other'"},
        {"an algorithm that the schedule lacks",
         2,
         1,
         {{.layer = 1, .batch = 1, .algorithm = 2}},
         "step 1 of 1: the schedule has no algorithm 2"},
        {"an unfinished schedule",
         2,
         3,
         {AT(1, 2), AT(2, 2), AT(3, 1)},
         "after the last step layer 3 'L3' has finished 1 of 2 samples"},
        {"an empty schedule",
         2,
         0,
         {{0}},
         "after the last step layer 1 'L1' has finished 0 of 2 samples"},
        {"a request of nothing", 0, 0, {{0}}, "a request of 0 samples"},
    };
    static const char *const ALGORITHMS[] = {"default", "other"};
    struct vbs_profile *profile = example_profile();

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct vbs_schedule schedule =
            make_schedule(CASES[i].request, VBS_IO_EXTERNAL, CASES[i].steps, CASES[i].n_steps);

        schedule.n_algorithms = 2;
        schedule.algorithms = ALGORITHMS;
        check_refused(CASES[i].name, profile, &schedule, CASES[i].want);
    }
    vbs_profile_free(profile);
}

/* Replay allows requests above what planners take, so sums can leave 64 bits. */
static void test_overflow(void)
{
    static const struct hand_layer LAYERS[] = {{1, {0}, INT64_C(1) << 45, 0, false},
                                               {1, {1}, 1, 0, false}};
    int64_t request = INT64_C(1) << 20, n_steps = request / 2;
    struct vbs_step *steps = calloc((size_t)n_steps, sizeof *steps);
    struct vbs_profile *profile = make_profile(INT64_C(1) << 45, LAYERS, 2);
    struct vbs_schedule schedule = make_schedule(request, VBS_IO_EXTERNAL, steps, n_steps);

    for (int64_t i = 0; steps && i < n_steps; i++)
        steps[i] = (struct vbs_step){.layer = 1, .batch = 2};
    check_refused("a step of more than 2^63 bytes", profile, &schedule,
                  "step 131071 of 524288, layer 1 'L1' at batch 2: needs more than "
                  "9223372036854775807 bytes");
    schedule.io = VBS_IO_RESIDENT;
    check_refused("a request with inputs of more than 2^63 bytes", profile, &schedule,
                  "the request's inputs take more than 9223372036854775807 bytes");
    vbs_profile_free(profile);
    free(steps);
}

static void test_cancel(void)
{
    static const volatile sig_atomic_t CANCEL = 1;
    struct vbs_ctx ctx = {.cancel = &CANCEL};
    struct vbs_profile *profile = example_profile();
    struct vbs_schedule schedule = make_schedule(2, VBS_IO_EXTERNAL, VBS_STEPS, 4);
    struct vbs_replay *replay = NULL;

    is_int(vbs_replay_run(&ctx, profile, &schedule, -1, true, &replay), VBS_INTERRUPTED,
           "a replay can be stopped");
    ok(!replay, "  and leaves nothing");
    vbs_profile_free(profile);
}

static char *read_whole(FILE *file)
{
    char *text = calloc(1, 4096);

    if (text && fread(text, 1, 4095, file) == 0)
        text[0] = '\0';
    return text;
}

static void test_trace(void)
{
    static const char *const ALGORITHMS[] = {"odd, \"name\""};
    static const char WANT[] =
        "step,layer,name,batch,algorithm,done_before,start_us,end_us,live_bytes,added_bytes,"
        "ws_bytes,memory_bytes,after_bytes,over_budget,chunk,wait_us,op,part,parts,weight_bytes,"
        "hash,backend,library,device,threads,modelled,profile,row,rows,window\n"
        "1,1,\"a \"\"b\"\"\",1,\"odd, \"\"name\"\"\",0,0,0.25,2,3,5,10,0,1,1,0.25,"
        "compute,1,1,0,%1$s,,,,,false,7,0,0,0\n"
        "2,1,\"a \"\"b\"\"\",1,\"odd, \"\"name\"\"\",1,0.25,0.5,2,3,5,10,0,1,2,0.25,"
        "compute,1,1,0,%1$s,,,,,false,7,0,0,0\n";
    static const int INPUT = 0;
    static const struct vbs_step TWO[] = {AT(1, 1), AT(1, 1)};
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile_layer layer = {.name = "a \"b\"",
                                      .kind = "conv",
                                      .n_inputs = 1,
                                      .inputs = &INPUT,
                                      .in_bytes = 2,
                                      .out_bytes = 3};
    struct vbs_profile_row row = {.time_us = 0.25, .ws_bytes = 5};
    struct vbs_schedule schedule = make_schedule(2, VBS_IO_EXTERNAL, TWO, 2);
    struct vbs_profile *profile = NULL;
    struct vbs_replay *replay = NULL;
    struct vbs_ctx ctx = {0};
    char path[] = "/tmp/vbslab-trace-XXXXXX";
    int fd = mkstemp(path);
    FILE *file;
    char *text, want[1000], hash[VBS_PROFILE_HASH_SIZE];

    schedule.algorithms = ALGORITHMS;
    ok(fd >= 0 && vbs_profile_builder_layer(&ctx, builder, &layer) == VBS_OK &&
           vbs_profile_builder_row(&ctx, builder, 1, 1, ALGORITHMS[0], &row) == VBS_OK &&
           vbs_profile_builder_finish(&ctx, builder, &profile) == VBS_OK &&
           vbs_replay_run(&ctx, profile, &schedule, 9, true, &replay) == VBS_OK,
       "a replay with a trace");
    is_int(replay->profile_id, 0, "knows no number of the profile");
    replay->profile_id = 7;
    is_int(vbs_replay_write_csv(&ctx, profile, &schedule, replay, path), VBS_OK,
           "a trace is written");
    file = fopen(path, "r");
    text = file ? read_whole(file) : NULL;
    vbs_profile_hash(profile, hash);
    snprintf(want, sizeof want, WANT, hash);
    is_str(text, want, "  with names quoted and steps over the budget marked");
    if (file)
        fclose(file);
    free(text);
    is_int(vbs_replay_write_csv(&ctx, profile, &schedule, replay, "/nowhere/trace.csv"), VBS_IO,
           "a trace that cannot be written is an error");
    vbs_replay_free(replay);
    replay = NULL;
    ok(vbs_replay_run(&ctx, profile, &schedule, 9, false, &replay) == VBS_OK &&
           vbs_replay_write_csv(&ctx, profile, &schedule, replay, path) == VBS_USAGE,
       "a replay without a trace cannot be written");
    vbs_replay_free(replay);
    vbs_profile_free(profile);
    vbs_profile_builder_free(builder);
    close(fd);
    unlink(path);
}

int main(void)
{
    test_vbs_example();
    test_parts_of_a_step();
    test_skip_connection();
    test_in_place();
    test_in_place_on_the_network_input();
    test_concat_and_outputs();
    test_budgets();
    test_latency();
    test_latency_of_one_layer();
    test_refused();
    test_overflow();
    test_cancel();
    test_trace();
    return done_testing();
}
