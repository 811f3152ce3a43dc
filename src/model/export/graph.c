/* Values, nodes and constants of the graph that is written. */
#include "model/export/export.h"

#include "base/fail.h"
#include "base/grow.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

const char *vbs_export_name(struct exporter *e, const char *base, const char *suffix)
{
    size_t size = strlen(base) + strlen(suffix) + 16;
    char *name = vbs_arena_alloc(&e->arena, 1, size);

    if (!name)
        return NULL;
    snprintf(name, size, "%s%s", base, suffix);
    for (int n = 2; tfind(name, &e->names, compare_names); n++)
        snprintf(name, size, "%s%s.%d", base, suffix, n);
    return tsearch(name, &e->names, compare_names) ? name : NULL;
}

/* ---- shapes ---- */

static struct export_dims with_first(bool has_first, int64_t first, const struct vbs_shape *shape)
{
    struct export_dims dims = {.n = shape->n_dims + has_first, .dim = {first}};

    memcpy(dims.dim + has_first, shape->dim, (size_t)shape->n_dims * sizeof shape->dim[0]);
    return dims;
}

struct export_dims vbs_export_dims(const struct exporter *e, const struct vbs_shape *shape)
{
    return with_first(!e->network->whole, 0, shape);
}

struct export_dims vbs_export_channels(const struct exporter *e, const struct vbs_shape *shape)
{
    return with_first(true, e->network->whole, shape);
}

/* ---- nodes ---- */

struct export_node vbs_export_node(const char *op)
{
    return (struct export_node){.op = op};
}

void vbs_export_reads(struct export_node *node, const char *value)
{
    if (node->inputs)
        node->inputs[node->n_inputs++] = value;
    else
        node->few[node->n_inputs++] = value;
}

static Onnx__AttributeProto *add_attribute(struct export_node *node, const char *name,
                                           Onnx__AttributeProto__AttributeType type)
{
    Onnx__AttributeProto *a = &node->attributes[node->n_attributes++];

    onnx__attribute_proto__init(a);
    a->name = (char *)(uintptr_t)name;
    a->has_type = true;
    a->type = type;
    return a;
}

void vbs_export_int(struct export_node *node, const char *name, int64_t value)
{
    Onnx__AttributeProto *a = add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);

    a->has_i = true;
    a->i = value;
}

void vbs_export_real(struct export_node *node, const char *name, double value)
{
    Onnx__AttributeProto *a =
        add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);

    a->has_f = true;
    a->f = (float)value;
}

void vbs_export_word(struct export_node *node, const char *name, const char *value)
{
    Onnx__AttributeProto *a =
        add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);

    a->has_s = true;
    a->s = (ProtobufCBinaryData){.len = strlen(value), .data = (uint8_t *)(uintptr_t)value};
}

void vbs_export_words(struct export_node *node, const char *name, const char *const *values, int n)
{
    Onnx__AttributeProto *a =
        add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS);

    for (int i = 0; i < n; i++)
        node->words[i] = (ProtobufCBinaryData){.len = strlen(values[i]),
                                               .data = (uint8_t *)(uintptr_t)values[i]};
    a->n_strings = (size_t)n;
    a->strings = node->words;
}

void vbs_export_floats(struct export_node *node, const char *name, const double *values, int n)
{
    Onnx__AttributeProto *a =
        add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);

    a->n_floats = (size_t)n;
    a->floats = node->floats + node->n_floats;
    for (int i = 0; i < n; i++)
        a->floats[i] = (float)values[i];
    node->n_floats += n;
}

void vbs_export_ints(struct export_node *node, const char *name, const int64_t *values, int n)
{
    Onnx__AttributeProto *a =
        add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);

    a->n_ints = (size_t)n;
    a->ints = node->ints + node->n_ints;
    memcpy(a->ints, values, (size_t)n * sizeof *values);
    node->n_ints += n;
}

/* Appends a field of a message: its number and its length, and space for its bytes, which *at
 * is. */
static enum vbs_status append_field(struct exporter *e, struct export_bytes *bytes, int number,
                                    size_t length, unsigned char **at)
{
    uint64_t left = length;

    VBS_TRY(
        vbs_grow(e->ctx, &bytes->data, &bytes->capacity, bytes->length + (int64_t)length + 12, 1));
    bytes->data[bytes->length++] = (unsigned char)(number << 3 | 2);
    for (; left > 127; left >>= 7)
        bytes->data[bytes->length++] = (unsigned char)(left | 128);
    bytes->data[bytes->length++] = (unsigned char)left;
    *at = bytes->data + bytes->length;
    bytes->length += (int64_t)length;
    return VBS_OK;
}

enum vbs_status vbs_export_add(struct exporter *e, struct export_node *node,
                               const struct export_place *place, const char *output)
{
    Onnx__NodeProto proto = ONNX__NODE_PROTO__INIT;
    Onnx__AttributeProto *attributes[EXPORT_MAX_ATTRIBUTES];
    char *outputs[3] = {(char *)(uintptr_t)output};
    const char **inputs = node->inputs ? node->inputs : node->few;
    unsigned char *at;

    for (int i = 0; i < node->n_attributes; i++)
        attributes[i] = &node->attributes[i];
    /* a node may be copied before it is added, and its lists with it */
    for (int i = 0, next = 0; i < node->n_attributes; i++)
        if (node->attributes[i].type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS) {
            node->attributes[i].ints = node->ints + next;
            next += (int)node->attributes[i].n_ints;
        } else if (node->attributes[i].n_strings > 0) {
            node->attributes[i].strings = node->words;
        }
    proto.op_type = (char *)(uintptr_t)node->op;
    proto.name = (char *)(uintptr_t)place->name;
    proto.doc_string = (char *)(uintptr_t)place->hint;
    proto.input = (char **)(uintptr_t)inputs;
    proto.n_input = (size_t)node->n_inputs;
    for (int i = 0; i < node->n_more; i++)
        outputs[1 + i] = (char *)(uintptr_t)node->more[i];
    proto.output = outputs;
    proto.n_output = 1 + (size_t)node->n_more;
    proto.attribute = attributes;
    proto.n_attribute = (size_t)node->n_attributes;
    VBS_TRY(append_field(e, &e->nodes, 1, onnx__node_proto__get_packed_size(&proto), &at));
    onnx__node_proto__pack(&proto, at);
    return VBS_OK;
}

/* ---- constants ---- */

static int64_t count_of(const struct export_dims *dims)
{
    int64_t n = 1;

    for (int d = 0; d < dims->n; d++)
        n *= dims->dim[d];
    return n;
}

static enum vbs_status add_constant(struct exporter *e, struct export_constant *constant,
                                    const char *base, const char *suffix, const char **name)
{
    constant->name = vbs_export_name(e, base, suffix);
    constant->count = count_of(&constant->dims);
    if (!constant->name)
        return vbs_no_memory(e->ctx);
    VBS_TRY(vbs_grow(e->ctx, &e->constants, &e->constants_capacity, e->n_constants + 1,
                     sizeof *e->constants));
    e->constants[e->n_constants++] = *constant;
    *name = constant->name;
    return VBS_OK;
}

enum vbs_status vbs_export_parameter(struct exporter *e, int layer, int fused,
                                     enum vbs_parameter what, const struct export_dims *dims,
                                     const char **name)
{
    const struct vbs_layer *l = &e->network->layers[layer];
    struct export_constant constant = {.type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT,
                                       .dims = *dims,
                                       .layer = layer,
                                       .fused = fused,
                                       .what = what};
    char suffix[32];

    snprintf(suffix, sizeof suffix, ".%s", vbs_parameter_word(what));
    return add_constant(e, &constant, fused < 0 ? l->name : l->fused[fused].name, suffix, name);
}

enum vbs_status vbs_export_fill(struct exporter *e, const char *base, const char *suffix,
                                float value, const struct export_dims *dims, const char **name)
{
    struct export_constant constant = {
        .type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, .dims = *dims, .fill = value};

    return add_constant(e, &constant, base, suffix, name);
}

enum vbs_status vbs_export_numbers(struct exporter *e, const char *base, const char *suffix,
                                   const int64_t *values, int64_t n, const struct export_dims *dims,
                                   const char **name)
{
    struct export_constant constant = {.type = ONNX__TENSOR_PROTO__DATA_TYPE__INT64,
                                       .dims = {.n = 1, .dim = {n}}};
    int64_t *copy = vbs_arena_alloc(&e->arena, (size_t)n + 1, sizeof *copy);

    if (!copy)
        return vbs_no_memory(e->ctx);
    memcpy(copy, values, (size_t)n * sizeof *copy);
    constant.data = copy;
    if (dims)
        constant.dims = *dims;
    return add_constant(e, &constant, base, suffix, name);
}

enum vbs_status vbs_export_reals(struct exporter *e, const char *base, const char *suffix,
                                 const double *values, int n, const char **name)
{
    struct export_constant constant = {.type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT,
                                       .dims = {.n = 1, .dim = {n}}};
    float *copy = vbs_arena_alloc(&e->arena, (size_t)n + 1, sizeof *copy);

    if (!copy)
        return vbs_no_memory(e->ctx);
    for (int i = 0; i < n; i++)
        copy[i] = (float)values[i];
    constant.data = copy;
    return add_constant(e, &constant, base, suffix, name);
}

enum vbs_status vbs_export_whole(struct exporter *e, const char *base, const char *suffix, int type,
                                 const void *data, const struct export_dims *dims,
                                 const char **name)
{
    struct export_constant constant = {.type = type, .dims = *dims, .data = data};

    return add_constant(e, &constant, base, suffix, name);
}

/* ---- shapes of values ---- */

enum vbs_status vbs_export_reshape(struct exporter *e, const struct export_value *value,
                                   const struct export_dims *dims, const char **name)
{
    struct export_node node = vbs_export_node("Reshape");
    const struct export_place place = {NULL, NULL};
    const char *shape, *made;

    *name = value->name;
    if (value->dims.n == dims->n &&
        memcmp(value->dims.dim, dims->dim, (size_t)dims->n * sizeof dims->dim[0]) == 0)
        return VBS_OK;
    VBS_TRY(vbs_export_numbers(e, value->name, ".shape", dims->dim, dims->n, NULL, &shape));
    made = vbs_export_name(e, value->name, ".reshaped");
    if (!made)
        return vbs_no_memory(e->ctx);
    vbs_export_reads(&node, value->name);
    vbs_export_reads(&node, shape);
    *name = made;
    return vbs_export_add(e, &node, &place, made);
}
