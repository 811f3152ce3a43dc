/*
 * Steps with rows (docs/accounting.md): the order of rows, the windows into which they are written,
 * and their bytes.
 */
#include "replay/sim.h"

#include "base/arith.h"
#include "base/fail.h"

#include <inttypes.h>

/* ---- the reach of a layer ---- */

/* Computes floor(a / b) for b above 0. */
static int64_t divide_down(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static int64_t within(int64_t row, int64_t low, int64_t high)
{
    return row < low ? low : row > high ? high : row;
}

static int rows_of(const struct sim *sim, int layer)
{
    return sim->profile->layers[layer].rows;
}

/* Gives whether the layer takes the rows of its inputs one after the other for one output. */
static bool accumulates(const struct sim *sim, int layer)
{
    const struct vbs_profile_layer *about = &sim->profile->layers[layer];

    return about->n_inputs > 0 && about->reaches[0].unit == 0 && about->reaches[0].step == 1;
}

/* Gives whether the layer reads all rows of an input at once. */
static bool is_whole(const struct vbs_reach *reach)
{
    return reach->unit == 0 && reach->step == 0;
}

/* Divides a number of rows of an input by the unit of a reach that is not whole. A layer that
 * accumulates takes its input's rows as they are. */
static int64_t in_units(int64_t rows, const struct vbs_reach *reach)
{
    return reach->unit == 0 ? rows : divide_down(rows, reach->unit);
}

/* Gives the first row of an input that row number row of the layer's output reads, or a later one
 * does: all rows of the input where no row is left, or where none of them is read. */
static int64_t first_read(const struct sim *sim, int layer, int input, int64_t row)
{
    const struct vbs_profile_layer *about = &sim->profile->layers[layer];
    const struct vbs_reach *reach = &about->reaches[input];
    int64_t n = rows_of(sim, about->inputs[input]);

    if (row >= about->rows)
        return n;
    return is_whole(reach) ? 0 : within(in_units(reach->step * row + reach->low, reach), 0, n);
}

/* Gives the row behind the last one of an input that the rows of the layer before row number end
 * read. */
static int64_t end_read(const struct sim *sim, int layer, int input, int64_t end)
{
    const struct vbs_profile_layer *about = &sim->profile->layers[layer];
    const struct vbs_reach *reach = &about->reaches[input];
    int64_t n = rows_of(sim, about->inputs[input]);

    return within(in_units(reach->step * (end - 1) + reach->high, reach) + 1, 0, n);
}

/* ---- the checks of a step ---- */

static enum vbs_status check_step(struct vbs_ctx *ctx, const struct sim *sim,
                                  const struct vbs_step *step)
{
    const struct vbs_profile_layer *about = &sim->profile->layers[step->layer];

    if (step->rows < 0 || step->row < 0 || step->window < 0)
        return vbs_sim_refuse(ctx, sim, step, "row, rows and window are 0 or more");
    if (step->n_slices > 1)
        return vbs_sim_refuse(ctx, sim, step, "a step with rows computes all channels");
    if (!about->reaches)
        return vbs_sim_refuse(ctx, sim, step, "the layer (%s) computes whole samples only",
                              about->kind);
    if (sim->tensors[step->layer].divided)
        return vbs_sim_refuse(ctx, sim, step,
                              "the layer runs by rows while one of its slices is ahead of another");
    if (step->row > about->rows - step->rows)
        return vbs_sim_refuse(ctx, sim, step, "the layer has %d rows only", about->rows);
    return VBS_OK;
}

/* Checks that the step goes on where the layer's last step ended. */
static enum vbs_status check_next(struct vbs_ctx *ctx, const struct sim *sim,
                                  const struct vbs_step *step)
{
    const struct stripes *stripes = &sim->tensors[step->layer].stripes;

    if (stripes->batch == 0 && step->row > 0)
        return vbs_sim_refuse(ctx, sim, step, "begins with row %d: rows 0 to %d are missing",
                              step->row, step->row - 1);
    if (stripes->batch == 0)
        return VBS_OK;
    if (step->batch != stripes->batch)
        return vbs_sim_refuse(ctx, sim, step,
                              "the layer has finished %d rows at batch %d, and runs at that batch "
                              "until all are done",
                              stripes->done, stripes->batch);
    if (step->window != stripes->window)
        return vbs_sim_refuse(ctx, sim, step,
                              "the window of these samples has %d rows, and keeps them",
                              stripes->window);
    if (step->row < stripes->done)
        return vbs_sim_refuse(ctx, sim, step, "computes rows again: the next one is %d",
                              stripes->done);
    if (step->row > stripes->done)
        return vbs_sim_refuse(ctx, sim, step, "leaves out rows: the next one is %d", stripes->done);
    return VBS_OK;
}

/* Checks that the rows that the step reads exist. The last rows of a sample come after all rows of
 * its inputs, which are free then. */
static enum vbs_status check_inputs(struct vbs_ctx *ctx, const struct sim *sim,
                                    const struct vbs_step *step)
{
    const struct tensor *layer = &sim->tensors[step->layer];
    int64_t end = layer->done + step->batch;

    for (int i = 0; i < layer->n_inputs; i++) {
        const struct tensor *input = &sim->tensors[layer->inputs[i]];
        int64_t rows;

        if (input->done >= end)
            continue;
        if (input->done + input->stripes.batch < end ||
            is_whole(&sim->profile->layers[step->layer].reaches[i]))
            return vbs_sim_refuse(ctx, sim, step,
                                  "reads up to sample %" PRId64 " of layer %d '%s', which has "
                                  "finished %" PRId64,
                                  end, layer->inputs[i],
                                  sim->profile->layers[layer->inputs[i]].name, input->done);
        rows = (int64_t)step->row + step->rows < rows_of(sim, step->layer)
                   ? end_read(sim, step->layer, i, (int64_t)step->row + step->rows)
                   : rows_of(sim, layer->inputs[i]);
        if (input->stripes.done < rows)
            return vbs_sim_refuse(ctx, sim, step,
                                  "reads rows 0 to %" PRId64 " of layer %d '%s', which has "
                                  "finished %d rows",
                                  rows - 1, layer->inputs[i],
                                  sim->profile->layers[layer->inputs[i]].name, input->stripes.done);
    }
    return VBS_OK;
}

/* Returns the first row of a sample of tensor that a reader still needs. One that has not begun the
 * sample has all its rows before it. */
static int64_t first_needed(const struct sim *sim, int tensor, int reader, int64_t sample)
{
    const struct tensor *layer = &sim->tensors[reader];
    bool has_begun = layer->done + layer->stripes.batch > sample;
    int64_t first = rows_of(sim, tensor);

    if (layer->done > sample)
        return first;
    if (!sim->profile->layers[reader].reaches)
        return 0;
    for (int i = 0; i < layer->n_inputs; i++)
        if (layer->inputs[i] == tensor) {
            int64_t row = first_read(sim, reader, i, has_begun ? layer->stripes.done : 0);

            first = row < first ? row : first;
        }
    return first;
}

/* Checks that the window has space for the rows that the step writes, beside those that are still
 * needed. No sample of the batch needs more rows than the last one, at which readers come last. */
static enum vbs_status check_window(struct vbs_ctx *ctx, const struct sim *sim,
                                    const struct vbs_step *step)
{
    const struct tensor *layer = &sim->tensors[step->layer];
    int64_t sample = layer->done + step->batch - 1, end = (int64_t)step->row + step->rows;

    if (layer->n_readers == 0 && !layer->counted)
        return step->window == 0 ? VBS_OK
                                 : vbs_sim_refuse(ctx, sim, step,
                                                  "the output leaves the budget and has no window");
    if (accumulates(sim, step->layer) && step->window != rows_of(sim, step->layer))
        return vbs_sim_refuse(ctx, sim, step,
                              "a window of %d rows; the layer adds all %d up in one output, which "
                              "is whole",
                              step->window, rows_of(sim, step->layer));
    if (step->window < step->rows || step->window > rows_of(sim, step->layer))
        return vbs_sim_refuse(ctx, sim, step, "a window of %d rows; it has from %d to %d",
                              step->window, step->rows, rows_of(sim, step->layer));
    if (layer->n_readers == 0 && end > step->window)
        return vbs_sim_refuse(
            ctx, sim, step, "its window has %d rows, but all rows of a final output stay in memory",
            step->window);
    for (int i = 0; i < layer->n_readers; i++) {
        int64_t first = first_needed(sim, step->layer, layer->readers[i], sample);

        if (end - first > step->window)
            return vbs_sim_refuse(ctx, sim, step,
                                  "its window has %d rows, but layer %d '%s' still needs those "
                                  "from row %" PRId64 " on",
                                  step->window, layer->readers[i],
                                  sim->profile->layers[layer->readers[i]].name, first);
    }
    return VBS_OK;
}

/* Returns the rows of the first window among the samples [from, end) that is no whole sample; 0:
 * all are whole samples. */
static int find_window(const struct sizes *sizes, int64_t from, int64_t end)
{
    int64_t low = 0, high = sizes->n;

    while (low < high) { /* finds the entries that begin at from or before */
        int64_t middle = low + (high - low) / 2;

        if (sizes->list[middle].from <= from)
            low = middle + 1;
        else
            high = middle;
    }
    for (int64_t i = low > 0 ? low - 1 : 0; i < sizes->n && sizes->list[i].from < end; i++)
        if (sizes->list[i].window > 0)
            return sizes->list[i].window;
    return 0;
}

enum vbs_status vbs_sim_check_whole(struct vbs_ctx *ctx, const struct sim *sim,
                                    const struct vbs_step *step, int64_t from)
{
    const struct tensor *layer = &sim->tensors[step->layer];

    for (int i = 0; i < layer->n_inputs; i++) {
        int input = layer->inputs[i];
        int window = find_window(&sim->tensors[input].sizes, from, from + step->batch);

        if (window > 0)
            return vbs_sim_refuse(ctx, sim, step,
                                  "reads whole samples, but layer %d '%s' has windows of %d of its "
                                  "%d rows",
                                  input, sim->profile->layers[input].name, window,
                                  rows_of(sim, input));
    }
    return VBS_OK;
}

enum vbs_status vbs_sim_check_rows(struct vbs_ctx *ctx, const struct sim *sim,
                                   const struct vbs_step *step)
{
    VBS_TRY(check_step(ctx, sim, step));
    VBS_TRY(check_next(ctx, sim, step));
    if (sim->tensors[step->layer].done + step->batch > sim->schedule->request)
        return vbs_sim_refuse(ctx, sim, step,
                              "runs past the request; the layer has finished %" PRId64
                              " of %" PRId64 " samples",
                              sim->tensors[step->layer].done, sim->schedule->request);
    VBS_TRY(check_inputs(ctx, sim, step));
    if (step->rows == rows_of(sim, step->layer))
        VBS_TRY(vbs_sim_check_whole(ctx, sim, step, sim->tensors[step->layer].done));
    return check_window(ctx, sim, step);
}

/* ---- bytes ---- */

/* Computes the bytes of a window of one sample. */
static bool window_bytes(const struct sim *sim, const struct vbs_step *step, int64_t *bytes)
{
    int rows = rows_of(sim, step->layer);
    int64_t sample_bytes = sim->tensors[step->layer].sample_bytes;

    *bytes = sample_bytes;
    if (step->window == rows)
        return true;
    *bytes = sample_bytes / rows * step->window; /* at most the sample's */
    return vbs_add(*bytes, VBS_WINDOW_ALIGNMENT - 1, bytes) &&
           (*bytes -= *bytes % VBS_WINDOW_ALIGNMENT, true);
}

/* Computes the bytes of the rows of the network's input that a step has inside, for all its
 * samples: those that it reads, and where it computes all rows of its layer, with the kernel of
 * whole samples, all. */
static bool outside_bytes(const struct sim *sim, const struct vbs_step *step, int64_t *bytes)
{
    const struct tensor *layer = &sim->tensors[step->layer];
    int64_t first = INT64_MAX, end = 0, sample_bytes = sim->tensors[0].sample_bytes;

    for (int i = 0; i < layer->n_inputs; i++) {
        int64_t from, to;

        if (layer->inputs[i] != 0)
            continue;
        if (is_whole(&sim->profile->layers[step->layer].reaches[i]) ||
            step->rows == sim->profile->layers[step->layer].rows)
            return vbs_mul(step->batch, sample_bytes, bytes);
        from = first_read(sim, step->layer, i, step->row);
        to = end_read(sim, step->layer, i, (int64_t)step->row + step->rows);
        first = from < first ? from : first;
        end = to > end ? to : end;
    }
    if (end <= first)
        return vbs_mul(0, 0, bytes);
    return vbs_mul(sample_bytes / rows_of(sim, 0) * (end - first), step->batch, bytes);
}

bool vbs_sim_count_rows(const struct sim *sim, const struct vbs_step *step, int64_t *added,
                        int64_t *outside)
{
    const struct tensor *layer = &sim->tensors[step->layer];

    *added = *outside = 0;
    if (layer->reads_outside && !outside_bytes(sim, step, outside))
        return false;
    if (step->window == 0 && accumulates(sim, step->layer))
        return vbs_mul(layer->sample_bytes, step->batch, added);
    if (step->window == 0)
        return vbs_mul(layer->sample_bytes / rows_of(sim, step->layer) * step->rows, step->batch,
                       added);
    if (step->row > 0)
        return true;
    return window_bytes(sim, step, added) && vbs_mul(*added, step->batch, added);
}

/* ---- progress ---- */

/* Notes what each sample of the tensor takes from its next sample on, and the rows of its window, 0
 * for a whole sample. */
static bool note_bytes(struct vbs_ctx *ctx, struct tensor *layer, int64_t bytes, int window)
{
    struct sizes *sizes = &layer->sizes;
    const struct size whole = {0, layer->sample_bytes, 0};
    const struct size *before = sizes->n > 0 ? &sizes->list[sizes->n - 1] : &whole;

    if (bytes == before->bytes && window == before->window)
        return true;
    if (vbs_grow(ctx, &sizes->list, &sizes->capacity, sizes->n + 1, sizeof *sizes->list) != VBS_OK)
        return false;
    sizes->list[sizes->n++] = (struct size){layer->done, bytes, window};
    return true;
}

enum vbs_status vbs_sim_begin_samples(struct vbs_ctx *ctx, struct sim *sim,
                                      const struct vbs_step *step)
{
    struct tensor *layer = &sim->tensors[step->layer];
    int64_t bytes = layer->sample_bytes;
    int window = step->window == rows_of(sim, step->layer) ? 0 : step->window;

    if (step->rows > 0 && step->window > 0 && !window_bytes(sim, step, &bytes))
        return vbs_sim_refuse_overflow(ctx, sim, step);
    return note_bytes(ctx, layer, bytes, window) ? VBS_OK : vbs_no_memory(ctx);
}

void vbs_sim_move_rows(struct sim *sim, const struct vbs_step *step)
{
    struct tensor *layer = &sim->tensors[step->layer];

    sim->n_in_rows += (step->row == 0);
    layer->stripes = (struct stripes){step->batch, step->row + step->rows, step->window};
    if (layer->stripes.done < rows_of(sim, step->layer))
        return;
    layer->stripes = (struct stripes){0};
    layer->done += step->batch;
    sim->n_in_rows--;
}

int64_t vbs_sim_released_bytes(struct tensor *tensor, int64_t from, int64_t to)
{
    struct sizes *sizes = &tensor->sizes;
    int64_t bytes = 0;

    while (from < to) {
        bool more = sizes->at < sizes->n && sizes->list[sizes->at].from < to;
        int64_t end = more ? sizes->list[sizes->at].from : to;
        int64_t each = sizes->at > 0 ? sizes->list[sizes->at - 1].bytes : tensor->sample_bytes;

        if (end > from)
            bytes += (end - from) * each;
        from = end > from ? end : from;
        sizes->at += more;
    }
    return bytes;
}
