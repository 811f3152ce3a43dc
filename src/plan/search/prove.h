/*
 * The optimum at one budget: a search in the lattice that ends with a proof or, at its time limit,
 * with a proven gap.
 */
#ifndef VBS_PLAN_SEARCH_PROVE_H
#define VBS_PLAN_SEARCH_PROVE_H

#include "plan/problem/problem.h"

struct vbs_proof {
    int64_t best_ticks;  /* of steps; VBS_NEVER_TICKS: no schedule is known */
    int64_t bound_ticks; /* no schedule takes less; VBS_NEVER_TICKS: no schedule exists */
    struct vbs_step_list steps;
    size_t peak_bytes; /* of the search */
    int n_groups;      /* of layers, at its end; 0: no group was searched */
    int largest_group; /* layers of the largest one */
};

/* The limits at which a proof ends. */
struct vbs_prove_limits {
    int first_states;    /* limit of each search of the first round; 0: the default, which suits few
                            layers */
    double until;        /* a moment of vbs_search_now */
    int64_t below_ticks; /* schedules that take as long or longer do not count */
    /* Schedules for this and smaller budgets from which the search may start; null: none. */
    const struct vbs_pareto_set *seeds;
};

/*
 * Improves *proof until its schedule meets its bound or the search reaches a limit. At the
 * beginning *proof has the best steps known so far (or none, with VBS_NEVER_TICKS) and a bound of
 * at least 0. ideals are those of the task; null where they could not be listed: then each layer's
 * own bound is the only one in use. The caller clears proof->steps. VBS_NO_MEMORY, VBS_INTERRUPTED.
 */
enum vbs_status vbs_prove(struct vbs_ctx *ctx, const struct vbs_task *task,
                          const struct vbs_order_ideals *ideals, int64_t memory_bytes,
                          const struct vbs_prove_limits *limits,
                          struct vbs_proof *proof) VBS_MUST_CHECK;

#endif
