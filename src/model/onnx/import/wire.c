#include "model/onnx/import/wire.h"

#include "base/fail.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW 65536
/* A length is written in that many bytes, since it is not known when they are written. */
#define LENGTH_BYTES 5

enum wire { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

/* The messages of onnx.proto that the walk goes into. */
enum message {
    MODEL,
    OPSET,
    FUNCTION,
    GRAPH,
    NODE,
    ATTRIBUTE,
    TENSOR,
    SPARSE,
    ENTRY,
    VALUE,
    TYPE,
    TENSOR_TYPE,
    SHAPE,
    DIMENSION,
    N_MESSAGES
};

/* What the walk does with a field. It leaves out fields that are not listed. */
enum field_action {
    LEAVE,
    COPY,   /* a number, or a text */
    BYTES,  /* a string of any bytes */
    NOTE,   /* a text that is left out when it is long */
    PACKED, /* an array of numbers, of any length */
    BLOB,   /* an array that stays in the file when it is large */
    ENTER,  /* a message */
    REFUSE
};

struct field {
    int number;
    enum field_action action;
    enum message message; /* the type of the message, for ENTER */
    const char *name;     /* the name of a field that is refused */
    bool once;            /* a second one would be merged with the first */
};

static const struct field MODEL_FIELDS[] = {{1, COPY, 0, NULL, false},
                                            {2, COPY, 0, NULL, false},
                                            {7, ENTER, GRAPH, "graph", true},
                                            {8, ENTER, OPSET, NULL, false},
                                            {14, ENTER, ENTRY, NULL, false},
                                            {25, ENTER, FUNCTION, NULL, false},
                                            {0}};
static const struct field OPSET_FIELDS[] = {
    {1, COPY, 0, NULL, false}, {2, COPY, 0, NULL, false}, {0}};
static const struct field FUNCTION_FIELDS[] = {
    {1, COPY, 0, NULL, false},
    {4, COPY, 0, NULL, false},
    {5, COPY, 0, NULL, false},
    {7, ENTER, NODE, NULL, false},
    {10, COPY, 0, NULL, false},
    {VBS_ONNX_FIELD_DEFAULTS, ENTER, ATTRIBUTE, NULL, false},
    {0}};
static const struct field GRAPH_FIELDS[] = {
    {1, ENTER, NODE, NULL, false},    {5, ENTER, TENSOR, NULL, false},
    {11, ENTER, VALUE, NULL, false},  {12, ENTER, VALUE, NULL, false},
    {15, ENTER, SPARSE, NULL, false}, {0}};
static const struct field NODE_FIELDS[] = {
    {1, COPY, 0, NULL, false},          {2, COPY, 0, NULL, false},
    {3, COPY, 0, NULL, false},          {4, COPY, 0, NULL, false},
    {5, ENTER, ATTRIBUTE, NULL, false}, {6, COPY, 0, NULL, false},
    {7, COPY, 0, NULL, false},          {0}};
static const struct field ATTRIBUTE_FIELDS[] = {{1, COPY, 0, NULL, false},
                                                {2, COPY, 0, NULL, false},
                                                {3, COPY, 0, NULL, false},
                                                {4, BYTES, 0, NULL, false},
                                                {5, ENTER, TENSOR, "t", true},
                                                {6, ENTER, GRAPH, "g", true},
                                                {7, PACKED, 0, NULL, false},
                                                {8, PACKED, 0, NULL, false},
                                                {9, BYTES, 0, NULL, false},
                                                {20, COPY, 0, NULL, false},
                                                {21, COPY, 0, NULL, false},
                                                {22, ENTER, SPARSE, "sparse_tensor", true},
                                                {0}};
static const struct field SPARSE_FIELDS[] = {{1, ENTER, TENSOR, "values", true},
                                             {2, ENTER, TENSOR, "indices", true},
                                             {3, PACKED, 0, NULL, false},
                                             {0}};
static const struct field TENSOR_FIELDS[] = {{1, PACKED, 0, NULL, false},
                                             {2, COPY, 0, NULL, false},
                                             {3, REFUSE, 0, "tensors in segments", false},
                                             {VBS_ONNX_FIELD_FLOAT_DATA, BLOB, 0, NULL, false},
                                             {5, PACKED, 0, NULL, false},
                                             {7, PACKED, 0, NULL, false},
                                             {8, COPY, 0, NULL, false},
                                             {VBS_ONNX_FIELD_RAW_DATA, BLOB, 0, "raw_data", true},
                                             {VBS_ONNX_FIELD_DOUBLE_DATA, BLOB, 0, NULL, false},
                                             {11, PACKED, 0, NULL, false},
                                             {13, ENTER, ENTRY, NULL, false},
                                             {14, COPY, 0, NULL, false},
                                             {0}};
static const struct field ENTRY_FIELDS[] = {
    {1, COPY, 0, NULL, false}, {2, NOTE, 0, NULL, false}, {0}};
static const struct field VALUE_FIELDS[] = {
    {1, COPY, 0, NULL, false}, {2, ENTER, TYPE, "type", true}, {0}};
static const struct field TYPE_FIELDS[] = {{1, ENTER, TENSOR_TYPE, "tensor_type", true}, {0}};
static const struct field TENSOR_TYPE_FIELDS[] = {
    {1, COPY, 0, NULL, false}, {2, ENTER, SHAPE, "shape", true}, {0}};
static const struct field SHAPE_FIELDS[] = {{1, ENTER, DIMENSION, NULL, false}, {0}};
static const struct field DIMENSION_FIELDS[] = {
    {1, COPY, 0, NULL, false}, {2, COPY, 0, NULL, false}, {0}};

static const struct field *const FIELDS[N_MESSAGES] = {
    [MODEL] = MODEL_FIELDS,   [OPSET] = OPSET_FIELDS,         [FUNCTION] = FUNCTION_FIELDS,
    [GRAPH] = GRAPH_FIELDS,   [NODE] = NODE_FIELDS,           [ATTRIBUTE] = ATTRIBUTE_FIELDS,
    [TENSOR] = TENSOR_FIELDS, [SPARSE] = SPARSE_FIELDS,       [ENTRY] = ENTRY_FIELDS,
    [VALUE] = VALUE_FIELDS,   [TYPE] = TYPE_FIELDS,           [TENSOR_TYPE] = TENSOR_TYPE_FIELDS,
    [SHAPE] = SHAPE_FIELDS,   [DIMENSION] = DIMENSION_FIELDS,
};

struct walk {
    struct vbs_ctx *ctx;
    const struct vbs_source *source;
    int file;
    int64_t bytes; /* of the file */
    int64_t at;
    unsigned char window[WINDOW];
    int64_t window_at, window_bytes;
    struct vbs_onnx_skeleton *out;
    int64_t capacity, blobs_capacity;
    int n_fields;
    int depth; /* graphs that the walk is inside of */
};

static enum vbs_status broken(struct walk *w, const char *what)
{
    return vbs_fail(w->ctx, VBS_FORMAT, "byte %lld: %s", (long long)w->at, what);
}

/* Reads the byte at w->at, which lies before end, and advances. */
static enum vbs_status next_byte(struct walk *w, int64_t end, unsigned *byte)
{
    if (w->at >= end)
        return broken(w, "a field is cut off");
    if (w->at < w->window_at || w->at >= w->window_at + w->window_bytes) {
        int64_t left = w->bytes - w->at, n = left < WINDOW ? left : WINDOW;
        int64_t present = vbs_source_present(w->source, w->file, w->at);

        n = present > 0 && present < n ? present : n;
        VBS_TRY(vbs_source_read(w->ctx, w->source, w->file, w->at, n, w->window));
        w->window_at = w->at;
        w->window_bytes = n;
    }
    *byte = w->window[w->at++ - w->window_at];
    return VBS_OK;
}

static enum vbs_status read_varint(struct walk *w, int64_t end, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        unsigned byte = 0;

        VBS_TRY(next_byte(w, end, &byte));
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return VBS_OK;
    }
    return broken(w, "a number has more than ten bytes");
}

/* Makes room for n more bytes of the skeleton. */
static enum vbs_status reserve(struct walk *w, size_t n)
{
    size_t need = w->out->length + n;

    if (need > VBS_ONNX_MAX_SKELETON)
        return broken(w, "more than 32 MiB beside the weights");
    return vbs_grow(w->ctx, &w->out->data, &w->capacity, (int64_t)need, 1);
}

static void put_varint(struct walk *w, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        w->out->data[w->out->length++] = (unsigned char)(value | 0x80);
    w->out->data[w->out->length++] = (unsigned char)value;
}

/* Writes the key of a field that is copied, and makes room for n bytes behind it. */
static enum vbs_status put_key(struct walk *w, int number, int wire, size_t n)
{
    if (++w->n_fields > VBS_ONNX_MAX_FIELDS)
        return broken(w, "more than 2^20 fields beside the weights");
    VBS_TRY(reserve(w, n + 10));
    put_varint(w, (uint64_t)number << 3 | (uint64_t)wire);
    return VBS_OK;
}

/* Copies the next n bytes, which the file is known to have. */
static enum vbs_status take_bytes(struct walk *w, int64_t n, unsigned char *to)
{
    int64_t from = w->at - w->window_at;

    w->at += n;
    if (from < 0 || from + n > w->window_bytes)
        return vbs_source_read(w->ctx, w->source, w->file, w->at - n, n, to);
    memcpy(to, w->window + from, (size_t)n);
    return VBS_OK;
}

static enum vbs_status copy_bytes(struct walk *w, int number, int64_t length)
{
    VBS_TRY(put_key(w, number, WIRE_BYTES, (size_t)length));
    put_varint(w, (uint64_t)length);
    w->out->length += (size_t)length;
    return take_bytes(w, length, w->out->data + w->out->length - length);
}

/* Copies a text. What unpacks it takes it for a string of C, which a zero byte ends: behind one,
 * a location of weights could say anything. */
static enum vbs_status copy_text(struct walk *w, int number, int64_t length)
{
    const char *text;

    VBS_TRY(copy_bytes(w, number, length));
    text = (const char *)w->out->data + w->out->length - length;
    if (length == 0 || !memchr(text, '\0', (size_t)length))
        return VBS_OK;
    return vbs_fail(w->ctx, VBS_FORMAT, "byte %lld: the text '%.100s' goes on behind a zero byte",
                    (long long)(w->at - length), text);
}

/* Records the place of a blob, whose number becomes a field of its TensorProto, and skips it. */
static enum vbs_status leave_blob(struct walk *w, int number, int64_t length)
{
    struct vbs_onnx_skeleton *out = w->out;

    VBS_TRY(vbs_grow(w->ctx, &out->blobs, &w->blobs_capacity, (int64_t)out->n_blobs + 1,
                     sizeof *out->blobs));
    VBS_TRY(put_key(w, VBS_ONNX_FIELD_BLOB, WIRE_VARINT, 10));
    put_varint(w, (uint64_t)out->n_blobs);
    out->blobs[out->n_blobs++] =
        (struct vbs_onnx_blob){.field = number, .offset = w->at, .bytes = length};
    w->at += length;
    return VBS_OK;
}

static enum vbs_status walk_message(struct walk *w, enum message message, int64_t end);

static enum vbs_status enter(struct walk *w, const struct field *field, int64_t length)
{
    enum vbs_status status = put_key(w, field->number, WIRE_BYTES, LENGTH_BYTES);
    size_t place = w->out->length, written;

    if (status != VBS_OK)
        return status;
    w->out->length += LENGTH_BYTES;
    w->depth += field->message == GRAPH;
    if (w->depth > VBS_ONNX_MAX_NESTED)
        return vbs_fail(w->ctx, VBS_UNSUPPORTED, "byte %lld: graphs nested deeper than %d",
                        (long long)w->at, VBS_ONNX_MAX_NESTED);
    VBS_TRY(walk_message(w, field->message, w->at + length));
    w->depth -= field->message == GRAPH;
    written = w->out->length - place - LENGTH_BYTES;
    for (int i = 0; i < LENGTH_BYTES; i++, written >>= 7)
        w->out->data[place + (size_t)i] =
            (unsigned char)((written & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
    return VBS_OK;
}

static enum vbs_status walk_bytes(struct walk *w, const struct field *field, int64_t end)
{
    uint64_t length;

    VBS_TRY(read_varint(w, end, &length));
    if (length > (uint64_t)(end - w->at))
        return vbs_fail(w->ctx, VBS_FORMAT,
                        "byte %lld: a field of %llu bytes where %lld are left; the file is cut off "
                        "or damaged",
                        (long long)w->at, (unsigned long long)length, (long long)(end - w->at));
    switch (field ? field->action : LEAVE) {
    case NOTE: /* in metadata there are whole dictionaries */
        if (length > VBS_ONNX_MAX_TEXT) {
            w->at += (int64_t)length;
            return VBS_OK;
        }
        return copy_text(w, field->number, (int64_t)length);
    case COPY:
    case BYTES:
        if (length > VBS_ONNX_MAX_TEXT)
            return broken(w, "a text of more than 64 KiB");
        return field->action == COPY ? copy_text(w, field->number, (int64_t)length)
                                     : copy_bytes(w, field->number, (int64_t)length);
    case BLOB:
        if (length > VBS_ONNX_KEPT_BYTES)
            return leave_blob(w, field->number, (int64_t)length);
        return copy_bytes(w, field->number, (int64_t)length);
    case PACKED:
        return copy_bytes(w, field->number, (int64_t)length);
    case ENTER:
        return enter(w, field, (int64_t)length);
    default:
        w->at += (int64_t)length;
        return VBS_OK;
    }
}

/* Copies a single number, of n bytes or, where n is 0, a varint. */
static enum vbs_status walk_number(struct walk *w, const struct field *field, int wire, int n,
                                   int64_t end)
{
    bool copied = field && field->action != ENTER && field->action != LEAVE;
    uint64_t value = 0;
    unsigned char bytes[8] = {0};
    enum vbs_status status = n ? VBS_OK : read_varint(w, end, &value);

    for (int i = 0; i < n && status == VBS_OK; i++) {
        unsigned byte = 0;

        status = next_byte(w, end, &byte);
        bytes[i] = (unsigned char)byte;
    }
    if (status != VBS_OK || !copied)
        return status;
    VBS_TRY(put_key(w, field->number, wire, 10));
    if (n == 0)
        put_varint(w, value);
    memcpy(w->out->data + w->out->length, bytes, (size_t)n);
    w->out->length += (size_t)n;
    return VBS_OK;
}

static const struct field *find_field(enum message message, uint64_t number)
{
    for (const struct field *field = FIELDS[message]; field->number; field++)
        if ((uint64_t)field->number == number)
            return field;
    return NULL;
}

static enum vbs_status walk_field(struct walk *w, enum message message, int64_t end, unsigned *seen)
{
    const struct field *field;
    uint64_t key;

    VBS_TRY(read_varint(w, end, &key));
    if (key >> 3 == 0 || key >> 32)
        return broken(w, "no field of a protocol buffer; this is no ONNX file");
    field = find_field(message, key >> 3);
    if (field && field->action == REFUSE)
        return vbs_fail(w->ctx, VBS_UNSUPPORTED, "%s are not read", field->name);
    if (field && field->once && *seen >> field->number & 1)
        return vbs_fail(w->ctx, VBS_FORMAT, "byte %lld: a second '%s'", (long long)w->at,
                        field->name);
    if (field)
        *seen |= 1u << field->number;
    switch (key & 7) {
    case WIRE_VARINT:
        return walk_number(w, field, WIRE_VARINT, 0, end);
    case WIRE_64:
        return walk_number(w, field, WIRE_64, 8, end);
    case WIRE_32:
        return walk_number(w, field, WIRE_32, 4, end);
    case WIRE_BYTES:
        return walk_bytes(w, field, end);
    default:
        return broken(w, "no field of a protocol buffer; this is no ONNX file");
    }
}

/* Walks a message. The recursion is as deep as the messages above are nested, once for each graph
 * that is nested in others. */
static enum vbs_status walk_message(struct walk *w, enum message message, int64_t end)
{
    unsigned seen = 0;

    while (w->at < end)
        VBS_TRY(walk_field(w, message, end, &seen));
    return VBS_OK;
}

enum vbs_status vbs_onnx_walk(struct vbs_ctx *ctx, const struct vbs_source *source, int file,
                              int64_t bytes, bool tensor, struct vbs_onnx_skeleton *skeleton)
{
    struct walk *w = calloc(1, sizeof *w);
    struct vbs_onnx_skeleton out = {0};
    enum vbs_status status;

    if (!w)
        return vbs_no_memory(ctx);
    *w = (struct walk){.ctx = ctx, .source = source, .file = file, .bytes = bytes, .out = &out};
    status = reserve(w, 1);
    if (status == VBS_OK)
        status = walk_message(w, tensor ? TENSOR : MODEL, bytes);
    free(w);
    if (status == VBS_OK)
        *skeleton = out;
    else
        vbs_onnx_skeleton_clear(&out);
    return status;
}

void vbs_onnx_skeleton_clear(struct vbs_onnx_skeleton *skeleton)
{
    free(skeleton->data);
    free(skeleton->blobs);
    *skeleton = (struct vbs_onnx_skeleton){0};
}
