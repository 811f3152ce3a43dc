/*
 * The debug checks find every write of a kernel behind its output or its workspace into memory in
 * which nothing lives, and find nothing in the run after it. Chains of layers are run for one
 * sample, so that nothing but the operands of a kernel lives while it runs.
 */
#include "cases/random_profile.h"
#include "fake/exec.h"
#include "support/planner.h"
#include "support/tap.h"

#include "vbslab/exec.h"

#define SEED       61
#define N_PROFILES 40

struct tally {
    int n_clean;            /* runs that write nowhere else */
    int n_found, n_missed;  /* writes where nothing lives */
    int n_operands, n_none; /* writes to operands; calls without a workspace */
    int n_failed;           /* what should work does not */
    int n_spread;           /* runs that fail although only the run before them wrote elsewhere */
};

/* Runs once with a write in a call, -1: in none, and then without. */
static enum vbs_status run(struct tally *tally, struct vbs_ctx *ctx,
                           const struct vbs_profile *profile, const struct vbs_network *network,
                           const struct vbs_schedule *schedule, int call, bool behind_ws)
{
    const struct vbs_exec_options options = {.struct_size = sizeof options,
                                             .memory_bytes =
                                                 2 * schedule->predicted.peak_bytes + 4096,
                                             .debug_checks = true};
    struct vbs_exec *exec = NULL;
    struct vbs_exec_report report;
    struct vbs_ctx next = {0};
    enum vbs_status status;

    exec_fake_reset(profile);
    status =
        vbs_exec_new(ctx, network, &exec_fake_backend, profile, schedule, &options, NULL, &exec);
    exec_fake.spoil_at = call;
    exec_fake.spoils_ws = behind_ws;
    if (status == VBS_OK)
        status = vbs_exec_run(ctx, exec, NULL, NULL, &report);
    exec_fake.spoil_at = -1;
    if (exec && vbs_exec_run(&next, exec, NULL, NULL, &report) != VBS_OK && tally->n_spread++ < 5)
        printf("# after call %d: %s\n", call, vbs_detail(&next));
    vbs_exec_free(exec);
    return status;
}

static void try_call(struct tally *tally, const struct vbs_profile *profile,
                     const struct vbs_network *network, const struct vbs_schedule *schedule,
                     int call, bool behind_ws)
{
    struct vbs_ctx ctx = {0};
    enum vbs_status status = run(tally, &ctx, profile, network, schedule, call, behind_ws);

    if (exec_fake.spoiled == EXEC_FAKE_OTHER && status == VBS_LIBRARY &&
        strstr(vbs_detail(&ctx), "wrote where nothing lives"))
        tally->n_found++;
    else if (exec_fake.spoiled == EXEC_FAKE_OTHER && tally->n_missed++ < 5)
        printf("# call %d: status %d (%s)\n", call, (int)status, vbs_detail(&ctx));
    tally->n_operands += exec_fake.spoiled == EXEC_FAKE_OPERAND;
    tally->n_none += exec_fake.spoiled == EXEC_FAKE_NOTHING;
}

static void try_profile(struct tally *tally, const struct vbs_profile *profile)
{
    const struct vbs_problem problem = {.profile = profile, .request = 1};
    struct vbs_network *network = exec_fake_network(profile);
    struct vbs_schedule *schedule = NULL;
    struct vbs_solver *solver = NULL;
    struct vbs_ctx ctx = {0};

    if (network && vbs_solver_new(&ctx, planner_named("fbs"), &problem, NULL, &solver) == VBS_OK &&
        vbs_solver_plan(&ctx, solver, vbs_solver_least_bytes(solver), &schedule) == VBS_OK &&
        run(tally, &ctx, profile, network, schedule, -1, false) == VBS_OK) {
        int n_calls = exec_fake.n_calls / 2; /* there were two runs */

        tally->n_clean++;
        for (int call = 0; call < n_calls; call++)
            for (int behind_ws = 0; behind_ws < 2; behind_ws++)
                try_call(tally, profile, network, schedule, call, behind_ws);
    } else if (tally->n_failed++ < 5) {
        printf("# %s\n", vbs_detail(&ctx));
    }
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
    exec_fake_network_free(network);
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct tally tally = {0};

    gsl_rng_set(rng, SEED);
    for (int i = 0; i < N_PROFILES; i++) {
        struct vbs_profile *draft = random_profile(rng, RANDOM_LINEAR, RANDOM_MAX_LAYERS);
        /* Sizes that are no multiples of words, and others. */
        struct vbs_profile *profile = draft ? exec_fake_profile(draft, i % 2 ? 1 : 24) : NULL;

        if (profile)
            try_profile(&tally, profile);
        vbs_profile_free(profile);
        vbs_profile_free(draft);
    }
    gsl_rng_free(rng);
    ok(tally.n_clean == N_PROFILES && tally.n_failed == 0,
       "%d schedules run with debug checks, which find nothing", tally.n_clean);
    ok(tally.n_found > N_PROFILES && tally.n_missed == 0,
       "%d writes where nothing lives are found (%d others are to operands, %d calls have no "
       "workspace)",
       tally.n_found, tally.n_operands, tally.n_none);
    is_int(tally.n_spread, 0, "the run after each of them works");
    return done_testing();
}
