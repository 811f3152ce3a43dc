/*
 * Blocks of packed weights in the arena: when each byte is in memory, and which blocks keep their
 * distances. Internal to the room.
 *
 * A load brings a block of a layer's packed weights, and evicts take any slices of it away. Blocks
 * that one step reads keep the distances that they have in the packed weights, so they are one item
 * of the offset allocation. Resident weights that are evicted and loaded again during the run are
 * one item too, because they must lie at the end of the run where they lay at its begin.
 */
#ifndef VBS_EXEC_LAYOUT_BLOCKS_H
#define VBS_EXEC_LAYOUT_BLOCKS_H

#include "exec/check/check.h"

/* Bytes from..to - 1 of packed weights, which are in the arena in slots birth..death - 1
 * (groups.h). */
struct vbs_exec_block {
    int load;         /* number of the load that brings them */
    int packed;       /* of vbs_exec_checked */
    bool is_resident; /* in memory before the run begins */
    int waits; /* the number of loads, resident ones not counted, that have ended once the bytes
                  are in memory */
    int64_t birth, death;
    int64_t from, to;
};

struct vbs_exec_block_step {
    int load;   /* of a load: its number; of a compute step: one of the loads that it reads; -1:
                   none */
    int64_t at; /* the first byte of the packed weights that it reads or brings */
};

/* Blocks whose distances from each other are fixed. */
struct vbs_exec_block_item {
    int64_t anchor; /* the first byte of the packed weights that a step reads; -1: none does */
    int64_t origin; /* byte of the packed weights at the item's offset 0; may be negative */
    int64_t alignment;
};

/* The alignment with which weights lie at any values: of 32 bits, the widest. */
#define VBS_EXEC_DENSE 4

struct vbs_exec_blocks {
    struct vbs_exec_block_step *steps; /* [n_steps] */
    int n_loads, n_streamed;
    int *item_of; /* [n_loads] */
    int n_items;
    struct vbs_exec_block_item *items;
    int n_blocks;
    int64_t max_blocks;
    struct vbs_exec_block *blocks; /* [max_blocks], by item */
    struct vbs_arena arena;
};

/*
 * Start with {0}; clear it after success and failure. begins: the steps before which loads begin
 * (delay.h); null: their places in the list of steps. The items have no origins until
 * vbs_exec_blocks_align. VBS_USAGE: too many blocks.
 */
enum vbs_status vbs_exec_blocks_init(struct vbs_ctx *ctx, struct vbs_exec_blocks *blocks,
                                     const struct vbs_exec_checked *checked,
                                     const int *begins) VBS_MUST_CHECK;

/*
 * Sets origins and alignments of the items; it may be called again with another alignment. With 64
 * or more, a block that is read lies so that its first byte is a multiple of 64, and the distance
 * of all blocks to their bytes in the packed weights is a multiple of alignment where both are
 * possible. With VBS_EXEC_DENSE this distance is a multiple of 4, or of 2 or 1 where the size of
 * the packed weights is no multiple of more, so that their values have no more than so many bytes.
 * Linear in the blocks.
 */
void vbs_exec_blocks_align(struct vbs_exec_blocks *blocks, const struct vbs_exec_checked *checked,
                           int64_t alignment);
void vbs_exec_blocks_clear(struct vbs_exec_blocks *blocks);

#endif
