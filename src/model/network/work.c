/* The work of an operation: its parameters and its multiply-accumulates. */
#include "model/network/operation.h"

#include "base/arith.h"
#include "base/fail.h"

/* Computes the weights of a conv, deconv, deformconv or fc, and the multiply-accumulates of one
 * sample. False when the weights exceed 64 bits; multiply-accumulates that exceed them become
 * INT64_MAX. */
static bool count_weighted(enum vbs_op op, const union vbs_attributes *attributes,
                           const struct vbs_shape *input, const struct vbs_shape *output,
                           int64_t *weights, int64_t *macs)
{
    bool transposed = op == VBS_OP_CONV_TRANSPOSE;
    int64_t each; /* weights that are used for one value of the output (of a deconv: of the
                     input) */

    if (op == VBS_OP_FC) {
        each =
            attributes->weighted.rows ? input->dim[input->n_dims - 1] : vbs_shape_elements(input);
    } else if (op == VBS_OP_DEFORM_CONV) {
        const int64_t *kernel = attributes->weighted.window.kernel;

        each = input->dim[input->n_dims - 3] / attributes->weighted.groups;
        if (!vbs_mul(each, kernel[0], &each) || !vbs_mul(each, kernel[1], &each))
            return false;
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

/* Counts the values of gamma, and of beta, of a normalisation on input. */
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

/* Adds the weights of the input, biases and peepholes of a recurrent operator to *parameters, which
 * are those of the state [directions, gates x hidden, hidden], and computes the
 * multiply-accumulates. Each dimension is below 2^31. False where the parameters exceed 64 bits. */
static bool count_recurrent(const struct vbs_shape *state, const union vbs_attributes *attributes,
                            const struct vbs_shape *input, int64_t *parameters, int64_t *macs)
{
    int64_t beside = attributes->recurrent.bias ? 2 * state->dim[0] * state->dim[1] : 0;
    int64_t rows = state->dim[0] * state->dim[1], weights;

    if (!vbs_mul(rows, input->dim[1], &weights) || !vbs_add(weights, *parameters, parameters))
        return false;
    if (!vbs_mul(*parameters, input->dim[0], macs))
        *macs = INT64_MAX;
    beside += attributes->recurrent.peepholes ? 3 * state->dim[0] * state->dim[2] : 0;
    return vbs_add(*parameters, beside, parameters);
}

/* Computes parameters and multiply-accumulates, INT64_MAX where the latter exceed 64 bits; false
 * where the former do. */
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
    case VBS_OP_DEFORM_CONV:
    case VBS_OP_FC:
        return count_weighted(operation->op, attributes, input, output, parameters, macs) &&
               (!attributes->weighted.bias ||
                vbs_add(*parameters, attributes->weighted.out_channels, parameters));
    case VBS_OP_MATMUL:
        if (!vbs_mul(input->dim[input->n_dims - (attributes->binary.swapped ? 2 : 1)],
                     vbs_shape_elements(output), macs))
            *macs = INT64_MAX;
        return true;
    case VBS_OP_RNN:
    case VBS_OP_GRU:
    case VBS_OP_LSTM:
        return count_recurrent(operand, attributes, input, parameters, macs);
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

enum vbs_status vbs_operation_work(struct vbs_ctx *ctx, const struct vbs_operation *operation,
                                   const union vbs_attributes *attributes,
                                   const struct vbs_shape *output, int64_t *parameters,
                                   int64_t *macs)
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
