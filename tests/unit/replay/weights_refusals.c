/*
 * The replay refuses schedules whose loads, evictions or slices break the rules, and names the step
 * and the reason.
 */
#include "support/tap.h"
#include "cases/weights_chain.h"

#include "vbslab/replay.h"

#define MAX_STEPS 8

struct refusal {
    const char *name;
    int64_t n_steps;
    struct vbs_step steps[MAX_STEPS];
    const char *detail;
};

static void check_refusal(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                          const char *name, const char *detail)
{
    struct vbs_replay *replay = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_replay_run(&ctx, profile, schedule, -1, false, &replay);

    is_str(ctx.detail, detail, name);
    ok(status == VBS_INVALID && !replay, "  and is invalid");
    vbs_replay_free(replay);
}

static const struct refusal REFUSALS[] = {
    {"weights that were never loaded",
     1,
     {RUN(1, 1)},
     "step 1 of 1, layer 1 'L1' at batch 1: its weights are not all in memory"},
    {"weights of which a slice is missing",
     2,
     {LOAD_SLICE(1, 1, 2, 50), RUN(1, 1)},
     "step 2 of 2, layer 1 'L1' at batch 1: its weights are not all in memory"},
    {"the wrong slice",
     2,
     {LOAD_SLICE(1, 1, 2, 50), RUN_SLICE(1, 1, 2, 2)},
     "step 2 of 2, layer 1 'L1' at batch 1, slice 2 of 2: its weights are not all in memory"},
    {"weights of another packed format",
     2,
     {LOAD(1, 100), RUN_BY(1, 1, WIDE)},
     "step 2 of 2, layer 1 'L1' at batch 1: its weights are not all in memory"},
    {"weights that were evicted",
     3,
     {LOAD(1, 100), EVICT_SLICE(1, 2, 2, 50), RUN(1, 1)},
     "step 3 of 3, layer 1 'L1' at batch 1: its weights are not all in memory"},
    {"a hole between two slices",
     3,
     {LOAD_SLICE(1, 1, 4, 25), LOAD_SLICE(1, 3, 4, 25), RUN_SLICE(1, 1, 1, 2)},
     "step 3 of 3, layer 1 'L1' at batch 1, slice 1 of 2: its weights are not all in memory"},
    {"a second load",
     2,
     {LOAD(1, 100), LOAD(1, 100)},
     "step 2 of 2, load of layer 1 'L1': weights are loaded that are already in memory"},
    {"a load that overlaps",
     2,
     {LOAD_SLICE(1, 2, 4, 25), LOAD_SLICE(1, 1, 2, 50)},
     "step 2 of 2, load of layer 1 'L1', slice 1 of 2: weights are loaded that are already in "
     "memory"},
    {"a load inside what is there",
     2,
     {KEEP(1, 100), LOAD_SLICE(1, 2, 4, 25)},
     "step 2 of 2, load of layer 1 'L1', slice 2 of 4: weights are loaded that are already in "
     "memory"},
    {"an eviction of nothing",
     1,
     {EVICT(1, 100)},
     "step 1 of 1, eviction of layer 1 'L1': weights are evicted that are not in memory"},
    {"an eviction of more than is loaded",
     2,
     {LOAD_SLICE(1, 1, 2, 50), EVICT(1, 100)},
     "step 2 of 2, eviction of layer 1 'L1': weights are evicted that are not in memory"},
    {"another size than the profile's",
     1,
     {LOAD(1, 99)},
     "step 1 of 1, load of layer 1 'L1': says 99 bytes, the profile 100"},
    {"another size of a slice",
     1,
     {LOAD_SLICE(1, 2, 3, 33)},
     "step 1 of 1, load of layer 1 'L1', slice 2 of 3: says 33 bytes, the profile 25"},
    {"another size of an eviction",
     2,
     {LOAD(1, 100), EVICT_SLICE(1, 2, 2, 51)},
     "step 2 of 2, eviction of layer 1 'L1', slice 2 of 2: says 51 bytes, the profile 50"},
    {"more slices than channels",
     1,
     {LOAD_SLICE(1, 2, 5, 25)},
     "step 1 of 1, load of layer 1 'L1', slice 2 of 5: some slice would be empty: the layer has "
     "4 "
     "channels and 100 bytes of weights"},
    {"more slices than bytes",
     1,
     {LOAD_SLICE(3, 61, 61, 1)},
     "step 1 of 1, load of layer 3 'L3', slice 61 of 61: some slice would be empty: the layer "
     "has 0 "
     "channels and 60 bytes of weights"},
    {"a step on a slice that is empty",
     3,
     {KEEP(1, 100), RUN(1, 1), RUN_SLICE(2, 1, 1, 4)},
     "step 3 of 3, layer 2 'L2' at batch 1, slice 1 of 4: some slice would be empty: the layer "
     "has 3 "
     "channels and 0 bytes of weights"},
    {"slice 0",
     1,
     {LOAD_SLICE(1, 0, 2, 50)},
     "step 1 of 1, load of layer 1 'L1', slice 0 of 2: there is no slice 0 of 2"},
    {"a slice behind the last",
     1,
     {LOAD_SLICE(1, 3, 2, 50)},
     "step 1 of 1, load of layer 1 'L1', slice 3 of 2: there is no slice 3 of 2"},
    {"more slices than any layer may have",
     1,
     {LOAD_SLICE(1, 1, VBS_MAX_SLICES + 1, 50)},
     "step 1 of 1, load of layer 1 'L1', slice 1 of 1048577: there is no slice 1 of 1048577"},
    {"a negative number of slices",
     1,
     {LOAD_SLICE(1, 1, -2, 50)},
     "step 1 of 1, load of layer 1 'L1': there is no slice 1 of -2"},
    {"a step on a slice that is not",
     2,
     {KEEP(1, 100), RUN_SLICE(1, 1, 3, 2)},
     "step 2 of 2, layer 1 'L1' at batch 1, slice 3 of 2: there is no slice 3 of 2"},
    {"a packed format that the profile does not have",
     1,
     {LOAD_FORMAT(1, 3, 100)},
     "step 1 of 1, load of layer 1 'L1': the profile has no weights in packed format 3"},
    {"a layer without weights",
     1,
     {LOAD(2, 10)},
     "step 1 of 1, load of layer 2 'L2': the profile has no weights in packed format 0"},
    {"a layer that is not", 1, {LOAD(4, 10)}, "step 1 of 1: the profile has no layer 4"},
    {"an operation that is not",
     1,
     {{.op = 3, .layer = 1}},
     "step 1 of 1: there is no operation 3"},
    {"a resident load behind a load",
     2,
     {LOAD(1, 100), KEEP(3, 60)},
     "step 2 of 2, load of layer 3 'L3': a resident load stands behind other steps"},
    {"a resident load behind a step",
     3,
     {KEEP(1, 100), RUN(1, 1), KEEP(3, 60)},
     "step 3 of 3, load of layer 3 'L3': a resident load stands behind other steps"},
    {"weights that cannot be divided",
     2,
     {LOAD_FORMAT(1, FAR, 400),
      {.layer = 1, .batch = 1, .algorithm = FAR, .slice = 1, .n_slices = 2}},
     "step 2 of 2, layer 1 'L1' at batch 1, slice 1 of 2: the layer cannot run in slices with "
     "algorithm 'far'"},
    {"another number of slices while one is ahead",
     3,
     {KEEP(1, 100), RUN_SLICE(1, 1, 1, 2), RUN_SLICE(1, 1, 2, 4)},
     "step 3 of 3, layer 1 'L1' at batch 1, slice 2 of 4: the layer runs in another number of "
     "slices while one of its 2 slices is ahead of another"},
    {"the whole while a slice is ahead",
     3,
     {KEEP(1, 100), RUN_SLICE(1, 1, 1, 2), RUN(1, 1)},
     "step 3 of 3, layer 1 'L1' at batch 1: the layer runs whole while one of its 2 slices is "
     "ahead of another"},
    {"a slice that runs past the request",
     4,
     {KEEP(1, 100), RUN_SLICE(1, 2, 1, 2), RUN_SLICE(1, 1, 2, 2), RUN_SLICE(1, 1, 1, 2)},
     "step 4 of 4, layer 1 'L1' at batch 1, slice 1 of 2: runs past the request; the layer has "
     "finished 2 of 2 samples"},
    {"samples that one slice has not done",
     4,
     {KEEP(1, 100), RUN_SLICE(1, 2, 1, 2), RUN_SLICE(1, 1, 2, 2), RUN(2, 2)},
     "step 4 of 4, layer 2 'L2' at batch 2: reads up to sample 2 of layer 1 'L1', which has "
     "finished 1"},
    {"a slice that is not finished",
     5,
     {KEEP(1, 100), KEEP(3, 60), RUN(1, 2), RUN_SLICE(2, 2, 1, 2), RUN_SLICE(2, 1, 2, 2)},
     "after the last step layer 2 'L2' has finished 1 of 2 samples"},
    {"residents that are gone",
     6,
     {KEEP(1, 100), KEEP(3, 60), RUN(1, 2), EVICT_SLICE(1, 4, 4, 25), RUN(2, 2), RUN(3, 2)},
     "step 1 of 6, load of layer 1 'L1': resident weights are not in memory after the last "
     "step"},
};

static void test_refusals(const struct vbs_profile *profile)
{
    for (size_t i = 0; i < sizeof REFUSALS / sizeof REFUSALS[0]; i++) {
        struct vbs_schedule schedule = weights_schedule(2, REFUSALS[i].steps, REFUSALS[i].n_steps);

        check_refusal(profile, &schedule, REFUSALS[i].name, REFUSALS[i].detail);
    }
}

static void test_other_refusals(const struct vbs_profile *profile)
{
    static const struct vbs_step ONE[] = {LOAD(1, 100)};
    static const struct vbs_step SLICES[] = {KEEP(1, 100), RUN(1, 1), RUN_SLICE(2, 1, 1, 3)};
    struct vbs_profile *in_place = weights_chain(3, true);
    struct vbs_schedule schedule = weights_schedule(1, SLICES, COUNT(SLICES));

    check_refusal(in_place, &schedule, "a layer in place does not run in slices",
                  "step 3 of 3, layer 2 'L2' at batch 1, slice 1 of 3: the layer cannot run in "
                  "slices with algorithm 'default'");
    schedule = weights_schedule(1, ONE, 1);
    schedule.copy.source = NULL;
    check_refusal(profile, &schedule, "a load from nowhere",
                  "step 1 of 1, load of layer 1 'L1': the schedule does not say where weights are "
                  "copied from");
    schedule = weights_schedule(1, ONE, 1);
    schedule.copy.bytes_per_us = 0;
    check_refusal(profile, &schedule, "a load where nothing can be copied",
                  "step 1 of 1, load of layer 1 'L1': nothing can be copied from 'given': 0 bytes "
                  "per us");
    schedule.copy.bytes_per_us = 1e-300;
    check_refusal(profile, &schedule, "a load that takes longer than any time",
                  "step 1 of 1, load of layer 1 'L1': the copy would take for ever");
    schedule = weights_schedule(1, ONE, 1);
    schedule.weights = VBS_WEIGHTS_EXCLUDED;
    check_refusal(profile, &schedule, "a load with weights excluded",
                  "step 1 of 1, load of layer 1 'L1': the schedule leaves weights outside its "
                  "budget");
    vbs_profile_free(in_place);
}

/* Rows have their own numbers of slices. */
static void test_slices_that_rows_say(void)
{
    static const char TEXT[] =
        "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
        "in_place,channels,packed_bytes,form,parts\n"
        "1,L1,conv,0,1,default,4,1,1,1,8,0,8,8,0,1\n1,L1,conv,0,1,wide,4,1,1,1,8,0,8,8,0,4\n";
    static const struct vbs_step NEVER[] = {KEEP(1, 8), RUN_SLICE(1, 1, 1, 2)};
    static const struct vbs_step OTHER[] = {
        KEEP(1, 8), {.layer = 1, .batch = 1, .algorithm = WIDE, .slice = 1, .n_slices = 2}};
    static const struct vbs_step EMPTY[] = {
        KEEP(1, 8), {.layer = 1, .batch = 1, .algorithm = WIDE, .slice = 1, .n_slices = 9}};
    struct vbs_schedule schedule = weights_schedule(1, NEVER, 2);
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};

    if (!ok(vbs_profile_parse_csv(&ctx, "said", TEXT, sizeof TEXT - 1, &profile) == VBS_OK,
            "rows say their slices: %s", ctx.detail))
        return;
    check_refusal(profile, &schedule, "slices of what never runs so",
                  "step 2 of 2, layer 1 'L1' at batch 1, slice 1 of 2: the layer cannot run in "
                  "slices with algorithm 'default'");
    schedule = weights_schedule(1, OTHER, 2);
    check_refusal(profile, &schedule, "other slices than it was measured in",
                  "step 2 of 2, layer 1 'L1' at batch 1, slice 1 of 2: the layer runs whole or in "
                  "4 slices with algorithm 'wide'");
    schedule = weights_schedule(1, EMPTY, 2);
    check_refusal(profile, &schedule, "more slices than channels",
                  "step 2 of 2, layer 1 'L1' at batch 1, slice 1 of 9: some slice would be empty: "
                  "the layer has 8 channels and 8 bytes of weights");
    vbs_profile_free(profile);
}

int main(void)
{
    struct vbs_profile *profile = weights_chain(3, false);

    test_refusals(profile);
    test_other_refusals(profile);
    test_slices_that_rows_say();
    vbs_profile_free(profile);
    return done_testing();
}
