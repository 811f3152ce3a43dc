/*
 * The analytic backend: times from a formula, the same to the bit on every machine. For tests, for
 * teaching, and for budgets on devices that one does not have.
 *
 * A roofline (Williams, Waterman, Patterson 2009) with a fill: for batch b
 *
 *     time = LAUNCH + max(flops / (PEAK * share * fill(b)), bytes / BANDWIDTH)
 *     fill(b) = n / (n + HALF_FILL), n = output values of the batch
 *
 * flops and bytes count the whole batch. Larger batches gain because weights are read once for a
 * batch, where layers are bound by memory, and because they fill the device better elsewhere. share
 * is the part of the peak that an algorithm reaches on a full device. The device is imaginary, of
 * the size of a small accelerator: 1 TFLOP/s, 50 GB/s, 8 us per launch, half full at 16384 values.
 *
 *     algorithm    for                            share  work          workspace
 *     direct       conv, deconv                   0.30   1             none
 *     gemm         conv 1x1 of stride 1, fc,      0.70   1             none
 *                  matmul
 *     im2col-gemm  other conv without groups      0.70   1             the unfolded input
 *     winograd     3x3 of stride 1, F(2x2, 3x3)   0.60   16 / 36       tiles in and out
 *     default      the others                     0.10   per element   none
 *
 * Winograd reads weights that it has transformed, 16 for 9, in a packed format of their own.
 * A stripe is priced as a layer with so many rows of output, whose input are the rows that it
 * reads.
 *
 * The workspace is written and read once. Only + - * / on doubles in a fixed order: no function
 * whose last bit depends on the C library. Concat is free where each input is one contiguous range
 * of a sample: its producers write side by side. The session then has no such layer, and the
 * readers of the Concat read its inputs.
 */
#include "backend/analytic.h"
#include "backend/common/common.h"
#include "base/arena.h"
#include "base/arith.h"
#include "base/fail.h"
#include "model/network/network.h"
#include "profile/reach.h"
#include "profile/slice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Operations are not fused to multiply-adds, whose last bit differs. gcc fuses none in ISO C. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#define PEAK_FLOPS_PER_US  1e6   /* 1 TFLOP/s */
#define BANDWIDTH_B_PER_US 5e4   /* 50 GB/s */
#define LAUNCH_US          8.0   /* per step */
#define HALF_FILL          16384 /* output values at which half of the device works */

enum algorithm { DIRECT, GEMM, IM2COL_GEMM, WINOGRAD, DEFAULT, N_ALGORITHMS };

static const char *const algorithm_names[N_ALGORITHMS] = {"direct", "gemm", "im2col-gemm",
                                                          "winograd", "default"};

struct analytic_session {
    struct vbs_session_core core;    /* first */
    const struct vbs_layer **source; /* [session layers] the network's layer of each */
    double *times_us;                /* [kernels] */
};

/* ---- the formula ---- */

/* Gives the bytes of a value that a layer reads. */
static double value_bytes(const struct vbs_network *network, const struct vbs_layer *l)
{
    return (double)vbs_storage_bytes(network->layers[l->inputs[0]].encoding.storage);
}

/* Counts the operations on values for one sample. */
static double flops(const struct vbs_network *network, const struct vbs_layer *l, int64_t in_bytes)
{
    double elements = (double)vbs_shape_elements(&l->shape);

    if (vbs_op_multiplies(l->op))
        return 2.0 * (double)l->macs;
    switch (l->op) {
    case VBS_OP_LRN:
        return elements * (double)(2 * l->attributes.lrn.size + 4);
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
        for (int i = 0; i + 1 < l->shape.n_dims; i++)
            elements *= (double)l->attributes.pool.window.kernel[i];
        return elements;
    case VBS_OP_SOFTMAX:
    case VBS_OP_LOGSOFTMAX:
    case VBS_OP_INSTANCE_NORM:
    case VBS_OP_LAYER_NORM:
        return elements * 4.0;
    case VBS_OP_RESIZE: /* it has two dimensions */
        return elements * (l->attributes.resize.mode == VBS_RESIZE_NEAREST  ? 1.0
                           : l->attributes.resize.mode == VBS_RESIZE_LINEAR ? 4.0
                                                                            : 16.0);
    case VBS_OP_DFT: /* 5 n log2 n for each line */
        elements /= 2.0 * (double)l->shape.dim[l->attributes.dft.axis];
        return elements * 5.0 * (double)l->attributes.dft.n *
               (1.0 + log2((double)l->attributes.dft.n));
    default:
        return (double)in_bytes / value_bytes(network, l);
    }
}

/* Gives how many operations are done in the time of one on floats: weights of 8 bits are multiplied
 * four at a time, those of 16 bits two, where the layer reads such values too. */
static double speed_up(const struct vbs_network *network, const struct vbs_layer *l)
{
    double bytes = (double)vbs_storage_bytes(l->weights);

    return l->weights != VBS_FLOAT32 && value_bytes(network, l) <= bytes ? 4.0 / bytes : 1.0;
}

static double share(enum algorithm algorithm)
{
    static const double shares[N_ALGORITHMS] = {0.30, 0.70, 0.70, 0.60, 0.10};

    return shares[algorithm];
}

static double kernel_time_us(const struct vbs_network *network,
                             const struct vbs_profile_layer *layer, const struct vbs_layer *l,
                             enum algorithm algorithm, const struct vbs_kernel *kernel)
{
    double batch = (double)kernel->batch;
    double values = batch * (double)vbs_shape_elements(&l->shape);
    double fill = values / (values + (double)HALF_FILL);
    double work = batch * flops(network, l, layer->in_bytes) / speed_up(network, l);
    double bytes = batch * (double)(layer->in_bytes + layer->out_bytes);
    double compute_us, memory_us;

    if (algorithm == WINOGRAD)
        work = work * 16.0 / 36.0;
    bytes = bytes + (double)kernel->weight_bytes;
    bytes = bytes + 2.0 * (double)kernel->ws_bytes;
    compute_us = work / (PEAK_FLOPS_PER_US * share(algorithm) * fill);
    memory_us = bytes / BANDWIDTH_B_PER_US;
    return LAUNCH_US + (compute_us > memory_us ? compute_us : memory_us);
}

/* Computes the bytes of the unfolded windows of every output position: [batch, C * K,
 * positions]. */
static bool im2col_bytes(const struct vbs_layer *l, int64_t in_channels, int64_t batch,
                         int64_t *bytes)
{
    const struct vbs_window *window = &l->attributes.weighted.window;
    int64_t n = 4;
    bool fits = vbs_mul(n, batch, &n) && vbs_mul(n, in_channels, &n);

    for (int i = 0; i + 1 < l->shape.n_dims; i++)
        fits = fits && vbs_mul(n, window->kernel[i], &n) && vbs_mul(n, l->shape.dim[1 + i], &n);
    *bytes = n;
    return fits;
}

/* Computes the bytes of 16 values for every 2x2 tile and channel, of the input and of the
 * output. */
static bool winograd_bytes(const struct vbs_layer *l, int64_t in_channels, int64_t batch,
                           int64_t *bytes)
{
    int64_t tiles = ((l->shape.dim[1] + 1) / 2) * ((l->shape.dim[2] + 1) / 2);
    int64_t n = 4 * 16;
    bool fits = vbs_mul(n, batch, &n) && vbs_mul(n, tiles, &n) &&
                vbs_mul(n, in_channels + l->shape.dim[0], &n);

    *bytes = n;
    return fits;
}

/* ---- which algorithms a layer has ---- */

static bool all_are(const int64_t *values, int n, int64_t value)
{
    for (int i = 0; i < n; i++)
        if (values[i] != value)
            return false;
    return true;
}

static bool offers(const struct vbs_layer *l, enum algorithm algorithm)
{
    const struct vbs_window *w = &l->attributes.weighted.window;
    int n = l->shape.n_dims - 1;
    bool conv = l->op == VBS_OP_CONV, deconv = l->op == VBS_OP_CONV_TRANSPOSE;
    bool product = l->op == VBS_OP_FC || l->op == VBS_OP_MATMUL || l->op == VBS_OP_DEFORM_CONV ||
                   vbs_op_gates(l->op) > 0;
    bool dense = conv && l->attributes.weighted.groups == 1;
    bool unit_stride = conv && all_are(w->stride, n, 1);
    bool pointwise = unit_stride && all_are(w->kernel, n, 1) && all_are(w->pad_low, n, 0) &&
                     all_are(w->pad_high, n, 0);

    switch (algorithm) {
    case DIRECT:
        return conv || deconv;
    case GEMM:
        return product || (dense && pointwise);
    case IM2COL_GEMM:
        return dense && !pointwise;
    case WINOGRAD:
        return dense && unit_stride && n == 2 && all_are(w->kernel, n, 3) &&
               all_are(w->dilation, n, 1);
    default:
        return !conv && !deconv && !product;
    }
}

/* Describes a kernel of the network's layer k, which l is, or some rows of it. False when its
 * workspace is beyond 64 bits; then the kernel is not offered. */
static bool describe(const struct vbs_network *network, int k, const struct vbs_layer *l,
                     enum algorithm algorithm, struct vbs_kernel *kernel)
{
    int64_t weights = vbs_storage_bytes(l->weights) * vbs_weight_count(network, k);

    if (vbs_op_gates(l->op) > 0)
        weights += 4 * vbs_shape_elements(&l->operand);

    kernel->algorithm = algorithm_names[algorithm];
    kernel->weight_bytes = vbs_network_weight_bytes(network, k);
    kernel->packed_bytes = weights;
    if (algorithm == IM2COL_GEMM)
        return im2col_bytes(l, l->views[0].dim[0], kernel->batch, &kernel->ws_bytes);
    if (algorithm == WINOGRAD) {
        kernel->packed_bytes = weights / 9 * 16;
        kernel->weight_bytes += kernel->packed_bytes - weights;
        kernel->format = 1;
        return winograd_bytes(l, l->views[0].dim[0], kernel->batch, &kernel->ws_bytes);
    }
    return true;
}

/* ---- layers: the network's, without concats that are free ---- */

bool vbs_analytic_omits(const struct vbs_network *network, int layer)
{
    const struct vbs_layer *l = &network->layers[layer];

    if (l->op != VBS_OP_CONCAT)
        return false;
    for (int i = 0; i < l->n_inputs; i++)
        if (!vbs_encoding_equal(&network->layers[l->inputs[i]].encoding, &l->encoding))
            return false;
    for (int d = 0; d < l->attributes.concat.axis; d++)
        if (l->shape.dim[d] > 1)
            return false;
    for (int i = 0; i < l->n_fused; i++)
        if (l->fused[i].op != VBS_OP_DROPOUT)
            return false;
    return true;
}

/* The search for the tensors of the session that a reader of the network reads. */
struct flattening {
    const struct vbs_network *network;
    int *id;   /* the session's id of each of the network's tensors; -1: a free Concat */
    int *seen; /* for each of the network's tensors, the last reader that was here */
    int reader;
    int *inputs; /* the inputs found so far, each once */
    int n_inputs;
};

/* Appends the inputs depth first, so that tensors keep the order in which they are concatenated. */
static void append_inputs(struct flattening *f, int tensor)
{
    const struct vbs_layer *l = &f->network->layers[tensor];

    if (f->seen[tensor] == f->reader)
        return;
    f->seen[tensor] = f->reader;
    if (f->id[tensor] >= 0)
        f->inputs[f->n_inputs++] = f->id[tensor];
    for (int i = 0; f->id[tensor] < 0 && i < l->n_inputs; i++)
        append_inputs(f, l->inputs[i]);
}

static enum vbs_status add_layer(struct vbs_ctx *ctx, struct analytic_session *s,
                                 struct flattening *f, int k)
{
    const struct vbs_layer *l = &f->network->layers[k];
    struct vbs_profile_layer *layer = &s->core.layers[s->core.session.n_layers + 1];
    int *inputs;

    f->reader = k;
    f->n_inputs = 0;
    for (int i = 0; i < l->n_inputs; i++)
        append_inputs(f, l->inputs[i]);
    inputs = vbs_arena_alloc(&s->core.arena, (size_t)f->n_inputs, sizeof *inputs);
    *layer = (struct vbs_profile_layer){.name = vbs_arena_strdup(&s->core.arena, l->name),
                                        .kind = vbs_op_word(l->op),
                                        .n_inputs = f->n_inputs,
                                        .inputs = inputs,
                                        .out_bytes = vbs_network_out_bytes(f->network, k),
                                        .weight_bytes = vbs_network_weight_bytes(f->network, k),
                                        .channels = vbs_graph_channels(l)};
    if (!inputs || !layer->name)
        return vbs_no_memory(ctx);
    for (int i = 0; i < f->n_inputs; i++) {
        inputs[i] = f->inputs[i];
        layer->in_bytes += s->core.layers[inputs[i]].out_bytes;
    }
    s->source[++s->core.session.n_layers] = l;
    f->id[k] = s->core.session.n_layers;
    return VBS_OK;
}

/* Gives whether a layer may overwrite an input: operators of two operands may, where no other layer
 * needs it any more. */
static bool can_overwrite(const void *build, int layer, int input)
{
    return vbs_graph_overwrites(((const struct analytic_session *)build)->source[layer], input);
}

/* Finds how the network's layer k reads the tensor of the session with this id: as one of its
 * inputs, or through concats that leave rows alone. False: whole, or not at all. */
static bool find_reach(const struct flattening *f, int k, int id, struct vbs_reach *reach)
{
    const struct vbs_layer *l = &f->network->layers[k];

    for (int i = 0; i < l->n_inputs; i++) {
        struct vbs_reach through;
        int tensor = l->inputs[i];

        if (f->id[tensor] == id)
            return vbs_layer_reach(f->network, k, i, reach);
        if (f->id[tensor] < 0 && find_reach(f, tensor, id, &through))
            return vbs_layer_reach(f->network, k, i, reach) && through.step == 1 &&
                   through.unit == 1 && through.low == 0 && through.high == 0;
    }
    return false;
}

/* Fills rows and reaches: all tensors are stored in rows. */
static enum vbs_status init_rows(struct vbs_ctx *ctx, struct analytic_session *s,
                                 const struct flattening *f)
{
    s->core.layers[0].rows = vbs_shape_rows(&s->core.network->input);
    for (int k = 1; k <= s->core.session.n_layers; k++) {
        struct vbs_profile_layer *layer = &s->core.layers[k];
        struct vbs_reach *reaches =
            vbs_arena_alloc(&s->core.arena, (size_t)layer->n_inputs, sizeof *reaches);
        bool any = false;

        if (!reaches)
            return vbs_no_memory(ctx);
        layer->rows = vbs_shape_rows(&s->source[k]->shape);
        for (int i = 0; i < layer->n_inputs && layer->rows > 0; i++)
            if (find_reach(f, (int)(s->source[k] - s->core.network->layers), layer->inputs[i],
                           &reaches[i]))
                any = true;
            else
                reaches[i] = (struct vbs_reach){0};
        layer->reaches = any ? reaches : NULL;
        vbs_graph_settle_rows(s->core.layers, k);
    }
    return VBS_OK;
}

static enum vbs_status init_layers(struct vbs_ctx *ctx, struct analytic_session *s, bool stripes)
{
    const struct vbs_network *network = s->core.network;
    struct vbs_arena *arena = &s->core.arena;
    size_t n = (size_t)network->n_layers + 1;
    const struct vbs_in_place in_place = {.build = s, .may = can_overwrite};
    struct flattening f = {.network = network};

    VBS_TRY(vbs_session_init_layers(ctx, &s->core));
    s->source = vbs_arena_alloc(arena, n, sizeof *s->source);
    f.id = vbs_arena_alloc(arena, n, sizeof *f.id);
    f.seen = vbs_arena_alloc(arena, n, sizeof *f.seen);
    f.inputs = vbs_arena_alloc(arena, n, sizeof *f.inputs);
    if (!s->source || !f.id || !f.seen || !f.inputs)
        return vbs_no_memory(ctx);
    s->core.session.n_layers = 0; /* counts the layers made so far */
    for (int k = 1; k < (int)n; k++)
        if (vbs_analytic_omits(network, k))
            f.id[k] = -1;
        else
            VBS_TRY(add_layer(ctx, s, &f, k));
    if (s->core.session.n_layers == 0)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "network '%s' has no layer that takes time",
                        network->name);
    VBS_TRY(
        vbs_graph_init_in_place(ctx, arena, s->core.layers, s->core.session.n_layers, &in_place));
    return stripes ? init_rows(ctx, s, &f) : VBS_OK;
}

/* ---- kernels ---- */

/* The arguments of the functions below. */
struct building {
    struct vbs_ctx *ctx;
    struct analytic_session *session;
};

/* Reduces weights and time of a kernel to those of a slice. */
static void cut_slice(const struct analytic_session *s, const struct vbs_requested *requested,
                      struct vbs_kernel *kernel, double *time_us)
{
    double share =
        vbs_slice_share(&s->core.layers[kernel->layer], requested->slice, requested->n_slices);

    kernel->weight_bytes -= kernel->packed_bytes;
    kernel->packed_bytes = (int64_t)((double)kernel->packed_bytes * share);
    kernel->weight_bytes += kernel->packed_bytes;
    *time_us *= share;
}

/* Appends the kernels of a layer at a batch, or of some rows of it: then l and about are those of
 * the rows. */
static enum vbs_status add_kernels(const struct building *b, int layer, int batch,
                                   const struct vbs_layer *l, const struct vbs_profile_layer *about,
                                   const struct vbs_requested *requested)
{
    struct analytic_session *s = b->session;
    int k = (int)(s->source[layer] - s->core.network->layers);

    for (enum algorithm a = DIRECT; a < N_ALGORITHMS; a++) {
        struct vbs_kernel kernel = {.layer = layer, .batch = batch};
        double time_us;

        if (!offers(l, a) || !describe(s->core.network, k, l, a, &kernel))
            continue;
        time_us = kernel_time_us(s->core.network, about, l, a, &kernel);
        if (requested && requested->n_slices > 1)
            cut_slice(s, requested, &kernel, &time_us);
        VBS_TRY(vbs_kernel_append(b->ctx, &s->core, &kernel, &s->times_us, sizeof *s->times_us));
        s->times_us[s->core.session.n_kernels - 1] = time_us;
    }
    return VBS_OK;
}

static enum vbs_status make_kernels(void *build, int layer, int batch,
                                    const struct vbs_requested *requested)
{
    const struct building *b = build;

    return add_kernels(b, layer, batch, b->session->source[layer], &b->session->core.layers[layer],
                       requested);
}

/* Gives the bytes that some rows of a layer read. */
static int64_t stripe_in_bytes(const struct analytic_session *s, int layer, int row, int n)
{
    const struct vbs_profile_layer *l = &s->core.layers[layer];
    int64_t bytes = 0;

    for (int i = 0; i < l->n_inputs; i++) {
        const struct vbs_profile_layer *input = &s->core.layers[l->inputs[i]];
        struct vbs_reached read;

        if (vbs_reach_is_whole(&l->reaches[i])) {
            bytes += input->out_bytes;
            continue;
        }
        read = vbs_reach_rows(&l->reaches[i], input->rows, row, n);
        bytes += input->out_bytes / input->rows * (read.end - read.first);
    }
    return bytes;
}

static enum vbs_status make_rows(void *build, int layer, int row, int n,
                                 const struct vbs_requested *requested)
{
    const struct building *b = build;
    const struct analytic_session *s = b->session;
    struct vbs_profile_layer about = s->core.layers[layer];
    struct vbs_layer l = *s->source[layer];

    about.in_bytes = stripe_in_bytes(s, layer, row, n);
    about.out_bytes = vbs_layer_rows_bytes(&about, n);
    l.macs = l.macs / about.rows * n;
    if (vbs_layer_accumulates(&about))
        l.attributes.pool.window.kernel[0] = n;
    else
        l.shape.dim[1] = n;
    return add_kernels(b, layer, 1, &l, &about, requested);
}

static bool keep_kernel(void *build, int first, const char *algorithm)
{
    struct analytic_session *s = ((const struct building *)build)->session;
    int n = s->core.session.n_kernels;

    s->core.session.n_kernels = first;
    for (int i = first; i < n; i++)
        if (strcmp(s->core.offers[i].algorithm, algorithm) == 0) {
            s->core.offers[first] = s->core.offers[i];
            s->times_us[first] = s->times_us[i];
            s->core.session.n_kernels++;
            return true;
        }
    return false;
}

static enum vbs_status share_kernel(void *build, int index)
{
    const struct building *b = build;
    struct analytic_session *s = b->session;
    const struct vbs_kernel kernel = s->core.offers[index];

    VBS_TRY(vbs_kernel_append(b->ctx, &s->core, &kernel, &s->times_us, sizeof *s->times_us));
    s->times_us[s->core.session.n_kernels - 1] = s->times_us[index];
    return VBS_OK;
}

/* Counts the kernels of all layers at one batch, a few of which may turn out to be impossible. */
static int64_t count_kernels(const struct analytic_session *s)
{
    int64_t n = 0;

    for (int k = 1; k <= s->core.session.n_layers; k++)
        for (enum algorithm a = DIRECT; a < N_ALGORITHMS; a++)
            n += offers(s->source[k], a);
    return n;
}

static enum vbs_status init_kernels(struct vbs_ctx *ctx, struct analytic_session *s,
                                    const struct vbs_backend_options *options)
{
    struct building b = {.ctx = ctx, .session = s};
    const struct vbs_kernel_maker maker = {.build = &b,
                                           .make = make_kernels,
                                           .make_rows = make_rows,
                                           .keep = keep_kernel,
                                           .share = share_kernel};

    if (!options->requested)
        VBS_TRY(vbs_graph_check_kernels(ctx, s->core.session.n_layers, options->n_batches,
                                        count_kernels(s) * options->n_batches));
    return vbs_kernels_make(ctx, &s->core, options, &maker);
}

/* ---- the session ---- */

static struct analytic_session *own(struct vbs_session *session)
{
    return (struct analytic_session *)session;
}

static void *alloc(struct vbs_session *session, int64_t bytes)
{
    (void)session;
    return malloc(bytes > 0 ? (size_t)bytes : 1);
}

static void release(struct vbs_session *session, void *memory)
{
    (void)session;
    free(memory);
}

static enum vbs_status tell_time(struct vbs_ctx *ctx, struct vbs_session *session, int kernel,
                                 const struct vbs_operands *operands, double *time_us)
{
    (void)ctx, (void)operands;
    if (time_us)
        *time_us = own(session)->times_us[kernel];
    return VBS_OK;
}

/* Does nothing, because no kernel of this backend reads the tensors. */
static enum vbs_status fill(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int n,
                            void *memory)
{
    (void)ctx, (void)session, (void)tensor, (void)n, (void)memory;
    return VBS_OK;
}

static enum vbs_status no_values(struct vbs_ctx *ctx)
{
    return vbs_fail(ctx, VBS_UNSUPPORTED,
                    "the analytic backend computes times, not values; "
                    "'--backend onednn' computes both");
}

static enum vbs_status pack(struct vbs_ctx *ctx, struct vbs_session *session, int kernel,
                            void *memory)
{
    (void)session, (void)kernel, (void)memory;
    return no_values(ctx);
}

static enum vbs_status write_tensor(struct vbs_ctx *ctx, struct vbs_session *session, int tensor,
                                    int n, const float *values, void *memory)
{
    (void)session, (void)tensor, (void)n, (void)values, (void)memory;
    return no_values(ctx);
}

static enum vbs_status read_tensor(struct vbs_ctx *ctx, struct vbs_session *session, int tensor,
                                   int n, const void *memory, float *values)
{
    (void)session, (void)tensor, (void)n, (void)memory, (void)values;
    return no_values(ctx);
}

static void close_session(struct vbs_session *session)
{
    struct analytic_session *s = own(session);

    free(s->times_us);
    vbs_session_core_clear(&s->core);
    free(s);
}

static uint64_t geometry(const struct vbs_session *session, int layer)
{
    const struct analytic_session *s = (const struct analytic_session *)session;

    return vbs_session_geometry(&s->core, layer, (int)(s->source[layer] - s->core.network->layers));
}

static const struct vbs_session_ops ops = {
    .alloc = alloc,
    .free = release,
    .run = tell_time,
    .pack = pack,
    .fill = fill,
    .write = write_tensor,
    .read = read_tensor,
    .close = close_session,
    .geometry = geometry,
};

static const char library_text[] = "vbslab roofline 1";
static const char device_text[] = "imaginary: 1 TFLOP/s, 50 GB/s, 8 us per launch";

static void probe(struct vbs_backend_info *info)
{
    *info = (struct vbs_backend_info){.built = true, .usable = true};
    snprintf(info->library, sizeof info->library, "%s", library_text);
    snprintf(info->device, sizeof info->device, "%s", device_text);
}

static enum vbs_status init_session(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                    const struct vbs_backend_options *options)
{
    struct analytic_session *s = (struct analytic_session *)core;
    const struct vbs_provenance texts = {.backend = vbs_backend_analytic.name,
                                         .library = library_text,
                                         .device = device_text,
                                         .layout = options->stripes ? VBS_LAYOUT_ROWS : "",
                                         .notes = ""};

    VBS_TRY(vbs_session_init_provenance(ctx, core, &texts));
    VBS_TRY(init_layers(ctx, s, options->stripes));
    return init_kernels(ctx, s, options);
}

static enum vbs_status open_session(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    const struct vbs_backend_options *options,
                                    struct vbs_session **session)
{
    static const struct vbs_session_class class = {.ops = &ops,
                                                   .size = sizeof(struct analytic_session),
                                                   .modelled = true,
                                                   .init = init_session};

    return vbs_session_open(ctx, &class, network, options, session);
}

const struct vbs_backend vbs_backend_analytic = {
    .name = "analytic",
    .summary = "times of an imaginary device by a formula, the same everywhere",
    .modelled = true,
    .probe = probe,
    .open = open_session,
};
