/*
 * Collecting schedules with transfers: for whom budgets are tried one after the other.
 */
#ifndef VBS_PLAN_WEIGHTS_TRIAL_H
#define VBS_PLAN_WEIGHTS_TRIAL_H

#include "plan/problem/pareto.h"
#include "plan/weights/stream.h"

/* Plans stream within memory_bytes and offers what comes out, from its exact peak on, unless it is
 * beaten or answers too late. What is infeasible is passed over. Errors as vbs_stream_plan. */
enum vbs_status vbs_collect(struct vbs_ctx *ctx, const struct vbs_stream *stream,
                            const struct vbs_stream_rule *rule, int64_t memory_bytes,
                            struct vbs_answers *answers) VBS_MUST_CHECK;

/* Offers any schedule of the task. */
enum vbs_status vbs_collect_steps(struct vbs_ctx *ctx, int64_t bytes,
                                  const struct vbs_step_list *steps,
                                  struct vbs_answers *answers) VBS_MUST_CHECK;

/* Budgets to try, ascending, each once. */
struct vbs_budgets {
    int n, capacity;
    int64_t *bytes;
};

enum vbs_status vbs_budgets_add(struct vbs_ctx *ctx, struct vbs_budgets *budgets,
                                int64_t bytes) VBS_MUST_CHECK;
/* 16 in each octave between the ends, round ones: multiples of a 16th of a power of two, which all
 * even MiB below 64 are; and both ends. */
enum vbs_status vbs_budgets_add_grid(struct vbs_ctx *ctx, struct vbs_budgets *budgets,
                                     int64_t from_bytes, int64_t to_bytes) VBS_MUST_CHECK;
void vbs_budgets_sort(struct vbs_budgets *budgets);
void vbs_budgets_clear(struct vbs_budgets *budgets);

/* The row of layer at batch with the least time of computing and then copying its weights, among
 * those that fit with a part's weights: base_bytes + ws + weights / parts <= memory_bytes, parts
 * being as many as the row allows where divides, else 1. Null when none fits. */
const struct vbs_profile_row *vbs_collect_row(const struct vbs_task *task, int layer, int batch,
                                              int64_t base_bytes, int64_t memory_bytes,
                                              bool divides);

/* The largest batch of the profile that is at most limit. */
int vbs_collect_batch(const struct vbs_task *task, int limit);

#endif
