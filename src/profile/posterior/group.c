/*
 * The Gaussian process of one group of rows (Rasmussen, Williams: Gaussian Processes for Machine
 * Learning, 2006, algorithm 2.1): from the covariances of what was observed, and of the rows with
 * it, to the distribution of the rows' times in schedules.
 */
#include "profile/posterior/posterior.h"

#include "base/fail.h"
#include "base/matrix.h"

#include <gsl/gsl_cblas.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

#define SAMPLE_WIDTH 2.0 /* of c_a around the middle of the group's values */
#define CALL_WIDTH   1.0 /* of o_a */
#define LENGTH       0.7 /* of the smooth functions, in logarithms of the batch: a factor of 2 */
#define SHARED                                                                                     \
    0.7 /* of the variance of the context: g's, which the rows of a layer have in common */
#define FREEDOM        4 /* degrees of freedom of the errors' t distribution */
#define N_WIDENINGS    3
#define LEAST_VARIANCE 1e-10

enum vbs_status vbs_posterior_work_init(struct vbs_ctx *ctx, struct vbs_arena *arena, int n_rows,
                                        struct posterior_work *work)
{
    size_t n = (size_t)n_rows;

    work->n_rows = n_rows;
    work->covariance = vbs_arena_alloc(arena, 4 * n * n, sizeof *work->covariance);
    work->cross = vbs_arena_alloc(arena, 2 * n * n, sizeof *work->cross);
    work->posterior = vbs_arena_alloc(arena, n * n, sizeof *work->posterior);
    work->values = vbs_arena_alloc(arena, 2 * n, sizeof *work->values);
    work->solved = vbs_arena_alloc(arena, 2 * n, sizeof *work->solved);
    work->errors = vbs_arena_alloc(arena, 2 * n, sizeof *work->errors);
    work->observed = vbs_arena_alloc(arena, 2 * n, sizeof *work->observed);
    return work->covariance && work->cross && work->posterior && work->values && work->solved &&
                   work->errors && work->observed
               ? VBS_OK
               : vbs_no_memory(ctx);
}

/* ---- Covariances ---- */

/* Returns the correlation of a smooth function at the batches of two rows. */
static double smooth(const struct posterior_row *a, const struct posterior_row *b)
{
    double distance = (a->log_batch - b->log_batch) / LENGTH;

    return exp(-distance * distance / 2);
}

/* Returns the covariance of f at two rows. */
static double alone(const struct posterior_row *a, const struct posterior_row *b,
                    const struct posterior_widths *widths)
{
    if (a->row->algorithm != b->row->algorithm)
        return 0;
    return SAMPLE_WIDTH * SAMPLE_WIDTH + CALL_WIDTH * CALL_WIDTH / a->batch / b->batch +
           widths->smooth * widths->smooth * smooth(a, b) +
           (a == b ? widths->steps * widths->steps : 0);
}

/* Returns the covariance of h - f - level at two rows: SHARED of the variance is g's, the rest w's.
 */
static double in_context(const struct posterior_row *a, const struct posterior_row *b,
                         const struct posterior_widths *widths)
{
    return widths->context * widths->context * (SHARED * smooth(a, b) + (1 - SHARED) * (a == b));
}

/* ---- Observations ---- */

static double middle(struct posterior_row *const *rows, int n)
{
    double sum = 0;
    int count = 0;

    for (int i = 0; i < n; i++)
        if (rows[i]->error > 0) {
            sum += rows[i]->value;
            count++;
        }
    for (int i = 0; i < n && count == 0; i++)
        if (rows[i]->precision > 0)
            return rows[i]->executed;
    return count > 0 ? sum / count : 0;
}

/* Lists what was observed, less what is expected of all rows: medians first, executed times behind
 * them. Returns their number; *n_medians is that of the medians. */
static int list_observations(struct posterior_row *const *rows, int n, double centre, bool executed,
                             struct posterior_work *work, int *n_medians)
{
    int count = 0;

    for (int i = 0; i < n; i++)
        if (rows[i]->error > 0) {
            work->observed[count] = i;
            work->values[count] = rows[i]->value - centre;
            work->errors[count++] = rows[i]->error * rows[i]->error;
        }
    *n_medians = count;
    for (int i = 0; i < n && executed; i++)
        if (rows[i]->precision > 0) {
            work->observed[count] = i;
            work->values[count] = rows[i]->executed - centre;
            work->errors[count++] = 1 / rows[i]->precision;
        }
    return count;
}

/* Factors the covariance of the observations and solves it for their values. The determinant's
 * logarithm is returned; NAN where the matrix is not positive definite to working precision. */
static double solve(struct posterior_row *const *rows, int count, int n_medians,
                    const struct posterior_widths *widths, struct posterior_work *work)
{
    double *matrix = work->covariance, determinant = 0;

    for (int i = 0; i < count; i++)
        for (int j = i; j < count; j++) {
            const struct posterior_row *a = rows[work->observed[i]], *b = rows[work->observed[j]];

            matrix[(size_t)i * count + j] = alone(a, b, widths) +
                                            (i >= n_medians ? in_context(a, b, widths) : 0) +
                                            (i == j ? work->errors[i] : 0);
        }
    if (!vbs_matrix_factor(matrix, count))
        return NAN;
    memcpy(work->solved, work->values, (size_t)count * sizeof *work->solved);
    vbs_matrix_solve_lower(matrix, count, work->solved);
    for (int i = 0; i < count; i++)
        determinant += log(matrix[(size_t)i * count + i]);
    return determinant;
}

double vbs_posterior_likelihood(struct posterior_row *const *rows, int n,
                                const struct posterior_widths *widths, struct posterior_work *work)
{
    int n_medians, count = list_observations(rows, n, middle(rows, n), false, work, &n_medians);
    double determinant = solve(rows, count, n_medians, widths, work);

    if (isnan(determinant))
        return -HUGE_VAL;
    return -determinant - cblas_ddot(count, work->solved, 1, work->solved, 1) / 2;
}

/* Widens the errors of medians that are far from what all observations say together. */
static void widen(struct posterior_row *const *rows, int count, int n_medians,
                  const struct posterior_widths *widths, struct posterior_work *work)
{
    memcpy(work->cross, work->solved, (size_t)count * sizeof *work->cross);
    vbs_matrix_solve_upper(work->covariance, count, work->cross);
    for (int i = 0; i < n_medians; i++) {
        const struct posterior_row *row = rows[work->observed[i]];
        /* The residual of observation i is its error's variance times entry i of the solution. */
        double residual = work->errors[i] * work->cross[i];
        double own = row->error * row->error, allowed = own + widths->steps * widths->steps;

        work->errors[i] = own * fmax(1, (FREEDOM + residual * residual / allowed) / (FREEDOM + 1));
    }
}

/* ---- The distribution of the rows ---- */

/* Fills cross [n, count] with the covariances of the rows' h and the observations, divided by the
 * transposed factor. */
static void find_cross(struct posterior_row *const *rows, int n, int count, int n_medians,
                       const struct posterior_widths *widths, struct posterior_work *work)
{
    for (int r = 0; r < n; r++) {
        double *cross = work->cross + (size_t)r * count;

        for (int i = 0; i < count; i++) {
            const struct posterior_row *other = rows[work->observed[i]];

            cross[i] = alone(rows[r], other, widths) +
                       (i >= n_medians ? in_context(rows[r], other, widths) : 0);
        }
        vbs_matrix_solve_lower(work->covariance, count, cross);
    }
}

static double covariance_after(struct posterior_row *const *rows, int i, int j, int count,
                               const struct posterior_widths *widths,
                               const struct posterior_work *work)
{
    return alone(rows[i], rows[j], widths) + in_context(rows[i], rows[j], widths) -
           cblas_ddot(count, work->cross + (size_t)i * count, 1, work->cross + (size_t)j * count,
                      1);
}

/* Adds errors of the posterior distribution to the means: U^T z, for independent normal z. */
static void draw(struct posterior_row *const *rows, int n, int count,
                 const struct posterior_widths *widths, const gsl_rng *rng,
                 struct posterior_work *work)
{
    double *matrix = work->posterior;
    bool factored;

    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++)
            matrix[(size_t)i * n + j] =
                covariance_after(rows, i, j, count, widths, work) + (i == j ? LEAST_VARIANCE : 0);
    factored = vbs_matrix_factor(matrix, n);
    for (int i = 0; i < n; i++) {
        double z = gsl_ran_gaussian(rng, 1);

        if (!factored) {
            rows[i]->mean += z * sqrt(rows[i]->variance);
            continue;
        }
        for (int j = i; j < n; j++)
            rows[j]->mean += z * matrix[(size_t)i * n + j];
    }
}

void vbs_posterior_group(struct posterior_row *const *rows, int n,
                         const struct posterior_widths *widths, bool executed, const gsl_rng *rng,
                         struct posterior_work *work)
{
    double centre = middle(rows, n), level = executed ? widths->level : 0;
    int n_medians, count = list_observations(rows, n, centre, executed, work, &n_medians);
    bool solved = !isnan(solve(rows, count, n_medians, widths, work));

    for (int i = 0; i < N_WIDENINGS && solved; i++) {
        widen(rows, count, n_medians, widths, work);
        solved = !isnan(solve(rows, count, n_medians, widths, work));
    }
    if (solved)
        find_cross(rows, n, count, n_medians, widths, work);
    for (int i = 0; i < n; i++) {
        rows[i]->mean = rows[i]->value + level;
        rows[i]->variance = rows[i]->error * rows[i]->error;
        if (!solved)
            continue;
        rows[i]->mean =
            centre + level + cblas_ddot(count, work->cross + (size_t)i * count, 1, work->solved, 1);
        rows[i]->variance = fmax(LEAST_VARIANCE, covariance_after(rows, i, i, count, widths, work));
    }
    if (rng && solved)
        draw(rows, n, count, widths, rng, work);
}
