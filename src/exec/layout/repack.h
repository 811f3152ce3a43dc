/* Windowed repacking: offsets that change over time, found for one segment of time after the other.
 * Internal to exec/layout. */
#ifndef VBS_EXEC_LAYOUT_REPACK_H
#define VBS_EXEC_LAYOUT_REPACK_H

#include "exec/layout/blocks.h"
#include "exec/layout/relocations.h"

struct vbs_exec_repack_options {
    const struct vbs_exec_blocks *blocks;
    const struct vbs_exec_buffers *buffers;
    const int64_t *load; /* [n_slots] bytes that live in the slot */
    int64_t n_slots;
    int window;            /* a segment has at most so many buffers that are new in it */
    int64_t target_bytes;  /* the height that is not to be exceeded */
    bool residents_on_top; /* resident weights lie at its end, not at the beginning */
    double limit_s;        /* of the whole search, in processor time of this thread */
};

/*
 * Cuts divide time into segments, where few bytes live. The buffers of a segment are a problem of
 * offset allocation of their own. Rigid groups and weights that live across the cut stay where they
 * are if they can, else they are relocated; resident weights never are. Each segment is allocated
 * within target_bytes where a short search succeeds; where it does not, the segment is made
 * shorter. The shortest segments are allocated as low as the search finds, and the height that one
 * of them needs is the target of the segments after it.
 *
 * *layout is finished, and is to be cleared by the caller. The result is deterministic unless time
 * is over, which is VBS_INFEASIBLE.
 */
enum vbs_status vbs_exec_repack(struct vbs_ctx *ctx, const struct vbs_exec_repack_options *options,
                                struct vbs_exec_layout *layout) VBS_MUST_CHECK;

#endif
