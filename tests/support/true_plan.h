/* Whether plans are what they say. */
#ifndef TESTS_TRUE_PLAN_H
#define TESTS_TRUE_PLAN_H

#include "base/ctx.h"
#include "vbslab/replay.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

/* Gives whether the replay finds the bytes and the time that a plan predicts, within its budget,
 * and the bound is not above the time; prints what differs. */
static inline bool is_true_plan(const struct vbs_profile *profile,
                                const struct vbs_schedule *schedule)
{
    struct vbs_ctx ctx = {0};
    struct vbs_replay *replay = NULL;
    enum vbs_status status = vbs_replay_run(&ctx, profile, schedule, -1, false, &replay);
    bool same = status == VBS_OK && replay->fits &&
                replay->peak_bytes == schedule->predicted.peak_bytes &&
                fabs(replay->time_us - schedule->predicted.time_us) <= 1e-9 * replay->time_us &&
                schedule->bound.time_us <= schedule->predicted.time_us;

    if (!same)
        printf("# status %d %s: peak %" PRId64 " of %" PRId64 ", %g us of %g, bound %g\n",
               (int)status, status == VBS_OK ? "" : vbs_detail(&ctx),
               status == VBS_OK ? replay->peak_bytes : 0, schedule->predicted.peak_bytes,
               status == VBS_OK ? replay->time_us : 0, schedule->predicted.time_us,
               schedule->bound.time_us);
    vbs_replay_free(replay);
    return same;
}

#endif
