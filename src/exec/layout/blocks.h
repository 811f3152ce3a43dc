/*
 * Pieces of packed weights in the arena: which bytes are there when, and which must lie together.
 * Internal to the room.
 *
 * A load brings a piece of an image; drops take pieces of any cut away. Pieces that one step reads
 * keep the distance that they have in the image, so they are an item of the placement, and so are
 * those that must be back, where resident ones were, at the end.
 */
#ifndef VBS_EXEC_LAYOUT_BLOCKS_H
#define VBS_EXEC_LAYOUT_BLOCKS_H

#include "exec/check/walk.h"

/* Bytes of an image, in the arena through slots birth..death - 1 (stacks.h). */
struct vbs_exec_piece {
    int load, image;  /* number of the load that brought them */
    bool is_resident; /* there before the run begins */
    int waits;        /* streamed loads that have ended when they are there */
    int64_t birth, death;
    int64_t from, to;
};

struct vbs_exec_piece_step {
    int load;   /* a load: its number; a compute step: of some load that it reads; -1: none */
    int waits;  /* so many streamed loads must have ended before the step: those that it reads or
                   drops; of a streamed load itself: those before it and itself */
    int64_t at; /* first byte of the image that it reads or brings */
};

/* Pieces whose distances are fixed. */
struct vbs_exec_piece_item {
    int64_t origin; /* byte of the image at the item's offset 0; may be negative */
    int64_t alignment;
};

struct vbs_exec_pieces {
    struct vbs_exec_piece_step *steps; /* [n_steps] */
    int n_loads, n_streamed;
    int *item_of; /* [n_loads] */
    int n_items;
    struct vbs_exec_piece_item *items;
    int n_pieces, max_pieces;
    struct vbs_exec_piece *pieces; /* by item */
    struct vbs_arena arena;
};

/*
 * Start with {0}; clear it whatever comes out. begins: steps before which loads begin
 * (weights_delay.h); null: as they stand in the list. A piece that is read lies so that its first
 * byte is a multiple of 64, and the distance of all pieces to their bytes in the image a multiple
 * of alignment (64, 4096) where both are possible. VBS_INVALID: weights are loaded that are there,
 * read or dropped that are not, or residents are not back at the end. VBS_USAGE: too many pieces.
 */
enum vbs_status vbs_exec_pieces_init(struct vbs_ctx *ctx, struct vbs_exec_pieces *pieces,
                                     const struct vbs_exec_walk *walk, const int *begins,
                                     int64_t alignment) VBS_MUST_CHECK;
void vbs_exec_pieces_clear(struct vbs_exec_pieces *pieces);

#endif
