/* Constants that are computed while a graph is read. They are small; most of them are shapes. */
#include "model/onnx/operators.h"

#include "base/fail.h"
#include "vbslab/units.h"

#include <math.h>
#include <string.h>

#define INT64 ONNX__TENSOR_PROTO__DATA_TYPE__INT64
#define FLOAT ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT
#define BOOL  ONNX__TENSOR_PROTO__DATA_TYPE__BOOL

typedef struct vbs_onnx_number number;
typedef struct vbs_onnx_constant constant;

/* ---- value by value ---- */

static long double unary(int op, long double x)
{
    switch (op) {
    case VBS_OP_NEG:
        return -x;
    case VBS_OP_ABS:
        return fabsl(x);
    case VBS_OP_SQRT:
        return sqrtl(x);
    case VBS_OP_EXP:
        return expl(x);
    case VBS_OP_LOG:
        return logl(x);
    case VBS_OP_FLOOR:
        return floorl(x);
    case VBS_OP_CEIL:
        return ceill(x);
    case VBS_OP_ROUND:
        return rintl(x);
    case VBS_OP_RECIPROCAL:
        return 1 / x;
    case VBS_OP_SIGN:
        return (x > 0) - (x < 0);
    case VBS_OP_RELU:
        return x > 0 ? x : 0;
    case VBS_OP_SIGMOID:
        return 1 / (1 + expl(-x));
    case VBS_OP_TANH:
        return tanhl(x);
    case VBS_FOLD_NOT:
        return x == 0;
    default:
        return NAN;
    }
}

VBS_ONNX_HANDLER(fold_unary)
{
    constant *input;
    const number *x = NULL;
    number *y = NULL;

    VBS_TRY(vbs_onnx_constant_in(im, 0, &input));
    VBS_TRY(vbs_onnx_numbers(im, input, &x));
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&input->shape), &y));
    for (int64_t i = 0; i < vbs_shape_elements(&input->shape); i++)
        y[i] = (number){vbs_onnx_rounded(input->type, unary(operator->op, x[i].value)), x[i].batch};
    return vbs_onnx_give_numbers(im, input->type, &input->shape, y);
}

static long double pair(int op, bool whole, long double a, long double b)
{
    switch (op) {
    case VBS_OP_ADD:
        return a + b;
    case VBS_OP_SUB:
        return a - b;
    case VBS_OP_MUL:
        return a * b;
    case VBS_OP_DIV:
        return whole && b == 0 ? 0 : a / b;
    case VBS_OP_POW:
        return powl(a, b);
    case VBS_OP_MAX:
        return a > b ? a : b;
    case VBS_OP_MIN:
        return a < b ? a : b;
    case VBS_FOLD_EQUAL:
        return a == b;
    case VBS_FOLD_LESS:
        return a < b;
    case VBS_FOLD_LESS_EQUAL:
        return a <= b;
    case VBS_FOLD_GREATER:
        return a > b;
    case VBS_FOLD_GREATER_EQUAL:
        return a >= b;
    case VBS_FOLD_AND:
        return a != 0 && b != 0;
    case VBS_FOLD_OR:
        return a != 0 || b != 0;
    case VBS_FOLD_XOR:
        return (a != 0) != (b != 0);
    case VBS_FOLD_MOD: /* the result has the sign of the divisor */
        return b == 0 ? 0 : a - b * floorl(a / b);
    default:
        return NAN;
    }
}

static bool is_truth(int op)
{
    return op >= VBS_FOLD_EQUAL && op <= VBS_FOLD_XOR;
}

/* Gives the numbers of input index, repeated to fill shape. */
static enum vbs_status expanded(struct vbs_onnx_import *im, int index,
                                const struct vbs_shape *shape, const number **numbers)
{
    constant *input, *view;

    VBS_TRY(vbs_onnx_constant_in(im, index, &input));
    VBS_TRY(vbs_onnx_constant_expand(im, input, shape, &view));
    return vbs_onnx_numbers(im, view, numbers);
}

/* Finds the shape to which all inputs broadcast, and the type of the last input. */
static enum vbs_status common_shape(struct vbs_onnx_import *im, struct vbs_shape *shape, int *type)
{
    *shape = (struct vbs_shape){.n_dims = 0};
    for (int i = 0; i < im->node->n_inputs; i++) {
        constant *input = NULL;

        VBS_TRY(vbs_onnx_constant_in(im, i, &input));
        VBS_TRY(vbs_onnx_broadcast(im, &input->shape, shape));
        *type = input->type;
    }
    return VBS_OK;
}

/* Combines the inputs from left to right: two, or any number for Sum and its like. */
VBS_ONNX_HANDLER(fold_pair)
{
    int type = FLOAT, op = operator->op;
    struct vbs_shape shape;
    number *result = NULL;
    enum vbs_status status;

    VBS_TRY(common_shape(im, &shape, &type));
    status = vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &result);
    if (status != VBS_OK)
        return status;
    for (int k = 0; k < im->node->n_inputs; k++) {
        const number *x = NULL;

        status = expanded(im, k, &shape, &x);
        for (int64_t i = 0; i < vbs_shape_elements(&shape) && status == VBS_OK; i++) {
            if (k == 0)
                result[i] = x[i];
            else
                result[i] = (number){
                    vbs_onnx_rounded(is_truth(op) ? BOOL : type, pair(op, vbs_onnx_is_whole(type),
                                                                      result[i].value, x[i].value)),
                    result[i].batch || x[i].batch};
        }
        if (status != VBS_OK)
            return status;
    }
    return vbs_onnx_give_numbers(im, is_truth(op) ? BOOL : type, &shape, result);
}

VBS_ONNX_HANDLER(fold_where)
{
    const number *which = NULL, *x = NULL, *y = NULL;
    struct vbs_shape shape;
    number *result = NULL;
    int type = FLOAT;
    enum vbs_status status = common_shape(im, &shape, &type);

    (void)operator;
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &result));
    VBS_TRY(expanded(im, 0, &shape, &which));
    VBS_TRY(expanded(im, 1, &shape, &x));
    VBS_TRY(expanded(im, 2, &shape, &y));
    for (int64_t i = 0; i < vbs_shape_elements(&shape); i++) {
        result[i] = which[i].value != 0 ? x[i] : y[i];
        result[i].batch |= which[i].batch;
    }
    return vbs_onnx_give_numbers(im, type, &shape, result);
}

VBS_ONNX_HANDLER(fold_cast)
{
    int to = (int)vbs_onnx_int(im, "to", FLOAT);
    constant *input, *made;
    const number *x;
    number *y = NULL;
    enum vbs_element element;
    enum vbs_status status = vbs_onnx_constant_in(im, 0, &input);

    (void)operator;
    if (status != VBS_OK)
        return status;
    if (!vbs_onnx_element(to, &element))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "casts to element type %s",
                        vbs_onnx_type_name(to));
    if (!vbs_onnx_is_whole(to) && !input->computed) { /* values are read as floats in any case */
        made = vbs_arena_alloc(im->arena, 1, sizeof *made);
        if (!made)
            return vbs_no_memory(im->ctx);
        *made = *input;
        made->type = to;
        vbs_onnx_give_constant(im, 0, made);
        return VBS_OK;
    }
    VBS_TRY(vbs_onnx_numbers(im, input, &x));
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&input->shape), &y));
    for (int64_t i = 0; i < vbs_shape_elements(&input->shape); i++)
        y[i] = (number){vbs_onnx_rounded(to, x[i].value), x[i].batch};
    return vbs_onnx_give_numbers(im, to, &input->shape, y);
}

/* ---- joined, chosen, reduced ---- */

VBS_ONNX_HANDLER(fold_concat)
{
    constant *first, *input;
    struct vbs_shape shape;
    int64_t axis, before = 1, row = 0, at = 0;
    number *joined;
    enum vbs_status status = vbs_onnx_constant_in(im, 0, &first);

    (void)operator;
    if (status != VBS_OK)
        return status;
    shape = first->shape;
    axis = vbs_onnx_int(im, "axis", 1);
    axis += axis < 0 ? shape.n_dims : 0;
    if (axis < 0 || axis >= shape.n_dims)
        return vbs_fail(im->ctx, VBS_FORMAT, "there is no dimension %lld", (long long)axis);
    for (int i = 1; i < im->node->n_inputs; i++) {
        status = vbs_onnx_constant_in(im, i, &input);
        if (status == VBS_OK && input->shape.n_dims != shape.n_dims)
            return vbs_fail(im->ctx, VBS_FORMAT, "inputs have different dimensions");
        for (int d = 0; d < shape.n_dims && status == VBS_OK; d++)
            if (d != axis && input->shape.dim[d] != shape.dim[d])
                return vbs_fail(im->ctx, VBS_FORMAT, "sizes beside the axis differ");
        shape.dim[axis] += status == VBS_OK ? input->shape.dim[axis] : 0;
        if (!vbs_onnx_bounded(&shape))
            return vbs_fail(im->ctx, VBS_FORMAT, "its output has more than 2^36 elements");
        if (status != VBS_OK)
            return status;
    }
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &joined));
    for (int d = 0; d < axis; d++)
        before *= shape.dim[d];
    row = before > 0 ? vbs_shape_elements(&shape) / before : 0;
    for (int i = 0; i < im->node->n_inputs; i++) {
        const number *x;
        int64_t each;

        VBS_TRY(vbs_onnx_constant_in(im, i, &input));
        VBS_TRY(vbs_onnx_numbers(im, input, &x));
        each = before > 0 ? vbs_shape_elements(&input->shape) / before : 0;
        for (int64_t k = 0; k < before && each > 0; k++)
            memcpy(joined + k * row + at, x + k * each, (size_t)each * sizeof *x);
        at += each;
    }
    return vbs_onnx_give_numbers(im, first->type, &shape, joined);
}

VBS_ONNX_HANDLER(fold_gather)
{
    int64_t axis = vbs_onnx_int(im, "axis", 0), before = 1, behind = 1, n_indices, dim;
    constant *data, *indices;
    const number *x, *which;
    struct vbs_shape shape;
    number *chosen;
    enum vbs_status status = vbs_onnx_constant_in(im, 0, &data);

    (void)operator;
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_onnx_constant_in(im, 1, &indices));
    VBS_TRY(vbs_onnx_numbers(im, data, &x));
    VBS_TRY(vbs_onnx_numbers(im, indices, &which));
    axis += axis < 0 ? data->shape.n_dims : 0;
    if (axis < 0 || axis >= data->shape.n_dims ||
        data->shape.n_dims - 1 + indices->shape.n_dims > VBS_MAX_DIMS)
        return vbs_fail(im->ctx, VBS_FORMAT, "there is no dimension %lld", (long long)axis);
    dim = data->shape.dim[axis];
    shape = (struct vbs_shape){.n_dims = data->shape.n_dims - 1 + indices->shape.n_dims};
    for (int d = 0; d < data->shape.n_dims; d++) {
        before *= d < axis ? data->shape.dim[d] : 1;
        behind *= d > axis ? data->shape.dim[d] : 1;
        if (d != axis)
            shape.dim[d < axis ? d : d - 1 + indices->shape.n_dims] = data->shape.dim[d];
    }
    for (int d = 0; d < indices->shape.n_dims; d++)
        shape.dim[axis + d] = indices->shape.dim[d];
    n_indices = vbs_shape_elements(&indices->shape);
    VBS_TRY(vbs_onnx_numbers_new(im, before * n_indices * behind, &chosen));
    for (int64_t i = 0; i < before * n_indices && behind > 0; i++) {
        const number *wanted = &which[i % n_indices];
        int64_t at = vbs_onnx_clamp(wanted->value);

        at += at < 0 ? dim : 0;
        if (at < 0 || at >= dim || wanted->batch)
            return vbs_fail(im->ctx, VBS_FORMAT, "there is no element %lld among %lld",
                            (long long)at, (long long)dim);
        memcpy(chosen + i * behind, x + (i / n_indices * dim + at) * behind,
               (size_t)behind * sizeof *x);
    }
    return vbs_onnx_give_numbers(im, data->type, &shape, chosen);
}

static long double reduce_start(int op)
{
    return op == VBS_OP_REDUCE_PROD  ? 1
           : op == VBS_OP_REDUCE_MAX ? -INFINITY
           : op == VBS_OP_REDUCE_MIN ? INFINITY
                                     : 0;
}

VBS_ONNX_HANDLER(fold_reduce)
{
    int op = operator->op == VBS_OP_REDUCE_MEAN ? VBS_OP_ADD :
             operator->op == VBS_OP_REDUCE_SUM  ? VBS_OP_ADD
             :
             operator->op == VBS_OP_REDUCE_PROD ? VBS_OP_MUL
             :
             operator->op == VBS_OP_REDUCE_MAX ? VBS_OP_MAX
                                               : VBS_OP_MIN;
    int64_t stride[VBS_MAX_DIMS] = {0}, count, each = 1, position[VBS_MAX_DIMS] = {0}, at = 0;
    struct vbs_shape kept, shape;
    constant *input;
    const number *x;
    number *y;
    unsigned axes;
    bool keep;

    VBS_TRY(vbs_onnx_constant_in(im, 0, &input));
    VBS_TRY(vbs_onnx_reduced(im, &input->shape, false, &axes, &keep));
    VBS_TRY(vbs_onnx_numbers(im, input, &x));
    vbs_onnx_reduced_shapes(&input->shape, axes, keep, &kept, &shape);
    count = vbs_shape_elements(&input->shape);
    VBS_TRY(vbs_onnx_numbers_read(im, count));
    for (int d = input->shape.n_dims - 1; d >= 0; d--)
        if (!(axes >> d & 1)) {
            stride[d] = each;
            each *= input->shape.dim[d];
        }
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &y));
    for (int64_t i = 0; i < vbs_shape_elements(&shape); i++)
        y[i].value = reduce_start(operator->op);
    for (int64_t i = 0; i < count; i++) {
        y[at].value = pair(op, false, y[at].value, x[i].value);
        y[at].batch |= x[i].batch;
        for (int d = input->shape.n_dims - 1; d >= 0; d--) {
            at += stride[d];
            if (++position[d] < input->shape.dim[d])
                break;
            at -= position[d] * stride[d];
            position[d] = 0;
        }
    }
    for (int64_t i = 0; i < vbs_shape_elements(&shape); i++) {
        if (operator->op == VBS_OP_REDUCE_MEAN && count> 0)
            y[i].value /= (long double)(count / vbs_shape_elements(&shape));
        y[i].value = vbs_onnx_rounded(input->type, y[i].value);
    }
    return vbs_onnx_give_numbers(im, input->type, &shape, y);
}
