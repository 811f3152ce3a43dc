/*
 * What is known of the optimum of a request at any budget: searches add to it, and what one found
 * serves other budgets too. Part of optimal.
 */
#ifndef VBS_PLAN_SEARCH_KNOWN_H
#define VBS_PLAN_SEARCH_KNOWN_H

#include "plan/problem/problem.h"

/* What a search found at the budget high_bytes: a bound for all up to it, and a schedule (unless
 * best_ticks is VBS_NEVER_TICKS) for all from low_bytes on. */
struct vbs_fact {
    int64_t low_bytes, high_bytes;
    int64_t best_ticks, bound_ticks;
    double limit; /* how long the search might take */
    struct vbs_step_list steps;
};

/* The best of all facts for a budget; steps belong to a fact, null: none. */
struct vbs_known {
    int64_t best_ticks, bound_ticks;
    const struct vbs_step_list *steps;
    double searched; /* how long a search at this very budget might take, in its clock; 0: there was
                        none */
};

/* Requests of one size; the whole request, or the chunks of a size when latency is bounded. */
struct vbs_chunk {
    struct vbs_task task; /* shares the arena of the solver's task */
    struct vbs_pareto_set cuttings;
    int n_facts;
    int64_t capacity;
    struct vbs_fact *facts;
    int64_t least_bytes;
    size_t search_bytes; /* the most that a search held */
};

void vbs_chunk_clear(struct vbs_chunk *chunk);

/* What is known of a budget after a search of at most limit; schedules of below_ticks and more do
 * not count. positions may be null (vbs_prove). Valid until the next call. */
enum vbs_status vbs_chunk_search(struct vbs_ctx *ctx, struct vbs_chunk *chunk,
                                 const struct vbs_order_ideals *ideals, int64_t memory_bytes,
                                 double limit, int64_t below_ticks,
                                 struct vbs_known *known) VBS_MUST_CHECK;

/* The least budget, up to high, at which every layer has a schedule of its own: no schedule of the
 * task fits a smaller one. O(log high x layers x request x batches). */
enum vbs_status vbs_least_by_layers(struct vbs_ctx *ctx, const struct vbs_task *task, int64_t high,
                                    int64_t *least_bytes) VBS_MUST_CHECK;

/* Lowers least_bytes from that of the cuttings while a search of limit finds a schedule. */
enum vbs_status vbs_chunk_find_least(struct vbs_ctx *ctx, struct vbs_chunk *chunk,
                                     const struct vbs_order_ideals *ideals,
                                     double limit) VBS_MUST_CHECK;

#endif
