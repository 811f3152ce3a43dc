/*
 * Candidates: lists of steps whose layers and batches are fixed before the budget is known, so that
 * a planner chooses only the algorithms. fbs, fbs-best and greedy-vbs choose among candidates.
 */
#ifndef VBS_PLAN_UNIFORM_FIXED_H
#define VBS_PLAN_UNIFORM_FIXED_H

#include "plan/problem/problem.h"

#include <stdbool.h>

struct vbs_fixed_step {
    int layer, batch;
    int64_t base_bytes; /* memory during the step without its workspace */
};

struct vbs_fixed {
    int64_t n_steps;
    struct vbs_fixed_step *steps;
    int64_t least_bytes; /* the budget from which every step has an algorithm */
    int64_t capacity;
};

/* Appends a step. least_bytes becomes at least the bytes of the step with its smallest workspace.
 * VBS_NO_MEMORY. */
enum vbs_status vbs_fixed_add(struct vbs_ctx *ctx, const struct vbs_task *task,
                              struct vbs_fixed *fixed, int layer, int batch,
                              int64_t base_bytes) VBS_MUST_CHECK;
void vbs_fixed_clear(struct vbs_fixed *fixed);

/* Calls visit for each of the batches in which a request runs with at most batch samples at once:
 * batch as often as possible, then for the remaining samples the largest batches of the profile. */
enum vbs_status vbs_fixed_chunks(struct vbs_ctx *ctx, const struct vbs_task *task, int batch,
                                 enum vbs_status (*visit)(struct vbs_ctx *ctx, void *self,
                                                          int chunk),
                                 void *self) VBS_MUST_CHECK;

/* Sums the times of the steps in their order, each with the fastest algorithm that fits; HUGE_VAL
 * where no algorithm of a step fits. A larger budget never leads to a larger sum: rounded sums of
 * smaller times are not larger. */
double vbs_fixed_us(const struct vbs_task *task, const struct vbs_fixed *fixed,
                    int64_t memory_bytes);

/* Appends the steps with these algorithms to the draft; draft->reserved_bytes becomes at least the
 * bytes that they need. The candidate must fit. VBS_NO_MEMORY. */
enum vbs_status vbs_fixed_emit(struct vbs_ctx *ctx, const struct vbs_task *task,
                               const struct vbs_fixed *fixed, int64_t memory_bytes,
                               struct vbs_draft *draft) VBS_MUST_CHECK;

/* Gives whether the candidate, which must fit, keeps the latency bound; begins_chunk is true of the
 * first step of each chunk. */
bool vbs_fixed_in_time(const struct vbs_task *task, const struct vbs_fixed *fixed,
                       int64_t memory_bytes,
                       bool (*begins_chunk)(const struct vbs_fixed_step *step));

/* Gives the least budget at which the candidate fits and keeps the latency bound; INT64_MAX: no
 * budget. O(steps x algorithms), 63 times where a latency binds. */
int64_t vbs_fixed_least_bytes(const struct vbs_task *task, const struct vbs_fixed *fixed,
                              bool (*begins_chunk)(const struct vbs_fixed_step *step));

/* Adds the candidate to an explanation, as a choice of batch. O(steps x algorithms), 63 times where
 * a latency binds. VBS_NO_MEMORY, VBS_USAGE. */
enum vbs_status vbs_fixed_explain(
    struct vbs_reasons *reasons, const struct vbs_fixed *fixed, int batch, int64_t memory_bytes,
    bool (*begins_chunk)(const struct vbs_fixed_step *step)) VBS_MUST_CHECK;

/* Gives the bytes of the candidates. */
size_t vbs_fixed_bytes(const struct vbs_fixed *candidates, int n_candidates);

/* Appends every budget at which one of the candidates may change its algorithms to *bytes. */
enum vbs_status vbs_fixed_thresholds(struct vbs_ctx *ctx, const struct vbs_task *task,
                                     const struct vbs_fixed *candidates, int n_candidates,
                                     int64_t **bytes, int *n) VBS_MUST_CHECK;

#endif
