/* Every allocation of patch and fusion fails once, and then also every one after it: opening them,
 * a frontier and an estimate say so and leave nothing behind. */
#include "cases/random_rows.h"
#include "support/bail_out.h"
#include "support/fault.h"
#include "support/tap.h"

#include "base/fail.h"
#include "vbslab/plan.h"

#include <stdlib.h>

#define SEED 3

/* Opens the planner, and makes a frontier and an estimate. */
static enum vbs_status run(struct vbs_ctx *ctx, const void *subject)
{
    const struct vbs_planner *planner = ((const struct vbs_planner *const *)subject)[0];
    const struct vbs_profile *profile = ((const void *const *)subject)[1];
    const struct vbs_problem problem = {.profile = profile, .request = 2};
    struct vbs_solver *solver = NULL;
    struct vbs_frontier *frontier = NULL;
    struct vbs_estimate *estimate = NULL;
    enum vbs_status status = vbs_solver_new(ctx, planner, &problem, NULL, &solver);

    if (status == VBS_OK)
        status = vbs_solver_frontier(ctx, solver, &frontier);
    if (status == VBS_OK)
        status = vbs_solver_estimate(ctx, solver, vbs_solver_least_bytes(solver), &estimate);
    vbs_estimate_free(estimate);
    vbs_frontier_free(frontier);
    vbs_solver_free(solver);
    return status;
}

/* Asks to stop before the planner is opened. */
static void check_stop(const struct vbs_planner *planner, const struct vbs_profile *profile)
{
    volatile sig_atomic_t stop = 1;
    struct vbs_ctx ctx = {.cancel = &stop};
    const struct vbs_problem problem = {.profile = profile, .request = 2};
    struct vbs_solver *solver = NULL;

    ok(vbs_solver_new(&ctx, planner, &problem, NULL, &solver) == VBS_INTERRUPTED && !solver,
       "%s is interrupted", vbs_planner_name(planner));
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus);
    struct vbs_profile *profile;

    gsl_rng_set(rng, SEED);
    profile = random_rows_chain(rng, 4, 12);
    if (!profile)
        bail_out("no profile");
    for (int p = 0; vbs_planner_at(p); p++) {
        const void *subject[] = {vbs_planner_at(p), profile};

        if (!vbs_planner_estimates(vbs_planner_at(p)))
            continue;
        check_stop(vbs_planner_at(p), profile);
        for (int lasting = 0; lasting <= 1; lasting++) {
            struct fault_trial trial = {.run = run, .subject = subject, .lasting = lasting};

            fault_each(&trial);
            ok(trial.n_faults > 20 && trial.n_wrong == 0 && trial.status == VBS_OK,
               "%s: %d allocations, %s", vbs_planner_name(vbs_planner_at(p)), trial.n_faults,
               trial.way);
        }
    }
    vbs_profile_free(profile);
    gsl_rng_free(rng);
    return done_testing();
}
