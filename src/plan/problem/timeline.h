/*
 * Timelines: what a whole schedule comes to, in bytes and on both clocks (schedule.h).
 *
 * For planners only; the replay has its own. Schedules must be possible, which is the caller's
 * care: inputs exist, and weights that are read have been loaded.
 */
#ifndef VBS_PLAN_PROBLEM_TIMELINE_H
#define VBS_PLAN_PROBLEM_TIMELINE_H

#include "plan/problem/steps.h"

/* What a whole schedule comes to by the exact accounting. */
struct vbs_timeline {
    int64_t peak_bytes;
    struct vbs_step peak_step; /* the first that reaches the peak */
    double time_us;            /* the end of the last step */
    int64_t latency_ticks;     /* of the chunk that takes longest (struct vbs_problem) */
    double latency_us;         /* likewise, added up as reported */
    /* Weights included: what loads take, residents' not counted, and bring. */
    double copy_us;
    int64_t copied_bytes, resident_bytes;
};

/* Walks all steps; there must be one. */
enum vbs_status vbs_timeline_find(struct vbs_ctx *ctx, const struct vbs_task *task,
                                  const struct vbs_step_list *steps,
                                  struct vbs_timeline *timeline) VBS_MUST_CHECK;

#endif
