/*
 * The product of coded weights and activations, for vectors of LANES floats; PRODUCT is the name of
 * the function. This file is included once for each kind of processor, by files that are compiled
 * for it.
 *
 * An entry is one multiplication of a weight with the activations of all samples of its column,
 * which lie side by side. The samples are taken in tiles of 4 vectors, so that the sums of a row
 * stay in registers, and the columns that the rows of a block read stay in the cache; the weights
 * are read once for each tile. An entry reads 2 bytes of weights, and n floats from the cache for n
 * samples, with which it does 2 n operations.
 */
#include "coded/product.h"

#define MOST_VECTORS 4
#define QUAD         4

typedef float vector __attribute__((vector_size(LANES * sizeof(float))));
typedef float quad __attribute__((vector_size(QUAD * sizeof(float))));

/* Defines NAME, which adds the entries of a row to n_vectors vectors of sums. Two sets of sums take
 * turns, so that an addition does not wait for the one before. */
#define DEFINE_ADD_ROW(NAME, VECTOR, N_LANES)                                                      \
    static inline __attribute__((always_inline)) void NAME(                                        \
        const struct vbs_product *product, const struct vbs_product_row *row, const float *column, \
        float *sums, const int n_vectors)                                                          \
    {                                                                                              \
        const float *codebook = product->coded->codebook;                                          \
        size_t stride = product->input_stride;                                                     \
        VECTOR even[MOST_VECTORS], odd[MOST_VECTORS], activations;                                 \
        int i = 0;                                                                                 \
                                                                                                   \
        for (int v = 0; v < n_vectors; v++) {                                                      \
            memcpy(&even[v], sums + v * N_LANES, sizeof even[v]);                                  \
            odd[v] = (VECTOR){0};                                                                  \
        }                                                                                          \
        column -= stride;                                                                          \
        for (; i + 2 <= row->n; i += 2) {                                                          \
            float first = codebook[row->indices[i]], second = codebook[row->indices[i + 1]];       \
            const float *next;                                                                     \
                                                                                                   \
            column += (row->distances[i] + 1U) * stride;                                           \
            next = column + (row->distances[i + 1] + 1U) * stride;                                 \
            for (int v = 0; v < n_vectors; v++) {                                                  \
                memcpy(&activations, column + v * N_LANES, sizeof activations);                    \
                even[v] += first * activations;                                                    \
                memcpy(&activations, next + v * N_LANES, sizeof activations);                      \
                odd[v] += second * activations;                                                    \
            }                                                                                      \
            column = next;                                                                         \
        }                                                                                          \
        if (i < row->n) {                                                                          \
            column += (row->distances[i] + 1U) * stride;                                           \
            for (int v = 0; v < n_vectors; v++) {                                                  \
                memcpy(&activations, column + v * N_LANES, sizeof activations);                    \
                even[v] += codebook[row->indices[i]] * activations;                                \
            }                                                                                      \
        }                                                                                          \
        for (int v = 0; v < n_vectors; v++) {                                                      \
            even[v] += odd[v];                                                                     \
            memcpy(sums + v * N_LANES, &even[v], sizeof even[v]);                                  \
        }                                                                                          \
    }

DEFINE_ADD_ROW(add_vectors, vector, LANES)
DEFINE_ADD_ROW(add_quads, quad, QUAD)

/* One sample: four sums take turns. */
static void add_single(const struct vbs_product *product, const struct vbs_product_row *row,
                       const float *column, float *sum)
{
    const float *codebook = product->coded->codebook;
    size_t stride = product->input_stride;
    float sums[4] = {0};
    int i = 0;

    column -= stride;
    for (; i + 4 <= row->n; i += 4)
        for (int k = 0; k < 4; k++) {
            column += (row->distances[i + k] + 1U) * stride;
            sums[k] += codebook[row->indices[i + k]] * *column;
        }
    for (; i < row->n; i++) {
        column += (row->distances[i] + 1U) * stride;
        sums[0] += codebook[row->indices[i]] * *column;
    }
    *sum += (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Adds a row for all samples, at most MOST_VECTORS vectors of them, in as large pieces as there are
 * left. */
static void add_row(const struct vbs_product *product, const struct vbs_product_row *row,
                    const float *column, float *sums)
{
    int s = 0, n = product->n_samples;

    if (n == MOST_VECTORS * LANES) {
        add_vectors(product, row, column, sums, MOST_VECTORS);
        return;
    }
    if (s + 2 * LANES <= n) {
        add_vectors(product, row, column + s, sums + s, 2);
        s += 2 * LANES;
    }
    if (s + LANES <= n) {
        add_vectors(product, row, column + s, sums + s, 1);
        s += LANES;
    }
    for (; s + QUAD <= n; s += QUAD)
        add_quads(product, row, column + s, sums + s, 1);
    for (; s < n; s++)
        add_single(product, row, column + s, sums + s);
}

/* Adds the rows of a block. */
static void add_block(const struct vbs_product *product, int64_t block, float *output)
{
    const struct vbs_coded *coded = product->coded;
    struct vbs_coded_place place = vbs_coded_place(coded, block);
    const uint8_t *numbers = coded->data + coded->offsets[block];
    const float *column = product->input + (size_t)place.first_column * product->input_stride;
    bool is_short = coded->header.block_columns <= UINT8_MAX;
    struct vbs_product_row row = {.distances = numbers + place.n_rows * (is_short ? 1 : 2)};
    int64_t n_entries =
        (coded->offsets[block + 1] - coded->offsets[block] - (row.distances - numbers)) / 2;

    row.indices = row.distances + n_entries;
    for (int r = 0; r < place.n_rows; r++) {
        row.n = is_short ? numbers[r] : numbers[2 * r] | numbers[2 * r + 1] << 8;
        add_row(product, &row, column, output + (size_t)r * product->output_stride);
        row.distances += row.n;
        row.indices += row.n;
    }
}

/* Adds all rows for at most MOST_VECTORS vectors of samples. */
static void add_tile(const struct vbs_product *product)
{
    const struct vbs_coded *coded = product->coded;

    for (int64_t c = 0; c < coded->n_block_columns; c++)
        for (int64_t r = product->first_block_row; r < product->end_block_row; r++)
            add_block(product, r * coded->n_block_columns + c,
                      product->output + (size_t)(r - product->first_block_row) *
                                            coded->header.block_rows * product->output_stride);
}

void PRODUCT(const struct vbs_product *product)
{
    const int most = MOST_VECTORS * LANES;

    for (int s = 0; s < product->n_samples; s += most) {
        struct vbs_product tile = *product;

        tile.input += s;
        tile.output += s;
        tile.n_samples = product->n_samples - s < most ? product->n_samples - s : most;
        add_tile(&tile);
    }
}
