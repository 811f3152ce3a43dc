/*
 * Codebooks of short codes: against all partitions of few weights, and never worse than what they
 * begin with. Argument: seed.
 */
#include "coded/clusters.h"
#include "support/tap.h"
#include "support/trials.h"
#include "vbslab/coded.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_sort_float.h>
#include <stdbool.h>
#include <stdlib.h>

#define SEED    1989
#define N_TRIES 200
#define FEW     10
#define SOME    400
#define MANY    60000
#define CLOSE   1e-9 /* of a total, for rounding */

struct subject {
    gsl_rng *rng;
    float sorted[MANY];
    double sums[MANY + 1];
    int64_t ends[SOME];
    struct vbs_sorted_weights weights;
    struct vbs_clusters clusters;
};

static int below(struct subject *subject, int n)
{
    return (int)gsl_rng_uniform_int(subject->rng, (unsigned long)n);
}

/* Makes n random weights, some of them equal. */
static void fill(struct subject *subject, int n)
{
    bool is_coarse = below(subject, 3) == 0;

    subject->weights = (struct vbs_sorted_weights){subject->sorted, n, 0, subject->sums};
    for (int i = 0; i < n; i++) {
        double x = gsl_ran_gaussian(subject->rng, 2);

        subject->sorted[i] = (float)(is_coarse ? round(x) : x);
    }
    gsl_sort_float(subject->sorted, 1, (size_t)n);
    for (int i = 0; i < n; i++)
        subject->weights.middle += subject->sorted[i] / (double)n;
    for (int i = 0; i < n; i++)
        subject->sums[i + 1] = subject->sums[i] + subject->sorted[i] - subject->weights.middle;
}

/* Makes k random clusters. */
static void start(struct subject *subject, int k)
{
    subject->clusters = (struct vbs_clusters){.n = k, .ends = subject->ends};
    for (int c = 0; c < k; c++) {
        int64_t from = c > 0 ? subject->ends[c - 1] : 0;
        int64_t left = subject->weights.n - from - (k - 1 - c);

        subject->ends[c] = c + 1 == k ? subject->weights.n : from + 1 + below(subject, (int)left);
    }
}

/* The cost of sorted[from..to-1] as one cluster of n weights in all, from its definition. */
static double cost(const float *sorted, int from, int to, int n, double lambda)
{
    double mean = 0, total = lambda * (to - from) * log2((double)n / (to - from));

    for (int i = from; i < to; i++)
        mean += sorted[i] / (double)(to - from);
    for (int i = from; i < to; i++)
        total += (sorted[i] - mean) * (sorted[i] - mean);
    return total;
}

/* The least cost of sorted[0..to-1] in at most k clusters, by trying all. */
static double least(const float *sorted, int to, int k, int n, double lambda)
{
    double best = HUGE_VAL;

    if (to == 0)
        return 0;
    for (int from = to - 1; k > 0 && from >= 0; from--)
        best =
            fmin(best, cost(sorted, from, to, n, lambda) + least(sorted, from, k - 1, n, lambda));
    return best;
}

static double total(const struct subject *subject, double lambda)
{
    double sum = 0;

    for (int c = 0; c < subject->clusters.n; c++)
        sum += cost(subject->sorted, (int)(c > 0 ? subject->ends[c - 1] : 0), (int)subject->ends[c],
                    (int)subject->weights.n, lambda);
    return sum;
}

static bool is_partition(const struct subject *subject)
{
    int64_t before = 0;

    for (int c = 0; c < subject->clusters.n; before = subject->ends[c++])
        if (subject->ends[c] <= before)
            return false;
    return before == subject->weights.n;
}

static bool weighs_best(struct subject *subject)
{
    int n = 1 + below(subject, FEW), k = 1 + below(subject, 4);
    double lambda = below(subject, 4) * gsl_rng_uniform(subject->rng), best, found;

    fill(subject, n);
    start(subject, k < n ? k : n);
    if (vbs_clusters_weigh(NULL, &subject->weights, k, lambda, &subject->clusters) != VBS_OK)
        return false;
    best = least(subject->sorted, n, k, n, lambda);
    found = total(subject, lambda);
    return is_partition(subject) && subject->clusters.n <= k &&
           fabs(found - best) <= CLOSE * (1 + best) &&
           fabs(found - vbs_clusters_error(&subject->weights, &subject->clusters) -
                lambda * vbs_clusters_bits(&subject->weights, &subject->clusters)) <=
               CLOSE * (1 + best);
}

/* The larger lambda, the larger the error of the optimum, and the fewer its bits. */
static bool is_monotone(struct subject *subject)
{
    int n = 1 + below(subject, SOME), k = 1 + below(subject, 30);
    double error = -1, bits = HUGE_VAL;
    bool holds = true;

    fill(subject, n);
    for (double lambda = 0; holds && lambda < 30; lambda = 3 * lambda + 0.01) {
        double now, fewer;

        start(subject, k < n ? k : n);
        holds =
            vbs_clusters_weigh(NULL, &subject->weights, k, lambda, &subject->clusters) == VBS_OK;
        now = vbs_clusters_error(&subject->weights, &subject->clusters);
        fewer = vbs_clusters_bits(&subject->weights, &subject->clusters);
        holds = holds && now >= error - CLOSE * (1 + now) && fewer <= bits + CLOSE * (1 + bits);
        error = now;
        bits = fewer;
    }
    return holds;
}

static bool is_never_worse(struct subject *subject, int n, int k, double lambda)
{
    double before;

    fill(subject, n);
    start(subject, k);
    before = total(subject, lambda);
    return vbs_clusters_weigh(NULL, &subject->weights, k, lambda, &subject->clusters) == VBS_OK &&
           is_partition(subject) && subject->clusters.n <= k &&
           total(subject, lambda) <= before * (1 + CLOSE);
}

static bool merges_equal(struct subject *subject)
{
    fill(subject, 3000);
    for (int i = 0; i < 3000; i++) {
        subject->sorted[i] = 1.5F;
        subject->sums[i + 1] = 0;
    }
    subject->weights.middle = 1.5;
    start(subject, 20);
    return vbs_clusters_weigh(NULL, &subject->weights, 20, 0.1, &subject->clusters) == VBS_OK &&
           is_partition(subject) && subject->clusters.n == 1;
}

/* ---- matrices ---- */

struct outcome {
    double error, bits;
    size_t n_bytes;
};

/* Quantises weights, checks the indices, and codes them. */
static bool measure(const float *weights, int n, double excess, struct outcome *outcome)
{
    const struct vbs_coding_options options = {VBS_CODING_COMP, 4, 128, 128};
    struct vbs_quantised quantised;
    struct vbs_coded *coded = NULL;
    int counts[32] = {0}, n_nonzero = 0;
    bool holds = true;

    *outcome = (struct outcome){0};
    if (vbs_quantise_within(NULL, weights, n / 100, 100, 5, excess, &quantised) != VBS_OK)
        return false;
    for (int i = 0; i < n; i++) {
        double difference = weights[i] - (double)quantised.codebook[quantised.indices[i]];

        holds = holds && (weights[i] == 0) == (quantised.indices[i] == 0) &&
                quantised.indices[i] < quantised.n_values;
        outcome->error += difference * difference;
        counts[quantised.indices[i]]++;
        n_nonzero += weights[i] != 0;
    }
    for (int v = 1; v < quantised.n_values; v++)
        if (counts[v] > 0)
            outcome->bits += counts[v] * log2((double)n_nonzero / counts[v]);
    if (vbs_code(NULL, &quantised, &options, &coded) == VBS_OK)
        (void)vbs_coded_bytes(coded, &outcome->n_bytes);
    holds = holds && coded;
    vbs_coded_free(coded);
    vbs_quantised_clear(&quantised);
    return holds;
}

static void test_matrix(struct subject *subject)
{
    static const double EXCESSES[] = {0.02, 0.1, 0.5, 2, 1e6};
    float *weights = calloc(MANY, sizeof *weights);
    struct outcome least_error, outcome = {0};
    bool holds;

    for (int i = 0; i < MANY; i++)
        weights[i] = (float)gsl_ran_gaussian(subject->rng, 0.02);
    holds =
        vbs_prune(NULL, weights, MANY, 0.3) == VBS_OK && measure(weights, MANY, 0, &least_error);
    ok(holds, "a matrix is quantised with the least error");
    for (int i = 0; holds && i < 5; i++) {
        holds = measure(weights, MANY, EXCESSES[i], &outcome);
        ok(holds && outcome.error <= (1 + EXCESSES[i]) * least_error.error * (1 + 1e-4) &&
               outcome.bits < least_error.bits && outcome.n_bytes < least_error.n_bytes,
           "an error up to %g larger (%.4f): %.3f of the bits, %.3f of the size", EXCESSES[i],
           outcome.error / least_error.error - 1, outcome.bits / least_error.bits,
           (double)outcome.n_bytes / (double)least_error.n_bytes);
    }
    ok(outcome.bits < 0.01 * least_error.bits, "with any error, there is one value");
    free(weights);
}

static void test_refusals(void)
{
    const float weights[] = {1, 2, 3, 4};
    struct vbs_quantised quantised = {.bits = 77};
    struct vbs_ctx ctx = {0};

    is_int(vbs_quantise_within(&ctx, weights, 2, 2, 1, -0.1, &quantised), VBS_USAGE,
           "an error below the least is refused");
    is_int(vbs_quantise_within(&ctx, weights, 2, 2, 1, (double)NAN, &quantised), VBS_USAGE,
           "  and one that is no number");
    ok(quantised.bits == 77, "  and the output is untouched");
}

int main(int argc, char **argv)
{
    unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 10) : SEED;
    struct subject *subject = calloc(1, sizeof *subject);
    int n_tries = trials_some(N_TRIES), n_best = 0, n_monotone = 0, n_better = 0;

    printf("# seed %lu\n", seed);
    subject->rng = gsl_rng_alloc(gsl_rng_taus2);
    gsl_rng_set(subject->rng, seed);
    for (int i = 0; i < n_tries; i++)
        n_best += weighs_best(subject);
    for (int i = 0; i < n_tries / 10; i++) {
        n_monotone += is_monotone(subject);
        n_better += is_never_worse(subject, 1000 + below(subject, 4000), 1 + below(subject, 60),
                                   gsl_rng_uniform(subject->rng) / 50);
    }
    is_int(n_best, n_tries, "no clusters of few weights have a smaller total");
    is_int(n_monotone, n_tries / 10, "a larger weight of bits means a larger error and fewer bits");
    is_int(n_better, n_tries / 10, "clusters are never worse than those at the begin");
    ok(is_never_worse(subject, MANY, 300, 0.001), "  nor are more of them than are searched");
    ok(merges_equal(subject), "  nor of weights that are all equal, which become one cluster");
    test_matrix(subject);
    test_refusals();
    gsl_rng_free(subject->rng);
    free(subject);
    return done_testing();
}
