/*
 * The loops; TABLE is the name of the table. This file is included once for each kind of processor,
 * by files that are compiled for it. Compilers make vectors of runs of RUN values.
 *
 * Rounding adds and subtracts 1.5 * 2^23, where floats are whole numbers.
 */
#include "backend/onednn/rows/rows.h"

#include <string.h>
#if defined(__AVX512VBMI__)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))
#define RUN    16
#define BLOCK  64 /* values that are computed aside */
#define MAGIC  12582912.0f

/* ---- whole numbers ---- */

INLINE int whole(uint8_t q, int sign)
{
    return (int)(uint8_t)(q ^ sign) - sign;
}

/* Gives what turns the bits of a whole number into one without a sign, and its offset. */
INLINE int sign_of(enum vbs_storage storage)
{
    return storage == VBS_INT8 ? 128 : 0;
}

INLINE int lowest(enum vbs_storage storage)
{
    return storage == VBS_INT8 ? -128 : 0;
}

INLINE int highest(enum vbs_storage storage)
{
    return storage == VBS_INT8 ? 127 : 255;
}

/* Gives the whole number next to x; what is no number becomes the lowest. */
INLINE int rounded(float x, float low, float high)
{
    x = x > low ? x : low;
    x = x < high ? x : high;
    return (int)((x + MAGIC) - MAGIC);
}

INLINE void decode_run(const struct vbs_encoding *e, const uint8_t *restrict q, int64_t n,
                       float *restrict x)
{
    float scale = e->scale;
    int zero = e->zero, sign = sign_of(e->storage);

    for (int64_t i = 0; i < n; i++)
        x[i] = scale * (float)(whole(q[i], sign) - zero);
}

static void decode(const struct vbs_encoding *e, const uint8_t *q, int64_t n, float *x)
{
    int64_t i = 0;

    for (; i + RUN <= n; i += RUN)
        decode_run(e, q + i, RUN, x + i);
    decode_run(e, q + i, n - i, x + i);
}

INLINE void encode_run(const struct vbs_encoding *e, const float *restrict x, int64_t n,
                       uint8_t *restrict q)
{
    float scale = e->scale;
    float low = (float)(lowest(e->storage) - e->zero);
    float high = (float)(highest(e->storage) - e->zero);
    int zero = e->zero;

    for (int64_t i = 0; i < n; i++)
        q[i] = (uint8_t)(rounded(x[i] / scale, low, high) + zero);
}

static void encode(const struct vbs_encoding *e, const float *x, int64_t n, uint8_t *q)
{
    int64_t i = 0;

    for (; i + RUN <= n; i += RUN)
        encode_run(e, x + i, RUN, q + i);
    encode_run(e, x + i, n - i, q + i);
}

/* ---- bfloat16 ---- */

static void widen(const uint16_t *restrict b, int64_t n, float *restrict x)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)b[i] << 16;

        memcpy(&x[i], &bits, sizeof bits);
    }
}

static void narrow(const float *restrict x, int64_t n, uint16_t *restrict b)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits, nearest;

        memcpy(&bits, &x[i], sizeof bits);
        nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
        b[i] = (uint16_t)(x[i] != x[i] ? 0x7fc0 : nearest);
    }
}

/* ---- tables ---- */

#if defined(__AVX512VBMI__)
INLINE void load_table(const uint8_t *table, __m512i *part)
{
    memcpy(part, table, 4 * sizeof *part);
}

INLINE void map_run(const __m512i *part, const uint8_t *from, int64_t n, uint8_t *to)
{
    for (int64_t i = 0; i < n; i += 64) {
        __mmask64 there = n - i < 64 ? ((__mmask64)1 << (n - i)) - 1 : ~(__mmask64)0;
        __m512i q = _mm512_maskz_loadu_epi8(there, from + i);
        __m512i low = _mm512_permutex2var_epi8(part[0], q, part[1]);
        __m512i high = _mm512_permutex2var_epi8(part[2], q, part[3]);

        _mm512_mask_storeu_epi8(to + i, there,
                                _mm512_mask_blend_epi8(_mm512_movepi8_mask(q), low, high));
    }
}
#define TABLE_PARTS __m512i part[4]
#else
INLINE void load_table(const uint8_t *table, const uint8_t **part)
{
    *part = table;
}

INLINE void map_run(const uint8_t *const *part, const uint8_t *from, int64_t n, uint8_t *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (*part)[from[i]];
}
#define TABLE_PARTS const uint8_t *part[1]
#endif

static void map(const uint8_t *table, const uint8_t *from, int64_t n, uint8_t *to)
{
    TABLE_PARTS;

    load_table(table, part);
    map_run(part, from, n, to);
}

static void map_units(const uint8_t *table, const uint8_t *from, int64_t from_step, int64_t unit,
                      int64_t n, uint8_t *to, int64_t to_step)
{
    TABLE_PARTS;

    load_table(table, part);
    for (int64_t i = 0; i < n; i++)
        map_run(part, from + i * from_step, unit, to + i * to_step);
}

/* ---- two operands ---- */

#if defined(__FMA__)
#define MULTIPLY_ADD(x, y, z) __builtin_fmaf(x, y, z)
#else
#define MULTIPLY_ADD(x, y, z) ((x) * (y) + (z))
#endif

INLINE void add_run(const struct od_mixture *m, const uint8_t *restrict a, int64_t a_step,
                    const uint8_t *restrict b, int64_t b_step, int64_t n, uint8_t *to)
{
    float factor = m->factor, second = m->second, shift = m->shift;
    float low = (float)m->low, high = (float)m->high;
    int sign_a = sign_of(m->a), sign_b = sign_of(m->b);

    for (int64_t i = 0; i < n; i++) {
        float x = (float)whole(a[i * a_step], sign_a), y = (float)whole(b[i * b_step], sign_b);
        float sum = MULTIPLY_ADD(x, factor, MULTIPLY_ADD(y, second, shift));

        to[i] = (uint8_t)rounded(sum, low, high);
    }
}

INLINE void multiply_run(const struct od_mixture *m, const uint8_t *restrict a, int64_t a_step,
                         const uint8_t *restrict b, int64_t b_step, int64_t n, uint8_t *to)
{
    float factor = m->factor, shift = m->shift;
    float low = (float)m->low, high = (float)m->high;
    int sign_a = sign_of(m->a), sign_b = sign_of(m->b);
    int zero_a = m->zero_a, zero_b = m->zero_b;

    for (int64_t i = 0; i < n; i++) {
        float x = (float)(whole(a[i * a_step], sign_a) - zero_a);
        float y = (float)(whole(b[i * b_step], sign_b) - zero_b);

        to[i] = (uint8_t)rounded(x * y * factor + shift, low, high);
    }
}

/* Defines a function of whole rows. Blocks are computed aside, because the output may lie where an
 * operand does. */
#define WHOLE_ROWS(name, run)                                                                      \
    INLINE int64_t name##_blocks(const struct od_mixture *m, const uint8_t *a, int64_t a_step,     \
                                 const uint8_t *b, int64_t b_step, int64_t n, int64_t block,       \
                                 int64_t i, uint8_t *to)                                           \
    {                                                                                              \
        uint8_t aside[BLOCK];                                                                      \
                                                                                                   \
        for (; i + block <= n; i += block) {                                                       \
            run(m, a + i * a_step, a_step, b + i * b_step, b_step, block, aside);                  \
            memcpy(to + i, aside, (size_t)block);                                                  \
        }                                                                                          \
        return i;                                                                                  \
    }                                                                                              \
                                                                                                   \
    INLINE void name##_steps(const struct od_mixture *m, const uint8_t *a, int64_t a_step,         \
                             const uint8_t *b, int64_t b_step, int64_t n, uint8_t *to)             \
    {                                                                                              \
        int64_t i = name##_blocks(m, a, a_step, b, b_step, n, BLOCK, 0, to);                       \
                                                                                                   \
        i = name##_blocks(m, a, a_step, b, b_step, n, RUN, i, to);                                 \
        name##_blocks(m, a, a_step, b, b_step, n, 1, i, to);                                       \
    }                                                                                              \
                                                                                                   \
    static void name(const struct od_mixture *m, const uint8_t *a, int64_t a_step,                 \
                     const uint8_t *b, int64_t b_step, int64_t n, uint8_t *to)                     \
    {                                                                                              \
        if (a_step == 1 && b_step == 1)                                                            \
            name##_steps(m, a, 1, b, 1, n, to);                                                    \
        else if (a_step == 1)                                                                      \
            name##_steps(m, a, 1, b, 0, n, to);                                                    \
        else                                                                                       \
            name##_steps(m, a, 0, b, b_step, n, to);                                               \
    }
WHOLE_ROWS(add, add_run)
WHOLE_ROWS(multiply, multiply_run)
#undef WHOLE_ROWS

INLINE void line_run(const struct od_line *l, const uint8_t *restrict from,
                     const float *restrict factor, const float *restrict shift, int64_t step,
                     int64_t n, uint8_t *to)
{
    float scale = l->from.scale, divide = l->to.scale;
    float low = (float)(l->low - l->to.zero);
    float high = (float)(highest(l->to.storage) - l->to.zero);
    int sign = sign_of(l->from.storage), zero = l->from.zero, to_zero = l->to.zero;

    for (int64_t i = 0; i < n; i++) {
        float x = scale * (float)(whole(from[i], sign) - zero);
        float y = MULTIPLY_ADD(x, factor[i * step], shift[i * step]);

        to[i] = (uint8_t)(rounded(y / divide, low, high) + to_zero);
    }
}

INLINE int64_t line_blocks(const struct od_line *l, const uint8_t *from, const float *factor,
                           const float *shift, int64_t step, int64_t n, int64_t block, int64_t i,
                           uint8_t *to)
{
    uint8_t aside[BLOCK];

    for (; i + block <= n; i += block) {
        line_run(l, from + i, factor + i * step, shift + i * step, step, block, aside);
        memcpy(to + i, aside, (size_t)block);
    }
    return i;
}

INLINE void line_steps(const struct od_line *l, const uint8_t *from, const float *factor,
                       const float *shift, int64_t step, int64_t n, uint8_t *to)
{
    int64_t i = line_blocks(l, from, factor, shift, step, n, BLOCK, 0, to);

    i = line_blocks(l, from, factor, shift, step, n, RUN, i, to);
    line_blocks(l, from, factor, shift, step, n, 1, i, to);
}

static void line(const struct od_line *l, const uint8_t *from, const float *factor,
                 const float *shift, int64_t step, int64_t n, uint8_t *to)
{
    if (step == 1)
        line_steps(l, from, factor, shift, 1, n, to);
    else
        line_steps(l, from, factor, shift, 0, n, to);
}

/* ---- sums ---- */

static void gather(enum vbs_storage storage, const uint8_t *restrict from, int64_t n,
                   int32_t *restrict sums)
{
    int sign = sign_of(storage);

    for (int64_t i = 0; i < n; i++)
        sums[i] += whole(from[i], sign);
}

static int32_t total(enum vbs_storage storage, const uint8_t *from, int64_t n)
{
    int sign = sign_of(storage);
    int32_t sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += whole(from[i], sign);
    return sum;
}

static void scale(const struct vbs_encoding *e, const int32_t *restrict sums, int32_t shift,
                  float factor, int64_t n, uint8_t *restrict to)
{
    float low = (float)(lowest(e->storage) - e->zero);
    float high = (float)(highest(e->storage) - e->zero);
    int zero = e->zero;

    for (int64_t i = 0; i < n; i++)
        to[i] = (uint8_t)(rounded((float)(sums[i] - shift) * factor, low, high) + zero);
}

const struct od_row_loops TABLE = {.decode = decode,
                                   .encode = encode,
                                   .widen = widen,
                                   .narrow = narrow,
                                   .map = map,
                                   .map_units = map_units,
                                   .add = add,
                                   .multiply = multiply,
                                   .line = line,
                                   .gather = gather,
                                   .total = total,
                                   .scale = scale};
