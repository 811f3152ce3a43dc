/*
 * Infeasibility reports are true: each budget and each latency that they name works with the change
 * that they name, and one byte or the least fraction of time less does not. On random profiles,
 * with every planner. Arguments: number of profiles per kind of graph, seed.
 */
#include "cases/random_profile.h"
#include "support/planner.h"
#include "support/tally.h"
#include "support/trials.h"

#include "vbslab/plan.h"
#include "vbslab/replay.h"

#include <stdlib.h>

#define SEED        577
#define N_PROFILES  40 /* per kind of graph, each with both io, without and with bounds */
#define N_LATENCIES 2
#define MAX_LAYERS  6
#define MAX_REQUEST 6

#define PROPERTY_LIST(X)                                                                           \
    X(EXPLAINED, "an infeasibility report is made without errors")                                 \
    X(LEAST, "there is a plan at the least budget, and none a byte below")                         \
    X(SHARES, "the binding step is the plan's largest, and its shares add up to the least budget") \
    X(WS, "without that workspace the budget that is named is the least")                          \
    X(NO_WS, "where none is named, that workspace changes nothing")                                \
    X(EXTERNAL, "with io external the budget that is named is the least")                          \
    X(NO_EXTERNAL, "where none is named, io external needs as much")                               \
    X(UNBOUNDED, "without the latency the budget that is named is the least")                      \
    X(NO_UNBOUNDED, "where none is named, the latency changes nothing")                            \
    X(OTHER, "the other planner's budget is its least")                                            \
    X(LOWEST, "and no planner needs less than what is named")                                      \
    X(LATENCY, "the least latency can be kept, and nothing below it")                              \
    X(LATENCY_EXTERNAL, "with io external likewise")                                               \
    X(LATENCY_NO_EXTERNAL, "where none is named, io external is no faster")                        \
    X(LATENCY_OTHER, "with the other planner likewise")                                            \
    X(LATENCY_LOWEST, "and no planner answers sooner than the latency that is named")

enum property { TALLY_ENUM(PROPERTY_LIST, N_PROPERTIES) };

static const char *const PROPERTY_TEXTS[] = {TALLY_TEXTS(PROPERTY_LIST)};

struct report {
    struct tally tally;
};

/* The report that is being checked. */
struct subject {
    struct report *report;
    int number; /* of the profile */
    struct vbs_problem problem;
    const struct vbs_planner *planner;
    struct vbs_solver *solver;
    struct vbs_infeasibility infeasibility;
};

static void describe(const void *self)
{
    const struct subject *subject = self;

    printf("profile %d, %d layers, request %" PRId64 ", io %s, latency %g, planner %s, least "
           "%" PRId64,
           subject->number, subject->problem.profile->n_layers, subject->problem.request,
           vbs_io_word(subject->problem.io), subject->problem.latency_us,
           vbs_planner_name(subject->planner), subject->infeasibility.least_bytes);
}

static void check(const struct subject *subject, enum property property, bool holds)
{
    tally_check_of(&subject->report->tally, subject, (int)property, holds);
}

static struct report empty_report(void)
{
    return (struct report){
        .tally = {.n_properties = N_PROPERTIES, .texts = PROPERTY_TEXTS, .describe = describe}};
}

/* Gives whether a planner searches long, as optimal does, which is tried less often than the
 * others. */
static bool searches_long(const struct vbs_planner *planner)
{
    return strcmp(vbs_planner_name(planner), "optimal") == 0;
}

static bool is_asked(const struct subject *subject, const struct vbs_planner *planner)
{
    return planner != subject->planner && !searches_long(planner) &&
           !vbs_planner_transfers(planner) && !vbs_planner_estimates(planner);
}

/* ---- Solving anew ---- */

/* Gives whether planner has a plan in memory_bytes. */
static bool works(const struct vbs_planner *planner, const struct vbs_problem *problem,
                  int64_t memory_bytes)
{
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    bool planned = memory_bytes >= 0 &&
                   vbs_solver_new(NULL, planner, problem, NULL, &solver) == VBS_OK &&
                   vbs_solver_plan(NULL, solver, memory_bytes, &schedule) == VBS_OK;

    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
    return planned;
}

static bool is_least(const struct vbs_planner *planner, const struct vbs_problem *problem,
                     int64_t memory_bytes)
{
    return works(planner, problem, memory_bytes) && !works(planner, problem, memory_bytes - 1);
}

/* Gives whether planner can keep the latency in any memory. */
static bool keeps(const struct vbs_planner *planner, const struct vbs_problem *problem,
                  double latency_us)
{
    struct vbs_problem bounded = *problem;
    struct vbs_solver *solver = NULL;
    bool kept;

    if (latency_us <= 0)
        return false;
    bounded.latency_us = latency_us;
    kept = vbs_solver_new(NULL, planner, &bounded, NULL, &solver) == VBS_OK &&
           vbs_solver_least_bytes(solver) < INT64_MAX &&
           works(planner, &bounded, vbs_solver_least_bytes(solver));
    vbs_solver_free(solver);
    return kept;
}

/* Gives whether a latency is the least. Times are whole numbers; where steps take no time, any
 * bound can be kept. */
static bool is_least_latency(const struct vbs_planner *planner, const struct vbs_problem *problem,
                             double latency_us)
{
    return keeps(planner, problem, latency_us > 0 ? latency_us : 0.25) &&
           !keeps(planner, problem, latency_us - 0.5);
}

/* Copies the profile with no workspace in any row of layer. */
static struct vbs_profile *without_ws(const struct vbs_profile *profile, int layer)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *made = NULL;
    enum vbs_status status = VBS_OK;

    for (int k = 1; k <= profile->n_layers && status == VBS_OK; k++) {
        status = vbs_profile_builder_layer(NULL, builder, &profile->layers[k]);
        for (int i = 0; i < profile->n_batches; i++) {
            int n_rows;
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, k, i, &n_rows);

            for (int a = 0; a < n_rows && status == VBS_OK; a++) {
                struct vbs_profile_row row = rows[a];

                row.ws_bytes = k == layer ? 0 : row.ws_bytes;
                status = vbs_profile_builder_row(NULL, builder, k, profile->batches[i],
                                                 profile->algorithms[rows[a].algorithm], &row);
            }
        }
    }
    if (status != VBS_OK || vbs_profile_builder_finish(NULL, builder, &made) != VBS_OK)
        bail_out("no copy of a profile");
    vbs_profile_builder_free(builder);
    return made;
}

/* ---- Budgets ---- */

static void check_shares(const struct subject *subject)
{
    const struct vbs_infeasibility *infeasibility = &subject->infeasibility;
    struct vbs_schedule *schedule = NULL;
    struct vbs_replay *replay = NULL;
    bool planned =
        vbs_solver_plan(NULL, subject->solver, infeasibility->least_bytes, &schedule) == VBS_OK &&
        vbs_replay_run(NULL, subject->problem.profile, schedule, -1, true, &replay) == VBS_OK;

    check(subject, LEAST,
          planned && !works(subject->planner, &subject->problem, infeasibility->least_bytes - 1));
    check(subject, SHARES,
          infeasibility->tensor_bytes >= 0 && infeasibility->ws_bytes >= 0 &&
              infeasibility->extra_reserved_bytes >= 0 &&
              infeasibility->tensor_bytes + infeasibility->ws_bytes +
                      infeasibility->extra_reserved_bytes ==
                  infeasibility->least_bytes);
    if (planned && !searches_long(subject->planner)) {
        const struct vbs_replay_step *peak = &replay->steps[replay->peak_step];
        const struct vbs_step *step = &schedule->steps[replay->peak_step];

        check(subject, SHARES,
              infeasibility->step.layer == step->layer &&
                  infeasibility->step.batch == step->batch &&
                  infeasibility->tensor_bytes == peak->live_bytes + peak->added_bytes &&
                  infeasibility->ws_bytes == peak->ws_bytes);
    }
    vbs_replay_free(replay);
    vbs_schedule_free(schedule);
}

/* A budget that the report names is the least with the change, and less than without; where it
 * names none, the change is of no use. */
static void check_change(const struct subject *subject, const struct vbs_problem *changed,
                         int64_t bytes, enum property named, enum property unnamed)
{
    int64_t least = subject->infeasibility.least_bytes;

    if (bytes >= 0)
        check(subject, named, bytes < least && is_least(subject->planner, changed, bytes));
    else if (!searches_long(subject->planner) || changed->latency_us == 0)
        check(subject, unnamed, !works(subject->planner, changed, least - 1));
}

static void check_changes(const struct subject *subject)
{
    const struct vbs_infeasibility *infeasibility = &subject->infeasibility;
    struct vbs_problem changed = subject->problem;
    struct vbs_profile *copy = without_ws(changed.profile, infeasibility->step.layer);

    changed.profile = copy;
    if (infeasibility->ws_bytes > 0)
        check_change(subject, &changed, infeasibility->without_ws_bytes, WS, NO_WS);
    changed = subject->problem;
    changed.io = VBS_IO_EXTERNAL;
    check_change(subject, &changed, infeasibility->external_bytes, EXTERNAL, NO_EXTERNAL);
    changed = subject->problem;
    changed.latency_us = 0;
    check_change(subject, &changed, infeasibility->without_latency_bytes, UNBOUNDED, NO_UNBOUNDED);
    vbs_profile_free(copy);
}

static void check_others(const struct subject *subject)
{
    const struct vbs_infeasibility *infeasibility = &subject->infeasibility;
    int64_t lowest = infeasibility->least_bytes;

    check(subject, EXPLAINED, (infeasibility->other_bytes >= 0) == (infeasibility->other != NULL));
    if (infeasibility->other) {
        lowest = infeasibility->other_bytes;
        check(subject, OTHER,
              is_asked(subject, infeasibility->other) && lowest < infeasibility->least_bytes &&
                  is_least(infeasibility->other, &subject->problem, lowest));
    }
    for (int p = 0; vbs_planner_at(p); p++)
        if (is_asked(subject, vbs_planner_at(p)))
            check(subject, LOWEST, !works(vbs_planner_at(p), &subject->problem, lowest - 1));
}

/* ---- Latencies ---- */

static void check_latency(const struct subject *subject)
{
    const struct vbs_infeasibility *infeasibility = &subject->infeasibility;
    struct vbs_problem changed = subject->problem;
    double lowest_us = infeasibility->least_latency_us;

    check(subject, LATENCY,
          lowest_us > changed.latency_us &&
              is_least_latency(subject->planner, &changed, lowest_us));
    changed.io = VBS_IO_EXTERNAL;
    if (infeasibility->external_latency_us >= 0)
        check(subject, LATENCY_EXTERNAL,
              infeasibility->external_latency_us < lowest_us &&
                  is_least_latency(subject->planner, &changed, infeasibility->external_latency_us));
    else
        check(subject, LATENCY_NO_EXTERNAL, !keeps(subject->planner, &changed, lowest_us - 0.5));
    check(subject, EXPLAINED,
          (infeasibility->other_latency_us >= 0) == (infeasibility->other != NULL));
    if (infeasibility->other) {
        check(subject, LATENCY_OTHER,
              is_asked(subject, infeasibility->other) &&
                  infeasibility->other_latency_us < lowest_us &&
                  is_least_latency(infeasibility->other, &subject->problem,
                                   infeasibility->other_latency_us));
        lowest_us = infeasibility->other_latency_us;
    }
    for (int p = 0; vbs_planner_at(p); p++)
        if (is_asked(subject, vbs_planner_at(p)))
            check(subject, LATENCY_LOWEST,
                  !keeps(vbs_planner_at(p), &subject->problem, lowest_us - 0.5));
}

/* ---- Random problems ---- */

static void check_planner(struct subject *subject)
{
    struct vbs_ctx ctx = {0};
    enum vbs_status status =
        vbs_solver_new(&ctx, subject->planner, &subject->problem, NULL, &subject->solver);

    if (status == VBS_OK)
        status = vbs_solver_explain(&ctx, subject->solver, &subject->infeasibility);
    if (status != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    check(subject, EXPLAINED,
          status == VBS_OK &&
              subject->infeasibility.least_bytes == vbs_solver_least_bytes(subject->solver));
    if (status == VBS_OK && subject->infeasibility.least_bytes == INT64_MAX) {
        check_latency(subject);
    } else if (status == VBS_OK) {
        check_shares(subject);
        check_changes(subject);
        check_others(subject);
    }
    vbs_solver_free(subject->solver);
    subject->solver = NULL;
}

static void check_problem(struct subject *subject)
{
    for (int p = 0; vbs_planner_at(p); p++) {
        if (vbs_planner_transfers(vbs_planner_at(p)) || vbs_planner_estimates(vbs_planner_at(p)))
            continue;
        subject->planner = vbs_planner_at(p);
        check_planner(subject);
    }
}

/* Chooses a latency between nothing and that of some planner's plan in unlimited memory. */
static double choose_latency(gsl_rng *rng, const struct vbs_problem *problem)
{
    static const char *const PLANNERS[] = {"fbs", "fbs-best", "greedy-vbs"};
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    double latency_us = 1;

    if (vbs_solver_new(NULL, planner_named(PLANNERS[random_int(rng, 0, 2)]), problem, NULL,
                       &solver) == VBS_OK &&
        vbs_solver_plan(NULL, solver, INT64_MAX, &schedule) == VBS_OK)
        latency_us = random_int(rng, 1, 1 + (int)schedule->predicted.latency_us);
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
    return latency_us;
}

static void test_graph(enum random_graph graph, int n_profiles, gsl_rng *rng, struct report *report)
{
    for (int i = 0; i < n_profiles; i++) {
        struct vbs_profile *profile = random_profile(rng, graph, MAX_LAYERS);
        struct subject subject = {.report = report, .number = i, .problem.profile = profile};

        if (!profile) {
            ok(0, "a random profile");
            continue;
        }
        subject.problem.request = random_int(rng, 1, MAX_REQUEST);
        for (int io = VBS_IO_EXTERNAL; io <= VBS_IO_RESIDENT; io++) {
            subject.problem.io = (enum vbs_io)io;
            subject.problem.latency_us = 0;
            check_problem(&subject);
            for (int l = 0; l < N_LATENCIES; l++) {
                subject.problem.latency_us = 0;
                subject.problem.latency_us = choose_latency(rng, &subject.problem);
                check_problem(&subject);
            }
        }
        vbs_profile_free(profile);
    }
}

/* ---- By hand ---- */

static struct vbs_infeasibility explain_request(const struct vbs_profile *profile, const char *name,
                                                int64_t request, enum vbs_io io, double latency_us)
{
    struct vbs_problem problem = {
        .profile = profile, .request = request, .io = io, .latency_us = latency_us};
    struct vbs_infeasibility infeasibility = {0};
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;

    if (vbs_planner_find(NULL, name, &planner) != VBS_OK ||
        vbs_solver_new(NULL, planner, &problem, NULL, &solver) != VBS_OK ||
        vbs_solver_explain(NULL, solver, &infeasibility) != VBS_OK)
        ok(0, "a infeasibility of %s", name);
    vbs_solver_free(solver);
    return infeasibility;
}

static struct vbs_infeasibility explain(const struct vbs_profile *profile, const char *name,
                                        enum vbs_io io, double latency_us)
{
    return explain_request(profile, name, 2, io, latency_us);
}

/* In the example of VBS III, the step of the second layer takes 2 bytes of tensors and 4 of
 * workspace a sample. */
static void test_example(void)
{
    struct vbs_profile *profile = example_profile();
    struct vbs_infeasibility c = explain(profile, "fbs", VBS_IO_EXTERNAL, 0);

    ok(c.least_bytes == 6 && c.step.layer == 2 && c.step.batch == 1 && c.tensor_bytes == 2 &&
           c.ws_bytes == 4 && c.extra_reserved_bytes == 0,
       "VBS III: 6 bytes, of which the second layer's workspace is 4");
    ok(c.without_ws_bytes == 3 && c.external_bytes == -1 && c.without_latency_bytes == -1 &&
           !c.other,
       "without it 3 would do, and nothing else helps");
    c = explain(profile, "fbs", VBS_IO_RESIDENT, 0);
    ok(c.least_bytes == 7 && c.without_ws_bytes == 4 && c.external_bytes == 6,
       "io resident: 7, or 6 with io external");
    c = explain(profile, "greedy-vbs", VBS_IO_EXTERNAL, 0);
    ok(c.least_bytes == 8 && c.tensor_bytes == 3 && c.ws_bytes == 4 &&
           c.extra_reserved_bytes == 1 && c.other && c.other_bytes == 6,
       "greedy-vbs reserves one more byte; another planner needs 6");
    c = explain(profile, "fbs", VBS_IO_RESIDENT, 20);
    ok(c.least_bytes == 12 && c.step.batch == 2 && c.without_latency_bytes == 7 &&
           c.other_bytes == 7,
       "20 us are kept from 12 bytes on; 7 would do without them, or with another planner");
    c = explain(profile, "greedy-vbs", VBS_IO_EXTERNAL, 11);
    ok(c.least_bytes == INT64_MAX && c.least_latency_us == 18 && c.external_latency_us == -1 &&
           c.other && c.other_latency_us == 12,
       "11 us are never kept; greedy-vbs needs 18, and chunks of one sample 12");
    vbs_profile_free(profile);
}

/* For three layers, 3 request^2 is compared with VBS_EXPLAIN_EFFORT. */
static void test_effort(void)
{
    struct vbs_profile *profile = example_profile();
    struct vbs_infeasibility c = explain_request(profile, "greedy-vbs", 1154, VBS_IO_EXTERNAL, 0);

    ok(c.other && c.other_bytes == 6, "other planners are asked for 1154 samples");
    c = explain_request(profile, "greedy-vbs", 1155, VBS_IO_EXTERNAL, 0);
    ok(!c.other && c.without_ws_bytes > 0, "and not for one more; the rest is told");
    c = explain_request(profile, "fbs", 182, VBS_IO_RESIDENT, 182 * 11);
    ok(c.least_bytes < INT64_MAX && c.other, "with a latency they are asked for 182 samples");
    c = explain_request(profile, "fbs", 183, VBS_IO_RESIDENT, 183 * 11);
    ok(c.least_bytes < INT64_MAX && !c.other, "and not for one more");
    vbs_profile_free(profile);
}

static void test_interrupted(void)
{
    static const volatile sig_atomic_t CANCEL = 1;
    struct vbs_profile *profile = example_profile();
    struct vbs_problem problem = {.profile = profile, .request = 2};
    struct vbs_infeasibility infeasibility = {.least_bytes = -5};
    struct vbs_ctx ctx = {.cancel = &CANCEL};

    for (int late = 0; late <= 1; late++) {
        struct vbs_solver *solver = NULL;
        enum vbs_status status;

        problem.latency_us = late;
        status = vbs_solver_new(NULL, planner_named("fbs"), &problem, NULL, &solver);
        if (status == VBS_OK)
            status = vbs_solver_explain(&ctx, solver, &infeasibility);
        ok(status == VBS_INTERRUPTED && infeasibility.least_bytes == -5,
           "an explanation can be stopped, and leaves its output alone");
        vbs_solver_free(solver);
    }
    vbs_profile_free(profile);
}

/* Some parts of a line are optional. */
static void test_details(void)
{
    struct vbs_profile *profile = example_profile();
    struct vbs_problem problem = {.profile = profile, .request = 2, .latency_us = 20};
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    struct vbs_frontier *frontier = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_solver_new(&ctx, planner_named("fbs"), &problem, NULL, &solver);

    if (status == VBS_OK)
        status = vbs_solver_plan(&ctx, solver, 5, &schedule);
    is_int(status, VBS_INFEASIBLE, "a budget that is too small for a latency");
    is_str(vbs_detail(&ctx),
           "no schedule of fbs fits 5 B and answers within 20 us; the least budget is 6 bytes, "
           "where layer 'L2' binds",
           "and why");
    vbs_solver_free(solver);
    solver = NULL;
    problem.latency_us = 11;
    status = vbs_solver_new(&ctx, planner_named("fbs"), &problem, NULL, &solver);
    if (status == VBS_OK)
        status = vbs_solver_frontier(&ctx, solver, &frontier);
    is_int(status, VBS_INFEASIBLE, "a latency that no budget keeps has no frontier");
    is_str(vbs_detail(&ctx),
           "no schedule of fbs answers within 11 us in any memory; a longer latency or a smaller "
           "request would help",
           "and why");
    vbs_solver_free(solver);
    vbs_profile_free(profile);
}

int main(int argc, char **argv)
{
    struct trials trials = trials_of(argc, argv, N_PROFILES, SEED, "profiles per kind of graph");
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct report report = empty_report();

    test_example();
    test_details();
    test_effort();
    test_interrupted();
    gsl_rng_set(rng, trials.seed);
    for (int graph = 0; graph < RANDOM_N_GRAPHS; graph++)
        test_graph((enum random_graph)graph, trials.n, rng, &report);
    tally_report(&report.tally, "random problems");
    gsl_rng_free(rng);
    return done_testing();
}
