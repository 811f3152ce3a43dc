/*
 * patch and fusion, against the slow definition that tries every segment and every number of tiles:
 * times, least budgets and parts; and cases that are counted by hand.
 */
#include "cases/random_rows.h"
#include "reference/plan/brute_recompute.h"
#include "support/bail_out.h"
#include "support/tap.h"

#include "vbslab/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED       61
#define N_PROFILES 90 /* of each planner */
#define N_BUDGETS  8
#define MAX_LAYERS 6

static const struct {
    const char *name;
    enum brute_tiles kind;
} PLANNERS[] = {
    {"patch", BRUTE_TILES_PATCH},
    {"patch-2d", BRUTE_TILES_PATCH_2D},
    {"fusion", BRUTE_TILES_FUSION},
    {"fusion-2d", BRUTE_TILES_FUSION_2D},
};

#define N_PLANNERS ((int)(sizeof PLANNERS / sizeof PLANNERS[0]))

/* How often something occurred that the test is about. */
static struct {
    int estimates, tiled, several, accumulating;
} totals;

static struct vbs_solver *open_solver(const char *name, const struct vbs_problem *problem)
{
    struct vbs_ctx ctx = {0};
    const struct vbs_planner *planner = NULL;
    struct vbs_solver *solver = NULL;

    if (vbs_planner_find(&ctx, name, &planner) != VBS_OK ||
        vbs_solver_new(&ctx, planner, problem, NULL, &solver) != VBS_OK)
        bail_out("no solver: %s", vbs_detail(&ctx));
    return solver;
}

/* Makes the estimate; null: infeasible. */
static struct vbs_estimate *estimate_of(struct vbs_solver *solver, int64_t memory_bytes)
{
    struct vbs_ctx ctx = {0};
    struct vbs_estimate *estimate = NULL;
    enum vbs_status status = vbs_solver_estimate(&ctx, solver, memory_bytes, &estimate);

    if (status != VBS_OK && status != VBS_INFEASIBLE)
        bail_out("no estimate: %s", vbs_detail(&ctx));
    return estimate;
}

static bool agrees(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-9 * fabs(b);
}

/* Gives whether the parts follow each other and take the time of the request. */
static bool are_whole(const struct vbs_estimate *estimate, const struct vbs_profile *profile)
{
    double sum_us = 0;
    int next = 1, n_tiled = 0;

    for (int i = 0; i < estimate->n_parts; i++) {
        const struct vbs_estimate_part *part = &estimate->parts[i];
        int rows = profile->layers[part->last_layer - part->accumulates].rows;

        if (part->first_layer != next || part->last_layer < next)
            return false;
        if (part->tile_rows > 0 && (part->tile_rows >= rows || part->n_tiles < 2 ||
                                    (part->n_tiles - 1) * part->tile_rows >= rows ||
                                    part->n_tiles * part->tile_rows < rows))
            return false;
        next = part->last_layer + 1;
        sum_us += part->sample_us;
        n_tiled += part->tile_rows > 0;
        totals.accumulating += part->accumulates;
    }
    totals.estimates++;
    totals.tiled += n_tiled > 0;
    totals.several += n_tiled > 1;
    return next == profile->n_layers + 1 &&
           agrees(sum_us * (double)estimate->request, estimate->time_us);
}

/* Compares the estimate for a budget with the slow one. */
static bool is_best(const struct vbs_problem *problem, int planner, struct vbs_solver *solver,
                    int64_t memory_bytes)
{
    struct vbs_estimate *estimate = estimate_of(solver, memory_bytes);
    double best_us = brute_recompute_us(problem->profile, PLANNERS[planner].kind,
                                        (int)problem->request, problem->io, memory_bytes);
    double time_us = estimate ? estimate->time_us : HUGE_VAL;
    bool same = agrees(time_us, best_us);

    if (estimate)
        same =
            same && estimate->peak_bytes <= memory_bytes && are_whole(estimate, problem->profile);
    if (!same)
        printf("# %s, %" PRId64 " bytes: %.17g us, best %.17g\n", PLANNERS[planner].name,
               memory_bytes, time_us, best_us);
    vbs_estimate_free(estimate);
    return same;
}

static bool check(gsl_rng *rng, int planner, const struct vbs_profile *profile)
{
    struct vbs_problem problem = {.profile = profile,
                                  .request = random_int(rng, 1, 3),
                                  .io = random_once_in(rng, 3) ? VBS_IO_RESIDENT : VBS_IO_EXTERNAL};
    struct vbs_solver *solver = open_solver(PLANNERS[planner].name, &problem);
    struct vbs_frontier *frontier = NULL;
    int64_t least = vbs_solver_least_bytes(solver), most;
    bool same = vbs_solver_frontier(NULL, solver, &frontier) == VBS_OK;

    same = same && frontier->points[0].memory_bytes == least &&
           is_best(&problem, planner, solver, least);
    same = same && (least == 0 || is_best(&problem, planner, solver, least - 1));
    most = same ? frontier->points[frontier->n_points - 1].memory_bytes : 0;
    for (int i = 1; i <= N_BUDGETS && same; i++)
        same = is_best(
            &problem, planner, solver,
            i % 2 ? least + (most - least) * i / N_BUDGETS
                  : frontier->points[frontier->n_points * (i - 1) / N_BUDGETS].memory_bytes);
    vbs_frontier_free(frontier);
    vbs_solver_free(solver);
    return same;
}

static void check_random(gsl_rng *rng, int planner)
{
    bool same = true;

    memset(&totals, 0, sizeof totals);
    for (int i = 0; i < N_PROFILES && same; i++) {
        struct vbs_profile *profile = i % 3 ? random_rows_profile(rng, 1 + i % MAX_LAYERS)
                                            : random_rows_chain(rng, 1 + i % 4, 20);

        if (!profile)
            bail_out("no profile");
        same = check(rng, planner, profile);
        if (!same)
            printf("# profile %d, %d layers\n", i, profile->n_layers);
        vbs_profile_free(profile);
    }
    ok(same, "%s is the best of all that the slow definition tries", PLANNERS[planner].name);
    printf("# %d estimates, %d with tiles, %d with several such segments, %d that accumulate\n",
           totals.estimates, totals.tiled, totals.several, totals.accumulating);
    ok(totals.tiled > totals.estimates / 4 && (planner < 2 || totals.several > 20) &&
           (planner < 2 || totals.accumulating > 5),
       "tiles are chosen often");
}

/* ---- by hand ---- */

/* Two convolutions of 3 rows over 8 rows of 1000 bytes, kernels of 1, 2 and 4 rows and of all of
 * them, each in 1 us. */
static void check_pair(void)
{
    struct vbs_profile *profile = rows_pair_profile(8, 1000, 4);
    const struct vbs_problem problem = {.profile = profile, .request = 1, .io = VBS_IO_EXTERNAL};
    struct vbs_solver *solver = open_solver("patch", &problem);
    struct vbs_estimate *estimate;

    /* In 8 patches: rows of the first layer 2 and 6 times 3 and 2, in steps of 2 and 1 rows: 2
     * steps for 3 rows. Inside are 5 rows of input and 3 of output; behind, 3 rows and 1. */
    estimate = estimate_of(solver, 8000);
    ok(estimate && estimate->time_us == 2 * 1 + 6 * 2 + 8 && estimate->peak_bytes == 8000,
       "eight patches");
    ok(estimate && estimate->n_parts == 1 && estimate->parts[0].n_tiles == 8 &&
           estimate->parts[0].tile_rows == 1,
       "they are one part");
    vbs_estimate_free(estimate);
    ok(vbs_solver_least_bytes(solver) == 8000 && !estimate_of(solver, 7999), "the least budget");
    /* In 2 patches of 4 rows: 5 rows of the first layer, 6 of the input: 2 steps and 1 step each.
     */
    estimate = estimate_of(solver, 11000);
    ok(estimate && estimate->time_us == 2 * 2 + 2 && estimate->peak_bytes == 11000, "two patches");
    vbs_estimate_free(estimate);
    estimate = estimate_of(solver, 16000);
    ok(estimate && estimate->time_us == 2 && estimate->n_parts == 1 &&
           estimate->parts[0].tile_rows == 0 && estimate->parts[0].last_layer == 2,
       "whole samples where they fit");
    vbs_estimate_free(estimate);
    vbs_solver_free(solver);
    vbs_profile_free(profile);
}

/* A square of 8 x 8 in n x n patches, and swept. */
static void check_square(void)
{
    struct vbs_profile *profile = rows_pair_profile(8, 1000, 4);
    const struct vbs_problem problem = {.profile = profile, .request = 1, .io = VBS_IO_EXTERNAL};
    struct vbs_solver *patch = open_solver("patch-2d", &problem);
    struct vbs_solver *fusion = open_solver("fusion-2d", &problem);
    struct vbs_estimate *estimate;

    /* 8 x 8 patches: 3 x 3 values of the first layer of 5 x 5 of the input, 125 bytes each. The
     * first layer takes 16 rows and columns in steps of 2 + 6 * 2 us, the share of columns. */
    ok(vbs_solver_least_bytes(patch) == (9 + 25) * 125, "the least budget of squares");
    estimate = estimate_of(patch, (9 + 25) * 125);
    ok(estimate && agrees(estimate->time_us, (2 * 1 + 6 * 2) * (2 * 2 + 6 * 3) / 8.0 + 8),
       "time is in proportion to columns");
    vbs_estimate_free(estimate);
    /* Swept, a tile of one row keeps 3 columns of 3 rows of the first layer, and reads 3 columns of
     * 5 rows of the input. */
    ok(vbs_solver_least_bytes(fusion) == (3 * 3 + 5 * 3) * 125,
       "the least budget where columns are kept");
    estimate = estimate_of(fusion, (3 * 3 + 5 * 3) * 125);
    ok(estimate && estimate->time_us == 2 * 1 + 6 * 2 + 8, "no column is computed again");
    vbs_estimate_free(estimate);
    vbs_solver_free(patch);
    vbs_solver_free(fusion);
    vbs_profile_free(profile);
}

/* ---- what it is not ---- */

static void check_refusals(void)
{
    struct vbs_profile *profile = rows_pair_profile(8, 1000, 4);
    struct vbs_problem problem = {.profile = profile, .request = 3, .io = VBS_IO_EXTERNAL};
    struct vbs_ctx ctx = {0};
    const struct vbs_planner *planner = NULL;
    struct vbs_solver *solver = open_solver("fusion", &problem), *none = NULL;
    struct vbs_schedule *schedule = NULL;
    struct vbs_estimate *estimate = NULL;
    struct vbs_infeasibility infeasibility;

    ok(vbs_planner_find(&ctx, "fusion", &planner) == VBS_OK && vbs_planner_estimates(planner) &&
           !vbs_planner_is_compared(planner, VBS_WEIGHTS_EXCLUDED),
       "fusion estimates, and is compared only where it is named");
    ok(vbs_solver_plan(&ctx, solver, 1 << 20, &schedule) == VBS_UNSUPPORTED &&
           strstr(vbs_detail(&ctx), "no schedule can say"),
       "it has no schedules");
    ok(vbs_solver_estimate(&ctx, solver, 5, &estimate) == VBS_INFEASIBLE &&
           strstr(vbs_detail(&ctx), "the least budget is"),
       "what does not fit is refused with the least budget");
    ok(vbs_solver_explain(&ctx, solver, &infeasibility) == VBS_UNSUPPORTED, "it explains nothing");
    vbs_solver_free(solver);
    problem.weights = VBS_WEIGHTS_INCLUDED;
    ok(vbs_solver_new(&ctx, planner, &problem, NULL, &none) == VBS_UNSUPPORTED,
       "weights cannot be included");
    problem.weights = VBS_WEIGHTS_EXCLUDED;
    solver = open_solver("dp-vbs+", &problem);
    ok(vbs_solver_estimate(&ctx, solver, 1 << 20, &estimate) == VBS_UNSUPPORTED,
       "planners with schedules do not estimate");
    vbs_solver_free(solver);
    problem.whole_samples = true;
    solver = open_solver("fusion", &problem);
    ok(vbs_solver_least_bytes(solver) == 16000, "without rows nothing is tiled");
    vbs_solver_free(solver);
    vbs_profile_free(profile);
}

static void check_latency(void)
{
    struct vbs_profile *profile = rows_pair_profile(8, 1000, 4);
    struct vbs_problem problem = {
        .profile = profile, .request = 3, .io = VBS_IO_EXTERNAL, .latency_us = 6};
    struct vbs_solver *solver = open_solver("patch", &problem);

    ok(vbs_solver_least_bytes(solver) == 11000, "a sample waits no longer than the bound");
    vbs_solver_free(solver);
    problem.io = VBS_IO_RESIDENT;
    problem.latency_us = 17;
    solver = open_solver("patch", &problem);
    ok(vbs_solver_least_bytes(solver) == 8000 * 4, "with resident io the request does");
    vbs_solver_free(solver);
    problem.latency_us = 5;
    solver = open_solver("patch", &problem);
    ok(vbs_solver_least_bytes(solver) == INT64_MAX && !estimate_of(solver, INT64_MAX / 2),
       "a latency that no memory keeps");
    vbs_solver_free(solver);
    vbs_profile_free(profile);
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus);

    gsl_rng_set(rng, SEED);
    check_pair();
    check_square();
    check_refusals();
    check_latency();
    for (int p = 0; p < N_PLANNERS; p++)
        check_random(rng, p);
    gsl_rng_free(rng);
    return done_testing();
}
