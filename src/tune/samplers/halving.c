/*
 * Asynchronous successive halving (Li et al., 2020, algorithm 2). A level is a number of epochs.
 * From the highest level down, the best trial that has ended there, belongs to the best 1 /
 * reduction of all that have, and has not gone on, goes on to the next level. Where there is none,
 * a new point begins.
 */
#include "tune/samplers/samplers.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LEVELS 32

/* A trial of a level. */
struct tune_runner {
    int trial;
    bool ended, feasible;
    int n_better;     /* feasible trials of the level that dominate it */
    double objective; /* the first one; -INFINITY of a trial without values */
    double lack;      /* of a trial that is not feasible: sum of constraints below 0, negative */
};

static int list_levels(const struct vbs_sampler_options *options, int *epochs)
{
    int n = 0;

    for (int64_t e = options->min_epochs; e < options->max_epochs; e *= options->reduction)
        epochs[n++] = (int)e;
    epochs[n++] = options->max_epochs;
    return n;
}

/* Gives the highest level that a number of epochs reaches, or 0. */
static int level_of(const int *epochs, int n_levels, int trained)
{
    int level = 0;

    while (level + 1 < n_levels && epochs[level + 1] <= trained)
        level++;
    return level;
}

/* For qsort: the best first, of equal ones the older one. */
static int by_rank(const void *a, const void *b)
{
    const struct tune_runner *x = a, *y = b;

    if (x->feasible != y->feasible)
        return x->feasible ? -1 : 1;
    if (x->lack != y->lack)
        return x->lack > y->lack ? -1 : 1;
    if (x->n_better != y->n_better)
        return x->n_better < y->n_better ? -1 : 1;
    if (x->objective != y->objective)
        return x->objective > y->objective ? -1 : 1;
    return (x->trial > y->trial) - (x->trial < y->trial);
}

static bool dominates(const struct tune_problem *problem, int a, int b)
{
    const double *x = problem->trials[a].objectives, *y = problem->trials[b].objectives;
    bool better = false;

    for (int o = 0; o < problem->options.n_objectives; o++) {
        if (x[o] < y[o])
            return false;
        better = better || x[o] > y[o];
    }
    return better;
}

static struct tune_runner runner_of(const struct tune_problem *problem, int i)
{
    const struct vbs_search_trial *trial = &problem->trials[i];
    struct tune_runner runner = {.trial = i, .objective = -INFINITY, .lack = -INFINITY};

    runner.ended = vbs_tune_has_values(problem, i);
    if (!runner.ended)
        return runner;
    runner.feasible =
        vbs_trial_feasible(trial, problem->options.n_objectives, problem->options.n_constraints);
    runner.objective = trial->objectives[0];
    runner.lack = 0;
    for (int c = 0; c < problem->options.n_constraints; c++)
        runner.lack += fmin(0, trial->constraints[c]);
    return runner;
}

/* Lists and ranks the trials of a level that do not run; gives how many. */
static int rank_level(const struct tune_problem *problem, const int *level, int wanted,
                      struct tune_runner *runners)
{
    int n = 0;

    for (int i = 0; i < problem->n_trials; i++) {
        if (level[i] == wanted && problem->trials[i].state != VBS_TRIAL_RUNNING)
            runners[n++] = runner_of(problem, i);
    }
    for (int i = 0; i < n && problem->options.n_objectives > 1; i++) {
        for (int k = 0; k < n && runners[i].feasible; k++)
            runners[i].n_better +=
                runners[k].feasible && dominates(problem, runners[k].trial, runners[i].trial);
    }
    qsort(runners, (size_t)n, sizeof *runners, by_rank);
    return n;
}

enum vbs_status vbs_tune_suggest_halving(struct vbs_ctx *ctx, struct tune_problem *problem,
                                         double *point, struct vbs_suggestion *suggestion)
{
    size_t n = (size_t)problem->n_trials, width = (size_t)problem->space->n_parameters;
    struct tune_runner *runners = vbs_arena_alloc(&problem->arena, n + 1, sizeof *runners);
    int *level = vbs_arena_alloc(&problem->arena, n + 1, sizeof *level);
    bool *went_on = vbs_arena_alloc(&problem->arena, n + 1, sizeof *went_on);
    int epochs[MAX_LEVELS], n_levels = list_levels(&problem->options, epochs);

    if (!runners || !level || !went_on)
        return vbs_no_memory(ctx);
    for (size_t i = 0; i < n; i++) {
        level[i] = level_of(epochs, n_levels, problem->trials[i].epochs);
        if (problem->trials[i].continues > 0)
            went_on[problem->trials[i].continues - 1] = true;
    }
    for (int l = n_levels - 2; l >= 0; l--) {
        int n_ended = rank_level(problem, level, l, runners);

        VBS_TRY(vbs_check_cancel(ctx));
        for (int i = 0; i < n_ended / problem->options.reduction; i++) {
            if (!runners[i].ended || went_on[runners[i].trial])
                continue;
            suggestion->continues = runners[i].trial + 1;
            suggestion->epochs = epochs[l + 1];
            memcpy(point, problem->exact + (size_t)runners[i].trial * width, sizeof *point * width);
            return VBS_OK;
        }
    }
    suggestion->epochs = epochs[0];
    return vbs_tune_suggest_random(ctx, problem, point, suggestion);
}
