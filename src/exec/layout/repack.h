/* Windowed repacking: offsets with moves, segment after segment of time. Internal to exec/layout.
 */
#ifndef VBS_EXEC_LAYOUT_REPACK_H
#define VBS_EXEC_LAYOUT_REPACK_H

#include "exec/layout/blocks.h"
#include "exec/layout/relocations.h"

struct vbs_exec_repack_options {
    const struct vbs_exec_blocks *blocks;
    const struct vbs_exec_buffers *buffers;
    const int64_t *load; /* [n_slots] bytes that live in each slot */
    int64_t n_slots;
    int window; /* a segment has at most so many buffers that are new in it */
    int64_t target_bytes;
    double limit_s;
};

/*
 * Cuts divide time where little lives. From one cut to the next buffers are a problem of offset
 * allocation of their own: rigid groups and weights that live across the cut stay where they are if
 * that can be, else they move; resident weights never do. Each segment is allocated within
 * target_bytes if a short search finds how, if need be only its first half; else as low as the
 * search finds, and the height that a segment needs is the target of the later ones.
 *
 * *layout (finished) is to be cleared. Deterministic unless time is over, which is VBS_INFEASIBLE.
 */
enum vbs_status vbs_exec_repack(struct vbs_ctx *ctx, const struct vbs_exec_repack_options *options,
                                struct vbs_exec_layout *layout) VBS_MUST_CHECK;

#endif
