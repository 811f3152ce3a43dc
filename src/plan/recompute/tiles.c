#include "plan/recompute/tiles.h"

#include "base/fail.h"
#include "base/grow.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct vbs_profile_layer *layer_of(const struct tiling *tiling, int layer)
{
    return &tiling->task->profile->layers[layer];
}

/* Computes bytes * part / all, rounded up. */
static int64_t part_of(int64_t bytes, int64_t part, int64_t all)
{
    return bytes / all * part + (bytes % all * part + all - 1) / all;
}

/* ---- segments ---- */

int vbs_tiling_reach(const struct vbs_task *task, int first_layer)
{
    int to = first_layer - 1;

    for (int k = first_layer; k <= task->n_layers; k++) {
        const struct vbs_profile_layer *l = &task->profile->layers[k];

        if (!l->reaches || vbs_layer_accumulates(l) || task->problem.whole_samples)
            break;
        for (int i = 0; i < l->n_inputs; i++)
            if (l->inputs[i] >= first_layer && l->reaches[i].unit == 0)
                return to;
        to = k;
    }
    return to >= first_layer ? to : 0;
}

/* Gives whether the output of a layer is one of the segment that ends with to. */
static bool is_output(const struct vbs_task *task, int layer, int to)
{
    return task->last_reader[layer] == 0 || task->last_reader[layer] > to;
}

bool vbs_tiling_is_segment(const struct vbs_task *task, int from, int to)
{
    const struct vbs_profile_layer *layers = task->profile->layers;

    for (int k = from; k < to; k++)
        if (is_output(task, k, to) && layers[k].rows != layers[to].rows)
            return false;
    return true;
}

bool vbs_tiling_accumulates(const struct vbs_task *task, int to)
{
    const struct vbs_profile_layer *tail = &task->profile->layers[to + 1];
    int64_t rows = task->profile->layers[to].rows;
    struct vbs_reached reached = {.end = rows};

    if (to == task->n_layers || task->n_readers[to] != 1 || task->readers[to][0] != to + 1 ||
        tail->n_inputs != 1 || tail->in_place)
        return false;
    if (strcmp(tail->kind, "fc") != 0 && strcmp(tail->kind, "avgpool") != 0 &&
        strcmp(tail->kind, "maxpool") != 0)
        return false;
    if (vbs_layer_accumulates(tail))
        return true;
    if (tail->reaches && tail->rows > 1)
        return false;
    if (tail->reaches)
        reached = vbs_reach_rows(&tail->reaches[0], rows, 0, 1);
    return reached.first == 0 && reached.end == rows;
}

/* ---- tiles ---- */

enum vbs_status vbs_tiling_init(struct vbs_ctx *ctx, struct tiling *tiling,
                                const struct vbs_task *task, const struct row_costs *costs,
                                const int64_t *before_bytes, enum tile_shape shape)
{
    size_t size = (size_t)task->n_layers + 1;

    *tiling =
        (struct tiling){.task = task, .costs = costs, .before_bytes = before_bytes, .shape = shape};
    tiling->columns = vbs_arena_alloc(&tiling->arena, size, sizeof *tiling->columns);
    return tiling->columns ? VBS_OK : vbs_no_memory(ctx);
}

void vbs_tiling_clear(struct tiling *tiling)
{
    free(tiling->tiles);
    free(tiling->steps);
    free(tiling->events);
    vbs_arena_clear(&tiling->arena);
}

/* Gives place for one more tile behind the distinct ones, whose arrays are kept for later use. */
static enum vbs_status grow_tiles(struct vbs_ctx *ctx, struct tiling *tiling)
{
    size_t size = (size_t)tiling->task->n_layers + 1;
    struct tile_rows tile = {0};

    if (tiling->n_tiles < tiling->n_allocated)
        return VBS_OK;
    VBS_TRY(vbs_grow(ctx, &tiling->tiles, &tiling->tiles_capacity, tiling->n_allocated + 1,
                     sizeof *tiling->tiles));
    tile.first = vbs_arena_alloc(&tiling->arena, size, sizeof *tile.first);
    tile.rows = vbs_arena_alloc(&tiling->arena, size, sizeof *tile.rows);
    tile.input_bytes = vbs_arena_alloc(&tiling->arena, size, sizeof *tile.input_bytes);
    if (!tile.first || !tile.rows || !tile.input_bytes)
        return vbs_no_memory(ctx);
    tiling->tiles[tiling->n_allocated++] = tile;
    return VBS_OK;
}

/* Widens the rows of a layer that a tile needs to those from first to end, of which there may be
 * none. */
static void need(struct tile_rows *tile, int layer, int64_t first, int64_t end)
{
    int64_t old_end = tile->first[layer] + tile->rows[layer];

    if (first >= end)
        return;
    if (tile->rows[layer] == 0 || first < tile->first[layer])
        tile->first[layer] = (int)first;
    if (tile->rows[layer] == 0 || end > old_end)
        old_end = end;
    tile->rows[layer] = (int)(old_end - tile->first[layer]);
}

/* Finds the rows of all layers of the segment that the rows first..end of its outputs need. */
static void find_rows(const struct tiling *tiling, int from, int to, int64_t first, int64_t end,
                      struct tile_rows *tile)
{
    tile->n = 1;
    for (int k = from; k <= to; k++)
        tile->rows[k] = 0;
    for (int k = to; k >= from; k--) {
        const struct vbs_profile_layer *l = layer_of(tiling, k);

        if (k == to || is_output(tiling->task, k, to))
            need(tile, k, first, end);
        tile->input_bytes[k] = 0;
        if (tile->rows[k] == 0)
            continue;
        tile->input_bytes[k] =
            vbs_outside_row_bytes(tiling->task, k, tile->first[k], tile->rows[k]);
        for (int i = 0; i < l->n_inputs; i++) {
            struct vbs_reached reached;

            if (l->inputs[i] < from)
                continue;
            reached = vbs_reach_rows(&l->reaches[i], layer_of(tiling, l->inputs[i])->rows,
                                     tile->first[k], tile->rows[k]);
            need(tile, l->inputs[i], reached.first, reached.end);
        }
    }
}

static bool same_rows(const struct tile_rows *a, const struct tile_rows *b, int from, int to)
{
    size_t n = (size_t)(to - from + 1);

    return memcmp(a->rows + from, b->rows + from, n * sizeof *a->rows) == 0 &&
           memcmp(a->input_bytes + from, b->input_bytes + from, n * sizeof *a->input_bytes) == 0;
}

/* Finds the distinct tiles of a segment, the latest first among those that are compared. */
static enum vbs_status find_tiles(struct vbs_ctx *ctx, struct tiling *tiling, int from, int to,
                                  int rows)
{
    int64_t all = layer_of(tiling, to)->rows;

    tiling->n_tiles = 0;
    for (int64_t first = 0; first < all; first += rows) {
        struct tile_rows *tile;
        int same;

        VBS_TRY(grow_tiles(ctx, tiling));
        tile = &tiling->tiles[tiling->n_tiles];
        find_rows(tiling, from, to, first, first + rows < all ? first + rows : all, tile);
        same = (int)tiling->n_tiles - 1;
        while (same >= 0 && !same_rows(&tiling->tiles[same], tile, from, to))
            same--;
        if (same >= 0)
            tiling->tiles[same].n++;
        else
            tiling->n_tiles++;
    }
    return VBS_OK;
}

/* ---- columns ---- */

/* Gives how many columns of the layer can be computed now. */
static int64_t columns_available(const struct tiling *tiling, int from, int layer)
{
    const struct vbs_profile_layer *l = layer_of(tiling, layer);
    int64_t least = l->rows;

    for (int i = 0; i < l->n_inputs; i++) {
        int64_t columns;

        if (l->inputs[i] < from)
            continue;
        columns = vbs_reach_available(&l->reaches[i], layer_of(tiling, l->inputs[i])->rows,
                                      tiling->columns[l->inputs[i]].done, l->rows);
        least = columns < least ? columns : least;
    }
    return least;
}

/* Gives the first column of the layer that a reader in the segment still needs. */
static int64_t first_column(const struct tiling *tiling, int layer, int to)
{
    const struct vbs_task *task = tiling->task;
    int64_t n = layer_of(tiling, layer)->rows, first = n;

    for (int r = 0; r < task->n_readers[layer] && task->readers[layer][r] <= to; r++) {
        const struct vbs_profile_layer *l = layer_of(tiling, task->readers[layer][r]);

        for (int i = 0; i < l->n_inputs; i++)
            if (l->inputs[i] == layer) {
                int64_t column = vbs_reach_first(
                    &l->reaches[i], n, tiling->columns[task->readers[layer][r]].done, l->rows);

                first = column < first ? column : first;
            }
    }
    return first;
}

/* Finds the columns of each layer that are kept while the segment is swept, one column of a layer
 * at a time: always of the last layer that can go on. */
static void sweep(struct tiling *tiling, int from, int to)
{
    int layer = to;

    if (tiling->swept_from == from && tiling->swept_to == to)
        return;
    tiling->swept_from = from;
    tiling->swept_to = to;
    for (int k = from; k <= to; k++)
        tiling->columns[k] = (struct swept_columns){.kept = 1};
    while (layer >= from) {
        struct swept_columns *at = &tiling->columns[layer];
        int64_t kept, input_bytes;

        if (at->done == layer_of(tiling, layer)->rows ||
            columns_available(tiling, from, layer) <= at->done) {
            layer--;
            continue;
        }
        input_bytes = vbs_outside_row_bytes(tiling->task, layer, at->done, 1);
        at->input_bytes = input_bytes > at->input_bytes ? input_bytes : at->input_bytes;
        at->done++;
        kept = at->done - first_column(tiling, layer, to);
        at->kept = kept > at->kept ? (int)kept : at->kept;
        layer = to;
    }
}

/* ---- steps ---- */

/* The segment whose steps are listed. */
struct tiled_segment {
    struct vbs_ctx *ctx;
    struct tiling *tiling;
    int from, to, tail;
    int64_t base_bytes; /* live during all of it: what was before, and its outputs */
};

static int64_t segment_bytes(const struct tiling *tiling, int from, int to, int tail)
{
    const struct vbs_task *task = tiling->task;
    int64_t bytes = tiling->before_bytes[from];

    for (int k = from; k <= to; k++)
        if (is_output(task, k, to + tail) && vbs_task_kept(task, k))
            bytes += vbs_task_bytes(task, k);
    return tail ? bytes + vbs_task_bytes(task, to + 1) : bytes;
}

static enum vbs_status add_step(const struct tiled_segment *segment, const struct tiled_step *step)
{
    struct tiling *tiling = segment->tiling;

    VBS_TRY(vbs_grow(segment->ctx, &tiling->steps, &tiling->steps_capacity, tiling->n_steps + 1,
                     sizeof *tiling->steps));
    tiling->steps[tiling->n_steps++] = *step;
    return VBS_OK;
}

/* Gives the bytes of some rows and columns of a layer's output. */
static int64_t tile_bytes(const struct tiling *tiling, int layer, int rows, int columns)
{
    const struct vbs_profile_layer *l = layer_of(tiling, layer);

    return part_of(l->out_bytes / l->rows * rows, columns, l->rows);
}

/* Gives the bytes of the network's input that a step has inside: of some rows those of some
 * columns. Both are given as the bytes that as many rows have. */
static int64_t square_input_bytes(const struct tiling *tiling, int64_t rows_bytes,
                                  int64_t columns_bytes)
{
    const struct vbs_profile_layer *input = layer_of(tiling, 0);

    if (rows_bytes == 0 || input->rows == 0)
        return rows_bytes;
    return part_of(rows_bytes, columns_bytes / (input->out_bytes / input->rows), input->rows);
}

/* Adds the steps of tiles that are computed layer after layer: of the rows of one tile and the
 * columns of another (null: the full width). */
static enum vbs_status add_layers(const struct tiled_segment *segment, const struct tile_rows *rows,
                                  const struct tile_rows *columns)
{
    const struct tiling *tiling = segment->tiling;
    const struct vbs_task *task = tiling->task;
    int64_t live = segment->base_bytes;

    for (int k = segment->from; k <= segment->to; k++) {
        int width = columns ? columns->rows[k] : layer_of(tiling, k)->rows;
        int64_t own = tile_bytes(tiling, k, rows->rows[k], width), input = rows->input_bytes[k];
        bool output = is_output(task, k, segment->to + segment->tail);

        if (rows->rows[k] == 0 || width == 0)
            continue;
        if (columns)
            input = square_input_bytes(tiling, input, columns->input_bytes[k]);
        if (!output)
            live += own;
        VBS_TRY(add_step(segment,
                         &(struct tiled_step){
                             .layer = k,
                             .rows = rows->rows[k],
                             .columns = width,
                             .bytes = live + input + (output && !vbs_task_kept(task, k) ? own : 0),
                             .n = rows->n * (columns ? columns->n : 1)}));
        for (int i = 0; i < task->n_inputs[k]; i++) {
            int t = task->inputs[k][i];

            if (t >= segment->from && task->last_reader[t] == k)
                live -= tile_bytes(tiling, t, rows->rows[t],
                                   columns ? columns->rows[t] : layer_of(tiling, t)->rows);
        }
    }
    if (segment->tail)
        return add_step(
            segment,
            &(struct tiled_step){.layer = segment->to + 1, .columns = 1, .bytes = live, .n = 1});
    return VBS_OK;
}

/* Adds the steps of tiles that are swept. */
static enum vbs_status add_swept(const struct tiled_segment *segment, const struct tile_rows *tile)
{
    const struct tiling *tiling = segment->tiling;
    const struct vbs_task *task = tiling->task;
    int64_t live = segment->base_bytes;

    for (int k = segment->from; k <= segment->to; k++)
        if (!is_output(task, k, segment->to + segment->tail))
            live += tile_bytes(tiling, k, tile->rows[k], tiling->columns[k].kept);
    for (int k = segment->from; k <= segment->to; k++) {
        int64_t bytes =
            live + square_input_bytes(tiling, tile->input_bytes[k], tiling->columns[k].input_bytes);

        if (tile->rows[k] == 0)
            continue;
        if (is_output(task, k, segment->to + segment->tail) && !vbs_task_kept(task, k))
            bytes += tile_bytes(tiling, k, tile->rows[k], 1);
        VBS_TRY(add_step(segment, &(struct tiled_step){.layer = k,
                                                       .rows = tile->rows[k],
                                                       .columns = layer_of(tiling, k)->rows,
                                                       .bytes = bytes,
                                                       .n = tile->n}));
    }
    if (segment->tail)
        return add_step(
            segment,
            &(struct tiled_step){.layer = segment->to + 1, .columns = 1, .bytes = live, .n = 1});
    return VBS_OK;
}

static int compare_steps(const void *a, const void *b)
{
    const struct tiled_step *x = a, *y = b;

    if (x->layer != y->layer)
        return x->layer - y->layer;
    return x->rows != y->rows ? x->rows - y->rows : x->columns - y->columns;
}

/* Makes one step of those of a layer that compute equally much. */
static void merge_steps(struct tiling *tiling)
{
    int64_t n = 0;

    qsort(tiling->steps, (size_t)tiling->n_steps, sizeof *tiling->steps, compare_steps);
    for (int64_t i = 0; i < tiling->n_steps; i++) {
        struct tiled_step *last = n > 0 ? &tiling->steps[n - 1] : NULL;

        if (!last || compare_steps(last, &tiling->steps[i]) != 0) {
            tiling->steps[n++] = tiling->steps[i];
            continue;
        }
        if (last->rows > 0) /* what accumulates is computed once in all */
            last->n += tiling->steps[i].n;
        if (tiling->steps[i].bytes > last->bytes)
            last->bytes = tiling->steps[i].bytes;
    }
    tiling->n_steps = n;
}

static enum vbs_status list_steps(const struct tiled_segment *segment)
{
    struct tiling *tiling = segment->tiling;

    tiling->n_steps = 0;
    if (tiling->shape == TILE_SWEPT)
        sweep(tiling, segment->from, segment->to);
    for (int r = 0; r < tiling->n_tiles; r++) {
        const struct tile_rows *rows = &tiling->tiles[r];

        if (tiling->shape == TILE_SWEPT)
            VBS_TRY(add_swept(segment, rows));
        if (tiling->shape == TILE_ROWS)
            VBS_TRY(add_layers(segment, rows, NULL));
        for (int c = 0; tiling->shape == TILE_SQUARE && c < tiling->n_tiles; c++)
            VBS_TRY(add_layers(segment, rows, &tiling->tiles[c]));
    }
    merge_steps(tiling);
    return VBS_OK;
}

/* ---- points ---- */

/* From so many bytes on all steps of a number take so long together. */
struct step_event {
    int64_t bytes;
    int64_t step;
    double us;
};

static int compare_events(const void *a, const void *b)
{
    const struct step_event *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (x->us < y->us) - (x->us > y->us);
}

/* Gives the time of a step with workspaces up to one of the limits of its layer. */
static double step_us(const struct tiling *tiling, const struct tiled_step *step, int limit)
{
    const struct row_costs *costs = &tiling->costs[step->layer];
    double us;

    if (step->rows == 0)
        return costs->whole_us[limit];
    us = costs->rows_us[(int64_t)limit * (costs->rows + 1) + step->rows];
    return step->columns == costs->rows ? us : us * step->columns / costs->rows;
}

static enum vbs_status list_events(struct vbs_ctx *ctx, struct tiling *tiling, int64_t *n)
{
    *n = 0;
    for (int64_t s = 0; s < tiling->n_steps; s++) {
        const struct tiled_step *step = &tiling->steps[s];
        const struct row_costs *costs = &tiling->costs[step->layer];
        double before = HUGE_VAL;

        for (int limit = 0; limit < costs->n_limits; limit++) {
            double us = step_us(tiling, step, limit);

            if (!(us < before))
                continue;
            before = us;
            VBS_TRY(vbs_grow(ctx, &tiling->events, &tiling->events_capacity, *n + 1,
                             sizeof *tiling->events));
            tiling->events[(*n)++] =
                (struct step_event){step->bytes + costs->limits[limit], s, us * (double)step->n};
        }
    }
    if (*n > 0)
        qsort(tiling->events, (size_t)*n, sizeof *tiling->events, compare_events);
    return VBS_OK;
}

/* Offers the sum of the times of all steps at the bytes at which it falls. */
static enum vbs_status offer_steps(struct vbs_ctx *ctx, struct tiling *tiling,
                                   struct estimate_point point, struct estimate_curve *curve)
{
    int64_t n, waiting = tiling->n_steps;

    for (int64_t s = 0; s < tiling->n_steps; s++)
        tiling->steps[s].us = HUGE_VAL;
    VBS_TRY(list_events(ctx, tiling, &n));
    point.us = 0;
    for (int64_t e = 0; e < n; e++) {
        const struct step_event *event = &tiling->events[e];
        struct tiled_step *step = &tiling->steps[event->step];

        if (step->us == HUGE_VAL)
            waiting--;
        else
            point.us -= step->us;
        point.us += step->us = event->us;
        point.bytes = event->bytes;
        if (waiting == 0 && (e + 1 == n || tiling->events[e + 1].bytes > event->bytes))
            VBS_TRY(vbs_estimate_offer(ctx, curve, &point));
    }
    return VBS_OK;
}

enum vbs_status vbs_tiling_offer(struct vbs_ctx *ctx, struct tiling *tiling, int from, int to,
                                 int rows, int tail, struct estimate_curve *curve)
{
    const struct tiled_segment segment = {.ctx = ctx,
                                          .tiling = tiling,
                                          .from = from,
                                          .to = to,
                                          .tail = tail,
                                          .base_bytes = segment_bytes(tiling, from, to, tail)};

    VBS_TRY(vbs_check_cancel(ctx));
    VBS_TRY(find_tiles(ctx, tiling, from, to, rows));
    VBS_TRY(list_steps(&segment));
    return offer_steps(ctx, tiling, (struct estimate_point){.tiles = rows, .tail = tail}, curve);
}

enum vbs_status vbs_tiling_offer_whole(struct vbs_ctx *ctx, struct tiling *tiling, int layer,
                                       int64_t base_bytes, struct estimate_curve *curve)
{
    const struct tiled_segment segment = {.ctx = ctx, .tiling = tiling};

    tiling->n_steps = 0;
    VBS_TRY(add_step(
        &segment, &(struct tiled_step){.layer = layer, .columns = 1, .bytes = base_bytes, .n = 1}));
    return offer_steps(ctx, tiling, (struct estimate_point){0}, curve);
}
