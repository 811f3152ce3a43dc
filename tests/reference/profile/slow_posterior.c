#include "reference/profile/slow_posterior.h"

#include "support/bail_out.h"

#include <math.h>
#include <stdlib.h>

/* The widths of the header's S, U, C, and the level L. */
struct widths {
    long double s, u, c, level;
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

/* Means of executed times are weighted by their precision. */
static void take_executed(struct slow_posterior *slow, const struct vbs_profile *profile,
                          const struct vbs_observed_row *executed, int n)
{
    for (int i = 0; i < slow->n_rows; i++) {
        struct slow_row *row = &slow->rows[i];
        long double sum = 0;

        for (int k = 0; k < n; k++)
            if (is_of(row, profile, &executed[k])) {
                long double deviation = fminl(fmaxl(executed[k].deviation, 0.005L), 100);

                row->precision += 1 / (deviation * deviation);
                sum +=
                    logl((long double)executed[k].time_us / row->batch) / (deviation * deviation);
            }
        if (row->precision > 0) {
            row->executed = sum / row->precision;
            slow->report.n_executed++;
        }
    }
}

/* ---- Errors ---- */

/* One over the mean, and over the median, of the median absolute deviations of n normal values. */
static const double OVER_MEAN[] = {0,     0,     1.773, 2.205, 2.016, 1.800, 1.765,
                                   1.687, 1.672, 1.633, 1.625, 1.602, 1.595};
static const double OVER_MEDIAN[] = {0,     0,     2.097, 2.773, 2.206, 1.986, 1.873,
                                     1.791, 1.746, 1.705, 1.681, 1.657, 1.642};

static long double run_deviation(const struct vbs_profile_row *row, const double *over)
{
    return (long double)row->mad_us / row->time_us * over[row->n_runs < 12 ? row->n_runs : 12];
}

/* Returns the median of n values, which are sorted by the way: the least of the rest comes next. */
static long double median(long double *values, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            if (values[k] < values[i]) {
                long double less = values[k];

                values[k] = values[i];
                values[i] = less;
            }
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

static long double find_noise(const struct slow_posterior *slow)
{
    long double *values = malloc(sizeof *values * (size_t)(slow->n_rows + 1)), noise;
    int n = 0;

    if (!values)
        bail_out("no memory");
    for (int i = 0; i < slow->n_rows; i++)
        if (slow->rows[i].row->n_runs > 1 && slow->rows[i].row->time_us > 0)
            values[n++] = run_deviation(slow->rows[i].row, OVER_MEDIAN);
    noise = n > 0 ? median(values, n) : 0.1L;
    free(values);
    return noise;
}

static long double error_of(const struct vbs_profile_row *row, long double noise)
{
    long double square = noise * noise,
                deviation = row->n_runs > 1 ? run_deviation(row, OVER_MEAN) : 0;
    int n = row->n_runs;

    if (n > 1)
        square = (n * deviation * deviation + 4 * square) / (n + 4);
    deviation = sqrtl(square / n) * (n > 2 ? 1.2533L : 1);
    return fminl(fmaxl(deviation, 0.002L), 1);
}

static void find_errors(struct slow_posterior *slow, bool executed)
{
    long double noise = find_noise(slow);

    for (int i = 0; i < slow->n_rows; i++) {
        struct slow_row *row = &slow->rows[i];
        long double deviation = row->row->n_runs > 0 ? error_of(row->row, noise) : 0.05L;

        if (!(row->row->time_us > 0) || (row->row->n_runs == 0 && !executed))
            continue;
        row->used = true;
        row->value = logl((long double)row->row->time_us / row->batch);
        row->error = deviation * deviation;
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

        joint->mean[i] = centre + (a_h ? w->level : 0);
        for (int j = 0; j < 4 * n; j++) {
            const struct slow_row *b = rows[j % n];
            bool b_h = j / n % 2, same = a == b;
            long double k = correlation(a, b), *c = at(joint, i, j);

            *c = a->row->algorithm == b->row->algorithm
                     ? 4 + 1 / ((long double)a->batch * b->batch) + w->s * w->s * k +
                           (same ? w->u * w->u : 0)
                     : 0;
            if (a_h && b_h)
                *c += w->c * w->c * (k + same) / 2;
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
        struct widths tried = {S[i % 3], U[i / 3], 0.03L, 0};
        long double density = each_group(slow, &tried, false, false);

        if (density > greatest) {
            greatest = density;
            best = tried;
        }
    }
    return best;
}

/* Finds L and C once more from those of before. */
static void improve(const struct slow_posterior *slow, long double mean_us, struct widths *w)
{
    long double weights = 1 / (0.3L * 0.3L), sum = 0, squares = 10 * 0.03L * 0.03L, count = 10;

    for (int i = 0; i < slow->n_rows; i++) {
        const struct slow_row *row = &slow->rows[i];
        long double v, d, t, s;

        if (!row->used || !(row->precision > 0))
            continue;
        v = w->c * w->c + 1 / row->precision + fmaxl(0, row->variance - 0.03L * 0.03L);
        t = 3 * sqrtl(v);
        s = w->c * w->c / v;
        d = fminl(t, fmaxl(-t, row->executed - row->mean - w->level));
        weights += expl(row->executed) / mean_us / v;
        sum += expl(row->executed) / mean_us / v * (w->level + d);
        squares += s * d * s * d + w->c * w->c * (1 - s);
        count++;
    }
    w->level = sum / weights;
    w->c = sqrtl(squares / count);
}

static void find_level(struct slow_posterior *slow, struct widths *w)
{
    long double sum = 0;
    int n = 0;

    for (int i = 0; i < slow->n_rows; i++)
        if (slow->rows[i].used && slow->rows[i].precision > 0) {
            sum += expl(slow->rows[i].executed);
            n++;
        }
    if (n == 0)
        return;
    each_group(slow, w, true, false);
    for (int i = 0; i < 10; i++)
        improve(slow, sum / n, w);
}

struct slow_posterior *slow_posterior_new(const struct vbs_profile *profile,
                                          const struct vbs_observed_row *executed, int n_executed)
{
    struct slow_posterior *slow = calloc(1, sizeof *slow);
    struct widths w;

    if (!slow)
        bail_out("no memory");
    take_rows(slow, profile);
    take_executed(slow, profile, executed, n_executed);
    find_errors(slow, n_executed > 0);
    w = find_widths(slow);
    find_level(slow, &w);
    each_group(slow, &w, true, true);
    slow->report.level = (double)expl(w.level);
    slow->report.context = (double)w.c;
    for (int i = 0; i < slow->n_rows; i++) {
        struct slow_row *row = &slow->rows[i];
        long double half = 1.96L * sqrtl(row->variance);

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
