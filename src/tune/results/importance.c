/*
 * Functional analysis of variance on a random forest (Hutter, Hoos, Leyton-Brown, 2014). A tree is
 * constant on boxes, so that its mean over all parameters but one is a step function of that one,
 * and its variance is a sum over steps.
 *
 * The choices of a categorical parameter have no order. Each tree puts them into a random one of
 * its own and splits between them as between numbers.
 */
#include "tune/results/forest.h"
#include "tune/space/space.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

#define N_TREES 64

/* An edge of a leaf along one coordinate: the step function changes there. */
struct tune_edge {
    double at, change;
};

/* What all trees use. */
struct tune_analysis {
    const struct vbs_search_space *space;
    const double *points; /* [n, d] */
    struct tune_samples samples;
    double *from, *to; /* of the samples */
    struct tune_edge *edges;
    double *shares; /* [d] sum over trees */
    int n_trees;    /* whose variance is above 0 */
};

static double volume_of(const struct tune_leaf *leaf, int d)
{
    double volume = 1;

    for (int k = 0; k < d; k++)
        volume *= leaf->high[k] - leaf->low[k];
    return volume;
}

static int by_place(const void *a, const void *b)
{
    const struct tune_edge *x = a, *y = b;

    if (x->at != y->at)
        return x->at > y->at ? 1 : -1;
    return (x->change > y->change) - (x->change < y->change);
}

/* Gives the variance of the mean over all coordinates but one, around the mean of the tree, which
 * is 0. */
static double marginal_variance(const struct tune_leaves *leaves, int d, int column,
                                struct tune_edge *edges)
{
    double height = 0, variance = 0;
    int n = 0;

    for (int i = 0; i < leaves->n; i++) {
        const struct tune_leaf *leaf = &leaves->leaves[i];
        double change =
            leaf->value * (volume_of(leaf, d) / (leaf->high[column] - leaf->low[column]));

        edges[n++] = (struct tune_edge){leaf->low[column], change};
        edges[n++] = (struct tune_edge){leaf->high[column], -change};
    }
    qsort(edges, (size_t)n, sizeof *edges, by_place);
    for (int i = 0; i + 1 < n; i++) {
        height += edges[i].change;
        variance += height * height * (edges[i + 1].at - edges[i].at);
    }
    return variance;
}

static void add_tree(struct tune_analysis *analysis, struct tune_leaves *leaves)
{
    int d = analysis->samples.d;
    double mean = 0, variance = 0;

    for (int i = 0; i < leaves->n; i++)
        mean += leaves->leaves[i].value * volume_of(&leaves->leaves[i], d);
    for (int i = 0; i < leaves->n; i++) {
        struct tune_leaf *leaf = &leaves->leaves[i];

        leaf->value -= mean;
        variance += leaf->value * leaf->value * volume_of(leaf, d);
    }
    if (!(variance > 0))
        return;
    analysis->n_trees++;
    for (int k = 0; k < d; k++)
        analysis->shares[k] += fmin(1, marginal_variance(leaves, d, k, analysis->edges) / variance);
}

/* Writes the places of all points along a coordinate; of choices, in a new order. */
static enum vbs_status place(struct vbs_ctx *ctx, struct tune_analysis *analysis, int column,
                             struct tune_random *random)
{
    const struct vbs_search_parameter *parameter = &analysis->space->parameters[column];
    size_t d = (size_t)analysis->samples.d;
    int n_choices = parameter->kind == VBS_SEARCH_CATEGORICAL ? parameter->n_choices : 0;
    int *order = n_choices ? malloc(sizeof *order * (size_t)n_choices) : NULL;

    if (n_choices && !order)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n_choices; i++) {
        int k = (int)vbs_tune_below(random, i + 1);

        order[i] = order[k];
        order[k] = i;
    }
    for (int i = 0; i < analysis->samples.n; i++) {
        size_t at = (size_t)i * d + (size_t)column;
        double value = analysis->points[at];

        if (order)
            value = order[(int)value];
        vbs_tune_shares(parameter, value, &analysis->from[at], &analysis->to[at]);
    }
    free(order);
    return VBS_OK;
}

static enum vbs_status analyse(struct vbs_ctx *ctx, struct tune_analysis *analysis, uint64_t seed)
{
    for (int t = 0; t < N_TREES; t++) {
        struct tune_random random = vbs_tune_random(seed, TUNE_FOREST, (uint64_t)t);
        struct vbs_arena arena = {0};
        struct tune_leaves leaves;
        enum vbs_status status = VBS_OK;

        for (int k = 0; k < analysis->samples.d && status == VBS_OK; k++) {
            if (t == 0 || analysis->space->parameters[k].kind == VBS_SEARCH_CATEGORICAL)
                status = place(ctx, analysis, k, &random);
        }
        if (status == VBS_OK)
            status = vbs_tune_tree(ctx, &analysis->samples, random, &arena, &leaves);
        if (status == VBS_OK)
            add_tree(analysis, &leaves);
        vbs_arena_clear(&arena);
        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

static enum vbs_status prepare(struct vbs_ctx *ctx, const double *values, int n,
                               struct vbs_arena *arena, struct tune_analysis *analysis)
{
    size_t size = (size_t)n, d = (size_t)analysis->space->n_parameters;
    double *scaled = vbs_arena_alloc(arena, size, sizeof *scaled), most = 0;

    analysis->from = vbs_arena_alloc(arena, size * d, sizeof(double));
    analysis->to = vbs_arena_alloc(arena, size * d, sizeof(double));
    analysis->edges = vbs_arena_alloc(arena, 2 * size, sizeof *analysis->edges);
    analysis->shares = vbs_arena_alloc(arena, d, sizeof(double));
    if (!scaled || !analysis->from || !analysis->to || !analysis->edges || !analysis->shares)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(values[i]));
    for (int i = 0; i < n && most > 0; i++)
        scaled[i] = values[i] / most;
    analysis->samples = (struct tune_samples){n, (int)d, analysis->from, analysis->to, scaled};
    return VBS_OK;
}

static enum vbs_status check(struct vbs_ctx *ctx, const struct vbs_search_space *space,
                             const double *points, const double *values, int n)
{
    VBS_TRY(vbs_search_space_check(ctx, space));
    if (n < 2 || n > VBS_SEARCH_MAX_TRIALS)
        return vbs_fail(ctx, VBS_USAGE, "the importance of parameters needs 2 to %d points, not %d",
                        VBS_SEARCH_MAX_TRIALS, n);
    for (int i = 0; i < n; i++) {
        VBS_TRY(
            vbs_search_point_check(ctx, space, points + (size_t)i * (size_t)space->n_parameters));
        if (!isfinite(values[i]))
            return vbs_fail(ctx, VBS_USAGE, "the value of point %d is not finite", i + 1);
    }
    return VBS_OK;
}

enum vbs_status vbs_search_importance(struct vbs_ctx *ctx, const struct vbs_search_space *space,
                                      const double *points, const double *values, int n,
                                      uint64_t seed, double *importance)
{
    struct tune_analysis analysis = {.space = space, .points = points};
    struct vbs_arena arena = {0};
    enum vbs_status status = check(ctx, space, points, values, n);

    if (status == VBS_OK)
        status = prepare(ctx, values, n, &arena, &analysis);
    if (status == VBS_OK)
        status = analyse(ctx, &analysis, seed);
    for (int k = 0; status == VBS_OK && k < space->n_parameters; k++)
        importance[k] = analysis.n_trees ? analysis.shares[k] / analysis.n_trees : 0;
    vbs_arena_clear(&arena);
    return status;
}
