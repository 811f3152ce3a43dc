/*
 * vbslab/npy.h - arrays in files of numpy's format .npy, as 32-bit floats: the inputs and outputs
 * of runs (exec.h).
 *
 * The format (numpy.lib.format): "\x93NUMPY", a byte each for the major and the minor version, the
 * length of the header (2 bytes little-endian in version 1, 4 in 2 and 3), the header, the values.
 * The header is a Python literal, {'descr': '<f4', 'fortran_order': False, 'shape': (12, 3, 224,
 * 224), }.
 *
 * Threads: the calls share nothing but the context; an array may be read by any number of threads.
 */
#ifndef VBSLAB_NPY_H
#define VBSLAB_NPY_H

#include "vbslab/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_NPY_MAX_DIMS 32 /* as numpy's */

#define VBS_NPY_MAX_WHOLE (1 << 24)

/* An array in C order; of no dimensions it has one value. Begin with {0}. */
struct vbs_npy {
    int n_dims;
    int64_t dim[VBS_NPY_MAX_DIMS]; /* 0 or more */
    int64_t n_values;
    float *values; /* [n_values], owned by the array; null where there are none or none are read */
};

/*
 * Reads an array from the file at path ("-": standard input) of at most limit values. Floats of 16,
 * 32 and 64 bits, whole numbers of 8 to 64 bits and bools are read, of either byte order, in C or
 * Fortran order; a double that is no float is rounded to one, or becomes infinite, and a whole
 * number beyond VBS_NPY_MAX_WHOLE, which a float may not hold, is refused. Versions 1 to 3 of the
 * format. VBS_FORMAT names the fault, such as another type; VBS_IO, VBS_NO_MEMORY. vbs_npy_clear
 * frees what *npy owns. O(values x dimensions).
 */
enum vbs_status vbs_npy_read(struct vbs_ctx *ctx, const char *path, int64_t limit,
                             struct vbs_npy *npy) VBS_MUST_CHECK;

/*
 * Reads the dimensions of the array in the file at path, and none of its values: n_values is their
 * number, values is null. The length of the file is compared with them. Errors as of vbs_npy_read,
 * but a whole number that is too large is not found; VBS_UNSUPPORTED: path is "-" or no regular
 * file, such as a pipe, which could not be read again; nothing is read of it. O(1).
 */
enum vbs_status vbs_npy_read_shape(struct vbs_ctx *ctx, const char *path, int64_t limit,
                                   struct vbs_npy *npy) VBS_MUST_CHECK;

/* Reads an array from length bytes at data; source names them in messages. */
enum vbs_status vbs_npy_parse(struct vbs_ctx *ctx, const char *source, const char *data,
                              size_t length, int64_t limit, struct vbs_npy *npy) VBS_MUST_CHECK;

/* Frees the values of an array, which is empty then; null is allowed. */
void vbs_npy_clear(struct vbs_npy *npy);

/* Writes the values of an array of n_dims dimensions in C order, as version 1 of the format, whole
 * or not at all ("-": standard output). VBS_USAGE (more than VBS_NPY_MAX_DIMS dimensions, or one
 * below 0), VBS_IO, VBS_NO_MEMORY. */
enum vbs_status vbs_npy_write(struct vbs_ctx *ctx, const char *path, int n_dims, const int64_t *dim,
                              const float *values) VBS_MUST_CHECK;

/* Writes a shape as "12x3x224x224", or "one value" where there are no dimensions, into buffer, cut
 * where size bytes are too few. Returns buffer. */
char *vbs_npy_shape(int n_dims, const int64_t *dim, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
