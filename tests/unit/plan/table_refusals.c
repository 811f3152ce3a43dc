/*
 * dp-vbs --table STEP by the example of VBS III, its refusals, interruption, and allocations that
 * fail. Properties are in table.c.
 */
#include "support/fault.h"
#include "cases/random_profile.h"
#include "support/tap.h"

#include "vbslab/plan.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#define SEED 2718

static enum vbs_status open_table(struct vbs_ctx *ctx, const char *name,
                                  const struct vbs_problem *problem, int64_t step_bytes,
                                  struct vbs_solver **solver)
{
    const struct vbs_solver_options options = {.struct_size = sizeof(struct vbs_solver_options),
                                               .table_bytes = step_bytes};
    const struct vbs_planner *planner;
    enum vbs_status status = vbs_planner_find(ctx, name, &planner);

    return status == VBS_OK ? vbs_solver_new(ctx, planner, problem, &options, solver) : status;
}

static struct vbs_schedule *plan_example(const struct vbs_profile *profile, int64_t step_bytes,
                                         int64_t budget, struct vbs_ctx *ctx)
{
    struct vbs_problem problem = {.profile = profile, .request = 2, .io = VBS_IO_RESIDENT};
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;

    if (open_table(ctx, "dp-vbs", &problem, step_bytes, &solver) == VBS_OK &&
        vbs_solver_plan(ctx, solver, budget, &schedule) != VBS_OK)
        schedule = NULL;
    vbs_solver_free(solver);
    return schedule;
}

static void worked_example(const struct vbs_profile *profile)
{
    static const int LAYERS[] = {1, 2, 2, 3}, BATCHES[] = {2, 1, 1, 2};
    struct vbs_ctx ctx = {0};
    struct vbs_schedule *plan = plan_example(profile, 1, 7, &ctx), *coarse;
    bool same = plan && plan->n_steps == 4;

    for (int s = 0; same && s < 4; s++)
        same = plan->steps[s].layer == LAYERS[s] && plan->steps[s].batch == BATCHES[s];
    ok(same, "VBS III: 2, 1 and 1, 2 in steps of a byte");
    is_near(plan->predicted.time_us / 2, 10, 0, "10 per sample");
    is_str(plan->planner, "dp-vbs", "by the name of the planner");
    vbs_schedule_free(plan);

    /* In steps of 2 bytes, a sample that waits at layer 2 takes 2 beside the 6 of another. */
    coarse = plan_example(profile, 2, 7, &ctx);
    ok(!coarse && ctx.status == VBS_INFEASIBLE && strstr(ctx.detail, "least budget is 8 bytes"),
       "in steps of 2 bytes, 7 are 6 and too little: %s", ctx.detail);
    coarse = plan_example(profile, 2, 8, &ctx);
    ok(coarse && coarse->predicted.time_us == 20 && coarse->predicted.peak_bytes == 7 &&
           coarse->predicted.reserved_bytes == 8,
       "8 are enough, though the plan's peak is 7");
    vbs_schedule_free(coarse);
}

static void refuses(const struct vbs_problem *problem, const char *planner, int64_t step_bytes,
                    enum vbs_status want, const char *part)
{
    struct vbs_ctx ctx = {0};
    struct vbs_solver *solver = NULL;
    enum vbs_status status = open_table(&ctx, planner, problem, step_bytes, &solver);

    ok(status == want && !solver && strstr(ctx.detail, part), "%s in steps of %lld: %s", planner,
       (long long)step_bytes, ctx.detail);
    vbs_solver_free(solver);
}

static void refusals(const struct vbs_profile *profile)
{
    struct vbs_problem problem = {.profile = profile, .request = 3, .io = VBS_IO_RESIDENT};
    struct vbs_schedule *none;
    struct vbs_ctx ctx = {0};

    for (int i = 0; vbs_planner_at(i); i++) {
        const char *name = vbs_planner_name(vbs_planner_at(i));

        if (strcmp(name, "dp-vbs") != 0)
            refuses(&problem, name, 1, VBS_USAGE, "is for dp-vbs, not");
    }
    refuses(&problem, "dp-vbs", -1, VBS_USAGE, "-1 bytes");
    refuses(&problem, "dp-vbs", INT64_MAX, VBS_USAGE, "are too large for a table");
    none = plan_example(profile, 100, 99, &ctx);
    ok(!none && ctx.status == VBS_INFEASIBLE && strstr(ctx.detail, "least budget is 100 bytes"),
       "a step above the budget: %s", ctx.detail);
}

static const char LARGE_ROWS[] =
    "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
    "in_place\n"
    "1,L1,conv,0,1,a,5,1000000000,1000000000,0,0,0\n"
    "2,L2,conv,1,1,a,5,1000000000,1000000000,0,0,0\n";

/* Two layers of a gigabyte, in steps of a byte and, as the error has it, of more. */
static void too_many_sizes(void)
{
    struct vbs_profile *profile = NULL;
    struct vbs_problem problem = {.request = 4};
    struct vbs_solver *fine = NULL, *coarse = NULL;
    struct vbs_schedule *schedule = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status;

    if (vbs_profile_parse_csv(&ctx, "large", LARGE_ROWS, strlen(LARGE_ROWS), &profile) != VBS_OK) {
        ok(0, "a profile: %s", ctx.detail);
        return;
    }
    problem.profile = profile;
    status = open_table(&ctx, "dp-vbs", &problem, 1, &fine);
    ok(status == VBS_OK && vbs_solver_least_bytes(fine) == 2000000000,
       "the least budget is had without tables");
    status = vbs_solver_plan(&ctx, fine, 2000000000, &schedule);
    ok(status == VBS_NO_MEMORY && !schedule &&
           strstr(ctx.detail, "more than 8 GiB; steps above 56 B would help"),
       "tables that are too large: %s", ctx.detail);
    status = open_table(&ctx, "dp-vbs", &problem, 1000000, &coarse);
    if (status == VBS_OK)
        status = vbs_solver_plan(&ctx, coarse, 2000000000, &schedule);
    ok(status == VBS_OK && schedule->predicted.reserved_bytes == 2000000000,
       "in steps of a megabyte they are not");
    vbs_schedule_free(schedule);
    vbs_solver_free(coarse);
    vbs_solver_free(fine);
    vbs_profile_free(profile);
}

static void interruption(const struct vbs_profile *profile)
{
    struct vbs_problem problem = {.profile = profile, .request = 2};
    volatile sig_atomic_t stop = 0;
    struct vbs_ctx ctx = {.cancel = &stop};
    struct vbs_solver *solver = NULL, *none = NULL;
    struct vbs_schedule *schedule = NULL;

    ok(open_table(&ctx, "dp-vbs", &problem, 1, &solver) == VBS_OK, "a solver");
    stop = 1;
    ok(vbs_solver_plan(&ctx, solver, 7, &schedule) == VBS_INTERRUPTED && !schedule,
       "filling the tables stops when asked to");
    ok(open_table(&ctx, "dp-vbs", &problem, 1, &none) == VBS_INTERRUPTED && !none,
       "opening a solver too");
    stop = 0;
    ok(vbs_solver_plan(&ctx, solver, 7, &schedule) == VBS_OK, "and is done anew afterwards");
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
}

/* ---- Allocations that fail ---- */

/* Makes a solver, and uses it for a rising budget twice and for its frontier. */
static enum vbs_status use_table(struct vbs_ctx *ctx, const struct vbs_problem *problem)
{
    struct vbs_solver *solver = NULL;
    struct vbs_frontier *frontier = NULL;
    enum vbs_status status = open_table(ctx, "dp-vbs", problem, 3, &solver);

    for (int i = 1; status == VBS_OK && i <= 2; i++) {
        struct vbs_schedule *schedule = NULL;

        status = vbs_solver_plan(ctx, solver, i * vbs_solver_least_bytes(solver), &schedule);
        vbs_schedule_free(schedule);
    }
    if (status == VBS_OK)
        status = vbs_solver_frontier(ctx, solver, &frontier);
    vbs_frontier_free(frontier);
    vbs_solver_free(solver);
    return status;
}

static void faults(const struct vbs_problem *problem, const char *name, bool lasting)
{
    int n_faults = 0, n_wrong = 0;
    enum vbs_status status;

    do {
        struct vbs_ctx ctx = {0};

        allocation_faults = (struct faults){.countdown = n_faults + 1, .lasting = lasting};
        status = use_table(&ctx, problem);
        allocation_faults.countdown = 0;
        n_faults += allocation_faults.hit;
        n_wrong += allocation_faults.hit && status != VBS_NO_MEMORY;
    } while (allocation_faults.hit);
    ok(n_faults > 10 && n_wrong == 0 && status == VBS_OK, "%s: %d allocations, %s", name, n_faults,
       lasting ? "all from one on fail" : "each fails once");
}

static void allocations(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct vbs_profile *profile = NULL;

    gsl_rng_set(rng, SEED);
    for (int i = 0; i < 1000 && (!profile || profile->n_layers < 9); i++) {
        vbs_profile_free(profile);
        profile = random_profile(rng, RANDOM_BRANCHED, RANDOM_MAX_LAYERS);
    }
    for (int lasting = 0; profile && lasting < 2; lasting++) {
        faults(&(struct vbs_problem){.profile = profile, .request = 5}, "a table", lasting);
        faults(&(struct vbs_problem){.profile = profile, .request = 5, .latency_us = 1000},
               "a table under a latency", lasting);
    }
    vbs_profile_free(profile);
    gsl_rng_free(rng);
}

int main(void)
{
    struct vbs_profile *example = example_profile();

    worked_example(example);
    refusals(example);
    too_many_sizes();
    interruption(example);
    allocations();
    vbs_profile_free(example);
    return done_testing();
}
