/* Finds an order of copies that moves blocks of memory without overwriting one another. Internal to
 * the room. */
#ifndef VBS_EXEC_LAYOUT_ORDER_H
#define VBS_EXEC_LAYOUT_ORDER_H

#include "vbslab/status.h"

#include <stdbool.h>
#include <stdint.h>

struct vbs_exec_shift {
    int64_t from, to, bytes; /* from == to: the block stays */
};

/* A copy, whose source and destination may overlap. */
struct vbs_exec_move {
    int64_t from, to, bytes;
    int64_t step; /* the step before which it is made; set by the caller of vbs_exec_order */
    int waits;    /* the number of streamed loads that must have ended before; set by the caller
                     too */
};

struct vbs_exec_moves {
    int n;
    int64_t max;
    struct vbs_exec_move *moves; /* [max], from malloc; the holder of the struct frees it */
};

/* Appends a move. False: memory is out. */
bool vbs_exec_moves_add(struct vbs_exec_moves *moves, const struct vbs_exec_move *move);

/*
 * Appends copies that bring every block to its destination, and none of them over another block.
 * Blocks do not overlap, neither before nor after. A block moves in fragments where another block
 * is still in the way of its rest. Where all wait for each other, a fragment makes a detour through
 * free bytes of 0..limit_bytes - 1. *done is false, and nothing is appended, where no order is
 * found, or only one of hundreds of copies. O(copies x shifts log shifts).
 */
enum vbs_status vbs_exec_order(struct vbs_ctx *ctx, const struct vbs_exec_shift *shifts,
                               int n_shifts, int64_t limit_bytes, struct vbs_exec_moves *moves,
                               bool *done) VBS_MUST_CHECK;

#endif
