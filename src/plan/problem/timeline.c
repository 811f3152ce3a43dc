#include "plan/problem/timeline.h"

#include "plan/problem/lattice.h"
#include "plan/problem/slices.h"

#include "base/fail.h"
#include "base/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A block of packed weights of a layer that is in memory. */
struct loaded_block {
    int format;
    int64_t first, end;
    int64_t load; /* its number, 1, 2, ...; 0: a resident load */
};

/* The blocks of one layer, by format and then by their first byte. A layer may be loaded in
 * thousands of slices. */
struct loaded_layer {
    int n;
    int64_t capacity;
    struct loaded_block *blocks;
    int64_t longest; /* the longest of all blocks so far */
};

/* Loads in the order of the list, without resident ones. Those that the list has reached and that
 * have not ended are copied one after the other, beside compute steps. */
struct load_line {
    int64_t n_reached, n_ended;
    int64_t at;         /* the one that is copied, as an index into the list */
    double end_us;      /* its end, if computing waits from now on */
    double begun_us;    /* its time until then */
    double last_end_us; /* of those that have ended */
};

struct clocks_walk {
    const struct vbs_task *task;
    const struct vbs_step_list *steps;
    struct vbs_walk walk;
    struct vbs_arena arena;
    struct loaded_layer *loaded; /* [0..n] */
    int64_t weight_bytes;        /* sum of all blocks in memory */
    double compute_us;           /* the clock of compute steps */
    struct load_line copies;     /* and that of copies */
    int64_t chunk_ticks;         /* since the chunk began, in ticks */
    double chunk_us;             /* since the chunk began, in microseconds */
};

/* Gives the index of the first block of the format that begins at byte first or behind it, or else
 * of the next format. */
static int find_block(const struct loaded_layer *loaded, int format, int64_t first)
{
    int low = 0, high = loaded->n;

    while (low < high) {
        int middle = low + (high - low) / 2;
        const struct loaded_block *at = &loaded->blocks[middle];

        if (at->format < format || (at->format == format && at->first < first))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum vbs_status insert_block(struct vbs_ctx *ctx, struct loaded_layer *loaded,
                                    const struct loaded_block *block)
{
    int at = find_block(loaded, block->format, block->first);
    enum vbs_status status = vbs_grow(ctx, &loaded->blocks, &loaded->capacity,
                                      (int64_t)loaded->n + 1, sizeof *loaded->blocks);

    if (status != VBS_OK)
        return status;
    memmove(&loaded->blocks[at + 1], &loaded->blocks[at],
            (size_t)(loaded->n - at) * sizeof *loaded->blocks);
    loaded->blocks[at] = *block;
    loaded->n++;
    if (block->end - block->first > loaded->longest)
        loaded->longest = block->end - block->first;
    return VBS_OK;
}

static void begin_copy(struct clocks_walk *line, int64_t at, double start_us)
{
    struct load_line *copies = &line->copies;

    copies->at = at;
    copies->begun_us = vbs_task_copy_us(line->task, line->steps->steps[at].bytes);
    copies->end_us = start_us + copies->begun_us;
}

/* Ends the load that is copied, at its end_us. */
static void end_copy(struct clocks_walk *line, struct vbs_timeline *timeline)
{
    struct load_line *copies = &line->copies;
    int64_t at = copies->at + 1;

    timeline->copy_us += copies->begun_us;
    copies->last_end_us = copies->end_us;
    if (++copies->n_ended == copies->n_reached)
        return;
    while (line->steps->steps[at].op != VBS_STEP_LOAD)
        at++;
    begin_copy(line, at, copies->end_us);
}

/* Lets computing wait for the end of a load, if it has not ended, and gives the time. */
static double wait_for(struct clocks_walk *line, int64_t load, struct vbs_timeline *timeline)
{
    double until_us = line->compute_us;

    while (line->copies.n_ended < line->copies.n_reached && line->copies.n_ended < load) {
        end_copy(line, timeline);
        until_us = line->copies.last_end_us;
    }
    return until_us;
}

/* Runs a step from now_us on, which takes time_us alone, beside the copies, and gives its end. */
static double run_step(struct clocks_walk *line, int layer, double now_us, double time_us,
                       struct vbs_timeline *timeline)
{
    const double *beside = line->task->problem.copy.beside;
    double slow = beside ? beside[layer] : 1, copies_slow = beside ? beside[0] : 1;
    double end_us = now_us + time_us;
    struct load_line *copies = &line->copies;

    while (copies->n_ended < copies->n_reached) {
        double copy_left_us = copies->end_us - now_us, step_left_us = end_us - now_us, both_us;

        if (copy_left_us * copies_slow > step_left_us * slow) { /* the step ends first */
            both_us = step_left_us * slow;
            copies->end_us += both_us - both_us / copies_slow;
            copies->begun_us += both_us - both_us / copies_slow;
            return end_us + step_left_us * (slow - 1);
        }
        both_us = copy_left_us * copies_slow;
        now_us = copies->end_us += copy_left_us * (copies_slow - 1);
        copies->begun_us += copy_left_us * (copies_slow - 1);
        end_us = fmax(end_us + (both_us - both_us / slow), now_us);
        end_copy(line, timeline);
    }
    return end_us;
}

static enum vbs_status load(struct vbs_ctx *ctx, struct clocks_walk *line,
                            const struct vbs_step *step, struct vbs_timeline *timeline)
{
    struct loaded_block block = {.format = step->format};
    const struct vbs_profile_layer *layer = &line->task->profile->layers[step->layer];
    int64_t weight_bytes = vbs_profile_format_bytes(line->task->profile, step->layer, step->format);

    vbs_slice_bytes(layer, weight_bytes, step->slice, step->n_slices, &block.first, &block.end);
    line->weight_bytes += step->bytes;
    if (step->resident) {
        timeline->resident_bytes += step->bytes;
    } else {
        if (line->copies.n_reached++ == line->copies.n_ended)
            begin_copy(line, step - line->steps->steps, line->compute_us);
        block.load = line->copies.n_reached;
        timeline->copied_bytes += step->bytes;
    }
    return insert_block(ctx, &line->loaded[step->layer], &block);
}

/* Removes a range of bytes from the block at index at, whose bytes overlap it. *gone: all of it was
 * in the range. */
static enum vbs_status cut_block(struct vbs_ctx *ctx, struct loaded_layer *loaded, int at,
                                 int64_t first, int64_t end, bool *gone)
{
    struct loaded_block *block = &loaded->blocks[at];
    struct loaded_block behind = *block;

    *gone = first <= block->first && end >= block->end;
    behind.first = end;
    if (*gone) {
        loaded->n--;
        memmove(block, block + 1, (size_t)(loaded->n - at) * sizeof *block);
    } else if (first <= block->first) {
        block->first = end;
    } else {
        bool divided = end < block->end;

        block->end = first;
        if (divided)
            return insert_block(ctx, loaded, &behind);
    }
    return VBS_OK;
}

/* A step may evict a part of what was loaded at once, and what was loaded in parts. */
static enum vbs_status evict(struct vbs_ctx *ctx, struct clocks_walk *line,
                             const struct vbs_step *step)
{
    const struct vbs_profile_layer *layer = &line->task->profile->layers[step->layer];
    int64_t weight_bytes = vbs_profile_format_bytes(line->task->profile, step->layer, step->format);
    struct loaded_layer *loaded = &line->loaded[step->layer];
    int64_t first, end;
    int at;

    vbs_slice_bytes(layer, weight_bytes, step->slice, step->n_slices, &first, &end);
    at = find_block(loaded, step->format, first);
    if (at > 0 && loaded->blocks[at - 1].format == step->format &&
        loaded->blocks[at - 1].end > first)
        at--;
    while (at < loaded->n && loaded->blocks[at].format == step->format &&
           loaded->blocks[at].first < end) {
        bool gone;

        VBS_TRY(cut_block(ctx, loaded, at, first, end, &gone));
        at += !gone;
    }
    line->weight_bytes -= step->bytes;
    return VBS_OK;
}

/* Gives the number of the last load of the weights that a step reads. */
static int64_t last_load(const struct clocks_walk *line, const struct vbs_step *step,
                         const struct vbs_profile_row *row)
{
    const struct vbs_profile_layer *layer = &line->task->profile->layers[step->layer];
    const struct loaded_layer *loaded = &line->loaded[step->layer];
    int64_t first, end, last = 0;

    if (row->weight_bytes == 0)
        return 0;
    vbs_slice_bytes(layer, row->weight_bytes, step->slice, step->n_slices, &first, &end);
    for (int i = find_block(loaded, row->format, first - loaded->longest); i < loaded->n; i++) {
        const struct loaded_block *at = &loaded->blocks[i];

        if (at->format != row->format || at->first >= end)
            break;
        if (at->end > first && at->load > last)
            last = at->load;
    }
    return last;
}

/* Compares the chunk's time so far with the latency. Where steps may wait for loads, ticks of steps
 * cannot be added up. */
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
    double start_us = line->compute_us, took_us;
    int64_t bytes = 0;

    VBS_TRY(step->rows > 0 ? vbs_walk_rows(ctx, &line->walk, step, &bytes)
                           : vbs_walk_slice(ctx, &line->walk, step, &bytes));
    bytes += row->ws_bytes + line->weight_bytes;
    if (bytes > timeline->peak_bytes) {
        timeline->peak_bytes = bytes;
        timeline->peak_step = *step;
    }
    if (line->task->problem.weights == VBS_WEIGHTS_INCLUDED)
        start_us = wait_for(line, last_load(line, step, row), timeline);
    took_us = start_us - line->compute_us + time_us;
    line->compute_us = run_step(line, step->layer, start_us, time_us, timeline);
    took_us += line->compute_us - (start_us + time_us);
    line->chunk_us += took_us;
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
        status = evict(ctx, line, step);
    if (line->walk.live_bytes + line->weight_bytes > timeline->peak_bytes) {
        timeline->peak_bytes = line->walk.live_bytes + line->weight_bytes;
        timeline->peak_step = *step;
    }
    return status;
}

enum vbs_status vbs_timeline_find(struct vbs_ctx *ctx, const struct vbs_task *task,
                                  const struct vbs_step_list *steps, struct vbs_timeline *timeline)
{
    struct clocks_walk line = {.task = task, .steps = steps};
    enum vbs_status status;

    VBS_TRY(vbs_walk_init(ctx, &line.walk, task));
    line.loaded = vbs_arena_alloc(&line.arena, (size_t)task->n_layers + 1, sizeof *line.loaded);
    status = line.loaded ? VBS_OK : vbs_no_memory(ctx);
    *timeline = (struct vbs_timeline){.peak_step = steps->steps[0]};
    for (int64_t s = 0; status == VBS_OK && s < steps->n_steps; s++)
        status = steps->steps[s].op == VBS_STEP_COMPUTE
                     ? compute(ctx, &line, &steps->steps[s], timeline)
                     : transfer(ctx, &line, &steps->steps[s], timeline);
    timeline->time_us =
        status == VBS_OK ? fmax(line.compute_us, wait_for(&line, INT64_MAX, timeline)) : 0;
    for (int k = 1; line.loaded && k <= task->n_layers; k++)
        free(line.loaded[k].blocks);
    vbs_arena_clear(&line.arena);
    vbs_walk_clear(&line.walk);
    return status;
}
