/* Convolutions and pools. */
#include "base/fail.h"
#include "model/onnx/operators/operators.h"

#include <string.h>

/* ---- windows ---- */

/* Reads a list of n values, one for each spatial dimension, all of them missing where the attribute
 * is not given. */
static enum vbs_status read_spread(struct vbs_onnx_import *im, const char *name, int n,
                                   int64_t missing, int64_t *values)
{
    int given;
    const int64_t *list = vbs_onnx_ints(im, name, &given);

    if (list && given != n)
        return vbs_fail(im->ctx, VBS_FORMAT, "'%s' has %d values for %d spatial dimensions", name,
                        given, n);
    for (int d = 0; d < n; d++) {
        values[d] = list ? list[d] : missing;
        if (values[d] < 0 || values[d] > VBS_MAX_DIM)
            return vbs_fail(im->ctx, VBS_FORMAT, "'%s' has a value of %lld", name,
                            (long long)values[d]);
    }
    return VBS_OK;
}

static enum vbs_status read_window(struct vbs_onnx_import *im, int n, struct vbs_window *a)
{
    int64_t pads[2 * VBS_MAX_SPATIAL];

    if (n < 1 || n > VBS_MAX_SPATIAL)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "%d spatial dimensions; 1 to %d are supported", n,
                        VBS_MAX_SPATIAL);
    VBS_TRY(read_spread(im, "strides", n, 1, a->stride));
    VBS_TRY(read_spread(im, "dilations", n, 1, a->dilation));
    VBS_TRY(read_spread(im, "pads", 2 * n, 0, pads));
    for (int d = 0; d < n; d++) {
        if (a->stride[d] < 1 || a->dilation[d] < 1)
            return vbs_fail(im->ctx, VBS_FORMAT, "a stride or dilation is 0");
        a->pad_low[d] = pads[d];
        a->pad_high[d] = pads[d + n];
    }
    return VBS_OK;
}

enum auto_pad { NOTSET, SAME_UPPER, SAME_LOWER, VALID };

static int read_auto_pad(struct vbs_onnx_import *im)
{
    static const char *const WORDS[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", NULL};

    return vbs_onnx_word(im, "auto_pad", WORDS, NOTSET);
}

static int64_t extent(const struct vbs_window *a, int d)
{
    return (a->kernel[d] - 1) * a->dilation[d] + 1;
}

static void set_pads(struct vbs_window *a, int d, int64_t total, bool more_high)
{
    int64_t half = total / 2;

    a->pad_low[d] = more_high ? half : total - half;
    a->pad_high[d] = total - a->pad_low[d];
}

/* Sets the pads of auto_pad SAME, so that a window of stride s is placed at every s-th element of
 * the input. */
static enum vbs_status pad_alike(struct vbs_onnx_import *im, const struct vbs_shape *view,
                                 struct vbs_window *a)
{
    int mode = read_auto_pad(im);

    for (int d = 0; d < view->n_dims - 1 && mode > NOTSET; d++) {
        int64_t in = view->dim[d + 1], out = (in + a->stride[d] - 1) / a->stride[d];
        int64_t total = (out - 1) * a->stride[d] + extent(a, d) - in;

        if (a->kernel[d] < 1)
            return vbs_fail(im->ctx, VBS_FORMAT, "a kernel is 0");
        set_pads(a, d, mode == VALID || total < 0 ? 0 : total, mode == SAME_UPPER);
    }
    return mode < 0 ? im->bad : VBS_OK;
}

/* Reads the sizes of the kernel from the weights' shape, with which 'kernel_shape', where it is
 * given, must agree. */
static enum vbs_status read_kernel(struct vbs_onnx_import *im, const struct vbs_shape *weights,
                                   struct vbs_window *a)
{
    int n;
    const int64_t *list = vbs_onnx_ints(im, "kernel_shape", &n);

    for (int d = 0; d + 2 < weights->n_dims; d++) {
        a->kernel[d] = weights->dim[d + 2];
        if (list && (n != weights->n_dims - 2 || list[d] != a->kernel[d]))
            return vbs_fail(im->ctx, VBS_FORMAT, "'kernel_shape' is not that of the weights");
    }
    return VBS_OK;
}

/* ---- several images in a sample ---- */

/* Gives the images of a sample, [N, C, H, W] in the file: those that are folded into dimension 0,
 * or, where no dimension counts the samples, all. */
static int64_t images_of(const struct vbs_onnx_import *im, const struct vbs_onnx_state *x)
{
    bool several = im->batch ? im->outer > 0 : x->shape.n_dims > 1;

    return several ? x->shape.dim[0] : 1;
}

/* Gives the shape [C, H, W] of an image of x. */
static enum vbs_status image_shape(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                   struct vbs_shape *view)
{
    if (im->batch && im->outer > 0 && im->at > 0)
        return vbs_onnx_mixes(im);
    if (images_of(im, x) == 1 && (!im->batch || im->outer == 0))
        return vbs_onnx_channels(im, x, view);
    *view = x->shape;
    if (view->n_dims < 3 || view->n_dims > VBS_MAX_SPATIAL + 1)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                        "has %lld samples in dimension 0, which other nodes mix, of %d dimensions",
                        (long long)view->dim[0], view->n_dims - 1);
    vbs_shape_drop(view, 0);
    return VBS_OK;
}

/* Exchanges the first two dimensions of x. */
static enum vbs_status turn(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                            struct vbs_onnx_state *turned)
{
    int perm[VBS_MAX_DIMS];

    for (int d = 0; d < x->shape.n_dims; d++)
        perm[d] = d < 2 ? 1 - d : d;
    return vbs_onnx_permute(im, x, perm, turned);
}

static void spread_list(int64_t *values, int64_t first)
{
    memmove(values + 1, values, (VBS_MAX_SPATIAL - 1) * sizeof *values);
    values[0] = first;
}

/* Gives the windows a first dimension, along which they have one element. */
static void spread_window(struct vbs_window *window)
{
    spread_list(window->kernel, 1);
    spread_list(window->stride, 1);
    spread_list(window->dilation, 1);
    spread_list(window->pad_low, 0);
    spread_list(window->pad_high, 0);
}

/* Makes the output of a draft with windows, which reads an image [C, H, W] of x. Where samples have
 * k images, it reads [C, k, H, W]: windows of one image in three dimensions. *result belongs to no
 * value. */
static enum vbs_status run_windows(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                   struct vbs_window *window, struct vbs_onnx_draft *draft,
                                   struct vbs_onnx_state *result)
{
    struct vbs_onnx_state turned, made;

    *result = (struct vbs_onnx_state){.at = x->at, .outer = x->outer};
    if (images_of(im, x) == 1 && (!im->batch || im->outer == 0)) {
        VBS_TRY(vbs_onnx_tensor_new(im, draft, &result->tensor));
        result->shape = vbs_onnx_unchannels(im, &result->tensor->shape);
        return VBS_OK;
    }
    VBS_TRY(turn(im, x, &turned));
    vbs_onnx_reads(draft, 0, turned.tensor, &turned.shape);
    spread_window(window);
    VBS_TRY(vbs_onnx_tensor_new(im, draft, &made.tensor));
    made = (struct vbs_onnx_state){
        .tensor = made.tensor, .shape = made.tensor->shape, .at = x->at, .outer = x->outer};
    return turn(im, &made, result);
}

/* Makes the output of such a draft that of the node. */
static enum vbs_status give_windows(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                    struct vbs_window *window, struct vbs_onnx_draft *draft)
{
    struct vbs_onnx_state result;

    VBS_TRY(run_windows(im, x, window, draft, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* ---- Conv ---- */

/* Makes a Pad of zeros that is still a draft part of the windows' padding. */
static void absorb_pad(const struct vbs_onnx_import *im, struct vbs_onnx_draft *draft)
{
    const struct vbs_onnx_draft *pad = vbs_onnx_pending(draft->inputs[0], VBS_OP_PAD);
    struct vbs_window *a = &draft->node.attributes.weighted.window;
    struct vbs_shape *view = &draft->views[0];
    const union vbs_attributes *p;
    int skip;

    if (!pad || vbs_onnx_has(im, "auto_pad"))
        return;
    p = &pad->node.attributes;
    skip = pad->views[0].n_dims - view->n_dims;
    if (p->pad.mode != VBS_PAD_CONSTANT || p->pad.value != 0 || skip < 0)
        return;
    for (int d = 0; d < pad->views[0].n_dims; d++)
        if (p->pad.before[d] < 0 || p->pad.behind[d] < 0 ||
            (d <= skip && (p->pad.before[d] || p->pad.behind[d])))
            return;
    for (int d = 1; d < view->n_dims; d++) {
        a->pad_low[d - 1] += p->pad.before[d + skip];
        a->pad_high[d - 1] += p->pad.behind[d + skip];
        view->dim[d] -= p->pad.before[d + skip] + p->pad.behind[d + skip];
    }
    draft->inputs[0] = pad->inputs[0];
}

enum vbs_status vbs_onnx_read_conv(struct vbs_onnx_import *im, const struct vbs_shape *view,
                                   const struct vbs_shape *weights, union vbs_attributes *a)
{
    int64_t groups = vbs_onnx_int(im, "group", 1);

    if (weights->n_dims != view->n_dims + 1)
        return vbs_fail(im->ctx, VBS_FORMAT, "weights of %d dimensions for an input of %d",
                        weights->n_dims, view->n_dims + 1);
    if (groups < 1 || groups > view->dim[0] || view->dim[0] % groups)
        return vbs_fail(im->ctx, VBS_FORMAT, "%lld groups do not divide %lld channels",
                        (long long)groups, (long long)view->dim[0]);
    a->weighted.groups = groups;
    VBS_TRY(read_window(im, view->n_dims - 1, &a->weighted.window));
    return read_kernel(im, weights, &a->weighted.window);
}

enum vbs_status vbs_onnx_finish_conv(struct vbs_onnx_import *im, const struct vbs_shape *view,
                                     const struct vbs_shape *weights, union vbs_attributes *a)
{
    a->weighted.out_channels = weights->dim[0];
    if (weights->dim[1] != view->dim[0] / a->weighted.groups)
        return vbs_fail(im->ctx, VBS_FORMAT,
                        "weights for %lld channels in each of %lld groups, its input has %lld",
                        (long long)weights->dim[1], (long long)a->weighted.groups,
                        (long long)view->dim[0]);
    return pad_alike(im, view, &a->weighted.window);
}

/* Reads input 0 as [C, D, H, W], and constant weights of one dimension more. */
static enum vbs_status read_conv(struct vbs_onnx_import *im, enum vbs_op op,
                                 const struct vbs_onnx_state **x,
                                 struct vbs_onnx_constant **weights, struct vbs_onnx_draft **draft)
{
    struct vbs_shape view;

    VBS_TRY(vbs_onnx_tensor_in(im, 0, x));
    VBS_TRY(vbs_onnx_constant_in(im, 1, weights));
    VBS_TRY(image_shape(im, *x, &view));
    *draft = vbs_onnx_draft(im, op, 1);
    if (!*draft)
        return vbs_no_memory(im->ctx);
    (*draft)->inputs[0] = (*x)->tensor;
    (*draft)->views[0] = view;
    VBS_TRY(vbs_onnx_read_conv(im, &view, &(*weights)->shape, &(*draft)->node.attributes));
    return vbs_onnx_weights(im, *weights, 0, &(*draft)->node.values[VBS_PARAMETER_WEIGHTS]);
}

/* Makes the output of a draft, which has the bias of the node where biased is set. */
static enum vbs_status run_conv(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                bool biased, struct vbs_onnx_draft *draft,
                                struct vbs_onnx_state *result)
{
    draft->node.attributes.weighted.bias = biased;
    if (biased)
        VBS_TRY(vbs_onnx_vector(im, 2, draft->node.attributes.weighted.out_channels,
                                VBS_PARAMETER_BIAS, draft));
    if (images_of(im, x) > 1 || (im->batch && im->outer > 0))
        spread_list(draft->node.attributes.weighted.out_pad, 0);
    return run_windows(im, x, &draft->node.attributes.weighted.window, draft, result);
}

enum vbs_status vbs_onnx_convolve(struct vbs_onnx_import *im, bool biased,
                                  struct vbs_onnx_state *result)
{
    const struct vbs_onnx_state *x = vbs_onnx_in(im, 0);
    struct vbs_onnx_constant *weights;
    struct vbs_onnx_draft *draft;

    if (im->batch && x && x->tensor && (x->shared || (x->at > 0 && x->outer == 0)))
        return vbs_onnx_mixes(im);
    VBS_TRY(read_conv(im, VBS_OP_CONV, &x, &weights, &draft));
    VBS_TRY(vbs_onnx_finish_conv(im, &draft->views[0], &weights->shape, &draft->node.attributes));
    if (images_of(im, x) == 1)
        absorb_pad(im, draft);
    return run_conv(im, x, biased, draft, result);
}

/* ---- ConvTranspose ---- */

/* Sets the pads so that dimension d has out elements. */
static void pad_to(union vbs_attributes *a, int d, int64_t in, int64_t out, bool more_high)
{
    struct vbs_window *window = &a->weighted.window;
    int64_t *out_pad = &a->weighted.out_pad[d];
    int64_t total = (in - 1) * window->stride[d] + extent(window, d) + *out_pad - out;

    if (total < 0) {
        *out_pad -= total;
        total = 0;
    }
    set_pads(window, d, total, more_high);
}

static enum vbs_status pad_transposed(struct vbs_onnx_import *im, const struct vbs_shape *view,
                                      union vbs_attributes *a)
{
    struct vbs_window *window = &a->weighted.window;
    int mode = read_auto_pad(im), n = view->n_dims - 1, given;
    const int64_t *sizes = vbs_onnx_ints(im, "output_shape", &given);
    enum vbs_status status = read_spread(im, "output_padding", n, 0, a->weighted.out_pad);

    if (mode < 0)
        return im->bad;
    if (sizes && given != n && given != n + 2)
        return vbs_fail(im->ctx, VBS_FORMAT, "'output_shape' has %d values", given);
    for (int d = 0; d < n && status == VBS_OK; d++) {
        int64_t in = view->dim[d + 1], out = sizes ? sizes[d + given - n] : in * window->stride[d];

        if (out < 1 || out > VBS_MAX_DIM || window->kernel[d] < 1)
            return vbs_fail(im->ctx, VBS_FORMAT, "a dimension of the output is %lld",
                            (long long)out);
        if (sizes || mode == SAME_UPPER || mode == SAME_LOWER)
            pad_to(a, d, in, out, mode == SAME_UPPER);
        else if (mode == VALID)
            set_pads(window, d, 0, true);
    }
    return status;
}

VBS_ONNX_HANDLER(conv_transpose)
{
    const struct vbs_onnx_state *x;
    struct vbs_onnx_constant *weights;
    struct vbs_onnx_draft *draft;
    struct vbs_onnx_state result;
    union vbs_attributes *a;
    enum vbs_status status = read_conv(im, VBS_OP_CONV_TRANSPOSE, &x, &weights, &draft);

    (void)operator;
    if (status != VBS_OK)
        return status;
    a = &draft->node.attributes;
    if (weights->shape.dim[0] != draft->views[0].dim[0] ||
        weights->shape.dim[1] > VBS_MAX_DIM / a->weighted.groups)
        return vbs_fail(im->ctx, VBS_FORMAT, "weights for %lld channels, its input has %lld",
                        (long long)weights->shape.dim[0], (long long)draft->views[0].dim[0]);
    a->weighted.out_channels = weights->shape.dim[1] * a->weighted.groups;
    VBS_TRY(pad_transposed(im, &draft->views[0], a));
    VBS_TRY(run_conv(im, x, vbs_onnx_in(im, 2) != NULL, draft, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* ---- pools ---- */

/* Gives whether windows that round up reach beyond the padding that was given. */
static bool overhangs(const struct vbs_window *a, const struct vbs_shape *view)
{
    for (int d = 0; d < view->n_dims - 1; d++) {
        int64_t padded = view->dim[d + 1] + a->pad_low[d] + a->pad_high[d];

        if ((padded - extent(a, d)) % a->stride[d])
            return true;
    }
    return false;
}

/* Returns how much padding behind the elements of dimension d windows read that round up. A window
 * that would begin in it is left out: then so much that no such window is made once the padding
 * consists of elements. */
static int64_t read_behind(const struct vbs_window *a, const struct vbs_shape *view, int d)
{
    int64_t in = view->dim[d + 1] + a->pad_low[d], padded = in + a->pad_high[d];
    int64_t last = (padded - extent(a, d) + a->stride[d] - 1) / a->stride[d];
    int64_t end = (last - 1) * a->stride[d] + extent(a, d);

    if (last * a->stride[d] < in)
        return a->pad_high[d];
    return end <= in ? 0 : end >= padded ? a->pad_high[d] : end - in;
}

/* Where a mean counts the zeros of its padding and its windows reach beyond the padding, makes the
 * zeros elements with a Pad, because the windows count no zeros further outside. */
static enum vbs_status pad_mean(struct vbs_onnx_import *im, struct vbs_onnx_draft *draft)
{
    union vbs_attributes zeros = {.pad = {.mode = VBS_PAD_CONSTANT}};
    union vbs_attributes *a = &draft->node.attributes;
    struct vbs_window *window = &a->pool.window;
    struct vbs_onnx_tensor *padded;

    if (!a->pool.pad_counts || !draft->node.round_up || !overhangs(window, &draft->views[0]))
        return VBS_OK;
    if (images_of(im, vbs_onnx_in(im, 0)) > 1)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                        "rounds up a mean of several samples, which counts its padding");
    for (int d = 0; d < draft->views[0].n_dims - 1; d++) {
        zeros.pad.before[d + 1] = window->pad_low[d];
        zeros.pad.behind[d + 1] = read_behind(window, &draft->views[0], d);
        window->pad_low[d] = window->pad_high[d] = 0;
    }
    a->pool.pad_counts = false;
    VBS_TRY(vbs_onnx_apply(im, VBS_OP_PAD, &zeros, draft->inputs[0], &draft->views[0], &padded));
    vbs_onnx_reads(draft, 0, padded, NULL);
    return VBS_OK;
}

static enum vbs_status pool_draft(struct vbs_onnx_import *im, enum vbs_op op,
                                  const struct vbs_onnx_state *x, struct vbs_onnx_draft **draft)
{
    struct vbs_shape view;

    VBS_TRY(image_shape(im, x, &view));
    *draft = vbs_onnx_draft(im, op, 1);
    if (!*draft)
        return vbs_no_memory(im->ctx);
    (*draft)->inputs[0] = x->tensor;
    (*draft)->views[0] = view;
    return VBS_OK;
}

/* Makes the draft of a pool of x with the windows of the node. */
static enum vbs_status read_pool(struct vbs_onnx_import *im, enum vbs_op op,
                                 const struct vbs_onnx_state *x, struct vbs_onnx_draft **draft)
{
    struct vbs_window *window;
    int n;

    VBS_TRY(pool_draft(im, op, x, draft));
    window = &(*draft)->node.attributes.pool.window;
    n = (*draft)->views[0].n_dims - 1;
    VBS_TRY(read_window(im, n, window));
    VBS_TRY(read_spread(im, "kernel_shape", n, 0, window->kernel));
    VBS_TRY(pad_alike(im, &(*draft)->views[0], window));
    for (int d = 0; d < n; d++)
        if (window->kernel[d] < 1)
            return vbs_fail(im->ctx, VBS_FORMAT, "'kernel_shape' is missing or 0");
    (*draft)->node.round_up = vbs_onnx_int(im, "ceil_mode", 0) != 0 && read_auto_pad(im) == NOTSET;
    return VBS_OK;
}

VBS_ONNX_HANDLER(pool)
{
    const struct vbs_onnx_state *x;
    struct vbs_onnx_draft *draft;

    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    if (vbs_onnx_output_used(im, 1))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "its indices are not supported");
    VBS_TRY(read_pool(im, (enum vbs_op) operator->op, x, &draft));
    draft->node.attributes.pool.pad_counts = operator->op == VBS_OP_POOL_AVG &&
                                             vbs_onnx_int(im, "count_include_pad", 0) != 0;
    VBS_TRY(pad_mean(im, draft));
    return give_windows(im, x, &draft->node.attributes.pool.window, draft);
}

/* Computes |x|^p. */
static enum vbs_status to_power(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                double p, struct vbs_onnx_state *result)
{
    struct vbs_onnx_state size = *x;

    if (p == 2)
        return vbs_onnx_combine(im, VBS_OP_MUL, x, x, result);
    VBS_TRY(vbs_onnx_apply(im, VBS_OP_ABS, NULL, x->tensor, NULL, &size.tensor));
    return vbs_onnx_power(im, &size, p, result);
}

/* Makes a window that rounds up one that rounds down, with zeros behind as far as it reaches. */
static void reach_behind(struct vbs_onnx_draft *draft)
{
    struct vbs_window *window = &draft->node.attributes.pool.window;

    for (int d = 0; d < draft->views[0].n_dims - 1 && draft->node.round_up; d++) {
        int64_t in = draft->views[0].dim[d + 1] + window->pad_low[d];
        int64_t padded = in + window->pad_high[d];
        int64_t n = (padded - extent(window, d) + window->stride[d] - 1) / window->stride[d] + 1;
        int64_t end;

        n -= (n - 1) * window->stride[d] >= in; /* a window that begins in the padding */
        end = (n - 1) * window->stride[d] + extent(window, d);
        if (end > padded)
            window->pad_high[d] = end - in;
    }
    draft->node.round_up = false;
}

/* The p-th root of the sum of the p-th powers of each window: a mean that counts its padding, times
 * the elements of the window. */
VBS_ONNX_HANDLER(lp_pool)
{
    bool old = im->graph->opset < 2; /* p is a float */
    double p = old ? vbs_onnx_real(im, "p", 2) : (double)vbs_onnx_int(im, "p", 2), n = 1;
    struct vbs_onnx_state raised, mean, sum, result;
    const struct vbs_onnx_state *x;
    struct vbs_onnx_draft *draft;

    (void)operator;
    if (!(p >= 1 && p <= VBS_MAX_DIM))
        return vbs_fail(im->ctx, VBS_FORMAT, "attribute 'p' is %g", p);
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(to_power(im, x, p, &raised));
    VBS_TRY(read_pool(im, VBS_OP_POOL_AVG, &raised, &draft));
    draft->node.attributes.pool.pad_counts = true;
    reach_behind(draft);
    for (int d = 0; d < draft->views[0].n_dims - 1; d++)
        n *= (double)draft->node.attributes.pool.window.kernel[d];
    VBS_TRY(run_windows(im, &raised, &draft->node.attributes.pool.window, draft, &mean));
    VBS_TRY(vbs_onnx_linear(im, &mean, n, 0, &sum));
    VBS_TRY(vbs_onnx_power(im, &sum, 1 / p, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* Pools over all of more dimensions than pools have, as a reduction. */
static enum vbs_status reduce_all(struct vbs_onnx_import *im, enum vbs_op op)
{
    const struct vbs_onnx_state *x;
    struct vbs_onnx_state result;
    enum vbs_status status = vbs_onnx_tensor_in(im, 0, &x);
    int channels = 1 - im->batch;

    if (status != VBS_OK)
        return status;
    if (x->shape.n_dims <= channels + 1)
        return vbs_fail(im->ctx, VBS_FORMAT, "its input has no spatial dimensions");
    VBS_TRY(vbs_onnx_reduce_state(
        im, op, x, ((1u << x->shape.n_dims) - 1) & ~((1u << (channels + 1)) - 1), &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

VBS_ONNX_HANDLER(global_pool)
{
    bool mean = operator->op == VBS_OP_POOL_AVG;
    const struct vbs_onnx_state *x;
    struct vbs_onnx_draft *draft;
    struct vbs_window *window;

    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(pool_draft(im, (enum vbs_op) operator->op, x, &draft));
    if (draft->views[0].n_dims < 2 || draft->views[0].n_dims > 1 + VBS_MAX_SPATIAL)
        return reduce_all(im, mean ? VBS_OP_REDUCE_MEAN : VBS_OP_REDUCE_MAX);
    window = &draft->node.attributes.pool.window;
    for (int d = 0; d < draft->views[0].n_dims - 1; d++) {
        window->kernel[d] = draft->views[0].dim[d + 1];
        window->stride[d] = window->dilation[d] = 1;
    }
    return give_windows(im, x, window, draft);
}

VBS_ONNX_HANDLER(global_lp_pool)
{
    int p;

    (void)operator;
    VBS_TRY(vbs_onnx_read_p(im, &p));
    return reduce_all(im, p == 1 ? VBS_OP_REDUCE_L1 : VBS_OP_REDUCE_L2);
}
