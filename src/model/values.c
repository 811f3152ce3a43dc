#include "model/values.h"

#include "base/arena.h"
#include "base/fail.h"
#include "vbslab/units.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES 65536 /* read from a file at once */

struct file {
    const char *path;
    int descriptor;
    int64_t bytes;
};

struct vbs_source {
    struct vbs_arena arena;
    struct file *files;
    int n_files;
};

int vbs_element_bytes(enum vbs_element element)
{
    static const int bytes[VBS_N_ELEMENTS] = {4, 8, 2, 2, 1, 1, 2, 2, 4, 8};

    return bytes[element];
}

struct vbs_source *vbs_source_new(void)
{
    return calloc(1, sizeof(struct vbs_source));
}

void vbs_source_free(struct vbs_source *source)
{
    if (!source)
        return;
    for (int i = 0; i < source->n_files; i++)
        close(source->files[i].descriptor);
    free(source->files);
    vbs_arena_clear(&source->arena);
    free(source);
}

void *vbs_source_alloc(struct vbs_source *source, size_t n, size_t size)
{
    return vbs_arena_alloc(&source->arena, n, size);
}

/* Opens path into *file. */
static enum vbs_status open_file(struct vbs_ctx *ctx, const char *path, struct file *file)
{
    struct stat about;

    file->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (file->descriptor < 0)
        return vbs_fail(ctx, VBS_IO, "cannot open '%.300s': %s", path, strerror(errno));
    if (fstat(file->descriptor, &about) == 0 && S_ISREG(about.st_mode)) {
        file->bytes = about.st_size;
        return VBS_OK;
    }
    close(file->descriptor);
    return vbs_fail(ctx, VBS_IO, "cannot read '%.300s': no regular file", path);
}

enum vbs_status vbs_source_open(struct vbs_ctx *ctx, struct vbs_source *source, const char *path,
                                int *file, int64_t *bytes)
{
    struct file opened = {0}, *files;
    enum vbs_status status;
    int n = source->n_files;

    for (int i = 0; i < n; i++)
        if (strcmp(source->files[i].path, path) == 0) {
            *file = i;
            *bytes = source->files[i].bytes;
            return VBS_OK;
        }
    files = realloc(source->files, ((size_t)n + 1) * sizeof *files);
    if (!files)
        return vbs_no_memory(ctx);
    source->files = files;
    opened.path = vbs_arena_strdup(&source->arena, path);
    if (!opened.path)
        return vbs_no_memory(ctx);
    status = open_file(ctx, path, &opened);
    if (status != VBS_OK)
        return status;
    files[n] = opened;
    source->n_files = n + 1;
    *file = n;
    *bytes = opened.bytes;
    return VBS_OK;
}

static double half(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 0    ? ldexp(fraction, -24)
                   : exponent == 31 ? (fraction ? NAN : INFINITY)
                                    : ldexp(1024 + fraction, exponent - 25);

    return bits >> 15 ? -value : value;
}

static float brain(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &wide, sizeof value);
    return value;
}

/* One element; files are little-endian, as are the machines that vbslab runs on. */
static float element_value(enum vbs_element element, const char *at)
{
    union {
        float f32;
        double f64;
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        int64_t i64;
    } v;

    memcpy(&v, at, (size_t)vbs_element_bytes(element));
    switch (element) {
    case VBS_F64:
        return (float)v.f64;
    case VBS_F16:
        return (float)half(v.u16);
    case VBS_BF16:
        return brain(v.u16);
    case VBS_I8:
        return v.i8;
    case VBS_U8:
        return v.u8;
    case VBS_I16:
        return v.i16;
    case VBS_U16:
        return v.u16;
    case VBS_I32:
        return (float)v.i32;
    case VBS_I64:
        return (float)v.i64;
    default:
        return v.f32;
    }
}

static enum vbs_status read_bytes(struct vbs_ctx *ctx, const struct file *file, int64_t offset,
                                  int64_t bytes, char *to)
{
    while (bytes > 0) {
        ssize_t got = pread(file->descriptor, to, (size_t)bytes, offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return vbs_fail(ctx, VBS_IO, "cannot read '%.200s': %s", file->path,
                            got < 0 ? strerror(errno) : "it ends before its values");
        to += got;
        offset += got;
        bytes -= got;
    }
    return VBS_OK;
}

/* Stored elements first .. first + count - 1, one after the other. */
static enum vbs_status read_stored(struct vbs_ctx *ctx, const struct vbs_source *source,
                                   const struct vbs_values *v, int64_t first, int64_t count,
                                   float *out)
{
    int64_t size = vbs_element_bytes(v->element), piece = PIECE_BYTES / size;
    enum vbs_status status = VBS_OK;
    char room[PIECE_BYTES];

    if (v->memory) {
        for (int64_t i = 0; i < count; i++)
            out[i] = element_value(v->element, (const char *)v->memory + (first + i) * size);
        return VBS_OK;
    }
    if (v->element == VBS_F32)
        return read_bytes(ctx, &source->files[v->file], v->offset + first * size, count * size,
                          (char *)out);
    for (int64_t done = 0; done < count && status == VBS_OK; done += piece) {
        int64_t n = count - done < piece ? count - done : piece;

        status = read_bytes(ctx, &source->files[v->file], v->offset + (first + done) * size,
                            n * size, room);
        for (int64_t i = 0; i < n && status == VBS_OK; i++)
            out[done + i] = element_value(v->element, room + i * size);
    }
    return status;
}

static int64_t stored_index(const struct vbs_values *v, int64_t i)
{
    int64_t at = 0;

    for (int d = v->n_dims - 1; d >= 0; d--) {
        at += i % v->dim[d] * v->stride[d];
        i /= v->dim[d];
    }
    return at;
}

/* Through a copy of the span that the values lie in. */
static enum vbs_status read_strided(struct vbs_ctx *ctx, const struct vbs_source *source,
                                    const struct vbs_values *v, int64_t first, int64_t count,
                                    float *out)
{
    int64_t low = INT64_MAX, high = 0;
    enum vbs_status status;
    float *span;

    for (int64_t i = first; i < first + count; i++) {
        int64_t at = stored_index(v, i);

        low = at < low ? at : low;
        high = at > high ? at : high;
    }
    span = malloc((size_t)(high - low + 1) * sizeof *span);
    if (!span)
        return vbs_no_memory(ctx);
    status = read_stored(ctx, source, v, low, high - low + 1, span);
    for (int64_t i = 0; i < count && status == VBS_OK; i++)
        out[i] = span[stored_index(v, first + i) - low];
    free(span);
    return status;
}

enum vbs_status vbs_values_read(struct vbs_ctx *ctx, const struct vbs_source *source,
                                const struct vbs_values *v, int64_t first, int64_t count,
                                float *out)
{
    enum vbs_status status = VBS_OK;

    if (count == 0)
        return VBS_OK;
    if (!v->memory && v->file < 0)
        for (int64_t i = 0; i < count; i++)
            out[i] = (float)v->fill;
    else if (v->n_dims > 0)
        status = read_strided(ctx, source, v, first, count, out);
    else
        status = read_stored(ctx, source, v, first, count, out);
    for (int64_t i = 0; i < count && status == VBS_OK; i++) {
        if (v->factor != 0)
            out[i] *= (float)v->factor;
        if (!isfinite(out[i]))
            status = vbs_fail(ctx, VBS_FORMAT, "parameter '%.200s': value %lld is %s", v->name,
                              (long long)(first + i), isnan(out[i]) ? "no number" : "infinite");
    }
    return status;
}
