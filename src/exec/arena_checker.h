/*
 * The arena checker, which debug checks switch on: memory that nothing lives in is filled with
 * signalling values, and every change to it is found. Internal to the room.
 *
 * It knows the buffers and their lifetimes, not what the program does: a write outside what lives
 * is found behind the step that made it where looking at the whole arena behind each step is not
 * too much work, else behind one of the next. Takes as much memory again as the arena.
 */
#ifndef VBS_EXEC_ARENA_CHECKER_H
#define VBS_EXEC_ARENA_CHECKER_H

#include "exec/arena.h"
#include "exec/layout/layout.h"

struct vbs_exec_checker;

/* Borrows the arena. */
enum vbs_status vbs_exec_checker_new(struct vbs_ctx *ctx, const struct vbs_exec_fit *fit,
                                     const struct vbs_exec_arena *arena,
                                     struct vbs_exec_checker **checker) VBS_MUST_CHECK;
void vbs_exec_checker_free(struct vbs_exec_checker *checker);

/* Before a run: fills all but resident weights. */
void vbs_exec_checker_start(struct vbs_exec_checker *checker);

/* Slot (groups.h) begins: what died is filled, what is to live must be untouched. Twice for slots
 * with moves: before them, when what is to move leaves and arrives, and after them, when what is
 * born then can have the places that are free. VBS_LIBRARY. */
enum vbs_status vbs_exec_checker_reach(struct vbs_ctx *ctx, struct vbs_exec_checker *checker,
                                       int64_t slot, bool has_moved) VBS_MUST_CHECK;

/* Something moved from place, or made a detour there: what is dead of it is filled. */
void vbs_exec_checker_moved(struct vbs_exec_checker *checker, const void *place, int64_t bytes);

/* Step (from 0) is over: looks at what is dead now, or not yet. VBS_LIBRARY. */
enum vbs_status vbs_exec_checker_look(struct vbs_ctx *ctx, struct vbs_exec_checker *checker,
                                      int64_t step) VBS_MUST_CHECK;

#endif
