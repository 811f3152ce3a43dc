/*
 * dp-monotone against two slow references, on random profiles: the recurrence of COMP V-D as
 * printed (chains), and all monotone schedules, their memory counted sample by sample (any graph).
 * And the results of COMP VI for AlexNet, from its published sizes. Arguments: number of profiles
 * per kind of graph, seed.
 */
#include "reference/plan/brute_monotone.h"
#include "reference/plan/brute_common.h"
#include "cases/random_profile.h"
#include "support/tally.h"
#include "support/trials.h"

#include "vbslab/plan.h"
#include "vbslab/replay.h"

#include <stdlib.h>

#define SEED        27182
#define N_PROFILES  150 /* per kind of graph, each with both io, with and without latency */
#define MAX_BUDGETS 48

#define PROPERTY_LIST(X)                                                                           \
    X(SOLVED, "a solver, its frontier and its plans are made without errors")                      \
    X(RECURRENCE, "the plan of a chain is the recurrence of the paper")                            \
    X(ENUMERATION, "the plan is the fastest of all monotone schedules")                            \
    X(LEAST, "feasible from the solver's least budget on, never below")                            \
    X(FRONTIER, "at every budget the plan is the frontier's")                                      \
    X(FALLING, "a larger budget never plans slower")                                               \
    X(REPLAY, "the replay accepts the plan and finds its time")                                    \
    X(EXACT, "replayed peak = predicted = reserved <= budget")                                     \
    X(MONOTONE, "within a chunk every layer has one batch, a divisor of the next layer's")         \
    X(LATENCY, "no chunk (resident: no request) takes longer than the latency")                    \
    X(BASELINES, "never slower than fbs and fbs-best, and feasible where they are")

enum property { TALLY_ENUM(PROPERTY_LIST, N_PROPERTIES) };

static const char *const PROPERTY_TEXTS[] = {TALLY_TEXTS(PROPERTY_LIST)};

struct report {
    struct tally tally;
    int n_late; /* problems whose latency no memory keeps */
};

/* ---- One problem ---- */

struct subject {
    struct report *report;
    struct vbs_problem problem;
    int number; /* of the profile */
    bool linear;
    struct brute_recurrence recurrence;
    struct brute_enumeration enumeration;
    struct vbs_solver *solvers[3]; /* of dp-monotone, fbs, fbs-best */
    struct vbs_frontier *frontier; /* null: no budget helps */
    int64_t budget;
};

static const char *const NAMES[] = {"dp-monotone", "fbs", "fbs-best"};

static void describe(const void *self)
{
    const struct subject *subject = self;

    printf("profile %d, %d layers, request %" PRId64 ", io %s, latency %g, budget %" PRId64,
           subject->number, subject->problem.profile->n_layers, subject->problem.request,
           vbs_io_word(subject->problem.io), subject->problem.latency_us, subject->budget);
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

/* Gives whether a schedule is monotone: chunk by chunk, one batch a layer, each a divisor of the
 * next. Also gives the longest chunk's time, with io resident the request's. */
static bool is_monotone(const struct vbs_problem *problem, const struct vbs_schedule *schedule,
                        double *latency_us)
{
    const struct vbs_profile *profile = problem->profile;
    int n = profile->n_layers, done[BRUTE_MAX_LAYERS + 1] = {0},
        batches[BRUTE_MAX_LAYERS + 1] = {0};
    double chunk_us = 0;

    *latency_us = 0;
    for (int64_t s = 0; s < schedule->n_steps; s++) {
        const struct vbs_step *step = &schedule->steps[s];
        int k = step->layer, n_rows;
        const struct vbs_profile_row *rows = brute_rows(problem, k, step->batch, &n_rows);

        if (batches[k] && batches[k] != step->batch)
            return false;
        batches[k] = step->batch;
        done[k] += step->batch;
        for (int a = 0; a < n_rows; a++)
            if (rows[a].algorithm == step->algorithm)
                chunk_us += rows[a].time_us;
        *latency_us = fmax(*latency_us, chunk_us);
        if (k < n)
            continue;
        for (int i = 1; i < n; i++) /* the last layer ends the chunk */
            if (done[i] != done[n] || batches[i + 1] % batches[i] != 0)
                return false;
        memset(batches, 0, sizeof batches);
        if (problem->io == VBS_IO_EXTERNAL)
            chunk_us = 0;
    }
    return true;
}

static void check_schedule(struct subject *subject, const struct vbs_schedule *schedule)
{
    const struct vbs_problem *problem = &subject->problem;
    struct vbs_replay *replay = NULL;
    double latency_us;

    check(subject, REPLAY,
          vbs_replay_run(NULL, problem->profile, schedule, subject->budget, false, &replay) ==
                  VBS_OK &&
              replay->time_us == schedule->predicted.time_us);
    check(subject, EXACT,
          replay && replay->fits && replay->peak_bytes == schedule->predicted.peak_bytes &&
              replay->peak_bytes == schedule->predicted.reserved_bytes);
    check(subject, MONOTONE, is_monotone(problem, schedule, &latency_us));
    check(subject, LATENCY,
          latency_us == schedule->predicted.latency_us &&
              (problem->latency_us == 0 || latency_us <= problem->latency_us));
    vbs_replay_free(replay);
}

/* Gives the time of a planner's schedule, HUGE_VAL: it has none. That of dp-monotone is checked. */
static double plan_us(struct subject *subject, int planner)
{
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status =
        vbs_solver_plan(NULL, subject->solvers[planner], subject->budget, &schedule);
    double time_us = HUGE_VAL;

    check(subject, SOLVED, status == VBS_OK || status == VBS_INFEASIBLE);
    if (status == VBS_OK) {
        time_us = schedule->predicted.time_us;
        if (planner == 0)
            check_schedule(subject, schedule);
        vbs_schedule_free(schedule);
    }
    return time_us;
}

static double frontier_us(const struct vbs_frontier *frontier, int64_t budget)
{
    double time_us = HUGE_VAL;

    for (int i = 0;
         frontier && i < frontier->n_points && frontier->points[i].memory_bytes <= budget; i++)
        time_us = frontier->points[i].time_us;
    return time_us;
}

static void check_budget(struct subject *subject, double *before_us)
{
    double time_us = plan_us(subject, 0);

    if (subject->linear)
        check(subject, RECURRENCE,
              time_us == brute_recurrence_us(&subject->recurrence, subject->budget));
    check(subject, ENUMERATION,
          time_us == brute_enumeration_us(&subject->enumeration, subject->budget));
    check(subject, LEAST,
          (time_us < HUGE_VAL) == (subject->budget >= vbs_solver_least_bytes(subject->solvers[0]) &&
                                   vbs_solver_least_bytes(subject->solvers[0]) != INT64_MAX));
    check(subject, FRONTIER, time_us == frontier_us(subject->frontier, subject->budget));
    check(subject, FALLING, time_us <= *before_us);
    for (int planner = 1; planner <= 2; planner++)
        check(subject, BASELINES, time_us <= plan_us(subject, planner));
    *before_us = time_us;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Gives a budget at which one of the references may change. */
static int64_t reference_budget(gsl_rng *rng, const struct subject *subject)
{
    const struct brute_enumeration *all = &subject->enumeration;
    const struct brute_recurrence *dp = &subject->recurrence;
    const struct brute_batching *batching =
        &all->batchings[random_int(rng, 0, all->n_batchings - 1)];
    int64_t bytes = 0;

    if (dp->n_needs > 0 && random_once_in(rng, 3))
        return dp->needs[random_int(rng, 0, dp->n_needs - 1)];
    if (random_once_in(rng, 3))
        return batching->base_bytes[random_int(rng, 1, subject->problem.profile->n_layers)];
    for (int k = 1; k <= subject->problem.profile->n_layers; k++)
        bytes = batching->base_bytes[k] > bytes ? batching->base_bytes[k] : bytes;
    return bytes + random_int(rng, 0, 20);
}

/* Chooses the frontier's points, a byte below each, and budgets of the references. */
static int choose_budgets(gsl_rng *rng, const struct subject *subject, int64_t *budgets)
{
    const struct vbs_frontier *frontier = subject->frontier;
    int n = 0;

    for (int i = 0; frontier && i < frontier->n_points && n + 2 <= MAX_BUDGETS / 2; i++) {
        budgets[n++] = frontier->points[i].memory_bytes;
        if (budgets[n - 1] > 0)
            budgets[n++] = frontier->points[i].memory_bytes - 1;
    }
    budgets[n++] = INT64_MAX;
    while (n < MAX_BUDGETS)
        budgets[n++] = reference_budget(rng, subject);
    qsort(budgets, (size_t)n, sizeof *budgets, by_size);
    return n;
}

static bool open_solvers(struct subject *subject)
{
    enum vbs_status status = VBS_OK;

    for (int i = 0; i < 3 && status == VBS_OK; i++) {
        const struct vbs_planner *planner = NULL;

        status = vbs_planner_find(NULL, NAMES[i], &planner);
        if (status == VBS_OK)
            status = vbs_solver_new(NULL, planner, &subject->problem, NULL, &subject->solvers[i]);
    }
    if (status == VBS_OK && vbs_solver_least_bytes(subject->solvers[0]) < INT64_MAX)
        status = vbs_solver_frontier(NULL, subject->solvers[0], &subject->frontier);
    check(subject, SOLVED, status == VBS_OK);
    return status == VBS_OK;
}

static void close_solvers(struct subject *subject)
{
    for (int i = 0; i < 3; i++)
        vbs_solver_free(subject->solvers[i]);
    vbs_frontier_free(subject->frontier);
    memset(subject->solvers, 0, sizeof subject->solvers);
    subject->frontier = NULL;
}

static void check_problem(gsl_rng *rng, struct subject *subject)
{
    int64_t budgets[MAX_BUDGETS];
    double before_us = HUGE_VAL;

    subject->budget = 0;
    if (open_solvers(subject)) {
        int n = choose_budgets(rng, subject, budgets);

        for (int i = 0; i < n; i++) {
            subject->budget = budgets[i];
            check_budget(subject, &before_us);
        }
        subject->report->n_late += vbs_solver_least_bytes(subject->solvers[0]) == INT64_MAX;
    }
    close_solvers(subject);
}

/* Chooses a bound near the latency of some plan: its longest chunk, or a microsecond less. */
static double choose_latency_us(gsl_rng *rng, struct subject *subject)
{
    struct vbs_schedule *schedule = NULL;
    double latency_us = 0;

    if (open_solvers(subject) && subject->frontier) {
        int point = random_int(rng, 0, subject->frontier->n_points - 1);

        if (vbs_solver_plan(NULL, subject->solvers[0],
                            subject->frontier->points[point].memory_bytes, &schedule) == VBS_OK)
            latency_us = schedule->predicted.latency_us - random_int(rng, 0, 1);
        vbs_schedule_free(schedule);
    }
    close_solvers(subject);
    return fmax(latency_us, 1);
}

static void check_profile(gsl_rng *rng, struct subject *subject)
{
    for (int io = VBS_IO_EXTERNAL; io <= VBS_IO_RESIDENT; io++) {
        subject->problem.io = (enum vbs_io)io;
        subject->problem.latency_us = 0;
        subject->recurrence = (struct brute_recurrence){.problem = &subject->problem};
        subject->enumeration = (struct brute_enumeration){.problem = &subject->problem};
        brute_enumerate(&subject->enumeration);
        if (subject->linear)
            (void)brute_recurrence_us(&subject->recurrence, -1);
        check_problem(rng, subject);
        subject->problem.latency_us = choose_latency_us(rng, subject);
        check_problem(rng, subject);
        free(subject->enumeration.batchings);
        free(subject->recurrence.needs);
    }
}

static void test_graph(enum random_graph graph, int n_profiles, unsigned long seed)
{
    static const char *const GRAPHS[] = {"chains", "branched", "any DAG"};
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct report report = empty_report();
    int n_refused = 0;

    gsl_rng_set(rng, seed + (unsigned long)graph);
    for (int i = 0; i < n_profiles; i++) {
        struct vbs_profile *profile = random_profile(rng, graph, BRUTE_MAX_LAYERS);
        struct subject subject = {.report = &report,
                                  .number = i,
                                  .linear = graph == RANDOM_LINEAR,
                                  .problem.profile = profile,
                                  .problem.request = random_int(rng, 1, BRUTE_MAX_REQUEST)};

        n_refused += !profile;
        if (profile)
            check_profile(rng, &subject);
        vbs_profile_free(profile);
    }
    is_int(n_refused, 0, "random profiles are profiles");
    tally_report_but(&report.tally, GRAPHS[graph],
                     graph == RANDOM_LINEAR ? 0 : (uint64_t)1 << RECURRENCE);
    ok(report.n_late > 0, "%s: a latency that no memory keeps was among them (%d)", GRAPHS[graph],
       report.n_late);
    gsl_rng_free(rng);
}

/* ---- AlexNet of COMP ---- */

#define MIB       1048576.0
#define N_ALEXNET 13

/* Table III: MiB of outputs and milliseconds at batches 16 and 256; shapes are AlexNet's. */
static const struct {
    const char *name;
    int channels, side;
    const char *mib[2];
    double ms[2];
} ALEXNET[] = {
    {"conv1", 96, 55, {"17.72", "283.59"}, {349.93, 5408.93}},
    {"norm1", 96, 55, {"17.72", "283.59"}, {98.87, 1597.83}},
    {"pool1", 96, 27, {"4.27", "68.34"}, {11.68, 176.42}},
    {"conv2", 256, 27, {"11.39", "182.25"}, {341.72, 5745.49}},
    {"norm2", 256, 27, {"11.39", "182.25"}, {68.06, 1081.80}},
    {"pool2", 256, 13, {"2.64", "42.25"}, {7.12, 116.49}},
    {"conv3", 384, 13, {"3.96", "63.38"}, {153.11, 2573.47}},
    {"conv4", 384, 13, {"3.96", "63.38"}, {204.01, 3135.62}},
    {"conv5", 256, 13, {"2.64", "42.25"}, {135.66, 2242.94}},
    {"pool5", 256, 6, {"0.56", "9.00"}, {1.92, 25.72}},
    {"fc6", 4096, 1, {"0.25", "4.00"}, {51.77, 112.62}},
    {"fc7", 4096, 1, {"0.25", "4.00"}, {21.06, 46.61}},
    {"fc8", 1000, 1, {"0.06", "0.98"}, {9.66, 22.61}},
};

static int64_t alexnet_out_bytes(int k)
{
    return k == 0
               ? INT64_C(4) * 3 * 227 * 227
               : INT64_C(4) * ALEXNET[k - 1].channels * ALEXNET[k - 1].side * ALEXNET[k - 1].side;
}

/* The line through both published times; below 16 at least the time per image of 16. */
static double alexnet_us(int k, int batch)
{
    const double *ms = ALEXNET[k - 1].ms;
    double line = ms[0] + (batch - 16) * (ms[1] - ms[0]) / 240;

    return 1e3 * (batch < 16 ? fmax(line, ms[0] * batch / 16) : line);
}

/* The only workspace is im2col of one image for conv1. */
static struct vbs_profile *alexnet_profile(void)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = builder ? VBS_OK : VBS_NO_MEMORY;

    for (int k = 1; k <= N_ALEXNET && status == VBS_OK; k++) {
        int input = k - 1;
        struct vbs_profile_layer layer = {.name = ALEXNET[k - 1].name,
                                          .kind = "",
                                          .n_inputs = 1,
                                          .inputs = &input,
                                          .in_bytes = alexnet_out_bytes(k - 1),
                                          .out_bytes = alexnet_out_bytes(k)};

        status = vbs_profile_builder_layer(&ctx, builder, &layer);
        for (int b = 1; b <= 64 && status == VBS_OK; b++) {
            struct vbs_profile_row row = {.time_us = alexnet_us(k, b),
                                          .ws_bytes =
                                              k == 1 ? INT64_C(4) * 11 * 11 * 3 * 55 * 55 : 0};

            status = vbs_profile_builder_row(&ctx, builder, k, b, "default", &row);
        }
    }
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(&ctx, builder, &profile);
    ok(status == VBS_OK, "the AlexNet of COMP is a profile: %s", vbs_detail(&ctx));
    vbs_profile_builder_free(builder);
    return profile;
}

/* Table III counts outputs only: the published digits come out for every layer and both batches. */
static void test_published_sizes(void)
{
    for (int k = 1; k <= N_ALEXNET; k++)
        for (int i = 0; i < 2; i++) {
            char mib[16];

            snprintf(mib, sizeof mib, "%.2f",
                     (double)alexnet_out_bytes(k) * (i == 0 ? 16 : 256) / MIB);
            ok(strcmp(mib, ALEXNET[k - 1].mib[i]) == 0, "%s writes %s MiB at batch %d",
               ALEXNET[k - 1].name, mib, i == 0 ? 16 : 256);
        }
}

static struct vbs_schedule *alexnet_plan(const struct vbs_profile *profile, const char *name,
                                         int64_t memory_bytes)
{
    const struct vbs_problem problem = {.profile = profile, .request = 64};
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;

    if (vbs_planner_find(NULL, name, &planner) != VBS_OK ||
        vbs_solver_new(NULL, planner, &problem, NULL, &solver) != VBS_OK ||
        vbs_solver_plan(NULL, solver, memory_bytes, &schedule) != VBS_OK)
        schedule = NULL;
    vbs_solver_free(solver);
    return schedule;
}

/* COMP VI: 1.5x, 2x and 2.5x of a model of 6.81 MiB; the fixed baseline runs 3, 5 and 7. */
static void test_alexnet(void)
{
    static const int BATCHES[] = {3, 5, 7};
    struct vbs_profile *profile = alexnet_profile();

    for (int i = 0; profile && i < 3; i++) {
        int64_t budget = (int64_t)(6.81 * (1.5 + 0.5 * i) * MIB);
        struct vbs_schedule *fixed = alexnet_plan(profile, "fbs", budget);
        struct vbs_schedule *best = alexnet_plan(profile, "fbs-best", budget);
        struct vbs_schedule *plan = alexnet_plan(profile, "dp-monotone", budget);

        if (ok(fixed && best && plan, "%.1fx: all have a schedule", 1.5 + 0.5 * i)) {
            is_int(fixed->steps[0].batch, BATCHES[i], "the largest batch that fits is COMP's");
            is_int(best->steps[0].batch, BATCHES[i], "and the fastest is");
            ok(plan->predicted.time_us < 0.9 * best->predicted.time_us,
               "dp-monotone takes at least a tenth less: %.1f%%",
               100 - 100 * plan->predicted.time_us / best->predicted.time_us);
        }
        vbs_schedule_free(fixed);
        vbs_schedule_free(best);
        vbs_schedule_free(plan);
    }
    vbs_profile_free(profile);
}

int main(int argc, char **argv)
{
    struct trials trials = trials_of(argc, argv, N_PROFILES, SEED, "profiles per kind of graph");

    for (int graph = 0; graph < RANDOM_N_GRAPHS; graph++)
        test_graph((enum random_graph)graph, trials.n, trials.seed);
    test_published_sizes();
    test_alexnet();
    return done_testing();
}
