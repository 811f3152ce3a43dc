/* The header of files of numpy's format .npy (npy.h). Internal to the library. */
#ifndef VBS_BASE_NPY_HEADER_H
#define VBS_BASE_NPY_HEADER_H

#include "vbslab/npy.h"

#include <stdbool.h>
#include <stddef.h>

#define VBS_NPY_MAGIC      "\x93NUMPY"
#define VBS_NPY_MAGIC_SIZE 6
#define VBS_NPY_PREFIX     12 /* bytes that tell how long the header is */
#define VBS_NPY_MAX_HEADER                                                                         \
    (65536 +                                                                                       \
     VBS_NPY_PREFIX) /* bytes before the values; numpy's own limit for untrusted files is lower */
#define VBS_NPY_MAX_TEXT 64 /* bytes of a text in a header, with its end */

/* The contents of a header. */
struct vbs_npy_header {
    char type[VBS_NPY_MAX_TEXT]; /* such as "<f4": the order of bytes, then kind and size */
    bool fortran;                /* the first dimension varies fastest */
    int n_dims;
    int64_t dim[VBS_NPY_MAX_DIMS]; /* 0 or more */
    size_t n_bytes;                /* of magic, lengths and header: the values follow */
};

/* Gives in *n_bytes where the values of a file begin, whose first length bytes are at data: at
 * least VBS_NPY_PREFIX of them, or the whole file. source names the file in messages. VBS_FORMAT.
 */
enum vbs_status vbs_npy_find_values(struct vbs_ctx *ctx, const char *source, const char *data,
                                    size_t length, size_t *n_bytes) VBS_MUST_CHECK;

/* Reads the header of a file, whose first length bytes are at data. VBS_FORMAT: it is none, or does
 * not end within them. */
enum vbs_status vbs_npy_read_header(struct vbs_ctx *ctx, const char *source, const char *data,
                                    size_t length, struct vbs_npy_header *header) VBS_MUST_CHECK;

/* Gives whether the bytes of values of a type, such as "<f4", are in the other order than this
 * machine's. */
bool vbs_npy_is_swapped(const char *type);

#endif
