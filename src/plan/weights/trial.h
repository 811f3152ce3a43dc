/*
 * Collecting schedules with transfers: for whom budgets are tried one after the other.
 */
#ifndef VBS_PLAN_WEIGHTS_TRIAL_H
#define VBS_PLAN_WEIGHTS_TRIAL_H

#include "plan/problem/problem.h"
#include "plan/weights/stream.h"

/* Plans stream within memory_bytes and offers what comes out, from its exact peak on, unless it is
 * beaten or answers too late. What is infeasible is passed over. Errors as vbs_stream_plan. */
enum vbs_status vbs_trial_stream(struct vbs_ctx *ctx, const struct vbs_stream *stream,
                                 const struct vbs_stream_rule *rule, int64_t memory_bytes,
                                 struct vbs_pareto_set *pareto) VBS_MUST_CHECK;

/* Offers any schedule of the task. */
enum vbs_status vbs_trial_offer(struct vbs_ctx *ctx, int64_t bytes,
                                const struct vbs_step_list *steps,
                                struct vbs_pareto_set *pareto) VBS_MUST_CHECK;

/* The row of layer at batch with the least time of computing and then copying its weights, among
 * those that fit with a part's weights: base_bytes + ws + weights / parts <= memory_bytes, parts
 * being as many as the row allows where divides, else 1. Null when none fits. */
const struct vbs_profile_row *vbs_trial_row(const struct vbs_task *task, int layer, int batch,
                                            int64_t base_bytes, int64_t memory_bytes, bool divides);

/* The largest batch of the profile that is at most limit. */
int vbs_trial_batch(const struct vbs_task *task, int limit);

#endif
