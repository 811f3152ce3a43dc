/* Functions that the files of this sub-room share. */
#ifndef VBS_PLAN_EXPLAIN_INTERNAL_H
#define VBS_PLAN_EXPLAIN_INTERNAL_H

#include "plan/explain/explain.h"

/* Fills the latencies of the report. VBS_NO_MEMORY, VBS_INTERRUPTED. */
enum vbs_status vbs_explain_latency(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                    struct vbs_infeasibility *infeasibility) VBS_MUST_CHECK;

/* The data of a profile that are set to 0 in its copy. */
struct vbs_without {
    int ws_of_layer; /* the workspaces of this layer; 0: of no layer */
    bool times;      /* all times: feasibility in a budget does not depend on them */
    bool bytes;      /* all bytes: feasibility within a latency does not depend on them */
};

enum vbs_status vbs_profile_without(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                    const struct vbs_without *without,
                                    struct vbs_profile **copy) VBS_MUST_CHECK;

/* Gives whether a report also runs planner, beside the opened one. It runs neither the optimal
 * planner, which searches long, nor planners that transfer weights, nor any where it would take
 * long (VBS_EXPLAIN_EFFORT). timed: the run is on a profile with both times and bytes. */
bool vbs_explain_asks(const struct vbs_opened_planner *opened, const struct vbs_planner *planner,
                      bool timed);

#endif
