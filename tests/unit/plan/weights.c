/*
 * Planners with weights inside the budget, on small random networks and links: every plan is
 * replayed, at the breakpoints of all planners and one byte below. What must hold between planners,
 * and where limits lead back to weights excluded. Arguments: problems per kind, seed.
 */
#include "cases/random_weights.h"
#include "reference/plan/rivals.h"
#include "support/tally.h"
#include "support/trials.h"

#include "vbslab/replay.h"

#include <stdlib.h>

#define SEED        90210
#define N_PROBLEMS  8 /* per kind */
#define MAX_LAYERS  5
#define MAX_REQUEST 3
#define MAX_BUDGETS 60 /* tried of each problem */
#define ROUNDING    1e-9

#define PROPERTY_LIST(X)                                                                           \
    X(SOLVED, "solvers, frontiers and plans are had without errors")                               \
    X(REPLAY, "the replay accepts the plan")                                                       \
    X(TIME, "replayed times and copies are the predicted ones")                                    \
    X(PEAK, "replayed peak = predicted peak <= reserved <= budget")                                \
    X(LATENCY, "the bound of the latency is kept")                                                 \
    X(LEAST, "feasible from the solver's least budget on, never below")                            \
    X(FRONTIER, "the frontier says the time of the plan")                                          \
    X(FALLING, "a larger budget never plans slower: all but fbs and greedy-vbs")                   \
    X(BOUND, "no plan is faster than its bound")                                                   \
    X(JOINT, "joint is as fast as every other planner but optimal, and feasible where they are")

enum property { TALLY_ENUM(PROPERTY_LIST, N_PROPERTIES) };
static const char *const PROPERTY_TEXTS[] = {TALLY_TEXTS(PROPERTY_LIST)};

struct subject {
    struct tally tally;
    int number; /* of the problem */
    struct rivals rivals;
    int joint, optimal; /* among the rivals */
    const char *planner;
    int64_t budget;
    int n_plans;
};

static void describe(const void *self)
{
    const struct subject *subject = self;
    const struct vbs_problem *problem = &subject->rivals.problem;

    printf("problem %d, %d layers, request %" PRId64
           ", io %s, latency %.17g, copies %g us and %g bytes/us%s, planner %s, budget %" PRId64,
           subject->number, problem->profile->n_layers, problem->request, vbs_io_word(problem->io),
           problem->latency_us, problem->copy.latency_us, problem->copy.bytes_per_us,
           problem->copy.beside ? ", slowed down" : "", subject->planner, subject->budget);
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

static bool same(double a, double b)
{
    return at_most(a, b) && at_most(b, a);
}

static bool is_one_of(const struct rival *rival, const char *one, const char *other)
{
    return strcmp(rival->name, one) == 0 || strcmp(rival->name, other) == 0;
}

static void check_plan(struct subject *subject, const struct rival *rival,
                       const struct outcome *plan)
{
    bool is_promised = rival->least_bytes < INT64_MAX && subject->budget >= rival->least_bytes;
    bool is_late_greedy = subject->rivals.problem.latency_us > 0 &&
                          is_one_of(rival, "greedy-vbs", ""); /* larger batches may be too late */

    check(subject, SOLVED, plan->status == VBS_OK || plan->status == VBS_INFEASIBLE);
    check(subject, LEAST, is_late_greedy || (plan->status == VBS_OK) == is_promised);
    check(subject, FRONTIER, same(rival_frontier_us(rival, subject->budget), plan->time_us));
    if (plan->status != VBS_OK)
        return;
    subject->n_plans++;
    check(subject, REPLAY, plan->is_valid);
    check(subject, TIME, plan->is_timed);
    check(subject, PEAK, plan->fits);
    check(subject, LATENCY, plan->in_time);
    check(subject, BOUND, at_most(plan->bound_us, plan->time_us));
}

static void check_budget(struct subject *subject, double *before_us)
{
    const struct rivals *rivals = &subject->rivals;
    struct outcome plans[MAX_RIVALS];
    double bound_us = 0;

    if (vbs_bound_us(NULL, &rivals->problem, subject->budget, &bound_us) != VBS_OK)
        check(subject, SOLVED, false);
    for (int p = 0; p < rivals->n; p++) {
        subject->planner = rivals->list[p].name;
        plans[p] = rival_plan(rivals, p, subject->budget);
        check_plan(subject, &rivals->list[p], &plans[p]);
        if (!is_one_of(&rivals->list[p], "fbs", "greedy-vbs"))
            check(subject, FALLING, at_most(plans[p].time_us, before_us[p]));
        check(subject, BOUND, at_most(bound_us, plans[p].time_us));
        before_us[p] = plans[p].time_us;
    }
    for (int p = 0; p < rivals->n; p++) {
        subject->planner = rivals->list[p].name;
        if (p != subject->optimal)
            check(subject, JOINT, at_most(plans[subject->joint].time_us, plans[p].time_us));
    }
}

static bool open_rivals(struct subject *subject, const struct vbs_problem *problem)
{
    struct vbs_ctx ctx = {0};
    enum vbs_status status = rivals_open(&ctx, &subject->rivals, problem, 0, &subject->planner);

    subject->budget = 0;
    check(subject, SOLVED, status == VBS_OK);
    if (status != VBS_OK) {
        printf("# %s\n", vbs_detail(&ctx));
        return false;
    }
    subject->joint = rivals_find(&subject->rivals, "joint");
    subject->optimal = rivals_find(&subject->rivals, "optimal");
    return true;
}

static void check_problem(struct subject *subject, const struct vbs_problem *problem)
{
    struct rivals *rivals = &subject->rivals;
    double before_us[MAX_RIVALS];
    int step;

    if (!open_rivals(subject, problem))
        return;
    rivals_add_breakpoints(rivals);
    rivals_add_budget(rivals, INT64_MAX);
    rivals_sort_budgets(rivals);
    for (int p = 0; p < rivals->n; p++)
        before_us[p] = HUGE_VAL;
    step = rivals->n_budgets / MAX_BUDGETS + 1;
    for (int i = 0; i < rivals->n_budgets; i++) {
        if (i % (2 * step) > 1 && i + 1 < rivals->n_budgets)
            continue; /* pairs, a byte apart mostly */
        subject->budget = rivals->budgets[i];
        check_budget(subject, before_us);
    }
    rivals_close(rivals);
}

/* factors: [RANDOM_MAX_LAYERS + 1], of the link. */
static struct vbs_problem random_problem(gsl_rng *rng, const struct vbs_profile *profile,
                                         double *factors)
{
    struct vbs_problem problem = {.profile = profile,
                                  .request = random_int(rng, 1, MAX_REQUEST),
                                  .io = random_once_in(rng, 2) ? VBS_IO_RESIDENT : VBS_IO_EXTERNAL,
                                  .weights = VBS_WEIGHTS_INCLUDED,
                                  .copy = random_link(rng)};

    if (random_once_in(rng, 2))
        problem.copy.beside = random_beside(rng, profile->n_layers, factors);
    return problem;
}

/* Gives the time of planner in a budget; HUGE_VAL: infeasible; NAN: an error, or no such
 * planner. */
static double time_of(const struct vbs_problem *problem, const char *name, int64_t budget)
{
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    double time_us = NAN;

    if (vbs_planner_find(NULL, name, &planner) == VBS_OK &&
        vbs_solver_new(NULL, planner, problem, NULL, &solver) == VBS_OK) {
        enum vbs_status status = vbs_solver_plan(NULL, solver, budget, &schedule);

        time_us = status == VBS_OK           ? schedule->predicted.time_us
                  : status == VBS_INFEASIBLE ? HUGE_VAL
                                             : NAN;
    }
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
    return time_us;
}

/* Chooses a bound between the wait of one sample, with all weights resident, and a few times that
 * wait. */
static double choose_latency(gsl_rng *rng, const struct vbs_problem *problem)
{
    struct vbs_problem single = *problem;
    double time_us;

    single.request = 1;
    time_us = time_of(&single, "dp-vbs+", INT64_MAX);
    return fmax(time_us * (0.9 + 2 * gsl_rng_uniform(rng)), 1e-3);
}

/* ---- What must hold everywhere ---- */

/* said: rows have their own numbers of slices. */
static void test_relations(enum random_graph graph, bool with_latency, bool said, const char *name,
                           int n, unsigned long seed)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct subject *subject = calloc(1, sizeof *subject);

    gsl_rng_set(rng, seed + 10 * (unsigned long)graph + with_latency);
    subject->tally = tally_of(N_PROPERTIES, PROPERTY_TEXTS, describe, subject);
    for (int i = 0; i < n; i++) {
        struct vbs_profile *profile = random_weights_profile(rng, graph, MAX_LAYERS, i % 2);
        struct vbs_problem problem;
        double factors[RANDOM_MAX_LAYERS + 1];

        subject->number = i;
        if (said)
            profile = say_slices(rng, profile, false);
        if (!profile)
            continue;
        problem = random_problem(rng, profile, factors);
        if (with_latency)
            problem.latency_us = choose_latency(rng, &problem);
        check_problem(subject, &problem);
        vbs_profile_free(profile);
    }
    tally_report(&subject->tally, name);
    printf("# %s: %d plans\n", name, subject->n_plans);
    free(subject);
    gsl_rng_free(rng);
}

/* ---- Limits ---- */

/* A problem, its breakpoints with weights included, and the same with weights excluded. */
struct limit {
    struct vbs_profile *profile;
    struct vbs_problem problem, excluded;
    struct rivals rivals;
    int joint, plus;
    int64_t weight_bytes; /* of all layers, format 0 */
    double factors[RANDOM_MAX_LAYERS + 1];
};

static bool limit_open(gsl_rng *rng, bool two_formats, struct limit *limit)
{
    *limit = (struct limit){0};
    limit->profile = random_weights_profile(rng, random_int(rng, 0, RANDOM_N_GRAPHS - 1),
                                            MAX_LAYERS, two_formats);
    if (!limit->profile)
        return false;
    limit->problem = random_problem(rng, limit->profile, limit->factors);
    limit->excluded = limit->problem;
    limit->excluded.weights = VBS_WEIGHTS_EXCLUDED;
    for (int k = 1; k <= limit->profile->n_layers; k++)
        limit->weight_bytes += limit->profile->layers[k].weight_bytes;
    return true;
}

static bool limit_open_rivals(struct limit *limit)
{
    const char *which;

    if (rivals_open(NULL, &limit->rivals, &limit->problem, 0, &which) != VBS_OK)
        return false;
    limit->joint = rivals_find(&limit->rivals, "joint");
    limit->plus = rivals_find(&limit->rivals, "dp-vbs+");
    rivals_add_breakpoints(&limit->rivals);
    rivals_sort_budgets(&limit->rivals);
    return true;
}

static void limit_close(struct limit *limit)
{
    rivals_close(&limit->rivals);
    vbs_profile_free(limit->profile);
}

/* Without copies all weights are resident: joint is dp-vbs+ beside them, at every budget. */
static bool without_copies(struct limit *limit)
{
    bool holds = true;

    limit->problem.copy.bytes_per_us = 0;
    if (!limit_open_rivals(limit))
        return false;
    for (int i = 0; holds && i < limit->rivals.n_budgets; i++) {
        int64_t budget = limit->rivals.budgets[i];

        holds = same(rival_plan(&limit->rivals, limit->joint, budget).time_us,
                     rival_plan(&limit->rivals, limit->plus, budget).time_us);
    }
    return holds;
}

#define LARGE_REQUEST 96 /* more samples than joint plans in one chunk */

static struct vbs_frontier *frontier_of(const struct vbs_problem *problem, const char *planner)
{
    const struct vbs_planner *found = NULL;
    struct vbs_solver *solver = NULL;
    struct vbs_frontier *frontier = NULL;

    if (vbs_planner_find(NULL, planner, &found) == VBS_OK &&
        vbs_solver_new(NULL, found, problem, NULL, &solver) == VBS_OK &&
        vbs_solver_frontier(NULL, solver, &frontier) != VBS_OK)
        frontier = NULL;
    vbs_solver_free(solver);
    return frontier;
}

/* A request that joint plans in chunks: it is never slower than dp-vbs+ beside resident weights. */
static bool large_request(struct limit *limit)
{
    struct vbs_frontier *joint, *plus;
    bool holds;
    int at = -1;

    limit->problem.request = LARGE_REQUEST;
    joint = frontier_of(&limit->problem, "joint");
    plus = frontier_of(&limit->problem, "dp-vbs+");
    holds = joint && plus && plus->n_points > 0;
    for (int i = 0; holds && i < plus->n_points; i++) {
        while (at + 1 < joint->n_points &&
               joint->points[at + 1].memory_bytes <= plus->points[i].memory_bytes)
            at++;
        holds = at >= 0 && joint->points[at].time_us <= plus->points[i].time_us * (1 + ROUNDING);
    }
    vbs_frontier_free(joint);
    vbs_frontier_free(plus);
    return holds;
}

/* All weights are resident then, and nothing but dp-vbs+ itself is as fast at every budget. */
static bool large_without_copies(struct limit *limit)
{
    limit->problem.copy.bytes_per_us = 0;
    return large_request(limit);
}

#define ANY_TIME_S 1e9 /* no test waits for a limit */

/* Plans within a budget that is known before; null: infeasible, or an error. */
static struct vbs_schedule *plan_in_time(const struct vbs_problem *problem, const char *planner,
                                         int64_t budget)
{
    struct vbs_solver_options options = {
        .struct_size = sizeof options, .most_bytes = budget, .time_limit_s = ANY_TIME_S};
    const struct vbs_planner *found = NULL;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;

    if (vbs_planner_find(NULL, planner, &found) == VBS_OK &&
        vbs_solver_new(NULL, found, problem, &options, &solver) == VBS_OK &&
        vbs_solver_plan(NULL, solver, budget, &schedule) != VBS_OK)
        schedule = NULL;
    vbs_solver_free(solver);
    return schedule;
}

static bool is_valid(const struct vbs_problem *problem, const struct vbs_schedule *schedule,
                     int64_t budget)
{
    struct vbs_replay *replay = NULL;
    bool holds = vbs_replay_run(NULL, problem->profile, schedule, budget, false, &replay) == VBS_OK;

    holds = holds && replay->fits && same(replay->time_us, schedule->predicted.time_us);
    vbs_replay_free(replay);
    return holds;
}

/* A limit of time changes the order in which schedules of a large request are tried. Where it is
 * not reached, the schedule for the budget that was asked for is as good: it is valid, and not
 * slower than that of dp-vbs+. */
static bool large_in_time(struct limit *limit)
{
    struct vbs_frontier *plus;
    bool holds;

    limit->problem.request = LARGE_REQUEST;
    plus = frontier_of(&limit->problem, "dp-vbs+");
    holds = plus && plus->n_points > 0;
    for (int tried = 0; holds && tried < 2; tried++) {
        const struct vbs_frontier_point *point = &plus->points[tried * (plus->n_points - 1)];
        struct vbs_schedule *schedule = plan_in_time(&limit->problem, "joint", point->memory_bytes);

        holds = schedule && is_valid(&limit->problem, schedule, point->memory_bytes) &&
                at_most(schedule->predicted.time_us, point->time_us);
        vbs_schedule_free(schedule);
    }
    vbs_frontier_free(plus);
    return holds;
}

#define MANY_CHUNKS 301  /* samples: chunks that joint tries on few of them, and a rest */
#define MANY_SLOWER 0.01 /* than dp-vbs+, which tries all numbers of samples */

/* A request of many chunks: joint keeps close to dp-vbs+ beside resident weights, or is faster, and
 * its schedules are valid. */
static bool many_chunks(struct limit *limit)
{
    const struct vbs_planner *joint = NULL;
    struct vbs_frontier *plus;
    struct vbs_solver *solver = NULL;
    bool holds;

    limit->problem.request = MANY_CHUNKS;
    plus = frontier_of(&limit->problem, "dp-vbs+");
    holds = plus && plus->n_points > 0 && vbs_planner_find(NULL, "joint", &joint) == VBS_OK &&
            vbs_solver_new(NULL, joint, &limit->problem, NULL, &solver) == VBS_OK;
    for (int i = 0; holds && i < plus->n_points; i++) {
        const struct vbs_frontier_point *point = &plus->points[i];
        struct vbs_schedule *schedule = NULL;

        holds = vbs_solver_plan(NULL, solver, point->memory_bytes, &schedule) == VBS_OK &&
                is_valid(&limit->problem, schedule, point->memory_bytes) &&
                schedule->predicted.time_us <= point->time_us * (1 + MANY_SLOWER);
        vbs_schedule_free(schedule);
    }
    vbs_solver_free(solver);
    vbs_frontier_free(plus);
    return holds;
}

/* With memory for everything, joint plans as dp-vbs+ does without counting weights. */
static bool without_limit(struct limit *limit)
{
    double want_us = time_of(&limit->excluded, "dp-vbs+", INT64_MAX);

    return same(time_of(&limit->problem, "joint", INT64_MAX), want_us) &&
           same(time_of(&limit->problem, "dp-vbs+", INT64_MAX), want_us);
}

/* With one format each, every planner beside resident weights is that planner in what they leave.
 */
static bool beside_residents(struct limit *limit)
{
    struct rivals excluded;
    const char *which;
    bool holds = true;

    if (!limit_open_rivals(limit) ||
        rivals_open(NULL, &excluded, &limit->excluded, 0, &which) != VBS_OK)
        return false;
    for (int i = 0; holds && i < limit->rivals.n_budgets; i++)
        for (int p = 0; holds && p < excluded.n; p++) {
            int64_t budget = limit->rivals.budgets[i];
            double left_us = budget < limit->weight_bytes
                                 ? HUGE_VAL
                                 : rival_plan(&excluded, p, budget - limit->weight_bytes).time_us;

            holds = same(rival_plan(&limit->rivals, p, budget).time_us, left_us);
            if (!holds)
                printf("# %s at %" PRId64 " bytes\n", excluded.list[p].name, budget);
        }
    rivals_close(&excluded);
    return holds;
}

/* Where no layer has weights joint is dp-vbs+ with weights excluded. */
static bool no_weights(struct limit *limit)
{
    struct vbs_profile *bare = without_weights(limit->profile);
    struct rivals excluded = {0};
    const char *which;
    bool holds = false;
    int plus;

    limit->problem.profile = limit->excluded.profile = bare;
    if (bare && limit_open_rivals(limit) &&
        rivals_open(NULL, &excluded, &limit->excluded, 0, &which) == VBS_OK) {
        holds = true;
        plus = rivals_find(&excluded, "dp-vbs+");
        for (int i = 0; holds && i < limit->rivals.n_budgets; i++) {
            int64_t budget = limit->rivals.budgets[i];

            holds = same(rival_plan(&limit->rivals, limit->joint, budget).time_us,
                         rival_plan(&excluded, plus, budget).time_us);
        }
    }
    rivals_close(&excluded);
    rivals_close(&limit->rivals);
    vbs_profile_free(bare);
    return holds;
}

/* At batch 1 joint is never slower than mmcnn and vdnn in any budget. */
static bool single_samples(struct limit *limit)
{
    bool holds = true;

    limit->problem.request = 1;
    if (limit->problem.copy.bytes_per_us == 0)
        limit->problem.copy.bytes_per_us = 1;
    if (!limit_open_rivals(limit))
        return false;
    for (int i = 0; holds && i < limit->rivals.n_budgets; i++) {
        int64_t budget = limit->rivals.budgets[i];
        double joint_us = rival_plan(&limit->rivals, limit->joint, budget).time_us;

        for (int p = 0; p < limit->rivals.n; p++)
            if (is_one_of(&limit->rivals.list[p], "mmcnn", "vdnn"))
                holds = holds && at_most(joint_us, rival_plan(&limit->rivals, p, budget).time_us);
    }
    return holds;
}

static void test_limit(bool (*holds)(struct limit *), bool two_formats, int n, unsigned long seed,
                       const char *name)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    int n_tried = 0, n_wrong = 0;

    gsl_rng_set(rng, seed);
    for (int i = 0; i < n; i++) {
        struct limit limit;

        if (!limit_open(rng, two_formats, &limit))
            continue;
        n_tried++;
        if (!holds(&limit)) {
            printf("# not so of problem %d: %d layers, request %" PRId64 ", io %s, %g us, %g\n", i,
                   limit.profile->n_layers, limit.problem.request, vbs_io_word(limit.problem.io),
                   limit.problem.copy.latency_us, limit.problem.copy.bytes_per_us);
            n_wrong++;
        }
        limit_close(&limit);
    }
    gsl_rng_free(rng);
    ok(n_tried == n && n_wrong == 0, "%s (%d of %d)", name, n_tried - n_wrong, n);
}

int main(int argc, char **argv)
{
    struct trials trials = trials_of(argc, argv, N_PROBLEMS, SEED, "problems of each kind");
    unsigned long seed = trials.seed;
    int n = trials.n;

    test_relations(RANDOM_LINEAR, false, false, "chains", n, seed);
    test_relations(RANDOM_LINEAR, true, false, "chains that must answer in time", n, seed);
    test_relations(RANDOM_BRANCHED, false, false, "branches", n, seed);
    test_relations(RANDOM_DAG, false, false, "arbitrary", n, seed);
    test_relations(RANDOM_DAG, true, false, "arbitrary, that must answer in time", n, seed);
    test_relations(RANDOM_LINEAR, false, true, "chains measured in slices", n, seed + 7);
    test_relations(RANDOM_DAG, false, true, "arbitrary, measured in slices", n, seed + 8);
    test_limit(without_copies, true, n, seed + 1,
               "where nothing can be copied joint is dp-vbs+ beside resident weights");
    test_limit(without_limit, false, n, seed + 2,
               "without a limit of memory joint is dp-vbs+ that counts no weights");
    test_limit(without_limit, true, n, seed + 3, "  with weights in several formats too");
    test_limit(beside_residents, false, n, seed + 4,
               "beside resident weights every planner does what it does in the memory they leave");
    test_limit(no_weights, false, n, seed + 5,
               "where no layer has weights joint is dp-vbs+ that counts none");
    test_limit(large_request, true, (n + 3) / 4, seed + 9,
               "a large request is never slower with joint than with dp-vbs+");
    test_limit(large_in_time, true, (n + 3) / 4, seed + 11,
               "  nor under a limit of time that is not reached");
    test_limit(large_without_copies, true, (n + 1) / 2, seed + 10,
               "  nor where nothing can be copied");
    test_limit(many_chunks, true, (n + 1) / 2, seed + 12,
               "nor is a request of many chunks, but for a percent");
    test_limit(single_samples, true, n, seed + 6,
               "one sample is never slower with joint than with mmcnn or vdnn");
    return done_testing();
}
