/*
 * Coding a quantised matrix: the symbols are counted, codes are made for them, then all blocks are
 * written.
 */
#include "coded/count.h"
#include "coded/index_bits.h"

#include "base/fail.h"

#include <stdlib.h>

/* The work on one matrix. */
struct coding {
    struct vbs_block_matrix blocks;
    struct vbs_symbol_counts counts;
    uint8_t *lengths[2];
    uint32_t *codes[2];
    uint8_t *bytes;       /* the coded weights */
    size_t offsets, data; /* where these sections begin */
    struct vbs_coded_writer writer;
};

static enum vbs_status check_bits(struct vbs_ctx *ctx, const struct vbs_index_matrix *matrix,
                                  const struct vbs_coding_options *options)
{
    int index_bits = options->index_bits == 0 ? 1 : options->index_bits;

    if (index_bits < 1 || index_bits > VBS_MAX_INDEX_BITS)
        return vbs_fail(ctx, VBS_USAGE,
                        "%d bits of a distance are out of range; it goes from 1 to %d", index_bits,
                        VBS_MAX_INDEX_BITS);
    if (options->coding == VBS_CODING_JOINT && matrix->bits + index_bits > VBS_MAX_PAIR_BITS)
        return vbs_fail(ctx, VBS_USAGE,
                        "pairs of %d bits of the codebook and %d of a distance have no joint code; "
                        "together they may have %d",
                        matrix->bits, index_bits, VBS_MAX_PAIR_BITS);
    return VBS_OK;
}

static enum vbs_status make_codes(struct coding *work)
{
    struct vbs_coded_header *header = &work->blocks.coded.header;

    for (int c = 0; c < work->blocks.form->n_codes; c++) {
        int n = vbs_coded_symbols(header, c);

        work->lengths[c] = calloc((size_t)n, sizeof **work->lengths);
        work->codes[c] = calloc((size_t)n, sizeof **work->codes);
        if (!work->lengths[c] || !work->codes[c])
            return vbs_no_memory(work->blocks.ctx);
        VBS_TRY(vbs_choose_lengths(work->blocks.ctx, (enum vbs_coding)header->coding,
                                   work->counts.counts[c], n, work->lengths[c],
                                   &header->code_bits[c]));
        vbs_huffman_codes(work->lengths[c], n, work->codes[c]);
        work->writer.lengths[c] = work->lengths[c];
        work->writer.codes[c] = work->codes[c];
    }
    return VBS_OK;
}

static enum vbs_status too_large(struct coding *work)
{
    return vbs_fail(work->blocks.ctx, VBS_UNSUPPORTED,
                    "the coded weights of one layer are larger than offsets of 32 bits");
}

/* Finds the most bytes of each stream, and where the sections behind the codes begin. */
static enum vbs_status find_sizes(struct coding *work, uint64_t most[2])
{
    size_t n_blocks =
        (size_t)(work->blocks.coded.n_block_rows * work->blocks.coded.n_block_columns);
    struct vbs_coded_header *header = &work->blocks.coded.header;

    for (int s = 0; s < work->blocks.form->n_streams; s++) {
        uint64_t n_bits = s < work->blocks.form->n_codes
                              ? vbs_total_bits(work->counts.counts[s], work->lengths[s],
                                               vbs_coded_symbols(header, s))
                              : 0;

        if (n_bits / (work->blocks.form->has_bits ? 1 : 8) > UINT32_MAX)
            return too_large(work);
        most[s] = work->blocks.form->most_bytes(&work->blocks.coded, n_bits);
    }
    work->offsets = vbs_coded_filled(sizeof *header) +
                    vbs_coded_filled((size_t)header->n_values * sizeof(float));
    for (int c = 0; c < work->blocks.form->n_codes; c++)
        work->offsets +=
            vbs_coded_put_lengths(work->lengths[c], vbs_coded_symbols(header, c), NULL);
    work->data =
        work->offsets + vbs_coded_filled((n_blocks + 1) * (size_t)work->blocks.form->n_streams *
                                         sizeof *work->blocks.coded.offsets);
    return VBS_OK;
}

/* Makes space for all sections, and writes those before the offsets, but for the header. */
static enum vbs_status begin_bytes(struct coding *work)
{
    const struct vbs_coded_header *header = &work->blocks.coded.header;
    size_t at = sizeof *header, n_codebook = (size_t)header->n_values * sizeof(float);
    uint64_t most[2], begin = 0;

    VBS_TRY(find_sizes(work, most));
    for (int s = 0; s < work->blocks.form->n_streams; s++)
        begin = vbs_coded_stream_end(begin, most[s]);
    work->bytes = calloc(work->data + begin, 1);
    if (!work->bytes)
        return vbs_no_memory(work->blocks.ctx);
    memcpy(work->bytes + at, work->blocks.matrix->codebook, n_codebook);
    at += vbs_coded_filled(n_codebook);
    for (int c = 0; c < work->blocks.form->n_codes; c++)
        at +=
            vbs_coded_put_lengths(work->lengths[c], vbs_coded_symbols(header, c), work->bytes + at);
    work->writer.coded = &work->blocks.coded;
    begin = 0;
    for (int s = 0; s < work->blocks.form->n_streams; s++) {
        work->writer.streams[s].bytes = work->bytes + work->data + begin;
        begin = vbs_coded_stream_end(begin, most[s]);
    }
    return VBS_OK;
}

/* Notes where the next block begins in each stream. */
static enum vbs_status note_offsets(struct coding *work, int64_t block)
{
    uint32_t *offsets = (void *)(work->bytes + work->offsets);

    for (int s = 0; s < work->blocks.form->n_streams; s++) {
        uint64_t at = work->writer.streams[s].at / (work->blocks.form->has_bits ? 1 : 8);

        if (at > UINT32_MAX)
            return too_large(work);
        offsets[block * work->blocks.form->n_streams + s] = (uint32_t)at;
    }
    return VBS_OK;
}

static enum vbs_status write_block(void *self, const struct vbs_coded_place *place,
                                   const uint16_t *indices)
{
    struct coding *work = self;

    VBS_TRY(note_offsets(work, place->number));
    work->blocks.form->write(&work->writer, place, indices);
    return VBS_OK;
}

/* Writes the header, gives unused space back, and opens the bytes, which *coded owns. */
static enum vbs_status finish(struct coding *work, struct vbs_coded **coded)
{
    struct vbs_coded_header *header = &work->blocks.coded.header;
    struct vbs_coded *made;
    uint8_t *bytes;
    size_t n_bytes;

    VBS_TRY(
        note_offsets(work, work->blocks.coded.n_block_rows * work->blocks.coded.n_block_columns));
    for (int s = 0; s < work->blocks.form->n_streams; s++)
        header->n_data = vbs_coded_stream_end(header->n_data, (work->writer.streams[s].at + 7) / 8);
    memcpy(work->bytes, header, sizeof *header);
    n_bytes = work->data + header->n_data;
    bytes = realloc(work->bytes, n_bytes);
    if (!bytes)
        return vbs_no_memory(work->blocks.ctx);
    work->bytes = bytes;
    VBS_TRY(vbs_coded_open(work->blocks.ctx, work->bytes, n_bytes, &made));
    made->owned = work->bytes;
    work->bytes = NULL;
    *coded = made;
    return VBS_OK;
}

static void coding_clear(struct coding *work)
{
    vbs_blocks_clear(&work->blocks);
    vbs_counts_clear(&work->counts);
    free(work->bytes);
    for (int c = 0; c < 2; c++) {
        free(work->lengths[c]);
        free(work->codes[c]);
    }
}

/* Codes with the bits of a distance that the options have. */
static enum vbs_status code_with(struct vbs_ctx *ctx, const struct vbs_index_matrix *matrix,
                                 const struct vbs_coding_options *options, struct vbs_coded **coded)
{
    struct coding work = {.bytes = NULL};
    enum vbs_status status = vbs_blocks_init(ctx, matrix, options, &work.blocks);

    if (status == VBS_OK)
        status = vbs_counts_init(&work.blocks, &work.counts);
    if (status == VBS_OK)
        status = vbs_count_symbols(&work.blocks, &work.counts);
    if (status == VBS_OK)
        status = make_codes(&work);
    if (status == VBS_OK)
        status = begin_bytes(&work);
    if (status == VBS_OK)
        status = vbs_blocks_each(&work.blocks, write_block, &work);
    if (status == VBS_OK)
        status = finish(&work, coded);
    coding_clear(&work);
    return status;
}

/* Codes with each number of bits that may have the fewest bytes, and keeps what has. */
static enum vbs_status code_smallest(struct vbs_ctx *ctx, const struct vbs_index_matrix *matrix,
                                     const struct vbs_coding_options *options,
                                     struct vbs_coded **coded)
{
    struct vbs_coding_options trial = *options;
    struct vbs_coded *best = NULL, *made;
    unsigned set;

    VBS_TRY(vbs_find_index_bits(ctx, matrix, options, &set));
    for (int k = VBS_MAX_INDEX_BITS; k >= 1; k--) {
        enum vbs_status status;

        if (!(set >> k & 1))
            continue;
        trial.index_bits = k;
        status = code_with(ctx, matrix, &trial, &made);
        if (status != VBS_OK) {
            vbs_coded_free(best);
            return status;
        }
        if (best && best->n_bytes <= made->n_bytes) {
            vbs_coded_free(made);
            continue;
        }
        vbs_coded_free(best);
        best = made;
    }
    *coded = best;
    return VBS_OK;
}

enum vbs_status vbs_code_matrix(struct vbs_ctx *ctx, const struct vbs_index_matrix *matrix,
                                const struct vbs_coding_options *options, struct vbs_coded **coded)
{
    VBS_TRY(check_bits(ctx, matrix, options));
    if (options->index_bits == 0)
        return code_smallest(ctx, matrix, options, coded);
    return code_with(ctx, matrix, options, coded);
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
