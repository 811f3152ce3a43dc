/*
 * Buffers: everything that a schedule makes live, as items to be placed. Internal to the room.
 *
 * Items are groups of samples, blocks of weights, and what belongs to single
 * steps: scratch, the network's input where it waits outside (a copy for each step that reads it)
 * and final outputs that leave at once.
 *
 * Alignment: scratch and weights 64 bytes (weights more where loads shall be direct); groups and
 * other samples the largest power of two up to 64 that divides a sample.
 */
#ifndef VBS_EXEC_LAYOUT_BUFFERS_H
#define VBS_EXEC_LAYOUT_BUFFERS_H

#include "exec/layout/groups.h"
#include "exec/layout/blocks.h"
#include "vbslab/place.h"

/* Items of one step; -1: it has none. */
struct vbs_exec_own {
    int ws, in, out;
};

struct vbs_exec_buffers {
    int n_items, n_rects;
    int64_t max_items, max_rects;
    struct vbs_place_item *items; /* [max_items] */
    struct vbs_place_rect *rects; /* [max_rects] */
    int first_block_item;         /* items of groups come before */
    struct vbs_exec_own *own;     /* [n_steps] */
    int first_block_rect;         /* from here on one for each of vbs_exec_blocks */
    int n_block_rects;
};

/* Start with {0}; clear it whatever comes out; may be made anew for other blocks. Item i is group i
 * for as many as there are. Linear. VBS_USAGE: too many. */
enum vbs_status vbs_exec_buffers_make(struct vbs_ctx *ctx, struct vbs_exec_buffers *buffers,
                                      const struct vbs_exec_groups *groups,
                                      const struct vbs_exec_blocks *blocks) VBS_MUST_CHECK;
void vbs_exec_buffers_clear(struct vbs_exec_buffers *buffers);

/* True when a layer's output is in the arena only while a step writes it, at a place of its own. */
bool vbs_exec_output_leaves(const struct vbs_exec_groups *groups, int layer);

#endif
