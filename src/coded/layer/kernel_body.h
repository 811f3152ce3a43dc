/*
 * What layers compute, for vectors of LANES floats and spans of up to MOST_VECTORS vectors;
 * PROCESSOR is the name of the table. This file is included once for each kind of processor, by
 * files that are compiled for it.
 *
 * An entry is one multiplication of a weight with a span of activations, whose sums stay in
 * registers while the entries of a row go by: an entry of n vectors needs n multiplications, whose
 * activations are operands in memory, and beside them 2 (decoded) or 4 (in bytes) loads. Processors
 * that do two multiplications and two loads of vectors a cycle are bound by neither alone, so that
 * a span should have as many vectors as there are registers. With AVX2 the limit is n / 2 cycles
 * for an entry of n vectors; measured from the first cache (Zen 3) were 7.3 for 13 vectors and 4.7
 * for 8, and for each row of a block 6 + n more, and some 15 where the number of its entries is not
 * predicted. From the second cache an entry of 8 vectors takes about 10.
 *
 * Convolutions are bound by their rows. A block has 144 columns, because the input that they read
 * fills the first cache, so that a row has 14.4 entries at a density of 10 percent and 50.4 at 35.
 * With 13 vectors these have 14.4 x 6.5 and 50.4 x 6.5 cycles of multiplications in rows of about
 * 139 and 402, which are 67 and 81 percent of the peak before slabs are copied and outputs are
 * written. (Rows that are sorted by the number of their entries, so that their ends are predicted,
 * take 20 percent longer at 10 percent: their sums are no longer read in order.)
 *
 * Inner products of one sample in bytes are in kernel_single.h, those of few samples in joint in
 * kernel_fused.h.
 */
#include "coded/layer/layer.h"

#define MOST_LINES 3
#define QUAD       4
#define INLINE     static inline __attribute__((always_inline))

typedef float vector __attribute__((vector_size(LANES * sizeof(float))));
typedef float quad __attribute__((vector_size(QUAD * sizeof(float))));

/* An entry that is looked up before its turn, because its address takes a chain of loads. */
struct ahead {
    const char *read; /* what its column reads at the first position */
    const char *weight;
};

/* Where the entries of a row are. */
struct entry_cursor {
    const struct vbs_coded_entry *entry;
    const uint8_t *distance, *index;
    size_t column;    /* 1 more than that of the entry before */
    const char *read; /* VBS_READ_LINEAR: what the column before reads */
};

INLINE vector load(const char *from)
{
    vector values;

    memcpy(&values, from, sizeof values);
    return values;
}

INLINE float load_single(const char *from)
{
    float value;

    memcpy(&value, from, sizeof value);
    return value;
}

INLINE int count_of(const struct vbs_coded_strip *strip, int row, const int reader)
{
    if (reader == VBS_READ_ENTRIES)
        return (int)(strip->starts[row + 1] - strip->starts[row]);
    return strip->number_bytes == 1 ? strip->numbers[row]
                                    : strip->numbers[2 * row] | strip->numbers[2 * row + 1] << 8;
}

/* Gives the next entry; behind the last one of a row, something that may be read. */
INLINE struct ahead look_ahead(const struct vbs_coded_strip *strip, struct entry_cursor *cursor,
                               const char *planes, const int reader)
{
    struct ahead ahead;

    if (reader == VBS_READ_ENTRIES) {
        ahead.read = planes + cursor->entry->offset;
        ahead.weight = (const char *)&cursor->entry++->weight;
        return ahead;
    }
    if (reader == VBS_READ_LINEAR) {
        cursor->read += (*cursor->distance++ + 1U) * strip->stride;
        ahead.read = cursor->read;
    } else {
        cursor->column += *cursor->distance++;
        ahead.read = planes + strip->offsets[cursor->column++];
    }
    ahead.weight = (const char *)&strip->codebook[*cursor->index++];
    return ahead;
}

/* Gives the first entry of a row, and moves strip to the next row. */
INLINE struct ahead begin_row(struct vbs_coded_strip *strip, struct entry_cursor *cursor,
                              int n_entries, const char *planes, const int reader)
{
    *cursor = (struct entry_cursor){.entry = strip->entries,
                                    .distance = strip->distances,
                                    .index = strip->indices,
                                    .read = planes - strip->stride};
    if (reader == VBS_READ_ENTRIES)
        strip->entries += n_entries;
    else {
        strip->distances += n_entries;
        strip->indices += n_entries;
    }
    return look_ahead(strip, cursor, planes, reader);
}

/* Entries that take turns, so that an addition does not wait for the one before. */
#define TURNS(n) ((n) >= 8 ? 1 : (n) >= 4 ? 2 : 4)

INLINE size_t place_in(const int v, const int n_vectors, size_t pitch)
{
    return (size_t)(v / n_vectors) * pitch + (size_t)(v % n_vectors) * sizeof(vector);
}

/* Multiplies the entry at hand, and looks the next one up. */
INLINE void multiply_entry(const struct vbs_coded_strip *strip, struct entry_cursor *cursor,
                           struct ahead *ahead, const struct vbs_coded_span *span, vector *sum,
                           const int reader, const int n_lines, const int n_vectors)
{
    struct ahead now = *ahead;

    *ahead = look_ahead(strip, cursor, (const char *)span->planes, reader);
#pragma GCC unroll 32
    for (int v = 0; v < n_lines * n_vectors; v++)
        sum[v] +=
            load_single(now.weight) * load(now.read + place_in(v, n_vectors, span->plane_pitch));
}

INLINE void multiply_span(const struct vbs_coded_strip *all, const struct vbs_coded_span *span,
                          const int reader, const int n_lines, const int n_vectors)
{
    const int n = n_lines * n_vectors, turns = TURNS(n);
    struct vbs_coded_strip strip = *all;
    char *sums = (char *)span->sums;

    for (int row = 0; row < strip.n_rows; row++, sums += span->row_pitch) {
        int left = count_of(&strip, row, reader);
        struct entry_cursor cursor;
        struct ahead ahead = begin_row(&strip, &cursor, left, (const char *)span->planes, reader);
        vector sum[4][MOST_VECTORS];

        if (left == 0)
            continue;
#pragma GCC unroll 32
        for (int v = 0; v < n; v++)
            sum[0][v] = load(sums + place_in(v, n_vectors, span->sum_pitch));
#pragma GCC unroll 32
        for (int v = n; v < n * turns; v++)
            sum[v / n][v % n] = (vector){0};
        /* Ends with `break`, so that sums leave the loop in the registers that they have there. */
        for (;; left -= turns) {
            if (turns > 1 && left < turns)
                break;
#pragma GCC unroll 4
            for (int t = 0; t < turns; t++)
                multiply_entry(&strip, &cursor, &ahead, span, sum[t], reader, n_lines, n_vectors);
            if (turns == 1 && left == 1)
                break;
        }
        for (; turns > 1 && left > 0; left--)
            multiply_entry(&strip, &cursor, &ahead, span, sum[0], reader, n_lines, n_vectors);
#pragma GCC unroll 32
        for (int v = n; v < n * turns; v++)
            sum[0][v % n] += sum[v / n][v % n];
#pragma GCC unroll 32
        for (int v = 0; v < n; v++)
            memcpy(sums + place_in(v, n_vectors, span->sum_pitch), &sum[0][v], sizeof(vector));
    }
}

/* One float for each row, of readers other than VBS_READ_LINEAR. */
INLINE void multiply_single(const struct vbs_coded_strip *all, const struct vbs_coded_span *span,
                            const int reader)
{
    struct vbs_coded_strip strip = *all;
    const char *planes = (const char *)span->planes;
    char *sums = (char *)span->sums;

    for (int row = 0; row < strip.n_rows; row++, sums += span->row_pitch) {
        int n_entries = count_of(&strip, row, reader), i = 0;
        struct entry_cursor cursor;
        struct ahead ahead = begin_row(&strip, &cursor, n_entries, planes, reader), now;
        float sum[4] = {0}, before = load_single(sums);

        for (; i + 4 <= n_entries; i += 4)
#pragma GCC unroll 4
            for (int t = 0; t < 4; t++) {
                now = ahead;
                ahead = look_ahead(&strip, &cursor, planes, reader);
                sum[t] += load_single(now.weight) * load_single(now.read);
            }
        for (; i < n_entries; i++) {
            now = ahead;
            ahead = look_ahead(&strip, &cursor, planes, reader);
            sum[0] += load_single(now.weight) * load_single(now.read);
        }
        before += (sum[0] + sum[1]) + (sum[2] + sum[3]);
        memcpy(sums, &before, sizeof before);
    }
}

#include "coded/layer/kernel_single.h"

#define MOST_FUSED VBS_CODED_MOST_FUSED
#include "coded/layer/kernel_fused.h"

#define SPAN(LINES, VECTORS)                                                                       \
    case (LINES)*64 + (VECTORS):                                                                   \
        multiply_span(strip, span, reader, LINES, VECTORS);                                        \
        break

/* Spans of all sizes: no line, one line, several lines. */
INLINE void multiply_with(const struct vbs_coded_strip *strip, const struct vbs_coded_span *span,
                          const int reader)
{
    switch (span->n_lines * 64 + span->n_vectors) {
        SPANS
    default:
        if (reader == VBS_READ_LINEAR)
            multiply_linear_single(strip, span);
        else
            multiply_single(strip, span, reader);
    }
}

static void multiply_entries(const struct vbs_coded_strip *strip, const struct vbs_coded_span *span)
{
    multiply_with(strip, span, VBS_READ_ENTRIES);
}

static void multiply_bytes(const struct vbs_coded_strip *strip, const struct vbs_coded_span *span)
{
    multiply_with(strip, span, VBS_READ_BYTES);
}

static void multiply_linear(const struct vbs_coded_strip *strip, const struct vbs_coded_span *span)
{
    multiply_with(strip, span, VBS_READ_LINEAR);
}

static void multiply(const struct vbs_coded_strip *strip, const struct vbs_coded_span *span)
{
    if (strip->reader == VBS_READ_ENTRIES)
        multiply_entries(strip, span);
    else if (strip->reader == VBS_READ_BYTES)
        multiply_bytes(strip, span);
    else
        multiply_linear(strip, span);
}

/* Four rows of four. */
INLINE void transpose_quads(const float *from, int64_t from_pitch, float *to, int64_t to_pitch)
{
    quad rows[QUAD], low[2], high[2], columns[QUAD];

#pragma GCC unroll 4
    for (int i = 0; i < QUAD; i++)
        memcpy(&rows[i], from + i * from_pitch, sizeof rows[i]);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        low[i] = __builtin_shufflevector(rows[2 * i], rows[2 * i + 1], 0, 4, 1, 5);
        high[i] = __builtin_shufflevector(rows[2 * i], rows[2 * i + 1], 2, 6, 3, 7);
    }
    columns[0] = __builtin_shufflevector(low[0], low[1], 0, 1, 4, 5);
    columns[1] = __builtin_shufflevector(low[0], low[1], 2, 3, 6, 7);
    columns[2] = __builtin_shufflevector(high[0], high[1], 0, 1, 4, 5);
    columns[3] = __builtin_shufflevector(high[0], high[1], 2, 3, 6, 7);
#pragma GCC unroll 4
    for (int i = 0; i < QUAD; i++)
        memcpy(to + i * to_pitch, &columns[i], sizeof columns[i]);
}

#if LANES >= 8
#define TALL 8
typedef float tall __attribute__((vector_size(TALL * sizeof(float))));

/* Eight rows of four: rows i and i + 4 in one vector. */
INLINE void transpose_tall(const float *from, int64_t from_pitch, float *to, int64_t to_pitch)
{
    tall rows[QUAD], low[2], high[2], columns[QUAD];

#pragma GCC unroll 4
    for (int i = 0; i < QUAD; i++) {
        quad upper, lower;

        memcpy(&upper, from + i * from_pitch, sizeof upper);
        memcpy(&lower, from + (i + QUAD) * from_pitch, sizeof lower);
        rows[i] = __builtin_shufflevector(upper, lower, 0, 1, 2, 3, 4, 5, 6, 7);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        low[i] = __builtin_shufflevector(rows[2 * i], rows[2 * i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        high[i] = __builtin_shufflevector(rows[2 * i], rows[2 * i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    columns[0] = __builtin_shufflevector(low[0], low[1], 0, 1, 8, 9, 4, 5, 12, 13);
    columns[1] = __builtin_shufflevector(low[0], low[1], 2, 3, 10, 11, 6, 7, 14, 15);
    columns[2] = __builtin_shufflevector(high[0], high[1], 0, 1, 8, 9, 4, 5, 12, 13);
    columns[3] = __builtin_shufflevector(high[0], high[1], 2, 3, 10, 11, 6, 7, 14, 15);
#pragma GCC unroll 4
    for (int i = 0; i < QUAD; i++)
        memcpy(to + i * to_pitch, &columns[i], sizeof columns[i]);
}
#else
#define TALL           QUAD
#define transpose_tall transpose_quads
#endif

INLINE void transpose_one(const struct vbs_coded_transpose *transpose, const float *from, float *to)
{
    int64_t n = transpose->n_rows, m = transpose->n_columns - transpose->n_columns % QUAD, i = 0;
    int64_t from_pitch = transpose->from_pitch, to_pitch = transpose->to_pitch;

    for (; i + TALL <= n; i += TALL)
        for (int64_t j = 0; j < m; j += QUAD)
            transpose_tall(from + i * from_pitch + j, from_pitch, to + j * to_pitch + i, to_pitch);
    for (; i + QUAD <= n; i += QUAD)
        for (int64_t j = 0; j < m; j += QUAD)
            transpose_quads(from + i * from_pitch + j, from_pitch, to + j * to_pitch + i, to_pitch);
    for (; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            to[j * to_pitch + i] = from[i * from_pitch + j];
    for (; m < transpose->n_columns; m++)
        for (i = 0; i < n; i++)
            to[m * to_pitch + i] = from[i * from_pitch + m];
}

static void transpose(const struct vbs_coded_transpose *transpose, const float *from, float *to)
{
    for (int64_t k = 0; k < transpose->count; k++)
        transpose_one(transpose, from + k * transpose->from_step, to + k * transpose->to_step);
}

static void finish(float *values, int64_t n, float scale, float bias, bool relu)
{
    if (relu)
        for (int64_t i = 0; i < n; i++) {
            float value = scale * values[i] + bias;

            values[i] = value < 0 ? 0 : value;
        }
    else
        for (int64_t i = 0; i < n; i++)
            values[i] = scale * values[i] + bias;
}

const struct vbs_coded_processor PROCESSOR = {.lanes = LANES,
                                              .most_vectors = MOST_VECTORS,
                                              .most_lines = MOST_LINES,
                                              .multiply = multiply,
                                              .multiply_fused = multiply_fused,
                                              .transpose = transpose,
                                              .finish = finish};
