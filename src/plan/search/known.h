/*
 * Bounds and schedules of a request that the searches of the planner optimal have found so far. The
 * result of one search holds for other budgets too.
 */
#ifndef VBS_PLAN_SEARCH_KNOWN_H
#define VBS_PLAN_SEARCH_KNOWN_H

#include "plan/problem/problem.h"

/* The result of a search at the budget high_bytes: a lower bound for all budgets up to it, and a
 * schedule (unless best_ticks is VBS_NEVER_TICKS) for all budgets from low_bytes on. */
struct vbs_fact {
    int64_t low_bytes, high_bytes;
    int64_t best_ticks, bound_ticks;
    double limit;                /* time limit of the search, in its clock */
    int64_t n_states;            /* that the search expanded */
    int n_groups, largest_group; /* see struct vbs_proof */
    struct vbs_step_list steps;
};

/* The best bound and schedule of all facts for a budget. steps belongs to a fact; null: there is
 * none. */
struct vbs_known {
    int64_t best_ticks, bound_ticks;
    const struct vbs_step_list *steps;
    double searched;  /* time limit of the search at this very budget, in its clock; 0: none */
    int64_t n_states; /* of all searches at this very budget */
    int n_groups, largest_group; /* of the latest of them; 0: there was none */
};

/* A request of one size: the whole request or, when the latency is bounded, a chunk of it. */
struct vbs_chunk {
    struct vbs_task task; /* shares the arena of the solver's task */
    struct vbs_pareto_set cuttings;
    int n_facts;
    int64_t capacity;
    struct vbs_fact *facts;
    int64_t least_bytes;
    size_t search_bytes; /* the largest memory that a search held */
};

void vbs_chunk_clear(struct vbs_chunk *chunk);

/* Searches at a budget for at most limit and gives the best bound and schedule for it. Schedules
 * that take below_ticks or more do not count. ideals may be null, as for vbs_prove. *known is valid
 * until the next call. */
enum vbs_status vbs_chunk_search(struct vbs_ctx *ctx, struct vbs_chunk *chunk,
                                 const struct vbs_order_ideals *ideals, int64_t memory_bytes,
                                 double limit, int64_t below_ticks,
                                 struct vbs_known *known) VBS_MUST_CHECK;

/* Gives what is known for a budget without a search. */
struct vbs_known vbs_chunk_known(const struct vbs_chunk *chunk, int64_t memory_bytes);

/* Computes the least budget, at most high, at which each layer by itself has a schedule. No
 * schedule of the task fits a smaller budget. O(log high x layers x request x batches). */
enum vbs_status vbs_least_by_layers(struct vbs_ctx *ctx, const struct vbs_task *task, int64_t high,
                                    int64_t *least_bytes) VBS_MUST_CHECK;

/* Lowers chunk->least_bytes, which begins at the least budget of the guillotine cuttings, as long
 * as searches of at most limit find a schedule. */
enum vbs_status vbs_chunk_find_least(struct vbs_ctx *ctx, struct vbs_chunk *chunk,
                                     const struct vbs_order_ideals *ideals,
                                     double limit) VBS_MUST_CHECK;

#endif
