/*
 * A matrix that is coded: its indices into the codebook are read by rows, so that it need not be in
 * memory as a whole. Internal to the room.
 */
#ifndef VBS_CODED_MATRIX_H
#define VBS_CODED_MATRIX_H

#include "vbslab/coded.h"

struct vbs_index_matrix {
    int64_t n_rows, n_columns;
    int bits, n_values;
    const float *codebook; /* [n_values] */
    /* Gives n_rows rows of indices from first_row on, one behind the other, which stay until the
     * next call. Rows are read from the first to the last, twice or more often. */
    enum vbs_status (*rows)(void *self, int64_t first_row, int64_t n_rows, const uint16_t **rows);
    void *self;
};

/* Codes a matrix: vbs_code, but for the checks of the matrix. */
enum vbs_status vbs_code_matrix(struct vbs_ctx *ctx, const struct vbs_index_matrix *matrix,
                                const struct vbs_coding_options *options,
                                struct vbs_coded **coded) VBS_MUST_CHECK;

#endif
