#include "plan/weights/stream.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

enum vbs_status vbs_cutting_init(struct vbs_ctx *ctx, const struct vbs_task *task,
                                 struct vbs_arena *arena, struct vbs_cutting *cutting)
{
    *cutting = (struct vbs_cutting){.n_forms = 1};
    for (int k = 1; k <= task->n_layers; k++)
        for (int i = 0; i < task->profile->n_batches; i++) {
            int n_rows;
            const struct vbs_profile_row *rows = vbs_profile_rows(task->profile, k, i, &n_rows);

            for (int a = 0; a < n_rows; a++)
                if (rows[a].format >= cutting->n_forms)
                    cutting->n_forms = rows[a].format + 1;
        }
    cutting->parts = vbs_arena_alloc(arena, (size_t)(task->n_layers + 1) * (size_t)cutting->n_forms,
                                     sizeof *cutting->parts);
    return cutting->parts ? VBS_OK : vbs_no_memory(ctx);
}

/* A stream in the making. */
struct making {
    struct vbs_ctx *ctx;
    const struct vbs_cutting *cutting;
    struct vbs_stream *stream;
    int *first_piece; /* at layer * n_forms + form: its first piece, and 1; 0: none yet */
    int pieces_capacity, visits_capacity;
};

static size_t place_of(const struct making *making, int layer, int form)
{
    return (size_t)layer * (size_t)making->cutting->n_forms + (size_t)form;
}

static int parts_of(const struct making *making, int layer, int form)
{
    int parts = making->cutting->parts[place_of(making, layer, form)];

    return parts > 1 ? parts : 1;
}

static bool reserve(void **array, int *capacity, int n, size_t size)
{
    int more = *capacity ? *capacity : 64;
    void *grown;

    if (n <= *capacity)
        return true;
    while (more < n)
        more *= 2;
    grown = realloc(*array, (size_t)more * size);
    if (!grown)
        return false;
    *array = grown;
    *capacity = more;
    return true;
}

/* The pieces of a row's weights, made when they are first met. */
static enum vbs_status find_pieces(struct making *making, int layer,
                                   const struct vbs_profile_row *row, int *first)
{
    struct vbs_stream *stream = making->stream;
    int *known = &making->first_piece[place_of(making, layer, row->format)];
    int parts = parts_of(making, layer, row->format);

    if (*known) {
        *first = *known - 1;
        return VBS_OK;
    }
    if (!reserve((void **)&stream->pieces, &making->pieces_capacity, stream->n_pieces + parts,
                 sizeof *stream->pieces))
        return vbs_no_memory(making->ctx);
    *first = stream->n_pieces;
    for (int p = 1; p <= parts; p++) {
        int64_t from, end;
        double copy_us;

        vbs_part_bytes(&stream->task->profile->layers[layer], row->weight_bytes, p, parts, &from,
                       &end);
        copy_us = vbs_task_copy_us(stream->task, end - from);
        stream->pieces[stream->n_pieces++] =
            (struct vbs_piece){.layer = layer,
                               .form = row->format,
                               .part = p,
                               .parts = parts,
                               .bytes = end - from,
                               .copy_us = copy_us <= VBS_MAX_TIME_US ? copy_us : HUGE_VAL};
    }
    *known = *first + 1;
    return VBS_OK;
}

static enum vbs_status add_visits(struct making *making, int slot, int first, int n)
{
    struct vbs_stream *stream = making->stream;

    if (!reserve((void **)&stream->visits, &making->visits_capacity, stream->n_visits + n,
                 sizeof *stream->visits))
        return vbs_no_memory(making->ctx);
    for (int p = first; p < first + n; p++)
        stream->visits[stream->n_visits++] = (struct vbs_visit){.slot = slot, .piece = p};
    return VBS_OK;
}

/* In how many parts steps on a row are taken: as its weights are cut, or as it was measured where
 * each of those parts is so many whole pieces. */
static int step_parts(const struct making *making, int layer, const struct vbs_profile_row *row)
{
    int pieces = parts_of(making, layer, row->format);

    if (row->weight_bytes == 0)
        return 1;
    if (vbs_profile_divides(&making->stream->task->profile->layers[layer], row, pieces))
        return pieces;
    return row->n_slices > 1 && pieces % row->n_slices == 0 ? row->n_slices : 1;
}

/* Step on a part (parts > 1), or on the whole, with the pieces that it reads. */
static enum vbs_status add_slot(struct making *making, const struct vbs_step *step,
                                const struct vbs_profile_row *row, int part, int parts)
{
    struct vbs_step made = {.layer = step->layer,
                            .batch = step->batch,
                            .algorithm = step->algorithm,
                            .slice = parts > 1 ? part : 0,
                            .n_slices = parts > 1 ? parts : 0};
    int slot = (int)making->stream->computes.n_steps, first = 0, each;
    enum vbs_status status = vbs_step_list_append(making->ctx, &making->stream->computes, &made);

    if (status != VBS_OK || row->weight_bytes == 0)
        return status;
    status = find_pieces(making, step->layer, row, &first);
    if (status != VBS_OK)
        return status;
    each = parts_of(making, step->layer, row->format) / parts;
    return add_visits(making, slot, first + (part - 1) * each, each);
}

/* Steps from..to-1, of one layer and row form: part by part where they can be taken so. */
static enum vbs_status add_run(struct making *making, const struct vbs_step *steps, int64_t from,
                               int64_t to, int parts)
{
    const struct vbs_task *task = making->stream->task;
    enum vbs_status status = VBS_OK;

    for (int p = 1; status == VBS_OK && p <= parts; p++)
        for (int64_t s = from; status == VBS_OK && s < to; s++)
            status = add_slot(making, &steps[s], vbs_task_step_row(task, &steps[s]), p, parts);
    return status;
}

/* The end of the run of steps that begins at from: the same layer and form, in as many parts. */
static int64_t run_end(const struct making *making, const struct vbs_step *steps, int64_t n_steps,
                       int64_t from, int parts)
{
    const struct vbs_task *task = making->stream->task;
    int form = vbs_task_step_row(task, &steps[from])->format, layer = steps[from].layer;
    int64_t to = from + 1;

    for (; to < n_steps && steps[to].layer == layer; to++) {
        const struct vbs_profile_row *row = vbs_task_step_row(task, &steps[to]);

        if (row->format != form || step_parts(making, layer, row) != parts)
            break;
    }
    return to;
}

static enum vbs_status add_steps(struct making *making, const struct vbs_step *steps,
                                 int64_t n_steps, bool joins)
{
    const struct vbs_task *task = making->stream->task;
    enum vbs_status status = VBS_OK;

    for (int64_t s = 0, to; status == VBS_OK && s < n_steps; s = to) {
        int parts = step_parts(making, steps[s].layer, vbs_task_step_row(task, &steps[s]));

        to = parts > 1 && joins ? run_end(making, steps, n_steps, s, parts) : s + 1;
        status = add_run(making, steps, s, to, parts);
        if (vbs_cancelled(making->ctx))
            return vbs_fail(making->ctx, VBS_INTERRUPTED, "interrupted");
    }
    return status;
}

static enum vbs_status measure_steps(struct making *making)
{
    struct vbs_stream *stream = making->stream;
    const struct vbs_task *task = stream->task;
    size_t n = (size_t)stream->computes.n_steps;
    struct vbs_walk walk;
    enum vbs_status status = vbs_walk_init(making->ctx, &walk, task);

    if (status != VBS_OK)
        return status;
    stream->step_bytes = vbs_arena_alloc(&stream->arena, n, sizeof *stream->step_bytes);
    stream->step_us = vbs_arena_alloc(&stream->arena, n, sizeof *stream->step_us);
    if (!stream->step_bytes || !stream->step_us)
        status = vbs_no_memory(making->ctx);
    for (size_t s = 0; status == VBS_OK && s < n; s++) {
        const struct vbs_step *step = &stream->computes.steps[s];
        const struct vbs_profile_row *row = vbs_task_step_row(task, step);

        status = vbs_walk_part(making->ctx, &walk, step, &stream->step_bytes[s]);
        stream->step_bytes[s] += row->ws_bytes;
        stream->step_us[s] =
            vbs_part_us(&task->profile->layers[step->layer], row, step->slice, step->n_slices);
        stream->compute_us += stream->step_us[s];
    }
    vbs_walk_clear(&walk);
    return status;
}

/* Links the visits of each piece in a ring, and finds the least budget. */
static enum vbs_status link_visits(struct making *making)
{
    struct vbs_stream *stream = making->stream;
    int *first = vbs_arena_alloc(&stream->arena, (size_t)stream->n_pieces + 1, sizeof *first);
    int *latest = vbs_arena_alloc(&stream->arena, (size_t)stream->n_pieces + 1, sizeof *latest);
    int64_t *bytes = stream->step_bytes;
    int v = 0;

    if (!first || !latest)
        return vbs_no_memory(making->ctx);
    for (int s = 0; s < stream->computes.n_steps; s++) {
        int64_t needed = bytes[s];

        for (; v < stream->n_visits && stream->visits[v].slot == s; v++) {
            int piece = stream->visits[v].piece;

            needed += stream->pieces[piece].bytes;
            if (latest[piece])
                stream->visits[latest[piece] - 1].next = v;
            else
                first[piece] = v;
            stream->visits[v].previous = latest[piece] - 1;
            latest[piece] = v + 1;
        }
        if (needed > stream->least_bytes)
            stream->least_bytes = needed;
    }
    for (int p = 0; p < stream->n_pieces; p++) {
        stream->visits[latest[p] - 1].next = first[p];
        stream->visits[first[p]].previous = latest[p] - 1;
    }
    return VBS_OK;
}

/* Steps between visit v and the next of its piece, over the end of the request where need be. */
static int gap_length(const struct vbs_stream *stream, int v)
{
    int from = stream->visits[v].slot, to = stream->visits[stream->visits[v].next].slot;

    return stream->visits[v].next > v ? to - from - 1
                                      : to + (int)stream->computes.n_steps - from - 1;
}

struct gap {
    int visit, length;
};

static int by_length(const void *a, const void *b)
{
    const struct gap *x = a, *y = b;

    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return x->visit < y->visit ? -1 : 1;
}

static enum vbs_status sort_gaps(struct making *making)
{
    struct vbs_stream *stream = making->stream;
    size_t n = (size_t)stream->n_visits;
    struct gap *gaps = malloc((n + 1) * sizeof *gaps);

    stream->gaps = vbs_arena_alloc(&stream->arena, n + 1, sizeof *stream->gaps);
    if (!gaps || !stream->gaps) {
        free(gaps);
        return vbs_no_memory(making->ctx);
    }
    for (size_t v = 0; v < n; v++)
        gaps[v] = (struct gap){(int)v, gap_length(stream, (int)v)};
    qsort(gaps, n, sizeof *gaps, by_length);
    for (size_t v = 0; v < n; v++)
        stream->gaps[v] = gaps[v].visit;
    free(gaps);
    return VBS_OK;
}

enum vbs_status vbs_stream_init(struct vbs_ctx *ctx, const struct vbs_task *task,
                                const struct vbs_step *steps, int64_t n_steps,
                                const struct vbs_cutting *cutting, bool joins,
                                struct vbs_stream *stream)
{
    struct making making = {.ctx = ctx, .cutting = cutting, .stream = stream};
    enum vbs_status status;

    *stream = (struct vbs_stream){.task = task};
    making.first_piece =
        vbs_arena_alloc(&stream->arena, (size_t)(task->n_layers + 1) * (size_t)cutting->n_forms,
                        sizeof *making.first_piece);
    status = making.first_piece ? add_steps(&making, steps, n_steps, joins) : vbs_no_memory(ctx);
    if (status == VBS_OK)
        status = measure_steps(&making);
    if (status == VBS_OK)
        status = link_visits(&making);
    if (status == VBS_OK)
        status = sort_gaps(&making);
    if (status != VBS_OK)
        vbs_stream_clear(stream);
    return status;
}

void vbs_stream_clear(struct vbs_stream *stream)
{
    vbs_step_list_clear(&stream->computes);
    free(stream->pieces);
    free(stream->visits);
    vbs_arena_clear(&stream->arena);
    *stream = (struct vbs_stream){0};
}
