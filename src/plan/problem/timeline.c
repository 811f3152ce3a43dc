#include "plan/problem/timeline.h"

#include "plan/problem/lattice.h"
#include "plan/problem/slices.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

/* Packed weights of a layer that are there. */
struct loaded_block {
    struct loaded_block *next;
    int format;
    int64_t first, end;
    double ready_us;
};

struct clocks_walk {
    const struct vbs_task *task;
    struct vbs_walk walk;
    struct vbs_arena arena;
    struct loaded_block **loaded; /* [0..n] of each layer */
    int64_t weight_bytes;         /* of all that is there */
    double compute_us, copy_us;   /* the clocks */
    int64_t chunk_ticks;          /* since the chunk began */
    double chunk_us;              /* likewise */
};

static enum vbs_status load(struct vbs_ctx *ctx, struct clocks_walk *line,
                            const struct vbs_step *step, struct vbs_timeline *timeline)
{
    struct loaded_block *block = vbs_arena_alloc(&line->arena, 1, sizeof *block);
    const struct vbs_profile_layer *layer = &line->task->profile->layers[step->layer];
    int64_t weight_bytes = vbs_profile_format_bytes(line->task->profile, step->layer, step->format);

    if (!block)
        return vbs_no_memory(ctx);
    block->format = step->format;
    vbs_slice_bytes(layer, weight_bytes, step->slice, step->n_slices, &block->first, &block->end);
    line->weight_bytes += step->bytes;
    if (step->resident) {
        timeline->resident_bytes += step->bytes;
    } else {
        double time_us = vbs_task_copy_us(line->task, step->bytes);

        line->copy_us = fmax(line->copy_us, line->compute_us) + time_us;
        block->ready_us = line->copy_us;
        timeline->copy_us += time_us;
        timeline->copied_bytes += step->bytes;
    }
    block->next = line->loaded[step->layer];
    line->loaded[step->layer] = block;
    return VBS_OK;
}

static void drop(struct clocks_walk *line, const struct vbs_step *step)
{
    const struct vbs_profile_layer *layer = &line->task->profile->layers[step->layer];
    int64_t weight_bytes = vbs_profile_format_bytes(line->task->profile, step->layer, step->format);
    int64_t first, end;

    vbs_slice_bytes(layer, weight_bytes, step->slice, step->n_slices, &first, &end);
    for (struct loaded_block **at = &line->loaded[step->layer]; *at; at = &(*at)->next)
        if ((*at)->format == step->format && (*at)->first == first) {
            *at = (*at)->next;
            line->weight_bytes -= step->bytes;
            return;
        }
}

/* When the weights that a step reads are there. */
static double ready_us(const struct clocks_walk *line, const struct vbs_step *step,
                       const struct vbs_profile_row *row)
{
    const struct vbs_profile_layer *layer = &line->task->profile->layers[step->layer];
    int64_t first, end;
    double ready = 0;

    if (row->weight_bytes == 0)
        return 0;
    vbs_slice_bytes(layer, row->weight_bytes, step->slice, step->n_slices, &first, &end);
    for (const struct loaded_block *at = line->loaded[step->layer]; at; at = at->next)
        if (at->format == row->format && at->first < end && at->end > first && at->ready_us > ready)
            ready = at->ready_us;
    return ready;
}

/* The chunk's time up to now; where steps may wait ticks cannot be added up. */
static void judge_latency(struct clocks_walk *line, struct vbs_timeline *timeline)
{
    if (line->task->problem.weights == VBS_WEIGHTS_INCLUDED)
        line->chunk_ticks = vbs_task_ticks(line->task, line->chunk_us);
    if (line->chunk_ticks > timeline->latency_ticks)
        timeline->latency_ticks = line->chunk_ticks;
    if (line->chunk_us > timeline->latency_us)
        timeline->latency_us = line->chunk_us;
    if (vbs_walk_between_chunks(&line->walk)) {
        line->chunk_ticks = 0;
        line->chunk_us = 0;
    }
}

static enum vbs_status compute(struct vbs_ctx *ctx, struct clocks_walk *line,
                               const struct vbs_step *step, struct vbs_timeline *timeline)
{
    const struct vbs_profile_row *row = vbs_task_step_row(line->task, step);
    double time_us =
        vbs_slice_us(&line->task->profile->layers[step->layer], row, step->slice, step->n_slices);
    double ready = line->compute_us, wait_us;
    int64_t bytes = 0;
    enum vbs_status status = vbs_walk_slice(ctx, &line->walk, step, &bytes);

    if (status != VBS_OK)
        return status;
    bytes += row->ws_bytes + line->weight_bytes;
    if (bytes > timeline->peak_bytes) {
        timeline->peak_bytes = bytes;
        timeline->peak_step = *step;
    }
    if (line->task->problem.weights == VBS_WEIGHTS_INCLUDED)
        ready = fmax(ready, ready_us(line, step, row));
    wait_us = ready - line->compute_us;
    line->compute_us = ready + time_us;
    line->chunk_us += wait_us + time_us;
    line->chunk_ticks += vbs_task_ticks(line->task, time_us);
    judge_latency(line, timeline);
    return VBS_OK;
}

static enum vbs_status transfer(struct vbs_ctx *ctx, struct clocks_walk *line,
                                const struct vbs_step *step, struct vbs_timeline *timeline)
{
    enum vbs_status status = VBS_OK;

    if (step->op == VBS_STEP_LOAD)
        status = load(ctx, line, step, timeline);
    else
        drop(line, step);
    if (line->walk.live_bytes + line->weight_bytes > timeline->peak_bytes) {
        timeline->peak_bytes = line->walk.live_bytes + line->weight_bytes;
        timeline->peak_step = *step;
    }
    return status;
}

enum vbs_status vbs_timeline_find(struct vbs_ctx *ctx, const struct vbs_task *task,
                                  const struct vbs_step_list *steps, struct vbs_timeline *timeline)
{
    struct clocks_walk line = {.task = task};
    enum vbs_status status = vbs_walk_init(ctx, &line.walk, task);

    if (status != VBS_OK)
        return status;
    line.loaded = vbs_arena_alloc(&line.arena, (size_t)task->n_layers + 1, sizeof *line.loaded);
    status = line.loaded ? VBS_OK : vbs_no_memory(ctx);
    *timeline = (struct vbs_timeline){.peak_step = steps->steps[0]};
    for (int64_t s = 0; status == VBS_OK && s < steps->n_steps; s++)
        status = steps->steps[s].op == VBS_STEP_COMPUTE
                     ? compute(ctx, &line, &steps->steps[s], timeline)
                     : transfer(ctx, &line, &steps->steps[s], timeline);
    timeline->time_us = fmax(line.compute_us, line.copy_us);
    vbs_arena_clear(&line.arena);
    vbs_walk_clear(&line.walk);
    return status;
}
