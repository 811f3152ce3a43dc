#include "plan/stripes/walk.h"

#include "base/fail.h"
#include "base/grow.h"

const struct stripe_option *vbs_stripe_option(const struct stripe_height *height,
                                              int64_t most_bytes)
{
    const struct stripe_option *best = NULL;

    for (int i = 0; i < height->n_options && height->options[i].bytes <= most_bytes; i++)
        best = &height->options[i];
    return best;
}

static const struct vbs_profile_layer *profile_layer(const struct vbs_stripes *stripes, int place)
{
    return &stripes->task->profile->layers[stripes->order[place]];
}

static bool is_inside(const struct vbs_stripes *stripes, int tensor, int from, int to)
{
    return tensor > 0 && stripes->place[tensor] >= from && stripes->place[tensor] <= to;
}

/* ---- lags ---- */

/* Computes how many rows the layer is behind j times its height when its inputs are behind by their
 * lags. An input that is whole, or is read whole, has none. */
static int64_t find_lag(const struct vbs_stripes *stripes, int place, int from)
{
    const struct vbs_profile_layer *l = profile_layer(stripes, place);
    int64_t lag = 0;

    for (int i = 0; i < l->n_inputs; i++) {
        const struct vbs_reach reach = vbs_reach_of_step(&l->reaches[i]);
        int64_t own;

        if (reach.step == 0 || !is_inside(stripes, l->inputs[i], from, place - 1))
            continue;
        own = -vbs_floor_div(-reach.unit * stripes->states[stripes->place[l->inputs[i]]].lag - 1 -
                                 reach.high,
                             reach.step) -
              1;
        lag = own > lag ? own : lag;
    }
    return lag;
}

static void begin(struct vbs_stripes *stripes, int from, int to)
{
    const struct vbs_task *task = stripes->task;

    for (int p = from; p <= to; p++) {
        struct stripe_state *state = &stripes->states[p];
        int layer = stripes->order[p];

        *state = (struct stripe_state){.height = state->height,
                                       .whole = task->n_readers[layer] == 0 ||
                                                vbs_layer_accumulates(profile_layer(stripes, p))};
        state->lag = find_lag(stripes, p, from);
        for (int i = 0; i < task->n_readers[layer]; i++) {
            bool inside = is_inside(stripes, task->readers[layer][i], from, to);

            state->waiting += inside;
            state->whole = state->whole || !inside;
        }
    }
    for (int h = stripes->first_height[from]; h < stripes->first_height[to + 1]; h++) {
        stripes->counts[h] = 0;
        stripes->most_bytes[h] = -1;
    }
    stripes->n_pieces = 0;
}

/* ---- the order of steps ---- */

/* Gives how many rows of an input of n rows must exist before the rows of the layer up to end. */
static int64_t rows_before(const struct vbs_profile_layer *l, int input, int64_t n, int64_t end)
{
    int64_t rows = n;

    if (end < l->rows)
        rows = vbs_reach_rows(&l->reaches[input], n, end - 1, 1).end;
    return rows > 0 ? rows : 1; /* of the input, some step comes first */
}

/* Gives the place of an input in the segment that lacks rows for those of the layer up to end, the
 * last one of several; -1: there is none. */
static int lacking_input(const struct vbs_stripes *stripes, int place, int64_t end, int from,
                         int to)
{
    const struct vbs_profile_layer *l = profile_layer(stripes, place);
    int lacking = -1;

    for (int i = 0; i < l->n_inputs; i++) {
        int at;

        if (!is_inside(stripes, l->inputs[i], from, to))
            continue;
        at = stripes->place[l->inputs[i]];
        if (at > lacking &&
            stripes->states[at].done < rows_before(l, i, stripes->layers[at].rows, end))
            lacking = at;
    }
    return lacking;
}

/* Gives how many rows of the layer can be computed now. */
static int64_t available(const struct vbs_stripes *stripes, int place, int from, int to)
{
    const struct vbs_profile_layer *l = profile_layer(stripes, place);
    int64_t least = l->rows;

    for (int i = 0; i < l->n_inputs; i++) {
        int64_t n, rows;

        if (!is_inside(stripes, l->inputs[i], from, to))
            continue;
        n = stripes->task->profile->layers[l->inputs[i]].rows;
        rows = vbs_reach_available(&l->reaches[i], n,
                                   stripes->states[stripes->place[l->inputs[i]]].done, l->rows);
        least = rows < least ? rows : least;
    }
    return least;
}

/* Gives the row at which the next steps of the layer end. */
static int64_t next_end(const struct vbs_stripes *stripes, int place)
{
    const struct stripe_state *state = &stripes->states[place];
    int64_t end = ((state->done + state->lag) / state->height + 1) * state->height - state->lag;
    int64_t rows = stripes->layers[place].rows;

    return end < rows ? end : rows;
}

/* Returns the first row of the layer's output that a reader still needs. One that shall compute all
 * its rows at once reads whole samples. */
static int64_t first_needed(const struct vbs_stripes *stripes, int place, int from, int to)
{
    const struct vbs_task *task = stripes->task;
    int layer = stripes->order[place];
    int64_t n = stripes->layers[place].rows, first = n;

    if (stripes->states[place].whole)
        return 0;
    for (int r = 0; r < task->n_readers[layer]; r++) {
        int reader = task->readers[layer][r];
        const struct vbs_profile_layer *l = &task->profile->layers[reader];
        const struct stripe_state *state;

        if (!is_inside(stripes, reader, from, to))
            continue;
        state = &stripes->states[stripes->place[reader]];
        if (state->done == 0 && state->height == l->rows)
            return 0;
        for (int i = 0; i < l->n_inputs; i++)
            if (l->inputs[i] == layer) {
                int64_t row = vbs_reach_first(&l->reaches[i], n, state->done, l->rows);

                first = row < first ? row : first;
            }
    }
    return first;
}

/* Appends the steps of the layer up to row end. *walked: false where no height is low enough. */
static enum vbs_status run_to(struct vbs_ctx *ctx, struct vbs_stripes *stripes, int place,
                              int64_t end, int from, int to, bool *walked)
{
    struct stripe_state *state = &stripes->states[place];
    const struct stripe_layer *layer = &stripes->layers[place];

    while (state->done < end) {
        int height = layer->n_heights - 1;
        int64_t live;

        while (height >= 0 && (layer->heights[height].rows > end - state->done ||
                               layer->heights[height].rows > state->height))
            height--;
        if (height < 0) {
            *walked = false;
            return VBS_OK;
        }
        VBS_TRY(vbs_grow(ctx, &stripes->pieces, &stripes->pieces_capacity, stripes->n_pieces + 1,
                         sizeof *stripes->pieces));
        state->runs +=
            stripes->n_pieces == 0 || stripes->pieces[stripes->n_pieces - 1].place != place;
        stripes->pieces[stripes->n_pieces++] =
            (struct stripe_piece){.place = place, .row = state->done, .height = height};
        stripes->counts[stripes->first_height[place] + height]++;
        state->done += layer->heights[height].rows;
        live = state->done - first_needed(stripes, place, from, to);
        if (live > state->window)
            state->window = (int)live;
        if (layer->heights[height].rows > state->window)
            state->window = layer->heights[height].rows;
    }
    return VBS_OK;
}

/* Gives the place of the layer that should go on: of those that no layer of the segment reads, the
 * one that has finished the least share of its rows; -1: all are done. */
static int find_last(const struct vbs_stripes *stripes, int from, int to)
{
    int least = -1;

    for (int p = to; p >= from; p--) {
        const struct stripe_state *state = &stripes->states[p];
        int64_t rows = stripes->layers[p].rows;

        if (state->waiting == 0 && state->done < rows &&
            (least < 0 ||
             next_end(stripes, p) * stripes->layers[least].rows < next_end(stripes, least) * rows))
            least = p;
    }
    return least;
}

/* Finds the steps in the late order: those that the next step of a last layer needs, then that
 * step. No layer is further ahead of the reader that needs it first than its height makes it. */
static enum vbs_status find_late(struct vbs_ctx *ctx, struct vbs_stripes *stripes, int from, int to,
                                 bool *walked)
{
    int place;

    *walked = true;
    while ((place = find_last(stripes, from, to)) >= 0) {
        stripes->states[place].asker = -1;
        while (place >= 0) {
            int64_t end = next_end(stripes, place);
            int input = lacking_input(stripes, place, end, from, to);

            if (input >= 0) {
                stripes->states[input].asker = place;
                place = input;
                continue;
            }
            VBS_TRY(run_to(ctx, stripes, place, end, from, to, walked));
            if (!*walked)
                return VBS_OK;
            place = stripes->states[place].asker;
        }
    }
    return VBS_OK;
}

/* Finds the steps in the early order: always the last layer that can run at its height. What a
 * layer has made waits for its readers, and not what it reads for the layer. */
static enum vbs_status find_early(struct vbs_ctx *ctx, struct vbs_stripes *stripes, int from,
                                  int to, bool *walked)
{
    int place = from;

    *walked = true;
    while (*walked && place >= from) {
        int64_t end = next_end(stripes, place);

        if (stripes->states[place].done < stripes->layers[place].rows &&
            available(stripes, place, from, to) >= end) {
            VBS_TRY(run_to(ctx, stripes, place, end, from, to, walked));
            place = to;
        } else {
            place--;
        }
    }
    for (int p = from; p <= to; p++)
        *walked = *walked && stripes->states[p].done == stripes->layers[p].rows;
    return VBS_OK;
}

/* ---- bytes ---- */

/* Chooses windows: all rows where fewer would take no less. */
static void choose_windows(struct vbs_stripes *stripes, int from, int to)
{
    for (int p = from; p <= to; p++) {
        struct stripe_state *state = &stripes->states[p];
        int layer = stripes->order[p], rows = stripes->layers[p].rows;

        if (!vbs_task_kept(stripes->task, layer))
            state->window = 0;
        else if (state->whole ||
                 vbs_window_bytes(&stripes->task->profile->layers[layer], state->window) >=
                     vbs_task_bytes(stripes->task, layer))
            state->window = rows;
    }
}

/* Gives the bytes that become free when the layer finishes the sample. */
static int64_t finish(struct vbs_stripes *stripes, int place, int from, int to)
{
    const struct vbs_task *task = stripes->task;
    int layer = stripes->order[place];
    int64_t bytes = 0;

    for (int i = 0; i < task->n_inputs[layer]; i++) {
        int tensor = task->inputs[layer][i];
        bool last = true;

        if (is_inside(stripes, tensor, from, to)) {
            struct stripe_state *state = &stripes->states[stripes->place[tensor]];

            if (--state->waiting == 0 && !state->whole)
                bytes += vbs_window_bytes(&task->profile->layers[tensor], state->window);
            continue;
        }
        for (int r = 0; r < task->n_readers[tensor]; r++) {
            int at = stripes->place[task->readers[tensor][r]];

            last =
                last && (at < from || (at <= to && (at == place || stripes->states[at].done ==
                                                                       stripes->layers[at].rows)));
        }
        if (last && vbs_task_kept(task, tensor))
            bytes += vbs_task_bytes(task, tensor);
    }
    return bytes;
}

/* Finds the most bytes of the steps of each height. */
static void count_bytes(struct vbs_stripes *stripes, int from, int to, int64_t before_bytes)
{
    const struct vbs_task *task = stripes->task;
    int64_t live = before_bytes;

    for (int p = from; p <= to; p++)
        stripes->states[p].done = 0;
    for (int64_t i = 0; i < stripes->n_pieces; i++) {
        const struct stripe_piece *piece = &stripes->pieces[i];
        const struct stripe_layer *layer = &stripes->layers[piece->place];
        struct stripe_state *state = &stripes->states[piece->place];
        int rows = layer->heights[piece->height].rows;
        int64_t *most = &stripes->most_bytes[stripes->first_height[piece->place] + piece->height];
        int64_t bytes;

        if (piece->row == 0 && state->window > 0)
            live += vbs_window_bytes(&task->profile->layers[layer->layer], state->window);
        bytes = live + vbs_outside_step_bytes(task, layer->layer, piece->row, rows);
        if (state->window == 0)
            bytes += vbs_layer_rows_bytes(&task->profile->layers[layer->layer], rows);
        *most = bytes > *most ? bytes : *most;
        state->done += rows;
        if (state->done == layer->rows)
            live -= finish(stripes, piece->place, from, to);
    }
}

enum vbs_status vbs_stripes_walk(struct vbs_ctx *ctx, struct vbs_stripes *stripes, int from, int to,
                                 bool early, int64_t before_bytes, bool *walked)
{
    begin(stripes, from, to);
    VBS_TRY(early ? find_early(ctx, stripes, from, to, walked)
                  : find_late(ctx, stripes, from, to, walked));
    if (!*walked)
        return VBS_OK;
    choose_windows(stripes, from, to);
    count_bytes(stripes, from, to, before_bytes);
    return VBS_OK;
}
