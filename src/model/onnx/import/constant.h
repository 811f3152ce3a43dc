/*
 * Constants of an ONNX graph: tensors whose values do not depend on the network's input. Large ones
 * stay in the file while they are reshaped, transposed and sliced, which changes their strides
 * only. Small ones (shapes, axes, scales) can also be read as numbers and computed with.
 */
#ifndef VBS_MODEL_ONNX_IMPORT_CONSTANT_H
#define VBS_MODEL_ONNX_IMPORT_CONSTANT_H

#include "model/network/network.h"
#include "model/onnx/import/types.h"

struct vbs_onnx_import;

/* Limits of the numbers that are made for one constant; of those that are made for all constants of
 * a file; and of those that are read, which costs time but no memory. */
#define VBS_ONNX_MAX_NUMBERS     (1 << 21)
#define VBS_ONNX_MAX_ALL_NUMBERS (1 << 24)
#define VBS_ONNX_MAX_ALL_READ    (1 << 26)

/* Limit of the floats that are made for all constants of a file. */
#define VBS_ONNX_MAX_ALL_FLOATS (1 << 28)

struct vbs_onnx_number {
    long double value;
    bool batch; /* computed from the number of samples, which is not known, or as `own` says */
    /* Not 0: the number is value + own * the position of the sample among all. */
    int64_t own;
};

/* Stands for the unknown number of samples. No dimension is as large. */
#define VBS_ONNX_OPEN_BATCH ((int64_t)VBS_MAX_DIM + 2)

struct vbs_onnx_constant {
    const char *name;
    int type;                     /* of TensorProto.DataType */
    struct vbs_shape shape;       /* n_dims 0: a scalar; dimensions may be 0 */
    int64_t stride[VBS_MAX_DIMS]; /* between stored elements */
    struct vbs_values values;     /* where they are stored; without strides and factor */
    /* Row-major in shape; null: not read yet. Where computed is set, no file has these values. */
    const struct vbs_onnx_number *numbers;
    bool computed;
    /* 0: none; else 1 + the dimension that counts the samples too: the file has as many entries of
     * it for each sample, the same for all, and only the entries of one sample are kept. */
    int copies;
};

/* ---- copies for each sample ----
 *
 * A handler that makes constants sets im->copies, by these functions or itself.
 */

/* The outputs have the copies of input index in the same dimension; the other inputs may have none.
 */
void vbs_onnx_same_copies(struct vbs_onnx_import *im, int index);

/* The inputs have been broadcast to a constant of this rank, in which the copies of all that have
 * any count the same dimension. */
void vbs_onnx_broadcast_copies(struct vbs_onnx_import *im, int rank);

/* Fails with vbs_onnx_counts where a constant has copies along a dimension of the bits axes. */
enum vbs_status vbs_onnx_check_copies(struct vbs_onnx_import *im,
                                      const struct vbs_onnx_constant *constant,
                                      unsigned axes) VBS_MUST_CHECK;

/* Makes a constant of numbers, which are kept as they are and belong to im's arena. */
enum vbs_status vbs_onnx_constant_new(struct vbs_onnx_import *im, int type,
                                      const struct vbs_shape *shape,
                                      const struct vbs_onnx_number *numbers,
                                      struct vbs_onnx_constant **constant) VBS_MUST_CHECK;

/* Allocates the numbers of a constant of count elements; VBS_UNSUPPORTED above the limits. */
enum vbs_status vbs_onnx_numbers_new(struct vbs_onnx_import *im, int64_t count,
                                     struct vbs_onnx_number **numbers) VBS_MUST_CHECK;

/* Counts count numbers that are about to be read; VBS_UNSUPPORTED above the limit. */
enum vbs_status vbs_onnx_numbers_read(struct vbs_onnx_import *im, int64_t count) VBS_MUST_CHECK;

/* Gives the numbers of a constant, which belong to it. VBS_UNSUPPORTED: they are too many; VBS_IO.
 */
enum vbs_status vbs_onnx_numbers(struct vbs_onnx_import *im, struct vbs_onnx_constant *constant,
                                 const struct vbs_onnx_number **numbers) VBS_MUST_CHECK;

/* Advances position, of shape.n_dims numbers, to the next one of shape in row-major order, and *at
 * by the strides; after the last position, to the first. */
void vbs_onnx_advance(const struct vbs_shape *shape, const int64_t *stride, int64_t *position,
                      int64_t *at);

/* Gives the integer of 64 bits that is nearest to value; 0 for NaN. */
int64_t vbs_onnx_clamp(long double value);

/* Gives whether the elements of a constant are stored one after the other in row-major order. */
bool vbs_onnx_is_stored(const struct vbs_onnx_constant *constant);

/* Gives a view of the first entry of dimension d, where all entries of it are equal; null: they are
 * not, or are too many to look at. */
enum vbs_status vbs_onnx_constant_copy(struct vbs_onnx_import *im,
                                       struct vbs_onnx_constant *constant, int d,
                                       struct vbs_onnx_constant **one) VBS_MUST_CHECK;

/* Makes a constant of 32-bit floats, of any shape, with the name and type of another one. The
 * caller sets the values, which live as long as the network. VBS_UNSUPPORTED: they are too many. */
enum vbs_status vbs_onnx_floats_new(struct vbs_onnx_import *im,
                                    const struct vbs_onnx_constant *like,
                                    const struct vbs_shape *shape,
                                    struct vbs_onnx_constant **constant,
                                    float **floats) VBS_MUST_CHECK;

/* Returns whether a constant of count elements, which is computed of the inputs of the node, is
 * computed as floats, which take less memory than numbers: one of floats with many elements, unless
 * an input depends on the number of samples, or any with more than numbers may have. */
bool vbs_onnx_is_many(const struct vbs_onnx_import *im, int type, int64_t count);

/* Rounds a value of a constant that is computed as floats to its type. VBS_UNSUPPORTED: it is a
 * whole number that floats may not have. */
enum vbs_status vbs_onnx_round_many(struct vbs_onnx_import *im, int type, long double value,
                                    float *rounded) VBS_MUST_CHECK;

/* Reads a constant of any size as floats, in row-major order; values may be infinite or no numbers.
 * VBS_UNSUPPORTED: a whole number is one that floats may not have; VBS_IO. */
enum vbs_status vbs_onnx_floats_read(struct vbs_onnx_import *im, struct vbs_onnx_constant *constant,
                                     float *floats) VBS_MUST_CHECK;

/* Gives a constant that is computed and has the numbers of this one. */
enum vbs_status vbs_onnx_constant_compute(struct vbs_onnx_import *im,
                                          struct vbs_onnx_constant *constant,
                                          struct vbs_onnx_constant **computed) VBS_MUST_CHECK;

/* Gives a view of a constant: a constant of another shape whose element i is stored element offset
 * + i * stride (by dimension) of this one. The stored elements of a constant that is computed are
 * its numbers, and only there may a stride be negative. */
enum vbs_status vbs_onnx_constant_view(struct vbs_onnx_import *im,
                                       struct vbs_onnx_constant *constant,
                                       const struct vbs_shape *shape, const int64_t *stride,
                                       int64_t offset,
                                       struct vbs_onnx_constant **view) VBS_MUST_CHECK;

/* Gives a view of another shape with as many elements in the same row-major order. */
enum vbs_status vbs_onnx_constant_reshape(struct vbs_onnx_import *im,
                                          struct vbs_onnx_constant *constant,
                                          const struct vbs_shape *shape,
                                          struct vbs_onnx_constant **view) VBS_MUST_CHECK;

/* Gives a view that repeats the values along dimensions of 1 and along new dimensions in front, as
 * numpy broadcasts. VBS_FORMAT: the shapes do not fit. */
enum vbs_status vbs_onnx_constant_expand(struct vbs_onnx_import *im,
                                         struct vbs_onnx_constant *constant,
                                         const struct vbs_shape *shape,
                                         struct vbs_onnx_constant **view) VBS_MUST_CHECK;

/* Gives a view whose dimension i is dimension perm[i] of the constant. */
enum vbs_status vbs_onnx_constant_transpose(struct vbs_onnx_import *im,
                                            struct vbs_onnx_constant *constant, const int *perm,
                                            struct vbs_onnx_constant **view) VBS_MUST_CHECK;

/* Gives a constant as values for a parameter of a layer, which live as long as the source; where
 * factor is not 0 they are multiplied by it. */
enum vbs_status vbs_onnx_parameter(struct vbs_onnx_import *im, struct vbs_onnx_constant *constant,
                                   double factor, const struct vbs_values **values) VBS_MUST_CHECK;

/* Gives the value of a constant of one element. VBS_FORMAT: it has more, or the value is
 * not finite. */
enum vbs_status vbs_onnx_scalar(struct vbs_onnx_import *im, struct vbs_onnx_constant *constant,
                                double *value) VBS_MUST_CHECK;

/* Gives the values of a constant of at most `most` whole numbers; a number beyond 64 bits becomes
 * the nearest one of 64 bits. */
enum vbs_status vbs_onnx_whole_numbers(struct vbs_onnx_import *im,
                                       struct vbs_onnx_constant *constant, int most,
                                       int64_t *values, int *n) VBS_MUST_CHECK;

/* Gives input index of the node, which must be a constant, and its numbers. */
enum vbs_status vbs_onnx_numbers_in(struct vbs_onnx_import *im, int index,
                                    struct vbs_onnx_constant **constant,
                                    const struct vbs_onnx_number **numbers) VBS_MUST_CHECK;

/* Does the same, and fails as vbs_onnx_counts does where a number is computed from the number of
 * samples: for operators whose results do not say so. */
enum vbs_status vbs_onnx_known_in(struct vbs_onnx_import *im, int index,
                                  struct vbs_onnx_constant **constant,
                                  const struct vbs_onnx_number **numbers) VBS_MUST_CHECK;

/* Makes a constant of these numbers, which becomes output 0 of the node. */
enum vbs_status vbs_onnx_give_numbers(struct vbs_onnx_import *im, int type,
                                      const struct vbs_shape *shape,
                                      const struct vbs_onnx_number *numbers) VBS_MUST_CHECK;

#endif
