/* The operators of ONNX that are imported. */
#include "model/onnx/ops.h"

#include <stdlib.h>
#include <string.h>

#define H(name) vbs_onnx_##name

const struct vbs_onnx_operator vbs_onnx_operators[] = {
    {"Abs", H(unary), H(fold_unary), VBS_OP_ABS},
    {"Acos", H(unary), NULL, VBS_OP_ACOS},
    {"Acosh", H(unary), NULL, VBS_OP_ACOSH},
    {"Add", H(pair), H(fold_pair), VBS_OP_ADD},
    {"And", NULL, H(fold_pair), VBS_FOLD_AND},
    {"Asin", H(unary), NULL, VBS_OP_ASIN},
    {"Asinh", H(unary), NULL, VBS_OP_ASINH},
    {"Atan", H(unary), NULL, VBS_OP_ATAN},
    {"Atanh", H(unary), NULL, VBS_OP_ATANH},
    {"AveragePool", H(pool), NULL, VBS_OP_POOL_AVG},
    {"BatchNormalization", H(batch_norm), NULL, 0},
    {"Cast", H(cast), H(fold_cast), 0},
    {"Ceil", H(unary), H(fold_unary), VBS_OP_CEIL},
    {"Celu", H(unary), NULL, VBS_OP_CELU},
    {"Clip", H(clip), NULL, 0},
    {"Concat", H(concat), H(fold_concat), 0},
    {"Constant", NULL, H(fold_constant), 0},
    {"ConstantOfShape", NULL, H(fold_constant_of_shape), 0},
    {"Conv", H(conv), NULL, 0},
    {"ConvTranspose", H(conv_transpose), NULL, 0},
    {"Cos", H(unary), NULL, VBS_OP_COS},
    {"Cosh", H(unary), NULL, VBS_OP_COSH},
    {"DepthToSpace", H(space_depth), NULL, 0},
    {"Div", H(pair), H(fold_pair), VBS_OP_DIV},
    {"Dropout", H(dropout), H(identity), 0},
    {"Elu", H(unary), NULL, VBS_OP_ELU},
    {"Equal", NULL, H(fold_pair), VBS_FOLD_EQUAL},
    {"Erf", H(unary), NULL, VBS_OP_ERF},
    {"Exp", H(unary), H(fold_unary), VBS_OP_EXP},
    {"Expand", H(expand), H(expand), 0},
    {"Flatten", H(flatten), H(flatten), 0},
    {"Floor", H(unary), H(fold_unary), VBS_OP_FLOOR},
    {"Gather", H(gather), H(fold_gather), 0},
    {"Gelu", H(unary), NULL, VBS_OP_GELU},
    {"Gemm", H(gemm), NULL, 0},
    {"GlobalAveragePool", H(global_pool), NULL, VBS_OP_POOL_AVG},
    {"GlobalLpPool", H(global_lp_pool), NULL, 0},
    {"GlobalMaxPool", H(global_pool), NULL, VBS_OP_POOL_MAX},
    {"Greater", NULL, H(fold_pair), VBS_FOLD_GREATER},
    {"GreaterOrEqual", NULL, H(fold_pair), VBS_FOLD_GREATER_EQUAL},
    {"GroupNormalization", H(group_norm), NULL, 0},
    {"HardSigmoid", H(unary), NULL, VBS_OP_HARD_SIGMOID},
    {"HardSwish", H(unary), NULL, VBS_OP_HARD_SWISH},
    {"Identity", H(identity), H(identity), 0},
    {"InstanceNormalization", H(instance_norm), NULL, 0},
    {"LRN", H(lrn), NULL, 0},
    {"LayerNormalization", H(layer_norm), NULL, 0},
    {"LeakyRelu", H(unary), NULL, VBS_OP_LEAKY_RELU},
    {"Less", NULL, H(fold_pair), VBS_FOLD_LESS},
    {"LessOrEqual", NULL, H(fold_pair), VBS_FOLD_LESS_EQUAL},
    {"Log", H(unary), H(fold_unary), VBS_OP_LOG},
    {"LogSoftmax", H(softmax), NULL, VBS_OP_LOGSOFTMAX},
    {"MatMul", H(matmul), NULL, 0},
    {"Max", H(sum), H(fold_pair), VBS_OP_MAX},
    {"MaxPool", H(pool), NULL, VBS_OP_POOL_MAX},
    {"Mean", H(sum), NULL, VBS_OP_ADD},
    {"MeanVarianceNormalization", H(mean_variance_norm), NULL, 0},
    {"Min", H(sum), H(fold_pair), VBS_OP_MIN},
    {"Mish", H(unary), NULL, VBS_OP_MISH},
    {"Mod", NULL, H(fold_pair), VBS_FOLD_MOD},
    {"Mul", H(pair), H(fold_pair), VBS_OP_MUL},
    {"Neg", H(unary), H(fold_unary), VBS_OP_NEG},
    {"Not", NULL, H(fold_unary), VBS_FOLD_NOT},
    {"Or", NULL, H(fold_pair), VBS_FOLD_OR},
    {"PRelu", H(prelu), NULL, 0},
    {"Pad", H(pad), NULL, 0},
    {"Pow", H(pair), H(fold_pair), VBS_OP_POW},
    {"Range", NULL, H(fold_range), 0},
    {"Reciprocal", H(unary), H(fold_unary), VBS_OP_RECIPROCAL},
    {"ReduceL1", H(reduce), NULL, VBS_OP_REDUCE_L1},
    {"ReduceL2", H(reduce), NULL, VBS_OP_REDUCE_L2},
    {"ReduceLogSum", H(reduce), NULL, VBS_OP_REDUCE_LOG_SUM},
    {"ReduceLogSumExp", H(reduce), NULL, VBS_OP_REDUCE_LOG_SUM_EXP},
    {"ReduceMax", H(reduce), H(fold_reduce), VBS_OP_REDUCE_MAX},
    {"ReduceMean", H(reduce), H(fold_reduce), VBS_OP_REDUCE_MEAN},
    {"ReduceMin", H(reduce), H(fold_reduce), VBS_OP_REDUCE_MIN},
    {"ReduceProd", H(reduce), H(fold_reduce), VBS_OP_REDUCE_PROD},
    {"ReduceSum", H(reduce), H(fold_reduce), VBS_OP_REDUCE_SUM},
    {"ReduceSumSquare", H(reduce), NULL, VBS_OP_REDUCE_SUM_SQUARE},
    {"Relu", H(unary), H(fold_unary), VBS_OP_RELU},
    {"Reshape", H(reshape), H(reshape), 0},
    {"Resize", H(resize), NULL, 0},
    {"Round", H(unary), H(fold_unary), VBS_OP_ROUND},
    {"Selu", H(unary), NULL, VBS_OP_SELU},
    {"Shape", H(fold_shape), H(fold_shape), 0},
    {"Shrink", H(unary), NULL, VBS_OP_SHRINK},
    {"Sigmoid", H(unary), H(fold_unary), VBS_OP_SIGMOID},
    {"Sign", H(unary), H(fold_unary), VBS_OP_SIGN},
    {"Sin", H(unary), NULL, VBS_OP_SIN},
    {"Sinh", H(unary), NULL, VBS_OP_SINH},
    {"Size", H(fold_size), H(fold_size), 0},
    {"Slice", H(slice), H(slice), 0},
    {"Softmax", H(softmax), NULL, VBS_OP_SOFTMAX},
    {"Softplus", H(unary), NULL, VBS_OP_SOFTPLUS},
    {"Softsign", H(unary), NULL, VBS_OP_SOFTSIGN},
    {"SpaceToDepth", H(space_depth), NULL, 0},
    {"Split", H(split), H(split), 0},
    {"Sqrt", H(unary), H(fold_unary), VBS_OP_SQRT},
    {"Squeeze", H(squeeze), H(squeeze), 0},
    {"Sub", H(pair), H(fold_pair), VBS_OP_SUB},
    {"Sum", H(sum), H(fold_pair), VBS_OP_ADD},
    {"Tan", H(unary), NULL, VBS_OP_TAN},
    {"Tanh", H(unary), H(fold_unary), VBS_OP_TANH},
    {"ThresholdedRelu", H(unary), NULL, VBS_OP_THRESHOLDED_RELU},
    {"Tile", H(tile), NULL, 0},
    {"Transpose", H(transpose), H(transpose), 0},
    {"Unsqueeze", H(unsqueeze), H(unsqueeze), 0},
    {"Upsample", H(resize), NULL, 1},
    {"Where", NULL, H(fold_where), 0},
    {"Xor", NULL, H(fold_pair), VBS_FOLD_XOR},
    {NULL, NULL, NULL, 0},
};

static int compare(const void *name, const void *operator)
{
    return strcmp(name, ((const struct vbs_onnx_operator *)operator)->name);
}

const struct vbs_onnx_operator *vbs_onnx_find_operator(const char *name)
{
    return bsearch(name, vbs_onnx_operators,
                   sizeof vbs_onnx_operators / sizeof vbs_onnx_operators[0] - 1,
                   sizeof vbs_onnx_operators[0], compare);
}

const char *vbs_onnx_operator(int index, bool *layer)
{
    const struct vbs_onnx_operator *operator= & vbs_onnx_operators[index];

    *layer = operator->import && operator->import != H(fold_shape) && operator->import !=
                                                                      H(fold_size);
    return operator->name;
}
