/*
 * Makes the models. Processes learn their unknowns from trials that have ended. Then each trial
 * that runs is added with the value that the process expects there, the believer of Ginsbourger, Le
 * Riche and Carraro (2010): uncertainty vanishes around it, and with it the wish to try a point
 * nearby.
 */
#include "tune/models/models.h"
#include "tune/models/chosen.h"
#include "tune/models/scalar.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LEARN   128 /* points from which a process learns its unknowns */
#define MAX_LEADERS 5

/* What is used while models are made. */
struct tune_making {
    struct tune_models *models;
    const struct tune_problem *problem;
    struct vbs_arena *arena;
    struct tune_chosen chosen;
    double *x;       /* [n_complete + n_running, axes.n] of complete trials, then of running ones */
    double *ended_x; /* [n_ended + n_running, axes.n] */
    double *values;  /* [n_complete or n_ended] of the process that is made */
    /* Means of what the processes expect: [n_complete + n_running] each. */
    double *objectives[VBS_SEARCH_MAX_OBJECTIVES];
    bool *feasible; /* [n_complete + n_running] */
};

/* ---- processes ---- */

/* Makes the process of values [n] at x [n + n_running, axes.n]; mean: what it expects at all of
 * these points. */
static enum vbs_status make_process(struct vbs_ctx *ctx, struct tune_making *making,
                                    const double *x, int n, const double *values, double *mean,
                                    struct tune_gp *gp)
{
    const struct tune_axes *axes = &making->models->axes;
    int n_running = making->chosen.n_running, n_all = n + n_running;
    double *deviation = vbs_arena_alloc(making->arena, (size_t)n_all, sizeof *deviation);
    double *all = vbs_arena_alloc(making->arena, (size_t)n_all, sizeof *all);
    struct tune_gp learned;

    if (!deviation || !all)
        return vbs_no_memory(ctx);
    VBS_TRY(vbs_gp_new(ctx, making->arena, n, axes->n, axes->n_smooth, x, values, &learned));
    VBS_TRY(vbs_gp_learn(ctx, MAX_LEARN, &learned));
    vbs_gp_fit(&learned);
    VBS_TRY(vbs_gp_predict(ctx, &learned, x, n_all, mean, deviation));
    *gp = learned;
    if (n_running == 0)
        return VBS_OK;
    memcpy(all, values, sizeof *all * (size_t)n);
    memcpy(all + n, mean + n, sizeof *all * (size_t)n_running);
    return vbs_gp_extend(ctx, making->arena, &learned, n_all, x, all, gp);
}

static enum vbs_status make_objectives(struct vbs_ctx *ctx, struct tune_making *making)
{
    struct tune_models *models = making->models;
    const struct tune_problem *problem = making->problem;
    int n = making->chosen.n_complete, n_all = n + making->chosen.n_running;

    for (int o = 0; o < models->n_objectives; o++) {
        if (problem->options.front_rule == VBS_FRONT_SCALAR && problem->options.n_objectives > 1)
            vbs_tune_scalar(problem, making->chosen.complete, n, making->values);
        for (int i = 0; i < n && problem->options.n_objectives == models->n_objectives; i++)
            making->values[i] = problem->trials[making->chosen.complete[i]].objectives[o];
        if (!models->known[o]) {
            VBS_TRY(make_process(ctx, making, making->x, n, making->values, making->objectives[o],
                                 &models->objectives[o]));
            continue;
        }
        for (int i = 0; i < n_all; i++)
            making->objectives[o][i] =
                vbs_tune_known_value(problem, o, vbs_tune_chosen_trial(&making->chosen, i));
    }
    return VBS_OK;
}

static enum vbs_status make_conditions(struct vbs_ctx *ctx, struct tune_making *making)
{
    struct tune_models *models = making->models;
    const struct tune_problem *problem = making->problem;
    const struct tune_chosen *chosen = &making->chosen;
    int n = chosen->n_complete;
    double *mean = vbs_arena_alloc(making->arena, (size_t)(n + chosen->n_ended + chosen->n_running),
                                   sizeof *mean);

    if (!mean)
        return vbs_no_memory(ctx);
    for (int c = 0; c < problem->options.n_constraints; c++) {
        for (int i = 0; i < n; i++)
            making->values[i] = problem->trials[chosen->complete[i]].constraints[c];
        VBS_TRY(make_process(ctx, making, making->x, n, making->values, mean,
                             &models->conditions[models->n_conditions++]));
        for (int i = 0; i < n; i++)
            making->feasible[i] = making->feasible[i] && making->values[i] >= 0;
        for (int i = n; i < n + chosen->n_running; i++)
            making->feasible[i] = making->feasible[i] && mean[i] >= 0;
    }
    if (chosen->n_ended == 0)
        return VBS_OK;
    for (int i = 0; i < chosen->n_ended; i++)
        making->values[i] = vbs_tune_has_values(problem, chosen->ended[i]) ? 1 : -1;
    VBS_TRY(make_process(ctx, making, making->ended_x, chosen->n_ended, making->values, mean,
                         &models->conditions[models->n_conditions++]));
    for (int i = 0; i < chosen->n_running; i++)
        making->feasible[n + i] = making->feasible[n + i] && mean[chosen->n_ended + i] >= 0;
    return VBS_OK;
}

/* ---- what has been reached ---- */

static int by_first(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (x[0] > y[0]) - (x[0] < y[0]);
}

/* Finds the Pareto front of two objectives, and the reference where none is given: a tenth of the
 * range of all feasible points below the worst of them. The front's own range would not do: at
 * first it is often one point, or a few that lie near each other. */
static enum vbs_status find_front(struct vbs_ctx *ctx, struct tune_making *making)
{
    struct tune_models *models = making->models;
    int n_all = making->chosen.n_complete + making->chosen.n_running, n = 0;
    double *values = vbs_arena_alloc(making->arena, (size_t)n_all, 2 * sizeof *values);
    bool *on_front = vbs_arena_alloc(making->arena, (size_t)n_all, sizeof *on_front);

    if (!values || !on_front)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n_all; i++) {
        if (!making->feasible[i])
            continue;
        for (int o = 0; o < 2; o++)
            values[2 * n + o] = making->objectives[o][i];
        n++;
    }
    VBS_TRY(vbs_pareto_front(ctx, 2, values, n, on_front));
    for (int i = 0; i < n; i++) {
        if (on_front[i])
            memmove(values + (size_t)2 * models->n_front++, values + (size_t)2 * i,
                    2 * sizeof *values);
    }
    qsort(values, (size_t)models->n_front, 2 * sizeof *values, by_first);
    models->front = values;
    for (int o = 0; o < 2; o++) {
        double low = INFINITY, high = -INFINITY;

        for (int i = 0; i < n_all; i++) {
            if (!making->feasible[i])
                continue;
            low = fmin(low, making->objectives[o][i]);
            high = fmax(high, making->objectives[o][i]);
        }
        models->reference[o] = low - (high > low ? (high - low) / 10 : fabs(high) / 10 + 1e-6);
        if (making->problem->options.reference)
            models->reference[o] = making->problem->options.reference[o];
    }
    return VBS_OK;
}

/* Lists the leaders: feasible complete trials with the largest objectives, or, without any, those
 * that come nearest to feasibility. Of two objectives the front's are leaders by turns. */
static enum vbs_status find_leaders(struct vbs_ctx *ctx, struct tune_making *making)
{
    int *leaders = vbs_arena_alloc(making->arena, MAX_LEADERS, sizeof *leaders);

    if (!leaders)
        return vbs_no_memory(ctx);
    making->models->leaders = leaders;
    making->models->n_leaders =
        making->chosen.n_complete < MAX_LEADERS ? making->chosen.n_complete : MAX_LEADERS;
    memcpy(leaders, making->chosen.complete, sizeof *leaders * (size_t)making->models->n_leaders);
    return VBS_OK;
}

static enum vbs_status find_best(struct vbs_ctx *ctx, struct tune_making *making)
{
    struct tune_models *models = making->models;
    int n_all = making->chosen.n_complete + making->chosen.n_running;

    models->best = -INFINITY;
    for (int i = 0; i < n_all; i++) {
        if (!making->feasible[i])
            continue;
        models->n_feasible++;
        models->best = fmax(models->best, making->objectives[0][i]);
    }
    if (models->n_objectives == 2 && models->n_feasible > 0)
        VBS_TRY(find_front(ctx, making));
    return find_leaders(ctx, making);
}

/* ---- all of it ---- */

bool vbs_tune_can_model(const struct tune_problem *problem)
{
    int n = 0;

    for (int i = 0; i < problem->n_trials && n < 2; i++)
        n += vbs_tune_has_values(problem, i);
    return n == 2 && problem->n_trials >= problem->options.n_initial;
}

static enum vbs_status prepare(struct vbs_ctx *ctx, struct tune_making *making)
{
    struct tune_models *models = making->models;
    const struct tune_chosen *chosen = &making->chosen;
    size_t width = (size_t)models->axes.n, n_complete = (size_t)chosen->n_complete;
    size_t n_running = (size_t)chosen->n_running, n_ended = (size_t)chosen->n_ended;
    struct vbs_arena *arena = making->arena;

    making->x = vbs_arena_alloc(arena, (n_complete + n_running) * width + 1, sizeof(double));
    making->ended_x = vbs_arena_alloc(arena, (n_ended + n_running) * width + 1, sizeof(double));
    making->values = vbs_arena_alloc(arena, n_complete + n_ended, sizeof(double));
    making->feasible = vbs_arena_alloc(arena, n_complete + n_running, sizeof(bool));
    if (!making->x || !making->ended_x || !making->values || !making->feasible)
        return vbs_no_memory(ctx);
    for (int o = 0; o < models->n_objectives; o++) {
        making->objectives[o] = vbs_arena_alloc(arena, n_complete + n_running, sizeof(double));
        if (!making->objectives[o])
            return vbs_no_memory(ctx);
    }
    for (size_t i = 0; i < n_complete + n_running; i++) {
        making->feasible[i] = true;
        vbs_tune_locate(making->problem->space, &models->axes,
                        making->problem->trials[vbs_tune_chosen_trial(chosen, (int)i)].point,
                        making->x + i * width);
    }
    for (size_t i = 0; i < n_ended + n_running; i++) {
        int trial = i < n_ended ? chosen->ended[i] : chosen->running[i - n_ended];

        vbs_tune_locate(making->problem->space, &models->axes, making->problem->trials[trial].point,
                        making->ended_x + i * width);
    }
    return VBS_OK;
}

enum vbs_status vbs_tune_models(struct vbs_ctx *ctx, const struct tune_problem *problem,
                                struct vbs_arena *arena, struct tune_models *models)
{
    struct tune_making making = {.models = models, .problem = problem, .arena = arena};
    const struct vbs_sampler_options *options = &problem->options;
    bool scalar = options->n_objectives > 1 && options->front_rule == VBS_FRONT_SCALAR;

    *models = (struct tune_models){.problem = problem,
                                   .n_objectives = scalar ? 1 : options->n_objectives};
    for (int o = 0; o < models->n_objectives; o++)
        models->known[o] = !scalar && vbs_tune_is_known(problem, o);
    vbs_tune_axes(problem->space, &models->axes);
    VBS_TRY(vbs_tune_choose(ctx, problem, arena, &making.chosen));
    VBS_TRY(prepare(ctx, &making));
    VBS_TRY(make_objectives(ctx, &making));
    VBS_TRY(make_conditions(ctx, &making));
    return find_best(ctx, &making);
}
