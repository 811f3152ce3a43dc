#include "coded/count.h"

#include "base/arith.h"
#include "base/fail.h"

#include <stdlib.h>

#define CODE_ROOM       4 /* bits of the longest code beyond those that all symbols need */
#define LEAST_CODE_BITS 8
#define MOST_LOST       256 /* codes may be longer by one part of so many, for a smaller table */

/* ---- blocks ---- */

static enum vbs_status fill_header(struct vbs_block_matrix *blocks,
                                   const struct vbs_coding_options *options)
{
    const struct vbs_index_matrix *matrix = blocks->matrix;
    int64_t rows = options->block_rows, columns = options->block_columns, area;

    if (rows < 1 || columns < 1)
        return vbs_fail(blocks->ctx, VBS_USAGE, "a block of %lld x %lld weights is out of range",
                        (long long)rows, (long long)columns);
    rows = rows < matrix->n_rows ? rows : matrix->n_rows;
    columns = columns < matrix->n_columns ? columns : matrix->n_columns;
    if (options->coding == VBS_CODING_BYTES && columns > VBS_MAX_BYTES_COLUMNS)
        columns = VBS_MAX_BYTES_COLUMNS;
    if (!vbs_mul(rows, columns, &area) || area > VBS_MAX_CODED_BLOCK)
        return vbs_fail(blocks->ctx, VBS_USAGE, "a block of %lld x %lld weights is out of range",
                        (long long)rows, (long long)columns);
    blocks->coded.header = (struct vbs_coded_header){.version = VBS_CODED_VERSION,
                                                     .coding = (uint8_t)options->coding,
                                                     .bits = (uint8_t)matrix->bits,
                                                     .index_bits = (uint8_t)options->index_bits,
                                                     .n_values = (uint32_t)matrix->n_values,
                                                     .n_rows = matrix->n_rows,
                                                     .n_columns = matrix->n_columns,
                                                     .block_rows = (uint32_t)rows,
                                                     .block_columns = (uint32_t)columns};
    memcpy(blocks->coded.header.magic, VBS_CODED_MAGIC, sizeof blocks->coded.header.magic);
    vbs_coded_count_blocks(&blocks->coded);
    return VBS_OK;
}

enum vbs_status vbs_blocks_init(struct vbs_ctx *ctx, const struct vbs_index_matrix *matrix,
                                const struct vbs_coding_options *options,
                                struct vbs_block_matrix *blocks)
{
    *blocks = (struct vbs_block_matrix){.ctx = ctx, .matrix = matrix};
    if (options->coding >= VBS_N_CODINGS)
        return vbs_fail(ctx, VBS_USAGE, "there is no such form of coded weights");
    blocks->form = vbs_coded_form(options->coding);
    VBS_TRY(fill_header(blocks, options));
    if (blocks->coded.n_block_columns > 1) {
        const struct vbs_coded_header *header = &blocks->coded.header;

        blocks->indices = malloc((size_t)header->block_rows * (size_t)header->block_columns *
                                 sizeof *blocks->indices);
        if (!blocks->indices)
            return vbs_no_memory(ctx);
    }
    return VBS_OK;
}

void vbs_blocks_clear(struct vbs_block_matrix *blocks)
{
    free(blocks->indices);
    blocks->indices = NULL;
}

/* Gives the indices of a block of the given rows, row by row. */
static const uint16_t *gather(const struct vbs_block_matrix *blocks,
                              const struct vbs_coded_place *place, const uint16_t *rows)
{
    size_t width = (size_t)place->n_columns;

    if (!blocks->indices)
        return rows;
    for (int row = 0; row < place->n_rows; row++)
        memcpy(&blocks->indices[(size_t)row * width],
               &rows[row * blocks->matrix->n_columns + place->first_column],
               width * sizeof *blocks->indices);
    return blocks->indices;
}

enum vbs_status vbs_blocks_each(struct vbs_block_matrix *blocks, vbs_block_use *use, void *self)
{
    for (int64_t row = 0, b = 0; row < blocks->coded.n_block_rows; row++) {
        struct vbs_coded_place place = vbs_coded_place(&blocks->coded, b);
        const uint16_t *rows;

        VBS_TRY(vbs_check_cancel(blocks->ctx));
        VBS_TRY(blocks->matrix->rows(blocks->matrix->self, place.first_row, place.n_rows, &rows));
        for (int64_t end = b + blocks->coded.n_block_columns; b < end; b++) {
            place = vbs_coded_place(&blocks->coded, b);
            VBS_TRY(use(self, &place, gather(blocks, &place, rows)));
        }
    }
    return VBS_OK;
}

/* ---- symbols ---- */

enum vbs_status vbs_counts_init(const struct vbs_block_matrix *blocks,
                                struct vbs_symbol_counts *counts)
{
    *counts = (struct vbs_symbol_counts){{NULL, NULL}};
    for (int c = 0; c < blocks->form->n_codes; c++) {
        size_t n = (size_t)vbs_coded_symbols(&blocks->coded.header, c);

        counts->counts[c] = calloc(n, sizeof *counts->counts[c]);
        if (!counts->counts[c])
            return vbs_no_memory(blocks->ctx);
    }
    return VBS_OK;
}

void vbs_counts_clear(struct vbs_symbol_counts *counts)
{
    free(counts->counts[0]);
    free(counts->counts[1]);
}

struct counting {
    struct vbs_block_matrix *blocks;
    struct vbs_symbol_counts *counts;
};

static enum vbs_status count_block(void *self, const struct vbs_coded_place *place,
                                   const uint16_t *indices)
{
    struct counting *counting = self;
    struct vbs_coded *coded = &counting->blocks->coded;

    coded->header.n_entries +=
        (uint64_t)counting->blocks->form->count(coded, place, indices, counting->counts->counts);
    for (int64_t i = 0; i < (int64_t)place->n_rows * place->n_columns; i++)
        coded->header.n_nonzero += indices[i] != 0;
    return VBS_OK;
}

enum vbs_status vbs_count_symbols(struct vbs_block_matrix *blocks, struct vbs_symbol_counts *counts)
{
    struct counting counting = {blocks, counts};

    blocks->coded.header.n_entries = blocks->coded.header.n_nonzero = 0;
    return vbs_blocks_each(blocks, count_block, &counting);
}

/* ---- codes ---- */

/* Gives the bits with which all symbols that occur have codes. */
static int least_code_bits(const uint64_t *counts, int n)
{
    int n_used = 0, bits = LEAST_CODE_BITS;

    for (int i = 0; i < n; i++)
        n_used += counts[i] > 0;
    while (1 << bits < n_used)
        bits++;
    return bits;
}

uint64_t vbs_total_bits(const uint64_t *counts, const uint8_t *lengths, int n)
{
    uint64_t n_bits = 0;

    for (int i = 0; i < n; i++)
        n_bits += counts[i] * lengths[i];
    return n_bits;
}

enum vbs_status vbs_choose_lengths(struct vbs_ctx *ctx, enum vbs_coding coding,
                                   const uint64_t *counts, int n, uint8_t *lengths,
                                   uint8_t *code_bits)
{
    int most = coding == VBS_CODING_JOINT ? VBS_MAX_PAIR_CODE_BITS : VBS_MAX_CODE_BITS;
    int bits = least_code_bits(counts, n);
    uint64_t best;

    most = bits + CODE_ROOM < most ? bits + CODE_ROOM : most;
    VBS_TRY(vbs_huffman_lengths(ctx, counts, n, most, lengths));
    best = vbs_total_bits(counts, lengths, n);
    for (;; bits++) { /* ends at `most`, if not before */
        VBS_TRY(vbs_huffman_lengths(ctx, counts, n, bits, lengths));
        if (vbs_total_bits(counts, lengths, n) <= best + best / MOST_LOST)
            break;
    }
    *code_bits = (uint8_t)bits;
    return VBS_OK;
}
