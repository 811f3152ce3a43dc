/*
 * The product of coded weights and activations, for the processors that differ. Internal to the
 * room.
 */
#ifndef VBS_CODED_PRODUCT_H
#define VBS_CODED_PRODUCT_H

#include "coded/forms.h"

/* A product: rows of output += weights x input, both with the samples of a row side by side. */
struct vbs_product {
    const struct vbs_coded *coded; /* of VBS_CODING_BYTES, with indices of a byte */
    int64_t first_block_row, end_block_row;
    const float *input; /* [columns][input_stride] */
    size_t input_stride;
    int n_samples;
    float *output; /* [rows][output_stride]; the first row is that of first_block_row */
    size_t output_stride;
};

/* The entries of one row of a block. */
struct vbs_product_row {
    int n;
    const uint8_t *distances, *indices;
};

/* The same function, compiled for processors with vectors of 4, 8 and 16 floats. The last two are
 * null where the compiler does not know such processors. */
typedef void vbs_product_run(const struct vbs_product *product);
vbs_product_run vbs_product_plain;
#if defined(__x86_64__)
vbs_product_run vbs_product_avx2, vbs_product_avx512;
#endif

#endif
