#include "backend/onednn/training/direct.h"

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/training/tile.h"

#include <string.h>

#define PANEL_LANES  24    /* columns of a panel, at most: the vectors of a tile */
#define SUM_FLOATS   2048  /* of the sums that are computed at once, to stay in the first cache */
#define SLICE_FLOATS 6144  /* of a panel that is multiplied with all of these, likewise */
#define CHUNK        160   /* positions that are multiplied at once for a gradient of weights */
#define MOST_WEIGHTS 65536 /* larger weights do not stay in the second cache */
#define FEWEST_TERMS 16    /* fewer for each sum do not pay the loading and storing of sums */
#define MOST_TERMS   64

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Copies a few floats; the compiler makes instructions of it. */
static inline void copy_few(int64_t n, const float *from, float *to)
{
    int64_t i = 0;

    for (; i + OD_LANES <= n; i += OD_LANES)
        memcpy(to + i, from + i, OD_LANES * sizeof *to);
    for (; i < n; i++)
        to[i] = from[i];
}

/* ---- panels: columns that are multiplied together, [rows][columns] ---- */

static int64_t whole_vectors(int64_t n)
{
    return (n + OD_LANES - 1) / OD_LANES * OD_LANES;
}

/* Gives the width of the panel that begins at a column: 3 vectors, or 2 where 1 would be left. */
static int64_t panel_width(int64_t n, int64_t first)
{
    int64_t left = (n - first + OD_LANES - 1) / OD_LANES;

    return OD_LANES * (left > 4 || left == 3 ? 3 : left >= 2 ? 2 : 1);
}

/* Copies rows into a panel; columns beyond the last are 0. */
static void fill_panel(int64_t n_rows, int64_t row, int64_t n_columns, const float *from,
                       int64_t width, float *panel)
{
    int64_t n = smaller(n_columns, width);

    for (int64_t r = 0; r < n_rows; r++, from += row, panel += width) {
        copy_few(n, from, panel);
        for (int64_t c = n; c < width; c++)
            panel[c] = 0;
    }
}

/* Does the same from columns, of which each is `column` floats behind the one before. */
static void turn_panel(int64_t n_rows, int64_t n_columns, int64_t column, const float *from,
                       int64_t width, float *panel)
{
    int64_t n = smaller(n_columns, width);

    memset(panel, 0, (size_t)(n_rows * width) * sizeof *panel);
    for (int64_t c = 0; c < n; c++)
        for (int64_t r = 0; r < n_rows; r++)
            panel[r * width + c] = from[c * column + r];
}

/* ---- a direction ---- */

struct direct_job {
    struct od_direct d;
    bool back; /* from the gradient of the output to that of the input */
    bool accumulates;
    int64_t terms; /* products that one element of the kernel adds to a sum */
    float *to;
    const float *from, *weights;
    float *panels; /* of weights */
    float *sums;   /* of the parts */
    int64_t part_sums;
};

static int64_t kernel_size(const struct od_direct *d)
{
    return d->kernel[0] * d->kernel[1];
}

/* Where windows do not reach beyond the columns of the input, the elements of a row of the kernel
 * read floats that follow each other, as if they were channels of one element. */
static bool has_joined_rows(const struct od_direct *d)
{
    return d->dilation[1] == 1 && d->low[1] == 0 &&
           (d->out[1] - 1) * d->stride[1] + d->kernel[1] <= d->in[1];
}

/* Gives the columns of the output whose element `column` of the kernel is inside the input. */
static void valid_columns(const struct od_direct *d, int64_t column, int64_t *first, int64_t *end)
{
    int64_t at = column * d->dilation[1] - d->low[1], left = d->in[1] - at;

    *first = at < 0 ? (-at + d->stride[1] - 1) / d->stride[1] : 0;
    *end = left <= 0 ? 0 : smaller(d->out[1], (left + d->stride[1] - 1) / d->stride[1]);
}

/* Gives the row that row `to` reads through row `k` of the kernel; below 0: none. */
static int64_t row_read(const struct direct_job *j, int64_t to, int64_t k)
{
    const struct od_direct *d = &j->d;
    int64_t row = j->back ? to + d->low[0] - k * d->dilation[0]
                          : to * d->stride[0] + k * d->dilation[0] - d->low[0];

    if (!j->back)
        return row < d->in[0] ? row : -1;
    return row >= 0 && row % d->stride[0] == 0 && row / d->stride[0] < d->out[0]
               ? row / d->stride[0]
               : -1;
}

/* The side that is written, or read: one image. */
struct conv_side {
    int64_t rows, columns, channels;
};

static struct conv_side side_of(const struct direct_job *j, bool written)
{
    const struct od_direct *d = &j->d;

    return written == j->back ? (struct conv_side){d->in[0], d->in[1], d->in_channels}
                              : (struct conv_side){d->out[0], d->out[1], d->out_channels};
}

/* A block of sums: some rows of one image, in the columns of one panel. */
struct sum_block {
    int64_t image, first, end; /* rows */
    int64_t channel, width;    /* of the panel */
    const float *panel;
    float *sums;
};

/* Adds what some rows of the kernel contribute in one of its columns. */
static void add_kernel_rows(const struct direct_job *j, const struct sum_block *b, int64_t column,
                            int64_t first, int64_t end)
{
    const struct od_direct *d = &j->d;
    struct conv_side to = side_of(j, true), from = side_of(j, false);
    int64_t low, high, inside, step = d->in_channels;
    struct od_term terms[MOST_TERMS];
    struct od_product p = {.n_columns = b->width,
                           .n_k = j->terms,
                           .a_k = 1,
                           .b_k = b->width,
                           .b = b->panel,
                           .terms = terms};

    valid_columns(d, column, &low, &high);
    inside = low * d->stride[1] + column * d->dilation[1] - d->low[1];
    p.n_rows = high - low;
    if (p.n_rows <= 0)
        return;
    p.a = j->from + b->image * from.rows * from.columns * from.channels +
          (j->back ? low * d->out_channels : inside * step);
    p.a_row = j->back ? d->out_channels : d->stride[1] * step;
    p.c_row = j->back ? d->stride[1] * b->width : b->width;
    for (int64_t row = b->first; row < b->end; row++) {
        p.n_terms = 0;
        for (int64_t k = first; k < end; k++) {
            int64_t read = row_read(j, row, k);

            if (read >= 0)
                terms[p.n_terms++] =
                    (struct od_term){read * from.columns * from.channels,
                                     (k * d->kernel[1] + column) * j->terms * b->width};
        }
        p.c = b->sums + ((row - b->first) * to.columns + (j->back ? inside : low)) * b->width;
        if (p.n_terms > 0)
            od_add_product(&p);
    }
}

/* Sets the sums of a block to what they begin with. */
static void begin_block(const struct direct_job *j, const struct sum_block *b,
                        const struct conv_side *to, const float *values)
{
    const float *bias = j->back ? NULL : j->d.bias;
    int64_t n = smaller(b->width, to->channels - b->channel);
    int64_t positions = (b->end - b->first) * to->columns;

    memset(b->sums, 0, (size_t)(positions * b->width) * sizeof *b->sums);
    for (int64_t i = 0; i < positions && j->accumulates; i++)
        copy_few(n, values + i * to->channels, b->sums + i * b->width);
    for (int64_t i = 0; i < positions && bias; i++)
        copy_few(n, bias + b->channel, b->sums + i * b->width);
}

static void end_block(const struct sum_block *b, const struct conv_side *to, float *values)
{
    int64_t n = smaller(b->width, to->channels - b->channel);

    for (int64_t i = 0; i < (b->end - b->first) * to->columns; i++)
        copy_few(n, b->sums + i * b->width, values + i * to->channels);
}

static void compute_block(const struct direct_job *j, struct sum_block *b)
{
    struct conv_side to = side_of(j, true);
    int64_t rows = SLICE_FLOATS / (j->terms * b->width); /* of the kernel, at once */
    float *values =
        j->to + ((b->image * to.rows + b->first) * to.columns) * to.channels + b->channel;

    rows = rows < 1 ? 1 : smaller(rows, MOST_TERMS);
    begin_block(j, b, &to, values);
    for (int64_t column = 0; column < j->d.kernel[1]; column++)
        for (int64_t k = 0; k < j->d.kernel[0]; k += rows)
            add_kernel_rows(j, b, column, k, smaller(k + rows, j->d.kernel[0]));
    end_block(b, &to, values);
}

static int64_t block_rows(const struct conv_side *to)
{
    int64_t rows = SUM_FLOATS / (to->columns * PANEL_LANES);

    return rows < 1 ? 1 : smaller(rows, to->rows);
}

static void compute_part(void *job, int64_t part)
{
    const struct direct_job *j = job;
    struct conv_side to = side_of(j, true);
    int64_t n = j->d.batch * to.rows, rows = block_rows(&to), end = n * (part + 1) / j->d.parts;
    struct sum_block b = {.sums = j->sums + part * j->part_sums};

    for (int64_t row = n * part / j->d.parts; row < end;) {
        b.image = row / to.rows;
        b.first = row % to.rows;
        b.end = smaller(smaller(b.first + rows, to.rows), b.first + end - row);
        for (b.channel = 0; b.channel < to.channels; b.channel += b.width) {
            b.width = panel_width(to.channels, b.channel);
            b.panel = j->panels + b.channel * kernel_size(&j->d) * j->terms;
            compute_block(j, &b);
        }
        row += b.end - b.first;
    }
}

/* Copies the weights into panels of the output's or, backward, of the input's channels. */
static void fill_panels(const struct direct_job *j)
{
    const struct od_direct *d = &j->d;
    int64_t in = d->in_channels, out = d->out_channels, n = j->back ? in : out, width;
    int64_t size = kernel_size(d);
    float *panel = j->panels;

    for (int64_t c = 0; c < n; c += width) {
        width = panel_width(n, c);
        if (!j->back)
            fill_panel(size * j->terms, out, out - c, j->weights + c, width, panel);
        for (int64_t k = 0; k < size && j->back; k++)
            turn_panel(out, in - c, out, j->weights + (k * in + c) * out, width,
                       panel + k * out * width);
        panel += size * j->terms * width;
    }
}

static int64_t panels_floats(const struct od_direct *d)
{
    int64_t of_out = d->in_channels * whole_vectors(d->out_channels);
    int64_t of_in = d->out_channels * whole_vectors(d->in_channels);

    return kernel_size(d) * (of_out > of_in ? of_out : of_in);
}

static struct direct_job job_of(const struct od_direct *d, bool joined, bool back,
                                float *const *data)
{
    struct direct_job j = {.d = *d,
                           .back = back,
                           .to = data[0],
                           .from = data[1],
                           .weights = data[2],
                           .panels = data[3]};
    struct conv_side to = side_of(&j, true);

    j.terms = back ? d->out_channels : d->in_channels;
    j.sums = j.panels + panels_floats(d);
    j.part_sums = block_rows(&to) * to.columns * PANEL_LANES;
    if (joined) {
        j.terms *= d->kernel[1];
        j.d.kernel[1] = 1;
    }
    return j;
}

static bool run(struct direct_job *j)
{
    fill_panels(j);
    od_parallel(j->d.parts, INT64_C(1) << 30, compute_part, j);
    return true;
}

bool od_direct_forward(const void *plan, float *const *data)
{
    struct direct_job j = job_of(plan, has_joined_rows(plan), false, data);

    return run(&j);
}

bool od_direct_input(const void *plan, float *const *data)
{
    struct direct_job j = job_of(plan, false, true, data);

    return run(&j);
}

bool od_direct_input_accumulate(const void *plan, float *const *data)
{
    struct direct_job j = job_of(plan, false, true, data);

    j.accumulates = true;
    return run(&j);
}

/* ---- the gradient of the weights ---- */

/* A part's sums are panels of the output's channels: a row for each weight of a channel, and one
 * for the bias. */
struct weights_job {
    struct od_direct d;
    int64_t terms; /* weights of one element of the kernel and one output channel */
    int64_t rows;  /* of the panels */
    const float *input, *gradient;
    float *to;
    float *sums, *panels; /* of all parts */
};

/* Adds the products of rows of all images, numbers first to end - 1, for one element of the
 * kernel. */
static void add_element(const struct weights_job *j, int64_t row, int64_t column, int64_t first,
                        int64_t end, const float *panel, int64_t width, float *sums)
{
    const struct od_direct *d = &j->d;
    int64_t low, high, line = d->in[1] * d->in_channels;
    struct od_term terms[MOST_TERMS];
    struct od_product p = {.b = panel,
                           .c = sums + (row * d->kernel[1] + column) * j->terms * width,
                           .n_rows = j->terms,
                           .n_columns = width,
                           .a_row = 1,
                           .a_k = d->stride[1] * d->in_channels,
                           .b_k = width,
                           .c_row = width,
                           .terms = terms};

    valid_columns(d, column, &low, &high);
    p.n_k = high - low;
    p.a = j->input + (low * d->stride[1] + column * d->dilation[1] - d->low[1]) * d->in_channels;
    if (p.n_k <= 0)
        return;
    for (int64_t i = first; i < end; i++) {
        int64_t read = i % d->out[0] * d->stride[0] + row * d->dilation[0] - d->low[0];

        if (read >= 0 && read < d->in[0])
            terms[p.n_terms++] = (struct od_term){(i / d->out[0] * d->in[0] + read) * line,
                                                  ((i - first) * d->out[1] + low) * width};
        if (p.n_terms == MOST_TERMS || i == end - 1) {
            od_add_product(&p);
            p.n_terms = 0;
        }
    }
}

static int64_t chunk_rows(const struct od_direct *d)
{
    return d->out[1] < CHUNK ? CHUNK / d->out[1] : 1;
}

/* Adds the gradient of some rows of all images, which is in a panel, to the sums of the panel. */
static void add_chunk(const struct weights_job *j, int64_t first, int64_t end, const float *panel,
                      int64_t width, float *sums)
{
    const struct od_direct *d = &j->d;
    const struct od_term begin = {0, 0};
    const float one = 1;
    struct od_product bias = {.a = &one,
                              .b = panel,
                              .c = sums + (j->rows - 1) * width,
                              .n_rows = 1,
                              .n_columns = width,
                              .n_k = (end - first) * d->out[1],
                              .b_k = width,
                              .c_row = width,
                              .n_terms = 1,
                              .terms = &begin};

    for (int64_t row = 0; row < d->kernel[0]; row++)
        for (int64_t column = 0; column < d->kernel[1]; column++)
            add_element(j, row, column, first, end, panel, width, sums);
    if (d->bias)
        od_add_product(&bias);
}

/* Adds the gradient of some rows of all images. panel: scratch memory. */
static void add_rows(const struct weights_job *j, int64_t first, int64_t end, float *panel,
                     float *sums)
{
    const struct od_direct *d = &j->d;
    int64_t n = d->out_channels, width;
    const float *gradient = j->gradient + first * d->out[1] * n;

    for (int64_t c = 0; c < n; c += width) {
        width = panel_width(n, c);
        if (width != n)
            fill_panel((end - first) * d->out[1], n, n - c, gradient + c, width, panel);
        add_chunk(j, first, end, width == n ? gradient : panel, width, sums + c * j->rows);
    }
}

static void add_part(void *job, int64_t part)
{
    const struct weights_job *j = job;
    const struct od_direct *d = &j->d;
    int64_t n = d->batch * d->out[0], rows = chunk_rows(d), end = n * (part + 1) / d->parts;
    int64_t floats = j->rows * whole_vectors(d->out_channels);
    float *panel = j->panels + part * rows * d->out[1] * PANEL_LANES;
    float *sums = j->sums + part * floats;

    memset(sums, 0, (size_t)floats * sizeof *sums);
    for (int64_t first = n * part / d->parts; first < end; first += rows)
        add_rows(j, first, smaller(first + rows, end), panel, sums);
}

/* Adds the sums of all parts, and takes them out of their panels. */
static void add_up(const struct weights_job *j)
{
    const struct od_direct *d = &j->d;
    int64_t n = d->out_channels, floats = j->rows * whole_vectors(n), width;

    for (int64_t i = 0; i < floats; i++)
        for (int64_t part = 1; part < d->parts; part++)
            j->sums[i] += j->sums[part * floats + i];
    for (int64_t c = 0; c < n; c += width) {
        size_t bytes = sizeof(float) * (size_t)smaller(panel_width(n, c), n - c);
        const float *panel = j->sums + c * j->rows;

        width = panel_width(n, c);
        for (int64_t r = 0; r < j->rows - 1; r++)
            memcpy(j->to + r * n + c, panel + r * width, bytes);
        if (d->bias)
            memcpy(d->bias_gradient + c, panel + (j->rows - 1) * width, bytes);
    }
}

bool od_direct_weights(const void *plan, float *const *data)
{
    const struct od_direct *d = plan;
    struct weights_job j = {.d = *d,
                            .terms = d->in_channels,
                            .rows = kernel_size(d) * d->in_channels + 1,
                            .input = data[1],
                            .gradient = data[2],
                            .to = data[0],
                            .sums = data[3]};

    j.panels = j.sums + d->parts * j.rows * whole_vectors(d->out_channels);
    if (has_joined_rows(d)) {
        j.terms *= d->kernel[1];
        j.d.kernel[1] = 1;
    }
    od_parallel(d->parts, INT64_C(1) << 30, add_part, &j);
    add_up(&j);
    return true;
}

/* ---- before ---- */

bool od_direct_pays(const struct od_direct *d)
{
    int64_t row = d->kernel[0] * d->in_channels * (has_joined_rows(d) ? d->kernel[1] : 1);

    return od_has_products() && row >= FEWEST_TERMS && d->out_channels >= OD_LANES &&
           d->in_channels * d->out_channels <= MOST_WEIGHTS / kernel_size(d);
}

/* oneDNN computes three columns at once, of which narrow outputs leave a rest. */
bool od_direct_pays_forward(const struct od_direct *d)
{
    return d->out[1] <= OD_LANES;
}

/* oneDNN's kernel is as fast where channels are whole vectors, and takes twice as long elsewhere.
 */
bool od_direct_pays_input(const struct od_direct *d)
{
    return d->in_channels % OD_LANES != 0 || d->out_channels % OD_LANES != 0;
}

int64_t od_direct_scratch(const struct od_direct *d)
{
    const struct conv_side in = {d->in[0], d->in[1], 0}, out = {d->out[0], d->out[1], 0};
    int64_t of_in = block_rows(&in) * in.columns, of_out = block_rows(&out) * out.columns;
    int64_t sums = (of_in > of_out ? of_in : of_out) * PANEL_LANES;
    int64_t one = panels_floats(d) + d->parts * sums;
    int64_t other =
        d->parts * ((kernel_size(d) * d->in_channels + 1) * whole_vectors(d->out_channels) +
                    chunk_rows(d) * d->out[1] * PANEL_LANES);

    return one > other ? one : other;
}
