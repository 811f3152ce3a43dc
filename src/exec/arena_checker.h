/*
 * The arena checker, which debug checks switch on. It fills memory in which no buffer lives with
 * signalling values, and finds every change to that memory. Internal to the room.
 *
 * It knows the buffers and their lifetimes, not what the program does. A write outside living
 * buffers is found after the step that made it; where looking at the whole arena after each step
 * would be too much work, it is found after one of the next steps. Rows of a window that no step
 * reads any more are filled too, but not looked at: a kernel that reads them computes with the
 * values. The checker takes as much memory again as the arena.
 */
#ifndef VBS_EXEC_ARENA_CHECKER_H
#define VBS_EXEC_ARENA_CHECKER_H

#include "exec/arena.h"
#include "exec/layout/layout.h"

struct vbs_exec_checker;

/* Makes a checker for an arena with the buffers of fit. Borrows both. VBS_NO_MEMORY. */
enum vbs_status vbs_exec_checker_new(struct vbs_ctx *ctx, const struct vbs_exec_fit *fit,
                                     const struct vbs_exec_arena *arena,
                                     struct vbs_exec_checker **checker) VBS_MUST_CHECK;
void vbs_exec_checker_free(struct vbs_exec_checker *checker);

/* Is called before a run. Fills the whole arena except resident weights. */
void vbs_exec_checker_start(struct vbs_exec_checker *checker);

/* Is called when a slot (groups.h) begins: memory of buffers that died is filled, and memory of
 * buffers that are born must be untouched. Slots in which buffers are relocated take two calls: one
 * before the relocations, and one after them (has_moved), when buffers that are born may take the
 * memory that has become free. VBS_LIBRARY: memory was written to in which no buffer lived. */
enum vbs_status vbs_exec_checker_reach(struct vbs_ctx *ctx, struct vbs_exec_checker *checker,
                                       int64_t slot, bool has_moved) VBS_MUST_CHECK;

/* Is called when a relocation has left bytes at place, or has used them for a detour: those of them
 * in which no buffer lives are filled. */
void vbs_exec_checker_moved(struct vbs_exec_checker *checker, const void *place, int64_t bytes);

/* Is called when a step (from 0) is over. Rows of windows that no later step reads are filled.
 * After every so many steps it looks for writes to memory in which no buffer lives, in the whole
 * arena. VBS_LIBRARY: there was one. */
enum vbs_status vbs_exec_checker_look(struct vbs_ctx *ctx, struct vbs_exec_checker *checker,
                                      int64_t step) VBS_MUST_CHECK;

#endif
