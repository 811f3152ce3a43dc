/*
 * Coding anew: rows of indices are decoded as they are coded, a row of blocks at a time.
 */
#include "coded/forms.h"
#include "coded/layout.h"
#include "coded/matrix.h"

#include "base/arith.h"
#include "base/fail.h"

#include <stdlib.h>

/* The rows of coded weights. */
struct decoded_rows {
    struct vbs_ctx *ctx;
    const struct vbs_coded *coded;
    uint16_t *window; /* [block rows][columns]: the row of blocks at hand */
    int64_t at;       /* its number; -1: none yet */
    uint16_t *block;  /* one block; null: blocks are whole rows */
    uint16_t *rows;   /* [n_rows][columns]: rows of several rows of blocks; null: none yet */
};

static enum vbs_status allocate(struct decoded_rows *rows, int64_t n_rows, int64_t n_columns,
                                uint16_t **indices)
{
    int64_t n;

    if (!vbs_mul(n_rows, n_columns, &n) || n > INT64_MAX / 8)
        return vbs_no_memory(rows->ctx);
    *indices = malloc((size_t)n * sizeof **indices);
    return *indices ? VBS_OK : vbs_no_memory(rows->ctx);
}

/* Decodes a block to where it lies in the window. */
static void decode_block(struct decoded_rows *rows, const struct vbs_coded_place *place)
{
    const struct vbs_coded *coded = rows->coded;
    size_t width = (size_t)place->n_columns, stride = (size_t)coded->header.n_columns;
    uint16_t *indices = rows->block ? rows->block : rows->window;

    memset(indices, 0, (size_t)place->n_rows * width * sizeof *indices);
    vbs_coded_form((enum vbs_coding)coded->header.coding)->decode_indices(coded, place, indices);
    for (int row = 0; rows->block && row < place->n_rows; row++)
        memcpy(&rows->window[(size_t)row * stride + (size_t)place->first_column],
               &indices[(size_t)row * width], width * sizeof *indices);
}

/* Decodes the row of blocks that a row lies in, and gives the row. */
static const uint16_t *find_row(struct decoded_rows *rows, int64_t row)
{
    const struct vbs_coded *coded = rows->coded;
    int64_t at = row / coded->header.block_rows, n = coded->n_block_columns;

    for (int64_t b = at * n; at != rows->at && b < (at + 1) * n; b++) {
        struct vbs_coded_place place = vbs_coded_place(coded, b);

        decode_block(rows, &place);
    }
    rows->at = at;
    return &rows->window[row % coded->header.block_rows * coded->header.n_columns];
}

static enum vbs_status decode_rows(void *self, int64_t first_row, int64_t n_rows,
                                   const uint16_t **found)
{
    struct decoded_rows *rows = self;
    int64_t block_rows = rows->coded->header.block_rows, width = rows->coded->header.n_columns;

    if (first_row / block_rows == (first_row + n_rows - 1) / block_rows) {
        *found = find_row(rows, first_row);
        return VBS_OK;
    }
    if (!rows->rows)
        VBS_TRY(allocate(rows, n_rows, width, &rows->rows));
    for (int64_t row = 0; row < n_rows; row++)
        memcpy(&rows->rows[row * width], find_row(rows, first_row + row),
               (size_t)width * sizeof *rows->rows);
    *found = rows->rows;
    return VBS_OK;
}

static enum vbs_status recode(struct decoded_rows *rows, const struct vbs_coding_options *options,
                              struct vbs_coded **recoded)
{
    const struct vbs_coded_header *header = &rows->coded->header;
    const struct vbs_index_matrix matrix = {.n_rows = header->n_rows,
                                            .n_columns = header->n_columns,
                                            .bits = header->bits,
                                            .n_values = (int)header->n_values,
                                            .codebook = rows->coded->codebook,
                                            .rows = decode_rows,
                                            .self = rows};

    VBS_TRY(allocate(rows, header->block_rows, header->n_columns, &rows->window));
    if (rows->coded->n_block_columns > 1)
        VBS_TRY(allocate(rows, header->block_rows, header->block_columns, &rows->block));
    return vbs_code_matrix(rows->ctx, &matrix, options, recoded);
}

enum vbs_status vbs_coded_recode(struct vbs_ctx *ctx, const struct vbs_coded *coded,
                                 const struct vbs_coding_options *options,
                                 struct vbs_coded **recoded)
{
    struct decoded_rows rows = {.ctx = ctx, .coded = coded, .at = -1};
    enum vbs_status status = recode(&rows, options, recoded);

    free(rows.window);
    free(rows.block);
    free(rows.rows);
    return status;
}
