/*
 * Relations between the planners (which is never slower than which) on random networks that are too
 * large for the slow references: 8 to 40 layers, requests of up to 12 samples, with and without a
 * bound of the latency; optimal has so little time that it seldom comes to an end. Times are any
 * fractions, so that equal ones may differ by rounding. Arguments: number of profiles per kind of
 * graph, seed.
 */
#include "cases/random_profile.h"
#include "reference/plan/rivals.h"
#include "support/tally.h"
#include "support/trials.h"

#include <stdlib.h>

#define SEED         2718
#define N_PROFILES   5 /* per kind of graph, each with both io and N_LATENCIES bounds */
#define N_LATENCIES  2 /* none, and one */
#define MIN_LAYERS   8
#define MAX_REQUEST  12
#define MAX_CELLS    40000 /* layers^2 x request^2 */
#define N_BUDGETS    3     /* chosen of each problem, beside the ends */
#define TIME_LIMIT_S 0.004
#define MORE_TIME_S  0.02
#define ROUNDING     1e-9

#define PROPERTY_LIST(X)                                                                           \
    X(SOLVED, "solvers, frontiers and plans are had without errors")                               \
    X(REPLAY, "the replay accepts the plan")                                                       \
    X(TIME, "replayed time and latency are the predicted ones")                                    \
    X(PEAK, "replayed peak = predicted peak <= reserved <= budget")                                \
    X(LATENCY, "the bound of the latency is kept")                                                 \
    X(EXACT, "dp-vbs+ and optimal reserve the peak, no more")                                      \
    X(LEAST, "feasible from the solver's least budget on, never below but optimal")                \
    X(LEAST_ORDER, "none needs less than optimal, none but optimal less than dp-vbs+")             \
    X(FALLING, "a larger budget never plans slower: all but fbs and greedy-vbs")                   \
    X(PLUS, "dp-vbs+ is as fast as every planner but optimal, and feasible where they are")        \
    X(OPTIMAL, "optimal is as fast as dp-vbs+, and feasible where it is, however little time")     \
    X(BOUND, "no bound of any plan is above any plan")                                             \
    X(ANYTIME, "bounds hold against what is found with more time, and the other way round")

enum property { TALLY_ENUM(PROPERTY_LIST, N_PROPERTIES) };
static const char *const PROPERTY_TEXTS[] = {TALLY_TEXTS(PROPERTY_LIST)};

struct subject {
    struct tally tally;
    int number; /* of the profile */
    struct rivals rivals;
    int dp_vbs_plus, optimal;   /* among the rivals */
    struct vbs_solver *patient; /* optimal with more time */
    const char *planner;        /* that is being checked */
    int64_t budget;
    int n_plans, n_patient, n_faster; /* plans with more time, and those that it made faster */
};

static void describe(const void *self)
{
    const struct subject *subject = self;
    const struct vbs_problem *problem = &subject->rivals.problem;

    printf("profile %d, %d layers, request %" PRId64
           ", io %s, latency %.17g, planner %s, budget %" PRId64,
           subject->number, problem->profile->n_layers, problem->request, vbs_io_word(problem->io),
           problem->latency_us, subject->planner, subject->budget);
}

static void check(struct subject *subject, enum property property, bool holds)
{
    tally_check(&subject->tally, (int)property, holds);
}

/* Gives whether a is at most b, except for rounding; HUGE_VAL is at most HUGE_VAL. */
static bool at_most(double a, double b)
{
    return a <= b * (1 + ROUNDING);
}

/* Compares a planner's least budget with its plan at this one. */
static void check_least(struct subject *subject, int planner, bool is_feasible)
{
    const struct rival *rival = &subject->rivals.list[planner];
    bool is_promised = rival->least_bytes < INT64_MAX && subject->budget >= rival->least_bytes;

    if (subject->rivals.problem.latency_us > 0 && rival->may_be_late)
        return; /* larger batches may be too late */
    if (planner == subject->optimal)
        check(subject, LEAST, is_feasible || !is_promised); /* it had no time to look further */
    else
        check(subject, LEAST, is_feasible == is_promised);
}

static void check_outcome(struct subject *subject, int planner, const struct outcome *plan)
{
    subject->planner = subject->rivals.list[planner].name;
    subject->n_plans += plan->status == VBS_OK;
    check(subject, SOLVED, plan->status == VBS_OK || plan->status == VBS_INFEASIBLE);
    check_least(subject, planner, plan->status == VBS_OK);
    if (plan->status != VBS_OK)
        return;
    check(subject, REPLAY, plan->is_valid);
    check(subject, TIME, plan->is_timed);
    check(subject, PEAK, plan->fits);
    check(subject, LATENCY, plan->in_time);
    if (planner == subject->optimal || planner == subject->dp_vbs_plus)
        check(subject, EXACT, plan->reserved_bytes == plan->peak_bytes);
}

static void check_patient(struct subject *subject, const struct outcome *hasty)
{
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status = vbs_solver_plan(NULL, subject->patient, subject->budget, &schedule);

    subject->planner = "optimal";
    check(subject, SOLVED, status == VBS_OK || status == VBS_INFEASIBLE);
    if (status != VBS_OK || hasty->status != VBS_OK) {
        vbs_schedule_free(schedule);
        return;
    }
    check(subject, ANYTIME,
          at_most(hasty->bound_us, schedule->predicted.time_us) &&
              at_most(schedule->bound.time_us, hasty->time_us));
    subject->n_patient++;
    subject->n_faster += schedule->predicted.time_us < hasty->time_us * (1 - ROUNDING);
    vbs_schedule_free(schedule);
}

static void check_budget(struct subject *subject, double *before_us)
{
    const struct rivals *rivals = &subject->rivals;
    struct outcome plans[MAX_RIVALS];
    double bound_us = 0;

    for (int p = 0; p < rivals->n; p++) {
        plans[p] = rival_plan(rivals, p, subject->budget);
        check_outcome(subject, p, &plans[p]);
        if (!rivals->list[p].may_slow_down)
            check(subject, FALLING, at_most(plans[p].time_us, before_us[p]));
        before_us[p] = plans[p].time_us;
        if (plans[p].status == VBS_OK)
            bound_us = fmax(bound_us, plans[p].bound_us);
    }
    for (int p = 0; p < rivals->n; p++) {
        subject->planner = rivals->list[p].name;
        check(subject, BOUND, at_most(bound_us, plans[p].time_us));
        if (p != subject->optimal)
            check(subject, PLUS, at_most(plans[subject->dp_vbs_plus].time_us, plans[p].time_us));
    }
    subject->planner = "optimal";
    check(subject, OPTIMAL,
          at_most(plans[subject->optimal].time_us, plans[subject->dp_vbs_plus].time_us));
    check_patient(subject, &plans[subject->optimal]);
}

static void check_least_order(struct subject *subject)
{
    const struct rival *list = subject->rivals.list;

    for (int p = 0; p < subject->rivals.n; p++) {
        subject->planner = list[p].name;
        check(subject, LEAST_ORDER,
              list[p].least_bytes >= list[subject->optimal].least_bytes &&
                  (p == subject->optimal ||
                   list[p].least_bytes >= list[subject->dp_vbs_plus].least_bytes));
    }
}

/* Chooses the least budgets of all planners and one byte below, some breakpoints of any, and no
 * limit. */
static void choose_budgets(gsl_rng *rng, struct rivals *rivals)
{
    rivals_add_budget(rivals, 0);
    for (int p = 0; p < rivals->n; p++)
        if (rivals->list[p].least_bytes < INT64_MAX) {
            rivals_add_budget(rivals, rivals->list[p].least_bytes);
            rivals_add_budget(rivals, rivals->list[p].least_bytes - 1);
        }
    for (int i = 0; i < N_BUDGETS; i++) {
        const struct vbs_frontier *frontier =
            rivals->list[random_int(rng, 0, rivals->n - 1)].frontier;

        if (frontier)
            rivals_add_budget(
                rivals, frontier->points[random_int(rng, 0, frontier->n_points - 1)].memory_bytes -
                            random_int(rng, 0, 1));
    }
    rivals_add_budget(rivals, INT64_MAX);
    rivals_sort_budgets(rivals);
}

static bool open_patient(struct subject *subject, const struct vbs_problem *problem)
{
    const struct vbs_planner *planner;
    struct vbs_solver_options options = {.struct_size = sizeof(struct vbs_solver_options),
                                         .time_limit_s = MORE_TIME_S};

    return vbs_planner_find(NULL, "optimal", &planner) == VBS_OK &&
           vbs_solver_new(NULL, planner, problem, &options, &subject->patient) == VBS_OK;
}

static void check_problem(gsl_rng *rng, struct subject *subject, const struct vbs_problem *problem)
{
    struct rivals *rivals = &subject->rivals;
    double before_us[MAX_RIVALS];
    struct vbs_ctx ctx = {0};
    enum vbs_status status = rivals_open(&ctx, rivals, problem, TIME_LIMIT_S, &subject->planner);

    subject->budget = 0;
    check(subject, SOLVED, status == VBS_OK);
    if (status != VBS_OK) {
        printf("# %s\n", vbs_detail(&ctx));
        return;
    }
    subject->dp_vbs_plus = rivals_find(rivals, "dp-vbs+");
    subject->optimal = rivals_find(rivals, "optimal");
    if (!open_patient(subject, problem)) {
        check(subject, SOLVED, false);
        rivals_close(rivals);
        return;
    }
    check_least_order(subject);
    choose_budgets(rng, rivals);
    for (int p = 0; p < rivals->n; p++)
        before_us[p] = HUGE_VAL;
    for (int i = 0; i < rivals->n_budgets; i++) {
        subject->budget = rivals->budgets[i];
        check_budget(subject, before_us);
    }
    vbs_solver_free(subject->patient);
    rivals_close(rivals);
}

/* Chooses a bound between the wait of one sample alone and the time of the whole request, as
 * fbs-best plans them. */
static double choose_latency(gsl_rng *rng, const struct vbs_problem *problem)
{
    double times_us[2] = {0, 0};

    for (int i = 0; i < 2; i++) {
        struct vbs_problem part = *problem;
        const struct vbs_planner *planner;
        struct vbs_solver *solver = NULL;
        struct vbs_schedule *schedule = NULL;

        if (i == 0)
            part.request = 1;
        if (vbs_planner_find(NULL, "fbs-best", &planner) == VBS_OK &&
            vbs_solver_new(NULL, planner, &part, NULL, &solver) == VBS_OK &&
            vbs_solver_plan(NULL, solver, INT64_MAX, &schedule) == VBS_OK)
            times_us[i] = schedule->predicted.time_us;
        vbs_schedule_free(schedule);
        vbs_solver_free(solver);
    }
    return fmax(times_us[0] + (times_us[1] - times_us[0]) * gsl_rng_uniform(rng), 1e-3);
}

static void check_profile(gsl_rng *rng, struct subject *subject, const struct vbs_profile *profile)
{
    int n = profile->n_layers, most = (int)(sqrt(MAX_CELLS) / n);
    struct vbs_problem problem = {
        .profile = profile, .request = random_int(rng, 2, most < MAX_REQUEST ? most : MAX_REQUEST)};

    for (int io = VBS_IO_EXTERNAL; io <= VBS_IO_RESIDENT; io++)
        for (int i = 0; i < N_LATENCIES; i++) {
            problem.io = (enum vbs_io)io;
            problem.latency_us = 0;
            if (i > 0)
                problem.latency_us = choose_latency(rng, &problem);
            check_problem(rng, subject, &problem);
        }
}

static const char *const GRAPH_NAMES[] = {"linear", "branched", "arbitrary"};

static void test_graph(enum random_graph graph, int n_profiles, unsigned long seed)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct subject *subject = calloc(1, sizeof *subject);
    int n_refused = 0;

    gsl_rng_set(rng, seed + (unsigned long)graph);
    subject->tally = tally_of(N_PROPERTIES, PROPERTY_TEXTS, describe, subject);
    for (int i = 0; i < n_profiles; i++) {
        int n_layers = random_int(rng, MIN_LAYERS, RANDOM_LARGE_LAYERS);
        struct vbs_profile *profile = random_large_profile(rng, graph, n_layers);

        subject->number = i;
        if (profile)
            check_profile(rng, subject, profile);
        n_refused += !profile;
        vbs_profile_free(profile);
    }
    is_int(n_refused, 0, "random profiles are profiles");
    tally_report(&subject->tally, GRAPH_NAMES[graph]);
    printf("# %s: %d plans; with more time optimal is faster at %d of %d\n", GRAPH_NAMES[graph],
           subject->n_plans, subject->n_faster, subject->n_patient);
    free(subject);
    gsl_rng_free(rng);
}

int main(int argc, char **argv)
{
    struct trials trials = trials_of(argc, argv, N_PROFILES, SEED, "profiles per kind of graph");

    for (int graph = 0; graph < RANDOM_N_GRAPHS; graph++)
        test_graph((enum random_graph)graph, trials.n, trials.seed);
    return done_testing();
}
