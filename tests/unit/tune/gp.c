/* The Gaussian process against a dense reference, its gradient against differences, and what it
 * learns. */
#include "reference/tune/gauss.h"
#include "support/tap.h"
#include "tune/gp/gp.h"
#include "tune/gp/minimise.h"
#include "tune/gp/prior.h"
#include "tune/space/random.h"

#include <stdlib.h>

#define N  12
#define D  4
#define AT 11

static double x[N * D], y[N], at[AT * D];

static void make_points(struct tune_random *random)
{
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < D; k++)
            x[i * D + k] = k < 3 ? vbs_tune_uniform(random) : (double)vbs_tune_below(random, 3);
        y[i] = 100 + 7 * vbs_tune_normal(random);
    }
    for (int i = 0; i < AT; i++) {
        for (int k = 0; k < D; k++)
            at[i * D + k] = k < 3 ? vbs_tune_uniform(random) : (double)vbs_tune_below(random, 3);
    }
}

static void draw_unknowns(struct tune_random *random, double *unknown)
{
    for (int k = 0; k < D; k++)
        unknown[k] = 0.7 * vbs_tune_normal(random);
    unknown[GP_VARIANCE(D)] = 0.5 * vbs_tune_normal(random);
    unknown[GP_NOISE(D)] = -4 + 2 * vbs_tune_uniform(random);
}

/* Gives the reference of a process, whose values are those of the process in its own unit. */
static struct gauss reference_of(const struct tune_gp *gp, double *lengths)
{
    struct gauss gauss = {gp->n, D, 3, gp->x, gp->y, lengths, 0, 0};

    for (int k = 0; k < D; k++)
        lengths[k] = exp(gp->unknown[k]);
    gauss.variance = exp(gp->unknown[GP_VARIANCE(D)]);
    gauss.noise = exp(gp->unknown[GP_NOISE(D)]) + 1e-9 * gauss.variance;
    return gauss;
}

static void test_values(void)
{
    struct tune_random random = {7};
    double worst_mean = 0, worst_deviation = 0, worst_likelihood = 0, first = 0;

    for (int round = 0; round < 20; round++) {
        double lengths[D], mean[AT], deviation[AT], work[2 * N * N], likelihood;
        struct vbs_arena arena = {0};
        struct tune_gp gp;
        struct gauss gauss;

        make_points(&random);
        if (vbs_gp_new(NULL, &arena, N, D, 3, x, y, &gp) != VBS_OK)
            bail_out("no memory");
        draw_unknowns(&random, gp.unknown);
        vbs_gp_fit(&gp);
        if (vbs_gp_predict(NULL, &gp, at, AT, mean, deviation) != VBS_OK)
            bail_out("no memory");
        gauss = reference_of(&gp, lengths);
        for (int i = 0; i < AT; i++) {
            double m, v;

            gauss_predict(&gauss, at + i * D, &m, &v);
            worst_mean = fmax(worst_mean, fabs((mean[i] - gp.mean) / gp.deviation - m));
            worst_deviation = fmax(worst_deviation, fabs(deviation[i] / gp.deviation - sqrt(v)));
        }
        /* Both are known up to a constant. */
        likelihood = vbs_gp_density(&gp, gp.unknown, NULL, work) -
                     vbs_gp_prior(D, gp.unknown, NULL) + gauss_likelihood(&gauss);
        if (round == 0)
            first = likelihood;
        worst_likelihood = fmax(worst_likelihood, fabs(likelihood - first));
        vbs_arena_clear(&arena);
    }
    ok(worst_mean < 1e-9, "means are those of the reference (%.1e)", worst_mean);
    ok(worst_deviation < 1e-8, "deviations are, too (%.1e)", worst_deviation);
    ok(worst_likelihood < 1e-8, "and likelihoods (%.1e)", worst_likelihood);
}

static void test_gradient(void)
{
    struct tune_random random = {11};
    double worst = 0;

    for (int round = 0; round < 10; round++) {
        double gradient[GP_N_UNKNOWN(D)], work[2 * N * N];
        struct vbs_arena arena = {0};
        struct tune_gp gp;

        make_points(&random);
        if (vbs_gp_new(NULL, &arena, N, D, 3, x, y, &gp) != VBS_OK)
            bail_out("no memory");
        draw_unknowns(&random, gp.unknown);
        vbs_gp_density(&gp, gp.unknown, gradient, work);
        for (int k = 0; k < GP_N_UNKNOWN(D); k++) {
            double step = 1e-5, here = gp.unknown[k], high, low;

            gp.unknown[k] = here + step;
            high = vbs_gp_density(&gp, gp.unknown, NULL, work);
            gp.unknown[k] = here - step;
            low = vbs_gp_density(&gp, gp.unknown, NULL, work);
            gp.unknown[k] = here;
            worst = fmax(worst,
                         fabs((high - low) / (2 * step) - gradient[k]) / (1 + fabs(gradient[k])));
        }
        vbs_arena_clear(&arena);
    }
    ok(worst < 1e-6, "the gradient is that of differences (%.1e)", worst);
}

/* What is learned has a density at least as high as each start. */
static void test_learning(void)
{
    struct tune_random random = {3};
    double work[2 * N * N], mean[N], deviation[N], unknown[GP_N_UNKNOWN(D)], worst = 0;
    struct vbs_arena arena = {0};
    struct tune_gp gp, more;
    bool higher = true;

    make_points(&random);
    for (int i = 0; i < N; i++)
        y[i] = 3 * x[i * D] + (x[i * D + 3] == 1);
    if (vbs_gp_new(NULL, &arena, N, D, 3, x, y, &gp) != VBS_OK ||
        vbs_gp_learn(NULL, N, &gp) != VBS_OK)
        bail_out("no memory");
    for (int start = 0; start < GP_N_STARTS; start++) {
        vbs_gp_start(D, start, unknown);
        higher = higher && vbs_gp_density(&gp, gp.unknown, NULL, work) <=
                               vbs_gp_density(&gp, unknown, NULL, work);
    }
    ok(higher, "what is learned is denser than every start");
    ok(gp.unknown[0] < gp.unknown[1] && gp.unknown[0] < gp.unknown[2],
       "a coordinate that matters has a shorter length than those that do not");
    vbs_gp_fit(&gp);
    if (vbs_gp_predict(NULL, &gp, x, N, mean, deviation) != VBS_OK)
        bail_out("no memory");
    for (int i = 0; i < N; i++)
        worst = fmax(worst, fabs(mean[i] - y[i]));
    ok(worst < 0.05, "a function without noise is met at its points (%.1e)", worst);
    /* A point with the expected value changes no mean, but makes deviations smaller. */
    {
        double all_x[(N + 1) * D], all_y[N + 1], before[2], after[2];

        memcpy(all_x, x, sizeof x);
        memcpy(all_x + N * D, at, sizeof *at * D);
        memcpy(all_y, y, sizeof y);
        if (vbs_gp_predict(NULL, &gp, at, 1, &all_y[N], &before[1]) != VBS_OK ||
            vbs_gp_extend(NULL, &arena, &gp, N + 1, all_x, all_y, &more) != VBS_OK ||
            vbs_gp_predict(NULL, &more, at, 1, &after[0], &after[1]) != VBS_OK)
            bail_out("no memory");
        ok(fabs(after[0] - all_y[N]) < 1e-6 && after[1] < before[1] / 10,
           "a believed value keeps the mean and ends the doubt");
    }
    vbs_arena_clear(&arena);
}

static void test_equal_points(void)
{
    double same[6] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, values[6] = {1, 1, 1, 1, 1, 1}, mean,
           deviation;
    struct vbs_arena arena = {0};
    struct tune_gp gp;

    if (vbs_gp_new(NULL, &arena, 6, 1, 1, same, values, &gp) != VBS_OK ||
        vbs_gp_learn(NULL, 6, &gp) != VBS_OK)
        bail_out("no memory");
    vbs_gp_fit(&gp);
    if (vbs_gp_predict(NULL, &gp, same, 1, &mean, &deviation) != VBS_OK)
        bail_out("no memory");
    ok(fabs(mean - 1) < 1e-9 && isfinite(deviation) && deviation > 0,
       "equal values at equal points are a process");
    gp.unknown[GP_NOISE(1)] = -1000;
    vbs_gp_fit(&gp);
    ok(isfinite(gp.weights[0]), "and so they are without noise");
    vbs_arena_clear(&arena);
}

/* Rosenbrock's function, infinite on one side. */
static double valley(void *self, const double *p, double *gradient)
{
    double a = 1 - p[0], b = p[1] - p[0] * p[0];

    ++*(int *)self;
    if (p[0] > 1.5)
        return INFINITY;
    gradient[0] = -2 * a - 400 * p[0] * b;
    gradient[1] = 200 * b;
    return a * a + 100 * b * b;
}

static void test_minimise(void)
{
    double p[2] = {-1.2, 1}, far[2] = {2, 2}, work[GP_MINIMISE_WORK(2)], value;
    int calls = 0;

    value = vbs_gp_minimise(valley, &calls, 2, p, 200, work);
    ok(value < 1e-9 && fabs(p[0] - 1) < 1e-4 && calls <= 200,
       "the minimum of Rosenbrock's function in %d calls (%.1e)", calls, value);
    calls = 0;
    vbs_gp_minimise(valley, &calls, 2, (double[]){-1.2, 1}, 9, work);
    ok(calls <= 9, "calls are limited");
    ok(vbs_gp_minimise(valley, &calls, 2, far, 9, work) == INFINITY && far[0] == 2,
       "a start without a value stays");
}

int main(void)
{
    test_values();
    test_gradient();
    test_learning();
    test_equal_points();
    test_minimise();
    return done_testing();
}
