#include "model/network/cut.h"

#include "base/arena.h"
#include "base/fail.h"
#include "model/network/copy.h"
#include "model/network/view.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_VALUES ((int64_t)1 << 22) /* values of which rows are taken at once */

/* The positions along one dimension of a tensor, or of a view of it, that stay. */
struct kept_positions {
    int axis;
    int64_t n, n_kept;
    const bool *keep; /* [n]; null: all stay */
};

/* A copy that is being made, and what the layer that is being added loses. */
struct cutting {
    struct vbs_ctx *ctx;
    const struct vbs_network *network;
    const struct vbs_cut *cuts;
    bool seeded;
    struct vbs_arena arena; /* of the layer */
    int layer;
    struct kept_positions *in;  /* [n_inputs] of its views */
    struct kept_positions flat; /* of input 0 as a vector */
    struct kept_positions out;
};

static enum vbs_status refuse(const struct cutting *c, const char *what)
{
    return vbs_fail(c->ctx, VBS_USAGE, "layer %d '%.100s': %s", c->layer,
                    c->network->layers[c->layer].name, what);
}

/* ---- what stays ---- */

static int64_t count_kept(const bool *keep, int64_t n)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < n; i++)
        kept += keep[i];
    return kept;
}

/* Gives what stays of a tensor. */
static struct kept_positions kept_of(const struct cutting *c, int layer)
{
    const struct vbs_cut *cut = &c->cuts[layer];
    struct kept_positions kept = {.keep = layer > 0 ? cut->keep : NULL,
                                  .axis = layer > 0 ? cut->axis : 0};

    if (kept.keep) {
        kept.n = c->network->layers[layer].shape.dim[kept.axis];
        kept.n_kept = count_kept(kept.keep, kept.n);
    }
    if (kept.n_kept == kept.n)
        kept.keep = NULL;
    return kept;
}

/* Gives what stays of a view of a tensor. VBS_USAGE: what is gone does not lie along one of its
 * dimensions. */
static enum vbs_status keep_view(struct cutting *c, int input, const struct vbs_shape *view,
                                 struct kept_positions *kept)
{
    struct kept_positions from = kept_of(c, input);
    struct vbs_view_axis a;
    bool *keep;

    *kept = (struct kept_positions){.axis = 0};
    if (!from.keep)
        return VBS_OK;
    if (!vbs_view_find(&c->network->layers[input].shape, from.axis, view, &a))
        return refuse(c, "its view of an input mixes channels that are removed with others");
    keep = vbs_arena_alloc(&c->arena, (size_t)a.extent, sizeof *keep);
    if (!keep)
        return vbs_no_memory(c->ctx);
    for (int64_t i = 0; i < a.extent; i++)
        keep[i] = from.keep[vbs_view_position(&a, i)];
    for (int64_t p = 0; p < from.n; p++)
        if (from.keep[p] != from.keep[vbs_view_position(&a, vbs_view_index(&a, p))])
            return refuse(c, "its view of an input mixes channels that are removed with others");
    *kept = (struct kept_positions){
        .axis = a.axis, .n = a.extent, .n_kept = count_kept(keep, a.extent), .keep = keep};
    return VBS_OK;
}

/* Counts what stays of positions first..first+n-1. */
static int64_t kept_within(const struct kept_positions *kept, int64_t first, int64_t n)
{
    return kept->keep ? count_kept(kept->keep + first, n) : n;
}

/* Gives whether the same positions of each of `groups` equal ranges stay. */
static bool alike_in_groups(const struct kept_positions *kept, int64_t groups)
{
    int64_t each = kept->n / groups;

    for (int64_t i = 0; kept->keep && i < kept->n; i++)
        if (kept->keep[i] != kept->keep[i % each])
            return false;
    return true;
}

/* Gives whether each of `groups` equal ranges stays whole or goes whole. */
static bool whole_groups(const struct kept_positions *kept, int64_t groups)
{
    int64_t each = kept->n / groups;

    for (int64_t i = 0; kept->keep && i < kept->n; i++)
        if (kept->keep[i] != kept->keep[i / each * each])
            return false;
    return kept->keep;
}

/* ---- attributes ---- */

static enum vbs_status cut_groups(const struct cutting *c, struct vbs_node *node)
{
    int64_t groups = node->attributes.weighted.groups;
    const struct kept_positions *in = &c->in[0], *out = &c->out;

    if (groups <= 1 || (alike_in_groups(in, groups) && alike_in_groups(out, groups)))
        return VBS_OK;
    if (!whole_groups(in, groups) || !whole_groups(out, groups))
        return refuse(c, "its groups would have different numbers of channels");
    for (int64_t g = 0; g < groups; g++)
        if (in->keep[g * (in->n / groups)] != out->keep[g * (out->n / groups)])
            return refuse(c, "a group would have inputs and no outputs");
    node->attributes.weighted.groups = in->n_kept / (in->n / groups);
    return VBS_OK;
}

static enum vbs_status cut_conv(const struct cutting *c, struct vbs_node *node)
{
    if ((c->in[0].keep && c->in[0].axis != 0) || (c->out.keep && c->out.axis != 0))
        return refuse(c, "it slides over what is removed");
    if (c->out.keep)
        node->attributes.weighted.out_channels = c->out.n_kept;
    return cut_groups(c, node);
}

static enum vbs_status cut_fc(struct cutting *c, struct vbs_node *node)
{
    const struct vbs_layer *l = &c->network->layers[c->layer];
    const struct vbs_shape *view = &l->views[0];
    const struct vbs_shape vector = {1, {vbs_shape_elements(view)}};

    if (c->out.keep && c->out.axis != l->shape.n_dims - 1)
        return refuse(c, "it works on every row alike, of which some are removed");
    if (c->out.keep)
        node->attributes.weighted.out_channels = c->out.n_kept;
    if (!l->attributes.weighted.rows)
        return keep_view(c, l->inputs[0], &vector, &c->flat);
    c->flat = c->in[0];
    if (c->in[0].keep && c->in[0].axis != view->n_dims - 1)
        return refuse(c, "it works on every row alike, of which some are removed");
    return VBS_OK;
}

static enum vbs_status cut_slice(const struct cutting *c, struct vbs_node *node)
{
    const struct kept_positions *in = &c->in[0];
    int64_t *begin = &node->attributes.slice.begin[in->axis];
    int64_t *count = &node->attributes.slice.count[in->axis];
    int64_t step = node->attributes.slice.step[in->axis], first = -1, n = 0;

    if (!in->keep)
        return VBS_OK;
    if (step != 1 && step != -1 && *count > 1)
        return refuse(c, "it takes channels in steps");
    for (int64_t i = 0; i < *count; i++) {
        int64_t at = *begin + i * step;

        if (in->keep[at] && first < 0)
            first = at;
        n += in->keep[at];
    }
    if (n == 0)
        return refuse(c, "nothing of what it takes would stay");
    *begin = kept_within(in, 0, first);
    *count = n;
    return VBS_OK;
}

/* Gives what padding becomes: n elements that are added at end `at` of the output, or (below 0) cut
 * off at end `from` of the input. */
static int64_t cut_padding(const struct cutting *c, int64_t n, bool behind)
{
    const struct kept_positions *in = &c->in[0], *out = &c->out;

    if (n < 0)
        return in->keep ? -kept_within(in, behind ? in->n + n : 0, -n) : n;
    return out->keep ? kept_within(out, behind ? out->n - n : 0, n) : n;
}

static enum vbs_status cut_pad(const struct cutting *c, struct vbs_node *node)
{
    int axis = c->out.keep ? c->out.axis : c->in[0].axis;
    int64_t *before = &node->attributes.pad.before[axis];
    int64_t *behind = &node->attributes.pad.behind[axis];

    if (!c->out.keep && !c->in[0].keep)
        return VBS_OK;
    if ((*before != 0 || *behind != 0) && node->attributes.pad.mode != VBS_PAD_CONSTANT)
        return refuse(c, "it repeats channels");
    *before = cut_padding(c, *before, false);
    *behind = cut_padding(c, *behind, true);
    return VBS_OK;
}

static enum vbs_status cut_shuffle(const struct cutting *c, struct vbs_node *node)
{
    const struct kept_positions *in = &c->in[0];
    int64_t groups = node->attributes.shuffle.groups;

    if (!in->keep || in->axis != 0 || alike_in_groups(in, groups))
        return VBS_OK;
    if (!whole_groups(in, groups))
        return refuse(c, "its groups would have different numbers of channels");
    node->attributes.shuffle.groups = in->n_kept / (in->n / groups);
    return VBS_OK;
}

/* Gives the dimension of an operand, aligned at the last one, that lies along dimension axis of the
 * output; -1: it has one value for all positions. */
static int operand_axis(const struct vbs_layer *l, int axis)
{
    int d = axis - (l->shape.n_dims - l->operand.n_dims);

    return l->operand.n_dims > 0 && d >= 0 && l->operand.dim[d] > 1 ? d : -1;
}

static void cut_operand(const struct cutting *c, struct vbs_node *node)
{
    int d = operand_axis(&c->network->layers[c->layer], c->out.axis);

    if (c->out.keep && d >= 0)
        node->operand.dim[d] = c->out.n_kept;
}

static enum vbs_status cut_gather(const struct cutting *c, struct vbs_node *node)
{
    const struct kept_positions *in = &c->in[0];
    struct vbs_shape *indices = &node->attributes.gather.indices;

    if (!in->keep || in->axis != node->attributes.gather.axis)
        return VBS_OK;
    if (indices->n_dims != 1)
        return refuse(c, "it takes channels by a table");
    if (c->out.keep)
        indices->dim[0] = c->out.n_kept;
    node->operand = *indices;
    return VBS_OK;
}

static enum vbs_status cut_attributes(struct cutting *c, struct vbs_node *node)
{
    struct kept_positions *in = &c->in[0], *out = &c->out;

    switch (node->op) {
    case VBS_OP_CONV:
    case VBS_OP_CONV_TRANSPOSE:
        return cut_conv(c, node);
    case VBS_OP_FC:
        return cut_fc(c, node);
    case VBS_OP_SLICE:
        return cut_slice(c, node);
    case VBS_OP_PAD:
        return cut_pad(c, node);
    case VBS_OP_SHUFFLE:
        return cut_shuffle(c, node);
    case VBS_OP_GATHER:
        return cut_gather(c, node);
    case VBS_OP_EXPAND:
        if (out->keep)
            node->attributes.expand.shape.dim[out->axis] = out->n_kept;
        return VBS_OK;
    case VBS_OP_RESIZE:
        if (out->keep)
            node->attributes.resize.shape.dim[out->axis] = out->n_kept;
        return VBS_OK;
    case VBS_OP_MATMUL:
        return in->keep || out->keep ? refuse(c, "it sums over what is removed") : VBS_OK;
    default:
        if (vbs_op_class(node->op) == VBS_CLASS_BINARY)
            cut_operand(c, node);
        return VBS_OK;
    }
}

/* Gives whether an operator computes position i of its output from positions i of its inputs, along
 * any dimension in which they are equally long. */
static bool is_by_position(enum vbs_op op)
{
    enum vbs_op_class class = vbs_op_class(op);

    return class == VBS_CLASS_UNARY || class == VBS_CLASS_BINARY || op == VBS_OP_BATCHNORM ||
           op == VBS_OP_SCALE || op == VBS_OP_LRN || op == VBS_OP_POOL_MAX ||
           op == VBS_OP_POOL_AVG || op == VBS_OP_INSTANCE_NORM;
}

/* Checks that inputs and output lose the same positions. */
static enum vbs_status check_positions(const struct cutting *c)
{
    const struct vbs_layer *l = &c->network->layers[c->layer];

    for (int i = 0; i < l->n_inputs && is_by_position(l->op); i++) {
        const struct kept_positions *in = &c->in[i], *out = &c->out;
        int missing = l->shape.n_dims - l->views[i].n_dims;
        int axis = out->keep ? out->axis : in->axis + missing;
        int64_t extent = axis < missing ? 1 : l->views[i].dim[axis - missing];
        bool same = in->keep && out->keep && in->axis + missing == out->axis && in->n == out->n &&
                    memcmp(in->keep, out->keep, (size_t)in->n * sizeof *in->keep) == 0;

        if (!same && (in->keep || (out->keep && extent > 1)))
            return refuse(c, "its output would lose other channels than its inputs");
    }
    return VBS_OK;
}

static enum vbs_status change_node(void *self, int layer, struct vbs_node *node)
{
    struct cutting *c = self;
    const struct vbs_layer *l = &c->network->layers[layer];
    struct vbs_shape *views;

    vbs_arena_clear(&c->arena);
    c->layer = layer;
    c->in = vbs_arena_alloc(&c->arena, (size_t)l->n_inputs, sizeof *c->in);
    views = vbs_arena_alloc(&c->arena, (size_t)l->n_inputs, sizeof *views);
    if (!c->in || !views)
        return vbs_no_memory(c->ctx);
    for (int i = 0; i < l->n_inputs; i++) {
        VBS_TRY(keep_view(c, l->inputs[i], &l->views[i], &c->in[i]));
        views[i] = l->views[i];
        if (c->in[i].keep)
            views[i].dim[c->in[i].axis] = c->in[i].n_kept;
    }
    node->views = views;
    c->out = kept_of(c, layer);
    if (c->out.keep && c->out.n_kept == 0)
        return refuse(c, "nothing of its output would stay");
    VBS_TRY(check_positions(c));
    return cut_attributes(c, node);
}

/* ---- values ---- */

/* A parameter as rows, of which some stay, and in each row columns, of which some stay. */
struct rows {
    int64_t n_rows, n_columns;
    const bool *keep_row;           /* row r stays where keep_row[r / repeat % period] */
    int64_t repeat, period, n_kept; /* of one period */
    /* Column j of row r stays where keep_column[r / row_group * width + j / repeat_column]. */
    const bool *keep_column;
    int64_t row_group, width, repeat_column;
    int64_t n_kept_columns;
};

static bool keeps_row(const struct rows *m, int64_t row)
{
    return !m->keep_row || m->keep_row[row / m->repeat % m->period];
}

/* The filters of a conv or fc, or of a deconv, whose rows are inputs. */
static struct rows weight_rows(const struct cutting *c, int layer)
{
    const struct vbs_layer *l = &c->network->layers[layer];
    bool transposed = l->op == VBS_OP_CONV_TRANSPOSE, fc = l->op == VBS_OP_FC;
    const struct kept_positions *in = fc ? &c->flat : &c->in[0], *out = &c->out;
    const struct kept_positions *row = transposed ? in : out, *column = transposed ? out : in;
    int64_t n_out = l->attributes.weighted.out_channels, groups = l->attributes.weighted.groups;
    struct rows m = {.n_rows = transposed ? l->views[0].dim[0] : n_out, .repeat = 1};

    m.period = m.n_rows;
    m.n_columns = vbs_weight_count(c->network, layer) / m.n_rows;
    m.keep_row = row->keep;
    m.n_kept = row->keep ? row->n_kept : m.n_rows;
    m.keep_column = column->keep;
    m.n_kept_columns = m.n_columns;
    if (column->keep) {
        groups = fc ? 1 : groups;
        m.row_group = m.n_rows / groups;
        m.width = column->n / groups;
        m.repeat_column = m.n_columns / m.width;
        /* a row that stays belongs to a group that stays */
        for (int64_t r = 0; r < m.n_rows; r++)
            if (keeps_row(&m, r)) {
                m.n_kept_columns = m.repeat_column *
                                   count_kept(m.keep_column + r / m.row_group * m.width, m.width);
                break;
            }
    }
    return m;
}

/* The values by channel, or by anything else along dimension `axis` of shape. */
static struct rows value_rows(const struct kept_positions *kept, const struct vbs_shape *shape,
                              int axis)
{
    struct rows m = {.n_rows = vbs_shape_elements(shape), .n_columns = 1, .repeat = 1};

    m.n_kept_columns = 1;
    m.n_kept = m.period = shape->dim[axis];
    if (kept->keep) {
        m.keep_row = kept->keep;
        m.n_kept = kept->n_kept;
    }
    for (int d = axis + 1; d < shape->n_dims; d++)
        m.repeat *= shape->dim[d];
    return m;
}

/* Gives the rows of a parameter of the layer that is being added. */
static struct rows rows_of(const struct cutting *c, int layer, int fused, enum vbs_parameter what)
{
    static const struct kept_positions ALL = {.keep = NULL};
    const struct vbs_layer *l = &c->network->layers[layer];
    const struct vbs_shape vector = {1, {vbs_parameter_count(c->network, layer, fused, what)}};
    const struct kept_positions *kept = &ALL;

    if (fused >= 0)
        return value_rows(c->out.keep && c->out.axis == 0 ? &c->out : &ALL, &vector, 0);
    if (vbs_op_gates(l->op) > 0) /* whose input and output stay whole */
        return value_rows(&ALL, &vector, 0);
    if (what == VBS_PARAMETER_WEIGHTS)
        return weight_rows(c, layer);
    if (what == VBS_PARAMETER_BIAS)
        return value_rows(&c->out, &vector, 0);
    if (what == VBS_PARAMETER_OPERAND && l->op == VBS_OP_GATHER) {
        bool cut = c->out.keep && c->in[0].keep && c->out.axis == l->attributes.gather.axis;

        return value_rows(cut ? &c->out : &ALL, &vector, 0);
    }
    if (what == VBS_PARAMETER_OPERAND) {
        int d = vbs_op_class(l->op) == VBS_CLASS_BINARY ? operand_axis(l, c->out.axis) : -1;

        return d >= 0 ? value_rows(&c->out, &l->operand, d) : value_rows(&ALL, &vector, 0);
    }
    if (c->in[0].keep && c->in[0].axis == 0 && l->op != VBS_OP_LAYER_NORM)
        kept = &c->in[0];
    return value_rows(kept, &vector, 0);
}

static int64_t rows_kept(const struct rows *m)
{
    return m->n_rows / m->period * m->n_kept;
}

static int64_t count_values(void *self, int layer, int fused, enum vbs_parameter what)
{
    const struct cutting *c = self;
    struct rows m;

    if (vbs_parameter_count(c->network, layer, fused, what) == 0)
        return 0;
    if (c->seeded && !(what == VBS_PARAMETER_OPERAND && fused < 0))
        return 0;
    m = rows_of(c, layer, fused, what);
    return rows_kept(&m) * m.n_kept_columns;
}

/* Copies what stays of n rows, of which the first is number `first`; gives the number of values. */
static int64_t take_rows(const struct rows *m, int64_t first, int64_t n, const float *from,
                         float *to)
{
    int64_t taken = 0;

    for (int64_t r = first; r < first + n; r++, from += m->n_columns) {
        const bool *keep = m->keep_column ? m->keep_column + r / m->row_group * m->width : NULL;

        if (!keeps_row(m, r))
            continue;
        if (!keep) {
            memcpy(to + taken, from, (size_t)m->n_columns * sizeof *to);
            taken += m->n_columns;
            continue;
        }
        for (int64_t j = 0; j < m->n_columns; j++)
            if (keep[j / m->repeat_column])
                to[taken++] = from[j];
    }
    return taken;
}

/* Makes indices of a gather those of the positions that stay. */
static void renumber(const struct cutting *c, int64_t count, float *indices)
{
    const struct kept_positions *in = &c->in[0];
    const struct vbs_layer *l = &c->network->layers[c->layer];

    if (!in->keep || in->axis != l->attributes.gather.axis)
        return;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = (int64_t)indices[i];

        if (at < 0)
            at += in->n;
        indices[i] = (float)kept_within(in, 0, at);
    }
}

static enum vbs_status copy_values(void *self, int layer, int fused, enum vbs_parameter what,
                                   int64_t count, float *values)
{
    const struct cutting *c = self;
    const struct rows m = rows_of(c, layer, fused, what);
    int64_t many = PIECE_VALUES / m.n_columns > 0 ? PIECE_VALUES / m.n_columns : 1, taken = 0;
    enum vbs_status status = VBS_OK;
    float *piece;

    if (many > m.n_rows)
        many = m.n_rows;
    piece = malloc((size_t)(many * m.n_columns) * sizeof *piece);
    if (!piece)
        return vbs_no_memory(c->ctx);
    for (int64_t r = 0; r < m.n_rows && status == VBS_OK; r += many) {
        int64_t n = m.n_rows - r < many ? m.n_rows - r : many;

        status = vbs_parameter_read(c->ctx, c->network, layer, fused, what, r * m.n_columns,
                                    n * m.n_columns, piece);
        if (status == VBS_OK)
            taken += take_rows(&m, r, n, piece, values + taken);
    }
    free(piece);
    if (status == VBS_OK && what == VBS_PARAMETER_OPERAND &&
        c->network->layers[layer].op == VBS_OP_GATHER)
        renumber(c, count, values);
    return status;
}

/* ---- the copy ---- */

static enum vbs_status check_outputs(const struct cutting *c)
{
    for (int i = 0; i < c->network->n_outputs; i++) {
        const struct vbs_output *output = &c->network->outputs[i];

        if (kept_of(c, output->layer).keep)
            return vbs_fail(c->ctx, VBS_USAGE,
                            "'%.100s' is an output of the network and stays whole", output->name);
    }
    return VBS_OK;
}

/* Checks that the tensors of the copy have the sizes that they should have. */
static enum vbs_status check_shapes(struct cutting *c, const struct vbs_network *made)
{
    for (int k = 1; k <= made->n_layers; k++) {
        struct vbs_shape shape = c->network->layers[k].shape;
        struct kept_positions kept = kept_of(c, k);

        c->layer = k;
        if (kept.keep)
            shape.dim[kept.axis] = kept.n_kept;
        if (!vbs_shape_equal(&shape, &made->layers[k].shape))
            return refuse(c, "its output would have other channels than those that stay");
    }
    return VBS_OK;
}

enum vbs_status vbs_network_cut(struct vbs_ctx *ctx, const struct vbs_network *network,
                                const struct vbs_cut *cuts, bool seeded, struct vbs_network **copy)
{
    struct cutting c = {.ctx = ctx, .network = network, .cuts = cuts, .seeded = seeded};
    const struct vbs_network_change change = {
        .self = &c, .node = change_node, .count = count_values, .values = copy_values};
    struct vbs_network *made = NULL;
    enum vbs_status status = check_outputs(&c);

    if (status == VBS_OK)
        status = vbs_network_copy(ctx, network, &change, &made);
    if (status == VBS_OK)
        status = check_shapes(&c, made);
    vbs_arena_clear(&c.arena);
    if (status == VBS_OK)
        *copy = made;
    else
        vbs_network_free(made);
    return status;
}
