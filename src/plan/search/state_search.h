/*
 * State searches: all states of a lattice between a start and a goal that may lie on a schedule
 * below a time limit.
 *
 * The search expands states in the order of their progress (samples done, summed over the layers).
 * Every step adds to the progress, so that the least time from the start to a state is final when
 * the state is expanded. A second pass, back from the goal, leaves in each state the least time to
 * the goal. States whose time from the start and whose heuristic bound together reach the limit are
 * pruned, so that states are few while the limit is tight.
 */
#ifndef VBS_PLAN_SEARCH_STATE_SEARCH_H
#define VBS_PLAN_SEARCH_STATE_SEARCH_H

#include "plan/search/heuristic.h"
#include "plan/search/states.h"

struct vbs_state_search {
    struct vbs_states states; /* the start is state 0 */
    int64_t *togo;            /* [states.n] ticks to the goal; VBS_NEVER_TICKS: the limit is reached
                                 before */
    int64_t start_ticks;      /* ticks of the start; a lower bound where no path was found */
    int goal;                 /* index of the goal */
};

struct vbs_search_limits {
    int64_t below_ticks; /* paths that take as many ticks or more are pruned */
    int max_states;      /* with more, the search ends as VBS_FOUND_OUT */
    double until;        /* a moment of vbs_search_now */
    /*
     * Beam search: of the states with the same progress only beam_width are expanded, first those
     * in kept and then those with the least bounds; 0: all. The result is then a schedule without
     * any proof. kept has the states of a known path, so that the beam cannot end altogether in
     * states from which no step fits.
     */
    int beam_width;
    const struct vbs_states *kept;
};

enum vbs_found {
    VBS_FOUND,
    VBS_FOUND_NONE, /* no path takes less than below_ticks (in the beam) */
    VBS_FOUND_OUT,  /* the states or the time ran out: nothing is proven */
};

/* Searches from start to goal in the lattice of the heuristic; null: no sample begun, all samples
 * done. *search is cleared, except for start_ticks, unless *found is VBS_FOUND. VBS_NO_MEMORY,
 * VBS_INTERRUPTED. O(states x steps out of a state). */
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

/* Gives the bytes that a search takes. */
size_t vbs_search_bytes(const struct vbs_state_search *search);

#endif
