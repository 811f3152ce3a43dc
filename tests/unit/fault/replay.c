/* Every allocation of a replay with weights included fails once, and then also every one after it:
 * the replay reports it, or succeeds without it. */
#include "support/fault.h"
#include "cases/random_transfer.h"
#include "support/tap.h"

#include "vbslab/replay.h"

#include <stdlib.h>

#define SEED 7

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
        schedule->copy = (struct vbs_link){"given", 1, 2};
        if (n_slices > 5 && n_loads > 20)
            return schedule;
        vbs_schedule_free(schedule);
        vbs_profile_free(*profile);
    }
}

static void test_allocations(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                             bool lasting)
{
    int n_faults = 0, n_wrong = 0;
    enum vbs_status status;

    for (;;) {
        struct vbs_replay *replay = NULL;
        struct vbs_ctx ctx = {0};

        allocation_faults = (struct faults){.countdown = n_faults + 1, .lasting = lasting};
        status = vbs_replay_run(&ctx, profile, schedule, -1, true, &replay);
        allocation_faults.countdown = 0;
        vbs_replay_free(replay);
        if (!allocation_faults.hit)
            break;
        n_faults++;
        if (status != VBS_NO_MEMORY || replay) {
            n_wrong++;
            printf("# allocation %d: status %d (%s)\n", n_faults, (int)status, ctx.detail);
        }
    }
    ok(n_faults > 20 && n_wrong == 0 && status == VBS_OK, "%d allocations, %s", n_faults,
       lasting ? "all from one on fail" : "each fails once");
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct vbs_profile *profile;
    struct vbs_schedule *schedule;

    gsl_rng_set(rng, SEED);
    schedule = make_schedule(rng, &profile);
    test_allocations(profile, schedule, false);
    test_allocations(profile, schedule, true);
    vbs_schedule_free(schedule);
    vbs_profile_free(profile);
    gsl_rng_free(rng);
    return done_testing();
}
