/* Medians and intervals of times and of their ratios in the turns. */
#include "vbslab/turns.h"

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

/* Fills the logarithms of the ratios; false: a time is 0. */
static bool fill_logarithms(const struct vbs_turns *turns, int which, int over, double *logarithms)
{
    for (int t = 0; t < turns->n_turns; t++) {
        double ours = time_of(turns, t, which), base = time_of(turns, t, over);

        if (!(ours > 0 && base > 0))
            return false;
        logarithms[t] = log(ours) - log(base);
    }
    return true;
}

enum vbs_status vbs_turns_compare(struct vbs_ctx *ctx, const struct vbs_turns *turns, int which,
                                  int over, struct vbs_turns_ratio *ratio)
{
    double *logarithms = calloc((size_t)turns->n_turns + 1, sizeof *logarithms);
    struct vbs_profile_row row;

    if (!logarithms)
        return vbs_no_memory(ctx);
    *ratio = (struct vbs_turns_ratio){NAN, NAN, NAN};
    if (fill_logarithms(turns, which, over, logarithms) && turns->n_turns > 0) {
        /* The order statistics of a summary are those of any numbers, not only of times. */
        vbs_measure_summary(logarithms, turns->n_turns, &row);
        *ratio = (struct vbs_turns_ratio){exp(row.time_us), exp(row.low_us), exp(row.high_us)};
    }
    free(logarithms);
    return VBS_OK;
}
