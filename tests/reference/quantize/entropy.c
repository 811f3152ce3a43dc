/*
 * For each n: the histogram p of the first n bins, with all that is clipped in the last of them;
 * the histogram q in which each bin has the mean of the bins that are rounded to the same number,
 * as far as these have something; the divergence of the distributions that both are. Each bin is
 * rounded as its middle is. Thresholds whose steps are finer than bins, or outside which more than
 * a twentieth lies, are left out, but for the whole range. Of equally good ones the largest counts.
 */
#include "reference/quantize/entropy.h"

#include <math.h>
#include <stdlib.h>

static double step_of(int n, double low, double high, bool symmetric)
{
    double begin = low < -n ? -n : low, end = high > n ? n : high;

    return symmetric ? n / 127.0 : (end - begin) / 255;
}

double entropy_divergence(const double *counts, int n_bins, int n, double low, double high,
                          bool symmetric)
{
    double *p = calloc((size_t)n, sizeof *p), *q = calloc((size_t)n, sizeof *q);
    double step = step_of(n, low, high, symmetric), p_sum = 0, q_sum = 0, divergence = 0;

    for (int i = 0; i < n_bins; i++)
        p[i < n ? i : n - 1] += counts[i];
    for (int i = 0; i < n; i++) {
        double sum = 0;
        int filled = 0;

        for (int k = 0; k < n; k++)
            if (nearbyint((k + 0.5) / step) == nearbyint((i + 0.5) / step)) {
                sum += counts[k];
                filled += counts[k] > 0;
            }
        q[i] = counts[i] > 0 ? sum / filled : 0;
    }
    for (int i = 0; i < n; i++) {
        p_sum += p[i];
        q_sum += q[i];
    }
    for (int i = 0; i < n; i++) {
        if (p[i] > 0 && q[i] == 0)
            divergence = INFINITY;
        else if (p[i] > 0)
            divergence += p[i] / p_sum * log((p[i] / p_sum) / (q[i] / q_sum));
    }
    free(p);
    free(q);
    return divergence;
}

int entropy_reference(const double *counts, int n_bins, double low, double high, bool symmetric,
                      double *divergence)
{
    int best = n_bins;

    *divergence = INFINITY;
    for (int n = 1; n <= n_bins; n++) {
        double now, outside = 0, all = 0;

        for (int i = 0; i < n_bins; i++) {
            all += counts[i];
            outside += i >= n ? counts[i] : 0;
        }
        if (n < n_bins && (step_of(n, low, high, symmetric) < 1 || outside > all / 20))
            continue;
        now = entropy_divergence(counts, n_bins, n, low, high, symmetric);
        if (now <= *divergence) {
            *divergence = now;
            best = n;
        }
    }
    return best;
}
