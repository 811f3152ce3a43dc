/* Handlers of ONNX operators, and the functions that they share. Errors are those of import.h. */
#ifndef VBS_MODEL_ONNX_OPERATORS_OPERATORS_H
#define VBS_MODEL_ONNX_OPERATORS_OPERATORS_H

#include "model/onnx/import/import.h"
#include "model/onnx/operators/equation.h"

/* Operators that work on constants only; they continue enum vbs_op. */
enum {
    VBS_FOLD_MOD = VBS_N_OPS,
    VBS_FOLD_REMAINDER, /* a Mod whose result has the sign of the dividend */
    VBS_FOLD_BIT_AND,
    VBS_FOLD_BIT_OR,
    VBS_FOLD_BIT_XOR,
    VBS_FOLD_BIT_NOT,
    VBS_FOLD_SHIFT_LEFT, /* BitShift; its attribute chooses between the two */
    VBS_FOLD_SHIFT_RIGHT,
    VBS_FOLD_ARG_MAX,
    VBS_FOLD_ARG_MIN,
    VBS_FOLD_EQUAL, /* from here on the result is true or false */
    VBS_FOLD_LESS,
    VBS_FOLD_LESS_EQUAL,
    VBS_FOLD_GREATER,
    VBS_FOLD_GREATER_EQUAL,
    VBS_FOLD_AND,
    VBS_FOLD_OR,
    VBS_FOLD_XOR,
    VBS_FOLD_NOT,
    VBS_FOLD_IS_NAN
};

/* Gives whether the result of an operator is true or false. */
static inline bool vbs_onnx_is_truth(int op)
{
    return op >= VBS_FOLD_EQUAL;
}

/* ---- shapes that files ask for ---- */

/* Reads input index as a shape of *n <= VBS_MAX_DIMS + 1 values. One value may depend on the number
 * of samples, and must then be a multiple of it: values[*open] is the factor. Else *open is -1. */
enum vbs_status vbs_onnx_target(struct vbs_onnx_import *im, int index, int64_t *values, int *open,
                                int *n) VBS_MUST_CHECK;

/* Makes values the shape of a constant, which is the same for all samples. */
enum vbs_status vbs_onnx_constant_shape(struct vbs_onnx_import *im, const int64_t *values, int n,
                                        struct vbs_shape *shape) VBS_MUST_CHECK;

/* Reads a list of whole numbers from input index (from opset since on) or from the attribute name;
 * *given tells whether the node has it. */
enum vbs_status vbs_onnx_list(struct vbs_onnx_import *im, const char *name, int index, int since,
                              int most, int64_t *values, int *n, bool *given) VBS_MUST_CHECK;

/* Transposes state: dimension i of *result is dimension perm[i]. *result belongs to no value. */
enum vbs_status vbs_onnx_permute(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                 const int *perm, struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* Takes the elements at constant places along dimension axis of a tensor. *result belongs to no
 * value. */
enum vbs_status vbs_onnx_take_along(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                    int axis, struct vbs_onnx_constant *places,
                                    struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* Moves the channels of an image, which stand behind its other dimensions, before them (first), or
 * the other way round. What was turned is turned back without a layer. *result belongs to no value.
 */
enum vbs_status vbs_onnx_turn_channels(struct vbs_onnx_import *im,
                                       const struct vbs_onnx_state *state, bool first,
                                       struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* Gives a tensor that was turned, and that is still the whole of it, with its channels first;
 * false: state is none. */
bool vbs_onnx_with_channels_first(const struct vbs_onnx_state *state, struct vbs_onnx_state *first);

/* ---- reductions ---- */

/* Reads the axes (one bit for each dimension of shape) and keepdims of a Reduce node on a value of
 * this shape, which is that of a sample (batch) or that of the file. */
enum vbs_status vbs_onnx_reduced(struct vbs_onnx_import *im, const struct vbs_shape *shape,
                                 bool batch, unsigned *axes, bool *keep) VBS_MUST_CHECK;

/* Gives the shapes of a reduction: *kept is shape with 1 at axes; *given is the shape of the output
 * of the node. */
void vbs_onnx_reduced_shapes(const struct vbs_shape *shape, unsigned axes, bool keep,
                             struct vbs_shape *kept, struct vbs_shape *given);

/* ---- what is read alike for tensors and for constants ---- */

/* Reads the attributes of an operator that works value by value. */
enum vbs_status vbs_onnx_read_unary(struct vbs_onnx_import *im, enum vbs_op op,
                                    union vbs_attributes *attributes) VBS_MUST_CHECK;

/* Give the second operand, which is a constant, the dimensions that it has beside a first one of
 * this rank: in versions before 7 it stands at the first one's dimension 'axis', and the slope of a
 * PRelu at its channels. */
enum vbs_status vbs_onnx_old_axis(struct vbs_onnx_import *im, int rank,
                                  struct vbs_onnx_constant **second) VBS_MUST_CHECK;
enum vbs_status vbs_onnx_old_slope(struct vbs_onnx_import *im, int rank,
                                   struct vbs_onnx_constant **slope) VBS_MUST_CHECK;

/* Gives the TensorProto.DataType to which a Cast, or a CastLike, casts. VBS_UNSUPPORTED: no
 * numbers. */
enum vbs_status vbs_onnx_cast_type(struct vbs_onnx_import *im, bool like, int *type) VBS_MUST_CHECK;

/* Imports a Gather of a tensor whose indices are constants. */
enum vbs_status vbs_onnx_gather_at(struct vbs_onnx_import *im) VBS_MUST_CHECK;

/* Import a GatherND and a GatherElements whose indices are a tensor. */
enum vbs_status vbs_onnx_take_by(struct vbs_onnx_import *im) VBS_MUST_CHECK;
enum vbs_status vbs_onnx_pick_by(struct vbs_onnx_import *im) VBS_MUST_CHECK;

/* Picks elements of a tensor by indices along dimension dim that are a tensor, as output 0. */
enum vbs_status vbs_onnx_pick_elements(struct vbs_onnx_import *im,
                                       const struct vbs_onnx_state *data,
                                       const struct vbs_onnx_state *indices,
                                       int dim) VBS_MUST_CHECK;

/* Reads the axes of a ReverseSequence, of which one is dimension 0 and the other dimension 1. */
enum vbs_status vbs_onnx_read_reversed(struct vbs_onnx_import *im, int rank, int *batch_axis,
                                       int *time_axis) VBS_MUST_CHECK;

/* Casts a tensor to a TensorProto.DataType of whole numbers or truth values, and gives it as output
 * 0. */
enum vbs_status vbs_onnx_cast_whole(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                    int to) VBS_MUST_CHECK;

/* Combines x with one number, which may be infinite. */
enum vbs_status vbs_onnx_with_one(struct vbs_onnx_import *im, enum vbs_op op,
                                  const struct vbs_onnx_state *x, double value,
                                  struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* Cuts off what numbers have behind the point. */
enum vbs_status vbs_onnx_cut_off(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                 struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* Divides whole numbers by n, above 0, and cuts off the quotients. */
enum vbs_status vbs_onnx_divide_whole(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                      int64_t n, struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* Leaves of whole numbers the lowest bits, as many as a TensorProto.DataType has, where these are
 * at most 16; numbers of other types stay. */
enum vbs_status vbs_onnx_wrap(struct vbs_onnx_import *im, int type,
                              struct vbs_onnx_state *x) VBS_MUST_CHECK;

/* Gives whether a BatchNormalization is in training mode. */
bool vbs_onnx_trains(struct vbs_onnx_import *im);

/* Reads the attributes that Conv and ConvTranspose share, for an input of shape view = [C, D, H, W]
 * and weights of one dimension more; and the others of a Conv. */
enum vbs_status vbs_onnx_read_conv(struct vbs_onnx_import *im, const struct vbs_shape *view,
                                   const struct vbs_shape *weights,
                                   union vbs_attributes *attributes) VBS_MUST_CHECK;
enum vbs_status vbs_onnx_finish_conv(struct vbs_onnx_import *im, const struct vbs_shape *view,
                                     const struct vbs_shape *weights,
                                     union vbs_attributes *attributes) VBS_MUST_CHECK;

/* Makes the layer of a Conv whose weights are a constant, with the bias of the node, a constant,
 * where biased is set. *result belongs to no value. */
enum vbs_status vbs_onnx_convolve(struct vbs_onnx_import *im, bool biased,
                                  struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* Reads what a Resize, or an Upsample, makes of a value of this shape, which is that of a sample
 * (batch) or that of the file, and whose dimension 0 is dimension shift in the attributes. *same:
 * it makes nothing of it. */
enum vbs_status vbs_onnx_read_resize(struct vbs_onnx_import *im, bool upsample,
                                     const struct vbs_shape *shape, bool batch, int shift,
                                     union vbs_attributes *attributes, bool *same) VBS_MUST_CHECK;

/* Returns whether dimensions take the nearest element by their own scales, as in version 10 of
 * Resize, whose text does not say how. By its cases, the one before is taken where there are more
 * elements, and the one behind where there are fewer; where both are, ONNX Runtime decides by
 * dimension. */
bool vbs_onnx_rounds_by_scale(const struct vbs_onnx_import *im, bool upsample,
                              const union vbs_attributes *a);
enum vbs_resize_nearest vbs_onnx_nearest_by_scale(double scale);

/* Makes a tensor of input index, images or what belongs to each of them, [N, C, H, W] in the file,
 * and finds the shape in which a layer reads it: without the dimension of images where a sample has
 * one. A constant becomes a tensor of each sample. */
enum vbs_status vbs_onnx_images(struct vbs_onnx_import *im, int index,
                                struct vbs_onnx_state *images,
                                struct vbs_shape *view) VBS_MUST_CHECK;

/* Reads the attributes of a GridSample. */
enum vbs_status vbs_onnx_read_grid_sample(struct vbs_onnx_import *im,
                                          union vbs_attributes *attributes) VBS_MUST_CHECK;

/* Reads the attributes of a DFT, and its axis as the file has it; attributes->dft.n stays where the
 * node has none. Then that is set, where it is 0, to what it is by default for an axis of this
 * length. */
enum vbs_status vbs_onnx_read_dft(struct vbs_onnx_import *im, union vbs_attributes *attributes,
                                  int64_t *axis) VBS_MUST_CHECK;
void vbs_onnx_default_dft(union vbs_attributes *attributes, int64_t length);

/* The pieces of a signal that a STFT transforms. */
struct vbs_onnx_frames {
    int64_t n, length, step;
    struct vbs_onnx_constant *window; /* by which each is multiplied; null: by nothing */
};

/* Reads them for a signal of `length` elements. */
enum vbs_status vbs_onnx_read_frames(struct vbs_onnx_import *im, int64_t length,
                                     struct vbs_onnx_frames *frames) VBS_MUST_CHECK;

/* The windows of fold_window. */
enum { VBS_ONNX_HANN, VBS_ONNX_HAMMING, VBS_ONNX_BLACKMAN };

/* The positions that a Pad adds before and behind, by dimension of the file. */
struct vbs_onnx_pads {
    int64_t before[VBS_MAX_DIMS + 1], behind[VBS_MAX_DIMS + 1];
};

/* The words of enum vbs_pad_mode, in its order; null ends them. */
extern const char *const vbs_onnx_pad_modes[];

/* Read a Pad's positions, and the value that it pads with. */
enum vbs_status vbs_onnx_read_pads(struct vbs_onnx_import *im, int rank,
                                   struct vbs_onnx_pads *pads) VBS_MUST_CHECK;
enum vbs_status vbs_onnx_read_pad_value(struct vbs_onnx_import *im,
                                        long double *value) VBS_MUST_CHECK;

/* ---- operands ---- */

/* Replaces shape by the broadcast of shape and other. Dimensions may be 0. VBS_FORMAT. */
enum vbs_status vbs_onnx_broadcast(struct vbs_onnx_import *im, const struct vbs_shape *other,
                                   struct vbs_shape *shape) VBS_MUST_CHECK;

/* Gives constant the dimensions that tensors have in this mode. In batch mode it loses the
 * dimension of samples, which must be 1. rank is the rank in the file of the other operand. */
enum vbs_status vbs_onnx_align(struct vbs_onnx_import *im, struct vbs_onnx_constant *constant,
                               int rank, struct vbs_onnx_constant **aligned) VBS_MUST_CHECK;

/* Takes out of an operand beside tensors of this rank in the file what the position of the sample
 * adds to its whole numbers: *own times the position, or VBS_ONNX_ELSE. */
enum vbs_status vbs_onnx_strip_position(struct vbs_onnx_import *im, int rank,
                                        struct vbs_onnx_state *state, int64_t *own) VBS_MUST_CHECK;

/* Makes a tensor of a constant, which has as many dimensions in the file as tensors of the node: an
 * element of x that is replaced by 0, to which the constant is added. *result belongs to no value.
 */
enum vbs_status vbs_onnx_constant_tensor(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                         struct vbs_onnx_constant *constant,
                                         struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* Gives the weights of a layer; null, for seeded ones, where the file has none. */
enum vbs_status vbs_onnx_weights(struct vbs_onnx_import *im, struct vbs_onnx_constant *constant,
                                 double factor, const struct vbs_values **values) VBS_MUST_CHECK;

/* Does the same for what a layer adds, which may be infinite. */
enum vbs_status vbs_onnx_added(struct vbs_onnx_import *im, struct vbs_onnx_constant *constant,
                               double factor, const struct vbs_values **values) VBS_MUST_CHECK;

/* Allows values of a parameter to be infinite, as those of masks that are added are. */
enum vbs_status vbs_onnx_allow_infinite(struct vbs_onnx_import *im,
                                        const struct vbs_values **values) VBS_MUST_CHECK;

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

/* Computes x^p, of x that is not below 0. */
enum vbs_status vbs_onnx_power(struct vbs_onnx_import *im, const struct vbs_onnx_state *x, double p,
                               struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* Recognises a product such as x * sigmoid(x) that is one operator of vbslab; *found tells whether
 * it is one. */
enum vbs_status vbs_onnx_gate(struct vbs_onnx_import *im, const struct vbs_onnx_state *a,
                              const struct vbs_onnx_state *b, bool *found,
                              struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* Reads the attribute p of LpNormalization and of its like: 1 or 2. VBS_UNSUPPORTED: another one.
 */
enum vbs_status vbs_onnx_read_p(struct vbs_onnx_import *im, int *p) VBS_MUST_CHECK;

/* Returns whether a reduction changes an element that is alone: the first norm makes its absolute
 * value of it. */
bool vbs_onnx_reduces_alone(enum vbs_op op);

/* Reduces the tensor of state over axes (one bit for each dimension), which become 1. */
enum vbs_status vbs_onnx_reduce_state(struct vbs_onnx_import *im, enum vbs_op op,
                                      const struct vbs_onnx_state *state, unsigned axes,
                                      struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* ---- handlers ---- */

/* Handlers for both constants and tensors. */
VBS_ONNX_HANDLER(reshape);
VBS_ONNX_HANDLER(flatten);
VBS_ONNX_HANDLER(squeeze);
VBS_ONNX_HANDLER(unsqueeze);
VBS_ONNX_HANDLER(identity);
VBS_ONNX_HANDLER(transpose);
VBS_ONNX_HANDLER(slice);
VBS_ONNX_HANDLER(split);
VBS_ONNX_HANDLER(compress);
VBS_ONNX_HANDLER(expand);

VBS_ONNX_HANDLER(dropout);
VBS_ONNX_HANDLER(cast);
VBS_ONNX_HANDLER(space_depth);
VBS_ONNX_HANDLER(concat);
VBS_ONNX_HANDLER(pad);
VBS_ONNX_HANDLER(gather);
VBS_ONNX_HANDLER(tile);
VBS_ONNX_HANDLER(resize);
VBS_ONNX_HANDLER(grid_sample);
VBS_ONNX_HANDLER(dft);
VBS_ONNX_HANDLER(stft);

VBS_ONNX_HANDLER(conv);
VBS_ONNX_HANDLER(deform_conv);
VBS_ONNX_HANDLER(conv_transpose);
VBS_ONNX_HANDLER(pool);
VBS_ONNX_HANDLER(global_pool);
VBS_ONNX_HANDLER(global_lp_pool);
VBS_ONNX_HANDLER(lp_pool);
VBS_ONNX_HANDLER(lrn);
VBS_ONNX_HANDLER(batch_norm);
VBS_ONNX_HANDLER(instance_norm);
VBS_ONNX_HANDLER(group_norm);
VBS_ONNX_HANDLER(layer_norm);
VBS_ONNX_HANDLER(lp_norm);
VBS_ONNX_HANDLER(recurrent); /* op: rnn, gru or lstm */
VBS_ONNX_HANDLER(quantize_linear);
VBS_ONNX_HANDLER(dequantize_linear);
VBS_ONNX_HANDLER(fold_quantize_linear);
VBS_ONNX_HANDLER(fold_dequantize_linear);
VBS_ONNX_HANDLER(qlinear_conv);
VBS_ONNX_HANDLER(conv_integer);
VBS_ONNX_HANDLER(qlinear_matmul);
VBS_ONNX_HANDLER(matmul_integer);
VBS_ONNX_HANDLER(dynamic_quantize_linear);
VBS_ONNX_HANDLER(dynamic_quantize_matmul);
VBS_ONNX_HANDLER(matmul_integer_to_float);
VBS_ONNX_HANDLER(dynamic_quantize_lstm);
VBS_ONNX_HANDLER(qlinear_pair);
VBS_ONNX_HANDLER(qlinear_unary);
VBS_ONNX_HANDLER(qlinear_softmax);
VBS_ONNX_HANDLER(qlinear_pool);
VBS_ONNX_HANDLER(nhwc_pool);
VBS_ONNX_HANDLER(qlinear_concat);
VBS_ONNX_HANDLER(qgemm);
VBS_ONNX_HANDLER(scaler);
VBS_ONNX_HANDLER(matmul_nbits);
VBS_ONNX_HANDLER(fused_conv);
VBS_ONNX_HANDLER(fused_gemm);
VBS_ONNX_HANDLER(fused_matmul);
VBS_ONNX_HANDLER(bias_gelu);
VBS_ONNX_HANDLER(quick_gelu);
VBS_ONNX_HANDLER(skip_layer_norm);
VBS_ONNX_HANDLER(mean_variance_norm);
VBS_ONNX_HANDLER(einsum);
VBS_ONNX_HANDLER(gemm);
VBS_ONNX_HANDLER(matmul);
VBS_ONNX_HANDLER(softmax);
VBS_ONNX_HANDLER(unary);
VBS_ONNX_HANDLER(clip);
VBS_ONNX_HANDLER(pair);
VBS_ONNX_HANDLER(sum);
VBS_ONNX_HANDLER(prelu);
VBS_ONNX_HANDLER(reduce);
VBS_ONNX_HANDLER(compare);
VBS_ONNX_HANDLER(logic);
VBS_ONNX_HANDLER(not );
VBS_ONNX_HANDLER(is_nan);
VBS_ONNX_HANDLER(is_inf);
VBS_ONNX_HANDLER(divide);
VBS_ONNX_HANDLER(mod);
VBS_ONNX_HANDLER(where);
VBS_ONNX_HANDLER(pick); /* op 1: GatherND */
VBS_ONNX_HANDLER(scatter);
VBS_ONNX_HANDLER(reverse_sequence);
VBS_ONNX_HANDLER(trilu);
VBS_ONNX_HANDLER(cum_sum);
VBS_ONNX_HANDLER(arg);
VBS_ONNX_HANDLER(top_k);
VBS_ONNX_HANDLER(hardmax);
VBS_ONNX_HANDLER(one_hot);
VBS_ONNX_HANDLER(if);
VBS_ONNX_HANDLER(loop);

#endif
