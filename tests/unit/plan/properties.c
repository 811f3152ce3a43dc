/*
 * Every planner on small random networks, against the slow references of brute_force.h and against
 * each other: optimal is never slower than dp-vbs+, which is never slower than dp-vbs and the
 * baselines. Times of random profiles are whole numbers, so that all comparisons are
 * exact. Arguments: number of profiles per kind of graph, seed.
 */
#include "reference/plan/brute_force.h"
#include "cases/random_profile.h"
#include "reference/plan/rivals.h"
#include "support/tally.h"
#include "support/trials.h"

#include "vbslab/replay.h"

#include <stdlib.h>

#define SEED        31415
#define N_PROFILES  300 /* per kind of graph, each with both io */
#define MAX_LAYERS  7
#define MAX_REQUEST 6
#define MAX_CODES   20000 /* states of a lattice, reachable or not */
#define N_ORDERED   4     /* budgets in any order */

/* The properties that are checked for every problem and budget; each becomes one line of the
 * report. */
#define PROPERTY_LIST(X)                                                                           \
    X(SOLVED, "solvers, frontiers and plans are had without errors")                               \
    X(BOUND, "the lower bound is at most the optimum")                                             \
    X(PLAN_BOUND, "the bound of a plan is that of its problem, or a proven one")                   \
    X(GAP, "the gap of a plan is what its time is above its bound")                                \
    X(LEAST, "feasible from the solver's least budget on, never below")                            \
    X(FRONTIER, "at every budget the plan is the frontier's")                                      \
    X(FRONTIER_SHAPE, "frontier points rise in bytes and start at the least budget")               \
    X(FALLING, "a larger budget never plans slower: all but fbs and greedy-vbs")                   \
    X(REPLAY, "the replay accepts the plan")                                                       \
    X(TIME, "replayed time and latency are the predicted ones")                                    \
    X(PEAK, "replayed peak = predicted peak <= reserved <= budget")                                \
    X(EXACT, "dp-vbs+ and optimal reserve the peak, no more")                                      \
    X(PATH, "the optimum is had by a schedule that the replay accepts")                            \
    X(OPTIMUM, "no plan beats the optimum over the lattice")                                       \
    X(REACHED, "optimal is the optimum, where there is one")                                       \
    X(PROVEN, "and proves it")                                                                     \
    X(ANY_ORDER, "whatever budgets it was asked for before")                                       \
    X(LEAST_REACHED, "optimal has a plan from the least budget of the lattice on")                 \
    X(PLUS, "dp-vbs+ is as fast as every planner but optimal, and feasible where they are")        \
    X(FBS, "fbs is its definition")                                                                \
    X(FBS_BEST, "fbs-best is its definition")                                                      \
    X(GREEDY, "greedy-vbs is its definition")

enum property { TALLY_ENUM(PROPERTY_LIST, N_PROPERTIES) };
static const char *const PROPERTY_TEXTS[] = {TALLY_TEXTS(PROPERTY_LIST)};

/* How often and how far a planner is from the optimum. */
struct misses {
    int n_slower, n_infeasible;
    double worst_ratio;
};

/* The problem that is being checked, with its known results. */
struct subject {
    struct tally tally;
    int number; /* of the profile */
    struct rivals rivals;
    int dp_vbs_plus, optimal; /* among the rivals */
    struct brute_lattice *lattice;
    const char *planner; /* that is being checked */
    int64_t budget;
    double optimum_us, bound_us; /* there */
    int n_problems, n_budgets;   /* where a schedule fits */
    struct misses misses[MAX_RIVALS];
};

static void describe(const void *self)
{
    const struct subject *subject = self;
    const struct vbs_problem *problem = &subject->rivals.problem;

    printf("profile %d, %d layers, request %" PRId64 ", io %s, planner %s, budget %" PRId64,
           subject->number, problem->profile->n_layers, problem->request, vbs_io_word(problem->io),
           subject->planner, subject->budget);
}

static void check(struct subject *subject, enum property property, bool holds)
{
    tally_check(&subject->tally, (int)property, holds);
}

static void check_frontier(struct subject *subject, const struct rival *rival)
{
    const struct vbs_frontier *frontier = rival->frontier;
    bool rises = true, falls = true;

    subject->planner = rival->name;
    for (int i = 1; i < frontier->n_points; i++) {
        rises = rises && frontier->points[i].memory_bytes > frontier->points[i - 1].memory_bytes;
        falls = falls && frontier->points[i].time_us < frontier->points[i - 1].time_us;
    }
    check(subject, FRONTIER_SHAPE,
          rises && frontier->n_points > 0 &&
              frontier->points[0].memory_bytes == rival->least_bytes);
    if (!rival->may_slow_down)
        check(subject, FALLING, falls);
}

/* Checks the optimum with which the others are compared: its path replays to its time. */
static void check_path(struct subject *subject)
{
    struct vbs_step steps[MAX_LAYERS * MAX_REQUEST];
    const struct vbs_problem *problem = &subject->rivals.problem;
    struct vbs_schedule schedule = {
        .model = "",
        .planner = "brute force",
        .request = problem->request,
        .memory_bytes = subject->budget,
        .io = problem->io,
        .n_algorithms = problem->profile->n_algorithms,
        .algorithms = problem->profile->algorithms,
        .n_steps = brute_optimum_path(subject->lattice, subject->budget, steps),
        .steps = steps,
    };
    struct vbs_replay *replay = NULL;

    subject->planner = schedule.planner;
    if (subject->optimum_us == HUGE_VAL) {
        check(subject, PATH, schedule.n_steps == 0);
        return;
    }
    check(subject, PATH,
          vbs_replay_run(NULL, problem->profile, &schedule, -1, false, &replay) == VBS_OK &&
              replay->fits && replay->time_us == subject->optimum_us);
    vbs_replay_free(replay);
}

static void check_definition(struct subject *subject, double time_us)
{
    const struct vbs_problem *problem = &subject->rivals.problem;

    if (strcmp(subject->planner, "fbs") == 0)
        check(subject, FBS, time_us == brute_fbs_us(problem, subject->budget));
    if (strcmp(subject->planner, "fbs-best") == 0)
        check(subject, FBS_BEST, time_us == brute_fbs_best_us(problem, subject->budget));
    if (strcmp(subject->planner, "greedy-vbs") == 0)
        check(subject, GREEDY, time_us == brute_greedy_us(problem, subject->budget));
}

static void check_outcome(struct subject *subject, int planner, const struct outcome *plan)
{
    const struct rival *rival = &subject->rivals.list[planner];
    bool is_optimal = planner == subject->optimal;
    double bound_us = fmin(subject->bound_us, plan->time_us);

    subject->planner = rival->name;
    check(subject, SOLVED, plan->status == VBS_OK || plan->status == VBS_INFEASIBLE);
    check(subject, LEAST, (plan->status == VBS_OK) == (subject->budget >= rival->least_bytes));
    check(subject, FRONTIER, plan->time_us == rival_frontier_us(rival, subject->budget));
    check(subject, OPTIMUM, plan->time_us >= subject->optimum_us);
    check_definition(subject, plan->time_us);
    if (plan->status != VBS_OK)
        return;
    check(subject, REPLAY, plan->is_valid);
    check(subject, TIME, plan->is_timed);
    check(subject, PEAK, plan->fits);
    check(subject, PLAN_BOUND,
          is_optimal ? plan->bound_us >= bound_us && plan->bound_us <= subject->optimum_us
                     : fabs(plan->bound_us - bound_us) <= 1e-9 * bound_us);
    check(subject, GAP,
          plan->bound_us == 0 ? plan->gap_percent == 0
                              : fabs(plan->gap_percent - 100 * (plan->time_us - plan->bound_us) /
                                                             plan->bound_us) < 1e-9);
    if (is_optimal || planner == subject->dp_vbs_plus)
        check(subject, EXACT, plan->reserved_bytes == plan->peak_bytes);
}

static void check_optimal(struct subject *subject, const struct outcome *plan)
{
    subject->planner = "optimal";
    check(subject, REACHED, plan->time_us == subject->optimum_us);
    if (plan->status == VBS_OK)
        check(subject, PROVEN, plan->bound_us == plan->time_us && plan->gap_percent == 0);
}

static void count_miss(struct misses *misses, double time_us, double optimum_us)
{
    if (time_us == HUGE_VAL) {
        misses->n_infeasible++;
    } else if (time_us > optimum_us) {
        misses->n_slower++;
        if (optimum_us > 0 && time_us / optimum_us > misses->worst_ratio)
            misses->worst_ratio = time_us / optimum_us;
    }
}

/* Checks a budget. before_us: the planners' times at the budget before. */
static void check_budget(struct subject *subject, double *before_us)
{
    const struct rivals *rivals = &subject->rivals;
    struct outcome plans[MAX_RIVALS];

    subject->planner = "any";
    subject->optimum_us = brute_optimum_us(subject->lattice, subject->budget);
    check(subject, BOUND,
          vbs_bound_us(NULL, &rivals->problem, subject->budget, &subject->bound_us) == VBS_OK &&
              subject->bound_us <= subject->optimum_us);
    check_path(subject);
    for (int p = 0; p < rivals->n; p++) {
        plans[p] = rival_plan(rivals, p, subject->budget);
        check_outcome(subject, p, &plans[p]);
        if (!rivals->list[p].may_slow_down)
            check(subject, FALLING, plans[p].time_us <= before_us[p]);
        before_us[p] = plans[p].time_us;
        if (subject->optimum_us < HUGE_VAL)
            count_miss(&subject->misses[p], plans[p].time_us, subject->optimum_us);
    }
    check_optimal(subject, &plans[subject->optimal]);
    for (int p = 0; p < rivals->n; p++) {
        subject->planner = rivals->list[p].name;
        if (p != subject->optimal)
            check(subject, PLUS, plans[subject->dp_vbs_plus].time_us <= plans[p].time_us);
    }
    subject->n_budgets += subject->optimum_us < HUGE_VAL;
}

/* Chooses every breakpoint of every planner, the lattice's least budget, one byte below each, and
 * some at random. */
static void choose_budgets(gsl_rng *rng, struct subject *subject)
{
    struct rivals *rivals = &subject->rivals;
    int64_t least = brute_least_bytes(subject->lattice), most = rivals_add_breakpoints(rivals);

    rivals_add_budget(rivals, 0);
    rivals_add_budget(rivals, least);
    rivals_add_budget(rivals, least - 1);
    for (int i = 0; i < 5; i++)
        rivals_add_budget(rivals, random_int(rng, 0, (int)most + 10));
    rivals_add_budget(rivals, INT64_MAX);
    rivals_sort_budgets(rivals);
    subject->planner = "optimal";
    check(subject, LEAST_REACHED, rivals->list[subject->optimal].least_bytes == least);
}

/* Uses a fresh solver for some budgets in any order. */
static void check_any_order(gsl_rng *rng, struct subject *subject)
{
    const struct rivals *rivals = &subject->rivals;
    struct vbs_solver *solver = NULL;
    bool had = vbs_solver_new(NULL, vbs_planner_at(subject->optimal), &rivals->problem, NULL,
                              &solver) == VBS_OK;

    subject->planner = "optimal";
    for (int i = 0; had && i < N_ORDERED; i++) {
        struct vbs_schedule *schedule = NULL;
        double optimum_us;

        subject->budget = rivals->budgets[random_int(rng, 0, rivals->n_budgets - 1)];
        optimum_us = brute_optimum_us(subject->lattice, subject->budget);
        if (vbs_solver_plan(NULL, solver, subject->budget, &schedule) == VBS_OK)
            check(subject, ANY_ORDER,
                  schedule->predicted.time_us == optimum_us &&
                      schedule->bound.time_us == optimum_us);
        else
            check(subject, ANY_ORDER, optimum_us == HUGE_VAL);
        vbs_schedule_free(schedule);
    }
    vbs_solver_free(solver);
}

static void check_problem(gsl_rng *rng, struct subject *subject, const struct vbs_problem *problem)
{
    struct rivals *rivals = &subject->rivals;
    double before_us[MAX_RIVALS];
    struct vbs_ctx ctx = {0};
    enum vbs_status status = rivals_open(&ctx, rivals, problem, 0, &subject->planner);

    subject->budget = 0;
    check(subject, SOLVED, status == VBS_OK);
    if (status != VBS_OK) {
        printf("# %s\n", vbs_detail(&ctx));
        return;
    }
    subject->dp_vbs_plus = rivals_find(rivals, "dp-vbs+");
    subject->optimal = rivals_find(rivals, "optimal");
    subject->lattice = brute_lattice_new(problem);
    for (int p = 0; p < rivals->n; p++) {
        check_frontier(subject, &rivals->list[p]);
        before_us[p] = HUGE_VAL;
    }
    choose_budgets(rng, subject);
    for (int i = 0; i < rivals->n_budgets; i++) {
        subject->budget = rivals->budgets[i];
        check_budget(subject, before_us);
    }
    check_any_order(rng, subject);
    subject->n_problems++;
    brute_lattice_free(subject->lattice);
    rivals_close(rivals);
}

/* Gives the largest request up to limit whose lattice stays small. */
static int bounded_request(const struct vbs_profile *profile, int limit)
{
    int request = 0;
    double codes;

    do {
        request++;
        codes = pow(request + 2, profile->n_layers);
    } while (request < limit && codes <= MAX_CODES);
    return request;
}

static const char *const GRAPH_NAMES[] = {"linear", "branched", "arbitrary"};

static void print_misses(const struct subject *subject, enum random_graph graph)
{
    printf("# %s: %d problems at %d budgets where a schedule fits\n", GRAPH_NAMES[graph],
           subject->n_problems, subject->n_budgets);
    for (int p = 0; vbs_planner_at(p) && p < MAX_RIVALS; p++) {
        const struct misses *misses = &subject->misses[p];

        if (vbs_planner_estimates(vbs_planner_at(p)))
            break; /* they come last */
        printf("#   %s: slower than the optimum at %d (%.1f%%), by up to %.1f%%; infeasible at %d "
               "(%.1f%%)\n",
               vbs_planner_name(vbs_planner_at(p)), misses->n_slower,
               100.0 * misses->n_slower / subject->n_budgets,
               misses->worst_ratio > 0 ? 100 * (misses->worst_ratio - 1) : 0.0,
               misses->n_infeasible, 100.0 * misses->n_infeasible / subject->n_budgets);
    }
}

static void test_graph(enum random_graph graph, int n_profiles, unsigned long seed)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct subject *subject = calloc(1, sizeof *subject);
    int n_refused = 0;

    gsl_rng_set(rng, seed + (unsigned long)graph);
    subject->tally = tally_of(N_PROPERTIES, PROPERTY_TEXTS, describe, subject);
    for (int i = 0; i < n_profiles; i++) {
        struct vbs_profile *profile = random_profile(rng, graph, MAX_LAYERS);
        struct vbs_problem problem = {.profile = profile};

        if (!profile) {
            n_refused++;
            continue;
        }
        subject->number = i;
        problem.request = bounded_request(profile, random_int(rng, 1, MAX_REQUEST));
        for (int io = VBS_IO_EXTERNAL; io <= VBS_IO_RESIDENT; io++) {
            problem.io = (enum vbs_io)io;
            check_problem(rng, subject, &problem);
        }
        vbs_profile_free(profile);
    }
    is_int(n_refused, 0, "random profiles are profiles");
    tally_report(&subject->tally, GRAPH_NAMES[graph]);
    print_misses(subject, graph);
    free(subject);
    gsl_rng_free(rng);
}

/* Compares the references with the figures that the paper gives for its example. */
static void test_references(void)
{
    struct vbs_profile *profile = example_profile();
    struct vbs_problem problem = {.profile = profile, .request = 2, .io = VBS_IO_RESIDENT};
    struct brute_lattice *lattice = brute_lattice_new(&problem);

    is_near(brute_fbs_us(&problem, 7), 24, 0, "fixed batch gives VBS III 12 us per sample");
    is_near(brute_fbs_best_us(&problem, 7), 24, 0, "so does the best fixed batch");
    is_near(brute_optimum_us(lattice, 7), 20, 0, "no path takes less than 10");
    is_int(brute_least_bytes(lattice), 7, "nor is there a path with a byte less");
    brute_lattice_free(lattice);
    vbs_profile_free(profile);
}

int main(int argc, char **argv)
{
    struct trials trials = trials_of(argc, argv, N_PROFILES, SEED, "profiles per kind of graph");

    test_references();
    for (int graph = 0; graph < RANDOM_N_GRAPHS; graph++)
        test_graph((enum random_graph)graph, trials.n, trials.seed);
    return done_testing();
}
