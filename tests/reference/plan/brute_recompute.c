#include "reference/plan/brute_recompute.h"

#include "reference/plan/brute_common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS    BRUTE_TILES_ROWS
#define LAYERS  BRUTE_TILES_LAYERS
#define PADDING 64 /* more rows of padding than any reach has */

/* Bytes of steps of a layer by the rows and columns that they compute, and their number; column 0
 * of row 0 is a layer that runs whole. */
struct brute_steps {
    int64_t most_bytes[LAYERS + 1][ROWS + 1][ROWS + 1];
    int n[LAYERS + 1][ROWS + 1][ROWS + 1];
};

struct brute_plan {
    const struct vbs_profile *profile;
    enum brute_tiles kind;
    int request;
    enum vbs_io io;
    int64_t memory_bytes; /* for one sample: what other samples take is subtracted */
    struct brute_steps *steps;
};

/* Which rows of each tensor are marked. */
struct brute_marks {
    bool is[LAYERS + 1][ROWS];
};

/* ---- the network ---- */

static const struct vbs_profile_layer *about(const struct brute_plan *plan, int layer)
{
    return &plan->profile->layers[layer];
}

static bool reads(const struct brute_plan *plan, int reader, int tensor)
{
    for (int i = 0; i < about(plan, reader)->n_inputs; i++)
        if (about(plan, reader)->inputs[i] == tensor)
            return true;
    return false;
}

/* Gives whether a layer behind last reads the tensor; last 0: any layer. */
static bool is_read_behind(const struct brute_plan *plan, int tensor, int last)
{
    for (int k = last + 1; k <= plan->profile->n_layers; k++)
        if (reads(plan, k, tensor))
            return true;
    return false;
}

static bool is_kept(const struct brute_plan *plan, int tensor)
{
    return plan->io == VBS_IO_RESIDENT || (tensor > 0 && is_read_behind(plan, tensor, 0));
}

/* Gives whether the tensor is needed after the layers up to last: somebody reads it then, or it is
 * a final output. */
static bool is_needed_behind(const struct brute_plan *plan, int tensor, int last)
{
    return is_read_behind(plan, tensor, last) || !is_read_behind(plan, tensor, 0);
}

/* Gives the bytes of all tensors that exist before a layer and are still needed. */
static int64_t bytes_before(const struct brute_plan *plan, int layer)
{
    int64_t bytes = 0;

    for (int t = 0; t < layer; t++)
        if (is_kept(plan, t) && is_needed_behind(plan, t, layer - 1))
            bytes += about(plan, t)->out_bytes;
    return bytes;
}

static bool reads_row(const struct vbs_reach *reach, int y, int x)
{
    return x >= floor(((double)reach->step * y + (double)reach->low) / reach->unit) &&
           x <= floor(((double)reach->step * y + (double)reach->high) / reach->unit);
}

/* Marks the rows of an input of n rows from the first to the last that marked rows of the output
 * read, rows of padding among them. */
static void mark_input(const struct vbs_reach *reach, const bool *output, int n_output, bool *input,
                       int n)
{
    int first = PADDING + n, last = -PADDING - 1;

    for (int y = 0; y < n_output; y++)
        for (int x = -PADDING; x < n + PADDING && output[y]; x++)
            if (reads_row(reach, y, x)) {
                first = x < first ? x : first;
                last = x > last ? x : last;
            }
    for (int x = 0; x < n; x++)
        input[x] = input[x] || (x >= first && x <= last);
}

static int count(const bool *marks)
{
    int n = 0;

    for (int x = 0; x < ROWS; x++)
        n += marks[x];
    return n;
}

/* Marks all rows between marked ones. */
static void fill_between(bool *marks)
{
    int first = ROWS, last = -1;

    for (int x = 0; x < ROWS; x++)
        if (marks[x]) {
            first = x < first ? x : first;
            last = x;
        }
    for (int x = first; x <= last; x++)
        marks[x] = true;
}

/* ---- segments ---- */

static bool accumulates(const struct vbs_profile_layer *layer)
{
    return layer->reaches && layer->reaches[0].unit == 0 && layer->reaches[0].step == 1;
}

static bool can_be_segment(const struct brute_plan *plan, int from, int to)
{
    for (int k = from; k <= to; k++) {
        if (!about(plan, k)->reaches || accumulates(about(plan, k)))
            return false;
        for (int i = 0; i < about(plan, k)->n_inputs; i++)
            if (about(plan, k)->inputs[i] >= from && about(plan, k)->reaches[i].unit == 0)
                return false;
        if (is_needed_behind(plan, k, to) && about(plan, k)->rows != about(plan, to)->rows)
            return false;
    }
    return true;
}

static bool can_accumulate(const struct brute_plan *plan, int from, int layer)
{
    const struct vbs_profile_layer *l = about(plan, layer);
    bool all[ROWS] = {false}, one[ROWS] = {true};

    if (l->n_inputs != 1 || l->inputs[0] != layer - 1 || layer - 1 < from || l->in_place ||
        is_read_behind(plan, layer - 1, layer))
        return false;
    if (strcmp(l->kind, "conv") == 0 || strcmp(l->kind, "add") == 0)
        return false;
    if (accumulates(l))
        return true;
    if (!l->reaches || l->reaches[0].unit == 0)
        return !l->reaches || l->rows == 1;
    mark_input(&l->reaches[0], one, 1, all, about(plan, layer - 1)->rows);
    return l->rows == 1 && count(all) == about(plan, layer - 1)->rows;
}

/* Marks what a tile computes of each layer, and of the network's input what each layer reads. */
static void mark_tile(const struct brute_plan *plan, int from, int to, int first, int end,
                      struct brute_marks *rows, struct brute_marks *input)
{
    memset(rows, 0, sizeof *rows);
    memset(input, 0, sizeof *input);
    for (int k = to; k >= from; k--) {
        const struct vbs_profile_layer *l = about(plan, k);

        for (int y = first; y < end && is_needed_behind(plan, k, to); y++)
            rows->is[k][y] = true;
        fill_between(rows->is[k]);
        for (int i = 0; i < l->n_inputs && count(rows->is[k]) > 0; i++) {
            int t = l->inputs[i];

            if (t >= from)
                mark_input(&l->reaches[i], rows->is[k], l->rows, rows->is[t], about(plan, t)->rows);
            else if (t == 0 && !is_kept(plan, 0) && l->reaches[i].unit != 0)
                mark_input(&l->reaches[i], rows->is[k], l->rows, input->is[k],
                           about(plan, 0)->rows);
            else if (t == 0 && !is_kept(plan, 0))
                memset(input->is[k], true, (size_t)about(plan, 0)->rows);
        }
        fill_between(input->is[k]);
    }
}

/* Gives the bytes of rows x columns of a tensor that has as many columns as rows. */
static int64_t area_bytes(const struct brute_plan *plan, int tensor, int rows, int columns)
{
    const struct vbs_profile_layer *l = about(plan, tensor);
    int64_t bytes = l->out_bytes / l->rows * rows * columns;

    while (bytes % l->rows != 0)
        bytes++;
    return bytes / l->rows;
}

static void note_step(struct brute_plan *plan, int layer, int rows, int columns, int64_t bytes)
{
    int64_t *most = &plan->steps->most_bytes[layer][rows][columns];

    plan->steps->n[layer][rows][columns]++;
    *most = bytes > *most ? bytes : *most;
}

/* The bytes that are live during all of a segment: what was before it, and its outputs. */
static int64_t bytes_around(const struct brute_plan *plan, int from, int to, int tail)
{
    int64_t bytes = bytes_before(plan, from);

    for (int k = from; k <= to; k++)
        if (is_kept(plan, k) && is_needed_behind(plan, k, to + tail))
            bytes += about(plan, k)->out_bytes;
    return tail ? bytes + about(plan, to + 1)->out_bytes : bytes;
}

static bool is_needed_inside(const struct brute_plan *plan, int tensor, int after, int to)
{
    for (int k = after + 1; k <= to; k++)
        if (reads(plan, k, tensor))
            return true;
    return false;
}

/* Runs one tile, layer after layer. */
static void run_tile(struct brute_plan *plan, int from, int to, int tail,
                     const struct brute_marks *rows, const struct brute_marks *columns,
                     const struct brute_marks *input_rows, const struct brute_marks *input_columns)
{
    for (int k = from; k <= to + tail; k++) {
        int64_t bytes = bytes_around(plan, from, to, tail);
        int n = count(rows->is[k]), m = columns ? count(columns->is[k]) : about(plan, k)->rows;

        if (k <= to && (n == 0 || m == 0))
            continue;
        for (int t = from; t <= k && t <= to; t++)
            if (!is_needed_behind(plan, t, to + tail) &&
                (t == k || is_needed_inside(plan, t, k - 1, to + tail)))
                bytes += area_bytes(plan, t, count(rows->is[t]),
                                    columns ? count(columns->is[t]) : about(plan, t)->rows);
        if (k > to) {
            note_step(plan, k, 0, 0, bytes);
            continue;
        }
        if (is_needed_behind(plan, k, to + tail) && !is_kept(plan, k))
            bytes += area_bytes(plan, k, n, m);
        if (count(input_rows->is[k]) > 0)
            bytes += area_bytes(plan, 0, count(input_rows->is[k]),
                                columns ? count(input_columns->is[k]) : about(plan, 0)->rows);
        note_step(plan, k, n, m, bytes);
    }
}

/* ---- columns that are kept ---- */

struct brute_sweep {
    bool done[LAYERS + 1][ROWS];
    int kept[LAYERS + 1];
    int input[LAYERS + 1]; /* the most columns of the network's input that a step reads */
};

/* Gives whether the next column of a layer can be computed: the columns that it reads exist, and
 * for its last column all of its inputs. */
static bool can_go_on(const struct brute_plan *plan, const struct brute_sweep *sweep, int from,
                      int layer)
{
    const struct vbs_profile_layer *l = about(plan, layer);
    int next = count(sweep->done[layer]);
    bool column[ROWS] = {false};

    if (next == l->rows)
        return false;
    column[next] = true;
    for (int i = 0; i < l->n_inputs; i++) {
        int t = l->inputs[i];
        bool needed[ROWS] = {false};

        if (t < from)
            continue;
        mark_input(&l->reaches[i], column, l->rows, needed, about(plan, t)->rows);
        if (count(sweep->done[t]) == 0)
            return false;
        for (int x = 0; x < about(plan, t)->rows; x++)
            if ((needed[x] || next == l->rows - 1) && !sweep->done[t][x])
                return false;
    }
    return true;
}

/* Gives the columns of a layer that exist from the first one that a reader still reads. */
static int count_kept(const struct brute_plan *plan, const struct brute_sweep *sweep, int layer,
                      int to)
{
    bool needed[ROWS] = {false};
    int kept = 0;

    for (int k = layer + 1; k <= to; k++)
        for (int i = 0; i < about(plan, k)->n_inputs; i++) {
            bool todo[ROWS] = {false};

            for (int y = 0; y < about(plan, k)->rows; y++)
                todo[y] = !sweep->done[k][y];
            if (about(plan, k)->inputs[i] == layer)
                mark_input(&about(plan, k)->reaches[i], todo, about(plan, k)->rows, needed,
                           about(plan, layer)->rows);
        }
    for (int x = 0; x < about(plan, layer)->rows; x++)
        kept += sweep->done[layer][x] && (needed[x] || kept > 0);
    return kept;
}

/* Sweeps a segment column by column, always with the last layer that can go on. */
static void run_sweep(const struct brute_plan *plan, int from, int to, struct brute_sweep *sweep)
{
    int k = to;

    memset(sweep, 0, sizeof *sweep);
    for (int t = from; t <= to; t++)
        sweep->kept[t] = 1;
    while (k >= from) {
        struct brute_marks column = {0}, input = {0};
        int next = count(sweep->done[k]), kept;

        if (!can_go_on(plan, sweep, from, k)) {
            k--;
            continue;
        }
        column.is[k][next] = true;
        for (int i = 0; i < about(plan, k)->n_inputs; i++) {
            const struct vbs_reach *reach = &about(plan, k)->reaches[i];

            if (about(plan, k)->inputs[i] == 0 && reach->unit == 0)
                memset(input.is[k], true, (size_t)about(plan, 0)->rows);
            else if (about(plan, k)->inputs[i] == 0)
                mark_input(reach, column.is[k], about(plan, k)->rows, input.is[k],
                           about(plan, 0)->rows);
        }
        fill_between(input.is[k]);
        if (count(input.is[k]) > sweep->input[k])
            sweep->input[k] = count(input.is[k]);
        sweep->done[k][next] = true;
        kept = count_kept(plan, sweep, k, to);
        sweep->kept[k] = kept > sweep->kept[k] ? kept : sweep->kept[k];
        k = to;
    }
}

static void run_swept_tile(struct brute_plan *plan, int from, int to, int tail,
                           const struct brute_marks *rows, const struct brute_marks *input_rows)
{
    struct brute_sweep sweep;
    int64_t live = bytes_around(plan, from, to, tail);

    run_sweep(plan, from, to, &sweep);
    for (int t = from; t <= to; t++)
        if (!is_needed_behind(plan, t, to + tail))
            live += area_bytes(plan, t, count(rows->is[t]), sweep.kept[t]);
    for (int k = from; k <= to; k++) {
        int n = count(rows->is[k]);
        int64_t bytes = live;

        if (n == 0)
            continue;
        if (is_needed_behind(plan, k, to + tail) && !is_kept(plan, k))
            bytes += area_bytes(plan, k, n, 1);
        if (count(input_rows->is[k]) > 0)
            bytes += area_bytes(plan, 0, count(input_rows->is[k]), sweep.input[k]);
        note_step(plan, k, n, about(plan, k)->rows, bytes);
    }
    if (tail)
        note_step(plan, to + 1, 0, 0, live);
}

/* ---- times ---- */

/* Gives the fastest kernel of a layer for whole samples within a workspace. */
static double whole_us(const struct brute_plan *plan, int layer, int64_t ws_bytes)
{
    double best = HUGE_VAL;
    int n;
    const struct vbs_profile_row *rows = vbs_profile_rows(plan->profile, layer, 0, &n);

    for (int i = 0; i < n; i++)
        if (rows[i].ws_bytes <= ws_bytes)
            best = fmin(best, rows[i].time_us);
    return best;
}

/* Gives the least time of kernels that compute so many rows together, within a workspace. */
static double rows_us(const struct brute_plan *plan, int layer, int rows, int64_t ws_bytes)
{
    double us[ROWS + 1] = {0};
    int n;
    const struct vbs_profile_stripe *stripes = vbs_profile_stripes(plan->profile, layer, &n);

    for (int r = 1; r <= rows; r++) {
        us[r] = r == about(plan, layer)->rows ? whole_us(plan, layer, ws_bytes) : HUGE_VAL;
        for (int i = 0; i < n; i++)
            if (stripes[i].batch == 1 && stripes[i].row.rows <= r &&
                stripes[i].row.ws_bytes <= ws_bytes)
                us[r] = fmin(us[r], us[r - stripes[i].row.rows] + stripes[i].row.time_us);
    }
    return us[rows];
}

/* Gives the time of all steps that were noted: steps of a layer that compute equally much take the
 * kernels that fit beside the largest of them. */
static double steps_us(const struct brute_plan *plan)
{
    double sum = 0;

    for (int k = 1; k <= plan->profile->n_layers; k++)
        for (int r = 0; r <= ROWS; r++)
            for (int c = 0; c <= ROWS; c++) {
                int64_t ws = plan->memory_bytes - plan->steps->most_bytes[k][r][c];
                int n = plan->steps->n[k][r][c];

                if (n > 0 && r == 0)
                    sum += whole_us(plan, k, ws);
                else if (n > 0)
                    sum += n * rows_us(plan, k, r, ws) * c / about(plan, k)->rows;
            }
    return sum;
}

static double tiled_us(struct brute_plan *plan, int from, int to, int tail, int height)
{
    struct brute_marks rows, columns, input_rows, input_columns;
    int all = about(plan, to)->rows;

    memset(plan->steps, 0, sizeof *plan->steps);
    for (int a = 0; a < all; a += height) {
        mark_tile(plan, from, to, a, a + height < all ? a + height : all, &rows, &input_rows);
        if (plan->kind == BRUTE_TILES_FUSION_2D)
            run_swept_tile(plan, from, to, tail, &rows, &input_rows);
        else if (plan->kind != BRUTE_TILES_PATCH_2D)
            run_tile(plan, from, to, tail, &rows, NULL, &input_rows, NULL);
        for (int b = 0; b < all && plan->kind == BRUTE_TILES_PATCH_2D; b += height) {
            mark_tile(plan, from, to, b, b + height < all ? b + height : all, &columns,
                      &input_columns);
            run_tile(plan, from, to, tail, &rows, &columns, &input_rows, &input_columns);
        }
    }
    return steps_us(plan);
}

/* Gives the time of one layer on a whole sample. */
static double layer_us(const struct brute_plan *plan, int layer)
{
    const struct vbs_profile_layer *l = about(plan, layer);
    int64_t bytes = bytes_before(plan, layer), added = l->out_bytes;

    if (!is_kept(plan, 0) && reads(plan, layer, 0))
        bytes += about(plan, 0)->out_bytes;
    if (l->in_place && !is_read_behind(plan, l->inputs[0], layer))
        added -= about(plan, l->inputs[0])->out_bytes;
    return whole_us(plan, layer, plan->memory_bytes - bytes - (added > 0 ? added : 0));
}

/* Gives the least time of the layers from..to as one segment. */
static double segment_us(struct brute_plan *plan, int from, int to)
{
    bool fuses = plan->kind == BRUTE_TILES_FUSION || plan->kind == BRUTE_TILES_FUSION_2D;
    double best = from == to ? layer_us(plan, from) : HUGE_VAL;

    if (!fuses && from > 1)
        return best;
    for (int tail = 0; tail <= fuses; tail++) {
        int all = about(plan, to - tail)->rows;

        if (to - tail < from || (tail && !can_accumulate(plan, from, to)) ||
            !can_be_segment(plan, from, to - tail))
            continue;
        for (int n = 2; n <= all; n++)
            best = fmin(best, tiled_us(plan, from, to - tail, tail, (all + n - 1) / n));
    }
    return best;
}

/* Gives the least time of the layers from first on: all first segments are tried. */
static double best_from(double us[LAYERS + 1][LAYERS + 1], int first, int n)
{
    double best = first > n ? 0 : HUGE_VAL;

    for (int to = first; to <= n; to++)
        best = fmin(best, us[first][to] + best_from(us, to + 1, n));
    return best;
}

double brute_recompute_us(const struct vbs_profile *profile, enum brute_tiles kind, int request,
                          enum vbs_io io, int64_t memory_bytes)
{
    struct brute_plan plan = {.profile = profile, .kind = kind, .request = request, .io = io};
    double us[LAYERS + 1][LAYERS + 1], best;
    int64_t others = 0;

    plan.steps = brute_alloc(1, sizeof *plan.steps);
    for (int s = 0; s < request && io == VBS_IO_RESIDENT; s++) {
        int64_t bytes = (request - 1 - s) * profile->layers[0].out_bytes;

        for (int k = 1; k <= profile->n_layers; k++)
            if (!is_read_behind(&plan, k, 0))
                bytes += s * profile->layers[k].out_bytes;
        others = bytes > others ? bytes : others;
    }
    plan.memory_bytes = memory_bytes - others;
    for (int from = 1; from <= profile->n_layers; from++)
        for (int to = from; to <= profile->n_layers; to++)
            us[from][to] = segment_us(&plan, from, to);
    best = best_from(us, 1, profile->n_layers);
    free(plan.steps);
    return request * best;
}
