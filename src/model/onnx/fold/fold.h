/* Handlers of ONNX operators whose inputs are all constants, and the numbers with which they
 * compute. Errors are those of import.h. */
#ifndef VBS_MODEL_ONNX_FOLD_FOLD_H
#define VBS_MODEL_ONNX_FOLD_FOLD_H

#include "model/onnx/operators/operators.h"

/* ---- numbers ---- */

/* Computes a op b in numbers of a TensorProto.DataType. Whole numbers are exact and keep their
 * lowest bits where they overflow; other results are not yet rounded. */
long double vbs_onnx_combined(int op, int type, long double a, long double b);

/* ---- shapes ---- */

/* Returns the n dimensions of input 0 in the file; number *batch is that of the samples, a multiple
 * of VBS_ONNX_OPEN_BATCH, else *batch is -1. dims: VBS_MAX_DIMS + 1. */
void vbs_onnx_dims_of(const struct vbs_onnx_import *im, int64_t *dims, int *batch, int *n);

/* ---- handlers ---- */

/* The bits of fold_random. */
#define VBS_ONNX_NORMAL 1
#define VBS_ONNX_LIKE   2

VBS_ONNX_HANDLER(fold_unary);
VBS_ONNX_HANDLER(fold_pair);
VBS_ONNX_HANDLER(fold_where);
VBS_ONNX_HANDLER(fold_cast);
VBS_ONNX_HANDLER(fold_constant);
VBS_ONNX_HANDLER(fold_constant_of_shape);
VBS_ONNX_HANDLER(fold_range);
VBS_ONNX_HANDLER(fold_random); /* tensors too; op: bits */
VBS_ONNX_HANDLER(fold_shape);  /* tensors too */
VBS_ONNX_HANDLER(fold_size);
VBS_ONNX_HANDLER(fold_concat);
VBS_ONNX_HANDLER(fold_gather);
VBS_ONNX_HANDLER(fold_reduce);
VBS_ONNX_HANDLER(fold_is_inf);
VBS_ONNX_HANDLER(fold_clip);
VBS_ONNX_HANDLER(fold_batch_norm);
VBS_ONNX_HANDLER(fold_resize);
VBS_ONNX_HANDLER(fold_grid_sample);
VBS_ONNX_HANDLER(fold_dft);
VBS_ONNX_HANDLER(fold_stft);
VBS_ONNX_HANDLER(fold_window); /* op: the window */
VBS_ONNX_HANDLER(fold_softmax);
VBS_ONNX_HANDLER(fold_layer_norm);
VBS_ONNX_HANDLER(fold_lp_norm);
VBS_ONNX_HANDLER(fold_conv);
VBS_ONNX_HANDLER(fold_deform_conv);
VBS_ONNX_HANDLER(fold_einsum);
VBS_ONNX_HANDLER(fold_matmul);
VBS_ONNX_HANDLER(fold_gemm);
VBS_ONNX_HANDLER(fold_cum_sum);
VBS_ONNX_HANDLER(fold_arg);
VBS_ONNX_HANDLER(fold_top_k);
VBS_ONNX_HANDLER(fold_hardmax);
VBS_ONNX_HANDLER(fold_gather_elements);
VBS_ONNX_HANDLER(fold_gather_nd);
VBS_ONNX_HANDLER(fold_reverse_sequence);
VBS_ONNX_HANDLER(fold_scatter_elements);
VBS_ONNX_HANDLER(fold_scatter_nd);
VBS_ONNX_HANDLER(fold_non_zero);
VBS_ONNX_HANDLER(fold_one_hot);
VBS_ONNX_HANDLER(fold_tile);
VBS_ONNX_HANDLER(fold_pad);
VBS_ONNX_HANDLER(fold_trilu);
VBS_ONNX_HANDLER(fold_eye_like);

#endif
