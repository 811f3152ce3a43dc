/*
 * Better schedules from a given one: windows of its path through the lattice are replaced by the
 * shortest ones between the same two states.
 */
#ifndef VBS_PLAN_SEARCH_IMPROVE_H
#define VBS_PLAN_SEARCH_IMPROVE_H

#include "plan/search/state_search.h"

struct vbs_improve_limits {
    int max_states; /* of one window */
    double until;   /* a moment of vbs_search_now */
};

/* steps is a whole schedule in the lattice of all ideals. Algorithms are neither read nor set: each
 * step takes the time of the fastest algorithm that fits. *improved tells whether steps was
 * replaced. A window begins with a few steps and grows as long as larger windows lead to better
 * schedules and their searches stay within max_states. VBS_NO_MEMORY, VBS_INTERRUPTED. */
enum vbs_status vbs_improve(struct vbs_ctx *ctx, const struct vbs_lattice *lattice,
                            const uint64_t *all_layers, const struct vbs_improve_limits *limits,
                            struct vbs_step_list *steps, bool *improved) VBS_MUST_CHECK;

/* Finds the states on the path of such a schedule. The caller clears *states, after a failure too.
 */
enum vbs_status vbs_path_states(struct vbs_ctx *ctx, const struct vbs_lattice *lattice,
                                struct vbs_step_list *steps,
                                struct vbs_states *states) VBS_MUST_CHECK;

#endif
