#include "reference/plan/brute_rows.h"

#include <math.h>
#include <string.h>

/* ---- which rows a row reads ---- */

static int rows_of(const struct brute_rows *state, int tensor)
{
    int rows = state->profile->layers[tensor].rows;

    return rows > 0 ? rows : 1;
}

/* Gives whether the layer takes its inputs' rows one after the other for one output. */
static bool accumulates(const struct brute_rows *state, int layer)
{
    const struct vbs_reach *reaches = state->profile->layers[layer].reaches;

    return reaches && reaches[0].unit == 0 && reaches[0].step == 1;
}

/* Gives whether the layer reads all rows of an input at once. */
static bool reads_whole(const struct brute_rows *state, int layer, int input)
{
    const struct vbs_reach *reaches = state->profile->layers[layer].reaches;

    return !reaches || (reaches[input].unit == 0 && reaches[input].step == 0);
}

/* Gives whether row y of the layer, of its output or of what it accumulates, reads row x of its
 * input number input. */
static bool reads_row(const struct brute_rows *state, int layer, int input, int y, int x)
{
    const struct vbs_reach *reach;

    if (reads_whole(state, layer, input))
        return true;
    if (accumulates(state, layer))
        return x == y;
    reach = &state->profile->layers[layer].reaches[input];
    return x >= floor(((double)reach->step * y + (double)reach->low) / reach->unit) &&
           x <= floor(((double)reach->step * y + (double)reach->high) / reach->unit);
}

static bool computed(const struct brute_rows *state, int layer, int sample, int y)
{
    const struct brute_sample *at = &state->samples[layer][sample];

    return at->complete || (at->begun && at->by_rows && at->done[y]);
}

#define BRUTE_ROWS_PADDING 64 /* more rows of padding than any reach has */

/* Gives whether a row of a sample is still needed: a reader has not gone past it. That is, some
 * output row that is still to be computed reads it or a row before it, one of padding too. */
static bool needed_by(const struct brute_rows *state, int tensor, int reader, int sample, int x)
{
    const struct vbs_profile_layer *about = &state->profile->layers[reader];

    for (int i = 0; i < about->n_inputs; i++) {
        if (about->inputs[i] != tensor)
            continue;
        if (state->samples[reader][sample].complete)
            continue;
        for (int y = 0; y < rows_of(state, reader); y++)
            for (int before = -BRUTE_ROWS_PADDING;
                 before <= x && !computed(state, reader, sample, y); before++)
                if (reads_row(state, reader, i, y, before))
                    return true;
    }
    return false;
}

static bool is_read(const struct brute_rows *state, int tensor)
{
    for (int k = 1; k <= state->profile->n_layers; k++)
        for (int i = 0; i < state->profile->layers[k].n_inputs; i++)
            if (state->profile->layers[k].inputs[i] == tensor)
                return true;
    return false;
}

static bool is_needed(const struct brute_rows *state, int tensor, int sample, int x)
{
    for (int k = 1; k <= state->profile->n_layers; k++)
        if (needed_by(state, tensor, k, sample, x))
            return true;
    return !is_read(state, tensor);
}

/* ---- memory ---- */

static bool counts(const struct brute_rows *state, int tensor)
{
    return state->io == VBS_IO_RESIDENT || (tensor > 0 && is_read(state, tensor));
}

static int64_t sample_bytes(const struct brute_rows *state, int tensor, int sample)
{
    const struct vbs_profile_layer *layer = &state->profile->layers[tensor];
    const struct brute_sample *at = &state->samples[tensor][sample];
    int64_t bytes;

    if (!at->by_rows || at->window == layer->rows)
        return layer->out_bytes;
    bytes = layer->out_bytes / layer->rows * at->window;
    while (bytes % 4096 != 0)
        bytes++;
    return bytes;
}

int64_t brute_rows_live(const struct brute_rows *state)
{
    int64_t bytes = 0;

    for (int t = 0; t <= state->profile->n_layers; t++)
        for (int s = 0; s < state->request && counts(state, t); s++)
            if (state->samples[t][s].begun && !state->samples[t][s].freed)
                bytes += sample_bytes(state, t, s);
    return bytes;
}

/* The rows of the network's input that the step has inside while it is outside: all between the
 * first and the last one that it reads, rows of padding among them, as far as the input has them;
 * and whole samples where the step computes all rows. */
static int64_t outside_bytes(const struct brute_rows *state, const struct vbs_step *step)
{
    const struct vbs_profile_layer *layer = &state->profile->layers[step->layer];
    const struct vbs_profile_layer *input = &state->profile->layers[0];
    int first = BRUTE_ROWS_PADDING, last = -BRUTE_ROWS_PADDING, n = 0;

    if (state->io == VBS_IO_RESIDENT)
        return 0;
    for (int i = 0; i < layer->n_inputs; i++) {
        if (layer->inputs[i] != 0)
            continue;
        if (step->rows == 0 || step->rows == layer->rows || reads_whole(state, step->layer, i))
            return step->batch * input->out_bytes;
        for (int y = step->row; y < step->row + step->rows; y++)
            for (int x = -BRUTE_ROWS_PADDING; x < BRUTE_ROWS_PADDING; x++)
                if (reads_row(state, step->layer, i, y, x)) {
                    first = x < first ? x : first;
                    last = x > last ? x : last;
                }
    }
    for (int x = 0; x < input->rows; x++)
        n += x >= first && x <= last;
    return input->rows > 0 ? step->batch * n * (input->out_bytes / input->rows) : 0;
}

/* ---- steps ---- */

void brute_rows_init(struct brute_rows *state, const struct vbs_profile *profile, int request,
                     enum vbs_io io)
{
    memset(state, 0, sizeof *state);
    state->profile = profile;
    state->request = request;
    state->io = io;
    for (int s = 0; s < request; s++)
        state->samples[0][s] = (struct brute_sample){.begun = true, .complete = true};
}

int brute_rows_finished(const struct brute_rows *state, int layer)
{
    int n = 0;

    while (n < state->request && state->samples[layer][n].complete)
        n++;
    return n;
}

/* Checks that the samples from first on can be begun or continued by the step. */
static bool follows(const struct brute_rows *state, const struct vbs_step *step, int first)
{
    const struct vbs_profile_layer *layer = &state->profile->layers[step->layer];
    const struct brute_sample *at = &state->samples[step->layer][first];
    int next = 0;

    if (first + step->batch > state->request)
        return false;
    if (step->rows == 0)
        return !at->begun && step->row == 0 && step->window == 0;
    if (!layer->reaches || step->rows < 0 || step->row < 0 || step->row + step->rows > layer->rows)
        return false;
    while (at->begun && next < layer->rows && at->done[next])
        next++;
    if (step->row != next)
        return false;
    return !at->begun || (step->batch == at->batch && step->window == at->window);
}

/* Returns whether a sample is in a window of fewer rows than it has. */
static bool is_cut(const struct brute_rows *state, int tensor, int sample)
{
    const struct brute_sample *at = &state->samples[tensor][sample];

    return at->by_rows && at->window < rows_of(state, tensor);
}

/* Checks that the inputs have the rows that the step reads; where it reads padding behind the last
 * row, all of them. A step that computes all rows reads whole samples. */
static bool inputs_exist(const struct brute_rows *state, const struct vbs_step *step, int first)
{
    const struct vbs_profile_layer *layer = &state->profile->layers[step->layer];
    int from = step->rows == 0 ? 0 : step->row;
    int to = step->rows == 0 ? rows_of(state, step->layer) : step->row + step->rows;

    for (int i = 0; i < layer->n_inputs; i++) {
        int input = layer->inputs[i];

        for (int s = first; s < first + step->batch; s++) {
            bool whole = step->rows == 0 || reads_whole(state, step->layer, i);

            if (to - from == rows_of(state, step->layer) && is_cut(state, input, s))
                return false;
            if (state->samples[input][s].complete)
                continue;
            /* A reader by rows needs samples of which the input has begun the rows, too. */
            if (whole || !state->samples[input][s].begun || to == rows_of(state, step->layer))
                return false;
            for (int y = from; y < to; y++)
                for (int x = 0; x < BRUTE_ROWS_PADDING; x++) {
                    int row = x < rows_of(state, input) ? x : rows_of(state, input) - 1;

                    if (reads_row(state, step->layer, i, y, x) && !computed(state, input, s, row))
                        return false;
                }
        }
    }
    return true;
}

static bool fits_window(const struct brute_rows *state, const struct vbs_step *step, int first)
{
    const struct vbs_profile_layer *layer = &state->profile->layers[step->layer];

    if (step->rows == 0)
        return true;
    if (!counts(state, step->layer))
        return step->window == 0;
    if (step->window < step->rows || step->window > layer->rows)
        return false;
    if (accumulates(state, step->layer) && step->window != layer->rows)
        return false;
    for (int s = first; s < first + step->batch; s++) {
        int oldest = 0;

        while (oldest < step->row + step->rows && !is_needed(state, step->layer, s, oldest))
            oldest++;
        if (step->row + step->rows - oldest > step->window)
            return false;
    }
    return true;
}

/* Does the step, and frees the samples of its inputs that nobody needs any more. Returns how many
 * bytes of its first input it freed. */
static int64_t advance(struct brute_rows *state, const struct vbs_step *step, int first)
{
    const struct vbs_profile_layer *layer = &state->profile->layers[step->layer];
    int64_t freed = 0;

    for (int s = first; s < first + step->batch; s++) {
        struct brute_sample *at = &state->samples[step->layer][s];

        *at = (struct brute_sample){.begun = true,
                                    .by_rows = step->rows != 0,
                                    .window = step->window,
                                    .batch = step->batch};
        for (int y = 0; y < step->row + step->rows; y++)
            at->done[y] = true;
        at->complete = step->rows == 0 || step->row + step->rows == layer->rows;
    }
    for (int i = 0; i < layer->n_inputs; i++)
        for (int s = first; s < first + step->batch; s++) {
            int input = layer->inputs[i];
            bool needed = false;

            if (!state->samples[step->layer][s].complete || state->samples[input][s].freed)
                continue;
            for (int k = 1; k <= state->profile->n_layers; k++)
                for (int j = 0; j < state->profile->layers[k].n_inputs; j++)
                    needed = needed || (state->profile->layers[k].inputs[j] == input &&
                                        !state->samples[k][s].complete);
            state->samples[input][s].freed = !needed;
            if (!needed && i == 0)
                freed += sample_bytes(state, input, s);
        }
    return freed;
}

bool brute_rows_step(struct brute_rows *state, const struct vbs_step *step, int64_t *bytes)
{
    const struct vbs_profile_layer *layer = &state->profile->layers[step->layer];
    int first = brute_rows_finished(state, step->layer);
    int64_t live = brute_rows_live(state) + outside_bytes(state, step), added = 0, freed;

    if (!follows(state, step, first) || !inputs_exist(state, step, first) ||
        !fits_window(state, step, first))
        return false;
    if (step->rows != 0 && !counts(state, step->layer)) {
        added = accumulates(state, step->layer)
                    ? step->batch * layer->out_bytes
                    : step->batch * step->rows * (layer->out_bytes / layer->rows);
        advance(state, step, first);
    } else {
        freed = advance(state, step, first);
        for (int s = first; s < first + step->batch && step->row == 0; s++)
            added += sample_bytes(state, step->layer, s);
        if (step->rows == 0 && layer->in_place)
            added -= added < freed ? added : freed;
    }
    *bytes = live + added;
    return true;
}

bool brute_rows_complete(const struct brute_rows *state)
{
    for (int k = 1; k <= state->profile->n_layers; k++)
        if (brute_rows_finished(state, k) < state->request)
            return false;
    return true;
}
