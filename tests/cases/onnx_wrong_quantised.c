/* Quantised files. */
#include "cases/onnx_wrong.h"

#include <math.h>
#include <stdlib.h>

#define FLOAT 1
#define INT8  3

/* Quantises x with n scales of this value, and floats for zero points where there are some. */
static void quantise(struct bytes *graph, float scale, int64_t n, int64_t n_zeros)
{
    onnx_add_tensor(graph, onnx_floats("s", scale, n > 1, (int64_t[]){n}));
    if (n_zeros > 0)
        onnx_add_tensor(graph, onnx_floats("z", 0, n_zeros > 1, (int64_t[]){n_zeros}));
    onnx_add_node(graph, onnx_node("QuantizeLinear", n_zeros > 0 ? "x s z" : "x s", "y"));
}

static void no_scale(struct bytes *graph)
{
    quantise(graph, 0, 1, 0);
}

static void negative_scale(struct bytes *graph)
{
    quantise(graph, -1, 3, 0);
}

static void endless_scale(struct bytes *graph)
{
    quantise(graph, INFINITY, 1, 0);
}

static void odd_scale(struct bytes *graph)
{
    quantise(graph, NAN, 1, 0);
}

/* Adds a tensor of whole numbers that are 0, of a type of `bytes` bytes. */
static void add_whole(struct bytes *graph, const char *name, int type, int n, const int64_t *dims,
                      size_t bytes)
{
    struct bytes tensor = onnx_tensor(name, type, n, dims);
    void *data = calloc(bytes + 1, 1);

    if (data)
        bytes_data(&tensor, 9, data, bytes);
    free(data);
    onnx_add_tensor(graph, tensor);
}

static void whole_scale(struct bytes *graph)
{
    add_whole(graph, "s", 3, 0, NULL, 1);
    onnx_add_node(graph, onnx_node("QuantizeLinear", "x s", "y"));
}

static void wide_zero(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_floats("s", 1, 0, NULL));
    add_whole(graph, "z", 6, 0, NULL, 4);
    onnx_add_node(graph, onnx_node("QuantizeLinear", "x s z", "y"));
}

/* Dequantises weights of 8 rows of 192 numbers, which a MatMul would read, with a list of n scales,
 * or with a matrix of them. */
static struct bytes dequantise(struct bytes *graph, int type, int n, const int64_t *scales,
                               bool zero)
{
    add_whole(graph, "q", type, 2, (int64_t[]){8, 192}, 8 * 192);
    onnx_add_tensor(graph, onnx_floats("s", 1, n, scales));
    if (zero)
        add_whole(graph, "z", 2, 0, NULL, 1);
    return onnx_node("DequantizeLinear", zero ? "q s z" : "q s", "w");
}

static void finish_weights(struct bytes *graph, struct bytes node)
{
    onnx_add_node(graph, node);
    onnx_add_node(graph, onnx_node("Flatten", "x", "f"));
    node = onnx_node("Gemm", "f w", "y");
    onnx_attribute_int(&node, "transB", 1);
    onnx_add_node(graph, node);
}

/* Quantises to UINT8 by a zero point, and takes the numbers for those of a type with another. */
static void other_data_zero(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_floats("s", 1, 0, NULL));
    add_whole(graph, "z", 2, 0, NULL, 1);
    add_whole(graph, "less", 3, 0, NULL, 1);
    onnx_add_node(graph, onnx_node("QuantizeLinear", "x s z", "q"));
    onnx_add_node(graph, onnx_node("DequantizeLinear", "q s less", "y"));
}

static void other_zero(struct bytes *graph)
{
    finish_weights(graph, dequantise(graph, 3, 0, NULL, true));
}

static void float8_weights(struct bytes *graph)
{
    finish_weights(graph, dequantise(graph, 17, 0, NULL, false));
}

static void far_axis(struct bytes *graph)
{
    struct bytes node = dequantise(graph, 3, 1, (int64_t[]){8}, false);

    onnx_attribute_int(&node, "axis", 4);
    finish_weights(graph, node);
}

static void batch_axis(struct bytes *graph)
{
    struct bytes node = onnx_node("QuantizeLinear", "x s", "y");

    onnx_add_tensor(graph, onnx_floats("s", 1, 1, (int64_t[]){3}));
    onnx_attribute_int(&node, "axis", 0);
    onnx_add_node(graph, node);
}

static void few_blocks(struct bytes *graph)
{
    struct bytes node = dequantise(graph, 3, 2, (int64_t[]){8, 64}, false);

    onnx_attribute_int(&node, "block_size", 10);
    finish_weights(graph, node);
}

static void negative_blocks(struct bytes *graph)
{
    struct bytes node = dequantise(graph, 3, 2, (int64_t[]){8, 64}, false);

    onnx_attribute_int(&node, "block_size", -3);
    finish_weights(graph, node);
}

static void data_blocks(struct bytes *graph)
{
    struct bytes node = onnx_node("QuantizeLinear", "x s", "y");

    onnx_add_tensor(graph, onnx_floats("s", 1, 1, (int64_t[]){3}));
    onnx_attribute_int(&node, "block_size", 1);
    onnx_add_node(graph, node);
}

/* A product of the flattened input with weights in blocks. */
static void nbits(struct bytes *graph, int64_t bits, int64_t block, int64_t n_scales)
{
    struct bytes node = onnx_node("MatMulNBits", "f q s", "y");

    add_whole(graph, "q", 2, 3, (int64_t[]){8, 12, 8}, 8 * 12 * 8);
    onnx_add_tensor(graph, onnx_floats("s", 1, 1, (int64_t[]){n_scales}));
    onnx_add_node(graph, onnx_node("Flatten", "x", "f"));
    bytes_text(&node, 7, "com.microsoft");
    onnx_attribute_int(&node, "K", 192);
    onnx_attribute_int(&node, "N", 8);
    onnx_attribute_int(&node, "bits", bits);
    onnx_attribute_int(&node, "block_size", block);
    onnx_add_node(graph, node);
}

static void few_nbits(struct bytes *graph)
{
    nbits(graph, 4, 16, 5);
}

static void odd_nbits(struct bytes *graph)
{
    nbits(graph, 3, 16, 96);
}

static void no_nbits(struct bytes *graph)
{
    nbits(graph, 4, 0, 96);
}

static void odd_activation(struct bytes *graph)
{
    struct bytes node = onnx_node("FusedGemm", "f w", "y");

    onnx_add_tensor(graph, onnx_floats("w", 1, 2, (int64_t[]){192, 4}));
    onnx_add_node(graph, onnx_node("Flatten", "x", "f"));
    bytes_text(&node, 7, "com.microsoft");
    onnx_attribute_text(&node, "activation", "Affine");
    onnx_add_node(graph, node);
}

static void far_transpose(struct bytes *graph)
{
    struct bytes node = onnx_node("FusedMatMul", "x x", "y");

    bytes_text(&node, 7, "com.microsoft");
    onnx_attribute_int(&node, "transBatchA", 1);
    onnx_add_node(graph, node);
}

static void short_joint(struct bytes *graph)
{
    struct bytes node = onnx_node("QLinearConcat", "s z x s", "y");

    onnx_add_tensor(graph, onnx_floats("s", 1, 0, NULL));
    add_whole(graph, "z", 2, 0, NULL, 1);
    bytes_text(&node, 7, "com.microsoft");
    onnx_attribute_int(&node, "axis", 1);
    onnx_add_node(graph, node);
}

static void odd_columns(struct bytes *graph)
{
    struct bytes node = onnx_node("Scaler", "x", "y");

    bytes_text(&node, 7, "ai.onnx.ml");
    onnx_add_node(graph, node);
}

static void few_scales(struct bytes *graph)
{
    quantise(graph, 1, 2, 0);
}

static void odd_zeros(struct bytes *graph)
{
    quantise(graph, 1, 3, 2);
}

static void float_zero(struct bytes *graph)
{
    quantise(graph, 1, 1, 1);
}

const struct onnx_case onnx_quantised_cases[] = {
    {"a scale of 0", no_scale, VBS_FORMAT, "node 'y' (QuantizeLinear): a scale is 0, not above 0"},
    {"a scale below 0", negative_scale, VBS_FORMAT,
     "node 'y' (QuantizeLinear): a scale is -1, not above 0"},
    {"an infinite scale", endless_scale, VBS_FORMAT, "node 'y' (QuantizeLinear): a scale is inf"},
    {"a scale that is no number", odd_scale, VBS_FORMAT,
     "node 'y' (QuantizeLinear): a scale is nan"},
    {"scales of whole numbers", whole_scale, VBS_FORMAT,
     "node 'y' (QuantizeLinear): its scales have element type INT8, no floats"},
    {"a zero point of 32 bits", wide_zero, VBS_UNSUPPORTED,
     "node 'y' (QuantizeLinear): quantises to element type INT32"},
    {"a zero point of another type than the weights", other_zero, VBS_FORMAT,
     "node 'w' (DequantizeLinear): element types differ: INT8, and a zero point of UINT8"},
    {"a zero point of another type than the data", other_data_zero, VBS_FORMAT,
     "node 'y' (DequantizeLinear): element types differ: UINT8, and a zero point of INT8"},
    {"weights of floats of 8 bits", float8_weights, VBS_UNSUPPORTED,
     "tensor 'q': element type FLOAT8E4M3FN"},
    {"an axis of scales that is not there", far_axis, VBS_FORMAT,
     "node 'w' (DequantizeLinear): there is no dimension 4 among 2"},
    {"an axis of scales that is the batch", batch_axis, VBS_FORMAT,
     "node 'y' (QuantizeLinear): 3 scales for a dimension of 1"},
    {"too few blocks", few_blocks, VBS_FORMAT,
     "node 'w' (DequantizeLinear): scales of shape 8x64; blocks of 10 along dimension 1 ask for "
     "8x20"},
    {"blocks of a negative size", negative_blocks, VBS_FORMAT,
     "node 'w' (DequantizeLinear): its blocks have -3 elements"},
    {"blocks of data", data_blocks, VBS_UNSUPPORTED,
     "node 'y' (QuantizeLinear): has a scale for each block of data; constants can have them"},
    {"too few scales of blocks of 4 bits", few_nbits, VBS_FORMAT,
     "node 'y' (MatMulNBits): has 5 scales where K, N and block_size ask for 96"},
    {"an activation that is not known", odd_activation, VBS_UNSUPPORTED,
     "node 'y' (FusedGemm): activation 'Affine' is not supported"},
    {"a product whose leading dimensions are exchanged", far_transpose, VBS_UNSUPPORTED,
     "node 'y' (FusedMatMul): transposes dimensions before the last two"},
    {"blocks of 3 bits", odd_nbits, VBS_UNSUPPORTED,
     "node 'y' (MatMulNBits): its weights have 3 bits, not 4 or 8"},
    {"no blocks", no_nbits, VBS_FORMAT, "node 'y' (MatMulNBits): its blocks have 0 elements"},
    {"a joint of quantised tensors with an input left out", short_joint, VBS_FORMAT,
     "node 'y' (QLinearConcat): has 4 inputs; a scale, a zero point, and three for each tensor are "
     "asked"},
    {"a Scaler without numbers", odd_columns, VBS_FORMAT,
     "node 'y' (Scaler): attribute 'offset' has 0 numbers for 8 columns"},
    {"too few scales", few_scales, VBS_FORMAT,
     "node 'y' (QuantizeLinear): 2 scales for a dimension of 3"},
    {"zero points that are not as many", odd_zeros, VBS_FORMAT,
     "node 'y' (QuantizeLinear): 2 zero points for 3 scales"},
    {"a zero point that is no whole number", float_zero, VBS_UNSUPPORTED,
     "node 'y' (QuantizeLinear): its zero points have element type FLOAT"},
    {NULL, NULL, VBS_OK, NULL},
};
