/*
 * Buffers: all data that a schedule keeps in memory, as items of an offset allocation. Internal to
 * the room.
 *
 * Items are rigid groups of samples, blocks of weights, and the buffers of single steps: workspace,
 * a copy of the network's input for each step that reads it where the input is kept outside the
 * arena, and final outputs that are copied out of the arena right after the step.
 *
 * Workspace and weights are aligned to 64 bytes, and weights to more where loads bypass the page
 * cache. Groups and other samples are aligned to the largest power of two up to 64 that divides the
 * size of a sample. Where buffers have to be dense, this is up to 4, and weights are aligned by
 * their size in the same way, unless loads bypass the page cache: kernels then may read values
 * across two lines of the caches, which is right but slower.
 */
#ifndef VBS_EXEC_LAYOUT_BUFFERS_H
#define VBS_EXEC_LAYOUT_BUFFERS_H

#include "exec/layout/groups.h"
#include "exec/layout/blocks.h"
#include "vbslab/place.h"

/* Numbers of the items that belong to one step; -1: the step has none of that kind. */
struct vbs_exec_own {
    int ws, in, out;
};

struct vbs_exec_buffers {
    int n_items, n_rects;
    int64_t max_items, max_rects;
    struct vbs_place_item *items; /* [max_items] */
    struct vbs_place_rect *rects; /* [max_rects] */
    int first_block_item;         /* the items before it are groups */
    struct vbs_exec_own *own;     /* [n_steps] */
    int first_block_rect;         /* from here on there is one rect for each block of
                                     vbs_exec_blocks */
    int n_block_rects;
};

/* Start with {0}, and clear the struct after success and failure. It may be made again for other
 * blocks. Items 0..n_groups - 1 are the groups in their order. Linear in groups, steps and blocks.
 * VBS_USAGE: there are too many buffers. */
enum vbs_status vbs_exec_buffers_make(struct vbs_ctx *ctx, struct vbs_exec_buffers *buffers,
                                      const struct vbs_exec_groups *groups,
                                      const struct vbs_exec_blocks *blocks,
                                      bool is_dense) VBS_MUST_CHECK;
void vbs_exec_buffers_clear(struct vbs_exec_buffers *buffers);

/* True when a layer's output is in the arena only during the steps that write it, in a buffer of
 * its own. */
bool vbs_exec_output_leaves(const struct vbs_exec_groups *groups, int layer);

#endif
