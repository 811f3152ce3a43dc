/* An observer of a replay receives for each step the numbers that were counted by hand, and those
 * of the trace. */
#include "support/tap.h"
#include "cases/weights_chain.h"

#include "base/fail.h"
#include "vbslab/replay.h"

#include <string.h>

struct want {
    int64_t load, weights_from, weights_to;
    double share;
    int64_t n_fresh, n_released;
};

struct observed {
    int64_t n, fails_at;
    struct vbs_replay_event events[16];
    struct vbs_replay_step records[16];
};

static enum vbs_status observe(struct vbs_ctx *ctx, void *self,
                               const struct vbs_replay_event *event)
{
    struct observed *observed = self;

    if (event->index == observed->fails_at)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "enough");
    observed->events[observed->n] = *event;
    observed->records[observed->n++] = *event->record;
    return VBS_OK;
}

static const struct vbs_step STEPS[] = {KEEP_SLICE(3, 1, 2, 30),
                                        LOAD(1, 100),
                                        LOAD_SLICE(3, 2, 2, 30),
                                        RUN_SLICE(1, 1, 1, 2),
                                        RUN_SLICE(1, 1, 2, 2),
                                        EVICT(1, 100),
                                        RUN(2, 1),
                                        RUN(3, 1)};

static void test_events(const struct vbs_profile *profile)
{
    static const struct want WANT[] = {
        {-1, 0, 30, 0, 0, 0},    {0, 0, 100, 0, 0, 0}, {1, 30, 60, 0, 0, 0}, {0, 0, 50, 0.5, 1, 0},
        {0, 50, 100, 0.5, 0, 1}, {0, 0, 100, 0, 0, 0}, {-1, 0, 0, 1, 1, 1},  {1, 0, 60, 1, 1, 1},
    };
    struct vbs_schedule schedule = weights_schedule(1, STEPS, COUNT(STEPS));
    struct observed observed = {.fails_at = -1};
    struct vbs_replay *replay = NULL, *traced = NULL;
    struct vbs_ctx ctx = {0};
    bool as_counted = true, as_traced = true;

    ok(vbs_replay_observe(&ctx, profile, &schedule, -1, observe, &observed, &replay) == VBS_OK &&
           vbs_replay_run(&ctx, profile, &schedule, -1, true, &traced) == VBS_OK,
       "a schedule is observed%s", vbs_detail(&ctx));
    if (!replay || !traced)
        return;
    is_int(observed.n, COUNT(STEPS), "every step is told");
    for (int64_t i = 0; i < observed.n; i++) {
        const struct vbs_replay_event *event = &observed.events[i];
        const struct want *want = &WANT[i];
        bool same = event->index == i && event->step == &STEPS[i] && event->load == want->load &&
                    event->weights_from == want->weights_from &&
                    event->weights_to == want->weights_to && event->share == want->share &&
                    event->n_fresh == want->n_fresh && event->n_released == want->n_released &&
                    (STEPS[i].op == VBS_STEP_COMPUTE) == (event->row != NULL);

        if (!same)
            printf("#  step %" PRId64 " is told otherwise\n", i + 1);
        as_counted = as_counted && same;
        as_traced = as_traced &&
                    observed.records[i].memory_bytes == traced->steps[i].memory_bytes &&
                    observed.records[i].end_us == traced->steps[i].end_us &&
                    observed.records[i].done_before == traced->steps[i].done_before;
    }
    ok(as_counted, "loads, weights, shares and samples are as counted by hand");
    ok(as_traced, "and the records are those of a trace");
    ok(replay->time_us == traced->time_us && !replay->steps,
       "the result is the same, less a trace");
    vbs_replay_free(replay);
    vbs_replay_free(traced);
}

static void test_failing(const struct vbs_profile *profile)
{
    struct vbs_schedule schedule = weights_schedule(1, STEPS, COUNT(STEPS));
    struct observed observed = {.fails_at = 3};
    struct vbs_replay *replay = NULL;
    struct vbs_ctx ctx = {0};

    is_int(vbs_replay_observe(&ctx, profile, &schedule, -1, observe, &observed, &replay),
           VBS_UNSUPPORTED, "an observer that fails ends the replay");
    is_str(vbs_detail(&ctx), "enough", "  with its reason");
    is_int(observed.n, 3, "  and is told no further step");
    ok(!replay, "  and nothing comes out");
    observed = (struct observed){.fails_at = -1};
    is_int(vbs_replay_observe(&ctx, profile, &schedule, -1, observe, &observed, NULL), VBS_OK,
           "who only observes need not take the result");
}

/* Two layers read the first tensor, which the later one releases. */
static void test_released(void)
{
    static const char TEXT[] =
        "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
        "in_place\n"
        "1,a,conv,0,1,default,1,1,1,0,0,0\n1,a,conv,0,2,default,1,2,2,0,0,0\n"
        "2,b,conv,1,1,default,1,1,1,0,0,0\n2,b,conv,1,2,default,1,2,2,0,0,0\n"
        "3,c,conv,1,1,default,1,1,1,0,0,0\n3,c,conv,1,2,default,1,2,2,0,0,0\n";
    static const struct vbs_step RUNS[] = {RUN(1, 2), RUN(2, 1), RUN(3, 2), RUN(2, 1)};
    static const int64_t RELEASED[] = {2, 0, 1, 1};
    struct vbs_schedule schedule = weights_schedule(2, RUNS, COUNT(RUNS));
    struct observed observed = {.fails_at = -1};
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};

    schedule.weights = VBS_WEIGHTS_EXCLUDED;
    ok(vbs_profile_parse_csv(&ctx, "a test", TEXT, strlen(TEXT), &profile) == VBS_OK &&
           vbs_replay_observe(&ctx, profile, &schedule, -1, observe, &observed, NULL) == VBS_OK,
       "a tensor with two readers is observed%s", vbs_detail(&ctx));
    for (int64_t i = 0; i < observed.n; i++)
        is_int(observed.events[i].n_released, RELEASED[i], "  samples are released by the last");
    vbs_profile_free(profile);
}

int main(void)
{
    struct vbs_profile *profile = weights_chain(1, false);

    test_events(profile);
    test_failing(profile);
    test_released();
    vbs_profile_free(profile);
    return done_testing();
}
