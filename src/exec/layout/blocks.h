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
    int64_t origin; /* byte of the packed weights at the item's offset 0; may be negative */
    int64_t alignment;
};

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
 * (delay.h); null: their places in the list of steps. A block that is read lies so that its first
 * byte is a multiple of 64, and the distance of all blocks to their bytes in the packed weights is
 * a multiple of alignment (64, 4096) where both are possible. VBS_USAGE: too many blocks.
 */
enum vbs_status vbs_exec_blocks_init(struct vbs_ctx *ctx, struct vbs_exec_blocks *blocks,
                                     const struct vbs_exec_checked *checked, const int *begins,
                                     int64_t alignment) VBS_MUST_CHECK;
void vbs_exec_blocks_clear(struct vbs_exec_blocks *blocks);

#endif
