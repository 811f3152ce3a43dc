/* The time of a schedule that copies weights, for many draws of its rows' times at once. Internal
 * to the report room. */
#ifndef VBS_REPORT_COMPARE_CLOCKS_H
#define VBS_REPORT_COMPARE_CLOCKS_H

#include "vbslab/schedule.h"

/* The source of the draws of a row's time. */
struct vbs_clock_rows {
    void *self;
    /* Gives the row that a compute step runs, and its drawn times less the row's own, [n_draws];
     * null where the row has no interval. */
    enum vbs_status (*find)(struct vbs_ctx *ctx, void *self, const struct vbs_step *step,
                            const struct vbs_profile_row **row, const float **draws);
};

/* Schedules of more steps are not run: their draws would take seconds. */
#define VBS_CLOCKS_STEPS (1 << 18)

/*
 * Runs both clocks of a schedule that the replay accepts on profile, copies taking what link says,
 * once for each of n_draws draws: time_us[r] is the end of the last step in draw r. *known is
 * false, and the times are unset, where a row has no draws or the schedule has too many steps.
 * O(steps x draws). VBS_NO_MEMORY, VBS_INTERRUPTED, and errors of rows.
 */
enum vbs_status vbs_clocks_run(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                               const struct vbs_schedule *schedule, const struct vbs_link *link,
                               const struct vbs_clock_rows *rows, int n_draws, double *time_us,
                               bool *known) VBS_MUST_CHECK;

#endif
