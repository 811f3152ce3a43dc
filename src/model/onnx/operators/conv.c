/*
 * Conv, whose weights or bias may be computed. Where the weights are, the windows of the input
 * become columns of a matrix, which the weights multiply.
 *
 * Layers work on one sample, which has its own weights. In the file the samples are in the channels
 * then: the output has N M, and where the input has samples of its own, it has N C, and the node N
 * groups for each of a sample; or it is a file of one sample, in which N is 1 anywhere.
 */
#include "base/fail.h"
#include "model/onnx/operators/operators.h"

#include <string.h>

#define MOST_PLACES 65536 /* of a gather that takes windows out of rows */

/* The images [K, C, D, H, W], weights [M, C / groups, kernel] and bias of one sample. */
struct sample {
    struct vbs_onnx_state x, weights;
    int64_t n;     /* samples that the channels and groups of x have in the file; 1: none */
    int at;        /* of the output, as in a state: 0, or 1 where its channels have the samples */
    int64_t outer; /* likewise */
    struct vbs_shape shape; /* of the output: [K, M, D, H, W] */
};

static bool is_own(const struct vbs_onnx_import *im, const struct vbs_onnx_state *state)
{
    return im->batch && state->tensor && !state->shared;
}

/* Inserts a dimension of 1 into the shape of a state. */
static enum vbs_status insert(struct vbs_onnx_import *im, int at, struct vbs_onnx_state *state)
{
    struct vbs_shape *shape = &state->shape;

    if (shape->n_dims >= VBS_MAX_DIMS || shape->n_dims < at)
        return vbs_onnx_mixes(im);
    vbs_shape_insert(shape, at);
    return VBS_OK;
}

/* ---- how samples go together ---- */

/* Makes weights or a bias, whose first dimension has the samples, those of one sample. */
static enum vbs_status of_sample(struct vbs_onnx_import *im, struct vbs_onnx_state *state)
{
    if (state->at > 0 || state->outer > 1)
        return vbs_onnx_mixes(im);
    return state->outer == 0 ? insert(im, 0, state) : VBS_OK;
}

/* Finds the samples in images of their own whose weights are own, too. */
static enum vbs_status pair_channels(struct vbs_onnx_import *im, struct sample *s)
{
    int64_t groups = vbs_onnx_int(im, "group", 1);

    if (s->x.at != 1 || s->x.outer > 1 || im->n_samples < 1 || groups % im->n_samples)
        return vbs_onnx_mixes(im);
    s->n = im->n_samples;
    s->at = s->outer = 1;
    return s->x.outer == 0 ? insert(im, 1, &s->x) : VBS_OK;
}

/* Finds what images and weights of one sample are. */
static enum vbs_status pair_samples(struct vbs_onnx_import *im, struct sample *s)
{
    bool own = is_own(im, &s->x), own_weights = is_own(im, &s->weights);
    bool single = im->n_samples == 1;

    s->n = 1;
    if (own_weights)
        VBS_TRY(of_sample(im, &s->weights));
    if (own && own_weights && s->x.at > 0)
        return pair_channels(im, s);
    if (own) {
        if (s->x.at > 0 || (own_weights && !single))
            return vbs_onnx_mixes(im);
        s->outer = s->x.outer;
        return s->outer == 0 ? insert(im, 0, &s->x) : VBS_OK;
    }
    if (!own_weights)
        return VBS_OK;
    if (!single && vbs_onnx_int(im, "group", 1) != 1)
        return vbs_onnx_mixes(im);
    s->at = s->outer = !single || s->x.shape.n_dims == 0 || s->x.shape.dim[0] > 1;
    return VBS_OK;
}

/* Makes the output that of the node, in the shape that it has there. */
static enum vbs_status give_sample(struct vbs_onnx_import *im, const struct sample *s,
                                   struct vbs_onnx_tensor *tensor)
{
    struct vbs_shape shape = s->shape;
    int apart = -1; /* the dimension that only counts samples */

    if (im->batch && s->outer == 0)
        apart = 0;
    else if (im->batch && s->at == 1 && shape.dim[1] == 1)
        apart = 1;
    if (apart >= 0) {
        vbs_shape_drop(&shape, apart);
    }
    im->at_out = s->at;
    im->outer_out = apart >= 0 ? 0 : s->outer;
    return vbs_onnx_give(im, 0, tensor, &shape);
}

/* ---- windows ---- */

/* Makes a list of the elements that windows consist of along one dimension of rows times length
 * elements: first element 0 of all windows of row 0, of row 1, ..., then element 1 of them. */
static enum vbs_status list_places(struct vbs_onnx_import *im, const struct vbs_window *window,
                                   int d, int64_t rows, int64_t length, int64_t n_windows,
                                   struct vbs_onnx_constant **places)
{
    int64_t each = rows * n_windows;
    const struct vbs_shape list = {1, {window->kernel[d] * each}};
    struct vbs_onnx_number *numbers;

    VBS_TRY(vbs_onnx_numbers_new(im, list.dim[0], &numbers));
    for (int64_t i = 0; i < list.dim[0]; i++)
        numbers[i].value = i % each / n_windows * length + i / each * window->dilation[d] +
                           i % n_windows * window->stride[d];
    return vbs_onnx_constant_new(im, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, &list, numbers, places);
}

/* Makes windows of dimension 2 of x, [L, A, n, B]: [L kernel, A, windows, B]. One gather does it
 * where its list is short; else a transposition follows. */
static enum vbs_status unfold(struct vbs_onnx_import *im, const struct vbs_window *window, int d,
                              int64_t n_windows, struct vbs_onnx_state *x)
{
    static const int PERM[] = {0, 2, 1, 3};
    const int64_t *given = x->shape.dim, k = window->kernel[d], length = given[2];
    const struct vbs_shape all = {5, {given[0], k, given[1], n_windows, given[3]}};
    struct vbs_shape apart = {4, {given[0], given[1], k, 0}};
    struct vbs_shape windows = {4, {given[0] * k, given[1], n_windows, given[3]}};
    struct vbs_onnx_constant *places;
    struct vbs_onnx_state taken;
    int64_t rows = given[1];

    if (k == 1 && n_windows == length)
        return VBS_OK;
    if (!vbs_onnx_bounded(&all) || windows.dim[0] > VBS_MAX_DIM)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                        "windows that computed weights multiply have more than 2^36 elements");
    apart.dim[3] = n_windows * given[3];
    rows = k * rows * n_windows <= MOST_PLACES ? rows : 1;
    x->shape.dim[1] /= rows;
    x->shape.dim[2] *= rows;
    VBS_TRY(list_places(im, window, d, rows, length, n_windows, &places));
    VBS_TRY(vbs_onnx_take_along(im, x, 2, places, &taken));
    if (rows == apart.dim[1]) {
        *x = taken;
    } else {
        taken.shape = apart;
        VBS_TRY(vbs_onnx_permute(im, &taken, PERM, x));
    }
    x->shape = windows;
    return VBS_OK;
}

/* Pads the images [L, D, H, W] with zeros. */
static enum vbs_status pad(struct vbs_onnx_import *im, const struct vbs_window *window,
                           struct vbs_onnx_state *x)
{
    union vbs_attributes zeros = {.pad = {.mode = VBS_PAD_CONSTANT}};
    bool any = false;
    struct vbs_shape view = x->shape;

    for (int d = 0; d + 1 < view.n_dims; d++) {
        zeros.pad.before[d + 1] = window->pad_low[d];
        zeros.pad.behind[d + 1] = window->pad_high[d];
        x->shape.dim[d + 1] += window->pad_low[d] + window->pad_high[d];
        any |= window->pad_low[d] > 0 || window->pad_high[d] > 0;
    }
    return any ? vbs_onnx_apply(im, VBS_OP_PAD, &zeros, x->tensor, &view, &x->tensor) : VBS_OK;
}

/* Makes columns of the windows of images [K, C, D, H, W], one for each position; their elements are
 * in the order [C, kernel W, kernel H, kernel D]. *out: [K C, D, H, W] of the positions. */
static enum vbs_status unfold_all(struct vbs_onnx_import *im, const struct vbs_window *window,
                                  struct vbs_onnx_state *x, struct vbs_shape *out)
{
    int n = x->shape.n_dims - 2;
    struct vbs_onnx_state images = *x;
    int64_t before = 1, behind = 1;

    images.shape.n_dims--;
    images.shape.dim[0] = x->shape.dim[0] * x->shape.dim[1];
    memmove(images.shape.dim + 1, x->shape.dim + 2, (size_t)n * sizeof x->shape.dim[0]);
    VBS_TRY(pad(im, window, &images));
    for (int d = 0; d < n; d++)
        before *= images.shape.dim[d + 1];
    *out = images.shape;
    for (int d = n - 1; d >= 0; d--) {
        int64_t length = out->dim[d + 1];
        int64_t reach = (window->kernel[d] - 1) * window->dilation[d] + 1;
        int64_t n_windows = (length - reach) / window->stride[d] + 1;

        if (length < reach)
            return vbs_fail(im->ctx, VBS_FORMAT,
                            "kernel spans %lld, more than the %lld of its padded input",
                            (long long)reach, (long long)length);
        before /= length;
        images.shape = (struct vbs_shape){4, {images.shape.dim[0], before, length, behind}};
        VBS_TRY(unfold(im, window, d, n_windows, &images));
        out->dim[d + 1] = n_windows;
        behind *= n_windows;
    }
    x->tensor = images.tensor;
    return VBS_OK;
}

/* ---- products ---- */

/* Turns the kernel of weights [M, C, D, H, W], so that its elements have the order of columns. */
static enum vbs_status turn_kernel(struct vbs_onnx_import *im, const struct vbs_onnx_state *weights,
                                   struct vbs_onnx_state *turned)
{
    int perm[VBS_MAX_DIMS] = {0, 1}, n = weights->shape.n_dims;

    for (int d = 2; d < n; d++)
        perm[d] = n + 1 - d;
    return vbs_onnx_permute(im, weights, perm, turned);
}

/* Multiplies columns by weights, group by group: the output is [K, M, positions]. */
static enum vbs_status multiply(struct vbs_onnx_import *im, const struct sample *s, int64_t groups,
                                struct vbs_onnx_tensor **product)
{
    const struct vbs_shape *weights = &s->weights.shape, *out = &s->shape;
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, VBS_OP_MATMUL, 2);
    struct vbs_shape a = {4, {1, groups, weights->dim[0] / groups, weights->dim[1]}}, b = a;
    struct vbs_onnx_state turned;
    int ones = out->dim[0] > 1 ? 0 : groups > 1 ? 1 : 2;

    if (!draft)
        return vbs_no_memory(im->ctx);
    for (int d = 2; d < weights->n_dims; d++)
        a.dim[3] *= weights->dim[d];
    b.dim[0] = out->dim[0];
    b.dim[2] = a.dim[3];
    b.dim[3] = vbs_shape_elements(out) / out->dim[0] / out->dim[1];
    a.n_dims = b.n_dims = 4 - ones;
    memmove(a.dim, a.dim + ones, (size_t)a.n_dims * sizeof a.dim[0]);
    memmove(b.dim, b.dim + ones, (size_t)b.n_dims * sizeof b.dim[0]);
    VBS_TRY(turn_kernel(im, &s->weights, &turned));
    vbs_onnx_reads(draft, 0, turned.tensor, &a);
    vbs_onnx_reads(draft, 1, s->x.tensor, &b);
    return vbs_onnx_tensor_new(im, draft, product);
}

/* Reads the windows, and checks the shapes as the file has them. *groups: those of a sample. */
static enum vbs_status read_windows(struct vbs_onnx_import *im, const struct sample *s,
                                    struct vbs_window *window, int64_t *groups)
{
    union vbs_attributes attributes = {.weighted = {.groups = 0}};
    struct vbs_shape view = s->x.shape;

    if (view.n_dims < 2)
        return vbs_fail(im->ctx, VBS_FORMAT, "its input has %d dimensions", view.n_dims);
    vbs_shape_drop(&view, 0);
    view.dim[0] *= s->n;
    VBS_TRY(vbs_onnx_read_conv(im, &view, &s->weights.shape, &attributes));
    VBS_TRY(vbs_onnx_finish_conv(im, &view, &s->weights.shape, &attributes));
    *groups = attributes.weighted.groups / s->n;
    *window = attributes.weighted.window;
    if (s->weights.shape.dim[0] % *groups)
        return vbs_fail(im->ctx, VBS_FORMAT, "%lld groups do not divide %lld channels",
                        (long long)*groups, (long long)s->weights.shape.dim[0]);
    return VBS_OK;
}

/* ---- biases ---- */

/* Takes the bias of one sample out of a constant that the file has for all n samples. */
static enum vbs_status bias_of_all(struct vbs_onnx_import *im, int64_t channels,
                                   struct vbs_onnx_constant **bias)
{
    const struct vbs_shape list = {2, {im->n_samples, channels}};

    if (!*bias || im->n_samples < 2 ||
        vbs_shape_elements(&(*bias)->shape) != im->n_samples * channels)
        return vbs_onnx_mixes(im);
    VBS_TRY(vbs_onnx_constant_reshape(im, *bias, &list, bias));
    VBS_TRY(vbs_onnx_constant_copy(im, *bias, 0, bias));
    return *bias ? VBS_OK : vbs_onnx_mixes(im);
}

/* Finds the bias of one sample, input 2. */
static enum vbs_status find_bias(struct vbs_onnx_import *im, const struct sample *s,
                                 struct vbs_onnx_state *bias)
{
    int64_t channels = s->shape.dim[1], count;

    *bias = *vbs_onnx_in(im, 2);
    if (is_own(im, bias)) {
        VBS_TRY(of_sample(im, bias));
        if (s->at == 0 && im->n_samples != 1)
            return vbs_onnx_mixes(im);
    } else if (im->batch && s->at == 1 && im->n_samples != 1) {
        VBS_TRY(bias_of_all(im, channels, &bias->constant));
    }
    count = vbs_shape_elements(bias->tensor ? &bias->shape : &bias->constant->shape);
    return count == channels
               ? VBS_OK
               : vbs_fail(im->ctx, VBS_FORMAT, "input 2 has %lld values for %lld channels",
                          (long long)count, (long long)channels);
}

static enum vbs_status add(struct vbs_onnx_import *im, const struct sample *s,
                           const struct vbs_onnx_state *bias, struct vbs_onnx_tensor **tensor)
{
    struct vbs_onnx_state x = {.tensor = *tensor, .shape = s->shape}, addend = *bias, sum;
    struct vbs_shape along;
    int channels = 1;

    if (x.shape.dim[0] == 1) {
        channels = 0;
        vbs_shape_drop(&x.shape, 0);
    }
    along = x.shape;
    for (int d = 0; d < along.n_dims; d++)
        along.dim[d] = d == channels ? along.dim[d] : 1;
    if (bias->constant)
        VBS_TRY(vbs_onnx_constant_reshape(im, bias->constant, &along, &addend.constant));
    else
        addend.shape = along;
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_ADD, &x, &addend, &sum));
    *tensor = sum.tensor;
    return VBS_OK;
}

/* Adds the bias, if the node has one, and gives the output. */
static enum vbs_status finish(struct vbs_onnx_import *im, const struct sample *s,
                              struct vbs_onnx_tensor *tensor)
{
    struct vbs_onnx_state bias;
    bool batch = im->batch;
    enum vbs_status status = VBS_OK;

    if (vbs_onnx_in(im, 2)) {
        VBS_TRY(find_bias(im, s, &bias));
        im->batch = false; /* shapes are those of one sample */
        status = add(im, s, &bias, &tensor);
        im->batch = batch;
    }
    return status == VBS_OK ? give_sample(im, s, tensor) : status;
}

/* ---- Conv ---- */

/* Makes the layers of one sample, without the bias. */
static enum vbs_status multiply_windows(struct vbs_onnx_import *im, struct sample *s,
                                        struct vbs_onnx_tensor **tensor)
{
    struct vbs_window window;
    struct vbs_shape out;
    int64_t groups = 1;

    VBS_TRY(read_windows(im, s, &window, &groups));
    s->shape = s->x.shape;
    VBS_TRY(unfold_all(im, &window, &s->x, &out));
    memcpy(s->shape.dim + 2, out.dim + 1, (size_t)(out.n_dims - 1) * sizeof out.dim[0]);
    s->shape.dim[1] = s->weights.shape.dim[0];
    return multiply(im, s, groups, tensor);
}

/* Finds the input, which becomes a tensor that all samples share where it is a constant. */
static enum vbs_status find_images(struct vbs_onnx_import *im, struct sample *s)
{
    const struct vbs_onnx_state *x = vbs_onnx_in(im, 0);
    bool batch = im->batch;
    enum vbs_status status;

    if (!x)
        return vbs_fail(im->ctx, VBS_FORMAT, "input 0 is missing");
    s->x = *x;
    if (x->tensor)
        return VBS_OK;
    im->batch = false;
    status = vbs_onnx_constant_tensor(im, &s->weights, x->constant, &s->x);
    im->batch = batch;
    s->x.shared = batch;
    return status;
}

/* Imports a node whose weights are a tensor. */
static enum vbs_status by_weights(struct vbs_onnx_import *im)
{
    struct sample s = {.weights = *vbs_onnx_in(im, 1)};
    struct vbs_onnx_tensor *tensor;
    bool batch = im->batch;
    enum vbs_status status;

    VBS_TRY(find_images(im, &s));
    VBS_TRY(pair_samples(im, &s));
    im->batch = false; /* shapes are those of one sample */
    status = multiply_windows(im, &s, &tensor);
    im->batch = batch;
    return status == VBS_OK ? finish(im, &s, tensor) : status;
}

/* Adds a bias that is a tensor to the output of constant weights. */
static enum vbs_status give_biased(struct vbs_onnx_import *im, const struct vbs_onnx_state *x)
{
    struct sample s = {.x = *x, .n = 1, .at = x->at, .outer = x->outer};

    if (im->batch && x->outer == 0)
        VBS_TRY(insert(im, 0, &s.x));
    s.shape = s.x.shape;
    return finish(im, &s, x->tensor);
}

VBS_ONNX_HANDLER(conv)
{
    const struct vbs_onnx_state *weights = vbs_onnx_in(im, 1), *bias = vbs_onnx_in(im, 2);
    struct vbs_onnx_state result;

    (void)operator;
    if (weights && weights->tensor)
        return by_weights(im);
    VBS_TRY(vbs_onnx_convolve(im, bias && !bias->tensor, &result));
    if (bias && bias->tensor)
        return give_biased(im, &result);
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}
