/*
 * The networks to learn from: those of db/calibration, which are texts, and others of operators
 * that texts do not have, each of which reads the output of a convolution of one size.
 */
#include "predict/calibrate.h"

#include "base/embedded.h"
#include "base/fail.h"
#include "model/network/network.h"

#include <stdio.h>

extern const struct vbs_embedded vbs_calibration_networks[];

#define N_CONVS 2 /* that other operators read */

/* Sizes of tensors, [channels, height, width]. */
static const int64_t SIZES[][3] = {{16, 64, 64}, {48, 28, 28}, {160, 9, 9}};

#define N_SIZES ((int)(sizeof SIZES / sizeof SIZES[0]))

/* Sequences, [elements, values], and states of recurrent operators: of weights that the caches
 * nearest to the processors hold, and of weights that these do not hold. */
static const int64_t SEQUENCES[][3] = {{8, 32, 24}, {24, 128, 96}, {32, 256, 512}};

#define N_SEQUENCES ((int)(sizeof SEQUENCES / sizeof SEQUENCES[0]))

static int n_texts(void)
{
    int n = 0;

    while (vbs_calibration_networks[n].name)
        n++;
    return n;
}

int vbs_predict_n_networks(void)
{
    return n_texts() + N_SIZES + N_SEQUENCES;
}

/* ---- nodes ---- */

/* A network that is being built. */
struct calibration_net {
    struct vbs_ctx *ctx;
    struct vbs_builder *builder;
    int n_nodes;
    int64_t c, h, w; /* of most tensors */
};

static enum vbs_status add(struct calibration_net *m, struct vbs_node *node)
{
    char name[16];

    snprintf(name, sizeof name, "n%d", ++m->n_nodes);
    node->name = name;
    return vbs_builder_add(m->ctx, m->builder, node);
}

/* Adds an operator without attributes on n of the inputs 1 and 2. */
static enum vbs_status add_plain(struct calibration_net *m, enum vbs_op op, int n)
{
    static const int INPUTS[] = {1, 2};
    struct vbs_node node = {.op = op, .n_inputs = n, .inputs = INPUTS};

    return add(m, &node);
}

/* Adds an operator with attributes on input `from`. */
static enum vbs_status add_to(struct calibration_net *m, int from, enum vbs_op op,
                              union vbs_attributes attributes)
{
    struct vbs_node node = {.op = op, .n_inputs = 1, .inputs = &from, .attributes = attributes};

    return add(m, &node);
}

static enum vbs_status add_with(struct calibration_net *m, enum vbs_op op,
                                union vbs_attributes attributes)
{
    return add_to(m, 1, op, attributes);
}

static struct vbs_window square(int64_t kernel, int64_t stride, int64_t pad)
{
    return (struct vbs_window){.kernel = {kernel, kernel},
                               .stride = {stride, stride},
                               .dilation = {1, 1},
                               .pad_low = {pad, pad},
                               .pad_high = {pad, pad}};
}

/* Returns the attributes of a convolution, or of a transposed one, with a bias. */
static union vbs_attributes conv_of(int64_t out_channels, int64_t groups, struct vbs_window window)
{
    return (union vbs_attributes){
        .weighted = {
            .out_channels = out_channels, .groups = groups, .bias = true, .window = window}};
}

static enum vbs_status add_convs(struct calibration_net *m)
{
    for (int i = 0; i < N_CONVS; i++)
        VBS_TRY(add_to(m, 0, VBS_OP_CONV, conv_of(m->c, 1, square(1, 1, 0))));
    return VBS_OK;
}

/* ---- operators ---- */

static enum vbs_status add_values(struct calibration_net *m)
{
    static const enum vbs_op UNARY[] = {VBS_OP_SIGMOID, VBS_OP_HARD_SWISH, VBS_OP_GELU,
                                        VBS_OP_EXP,     VBS_OP_SQRT,       VBS_OP_IDENTITY};
    static const enum vbs_op BINARY[] = {VBS_OP_MUL, VBS_OP_SUB, VBS_OP_DIV, VBS_OP_MAX};
    struct vbs_node slope = {.op = VBS_OP_PRELU,
                             .n_inputs = 1,
                             .inputs = (const int[]){1},
                             .operand = {3, {m->c, 1, 1}}};

    for (size_t i = 0; i < sizeof UNARY / sizeof UNARY[0]; i++)
        VBS_TRY(add_plain(m, UNARY[i], 1));
    for (size_t i = 0; i < sizeof BINARY / sizeof BINARY[0]; i++)
        VBS_TRY(add_plain(m, BINARY[i], 2));
    VBS_TRY(add(m, &slope));
    return add_with(m, VBS_OP_REDUCE_MAX, (union vbs_attributes){.reduce.axes = 1});
}

/* Adds a gate for each channel, which two small convolutions make of the mean of the channels. */
static enum vbs_status add_gate(struct calibration_net *m)
{
    const union vbs_attributes half = {.hard_sigmoid = {.slope = 0.2, .offset = 0.5}}, none = {0};
    const struct vbs_window point = square(1, 1, 0);
    int gated[2] = {1};
    struct vbs_node product = {.op = VBS_OP_MUL, .n_inputs = 2, .inputs = gated};

    VBS_TRY(add_with(m, VBS_OP_REDUCE_MEAN, (union vbs_attributes){.reduce.axes = 6}));
    VBS_TRY(add_to(m, m->n_nodes, VBS_OP_CONV, conv_of(m->c / 4 + 2, 1, point)));
    VBS_TRY(add_to(m, m->n_nodes, VBS_OP_RELU, none));
    VBS_TRY(add_to(m, m->n_nodes, VBS_OP_CONV, conv_of(m->c, 1, point)));
    VBS_TRY(add_to(m, m->n_nodes, VBS_OP_HARD_SIGMOID, half));
    gated[1] = m->n_nodes;
    return add(m, &product);
}

static enum vbs_status add_norms(struct calibration_net *m)
{
    const union vbs_attributes rows = {.norm.axis = 2}, last = {.softmax.axis = 2};

    VBS_TRY(add_plain(m, VBS_OP_BATCHNORM, 1));
    VBS_TRY(add_plain(m, VBS_OP_INSTANCE_NORM, 1));
    VBS_TRY(add_with(m, VBS_OP_LAYER_NORM, rows));
    return add_with(m, VBS_OP_SOFTMAX, last);
}

static union vbs_attributes enlarged(const struct calibration_net *m, enum vbs_resize_mode mode)
{
    return (union vbs_attributes){.resize = {.mode = mode,
                                             .coordinates = mode == VBS_RESIZE_NEAREST
                                                                ? VBS_COORDINATES_ASYMMETRIC
                                                                : VBS_COORDINATES_HALF_PIXEL,
                                             .nearest = VBS_NEAREST_FLOOR,
                                             .scale = {1, 2, 2},
                                             .shape = {3, {m->c, 2 * m->h, 2 * m->w}}}};
}

static enum vbs_status add_moves(struct calibration_net *m)
{
    const union vbs_attributes last = {.transpose.perm = {1, 2, 0}}, pairs = {.shuffle.groups = 2},
                               half = {.slice = {.step = {1, 1, 1},
                                                 .count = {m->c / 2, m->h, m->w}}},
                               border = {.pad = {.before = {0, 1, 1}, .behind = {0, 1, 1}}};

    VBS_TRY(add_with(m, VBS_OP_TRANSPOSE, last));
    VBS_TRY(add_with(m, VBS_OP_SHUFFLE, pairs));
    VBS_TRY(add_with(m, VBS_OP_SLICE, half));
    VBS_TRY(add_with(m, VBS_OP_PAD, border));
    VBS_TRY(add_with(m, VBS_OP_RESIZE, enlarged(m, VBS_RESIZE_NEAREST)));
    return add_with(m, VBS_OP_RESIZE, enlarged(m, VBS_RESIZE_LINEAR));
}

/* Adds transposed convolutions with windows side by side and with ones that overlap, to many
 * channels and to one. Each has a ReLU: what fusing it costs differs between algorithms. */
static enum vbs_status add_transposed(struct calibration_net *m)
{
    for (int i = 0; i < 4; i++) {
        int64_t channels = i % 2 ? 1 : m->c / 2;
        struct vbs_window window = i < 2 ? square(2, 2, 0) : square(4, 2, 1);

        VBS_TRY(add_with(m, VBS_OP_CONV_TRANSPOSE, conv_of(channels, 1, window)));
        VBS_TRY(add_to(m, m->n_nodes, VBS_OP_RELU, (union vbs_attributes){0}));
    }
    return VBS_OK;
}

/* Adds products of computed matrices, and of one with a constant. */
static enum vbs_status add_products(struct calibration_net *m)
{
    const struct vbs_shape views[] = {{2, {m->c, m->h * m->w}}, {2, {m->h * m->w, m->c}}};
    struct vbs_node both = {
        .op = VBS_OP_MATMUL, .n_inputs = 2, .inputs = (const int[]){1, 2}, .views = views};
    struct vbs_node constant = {.op = VBS_OP_MATMUL,
                                .n_inputs = 1,
                                .inputs = (const int[]){1},
                                .views = &views[1],
                                .operand = {2, {m->c, 2 * m->c}}};
    struct vbs_node rows = {
        .op = VBS_OP_FC,
        .n_inputs = 1,
        .inputs = (const int[]){1},
        .views = &views[1],
        .attributes.weighted = {.out_channels = 2 * m->c, .bias = true, .rows = true}};

    VBS_TRY(add(m, &both));
    VBS_TRY(add(m, &constant));
    return add(m, &rows);
}

/* Adds convolutions of numbers of channels that fill no vector: of points, depthwise, dense. */
static enum vbs_status add_odd(struct calibration_net *m)
{
    const int64_t odd = m->c + 2;

    VBS_TRY(add_with(m, VBS_OP_CONV, conv_of(odd, 1, square(1, 1, 0))));
    VBS_TRY(add_to(m, m->n_nodes, VBS_OP_CONV, conv_of(odd, odd, square(3, 1, 1))));
    return add_to(m, m->n_nodes, VBS_OP_CONV, conv_of(odd, 1, square(3, 1, 1)));
}

/* ---- networks ---- */

static enum vbs_status add_all(struct calibration_net *m)
{
    VBS_TRY(add_convs(m));
    VBS_TRY(add_values(m));
    VBS_TRY(add_gate(m));
    VBS_TRY(add_norms(m));
    VBS_TRY(add_moves(m));
    VBS_TRY(add_transposed(m));
    VBS_TRY(add_products(m));
    return add_odd(m);
}

static enum vbs_status add_recurrent(struct calibration_net *m, int64_t hidden)
{
    static const enum vbs_op OPS[] = {VBS_OP_RNN, VBS_OP_GRU, VBS_OP_LSTM};

    for (size_t i = 0; i < sizeof OPS / sizeof OPS[0]; i++)
        for (int directions = 1; directions <= 2; directions++) {
            struct vbs_node node = {
                .op = OPS[i],
                .n_inputs = 1,
                .inputs = (const int[]){0},
                .operand = {3, {directions, vbs_op_gates(OPS[i]) * hidden, hidden}},
                .attributes.recurrent = {.hidden = hidden,
                                         .bias = true,
                                         .direction =
                                             directions == 2 ? VBS_BOTH_WAYS : VBS_FORWARD}};

            VBS_TRY(add(m, &node));
        }
    return VBS_OK;
}

static struct vbs_window stretch(int64_t kernel, int64_t stride, int64_t dilation)
{
    int64_t pad = dilation * (kernel - 1) / 2;

    return (struct vbs_window){.kernel = {kernel},
                               .stride = {stride},
                               .dilation = {dilation},
                               .pad_low = {pad},
                               .pad_high = {pad}};
}

/* Adds convolutions along one dimension: dense, with windows apart, with steps, depthwise, of
 * points. */
static enum vbs_status add_stretches(struct calibration_net *m)
{
    const int64_t c = m->c;

    VBS_TRY(add_to(m, 0, VBS_OP_CONV, conv_of(c, 1, stretch(3, 1, 1))));
    VBS_TRY(add_to(m, m->n_nodes, VBS_OP_RELU, (union vbs_attributes){0}));
    VBS_TRY(add_to(m, m->n_nodes, VBS_OP_CONV, conv_of(2 * c, 1, stretch(5, 1, 4))));
    VBS_TRY(add_to(m, m->n_nodes, VBS_OP_CONV, conv_of(2 * c, 2 * c, stretch(3, 1, 1))));
    VBS_TRY(add_to(m, m->n_nodes, VBS_OP_CONV, conv_of(c, 1, stretch(1, 1, 1))));
    return add_to(m, m->n_nodes, VBS_OP_CONV, conv_of(2 * c, 1, stretch(7, 2, 1)));
}

static enum vbs_status add_sequences(struct calibration_net *m, int64_t hidden)
{
    VBS_TRY(add_recurrent(m, hidden));
    return add_stretches(m);
}

static enum vbs_status build(struct vbs_ctx *ctx, int which, struct vbs_network **network)
{
    const int64_t *size = which < N_SIZES ? SIZES[which] : SEQUENCES[which - N_SIZES];
    const struct vbs_shape input = {which < N_SIZES ? 3 : 2, {size[0], size[1], size[2]}};
    struct calibration_net m = {.ctx = ctx, .c = size[0], .h = size[1], .w = size[2]};
    char name[32];
    int line;
    enum vbs_status status;

    snprintf(name, sizeof name, "operators-%d", which + 1);
    status = vbs_builder_new(ctx, name, "operators to learn kernel times from", &input, &m.builder);
    if (status == VBS_OK)
        status = which < N_SIZES ? add_all(&m) : add_sequences(&m, size[2]);
    if (status == VBS_OK)
        status = vbs_builder_finish(ctx, m.builder, network, &line);
    vbs_builder_free(m.builder);
    return status;
}

enum vbs_status vbs_predict_network(struct vbs_ctx *ctx, int which, struct vbs_network **network)
{
    const struct vbs_embedded *text;

    if (which >= n_texts())
        return build(ctx, which - n_texts(), network);
    text = &vbs_calibration_networks[which];
    return vbs_network_parse(ctx, text->name, text->text, text->length, NULL, network);
}
