/* Placing with moves: segment after segment of time. Internal to the room. */
#ifndef VBS_EXEC_SWEEP_H
#define VBS_EXEC_SWEEP_H

#include "exec/buffers.h"
#include "exec/exec_order.h"

struct vbs_exec_swept {
    int64_t height_bytes;        /* of the whole */
    int64_t *offsets;            /* of the items that buffers have with the splits that were made */
    struct vbs_exec_moves moves; /* by step, in their order */
};

/*
 * Where little lives, a cut divides time. From one cut to the next buffers are placed as a problem
 * of their own: stacks that live across the cut stay where they are if that can be, else they move.
 * Each segment is placed within target_bytes if a short search finds how, else as low as it does;
 * what a segment needs the later ones have too.
 *
 * buffers are those of stacks without splits, load[slot] is what lives in each. cut_bytes: cuts are
 * made in runs of slots in which no more lives, where least does. On success stacks have splits,
 * and buffers are made anew; *swept is to be cleared. Deterministic unless time is over, which is
 * VBS_INFEASIBLE.
 */
enum vbs_status vbs_exec_sweep(struct vbs_ctx *ctx, struct vbs_exec_stacks *stacks,
                               const struct vbs_exec_pieces *pieces,
                               struct vbs_exec_buffers *buffers, const int64_t *load,
                               int64_t n_slots, int64_t cut_bytes, int64_t target_bytes,
                               double limit_s, struct vbs_exec_swept *swept) VBS_MUST_CHECK;
void vbs_exec_swept_clear(struct vbs_exec_swept *swept);

#endif
