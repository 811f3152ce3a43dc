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
static bool count_weighted(enum vbs_op op, const struct vbs_attributes *attributes,
                           const struct vbs_shape *input, const struct vbs_shape *output,
                           int64_t *weights, int64_t *macs)
{
    bool transposed = op == VBS_OP_CONV_TRANSPOSE;
    int64_t each; /* weights that meet one value: of the output, of a deconv's input */

    if (op == VBS_OP_FC) {
        each = attributes->rows ? input->dim[input->n_dims - 1] : vbs_shape_elements(input);
    } else {
        each = (transposed ? attributes->out_channels : input->dim[0]) / attributes->groups;
        for (int i = 0; i < vbs_shape_n_spatial(input); i++)
            if (!vbs_mul(each, attributes->kernel[i], &each))
                return false;
    }
    if (!vbs_mul(each, vbs_shape_elements(transposed ? input : output), macs))
        *macs = INT64_MAX;
    return vbs_mul(each, transposed ? input->dim[0] : attributes->out_channels, weights);
}

/* Values of gamma, and of beta, of a normalisation on input; 0 for other operators. */
static int64_t norm_values(enum vbs_op op, const struct vbs_attributes *attributes,
                           const struct vbs_shape *input)
{
    int64_t elements = 1;

    if (op == VBS_OP_BATCHNORM || op == VBS_OP_INSTANCE_NORM)
        return input->dim[0];
    if (op != VBS_OP_LAYER_NORM)
        return 0;
    for (int i = attributes->axis; i < input->n_dims; i++)
        elements *= input->dim[i];
    return elements;
}

enum vbs_status vbs_shape_work(struct vbs_ctx *ctx, enum vbs_op op,
                               const struct vbs_attributes *attributes,
                               const struct vbs_shape *input, const struct vbs_shape *operand,
                               const struct vbs_shape *output, int64_t *parameters, int64_t *macs)
{
    bool weighted = op == VBS_OP_CONV || op == VBS_OP_CONV_TRANSPOSE || op == VBS_OP_FC;
    int64_t weights = 0, work = 0;
    bool counted = true;

    if (weighted)
        counted = count_weighted(op, attributes, input, output, &weights, &work);
    else if (op == VBS_OP_MATMUL &&
             !vbs_mul(input->dim[input->n_dims - (attributes->swapped ? 2 : 1)],
                      vbs_shape_elements(output), &work))
        work = INT64_MAX;
    else if (op == VBS_OP_SCALE)
        weights = output->dim[0];
    else if (attributes->affine)
        weights = 2 * norm_values(op, attributes, input);
    if (operand->n_dims > 0)
        weights = vbs_shape_elements(operand);
    if (attributes->bias)
        counted = counted &&
                  vbs_add(weights, weighted ? attributes->out_channels : output->dim[0], &weights);
    if (!counted || weights > VBS_MAX_ELEMENTS)
        return vbs_fail(ctx, VBS_FORMAT, "more than 2^36 parameters");
    if (work > VBS_MAX_MACS)
        return vbs_fail(ctx, VBS_FORMAT, "more than 2^50 multiply-accumulates per sample");
    *parameters = weights;
    *macs = work;
    return VBS_OK;
}
