/*
 * A byte for each distance, and one or two for each index. A block begins with the numbers of
 * entries of its rows (a byte each, or two where a row has more than 255 weights), then come all
 * distances less 1, then all indices. Each row begins anew.
 */
#include "coded/forms.h"

#define MOST_DISTANCE 256
#define SHORT_ROW     255 /* weights: their number fits a byte */

/* Bytes of a number of entries, and of an index. */
static int number_bytes(const struct vbs_coded *coded)
{
    return coded->header.block_columns <= SHORT_ROW ? 1 : 2;
}

static int index_bytes(const struct vbs_coded *coded)
{
    return coded->header.bits <= 8 ? 1 : 2;
}

static struct vbs_entries entries_of(const struct vbs_coded_place *place, const uint16_t *indices,
                                     int row)
{
    return vbs_entries_of(&indices[(size_t)row * (size_t)place->n_columns], place->n_columns,
                          MOST_DISTANCE);
}

static int count_entries(struct vbs_entries entries)
{
    struct vbs_entry entry;
    int n = 0;

    while (vbs_entries_next(&entries, &entry))
        n++;
    return n;
}

static int64_t count_symbols(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                             const uint16_t *indices, uint64_t *const counts[2])
{
    int64_t n = 0;

    (void)coded;
    (void)counts;
    for (int row = 0; row < place->n_rows; row++)
        n += count_entries(entries_of(place, indices, row));
    return n;
}

static uint64_t most_bytes(const struct vbs_coded *coded, uint64_t n_bits)
{
    uint64_t n_numbers = (uint64_t)(coded->header.n_rows * coded->n_block_columns);

    (void)n_bits;
    return n_numbers * (uint64_t)number_bytes(coded) +
           coded->header.n_entries * (uint64_t)(1 + index_bytes(coded));
}

static void write_block(struct vbs_coded_writer *writer, const struct vbs_coded_place *place,
                        const uint16_t *indices)
{
    struct vbs_bit_writer *bits = &writer->streams[0];
    int n_size = number_bytes(writer->coded), size = index_bytes(writer->coded);
    uint8_t *numbers = bits->bytes + bits->at / 8;
    uint8_t *distances = numbers + (size_t)place->n_rows * (size_t)n_size, *values;
    struct vbs_entry entry;
    size_t n = 0;

    for (int row = 0; row < place->n_rows; row++) {
        int added = count_entries(entries_of(place, indices, row));

        vbs_number_put(numbers + (size_t)row * (size_t)n_size, n_size, (uint32_t)added);
        n += (size_t)added;
    }
    values = distances + n;
    bits->at = 8 * (uint64_t)(values + n * (size_t)size - bits->bytes);
    for (int row = 0; row < place->n_rows; row++) {
        struct vbs_entries entries = entries_of(place, indices, row);

        for (; vbs_entries_next(&entries, &entry); values += size) {
            *distances++ = (uint8_t)(entry.distance - 1);
            vbs_number_put(values, size, entry.value);
        }
    }
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

/* Decodes the entries of a row, whose indices have one byte or two. */
static inline void decode_row(const float *codebook, const uint8_t *distances,
                              const uint8_t *indices, int n, int size, float *dense)
{
    float *out = dense - 1;

    for (int i = 0; i < n; i++) {
        out += distances[i] + 1;
        *out = codebook[size == 1 ? indices[i] : vbs_number_get(indices + 2 * (size_t)i, 2)];
    }
}

static void decode_block(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                         float *dense)
{
    const float *codebook = coded->codebook;
    int size = index_bytes(coded), n_size = number_bytes(coded);
    struct arrays arrays;

    if (!open_arrays(coded, place, &arrays))
        return;
    for (int row = 0; row < place->n_rows; row++) {
        int n = (int)vbs_number_get(arrays.numbers, n_size);

        if (size == 1)
            decode_row(codebook, arrays.distances, arrays.indices, n, 1, dense);
        else
            decode_row(codebook, arrays.distances, arrays.indices, n, 2, dense);
        arrays.numbers += n_size;
        arrays.distances += n;
        arrays.indices += n * size;
        dense += place->n_columns;
    }
}

static void decode_indices(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                           uint16_t *indices)
{
    struct arrays arrays;
    int size = index_bytes(coded), n_size = number_bytes(coded), i = 0;

    if (!open_arrays(coded, place, &arrays))
        return;
    for (int row = 0; row < place->n_rows; row++) {
        int end = i + (int)vbs_number_get(arrays.numbers + (size_t)row * (size_t)n_size, n_size);
        int64_t position = (int64_t)row * place->n_columns - 1;

        for (; i < end; i++) {
            position += arrays.distances[i] + 1;
            indices[position] =
                (uint16_t)vbs_number_get(arrays.indices + (size_t)i * (size_t)size, size);
        }
    }
}

const struct vbs_coded_form vbs_coded_form_bytes = {.name = "bytes",
                                                    .n_streams = 1,
                                                    .count = count_symbols,
                                                    .most_bytes = most_bytes,
                                                    .write = write_block,
                                                    .check = check_block,
                                                    .decode = decode_block,
                                                    .decode_indices = decode_indices};
