#include "vbslab/coded.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HALF_BITS 16
#define N_HALVES  (1 << HALF_BITS)

/* The bits of |weight|: they are in the order of the magnitudes. */
static uint32_t magnitude(float weight)
{
    uint32_t bits;

    memcpy(&bits, &weight, sizeof bits);
    return bits & 0x7fffffff;
}

/* Finds the value of which n_larger weights are above and at least n_kept are at or above, among
 * those whose upper bits are those of prefix, and counts the larger ones. shift: of the bits that
 * are looked at. */
static uint32_t find_digit(const uint64_t *counts, int64_t n_kept, int64_t *n_larger)
{
    int digit = N_HALVES - 1;

    while (digit > 0 && *n_larger + (int64_t)counts[digit] < n_kept)
        *n_larger += (int64_t)counts[digit--];
    return (uint32_t)digit;
}

/* Finds the n_kept-th largest magnitude, and how many are larger, in two passes over its bits. */
static uint32_t find_threshold(const float *weights, int64_t n, int64_t n_kept, uint64_t *counts,
                               int64_t *n_larger)
{
    uint32_t upper;

    *n_larger = 0;
    memset(counts, 0, N_HALVES * sizeof *counts);
    for (int64_t i = 0; i < n; i++)
        counts[magnitude(weights[i]) >> HALF_BITS]++;
    upper = find_digit(counts, n_kept, n_larger);
    memset(counts, 0, N_HALVES * sizeof *counts);
    for (int64_t i = 0; i < n; i++)
        if (magnitude(weights[i]) >> HALF_BITS == upper)
            counts[magnitude(weights[i]) & (N_HALVES - 1)]++;
    return upper << HALF_BITS | find_digit(counts, n_kept, n_larger);
}

enum vbs_status vbs_prune(struct vbs_ctx *ctx, float *weights, int64_t n, double density)
{
    int64_t n_kept, n_larger, n_equal;
    uint32_t threshold;
    uint64_t *counts;

    if (!(density >= 0 && density <= 1))
        return vbs_fail(ctx, VBS_USAGE, "a density of %g is out of range; it goes from 0 to 1",
                        density);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(weights[i]))
            return vbs_fail(ctx, VBS_USAGE, "weight %lld is not a finite number", (long long)i);
    n_kept = (int64_t)round(density * (double)n);
    if (n_kept == n)
        return VBS_OK;
    counts = malloc(N_HALVES * sizeof *counts);
    if (!counts)
        return vbs_no_memory(ctx);
    threshold = n_kept > 0 ? find_threshold(weights, n, n_kept, counts, &n_larger) : UINT32_MAX;
    n_equal = n_kept > 0 ? n_kept - n_larger : 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = magnitude(weights[i]);

        if (bits < threshold || (bits == threshold && n_equal-- <= 0))
            weights[i] = 0;
    }
    free(counts);
    return VBS_OK;
}
