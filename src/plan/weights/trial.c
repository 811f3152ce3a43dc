#include "plan/weights/trial.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

/* Of schedules for smaller budgets: steps with one sample each, and schedules. */
#define MOST_STEPS      (1 << 20)
#define LEAST_SCHEDULES 16

static bool bounded(const struct vbs_task *task)
{
    return task->latency_ticks != INT64_MAX;
}

enum vbs_status vbs_trial_offer(struct vbs_ctx *ctx, int64_t bytes,
                                const struct vbs_step_list *steps, struct vbs_pareto_set *pareto)
{
    struct vbs_timeline timeline;
    enum vbs_status status = vbs_timeline_find(ctx, pareto->task, steps, &timeline);

    if (status != VBS_OK || timeline.latency_ticks > pareto->task->latency_ticks)
        return status;
    return vbs_pareto_offer_timed(ctx, pareto, bytes, timeline.time_us, steps);
}

enum vbs_status vbs_trial_stream(struct vbs_ctx *ctx, const struct vbs_stream *stream,
                                 const struct vbs_stream_rule *rule, int64_t memory_bytes,
                                 struct vbs_pareto_set *pareto)
{
    struct vbs_streamed streamed;
    struct vbs_step_list steps = {0};
    enum vbs_status status;

    if (memory_bytes < stream->least_bytes ||
        !vbs_pareto_wants(pareto, memory_bytes, stream->compute_us))
        return VBS_OK;
    if (vbs_cancelled(ctx))
        return vbs_fail(ctx, VBS_INTERRUPTED, "interrupted");
    status = vbs_stream_plan(ctx, stream, rule, memory_bytes, &streamed, NULL);
    if (status == VBS_INFEASIBLE)
        return VBS_OK;
    if (status != VBS_OK || !vbs_pareto_wants(pareto, streamed.peak_bytes, streamed.time_us))
        return status;
    if (pareto->has_totals_only)
        return vbs_pareto_offer_timed(ctx, pareto, streamed.peak_bytes, streamed.time_us, &steps);
    status = vbs_stream_plan(ctx, stream, rule, memory_bytes, &streamed, &steps);
    if (status == VBS_OK)
        status = bounded(stream->task) ? vbs_trial_offer(ctx, streamed.peak_bytes, &steps, pareto)
                                       : vbs_pareto_offer_timed(ctx, pareto, streamed.peak_bytes,
                                                                streamed.time_us, &steps);
    vbs_step_list_clear(&steps);
    return status;
}

/* Gives the least bytes of a row's weights in a step. */
static int64_t least_block(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row,
                           bool divides)
{
    if (!divides || row->weight_bytes == 0)
        return row->weight_bytes;
    return vbs_slice_largest(layer, row->weight_bytes, vbs_row_most_slices(layer, row));
}

const struct vbs_profile_row *vbs_trial_row(const struct vbs_task *task, int layer, int batch,
                                            int64_t base_bytes, int64_t memory_bytes, bool divides)
{
    const struct vbs_profile_row *best = NULL;
    double best_us = HUGE_VAL;
    int n_rows;
    const struct vbs_profile_row *rows =
        vbs_profile_rows(task->profile, layer, task->batch_index[batch], &n_rows);

    for (int a = 0; a < n_rows; a++) {
        int64_t block = least_block(&task->profile->layers[layer], &rows[a], divides);
        double us = rows[a].time_us;

        if (rows[a].weight_bytes > 0 && task->problem.copy.bytes_per_us > 0)
            us += vbs_task_copy_us(task, rows[a].weight_bytes);
        if (base_bytes + rows[a].ws_bytes + block <= memory_bytes && us < best_us) {
            best = &rows[a];
            best_us = us;
        }
    }
    return best;
}

int vbs_trial_stride(const struct vbs_task *task, int n)
{
    return task->options.most_bytes == 0 ? 1
                                         : vbs_pareto_stride(task, n, MOST_STEPS, LEAST_SCHEDULES);
}

int vbs_trial_batch(const struct vbs_task *task, int limit)
{
    while (task->batch_index[limit] < 0)
        limit--;
    return limit;
}
