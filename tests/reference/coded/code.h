/*
 * A coder of weights, straight from the description of coded weights in docs/formats: slow and
 * clear, and it shares nothing with src/coded, nor with the decoder beside it.
 */
#ifndef TESTS_REFERENCE_CODED_CODE_H
#define TESTS_REFERENCE_CODED_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reference_matrix {
    int coding; /* 0 comp, 1 joint, 2 bytes */
    int bits, index_bits, n_values;
    int64_t n_rows, n_columns, block_rows, block_columns; /* blocks are no larger than the matrix */
    const float *codebook;
    const uint16_t *indices;
    int most_bits;    /* of a code; at least enough for all symbols, at most 18, for joint 14 */
    bool all_lengths; /* the lengths of codes as 4 bits for each symbol; needs most_bits <= 15 */
};

/* Gives the coded weights, which the caller frees. */
uint8_t *reference_code(const struct reference_matrix *matrix, size_t *n_bytes);

#endif
