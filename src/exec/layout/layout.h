/* From a checked schedule to the offsets of its buffers within an arena. Internal to the room; the
 * header of this folder for all others. */
#ifndef VBS_EXEC_LAYOUT_LAYOUT_H
#define VBS_EXEC_LAYOUT_LAYOUT_H

#include "exec/layout/blocks.h"
#include "exec/layout/buffers.h"
#include "exec/layout/groups.h"
#include "exec/layout/relocations.h"
#include "vbslab/exec.h"

struct vbs_exec_fit {
    const struct vbs_exec_checked *checked;
    struct vbs_exec_groups groups;
    struct vbs_exec_blocks blocks;
    struct vbs_exec_buffers buffers;
    struct vbs_exec_layout layout;
    int *begins; /* [loads] the step before which each begins; null: there are no loads */
    int64_t block_alignment; /* of the options */
    bool is_dense;           /* the buffers are (buffers.h) */
    struct vbs_exec_placement placement;
};

struct vbs_exec_fit_options {
    int64_t bytes;
    int64_t block_alignment; /* 64, or more where loads are direct reads */
    bool on_device;          /* kernels may need aligned operands: buffers are never dense */
    double limit_s;
    struct vbs_progress progress;
};

/*
 * Start with {0}; clear it after success and failure. Where the buffers of the schedule cannot be
 * placed as they are, buffers move, for a tenth of the schedule's time at most, and loads begin
 * later. VBS_INFEASIBLE: fit->placement tells the bytes that the best placement needs. VBS_USAGE:
 * the schedule is too large.
 */
enum vbs_status vbs_exec_fit(struct vbs_ctx *ctx, struct vbs_exec_fit *fit,
                             const struct vbs_exec_checked *checked,
                             const struct vbs_exec_fit_options *options) VBS_MUST_CHECK;
/* Makes the buffers of fit anew from its groups and its blocks, which it aligns: dense or not
 * (buffers.h, blocks.h). Fails as vbs_exec_buffers_make. */
enum vbs_status vbs_exec_fit_buffers(struct vbs_ctx *ctx, struct vbs_exec_fit *fit,
                                     bool is_dense) VBS_MUST_CHECK;
void vbs_exec_fit_clear(struct vbs_exec_fit *fit);

/* Gives whether a compute step runs a kernel in place whose input is at another address, so that
 * the input is copied. */
bool vbs_exec_copies_input(const struct vbs_exec_checked *checked, const struct vbs_step *step);

/* ---- verify.c: the judge of layouts; it shares no code with the searches ---- */

/*
 * Checks the addresses that a layout gives buffers: each buffer has one from step 0 on, which is a
 * multiple of its alignment; no two rectangles share a byte in one slot; nothing lies outside of
 * bytes [0, limit_bytes); and no move reads or writes outside of them. *valid: all of this holds.
 * Sorts the rectangles by time, and keeps the living ones by address: O(n log n) for n rectangles
 * in all their relocations, and memory moves for those that live at once. VBS_NO_MEMORY.
 */
enum vbs_status vbs_exec_layout_verify(struct vbs_ctx *ctx, const struct vbs_exec_layout *layout,
                                       const struct vbs_exec_buffers *buffers, int64_t limit_bytes,
                                       bool *valid) VBS_MUST_CHECK;

#endif
