/*
 * The acquisition: expected improvement, of the objective or of the Pareto front's hypervolume,
 * times the probability that all conditions hold; all in logarithms, so that points far from any
 * improvement still have an order.
 */
#include "tune/models/models.h"
#include "tune/models/normal.h"

#include "base/fail.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Improvements of the logarithm of a known objective that are much smaller count as none. */
#define FINE 1e-3
/* The same, as a share of the value, where a known objective is one of two. */
#define FINE_SHARE 1e-6

/* What is expected of an objective at a point. */
struct tune_expected {
    double mean, deviation;
};

/* Gives log(exp(a) + exp(b)). */
static double log_sum(double a, double b)
{
    double most = fmax(a, b);

    return most == -INFINITY ? most : most + log1p(exp(-fabs(a - b)));
}

/*
 * Gives the logarithm of the expected growth of the hypervolume. The front cuts the first objective
 * into strips; in each, a new point adds its width within the strip times its height above the
 * front. The two objectives are independent, so the expectation of the product is the product of
 * expectations: the width is the improvement over the strip's left end less the one over its right
 * end.
 */
static double log_growth(const struct tune_models *models, const struct tune_expected *e)
{
    double sum = -INFINITY, left = models->reference[0], next;
    double here = vbs_tune_log_improvement(e[0].mean, e[0].deviation, left);

    for (int i = 0; i <= models->n_front; i++, here = next) {
        double floor = models->reference[1], width = here;

        next = -INFINITY;
        if (i < models->n_front) {
            const double *member = models->front + (size_t)2 * i;

            floor = fmax(floor, member[1]);
            next = here;
            if (member[0] > left) {
                left = member[0];
                next = vbs_tune_log_improvement(e[0].mean, e[0].deviation, left);
            }
            width = next < here ? here + log1p(-exp(next - here)) : -INFINITY;
        }
        sum = log_sum(sum, width + vbs_tune_log_improvement(e[1].mean, e[1].deviation, floor));
    }
    return sum;
}

/* Gives what is expected of a known objective. */
static struct tune_expected expect_known(const struct tune_models *models, int objective,
                                         const double *point)
{
    double value = vbs_tune_known(models->problem, objective, point);

    return (struct tune_expected){value, FINE_SHARE * value};
}

static double log_gain(const struct tune_models *models, const double *point,
                       const struct tune_expected *e)
{
    if (models->n_feasible == 0)
        return 0;
    if (models->n_objectives == 2)
        return log_growth(models, e);
    if (!models->known[0])
        return vbs_tune_log_improvement(e->mean, e->deviation, models->best);
    return vbs_tune_log_improvement(log(vbs_tune_known(models->problem, 0, point)), FINE,
                                    log(fmax(models->best, DBL_MIN)));
}

/* Scores points, in memory of the arena. */
static enum vbs_status predict(struct vbs_ctx *ctx, const struct tune_models *models,
                               const double *points, int n, struct vbs_arena *arena, double *scores)
{
    size_t size = (size_t)n, width = (size_t)models->problem->space->n_parameters;
    double *x = vbs_arena_alloc(arena, size * (size_t)models->axes.n + 1, sizeof *x);
    double *mean = vbs_arena_alloc(arena, 4 * size, sizeof *mean), *deviation;

    if (!x || !mean)
        return vbs_no_memory(ctx);
    deviation = mean + size;
    for (size_t i = 0; i < size; i++)
        vbs_tune_locate(models->problem->space, &models->axes, points + i * width,
                        x + i * (size_t)models->axes.n);
    for (int o = 0; o < models->n_objectives; o++) {
        if (!models->known[o] && models->n_feasible > 0)
            VBS_TRY(vbs_gp_predict(ctx, &models->objectives[o], x, n, mean + 2 * size * (size_t)o,
                                   deviation + 2 * size * (size_t)o));
    }
    for (size_t i = 0; i < size; i++) {
        const double *point = points + i * width;
        struct tune_expected e[2];

        for (int o = 0; o < models->n_objectives; o++) {
            size_t at = i + 2 * size * (size_t)o;

            e[o] = models->known[o] ? expect_known(models, o, point)
                                    : (struct tune_expected){mean[at], deviation[at]};
        }
        scores[i] = log_gain(models, point, e);
    }
    for (int c = 0; c < models->n_conditions; c++) {
        VBS_TRY(vbs_gp_predict(ctx, &models->conditions[c], x, n, mean, deviation));
        for (size_t i = 0; i < size; i++)
            scores[i] += vbs_tune_log_probability(mean[i], deviation[i]);
    }
    for (size_t i = 0; i < size; i++) {
        if (isnan(scores[i]))
            scores[i] = -INFINITY;
    }
    return VBS_OK;
}

enum vbs_status vbs_tune_score(struct vbs_ctx *ctx, const struct tune_models *models,
                               const double *points, int n, double *scores)
{
    struct vbs_arena arena = {0};
    enum vbs_status status = predict(ctx, models, points, n, &arena, scores);

    vbs_arena_clear(&arena);
    return status;
}
