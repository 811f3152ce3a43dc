/* QuantizeLinear, DequantizeLinear, and convolutions and products of whole numbers. */
#include "base/fail.h"
#include "model/network/network.h"
#include "model/onnx/operators/grid.h"
#include "model/onnx/operators/operators.h"

#define UINT8 ONNX__TENSOR_PROTO__DATA_TYPE__UINT8

/* ---- tensors and constants ---- */

VBS_ONNX_HANDLER(quantize_linear)
{
    const struct vbs_onnx_state *x;
    struct vbs_onnx_state result;
    struct vbs_onnx_grid grid;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(vbs_onnx_grid_read(im, 1, 2, (int)vbs_onnx_int(im, "output_dtype", UINT8), &grid));
    VBS_TRY(vbs_onnx_quantise(im, x, &grid, &result));
    VBS_TRY(vbs_onnx_give(im, 0, result.tensor, &x->shape));
    im->type_out = grid.type;
    return VBS_OK;
}

VBS_ONNX_HANDLER(dequantize_linear)
{
    const struct vbs_onnx_state *x;
    struct vbs_onnx_state result;
    struct vbs_onnx_grid grid;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(vbs_onnx_grid_read(im, 1, 2, UINT8, &grid));
    im->whole_out = false;
    VBS_TRY(vbs_onnx_dequantise(im, x, &grid, &result));
    return vbs_onnx_give(im, 0, result.tensor, &x->shape);
}

VBS_ONNX_HANDLER(fold_quantize_linear)
{
    struct vbs_onnx_constant *input, *made;
    struct vbs_onnx_grid grid;

    (void)operator;
    VBS_TRY(vbs_onnx_constant_in(im, 0, &input));
    VBS_TRY(vbs_onnx_grid_read(im, 1, 2, (int)vbs_onnx_int(im, "output_dtype", UINT8), &grid));
    VBS_TRY(vbs_onnx_quantise_constant(im, input, &grid, &made));
    vbs_onnx_same_copies(im, 0);
    vbs_onnx_give_constant(im, 0, made);
    return VBS_OK;
}

VBS_ONNX_HANDLER(fold_dequantize_linear)
{
    struct vbs_onnx_constant *input, *made;
    struct vbs_onnx_grid grid;

    (void)operator;
    VBS_TRY(vbs_onnx_constant_in(im, 0, &input));
    VBS_TRY(vbs_onnx_grid_read(im, 1, 2, input->type, &grid));
    VBS_TRY(vbs_onnx_dequantise_constant(im, input, &grid, &made));
    vbs_onnx_same_copies(im, 0);
    vbs_onnx_give_constant(im, 0, made);
    return VBS_OK;
}

/* ---- convolutions and products of whole numbers ---- */

/* ONNX Runtime's own one may have its channels last; its weights have them where others do. */
VBS_ONNX_HANDLER(qlinear_conv)
{
    bool last = operator->op == 1 && vbs_onnx_int(im, "channels_last", 0) != 0;
    struct vbs_onnx_state inputs[3], sum, result, moved;
    struct vbs_onnx_grid input, weights, output;
    const struct vbs_onnx_state *x;

    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    moved = *x;
    if (last)
        VBS_TRY(vbs_onnx_turn_channels(im, x, true, &moved));
    VBS_TRY(vbs_onnx_grid_read(im, 1, 2, UINT8, &input));
    VBS_TRY(vbs_onnx_grid_read(im, 4, 5, UINT8, &weights));
    VBS_TRY(vbs_onnx_grid_read(im, 6, 7, UINT8, &output));
    weights.axis = 0;
    VBS_TRY(vbs_onnx_dequantise(im, &moved, &input, &inputs[0]));
    VBS_TRY(vbs_onnx_dequantise_in(im, 3, &weights, &inputs[1]));
    VBS_TRY(vbs_onnx_whole_bias(im, 8, &input, &weights, 1, &inputs[2]));
    VBS_TRY(vbs_onnx_run_as(im, "Conv", inputs, inputs[2].constant ? 3 : 2, &sum));
    VBS_TRY(vbs_onnx_quantise(im, &sum, &output, &result));
    result.shape = sum.shape;
    if (last)
        VBS_TRY(vbs_onnx_turn_channels(im, &result, false, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

VBS_ONNX_HANDLER(conv_integer)
{
    struct vbs_onnx_state inputs[2], sum;
    struct vbs_onnx_grid input, weights;

    (void)operator;
    VBS_TRY(vbs_onnx_grid_read(im, -1, 2, UINT8, &input));
    VBS_TRY(vbs_onnx_grid_read(im, -1, 3, UINT8, &weights));
    weights.axis = 0;
    VBS_TRY(vbs_onnx_dequantise_in(im, 0, &input, &inputs[0]));
    VBS_TRY(vbs_onnx_dequantise_in(im, 1, &weights, &inputs[1]));
    VBS_TRY(vbs_onnx_run_as(im, "Conv", inputs, 2, &sum));
    return vbs_onnx_give(im, 0, sum.tensor, &sum.shape);
}

/* Of lists of scales, those of a are for its rows, and those of b for its columns. */
VBS_ONNX_HANDLER(qlinear_matmul)
{
    struct vbs_onnx_state inputs[2], product, result;
    struct vbs_onnx_grid a, b, output;

    (void)operator;
    VBS_TRY(vbs_onnx_grid_read(im, 1, 2, UINT8, &a));
    VBS_TRY(vbs_onnx_grid_read(im, 4, 5, UINT8, &b));
    VBS_TRY(vbs_onnx_grid_read(im, 6, 7, UINT8, &output));
    a.axis = -2;
    b.axis = -1;
    VBS_TRY(vbs_onnx_dequantise_in(im, 0, &a, &inputs[0]));
    VBS_TRY(vbs_onnx_dequantise_in(im, 3, &b, &inputs[1]));
    VBS_TRY(vbs_onnx_run_as(im, "MatMul", inputs, 2, &product));
    VBS_TRY(vbs_onnx_quantise(im, &product, &output, &result));
    return vbs_onnx_give(im, 0, result.tensor, &product.shape);
}

VBS_ONNX_HANDLER(matmul_integer)
{
    struct vbs_onnx_state inputs[2], product;
    struct vbs_onnx_grid a, b;

    (void)operator;
    VBS_TRY(vbs_onnx_grid_read(im, -1, 2, UINT8, &a));
    VBS_TRY(vbs_onnx_grid_read(im, -1, 3, UINT8, &b));
    a.axis = -2;
    b.axis = -1;
    VBS_TRY(vbs_onnx_dequantise_in(im, 0, &a, &inputs[0]));
    VBS_TRY(vbs_onnx_dequantise_in(im, 1, &b, &inputs[1]));
    VBS_TRY(vbs_onnx_run_as(im, "MatMul", inputs, 2, &product));
    return vbs_onnx_give(im, 0, product.tensor, &product.shape);
}
