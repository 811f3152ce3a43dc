/*
 * The optimum at one budget: search in the lattice, proof, and where time is out a proven gap.
 */
#ifndef VBS_PLAN_SEARCH_PROVE_H
#define VBS_PLAN_SEARCH_PROVE_H

#include "plan/problem/problem.h"

struct vbs_proof {
    int64_t best_ticks;  /* of steps; VBS_NEVER_TICKS: none is known */
    int64_t bound_ticks; /* no schedule takes less; VBS_NEVER_TICKS: there is none */
    struct vbs_step_list steps;
    size_t peak_bytes; /* of the search */
};

/* How long to search. */
struct vbs_prove_limits {
    int first_states; /* of the searches of the first round; 0: a good many, for few layers all */
    double until;     /* of vbs_search_now */
    int64_t below_ticks; /* schedules that take this or more are of no interest */
    /* Schedules for this and smaller budgets that may be near the optimum too; null: none. */
    const struct vbs_pareto_set *seeds;
};

/*
 * Improves *proof, which has the best steps known so far (or none, with VBS_NEVER_TICKS) and a
 * bound (0 at least), until both meet or time is out. positions are those of the task; null where
 * they could not be listed: then only each layer's own bound is used. The caller clears
 * proof->steps.
 */
enum vbs_status vbs_prove(struct vbs_ctx *ctx, const struct vbs_task *task,
                          const struct vbs_order_ideals *ideals, int64_t memory_bytes,
                          const struct vbs_prove_limits *limits,
                          struct vbs_proof *proof) VBS_MUST_CHECK;

#endif
