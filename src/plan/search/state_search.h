/*
 * Sweeps: all states of a lattice between two of them from which a schedule below a limit may come.
 *
 * States are taken by their progress (samples done, summed over the layers): every step adds to it,
 * so that a state's least time from the start is final when its turn comes. A second sweep, back
 * from the goal, leaves in each state the least time to go. States whose time so far and the
 * guide's bound together reach the limit are left out, so that there are few while the limit is
 * near.
 */
#ifndef VBS_PLAN_SEARCH_STATE_SEARCH_H
#define VBS_PLAN_SEARCH_STATE_SEARCH_H

#include "plan/search/heuristic.h"
#include "plan/search/states.h"

struct vbs_state_search {
    struct vbs_states states; /* the start is state 0 */
    int64_t *togo;       /* [states.n] ticks to the goal; VBS_NEVER_TICKS: not below the limit */
    int64_t start_ticks; /* of the start; a bound where nothing was found */
    int goal;            /* state */
};

struct vbs_search_limits {
    int64_t below_ticks; /* paths that take this or more are left out */
    int max_states;      /* more: the sweep gives up */
    double until;        /* of vbs_search_now */
    /*
     * A beam: of states with the same progress only beam_width are followed, those of kept and
     * then those that promise most; 0: all. What is found then is a schedule, but nothing is
     * proven. kept has the states of a known path, so that not all the beam ends where memory is
     * full and no step fits.
     */
    int beam_width;
    const struct vbs_states *kept;
};

enum vbs_found {
    VBS_FOUND,
    VBS_FOUND_NONE, /* no path takes less than below_ticks (in the beam) */
    VBS_FOUND_OUT,  /* of states or time: nothing is known */
};

/* From start to goal (null: no sample begun, all samples done) in the guide's lattice. Cleared
 * unless *found is VBS_FOUND, but for start_ticks. O(states x steps out of a state). */
enum vbs_status vbs_search_run(struct vbs_ctx *ctx, const struct vbs_heuristic *heuristic,
                               const uint16_t *start, const uint16_t *goal,
                               const struct vbs_search_limits *limits,
                               struct vbs_state_search *search,
                               enum vbs_found *found) VBS_MUST_CHECK;
void vbs_search_clear(struct vbs_state_search *search);

/* Appends the steps of a path that takes start_ticks, without algorithms. */
enum vbs_status vbs_search_emit(struct vbs_ctx *ctx, const struct vbs_lattice *lattice,
                                const struct vbs_state_search *search,
                                struct vbs_step_list *steps) VBS_MUST_CHECK;

/* Memory that it holds. */
size_t vbs_search_bytes(const struct vbs_state_search *search);

#endif
