#include "base/npy_header.h"

#include "base/fail.h"

#include <string.h>

/* A header that is being read. */
struct cursor {
    struct vbs_ctx *ctx;
    const char *source;
    const char *at, *end;
    bool has_type, has_order, has_shape;
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

/* Reads a text in quotes of either kind, without escapes, of less than VBS_NPY_MAX_TEXT bytes. */
static bool take_text(struct cursor *cursor, char text[VBS_NPY_MAX_TEXT])
{
    char quote = skip_char(cursor, '\'') ? '\'' : skip_char(cursor, '"') ? '"' : '\0';
    const char *from = cursor->at;
    size_t length;

    if (!quote)
        return false;
    while (cursor->at < cursor->end && *cursor->at != quote && *cursor->at != '\\')
        cursor->at++;
    length = (size_t)(cursor->at - from);
    if (length >= VBS_NPY_MAX_TEXT || cursor->at == cursor->end || *cursor->at != quote)
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

static enum vbs_status read_type(struct cursor *cursor, struct vbs_npy_header *header)
{
    cursor->has_type = true;
    if (!take_text(cursor, header->type))
        return fail_header(cursor, "'descr' is no plain type");
    return VBS_OK;
}

static enum vbs_status read_order(struct cursor *cursor, struct vbs_npy_header *header)
{
    cursor->has_order = true;
    header->fortran = take_word(cursor, "True");
    if (!header->fortran && !take_word(cursor, "False"))
        return fail_header(cursor, "'fortran_order' is neither True nor False");
    return VBS_OK;
}

static enum vbs_status read_shape(struct cursor *cursor, struct vbs_npy_header *header)
{
    bool comma = true;

    cursor->has_shape = true;
    if (!skip_char(cursor, '('))
        return fail_header(cursor, "'shape' is no tuple");
    while (!skip_char(cursor, ')')) {
        if (!comma || header->n_dims == VBS_NPY_MAX_DIMS ||
            !take_number(cursor, &header->dim[header->n_dims]))
            return fail_header(cursor, "'shape' is no tuple of at most 32 sizes");
        header->n_dims++;
        comma = skip_char(cursor, ',');
    }
    return VBS_OK;
}

static enum vbs_status read_entry(struct cursor *cursor, struct vbs_npy_header *header)
{
    char key[VBS_NPY_MAX_TEXT];

    if (!take_text(cursor, key) || !skip_char(cursor, ':'))
        return fail_header(cursor, "an entry is not KEY: VALUE");
    if (strcmp(key, "descr") == 0 && !cursor->has_type)
        return read_type(cursor, header);
    if (strcmp(key, "fortran_order") == 0 && !cursor->has_order)
        return read_order(cursor, header);
    if (strcmp(key, "shape") == 0 && !cursor->has_shape)
        return read_shape(cursor, header);
    return fail_header(cursor, "a key that is unknown or comes twice");
}

static enum vbs_status read_entries(struct cursor *cursor, struct vbs_npy_header *header)
{
    bool comma = true;

    if (!skip_char(cursor, '{'))
        return fail_header(cursor, "it is no dictionary");
    while (!skip_char(cursor, '}')) {
        VBS_TRY(comma ? read_entry(cursor, header)
                      : fail_header(cursor, "no comma between entries"));
        comma = skip_char(cursor, ',');
    }
    skip_blanks(cursor);
    if (cursor->at != cursor->end)
        return fail_header(cursor, "something follows the dictionary");
    if (!cursor->has_type || !cursor->has_order || !cursor->has_shape)
        return fail_header(cursor, "'descr', 'fortran_order' or 'shape' is missing");
    return VBS_OK;
}

enum vbs_status vbs_npy_find_values(struct vbs_ctx *ctx, const char *source, const char *data,
                                    size_t length, size_t *n_bytes)
{
    const struct cursor cursor = {.ctx = ctx, .source = source};
    const unsigned char *bytes = (const unsigned char *)data;
    size_t before, size;

    if (length < VBS_NPY_MAGIC_SIZE || memcmp(data, VBS_NPY_MAGIC, VBS_NPY_MAGIC_SIZE) != 0)
        return vbs_fail(ctx, VBS_FORMAT, "%s: no .npy file: it does not begin as one", source);
    if (length < VBS_NPY_PREFIX)
        return fail_header(&cursor, "the file ends in it");
    if (bytes[6] < 1 || bytes[6] > 3)
        return vbs_fail(ctx, VBS_FORMAT, "%s: .npy version %d; known are 1 to 3", source, bytes[6]);
    before = bytes[6] == 1 ? 10 : 12;
    size = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1)
        size |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    *n_bytes = before + size;
    return VBS_OK;
}

enum vbs_status vbs_npy_read_header(struct vbs_ctx *ctx, const char *source, const char *data,
                                    size_t length, struct vbs_npy_header *header)
{
    struct cursor cursor = {.ctx = ctx, .source = source};
    struct vbs_npy_header made = {.n_dims = 0};

    VBS_TRY(vbs_npy_find_values(ctx, source, data, length, &made.n_bytes));
    if (made.n_bytes > length)
        return fail_header(&cursor, "the file ends in it");
    if (made.n_bytes > VBS_NPY_MAX_HEADER)
        return fail_header(&cursor, "it is longer than 65536 bytes");
    cursor.at = data + ((unsigned char)data[6] == 1 ? 10 : 12);
    cursor.end = data + made.n_bytes;
    VBS_TRY(read_entries(&cursor, &made));
    *header = made;
    return VBS_OK;
}

bool vbs_npy_is_swapped(const char *type)
{
    const uint16_t one = 1;
    bool little = *(const char *)&one == 1;

    return type[0] != '=' && type[0] != '|' && (type[0] == '<') != little;
}
