/*
 * Inner products of one sample, from bytes. Included by kernel_body.h.
 *
 * Each entry loads its distance and its activation; the sum of the distances is an index behind the
 * pointer to the activations of the group, so that groups do not wait for one another. Codebooks of
 * up to 32 values lie in registers, byte by byte: two instructions find one byte of 16 weights. The
 * limit is 0.9 cycles an entry (some 79 instructions for 16 entries; 28 of them move bytes or
 * floats between places of a register, 2 in a cycle); measured (Zen 3) were 1.1 in long rows and
 * 1.3 in rows of 184 entries, at whose ends one branch is predicted wrongly. Larger codebooks are
 * read from memory, as other processors read all of them: 1.5 and 1.7 cycles, because only two
 * floats are loaded in a cycle.
 */
#define AT_ONCE 8 /* entries whose indices are loaded together */

/* Gives the sum of the products of n entries. */
INLINE float multiply_row(const float *codebook, const uint8_t *distances, const uint8_t *indices,
                          int n, const float *read)
{
    float sum[4] = {0};

    for (; n >= AT_ONCE; n -= AT_ONCE, distances += AT_ONCE, indices += AT_ONCE) {
        uint64_t word = vbs_bits_at(indices, 0);
        size_t at = 0;

#pragma GCC unroll 8
        for (int t = 0; t < AT_ONCE; t++, word >>= 8) {
            at += distances[t];
            sum[t % 4] += codebook[(uint8_t)word] * read[at + (size_t)t];
        }
        read += at + AT_ONCE;
    }
    for (; n > 0; n--) {
        read += *distances++;
        sum[0] += codebook[*indices++] * *read++;
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

#if defined(__AVX2__)
#include <immintrin.h>

#define IN_REGISTERS 32                    /* values of a codebook */
#define GROUP        VBS_CODED_BEHIND_SLAB /* entries that are multiplied at once */
#define N_QUADS      (GROUP / QUAD)

typedef int32_t quad_mask __attribute__((vector_size(QUAD * sizeof(int32_t))));

/* Byte b of the values 0 to 15 of a codebook, and of 16 to 31 in the upper half. */
struct byte_tables {
    __m256i bytes[sizeof(float)];
};

INLINE struct byte_tables tables_of(const float *codebook, int n_values)
{
    uint8_t bytes[sizeof(float)][IN_REGISTERS] = {0}, value[sizeof(float)];
    struct byte_tables tables;

    for (int i = 0; i < n_values; i++) {
        memcpy(value, &codebook[i], sizeof value);
        for (size_t b = 0; b < sizeof value; b++)
            bytes[b][i] = value[b];
    }
    memcpy(&tables, bytes, sizeof tables);
    return tables;
}

/* Gives the weights of a group. Each half of a register looks all indices up in its half of the
 * tables; a shuffle gives 0 for an index whose highest bit is set: one of the other half. */
INLINE void look_up(const struct byte_tables *tables, __m128i index, quad *weights)
{
    const __m256i to_half = _mm256_set_m128i(_mm_set1_epi8(-IN_REGISTERS / 2),
                                             _mm_set1_epi8(INT8_MAX + 1 - IN_REGISTERS / 2));
    __m256i both = _mm256_add_epi8(_mm256_broadcastsi128_si256(index), to_half);
    __m256i bytes[sizeof(float)], low[2], high[2], halves[N_QUADS];

#pragma GCC unroll 4
    for (size_t b = 0; b < sizeof(float); b++)
        bytes[b] = _mm256_shuffle_epi8(tables->bytes[b], both);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        low[i] = _mm256_unpacklo_epi8(bytes[2 * i], bytes[2 * i + 1]);
        high[i] = _mm256_unpackhi_epi8(bytes[2 * i], bytes[2 * i + 1]);
    }
    halves[0] = _mm256_unpacklo_epi16(low[0], low[1]);
    halves[1] = _mm256_unpackhi_epi16(low[0], low[1]);
    halves[2] = _mm256_unpacklo_epi16(high[0], high[1]);
    halves[3] = _mm256_unpackhi_epi16(high[0], high[1]);
#pragma GCC unroll 4
    for (int q = 0; q < N_QUADS; q++)
        weights[q] =
            (quad)(_mm256_castsi256_si128(halves[q]) | _mm256_extracti128_si256(halves[q], 1));
}

/* Gives the activations of the entries of quad q. */
INLINE quad read_quad(const uint8_t *distances, const uint64_t *words, int q, const float *read,
                      size_t *at)
{
    quad values = {0};

#pragma GCC unroll 4
    for (int t = q * QUAD; t < (q + 1) * QUAD; t++) {
        *at += words ? (uint8_t)(words[t / 8] >> t % 8 * 8) : distances[t];
        if (t == q * QUAD)
            values = (quad){read[*at + (size_t)t]};
        else
            values[t % QUAD] = read[*at + (size_t)t];
    }
    return values;
}

/* Adds the products of a group to the sums, and gives what the place behind its last entry reads.
 */
INLINE const float *multiply_group(const struct byte_tables *tables, const uint8_t *distances,
                                   const uint8_t *indices, const float *read, quad *sum)
{
    quad weights[N_QUADS];
    __m128i index;
    size_t at = 0;

    memcpy(&index, indices, sizeof index);
    look_up(tables, index, weights);
#pragma GCC unroll 4
    for (int q = 0; q < N_QUADS; q++)
        sum[q % 2] += weights[q] * read_quad(distances, NULL, q, read, &at);
    return read + at + GROUP;
}

/* Gives n < GROUP bytes, and 0 behind them; up to 7 bytes behind them are read. */
INLINE void load_some(const uint8_t *bytes, int n, uint64_t words[2])
{
    int n_second = (n - 8) & -(n > 8); /* without a branch: at least 0 */

    words[0] = _bzhi_u64(vbs_bits_at(bytes, 0), 8 * (unsigned)n);
    words[1] = vbs_bits_at(bytes + n_second, 0) >> 8 >> 8 * (7 - n_second);
}

/* Adds the products of the last n < GROUP entries of a row. The activations of up to 15 places
 * behind them are read, which may be no numbers and do not count. */
INLINE void multiply_last(const struct byte_tables *tables, const uint8_t *distances,
                          const uint8_t *indices, int n, const float *read, quad *sum)
{
    quad_mask next = {0, 1, 2, 3};
    uint64_t words[2], index[2];
    quad weights[N_QUADS];
    size_t at = 0;

    load_some(distances, n, words);
    load_some(indices, n, index);
    look_up(tables, _mm_set_epi64x((int64_t)index[1], (int64_t)index[0]), weights);
#pragma GCC unroll 4
    for (int q = 0; q < N_QUADS; q++, next += QUAD) {
        quad_mask values = (quad_mask)read_quad(distances, words, q, read, &at);

        sum[q % 2] += weights[q] * (quad)(values & (next < n));
    }
}

/* As multiply_row, with the codebook in registers. */
INLINE float multiply_groups(const struct byte_tables *tables, const uint8_t *distances,
                             const uint8_t *indices, int n, const float *read)
{
    quad sum[2] = {{0}};

    for (; n >= GROUP; n -= GROUP, distances += GROUP, indices += GROUP)
        read = multiply_group(tables, distances, indices, read, sum);
    if (n > 0)
        multiply_last(tables, distances, indices, n, read, sum);
    sum[0] += sum[1];
    return (sum[0][0] + sum[0][1]) + (sum[0][2] + sum[0][3]);
}

/* One float for each row, with a codebook of up to IN_REGISTERS values. */
INLINE void multiply_linear_groups(const struct vbs_coded_strip *strip,
                                   const struct vbs_coded_span *span)
{
    const uint8_t *distances = strip->distances, *indices = strip->indices;
    const struct byte_tables tables = tables_of(strip->codebook, strip->n_values);
    char *sums = (char *)span->sums;

    for (int row = 0; row < strip->n_rows; row++, sums += span->row_pitch) {
        int n = count_of(strip, row, VBS_READ_LINEAR);
        float sum =
            load_single(sums) + multiply_groups(&tables, distances, indices, n, span->planes);

        memcpy(sums, &sum, sizeof sum);
        distances += n;
        indices += n;
    }
}
#endif

/* One float for each row. */
INLINE void multiply_linear_single(const struct vbs_coded_strip *strip,
                                   const struct vbs_coded_span *span)
{
    const uint8_t *distances = strip->distances, *indices = strip->indices;
    char *sums = (char *)span->sums;

#if defined(__AVX2__)
    if (strip->n_values <= IN_REGISTERS) {
        multiply_linear_groups(strip, span);
        return;
    }
#endif
    for (int row = 0; row < strip->n_rows; row++, sums += span->row_pitch) {
        int n = count_of(strip, row, VBS_READ_LINEAR);
        float sum =
            load_single(sums) + multiply_row(strip->codebook, distances, indices, n, span->planes);

        memcpy(sums, &sum, sizeof sum);
        distances += n;
        indices += n;
    }
}
