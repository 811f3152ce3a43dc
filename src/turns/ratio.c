/* Medians and intervals of times and of their ratios in the turns. */
#include "turns/ratio.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

static double time_of(const struct vbs_turns *turns, int turn, int which)
{
    return turns->times_us[(size_t)turn * (size_t)turns->n + (size_t)which];
}

enum vbs_status vbs_turns_summary(struct vbs_ctx *ctx, const struct vbs_turns *turns, int which,
                                  struct vbs_profile_row *row)
{
    double *times_us = calloc((size_t)turns->n_turns + 1, sizeof *times_us);

    if (!times_us)
        return vbs_no_memory(ctx);
    for (int t = 0; t < turns->n_turns; t++)
        times_us[t] = time_of(turns, t, which);
    vbs_measure_summary(times_us, turns->n_turns, row);
    free(times_us);
    return VBS_OK;
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
    double *logarithms = calloc((size_t)turns->n_turns + 1, sizeof *logarithms);

    if (!logarithms)
        return vbs_no_memory(ctx);
    for (int t = 0; t < turns->n_turns; t++)
        logarithms[t] = vbs_turns_logarithm(time_of(turns, t, which), time_of(turns, t, over));
    *ratio = vbs_turns_median_ratio(logarithms, turns->n_turns);
    free(logarithms);
    return VBS_OK;
}
