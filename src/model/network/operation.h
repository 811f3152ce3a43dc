/* An operation: an operator on shapes that are known, the shape of its output (infer.c), and its
 * work (work.c). */
#ifndef VBS_MODEL_NETWORK_OPERATION_H
#define VBS_MODEL_NETWORK_OPERATION_H

#include "model/network/shape.h"

/* An operator and the shapes that it reads. */
struct vbs_operation {
    enum vbs_op op;
    int n_inputs;                    /* at least 1 */
    const struct vbs_shape *inputs;  /* [n_inputs] */
    const struct vbs_shape *operand; /* of the constant operand; n_dims 0: there is none */
    /* A window of a pool that begins inside the input (with its low padding) but does not fit whole
     * counts too, as in Caffe. Without a meaning for other operators. */
    bool round_up;
};

/* ---- infer.c ---- */

/*
 * Computes the shape of the output of an operation. attributes must have kernel, stride, dilation
 * and pads for every spatial dimension where the operator has windows; pad_high of a pool is set to
 * the padding that its windows need. VBS_FORMAT names what does not fit.
 */
enum vbs_status vbs_operation_shape(struct vbs_ctx *ctx, const struct vbs_operation *operation,
                                    union vbs_attributes *attributes,
                                    struct vbs_shape *output) VBS_MUST_CHECK;

/* ---- work.c ---- */

/* Computes the parameters of an operation and its multiply-accumulates per sample. VBS_FORMAT when
 * there are more than VBS_MAX_ELEMENTS or VBS_MAX_MACS. */
enum vbs_status vbs_operation_work(struct vbs_ctx *ctx, const struct vbs_operation *operation,
                                   const union vbs_attributes *attributes,
                                   const struct vbs_shape *output, int64_t *parameters,
                                   int64_t *macs) VBS_MUST_CHECK;

#endif
