/*
 * Inner products of few samples from blocks of VBS_CODING_JOINT, whose entries are multiplied when
 * they are decoded and never written. Included by kernel_body.h.
 *
 * A code is found when the one before is, after the latency of a mask, a load and a shift: 7 cycles
 * and more. The codes of four streams take turns, one each, so that the others go on meanwhile. The
 * limit is 2.2 cycles an entry (13 instructions with its share of reading words, 6 in a cycle), for
 * one multiplication; measured (Zen 3), with rows of 118 entries a block, were 4.2 for one sample
 * and 5.0, 6.0 and 7.7 for one to three vectors of samples, of which some 0.5 are the ends of rows,
 * where a branch is predicted wrongly. Decoding, listing, placing and multiplying one after the
 * other takes 8.5 to 10.6.
 */
#define CODES 4 /* that are read at once */

/* What all streams of a block share. */
struct fused_block {
    const uint8_t *data;
    const uint32_t *pairs;
    const float *codebook;
    unsigned code_bits;
    const char *end; /* what the column behind the block reads */
    size_t row_bytes, stride;
    size_t row_pitch;
};

/* What is left of a stream. */
struct fused_stream {
    uint64_t at;      /* bits from the begin of the data to where the word was read */
    uint64_t word;    /* the bits from there on, less those that are decoded, with a bit above */
    const char *read; /* what the entry before reads */
    char *sums;       /* of its row */
    vector sum[MOST_FUSED];
    float single;
};

#define MARK (UINT64_C(1) << 63) /* over a word: the zeros before it count the bits decoded */

/* Adds the sums of a row to those in memory. */
INLINE void put_sums(struct fused_stream *stream, const int n_vectors)
{
    float single = load_single(stream->sums) + stream->single;

    if (n_vectors == 0)
        memcpy(stream->sums, &single, sizeof single);
#pragma GCC unroll 3
    for (int v = 0; v < n_vectors; v++) {
        vector sum = load(stream->sums + (size_t)v * sizeof sum) + stream->sum[v];

        memcpy(stream->sums + (size_t)v * sizeof sum, &sum, sizeof sum);
        stream->sum[v] = (vector){0};
    }
    stream->single = 0;
}

/* Reads a word of CODES codes at least. */
INLINE void read_word(const struct fused_block *block, struct fused_stream *stream)
{
    stream->at += (uint64_t)__builtin_clzll(stream->word);
    stream->word = vbs_bits_at(block->data, stream->at) | MARK;
}

/* Decodes an entry and multiplies it. */
INLINE void multiply_code(const struct fused_block *block, struct fused_stream *stream,
                          const int n_vectors)
{
#if defined(__BMI2__)
    uint32_t hit = block->pairs[_bzhi_u64(stream->word, block->code_bits)];
#else
    uint32_t hit = block->pairs[stream->word & ((UINT64_C(1) << block->code_bits) - 1)];
#endif
    float weight = block->codebook[vbs_pair_short_index(hit)];

    stream->word >>= vbs_pair_bits(hit);
    stream->read += vbs_pair_distance(hit) * block->stride;
    while (__builtin_expect(stream->read >= block->end, 0)) {
        put_sums(stream, n_vectors);
        stream->sums += block->row_pitch;
        stream->read -= block->row_bytes;
    }
    if (n_vectors == 0)
        stream->single += weight * load_single(stream->read);
#pragma GCC unroll 3
    for (int v = 0; v < n_vectors; v++)
        stream->sum[v] += weight * load(stream->read + (size_t)v * sizeof(vector));
}

/* Multiplies the last n entries of a stream. */
INLINE void multiply_rest(const struct fused_block *block, struct fused_stream *stream, uint32_t n,
                          const int n_vectors)
{
    for (; n > 0; n--) {
        read_word(block, stream);
        multiply_code(block, stream, n_vectors);
    }
    put_sums(stream, n_vectors);
}

INLINE struct fused_stream stream_of(const struct vbs_coded_fused *fused,
                                     const struct vbs_coded_span *span,
                                     const struct fused_block *block, int s)
{
    int64_t row = fused->streams.begins[s] / fused->n_columns;
    int64_t column = fused->streams.begins[s] % fused->n_columns;

    return (struct fused_stream){.at = fused->streams.bits[s],
                                 .word = MARK,
                                 .read = (const char *)span->planes +
                                         column * (int64_t)block->stride - block->stride,
                                 .sums = (char *)span->sums + (size_t)row * span->row_pitch};
}

/* The streams are decoded side by side until one of them ends. */
INLINE void multiply_streams(const struct vbs_coded_fused *fused, const struct vbs_coded_span *span,
                             const int n_vectors)
{
    const struct vbs_joint_streams *streams = &fused->streams;
    const size_t stride = n_vectors == 0 ? sizeof(float) : fused->stride;
    const size_t row_bytes = (size_t)fused->n_columns * stride;
    const struct fused_block block = {.data = fused->coded->data,
                                      .pairs = fused->coded->narrow_pairs,
                                      .codebook = fused->coded->codebook,
                                      .code_bits = fused->coded->header.code_bits[0],
                                      .end = (const char *)span->planes + row_bytes,
                                      .row_bytes = row_bytes,
                                      .stride = stride,
                                      .row_pitch = span->row_pitch};
    struct fused_stream a, b, c, d; /* not an array, so that they stay in registers */
    uint32_t least = UINT32_MAX, i = 0;

    for (int s = 0; s < VBS_JOINT_STREAMS; s++)
        least = streams->n_entries[s] < least ? streams->n_entries[s] : least;
    a = stream_of(fused, span, &block, 0);
    b = stream_of(fused, span, &block, 1);
    c = stream_of(fused, span, &block, 2);
    d = stream_of(fused, span, &block, 3);
    for (; i + CODES <= least; i += CODES) {
        read_word(&block, &a);
        read_word(&block, &b);
        read_word(&block, &c);
        read_word(&block, &d);
#pragma GCC unroll 4
        for (unsigned k = 0; k < CODES; k++) {
            multiply_code(&block, &a, n_vectors);
            multiply_code(&block, &b, n_vectors);
            multiply_code(&block, &c, n_vectors);
            multiply_code(&block, &d, n_vectors);
        }
    }
    multiply_rest(&block, &a, streams->n_entries[0] - i, n_vectors);
    multiply_rest(&block, &b, streams->n_entries[1] - i, n_vectors);
    multiply_rest(&block, &c, streams->n_entries[2] - i, n_vectors);
    multiply_rest(&block, &d, streams->n_entries[3] - i, n_vectors);
}

static void multiply_fused(const struct vbs_coded_fused *fused, const struct vbs_coded_span *span)
{
    switch (span->n_vectors) {
    case 1:
        multiply_streams(fused, span, 1);
        break;
    case 2:
        multiply_streams(fused, span, 2);
        break;
    case 3:
        multiply_streams(fused, span, 3);
        break;
    default:
        multiply_streams(fused, span, 0);
    }
}
