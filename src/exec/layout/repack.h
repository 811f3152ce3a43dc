/* Placing with moves: segment after segment of time. Internal to the room. */
#ifndef VBS_EXEC_LAYOUT_REPACK_H
#define VBS_EXEC_LAYOUT_REPACK_H

#include "exec/layout/layout.h"

struct vbs_exec_sweep {
    const struct vbs_exec_pieces *pieces;
    const struct vbs_exec_buffers *buffers;
    const int64_t *load; /* [n_slots] what lives in each slot */
    int64_t n_slots;
    int horizon; /* so many buffers that are new in it a segment has at most */
    int64_t target_bytes;
    double limit_s;
};

/*
 * Cuts divide time where little lives. From one cut to the next buffers are placed as a problem
 * of their own: stacks and weights that live across the cut stay where they are if that can be,
 * else they move; resident weights never do. Each segment is placed within target_bytes if a short
 * search finds how, if need be only its first part; else as low as it does, and what a segment
 * needs the later ones have too.
 *
 * *layout (finished) is to be cleared. Deterministic unless time is over, which is VBS_INFEASIBLE.
 */
enum vbs_status vbs_exec_sweep(struct vbs_ctx *ctx, const struct vbs_exec_sweep *sweep,
                               struct vbs_exec_layout *layout) VBS_MUST_CHECK;

#endif
