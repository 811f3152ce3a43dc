#include "plan/weights/trial.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

static bool bounded(const struct vbs_task *task)
{
    return task->latency_ticks != INT64_MAX;
}

enum vbs_status vbs_collect_steps(struct vbs_ctx *ctx, int64_t bytes,
                                  const struct vbs_step_list *steps, struct vbs_answers *answers)
{
    struct vbs_walked walked;
    enum vbs_status status = vbs_walk_all(ctx, answers->task, steps, &walked);

    if (status != VBS_OK || walked.latency_ticks > answers->task->latency_ticks)
        return status;
    return vbs_answers_offer_timed(ctx, answers, bytes, walked.time_us, steps);
}

enum vbs_status vbs_collect(struct vbs_ctx *ctx, const struct vbs_stream *stream,
                            const struct vbs_stream_rule *rule, int64_t memory_bytes,
                            struct vbs_answers *answers)
{
    struct vbs_streamed streamed;
    struct vbs_step_list steps = {0};
    enum vbs_status status;

    if (memory_bytes < stream->least_bytes ||
        !vbs_answers_want(answers, memory_bytes, stream->compute_us))
        return VBS_OK;
    if (vbs_cancelled(ctx))
        return vbs_fail(ctx, VBS_INTERRUPTED, "interrupted");
    status = vbs_stream_plan(ctx, stream, rule, memory_bytes, &streamed, NULL);
    if (status == VBS_INFEASIBLE)
        return VBS_OK;
    if (status != VBS_OK || !vbs_answers_want(answers, streamed.peak_bytes, streamed.time_us))
        return status;
    status = vbs_stream_plan(ctx, stream, rule, memory_bytes, &streamed, &steps);
    if (status == VBS_OK)
        status = bounded(stream->task)
                     ? vbs_collect_steps(ctx, streamed.peak_bytes, &steps, answers)
                     : vbs_answers_offer_timed(ctx, answers, streamed.peak_bytes, streamed.time_us,
                                               &steps);
    vbs_step_list_clear(&steps);
    return status;
}

enum vbs_status vbs_budgets_add(struct vbs_ctx *ctx, struct vbs_budgets *budgets, int64_t bytes)
{
    if (budgets->n == budgets->capacity) {
        int capacity = budgets->capacity ? 2 * budgets->capacity : 64;
        int64_t *grown = realloc(budgets->bytes, (size_t)capacity * sizeof *grown);

        if (!grown)
            return vbs_no_memory(ctx);
        budgets->bytes = grown;
        budgets->capacity = capacity;
    }
    budgets->bytes[budgets->n++] = bytes;
    return VBS_OK;
}

enum vbs_status vbs_budgets_add_grid(struct vbs_ctx *ctx, struct vbs_budgets *budgets,
                                     int64_t from_bytes, int64_t to_bytes)
{
    enum vbs_status status = vbs_budgets_add(ctx, budgets, from_bytes);
    int64_t at = from_bytes;

    while (status == VBS_OK && at < to_bytes) {
        int64_t step = 1;

        while (step <= at / 32)
            step *= 2;
        at = (at / step + 1) * step;
        status = vbs_budgets_add(ctx, budgets, at < to_bytes ? at : to_bytes);
    }
    return status;
}

static int by_bytes(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

void vbs_budgets_sort(struct vbs_budgets *budgets)
{
    int n = 0;

    if (budgets->n > 0)
        qsort(budgets->bytes, (size_t)budgets->n, sizeof *budgets->bytes, by_bytes);
    for (int i = 0; i < budgets->n; i++)
        if (n == 0 || budgets->bytes[i] != budgets->bytes[n - 1])
            budgets->bytes[n++] = budgets->bytes[i];
    budgets->n = n;
}

void vbs_budgets_clear(struct vbs_budgets *budgets)
{
    free(budgets->bytes);
    *budgets = (struct vbs_budgets){0};
}

/* What a row's weights take in a step at least. */
static int64_t least_piece(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row,
                           bool divides)
{
    if (!divides || row->weight_bytes == 0)
        return row->weight_bytes;
    return vbs_part_largest(layer, row->weight_bytes, vbs_row_most_parts(layer, row));
}

const struct vbs_profile_row *vbs_collect_row(const struct vbs_task *task, int layer, int batch,
                                              int64_t base_bytes, int64_t memory_bytes,
                                              bool divides)
{
    const struct vbs_profile_row *best = NULL;
    double best_us = HUGE_VAL;
    int n_rows;
    const struct vbs_profile_row *rows =
        vbs_profile_rows(task->profile, layer, task->batch_index[batch], &n_rows);

    for (int a = 0; a < n_rows; a++) {
        int64_t piece = least_piece(&task->profile->layers[layer], &rows[a], divides);
        double us = rows[a].time_us;

        if (rows[a].weight_bytes > 0 && task->problem.copy.bytes_per_us > 0)
            us += vbs_task_copy_us(task, rows[a].weight_bytes);
        if (base_bytes + rows[a].ws_bytes + piece <= memory_bytes && us < best_us) {
            best = &rows[a];
            best_us = us;
        }
    }
    return best;
}

int vbs_collect_batch(const struct vbs_task *task, int limit)
{
    while (task->batch_index[limit] < 0)
        limit--;
    return limit;
}
