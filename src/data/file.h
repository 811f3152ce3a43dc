/* Files of a folder of data, also compressed by gzip. Internal to the room. */
#ifndef VBS_DATA_FILE_H
#define VBS_DATA_FILE_H

#include "vbslab/status.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

/* A file that is being read. Begin with {0}. */
struct vbs_data_file {
    struct vbs_ctx *ctx;
    gzFile gz;
    int64_t n_bytes; /* of the file as it lies there */
    char path[PATH_MAX];
};

/* Gives the first of names, which ends with null, that is in folder, or has ".gz" behind it there;
 * null where none is. */
const char *vbs_data_file_find(const char *folder, const char *const *names);

/* Opens name in folder, or name with ".gz" behind it. VBS_IO: there is none, or it is no regular
 * file. The caller closes it, also where this fails. */
enum vbs_status vbs_data_file_open(struct vbs_ctx *ctx, const char *folder, const char *name,
                                   struct vbs_data_file *file) VBS_MUST_CHECK;

/* Closes a file; one that is not open is allowed. */
void vbs_data_file_close(struct vbs_data_file *file);

/* Reads at most size bytes; *n_read is below size only at the file's end. VBS_IO; VBS_FORMAT: the
 * compressed data are damaged. */
enum vbs_status vbs_data_file_some(struct vbs_data_file *file, void *bytes, size_t size,
                                   size_t *n_read) VBS_MUST_CHECK;

/* Reads size bytes. VBS_FORMAT: the file ends before; what names the bytes in the message. */
enum vbs_status vbs_data_file_read(struct vbs_data_file *file, void *bytes, size_t size,
                                   const char *what) VBS_MUST_CHECK;

/* Checks that `whole` bytes are all that a file has which is not compressed, so that nothing has to
 * be allocated for what is not there. VBS_FORMAT. */
enum vbs_status vbs_data_file_measure(struct vbs_data_file *file, int64_t whole) VBS_MUST_CHECK;

/* Checks that the file ends here, and where it is compressed, its checksum. VBS_FORMAT. */
enum vbs_status vbs_data_file_end(struct vbs_data_file *file) VBS_MUST_CHECK;

#endif
