#include "model/network/network.h"

#include "base/arith.h"
#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

/* Raise this number when equal networks must be measured anew. */
#define HASH_VERSION 2

static uint64_t mix_sizes(uint64_t hash, const int64_t *sizes, int count)
{
    for (int i = 0; i < count; i++)
        hash = vbs_mix(hash, (uint64_t)sizes[i]);
    return hash;
}

static uint64_t mix_real(uint64_t hash, double value)
{
    uint64_t bits;

    if (value == 0)
        value = 0; /* the two zeros are one value */
    memcpy(&bits, &value, sizeof bits);
    return vbs_mix(hash, bits);
}

static uint64_t mix_shape(uint64_t hash, const struct vbs_shape *shape)
{
    return mix_sizes(vbs_mix(hash, (uint64_t)shape->n_dims), shape->dim, shape->n_dims);
}

static uint64_t mix_reals(uint64_t hash, const double *values, int count)
{
    for (int i = 0; i < count; i++)
        hash = mix_real(hash, values[i]);
    return hash;
}

/* Every attribute that any operator has, in the order in which they are mixed; 0 where an operator
 * does not have it. While HASH_VERSION stays, neither this order may change, nor which attributes
 * of different operators share a field. */
struct flat {
    int64_t out_channels, groups;
    bool bias, affine;
    struct vbs_window window;
    bool pad_counts;
    int64_t lrn_size;
    double lrn_alpha, lrn_beta, lrn_k;
    int64_t out_pad[VBS_MAX_SPATIAL];
    double epsilon, alpha, beta;
    bool rows, swapped;
    int axis;
    unsigned axes;
    int perm[VBS_MAX_DIMS];
    int64_t begin[VBS_MAX_DIMS], step[VBS_MAX_DIMS], end[VBS_MAX_DIMS];
    enum vbs_pad_mode pad_mode;
    double pad_value;
    struct vbs_shape shape;
    const union vbs_attributes *resize; /* or null */
};

static void flatten_weighted(enum vbs_op op, const union vbs_attributes *a, struct flat *flat)
{
    flat->out_channels = a->weighted.out_channels;
    flat->bias = a->weighted.bias;
    if (op == VBS_OP_FC) {
        flat->rows = a->weighted.rows;
        return;
    }
    flat->groups = a->weighted.groups;
    flat->window = a->weighted.window;
    memcpy(flat->out_pad, a->weighted.out_pad, sizeof flat->out_pad);
}

/* Flattens the attributes of operators that work value by value. */
static void flatten_unary(enum vbs_op op, const union vbs_attributes *a, struct flat *flat)
{
    switch (op) {
    case VBS_OP_LEAKY_RELU:
        flat->alpha = a->leaky_relu.slope;
        break;
    case VBS_OP_ELU:
    case VBS_OP_CELU:
        flat->alpha = a->elu.alpha;
        break;
    case VBS_OP_SELU:
        flat->alpha = a->selu.alpha;
        flat->beta = a->selu.gamma;
        break;
    case VBS_OP_HARD_SIGMOID:
        flat->alpha = a->hard_sigmoid.slope;
        flat->beta = a->hard_sigmoid.offset;
        break;
    case VBS_OP_GELU:
        flat->alpha = a->gelu.by_tanh;
        break;
    case VBS_OP_THRESHOLDED_RELU:
        flat->alpha = a->thresholded_relu.threshold;
        break;
    case VBS_OP_SHRINK:
        flat->alpha = a->shrink.lambda;
        flat->beta = a->shrink.bias;
        break;
    case VBS_OP_CLIP:
        flat->alpha = a->clip.low;
        flat->beta = a->clip.high;
        break;
    case VBS_OP_LINEAR:
        flat->alpha = a->linear.factor;
        flat->beta = a->linear.shift;
        break;
    default:
        break;
    }
}

static void flatten_move(enum vbs_op op, const union vbs_attributes *a, struct flat *flat)
{
    switch (op) {
    case VBS_OP_TRANSPOSE:
        memcpy(flat->perm, a->transpose.perm, sizeof flat->perm);
        break;
    case VBS_OP_SHUFFLE:
        flat->groups = a->shuffle.groups;
        break;
    case VBS_OP_SLICE:
        memcpy(flat->begin, a->slice.begin, sizeof flat->begin);
        memcpy(flat->step, a->slice.step, sizeof flat->step);
        memcpy(flat->end, a->slice.count, sizeof flat->end);
        break;
    case VBS_OP_PAD:
        memcpy(flat->begin, a->pad.before, sizeof flat->begin);
        memcpy(flat->end, a->pad.behind, sizeof flat->end);
        flat->pad_mode = a->pad.mode;
        flat->pad_value = a->pad.value;
        break;
    case VBS_OP_EXPAND:
        flat->shape = a->expand.shape;
        break;
    case VBS_OP_GATHER:
        flat->axis = a->gather.axis;
        flat->shape = a->gather.indices;
        break;
    default:
        break;
    }
}

static void flatten_other(enum vbs_op op, const union vbs_attributes *a, struct flat *flat)
{
    switch (op) {
    case VBS_OP_CONV:
    case VBS_OP_CONV_TRANSPOSE:
    case VBS_OP_FC:
        flatten_weighted(op, a, flat);
        break;
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
        flat->window = a->pool.window;
        flat->pad_counts = a->pool.pad_counts;
        break;
    case VBS_OP_LRN:
        flat->lrn_size = a->lrn.size;
        flat->lrn_alpha = a->lrn.alpha;
        flat->lrn_beta = a->lrn.beta;
        flat->lrn_k = a->lrn.k;
        break;
    case VBS_OP_BATCHNORM:
    case VBS_OP_INSTANCE_NORM:
    case VBS_OP_LAYER_NORM:
        flat->affine = a->norm.affine;
        flat->axis = a->norm.axis;
        flat->epsilon = a->norm.epsilon;
        break;
    case VBS_OP_SCALE:
        flat->bias = a->scale.bias;
        break;
    case VBS_OP_SOFTMAX:
    case VBS_OP_LOGSOFTMAX:
        flat->axis = a->softmax.axis;
        break;
    case VBS_OP_CONCAT:
        flat->axis = a->concat.axis;
        break;
    case VBS_OP_MATMUL:
        flat->swapped = a->binary.swapped;
        break;
    case VBS_OP_RESIZE:
        flat->shape = a->resize.shape;
        flat->resize = a;
        break;
    case VBS_OP_TOPK:
        flat->axis = a->topk.axis;
        flat->out_channels = a->topk.k;
        flat->bias = a->topk.smallest;
        flat->swapped = a->topk.positions;
        break;
    case VBS_OP_PICK:
        flat->axis = a->pick.axis;
        break;
    case VBS_OP_TAKE:
        flat->axis = a->take.common;
        break;
    case VBS_OP_GRID_SAMPLE:
        flat->axis = (int)a->grid_sample.mode;
        flat->axes = (unsigned)a->grid_sample.padding;
        flat->swapped = a->grid_sample.align_corners;
        break;
    case VBS_OP_DEFORM_CONV:
        flatten_weighted(op, a, flat);
        flat->begin[0] = a->weighted.offset_groups;
        break;
    case VBS_OP_DFT:
        flat->axis = a->dft.axis;
        flat->out_channels = a->dft.n;
        flat->bias = a->dft.inverse;
        flat->swapped = a->dft.onesided;
        break;
    case VBS_OP_RNN:
    case VBS_OP_GRU:
    case VBS_OP_LSTM:
        flat->out_channels = a->recurrent.hidden;
        flat->bias = a->recurrent.bias;
        flat->axis = (int)a->recurrent.direction;
        flat->axes = (unsigned)(op == VBS_OP_RNN   ? (int)a->recurrent.function
                                : op == VBS_OP_GRU ? a->recurrent.reset_after
                                                   : a->recurrent.cells);
        break;
    default:
        break;
    }
}

/* A new operator comes last in the list. Before its name replaces the last one here, one of the
 * functions above must flatten its attributes, if it has any. */
_Static_assert(VBS_OP_DFT + 1 == VBS_N_OPS,
               "a new operator: flatten its attributes, which hashes of networks must hold");

static void flatten(enum vbs_op op, const union vbs_attributes *a, struct flat *flat)
{
    memset(flat, 0, sizeof *flat);
    switch (vbs_op_class(op)) {
    case VBS_CLASS_UNARY:
        flatten_unary(op, a, flat);
        break;
    case VBS_CLASS_BINARY:
        flat->swapped = a->binary.swapped;
        break;
    case VBS_CLASS_REDUCE:
        flat->axes = a->reduce.axes;
        break;
    case VBS_CLASS_MOVE:
        flatten_move(op, a, flat);
        break;
    default:
        flatten_other(op, a, flat);
        break;
    }
}

static uint64_t mix_moves(uint64_t hash, const struct flat *flat)
{
    for (int i = 0; i < VBS_MAX_DIMS; i++)
        hash = vbs_mix(hash, (uint64_t)flat->perm[i]);
    hash = mix_sizes(hash, flat->begin, VBS_MAX_DIMS);
    hash = mix_sizes(hash, flat->step, VBS_MAX_DIMS);
    hash = mix_sizes(hash, flat->end, VBS_MAX_DIMS);
    hash = vbs_mix(hash, (uint64_t)flat->pad_mode);
    hash = mix_real(hash, flat->pad_value);
    return mix_shape(hash, &flat->shape);
}

/* Mixes the attributes of a Resize, or zeros where attributes is null. */
static uint64_t mix_resize(uint64_t hash, const union vbs_attributes *attributes)
{
    static const union vbs_attributes none = {.resize = {.mode = VBS_RESIZE_NEAREST}};
    const union vbs_attributes *a = attributes ? attributes : &none;

    hash = vbs_mix(hash, (uint64_t)a->resize.mode);
    hash = vbs_mix(hash, (uint64_t)a->resize.coordinates);
    hash = vbs_mix(hash, (uint64_t)a->resize.nearest);
    hash = vbs_mix(hash, (uint64_t)(a->resize.exclude_outside + 2 * a->resize.antialias));
    hash = mix_real(hash, a->resize.cubic_a);
    hash = mix_real(hash, a->resize.extrapolation);
    hash = mix_reals(hash, a->resize.scale, VBS_MAX_DIMS);
    hash = mix_reals(hash, a->resize.roi_begin, VBS_MAX_DIMS);
    return mix_reals(hash, a->resize.roi_end, VBS_MAX_DIMS);
}

static uint64_t mix_attributes(uint64_t hash, enum vbs_op op,
                               const union vbs_attributes *attributes)
{
    struct flat flat;

    flatten(op, attributes, &flat);
    hash = vbs_mix(hash, (uint64_t)flat.out_channels);
    hash = vbs_mix(hash, (uint64_t)flat.groups);
    hash = vbs_mix(hash, (uint64_t)flat.bias);
    hash = vbs_mix(hash, (uint64_t)flat.affine);
    hash = mix_sizes(hash, flat.window.kernel, VBS_MAX_SPATIAL);
    hash = mix_sizes(hash, flat.window.stride, VBS_MAX_SPATIAL);
    hash = mix_sizes(hash, flat.window.dilation, VBS_MAX_SPATIAL);
    hash = mix_sizes(hash, flat.window.pad_low, VBS_MAX_SPATIAL);
    hash = mix_sizes(hash, flat.window.pad_high, VBS_MAX_SPATIAL);
    hash = vbs_mix(hash, (uint64_t)flat.pad_counts);
    hash = vbs_mix(hash, (uint64_t)flat.lrn_size);
    hash = mix_real(hash, flat.lrn_alpha);
    hash = mix_real(hash, flat.lrn_beta);
    hash = mix_real(hash, flat.lrn_k);
    hash = mix_sizes(hash, flat.out_pad, VBS_MAX_SPATIAL);
    hash = mix_real(hash, flat.epsilon);
    hash = mix_real(hash, flat.alpha);
    hash = mix_real(hash, flat.beta);
    hash = vbs_mix(hash, (uint64_t)flat.rows);
    hash = vbs_mix(hash, (uint64_t)flat.swapped);
    hash = vbs_mix(hash, (uint64_t)flat.axis);
    hash = vbs_mix(hash, (uint64_t)flat.axes);
    hash = mix_moves(hash, &flat);
    return mix_resize(hash, flat.resize);
}

/* Usual functions leave the hash as it was when there were no others. */
static uint64_t mix_cell(uint64_t hash, enum vbs_op op, const union vbs_attributes *a)
{
    if (vbs_op_gates(op) == 0 ||
        (a->recurrent.functions[0].kind == VBS_CELL_USUAL && !a->recurrent.peepholes))
        return hash;
    hash = vbs_mix(hash, (uint64_t)a->recurrent.peepholes);
    for (int i = 0; i < VBS_CELL_FUNCTIONS; i++) {
        hash = vbs_mix(hash, (uint64_t)a->recurrent.functions[i].kind);
        hash = mix_real(hash, a->recurrent.functions[i].alpha);
        hash = mix_real(hash, a->recurrent.functions[i].beta);
    }
    return hash;
}

/* Floats leave the hash as it was when every tensor had floats. */
static uint64_t mix_encoding(uint64_t hash, const struct vbs_encoding *encoding)
{
    if (encoding->storage == VBS_FLOAT32)
        return hash;
    hash = vbs_mix(hash, (uint64_t)encoding->storage);
    hash = mix_real(hash, (double)encoding->scale);
    return vbs_mix(hash, (uint64_t)encoding->zero);
}

/* Mixes a layer; with_edges: with the ids of the tensors that it reads. */
static uint64_t mix_layer(uint64_t hash, const struct vbs_layer *layer, bool with_edges)
{
    hash = vbs_mix(hash, (uint64_t)layer->op);
    hash = vbs_mix(hash, (uint64_t)layer->n_inputs);
    for (int i = 0; i < layer->n_inputs; i++) {
        if (with_edges)
            hash = vbs_mix(hash, (uint64_t)layer->inputs[i]);
        hash = mix_shape(hash, &layer->views[i]);
    }
    hash = mix_shape(hash, &layer->operand);
    hash = mix_attributes(hash, layer->op, &layer->attributes);
    hash = mix_cell(hash, layer->op, &layer->attributes);
    hash = mix_shape(hash, &layer->shape);
    hash = mix_encoding(hash, &layer->encoding);
    if (layer->weights != VBS_FLOAT32)
        hash = vbs_mix(hash, (uint64_t)layer->weights);
    hash = vbs_mix(hash, (uint64_t)layer->n_fused);
    for (int i = 0; i < layer->n_fused; i++) {
        hash = vbs_mix(hash, (uint64_t)layer->fused[i].op);
        hash = mix_attributes(hash, layer->fused[i].op, &layer->fused[i].attributes);
    }
    return hash;
}

/* Coded weights decide how long their kernels run and how many bytes they take. A network without
 * any has the hash that it had before there were coded weights. */
static uint64_t mix_coded(uint64_t hash, const struct vbs_network *network, int layer)
{
    const struct vbs_layer_coded *coded;

    if (!vbs_network_coded(network, layer))
        return hash;
    coded = &network->parameters->coded[layer];
    return vbs_mix(vbs_mix(hash, coded->fingerprint), (uint64_t)coded->any_form);
}

static uint64_t hash_network(const struct vbs_network *network, bool with_coded)
{
    uint64_t hash = vbs_mix(VBS_MIX_FIRST, HASH_VERSION);

    hash = mix_shape(hash, &network->input);
    hash = mix_encoding(hash, &network->layers[0].encoding);
    hash = vbs_mix(hash, (uint64_t)network->n_layers);
    for (int k = 1; k <= network->n_layers; k++) {
        hash = mix_layer(hash, &network->layers[k], true);
        if (with_coded)
            hash = mix_coded(hash, network, k);
    }
    return hash;
}

uint64_t vbs_network_hash(const struct vbs_network *network)
{
    return hash_network(network, true);
}

uint64_t vbs_network_plain_hash(const struct vbs_network *network)
{
    return hash_network(network, false);
}

uint64_t vbs_network_layer_hash(const struct vbs_network *network, int layer)
{
    const struct vbs_layer *l = &network->layers[layer];
    uint64_t hash = mix_layer(vbs_mix(VBS_MIX_FIRST, HASH_VERSION), l, false);

    for (int i = 0; i < l->n_inputs; i++) {
        hash = mix_shape(hash, &network->layers[l->inputs[i]].shape);
        hash = mix_encoding(hash, &network->layers[l->inputs[i]].encoding);
    }
    return mix_coded(hash, network, layer);
}

/* ---- values of parameters ---- */

static enum vbs_status add_values(struct vbs_ctx *ctx, const struct vbs_network *network, int layer,
                                  int fused, enum vbs_parameter what, struct vbs_sha256 *hash)
{
    int64_t n = vbs_parameter_count(network, layer, fused, what);
    int64_t most = vbs_parameter_at_once(network, layer, fused, what);
    float *values = malloc((size_t)(n < most ? n + 1 : most) * sizeof *values);
    enum vbs_status status = values ? VBS_OK : vbs_no_memory(ctx);

    for (int64_t first = 0; first < n && status == VBS_OK; first += most) {
        int64_t count = n - first < most ? n - first : most;

        status = vbs_parameter_values(ctx, network, layer, fused, what, first, count, values);
        if (status == VBS_OK)
            vbs_sha256_add(hash, values, (size_t)count * sizeof *values);
    }
    free(values);
    return status;
}

enum vbs_status vbs_network_hash_values(struct vbs_ctx *ctx, const struct vbs_network *network,
                                        struct vbs_sha256 *hash)
{
    for (int k = 1; k <= network->n_layers; k++)
        for (int f = -1; f < network->layers[k].n_fused; f++)
            for (int what = 0; what < VBS_N_PARAMETERS; what++)
                VBS_TRY(add_values(ctx, network, k, f, (enum vbs_parameter)what, hash));
    return VBS_OK;
}
