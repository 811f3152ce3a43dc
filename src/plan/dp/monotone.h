/* Monotone schedules, for planners that must not lose to them. */
#ifndef VBS_PLAN_DP_MONOTONE_H
#define VBS_PLAN_DP_MONOTONE_H

#include "plan/problem/pareto.h"

/* Offers the schedules of dp-monotone for every budget, within the latency of the task.
 * answers->solving_bytes becomes at least what this took. */
enum vbs_status vbs_monotone_offer(struct vbs_ctx *ctx, const struct vbs_task *task,
                                   struct vbs_answers *answers) VBS_MUST_CHECK;

#endif
