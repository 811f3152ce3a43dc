/*
 * A file to copy from, so that the speed of copies into memory can be measured: from the page cache
 * and from the disk. Internal to the sub-room.
 */
#ifndef VBS_PROFILE_MEASURE_COPY_FILE_H
#define VBS_PROFILE_MEASURE_COPY_FILE_H

#include "vbslab/measure.h"

#define VBS_COPY_ALIGNMENT 4096 /* of buffers, offsets and sizes */

/* The path of the data that a copy reads. */
enum vbs_copy_method {
    VBS_COPY_CACHED,  /* from the page cache */
    VBS_COPY_DIRECT,  /* from the disk, past the page cache (O_DIRECT) */
    VBS_COPY_DROPPED, /* from the disk through the page cache, from which the range was removed;
                         nothing is read ahead */
    VBS_COPY_PLAIN    /* from pinned memory to the device, without the file */
};

/* The destination of copies: memory of the host, or memory of a session's device, which is reached
 * by way of pinned memory, of which one half is filled while the device copies the other. */
struct vbs_copy_landing {
    struct vbs_session *session; /* null: the host's memory */
    char *memory;
    int64_t bytes, at;
    void *pinned[2]; /* VBS_COPY_SLICE bytes each */
};

#define VBS_COPY_SLICE ((int64_t)1 << 20)

/* Clear it after success and failure. VBS_NO_MEMORY. */
enum vbs_status vbs_copy_landing_init(struct vbs_ctx *ctx, struct vbs_copy_landing *landing,
                                      struct vbs_session *session, int64_t bytes) VBS_MUST_CHECK;
void vbs_copy_landing_clear(struct vbs_copy_landing *landing);

struct vbs_copy_file {
    int fd;
    int direct_fd; /* -1: the file system refuses direct reads */
    int64_t bytes;
    int64_t at; /* where the next copy begins; it reads nothing that the copy before it read */
};

/*
 * Makes a file without a name in folder, filled with noise that cannot be compressed. It has at
 * most requested_bytes, at most half of the free bytes of the folder, and no more than was written
 * in `seconds`; but at least least_bytes. buffer: buffer_bytes of scratch memory; both are
 * multiples of VBS_COPY_ALIGNMENT. VBS_IO: the file cannot be made; VBS_INTERRUPTED.
 */
enum vbs_status vbs_copy_file_make(struct vbs_ctx *ctx, const char *folder, int64_t requested_bytes,
                                   int64_t least_bytes, double seconds, void *buffer,
                                   int64_t buffer_bytes, struct vbs_copy_file *file) VBS_MUST_CHECK;
void vbs_copy_file_close(struct vbs_copy_file *file);

/* Gives the bytes that a thread reads at a time. */
int64_t vbs_copy_piece(enum vbs_copy_method method);

/*
 * Copies bytes (at most file->bytes and landing->bytes), each time to another place of landing. A
 * copy to the host of more bytes than a piece is made by two threads.
 * *shown tells whether the bytes that the system counted as fetched from storage agree with the
 * method. Where the system does not count them, only VBS_COPY_CACHED is believed. VBS_IO;
 * VBS_LIBRARY: the device failed.
 */
enum vbs_status vbs_copy_file_read(struct vbs_ctx *ctx, struct vbs_copy_file *file,
                                   enum vbs_copy_method method, struct vbs_copy_landing *landing,
                                   int64_t bytes, double *time_us, bool *shown) VBS_MUST_CHECK;

#endif
