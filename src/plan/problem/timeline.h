/*
 * Timelines: the bytes of a whole schedule, and its times on both clocks (schedule.h).
 *
 * For planners only; the replay has its own. The caller ensures that a schedule is
 * possible: inputs exist, and weights that are read have been loaded.
 */
#ifndef VBS_PLAN_PROBLEM_TIMELINE_H
#define VBS_PLAN_PROBLEM_TIMELINE_H

#include "plan/problem/steps.h"

/* The totals of a schedule by the exact accounting. */
struct vbs_timeline {
    int64_t peak_bytes;
    struct vbs_step peak_step; /* the first step that reaches the peak */
    double time_us;            /* the end of the last step */
    int64_t latency_ticks;     /* of the chunk that takes longest (struct vbs_problem) */
    double latency_us;         /* of the same chunk, summed as reported */
    /* Weights included: the time, as they run beside compute steps, and the bytes of all loads that
     * are not resident, and the bytes of those that are. */
    double copy_us;
    int64_t copied_bytes, resident_bytes;
};

/* Counts all steps; there must be at least one. VBS_NO_MEMORY. O(steps x inputs x readers). */
enum vbs_status vbs_timeline_find(struct vbs_ctx *ctx, const struct vbs_task *task,
                                  const struct vbs_step_list *steps,
                                  struct vbs_timeline *timeline) VBS_MUST_CHECK;

#endif
