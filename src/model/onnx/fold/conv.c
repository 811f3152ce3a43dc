/* Constants that are convolved, as encodings of positions are. */
#include "model/onnx/fold/fold.h"

#include "base/arith.h"
#include "base/fail.h"
#include "model/network/network.h"

#include <string.h>

typedef struct vbs_onnx_number number;
typedef struct vbs_onnx_constant constant;

/* A convolution, whose shapes are [C, D, H, W] without leading spatial dimensions. */
struct convolution {
    const struct vbs_window *window;
    int n_spatial;
    struct vbs_shape in, out;
    int64_t per_group; /* input channels of a group */
    int64_t out_per_group;
    int64_t taps; /* weights of one input channel for one output channel */
    const number *x, *weights, *bias;
};

/* Gives the element of an input channel that weight number tap reads for the output position at, or
 * -1 where it reads padding. */
static int64_t tapped(const struct convolution *c, int64_t at, int64_t tap)
{
    int64_t element = 0, each = 1;

    for (int d = c->n_spatial - 1; d >= 0; d--) {
        const struct vbs_window *w = c->window;
        int64_t i = at % c->out.dim[d + 1] * w->stride[d] - w->pad_low[d] +
                    tap % w->kernel[d] * w->dilation[d];

        if (i < 0 || i >= c->in.dim[d + 1])
            return -1;
        element += i * each;
        each *= c->in.dim[d + 1];
        at /= c->out.dim[d + 1];
        tap /= w->kernel[d];
    }
    return element;
}

/* Computes one element of the output: position at of a channel. x: the sample. */
static number convolve(const struct convolution *c, const number *x, int64_t channel, int64_t at)
{
    int64_t plane = vbs_shape_elements(&c->in) / c->in.dim[0];
    const number *first = x + channel / c->out_per_group * c->per_group * plane;
    const number *weights = c->weights + channel * c->per_group * c->taps;
    number sum = c->bias ? c->bias[channel] : (number){0, .batch = false};

    for (int64_t tap = 0; tap < c->taps; tap++) {
        int64_t element = tapped(c, at, tap);

        for (int64_t k = 0; element >= 0 && k < c->per_group; k++) {
            const number *value = &first[k * plane + element];

            sum.value += value->value * weights[k * c->taps + tap].value;
            sum.batch |= value->batch;
        }
    }
    return sum;
}

static enum vbs_status read_operands(struct vbs_onnx_import *im, constant *input, constant *weights,
                                     struct convolution *c)
{
    constant *bias;

    VBS_TRY(vbs_onnx_numbers(im, input, &c->x));
    VBS_TRY(vbs_onnx_known_in(im, 1, &weights, &c->weights));
    if (!vbs_onnx_in(im, 2))
        return VBS_OK;
    VBS_TRY(vbs_onnx_known_in(im, 2, &bias, &c->bias));
    if (vbs_shape_elements(&bias->shape) != c->out.dim[0])
        return vbs_fail(im->ctx, VBS_FORMAT, "input 2 has %lld values for %lld channels",
                        (long long)vbs_shape_elements(&bias->shape), (long long)c->out.dim[0]);
    return VBS_OK;
}

/* Reads the shapes and attributes, and the operands, and counts the work for all samples. */
static enum vbs_status prepare(struct vbs_onnx_import *im, constant *input, constant *weights,
                               union vbs_attributes *a, struct convolution *c)
{
    const struct vbs_operation operation = {.op = VBS_OP_CONV, .n_inputs = 1, .inputs = &c->in};
    int64_t work; /* the place of a tap takes as long as some products */

    c->in = (struct vbs_shape){.n_dims = input->shape.n_dims - 1};
    if (c->in.n_dims < 1)
        return vbs_fail(im->ctx, VBS_FORMAT, "its input has no channels");
    memcpy(c->in.dim, input->shape.dim + 1, (size_t)c->in.n_dims * sizeof c->in.dim[0]);
    if (!vbs_shape_valid(&c->in) || !vbs_shape_valid(&weights->shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "its input or its weights have no elements");
    VBS_TRY(vbs_onnx_read_conv(im, &c->in, &weights->shape, a));
    VBS_TRY(vbs_onnx_finish_conv(im, &c->in, &weights->shape, a));
    VBS_TRY(vbs_operation_shape(im->ctx, &operation, a, &c->out));
    c->window = &a->weighted.window;
    c->n_spatial = c->in.n_dims - 1;
    c->per_group = weights->shape.dim[1];
    c->out_per_group = c->out.dim[0] / a->weighted.groups;
    c->taps = vbs_shape_elements(&weights->shape) / weights->shape.dim[0] / c->per_group;
    if (!vbs_mul(vbs_shape_elements(&c->out), (c->per_group + 7) * c->taps, &work) ||
        !vbs_mul(work, input->shape.dim[0], &work))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "too much is computed with constants");
    VBS_TRY(vbs_onnx_numbers_read(im, work));
    return read_operands(im, input, weights, c);
}

VBS_ONNX_HANDLER(fold_conv)
{
    union vbs_attributes a = {.weighted = {.groups = 1}};
    struct convolution c = {.bias = NULL};
    struct vbs_shape shape;
    constant *input, *weights;
    int64_t n_in, n_out, plane;
    number *y;
    enum vbs_status status = vbs_onnx_constant_in(im, 0, &input);

    (void)operator;
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_onnx_constant_in(im, 1, &weights));
    if (input->copies <= 1)
        vbs_onnx_same_copies(im, 0);
    VBS_TRY(prepare(im, input, weights, &a, &c));
    shape = (struct vbs_shape){.n_dims = input->shape.n_dims, .dim = {input->shape.dim[0]}};
    memcpy(shape.dim + 1, c.out.dim, (size_t)c.out.n_dims * sizeof c.out.dim[0]);
    if (!vbs_onnx_bounded(&shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "its output has more than 2^36 elements");
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &y));
    n_in = vbs_shape_elements(&c.in);
    n_out = vbs_shape_elements(&c.out);
    plane = n_out / c.out.dim[0];
    for (int64_t i = 0; i < vbs_shape_elements(&shape); i++) {
        y[i] = convolve(&c, c.x + i / n_out * n_in, i % n_out / plane, i % plane);
        y[i].value = vbs_onnx_rounded(input->type, y[i].value);
    }
    return vbs_onnx_give_numbers(im, input->type, &shape, y);
}
