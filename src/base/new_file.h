/* A file that appears under its name only when it is complete. Internal to the library. */
#ifndef VBS_BASE_NEW_FILE_H
#define VBS_BASE_NEW_FILE_H

#include "vbslab/status.h"

#include <stdint.h>

/* A file that is being written. Where the file system supports it, it has no name yet, so that
 * nothing of it stays however the process ends. Begin with {0}. */
struct vbs_new_file {
    int descriptor; /* for reading and writing */
    const char *path;
    char *target; /* path, with its links followed */
    char *name;   /* beside the target, or null: it has none */
};

/* Makes a new file that will replace path, or the file to which path leads through symbolic links,
 * which need not exist, and looks for what killed processes left of it (leftover.h). VBS_IO, also
 * where path is there and is no regular file; VBS_NO_MEMORY. */
enum vbs_status vbs_new_file_open(struct vbs_ctx *ctx, const char *path,
                                  struct vbs_new_file *file) VBS_MUST_CHECK;

/* Writes bytes at offset. VBS_IO. */
enum vbs_status vbs_new_file_write(struct vbs_ctx *ctx, const struct vbs_new_file *file,
                                   int64_t offset, const void *bytes,
                                   int64_t n_bytes) VBS_MUST_CHECK;

/* Has the bytes written to the disk and gives the file its name; a file that was there before is
 * replaced in one step, and keeps its mode. VBS_IO. In any case the file is closed. */
enum vbs_status vbs_new_file_commit(struct vbs_ctx *ctx, struct vbs_new_file *file) VBS_MUST_CHECK;

/* Does the same, but leaves it to the system when the bytes are written to the disk. */
enum vbs_status vbs_new_file_finish(struct vbs_ctx *ctx, struct vbs_new_file *file) VBS_MUST_CHECK;

/* Does the same as vbs_new_file_finish, but hands the open file to the caller. After failure it is
 * closed. */
enum vbs_status vbs_new_file_publish(struct vbs_ctx *ctx, struct vbs_new_file *file,
                                     int *descriptor) VBS_MUST_CHECK;

/* Closes the file; nothing of it stays. Allowed after a commit, and where opening failed. */
void vbs_new_file_abandon(struct vbs_new_file *file);

/* Writes bytes at an offset of any open file. Gives 0, or errno. */
int vbs_write_at(int descriptor, int64_t offset, const void *bytes, int64_t n_bytes);

#endif
