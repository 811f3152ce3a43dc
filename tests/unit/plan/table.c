/*
 * dp-vbs --table STEP: Algorithm 1 of VBS III in multiples of STEP, against dp-vbs to the byte,
 * against a recursion with the same rounding, and under the replay. Examples and refusals are in
 * table_refusals.c. Arguments: number of profiles per kind of graph, seed.
 */
#include "reference/plan/brute_common.h"
#include "cases/random_profile.h"
#include "support/tally.h"
#include "support/trials.h"

#include "vbslab/replay.h"

#include <stdlib.h>

#define SEED        2718
#define N_PROFILES  200 /* per kind of graph, each with both io, with and without a latency */
#define MAX_LAYERS  7
#define MAX_REQUEST 6
#define MAX_BUDGETS 600

#define PROPERTY_LIST(X)                                                                           \
    X(SOLVED, "solvers, frontiers and plans are made without errors")                              \
    X(SAME_LATE, "where a latency lets dp-vbs plan in no memory, so it is with tables")            \
    X(SAME_LEAST, "in steps of a byte the least budget is that of dp-vbs")                         \
    X(SAME_FRONTIER, "in steps of a byte the frontier is that of dp-vbs")                          \
    X(SAME_TIME, "in steps of a byte every plan takes the time of dp-vbs")                         \
    X(NEVER_FASTER, "in any steps no plan is faster than dp-vbs, or fits where that does not")     \
    X(MULTIPLES, "the frontier changes at multiples of the step, and times fall strictly")         \
    X(ROUNDED_DOWN, "a budget between two multiples has the plan of the lower")                    \
    X(FRONTIER, "at every budget the plan is the frontier's, in whatever order they come")         \
    X(RECURSION, "a chain's plans are the recurrences with every need rounded up")                 \
    X(REPLAY, "the replay accepts the plan, at its time")                                          \
    X(PEAK, "peak <= reserved <= budget, reserved a multiple of the step")                         \
    X(LATENCY, "no plan takes longer than the latency allows")                                     \
    X(HELD, "the solver says what memory it held")

enum property { TALLY_ENUM(PROPERTY_LIST, N_PROPERTIES) };

static const char *const PROPERTY_TEXTS[] = {TALLY_TEXTS(PROPERTY_LIST)};

struct report {
    struct tally tally;
    int n_slower, n_compared; /* plans in steps of more than a byte against dp-vbs */
};

/* A problem with its two solvers. */
struct subject {
    struct report *report;
    struct vbs_problem problem;
    bool linear;
    int number;
    int64_t step_bytes, budget;
    struct vbs_solver *exact, *table;
    struct vbs_frontier *exact_curve, *table_curve;
    int64_t budgets[MAX_BUDGETS];
    int n_budgets;
};

static void describe(const void *self)
{
    const struct subject *subject = self;

    printf("profile %d, %d layers, request %" PRId64 ", io %s, latency %g, step %" PRId64
           ", budget %" PRId64,
           subject->number, subject->problem.profile->n_layers, subject->problem.request,
           vbs_io_word(subject->problem.io), subject->problem.latency_us, subject->step_bytes,
           subject->budget);
}

static void check(struct subject *subject, enum property property, bool holds)
{
    tally_check_of(&subject->report->tally, subject, (int)property, holds);
}

static struct report empty_report(void)
{
    return (struct report){
        .tally = {.n_properties = N_PROPERTIES, .texts = PROPERTY_TEXTS, .describe = describe}};
}

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

/* ---- The recurrences with rounding, as a recursion that remembers ---- */

struct recursion {
    const struct vbs_problem *problem;
    int64_t step_bytes, tot;
    double *opt; /* [i][j][b][mem], NAN: not yet known */
};

static int64_t steps_of(const struct recursion *dp, int64_t bytes)
{
    return (bytes + dp->step_bytes - 1) / dp->step_bytes;
}

/* Gives the steps of memory of samples that wait before layer i or are finished behind layer j: of
 * tensor i - 1 or j. */
static int64_t kept_steps(const struct recursion *dp, int tensor, int b)
{
    bool outside = dp->problem->io == VBS_IO_EXTERNAL &&
                   (tensor == 0 || tensor == dp->problem->profile->n_layers);

    return outside ? 0 : steps_of(dp, b * brute_sample_bytes(dp->problem, tensor));
}

static double in_time(const struct recursion *dp, double time_us)
{
    double latency_us = dp->problem->latency_us;

    return latency_us > 0 && time_us > latency_us ? HUGE_VAL : time_us;
}

static double layer_us(const struct recursion *dp, int k, int b, int64_t mem)
{
    int64_t in_bytes = b * brute_sample_bytes(dp->problem, k - 1);
    int64_t out_bytes = b * brute_sample_bytes(dp->problem, k);

    if (dp->problem->profile->layers[k].in_place)
        out_bytes = out_bytes > in_bytes ? out_bytes - in_bytes : 0;
    return brute_fastest_us(dp->problem, k, b, mem * dp->step_bytes - in_bytes - out_bytes);
}

static double opt_us(struct recursion *dp, int i, int j, int b, int64_t mem);

static double exact_us(struct recursion *dp, int i, int j, int b, int64_t mem)
{
    double best = HUGE_VAL;

    for (int k = i; mem >= 0 && k <= j; k++)
        best = fmin(best, opt_us(dp, i, k - 1, b, mem) + layer_us(dp, k, b, mem) +
                              opt_us(dp, k + 1, j, b, mem));
    return in_time(dp, best);
}

static double opt_us(struct recursion *dp, int i, int j, int b, int64_t mem)
{
    size_t n = (size_t)dp->problem->profile->n_layers + 1;
    size_t at =
        (((size_t)i * n + (size_t)j) * (MAX_REQUEST + 1) + (size_t)b) * ((size_t)dp->tot + 1) +
        (size_t)mem;
    double best = HUGE_VAL;

    if (i > j || b == 0)
        return 0;
    if (mem < 0)
        return HUGE_VAL;
    if (!isnan(dp->opt[at]))
        return dp->opt[at];
    for (int b1 = 1; b1 <= b; b1++)
        best = fmin(best, exact_us(dp, i, j, b1, mem - kept_steps(dp, i - 1, b - b1)) +
                              opt_us(dp, i, j, b - b1, mem - kept_steps(dp, j, b1)));
    if (dp->problem->io == VBS_IO_RESIDENT)
        best = in_time(dp, best);
    return dp->opt[at] = best;
}

static double recursion_us(const struct vbs_problem *problem, int64_t step_bytes, int64_t budget)
{
    int n = problem->profile->n_layers;
    struct recursion dp = {
        .problem = problem, .step_bytes = step_bytes, .tot = budget / step_bytes};
    size_t size = (size_t)(n + 1) * (size_t)(n + 1) * (MAX_REQUEST + 1) * ((size_t)dp.tot + 1);
    double time_us;

    dp.opt = brute_alloc(size, sizeof *dp.opt);
    for (size_t i = 0; i < size; i++)
        dp.opt[i] = NAN;
    time_us = opt_us(&dp, 1, n, (int)problem->request, dp.tot);
    free(dp.opt);
    return time_us;
}

/* ---- Properties ---- */

static double curve_us(const struct vbs_frontier *curve, int64_t budget)
{
    double time_us = HUGE_VAL;

    for (int i = 0; curve && i < curve->n_points && curve->points[i].memory_bytes <= budget; i++)
        time_us = curve->points[i].time_us;
    return time_us;
}

static void check_curve(struct subject *subject)
{
    const struct vbs_frontier *table = subject->table_curve, *exact = subject->exact_curve;
    bool falls = true, multiples = true, same;

    check(subject, SAME_LATE,
          !table == !exact && (table || vbs_solver_least_bytes(subject->table) == INT64_MAX));
    if (!table || !exact)
        return;
    same = table->n_points == exact->n_points;
    for (int i = 0; i < table->n_points; i++) {
        multiples = multiples && table->points[i].memory_bytes % subject->step_bytes == 0;
        falls = falls && (i == 0 || table->points[i].time_us < table->points[i - 1].time_us);
        same = same && table->points[i].memory_bytes == exact->points[i].memory_bytes &&
               table->points[i].time_us == exact->points[i].time_us;
    }
    check(subject, MULTIPLES, falls && multiples);
    if (subject->step_bytes > 1)
        return;
    check(subject, SAME_FRONTIER, same);
    check(subject, SAME_LEAST,
          vbs_solver_least_bytes(subject->table) == vbs_solver_least_bytes(subject->exact));
}

static void check_replay(struct subject *subject, const struct vbs_schedule *schedule)
{
    const struct vbs_problem *problem = &subject->problem;
    struct vbs_ctx ctx = {0};
    struct vbs_replay *replay = NULL;
    enum vbs_status status =
        vbs_replay_run(&ctx, problem->profile, schedule, subject->budget, false, &replay);

    check(subject, REPLAY,
          status == VBS_OK && replay->fits && replay->time_us == schedule->predicted.time_us);
    check(subject, PEAK,
          status == VBS_OK && replay->peak_bytes <= schedule->predicted.reserved_bytes &&
              schedule->predicted.reserved_bytes <= subject->budget &&
              schedule->predicted.reserved_bytes % subject->step_bytes == 0);
    if (problem->latency_us > 0)
        check(subject, LATENCY, schedule->predicted.latency_us <= problem->latency_us);
    vbs_replay_free(replay);
}

/* Gives the time of a plan; HUGE_VAL: there is none. */
static double plan_us(struct subject *subject, int64_t budget)
{
    struct vbs_schedule *schedule = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_solver_plan(&ctx, subject->table, budget, &schedule);
    double time_us = HUGE_VAL;

    if (status != VBS_OK && status != VBS_INFEASIBLE)
        printf("# %s\n", vbs_detail(&ctx));
    check(subject, SOLVED, status == VBS_OK || status == VBS_INFEASIBLE);
    if (status == VBS_OK) {
        subject->budget = budget;
        check_replay(subject, schedule);
        time_us = schedule->predicted.time_us;
        vbs_schedule_free(schedule);
    }
    return time_us;
}

static void check_budget(struct subject *subject, int64_t budget)
{
    double table_us, exact_us = curve_us(subject->exact_curve, budget);

    subject->budget = budget;
    table_us = plan_us(subject, budget);
    check(subject, FRONTIER, table_us == curve_us(subject->table_curve, budget));
    check(subject, NEVER_FASTER, table_us >= exact_us);
    check(subject, ROUNDED_DOWN,
          table_us == plan_us(subject, budget - budget % subject->step_bytes));
    if (subject->step_bytes == 1)
        check(subject, SAME_TIME, table_us == exact_us);
    else if (exact_us < HUGE_VAL) {
        subject->report->n_compared++;
        subject->report->n_slower += table_us > exact_us;
    }
}

static void add_budget(struct subject *subject, int64_t budget)
{
    if (budget >= 0 && subject->n_budgets < MAX_BUDGETS)
        subject->budgets[subject->n_budgets++] = budget;
}

static void shuffle(gsl_rng *rng, int64_t *list, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int other = random_int(rng, 0, i);
        int64_t swap = list[i];

        list[i] = list[other];
        list[other] = swap;
    }
}

/* Chooses every breakpoint of both, a byte below each, and some at random, in any order. */
static void choose_budgets(gsl_rng *rng, struct subject *subject)
{
    const struct vbs_frontier *const curves[] = {subject->exact_curve, subject->table_curve};
    int64_t most = 0;

    subject->n_budgets = 0;
    for (int c = 0; c < 2; c++)
        for (int i = 0; curves[c] && i < curves[c]->n_points; i++) {
            int64_t bytes = curves[c]->points[i].memory_bytes;

            add_budget(subject, bytes);
            add_budget(subject, bytes - 1);
            most = bytes > most ? bytes : most;
        }
    for (int i = 0; i < 5; i++)
        add_budget(subject, random_int(rng, 0, (int)most + 10));
    add_budget(subject, 0);
    add_budget(subject, INT64_MAX);
    shuffle(rng, subject->budgets, subject->n_budgets);
}

/* Finds a frontier; *curve is null where no memory is enough for the latency. */
static enum vbs_status find_curve(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                  struct vbs_frontier **curve)
{
    enum vbs_status status = vbs_solver_frontier(ctx, solver, curve);

    return status == VBS_INFEASIBLE ? VBS_OK : status;
}

/* Opens both solvers; the table's is opened again once its frontier is known, so that budgets do
 * not find everything solved. */
static bool open_both(struct subject *subject)
{
    struct vbs_solver *first = NULL;
    struct vbs_ctx ctx = {0};
    const struct vbs_planner *planner;
    enum vbs_status status = vbs_planner_find(&ctx, "dp-vbs", &planner);

    if (status == VBS_OK)
        status = vbs_solver_new(&ctx, planner, &subject->problem, NULL, &subject->exact);
    if (status == VBS_OK)
        status = find_curve(&ctx, subject->exact, &subject->exact_curve);
    if (status == VBS_OK)
        status = open_table(&ctx, "dp-vbs", &subject->problem, subject->step_bytes, &first);
    if (status == VBS_OK)
        status = find_curve(&ctx, first, &subject->table_curve);
    if (status == VBS_OK)
        check(subject, HELD, vbs_solver_peak_bytes(first) > 0);
    vbs_solver_free(first);
    if (status == VBS_OK)
        status =
            open_table(&ctx, "dp-vbs", &subject->problem, subject->step_bytes, &subject->table);
    if (status != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    check(subject, SOLVED, status == VBS_OK);
    return status == VBS_OK;
}

static void close_both(struct subject *subject)
{
    vbs_frontier_free(subject->exact_curve);
    vbs_frontier_free(subject->table_curve);
    vbs_solver_free(subject->exact);
    vbs_solver_free(subject->table);
    subject->exact_curve = subject->table_curve = NULL;
    subject->exact = subject->table = NULL;
}

static void check_problem(gsl_rng *rng, struct subject *subject)
{
    subject->budget = 0;
    if (open_both(subject)) {
        check_curve(subject);
        choose_budgets(rng, subject);
        for (int i = 0; i < subject->n_budgets; i++)
            check_budget(subject, subject->budgets[i]);
        for (int i = 0; subject->linear && i < 3; i++) {
            int64_t budget = subject->budgets[i] < 2000 ? subject->budgets[i] : 2000;

            subject->budget = budget;
            check(subject, RECURSION,
                  plan_us(subject, budget) ==
                      recursion_us(&subject->problem, subject->step_bytes, budget));
        }
    }
    close_both(subject);
}

/* Chooses a latency between that of one sample and that of the fastest plan of all. */
static double choose_latency(gsl_rng *rng, const struct subject *subject)
{
    struct subject other = *subject;
    struct report ignored = empty_report();
    double most_us = 0;

    other.report = &ignored;
    if (open_both(&other))
        most_us = other.exact_curve->points[0].time_us;
    close_both(&other);
    return random_int(rng, 1, (int)most_us + 1);
}

static void check_profile(gsl_rng *rng, struct subject *subject)
{
    static const int64_t STEPS[] = {2, 3, 5, 7, 16, 50};

    for (int way = 0; way < 4; way++) {
        subject->problem.io = way % 2 ? VBS_IO_RESIDENT : VBS_IO_EXTERNAL;
        subject->problem.latency_us = 0;
        subject->step_bytes = 1;
        if (way >= 2)
            subject->problem.latency_us = choose_latency(rng, subject);
        check_problem(rng, subject);
        subject->step_bytes = STEPS[random_int(rng, 0, 5)];
        check_problem(rng, subject);
    }
}

static void test_graph(enum random_graph graph, int n_profiles, unsigned long seed)
{
    static const char *const NAMES[] = {"linear", "branched", "arbitrary"};
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct report report = empty_report();
    struct subject *subject = calloc(1, sizeof *subject);
    int n_refused = 0;

    gsl_rng_set(rng, seed + (unsigned long)graph);
    for (int i = 0; subject && i < n_profiles; i++) {
        struct vbs_profile *profile = random_profile(rng, graph, MAX_LAYERS);

        if (!profile) {
            n_refused++;
            continue;
        }
        *subject = (struct subject){
            .report = &report,
            .number = i,
            .linear = graph == RANDOM_LINEAR,
            .problem = {.profile = profile, .request = random_int(rng, 1, MAX_REQUEST)}};
        check_profile(rng, subject);
        vbs_profile_free(profile);
    }
    is_int(n_refused, 0, "random profiles are profiles");
    tally_report_but(&report.tally, NAMES[graph],
                     graph == RANDOM_LINEAR ? 0 : (uint64_t)1 << RECURSION);
    ok(report.n_slower > 0, "%s: rounding costs time or feasibility at %d of %d budgets",
       NAMES[graph], report.n_slower, report.n_compared);
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
