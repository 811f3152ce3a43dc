/*
 * Trials: planners with transfers try one budget after the other and offer each schedule to a
 * Pareto set.
 */
#ifndef VBS_PLAN_WEIGHTS_TRIAL_H
#define VBS_PLAN_WEIGHTS_TRIAL_H

#include "plan/problem/problem.h"
#include "plan/weights/stream.h"

/* Largest blocks of a stream for which memory is kept free in the trials of a search. */
#define VBS_MOST_RESERVES 4

/* Gives the number of them that is tried next: 0, 1, 2, 4, ... */
static inline int vbs_more_reserves(int reserves)
{
    return reserves ? 2 * reserves : 1;
}

/* Plans stream within memory_bytes and offers the schedule, from its exact peak on, unless it is
 * dominated or exceeds the latency. An infeasible budget is no error. Fails otherwise as
 * vbs_stream_plan does. */
enum vbs_status vbs_trial_stream(struct vbs_ctx *ctx, const struct vbs_stream *stream,
                                 const struct vbs_stream_rule *rule, int64_t memory_bytes,
                                 struct vbs_pareto_set *pareto) VBS_MUST_CHECK;

/* Offers schedules of stream within memory_bytes that keep other gaps, found by a local search: in
 * each round the gaps whose loads steps waited for come first. Memory for prefetching is reserved
 * in multiples of the stream's largest block. *time_us, unless it is null, gets the time of the
 * best schedule found, or HUGE_VAL. Errors as of vbs_trial_stream.
 * O(rounds x (visits + steps) log steps). */
enum vbs_status vbs_trial_search(struct vbs_ctx *ctx, const struct vbs_stream *stream,
                                 int64_t memory_bytes, struct vbs_pareto_set *pareto,
                                 double *time_us) VBS_MUST_CHECK;

/* Offers a schedule of the task from bytes on, unless it exceeds the latency. Fails as
 * vbs_timeline_find and vbs_pareto_offer do. */
enum vbs_status vbs_trial_offer(struct vbs_ctx *ctx, int64_t bytes,
                                const struct vbs_step_list *steps,
                                struct vbs_pareto_set *pareto) VBS_MUST_CHECK;

/* Gives the distance between the schedules that are made, out of n schedules in the order of their
 * bytes (vbs_pareto_is_kept). All are made where any budget may be asked for. Where there is a
 * largest budget, a long request has so many steps that only some of the schedules for smaller
 * budgets are made. */
int vbs_trial_stride(const struct vbs_task *task, int n);

/* Finds the row of layer at batch for which computing and then copying its weights takes the least
 * time, among the rows that fit with the weights of one slice: base_bytes + ws + weights / slices
 * <= memory_bytes. slices is the largest number that the row allows where divides, else 1. Null
 * when no row fits. */
const struct vbs_profile_row *vbs_trial_row(const struct vbs_task *task, int layer, int batch,
                                            int64_t base_bytes, int64_t memory_bytes, bool divides);

/* Gives the largest batch of the profile that is at most limit. */
int vbs_trial_batch(const struct vbs_task *task, int limit);

#endif
