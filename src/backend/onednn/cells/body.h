/*
 * The loops, for vectors of LANES floats and products of up to MOST_ROWS samples at once; TABLE is
 * the name of the table. This file is included once for each kind of processor, by files that are
 * compiled for it.
 *
 * A step of one sample reads each weight once, so that it takes as long as its weights take from
 * the cache that holds them; with more samples at once the multiplications take as long. A
 * processor that begins up to two multiplications a cycle, each of which takes four, needs eight
 * sums to be busy: where samples and gates are fewer, the terms of a sum are added up in several
 * sums.
 */
#include "backend/onednn/cells/cells.h"

#include <math.h>
#include <string.h>

#define INLINE     static inline __attribute__((always_inline))
#define MOST_GATES 4
#define MOST_WAYS  4           /* sums that a sum is divided into */
#define MAGIC      12582912.0f /* 1.5 * 2^23, where floats are whole numbers */

typedef float vector __attribute__((vector_size(LANES * sizeof(float))));
typedef uint32_t bits __attribute__((vector_size(LANES * sizeof(uint32_t))));

INLINE vector load(const float *from)
{
    vector v;

    memcpy(&v, from, sizeof v);
    return v;
}

INLINE void store(vector v, float *to)
{
    memcpy(to, &v, sizeof v);
}

/* ---- functions ---- */

/* Gives a where the bits of mask are set, else b. */
INLINE vector chosen(bits mask, vector a, vector b)
{
    return (vector)((mask & (bits)a) | (~mask & (bits)b));
}

/* Gives x, but at least low and at most high; what is no number stays so. */
INLINE vector limited(vector x, float low, float high)
{
    const vector none = {0}, least = none + low, most = none + high;

    x = chosen((bits)(x < least), least, x);
    return chosen((bits)(x > most), most, x);
}

/* Gives e^x - 1 as *scale * *p + (*scale - 1), for x from -87 to 87: x is n ln 2 + r, *scale 2^n
 * and *p e^r - 1, whose polynomial is that of Cephes' expf. */
INLINE void exponential(vector x, vector *scale, vector *p)
{
    const vector shifted = x * 1.44269504088896341f + MAGIC, n = shifted - MAGIC;
    const vector r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    vector q = r * 1.9875691500e-4f + 1.3981999507e-3f;

    q = q * r + 8.3334519073e-3f;
    q = q * r + 4.1665795894e-2f;
    q = q * r + 1.6666665459e-1f;
    q = q * r + 5.0000001201e-1f;
    *p = q * (r * r) + r;
    *scale = (vector)(((bits)shifted << 23) + 0x3f800000u);
}

INLINE vector sigmoid(vector x)
{
    vector scale, p;

    exponential(limited(-x, -87, 87), &scale, &p);
    return 1.0f / (1.0f + (scale * p + scale));
}

/* tanh |x| = (1 - e^(-2|x|)) / (1 + e^(-2|x|)), with the sign of x. */
INLINE vector hyperbolic(vector x)
{
    const bits sign = (bits)x & 0x80000000u;
    vector scale, p, below;

    exponential(limited((vector)((bits)x | 0x80000000u) * 2.0f, -87, 0), &scale, &p);
    below = scale * p + (scale - 1.0f);
    return (vector)(((bits)(below / (below + 2.0f)) & 0x7fffffffu) | sign);
}

INLINE vector rectified(vector x)
{
    const vector zero = {0};

    return (vector)((bits)x & ~(bits)(x <= zero)); /* what is no number stays so */
}

/* e^x - 1 below 0, times alpha. */
INLINE vector elu(vector x, float alpha)
{
    const vector zero = {0};
    vector scale, p;

    exponential(limited(x, -87, 0), &scale, &p);
    return chosen((bits)(x < zero), alpha * (scale * p + (scale - 1.0f)), x);
}

static vector softplus(vector x)
{
    for (int i = 0; i < LANES; i++)
        x[i] = x[i] > 0 ? x[i] + log1pf(expf(-x[i])) : log1pf(expf(x[i]));
    return x;
}

static vector applied(const struct vbs_cell_function *f, vector x)
{
    const vector zero = {0}, least = zero + (float)f->alpha;
    const float alpha = (float)f->alpha, beta = (float)f->beta;

    switch (f->kind) {
    case VBS_CELL_RELU:
        return rectified(x);
    case VBS_CELL_SIGMOID:
        return sigmoid(x);
    case VBS_CELL_AFFINE:
        return alpha * x + beta;
    case VBS_CELL_LEAKY_RELU:
        return chosen((bits)(x < zero), alpha * x, x);
    case VBS_CELL_THRESHOLDED_RELU:
        return (vector)((bits)x & ~(bits)(x < least));
    case VBS_CELL_SCALED_TANH:
        return alpha * hyperbolic(beta * x);
    case VBS_CELL_HARD_SIGMOID:
        return limited(alpha * x + beta, 0, 1);
    case VBS_CELL_ELU:
        return elu(x, alpha);
    case VBS_CELL_SOFTSIGN:
        return x / (1.0f + (vector)((bits)x & 0x7fffffffu));
    case VBS_CELL_SOFTPLUS:
        return softplus(x);
    default:
        return hyperbolic(x);
    }
}

/* ---- products ---- */

/* Multiplies the states before of n_rows samples by the weights of n_gates gates; to:
 * [n_rows][n_gates][LANES]. The compiler knows both numbers. */
INLINE void multiply(const struct od_cell_step *s, const float *before, const int n_rows,
                     const int n_gates, vector *to)
{
    const int ways = n_rows * n_gates >= 8 ? 1 : n_rows * n_gates >= 3 ? 2 : 4;
    const int64_t row = s->row, n_terms = s->n_terms;
    const float *weights = s->weights;
    vector sums[MOST_WAYS][MOST_ROWS][MOST_GATES] = {0};

    for (int64_t k = 0; k < n_terms; k += ways)
#pragma GCC unroll 4
        for (int w = 0; w < ways; w++, weights += n_gates * LANES) {
            vector factors[MOST_GATES];

#pragma GCC unroll 4
            for (int g = 0; g < n_gates; g++)
                factors[g] = load(weights + g * LANES);
#pragma GCC unroll 6
            for (int r = 0; r < n_rows; r++) {
                const float value = before[r * row + k + w];

#pragma GCC unroll 4
                for (int g = 0; g < n_gates; g++)
                    sums[w][r][g] += value * factors[g];
            }
        }
#pragma GCC unroll 6
    for (int r = 0; r < n_rows; r++)
#pragma GCC unroll 4
        for (int g = 0; g < n_gates; g++) {
#pragma GCC unroll 4
            for (int w = 1; w < ways; w++)
                sums[0][r][g] += sums[w][r][g];
            to[r * n_gates + g] = sums[0][r][g];
        }
}

typedef void product(const struct od_cell_step *s, const float *before, vector *to);

#define PRODUCT(rows, gates)                                                                       \
    static void product_##rows##_##gates(const struct od_cell_step *s, const float *before,        \
                                         vector *to)                                               \
    {                                                                                              \
        multiply(s, before, rows, gates, to);                                                      \
    }
#define PRODUCTS(rows) PRODUCT(rows, 1) PRODUCT(rows, 2) PRODUCT(rows, 3) PRODUCT(rows, 4)
#define ENTRY(rows)                                                                                \
    {                                                                                              \
        product_##rows##_1, product_##rows##_2, product_##rows##_3, product_##rows##_4             \
    }

PRODUCTS(1)
PRODUCTS(2)
PRODUCTS(3)
#if MOST_ROWS > 3
PRODUCTS(4)
PRODUCTS(5)
PRODUCTS(6)
#endif

static product *const products[MOST_ROWS][MOST_GATES] = {ENTRY(1), ENTRY(2),
                                                         ENTRY(3),
#if MOST_ROWS > 3
                                                         ENTRY(4), ENTRY(5),
                                                         ENTRY(6)
#endif
};

/* ---- cells ---- */

/* Stores what is multiplied in a step: padding is 0, because an infinite input makes no number of
 * it, which a weight of 0 would not remove. */
INLINE void store_factors(const struct od_cell_step *s, vector states, float *to)
{
    bits lane = {0};

    for (uint32_t i = 0; i < LANES; i++)
        lane[i] = i;
    if (s->n_units < LANES)
        states = (vector)((bits)states & (bits)(lane < (uint32_t)s->n_units));
    store(states, to);
}

/* Writes the states of sample number i. */
INLINE void put(const struct od_cell_step *s, int64_t i, vector states)
{
    store_factors(s, states, s->states + i * s->row);
    if (s->n_units == LANES)
        store(states, s->y + i * s->y_row);
    else
        memcpy(s->y + i * s->y_row, s->states + i * s->row, (size_t)s->n_units * sizeof(float));
}

/* What becomes of sample number i; p: its products, x: those with the input. */
INLINE void lstm_sample(const struct od_cell_step *s, int64_t i, const vector *p, const float *x)
{
    float *memory = s->memory + i * s->row;
    vector in = sigmoid(p[0] + load(x)), out = sigmoid(p[1] + load(x + LANES));
    vector forget = sigmoid(p[2] + load(x + 2 * LANES));
    vector cell = forget * load(memory) + in * hyperbolic(p[3] + load(x + 3 * LANES));

    store(cell, memory);
    put(s, i, out * hyperbolic(cell));
}

INLINE void gru_gates_sample(const struct od_cell_step *s, int64_t i, const vector *p,
                             const float *x)
{
    store(sigmoid(p[0] + load(x)), s->memory + i * s->row);
    store_factors(s, sigmoid(p[1] + load(x + LANES)) * load(s->previous + i * s->row),
                  s->reset + i * s->row);
}

INLINE void gru_end(const struct od_cell_step *s, int64_t i, vector update, vector candidate)
{
    put(s, i, (1.0f - update) * candidate + update * load(s->previous + i * s->row));
}

INLINE void gru_candidate_sample(const struct od_cell_step *s, int64_t i, const vector *p,
                                 const float *x)
{
    gru_end(s, i, load(s->memory + i * s->row), hyperbolic(p[0] + load(x)));
}

INLINE void gru_after_sample(const struct od_cell_step *s, int64_t i, const vector *p,
                             const float *x)
{
    vector reset = sigmoid(p[1] + load(x + LANES));

    gru_end(s, i, sigmoid(p[0] + load(x)),
            hyperbolic(load(x + 2 * LANES) + reset * (p[2] + load(s->bias))));
}

INLINE void rnn_tanh_sample(const struct od_cell_step *s, int64_t i, const vector *p,
                            const float *x)
{
    put(s, i, hyperbolic(p[0] + load(x)));
}

INLINE void rnn_relu_sample(const struct od_cell_step *s, int64_t i, const vector *p,
                            const float *x)
{
    put(s, i, rectified(p[0] + load(x)));
}

INLINE void rnn_sigmoid_sample(const struct od_cell_step *s, int64_t i, const vector *p,
                               const float *x)
{
    put(s, i, sigmoid(p[0] + load(x)));
}

/* Returns what a gate of an lstm reads of the memory. */
INLINE vector peeped(const struct od_cell_step *s, int gate, vector memory)
{
    const vector zero = {0};

    return s->peepholes ? load(s->peepholes + gate * s->peepholes_row) * memory : zero;
}

INLINE void lstm_any_sample(const struct od_cell_step *s, int64_t i, const vector *p,
                            const float *x)
{
    const struct vbs_cell_function *f = s->functions;
    float *memory = s->memory + i * s->row;
    vector before = load(memory), cell;
    vector in = applied(&f[0], p[0] + load(x) + peeped(s, 0, before));
    vector forget = applied(&f[0], p[2] + load(x + 2 * LANES) + peeped(s, 2, before));

    cell = forget * before + in * applied(&f[1], p[3] + load(x + 3 * LANES));
    store(cell, memory);
    put(s, i, applied(&f[0], p[1] + load(x + LANES) + peeped(s, 1, cell)) * applied(&f[2], cell));
}

INLINE void gru_gates_any_sample(const struct od_cell_step *s, int64_t i, const vector *p,
                                 const float *x)
{
    store(applied(&s->functions[0], p[0] + load(x)), s->memory + i * s->row);
    store_factors(
        s, applied(&s->functions[0], p[1] + load(x + LANES)) * load(s->previous + i * s->row),
        s->reset + i * s->row);
}

INLINE void gru_candidate_any_sample(const struct od_cell_step *s, int64_t i, const vector *p,
                                     const float *x)
{
    gru_end(s, i, load(s->memory + i * s->row), applied(&s->functions[1], p[0] + load(x)));
}

INLINE void gru_after_any_sample(const struct od_cell_step *s, int64_t i, const vector *p,
                                 const float *x)
{
    vector reset = applied(&s->functions[0], p[1] + load(x + LANES));

    gru_end(s, i, applied(&s->functions[0], p[0] + load(x)),
            applied(&s->functions[1], load(x + 2 * LANES) + reset * (p[2] + load(s->bias))));
}

INLINE void rnn_any_sample(const struct od_cell_step *s, int64_t i, const vector *p, const float *x)
{
    put(s, i, applied(&s->functions[0], p[0] + load(x)));
}

/* Defines the loop over the samples of a cell, in groups of nearly equal numbers. */
#define CELL(name, gates)                                                                          \
    static void name(const struct od_cell_step *s)                                                 \
    {                                                                                              \
        int64_t groups = (s->n_samples + MOST_ROWS - 1) / MOST_ROWS;                               \
        vector sums[MOST_ROWS * MOST_GATES];                                                       \
                                                                                                   \
        for (int64_t g = 0, i = 0; g < groups; g++) {                                              \
            int64_t end = s->n_samples * (g + 1) / groups;                                         \
                                                                                                   \
            products[end - i - 1][(gates)-1](s, s->before + i * s->row, sums);                     \
            for (const vector *p = sums; i < end; i++, p += (gates))                               \
                name##_sample(s, i, p, s->sums + i * s->sums_row);                                 \
        }                                                                                          \
    }
CELL(lstm, 4)
CELL(gru_gates, 2)
CELL(gru_candidate, 1)
CELL(gru_after, 3)
CELL(rnn_tanh, 1)
CELL(rnn_relu, 1)
CELL(rnn_sigmoid, 1)
CELL(lstm_any, 4)
CELL(gru_gates_any, 2)
CELL(gru_candidate_any, 1)
CELL(gru_after_any, 3)
CELL(rnn_any, 1)

const struct od_cell_loops TABLE = {.lanes = LANES,
                                    .lstm = lstm,
                                    .gru_gates = gru_gates,
                                    .gru_candidate = gru_candidate,
                                    .gru_after = gru_after,
                                    .rnn_tanh = rnn_tanh,
                                    .rnn_relu = rnn_relu,
                                    .rnn_sigmoid = rnn_sigmoid,
                                    .lstm_any = lstm_any,
                                    .gru_gates_any = gru_gates_any,
                                    .gru_candidate_any = gru_candidate_any,
                                    .gru_after_any = gru_after_any,
                                    .rnn_any = rnn_any};
