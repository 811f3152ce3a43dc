/* Choosing trials: of more than the models can hold, the better half of the places is for the best,
 * a quarter for the newest, and a quarter for an even choice of all. */
#include "tune/models/chosen.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

#define MAX_RUNNING 100

/* A trial and its rank: first by tier, then by value. */
struct tune_ranked {
    int trial;
    int tier;     /* 0: not feasible; 1: feasible; 2: also on the Pareto front */
    double value; /* larger is better within a tier */
};

double vbs_tune_known_value(const struct tune_problem *problem, int objective, int trial)
{
    double value = vbs_tune_known(problem, objective, problem->trials[trial].point);

    return isfinite(value) && value > 0 ? value : 0;
}

static double objective_of(const struct tune_problem *problem, int objective, int trial)
{
    return vbs_tune_is_known(problem, objective) ? vbs_tune_known_value(problem, objective, trial)
                                                 : problem->trials[trial].objectives[objective];
}

/* For qsort: the best first; of equal ones the older one. */
static int by_rank(const void *a, const void *b)
{
    const struct tune_ranked *x = a, *y = b;

    if (x->tier != y->tier)
        return x->tier > y->tier ? -1 : 1;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return (x->trial > y->trial) - (x->trial < y->trial);
}

/* Adds to the value of each trial its objectives, each over the range that it has. */
static void add_objectives(const struct tune_problem *problem, struct tune_ranked *ranked, int n)
{
    for (int o = 0; o < problem->options.n_objectives; o++) {
        double low = INFINITY, high = -INFINITY;

        for (int i = 0; i < n; i++) {
            low = fmin(low, objective_of(problem, o, ranked[i].trial));
            high = fmax(high, objective_of(problem, o, ranked[i].trial));
        }
        for (int i = 0; i < n && high > low; i++)
            ranked[i].value += (objective_of(problem, o, ranked[i].trial) - low) / (high - low);
    }
}

/* Gives trials that are not feasible the value of how much they lack, each constraint over the mean
 * of its size. */
static void subtract_lacks(const struct tune_problem *problem, struct tune_ranked *ranked, int n)
{
    for (int i = 0; i < n; i++) {
        if (ranked[i].tier == 0)
            ranked[i].value = 0;
    }
    for (int c = 0; c < problem->options.n_constraints; c++) {
        double size = 0;

        for (int i = 0; i < n; i++)
            size += fabs(problem->trials[ranked[i].trial].constraints[c]) / n;
        for (int i = 0; i < n; i++) {
            double value = problem->trials[ranked[i].trial].constraints[c];

            if (value < 0)
                ranked[i].value += value / size;
        }
    }
}

static enum vbs_status mark_front(struct vbs_ctx *ctx, const struct tune_problem *problem,
                                  struct vbs_arena *arena, struct tune_ranked *ranked, int n)
{
    int width = problem->options.n_objectives, n_feasible = 0;
    double *values = vbs_arena_alloc(arena, (size_t)n, sizeof *values * (size_t)width);
    bool *on_front = vbs_arena_alloc(arena, (size_t)n, sizeof *on_front);

    if (!values || !on_front)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n; i++) {
        if (ranked[i].tier == 0)
            continue;
        for (int o = 0; o < width; o++)
            values[(size_t)n_feasible * (size_t)width + (size_t)o] =
                objective_of(problem, o, ranked[i].trial);
        n_feasible++;
    }
    VBS_TRY(vbs_pareto_front(ctx, width, values, n_feasible, on_front));
    for (int i = 0, k = 0; i < n; i++) {
        if (ranked[i].tier > 0)
            ranked[i].tier += on_front[k++];
    }
    return VBS_OK;
}

static enum vbs_status rank(struct vbs_ctx *ctx, const struct tune_problem *problem,
                            struct vbs_arena *arena, struct tune_ranked *ranked, int n)
{
    for (int i = 0; i < n; i++)
        ranked[i].tier =
            vbs_trial_feasible(&problem->trials[ranked[i].trial], problem->options.n_objectives,
                               problem->options.n_constraints);
    if (problem->options.n_objectives == 1) {
        for (int i = 0; i < n; i++)
            ranked[i].value = objective_of(problem, 0, ranked[i].trial);
    } else {
        add_objectives(problem, ranked, n);
        VBS_TRY(mark_front(ctx, problem, arena, ranked, n));
    }
    subtract_lacks(problem, ranked, n);
    qsort(ranked, (size_t)n, sizeof *ranked, by_rank);
    return VBS_OK;
}

/* Takes of n ranked trials at most `most`, and gives how many. */
static int thin(struct tune_ranked *ranked, int n, int most, int n_trials, int *taken)
{
    int n_best = most / 2, n_new = most / 4, n_even = most - n_best - n_new, n_taken = 0;
    int n_rest = 0, kept = 0;

    if (n <= most) {
        for (int i = 0; i < n; i++)
            taken[i] = ranked[i].trial;
        return n;
    }
    /* The newest: those behind a trial with as many behind it as have places. */
    int from = n_trials;

    for (int wanted = n_new; wanted > 0 && from > 0;) {
        from--;
        for (int i = n_best; i < n; i++)
            wanted -= ranked[i].trial == from;
    }
    for (int i = n_best; i < n; i++)
        n_rest += ranked[i].trial < from;
    for (int i = 0; i < n; i++) {
        bool keep = i < n_best || ranked[i].trial >= from;

        if (!keep) {
            keep = (int64_t)(kept + 1) * n_even / n_rest > (int64_t)kept * n_even / n_rest;
            kept++;
        }
        if (keep)
            taken[n_taken++] = ranked[i].trial;
    }
    return n_taken;
}

/* Lists trials that run, the newest of them, and those that have ended. */
static void list(const struct tune_problem *problem, struct tune_ranked *complete, int *ended,
                 int *running, struct tune_chosen *chosen)
{
    int n_running = 0;

    for (int i = 0; i < problem->n_trials; i++)
        n_running += problem->trials[i].state == VBS_TRIAL_RUNNING;
    for (int i = 0; i < problem->n_trials; i++) {
        if (problem->trials[i].state == VBS_TRIAL_RUNNING) {
            if (n_running-- <= MAX_RUNNING)
                running[chosen->n_running++] = i;
            continue;
        }
        ended[chosen->n_ended++] = i;
        if (vbs_tune_has_values(problem, i))
            complete[chosen->n_complete++].trial = i;
    }
}

enum vbs_status vbs_tune_choose(struct vbs_ctx *ctx, const struct tune_problem *problem,
                                struct vbs_arena *arena, struct tune_chosen *chosen)
{
    size_t n = (size_t)problem->n_trials;
    struct tune_ranked *ranked = vbs_arena_alloc(arena, n, sizeof *ranked);
    int *complete = vbs_arena_alloc(arena, n, sizeof *complete);
    int *ended = vbs_arena_alloc(arena, n, sizeof *ended);
    int *running = vbs_arena_alloc(arena, MAX_RUNNING, sizeof *running);
    int most = problem->options.n_modelled, n_ended;

    *chosen = (struct tune_chosen){.complete = complete, .ended = ended, .running = running};
    if (!ranked || !complete || !ended || !running)
        return vbs_no_memory(ctx);
    list(problem, ranked, ended, running, chosen);
    n_ended = chosen->n_ended == chosen->n_complete ? 0 : chosen->n_ended;
    chosen->n_ended = n_ended < most ? n_ended : most;
    for (int i = 0; i < chosen->n_ended; i++)
        ended[i] = ended[(int64_t)i * n_ended / chosen->n_ended];
    VBS_TRY(rank(ctx, problem, arena, ranked, chosen->n_complete));
    chosen->n_complete = thin(ranked, chosen->n_complete, most, problem->n_trials, complete);
    return VBS_OK;
}
