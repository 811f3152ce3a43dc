#include "model/network/shape.h"

#include "base/arith.h"
#include "base/fail.h"

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

/* Weights of a conv, deconv or fc and the multiply-accumulates of one sample; false when the former
 * are beyond 64 bits, INT64_MAX for the latter. */
static bool count_weighted(enum vbs_op op, const union vbs_attributes *attributes,
                           const struct vbs_shape *input, const struct vbs_shape *output,
                           int64_t *weights, int64_t *macs)
{
    bool transposed = op == VBS_OP_CONV_TRANSPOSE;
    int64_t each; /* weights that meet one value: of the output, of a deconv's input */

    if (op == VBS_OP_FC) {
        each =
            attributes->weighted.rows ? input->dim[input->n_dims - 1] : vbs_shape_elements(input);
    } else {
        each = (transposed ? attributes->weighted.out_channels : input->dim[0]) /
               attributes->weighted.groups;
        for (int i = 0; i < vbs_shape_n_spatial(input); i++)
            if (!vbs_mul(each, attributes->weighted.window.kernel[i], &each))
                return false;
    }
    if (!vbs_mul(each, vbs_shape_elements(transposed ? input : output), macs))
        *macs = INT64_MAX;
    return vbs_mul(each, transposed ? input->dim[0] : attributes->weighted.out_channels, weights);
}

/* Values of gamma, and of beta, of a normalisation on input. */
static int64_t norm_values(enum vbs_op op, const union vbs_attributes *attributes,
                           const struct vbs_shape *input)
{
    int64_t elements = 1;

    if (op != VBS_OP_LAYER_NORM)
        return input->dim[0];
    for (int i = attributes->norm.axis; i < input->n_dims; i++)
        elements *= input->dim[i];
    return elements;
}

/* Parameters and multiply-accumulates, INT64_MAX where the latter are beyond 64 bits; false where
 * the former are. */
static bool count_work(const struct vbs_operation *operation,
                       const union vbs_attributes *attributes, const struct vbs_shape *output,
                       int64_t *parameters, int64_t *macs)
{
    const struct vbs_shape *input = &operation->inputs[0], *operand = operation->operand;

    *parameters = operand->n_dims > 0 ? vbs_shape_elements(operand) : 0;
    *macs = 0;
    switch (operation->op) {
    case VBS_OP_CONV:
    case VBS_OP_CONV_TRANSPOSE:
    case VBS_OP_FC:
        return count_weighted(operation->op, attributes, input, output, parameters, macs) &&
               (!attributes->weighted.bias ||
                vbs_add(*parameters, attributes->weighted.out_channels, parameters));
    case VBS_OP_MATMUL:
        if (!vbs_mul(input->dim[input->n_dims - (attributes->binary.swapped ? 2 : 1)],
                     vbs_shape_elements(output), macs))
            *macs = INT64_MAX;
        return true;
    case VBS_OP_SCALE:
        *parameters = (attributes->scale.bias ? 2 : 1) * output->dim[0];
        return true;
    case VBS_OP_BATCHNORM:
    case VBS_OP_INSTANCE_NORM:
    case VBS_OP_LAYER_NORM:
        *parameters =
            attributes->norm.affine ? 2 * norm_values(operation->op, attributes, input) : 0;
        return true;
    default:
        return true;
    }
}

enum vbs_status vbs_shape_work(struct vbs_ctx *ctx, const struct vbs_operation *operation,
                               const union vbs_attributes *attributes,
                               const struct vbs_shape *output, int64_t *parameters, int64_t *macs)
{
    int64_t n, work;

    if (!count_work(operation, attributes, output, &n, &work) || n > VBS_MAX_ELEMENTS)
        return vbs_fail(ctx, VBS_FORMAT, "more than 2^36 parameters");
    if (work > VBS_MAX_MACS)
        return vbs_fail(ctx, VBS_FORMAT, "more than 2^50 multiply-accumulates per sample");
    *parameters = n;
    *macs = work;
    return VBS_OK;
}
