/*
 * QuantizeLinear and DequantizeLinear. Tensors of whole numbers are tensors of floats that have
 * these numbers as values; constants of whole numbers become floats.
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
    struct vbs_onnx_constant *scale, *zero; /* zero: null where all are 0 */
    const struct vbs_onnx_number *scales, *zeros;
    int64_t n;
    int type; /* of the whole numbers */
};

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

/* Reads inputs 1 and 2; missing: the type where there is no zero. */
static enum vbs_status read_grid(struct vbs_onnx_import *im, int missing, struct grid *grid)
{
    *grid = (struct grid){.type = missing};
    if (vbs_onnx_int(im, "block_size", 0) != 0)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "has a scale for each block");
    VBS_TRY(vbs_onnx_numbers_in(im, 1, &grid->scale, &grid->scales));
    grid->n = vbs_shape_elements(&grid->scale->shape);
    if (vbs_onnx_in(im, 2)) {
        VBS_TRY(vbs_onnx_numbers_in(im, 2, &grid->zero, &grid->zeros));
        grid->type = grid->zero->type;
        if (vbs_shape_elements(&grid->zero->shape) != grid->n)
            return vbs_fail(im->ctx, VBS_FORMAT, "%lld zero points for %lld scales",
                            (long long)vbs_shape_elements(&grid->zero->shape), (long long)grid->n);
    }
    if (grid->n == 0 || (grid->n > 1 && grid->scale->shape.n_dims != 1))
        return vbs_fail(im->ctx, VBS_FORMAT, "its scales are no number and no list of numbers");
    for (int64_t i = 0; i < grid->n; i++)
        if (!(grid->scales[i].value > 0) || !isfinite((double)grid->scales[i].value))
            return vbs_fail(im->ctx, VBS_FORMAT, "a scale is %g, not above 0",
                            (double)grid->scales[i].value);
    return VBS_OK;
}

/* Gives a list along axis of a tensor as a constant that is broadcast to it. */
static enum vbs_status along_axis(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                  struct vbs_onnx_constant *list, struct vbs_onnx_state *operand)
{
    int rank = vbs_onnx_rank(im, x), axis;
    struct vbs_shape shape = {.n_dims = 0};

    VBS_TRY(vbs_onnx_axis(im, vbs_onnx_int(im, "axis", 1), rank, &axis));
    if (vbs_shape_elements(&list->shape) != x->shape.dim[axis])
        return vbs_fail(im->ctx, VBS_FORMAT, "%lld scales for a dimension of %lld",
                        (long long)vbs_shape_elements(&list->shape), (long long)x->shape.dim[axis]);
    shape.n_dims = rank - vbs_onnx_file_dim(im, axis);
    for (int d = 0; d < shape.n_dims; d++)
        shape.dim[d] = d == 0 ? x->shape.dim[axis] : 1;
    *operand = (struct vbs_onnx_state){.tensor = NULL};
    return vbs_onnx_constant_reshape(im, list, &shape, &operand->constant);
}

/* Computes x op list, where the list is along the axis. */
static enum vbs_status combine(struct vbs_onnx_import *im, enum vbs_op op,
                               const struct vbs_onnx_state *x, struct vbs_onnx_constant *list,
                               struct vbs_onnx_state *result)
{
    struct vbs_onnx_state operand;

    VBS_TRY(along_axis(im, x, list, &operand));
    return vbs_onnx_combine(im, op, x, &operand, result);
}

/* ---- tensors ---- */

VBS_ONNX_HANDLER(quantize_linear)
{
    union vbs_attributes limits = {.clip = {0, 0}};
    const struct vbs_onnx_state *x;
    struct vbs_onnx_state divided, moved;
    struct vbs_onnx_tensor *whole, *limited;
    struct grid grid;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(read_grid(im, (int)vbs_onnx_int(im, "output_dtype", UINT8), &grid));
    if (!range_of(grid.type, &limits.clip.low, &limits.clip.high))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "quantises to element type %s",
                        vbs_onnx_type_name(grid.type));
    VBS_TRY(grid.n == 1 ? vbs_onnx_linear(im, x, 1 / (double)grid.scales[0].value, 0, &divided)
                        : combine(im, VBS_OP_DIV, x, grid.scale, &divided));
    VBS_TRY(vbs_onnx_apply(im, VBS_OP_ROUND, NULL, divided.tensor, NULL, &whole));
    divided.tensor = whole;
    moved = divided;
    if (grid.zero)
        VBS_TRY(grid.n == 1 ? vbs_onnx_linear(im, &divided, 1, (double)grid.zeros[0].value, &moved)
                            : combine(im, VBS_OP_ADD, &divided, grid.zero, &moved));
    VBS_TRY(vbs_onnx_apply(im, VBS_OP_CLIP, &limits, moved.tensor, NULL, &limited));
    return vbs_onnx_give(im, 0, limited, &x->shape);
}

VBS_ONNX_HANDLER(dequantize_linear)
{
    const struct vbs_onnx_state *x;
    struct vbs_onnx_state moved, result;
    struct grid grid;
    double scale;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(read_grid(im, UINT8, &grid));
    scale = (double)grid.scales[0].value;
    moved = *x;
    if (grid.n == 1) {
        double zero = grid.zero ? (double)grid.zeros[0].value : 0;

        VBS_TRY(vbs_onnx_linear(im, x, scale, -zero * scale, &result));
        return vbs_onnx_give(im, 0, result.tensor, &x->shape);
    }
    if (grid.zero)
        VBS_TRY(combine(im, VBS_OP_SUB, x, grid.zero, &moved));
    VBS_TRY(combine(im, VBS_OP_MUL, &moved, grid.scale, &result));
    return vbs_onnx_give(im, 0, result.tensor, &x->shape);
}

/* ---- constants ---- */

/* Gives how many elements of a constant in row-major order have one scale. */
static enum vbs_status find_run(struct vbs_onnx_import *im, const struct vbs_shape *shape,
                                const struct grid *grid, int64_t *run)
{
    int axis;

    *run = 1;
    if (grid->n == 1)
        return VBS_OK;
    VBS_TRY(vbs_onnx_constant_axis(im, vbs_onnx_int(im, "axis", 1), shape->n_dims, &axis));
    if (shape->dim[axis] != grid->n)
        return vbs_fail(im->ctx, VBS_FORMAT, "%lld scales for a dimension of %lld",
                        (long long)grid->n, (long long)shape->dim[axis]);
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
    VBS_TRY(read_grid(im, (int)vbs_onnx_int(im, "output_dtype", UINT8), &grid));
    if (!range_of(grid.type, &low, &high))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "quantises to element type %s",
                        vbs_onnx_type_name(grid.type));
    VBS_TRY(find_run(im, &input->shape, &grid, &run));
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&input->shape), &y));
    for (int64_t i = 0; i < vbs_shape_elements(&input->shape); i++) {
        int64_t g = i / run % grid.n;
        double value = nearbyint((double)((float)x[i].value / (float)grid.scales[g].value)) +
                       (grid.zero ? (double)grid.zeros[g].value : 0);

        y[i] = (struct vbs_onnx_number){fmin(fmax(value, low), high), x[i].batch};
    }
    return vbs_onnx_give_numbers(im, grid.type, &input->shape, y);
}

static float dequantized(const struct grid *grid, int64_t at, float value)
{
    return (value - (grid->zero ? (float)grid->zeros[at].value : 0)) *
           (float)grid->scales[at].value;
}

/* Does so for a constant that is computed, or a part of one. */
static enum vbs_status dequantize_numbers(struct vbs_onnx_import *im, const struct grid *grid,
                                          int64_t run)
{
    const struct vbs_onnx_number *x;
    struct vbs_onnx_constant *input;
    struct vbs_onnx_number *y;

    VBS_TRY(vbs_onnx_numbers_in(im, 0, &input, &x));
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&input->shape), &y));
    for (int64_t i = 0; i < vbs_shape_elements(&input->shape); i++)
        y[i] = (struct vbs_onnx_number){dequantized(grid, i / run % grid->n, (float)x[i].value),
                                        x[i].batch};
    return vbs_onnx_give_numbers(im, FLOAT, &input->shape, y);
}

/* Weights become floats at once, because they may be large. */
VBS_ONNX_HANDLER(fold_dequantize_linear)
{
    struct vbs_onnx_constant *input, *made;
    struct grid grid;
    float *values;
    int64_t run;

    (void)operator;
    VBS_TRY(vbs_onnx_constant_in(im, 0, &input));
    VBS_TRY(read_grid(im, input->type, &grid));
    if (grid.type != input->type || !vbs_onnx_is_whole(input->type))
        return vbs_fail(im->ctx, VBS_FORMAT, "element types differ: %s, and a zero point of %s",
                        vbs_onnx_type_name(input->type), vbs_onnx_type_name(grid.type));
    VBS_TRY(find_run(im, &input->shape, &grid, &run));
    if (!vbs_onnx_is_stored(input))
        return dequantize_numbers(im, &grid, run);
    VBS_TRY(vbs_onnx_constant_floats(im, input, &made, &values));
    for (int64_t i = 0; i < vbs_shape_elements(&input->shape); i++)
        values[i] = dequantized(&grid, i / run % grid.n, values[i]);
    made->type = FLOAT;
    vbs_onnx_give_constant(im, 0, made);
    return VBS_OK;
}
