/*
 * The Bayesian sampler: initial points, then the largest acquisition. In a small finite space every
 * point is scored. Otherwise points all over the space and points near the leaders are scored, and
 * the best of them climb: each takes the best of some random moves, which become smaller.
 */
#include "tune/models/models.h"
#include "tune/samplers/samplers.h"
#include "tune/samplers/sobol.h"
#include "tune/space/space.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEW          2048 /* points of a space, up to which all of them are scored */
#define N_EVERYWHERE 1024
#define N_NEAR       512 /* candidates near the leaders, in all */
#define N_CLIMBS     6
#define N_STEPS      40
#define N_MOVES      8 /* of each step */
#define FIRST_MOVE   0.15
#define SHRINK       0.85 /* of moves with each step */

/* Points and their scores. */
struct tune_candidates {
    int n, capacity;
    size_t width;
    double *points; /* [capacity, width] */
    double *scores;
};

static enum vbs_status make_candidates(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                       const struct tune_problem *problem, int capacity,
                                       struct tune_candidates *candidates)
{
    *candidates = (struct tune_candidates){.capacity = capacity,
                                           .width = (size_t)problem->space->n_parameters};
    candidates->points =
        vbs_arena_alloc(arena, (size_t)capacity, sizeof(double) * candidates->width);
    candidates->scores = vbs_arena_alloc(arena, (size_t)capacity, sizeof(double));
    return candidates->points && candidates->scores ? VBS_OK : vbs_no_memory(ctx);
}

static double *candidate(const struct tune_candidates *candidates, int i)
{
    return candidates->points + (size_t)i * candidates->width;
}

/* Keeps the point that was written behind the others, where it may be suggested. */
static void keep(const struct tune_problem *problem, struct tune_candidates *candidates)
{
    if (vbs_tune_is_open(problem, candidate(candidates, candidates->n)))
        candidates->n++;
}

static int best_of(const struct tune_candidates *candidates)
{
    int best = 0;

    for (int i = 1; i < candidates->n; i++) {
        if (candidates->scores[i] > candidates->scores[best])
            best = i;
    }
    return best;
}

static enum vbs_status score_all(struct vbs_ctx *ctx, const struct tune_models *models,
                                 struct tune_candidates *candidates)
{
    VBS_TRY(vbs_check_cancel(ctx));
    return vbs_tune_score(ctx, models, candidates->points, candidates->n, candidates->scores);
}

/* ---- moves ---- */

/* Gives another value of a parameter, about as far away as `size` says. */
static double moved(const struct vbs_search_parameter *parameter, double value, double size,
                    struct tune_random *random)
{
    int64_t n = vbs_tune_n_values(parameter), index;
    double far = vbs_tune_coordinate(parameter, value) + size * vbs_tune_normal(random), near;

    if (n == 1)
        return value;
    if (parameter->kind == VBS_SEARCH_CATEGORICAL) {
        index = vbs_tune_below(random, n - 1);
        return vbs_tune_value_at(parameter, index + (index >= (int64_t)value));
    }
    near = vbs_tune_value_near(parameter, far);
    if (near != value || n == INT64_MAX)
        return near;
    index = vbs_tune_nearest(parameter, value);
    index += index == 0 || (index < n - 1 && vbs_tune_uniform(random) < 0.5) ? 1 : -1;
    return vbs_tune_value_at(parameter, index);
}

/* Writes a point near another one: all of its smooth values are moved, or only some. */
static void move(const struct tune_models *models, const double *from, double size,
                 struct tune_random *random, double *to)
{
    const struct vbs_search_space *space = models->problem->space;
    const struct tune_axes *axes = &models->axes;
    bool all = vbs_tune_uniform(random) < 0.5;
    double some = fmin(1, 1.5 / axes->n);
    int always = axes->n > 0 ? axes->parameter[vbs_tune_below(random, axes->n)] : -1;

    memcpy(to, from, sizeof *to * (size_t)space->n_parameters);
    for (int k = 0; k < axes->n; k++) {
        int i = axes->parameter[k];
        double chance = all && vbs_tune_continuous(&space->parameters[i]) ? 1 : some;

        if (i == always || vbs_tune_uniform(random) < chance)
            to[i] = moved(&space->parameters[i], to[i], size, random);
    }
}

/* ---- candidates ---- */

static void add_near(const struct tune_models *models, struct tune_random *random,
                     struct tune_candidates *candidates)
{
    static const double SIZES[] = {0.2, 0.05, 0.01};
    const struct tune_problem *problem = models->problem;

    for (int i = 0; i < N_NEAR; i++) {
        int leader = models->leaders[i % models->n_leaders];
        const double *from = problem->exact + (size_t)leader * candidates->width;

        move(models, from, SIZES[i % 3], random, candidate(candidates, candidates->n));
        keep(problem, candidates);
    }
}

static enum vbs_status add_everywhere(struct vbs_ctx *ctx, const struct tune_problem *problem,
                                      struct vbs_arena *arena, struct tune_candidates *candidates)
{
    struct tune_sobol sobol;

    VBS_TRY(vbs_tune_sobol_init(
        ctx, problem->space,
        vbs_tune_random(problem->options.seed, TUNE_CANDIDATES, (uint64_t)problem->n_trials), arena,
        &sobol));
    for (int i = 0; i < N_EVERYWHERE; i++) {
        vbs_tune_sobol_next(&sobol, candidate(candidates, candidates->n));
        keep(problem, candidates);
    }
    return VBS_OK;
}

/* Moves a point uphill. */
static enum vbs_status climb(struct vbs_ctx *ctx, const struct tune_models *models,
                             struct tune_random *random, struct tune_candidates *moves,
                             double *point, double *score)
{
    double size = FIRST_MOVE;

    for (int step = 0; step < N_STEPS; step++, size *= SHRINK) {
        int best;

        moves->n = 0;
        for (int i = 0; i < N_MOVES; i++) {
            move(models, point, size, random, candidate(moves, moves->n));
            keep(models->problem, moves);
        }
        if (moves->n == 0)
            continue;
        VBS_TRY(score_all(ctx, models, moves));
        best = best_of(moves);
        if (moves->scores[best] > *score) {
            *score = moves->scores[best];
            memcpy(point, candidate(moves, best), sizeof *point * moves->width);
        }
    }
    return VBS_OK;
}

/* Moves the best candidates uphill, and the best of all to the place 0. */
static enum vbs_status climb_all(struct vbs_ctx *ctx, const struct tune_models *models,
                                 struct vbs_arena *arena, struct tune_random *random,
                                 struct tune_candidates *candidates)
{
    struct tune_candidates moves;
    int n = candidates->n, best = best_of(candidates);
    double score = candidates->scores[best];

    VBS_TRY(make_candidates(ctx, arena, models->problem, N_MOVES + 1, &moves));
    for (int i = 0; i < N_CLIMBS && i < n; i++) {
        int next = best_of(candidates);
        double height = candidates->scores[next];

        if (height == -INFINITY)
            break;
        VBS_TRY(climb(ctx, models, random, &moves, candidate(candidates, next), &height));
        candidates->scores[next] = -INFINITY;
        if (height > score || i == 0) {
            score = height;
            best = next;
        }
    }
    memmove(candidates->points, candidate(candidates, best), sizeof(double) * candidates->width);
    candidates->scores[0] = score;
    candidates->n = 1;
    return VBS_OK;
}

/* ---- suggestions ---- */

static enum vbs_status suggest_initial(struct vbs_ctx *ctx, struct tune_problem *problem,
                                       double *point)
{
    uint64_t seed = problem->options.seed;
    struct tune_random random = vbs_tune_random(seed, TUNE_POINTS, (uint64_t)problem->n_trials);
    struct tune_sobol sobol;

    VBS_TRY(vbs_tune_sobol_init(ctx, problem->space, vbs_tune_random(seed, TUNE_SHIFT, 0),
                                &problem->arena, &sobol));
    for (int i = 0; i <= problem->n_trials; i++)
        vbs_tune_sobol_next(&sobol, point);
    return vbs_tune_is_open(problem, point) ? VBS_OK
                                            : vbs_tune_random_open(ctx, problem, &random, point);
}

static enum vbs_status collect(struct vbs_ctx *ctx, const struct tune_models *models,
                               struct vbs_arena *arena, struct tune_random *random,
                               struct tune_candidates *candidates)
{
    const struct tune_problem *problem = models->problem;
    int64_t n = vbs_search_space_points(problem->space);

    if (n > FEW) {
        VBS_TRY(make_candidates(ctx, arena, problem, N_EVERYWHERE + N_NEAR + 1, candidates));
        VBS_TRY(add_everywhere(ctx, problem, arena, candidates));
        add_near(models, random, candidates);
        return VBS_OK;
    }
    VBS_TRY(make_candidates(ctx, arena, problem, (int)n + 1, candidates));
    for (int64_t i = 0; i < n; i++) {
        vbs_tune_point_at(problem->space, i, candidate(candidates, candidates->n));
        keep(problem, candidates);
    }
    return VBS_OK;
}

enum vbs_status vbs_tune_suggest_bayesian(struct vbs_ctx *ctx, struct tune_problem *problem,
                                          double *point, struct vbs_suggestion *suggestion)
{
    struct tune_random random =
        vbs_tune_random(problem->options.seed, TUNE_CLIMB, (uint64_t)problem->n_trials);
    struct vbs_arena *arena = &problem->arena;
    struct tune_candidates candidates;
    struct tune_models models;

    if (!vbs_tune_can_model(problem))
        return suggest_initial(ctx, problem, point);
    VBS_TRY(vbs_tune_models(ctx, problem, arena, &models));
    VBS_TRY(collect(ctx, &models, arena, &random, &candidates));
    if (candidates.n > 0) {
        VBS_TRY(score_all(ctx, &models, &candidates));
        if (vbs_search_space_points(problem->space) > FEW)
            VBS_TRY(climb_all(ctx, &models, arena, &random, &candidates));
    }
    if (candidates.n == 0 || candidates.scores[best_of(&candidates)] == -INFINITY)
        return vbs_tune_random_open(ctx, problem, &random, point);
    suggestion->score = candidates.scores[best_of(&candidates)];
    memcpy(point, candidate(&candidates, best_of(&candidates)), sizeof *point * candidates.width);
    return VBS_OK;
}
