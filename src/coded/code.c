/*
 * Coding a quantised matrix: the symbols are counted, codes are made for them, then all blocks are
 * written.
 */
#include "coded/layout.h"

#include "base/arith.h"
#include "base/fail.h"

#include <stdlib.h>

#define CODE_ROOM       4 /* bits of the longest code beyond those that all symbols need */
#define LEAST_CODE_BITS 8

/* The work on one matrix. */
struct coding {
    struct vbs_ctx *ctx;
    const struct vbs_quantised *quantised;
    const struct vbs_coded_form *form;
    struct vbs_coded coded; /* header and numbers of blocks */
    uint16_t *indices;      /* of a block */
    uint64_t *counts[2];
    uint8_t *lengths[2];
    uint32_t *codes[2];
    uint32_t *offsets; /* [blocks + 1][streams] */
    struct vbs_coded_writer writer;
};

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

static enum vbs_status check_options(struct vbs_ctx *ctx, const struct vbs_quantised *quantised,
                                     const struct vbs_coding_options *options)
{
    if (options->coding >= VBS_N_CODINGS)
        return vbs_fail(ctx, VBS_USAGE, "there is no such form of coded weights");
    if (options->index_bits < 1 || options->index_bits > VBS_MAX_INDEX_BITS)
        return vbs_fail(ctx, VBS_USAGE,
                        "%d bits of a distance are out of range; it goes from 1 to %d",
                        options->index_bits, VBS_MAX_INDEX_BITS);
    if (options->coding == VBS_CODING_JOINT &&
        quantised->bits + options->index_bits > VBS_MAX_PAIR_BITS)
        return vbs_fail(ctx, VBS_USAGE,
                        "pairs of %d bits of the codebook and %d of a distance have no joint code; "
                        "together they may have %d",
                        quantised->bits, options->index_bits, VBS_MAX_PAIR_BITS);
    if (options->block_rows < 1 || options->block_columns < 1)
        return vbs_fail(ctx, VBS_USAGE, "a block of %lld x %lld weights is out of range",
                        (long long)options->block_rows, (long long)options->block_columns);
    return VBS_OK;
}

static enum vbs_status fill_header(struct coding *work, const struct vbs_coding_options *options)
{
    const struct vbs_quantised *quantised = work->quantised;
    int64_t rows = options->block_rows, columns = options->block_columns, area;

    rows = rows < quantised->n_rows ? rows : quantised->n_rows;
    columns = columns < quantised->n_columns ? columns : quantised->n_columns;
    if (!vbs_mul(rows, columns, &area) || area > VBS_MAX_CODED_BLOCK)
        return vbs_fail(work->ctx, VBS_USAGE, "a block of %lld x %lld weights is out of range",
                        (long long)rows, (long long)columns);
    work->coded.header = (struct vbs_coded_header){.version = VBS_CODED_VERSION,
                                                   .coding = (uint8_t)options->coding,
                                                   .bits = (uint8_t)quantised->bits,
                                                   .index_bits = (uint8_t)options->index_bits,
                                                   .n_values = (uint32_t)quantised->n_values,
                                                   .n_rows = quantised->n_rows,
                                                   .n_columns = quantised->n_columns,
                                                   .block_rows = (uint32_t)rows,
                                                   .block_columns = (uint32_t)columns};
    memcpy(work->coded.header.magic, VBS_CODED_MAGIC, sizeof work->coded.header.magic);
    vbs_coded_count_blocks(&work->coded);
    return VBS_OK;
}

static enum vbs_status allocate(struct coding *work)
{
    size_t area = (size_t)work->coded.header.block_rows * (size_t)work->coded.header.block_columns;
    size_t n_blocks = (size_t)(work->coded.n_block_rows * work->coded.n_block_columns);

    work->indices = malloc(area * sizeof *work->indices);
    work->writer.entries = malloc(area * sizeof *work->writer.entries);
    work->offsets = malloc((n_blocks + 1) * (size_t)work->form->n_streams * sizeof *work->offsets);
    if (!work->indices || !work->writer.entries || !work->offsets)
        return vbs_no_memory(work->ctx);
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

/* Copies the indices of a block, row by row. */
static void gather(const struct coding *work, const struct vbs_coded_place *place)
{
    const uint16_t *from =
        &work->quantised
             ->indices[place->first_row * work->quantised->n_columns + place->first_column];

    for (int row = 0; row < place->n_rows; row++)
        memcpy(&work->indices[(size_t)row * (size_t)place->n_columns],
               &from[row * work->quantised->n_columns], (size_t)place->n_columns * sizeof *from);
}

static enum vbs_status count_symbols(struct coding *work)
{
    for (int64_t b = 0; b < work->coded.n_block_rows * work->coded.n_block_columns; b++) {
        struct vbs_coded_place place = vbs_coded_place(&work->coded, b);

        VBS_TRY(vbs_check_cancel(work->ctx));
        gather(work, &place);
        work->form->count(&work->coded, &place, work->indices, work->writer.entries, work->counts);
        for (int64_t i = 0; i < (int64_t)place.n_rows * place.n_columns; i++)
            work->coded.header.n_nonzero += work->indices[i] != 0;
    }
    return VBS_OK;
}

/* The most bits of a code: little is lost by the limit, and the table stays small. */
static int choose_code_bits(const struct coding *work, int code)
{
    int n = vbs_coded_symbols(&work->coded.header, code), n_used = 0, bits = CODE_ROOM;
    int most =
        work->coded.header.coding == VBS_CODING_JOINT ? VBS_MAX_PAIR_CODE_BITS : VBS_MAX_CODE_BITS;

    for (int i = 0; i < n; i++)
        n_used += work->counts[code][i] > 0;
    while (1 << (bits - CODE_ROOM) < n_used)
        bits++;
    bits = bits > LEAST_CODE_BITS ? bits : LEAST_CODE_BITS;
    return bits < most ? bits : most;
}

static enum vbs_status make_codes(struct coding *work)
{
    for (int c = 0; c < work->form->n_codes; c++) {
        int n = vbs_coded_symbols(&work->coded.header, c), bits = choose_code_bits(work, c);

        VBS_TRY(vbs_huffman_lengths(work->ctx, work->counts[c], n, bits, work->lengths[c]));
        vbs_huffman_codes(work->lengths[c], n, work->codes[c]);
        work->coded.header.code_bits[c] = (uint8_t)bits;
        work->writer.lengths[c] = work->lengths[c];
        work->writer.codes[c] = work->codes[c];
    }
    return VBS_OK;
}

/* Notes where the next block begins in each stream. */
static enum vbs_status note_offsets(struct coding *work, int64_t block)
{
    for (int s = 0; s < work->form->n_streams; s++) {
        uint64_t at = work->writer.streams[s].bits.at / (work->form->has_bits ? 1 : 8);

        if (at > UINT32_MAX)
            return vbs_fail(work->ctx, VBS_UNSUPPORTED,
                            "the coded weights of one layer are larger than offsets of 32 bits");
        work->offsets[block * work->form->n_streams + s] = (uint32_t)at;
    }
    return VBS_OK;
}

static enum vbs_status write_blocks(struct coding *work)
{
    int64_t n_blocks = work->coded.n_block_rows * work->coded.n_block_columns;

    work->writer.ctx = work->ctx;
    work->writer.coded = &work->coded;
    for (int64_t b = 0; b < n_blocks; b++) {
        struct vbs_coded_place place = vbs_coded_place(&work->coded, b);

        VBS_TRY(vbs_check_cancel(work->ctx));
        VBS_TRY(note_offsets(work, b));
        gather(work, &place);
        VBS_TRY(work->form->write(&work->writer, &place, work->indices));
    }
    work->coded.header.n_entries = work->writer.n_entries;
    return note_offsets(work, n_blocks);
}

/* Adds n bytes from a section to bytes (null: only counts), up to a multiple of 8. */
static size_t add(uint8_t *bytes, size_t at, const void *section, size_t n)
{
    if (bytes && n > 0)
        memcpy(bytes + at, section, n);
    return (at + n + 7) & ~(size_t)7;
}

/* Puts all sections behind each other, and gives the end. */
static size_t assemble(struct coding *work, uint8_t *bytes)
{
    struct vbs_coded_header *header = &work->coded.header;
    size_t n_blocks = (size_t)(work->coded.n_block_rows * work->coded.n_block_columns);
    size_t at = add(bytes, 0, header, sizeof *header);

    at = add(bytes, at, work->quantised->codebook,
             (size_t)header->n_values * sizeof *work->quantised->codebook);
    for (int c = 0; c < work->form->n_codes; c++)
        at += vbs_coded_put_lengths(work->lengths[c], vbs_coded_symbols(header, c),
                                    bytes ? bytes + at : NULL);
    at = add(bytes, at, work->offsets,
             (n_blocks + 1) * (size_t)work->form->n_streams * sizeof *work->offsets);
    header->n_data = 0;
    for (int s = 0; s < work->form->n_streams; s++) {
        const struct vbs_bit_writer *bits = &work->writer.streams[s].bits;
        uint64_t n_bytes = (bits->at + 7) / 8;

        (void)add(bytes, at + header->n_data, bits->bytes, (size_t)n_bytes);
        header->n_data = vbs_coded_stream_end(header->n_data, n_bytes);
    }
    return at + header->n_data;
}

static void coding_clear(struct coding *work)
{
    free(work->indices);
    free(work->offsets);
    free(work->writer.entries);
    for (int c = 0; c < 2; c++) {
        free(work->counts[c]);
        free(work->lengths[c]);
        free(work->codes[c]);
        free(work->writer.streams[c].bits.bytes);
    }
}

/* The bytes of all sections, which *coded owns. */
static enum vbs_status finish(struct coding *work, struct vbs_coded **coded)
{
    size_t n_bytes = assemble(work, NULL);
    uint8_t *bytes = calloc(n_bytes, 1);
    enum vbs_status status;

    if (!bytes)
        return vbs_no_memory(work->ctx);
    (void)assemble(work, bytes);
    status = vbs_coded_open(work->ctx, bytes, n_bytes, coded);
    if (status != VBS_OK)
        free(bytes);
    else
        (*coded)->owned = bytes;
    return status;
}

enum vbs_status vbs_code(struct vbs_ctx *ctx, const struct vbs_quantised *quantised,
                         const struct vbs_coding_options *options, struct vbs_coded **coded)
{
    struct coding work = {.ctx = ctx, .quantised = quantised};
    enum vbs_status status;

    VBS_TRY(check_quantised(ctx, quantised));
    VBS_TRY(check_options(ctx, quantised, options));
    work.form = vbs_coded_form(options->coding);
    status = fill_header(&work, options);
    if (status == VBS_OK)
        status = allocate(&work);
    if (status == VBS_OK)
        status = count_symbols(&work);
    if (status == VBS_OK)
        status = make_codes(&work);
    if (status == VBS_OK)
        status = write_blocks(&work);
    if (status == VBS_OK)
        status = finish(&work, coded);
    coding_clear(&work);
    return status;
}
