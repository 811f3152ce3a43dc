/* The judge of layouts: it shares no code with the searches that find them. Internal to the room.
 */
#ifndef VBS_EXEC_LAYOUT_VERIFY_H
#define VBS_EXEC_LAYOUT_VERIFY_H

#include "exec/layout/relocations.h"

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
