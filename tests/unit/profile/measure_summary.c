/*
 * Median, deviation and interval agree with known values, with brute force and with a simulation.
 */
#include "support/tap.h"

#include "vbslab/measure.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <limits.h>
#include <stdlib.h>

#define MOST 400

static void known_values(void)
{
    double one[] = {7};
    double five[] = {5, 1, 4, 2, 3};
    double six[] = {6, 5, 4, 3, 2, 1};
    double ten[] = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
    struct vbs_profile_row row;

    vbs_measure_summary(one, 0, &row);
    ok(row.n_runs == 0 && row.time_us == 0, "nothing measured gives an empty row");
    vbs_measure_summary(one, 1, &row);
    ok(row.time_us == 7 && row.mad_us == 0 && row.low_us == 7 && row.high_us == 7 &&
           row.n_runs == 1,
       "one time is its own median and range");
    vbs_measure_summary(five, 5, &row);
    ok(row.time_us == 3 && row.mad_us == 1 && row.low_us == 1 && row.high_us == 5,
       "five times: the interval is their range");
    ok(five[0] == 1 && five[4] == 5, "times are sorted in place");
    vbs_measure_summary(six, 6, &row);
    ok(row.time_us == 3.5 && row.mad_us == 1.5 && row.low_us == 1 && row.high_us == 6,
       "six times: median between the middle two, 1st to 6th cover 96.9%%");
    vbs_measure_summary(ten, 10, &row);
    ok(row.time_us == 5.5 && row.mad_us == 2.5 && row.low_us == 2 && row.high_us == 9,
       "ten times: 2nd to 9th cover 97.9%%");
}

static void an_outlier_moves_nothing_but_the_range(void)
{
    double times[] = {10, 11, 12, 13, 14, 15, 16, 17, 18, 1e9};
    struct vbs_profile_row row;

    vbs_measure_summary(times, 10, &row);
    ok(row.time_us == 14.5 && row.mad_us == 2.5 && row.high_us == 18,
       "an outlier changes neither median nor MAD nor interval");
}

/* Gives the rank from the binomial distribution, summed term by term. */
static int reference_rank(int n)
{
    double tail = 0;
    int k = 0;

    for (; k < n / 2; k++) {
        tail += exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * log(2));
        if (tail > 0.025)
            break;
    }
    return k > 1 ? k : 1;
}

static void ranks_agree_with_the_summed_binomial(void)
{
    int wrong = 0;

    for (int n = 1; n <= MOST; n++) {
        double times[MOST];
        struct vbs_profile_row row;
        int k = reference_rank(n);

        for (int i = 0; i < n; i++)
            times[i] = i + 1;
        vbs_measure_summary(times, n, &row);
        wrong += row.low_us != k || row.high_us != n + 1 - k;
    }
    is_int(wrong, 0, "the interval's ranks are right for n = 1..400");
}

/* A profile may claim any number of runs. */
static void ranks_of_any_number_are_found(void)
{
    const int many = 9999, most = INT_MAX;

    ok(abs(vbs_measure_rank(many + 1) - vbs_measure_rank(many)) <= 2,
       "from 10000 runs on ranks go on from those below");
    ok(fabs((most / 2.0 - vbs_measure_rank(most)) / sqrt(most) - 0.98) < 1e-3,
       "the rank of as many runs as there can be is found");
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double reference_mad(const double *times, int n, double median)
{
    double deviations[MOST];

    for (int i = 0; i < n; i++)
        deviations[i] = fabs(times[i] - median);
    qsort(deviations, (size_t)n, sizeof *deviations, compare_doubles);
    return n % 2 ? deviations[n / 2] : (deviations[n / 2 - 1] + deviations[n / 2]) / 2;
}

static void mad_agrees_with_sorted_deviations(gsl_rng *rng)
{
    int wrong = 0;

    for (int trial = 0; trial < 2000; trial++) {
        double times[60];
        struct vbs_profile_row row;
        int n = 1 + (int)gsl_rng_uniform_int(rng, 60);

        /* few distinct values, so that ties occur */
        for (int i = 0; i < n; i++)
            times[i] = 1 + (double)gsl_rng_uniform_int(rng, trial % 2 ? 6 : 1000000);
        vbs_measure_summary(times, n, &row);
        wrong += fabs(row.mad_us - reference_mad(times, n, row.time_us)) > 1e-9;
    }
    is_int(wrong, 0, "MAD equals the median of the deviations, ties or not");
}

/* Gives the share of trials in which the interval holds the true median of a skewed
 * distribution. */
static double coverage(gsl_rng *rng, int n, int n_trials)
{
    int covered = 0;

    for (int trial = 0; trial < n_trials; trial++) {
        double times[MOST];
        struct vbs_profile_row row;

        for (int i = 0; i < n; i++)
            times[i] = gsl_ran_lognormal(rng, 0, 0.5);
        vbs_measure_summary(times, n, &row);
        covered += row.low_us <= 1 && 1 <= row.high_us;
    }
    return (double)covered / n_trials;
}

static void the_interval_covers_what_it_claims(gsl_rng *rng)
{
    /* exact: 1 - 2 P(Binomial(n, 1/2) < k); tolerance: 4 standard errors of 4000 trials */
    is_near(coverage(rng, 5, 4000), 0.9375, 0.016, "n = 5: the range covers 93.75%");
    is_near(coverage(rng, 8, 4000), 0.9922, 0.006, "n = 8: 1st to 8th cover 99.2%");
    is_near(coverage(rng, 25, 4000), 0.9567, 0.013, "n = 25: 8th to 18th cover 95.7%");
    is_near(coverage(rng, 50, 4000), 0.9672, 0.012, "n = 50: 18th to 33rd cover 96.7%");
}

static void the_tail_is_what_the_interval_leaves_out(void)
{
    int n_wrong = 0;

    is_near(vbs_measure_tail(1), 0.5, 1e-12, "one time: the median is as likely on either side");
    is_near(vbs_measure_tail(5), 1.0 / 32, 1e-12, "n = 5: each side of the range has 1 in 32");
    is_near(vbs_measure_tail(6), 1.0 / 64, 1e-12, "n = 6: 1 in 64");
    is_near(1 - 2 * vbs_measure_tail(25), 0.9567, 1e-4, "n = 25: 95.7% are between");
    for (int n = 6; n <= 20000; n++)
        n_wrong += !(vbs_measure_tail(n) > 0.003 && vbs_measure_tail(n) <= 0.025);
    is_int(n_wrong, 0, "at most 0.025 from 6 times on, and not much less");
    is_near(vbs_measure_tail(INT_MAX), 0.025, 1e-12, "also for more times than anybody takes");
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

    gsl_rng_set(rng, 20240607);
    known_values();
    an_outlier_moves_nothing_but_the_range();
    ranks_agree_with_the_summed_binomial();
    ranks_of_any_number_are_found();
    mad_agrees_with_sorted_deviations(rng);
    the_interval_covers_what_it_claims(rng);
    the_tail_is_what_the_interval_leaves_out();
    gsl_rng_free(rng);
    return done_testing();
}
