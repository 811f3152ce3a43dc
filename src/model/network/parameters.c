/*
 * Seeded parameters and values. Each is a function of its key and index alone, so that any part of
 * a tensor can be made at any time, in any order, and never has to be kept.
 */
#include "model/network/parameters.h"

#include "base/random.h"

#include <math.h>

/* Gives centre + spread * u, where u is uniform in [-1, 1) with 24 bits. */
static void uniform(uint64_t key, int64_t first, int64_t count, float centre, float spread,
                    float *values)
{
    for (int64_t i = 0; i < count; i++) {
        int32_t u = (int32_t)(vbs_random(key, (uint64_t)(first + i)) >> 40) - (1 << 23);

        values[i] = centre + spread * ((float)u * 0x1p-23f);
    }
}

/* Counts the inputs of one output value of a conv or fc, or of a gate. */
static int64_t fan_in(const struct vbs_layer *layer)
{
    const struct vbs_shape *source = &layer->views[0];
    int64_t n;

    if (vbs_op_gates(layer->op) > 0)
        return source->dim[1];
    if (layer->op == VBS_OP_FC)
        return layer->attributes.weighted.rows ? source->dim[source->n_dims - 1]
                                               : vbs_shape_elements(source);
    if (layer->op == VBS_OP_DEFORM_CONV)
        return source->dim[source->n_dims - 3] / layer->attributes.weighted.groups *
               layer->attributes.weighted.window.kernel[0] *
               layer->attributes.weighted.window.kernel[1];
    if (layer->op == VBS_OP_CONV_TRANSPOSE)
        n = layer->attributes.weighted.out_channels / layer->attributes.weighted.groups;
    else
        n = source->dim[0] / layer->attributes.weighted.groups;
    for (int i = 0; i + 1 < source->n_dims; i++)
        n *= layer->attributes.weighted.window.kernel[i];
    return n;
}

static bool has_relu(const struct vbs_layer *layer)
{
    for (int i = 0; i < layer->n_fused; i++)
        if (layer->fused[i].op == VBS_OP_RELU)
            return true;
    return false;
}

int64_t vbs_weight_count(const struct vbs_network *network, int layer)
{
    const struct vbs_layer *l = &network->layers[layer];

    if (l->op == VBS_OP_CONV_TRANSPOSE)
        return l->views[0].dim[0] * fan_in(l);
    if (vbs_op_gates(l->op) > 0)
        return l->operand.dim[0] * l->operand.dim[1] * fan_in(l);
    if (l->op != VBS_OP_CONV && l->op != VBS_OP_FC && l->op != VBS_OP_DEFORM_CONV)
        return 0;
    return l->attributes.weighted.out_channels * fan_in(l);
}

const char *vbs_parameter_word(enum vbs_parameter what)
{
    static const char *const WORDS[VBS_N_PARAMETERS] = {"weights", "bias", "mean",   "variance",
                                                        "gamma",   "beta", "operand"};

    return (unsigned)what < VBS_N_PARAMETERS ? WORDS[what] : "parameter";
}

/* Gives the number of values of a parameter of an operator that normalises or scales: of one for
 * each channel, or (layernorm) for each element of a row. */
static int64_t count_affine(enum vbs_op op, const union vbs_attributes *attributes,
                            const struct vbs_shape *input, enum vbs_parameter what)
{
    bool has_gamma, has_beta, has_mean = op == VBS_OP_BATCHNORM;
    int64_t n = 1;

    if (op == VBS_OP_SCALE) {
        has_gamma = true;
        has_beta = attributes->scale.bias;
    } else {
        has_gamma = has_beta = attributes->norm.affine;
    }
    if (op == VBS_OP_LAYER_NORM)
        for (int d = attributes->norm.axis; d < input->n_dims; d++)
            n *= input->dim[d];
    else
        n = input->dim[0];
    switch (what) {
    case VBS_PARAMETER_MEAN:
    case VBS_PARAMETER_VARIANCE:
        return has_mean ? n : 0;
    case VBS_PARAMETER_GAMMA:
        return has_gamma ? n : 0;
    case VBS_PARAMETER_BETA:
        return has_beta ? n : 0;
    default:
        return 0;
    }
}

static bool is_affine(enum vbs_op op)
{
    return op == VBS_OP_BATCHNORM || op == VBS_OP_SCALE || op == VBS_OP_INSTANCE_NORM ||
           op == VBS_OP_LAYER_NORM;
}

/* Returns the number of values of a parameter of a recurrent operator beside its weights. */
static int64_t count_cell(const struct vbs_layer *l, enum vbs_parameter what)
{
    if (what == VBS_PARAMETER_BIAS && l->attributes.recurrent.bias)
        return 2 * l->operand.dim[0] * l->operand.dim[1];
    if (what == VBS_PARAMETER_GAMMA && l->attributes.recurrent.peepholes)
        return 3 * l->operand.dim[0] * l->operand.dim[2];
    return 0;
}

int64_t vbs_parameter_count(const struct vbs_network *network, int layer, int fused,
                            enum vbs_parameter what)
{
    const struct vbs_layer *l;

    if (layer < 1 || layer > network->n_layers || fused >= network->layers[layer].n_fused)
        return 0;
    l = &network->layers[layer];
    if (fused >= 0)
        return is_affine(l->fused[fused].op)
                   ? count_affine(l->fused[fused].op, &l->fused[fused].attributes, &l->shape, what)
                   : 0;
    if (what == VBS_PARAMETER_WEIGHTS)
        return vbs_weight_count(network, layer);
    if (what == VBS_PARAMETER_OPERAND)
        return l->operand.n_dims > 0 ? vbs_shape_elements(&l->operand) : 0;
    if (is_affine(l->op))
        return count_affine(l->op, &l->attributes, &l->views[0], what);
    if (vbs_op_gates(l->op) > 0)
        return count_cell(l, what);
    return what == VBS_PARAMETER_BIAS && vbs_weight_count(network, layer) > 0 &&
                   l->attributes.weighted.bias
               ? l->attributes.weighted.out_channels
               : 0;
}

bool vbs_weight_matrix(const struct vbs_network *network, int layer, int64_t *n_rows,
                       int64_t *n_columns)
{
    const struct vbs_layer *l = &network->layers[layer];

    if (l->op != VBS_OP_CONV && l->op != VBS_OP_FC)
        return false;
    *n_rows = l->attributes.weighted.out_channels;
    *n_columns = vbs_weight_count(network, layer) / *n_rows;
    return true;
}

/* Gives half the width of the weights' distribution: its variance is 2 / fan-in before a ReLU,
 * which keeps the mean square of activations (He et al. 2015, equation 10), and 1 / fan-in
 * without. */
static float weight_spread(const struct vbs_layer *layer)
{
    double gain = has_relu(layer) ? 2 : 1;

    return (float)sqrt(3 * gain / (double)fan_in(layer));
}

/* Gives the middle and half of the width of the distribution of a parameter of op; a neutral value
 * has width 0. */
static void distribution(enum vbs_op op, const union vbs_attributes *attributes,
                         enum vbs_parameter what, float *centre, float *spread)
{
    bool batchnorm = op == VBS_OP_BATCHNORM, scale = op == VBS_OP_SCALE;
    bool norm = batchnorm || op == VBS_OP_INSTANCE_NORM || op == VBS_OP_LAYER_NORM;
    bool weighted = op == VBS_OP_CONV || op == VBS_OP_CONV_TRANSPOSE || op == VBS_OP_FC ||
                    op == VBS_OP_DEFORM_CONV;
    bool recurrent = vbs_op_gates(op) > 0;
    bool gamma = scale || (norm && attributes->norm.affine);
    bool beta = scale ? attributes->scale.bias : gamma;

    *centre = what == VBS_PARAMETER_VARIANCE || what == VBS_PARAMETER_GAMMA ? 1 : 0;
    *spread = 0;
    if (what == VBS_PARAMETER_BIAS && weighted && attributes->weighted.bias)
        *spread = 0.1f;
    else if (what == VBS_PARAMETER_BIAS && recurrent && attributes->recurrent.bias)
        *spread = 0.1f;
    else if (what == VBS_PARAMETER_OPERAND && recurrent)
        *spread = (float)sqrt(3 / (double)attributes->recurrent.hidden);
    else if (what == VBS_PARAMETER_MEAN && batchnorm)
        *spread = 0.1f;
    else if (what == VBS_PARAMETER_VARIANCE && batchnorm)
        *spread = 0.5f;
    else if (what == VBS_PARAMETER_GAMMA && (gamma || recurrent))
        *spread = 0.25f;
    else if (what == VBS_PARAMETER_BETA && beta)
        *spread = 0.1f;
}

static void seeded_values(const struct vbs_network *network, int layer, int fused,
                          enum vbs_parameter what, int64_t first, int64_t count, float *values)
{
    const struct vbs_layer *l = &network->layers[layer];
    uint64_t key = vbs_random(vbs_random((uint64_t)layer, (uint64_t)(fused + 1)), (uint64_t)what);
    float centre = 0, spread;

    if (what == VBS_PARAMETER_WEIGHTS)
        spread = vbs_weight_count(network, layer) > 0 ? weight_spread(l) : 0;
    else if (fused < 0)
        distribution(l->op, &l->attributes, what, &centre, &spread);
    else
        distribution(l->fused[fused].op, &l->fused[fused].attributes, what, &centre, &spread);
    uniform(key, first, count, centre, spread, values);
}

static const struct vbs_coded *coded_of(const struct vbs_network *network, int layer, int fused,
                                        enum vbs_parameter what)
{
    return what == VBS_PARAMETER_WEIGHTS && fused < 0 ? vbs_network_coded(network, layer) : NULL;
}

static const struct vbs_values *stored_of(const struct vbs_network *network, int layer, int fused,
                                          enum vbs_parameter what)
{
    const struct vbs_parameters *p = network->parameters;

    return p ? p->values[p->first[layer] + fused + 1].of[what] : NULL;
}

int64_t vbs_parameter_at_once(const struct vbs_network *network, int layer, int fused,
                              enum vbs_parameter what)
{
    static const struct vbs_values SEEDED;
    const struct vbs_coded *coded = coded_of(network, layer, fused, what);
    const struct vbs_values *stored = stored_of(network, layer, fused, what);
    int64_t n = vbs_values_at_once(!coded && stored ? stored : &SEEDED);

    if (coded) {
        struct vbs_coded_shape shape;
        int64_t block;

        vbs_coded_describe(coded, &shape);
        block = shape.block_rows * shape.n_columns;
        n = block < n ? n / block * block : block;
    }
    return n;
}

enum vbs_status vbs_parameter_values(struct vbs_ctx *ctx, const struct vbs_network *network,
                                     int layer, int fused, enum vbs_parameter what, int64_t first,
                                     int64_t count, float *values)
{
    const struct vbs_coded *coded = coded_of(network, layer, fused, what);
    const struct vbs_values *stored = stored_of(network, layer, fused, what);

    if (coded)
        return vbs_coded_values(ctx, coded, first, count, values);
    if (stored)
        return vbs_values_read(ctx, network->parameters->source, stored, first, count, values);
    seeded_values(network, layer, fused, what, first, count, values);
    return VBS_OK;
}

int vbs_network_stored(const struct vbs_network *network)
{
    const struct vbs_parameters *p = network->parameters;
    int n = p ? p->n_stored : 0;

    for (int k = 1; p && p->coded && k <= network->n_layers; k++)
        n += p->coded[k].coded && !p->values[p->first[k]].of[VBS_PARAMETER_WEIGHTS];
    return n;
}

int vbs_network_operator(const struct vbs_network *network, int layer, int fused)
{
    int n = 0;

    for (int k = 1; k < layer; k++)
        n += 1 + network->layers[k].n_fused;
    return layer == 0 ? 0 : n + 1 + (fused < 0 ? 0 : fused + 1);
}

int vbs_network_operators(const struct vbs_network *network)
{
    return vbs_network_operator(network, network->n_layers + 1, -1);
}

int64_t vbs_network_parameters(const struct vbs_network *network)
{
    int64_t n = 0;

    for (int k = 1; k <= network->n_layers; k++)
        n += network->layers[k].parameters;
    return n;
}

void vbs_tensor_values(int tensor, int64_t first, int64_t count, float *values)
{
    uniform(vbs_random((uint64_t)tensor, UINT64_C(0x7465)), first, count, 0, 1, values);
}
