/* Operators of other domains than ONNX's: those of whole numbers that ONNX Runtime adds
 * (com.microsoft), and the Scaler of ai.onnx.ml. */
#include "base/fail.h"
#include "model/network/network.h"
#include "model/onnx/operators/grid.h"
#include "model/onnx/operators/operators.h"

#include <math.h>

#define UINT8 ONNX__TENSOR_PROTO__DATA_TYPE__UINT8

/* Quantises x by the grid of inputs scale and scale + 1, and gives it as output 0. */
static enum vbs_status give_quantised(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                      int scale)
{
    struct vbs_onnx_state result, first = *x;
    struct vbs_onnx_grid grid;
    bool turned = vbs_onnx_with_channels_first(x, &first);

    VBS_TRY(vbs_onnx_grid_read(im, scale, scale + 1, UINT8, &grid));
    VBS_TRY(vbs_onnx_quantise(im, &first, &grid, &result));
    result.shape = first.shape;
    if (turned)
        VBS_TRY(vbs_onnx_turn_channels(im, &result, false, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* Gives the floats of input index by the grid of the two inputs behind it. */
static enum vbs_status read_triple(struct vbs_onnx_import *im, int index,
                                   struct vbs_onnx_state *result)
{
    const struct vbs_onnx_state *x = vbs_onnx_in(im, index);
    struct vbs_onnx_grid grid;
    struct vbs_onnx_state first;

    VBS_TRY(vbs_onnx_grid_read(im, index + 1, index + 2, UINT8, &grid));
    if (!x || !vbs_onnx_with_channels_first(x, &first))
        return vbs_onnx_dequantise_in(im, index, &grid, result);
    VBS_TRY(vbs_onnx_dequantise(im, &first, &grid, result));
    result->shape = first.shape;
    return vbs_onnx_turn_channels(im, result, false, result);
}

/* QLinearAdd and QLinearMul. */
VBS_ONNX_HANDLER(qlinear_pair)
{
    struct vbs_onnx_state a, b, a_first, b_first, result;

    VBS_TRY(read_triple(im, 0, &a));
    VBS_TRY(read_triple(im, 3, &b));
    if (vbs_onnx_with_channels_first(&a, &a_first) && vbs_onnx_with_channels_first(&b, &b_first)) {
        VBS_TRY(vbs_onnx_combine(im, (enum vbs_op) operator->op, &a_first, &b_first, &result));
        VBS_TRY(vbs_onnx_turn_channels(im, &result, false, &result));
    } else {
        VBS_TRY(vbs_onnx_combine(im, (enum vbs_op) operator->op, &a, &b, &result));
    }
    return give_quantised(im, &result, 6);
}

/* QLinearSigmoid and QLinearLeakyRelu. */
VBS_ONNX_HANDLER(qlinear_unary)
{
    enum vbs_op op = (enum vbs_op) operator->op;
    union vbs_attributes attributes = {0};
    struct vbs_onnx_state x, result;
    bool turned;

    VBS_TRY(read_triple(im, 0, &x));
    VBS_TRY(vbs_onnx_read_unary(im, op, &attributes));
    turned = vbs_onnx_with_channels_first(&x, &x);
    result = x;
    VBS_TRY(vbs_onnx_apply(im, op, &attributes, x.tensor, NULL, &result.tensor));
    if (turned)
        VBS_TRY(vbs_onnx_turn_channels(im, &result, false, &result));
    return give_quantised(im, &result, 3);
}

VBS_ONNX_HANDLER(qlinear_softmax)
{
    int64_t opset = vbs_onnx_int(im, "opset", im->graph->opset);
    struct vbs_onnx_state x, result;

    (void)operator;
    if ((opset < 13) != (im->graph->opset < 13))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "is a Softmax of opset %lld in a file of %lld",
                        (long long)opset, (long long)im->graph->opset);
    VBS_TRY(read_triple(im, 0, &x));
    VBS_TRY(vbs_onnx_run_as(im, "Softmax", &x, 1, &result));
    return give_quantised(im, &result, 3);
}

/* QLinearAveragePool, and the global one. */
VBS_ONNX_HANDLER(qlinear_pool)
{
    bool last = vbs_onnx_int(im, "channels_last", 0) != 0;
    struct vbs_onnx_state moved, x, result;
    const struct vbs_onnx_state *given;
    struct vbs_onnx_grid grid;

    VBS_TRY(vbs_onnx_tensor_in(im, 0, &given));
    moved = *given;
    if (last)
        VBS_TRY(vbs_onnx_turn_channels(im, given, true, &moved));
    VBS_TRY(vbs_onnx_grid_read(im, 1, 2, UINT8, &grid));
    VBS_TRY(vbs_onnx_dequantise(im, &moved, &grid, &x));
    VBS_TRY(vbs_onnx_run_as(im, operator->op == 1 ? "GlobalAveragePool" : "AveragePool", &x, 1,
                            &result));
    VBS_TRY(vbs_onnx_grid_read(im, 3, 4, UINT8, &grid));
    VBS_TRY(vbs_onnx_quantise(im, &result, &grid, &x));
    x.shape = result.shape;
    if (last)
        VBS_TRY(vbs_onnx_turn_channels(im, &x, false, &x));
    return vbs_onnx_give(im, 0, x.tensor, &x.shape);
}

/* NhwcMaxPool, whose channels are last. */
VBS_ONNX_HANDLER(nhwc_pool)
{
    struct vbs_onnx_state moved, result;
    const struct vbs_onnx_state *x;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(vbs_onnx_turn_channels(im, x, true, &moved));
    VBS_TRY(vbs_onnx_run_as(im, "MaxPool", &moved, 1, &result));
    VBS_TRY(vbs_onnx_turn_channels(im, &result, false, &moved));
    return vbs_onnx_give(im, 0, moved.tensor, &moved.shape);
}

VBS_ONNX_HANDLER(qlinear_concat)
{
    struct vbs_onnx_state inputs[VBS_ONNX_MOST_RUN], result;
    int n = (im->node->n_inputs - 2) / 3;

    (void)operator;
    if (im->node->n_inputs < 5 || im->node->n_inputs != 2 + 3 * n)
        return vbs_fail(im->ctx, VBS_FORMAT,
                        "has %d inputs; a scale, a zero point, and three for each tensor are asked",
                        im->node->n_inputs);
    if (n > VBS_ONNX_MOST_RUN)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "joins more than %d tensors", VBS_ONNX_MOST_RUN);
    for (int i = 0; i < n; i++)
        VBS_TRY(read_triple(im, 2 + 3 * i, &inputs[i]));
    VBS_TRY(vbs_onnx_run_as(im, "Concat", inputs, n, &result));
    return give_quantised(im, &result, 0);
}

/* The scale of C is alpha times that of A times that of B; without a scale of the output, that has
 * floats. */
VBS_ONNX_HANDLER(qgemm)
{
    struct vbs_onnx_state inputs[3], result;
    struct vbs_onnx_grid a, b;

    (void)operator;
    VBS_TRY(vbs_onnx_grid_read(im, 1, 2, UINT8, &a));
    VBS_TRY(vbs_onnx_grid_read(im, 4, 5, UINT8, &b));
    a.axis = -2;
    b.axis = vbs_onnx_int(im, "transB", 0) != 0 ? 0 : 1;
    VBS_TRY(vbs_onnx_dequantise_in(im, 0, &a, &inputs[0]));
    VBS_TRY(vbs_onnx_dequantise_in(im, 3, &b, &inputs[1]));
    VBS_TRY(vbs_onnx_whole_bias(im, 6, &a, &b, vbs_onnx_real(im, "alpha", 1), &inputs[2]));
    VBS_TRY(vbs_onnx_run_as(im, "Gemm", inputs, 3, &result));
    if (vbs_onnx_in(im, 7))
        return give_quantised(im, &result, 7);
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* ---- ai.onnx.ml ---- */

/* Makes a constant of an attribute that has a number, or one for each of so many columns. */
static enum vbs_status read_columns(struct vbs_onnx_import *im, const char *name, int64_t columns,
                                    struct vbs_onnx_state *state)
{
    struct vbs_onnx_number *numbers;
    int n;
    const float *reals = vbs_onnx_reals(im, name, &n);

    if (n != 1 && n != columns)
        return vbs_fail(im->ctx, VBS_FORMAT, "attribute '%s' has %d numbers for %lld columns", name,
                        n, (long long)columns);
    VBS_TRY(vbs_onnx_numbers_new(im, n, &numbers));
    for (int i = 0; i < n; i++) {
        if (!isfinite(reals[i]))
            return vbs_fail(im->ctx, VBS_FORMAT, "attribute '%s' has a number that is not finite",
                            name);
        numbers[i] = (struct vbs_onnx_number){.value = reals[i]};
    }
    *state = (struct vbs_onnx_state){0};
    return vbs_onnx_constant_new(im, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT,
                                 &(struct vbs_shape){1, {n}}, numbers, &state->constant);
}

/* (x - offset) * scale, by column. */
VBS_ONNX_HANDLER(scaler)
{
    const struct vbs_onnx_state *x;
    struct vbs_onnx_state offset, scale, moved, result;
    int64_t columns;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    columns = x->shape.n_dims > 0 ? x->shape.dim[x->shape.n_dims - 1] : 1;
    VBS_TRY(read_columns(im, "offset", columns, &offset));
    VBS_TRY(read_columns(im, "scale", columns, &scale));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_SUB, x, &offset, &moved));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_MUL, &moved, &scale, &result));
    return vbs_onnx_give(im, 0, result.tensor, &x->shape);
}

/* ---- weights in blocks ---- */

/* The attributes of a MatMulNBits: a matrix of `rows` rows (N) of `columns` numbers (K). */
struct blocks {
    int64_t rows, columns, bits, size, n; /* of a row: blocks of this size */
};

static enum vbs_status read_blocks(struct vbs_onnx_import *im, struct blocks *blocks)
{
    *blocks = (struct blocks){.rows = vbs_onnx_int(im, "N", 0),
                              .columns = vbs_onnx_int(im, "K", 0),
                              .bits = vbs_onnx_int(im, "bits", 4),
                              .size = vbs_onnx_int(im, "block_size", 0)};
    if (blocks->bits != 4 && blocks->bits != 8)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "its weights have %lld bits, not 4 or 8",
                        (long long)blocks->bits);
    if (blocks->rows < 1 || blocks->rows > VBS_MAX_DIM || blocks->columns < 1 ||
        blocks->columns > VBS_MAX_DIM)
        return vbs_fail(im->ctx, VBS_FORMAT, "K is %lld and N is %lld", (long long)blocks->columns,
                        (long long)blocks->rows);
    if (blocks->size < 2 || blocks->size > VBS_MAX_DIM || blocks->size % 2 != 0)
        return vbs_fail(im->ctx, VBS_FORMAT, "its blocks have %lld elements",
                        (long long)blocks->size);
    blocks->n = (blocks->columns + blocks->size - 1) / blocks->size;
    return VBS_OK;
}

/* Fails where a constant has another number of elements than n. */
static enum vbs_status check_elements(struct vbs_onnx_import *im,
                                      const struct vbs_onnx_constant *constant, int64_t n,
                                      const char *what)
{
    if (vbs_shape_elements(&constant->shape) == n)
        return VBS_OK;
    return vbs_fail(im->ctx, VBS_FORMAT, "has %lld %s where K, N and block_size ask for %lld",
                    (long long)vbs_shape_elements(&constant->shape), what, (long long)n);
}

/* Gives the zeros of all blocks: numbers of as many bits as the weights, of which each row begins
 * with a byte; or floats; or the middle of the range. */
static enum vbs_status read_zeros(struct vbs_onnx_import *im, const struct blocks *blocks,
                                  float *zeros)
{
    int64_t n = blocks->rows * blocks->n, row_bytes = (blocks->n * blocks->bits + 7) / 8;
    const struct vbs_onnx_number *x;
    struct vbs_onnx_constant *given;
    bool packed;

    for (int64_t i = 0; i < n; i++)
        zeros[i] = blocks->bits == 4 ? 8 : 128;
    if (!vbs_onnx_in(im, 3))
        return VBS_OK;
    VBS_TRY(vbs_onnx_known_in(im, 3, &given, &x));
    packed = vbs_onnx_is_whole(given->type);
    VBS_TRY(check_elements(im, given, packed ? blocks->rows * row_bytes : n, "zero points"));
    for (int64_t i = 0; i < n; i++) {
        int64_t row = i / blocks->n, at = i % blocks->n;

        if (!packed)
            zeros[i] = (float)x[i].value;
        else if (blocks->bits == 8)
            zeros[i] = (float)x[row * row_bytes + at].value;
        else
            zeros[i] = (float)((int)x[row * row_bytes + at / 2].value >> (at % 2 ? 4 : 0) & 15);
    }
    return VBS_OK;
}

static enum vbs_status make_block_grid(struct vbs_onnx_import *im, const struct blocks *blocks,
                                       struct vbs_grid **grid)
{
    int64_t n = blocks->rows * blocks->n;
    struct vbs_grid *made = vbs_source_alloc(im->source, 1, sizeof *made);
    const struct vbs_onnx_number *x;
    struct vbs_onnx_constant *given;
    float *scales, *zeros;

    VBS_TRY(vbs_onnx_known_in(im, 2, &given, &x));
    VBS_TRY(check_elements(im, given, n, "scales"));
    scales = vbs_source_alloc(im->source, (size_t)n, sizeof *scales);
    zeros = vbs_source_alloc(im->source, (size_t)n, sizeof *zeros);
    if (!made || !scales || !zeros)
        return vbs_no_memory(im->ctx);
    for (int64_t i = 0; i < n; i++)
        scales[i] = (float)x[i].value;
    VBS_TRY(read_zeros(im, blocks, zeros));
    *made = (struct vbs_grid){.run = blocks->size,
                              .extent = n,
                              .block = 1,
                              .block_step = 1,
                              .scales = scales,
                              .zeros = zeros};
    *grid = made;
    return VBS_OK;
}

/* Makes the matrix [K, N] of floats. */
static enum vbs_status block_matrix(struct vbs_onnx_import *im, const struct blocks *blocks,
                                    struct vbs_onnx_constant **matrix)
{
    struct vbs_shape padded = {2, {blocks->rows, blocks->n * blocks->size}};
    struct vbs_shape shape = {2, {blocks->columns, blocks->rows}};
    int64_t stride[] = {padded.dim[1], 1}, turned[] = {1, padded.dim[1]};
    struct vbs_onnx_constant *given, *whole;
    struct vbs_grid *grid = NULL;

    VBS_TRY(vbs_onnx_constant_in(im, 1, &given));
    VBS_TRY(check_elements(im, given, blocks->rows * blocks->n * (blocks->size * blocks->bits / 8),
                           "bytes of weights"));
    if (given->type != UINT8 || !vbs_onnx_is_stored(given))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "its weights are no stored bytes");
    VBS_TRY(make_block_grid(im, blocks, &grid));
    VBS_TRY(vbs_onnx_constant_view(im, given, &given->shape, given->stride, 0, &whole));
    whole->shape = padded;
    whole->stride[0] = stride[0];
    whole->stride[1] = stride[1];
    if (blocks->bits == 4) {
        whole->values.element = VBS_U4;
        whole->values.first *= 2;
    }
    VBS_TRY(vbs_onnx_dequantise_by(im, whole, grid, &whole));
    return vbs_onnx_constant_view(im, whole, &shape, turned, 0, matrix);
}

VBS_ONNX_HANDLER(matmul_nbits)
{
    struct vbs_onnx_state inputs[2] = {{.tensor = NULL}}, product, result;
    const struct vbs_onnx_state *x, *bias = vbs_onnx_in(im, 5);
    struct blocks blocks;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    if (vbs_onnx_in(im, 4))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "has g_idx, another order of its weights");
    VBS_TRY(read_blocks(im, &blocks));
    inputs[0] = *x;
    VBS_TRY(block_matrix(im, &blocks, &inputs[1].constant));
    VBS_TRY(vbs_onnx_run_as(im, "MatMul", inputs, 2, &product));
    result = product;
    if (bias)
        VBS_TRY(vbs_onnx_combine(im, VBS_OP_ADD, &product, bias, &result));
    return vbs_onnx_give(im, 0, result.tensor, &product.shape);
}
