#include "model/network/values.h"

#include "base/arith.h"
#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES 65536 /* bytes that are converted at once */

/* Reading in another order: the most elements of a piece, and the elements that take as long to
 * read as a call of the system, so that gaps of as many are read, too. */
#define PIECE_VALUES 65536
#define CALL_VALUES  4096

/* Values that are asked for at once: the least and the most, and the elements of which a call
 * brings as many as this where the values lie in another order. */
#define LEAST_AT_ONCE ((int64_t)1 << 18)
#define MOST_AT_ONCE  ((int64_t)1 << 22)
#define RUN_VALUES    1024

int vbs_element_bits(enum vbs_element element)
{
    static const int bits[VBS_N_ELEMENTS] = {32, 64, 16, 16, 8, 8, 16, 16, 32, 32, 64, 64, 4, 4};

    return bits[element];
}

int64_t vbs_elements_bytes(enum vbs_element element, int64_t count)
{
    int bits = vbs_element_bits(element);

    return bits < 8 ? (count + 1) / 2 : count * (bits / 8);
}

static float brain(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &wide, sizeof value);
    return value;
}

/* Gives element number index of 4 bits each, those of one byte in turn; signed ones are from -8 to
 * 7. */
static int nibble(const unsigned char *at, int64_t index, bool is_signed)
{
    int value = at[index / 2] >> (index % 2 ? 4 : 0) & 15;

    return is_signed && value > 7 ? value - 16 : value;
}

/* Files are little-endian, and so are all machines for which vbslab is built. */
long double vbs_element_value(enum vbs_element element, const void *at, int64_t index)
{
    union {
        float f32;
        double f64;
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
    } v;

    if (element == VBS_I4 || element == VBS_U4)
        return nibble(at, index, element == VBS_I4);
    memcpy(&v, (const char *)at + index * (vbs_element_bits(element) / 8),
           (size_t)vbs_element_bits(element) / 8);
    switch (element) {
    case VBS_F64:
        return v.f64;
    case VBS_F16:
        return vbs_half(v.u16);
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
        return v.i32;
    case VBS_U32:
        return v.u32;
    case VBS_I64:
        return v.i64;
    case VBS_U64:
        return v.u64;
    default:
        return v.f32;
    }
}

/* Converts elements first .. first + count - 1 of those at at. The usual types of large weights are
 * converted in loops of their own. */
static void convert(enum vbs_element element, const void *at, int64_t first, int64_t count,
                    float *out)
{
    const int8_t *whole = at;
    const uint8_t *natural = at;

    if (element == VBS_F32)
        memcpy(out, (const char *)at + first * 4, (size_t)count * 4);
    else if (element == VBS_I8)
        for (int64_t i = 0; i < count; i++)
            out[i] = whole[first + i];
    else if (element == VBS_U8)
        for (int64_t i = 0; i < count; i++)
            out[i] = natural[first + i];
    else if (element == VBS_I4 || element == VBS_U4)
        for (int64_t i = 0; i < count; i++)
            out[i] = (float)nibble(at, first + i, element == VBS_I4);
    else
        for (int64_t i = 0; i < count; i++)
            out[i] = (float)vbs_element_value(element, at, first + i);
}

/* Applies one scale and zero, or, with a step of 1, those in turn. */
static void apply_run(const struct vbs_grid *grid, int64_t own, int64_t count, float *values)
{
    const float *scales = grid->scales + own, *zeros = grid->zeros ? grid->zeros + own : NULL;
    int64_t step = grid->inner_step;

    for (int64_t i = 0; i < count; i++)
        values[i] = (values[i] - (zeros ? zeros[i * step] : 0)) * scales[i * step];
}

int64_t vbs_grid_place(const struct vbs_grid *grid, int64_t element)
{
    int64_t at = element - grid->origin, position = at / grid->run;

    return position / grid->extent * grid->outer_step +
           position % grid->extent / grid->block * grid->block_step +
           at % grid->run * grid->inner_step;
}

void vbs_grid_apply(const struct vbs_grid *grid, int64_t first, int64_t count, float *values)
{
    for (int64_t done = 0, n; done < count; done += n) {
        int64_t at = first + done, left = grid->run - (at - grid->origin) % grid->run;

        n = left < count - done ? left : count - done;
        apply_run(grid, vbs_grid_place(grid, at), n, values + done);
    }
}

/* Reads contiguous elements first .. first + count - 1 without what they stand for. */
static enum vbs_status read_elements(struct vbs_ctx *ctx, const struct vbs_source *source,
                                     const struct vbs_values *v, int64_t first, int64_t count,
                                     float *out)
{
    int bits = vbs_element_bits(v->element);
    int64_t piece = (int64_t)PIECE_BYTES * 8 / bits - 2; /* two elements may share a byte */
    char room[PIECE_BYTES];

    if (v->memory) {
        convert(v->element, v->memory, first, count, out);
        return VBS_OK;
    }
    if (v->element == VBS_F32)
        return vbs_source_read(ctx, source, v->file, v->offset + first * 4, count * 4, out);
    for (int64_t done = 0; done < count; done += piece) {
        int64_t n = count - done < piece ? count - done : piece, at = first + done;
        int64_t shared = bits < 8 ? at % 2 : 0;

        VBS_TRY(vbs_source_read(ctx, source, v->file,
                                v->offset + vbs_elements_bytes(v->element, at - shared),
                                vbs_elements_bytes(v->element, n + shared), room));
        convert(v->element, room, shared, n, out + done);
    }
    return VBS_OK;
}

/* Reads stored elements first .. first + count - 1, which are contiguous. */
static enum vbs_status read_stored(struct vbs_ctx *ctx, const struct vbs_source *source,
                                   const struct vbs_values *v, int64_t first, int64_t count,
                                   float *out)
{
    VBS_TRY(read_elements(ctx, source, v, v->first + first, count, out));
    if (v->grid)
        vbs_grid_apply(v->grid, v->first + first, count, out);
    return VBS_OK;
}

/* ---- values in another order than they are stored ---- */

/* A dimension of a box: the stored elements and the requested ones. */
struct side {
    int64_t extent;
    int64_t stride; /* distance of stored elements */
    int64_t out;    /* distance of requested elements */
};

/* The values that are read, and space for a piece of them. */
struct strided {
    struct vbs_ctx *ctx;
    const struct vbs_source *source;
    const struct vbs_values *values;
    float *piece;                    /* PIECE_VALUES */
    int64_t block[VBS_MAX_DIMS + 1]; /* elements of dimensions d.. together */
};

/* Copies the requested elements of sides out of piece. */
static void gather_run(const float *piece, const struct side *sides, int n, float *out)
{
    if (n == 0) {
        *out = *piece;
        return;
    }
    if (n > 1) {
        for (int64_t i = 0; i < sides[n - 1].extent; i++)
            gather_run(piece + i * sides[n - 1].stride, sides, n - 1, out + i * sides[n - 1].out);
        return;
    }
    for (int64_t i = 0; i < sides[0].extent; i++)
        out[i * sides[0].out] = piece[i * sides[0].stride];
}

/* Returns the largest extent, at least 1, such that the first extent positions of a side are read
 * as one piece, of which each has span elements so far. The gaps between them take no longer to
 * read than the calls that they save. */
static int64_t fit_side(const struct side *side, int64_t span)
{
    int64_t most = side->stride > 0 ? 1 + (PIECE_VALUES - span) / side->stride : side->extent;

    if (side->stride > span + CALL_VALUES)
        return 1;
    return most < side->extent ? most : side->extent;
}

/* Reads a box whose first stored element is number at. sides are sorted by stride, the smallest
 * first; those below n_inner are read as one piece of span elements, in steps of extent of side
 * n_inner. */
static enum vbs_status read_box(const struct strided *r, const struct side *sides, int n,
                                int n_inner, int64_t span, int64_t at, float *out)
{
    if (n == n_inner) {
        VBS_TRY(read_stored(r->ctx, r->source, r->values, at, span, r->piece));
        gather_run(r->piece, sides, n_inner, out);
        return VBS_OK;
    }
    for (int64_t i = 0; i < sides[n - 1].extent; i++)
        VBS_TRY(read_box(r, sides, n - 1, n_inner, span, at + i * sides[n - 1].stride,
                         out + i * sides[n - 1].out));
    return VBS_OK;
}

/* Cuts a box into pieces, each of which is read at once. */
static enum vbs_status cut_box(const struct strided *r, struct side *sides, int n, int64_t at,
                               float *out)
{
    int64_t span = 1;
    enum vbs_status status = VBS_OK;

    for (int i = 0; i < n; i++) {
        struct side whole = sides[i];
        int64_t extent = fit_side(&whole, span);

        if (extent == whole.extent) {
            span += (extent - 1) * whole.stride;
            continue;
        }
        for (int64_t done = 0; done < whole.extent && status == VBS_OK; done += extent) {
            int64_t left = whole.extent - done;

            /* the side that is cut belongs to the inner sides, all others are outer */
            sides[i].extent = left < extent ? left : extent;
            status = read_box(r, sides, n, i + 1, span + (sides[i].extent - 1) * whole.stride,
                              at + done * whole.stride, out + done * whole.out);
        }
        sides[i] = whole;
        return status;
    }
    return read_box(r, sides, n, n, span, at, out);
}

/* Reads positions begin .. begin + extent - 1 of dimension d with all of the dimensions behind it.
 * at and out: the places of position 0 of d in the file and in the result. */
static enum vbs_status read_positions(const struct strided *r, int d, int64_t begin, int64_t extent,
                                      int64_t at, float *out)
{
    const struct vbs_values *v = r->values;
    struct side sides[VBS_MAX_DIMS];
    int n = 0;

    for (int i = d; i < v->n_dims; i++) {
        struct side side = {i == d ? extent : v->dim[i], v->stride[i], r->block[i + 1]};
        int place = n;

        if (side.extent == 1)
            continue;
        for (; place > 0 && sides[place - 1].stride > side.stride; place--)
            sides[place] = sides[place - 1];
        sides[place] = side;
        n++;
    }
    return cut_box(r, sides, n, at + begin * v->stride[d], out);
}

/* Reads values first .. first + count - 1 of those that dimensions d.. hold; at is the place of
 * their first value in the file. A beginning and an end that are not requested as a whole are
 * ranges of fewer dimensions. */
static enum vbs_status read_range(const struct strided *r, int d, int64_t at, int64_t first,
                                  int64_t count, float *out)
{
    while (count > 0) {
        int64_t each = r->block[d + 1], position = first / each, within = first % each, n;

        if (within == 0 && count >= each) {
            n = count / each * each;
            VBS_TRY(read_positions(r, d, position, count / each, at, out));
        } else {
            n = each - within < count ? each - within : count;
            VBS_TRY(read_range(r, d + 1, at + position * r->values->stride[d], within, n, out));
        }
        first += n;
        count -= n;
        out += n;
    }
    return VBS_OK;
}

static enum vbs_status read_strided(struct vbs_ctx *ctx, const struct vbs_source *source,
                                    const struct vbs_values *v, int64_t first, int64_t count,
                                    float *out)
{
    struct strided r = {ctx, source, v, malloc(PIECE_VALUES * sizeof(float)), {0}};
    enum vbs_status status;

    if (!r.piece)
        return vbs_no_memory(ctx);
    r.block[v->n_dims] = 1;
    for (int d = v->n_dims - 1; d >= 0; d--)
        r.block[d] = r.block[d + 1] * v->dim[d];
    status = read_range(&r, 0, 0, first, count, out);
    free(r.piece);
    return status;
}

enum vbs_status vbs_values_read(struct vbs_ctx *ctx, const struct vbs_source *source,
                                const struct vbs_values *v, int64_t first, int64_t count,
                                float *out)
{
    if (count == 0)
        return VBS_OK;
    if (!v->memory && v->file < 0)
        for (int64_t i = 0; i < count; i++)
            out[i] = (float)v->fill;
    else if (v->n_dims > 0)
        VBS_TRY(read_strided(ctx, source, v, first, count, out));
    else
        VBS_TRY(read_stored(ctx, source, v, first, count, out));
    for (int64_t i = 0; i < count; i++) {
        if (v->factor != 0)
            out[i] *= (float)v->factor;
        if (!v->unchecked && (isnan(out[i]) || (isinf(out[i]) && !v->infinite)))
            return vbs_fail(ctx, VBS_FORMAT, "parameter '%.200s': value %lld is %s", v->name,
                            (long long)(first + i), isnan(out[i]) ? "no number" : "infinite");
    }
    return VBS_OK;
}

int64_t vbs_values_at_once(const struct vbs_values *v)
{
    int64_t nearest = INT64_MAX, block = 1, between = 1, n;

    for (int d = v->n_dims - 1; d >= 0; d--) {
        if (v->dim[d] > 1 && v->stride[d] > 0 && v->stride[d] < nearest) {
            nearest = v->stride[d];
            between = block; /* so many values from one element to its neighbour */
        }
        block *= v->dim[d];
    }
    n = between * RUN_VALUES;
    return n < LEAST_AT_ONCE ? LEAST_AT_ONCE : n < MOST_AT_ONCE ? n : MOST_AT_ONCE;
}

struct vbs_extent vbs_values_extent(const struct vbs_values *v)
{
    int64_t n = v->count, begin;

    if (v->memory || v->file < 0 || v->count == 0)
        return (struct vbs_extent){0};
    if (v->n_dims > 0)
        n = 1;
    for (int d = 0; d < v->n_dims; d++)
        n += (v->dim[d] - 1) * v->stride[d];
    begin = v->first - (vbs_element_bits(v->element) < 8 ? v->first % 2 : 0);
    return (struct vbs_extent){.offset = v->offset + vbs_elements_bytes(v->element, begin),
                               .bytes = vbs_elements_bytes(v->element, v->first - begin + n)};
}
