/* Medians and intervals of times and of their ratios in the turns. */
#include "vbslab/turns.h"

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

/* Lists the turns that count, or those that are left out; returns their number. */
static int list_turns(const struct vbs_turns *turns, bool left_out, int *list)
{
    bool some = are_some_left_out(turns);
    int n = 0;

    for (int t = 0; t < turns->n_turns; t++)
        if ((some && turns->unusual[t]) == left_out)
            list[n++] = t;
    return n;
}

/* ---- Times and ratios ---- */

static double time_of(const struct vbs_turns *turns, int turn, int which)
{
    return turns->times_us[(size_t)turn * (size_t)turns->n + (size_t)which];
}

/* What is computed in each turn. */
struct quotient {
    int which;
    int over; /* -1: the time of which alone; else the logarithm of the ratio */
};

static double value_of(const struct vbs_turns *turns, int turn, const struct quotient *quotient)
{
    double ours = time_of(turns, turn, quotient->which);

    if (quotient->over < 0)
        return ours;
    return log(ours) - log(time_of(turns, turn, quotient->over));
}

/* Fills *row from the values in turns that count, or in those that are left out. */
static enum vbs_status summarize(struct vbs_ctx *ctx, const struct vbs_turns *turns,
                                 const struct quotient *quotient, bool left_out,
                                 struct vbs_profile_row *row)
{
    double *values = calloc((size_t)turns->n_turns + 1, sizeof *values);
    int *list = calloc((size_t)turns->n_turns + 1, sizeof *list);
    enum vbs_status status = values && list ? VBS_OK : vbs_no_memory(ctx);
    int n = 0;

    if (status == VBS_OK)
        n = list_turns(turns, left_out, list);
    for (int i = 0; i < n; i++)
        values[i] = value_of(turns, list[i], quotient);
    /* The order statistics of a summary are those of any numbers, not only of times. */
    if (status == VBS_OK)
        vbs_measure_summary(values, n, row);
    free(values);
    free(list);
    return status;
}

enum vbs_status vbs_turns_summary(struct vbs_ctx *ctx, const struct vbs_turns *turns, int which,
                                  struct vbs_profile_row *row)
{
    const struct quotient time = {which, -1};

    return summarize(ctx, turns, &time, false, row);
}

/* Returns whether some time of an executor is 0, so that its ratios have no logarithms. */
static bool has_zero(const struct vbs_turns *turns, int which)
{
    for (int t = 0; t < turns->n_turns; t++)
        if (!(time_of(turns, t, which) > 0))
            return true;
    return false;
}

enum vbs_status vbs_turns_compare(struct vbs_ctx *ctx, const struct vbs_turns *turns, int which,
                                  int over, struct vbs_turns_ratio *ratio)
{
    const struct quotient quotient = {which, over};
    struct vbs_profile_row row;

    *ratio = (struct vbs_turns_ratio){NAN, NAN, NAN};
    if (turns->n_turns == 0 || has_zero(turns, which) || has_zero(turns, over))
        return VBS_OK;
    VBS_TRY(summarize(ctx, turns, &quotient, false, &row));
    *ratio = (struct vbs_turns_ratio){exp(row.time_us), exp(row.low_us), exp(row.high_us)};
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
        const struct quotient time = {i, -1};
        struct vbs_profile_row usual, unusual;

        VBS_TRY(summarize(ctx, turns, &time, false, &usual));
        VBS_TRY(summarize(ctx, turns, &time, true, &unusual));
        sum += usual.time_us > 0 ? unusual.time_us / usual.time_us : 1;
    }
    *times = sum / turns->n;
    return VBS_OK;
}
