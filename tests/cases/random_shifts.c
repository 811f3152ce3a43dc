#include "cases/random_shifts.h"

#include "cases/random_profile.h"
#include "model/network/network.h"
#include "model/network/operation.h"

#include <stdio.h>

#define MAX_TENSORS  64
#define MAX_CHANNELS 24
#define MIN_ROWS     3
#define MAX_ROWS     60
#define MAX_ATTEMPTS 400

/* A network that is being made. */
struct draft_shifts {
    struct vbs_ctx *ctx;
    gsl_rng *rng;
    struct vbs_builder *builder;
    int open[MAX_TENSORS]; /* tensors that may be read */
    int n_open;
};

static const struct vbs_shape *shape_of(const struct draft_shifts *d, int tensor)
{
    return vbs_builder_shape(d->builder, tensor);
}

/* Adds an operator that reads up to two tensors; false: it fits no output of so many rows. */
static bool add(struct draft_shifts *d, struct vbs_node *node, int n_inputs, const int *inputs)
{
    const struct vbs_shape shapes[] = {*shape_of(d, inputs[0]), *shape_of(d, inputs[n_inputs - 1])};
    const struct vbs_operation operation = {
        .op = node->op, .n_inputs = n_inputs, .inputs = shapes, .operand = &node->operand};
    struct vbs_shape output;
    char name[32];

    if (vbs_operation_shape(d->ctx, &operation, &node->attributes, &output) != VBS_OK ||
        output.dim[1] < MIN_ROWS || output.dim[1] > MAX_ROWS || output.dim[0] > MAX_CHANNELS)
        return false;
    snprintf(name, sizeof name, "t%d", vbs_builder_count(d->builder) + 1);
    node->name = name;
    node->n_inputs = n_inputs;
    node->inputs = inputs;
    return vbs_builder_add(d->ctx, d->builder, node) == VBS_OK;
}

/* ---- the attributes of operators ---- */

/* Draws a window over rows. Those over columns have as many outputs as inputs. */
static void draw_window(gsl_rng *rng, int most_pad, struct vbs_window *w)
{
    *w = (struct vbs_window){.kernel = {random_int(rng, 1, 4), 3},
                             .stride = {random_int(rng, 1, 3), 1},
                             .dilation = {random_once_in(rng, 3) ? 2 : 1, 1},
                             .pad_low = {0, 1},
                             .pad_high = {0, 1}};
    if (most_pad > w->kernel[0] - 1)
        most_pad = (int)w->kernel[0] - 1;
    w->pad_low[0] = random_int(rng, 0, most_pad);
    w->pad_high[0] = random_int(rng, 0, most_pad);
}

static struct vbs_node draw_conv(gsl_rng *rng)
{
    struct vbs_node node = {.op = VBS_OP_CONV};

    node.attributes.weighted.out_channels = 4 * random_int(rng, 1, 2);
    node.attributes.weighted.groups = 1;
    node.attributes.weighted.bias = random_once_in(rng, 2);
    draw_window(rng, 3, &node.attributes.weighted.window);
    return node;
}

static struct vbs_node draw_pool(gsl_rng *rng)
{
    struct vbs_node node = {.op = random_once_in(rng, 2) ? VBS_OP_POOL_MAX : VBS_OP_POOL_AVG};

    draw_window(rng, 2, &node.attributes.pool.window);
    if (node.op == VBS_OP_POOL_AVG) {
        node.attributes.pool.window.dilation[0] = 1;
        node.attributes.pool.pad_counts = random_once_in(rng, 2);
    }
    return node;
}

/* Draws a transposed convolution, whose padding cuts rows off. */
static struct vbs_node draw_spread(gsl_rng *rng)
{
    struct vbs_node node = {.op = VBS_OP_CONV_TRANSPOSE};
    struct vbs_window *w = &node.attributes.weighted.window;

    node.attributes.weighted.out_channels = 4;
    node.attributes.weighted.groups = 1;
    node.attributes.weighted.bias = random_once_in(rng, 2);
    draw_window(rng, 0, w);
    w->pad_low[0] = random_int(rng, 0, 3);
    w->pad_high[0] = random_int(rng, 0, 3);
    return node;
}

/* Draws a Slice of rows: from some row on, in steps, and not always up to the last. */
static struct vbs_node draw_slice(gsl_rng *rng, const struct vbs_shape *shape)
{
    struct vbs_node node = {.op = VBS_OP_SLICE};
    int rows = (int)shape->dim[1], begin = random_int(rng, 0, rows / 2);
    int step = random_once_in(rng, 3) ? 2 : 1, most = (rows - begin + step - 1) / step;

    for (int i = 0; i < shape->n_dims; i++) {
        node.attributes.slice.step[i] = 1;
        node.attributes.slice.count[i] = shape->dim[i];
    }
    node.attributes.slice.begin[1] = begin;
    node.attributes.slice.step[1] = step;
    node.attributes.slice.count[1] = random_once_in(rng, 2) ? most : random_int(rng, 1, most);
    return node;
}

/* Draws a Pad that cuts rows off or adds some, in front and behind. */
static struct vbs_node draw_pad(gsl_rng *rng)
{
    struct vbs_node node = {.op = VBS_OP_PAD};

    node.attributes.pad.before[1] = random_int(rng, -4, 2);
    node.attributes.pad.behind[1] = random_int(rng, -4, 2);
    node.attributes.pad.mode = random_once_in(rng, 3) ? VBS_PAD_EDGE : VBS_PAD_CONSTANT;
    node.attributes.pad.value = 0.5;
    return node;
}

static struct vbs_node draw_resize(gsl_rng *rng, const struct vbs_shape *shape)
{
    static const enum vbs_resize_mode MODES[] = {VBS_RESIZE_NEAREST, VBS_RESIZE_LINEAR,
                                                 VBS_RESIZE_CUBIC};
    static const enum vbs_resize_coordinates COORDINATES[] = {
        VBS_COORDINATES_HALF_PIXEL, VBS_COORDINATES_ASYMMETRIC, VBS_COORDINATES_PYTORCH_HALF_PIXEL,
        VBS_COORDINATES_TF_HALF_PIXEL};
    struct vbs_node node = {.op = VBS_OP_RESIZE};
    int scale = random_int(rng, 2, 3);

    node.attributes.resize.mode = MODES[random_int(rng, 0, 2)];
    node.attributes.resize.coordinates = COORDINATES[random_int(rng, 0, 3)];
    node.attributes.resize.nearest = (enum vbs_resize_nearest)random_int(rng, 0, 3);
    node.attributes.resize.cubic_a = -0.75;
    node.attributes.resize.shape = *shape;
    node.attributes.resize.shape.dim[1] *= scale;
    for (int i = 0; i < shape->n_dims; i++)
        node.attributes.resize.scale[i] = i == 1 ? scale : 1;
    return node;
}

/* ---- networks ---- */

/* Gives a tensor of the same shape, for sums, or of the same rows and columns, for concatenations;
 * -1: there is none but the tensor itself. */
static int find_equal(const struct draft_shifts *d, int tensor, bool channels_too)
{
    const struct vbs_shape *shape = shape_of(d, tensor);

    for (int i = 0; i < d->n_open; i++) {
        const struct vbs_shape *other = shape_of(d, d->open[i]);

        if (d->open[i] != tensor && other->dim[1] == shape->dim[1] &&
            other->dim[2] == shape->dim[2] && (!channels_too || other->dim[0] == shape->dim[0]))
            return d->open[i];
    }
    return -1;
}

/* Adds a sum or a concatenation with another tensor; false: there is none that fits. */
static bool add_pair(struct draft_shifts *d, int input)
{
    bool sums = random_once_in(d->rng, 2);
    struct vbs_node node = {.op = sums ? VBS_OP_ADD : VBS_OP_CONCAT};
    int pair[] = {find_equal(d, input, sums), input};

    return pair[0] > 0 && add(d, &node, 2, pair);
}

/* Draws an operator, and adds it where it fits. */
static void try_any(struct draft_shifts *d)
{
    int last = d->open[d->n_open - 1], kind = random_int(d->rng, 0, 11);
    int input = random_once_in(d->rng, 4) ? d->open[random_int(d->rng, 0, d->n_open - 1)] : last;
    const struct vbs_shape shape = *shape_of(d, input);
    struct vbs_node node;
    bool added;

    if (kind == 0) {
        added = add_pair(d, input);
    } else {
        node = kind <= 4    ? draw_conv(d->rng)
               : kind == 5  ? draw_pool(d->rng)
               : kind == 6  ? draw_spread(d->rng)
               : kind <= 8  ? draw_slice(d->rng, &shape)
               : kind == 9  ? draw_pad(d->rng)
               : kind == 10 ? draw_resize(d->rng, &shape)
                            : (struct vbs_node){.op = VBS_OP_RELU};
        added = add(d, &node, 1, &input);
    }
    if (added && d->n_open < MAX_TENSORS)
        d->open[d->n_open++] = vbs_builder_count(d->builder);
}

/* Adds operators until there are enough, and a convolution at the end; drops those that it does not
 * depend on. */
static bool add_all(struct draft_shifts *d, int n_operators)
{
    struct vbs_node node = draw_conv(d->rng);
    const int input = 0;
    int end;

    if (!add(d, &node, 1, &input))
        return false;
    d->open[d->n_open++] = 1;
    for (int i = 0; i < MAX_ATTEMPTS && vbs_builder_count(d->builder) < n_operators; i++)
        try_any(d);
    for (bool added = false; !added;) {
        node = draw_conv(d->rng);
        added = add(d, &node, 1, &d->open[d->n_open - 1]);
    }
    end = vbs_builder_count(d->builder);
    return vbs_builder_keep(d->ctx, d->builder, &end, 1) == VBS_OK;
}

struct vbs_network *random_shifts(struct vbs_ctx *ctx, gsl_rng *rng, int n_operators)
{
    const struct vbs_shape shape = {3, {4, random_int(rng, 17, 40), random_int(rng, 9, 32)}};
    struct draft_shifts d = {.ctx = ctx, .rng = rng};
    struct vbs_network *network = NULL;
    int line;

    if (vbs_builder_new(ctx, "random", "", &shape, &d.builder) != VBS_OK)
        return NULL;
    if (!add_all(&d, n_operators) || vbs_builder_finish(ctx, d.builder, &network, &line) != VBS_OK)
        network = NULL;
    vbs_builder_free(d.builder);
    return network;
}
