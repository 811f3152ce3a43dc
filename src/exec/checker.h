/*
 * The guard of the paranoid mode: what is dead holds signalling values, and is looked at. Internal
 * to the room.
 *
 * It knows the buffers and their lives, not what the program does: whoever writes outside what
 * lives then is found out, after his own step where looking at everything after each step is not
 * too much, else after one of the next. Takes as much memory again as the arena.
 */
#ifndef VBS_EXEC_CHECKER_H
#define VBS_EXEC_CHECKER_H

#include "exec/arena.h"
#include "exec/layout/fit.h"

struct vbs_exec_guard;

/* Borrows the arena. */
enum vbs_status vbs_exec_guard_new(struct vbs_ctx *ctx, const struct vbs_exec_fit *fit,
                                   const struct vbs_exec_arena *arena,
                                   struct vbs_exec_guard **guard) VBS_MUST_CHECK;
void vbs_exec_guard_free(struct vbs_exec_guard *guard);

/* Before a run: fills all but resident weights. */
void vbs_exec_guard_start(struct vbs_exec_guard *guard);

/* Slot (stacks.h) begins: what died is filled, what is to live must be untouched. Twice for slots
 * with moves: before them, when what is to move leaves and arrives, and after them, when what is
 * born then can have the places that are free. VBS_LIBRARY. */
enum vbs_status vbs_exec_guard_reach(struct vbs_ctx *ctx, struct vbs_exec_guard *guard,
                                     int64_t slot, bool has_moved) VBS_MUST_CHECK;

/* Something moved from place, or made a detour there: what is dead of it is filled. */
void vbs_exec_guard_moved(struct vbs_exec_guard *guard, const void *place, int64_t bytes);

/* Step (from 0) is over: looks at what is dead now, or not yet. VBS_LIBRARY. */
enum vbs_status vbs_exec_guard_look(struct vbs_ctx *ctx, struct vbs_exec_guard *guard,
                                    int64_t step) VBS_MUST_CHECK;

#endif
