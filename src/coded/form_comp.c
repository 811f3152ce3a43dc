/*
 * The form that COMP publishes (III-B): a stream of values and a stream of distances, each with a
 * Huffman code of its own. For each block, two numbers of bits tell where its part of the streams
 * begins; it ends where the next one begins.
 */
#include "coded/forms.h"

static int most_distance(const struct vbs_coded *coded)
{
    return 1 << coded->header.index_bits;
}

static struct vbs_entries entries_of(const struct vbs_coded *coded,
                                     const struct vbs_coded_place *place, const uint16_t *indices)
{
    return vbs_entries_of(indices, place->n_rows * place->n_columns, most_distance(coded));
}

static int64_t count_symbols(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                             const uint16_t *indices, uint64_t *const counts[2])
{
    struct vbs_entries entries = entries_of(coded, place, indices);
    struct vbs_entry entry;
    int64_t n = 0;

    for (; vbs_entries_next(&entries, &entry); n++) {
        counts[0][entry.value]++;
        counts[1][entry.distance - 1]++;
    }
    return n;
}

static uint64_t most_bytes(const struct vbs_coded *coded, uint64_t n_bits)
{
    (void)coded;
    return (n_bits + 7) / 8;
}

static void write_block(struct vbs_coded_writer *writer, const struct vbs_coded_place *place,
                        const uint16_t *indices)
{
    const uint8_t *const *lengths = writer->lengths;
    struct vbs_entries entries = entries_of(writer->coded, place, indices);
    struct vbs_entry entry;

    while (vbs_entries_next(&entries, &entry)) {
        int distance = entry.distance - 1;

        vbs_bits_put(&writer->streams[0], writer->codes[0][entry.value], lengths[0][entry.value]);
        vbs_bits_put(&writer->streams[1], writer->codes[1][distance], lengths[1][distance]);
    }
}

/* A part of a stream that is decoded. */
struct part {
    const uint8_t *bytes;
    uint64_t at, end; /* bits */
    const struct vbs_huffman_hit *hits;
    uint64_t mask;
};

static uint64_t second_stream(const struct vbs_coded *coded)
{
    int64_t n_blocks = coded->n_block_rows * coded->n_block_columns;

    return vbs_coded_stream_end(0, (coded->offsets[2 * n_blocks] + UINT64_C(7)) / 8);
}

static struct part part_of(const struct vbs_coded *coded, int64_t block, int stream)
{
    const uint32_t *offsets = &coded->offsets[2 * block + stream];

    return (struct part){.bytes = coded->data + (stream ? second_stream(coded) : 0),
                         .at = offsets[0],
                         .end = offsets[2],
                         .hits = coded->hits[stream],
                         .mask = (UINT64_C(1) << coded->header.code_bits[stream]) - 1};
}

static inline unsigned next_symbol(struct part *part)
{
    struct vbs_huffman_hit hit = part->hits[vbs_bits_at(part->bytes, part->at) & part->mask];

    part->at += hit.n_bits;
    return hit.symbol;
}

static bool check_block(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                        struct vbs_coded_totals *totals)
{
    struct part values = part_of(coded, place->number, 0);
    struct part distances = part_of(coded, place->number, 1);
    int64_t area = (int64_t)place->n_rows * place->n_columns, position = -1;

    while (values.at < values.end && distances.at < distances.end) {
        uint64_t value_at = values.at, distance_at = distances.at;

        totals->n_nonzero += next_symbol(&values) != 0;
        position += next_symbol(&distances) + 1;
        totals->n_entries++;
        if (values.at == value_at || distances.at == distance_at || position >= area)
            return false;
    }
    return values.at == values.end && distances.at == distances.end;
}

/* The codes that one word has of each stream. */
#define AT_ONCE 4

_Static_assert(AT_ONCE *VBS_MAX_PAIR_CODE_BITS <= 57, "a word has so many codes");

/* Gives how often AT_ONCE codes can be decoded from one word before the rest of a stream may have
 * fewer. */
static inline uint64_t count_words(const struct part *part, int code_bits)
{
    if (code_bits > VBS_MAX_PAIR_CODE_BITS)
        return 0;
    return (part->end - part->at) / (uint64_t)(AT_ONCE * code_bits);
}

/* Decodes the next code of a word, and takes it from the word. */
#define NEXT(stream, word, found)                                                                  \
    do {                                                                                           \
        struct vbs_huffman_hit hit = (stream).hits[(word) & (stream).mask];                        \
                                                                                                   \
        (word) >>= hit.n_bits & 63;                                                                \
        (stream).at += hit.n_bits;                                                                 \
        (found) = hit.symbol;                                                                      \
    } while (0)

/* Decodes AT_ONCE entries; both parts have as many codes. */
static inline float *decode_word(struct part *values, struct part *distances, const float *codebook,
                                 float *dense)
{
    uint64_t value = vbs_bits_at(values->bytes, values->at);
    uint64_t distance = vbs_bits_at(distances->bytes, distances->at);

    for (int i = 0; i < AT_ONCE; i++) {
        unsigned symbol;

        NEXT(*distances, distance, symbol);
        dense += symbol + 1;
        NEXT(*values, value, symbol);
        *dense = codebook[symbol];
    }
    return dense;
}

static void decode_block(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                         float *dense)
{
    struct part values = part_of(coded, place->number, 0);
    struct part distances = part_of(coded, place->number, 1);
    const uint8_t *bits = coded->header.code_bits;
    const float *codebook = coded->codebook;

    dense--;
    for (;;) {
        uint64_t n = count_words(&values, bits[0]), other = count_words(&distances, bits[1]);

        n = n < other ? n : other;
        if (n == 0)
            break;
        for (; n > 0; n--)
            dense = decode_word(&values, &distances, codebook, dense);
    }
    while (values.at < values.end) {
        dense += next_symbol(&distances) + 1;
        *dense = codebook[next_symbol(&values)];
    }
}

/* Lists AT_ONCE entries; both parts have as many codes. */
static inline void list_word(struct part *values, struct part *distances, uint32_t *hits)
{
    uint64_t value = vbs_bits_at(values->bytes, values->at);
    uint64_t distance = vbs_bits_at(distances->bytes, distances->at);

    for (int i = 0; i < AT_ONCE; i++) {
        unsigned less_one, index;

        NEXT(*distances, distance, less_one);
        NEXT(*values, value, index);
        hits[i] = (uint32_t)vbs_pair_of(0, index, less_one + 1, 0);
    }
}

static void list_block(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                       uint32_t *hits, struct vbs_entry_runs *runs)
{
    struct part values = part_of(coded, place->number, 0);
    struct part distances = part_of(coded, place->number, 1);
    const uint8_t *bits = coded->header.code_bits;
    uint32_t *hit = hits;

    for (;;) {
        uint64_t n = count_words(&values, bits[0]), other = count_words(&distances, bits[1]);

        n = n < other ? n : other;
        if (n == 0)
            break;
        for (; n > 0; n--, hit += AT_ONCE)
            list_word(&values, &distances, hit);
    }
    while (values.at < values.end) {
        unsigned less_one = next_symbol(&distances);

        *hit++ = (uint32_t)vbs_pair_of(0, next_symbol(&values), less_one + 1, 0);
    }
    *runs = (struct vbs_entry_runs){.n_runs = 1, .n_entries = {(uint32_t)(hit - hits)}};
}

static void decode_indices(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                           uint16_t *indices)
{
    struct part values = part_of(coded, place->number, 0);
    struct part distances = part_of(coded, place->number, 1);
    int64_t position = -1;

    while (values.at < values.end) {
        position += next_symbol(&distances) + 1;
        indices[position] = (uint16_t)next_symbol(&values);
    }
}

const struct vbs_coded_form vbs_coded_form_comp = {.name = "comp",
                                                   .n_codes = 2,
                                                   .n_streams = 2,
                                                   .has_bits = true,
                                                   .count = count_symbols,
                                                   .most_bytes = most_bytes,
                                                   .write = write_block,
                                                   .check = check_block,
                                                   .decode = decode_block,
                                                   .decode_indices = decode_indices,
                                                   .list = list_block};
