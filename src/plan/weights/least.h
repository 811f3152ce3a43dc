/*
 * The least budget of planners that transfer weights, without a search.
 */
#ifndef VBS_PLAN_WEIGHTS_LEAST_H
#define VBS_PLAN_WEIGHTS_LEAST_H

#include "plan/problem/problem.h"

/* Bounds the least budget of all planners that offer the plans of mmcnn, and no plans by rows. The
 * latency is ignored. Where nothing can be copied, the bounds are 0 and INT64_MAX. VBS_NO_MEMORY.
 * O(rows + request x layers). */
enum vbs_status vbs_transfer_bracket(struct vbs_ctx *ctx, const struct vbs_task *task,
                                     struct vbs_bracket *bracket) VBS_MUST_CHECK;

/* The same where plans may have steps with rows, as far as the task has them. */
enum vbs_status vbs_transfer_bracket_by_rows(struct vbs_ctx *ctx, const struct vbs_task *task,
                                             struct vbs_bracket *bracket) VBS_MUST_CHECK;

#endif
