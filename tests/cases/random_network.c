#include "cases/random_network.h"

#include "cases/random_profile.h"
#include "model/network/network.h"

#include <stdio.h>
#include <string.h>

#define MAX_TENSORS  96
#define MAX_CHANNELS 40

/* A network that is being made. A failure ends it: status says so, and all calls do nothing. */
struct draft_network {
    struct vbs_ctx *ctx;
    gsl_rng *rng;
    struct vbs_builder *builder;
    struct vbs_source *source;
    enum vbs_status status;
    int open[MAX_TENSORS]; /* tensors that may be read */
    int n_open;
    int n_values;
};

static const struct vbs_shape *shape_of(const struct draft_network *d, int tensor)
{
    return vbs_builder_shape(d->builder, tensor);
}

static int pick(struct draft_network *d)
{
    return d->open[random_int(d->rng, d->n_open > 4 ? d->n_open - 4 : 0, d->n_open - 1)];
}

/* Adds an operator that reads tensors; gives its number, 0 after a failure. */
static int add(struct draft_network *d, struct vbs_node *node, int n_inputs, const int *inputs)
{
    char name[32];

    if (d->status != VBS_OK)
        return 0;
    snprintf(name, sizeof name, "t%d", vbs_builder_count(d->builder) + 1);
    node->name = name;
    node->n_inputs = n_inputs;
    node->inputs = inputs;
    d->status = vbs_builder_add(d->ctx, d->builder, node);
    return d->status == VBS_OK ? vbs_builder_count(d->builder) : 0;
}

static int add_one(struct draft_network *d, struct vbs_node *node, int input)
{
    return add(d, node, 1, &input);
}

static void offer(struct draft_network *d, int tensor)
{
    if (d->status == VBS_OK && d->n_open < MAX_TENSORS)
        d->open[d->n_open++] = tensor;
}

/* Makes n values of an operand. */
static const struct vbs_values *values(struct draft_network *d, int64_t n, const float *given)
{
    struct vbs_values *made = vbs_source_alloc(d->source, 1, sizeof *made);
    float *memory = vbs_source_alloc(d->source, (size_t)n, sizeof *memory);

    if (!made || !memory) {
        d->status = VBS_NO_MEMORY;
        return NULL;
    }
    if (given)
        memcpy(memory, given, (size_t)n * sizeof *memory);
    else
        vbs_tensor_values(900 + d->n_values++, 0, n, memory);
    *made = (struct vbs_values){
        .name = "operand", .element = VBS_F32, .count = n, .memory = memory, .file = -1};
    return made;
}

static int conv(struct draft_network *d, int input, int64_t out, int64_t groups, int kernel)
{
    struct vbs_node node = {.op = VBS_OP_CONV};

    node.attributes.weighted.out_channels = out;
    node.attributes.weighted.groups = groups;
    node.attributes.weighted.bias = random_once_in(d->rng, 2);
    for (int i = 0; i < 2; i++) {
        node.attributes.weighted.window.kernel[i] = kernel;
        node.attributes.weighted.window.stride[i] = 1;
        node.attributes.weighted.window.dilation[i] = 1;
        node.attributes.weighted.window.pad_low[i] = kernel / 2;
        node.attributes.weighted.window.pad_high[i] = kernel / 2;
    }
    return add_one(d, &node, input);
}

static int deconv(struct draft_network *d, int input, int64_t out, int64_t groups)
{
    struct vbs_node node = {.op = VBS_OP_CONV_TRANSPOSE};

    node.attributes.weighted.out_channels = out;
    node.attributes.weighted.groups = groups;
    node.attributes.weighted.bias = true;
    for (int i = 0; i < 2; i++) {
        node.attributes.weighted.window.kernel[i] = 3;
        node.attributes.weighted.window.stride[i] = 1;
        node.attributes.weighted.window.dilation[i] = 1;
        node.attributes.weighted.window.pad_low[i] = 1;
        node.attributes.weighted.window.pad_high[i] = 1;
    }
    return add_one(d, &node, input);
}

static int unary(struct draft_network *d, enum vbs_op op, int input)
{
    struct vbs_node node = {.op = op};

    if (op == VBS_OP_BATCHNORM)
        node.attributes.norm.affine = random_once_in(d->rng, 2);
    if (op == VBS_OP_INSTANCE_NORM)
        node.attributes.norm.affine = true;
    if (op == VBS_OP_SCALE)
        node.attributes.scale.bias = random_once_in(d->rng, 2);
    if (op == VBS_OP_CLIP)
        node.attributes.clip.high = 6;
    if (op == VBS_OP_LRN) {
        node.attributes.lrn.size = 3;
        node.attributes.lrn.alpha = 0.5;
        node.attributes.lrn.beta = node.attributes.lrn.k = 0.75;
    }
    return add_one(d, &node, input);
}

/* ---- pieces of networks ---- */

static int any_conv(struct draft_network *d, int input)
{
    int64_t channels = shape_of(d, input)->dim[0], groups = random_int(d->rng, 1, 4);
    int64_t out = random_int(d->rng, 2, 12);

    if (random_once_in(d->rng, 3))
        return conv(d, input, channels * random_int(d->rng, 1, 2), channels, 3);
    if (channels % groups != 0)
        groups = 1;
    if (random_once_in(d->rng, 4))
        return deconv(d, input, out * groups, groups);
    return conv(d, input, out * groups, groups, random_once_in(d->rng, 2) ? 1 : 3);
}

static int residual(struct draft_network *d, int input)
{
    int64_t channels = shape_of(d, input)->dim[0];
    int branch = unary(d, VBS_OP_RELU, unary(d, VBS_OP_BATCHNORM, any_conv(d, input)));
    int pair[] = {input, conv(d, branch, channels, 1, 1)};
    static const enum vbs_op OPS[] = {VBS_OP_ADD, VBS_OP_SUB, VBS_OP_MAX, VBS_OP_MUL};
    struct vbs_node node = {.op = OPS[random_int(d->rng, 0, 3)]};

    return add(d, &node, 2, pair);
}

static int joined(struct draft_network *d, int input)
{
    int other = pick(d);
    int pair[] = {input, other != input ? other : conv(d, input, 3, 1, 1)};
    struct vbs_node node = {.op = VBS_OP_CONCAT};

    if (random_once_in(d->rng, 2))
        pair[0] = any_conv(d, input);
    return add(d, &node, 2, pair);
}

/* A part of the channels, or two parts that are added. */
static int sliced(struct draft_network *d, int input)
{
    const struct vbs_shape *shape = shape_of(d, input);
    struct vbs_node node = {.op = VBS_OP_SLICE}, sum = {.op = VBS_OP_ADD};
    int64_t half = shape->dim[0] / 2;
    int pair[2];

    if (half < 1)
        return input;
    for (int i = 0; i < shape->n_dims; i++) {
        node.attributes.slice.step[i] = 1;
        node.attributes.slice.count[i] = shape->dim[i];
    }
    node.attributes.slice.count[0] = half;
    if (random_once_in(d->rng, 4)) {
        node.attributes.slice.step[0] = -1;
        node.attributes.slice.begin[0] = half;
    }
    pair[0] = add_one(d, &node, input);
    if (random_once_in(d->rng, 2))
        return pair[0];
    node.attributes.slice.step[0] = 1;
    node.attributes.slice.begin[0] = half;
    pair[1] = add_one(d, &node, input);
    return add(d, &sum, 2, pair);
}

static int64_t divisor(struct draft_network *d, int64_t n)
{
    int64_t groups = random_int(d->rng, 2, 4);

    return n % groups == 0 ? groups : 1;
}

/* Channels in groups are transposed: by the operator, or by views of a transpose. */
static int shuffled(struct draft_network *d, int input)
{
    const struct vbs_shape shape = *shape_of(d, input);
    int64_t groups = divisor(d, shape.dim[0]);
    struct vbs_shape view = {4, {groups, shape.dim[0] / groups, shape.dim[1], shape.dim[2]}};
    struct vbs_node shuffle = {.op = VBS_OP_SHUFFLE}, transpose = {.op = VBS_OP_TRANSPOSE};
    struct vbs_node back = {.op = VBS_OP_IDENTITY};
    int moved;

    shuffle.attributes.shuffle.groups = groups;
    if (random_once_in(d->rng, 2))
        return add_one(d, &shuffle, input);
    transpose.views = &view;
    for (int i = 0; i < 4; i++)
        transpose.attributes.transpose.perm[i] = i < 2 ? 1 - i : i;
    moved = add_one(d, &transpose, input);
    back.views = &shape;
    return add_one(d, &back, moved);
}

/* Zeros behind and before the channels, and a sum with a convolution of as many channels. */
static int padded(struct draft_network *d, int input)
{
    struct vbs_node pad = {.op = VBS_OP_PAD}, sum = {.op = VBS_OP_ADD};
    int64_t before = random_int(d->rng, 0, 3), behind = random_int(d->rng, -1, 3);
    int64_t n = shape_of(d, input)->dim[0];
    int pair[2];

    if (n + behind < 1)
        behind = 0;
    pad.attributes.pad.before[0] = before;
    pad.attributes.pad.behind[0] = behind;
    pair[0] = add_one(d, &pad, input);
    pair[1] = conv(d, input, n + before + behind, 1, 1);
    return add(d, &sum, 2, pair);
}

/* A value by channel, or one for all. */
static int with_operand(struct draft_network *d, int input)
{
    static const enum vbs_op OPS[] = {VBS_OP_ADD, VBS_OP_MUL, VBS_OP_PRELU};
    const struct vbs_shape *shape = shape_of(d, input);
    struct vbs_node node = {.op = OPS[random_int(d->rng, 0, 2)]};

    node.operand = (struct vbs_shape){3, {shape->dim[0], 1, 1}};
    if (random_once_in(d->rng, 4))
        node.operand = (struct vbs_shape){2, {1, shape->dim[2]}};
    node.values[VBS_PARAMETER_OPERAND] = values(d, vbs_shape_elements(&node.operand), NULL);
    return add_one(d, &node, input);
}

/* A gate by channel (squeeze and excitation), by convolutions or by inner products. */
static int gated(struct draft_network *d, int input)
{
    const struct vbs_shape shape = *shape_of(d, input);
    const struct vbs_shape view = {3, {shape.dim[0], 1, 1}};
    struct vbs_shape views[] = {shape, view};
    struct vbs_node mean = {.op = VBS_OP_REDUCE_MEAN}, fc = {.op = VBS_OP_FC};
    struct vbs_node product = {.op = VBS_OP_MUL, .views = views};
    int pair[] = {input, 0}, gate;

    mean.attributes.reduce.axes = 6;
    fc.attributes.weighted.out_channels = shape.dim[0];
    fc.attributes.weighted.bias = true;
    gate = add_one(d, &mean, input);
    if (random_once_in(d->rng, 2))
        gate = conv(d, gate, shape.dim[0], 1, 1);
    else
        gate = add_one(d, &fc, gate);
    pair[1] = unary(d, VBS_OP_SIGMOID, gate);
    return add(d, &product, 2, pair);
}

/* Channels in another order, of which some may come twice. */
static int gathered(struct draft_network *d, int input)
{
    int64_t n = shape_of(d, input)->dim[0], count = random_int(d->rng, 1, (int)n);
    struct vbs_node node = {.op = VBS_OP_GATHER, .operand = {1, {count}}};
    float indices[MAX_CHANNELS];

    for (int64_t i = 0; i < count; i++)
        indices[i] = (float)random_int(d->rng, 0, (int)n - 1);
    node.attributes.gather.indices = node.operand;
    node.values[VBS_PARAMETER_OPERAND] = values(d, count, indices);
    return add_one(d, &node, input);
}

/* Pixels become rows, on which an inner product works, and come back. */
static int by_rows(struct draft_network *d, int input)
{
    const struct vbs_shape shape = *shape_of(d, input);
    const struct vbs_shape matrix = {2, {shape.dim[0], shape.dim[1] * shape.dim[2]}};
    struct vbs_node turn = {.op = VBS_OP_TRANSPOSE, .views = &matrix}, fc = {.op = VBS_OP_FC};
    struct vbs_node back = {.op = VBS_OP_TRANSPOSE}, same = {.op = VBS_OP_IDENTITY};
    struct vbs_shape view;
    int made;

    turn.attributes.transpose.perm[0] = back.attributes.transpose.perm[0] = 1;
    fc.attributes.weighted.rows = true;
    fc.attributes.weighted.bias = true;
    fc.attributes.weighted.out_channels = random_int(d->rng, 2, 8);
    made = add_one(d, &back, add_one(d, &fc, add_one(d, &turn, input)));
    view = (struct vbs_shape){3, {fc.attributes.weighted.out_channels, shape.dim[1], shape.dim[2]}};
    same.views = &view;
    return add_one(d, &same, made);
}

static int pooled(struct draft_network *d, int input)
{
    struct vbs_node node = {.op = random_once_in(d->rng, 2) ? VBS_OP_POOL_MAX : VBS_OP_POOL_AVG};

    for (int i = 0; i < 2; i++) {
        node.attributes.pool.window.kernel[i] = 3;
        node.attributes.pool.window.stride[i] = node.attributes.pool.window.dilation[i] = 1;
        node.attributes.pool.window.pad_low[i] = node.attributes.pool.window.pad_high[i] = 1;
    }
    return add_one(d, &node, input);
}

/* Nothing is fused with an LRN, because the reference of masked networks computes it alone. */
static int any_unary(struct draft_network *d, int input)
{
    static const enum vbs_op OPS[] = {VBS_OP_RELU,  VBS_OP_SIGMOID,       VBS_OP_CLIP,
                                      VBS_OP_SCALE, VBS_OP_BATCHNORM,     VBS_OP_LRN,
                                      VBS_OP_EXP,   VBS_OP_INSTANCE_NORM, VBS_OP_IDENTITY};
    enum vbs_op op = OPS[random_int(d->rng, 0, 8)];
    int made = unary(d, op, input);

    return op == VBS_OP_LRN ? unary(d, VBS_OP_IDENTITY, made) : made;
}

/* Ends with a sum over channels and an inner product of all that is left unread. */
static int finish(struct draft_network *d)
{
    struct vbs_node join = {.op = VBS_OP_CONCAT}, fc = {.op = VBS_OP_FC}, sum = {.op = VBS_OP_ADD};
    struct vbs_node total = {.op = VBS_OP_REDUCE_SUM};
    int unread[MAX_TENSORS * 2], n = 0, parts[2];

    for (int i = 1; d->status == VBS_OK && i <= vbs_builder_count(d->builder); i++)
        if (!vbs_builder_is_read(d->builder, i) && n < MAX_TENSORS * 2)
            unread[n++] = i;
    fc.attributes.weighted.out_channels = 16;
    total.attributes.reduce.axes = 1;
    parts[1] = add(d, &join, n, unread);
    parts[0] = add_one(d, &fc, parts[1]);
    parts[1] = add_one(d, &total, parts[1]);
    fc.attributes.weighted.bias = true;
    parts[1] = add_one(d, &fc, parts[1]);
    return add(d, &sum, 2, parts);
}

static int any_piece(struct draft_network *d, int input)
{
    int (*const pieces[])(struct draft_network *, int) = {
        any_conv, residual, joined,  sliced, shuffled,  padded,    with_operand,
        gated,    gathered, by_rows, pooled, any_unary, any_unary, any_conv};
    int n = (int)(sizeof pieces / sizeof *pieces);

    return pieces[random_int(d->rng, 0, n - 1)](d, input);
}

struct vbs_network *random_network(struct vbs_ctx *ctx, gsl_rng *rng, int n_operators)
{
    static const struct vbs_shape INPUT = {3, {3, 4, 4}};
    struct draft_network d = {.ctx = ctx, .rng = rng};
    struct vbs_network *network = NULL;
    int line;

    d.status = vbs_builder_new(ctx, "random", "", &INPUT, &d.builder);
    d.source = d.status == VBS_OK ? vbs_source_new() : NULL;
    if (!d.source)
        d.status = VBS_NO_MEMORY;
    else
        d.status = vbs_builder_source(ctx, d.builder, d.source);
    offer(&d, conv(&d, 0, random_int(rng, 4, 8), 1, 3));
    while (d.status == VBS_OK && vbs_builder_count(d.builder) < n_operators) {
        int made = any_piece(&d, pick(&d));

        /* wide tensors end in a narrow convolution */
        if (d.status == VBS_OK && shape_of(&d, made)->dim[0] > MAX_CHANNELS / 2)
            made = conv(&d, made, random_int(rng, 4, 8), 1, 1);
        offer(&d, made);
    }
    finish(&d);
    if (d.status == VBS_OK && vbs_builder_finish(ctx, d.builder, &network, &line) != VBS_OK)
        network = NULL;
    vbs_builder_free(d.builder);
    return network;
}
