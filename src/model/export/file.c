/* The file: the graph's nodes, then its constants, whose values are read as they are written. */
#include "model/export/export.h"

#include "base/fail.h"
#include "base/grow.h"
#include "base/new_file.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_VALUES ((int64_t)1 << 22) /* that are read and written at once */
#define LONGEST_FILE INT32_MAX          /* bytes of a message of a protocol buffer */

/* ---- names that values must have ---- */

/* Gives each output of a layer that has one its name, as far as one value can have it: the name of
 * its first output. */
static enum vbs_status name_outputs(struct exporter *e)
{
    const struct vbs_network *network = e->network;

    e->outputs = vbs_arena_alloc(&e->arena, (size_t)network->n_layers + 1, sizeof *e->outputs);
    if (!e->outputs)
        return vbs_no_memory(e->ctx);
    for (int i = 0; i < network->n_outputs; i++) {
        const struct vbs_output *output = &network->outputs[i];
        const char *name = vbs_export_name(e, output->name, "");

        if (!name)
            return vbs_no_memory(e->ctx);
        if (!e->outputs[output->layer])
            e->outputs[output->layer] = name;
    }
    return VBS_OK;
}

/* Names the inputs of the graph: as in the network, where there are several. */
static enum vbs_status name_inputs(struct exporter *e)
{
    const struct vbs_network *network = e->network;

    e->inputs = vbs_arena_alloc(&e->arena, (size_t)network->n_inputs, sizeof *e->inputs);
    if (!e->inputs)
        return vbs_no_memory(e->ctx);
    for (int i = 0; i < network->n_inputs; i++) {
        e->inputs[i] = vbs_export_name(e, network->inputs[i].name, "");
        if (!e->inputs[i])
            return vbs_no_memory(e->ctx);
    }
    return VBS_OK;
}

static int choose_opset(const struct vbs_network *network)
{
    int opset = 0;

    for (int k = 1; k <= network->n_layers; k++)
        for (int f = -1; f < network->layers[k].n_fused; f++) {
            const struct vbs_layer *l = &network->layers[k];
            int needed = f < 0 ? vbs_export_opset(l->op, &l->attributes)
                               : vbs_export_opset(l->fused[f].op, &l->fused[f].attributes);

            opset = needed > opset ? needed : opset;
        }
    return opset;
}

/* ---- layers ---- */

/* Gives the shape of what the operator makes of a value of these dimensions. */
static struct export_dims result_dims(const struct exporter *e, const struct vbs_layer *l,
                                      int fused)
{
    enum vbs_op op = fused < 0 ? l->op : l->fused[fused].op;
    bool channels = vbs_export_has_channels(op);

    for (; fused >= 0 && !channels; fused--)
        channels = vbs_export_has_channels(fused > 0 ? l->fused[fused - 1].op : l->op);
    if (op == VBS_OP_FC && !l->attributes.weighted.rows) {
        struct vbs_shape row = {1, {l->attributes.weighted.out_channels}};

        return vbs_export_channels(e, &row);
    }
    return channels ? vbs_export_channels(e, &l->shape) : vbs_export_dims(e, &l->shape);
}

/* Gives the value that an operator makes the name of the network's output where it can have it. */
static enum vbs_status name_result(struct exporter *e, struct export_operator *o, bool last,
                                   struct export_value *value)
{
    const char *name = last ? e->outputs[o->layer] : NULL;

    for (int i = 0; name && i < e->network->n_outputs; i++) {
        const struct vbs_output *output = &e->network->outputs[i];
        struct export_dims dims = vbs_export_dims(e, &output->shape);

        if (output->layer != o->layer)
            continue;
        if (dims.n != value->dims.n ||
            memcmp(dims.dim, value->dims.dim, (size_t)dims.n * sizeof dims.dim[0]) != 0)
            name = NULL;
        break;
    }
    value->name = name ? name : vbs_export_name(e, o->name, "");
    o->output = value->name;
    return value->name ? VBS_OK : vbs_no_memory(e->ctx);
}

/* Writes an operator, and where its value is one of 8 bits, the nodes behind it. */
static enum vbs_status write_operator(struct exporter *e, struct export_operator *o)
{
    const char *name = o->output;

    if (!vbs_export_is_whole(e, o->layer, o->fused))
        return vbs_export_operator(o);
    o->output = vbs_export_name(e, name, ".float");
    if (!o->output)
        return vbs_no_memory(e->ctx);
    VBS_TRY(vbs_export_operator(o));
    return vbs_export_pair(e, o->layer, o->fused, o->output, name);
}

/* ---- inputs ---- */

/* Returns the element type that an input has in the file: that of its range. */
static int type_of(const struct vbs_input *input)
{
    static const struct {
        int type;
        int64_t least, most;
    } TYPES[] = {{ONNX__TENSOR_PROTO__DATA_TYPE__UINT8, 0, UINT8_MAX},
                 {ONNX__TENSOR_PROTO__DATA_TYPE__INT8, INT8_MIN, INT8_MAX},
                 {ONNX__TENSOR_PROTO__DATA_TYPE__UINT16, 0, UINT16_MAX},
                 {ONNX__TENSOR_PROTO__DATA_TYPE__INT16, INT16_MIN, INT16_MAX},
                 {ONNX__TENSOR_PROTO__DATA_TYPE__UINT32, 0, VBS_MAX_WHOLE}};

    if (input->number == VBS_NUMBER_REAL)
        return ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    if (input->number == VBS_NUMBER_BOOL)
        return ONNX__TENSOR_PROTO__DATA_TYPE__BOOL;
    for (size_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; i++)
        if (input->least == TYPES[i].least && input->most == TYPES[i].most)
            return TYPES[i].type;
    return ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
}

/* Makes the floats of an input. */
static enum vbs_status read_input(struct exporter *e, int input, struct export_value *value)
{
    const struct vbs_input *of = &e->network->inputs[input];
    const struct export_place none = {NULL, NULL};
    struct export_node node = vbs_export_node("Cast");

    *value = (struct export_value){e->inputs[input], vbs_export_dims(e, &of->shape)};
    if (of->number == VBS_NUMBER_REAL)
        return VBS_OK;
    value->name = vbs_export_name(e, e->inputs[input], ".float");
    if (!value->name)
        return vbs_no_memory(e->ctx);
    vbs_export_reads(&node, e->inputs[input]);
    vbs_export_int(&node, "to", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    return vbs_export_add(e, &node, &none, value->name);
}

/* Gives the input that a layer copies out of tensor 0; -1: it does not. */
static int find_part(const struct vbs_network *network, const struct vbs_layer *l)
{
    if (network->n_inputs == 1 || l->op != VBS_OP_SLICE || l->inputs[0] != 0 ||
        l->views[0].n_dims != 1 || l->attributes.slice.step[0] != 1)
        return -1;
    for (int i = 0; i < network->n_inputs; i++)
        if (network->inputs[i].first == l->attributes.slice.begin[0] &&
            vbs_shape_elements(&network->inputs[i].shape) == l->attributes.slice.count[0])
            return i;
    return -1;
}

/* Gives a layer that is the copy of an input the value of this input. Operators that are fused with
 * it read it in the shape of the copy. */
static enum vbs_status take_part(struct exporter *e, const struct vbs_layer *l, int input,
                                 struct export_value *value)
{
    struct export_dims dims = vbs_export_dims(e, &l->shape);

    VBS_TRY(read_input(e, input, value));
    if (l->n_fused == 0)
        return VBS_OK;
    VBS_TRY(vbs_export_reshape(e, value, &dims, &value->name));
    value->dims = dims;
    return VBS_OK;
}

/* Rounds the copy of an input where it is one of 8 bits. */
static enum vbs_status round_part(struct exporter *e, int layer, struct export_value *value)
{
    const char *from = value->name;

    if (!vbs_export_is_whole(e, layer, -1))
        return VBS_OK;
    value->name = vbs_export_name(e, from, ".rounded");
    return value->name ? vbs_export_pair(e, layer, -1, from, value->name) : vbs_no_memory(e->ctx);
}

/* Checks that a layer of a network with several inputs reads them one by one. */
static enum vbs_status check_reader(struct exporter *e, const struct vbs_layer *l)
{
    for (int i = 0; i < l->n_inputs && e->network->n_inputs > 1; i++)
        if (l->inputs[i] == 0)
            return vbs_fail(e->ctx, VBS_UNSUPPORTED, "layer '%.100s' reads several inputs as one",
                            l->name);
    return VBS_OK;
}

static enum vbs_status write_layer(struct exporter *e, int layer)
{
    const struct vbs_layer *l = &e->network->layers[layer];
    struct export_value value = {.name = NULL};
    int part = find_part(e->network, l);

    if (part < 0)
        VBS_TRY(check_reader(e, l));
    else
        VBS_TRY(take_part(e, l, part, &value));
    VBS_TRY(part < 0 ? VBS_OK : round_part(e, layer, &value));
    for (int f = part >= 0 ? 0 : -1; f < l->n_fused; f++) {
        struct export_operator o = {.e = e,
                                    .l = l,
                                    .layer = layer,
                                    .fused = f,
                                    .op = f < 0 ? l->op : l->fused[f].op,
                                    .name = f < 0 ? l->name : l->fused[f].name,
                                    .attributes = f < 0 ? &l->attributes : &l->fused[f].attributes,
                                    .in = value};

        if (f < 0 && l->n_inputs == 1) {
            VBS_TRY(vbs_export_input(&o, 0, 0, &o.in.name));
            o.in.dims = vbs_export_has_channels(o.op) ? vbs_export_channels(e, &l->views[0])
                                                      : vbs_export_dims(e, &l->views[0]);
        } else if (f >= 0 && vbs_export_has_channels(o.op)) {
            o.in.dims = vbs_export_channels(e, &l->shape);
            VBS_TRY(vbs_export_reshape(e, &value, &o.in.dims, &o.in.name));
        }
        value.dims = result_dims(e, l, f);
        VBS_TRY(name_result(e, &o, f + 1 == l->n_fused, &value));
        VBS_TRY(write_operator(e, &o));
    }
    e->values[layer] = value;
    return VBS_OK;
}

/* Makes the outputs that are no value yet: those of another shape than the value has, and further
 * ones of the same layer. */
static enum vbs_status write_outputs(struct exporter *e)
{
    const struct export_place none = {NULL, NULL};

    for (int i = 0; i < e->network->n_outputs; i++) {
        const struct vbs_output *output = &e->network->outputs[i];
        const struct export_value *value = &e->values[output->layer];
        struct export_dims dims = vbs_export_dims(e, &output->shape);
        struct export_node node = vbs_export_node("Reshape");
        const char *shape;

        if (strcmp(value->name, output->name) == 0)
            continue;
        VBS_TRY(vbs_export_numbers(e, output->name, ".shape", dims.dim, dims.n, NULL, &shape));
        vbs_export_reads(&node, value->name);
        vbs_export_reads(&node, shape);
        VBS_TRY(vbs_export_add(e, &node, &none, output->name));
    }
    return VBS_OK;
}

static enum vbs_status make_graph(struct exporter *e)
{
    const struct vbs_network *network = e->network;

    e->values = vbs_arena_alloc(&e->arena, (size_t)network->n_layers + 1, sizeof *e->values);
    if (!e->values)
        return vbs_no_memory(e->ctx);
    e->opset = choose_opset(network);
    VBS_TRY(name_outputs(e));
    VBS_TRY(name_inputs(e));
    if (network->n_inputs == 1)
        VBS_TRY(read_input(e, 0, &e->values[0]));
    if (vbs_export_is_whole(e, 0, -1)) {
        const char *read = e->values[0].name;

        if (!read)
            return vbs_fail(e->ctx, VBS_UNSUPPORTED,
                            "several inputs cannot be written as one of 8 bits");
        e->values[0].name = vbs_export_name(e, read, ".rounded");
        if (!e->values[0].name)
            return vbs_no_memory(e->ctx);
        VBS_TRY(vbs_export_pair(e, 0, -1, read, e->values[0].name));
    }
    for (int k = 1; k <= network->n_layers; k++) {
        VBS_TRY(vbs_check_cancel(e->ctx));
        VBS_TRY(write_layer(e, k));
    }
    return write_outputs(e);
}

/* ---- messages ---- */

static void put_varint(unsigned char *to, int *n, uint64_t value)
{
    for (; value > 127; value >>= 7)
        to[(*n)++] = (unsigned char)(value | 128);
    to[(*n)++] = (unsigned char)value;
}

/* Makes the tag and the length of a field in to, and gives their bytes. */
static int make_tag(unsigned char to[12], int number, int64_t length)
{
    int n = 0;

    put_varint(to, &n, (uint64_t)(number << 3 | 2));
    put_varint(to, &n, (uint64_t)length);
    return n;
}

static enum vbs_status append(struct exporter *e, struct export_bytes *bytes, const void *data,
                              int64_t n)
{
    VBS_TRY(vbs_grow(e->ctx, &bytes->data, &bytes->capacity, bytes->length + n, 1));
    if (n > 0)
        memcpy(bytes->data + bytes->length, data, (size_t)n);
    bytes->length += n;
    return VBS_OK;
}

/* Packs a message into bytes, as field number of the message around it where that is above 0. */
static enum vbs_status append_message(struct exporter *e, struct export_bytes *bytes, int number,
                                      const ProtobufCMessage *message)
{
    int64_t n = (int64_t)protobuf_c_message_get_packed_size(message);
    unsigned char tag[12];

    if (number > 0)
        VBS_TRY(append(e, bytes, tag, make_tag(tag, number, n)));
    VBS_TRY(vbs_grow(e->ctx, &bytes->data, &bytes->capacity, bytes->length + n + 1, 1));
    protobuf_c_message_pack(message, bytes->data + bytes->length);
    bytes->length += n;
    return VBS_OK;
}

static enum vbs_status append_text(struct exporter *e, struct export_bytes *bytes, int number,
                                   const char *text)
{
    unsigned char tag[12];
    int64_t n = (int64_t)strlen(text);

    VBS_TRY(append(e, bytes, tag, make_tag(tag, number, n)));
    return append(e, bytes, text, n);
}

/* Appends an input or output of the graph. */
static enum vbs_status append_value(struct exporter *e, struct export_bytes *bytes, int number,
                                    const char *name, const struct vbs_shape *shape, int element)
{
    Onnx__ValueInfoProto value = ONNX__VALUE_INFO_PROTO__INIT;
    Onnx__TypeProto type = ONNX__TYPE_PROTO__INIT;
    Onnx__TypeProto__Tensor tensor = ONNX__TYPE_PROTO__TENSOR__INIT;
    Onnx__TensorShapeProto list = ONNX__TENSOR_SHAPE_PROTO__INIT;
    Onnx__TensorShapeProto__Dimension dims[EXPORT_MAX_DIMS];
    Onnx__TensorShapeProto__Dimension *pointers[EXPORT_MAX_DIMS];
    struct export_dims of_value = vbs_export_dims(e, shape);
    char batch[] = "N";

    for (int d = 0; d < of_value.n; d++) {
        bool open = of_value.dim[d] == 0;

        onnx__tensor_shape_proto__dimension__init(&dims[d]);
        dims[d].value_case = open ? ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM
                                  : ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        if (open)
            dims[d].dim_param = batch;
        else
            dims[d].dim_value = of_value.dim[d];
        pointers[d] = &dims[d];
    }
    list.n_dim = (size_t)of_value.n;
    list.dim = pointers;
    tensor.has_elem_type = true;
    tensor.elem_type = element;
    tensor.shape = &list;
    type.value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type.tensor_type = &tensor;
    value.name = (char *)(uintptr_t)name;
    value.type = &type;
    return append_message(e, bytes, number, &value.base);
}

/* Makes the end of the graph, behind its nodes and constants. */
static enum vbs_status make_tail(struct exporter *e, struct export_bytes *tail)
{
    const struct vbs_network *network = e->network;

    VBS_TRY(append_text(e, tail, 2, network->name));
    if (network->about[0])
        VBS_TRY(append_text(e, tail, 10, network->about));
    for (int i = 0; i < network->n_inputs; i++)
        VBS_TRY(append_value(e, tail, 11, e->inputs[i], &network->inputs[i].shape,
                             type_of(&network->inputs[i])));
    for (int i = 0; i < network->n_outputs; i++)
        VBS_TRY(append_value(e, tail, 12, network->outputs[i].name, &network->outputs[i].shape,
                             ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT));
    return VBS_OK;
}

/* Makes the beginning of the file, before the graph. */
static enum vbs_status make_head(struct exporter *e, struct export_bytes *head)
{
    Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
    Onnx__OperatorSetIdProto opset = ONNX__OPERATOR_SET_ID_PROTO__INIT, *opsets[] = {&opset};
    Onnx__StringStringEntryProto normalise = ONNX__STRING_STRING_ENTRY_PROTO__INIT;
    Onnx__StringStringEntryProto whole = ONNX__STRING_STRING_ENTRY_PROTO__INIT;
    Onnx__StringStringEntryProto *entries[2];
    char normalise_key[] = VBS_NORMALISE_KEY, whole_key[] = VBS_WHOLE_KEY, yes[] = "yes";
    char producer[] = "vbslab", version[] = VBS_VERSION_STRING, domain[] = "";

    opset.domain = domain;
    opset.has_version = true;
    opset.version = e->opset;
    model.has_ir_version = true;
    /* the version of the format that came with the operators */
    model.ir_version = e->opset < 15 ? 7 : e->opset < 19 ? 8 : 9;
    model.producer_name = producer;
    model.producer_version = version;
    model.n_opset_import = 1;
    model.opset_import = opsets;
    model.metadata_props = entries;
    if (e->network->normalise) {
        normalise.key = normalise_key;
        normalise.value = (char *)(uintptr_t)e->network->normalise;
        entries[model.n_metadata_props++] = &normalise;
    }
    if (e->network->whole) {
        whole.key = whole_key;
        whole.value = yes;
        entries[model.n_metadata_props++] = &whole;
    }
    return append_message(e, head, 0, &model.base);
}

static int64_t value_bytes(const struct export_constant *c)
{
    switch (c->type) {
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT64:
        return c->count * 8;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT8:
    case ONNX__TENSOR_PROTO__DATA_TYPE__UINT8:
        return c->count;
    default:
        return c->count * 4;
    }
}

/* Makes a constant without its values: the beginning of the field of the graph. */
static enum vbs_status make_constant(struct exporter *e, const struct export_constant *c,
                                     struct export_bytes *bytes)
{
    Onnx__TensorProto tensor = ONNX__TENSOR_PROTO__INIT;
    struct export_dims dims = c->dims;
    unsigned char outer[12], inner[12];
    int n_inner = make_tag(inner, 9, value_bytes(c));
    int64_t n;

    tensor.name = (char *)(uintptr_t)c->name;
    tensor.has_data_type = true;
    tensor.data_type = c->type;
    tensor.n_dims = (size_t)dims.n;
    tensor.dims = dims.dim;
    n = (int64_t)onnx__tensor_proto__get_packed_size(&tensor) + n_inner + value_bytes(c);
    bytes->length = 0;
    VBS_TRY(append(e, bytes, outer, make_tag(outer, 5, n)));
    VBS_TRY(append_message(e, bytes, 0, &tensor.base));
    return append(e, bytes, inner, n_inner);
}

/* ---- writing ---- */

/* A file that is being written. */
struct output_file {
    struct vbs_new_file file;
    int64_t at;
    struct export_bytes head, tail, constant;
    float *piece;
};

static enum vbs_status put(struct exporter *e, struct output_file *out, const void *data, int64_t n)
{
    VBS_TRY(vbs_check_cancel(e->ctx));
    VBS_TRY(vbs_new_file_write(e->ctx, &out->file, out->at, data, n));
    out->at += n;
    return VBS_OK;
}

static enum vbs_status put_values(struct exporter *e, struct output_file *out,
                                  const struct export_constant *c)
{
    if (c->data)
        return put(e, out, c->data, value_bytes(c));
    for (int64_t done = 0; done < c->count; done += PIECE_VALUES) {
        int64_t left = c->count - done, n = left < PIECE_VALUES ? left : PIECE_VALUES;

        if (c->layer > 0)
            VBS_TRY(vbs_parameter_values(e->ctx, e->network, c->layer, c->fused, c->what, done, n,
                                         out->piece));
        for (int64_t i = 0; i < n && c->layer == 0; i++)
            out->piece[i] = c->fill;
        VBS_TRY(put(e, out, out->piece, n * (int64_t)sizeof *out->piece));
    }
    return VBS_OK;
}

/* Gives the bytes of the graph. */
static enum vbs_status measure_graph(struct exporter *e, struct output_file *out, int64_t *bytes)
{
    *bytes = e->nodes.length + out->tail.length;
    for (int64_t i = 0; i < e->n_constants; i++) {
        VBS_TRY(make_constant(e, &e->constants[i], &out->constant));
        *bytes += out->constant.length + value_bytes(&e->constants[i]);
    }
    if (*bytes + out->head.length + 12 > LONGEST_FILE)
        return vbs_fail(e->ctx, VBS_UNSUPPORTED,
                        "'%.100s' would take %lld bytes as an ONNX file; programs read up to %d",
                        e->network->name, (long long)*bytes, LONGEST_FILE);
    return VBS_OK;
}

/* Makes all but the values of constants; *graph is the length of the graph with these. */
static enum vbs_status make_file(struct exporter *e, struct output_file *out, int64_t *graph)
{
    VBS_TRY(vbs_network_check_floats(e->ctx, e->network, "export"));
    VBS_TRY(vbs_export_check_table(e));
    VBS_TRY(make_graph(e));
    VBS_TRY(make_head(e, &out->head));
    VBS_TRY(make_tail(e, &out->tail));
    VBS_TRY(measure_graph(e, out, graph));
    out->piece = malloc((size_t)PIECE_VALUES * sizeof *out->piece);
    return out->piece ? VBS_OK : vbs_no_memory(e->ctx);
}

static enum vbs_status put_file(struct exporter *e, struct output_file *out, int64_t graph)
{
    unsigned char tag[12];

    VBS_TRY(put(e, out, out->head.data, out->head.length));
    VBS_TRY(put(e, out, tag, make_tag(tag, 7, graph)));
    VBS_TRY(put(e, out, e->nodes.data, e->nodes.length));
    for (int64_t i = 0; i < e->n_constants; i++) {
        VBS_TRY(make_constant(e, &e->constants[i], &out->constant));
        VBS_TRY(put(e, out, out->constant.data, out->constant.length));
        VBS_TRY(put_values(e, out, &e->constants[i]));
    }
    return put(e, out, out->tail.data, out->tail.length);
}

static void keep_in_arena(void *name)
{
    (void)name; /* lives in the arena */
}

static void clear(struct exporter *e, struct output_file *out)
{
    free(out->head.data);
    free(out->tail.data);
    free(out->constant.data);
    free(out->piece);
    free(e->nodes.data);
    free(e->constants);
    tdestroy(e->names, keep_in_arena);
    vbs_arena_clear(&e->arena);
}

enum vbs_status vbs_export_write(struct vbs_ctx *ctx, const struct vbs_network *network,
                                 const struct vbs_int8_table *table, const char *path,
                                 int descriptor)
{
    struct exporter e = {.ctx = ctx, .network = network, .int8 = table};
    struct output_file out = {.file = {.descriptor = descriptor, .path = path}};
    int64_t graph;
    enum vbs_status status = make_file(&e, &out, &graph);

    if (status == VBS_OK)
        status = put_file(&e, &out, graph);
    clear(&e, &out);
    return status;
}

enum vbs_status vbs_network_export_int8(struct vbs_ctx *ctx, const struct vbs_network *network,
                                        const struct vbs_int8_table *table, const char *path)
{
    struct exporter e = {.ctx = ctx, .network = network, .int8 = table};
    struct output_file out = {.at = 0};
    int64_t graph;
    enum vbs_status status = make_file(&e, &out, &graph);

    if (status == VBS_OK)
        status = vbs_new_file_open(ctx, path, &out.file);
    if (status == VBS_OK)
        status = put_file(&e, &out, graph);
    if (status == VBS_OK)
        status = vbs_new_file_commit(ctx, &out.file);
    vbs_new_file_abandon(&out.file);
    clear(&e, &out);
    return status;
}

enum vbs_status vbs_network_export(struct vbs_ctx *ctx, const struct vbs_network *network,
                                   const char *path)
{
    return vbs_network_export_int8(ctx, network, NULL, path);
}
