#include "plan/weights/stream_delay.h"

#include "base/fail.h"
#include "base/grow.h"

#include <math.h>
#include <stdlib.h>

enum vbs_status vbs_slicing_init(struct vbs_ctx *ctx, const struct vbs_task *task,
                                 struct vbs_arena *arena, struct vbs_slicing *slicing)
{
    *slicing = (struct vbs_slicing){.n_formats = 1};
    for (int k = 1; k <= task->n_layers; k++) {
        int n_rows;
        const struct vbs_profile_stripe *stripes = vbs_profile_stripes(task->profile, k, &n_rows);

        for (int i = 0; i < n_rows; i++)
            if (stripes[i].row.format >= slicing->n_formats)
                slicing->n_formats = stripes[i].row.format + 1;
        for (int i = 0; i < task->profile->n_batches; i++) {
            const struct vbs_profile_row *rows = vbs_profile_rows(task->profile, k, i, &n_rows);

            for (int a = 0; a < n_rows; a++)
                if (rows[a].format >= slicing->n_formats)
                    slicing->n_formats = rows[a].format + 1;
        }
    }
    slicing->n_slices =
        vbs_arena_alloc(arena, (size_t)(task->n_layers + 1) * (size_t)slicing->n_formats,
                        sizeof *slicing->n_slices);
    return slicing->n_slices ? VBS_OK : vbs_no_memory(ctx);
}

/* A stream that is being made. */
struct stream_builder {
    struct vbs_ctx *ctx;
    const struct vbs_slicing *slicing;
    struct vbs_stream *stream;
    int *first_block; /* at layer * n_formats + format: its first block, plus 1; 0: none yet */
    int64_t blocks_capacity, visits_capacity;
};

static size_t format_index(const struct stream_builder *builder, int layer, int format)
{
    return (size_t)layer * (size_t)builder->slicing->n_formats + (size_t)format;
}

static int slices_of(const struct stream_builder *builder, int layer, int format)
{
    int n_slices = *vbs_slicing_at(builder->slicing, layer, format);

    return n_slices > 1 ? n_slices : 1;
}

/* Finds the blocks of a row's weights, which are made when they are first needed. */
static enum vbs_status find_blocks(struct stream_builder *builder, int layer,
                                   const struct vbs_profile_row *row, int *first)
{
    struct vbs_stream *stream = builder->stream;
    int *known = &builder->first_block[format_index(builder, layer, row->format)];
    int n_slices = slices_of(builder, layer, row->format);

    if (*known) {
        *first = *known - 1;
        return VBS_OK;
    }
    VBS_TRY(vbs_grow(builder->ctx, &stream->blocks, &builder->blocks_capacity,
                     stream->n_blocks + n_slices, sizeof *stream->blocks));
    *first = stream->n_blocks;
    for (int p = 1; p <= n_slices; p++) {
        int64_t from, end;
        double copy_us;

        vbs_slice_bytes(&stream->task->profile->layers[layer], row->weight_bytes, p, n_slices,
                        &from, &end);
        copy_us = vbs_task_copy_us(stream->task, end - from);
        stream->blocks[stream->n_blocks++] =
            (struct vbs_weight_block){.layer = layer,
                                      .format = row->format,
                                      .slice = p,
                                      .n_slices = n_slices,
                                      .bytes = end - from,
                                      .copy_us = copy_us <= VBS_MAX_TIME_US ? copy_us : HUGE_VAL};
    }
    *known = *first + 1;
    return VBS_OK;
}

static enum vbs_status add_visits(struct stream_builder *builder, int slot, int first, int n)
{
    struct vbs_stream *stream = builder->stream;

    VBS_TRY(vbs_grow(builder->ctx, &stream->visits, &builder->visits_capacity, stream->n_visits + n,
                     sizeof *stream->visits));
    for (int p = first; p < first + n; p++)
        stream->visits[stream->n_visits++] = (struct vbs_visit){.slot = slot, .block = p};
    return VBS_OK;
}

/* Gives the number of slices in which a step runs: that of the weights of its row, or that of the
 * row's measurement where each slice of the measurement consists of whole blocks. A step with rows
 * computes all channels. */
static int slices_of_step(const struct stream_builder *builder, const struct vbs_step *step)
{
    int layer = step->layer;
    const struct vbs_profile_row *row = vbs_task_step_row(builder->stream->task, step);
    int blocks = slices_of(builder, layer, row->format);

    if (row->weight_bytes == 0 || step->rows > 0)
        return 1;
    if (vbs_profile_divides(&builder->stream->task->profile->layers[layer], row, blocks))
        return blocks;
    return row->n_slices > 1 && blocks % row->n_slices == 0 ? row->n_slices : 1;
}

/* Adds a step on a slice (n_slices > 1), or on the whole layer, with the blocks that it reads. */
static enum vbs_status add_slot(struct stream_builder *builder, const struct vbs_step *step,
                                const struct vbs_profile_row *row, int slice, int n_slices)
{
    struct vbs_step made = {.layer = step->layer,
                            .batch = step->batch,
                            .algorithm = step->algorithm,
                            .slice = n_slices > 1 ? slice : 0,
                            .n_slices = n_slices > 1 ? n_slices : 0,
                            .row = step->row,
                            .rows = step->rows,
                            .window = step->window};
    int slot = (int)builder->stream->computes.n_steps, first = 0, each;
    enum vbs_status status = vbs_step_list_append(builder->ctx, &builder->stream->computes, &made);

    if (status != VBS_OK || row->weight_bytes == 0)
        return status;
    VBS_TRY(find_blocks(builder, step->layer, row, &first));
    each = slices_of(builder, step->layer, row->format) / n_slices;
    return add_visits(builder, slot, first + (slice - 1) * each, each);
}

/* Adds steps from..to-1, of one layer and format: slice by slice where the layer divides. */
static enum vbs_status add_run(struct stream_builder *builder, const struct vbs_step *steps,
                               int64_t from, int64_t to, int n_slices)
{
    const struct vbs_task *task = builder->stream->task;

    for (int p = 1; p <= n_slices; p++)
        for (int64_t s = from; s < to; s++)
            VBS_TRY(add_slot(builder, &steps[s], vbs_task_step_row(task, &steps[s]), p, n_slices));
    return VBS_OK;
}

/* Gives the end of the run of steps that begins at from: the same layer, format and number of
 * slices. */
static int64_t run_end(const struct stream_builder *builder, const struct vbs_step *steps,
                       int64_t n_steps, int64_t from, int n_slices)
{
    const struct vbs_task *task = builder->stream->task;
    int format = vbs_task_step_row(task, &steps[from])->format, layer = steps[from].layer;
    int64_t to = from + 1;

    while (to < n_steps && steps[to].layer == layer &&
           vbs_task_step_row(task, &steps[to])->format == format &&
           slices_of_step(builder, &steps[to]) == n_slices)
        to++;
    return to;
}

static enum vbs_status add_steps(struct stream_builder *builder, const struct vbs_step *steps,
                                 int64_t n_steps, bool joins_steps)
{
    enum vbs_status status = VBS_OK;

    for (int64_t s = 0, to; s < n_steps; s = to) {
        int n_slices = slices_of_step(builder, &steps[s]);

        to = n_slices > 1 && joins_steps ? run_end(builder, steps, n_steps, s, n_slices) : s + 1;
        status = add_run(builder, steps, s, to, n_slices);
        if (vbs_cancelled(builder->ctx))
            return vbs_fail(builder->ctx, VBS_INTERRUPTED, "interrupted");
        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

static enum vbs_status measure_steps(struct stream_builder *builder)
{
    struct vbs_stream *stream = builder->stream;
    const struct vbs_task *task = stream->task;
    size_t n = (size_t)stream->computes.n_steps;
    struct vbs_walk walk;
    enum vbs_status status = vbs_walk_init(builder->ctx, &walk, task);

    if (status != VBS_OK)
        return status;
    stream->compute_us = 0;
    stream->step_bytes = vbs_arena_alloc(&stream->arena, n, sizeof *stream->step_bytes);
    stream->step_us = vbs_arena_alloc(&stream->arena, n, sizeof *stream->step_us);
    if (!stream->step_bytes || !stream->step_us)
        status = vbs_no_memory(builder->ctx);
    for (size_t s = 0; status == VBS_OK && s < n; s++) {
        const struct vbs_step *step = &stream->computes.steps[s];
        const struct vbs_profile_row *row = vbs_task_step_row(task, step);

        status = step->rows > 0 ? vbs_walk_rows(builder->ctx, &walk, step, &stream->step_bytes[s])
                                : vbs_walk_slice(builder->ctx, &walk, step, &stream->step_bytes[s]);
        stream->step_bytes[s] += row->ws_bytes;
        stream->step_us[s] =
            vbs_slice_us(&task->profile->layers[step->layer], row, step->slice, step->n_slices);
        stream->compute_us += stream->step_us[s];
    }
    vbs_walk_clear(&walk);
    return status;
}

/* Links the visits of each block in a ring, and finds the least budget. */
static enum vbs_status link_visits(struct stream_builder *builder)
{
    struct vbs_stream *stream = builder->stream;
    int *first = vbs_arena_alloc(&stream->arena, (size_t)stream->n_blocks + 1, sizeof *first);
    int *latest = vbs_arena_alloc(&stream->arena, (size_t)stream->n_blocks + 1, sizeof *latest);
    int64_t *bytes = stream->step_bytes;
    int v = 0;

    if (!first || !latest)
        return vbs_no_memory(builder->ctx);
    for (int s = 0; s < stream->computes.n_steps; s++) {
        int64_t needed = bytes[s];

        for (; v < stream->n_visits && stream->visits[v].slot == s; v++) {
            int block = stream->visits[v].block;

            needed += stream->blocks[block].bytes;
            if (latest[block])
                stream->visits[latest[block] - 1].next = v;
            else
                first[block] = v;
            stream->visits[v].previous = latest[block] - 1;
            latest[block] = v + 1;
        }
        if (needed > stream->least_bytes)
            stream->least_bytes = needed;
    }
    for (int p = 0; p < stream->n_blocks; p++) {
        stream->visits[latest[p] - 1].next = first[p];
        stream->visits[first[p]].previous = latest[p] - 1;
    }
    return VBS_OK;
}

int vbs_stream_gap_length(const struct vbs_stream *stream, int v)
{
    int from = stream->visits[v].slot, to = stream->visits[stream->visits[v].next].slot;

    return stream->visits[v].next > v ? to - from - 1
                                      : to + (int)stream->computes.n_steps - from - 1;
}

int64_t vbs_stream_largest_block(const struct vbs_stream *stream)
{
    int64_t largest = 0;

    for (int p = 0; p < stream->n_blocks; p++)
        if (stream->blocks[p].bytes > largest)
            largest = stream->blocks[p].bytes;
    return largest;
}

struct visit_gap {
    int visit, length, layer, slice;
};

static int by_length(const void *a, const void *b)
{
    const struct visit_gap *x = a, *y = b;

    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    if (x->slice != y->slice)
        return x->slice > y->slice ? -1 : 1;
    return x->visit < y->visit ? -1 : 1;
}

static enum vbs_status sort_gaps(struct stream_builder *builder)
{
    struct vbs_stream *stream = builder->stream;
    size_t n = (size_t)stream->n_visits;
    struct visit_gap *gaps = malloc((n + 1) * sizeof *gaps);

    stream->gaps = vbs_arena_alloc(&stream->arena, n + 1, sizeof *stream->gaps);
    if (!gaps || !stream->gaps) {
        free(gaps);
        return vbs_no_memory(builder->ctx);
    }
    for (size_t v = 0; v < n; v++) {
        const struct vbs_weight_block *block = &stream->blocks[stream->visits[v].block];

        gaps[v] = (struct visit_gap){(int)v, vbs_stream_gap_length(stream, (int)v), block->layer,
                                     block->slice};
    }
    qsort(gaps, n, sizeof *gaps, by_length);
    for (size_t v = 0; v < n; v++)
        stream->gaps[v] = gaps[v].visit;
    free(gaps);
    return VBS_OK;
}

enum vbs_status vbs_stream_init(struct vbs_ctx *ctx, const struct vbs_task *task,
                                const struct vbs_step *steps, int64_t n_steps,
                                const struct vbs_slicing *slicing,
                                const struct vbs_stream_order *order, struct vbs_stream *stream)
{
    struct stream_builder builder = {.ctx = ctx, .slicing = slicing, .stream = stream};
    enum vbs_status status;

    *stream = (struct vbs_stream){.task = task};
    builder.first_block =
        vbs_arena_alloc(&stream->arena, (size_t)(task->n_layers + 1) * (size_t)slicing->n_formats,
                        sizeof *builder.first_block);
    status = builder.first_block ? add_steps(&builder, steps, n_steps, order->joins_steps)
                                 : vbs_no_memory(ctx);
    if (status != VBS_OK)
        goto done;
    status = measure_steps(&builder);
    if (status == VBS_OK && order->delayed_from > 0 && stream->n_visits > 0) {
        status = vbs_stream_delay(ctx, stream, order->delayed_from);
        if (status == VBS_OK)
            status = measure_steps(&builder);
    }
    if (status != VBS_OK)
        goto done;
    status = link_visits(&builder);
    if (status != VBS_OK)
        goto done;
    status = sort_gaps(&builder);
done:
    if (status != VBS_OK)
        vbs_stream_clear(stream);
    return status;
}

/* The number of slots up to the end of so many samples. */
static int slots_of_samples(const struct vbs_stream *stream, int samples)
{
    int64_t left = (int64_t)samples * stream->task->n_layers;
    int s = 0;

    for (; left > 0 && s < stream->computes.n_steps; s++) {
        const struct vbs_step *step = &stream->computes.steps[s];

        /* The last slice and the last rows, or the layer has none. */
        if (step->slice == step->n_slices &&
            (step->rows == 0 ||
             step->row + step->rows == stream->task->profile->layers[step->layer].rows))
            left -= step->batch;
    }
    return s;
}

void vbs_stream_repeat(struct vbs_stream *stream, int chunk, int n_repeats)
{
    stream->repeated_from = slots_of_samples(stream, chunk);
    stream->repeated_to = slots_of_samples(stream, 2 * chunk);
    stream->n_repeats = n_repeats;
    for (int s = stream->repeated_from; s < stream->repeated_to; s++)
        stream->compute_us += n_repeats * stream->step_us[s];
}

void vbs_stream_clear(struct vbs_stream *stream)
{
    vbs_step_list_clear(&stream->computes);
    free(stream->blocks);
    free(stream->visits);
    vbs_arena_clear(&stream->arena);
    *stream = (struct vbs_stream){0};
}
