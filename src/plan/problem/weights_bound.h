/*
 * Internal to the plans: the lower bound where weights count.
 */
#ifndef VBS_PLAN_PROBLEM_WEIGHTS_BOUND_H
#define VBS_PLAN_PROBLEM_WEIGHTS_BOUND_H

#include "plan/problem/task.h"

/* Bounds the time of every schedule of a task with weights included; HUGE_VAL: no schedule fits.
 * VBS_NO_MEMORY. It finds the least ticks of all layers 127 times at most. */
enum vbs_status vbs_weights_bound_us(struct vbs_ctx *ctx, const struct vbs_task *task,
                                     int64_t memory_bytes, double *time_us) VBS_MUST_CHECK;

#endif
