/* Shapes: what an operator makes of its inputs, and how much it has to keep and to do. */
#ifndef VBS_MODEL_NETWORK_SHAPE_H
#define VBS_MODEL_NETWORK_SHAPE_H

#include "vbslab/model.h"

/* Spatial dimensions of a shape: 0 for [C] up to 3 for [C, D, H, W]. */
int vbs_shape_n_spatial(const struct vbs_shape *shape);

/* Has 1 to 4 dimensions, all above 0, within the limits of model.h. */
bool vbs_shape_valid(const struct vbs_shape *shape);

bool vbs_shape_equal(const struct vbs_shape *a, const struct vbs_shape *b);

/*
 * The output's shape of op on inputs; operand: of its constant operand, n_dims 0 without one.
 * attributes must have kernel, stride, dilation and pads for every spatial dimension where op has a
 * window; pad_high of pools is set to what the windows need.
 * round_up: windows that begin inside the input (with its low padding) but do not fit whole count
 * too, as in Caffe's pools. VBS_FORMAT says what does not fit.
 */
enum vbs_status vbs_shape_infer(struct vbs_ctx *ctx, enum vbs_op op, const struct vbs_shape *inputs,
                                int n_inputs, const struct vbs_shape *operand, bool round_up,
                                struct vbs_attributes *attributes,
                                struct vbs_shape *output) VBS_MUST_CHECK;

/* Parameters of op and its multiply-accumulates per sample, for the shapes of its first input and
 * its output. VBS_FORMAT when there are more than VBS_MAX_ELEMENTS or VBS_MAX_MACS. */
enum vbs_status vbs_shape_work(struct vbs_ctx *ctx, enum vbs_op op,
                               const struct vbs_attributes *attributes,
                               const struct vbs_shape *input, const struct vbs_shape *operand,
                               const struct vbs_shape *output, int64_t *parameters,
                               int64_t *macs) VBS_MUST_CHECK;

#endif
