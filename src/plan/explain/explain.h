/*
 * Why there is no plan. Inside the plan room.
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

/* VBS_INFEASIBLE, and a detail that names the least budget and the layer that binds there; or what
 * else went wrong on the way. O(a plan). */
enum vbs_status vbs_explain_refusal(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                    int64_t memory_bytes) VBS_MUST_CHECK;

/* vbs_solver_explain. */
enum vbs_status vbs_explain(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                            struct vbs_infeasibility *infeasibility) VBS_MUST_CHECK;

#endif
