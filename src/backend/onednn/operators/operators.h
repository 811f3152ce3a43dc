/*
 * All kernels of a layer at a batch, by operator: each od_build function is in the file of its
 * name, and adds to the session the kernels of b's layer at b's batch. The functions before them
 * append steps to the kernel begun last.
 */
#ifndef VBS_BACKEND_ONEDNN_OPERATORS_OPERATORS_H
#define VBS_BACKEND_ONEDNN_OPERATORS_OPERATORS_H

#include "backend/onednn/kernels/kernels.h"

/* ---- fused.c, affine.c: operators in place behind others ---- */

/* Appends one, from one memory object to the other, which may be the same. */
enum vbs_status od_eltwise_step(struct od_build *b, const struct od_eltwise *part,
                                const dnnl_memory_desc_t *md, dnnl_memory_t from,
                                dnnl_memory_t to) VBS_MUST_CHECK;

/* Whether the output has padding that is not zero any more behind what is fused and fused. */
bool od_breaks_padding(const struct od_build *b);

/* Appends the zeroing of the output's padding, if it has any. */
enum vbs_status od_zero_padding(struct od_build *b) VBS_MUST_CHECK;

/* Appends the fused operators from number first on, in place on the output; adds the bytes of
 * their parameters to *weight_bytes. Padding is zero afterwards if it was before the layer. */
enum vbs_status od_fused(struct od_build *b, int first, int64_t *weight_bytes) VBS_MUST_CHECK;

/* Appends an operator on values, from one memory object to the other, which may be the same. */
enum vbs_status od_unary_steps(struct od_build *b, enum vbs_op op, const union vbs_attributes *a,
                               const dnnl_memory_desc_t *md, dnnl_memory_t from,
                               dnnl_memory_t to) VBS_MUST_CHECK;

/* The implementation of factor * x + shift by channel on the output; relu: and a ReLU. */
enum vbs_status od_affine_pd(struct od_build *b, bool relu,
                             dnnl_primitive_desc_t *pd) VBS_MUST_CHECK;

/* Appends it, with the parameters of a BatchNorm or Scale. */
enum vbs_status od_affine_step_with(struct od_build *b, const_dnnl_primitive_desc_t pd, int fused,
                                    dnnl_memory_t from, dnnl_memory_t to,
                                    int64_t *weight_bytes) VBS_MUST_CHECK;

/* Sets argument number *n of args, and counts it: n_values constants. */
enum vbs_status od_add_vector(struct od_build *b, int id, int64_t n_values, float *values, int *n,
                              dnnl_exec_arg_t *args) VBS_MUST_CHECK;

/* Appends a BatchNorm or Scale, the layer's own (fused < 0) or a fused one, on the output's
 * channels; relu: and a ReLU. (norm.c) */
enum vbs_status od_affine_step(struct od_build *b, int fused, bool relu, dnnl_memory_t from,
                               dnnl_memory_t to, int64_t *weight_bytes) VBS_MUST_CHECK;

/* ---- copy.c ---- */

/* Where a dimension of a copy's output comes from: position first + i * step of dimension source of
 * the input, or table[i], where < 0 stands for nothing; source < 0: from its beginning. */
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
    int axis;      /* dimension of the output of which a part is written, from position first on */
    int64_t first; /* 0: all of it */
    float fill;    /* where there is nothing to copy */
};

/* Appends the copying of an input, or of a part of it, to the output or a part of it. */
enum vbs_status od_copy_step(struct od_build *b, const struct od_copy *copy) VBS_MUST_CHECK;

/* The kernel of a layer that is nothing but such a copy. */
enum vbs_status od_build_copy(struct od_build *b, const struct od_copy *copy) VBS_MUST_CHECK;

/* ---- the operators ---- */

/* Conv, deconv, and fc (conv.c): with requested only that one, or none where there is none.
 */
enum vbs_status od_build_conv(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_fc(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_unary(struct od_build *b) VBS_MUST_CHECK; /* eltwise.c */
enum vbs_status od_build_binary(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_norm(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_pool(struct od_build *b) VBS_MUST_CHECK; /* ops.c */
enum vbs_status od_build_global_pool(struct od_build *b, bool largest) VBS_MUST_CHECK;
enum vbs_status od_build_reduce(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_resize(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_matmul(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_move(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_concat(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_other(struct od_build *b) VBS_MUST_CHECK; /* all but conv and fc */

#endif
