#include "reference/profile/slow_posterior.h"

#include "support/bail_out.h"

#include <math.h>
#include <stdlib.h>

#define NORMAL_95 1.959963984540054L /* half of a 95% interval, in standard deviations */

/* The widths of the header's S, U, C, the level L and the drift. */
struct widths {
    long double s, u, c, level, drift;
};

/* ---- Rows ---- */

static void take_row(struct slow_posterior *slow, int layer, int batch,
                     const struct vbs_profile_row *row)
{
    slow->rows = realloc(slow->rows, sizeof *slow->rows * (size_t)(slow->n_rows + 1));
    if (!slow->rows)
        bail_out("no memory");
    slow->rows[slow->n_rows++] = (struct slow_row){.layer = layer,
                                                   .batch = batch,
                                                   .row = row,
                                                   .time_us = row->time_us,
                                                   .low_us = row->low_us,
                                                   .high_us = row->high_us};
}

static void take_rows(struct slow_posterior *slow, const struct vbs_profile *profile)
{
    int n;

    for (int layer = 1; layer <= profile->n_layers; layer++) {
        const struct vbs_profile_stripe *stripes;

        for (int b = 0; b < profile->n_batches; b++) {
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, b, &n);

            for (int i = 0; i < n; i++)
                take_row(slow, layer, profile->batches[b], &rows[i]);
        }
        stripes = vbs_profile_stripes(profile, layer, &n);
        for (int i = 0; i < n; i++)
            take_row(slow, layer, stripes[i].batch, &stripes[i].row);
    }
}

static bool is_of(const struct slow_row *row, const struct vbs_profile *profile,
                  const struct vbs_observed_row *executed)
{
    int rows = executed->rows == profile->layers[executed->layer].rows ? 0 : executed->rows;

    return row->layer == executed->layer && row->batch == executed->batch &&
           row->row->rows == rows && row->row->algorithm == executed->algorithm;
}

/* ---- Errors ---- */

/* The lower quartiles of the spreads of 2 to 8 normal values. */
static const double QUARTILES[] = {0.38, 0.36, 0.54, 0.56, 0.63, 0.65, 0.68};

/* Returns the rank of the low end among n values by its definition: the largest k up to half of
 * them, of which fewer than k of n coins show heads with a probability of at most 0.025; at least
 * 1. */
static int low_rank(int n)
{
    long double below = 0;
    int k = 0;

    for (; k < n / 2; k++) {
        below += expl(lgammal(n + 1.0L) - lgammal(k + 1.0L) - lgammal(n - k + 1.0L) - n * logl(2));
        if (below > 0.025L)
            break;
    }
    return k > 1 ? k : 1;
}

static long double quartile_of(int n)
{
    long double gaps = (n + 1.0L) / 2 - low_rank(n);

    if (n <= 8)
        return QUARTILES[n - 2];
    return powl(1 - 1 / (12 * gaps) - 0.6745L / 3 * sqrtl(1 / gaps - 1 / (n + 1.0L)), 3);
}

/* Returns how many deviations the low end of n normal values lies below their median: z, by
 * bisection. */
static long double low_deviations(int n)
{
    long double tail = (low_rank(n) - 0.375L) / (n + 0.25L), low = 0, high = 40;

    for (int i = 0; i < 80; i++) {
        long double z = (low + high) / 2;

        if (erfcl(z / sqrtl(2)) / 2 > tail)
            low = z;
        else
            high = z;
    }
    return (low + high) / 2;
}

static long double spread_of(const struct vbs_profile_row *row)
{
    if (!(row->low_us > 0) || row->low_us >= row->time_us)
        return 0;
    return logl((long double)row->time_us / row->low_us) / low_deviations(row->n_runs);
}

static void sort(long double *values, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            if (values[k] < values[i]) {
                long double less = values[k];

                values[k] = values[i];
                values[i] = less;
            }
}

static long double find_noise(const struct slow_posterior *slow)
{
    long double *values = malloc(sizeof *values * (size_t)(slow->n_rows + 2)), noise = 0.03L;
    int n = 0;

    if (!values)
        bail_out("no memory");
    for (int i = 0; i < slow->n_rows; i++) {
        const struct vbs_profile_row *row = slow->rows[i].row;

        if (row->n_runs > 1 && row->time_us > 0)
            values[n++] = spread_of(row) / quartile_of(row->n_runs);
    }
    sort(values, n);
    values[n] = 0;
    if (n > 0) /* 3 (n - 1) quarters are above it */
        noise = fminl(0.05L, values[(n - 1) / 4] + (values[(n - 1) / 4 + 1] - values[(n - 1) / 4]) *
                                                       ((n - 1) % 4) / 4);
    free(values);
    return noise;
}

/* Sets m and the variance of its error. */
static void read_runs(struct slow_row *row, long double noise)
{
    int n = row->row->n_runs;
    long double d = n > 1 ? fminl(spread_of(row->row), 0.05L) : 0, square = noise * noise;

    if (n > 1)
        square = (n * d * d + 4 * square) / (n + 4);
    if (n > 1 && row->row->low_us > 0)
        row->value = fminl(row->value, logl((long double)row->row->low_us / row->batch) +
                                           low_deviations(n) * d);
    row->error = square / n * (n > 2 ? 1.2533L * 1.2533L : 1);
}

static void find_errors(struct slow_posterior *slow, bool executed)
{
    long double noise = find_noise(slow);

    for (int i = 0; i < slow->n_rows; i++) {
        struct slow_row *row = &slow->rows[i];
        const struct vbs_profile_row *own = row->row;

        if (!(own->time_us > 0))
            continue;
        row->value = logl((long double)own->time_us / row->batch);
        if (own->n_runs > 0)
            read_runs(row, noise);
        else if (own->low_us > 0 && own->high_us > own->low_us)
            row->error = powl(logl((long double)own->high_us / own->low_us) / (2 * NORMAL_95), 2);
        else if (executed)
            row->error = 0.05L * 0.05L;
        else
            continue;
        row->used = true;
        row->error = fminl(fmaxl(row->error, 0.002L * 0.002L), 1);
    }
    slow->report.deviation = (double)noise;
}

/* ---- One group ---- */

/* The joint distribution of f, h, m and x of n rows: [0, n), [n, 2n), [2n, 3n), [3n, 4n). */
struct joint {
    int n;
    long double *mean, *covariance; /* [4n], [4n][4n] */
};

static long double *at(const struct joint *joint, int i, int j)
{
    return &joint->covariance[(size_t)i * 4 * (size_t)joint->n + (size_t)j];
}

static long double correlation(const struct slow_row *a, const struct slow_row *b)
{
    long double distance = logl(a->batch) - logl(b->batch);

    return expl(-distance * distance / (2 * 0.7L * 0.7L));
}

static void fill(struct joint *joint, struct slow_row *const *rows, const long double *errors,
                 const struct widths *w)
{
    int n = joint->n;
    long double centre = 0;

    for (int i = 0; i < n; i++)
        centre += rows[i]->value / n;
    for (int i = 0; i < 4 * n; i++) {
        const struct slow_row *a = rows[i % n];
        bool a_h = i / n % 2;

        joint->mean[i] = centre + (i / n == 1 ? w->level : 0);
        for (int j = 0; j < 4 * n; j++) {
            const struct slow_row *b = rows[j % n];
            bool b_h = j / n % 2, same = a == b;
            long double k = correlation(a, b), *c = at(joint, i, j);

            *c = a->row->algorithm == b->row->algorithm
                     ? 4 + 1 / ((long double)a->batch * b->batch) + w->s * w->s * k +
                           (same ? w->u * w->u : 0)
                     : 0;
            if (a_h && b_h)
                *c += w->c * w->c * (0.7L * k + 0.3L * same);
            if (i == j && i / n == 2)
                *c += errors[i % n];
            if (i == j && i / n == 3 && a->precision > 0)
                *c += 1 / a->precision;
        }
    }
}

/* Conditions everything on one variable, and returns the logarithm of its density. */
static long double observe(struct joint *joint, int which, long double value)
{
    int size = 4 * joint->n;
    long double pivot = *at(joint, which, which), residual = value - joint->mean[which];
    long double *column = malloc(sizeof *column * (size_t)size);

    if (!column)
        bail_out("no memory");
    for (int i = 0; i < size; i++)
        column[i] = *at(joint, i, which);
    for (int i = 0; i < size; i++) {
        joint->mean[i] += column[i] * residual / pivot;
        for (int j = 0; j < size; j++)
            *at(joint, i, j) -= column[i] * column[j] / pivot;
    }
    free(column);
    return -(residual * residual / pivot + logl(pivot)) / 2;
}

/* Fills the joint distribution, and conditions it on the medians, and on the executed times. */
static long double condition(struct joint *joint, struct slow_row *const *rows,
                             const long double *errors, const struct widths *w, bool executed)
{
    int n = joint->n;
    long double density = 0;

    fill(joint, rows, errors, w);
    for (int i = 0; i < n; i++)
        density += observe(joint, 2 * n + i, rows[i]->value);
    for (int i = 0; i < n && executed; i++)
        if (rows[i]->precision > 0)
            density += observe(joint, 3 * n + i, rows[i]->executed);
    return density;
}

static void find_group(struct joint *joint, struct slow_row *const *rows, const struct widths *w,
                       bool executed)
{
    int n = joint->n;
    long double *errors = malloc(sizeof *errors * (size_t)n);

    if (!errors)
        bail_out("no memory");
    for (int i = 0; i < n; i++)
        errors[i] = rows[i]->error;
    condition(joint, rows, errors, w, executed);
    for (int time = 0; time < 3; time++) {
        for (int i = 0; i < n; i++) {
            long double residual = rows[i]->value - joint->mean[i];

            errors[i] = rows[i]->error *
                        fmaxl(1, (4 + residual * residual / (rows[i]->error + w->u * w->u)) / 5);
        }
        condition(joint, rows, errors, w, executed);
    }
    for (int i = 0; i < n; i++) {
        rows[i]->mean = joint->mean[n + i];
        rows[i]->variance = *at(joint, n + i, n + i);
    }
    free(errors);
}

/* ---- All groups ---- */

static bool same_group(const struct slow_row *a, const struct slow_row *b)
{
    return a->layer == b->layer && a->row->rows == b->row->rows;
}

/* Does one of both for every group: finds its rows, or adds the density of its medians. */
static long double each_group(struct slow_posterior *slow, const struct widths *w, bool finds,
                              bool executed)
{
    struct slow_row **rows = malloc(sizeof(struct slow_row *) * (size_t)slow->n_rows);
    long double *errors = malloc(sizeof *errors * (size_t)slow->n_rows), density = 0;

    if (!rows || !errors)
        bail_out("no memory");
    for (int first = 0; first < slow->n_rows; first++) {
        struct joint joint = {0};
        bool begins = slow->rows[first].used;

        for (int i = 0; i < first; i++)
            begins =
                begins && !(slow->rows[i].used && same_group(&slow->rows[i], &slow->rows[first]));
        if (!begins)
            continue;
        for (int i = first; i < slow->n_rows; i++)
            if (slow->rows[i].used && same_group(&slow->rows[i], &slow->rows[first])) {
                errors[joint.n] = slow->rows[i].error;
                rows[joint.n++] = &slow->rows[i];
            }
        joint.mean = malloc(sizeof *joint.mean * 4 * (size_t)joint.n);
        joint.covariance =
            malloc(sizeof *joint.covariance * 16 * (size_t)joint.n * (size_t)joint.n);
        if (!joint.mean || !joint.covariance)
            bail_out("no memory");
        if (finds)
            find_group(&joint, rows, w, executed);
        else
            density += condition(&joint, rows, errors, w, false);
        free(joint.mean);
        free(joint.covariance);
    }
    free(rows);
    free(errors);
    return density;
}

static struct widths find_widths(struct slow_posterior *slow)
{
    static const long double S[] = {0.02L, 0.06L, 0.2L}, U[] = {0.005L, 0.02L, 0.06L, 0.15L};
    struct widths best = {0};
    long double greatest = -HUGE_VALL;

    for (int i = 0; i < 12; i++) {
        struct widths tried = {.s = S[i % 3], .u = U[i / 3], .c = 0.03L};
        long double density = each_group(slow, &tried, false, false);

        if (density > greatest) {
            greatest = density;
            best = tried;
        }
    }
    return best;
}

/* ---- Executed times ---- */

/* An executed time, of a row with a median. */
struct slow_executed {
    struct slow_row *row;
    long double value, variance; /* y and p */
    int stretch;
    bool apart;
};

/* Lists the executed times of rows with a time; returns their number. */
static int list_executed(struct slow_posterior *slow, const struct vbs_profile *profile,
                         const struct vbs_observed_row *executed, int n, struct slow_executed *list)
{
    int count = 0;

    for (int k = 0; k < n; k++)
        for (int i = 0; i < slow->n_rows; i++)
            if (slow->rows[i].used && is_of(&slow->rows[i], profile, &executed[k])) {
                long double deviation = fminl(fmaxl(executed[k].deviation, 0.005L), 100);

                list[count++] = (struct slow_executed){
                    .row = &slow->rows[i],
                    .value = logl((long double)executed[k].time_us / slow->rows[i].batch),
                    .variance = deviation * deviation,
                    .stretch = executed[k].group,
                    .apart = executed[k].apart};
            }
    return count;
}

/* The level and the variance of a stretch. */
struct stretch {
    int n, n_here;                      /* executed times, and those that are not apart */
    long double level, square, weights; /* l, c and w */
};

/* Finds both once more from those of before: the level, then the variance. */
static void improve(struct stretch *stretch, int which, const struct slow_executed *list, int n,
                    long double mean_us, long double prior)
{
    for (int what = 0; what < 2; what++) {
        long double weights = 1 / (0.3L * 0.3L), sum = prior * weights;
        long double squares = 10 * 0.03L * 0.03L;

        for (int i = 0; i < n; i++) {
            const struct slow_row *row = list[i].row;
            long double v, d, t, s;

            if (list[i].stretch != which)
                continue;
            v = stretch->square + list[i].variance + fmaxl(0, row->variance - 0.03L * 0.03L);
            t = 3 * sqrtl(v);
            s = stretch->square / v;
            d = fminl(t, fmaxl(-t, list[i].value - row->mean - stretch->level));
            weights += expl(list[i].value) / mean_us / v;
            sum += expl(list[i].value) / mean_us / v * (stretch->level + d);
            squares += s * d * s * d + stretch->square * (1 - s);
        }
        if (what == 0) {
            stretch->level = sum / weights;
            stretch->weights = weights;
        } else {
            stretch->square = squares / (10 + stretch->n);
        }
    }
}

/* Sets L and C from the stretches that have times. */
static void join_stretches(const struct stretch *stretches, struct widths *w)
{
    long double sum = 0, weights = 0, least = 0.06L * 0.06L, squares = 0;
    int n_here = 0, n = 0;

    for (int g = 0; g < VBS_OBSERVED_GROUPS; g++)
        n_here += stretches[g].n_here;
    for (int g = 0; g < VBS_OBSERVED_GROUPS; g++)
        if (stretches[g].n > 0)
            least = fminl(least, stretches[g].square);
    for (int g = 0; g < VBS_OBSERVED_GROUPS; g++)
        if (n_here > 0 ? stretches[g].n_here > 0 : stretches[g].n > 0) {
            long double weight = 1 / (stretches[g].square + 1 / stretches[g].weights);

            sum += weight * stretches[g].level;
            weights += weight;
        }
    w->level = sum / weights;
    w->c = sqrtl(least);
    for (int g = 0; g < VBS_OBSERVED_GROUPS; g++)
        if (n_here > 0 ? stretches[g].n_here > 0 : stretches[g].n > 0) {
            long double weight = 1 / (stretches[g].square + 1 / stretches[g].weights);

            squares += weight * powl(stretches[g].level - w->level, 2);
            n++;
        }
    w->drift = sqrtl((3 * 0.02L * 0.02L + n * squares / weights) / (3 + n) * (n + 1) / n);
}

/* Means of executed times are weighted by their precision. */
static void take_executed(struct slow_posterior *slow, const struct slow_executed *list, int n,
                          const struct stretch *stretches, const struct widths *w)
{
    for (int i = 0; i < slow->n_rows; i++) {
        struct slow_row *row = &slow->rows[i];
        long double sum = 0;

        for (int k = 0; k < n; k++)
            if (list[k].row == row) {
                const struct stretch *stretch = &stretches[list[k].stretch];
                long double precision = 1 / (list[k].variance + stretch->square - w->c * w->c);

                row->precision += precision;
                sum += (list[k].value - stretch->level) * precision;
            }
        if (row->precision > 0) {
            row->executed = sum / row->precision;
            slow->report.n_executed++;
        }
    }
}

/* Finds the levels, L and C, and x of the rows. L is the prior. */
static void find_level(struct slow_posterior *slow, const struct slow_executed *list, int n,
                       struct widths *w)
{
    struct stretch stretches[VBS_OBSERVED_GROUPS];
    long double mean_us = 0;

    if (n == 0)
        return;
    for (int g = 0; g < VBS_OBSERVED_GROUPS; g++)
        stretches[g] = (struct stretch){.level = w->level, .square = 0.03L * 0.03L};
    for (int i = 0; i < n; i++) {
        mean_us += expl(list[i].value) / n;
        stretches[list[i].stretch].n++;
        stretches[list[i].stretch].n_here += !list[i].apart;
    }
    each_group(slow, &(struct widths){.s = w->s, .u = w->u, .c = w->c}, true, false);
    for (int i = 0; i < 10; i++)
        for (int g = 0; g < VBS_OBSERVED_GROUPS; g++)
            improve(&stretches[g], g, list, n, mean_us, w->level);
    join_stretches(stretches, w);
    take_executed(slow, list, n, stretches, w);
}

/* Returns the logarithm of the sum of the medians over that of the times that m says. */
static long double disturbance(const struct slow_posterior *slow)
{
    long double medians_us = 0, said_us = 0;

    for (int i = 0; i < slow->n_rows; i++)
        if (slow->rows[i].used) {
            medians_us += slow->rows[i].row->time_us;
            said_us += slow->rows[i].batch * expl(slow->rows[i].value);
        }
    return said_us > 0 ? logl(medians_us / said_us) : 0;
}

struct slow_posterior *slow_posterior_new(const struct vbs_profile *profile,
                                          const struct vbs_observed_row *executed, int n_executed)
{
    struct slow_posterior *slow = calloc(1, sizeof *slow);
    struct slow_executed *list = malloc(sizeof *list * (size_t)(n_executed + 1));
    struct widths w;

    if (!slow || !list)
        bail_out("no memory");
    take_rows(slow, profile);
    find_errors(slow, n_executed > 0);
    w = find_widths(slow);
    w.level = disturbance(slow);
    find_level(slow, list, list_executed(slow, profile, executed, n_executed, list), &w);
    free(list);
    each_group(slow, &w, true, true);
    slow->report.level = (double)expl(w.level);
    slow->report.context = (double)w.c;
    slow->report.drift = (double)w.drift;
    for (int i = 0; i < slow->n_rows; i++) {
        struct slow_row *row = &slow->rows[i];
        long double half = NORMAL_95 * sqrtl(row->variance);

        if (!row->used)
            continue;
        row->time_us = (double)(row->batch * expl(row->mean + fminl(row->variance / 2, 0.1L)));
        row->low_us = fmin((double)(row->batch * expl(row->mean - half)), row->time_us);
        row->high_us = fmax((double)(row->batch * expl(row->mean + half)), row->time_us);
    }
    return slow;
}

void slow_posterior_free(struct slow_posterior *slow)
{
    free(slow->rows);
    free(slow);
}
