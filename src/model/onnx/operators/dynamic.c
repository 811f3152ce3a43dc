/* Quantisation by the range of the data. Each sample has a scale and a zero of its own. */
#include "base/fail.h"
#include "model/network/network.h"
#include "model/onnx/operators/grid.h"
#include "model/onnx/operators/operators.h"

#include <float.h>

#define UINT8 ONNX__TENSOR_PROTO__DATA_TYPE__UINT8

/* A tensor by the range of its data: its whole numbers, and their scale and zero. */
struct ranged {
    struct vbs_onnx_state whole, scale, zero;
};

static enum vbs_status clip(struct vbs_onnx_import *im, double low, double high,
                            struct vbs_onnx_state *x)
{
    const union vbs_attributes limits = {.clip = {low, high}};

    return vbs_onnx_apply(im, VBS_OP_CLIP, &limits, x->tensor, NULL, &x->tensor);
}

/* Computes the scale: (high - low) / 255, and above 0 also where all data are 0. */
static enum vbs_status find_scale(struct vbs_onnx_import *im, const struct vbs_onnx_state *low,
                                  const struct vbs_onnx_state *high, struct vbs_onnx_state *scale)
{
    struct vbs_onnx_state range;

    VBS_TRY(vbs_onnx_combine(im, VBS_OP_SUB, high, low, &range));
    VBS_TRY(vbs_onnx_linear(im, &range, 1.0 / 255, 0, scale));
    return clip(im, FLT_MIN, FLT_MAX, scale);
}

/* Computes the zero: that number of 0 to 255 which is the nearest to -low / scale. */
static enum vbs_status find_zero(struct vbs_onnx_import *im, const struct vbs_onnx_state *low,
                                 const struct vbs_onnx_state *scale, struct vbs_onnx_state *zero)
{
    struct vbs_onnx_state quotient;

    VBS_TRY(vbs_onnx_combine(im, VBS_OP_DIV, low, scale, &quotient));
    VBS_TRY(vbs_onnx_linear(im, &quotient, -1, 0, zero));
    VBS_TRY(vbs_onnx_apply(im, VBS_OP_ROUND, NULL, zero->tensor, NULL, &zero->tensor));
    return clip(im, 0, 255, zero);
}

/* Finds the grid of a tensor. */
static enum vbs_status find_grid(struct vbs_onnx_import *im, const struct vbs_onnx_state *given,
                                 struct ranged *ranged)
{
    struct vbs_onnx_state x = *given, low, high;
    unsigned all;

    x.shape = vbs_onnx_shape(given);
    all = (1u << x.shape.n_dims) - 1;
    VBS_TRY(vbs_onnx_reduce_state(im, VBS_OP_REDUCE_MAX, &x, all, &high));
    VBS_TRY(vbs_onnx_apply(im, VBS_OP_RELU, NULL, high.tensor, NULL, &high.tensor));
    VBS_TRY(vbs_onnx_reduce_state(im, VBS_OP_REDUCE_MIN, &x, all, &low));
    VBS_TRY(clip(im, -FLT_MAX, 0, &low));
    VBS_TRY(find_scale(im, &low, &high, &ranged->scale));
    return find_zero(im, &low, &ranged->scale, &ranged->zero);
}

/* Quantises a tensor by the range of its data. */
static enum vbs_status quantise_by_range(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                         struct ranged *ranged, struct vbs_onnx_grid *grid)
{
    VBS_TRY(find_grid(im, x, ranged));
    *grid = (struct vbs_onnx_grid){.n_scales = 1,
                                   .n_zeros = 1,
                                   .moving_scale = ranged->scale.tensor,
                                   .moving_zero = ranged->zero.tensor,
                                   .type = UINT8};
    return vbs_onnx_quantise(im, x, grid, &ranged->whole);
}

/* Gives whether an output of the node is one of the graph. */
static bool is_graph_output(const struct vbs_onnx_import *im, int index)
{
    for (int i = 0; index < im->node->n_outputs && i < im->graph->n_outputs; i++)
        if (im->graph->outputs[i] == im->node->outputs[index])
            return true;
    return false;
}

/* Gives a scale or a zero, which is a scalar in the file. For samples it has as many dimensions as
 * the tensor, so that it goes together with products of it. */
static enum vbs_status give_scalar(struct vbs_onnx_import *im, int index,
                                   const struct vbs_onnx_state *scalar)
{
    struct vbs_shape shape = {.n_dims = 0};

    if (!im->batch)
        return vbs_onnx_give(im, index, scalar->tensor, &shape);
    return is_graph_output(im, index) ? vbs_onnx_mixes(im)
                                      : vbs_onnx_give(im, index, scalar->tensor, &scalar->shape);
}

/* Replaces a scale that is an output, where all data are 0, by the 1 that it is then. */
static enum vbs_status one_for_none(struct vbs_onnx_import *im, struct vbs_onnx_state *scale)
{
    struct vbs_onnx_state tiny, sign, missing, sum;

    VBS_TRY(vbs_onnx_linear(im, scale, 1, -FLT_MIN, &tiny));
    sign = tiny;
    VBS_TRY(vbs_onnx_apply(im, VBS_OP_SIGN, NULL, tiny.tensor, NULL, &sign.tensor));
    VBS_TRY(vbs_onnx_linear(im, &sign, -1, 1, &missing));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_ADD, scale, &missing, &sum));
    *scale = sum;
    return VBS_OK;
}

VBS_ONNX_HANDLER(dynamic_quantize_linear)
{
    const struct vbs_onnx_state *x;
    struct vbs_onnx_grid grid;
    struct ranged ranged;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(quantise_by_range(im, x, &ranged, &grid));
    if (is_graph_output(im, 1))
        VBS_TRY(one_for_none(im, &ranged.scale));
    VBS_TRY(give_scalar(im, 1, &ranged.scale));
    VBS_TRY(give_scalar(im, 2, &ranged.zero));
    return vbs_onnx_give(im, 0, ranged.whole.tensor, &x->shape);
}

/* ---- products ---- */

/* Computes a times b, times a scale that is computed, plus a bias, and gives it as output 0. */
static enum vbs_status give_product(struct vbs_onnx_import *im, const struct vbs_onnx_state *a,
                                    const struct vbs_onnx_state *b, struct vbs_onnx_tensor *scale,
                                    int bias)
{
    const struct vbs_onnx_state inputs[] = {*a, *b}, *added = vbs_onnx_in(im, bias);
    struct vbs_onnx_state product, scaled, sum;

    VBS_TRY(vbs_onnx_run_as(im, "MatMul", inputs, 2, &product));
    VBS_TRY(vbs_onnx_times_moving(im, &product, scale, &scaled));
    sum = scaled;
    if (added)
        VBS_TRY(vbs_onnx_combine(im, VBS_OP_ADD, &scaled, added, &sum));
    return vbs_onnx_give(im, 0, sum.tensor, &product.shape);
}

VBS_ONNX_HANDLER(dynamic_quantize_matmul)
{
    const struct vbs_onnx_state *x;
    struct vbs_onnx_grid a, b;
    struct vbs_onnx_state moved, weights;
    struct vbs_onnx_tensor *scale;
    struct ranged ranged;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(vbs_onnx_grid_read(im, 2, 3, UINT8, &b));
    b.axis = -1;
    VBS_TRY(vbs_onnx_dequantise_in(im, 1, &b, &weights));
    VBS_TRY(quantise_by_range(im, x, &ranged, &a));
    scale = a.moving_scale;
    a.moving_scale = NULL; /* the product is scaled instead */
    VBS_TRY(vbs_onnx_dequantise(im, &ranged.whole, &a, &moved));
    return give_product(im, &moved, &weights, scale, 4);
}

VBS_ONNX_HANDLER(matmul_integer_to_float)
{
    struct vbs_onnx_state inputs[2];
    struct vbs_onnx_grid a, b;
    struct vbs_onnx_tensor *scale;

    (void)operator;
    VBS_TRY(vbs_onnx_grid_read(im, 2, 4, UINT8, &a));
    VBS_TRY(vbs_onnx_grid_read(im, 3, 5, UINT8, &b));
    a.axis = -2;
    b.axis = -1;
    scale = a.moving_scale;
    a.moving_scale = NULL; /* the product is scaled instead */
    VBS_TRY(vbs_onnx_dequantise_in(im, 0, &a, &inputs[0]));
    VBS_TRY(vbs_onnx_dequantise_in(im, 1, &b, &inputs[1]));
    return give_product(im, &inputs[0], &inputs[1], scale, 6);
}

/* ---- recurrent layers ---- */

/* Gives the numbers of an input as floats that live as long as the network, n of them; *floats is
 * null where the input is left out. */
static enum vbs_status read_floats(struct vbs_onnx_import *im, int index, int64_t n, float **floats)
{
    const struct vbs_onnx_number *x;
    struct vbs_onnx_constant *given;

    *floats = NULL;
    if (!vbs_onnx_in(im, index))
        return VBS_OK;
    VBS_TRY(vbs_onnx_known_in(im, index, &given, &x));
    if (vbs_shape_elements(&given->shape) != n)
        return vbs_fail(im->ctx, VBS_FORMAT, "input %d has %lld values, not %lld", index,
                        (long long)vbs_shape_elements(&given->shape), (long long)n);
    *floats = vbs_source_alloc(im->source, (size_t)n, sizeof **floats);
    if (!*floats)
        return vbs_no_memory(im->ctx);
    for (int64_t i = 0; i < n; i++)
        (*floats)[i] = (float)x[i].value;
    return VBS_OK;
}

/* Makes floats of weights [directions, values, rows] by the scales and zeros of inputs scale and
 * scale + 1, which are one for each direction or for each row, and transposes them. */
static enum vbs_status read_weights(struct vbs_onnx_import *im, int index, int scale,
                                    struct vbs_onnx_state *weights)
{
    static const int TURNED[] = {0, 2, 1};
    struct vbs_grid *grid = vbs_source_alloc(im->source, 1, sizeof *grid);
    struct vbs_onnx_constant *given, *scales;
    float *floats = NULL, *zeros = NULL;
    int64_t n, rows;

    if (!grid)
        return vbs_no_memory(im->ctx);
    VBS_TRY(vbs_onnx_constant_in(im, index, &given));
    VBS_TRY(vbs_onnx_constant_in(im, scale, &scales));
    if (given->shape.n_dims != 3 || vbs_shape_elements(&given->shape) == 0)
        return vbs_fail(im->ctx, VBS_FORMAT, "input %d has not three dimensions", index);
    rows = scales->shape.n_dims == 2 ? given->shape.dim[2] : 1;
    n = given->shape.dim[0] * rows;
    VBS_TRY(read_floats(im, scale, n, &floats));
    VBS_TRY(read_floats(im, scale + 1, n, &zeros));
    *grid = (struct vbs_grid){.run = given->shape.dim[2],
                              .extent = given->shape.dim[1],
                              .block = given->shape.dim[1],
                              .outer_step = rows,
                              .inner_step = rows > 1,
                              .scales = floats,
                              .zeros = zeros};
    *weights = (struct vbs_onnx_state){.tensor = NULL};
    VBS_TRY(vbs_onnx_dequantise_by(im, given, grid, &given));
    return vbs_onnx_constant_transpose(im, given, TURNED, &weights->constant);
}

/* Rounds a tensor to the numbers that its range gives. */
static enum vbs_status round_by_range(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                      struct vbs_onnx_state *rounded)
{
    struct vbs_onnx_grid grid;
    struct ranged ranged;

    VBS_TRY(quantise_by_range(im, x, &ranged, &grid));
    return vbs_onnx_dequantise(im, &ranged.whole, &grid, rounded);
}

/* The sequence is rounded, and the states are not: ONNX Runtime rounds them, too, in each step by
 * their range then. */
VBS_ONNX_HANDLER(dynamic_quantize_lstm)
{
    struct vbs_onnx_state inputs[8] = {{.tensor = NULL}};

    (void)operator;
    for (int i = 0; i < 8; i++)
        if (vbs_onnx_in(im, i))
            inputs[i] = *vbs_onnx_in(im, i);
    if (!inputs[0].tensor)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "input 0 is a constant, or missing");
    VBS_TRY(round_by_range(im, vbs_onnx_in(im, 0), &inputs[0]));
    VBS_TRY(read_weights(im, 1, 8, &inputs[1]));
    VBS_TRY(read_weights(im, 2, 10, &inputs[2]));
    return vbs_onnx_become(im, "LSTM", inputs, 8);
}
