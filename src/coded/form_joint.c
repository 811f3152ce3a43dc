/*
 * One Huffman code for pairs of distance and value. A block is cut into four quarters of its
 * weights, and each is a stream: four streams are decoded side by side, because a code can only be
 * found when the one before is. The block begins with the numbers of entries of all streams and the
 * bytes of the first three: 16 bits each, or 32 where the block has more than 65536 weights.
 */
#include "coded/forms.h"

#define N_STREAMS   4
#define N_NUMBERS   (2 * N_STREAMS - 1)
#define SMALL_BLOCK 65536 /* weights: its streams have fewer bytes and entries */
#define AT_ONCE     4     /* codes that fit the bits that are read at once */

static int area_of(const struct vbs_coded_place *place)
{
    return place->n_rows * place->n_columns;
}

static int quarter_of(const struct vbs_coded_place *place)
{
    return (area_of(place) + N_STREAMS - 1) / N_STREAMS;
}

/* The number of weights of a stream. */
static int stream_area(const struct vbs_coded_place *place, int stream)
{
    int from = stream * quarter_of(place), left = area_of(place) - from;

    return left < 0 ? 0 : left < quarter_of(place) ? left : quarter_of(place);
}

static int symbol_of(const struct vbs_coded *coded, const struct vbs_entry *entry)
{
    return entry->value << coded->header.index_bits | (entry->distance - 1);
}

static struct vbs_entries entries_of(const struct vbs_coded *coded,
                                     const struct vbs_coded_place *place, const uint16_t *indices,
                                     int stream)
{
    int n = stream_area(place, stream);

    return vbs_entries_of(n > 0 ? &indices[(size_t)stream * (size_t)quarter_of(place)] : indices, n,
                          1 << coded->header.index_bits);
}

static int64_t count_symbols(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                             const uint16_t *indices, uint64_t *const counts[2])
{
    struct vbs_entry entry;
    int64_t n = 0;

    for (int s = 0; s < N_STREAMS; s++) {
        struct vbs_entries entries = entries_of(coded, place, indices, s);

        for (; vbs_entries_next(&entries, &entry); n++)
            counts[0][symbol_of(coded, &entry)]++;
    }
    return n;
}

static int number_bytes(const struct vbs_coded_place *place)
{
    return area_of(place) <= SMALL_BLOCK ? 2 : 4;
}

/* Beside the codes, a block has its numbers, and up to 7 bits behind each stream. */
static uint64_t most_bytes(const struct vbs_coded *coded, uint64_t n_bits)
{
    uint64_t n_blocks = (uint64_t)(coded->n_block_rows * coded->n_block_columns);

    return n_bits / 8 + n_blocks * (N_NUMBERS * 4 + N_STREAMS);
}

/* Writes the entries of a stream, and gives their number. */
static uint32_t write_stream(struct vbs_coded_writer *writer, struct vbs_entries entries)
{
    struct vbs_bit_writer *bits = &writer->streams[0];
    struct vbs_entry entry;
    uint32_t n = 0;

    for (; vbs_entries_next(&entries, &entry); n++) {
        int symbol = symbol_of(writer->coded, &entry);

        vbs_bits_put(bits, writer->codes[0][symbol], writer->lengths[0][symbol]);
    }
    bits->at = (bits->at + 7) & ~UINT64_C(7);
    return n;
}

static void write_block(struct vbs_coded_writer *writer, const struct vbs_coded_place *place,
                        const uint16_t *indices)
{
    struct vbs_bit_writer *bits = &writer->streams[0];
    int size = number_bytes(place);
    uint8_t *head = bits->bytes + bits->at / 8;

    bits->at += (uint64_t)(8 * N_NUMBERS * size);
    for (int s = 0; s < N_STREAMS; s++) {
        uint64_t from = bits->at / 8;
        uint32_t n = write_stream(writer, entries_of(writer->coded, place, indices, s));

        vbs_number_put(head + s * size, size, n);
        if (s + 1 < N_STREAMS)
            vbs_number_put(head + (N_STREAMS + s) * size, size, (uint32_t)(bits->at / 8 - from));
    }
}

/* The streams of a block. */
struct streams {
    uint32_t n[N_STREAMS]; /* entries */
    const uint8_t *bytes[N_STREAMS + 1];
};

/* False: the numbers say more than there is. */
static bool open_streams(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                         struct streams *streams)
{
    const uint8_t *head = coded->data + coded->offsets[place->number];
    const uint8_t *end = coded->data + coded->offsets[place->number + 1];
    int size = number_bytes(place);

    if (end - head < N_NUMBERS * size)
        return false;
    streams->bytes[0] = head + N_NUMBERS * size;
    streams->bytes[N_STREAMS] = end;
    for (int s = 0; s < N_STREAMS; s++)
        streams->n[s] = vbs_number_get(head + s * size, size);
    for (int s = 1; s < N_STREAMS; s++) {
        uint32_t length = vbs_number_get(head + (N_STREAMS + s - 1) * size, size);

        if (length > (size_t)(end - streams->bytes[s - 1]))
            return false;
        streams->bytes[s] = streams->bytes[s - 1] + length;
    }
    return true;
}

static bool check_stream(const struct vbs_coded *coded, const struct streams *streams, int s,
                         int area, struct vbs_coded_totals *totals)
{
    uint64_t end = 8 * (uint64_t)(streams->bytes[s + 1] - streams->bytes[s]), at = 0;
    uint64_t mask = (UINT64_C(1) << coded->header.code_bits[0]) - 1;
    int64_t position = -1;

    for (uint32_t i = 0; i < streams->n[s]; i++) {
        struct vbs_pair_hit hit;

        if (at >= end)
            return false;
        hit = coded->pairs[vbs_bits_at(streams->bytes[s], at) & mask];
        at += hit.distance_bits & 15;
        position += hit.distance_bits >> 4;
        if ((hit.distance_bits & 15) == 0 || position >= area)
            return false;
        totals->n_nonzero += hit.value != 0;
    }
    totals->n_entries += streams->n[s];
    return at <= end && end - at < 8;
}

static bool check_block(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                        struct vbs_coded_totals *totals)
{
    struct streams streams;

    if (!open_streams(coded, place, &streams))
        return false;
    for (int s = 0; s < N_STREAMS; s++)
        if (!check_stream(coded, &streams, s, stream_area(place, s), totals))
            return false;
    return true;
}

/* Decodes the next codes of stream k: all that one word holds, or a single one. */
#define LOAD(k) word[k] = vbs_bits_at(streams.bytes[k], at[k])
#define DECODE(k)                                                                                  \
    do {                                                                                           \
        struct vbs_pair_hit hit = pairs[word[k] & mask];                                           \
                                                                                                   \
        word[k] >>= hit.distance_bits & 15;                                                        \
        at[k] += hit.distance_bits & 15;                                                           \
        out[k] += hit.distance_bits >> 4;                                                          \
        *out[k] = codebook[hit.value];                                                             \
    } while (0)

static void decode_block(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                         float *dense)
{
    const struct vbs_pair_hit *pairs = coded->pairs;
    const float *codebook = coded->codebook;
    uint64_t mask = (UINT64_C(1) << coded->header.code_bits[0]) - 1;
    uint64_t at[N_STREAMS] = {0}, word[N_STREAMS];
    uint32_t least = UINT32_MAX, i = 0;
    float *out[N_STREAMS];
    struct streams streams;

    if (!open_streams(coded, place, &streams))
        return;
    for (int s = 0; s < N_STREAMS; s++) {
        out[s] = dense + (size_t)s * (size_t)quarter_of(place) - 1;
        least = streams.n[s] < least ? streams.n[s] : least;
    }
    for (; i + AT_ONCE <= least; i += AT_ONCE) {
        LOAD(0);
        LOAD(1);
        LOAD(2);
        LOAD(3);
        for (int c = 0; c < AT_ONCE; c++) {
            DECODE(0);
            DECODE(1);
            DECODE(2);
            DECODE(3);
        }
    }
    for (int s = 0; s < N_STREAMS; s++)
        for (uint32_t j = i; j < streams.n[s]; j++) {
            LOAD(s);
            DECODE(s);
        }
}

static void decode_indices(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                           uint16_t *indices)
{
    uint64_t mask = (UINT64_C(1) << coded->header.code_bits[0]) - 1;
    struct streams streams;

    if (!open_streams(coded, place, &streams))
        return;
    for (int s = 0; s < N_STREAMS; s++) {
        int64_t position = (int64_t)s * quarter_of(place) - 1;
        uint64_t at = 0;

        for (uint32_t i = 0; i < streams.n[s]; i++) {
            struct vbs_pair_hit hit = coded->pairs[vbs_bits_at(streams.bytes[s], at) & mask];

            at += hit.distance_bits & 15;
            position += hit.distance_bits >> 4;
            indices[position] = hit.value;
        }
    }
}

const struct vbs_coded_form vbs_coded_form_joint = {.name = "joint",
                                                    .n_codes = 1,
                                                    .n_streams = 1,
                                                    .count = count_symbols,
                                                    .most_bytes = most_bytes,
                                                    .write = write_block,
                                                    .check = check_block,
                                                    .decode = decode_block,
                                                    .decode_indices = decode_indices};
