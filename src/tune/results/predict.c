/* Predictions for pictures. */
#include "tune/gp/gp.h"
#include "tune/space/space.h"

#include "base/fail.h"

#include <math.h>

#define MAX_POINTS 2000
#define MAX_LEARN  128 /* points from which the process learns its unknowns */

static enum vbs_status check(struct vbs_ctx *ctx, const struct vbs_search_space *space,
                             const double *points, const double *values, int n, const double *at,
                             int n_at)
{
    size_t width = (size_t)space->n_parameters;

    if (n < 1 || n > MAX_POINTS || n_at < 0)
        return vbs_fail(ctx, VBS_USAGE, "a prediction needs 1 to %d points, not %d", MAX_POINTS, n);
    for (int i = 0; i < n; i++) {
        VBS_TRY(vbs_search_point_check(ctx, space, points + (size_t)i * width));
        if (!isfinite(values[i]))
            return vbs_fail(ctx, VBS_USAGE, "the value of point %d is not finite", i + 1);
    }
    for (int i = 0; i < n_at; i++)
        VBS_TRY(vbs_search_point_check(ctx, space, at + (size_t)i * width));
    return VBS_OK;
}

static enum vbs_status predict(struct vbs_ctx *ctx, const struct vbs_search_space *space,
                               const double *points, const double *values, int n, const double *at,
                               int n_at, struct vbs_arena *arena, double **predicted)
{
    size_t width = (size_t)space->n_parameters, size = (size_t)n_at;
    struct tune_axes axes;
    struct tune_gp gp;
    double *x, *at_x;

    vbs_tune_axes(space, &axes);
    x = vbs_arena_alloc(arena, (size_t)n * (size_t)axes.n + 1, sizeof *x);
    at_x = vbs_arena_alloc(arena, size * (size_t)axes.n + 1, sizeof *at_x);
    *predicted = vbs_arena_alloc(arena, 2 * size + 1, sizeof **predicted);
    if (!x || !at_x || !*predicted)
        return vbs_no_memory(ctx);
    for (size_t i = 0; i < (size_t)n; i++)
        vbs_tune_locate(space, &axes, points + i * width, x + i * (size_t)axes.n);
    for (size_t i = 0; i < size; i++)
        vbs_tune_locate(space, &axes, at + i * width, at_x + i * (size_t)axes.n);
    VBS_TRY(vbs_gp_new(ctx, arena, n, axes.n, axes.n_smooth, x, values, &gp));
    VBS_TRY(vbs_gp_learn(ctx, MAX_LEARN, &gp));
    vbs_gp_fit(&gp);
    return vbs_gp_predict(ctx, &gp, at_x, n_at, *predicted, *predicted + size);
}

enum vbs_status vbs_search_predict(struct vbs_ctx *ctx, const struct vbs_search_space *space,
                                   const double *points, const double *values, int n,
                                   const double *at, int n_at, double *mean, double *deviation)
{
    struct vbs_arena arena = {0};
    double *predicted = NULL;
    enum vbs_status status = vbs_search_space_check(ctx, space);

    if (status == VBS_OK)
        status = check(ctx, space, points, values, n, at, n_at);
    if (status == VBS_OK)
        status = predict(ctx, space, points, values, n, at, n_at, &arena, &predicted);
    for (int i = 0; status == VBS_OK && i < n_at; i++) {
        mean[i] = predicted[i];
        deviation[i] = predicted[n_at + i];
    }
    vbs_arena_clear(&arena);
    return status;
}
