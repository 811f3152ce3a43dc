/*
 * Answers: what a planner that solves for all budgets at once keeps of its solution, one schedule
 * for every budget at which the least time falls.
 */
#ifndef VBS_PLAN_PROBLEM_PARETO_H
#define VBS_PLAN_PROBLEM_PARETO_H

#include "plan/problem/planner.h"

struct vbs_answer {
    int64_t bytes; /* from this budget on */
    double time_us;
    int64_t n_steps;
    const struct vbs_step *steps;
};

struct vbs_answers {
    const struct vbs_task *task;
    int n, capacity;
    struct vbs_answer *list; /* bytes rise, times fall strictly */
    struct vbs_arena arena;
    size_t solving_bytes; /* what a solve took at most beside the answers */
};

/* Offers a schedule for budgets from bytes on; steps are copied. It is kept when it is faster than
 * those that need no more, by more than VBS_TIME_NOISE: ticks tell times apart that, added up as
 * people see them, are equal or even the other way round by the last bit, and a larger budget must
 * not plan slower. Those that it beats are dropped. */
enum vbs_status vbs_answers_offer(struct vbs_ctx *ctx, struct vbs_answers *answers, int64_t bytes,
                                  const struct vbs_step_list *steps) VBS_MUST_CHECK;
/* The same for a schedule whose time is known to be another than the sum of its steps. */
enum vbs_status vbs_answers_offer_timed(struct vbs_ctx *ctx, struct vbs_answers *answers,
                                        int64_t bytes, double time_us,
                                        const struct vbs_step_list *steps) VBS_MUST_CHECK;
/* Whether a schedule of that time would be kept. */
bool vbs_answers_want(const struct vbs_answers *answers, int64_t bytes, double time_us);
void vbs_answers_clear(struct vbs_answers *answers);

/* Functions of struct vbs_planner for a planner whose self begins with a struct vbs_answers. */
enum vbs_status vbs_answers_plan(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                                 struct vbs_draft *draft) VBS_MUST_CHECK;
int64_t vbs_answers_least_bytes(const void *self);
size_t vbs_answers_peak_bytes(const void *self);
enum vbs_status vbs_answers_thresholds(struct vbs_ctx *ctx, const void *self, int64_t **bytes,
                                       int *n) VBS_MUST_CHECK;
void vbs_answers_close(void *self);

#endif
