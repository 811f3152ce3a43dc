/* The uncertainty of the predicted time of a schedule, from that of the rows that it runs. */
#include "vbslab/schedule.h"

#include "base/arith.h"
#include "profile/slice.h"

#include <math.h>

static const struct vbs_profile_row *row_of(const struct vbs_profile *profile,
                                            const struct vbs_schedule *schedule,
                                            const struct vbs_step *step)
{
    int algorithm = vbs_profile_algorithm(profile, schedule->algorithms[step->algorithm]);

    if (step->layer < 1 || step->layer > profile->n_layers || algorithm < 0)
        return NULL;
    return vbs_profile_find_row(profile, step->layer, step->batch, step->rows, algorithm);
}

/* Returns whether the time of a row has an interval; else it is exact, or nothing is known of its
 * error. */
static bool has_interval(const struct vbs_profile_row *row)
{
    return row->low_us < row->high_us && row->low_us <= row->time_us &&
           row->time_us <= row->high_us;
}

/* Widens an interval around a time by a further error, which is independent of the others. The
 * errors are of logarithms. */
static void widen(double time_us, double deviation, double *low_us, double *high_us)
{
    double further = VBS_NORMAL_95 * deviation;

    if (!(*low_us > 0 && further > 0))
        return;
    *low_us = time_us * exp(-hypot(log(time_us / *low_us), further));
    *high_us = time_us * exp(hypot(log(*high_us / time_us), further));
}

bool vbs_schedule_interval(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                           double *low_us, double *high_us)
{
    double low = 0, high = 0, time = 0;

    for (int64_t s = 0; s < schedule->n_steps; s++) {
        const struct vbs_step *step = &schedule->steps[s];
        const struct vbs_profile_row *row;
        double share;

        if (step->op != VBS_STEP_COMPUTE)
            return false;
        row = row_of(profile, schedule, step);
        if (!row)
            return false;
        share = vbs_slice_share(&profile->layers[step->layer], step->slice, step->n_slices);
        time += share * row->time_us;
        low += share * (has_interval(row) ? row->low_us : row->time_us);
        high += share * (has_interval(row) ? row->high_us : row->time_us);
    }
    if (!(high > low && isfinite(high)))
        return false;
    widen(time, vbs_provenance_drift(&profile->provenance), &low, &high);
    *low_us = low;
    *high_us = high;
    return true;
}
