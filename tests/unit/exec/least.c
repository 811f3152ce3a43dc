/*
 * A schedule for the least budget that a planner names is executed in that budget, to the byte,
 * where samples take any number of bytes, as they do in 8 bits. With io resident, samples that must
 * lie together may leave holes, so that some need a little more.
 */
#include "cases/random_profile.h"
#include "fake/exec.h"
#include "support/tap.h"

#include "vbslab/exec.h"
#include "vbslab/plan.h"

#define SEED       1818
#define N_PROFILES 120
#define MOST_HOLES 64 /* bytes */

struct tally {
    int n, n_missed, n_refused;
    int64_t most_missed;
};

/* Plans for the least budget, and places the plan in it. */
static void try_least(struct tally *tally, const struct vbs_problem *problem, const char *planner)
{
    struct vbs_ctx ctx = {0};
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    struct vbs_exec_placement placement = {0};
    const struct vbs_planner *found = NULL;
    enum vbs_status status = vbs_planner_find(&ctx, planner, &found);

    if (status == VBS_OK)
        status = vbs_solver_new(&ctx, found, problem, NULL, &solver);
    if (status == VBS_OK)
        status = vbs_solver_plan(&ctx, solver, vbs_solver_least_bytes(solver), &schedule);
    if (status != VBS_OK)
        tally->n_refused++;
    else if (vbs_exec_place(&ctx, problem->profile, schedule, NULL, &placement, NULL) != VBS_OK) {
        int64_t missed = placement.placed_bytes - schedule->memory_bytes;

        tally->n_missed++;
        tally->most_missed = missed > tally->most_missed ? missed : tally->most_missed;
    }
    tally->n++;
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
}

static void try_planner(const char *planner, enum vbs_io io)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct tally tally = {0};
    int most_missed;

    gsl_rng_set(rng, SEED);
    for (int i = 0; i < N_PROFILES; i++) {
        struct vbs_profile *draft =
            random_profile(rng, (enum random_graph)(i % RANDOM_N_GRAPHS), 8);
        struct vbs_profile *profile =
            draft ? exec_fake_profile(draft, random_int(rng, 1, 40)) : NULL;
        struct vbs_problem problem = {
            .profile = profile, .request = random_int(rng, 1, 5), .io = io};

        if (profile)
            try_least(&tally, &problem, planner);
        vbs_profile_free(profile);
        vbs_profile_free(draft);
    }
    most_missed = io == VBS_IO_EXTERNAL ? 0 : tally.n / 20;
    ok(tally.n > 0 && tally.n_refused == 0 && tally.n_missed <= most_missed &&
           tally.most_missed < MOST_HOLES,
       "%s, io %s: %d least budgets, %d too small to execute in, by %lld bytes at most", planner,
       vbs_io_word(io), tally.n, tally.n_missed, (long long)tally.most_missed);
    gsl_rng_free(rng);
}

int main(void)
{
    for (int io = 0; io < 2; io++) {
        try_planner("fbs", (enum vbs_io)io);
        try_planner("dp-vbs+", (enum vbs_io)io);
    }
    return done_testing();
}
