#include "backend_cases.h"

#include <math.h>
#include <stddef.h>

/* Numbers of the operators that are read, 0 = the network's input. */
#define FROM(...)                                                                                  \
    .n_inputs = (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), .inputs = (const int[])         \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

#define DIMS(...)                                                                                  \
    {                                                                                              \
        (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                                 \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

#define VIEWS(...)                                                                                 \
    .views = (const struct vbs_shape[])                                                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* An operator on values: as a layer, and bundled behind one that is not fused. */
#define UNARY(word, op, a, b)                                                                      \
    {                                                                                              \
        .name = word " on padded blocks, as a layer and bundled", .input = DIMS(20, 5, 4),         \
        .nodes = {{op, "u", FROM(0), .attributes = {.alpha = a, .beta = b}},                       \
                  {VBS_OP_SHUFFLE, "s", FROM(0), .attributes = {.groups = 2}},                     \
                  {op, "v", FROM(2), .attributes = {.alpha = a, .beta = b}}},                      \
        .low = -0.9f, .high = 0.9f                                                                 \
    }

/* The same where only some inputs have an outcome. */
#define WITHIN(word, op, from, to)                                                                 \
    {                                                                                              \
        .name = word " on padded blocks, as a layer and bundled", .input = DIMS(20, 5, 4),         \
        .nodes = {{op, "u", FROM(0)},                                                              \
                  {VBS_OP_SHUFFLE, "s", FROM(0), .attributes = {.groups = 2}},                     \
                  {op, "v", FROM(2)}},                                                             \
        .low = from, .high = to                                                                    \
    }

/* Fused behind what oneDNN fuses with. */
#define FUSED(word, op, a, b)                                                                      \
    {                                                                                              \
        .name = word " fused", .input = DIMS(20, 6, 5), .nodes = {                                 \
            {VBS_OP_CONV, "c", FROM(0),                                                            \
             .attributes = {.out_channels = 24,                                                    \
                            .groups = 1,                                                           \
                            .bias = true,                                                          \
                            .kernel = {3, 3},                                                      \
                            .stride = {1, 1},                                                      \
                            .dilation = {1, 1},                                                    \
                            .pad_low = {1, 1},                                                     \
                            .pad_high = {1, 1}}},                                                  \
            {op, "cu", FROM(1), .attributes = {.alpha = a, .beta = b}},                            \
            {VBS_OP_ADD, "a", FROM(2), .operand = DIMS(24, 1, 1)},                                 \
            {op, "au", FROM(3), .attributes = {.alpha = a, .beta = b}},                            \
            {VBS_OP_FC, "f", FROM(0), .attributes = {.out_channels = 9, .bias = true}},            \
            {op, "fu", FROM(5), .attributes = {.alpha = a, .beta = b}},                            \
            {VBS_OP_POOL_AVG, "p", FROM(0),                                                        \
             .attributes = {.kernel = {2, 2}, .stride = {2, 2}, .dilation = {1, 1}}},              \
            {op, "pu", FROM(7), .attributes = {.alpha = a, .beta = b}}                             \
        }                                                                                          \
    }

#define WINDOW(k, s, d, p)                                                                         \
    .kernel = {k, k, k}, .stride = {s, s, s}, .dilation = {d, d, d}, .pad_low = {p, p, p},         \
    .pad_high = {p, p, p}

/* One layer on one input. */
#define ONE(title, operator, shape, ...)                                                           \
    {                                                                                              \
        .name = title, .input = shape, .nodes = {                                                  \
            {operator, "n", FROM(0), .attributes = {__VA_ARGS__}}                                  \
        }                                                                                          \
    }

/* One with a constant operand. */
#define CONSTANT(title, operator, shape, second, swap)                                             \
    {                                                                                              \
        .name = title, .input = shape,                                                             \
        .nodes = {{operator, "n", FROM(0), .operand = second, .attributes = {.swapped = swap}}},   \
        .low = 0.5f, .high = 2                                                                     \
    }

/* Every operator on two operands, of which the second is pooled from the first: one per channel. */
#define PAIR(title, operator, shape, axes_bits)                                                    \
    {                                                                                              \
        .name = title, .input = shape,                                                             \
        .nodes = {{VBS_OP_REDUCE_MEAN, "m", FROM(0), .attributes = {.axes = axes_bits}},           \
                  {operator, "n", FROM(0, 1)},                                                     \
                  {operator, "o", FROM(1, 0)}},                                                    \
        .low = 0.5f, .high = 2                                                                     \
    }

/* Folding in every way: of blocks, of what is read in another shape, everything. */
#define REDUCE(title, operator)                                                                    \
    {                                                                                              \
        .name = title, .input = DIMS(20, 6, 5),                                                    \
        .nodes = {{VBS_OP_RELU, "r", FROM(0)},                                                     \
                  {operator, "space", FROM(0), .attributes = {.axes = 6}},                         \
                  {operator, "row", FROM(0), .attributes = {.axes = 4}},                           \
                  {operator, "column", FROM(0), .attributes = {.axes = 2}},                        \
                  {operator, "all", FROM(1), .attributes = {.axes = 7}},                           \
                  {operator, "channels", FROM(1), .attributes = {.axes = 1}},                      \
                  {operator, "viewed", FROM(1), VIEWS(DIMS(2, 10, 3, 10)),                         \
                   .attributes = {.axes = 10}}},                                                   \
        .low = 0.5f, .high = 1.5f                                                                  \
    }

#define RESIZE(title, from, to, m, p, ...)                                                         \
    {                                                                                              \
        .name = title, .input = from, .nodes = {                                                   \
            {VBS_OP_RESIZE, "n", FROM(0),                                                          \
             .attributes = {.resize_mode = m,                                                      \
                            .resize_place = p,                                                     \
                            .cubic_a = -0.75,                                                      \
                            .target = to,                                                          \
                            __VA_ARGS__}}                                                          \
        }                                                                                          \
    }

static const float three_indices[] = {2, -1, 0, 4, 4, 1};
static const struct vbs_values indices = {
    .name = "indices", .element = VBS_F32, .count = 6, .memory = three_indices, .file = -1};

const struct operator_case operator_cases[] = {
    UNARY("relu", VBS_OP_RELU, 0, 0),
    UNARY("leakyrelu", VBS_OP_LEAKY_RELU, 0.2, 0),
    UNARY("elu", VBS_OP_ELU, 1.5, 0),
    UNARY("selu", VBS_OP_SELU, 1.67, 1.05),
    UNARY("celu", VBS_OP_CELU, 0.7, 0),
    UNARY("sigmoid", VBS_OP_SIGMOID, 0, 0),
    UNARY("tanh", VBS_OP_TANH, 0, 0),
    UNARY("hardsigmoid", VBS_OP_HARD_SIGMOID, 0.8, 0.4),
    UNARY("hardswish", VBS_OP_HARD_SWISH, 0, 0),
    UNARY("swish", VBS_OP_SWISH, 0, 0),
    UNARY("gelu", VBS_OP_GELU, 0, 0),
    UNARY("gelu by tanh", VBS_OP_GELU, 1, 0),
    UNARY("mish", VBS_OP_MISH, 0, 0),
    UNARY("softplus", VBS_OP_SOFTPLUS, 0, 0),
    UNARY("softsign", VBS_OP_SOFTSIGN, 0, 0),
    UNARY("thresholdedrelu", VBS_OP_THRESHOLDED_RELU, 0.3, 0),
    UNARY("shrink", VBS_OP_SHRINK, 0.3, 0.1),
    UNARY("clip", VBS_OP_CLIP, 0.1, 0.6),
    UNARY("clip above", VBS_OP_CLIP, -INFINITY, 0.3),
    UNARY("clip below", VBS_OP_CLIP, -0.2, INFINITY),
    UNARY("clip turned round", VBS_OP_CLIP, 0.6, 0.1),
    UNARY("linear", VBS_OP_LINEAR, -1.5, 0.25),
    UNARY("exp", VBS_OP_EXP, 0, 0),
    WITHIN("log", VBS_OP_LOG, 0.1f, 9),
    WITHIN("log near 1", VBS_OP_LOG, 0.97f, 1.03f),
    WITHIN("sqrt", VBS_OP_SQRT, 0.1f, 9),
    WITHIN("reciprocal", VBS_OP_RECIPROCAL, 0.5f, 9),
    UNARY("abs", VBS_OP_ABS, 0, 0),
    UNARY("neg", VBS_OP_NEG, 0, 0),
    UNARY("sign", VBS_OP_SIGN, 0, 0),
    WITHIN("floor", VBS_OP_FLOOR, -5, 5),
    WITHIN("ceil", VBS_OP_CEIL, -5, 5),
    WITHIN("round", VBS_OP_ROUND, -5, 5),
    UNARY("erf", VBS_OP_ERF, 0, 0),
    UNARY("sin", VBS_OP_SIN, 0, 0),
    UNARY("cos", VBS_OP_COS, 0, 0),
    UNARY("tan", VBS_OP_TAN, 0, 0),
    UNARY("asin", VBS_OP_ASIN, 0, 0),
    UNARY("acos", VBS_OP_ACOS, 0, 0),
    UNARY("atan", VBS_OP_ATAN, 0, 0),
    UNARY("sinh", VBS_OP_SINH, 0, 0),
    UNARY("cosh", VBS_OP_COSH, 0, 0),
    UNARY("asinh", VBS_OP_ASINH, 0, 0),
    WITHIN("acosh", VBS_OP_ACOSH, 1.1f, 5),
    UNARY("atanh", VBS_OP_ATANH, 0, 0),
    FUSED("relu", VBS_OP_RELU, 0, 0),
    FUSED("leakyrelu", VBS_OP_LEAKY_RELU, 0.2, 0),
    FUSED("elu", VBS_OP_ELU, 1.5, 0),
    FUSED("selu", VBS_OP_SELU, 1.67, 1.05),
    FUSED("celu", VBS_OP_CELU, 0.7, 0),
    FUSED("sigmoid", VBS_OP_SIGMOID, 0, 0),
    FUSED("tanh", VBS_OP_TANH, 0, 0),
    FUSED("hardsigmoid", VBS_OP_HARD_SIGMOID, 0.2, 0.5),
    FUSED("hardswish", VBS_OP_HARD_SWISH, 0, 0),
    FUSED("swish", VBS_OP_SWISH, 0, 0),
    FUSED("gelu", VBS_OP_GELU, 0, 0),
    FUSED("gelu by tanh", VBS_OP_GELU, 1, 0),
    FUSED("mish", VBS_OP_MISH, 0, 0),
    FUSED("softplus", VBS_OP_SOFTPLUS, 0, 0),
    FUSED("clip", VBS_OP_CLIP, -0.25, 0.5),
    FUSED("linear", VBS_OP_LINEAR, -1.5, 0.25),
    FUSED("exp", VBS_OP_EXP, 0, 0),
    FUSED("abs", VBS_OP_ABS, 0, 0),
    FUSED("round", VBS_OP_ROUND, 0, 0),
    FUSED("sin, which cannot be,", VBS_OP_SIN, 0, 0),

    {.name = "a run of operators on values, of which some are fused",
     .input = DIMS(16, 6, 6),
     .nodes = {{VBS_OP_CONV, "c", FROM(0),
                .attributes = {.out_channels = 20, .groups = 1, WINDOW(3, 1, 1, 1)}},
               {VBS_OP_LINEAR, "l", FROM(1), .attributes = {.alpha = 2, .beta = 0.5}},
               {VBS_OP_BATCHNORM, "b", FROM(2), .attributes = {.affine = true, .epsilon = 0.1}},
               {VBS_OP_LINEAR, "m", FROM(3), .attributes = {.alpha = 0.5, .beta = 0.1}},
               {VBS_OP_CLIP, "i", FROM(4), .attributes = {.alpha = -1, .beta = 1}},
               {VBS_OP_DROPOUT, "d", FROM(5)},
               {VBS_OP_SIGMOID, "s", FROM(6)},
               {VBS_OP_COS, "x", FROM(7)}}},
    {.name = "operators on values of plain and of many dimensions",
     .input = DIMS(2, 3, 2, 2, 3, 2, 1, 2),
     .nodes = {{VBS_OP_SIGMOID, "s", FROM(0)},
               {VBS_OP_BATCHNORM, "b", FROM(0), .attributes = {.affine = true}},
               {VBS_OP_SIN, "t", FROM(0), VIEWS(DIMS(36, 8))},
               {VBS_OP_ADD, "a", FROM(1, 2)},
               {VBS_OP_RELU, "r", FROM(4)}}},

    CONSTANT("add, one value", VBS_OP_ADD, DIMS(20, 5, 4), DIMS(1), false),
    CONSTANT("add to one value", VBS_OP_ADD, DIMS(20, 5, 4), DIMS(1), true),
    CONSTANT("sub, one value", VBS_OP_SUB, DIMS(20, 5, 4), DIMS(1), false),
    CONSTANT("sub from one value", VBS_OP_SUB, DIMS(20, 5, 4), DIMS(1), true),
    CONSTANT("mul, one value", VBS_OP_MUL, DIMS(20, 5, 4), DIMS(1, 1, 1), false),
    CONSTANT("div, one value", VBS_OP_DIV, DIMS(20, 5, 4), DIMS(1), false),
    CONSTANT("div of one value", VBS_OP_DIV, DIMS(20, 5, 4), DIMS(1), true),
    CONSTANT("pow, one value", VBS_OP_POW, DIMS(20, 5, 4), DIMS(1), false),
    CONSTANT("pow of one value", VBS_OP_POW, DIMS(20, 5, 4), DIMS(1), true),
    CONSTANT("max, one value", VBS_OP_MAX, DIMS(20, 5, 4), DIMS(1), false),
    CONSTANT("min, one value", VBS_OP_MIN, DIMS(20, 5, 4), DIMS(1), false),
    CONSTANT("prelu, one value", VBS_OP_PRELU, DIMS(20, 5, 4), DIMS(1), false),
    CONSTANT("add by channel", VBS_OP_ADD, DIMS(20, 5, 4), DIMS(20, 1, 1), false),
    CONSTANT("sub by channel", VBS_OP_SUB, DIMS(20, 5, 4), DIMS(20, 1, 1), false),
    CONSTANT("sub from channels", VBS_OP_SUB, DIMS(20, 5, 4), DIMS(20, 1, 1), true),
    CONSTANT("mul by channel", VBS_OP_MUL, DIMS(20, 5, 4), DIMS(20, 1, 1), false),
    CONSTANT("div by channel", VBS_OP_DIV, DIMS(20, 5, 4), DIMS(20, 1, 1), false),
    CONSTANT("div of channels", VBS_OP_DIV, DIMS(20, 5, 4), DIMS(20, 1, 1), true),
    CONSTANT("pow by channel", VBS_OP_POW, DIMS(20, 5, 4), DIMS(20, 1, 1), false),
    CONSTANT("max by channel", VBS_OP_MAX, DIMS(20, 5, 4), DIMS(20, 1, 1), false),
    CONSTANT("min by channel", VBS_OP_MIN, DIMS(20, 5, 4), DIMS(20, 1, 1), false),
    CONSTANT("mul by position", VBS_OP_MUL, DIMS(20, 5, 4), DIMS(5, 4), false),
    CONSTANT("add by column", VBS_OP_ADD, DIMS(20, 5, 4), DIMS(4), false),
    CONSTANT("div of rows", VBS_OP_DIV, DIMS(20, 5, 4), DIMS(5, 1), true),
    CONSTANT("add of as many values", VBS_OP_ADD, DIMS(20, 5, 4), DIMS(20, 5, 4), false),
    CONSTANT("sub from as many values", VBS_OP_SUB, DIMS(20, 5, 4), DIMS(20, 5, 4), true),
    CONSTANT("add that makes dimensions", VBS_OP_ADD, DIMS(5, 4), DIMS(16, 1, 1), false),
    CONSTANT("mul that makes more", VBS_OP_MUL, DIMS(5, 4), DIMS(2, 3, 1, 2, 1, 4), false),
    CONSTANT("sub of vectors", VBS_OP_SUB, DIMS(40), DIMS(40), false),
    CONSTANT("div on plain channels", VBS_OP_DIV, DIMS(3, 5, 4), DIMS(3, 1, 1), false),
    CONSTANT("pow on plain channels", VBS_OP_POW, DIMS(3, 5, 4), DIMS(1, 5, 1), true),
    CONSTANT("max in one dimension", VBS_OP_MAX, DIMS(24, 7), DIMS(24, 1), false),
    CONSTANT("mul in three dimensions", VBS_OP_MUL, DIMS(24, 3, 4, 2), DIMS(24, 1, 4, 1), false),
    {.name = "prelu by channel and by position",
     .input = DIMS(20, 5, 4),
     .nodes = {{VBS_OP_PRELU, "a", FROM(0), .operand = DIMS(20, 1, 1)},
               {VBS_OP_PRELU, "b", FROM(0), .operand = DIMS(4)},
               {VBS_OP_PRELU, "c", FROM(0), .operand = DIMS(20, 5, 4)},
               {VBS_OP_TRANSPOSE, "t", FROM(0), .attributes = {.perm = {1, 2, 0}}},
               {VBS_OP_PRELU, "d", FROM(4), .operand = DIMS(20)}}},
    PAIR("add of pooled channels", VBS_OP_ADD, DIMS(20, 5, 4), 6),
    PAIR("sub of pooled channels", VBS_OP_SUB, DIMS(20, 5, 4), 6),
    PAIR("mul of pooled channels", VBS_OP_MUL, DIMS(32, 5, 4), 6),
    PAIR("div of pooled channels", VBS_OP_DIV, DIMS(20, 5, 4), 6),
    PAIR("pow of pooled channels", VBS_OP_POW, DIMS(20, 5, 4), 6),
    PAIR("max of pooled channels", VBS_OP_MAX, DIMS(20, 5, 4), 6),
    PAIR("min of pooled channels", VBS_OP_MIN, DIMS(20, 5, 4), 6),
    PAIR("mul of pooled positions", VBS_OP_MUL, DIMS(20, 5, 4), 1),
    PAIR("mul of pooled rows", VBS_OP_MUL, DIMS(20, 5, 4), 4),
    PAIR("sub of everything pooled", VBS_OP_SUB, DIMS(20, 5, 4), 7),
    PAIR("add of pooled plain channels", VBS_OP_ADD, DIMS(3, 5, 4), 6),
    PAIR("div of pooled vectors", VBS_OP_DIV, DIMS(30), 1),
    PAIR("mul of pooled five dimensions", VBS_OP_MUL, DIMS(2, 3, 4, 2, 5), 20),
    {.name = "squeeze and excite, by way of vectors",
     .input = DIMS(20, 6, 5),
     .nodes = {{VBS_OP_CONV, "c", FROM(0),
                .attributes = {.out_channels = 36, .groups = 1, WINDOW(3, 1, 1, 1)}},
               {VBS_OP_REDUCE_MEAN, "m", FROM(1), .attributes = {.axes = 6}},
               {VBS_OP_FC, "f", FROM(2), .attributes = {.out_channels = 8, .bias = true}},
               {VBS_OP_RELU, "r", FROM(3)},
               {VBS_OP_FC, "g", FROM(4), .attributes = {.out_channels = 36, .bias = true}},
               {VBS_OP_SIGMOID, "s", FROM(5)},
               {VBS_OP_MUL, "x", FROM(1, 6), VIEWS(DIMS(36, 6, 5), DIMS(36, 1, 1))},
               {VBS_OP_RELU, "y", FROM(7)}}},
    {.name = "both operands are broadcast",
     .input = DIMS(20, 5, 4),
     .nodes = {{VBS_OP_REDUCE_MAX, "m", FROM(0), .attributes = {.axes = 6}},
               {VBS_OP_REDUCE_MIN, "n", FROM(0), .attributes = {.axes = 1}},
               {VBS_OP_SUB, "s", FROM(1, 2)},
               {VBS_OP_MUL, "t", FROM(2, 1)},
               {VBS_OP_SIGMOID, "u", FROM(4)}}},
    {.name = "every pair in place and with something behind",
     .input = DIMS(16, 4, 4),
     .nodes = {{VBS_OP_TANH, "a", FROM(0)},
               {VBS_OP_EXP, "b", FROM(0)},
               {VBS_OP_SUB, "s", FROM(1, 2)},
               {VBS_OP_ABS, "sa", FROM(3)},
               {VBS_OP_DIV, "d", FROM(4, 2)},
               {VBS_OP_MUL, "m", FROM(5), .operand = DIMS(16, 1, 1)},
               {VBS_OP_LINEAR, "l", FROM(6), .attributes = {.alpha = 2, .beta = 1}},
               {VBS_OP_MAX, "x", FROM(7, 2)}}},
    {.name = "one operand in blocks, the other plain",
     .input = DIMS(16, 6, 6),
     .nodes = {{VBS_OP_CONV, "c", FROM(0),
                .attributes = {.out_channels = 20, .groups = 1, WINDOW(3, 1, 1, 1)}},
               {VBS_OP_TRANSPOSE, "t", FROM(0), .attributes = {.perm = {0, 2, 1}}},
               {VBS_OP_PAD, "p", FROM(2), .attributes = {.begin = {2}, .end = {2}}},
               {VBS_OP_ADD, "a", FROM(1, 3)},
               {VBS_OP_SUB, "s", FROM(3, 1)},
               {VBS_OP_POW, "w", FROM(3, 1), .attributes = {.alpha = 0}}},
     .low = 0.5f,
     .high = 2},

    ONE("deconv of stride 2", VBS_OP_CONV_TRANSPOSE, DIMS(20, 5, 6), .out_channels = 36,
        .groups = 1, .bias = true, WINDOW(3, 2, 1, 1), .out_pad = {1, 1}),
    ONE("deconv of whole blocks", VBS_OP_CONV_TRANSPOSE, DIMS(32, 5, 5), .out_channels = 16,
        .groups = 1, WINDOW(2, 2, 1, 0)),
    ONE("deconv with more padding behind", VBS_OP_CONV_TRANSPOSE, DIMS(16, 5, 5),
        .out_channels = 16, .groups = 1, .bias = true, WINDOW(2, 3, 1, 0), .out_pad = {2, 1}),
    ONE("deconv, dilated", VBS_OP_CONV_TRANSPOSE, DIMS(16, 5, 5), .out_channels = 24, .groups = 1,
        .bias = true, WINDOW(3, 1, 2, 1)),
    ONE("deconv in groups", VBS_OP_CONV_TRANSPOSE, DIMS(24, 5, 5), .out_channels = 36, .groups = 3,
        .bias = true, WINDOW(3, 2, 1, 1)),
    ONE("deconv in groups of blocks", VBS_OP_CONV_TRANSPOSE, DIMS(32, 5, 5), .out_channels = 64,
        .groups = 2, .bias = true, WINDOW(3, 2, 1, 1)),
    ONE("deconv, depthwise", VBS_OP_CONV_TRANSPOSE, DIMS(20, 5, 5), .out_channels = 20,
        .groups = 20, .bias = true, WINDOW(4, 2, 1, 1)),
    ONE("deconv in one dimension", VBS_OP_CONV_TRANSPOSE, DIMS(16, 9), .out_channels = 20,
        .groups = 1, .bias = true, WINDOW(4, 2, 1, 1)),
    ONE("deconv in three dimensions", VBS_OP_CONV_TRANSPOSE, DIMS(16, 3, 4, 3), .out_channels = 20,
        .groups = 1, .bias = true, WINDOW(2, 2, 1, 0)),
    ONE("deconv of plain channels", VBS_OP_CONV_TRANSPOSE, DIMS(3, 5, 4), .out_channels = 5,
        .groups = 1, .bias = true, WINDOW(3, 2, 1, 0)),
    {.name = "deconv with operators folded and fused",
     .input = DIMS(16, 5, 5),
     .nodes = {{VBS_OP_CONV_TRANSPOSE, "d", FROM(0),
                .attributes = {.out_channels = 20, .groups = 1, WINDOW(2, 2, 1, 0)}},
               {VBS_OP_BATCHNORM, "b", FROM(1), .attributes = {.affine = true, .epsilon = 0.01}},
               {VBS_OP_SIGMOID, "s", FROM(2)}}},
    ONE("maxpool, dilated", VBS_OP_POOL_MAX, DIMS(20, 9, 9), WINDOW(3, 1, 2, 1)),
    ONE("maxpool, dilated and padded by more than its kernel", VBS_OP_POOL_MAX, DIMS(20, 9, 9),
        WINDOW(2, 1, 3, 3)),
    ONE("avgpool, dilated", VBS_OP_POOL_AVG, DIMS(20, 9, 9), WINDOW(3, 2, 2, 1)),
    ONE("pool in three dimensions of plain channels", VBS_OP_POOL_AVG, DIMS(3, 6, 6, 6),
        WINDOW(2, 2, 1, 0)),
    {.name = "pools, convolutions and norms of what is read in another shape",
     .input = DIMS(1, 20, 6, 6),
     .nodes = {{VBS_OP_CONV, "c", FROM(0), VIEWS(DIMS(20, 6, 6)),
                .attributes = {.out_channels = 32, .groups = 1, WINDOW(3, 1, 1, 1)}},
               {VBS_OP_RELU, "r", FROM(1)},
               {VBS_OP_POOL_MAX, "p", FROM(2), VIEWS(DIMS(32, 36)),
                .attributes = {WINDOW(2, 2, 1, 0)}},
               {VBS_OP_CONV, "d", FROM(2), VIEWS(DIMS(16, 72)),
                .attributes = {.out_channels = 16, .groups = 1, WINDOW(3, 1, 1, 0)}},
               {VBS_OP_LRN, "l", FROM(2), VIEWS(DIMS(8, 4, 6, 6)),
                .attributes = {.lrn_size = 3, .lrn_alpha = 0.5, .lrn_beta = 0.75, .lrn_k = 1}},
               {VBS_OP_FC, "f", FROM(2), VIEWS(DIMS(1152)), .attributes = {.out_channels = 5}},
               {VBS_OP_SOFTMAX, "s", FROM(2), VIEWS(DIMS(4, 8, 36)), .attributes = {.axis = 1}}}},
    {.name = "one position read in another shape",
     .input = DIMS(32, 4, 4),
     .nodes = {{VBS_OP_POOL_AVG, "p", FROM(0), .attributes = {WINDOW(4, 1, 1, 0)}},
               {VBS_OP_SOFTMAX, "s", FROM(1), VIEWS(DIMS(32))},
               {VBS_OP_MATMUL, "m", FROM(1), VIEWS(DIMS(4, 8)), .operand = DIMS(8, 5)},
               {VBS_OP_CONV, "c", FROM(1),
                .attributes = {.out_channels = 16, .groups = 1, WINDOW(1, 1, 1, 0)}},
               {VBS_OP_TRANSPOSE, "t", FROM(1), .attributes = {.perm = {2, 1, 0}}}}},

    ONE("fc on rows", VBS_OP_FC, DIMS(6, 20), .out_channels = 9, .bias = true, .rows = true),
    ONE("fc on rows of many", VBS_OP_FC, DIMS(2, 3, 4, 2, 16), .out_channels = 32, .rows = true),
    {.name = "fc on rows of what a convolution makes",
     .input = DIMS(16, 4, 5),
     .nodes = {{VBS_OP_CONV, "c", FROM(0),
                .attributes = {.out_channels = 20, .groups = 1, WINDOW(3, 1, 1, 1)}},
               {VBS_OP_FC, "f", FROM(1),
                .attributes = {.out_channels = 24, .bias = true, .rows = true}},
               {VBS_OP_LINEAR, "l", FROM(2), .attributes = {.alpha = 3, .beta = 1}},
               {VBS_OP_GELU, "g", FROM(3)},
               {VBS_OP_BATCHNORM, "b", FROM(4), .attributes = {.affine = true}}}},
    {.name = "matmul with a constant",
     .input = DIMS(3, 4, 6),
     .nodes = {{VBS_OP_MATMUL, "a", FROM(0), .operand = DIMS(6, 5)},
               {VBS_OP_TANH, "t", FROM(1)},
               {VBS_OP_MATMUL, "b", FROM(0), .operand = DIMS(3, 6, 5)},
               {VBS_OP_MATMUL, "c", FROM(0), .operand = DIMS(2, 1, 6, 5)},
               {VBS_OP_MATMUL, "d", FROM(0), .operand = DIMS(7, 4),
                .attributes = {.swapped = true}},
               {VBS_OP_MATMUL, "e", FROM(0), .operand = DIMS(3, 7, 4),
                .attributes = {.swapped = true}},
               {VBS_OP_MATMUL, "f", FROM(0), VIEWS(DIMS(12, 6)), .operand = DIMS(6, 16)}}},
    {.name = "matmul of two",
     .input = DIMS(3, 4, 6),
     .nodes = {{VBS_OP_TRANSPOSE, "t", FROM(0), .attributes = {.perm = {0, 2, 1}}},
               {VBS_OP_MATMUL, "a", FROM(0, 1)},
               {VBS_OP_MATMUL, "b", FROM(1, 0)},
               {VBS_OP_REDUCE_MEAN, "m", FROM(1), .attributes = {.axes = 1}},
               {VBS_OP_MATMUL, "c", FROM(0, 4)},
               {VBS_OP_MATMUL, "d", FROM(4, 0)},
               {VBS_OP_MATMUL, "e", FROM(0, 1), VIEWS(DIMS(3, 1, 4, 6), DIMS(1, 3, 6, 4))}}},
    {.name = "attention on what a convolution makes",
     .input = DIMS(16, 4, 5),
     .nodes = {{VBS_OP_CONV, "c", FROM(0),
                .attributes = {.out_channels = 24, .groups = 1, WINDOW(1, 1, 1, 0)}},
               {VBS_OP_TRANSPOSE, "t", FROM(1), VIEWS(DIMS(24, 20)),
                .attributes = {.perm = {1, 0}}},
               {VBS_OP_MATMUL, "q", FROM(2, 1), VIEWS(DIMS(20, 24), DIMS(24, 20))},
               {VBS_OP_SOFTMAX, "s", FROM(3), .attributes = {.axis = 1}},
               {VBS_OP_MATMUL, "v", FROM(1, 4), VIEWS(DIMS(24, 20), DIMS(20, 20))},
               {VBS_OP_ADD, "a", FROM(1, 5), VIEWS(DIMS(24, 4, 5), DIMS(24, 4, 5))}}},

    {.name = "softmax and its logarithm along every dimension",
     .input = DIMS(20, 4, 5),
     .nodes = {{VBS_OP_SOFTMAX, "a", FROM(0), .attributes = {.axis = 0}},
               {VBS_OP_SOFTMAX, "b", FROM(0), .attributes = {.axis = 1}},
               {VBS_OP_SOFTMAX, "c", FROM(0), .attributes = {.axis = 2}},
               {VBS_OP_LOGSOFTMAX, "d", FROM(0), .attributes = {.axis = 0}},
               {VBS_OP_LOGSOFTMAX, "e", FROM(0), .attributes = {.axis = 1}},
               {VBS_OP_LOGSOFTMAX, "f", FROM(0), .attributes = {.axis = 2}}}},
    {.name = "logsoftmax and softmax along the channels in blocks",
     .input = DIMS(20, 4, 5),
     .nodes = {{VBS_OP_LOGSOFTMAX, "a", FROM(0)}, {VBS_OP_SOFTMAX, "b", FROM(0)}}},
    ONE("logsoftmax of a vector", VBS_OP_LOGSOFTMAX, DIMS(33), .axis = 0),
    ONE("softmax in five dimensions", VBS_OP_SOFTMAX, DIMS(2, 3, 4, 5, 2), .axis = 0),
    ONE("instancenorm on padded blocks", VBS_OP_INSTANCE_NORM, DIMS(20, 5, 4), .affine = true),
    ONE("instancenorm on blocks", VBS_OP_INSTANCE_NORM, DIMS(32, 7), .affine = false,
        .epsilon = 0.1),
    ONE("instancenorm on plain channels", VBS_OP_INSTANCE_NORM, DIMS(3, 5, 4, 3), .affine = true),
    {.name = "instancenorm with a relu and more behind it",
     .input = DIMS(20, 5, 4),
     .nodes = {{VBS_OP_INSTANCE_NORM, "n", FROM(0), .attributes = {.affine = true}},
               {VBS_OP_RELU, "r", FROM(1)},
               {VBS_OP_COS, "c", FROM(2)},
               {VBS_OP_BATCHNORM, "b", FROM(3), .attributes = {.affine = true}},
               {VBS_OP_RELU, "s", FROM(4)}}},
    ONE("layernorm of the last dimension", VBS_OP_LAYER_NORM, DIMS(4, 5, 24), .axis = 2,
        .affine = true),
    ONE("layernorm of more", VBS_OP_LAYER_NORM, DIMS(4, 5, 3), .axis = 1, .affine = true,
        .epsilon = 0.01),
    ONE("layernorm of everything", VBS_OP_LAYER_NORM, DIMS(20, 5, 3), .axis = 0),
    ONE("batchnorm in one dimension", VBS_OP_BATCHNORM, DIMS(20, 9), .affine = true,
        .epsilon = 0.5),

    REDUCE("reducesum", VBS_OP_REDUCE_SUM),
    REDUCE("reducemean", VBS_OP_REDUCE_MEAN),
    REDUCE("reducemax", VBS_OP_REDUCE_MAX),
    REDUCE("reducemin", VBS_OP_REDUCE_MIN),
    REDUCE("reduceprod", VBS_OP_REDUCE_PROD),
    REDUCE("reducel1", VBS_OP_REDUCE_L1),
    REDUCE("reducel2", VBS_OP_REDUCE_L2),
    REDUCE("reducelogsum", VBS_OP_REDUCE_LOG_SUM),
    REDUCE("reducelogsumexp", VBS_OP_REDUCE_LOG_SUM_EXP),
    REDUCE("reducesumsquare", VBS_OP_REDUCE_SUM_SQUARE),
    ONE("reduce of nothing", VBS_OP_REDUCE_SUM, DIMS(3, 4), .axes = 0),
    ONE("reduce of a long row", VBS_OP_REDUCE_L2, DIMS(2, 50000), .axes = 2),
    ONE("reduce of many short columns", VBS_OP_REDUCE_MEAN, DIMS(5, 40, 600), .axes = 1),

    {.name = "transpose in every order",
     .input = DIMS(20, 4, 5),
     .nodes = {{VBS_OP_TRANSPOSE, "a", FROM(0), .attributes = {.perm = {0, 2, 1}}},
               {VBS_OP_TRANSPOSE, "b", FROM(0), .attributes = {.perm = {1, 0, 2}}},
               {VBS_OP_TRANSPOSE, "c", FROM(0), .attributes = {.perm = {1, 2, 0}}},
               {VBS_OP_TRANSPOSE, "d", FROM(0), .attributes = {.perm = {2, 0, 1}}},
               {VBS_OP_TRANSPOSE, "e", FROM(0), .attributes = {.perm = {2, 1, 0}}},
               {VBS_OP_TRANSPOSE, "f", FROM(0), .attributes = {.perm = {0, 1, 2}}}}},
    ONE("transpose of six dimensions", VBS_OP_TRANSPOSE, DIMS(2, 3, 4, 2, 3, 5),
        .perm = {4, 0, 5, 2, 1, 3}),
    ONE("transpose of a larger matrix", VBS_OP_TRANSPOSE, DIMS(70, 300), .perm = {1, 0}),
    ONE("shuffle on blocks", VBS_OP_SHUFFLE, DIMS(32, 5, 4), .groups = 4),
    ONE("shuffle on padded blocks", VBS_OP_SHUFFLE, DIMS(24, 5, 4), .groups = 3),
    ONE("shuffle on plain channels", VBS_OP_SHUFFLE, DIMS(6, 5, 4), .groups = 2),
    ONE("shuffle of a vector", VBS_OP_SHUFFLE, DIMS(12), .groups = 3),
    {.name = "slices of channels",
     .input = DIMS(52, 4, 5),
     .nodes = {{VBS_OP_SLICE, "a", FROM(0),
                .attributes = {.begin = {0}, .step = {1, 1, 1}, .end = {16, 4, 5}}},
               {VBS_OP_SLICE, "b", FROM(0),
                .attributes = {.begin = {16}, .step = {1, 1, 1}, .end = {20, 4, 5}}},
               {VBS_OP_SLICE, "c", FROM(0),
                .attributes = {.begin = {32}, .step = {1, 1, 1}, .end = {20, 4, 5}}},
               {VBS_OP_SLICE, "d", FROM(0),
                .attributes = {.begin = {5}, .step = {1, 1, 1}, .end = {21, 4, 5}}},
               {VBS_OP_SLICE, "e", FROM(0),
                .attributes = {.begin = {51}, .step = {-2, 1, 1}, .end = {20, 4, 5}}},
               {VBS_OP_SLICE, "f", FROM(0),
                .attributes = {.begin = {7}, .step = {1, 1, 1}, .end = {3, 4, 5}}},
               {VBS_OP_SIGMOID, "g", FROM(6)}}},
    {.name = "slices of positions",
     .input = DIMS(20, 6, 7),
     .nodes = {{VBS_OP_SLICE, "a", FROM(0),
                .attributes = {.begin = {0, 1, 2}, .step = {1, 1, 1}, .end = {20, 4, 3}}},
               {VBS_OP_SLICE, "b", FROM(0),
                .attributes = {.begin = {0, 0, 1}, .step = {1, 2, 3}, .end = {20, 3, 2}}},
               {VBS_OP_SLICE, "c", FROM(0),
                .attributes = {.begin = {0, 5, 6}, .step = {1, -1, -2}, .end = {20, 6, 4}}}}},
    ONE("slice of plain channels backwards", VBS_OP_SLICE, DIMS(3, 6, 7), .begin = {2, 5, 6},
        .step = {-1, -2, -1}, .end = {3, 3, 7}),
    ONE("slice in five dimensions", VBS_OP_SLICE, DIMS(4, 3, 2, 3, 5), .begin = {1, 0, 0, 1, 0},
        .step = {2, 1, 1, 1, 3}, .end = {2, 3, 2, 2, 2}),
    {.name = "padding of positions",
     .input = DIMS(20, 6, 7),
     .nodes = {{VBS_OP_PAD, "a", FROM(0),
                .attributes = {.begin = {0, 1, 2}, .end = {0, 3, 0}, .pad_value = 0.5}},
               {VBS_OP_PAD, "b", FROM(0),
                .attributes = {.begin = {0, 5, 2}, .end = {0, 0, 4}, .pad_mode = VBS_PAD_REFLECT}},
               {VBS_OP_PAD, "c", FROM(0),
                .attributes = {.begin = {0, 2, 2}, .end = {0, 9, 1}, .pad_mode = VBS_PAD_EDGE}},
               {VBS_OP_PAD, "d", FROM(0),
                .attributes = {.begin = {0, 2, 15}, .end = {0, 9, 1}, .pad_mode = VBS_PAD_WRAP}},
               {VBS_OP_PAD, "e", FROM(0),
                .attributes = {.begin = {0, -2, 1}, .end = {0, 1, -3}, .pad_value = 2}}}},
    {.name = "padding of channels",
     .input = DIMS(20, 3, 4),
     .nodes = {{VBS_OP_PAD, "a", FROM(0),
                .attributes = {.begin = {3}, .end = {1}, .pad_value = 0.5}},
               {VBS_OP_PAD, "b", FROM(0),
                .attributes = {.begin = {16}, .pad_mode = VBS_PAD_REFLECT}},
               {VBS_OP_PAD, "c", FROM(0), .attributes = {.begin = {-4}, .end = {-12}}}}},
    ONE("padding of plain channels", VBS_OP_PAD, DIMS(3, 4, 5), .begin = {1, 1, 1},
        .end = {1, 0, 2}, .pad_mode = VBS_PAD_EDGE),
    ONE("padding in one dimension", VBS_OP_PAD, DIMS(16, 9), .begin = {0, 2}, .end = {0, 3}),
    {.name = "expand",
     .input = DIMS(20, 1, 4),
     .nodes = {{VBS_OP_EXPAND, "a", FROM(0), .attributes = {.target = DIMS(20, 5, 4)}},
               {VBS_OP_EXPAND, "b", FROM(0), .attributes = {.target = DIMS(2, 20, 3, 4)}},
               {VBS_OP_REDUCE_SUM, "m", FROM(0), .attributes = {.axes = 5}},
               {VBS_OP_EXPAND, "c", FROM(3), .attributes = {.target = DIMS(20, 5, 4)}}}},
    ONE("expand of plain channels", VBS_OP_EXPAND, DIMS(1, 3), .target = DIMS(4, 2, 3)),
    {.name = "gather along every dimension",
     .input = DIMS(20, 6, 5),
     .nodes = {{VBS_OP_GATHER, "a", FROM(0), .operand = DIMS(6),
                .values = {[VBS_PARAMETER_OPERAND] = &indices},
                .attributes = {.axis = 0, .target = DIMS(6)}},
               {VBS_OP_GATHER, "b", FROM(0), .operand = DIMS(2, 3),
                .values = {[VBS_PARAMETER_OPERAND] = &indices},
                .attributes = {.axis = 1, .target = DIMS(2, 3)}},
               {VBS_OP_GATHER, "c", FROM(0), .operand = DIMS(6),
                .values = {[VBS_PARAMETER_OPERAND] = &indices},
                .attributes = {.axis = 2, .target = DIMS(6)}}}},

    {.name = "concat along every dimension",
     .input = DIMS(20, 4, 5),
     .nodes = {{VBS_OP_RELU, "r", FROM(0)},
               {VBS_OP_CONCAT, "a", FROM(0, 1), .attributes = {.axis = 1}},
               {VBS_OP_CONCAT, "b", FROM(1, 0), .attributes = {.axis = 2}},
               {VBS_OP_CONCAT, "c", FROM(1, 0), .attributes = {.axis = 0}},
               {VBS_OP_SIGMOID, "s", FROM(4)}}},
    {.name = "concat of plain and of more dimensions",
     .input = DIMS(3, 4, 5),
     .nodes = {{VBS_OP_TANH, "t", FROM(0)},
               {VBS_OP_CONCAT, "a", FROM(0, 1), .attributes = {.axis = 2}},
               {VBS_OP_CONCAT, "b", FROM(0, 1), VIEWS(DIMS(3, 2, 2, 1, 5), DIMS(3, 2, 2, 1, 5)),
                .attributes = {.axis = 3}},
               {VBS_OP_CONCAT, "c", FROM(0, 1), VIEWS(DIMS(3, 2, 2, 1, 5), DIMS(3, 2, 2, 1, 5)),
                .attributes = {.axis = 0}},
               {VBS_OP_CONCAT, "d", FROM(0, 1), VIEWS(DIMS(60), DIMS(60)),
                .attributes = {.axis = 0}}}},
    {.name = "concat of what is plain for another reader",
     .input = DIMS(16, 4, 5),
     .nodes = {{VBS_OP_CONV, "c", FROM(0),
                .attributes = {.out_channels = 20, .groups = 1, WINDOW(3, 1, 1, 1)}},
               {VBS_OP_CONV, "d", FROM(0),
                .attributes = {.out_channels = 12, .groups = 1, WINDOW(3, 1, 1, 1)}},
               {VBS_OP_TRANSPOSE, "t", FROM(1), .attributes = {.perm = {0, 2, 1}}},
               {VBS_OP_CONCAT, "a", FROM(1, 2), .attributes = {.axis = 0}},
               {VBS_OP_CONV, "e", FROM(4),
                .attributes = {.out_channels = 16, .groups = 1, WINDOW(1, 1, 1, 0)}}}},

    RESIZE("twice as large, nearest", DIMS(20, 4, 5), DIMS(20, 8, 10), VBS_RESIZE_NEAREST,
           VBS_PLACE_ASYMMETRIC, .resize_nearest = VBS_NEAREST_FLOOR, .scale = {1, 2, 2}),
    RESIZE("nearest by thirds, rounded down", DIMS(20, 4, 5), DIMS(20, 6, 8), VBS_RESIZE_NEAREST,
           VBS_PLACE_ASYMMETRIC, .resize_nearest = VBS_NEAREST_FLOOR, .scale = {1, 1.5, 1.6}),
    RESIZE("nearest, rounded up", DIMS(20, 4, 5), DIMS(20, 6, 3), VBS_RESIZE_NEAREST,
           VBS_PLACE_HALF_PIXEL, .resize_nearest = VBS_NEAREST_CEIL, .scale = {1, 1.5, 0.6}),
    RESIZE("nearest, halves up", DIMS(20, 4, 5), DIMS(20, 8, 3), VBS_RESIZE_NEAREST,
           VBS_PLACE_ALIGN_CORNERS, .resize_nearest = VBS_NEAREST_ROUND_PREFER_CEIL,
           .scale = {1, 2, 0.6}),
    RESIZE("nearest, halves down", DIMS(20, 4, 5), DIMS(20, 8, 3), VBS_RESIZE_NEAREST,
           VBS_PLACE_TF_HALF_PIXEL, .resize_nearest = VBS_NEAREST_ROUND_PREFER_FLOOR,
           .scale = {1, 2, 0.6}),
    RESIZE("linear, twice as large", DIMS(20, 4, 5), DIMS(20, 8, 10), VBS_RESIZE_LINEAR,
           VBS_PLACE_HALF_PIXEL, .scale = {1, 2, 2}),
    RESIZE("linear on plain channels", DIMS(3, 4, 5), DIMS(3, 8, 10), VBS_RESIZE_LINEAR,
           VBS_PLACE_HALF_PIXEL, .scale = {1, 2, 2}),
    RESIZE("linear, corners aligned", DIMS(20, 4, 5), DIMS(20, 8, 3), VBS_RESIZE_LINEAR,
           VBS_PLACE_ALIGN_CORNERS, .scale = {1, 2, 0.6}),
    RESIZE("linear, asymmetric", DIMS(20, 4, 5), DIMS(20, 8, 7), VBS_RESIZE_LINEAR,
           VBS_PLACE_ASYMMETRIC, .scale = {1, 2, 1.4}),
    RESIZE("linear to one position", DIMS(20, 4, 5), DIMS(20, 1, 10), VBS_RESIZE_LINEAR,
           VBS_PLACE_PYTORCH_HALF_PIXEL, .scale = {1, 0.25, 2}),
    RESIZE("linear, symmetric", DIMS(20, 4, 5), DIMS(20, 4, 3), VBS_RESIZE_LINEAR,
           VBS_PLACE_HALF_PIXEL_SYMMETRIC, .scale = {1, 1, 0.7}),
    RESIZE("linear, of a crop", DIMS(20, 4, 5), DIMS(20, 3, 7), VBS_RESIZE_LINEAR,
           VBS_PLACE_TF_CROP, .scale = {1, 0.75, 1.4}, .roi_begin = {0, 0.4, 0.6},
           .roi_end = {1, 0.6, 1.2}, .extrapolation = 10),
    RESIZE("nearest, of a crop", DIMS(3, 4, 5), DIMS(3, 3, 7), VBS_RESIZE_NEAREST,
           VBS_PLACE_TF_CROP, .scale = {1, 0.75, 1.4}, .roi_begin = {0, 0.4, 0.6},
           .roi_end = {1, 0.6, 1.2}, .extrapolation = 10),
    RESIZE("cubic", DIMS(20, 4, 5), DIMS(20, 8, 3), VBS_RESIZE_CUBIC, VBS_PLACE_HALF_PIXEL,
           .scale = {1, 2, 0.6}),
    RESIZE("cubic without what is outside", DIMS(20, 4, 5), DIMS(20, 8, 3), VBS_RESIZE_CUBIC,
           VBS_PLACE_ASYMMETRIC, .scale = {1, 2, 0.6}, .exclude_outside = true),
    RESIZE("cubic on plain channels", DIMS(3, 4, 5), DIMS(3, 8, 3), VBS_RESIZE_CUBIC,
           VBS_PLACE_HALF_PIXEL, .scale = {1, 2, 0.6}),
    RESIZE("linear in every dimension", DIMS(4, 4, 5), DIMS(8, 3, 10), VBS_RESIZE_LINEAR,
           VBS_PLACE_HALF_PIXEL, .scale = {2, 0.75, 2}),
    RESIZE("linear, channels too, of blocks", DIMS(20, 4, 5), DIMS(40, 4, 5), VBS_RESIZE_LINEAR,
           VBS_PLACE_HALF_PIXEL, .scale = {2, 1, 1}),
    RESIZE("linear in one dimension", DIMS(16, 9), DIMS(16, 18), VBS_RESIZE_LINEAR,
           VBS_PLACE_HALF_PIXEL, .scale = {1, 2}),
    RESIZE("linear in three dimensions", DIMS(16, 3, 4, 5), DIMS(16, 6, 8, 10), VBS_RESIZE_LINEAR,
           VBS_PLACE_HALF_PIXEL, .scale = {1, 2, 2, 2}),
    RESIZE("linear in the middle of five", DIMS(2, 3, 4, 5, 2), DIMS(2, 3, 8, 3, 2),
           VBS_RESIZE_LINEAR, VBS_PLACE_HALF_PIXEL, .scale = {1, 1, 2, 0.6, 1}),
    RESIZE("to what it is", DIMS(20, 4, 5), DIMS(20, 4, 5), VBS_RESIZE_LINEAR, VBS_PLACE_ASYMMETRIC,
           .scale = {1, 1, 1}),
    {.name = "resize with something behind it",
     .input = DIMS(20, 4, 5),
     .nodes = {{VBS_OP_RESIZE, "n", FROM(0),
                .attributes = {.resize_mode = VBS_RESIZE_LINEAR,
                               .target = DIMS(20, 8, 10),
                               .scale = {1, 2, 2}}},
               {VBS_OP_SIGMOID, "s", FROM(1)},
               {VBS_OP_BATCHNORM, "b", FROM(2), .attributes = {.affine = true}}}},
    {.name = NULL},
};
