/*
 * The kernel of products, for processors with AVX2 and FMA; the Makefile compiles this file for
 * them.
 *
 * A processor that begins two multiplications a cycle, each of which takes four, needs at least
 * eight sums to be busy. A tile of 6 rows of 2 vectors, 4 of 3, or 8 of 1 has 8 to 12 sums in the
 * 16 registers; for each k it loads 2 to 3 vectors and 4 to 8 single values, less than the two to
 * three loads a cycle that go beside the multiplications.
 */
#include "backend/onednn/training/tile.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

typedef float vector __attribute__((vector_size(OD_LANES * sizeof(float))));

bool od_has_products(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#define MOST_VECTORS 3

/* The most rows of a tile of 1, 2 and 3 vectors. */
static const int most_rows[MOST_VECTORS] = {8, 6, 4};

/* Adds a tile of n_rows rows and n_vectors vectors, which the compiler knows. */
INLINE void add_tile(const struct od_product *p, const float *a0, const float *b0, float *c,
                     const int n_rows, const int n_vectors)
{
    const int64_t a_row = p->a_row, a_k = p->a_k, b_k = p->b_k, n_k = p->n_k;
    vector sums[8][MOST_VECTORS];

#pragma GCC unroll 8
    for (int r = 0; r < n_rows; r++)
#pragma GCC unroll 3
        for (int v = 0; v < n_vectors; v++)
            memcpy(&sums[r][v], c + r * p->c_row + v * OD_LANES, sizeof sums[r][v]);
    for (int t = 0; t < p->n_terms; t++) {
        const float *a = a0 + p->terms[t].a, *b = b0 + p->terms[t].b;

        for (int64_t k = 0; k < n_k; k++, a += a_k, b += b_k) {
            vector columns[MOST_VECTORS];

#pragma GCC unroll 3
            for (int v = 0; v < n_vectors; v++)
                memcpy(&columns[v], b + v * OD_LANES, sizeof columns[v]);
#pragma GCC unroll 8
            for (int r = 0; r < n_rows; r++) {
                float value = a[r * a_row];

#pragma GCC unroll 3
                for (int v = 0; v < n_vectors; v++)
                    sums[r][v] += value * columns[v];
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < n_rows; r++)
#pragma GCC unroll 3
        for (int v = 0; v < n_vectors; v++)
            memcpy(c + r * p->c_row + v * OD_LANES, &sums[r][v], sizeof sums[r][v]);
}

typedef void tile(const struct od_product *p, const float *a, const float *b, float *c);

#define TILE(rows, vectors)                                                                        \
    static void tile_##rows##_##vectors(const struct od_product *p, const float *a,                \
                                        const float *b, float *c)                                  \
    {                                                                                              \
        add_tile(p, a, b, c, rows, vectors);                                                       \
    }

TILE(1, 1)
TILE(2, 1)
TILE(3, 1)
TILE(4, 1)
TILE(5, 1)
TILE(6, 1)
TILE(7, 1)
TILE(8, 1)
TILE(1, 2)
TILE(2, 2)
TILE(3, 2)
TILE(4, 2)
TILE(5, 2)
TILE(6, 2)
TILE(1, 3)
TILE(2, 3)
TILE(3, 3)
TILE(4, 3)

static tile *const tiles[MOST_VECTORS][8] = {
    {tile_1_1, tile_2_1, tile_3_1, tile_4_1, tile_5_1, tile_6_1, tile_7_1, tile_8_1},
    {tile_1_2, tile_2_2, tile_3_2, tile_4_2, tile_5_2, tile_6_2},
    {tile_1_3, tile_2_3, tile_3_3, tile_4_3},
};

/* Adds the rows of some vectors in tiles of as equal heights as possible. */
static void add_columns(const struct od_product *p, int64_t column, int n_vectors)
{
    int64_t most = most_rows[n_vectors - 1], n_tiles = (p->n_rows + most - 1) / most;
    int64_t row = 0;

    for (int64_t i = 0; i < n_tiles; i++) {
        int64_t end = p->n_rows * (i + 1) / n_tiles;

        tiles[n_vectors - 1][end - row - 1](p, p->a + row * p->a_row, p->b + column,
                                            p->c + row * p->c_row + column);
        row = end;
    }
}

void od_add_product(const struct od_product *p)
{
    int64_t n = (p->n_columns + OD_LANES - 1) / OD_LANES;

    /* 3 vectors, or 2 where 1 would be left */
    for (int64_t v = 0; v < n;) {
        int64_t left = n - v, some = left > 4 || left == 3 ? 3 : left >= 2 ? 2 : 1;

        add_columns(p, v * OD_LANES, (int)some);
        v += some;
    }
}
#else
bool od_has_products(void)
{
    return false;
}

void od_add_product(const struct od_product *product)
{
    (void)product;
}
#endif
