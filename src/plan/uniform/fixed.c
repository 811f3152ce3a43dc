#include "plan/uniform/fixed.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

static int64_t smallest_ws(const struct vbs_task *task, int layer, int batch)
{
    int n_rows;
    const struct vbs_profile_row *rows =
        vbs_profile_rows(task->profile, layer, task->batch_index[batch], &n_rows);
    int64_t least = rows[0].ws_bytes;

    for (int a = 1; a < n_rows; a++)
        if (rows[a].ws_bytes < least)
            least = rows[a].ws_bytes;
    return least;
}

enum vbs_status vbs_fixed_add(struct vbs_ctx *ctx, const struct vbs_task *task,
                              struct vbs_fixed *fixed, int layer, int batch, int64_t base_bytes)
{
    int64_t need = base_bytes + smallest_ws(task, layer, batch);

    if (fixed->n_steps == VBS_MAX_STEPS)
        return vbs_fail(ctx, VBS_USAGE, "the schedule would have more than %d steps",
                        VBS_MAX_STEPS);
    if (fixed->n_steps == fixed->capacity) {
        int64_t capacity = fixed->capacity ? 2 * fixed->capacity : 64;
        struct vbs_fixed_step *steps =
            realloc(fixed->steps, (size_t)capacity * sizeof *fixed->steps);

        if (!steps)
            return vbs_no_memory(ctx);
        fixed->steps = steps;
        fixed->capacity = capacity;
    }
    fixed->steps[fixed->n_steps++] =
        (struct vbs_fixed_step){.layer = layer, .batch = batch, .base_bytes = base_bytes};
    if (need > fixed->least_bytes)
        fixed->least_bytes = need;
    return VBS_OK;
}

void vbs_fixed_clear(struct vbs_fixed *fixed)
{
    free(fixed->steps);
    *fixed = (struct vbs_fixed){0};
}

enum vbs_status vbs_fixed_chunks(struct vbs_ctx *ctx, const struct vbs_task *task, int batch,
                                 enum vbs_status (*visit)(struct vbs_ctx *ctx, void *self,
                                                          int chunk),
                                 void *self)
{
    const struct vbs_profile *profile = task->profile;
    int index = vbs_profile_batch_index(profile, batch);

    for (int left = task->request; left > 0;) {
        while (profile->batches[index] > left)
            index--; /* ends, since batches[0] is 1 */
        VBS_TRY(visit(ctx, self, profile->batches[index]));
        left -= profile->batches[index];
    }
    return VBS_OK;
}

double vbs_fixed_us(const struct vbs_task *task, const struct vbs_fixed *fixed,
                    int64_t memory_bytes)
{
    double time_us = 0;

    if (memory_bytes < fixed->least_bytes)
        return HUGE_VAL;
    for (int64_t i = 0; i < fixed->n_steps; i++) {
        const struct vbs_fixed_step *step = &fixed->steps[i];

        time_us +=
            vbs_task_row(task, step->layer, step->batch, step->base_bytes, memory_bytes)->time_us;
    }
    return time_us;
}

enum vbs_status vbs_fixed_emit(struct vbs_ctx *ctx, const struct vbs_task *task,
                               const struct vbs_fixed *fixed, int64_t memory_bytes,
                               struct vbs_draft *draft)
{
    for (int64_t i = 0; i < fixed->n_steps; i++) {
        const struct vbs_fixed_step *step = &fixed->steps[i];
        const struct vbs_profile_row *row =
            vbs_task_row(task, step->layer, step->batch, step->base_bytes, memory_bytes);

        VBS_TRY(vbs_step_list_add(ctx, &draft->steps, step->layer, step->batch, row->algorithm));
        if (step->base_bytes + row->ws_bytes > draft->reserved_bytes)
            draft->reserved_bytes = step->base_bytes + row->ws_bytes;
    }
    return VBS_OK;
}

enum vbs_status vbs_fixed_thresholds(struct vbs_ctx *ctx, const struct vbs_task *task,
                                     const struct vbs_fixed *candidates, int n_candidates,
                                     int64_t **bytes, int *n)
{
    size_t capacity = (size_t)n_candidates, count = 0;
    int64_t *list;

    for (int c = 0; c < n_candidates; c++)
        capacity += (size_t)candidates[c].n_steps * (size_t)task->profile->n_algorithms;
    list = capacity <= INT32_MAX ? malloc(capacity * sizeof *list) : NULL;
    if (!list)
        return vbs_no_memory(ctx);
    for (int c = 0; c < n_candidates; c++) {
        list[count++] = candidates[c].least_bytes;
        for (int64_t i = 0; i < candidates[c].n_steps; i++) {
            const struct vbs_fixed_step *step = &candidates[c].steps[i];
            int n_rows;
            const struct vbs_profile_row *rows = vbs_profile_rows(
                task->profile, step->layer, task->batch_index[step->batch], &n_rows);

            for (int a = 0; a < n_rows; a++)
                if (step->base_bytes + rows[a].ws_bytes >= candidates[c].least_bytes)
                    list[count++] = step->base_bytes + rows[a].ws_bytes;
        }
    }
    *bytes = list;
    *n = (int)count;
    return VBS_OK;
}

bool vbs_fixed_in_time(const struct vbs_task *task, const struct vbs_fixed *fixed,
                       int64_t memory_bytes,
                       bool (*begins_chunk)(const struct vbs_fixed_step *step))
{
    bool resident = task->problem.io == VBS_IO_RESIDENT;
    int64_t chunk_ticks = 0;

    if (task->latency_ticks == INT64_MAX)
        return true;
    for (int64_t i = 0; i < fixed->n_steps; i++) {
        const struct vbs_fixed_step *step = &fixed->steps[i];

        if (!resident && begins_chunk(step))
            chunk_ticks = 0;
        chunk_ticks += vbs_task_ticks(
            task,
            vbs_task_row(task, step->layer, step->batch, step->base_bytes, memory_bytes)->time_us);
        if (chunk_ticks > task->latency_ticks)
            return false;
    }
    return true;
}

/* A larger budget only makes steps faster, so that a candidate that keeps the latency in one budget
 * keeps it in larger ones. */
int64_t vbs_fixed_least_bytes(const struct vbs_task *task, const struct vbs_fixed *fixed,
                              bool (*begins_chunk)(const struct vbs_fixed_step *step))
{
    int64_t low = fixed->least_bytes, high = INT64_MAX;

    if (vbs_fixed_in_time(task, fixed, low, begins_chunk))
        return low;
    if (!vbs_fixed_in_time(task, fixed, high, begins_chunk))
        return INT64_MAX;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;

        if (vbs_fixed_in_time(task, fixed, middle, begins_chunk))
            high = middle;
        else
            low = middle;
    }
    return high;
}

enum vbs_status vbs_fixed_explain(struct vbs_reasons *reasons, const struct vbs_fixed *fixed,
                                  int batch, int64_t memory_bytes,
                                  bool (*begins_chunk)(const struct vbs_fixed_step *step))
{
    const struct vbs_task *task = reasons->task;
    struct vbs_candidate candidate = {.choice = VBS_CHOICE_BATCH,
                                      .at = batch,
                                      .time_us = HUGE_VAL,
                                      .least_bytes =
                                          vbs_fixed_least_bytes(task, fixed, begins_chunk),
                                      .needed_bytes = INT64_MAX};
    int64_t most = 0;

    candidate.fits = candidate.least_bytes <= memory_bytes;
    if (!candidate.fits)
        memory_bytes = candidate.least_bytes;
    for (int64_t i = 0; i < fixed->n_steps; i++) {
        const struct vbs_fixed_step *step = &fixed->steps[i];
        int64_t bytes = step->base_bytes + smallest_ws(task, step->layer, step->batch);

        if (bytes > most)
            candidate.binds = step->layer;
        most = bytes > most ? bytes : most;
    }
    if (candidate.least_bytes == INT64_MAX)
        return vbs_reasons_add(reasons, &candidate, NULL, 0);
    candidate.time_us = vbs_fixed_us(task, fixed, memory_bytes);
    candidate.needed_bytes = candidate.least_bytes;
    for (int64_t i = 0; i < fixed->n_steps; i++) {
        const struct vbs_fixed_step *step = &fixed->steps[i];
        int64_t bytes =
            step->base_bytes +
            vbs_task_row(task, step->layer, step->batch, step->base_bytes, memory_bytes)->ws_bytes;

        if (bytes > candidate.needed_bytes)
            candidate.needed_bytes = bytes;
    }
    return vbs_reasons_add(reasons, &candidate, NULL, 0);
}

size_t vbs_fixed_bytes(const struct vbs_fixed *candidates, int n_candidates)
{
    size_t bytes = (size_t)n_candidates * sizeof *candidates;

    for (int c = 0; c < n_candidates; c++)
        bytes += (size_t)candidates[c].capacity * sizeof *candidates[c].steps;
    return bytes;
}
