/* Scales and zero points of known ranges; thresholds of the entropy method against a slow
 * reference. */
#include "vbslab/quantize.h"

#include "reference/quantize/entropy.h"
#include "support/tap.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static void check_value(double low, double high, bool is_signed, bool symmetric, double scale,
                        int zero)
{
    struct vbs_int8_value v = vbs_quantize_value(low, high, is_signed, symmetric);

    ok(fabs((double)v.scale / scale - 1) < 1e-6 && v.zero == zero,
       "%g .. %g%s%s has scale %g and zero %d: %g, %d", low, high, is_signed ? ", signed" : "",
       symmetric ? ", symmetric" : "", scale, zero, (double)v.scale, v.zero);
}

static void check_values(void)
{
    check_value(0, 255, false, false, 1, 0);
    check_value(0, 255, true, false, 1, -128);
    check_value(-1, 1, false, false, 2.0 / 255, 128);
    check_value(-1, 3, false, false, 4.0 / 255, 64);
    check_value(-1, 3, true, false, 4.0 / 255, -64);
    check_value(-1, 3, false, true, 3.0 / 127, 128);
    check_value(-5, 3, true, true, 5.0 / 127, 0);
    check_value(2, 6, false, false, 6.0 / 255, 0);
    check_value(-6, -2, false, false, 6.0 / 255, 255);
    check_value(3, 3, false, false, 3.0 / 255, 0);
    check_value(0, 0, false, false, 1, 0);
    check_value(0, 0, false, true, 1, 128);
    check_value(0, 1e-42, false, false, 1, 0);
    check_value(-(double)FLT_MAX, (double)FLT_MAX, false, false, 2.0 * (double)FLT_MAX / 255, 128);
}

/* A clip of the range that was seen changes nothing behind rounding: no number stands for more. */
static void check_no_more(void)
{
    int n_wrong = 0;

    for (int i = 1; i < 5000; i++) {
        double high = 0.37 * i;
        struct vbs_int8_value v = vbs_quantize_value(0, high, false, false);

        n_wrong +=
            v.zero != 0 || 255 * (double)v.scale > high || nearbyint(high / (double)v.scale) < 255;
    }
    is_int(n_wrong, 0, "the largest number stands for the largest value, and not for more");
}

/* Compares a histogram's threshold with the reference: equal, or as good but for rounding. */
static bool agrees(const double *counts, int n, double low, double high, bool symmetric)
{
    double least, own;
    int wanted = entropy_reference(counts, n, low, high, symmetric, &least);
    int got = vbs_quantize_entropy(counts, n, low, high, symmetric);

    if (got == wanted)
        return true;
    own = entropy_divergence(counts, n, got, low, high, symmetric);
    if (own <= least + 1e-12)
        return true;
    printf("# threshold %d (%g), the reference has %d (%g)\n", got, own, wanted, least);
    return false;
}

#define N 512

/* Fills a histogram of one of six kinds; random is the state of a generator. */
static void fill(double *counts, int kind, uint32_t *random)
{
    for (int i = 0; i < N; i++) {
        *random = *random * 1664525u + 1013904223u;
        switch (kind) {
        case 0: /* uniform */
            counts[i] = 100;
            break;
        case 1: /* one side of a normal distribution */
            counts[i] = floor(1e6 * exp(-0.5 * i * i / 60.0 / 60.0));
            break;
        case 2: /* Laplace, with few far values */
            counts[i] = floor(1e6 * exp(-i / 20.0)) + (i % 97 == 96);
            break;
        case 3: /* sparse */
            counts[i] = *random >> 29 == 0 ? *random >> 20 : 0;
            break;
        case 4: /* noise */
            counts[i] = *random >> 22;
            break;
        default: /* nothing but the last bin */
            counts[i] = i == N - 1 ? 7 : 0;
        }
    }
}

static void check_entropy(void)
{
    static const char *const KINDS[] = {"uniform", "normal", "laplace",
                                        "sparse",  "noise",  "one bin"};
    static const double LOWS[] = {0, -3.5, -200, -N};
    double *counts = calloc(N, sizeof *counts);
    uint32_t random = 7;

    for (int kind = 0; counts && kind < 6; kind++) {
        int n_wrong = 0;

        for (int low = 0; low < 4; low++)
            for (int symmetric = 0; symmetric < 2; symmetric++) {
                fill(counts, kind, &random);
                n_wrong += !agrees(counts, N, LOWS[low], N, symmetric);
                n_wrong += !agrees(counts, N, -N, -LOWS[low], symmetric);
            }
        ok(n_wrong == 0, "%s: 16 thresholds are those of the reference", KINDS[kind]);
    }
    fill(counts, 0, &random);
    is_int(vbs_quantize_entropy(counts, N, 0, N, false), N, "nothing of even values is clipped");
    fill(counts, 2, &random);
    ok(vbs_quantize_entropy(counts, N, 0, N, false) < N, "few far values are clipped");
    free(counts);
}

int main(void)
{
    check_values();
    check_no_more();
    check_entropy();
    return done_testing();
}
