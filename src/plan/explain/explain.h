/*
 * Infeasibility reports, and explanations of plans. Internal to src/plan.
 */
#ifndef VBS_PLAN_EXPLAIN_EXPLAIN_H
#define VBS_PLAN_EXPLAIN_EXPLAIN_H

#include "plan/problem/problem.h"

/* A planner that has opened a task. */
struct vbs_opened_planner {
    const struct vbs_planner *planner;
    const struct vbs_task *task;
    void *self;
    const struct vbs_planner *const *others; /* all planners, null after the last */
};

/* Fails with VBS_INFEASIBLE and a detail that names the least budget and the layer with the largest
 * step there, or with another error of planning. Takes as long as a plan. */
enum vbs_status vbs_explain_refusal(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                    int64_t memory_bytes) VBS_MUST_CHECK;

/* Does the work of vbs_solver_explain. */
enum vbs_status vbs_explain(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                            struct vbs_infeasibility *infeasibility) VBS_MUST_CHECK;

/* Does the work of vbs_solver_explain_plan, whose options have been read. draft: the plan; not read
 * where the options ask for a part. */
enum vbs_status vbs_explain_plan(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                 int64_t memory_bytes, const struct vbs_explain_options *options,
                                 const struct vbs_draft *draft,
                                 struct vbs_explanation **explanation) VBS_MUST_CHECK;

#endif
