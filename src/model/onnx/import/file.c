#include "model/onnx/import/file.h"

#include "base/arith.h"
#include "base/fail.h"
#include "model/onnx/import/functions.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PATH 4096

/* ---- unpacking ---- */

struct memory {
    struct vbs_source *source;
    bool failed;
};

static void *take_memory_of_source(void *self, size_t size)
{
    struct memory *memory = self;
    void *bytes = vbs_source_alloc(memory->source, 1, size);

    memory->failed |= !bytes;
    return bytes;
}

static void leave_to_source(void *self, void *bytes)
{
    (void)self, (void)bytes; /* the arena lives as long as the source */
}

/* Keeps the blobs of a skeleton as long as the source. */
static enum vbs_status keep_blobs(struct vbs_ctx *ctx, const struct vbs_onnx_skeleton *skeleton,
                                  struct vbs_onnx_file *file)
{
    size_t n = (size_t)skeleton->n_blobs;
    struct vbs_onnx_blob *blobs = vbs_source_alloc(file->source, n, sizeof *blobs);

    if (!blobs)
        return vbs_no_memory(ctx);
    if (n > 0)
        memcpy(blobs, skeleton->blobs, n * sizeof *blobs);
    file->blobs = blobs;
    file->n_blobs = skeleton->n_blobs;
    return VBS_OK;
}

static enum vbs_status unpack(struct vbs_ctx *ctx, struct vbs_onnx_file *file,
                              const struct vbs_onnx_skeleton *skeleton, bool tensor)
{
    struct memory memory = {.source = file->source};
    ProtobufCAllocator allocator = {
        .alloc = take_memory_of_source, .free = leave_to_source, .allocator_data = &memory};
    const ProtobufCMessage *unpacked = protobuf_c_message_unpack(
        tensor ? &onnx__tensor_proto__descriptor : &onnx__model_proto__descriptor, &allocator,
        skeleton->length, skeleton->data);

    if (memory.failed)
        return vbs_no_memory(ctx);
    if (!unpacked)
        return vbs_fail(ctx, VBS_FORMAT, "no ONNX file; its fields have other types");
    if (tensor)
        file->tensor = (const Onnx__TensorProto *)(const void *)unpacked;
    else
        file->model = (const Onnx__ModelProto *)(const void *)unpacked;
    return keep_blobs(ctx, skeleton, file);
}

enum vbs_status vbs_onnx_file_read(struct vbs_ctx *ctx, struct vbs_source *source, const char *path,
                                   bool tensor, struct vbs_onnx_file *file)
{
    struct vbs_onnx_file read = {.path = path, .source = source};
    struct vbs_onnx_skeleton skeleton;
    enum vbs_status status;

    VBS_TRY(vbs_source_open(ctx, source, path, &read.number, &read.bytes));
    VBS_TRY(vbs_onnx_walk(ctx, source, read.number, read.bytes, tensor, &skeleton));
    status = unpack(ctx, &read, &skeleton, tensor);
    vbs_onnx_skeleton_clear(&skeleton);
    if (status == VBS_OK && !tensor)
        status = vbs_onnx_expand_functions(ctx, source, read.model, &read.graph);
    if (status == VBS_OK)
        *file = read;
    return status;
}

/* ---- tensors ---- */

static enum vbs_status wrong_bytes(struct vbs_ctx *ctx, int64_t got, int64_t want)
{
    return vbs_fail(ctx, VBS_FORMAT, "%lld bytes of values where its shape asks for %lld",
                    (long long)got, (long long)want);
}

/* Gives the number of bytes that c's elements take as they are stored. */
static int64_t stored_bytes(const struct vbs_onnx_constant *c)
{
    return vbs_elements_bytes(c->values.element, vbs_shape_elements(&c->shape));
}

static enum vbs_status take_blob(struct vbs_ctx *ctx, const struct vbs_onnx_file *file,
                                 const struct vbs_onnx_blob *blob, struct vbs_onnx_constant *c)
{
    if (blob->field == VBS_ONNX_FIELD_FLOAT_DATA)
        c->values.element = VBS_F32;
    else if (blob->field == VBS_ONNX_FIELD_DOUBLE_DATA)
        c->values.element = VBS_F64;
    if (blob->bytes != stored_bytes(c))
        return wrong_bytes(ctx, blob->bytes, stored_bytes(c));
    c->values.file = file->number;
    c->values.offset = blob->offset;
    return VBS_OK;
}

/* Takes n elements from memory. */
static enum vbs_status take_memory(struct vbs_ctx *ctx, enum vbs_element element, size_t n,
                                   const void *memory, struct vbs_onnx_constant *c)
{
    int64_t count = vbs_shape_elements(&c->shape);

    c->values.element = element;
    if ((int64_t)n != count)
        return wrong_bytes(ctx, vbs_elements_bytes(element, (int64_t)n),
                           vbs_elements_bytes(element, count));
    c->values.memory = memory;
    return VBS_OK;
}

/* Takes 16-bit floats, each of which stands in a word of 32 bits. */
static enum vbs_status take_halves(struct vbs_ctx *ctx, const struct vbs_onnx_file *file,
                                   const Onnx__TensorProto *tensor, struct vbs_onnx_constant *c)
{
    uint16_t *halves = vbs_source_alloc(file->source, tensor->n_int32_data, sizeof *halves);

    if (!halves)
        return vbs_no_memory(ctx);
    for (size_t i = 0; i < tensor->n_int32_data; i++)
        halves[i] = (uint16_t)tensor->int32_data[i];
    return take_memory(ctx, c->values.element, tensor->n_int32_data, halves, c);
}

/* Takes numbers of 4 bits, two of which stand in a word of 32 bits. */
static enum vbs_status take_nibbles(struct vbs_ctx *ctx, const struct vbs_onnx_file *file,
                                    const Onnx__TensorProto *tensor, struct vbs_onnx_constant *c)
{
    uint8_t *pairs = vbs_source_alloc(file->source, tensor->n_int32_data, sizeof *pairs);

    if (!pairs)
        return vbs_no_memory(ctx);
    for (size_t i = 0; i < tensor->n_int32_data; i++)
        pairs[i] = (uint8_t)tensor->int32_data[i];
    if ((int64_t)tensor->n_int32_data != stored_bytes(c))
        return wrong_bytes(ctx, (int64_t)tensor->n_int32_data, stored_bytes(c));
    c->values.memory = pairs;
    return VBS_OK;
}

/* Takes the elements from the field for the tensor's type; for tensors without raw_data. */
static enum vbs_status take_typed(struct vbs_ctx *ctx, const struct vbs_onnx_file *file,
                                  const Onnx__TensorProto *tensor, struct vbs_onnx_constant *c)
{
    switch (c->values.element) {
    case VBS_F32:
        return take_memory(ctx, VBS_F32, tensor->n_float_data, tensor->float_data, c);
    case VBS_F64:
        return take_memory(ctx, VBS_F64, tensor->n_double_data, tensor->double_data, c);
    case VBS_I64:
        return take_memory(ctx, VBS_I64, tensor->n_int64_data, tensor->int64_data, c);
    case VBS_U32:
    case VBS_U64:
        return take_memory(ctx, VBS_U64, tensor->n_uint64_data, tensor->uint64_data, c);
    case VBS_F16:
    case VBS_BF16:
        return take_halves(ctx, file, tensor, c);
    case VBS_I4:
    case VBS_U4:
        return take_nibbles(ctx, file, tensor, c);
    default:
        return take_memory(ctx, VBS_I32, tensor->n_int32_data, tensor->int32_data, c);
    }
}

/* ---- external data ---- */

static const char *entry(const Onnx__TensorProto *tensor, const char *key)
{
    for (size_t i = 0; i < tensor->n_external_data; i++)
        if (tensor->external_data[i]->key && strcmp(tensor->external_data[i]->key, key) == 0)
            return tensor->external_data[i]->value;
    return NULL;
}

static bool is_inside(const char *location)
{
    if (location[0] == '/' || location[0] == '\0')
        return false;
    for (const char *part = location; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return false;
    }
    return true;
}

/* Makes the path of a file of external data from its location, which is relative to the model
 * file. */
static enum vbs_status external_path(struct vbs_ctx *ctx, const struct vbs_onnx_file *file,
                                     const char *location, char *path)
{
    const char *slash = strrchr(file->path, '/');
    size_t folder = slash ? (size_t)(slash - file->path) + 1 : 0;

    if (!is_inside(location))
        return vbs_fail(ctx, VBS_FORMAT,
                        "its values are in '%.100s', which is not within the model's folder",
                        location);
    if (folder + strlen(location) >= MAX_PATH)
        return vbs_fail(ctx, VBS_FORMAT, "the path of its values is longer than %d bytes",
                        MAX_PATH - 1);
    memcpy(path, file->path, folder);
    strcpy(path + folder, location);
    return VBS_OK;
}

/* Copies the folder of path, with its slash, into folder: "./" where path has no folder. */
static void folder_of(const char *path, char folder[MAX_PATH])
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + 1 : 0;

    if (length == 0)
        strcpy(folder, "./");
    else
        snprintf(folder, MAX_PATH, "%.*s", (int)length, path);
}

/* Gives whether the file at real, which has no symbolic links in it, is in folder or below. */
static bool lies_in(const char *real, const char *folder)
{
    char clean[PATH_MAX];
    size_t length;

    if (!realpath(folder, clean))
        return false;
    length = strlen(clean);
    while (length > 0 && clean[length - 1] == '/') /* the root folder */
        length--;
    return strncmp(real, clean, length) == 0 && real[length] == '/';
}

/* Follows the symbolic links of path: real is the file itself, which must be in the folder of the
 * model, or in that of the file that the model's path is a link to (a cache of downloads keeps
 * models and their values so). A file that is not there is left to the call that opens it. */
static enum vbs_status follow_links(struct vbs_ctx *ctx, const struct vbs_onnx_file *file,
                                    const char *location, char path[MAX_PATH])
{
    char real[PATH_MAX], model[PATH_MAX], folder[MAX_PATH];

    if (!realpath(path, real))
        return VBS_OK;
    folder_of(file->path, folder);
    if (!lies_in(real, folder)) {
        if (!realpath(file->path, model))
            return vbs_fail(ctx, VBS_IO, "cannot open '%.300s': %s", file->path, strerror(errno));
        folder_of(model, folder);
        if (!lies_in(real, folder))
            return vbs_fail(ctx, VBS_FORMAT,
                            "its values are in '%.100s', a link to a file that is not within the "
                            "model's folder",
                            location);
    }
    if (strlen(real) >= MAX_PATH)
        return vbs_fail(ctx, VBS_FORMAT, "the path of its values is longer than %d bytes",
                        MAX_PATH - 1);
    strcpy(path, real);
    return VBS_OK;
}

/* Opens the file of external data at a location, which becomes its name. */
static enum vbs_status open_external(struct vbs_ctx *ctx, const struct vbs_onnx_file *file,
                                     const char *location, int *number, int64_t *bytes)
{
    char path[MAX_PATH];

    VBS_TRY(external_path(ctx, file, location, path));
    VBS_TRY(follow_links(ctx, file, location, path));
    VBS_TRY(vbs_source_open(ctx, file->source, path, number, bytes));
    return vbs_source_name(ctx, file->source, location, *number);
}

/* Gives the whole number that the text of an entry holds, or missing where the file has no such
 * entry. */
static enum vbs_status entry_number(struct vbs_ctx *ctx, const Onnx__TensorProto *tensor,
                                    const char *key, int64_t missing, int64_t *number)
{
    const char *text = entry(tensor, key);
    char *end;
    long long value;

    *number = missing;
    if (!text)
        return VBS_OK;
    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < 0)
        return vbs_fail(ctx, VBS_FORMAT, "'%.40s' is no %s of external data", text, key);
    *number = value;
    return VBS_OK;
}

static enum vbs_status take_external(struct vbs_ctx *ctx, const struct vbs_onnx_file *file,
                                     const Onnx__TensorProto *tensor, struct vbs_onnx_constant *c)
{
    const char *location = entry(tensor, "location");
    int64_t want = stored_bytes(c), length = want, bytes, end;

    if (!location)
        return vbs_fail(ctx, VBS_FORMAT, "external data without a location");
    VBS_TRY(entry_number(ctx, tensor, "offset", 0, &c->values.offset));
    VBS_TRY(entry_number(ctx, tensor, "length", want, &length));
    if (length != want)
        return wrong_bytes(ctx, length, want);
    if (!vbs_source_find(file->source, location, &c->values.file, &bytes))
        VBS_TRY(open_external(ctx, file, location, &c->values.file, &bytes));
    if (!vbs_add(c->values.offset, want, &end) || end > bytes)
        return vbs_fail(ctx, VBS_FORMAT, "'%.100s' has %lld bytes, too few for %lld at %lld",
                        location, (long long)bytes, (long long)want, (long long)c->values.offset);
    return VBS_OK;
}

/* ---- constants ---- */

static enum vbs_status take_shape(struct vbs_ctx *ctx, size_t n, const int64_t *dims,
                                  struct vbs_shape *shape)
{
    if (n > VBS_MAX_DIMS)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "%zu dimensions, more than %d", n, VBS_MAX_DIMS);
    shape->n_dims = (int)n;
    for (int i = 0; i < shape->n_dims; i++) {
        int64_t dim = dims[i];

        if (dim < 0 || dim > VBS_MAX_DIM)
            return vbs_fail(ctx, VBS_FORMAT, "dimension %d is %lld", i, (long long)dim);
        shape->dim[i] = dim;
    }
    return vbs_onnx_bounded(shape) ? VBS_OK : vbs_fail(ctx, VBS_FORMAT, "more than 2^36 elements");
}

/* Reads a number of seven bits a byte, the lowest first. */
static uint64_t varint_of(const uint8_t *data, size_t length)
{
    uint64_t value = 0;

    for (size_t i = 0; i < length && i < 10; i++)
        value |= (uint64_t)(data[i] & 0x7f) << 7 * i;
    return value;
}

/* Finds where the array of a tensor stands in the file; null where the tensor itself contains
 * it. */
static const struct vbs_onnx_blob *find_blob(const struct vbs_onnx_file *file,
                                             const Onnx__TensorProto *tensor)
{
    const struct vbs_onnx_blob *found = NULL;

    for (unsigned i = 0; i < tensor->base.n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *field = &tensor->base.unknown_fields[i];
        uint64_t number = varint_of(field->data, field->len);

        if (field->tag == VBS_ONNX_FIELD_BLOB && number < (uint64_t)file->n_blobs)
            found = &file->blobs[number];
    }
    return found;
}

static enum vbs_status fill_values(struct vbs_ctx *ctx, const struct vbs_onnx_file *file,
                                   const Onnx__TensorProto *tensor, struct vbs_onnx_constant *c)
{
    const struct vbs_onnx_blob *blob = find_blob(file, tensor);

    VBS_TRY(take_shape(ctx, tensor->n_dims, tensor->dims, &c->shape));
    vbs_onnx_plain_strides(&c->shape, c->stride);
    c->type = tensor->data_type;
    if (!vbs_onnx_element(c->type, &c->values.element))
        return vbs_fail(ctx, VBS_UNSUPPORTED, "element type %s", vbs_onnx_type_name(c->type));
    if (tensor->has_data_location &&
        tensor->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
        return take_external(ctx, file, tensor, c);
    if (blob)
        return take_blob(ctx, file, blob, c);
    if (!tensor->has_raw_data)
        return take_typed(ctx, file, tensor, c);
    if ((int64_t)tensor->raw_data.len != stored_bytes(c))
        return wrong_bytes(ctx, (int64_t)tensor->raw_data.len, stored_bytes(c));
    c->values.memory = tensor->raw_data.data;
    return VBS_OK;
}

/* Makes a constant without values, which has the name of a tensor; null: memory is out. */
static struct vbs_onnx_constant *name_constant(const struct vbs_onnx_file *file,
                                               const Onnx__TensorProto *tensor)
{
    struct vbs_onnx_constant *c = vbs_source_alloc(file->source, 1, sizeof *c);

    if (!c)
        return NULL;
    c->name = tensor->name ? tensor->name : "";
    c->values.file = -1;
    return c;
}

/* Says of which tensor the failure to fill a constant is; word: what the tensor is. */
static enum vbs_status name_failure(struct vbs_ctx *ctx, enum vbs_status status, const char *word,
                                    const struct vbs_onnx_constant *c)
{
    char prefix[128];

    if (status == VBS_OK || status == VBS_NO_MEMORY)
        return status;
    snprintf(prefix, sizeof prefix, "%s '%.100s'", word, c->name);
    return vbs_fail_within(ctx, status, prefix);
}

enum vbs_status vbs_onnx_file_constant(struct vbs_ctx *ctx, const struct vbs_onnx_file *file,
                                       const Onnx__TensorProto *tensor,
                                       struct vbs_onnx_constant **constant)
{
    struct vbs_onnx_constant *c = name_constant(file, tensor);

    if (!c)
        return vbs_no_memory(ctx);
    VBS_TRY(name_failure(ctx, fill_values(ctx, file, tensor, c), "tensor", c));
    *constant = c;
    return VBS_OK;
}

/* ---- sparse tensors ---- */

/* Reads the stored elements of a constant; the caller frees them with free(). */
static enum vbs_status load(struct vbs_ctx *ctx, const struct vbs_onnx_file *file,
                            const struct vbs_onnx_constant *c, void **stored)
{
    int64_t bytes = stored_bytes(c);
    char *data = malloc((size_t)bytes + 1);
    enum vbs_status status = VBS_OK;

    if (!data)
        return vbs_no_memory(ctx);
    if (c->values.memory)
        memcpy(data, c->values.memory, (size_t)bytes);
    else if (bytes > 0)
        status = vbs_source_keep(ctx, file->source, c->values.file, c->values.offset, bytes);
    if (status == VBS_OK && !c->values.memory && bytes > 0)
        status = vbs_source_read(ctx, file->source, c->values.file, c->values.offset, bytes, data);
    if (status == VBS_OK)
        *stored = data;
    else
        free(data);
    return status;
}

/* Converts element number i of a list of indices, each a number or a position in shape, to the
 * number of an element of shape; -1: there is none. */
static int64_t element_of(const struct vbs_shape *shape, const int64_t *indices, int64_t i,
                          bool positions)
{
    int64_t number = 0;

    if (!positions)
        return indices[i] < vbs_shape_elements(shape) ? indices[i] : -1;
    for (int d = 0; d < shape->n_dims; d++) {
        int64_t at = indices[i * shape->n_dims + d];

        if (at < 0 || at >= shape->dim[d])
            return -1;
        number = number * shape->dim[d] + at;
    }
    return number;
}

/* Puts the values of a sparse tensor into c, whose elements are zeros so far. */
static enum vbs_status place(struct vbs_ctx *ctx, const struct vbs_onnx_file *file,
                             const struct vbs_onnx_constant *values,
                             const struct vbs_onnx_constant *indices, struct vbs_onnx_constant *c,
                             char *zeros)
{
    bool positions = indices->shape.n_dims == 2;
    int64_t n = values->shape.dim[0], each = vbs_elements_bytes(values->values.element, 1);
    void *from = NULL, *at = NULL;
    enum vbs_status status = load(ctx, file, values, &from);

    if (status == VBS_OK)
        status = load(ctx, file, indices, &at);
    for (int64_t i = 0; i < n && status == VBS_OK; i++) {
        int64_t to = element_of(&c->shape, at, i, positions);

        if (to < 0)
            status = vbs_fail(ctx, VBS_FORMAT, "index %lld is beyond its shape", (long long)i);
        else
            memcpy(zeros + to * each, (const char *)from + i * each, (size_t)each);
    }
    free(from);
    free(at);
    return status;
}

static enum vbs_status fill_sparse(struct vbs_ctx *ctx, const struct vbs_onnx_file *file,
                                   const Onnx__SparseTensorProto *sparse, int64_t *bytes,
                                   struct vbs_onnx_constant *c)
{
    struct vbs_onnx_constant *values, *indices;
    int64_t need;
    char *zeros;

    VBS_TRY(vbs_onnx_file_constant(ctx, file, sparse->values, &values));
    VBS_TRY(vbs_onnx_file_constant(ctx, file, sparse->indices, &indices));
    VBS_TRY(take_shape(ctx, sparse->n_dims, sparse->dims, &c->shape));
    if (values->shape.n_dims != 1 || indices->values.element != VBS_I64 ||
        indices->shape.n_dims < 1 || indices->shape.n_dims > 2 ||
        indices->shape.dim[0] != values->shape.dim[0] ||
        (indices->shape.n_dims == 2 && indices->shape.dim[1] != c->shape.n_dims))
        return vbs_fail(ctx, VBS_FORMAT, "its indices are not those of its values");
    if (vbs_element_bits(values->values.element) < 8)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "a sparse tensor of %s",
                        vbs_onnx_type_name(values->type));
    need = vbs_elements_bytes(values->values.element, vbs_shape_elements(&c->shape));
    if (need > VBS_ONNX_MAX_SPARSE - *bytes)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "sparse tensors of more than %lld bytes together",
                        (long long)VBS_ONNX_MAX_SPARSE);
    *bytes += need;
    zeros = vbs_source_alloc(file->source, (size_t)need + 1, 1);
    if (!zeros)
        return vbs_no_memory(ctx);
    c->type = values->type;
    c->values.element = values->values.element;
    c->values.memory = zeros;
    vbs_onnx_plain_strides(&c->shape, c->stride);
    return place(ctx, file, values, indices, c, zeros);
}

enum vbs_status vbs_onnx_file_sparse(struct vbs_ctx *ctx, const struct vbs_onnx_file *file,
                                     const Onnx__SparseTensorProto *sparse, int64_t *bytes,
                                     struct vbs_onnx_constant **constant)
{
    struct vbs_onnx_constant *c;

    if (!sparse->values || !sparse->indices)
        return vbs_fail(ctx, VBS_FORMAT, "a sparse tensor without values or indices");
    c = name_constant(file, sparse->values);
    if (!c)
        return vbs_no_memory(ctx);
    VBS_TRY(name_failure(ctx, fill_sparse(ctx, file, sparse, bytes, c), "sparse tensor", c));
    *constant = c;
    return VBS_OK;
}
