/*
 * Properties of the planners on random profiles, against the slow references of brute_force.h.
 * Arguments: number of profiles per kind of graph, seed.
 */
#include "brute_force.h"
#include "random_profile.h"
#include "tap.h"

#include "vbslab/plan.h"
#include "vbslab/replay.h"

#include <stdlib.h>

#define SEED        31415
#define N_PROFILES  500 /* per kind of graph, each with both io */
#define MAX_LAYERS  7
#define MAX_REQUEST 6
#define MAX_CODES   20000 /* states of a lattice, reachable or not */
#define MAX_BUDGETS 400

/* What is checked of every problem and budget; each becomes one line of the report. */
#define PROPERTY_LIST(X)                                                                           \
    X(SOLVED, "a solver, its frontier and its plans are had without errors")                       \
    X(BOUND, "the lower bound is at most the optimum")                                             \
    X(PLAN_BOUND, "the bound and gap of a plan are those of its problem")                          \
    X(LEAST, "feasible from the solver's least budget on, never below")                            \
    X(FRONTIER, "at every budget the plan is the frontier's")                                      \
    X(FRONTIER_SHAPE, "frontier points rise in bytes and start at the least budget")               \
    X(FALLING, "a larger budget never plans slower: dp-vbs, fbs-best")                             \
    X(REPLAY, "the replay accepts the plan")                                                       \
    X(TIME, "replayed time is the predicted time")                                                 \
    X(PEAK, "replayed peak = predicted peak <= reserved <= budget")                                \
    X(OPTIMUM_PATH, "the optimum is had by a schedule that the replay accepts")                    \
    X(OPTIMUM, "no plan beats the optimum over the lattice")                                       \
    X(OPTIMUM_FEASIBLE, "no plan fits below the least budget of the lattice")                      \
    X(FBS, "fbs is its definition")                                                                \
    X(FBS_BEST, "fbs-best is its definition")                                                      \
    X(GREEDY, "greedy-vbs is its definition")                                                      \
    X(RECURRENCE, "dp-vbs of a chain is the recurrence of the paper")

#define PROPERTY_ENUM(name, text) name,
enum property { PROPERTY_LIST(PROPERTY_ENUM) N_PROPERTIES };
#undef PROPERTY_ENUM

static const char *const PROPERTY_TEXTS[] = {
#define PROPERTY_TEXT(name, text) text,
    PROPERTY_LIST(PROPERTY_TEXT)
#undef PROPERTY_TEXT
};

/* How far dp-vbs is from the optimum. */
struct misses {
    int n_budgets, n_slower, n_infeasible;
    double worst_ratio;
};

struct report {
    int checked[N_PROPERTIES], failed[N_PROPERTIES];
    struct misses misses;
    int n_profiles;
};

/* The problem that is being checked, with what is known of it. */
struct subject {
    struct report *report;
    struct vbs_problem problem;
    bool linear;
    int number; /* of the profile */
    const char *planner;
    int64_t budget;
    struct brute_lattice *lattice;
    int64_t budgets[MAX_BUDGETS]; /* ascending */
    double optimum_us[MAX_BUDGETS];
    int n_budgets;
};

static void check(struct subject *subject, enum property property, bool holds)
{
    struct report *report = subject->report;

    report->checked[property]++;
    if (holds)
        return;
    if (report->failed[property]++ < 3)
        printf("# profile %d, %d layers, request %" PRId64 ", io %s, planner %s, budget %" PRId64
               ": not so: %s\n",
               subject->number, subject->problem.profile->n_layers, subject->problem.request,
               vbs_io_word(subject->problem.io), subject->planner, subject->budget,
               PROPERTY_TEXTS[property]);
}

/* A planner with what it says before it is asked for a plan. */
struct contender {
    const struct vbs_planner *planner;
    struct vbs_solver *solver;
    struct vbs_frontier *frontier;
    int64_t least_bytes;
};

#define MAX_CONTENDERS 16

static bool never_slower(const struct contender *contender)
{
    const char *name = vbs_planner_name(contender->planner);

    return strcmp(name, "dp-vbs") == 0 || strcmp(name, "fbs-best") == 0;
}

static void check_frontier(struct subject *subject, const struct contender *contender)
{
    const struct vbs_frontier *frontier = contender->frontier;
    bool rises = true, falls = true;

    for (int i = 1; i < frontier->n_points; i++) {
        rises = rises && frontier->points[i].memory_bytes > frontier->points[i - 1].memory_bytes;
        falls = falls && frontier->points[i].time_us < frontier->points[i - 1].time_us;
    }
    check(subject, FRONTIER_SHAPE,
          rises && frontier->n_points > 0 &&
              frontier->points[0].memory_bytes == contender->least_bytes);
    if (never_slower(contender))
        check(subject, FALLING, falls);
}

static bool open_contender(struct subject *subject, struct contender *contender)
{
    struct vbs_ctx ctx = {0};
    enum vbs_status status =
        vbs_solver_new(&ctx, contender->planner, &subject->problem, NULL, &contender->solver);

    if (status == VBS_OK)
        status = vbs_solver_frontier(&ctx, contender->solver, &contender->frontier);
    if (status != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    check(subject, SOLVED, status == VBS_OK);
    if (status != VBS_OK)
        return false;
    contender->least_bytes = vbs_solver_least_bytes(contender->solver);
    check_frontier(subject, contender);
    return true;
}

static void close_contender(struct contender *contender)
{
    vbs_frontier_free(contender->frontier);
    vbs_solver_free(contender->solver);
}

/* What the frontier says of a budget; HUGE_VAL: infeasible. */
static double frontier_us(const struct vbs_frontier *frontier, int64_t budget)
{
    double time_us = HUGE_VAL;

    for (int i = 0; i < frontier->n_points && frontier->points[i].memory_bytes <= budget; i++)
        time_us = frontier->points[i].time_us;
    return time_us;
}

static void check_replay(struct subject *subject, const struct vbs_schedule *schedule)
{
    struct vbs_ctx ctx = {0};
    struct vbs_replay *replay = NULL;
    enum vbs_status status =
        vbs_replay_run(&ctx, subject->problem.profile, schedule, subject->budget, false, &replay);

    if (status != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    check(subject, REPLAY, status == VBS_OK);
    if (status != VBS_OK)
        return;
    check(subject, TIME, replay->time_us == schedule->predicted.time_us);
    check(subject, PEAK,
          replay->fits && replay->peak_bytes == schedule->predicted.peak_bytes &&
              replay->peak_bytes <= schedule->predicted.reserved_bytes &&
              schedule->predicted.reserved_bytes <= subject->budget);
    vbs_replay_free(replay);
}

/* Plan and judge: returns the plan's time, HUGE_VAL when there is none. */
static double plan_us(struct subject *subject, const struct contender *contender, double bound_us)
{
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status = vbs_solver_plan(NULL, contender->solver, subject->budget, &schedule);
    double time_us;

    check(subject, SOLVED, status == VBS_OK || status == VBS_INFEASIBLE);
    check(subject, LEAST, (status == VBS_OK) == (subject->budget >= contender->least_bytes));
    if (status != VBS_OK)
        return HUGE_VAL;
    time_us = schedule->predicted.time_us;
    check(subject, PLAN_BOUND,
          schedule->bound.time_us == bound_us &&
              (bound_us == 0 ||
               fabs(schedule->bound.gap_percent - 100 * (time_us - bound_us) / bound_us) < 1e-9));
    check_replay(subject, schedule);
    vbs_schedule_free(schedule);
    return time_us;
}

static void check_definition(struct subject *subject, const char *name, double time_us)
{
    const struct vbs_problem *problem = &subject->problem;

    if (strcmp(name, "fbs") == 0)
        check(subject, FBS, time_us == brute_fbs_us(problem, subject->budget));
    if (strcmp(name, "fbs-best") == 0)
        check(subject, FBS_BEST, time_us == brute_fbs_best_us(problem, subject->budget));
    if (strcmp(name, "greedy-vbs") == 0)
        check(subject, GREEDY, time_us == brute_greedy_us(problem, subject->budget));
    if (strcmp(name, "dp-vbs") == 0 && subject->linear)
        check(subject, RECURRENCE, time_us == brute_dp_vbs_us(problem, subject->budget));
}

static void count_miss(struct misses *misses, double time_us, double optimum_us)
{
    if (optimum_us == HUGE_VAL)
        return;
    misses->n_budgets++;
    if (time_us == HUGE_VAL) {
        misses->n_infeasible++;
    } else if (time_us > optimum_us) {
        misses->n_slower++;
        if (optimum_us > 0 && time_us / optimum_us > misses->worst_ratio)
            misses->worst_ratio = time_us / optimum_us;
    }
}

static void check_planner(struct subject *subject, const struct contender *contender)
{
    const char *name = vbs_planner_name(contender->planner);
    double before_us = HUGE_VAL;

    subject->planner = name;
    for (int i = 0; i < subject->n_budgets; i++) {
        double optimum_us = subject->optimum_us[i], bound_us = 0, time_us;

        subject->budget = subject->budgets[i];
        check(subject, BOUND,
              vbs_bound_us(NULL, &subject->problem, subject->budget, &bound_us) == VBS_OK &&
                  bound_us <= optimum_us);
        time_us = plan_us(subject, contender, bound_us);
        check(subject, FRONTIER, time_us == frontier_us(contender->frontier, subject->budget));
        check(subject, OPTIMUM, time_us >= optimum_us);
        check(subject, OPTIMUM_FEASIBLE,
              time_us == HUGE_VAL || subject->budget >= brute_least_bytes(subject->lattice));
        if (never_slower(contender))
            check(subject, FALLING, time_us <= before_us);
        before_us = time_us;
        check_definition(subject, name, time_us);
        if (strcmp(name, "dp-vbs") == 0)
            count_miss(&subject->report->misses, time_us, optimum_us);
    }
}

static void add_budget(struct subject *subject, int64_t budget)
{
    if (budget >= 0 && subject->n_budgets < MAX_BUDGETS)
        subject->budgets[subject->n_budgets++] = budget;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Every breakpoint of every planner and of the lattice's least budget, one byte below each, and
 * some at random. */
static void choose_budgets(gsl_rng *rng, struct subject *subject,
                           const struct contender *contenders, int n)
{
    int64_t least = brute_least_bytes(subject->lattice), most = least;
    int kept = 0;

    subject->n_budgets = 0;
    add_budget(subject, 0);
    add_budget(subject, least);
    add_budget(subject, least - 1);
    for (int c = 0; c < n; c++)
        for (int i = 0; i < contenders[c].frontier->n_points; i++) {
            int64_t bytes = contenders[c].frontier->points[i].memory_bytes;

            add_budget(subject, bytes);
            add_budget(subject, bytes - 1);
            most = bytes > most ? bytes : most;
        }
    for (int i = 0; i < 5; i++)
        add_budget(subject, random_int(rng, 0, (int)most + 10));
    add_budget(subject, INT64_MAX);
    qsort(subject->budgets, (size_t)subject->n_budgets, sizeof *subject->budgets, by_size);
    for (int i = 0; i < subject->n_budgets; i++)
        if (i == 0 || subject->budgets[i] != subject->budgets[kept - 1])
            subject->budgets[kept++] = subject->budgets[i];
    subject->n_budgets = kept;
    for (int i = 0; i < kept; i++)
        subject->optimum_us[i] = brute_optimum_us(subject->lattice, subject->budgets[i]);
}

/* The optimum that the others are held against is real: its path replays to its time. */
static void check_optimum(struct subject *subject, int budget)
{
    struct vbs_step steps[MAX_LAYERS * MAX_REQUEST];
    const struct vbs_profile *profile = subject->problem.profile;
    struct vbs_schedule schedule = {
        .model = "",
        .planner = "brute force",
        .request = subject->problem.request,
        .memory_bytes = subject->budgets[budget],
        .io = subject->problem.io,
        .n_algorithms = profile->n_algorithms,
        .algorithms = profile->algorithms,
        .n_steps = brute_optimum_path(subject->lattice, subject->budgets[budget], steps),
        .steps = steps,
    };
    struct vbs_replay *replay = NULL;

    subject->planner = schedule.planner;
    subject->budget = subject->budgets[budget];
    if (subject->optimum_us[budget] == HUGE_VAL) {
        check(subject, OPTIMUM_PATH, schedule.n_steps == 0);
        return;
    }
    check(subject, OPTIMUM_PATH,
          vbs_replay_run(NULL, profile, &schedule, -1, false, &replay) == VBS_OK && replay->fits &&
              replay->time_us == subject->optimum_us[budget]);
    vbs_replay_free(replay);
}

static void check_problem(gsl_rng *rng, struct subject *subject)
{
    struct contender contenders[MAX_CONTENDERS] = {{0}};
    int n = 0;
    bool opened = true;

    subject->lattice = brute_lattice_new(&subject->problem);
    subject->budget = 0;
    for (; vbs_planner_at(n) && n < MAX_CONTENDERS; n++) {
        contenders[n].planner = vbs_planner_at(n);
        subject->planner = vbs_planner_name(contenders[n].planner);
        opened = open_contender(subject, &contenders[n]) && opened;
    }
    if (opened) {
        choose_budgets(rng, subject, contenders, n);
        for (int i = 0; i < subject->n_budgets; i++)
            check_optimum(subject, i);
        for (int c = 0; c < n; c++)
            check_planner(subject, &contenders[c]);
    }
    for (int c = 0; c < n; c++)
        close_contender(&contenders[c]);
    brute_lattice_free(subject->lattice);
}

/* The largest request up to limit whose lattice stays small. */
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

static void print_report(const struct report *report, enum random_graph graph)
{
    const struct misses *misses = &report->misses;

    for (int p = 0; p < N_PROPERTIES; p++)
        if (p != RECURRENCE || graph == RANDOM_LINEAR)
            ok(report->checked[p] > 0 && report->failed[p] == 0, "%s: %s (%d of %d)",
               GRAPH_NAMES[graph], PROPERTY_TEXTS[p], report->checked[p] - report->failed[p],
               report->checked[p]);
    printf("# %s: dp-vbs at %d budgets of %d problems where a schedule fits: slower than the "
           "optimum at %d (%.1f%%), by up to %.1f%%; infeasible at %d (%.1f%%)\n",
           GRAPH_NAMES[graph], misses->n_budgets, 2 * report->n_profiles, misses->n_slower,
           100.0 * misses->n_slower / misses->n_budgets,
           misses->worst_ratio > 0 ? 100 * (misses->worst_ratio - 1) : 0.0, misses->n_infeasible,
           100.0 * misses->n_infeasible / misses->n_budgets);
}

static void test_graph(enum random_graph graph, int n_profiles, unsigned long seed)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct report report = {.n_profiles = n_profiles};
    struct subject *subject = calloc(1, sizeof *subject);
    int n_refused = 0;

    gsl_rng_set(rng, seed + (unsigned long)graph);
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
        subject->problem.request = random_int(rng, 1, MAX_REQUEST);
        if (!subject->linear)
            subject->problem.request = bounded_request(profile, (int)subject->problem.request);
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

/* The references against the figures that the paper gives for its example. */
static void test_references(void)
{
    struct vbs_profile *profile = example_profile();
    struct vbs_problem problem = {.profile = profile, .request = 2, .io = VBS_IO_RESIDENT};
    struct brute_lattice *lattice = brute_lattice_new(&problem);

    is_near(brute_dp_vbs_us(&problem, 7), 20, 0, "the recurrence gives VBS III 10 us per sample");
    is_near(brute_fbs_us(&problem, 7), 24, 0, "fixed batch gives it 12");
    is_near(brute_fbs_best_us(&problem, 7), 24, 0, "so does the best fixed batch");
    is_near(brute_optimum_us(lattice, 7), 20, 0, "and no path is faster than the recurrence");
    ok(brute_dp_vbs_us(&problem, 6) == HUGE_VAL, "a byte less and the recurrence has no plan");
    is_int(brute_least_bytes(lattice), 7, "nor is there a path");
    is_near(brute_dp_vbs_us(&problem, 12), 18, 0, "with 12 bytes all layers run two at once");
    brute_lattice_free(lattice);
    vbs_profile_free(profile);
}

int main(int argc, char **argv)
{
    int n_profiles = argc > 1 ? atoi(argv[1]) : N_PROFILES;
    unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 10) : SEED;

    printf("# seed %lu, %d profiles per kind of graph\n", seed, n_profiles);
    test_references();
    for (int graph = 0; graph < RANDOM_N_GRAPHS; graph++)
        test_graph((enum random_graph)graph, n_profiles, seed);
    return done_testing();
}
