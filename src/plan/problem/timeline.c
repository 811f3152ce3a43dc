#include "plan/problem/timeline.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

#define MOST_PARTS 4096 /* steps of a planned layer on one batch */

/* floor(a b / c), without overflow. */
static int64_t share(int64_t a, int64_t b, int64_t c)
{
    return (int64_t)((__int128)a * b / c);
}

void vbs_part_bytes(const struct vbs_profile_layer *layer, int64_t weight_bytes, int part,
                    int parts, int64_t *first, int64_t *end)
{
    int64_t c = layer->channels;

    if (parts <= 1) {
        *first = 0;
        *end = weight_bytes;
    } else if (c > 0) {
        *first = share(weight_bytes, share(part - 1, c, parts), c);
        *end = share(weight_bytes, share(part, c, parts), c);
    } else {
        *first = share(part - 1, weight_bytes, parts);
        *end = share(part, weight_bytes, parts);
    }
}

double vbs_part_us(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row,
                   int part, int parts)
{
    int64_t c = layer->channels;

    if (parts <= 1)
        return row->time_us;
    if (c > 0)
        return row->time_us * (double)(share(part, c, parts) - share(part - 1, c, parts)) /
               (double)c;
    return row->time_us / parts;
}

int vbs_part_limit(const struct vbs_profile_layer *layer, int64_t weight_bytes)
{
    int64_t c = layer->channels, limit = weight_bytes;

    if (c > 0 && weight_bytes > 0) /* as many as have the channels that a byte takes */
        limit = c / (c / weight_bytes + (c % weight_bytes != 0));
    return limit < 1 ? 1 : limit > MOST_PARTS ? MOST_PARTS : (int)limit;
}

int vbs_row_most_parts(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row)
{
    if (row->n_slices > 0)
        return row->n_slices;
    return vbs_profile_divisible(layer, row) ? vbs_part_limit(layer, row->weight_bytes) : 1;
}

int64_t vbs_part_largest(const struct vbs_profile_layer *layer, int64_t weight_bytes, int parts)
{
    int64_t c = layer->channels > 0 ? layer->channels : weight_bytes;
    int64_t most = c > 0 ? (c + parts - 1) / parts : 0;

    if (parts <= 1 || c == 0)
        return weight_bytes;
    return weight_bytes / c * most + (weight_bytes % c < most ? weight_bytes % c : most);
}

int vbs_parts_within(const struct vbs_profile_layer *layer, int64_t weight_bytes,
                     int64_t room_bytes)
{
    int64_t c = layer->channels > 0 ? layer->channels : weight_bytes;
    int64_t each, more, fit, parts;

    if (weight_bytes <= room_bytes)
        return 1;
    each = weight_bytes / c;
    more = weight_bytes % c; /* so many channels of a part may have a byte more, vbs_part_largest */
    fit = room_bytes / (each + (more != 0));
    if (fit >= more)
        fit = (room_bytes - more) / each;
    if (fit < 1)
        return 0;
    parts = (c + fit - 1) / fit;
    return parts <= vbs_part_limit(layer, weight_bytes) ? (int)parts : 0;
}

int vbs_row_parts_within(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row,
                         int64_t room_bytes)
{
    if (row->weight_bytes <= room_bytes)
        return 1;
    if (vbs_profile_divisible(layer, row))
        return vbs_parts_within(layer, row->weight_bytes, room_bytes);
    if (row->n_slices > 1 &&
        vbs_part_largest(layer, row->weight_bytes, row->n_slices) <= room_bytes)
        return row->n_slices;
    return 0;
}

double vbs_task_copy_us(const struct vbs_task *task, int64_t bytes)
{
    const struct vbs_link *copy = &task->problem.copy;

    return copy->bytes_per_us > 0 ? copy->latency_us + (double)bytes / copy->bytes_per_us
                                  : HUGE_VAL;
}

/* Packed weights of a layer that are there. */
struct loaded {
    struct loaded *next;
    int form;
    int64_t first, end;
    double ready_us;
};

struct timeline {
    const struct vbs_task *task;
    struct vbs_walk walk;
    struct vbs_arena arena;
    struct loaded **loaded;     /* [0..n] of each layer */
    int64_t weight_bytes;       /* of all that is there */
    double compute_us, copy_us; /* the clocks */
    int64_t chunk_ticks;        /* since the chunk began */
    double chunk_us;            /* likewise */
};

static enum vbs_status load(struct vbs_ctx *ctx, struct timeline *line, const struct vbs_step *step,
                            struct vbs_walked *walked)
{
    struct loaded *piece = vbs_arena_alloc(&line->arena, 1, sizeof *piece);
    const struct vbs_profile_layer *layer = &line->task->profile->layers[step->layer];
    int64_t weight_bytes = vbs_profile_format_bytes(line->task->profile, step->layer, step->format);

    if (!piece)
        return vbs_no_memory(ctx);
    piece->form = step->format;
    vbs_part_bytes(layer, weight_bytes, step->slice, step->n_slices, &piece->first, &piece->end);
    line->weight_bytes += step->bytes;
    if (step->resident) {
        walked->resident_bytes += step->bytes;
    } else {
        double time_us = vbs_task_copy_us(line->task, step->bytes);

        line->copy_us = fmax(line->copy_us, line->compute_us) + time_us;
        piece->ready_us = line->copy_us;
        walked->copy_us += time_us;
        walked->copied_bytes += step->bytes;
    }
    piece->next = line->loaded[step->layer];
    line->loaded[step->layer] = piece;
    return VBS_OK;
}

static void drop(struct timeline *line, const struct vbs_step *step)
{
    const struct vbs_profile_layer *layer = &line->task->profile->layers[step->layer];
    int64_t weight_bytes = vbs_profile_format_bytes(line->task->profile, step->layer, step->format);
    int64_t first, end;

    vbs_part_bytes(layer, weight_bytes, step->slice, step->n_slices, &first, &end);
    for (struct loaded **at = &line->loaded[step->layer]; *at; at = &(*at)->next)
        if ((*at)->form == step->format && (*at)->first == first) {
            *at = (*at)->next;
            line->weight_bytes -= step->bytes;
            return;
        }
}

/* When the weights that a step reads are there. */
static double ready_us(const struct timeline *line, const struct vbs_step *step,
                       const struct vbs_profile_row *row)
{
    const struct vbs_profile_layer *layer = &line->task->profile->layers[step->layer];
    int64_t first, end;
    double ready = 0;

    if (row->weight_bytes == 0)
        return 0;
    vbs_part_bytes(layer, row->weight_bytes, step->slice, step->n_slices, &first, &end);
    for (const struct loaded *at = line->loaded[step->layer]; at; at = at->next)
        if (at->form == row->format && at->first < end && at->end > first && at->ready_us > ready)
            ready = at->ready_us;
    return ready;
}

/* The chunk's time up to now; where steps may wait ticks cannot be added up. */
static void judge_latency(struct timeline *line, struct vbs_walked *walked)
{
    if (line->task->problem.weights == VBS_WEIGHTS_INCLUDED)
        line->chunk_ticks = vbs_task_ticks(line->task, line->chunk_us);
    if (line->chunk_ticks > walked->latency_ticks)
        walked->latency_ticks = line->chunk_ticks;
    if (line->chunk_us > walked->latency_us)
        walked->latency_us = line->chunk_us;
    if (vbs_walk_between_chunks(&line->walk)) {
        line->chunk_ticks = 0;
        line->chunk_us = 0;
    }
}

static enum vbs_status compute(struct vbs_ctx *ctx, struct timeline *line,
                               const struct vbs_step *step, struct vbs_walked *walked)
{
    const struct vbs_profile_row *row = vbs_task_step_row(line->task, step);
    double time_us =
        vbs_part_us(&line->task->profile->layers[step->layer], row, step->slice, step->n_slices);
    double ready = line->compute_us, wait_us;
    int64_t bytes = 0;
    enum vbs_status status = vbs_walk_part(ctx, &line->walk, step, &bytes);

    if (status != VBS_OK)
        return status;
    bytes += row->ws_bytes + line->weight_bytes;
    if (bytes > walked->peak_bytes) {
        walked->peak_bytes = bytes;
        walked->peak_step = *step;
    }
    if (line->task->problem.weights == VBS_WEIGHTS_INCLUDED)
        ready = fmax(ready, ready_us(line, step, row));
    wait_us = ready - line->compute_us;
    line->compute_us = ready + time_us;
    line->chunk_us += wait_us + time_us;
    line->chunk_ticks += vbs_task_ticks(line->task, time_us);
    judge_latency(line, walked);
    return VBS_OK;
}

static enum vbs_status transfer(struct vbs_ctx *ctx, struct timeline *line,
                                const struct vbs_step *step, struct vbs_walked *walked)
{
    enum vbs_status status = VBS_OK;

    if (step->op == VBS_STEP_LOAD)
        status = load(ctx, line, step, walked);
    else
        drop(line, step);
    if (line->walk.live_bytes + line->weight_bytes > walked->peak_bytes) {
        walked->peak_bytes = line->walk.live_bytes + line->weight_bytes;
        walked->peak_step = *step;
    }
    return status;
}

enum vbs_status vbs_walk_all(struct vbs_ctx *ctx, const struct vbs_task *task,
                             const struct vbs_step_list *steps, struct vbs_walked *walked)
{
    struct timeline line = {.task = task};
    enum vbs_status status = vbs_walk_init(ctx, &line.walk, task);

    if (status != VBS_OK)
        return status;
    line.loaded = vbs_arena_alloc(&line.arena, (size_t)task->n_layers + 1, sizeof *line.loaded);
    status = line.loaded ? VBS_OK : vbs_no_memory(ctx);
    *walked = (struct vbs_walked){.peak_step = steps->steps[0]};
    for (int64_t s = 0; status == VBS_OK && s < steps->n_steps; s++)
        status = steps->steps[s].op == VBS_STEP_COMPUTE
                     ? compute(ctx, &line, &steps->steps[s], walked)
                     : transfer(ctx, &line, &steps->steps[s], walked);
    walked->time_us = fmax(line.compute_us, line.copy_us);
    vbs_arena_clear(&line.arena);
    vbs_walk_clear(&line.walk);
    return status;
}
