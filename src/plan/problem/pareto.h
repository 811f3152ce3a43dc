/*
 * Pareto sets: the result of a planner that solves for all budgets at once, one schedule for every
 * budget at which the least time falls.
 */
#ifndef VBS_PLAN_PROBLEM_PARETO_H
#define VBS_PLAN_PROBLEM_PARETO_H

#include "plan/problem/planner.h"

struct vbs_pareto_plan {
    int64_t bytes; /* the least budget of the plan */
    double time_us;
    int tag; /* of the set, when the plan was offered */
    int64_t n_steps;
    const struct vbs_step *steps;
};

struct vbs_pareto_set {
    const struct vbs_task *task;
    int n;
    int64_t capacity;
    struct vbs_pareto_plan *list; /* bytes ascend, times descend strictly */
    struct vbs_arena arena;
    size_t solving_bytes; /* the largest memory that a solve held, without the plans */
    int tag;              /* the planner's own number for the plans that it offers */
    bool has_totals_only; /* bytes, time and tag of each plan, but no steps */
    bool interrupted;     /* more schedules would have been tried */
};

/* Offers a schedule for budgets from bytes on; steps are copied. It is kept when it is faster, by
 * more than VBS_TIME_NOISE, than every plan of the set that needs no more bytes. The margin is
 * there because ticks can order two times that are equal, or ordered the other way, as sums of
 * microseconds, and a larger budget must not lead to a slower plan. Plans that the new one
 * dominates are removed; their steps stay valid as long as the set. VBS_NO_MEMORY. */
enum vbs_status vbs_pareto_offer(struct vbs_ctx *ctx, struct vbs_pareto_set *pareto, int64_t bytes,
                                 const struct vbs_step_list *steps) VBS_MUST_CHECK;
/* The same for a schedule whose time is not the sum of the times of its steps. */
enum vbs_status vbs_pareto_offer_timed(struct vbs_ctx *ctx, struct vbs_pareto_set *pareto,
                                       int64_t bytes, double time_us,
                                       const struct vbs_step_list *steps) VBS_MUST_CHECK;
/* Gives the fastest plan that needs at most bytes, which is the set's and moves with later offers;
 * null: there is none. O(log plans). */
const struct vbs_pareto_plan *vbs_pareto_within(const struct vbs_pareto_set *pareto, int64_t bytes);
/* Whether a schedule of that time would be kept. */
bool vbs_pareto_wants(const struct vbs_pareto_set *pareto, int64_t bytes, double time_us);
void vbs_pareto_clear(struct vbs_pareto_set *pareto);

/* Long requests have so many steps that only some of n plans, in the order of their bytes, are
 * made. Gives the distance between those that are: a schedule of one sample a step for each of them
 * has most_steps steps in all, but there are at least `least` of them. */
int vbs_pareto_stride(const struct vbs_task *task, int n, int64_t most_steps, int least);
/* Gives whether the plan at index i of n is one of them: the plan for the largest budget and the
 * plan for the least one always are. */
bool vbs_pareto_is_kept(int i, int n, int stride);

/* Functions of struct vbs_planner for a planner whose self begins with a struct vbs_pareto_set. */
enum vbs_status vbs_pareto_plan_within(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                                       struct vbs_draft *draft) VBS_MUST_CHECK;
int64_t vbs_pareto_least_bytes(const void *self);
size_t vbs_pareto_peak_bytes(const void *self);
enum vbs_status vbs_pareto_thresholds(struct vbs_ctx *ctx, const void *self, int64_t **bytes,
                                      int *n) VBS_MUST_CHECK;
void vbs_pareto_close(void *self);

#endif
