/*
 * Convolutions, transposed ones, and fully connected layers, which are convolutions of 1x1.
 *
 * Every forward algorithm of cuDNN that supports the layer is offered, with its own workspace;
 * where the layer's weights are large, it is also offered slice after slice (NAME/4): the filter of
 * a slice is a slice of the whole one, its output some channels of the whole output.
 */
#include "backend/cudnn/operators.h"

#include "base/fail.h"

#include <stdio.h>
#include <string.h>

/* A layer is measured in at most N_NUMBERS numbers of slices, such that a slice has more than
 * LEAST_SLICE_BYTES and at most MOST_SLICE_BYTES. */
#define MOST_SLICE_BYTES  ((int64_t)24 << 20)
#define LEAST_SLICE_BYTES ((int64_t)2 << 20)
#define N_NUMBERS         3

static const char *const FORWARD[] = {
    [CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM] = "implicit-gemm",
    [CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM] = "precomp-gemm",
    [CUDNN_CONVOLUTION_FWD_ALGO_GEMM] = "gemm",
    [CUDNN_CONVOLUTION_FWD_ALGO_DIRECT] = "direct",
    [CUDNN_CONVOLUTION_FWD_ALGO_FFT] = "fft",
    [CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING] = "fft-tiling",
    [CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD] = "winograd",
    [CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED] = "winograd-nonfused",
};

static const char *const BACKWARD[] = {
    [CUDNN_CONVOLUTION_BWD_DATA_ALGO_0] = "data-0",
    [CUDNN_CONVOLUTION_BWD_DATA_ALGO_1] = "data-1",
    [CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT] = "data-fft",
    [CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING] = "data-fft-tiling",
    [CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD] = "data-winograd",
    [CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED] = "data-winograd-nonfused",
};

#define N_FORWARD  ((int)(sizeof FORWARD / sizeof FORWARD[0]))
#define N_BACKWARD ((int)(sizeof BACKWARD / sizeof BACKWARD[0]))

/* The layer as a convolution of images. */
struct image_conv {
    int n_spatial;
    int64_t in[CU_MAX_DIMS], out[CU_MAX_DIMS]; /* [N, C, spatial...] */
    struct cu_window window;
    int64_t groups, outputs, inputs; /* channels of all groups together */
    cudnnConvolutionDescriptor_t conv;
    cudnnTensorDescriptor_t x;
    cudnnActivationDescriptor_t fused; /* null: none */
    int n_done;                        /* fused operators that are folded into the weights or
                                          fused */
};

static struct cu_weights *weights_of(const struct cu_build *b)
{
    return &b->session->weights[b->layer];
}

/* ---- the layer's descriptors ---- */

/* Describes an fc: every row, or every sample, is an image of one position. */
static void as_product(const struct cu_build *b, struct image_conv *c)
{
    const struct vbs_shape *in = cu_view(b, 0);
    int64_t elements = vbs_shape_elements(in);
    int64_t inputs = b->l->attributes.weighted.rows ? in->dim[in->n_dims - 1] : elements;
    struct vbs_window point = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};

    c->n_spatial = 2;
    c->in[0] = c->out[0] = b->batch * (elements / inputs);
    c->in[1] = c->inputs = inputs;
    c->out[1] = c->outputs = b->l->attributes.weighted.out_channels;
    c->in[2] = c->in[3] = c->out[2] = c->out[3] = 1;
    c->groups = 1;
    c->window = cu_window(&point, 2);
}

static enum vbs_status as_image(const struct cu_build *b, struct image_conv *c)
{
    const struct vbs_shape *in = cu_view(b, 0);

    if (in->n_dims > 1 + VBS_MAX_SPATIAL)
        return cu_unsupported(b, "convolutions of so many dimensions");
    c->n_spatial = cu_image_dims(b, in, c->in);
    cu_image_dims(b, &b->l->shape, c->out);
    c->inputs = in->dim[0];
    c->outputs = b->l->attributes.weighted.out_channels;
    c->groups = b->l->attributes.weighted.groups;
    c->window = cu_window(&b->l->attributes.weighted.window, in->n_dims - 1);
    return VBS_OK;
}

static enum vbs_status describe_conv(struct cu_build *b, struct image_conv *c)
{
    const struct cu_window *w = &c->window;
    cudnnStatus_t made = b->session->api.cudnnCreateConvolutionDescriptor(&c->conv);

    if (made != CUDNN_STATUS_SUCCESS)
        return cu_fail(b->ctx, b->session, b->l->name, made, "describing a convolution");
    VBS_TRY(cu_adopt(b, CU_CONVOLUTION, c->conv));
    made = b->session->api.cudnnSetConvolutionNdDescriptor(
        c->conv, w->n, w->pad, w->stride, w->dilation, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    if (made == CUDNN_STATUS_SUCCESS)
        made = b->session->api.cudnnSetConvolutionGroupCount(c->conv, (int)c->groups);
    if (made == CUDNN_STATUS_SUCCESS)
        made = b->session->api.cudnnSetConvolutionMathType(c->conv, CUDNN_FMA_MATH);
    return made == CUDNN_STATUS_SUCCESS
               ? VBS_OK
               : cu_fail(b->ctx, b->session, b->l->name, made, "describing a convolution");
}

/* Finds a ReLU that follows a bias, and fuses it. */
static enum vbs_status find_fused(struct cu_build *b, struct image_conv *c)
{
    const struct cu_weights *w = weights_of(b);
    int next = w->n_folded;

    c->n_done = next;
    if (!w->bias || next == b->l->n_fused || b->l->fused[next].op != VBS_OP_RELU)
        return VBS_OK;
    c->n_done = next + 1;
    return cu_activation(b, CUDNN_ACTIVATION_RELU, 0, CUDNN_NOT_PROPAGATE_NAN, &c->fused);
}

/* Describes the filter of some outputs: [outputs, inputs / groups, kernel...]; deconv: [inputs,
 * outputs / groups, ...]. */
static enum vbs_status describe_filter(struct cu_build *b, const struct image_conv *c,
                                       int64_t count, cudnnFilterDescriptor_t *filter)
{
    bool turned = b->l->op == VBS_OP_CONV_TRANSPOSE;
    int dims[2 + VBS_MAX_SPATIAL] = {(int)(turned ? c->inputs : count),
                                     (int)((turned ? c->outputs : c->inputs) / c->groups)};
    cudnnStatus_t made = b->session->api.cudnnCreateFilterDescriptor(filter);

    if (made != CUDNN_STATUS_SUCCESS)
        return cu_fail(b->ctx, b->session, b->l->name, made, "describing weights");
    VBS_TRY(cu_adopt(b, CU_FILTER, *filter));
    memcpy(dims + 2, c->window.kernel, (size_t)c->n_spatial * sizeof *dims);
    made = b->session->api.cudnnSetFilterNdDescriptor(*filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW,
                                                      2 + c->n_spatial, dims);
    return made == CUDNN_STATUS_SUCCESS
               ? VBS_OK
               : cu_fail(b->ctx, b->session, b->l->name, made, "describing weights");
}

/* Describes count channels of the output, in its strides. */
static enum vbs_status describe_output(struct cu_build *b, const struct image_conv *c,
                                       int64_t count, cudnnTensorDescriptor_t *desc)
{
    int n = 2 + c->n_spatial;
    int64_t dims[CU_MAX_DIMS], strides[CU_MAX_DIMS], stride = 1;

    for (int i = n - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= c->out[i];
        dims[i] = i == 1 ? count : c->out[i];
    }
    return cu_tensor(b, n, dims, strides, desc);
}

/* ---- one slice ---- */

struct cu_slice {
    int64_t first, count; /* outputs */
};

static struct cu_slice slice_of(int64_t outputs, int index, int n)
{
    int64_t from = outputs * (index - 1) / n;

    return (struct cu_slice){from, outputs * index / n - from};
}

/* Gives the bytes of one output channel in a sample of the output. */
static int64_t channel_bytes(const struct image_conv *c)
{
    int64_t values = 1;

    for (int i = 0; i < c->n_spatial; i++)
        values *= c->out[2 + i];
    return values * (int64_t)sizeof(float);
}

static enum vbs_status describe_bias(struct cu_build *b, const struct image_conv *c,
                                     struct cu_slice slice, struct cu_operand *bias)
{
    *bias = cu_at(CU_FIXED, 0, NULL);
    bias->fixed = weights_of(b)->bias;
    bias->offset = slice.first * (int64_t)sizeof(float);
    return cu_channels(b, slice.count, c->n_spatial, &bias->desc);
}

/* Adds a bias that no other call adds. */
static enum vbs_status add_bias(struct cu_build *b, const struct cu_operand *bias,
                                const struct cu_operand *to)
{
    struct cu_step *step = cu_step(b, CU_BIAS);

    if (!step)
        return vbs_no_memory(b->ctx);
    step->b = *bias;
    step->y = *to;
    return VBS_OK;
}

/* Asks whether the library supports the step and which workspace it needs; any other failure is an
 * error. */
static enum vbs_status ask(struct cu_build *b, struct cu_step *step, bool *takes)
{
    cudnnHandle_t cudnn = b->session->cudnn;
    size_t bytes = 0;
    cudnnStatus_t said = step->what == CU_DECONV
                             ? b->session->api.cudnnGetConvolutionBackwardDataWorkspaceSize(
                                   cudnn, step->filter, step->x.desc, step->conv, step->y.desc,
                                   (cudnnConvolutionBwdDataAlgo_t)step->algorithm, &bytes)
                             : b->session->api.cudnnGetConvolutionForwardWorkspaceSize(
                                   cudnn, step->x.desc, step->filter, step->conv, step->y.desc,
                                   (cudnnConvolutionFwdAlgo_t)step->algorithm, &bytes);

    *takes = said == CUDNN_STATUS_SUCCESS;
    if (*takes)
        cu_ask(b, step, bytes);
    return *takes || cu_declines(said)
               ? VBS_OK
               : cu_fail(b->ctx, b->session, b->l->name, said, "asking for algorithms");
}

/* Adds the steps that compute outputs of a slice from image x. */
static enum vbs_status add_slice(struct cu_build *b, struct image_conv *c, int algorithm,
                                 const struct cu_operand *x, struct cu_slice slice,
                                 int64_t first_output, bool *takes)
{
    bool turned = b->l->op == VBS_OP_CONV_TRANSPOSE;
    struct cu_step *step = cu_step(b, turned ? CU_DECONV : CU_CONV);
    struct cu_operand bias, y;
    enum vbs_status status;

    if (!step)
        return vbs_no_memory(b->ctx);
    step->x = *x;
    step->y = cu_at(CU_DST, 0, NULL);
    step->y.offset = slice.first * channel_bytes(c);
    step->conv = c->conv;
    step->algorithm = algorithm;
    step->weights_offset =
        (slice.first - first_output) * weights_of(b)->count * (int64_t)sizeof(float);
    status = describe_filter(b, c, slice.count, &step->filter);
    if (status == VBS_OK)
        status = describe_output(b, c, slice.count, &step->y.desc);
    if (status == VBS_OK)
        status = ask(b, step, takes);
    if (status != VBS_OK || !*takes || !weights_of(b)->bias)
        return status;
    VBS_TRY(describe_bias(b, c, slice, &bias));
    if (c->fused) {
        step->b = bias;
        step->activation = c->fused;
        return VBS_OK;
    }
    y = step->y;
    return add_bias(b, &bias, &y);
}

/* ---- kernels ---- */

/* Gives the slices that a kernel computes: all that were measured, or those that lie in one
 * requested slice. */
static struct cu_slice kernel_slice(const struct cu_build *b, int64_t outputs, int measured, int i,
                                    int *n)
{
    const struct vbs_requested *requested = b->requested;

    *n = measured > 1 ? measured : 1;
    if (!requested || requested->n_slices <= 1)
        return slice_of(outputs, i + 1, *n);
    *n = 1;
    return slice_of(outputs, requested->slice, requested->n_slices);
}

static enum vbs_status build_kernel(struct cu_build *b, struct image_conv *c, int algorithm,
                                    const char *name, int measured)
{
    const struct cu_weights *w = weights_of(b);
    char text[64];
    struct cu_operand x = cu_at(CU_SRC, 0, c->x);
    int64_t fixed = 0;
    struct cu_slice first, slice;
    bool takes = true;
    int n = 1;
    enum vbs_status status;

    snprintf(text, sizeof text, measured > 1 ? "%s/%d" : "%s", name, measured);
    status = cu_kernel_begin(b, text);
    if (status == VBS_OK && c->window.uneven)
        status = cu_pad(b, &c->window, 0, &x);
    first = kernel_slice(b, w->outputs, measured, 0, &n);
    slice = first;
    for (int i = 0; i < n && status == VBS_OK && takes; i++) {
        slice = kernel_slice(b, w->outputs, measured, i, &n);
        status = add_slice(b, c, algorithm, &x, slice, first.first, &takes);
    }
    if (status == VBS_OK && takes)
        status = cu_fused(b, c->n_done, &fixed);
    if (status == VBS_OK && !takes)
        cu_kernel_undo(b);
    if (status != VBS_OK || !takes)
        return status;
    b->kernel->has_weights = true;
    b->kernel->first_output = first.first;
    b->kernel->n_outputs = slice.first + slice.count - first.first;
    if (w->bias)
        fixed += b->kernel->n_outputs * (int64_t)sizeof(float);
    cu_kernel_end(b, fixed, b->kernel->n_outputs * w->count * (int64_t)sizeof(float));
    return VBS_OK;
}

/* Gives whether an algorithm computes what sums of floats compute, up to a thousandth of the
 * largest value: cuDNN's non-fused Winograd is off by half a hundredth for kernels that are not of
 * 3x3. */
static bool is_exact(const struct image_conv *c, int algorithm)
{
    return algorithm != CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED ||
           (c->window.kernel[0] <= 3 && c->window.kernel[1] <= 3);
}

/* Gives whether the requested kernel is this one. */
static bool is_requested(const struct cu_build *b, const char *name, int measured)
{
    return !b->requested ||
           (strcmp(b->requested->name, name) == 0 && b->requested->row_slices == measured);
}

/* Gives whether a layer can run in slices: its channels are whole, and no fused operator needs all
 * of them. */
static bool can_divide(const struct cu_build *b, const struct image_conv *c)
{
    return b->l->op != VBS_OP_CONV_TRANSPOSE && c->groups == 1 && !b->l->attributes.weighted.rows &&
           c->n_done == b->l->n_fused;
}

static enum vbs_status build_in_slices(struct cu_build *b, struct image_conv *c, int algorithm,
                                       const char *name)
{
    int64_t bytes = weights_of(b)->outputs * weights_of(b)->count * (int64_t)sizeof(float);
    int n_numbers = 0;
    enum vbs_status status = VBS_OK;

    if (!can_divide(b, c))
        return VBS_OK;
    for (int n = 2; n <= VBS_MAX_ROW_SLICES && n_numbers < N_NUMBERS && status == VBS_OK; n *= 2) {
        bool requested = b->requested && is_requested(b, name, n);

        if (weights_of(b)->outputs % n != 0 || (b->requested && !requested))
            continue;
        if (!requested && (bytes / n > MOST_SLICE_BYTES || bytes / n <= LEAST_SLICE_BYTES))
            continue;
        status = build_kernel(b, c, algorithm, name, n);
        n_numbers++;
    }
    return status;
}

/* Prepares everything but the algorithm. */
static enum vbs_status prepare(struct cu_build *b, struct image_conv *c)
{
    VBS_TRY(cu_weights_init(b));
    if (b->l->op == VBS_OP_FC)
        as_product(b, c);
    else
        VBS_TRY(as_image(b, c));
    VBS_TRY(cu_weights_upload(b));
    VBS_TRY(cu_tensor(b, 2 + c->n_spatial, c->in, NULL, &c->x));
    return describe_conv(b, c);
}

enum vbs_status cu_build_conv(struct cu_build *b)
{
    struct image_conv c = {0};

    VBS_TRY(prepare(b, &c));
    VBS_TRY(find_fused(b, &c));
    for (int a = 0; a < N_FORWARD; a++) {
        if (!is_exact(&c, a))
            continue;
        if (is_requested(b, FORWARD[a], 0))
            VBS_TRY(build_kernel(b, &c, a, FORWARD[a], 0));
        VBS_TRY(build_in_slices(b, &c, a, FORWARD[a]));
    }
    return VBS_OK;
}

enum vbs_status cu_build_deconv(struct cu_build *b)
{
    struct image_conv c = {0};
    enum vbs_status status = prepare(b, &c);

    if (status == VBS_OK && c.window.uneven)
        return cu_unsupported(b, "transposed convolutions that pad unevenly");
    c.n_done = weights_of(b)->n_folded;
    for (int a = 0; a < N_BACKWARD && status == VBS_OK; a++)
        if (is_requested(b, BACKWARD[a], 0))
            status = build_kernel(b, &c, a, BACKWARD[a], 0);
    return status;
}
