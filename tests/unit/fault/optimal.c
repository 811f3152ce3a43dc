/*
 * Allocations that fail, and wishes to stop, while optimal searches: the call says so, leaves its
 * outputs as they were and nothing behind (AddressSanitizer looks), and the same solver then plans
 * as if nothing had been. Small networks are tried at every allocation, to the end of the proof;
 * one whose search ends at its limit of nodes, at some of them.
 */
#include "support/fault.h"
#include "cases/random_profile.h"
#include "support/tap.h"

#include "vbslab/plan.h"
#include "vbslab/replay.h"

#include <stdlib.h>

#define SEED          5
#define SMALL_LAYERS  4
#define SMALL_REQUEST 3
#define LARGE_LAYERS  16
#define LARGE_REQUEST 8
#define NODE_LIMIT    1500
#define N_CHOSEN      12 /* allocations of the large one, for each way to fail */
#define MAX_SHOWN     5
#define MANY          1000000000L

struct subject {
    struct vbs_problem problem;
    struct vbs_solver_options options;
    const struct vbs_planner *planner;
    int64_t budget;
    double time_us; /* the plan's when nothing fails; -1: a limit of nodes ends the search, and what
                     * is left of them after a failure is not always the same */
};

enum way { ONCE, FROM_THEN_ON, STOP, N_WAYS };
static const char *const WAY_TEXTS[] = {"each fails once", "all from one on fail",
                                        "stopped at each"};

/* Gives whether the replay accepts the plan. */
static bool is_sound(const struct subject *subject, const struct vbs_schedule *schedule)
{
    struct vbs_replay *replay = NULL;
    bool sound =
        vbs_replay_run(NULL, subject->problem.profile, schedule, -1, false, &replay) == VBS_OK &&
        replay->fits && replay->in_time && replay->time_us == schedule->predicted.time_us;

    vbs_replay_free(replay);
    return sound && (subject->time_us < 0 || schedule->predicted.time_us == subject->time_us);
}

/* Plans, and makes the frontier where every search comes to its end; gives the status, or
 * VBS_N_STATUS when a promise was broken. */
static enum vbs_status use(struct vbs_ctx *ctx, const struct subject *subject,
                           struct vbs_solver *solver)
{
    struct vbs_schedule *schedule = (void *)&fault_untouched;
    struct vbs_frontier *frontier = (void *)&fault_untouched;
    enum vbs_status status = vbs_solver_plan(ctx, solver, subject->budget, &schedule);

    if (status != VBS_OK)
        return fault_status(status, schedule);
    if (subject->time_us >= 0) {
        status = vbs_solver_frontier(ctx, solver, &frontier);
        if (status == VBS_OK)
            vbs_frontier_free(frontier);
        else if (frontier != (void *)&fault_untouched)
            status = VBS_N_STATUS;
    }
    allocation_faults.countdown = 0; /* the calls that follow are the test's own */
    if (status == VBS_OK && !is_sound(subject, schedule))
        status = VBS_N_STATUS;
    vbs_schedule_free(schedule);
    return status;
}

/* Makes a solver and uses it; after a failure it is used again, without faults. */
static enum vbs_status try(struct vbs_ctx *ctx, const struct subject *subject)
{
    struct vbs_solver *solver = (void *)&fault_untouched;
    enum vbs_status status =
        vbs_solver_new(ctx, subject->planner, &subject->problem, &subject->options, &solver);

    if (status != VBS_OK)
        return fault_status(status, solver);
    status = use(ctx, subject, solver);
    allocation_faults.countdown = 0;
    if (status != VBS_OK && status != VBS_N_STATUS && use(NULL, subject, solver) != VBS_OK)
        status = VBS_N_STATUS;
    vbs_solver_free(solver);
    return status;
}

/* Tries once with an n-th allocation that fails or stops it; false when there is no such
 * allocation. */
static bool fail_at(const struct subject *subject, long n, enum way way, int *n_wrong)
{
    volatile sig_atomic_t stop = 0;
    struct vbs_ctx ctx = {.cancel = &stop};
    enum vbs_status wanted = way == STOP ? VBS_INTERRUPTED : VBS_NO_MEMORY, status;

    allocation_faults = (struct faults){
        .countdown = n, .lasting = way == FROM_THEN_ON, .stop = way == STOP ? &stop : NULL};
    status = try(&ctx, subject);
    allocation_faults.countdown = 0;
    if (!allocation_faults.hit)
        return false;
    /* A request to stop that comes too late has no effect. */
    if ((status != wanted || ctx.status != wanted) && !(way == STOP && status == VBS_OK) &&
        (*n_wrong)++ < MAX_SHOWN)
        printf("# allocation %ld: status %d (%s)\n", n, (int)status, ctx.detail);
    return true;
}

static void fail_everywhere(const struct subject *subject, const char *name)
{
    for (int way = 0; way < N_WAYS; way++) {
        long n = 1;
        int n_wrong = 0;

        while (fail_at(subject, n, (enum way)way, &n_wrong))
            n++;
        ok(n > 100 && n_wrong == 0, "%s: %ld allocations, %s", name, n - 1, WAY_TEXTS[way]);
    }
}

static long count_allocations(const struct subject *subject)
{
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status;
    long n;

    allocation_faults = (struct faults){.countdown = MANY};
    status = vbs_solver_new(NULL, subject->planner, &subject->problem, &subject->options, &solver);
    if (status == VBS_OK)
        status = vbs_solver_plan(NULL, solver, subject->budget, &schedule);
    n = MANY - allocation_faults.countdown;
    allocation_faults.countdown = 0;
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
    return status == VBS_OK ? n : 0;
}

/* Chooses late allocations more often, when the search has come furthest. */
static void fail_at_some(gsl_rng *rng, const struct subject *subject, const char *name, long n)
{
    for (int way = 0; way < N_WAYS; way++) {
        int n_wrong = 0, n_hit = 0;

        for (int i = 0; i < N_CHOSEN; i++) {
            double place = 1 - gsl_rng_uniform(rng) * gsl_rng_uniform(rng);

            n_hit += fail_at(subject, 1 + (long)(place * (double)(n - 1)), (enum way)way, &n_wrong);
        }
        ok(n_hit > 0 && n_wrong == 0, "%s: %d of some %ld allocations, %s", name, n_hit, n,
           WAY_TEXTS[way]);
    }
}

/* ---- The subjects ---- */

/* Chooses a budget half-way between the least and that of the fastest plan. */
static void choose_budget(struct subject *subject)
{
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;

    if (vbs_planner_find(NULL, "optimal", &subject->planner) != VBS_OK ||
        vbs_solver_new(NULL, subject->planner, &subject->problem, &subject->options, &solver) !=
            VBS_OK ||
        vbs_solver_plan(NULL, solver, INT64_MAX, &schedule) != VBS_OK)
        bail_out("no plan");
    subject->budget = (vbs_solver_least_bytes(solver) + schedule->predicted.peak_bytes) / 2;
    vbs_schedule_free(schedule);
    if (vbs_solver_plan(NULL, solver, subject->budget, &schedule) != VBS_OK)
        bail_out("no plan");
    subject->time_us = subject->options.node_limit > 0 ? -1 : schedule->predicted.time_us;
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
}

static void test_small(gsl_rng *rng)
{
    static const struct {
        const char *name;
        enum vbs_io io;
        double latency_us;
    } CASES[] = {{"io external", VBS_IO_EXTERNAL, 0},
                 {"io resident", VBS_IO_RESIDENT, 0},
                 {"io external, a latency", VBS_IO_EXTERNAL, 100},
                 {"io resident, a latency", VBS_IO_RESIDENT, 200}};
    struct vbs_profile *profile = random_large_profile(rng, RANDOM_BRANCHED, SMALL_LAYERS);

    for (size_t i = 0; profile && i < sizeof CASES / sizeof CASES[0]; i++) {
        struct subject subject = {.options.struct_size = sizeof(struct vbs_solver_options),
                                  .problem = {.profile = profile,
                                              .request = SMALL_REQUEST,
                                              .io = CASES[i].io,
                                              .latency_us = CASES[i].latency_us}};

        choose_budget(&subject);
        fail_everywhere(&subject, CASES[i].name);
    }
    vbs_profile_free(profile);
}

static void test_large(gsl_rng *rng)
{
    struct vbs_profile *profile = random_large_profile(rng, RANDOM_BRANCHED, LARGE_LAYERS);
    struct subject subject = {
        .options.struct_size = sizeof(struct vbs_solver_options),
        .problem = {.profile = profile, .request = LARGE_REQUEST, .io = VBS_IO_RESIDENT},
        .options.node_limit = NODE_LIMIT};
    long n;

    choose_budget(&subject);
    n = count_allocations(&subject);
    ok(n > 100, "a search that its limit of nodes ends: %ld allocations", n);
    fail_at_some(rng, &subject, "a long search", n);
    vbs_profile_free(profile);
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);

    gsl_rng_set(rng, SEED);
    printf("# seed %d\n", SEED);
    test_small(rng);
    test_large(rng);
    gsl_rng_free(rng);
    return done_testing();
}
