/*
 * Coded weights from bytes that nobody vouches for: every size, code and block is checked once.
 */
#include "coded/layout.h"

#include "base/arith.h"
#include "base/fail.h"

#include <stdlib.h>

/* The bytes that are not read yet. */
struct section_reader {
    struct vbs_ctx *ctx;
    const uint8_t *bytes;
    size_t left;
};

static enum vbs_status malformed(struct vbs_ctx *ctx, const char *what)
{
    return vbs_fail(ctx, VBS_FORMAT, "coded weights: %s", what);
}

/* Gives n bytes, filled up to a multiple of 8; null where there are fewer. */
static const uint8_t *take(struct section_reader *reader, uint64_t n)
{
    const uint8_t *bytes = reader->bytes;

    if (n > reader->left || ((n + 7) & ~UINT64_C(7)) > reader->left)
        return NULL;
    n = (n + 7) & ~UINT64_C(7);
    reader->bytes += n;
    reader->left -= n;
    return bytes;
}

static enum vbs_status read_header(struct section_reader *reader, struct vbs_coded *coded)
{
    struct vbs_coded_header *header = &coded->header;
    const uint8_t *bytes = take(reader, sizeof *header);
    int64_t n_weights;

    if (!bytes)
        return malformed(reader->ctx, "the header is cut");
    memcpy(header, bytes, sizeof *header);
    if (memcmp(header->magic, VBS_CODED_MAGIC, sizeof header->magic) != 0)
        return malformed(reader->ctx, "they do not begin with their magic number");
    if (header->version != VBS_CODED_VERSION)
        return vbs_fail(reader->ctx, VBS_UNSUPPORTED, "coded weights: version %d is not known",
                        header->version);
    if (header->coding >= VBS_N_CODINGS)
        return malformed(reader->ctx, "the form is not known");
    if (header->bits < 1 || header->bits > VBS_MAX_CODEBOOK_BITS || header->index_bits < 1 ||
        header->index_bits > VBS_MAX_INDEX_BITS ||
        (header->coding == VBS_CODING_JOINT &&
         header->bits + header->index_bits > VBS_MAX_PAIR_BITS) ||
        header->n_values < 1 || header->n_values > UINT32_C(1) << header->bits)
        return malformed(reader->ctx, "bits of indices are out of range");
    if (header->n_rows < 1 || header->n_columns < 1 || header->block_rows < 1 ||
        header->block_columns < 1 || header->block_rows > header->n_rows ||
        header->block_columns > header->n_columns ||
        (header->coding == VBS_CODING_BYTES && header->block_columns > VBS_MAX_BYTES_COLUMNS) ||
        !vbs_mul(header->n_rows, header->n_columns, &n_weights) || n_weights > INT64_MAX / 8 ||
        (int64_t)header->block_rows * header->block_columns > VBS_MAX_CODED_BLOCK)
        return malformed(reader->ctx, "sizes are out of range");
    vbs_coded_count_blocks(coded);
    return VBS_OK;
}

static enum vbs_status read_codebook(struct section_reader *reader, struct vbs_coded *coded)
{
    uint32_t n = coded->header.n_values;
    const float *values = (const void *)take(reader, (uint64_t)n * sizeof *values);

    if (!values)
        return malformed(reader->ctx, "the codebook is cut");
    if (!vbs_coded_is_codebook(values, (int)n))
        return malformed(reader->ctx, "the values of the codebook are not 0 and ascending ones");
    coded->codebook = values;
    return VBS_OK;
}

/* Gives whether each symbol that has a code stands for a value of the codebook. */
static bool has_values(const struct vbs_coded *coded, int code, const uint8_t *lengths, int n)
{
    const struct vbs_coded_header *header = &coded->header;
    int shift = header->coding == VBS_CODING_JOINT ? header->index_bits : 0;

    for (int i = 0; code == 0 && i < n; i++)
        if (lengths[i] > 0 && (uint32_t)(i >> shift) >= header->n_values)
            return false;
    return true;
}

static enum vbs_status make_table(struct vbs_ctx *ctx, struct vbs_coded *coded, int code,
                                  const uint8_t *lengths)
{
    size_t n_bytes = vbs_coded_table_bytes(&coded->header, code);
    void *table = malloc(n_bytes);

    if (!table)
        return vbs_no_memory(ctx);
    coded->table_bytes += n_bytes;
    vbs_coded_fill_table(coded, code, lengths, table);
    return VBS_OK;
}

static enum vbs_status read_code(struct section_reader *reader, struct vbs_coded *coded, int code)
{
    int n = vbs_coded_symbols(&coded->header, code), max_bits = coded->header.code_bits[code];
    int most_bits =
        coded->header.coding == VBS_CODING_JOINT ? VBS_MAX_PAIR_CODE_BITS : VBS_MAX_CODE_BITS;
    uint8_t *lengths = malloc((size_t)n);
    enum vbs_status status;
    size_t n_read;

    if (!lengths)
        status = vbs_no_memory(reader->ctx);
    else if (max_bits < 1 || max_bits > most_bits ||
             !vbs_coded_get_lengths(reader->bytes, reader->left, n, lengths, &n_read) ||
             !vbs_huffman_is_complete(lengths, n, max_bits) || !has_values(coded, code, lengths, n))
        status = malformed(reader->ctx, "the lengths of a code are wrong");
    else {
        coded->lengths[code] = take(reader, n_read);
        status = make_table(reader->ctx, coded, code, lengths);
    }
    free(lengths);
    return status;
}

/* Gives whether the offsets of a stream ascend from 0 on. */
static bool ascend(const struct vbs_coded *coded, const struct vbs_coded_form *form, int stream)
{
    int64_t n_blocks = coded->n_block_rows * coded->n_block_columns;
    const uint32_t *offsets = coded->offsets + stream;

    for (int64_t b = 0; b < n_blocks; b++)
        if (offsets[b * form->n_streams] > offsets[(b + 1) * form->n_streams])
            return false;
    return offsets[0] == 0;
}

static enum vbs_status read_data(struct section_reader *reader, struct vbs_coded *coded)
{
    const struct vbs_coded_form *form = vbs_coded_form((enum vbs_coding)coded->header.coding);
    int64_t n_blocks = coded->n_block_rows * coded->n_block_columns;
    uint64_t n_data = coded->header.n_data, begin = 0;

    if ((uint64_t)n_blocks >= reader->left / 4 / (uint64_t)form->n_streams)
        return malformed(reader->ctx, "the offsets are cut");
    coded->offsets = (const void *)take(
        reader, ((uint64_t)n_blocks + 1) * (uint64_t)form->n_streams * sizeof *coded->offsets);
    coded->data = n_data <= reader->left ? take(reader, n_data) : NULL;
    if (!coded->offsets || !coded->data || reader->left > 0)
        return malformed(reader->ctx, "the data have another length");
    for (int s = 0; s < form->n_streams; s++) {
        uint64_t unit = form->has_bits ? 8 : 1, end;

        if (!ascend(coded, form, s))
            return malformed(reader->ctx, "the offsets are wrong");
        end = (coded->offsets[n_blocks * form->n_streams + s] + unit - 1) / unit;
        begin = vbs_coded_stream_end(begin, end);
    }
    return begin == n_data ? VBS_OK : malformed(reader->ctx, "the data have another length");
}

static enum vbs_status check_blocks(struct vbs_ctx *ctx, struct vbs_coded *coded)
{
    const struct vbs_coded_form *form = vbs_coded_form((enum vbs_coding)coded->header.coding);
    struct vbs_coded_totals totals = {0};

    for (int64_t b = 0; b < coded->n_block_rows * coded->n_block_columns; b++) {
        struct vbs_coded_place place = vbs_coded_place(coded, b);
        uint64_t before = totals.n_entries;

        if (!form->check(coded, &place, &totals))
            return vbs_fail(ctx, VBS_FORMAT, "coded weights: block %lld does not decode",
                            (long long)b);
        if (totals.n_entries - before > coded->most_entries)
            coded->most_entries = (uint32_t)(totals.n_entries - before);
        if (b % 1024 == 0)
            VBS_TRY(vbs_check_cancel(ctx));
    }
    if (totals.n_entries != coded->header.n_entries || totals.n_nonzero != coded->header.n_nonzero)
        return malformed(ctx, "the header counts other entries than the blocks hold");
    return VBS_OK;
}

static enum vbs_status open_bytes(struct vbs_ctx *ctx, struct vbs_coded *coded)
{
    struct section_reader reader = {ctx, coded->bytes, coded->n_bytes};

    VBS_TRY(read_header(&reader, coded));
    VBS_TRY(read_codebook(&reader, coded));
    for (int c = 0; c < vbs_coded_form((enum vbs_coding)coded->header.coding)->n_codes; c++)
        VBS_TRY(read_code(&reader, coded, c));
    VBS_TRY(read_data(&reader, coded));
    return check_blocks(ctx, coded);
}

enum vbs_status vbs_coded_open(struct vbs_ctx *ctx, const void *bytes, size_t n_bytes,
                               struct vbs_coded **coded)
{
    struct vbs_coded *made = calloc(1, sizeof *made);
    enum vbs_status status;

    if (!made)
        return vbs_no_memory(ctx);
    made->bytes = bytes;
    made->n_bytes = n_bytes;
    status = open_bytes(ctx, made);
    if (status != VBS_OK) {
        vbs_coded_free(made);
        return status;
    }
    *coded = made;
    return VBS_OK;
}

void vbs_coded_free(struct vbs_coded *coded)
{
    if (!coded)
        return;
    free(coded->hits[0]);
    free(coded->hits[1]);
    free(coded->pairs);
    free(coded->owned);
    free(coded);
}

const void *vbs_coded_bytes(const struct vbs_coded *coded, size_t *n_bytes)
{
    *n_bytes = coded->n_bytes;
    return coded->bytes;
}

void vbs_coded_describe(const struct vbs_coded *coded, struct vbs_coded_shape *shape)
{
    const struct vbs_coded_header *header = &coded->header;

    *shape = (struct vbs_coded_shape){.coding = (enum vbs_coding)header->coding,
                                      .bits = header->bits,
                                      .index_bits = header->index_bits,
                                      .n_values = (int)header->n_values,
                                      .n_rows = header->n_rows,
                                      .n_columns = header->n_columns,
                                      .block_rows = header->block_rows,
                                      .block_columns = header->block_columns,
                                      .n_block_rows = coded->n_block_rows,
                                      .n_block_columns = coded->n_block_columns,
                                      .n_entries = (int64_t)header->n_entries,
                                      .n_nonzero = (int64_t)header->n_nonzero,
                                      .n_bytes = coded->n_bytes,
                                      .resident_bytes = coded->n_bytes + coded->table_bytes};
}

void vbs_coded_block(const struct vbs_coded *coded, int64_t block, float *dense)
{
    struct vbs_coded_place place = vbs_coded_place(coded, block);

    memset(dense, 0, (size_t)place.n_rows * (size_t)place.n_columns * sizeof *dense);
    vbs_coded_form((enum vbs_coding)coded->header.coding)->decode(coded, &place, dense);
}
