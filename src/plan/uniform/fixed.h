/*
 * Candidates: lists of steps whose layers and batches are fixed before the budget is known, so that
 * only the algorithms are left to choose. What fbs, fbs-best and greedy-vbs are made of.
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

/* Appends a step and raises least_bytes by what it needs with its smallest workspace. */
enum vbs_status vbs_fixed_add(struct vbs_ctx *ctx, const struct vbs_task *task,
                              struct vbs_fixed *fixed, int layer, int batch,
                              int64_t base_bytes) VBS_MUST_CHECK;
void vbs_fixed_clear(struct vbs_fixed *fixed);

/* The batches in which a request is run with at most batch samples at once: batch as often as it
 * goes, then the largest batches of the profile that the rest takes. Calls visit for each. */
enum vbs_status vbs_fixed_chunks(struct vbs_ctx *ctx, const struct vbs_task *task, int batch,
                                 enum vbs_status (*visit)(struct vbs_ctx *ctx, void *self,
                                                          int chunk),
                                 void *self) VBS_MUST_CHECK;

/* Sum over the steps in their order, each with its fastest algorithm that fits; HUGE_VAL when one
 * has none. Never rises with the budget: rounded sums of smaller times are not larger. */
double vbs_fixed_us(const struct vbs_task *task, const struct vbs_fixed *fixed,
                    int64_t memory_bytes);

/* Appends those steps; draft->reserved_bytes is raised to what they need. The candidate must fit.
 */
enum vbs_status vbs_fixed_emit(struct vbs_ctx *ctx, const struct vbs_task *task,
                               const struct vbs_fixed *fixed, int64_t memory_bytes,
                               struct vbs_draft *draft) VBS_MUST_CHECK;

/* True when the candidate, which must fit, keeps the latency bound; begins_chunk tells the first
 * step of a chunk. */
bool vbs_fixed_in_time(const struct vbs_task *task, const struct vbs_fixed *fixed,
                       int64_t memory_bytes,
                       bool (*begins_chunk)(const struct vbs_fixed_step *step));

/* The least budget at which the candidate fits and keeps the latency bound, INT64_MAX: none.
 * O(steps x algorithms), 63 times where a latency binds. */
int64_t vbs_fixed_least_bytes(const struct vbs_task *task, const struct vbs_fixed *fixed,
                              bool (*begins_chunk)(const struct vbs_fixed_step *step));

/* Memory that candidates take. */
size_t vbs_fixed_bytes(const struct vbs_fixed *candidates, int n_candidates);

/* Appends every budget at which one of the candidates may change its algorithms to *bytes. */
enum vbs_status vbs_fixed_thresholds(struct vbs_ctx *ctx, const struct vbs_task *task,
                                     const struct vbs_fixed *candidates, int n_candidates,
                                     int64_t **bytes, int *n) VBS_MUST_CHECK;

#endif
