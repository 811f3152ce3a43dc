/*
 * Arrays in files of numpy's format .npy, as 32-bit floats. Internal to the program and its tests.
 *
 * Format (numpy.lib.format): "\x93NUMPY", a byte each for the major and minor version, the length
 * of the header (2 bytes little-endian in version 1, 4 in 2 and 3), the header, the values. The
 * header is a Python literal, {'descr': '<f4', 'fortran_order': False, 'shape': (12, 3, 224, 224),
 * }.
 */
#ifndef VBS_BASE_NPY_H
#define VBS_BASE_NPY_H

#include "vbslab/status.h"

#include <stddef.h>
#include <stdint.h>

#define VBS_NPY_MAX_DIMS 32 /* as numpy's */

/* An array in C order; of no dimensions it has one value. */
struct vbs_npy {
    int n_dims;
    int64_t dim[VBS_NPY_MAX_DIMS]; /* 0 or more */
    int64_t n_values;
    float *values; /* [n_values], owned; null where there are none */
};

/*
 * Reads an array ("-": standard input) of at most limit values. 32-bit and 64-bit floats of either
 * byte order are read, in C or Fortran order; a double that is no float is rounded to one, or
 * becomes infinite. Versions 1 to 3. VBS_FORMAT names what is wrong, other types too; VBS_IO,
 * VBS_NO_MEMORY. *npy is cleared by vbs_npy_clear. O(values x dimensions).
 */
enum vbs_status vbs_npy_read(struct vbs_ctx *ctx, const char *path, int64_t limit,
                             struct vbs_npy *npy) VBS_MUST_CHECK;

/* The same from memory; source names it in messages. */
enum vbs_status vbs_npy_parse(struct vbs_ctx *ctx, const char *source, const char *data,
                              size_t length, int64_t limit, struct vbs_npy *npy) VBS_MUST_CHECK;

void vbs_npy_clear(struct vbs_npy *npy);

/* Writes values in C order, version 1, whole or not at all ("-": standard output). VBS_IO,
 * VBS_NO_MEMORY. */
enum vbs_status vbs_npy_write(struct vbs_ctx *ctx, const char *path, int n_dims, const int64_t *dim,
                              const float *values) VBS_MUST_CHECK;

/* "12x3x224x224", "one value" of no dimensions; cut where buffer is too short. Returns buffer. */
char *vbs_npy_shape(int n_dims, const int64_t *dim, char *buffer, size_t size);

#endif
