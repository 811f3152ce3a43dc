/*
 * Every allocation of executing a schedule by rows fails once, and then also every one from it on:
 * the call says so and leaves nothing behind (AddressSanitizer looks), and without a fault the same
 * call succeeds.
 */
#include "support/fault.h"
#include "cases/random_rows.h"
#include "fake/exec.h"
#include "support/tap.h"

#include "vbslab/vbslab.h"

#define SEED    7
#define N_CASES 3

struct subject {
    const struct vbs_profile *profile;
    const struct vbs_schedule *schedule;
    const struct vbs_network *network;
};

static enum vbs_status run(struct vbs_ctx *ctx, const void *self)
{
    const struct subject *subject = self;
    const struct vbs_exec_options options = {.struct_size = sizeof options,
                                             .memory_bytes = 1 << 20,
                                             .place_limit_s = 0.01,
                                             .debug_checks = true};
    struct vbs_exec *exec = (void *)&fault_untouched;
    struct vbs_exec_report report;
    enum vbs_status status;

    exec_fake_reset(subject->profile);
    status = vbs_exec_new(ctx, subject->network, &exec_fake_backend, subject->profile,
                          subject->schedule, &options, NULL, &exec);
    if (status != VBS_OK)
        return fault_status(exec_fake.n_open == 0 ? status : VBS_N_STATUS, exec);
    status = vbs_exec_run(ctx, exec, NULL, NULL, &report);
    vbs_exec_free(exec);
    return exec_fake.n_open == 0 && exec_fake.n_wrong == 0 ? status : VBS_N_STATUS;
}

static bool has_rings(const struct vbs_profile *profile, const struct vbs_schedule *schedule)
{
    int n = 0;

    for (int64_t s = 0; schedule && s < schedule->n_steps; s++) {
        const struct vbs_step *step = &schedule->steps[s];

        n += step->row == 0 && step->window > 0 && step->window < profile->layers[step->layer].rows;
    }
    return n > 1;
}

/* Runs a case whose arena has rings. False: the schedule has none. */
static bool try_case(gsl_rng *rng)
{
    struct vbs_profile *draft = random_rows_profile(rng, 4);
    struct vbs_profile *profile = draft ? exec_fake_profile(draft, 1) : NULL;
    struct vbs_schedule *schedule =
        profile ? random_rows_schedule(rng, profile, 2, VBS_IO_EXTERNAL) : NULL;
    bool has = has_rings(profile, schedule);
    struct vbs_network *network = has ? exec_fake_network(profile) : NULL;
    const struct subject subject = {profile, schedule, network};

    for (int lasting = 0; lasting < 2 && network; lasting++) {
        struct fault_trial trial = {.run = run, .subject = &subject, .lasting = lasting};

        fault_each(&trial);
        ok(trial.status == VBS_OK && trial.n_faults > 20 && trial.n_wrong == 0,
           "%s: %d faults are told", trial.way, trial.n_faults);
    }
    exec_fake_network_free(network);
    vbs_schedule_free(schedule);
    vbs_profile_free(profile);
    vbs_profile_free(draft);
    return has;
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    int n = 0;

    gsl_rng_set(rng, SEED);
    for (int i = 0; i < 200 && n < N_CASES; i++)
        n += try_case(rng);
    is_int(n, N_CASES, "schedules with rings");
    gsl_rng_free(rng);
    return done_testing();
}
