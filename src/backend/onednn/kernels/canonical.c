/*
 * Chooses the tensors whose canonical layout has blocks of channels. The choice is made for the
 * whole network before anything is built. Convolutions work best on blocks. Other operators work on
 * either layout, except those that work along the channels or in other shapes, whose inputs and
 * outputs are plain.
 *
 * In sessions with stripes, tensors have the channels last instead, unless an operator that reads
 * or writes them works on neither this layout nor rows.
 */
#include "backend/onednn/kernels/layout.h"

#include "base/fail.h"
#include "model/network/network.h"

/* Gives whether a resize leaves the channels alone. tf_half_pixel_for_nn reads every dimension half
 * a position aside, where only these nearest positions are the same. */
static bool keeps_channels(const struct vbs_layer *l)
{
    const union vbs_attributes *a = &l->attributes;
    bool same = a->resize.mode == VBS_RESIZE_NEAREST &&
                (a->resize.nearest == VBS_NEAREST_FLOOR ||
                 a->resize.nearest == VBS_NEAREST_ROUND_PREFER_FLOOR);

    if (a->resize.coordinates == VBS_COORDINATES_TF_HALF_PIXEL && !same)
        return false;
    return a->resize.coordinates != VBS_COORDINATES_TF_CROP && a->resize.scale[0] == 1 &&
           a->resize.shape.dim[0] == l->views[0].dim[0];
}

/* Gives whether the operator has a kernel that reads and writes blocks. */
static bool works_on_blocks(const struct vbs_layer *l)
{
    const union vbs_attributes *a = &l->attributes;

    switch (l->op) {
    case VBS_OP_FC:
    case VBS_OP_MATMUL:
    case VBS_OP_LAYER_NORM:
    case VBS_OP_GATHER:
    case VBS_OP_EMBED:
    case VBS_OP_TOPK:
    case VBS_OP_PICK:
    case VBS_OP_TAKE:
    case VBS_OP_GRID_SAMPLE:
    case VBS_OP_DEFORM_CONV:
    case VBS_OP_DFT:
    case VBS_OP_RNN:
    case VBS_OP_GRU:
    case VBS_OP_LSTM:
        return false;
    case VBS_OP_SOFTMAX:
    case VBS_OP_LOGSOFTMAX:
        return a->softmax.axis == 0;
    case VBS_OP_RESIZE:
        return keeps_channels(l);
    case VBS_OP_PAD:
        return a->pad.before[0] == 0 && a->pad.behind[0] == 0;
    case VBS_OP_EXPAND:
        return l->views[0].n_dims == l->shape.n_dims;
    default:
        return vbs_op_class(l->op) != VBS_CLASS_REDUCE || !(a->reduce.axes & 1);
    }
}

/* Gives whether the layer's output may be in blocks without a transposition's own reason. */
static bool writes_blocks(const struct vbs_layer *l)
{
    return l->op != VBS_OP_TRANSPOSE && works_on_blocks(l);
}

/* Gives whether a layer reads whole samples: a fully connected layer packs its weights in the order
 * of its input. */
static bool reads_whole(const struct vbs_layer *l)
{
    return l->op == VBS_OP_FC && !l->attributes.weighted.rows;
}

/* Notes of each layer whether it is a transposition that only convolutions read. These write blocks
 * and read plain tensors; other transpositions may read blocks and write plain tensors. */
static void note_turned(const struct vbs_network *network, int block, bool *turned)
{
    for (int k = 1; k <= network->n_layers; k++)
        turned[k] = network->layers[k].op == VBS_OP_TRANSPOSE &&
                    od_can_be_blocked(block, &network->layers[k].shape) &&
                    network->layers[k].shape.n_dims > 1;
    for (int i = 0; i < network->n_outputs; i++)
        turned[network->outputs[i].layer] = false;
    for (int k = 1; k <= network->n_layers; k++)
        for (int i = 0; i < network->layers[k].n_inputs; i++) {
            const struct vbs_layer *l = &network->layers[k];
            const struct vbs_layer *read = &network->layers[l->inputs[i]];

            if (l->op != VBS_OP_CONV || !vbs_shape_equal(&read->shape, &l->views[i]))
                turned[l->inputs[i]] = false;
        }
}

static bool reads_blocks(const struct vbs_network *network, const struct vbs_layer *l, int input)
{
    const struct vbs_shape *own = &network->layers[l->inputs[input]].shape;

    if (reads_whole(l))
        return true;
    return works_on_blocks(l) && vbs_shape_equal(own, &l->views[input]) &&
           own->n_dims == l->shape.n_dims;
}

/* Gives whether a layer without a preference should be plain: some input is plain that could be in
 * blocks, and none is in blocks. */
static bool inputs_are_plain(const struct od_build *b, const struct vbs_layer *l,
                             const enum od_layout *layouts)
{
    bool held = false;

    if (l->op == VBS_OP_CONV || l->op == VBS_OP_CONV_TRANSPOSE)
        return false;
    for (int i = 0; i < l->n_inputs; i++) {
        int tensor = l->inputs[i];

        if (layouts[tensor] == OD_BLOCKED)
            return false;
        held |= od_can_be_blocked(b->session->block, &b->network->layers[tensor].shape);
    }
    return held;
}

/* Gives whether both layouts are the same bytes: there is one position, and whole blocks of
 * channels. */
static bool is_same_either_way(int block, const struct vbs_shape *shape)
{
    return vbs_shape_elements(shape) == shape->dim[0] && shape->dim[0] % block == 0;
}

/* ---- channels last ---- */

/* Gives whether the operator has kernels that read and write tensors with the channels last. */
static bool works_on_last(const struct vbs_layer *l)
{
    const union vbs_attributes *a = &l->attributes;

    switch (l->op) {
    case VBS_OP_CONV:
    case VBS_OP_CONV_TRANSPOSE:
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
    case VBS_OP_LRN:
    case VBS_OP_BATCHNORM:
    case VBS_OP_SCALE:
    case VBS_OP_DROPOUT:
    case VBS_OP_IDENTITY:
    case VBS_OP_SHUFFLE:
    case VBS_OP_SLICE:
    case VBS_OP_PAD:
        return true;
    case VBS_OP_CONCAT:
        return a->concat.axis == 0;
    case VBS_OP_RESIZE:
        return keeps_channels(l);
    case VBS_OP_SOFTMAX:
    case VBS_OP_LOGSOFTMAX:
        return a->softmax.axis == 0;
    default:
        break;
    }
    if (vbs_op_class(l->op) == VBS_CLASS_BINARY) {
        for (int i = 0; i < l->n_inputs; i++)
            if (l->views[i].n_dims != l->shape.n_dims)
                return false;
        return true;
    }
    return vbs_op_class(l->op) == VBS_CLASS_UNARY;
}

/* Gives whether a layer reads this input with the channels last. */
static bool reads_last(const struct vbs_network *network, const struct vbs_layer *l, int input)
{
    bool same = vbs_shape_equal(&network->layers[l->inputs[input]].shape, &l->views[input]);

    if (reads_whole(l))
        return true;
    if (l->op == VBS_OP_REDUCE_MEAN || l->op == VBS_OP_REDUCE_MAX)
        return same && vbs_shape_elements(&l->shape) == l->views[input].dim[0] &&
               !(l->attributes.reduce.axes & 1);
    return same && works_on_last(l);
}

/* Takes the channels last from a Concat's tensors unless all have them; *changed: it did. */
static void agree_on_last(const struct vbs_layer *l, int k, bool *last, bool *changed)
{
    bool all = last[k];

    for (int i = 0; i < l->n_inputs; i++)
        all &= last[l->inputs[i]];
    if (all)
        return;
    *changed |= last[k];
    last[k] = false;
    for (int i = 0; i < l->n_inputs; i++) {
        *changed |= last[l->inputs[i]];
        last[l->inputs[i]] = false;
    }
}

/* Finds the tensors that have the channels last. Networks with encoded tensors have none. */
static void find_last(const struct vbs_network *network, bool *last)
{
    bool changed = true;

    for (int k = 0; k <= network->n_layers; k++)
        if (network->layers[k].encoding.storage != VBS_FLOAT32)
            return;
    for (int k = 0; k <= network->n_layers; k++) {
        const struct vbs_layer *l = &network->layers[k];
        int n_dims = k == 0 ? network->input.n_dims : l->shape.n_dims;

        last[k] = n_dims > 1 && n_dims <= VBS_MAX_SPATIAL + 1 && (k == 0 || works_on_last(l));
    }
    for (int k = 1; k <= network->n_layers; k++)
        for (int i = 0; i < network->layers[k].n_inputs; i++)
            if (!reads_last(network, &network->layers[k], i))
                last[network->layers[k].inputs[i]] = false;
    while (changed) {
        changed = false;
        for (int k = 1; k <= network->n_layers; k++)
            if (network->layers[k].op == VBS_OP_CONCAT)
                agree_on_last(&network->layers[k], k, last, &changed);
    }
}

enum vbs_status od_canonical_layouts(struct od_build *b, enum od_layout *layouts)
{
    const struct vbs_network *network = b->network;
    int n = network->n_layers, block = b->session->block;
    bool *read_plain = vbs_arena_alloc(&b->session->core.arena, (size_t)n + 1, sizeof *read_plain);
    bool *turned = vbs_arena_alloc(&b->session->core.arena, (size_t)n + 1, sizeof *turned);
    bool *last = vbs_arena_alloc(&b->session->core.arena, (size_t)n + 1, sizeof *last);

    if (!read_plain || !turned || !last)
        return vbs_no_memory(b->ctx);
    if (b->session->stripes)
        find_last(network, last);
    note_turned(network, block, turned);
    for (int k = 1; k <= n; k++)
        for (int i = 0; i < network->layers[k].n_inputs; i++)
            if (turned[k] || !reads_blocks(network, &network->layers[k], i))
                read_plain[network->layers[k].inputs[i]] = true;
    for (int k = 0; k <= n; k++) {
        const struct vbs_layer *l = &network->layers[k];
        bool plain =
            !od_can_be_blocked(block, &l->shape) ||
            (read_plain[k] && !is_same_either_way(block, &l->shape)) ||
            (k > 0 && !turned[k] && (!writes_blocks(l) || inputs_are_plain(b, l, layouts)));

        layouts[k] = last[k] ? OD_CHANNELS_LAST : plain ? OD_PLAIN : OD_BLOCKED;
    }
    return VBS_OK;
}

enum vbs_status od_inputs_init(struct od_build *b)
{
    struct od_session *s = b->session;
    const struct vbs_layer *l = b->l;
    struct od_tensor *inputs = vbs_arena_alloc(&s->core.arena, (size_t)l->n_inputs, sizeof *inputs);
    enum vbs_status status = inputs ? VBS_OK : vbs_no_memory(b->ctx);

    for (int i = 0; i < l->n_inputs && status == VBS_OK; i++) {
        const struct od_tensor *own = &s->tensors[l->inputs[i]];

        if (reads_whole(l) || vbs_shape_equal(&own->shape, &l->views[i]))
            inputs[i] = *own;
        else
            status = od_tensor_init(b, &l->views[i], OD_PLAIN, &inputs[i]);
    }
    s->inputs[b->layer] = inputs;
    return status;
}
