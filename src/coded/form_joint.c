/*
 * One Huffman code for pairs of distance and value. A block is cut into four quarters of its
 * weights, and each is a stream: four streams are decoded side by side, because a code can only be
 * found when the one before is. The block begins with the numbers of entries of all streams and the
 * bytes of the first three: 16 bits each, or 32 where the block has more than 65536 weights.
 */
#include "coded/forms.h"

#define N_STREAMS   VBS_JOINT_STREAMS
#define N_NUMBERS   (2 * N_STREAMS - 1)
#define SMALL_BLOCK 65536 /* weights: its streams have fewer bytes and entries */
#define AT_ONCE     4U    /* codes that fit the bits that are read at once */

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

void vbs_joint_find_streams(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                            struct vbs_joint_streams *found)
{
    struct streams streams;

    *found = (struct vbs_joint_streams){0};
    if (!open_streams(coded, place, &streams))
        return;
    for (int s = 0; s < N_STREAMS; s++) {
        found->bits[s] = 8 * (uint64_t)(streams.bytes[s] - coded->data);
        found->n_entries[s] = streams.n[s];
        if (streams.n[s] > 0)
            found->begins[s] = (int64_t)s * quarter_of(place);
    }
}

static bool check_stream(const struct vbs_coded *coded, const struct streams *streams, int s,
                         int area, struct vbs_coded_totals *totals)
{
    uint64_t end = 8 * (uint64_t)(streams->bytes[s + 1] - streams->bytes[s]), at = 0;
    uint64_t mask = (UINT64_C(1) << coded->header.code_bits[0]) - 1;
    int64_t position = -1;

    for (uint32_t i = 0; i < streams->n[s]; i++) {
        vbs_pair_hit hit;

        if (at >= end)
            return false;
        hit = coded->pairs[vbs_bits_at(streams->bytes[s], at) & mask];
        at += vbs_pair_bits(hit);
        position += vbs_pair_distance(hit);
        if (hit == 0 || position >= area)
            return false;
        totals->n_nonzero += vbs_pair_index(hit) != 0;
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

/* What all streams share; a copy, which stores to dense weights cannot change. */
struct joint_tables {
    const uint8_t *data;
    const vbs_pair_hit *pairs;
    uint64_t mask;
};

/* What is left of a stream. */
struct joint_cursor {
    uint64_t at;   /* bits from the begin of the data */
    uint64_t word; /* the bits from there on */
    uint64_t sum;  /* of the hits from the word: its lowest six bits are those of their codes */
    float *out;    /* the entry before */
};

static inline struct joint_cursor cursor_of(const struct joint_tables *tables,
                                            const struct streams *streams, int s, float *begin)
{
    return (struct joint_cursor){.at = 8 * (uint64_t)(streams->bytes[s] - tables->data),
                                 .out = begin - 1};
}

/* Decodes the next code of a word. */
static inline __attribute__((always_inline)) void decode_code(const struct joint_tables *tables,
                                                              struct joint_cursor *stream)
{
    vbs_pair_hit hit = tables->pairs[stream->word & tables->mask];
    uint32_t value = (uint32_t)(hit >> 32);

    stream->word >>= vbs_pair_bits(hit);
    stream->sum += hit;
    stream->out += vbs_pair_distance(hit);
    memcpy(stream->out, &value, sizeof value);
}

/* Decodes AT_ONCE codes. */
static inline __attribute__((always_inline)) struct joint_cursor decode_four(
    const struct joint_tables *tables, struct joint_cursor stream)
{
    stream.word = vbs_bits_at(tables->data, stream.at);
    stream.sum = 0;
    decode_code(tables, &stream);
    decode_code(tables, &stream);
    decode_code(tables, &stream);
    decode_code(tables, &stream);
    stream.at += vbs_pair_bits(stream.sum);
    return stream;
}

/* Decodes the last n codes of a stream. */
static void decode_rest(const struct joint_tables *tables, struct joint_cursor stream, uint32_t n)
{
    for (; n >= AT_ONCE; n -= AT_ONCE)
        stream = decode_four(tables, stream);
    stream.word = vbs_bits_at(tables->data, stream.at);
    for (; n > 0; n--)
        decode_code(tables, &stream);
}

/* The streams are decoded side by side until one of them ends. */
static void decode_block(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                         float *dense)
{
    const struct joint_tables tables = {coded->data, coded->pairs,
                                        (UINT64_C(1) << coded->header.code_bits[0]) - 1};
    size_t quarter = (size_t)quarter_of(place);
    uint32_t least = UINT32_MAX, i = 0;
    struct joint_cursor a, b, c, d; /* not an array, so that they stay in registers */
    struct streams streams;

    if (!open_streams(coded, place, &streams))
        return;
    for (int s = 0; s < N_STREAMS; s++)
        least = streams.n[s] < least ? streams.n[s] : least;
    a = cursor_of(&tables, &streams, 0, dense);
    b = cursor_of(&tables, &streams, 1, dense + quarter);
    c = cursor_of(&tables, &streams, 2, dense + 2 * quarter);
    d = cursor_of(&tables, &streams, 3, dense + 3 * quarter);
    for (; i + AT_ONCE <= least; i += AT_ONCE) {
        a = decode_four(&tables, a);
        b = decode_four(&tables, b);
        c = decode_four(&tables, c);
        d = decode_four(&tables, d);
    }
    decode_rest(&tables, a, streams.n[0] - i);
    decode_rest(&tables, b, streams.n[1] - i);
    decode_rest(&tables, c, streams.n[2] - i);
    decode_rest(&tables, d, streams.n[3] - i);
}

/* As joint_tables, of half the size: a table that fills the cache makes each code wait. */
struct narrow_tables {
    const uint8_t *data;
    const uint32_t *pairs;
    uint64_t mask;
};

/* A stream whose hits are copied. */
struct list_cursor {
    uint64_t at; /* bits from the begin of the data */
    uint32_t *out;
};

static inline __attribute__((always_inline)) struct list_cursor list_some(
    const struct narrow_tables *tables, struct list_cursor stream, const int n)
{
    uint64_t word = vbs_bits_at(tables->data, stream.at), sum = 0;

#pragma GCC unroll 4
    for (int i = 0; i < n; i++) {
        uint32_t hit = tables->pairs[word & tables->mask];

        word >>= vbs_pair_bits(hit);
        sum += hit;
        stream.out[i] = hit;
    }
    stream.at += vbs_pair_bits(sum);
    stream.out += n;
    return stream;
}

static void list_rest(const struct narrow_tables *tables, struct list_cursor stream, uint32_t n)
{
    for (; n >= AT_ONCE; n -= AT_ONCE)
        stream = list_some(tables, stream, AT_ONCE);
    for (; n > 0; n--)
        stream = list_some(tables, stream, 1);
}

static void list_block(const struct vbs_coded *coded, const struct vbs_coded_place *place,
                       uint32_t *hits, struct vbs_entry_runs *runs)
{
    const struct narrow_tables tables = {coded->data, coded->narrow_pairs,
                                         (UINT64_C(1) << coded->header.code_bits[0]) - 1};
    uint32_t least = UINT32_MAX, i = 0;
    struct list_cursor cursors[N_STREAMS], a, b, c, d;
    struct streams streams;

    *runs = (struct vbs_entry_runs){.n_runs = N_STREAMS};
    if (!open_streams(coded, place, &streams))
        return;
    for (int s = 0; s < N_STREAMS; s++) {
        runs->begins[s] = (uint32_t)(s * quarter_of(place));
        runs->n_entries[s] = streams.n[s];
        cursors[s] = (struct list_cursor){8 * (uint64_t)(streams.bytes[s] - coded->data), hits};
        hits += streams.n[s];
        least = streams.n[s] < least ? streams.n[s] : least;
    }
    a = cursors[0], b = cursors[1], c = cursors[2], d = cursors[3];
    for (; i + AT_ONCE <= least; i += AT_ONCE) {
        a = list_some(&tables, a, AT_ONCE);
        b = list_some(&tables, b, AT_ONCE);
        c = list_some(&tables, c, AT_ONCE);
        d = list_some(&tables, d, AT_ONCE);
    }
    list_rest(&tables, a, streams.n[0] - i);
    list_rest(&tables, b, streams.n[1] - i);
    list_rest(&tables, c, streams.n[2] - i);
    list_rest(&tables, d, streams.n[3] - i);
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
            vbs_pair_hit hit = coded->pairs[vbs_bits_at(streams.bytes[s], at) & mask];

            at += vbs_pair_bits(hit);
            position += vbs_pair_distance(hit);
            indices[position] = (uint16_t)vbs_pair_index(hit);
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
                                                    .decode_indices = decode_indices,
                                                    .list = list_block};
