/*
 * The kernels of a layer at a batch, by operator. Each od_build function appends to the session the
 * kernels of b's layer at b's batch; it is in the file of its name, unless a comment names another
 * one. od_copy_step appends steps to the kernel that was begun last.
 */
#ifndef VBS_BACKEND_ONEDNN_OPERATORS_OPERATORS_H
#define VBS_BACKEND_ONEDNN_OPERATORS_OPERATORS_H

#include "backend/onednn/kernels/kernels.h"

/* ---- copy.c ---- */

/* Where the values along one dimension of a copy's output come from. Position i of the n positions
 * comes from position first + i * step of dimension source of the input, or, with a table, from
 * position table[i], where a number below 0 stands for no position. source < 0: the values do not
 * depend on i. */
struct od_route {
    int64_t n;
    int source;
    int64_t first, step;
    const int64_t *table;
};

struct od_copy {
    int input;
    int n_routes; /* row-major over the output; in blocks the first is the channels */
    struct od_route routes[OD_MAX_ROUTES];
    int axis;      /* the dimension of the output of which only a part is written */
    int64_t first; /* the position along axis where that part begins */
    float fill;    /* the value of positions that come from no position of the input */
};

/* Appends the copying of an input, or of a part of it, to the output or a part of it. */
enum vbs_status od_copy_step(struct od_build *b, const struct od_copy *copy) VBS_MUST_CHECK;

/* Ends a kernel of such copies: behind copies of floats come the fused operators, which tables of
 * copies of 8 bits contain. */
enum vbs_status od_copy_end(struct od_build *b) VBS_MUST_CHECK;

/* Appends the kernel of a layer that is nothing but such a copy. */
enum vbs_status od_build_copy(struct od_build *b, const struct od_copy *copy) VBS_MUST_CHECK;

/* ---- matmul.c ---- */

/* An operand of a product, or the product, as stacks of matrices: the dimensions of the stack, with
 * the batch first, then rows and columns. */
struct od_factor {
    bool constant;
    int input;
    int n_dims;
    dnnl_dims_t dims;
};

/* Describes the product z = x * y of b's layer, in as few dimensions as broadcasting leaves. */
void od_factors_init(const struct od_build *b, struct od_factor *x, struct od_factor *y,
                     struct od_factor *z);

/* ---- one_primitive.c ---- */

/* Appends the kernel of one primitive, which reads input 0 and writes the output, both in this
 * layout; fused operators from number first_fused on come behind it as steps of their own. Frees
 * pd, also where it fails. */
enum vbs_status od_build_primitive(struct od_build *b, dnnl_primitive_desc_t pd,
                                   enum od_layout layout, int first_fused) VBS_MUST_CHECK;

/* A function that changes what a primitive has made: data[0], of its input: data[1]. plan lives as
 * long as the session. */
struct od_then {
    od_function *function;
    const void *plan;
};

/* Does so with this function behind the primitive, which fuses no operators. */
enum vbs_status od_build_primitive_then(struct od_build *b, dnnl_primitive_desc_t pd,
                                        enum od_layout layout,
                                        const struct od_then *then) VBS_MUST_CHECK;

/* ---- extremes.c ---- */

/* Windows of which a primitive takes the largest values, or the smallest ones. The output is
 * [outer][positions][lanes], and so is the input. */
struct od_extremes {
    bool smallest;
    int n_spatial;
    int64_t in[VBS_MAX_SPATIAL], out[VBS_MAX_SPATIAL];
    int64_t lanes, n; /* n: values of the output */
    struct od_window window;
};

/* Appends the kernel of such a primitive, as od_build_primitive does, whose windows may have
 * nothing but infinite values. oneDNN makes the lowest or the highest number of them. Takes
 * ownership of pd. */
enum vbs_status od_build_extremes(struct od_build *b, dnnl_primitive_desc_t pd,
                                  enum od_layout layout,
                                  const struct od_extremes *extremes) VBS_MUST_CHECK;

/* ---- coded.c ---- */

/* Appends the kernels that compute b's layer, a conv or fc, from its coded weights: all methods, or
 * the requested one. None where the network has no coded weights of the layer. */
enum vbs_status od_build_coded(struct od_build *b) VBS_MUST_CHECK;

/* ---- winograd.c ---- */

/* Appends the kernels that compute b's layer, a conv of 3x3 between tensors with the channels last,
 * by Winograd's method, or the requested one. None where b's layer is another one. */
enum vbs_status od_build_winograd(struct od_build *b) VBS_MUST_CHECK;

/* ---- tiling.c ---- */

/* Appends the kernels that compute a deconv whose windows lie side by side as a convolution of 1x1,
 * or the requested one. None where b's layer is another one. */
enum vbs_status od_build_tiling(struct od_build *b) VBS_MUST_CHECK;

/* ---- native.c ---- */

/* Appends the kernels that compute b's layer on encoded tensors as they are stored, or the
 * requested one; none where there are none. b is native. */
enum vbs_status od_build_native(struct od_build *b) VBS_MUST_CHECK;

/* ---- native_values.c ---- */

/* Does so for layers without weights. */
enum vbs_status od_build_native_values(struct od_build *b) VBS_MUST_CHECK;

/* ---- native_pairs.c ---- */

/* Does so for operators of two operands. */
enum vbs_status od_build_native_pair(struct od_build *b) VBS_MUST_CHECK;

/* ---- native_windows.c ---- */

/* Does so for an avgpool whose input and output have different encodings. */
enum vbs_status od_build_native_windows(struct od_build *b) VBS_MUST_CHECK;

/* ---- native_matmul.c ---- */

/* Does so for products of two tensors of 8 bits. */
enum vbs_status od_build_native_matmul(struct od_build *b) VBS_MUST_CHECK;

/* ---- native_norm.c ---- */

/* Does so for a softmax and a layer normalisation of rows. */
enum vbs_status od_build_native_norm(struct od_build *b) VBS_MUST_CHECK;

/* ---- native_moves.c ---- */

/* Does so for layers that only move values; *made: b's layer is one. */
enum vbs_status od_build_native_move(struct od_build *b, bool *made) VBS_MUST_CHECK;

/* ---- the operators ---- */

/* Convolutions, transposed convolutions and fully connected layers are in conv.c. Where b requests
 * a kernel they append only that one, or none where there is none. */
enum vbs_status od_build_conv(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_fc(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_unary(struct od_build *b) VBS_MUST_CHECK; /* unary.c */
enum vbs_status od_build_binary(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_norm(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_pool(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_global_pool(struct od_build *b, bool largest) VBS_MUST_CHECK;
enum vbs_status od_build_reduce(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_resize(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_matmul(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_embed(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_topk(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_pick(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_take(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_grid_sample(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_deform_conv(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_dft(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_move(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_concat(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_recurrent(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_other(struct od_build *b)
    VBS_MUST_CHECK; /* all but conv and fc; in dispatch.c */

#endif
