/* Medians and intervals of times and of their ratios in the turns. */
#include "turns/ratio.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

/* ---- The turns that count ---- */

static int count(const struct vbs_turns *turns, bool unusual)
{
    int n = 0;

    for (int t = 0; t < turns->n_turns; t++)
        n += (turns->unusual && turns->unusual[t]) == unusual;
    return n;
}

int vbs_turns_unusual(const struct vbs_turns *turns)
{
    return count(turns, true);
}

/* Returns whether turns in another state are left out. */
static bool are_some_left_out(const struct vbs_turns *turns)
{
    int n_usual = count(turns, false);

    return n_usual >= VBS_TURNS_MIN && n_usual < turns->n_turns;
}

int vbs_turns_counted(const struct vbs_turns *turns)
{
    return are_some_left_out(turns) ? count(turns, false) : turns->n_turns;
}

/* ---- Times and ratios ---- */

static double time_of(const struct vbs_turns *turns, int turn, int which)
{
    return turns->times_us[(size_t)turn * (size_t)turns->n + (size_t)which];
}

/* Makes an array of what was timed in the turns that count, or in those that are left out: the
 * times of executor which, or, where over is not negative, the logarithms of their ratios to those
 * of executor over. The caller frees *values [*n]. VBS_NO_MEMORY. */
static enum vbs_status collect(struct vbs_ctx *ctx, const struct vbs_turns *turns, int which,
                               int over, bool left_out, double **values, int *n)
{
    bool some = are_some_left_out(turns);

    *n = 0;
    *values = calloc((size_t)turns->n_turns + 1, sizeof **values);
    if (!*values)
        return vbs_no_memory(ctx);
    for (int t = 0; t < turns->n_turns; t++) {
        double time_us = time_of(turns, t, which);

        if ((some && turns->unusual[t]) != left_out)
            continue;
        (*values)[(*n)++] =
            over < 0 ? time_us : vbs_turns_logarithm(time_us, time_of(turns, t, over));
    }
    return VBS_OK;
}

/* Fills *row from the times of an executor in the turns that count, or in those that are left out.
 */
static enum vbs_status summarize(struct vbs_ctx *ctx, const struct vbs_turns *turns, int which,
                                 bool left_out, struct vbs_profile_row *row)
{
    double *times_us;
    int n;

    VBS_TRY(collect(ctx, turns, which, -1, left_out, &times_us, &n));
    vbs_measure_summary(times_us, n, row);
    free(times_us);
    return VBS_OK;
}

enum vbs_status vbs_turns_summary(struct vbs_ctx *ctx, const struct vbs_turns *turns, int which,
                                  struct vbs_profile_row *row)
{
    return summarize(ctx, turns, which, false, row);
}

double vbs_turns_logarithm(double time_us, double over_us)
{
    return time_us > 0 && over_us > 0 ? log(time_us) - log(over_us) : NAN;
}

struct vbs_turns_ratio vbs_turns_median_ratio(double *logarithms, int n)
{
    const struct vbs_turns_ratio none = {NAN, NAN, NAN};
    struct vbs_profile_row row;

    for (int i = 0; i < n; i++)
        if (isnan(logarithms[i]))
            return none;
    if (n == 0)
        return none;
    /* The order statistics of a summary are those of any numbers, not only of times. */
    vbs_measure_summary(logarithms, n, &row);
    return (struct vbs_turns_ratio){exp(row.time_us), exp(row.low_us), exp(row.high_us)};
}

enum vbs_status vbs_turns_compare(struct vbs_ctx *ctx, const struct vbs_turns *turns, int which,
                                  int over, struct vbs_turns_ratio *ratio)
{
    double *logarithms;
    int n;

    VBS_TRY(collect(ctx, turns, which, over, false, &logarithms, &n));
    *ratio = vbs_turns_median_ratio(logarithms, n);
    free(logarithms);
    return VBS_OK;
}

enum vbs_status vbs_turns_slowdown(struct vbs_ctx *ctx, const struct vbs_turns *turns,
                                   double *times)
{
    double sum = 0;

    *times = 0;
    if (!are_some_left_out(turns))
        return VBS_OK;
    for (int i = 0; i < turns->n; i++) {
        struct vbs_profile_row usual, unusual;

        VBS_TRY(summarize(ctx, turns, i, false, &usual));
        VBS_TRY(summarize(ctx, turns, i, true, &unusual));
        sum += usual.time_us > 0 ? unusual.time_us / usual.time_us : 1;
    }
    *times = sum / turns->n;
    return VBS_OK;
}
