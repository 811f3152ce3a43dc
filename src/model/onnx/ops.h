/* Handlers of ONNX operators, and what they share. */
#ifndef VBS_MODEL_ONNX_OPS_H
#define VBS_MODEL_ONNX_OPS_H

#include "model/onnx/import.h"

/* Every operator of ONNX that can be imported, ascending by name; a null name ends the list. */
extern const struct vbs_onnx_operator vbs_onnx_operators[];
extern const int vbs_onnx_n_operators;

/* Operators that are computed on constants only, beside those of enum vbs_op. */
enum {
    VBS_FOLD_NOT = VBS_N_OPS,
    VBS_FOLD_MOD,
    VBS_FOLD_EQUAL, /* from here on the result is true or false */
    VBS_FOLD_LESS,
    VBS_FOLD_LESS_EQUAL,
    VBS_FOLD_GREATER,
    VBS_FOLD_GREATER_EQUAL,
    VBS_FOLD_AND,
    VBS_FOLD_OR,
    VBS_FOLD_XOR
};

/* ---- shapes that files ask for ---- */

/* Input index as a shape of *n values of at most VBS_MAX_DIMS + 1. Of the number of samples only
 * the first value may be made, and be nothing but that: *batch_first. */
enum vbs_status vbs_onnx_target(struct vbs_onnx_import *im, int index, int64_t *values,
                                bool *batch_first, int *n) VBS_MUST_CHECK;

/* values as the shape of a constant; an open batch is 1: it is the same for all samples. */
enum vbs_status vbs_onnx_constant_shape(struct vbs_onnx_import *im, const int64_t *values, int n,
                                        bool batch_first, struct vbs_shape *shape) VBS_MUST_CHECK;

/* A whole-number list from input index (from opset 'since' on) or from the attribute of that name;
 * *given tells whether it is there. */
enum vbs_status vbs_onnx_list(struct vbs_onnx_import *im, const char *name, int index, int since,
                              int most, int64_t *values, int *n, bool *given) VBS_MUST_CHECK;

/* state with dimension i of its shape taken from perm[i]; result: a state of no value. */
enum vbs_status vbs_onnx_permute(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                 const int *perm, struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* ---- reductions ---- */

/* The axes (bits of dimensions of shape) and keepdims of a Reduce node on a value of that shape,
 * which is a sample's or (batch false) the file's. */
enum vbs_status vbs_onnx_reduced(struct vbs_onnx_import *im, const struct vbs_shape *shape,
                                 bool batch, unsigned *axes, bool *keep) VBS_MUST_CHECK;

/* shape with 1 at axes, and as the node gives it. */
void vbs_onnx_reduced_shapes(const struct vbs_shape *shape, unsigned axes, bool keep,
                             struct vbs_shape *kept, struct vbs_shape *given);

/* ---- operands ---- */

/* Widens shape to what it and other broadcast to; VBS_FORMAT. Dimensions may be 0. */
enum vbs_status vbs_onnx_broadcast(struct vbs_onnx_import *im, const struct vbs_shape *other,
                                   struct vbs_shape *shape) VBS_MUST_CHECK;

/* constant as it meets tensors in this mode: in batch mode without a dimension of samples, along
 * which it must be 1. rank: dimensions in the file of what it meets. */
enum vbs_status vbs_onnx_align(struct vbs_onnx_import *im, struct vbs_onnx_constant *constant,
                               int rank, struct vbs_onnx_constant **aligned) VBS_MUST_CHECK;

/* Weights of a layer; null, seeded, where the file has none. */
enum vbs_status vbs_onnx_weights(struct vbs_onnx_import *im, struct vbs_onnx_constant *constant,
                                 double factor, const struct vbs_values **values) VBS_MUST_CHECK;

/* Input index as a vector of count weights, in node->values[what] of draft. */
enum vbs_status vbs_onnx_vector(struct vbs_onnx_import *im, int index, int64_t count,
                                enum vbs_parameter what,
                                struct vbs_onnx_draft *draft) VBS_MUST_CHECK;

/* a op b, where at least one is a tensor; result: a state of no value. */
enum vbs_status vbs_onnx_combine(struct vbs_onnx_import *im, enum vbs_op op,
                                 const struct vbs_onnx_state *a, const struct vbs_onnx_state *b,
                                 struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* x op constant (swapped: constant op x), which is aligned. */
enum vbs_status vbs_onnx_operand(struct vbs_onnx_import *im, enum vbs_op op,
                                 const struct vbs_onnx_state *x, struct vbs_onnx_constant *constant,
                                 bool swapped, struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* One value as a parameter. Null: out of memory. */
const struct vbs_values *vbs_onnx_fill(struct vbs_onnx_import *im, double value);

/* alpha x + beta on a state; x itself where that is nothing. */
enum vbs_status vbs_onnx_linear(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                double alpha, double beta,
                                struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* What multiplications are of: x * sigmoid(x) and the like as one operator; *found tells. */
enum vbs_status vbs_onnx_gate(struct vbs_onnx_import *im, const struct vbs_onnx_state *a,
                              const struct vbs_onnx_state *b, bool *found,
                              struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* Reduces state's tensor over axes (bits of its shape), which stay as 1. */
enum vbs_status vbs_onnx_reduce_state(struct vbs_onnx_import *im, enum vbs_op op,
                                      const struct vbs_onnx_state *state, unsigned axes,
                                      struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* ---- handlers ---- */

VBS_ONNX_HANDLER(fold_unary);
VBS_ONNX_HANDLER(fold_pair);
VBS_ONNX_HANDLER(fold_where);
VBS_ONNX_HANDLER(fold_cast);
VBS_ONNX_HANDLER(fold_constant);
VBS_ONNX_HANDLER(fold_constant_of_shape);
VBS_ONNX_HANDLER(fold_range);
VBS_ONNX_HANDLER(fold_shape); /* of tensors too */
VBS_ONNX_HANDLER(fold_size);
VBS_ONNX_HANDLER(fold_concat);
VBS_ONNX_HANDLER(fold_gather);
VBS_ONNX_HANDLER(fold_reduce);

/* Of constants and tensors alike. */
VBS_ONNX_HANDLER(reshape);
VBS_ONNX_HANDLER(flatten);
VBS_ONNX_HANDLER(squeeze);
VBS_ONNX_HANDLER(unsqueeze);
VBS_ONNX_HANDLER(identity);
VBS_ONNX_HANDLER(transpose);
VBS_ONNX_HANDLER(slice);
VBS_ONNX_HANDLER(split);
VBS_ONNX_HANDLER(expand);

VBS_ONNX_HANDLER(dropout);
VBS_ONNX_HANDLER(cast);
VBS_ONNX_HANDLER(space_depth);
VBS_ONNX_HANDLER(concat);
VBS_ONNX_HANDLER(pad);
VBS_ONNX_HANDLER(gather);
VBS_ONNX_HANDLER(tile);
VBS_ONNX_HANDLER(resize);

VBS_ONNX_HANDLER(conv);
VBS_ONNX_HANDLER(conv_transpose);
VBS_ONNX_HANDLER(pool);
VBS_ONNX_HANDLER(global_pool);
VBS_ONNX_HANDLER(global_lp_pool);
VBS_ONNX_HANDLER(lrn);
VBS_ONNX_HANDLER(batch_norm);
VBS_ONNX_HANDLER(instance_norm);
VBS_ONNX_HANDLER(group_norm);
VBS_ONNX_HANDLER(layer_norm);
VBS_ONNX_HANDLER(mean_variance_norm);
VBS_ONNX_HANDLER(gemm);
VBS_ONNX_HANDLER(matmul);
VBS_ONNX_HANDLER(softmax);
VBS_ONNX_HANDLER(unary);
VBS_ONNX_HANDLER(clip);
VBS_ONNX_HANDLER(pair);
VBS_ONNX_HANDLER(sum);
VBS_ONNX_HANDLER(prelu);
VBS_ONNX_HANDLER(reduce);

#endif
