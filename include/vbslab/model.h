/*
 * vbslab/model.h - networks: layers, shapes, parameters, work.
 *
 * A network is a directed acyclic graph of layers 1..n in topological order; id 0 is the network's
 * input. Operators that work value by value, BatchNorm, Scale and Dropout run in place and are
 * fused: they are not layers but belong to the layer before them (VBS, section IV;
 * docs/accounting.md). Shapes are per sample, without the batch: [C], [C, L], [C, H, W], [C, D, H,
 * W], or any other up to VBS_MAX_DIMS. All values are real numbers, computed in 32-bit floats and
 * row-major where nothing else is said; a tensor may be stored in fewer bits (struct vbs_encoding).
 *
 * Sources of networks: built-in ones (text files of models/, compiled in), text files of the same
 * format (models/README.md), ONNX files. All are untrusted: sizes, counts and products are checked.
 */
#ifndef VBSLAB_MODEL_H
#define VBSLAB_MODEL_H

#include "vbslab/coded.h"
#include "vbslab/reach.h"
#include "vbslab/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_MAX_LAYERS     4096
#define VBS_MAX_OPERATORS  (1 << 16) /* layers and the operators that are fused with them */
#define VBS_MAX_DIMS       8         /* dimensions of a sample */
#define VBS_MAX_SPATIAL    3
#define VBS_MAX_MODEL_TEXT ((size_t)1 << 20) /* bytes of a model text */
#define VBS_MAX_NAME       256               /* bytes of a layer's name with its terminator */

/* Limits that keep every sum within 64 bits: the bytes of all tensors of VBS_MAX_LAYERS layers at
 * the largest request, the weights and the work of a whole network. */
#define VBS_MAX_DIM INT32_MAX /* elements along one dimension */
#define VBS_MAX_ELEMENTS                                                                           \
    ((int64_t)1 << 36) /* elements of a sample of a tensor; parameters of a layer */
#define VBS_MAX_MACS ((int64_t)1 << 50) /* multiply-accumulates of a layer for one sample */

/* The name of the network's input where a layer's name is expected. */
#define VBS_INPUT_NAME "input"

/*
 * The operators: X(NAME, word, CLASS, fewest inputs, most inputs, fused).
 * word is the operator's name in model texts, in profiles and in `models show`. Most inputs is 0
 * where any number is allowed. fused is 1 where the operator runs in place and joins the layer
 * before it.
 *
 * Classes: UNARY operators work value by value. BINARY operators combine two inputs, or one and a
 * constant, with numpy's broadcasting of the shapes (aligned at the last dimension). REDUCE
 * operators fold the dimensions of `axes`. MOVE operators change where values stand and nothing
 * else. All others are of class OTHER. The first VBS_N_TEXT_OPS operators are those of model texts;
 * all of them can come from ONNX. New ones go to the end, because hashes of networks hold their
 * numbers. Each computes what the ONNX operator of that name defines, with
 * the attributes of union vbs_attributes. Comparisons give 1 or 0; keep gives its first operand
 * where the second one is not 0, and else 0; remainder is Mod with the sign of the dividend.
 */
#define VBS_OP_LIST(X)                                                                             \
    X(CONV, "conv", OTHER, 1, 1, 0)                                                                \
    X(FC, "fc", OTHER, 1, 1, 0)                                                                    \
    X(POOL_MAX, "maxpool", OTHER, 1, 1, 0)                                                         \
    X(POOL_AVG, "avgpool", OTHER, 1, 1, 0)                                                         \
    X(LRN, "lrn", OTHER, 1, 1, 0)                                                                  \
    X(CONCAT, "concat", OTHER, 1, 0, 0)                                                            \
    X(ADD, "add", BINARY, 1, 2, 0)                                                                 \
    X(SOFTMAX, "softmax", OTHER, 1, 1, 0)                                                          \
    X(RELU, "relu", UNARY, 1, 1, 1)                                                                \
    X(BATCHNORM, "batchnorm", OTHER, 1, 1, 1)                                                      \
    X(SCALE, "scale", OTHER, 1, 1, 1)                                                              \
    X(DROPOUT, "dropout", UNARY, 1, 1, 1)                                                          \
    X(CONV_TRANSPOSE, "deconv", OTHER, 1, 1, 0)                                                    \
    X(MATMUL, "matmul", OTHER, 1, 2, 0)                                                            \
    X(LOGSOFTMAX, "logsoftmax", OTHER, 1, 1, 0)                                                    \
    X(INSTANCE_NORM, "instancenorm", OTHER, 1, 1, 0)                                               \
    X(LAYER_NORM, "layernorm", OTHER, 1, 1, 0)                                                     \
    X(RESIZE, "resize", OTHER, 1, 1, 0)                                                            \
    X(SUB, "sub", BINARY, 1, 2, 0)                                                                 \
    X(MUL, "mul", BINARY, 1, 2, 0)                                                                 \
    X(DIV, "div", BINARY, 1, 2, 0)                                                                 \
    X(POW, "pow", BINARY, 1, 2, 0)                                                                 \
    X(MAX, "max", BINARY, 1, 2, 0)                                                                 \
    X(MIN, "min", BINARY, 1, 2, 0)                                                                 \
    X(PRELU, "prelu", BINARY, 1, 2, 0)                                                             \
    X(LEAKY_RELU, "leakyrelu", UNARY, 1, 1, 1)                                                     \
    X(ELU, "elu", UNARY, 1, 1, 1)                                                                  \
    X(SELU, "selu", UNARY, 1, 1, 1)                                                                \
    X(CELU, "celu", UNARY, 1, 1, 1)                                                                \
    X(SIGMOID, "sigmoid", UNARY, 1, 1, 1)                                                          \
    X(TANH, "tanh", UNARY, 1, 1, 1)                                                                \
    X(HARD_SIGMOID, "hardsigmoid", UNARY, 1, 1, 1)                                                 \
    X(HARD_SWISH, "hardswish", UNARY, 1, 1, 1)                                                     \
    X(SWISH, "swish", UNARY, 1, 1, 1)                                                              \
    X(GELU, "gelu", UNARY, 1, 1, 1)                                                                \
    X(MISH, "mish", UNARY, 1, 1, 1)                                                                \
    X(SOFTPLUS, "softplus", UNARY, 1, 1, 1)                                                        \
    X(SOFTSIGN, "softsign", UNARY, 1, 1, 1)                                                        \
    X(THRESHOLDED_RELU, "thresholdedrelu", UNARY, 1, 1, 1)                                         \
    X(SHRINK, "shrink", UNARY, 1, 1, 1)                                                            \
    X(CLIP, "clip", UNARY, 1, 1, 1)                                                                \
    X(LINEAR, "linear", UNARY, 1, 1, 1)                                                            \
    X(EXP, "exp", UNARY, 1, 1, 1)                                                                  \
    X(LOG, "log", UNARY, 1, 1, 1)                                                                  \
    X(SQRT, "sqrt", UNARY, 1, 1, 1)                                                                \
    X(RECIPROCAL, "reciprocal", UNARY, 1, 1, 1)                                                    \
    X(ABS, "abs", UNARY, 1, 1, 1)                                                                  \
    X(NEG, "neg", UNARY, 1, 1, 1)                                                                  \
    X(SIGN, "sign", UNARY, 1, 1, 1)                                                                \
    X(FLOOR, "floor", UNARY, 1, 1, 1)                                                              \
    X(CEIL, "ceil", UNARY, 1, 1, 1)                                                                \
    X(ROUND, "round", UNARY, 1, 1, 1)                                                              \
    X(ERF, "erf", UNARY, 1, 1, 1)                                                                  \
    X(SIN, "sin", UNARY, 1, 1, 1)                                                                  \
    X(COS, "cos", UNARY, 1, 1, 1)                                                                  \
    X(TAN, "tan", UNARY, 1, 1, 1)                                                                  \
    X(ASIN, "asin", UNARY, 1, 1, 1)                                                                \
    X(ACOS, "acos", UNARY, 1, 1, 1)                                                                \
    X(ATAN, "atan", UNARY, 1, 1, 1)                                                                \
    X(SINH, "sinh", UNARY, 1, 1, 1)                                                                \
    X(COSH, "cosh", UNARY, 1, 1, 1)                                                                \
    X(ASINH, "asinh", UNARY, 1, 1, 1)                                                              \
    X(ACOSH, "acosh", UNARY, 1, 1, 1)                                                              \
    X(ATANH, "atanh", UNARY, 1, 1, 1)                                                              \
    X(REDUCE_SUM, "reducesum", REDUCE, 1, 1, 0)                                                    \
    X(REDUCE_MEAN, "reducemean", REDUCE, 1, 1, 0)                                                  \
    X(REDUCE_MAX, "reducemax", REDUCE, 1, 1, 0)                                                    \
    X(REDUCE_MIN, "reducemin", REDUCE, 1, 1, 0)                                                    \
    X(REDUCE_PROD, "reduceprod", REDUCE, 1, 1, 0)                                                  \
    X(REDUCE_L1, "reducel1", REDUCE, 1, 1, 0)                                                      \
    X(REDUCE_L2, "reducel2", REDUCE, 1, 1, 0)                                                      \
    X(REDUCE_LOG_SUM, "reducelogsum", REDUCE, 1, 1, 0)                                             \
    X(REDUCE_LOG_SUM_EXP, "reducelogsumexp", REDUCE, 1, 1, 0)                                      \
    X(REDUCE_SUM_SQUARE, "reducesumsquare", REDUCE, 1, 1, 0)                                       \
    X(TRANSPOSE, "transpose", MOVE, 1, 1, 0)                                                       \
    X(SHUFFLE, "shuffle", MOVE, 1, 1, 0)                                                           \
    X(SLICE, "slice", MOVE, 1, 1, 0)                                                               \
    X(PAD, "pad", MOVE, 1, 1, 0)                                                                   \
    X(EXPAND, "expand", MOVE, 1, 1, 0)                                                             \
    X(GATHER, "gather", MOVE, 1, 1, 0)                                                             \
    X(IDENTITY, "identity", UNARY, 1, 1, 0)                                                        \
    X(RNN, "rnn", OTHER, 1, 2, 0)                                                                  \
    X(GRU, "gru", OTHER, 1, 2, 0)                                                                  \
    X(LSTM, "lstm", OTHER, 1, 3, 0)                                                                \
    X(EQUAL, "equal", BINARY, 1, 2, 0)                                                             \
    X(LESS, "less", BINARY, 1, 2, 0)                                                               \
    X(LESS_EQUAL, "lessorequal", BINARY, 1, 2, 0)                                                  \
    X(KEEP, "keep", BINARY, 1, 2, 0)                                                               \
    X(REMAINDER, "remainder", BINARY, 1, 2, 0)                                                     \
    X(EMBED, "embed", OTHER, 1, 1, 0)                                                              \
    X(TOPK, "topk", OTHER, 1, 1, 0)                                                                \
    X(PICK, "pick", OTHER, 2, 2, 0)                                                                \
    X(GRID_SAMPLE, "gridsample", OTHER, 2, 2, 0)                                                   \
    X(TAKE, "take", OTHER, 2, 2, 0)                                                                \
    X(DEFORM_CONV, "deformconv", OTHER, 2, 3, 0)                                                   \
    X(DFT, "dft", OTHER, 1, 1, 0)

#define VBS_N_TEXT_OPS 12

#define VBS_OP_ENUM(name, word, class, low, high, fused) VBS_OP_##name,
/* The operators of VBS_OP_LIST. */
enum vbs_op { VBS_OP_LIST(VBS_OP_ENUM) VBS_N_OPS };
#undef VBS_OP_ENUM

/* What an operator does to shapes: all operators of a class treat them alike, except those of class
 * OTHER. */
enum vbs_op_class {
    VBS_CLASS_OTHER,
    VBS_CLASS_UNARY,
    VBS_CLASS_BINARY,
    VBS_CLASS_REDUCE,
    VBS_CLASS_MOVE
};

/* Gives the word of an operator, "input" for VBS_N_OPS; never null. */
const char *vbs_op_word(enum vbs_op op);
/* Gives the class of an operator. */
enum vbs_op_class vbs_op_class(enum vbs_op op);
/* Gives the number of gates of a recurrent operator: 1 of rnn, 3 of gru, 4 of lstm; else 0. */
int vbs_op_gates(enum vbs_op op);

/* The dimensions of a sample of a tensor, slowest first. A plain value: copy it freely. */
struct vbs_shape {
    int n_dims;                /* 1..VBS_MAX_DIMS; dim[0] is the channels where there are any */
    int64_t dim[VBS_MAX_DIMS]; /* each above 0 */
};

/* Gives the product of the dimensions. It never overflows for a shape that is in a network. */
int64_t vbs_shape_elements(const struct vbs_shape *shape);

/* Writes a shape as "3x227x227" into buffer, for which 64 bytes suffice for a shape of a network,
 * and returns buffer. */
char *vbs_shape_format(const struct vbs_shape *shape, char *buffer, size_t size);

/* Reads a shape such as "3x227x227" or "3x16x112x112". VBS_USAGE where text is none. */
enum vbs_status vbs_shape_parse(struct vbs_ctx *ctx, const char *text,
                                struct vbs_shape *shape) VBS_MUST_CHECK;

/* The values that the operator Pad puts around a tensor. */
enum vbs_pad_mode { VBS_PAD_CONSTANT, VBS_PAD_REFLECT, VBS_PAD_EDGE, VBS_PAD_WRAP };

/* The operator Resize of ONNX: the interpolation, and the coordinate of output position i in an
 * input of n elements along the dimension. Where a formula needs the length of the output, it is
 * scale * n, which is not rounded: align_corners is i (n - 1) / (scale n - 1). */
enum vbs_resize_mode { VBS_RESIZE_NEAREST, VBS_RESIZE_LINEAR, VBS_RESIZE_CUBIC };
/* The coordinate in the input of a position of the output, by the names of ONNX. */
enum vbs_resize_coordinates {
    VBS_COORDINATES_HALF_PIXEL,
    VBS_COORDINATES_PYTORCH_HALF_PIXEL,
    VBS_COORDINATES_ALIGN_CORNERS,
    VBS_COORDINATES_ASYMMETRIC,
    VBS_COORDINATES_TF_CROP,             /* tf_crop_and_resize */
    VBS_COORDINATES_TF_HALF_PIXEL,       /* tf_half_pixel_for_nn: (i + 0.5) / scale */
    VBS_COORDINATES_HALF_PIXEL_SYMMETRIC /* half_pixel about the middle of the resized range */
};
/* The element that is the nearest to a position between two. */
enum vbs_resize_nearest {
    VBS_NEAREST_ROUND_PREFER_FLOOR,
    VBS_NEAREST_ROUND_PREFER_CEIL,
    VBS_NEAREST_FLOOR,
    VBS_NEAREST_CEIL
};
/* What stands outside of the input of a gridsample: zeros, its elements at the border, or its
 * elements mirrored at the border. */
enum vbs_grid_padding { VBS_GRID_ZEROS, VBS_GRID_BORDER, VBS_GRID_REFLECTION };

/* Where a recurrent operator begins: at the first element of the sequence, at the last one, or at
 * both in turn, with weights of their own. */
enum vbs_direction { VBS_FORWARD, VBS_BACKWARD, VBS_BOTH_WAYS };
/* A function within a recurrent operator, by its name in ONNX, with alpha and beta where it has
 * them.
 */
enum vbs_cell_kind {
    VBS_CELL_USUAL, /* the one that the operator has unless it is told another one */
    VBS_CELL_TANH,
    VBS_CELL_RELU,
    VBS_CELL_SIGMOID,
    VBS_CELL_AFFINE,           /* alpha x + beta */
    VBS_CELL_LEAKY_RELU,       /* x, below 0 alpha x */
    VBS_CELL_THRESHOLDED_RELU, /* x where it is at least alpha, else 0 */
    VBS_CELL_SCALED_TANH,      /* alpha tanh(beta x) */
    VBS_CELL_HARD_SIGMOID,     /* alpha x + beta, within 0 and 1 */
    VBS_CELL_ELU,              /* x, below 0 alpha (e^x - 1) */
    VBS_CELL_SOFTSIGN,
    VBS_CELL_SOFTPLUS
};
/* One of them. A plain value: copy it freely. */
struct vbs_cell_function {
    enum vbs_cell_kind kind;
    double alpha, beta;
};

#define VBS_CELL_FUNCTIONS 3

/* The function of an rnn. */
enum vbs_rnn_function { VBS_RNN_TANH, VBS_RNN_RELU, VBS_RNN_SIGMOID };

/* The windows of a convolution or a pool, by spatial dimension: [D, H, W] of 3-D, [H, W] of 2-D. */
struct vbs_window {
    int64_t kernel[VBS_MAX_SPATIAL];
    int64_t stride[VBS_MAX_SPATIAL];
    int64_t dilation[VBS_MAX_SPATIAL]; /* 1 = dense */
    int64_t pad_low[VBS_MAX_SPATIAL];
    /* For a pool, the number of elements by which its windows reach beyond the input, so that
     * (input + pad_low + pad_high - kernel) / stride + 1, rounded down, is the size of the output,
     * also of a pool that rounds up. */
    int64_t pad_high[VBS_MAX_SPATIAL];
};

/* The attributes of one operator. Only the member of its name or of its class has a meaning.
 * Operators that are not named here have no attributes. Arrays of VBS_MAX_DIMS are in the order of
 * all dimensions of the sample. */
union vbs_attributes {
    struct { /* conv, deconv, fc, deformconv */
        int64_t out_channels;
        bool bias;
        bool rows;                        /* fc: works on the last dimension of every row, else on
                                             the whole sample */
        int64_t groups;                   /* conv, deconv, deformconv: at least 1; fc: 0 */
        struct vbs_window window;         /* conv, deconv, deformconv */
        int64_t out_pad[VBS_MAX_SPATIAL]; /* deconv: added to the output's high side */
        /* deformconv: a conv of images [C, H, W], or [K, C, H, W], the first input, that reads each
         * element of its windows elsewhere: as many rows and columns further as the second input
         * says, [offset_groups, kH, kW, 2, H', W'] in that order and with K in front. Between
         * elements it mixes the four around, and outside of the image there are zeros. What it
         * reads is multiplied by the third input, [offset_groups, kH, kW, H', W'], where there is
         * one. Channels are divided into as many groups of neighbours. */
        int64_t offset_groups;
    } weighted;
    struct { /* maxpool, avgpool */
        struct vbs_window window;
        bool pad_counts; /* avgpool: divides by the size of the whole kernel, else by the number of
                            its elements inside the input */
    } pool;
    struct { /* x / (k + alpha / size * sum x^2)^beta, as in Caffe */
        int64_t size;
        double alpha, beta, k;
    } lrn;
    struct {            /* batchnorm, instancenorm, layernorm */
        bool affine;    /* has a gamma and a beta of its own */
        int axis;       /* layernorm: the first dimension that is normalised */
        double epsilon; /* 0: VBS_BATCHNORM_EPSILON */
    } norm;
    struct {
        bool bias; /* has a beta */
    } scale;
    struct { /* topk: the k largest, or smallest, elements along axis, the first one first; of equal
                ones that before it. positions: where they are, instead of what they are */
        int axis;
        int64_t k;
        bool smallest, positions;
    } topk;
    struct { /* pick: of the first input the elements whose positions along axis the second one has;
                those below 0 count from the end, and where there is none stands 0 */
        int axis;
    } pick;
    struct { /* take: of the first input, [B.., D.., R..], the parts [R..] at places that the second
                one has, [B.., P.., n]: each row of n numbers is a position along each of the n
                dimensions D. The output is [B.., P.., R..]. Positions below 0 count from the end,
                and a part is zeros where one of them is beyond its dimension */
        int common; /* dimensions B, which both inputs have */
    } take;
    struct { /* gridsample: of images [C, H, W], or [K, C, H, W], the first input, the values at the
                points (x, y) that the second one has, [H', W', 2] or [K, H', W', 2]; -1 and 1 are
                the borders of the image: the outer edges of its outermost elements, or
                (align_corners) their middles */
        enum vbs_resize_mode mode;
        enum vbs_grid_padding padding;
        bool align_corners;
    } grid_sample;
    struct { /* dft: the discrete Fourier transform along axis, which is not the last dimension, of
                real numbers [..., 1] or complex ones [..., 2] as [..., 2]: of the first n elements,
                or of all and zeros behind them. onesided, of real numbers: only the elements
                0 .. n / 2 of the result. inverse: with the exponent's sign changed, and divided by
                n; onesided: of the elements 0 .. n / 2 of a transform, the n real numbers,
                [..., 1] */
        int axis;
        int64_t n;
        bool inverse, onesided;
    } dft;
    struct { /* softmax, logsoftmax */
        int axis;
    } softmax;
    struct {
        int axis;
    } concat;
    struct {          /* every BINARY operator, and matmul */
        bool swapped; /* with a constant operand: the constant is the first operand */
    } binary;
    struct {           /* every REDUCE operator */
        unsigned axes; /* bit i is dimension i, which stays as 1 */
    } reduce;
    struct { /* x where x > 0, else slope x */
        double slope;
    } leaky_relu;
    struct { /* elu, celu */
        double alpha;
    } elu;
    struct {
        double alpha, gamma;
    } selu;
    struct { /* slope x + offset, within 0 and 1 */
        double slope, offset;
    } hard_sigmoid;
    struct {
        bool by_tanh; /* ONNX: approximate is "tanh" */
    } gelu;
    struct { /* thresholdedrelu: x where x > threshold, else 0 */
        double threshold;
    } thresholded_relu;
    struct { /* x + bias where x < -lambda, x - bias where x > lambda, else 0 */
        double lambda, bias;
    } shrink;
    struct {
        double low, high;
    } clip;
    struct { /* factor x + shift */
        double factor, shift;
    } linear;
    struct {
        int perm[VBS_MAX_DIMS]; /* dimension i of the output is dimension perm[i] of the input */
    } transpose;
    struct {
        /* The channels, as [groups, C / groups], are transposed: output channel i * groups + g is
         * input channel g * (C / groups) + i. */
        int64_t groups;
    } shuffle;
    struct {                         /* element i of the output is element begin + i * step */
        int64_t begin[VBS_MAX_DIMS]; /* a position of the input */
        int64_t step[VBS_MAX_DIMS];  /* not 0 */
        int64_t count[VBS_MAX_DIMS]; /* positions of the output */
    } slice;
    struct {
        /* elements that are added; below 0: elements that are cut off, which reflect and wrap do
         * not take */
        int64_t before[VBS_MAX_DIMS];
        int64_t behind[VBS_MAX_DIMS];
        enum vbs_pad_mode mode;
        double value; /* VBS_PAD_CONSTANT */
    } pad;
    struct {
        struct vbs_shape shape; /* of the output */
    } expand;
    struct {
        int axis;
        struct vbs_shape indices; /* the shape that the indices have in the output */
    } gather;
    /* rnn, gru, lstm: a sequence [T, I] becomes [T, D hidden], D = 2 for both directions, else 1.
     * The first state is 0, or input 1, [D, hidden]; an lstm has the first memory, of the same
     * shape, as input 2 then. Of both directions, element t has the state of the forward one behind
     * elements 0..t, then that of the backward one behind elements T-1..t. */
    struct {
        int64_t hidden; /* elements of the state */
        bool cells;     /* lstm: two more rows, the states of all directions behind the whole
                           sequence and the memories there: [T + 2, D hidden] */
        enum vbs_direction direction;
        bool bias;
        enum vbs_rnn_function function; /* rnn, where functions are the usual ones */
        /* gru and lstm: of the gates, of what is new, and (lstm) of the memory; rnn: the first.
         * All of these are the usual ones, or none. */
        struct vbs_cell_function functions[VBS_CELL_FUNCTIONS];
        bool peepholes;   /* lstm: gates also read the memory, the output gate the new one */
        bool reset_after; /* gru: ONNX's linear_before_reset */
    } recurrent;
    struct {
        enum vbs_resize_mode mode;
        enum vbs_resize_coordinates coordinates;
        enum vbs_resize_nearest nearest;
        bool exclude_outside;
        bool antialias; /* linear, cubic: where the scale is below 1, the kernel is as much wider */
        double cubic_a, extrapolation;
        double scale[VBS_MAX_DIMS];                            /* above 0 */
        double roi_begin[VBS_MAX_DIMS], roi_end[VBS_MAX_DIMS]; /* VBS_COORDINATES_TF_CROP */
        struct vbs_shape shape;                                /* of the output */
    } resize;
};

/* How values are stored. */
enum vbs_storage { VBS_FLOAT32, VBS_UINT8, VBS_INT8, VBS_BFLOAT16, VBS_N_STORAGES };

/* Gives the bytes of one value, and the word for it ("float32", "uint8", "int8", "bfloat16"). */
int64_t vbs_storage_bytes(enum vbs_storage storage);
const char *vbs_storage_word(enum vbs_storage storage);

/*
 * How the values of a tensor are stored. Whole numbers q of 8 bits stand for scale * (q - zero); a
 * value x is stored as the whole number that is the nearest to x / scale (the even one of two),
 * plus zero, or as the smallest or largest q where it is beyond. A bfloat16 is the nearest one. So
 * an encoding rounds the output of a layer behind its fused operators, and changes nothing else in
 * what the network computes.
 */
struct vbs_encoding {
    enum vbs_storage storage;
    float scale; /* 8 bits: finite and above 0; else 0 */
    int zero;    /* 8 bits: one of the whole numbers q; else 0 */
};

/* Gives whether a storage is whole numbers of 8 bits, and the smallest and the largest of them. */
bool vbs_storage_is_whole(enum vbs_storage storage);
int vbs_storage_low(enum vbs_storage storage);
int vbs_storage_high(enum vbs_storage storage);

bool vbs_encoding_equal(const struct vbs_encoding *a, const struct vbs_encoding *b);

/* Gives the value that x has when it has been stored and is read again. */
float vbs_encoding_round(const struct vbs_encoding *encoding, float x);

/* An operator that is fused with a layer. Immutable, as part of its network. */
struct vbs_fused {
    enum vbs_op op;
    const char *name;
    union vbs_attributes attributes;
    int64_t parameters;
};

/* A layer of a network. Immutable, as part of its network. */
struct vbs_layer {
    enum vbs_op op;
    const char *name; /* unique among the names of the network's layers and fused operators */
    int n_inputs;
    const int
        *inputs; /* [n_inputs] distinct layer ids below this one's; 0 is the network's input */
    /* [n_inputs] The shape in which the layer reads each input: it has as many elements as the
     * tensor, in the same row-major order. (Reshape, Flatten and the like become such shapes.) */
    const struct vbs_shape *views;
    /* The shape of the constant operand of a BINARY operator, a matmul, a gather or a recurrent
     * operator; n_dims is 0 where there is none. A scalar is [1]. The values are the parameter
     * VBS_PARAMETER_OPERAND. */
    struct vbs_shape operand;
    union vbs_attributes attributes;
    struct vbs_shape shape; /* of the output */
    int n_fused;
    const struct vbs_fused *fused; /* [n_fused] in the order in which they are applied */
    int64_t
        parameters; /* weights and biases, also of fused operators, without running statistics */
    int64_t macs;   /* multiply-accumulates per sample of conv, deconv, fc, matmul and recurrent
                       operators; else 0 */
    struct vbs_encoding encoding; /* of the output */
    /* Of a conv, deconv or fc, how its weights may be stored: VBS_INT8 where they are whole
     * multiples of 8 bits, by output channel, of a step (vbs_weight_steps); VBS_BFLOAT16 (conv and
     * fc): they are rounded to it. */
    enum vbs_storage weights;
    const float *weight_steps; /* [output channels] where weights is VBS_INT8; else null */
};

/* A final output of a network. Immutable, as part of its network. */
struct vbs_output {
    const char *name; /* the name in the ONNX file, else the layer's */
    int layer;
    struct vbs_shape shape; /* the file's: as many elements as the layer's output, row-major */
};

/* The numbers that the elements of an input are. In memory all of them are 32-bit floats, which
 * hold whole numbers up to VBS_MAX_WHOLE exactly. */
enum vbs_number { VBS_NUMBER_REAL, VBS_NUMBER_WHOLE, VBS_NUMBER_BOOL };

#define VBS_MAX_WHOLE (1 << 24)

/*
 * An input of a network, which is a part of its tensor 0: in each sample, the inputs lie one after
 * the other, each row-major. Immutable, as part of its network.
 */
struct vbs_input {
    const char *name; /* the name in the ONNX file, else VBS_INPUT_NAME */
    /* Of a sample. n_dims is 0 where it is a number for each sample, or a scalar of the file; it is
     * [1] where this is the only input. */
    struct vbs_shape shape;
    int64_t first; /* the element of a sample of tensor 0 with which it begins */
    enum vbs_number number;
    /* The input has no dimension of samples in the file, although others have one: all samples are
     * meant to have the same values. Each has its own copy. */
    bool shared;
    /* The least and the largest value that is given to its elements where no input is given; equal:
     * they are uniform in [-1, 1). They are the indices of the smallest table that it is an index
     * of, where it is one. */
    int64_t low, high;
    bool is_index; /* a table has rows 0..high; an index below 0 counts from the end */
    /* Of whole numbers and truth values: the least and the largest one of their type in the file,
     * within VBS_MAX_WHOLE on both sides of 0. Else 0. */
    int64_t least, most;
};

/* An input of the file that is a constant of the network, because the caller has given its value.
 * Immutable, as part of its network. */
struct vbs_fixed_input {
    const char *name;
    double value;
};

/*
 * A network. It owns everything that it points to and is freed by vbs_network_free.
 * Threads: immutable once made; threads may share it.
 */
struct vbs_network {
    const char *name;
    const char *about;      /* one line for people; may be empty */
    struct vbs_shape input; /* of tensor 0; where there are several inputs, [their elements] */
    int n_layers;
    /* [1..n_layers] are the layers. [0] stands for the network's input: its op is VBS_N_OPS, and
     * its encoding is that of the input. */
    const struct vbs_layer *layers;
    /* The tensors that no layer reads: in the order of the file where it names its outputs, else
     * ascending by layer. */
    int n_outputs;
    const struct vbs_output *outputs;
    /* From ONNX, where the network mixes values along its first dimension: the samples of a request
     * are independent tensors of the file's whole shape. False: this dimension is the batch. */
    bool whole;
    /* Of a whole network: the node that decides, as "node 'mul' (Mul) depends on the number of
     * samples"; null where the file or the caller's shapes decide. And whether the file leaves the
     * first dimension of inputs open, which is 1 in their shapes. */
    const char *whole_why;
    bool whole_open;
    const struct vbs_parameters *parameters; /* the source of values; null: all are seeded */
    /* How inputs are normalised, as the network was trained: the metadata VBS_NORMALISE_KEY of an
     * ONNX file, which vbs_normalise_parse (data.h) reads. Null: not known. */
    const char *normalise;
    /* The inputs, in the order of the file. One input is the whole tensor 0 in the same shape. Of
     * several, each that is read has a layer of kind slice that copies it out of tensor 0. */
    int n_inputs; /* at least 1 */
    const struct vbs_input *inputs;
    int n_fixed_inputs;
    const struct vbs_fixed_input *fixed_inputs;
    /* The names of the inputs of the file that no node and no output reads: they are no inputs of
     * the network, and what a caller has for them changes nothing. */
    int n_unread_inputs;
    const char *const *unread_inputs;
    /* The tensors of the file with which the caller has the network end, in their order; 0: it ends
     * with the file's outputs. */
    int n_until;
    const char *const *until;
};

#define VBS_NORMALISE_KEY "vbslab.normalise" /* "MEAN;DEVIATION" */
#define VBS_WHOLE_KEY     "vbslab.whole"     /* where `whole` is true */

/* Gives the rows of a tensor of this shape, which are the indices of dimension 1; 0 where it has
 * one dimension. */
int vbs_shape_rows(const struct vbs_shape *shape);

/* Finds the rows of input number input that the layer, with its fused operators, reads for a row of
 * its output. False: the layer may need all of the input for any row; *reach is {0}. A pool whose
 * window is all rows of its input accumulates (reach.h), and its output is read whole. The rows
 * that are named are enough, and for windows and operators on single values none is named in vain.
 * Constant time. */
bool vbs_layer_reach(const struct vbs_network *network, int layer, int input,
                     struct vbs_reach *reach);

/* Gives the bytes of one sample of the output of a layer, or (layer 0) of the network's input, as
 * its encoding stores it. */
int64_t vbs_network_out_bytes(const struct vbs_network *network, int layer);

/* Gives the bytes of one sample of all inputs of a layer together. */
int64_t vbs_network_in_bytes(const struct vbs_network *network, int layer);

/* Gives the bytes of all parameters of a layer: of its weights as they may be stored, and 4 for
 * each other one. */
int64_t vbs_network_weight_bytes(const struct vbs_network *network, int layer);

/*
 * The precision of a network: how its tensors and weights are stored.
 * fp32: in floats; what a quantised file rounds is rounded by fused operators.
 * int8: what a quantised file rounds to 8 bits is stored in 8 bits; all else in floats.
 * bf16: all tensors, and the weights of conv and fc, in bfloat16; sums are floats.
 */
enum vbs_precision { VBS_PRECISION_FP32, VBS_PRECISION_INT8, VBS_PRECISION_BF16, VBS_N_PRECISIONS };

/* Gives the word of a precision: "fp32", "int8", "bf16". */
const char *vbs_precision_word(enum vbs_precision precision);
/* Finds the precision of a word. VBS_USAGE names the words. */
enum vbs_status vbs_precision_parse(struct vbs_ctx *ctx, const char *word,
                                    enum vbs_precision *precision) VBS_MUST_CHECK;

/* Gives the length of a model's name or path without the precision behind it, which begins with a
 * colon as in "net.onnx:fp32". precision, if it is not null, is set where there is one. */
size_t vbs_model_word_length(const char *model, enum vbs_precision *precision);

/* VBS_USAGE: behind the name of a built-in network or a path that ends in .net, .onnx or .vbz
 * stands a colon and a word that is no precision, which the detail tells. */
enum vbs_status vbs_model_check_precision(struct vbs_ctx *ctx, const char *model) VBS_MUST_CHECK;

/*
 * Stores a network of precision fp32, which nobody shares yet, in another precision. int8:
 * operators that round a tensor to 8 bits (a linear one, a round, an addition of the zero point, a
 * clip to 0 to 255 or to -128 to 127, and a linear one back) become the encoding of the tensor in
 * front of them, and layers that only round go where all readers of a tensor round it alike; a ReLU
 * or clip right before them that the range implies is left out. A network without any stays as it
 * is.
 *
 * Errors: VBS_USAGE (another precision has been set), VBS_NO_MEMORY; int8: errors of
 * vbs_parameter_values, because weights are inspected. Complexity: int8: O(parameters + n^2) at
 * most; bf16: O(n).
 */
enum vbs_status vbs_network_set_precision(struct vbs_ctx *ctx, struct vbs_network *network,
                                          enum vbs_precision precision) VBS_MUST_CHECK;

/* Gives the precision that has been set; fp32 where no tensor is stored in another one. */
enum vbs_precision vbs_network_precision(const struct vbs_network *network);

/* Gives the number of built-in networks, which have the order in which 'vbslab models' lists
 * them. */
int vbs_model_count(void);
/* Gives the name of the built-in network number index, 0..vbs_model_count() - 1. */
const char *vbs_model_name(int index);
/* Gives the text of a built-in network (models/NAME.net), terminated with a zero. */
const char *vbs_model_text(int index);

/*
 * Loads a network. model is the name of a built-in network, or the path of a model text (which ends
 * in .net), of an ONNX file (.onnx), or of a network with coded weights (.vbz). Behind it may stand
 * a precision, as in "net.onnx:fp32"; without one, it is that of the file: int8 where the file is
 * quantised to 8 bits, else fp32. The network's name has the precision behind it where that is not
 * the file's. input, where it is not null, is a shape of as many dimensions that replaces the
 * model's own. *network is freed by vbs_network_free.
 *
 * Errors: VBS_NOT_FOUND (the detail suggests the nearest name), VBS_UNSUPPORTED (operators of an
 * ONNX file; all are named, each with one of its nodes), VBS_IO, VBS_FORMAT (with the file and the
 * line or the node), VBS_USAGE (the model is sound but input does not suit it, or an ONNX file
 * leaves sizes open and input is null), VBS_NO_MEMORY. Complexity: O(n log n) in the length of the
 * text, or in the number of nodes; weights are not read.
 *
 * ONNX files may have opset 1 to 24. Dimension 0 of the input is the batch if it is carried to
 * every output; input is then the shape of a sample, or has a 1 in front as the shape of one sample
 * in the file. Else (struct vbs_network's whole) input is the shape of the file, with or without
 * that dimension.
 */
enum vbs_status vbs_network_load(struct vbs_ctx *ctx, const char *model,
                                 const struct vbs_shape *input,
                                 struct vbs_network **network) VBS_MUST_CHECK;

/* What a caller decides of one input of an ONNX file. */
struct vbs_input_choice {
    /* Of an input in the file; null: the next one in the order of the file. No input has this name,
     * but the file calls dimensions of inputs so: the size of all of them, which is then the only
     * dimension of shape. */
    const char *name;
    struct vbs_shape shape; /* as of vbs_network_load; n_dims 0: the file's own */
    bool fixed;             /* it has one element, which is to be the constant `value` */
    double value;
    /* It is no input: the network ends with the tensor of this name in the file, or with what the
     * node of this name makes, in the place of the file's outputs. Several end it together; names
     * may have commas between them. */
    bool until;
};

/*
 * Loads a network of any number of inputs, as vbs_network_load does; choices may be null where n is
 * 0. Where an input of several has all dimensions of the file, it has no samples: it is the same
 * for all of them (struct vbs_input's shared), or the network is whole; but where all inputs have
 * all dimensions and a 1 in front, which the file has too or leaves open, these are the shapes of
 * one sample. The shape of an input that nothing reads changes nothing. Errors are those of
 * vbs_network_load; VBS_USAGE also for a name that no input and no dimension has, or two choices of
 * one input or dimension.
 */
enum vbs_status vbs_network_load_inputs(struct vbs_ctx *ctx, const char *model,
                                        const struct vbs_input_choice *choices, int n,
                                        struct vbs_network **network) VBS_MUST_CHECK;

/*
 * Writes the choices with which loading the same file gives this network again, as one line: the
 * shapes of the inputs with ; between them, "3x227x227" of one input; then NAME=VALUE of each input
 * that is a constant, and >NAME of each tensor with which the caller has the network end; in names,
 * characters that would disturb are %XX. The caller frees *text. VBS_NO_MEMORY.
 */
enum vbs_status vbs_network_inputs_text(struct vbs_ctx *ctx, const struct vbs_network *network,
                                        char **text) VBS_MUST_CHECK;

/* Loads a network by choices in the form of vbs_network_inputs_text; an empty text chooses nothing.
 * Errors as vbs_network_load_inputs. */
enum vbs_status vbs_network_load_by_text(struct vbs_ctx *ctx, const char *model, const char *text,
                                         struct vbs_network **network) VBS_MUST_CHECK;

/* Gives the number of the input of a name; -1: there is none. */
int vbs_network_find_input(const struct vbs_network *network, const char *name);

/* Joins the inputs of n_samples samples as tensor 0 of the network: inputs[i] are the values of
 * input i, sample after sample, or those of one sample where the input is shared; null: its seeded
 * values. tensor has room for n_samples samples of network->input. O(elements). */
void vbs_network_join_inputs(const struct vbs_network *network, int64_t n_samples,
                             const float *const *inputs, float *tensor);

/* Does as vbs_network_load_inputs, but in this precision, which must not stand behind model too;
 * the name has none behind it. VBS_USAGE also: int8, and the file is not quantised. */
enum vbs_status vbs_network_load_as(struct vbs_ctx *ctx, const char *model,
                                    const struct vbs_input_choice *choices, int n,
                                    enum vbs_precision precision,
                                    struct vbs_network **network) VBS_MUST_CHECK;

/* Fails with VBS_USAGE where a network has another precision than fp32, which what ("pruning") does
 * not take. */
enum vbs_status vbs_network_check_floats(struct vbs_ctx *ctx, const struct vbs_network *network,
                                         const char *what) VBS_MUST_CHECK;

/* Makes a network from a model text in memory, of at most VBS_MAX_MODEL_TEXT bytes. source names
 * the text in messages. Errors are those of vbs_network_load. */
enum vbs_status vbs_network_parse(struct vbs_ctx *ctx, const char *source, const char *text,
                                  size_t length, const struct vbs_shape *input,
                                  struct vbs_network **network) VBS_MUST_CHECK;

/* Writes the name of the network in the .onnx or .vbz file at path, which is the file's without
 * folder and ending, into name, and returns name. The file is not opened. */
char *vbs_network_file_name(const char *path, char name[VBS_MAX_NAME]);

/* Frees a network and all that it points to; null is allowed. */
void vbs_network_free(struct vbs_network *network);

/* Gives a hash of everything that decides time and memory: shapes, operators, attributes and edges,
 * but no names. Two networks with one hash may share measurements. */
uint64_t vbs_network_hash(const struct vbs_network *network);

/* Gives a hash of everything in a layer (1..n_layers) that decides its time and memory: operator,
 * attributes, shapes of its inputs and of its output, operators that are fused with it, coded
 * weights; but neither names nor its place in the network. */
uint64_t vbs_network_layer_hash(const struct vbs_network *network, int layer);

/*
 * Parameters. Parameters that a file does not bring are seeded: they are the same on every machine
 * and in every backend, and scaled so that activations stay finite and of order one. They depend on
 * the id and the shape of the layer, not on names.
 *
 * By channel, BatchNorm is y = gamma (x - mean) / sqrt(variance + epsilon) + beta and Scale is
 * y = gamma x + beta. A parameter that an operator does not have is given as its neutral value:
 * weights, bias, mean and beta are 0, variance and gamma are 1.
 */
#define VBS_BATCHNORM_EPSILON 1e-5

/* The parameters of operators, with their shapes. */
enum vbs_parameter {
    /* conv [O, I / groups, D, H, W], deconv [I, O / groups, D, H, W], fc [O, I]: plain, inputs as
     * C, D, H, W; rnn, gru, lstm [directions, gates hidden, I], gates as ONNX: z r h; i o f c */
    VBS_PARAMETER_WEIGHTS,
    VBS_PARAMETER_BIAS, /* [O]; rnn, gru, lstm [directions, 2, gates hidden]: of input and state */
    VBS_PARAMETER_MEAN, /* [C], as all below; layernorm: [elements of a row] */
    VBS_PARAMETER_VARIANCE,
    VBS_PARAMETER_GAMMA, /* lstm with peepholes: [directions, 3 hidden], of input, output, forget */
    VBS_PARAMETER_BETA,
    VBS_PARAMETER_OPERAND, /* of shape layer->operand; gather: whole numbers; rnn, gru, lstm:
                              weights of the state [directions, gates hidden, hidden] */
    VBS_N_PARAMETERS
};

/* Gives the number of weights of a conv, deconv or fc, and of those of a recurrent operator for its
 * input; 0 for other layers. */
int64_t vbs_weight_count(const struct vbs_network *network, int layer);

/* Finds, for each output channel of a conv, deconv or fc, a step of which all its weights are whole
 * multiples of -128 to 127, up to rounding of floats. *whole is false where there is none for some
 * channel, or the layer has no such weights. steps: [output channels], each above 0. Errors of
 * vbs_parameter_values; VBS_NO_MEMORY. Complexity: O(weights). */
enum vbs_status vbs_weight_steps(struct vbs_ctx *ctx, const struct vbs_network *network, int layer,
                                 float *steps, bool *whole) VBS_MUST_CHECK;

/* Gives the word of a parameter in messages ("weights"); never null. */
const char *vbs_parameter_word(enum vbs_parameter what);

/* Gives the number of values of a parameter of the layer's own operator (fused is below 0), or of
 * its fused operator number fused. 0: the operator has no such parameter, or there is no such
 * operator. */
int64_t vbs_parameter_count(const struct vbs_network *network, int layer, int fused,
                            enum vbs_parameter what);

/* Returns how many values of a parameter are best asked for at once by a caller who reads all of
 * them in pieces from the first one on: of coded weights at least a row of blocks, of a matrix that
 * the file has transposed as many rows as one call of the system brings of 1,024 columns, between
 * a quarter of a million and 4 million values. */
int64_t vbs_parameter_at_once(const struct vbs_network *network, int layer, int fused,
                              enum vbs_parameter what);

/* Gives the values first..first+count-1 of a parameter of the layer's own operator (fused is below
 * 0), or of its fused operator number fused. Stored values are read from their file now: VBS_IO,
 * VBS_FORMAT (a value that is not finite; the detail names it). Several threads may read at the
 * same time. Complexity: O(count). */
enum vbs_status vbs_parameter_values(struct vbs_ctx *ctx, const struct vbs_network *network,
                                     int layer, int fused, enum vbs_parameter what, int64_t first,
                                     int64_t count, float *values) VBS_MUST_CHECK;

/* New values of a parameter of the layer's own operator (fused is below 0), or of its fused
 * operator number fused. */
struct vbs_new_values {
    int layer, fused;
    enum vbs_parameter what;
    int64_t count;       /* vbs_parameter_count */
    const float *values; /* [count] in the order of the parameter's shape */
};

/*
 * Makes a copy of a network in which the parameters values[0..n-1] have other values. All other
 * parameters are read and copied too, so that the copy depends on no file and on no memory of the
 * caller; coded weights become plain ones. The copy has the hash that the network would have
 * without coded weights, and is freed by vbs_network_free. It comes neither from a text nor from
 * ONNX, so that vbs_network_write refuses it.
 *
 * Errors: VBS_USAGE (no such parameter, another count, a parameter that is given twice, a value
 * that is not finite), VBS_NO_MEMORY, VBS_INTERRUPTED; errors of vbs_parameter_values. Complexity:
 * O(parameters + n log n).
 */
enum vbs_status vbs_network_revalue(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    const struct vbs_new_values *values, int n,
                                    struct vbs_network **copy) VBS_MUST_CHECK;

/* Sets the member normalise of a network that nobody shares yet, such as a copy that has just been
 * made, to a copy of text; null: not known. VBS_NO_MEMORY. */
enum vbs_status vbs_network_set_normalise(struct vbs_ctx *ctx, struct vbs_network *network,
                                          const char *text) VBS_MUST_CHECK;

/* Gives the coded weights of a conv or fc, which the network owns, or null where its weights are
 * not coded. The matrix has a row for each output channel: conv [O][I / groups, D, H, W], fc [O][C,
 * D, H, W]. vbs_parameter_values decodes them: many rows that are asked for at once are decoded
 * once, rows that are asked for one by one are decoded once for each row of their block. */
const struct vbs_coded *vbs_network_coded(const struct vbs_network *network, int layer);

/* Gives whether the layer may be computed from this form of its coded weights: from the stored one,
 * and, where the file says that any form may be used, from all that vbs_coded_recode makes. */
bool vbs_network_may_code(const struct vbs_network *network, int layer, enum vbs_coding coding);

/* Coded weights of a layer, for vbs_network_write. */
struct vbs_layer_weights {
    int layer;
    const struct vbs_coded *coded;
    bool any_form; /* they may be coded anew in other forms when they are used */
};

/*
 * Writes a network with coded weights as a .vbz file (docs/formats.md), which is self-contained: of
 * a network from a text it has the text, of one from ONNX the bytes of its files without the
 * weights that are coded. weights[0..n-1] ascend by layer; other parameters stay as they are. The
 * file is loaded and compared before it gets its name, so that path has the old file or the
 * complete new one.
 *
 * Errors: VBS_USAGE (weights of a layer without a matrix, or of another shape), VBS_IO,
 * VBS_NO_MEMORY, VBS_INTERRUPTED; errors of reading the files of the network. Complexity: O(bytes
 * that are written and entries of the weights).
 */
enum vbs_status vbs_network_write(struct vbs_ctx *ctx, const struct vbs_network *network,
                                  const struct vbs_layer_weights *weights, int n,
                                  const char *path) VBS_MUST_CHECK;

/*
 * Writes a network as an ONNX file (docs/onnx.md), with all parameters as 32-bit floats: seeded
 * ones, coded ones and those of other files as the values that vbs_parameter_values gives. The
 * network may come from anywhere. Dimension 0 of the input and of the outputs is open ("N") where
 * samples are independent; other networks (whole) have the shapes that they have. Loading the file
 * gives the same network: operators, attributes, shapes, names and parameters. The file is written
 * whole or not at all: path has the old file or the complete new one.
 *
 * Errors: VBS_UNSUPPORTED (it would take more than 2 GiB, which no reader of protocol buffers
 * takes), VBS_FORMAT (an index of a gather that is none), VBS_IO, VBS_NO_MEMORY, VBS_INTERRUPTED;
 * errors of vbs_parameter_values. Complexity: O(bytes that are written).
 */
enum vbs_status vbs_network_export(struct vbs_ctx *ctx, const struct vbs_network *network,
                                   const char *path) VBS_MUST_CHECK;

/* Whole numbers of 8 bits that stand for floats: number q stands for (q - zero) * scale. */
struct vbs_int8_value {
    float scale; /* 0: the value stays in floats; else finite and above 0 */
    int zero;    /* within the range of the type */
};

/* Weights of 8 bits, and a bias of 32 bits: of a conv, deconv or fc, or the operand of a matmul. */
struct vbs_int8_weights {
    int layer;
    const int8_t *values; /* as many as the parameter has, in its order; none is -128 */
    /* One for all weights, or one for each output channel: dimension 0 of conv and fc, 1 of a
     * deconv of one group, the last one of a matmul's operand of two dimensions. */
    const float *scales;
    int64_t n_scales;
    const int32_t *bias; /* [out channels] in units of scale of the layer's input * scales[channel];
                            null: the bias stays in floats, or there is none */
};

/* What vbs_network_export_int8 writes in 8 bits. */
struct vbs_int8_table {
    bool is_signed; /* numbers of values are -128..127, else 0..255 */
    /* [vbs_network_operators] What the network's input and each operator makes, by
     * vbs_network_operator. */
    const struct vbs_int8_value *values;
    const struct vbs_int8_weights *weights; /* [n_weights] ascending by layer */
    int n_weights;
};

/* Gives 1 more than the number of operators of all layers, fused ones included. */
int vbs_network_operators(const struct vbs_network *network);
/* Gives the number of an operator: of the layer's own one (fused is below 0), or of its fused
 * operator number fused. The network's input (layer 0) is 0, and operators count from 1 in the
 * order of the layers. O(layer). */
int vbs_network_operator(const struct vbs_network *network, int layer, int fused);

/*
 * Writes a network as vbs_network_export does, with the values and weights of a table as whole
 * numbers: behind a value stand QuantizeLinear and DequantizeLinear, and whoever reads the value
 * reads what these make; weights and biases are stored as whole numbers, with a DequantizeLinear
 * behind them. Errors are those of vbs_network_export, and VBS_USAGE: the table has weights of a
 * layer that has none, or as many scales as it cannot have.
 */
enum vbs_status vbs_network_export_int8(struct vbs_ctx *ctx, const struct vbs_network *network,
                                        const struct vbs_int8_table *table,
                                        const char *path) VBS_MUST_CHECK;

/*
 * Makes the network that vbs_network_load makes of the file that vbs_network_export_int8 writes,
 * under the name of the network. Its values are in a file without a name in TMPDIR, else /tmp,
 * which ends with the network or the process. *int8 is freed by vbs_network_free. Errors are those
 * of vbs_network_export_int8 and vbs_network_load.
 */
enum vbs_status vbs_network_to_int8(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    const struct vbs_int8_table *table,
                                    struct vbs_network **int8) VBS_MUST_CHECK;

/* Gives the number of arrays of parameters that a file brings (the weights of a layer are one, its
 * bias is another). 0: all parameters are seeded, or there are none. */
int vbs_network_stored(const struct vbs_network *network);

/* Gives the number of parameters of all layers together, those of fused operators included. */
int64_t vbs_network_parameters(const struct vbs_network *network);

/* Gives the values first..first+count-1 that a tensor has where no input is given, sample after
 * sample in plain order: they are uniform in [-1, 1). */
void vbs_tensor_values(int tensor, int64_t first, int64_t count, float *values);

/* Gives the values first..first+count-1 of tensor 0 of a network, sample after sample, where no
 * input is given: those of vbs_tensor_values, which inputs of whole numbers have scaled to their
 * range (struct vbs_input). */
void vbs_network_input_values(const struct vbs_network *network, int64_t first, int64_t count,
                              float *values);

#ifdef __cplusplus
}
#endif
#endif
