/*
 * Coding a quantised matrix: the symbols are counted, codes are made for them, then all blocks are
 * written.
 */
#include "coded/layout.h"
#include "coded/matrix.h"

#include "base/arith.h"
#include "base/fail.h"

#include <stdlib.h>

#define CODE_ROOM       4 /* bits of the longest code beyond those that all symbols need */
#define LEAST_CODE_BITS 8
#define MOST_LOST       256 /* codes may be longer by one part of so many, for a smaller table */

/* The work on one matrix. */
struct coding {
    struct vbs_ctx *ctx;
    const struct vbs_index_matrix *matrix;
    const struct vbs_coded_form *form;
    struct vbs_coded coded; /* header and numbers of blocks */
    uint16_t *indices;      /* space for those of a block; null: blocks are whole rows */
    uint64_t *counts[2];
    uint8_t *lengths[2];
    uint32_t *codes[2];
    uint8_t *bytes;       /* the coded weights */
    size_t offsets, data; /* where these sections begin */
    struct vbs_coded_writer writer;
};

static enum vbs_status check_options(struct vbs_ctx *ctx, const struct vbs_index_matrix *matrix,
                                     const struct vbs_coding_options *options)
{
    if (options->coding >= VBS_N_CODINGS)
        return vbs_fail(ctx, VBS_USAGE, "there is no such form of coded weights");
    if (options->index_bits < 1 || options->index_bits > VBS_MAX_INDEX_BITS)
        return vbs_fail(ctx, VBS_USAGE,
                        "%d bits of a distance are out of range; it goes from 1 to %d",
                        options->index_bits, VBS_MAX_INDEX_BITS);
    if (options->coding == VBS_CODING_JOINT &&
        matrix->bits + options->index_bits > VBS_MAX_PAIR_BITS)
        return vbs_fail(ctx, VBS_USAGE,
                        "pairs of %d bits of the codebook and %d of a distance have no joint code; "
                        "together they may have %d",
                        matrix->bits, options->index_bits, VBS_MAX_PAIR_BITS);
    if (options->block_rows < 1 || options->block_columns < 1)
        return vbs_fail(ctx, VBS_USAGE, "a block of %lld x %lld weights is out of range",
                        (long long)options->block_rows, (long long)options->block_columns);
    return VBS_OK;
}

static enum vbs_status fill_header(struct coding *work, const struct vbs_coding_options *options)
{
    const struct vbs_index_matrix *matrix = work->matrix;
    int64_t rows = options->block_rows, columns = options->block_columns, area;

    rows = rows < matrix->n_rows ? rows : matrix->n_rows;
    columns = columns < matrix->n_columns ? columns : matrix->n_columns;
    if (options->coding == VBS_CODING_BYTES && columns > VBS_MAX_BYTES_COLUMNS)
        columns = VBS_MAX_BYTES_COLUMNS;
    if (!vbs_mul(rows, columns, &area) || area > VBS_MAX_CODED_BLOCK)
        return vbs_fail(work->ctx, VBS_USAGE, "a block of %lld x %lld weights is out of range",
                        (long long)rows, (long long)columns);
    work->coded.header = (struct vbs_coded_header){.version = VBS_CODED_VERSION,
                                                   .coding = (uint8_t)options->coding,
                                                   .bits = (uint8_t)matrix->bits,
                                                   .index_bits = (uint8_t)options->index_bits,
                                                   .n_values = (uint32_t)matrix->n_values,
                                                   .n_rows = matrix->n_rows,
                                                   .n_columns = matrix->n_columns,
                                                   .block_rows = (uint32_t)rows,
                                                   .block_columns = (uint32_t)columns};
    memcpy(work->coded.header.magic, VBS_CODED_MAGIC, sizeof work->coded.header.magic);
    vbs_coded_count_blocks(&work->coded);
    return VBS_OK;
}

static enum vbs_status allocate(struct coding *work)
{
    size_t area = (size_t)work->coded.header.block_rows * (size_t)work->coded.header.block_columns;

    if (work->coded.n_block_columns > 1) {
        work->indices = malloc(area * sizeof *work->indices);
        if (!work->indices)
            return vbs_no_memory(work->ctx);
    }
    for (int c = 0; c < work->form->n_codes; c++) {
        size_t n = (size_t)vbs_coded_symbols(&work->coded.header, c);

        work->counts[c] = calloc(n, sizeof **work->counts);
        work->lengths[c] = calloc(n, sizeof **work->lengths);
        work->codes[c] = calloc(n, sizeof **work->codes);
        if (!work->counts[c] || !work->lengths[c] || !work->codes[c])
            return vbs_no_memory(work->ctx);
    }
    return VBS_OK;
}

/* Gives the indices of a block of the given rows, row by row. */
static const uint16_t *gather(const struct coding *work, const struct vbs_coded_place *place,
                              const uint16_t *rows)
{
    size_t width = (size_t)place->n_columns;

    if (!work->indices)
        return rows;
    for (int row = 0; row < place->n_rows; row++)
        memcpy(&work->indices[(size_t)row * width],
               &rows[row * work->matrix->n_columns + place->first_column],
               width * sizeof *work->indices);
    return work->indices;
}

typedef enum vbs_status block_use(struct coding *work, const struct vbs_coded_place *place,
                                  const uint16_t *indices);

/* Hands all blocks to a function, one after the other; rows of the matrix are read once. */
static enum vbs_status for_each_block(struct coding *work, block_use *use)
{
    for (int64_t row = 0, b = 0; row < work->coded.n_block_rows; row++) {
        struct vbs_coded_place place = vbs_coded_place(&work->coded, b);
        const uint16_t *rows;

        VBS_TRY(vbs_check_cancel(work->ctx));
        VBS_TRY(work->matrix->rows(work->matrix->self, place.first_row, place.n_rows, &rows));
        for (int64_t end = b + work->coded.n_block_columns; b < end; b++) {
            place = vbs_coded_place(&work->coded, b);
            VBS_TRY(use(work, &place, gather(work, &place, rows)));
        }
    }
    return VBS_OK;
}

static enum vbs_status count_block(struct coding *work, const struct vbs_coded_place *place,
                                   const uint16_t *indices)
{
    struct vbs_coded_header *header = &work->coded.header;

    header->n_entries += (uint64_t)work->form->count(&work->coded, place, indices, work->counts);
    for (int64_t i = 0; i < (int64_t)place->n_rows * place->n_columns; i++)
        header->n_nonzero += indices[i] != 0;
    return VBS_OK;
}

/* Bits with which all symbols that occur have codes. */
static int least_code_bits(const struct coding *work, int code, int n)
{
    int n_used = 0, bits = LEAST_CODE_BITS;

    for (int i = 0; i < n; i++)
        n_used += work->counts[code][i] > 0;
    while (1 << bits < n_used)
        bits++;
    return bits;
}

/* Bits of all codes of the matrix. */
static uint64_t total_bits(const struct coding *work, int code, int n)
{
    uint64_t n_bits = 0;

    for (int i = 0; i < n; i++)
        n_bits += work->counts[code][i] * work->lengths[code][i];
    return n_bits;
}

/* Finds the lengths of a code, and the most bits of it: the fewest with which little is lost,
 * because decoding is the faster the smaller its table is. */
static enum vbs_status make_lengths(struct coding *work, int code, int n)
{
    bool is_joint = work->coded.header.coding == VBS_CODING_JOINT;
    int most = is_joint ? VBS_MAX_PAIR_CODE_BITS : VBS_MAX_CODE_BITS;
    int bits = least_code_bits(work, code, n);
    const uint64_t *counts = work->counts[code];
    uint8_t *lengths = work->lengths[code];
    uint64_t best;

    most = bits + CODE_ROOM < most ? bits + CODE_ROOM : most;
    VBS_TRY(vbs_huffman_lengths(work->ctx, counts, n, most, lengths));
    best = total_bits(work, code, n);
    for (;; bits++) { /* ends at `most`, if not before */
        VBS_TRY(vbs_huffman_lengths(work->ctx, counts, n, bits, lengths));
        if (total_bits(work, code, n) <= best + best / MOST_LOST)
            break;
    }
    work->coded.header.code_bits[code] = (uint8_t)bits;
    return VBS_OK;
}

static enum vbs_status make_codes(struct coding *work)
{
    for (int c = 0; c < work->form->n_codes; c++) {
        int n = vbs_coded_symbols(&work->coded.header, c);

        VBS_TRY(make_lengths(work, c, n));
        vbs_huffman_codes(work->lengths[c], n, work->codes[c]);
        work->writer.lengths[c] = work->lengths[c];
        work->writer.codes[c] = work->codes[c];
    }
    return VBS_OK;
}

static enum vbs_status too_large(struct coding *work)
{
    return vbs_fail(work->ctx, VBS_UNSUPPORTED,
                    "the coded weights of one layer are larger than offsets of 32 bits");
}

/* Finds the most bytes of each stream, and where the sections behind the codes begin. */
static enum vbs_status find_sizes(struct coding *work, uint64_t most[2])
{
    size_t n_blocks = (size_t)(work->coded.n_block_rows * work->coded.n_block_columns);
    struct vbs_coded_header *header = &work->coded.header;

    for (int s = 0; s < work->form->n_streams; s++) {
        uint64_t n_bits =
            s < work->form->n_codes ? total_bits(work, s, vbs_coded_symbols(header, s)) : 0;

        if (n_bits / (work->form->has_bits ? 1 : 8) > UINT32_MAX)
            return too_large(work);
        most[s] = work->form->most_bytes(&work->coded, n_bits);
    }
    work->offsets = vbs_coded_filled(sizeof *header) +
                    vbs_coded_filled((size_t)header->n_values * sizeof(float));
    for (int c = 0; c < work->form->n_codes; c++)
        work->offsets +=
            vbs_coded_put_lengths(work->lengths[c], vbs_coded_symbols(header, c), NULL);
    work->data = work->offsets + vbs_coded_filled((n_blocks + 1) * (size_t)work->form->n_streams *
                                                  sizeof *work->coded.offsets);
    return VBS_OK;
}

/* Makes space for all sections, and writes those before the offsets, but for the header. */
static enum vbs_status begin_bytes(struct coding *work)
{
    const struct vbs_coded_header *header = &work->coded.header;
    size_t at = sizeof *header, n_codebook = (size_t)header->n_values * sizeof(float);
    uint64_t most[2], begin = 0;

    VBS_TRY(find_sizes(work, most));
    for (int s = 0; s < work->form->n_streams; s++)
        begin = vbs_coded_stream_end(begin, most[s]);
    work->bytes = calloc(work->data + begin, 1);
    if (!work->bytes)
        return vbs_no_memory(work->ctx);
    memcpy(work->bytes + at, work->matrix->codebook, n_codebook);
    at += vbs_coded_filled(n_codebook);
    for (int c = 0; c < work->form->n_codes; c++)
        at +=
            vbs_coded_put_lengths(work->lengths[c], vbs_coded_symbols(header, c), work->bytes + at);
    work->writer.coded = &work->coded;
    begin = 0;
    for (int s = 0; s < work->form->n_streams; s++) {
        work->writer.streams[s].bytes = work->bytes + work->data + begin;
        begin = vbs_coded_stream_end(begin, most[s]);
    }
    return VBS_OK;
}

/* Notes where the next block begins in each stream. */
static enum vbs_status note_offsets(struct coding *work, int64_t block)
{
    uint32_t *offsets = (void *)(work->bytes + work->offsets);

    for (int s = 0; s < work->form->n_streams; s++) {
        uint64_t at = work->writer.streams[s].at / (work->form->has_bits ? 1 : 8);

        if (at > UINT32_MAX)
            return too_large(work);
        offsets[block * work->form->n_streams + s] = (uint32_t)at;
    }
    return VBS_OK;
}

static enum vbs_status write_block(struct coding *work, const struct vbs_coded_place *place,
                                   const uint16_t *indices)
{
    VBS_TRY(note_offsets(work, place->number));
    work->form->write(&work->writer, place, indices);
    return VBS_OK;
}

/* Writes the header, gives unused space back, and opens the bytes, which *coded owns. */
static enum vbs_status finish(struct coding *work, struct vbs_coded **coded)
{
    struct vbs_coded_header *header = &work->coded.header;
    struct vbs_coded *made;
    uint8_t *bytes;
    size_t n_bytes;

    VBS_TRY(note_offsets(work, work->coded.n_block_rows * work->coded.n_block_columns));
    for (int s = 0; s < work->form->n_streams; s++)
        header->n_data = vbs_coded_stream_end(header->n_data, (work->writer.streams[s].at + 7) / 8);
    memcpy(work->bytes, header, sizeof *header);
    n_bytes = work->data + header->n_data;
    bytes = realloc(work->bytes, n_bytes);
    if (!bytes)
        return vbs_no_memory(work->ctx);
    work->bytes = bytes;
    VBS_TRY(vbs_coded_open(work->ctx, work->bytes, n_bytes, &made));
    made->owned = work->bytes;
    work->bytes = NULL;
    *coded = made;
    return VBS_OK;
}

static void coding_clear(struct coding *work)
{
    free(work->indices);
    free(work->bytes);
    for (int c = 0; c < 2; c++) {
        free(work->counts[c]);
        free(work->lengths[c]);
        free(work->codes[c]);
    }
}

enum vbs_status vbs_code_matrix(struct vbs_ctx *ctx, const struct vbs_index_matrix *matrix,
                                const struct vbs_coding_options *options, struct vbs_coded **coded)
{
    struct coding work = {.ctx = ctx, .matrix = matrix};
    enum vbs_status status;

    VBS_TRY(check_options(ctx, matrix, options));
    work.form = vbs_coded_form(options->coding);
    status = fill_header(&work, options);
    if (status == VBS_OK)
        status = allocate(&work);
    if (status == VBS_OK)
        status = for_each_block(&work, count_block);
    if (status == VBS_OK)
        status = make_codes(&work);
    if (status == VBS_OK)
        status = begin_bytes(&work);
    if (status == VBS_OK)
        status = for_each_block(&work, write_block);
    if (status == VBS_OK)
        status = finish(&work, coded);
    coding_clear(&work);
    return status;
}

/* ---- a quantised matrix ---- */

static enum vbs_status check_quantised(struct vbs_ctx *ctx, const struct vbs_quantised *quantised)
{
    int64_t n = quantised->n_rows * quantised->n_columns;

    if (quantised->bits < 1 || quantised->bits > VBS_MAX_CODEBOOK_BITS || quantised->n_values < 1 ||
        quantised->n_values > 1 << quantised->bits)
        return vbs_fail(ctx, VBS_USAGE, "a codebook of %d values in %d bits is out of range",
                        quantised->n_values, quantised->bits);
    if (!vbs_coded_is_codebook(quantised->codebook, quantised->n_values))
        return vbs_fail(ctx, VBS_USAGE, "the values of the codebook are not 0 and ascending ones");
    for (int64_t i = 0; i < n; i++)
        if (quantised->indices[i] >= quantised->n_values)
            return vbs_fail(ctx, VBS_USAGE, "index %lld is not one of the codebook", (long long)i);
    return VBS_OK;
}

/* The matrix is in memory. */
static enum vbs_status quantised_rows(void *self, int64_t first_row, int64_t n_rows,
                                      const uint16_t **rows)
{
    const struct vbs_quantised *quantised = self;

    (void)n_rows;
    *rows = &quantised->indices[first_row * quantised->n_columns];
    return VBS_OK;
}

enum vbs_status vbs_code(struct vbs_ctx *ctx, const struct vbs_quantised *quantised,
                         const struct vbs_coding_options *options, struct vbs_coded **coded)
{
    struct vbs_quantised source = *quantised;
    const struct vbs_index_matrix matrix = {.n_rows = source.n_rows,
                                            .n_columns = source.n_columns,
                                            .bits = source.bits,
                                            .n_values = source.n_values,
                                            .codebook = source.codebook,
                                            .rows = quantised_rows,
                                            .self = &source};

    VBS_TRY(check_quantised(ctx, quantised));
    return vbs_code_matrix(ctx, &matrix, options, coded);
}
