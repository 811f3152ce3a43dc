/*
 * The grids of quantised tensors: which float each whole number stands for. Tensors of whole
 * numbers are tensors of floats that have these numbers as values. Constants of whole numbers stay
 * where they are stored and are converted while they are read.
 */
#ifndef VBS_MODEL_ONNX_OPERATORS_GRID_H
#define VBS_MODEL_ONNX_OPERATORS_GRID_H

#include "model/onnx/import/import.h"

/* Number q stands for (q - zero) * scale, with one scale and one zero for all, for each position
 * along an axis, or for each block of positions. Either may be a tensor of one element for each
 * sample, which DynamicQuantizeLinear computes. */
struct vbs_onnx_grid {
    struct vbs_onnx_constant *scale, *zero; /* null where all are 1, or 0 */
    const struct vbs_onnx_number *scales, *zeros;
    int64_t n_scales, n_zeros;
    struct vbs_onnx_tensor *moving_scale, *moving_zero; /* or null */
    int64_t axis;                                       /* of the file; below 0 from the end */
    int64_t block;                                      /* positions of a block; 0: no blocks */
    int type;                                           /* of the whole numbers */
};

/* Reads a grid from two inputs, of which the second one may be left out; scale below 0: all scales
 * are 1. missing: the type where there is no zero. */
enum vbs_status vbs_onnx_grid_read(struct vbs_onnx_import *im, int scale, int zero, int missing,
                                   struct vbs_onnx_grid *grid) VBS_MUST_CHECK;

/* Gives the scale and the zero of a position along the axis. */
double vbs_onnx_grid_scale(const struct vbs_onnx_grid *grid, int64_t at);
double vbs_onnx_grid_zero(const struct vbs_onnx_grid *grid, int64_t at);

/* Computes the whole numbers of x, and the floats for which those of x stand. *result belongs to no
 * value. */
enum vbs_status vbs_onnx_quantise(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                  const struct vbs_onnx_grid *grid,
                                  struct vbs_onnx_state *result) VBS_MUST_CHECK;
enum vbs_status vbs_onnx_dequantise(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                    const struct vbs_onnx_grid *grid,
                                    struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* Computes the whole numbers of a constant, and makes the constant of the floats for which one
 * stands. */
enum vbs_status vbs_onnx_quantise_constant(struct vbs_onnx_import *im,
                                           struct vbs_onnx_constant *input,
                                           const struct vbs_onnx_grid *grid,
                                           struct vbs_onnx_constant **made) VBS_MUST_CHECK;
enum vbs_status vbs_onnx_dequantise_constant(struct vbs_onnx_import *im,
                                             struct vbs_onnx_constant *input,
                                             const struct vbs_onnx_grid *grid,
                                             struct vbs_onnx_constant **made) VBS_MUST_CHECK;

/* Makes the constant of the floats for which one stands; places says what each of its elements, in
 * row-major order, stands for, and must live as long as the network. */
enum vbs_status vbs_onnx_dequantise_by(struct vbs_onnx_import *im, struct vbs_onnx_constant *input,
                                       struct vbs_grid *places,
                                       struct vbs_onnx_constant **made) VBS_MUST_CHECK;

/* Gives the floats of an input that is a tensor or a constant. */
enum vbs_status vbs_onnx_dequantise_in(struct vbs_onnx_import *im, int index,
                                       const struct vbs_onnx_grid *grid,
                                       struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* Makes floats of a bias of whole numbers, input index, whose scale is factor times that of the
 * input times that of the weights; no constant where it is left out. */
enum vbs_status vbs_onnx_whole_bias(struct vbs_onnx_import *im, int index,
                                    const struct vbs_onnx_grid *input,
                                    const struct vbs_onnx_grid *weights, double factor,
                                    struct vbs_onnx_state *bias) VBS_MUST_CHECK;

/* Multiplies x by a scale that is a tensor; x itself where moving is null. */
enum vbs_status vbs_onnx_times_moving(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                      struct vbs_onnx_tensor *moving,
                                      struct vbs_onnx_state *result) VBS_MUST_CHECK;

#endif
