/* What the files of this sub-room share. */
#ifndef VBS_PLAN_EXPLAIN_INTERNAL_H
#define VBS_PLAN_EXPLAIN_INTERNAL_H

#include "plan/explain/explain.h"

/* The infeasibility's latencies. */
enum vbs_status vbs_explain_latency(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                    struct vbs_infeasibility *infeasibility) VBS_MUST_CHECK;

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
