#include "model/onnx/operators/grid.h"

#include "base/fail.h"
#include "model/network/network.h"
#include "model/onnx/operators/operators.h"

#include <math.h>

#define UINT8  ONNX__TENSOR_PROTO__DATA_TYPE__UINT8
#define INT8   ONNX__TENSOR_PROTO__DATA_TYPE__INT8
#define UINT16 ONNX__TENSOR_PROTO__DATA_TYPE__UINT16
#define INT16  ONNX__TENSOR_PROTO__DATA_TYPE__INT16
#define FLOAT  ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT
#define UINT4  21 /* TensorProto.DataType, since version 21 */
#define INT4   22

double vbs_onnx_grid_scale(const struct vbs_onnx_grid *grid, int64_t at)
{
    return grid->scale ? (double)grid->scales[grid->n_scales > 1 ? at : 0].value : 1;
}

double vbs_onnx_grid_zero(const struct vbs_onnx_grid *grid, int64_t at)
{
    return grid->zero ? (double)grid->zeros[grid->n_zeros > 1 ? at : 0].value : 0;
}

/* Counts the scales or zeros that differ from position to position; 1: all are alike. */
static int64_t positions_of(const struct vbs_onnx_grid *grid)
{
    return grid->n_scales > grid->n_zeros ? grid->n_scales : grid->n_zeros;
}

/* Gives the range of a type; false where it is none of these operators. */
static bool range_of(int type, double *low, double *high)
{
    switch (type) {
    case UINT4:
        *low = 0, *high = 15;
        return true;
    case INT4:
        *low = -8, *high = 7;
        return true;
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

/* ---- reading ---- */

static enum vbs_status check_scales(struct vbs_onnx_import *im, const struct vbs_onnx_grid *grid)
{
    if (grid->scale && vbs_onnx_is_whole(grid->scale->type))
        return vbs_fail(im->ctx, VBS_FORMAT, "its scales have element type %s, no floats",
                        vbs_onnx_type_name(grid->scale->type));
    for (int64_t i = 0; grid->scale && i < grid->n_scales; i++)
        if (!isfinite((double)grid->scales[i].value))
            return vbs_fail(im->ctx, VBS_FORMAT, "a scale is %g", (double)grid->scales[i].value);
    if (grid->zero && !vbs_onnx_is_whole(grid->type))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "its zero points have element type %s",
                        vbs_onnx_type_name(grid->type));
    return VBS_OK;
}

/* Returns whether a constant is a number, or a list of them. */
static bool is_list(const struct vbs_onnx_constant *constant)
{
    int64_t n = vbs_shape_elements(&constant->shape);

    return n == 1 || (n > 1 && constant->shape.n_dims == 1);
}

/* Reads one of the two inputs: a constant, or a tensor of one element for each sample. */
static enum vbs_status read_one(struct vbs_onnx_import *im, int index,
                                struct vbs_onnx_constant **constant,
                                const struct vbs_onnx_number **numbers, int64_t *n,
                                struct vbs_onnx_tensor **moving)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, index);

    if (!state || !state->tensor) {
        VBS_TRY(vbs_onnx_known_in(im, index, constant, numbers));
        *n = vbs_shape_elements(&(*constant)->shape);
        return VBS_OK;
    }
    if (vbs_shape_elements(&state->shape) != 1)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                        "input %d is computed and is no single number for each sample", index);
    *moving = state->tensor;
    return VBS_OK;
}

static enum vbs_status check_counts(struct vbs_onnx_import *im, const struct vbs_onnx_grid *grid)
{
    if (grid->n_scales > 1 && grid->n_zeros > 1 && grid->n_scales != grid->n_zeros)
        return vbs_fail(im->ctx, VBS_FORMAT, "%lld zero points for %lld scales",
                        (long long)grid->n_zeros, (long long)grid->n_scales);
    if (grid->block < 0)
        return vbs_fail(im->ctx, VBS_FORMAT, "its blocks have %lld elements",
                        (long long)grid->block);
    if (grid->block > 0 && grid->zero && grid->n_zeros != grid->n_scales)
        return vbs_fail(im->ctx, VBS_FORMAT, "%lld zero points for %lld blocks",
                        (long long)grid->n_zeros, (long long)grid->n_scales);
    if (grid->block == 0 &&
        ((grid->scale && !is_list(grid->scale)) || (grid->zero && !is_list(grid->zero))))
        return vbs_fail(im->ctx, VBS_FORMAT,
                        "its scales or zero points are no number and no list of numbers");
    return VBS_OK;
}

enum vbs_status vbs_onnx_grid_read(struct vbs_onnx_import *im, int scale, int zero, int missing,
                                   struct vbs_onnx_grid *grid)
{
    *grid = (struct vbs_onnx_grid){.type = missing,
                                   .n_scales = 1,
                                   .n_zeros = 1,
                                   .axis = vbs_onnx_int(im, "axis", 1),
                                   .block = vbs_onnx_int(im, "block_size", 0)};
    if (scale >= 0)
        VBS_TRY(
            read_one(im, scale, &grid->scale, &grid->scales, &grid->n_scales, &grid->moving_scale));
    if (vbs_onnx_in(im, zero)) {
        VBS_TRY(read_one(im, zero, &grid->zero, &grid->zeros, &grid->n_zeros, &grid->moving_zero));
        if (grid->zero)
            grid->type = grid->zero->type;
    }
    VBS_TRY(check_counts(im, grid));
    return check_scales(im, grid);
}

/* ---- tensors ---- */

/* Computes x op list, where the list is one number, or along the axis of the grid. */
static enum vbs_status combine(struct vbs_onnx_import *im, enum vbs_op op,
                               const struct vbs_onnx_state *x, const struct vbs_onnx_grid *grid,
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

/* Computes x op moving, a tensor of one element for each sample. */
static enum vbs_status combine_moving(struct vbs_onnx_import *im, enum vbs_op op,
                                      const struct vbs_onnx_state *x,
                                      struct vbs_onnx_tensor *moving, struct vbs_onnx_state *result)
{
    struct vbs_onnx_state operand = *x;

    operand.tensor = moving;
    for (int d = 0; d < operand.shape.n_dims; d++)
        operand.shape.dim[d] = 1;
    return vbs_onnx_combine(im, op, x, &operand, result);
}

enum vbs_status vbs_onnx_times_moving(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                      struct vbs_onnx_tensor *moving, struct vbs_onnx_state *result)
{
    *result = *x;
    return moving ? combine_moving(im, VBS_OP_MUL, x, moving, result) : VBS_OK;
}

/* Computes x divided by the scales. */
static enum vbs_status divide(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                              const struct vbs_onnx_grid *grid, struct vbs_onnx_state *result)
{
    if (grid->moving_scale)
        return combine_moving(im, VBS_OP_DIV, x, grid->moving_scale, result);
    if (grid->n_scales == 1)
        return vbs_onnx_linear(im, x, 1 / vbs_onnx_grid_scale(grid, 0), 0, result);
    return combine(im, VBS_OP_DIV, x, grid, grid->scale, result);
}

/* Computes x op zero. */
static enum vbs_status shift(struct vbs_onnx_import *im, enum vbs_op op,
                             const struct vbs_onnx_state *x, const struct vbs_onnx_grid *grid,
                             struct vbs_onnx_state *result)
{
    *result = *x;
    if (grid->moving_zero)
        return combine_moving(im, op, x, grid->moving_zero, result);
    return grid->zero ? combine(im, op, x, grid, grid->zero, result) : VBS_OK;
}

/* Checks the grid of data. Weights may have scales below 0, as quantisers of blocks write them, and
 * 0 where all of them are 0. */
static enum vbs_status check_data(struct vbs_onnx_import *im, const struct vbs_onnx_grid *grid)
{
    if (grid->block != 0)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                        "has a scale for each block of data; constants can have them");
    for (int64_t i = 0; grid->scale && i < grid->n_scales; i++)
        if (!(grid->scales[i].value > 0))
            return vbs_fail(im->ctx, VBS_FORMAT, "a scale is %g, not above 0",
                            (double)grid->scales[i].value);
    return VBS_OK;
}

static enum vbs_status refuse_types(struct vbs_onnx_import *im, int type,
                                    const struct vbs_onnx_grid *grid)
{
    return vbs_fail(im->ctx, VBS_FORMAT, "element types differ: %s, and a zero point of %s",
                    vbs_onnx_type_name(type), vbs_onnx_type_name(grid->type));
}

enum vbs_status vbs_onnx_quantise(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                  const struct vbs_onnx_grid *grid, struct vbs_onnx_state *result)
{
    union vbs_attributes limits = {.clip = {0, 0}};
    struct vbs_onnx_state divided, moved;
    struct vbs_onnx_tensor *whole;

    VBS_TRY(check_data(im, grid));
    if (!range_of(grid->type, &limits.clip.low, &limits.clip.high))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "quantises to element type %s",
                        vbs_onnx_type_name(grid->type));
    VBS_TRY(divide(im, x, grid, &divided));
    VBS_TRY(vbs_onnx_apply(im, VBS_OP_ROUND, NULL, divided.tensor, NULL, &whole));
    divided.tensor = whole;
    VBS_TRY(shift(im, VBS_OP_ADD, &divided, grid, &moved));
    *result = moved;
    return vbs_onnx_apply(im, VBS_OP_CLIP, &limits, moved.tensor, NULL, &result->tensor);
}

enum vbs_status vbs_onnx_dequantise(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                    const struct vbs_onnx_grid *grid, struct vbs_onnx_state *result)
{
    struct vbs_onnx_state moved;
    double scale = vbs_onnx_grid_scale(grid, 0);

    if (grid->zero && x->type != 0 && x->type != grid->type)
        return refuse_types(im, x->type, grid);
    VBS_TRY(check_data(im, grid));
    if (positions_of(grid) == 1 && !grid->moving_scale && !grid->moving_zero)
        return vbs_onnx_linear(im, x, scale, -vbs_onnx_grid_zero(grid, 0) * scale, result);
    VBS_TRY(shift(im, VBS_OP_SUB, x, grid, &moved));
    if (grid->moving_scale)
        return combine_moving(im, VBS_OP_MUL, &moved, grid->moving_scale, result);
    *result = moved;
    return grid->scale ? combine(im, VBS_OP_MUL, &moved, grid, grid->scale, result) : VBS_OK;
}

/* ---- constants ---- */

/* Gives the shape that the scales of a constant in blocks must have. */
static enum vbs_status check_block_shape(struct vbs_onnx_import *im, const struct vbs_shape *shape,
                                         const struct vbs_onnx_grid *grid, int axis)
{
    struct vbs_shape want = *shape;
    char have[64], text[64];

    want.dim[axis] = (want.dim[axis] + grid->block - 1) / grid->block;
    if (grid->scale && vbs_shape_equal(&want, &grid->scale->shape) &&
        (!grid->zero || vbs_shape_equal(&want, &grid->zero->shape)))
        return VBS_OK;
    if (!grid->scale)
        return vbs_fail(im->ctx, VBS_FORMAT, "has blocks without scales");
    return vbs_fail(im->ctx, VBS_FORMAT,
                    "scales of shape %s; blocks of %lld along dimension %d ask for %s",
                    vbs_onnx_shape_text(&grid->scale->shape, have, sizeof have),
                    (long long)grid->block, axis, vbs_onnx_shape_text(&want, text, sizeof text));
}

/* Finds which scale and zero each element of a constant of this shape has; without the scales
 * themselves. */
static enum vbs_status find_places(struct vbs_onnx_import *im, const struct vbs_shape *shape,
                                   const struct vbs_onnx_grid *grid, struct vbs_grid *places)
{
    int64_t n = vbs_shape_elements(shape);
    int axis;

    *places = (struct vbs_grid){.run = n > 0 ? n : 1, .extent = 1, .block = 1};
    if (grid->block == 0 && positions_of(grid) == 1)
        return VBS_OK;
    VBS_TRY(vbs_onnx_constant_axis(im, grid->axis, shape->n_dims, &axis));
    places->run = 1;
    for (int d = axis + 1; d < shape->n_dims; d++)
        places->run *= shape->dim[d];
    places->extent = shape->dim[axis];
    places->block_step = 1;
    if (grid->block == 0 && shape->dim[axis] != positions_of(grid))
        return vbs_fail(im->ctx, VBS_FORMAT, "%lld scales for a dimension of %lld",
                        (long long)positions_of(grid), (long long)shape->dim[axis]);
    if (grid->block > 0) {
        VBS_TRY(check_block_shape(im, shape, grid, axis));
        places->block = grid->block;
        places->block_step = places->run;
        places->outer_step = grid->scale->shape.dim[axis] * places->run;
        places->inner_step = 1;
    }
    if (places->run == 1 && places->block > 1 && places->extent % places->block == 0) {
        places->run = places->block; /* the same places in longer runs */
        places->extent /= places->block;
        places->block = 1;
        places->inner_step = 0;
    }
    if (n == 0)
        places->run = places->extent = 1;
    return VBS_OK;
}

/* Gives the numbers that all positions have, or each one its own, as floats that live as long as
 * the network. */
static float *keep_floats(struct vbs_onnx_import *im, const struct vbs_onnx_grid *grid, bool zeros)
{
    int64_t n = positions_of(grid);
    float *kept = vbs_source_alloc(im->source, (size_t)n + 1, sizeof *kept);

    for (int64_t i = 0; kept && i < n; i++)
        kept[i] = (float)(zeros ? vbs_onnx_grid_zero(grid, i) : vbs_onnx_grid_scale(grid, i));
    return kept;
}

/* Makes the grid of a constant of this shape. */
static enum vbs_status make_grid(struct vbs_onnx_import *im, const struct vbs_shape *shape,
                                 const struct vbs_onnx_grid *grid, struct vbs_grid **made)
{
    struct vbs_grid *places = vbs_source_alloc(im->source, 1, sizeof *places);

    if (!places)
        return vbs_no_memory(im->ctx);
    if (grid->moving_scale || grid->moving_zero)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "a constant has scales that are computed");
    VBS_TRY(find_places(im, shape, grid, places));
    places->scales = keep_floats(im, grid, false);
    places->zeros = grid->zero ? keep_floats(im, grid, true) : NULL;
    if (!places->scales || (grid->zero && !places->zeros))
        return vbs_no_memory(im->ctx);
    *made = places;
    return VBS_OK;
}

/* The grid of a constant that is quantised, and the range of its whole numbers. */
struct quantiser {
    const struct vbs_grid *places;
    double low, high;
};

/* Returns the whole number of a float, which is element i. */
static double quantised(const struct quantiser *q, int64_t i, float x)
{
    int64_t at = vbs_grid_place(q->places, i);
    float zero = q->places->zeros ? q->places->zeros[at] : 0;

    return fmin(fmax(nearbyint(x / q->places->scales[at]) + zero, q->low), q->high);
}

static enum vbs_status quantise_floats(struct vbs_onnx_import *im, struct vbs_onnx_constant *input,
                                       const struct quantiser *q, int type,
                                       struct vbs_onnx_constant **made)
{
    float *y;

    VBS_TRY(vbs_onnx_floats_new(im, input, &input->shape, made, &y));
    VBS_TRY(vbs_onnx_floats_read(im, input, y));
    (*made)->type = type;
    for (int64_t i = 0; i < vbs_shape_elements(&input->shape); i++)
        y[i] = (float)quantised(q, i, y[i]);
    return VBS_OK;
}

enum vbs_status vbs_onnx_quantise_constant(struct vbs_onnx_import *im,
                                           struct vbs_onnx_constant *input,
                                           const struct vbs_onnx_grid *grid,
                                           struct vbs_onnx_constant **made)
{
    int64_t n = vbs_shape_elements(&input->shape);
    const struct vbs_onnx_number *x;
    struct vbs_onnx_number *y;
    struct vbs_grid *places;
    struct quantiser q;

    if (!range_of(grid->type, &q.low, &q.high))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "quantises to element type %s",
                        vbs_onnx_type_name(grid->type));
    for (int64_t i = 0; i < grid->n_scales; i++)
        if (vbs_onnx_grid_scale(grid, i) == 0)
            return vbs_fail(im->ctx, VBS_FORMAT, "a scale is 0");
    VBS_TRY(make_grid(im, &input->shape, grid, &places));
    q.places = places;
    if (vbs_onnx_is_many(im, input->type, n))
        return quantise_floats(im, input, &q, grid->type, made);
    VBS_TRY(vbs_onnx_numbers(im, input, &x));
    VBS_TRY(vbs_onnx_numbers_new(im, n, &y));
    for (int64_t i = 0; i < n; i++)
        y[i] = (struct vbs_onnx_number){quantised(&q, i, (float)x[i].value), .batch = x[i].batch};
    return vbs_onnx_constant_new(im, grid->type, &input->shape, y, made);
}

static enum vbs_status dequantise_floats(struct vbs_onnx_import *im,
                                         struct vbs_onnx_constant *input,
                                         const struct vbs_grid *places,
                                         struct vbs_onnx_constant **made)
{
    float *y;

    VBS_TRY(vbs_onnx_floats_new(im, input, &input->shape, made, &y));
    VBS_TRY(vbs_onnx_floats_read(im, input, y));
    (*made)->type = FLOAT;
    vbs_grid_apply(places, 0, vbs_shape_elements(&input->shape), y);
    return VBS_OK;
}

/* Makes a constant whose numbers are computed. */
static enum vbs_status dequantise_numbers(struct vbs_onnx_import *im,
                                          struct vbs_onnx_constant *input,
                                          const struct vbs_grid *places,
                                          struct vbs_onnx_constant **made)
{
    int64_t n = vbs_shape_elements(&input->shape);
    const struct vbs_onnx_number *x;
    struct vbs_onnx_number *y;

    if (vbs_onnx_is_many(im, input->type, n))
        return dequantise_floats(im, input, places, made);
    VBS_TRY(vbs_onnx_numbers(im, input, &x));
    VBS_TRY(vbs_onnx_numbers_new(im, n, &y));
    for (int64_t i = 0; i < n; i++) {
        float value = (float)x[i].value;

        vbs_grid_apply(places, i, 1, &value);
        y[i] = (struct vbs_onnx_number){value, .batch = x[i].batch};
    }
    return vbs_onnx_constant_new(im, FLOAT, &input->shape, y, made);
}

/* Weights stay where they are stored, because they may be large; what is computed, or a part of
 * another constant in another order, goes through numbers. */
enum vbs_status vbs_onnx_dequantise_by(struct vbs_onnx_import *im, struct vbs_onnx_constant *input,
                                       struct vbs_grid *places, struct vbs_onnx_constant **made)
{
    struct vbs_onnx_constant *view;

    if (!vbs_onnx_is_stored(input))
        return dequantise_numbers(im, input, places, made);
    VBS_TRY(vbs_onnx_constant_view(im, input, &input->shape, input->stride, 0, &view));
    places->origin = view->values.first;
    view->values.grid = places;
    view->type = FLOAT;
    *made = view;
    return VBS_OK;
}

enum vbs_status vbs_onnx_dequantise_constant(struct vbs_onnx_import *im,
                                             struct vbs_onnx_constant *input,
                                             const struct vbs_onnx_grid *grid,
                                             struct vbs_onnx_constant **made)
{
    struct vbs_grid *places;

    if ((grid->zero && grid->type != input->type) || !vbs_onnx_is_whole(input->type))
        return refuse_types(im, input->type, grid);
    VBS_TRY(make_grid(im, &input->shape, grid, &places));
    return vbs_onnx_dequantise_by(im, input, places, made);
}

enum vbs_status vbs_onnx_dequantise_in(struct vbs_onnx_import *im, int index,
                                       const struct vbs_onnx_grid *grid,
                                       struct vbs_onnx_state *result)
{
    const struct vbs_onnx_state *x = vbs_onnx_in(im, index);

    if (!x)
        return vbs_fail(im->ctx, VBS_FORMAT, "input %d is missing", index);
    *result = (struct vbs_onnx_state){.tensor = NULL};
    return x->tensor ? vbs_onnx_dequantise(im, x, grid, result)
                     : vbs_onnx_dequantise_constant(im, x->constant, grid, &result->constant);
}

enum vbs_status vbs_onnx_whole_bias(struct vbs_onnx_import *im, int index,
                                    const struct vbs_onnx_grid *input,
                                    const struct vbs_onnx_grid *weights, double factor,
                                    struct vbs_onnx_state *bias)
{
    const struct vbs_onnx_number *x;
    struct vbs_onnx_constant *given;
    struct vbs_onnx_number *y;
    int64_t n;

    *bias = (struct vbs_onnx_state){.tensor = NULL};
    if (!vbs_onnx_in(im, index))
        return VBS_OK;
    VBS_TRY(vbs_onnx_known_in(im, index, &given, &x));
    n = vbs_shape_elements(&given->shape);
    if (weights->n_scales > 1 && weights->n_scales != n)
        return vbs_fail(im->ctx, VBS_FORMAT, "%lld scales for a bias of %lld",
                        (long long)weights->n_scales, (long long)n);
    VBS_TRY(vbs_onnx_numbers_new(im, n, &y));
    for (int64_t i = 0; i < n; i++)
        y[i].value = (float)((double)x[i].value * factor * vbs_onnx_grid_scale(input, 0) *
                             vbs_onnx_grid_scale(weights, i));
    return vbs_onnx_constant_new(im, FLOAT, &given->shape, y, &bias->constant);
}
