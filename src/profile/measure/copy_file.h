/*
 * A file to copy from, so that the speed of copies into memory can be measured: from the page cache
 * and from the disk. Internal to the sub-room.
 */
#ifndef VBS_PROFILE_MEASURE_COPY_FILE_H
#define VBS_PROFILE_MEASURE_COPY_FILE_H

#include "vbslab/measure.h"

#define VBS_COPY_ALIGNMENT 4096 /* of buffers, offsets and sizes */

/* How a read reaches its data. */
enum vbs_copy_method {
    VBS_COPY_CACHED,  /* the page cache has it */
    VBS_COPY_DIRECT,  /* past the page cache, O_DIRECT */
    VBS_COPY_DROPPED, /* through the page cache, which was told to forget it; nothing read ahead */
    VBS_COPY_PLAIN    /* not from the file: from pinned memory to the device */
};

/* Where copies go: memory of the host, or of a session's device, by method of pinned memory of
 * which one half is filled while the device copies the other. */
struct vbs_copy_landing {
    struct vbs_session *session; /* null: the host's memory */
    char *memory;
    int64_t bytes, at;
    void *pinned[2]; /* VBS_COPY_SLICE bytes each */
};

#define VBS_COPY_SLICE ((int64_t)1 << 20)

/* Clear it whatever comes out. VBS_NO_MEMORY. */
enum vbs_status vbs_copy_landing_init(struct vbs_ctx *ctx, struct vbs_copy_landing *landing,
                                      struct vbs_session *session, int64_t bytes) VBS_MUST_CHECK;
void vbs_copy_landing_clear(struct vbs_copy_landing *landing);

struct vbs_copy_file {
    int fd;
    int direct_fd; /* -1: the file system refuses it */
    int64_t bytes;
    int64_t at; /* where the next copy begins: none reads what the one before it read */
};

/*
 * A file without a name in folder, of noise that nothing can compress. It is at most as large as
 * requested_bytes and as half of what is free there, and no larger than was written in seconds;
 * at least least_bytes. VBS_IO: it cannot be made; VBS_INTERRUPTED. buffer: buffer_bytes of
 * scratch, both multiples of VBS_COPY_ALIGNMENT.
 */
enum vbs_status vbs_copy_file_make(struct vbs_ctx *ctx, const char *folder, int64_t requested_bytes,
                                   int64_t least_bytes, double seconds, void *buffer,
                                   int64_t buffer_bytes, struct vbs_copy_file *file) VBS_MUST_CHECK;
void vbs_copy_file_close(struct vbs_copy_file *file);

/*
 * Copies bytes (at most file->bytes and landing->bytes) to ever new places of landing. *shown: the
 * system's own count of what this process had fetched from storage says that the method was the one
 * meant; where it does not count, only VBS_COPY_CACHED is believed. VBS_IO; VBS_LIBRARY: the
 * device.
 */
enum vbs_status vbs_copy_file_read(struct vbs_ctx *ctx, struct vbs_copy_file *file,
                                   enum vbs_copy_method method, struct vbs_copy_landing *landing,
                                   int64_t bytes, double *time_us, bool *shown) VBS_MUST_CHECK;

#endif
