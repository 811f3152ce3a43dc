#include "cases/operator_cases.h"

#include <math.h>
#include <stddef.h>

/* Stands for the attributes of an operator that has none. */
#define NO_ATTRIBUTES .weighted = {0}

/* An operator on values, as a layer, and behind one that cannot be fused. */
#define UNARY(word, op, ...)                                                                       \
    {                                                                                              \
        .name = word " on padded blocks, as a layer and fused", .input = DIMS(20, 5, 4),           \
        .nodes = {{op, "u", FROM(0), .attributes = {__VA_ARGS__}},                                 \
                  {VBS_OP_SHUFFLE, "s", FROM(0), .attributes = {.shuffle = {.groups = 2}}},        \
                  {op, "v", FROM(2), .attributes = {__VA_ARGS__}}},                                \
        .low = -0.9f, .high = 0.9f                                                                 \
    }

/* The same where only some inputs have an outcome. */
#define WITHIN(word, op, from, to)                                                                 \
    {                                                                                              \
        .name = word " on padded blocks, as a layer and fused", .input = DIMS(20, 5, 4),           \
        .nodes = {{op, "u", FROM(0)},                                                              \
                  {VBS_OP_SHUFFLE, "s", FROM(0), .attributes = {.shuffle = {.groups = 2}}},        \
                  {op, "v", FROM(2)}},                                                             \
        .low = from, .high = to                                                                    \
    }

/* An operator behind a layer with which oneDNN can fuse it. */
#define FUSED(word, op, ...)                                                                       \
    {                                                                                              \
        .name = word " fused", .input = DIMS(20, 6, 5), .nodes = {                                 \
            {VBS_OP_CONV, "c", FROM(0),                                                            \
             .attributes = {.weighted = {.out_channels = 24,                                       \
                                         .groups = 1,                                              \
                                         .bias = true,                                             \
                                         .window = {.kernel = {3, 3},                              \
                                                    .stride = {1, 1},                              \
                                                    .dilation = {1, 1},                            \
                                                    .pad_low = {1, 1},                             \
                                                    .pad_high = {1, 1}}}}},                        \
            {op, "cu", FROM(1), .attributes = {__VA_ARGS__}},                                      \
            {VBS_OP_ADD, "a", FROM(2), .operand = DIMS(24, 1, 1)},                                 \
            {op, "au", FROM(3), .attributes = {__VA_ARGS__}},                                      \
            {VBS_OP_FC, "f", FROM(0),                                                              \
             .attributes = {.weighted = {.out_channels = 9, .bias = true}}},                       \
            {op, "fu", FROM(5), .attributes = {__VA_ARGS__}},                                      \
            {VBS_OP_POOL_AVG, "p", FROM(0),                                                        \
             .attributes =                                                                         \
                 {.pool = {.window = {.kernel = {2, 2}, .stride = {2, 2}, .dilation = {1, 1}}}}},  \
            {op, "pu", FROM(7), .attributes = {__VA_ARGS__}}                                       \
        }                                                                                          \
    }

/* An operator behind a convolution of few channels, which only oneDNN's products of matrices have.
 */
#define FEW(word, op, ...)                                                                         \
    {                                                                                              \
        .name = word " behind few channels", .input = DIMS(2, 6, 6), .nodes = {                    \
            {VBS_OP_CONV, "c", FROM(0),                                                            \
             .attributes = {.weighted = {.out_channels = 3,                                        \
                                         .groups = 1,                                              \
                                         .bias = true,                                             \
                                         .window = {.kernel = {3, 3},                              \
                                                    .stride = {1, 1},                              \
                                                    .dilation = {1, 1}}}}},                        \
            {op, "u", FROM(1), .attributes = {__VA_ARGS__}},                                       \
            {VBS_OP_ADD, "a", FROM(0), .operand = DIMS(1)},                                        \
            {op, "v", FROM(3), .attributes = {__VA_ARGS__}}                                        \
        }                                                                                          \
    }

/* An operator with a constant operand. */
#define CONSTANT(title, operator, shape, second, swap)                                             \
    {                                                                                              \
        .name = title, .input = shape,                                                             \
        .nodes = {{operator, "n", FROM(0), .operand = second, .attributes = {.binary = {swap}}}},  \
        .low = 0.5f, .high = 2                                                                     \
    }

/* Every operator on two operands. The second is pooled from the first, so that it has one value for
 * each channel. */
#define PAIR(title, operator, shape, axes_bits)                                                    \
    {                                                                                              \
        .name = title, .input = shape,                                                             \
        .nodes = {{VBS_OP_REDUCE_MEAN, "m", FROM(0),                                               \
                   .attributes = {.reduce = {.axes = axes_bits}}},                                 \
                  {operator, "n", FROM(0, 1)},                                                     \
                  {operator, "o", FROM(1, 0)}},                                                    \
        .low = 0.5f, .high = 2                                                                     \
    }

const struct operator_case value_cases[] = {
    UNARY("relu", VBS_OP_RELU, NO_ATTRIBUTES),
    UNARY("leakyrelu", VBS_OP_LEAKY_RELU, .leaky_relu = {.slope = 0.2}),
    UNARY("elu", VBS_OP_ELU, .elu = {.alpha = 1.5}),
    UNARY("selu", VBS_OP_SELU, .selu = {.alpha = 1.67, .gamma = 1.05}),
    UNARY("celu", VBS_OP_CELU, .elu = {.alpha = 0.7}),
    UNARY("sigmoid", VBS_OP_SIGMOID, NO_ATTRIBUTES),
    UNARY("tanh", VBS_OP_TANH, NO_ATTRIBUTES),
    UNARY("hardsigmoid", VBS_OP_HARD_SIGMOID, .hard_sigmoid = {.slope = 0.8, .offset = 0.4}),
    UNARY("hardswish", VBS_OP_HARD_SWISH, NO_ATTRIBUTES),
    UNARY("swish", VBS_OP_SWISH, NO_ATTRIBUTES),
    UNARY("gelu", VBS_OP_GELU, .gelu = {.by_tanh = false}),
    UNARY("gelu by tanh", VBS_OP_GELU, .gelu = {.by_tanh = true}),
    UNARY("mish", VBS_OP_MISH, NO_ATTRIBUTES),
    UNARY("softplus", VBS_OP_SOFTPLUS, NO_ATTRIBUTES),
    UNARY("softsign", VBS_OP_SOFTSIGN, NO_ATTRIBUTES),
    UNARY("thresholdedrelu", VBS_OP_THRESHOLDED_RELU, .thresholded_relu = {.threshold = 0.3}),
    UNARY("shrink", VBS_OP_SHRINK, .shrink = {.lambda = 0.3, .bias = 0.1}),
    UNARY("clip", VBS_OP_CLIP, .clip = {.low = 0.1, .high = 0.6}),
    UNARY("clip above", VBS_OP_CLIP, .clip = {.low = -INFINITY, .high = 0.3}),
    UNARY("clip below", VBS_OP_CLIP, .clip = {.low = -0.2, .high = INFINITY}),
    UNARY("clip turned round", VBS_OP_CLIP, .clip = {.low = 0.6, .high = 0.1}),
    UNARY("linear", VBS_OP_LINEAR, .linear = {.factor = -1.5, .shift = 0.25}),
    UNARY("exp", VBS_OP_EXP, NO_ATTRIBUTES),
    WITHIN("log", VBS_OP_LOG, 0.1f, 9),
    WITHIN("log near 1", VBS_OP_LOG, 0.97f, 1.03f),
    WITHIN("sqrt", VBS_OP_SQRT, 0.1f, 9),
    WITHIN("reciprocal", VBS_OP_RECIPROCAL, 0.5f, 9),
    UNARY("abs", VBS_OP_ABS, NO_ATTRIBUTES),
    UNARY("neg", VBS_OP_NEG, NO_ATTRIBUTES),
    UNARY("sign", VBS_OP_SIGN, NO_ATTRIBUTES),
    WITHIN("floor", VBS_OP_FLOOR, -5, 5),
    WITHIN("ceil", VBS_OP_CEIL, -5, 5),
    WITHIN("round", VBS_OP_ROUND, -5, 5),
    UNARY("erf", VBS_OP_ERF, NO_ATTRIBUTES),
    UNARY("sin", VBS_OP_SIN, NO_ATTRIBUTES),
    UNARY("cos", VBS_OP_COS, NO_ATTRIBUTES),
    UNARY("tan", VBS_OP_TAN, NO_ATTRIBUTES),
    UNARY("asin", VBS_OP_ASIN, NO_ATTRIBUTES),
    UNARY("acos", VBS_OP_ACOS, NO_ATTRIBUTES),
    UNARY("atan", VBS_OP_ATAN, NO_ATTRIBUTES),
    UNARY("sinh", VBS_OP_SINH, NO_ATTRIBUTES),
    UNARY("cosh", VBS_OP_COSH, NO_ATTRIBUTES),
    UNARY("asinh", VBS_OP_ASINH, NO_ATTRIBUTES),
    WITHIN("acosh", VBS_OP_ACOSH, 1.1f, 5),
    UNARY("atanh", VBS_OP_ATANH, NO_ATTRIBUTES),
    FUSED("relu", VBS_OP_RELU, NO_ATTRIBUTES),
    FUSED("leakyrelu", VBS_OP_LEAKY_RELU, .leaky_relu = {.slope = 0.2}),
    FUSED("elu", VBS_OP_ELU, .elu = {.alpha = 1.5}),
    FUSED("selu", VBS_OP_SELU, .selu = {.alpha = 1.67, .gamma = 1.05}),
    FUSED("celu", VBS_OP_CELU, .elu = {.alpha = 0.7}),
    FUSED("sigmoid", VBS_OP_SIGMOID, NO_ATTRIBUTES),
    FUSED("tanh", VBS_OP_TANH, NO_ATTRIBUTES),
    FUSED("hardsigmoid", VBS_OP_HARD_SIGMOID, .hard_sigmoid = {.slope = 0.2, .offset = 0.5}),
    FUSED("hardswish", VBS_OP_HARD_SWISH, NO_ATTRIBUTES),
    FUSED("swish", VBS_OP_SWISH, NO_ATTRIBUTES),
    FUSED("gelu", VBS_OP_GELU, .gelu = {.by_tanh = false}),
    FUSED("gelu by tanh", VBS_OP_GELU, .gelu = {.by_tanh = true}),
    FUSED("mish", VBS_OP_MISH, NO_ATTRIBUTES),
    FUSED("softplus", VBS_OP_SOFTPLUS, NO_ATTRIBUTES),
    FUSED("clip", VBS_OP_CLIP, .clip = {.low = -0.25, .high = 0.5}),
    FUSED("linear", VBS_OP_LINEAR, .linear = {.factor = -1.5, .shift = 0.25}),
    FUSED("exp", VBS_OP_EXP, NO_ATTRIBUTES),
    FUSED("abs", VBS_OP_ABS, NO_ATTRIBUTES),
    FUSED("round", VBS_OP_ROUND, NO_ATTRIBUTES),
    FUSED("sin, which cannot be,", VBS_OP_SIN, NO_ATTRIBUTES),
    FEW("leakyrelu", VBS_OP_LEAKY_RELU, .leaky_relu = {.slope = 0.2}),
    FEW("clip", VBS_OP_CLIP, .clip = {.low = -0.25, .high = 0.5}),
    FEW("hardswish", VBS_OP_HARD_SWISH, NO_ATTRIBUTES),
    FEW("elu", VBS_OP_ELU, .elu = {.alpha = 1.5}),
    FEW("abs", VBS_OP_ABS, NO_ATTRIBUTES),
    {.name = "a run of operators behind few channels in groups",
     .input = DIMS(8, 6, 6),
     .nodes = {{VBS_OP_CONV, "c", FROM(0),
                .attributes =
                    {.weighted = {.out_channels = 8, .groups = 2, .window = WINDOW(3, 1, 1, 1)}}},
               {VBS_OP_ABS, "b", FROM(1)},
               {VBS_OP_LINEAR, "l", FROM(2), .attributes = {.linear = {.factor = -2, .shift = 1}}},
               {VBS_OP_RELU, "r", FROM(3)}}},

    {.name = "a run of operators on values, of which some are fused",
     .input = DIMS(16, 6, 6),
     .nodes = {{VBS_OP_CONV, "c", FROM(0),
                .attributes =
                    {.weighted = {.out_channels = 20, .groups = 1, .window = WINDOW(3, 1, 1, 1)}}},
               {VBS_OP_LINEAR, "l", FROM(1), .attributes = {.linear = {.factor = 2, .shift = 0.5}}},
               {VBS_OP_BATCHNORM, "b", FROM(2),
                .attributes = {.norm = {.affine = true, .epsilon = 0.1}}},
               {VBS_OP_LINEAR, "m", FROM(3),
                .attributes = {.linear = {.factor = 0.5, .shift = 0.1}}},
               {VBS_OP_CLIP, "i", FROM(4), .attributes = {.clip = {.low = -1, .high = 1}}},
               {VBS_OP_DROPOUT, "d", FROM(5)},
               {VBS_OP_SIGMOID, "s", FROM(6)},
               {VBS_OP_COS, "x", FROM(7)}}},
    {.name = "operators on values of plain and of many dimensions",
     .input = DIMS(2, 3, 2, 2, 3, 2, 1, 2),
     .nodes = {{VBS_OP_SIGMOID, "s", FROM(0)},
               {VBS_OP_BATCHNORM, "b", FROM(0), .attributes = {.norm = {.affine = true}}},
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
    CONSTANT("equal, one value", VBS_OP_EQUAL, DIMS(20, 5, 4), DIMS(1), false),
    CONSTANT("less than one value", VBS_OP_LESS, DIMS(20, 5, 4), DIMS(1), false),
    CONSTANT("more than one value", VBS_OP_LESS, DIMS(20, 5, 4), DIMS(1), true),
    CONSTANT("at most one value", VBS_OP_LESS_EQUAL, DIMS(20, 5, 4), DIMS(1), false),
    CONSTANT("less by channel", VBS_OP_LESS, DIMS(20, 5, 4), DIMS(20, 1, 1), false),
    CONSTANT("more by channel", VBS_OP_LESS, DIMS(20, 5, 4), DIMS(20, 1, 1), true),
    CONSTANT("at most by channel", VBS_OP_LESS_EQUAL, DIMS(20, 5, 4), DIMS(20, 1, 1), false),
    CONSTANT("at least, by column", VBS_OP_LESS_EQUAL, DIMS(20, 5, 4), DIMS(4), true),
    CONSTANT("remainder of one value", VBS_OP_REMAINDER, DIMS(20, 5, 4), DIMS(1), true),
    CONSTANT("remainder by channel", VBS_OP_REMAINDER, DIMS(20, 5, 4), DIMS(20, 1, 1), false),
    {.name = "comparisons of equal values",
     .input = DIMS(20, 5, 4),
     .nodes = {{VBS_OP_ROUND, "r", FROM(0)},
               {VBS_OP_FLOOR, "f", FROM(0)},
               {VBS_OP_EQUAL, "e", FROM(1, 2)},
               {VBS_OP_LESS, "l", FROM(1, 2)},
               {VBS_OP_LESS_EQUAL, "m", FROM(2, 1)},
               {VBS_OP_RELU, "a", FROM(3)}},
     .low = -2,
     .high = 2},
    {.name = "what is kept, infinities not",
     .input = DIMS(20, 5, 4),
     .nodes = {{VBS_OP_ROUND, "r", FROM(0)},
               {VBS_OP_RECIPROCAL, "i", FROM(1)}, /* infinite where r is 0 */
               {VBS_OP_KEEP, "n", FROM(2, 1)},
               {VBS_OP_KEEP, "c", FROM(1), .operand = DIMS(20, 5, 4),
                .attributes = {.binary = {true}}},
               {VBS_OP_KEEP, "d", FROM(0), .operand = DIMS(4)},
               {VBS_OP_KEEP, "k", FROM(0, 1)}},
     .low = -2,
     .high = 2},
    {.name = "prelu by channel and by position",
     .input = DIMS(20, 5, 4),
     .nodes = {{VBS_OP_PRELU, "a", FROM(0), .operand = DIMS(20, 1, 1)},
               {VBS_OP_PRELU, "b", FROM(0), .operand = DIMS(4)},
               {VBS_OP_PRELU, "c", FROM(0), .operand = DIMS(20, 5, 4)},
               {VBS_OP_TRANSPOSE, "t", FROM(0), .attributes = {.transpose = {.perm = {1, 2, 0}}}},
               {VBS_OP_PRELU, "d", FROM(4), .operand = DIMS(20)}}},
    PAIR("add of pooled channels", VBS_OP_ADD, DIMS(20, 5, 4), 6),
    PAIR("sub of pooled channels", VBS_OP_SUB, DIMS(20, 5, 4), 6),
    PAIR("mul of pooled channels", VBS_OP_MUL, DIMS(32, 5, 4), 6),
    PAIR("div of pooled channels", VBS_OP_DIV, DIMS(20, 5, 4), 6),
    PAIR("pow of pooled channels", VBS_OP_POW, DIMS(20, 5, 4), 6),
    PAIR("max of pooled channels", VBS_OP_MAX, DIMS(20, 5, 4), 6),
    PAIR("min of pooled channels", VBS_OP_MIN, DIMS(20, 5, 4), 6),
    PAIR("less of pooled channels", VBS_OP_LESS, DIMS(20, 5, 4), 6),
    PAIR("equal to pooled positions", VBS_OP_EQUAL, DIMS(20, 5, 4), 1),
    PAIR("remainder of pooled rows", VBS_OP_REMAINDER, DIMS(20, 5, 4), 4),
    PAIR("keep by pooled channels", VBS_OP_KEEP, DIMS(20, 5, 4), 6),
    PAIR("mul of pooled positions", VBS_OP_MUL, DIMS(20, 5, 4), 1),
    PAIR("mul of pooled rows", VBS_OP_MUL, DIMS(20, 5, 4), 4),
    PAIR("sub of everything pooled", VBS_OP_SUB, DIMS(20, 5, 4), 7),
    PAIR("add of pooled plain channels", VBS_OP_ADD, DIMS(3, 5, 4), 6),
    PAIR("div of pooled vectors", VBS_OP_DIV, DIMS(30), 1),
    PAIR("mul of pooled five dimensions", VBS_OP_MUL, DIMS(2, 3, 4, 2, 5), 20),
    {.name = "squeeze and excite, by way of vectors",
     .input = DIMS(20, 6, 5),
     .nodes = {{VBS_OP_CONV, "c", FROM(0),
                .attributes =
                    {.weighted = {.out_channels = 36, .groups = 1, .window = WINDOW(3, 1, 1, 1)}}},
               {VBS_OP_REDUCE_MEAN, "m", FROM(1), .attributes = {.reduce = {.axes = 6}}},
               {VBS_OP_FC, "f", FROM(2),
                .attributes = {.weighted = {.out_channels = 8, .bias = true}}},
               {VBS_OP_RELU, "r", FROM(3)},
               {VBS_OP_FC, "g", FROM(4),
                .attributes = {.weighted = {.out_channels = 36, .bias = true}}},
               {VBS_OP_SIGMOID, "s", FROM(5)},
               {VBS_OP_MUL, "x", FROM(1, 6), VIEWS(DIMS(36, 6, 5), DIMS(36, 1, 1))},
               {VBS_OP_RELU, "y", FROM(7)}}},
    {.name = "both operands are broadcast",
     .input = DIMS(20, 5, 4),
     .nodes = {{VBS_OP_REDUCE_MAX, "m", FROM(0), .attributes = {.reduce = {.axes = 6}}},
               {VBS_OP_REDUCE_MIN, "n", FROM(0), .attributes = {.reduce = {.axes = 1}}},
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
               {VBS_OP_LINEAR, "l", FROM(6), .attributes = {.linear = {.factor = 2, .shift = 1}}},
               {VBS_OP_MAX, "x", FROM(7, 2)}}},
    {.name = "one operand in blocks, the other plain",
     .input = DIMS(16, 6, 6),
     .nodes = {{VBS_OP_CONV, "c", FROM(0),
                .attributes =
                    {.weighted = {.out_channels = 20, .groups = 1, .window = WINDOW(3, 1, 1, 1)}}},
               {VBS_OP_TRANSPOSE, "t", FROM(0), .attributes = {.transpose = {.perm = {0, 2, 1}}}},
               {VBS_OP_PAD, "p", FROM(2), .attributes = {.pad = {.before = {2}, .behind = {2}}}},
               {VBS_OP_ADD, "a", FROM(1, 3)},
               {VBS_OP_SUB, "s", FROM(3, 1)},
               {VBS_OP_POW, "w", FROM(3, 1)}},
     .low = 0.5f,
     .high = 2},
    {.name = "largest values behind a GELU, which may be -infinity",
     .input = DIMS(16, 6, 6),
     .nodes = {{VBS_OP_GELU, "g", FROM(0)},
               {VBS_OP_POOL_MAX, "p", FROM(1),
                .attributes = {.pool = {.window = WINDOW(2, 2, 1, 0)}}}}},
    {.name = NULL},
};
