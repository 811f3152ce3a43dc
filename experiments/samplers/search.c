/*
 * search PROBLEM SAMPLER WORKERS SEED... - searches with one of the library's samplers, and prints
 * a line of CSV for each trial: problem,sampler,workers,seed,trial,best,suggest_us, where best is
 * the best feasible objective so far, or the hypervolume so far. Without arguments: the names of
 * the problems. `search times`: the processor time of one suggestion, the least of five.
 *
 * SAMPLER: random, grid, bayesian; modelled (bayesian, without what is known beforehand); scalar
 * (bayesian with the scalar rule for two objectives).
 *
 * As many trials run at once as there are workers; the oldest ends first.
 */
#include "problems.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_TRIALS 1000
#define MAX_WIDTH  8

struct search {
    const struct problem *problem;
    struct vbs_sampler_options options;
    int n_trials, n_ended;
    struct vbs_search_trial trials[MAX_TRIALS];
    double points[MAX_TRIALS][MAX_WIDTH], values[MAX_TRIALS][MAX_WIDTH];
};

static double known(void *self, int objective, const double *point)
{
    const struct search *search = self;
    double values[MAX_WIDTH];

    search->problem->evaluate(point, values);
    return values[objective];
}

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Gives what has been reached; NaN: nothing feasible. */
static double best_of(const struct search *search)
{
    const struct problem *problem = search->problem;
    double *front = malloc(sizeof *front * 2 * MAX_TRIALS), volume = NAN;
    int best = vbs_trials_best(search->trials, search->n_ended, problem->n_objectives,
                               problem->n_constraints);

    if (problem->n_objectives == 1) {
        free(front);
        return best < 0 ? NAN : search->values[best][0];
    }
    for (int i = 0; i < search->n_ended; i++)
        memcpy(front + 2 * i, search->values[i], 2 * sizeof *front);
    if (vbs_hypervolume(NULL, 2, front, search->n_ended, problem->reference, &volume) != VBS_OK)
        volume = NAN;
    free(front);
    return volume;
}

static void end_oldest(struct search *search)
{
    struct vbs_search_trial *trial = &search->trials[search->n_ended];

    search->problem->evaluate(trial->point, search->values[search->n_ended]);
    trial->objectives = search->values[search->n_ended];
    trial->constraints = trial->objectives + search->problem->n_objectives;
    trial->state = VBS_TRIAL_COMPLETE;
    search->n_ended++;
}

static void run(struct search *search, const char *sampler, int workers)
{
    double us[MAX_TRIALS];

    for (int i = 0; i < search->problem->n_trials; i++) {
        struct vbs_ctx *ctx = vbs_ctx_new();
        struct vbs_suggestion suggestion;
        double start = now_us();

        if (vbs_sampler_suggest(ctx, &search->problem->space, &search->options, search->trials,
                                search->n_trials, search->points[i], &suggestion) != VBS_OK) {
            fprintf(stderr, "search: %s: %s\n", search->problem->name, vbs_detail(ctx));
            exit(1);
        }
        us[i] = now_us() - start;
        vbs_ctx_free(ctx);
        search->trials[search->n_trials++] =
            (struct vbs_search_trial){.point = search->points[i], .state = VBS_TRIAL_RUNNING};
        while (
            search->n_trials - search->n_ended >= workers ||
            (search->n_trials == search->problem->n_trials && search->n_ended < search->n_trials)) {
            end_oldest(search);
            printf("%s,%s,%d,%d,%d,%.10g,%.0f\n", search->problem->name, sampler, workers,
                   (int)search->options.seed, search->n_ended, best_of(search),
                   us[search->n_ended - 1]);
        }
    }
}

static const struct problem *find_problem(const char *name)
{
    for (int i = 0; i < n_problems(); i++) {
        if (strcmp(problem_at(i)->name, name) == 0)
            return problem_at(i);
    }
    fprintf(stderr, "search: no problem '%s'\n", name);
    exit(2);
}

static void choose(struct search *search, const char *sampler)
{
    search->options.struct_size = sizeof search->options;
    search->options.n_objectives = search->problem->n_objectives;
    search->options.n_constraints = search->problem->n_constraints;
    if (strcmp(sampler, "modelled") != 0 && strcmp(sampler, "scalar") != 0) {
        search->options.known_objectives = search->problem->known;
        search->options.known = known;
        search->options.self = search;
    }
    if (strcmp(sampler, "scalar") == 0)
        search->options.front_rule = VBS_FRONT_SCALAR;
    if (strcmp(sampler, "random") == 0)
        search->options.sampler = VBS_SAMPLER_RANDOM;
    if (strcmp(sampler, "grid") == 0) {
        search->options.sampler = VBS_SAMPLER_GRID;
        /* As few levels as the trials allow. */
        for (search->options.grid_levels = 2;
             pow(search->options.grid_levels, search->problem->space.n_parameters) <
             search->problem->n_trials;)
            search->options.grid_levels++;
    }
}

/* ---- how long a suggestion takes ---- */

static double time_suggestion(int n_trials, int n_parameters)
{
    struct vbs_search_parameter parameters[20];
    const struct vbs_search_space space = {n_parameters, parameters};
    const struct vbs_sampler_options options = {.struct_size = sizeof options};
    struct vbs_search_trial *trials = calloc((size_t)n_trials, sizeof *trials);
    double *points = calloc((size_t)n_trials, sizeof *points * 20);
    double *values = calloc((size_t)n_trials, sizeof *values), point[20], start, time;
    struct vbs_suggestion suggestion;
    unsigned short random[3] = {1, 2, 3};

    for (int k = 0; k < n_parameters; k++)
        parameters[k] = (struct vbs_search_parameter){"x", VBS_SEARCH_REAL, 0, 1, 0, false, 0};
    for (int i = 0; i < n_trials; i++) {
        for (int k = 0; k < n_parameters; k++) {
            points[20 * i + k] = erand48(random);
            values[i] -= pow(points[20 * i + k] - 0.4, 2) * (k + 1) + 0.1 * sin(9 * values[i]);
        }
        trials[i] = (struct vbs_search_trial){
            .point = points + 20 * i, .state = VBS_TRIAL_COMPLETE, .objectives = values + i};
    }
    start = now_us();
    if (vbs_sampler_suggest(NULL, &space, &options, trials, n_trials, point, &suggestion) != VBS_OK)
        exit(1);
    time = now_us() - start;
    free(trials);
    free(points);
    free(values);
    return time;
}

static void time_suggestions(void)
{
    static const int TRIALS[] = {20, 50, 100, 200, 1000, 10000}, PARAMETERS[] = {2, 6, 20};

    printf("trials,parameters,suggest_us\n");
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 3; k++) {
            double least = INFINITY;

            for (int turn = 0; turn < 5; turn++)
                least = fmin(least, time_suggestion(TRIALS[i], PARAMETERS[k]));
            printf("%d,%d,%.0f\n", TRIALS[i], PARAMETERS[k], least);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "times") == 0) {
        time_suggestions();
        return 0;
    }
    if (argc < 5) {
        for (int i = 0; i < n_problems(); i++)
            printf("%s %d\n", problem_at(i)->name, problem_at(i)->n_objectives);
        return 0;
    }
    for (int i = 4; i < argc; i++) {
        struct search *search = calloc(1, sizeof *search);

        if (!search)
            return 1;
        search->problem = find_problem(argv[1]);
        choose(search, argv[2]);
        search->options.seed = (uint64_t)atoi(argv[i]);
        run(search, argv[2], atoi(argv[3]));
        free(search);
    }
    return 0;
}
