/*
 * QuantizeLinear, DequantizeLinear, and convolutions and products of whole numbers. Tensors of
 * whole numbers are tensors of floats that have these numbers as values; constants of whole numbers
 * become floats.
 */
#include "base/fail.h"
#include "model/network/network.h"
#include "model/onnx/operators.h"

#include <math.h>

#define UINT8  ONNX__TENSOR_PROTO__DATA_TYPE__UINT8
#define INT8   ONNX__TENSOR_PROTO__DATA_TYPE__INT8
#define UINT16 ONNX__TENSOR_PROTO__DATA_TYPE__UINT16
#define INT16  ONNX__TENSOR_PROTO__DATA_TYPE__INT16
#define INT32  ONNX__TENSOR_PROTO__DATA_TYPE__INT32
#define FLOAT  ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT

/* The numbers that stand for floats: number q stands for (q - zero) * scale, with one scale and one
 * zero for all, or for each position along an axis. */
struct grid {
    struct vbs_onnx_constant *scale, *zero; /* null where all are 1, or 0 */
    const struct vbs_onnx_number *scales, *zeros;
    int64_t n_scales, n_zeros;
    int64_t axis; /* of the file; below 0 from the end */
    int type;     /* of the whole numbers */
};

static double scale_of(const struct grid *grid, int64_t at)
{
    return grid->scale ? (double)grid->scales[grid->n_scales > 1 ? at : 0].value : 1;
}

static double zero_of(const struct grid *grid, int64_t at)
{
    return grid->zero ? (double)grid->zeros[grid->n_zeros > 1 ? at : 0].value : 0;
}

/* Counts the positions along the axis that have a scale or a zero of their own; 1: all are alike.
 */
static int64_t positions_of(const struct grid *grid)
{
    return grid->n_scales > grid->n_zeros ? grid->n_scales : grid->n_zeros;
}

/* Gives the range of a type; false where it is none of these operators. */
static bool range_of(int type, double *low, double *high)
{
    switch (type) {
    case UINT8:
        *low = 0, *high = 255;
        return true;
    case INT8:
        *low = -128, *high = 127;
        return true;
    case UINT16:
        *low = 0, *high = 65535;
        return true;
    case INT16:
        *low = -32768, *high = 32767;
        return true;
    default:
        return false;
    }
}

static enum vbs_status check_scales(struct vbs_onnx_import *im, const struct grid *grid)
{
    for (int64_t i = 0; grid->scale && i < grid->n_scales; i++)
        if (!(grid->scales[i].value > 0) || !isfinite((double)grid->scales[i].value))
            return vbs_fail(im->ctx, VBS_FORMAT, "a scale is %g, not above 0",
                            (double)grid->scales[i].value);
    return VBS_OK;
}

/* Gives whether a constant is a number, or a list of them. */
static bool is_list(const struct vbs_onnx_constant *constant)
{
    int64_t n = vbs_shape_elements(&constant->shape);

    return n == 1 || (n > 1 && constant->shape.n_dims == 1);
}

/* Reads a grid from two inputs, of which the second one may be left out; scale below 0: all scales
 * are 1. missing: the type where there is no zero. */
static enum vbs_status read_grid(struct vbs_onnx_import *im, int scale, int zero, int missing,
                                 struct grid *grid)
{
    *grid = (struct grid){
        .type = missing, .n_scales = 1, .n_zeros = 1, .axis = vbs_onnx_int(im, "axis", 1)};
    if (vbs_onnx_int(im, "block_size", 0) != 0)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "has a scale for each block");
    if (scale >= 0) {
        VBS_TRY(vbs_onnx_numbers_in(im, scale, &grid->scale, &grid->scales));
        grid->n_scales = vbs_shape_elements(&grid->scale->shape);
    }
    if (vbs_onnx_in(im, zero)) {
        VBS_TRY(vbs_onnx_numbers_in(im, zero, &grid->zero, &grid->zeros));
        grid->n_zeros = vbs_shape_elements(&grid->zero->shape);
        grid->type = grid->zero->type;
    }
    if ((grid->scale && !is_list(grid->scale)) || (grid->zero && !is_list(grid->zero)))
        return vbs_fail(im->ctx, VBS_FORMAT,
                        "its scales or zero points are no number and no list of numbers");
    if (grid->n_scales > 1 && grid->n_zeros > 1 && grid->n_scales != grid->n_zeros)
        return vbs_fail(im->ctx, VBS_FORMAT, "%lld zero points for %lld scales",
                        (long long)grid->n_zeros, (long long)grid->n_scales);
    return check_scales(im, grid);
}

/* ---- tensors ---- */

/* Computes x op list, where the list is one number, or along the axis of the grid. */
static enum vbs_status combine(struct vbs_onnx_import *im, enum vbs_op op,
                               const struct vbs_onnx_state *x, const struct grid *grid,
                               struct vbs_onnx_constant *list, struct vbs_onnx_state *result)
{
    int64_t n = vbs_shape_elements(&list->shape);
    struct vbs_onnx_state operand = {.tensor = NULL};
    int rank = vbs_onnx_rank(im, x), axis;
    struct vbs_shape shape = {.n_dims = 0};

    if (n > 1) {
        VBS_TRY(vbs_onnx_axis(im, grid->axis, rank, &axis));
        if (n != x->shape.dim[axis])
            return vbs_fail(im->ctx, VBS_FORMAT, "%lld scales for a dimension of %lld",
                            (long long)n, (long long)x->shape.dim[axis]);
        shape.n_dims = rank - vbs_onnx_file_dim(im, axis);
        for (int d = 0; d < shape.n_dims; d++)
            shape.dim[d] = d == 0 ? n : 1;
    }
    VBS_TRY(vbs_onnx_constant_reshape(im, list, &shape, &operand.constant));
    return vbs_onnx_combine(im, op, x, &operand, result);
}

/* Computes the whole numbers of x. */
static enum vbs_status quantise(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                const struct grid *grid, struct vbs_onnx_state *result)
{
    union vbs_attributes limits = {.clip = {0, 0}};
    struct vbs_onnx_state divided, moved;
    struct vbs_onnx_tensor *whole;

    if (!range_of(grid->type, &limits.clip.low, &limits.clip.high))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "quantises to element type %s",
                        vbs_onnx_type_name(grid->type));
    VBS_TRY(grid->n_scales == 1 ? vbs_onnx_linear(im, x, 1 / scale_of(grid, 0), 0, &divided)
                                : combine(im, VBS_OP_DIV, x, grid, grid->scale, &divided));
    VBS_TRY(vbs_onnx_apply(im, VBS_OP_ROUND, NULL, divided.tensor, NULL, &whole));
    divided.tensor = whole;
    moved = divided;
    if (grid->zero)
        VBS_TRY(combine(im, VBS_OP_ADD, &divided, grid, grid->zero, &moved));
    *result = moved;
    return vbs_onnx_apply(im, VBS_OP_CLIP, &limits, moved.tensor, NULL, &result->tensor);
}

/* Computes the floats for which the whole numbers of x stand. */
static enum vbs_status dequantise(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                  const struct grid *grid, struct vbs_onnx_state *result)
{
    struct vbs_onnx_state moved = *x;

    if (positions_of(grid) == 1)
        return vbs_onnx_linear(im, x, scale_of(grid, 0), -zero_of(grid, 0) * scale_of(grid, 0),
                               result);
    if (grid->zero)
        VBS_TRY(combine(im, VBS_OP_SUB, x, grid, grid->zero, &moved));
    *result = moved;
    return grid->scale ? combine(im, VBS_OP_MUL, &moved, grid, grid->scale, result) : VBS_OK;
}

VBS_ONNX_HANDLER(quantize_linear)
{
    const struct vbs_onnx_state *x;
    struct vbs_onnx_state result;
    struct grid grid;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(read_grid(im, 1, 2, (int)vbs_onnx_int(im, "output_dtype", UINT8), &grid));
    VBS_TRY(quantise(im, x, &grid, &result));
    return vbs_onnx_give(im, 0, result.tensor, &x->shape);
}

VBS_ONNX_HANDLER(dequantize_linear)
{
    const struct vbs_onnx_state *x;
    struct vbs_onnx_state result;
    struct grid grid;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(read_grid(im, 1, 2, UINT8, &grid));
    VBS_TRY(dequantise(im, x, &grid, &result));
    return vbs_onnx_give(im, 0, result.tensor, &x->shape);
}

/* ---- constants ---- */

/* Gives how many elements of a constant in row-major order have one scale and zero. */
static enum vbs_status find_run(struct vbs_onnx_import *im, const struct vbs_shape *shape,
                                const struct grid *grid, int64_t *run)
{
    int axis;

    *run = 1;
    if (positions_of(grid) == 1)
        return VBS_OK;
    VBS_TRY(vbs_onnx_constant_axis(im, grid->axis, shape->n_dims, &axis));
    if (shape->dim[axis] != positions_of(grid))
        return vbs_fail(im->ctx, VBS_FORMAT, "%lld scales for a dimension of %lld",
                        (long long)positions_of(grid), (long long)shape->dim[axis]);
    for (int d = axis + 1; d < shape->n_dims; d++)
        *run *= shape->dim[d];
    return VBS_OK;
}

VBS_ONNX_HANDLER(fold_quantize_linear)
{
    const struct vbs_onnx_number *x;
    struct vbs_onnx_constant *input;
    struct vbs_onnx_number *y;
    struct grid grid;
    double low, high;
    int64_t run;

    (void)operator;
    VBS_TRY(vbs_onnx_numbers_in(im, 0, &input, &x));
    VBS_TRY(read_grid(im, 1, 2, (int)vbs_onnx_int(im, "output_dtype", UINT8), &grid));
    if (!range_of(grid.type, &low, &high))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "quantises to element type %s",
                        vbs_onnx_type_name(grid.type));
    VBS_TRY(find_run(im, &input->shape, &grid, &run));
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&input->shape), &y));
    for (int64_t i = 0; i < vbs_shape_elements(&input->shape); i++) {
        int64_t at = i / run % positions_of(&grid);
        float divided = (float)x[i].value / (float)scale_of(&grid, at);

        y[i] = (struct vbs_onnx_number){
            fmin(fmax(nearbyint(divided) + zero_of(&grid, at), low), high), x[i].batch};
    }
    return vbs_onnx_give_numbers(im, grid.type, &input->shape, y);
}

static float dequantised(const struct grid *grid, int64_t at, float value)
{
    return (value - (float)zero_of(grid, at)) * (float)scale_of(grid, at);
}

/* Makes the floats for which a constant stands. Weights become floats at once, because they may be
 * large; what is computed, or a part of another constant, goes through numbers. */
static enum vbs_status dequantise_constant(struct vbs_onnx_import *im,
                                           struct vbs_onnx_constant *input, const struct grid *grid,
                                           struct vbs_onnx_constant **made)
{
    int64_t n = vbs_shape_elements(&input->shape), positions = positions_of(grid), run;
    const struct vbs_onnx_number *x;
    struct vbs_onnx_number *y;
    float *values;

    if ((grid->zero && grid->type != input->type) || !vbs_onnx_is_whole(input->type))
        return vbs_fail(im->ctx, VBS_FORMAT, "element types differ: %s, and a zero point of %s",
                        vbs_onnx_type_name(input->type), vbs_onnx_type_name(grid->type));
    VBS_TRY(find_run(im, &input->shape, grid, &run));
    if (vbs_onnx_is_stored(input)) {
        VBS_TRY(vbs_onnx_constant_floats(im, input, made, &values));
        for (int64_t i = 0; i < n; i++)
            values[i] = dequantised(grid, i / run % positions, values[i]);
        (*made)->type = FLOAT;
        return VBS_OK;
    }
    VBS_TRY(vbs_onnx_numbers(im, input, &x));
    VBS_TRY(vbs_onnx_numbers_new(im, n, &y));
    for (int64_t i = 0; i < n; i++)
        y[i] = (struct vbs_onnx_number){dequantised(grid, i / run % positions, (float)x[i].value),
                                        x[i].batch};
    return vbs_onnx_constant_new(im, FLOAT, &input->shape, y, made);
}

VBS_ONNX_HANDLER(fold_dequantize_linear)
{
    struct vbs_onnx_constant *input, *made = NULL;
    struct grid grid;

    (void)operator;
    VBS_TRY(vbs_onnx_constant_in(im, 0, &input));
    VBS_TRY(read_grid(im, 1, 2, input->type, &grid));
    VBS_TRY(dequantise_constant(im, input, &grid, &made));
    vbs_onnx_give_constant(im, 0, made);
    return VBS_OK;
}

/* ---- convolutions and products of whole numbers ---- */

/* Gives the floats of an input. */
static enum vbs_status dequantise_in(struct vbs_onnx_import *im, int index, const struct grid *grid,
                                     struct vbs_onnx_state *result)
{
    const struct vbs_onnx_state *x = vbs_onnx_in(im, index);

    if (!x)
        return vbs_fail(im->ctx, VBS_FORMAT, "input %d is missing", index);
    *result = (struct vbs_onnx_state){.tensor = NULL};
    return x->tensor ? dequantise(im, x, grid, result)
                     : dequantise_constant(im, x->constant, grid, &result->constant);
}

/* Imports a node that is im->node but for its inputs, and gives its output. */
static enum vbs_status run_as(struct vbs_onnx_import *im, const struct vbs_onnx_operator *operator,
                              const struct vbs_onnx_state * inputs, int n,
                              struct vbs_onnx_state *result)
{
    const struct vbs_onnx_node *outer = im->node;
    struct vbs_onnx_node *node = vbs_arena_alloc(im->arena, 1, sizeof *node);
    int *values = vbs_arena_alloc(im->arena, VBS_ONNX_SPARE, sizeof *values);
    enum vbs_status status;

    if (!node || !values)
        return vbs_no_memory(im->ctx);
    for (int i = 0; i < VBS_ONNX_SPARE; i++)
        values[i] = im->graph->n_values + i;
    for (int i = 0; i < n; i++)
        im->states[values[i]] = inputs[i];
    *node = *outer;
    node->op = operator->name;
    node->operator= operator;
    node->n_inputs = n;
    node->inputs = values;
    node->n_outputs = 1;
    node->outputs = values + n;
    im->node = node;
    status = operator->import(im, operator);
    im->node = outer;
    *result = im->states[values[n]];
    return status;
}

/* Makes the bias of a QLinearConv, whose scale is that of the input times that of the weights. */
static enum vbs_status read_bias(struct vbs_onnx_import *im, const struct grid *input,
                                 const struct grid *weights, struct vbs_onnx_state *bias)
{
    const struct vbs_onnx_number *x;
    struct vbs_onnx_constant *given;
    struct vbs_onnx_number *y;
    int64_t n;

    VBS_TRY(vbs_onnx_numbers_in(im, 8, &given, &x));
    n = vbs_shape_elements(&given->shape);
    if (weights->n_scales > 1 && weights->n_scales != n)
        return vbs_fail(im->ctx, VBS_FORMAT, "%lld scales for a bias of %lld",
                        (long long)weights->n_scales, (long long)n);
    VBS_TRY(vbs_onnx_numbers_new(im, n, &y));
    for (int64_t i = 0; i < n; i++)
        y[i].value = (float)((double)x[i].value * scale_of(input, 0) * scale_of(weights, i));
    *bias = (struct vbs_onnx_state){.tensor = NULL};
    return vbs_onnx_constant_new(im, FLOAT, &given->shape, y, &bias->constant);
}

VBS_ONNX_HANDLER(qlinear_conv)
{
    static const struct vbs_onnx_operator CONV = {"Conv", vbs_onnx_conv, NULL, 0, {{1, 3}}, 0};
    struct vbs_onnx_state inputs[3], sum, result;
    struct grid input, weights, output;
    int n = 2;

    (void)operator;
    VBS_TRY(read_grid(im, 1, 2, UINT8, &input));
    VBS_TRY(read_grid(im, 4, 5, UINT8, &weights));
    VBS_TRY(read_grid(im, 6, 7, UINT8, &output));
    weights.axis = 0;
    VBS_TRY(dequantise_in(im, 0, &input, &inputs[0]));
    VBS_TRY(dequantise_in(im, 3, &weights, &inputs[1]));
    if (vbs_onnx_in(im, 8))
        VBS_TRY(read_bias(im, &input, &weights, &inputs[n++]));
    VBS_TRY(run_as(im, &CONV, inputs, n, &sum));
    VBS_TRY(quantise(im, &sum, &output, &result));
    return vbs_onnx_give(im, 0, result.tensor, &sum.shape);
}

VBS_ONNX_HANDLER(conv_integer)
{
    static const struct vbs_onnx_operator CONV = {"Conv", vbs_onnx_conv, NULL, 0, {{1, 3}}, 0};
    struct vbs_onnx_state inputs[2], sum;
    struct grid input, weights;

    (void)operator;
    VBS_TRY(read_grid(im, -1, 2, UINT8, &input));
    VBS_TRY(read_grid(im, -1, 3, UINT8, &weights));
    weights.axis = 0;
    VBS_TRY(dequantise_in(im, 0, &input, &inputs[0]));
    VBS_TRY(dequantise_in(im, 1, &weights, &inputs[1]));
    VBS_TRY(run_as(im, &CONV, inputs, 2, &sum));
    return vbs_onnx_give(im, 0, sum.tensor, &sum.shape);
}

static const struct vbs_onnx_operator MATMUL = {"MatMul", vbs_onnx_matmul, NULL, 0, {{1, 2}}, 0};

/* Of lists of scales, those of a are for its rows, and those of b for its columns. */
VBS_ONNX_HANDLER(qlinear_matmul)
{
    struct vbs_onnx_state inputs[2], product, result;
    struct grid a, b, output;

    (void)operator;
    VBS_TRY(read_grid(im, 1, 2, UINT8, &a));
    VBS_TRY(read_grid(im, 4, 5, UINT8, &b));
    VBS_TRY(read_grid(im, 6, 7, UINT8, &output));
    a.axis = -2;
    b.axis = -1;
    VBS_TRY(dequantise_in(im, 0, &a, &inputs[0]));
    VBS_TRY(dequantise_in(im, 3, &b, &inputs[1]));
    VBS_TRY(run_as(im, &MATMUL, inputs, 2, &product));
    VBS_TRY(quantise(im, &product, &output, &result));
    return vbs_onnx_give(im, 0, result.tensor, &product.shape);
}

VBS_ONNX_HANDLER(matmul_integer)
{
    struct vbs_onnx_state inputs[2], product;
    struct grid a, b;

    (void)operator;
    VBS_TRY(read_grid(im, -1, 2, UINT8, &a));
    VBS_TRY(read_grid(im, -1, 3, UINT8, &b));
    a.axis = -2;
    b.axis = -1;
    VBS_TRY(dequantise_in(im, 0, &a, &inputs[0]));
    VBS_TRY(dequantise_in(im, 1, &b, &inputs[1]));
    VBS_TRY(run_as(im, &MATMUL, inputs, 2, &product));
    return vbs_onnx_give(im, 0, product.tensor, &product.shape);
}
