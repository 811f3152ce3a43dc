#include "vbslab/npy.h"

#include "base/arith.h"
#include "base/fail.h"
#include "base/npy_header.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ALIGNMENT 64 /* of the first value, in bytes */

/* How the values of a file are stored. */
struct npy_layout {
    char kind; /* of the type: f, i, u or b */
    int size;  /* bytes of a value */
    bool swapped;
    bool fortran;
};

/* Finds out how values of a type are stored. */
static enum vbs_status read_type(struct vbs_ctx *ctx, const char *source, const char *type,
                                 struct npy_layout *layout)
{
    static const char *const KINDS[] = {"f2", "f4", "f8", "i1", "i2", "i4", "i8",
                                        "u1", "u2", "u4", "u8", "b1", NULL};
    int k = 0;

    while (KINDS[k] && (type[0] == '\0' || strcmp(type + 1, KINDS[k]) != 0))
        k++;
    if (!KINDS[k] || !strchr(KINDS[k][1] == '1' ? "<>=|" : "<>=", type[0]))
        return vbs_fail(
            ctx, VBS_FORMAT,
            "%s: holds values of type '%s'; wanted are 32-bit floats ('<f4'), as "
            "array.astype('float32') makes them, floats of 16 or 64 bits, whole numbers or "
            "bools",
            source, type);
    layout->kind = type[1];
    layout->size = type[2] - '0';
    layout->swapped = layout->size > 1 && vbs_npy_is_swapped(type);
    return VBS_OK;
}

/* Multiplies the dimensions of the shape, and compares the product with the bytes of the values. */
static enum vbs_status check_size(struct vbs_ctx *ctx, const char *source, const char *type,
                                  int size, int64_t limit, size_t length, struct vbs_npy *npy)
{
    char shape[80];
    bool fits = true;

    vbs_npy_shape(npy->n_dims, npy->dim, shape, sizeof shape);
    npy->n_values = 1;
    for (int i = 0; i < npy->n_dims; i++)
        if (npy->dim[i] == 0)
            npy->n_values = 0;
    for (int i = 0; i < npy->n_dims && npy->n_values > 0 && fits; i++)
        fits = !__builtin_mul_overflow(npy->n_values, npy->dim[i], &npy->n_values);
    if (!fits || npy->n_values > limit)
        return vbs_fail(ctx, VBS_FORMAT,
                        "%s: shape %s is more than the %" PRId64 " values that can be of use",
                        source, shape, limit);
    if (length % (size_t)size != 0 || length / (size_t)size != (size_t)npy->n_values)
        return vbs_fail(ctx, VBS_FORMAT, "%s: %zu bytes of values; shape %s of '%s' has %" PRId64,
                        source, length, shape, type, npy->n_values * size);
    return VBS_OK;
}

/* ---- Values ---- */

/* Gives the whole number that bytes are. One of 64 bits that is above the largest signed one
 * becomes that one, which is too large in any case. */
static int64_t whole_at(const struct npy_layout *layout, const char *bytes)
{
    bool is_signed = layout->kind == 'i';
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    switch (layout->size) {
    case 1:
        return is_signed ? (signed char)bytes[0] : (unsigned char)bytes[0];
    case 2:
        memcpy(&two, bytes, sizeof two);
        return is_signed ? (int16_t)two : two;
    case 4:
        memcpy(&four, bytes, sizeof four);
        return is_signed ? (int32_t)four : (int64_t)four;
    default:
        memcpy(&eight, bytes, sizeof eight);
        return !is_signed && eight > INT64_MAX ? INT64_MAX : (int64_t)eight;
    }
}

/* Puts a value's bytes in the order of this machine. */
static void take_bytes(const struct npy_layout *layout, const char *data, int64_t index,
                       char *bytes)
{
    memcpy(bytes, data + index * layout->size, (size_t)layout->size);
    for (int i = 0; layout->swapped && i < layout->size / 2; i++) {
        char other = bytes[layout->size - 1 - i];

        bytes[layout->size - 1 - i] = bytes[i];
        bytes[i] = other;
    }
}

static enum vbs_status value_at(struct vbs_ctx *ctx, const char *source,
                                const struct npy_layout *layout, const char *data, int64_t index,
                                float *value)
{
    char bytes[8];
    double wide;
    int64_t whole;

    take_bytes(layout, data, index, bytes);
    if (layout->kind == 'f' && layout->size == 4) {
        memcpy(value, bytes, sizeof *value);
        return VBS_OK;
    }
    if (layout->kind == 'f' && layout->size == 2) {
        uint16_t half;

        memcpy(&half, bytes, sizeof half);
        *value = (float)vbs_half(half);
        return VBS_OK;
    }
    if (layout->kind == 'f') {
        memcpy(&wide, bytes, sizeof wide);
        *value = (float)wide;
        return VBS_OK;
    }
    whole = whole_at(layout, bytes);
    if (whole < -VBS_NPY_MAX_WHOLE || whole > VBS_NPY_MAX_WHOLE)
        return vbs_fail(ctx, VBS_FORMAT,
                        "%s: has the whole number %" PRId64 "; 32-bit floats, with which "
                        "everything is computed, hold those up to 2^24 exactly",
                        source, whole);
    *value = layout->kind == 'b' ? (float)(whole != 0) : (float)whole;
    return VBS_OK;
}

/* Gives the place in Fortran order, whose first dimension varies fastest, of value index in C
 * order. */
static int64_t fortran_index(const struct vbs_npy *npy, int64_t index)
{
    int64_t stride = npy->n_values, at = 0;

    for (int i = npy->n_dims - 1; i >= 0; i--) {
        stride /= npy->dim[i];
        at += index % npy->dim[i] * stride;
        index /= npy->dim[i];
    }
    return at;
}

static enum vbs_status take_values(struct vbs_ctx *ctx, const char *source,
                                   const struct npy_layout *layout, const char *data,
                                   struct vbs_npy *npy)
{
    enum vbs_status status = VBS_OK;
    bool same = layout->kind == 'f' && layout->size == 4 && !layout->swapped && !layout->fortran;

    if (npy->n_values == 0)
        return VBS_OK;
    npy->values = malloc((size_t)npy->n_values * sizeof *npy->values);
    if (!npy->values)
        return vbs_no_memory(ctx);
    if (same)
        memcpy(npy->values, data, (size_t)npy->n_values * sizeof *npy->values);
    for (int64_t i = 0; i < npy->n_values && !same && status == VBS_OK; i++)
        status = value_at(ctx, source, layout, data, layout->fortran ? fortran_index(npy, i) : i,
                          &npy->values[i]);
    if (status != VBS_OK)
        free(npy->values);
    return status;
}

/* Reads the header in the first length bytes of a file of whole_length bytes: the layout of its
 * values, which begin at byte *first, and the array without them. */
static enum vbs_status read_head(struct vbs_ctx *ctx, const char *source, const char *data,
                                 size_t length, size_t whole_length, int64_t limit,
                                 struct npy_layout *layout, size_t *first, struct vbs_npy *npy)
{
    struct vbs_npy_header header;

    VBS_TRY(vbs_npy_read_header(ctx, source, data, length, &header));
    VBS_TRY(read_type(ctx, source, header.type, layout));
    layout->fortran = header.fortran;
    *first = header.n_bytes;
    npy->n_dims = header.n_dims;
    memcpy(npy->dim, header.dim, sizeof npy->dim);
    return check_size(ctx, source, header.type, layout->size, limit, whole_length - header.n_bytes,
                      npy);
}

enum vbs_status vbs_npy_parse(struct vbs_ctx *ctx, const char *source, const char *data,
                              size_t length, int64_t limit, struct vbs_npy *npy)
{
    struct npy_layout layout = {0};
    struct vbs_npy made = {0};
    size_t first;

    VBS_TRY(read_head(ctx, source, data, length, length, limit, &layout, &first, &made));
    VBS_TRY(take_values(ctx, source, &layout, data + first, &made));
    *npy = made;
    return VBS_OK;
}

enum vbs_status vbs_npy_read(struct vbs_ctx *ctx, const char *path, int64_t limit,
                             struct vbs_npy *npy)
{
    size_t most = SIZE_MAX - 1, length;
    char *data;
    enum vbs_status status;

    if ((uint64_t)limit < (most - VBS_NPY_MAX_HEADER) / 8)
        most = (size_t)limit * 8 + VBS_NPY_MAX_HEADER;
    VBS_TRY(vbs_read_file(ctx, path, most, &data, &length));
    status = vbs_npy_parse(ctx, strcmp(path, "-") == 0 ? "standard input" : path, data, length,
                           limit, npy);
    free(data);
    return status;
}

/* Opens a file that can be read again, and finds its length. A pipe cannot: whoever reads it later
 * would not get what is read here. */
static enum vbs_status open_again(struct vbs_ctx *ctx, const char *path, FILE **file,
                                  size_t *length)
{
    struct stat about;

    if (strcmp(path, "-") == 0)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "standard input can be read only once");
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return vbs_fail(ctx, VBS_UNSUPPORTED, "'%s' is no regular file", path);
    *file = fopen(path, "rbe");
    if (!*file)
        return vbs_fail(ctx, VBS_IO, "cannot open '%s': %s", path, strerror(errno));
    if (fstat(fileno(*file), &about) != 0) {
        fclose(*file);
        return vbs_fail(ctx, VBS_IO, "cannot read '%s': %s", path, strerror(errno));
    }
    *length = (size_t)about.st_size;
    return VBS_OK;
}

enum vbs_status vbs_npy_read_shape(struct vbs_ctx *ctx, const char *path, int64_t limit,
                                   struct vbs_npy *npy)
{
    struct npy_layout layout = {0};
    struct vbs_npy made = {0};
    size_t whole_length = 0, length, first;
    enum vbs_status status;
    FILE *file = NULL;
    char *data;

    VBS_TRY(open_again(ctx, path, &file, &whole_length));
    data = malloc(VBS_NPY_MAX_HEADER);
    length = data ? fread(data, 1, VBS_NPY_MAX_HEADER, file) : 0;
    if (!data)
        status = vbs_no_memory(ctx);
    else if (ferror(file))
        status = vbs_fail(ctx, VBS_IO, "cannot read '%s': %s", path, strerror(errno));
    else
        status = read_head(ctx, path, data, length, whole_length, limit, &layout, &first, &made);
    free(data);
    fclose(file);
    if (status == VBS_OK)
        *npy = made;
    return status;
}

void vbs_npy_clear(struct vbs_npy *npy)
{
    if (!npy)
        return;
    free(npy->values);
    *npy = (struct vbs_npy){0};
}

/* ---- Writing ---- */

/* Writes magic, length and header, padded so that the values are aligned. */
static void add_header(struct vbs_text *text, int n_dims, const int64_t *dim)
{
    const uint16_t one = 1;
    size_t before = VBS_NPY_MAGIC_SIZE + 4, size;

    vbs_text_add(text, VBS_NPY_MAGIC "0000");
    vbs_text_addf(text, "{'descr': '%cf4', 'fortran_order': False, 'shape': (",
                  *(const char *)&one == 1 ? '<' : '>');
    for (int i = 0; i < n_dims; i++)
        vbs_text_addf(text, "%s%" PRId64 "%s", i > 0 ? " " : "", dim[i],
                      n_dims == 1 || i + 1 < n_dims ? "," : "");
    vbs_text_add(text, "), }");
    while (!text->failed && (text->length + 1) % ALIGNMENT != 0)
        vbs_text_add(text, " ");
    vbs_text_add(text, "\n");
    if (text->failed)
        return;
    size = text->length - before;
    text->data[6] = 1;
    text->data[7] = 0;
    text->data[8] = (char)(size & 0xff);
    text->data[9] = (char)(size >> 8);
}

enum vbs_status vbs_npy_write(struct vbs_ctx *ctx, const char *path, int n_dims, const int64_t *dim,
                              const float *values)
{
    struct vbs_text text = {0};
    size_t size = sizeof *values;
    char *data = NULL;
    enum vbs_status status;

    if (n_dims < 0 || n_dims > VBS_NPY_MAX_DIMS)
        return vbs_fail(ctx, VBS_USAGE, "%s: %d dimensions; an array has 0 to %d", path, n_dims,
                        VBS_NPY_MAX_DIMS);
    for (int i = 0; i < n_dims; i++)
        if (dim[i] < 0)
            return vbs_fail(ctx, VBS_USAGE, "%s: dimension %d is %" PRId64 ", below 0", path, i + 1,
                            dim[i]);
    for (int i = 0; i < n_dims; i++)
        if (__builtin_mul_overflow(size, (size_t)dim[i], &size))
            return vbs_no_memory(ctx);
    add_header(&text, n_dims, dim);
    if (!text.failed && size < SIZE_MAX - text.length)
        data = malloc(text.length + size);
    if (!data) {
        vbs_text_clear(&text);
        return vbs_no_memory(ctx);
    }
    memcpy(data, text.data, text.length);
    if (size > 0)
        memcpy(data + text.length, values, size);
    status = vbs_write_file(ctx, path, data, text.length + size);
    free(data);
    vbs_text_clear(&text);
    return status;
}

char *vbs_npy_shape(int n_dims, const int64_t *dim, char *buffer, size_t size)
{
    size_t length = 0;

    snprintf(buffer, size, "%s", n_dims == 0 ? "one value" : "");
    for (int i = 0; i < n_dims && length < size; i++)
        length += (size_t)snprintf(buffer + length, size - length, "%s%" PRId64, i > 0 ? "x" : "",
                                   dim[i]);
    return buffer;
}
