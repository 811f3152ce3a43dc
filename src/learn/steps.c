/*
 * The times of steps by a profile. A device computes what the host has put on its stream, so that
 * no clock of the host tells when a step began; waiting after each one would tell it, but then
 * requests take longer than they do without. So on a device the time of a whole request is divided
 * among its steps as the profile divides it.
 */
#include "learn/learn.h"

#include "base/fail.h"
#include "profile/slice.h"

#include <stdlib.h>

double learn_step_us(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                     const struct vbs_step *step)
{
    int algorithm = vbs_profile_algorithm(profile, schedule->algorithms[step->algorithm]);
    const struct vbs_profile_row *row =
        vbs_profile_find_row(profile, step->layer, step->batch, step->rows, algorithm);

    if (!row)
        return 0;
    return row->time_us *
           vbs_slice_share(&profile->layers[step->layer], step->slice, step->n_slices);
}

enum vbs_status learn_profile_steps(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                    struct contender *contender)
{
    const struct vbs_schedule *schedule = contender->schedule;

    contender->profile_us = calloc((size_t)schedule->n_steps + 1, sizeof *contender->profile_us);
    if (!contender->profile_us)
        return vbs_no_memory(ctx);
    contender->profile_sum_us = 0;
    for (int64_t s = 0; s < schedule->n_steps; s++)
        if (schedule->steps[s].op == VBS_STEP_COMPUTE) {
            contender->profile_us[s] = learn_step_us(profile, schedule, &schedule->steps[s]);
            contender->profile_sum_us += contender->profile_us[s];
        }
    return VBS_OK;
}
