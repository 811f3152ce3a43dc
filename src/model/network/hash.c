#include "vbslab/model.h"

#include <string.h>

/* Raise it when the same network would have to be measured anew. */
#define HASH_VERSION 2

/* Takes in one word: FNV-1a over words, each spread over all bits first (the finaliser of
 * splitmix64), so that small numbers in different places do not cancel. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
    word += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (hash ^ word ^ (word >> 31)) * UINT64_C(0x100000001b3);
}

static uint64_t mix_sizes(uint64_t hash, const int64_t *sizes, int count)
{
    for (int i = 0; i < count; i++)
        hash = mix(hash, (uint64_t)sizes[i]);
    return hash;
}

static uint64_t mix_real(uint64_t hash, double value)
{
    uint64_t bits;

    if (value == 0)
        value = 0; /* the two zeros are one value */
    memcpy(&bits, &value, sizeof bits);
    return mix(hash, bits);
}

static uint64_t mix_shape(uint64_t hash, const struct vbs_shape *shape)
{
    return mix_sizes(mix(hash, (uint64_t)shape->n_dims), shape->dim, shape->n_dims);
}

static uint64_t mix_reals(uint64_t hash, const double *values, int count)
{
    for (int i = 0; i < count; i++)
        hash = mix_real(hash, values[i]);
    return hash;
}

/* What MOVE operators and concat know. */
static uint64_t mix_moves(uint64_t hash, const struct vbs_attributes *attributes)
{
    for (int i = 0; i < VBS_MAX_DIMS; i++)
        hash = mix(hash, (uint64_t)attributes->perm[i]);
    hash = mix_sizes(hash, attributes->begin, VBS_MAX_DIMS);
    hash = mix_sizes(hash, attributes->step, VBS_MAX_DIMS);
    hash = mix_sizes(hash, attributes->end, VBS_MAX_DIMS);
    hash = mix(hash, (uint64_t)attributes->pad_mode);
    hash = mix_real(hash, attributes->pad_value);
    return mix_shape(hash, &attributes->target);
}

static uint64_t mix_resize(uint64_t hash, const struct vbs_attributes *attributes)
{
    hash = mix(hash, (uint64_t)attributes->resize_mode);
    hash = mix(hash, (uint64_t)attributes->resize_place);
    hash = mix(hash, (uint64_t)attributes->resize_nearest);
    hash = mix(hash, (uint64_t)attributes->exclude_outside);
    hash = mix_real(hash, attributes->cubic_a);
    hash = mix_real(hash, attributes->extrapolation);
    hash = mix_reals(hash, attributes->scale, VBS_MAX_DIMS);
    hash = mix_reals(hash, attributes->roi_begin, VBS_MAX_DIMS);
    return mix_reals(hash, attributes->roi_end, VBS_MAX_DIMS);
}

static uint64_t mix_attributes(uint64_t hash, const struct vbs_attributes *attributes)
{
    hash = mix(hash, (uint64_t)attributes->out_channels);
    hash = mix(hash, (uint64_t)attributes->groups);
    hash = mix(hash, (uint64_t)attributes->bias);
    hash = mix(hash, (uint64_t)attributes->affine);
    hash = mix_sizes(hash, attributes->kernel, VBS_MAX_SPATIAL);
    hash = mix_sizes(hash, attributes->stride, VBS_MAX_SPATIAL);
    hash = mix_sizes(hash, attributes->dilation, VBS_MAX_SPATIAL);
    hash = mix_sizes(hash, attributes->pad_low, VBS_MAX_SPATIAL);
    hash = mix_sizes(hash, attributes->pad_high, VBS_MAX_SPATIAL);
    hash = mix(hash, (uint64_t)attributes->pad_counts);
    hash = mix(hash, (uint64_t)attributes->lrn_size);
    hash = mix_real(hash, attributes->lrn_alpha);
    hash = mix_real(hash, attributes->lrn_beta);
    hash = mix_real(hash, attributes->lrn_k);
    hash = mix_sizes(hash, attributes->out_pad, VBS_MAX_SPATIAL);
    hash = mix_real(hash, attributes->epsilon);
    hash = mix_real(hash, attributes->alpha);
    hash = mix_real(hash, attributes->beta);
    hash = mix(hash, (uint64_t)attributes->rows);
    hash = mix(hash, (uint64_t)attributes->swapped);
    hash = mix(hash, (uint64_t)attributes->axis);
    hash = mix(hash, (uint64_t)attributes->axes);
    hash = mix_moves(hash, attributes);
    return mix_resize(hash, attributes);
}

static uint64_t mix_layer(uint64_t hash, const struct vbs_layer *layer)
{
    hash = mix(hash, (uint64_t)layer->op);
    hash = mix(hash, (uint64_t)layer->n_inputs);
    for (int i = 0; i < layer->n_inputs; i++) {
        hash = mix(hash, (uint64_t)layer->inputs[i]);
        hash = mix_shape(hash, &layer->views[i]);
    }
    hash = mix_shape(hash, &layer->operand);
    hash = mix_attributes(hash, &layer->attributes);
    hash = mix_shape(hash, &layer->shape);
    hash = mix(hash, (uint64_t)layer->n_fused);
    for (int i = 0; i < layer->n_fused; i++) {
        hash = mix(hash, (uint64_t)layer->fused[i].op);
        hash = mix_attributes(hash, &layer->fused[i].attributes);
    }
    return hash;
}

uint64_t vbs_network_hash(const struct vbs_network *network)
{
    uint64_t hash = mix(UINT64_C(0xcbf29ce484222325), HASH_VERSION);

    hash = mix_shape(hash, &network->input);
    hash = mix(hash, (uint64_t)network->n_layers);
    for (int k = 1; k <= network->n_layers; k++)
        hash = mix_layer(hash, &network->layers[k]);
    return hash;
}
