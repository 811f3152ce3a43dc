/* The kernel, its covariance, the density of its unknowns, and predictions. */
#include "tune/gp/gp.h"
#include "base/matrix.h"
#include "tune/gp/prior.h"

#include "base/fail.h"

#include <gsl/gsl_cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SQRT_5    2.23606797749978969641
#define LEAST     1e-9  /* noise that is always added, as a share of the variance */
#define NO_SPREAD 1e-12 /* a deviation below this share of the mean is rounding */

enum vbs_status vbs_gp_new(struct vbs_ctx *ctx, struct vbs_arena *arena, int n, int d, int n_smooth,
                           const double *x, const double *values, struct tune_gp *gp)
{
    size_t size = (size_t)n, width = (size_t)d;
    struct tune_gp made = {
        .n = n,
        .d = d,
        .n_smooth = n_smooth,
        .x = x,
        .y = vbs_arena_alloc(arena, size, sizeof(double)),
        .unknown = vbs_arena_alloc(arena, GP_N_UNKNOWN(width), sizeof(double)),
        .scaled = vbs_arena_alloc(arena, size * width + 1, sizeof(double)),
        .inverses = vbs_arena_alloc(arena, width + 1, sizeof(double)),
        .factor = vbs_arena_alloc(arena, size * size, sizeof(double)),
        .weights = vbs_arena_alloc(arena, size, sizeof(double)),
    };
    double most = 0;

    if (!made.y || !made.unknown || !made.scaled || !made.inverses || !made.factor || !made.weights)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n; i++) {
        made.mean += values[i] / n;
        most = fmax(most, fabs(values[i]));
    }
    for (int i = 0; i < n; i++)
        made.deviation = hypot(made.deviation, (values[i] - made.mean) / sqrt(n));
    if (!(made.deviation > NO_SPREAD * most))
        made.deviation = most > 0 ? most : 1;
    for (int i = 0; i < n; i++)
        made.y[i] = (values[i] - made.mean) / made.deviation;
    vbs_gp_start(d, 0, made.unknown);
    *gp = made;
    return VBS_OK;
}

/* ---- the kernel ---- */

/* Divides coordinates by lengths. */
static void scale(struct tune_gp *gp, const double *unknown)
{
    for (int k = 0; k < gp->d; k++)
        gp->inverses[k] = exp(-2 * unknown[k]);
    for (int i = 0; i < gp->n; i++) {
        const double *from = gp->x + (size_t)i * (size_t)gp->d;
        double *to = gp->scaled + (size_t)i * (size_t)gp->d;

        for (int k = 0; k < gp->d; k++)
            to[k] = k < gp->n_smooth ? from[k] * sqrt(gp->inverses[k]) : from[k];
    }
}

/* Gives the square of the distance between two scaled points. */
static double distance2(const struct tune_gp *gp, const double *a, const double *b)
{
    double sum = 0;
    int k = 0;

    for (; k < gp->n_smooth; k++)
        sum += (a[k] - b[k]) * (a[k] - b[k]);
    for (; k < gp->d; k++) {
        if (a[k] != b[k])
            sum += gp->inverses[k];
    }
    return sum;
}

/* Gives the kernel over its variance. */
static double matern(double square)
{
    double r = SQRT_5 * sqrt(square);

    return (1 + r + r * r / 3) * exp(-r);
}

static const double *scaled_point(const struct tune_gp *gp, int i)
{
    return gp->scaled + (size_t)i * (size_t)gp->d;
}

/* Writes the upper triangle of the covariance. */
static void covariance(const struct tune_gp *gp, double variance, double noise)
{
    for (int i = 0; i < gp->n; i++) {
        double *row = gp->factor + (size_t)i * (size_t)gp->n;

        row[i] = variance * (1 + LEAST) + noise;
        for (int j = i + 1; j < gp->n; j++)
            row[j] = variance * matern(distance2(gp, scaled_point(gp, i), scaled_point(gp, j)));
    }
}

/* Computes the weights from the factor. */
static void weigh(struct tune_gp *gp)
{
    memcpy(gp->weights, gp->y, sizeof *gp->y * (size_t)gp->n);
    vbs_matrix_solve_lower(gp->factor, gp->n, gp->weights);
    vbs_matrix_solve_upper(gp->factor, gp->n, gp->weights);
}

/* ---- the density of the unknowns ---- */

/* Adds to the gradient by the lengths what one pair of points contributes: share times the
 * derivatives of its kernel over the variance. */
static void add_lengths(const struct tune_gp *gp, const double *a, const double *b, double share,
                        double *gradient)
{
    int k = 0;

    for (; k < gp->n_smooth; k++)
        gradient[k] += share * (a[k] - b[k]) * (a[k] - b[k]);
    for (; k < gp->d; k++) {
        if (a[k] != b[k])
            gradient[k] += share * gp->inverses[k];
    }
}

/* Writes the gradient of the negative logarithm of the marginal likelihood: -1/2 trace((w w^T -
 * K^-1) dK) for weights w (Rasmussen, Williams, equation 5.9). */
static void likelihood_gradient(const struct tune_gp *gp, double variance, double noise,
                                double *gradient, double *work)
{
    size_t n = (size_t)gp->n;
    double *inverse = work + n * n, by_variance = 0, by_noise = 0;

    vbs_matrix_invert(gp->factor, gp->n, work, inverse);
    memset(gradient, 0, sizeof *gradient * (size_t)GP_N_UNKNOWN(gp->d));
    for (int i = 0; i < gp->n; i++) {
        const double *row = inverse + (size_t)i * n, *a = scaled_point(gp, i);
        double own = gp->weights[i] * gp->weights[i] - row[i];

        by_noise -= own * noise / 2;
        by_variance -= own * variance * (1 + LEAST) / 2;
        for (int j = 0; j < i; j++) {
            const double *b = scaled_point(gp, j);
            double share = variance * (gp->weights[i] * gp->weights[j] - row[j]);
            double r = SQRT_5 * sqrt(distance2(gp, a, b)), decay = exp(-r);

            by_variance -= share * (1 + r + r * r / 3) * decay;
            add_lengths(gp, a, b, -share * 5 / 3 * (1 + r) * decay, gradient);
        }
    }
    gradient[GP_VARIANCE(gp->d)] = by_variance;
    gradient[GP_NOISE(gp->d)] = by_noise;
}

double vbs_gp_density(struct tune_gp *gp, const double *unknown, double *gradient, double *work)
{
    double variance = exp(unknown[GP_VARIANCE(gp->d)]), noise = exp(unknown[GP_NOISE(gp->d)]);
    double sum = 0, prior;

    if (!vbs_gp_allowed(gp->d, unknown))
        return INFINITY;
    scale(gp, unknown);
    covariance(gp, variance, noise);
    if (!vbs_matrix_factor(gp->factor, gp->n))
        return INFINITY;
    weigh(gp);
    for (int i = 0; i < gp->n; i++)
        sum += gp->y[i] * gp->weights[i] / 2 + log(gp->factor[(size_t)i * ((size_t)gp->n + 1)]);
    if (gradient)
        likelihood_gradient(gp, variance, noise, gradient, work);
    prior = vbs_gp_prior(gp->d, unknown, gradient);
    return isnan(sum) ? INFINITY : sum + prior;
}

void vbs_gp_fit(struct tune_gp *gp)
{
    double *noise = &gp->unknown[GP_NOISE(gp->d)];

    scale(gp, gp->unknown);
    for (;;) {
        covariance(gp, exp(gp->unknown[GP_VARIANCE(gp->d)]), exp(*noise));
        if (vbs_matrix_factor(gp->factor, gp->n))
            break;
        *noise += 2;
    }
    weigh(gp);
}

enum vbs_status vbs_gp_extend(struct vbs_ctx *ctx, struct vbs_arena *arena,
                              const struct tune_gp *from, int n, const double *x,
                              const double *values, struct tune_gp *gp)
{
    VBS_TRY(vbs_gp_new(ctx, arena, n, from->d, from->n_smooth, x, values, gp));
    gp->mean = from->mean;
    gp->deviation = from->deviation;
    for (int i = 0; i < n; i++)
        gp->y[i] = (values[i] - gp->mean) / gp->deviation;
    memcpy(gp->unknown, from->unknown, sizeof *gp->unknown * (size_t)GP_N_UNKNOWN(gp->d));
    vbs_gp_fit(gp);
    return VBS_OK;
}

/* ---- predictions ---- */

/* Predicts at up to VBS_MATRIX_LANES points; work: [n, VBS_MATRIX_LANES]; scaled: [d]. */
static void predict_some(const struct tune_gp *gp, const double *at, int n_at, double *scaled,
                         double *work, double *mean, double *deviation)
{
    double variance = exp(gp->unknown[GP_VARIANCE(gp->d)]), left[VBS_MATRIX_LANES];

    for (int lane = 0; lane < n_at; lane++) {
        double sum = 0;

        for (int k = 0; k < gp->d; k++) {
            double x = at[(size_t)lane * (size_t)gp->d + (size_t)k];

            scaled[k] = k < gp->n_smooth ? x * sqrt(gp->inverses[k]) : x;
        }
        for (int i = 0; i < gp->n; i++) {
            double k = variance * matern(distance2(gp, scaled, scaled_point(gp, i)));

            work[(size_t)i * VBS_MATRIX_LANES + (size_t)lane] = k;
            sum += k * gp->weights[i];
        }
        mean[lane] = gp->mean + gp->deviation * sum;
        left[lane] = variance;
    }
    vbs_matrix_solve_many(gp->factor, gp->n, work);
    for (int i = 0; i < gp->n; i++) {
        for (int lane = 0; lane < n_at; lane++) {
            double v = work[(size_t)i * VBS_MATRIX_LANES + (size_t)lane];

            left[lane] -= v * v;
        }
    }
    for (int lane = 0; lane < n_at; lane++)
        deviation[lane] = gp->deviation * sqrt(fmax(left[lane], LEAST * variance));
}

enum vbs_status vbs_gp_predict(struct vbs_ctx *ctx, const struct tune_gp *gp, const double *at,
                               int n_at, double *mean, double *deviation)
{
    size_t size = (size_t)gp->n * VBS_MATRIX_LANES;
    double *work = calloc(size + (size_t)gp->d, sizeof *work);

    if (!work)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n_at; i += VBS_MATRIX_LANES)
        predict_some(gp, at + (size_t)i * (size_t)gp->d,
                     n_at - i < VBS_MATRIX_LANES ? n_at - i : VBS_MATRIX_LANES, work + size, work,
                     mean + i, deviation + i);
    free(work);
    return VBS_OK;
}
