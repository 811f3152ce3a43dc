/* The uncertainty of the predicted time of a schedule, from that of the rows that it runs. */
#include "vbslab/schedule.h"

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

/* Returns the share of its row's time that a step takes. */
static double share_of(const struct vbs_profile *profile, const struct vbs_step *step)
{
    int64_t channels = profile->layers[step->layer].channels, n = step->n_slices;

    if (n <= 1)
        return 1;
    if (channels == 0)
        return 1.0 / (double)n;
    return (double)(channels * step->slice / n - channels * (step->slice - 1) / n) /
           (double)channels;
}

bool vbs_schedule_interval(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                           double *low_us, double *high_us)
{
    double low = 0, high = 0;

    for (int64_t s = 0; s < schedule->n_steps; s++) {
        const struct vbs_step *step = &schedule->steps[s];
        const struct vbs_profile_row *row;

        if (step->op != VBS_STEP_COMPUTE)
            return false;
        row = row_of(profile, schedule, step);
        if (!row)
            return false;
        low += share_of(profile, step) * (has_interval(row) ? row->low_us : row->time_us);
        high += share_of(profile, step) * (has_interval(row) ? row->high_us : row->time_us);
    }
    if (!(high > low && isfinite(high)))
        return false;
    *low_us = low;
    *high_us = high;
    return true;
}
