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

/* Reads the input, the weights, and the bias, which is input number `index`. */
static enum vbs_status read_operands(struct vbs_onnx_import *im, constant *input, constant *weights,
                                     int index, struct convolution *c)
{
    constant *bias;

    VBS_TRY(vbs_onnx_numbers(im, input, &c->x));
    VBS_TRY(vbs_onnx_known_in(im, 1, &weights, &c->weights));
    if (!vbs_onnx_in(im, index))
        return VBS_OK;
    VBS_TRY(vbs_onnx_known_in(im, index, &bias, &c->bias));
    if (vbs_shape_elements(&bias->shape) != c->out.dim[0])
        return vbs_fail(im->ctx, VBS_FORMAT, "input %d has %lld values for %lld channels", index,
                        (long long)vbs_shape_elements(&bias->shape), (long long)c->out.dim[0]);
    return VBS_OK;
}

/* Reads the shapes and attributes, and the operands, and counts the work for all samples. */
static enum vbs_status prepare(struct vbs_onnx_import *im, constant *input, constant *weights,
                               int bias, union vbs_attributes *a, struct convolution *c)
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
    return read_operands(im, input, weights, bias, c);
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
    VBS_TRY(prepare(im, input, weights, 2, &a, &c));
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

/* ---- DeformConv ---- */

/* What moves the places of a convolution's windows, and factors of what they read. */
struct deformation {
    int64_t groups, lines; /* of the input's channels; of offsets, each of rows and columns */
    const number *offsets, *factors;
};

/* Reads input index, [N, lines, H, W], as the deformation has it. */
static enum vbs_status read_lines(struct vbs_onnx_import *im, const struct convolution *c,
                                  int index, int64_t lines, int64_t samples, const number **made)
{
    constant *read;
    const int64_t *dim;

    VBS_TRY(vbs_onnx_known_in(im, index, &read, made));
    dim = read->shape.dim;
    if (read->shape.n_dims != 4 || dim[0] != samples || dim[1] != lines ||
        dim[2] != c->out.dim[1] || dim[3] != c->out.dim[2])
        return vbs_fail(im->ctx, VBS_FORMAT, "input %d has not %lld numbers for each position",
                        index, (long long)lines);
    return VBS_OK;
}

static enum vbs_status read_deformation(struct vbs_onnx_import *im, const struct convolution *c,
                                        int64_t samples, struct deformation *d)
{
    int64_t groups = vbs_onnx_int(im, "offset_group", 1);

    if (groups < 1 || groups > c->in.dim[0] || c->in.dim[0] % groups != 0)
        return vbs_fail(im->ctx, VBS_FORMAT, "%lld groups of offsets do not divide %lld channels",
                        (long long)groups, (long long)c->in.dim[0]);
    *d = (struct deformation){.groups = groups, .lines = groups * c->taps};
    VBS_TRY(read_lines(im, c, 2, 2 * d->lines, samples, &d->offsets));
    return vbs_onnx_in(im, 4) ? read_lines(im, c, 4, d->lines, samples, &d->factors) : VBS_OK;
}

/* Returns what the window at a position of a sample reads for one of its elements in a channel. */
static number deformed(const struct convolution *c, const struct deformation *d, int64_t sample,
                       int64_t channel, int64_t tap, int64_t at)
{
    const struct vbs_window *w = c->window;
    int64_t columns = c->out.dim[2], plane = c->out.dim[1] * columns;
    int64_t line = channel / (c->in.dim[0] / d->groups) * c->taps + tap;
    const number *offset = d->offsets + (sample * d->lines + line) * 2 * plane + at;
    int64_t row = at / columns * w->stride[0] - w->pad_low[0] + tap / w->kernel[1] * w->dilation[0];
    int64_t column =
        at % columns * w->stride[1] - w->pad_low[1] + tap % w->kernel[1] * w->dilation[1];
    struct vbs_image_taps taps =
        vbs_deform_taps((float)row + (float)offset[0].value,
                        (float)column + (float)offset[plane].value, c->in.dim[1], c->in.dim[2]);
    const number *image = c->x + (sample * c->in.dim[0] + channel) * c->in.dim[1] * c->in.dim[2];
    number sum = {0, .batch = false};

    for (int t = 0; t < taps.n; t++) {
        sum.value += taps.weight[t] * image[taps.at[t]].value;
        sum.batch |= image[taps.at[t]].batch;
    }
    if (d->factors)
        sum.value *= d->factors[(sample * d->lines + line) * plane + at].value;
    return sum;
}

/* Computes element i of the output. */
static number deform(const struct convolution *c, const struct deformation *d, int64_t i)
{
    int64_t plane = c->out.dim[1] * c->out.dim[2], at = i % plane;
    int64_t channel = i / plane % c->out.dim[0], sample = i / plane / c->out.dim[0];
    const number *weights = c->weights + channel * c->per_group * c->taps;
    number sum = c->bias ? c->bias[channel] : (number){0, .batch = false};

    for (int64_t k = 0; k < c->per_group * c->taps; k++) {
        int64_t from = channel / c->out_per_group * c->per_group + k / c->taps;
        number read = deformed(c, d, sample, from, k % c->taps, at);

        sum.value += read.value * weights[k].value;
        sum.batch |= read.batch;
    }
    return sum;
}

VBS_ONNX_HANDLER(fold_deform_conv)
{
    union vbs_attributes a = {.weighted = {.groups = 1}};
    struct convolution c = {.bias = NULL};
    struct deformation d;
    constant *input, *weights;
    struct vbs_shape shape;
    number *y;

    (void)operator;
    VBS_TRY(vbs_onnx_constant_in(im, 0, &input));
    VBS_TRY(vbs_onnx_constant_in(im, 1, &weights));
    if (input->shape.n_dims != 4)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "its input is no images");
    VBS_TRY(prepare(im, input, weights, 3, &a, &c));
    VBS_TRY(read_deformation(im, &c, input->shape.dim[0], &d));
    shape = input->shape;
    memcpy(shape.dim + 1, c.out.dim, 3 * sizeof c.out.dim[0]);
    if (!vbs_onnx_bounded(&shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "its output has more than 2^36 elements");
    /* what is read for a product takes as long as some products, which prepare has counted */
    VBS_TRY(vbs_onnx_numbers_read(im, 8 * vbs_shape_elements(&shape) * c.per_group * c.taps));
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &y));
    for (int64_t i = 0; i < vbs_shape_elements(&shape); i++) {
        y[i] = deform(&c, &d, i);
        y[i].value = vbs_onnx_rounded(input->type, y[i].value);
    }
    return vbs_onnx_give_numbers(im, input->type, &shape, y);
}
