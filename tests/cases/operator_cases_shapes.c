#include "cases/operator_cases.h"

#include <stddef.h>
#include <string.h>

/* A reduction in every way: of blocks, of an input that is read in another shape, and of
 * everything. */
#define REDUCE(title, operator)                                                                    \
    {                                                                                              \
        .name = title, .input = DIMS(20, 6, 5),                                                    \
        .nodes = {{VBS_OP_RELU, "r", FROM(0)},                                                     \
                  {operator, "space", FROM(0), .attributes = {.reduce = {.axes = 6}}},             \
                  {operator, "row", FROM(0), .attributes = {.reduce = {.axes = 4}}},               \
                  {operator, "column", FROM(0), .attributes = {.reduce = {.axes = 2}}},            \
                  {operator, "all", FROM(1), .attributes = {.reduce = {.axes = 7}}},               \
                  {operator, "channels", FROM(1), .attributes = {.reduce = {.axes = 1}}},          \
                  {operator, "viewed", FROM(1), VIEWS(DIMS(2, 10, 3, 10)),                         \
                   .attributes = {.reduce = {.axes = 10}}}},                                       \
        .low = 0.5f, .high = 1.5f                                                                  \
    }

/* Points from far left of and above an image to far right of and below it. */
#define GRID_SAMPLE(title, m)                                                                      \
    {                                                                                              \
        .name = title, .input = DIMS(5, 7, 9),                                                     \
        .nodes =                                                                                   \
            {{VBS_OP_SLICE, "s", FROM(0),                                                          \
              .attributes = {.slice = {.begin = {1, 1}, .step = {1, 1, 4}, .count = {4, 6, 2}}}},  \
             POINTS("a", m, ZEROS, false),                                                         \
             POINTS("b", m, ZEROS, true),                                                          \
             POINTS("c", m, BORDER, false),                                                        \
             POINTS("d", m, BORDER, true),                                                         \
             POINTS("e", m, REFLECTION, false),                                                    \
             POINTS("f", m, REFLECTION, true)},                                                    \
        .low = -3, .high = 2.5f                                                                    \
    }
#define POINTS(name, m, p, corners)                                                                \
    {                                                                                              \
        VBS_OP_GRID_SAMPLE, name, FROM(0, 1), .attributes = {                                      \
            .grid_sample = {VBS_RESIZE_##m, VBS_GRID_##p, corners}                                 \
        }                                                                                          \
    }

/* A convolution of 3x3 at moved places: of `in` channels of 9x11, with a stride and dilation, in
 * groups, and in groups of offsets; its input has the images, then two offsets for each element of
 * a window, then factors, each on 5x4 positions. */
#define DEFORM(title, in, out, g, og, ...)                                                         \
    {                                                                                              \
        .name = title, .input = DIMS((in)*99 + (og)*27 * 20),                                      \
        .nodes = {{VBS_OP_SLICE, "x", FROM(0),                                                     \
                   .attributes = {.slice = {.step = {1}, .count = {(in)*99}}}},                    \
                  {VBS_OP_SLICE, "o", FROM(0),                                                     \
                   .attributes = {.slice = {.begin = {(in)*99},                                    \
                                            .step = {1},                                           \
                                            .count = {(og)*18 * 20}}}},                            \
                  {VBS_OP_SLICE, "f", FROM(0),                                                     \
                   .attributes = {.slice = {.begin = {(in)*99 + (og)*18 * 20},                     \
                                            .step = {1},                                           \
                                            .count = {(og)*9 * 20}}}},                             \
                  {VBS_OP_DEFORM_CONV, "d", __VA_ARGS__,                                           \
                   VIEWS(DIMS(in, 9, 11), DIMS((og)*18, 5, 4), DIMS((og)*9, 5, 4)),                \
                   .attributes = {.weighted = {.out_channels = out,                                \
                                               .bias = (g) > 1,                                    \
                                               .groups = g,                                        \
                                               .window = {.kernel = {3, 3},                        \
                                                          .stride = {2, 3},                        \
                                                          .dilation = {1, 2},                      \
                                                          .pad_low = {1, 2},                       \
                                                          .pad_high = {1, 2}},                     \
                                               .offset_groups = og}}},                             \
                  {VBS_OP_SIGMOID, "s", FROM(4)}},                                                 \
        .low = -3, .high = 3                                                                       \
    }

/* Fourier transforms along both dimensions of [h, w] numbers of one or two parts. */
#define DFT(title, h, w, parts, ...)                                                               \
    {                                                                                              \
        .name = title, .input = DIMS(h, w, parts), .nodes = {                                      \
            {VBS_OP_DFT, "a", FROM(0), .attributes = {.dft = {.axis = 0, __VA_ARGS__}}},           \
            {VBS_OP_DFT, "b", FROM(0), .attributes = {.dft = {.axis = 1, __VA_ARGS__}}},           \
            {VBS_OP_RELU, "r", FROM(2)}                                                            \
        }                                                                                          \
    }

#define RESIZE(title, from, to, m, p, ...)                                                         \
    {                                                                                              \
        .name = title, .input = from,                                                              \
        .nodes =                                                                                   \
        { {VBS_OP_RESIZE, "n", FROM(0),                                                            \
           .attributes = {                                                                         \
               .resize = {                                                                         \
                   .mode = m, .coordinates = p, .cubic_a = -0.75, .shape = to, __VA_ARGS__}}} }    \
    }

/* Resizes to the nearest element by two scales that have no finite binary fraction: many
 * coordinates are whole or ties. */
#define BY_SCALES(title, s, t, h, w, p, n)                                                         \
    RESIZE("nearest by " title, DIMS(2, 20, 20), DIMS(2, h, w), VBS_RESIZE_NEAREST,                \
           VBS_COORDINATES_##p, .nearest = VBS_NEAREST_##n, .scale = {1, s, t})
#define BY_ALL_SCALES(p, n)                                                                        \
    BY_SCALES("0.1 and 0.2, " #p ", " #n, 0.1f, 0.2f, 2, 4, p, n),                                 \
        BY_SCALES("0.3 and 0.4, " #p ", " #n, 0.3f, 0.4f, 6, 8, p, n),                             \
        BY_SCALES("0.6 and 0.7, " #p ", " #n, 0.6f, 0.7f, 12, 14, p, n),                           \
        BY_SCALES("0.8 and 0.9, " #p ", " #n, 0.8f, 0.9f, 16, 18, p, n),                           \
        BY_SCALES("1.1 and 1.2, " #p ", " #n, 1.1f, 1.2f, 22, 24, p, n),                           \
        BY_SCALES("1.3 and 1.4, " #p ", " #n, 1.3f, 1.4f, 26, 28, p, n),                           \
        BY_SCALES("1.6 and 1.7, " #p ", " #n, 1.6f, 1.7f, 32, 34, p, n),                           \
        BY_SCALES("2.1 and 2.2, " #p ", " #n, 2.1f, 2.2f, 42, 44, p, n)

static const float three_indices[] = {2, -1, 0, 4, 4, 1};
static const struct vbs_values indices = {
    .name = "indices", .element = VBS_F32, .count = 6, .memory = three_indices, .file = -1};

/* Windows of three neighbours, and the last one alone. */
static const float three_windows[] = {0, 1, 2, 2, 3, 4, 4};
static const struct vbs_values windows = {
    .name = "windows", .element = VBS_F32, .count = 7, .memory = three_windows, .file = -1};

/* A recurrent operator on a sequence of 5 elements, with the weights of its state. */
#define RECURRENT(title, operator, directions, gates, ...)                                         \
    {                                                                                              \
        .name = title, .input = DIMS(5, 12), .nodes = {                                            \
            {operator, "n", FROM(0), .operand = DIMS(directions, (gates)*7, 7),                    \
             .attributes = {.recurrent = {.hidden = 7, __VA_ARGS__}}}                              \
        }                                                                                          \
    }

/* Takes rows of the network's input as first states of that many directions. */
#define FIRST_STATE(name, to, row)                                                                 \
    {                                                                                              \
        VBS_OP_SLICE, name, FROM(0), .attributes = {                                               \
            .slice = {.begin = {row, 2}, .step = {1, 1}, .count = {to, 7}}                         \
        }                                                                                          \
    }

/* The cases of all other operators. The list ends with a null name. */
static const struct operator_case shape_cases[] = {
    ONE("deconv of stride 2", VBS_OP_CONV_TRANSPOSE, DIMS(20, 5, 6),
        .weighted = {.out_channels = 36,
                     .groups = 1,
                     .bias = true,
                     .window = WINDOW(3, 2, 1, 1),
                     .out_pad = {1, 1}}),
    ONE("deconv of whole blocks", VBS_OP_CONV_TRANSPOSE, DIMS(32, 5, 5),
        .weighted = {.out_channels = 16, .groups = 1, .window = WINDOW(2, 2, 1, 0)}),
    ONE("deconv with more padding behind", VBS_OP_CONV_TRANSPOSE, DIMS(16, 5, 5),
        .weighted = {.out_channels = 16,
                     .groups = 1,
                     .bias = true,
                     .window = WINDOW(2, 3, 1, 0),
                     .out_pad = {2, 1}}),
    ONE("deconv with padding behind alone", VBS_OP_CONV_TRANSPOSE, DIMS(16, 5, 5),
        .weighted = {.out_channels = 24,
                     .groups = 1,
                     .bias = true,
                     .window = WINDOW(3, 2, 1, 0),
                     .out_pad = {1, 0}}),
    ONE("deconv, dilated", VBS_OP_CONV_TRANSPOSE, DIMS(16, 5, 5),
        .weighted = {.out_channels = 24, .groups = 1, .bias = true, .window = WINDOW(3, 1, 2, 1)}),
    ONE("deconv in groups", VBS_OP_CONV_TRANSPOSE, DIMS(24, 5, 5),
        .weighted = {.out_channels = 36, .groups = 3, .bias = true, .window = WINDOW(3, 2, 1, 1)}),
    ONE("deconv in groups of blocks", VBS_OP_CONV_TRANSPOSE, DIMS(32, 5, 5),
        .weighted = {.out_channels = 64, .groups = 2, .bias = true, .window = WINDOW(3, 2, 1, 1)}),
    ONE("deconv, depthwise", VBS_OP_CONV_TRANSPOSE, DIMS(20, 5, 5),
        .weighted = {.out_channels = 20, .groups = 20, .bias = true, .window = WINDOW(4, 2, 1, 1)}),
    ONE("deconv in one dimension", VBS_OP_CONV_TRANSPOSE, DIMS(16, 9),
        .weighted = {.out_channels = 20, .groups = 1, .bias = true, .window = WINDOW(4, 2, 1, 1)}),
    ONE("deconv in three dimensions", VBS_OP_CONV_TRANSPOSE, DIMS(16, 3, 4, 3),
        .weighted = {.out_channels = 20, .groups = 1, .bias = true, .window = WINDOW(2, 2, 1, 0)}),
    ONE("deconv of plain channels", VBS_OP_CONV_TRANSPOSE, DIMS(3, 5, 4),
        .weighted = {.out_channels = 5, .groups = 1, .bias = true, .window = WINDOW(3, 2, 1, 0)}),
    ONE("deconv of windows side by side", VBS_OP_CONV_TRANSPOSE, DIMS(20, 5, 6),
        .weighted = {.out_channels = 36,
                     .groups = 1,
                     .bias = true,
                     .window = {.kernel = {2, 3}, .stride = {2, 3}, .dilation = {1, 1}}}),
    ONE("deconv of windows side by side, in three dimensions", VBS_OP_CONV_TRANSPOSE,
        DIMS(16, 3, 4, 5),
        .weighted = {.out_channels = 24,
                     .groups = 1,
                     .window = {.kernel = {2, 1, 3}, .stride = {2, 1, 3}, .dilation = {1, 1, 1}}}),
    ONE("deconv of windows side by side, of plain channels", VBS_OP_CONV_TRANSPOSE, DIMS(3, 5, 4),
        .weighted = {.out_channels = 5, .groups = 1, .bias = true, .window = WINDOW(2, 2, 1, 0)}),
    ONE("deconv of windows side by side, from plain channels to blocks", VBS_OP_CONV_TRANSPOSE,
        DIMS(2, 5, 4),
        .weighted = {.out_channels = 40, .groups = 1, .bias = true, .window = WINDOW(3, 3, 1, 0)}),
    {.name = "deconv of windows side by side to one channel, with operators fused",
     .input = DIMS(24, 5, 6),
     .nodes = {{VBS_OP_CONV_TRANSPOSE, "d", FROM(0),
                .attributes = {.weighted = {.out_channels = 1,
                                            .groups = 1,
                                            .bias = true,
                                            .window = WINDOW(2, 2, 1, 0)}}},
               {VBS_OP_HARD_SWISH, "h", FROM(1)},
               {VBS_OP_SIGMOID, "s", FROM(2)}}},
    {.name = "deconv of windows side by side, with an operator that breaks padding",
     .input = DIMS(16, 5, 5),
     .nodes = {{VBS_OP_CONV_TRANSPOSE, "d", FROM(0),
                .attributes =
                    {.weighted = {.out_channels = 20, .groups = 1, .window = WINDOW(2, 2, 1, 0)}}},
               {VBS_OP_COS, "c", FROM(1)}}},
    {.name = "deconv with operators folded and fused",
     .input = DIMS(16, 5, 5),
     .nodes = {{VBS_OP_CONV_TRANSPOSE, "d", FROM(0),
                .attributes =
                    {.weighted = {.out_channels = 20, .groups = 1, .window = WINDOW(2, 2, 1, 0)}}},
               {VBS_OP_BATCHNORM, "b", FROM(1),
                .attributes = {.norm = {.affine = true, .epsilon = 0.01}}},
               {VBS_OP_SIGMOID, "s", FROM(2)}}},
    ONE("maxpool, dilated", VBS_OP_POOL_MAX, DIMS(20, 9, 9),
        .pool = {.window = WINDOW(3, 1, 2, 1)}),
    ONE("maxpool, dilated and padded by more than its kernel", VBS_OP_POOL_MAX, DIMS(20, 9, 9),
        .pool = {.window = WINDOW(2, 1, 3, 3)}),
    ONE("avgpool, dilated", VBS_OP_POOL_AVG, DIMS(20, 9, 9),
        .pool = {.window = WINDOW(3, 2, 2, 1)}),
    ONE("pool in three dimensions of plain channels", VBS_OP_POOL_AVG, DIMS(3, 6, 6, 6),
        .pool = {.window = WINDOW(2, 2, 1, 0)}),
    {.name = "pools, convolutions and norms of what is read in another shape",
     .input = DIMS(1, 20, 6, 6),
     .nodes = {{VBS_OP_CONV, "c", FROM(0), VIEWS(DIMS(20, 6, 6)),
                .attributes =
                    {.weighted = {.out_channels = 32, .groups = 1, .window = WINDOW(3, 1, 1, 1)}}},
               {VBS_OP_RELU, "r", FROM(1)},
               {VBS_OP_POOL_MAX, "p", FROM(2), VIEWS(DIMS(32, 36)),
                .attributes = {.pool = {.window = WINDOW(2, 2, 1, 0)}}},
               {VBS_OP_CONV, "d", FROM(2), VIEWS(DIMS(16, 72)),
                .attributes =
                    {.weighted = {.out_channels = 16, .groups = 1, .window = WINDOW(3, 1, 1, 0)}}},
               {VBS_OP_LRN, "l", FROM(2), VIEWS(DIMS(8, 4, 6, 6)),
                .attributes = {.lrn = {.size = 3, .alpha = 0.5, .beta = 0.75, .k = 1}}},
               {VBS_OP_FC, "f", FROM(2), VIEWS(DIMS(1152)),
                .attributes = {.weighted = {.out_channels = 5}}},
               {VBS_OP_SOFTMAX, "s", FROM(2), VIEWS(DIMS(4, 8, 36)),
                .attributes = {.softmax = {.axis = 1}}}}},
    {.name = "one position read in another shape",
     .input = DIMS(32, 4, 4),
     .nodes = {{VBS_OP_POOL_AVG, "p", FROM(0),
                .attributes = {.pool = {.window = WINDOW(4, 1, 1, 0)}}},
               {VBS_OP_SOFTMAX, "s", FROM(1), VIEWS(DIMS(32))},
               {VBS_OP_MATMUL, "m", FROM(1), VIEWS(DIMS(4, 8)), .operand = DIMS(8, 5)},
               {VBS_OP_CONV, "c", FROM(1),
                .attributes =
                    {.weighted = {.out_channels = 16, .groups = 1, .window = WINDOW(1, 1, 1, 0)}}},
               {VBS_OP_TRANSPOSE, "t", FROM(1), .attributes = {.transpose = {.perm = {2, 1, 0}}}}}},

    ONE("fc on rows", VBS_OP_FC, DIMS(6, 20),
        .weighted = {.out_channels = 9, .bias = true, .rows = true}),
    ONE("fc on rows of many", VBS_OP_FC, DIMS(2, 3, 4, 2, 16),
        .weighted = {.out_channels = 32, .rows = true}),
    {.name = "fc on rows of what a convolution makes",
     .input = DIMS(16, 4, 5),
     .nodes = {{VBS_OP_CONV, "c", FROM(0),
                .attributes =
                    {.weighted = {.out_channels = 20, .groups = 1, .window = WINDOW(3, 1, 1, 1)}}},
               {VBS_OP_FC, "f", FROM(1),
                .attributes = {.weighted = {.out_channels = 24, .bias = true, .rows = true}}},
               {VBS_OP_LINEAR, "l", FROM(2), .attributes = {.linear = {.factor = 3, .shift = 1}}},
               {VBS_OP_GELU, "g", FROM(3)},
               {VBS_OP_BATCHNORM, "b", FROM(4), .attributes = {.norm = {.affine = true}}}}},
    {.name = "matmul with a constant",
     .input = DIMS(3, 4, 6),
     .nodes = {{VBS_OP_MATMUL, "a", FROM(0), .operand = DIMS(6, 5)},
               {VBS_OP_TANH, "t", FROM(1)},
               {VBS_OP_MATMUL, "b", FROM(0), .operand = DIMS(3, 6, 5)},
               {VBS_OP_MATMUL, "c", FROM(0), .operand = DIMS(2, 1, 6, 5)},
               {VBS_OP_MATMUL, "d", FROM(0), .operand = DIMS(7, 4),
                .attributes = {.binary = {.swapped = true}}},
               {VBS_OP_MATMUL, "e", FROM(0), .operand = DIMS(3, 7, 4),
                .attributes = {.binary = {.swapped = true}}},
               {VBS_OP_MATMUL, "f", FROM(0), VIEWS(DIMS(12, 6)), .operand = DIMS(6, 16)}}},
    {.name = "matmul of two",
     .input = DIMS(3, 4, 6),
     .nodes = {{VBS_OP_TRANSPOSE, "t", FROM(0), .attributes = {.transpose = {.perm = {0, 2, 1}}}},
               {VBS_OP_MATMUL, "a", FROM(0, 1)},
               {VBS_OP_MATMUL, "b", FROM(1, 0)},
               {VBS_OP_REDUCE_MEAN, "m", FROM(1), .attributes = {.reduce = {.axes = 1}}},
               {VBS_OP_MATMUL, "c", FROM(0, 4)},
               {VBS_OP_MATMUL, "d", FROM(4, 0)},
               {VBS_OP_MATMUL, "e", FROM(0, 1), VIEWS(DIMS(3, 1, 4, 6), DIMS(1, 3, 6, 4))}}},
    {.name = "attention on what a convolution makes",
     .input = DIMS(16, 4, 5),
     .nodes = {{VBS_OP_CONV, "c", FROM(0),
                .attributes =
                    {.weighted = {.out_channels = 24, .groups = 1, .window = WINDOW(1, 1, 1, 0)}}},
               {VBS_OP_TRANSPOSE, "t", FROM(1), VIEWS(DIMS(24, 20)),
                .attributes = {.transpose = {.perm = {1, 0}}}},
               {VBS_OP_MATMUL, "q", FROM(2, 1), VIEWS(DIMS(20, 24), DIMS(24, 20))},
               {VBS_OP_SOFTMAX, "s", FROM(3), .attributes = {.softmax = {.axis = 1}}},
               {VBS_OP_MATMUL, "v", FROM(1, 4), VIEWS(DIMS(24, 20), DIMS(20, 20))},
               {VBS_OP_ADD, "a", FROM(1, 5), VIEWS(DIMS(24, 4, 5), DIMS(24, 4, 5))}}},

    {.name = "softmax and its logarithm along every dimension",
     .input = DIMS(20, 4, 5),
     .nodes = {{VBS_OP_SOFTMAX, "a", FROM(0), .attributes = {.softmax = {.axis = 0}}},
               {VBS_OP_SOFTMAX, "b", FROM(0), .attributes = {.softmax = {.axis = 1}}},
               {VBS_OP_SOFTMAX, "c", FROM(0), .attributes = {.softmax = {.axis = 2}}},
               {VBS_OP_LOGSOFTMAX, "d", FROM(0), .attributes = {.softmax = {.axis = 0}}},
               {VBS_OP_LOGSOFTMAX, "e", FROM(0), .attributes = {.softmax = {.axis = 1}}},
               {VBS_OP_LOGSOFTMAX, "f", FROM(0), .attributes = {.softmax = {.axis = 2}}}}},
    {.name = "logsoftmax and softmax along the channels in blocks",
     .input = DIMS(20, 4, 5),
     .nodes = {{VBS_OP_LOGSOFTMAX, "a", FROM(0)}, {VBS_OP_SOFTMAX, "b", FROM(0)}}},
    ONE("logsoftmax of a vector", VBS_OP_LOGSOFTMAX, DIMS(33), .softmax = {.axis = 0}),
    ONE("softmax in five dimensions", VBS_OP_SOFTMAX, DIMS(2, 3, 4, 5, 2), .softmax = {.axis = 0}),
    ONE("instancenorm on padded blocks", VBS_OP_INSTANCE_NORM, DIMS(20, 5, 4),
        .norm = {.affine = true}),
    ONE("instancenorm on blocks", VBS_OP_INSTANCE_NORM, DIMS(32, 7),
        .norm = {.affine = false, .epsilon = 0.1}),
    ONE("instancenorm on plain channels", VBS_OP_INSTANCE_NORM, DIMS(3, 5, 4, 3),
        .norm = {.affine = true}),
    {.name = "instancenorm with a relu and more behind it",
     .input = DIMS(20, 5, 4),
     .nodes = {{VBS_OP_INSTANCE_NORM, "n", FROM(0), .attributes = {.norm = {.affine = true}}},
               {VBS_OP_RELU, "r", FROM(1)},
               {VBS_OP_COS, "c", FROM(2)},
               {VBS_OP_BATCHNORM, "b", FROM(3), .attributes = {.norm = {.affine = true}}},
               {VBS_OP_RELU, "s", FROM(4)}}},
    ONE("layernorm of the last dimension", VBS_OP_LAYER_NORM, DIMS(4, 5, 24),
        .norm = {.axis = 2, .affine = true}),
    ONE("layernorm of more", VBS_OP_LAYER_NORM, DIMS(4, 5, 3),
        .norm = {.axis = 1, .affine = true, .epsilon = 0.01}),
    ONE("layernorm of everything", VBS_OP_LAYER_NORM, DIMS(20, 5, 3), .norm = {.axis = 0}),
    ONE("batchnorm in one dimension", VBS_OP_BATCHNORM, DIMS(20, 9),
        .norm = {.affine = true, .epsilon = 0.5}),

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
    ONE("reduce of nothing", VBS_OP_REDUCE_SUM, DIMS(3, 4), .reduce = {.axes = 0}),
    ONE("reduce of a long row", VBS_OP_REDUCE_L2, DIMS(2, 50000), .reduce = {.axes = 2}),
    ONE("reduce of many short columns", VBS_OP_REDUCE_MEAN, DIMS(5, 40, 600),
        .reduce = {.axes = 1}),

    {.name = "transpose in every order",
     .input = DIMS(20, 4, 5),
     .nodes = {{VBS_OP_TRANSPOSE, "a", FROM(0), .attributes = {.transpose = {.perm = {0, 2, 1}}}},
               {VBS_OP_TRANSPOSE, "b", FROM(0), .attributes = {.transpose = {.perm = {1, 0, 2}}}},
               {VBS_OP_TRANSPOSE, "c", FROM(0), .attributes = {.transpose = {.perm = {1, 2, 0}}}},
               {VBS_OP_TRANSPOSE, "d", FROM(0), .attributes = {.transpose = {.perm = {2, 0, 1}}}},
               {VBS_OP_TRANSPOSE, "e", FROM(0), .attributes = {.transpose = {.perm = {2, 1, 0}}}},
               {VBS_OP_TRANSPOSE, "f", FROM(0), .attributes = {.transpose = {.perm = {0, 1, 2}}}}}},
    {.name = "transposes between blocks of channels and plain tensors",
     .input = DIMS(20, 5, 6),
     .nodes = {{VBS_OP_CONV, "c", FROM(0),
                .attributes =
                    {.weighted = {.out_channels = 36, .groups = 1, .window = WINDOW(1, 1, 1, 0)}}},
               {VBS_OP_TRANSPOSE, "t", FROM(1), .attributes = {.transpose = {.perm = {1, 2, 0}}}},
               {VBS_OP_LAYER_NORM, "l", FROM(2),
                .attributes = {.norm = {.epsilon = 1e-5, .affine = true, .axis = 2}}},
               {VBS_OP_TRANSPOSE, "u", FROM(3), .attributes = {.transpose = {.perm = {2, 0, 1}}}},
               {VBS_OP_CONV, "d", FROM(4),
                .attributes =
                    {.weighted = {.out_channels = 16, .groups = 1, .window = WINDOW(3, 1, 1, 1)}}},
               {VBS_OP_TRANSPOSE, "v", FROM(5), .attributes = {.transpose = {.perm = {0, 2, 1}}}},
               {VBS_OP_CONV, "e", FROM(6),
                .attributes = {.weighted = {.out_channels = 20,
                                            .groups = 1,
                                            .window = WINDOW(1, 1, 1, 0)}}}}},
    ONE("transpose of six dimensions", VBS_OP_TRANSPOSE, DIMS(2, 3, 4, 2, 3, 5),
        .transpose = {.perm = {4, 0, 5, 2, 1, 3}}),
    ONE("transpose of a larger matrix", VBS_OP_TRANSPOSE, DIMS(70, 300),
        .transpose = {.perm = {1, 0}}),
    ONE("shuffle on blocks", VBS_OP_SHUFFLE, DIMS(32, 5, 4), .shuffle = {.groups = 4}),
    ONE("shuffle on padded blocks", VBS_OP_SHUFFLE, DIMS(24, 5, 4), .shuffle = {.groups = 3}),
    ONE("shuffle on plain channels", VBS_OP_SHUFFLE, DIMS(6, 5, 4), .shuffle = {.groups = 2}),
    ONE("shuffle of a vector", VBS_OP_SHUFFLE, DIMS(12), .shuffle = {.groups = 3}),
    {.name = "slices of channels",
     .input = DIMS(52, 4, 5),
     .nodes = {{VBS_OP_SLICE, "a", FROM(0),
                .attributes = {.slice = {.begin = {0}, .step = {1, 1, 1}, .count = {16, 4, 5}}}},
               {VBS_OP_SLICE, "b", FROM(0),
                .attributes = {.slice = {.begin = {16}, .step = {1, 1, 1}, .count = {20, 4, 5}}}},
               {VBS_OP_SLICE, "c", FROM(0),
                .attributes = {.slice = {.begin = {32}, .step = {1, 1, 1}, .count = {20, 4, 5}}}},
               {VBS_OP_SLICE, "d", FROM(0),
                .attributes = {.slice = {.begin = {5}, .step = {1, 1, 1}, .count = {21, 4, 5}}}},
               {VBS_OP_SLICE, "e", FROM(0),
                .attributes = {.slice = {.begin = {51}, .step = {-2, 1, 1}, .count = {20, 4, 5}}}},
               {VBS_OP_SLICE, "f", FROM(0),
                .attributes = {.slice = {.begin = {7}, .step = {1, 1, 1}, .count = {3, 4, 5}}}},
               {VBS_OP_SIGMOID, "g", FROM(6)}}},
    {.name = "slices of positions",
     .input = DIMS(20, 6, 7),
     .nodes =
         {{VBS_OP_SLICE, "a", FROM(0),
           .attributes = {.slice = {.begin = {0, 1, 2}, .step = {1, 1, 1}, .count = {20, 4, 3}}}},
          {VBS_OP_SLICE, "b", FROM(0),
           .attributes = {.slice = {.begin = {0, 0, 1}, .step = {1, 2, 3}, .count = {20, 3, 2}}}},
          {VBS_OP_SLICE, "c", FROM(0),
           .attributes =
               {.slice = {.begin = {0, 5, 6}, .step = {1, -1, -2}, .count = {20, 6, 4}}}}}},
    ONE("slice of plain channels backwards", VBS_OP_SLICE, DIMS(3, 6, 7),
        .slice = {.begin = {2, 5, 6}, .step = {-1, -2, -1}, .count = {3, 3, 7}}),
    ONE("slice of every other column", VBS_OP_SLICE, DIMS(4, 3),
        .slice = {.step = {1, 2}, .count = {4, 2}}),
    ONE("slice of every other row", VBS_OP_SLICE, DIMS(5, 4),
        .slice = {.step = {2, 1}, .count = {3, 4}}),
    ONE("slice in five dimensions", VBS_OP_SLICE, DIMS(4, 3, 2, 3, 5),
        .slice = {.begin = {1, 0, 0, 1, 0}, .step = {2, 1, 1, 1, 3}, .count = {2, 3, 2, 2, 2}}),
    {.name = "padding of positions",
     .input = DIMS(20, 6, 7),
     .nodes =
         {{VBS_OP_PAD, "a", FROM(0),
           .attributes = {.pad = {.before = {0, 1, 2}, .behind = {0, 3, 0}, .value = 0.5}}},
          {VBS_OP_PAD, "b", FROM(0),
           .attributes =
               {.pad = {.before = {0, 5, 2}, .behind = {0, 0, 4}, .mode = VBS_PAD_REFLECT}}},
          {VBS_OP_PAD, "c", FROM(0),
           .attributes = {.pad = {.before = {0, 2, 2}, .behind = {0, 9, 1}, .mode = VBS_PAD_EDGE}}},
          {VBS_OP_PAD, "d", FROM(0),
           .attributes =
               {.pad = {.before = {0, 2, 15}, .behind = {0, 9, 1}, .mode = VBS_PAD_WRAP}}},
          {VBS_OP_PAD, "e", FROM(0),
           .attributes = {.pad = {.before = {0, -2, 1}, .behind = {0, 1, -3}, .value = 2}}}}},
    ONE("padding that cuts rows off", VBS_OP_PAD, DIMS(20, 13, 7),
        .pad = {.before = {0, -4, 1}, .behind = {0, -2, -3}, .value = 2}),
    {.name = "padding of channels",
     .input = DIMS(20, 3, 4),
     .nodes = {{VBS_OP_PAD, "a", FROM(0),
                .attributes = {.pad = {.before = {3}, .behind = {1}, .value = 0.5}}},
               {VBS_OP_PAD, "b", FROM(0),
                .attributes = {.pad = {.before = {16}, .mode = VBS_PAD_REFLECT}}},
               {VBS_OP_PAD, "c", FROM(0),
                .attributes = {.pad = {.before = {-4}, .behind = {-12}}}}}},
    ONE("padding of plain channels", VBS_OP_PAD, DIMS(3, 4, 5),
        .pad = {.before = {1, 1, 1}, .behind = {1, 0, 2}, .mode = VBS_PAD_EDGE}),
    ONE("padding in one dimension", VBS_OP_PAD, DIMS(16, 9),
        .pad = {.before = {0, 2}, .behind = {0, 3}}),
    {.name = "expand",
     .input = DIMS(20, 1, 4),
     .nodes = {{VBS_OP_EXPAND, "a", FROM(0), .attributes = {.expand = {.shape = DIMS(20, 5, 4)}}},
               {VBS_OP_EXPAND, "b", FROM(0),
                .attributes = {.expand = {.shape = DIMS(2, 20, 3, 4)}}},
               {VBS_OP_REDUCE_SUM, "m", FROM(0), .attributes = {.reduce = {.axes = 5}}},
               {VBS_OP_EXPAND, "c", FROM(3), .attributes = {.expand = {.shape = DIMS(20, 5, 4)}}}}},
    ONE("expand of plain channels", VBS_OP_EXPAND, DIMS(1, 3), .expand = {.shape = DIMS(4, 2, 3)}),
    {.name = "gather along every dimension",
     .input = DIMS(20, 6, 5),
     .nodes = {{VBS_OP_GATHER, "a", FROM(0), .operand = DIMS(6),
                .values = {[VBS_PARAMETER_OPERAND] = &indices},
                .attributes = {.gather = {.axis = 0, .indices = DIMS(6)}}},
               {VBS_OP_GATHER, "b", FROM(0), .operand = DIMS(2, 3),
                .values = {[VBS_PARAMETER_OPERAND] = &indices},
                .attributes = {.gather = {.axis = 1, .indices = DIMS(2, 3)}}},
               {VBS_OP_GATHER, "c", FROM(0), .operand = DIMS(6),
                .values = {[VBS_PARAMETER_OPERAND] = &indices},
                .attributes = {.gather = {.axis = 2, .indices = DIMS(6)}}}}},
    {.name = "gather of neighbours",
     .input = DIMS(20, 6, 5),
     .nodes = {{VBS_OP_GATHER, "a", FROM(0), .operand = DIMS(7),
                .values = {[VBS_PARAMETER_OPERAND] = &windows},
                .attributes = {.gather = {.axis = 0, .indices = DIMS(7)}}},
               {VBS_OP_GATHER, "b", FROM(0), .operand = DIMS(7),
                .values = {[VBS_PARAMETER_OPERAND] = &windows},
                .attributes = {.gather = {.axis = 1, .indices = DIMS(7)}}},
               {VBS_OP_GATHER, "c", FROM(0), .operand = DIMS(7),
                .values = {[VBS_PARAMETER_OPERAND] = &windows},
                .attributes = {.gather = {.axis = 2, .indices = DIMS(7)}}}}},

    {.name = "rows of a table",
     .input = DIMS(3, 4),
     .nodes = {{VBS_OP_EMBED, "a", FROM(0), .operand = DIMS(7, 5)},
               {VBS_OP_EMBED, "b", FROM(0), .operand = DIMS(7, 1)}}},
    {.name = "largest and smallest elements",
     .input = DIMS(20, 6, 5),
     .nodes = {{VBS_OP_TOPK, "a", FROM(0), .attributes = {.topk = {.axis = 0, .k = 7}}},
               {VBS_OP_TOPK, "b", FROM(0),
                .attributes = {.topk = {.axis = 1, .k = 6, .positions = true}}},
               {VBS_OP_TOPK, "c", FROM(0),
                .attributes = {.topk = {.axis = 2, .k = 1, .smallest = true}}},
               {VBS_OP_TOPK, "d", FROM(0),
                .attributes = {.topk = {.axis = 0, .k = 3, .smallest = true, .positions = true}}}}},
    {.name = "elements at positions",
     .input = DIMS(20, 6, 5),
     .nodes = {{VBS_OP_SLICE, "s", FROM(0),
                .attributes = {.slice = {.step = {1, 1, 1}, .count = {17, 6, 4}}}},
               {VBS_OP_PICK, "a", FROM(0, 1), .attributes = {.pick = {.axis = 0}}},
               {VBS_OP_PICK, "b", FROM(0, 1), .attributes = {.pick = {.axis = 1}}}}},
    {.name = "elements at positions in rows",
     .input = DIMS(4, 5),
     .nodes = {{VBS_OP_RELU, "r", FROM(0)},
               {VBS_OP_PICK, "a", FROM(1, 0), .attributes = {.pick = {.axis = 1}}}}},
    {.name = "a part at a place, as a token is chosen",
     .input = DIMS(77, 40),
     .nodes = {{VBS_OP_SLICE, "s", FROM(0),
                .attributes = {.slice = {.begin = {3, 5}, .step = {1, 1}, .count = {1, 1}}}},
               {VBS_OP_TAKE, "a", FROM(0, 1), VIEWS(DIMS(77, 40), DIMS(1))},
               {VBS_OP_TAKE, "b", FROM(0, 1), VIEWS(DIMS(77, 5, 8), DIMS(1, 1))},
               {VBS_OP_TAKE, "c", FROM(0, 1), VIEWS(DIMS(77 * 40), DIMS(1))},
               {VBS_OP_SIGMOID, "f", FROM(2)}}},
    {.name = "parts at places of several numbers, in dimensions that both inputs have",
     .input = DIMS(4, 6, 5, 3),
     .nodes = {{VBS_OP_SLICE, "s", FROM(0),
                .attributes = {.slice = {.step = {1, 1, 1, 1}, .count = {4, 6, 5, 2}}}},
               {VBS_OP_TAKE, "a", FROM(0, 1)},
               {VBS_OP_TAKE, "b", FROM(0, 1), .attributes = {.take = {.common = 1}}},
               {VBS_OP_TAKE, "c", FROM(0, 1), .attributes = {.take = {.common = 2}}},
               {VBS_OP_TAKE, "d", FROM(0, 1), VIEWS(DIMS(4, 6, 5, 3), DIMS(4, 20, 3)),
                .attributes = {.take = {.common = 1}}}}},
    {.name = "parts larger than a piece",
     .input = DIMS(3, 60, 101),
     .nodes = {{VBS_OP_SLICE, "s", FROM(0),
                .attributes = {.slice = {.step = {1, 1, 1}, .count = {1, 5, 1}}}},
               {VBS_OP_TAKE, "a", FROM(0, 1), VIEWS(DIMS(3, 6060), DIMS(5, 1))}}},
    GRID_SAMPLE("the nearest elements at points", NEAREST),
    GRID_SAMPLE("elements mixed at points", LINEAR),
    GRID_SAMPLE("elements mixed at points by a cubic kernel", CUBIC),
    {.name = "points in several images of a sample",
     .input = DIMS(3, 2, 5, 70),
     .nodes = {{VBS_OP_SLICE, "s", FROM(0),
                .attributes = {.slice = {.begin = {0, 0, 1, 3},
                                         .step = {1, 1, 1, 1},
                                         .count = {3, 1, 4, 67}}}},
               {VBS_OP_RELU, "r", FROM(1)},
               {VBS_OP_CONCAT, "p", FROM(1, 2), VIEWS(DIMS(3, 4, 67, 1), DIMS(3, 4, 67, 1)),
                .attributes = {.concat = {.axis = 3}}},
               {VBS_OP_GRID_SAMPLE, "g", FROM(0, 3),
                .attributes = {.grid_sample = {.mode = VBS_RESIZE_LINEAR}}},
               {VBS_OP_SIGMOID, "f", FROM(4)}}},
    {.name = "points in images of one element",
     .input = DIMS(4, 1, 2),
     .nodes = {{VBS_OP_SLICE, "s", FROM(0),
                .attributes = {.slice = {.step = {1, 1, 1}, .count = {4, 1, 1}}}},
               {VBS_OP_GRID_SAMPLE, "a", FROM(1, 0),
                .attributes = {.grid_sample = {VBS_RESIZE_LINEAR, VBS_GRID_REFLECTION, true}}},
               {VBS_OP_GRID_SAMPLE, "b", FROM(1, 0),
                .attributes = {.grid_sample = {VBS_RESIZE_CUBIC, VBS_GRID_BORDER, false}}}},
     .low = -3,
     .high = 3},
    DEFORM("convolution at moved places", 4, 6, 1, 1, FROM(1, 2)),
    DEFORM("convolution at moved places with factors", 4, 40, 1, 2, FROM(1, 2, 3)),
    DEFORM("convolution at moved places in groups", 12, 6, 3, 2, FROM(1, 2, 3)),
    DEFORM("depthwise convolution at moved places", 6, 12, 6, 3, FROM(1, 2)),
    {.name = "convolution at moved places of several images",
     .input = DIMS(3, 3, 13, 12),
     .nodes = {{VBS_OP_SLICE, "x", FROM(0),
                .attributes = {.slice = {.step = {1, 1, 1, 1}, .count = {3, 2, 13, 12}}}},
               {VBS_OP_SLICE, "o", FROM(0),
                .attributes = {.slice = {.step = {1, 1, 1, 1}, .count = {3, 2, 13, 12}}}},
               {VBS_OP_DEFORM_CONV, "d", FROM(1, 2),
                .attributes = {.weighted = {.out_channels = 5,
                                            .groups = 1,
                                            .window = WINDOW(1, 1, 1, 0),
                                            .offset_groups = 1}}}},
     .low = -2,
     .high = 2},
    DFT("fourier transform", 12, 16, 1, .n = 16),
    DFT("fourier transform of complex numbers", 15, 7, 2, .n = 14),
    DFT("half of a fourier transform", 9, 20, 1, .n = 15, .onesided = true),
    DFT("half of a fourier transform of an even length", 9, 30, 1, .n = 22, .onesided = true),
    DFT("inverse fourier transform", 8, 11, 2, .n = 10, .inverse = true),
    DFT("inverse fourier transform of real numbers", 3, 41, 1, .n = 41, .inverse = true),
    DFT("real numbers of half of a fourier transform", 9, 8, 2, .n = 13, .inverse = true,
        .onesided = true),
    DFT("real numbers of half of a fourier transform of an even length", 9, 8, 2, .n = 16,
        .inverse = true, .onesided = true),
    DFT("fourier transform of one element", 2, 3, 1, .n = 1),
    ONE("fourier transform of a length with a large factor", VBS_OP_DFT, DIMS(74, 2, 1),
        .dft = {.axis = 0, .n = 74}),
    ONE("fourier transform of a long signal", VBS_OP_DFT, DIMS(2, 1009, 2),
        .dft = {.axis = 1, .n = 1009, .inverse = true}),
    {.name = "concat along every dimension",
     .input = DIMS(20, 4, 5),
     .nodes = {{VBS_OP_RELU, "r", FROM(0)},
               {VBS_OP_CONCAT, "a", FROM(0, 1), .attributes = {.concat = {.axis = 1}}},
               {VBS_OP_CONCAT, "b", FROM(1, 0), .attributes = {.concat = {.axis = 2}}},
               {VBS_OP_CONCAT, "c", FROM(1, 0), .attributes = {.concat = {.axis = 0}}},
               {VBS_OP_SIGMOID, "s", FROM(4)}}},
    {.name = "concat of plain and of more dimensions",
     .input = DIMS(3, 4, 5),
     .nodes = {{VBS_OP_TANH, "t", FROM(0)},
               {VBS_OP_CONCAT, "a", FROM(0, 1), .attributes = {.concat = {.axis = 2}}},
               {VBS_OP_CONCAT, "b", FROM(0, 1), VIEWS(DIMS(3, 2, 2, 1, 5), DIMS(3, 2, 2, 1, 5)),
                .attributes = {.concat = {.axis = 3}}},
               {VBS_OP_CONCAT, "c", FROM(0, 1), VIEWS(DIMS(3, 2, 2, 1, 5), DIMS(3, 2, 2, 1, 5)),
                .attributes = {.concat = {.axis = 0}}},
               {VBS_OP_CONCAT, "d", FROM(0, 1), VIEWS(DIMS(60), DIMS(60)),
                .attributes = {.concat = {.axis = 0}}}}},
    {.name = "concat of what is plain for another reader",
     .input = DIMS(16, 4, 5),
     .nodes = {{VBS_OP_CONV, "c", FROM(0),
                .attributes =
                    {.weighted = {.out_channels = 20, .groups = 1, .window = WINDOW(3, 1, 1, 1)}}},
               {VBS_OP_CONV, "d", FROM(0),
                .attributes =
                    {.weighted = {.out_channels = 12, .groups = 1, .window = WINDOW(3, 1, 1, 1)}}},
               {VBS_OP_TRANSPOSE, "t", FROM(1), .attributes = {.transpose = {.perm = {0, 2, 1}}}},
               {VBS_OP_CONCAT, "a", FROM(1, 2), .attributes = {.concat = {.axis = 0}}},
               {VBS_OP_CONV, "e", FROM(4),
                .attributes = {.weighted = {.out_channels = 16,
                                            .groups = 1,
                                            .window = WINDOW(1, 1, 1, 0)}}}}},

    {.name = "copies of one channel, which lies the same way in two layouts",
     .input = DIMS(3, 6, 6),
     .nodes = {{VBS_OP_CONV, "a", FROM(0),
                .attributes =
                    {.weighted = {.out_channels = 32, .groups = 1, .window = WINDOW(5, 1, 1, 2)}}},
               {VBS_OP_CONV, "s", FROM(1),
                .attributes =
                    {.weighted = {.out_channels = 1, .groups = 1, .window = WINDOW(3, 1, 1, 1)}}},
               {VBS_OP_SIGMOID, "g", FROM(2)},
               {VBS_OP_IDENTITY, "d", FROM(3)},
               {VBS_OP_CONCAT, "c", FROM(3, 1), .attributes = {.concat = {.axis = 0}}},
               {VBS_OP_CONV, "y", FROM(5),
                .attributes =
                    {.weighted = {.out_channels = 8, .groups = 1, .window = WINDOW(3, 1, 1, 1)}}}}},
    {.name = "one position, which lies the same way in two layouts",
     .input = DIMS(6, 4, 4),
     .nodes = {{VBS_OP_POOL_AVG, "p", FROM(0),
                .attributes = {.pool = {.window = WINDOW(4, 1, 1, 0)}}},
               {VBS_OP_CONV, "c", FROM(1),
                .attributes =
                    {.weighted = {.out_channels = 3, .groups = 1, .window = WINDOW(1, 1, 1, 0)}}},
               {VBS_OP_RELU, "r", FROM(2)},
               {VBS_OP_CONV, "d", FROM(1),
                .attributes =
                    {.weighted = {.out_channels = 3, .groups = 1, .window = WINDOW(1, 1, 1, 0)}}},
               {VBS_OP_IDENTITY, "e", FROM(4)},
               {VBS_OP_SOFTMAX, "s", FROM(4)}}},

    RECURRENT("lstm", VBS_OP_LSTM, 1, 4, .bias = true),
    RECURRENT("lstm from the end", VBS_OP_LSTM, 1, 4, .bias = true, .direction = VBS_BACKWARD),
    RECURRENT("lstm both ways, without bias", VBS_OP_LSTM, 2, 4, .direction = VBS_BOTH_WAYS),
    RECURRENT("gru both ways", VBS_OP_GRU, 2, 3, .bias = true, .direction = VBS_BOTH_WAYS),
    RECURRENT("gru that resets after the product", VBS_OP_GRU, 2, 3, .bias = true,
              .reset_after = true, .direction = VBS_BOTH_WAYS),
    RECURRENT("gru that resets after it, without bias", VBS_OP_GRU, 1, 3, .reset_after = true),
    RECURRENT("rnn", VBS_OP_RNN, 2, 1, .bias = true, .direction = VBS_BOTH_WAYS),
    RECURRENT("rnn with relu", VBS_OP_RNN, 1, 1, .function = VBS_RNN_RELU),
    RECURRENT("rnn with sigmoid, from the end", VBS_OP_RNN, 1, 1, .bias = true,
              .direction = VBS_BACKWARD, .function = VBS_RNN_SIGMOID),
    {.name = "lstm with a first state",
     .input = DIMS(5, 12),
     .nodes = {FIRST_STATE("h", 1, 0),
               FIRST_STATE("m", 1, 3),
               {VBS_OP_LSTM, "n", FROM(0, 1, 2), .operand = DIMS(1, 28, 7),
                .attributes = {.recurrent = {.hidden = 7, .bias = true}}}}},
    {.name = "gru both ways with a first state",
     .input = DIMS(5, 12),
     .nodes = {FIRST_STATE("h", 2, 1),
               {VBS_OP_GRU, "n", FROM(0, 1), .operand = DIMS(2, 21, 7),
                .attributes = {.recurrent = {.hidden = 7, .direction = VBS_BOTH_WAYS}}}}},
    {.name = "gru that resets after the product, with a first state",
     .input = DIMS(5, 12),
     .nodes = {FIRST_STATE("h", 1, 1),
               {VBS_OP_GRU, "n", FROM(0, 1), .operand = DIMS(1, 21, 7),
                .attributes = {.recurrent = {.hidden = 7, .bias = true, .reset_after = true}}}}},
    {.name = "rnn from the end with a first state",
     .input = DIMS(5, 12),
     .nodes = {FIRST_STATE("h", 1, 4),
               {VBS_OP_RNN, "n", FROM(0, 1), .operand = DIMS(1, 7, 7),
                .attributes = {.recurrent = {.hidden = 7, .direction = VBS_BACKWARD}}}}},
    {.name = "lstm with its last memories",
     .input = DIMS(5, 12),
     .nodes = {{VBS_OP_LSTM, "n", FROM(0), .operand = DIMS(1, 28, 7),
                .attributes = {.recurrent = {.hidden = 7, .bias = true, .cells = true}}}}},
    {.name = "lstm both ways with first states and last memories",
     .input = DIMS(5, 12),
     .nodes = {FIRST_STATE("h", 2, 0),
               FIRST_STATE("m", 2, 3),
               {VBS_OP_LSTM, "n", FROM(0, 1, 2), .operand = DIMS(2, 28, 7),
                .attributes = {.recurrent = {.hidden = 7,
                                             .bias = true,
                                             .cells = true,
                                             .direction = VBS_BOTH_WAYS}}},
               {VBS_OP_TANH, "t", FROM(3)}}},
    {.name = "lstm on blocks in another shape, with operators behind it",
     .input = DIMS(16, 3, 4),
     .nodes =
         {{VBS_OP_CONV, "c", FROM(0),
           .attributes =
               {.weighted = {.out_channels = 32, .groups = 1, .window = WINDOW(1, 1, 1, 0)}}},
          {VBS_OP_LSTM, "n", FROM(1), VIEWS(DIMS(12, 32)), .operand = DIMS(2, 64, 16),
           .attributes = {.recurrent = {.hidden = 16, .bias = true, .direction = VBS_BOTH_WAYS}}},
          {VBS_OP_RELU, "r", FROM(2)},
          {VBS_OP_GRU, "g", FROM(3), .operand = DIMS(1, 24, 8),
           .attributes = {.recurrent = {.hidden = 8, .bias = true}}},
          {VBS_OP_CONV, "d", FROM(1),
           .attributes =
               {.weighted = {.out_channels = 8, .groups = 1, .window = WINDOW(1, 1, 1, 0)}}}}},

    BY_ALL_SCALES(ASYMMETRIC, FLOOR),
    BY_ALL_SCALES(HALF_PIXEL, ROUND_PREFER_CEIL),
    BY_ALL_SCALES(HALF_PIXEL_SYMMETRIC, ROUND_PREFER_FLOOR),
    BY_ALL_SCALES(ALIGN_CORNERS, FLOOR),
    BY_ALL_SCALES(TF_HALF_PIXEL, CEIL),
    BY_ALL_SCALES(PYTORCH_HALF_PIXEL, FLOOR),
    RESIZE("nearest, of sizes", DIMS(2, 20, 7), DIMS(2, 12, 9), VBS_RESIZE_NEAREST,
           VBS_COORDINATES_ASYMMETRIC, .nearest = VBS_NEAREST_FLOOR,
           .scale = {1, 12.0 / 20, 9.0 / 7}),
    RESIZE("twice as large, nearest", DIMS(20, 4, 5), DIMS(20, 8, 10), VBS_RESIZE_NEAREST,
           VBS_COORDINATES_ASYMMETRIC, .nearest = VBS_NEAREST_FLOOR, .scale = {1, 2, 2}),
    RESIZE("nearest by thirds, rounded down", DIMS(20, 4, 5), DIMS(20, 6, 8), VBS_RESIZE_NEAREST,
           VBS_COORDINATES_ASYMMETRIC, .nearest = VBS_NEAREST_FLOOR, .scale = {1, 1.5, 1.6}),
    RESIZE("nearest, rounded up", DIMS(20, 4, 5), DIMS(20, 6, 3), VBS_RESIZE_NEAREST,
           VBS_COORDINATES_HALF_PIXEL, .nearest = VBS_NEAREST_CEIL, .scale = {1, 1.5, 0.6}),
    RESIZE("nearest, halves up", DIMS(20, 4, 5), DIMS(20, 8, 3), VBS_RESIZE_NEAREST,
           VBS_COORDINATES_ALIGN_CORNERS, .nearest = VBS_NEAREST_ROUND_PREFER_CEIL,
           .scale = {1, 2, 0.6}),
    RESIZE("nearest, halves down", DIMS(20, 4, 5), DIMS(20, 8, 3), VBS_RESIZE_NEAREST,
           VBS_COORDINATES_TF_HALF_PIXEL, .nearest = VBS_NEAREST_ROUND_PREFER_FLOOR,
           .scale = {1, 2, 0.6}),
    RESIZE("linear, twice as large", DIMS(20, 4, 5), DIMS(20, 8, 10), VBS_RESIZE_LINEAR,
           VBS_COORDINATES_HALF_PIXEL, .scale = {1, 2, 2}),
    RESIZE("linear on plain channels", DIMS(3, 4, 5), DIMS(3, 8, 10), VBS_RESIZE_LINEAR,
           VBS_COORDINATES_HALF_PIXEL, .scale = {1, 2, 2}),
    RESIZE("linear, corners aligned", DIMS(20, 4, 5), DIMS(20, 8, 3), VBS_RESIZE_LINEAR,
           VBS_COORDINATES_ALIGN_CORNERS, .scale = {1, 2, 0.6}),
    RESIZE("linear, asymmetric", DIMS(20, 4, 5), DIMS(20, 8, 7), VBS_RESIZE_LINEAR,
           VBS_COORDINATES_ASYMMETRIC, .scale = {1, 2, 1.4}),
    RESIZE("linear to one position", DIMS(20, 4, 5), DIMS(20, 1, 10), VBS_RESIZE_LINEAR,
           VBS_COORDINATES_PYTORCH_HALF_PIXEL, .scale = {1, 0.25, 2}),
    RESIZE("linear, symmetric", DIMS(20, 4, 5), DIMS(20, 4, 3), VBS_RESIZE_LINEAR,
           VBS_COORDINATES_HALF_PIXEL_SYMMETRIC, .scale = {1, 1, 0.7}),
    RESIZE("linear, of a crop", DIMS(20, 4, 5), DIMS(20, 3, 7), VBS_RESIZE_LINEAR,
           VBS_COORDINATES_TF_CROP, .scale = {1, 0.75, 1.4}, .roi_begin = {0, 0.4, 0.6},
           .roi_end = {1, 0.6, 1.2}, .extrapolation = 10),
    RESIZE("nearest, of a crop", DIMS(3, 4, 5), DIMS(3, 3, 7), VBS_RESIZE_NEAREST,
           VBS_COORDINATES_TF_CROP, .scale = {1, 0.75, 1.4}, .roi_begin = {0, 0.4, 0.6},
           .roi_end = {1, 0.6, 1.2}, .extrapolation = 10),
    RESIZE("cubic", DIMS(20, 4, 5), DIMS(20, 8, 3), VBS_RESIZE_CUBIC, VBS_COORDINATES_HALF_PIXEL,
           .scale = {1, 2, 0.6}),
    RESIZE("cubic without what is outside", DIMS(20, 4, 5), DIMS(20, 8, 3), VBS_RESIZE_CUBIC,
           VBS_COORDINATES_ASYMMETRIC, .scale = {1, 2, 0.6}, .exclude_outside = true),
    RESIZE("cubic on plain channels", DIMS(3, 4, 5), DIMS(3, 8, 3), VBS_RESIZE_CUBIC,
           VBS_COORDINATES_HALF_PIXEL, .scale = {1, 2, 0.6}),
    RESIZE("linear in every dimension", DIMS(4, 4, 5), DIMS(8, 3, 10), VBS_RESIZE_LINEAR,
           VBS_COORDINATES_HALF_PIXEL, .scale = {2, 0.75, 2}),
    RESIZE("linear, channels too, of blocks", DIMS(20, 4, 5), DIMS(40, 4, 5), VBS_RESIZE_LINEAR,
           VBS_COORDINATES_HALF_PIXEL, .scale = {2, 1, 1}),
    RESIZE("linear in one dimension", DIMS(16, 9), DIMS(16, 18), VBS_RESIZE_LINEAR,
           VBS_COORDINATES_HALF_PIXEL, .scale = {1, 2}),
    RESIZE("linear in three dimensions", DIMS(16, 3, 4, 5), DIMS(16, 6, 8, 10), VBS_RESIZE_LINEAR,
           VBS_COORDINATES_HALF_PIXEL, .scale = {1, 2, 2, 2}),
    RESIZE("linear in the middle of five", DIMS(2, 3, 4, 5, 2), DIMS(2, 3, 8, 3, 2),
           VBS_RESIZE_LINEAR, VBS_COORDINATES_HALF_PIXEL, .scale = {1, 1, 2, 0.6, 1}),
    RESIZE("linear, half a position aside in every dimension", DIMS(20, 4, 5), DIMS(20, 4, 10),
           VBS_RESIZE_LINEAR, VBS_COORDINATES_TF_HALF_PIXEL, .scale = {1, 1, 2}),
    RESIZE("nearest, half a position aside", DIMS(20, 4, 5), DIMS(20, 12, 10), VBS_RESIZE_NEAREST,
           VBS_COORDINATES_TF_HALF_PIXEL, .nearest = VBS_NEAREST_FLOOR, .scale = {1, 3, 2}),
    RESIZE("linear, of a crop of as many rows", DIMS(20, 4, 5), DIMS(20, 4, 7), VBS_RESIZE_LINEAR,
           VBS_COORDINATES_TF_CROP, .scale = {1, 1, 1.4}, .roi_begin = {0, 0.2, 0.6},
           .roi_end = {1, 0.6, 1.2}, .extrapolation = 10),
    RESIZE("cubic, three times as many rows", DIMS(20, 5, 4), DIMS(20, 15, 4), VBS_RESIZE_CUBIC,
           VBS_COORDINATES_HALF_PIXEL, .scale = {1, 3, 1}),
    RESIZE("nearest, three times as many rows", DIMS(20, 5, 4), DIMS(20, 15, 4), VBS_RESIZE_NEAREST,
           VBS_COORDINATES_HALF_PIXEL, .nearest = VBS_NEAREST_ROUND_PREFER_FLOOR,
           .scale = {1, 3, 1}),
    RESIZE("to what it is", DIMS(20, 4, 5), DIMS(20, 4, 5), VBS_RESIZE_LINEAR,
           VBS_COORDINATES_ASYMMETRIC, .scale = {1, 1, 1}),
    RESIZE("resize linear to less with a wide kernel", DIMS(20, 9, 7), DIMS(20, 4, 3),
           VBS_RESIZE_LINEAR, VBS_COORDINATES_HALF_PIXEL, .antialias = true,
           .scale = {1, 4 / 9.0, 3 / 7.0}),
    RESIZE("resize cubic with a wide kernel along one dimension", DIMS(20, 9, 7), DIMS(20, 4, 10),
           VBS_RESIZE_CUBIC, VBS_COORDINATES_ASYMMETRIC, .antialias = true, .exclude_outside = true,
           .scale = {1, 4 / 9.0, 10 / 7.0}),
    RESIZE("resize rows to less with a wide kernel", DIMS(3, 40), DIMS(3, 3), VBS_RESIZE_LINEAR,
           VBS_COORDINATES_ALIGN_CORNERS, .antialias = true, .scale = {1, 3 / 40.0}),
    {.name = "resize with something behind it",
     .input = DIMS(20, 4, 5),
     .nodes = {{VBS_OP_RESIZE, "n", FROM(0),
                .attributes = {.resize = {.mode = VBS_RESIZE_LINEAR,
                                          .shape = DIMS(20, 8, 10),
                                          .scale = {1, 2, 2}}}},
               {VBS_OP_SIGMOID, "s", FROM(1)},
               {VBS_OP_BATCHNORM, "b", FROM(2), .attributes = {.norm = {.affine = true}}}}},
    ONE("avgpool of windows within the input", VBS_OP_POOL_AVG, DIMS(300, 8, 7),
        .pool = {.window = WINDOW(2, 2, 1, 0)}),
    ONE("avgpool of windows within the input, dilated and in three dimensions", VBS_OP_POOL_AVG,
        DIMS(20, 5, 6, 9),
        .pool = {.window = {.kernel = {2, 1, 3}, .stride = {2, 3, 1}, .dilation = {1, 1, 2}}}),
    RECURRENT("lstm with peepholes", VBS_OP_LSTM, 1, 4, .bias = true, .peepholes = true),
    RECURRENT("lstm with peepholes and other functions, both ways", VBS_OP_LSTM, 2, 4,
              .direction = VBS_BOTH_WAYS, .peepholes = true,
              .functions = {{VBS_CELL_HARD_SIGMOID, 0.2, 0.5},
                            {VBS_CELL_SOFTSIGN, 0, 0},
                            {VBS_CELL_ELU, 0.7, 0}}),
    RECURRENT("lstm of softplus and scaled tanh", VBS_OP_LSTM, 1, 4, .bias = true,
              .functions = {{VBS_CELL_SCALED_TANH, 0.8, 1.3},
                            {VBS_CELL_SOFTPLUS, 0, 0},
                            {VBS_CELL_LEAKY_RELU, 0.1, 0}}),
    RECURRENT("gru with other functions", VBS_OP_GRU, 1, 3, .bias = true,
              .functions = {{VBS_CELL_HARD_SIGMOID, 0.25, 0.4}, {VBS_CELL_RELU, 0, 0}}),
    RECURRENT("gru that resets after, with other functions", VBS_OP_GRU, 1, 3, .bias = true,
              .reset_after = true,
              .functions = {{VBS_CELL_SIGMOID, 0, 0}, {VBS_CELL_AFFINE, 0.5, 0.1}}),
    RECURRENT("rnn of a function with a threshold", VBS_OP_RNN, 1, 1, .bias = true,
              .functions = {{VBS_CELL_THRESHOLDED_RELU, 0.1, 0}}),
    {.name = NULL},
};

const struct operator_case *operator_case_at(int index)
{
    int n = 0;

    while (value_cases[n].name)
        n++;
    if (index < n)
        return &value_cases[index];
    for (int i = 0; shape_cases[i].name; i++)
        if (i == index - n)
            return &shape_cases[i];
    return NULL;
}

const struct operator_case *operator_case(const char *name)
{
    const struct operator_case *c;

    for (int i = 0; (c = operator_case_at(i)); i++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}
