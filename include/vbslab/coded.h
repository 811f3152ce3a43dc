/*
 * vbslab/coded.h - weights that are pruned, quantised and coded, and are decoded block by block.
 *
 * The stages are those of Han, Mao and Dally, "Deep Compression", 2016, in the form of COMP III-B:
 * the smallest weights of a matrix become zero, the others share the values of a codebook, a
 * weight that is not zero is told by its distance from the one before, and distances and indices
 * into the codebook are coded. The matrix is stored block by block (COMP IV-A), each of which is
 * decoded by itself, so that a network runs without its dense weights.
 *
 * Threads: calls share nothing but the context; quantised and coded weights that are not changed
 * may be read by any number of threads.
 */
#ifndef VBSLAB_CODED_H
#define VBSLAB_CODED_H

#include "vbslab/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_MAX_CODEBOOK_BITS 16
#define VBS_MAX_INDEX_BITS    8
#define VBS_MAX_EXCESS        1e6
#define VBS_MAX_PAIR_BITS     13 /* codebook and index bits together, for VBS_CODING_JOINT */

/*
 * Magnitude pruning: sets all but `round(density x n)` of weights[0..n-1] to 0, those of the least
 * magnitude; of equal ones the later go first. density is from 0 to 1. VBS_USAGE (density out of
 * range, a weight that is not finite), with the weights unchanged; VBS_NO_MEMORY. O(n).
 */
enum vbs_status vbs_prune(struct vbs_ctx *ctx, float *weights, int64_t n,
                          double density) VBS_MUST_CHECK;

/* A matrix whose entries share the values of a codebook. Begin with {0}. */
struct vbs_quantised {
    int64_t n_rows, n_columns;
    int bits;          /* of an index, 1 to VBS_MAX_CODEBOOK_BITS */
    int n_values;      /* of the codebook, at most 2^bits */
    float *codebook;   /* [n_values], owned; the first is 0, the others ascend and are not 0 */
    uint16_t *indices; /* [n_rows * n_columns] into the codebook, row by row, owned; 0: pruned */
};

/*
 * Quantises weights[n_rows x n_columns] with a codebook of at most 2^bits - 1 values beside 0. The
 * values are the means of the clusters of the weights that are not 0 and minimise the sum of
 * squared errors (k-means in one dimension: the optimum on at most 8192 groups of neighbours by
 * dynamic programming, then Lloyd's iteration on all weights). Weights that are 0 stay 0, and none
 * becomes 0. VBS_USAGE (sizes or bits out of range, a weight that is not finite); VBS_NO_MEMORY,
 * VBS_INTERRUPTED. vbs_quantised_clear frees what *quantised owns. O(n log n + 8192 x 2^bits x 13)
 * for n weights.
 */
enum vbs_status vbs_quantise(struct vbs_ctx *ctx, const float *weights, int64_t n_rows,
                             int64_t n_columns, int bits,
                             struct vbs_quantised *quantised) VBS_MUST_CHECK;

/*
 * Quantises as vbs_quantise does, but to values whose indices have shorter codes: the sum of
 * squared errors is at most (1 + excess) times the least, and the entropy of the indices is as
 * small as is found under this limit (entropy-constrained quantisation). An excess of 0.1 makes
 * AlexNet's fc6, of normally distributed weights at a density of 9 % and 5 bits, 2 % smaller in
 * VBS_CODING_JOINT, and 1 makes it 7 % smaller. 6 bits with an excess of 3 have the error of 5
 * bits with none, and are 2 % smaller. VBS_CODING_BYTES becomes no smaller. excess is
 * from 0, which is vbs_quantise, to VBS_MAX_EXCESS. The same errors. O(n log n + 15 g^2 2^bits)
 * beyond vbs_quantise, with g = 1024 for up to 5 bits, 512 for up to 8, and 0 above.
 */
enum vbs_status vbs_quantise_within(struct vbs_ctx *ctx, const float *weights, int64_t n_rows,
                                    int64_t n_columns, int bits, double excess,
                                    struct vbs_quantised *quantised) VBS_MUST_CHECK;

/* Frees what a quantised matrix owns; it is empty then. Null is allowed. */
void vbs_quantised_clear(struct vbs_quantised *quantised);

/*
 * Forms of coded weights. In each block, a weight that is not 0 is an entry of the distance from
 * the entry before (1 to 2^index_bits; from the place before the block for the first) and the index
 * of its value. Where the distance is larger, entries of that largest distance and the value 0 fill
 * it up (the zeros that COMP III-B pads).
 */
enum vbs_coding {
    /* As COMP publishes it: two streams, of values and of distances, each with a Huffman code of
     * its own, and for each block where its part of both begins, as numbers of bits. */
    VBS_CODING_COMP,
    /* One Huffman code for pairs of distance and value. A block is four streams, each of a quarter
     * of the block, which are decoded side by side. The smallest form of large layers that are
     * sparse and have few values. */
    VBS_CODING_JOINT,
    /* One byte for a distance and one or two for an index; each row of a block begins anew, and a
     * distance is up to 256 whatever index_bits is. Layers are computed from this form without
     * decoding. */
    VBS_CODING_BYTES,
    VBS_N_CODINGS
};

/* Gives "comp", "joint" or "bytes". */
const char *vbs_coding_name(enum vbs_coding coding);

/* How a matrix is coded. */
struct vbs_coding_options {
    enum vbs_coding coding;
    int index_bits; /* of a distance, 1 to VBS_MAX_INDEX_BITS; 0: as many as have the fewest bytes,
                     * of several such numbers the largest */
    int64_t block_rows,
        block_columns; /* of a block, at least 1; larger than the matrix: one block. In
                        * VBS_CODING_BYTES more than 65535 columns become 65535. */
};

/* Sets the blocks with which layers are computed fastest from coded weights: of a matrix of an
 * inner product (window 1), or of a convolution with so many weights of a channel in each row. */
void vbs_coded_choose_blocks(enum vbs_coding coding, int64_t n_rows, int64_t n_columns,
                             int64_t window, struct vbs_coding_options *options);

/* Coded weights of one layer. */
struct vbs_coded;

/*
 * Codes a quantised matrix; vbs_coded_free frees *coded. VBS_USAGE (an option out of range, indices
 * or a codebook that break the rules above), VBS_UNSUPPORTED (coded weights of 4 GiB or more),
 * VBS_NO_MEMORY. O(entries + symbols log symbols); index_bits of 0 take two to three times as long.
 */
enum vbs_status vbs_code(struct vbs_ctx *ctx, const struct vbs_quantised *quantised,
                         const struct vbs_coding_options *options,
                         struct vbs_coded **coded) VBS_MUST_CHECK;

/*
 * Opens coded weights from bytes that nobody vouches for, such as those of a mapped file: the
 * format is that of docs/formats. The bytes are borrowed and must be aligned to 8. Every block is
 * checked, so that decoding needs no checks. VBS_FORMAT says what is wrong; VBS_NO_MEMORY.
 * vbs_coded_free frees *coded. O(entries).
 */
enum vbs_status vbs_coded_open(struct vbs_ctx *ctx, const void *bytes, size_t n_bytes,
                               struct vbs_coded **coded) VBS_MUST_CHECK;
void vbs_coded_free(struct vbs_coded *coded);

/*
 * Codes the same matrix in another form or with other blocks: every weight is the same, and so is
 * the codebook. Both matrices are held in their coded forms, and beside them the indices of one row
 * of blocks of each, 2 bytes a weight. Errors of vbs_code. O(weights). vbs_coded_free frees
 * *recoded.
 */
enum vbs_status vbs_coded_recode(struct vbs_ctx *ctx, const struct vbs_coded *coded,
                                 const struct vbs_coding_options *options,
                                 struct vbs_coded **recoded) VBS_MUST_CHECK;

/* Gives the bytes that vbs_coded_open takes, and their number; owned by coded, or borrowed. */
const void *vbs_coded_bytes(const struct vbs_coded *coded, size_t *n_bytes);

/* What coded weights are. */
struct vbs_coded_shape {
    enum vbs_coding coding;
    int bits, index_bits, n_values;
    int64_t n_rows, n_columns;
    int64_t block_rows, block_columns; /* at most those of the matrix */
    int64_t n_block_rows, n_block_columns;
    int64_t n_entries;     /* with those of the value 0 */
    int64_t n_nonzero;     /* without them */
    size_t n_bytes;        /* of the coded weights */
    size_t resident_bytes; /* of them and of the tables that decoding needs */
};
void vbs_coded_describe(const struct vbs_coded *coded, struct vbs_coded_shape *shape);

/*
 * Decodes a block into dense, row by row: block_rows x block_columns floats, fewer at the right and
 * lower edge of the matrix. Blocks are counted row by row. O(floats of the block).
 */
void vbs_coded_block(const struct vbs_coded *coded, int64_t block, float *dense);

#ifdef __cplusplus
}
#endif

#endif
