/*
 * The loops; TABLE is the name of the table. This file is included once for each kind of processor,
 * by files that are compiled for it. Compilers make vectors of runs of RUN values.
 *
 * Rounding adds 1.5 * 2^23, where floats are whole numbers, which their last bits hold.
 */
#include "backend/onednn/rows/rows.h"

#include <math.h>
#include <string.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))
#define RUN    16
#define BLOCK  64 /* values that are computed aside */
#define MAGIC  12582912.0f
#define LONG   1024 /* values of a row that are kept as floats; a multiple of BLOCK */

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

/* Gives the last 8 bits of the whole number next to x; what is no number becomes the lowest. */
INLINE uint8_t rounded(float x, float low, float high)
{
    float limited = x > low ? x : low, biased;
    uint32_t bits;

    limited = limited < high ? limited : high;
    biased = limited + MAGIC;
    memcpy(&bits, &biased, sizeof bits);
    return (uint8_t)bits;
}

#if defined(__FMA__)
#define MULTIPLY_ADD(x, y, z) __builtin_fmaf(x, y, z)
#else
#define MULTIPLY_ADD(x, y, z) ((x) * (y) + (z))
#endif

/* Gives x / scale, where both are far from what floats cannot hold: the quotient by the reciprocal,
 * less what is too much of it. It is the nearest float wherever x / scale lies in the middle of two
 * whole numbers. */
INLINE float divided(float x, float scale, float reciprocal)
{
#if defined(__FMA__)
    float quotient = x * reciprocal;

    return MULTIPLY_ADD(MULTIPLY_ADD(-quotient, scale, x), reciprocal, quotient);
#else
    (void)reciprocal;
    return x / scale;
#endif
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

INLINE void encode_run(const struct vbs_encoding *e, bool quick, const float *restrict x, int64_t n,
                       uint8_t *restrict q)
{
    float scale = e->scale, reciprocal = 1 / e->scale;
    float low = (float)(lowest(e->storage) - e->zero);
    float high = (float)(highest(e->storage) - e->zero);
    float least = (low - 1) * scale, most = (high + 1) * scale;
    int zero = e->zero;

    for (int64_t i = 0; i < n; i++) {
        float limited = x[i] > least ? x[i] : least;

        limited = limited < most ? limited : most;
        q[i] = (uint8_t)(rounded(quick ? divided(limited, scale, reciprocal) : x[i] / scale, low,
                                 high) +
                         zero);
    }
}

INLINE void encode_runs(const struct vbs_encoding *e, bool quick, const float *x, int64_t n,
                        uint8_t *q)
{
    int64_t i = 0;

    for (; i + RUN <= n; i += RUN)
        encode_run(e, quick, x + i, RUN, q + i);
    encode_run(e, quick, x + i, n - i, q + i);
}

static void encode(const struct vbs_encoding *e, const float *x, int64_t n, uint8_t *q)
{
    if (od_rows_take(e->scale))
        encode_runs(e, true, x, n, q);
    else
        encode_runs(e, false, x, n, q);
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

INLINE void interleave_rows(const uint8_t *restrict from, int64_t from_step, int64_t rows,
                            int64_t n, uint8_t *restrict to)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t r = 0; r < rows; r++)
            to[i * rows + r] = from[r * from_step + i];
}

static void interleave(const uint8_t *from, int64_t from_step, int64_t rows, int64_t n, uint8_t *to)
{
    if (rows == 2)
        interleave_rows(from, from_step, 2, n, to);
    else if (rows == 3)
        interleave_rows(from, from_step, 3, n, to);
    else if (rows == 4)
        interleave_rows(from, from_step, 4, n, to);
    else
        interleave_rows(from, from_step, rows, n, to);
}

/* ---- two operands ---- */

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

/* ---- rows that are normalised ---- */

/* Copies bytes by blocks, of which the last two may overlap; memcpy of any length takes longer. */
INLINE void copy_bytes(const void *from, int64_t n, void *to)
{
    const char *source = from;
    char *target = to;

    if (n < BLOCK) {
        memcpy(to, from, (size_t)n);
        return;
    }
    for (int64_t i = 0; i + BLOCK < n; i += BLOCK)
        memcpy(target + i, source + i, BLOCK);
    memcpy(target + n - BLOCK, source + n - BLOCK, BLOCK);
}

/* Stores the first n of values times factor as e says. The array x has space for whole blocks, of
 * which what lies behind the n values is overwritten. */
INLINE void store(const struct vbs_encoding *e, float *restrict x, float factor, int64_t n,
                  void *to)
{
    float scale = e->scale, reciprocal = 1 / e->scale, *floats = to;
    float low = (float)(lowest(e->storage) - e->zero);
    float high = (float)(highest(e->storage) - e->zero);
    int64_t all = (n + BLOCK - 1) / BLOCK * BLOCK;
    int zero = e->zero;
    uint8_t aside[LONG];

    for (int64_t i = 0; i < n && e->storage == VBS_FLOAT32; i++)
        floats[i] = x[i] * factor;
    if (e->storage == VBS_FLOAT32)
        return;
    for (int64_t i = n; i < all; i++)
        x[i] = 0;
    for (int64_t i = 0; i < all; i++)
        aside[i] = (uint8_t)(rounded(divided(x[i] * factor, scale, reciprocal), low, high) + zero);
    copy_bytes(aside, n, to);
}

/* Gives the bytes of n values of a row. */
INLINE int64_t width(const struct vbs_encoding *e, int64_t n)
{
    return e->storage == VBS_FLOAT32 ? n * (int64_t)sizeof(float) : n;
}

/* Decodes n values, and appends infinite ones up to a multiple of RUN; returns the number of both.
 */
INLINE int64_t load_run(const struct vbs_encoding *e, const void *from, int64_t n, float *x)
{
    int64_t all = (n + RUN - 1) / RUN * RUN;

    if (e->storage == VBS_FLOAT32)
        copy_bytes(from, width(e, n), x);
    else
        decode(e, from, n, x);
    for (int64_t i = n; i < all; i++)
        x[i] = -INFINITY;
    return all;
}

/* Gives e^x for x <= 0, to about a unit of the last digit: 2^n * e^r, where r is at most half of
 * the logarithm of 2. The polynomial is a least largest relative error. Below -87 it is e^-87. */
INLINE float exponential(float x)
{
    float limited = x < -87 ? -87 : x;
    float biased = MULTIPLY_ADD(limited, 1.44269504f, MAGIC), n = biased - MAGIC;
    float r = MULTIPLY_ADD(n, -0x1.62e4p-1f, limited), p = 0x1.6a2434p-10f;
    uint32_t power;
    float scale;

    r = MULTIPLY_ADD(n, -1.4286068e-6f, r);
    p = MULTIPLY_ADD(p, r, 0x1.1239e2p-7f);
    p = MULTIPLY_ADD(p, r, 0x1.5558f2p-5f);
    p = MULTIPLY_ADD(p, r, 0x1.555492p-3f);
    p = MULTIPLY_ADD(p, r, 0x1.fffffcp-2f);
    p = MULTIPLY_ADD(p, r, 1);
    p = MULTIPLY_ADD(p, r, 1);
    memcpy(&power, &biased, sizeof power);
    power = (power << 23) + 0x3f800000u; /* n is in the last digits of biased */
    memcpy(&scale, &power, sizeof scale);
    return p * scale; /* a product, so that what is no number stays so */
}

INLINE float largest(const float *x, int64_t n, float most)
{
#pragma omp simd reduction(max : most)
    for (int64_t i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

/* Replaces values by the exponentials of what they are more than most, and returns their sum. */
INLINE float exponentials(float *x, int64_t n, float most)
{
    float sum = 0;

#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) {
        x[i] = exponential(x[i] - most);
        sum += x[i];
    }
    return sum;
}

static void softmax(const struct od_row_change *r, const void *from, void *to)
{
    float x[LONG], most = -INFINITY, sum = 0;
    int64_t n = 0, all = 0;

    for (int64_t first = 0; first < r->n; first += LONG) {
        n = r->n - first < LONG ? r->n - first : LONG;
        all = load_run(&r->from, (const char *)from + width(&r->from, first), n, x);
        most = largest(x, all, most);
    }
    for (int64_t first = 0; first < r->n; first += LONG) {
        if (r->n > LONG) {
            n = r->n - first < LONG ? r->n - first : LONG;
            all = load_run(&r->from, (const char *)from + width(&r->from, first), n, x);
        }
        sum += exponentials(x, all, most);
    }
    for (int64_t first = 0; first < r->n; first += LONG) {
        if (r->n > LONG) {
            n = r->n - first < LONG ? r->n - first : LONG;
            all = load_run(&r->from, (const char *)from + width(&r->from, first), n, x);
            (void)exponentials(x, all, most);
        }
        store(&r->to, x, 1 / sum, n, (char *)to + width(&r->to, first));
    }
}

/* Finds the mean of a row, in whole numbers of its storage or floats, and its variance. */
INLINE void moments(const struct od_row_change *r, const void *from, double *mean, double *variance)
{
    const float *x = from;
    const uint8_t *q = from;
    int sign = sign_of(r->from.storage);
    double n = (double)r->n, all = 0, squares = 0;

    for (int64_t first = 0; first < r->n; first += LONG) {
        int64_t end = r->n - first < LONG ? r->n : first + LONG;
        int32_t sum = 0, square = 0;

        for (int64_t i = first; i < end && r->from.storage != VBS_FLOAT32; i++) {
            int number = whole(q[i], sign);

            sum += number;
            square += number * number;
        }
        all += sum;
        squares += square;
    }
    if (r->from.storage != VBS_FLOAT32) { /* all sums are exact */
        double scale = (double)r->from.scale;

        *mean = all / n;
        *variance = (squares * n - all * all) / (n * n) * scale * scale;
        return;
    }
    for (int64_t i = 0; i < r->n; i++)
        all += (double)x[i];
    *mean = all / n;
    for (int64_t i = 0; i < r->n; i++)
        squares += ((double)x[i] - *mean) * ((double)x[i] - *mean);
    *variance = squares / n;
}

INLINE void normalise_steps(const struct od_row_change *r, const void *from, float mean,
                            float factor, int64_t step, void *to)
{
    float low = (float)(lowest(r->to.storage) - r->to.zero - 1) * r->to.scale;
    float high = (float)(highest(r->to.storage) - r->to.zero + 1) * r->to.scale;
    bool floats = r->from.storage == VBS_FLOAT32, limited = r->to.storage != VBS_FLOAT32;
    int sign = sign_of(r->from.storage);
    float x[LONG];

    for (int64_t first = 0; first < r->n; first += LONG) {
        int64_t n = r->n - first < LONG ? r->n - first : LONG;
        const float *gamma = r->gamma + first * step, *beta = r->beta + first * step;
        const uint8_t *q = (const uint8_t *)from + first;

        if (floats)
            copy_bytes((const float *)from + first, width(&r->from, n), x);
        for (int64_t i = 0; i < n && !floats; i++)
            x[i] = (float)whole(q[i], sign);
        for (int64_t i = 0; i < n; i++)
            x[i] = MULTIPLY_ADD((x[i] - mean) * factor, gamma[i * step], beta[i * step]);
        for (int64_t i = 0; i < n && limited; i++) {
            x[i] = x[i] > low ? x[i] : low;
            x[i] = x[i] < high ? x[i] : high;
        }
        store(&r->to, x, 1, n, (char *)to + width(&r->to, first));
    }
}

static void normalise(const struct od_row_change *r, const void *from, void *to)
{
    double mean, variance, root;
    float factor;

    moments(r, from, &mean, &variance);
    root = sqrt(variance + (double)r->epsilon);
    factor = (float)((r->from.storage == VBS_FLOAT32 ? 1 : (double)r->from.scale) / root);
    if (r->step == 1)
        normalise_steps(r, from, (float)mean, factor, 1, to);
    else
        normalise_steps(r, from, (float)mean, factor, 0, to);
}

/* ---- GELU ---- */

/* The steps between the points of struct od_normal. */
#define NORMAL_STEP (OD_NORMAL_TOP / (OD_NORMAL_POINTS - 1))

#if defined(__AVX512F__)
/* Gives what the polynomials of 16 points say, whose numbers are in the last bits of point. */
INLINE __m512 look_up(const __m512 *table, __m512i point)
{
    return _mm512_permutex2var_ps(table[0], point, table[1]);
}

/* Gives the GELU of 16 values; table: the coefficients of each power. */
INLINE __m512 gelu_of(const __m512 (*table)[2], __m512 value)
{
    __m512 sign = _mm512_set1_ps(-0.0f), magic = _mm512_set1_ps(MAGIC);
    __m512 size = _mm512_min_ps(_mm512_andnot_ps(sign, value), _mm512_set1_ps(OD_NORMAL_TOP));
    __m512 biased = _mm512_fmadd_ps(size, _mm512_set1_ps(1 / NORMAL_STEP), magic);
    __m512 away = _mm512_fnmadd_ps(_mm512_sub_ps(biased, magic), _mm512_set1_ps(NORMAL_STEP), size);
    __m512i point = _mm512_castps_si512(biased);
    __m512 part = look_up(table[3], point);

    part = _mm512_fmadd_ps(part, away, look_up(table[2], point));
    part = _mm512_fmadd_ps(part, away, look_up(table[1], point));
    part = _mm512_fmadd_ps(part, away, look_up(table[0], point));
    part = _mm512_add_ps(_mm512_or_ps(part, _mm512_and_ps(sign, value)), _mm512_set1_ps(0.5f));
    return _mm512_mul_ps(part, value);
}

/* Gives which of up to 16 values there are. */
INLINE __mmask16 those_of(int64_t n)
{
    return (__mmask16)(n < 16 ? (1 << n) - 1 : 0xffff);
}

static void gelu(const struct od_normal *normal, const struct vbs_encoding *e, const float *x,
                 int64_t n, uint8_t *to)
{
    __m512 table[4][2], magic = _mm512_set1_ps(MAGIC);
    __m512 low = _mm512_set1_ps((float)(lowest(e->storage) - e->zero));
    __m512 high = _mm512_set1_ps((float)(highest(e->storage) - e->zero));
    __m512 reciprocal = _mm512_set1_ps(1 / e->scale);
    __m512i zero = _mm512_set1_epi32(e->zero);

    memcpy(table, normal, sizeof table);
    for (int64_t i = 0; i < n; i += 16) {
        __mmask16 there = those_of(n - i);
        __m512 part = gelu_of(table, _mm512_maskz_loadu_ps(there, x + i));

        part = _mm512_mul_ps(part, reciprocal);
        part = _mm512_min_ps(_mm512_max_ps(part, low), high); /* max: low, where part is none */
        _mm512_mask_cvtepi32_storeu_epi8(
            to + i, there, _mm512_add_epi32(_mm512_castps_si512(_mm512_add_ps(part, magic)), zero));
    }
}

static void gelu_floats(const struct od_normal *normal, const float *x, int64_t n, float *to)
{
    __m512 table[4][2];

    memcpy(table, normal, sizeof table);
    for (int64_t i = 0; i < n; i += 16) {
        __mmask16 there = those_of(n - i);

        _mm512_mask_storeu_ps(to + i, there, gelu_of(table, _mm512_maskz_loadu_ps(there, x + i)));
    }
}
#else
INLINE float gelu_of(const struct od_normal *normal, float x)
{
    float size = fabsf(x) < OD_NORMAL_TOP ? fabsf(x) : OD_NORMAL_TOP, part, away;
    float biased = MULTIPLY_ADD(size, 1 / NORMAL_STEP, MAGIC);
    uint32_t point;

    memcpy(&point, &biased, sizeof point);
    point %= OD_NORMAL_POINTS;
    away = MULTIPLY_ADD(MAGIC - biased, NORMAL_STEP, size);
    part = MULTIPLY_ADD(normal->coefficients[3][point], away, normal->coefficients[2][point]);
    part = MULTIPLY_ADD(part, away, normal->coefficients[1][point]);
    part = MULTIPLY_ADD(part, away, normal->coefficients[0][point]);
    return (copysignf(part, x) + 0.5f) * x;
}

static void gelu(const struct od_normal *normal, const struct vbs_encoding *e, const float *x,
                 int64_t n, uint8_t *to)
{
    float low = (float)(lowest(e->storage) - e->zero), reciprocal = 1 / e->scale;
    float high = (float)(highest(e->storage) - e->zero);
    int zero = e->zero;

    for (int64_t i = 0; i < n; i++)
        to[i] = (uint8_t)(rounded(gelu_of(normal, x[i]) * reciprocal, low, high) + zero);
}

static void gelu_floats(const struct od_normal *normal, const float *x, int64_t n, float *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = gelu_of(normal, x[i]);
}
#endif

/* ---- bounds ---- */

/* Runs are computed aside, because the output may lie where the input does. */
INLINE void clip_run(float low, float high, const float *x, int64_t n, float *to)
{
    float aside[RUN] = {0};

    for (int64_t i = 0; i < n; i++) {
        float limited = x[i] <= low ? low : x[i];

        aside[i] = limited >= high ? high : limited;
    }
    memcpy(to, aside, (size_t)n * sizeof *to);
}

static void clip(float low, float high, const float *x, int64_t n, float *to)
{
    int64_t i = 0;

    for (; i + RUN <= n; i += RUN)
        clip_run(low, high, x + i, RUN, to + i);
    clip_run(low, high, x + i, n - i, to + i);
}

INLINE float larger_of(float x, float y)
{
    return ((x > y) | (x != x)) ? x : y;
}

INLINE float smaller_of(float x, float y)
{
    return ((x < y) | (x != x)) ? x : y;
}

INLINE void choose_run(bool largest, const float *x, int64_t x_step, const float *y, int64_t y_step,
                       int64_t n, float *to)
{
    float aside[RUN] = {0};

    for (int64_t i = 0; i < n; i++)
        aside[i] = largest ? larger_of(x[i * x_step], y[i * y_step])
                           : smaller_of(x[i * x_step], y[i * y_step]);
    memcpy(to, aside, (size_t)n * sizeof *to);
}

INLINE void choose_steps(bool largest, const float *x, int64_t x_step, const float *y,
                         int64_t y_step, int64_t n, float *to)
{
    int64_t i = 0;

    for (; i + RUN <= n; i += RUN)
        choose_run(largest, x + i * x_step, x_step, y + i * y_step, y_step, RUN, to + i);
    choose_run(largest, x + i * x_step, x_step, y + i * y_step, y_step, n - i, to + i);
}

/* Defines a function of whole rows. */
#define CHOOSE(name, largest)                                                                      \
    static void name(const float *x, int64_t x_step, const float *y, int64_t y_step, int64_t n,    \
                     float *to)                                                                    \
    {                                                                                              \
        if (x_step == 1 && y_step == 1)                                                            \
            choose_steps(largest, x, 1, y, 1, n, to);                                              \
        else if (x_step == 1)                                                                      \
            choose_steps(largest, x, 1, y, 0, n, to);                                              \
        else                                                                                       \
            choose_steps(largest, x, 0, y, y_step, n, to);                                         \
    }

CHOOSE(larger, true)
CHOOSE(smaller, false)

const struct od_row_loops TABLE = {.decode = decode,
                                   .encode = encode,
                                   .widen = widen,
                                   .narrow = narrow,
                                   .map = map,
                                   .map_units = map_units,
                                   .interleave = interleave,
                                   .add = add,
                                   .multiply = multiply,
                                   .line = line,
                                   .gather = gather,
                                   .total = total,
                                   .scale = scale,
                                   .softmax = softmax,
                                   .gelu = gelu,
                                   .gelu_floats = gelu_floats,
                                   .clip = clip,
                                   .larger = larger,
                                   .smaller = smaller,
                                   .normalise = normalise};
