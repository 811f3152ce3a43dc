/* Handlers of ONNX operators, and the functions that they share. Errors are those of import.h. */
#ifndef VBS_MODEL_ONNX_OPERATORS_H
#define VBS_MODEL_ONNX_OPERATORS_H

#include "model/onnx/import.h"

/* Every operator of ONNX that can be imported, ascending by name; a null name ends the list. */
extern const struct vbs_onnx_operator vbs_onnx_operators[];
extern const int vbs_onnx_n_operators;

/* Operators that work on constants only; they continue enum vbs_op. */
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

/* Reads input index as a shape of *n <= VBS_MAX_DIMS + 1 values. The first value alone may depend
 * on the number of samples, and must then be equal to it: *batch_first is true. */
enum vbs_status vbs_onnx_target(struct vbs_onnx_import *im, int index, int64_t *values,
                                bool *batch_first, int *n) VBS_MUST_CHECK;

/* Makes values the shape of a constant. An open batch becomes 1, because a constant is the same for
 * all samples. */
enum vbs_status vbs_onnx_constant_shape(struct vbs_onnx_import *im, const int64_t *values, int n,
                                        bool batch_first, struct vbs_shape *shape) VBS_MUST_CHECK;

/* Reads a list of whole numbers from input index (from opset since on) or from the attribute name;
 * *given tells whether the node has it. */
enum vbs_status vbs_onnx_list(struct vbs_onnx_import *im, const char *name, int index, int since,
                              int most, int64_t *values, int *n, bool *given) VBS_MUST_CHECK;

/* Transposes state: dimension i of *result is dimension perm[i]. *result belongs to no value. */
enum vbs_status vbs_onnx_permute(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                 const int *perm, struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* ---- reductions ---- */

/* Reads the axes (one bit for each dimension of shape) and keepdims of a Reduce node on a value of
 * this shape, which is that of a sample (batch) or that of the file. */
enum vbs_status vbs_onnx_reduced(struct vbs_onnx_import *im, const struct vbs_shape *shape,
                                 bool batch, unsigned *axes, bool *keep) VBS_MUST_CHECK;

/* Gives the shapes of a reduction: *kept is shape with 1 at axes; *given is the shape of the output
 * of the node. */
void vbs_onnx_reduced_shapes(const struct vbs_shape *shape, unsigned axes, bool keep,
                             struct vbs_shape *kept, struct vbs_shape *given);

/* ---- operands ---- */

/* Replaces shape by the broadcast of shape and other. Dimensions may be 0. VBS_FORMAT. */
enum vbs_status vbs_onnx_broadcast(struct vbs_onnx_import *im, const struct vbs_shape *other,
                                   struct vbs_shape *shape) VBS_MUST_CHECK;

/* Gives constant the dimensions that tensors have in this mode. In batch mode it loses the
 * dimension of samples, which must be 1. rank is the rank in the file of the other operand. */
enum vbs_status vbs_onnx_align(struct vbs_onnx_import *im, struct vbs_onnx_constant *constant,
                               int rank, struct vbs_onnx_constant **aligned) VBS_MUST_CHECK;

/* Gives the weights of a layer; null, for seeded ones, where the file has none. */
enum vbs_status vbs_onnx_weights(struct vbs_onnx_import *im, struct vbs_onnx_constant *constant,
                                 double factor, const struct vbs_values **values) VBS_MUST_CHECK;

/* Sets node->values[what] of draft to input index, a vector of count weights. */
enum vbs_status vbs_onnx_vector(struct vbs_onnx_import *im, int index, int64_t count,
                                enum vbs_parameter what,
                                struct vbs_onnx_draft *draft) VBS_MUST_CHECK;

/* Computes a op b, at least one of which is a tensor. *result belongs to no value. */
enum vbs_status vbs_onnx_combine(struct vbs_onnx_import *im, enum vbs_op op,
                                 const struct vbs_onnx_state *a, const struct vbs_onnx_state *b,
                                 struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* Makes the operator itself of x op constant, also where another one computes the same. */
enum vbs_status vbs_onnx_keep(struct vbs_onnx_import *im, enum vbs_op op,
                              const struct vbs_onnx_state *x, struct vbs_onnx_constant *constant,
                              bool swapped, struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* Computes x op constant, or constant op x where swapped; constant is aligned. */
enum vbs_status vbs_onnx_operand(struct vbs_onnx_import *im, enum vbs_op op,
                                 const struct vbs_onnx_state *x, struct vbs_onnx_constant *constant,
                                 bool swapped, struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* Makes a parameter all of whose elements are value; null: out of memory. */
const struct vbs_values *vbs_onnx_fill(struct vbs_onnx_import *im, double value);

/* Computes alpha x + beta; x itself where alpha is 1 and beta is 0. */
enum vbs_status vbs_onnx_linear(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                double alpha, double beta,
                                struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* Recognises a product such as x * sigmoid(x) that is one operator of vbslab; *found tells whether
 * it is one. */
enum vbs_status vbs_onnx_gate(struct vbs_onnx_import *im, const struct vbs_onnx_state *a,
                              const struct vbs_onnx_state *b, bool *found,
                              struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* Reduces the tensor of state over axes (one bit for each dimension), which become 1. */
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
VBS_ONNX_HANDLER(fold_shape); /* tensors too */
VBS_ONNX_HANDLER(fold_size);
VBS_ONNX_HANDLER(fold_concat);
VBS_ONNX_HANDLER(fold_gather);
VBS_ONNX_HANDLER(fold_reduce);

/* Handlers for both constants and tensors. */
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
