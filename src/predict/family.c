/* Families of kernels: a roofline, and a Gaussian process of the logarithm of what it misses. */
#include "predict/predict.h"

#include "base/arith.h"
#include "base/fail.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LEARN 150 /* points from which unknowns of the process are learnt */
#define FOLDS      4   /* parts of the layers that are left out by turns */
#define FEW_LAYERS 6   /* with fewer, errors of layers left out say little */
#define WIDEN_FEW  2.0 /* widening then */
#define MOST_WIDEN 8.0
#define LEAST_NOISE                                                                                \
    0.02 /* of a time: a quiet machine measures a kernel again within some percent */

/* Gives the deviation of a time that is measured once more. */
static double noise_of(const struct tune_gp *gp)
{
    return fmax(LEAST_NOISE, gp->deviation * exp(gp->unknown[GP_NOISE(gp->d)] / 2));
}

/* Writes the logarithm of what the roofline misses of each point, and its features. */
static void fill(const struct predict_family *family, const struct predict_point *const *points,
                 double *x, double *y)
{
    for (int i = 0; i < family->n; i++) {
        memcpy(x + (size_t)i * PREDICT_FEATURES, points[i]->features, sizeof points[i]->features);
        y[i] = log(points[i]->time_us) - log(vbs_predict_roofline(family->coefficients, points[i]));
    }
}

/* What is left out, and what remains. */
struct predict_fold {
    int n_in, n_out;
    double *x, *y, *x_out, *y_out, *mean, *deviation;
};

static enum vbs_status new_fold(struct vbs_ctx *ctx, struct vbs_arena *arena, int n,
                                struct predict_fold *fold)
{
    size_t size = (size_t)n;

    fold->x = vbs_arena_alloc(arena, size * PREDICT_FEATURES, sizeof(double));
    fold->x_out = vbs_arena_alloc(arena, size * PREDICT_FEATURES, sizeof(double));
    fold->y = vbs_arena_alloc(arena, size, sizeof(double));
    fold->y_out = vbs_arena_alloc(arena, size, sizeof(double));
    fold->mean = vbs_arena_alloc(arena, size, sizeof(double));
    fold->deviation = vbs_arena_alloc(arena, size, sizeof(double));
    return fold->x && fold->x_out && fold->y && fold->y_out && fold->mean && fold->deviation
               ? VBS_OK
               : vbs_no_memory(ctx);
}

static void divide(const struct predict_family *family, const struct predict_point *const *points,
                   const double *y, int which, struct predict_fold *fold)
{
    fold->n_in = fold->n_out = 0;
    for (int i = 0; i < family->n; i++) {
        bool out = points[i]->geometry % FOLDS == which;
        int to = out ? fold->n_out++ : fold->n_in++;

        memcpy((out ? fold->x_out : fold->x) + (size_t)to * PREDICT_FEATURES, points[i]->features,
               sizeof points[i]->features);
        (out ? fold->y_out : fold->y)[to] = y[i];
    }
}

/* Appends the errors of the points left out, over the deviations predicted, to errors [*n]. */
static enum vbs_status judge_fold(struct vbs_ctx *ctx, const struct predict_family *family,
                                  struct predict_fold *fold, double *errors, int *n)
{
    struct vbs_arena arena = {0};
    struct tune_gp gp;
    double noise = noise_of(&family->gp);
    enum vbs_status status;

    if (fold->n_in == 0 || fold->n_out == 0)
        return VBS_OK;
    status = vbs_gp_extend(ctx, &arena, &family->gp, fold->n_in, fold->x, fold->y, &gp);
    if (status == VBS_OK)
        status = vbs_gp_predict(ctx, &gp, fold->x_out, fold->n_out, fold->mean, fold->deviation);
    for (int i = 0; i < fold->n_out && status == VBS_OK; i++)
        errors[(*n)++] = fabs(fold->y_out[i] - fold->mean[i]) / hypot(fold->deviation[i], noise);
    vbs_arena_clear(&arena);
    return status;
}

static int count_layers(const struct predict_point *const *points, int n)
{
    int layers = 0;

    for (int i = 0; i < n; i++) {
        bool first = true;

        for (int j = 0; j < i && first; j++)
            first = points[j]->geometry != points[i]->geometry;
        layers += first;
    }
    return layers;
}

/* Compares the process with the errors that it makes for layers left out: batches of one layer err
 * together, so that its own deviations are too narrow. */
static enum vbs_status widen(struct vbs_ctx *ctx, const struct predict_point *const *points,
                             const double *y, struct predict_family *family)
{
    struct vbs_arena arena = {0};
    struct predict_fold fold = {0};
    double *errors = vbs_arena_alloc(&arena, (size_t)family->n, sizeof *errors);
    int n = 0;
    enum vbs_status status = errors ? VBS_OK : vbs_no_memory(ctx);

    family->widening = WIDEN_FEW;
    if (status == VBS_OK && count_layers(points, family->n) >= FEW_LAYERS) {
        status = new_fold(ctx, &arena, family->n, &fold);
        for (int f = 0; f < FOLDS && status == VBS_OK; f++) {
            divide(family, points, y, f, &fold);
            status = judge_fold(ctx, family, &fold, errors, &n);
        }
    }
    if (status == VBS_OK && n > 0) {
        gsl_sort(errors, 1, (size_t)n);
        family->widening = fmin(
            MOST_WIDEN, fmax(1, gsl_stats_quantile_from_sorted_data(errors, 1, (size_t)n, 0.95) /
                                    VBS_NORMAL_95));
    }
    vbs_arena_clear(&arena);
    return status;
}

enum vbs_status vbs_predict_learn_family(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                         const struct predict_point *const *points, int n,
                                         struct predict_family *family)
{
    int used = n < PREDICT_MOST ? n : PREDICT_MOST;
    size_t size = (size_t)used;
    const struct predict_point **chosen = vbs_arena_alloc(arena, size, sizeof *chosen);
    double *x = vbs_arena_alloc(arena, size * PREDICT_FEATURES, sizeof *x);
    double *y = vbs_arena_alloc(arena, size, sizeof *y);

    if (!chosen || !x || !y)
        return vbs_no_memory(ctx);
    for (int i = 0; i < used; i++)
        chosen[i] = points[(int64_t)i * n / used];
    *family = (struct predict_family){.first = points[0], .n = used};
    vbs_predict_fit_roofline(chosen, used, family->coefficients);
    fill(family, chosen, x, y);
    VBS_TRY(vbs_gp_new(ctx, arena, used, PREDICT_FEATURES, PREDICT_FEATURES, x, y, &family->gp));
    VBS_TRY(vbs_gp_learn(ctx, MOST_LEARN, &family->gp));
    vbs_gp_fit(&family->gp);
    return widen(ctx, chosen, y, family);
}

enum vbs_status vbs_predict_by_family(struct vbs_ctx *ctx, const struct predict_family *family,
                                      const struct predict_point *const *points, int n,
                                      struct predict_time *times)
{
    size_t size = (size_t)n;
    double *x = calloc(size * (PREDICT_FEATURES + 2) + 1, sizeof *x);
    double noise = noise_of(&family->gp), *mean, *deviation;
    enum vbs_status status;

    if (!x)
        return vbs_no_memory(ctx);
    mean = x + size * PREDICT_FEATURES;
    deviation = mean + size;
    for (int i = 0; i < n; i++)
        memcpy(x + (size_t)i * PREDICT_FEATURES, points[i]->features, sizeof points[i]->features);
    status = vbs_gp_predict(ctx, &family->gp, x, n, mean, deviation);
    for (int i = 0; i < n && status == VBS_OK; i++)
        times[i] = (struct predict_time){
            .log_us = mean[i] + log(vbs_predict_roofline(family->coefficients, points[i])),
            .deviation = family->widening * hypot(deviation[i], noise)};
    free(x);
    return status;
}
