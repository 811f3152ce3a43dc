/*
 * The statistics of one kernel's times: median, raw median absolute deviation (not scaled to a
 * normal's standard deviation), and an interval for the median between two order statistics.
 *
 * For any continuous distribution the median lies between the k-th smallest and the k-th largest
 * of n values with probability 1 - 2 P(Binomial(n, 1/2) < k). k is the largest for which that is
 * at least 95%. Below six values there is none: the interval is then the range of the values,
 * whose coverage 1 - 2^(1 - n) is 0, 50, 75, 87.5 and 93.75% for n = 1..5.
 */
#include "vbslab/measure.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

#define TAIL 0.025
#define MANY 10000 /* for so many values the rank is that of the normal approximation */

static double coverage_lost(int k, int n)
{
    return gsl_cdf_binomial_P((unsigned)(k - 1), 0.5, (unsigned)n);
}

/* The rank k that is defined above. The search begins at the normal approximation, which is at most
 * a few ranks off. For very many values the binomial distribution is not computed precisely enough
 * to search it: a profile may claim any number of runs. */
int vbs_measure_rank(int n)
{
    int k = (int)((n + 1.0) / 2 - 0.98 * sqrt(n));

    if (n >= MANY)
        return k;
    if (k < 1)
        k = 1;
    while (k > 1 && coverage_lost(k, n) > TAIL)
        k--;
    while (k < n / 2 && coverage_lost(k + 1, n) <= TAIL)
        k++;
    return k;
}

double vbs_measure_tail(int n)
{
    return n < MANY ? coverage_lost(vbs_measure_rank(n), n) : TAIL;
}

/*
 * Gives the median absolute deviation. Deviations fall towards the median from both ends of the
 * sorted values, so the two ends are merged, from the largest deviation down to the middle one (or
 * two). O(n), without scratch memory.
 */
static double sorted_mad(const double *sorted, int n, double median)
{
    int low = 0, high = n - 1;
    double middle[2] = {0, 0};

    for (int taken = 0; taken <= n / 2; taken++) {
        double below = median - sorted[low];
        double above = sorted[high] - median;

        middle[0] = middle[1];
        if (below >= above) {
            middle[1] = below;
            low++;
        } else {
            middle[1] = above;
            high--;
        }
    }
    return n % 2 ? middle[1] : (middle[0] + middle[1]) / 2;
}

void vbs_measure_summary(double *times_us, int n, struct vbs_profile_row *row)
{
    int k;

    row->time_us = row->mad_us = row->low_us = row->high_us = 0;
    row->n_runs = n > 0 ? n : 0;
    if (n <= 0)
        return;
    gsl_sort(times_us, 1, (size_t)n);
    k = vbs_measure_rank(n);
    row->time_us = gsl_stats_median_from_sorted_data(times_us, 1, (size_t)n);
    row->mad_us = sorted_mad(times_us, n, row->time_us);
    row->low_us = times_us[k - 1];
    row->high_us = times_us[n - k];
}
