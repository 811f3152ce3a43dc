/*
 * The flat file of packed weights that loads read. Internal to the room.
 *
 *     0       struct header: magic, version, sizes, a hash of the images
 *     64      the key: a text of what the images depend on (weights_key.c)
 *     ...     zeros up to a multiple of 4096
 *     images, each from a multiple of 4096 on, in the order of the key
 *
 * It is for this machine and library only. A file with another key, or one that is damaged, is
 * written anew; a file that never was one is left alone.
 */
#ifndef VBS_EXEC_WEIGHTS_FILE_H
#define VBS_EXEC_WEIGHTS_FILE_H

#include "base/text.h"
#include "exec/check/walk.h"

#define VBS_EXEC_BLOCK 4096 /* of direct reads: offsets, sizes, places in memory */

struct vbs_exec_file {
    int fd;
    int direct_fd;    /* -1: through the page cache */
    char *path;       /* for messages */
    int64_t *offsets; /* [n_images] */
};

struct vbs_exec_file_options {
    const char *path;   /* null: a file without a name in folder */
    const char *folder; /* null: "." */
    bool direct;
    struct vbs_progress progress;
};

/*
 * Opens the file of the images of walk, or writes it: kernel i of session is walk's kernel i. Start
 * with {.fd = -1, .direct_fd = -1}; close it whatever comes out. VBS_IO (nothing is left behind),
 * VBS_FORMAT: path is another kind of file; what packing says.
 */
enum vbs_status vbs_exec_file_open(struct vbs_ctx *ctx, struct vbs_exec_file *file,
                                   const struct vbs_exec_walk *walk,
                                   const struct vbs_network *network, struct vbs_session *session,
                                   const struct vbs_exec_file_options *options) VBS_MUST_CHECK;
void vbs_exec_file_close(struct vbs_exec_file *file);

/* Reads bytes from offset into memory of the host; bounce: VBS_EXEC_BOUNCE bytes aligned to
 * VBS_EXEC_BLOCK, for direct reads whose place in memory does not suit. 0, or errno. */
#define VBS_EXEC_BOUNCE ((int64_t)1 << 20)
int vbs_exec_file_read(const struct vbs_exec_file *file, void *to, int64_t bytes, int64_t offset,
                       void *bounce);

/* VBS_IO for a failed read. */
enum vbs_status vbs_exec_file_refuse(struct vbs_ctx *ctx, const struct vbs_exec_file *file,
                                     int reason) VBS_MUST_CHECK;

/* ---- weights_key.c ---- */

/*
 * A text that differs where packed images do: network, values that a file brings, library, device,
 * threads, and of each image its size and the kernel that packs it. Linear in the values stored.
 */
enum vbs_status vbs_exec_weights_key(struct vbs_ctx *ctx, const struct vbs_exec_walk *walk,
                                     const struct vbs_network *network,
                                     const struct vbs_session *session,
                                     struct vbs_text *key) VBS_MUST_CHECK;

/* A hash of bytes that continues from hash. */
uint64_t vbs_exec_hash(uint64_t hash, const void *data, size_t bytes);

/* The kernel that packs an image alone, or one of parts that do so together; -1: none. */
int vbs_exec_packer(const struct vbs_exec_walk *walk, int image);

/* All of these kernels, one for each part: *n of them, to be freed. */
enum vbs_status vbs_exec_packers(struct vbs_ctx *ctx, const struct vbs_exec_walk *walk, int image,
                                 int **kernels, int *n) VBS_MUST_CHECK;

#endif
