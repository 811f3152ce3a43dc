/*
 * Planners with weights inside the budget against the best of all schedules (brute_transfer.h), on
 * tiny networks: no planner is faster, no bound is above it; joint is nearly always as fast. The
 * reference knows slices of at most MAX_SLICES, and bands; plans that use more are skipped.
 * Arguments: problems, seed.
 */
#include "reference/plan/brute_transfer.h"
#include "cases/random_profile.h"
#include "cases/random_transfer.h"
#include "cases/random_weights.h"
#include "support/tap.h"
#include "support/true_plan.h"

#include "vbslab/plan.h"

#include <stdlib.h>

#define SEED       60493
#define N_PROBLEMS 40
#define MAX_LAYERS 3
#define MAX_SLICES 2
#define N_BUDGETS  4 /* of each problem */
#define ROUNDING   1e-9

struct tally {
    int n, too_many, infeasible, failed, more_slices, beaten, impossible, bound_above;
    /* Of joint, where it can be compared: */
    int n_joint, n_best, n_copying, n_best_copying, n_infeasible_joint, n_untrue;
    double worst_ratio;
};

static int most_slices(const struct vbs_schedule *schedule)
{
    int most = 1;

    for (int64_t s = 0; s < schedule->n_steps; s++)
        if (schedule->steps[s].n_slices > most)
            most = schedule->steps[s].n_slices;
    return most;
}

static void describe(const struct brute_best *best, const char *planner)
{
    printf("# %d layers, request %d, io %s, %" PRId64 " bytes, copies %g us and %g bytes/us: %s\n",
           best->of.profile->n_layers, best->of.request, vbs_io_word(best->of.io),
           best->memory_bytes, best->link.latency_us, best->link.bytes_per_us, planner);
}

static void compare_joint(const struct brute_best *best, const struct vbs_schedule *schedule,
                          double best_us, struct tally *tally)
{
    double time_us = schedule->predicted.time_us;
    bool is_best = time_us <= best_us * (1 + ROUNDING);

    tally->n_joint++;
    tally->n_untrue += !is_true_plan(best->of.profile, schedule);
    tally->n_best += is_best;
    if (schedule->predicted.copied_bytes > 0) {
        tally->n_copying++;
        tally->n_best_copying += is_best;
    }
    if (best_us > 0)
        tally->worst_ratio = fmax(tally->worst_ratio, time_us / best_us);
}

/* Compares one planner's plan with the best. */
static void try_planner(const struct brute_best *best, const char *name, struct vbs_solver *solver,
                        double best_us, struct tally *tally)
{
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status = vbs_solver_plan(NULL, solver, best->memory_bytes, &schedule);
    bool is_joint = strcmp(name, "joint") == 0;

    tally->failed += status != VBS_OK && status != VBS_INFEASIBLE;
    if (status == VBS_INFEASIBLE && is_joint && isfinite(best_us))
        tally->n_infeasible_joint++;
    if (status != VBS_OK)
        return;
    if (most_slices(schedule) > MAX_SLICES) {
        tally->more_slices++;
    } else if (isinf(best_us)) {
        tally->impossible++;
        describe(best, name);
    } else {
        if (schedule->predicted.time_us < best_us * (1 - ROUNDING)) {
            tally->beaten++;
            describe(best, name);
        }
        if (is_joint)
            compare_joint(best, schedule, best_us, tally);
    }
    if (schedule->bound.time_us > best_us * (1 + ROUNDING)) {
        tally->bound_above++;
        describe(best, "bound of a plan");
    }
    vbs_schedule_free(schedule);
}

#define MAX_PLANNERS 16

struct solvers {
    int n;
    const char *names[MAX_PLANNERS];
    struct vbs_solver *list[MAX_PLANNERS];
};

static bool open_solvers(const struct vbs_problem *problem, struct solvers *solvers)
{
    struct vbs_ctx ctx = {0};

    *solvers = (struct solvers){0};
    for (int p = 0; vbs_planner_at(p) && p < MAX_PLANNERS; p++) {
        if (vbs_planner_estimates(vbs_planner_at(p)))
            break; /* they come last */
        solvers->names[p] = vbs_planner_name(vbs_planner_at(p));
        if (vbs_solver_new(&ctx, vbs_planner_at(p), problem, NULL, &solvers->list[p]) != VBS_OK) {
            printf("# %s: %s\n", solvers->names[p], vbs_detail(&ctx));
            return false;
        }
        solvers->n++;
    }
    return true;
}

static void close_solvers(struct solvers *solvers)
{
    for (int p = 0; p < solvers->n; p++)
        vbs_solver_free(solvers->list[p]);
}

/* Chooses a breakpoint of some planner, or one or some bytes below or above it. */
static int64_t choose_budget(gsl_rng *rng, const struct solvers *solvers)
{
    int p = random_once_in(rng, 2) ? solvers->n - 1 : random_int(rng, 0, solvers->n - 1);
    struct vbs_frontier *frontier = NULL;
    int64_t budget = random_int(rng, 5, 40);

    if (vbs_solver_frontier(NULL, solvers->list[p], &frontier) == VBS_OK)
        budget = frontier->points[random_int(rng, 0, frontier->n_points - 1)].memory_bytes;
    vbs_frontier_free(frontier);
    budget += random_once_in(rng, 3) ? -1 : random_once_in(rng, 3) ? random_int(rng, -3, 3) : 0;
    return budget > 0 ? budget : 0;
}

static void try_budget(const struct vbs_problem *problem, const struct solvers *solvers,
                       int64_t memory_bytes, struct tally *tally)
{
    struct brute_best best = {.of = {problem->profile, (int)problem->request, problem->io},
                              .memory_bytes = memory_bytes,
                              .link = problem->copy,
                              .max_slices = MAX_SLICES,
                              .bands = true};
    double best_us = brute_transfer_best(&best, NULL, NULL), bound_us = 0;

    tally->n++;
    tally->too_many += isnan(best_us);
    tally->infeasible += isinf(best_us) != 0;
    if (isnan(best_us))
        return;
    tally->failed += vbs_bound_us(NULL, problem, memory_bytes, &bound_us) != VBS_OK;
    if (bound_us > best_us * (1 + ROUNDING)) {
        tally->bound_above++;
        printf("# bound %.17g, best %.17g\n", bound_us, best_us);
        describe(&best, "bound");
    }
    for (int p = 0; p < solvers->n; p++)
        try_planner(&best, solvers->names[p], solvers->list[p], best_us, tally);
}

static void try_problem(gsl_rng *rng, const struct vbs_profile *profile, struct tally *tally)
{
    const struct vbs_problem problem = {
        .profile = profile,
        .request = random_int(rng, 1, 2),
        .io = random_once_in(rng, 2) ? VBS_IO_RESIDENT : VBS_IO_EXTERNAL,
        .weights = VBS_WEIGHTS_INCLUDED,
        .copy = {.source = "given",
                 .latency_us = random_int(rng, 0, 2),
                 .bytes_per_us = random_once_in(rng, 6) ? 0 : random_int(rng, 1, 8) / 4.0}};
    struct solvers solvers;

    if (open_solvers(&problem, &solvers))
        for (int b = 0; b < N_BUDGETS; b++)
            try_budget(&problem, &solvers, choose_budget(rng, &solvers), tally);
    else
        tally->failed++;
    close_solvers(&solvers);
}

/* said: rows have their own numbers of slices. */
static void test_problems(int n, unsigned long seed, bool said)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct tally tally = {.worst_ratio = 1};

    gsl_rng_set(rng, seed);
    for (int i = 0; i < n; i++) {
        struct vbs_profile *profile = random_transfer_profile(rng, MAX_LAYERS, MAX_SLICES);

        if (said)
            profile = say_slices(rng, profile, false);
        if (profile)
            try_problem(rng, profile, &tally);
        vbs_profile_free(profile);
    }
    gsl_rng_free(rng);
    printf("# %s\n",
           said ? "rows say in how many slices they run" : "rows do not say their slices");
    is_int(tally.failed, 0, "all is had without errors");
    ok(tally.n_joint > tally.n / 3 && tally.n_copying > 0 && tally.infeasible > 0,
       "of %d budgets of %d problems %d can be compared; %d searches were too large", tally.n, n,
       tally.n_joint, tally.too_many);
    is_int(tally.beaten, 0, "no planner is faster than the best schedule");
    is_int(tally.impossible, 0, "where there is no schedule none plans one");
    is_int(tally.bound_above, 0, "no bound is above the best schedule");
    is_int(tally.n_untrue, 0, "joint's plans are what the replay says");
    ok(tally.n_best >= 0.95 * tally.n_joint && tally.n_best_copying >= 0.95 * tally.n_copying &&
           tally.worst_ratio <= 1.1,
       "joint finds the best schedule of 95%% of tiny problems, else one nearly as fast");
    printf(
        "# joint is as fast as the best at %d of %d budgets, at %d of %d where it copies; at "
        "worst %.3f times as slow; at %d it has no plan where there is one; %d plans of all have "
        "more slices\n",
        tally.n_best, tally.n_joint, tally.n_best_copying, tally.n_copying, tally.worst_ratio,
        tally.n_infeasible_joint, tally.more_slices);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : N_PROBLEMS;
    unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 10) : SEED;

    printf("# seed %lu\n", seed);
    test_problems(n, seed, false);
    test_problems(n / 2, seed + 1, true);
    return done_testing();
}
