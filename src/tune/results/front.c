/*
 * Pareto fronts and hypervolumes. Points are taken by falling last objective, so that each is
 * dominated by none but those before it, and is so where these dominate it in the other objectives
 * (Kung, Luccio, Preparata: On Finding the Maxima of a Set of Vectors, 1975). With three objectives
 * the volume grows, from one level of the last to the next, by the area that is dominated in the
 * other two.
 */
#include "tune/results/staircase.h"
#include "vbslab/tune.h"

#include "base/arena.h"
#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

/* A point of up to three objectives: missing ones are 0. */
struct tune_outcome {
    double value[VBS_SEARCH_MAX_OBJECTIVES];
    int index;
};

/* For qsort: by falling last objective, then the one before it, then the first. */
static int by_last(const void *a, const void *b)
{
    const struct tune_outcome *x = a, *y = b;

    for (int o = VBS_SEARCH_MAX_OBJECTIVES - 1; o >= 0; o--) {
        if (x->value[o] != y->value[o])
            return x->value[o] > y->value[o] ? -1 : 1;
    }
    return (x->index > y->index) - (x->index < y->index);
}

/* Gives values as sorted points, in memory of an arena, without those that are not above a
 * reference. */
static enum vbs_status sort_values(struct vbs_ctx *ctx, int n_objectives, const double *values,
                                   int n, const double *reference, struct vbs_arena *arena,
                                   struct tune_outcome **sorted, int *n_sorted)
{
    struct tune_outcome *outcomes = vbs_arena_alloc(arena, (size_t)n + 1, sizeof *outcomes);
    int n_kept = 0;

    if (!outcomes)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n; i++) {
        bool above = true;

        for (int o = 0; o < n_objectives; o++) {
            double value = values[(size_t)i * (size_t)n_objectives + (size_t)o];

            if (!isfinite(value))
                return vbs_fail(ctx, VBS_USAGE, "objective %d of point %d is not a finite number",
                                o + 1, i + 1);
            outcomes[n_kept].value[o] = value;
            above = above && (!reference || value > reference[o]);
        }
        outcomes[n_kept].index = i;
        n_kept += above;
    }
    qsort(outcomes, (size_t)n_kept, sizeof *outcomes, by_last);
    *sorted = outcomes;
    *n_sorted = n_kept;
    return VBS_OK;
}

static enum vbs_status check(struct vbs_ctx *ctx, int n_objectives, int n)
{
    if (n_objectives < 1 || n_objectives > VBS_SEARCH_MAX_OBJECTIVES || n < 0)
        return vbs_fail(ctx, VBS_USAGE, "%d points with %d objectives: there must be 1 to %d", n,
                        n_objectives, VBS_SEARCH_MAX_OBJECTIVES);
    return VBS_OK;
}

static bool equal_values(const struct tune_outcome *a, const struct tune_outcome *b)
{
    return a->value[0] == b->value[0] && a->value[1] == b->value[1] && a->value[2] == b->value[2];
}

/*
 * A point behind others of the order is dominated where one of them is at least as good in the
 * first two objectives, unless the two are equal in everything. Equal points are neighbours.
 */
static enum vbs_status mark_front(struct vbs_ctx *ctx, int n_objectives, const double *values,
                                  int n, struct vbs_arena *arena, bool *on_front)
{
    struct tune_staircase staircase = {.n = 0};
    struct tune_outcome *sorted;

    VBS_TRY(sort_values(ctx, n_objectives, values, n, NULL, arena, &sorted, &n));
    staircase.steps = vbs_arena_alloc(arena, (size_t)n + 1, sizeof *staircase.steps);
    if (!staircase.steps)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n; i++) {
        struct tune_step step = {sorted[i].value[0], sorted[i].value[1]};

        if (i > 0 && equal_values(&sorted[i], &sorted[i - 1])) {
            on_front[sorted[i].index] = on_front[sorted[i - 1].index];
            continue;
        }
        on_front[sorted[i].index] = !vbs_tune_staircase_dominates(&staircase, step, true);
        if (on_front[sorted[i].index])
            vbs_tune_staircase_add(&staircase, step, step.x, step.y);
    }
    return VBS_OK;
}

enum vbs_status vbs_pareto_front(struct vbs_ctx *ctx, int n_objectives, const double *values, int n,
                                 bool *on_front)
{
    struct vbs_arena arena = {0};
    enum vbs_status status = check(ctx, n_objectives, n);

    if (status == VBS_OK)
        status = mark_front(ctx, n_objectives, values, n, &arena, on_front);
    vbs_arena_clear(&arena);
    return status;
}

/* Missing objectives count as a length of 1: their reference is one below their value, 0. */
static enum vbs_status measure(struct vbs_ctx *ctx, int n_objectives, const double *values, int n,
                               const double *reference, struct vbs_arena *arena, double *volume)
{
    double low[VBS_SEARCH_MAX_OBJECTIVES] = {-1, -1, -1}, area = 0, sum = 0;
    struct tune_staircase staircase = {.n = 0};
    struct tune_outcome *sorted;

    for (int o = 0; o < n_objectives; o++) {
        low[o] = reference[o];
        if (!isfinite(reference[o]))
            return vbs_fail(ctx, VBS_USAGE, "the reference of objective %d is not finite", o + 1);
    }
    VBS_TRY(sort_values(ctx, n_objectives, values, n, reference, arena, &sorted, &n));
    staircase.steps = vbs_arena_alloc(arena, (size_t)n + 1, sizeof *staircase.steps);
    if (!staircase.steps)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n; i++) {
        struct tune_step step = {sorted[i].value[0], sorted[i].value[1]};
        double below = i + 1 < n ? sorted[i + 1].value[2] : low[2];

        if (!vbs_tune_staircase_dominates(&staircase, step, true))
            area += vbs_tune_staircase_add(&staircase, step, low[0], low[1]);
        sum += area * (sorted[i].value[2] - below);
    }
    *volume = sum;
    return VBS_OK;
}

enum vbs_status vbs_hypervolume(struct vbs_ctx *ctx, int n_objectives, const double *values, int n,
                                const double *reference, double *volume)
{
    struct vbs_arena arena = {0};
    enum vbs_status status = check(ctx, n_objectives, n);

    if (status == VBS_OK)
        status = measure(ctx, n_objectives, values, n, reference, &arena, volume);
    vbs_arena_clear(&arena);
    return status;
}
