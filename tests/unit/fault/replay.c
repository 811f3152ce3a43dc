/* Every allocation of a replay with weights included fails once, and then also every one after it:
 * the replay reports it, or succeeds without it. */
#include "support/fault.h"
#include "cases/random_transfer.h"
#include "support/tap.h"

#include "vbslab/replay.h"

#include <stdlib.h>

#define SEED 7

static const double FACTORS[] = {1.5, 1.25, 1, 2, 1.75};

/* Makes a schedule with steps of every kind, which random networks have sooner or later. */
static struct vbs_schedule *make_schedule(gsl_rng *rng, struct vbs_profile **profile)
{
    for (;;) {
        struct vbs_schedule *schedule;
        int64_t n_slices = 0, n_loads = 0;

        *profile = random_transfer_profile(rng, 4, 4);
        schedule = random_transfer_schedule(rng, *profile, 3, VBS_IO_EXTERNAL, 3);
        for (int64_t i = 0; i < schedule->n_steps; i++) {
            n_slices +=
                schedule->steps[i].op == VBS_STEP_COMPUTE && schedule->steps[i].n_slices > 1;
            n_loads += schedule->steps[i].op == VBS_STEP_LOAD;
        }
        schedule->copy = (struct vbs_link){
            .source = "given", .latency_us = 1, .bytes_per_us = 2, .beside = FACTORS};
        if (n_slices > 5 && n_loads > 20)
            return schedule;
        vbs_schedule_free(schedule);
        vbs_profile_free(*profile);
    }
}

struct subject {
    struct vbs_profile *profile;
    struct vbs_schedule *schedule;
};

static enum vbs_status pass_over(struct vbs_ctx *ctx, void *self,
                                 const struct vbs_replay_event *event)
{
    (void)ctx;
    (void)self;
    (void)event;
    return VBS_OK;
}

static enum vbs_status observe(struct vbs_ctx *ctx, const void *subject)
{
    const struct subject *s = subject;
    struct vbs_replay *replay = (void *)&fault_untouched;
    enum vbs_status status =
        vbs_replay_observe(ctx, s->profile, s->schedule, -1, pass_over, NULL, &replay);

    if (status != VBS_OK)
        return fault_status(status, replay);
    vbs_replay_free(replay);
    return VBS_OK;
}

static enum vbs_status run(struct vbs_ctx *ctx, const void *subject)
{
    const struct subject *s = subject;
    struct vbs_replay *replay = (void *)&fault_untouched;
    enum vbs_status status = vbs_replay_run(ctx, s->profile, s->schedule, -1, true, &replay);

    if (status != VBS_OK)
        return fault_status(status, replay);
    vbs_replay_free(replay);
    return VBS_OK;
}

static void test_allocations(const struct subject *s, bool lasting, bool observed)
{
    struct fault_trial trial = {.run = observed ? observe : run, .subject = s, .lasting = lasting};

    fault_each(&trial);
    ok(trial.n_faults > 20 && trial.n_wrong == 0 && trial.status == VBS_OK, "%d allocations%s, %s",
       trial.n_faults, observed ? ", with an observer" : "", trial.way);
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct subject s;

    gsl_rng_set(rng, SEED);
    s.schedule = make_schedule(rng, &s.profile);
    for (int observed = 0; observed <= 1; observed++) {
        test_allocations(&s, false, observed);
        test_allocations(&s, true, observed);
    }
    vbs_schedule_free(s.schedule);
    vbs_profile_free(s.profile);
    gsl_rng_free(rng);
    return done_testing();
}
