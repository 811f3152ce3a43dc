#include "fake/exec.h"

#include "base/ctx.h"
#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct exec_fake exec_fake;

struct session {
    struct vbs_session base; /* first */
    struct vbs_kernel *kernels;
    int64_t *packed_from; /* [kernels] offset in their packed weights */
    int *rows;            /* [kernels] the first row */
    bool weights_given;
};

/* ---- what layers compute ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 31;
}

static uint64_t mix_bytes(uint64_t hash, const unsigned char *bytes, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        hash = mix(hash, bytes[i]);
    return mix(hash, (uint64_t)n);
}

static unsigned char out_byte(uint64_t hash, int64_t place)
{
    return (unsigned char)(mix(hash, (uint64_t)place) >> 7);
}

static unsigned char weight_byte(int layer, int format, int64_t place)
{
    return (unsigned char)(mix((uint64_t)layer * 64 + (uint64_t)format, (uint64_t)place) >> 9);
}

static unsigned char in_byte(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return (unsigned char)(mix(1, bits) >> 5);
}

/* ---- rows ---- */

/* Where a call finds the rows of a sample, from row first on. */
struct fake_rows {
    const unsigned char *at;
    int64_t first;
};

static int64_t divide_down(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static int64_t within(int64_t row, int64_t n)
{
    return row < 0 ? 0 : row > n ? n : row;
}

static bool accumulates(const struct vbs_profile_layer *layer)
{
    return layer->reaches && layer->reaches[0].unit == 0 && layer->reaches[0].step == 1;
}

/* Gives the first row of input i that row y of the output reads by its reach. */
static int64_t first_row(const struct vbs_profile_layer *layer, int i, int64_t y)
{
    const struct vbs_reach *reach = &layer->reaches[i];
    int64_t n = exec_fake.profile->layers[layer->inputs[i]].rows;

    if (accumulates(layer))
        return y;
    return reach->unit > 0 ? within(divide_down(reach->step * y + reach->low, reach->unit), n) : 0;
}

/* Gives the first row of input i that row y of the output reads, and the one behind the last; how
 * far they reach beyond the input is mixed into *hash. */
static void find_rows(const struct vbs_profile_layer *layer, int i, int64_t y, int64_t *first,
                      int64_t *end, uint64_t *hash)
{
    const struct vbs_reach *reach = &layer->reaches[i];
    int64_t n = exec_fake.profile->layers[layer->inputs[i]].rows;
    int64_t low = 0, high = n - 1;

    if (reach->unit > 0) {
        low = divide_down(reach->step * y + reach->low, reach->unit);
        high = divide_down(reach->step * y + reach->high, reach->unit);
    }
    if (accumulates(layer))
        low = high = y;
    low -= layer->inputs[i] > 0 && reach->unit > 0 && low >= exec_fake.reads_above
               ? exec_fake.reads_above
               : 0;
    *first = within(low, n);
    *end = within(high + 1, n);
    *hash = mix(mix(*hash, (uint64_t)(*first - low)), (uint64_t)(high + 1 - *end));
}

/* Computes the hash of row y of a sample of a layer from the rows that it reads. */
static uint64_t row_hash(int k, int64_t y, const struct fake_rows *rows)
{
    const struct vbs_profile_layer *layers = exec_fake.profile->layers, *layer = &layers[k];
    uint64_t hash = (uint64_t)k;

    for (int i = 0; i < layer->n_inputs; i++) {
        const struct vbs_profile_layer *input = &layers[layer->inputs[i]];
        int64_t first, end, row_bytes = input->rows > 0 ? input->out_bytes / input->rows : 0;
        const unsigned char *at = rows[i].at;

        find_rows(layer, i, y, &first, &end, &hash);
        if (input->rows == 0)
            hash = mix_bytes(hash, at, input->out_bytes);
        else
            hash = mix_bytes(hash, at + (first - rows[i].first) * row_bytes,
                             (end - first) * row_bytes);
    }
    return hash;
}

/* ---- slices ---- */

static int64_t share_of(int64_t bytes, int channels, int slice, int n_slices, int64_t units)
{
    int64_t first;

    if (channels > 0)
        units = channels;
    first = (int64_t)((__int128)units * slice / n_slices);
    return (int64_t)((__int128)bytes * first / units);
}

/* ---- the session ---- */

static struct session *own(struct vbs_session *session)
{
    return (struct session *)session;
}

static void complain(const struct vbs_kernel *kernel, const char *what)
{
    if (exec_fake.n_wrong++ == 0)
        snprintf(exec_fake.why, sizeof exec_fake.why, "call %d, layer %d at batch %d: %s",
                 exec_fake.n_calls, kernel->layer, kernel->batch, what);
}

static bool overlap(const void *a, int64_t n, const void *b, int64_t m)
{
    const char *x = a, *y = b;

    return n > 0 && m > 0 && x < y + m && y < x + n;
}

static void check_places(const struct vbs_kernel *kernel, const struct vbs_operands *o)
{
    const struct vbs_profile_layer *layers = exec_fake.profile->layers;
    const struct vbs_profile_layer *layer = &layers[kernel->layer];
    int64_t out_bytes = kernel->batch * layer->out_bytes;

    if (layer->in_place && o->src[0] != o->dst)
        complain(kernel, "not in place");
    for (int i = 0; i < layer->n_inputs; i++) {
        int64_t in_bytes = kernel->batch * layers[layer->inputs[i]].out_bytes;

        if (overlap(o->src[i], in_bytes, o->ws, kernel->ws_bytes))
            complain(kernel, "an input in its workspace");
        if (overlap(o->src[i], in_bytes, o->weights, kernel->packed_bytes))
            complain(kernel, "an input in its weights");
        if (o->src[i] != o->dst && overlap(o->src[i], in_bytes, o->dst, out_bytes))
            complain(kernel, "an input in its output");
        if (o->src[i] == o->dst && in_bytes > 0 && out_bytes > 0 && !layer->in_place)
            complain(kernel, "its output on its input");
    }
    if (overlap(o->dst, out_bytes, o->ws, kernel->ws_bytes) ||
        overlap(o->dst, out_bytes, o->weights, kernel->packed_bytes) ||
        overlap(o->ws, kernel->ws_bytes, o->weights, kernel->packed_bytes))
        complain(kernel, "output, workspace and weights overlap");
    if ((o->ws == NULL) != (kernel->ws_bytes == 0) || (uintptr_t)o->ws % 64 != 0)
        complain(kernel, "scratch is missing, needless or not aligned");
}

/* Checks the places of a call for rows. */
static void check_stripe_places(const struct vbs_kernel *kernel, int row,
                                const struct vbs_operands *o)
{
    const struct vbs_profile_layer *layers = exec_fake.profile->layers;
    const struct vbs_profile_layer *layer = &layers[kernel->layer];
    int64_t out_bytes =
        accumulates(layer) ? layer->out_bytes : layer->out_bytes / layer->rows * kernel->rows;

    for (int i = 0; i < layer->n_inputs; i++) {
        const struct vbs_profile_layer *input = &layers[layer->inputs[i]];
        int64_t first = first_row(layer, i, row), none, end, in_bytes = input->out_bytes;
        uint64_t hash = 0;

        find_rows(layer, i, row + kernel->rows - 1, &none, &end, &hash);
        if (input->rows > 0)
            in_bytes = input->out_bytes / input->rows * (end > first ? end - first : 0);
        if (overlap(o->src[i], in_bytes, o->ws, kernel->ws_bytes) ||
            overlap(o->src[i], in_bytes, o->weights, kernel->packed_bytes) ||
            overlap(o->src[i], in_bytes, o->dst, out_bytes))
            complain(kernel, "rows in its output, workspace or weights");
    }
    if ((o->ws == NULL) != (kernel->ws_bytes == 0) || (uintptr_t)o->ws % 64 != 0)
        complain(kernel, "scratch is missing, needless or not aligned");
}

static void check_weights(const struct session *s, int index, const struct vbs_operands *o)
{
    const struct vbs_kernel *kernel = &s->kernels[index];
    const unsigned char *weights = o->weights;

    if ((weights != NULL) != (s->weights_given && kernel->packed_bytes > 0)) {
        complain(kernel, "weights are missing or needless");
        return;
    }
    for (int64_t i = 0; weights && i < kernel->packed_bytes; i++)
        if (weights[i] != weight_byte(kernel->layer, kernel->format, s->packed_from[index] + i)) {
            complain(kernel, "other weights");
            return;
        }
}

#define MOST_INPUTS 64
#define MOST_ROWS   4096

/* Computes rows [row, row + n) of a sample; all reads come before the writes, as a kernel may run
 * in place. Of these bytes, only from..to - 1 are written. */
static void compute_rows(int k, int64_t row, int64_t n, const struct fake_rows *in,
                         unsigned char *out, int64_t from, int64_t to)
{
    const struct vbs_profile_layer *layer = &exec_fake.profile->layers[k];
    int64_t row_bytes = layer->out_bytes / layer->rows;
    uint64_t hashes[MOST_ROWS];

    for (int64_t y = 0; y < n; y++)
        hashes[y] = row_hash(k, row + y, in);
    for (int64_t y = 0; y < n && accumulates(layer); y++)
        for (int64_t j = from; j < to && j < layer->out_bytes; j++)
            out[j] = (unsigned char)((row + y > 0 ? 3 * out[j] : 0) + out_byte(hashes[y], j));
    if (accumulates(layer))
        return;
    for (int64_t j = from; j < to && j < n * row_bytes; j++)
        out[j] = out_byte(hashes[j / row_bytes], j % row_bytes);
}

/* Computes rows from row on of a sample. */
static void compute_stripe(const struct vbs_kernel *kernel, int row, const struct vbs_operands *o)
{
    const struct vbs_profile_layer *layer = &exec_fake.profile->layers[kernel->layer];
    struct fake_rows in[MOST_INPUTS];

    for (int i = 0; i < layer->n_inputs; i++)
        in[i] = (struct fake_rows){o->src[i], first_row(layer, i, row)};
    compute_rows(kernel->layer, row, kernel->rows, in, o->dst, 0, INT64_MAX);
}

static void compute(const struct vbs_kernel *kernel, const struct vbs_operands *o)
{
    const struct vbs_profile_layer *layers = exec_fake.profile->layers;
    const struct vbs_profile_layer *layer = &layers[kernel->layer];
    int n_slices = kernel->n_slices > 0 ? kernel->n_slices : 1,
        slice = kernel->n_slices > 0 ? kernel->slice : 1;
    int64_t bytes = layer->out_bytes;
    int64_t from = share_of(bytes, layer->channels, slice - 1, n_slices, n_slices);
    int64_t to = share_of(bytes, layer->channels, slice, n_slices, n_slices);

    for (int b = 0; b < kernel->batch && layer->reaches; b++) {
        struct fake_rows in[MOST_INPUTS];

        for (int i = 0; i < layer->n_inputs; i++)
            in[i] = (struct fake_rows){
                (const unsigned char *)o->src[i] + b * layers[layer->inputs[i]].out_bytes, 0};
        compute_rows(kernel->layer, 0, layer->rows, in, (unsigned char *)o->dst + b * bytes, from,
                     to);
    }
    if (layer->reaches)
        return;
    for (int b = 0; b < kernel->batch; b++) {
        uint64_t hash = (uint64_t)kernel->layer;
        unsigned char *out = (unsigned char *)o->dst + b * bytes;

        for (int i = 0; i < layer->n_inputs; i++) {
            int64_t n = layers[layer->inputs[i]].out_bytes;

            hash = mix_bytes(hash, (const unsigned char *)o->src[i] + b * n, n);
        }
        for (int64_t j = from; j < to; j++)
            out[j] = out_byte(hash, j);
    }
}

/* Changes the byte behind an output or a workspace. */
static void spoil(const struct vbs_kernel *kernel, const struct vbs_operands *o)
{
    const struct vbs_profile_layer *layers = exec_fake.profile->layers;
    const struct vbs_profile_layer *layer = &layers[kernel->layer];
    int64_t out_bytes = kernel->batch * layer->out_bytes;
    char *at = exec_fake.spoils_ws ? (char *)o->ws + kernel->ws_bytes : (char *)o->dst + out_bytes;
    bool is_operand = overlap(at, 1, o->dst, out_bytes) || overlap(at, 1, o->ws, kernel->ws_bytes);

    if (exec_fake.spoils_ws && !o->ws)
        return;
    for (int i = 0; i < layer->n_inputs; i++)
        is_operand = is_operand ||
                     overlap(at, 1, o->src[i], kernel->batch * layers[layer->inputs[i]].out_bytes);
    *at ^= 1;
    exec_fake.spoiled = is_operand ? EXEC_FAKE_OPERAND : EXEC_FAKE_OTHER;
}

static enum vbs_status run(struct vbs_ctx *ctx, struct vbs_session *session, int index,
                           const struct vbs_operands *o, double *time_us)
{
    struct session *s = own(session);
    const struct vbs_kernel *kernel = &s->kernels[index];

    if (exec_fake.n_calls == exec_fake.die_at)
        return vbs_fail(ctx, VBS_LIBRARY, "the kernel died");
    if (exec_fake.n_calls == exec_fake.stop_at)
        exec_fake.stop = 1;
    if (kernel->rows > 0)
        check_stripe_places(kernel, s->rows[index], o);
    else
        check_places(kernel, o);
    check_weights(s, index, o);
    if (o->ws)
        memset(o->ws, 0xff, (size_t)kernel->ws_bytes);
    if (kernel->rows > 0)
        compute_stripe(kernel, s->rows[index], o);
    else
        compute(kernel, o);
    if (exec_fake.n_calls == exec_fake.spoil_at)
        spoil(kernel, o);
    exec_fake.n_calls++;
    if (time_us)
        *time_us = 1;
    return VBS_OK;
}

static enum vbs_status pack(struct vbs_ctx *ctx, struct vbs_session *session, int index,
                            void *memory)
{
    const struct session *s = own(session);
    const struct vbs_kernel *kernel = &s->kernels[index];
    unsigned char *weights = memory;

    if (exec_fake.n_packs++ == exec_fake.die_at)
        return vbs_fail(ctx, VBS_LIBRARY, "packing died");
    for (int64_t i = 0; i < kernel->packed_bytes; i++)
        weights[i] = weight_byte(kernel->layer, kernel->format, s->packed_from[index] + i);
    return VBS_OK;
}

static int64_t values_of(int64_t bytes)
{
    return bytes > 0 ? bytes : 1;
}

static enum vbs_status write_values(struct vbs_ctx *ctx, struct vbs_session *session, int tensor,
                                    int n, const float *values, void *memory)
{
    int64_t bytes = session->layers[tensor].out_bytes;

    (void)ctx;
    for (int i = 0; i < n; i++)
        for (int64_t j = 0; j < bytes; j++)
            ((unsigned char *)memory)[i * bytes + j] = in_byte(values[i * values_of(bytes) + j]);
    return VBS_OK;
}

static enum vbs_status read_values(struct vbs_ctx *ctx, struct vbs_session *session, int tensor,
                                   int n, const void *memory, float *values)
{
    int64_t bytes = session->layers[tensor].out_bytes;

    (void)ctx;
    for (int i = 0; i < n; i++)
        for (int64_t j = 0; j < bytes; j++)
            values[i * values_of(bytes) + j] = ((const unsigned char *)memory)[i * bytes + j];
    return VBS_OK;
}

/* Plain values of a row are side by side too. */
static enum vbs_status write_rows(struct vbs_ctx *ctx, struct vbs_session *session, int tensor,
                                  int row, int rows, const float *values, void *memory)
{
    const struct vbs_profile_layer *layer = &session->layers[tensor];
    int64_t bytes = layer->out_bytes / (layer->rows > 0 ? layer->rows : 1);

    (void)ctx;
    for (int64_t j = 0; j < rows * bytes; j++)
        ((unsigned char *)memory)[j] = in_byte(values[row * bytes + j]);
    return VBS_OK;
}

static enum vbs_status read_rows(struct vbs_ctx *ctx, struct vbs_session *session, int tensor,
                                 int row, int rows, const void *memory, float *values)
{
    const struct vbs_profile_layer *layer = &session->layers[tensor];
    int64_t bytes = layer->out_bytes / (layer->rows > 0 ? layer->rows : 1);

    (void)ctx;
    for (int64_t j = 0; j < rows * bytes; j++)
        values[row * bytes + j] = ((const unsigned char *)memory)[j];
    return VBS_OK;
}

static void close_session(struct vbs_session *session)
{
    struct session *s = own(session);

    exec_fake.n_open--;
    free(s->kernels);
    free(s->packed_from);
    free(s->rows);
    free(s);
}

static const struct vbs_session_ops OPS = {.run = run,
                                           .pack = pack,
                                           .write = write_values,
                                           .read = read_values,
                                           .write_rows = write_rows,
                                           .read_rows = read_rows,
                                           .close = close_session};
static const struct vbs_session_ops OPS_WITHOUT_PACK = {.run = run,
                                                        .write = write_values,
                                                        .read = read_values,
                                                        .write_rows = write_rows,
                                                        .read_rows = read_rows,
                                                        .close = close_session};

/* ---- opening ---- */

/* Kernels on rows take one sample, as those of all backends, whatever batches the profile has. */
static const struct vbs_profile_row *find_stripe(const struct vbs_requested_kernel *requested)
{
    const struct vbs_profile *profile = exec_fake.profile;
    int n;
    const struct vbs_profile_stripe *stripes = vbs_profile_stripes(profile, requested->layer, &n);

    for (int i = 0; i < n && requested->batch == 1; i++)
        if (stripes[i].row.rows == requested->rows &&
            strcmp(profile->algorithms[stripes[i].row.algorithm], requested->algorithm) == 0)
            return &stripes[i].row;
    return NULL;
}

static const struct vbs_profile_row *find_row(const struct vbs_requested_kernel *requested)
{
    const struct vbs_profile *profile = exec_fake.profile;
    int n_rows, batch = vbs_profile_batch_index(profile, requested->batch);
    const struct vbs_profile_row *rows;

    if (requested->rows > 0)
        return find_stripe(requested);
    if (batch < 0 || requested->layer < 1 || requested->layer > profile->n_layers)
        return NULL;
    rows = vbs_profile_rows(profile, requested->layer, batch, &n_rows);
    for (int i = 0; i < n_rows; i++)
        if (strcmp(profile->algorithms[rows[i].algorithm], requested->algorithm) == 0)
            return &rows[i];
    return NULL;
}

static struct vbs_kernel make_kernel(const struct vbs_requested_kernel *requested,
                                     const struct vbs_profile_row *row, int64_t *packed_from)
{
    int channels = exec_fake.profile->layers[requested->layer].channels;
    int64_t less = row->weight_bytes / 8 < exec_fake.less ? row->weight_bytes / 8 : exec_fake.less;
    int64_t packed = row->weight_bytes - less, to = packed;

    *packed_from = 0;
    if (requested->n_slices > 0 && row->weight_bytes > 0) {
        *packed_from = share_of(packed, channels, requested->slice - 1, requested->n_slices,
                                row->weight_bytes);
        to = share_of(packed, channels, requested->slice, requested->n_slices, row->weight_bytes);
    }
    return (struct vbs_kernel){.layer = requested->layer,
                               .batch = requested->batch,
                               .algorithm = requested->algorithm,
                               .ws_bytes = row->ws_bytes + exec_fake.more_ws,
                               .weight_bytes = row->weight_bytes,
                               .format = row->format,
                               .slice = requested->slice,
                               .n_slices = requested->n_slices,
                               .rows = requested->rows,
                               .packed_bytes = to - *packed_from};
}

static enum vbs_status open_session(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    const struct vbs_backend_options *options,
                                    struct vbs_session **session)
{
    struct session *s = calloc(1, sizeof *s);

    (void)network;
    if (!s)
        return vbs_no_memory(ctx);
    exec_fake.n_open++;
    s->kernels = calloc((size_t)options->n_requested + 1, sizeof *s->kernels);
    s->packed_from = calloc((size_t)options->n_requested + 1, sizeof *s->packed_from);
    s->rows = calloc((size_t)options->n_requested + 1, sizeof *s->rows);
    if (!s->kernels || !s->packed_from || !s->rows) {
        close_session(&s->base);
        return vbs_no_memory(ctx);
    }
    for (int i = 0; i < options->n_requested; i++) {
        const struct vbs_profile_row *row = find_row(&options->requested[i]);

        if (!row) {
            close_session(&s->base);
            return vbs_fail(ctx, VBS_NOT_FOUND, "no algorithm '%s'",
                            options->requested[i].algorithm);
        }
        s->kernels[i] = make_kernel(&options->requested[i], row, &s->packed_from[i]);
        s->rows[i] = options->requested[i].row;
        s->kernels[i].algorithm = exec_fake.profile->algorithms[row->algorithm];
    }
    s->weights_given = options->weights_given;
    s->base = (struct vbs_session){
        .ops = exec_fake.no_pack ? &OPS_WITHOUT_PACK : &OPS,
        .n_layers = exec_fake.profile->n_layers,
        .layers = exec_fake.profile->layers,
        .n_kernels = options->n_requested,
        .kernels = s->kernels,
        .modelled = exec_fake.is_model,
        .provenance = {.backend = "fake", .library = "none", .device = "none", .threads = 1}};
    *session = &s->base;
    return VBS_OK;
}

const struct vbs_backend exec_fake_backend = {
    .name = "fake", .summary = "for tests", .open = open_session};

void exec_fake_reset(const struct vbs_profile *profile)
{
    exec_fake = (struct exec_fake){.profile = profile, .die_at = -1, .spoil_at = -1, .stop_at = -1};
}

/* ---- the network ---- */

static void make_layer(const struct vbs_profile *profile, int k, struct vbs_layer *layer,
                       struct vbs_shape *views)
{
    const struct vbs_profile_layer *l = &profile->layers[k];

    *layer = (struct vbs_layer){.op = k ? VBS_OP_CONV : VBS_N_OPS,
                                .name = k ? l->name : VBS_INPUT_NAME,
                                .n_inputs = l->n_inputs,
                                .inputs = l->inputs,
                                .views = views,
                                .shape = {.n_dims = 1, .dim = {values_of(l->out_bytes)}}};
    for (int i = 0; i < l->n_inputs; i++)
        views[i] = (struct vbs_shape){.n_dims = 1,
                                      .dim = {values_of(profile->layers[l->inputs[i]].out_bytes)}};
}

static bool is_read(const struct vbs_profile *profile, int tensor)
{
    for (int k = tensor + 1; k <= profile->n_layers; k++)
        for (int i = 0; i < profile->layers[k].n_inputs; i++)
            if (profile->layers[k].inputs[i] == tensor)
                return true;
    return false;
}

struct made {
    struct vbs_network network; /* first */
    struct vbs_layer *layers;
    struct vbs_shape *views;
    struct vbs_output *outputs;
    struct vbs_input input;
};

struct vbs_network *exec_fake_network(const struct vbs_profile *profile)
{
    size_t n = (size_t)profile->n_layers + 1, n_views = 0;
    struct made *made = calloc(1, sizeof *made);

    if (!made)
        return NULL;
    for (size_t k = 1; k < n; k++)
        n_views += (size_t)profile->layers[k].n_inputs;
    made->layers = calloc(n, sizeof *made->layers);
    made->views = calloc(n_views + 1, sizeof *made->views);
    made->outputs = calloc(n, sizeof *made->outputs);
    if (!made->layers || !made->views || !made->outputs) {
        exec_fake_network_free(&made->network);
        return NULL;
    }
    n_views = 0;
    for (size_t k = 0; k < n; k++) {
        make_layer(profile, (int)k, &made->layers[k], made->views + n_views);
        n_views += (size_t)profile->layers[k].n_inputs;
        if (k > 0 && !is_read(profile, (int)k))
            made->outputs[made->network.n_outputs++] = (struct vbs_output){
                .name = profile->layers[k].name, .layer = (int)k, .shape = made->layers[k].shape};
    }
    made->network.name = "fake";
    made->network.about = "";
    made->network.input = made->layers[0].shape;
    made->input = (struct vbs_input){.name = VBS_INPUT_NAME, .shape = made->layers[0].shape};
    made->network.n_inputs = 1;
    made->network.inputs = &made->input;
    made->network.n_layers = profile->n_layers;
    made->network.layers = made->layers;
    made->network.outputs = made->outputs;
    return &made->network;
}

void exec_fake_network_free(struct vbs_network *network)
{
    struct made *made = (struct made *)network;

    if (!made)
        return;
    free(made->layers);
    free(made->views);
    free(made->outputs);
    free(made);
}

/* ---- the reference ---- */

static void compute_sample(const struct vbs_profile *profile, unsigned char **tensors)
{
    for (int k = 1; k <= profile->n_layers; k++) {
        const struct vbs_profile_layer *layer = &profile->layers[k];
        uint64_t hash = (uint64_t)k;

        if (layer->reaches) {
            struct fake_rows in[MOST_INPUTS];

            for (int i = 0; i < layer->n_inputs; i++)
                in[i] = (struct fake_rows){tensors[layer->inputs[i]], 0};
            compute_rows(k, 0, layer->rows, in, tensors[k], 0, INT64_MAX);
            continue;
        }
        for (int i = 0; i < layer->n_inputs; i++)
            hash = mix_bytes(hash, tensors[layer->inputs[i]],
                             profile->layers[layer->inputs[i]].out_bytes);
        for (int64_t j = 0; j < layer->out_bytes; j++)
            tensors[k][j] = out_byte(hash, j);
    }
}

static bool make_tensors(const struct vbs_profile *profile, unsigned char **tensors)
{
    for (int k = 0; k <= profile->n_layers; k++)
        if (!(tensors[k] = calloc((size_t)profile->layers[k].out_bytes + 1, 1)))
            return false;
    return true;
}

static bool compute_all(const struct vbs_profile *profile, const struct vbs_network *network,
                        int64_t request, const float *input, unsigned char **tensors,
                        float *const *values)
{
    int64_t in_bytes = profile->layers[0].out_bytes, n_in = values_of(in_bytes);
    float *in = malloc((size_t)n_in * sizeof *in);

    for (int64_t s = 0; s < request && in; s++) {
        if (input)
            memcpy(in, input + s * n_in, (size_t)n_in * sizeof *in);
        else
            vbs_tensor_values(0, s * n_in, n_in, in);
        for (int64_t j = 0; j < in_bytes; j++)
            tensors[0][j] = in_byte(in[j]);
        compute_sample(profile, tensors);
        for (int i = 0; i < network->n_outputs; i++) {
            int layer = network->outputs[i].layer;
            int64_t n = values_of(profile->layers[layer].out_bytes);

            for (int64_t j = 0; j < n; j++)
                values[i][s * n + j] = tensors[layer][j];
        }
    }
    free(in);
    return in != NULL;
}

bool exec_fake_reference(const struct vbs_profile *profile, const struct vbs_network *network,
                         int64_t request, const float *input, float *const *values)
{
    unsigned char **tensors = calloc((size_t)profile->n_layers + 1, sizeof *tensors);
    bool done = tensors && make_tensors(profile, tensors) &&
                compute_all(profile, network, request, input, tensors, values);

    for (int k = 0; k <= profile->n_layers && tensors; k++)
        free(tensors[k]);
    free(tensors);
    return done;
}

/* ---- profiles ---- */

/* Adds a row with its sizes times scale. */
static enum vbs_status add_row(struct vbs_ctx *ctx, struct vbs_profile_builder *builder, int k,
                               int batch, const char *algorithm, struct vbs_profile_row row,
                               int scale)
{
    row.ws_bytes = (row.ws_bytes * scale + 63) / 64 * 64;
    row.weight_bytes *= scale;
    return vbs_profile_builder_row(ctx, builder, k, batch, algorithm, &row);
}

static enum vbs_status add_rows(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                const struct vbs_profile *profile, int k, int scale)
{
    int n;
    const struct vbs_profile_stripe *stripes = vbs_profile_stripes(profile, k, &n);
    enum vbs_status status = VBS_OK;

    for (int i = 0; i < n && status == VBS_OK; i++)
        status = add_row(ctx, builder, k, stripes[i].batch,
                         profile->algorithms[stripes[i].row.algorithm], stripes[i].row, scale);

    for (int b = 0; b < profile->n_batches; b++) {
        int n_rows;
        const struct vbs_profile_row *rows = vbs_profile_rows(profile, k, b, &n_rows);

        for (int i = 0; i < n_rows && status == VBS_OK; i++)
            status = add_row(ctx, builder, k, profile->batches[b],
                             profile->algorithms[rows[i].algorithm], rows[i], scale);
    }
    return status;
}

struct vbs_profile *exec_fake_profile(const struct vbs_profile *profile, int scale)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *made = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status =
        builder ? vbs_profile_builder_input_rows(&ctx, builder, profile->layers[0].rows)
                : VBS_NO_MEMORY;

    for (int k = 1; k <= profile->n_layers && status == VBS_OK; k++) {
        struct vbs_profile_layer layer = profile->layers[k];

        if (layer.in_place && profile->layers[layer.inputs[0]].out_bytes != layer.out_bytes)
            layer.in_place = false;
        layer.in_bytes *= scale;
        layer.out_bytes *= scale;
        layer.weight_bytes *= scale;
        status = vbs_profile_builder_layer(&ctx, builder, &layer);
        if (status == VBS_OK)
            status = add_rows(&ctx, builder, profile, k, scale);
    }
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(&ctx, builder, &made);
    if (status != VBS_OK)
        printf("# no profile to execute: %s\n", vbs_detail(&ctx));
    vbs_profile_builder_free(builder);
    return made;
}
