/* The uncertainty of the predicted time of a schedule, from that of the rows that it runs. */
#include "vbslab/schedule.h"

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

bool vbs_schedule_interval(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                           double *low_us, double *high_us)
{
    double low = 0, high = 0;

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
        low += share * (has_interval(row) ? row->low_us : row->time_us);
        high += share * (has_interval(row) ? row->high_us : row->time_us);
    }
    if (!(high > low && isfinite(high)))
        return false;
    *low_us = low;
    *high_us = high;
    return true;
}
