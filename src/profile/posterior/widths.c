/* The widths of the model, which are the same for all groups of a profile. */
#include "profile/posterior/posterior.h"

#include <gsl/gsl_math.h>
#include <math.h>
#include <stdbool.h>

/* The widths that are tried. */
static const double SMOOTH[] = {0.02, 0.06, 0.2}, STEPS[] = {0.005, 0.02, 0.06, 0.15};

#define N_SMOOTH (sizeof SMOOTH / sizeof SMOOTH[0])
#define N_STEPS  (sizeof STEPS / sizeof STEPS[0])

#define LEVEL_WIDTH   0.3  /* of the level, before anything was executed */
#define CONTEXT       0.03 /* of g and w, likewise */
#define MOST_CONTEXT  0.06 /* of g and w */
#define CONTEXT_ROWS  10   /* executed rows that this counts for */
#define FAR           3.0  /* standard deviations, beyond which a difference is drawn in */
#define N_REPETITIONS 10
#define DRIFT         0.02 /* of levels, before any is known */
#define DRIFT_LEVELS  3    /* levels that this counts for */

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

    *widths = (struct posterior_widths){.smooth = SMOOTH[1], .steps = STEPS[1], .context = CONTEXT};
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

/* Differences of executed times from the posterior times without them: those of one stretch have
 * their level in common. */
struct levels {
    const struct posterior_executed *executed;
    int n;
    double most;       /* the greatest value of all, and */
    double mean_share; /* the mean of the times of a sample, as shares of this one's */
    double prior;      /* the level that is expected */
    double of[VBS_OBSERVED_GROUPS];
    double variances[VBS_OBSERVED_GROUPS];  /* of the differences around it, but for known errors */
    double precisions[VBS_OBSERVED_GROUPS]; /* 1 / variance of the level */
};

static double difference_of(const struct levels *levels, int i)
{
    const struct posterior_executed *executed = &levels->executed[i];

    return executed->value - executed->row->mean;
}

/* Returns the variance of a difference around its level. That of the row's mean has the context of
 * before in it. */
static double variance_of(const struct levels *levels, int i)
{
    const struct posterior_executed *executed = &levels->executed[i];

    return levels->variances[executed->stretch] + executed->variance +
           fmax(0, executed->row->variance - CONTEXT * CONTEXT);
}

/* Sets the level of a stretch to the mean of its differences, weighted by their precision and by
 * time: it shifts all rows, and the long ones matter most. Differences beyond FAR standard
 * deviations are drawn in (Huber). */
static void find_level_of(struct levels *levels, int stretch)
{
    double weights = 1 / (LEVEL_WIDTH * LEVEL_WIDTH), sum = levels->prior * weights;
    double before = levels->of[stretch];

    for (int i = 0; i < levels->n; i++) {
        double variance = variance_of(levels, i), far = FAR * sqrt(variance);
        double excess = difference_of(levels, i) - before;
        double share = exp(levels->executed[i].value - levels->most);
        double weight = share / levels->mean_share / variance;

        if (levels->executed[i].stretch != stretch)
            continue;
        sum += weight * (before + fmin(far, fmax(-far, excess)));
        weights += weight;
    }
    levels->of[stretch] = sum / weights;
    levels->precisions[stretch] = weights;
}

/* Sets the variance of a stretch to the mean of what each difference is expected to have of it: a
 * step of expectation maximisation. */
static void find_variance(struct levels *levels, int stretch)
{
    double count = CONTEXT_ROWS, squares = CONTEXT_ROWS * CONTEXT * CONTEXT;
    double before = levels->variances[stretch];

    for (int i = 0; i < levels->n; i++) {
        double variance = variance_of(levels, i), share = before / variance;
        double excess = difference_of(levels, i) - levels->of[stretch];

        if (levels->executed[i].stretch != stretch)
            continue;
        excess = fmin(FAR * sqrt(variance), fabs(excess));
        squares += gsl_pow_2(share * excess) + before * (1 - share);
        count++;
    }
    levels->variances[stretch] = squares / count;
}

/* Finds the context: the least variance of all stretches, and no more than contexts have. What a
 * stretch has beyond it is the noise of the machine, or of another state of it. */
static double find_context(const struct levels *levels)
{
    double least = MOST_CONTEXT * MOST_CONTEXT;

    for (int i = 0; i < levels->n; i++)
        least = fmin(least, levels->variances[levels->executed[i].stretch]);
    return least;
}

/* Sets has[g] of the stretches whose levels count: of those with times in the profile's state, or,
 * where there are none, of all with times. */
static void find_counted(const struct levels *levels, bool has[VBS_OBSERVED_GROUPS])
{
    bool any = false;

    for (int g = 0; g < VBS_OBSERVED_GROUPS; g++)
        has[g] = false;
    for (int i = 0; i < levels->n; i++)
        any = any || !levels->executed[i].apart;
    for (int i = 0; i < levels->n; i++)
        if (!any || !levels->executed[i].apart)
            has[levels->executed[i].stretch] = true;
}

/* Sets the weights of the levels of the stretches, with a sum of 1, and returns how many count. A
 * level has the error with which it was found, which is large where few rows were executed; and
 * stretches are taken to differ from each other as much as rows of one do, so that those in which
 * rows differ much from what is known, as in another state of the machine, count little. */
static int find_weights(const struct levels *levels, double weights[VBS_OBSERVED_GROUPS])
{
    bool has[VBS_OBSERVED_GROUPS];
    double sum = 0;
    int n = 0;

    find_counted(levels, has);
    for (int g = 0; g < VBS_OBSERVED_GROUPS; g++) {
        weights[g] = has[g] ? 1 / (levels->variances[g] + 1 / levels->precisions[g]) : 0;
        sum += weights[g];
        n += has[g];
    }
    for (int g = 0; g < VBS_OBSERVED_GROUPS && n > 0; g++)
        weights[g] /= sum;
    return n;
}

/* Sets the level of the profile to the weighted mean of those of the stretches, and the drift to
 * the standard deviation by which the level of a stretch to come is expected to differ from it: as
 * these levels do, and by the error of their mean. */
static void find_mean(const struct levels *levels, struct posterior_widths *widths)
{
    double weights[VBS_OBSERVED_GROUPS], level = 0, squares = 0, n = find_weights(levels, weights);

    if (n == 0)
        return;
    for (int g = 0; g < VBS_OBSERVED_GROUPS; g++)
        level += weights[g] * levels->of[g];
    for (int g = 0; g < VBS_OBSERVED_GROUPS; g++)
        squares += n * weights[g] * gsl_pow_2(levels->of[g] - level);
    squares = (squares + DRIFT_LEVELS * DRIFT * DRIFT) / (n + DRIFT_LEVELS);
    widths->level = level;
    widths->drift = sqrt(squares * (1 + 1 / n));
}

/* Combines the times of each row, by their precision. */
static void combine(const struct levels *levels, double context)
{
    for (int i = 0; i < levels->n; i++) {
        const struct posterior_executed *executed = &levels->executed[i];
        struct posterior_row *row = executed->row;
        double noise = levels->variances[executed->stretch] - context;
        double precision = 1 / (executed->variance + fmax(0, noise));
        double value = executed->value - levels->of[executed->stretch];

        row->executed =
            (row->executed * row->precision + value * precision) / (row->precision + precision);
        row->precision += precision;
    }
}

void vbs_posterior_find_level(const struct posterior_executed *executed, int n,
                              struct posterior_widths *widths)
{
    struct levels levels = {
        .executed = executed, .n = n, .most = -HUGE_VAL, .prior = widths->level};
    double context;

    for (int i = 0; i < n; i++)
        levels.most = fmax(levels.most, executed[i].value);
    for (int i = 0; i < n; i++)
        levels.mean_share += exp(executed[i].value - levels.most) / n;
    for (int g = 0; g < VBS_OBSERVED_GROUPS; g++) {
        levels.of[g] = levels.prior;
        levels.variances[g] = CONTEXT * CONTEXT;
    }
    for (int i = 0; i < N_REPETITIONS; i++)
        for (int g = 0; g < VBS_OBSERVED_GROUPS; g++) {
            find_level_of(&levels, g);
            find_variance(&levels, g);
        }
    context = find_context(&levels);
    find_mean(&levels, widths);
    widths->context = sqrt(context);
    combine(&levels, context);
}
