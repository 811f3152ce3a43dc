/*
 * Values and weights in 8 bits: QuantizeLinear and DequantizeLinear behind values, DequantizeLinear
 * behind constants. They stand where kernels of 8 bits are looked for: a pair is behind the last
 * operator that a kernel computes, and is read by all readers of the value.
 */
#include "model/export/export.h"

#include "base/fail.h"

#include <stdio.h>
#include <string.h>

#define FLOAT ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT
#define INT8  ONNX__TENSOR_PROTO__DATA_TYPE__INT8
#define UINT8 ONNX__TENSOR_PROTO__DATA_TYPE__UINT8
#define INT32 ONNX__TENSOR_PROTO__DATA_TYPE__INT32

/* ---- values ---- */

static const struct vbs_int8_value *find_value(const struct exporter *e, int layer, int fused)
{
    return &e->int8->values[vbs_network_operator(e->network, layer, fused)];
}

bool vbs_export_is_whole(const struct exporter *e, int layer, int fused)
{
    return e->int8 && find_value(e, layer, fused)->scale > 0;
}

/* Adds scales and zeros as inputs of a node: one of each, or n along an axis. scales is borrowed,
 * zeros are all 0 where n is not 1. */
static enum vbs_status add_grid(struct exporter *e, const char *base, const float *scales,
                                int64_t n, int type, int zero, struct export_node *node)
{
    const struct export_dims dims = {.n = n > 1, .dim = {n}};
    unsigned char *zeros = vbs_arena_alloc(&e->arena, (size_t)n, 4);
    const char *name;

    if (!zeros)
        return vbs_no_memory(e->ctx);
    zeros[0] = (unsigned char)zero; /* of one byte, also as a whole number of two's complement */
    VBS_TRY(vbs_export_whole(e, base, ".scale", FLOAT, scales, &dims, &name));
    vbs_export_reads(node, name);
    VBS_TRY(vbs_export_whole(e, base, ".zero", type, zeros, &dims, &name));
    vbs_export_reads(node, name);
    return VBS_OK;
}

enum vbs_status vbs_export_pair(struct exporter *e, int layer, int fused, const char *from,
                                const char *to)
{
    const struct vbs_int8_value *value = find_value(e, layer, fused);
    struct export_node down = vbs_export_node("QuantizeLinear");
    struct export_node up = vbs_export_node("DequantizeLinear");
    const struct export_place none = {NULL, NULL};
    const char *whole = vbs_export_name(e, to, ".int8");

    if (!whole)
        return vbs_no_memory(e->ctx);
    vbs_export_reads(&down, from);
    VBS_TRY(
        add_grid(e, to, &value->scale, 1, e->int8->is_signed ? INT8 : UINT8, value->zero, &down));
    vbs_export_reads(&up, whole);
    vbs_export_reads(&up, down.few[1]);
    vbs_export_reads(&up, down.few[2]);
    VBS_TRY(vbs_export_add(e, &down, &none, whole));
    return vbs_export_add(e, &up, &none, to);
}

/* ---- weights ---- */

static const struct vbs_int8_weights *find_weights(const struct export_operator *o)
{
    const struct vbs_int8_table *table = o->e->int8;
    int low = 0, high = table && o->fused < 0 ? table->n_weights : 0;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (table->weights[middle].layer < o->layer)
            low = middle + 1;
        else
            high = middle;
    }
    return table && low < table->n_weights && table->weights[low].layer == o->layer
               ? &table->weights[low]
               : NULL;
}

bool vbs_export_has_whole(const struct export_operator *o)
{
    return find_weights(o);
}

static bool has_weights(const struct vbs_layer *l)
{
    return l->op == VBS_OP_CONV || l->op == VBS_OP_CONV_TRANSPOSE || l->op == VBS_OP_FC ||
           (l->op == VBS_OP_MATMUL && l->operand.n_dims > 0);
}

enum vbs_status vbs_export_check_table(const struct exporter *e)
{
    int n = e->int8 ? e->int8->n_weights : 0;

    for (int i = 0; i < n; i++) {
        int layer = e->int8->weights[i].layer;

        if (layer < 1 || layer > e->network->n_layers || !has_weights(&e->network->layers[layer]))
            return vbs_fail(e->ctx, VBS_USAGE, "weights of 8 bits for layer %d, which has none",
                            layer);
        if (i > 0 && layer <= e->int8->weights[i - 1].layer)
            return vbs_fail(e->ctx, VBS_USAGE, "weights of 8 bits do not ascend by layer");
    }
    return VBS_OK;
}

static const int8_t *turn(struct exporter *e, const int8_t *values, const struct export_dims *dims)
{
    int64_t rows = dims->dim[0], columns = dims->dim[1];
    int8_t *turned = vbs_arena_alloc(&e->arena, (size_t)(rows * columns), sizeof *turned);

    for (int64_t r = 0; turned && r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            turned[c * rows + r] = values[r * columns + c];
    return turned;
}

/* Gives the dimension of weights along which channels of the output lie, or -1 where they lie along
 * none. */
static int channel_axis(const struct export_operator *o, const struct export_dims *dims)
{
    if (o->op == VBS_OP_CONV || o->op == VBS_OP_FC)
        return 0;
    if (o->op == VBS_OP_CONV_TRANSPOSE)
        return o->attributes->weighted.groups > 1 ? -1 : 1;
    return dims->n == 2 ? 1 : -1;
}

static enum vbs_status check_scales(const struct export_operator *o,
                                    const struct vbs_int8_weights *w,
                                    const struct export_dims *dims)
{
    int axis = channel_axis(o, dims);

    if (w->n_scales == 1 || (axis >= 0 && w->n_scales == dims->dim[axis]))
        return VBS_OK;
    return vbs_fail(o->e->ctx, VBS_USAGE, "%lld scales for the weights of '%.100s'",
                    (long long)w->n_scales, o->name);
}

/* Appends the node that makes floats of a constant of whole numbers, whose name is *name, and gives
 * the name of what it makes. */
static enum vbs_status dequantise(struct export_operator *o, const char *base, const float *scales,
                                  int64_t n, int type, int axis, const char **name)
{
    struct export_node node = vbs_export_node("DequantizeLinear");
    const struct export_place none = {NULL, NULL};
    const char *made = vbs_export_name(o->e, base, ".floats");

    if (!made)
        return vbs_no_memory(o->e->ctx);
    vbs_export_reads(&node, *name);
    VBS_TRY(add_grid(o->e, base, scales, n, type, 0, &node));
    if (n > 1)
        vbs_export_int(&node, "axis", axis);
    *name = made;
    return vbs_export_add(o->e, &node, &none, made);
}

enum vbs_status vbs_export_weights(struct export_operator *o, enum vbs_parameter what,
                                   const struct export_dims *dims, bool turned, const char **name)
{
    const struct vbs_int8_weights *w = find_weights(o);
    struct export_dims own = *dims;
    const int8_t *values;
    const char *base;

    if (!w)
        return vbs_export_parameter(o->e, o->layer, -1, what, dims, name);
    VBS_TRY(check_scales(o, w, dims));
    values = turned ? turn(o->e, w->values, dims) : w->values;
    if (!values)
        return vbs_no_memory(o->e->ctx);
    if (turned)
        own = (struct export_dims){2, {dims->dim[1], dims->dim[0]}};
    VBS_TRY(vbs_export_whole(o->e, o->name, what == VBS_PARAMETER_OPERAND ? ".operand" : ".weights",
                             INT8, values, &own, &base));
    *name = base;
    return dequantise(o, base, w->scales, w->n_scales, INT8, turned ? 1 : channel_axis(o, dims),
                      name);
}

enum vbs_status vbs_export_bias(struct export_operator *o, const char **name)
{
    const struct vbs_int8_weights *w = find_weights(o);
    const struct export_dims dims = {1, {o->attributes->weighted.out_channels}};
    int input = o->l->inputs[0];
    double scale;
    const char *base;
    float *scales;

    if (!w || !w->bias)
        return vbs_export_parameter(o->e, o->layer, -1, VBS_PARAMETER_BIAS, &dims, name);
    scale = (double)find_value(o->e, input, o->e->network->layers[input].n_fused - 1)->scale;
    scales = vbs_arena_alloc(&o->e->arena, (size_t)w->n_scales, sizeof *scales);
    if (!scales)
        return vbs_no_memory(o->e->ctx);
    if (scale == 0)
        return vbs_fail(o->e->ctx, VBS_USAGE,
                        "the bias of '%.100s' has whole numbers, its input has none", o->name);
    for (int64_t i = 0; i < w->n_scales; i++)
        scales[i] = (float)(scale * (double)w->scales[i]);
    VBS_TRY(vbs_export_whole(o->e, o->name, ".bias", INT32, w->bias, &dims, &base));
    *name = base;
    return dequantise(o, base, scales, w->n_scales, INT32, 0, name);
}
