/*
 * Why there is no plan. Inside the plan room.
 */
#ifndef VBS_PLAN_EXPLAIN_EXPLAIN_H
#define VBS_PLAN_EXPLAIN_EXPLAIN_H

#include "plan/problem/planner.h"

/* A planner that has opened a task. */
struct vbs_opened_planner {
    const struct vbs_planner *planner;
    const struct vbs_task *task;
    void *self;
};

/* VBS_INFEASIBLE, and a detail that names the least budget and the layer that binds there; or what
 * else went wrong on the way. O(a plan). */
enum vbs_status vbs_explain_refusal(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                    int64_t memory_bytes) VBS_MUST_CHECK;

/* vbs_solver_explain. */
enum vbs_status vbs_explain(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                            struct vbs_infeasibility *infeasibility) VBS_MUST_CHECK;

/* The infeasibility's latencies. */
enum vbs_status vbs_explain_latency(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                    struct vbs_infeasibility *infeasibility) VBS_MUST_CHECK;

/* ---- What both files of it share ---- */

/* What a copy of a profile does without. */
struct vbs_without {
    int ws_of_layer; /* the workspaces of this layer; 0: of none */
    bool times;      /* all of them 0: what fits does not depend on them */
    bool bytes;      /* all of them 0: what is in time does not depend on them */
};

enum vbs_status vbs_profile_without(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                    const struct vbs_without *without,
                                    struct vbs_profile **copy) VBS_MUST_CHECK;

/* Whether planner is to be asked what it could do in the place of opened's: not optimal, which
 * searches long, and not where answers would take long. timed: on a profile with times and bytes.
 */
bool vbs_explain_asks(const struct vbs_opened_planner *opened, const struct vbs_planner *planner,
                      bool timed);

#endif
