/*
 * The latency bound (plan.h) on random profiles: what every planner promises of it, the replay's
 * own count, and the slow references of brute_force.h. Arguments: number of profiles per kind of
 * graph, seed.
 */
#include "reference/plan/brute_force.h"
#include "cases/random_profile.h"
#include "support/tally.h"
#include "support/trials.h"

#include "vbslab/plan.h"
#include "vbslab/replay.h"

#include <stdlib.h>

#define SEED          1618
#define N_PROFILES    60 /* per kind of graph, each with both io and N_LATENCIES bounds */
#define N_LATENCIES   4
#define MAX_LAYERS    6
#define MAX_REQUEST   6
#define MAX_CODES     5000 /* states of a lattice, reachable or not */
#define MAX_BUDGETS   40
#define MAX_PLANNERS  16
#define POINTS_CHOSEN 3 /* of each planner's frontier, beside the first */

/* The properties that are checked for every problem and budget; each becomes one line of the
 * report. */
#define PROPERTY_LIST(X)                                                                           \
    X(SOLVED, "a solver, its frontier and its plans are made, or refused as infeasible")           \
    X(REPLAY, "the replay finds the plan in time and within its budget")                           \
    X(COUNTED, "the replay counts the latency that was predicted")                                 \
    X(LEAST, "there is a plan at the least budget, and none below it")                             \
    X(NEVER, "where there is no least budget there is no plan and no frontier")                    \
    X(FRONTIER, "at every budget the plan is the frontier's")                                      \
    X(SAME, "a bound that the plan keeps anyway changes nothing")                                  \
    X(DEARER, "a bound never makes a plan faster: fbs-best, dp-*, optimal")                        \
    X(OPTIMUM, "no plan beats the optimum with that bound")                                        \
    X(REACHED, "optimal is the optimum with that bound")                                           \
    X(FBS, "fbs is its definition")                                                                \
    X(FBS_BEST, "fbs-best is its definition")                                                      \
    X(GREEDY, "greedy-vbs is its definition")                                                      \
    X(RECURRENCE, "dp-vbs of a chain is the recurrence of the paper")

enum property { TALLY_ENUM(PROPERTY_LIST, N_PROPERTIES) };

static const char *const PROPERTY_TEXTS[] = {TALLY_TEXTS(PROPERTY_LIST)};

struct report {
    struct tally tally;
    int n_late; /* solvers without a feasible budget */
};

/* The problem that is being checked, with its known results. */
struct subject {
    struct report *report;
    struct vbs_problem problem;
    bool linear;
    int number; /* of the profile */
    struct brute_chunks *chunks;
    struct vbs_solver *unbounded[MAX_PLANNERS];
    int n_planners;
    int64_t budgets[MAX_BUDGETS];
    int n_budgets;
};

/* A planner with the bound. */
struct contender {
    struct subject *subject;
    int planner; /* index */
    const char *name;
    struct vbs_solver *solver;
    struct vbs_frontier *frontier; /* null: there is none */
    int64_t least_bytes, budget;
};

static void describe(const void *self)
{
    const struct contender *contender = self;
    const struct subject *subject = contender->subject;

    printf("profile %d, %d layers, request %" PRId64 ", io %s, latency %g, planner %s, "
           "budget %" PRId64,
           subject->number, subject->problem.profile->n_layers, subject->problem.request,
           vbs_io_word(subject->problem.io), subject->problem.latency_us, contender->name,
           contender->budget);
}

static void check(const struct contender *contender, enum property property, bool holds)
{
    tally_check_of(&contender->subject->report->tally, contender, (int)property, holds);
}

static struct report empty_report(void)
{
    return (struct report){
        .tally = {.n_properties = N_PROPERTIES, .texts = PROPERTY_TEXTS, .describe = describe}};
}

static bool is_called(const struct contender *contender, const char *name)
{
    return strcmp(contender->name, name) == 0;
}

/* Gives whether a planner takes the fastest plan: fbs takes the largest batch that keeps the bound,
 * and greedy-vbs the largest that fits, though a smaller one may be faster. */
static bool takes_fastest(const struct contender *contender)
{
    return !is_called(contender, "fbs") && !is_called(contender, "greedy-vbs");
}

static void check_replay(const struct contender *contender, const struct vbs_schedule *schedule)
{
    double latency_us = contender->subject->problem.latency_us;
    struct vbs_ctx ctx = {0};
    struct vbs_replay *replay = NULL;
    enum vbs_status status = vbs_replay_run(&ctx, contender->subject->problem.profile, schedule,
                                            contender->budget, false, &replay);

    if (status != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    check(contender, REPLAY,
          status == VBS_OK && replay->fits && replay->in_time && replay->latency_us <= latency_us &&
              replay->latency_bound_us == latency_us);
    check(contender, COUNTED,
          status == VBS_OK && replay->latency_us == schedule->predicted.latency_us);
    vbs_replay_free(replay);
}

/* Gives the time of a plan; HUGE_VAL: there is none. */
static double plan_us(const struct contender *contender)
{
    struct vbs_schedule *schedule = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_solver_plan(&ctx, contender->solver, contender->budget, &schedule);
    double time_us = HUGE_VAL;

    if (status != VBS_OK && status != VBS_INFEASIBLE)
        printf("# %s\n", vbs_detail(&ctx));
    check(contender, SOLVED, status == VBS_OK || status == VBS_INFEASIBLE);
    if (status != VBS_OK)
        return HUGE_VAL;
    check_replay(contender, schedule);
    time_us = schedule->predicted.time_us;
    vbs_schedule_free(schedule);
    return time_us;
}

static double frontier_us(const struct vbs_frontier *frontier, int64_t budget)
{
    double time_us = HUGE_VAL;

    for (int i = 0; frontier && i < frontier->n_points; i++)
        if (frontier->points[i].memory_bytes <= budget)
            time_us = frontier->points[i].time_us;
    return time_us;
}

static void check_unbounded(const struct contender *contender, double time_us)
{
    const struct subject *subject = contender->subject;
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status =
        vbs_solver_plan(NULL, subject->unbounded[contender->planner], contender->budget, &schedule);

    check(contender, SOLVED, status == VBS_OK || status == VBS_INFEASIBLE);
    if (status != VBS_OK) {
        check(contender, DEARER, time_us == HUGE_VAL);
        return;
    }
    if (schedule->predicted.latency_us <= subject->problem.latency_us)
        check(contender, SAME, time_us == schedule->predicted.time_us);
    if (takes_fastest(contender))
        check(contender, DEARER, time_us >= schedule->predicted.time_us);
    vbs_schedule_free(schedule);
}

static void check_definition(const struct contender *contender, double time_us)
{
    const struct subject *subject = contender->subject;
    const struct vbs_problem *problem = &subject->problem;
    double optimum_us = brute_chunks_us(subject->chunks, contender->budget, problem->latency_us);

    check(contender, OPTIMUM, time_us >= optimum_us);
    if (is_called(contender, "optimal"))
        check(contender, REACHED, time_us == optimum_us);
    if (is_called(contender, "fbs"))
        check(contender, FBS, time_us == brute_fbs_us(problem, contender->budget));
    if (is_called(contender, "fbs-best"))
        check(contender, FBS_BEST, time_us == brute_fbs_best_us(problem, contender->budget));
    if (is_called(contender, "greedy-vbs"))
        check(contender, GREEDY, time_us == brute_greedy_us(problem, contender->budget));
    if (is_called(contender, "dp-vbs") && subject->linear)
        check(contender, RECURRENCE, time_us == brute_dp_vbs_us(problem, contender->budget));
}

static void check_budget(struct contender *contender, int64_t budget)
{
    int64_t least = contender->least_bytes;
    double time_us;

    contender->budget = budget;
    time_us = plan_us(contender);
    if (least == INT64_MAX)
        check(contender, NEVER, time_us == HUGE_VAL);
    else if (budget <= least || !is_called(contender, "greedy-vbs"))
        check(contender, LEAST, (time_us < HUGE_VAL) == (budget >= least));
    check(contender, FRONTIER, time_us == frontier_us(contender->frontier, budget));
    check_unbounded(contender, time_us);
    check_definition(contender, time_us);
}

static bool open_contender(struct contender *contender)
{
    const struct subject *subject = contender->subject;
    const struct vbs_planner *planner = vbs_planner_at(contender->planner);
    struct vbs_ctx ctx = {0};
    enum vbs_status status;

    contender->name = vbs_planner_name(planner);
    status = vbs_solver_new(&ctx, planner, &subject->problem, NULL, &contender->solver);
    check(contender, SOLVED, status == VBS_OK);
    if (status != VBS_OK) {
        printf("# %s\n", vbs_detail(&ctx));
        return false;
    }
    contender->least_bytes = vbs_solver_least_bytes(contender->solver);
    status = vbs_solver_frontier(&ctx, contender->solver, &contender->frontier);
    if (contender->least_bytes == INT64_MAX) {
        subject->report->n_late++;
        check(contender, NEVER, status == VBS_INFEASIBLE && ctx.detail[0]);
    } else {
        check(contender, SOLVED, status == VBS_OK);
    }
    return true;
}

static void check_planner(struct subject *subject, int planner)
{
    struct contender contender = {.subject = subject, .planner = planner};

    if (open_contender(&contender)) {
        for (int i = 0; i < subject->n_budgets; i++)
            check_budget(&contender, subject->budgets[i]);
        if (contender.least_bytes < INT64_MAX) {
            check_budget(&contender, contender.least_bytes);
            if (contender.least_bytes > 0)
                check_budget(&contender, contender.least_bytes - 1);
        }
    }
    vbs_frontier_free(contender.frontier);
    vbs_solver_free(contender.solver);
}

static void add_budget(struct subject *subject, int64_t budget)
{
    if (budget >= 0 && subject->n_budgets < MAX_BUDGETS)
        subject->budgets[subject->n_budgets++] = budget;
}

/* Chooses the first and some further breakpoints of each planner without a bound, and one byte
 * below. */
static bool choose_budgets(gsl_rng *rng, struct subject *subject)
{
    subject->n_budgets = 0;
    add_budget(subject, INT64_MAX);
    for (int p = 0; p < subject->n_planners; p++) {
        struct vbs_frontier *frontier = NULL;

        if (vbs_solver_frontier(NULL, subject->unbounded[p], &frontier) != VBS_OK)
            return false;
        add_budget(subject, frontier->points[0].memory_bytes);
        for (int i = 0; i < POINTS_CHOSEN; i++) {
            int point = random_int(rng, 0, frontier->n_points - 1);

            add_budget(subject, frontier->points[point].memory_bytes - random_int(rng, 0, 1));
        }
        vbs_frontier_free(frontier);
    }
    return true;
}

/* Chooses a bound near which results change: the wait in some plan, the least time of so many
 * samples, one less, or any up to the slowest plan. Times are whole numbers. */
static double choose_latency(gsl_rng *rng, const struct subject *subject)
{
    int planner = random_int(rng, 0, subject->n_planners - 1);
    struct vbs_schedule *schedule = NULL;
    int64_t budget = subject->budgets[random_int(rng, 0, subject->n_budgets - 1)];
    double latency_us = 1;

    if (vbs_solver_plan(NULL, subject->unbounded[planner], budget, &schedule) == VBS_OK) {
        int wait = (int)schedule->predicted.latency_us;

        latency_us = random_once_in(rng, 2) ? wait : random_int(rng, 1, wait + 1);
        vbs_schedule_free(schedule);
    }
    if (random_once_in(rng, 3))
        latency_us--;
    return latency_us > 0 ? latency_us : 1;
}

static void check_problem(gsl_rng *rng, struct subject *subject)
{
    bool opened = true;

    subject->chunks = brute_chunks_new(&subject->problem);
    subject->problem.latency_us = 0;
    for (int p = 0; p < subject->n_planners; p++)
        opened = vbs_solver_new(NULL, vbs_planner_at(p), &subject->problem, NULL,
                                &subject->unbounded[p]) == VBS_OK &&
                 opened;
    opened = opened && choose_budgets(rng, subject);
    if (!opened)
        ok(0, "profile %d: solvers without a bound", subject->number);
    for (int i = 0; opened && i < N_LATENCIES; i++) {
        subject->problem.latency_us = choose_latency(rng, subject);
        for (int p = 0; p < subject->n_planners; p++)
            check_planner(subject, p);
    }
    for (int p = 0; p < subject->n_planners; p++) {
        vbs_solver_free(subject->unbounded[p]);
        subject->unbounded[p] = NULL;
    }
    brute_chunks_free(subject->chunks);
}

/* Gives the largest request up to limit whose lattice stays small. */
static int bounded_request(const struct vbs_profile *profile, int limit)
{
    int request = 1;

    while (request < limit && pow(request + 2, profile->n_layers) <= MAX_CODES)
        request++;
    return request;
}

static const char *const GRAPH_NAMES[] = {"linear", "branched", "arbitrary"};

static bool has_planner(const char *name)
{
    const struct vbs_planner *planner;

    return vbs_planner_find(NULL, name, &planner) == VBS_OK;
}

static void print_report(const struct report *report, enum random_graph graph)
{
    uint64_t left_out = (graph == RANDOM_LINEAR ? 0 : (uint64_t)1 << RECURRENCE) |
                        (has_planner("optimal") ? 0 : (uint64_t)1 << REACHED);

    tally_report_but(&report->tally, GRAPH_NAMES[graph], left_out);
    ok(report->n_late > 0, "%s: some bounds are too short (%d)", GRAPH_NAMES[graph],
       report->n_late);
}

static void test_graph(enum random_graph graph, int n_profiles, unsigned long seed)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct report report = empty_report();
    struct subject *subject = calloc(1, sizeof *subject);
    int n_refused = 0;

    gsl_rng_set(rng, seed + (unsigned long)graph);
    while (subject && vbs_planner_at(subject->n_planners) &&
           !vbs_planner_transfers(vbs_planner_at(subject->n_planners)))
        subject->n_planners++;
    for (int i = 0; subject && i < n_profiles; i++) {
        struct vbs_profile *profile = random_profile(rng, graph, MAX_LAYERS);

        if (!profile) {
            n_refused++;
            continue;
        }
        subject->report = &report;
        subject->number = i;
        subject->linear = graph == RANDOM_LINEAR;
        subject->problem.profile = profile;
        subject->problem.request = bounded_request(profile, random_int(rng, 1, MAX_REQUEST));
        for (int io = VBS_IO_EXTERNAL; io <= VBS_IO_RESIDENT; io++) {
            subject->problem.io = (enum vbs_io)io;
            check_problem(rng, subject);
        }
        vbs_profile_free(profile);
    }
    is_int(n_refused, 0, "random profiles are profiles");
    print_report(&report, graph);
    free(subject);
    gsl_rng_free(rng);
}

/* ---- By hand ---- */

static double example_us(const struct vbs_profile *profile, const char *name, enum vbs_io io,
                         double latency_us, int64_t memory_bytes, double *latency)
{
    struct vbs_problem problem = {
        .profile = profile, .request = 2, .io = io, .latency_us = latency_us};
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    double time_us = HUGE_VAL;

    if (vbs_planner_find(NULL, name, &planner) == VBS_OK &&
        vbs_solver_new(NULL, planner, &problem, NULL, &solver) == VBS_OK &&
        vbs_solver_plan(NULL, solver, memory_bytes, &schedule) == VBS_OK) {
        time_us = schedule->predicted.time_us;
        *latency = schedule->predicted.latency_us;
    }
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
    return time_us;
}

/* In VBS III a sample alone takes 12 us, two together 18 us, or 20 in 7 bytes. */
static void test_example(void)
{
    static const struct {
        const char *planner;
        enum vbs_io io;
        double bound_us;
        int64_t memory_bytes;
        double time_us, latency_us;
    } CASES[] = {
        {"dp-vbs", VBS_IO_EXTERNAL, 20, 7, 20, 20},
        {"dp-vbs", VBS_IO_EXTERNAL, 19, 7, 24, 12},
        {"dp-vbs", VBS_IO_EXTERNAL, 12, 7, 24, 12},
        {"dp-vbs", VBS_IO_EXTERNAL, 11, 7, HUGE_VAL, 0},
        {"dp-vbs", VBS_IO_RESIDENT, 20, 7, 20, 20},
        {"dp-vbs", VBS_IO_RESIDENT, 19, 7, HUGE_VAL, 0},
        {"dp-vbs", VBS_IO_RESIDENT, 19, 12, 18, 18},
        {"fbs", VBS_IO_EXTERNAL, 18, 12, 18, 18},
        {"fbs", VBS_IO_EXTERNAL, 17, 12, 24, 12},
        {"fbs", VBS_IO_RESIDENT, 18, 12, 18, 18},
        {"fbs", VBS_IO_RESIDENT, 17, 12, HUGE_VAL, 0},
    };
    struct vbs_profile *profile = example_profile();

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        double latency_us = 0,
               time_us = example_us(profile, CASES[i].planner, CASES[i].io, CASES[i].bound_us,
                                    CASES[i].memory_bytes, &latency_us);

        ok(time_us == CASES[i].time_us && latency_us == CASES[i].latency_us,
           "VBS III, %s, io %s, %d bytes, at most %g us: %g us, the longest wait %g",
           CASES[i].planner, vbs_io_word(CASES[i].io), (int)CASES[i].memory_bytes,
           CASES[i].bound_us, CASES[i].time_us, CASES[i].latency_us);
    }
    vbs_profile_free(profile);
}

static void test_refused(void)
{
    static const double BOUNDS[] = {-1, NAN, HUGE_VAL, 2 * VBS_MAX_TIME_US};
    struct vbs_profile *profile = example_profile();

    for (size_t i = 0; i < sizeof BOUNDS / sizeof BOUNDS[0]; i++) {
        struct vbs_problem problem = {.profile = profile, .request = 2, .latency_us = BOUNDS[i]};
        struct vbs_solver *solver = NULL;
        struct vbs_ctx ctx = {0};
        enum vbs_status status = vbs_solver_new(&ctx, vbs_planner_at(0), &problem, NULL, &solver);

        ok(status == VBS_USAGE && !solver, "a latency of %g: %s", BOUNDS[i], vbs_detail(&ctx));
    }
    vbs_profile_free(profile);
}

int main(int argc, char **argv)
{
    struct trials trials = trials_of(argc, argv, N_PROFILES, SEED, "profiles per kind of graph");

    test_example();
    test_refused();
    for (int graph = 0; graph < RANDOM_N_GRAPHS; graph++)
        test_graph((enum random_graph)graph, trials.n, trials.seed);
    return done_testing();
}
