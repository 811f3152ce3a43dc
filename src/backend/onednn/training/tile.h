/*
 * Products of small matrices, of which direct convolutions are made (direct.h): tiles of sums that
 * stay in registers.
 */
#ifndef VBS_BACKEND_ONEDNN_TRAINING_TILE_H
#define VBS_BACKEND_ONEDNN_TRAINING_TILE_H

#include <stdbool.h>
#include <stdint.h>

#define OD_LANES 8 /* floats of a vector */

/* Where a term begins: floats from the addresses of struct od_product. */
struct od_term {
    int64_t a, b;
};

/*
 * c[row][column] += the sum over all terms and k of a[row][k] * b[k][column]. Columns are computed
 * in whole vectors: c has room for them, and up to OD_LANES - 1 floats may be read behind a row
 * of b.
 */
struct od_product {
    const float *a, *b;
    float *c;
    int64_t n_rows, n_columns, n_k;
    int64_t a_row, a_k; /* floats from one row of a to the next, and from one k to the next */
    int64_t b_k, c_row; /* likewise */
    int n_terms;
    const struct od_term *terms;
};

/* Gives whether the processor can compute products; else nothing below is called. */
bool od_has_products(void);

/* Adds the product. Sums are taken in the order of terms and k, whatever else the numbers are. */
void od_add_product(const struct od_product *product);

#endif
