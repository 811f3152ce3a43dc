#include "vbslab/npy.h"

#include "base/fail.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC      "\x93NUMPY"
#define MAGIC_SIZE 6
#define MAX_HEADER 65536 /* bytes of a header; numpy reads up to 10000 from untrusted files */
#define ALIGNMENT  64    /* of the first value, in bytes */
#define MAX_TEXT   64    /* of a text in a header, with its end */

/* A header that is being read. */
struct cursor {
    struct vbs_ctx *ctx;
    const char *source;
    const char *at, *end;
};

/* The contents of a header. */
struct header {
    bool has_type, has_order, has_shape;
    char type[MAX_TEXT];
    int size; /* bytes of a value: 4 or 8 */
    bool swapped;
    bool fortran;
};

static enum vbs_status fail_header(const struct cursor *cursor, const char *what)
{
    return vbs_fail(cursor->ctx, VBS_FORMAT, "%s: malformed .npy header: %s", cursor->source, what);
}

/* ---- Python literals ---- */

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && strchr(" \t\r\n", *cursor->at) && *cursor->at)
        cursor->at++;
}

/* Skips c where it comes next, and returns true; else false. */
static bool skip_char(struct cursor *cursor, char c)
{
    skip_blanks(cursor);
    if (cursor->at == cursor->end || *cursor->at != c)
        return false;
    cursor->at++;
    return true;
}

static bool take_word(struct cursor *cursor, const char *word)
{
    size_t length = strlen(word);

    skip_blanks(cursor);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

/* Reads a text in quotes of either kind, without escapes, of less than MAX_TEXT bytes. */
static bool take_text(struct cursor *cursor, char text[MAX_TEXT])
{
    char quote = skip_char(cursor, '\'') ? '\'' : skip_char(cursor, '"') ? '"' : '\0';
    const char *from = cursor->at;
    size_t length;

    if (!quote)
        return false;
    while (cursor->at < cursor->end && *cursor->at != quote && *cursor->at != '\\')
        cursor->at++;
    length = (size_t)(cursor->at - from);
    if (length >= MAX_TEXT || cursor->at == cursor->end || *cursor->at != quote)
        return false;
    memcpy(text, from, length);
    text[length] = '\0';
    cursor->at++;
    return true;
}

/* Reads a whole number from 0 on, which may end with the L of Python 2. */
static bool take_number(struct cursor *cursor, int64_t *number)
{
    int64_t value = 0;
    const char *from;

    skip_blanks(cursor);
    from = cursor->at;
    for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *cursor->at - '0', &value))
            return false;
    if (cursor->at == from)
        return false;
    if (cursor->at < cursor->end && *cursor->at == 'L')
        cursor->at++;
    *number = value;
    return true;
}

/* ---- The header ---- */

static enum vbs_status read_type(struct cursor *cursor, struct header *header)
{
    const uint16_t one = 1;
    bool little = *(const char *)&one == 1;
    const char *type = header->type;

    if (!take_text(cursor, header->type))
        return fail_header(cursor, "'descr' is no plain type");
    header->has_type = true;
    if (!strchr("<>=", type[0]) || type[0] == '\0' ||
        (strcmp(type + 1, "f4") != 0 && strcmp(type + 1, "f8") != 0))
        return vbs_fail(cursor->ctx, VBS_FORMAT,
                        "%s: holds values of type '%s'; wanted are 32-bit floats ('<f4'), as "
                        "array.astype('float32') makes them",
                        cursor->source, type);
    header->size = type[2] - '0';
    header->swapped = type[0] != '=' && (type[0] == '<') != little;
    return VBS_OK;
}

static enum vbs_status read_order(struct cursor *cursor, struct header *header)
{
    header->has_order = true;
    header->fortran = take_word(cursor, "True");
    if (!header->fortran && !take_word(cursor, "False"))
        return fail_header(cursor, "'fortran_order' is neither True nor False");
    return VBS_OK;
}

static enum vbs_status read_shape(struct cursor *cursor, struct header *header, struct vbs_npy *npy)
{
    bool comma = true;

    header->has_shape = true;
    if (!skip_char(cursor, '('))
        return fail_header(cursor, "'shape' is no tuple");
    while (!skip_char(cursor, ')')) {
        if (!comma || npy->n_dims == VBS_NPY_MAX_DIMS ||
            !take_number(cursor, &npy->dim[npy->n_dims]))
            return fail_header(cursor, "'shape' is no tuple of at most 32 sizes");
        npy->n_dims++;
        comma = skip_char(cursor, ',');
    }
    return VBS_OK;
}

static enum vbs_status read_entry(struct cursor *cursor, struct header *header, struct vbs_npy *npy)
{
    char key[MAX_TEXT];

    if (!take_text(cursor, key) || !skip_char(cursor, ':'))
        return fail_header(cursor, "an entry is not KEY: VALUE");
    if (strcmp(key, "descr") == 0 && !header->has_type)
        return read_type(cursor, header);
    if (strcmp(key, "fortran_order") == 0 && !header->has_order)
        return read_order(cursor, header);
    if (strcmp(key, "shape") == 0 && !header->has_shape)
        return read_shape(cursor, header, npy);
    return fail_header(cursor, "a key that is unknown or comes twice");
}

static enum vbs_status read_header(struct cursor *cursor, struct header *header,
                                   struct vbs_npy *npy)
{
    bool comma = true;

    if (!skip_char(cursor, '{'))
        return fail_header(cursor, "it is no dictionary");
    while (!skip_char(cursor, '}')) {
        VBS_TRY(comma ? read_entry(cursor, header, npy)
                      : fail_header(cursor, "no comma between entries"));
        comma = skip_char(cursor, ',');
    }
    skip_blanks(cursor);
    if (cursor->at != cursor->end)
        return fail_header(cursor, "something follows the dictionary");
    if (!header->has_type || !header->has_order || !header->has_shape)
        return fail_header(cursor, "'descr', 'fortran_order' or 'shape' is missing");
    return VBS_OK;
}

/* Finds the header and sets cursor to it; *data and *length are the values. */
static enum vbs_status find_header(struct cursor *cursor, const char **data, size_t *length)
{
    const unsigned char *bytes = (const unsigned char *)*data;
    size_t before, size;

    if (*length < MAGIC_SIZE || memcmp(*data, MAGIC, MAGIC_SIZE) != 0)
        return vbs_fail(cursor->ctx, VBS_FORMAT, "%s: no .npy file: it does not begin as one",
                        cursor->source);
    if (*length < MAGIC_SIZE + 6)
        return fail_header(cursor, "the file ends in it");
    if (bytes[6] < 1 || bytes[6] > 3)
        return vbs_fail(cursor->ctx, VBS_FORMAT, "%s: .npy version %d; known are 1 to 3",
                        cursor->source, bytes[6]);
    before = bytes[6] == 1 ? 10 : 12;
    size = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1)
        size |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (size > *length - before)
        return fail_header(cursor, "the file ends in it");
    if (size > MAX_HEADER)
        return fail_header(cursor, "it is longer than 65536 bytes");
    cursor->at = *data + before;
    cursor->end = cursor->at + size;
    *data = cursor->end;
    *length -= before + size;
    return VBS_OK;
}

/* Multiplies the dimensions of the shape, and compares the product with the bytes of the values. */
static enum vbs_status check_size(const struct cursor *cursor, const struct header *header,
                                  int64_t limit, size_t length, struct vbs_npy *npy)
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
        return vbs_fail(cursor->ctx, VBS_FORMAT,
                        "%s: shape %s is more than the %" PRId64 " values that can be of use",
                        cursor->source, shape, limit);
    if (length % (size_t)header->size != 0 ||
        length / (size_t)header->size != (size_t)npy->n_values)
        return vbs_fail(cursor->ctx, VBS_FORMAT,
                        "%s: %zu bytes of values; shape %s of '%s' has %" PRId64, cursor->source,
                        length, shape, header->type, npy->n_values * header->size);
    return VBS_OK;
}

/* ---- Values ---- */

static float value_at(const struct header *header, const char *data, int64_t index)
{
    char bytes[8];
    double wide;
    float value;

    memcpy(bytes, data + index * header->size, (size_t)header->size);
    for (int i = 0; header->swapped && i < header->size / 2; i++) {
        char other = bytes[header->size - 1 - i];

        bytes[header->size - 1 - i] = bytes[i];
        bytes[i] = other;
    }
    if (header->size == 8) {
        memcpy(&wide, bytes, sizeof wide);
        return (float)wide;
    }
    memcpy(&value, bytes, sizeof value);
    return value;
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

static enum vbs_status take_values(struct vbs_ctx *ctx, const struct header *header,
                                   const char *data, struct vbs_npy *npy)
{
    bool same = header->size == 4 && !header->swapped && !header->fortran;

    if (npy->n_values == 0)
        return VBS_OK;
    npy->values = malloc((size_t)npy->n_values * sizeof *npy->values);
    if (!npy->values)
        return vbs_no_memory(ctx);
    if (same)
        memcpy(npy->values, data, (size_t)npy->n_values * sizeof *npy->values);
    for (int64_t i = 0; i < npy->n_values && !same; i++)
        npy->values[i] = value_at(header, data, header->fortran ? fortran_index(npy, i) : i);
    return VBS_OK;
}

enum vbs_status vbs_npy_parse(struct vbs_ctx *ctx, const char *source, const char *data,
                              size_t length, int64_t limit, struct vbs_npy *npy)
{
    struct cursor cursor = {.ctx = ctx, .source = source};
    struct header header = {0};
    struct vbs_npy made = {0};

    VBS_TRY(find_header(&cursor, &data, &length));
    VBS_TRY(read_header(&cursor, &header, &made));
    VBS_TRY(check_size(&cursor, &header, limit, length, &made));
    VBS_TRY(take_values(ctx, &header, data, &made));
    *npy = made;
    return VBS_OK;
}

enum vbs_status vbs_npy_read(struct vbs_ctx *ctx, const char *path, int64_t limit,
                             struct vbs_npy *npy)
{
    size_t most = SIZE_MAX - 1, length;
    char *data;
    enum vbs_status status;

    if ((uint64_t)limit < (most - MAX_HEADER - 12) / 8)
        most = (size_t)limit * 8 + MAX_HEADER + 12;
    VBS_TRY(vbs_read_file(ctx, path, most, &data, &length));
    status = vbs_npy_parse(ctx, strcmp(path, "-") == 0 ? "standard input" : path, data, length,
                           limit, npy);
    free(data);
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
    size_t before = MAGIC_SIZE + 4, size;

    vbs_text_add(text, MAGIC "0000");
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
