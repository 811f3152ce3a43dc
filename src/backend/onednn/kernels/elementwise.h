/* Operators that work value by value (elementwise.c, gelu.c) or channel by channel (affine.c), as
 * layers or in place behind others. The functions append steps to the kernel begun last. */
#ifndef VBS_BACKEND_ONEDNN_KERNELS_ELEMENTWISE_H
#define VBS_BACKEND_ONEDNN_KERNELS_ELEMENTWISE_H

#include "backend/onednn/kernels/kernel.h"

/* ---- elementwise.c ---- */

/* Gives whether the operation sets bounds to values, which a loop does. */
bool od_is_bounds(const struct od_eltwise *operation);

/* Appends an operation on values, by oneDNN or a loop, from one memory object to another, which may
 * be the same. */
enum vbs_status od_eltwise_step(struct od_build *b, const struct od_eltwise *operation,
                                const dnnl_memory_desc_t *md, dnnl_memory_t from,
                                dnnl_memory_t to) VBS_MUST_CHECK;

/* Gives whether the layer's own operator on values, or one fused behind it, makes the output's
 * padding other than zero. */
bool od_breaks_padding(const struct od_build *b);

/* Appends a step that zeroes the output's padding, if it has any. */
enum vbs_status od_zero_padding(struct od_build *b) VBS_MUST_CHECK;

/* Appends the fused operators from number first on, in place on the output, and ends the kernel as
 * od_kernel_end does; weight_bytes: without those of the fused operators. Padding is zero
 * afterwards if it was before the layer. */
enum vbs_status od_fused_end(struct od_build *b, int first, int64_t weight_bytes,
                             int format) VBS_MUST_CHECK;

/* Appends an operator on values, from one memory object to another, which may be the same. */
enum vbs_status od_unary_steps(struct od_build *b, enum vbs_op op, const union vbs_attributes *a,
                               const dnnl_memory_desc_t *md, dnnl_memory_t from,
                               dnnl_memory_t to) VBS_MUST_CHECK;

/* ---- gelu.c ---- */

struct od_normal;

/* Makes the polynomials of rows.h. */
void od_normal_init(struct od_normal *normal);

/* Gives whether the fused operator is a GELU for which od_gelu_step is. */
bool od_is_gelu_step(const struct vbs_fused *fused);

/* Appends a step that encodes the GELU of n floats; to floats, target may be from. The polynomials
 * are off by 5e-7 at most. */
enum vbs_status od_gelu_step(struct od_build *b, const struct vbs_encoding *to, int64_t n,
                             dnnl_memory_t from, dnnl_memory_t target) VBS_MUST_CHECK;

/* ---- affine.c ---- */

/* Gives the implementation of factor * x + shift by channel on the output; relu: with a ReLU. */
enum vbs_status od_affine_pd(struct od_build *b, bool relu,
                             dnnl_primitive_desc_t *pd) VBS_MUST_CHECK;

/* Appends a step of this implementation, with the parameters of a BatchNorm or Scale. */
enum vbs_status od_affine_step_with(struct od_build *b, const_dnnl_primitive_desc_t pd, int fused,
                                    dnnl_memory_t from, dnnl_memory_t to,
                                    int64_t *weight_bytes) VBS_MUST_CHECK;

/* Sets argument number *n of args to a vector of n_values constants, and increments *n. */
enum vbs_status od_add_vector(struct od_build *b, int id, int64_t n_values, float *values, int *n,
                              dnnl_exec_arg_t *args) VBS_MUST_CHECK;

/* Appends a BatchNorm or Scale, the layer's own (fused < 0) or a fused one, on the output's
 * channels; relu: with a ReLU. */
enum vbs_status od_affine_step(struct od_build *b, int fused, bool relu, dnnl_memory_t from,
                               dnnl_memory_t to, int64_t *weight_bytes) VBS_MUST_CHECK;

#endif
