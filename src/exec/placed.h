/* A checked schedule whose buffers have offsets, before there is an executor and while one is made.
 * Internal to the room. */
#ifndef VBS_EXEC_PLACED_H
#define VBS_EXEC_PLACED_H

#include "exec/layout/layout.h"

struct vbs_exec_placed {
    struct vbs_exec_checked checked;
    struct vbs_exec_fit fit; /* borrows checked */
};

/* Checks the schedule; it has no offsets yet. *placed is freed by vbs_exec_placed_free; borrows
 * profile and schedule. Fails as vbs_exec_check does. */
enum vbs_status vbs_exec_placed_new(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                    const struct vbs_schedule *schedule,
                                    struct vbs_exec_placed **placed) VBS_MUST_CHECK;

/* Searches for offsets within the memory of *options, in place of those that placed has. Fails as
 * vbs_exec_fit does. */
enum vbs_status vbs_exec_placed_search(struct vbs_ctx *ctx, struct vbs_exec_placed *placed,
                                       const struct vbs_exec_options *options) VBS_MUST_CHECK;

/*
 * Gives buffers the sizes that checked says now, of workspaces and packed weights, at the offsets
 * that placed has. *valid: these offsets hold for the sizes and for the memory of *options, as
 * vbs_exec_layout_verify judges. Otherwise, and where there are no offsets, they must be searched
 * for again. resized: sizes may have changed since the offsets were found.
 */
enum vbs_status vbs_exec_placed_keep(struct vbs_ctx *ctx, struct vbs_exec_placed *placed,
                                     const struct vbs_exec_options *options, bool resized,
                                     bool *valid) VBS_MUST_CHECK;

/* Returns the bytes of the arena: those of *options or, where it says 0, the schedule's budget. */
int64_t vbs_exec_arena_bytes(const struct vbs_exec_options *options,
                             const struct vbs_schedule *schedule);

#endif
