/*
 * The symbols of a matrix in a form of coded weights, their counts, and the lengths of codes for
 * them. Internal to the room.
 */
#ifndef VBS_CODED_COUNT_H
#define VBS_CODED_COUNT_H

#include "coded/layout.h"
#include "coded/matrix.h"

/* A matrix that is cut into blocks. */
struct vbs_block_matrix {
    struct vbs_ctx *ctx;
    const struct vbs_index_matrix *matrix;
    const struct vbs_coded_form *form;
    struct vbs_coded coded; /* header and numbers of blocks */
    uint16_t *indices;      /* space for the indices of a block; null: blocks are whole rows */
};

/* Cuts a matrix into blocks, and begins the header. VBS_USAGE: an option is out of range, but for
 * index_bits, which is not checked. vbs_blocks_clear frees what *blocks owns. */
enum vbs_status vbs_blocks_init(struct vbs_ctx *ctx, const struct vbs_index_matrix *matrix,
                                const struct vbs_coding_options *options,
                                struct vbs_block_matrix *blocks) VBS_MUST_CHECK;
void vbs_blocks_clear(struct vbs_block_matrix *blocks);

typedef enum vbs_status vbs_block_use(void *self, const struct vbs_coded_place *place,
                                      const uint16_t *indices);

/* Hands all blocks to a function, one after the other; rows of the matrix are read once. */
enum vbs_status vbs_blocks_each(struct vbs_block_matrix *blocks, vbs_block_use *use,
                                void *self) VBS_MUST_CHECK;

/* Counts of the symbols of each code. */
struct vbs_symbol_counts {
    uint64_t *counts[2];
};

/* Makes counts of 0 for the symbols of the form with the header's bits of a distance.
 * vbs_counts_clear frees what *counts owns, after failure too. */
enum vbs_status vbs_counts_init(const struct vbs_block_matrix *blocks,
                                struct vbs_symbol_counts *counts) VBS_MUST_CHECK;
void vbs_counts_clear(struct vbs_symbol_counts *counts);

/* Counts the symbols of all blocks, and sets the numbers of entries of the header. */
enum vbs_status vbs_count_symbols(struct vbs_block_matrix *blocks,
                                  struct vbs_symbol_counts *counts) VBS_MUST_CHECK;

/* Finds the lengths of a code of n symbols for its counts, and the most bits of it: the fewest with
 * which little is lost, because decoding is the faster the smaller its table is. */
enum vbs_status vbs_choose_lengths(struct vbs_ctx *ctx, enum vbs_coding coding,
                                   const uint64_t *counts, int n, uint8_t *lengths,
                                   uint8_t *code_bits) VBS_MUST_CHECK;

/* Gives the bits of all codes of the matrix. */
uint64_t vbs_total_bits(const uint64_t *counts, const uint8_t *lengths, int n);

#endif
