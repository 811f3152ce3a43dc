/*
 * The planner optimal against an integer program of the same problem, solved by CBC (Debian:
 * coinor-cbc) where it is installed. Every solution of CBC is made a schedule again and replayed.
 */
#include "bench/ilp.h"

#include "base/ctx.h"
#include "bench/bench.h"
#include "support/profile_help.h"
#include "cases/random_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define TIME_LIMIT_S  15 /* of CBC, for each instance */
#define SAME          1e-6
#define SEED          11
#define MAX_INSTANCES 16

extern char **environ;

/* The result of CBC for a program. */
struct answer {
    bool found, proven;
    double time_us;  /* of the best schedule */
    double bound_us; /* where CBC gave up: no schedule is faster */
    double s;        /* wall clock of the whole run */
    char *values;    /* the text of its solution file */
};

/* Runs CBC in folder on model.mps; false: it is not installed. No shell is involved. */
static bool run_cbc(const char *folder)
{
    char words[][12] = {"cbc", "model.mps", "-timeMode", "elapsed", "-sec",
                        "",    "-solve",    "-solution", "solution"};
    enum { N_WORDS = sizeof words / sizeof words[0], SECONDS = 5 };
    char *arguments[N_WORDS + 1] = {NULL};
    posix_spawn_file_actions_t files;
    pid_t child;
    int error, status;

    snprintf(words[SECONDS], sizeof words[SECONDS], "%d", TIME_LIMIT_S);
    for (int i = 0; i < N_WORDS; i++)
        arguments[i] = words[i];
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addchdir_np(&files, folder);
    posix_spawn_file_actions_addopen(&files, 1, "log", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    error = posix_spawnp(&child, words[0], &files, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    while (error == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return error == 0;
}

/* Gives the number behind key in text, or otherwise. */
static double number_behind(const char *text, const char *key, double otherwise)
{
    const char *at = text ? strstr(text, key) : NULL;

    return at ? strtod(at + strlen(key), NULL) : otherwise;
}

static void read_answer(const char *folder, struct answer *answer)
{
    char *log_path = path_in(folder, "log"), *solution = path_in(folder, "solution");
    size_t length;
    char *log = read_text(log_path, &length);

    answer->values = read_text(solution, &length);
    answer->time_us = number_behind(answer->values, "objective value", HUGE_VAL);
    answer->bound_us = number_behind(log, "Lower bound:", 0);
    answer->found =
        answer->values && answer->time_us < HUGE_VAL && !strstr(answer->values, "no integer");
    answer->proven = answer->values && strncmp(answer->values, "Optimal", 7) == 0;
    free(log);
    free(log_path);
    free(solution);
}

/* Reads the steps that CBC chose, in the order of their slots; returns their number. CBC's file has
 * one line for each column that is not 0: place, name, value, cost. */
static int64_t read_steps(const struct ilp *ilp, const char *values, struct vbs_step *steps)
{
    const struct ilp_column **slots = calloc((size_t)ilp->n_slots + 1, sizeof *slots);
    int64_t n = 0;

    for (const char *line = strchr(values, '\n'); slots && line; line = strchr(line + 1, '\n')) {
        const char *name = strstr(line, " C");
        char *end;
        long column = name ? strtol(name + 2, &end, 10) : -1;

        if (name && column >= 0 && column < ilp->n_columns && ilp->columns[column].binary &&
            strtod(end, NULL) > 0.5)
            slots[ilp->columns[column].slot] = &ilp->columns[column];
    }
    for (int s = 1; slots && s <= ilp->n_slots; s++)
        if (slots[s])
            steps[n++] = slots[s]->step;
    free(slots);
    return n;
}

/* True when the schedule that CBC chose fits in the replay and takes the time that CBC reports. */
static bool replays(const struct vbs_problem *problem, int64_t memory_bytes, const struct ilp *ilp,
                    const struct answer *answer)
{
    struct vbs_step *steps = calloc((size_t)ilp->n_slots, sizeof *steps);
    struct vbs_schedule schedule = {
        .model = "",
        .planner = "cbc",
        .request = problem->request,
        .memory_bytes = memory_bytes,
        .io = problem->io,
        .n_algorithms = problem->profile->n_algorithms,
        .algorithms = problem->profile->algorithms,
        .n_steps = steps ? read_steps(ilp, answer->values, steps) : 0,
        .steps = steps,
    };
    struct vbs_replay *replay = NULL;
    bool good = vbs_replay_run(NULL, problem->profile, &schedule, -1, false, &replay) == VBS_OK &&
                replay->fits && fabs(replay->time_us - answer->time_us) <= SAME * answer->time_us;

    vbs_replay_free(replay);
    free(steps);
    return good;
}

/* The result of the planner optimal. */
struct exact {
    double time_us, s;
    bool proven;
};

static struct exact solve_exactly(const struct vbs_problem *problem, int64_t memory_bytes)
{
    struct exact exact = {.s = HUGE_VAL};
    double start = bench_now_s();

    do {
        double begin = bench_now_s(), s;
        struct vbs_solver *solver = bench_solver("optimal", problem, NULL);
        struct vbs_schedule *schedule;
        struct vbs_ctx ctx = {0};

        if (vbs_solver_plan(&ctx, solver, memory_bytes, &schedule) != VBS_OK)
            bench_fail("optimal", &ctx);
        s = bench_now_s() - begin;
        exact.s = s < exact.s ? s : exact.s;
        exact.time_us = schedule->predicted.time_us;
        exact.proven = schedule->bound.gap_percent < 100 * SAME;
        vbs_schedule_free(schedule);
        vbs_solver_free(solver);
    } while (bench_now_s() - start < 0.1);
    return exact;
}

/* The results of all instances. */
struct tally {
    double ratios[MAX_INSTANCES]; /* of those that CBC solved */
    int n_instances, n_proven, n_same;
};

static void print_head(void)
{
    printf("%-9s %6s %3s %8s %6s %8s  %-22s %9s %9s %s\n", "instance", "layers", "r", "binaries",
           "rows", "CBC s", "outcome", "opt. ms", "ratio", "same");
}

static void print_comparison(const struct exact *exact, const struct answer *answer, bool accepted,
                             struct tally *tally)
{
    char outcome[64], ratio[32];
    bool same = answer->found && accepted &&
                fabs(answer->time_us - exact->time_us) <= SAME * exact->time_us;

    tally->n_instances++;
    if (answer->proven) {
        tally->ratios[tally->n_proven++] = answer->s / exact->s;
        tally->n_same += same;
        snprintf(outcome, sizeof outcome, "optimal");
    } else if (answer->found)
        snprintf(outcome, sizeof outcome, "time limit, gap %.1f%%",
                 100 * (answer->time_us / answer->bound_us - 1));
    else
        snprintf(outcome, sizeof outcome, answer->values ? "time limit, nothing" : "failed");
    snprintf(ratio, sizeof ratio, "%s%.0f", answer->proven ? "" : "> ", answer->s / exact->s);
    printf(" %8.2f  %-22s %9.3f %9s %s%s%s\n", answer->s, outcome, 1e3 * exact->s, ratio,
           same ? "yes" : "no", answer->found && !accepted ? ", the replay refuses it" : "",
           exact->proven ? "" : ", optimal is not proven");
}

/* Compares both on an instance. False: CBC is not installed. */
static bool bench_instance(const char *name, const struct vbs_problem *problem,
                           int64_t memory_bytes, struct tally *tally)
{
    char *folder = temporary_folder(), *path = path_in(folder, "model.mps");
    struct ilp *ilp = ilp_new(problem, memory_bytes);
    struct exact exact = solve_exactly(problem, memory_bytes);
    struct answer answer = {0};
    bool installed;
    double start;

    if (!ilp_write(ilp, path))
        bench_fail(path, &(struct vbs_ctx){0});
    start = bench_now_s();
    installed = run_cbc(folder);
    answer.s = bench_now_s() - start;
    if (installed) {
        read_answer(folder, &answer);
        if (tally->n_instances == 0)
            print_head();
        printf("%-9s %6d %3d %8d %6d", name, problem->profile->n_layers, (int)problem->request,
               ilp->n_binaries, ilp->n_rows);
        print_comparison(&exact, &answer,
                         answer.found && replays(problem, memory_bytes, ilp, &answer), tally);
    }
    free(answer.values);
    ilp_free(ilp);
    free(path);
    remove_folder(folder);
    return installed;
}

/* Gives a budget at which a plan is neither trivial nor impossible. */
static int64_t middle_budget(const struct vbs_problem *problem)
{
    struct vbs_solver *solver = bench_solver("dp-vbs", problem, NULL);
    struct vbs_frontier *frontier;
    struct vbs_ctx ctx = {0};
    int64_t bytes;

    if (vbs_solver_frontier(&ctx, solver, &frontier) != VBS_OK)
        bench_fail("frontier", &ctx);
    bytes = frontier->points[frontier->n_points / 2].memory_bytes;
    vbs_frontier_free(frontier);
    vbs_solver_free(solver);
    return bytes;
}

/* Finds a random profile of exactly n layers with every batch up to the request, io resident. */
static struct vbs_profile *find_profile(gsl_rng *rng, enum random_graph graph, int n_layers,
                                        int request)
{
    for (;;) {
        struct vbs_profile *profile = random_profile(rng, graph, n_layers);
        struct vbs_problem problem = {.profile = profile, .io = VBS_IO_RESIDENT};

        if (profile && profile->n_layers == n_layers && ilp_models(&problem) &&
            vbs_profile_batch_index(profile, request) == request - 1)
            return profile;
        vbs_profile_free(profile);
    }
}

static void bench_random(gsl_rng *rng, enum random_graph graph, int n_layers, int request,
                         struct tally *tally)
{
    struct vbs_profile *profile = find_profile(rng, graph, n_layers, request);
    struct vbs_problem problem = {.profile = profile, .request = request, .io = VBS_IO_RESIDENT};

    bench_instance(graph == RANDOM_LINEAR ? "chain" : "DAG", &problem, middle_budget(&problem),
                   tally);
    vbs_profile_free(profile);
}

static bool bench_example(struct tally *tally)
{
    struct vbs_profile *profile = example_profile();
    struct vbs_problem problem = {.profile = profile, .request = 2, .io = VBS_IO_RESIDENT};
    bool installed = bench_instance("VBS III", &problem, 7, tally);

    vbs_profile_free(profile);
    return installed;
}

static void bench_alexnet(int request, struct tally *tally)
{
    struct measured made = {0};
    struct vbs_problem problem = {.request = request, .io = VBS_IO_RESIDENT};

    bench_measure("alexnet", "analytic", BENCH_TO_12, request, 1, &made);
    problem.profile = made.profile;
    bench_instance("alexnet", &problem, middle_budget(&problem), tally);
    bench_release(&made);
}

static void bench_all(struct tally *tally)
{
    static const struct {
        enum random_graph graph;
        int n_layers, request;
    } RANDOM[] = {
        {RANDOM_LINEAR, 4, 2}, {RANDOM_LINEAR, 4, 4}, {RANDOM_LINEAR, 5, 3}, {RANDOM_LINEAR, 5, 6},
        {RANDOM_LINEAR, 6, 4}, {RANDOM_LINEAR, 7, 4}, {RANDOM_LINEAR, 7, 6}, {RANDOM_DAG, 4, 3},
        {RANDOM_DAG, 5, 3},    {RANDOM_DAG, 6, 2},    {RANDOM_DAG, 6, 4},    {RANDOM_DAG, 7, 4},
    };
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

    gsl_rng_set(rng, SEED);
    for (size_t i = 0; i < sizeof RANDOM / sizeof RANDOM[0]; i++)
        bench_random(rng, RANDOM[i].graph, RANDOM[i].n_layers, RANDOM[i].request, tally);
    gsl_rng_free(rng);
    bench_alexnet(2, tally);
    bench_alexnet(3, tally);
}

static void print_tally(struct tally *tally)
{
    size_t n = (size_t)tally->n_proven;

    gsl_sort(tally->ratios, 1, n);
    printf(
        "\n  opt. ms: the planner optimal; ratio: CBC's time to that; same: CBC found a schedule\n"
        "  of the same time, which the replay accepts. CBC proved %d of %d, %d of them the same,\n"
        "  and took %.0f times as long there (median, %.0f to %.0f).\n\n",
        tally->n_proven, tally->n_instances, tally->n_same,
        gsl_stats_median_from_sorted_data(tally->ratios, 1, n), tally->ratios[0],
        tally->ratios[n - 1]);
}

void bench_ilp(void)
{
    struct tally tally = {0};

    printf("The planner optimal against an integer program of the same problem (a step a slot,\n"
           "bench_ilp.h), by CBC with one thread, at most %d s each; io resident, a budget in the\n"
           "middle of the curve of dp-vbs.\n\n",
           TIME_LIMIT_S);
    if (!bench_example(&tally)) {
        printf("  passed over: there is no program 'cbc' (Debian: coinor-cbc)\n\n");
        return;
    }
    bench_all(&tally);
    if (tally.n_proven > 0)
        print_tally(&tally);
}
