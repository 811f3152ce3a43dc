/*
 * A byte for each distance, and one or two for each index. A block begins with the numbers of
 * entries of its rows (a byte each, or two where a row has more than 255 weights), then come all
 * distances less 1, then all indices. Each row begins anew.
 */
#include "coded/forms.h"

#include "base/fail.h"

#define MOST_DISTANCE 256
#define SHORT_ROW     255 /* weights: their number fits a byte */

static void count_symbols(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                          const uint16_t *indices, struct vbs_entry *entries,
                          uint64_t *const counts[2])
{
    (void)coded;
    (void)place;
    (void)indices;
    (void)entries;
    (void)counts;
}

/* Bytes of a number of entries, and of an index. */
static int number_bytes(const struct vbs_coded *coded)
{
    return coded->header.block_columns <= SHORT_ROW ? 1 : 2;
}

static int index_bytes(const struct vbs_coded *coded)
{
    return coded->header.bits <= 8 ? 1 : 2;
}

static void put(struct vbs_bit_writer *bits, int n_bytes, unsigned number)
{
    vbs_bits_put(bits, number, 8 * n_bytes);
}

static enum vbs_status write_block(struct vbs_coded_writer *writer,
                                   const struct vbs_coded_place *place, const uint16_t *indices)
{
    const struct vbs_coded *coded = writer->coded;
    struct vbs_bit_writer *bits = &writer->streams[0].bits;
    struct vbs_entry *entries = writer->entries;
    int n = 0;

    VBS_TRY(vbs_coded_reserve(writer->ctx, &writer->streams[0],
                              (uint64_t)(place->n_rows * number_bytes(coded))));
    for (int row = 0; row < place->n_rows; row++) {
        int added = vbs_entries_find(&indices[(size_t)row * (size_t)place->n_columns],
                                     place->n_columns, MOST_DISTANCE, &entries[n]);

        put(bits, number_bytes(coded), (unsigned)added);
        n += added;
    }
    VBS_TRY(vbs_coded_reserve(writer->ctx, &writer->streams[0],
                              (uint64_t)n * (uint64_t)(1 + index_bytes(coded))));
    writer->n_entries += (uint64_t)n;
    for (int i = 0; i < n; i++)
        put(bits, 1, entries[i].distance - 1U);
    for (int i = 0; i < n; i++)
        put(bits, index_bytes(coded), entries[i].value);
    return VBS_OK;
}

/* The arrays of a block. */
struct arrays {
    const uint8_t *numbers, *distances, *indices;
    int n; /* entries */
};

/* False: the numbers say more or less than there is. */
static bool open_arrays(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                        struct arrays *arrays)
{
    const uint8_t *head = coded->data + coded->offsets[place->number];
    int64_t left = (int64_t)coded->offsets[place->number + 1] - coded->offsets[place->number];
    int size = number_bytes(coded);

    left -= (int64_t)place->n_rows * size;
    if (left < 0)
        return false;
    *arrays = (struct arrays){.numbers = head, .distances = head + place->n_rows * size};
    for (int row = 0; row < place->n_rows; row++) {
        unsigned n = vbs_number_get(head + row * size, size);

        if (n > (unsigned)place->n_columns)
            return false;
        arrays->n += (int)n;
    }
    arrays->indices = arrays->distances + arrays->n;
    return left == (int64_t)arrays->n * (1 + index_bytes(coded));
}

static bool check_block(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                        struct vbs_coded_totals *totals)
{
    struct arrays arrays;
    int size = index_bytes(coded), i = 0;

    if (!open_arrays(coded, place, &arrays))
        return false;
    for (int row = 0; row < place->n_rows; row++) {
        int end = i + (int)vbs_number_get(arrays.numbers + row * number_bytes(coded),
                                          number_bytes(coded));
        int position = -1;

        for (; i < end; i++) {
            unsigned index = vbs_number_get(arrays.indices + (size_t)i * (size_t)size, size);

            position += arrays.distances[i] + 1;
            if (position >= place->n_columns || index >= coded->header.n_values)
                return false;
            totals->n_nonzero += index != 0;
        }
    }
    totals->n_entries += (uint64_t)arrays.n;
    return true;
}

static void decode_block(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                         float *dense)
{
    const float *codebook = coded->codebook;
    struct arrays arrays;
    int size = index_bytes(coded), i = 0;

    if (!open_arrays(coded, place, &arrays))
        return;
    for (int row = 0; row < place->n_rows; row++) {
        int end = i + (int)vbs_number_get(arrays.numbers + row * number_bytes(coded),
                                          number_bytes(coded));
        float *out = dense + (size_t)row * (size_t)place->n_columns - 1;

        for (; i < end; i++) {
            out += arrays.distances[i] + 1;
            *out = codebook[size == 1 ? arrays.indices[i]
                                      : vbs_number_get(arrays.indices + 2 * (size_t)i, 2)];
        }
    }
}

const struct vbs_coded_form vbs_coded_form_bytes = {.name = "bytes",
                                                    .n_streams = 1,
                                                    .count = count_symbols,
                                                    .write = write_block,
                                                    .check = check_block,
                                                    .decode = decode_block};
