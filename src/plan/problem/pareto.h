/*
 * Answers: what a planner that solves for all budgets at once keeps of its solution, one schedule
 * for every budget at which the least time falls.
 */
#ifndef VBS_PLAN_PROBLEM_PARETO_H
#define VBS_PLAN_PROBLEM_PARETO_H

#include "plan/problem/planner.h"

struct vbs_pareto_plan {
    int64_t bytes; /* from this budget on */
    double time_us;
    int64_t n_steps;
    const struct vbs_step *steps;
};

struct vbs_pareto_set {
    const struct vbs_task *task;
    int n;
    int64_t capacity;
    struct vbs_pareto_plan *list; /* bytes rise, times fall strictly */
    struct vbs_arena arena;
    size_t solving_bytes; /* what a solve took at most beside the answers */
    bool interrupted;     /* more schedules would have been tried */
};

/* Offers a schedule for budgets from bytes on; steps are copied. It is kept when it is faster than
 * those that need no more, by more than VBS_TIME_NOISE: ticks tell times apart that, added up as
 * people see them, are equal or even the other way round by the last bit, and a larger budget must
 * not plan slower. Those that it beats are dropped. */
enum vbs_status vbs_pareto_offer(struct vbs_ctx *ctx, struct vbs_pareto_set *pareto, int64_t bytes,
                                 const struct vbs_step_list *steps) VBS_MUST_CHECK;
/* The same for a schedule whose time is known to be another than the sum of its steps. */
enum vbs_status vbs_pareto_offer_timed(struct vbs_ctx *ctx, struct vbs_pareto_set *pareto,
                                       int64_t bytes, double time_us,
                                       const struct vbs_step_list *steps) VBS_MUST_CHECK;
/* Whether a schedule of that time would be kept. */
bool vbs_pareto_wants(const struct vbs_pareto_set *pareto, int64_t bytes, double time_us);
void vbs_pareto_clear(struct vbs_pareto_set *pareto);

/* Functions of struct vbs_planner for a planner whose self begins with a struct vbs_pareto_set. */
enum vbs_status vbs_pareto_plan_within(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                                       struct vbs_draft *draft) VBS_MUST_CHECK;
int64_t vbs_pareto_least_bytes(const void *self);
size_t vbs_pareto_peak_bytes(const void *self);
enum vbs_status vbs_pareto_thresholds(struct vbs_ctx *ctx, const void *self, int64_t **bytes,
                                      int *n) VBS_MUST_CHECK;
void vbs_pareto_close(void *self);

#endif
