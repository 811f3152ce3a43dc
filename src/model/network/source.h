/*
 * The files and the memory that values of parameters are read from.
 *
 * They are the files of an ONNX model, opened as they are, or images of such files: the same
 * bytes, of which ranges that nobody reads are left out.
 *
 * Threads may read from one source at the same time; all that changes it is for one thread.
 */
#ifndef VBS_MODEL_NETWORK_SOURCE_H
#define VBS_MODEL_NETWORK_SOURCE_H

#include "vbslab/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vbs_source;

/* Bytes of a file. */
struct vbs_extent {
    int64_t offset, bytes;
    const unsigned char *data; /* of an image; else null */
};

/* Makes an empty source; null where memory is out. */
struct vbs_source *vbs_source_new(void);
void vbs_source_free(struct vbs_source *source);

/* Gives n * size zero bytes that live as long as the source; null where memory is out. */
void *vbs_source_alloc(struct vbs_source *source, size_t n, size_t size);

/* Opens a file for reading. *file is its number, which is the same for the same path; *bytes is its
 * length. A source that has images opens nothing else: VBS_FORMAT. VBS_IO, also where the file is
 * no regular one; VBS_NO_MEMORY. */
enum vbs_status vbs_source_open(struct vbs_ctx *ctx, struct vbs_source *source, const char *path,
                                int *file, int64_t *bytes) VBS_MUST_CHECK;

/* Adds a file that is open for reading, and need not have a name; path is borrowed, and is what
 * vbs_source_open finds it by. On success the source closes the descriptor in the end. VBS_IO,
 * VBS_NO_MEMORY. */
enum vbs_status vbs_source_add_file(struct vbs_ctx *ctx, struct vbs_source *source,
                                    const char *path, int descriptor) VBS_MUST_CHECK;

/* Adds an image of a file of so many bytes: extents[0..n-1], which ascend and do not overlap. path
 * and extents are borrowed. VBS_NO_MEMORY. */
enum vbs_status vbs_source_add_image(struct vbs_ctx *ctx, struct vbs_source *source,
                                     const char *path, int64_t bytes,
                                     const struct vbs_extent *extents, int64_t n_extents,
                                     int *file) VBS_MUST_CHECK;

/* Names a file, which may have several names: the locations by which a model refers to files beside
 * it. VBS_UNSUPPORTED: too many names; VBS_NO_MEMORY. */
#define VBS_MAX_FILE_NAMES 16384
enum vbs_status vbs_source_name(struct vbs_ctx *ctx, struct vbs_source *source, const char *name,
                                int file) VBS_MUST_CHECK;

/* Gives the file of a name and its length; false where no file has it. */
bool vbs_source_find(const struct vbs_source *source, const char *name, int *file, int64_t *bytes);

/* Gives the number of files, and the length of one. */
int vbs_source_n_files(const struct vbs_source *source);
int64_t vbs_source_bytes(const struct vbs_source *source, int file);

/* Gives the number of names, and name number i with its file. */
int vbs_source_n_names(const struct vbs_source *source);
const char *vbs_source_name_at(const struct vbs_source *source, int i, int *file);

/* Gives how many bytes from offset on a file has without a gap. O(log extents). */
int64_t vbs_source_present(const struct vbs_source *source, int file, int64_t offset);

/* Gives the first byte at or behind offset that a file has, or its length where there is none. */
int64_t vbs_source_next(const struct vbs_source *source, int file, int64_t offset);

/* Reads bytes of a file without converting them. VBS_IO, also where the file ends before;
 * VBS_FORMAT where the bytes are left out of its image. */
enum vbs_status vbs_source_read(struct vbs_ctx *ctx, const struct vbs_source *source, int file,
                                int64_t offset, int64_t bytes, void *to) VBS_MUST_CHECK;

/* Records that loading the network reads these bytes, which an image must have. VBS_NO_MEMORY. */
enum vbs_status vbs_source_keep(struct vbs_ctx *ctx, struct vbs_source *source, int file,
                                int64_t offset, int64_t bytes) VBS_MUST_CHECK;

/* The bytes that were recorded: number i is a range of *file. */
int64_t vbs_source_n_kept(const struct vbs_source *source);
struct vbs_extent vbs_source_kept(const struct vbs_source *source, int64_t i, int *file);

#endif
