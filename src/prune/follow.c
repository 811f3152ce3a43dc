/*
 * Follows channels through the operators of a network, layer by layer: which channels every tensor
 * has along which dimension, and which have to be removed together so that each operator still
 * works on what is left.
 */
#include "prune/channels.h"

#include "base/fail.h"
#include "model/network/network.h"

#include <stdlib.h>

/* The layer that is followed. */
struct step {
    struct vbs_channel_map *map;
    int layer;
    const struct vbs_layer *l;
    struct vbs_channels *in;  /* [n_inputs] the channels of its views */
    struct vbs_channels *out; /* of its output, whole at first */
};

static void fix(const struct step *s, int input, enum vbs_channel_fixed why)
{
    vbs_channels_fix(s->map, &s->in[input], why, s->layer);
}

static void fix_all(const struct step *s, enum vbs_channel_fixed why)
{
    for (int i = 0; i < s->l->n_inputs; i++)
        fix(s, i, why);
}

static void join(const struct step *s, int a, int b)
{
    vbs_channels_join(s->map, a, b, s->layer);
}

/* Gives the channels of a tensor along a dimension of a view of it. Channels that no dimension
 * tells apart have to be removed together. */
static enum vbs_status see(const struct step *s, int tensor, const struct vbs_shape *view,
                           struct vbs_channels *seen)
{
    const struct vbs_channels *from = &s->map->tensors[tensor];
    const struct vbs_shape *shape = &s->map->network->layers[tensor].shape;
    struct vbs_view_axis a;
    int *ids;

    *seen = (struct vbs_channels){.ids = NULL};
    if (!from->ids)
        return VBS_OK;
    if (!vbs_view_find(shape, from->axis, view, &a)) {
        vbs_channels_fix(s->map, from, VBS_FIXED_VIEW, s->layer);
        return VBS_OK;
    }
    *seen = (struct vbs_channels){.axis = a.axis, .n = a.extent, .ids = from->ids};
    if (a.extent == from->n && a.n_apart == from->n)
        return VBS_OK;
    VBS_TRY(vbs_channels_new(s->map, a.extent, &ids));
    for (int64_t i = 0; i < a.extent; i++)
        ids[i] = from->ids[vbs_view_position(&a, i)];
    for (int64_t p = 0; p < from->n && a.n_apart < from->n; p++)
        join(s, from->ids[p], from->ids[vbs_view_position(&a, vbs_view_index(&a, p))]);
    seen->ids = ids;
    return VBS_OK;
}

/* ---- operators with weights ---- */

/* Channels of a tensor in groups: the same position of each of `groups` ranges have to go
 * together. */
static void join_positions(const struct step *s, const struct vbs_channels *channels,
                           int64_t groups)
{
    int64_t each = channels->n / groups;

    for (int64_t i = each; channels->ids && i < channels->n; i++)
        join(s, channels->ids[i], channels->ids[i % each]);
}

/* Each of `groups` ranges goes as a whole, and with it the same range of other. */
static void join_ranges(const struct step *s, const struct vbs_channels *channels, int64_t groups,
                        const struct vbs_channels *other)
{
    int64_t each = channels->n / groups, each_other = other->n / groups;

    for (int64_t i = 0; i < channels->n; i++)
        join(s, channels->ids[i], other->ids ? other->ids[i / each * each_other] : VBS_NO_CHANNEL);
}

/* Groups stay equal where the same positions of each go, or where whole groups go with their inputs
 * and outputs. The latter is finer where groups are many and small: a depthwise convolution has
 * groups of one channel. */
static void follow_groups(const struct step *s)
{
    int64_t groups = s->l->attributes.weighted.groups;
    const struct vbs_channels *in = &s->in[0], *out = s->out;

    if (groups <= 1)
        return;
    if (groups <= s->l->views[0].dim[0] / groups) {
        join_positions(s, in, groups);
        join_positions(s, out, groups);
        return;
    }
    join_ranges(s, out, groups, in);
    if (in->ids)
        join_ranges(s, in, groups, out);
}

/* The output of a layer with weights has new channels, and the weights that read the channels of
 * its input along `axis` go with them. */
static enum vbs_status follow_weights(const struct step *s, int out_axis, int in_axis)
{
    int64_t n = s->l->shape.dim[out_axis];
    int *ids;

    if (s->in[0].ids && s->in[0].axis != in_axis) {
        fix(s, 0, VBS_FIXED_AXIS);
        s->in[0].ids = NULL;
    }
    VBS_TRY(vbs_channels_new(s->map, n, &ids));
    VBS_TRY(vbs_channels_make(s->map, s->layer, n, ids));
    *s->out = (struct vbs_channels){.axis = out_axis, .n = n, .ids = ids};
    follow_groups(s);
    return VBS_OK;
}

static enum vbs_status follow_fc(const struct step *s)
{
    const struct vbs_shape *view = &s->l->views[0];
    const struct vbs_shape vector = {1, {vbs_shape_elements(view)}};

    if (s->l->attributes.weighted.rows)
        return follow_weights(s, s->l->shape.n_dims - 1, view->n_dims - 1);
    if (s->in[0].ids)
        VBS_TRY(see(s, s->l->inputs[0], &vector, &s->in[0]));
    return follow_weights(s, 0, 0);
}

/* ---- operators that keep channels ---- */

/* The output has the channels of input 0, along the dimension `axis`. */
static void pass(const struct step *s, int axis)
{
    *s->out = s->in[0];
    s->out->axis = axis;
}

/* Passes channels on, unless they lie along a dimension that the operator mixes. */
static void pass_but(const struct step *s, bool mixed)
{
    if (!s->in[0].ids)
        return;
    if (mixed)
        fix(s, 0, VBS_FIXED_MIXED);
    else
        pass(s, s->in[0].axis);
}

/* Windows slide over all dimensions but the first. */
static void follow_windows(const struct step *s)
{
    if (s->in[0].ids && s->in[0].axis != 0)
        fix(s, 0, VBS_FIXED_AXIS);
    else
        pass_but(s, false);
}

static void follow_reduce(const struct step *s)
{
    enum vbs_op op = s->l->op;
    bool gone = s->in[0].ids && s->l->attributes.reduce.axes >> s->in[0].axis & 1;
    bool sum = op == VBS_OP_REDUCE_SUM || op == VBS_OP_REDUCE_L1 || op == VBS_OP_REDUCE_L2 ||
               op == VBS_OP_REDUCE_SUM_SQUARE;

    /* a channel of zeros adds nothing to a sum, which ends the channels */
    if (!gone || !sum)
        pass_but(s, gone);
}

/* ---- operators with several inputs ---- */

/* Gives the dimension of the output along which input i has its channels; -1: it stays whole. */
static int out_axis(const struct step *s, int i)
{
    return s->in[i].ids ? s->in[i].axis + s->l->shape.n_dims - s->l->views[i].n_dims : -1;
}

/* Gives the extent of input i along a dimension of the output, with which it is aligned at the last
 * dimension. */
static int64_t extent_along(const struct step *s, int i, int axis)
{
    int d = axis - (s->l->shape.n_dims - s->l->views[i].n_dims);

    return d < 0 ? 1 : s->l->views[i].dim[d];
}

/* Operators that combine values at one position, with broadcasting: all inputs have to have the
 * same channels, but one that is the same for all channels. */
static void follow_values(const struct step *s)
{
    int axis = -1, first = -1;

    for (int i = 0; i < s->l->n_inputs && axis < 0; i++)
        if (out_axis(s, i) >= 0 && s->in[i].n == s->l->shape.dim[out_axis(s, i)]) {
            axis = out_axis(s, i);
            first = i;
        }
    if (axis < 0) {
        fix_all(s, VBS_FIXED_REPEATS);
        return;
    }
    *s->out = s->in[first];
    s->out->axis = axis;
    for (int i = 0; i < s->l->n_inputs; i++) {
        bool same = out_axis(s, i) == axis && s->in[i].n == s->out->n;

        if (i == first)
            continue;
        for (int64_t p = 0; p < s->out->n && (same || extent_along(s, i, axis) > 1); p++)
            join(s, s->out->ids[p], same ? s->in[i].ids[p] : VBS_NO_CHANNEL);
        if (!same)
            fix(s, i, VBS_FIXED_OTHER);
    }
}

/* Gives the dimension along which all inputs that do not stay whole have their channels; -1: they
 * have them along different ones, or all stay whole. */
static int common_axis(const struct step *s)
{
    int axis = -1;

    for (int i = 0; i < s->l->n_inputs; i++) {
        if (!s->in[i].ids)
            continue;
        if (axis >= 0 && s->in[i].axis != axis)
            return -1;
        axis = s->in[i].axis;
    }
    return axis;
}

static enum vbs_status follow_concat(const struct step *s)
{
    int joined = s->l->attributes.concat.axis, axis = common_axis(s);
    int64_t at = 0;
    int *ids;

    if (axis < 0) {
        fix_all(s, VBS_FIXED_MIXED);
        return VBS_OK;
    }
    VBS_TRY(vbs_channels_new(s->map, s->l->shape.dim[axis], &ids));
    *s->out = (struct vbs_channels){.axis = axis, .n = s->l->shape.dim[axis], .ids = ids};
    for (int i = 0; i < s->l->n_inputs; i++) {
        for (int64_t p = 0; p < s->l->views[i].dim[axis]; p++) {
            int id = s->in[i].ids ? s->in[i].ids[p] : VBS_NO_CHANNEL;

            if (axis == joined || i == 0)
                ids[at + p] = id;
            else
                join(s, ids[p], id);
        }
        at += axis == joined ? s->l->views[i].dim[axis] : 0;
    }
    return VBS_OK;
}

/* ---- operators that move values ---- */

static void follow_transpose(const struct step *s)
{
    for (int i = 0; i < s->l->shape.n_dims; i++)
        if (s->in[0].ids && s->l->attributes.transpose.perm[i] == s->in[0].axis)
            pass(s, i);
}

static enum vbs_status follow_shuffle(const struct step *s)
{
    int64_t groups = s->l->attributes.shuffle.groups, n = s->in[0].n, each = n / groups;
    int *ids;

    if (!s->in[0].ids || s->in[0].axis != 0) {
        pass_but(s, false);
        return VBS_OK;
    }
    if (groups <= each)
        join_positions(s, &s->in[0], groups);
    else
        for (int64_t i = 0; i < n; i++)
            join(s, s->in[0].ids[i], s->in[0].ids[i / each * each]);
    VBS_TRY(vbs_channels_new(s->map, n, &ids));
    for (int64_t i = 0; i < each; i++)
        for (int64_t g = 0; g < groups; g++)
            ids[i * groups + g] = s->in[0].ids[g * each + i];
    *s->out = (struct vbs_channels){.n = n, .ids = ids};
    return VBS_OK;
}

static enum vbs_status follow_slice(const struct step *s)
{
    int axis = s->in[0].axis;
    int64_t begin = s->l->attributes.slice.begin[axis], step = s->l->attributes.slice.step[axis];
    int64_t n = s->l->attributes.slice.count[axis];
    int *ids;

    if (!s->in[0].ids)
        return VBS_OK;
    if (step != 1 && step != -1 && n > 1) {
        fix(s, 0, VBS_FIXED_STEPS);
        return VBS_OK;
    }
    VBS_TRY(vbs_channels_new(s->map, n, &ids));
    for (int64_t i = 0; i < n; i++)
        ids[i] = s->in[0].ids[begin + i * step];
    *s->out = (struct vbs_channels){.axis = axis, .n = n, .ids = ids};
    return VBS_OK;
}

/* Padding in front of or behind channels makes channels that no weights make. */
static enum vbs_status follow_pad(const struct step *s)
{
    int axis = s->in[0].axis;
    int64_t before = s->l->attributes.pad.before[axis], behind = s->l->attributes.pad.behind[axis];
    int64_t n = s->l->shape.dim[axis], from = before < 0 ? -before : 0;
    int64_t to = before > 0 ? before : 0, stays;
    int *ids;

    if (!s->in[0].ids)
        return VBS_OK;
    if (before == 0 && behind == 0) {
        pass(s, axis);
        return VBS_OK;
    }
    if (s->l->attributes.pad.mode != VBS_PAD_CONSTANT) {
        fix(s, 0, VBS_FIXED_REPEATS);
        return VBS_OK;
    }
    stays = n - to - (behind > 0 ? behind : 0);
    VBS_TRY(vbs_channels_new(s->map, n, &ids));
    VBS_TRY(vbs_channels_make(s->map, s->layer, to, ids));
    for (int64_t i = 0; i < stays; i++)
        ids[to + i] = s->in[0].ids[from + i];
    VBS_TRY(vbs_channels_make(s->map, s->layer, n - to - stays, ids + to + stays));
    *s->out = (struct vbs_channels){.axis = axis, .n = n, .ids = ids};
    return VBS_OK;
}

/* Gives the channels in the order of the indices of a gather. */
static enum vbs_status take_channels(const struct step *s, const float *indices, int64_t n)
{
    int *ids;

    VBS_TRY(vbs_channels_new(s->map, n, &ids));
    for (int64_t i = 0; i < n; i++) {
        int64_t at = (int64_t)indices[i];

        at += at < 0 ? s->in[0].n : 0;
        if (at < 0 || at >= s->in[0].n)
            return vbs_fail(s->map->ctx, VBS_FORMAT, "'%.100s': index %lld is not among %lld",
                            s->l->name, (long long)at, (long long)s->in[0].n);
        ids[i] = s->in[0].ids[at];
    }
    *s->out = (struct vbs_channels){.axis = s->in[0].axis, .n = n, .ids = ids};
    return VBS_OK;
}

static enum vbs_status follow_gather(const struct step *s)
{
    int axis = s->l->attributes.gather.axis, n_dims = s->l->attributes.gather.indices.n_dims;
    int64_t n = vbs_shape_elements(&s->l->attributes.gather.indices);
    enum vbs_status status;
    float *indices;

    if (!s->in[0].ids)
        return VBS_OK;
    if (s->in[0].axis != axis) {
        pass(s, s->in[0].axis < axis ? s->in[0].axis : s->in[0].axis + n_dims - 1);
        return VBS_OK;
    }
    if (n_dims != 1) {
        fix(s, 0, VBS_FIXED_MIXED);
        return VBS_OK;
    }
    indices = malloc((size_t)n * sizeof *indices);
    if (!indices)
        return vbs_no_memory(s->map->ctx);
    status = vbs_parameter_values(s->map->ctx, s->map->network, s->layer, -1, VBS_PARAMETER_OPERAND,
                                  0, n, indices);
    if (status == VBS_OK)
        status = take_channels(s, indices, n);
    free(indices);
    return status;
}

/* Operators that may change the size of any dimension pass on channels whose dimension stays. */
static void follow_sizes(const struct step *s)
{
    int axis = out_axis(s, 0);

    if (axis < 0)
        return;
    if (s->in[0].n == s->l->shape.dim[axis] &&
        (s->l->op != VBS_OP_RESIZE ||
         (s->l->attributes.resize.scale[axis] == 1 &&
          s->l->attributes.resize.coordinates != VBS_COORDINATES_TF_CROP)))
        pass(s, axis);
    else
        fix(s, 0, VBS_FIXED_REPEATS);
}

/* ---- all operators ---- */

static enum vbs_status follow_move(const struct step *s)
{
    switch (s->l->op) {
    case VBS_OP_TRANSPOSE:
        follow_transpose(s);
        return VBS_OK;
    case VBS_OP_SHUFFLE:
        return follow_shuffle(s);
    case VBS_OP_SLICE:
        return follow_slice(s);
    case VBS_OP_PAD:
        return follow_pad(s);
    case VBS_OP_EXPAND:
        follow_sizes(s);
        return VBS_OK;
    case VBS_OP_GATHER:
        return follow_gather(s);
    default:
        fix_all(s, VBS_FIXED_UNKNOWN);
        return VBS_OK;
    }
}

static enum vbs_status follow_other(const struct step *s)
{
    const union vbs_attributes *a = &s->l->attributes;

    switch (s->l->op) {
    case VBS_OP_CONV:
    case VBS_OP_CONV_TRANSPOSE:
        return follow_weights(s, 0, 0);
    case VBS_OP_FC:
        return follow_fc(s);
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
        follow_windows(s);
        return VBS_OK;
    case VBS_OP_CONCAT:
        return follow_concat(s);
    case VBS_OP_LRN:
    case VBS_OP_BATCHNORM:
    case VBS_OP_SCALE:
        pass_but(s, false);
        return VBS_OK;
    case VBS_OP_SOFTMAX:
    case VBS_OP_LOGSOFTMAX:
        pass_but(s, s->in[0].axis == a->softmax.axis);
        return VBS_OK;
    case VBS_OP_INSTANCE_NORM:
        pass_but(s, s->in[0].axis != 0);
        return VBS_OK;
    case VBS_OP_LAYER_NORM:
        pass_but(s, s->in[0].axis >= a->norm.axis);
        return VBS_OK;
    case VBS_OP_RESIZE:
        follow_sizes(s);
        return VBS_OK;
    default:
        fix_all(s, VBS_FIXED_UNKNOWN);
        return VBS_OK;
    }
}

static enum vbs_status follow_operator(const struct step *s)
{
    switch (vbs_op_class(s->l->op)) {
    case VBS_CLASS_UNARY:
        pass_but(s, false);
        return VBS_OK;
    case VBS_CLASS_BINARY:
        follow_values(s);
        return VBS_OK;
    case VBS_CLASS_REDUCE:
        follow_reduce(s);
        return VBS_OK;
    case VBS_CLASS_MOVE:
        return follow_move(s);
    default:
        return follow_other(s);
    }
}

static enum vbs_status follow_layer(struct vbs_channel_map *map, int layer)
{
    const struct vbs_layer *l = &map->network->layers[layer];
    struct step s = {.map = map, .layer = layer, .l = l, .out = &map->tensors[layer]};
    enum vbs_status status = VBS_OK;

    s.in = calloc((size_t)l->n_inputs, sizeof *s.in);
    if (!s.in)
        return vbs_no_memory(map->ctx);
    for (int i = 0; i < l->n_inputs && status == VBS_OK; i++)
        status = see(&s, l->inputs[i], &l->views[i], &s.in[i]);
    if (status == VBS_OK)
        status = follow_operator(&s);
    free(s.in);
    return status;
}

enum vbs_status vbs_channels_follow(struct vbs_channel_map *map)
{
    const struct vbs_network *network = map->network;

    map->tensors =
        vbs_arena_alloc(&map->arena, (size_t)network->n_layers + 1, sizeof *map->tensors);
    if (!map->tensors)
        return vbs_no_memory(map->ctx);
    for (int k = 1; k <= network->n_layers; k++) {
        VBS_TRY(vbs_check_cancel(map->ctx));
        VBS_TRY(follow_layer(map, k));
    }
    for (int i = 0; i < network->n_outputs; i++) {
        int layer = network->outputs[i].layer;

        vbs_channels_fix(map, &map->tensors[layer], VBS_FIXED_OUTPUT, layer);
    }
    return VBS_OK;
}

void vbs_channels_clear(struct vbs_channel_map *map)
{
    vbs_arena_clear(&map->arena);
    free(map->channels);
}
