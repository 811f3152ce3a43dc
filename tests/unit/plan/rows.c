/*
 * dp-vbs+ plans rows of samples: the replay finds its schedules valid, with the bytes and the time
 * that the plan says; whole samples are never better; no schedule beats the bound.
 */
#include "cases/random_rows.h"
#include "reference/plan/brute_rows_best.h"
#include "support/tap.h"
#include "support/true_plan.h"

#include "vbslab/plan.h"

#include <stdlib.h>

#define SEED       43
#define N_PROFILES 3000

static struct totals {
    int plans, with_rows, faster,
        below; /* plans; with rows; faster by rows; where nothing else fits */
} totals;

static bool has_rows(const struct vbs_schedule *schedule)
{
    for (int64_t i = 0; i < schedule->n_steps; i++)
        if (schedule->steps[i].rows > 0)
            return true;
    return false;
}

/* Plans for a budget; null: infeasible. */
static struct vbs_schedule *plan(struct vbs_solver *solver, int64_t memory_bytes)
{
    struct vbs_ctx ctx = {0};
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status = vbs_solver_plan(&ctx, solver, memory_bytes, &schedule);

    if (status != VBS_OK && status != VBS_INFEASIBLE)
        bail_out("no plan: %s", vbs_detail(&ctx));
    return schedule;
}

/* Compares both plans for a budget. */
static bool compare(const struct vbs_profile *profile, struct vbs_solver *by_rows,
                    struct vbs_solver *whole, int64_t memory_bytes)
{
    struct vbs_schedule *rows = plan(by_rows, memory_bytes), *plain = plan(whole, memory_bytes);
    bool same =
        !plain || (rows && rows->predicted.time_us <= plain->predicted.time_us * (1 + 1e-9));

    if (!same)
        printf("# whole samples are better in %" PRId64 " bytes\n", memory_bytes);
    if (rows) {
        same = same && is_true_plan(profile, rows);
        totals.plans++;
        totals.with_rows += has_rows(rows);
        totals.below += !plain;
        totals.faster += plain && rows->predicted.time_us < plain->predicted.time_us * (1 - 1e-9);
    }
    if (plain && has_rows(plain)) {
        printf("# rows where whole samples are wanted\n");
        same = false;
    }
    vbs_schedule_free(rows);
    vbs_schedule_free(plain);
    return same;
}

static struct vbs_solver *open_solver(const struct vbs_problem *problem)
{
    struct vbs_ctx ctx = {0};
    const struct vbs_planner *planner = NULL;
    struct vbs_solver *solver = NULL;

    if (vbs_planner_find(&ctx, "dp-vbs+", &planner) != VBS_OK ||
        vbs_solver_new(&ctx, planner, problem, NULL, &solver) != VBS_OK)
        bail_out("no solver: %s", vbs_detail(&ctx));
    return solver;
}

/* Gives whether a budget is refused with the least one. Finding it solves changed profiles. */
static bool is_refused(struct vbs_solver *solver, int64_t memory_bytes)
{
    struct vbs_ctx ctx = {0};
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status;

    if (memory_bytes < 0)
        return true;
    status = vbs_solver_plan(&ctx, solver, memory_bytes, &schedule);
    vbs_schedule_free(schedule);
    if (status == VBS_INFEASIBLE && strstr(vbs_detail(&ctx), "the least budget is"))
        return true;
    printf("# %" PRId64 " bytes: status %d, %s\n", memory_bytes, (int)status,
           status == VBS_OK ? "" : vbs_detail(&ctx));
    return false;
}

static bool check(gsl_rng *rng, const struct vbs_profile *profile)
{
    struct vbs_problem problem = {.profile = profile,
                                  .request = random_int(rng, 1, 4),
                                  .io = random_once_in(rng, 3) ? VBS_IO_RESIDENT : VBS_IO_EXTERNAL};
    struct vbs_problem without = problem;
    struct vbs_solver *by_rows, *whole;
    int64_t least, most;
    bool same = true;

    without.whole_samples = true;
    by_rows = open_solver(&problem);
    whole = open_solver(&without);
    least = vbs_solver_least_bytes(by_rows);
    most = 2 * vbs_solver_least_bytes(whole);
    same = least <= vbs_solver_least_bytes(whole);
    same = same && is_refused(by_rows, least - 1) &&
           is_refused(whole, vbs_solver_least_bytes(whole) - 1);
    for (int i = 0; i <= 12 && same; i++)
        same = compare(profile, by_rows, whole, least + (most - least) * i / 12);
    vbs_solver_free(by_rows);
    vbs_solver_free(whole);
    return same;
}

/* ---- tiny problems ---- */

#define N_TINY     120
#define MAX_STATES 60000

static struct tiny {
    int solved, optimal, skipped;
    double worst;
} tiny = {.worst = 1};

/* Compares a plan and its bound with the best of all schedules. */
static bool is_no_better(const struct vbs_problem *problem, struct vbs_solver *solver,
                         int64_t memory_bytes)
{
    struct vbs_schedule *schedule = plan(solver, memory_bytes);
    const struct brute_rows_problem tiny_problem = {.profile = problem->profile,
                                                    .request = (int)problem->request,
                                                    .io = problem->io,
                                                    .memory_bytes = memory_bytes,
                                                    .max_states = MAX_STATES};
    double best_us = brute_rows_best_us(&tiny_problem);
    double time_us = schedule ? schedule->predicted.time_us : HUGE_VAL, bound_us = 0;
    struct vbs_ctx ctx = {0};
    bool same = best_us < 0;

    if (same) {
        tiny.skipped++;
    } else if (best_us < HUGE_VAL) {
        same = vbs_bound_us(&ctx, problem, memory_bytes, &bound_us) == VBS_OK &&
               bound_us <= best_us * (1 + 1e-9) && time_us >= best_us * (1 - 1e-9);
        tiny.solved++;
        tiny.optimal += time_us <= best_us * (1 + 1e-9);
        if (time_us < HUGE_VAL && time_us / best_us > tiny.worst)
            tiny.worst = time_us / best_us;
    } else {
        same = !schedule;
    }
    if (!same)
        printf("# %" PRId64 " bytes: plan %g, best %g, bound %g\n", memory_bytes, time_us, best_us,
               bound_us);
    vbs_schedule_free(schedule);
    return same;
}

static bool check_tiny(gsl_rng *rng, int i)
{
    struct vbs_profile *profile = random_rows_chain(rng, 1 + i % 3, 5);
    struct vbs_problem problem = {.profile = profile, .request = 1 + i % 2, .io = VBS_IO_EXTERNAL};
    struct vbs_problem without = problem;
    struct vbs_solver *solver, *whole;
    int64_t least, most;
    bool same = true;

    if (!profile)
        bail_out("no profile");
    without.whole_samples = true;
    solver = open_solver(&problem);
    whole = open_solver(&without);
    least = vbs_solver_least_bytes(solver) * 3 / 4;
    most = vbs_solver_least_bytes(whole) * 3 / 2;
    for (int m = 0; m <= 6 && same; m++)
        same = is_no_better(&problem, solver, least + (most - least) * m / 6);
    if (!same)
        printf("# tiny profile %d\n", i);
    vbs_solver_free(solver);
    vbs_solver_free(whole);
    vbs_profile_free(profile);
    return same;
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus);
    bool same = true;

    gsl_rng_set(rng, SEED);
    for (int i = 0; i < N_PROFILES && same; i++) {
        struct vbs_profile *profile = random_rows_profile(rng, 1 + i % 8);

        if (!profile)
            bail_out("no profile");
        same = check(rng, profile);
        if (!same)
            printf("# profile %d\n", i);
        vbs_profile_free(profile);
    }
    ok(same, "plans by rows are what the replay says, and never worse than those of whole samples");
    printf("# %d plans, %d with rows, %d faster, %d where whole samples do not fit\n", totals.plans,
           totals.with_rows, totals.faster, totals.below);
    ok(totals.faster > N_PROFILES / 4 && totals.below > N_PROFILES / 4, "rows help often enough");
    same = true;
    for (int i = 0; i < N_TINY && same; i++)
        same = check_tiny(rng, i);
    ok(same, "no plan and no bound is better than the best of all schedules");
    printf("# %d tiny problems: %d solved best, %d too large; the worst plan takes %.3f of the "
           "best time\n",
           tiny.solved, tiny.optimal, tiny.skipped, tiny.worst);
    ok(tiny.solved > N_TINY && tiny.optimal * 8 >= tiny.solved * 7,
       "seven of eight plans of tiny problems are the best");
    gsl_rng_free(rng);
    return done_testing();
}
