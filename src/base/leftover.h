/*
 * What processes that were killed left of files that they wrote. A file that gets its name only
 * when it is complete may have another name meanwhile, TARGET.PID-NUMBER.part; it is locked as long
 * as it is written, and the system ends the lock however the process ends. Internal to the library.
 */
#ifndef VBS_BASE_LEFTOVER_H
#define VBS_BASE_LEFTOVER_H

#include "vbslab/status.h"

/* Makes the name of a part of the target; null: memory is out. The caller frees it. */
char *vbs_part_name(const char *target, int number);

/* Says to others that the open file, which this process has made, is written: until it is closed.
 */
void vbs_part_lock(int descriptor);
/* Ends the lock of a file that stays open. */
void vbs_part_unlock(int descriptor);

/* Looks for parts of the target that nobody writes any more, and keeps their names in ctx for
 * vbs_leftover. Parts of other users are passed over. A folder without any parts is
 * looked at once in a row. O(files of the folder). */
void vbs_leftover_look(struct vbs_ctx *ctx, const char *target);

#endif
