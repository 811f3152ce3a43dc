/*
 * What layers compute, for vectors of LANES floats and spans of up to MOST_VECTORS vectors;
 * PROCESSOR is the name of the table. This file is included once for each kind of processor, by
 * files that are compiled for it.
 *
 * An entry is one multiplication of a weight with a span of activations, whose sums stay in
 * registers while the entries of a row go by: an entry of n vectors needs n multiplications, whose
 * activations are operands in memory, and beside them 2 (decoded) or 4 (in bytes) loads. Processors
 * that do two multiplications and two loads of vectors a cycle are bound by neither alone, so that
 * a span should have as many vectors as there are registers.
 */
#include "coded/layer/layer.h"

#define MOST_LINES 3
#define QUAD       4
#define INLINE     static inline __attribute__((always_inline))

typedef float vector __attribute__((vector_size(LANES * sizeof(float))));
typedef float quad __attribute__((vector_size(QUAD * sizeof(float))));

/* The entry that comes next. */
struct entry_cursor {
    const struct vbs_coded_entry *entry;
    const uint8_t *distance, *index;
    int column;       /* before the next one */
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

INLINE vector begin_sum(const struct vbs_coded_span *span, const char *sums)
{
    if (span->first)
        return (vector){0};
    return load(sums);
}

INLINE int count_of(const struct vbs_coded_strip *strip, int row, const int reader)
{
    if (reader == VBS_READ_ENTRIES)
        return (int)(strip->starts[row + 1] - strip->starts[row]);
    return strip->number_bytes == 1 ? strip->numbers[row]
                                    : strip->numbers[2 * row] | strip->numbers[2 * row + 1] << 8;
}

/* Gives the weight of the next entry, and what it reads. */
INLINE float next(const struct vbs_coded_strip *strip, struct entry_cursor *cursor,
                  const char *planes, const char **read, const int reader)
{
    if (reader == VBS_READ_ENTRIES) {
        *read = planes + cursor->entry->offset;
        return cursor->entry++->weight;
    }
    if (reader == VBS_READ_LINEAR) {
        cursor->read += (*cursor->distance++ + 1U) * strip->stride;
        *read = cursor->read;
    } else {
        cursor->column += *cursor->distance++ + 1;
        *read = planes + strip->offsets[cursor->column];
    }
    return strip->codebook[*cursor->index++];
}

INLINE void begin_row(const struct vbs_coded_strip *strip, struct entry_cursor *cursor,
                      const char *planes)
{
    cursor->column = -1;
    cursor->read = planes - strip->stride;
}

/* Entries that take turns, so that an addition does not wait for the one before. */
#define TURNS(n) ((n) >= 8 ? 1 : (n) >= 4 ? 2 : 4)

INLINE void multiply_span(const struct vbs_coded_strip *strip, const struct vbs_coded_span *span,
                          const int reader, const int n_lines, const int n_vectors)
{
    const int n = n_lines * n_vectors, turns = TURNS(n);
    struct entry_cursor cursor = {strip->entries, strip->distances, strip->indices, 0, NULL};
    const char *planes = (const char *)span->planes, *read;
    char *sums = (char *)span->sums;

    for (int row = 0; row < strip->n_rows; row++, sums += span->row_pitch) {
        int n_entries = count_of(strip, row, reader), i = 0;
        vector sum[4][MOST_VECTORS];

#pragma GCC unroll 32
        for (int v = 0; v < n; v++)
            sum[0][v] = begin_sum(span, sums + (size_t)(v / n_vectors) * span->sum_pitch +
                                            (size_t)(v % n_vectors) * sizeof(vector));
#pragma GCC unroll 32
        for (int v = n; v < n * turns; v++)
            sum[v / n][v % n] = (vector){0};
        begin_row(strip, &cursor, planes);
        for (; i + turns <= n_entries; i += turns)
#pragma GCC unroll 4
            for (int t = 0; t < turns; t++) {
                float weight = next(strip, &cursor, planes, &read, reader);

#pragma GCC unroll 32
                for (int v = 0; v < n; v++)
                    sum[t][v] += weight * load(read + (size_t)(v / n_vectors) * span->plane_pitch +
                                               (size_t)(v % n_vectors) * sizeof(vector));
            }
        for (; turns > 1 && i < n_entries; i++) {
            float weight = next(strip, &cursor, planes, &read, reader);

#pragma GCC unroll 32
            for (int v = 0; v < n; v++)
                sum[0][v] += weight * load(read + (size_t)(v / n_vectors) * span->plane_pitch +
                                           (size_t)(v % n_vectors) * sizeof(vector));
        }
#pragma GCC unroll 32
        for (int v = n; v < n * turns; v++)
            sum[0][v % n] += sum[v / n][v % n];
#pragma GCC unroll 32
        for (int v = 0; v < n; v++)
            memcpy(sums + (size_t)(v / n_vectors) * span->sum_pitch +
                       (size_t)(v % n_vectors) * sizeof(vector),
                   &sum[0][v], sizeof(vector));
    }
}

/* One float for each row. */
INLINE void multiply_single(const struct vbs_coded_strip *strip, const struct vbs_coded_span *span,
                            const int reader)
{
    struct entry_cursor cursor = {strip->entries, strip->distances, strip->indices, 0, NULL};
    const char *planes = (const char *)span->planes, *read;
    char *sums = (char *)span->sums;

    for (int row = 0; row < strip->n_rows; row++, sums += span->row_pitch) {
        int n_entries = count_of(strip, row, reader), i = 0;
        float sum[4] = {0}, before = span->first ? 0 : load_single(sums);

        begin_row(strip, &cursor, planes);
        for (; i + 4 <= n_entries; i += 4)
#pragma GCC unroll 4
            for (int t = 0; t < 4; t++) {
                float weight = next(strip, &cursor, planes, &read, reader);

                sum[t] += weight * load_single(read);
            }
        for (; i < n_entries; i++) {
            float weight = next(strip, &cursor, planes, &read, reader);

            sum[0] += weight * load_single(read);
        }
        before += (sum[0] + sum[1]) + (sum[2] + sum[3]);
        memcpy(sums, &before, sizeof before);
    }
}

#define SPAN(LINES, VECTORS)                                                                       \
    case (LINES)*64 + (VECTORS):                                                                   \
        multiply_span(strip, span, reader, LINES, VECTORS);                                        \
        break;

/* Spans of all sizes: no line, one line, several lines. */
INLINE void multiply_with(const struct vbs_coded_strip *strip, const struct vbs_coded_span *span,
                          const int reader)
{
    switch (span->n_lines * 64 + span->n_vectors) {
        SPANS
    default:
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

    for (int i = 0; i < QUAD; i++)
        memcpy(&rows[i], from + i * from_pitch, sizeof rows[i]);
    for (int i = 0; i < 2; i++) {
        low[i] = __builtin_shufflevector(rows[2 * i], rows[2 * i + 1], 0, 4, 1, 5);
        high[i] = __builtin_shufflevector(rows[2 * i], rows[2 * i + 1], 2, 6, 3, 7);
    }
    columns[0] = __builtin_shufflevector(low[0], low[1], 0, 1, 4, 5);
    columns[1] = __builtin_shufflevector(low[0], low[1], 2, 3, 6, 7);
    columns[2] = __builtin_shufflevector(high[0], high[1], 0, 1, 4, 5);
    columns[3] = __builtin_shufflevector(high[0], high[1], 2, 3, 6, 7);
    for (int i = 0; i < QUAD; i++)
        memcpy(to + i * to_pitch, &columns[i], sizeof columns[i]);
}

static void transpose(int64_t n, int64_t m, const float *from, int64_t from_pitch, float *to,
                      int64_t to_pitch)
{
    int64_t whole_n = n - n % QUAD, whole_m = m - m % QUAD;

    for (int64_t j = 0; j < whole_m; j += QUAD)
        for (int64_t i = 0; i < whole_n; i += QUAD)
            transpose_quads(from + i * from_pitch + j, from_pitch, to + j * to_pitch + i, to_pitch);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i < whole_n ? whole_m : 0; j < m; j++)
            to[j * to_pitch + i] = from[i * from_pitch + j];
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
                                              .transpose = transpose,
                                              .finish = finish};
