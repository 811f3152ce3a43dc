/*
 * Pruning keeps the largest magnitudes, and codebooks minimise the squared error: against sorting,
 * and against all partitions of few weights. What is out of range is refused. Argument: seed.
 */
#include "support/tap.h"
#include "vbslab/coded.h"

#include <gsl/gsl_randist.h>
#include <stdbool.h>
#include <stdlib.h>

#define SEED    2016
#define N_TRIES 300
#define MOST    400
#define FEW     11

static int by_magnitude(const void *a, const void *b)
{
    const float *x = a, *y = b;

    return (fabsf(*x) < fabsf(*y)) - (fabsf(*x) > fabsf(*y));
}

/* Fills weights with random numbers, some of them equal, negative, or 0. */
static void fill(gsl_rng *rng, float *weights, int n)
{
    bool is_coarse = gsl_rng_uniform(rng) < 0.4;

    for (int i = 0; i < n; i++) {
        weights[i] = (float)gsl_ran_gaussian(rng, is_coarse ? 3 : 0.01);
        if (is_coarse)
            weights[i] = roundf(weights[i]);
    }
}

static bool prunes(gsl_rng *rng)
{
    float weights[MOST], pruned[MOST], sorted[MOST];
    int n = 1 + (int)gsl_rng_uniform_int(rng, MOST), n_kept = 0, n_wanted;
    double density = gsl_rng_uniform_int(rng, 8) / 7.0;
    bool holds;

    fill(rng, weights, n);
    memcpy(pruned, weights, sizeof pruned);
    memcpy(sorted, weights, sizeof sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_magnitude);
    n_wanted = (int)round(density * n);
    holds = vbs_prune(NULL, pruned, n, density) == VBS_OK;
    for (int i = 0; i < n; i++) {
        bool is_kept = pruned[i] == weights[i] && weights[i] != 0;

        n_kept += is_kept;
        holds = holds && (pruned[i] == weights[i] || pruned[i] == 0) &&
                (!is_kept || fabsf(weights[i]) >= fabsf(sorted[n_wanted - 1])) &&
                (n_wanted == 0 || is_kept || fabsf(weights[i]) <= fabsf(sorted[n_wanted - 1]));
    }
    while (n_wanted > 0 && sorted[n_wanted - 1] == 0)
        n_wanted--; /* weights that were 0 before */
    return holds && n_kept == n_wanted;
}

static int by_value(const void *a, const void *b)
{
    const float *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* The least squared error of sorted[0..n-1] in at most k clusters. */
static double least_error(const float *sorted, int n, int k)
{
    double least = HUGE_VAL;

    if (n == 0)
        return 0;
    if (k == 0)
        return HUGE_VAL;
    for (int from = n - 1; from >= 0; from--) {
        double mean = 0, error = 0;

        for (int i = from; i < n; i++)
            mean += sorted[i] / (double)(n - from);
        for (int i = from; i < n; i++)
            error += (sorted[i] - mean) * (sorted[i] - mean);
        least = fmin(least, error + least_error(sorted, from, k - 1));
    }
    return least;
}

static double error_of(const float *weights, const struct vbs_quantised *quantised)
{
    double error = 0;

    for (int64_t i = 0; i < quantised->n_rows * quantised->n_columns; i++) {
        double difference = weights[i] - (double)quantised->codebook[quantised->indices[i]];

        error += difference * difference;
    }
    return error;
}

static bool is_sound(const float *weights, const struct vbs_quantised *quantised)
{
    bool holds = quantised->codebook[0] == 0 && quantised->n_values <= 1 << quantised->bits;

    for (int i = 1; i < quantised->n_values; i++)
        holds = holds && quantised->codebook[i] != 0 &&
                (i == 1 || quantised->codebook[i] > quantised->codebook[i - 1]);
    for (int64_t i = 0; i < quantised->n_rows * quantised->n_columns; i++)
        holds = holds && (weights[i] == 0) == (quantised->indices[i] == 0) &&
                quantised->indices[i] < quantised->n_values;
    return holds;
}

static bool quantises_best(gsl_rng *rng)
{
    float weights[FEW], sorted[FEW];
    struct vbs_quantised quantised;
    int n = 1 + (int)gsl_rng_uniform_int(rng, FEW), n_sorted = 0, bits;
    double best;
    bool holds;

    fill(rng, weights, n);
    for (int i = 0; i < n; i++)
        if (weights[i] != 0)
            sorted[n_sorted++] = weights[i];
    qsort(sorted, (size_t)n_sorted, sizeof *sorted, by_value);
    bits = 1 + (int)gsl_rng_uniform_int(rng, 3);
    if (vbs_quantise(NULL, weights, 1, n, bits, &quantised) != VBS_OK)
        return false;
    best = least_error(sorted, n_sorted, (1 << bits) - 1);
    holds =
        is_sound(weights, &quantised) && error_of(weights, &quantised) <= best * (1 + 1e-5) + 1e-12;
    vbs_quantised_clear(&quantised);
    return holds;
}

static bool quantises(gsl_rng *rng, int n, int bits)
{
    float *weights = malloc((size_t)n * sizeof *weights);
    struct vbs_quantised quantised;
    bool holds;

    for (int i = 0; i < n; i++)
        weights[i] = gsl_rng_uniform(rng) < 0.1 ? (float)gsl_ran_gaussian(rng, 0.02) : 0;
    holds = vbs_quantise(NULL, weights, n / 100, 100, bits, &quantised) == VBS_OK;
    holds = holds && is_sound(weights, &quantised);
    vbs_quantised_clear(&quantised);
    free(weights);
    return holds;
}

static void refuses(const float *weights, int64_t n_rows, int64_t n_columns, int bits,
                    const char *what)
{
    struct vbs_quantised quantised = {.bits = 77};
    struct vbs_ctx ctx = {0};

    ok(vbs_quantise(&ctx, weights, n_rows, n_columns, bits, &quantised) == VBS_USAGE &&
           quantised.bits == 77 && ctx.detail[0],
       "%s is refused (%s)", what, ctx.detail);
}

static void test_refusals(void)
{
    float weights[] = {1, 2, NAN}, kept[] = {1, INFINITY};

    refuses(weights, 1, 2, 0, "a codebook of no bits");
    refuses(weights, 1, 2, 17, "one of 17");
    refuses(weights, 0, 2, 4, "a matrix without rows");
    refuses(weights, INT64_MAX, 3, 4, "a matrix that is too large");
    refuses(weights, 1, 3, 4, "a weight that is no number");
    is_int(vbs_prune(NULL, kept, 2, 0.5), VBS_USAGE, "an infinite weight is not pruned");
    ok(kept[0] == 1 && isinf(kept[1]), "  and nothing is changed");
    is_int(vbs_prune(NULL, weights, 2, 1.5), VBS_USAGE, "a density above 1 is refused");
    is_int(vbs_prune(NULL, weights, 2, NAN), VBS_USAGE, "  and one that is no number");
}

int main(int argc, char **argv)
{
    unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 10) : SEED;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    int n_pruned = 0, n_best = 0;

    printf("# seed %lu\n", seed);
    gsl_rng_set(rng, seed);
    for (int i = 0; i < N_TRIES; i++) {
        n_pruned += prunes(rng);
        n_best += quantises_best(rng);
    }
    is_int(n_pruned, N_TRIES, "pruning keeps the largest magnitudes, and no others");
    is_int(n_best, N_TRIES, "no codebook of few weights has a smaller error");
    ok(quantises(rng, 200000, 5), "many weights are quantised with 5 bits");
    ok(quantises(rng, 200000, 16), "  and with 16");
    ok(quantises(rng, 100, 1), "  and with one");
    test_refusals();
    gsl_rng_free(rng);
    return done_testing();
}
