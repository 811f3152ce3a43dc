/*
 * The loops, for vectors of LANES floats and products of up to MOST_ROWS tiles at once; TABLE is
 * the name of the table. This file is included once for each kind of processor, by files that are
 * compiled for it.
 *
 * A dimension of 4 positions, of points 0, +-a, +-b and infinity: with e = d4 - b^2 d2 and o = d3 -
 * b^2 d1 the input at +-a is e +- a o (at +-b alike, with a and b exchanged), at 0 it is a^2 b^2 d0
 * - (a^2 + b^2) d2 + d4, and at infinity the same of d1, d3, d5. A filter is its polynomial at the
 * point. Position i of the output is the sum over the points p of p^i m(p) / N(p), where N(p) is
 * the product of p's differences from the other finite points.
 */
#include "backend/onednn/winograd/winograd.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define FILTER 3 /* rows and columns of a filter */

typedef float vector __attribute__((vector_size(LANES * sizeof(float))));
typedef uint32_t bits __attribute__((vector_size(LANES * sizeof(uint32_t))));

#define A  0.75f
#define B  1.5f
#define A2 (A * A)
#define B2 (B * B)
/* Reciprocals of N(0), N(+-a) and N(+-b). */
#define OF_0 (1 / (A2 * B2))
#define OF_A (1 / (2 * A2 * (A2 - B2)))
#define OF_B (1 / (2 * B2 * (B2 - A2)))

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

/* Loads the first n of a vector's values; the others are 0. */
INLINE vector load_some(const float *from, int64_t n)
{
    vector v = {0};

    if (n >= LANES)
        return load(from);
    memcpy(&v, from, (size_t)n * sizeof *from);
    return v;
}

INLINE void store_some(vector v, float *to, int64_t n)
{
    if (n >= LANES)
        store(v, to);
    else
        memcpy(to, &v, (size_t)n * sizeof *to);
}

/* ---- transforms along one dimension, whose values lie `step` apart ---- */

INLINE void input_of_4(const vector *d, int step, vector *p, int to_step)
{
    const vector e_a = d[4 * step] - B2 * d[2 * step], o_a = d[3 * step] - B2 * d[step];
    const vector e_b = d[4 * step] - A2 * d[2 * step], o_b = d[3 * step] - A2 * d[step];

    p[0] = A2 * B2 * d[0] + (d[4 * step] - (A2 + B2) * d[2 * step]);
    p[to_step] = e_a + A * o_a;
    p[2 * to_step] = e_a - A * o_a;
    p[3 * to_step] = e_b + B * o_b;
    p[4 * to_step] = e_b - B * o_b;
    p[5 * to_step] = A2 * B2 * d[step] + (d[5 * step] - (A2 + B2) * d[3 * step]);
}

INLINE void input_of_2(const vector *d, int step, vector *p, int to_step)
{
    p[0] = d[0] - d[2 * step];
    p[to_step] = d[step] + d[2 * step];
    p[2 * to_step] = d[2 * step] - d[step];
    p[3 * to_step] = d[step] - d[3 * step];
}

INLINE void filter_of_4(const vector *g, int step, vector *p, int to_step)
{
    const vector e_a = g[0] + A2 * g[2 * step], e_b = g[0] + B2 * g[2 * step];

    p[0] = g[0];
    p[to_step] = e_a + A * g[step];
    p[2 * to_step] = e_a - A * g[step];
    p[3 * to_step] = e_b + B * g[step];
    p[4 * to_step] = e_b - B * g[step];
    p[5 * to_step] = g[2 * step];
}

INLINE void filter_of_2(const vector *g, int step, vector *p, int to_step)
{
    const vector e = 0.5f * (g[0] + g[2 * step]), o = 0.5f * g[step];

    p[0] = g[0];
    p[to_step] = e + o;
    p[2 * to_step] = e - o;
    p[3 * to_step] = g[2 * step];
}

INLINE void output_of_4(const vector *m, int step, vector *y, int to_step)
{
    const vector e_a = m[step] + m[2 * step], o_a = m[step] - m[2 * step];
    const vector e_b = m[3 * step] + m[4 * step], o_b = m[3 * step] - m[4 * step];

    y[0] = OF_0 * m[0] + (OF_A * e_a + OF_B * e_b);
    y[to_step] = OF_A * A * o_a + OF_B * B * o_b;
    y[2 * to_step] = OF_A * A2 * e_a + OF_B * B2 * e_b;
    y[3 * to_step] = OF_A * A2 * A * o_a + (OF_B * B2 * B * o_b + m[5 * step]);
}

INLINE void output_of_2(const vector *m, int step, vector *y, int to_step)
{
    y[0] = m[0] + m[step] + m[2 * step];
    y[to_step] = m[step] - m[2 * step] - m[3 * step];
}

/* ---- tiles of `rows` rows, which the compiler knows ---- */

/* Gives the points along rows at which the input is evaluated; tiles of one row have the three rows
 * that a filter reads instead. */
INLINE int points_of(int rows)
{
    return rows == 4 ? 6 : rows == 2 ? 4 : FILTER;
}

/* Transforms n channels, at most a vector's, from channel c on. */
INLINE void input_vector(const struct od_tile_input *in, const struct od_tile_points *points,
                         int64_t c, int64_t n, const int rows)
{
    float *to = points->to + c / OD_TILE_CHUNK * points->chunk + c % OD_TILE_CHUNK;
    vector down[OD_TILE_REACH][OD_TILE_REACH];

#pragma GCC unroll 6
    for (int x = 0; x < OD_TILE_REACH; x++) {
        vector d[OD_TILE_REACH] = {{0}};

#pragma GCC unroll 6
        for (int y = 0; y < rows + 2; y++)
            d[y] = load_some(in->cells[y][x] + c, n);
        if (rows == 4)
            input_of_4(d, 1, &down[0][x], OD_TILE_REACH);
        else if (rows == 2)
            input_of_2(d, 1, &down[0][x], OD_TILE_REACH);
        else
#pragma GCC unroll 3
            for (int y = 0; y < FILTER; y++)
                down[y][x] = d[y];
    }
#pragma GCC unroll 6
    for (int y = 0; y < points_of(rows); y++) {
        vector p[OD_TILE_REACH];

        input_of_4(down[y], 1, p, 1);
#pragma GCC unroll 6
        for (int x = 0; x < OD_TILE_REACH; x++)
            store(p[x], to + (y * OD_TILE_REACH + x) * points->point);
    }
}

INLINE void input(const struct od_tile_input *in, const struct od_tile_points *points,
                  const int rows)
{
    int64_t c = 0;

    for (; c + LANES <= in->channels; c += LANES)
        input_vector(in, points, c, LANES, rows);
    if (c < in->channels)
        input_vector(in, points, c, in->channels - c, rows);
}

INLINE void filter_vector(const float *filter, float *to, int64_t point, const int rows)
{
    vector down[OD_TILE_REACH][FILTER];

#pragma GCC unroll 3
    for (int x = 0; x < FILTER; x++) {
        vector g[FILTER];

#pragma GCC unroll 3
        for (int y = 0; y < FILTER; y++)
            g[y] = load(filter + (y * FILTER + x) * OD_TILE_OUTPUTS);
        if (rows == 4)
            filter_of_4(g, 1, &down[0][x], FILTER);
        else if (rows == 2)
            filter_of_2(g, 1, &down[0][x], FILTER);
        else
#pragma GCC unroll 3
            for (int y = 0; y < FILTER; y++)
                down[y][x] = g[y];
    }
#pragma GCC unroll 6
    for (int y = 0; y < points_of(rows); y++) {
        vector p[OD_TILE_REACH];

        filter_of_4(down[y], 1, p, 1);
#pragma GCC unroll 6
        for (int x = 0; x < OD_TILE_REACH; x++)
            store(p[x], to + (y * OD_TILE_REACH + x) * point);
    }
}

INLINE void filter(const float *filters, int64_t channels, float *to, int64_t point, const int rows)
{
    for (int64_t c = 0; c < channels; c++)
        for (int o = 0; o < OD_TILE_OUTPUTS; o += LANES)
            filter_vector(filters + c * FILTER * FILTER * OD_TILE_OUTPUTS + o,
                          to + c * OD_TILE_OUTPUTS + o, point, rows);
}

INLINE vector rectified(vector x)
{
    const vector zero = {0};

    return (vector)((bits)x & ~(bits)(x <= zero)); /* what is no number stays so */
}

/* Writes n channels, at most a vector's, from channel o on. */
INLINE void output_vector(const struct od_tile_output *out, int64_t o, int64_t n, const int rows)
{
    const int points = rows == 1 ? 1 : points_of(rows);
    const vector bias = out->bias ? load_some(out->bias + o, n) : (vector){0};
    vector down[4][OD_TILE_REACH];

#pragma GCC unroll 6
    for (int x = 0; x < OD_TILE_REACH; x++) {
        vector m[OD_TILE_REACH];

#pragma GCC unroll 6
        for (int y = 0; y < points; y++)
            m[y] = load(out->sums + (y * OD_TILE_REACH + x) * out->point + o);
        if (rows == 4)
            output_of_4(m, 1, &down[0][x], OD_TILE_REACH);
        else if (rows == 2)
            output_of_2(m, 1, &down[0][x], OD_TILE_REACH);
        else
            down[0][x] = m[0];
    }
#pragma GCC unroll 4
    for (int y = 0; y < rows; y++) {
        float *to = out->to + y * out->row + o;
        vector values[OD_TILE_COLUMNS];

        if (y >= out->rows)
            break;
        output_of_4(down[y], 1, values, 1);
#pragma GCC unroll 4
        for (int x = 0; x < OD_TILE_COLUMNS; x++)
            if (x < out->columns)
                store_some(out->relu ? rectified(values[x] + bias) : values[x] + bias,
                           to + x * out->column, n);
    }
}

INLINE void output(const struct od_tile_output *out, const int rows)
{
    int64_t o = 0;

    for (; o + LANES <= out->channels; o += LANES)
        output_vector(out, o, LANES, rows);
    if (o < out->channels)
        output_vector(out, o, out->channels - o, rows);
}

#define SIZE(rows)                                                                                 \
    static void input_##rows(const struct od_tile_input *in, const struct od_tile_points *points)  \
    {                                                                                              \
        input(in, points, rows);                                                                   \
    }                                                                                              \
    static void filter_##rows(const float *filters, int64_t channels, float *to, int64_t point)    \
    {                                                                                              \
        filter(filters, channels, to, point, rows);                                                \
    }                                                                                              \
    static void output_##rows(const struct od_tile_output *out)                                    \
    {                                                                                              \
        output(out, rows);                                                                         \
    }

SIZE(1)
SIZE(2)
SIZE(4)

/* ---- products ---- */

/* Adds the terms of n tiles, which the compiler knows, from tile `first` on to two vectors of
 * outputs from output `o` on. */
INLINE void multiply_some(const struct od_tile_product *p, int64_t first, int o, const int n)
{
    float *to = p->sums + first * OD_TILE_OUTPUTS + o;
    vector sums[MOST_ROWS][2];

#pragma GCC unroll 14
    for (int r = 0; r < n; r++) {
        sums[r][0] = p->add ? load(to + r * OD_TILE_OUTPUTS) : (vector){0};
        sums[r][1] = p->add ? load(to + r * OD_TILE_OUTPUTS + LANES) : (vector){0};
    }
    for (int t = 0; t < p->n_terms; t++) {
        const float *a = p->input + t * p->input_term + first * OD_TILE_CHUNK;
        const float *b = p->filter + t * p->filter_term + o;

        for (int64_t c = 0; c < p->channels; c += OD_TILE_CHUNK, a += p->chunk) {
            int64_t left = p->channels - c < OD_TILE_CHUNK ? p->channels - c : OD_TILE_CHUNK;

            for (const float *x = a; x < a + left; x++, b += OD_TILE_OUTPUTS) {
                const vector b0 = load(b), b1 = load(b + LANES);

#pragma GCC unroll 14
                for (int r = 0; r < n; r++) {
                    sums[r][0] += x[r * OD_TILE_CHUNK] * b0;
                    sums[r][1] += x[r * OD_TILE_CHUNK] * b1;
                }
            }
        }
    }
#pragma GCC unroll 14
    for (int r = 0; r < n; r++) {
        store(sums[r][0], to + r * OD_TILE_OUTPUTS);
        store(sums[r][1], to + r * OD_TILE_OUTPUTS + LANES);
    }
}

#define MULTIPLY(n)                                                                                \
    static void multiply_##n(const struct od_tile_product *p, int64_t first, int o)                \
    {                                                                                              \
        multiply_some(p, first, o, n);                                                             \
    }

MULTIPLY(1)
MULTIPLY(2)
MULTIPLY(3)
MULTIPLY(4)
MULTIPLY(5)
MULTIPLY(6)
#if MOST_ROWS > 6
MULTIPLY(7)
MULTIPLY(8)
MULTIPLY(9)
MULTIPLY(10)
MULTIPLY(11)
MULTIPLY(12)
MULTIPLY(13)
MULTIPLY(14)
#endif

static void (*const multiply_n[MOST_ROWS])(const struct od_tile_product *p, int64_t first,
                                           int o) = {
    multiply_1,  multiply_2,  multiply_3, multiply_4,  multiply_5,  multiply_6,
#if MOST_ROWS > 6
    multiply_7,  multiply_8,  multiply_9, multiply_10, multiply_11, multiply_12,
    multiply_13, multiply_14,
#endif
};

/* Tiles are multiplied in groups of as equal numbers as possible. */
static void multiply(const struct od_tile_product *p)
{
    int64_t n_groups = (p->n_tiles + MOST_ROWS - 1) / MOST_ROWS, first = 0;

    for (int64_t i = 0; i < n_groups; i++) {
        int64_t end = p->n_tiles * (i + 1) / n_groups;

        for (int o = 0; o < OD_TILE_OUTPUTS; o += 2 * LANES)
            multiply_n[end - first - 1](p, first, o);
        first = end;
    }
}

const struct od_winograd_loops TABLE = {
    .sizes = {{input_1, filter_1, output_1},
              {input_2, filter_2, output_2},
              {input_4, filter_4, output_4}},
    .multiply = multiply,
};
