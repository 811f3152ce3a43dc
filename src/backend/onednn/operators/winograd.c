/*
 * Convolutions of 3x3 without stride, dilation and groups, on tensors with the channels last, by
 * Winograd's method (winograd.h). oneDNN's own works on blocks of channels and whole samples only.
 *
 * Tiles are computed in blocks: the points of a block's input, the products, and the points of its
 * output, which are transformed before the next block begins. So the workspace is that of a block.
 * There are two ways to divide the work among threads. Where the transformed weights are small,
 * each thread computes blocks of its own. Else threads compute the input's points of one block
 * together, and then outputs of their own, so that each weight is read once for a block by only one
 * of them.
 *
 * Kernels are named by their tiles: of 4 rows, or of 2 or 1 where the output has only so many.
 * Larger blocks read large weights fewer times, and are a kernel of their own; and so are kernels
 * whose weights are transformed when they are multiplied. These are a quarter of the transformed
 * ones (of tiles of 4 rows), which pays where they come from memory instead of a cache. They are
 * the same for tiles of all sizes.
 */
#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/operators/operators.h"
#include "backend/onednn/winograd/winograd.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

#define KERNEL         3                   /* rows and columns of a filter */
#define LEAST_CHANNELS 16                  /* of input and output */
#define BLOCK          8                   /* tiles of a block that is not large */
#define SMALL_WEIGHTS  (INT64_C(3) << 20)  /* bytes that each thread may read for each block */
#define CACHED_WEIGHTS (INT64_C(16) << 20) /* bytes that a cache may hold */
#define AT_ONCE        32                  /* channels whose filters are transformed at once */
#define GAP            16                  /* floats between points, which a cache's sets need */
#define LINE           64                  /* bytes that are fetched at once */

/* What kernels do with their workspace and weights. */
struct way {
    const char *ending;
    bool large, plain;   /* blocks; weights */
    int64_t most_points; /* bytes of the input's points in a block of more than BLOCK tiles */
};

static const struct way WAYS[] = {
    {"", false, false, 0},
    {"+large", true, false, INT64_C(4) << 20},
    {"+plain", true, true, INT64_C(5) << 18},
};

/* A size of tiles. */
struct tile_size {
    const char *name;
    int rows;
    int n_points; /* of input and filter */
    int n_sums;   /* points of the output */
    int n_terms;  /* points of the input of which a sum consists */
    od_filler *fill;
};

struct winograd {
    const struct od_winograd_loops *loops;
    const struct od_tile_loops *tile;
    struct tile_size size;
    int64_t rows, columns, channels;             /* of the input */
    int64_t out_rows, out_columns, out_channels; /* of the output */
    int64_t above, left;                         /* padding */
    int64_t tiles_down, tiles_across, n_tiles;   /* the last of all samples */
    const float *bias;
    const float *zeros; /* [channels] */
    bool relu;
    bool plain;  /* weights are not transformed yet */
    bool shared; /* threads share the points of a block */
    int threads;
    int64_t block, part; /* tiles of a block, and of those that one thread multiplies at once */
    /* Floats: from one point to the next, and of the parts of the workspace. */
    int64_t point, sum, filter_point;
    int64_t points_floats, sums_floats, filter_floats;
};

static int64_t up_to(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Gives the blocks of outputs. */
static int64_t n_outputs(const struct winograd *w)
{
    return (w->out_channels + OD_TILE_OUTPUTS - 1) / OD_TILE_OUTPUTS;
}

/* ---- running ---- */

struct winograd_run {
    const struct winograd *w;
    const float *src, *weights;
    float *dst, *ws;
    int64_t first, n; /* the tiles of the block that threads share */
};

/* Finds a tile's sample, and its first row and column of the output. */
static void find_tile(const struct winograd *w, int64_t tile, int64_t *sample, int64_t *y,
                      int64_t *x)
{
    int64_t line = tile / w->tiles_across;

    *sample = line / w->tiles_down;
    *y = line % w->tiles_down * w->size.rows;
    *x = tile % w->tiles_across * OD_TILE_COLUMNS;
}

/* Transforms n tiles of the input from tile `first` on: the tiles number `at`, .. of a block. */
static void transform_input(const struct winograd_run *run, int64_t first, int64_t n, int64_t at,
                            float *points)
{
    const struct winograd *w = run->w;
    struct od_tile_points to = {.point = w->point, .chunk = w->block * OD_TILE_CHUNK};
    struct od_tile_input in = {.channels = w->channels};

    for (int64_t i = 0; i < n; i++) {
        int64_t sample, top, left;

        find_tile(w, first + i, &sample, &top, &left);
        top -= w->above;
        left -= w->left;
        for (int64_t y = top; y < top + w->size.rows + KERNEL - 1; y++)
            for (int64_t x = left; x < left + OD_TILE_REACH; x++)
                in.cells[y - top][x - left] =
                    y < 0 || y >= w->rows || x < 0 || x >= w->columns
                        ? w->zeros
                        : run->src + ((sample * w->rows + y) * w->columns + x) * w->channels;
        to.to = points + (at + i) * OD_TILE_CHUNK;
        w->tile->input(&in, &to);
    }
}

/* Multiplies n tiles, whose input points are given, by the filters of a block of outputs. */
static void multiply(const struct winograd_run *run, int64_t output, int64_t n, const float *points,
                     float *sums)
{
    const struct winograd *w = run->w;
    struct od_tile_product p = {.chunk = w->block * OD_TILE_CHUNK,
                                .input_term = OD_TILE_REACH * w->point,
                                .filter_term = OD_TILE_REACH * w->channels * OD_TILE_OUTPUTS,
                                .n_tiles = n,
                                .channels = w->channels,
                                .n_terms = w->size.n_terms};
    int64_t filter = w->channels * OD_TILE_OUTPUTS;

    for (int i = 0; i < w->size.n_sums; i++) {
        p.input = points + i * w->point;
        p.filter = run->weights + (output * w->size.n_points + i) * filter;
        p.sums = sums + i * w->sum;
        w->loops->multiply(&p);
    }
}

/* Fetches part i of n of the filters that are transformed next. gcc leaves out calls of functions
 * that do nothing else, unless they are inlined. */
static inline __attribute__((always_inline)) void fetch(const float *filters, int i, int n)
{
    int64_t bytes = AT_ONCE * KERNEL * KERNEL * OD_TILE_OUTPUTS * (int64_t)sizeof *filters;
    const char *from = (const char *)filters;

    for (int64_t at = bytes * i / n / LINE * LINE; at < bytes * (i + 1) / n; at += LINE)
        __builtin_prefetch(from + at, 0, 2);
}

/* Does as multiply with filters that it transforms, some channels after the others. */
static void multiply_plain(const struct winograd_run *run, int64_t output, int64_t n,
                           const float *points, float *sums, float *filters)
{
    const struct winograd *w = run->w;
    const float *plain = run->weights + output * w->channels * KERNEL * KERNEL * OD_TILE_OUTPUTS;
    struct od_tile_product p = {.chunk = w->block * OD_TILE_CHUNK,
                                .input_term = OD_TILE_REACH * w->point,
                                .filter_term = OD_TILE_REACH * w->filter_point,
                                .n_tiles = n,
                                .n_terms = w->size.n_terms};

    for (int64_t c = 0; c < w->channels; c += AT_ONCE) {
        p.channels = least(AT_ONCE, w->channels - c);
        p.add = c > 0;
        w->tile->filter(plain, p.channels, filters, w->filter_point);
        plain += p.channels * KERNEL * KERNEL * OD_TILE_OUTPUTS;
        for (int i = 0; i < w->size.n_sums; i++) {
            fetch(plain, i, w->size.n_sums);
            p.input = points + i * w->point + c / OD_TILE_CHUNK * p.chunk;
            p.filter = filters + i * w->filter_point;
            p.sums = sums + i * w->sum;
            w->loops->multiply(&p);
        }
    }
}

/* Writes n tiles of a block of outputs, from tile `first` on. */
static void transform_output(const struct winograd_run *run, int64_t output, int64_t first,
                             int64_t n, const float *sums)
{
    const struct winograd *w = run->w;
    int64_t o = output * OD_TILE_OUTPUTS;
    struct od_tile_output out = {.point = w->sum,
                                 .bias = w->bias ? w->bias + o : NULL,
                                 .relu = w->relu,
                                 .row = w->out_columns * w->out_channels,
                                 .column = w->out_channels,
                                 .channels = least(OD_TILE_OUTPUTS, w->out_channels - o)};

    for (int64_t i = 0; i < n; i++) {
        int64_t sample, y, x;

        find_tile(w, first + i, &sample, &y, &x);
        out.sums = sums + i * OD_TILE_OUTPUTS;
        out.rows = w->out_rows - y;
        out.columns = w->out_columns - x;
        out.to = run->dst + (sample * w->out_rows + y) * out.row + x * out.column + o;
        w->tile->output(&out);
    }
}

/* Computes a block of outputs of n tiles, from tile `first` on, whose input points are given. */
static void compute(const struct winograd_run *run, int64_t output, int64_t first, int64_t n,
                    const float *points, float *sums)
{
    if (run->w->plain)
        multiply_plain(run, output, n, points, sums, sums + run->w->sums_floats);
    else
        multiply(run, output, n, points, sums);
    transform_output(run, output, first, n, sums);
}

/* Computes a thread's blocks. */
static void compute_blocks(void *job, int64_t thread, int64_t threads)
{
    const struct winograd_run *run = job;
    const struct winograd *w = run->w;
    int64_t n_blocks = (w->n_tiles + w->block - 1) / w->block;
    float *points = run->ws + thread * (w->points_floats + w->sums_floats + w->filter_floats);

    for (int64_t i = n_blocks * thread / threads; i < n_blocks * (thread + 1) / threads; i++) {
        int64_t first = i * w->block, n = least(w->block, w->n_tiles - first);

        transform_input(run, first, n, 0, points);
        for (int64_t o = 0; o < n_outputs(w); o++)
            compute(run, o, first, n, points, points + w->points_floats);
    }
}

/* Transforms a thread's share of the input of a block. */
static void share_input(void *job, int64_t thread, int64_t threads)
{
    const struct winograd_run *run = job;
    int64_t at = run->n * thread / threads;

    transform_input(run, run->first + at, run->n * (thread + 1) / threads - at, at, run->ws);
}

/* Computes a thread's share of the outputs of a block. */
static void share_outputs(void *job, int64_t thread, int64_t threads)
{
    const struct winograd_run *run = job;
    const struct winograd *w = run->w;
    float *sums = run->ws + w->points_floats + thread * (w->sums_floats + w->filter_floats);
    int64_t n_parts = (run->n + w->part - 1) / w->part, n = n_outputs(w) * n_parts;

    for (int64_t i = n * thread / threads; i < n * (thread + 1) / threads; i++) {
        int64_t at = i % n_parts * w->part;

        compute(run, i / n_parts, run->first + at, least(w->part, run->n - at),
                run->ws + at * OD_TILE_CHUNK, sums);
    }
}

static bool run_winograd(const void *plan, float *const *data)
{
    const struct winograd *w = plan;
    struct winograd_run run = {
        .w = w, .src = data[0], .dst = data[1], .weights = data[2], .ws = data[3]};

    if (!w->shared) {
        od_on_threads(compute_blocks, &run);
        return true;
    }
    for (; run.first < w->n_tiles; run.first += w->block) {
        run.n = least(w->block, w->n_tiles - run.first);
        od_on_threads(share_input, &run);
        od_on_threads(share_outputs, &run);
    }
    return true;
}

/* ---- weights ---- */

/* Writes the filters of a block of outputs to zeroed [inputs][3][3][OD_TILE_OUTPUTS]. row: space
 * for the weights of an output. */
static enum vbs_status fill_outputs(struct od_build *b, int64_t block, float *row, float *filters)
{
    int64_t first = block * OD_TILE_OUTPUTS;
    int64_t n = least(OD_TILE_OUTPUTS, od_weights_outputs(b) - first);
    int64_t count = od_input(b, 0)->channels * KERNEL * KERNEL;

    for (int64_t o = 0; o < n; o++) {
        VBS_TRY(od_weights_row(b, false, first + o, count, row));
        for (int64_t i = 0; i < count; i++)
            filters[i * OD_TILE_OUTPUTS + o] = row[i];
    }
    return VBS_OK;
}

/* Writes the weights of all outputs: their filters, or these transformed for a size of tiles. */
static enum vbs_status fill(struct od_build *b, int size, int n_points, float *to)
{
    int64_t channels = od_input(b, 0)->channels, outputs = od_weights_outputs(b);
    int64_t n_row = channels * KERNEL * KERNEL, count = n_row * OD_TILE_OUTPUTS;
    int64_t point = channels * OD_TILE_OUTPUTS;
    float *row = malloc((size_t)n_row * sizeof *row);
    float *filters = malloc((size_t)count * sizeof *filters);
    enum vbs_status status = row && filters ? VBS_OK : vbs_no_memory(b->ctx);

    for (int64_t o = 0; o * OD_TILE_OUTPUTS < outputs && status == VBS_OK; o++) {
        float *block = size < 0 ? to + o * count : filters;

        memset(block, 0, (size_t)count * sizeof *block);
        status = fill_outputs(b, o, row, block);
        if (status == VBS_OK && size >= 0)
            od_winograd()->sizes[size].filter(block, channels, to + o * n_points * point, point);
    }
    free(filters);
    free(row);
    return status;
}

static enum vbs_status fill_1(struct od_build *b, void *memory)
{
    return fill(b, 0, 18, memory);
}

static enum vbs_status fill_2(struct od_build *b, void *memory)
{
    return fill(b, 1, 24, memory);
}

static enum vbs_status fill_4(struct od_build *b, void *memory)
{
    return fill(b, 2, 36, memory);
}

static enum vbs_status fill_plain(struct od_build *b, void *memory)
{
    return fill(b, -1, KERNEL * KERNEL, memory);
}

static const struct tile_size SIZES[OD_TILE_SIZES] = {
    {"winograd:1x4", 1, 18, 6, 3, fill_1},
    {"winograd:2x4", 2, 24, 24, 1, fill_2},
    {"winograd:4x4", 4, 36, 36, 1, fill_4},
};

/* ---- planning ---- */

/* Gives whether the layer is a convolution that these kernels compute. */
static bool is_possible(const struct od_build *b)
{
    const struct vbs_window *window = &b->l->attributes.weighted.window;
    const struct od_tensor *in = od_input(b, 0), *out = od_output(b);

    if (b->l->op != VBS_OP_CONV || b->l->attributes.weighted.groups != 1 || in->n_spatial != 2 ||
        in->canonical != OD_CHANNELS_LAST || out->canonical != OD_CHANNELS_LAST ||
        in->channels < LEAST_CHANNELS || out->channels < LEAST_CHANNELS)
        return false;
    for (int i = 0; i < 2; i++)
        if (window->kernel[i] != KERNEL || window->stride[i] != 1 || window->dilation[i] != 1)
            return false;
    return true;
}

static void describe_layer(const struct od_build *b, struct winograd *w)
{
    const struct vbs_window *window = &b->l->attributes.weighted.window;
    const struct od_tensor *in = od_input(b, 0), *out = od_output(b);

    w->rows = in->spatial[0];
    w->columns = in->spatial[1];
    w->channels = in->channels;
    w->out_rows = out->spatial[0];
    w->out_columns = out->spatial[1];
    w->out_channels = out->channels;
    w->above = window->pad_low[0];
    w->left = window->pad_low[1];
    w->bias = b->session->weights[b->layer].bias;
    w->relu = od_weights_relu(b);
    w->threads = b->serial ? 1 : b->session->threads;
    w->tiles_down = (w->out_rows + w->size.rows - 1) / w->size.rows;
    w->tiles_across = (w->out_columns + OD_TILE_COLUMNS - 1) / OD_TILE_COLUMNS;
    w->n_tiles = b->batch * w->tiles_down * w->tiles_across;
}

/* Gives the bytes of all transformed filters. */
static int64_t filter_bytes(const struct winograd *w)
{
    return w->size.n_points * w->channels * w->out_channels * (int64_t)sizeof(float);
}

/* Gives the bytes of the input's points of a tile. */
static int64_t tile_bytes(const struct winograd *w)
{
    return w->size.n_points * up_to(w->channels, OD_TILE_CHUNK) * (int64_t)sizeof(float);
}

/* Divides the tiles into blocks of equal sizes, as nearly as possible. */
static void choose_blocks(struct winograd *w, int64_t most_points)
{
    int64_t most = most_points / tile_bytes(w), n_blocks;

    if (most < BLOCK)
        most = BLOCK;
    n_blocks = (w->n_tiles + most - 1) / most;
    if (!w->shared)
        n_blocks = up_to(n_blocks, w->threads);
    w->block = (w->n_tiles + n_blocks - 1) / n_blocks;
    w->part = w->block;
    if (w->shared && n_outputs(w) < w->threads) {
        int64_t n_parts = (w->threads + n_outputs(w) - 1) / n_outputs(w);

        w->part = (w->block + n_parts - 1) / n_parts;
    }
}

static void plan_workspace(struct winograd *w)
{
    w->point = w->block * up_to(w->channels, OD_TILE_CHUNK) + GAP;
    w->points_floats = w->size.n_points * w->point;
    w->sum = w->part * OD_TILE_OUTPUTS + GAP;
    w->sums_floats = w->size.n_sums * w->sum;
    if (w->plain) {
        w->filter_point = AT_ONCE * OD_TILE_OUTPUTS + GAP;
        w->filter_floats = w->size.n_points * w->filter_point;
    }
}

static int64_t workspace_floats(const struct winograd *w)
{
    int64_t apart = w->sums_floats + w->filter_floats;

    return w->shared ? w->points_floats + w->threads * apart
                     : w->threads * (w->points_floats + apart);
}

/* Gives whether a kernel is to be built. Large blocks are offered where weights come from memory,
 * and are larger than others. */
static bool is_offered(const struct od_build *b, const struct winograd *w, const struct way *way,
                       const char *name)
{
    const struct vbs_requested *requested = b->requested;

    if (requested)
        return requested->row_slices == 0 && requested->n_slices <= 1 &&
               strcmp(requested->name, name) == 0;
    return way->plain || !way->large || (filter_bytes(w) > CACHED_WEIGHTS && w->n_tiles > BLOCK);
}

/* Makes a memory object of n floats. */
static enum vbs_status add_floats(struct od_build *b, int64_t n, enum od_location location,
                                  dnnl_memory_t *memory)
{
    dnnl_memory_desc_t md;

    VBS_TRY(od_describe_vector(b, n, &md));
    return location == OD_BUFFER ? od_kernel_buffer(b, &md, memory)
                                 : od_kernel_memory(b, &md, location, 0, NULL, memory);
}

static enum vbs_status build_kernel(struct od_build *b, const struct winograd *made,
                                    const char *name)
{
    struct winograd *w = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *w);
    float *zeros = od_constants(b, made->channels);
    int64_t filters = n_outputs(made) * OD_TILE_OUTPUTS * made->channels;
    int64_t n_floats = filters * (made->plain ? KERNEL * KERNEL : made->size.n_points);
    dnnl_memory_t data[4] = {NULL};
    struct od_packed *packed;

    if (!w || !zeros)
        return vbs_no_memory(b->ctx);
    *w = *made;
    w->zeros = memset(zeros, 0, (size_t)w->channels * sizeof *zeros);
    VBS_TRY(od_weights_filled(b, n_floats, w->plain ? fill_plain : w->size.fill, &packed));
    VBS_TRY(od_kernel_begin(b, name));
    od_kernel_weights(b, packed, 0, 1);
    VBS_TRY(
        add_floats(b, od_input(b, 0)->bytes * b->batch / (int64_t)sizeof(float), OD_SRC, &data[0]));
    VBS_TRY(
        add_floats(b, od_output(b)->bytes * b->batch / (int64_t)sizeof(float), OD_DST, &data[1]));
    VBS_TRY(add_floats(b, n_floats, OD_WEIGHTS, &data[2]));
    VBS_TRY(add_floats(b, workspace_floats(w), OD_BUFFER, &data[3]));
    VBS_TRY(od_kernel_call(b, run_winograd, w, 4, data));
    return od_fused_end(b, b->session->weights[b->layer].n_folded + w->relu,
                        packed->bytes + b->session->weights[b->layer].bias_bytes, packed->number);
}

enum vbs_status od_build_winograd(struct od_build *b)
{
    struct winograd w = {.loops = od_winograd()};
    char name[OD_IMPLEMENTATION_NAME];
    int size;

    if (!is_possible(b))
        return VBS_OK;
    size = od_output(b)->spatial[0] > 2 ? 2 : (int)od_output(b)->spatial[0] - 1;
    w.tile = &w.loops->sizes[size];
    w.size = SIZES[size];
    describe_layer(b, &w);
    for (int i = 0; i < (int)(sizeof WAYS / sizeof *WAYS); i++) {
        w.plain = WAYS[i].plain;
        w.shared = w.plain || filter_bytes(&w) > SMALL_WEIGHTS;
        choose_blocks(&w, WAYS[i].most_points);
        plan_workspace(&w);
        od_implementation_name(w.size.name, WAYS[i].ending, name);
        if (is_offered(b, &w, &WAYS[i], name))
            VBS_TRY(build_kernel(b, &w, name));
    }
    return VBS_OK;
}
