#include "model/shape.h"

#include "base/fail.h"
#include "vbslab/units.h"

#include <math.h>
#include <stdio.h>

int64_t vbs_shape_elements(const struct vbs_shape *shape)
{
    int64_t elements = 1;

    for (int i = 0; i < shape->n_dims; i++)
        elements *= shape->dim[i];
    return elements;
}

int vbs_shape_n_spatial(const struct vbs_shape *shape)
{
    return shape->n_dims - 1;
}

bool vbs_shape_equal(const struct vbs_shape *a, const struct vbs_shape *b)
{
    if (a->n_dims != b->n_dims)
        return false;
    for (int i = 0; i < a->n_dims; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

char *vbs_shape_format(const struct vbs_shape *shape, char *buffer, size_t size)
{
    size_t used = 0;

    if (size > 0)
        buffer[0] = '\0';
    for (int i = 0; i < shape->n_dims && used < size; i++) {
        int wrote =
            snprintf(buffer + used, size - used, i ? "x%lld" : "%lld", (long long)shape->dim[i]);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    return buffer;
}

static bool within(int64_t value, int64_t low)
{
    return value >= low && value <= VBS_MAX_DIM;
}

bool vbs_shape_valid(const struct vbs_shape *shape)
{
    int64_t elements = 1;

    if (shape->n_dims < 1 || shape->n_dims > VBS_MAX_DIMS)
        return false;
    for (int i = 0; i < shape->n_dims; i++)
        if (!within(shape->dim[i], 1) || !vbs_mul(elements, shape->dim[i], &elements) ||
            elements > VBS_MAX_ELEMENTS)
            return false;
    return true;
}

/* Digits at *text as a number from 1 on; too large ones stop growing above VBS_MAX_DIM. */
static int64_t read_dim(const char **text)
{
    int64_t dim = 0;

    for (; **text >= '0' && **text <= '9'; (*text)++)
        if (dim <= VBS_MAX_DIM)
            dim = 10 * dim + (**text - '0');
    return dim;
}

enum vbs_status vbs_shape_parse(struct vbs_ctx *ctx, const char *text, struct vbs_shape *shape)
{
    struct vbs_shape parsed = {0};
    const char *at = text;

    for (;;) {
        int64_t dim = parsed.n_dims < VBS_MAX_DIMS ? read_dim(&at) : 0;

        if (dim == 0)
            break;
        parsed.dim[parsed.n_dims++] = dim;
        if (*at == '\0') {
            if (!vbs_shape_valid(&parsed))
                return vbs_fail(ctx, VBS_USAGE,
                                "shape '%.60s' is too large; it may have 2^36 elements", text);
            *shape = parsed;
            return VBS_OK;
        }
        if (*at++ != 'x')
            break;
    }
    return vbs_fail(ctx, VBS_USAGE,
                    "'%.60s' is not a shape; write channels and up to three sizes above 0, as "
                    "3x224x224",
                    text);
}

static bool is_pool(enum vbs_op op)
{
    return op == VBS_OP_POOL_MAX || op == VBS_OP_POOL_AVG;
}

/* Window i of attributes over a dimension of in elements: *out positions. */
static enum vbs_status infer_window(struct vbs_ctx *ctx, enum vbs_op op, bool round_up,
                                    struct vbs_attributes *attributes, int i, int64_t in,
                                    int64_t *out)
{
    int64_t kernel = attributes->kernel[i], stride = attributes->stride[i];
    int64_t low = attributes->pad_low[i], high = attributes->pad_high[i];
    int64_t extent, padded, positions;

    if (!within(kernel, 1) || !within(stride, 1) || !within(attributes->dilation[i], 1) ||
        !within(low, 0) || !within(high, 0))
        return vbs_fail(ctx, VBS_FORMAT, "kernel, stride, dilation or padding is out of range");
    extent = (kernel - 1) * attributes->dilation[i] + 1;
    padded = in + low + high;
    if (extent > padded)
        return vbs_fail(ctx, VBS_FORMAT,
                        "kernel spans %lld, more than the %lld of its padded input",
                        (long long)extent, (long long)padded);
    if (is_pool(op) && (low >= kernel || high >= kernel))
        return vbs_fail(ctx, VBS_FORMAT, "padding %lld leaves windows of kernel %lld without input",
                        (long long)(low > high ? low : high), (long long)kernel);
    positions = (padded - extent + (round_up ? stride - 1 : 0)) / stride + 1;
    if (round_up && (positions - 1) * stride >= in + low)
        positions--;
    if (is_pool(op)) {
        int64_t need = (positions - 1) * stride + extent - in - low;

        attributes->pad_high[i] = need > 0 ? need : 0;
    }
    *out = positions;
    return VBS_OK;
}

static enum vbs_status infer_windows(struct vbs_ctx *ctx, enum vbs_op op, bool round_up,
                                     struct vbs_attributes *attributes,
                                     const struct vbs_shape *input, struct vbs_shape *output)
{
    enum vbs_status status = VBS_OK;

    if (vbs_shape_n_spatial(input) == 0)
        return vbs_fail(ctx, VBS_FORMAT, "'%s' needs spatial dimensions; its input has shape %lld",
                        vbs_op_word(op), (long long)input->dim[0]);
    *output = *input;
    for (int i = 0; i < vbs_shape_n_spatial(input) && status == VBS_OK; i++)
        status =
            infer_window(ctx, op, round_up, attributes, i, input->dim[i + 1], &output->dim[i + 1]);
    return status;
}

static enum vbs_status infer_conv(struct vbs_ctx *ctx, struct vbs_attributes *attributes,
                                  const struct vbs_shape *input, struct vbs_shape *output)
{
    int64_t groups = attributes->groups, out = attributes->out_channels;
    enum vbs_status status;

    if (!within(out, 1) || !within(groups, 1))
        return vbs_fail(ctx, VBS_FORMAT, "output channels or groups are out of range");
    if (input->dim[0] % groups != 0 || out % groups != 0)
        return vbs_fail(ctx, VBS_FORMAT,
                        "%lld groups do not divide %lld input and %lld output channels",
                        (long long)groups, (long long)input->dim[0], (long long)out);
    status = infer_windows(ctx, VBS_OP_CONV, false, attributes, input, output);
    if (status == VBS_OK)
        output->dim[0] = out;
    return status;
}

static enum vbs_status check_lrn(struct vbs_ctx *ctx, const struct vbs_attributes *attributes)
{
    if (!within(attributes->lrn_size, 1) || attributes->lrn_size % 2 == 0)
        return vbs_fail(ctx, VBS_FORMAT, "LRN size %lld is not odd and above 0",
                        (long long)attributes->lrn_size);
    if (!isfinite(attributes->lrn_alpha) || attributes->lrn_alpha < 0 ||
        !isfinite(attributes->lrn_beta) || attributes->lrn_beta < 0 ||
        !isfinite(attributes->lrn_k) || attributes->lrn_k <= 0)
        return vbs_fail(ctx, VBS_FORMAT,
                        "LRN needs alpha and beta of at least 0 and k above 0, all finite");
    return VBS_OK;
}

static enum vbs_status shapes_differ(struct vbs_ctx *ctx, const char *what,
                                     const struct vbs_shape *a, const struct vbs_shape *b)
{
    char a_text[64], b_text[64];

    return vbs_fail(ctx, VBS_FORMAT, "%s differ: %s and %s", what,
                    vbs_shape_format(a, a_text, sizeof a_text),
                    vbs_shape_format(b, b_text, sizeof b_text));
}

/* Dimension i from the last of a shape, 1 beyond its first. */
static int64_t dim_from_end(const struct vbs_shape *shape, int i)
{
    return i < shape->n_dims ? shape->dim[shape->n_dims - 1 - i] : 1;
}

/* Broadcasting of numpy: aligned at the last dimension, where 1 fits all. */
static enum vbs_status infer_binary(struct vbs_ctx *ctx, const struct vbs_shape *a,
                                    const struct vbs_shape *b, struct vbs_shape *output)
{
    int n = a->n_dims > b->n_dims ? a->n_dims : b->n_dims;

    output->n_dims = n;
    for (int i = 0; i < n; i++) {
        int64_t x = dim_from_end(a, i), y = dim_from_end(b, i);

        if (x != y && x != 1 && y != 1)
            return shapes_differ(ctx, "shapes of the inputs", a, b);
        output->dim[n - 1 - i] = x > y ? x : y;
    }
    return VBS_OK;
}

/* Along axis; the other dimensions must agree. */
static enum vbs_status infer_concat(struct vbs_ctx *ctx, int axis, const struct vbs_shape *inputs,
                                    int n_inputs, struct vbs_shape *output)
{
    if (axis < 0 || axis >= inputs[0].n_dims)
        return vbs_fail(ctx, VBS_FORMAT, "there is no dimension %d to concatenate along", axis);
    for (int i = 1; i < n_inputs; i++) {
        struct vbs_shape joined = inputs[i];

        joined.dim[axis] = inputs[0].dim[axis];
        if (!vbs_shape_equal(&inputs[0], &joined))
            return shapes_differ(ctx, axis == 0 ? "sizes beside channels" : "sizes beside the axis",
                                 &inputs[0], &inputs[i]);
        /* of 2^31 at most, and fewer than 2^31 of them */
        output->dim[axis] += inputs[i].dim[axis];
    }
    return VBS_OK;
}

enum vbs_status vbs_shape_infer(struct vbs_ctx *ctx, enum vbs_op op, const struct vbs_shape *inputs,
                                int n_inputs, const struct vbs_shape *operand, bool round_up,
                                struct vbs_attributes *attributes, struct vbs_shape *output)
{
    struct vbs_shape inferred = inputs[0];
    enum vbs_status status = VBS_OK;

    switch (op) {
    case VBS_OP_CONV:
        status = infer_conv(ctx, attributes, &inputs[0], &inferred);
        break;
    case VBS_OP_FC:
        if (!within(attributes->out_channels, 1))
            return vbs_fail(ctx, VBS_FORMAT, "output channels are out of range");
        if (attributes->rows)
            inferred.dim[inferred.n_dims - 1] = attributes->out_channels;
        else
            inferred = (struct vbs_shape){.n_dims = 1, .dim = {attributes->out_channels}};
        break;
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
        status = infer_windows(ctx, op, round_up, attributes, &inputs[0], &inferred);
        break;
    case VBS_OP_LRN:
        status = check_lrn(ctx, attributes);
        break;
    case VBS_OP_CONCAT:
        status = infer_concat(ctx, attributes->axis, inputs, n_inputs, &inferred);
        break;
    default:
        if (vbs_op_class(op) == VBS_CLASS_BINARY)
            status = infer_binary(ctx, &inputs[0], n_inputs > 1 ? &inputs[1] : operand, &inferred);
        break;
    }
    if (status == VBS_OK && !vbs_shape_valid(&inferred))
        status = vbs_fail(ctx, VBS_FORMAT, "output is larger than 2^36 elements");
    if (status == VBS_OK)
        *output = inferred;
    return status;
}

/* Weights per output channel of a conv or fc, which are its multiply-accumulates per output
 * element too. */
static bool count_per_output(enum vbs_op op, const struct vbs_attributes *attributes,
                             const struct vbs_shape *input, int64_t *count)
{
    if (op == VBS_OP_FC) {
        *count = attributes->rows ? input->dim[input->n_dims - 1] : vbs_shape_elements(input);
        return true;
    }
    *count = input->dim[0] / attributes->groups;
    for (int i = 0; i < vbs_shape_n_spatial(input); i++)
        if (!vbs_mul(*count, attributes->kernel[i], count))
            return false;
    return true;
}

enum vbs_status vbs_shape_work(struct vbs_ctx *ctx, enum vbs_op op,
                               const struct vbs_attributes *attributes,
                               const struct vbs_shape *input, const struct vbs_shape *operand,
                               const struct vbs_shape *output, int64_t *parameters, int64_t *macs)
{
    int64_t channels = op == VBS_OP_FC ? attributes->out_channels : output->dim[0], weights = 0,
            work = 0, each = 0;
    bool counted = true;

    if (op == VBS_OP_CONV || op == VBS_OP_FC)
        counted =
            count_per_output(op, attributes, input, &each) && vbs_mul(each, channels, &weights);
    else if (op == VBS_OP_SCALE)
        weights = channels;
    else if (op == VBS_OP_BATCHNORM && attributes->affine)
        weights = 2 * channels;
    if (operand->n_dims > 0)
        weights = vbs_shape_elements(operand);
    if (attributes->bias)
        counted = counted && vbs_add(weights, channels, &weights);
    if (!counted || weights > VBS_MAX_ELEMENTS)
        return vbs_fail(ctx, VBS_FORMAT, "more than 2^36 parameters");
    if (!vbs_mul(each, vbs_shape_elements(output), &work) || work > VBS_MAX_MACS)
        return vbs_fail(ctx, VBS_FORMAT, "more than 2^50 multiply-accumulates per sample");
    *parameters = weights;
    *macs = work;
    return VBS_OK;
}
