/* The widths of the model, which are the same for all groups of a profile. */
#include "profile/posterior/posterior.h"

#include <gsl/gsl_math.h>
#include <math.h>

/* The widths that are tried. */
static const double SMOOTH[] = {0.02, 0.06, 0.2}, STEPS[] = {0.005, 0.02, 0.06, 0.15};

#define N_SMOOTH (sizeof SMOOTH / sizeof SMOOTH[0])
#define N_STEPS  (sizeof STEPS / sizeof STEPS[0])

#define LEVEL_WIDTH   0.3  /* of the level, before anything was executed */
#define CONTEXT       0.03 /* of g and w, likewise */
#define CONTEXT_ROWS  10   /* executed rows that this counts for */
#define FAR           3.0  /* standard deviations, beyond which a difference is drawn in */
#define N_REPETITIONS 10

static double likelihood(const struct posterior_groups *groups, struct posterior_work *work,
                         const struct posterior_widths *widths)
{
    double sum = 0;

    for (int i = 0; i < groups->n_groups; i++)
        sum += vbs_posterior_likelihood(groups->rows + groups->first[i],
                                        groups->first[i + 1] - groups->first[i], widths, work);
    return sum;
}

void vbs_posterior_find_widths(const struct posterior_groups *groups, struct posterior_work *work,
                               struct posterior_widths *widths)
{
    double best = -HUGE_VAL;

    *widths = (struct posterior_widths){SMOOTH[1], STEPS[1], 0, CONTEXT};
    for (size_t i = 0; i < N_SMOOTH * N_STEPS; i++) {
        struct posterior_widths tried = *widths;
        double value;

        tried.smooth = SMOOTH[i % N_SMOOTH];
        tried.steps = STEPS[i / N_SMOOTH];
        value = likelihood(groups, work, &tried);
        if (value > best) {
            best = value;
            *widths = tried;
        }
    }
}

/* Returns the mean time of a sample over the rows that were executed; 0: there are none. */
static double mean_time(const struct posterior_groups *groups)
{
    double sum = 0;
    int n = 0, n_rows = groups->first[groups->n_groups];

    for (int i = 0; i < n_rows; i++)
        if (groups->rows[i]->precision > 0) {
            sum += exp(groups->rows[i]->executed);
            n++;
        }
    return n > 0 ? sum / n : 0;
}

/*
 * A step of expectation maximisation, with differences beyond FAR standard deviations drawn in
 * (Huber). The level is the mean of the differences, weighted by their precision and by time: it
 * shifts all rows, and the long ones matter most. The context's variance is the mean of what each
 * difference is expected to have of it.
 */
static void improve(const struct posterior_groups *groups, double mean_us, double prior,
                    struct posterior_widths *widths)
{
    double weights = 1 / (LEVEL_WIDTH * LEVEL_WIDTH), sum = prior * weights, count = CONTEXT_ROWS;
    double squares = CONTEXT_ROWS * CONTEXT * CONTEXT, context = gsl_pow_2(widths->context);
    int n_rows = groups->first[groups->n_groups];

    for (int i = 0; i < n_rows; i++) {
        const struct posterior_row *row = groups->rows[i];
        double variance, share, far, difference, weight;

        if (!(row->precision > 0) || !(row->error > 0))
            continue;
        /* The variance of the mean has the context of before in it. */
        variance = context + 1 / row->precision + fmax(0, row->variance - CONTEXT * CONTEXT);
        share = context / variance;
        far = FAR * sqrt(variance);
        difference = row->executed - row->mean;
        weight = exp(row->executed) / mean_us / variance;
        sum += weight * (widths->level + fmin(far, fmax(-far, difference - widths->level)));
        weights += weight;
        difference = fmin(far, fabs(difference - widths->level));
        squares += gsl_pow_2(share * difference) + context * (1 - share);
        count++;
    }
    widths->level = sum / weights;
    widths->context = sqrt(squares / count);
}

void vbs_posterior_find_level(const struct posterior_groups *groups,
                              struct posterior_widths *widths)
{
    double mean_us = mean_time(groups), prior = widths->level;

    widths->context = CONTEXT;
    for (int i = 0; i < N_REPETITIONS && mean_us > 0; i++)
        improve(groups, mean_us, prior, widths);
}
