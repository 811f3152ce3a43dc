/*
 * backend/onednn/rows: loops over rows of encoded values, compiled for several kinds of processor.
 *
 * Whole numbers q of 8 bits stand for scale * (q - zero) (struct vbs_encoding). All results are
 * rounded to the nearest whole number, the even one of two. Sums and products are computed in the
 * order in which ONNX Runtime's kernels for x86 compute them, so that both round alike.
 *
 * choose.c picks the table; plain.c, avx2.c and avx512.c compile body.h for their processors.
 */
#ifndef VBS_BACKEND_ONEDNN_ROWS_ROWS_H
#define VBS_BACKEND_ONEDNN_ROWS_ROWS_H

#include "vbslab/model.h"

#include <stdbool.h>
#include <stdint.h>

/* What is computed of two rows of 8 bits. A sum is a * factor + b * second + shift, a product is
 * (a - zero_a) * (b - zero_b) * factor + shift; shift contains the output's zero. */
struct od_mixture {
    enum vbs_storage a, b;
    int zero_a, zero_b;
    float factor, second, shift;
    int low, high; /* the smallest and the largest whole number of the output */
};

/* How rows go through a factor and a shift for each value. */
struct od_line {
    struct vbs_encoding from, to;
    int low; /* the smallest whole number of the output */
};

/* What becomes of a row of n values, which are encoded as from says and become values encoded as to
 * says; VBS_FLOAT32: floats. Scales of whole numbers lie between OD_LEAST_SCALE and its reciprocal.
 */
#define OD_LEAST_SCALE 1e-30f

static inline bool od_rows_take(float scale)
{
    return scale >= OD_LEAST_SCALE && scale <= 1 / OD_LEAST_SCALE;
}

struct od_row_change {
    struct vbs_encoding from, to;
    int64_t n;
    /* Of normalise: it adds epsilon to the variance; value i has factor gamma[i * step], then
     * beta[i * step] is added. step: 0 or 1. */
    float epsilon;
    const float *gamma, *beta;
    int64_t step;
};

/* The distribution function of the normal distribution less 1/2, for 0 to OD_NORMAL_TOP, above
 * which it is 1/2 to the last digit: cubic polynomials by the distance from the nearest of equally
 * spaced points, the first of which is 0 and the last of which is the top. */
#define OD_NORMAL_POINTS 32
#define OD_NORMAL_TOP    5.5f

struct od_normal {
    float coefficients[4][OD_NORMAL_POINTS]; /* of powers 0 to 3 */
};

/* Rows of n values; those of two operands advance by a_step and b_step, 0 or 1. */
typedef void od_mixing(const struct od_mixture *m, const uint8_t *a, int64_t a_step,
                       const uint8_t *b, int64_t b_step, int64_t n, uint8_t *to);

/* The larger or the smaller of two floats each, no number where one of them is none. to may be x or
 * y where their step is 1. */
typedef void od_choice(const float *x, int64_t x_step, const float *y, int64_t y_step, int64_t n,
                       float *to);

struct od_row_loops {
    /* Between whole numbers and their floats. What is no number becomes the lowest. */
    void (*decode)(const struct vbs_encoding *e, const uint8_t *q, int64_t n, float *x);
    void (*encode)(const struct vbs_encoding *e, const float *x, int64_t n, uint8_t *q);
    /* Between bfloat16 and floats. */
    void (*widen)(const uint16_t *b, int64_t n, float *x);
    void (*narrow)(const float *x, int64_t n, uint16_t *b);
    /* to[i] = table[from[i]], of 256 entries; to may be from. */
    void (*map)(const uint8_t *table, const uint8_t *from, int64_t n, uint8_t *to);
    /* The same for n units of so many values each, which begin from_step and to_step apart. */
    void (*map_units)(const uint8_t *table, const uint8_t *from, int64_t from_step, int64_t unit,
                      int64_t n, uint8_t *to, int64_t to_step);
    /* to[i * rows + r] = from[r * from_step + i] for i = 0 .. n - 1. */
    void (*interleave)(const uint8_t *from, int64_t from_step, int64_t rows, int64_t n,
                       uint8_t *to);
    od_mixing *add, *multiply;
    /* to[i] is the whole number of x * factor[i * step] + shift[i * step], where x is the float of
     * from[i]; to may be from. */
    void (*line)(const struct od_line *line, const uint8_t *from, const float *factor,
                 const float *shift, int64_t step, int64_t n, uint8_t *to);
    /* sums[i] += the whole number from[i] */
    void (*gather)(enum vbs_storage storage, const uint8_t *from, int64_t n, int32_t *sums);
    int32_t (*total)(enum vbs_storage storage, const uint8_t *from, int64_t n); /* their sum */
    /* to[i] is the whole number of (sums[i] - shift) * factor, to which e's zero is added behind
     * the rounding. */
    void (*scale)(const struct vbs_encoding *e, const int32_t *sums, int32_t shift, float factor,
                  int64_t n, uint8_t *to);
    /* The softmax of a row. A row that has no softmax, as that of infinite values, becomes what is
     * no number. */
    void (*softmax)(const struct od_row_change *r, const void *from, void *to);
    /* to[i] is the whole number of x[i] * the distribution function at x[i]. */
    void (*gelu)(const struct od_normal *normal, const struct vbs_encoding *e, const float *x,
                 int64_t n, uint8_t *to);
    /* The same in floats; to may be x. */
    void (*gelu_floats)(const struct od_normal *normal, const float *x, int64_t n, float *to);
    /* to[i] is x[i], but at least low and at most high; what is no number stays so. to may be x. */
    void (*clip)(float low, float high, const float *x, int64_t n, float *to);
    od_choice *larger, *smaller;
    /* A row less its mean, over the root of its variance, times gamma plus beta. */
    void (*normalise)(const struct od_row_change *r, const void *from, void *to);
};

/* Gives the table for this processor. */
const struct od_row_loops *od_rows(void);

/* The tables; those of other processors than this one are not to be called. */
extern const struct od_row_loops od_rows_plain, od_rows_avx2, od_rows_avx512;

#endif
