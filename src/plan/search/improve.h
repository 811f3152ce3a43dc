/*
 * Better schedules from a given one: windows of its path through the lattice are replaced by the
 * shortest ones between the same two states.
 */
#ifndef VBS_PLAN_SEARCH_IMPROVE_H
#define VBS_PLAN_SEARCH_IMPROVE_H

#include "plan/search/state_search.h"

struct vbs_improve_limits {
    int max_states; /* of one window */
    double until;   /* of vbs_search_now */
};

/* steps is a whole schedule in the lattice of all positions; algorithms are neither read nor set:
 * each step counts with the fastest that fits. *improved tells whether it was replaced. Pieces grow
 * from a few steps while they bring something and fit into max_states. */
enum vbs_status vbs_improve(struct vbs_ctx *ctx, const struct vbs_lattice *lattice,
                            const uint64_t *all_layers, const struct vbs_improve_limits *limits,
                            struct vbs_step_list *steps, bool *improved) VBS_MUST_CHECK;

/* The states of the path of steps, as above; the caller clears *states, after a failure too. */
enum vbs_status vbs_path_states(struct vbs_ctx *ctx, const struct vbs_lattice *lattice,
                                struct vbs_step_list *steps,
                                struct vbs_states *states) VBS_MUST_CHECK;

#endif
