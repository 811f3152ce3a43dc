/* Descriptors (describe.c), weights (weights.c), and the kernels of a layer by operator. */
#ifndef VBS_BACKEND_CUDNN_OPERATORS_H
#define VBS_BACKEND_CUDNN_OPERATORS_H

#include "backend/cudnn/kernel.h"

/* ---- describe.c ---- */

/* Describes [dims...] of floats; strides in values, null: without gaps. cuDNN needs four dimensions
 * at least. */
enum vbs_status cu_tensor(struct cu_build *b, int n_dims, const int64_t *dims,
                          const int64_t *strides, cudnnTensorDescriptor_t *desc) VBS_MUST_CHECK;

/* Describes batch samples of a shape that has channels and at most three spatial dimensions: [N, C,
 * H, W] or [N, C, D, H, W]; *n_spatial is 2 or 3. */
enum vbs_status cu_image(struct cu_build *b, const struct vbs_shape *shape, int *n_spatial,
                         cudnnTensorDescriptor_t *desc) VBS_MUST_CHECK;

/* Gives the dimensions of such a description. */
int cu_image_dims(const struct cu_build *b, const struct vbs_shape *shape, int64_t *dims);

/* Describes batch samples in any shape. */
enum vbs_status cu_samples(struct cu_build *b, const struct vbs_shape *shape,
                           cudnnTensorDescriptor_t *desc) VBS_MUST_CHECK;

/* Describes [1, n, 1, 1] or [1, n, 1, 1, 1]: as many dimensions as images of n_spatial have. */
enum vbs_status cu_channels(struct cu_build *b, int64_t n, int n_spatial,
                            cudnnTensorDescriptor_t *desc) VBS_MUST_CHECK;

/* Spatial attributes in the form that cuDNN needs, with 2 or 3 dimensions. */
struct cu_window {
    int n;
    int kernel[3], stride[3], dilation[3];
    int pad[3]; /* on both sides; 0 where the sides of a dimension differ */
    bool uneven;
    int64_t low[3], high[3];
};
struct cu_window cu_window(const struct vbs_window *window, int n_spatial);

/* Appends steps that write input 0 of the layer, with value around it, to the workspace. *image
 * describes this copy. */
enum vbs_status cu_pad(struct cu_build *b, const struct cu_window *window, float value,
                       struct cu_operand *image) VBS_MUST_CHECK;

/* Describes an activation. nan: fused ones must not propagate it. */
enum vbs_status cu_activation(struct cu_build *b, cudnnActivationMode_t mode, double coefficient,
                              cudnnNanPropagation_t nan,
                              cudnnActivationDescriptor_t *desc) VBS_MUST_CHECK;
enum vbs_status cu_operation(struct cu_build *b, cudnnOpTensorOp_t op,
                             cudnnOpTensorDescriptor_t *desc) VBS_MUST_CHECK;

/* Gives the shape in which the layer reads the session's input number index. */
const struct vbs_shape *cu_view(const struct cu_build *b, int index);

struct cu_operand cu_at(enum cu_location location, int index, cudnnTensorDescriptor_t desc);

/* ---- weights.c ---- */

/* Makes scale, bias and folded operators, once for a layer. */
enum vbs_status cu_weights_init(struct cu_build *b) VBS_MUST_CHECK;

/* Writes the weights of outputs first.. first + count - 1, as kernels read them. */
enum vbs_status cu_weights_write(struct cu_build *b, int64_t first, int64_t count,
                                 float *values) VBS_MUST_CHECK;

/* Copies all weights to the device, unless runs are given them. */
enum vbs_status cu_weights_upload(struct cu_build *b) VBS_MUST_CHECK;

/* ---- the operators ---- */

enum vbs_status cu_build_conv(struct cu_build *b) VBS_MUST_CHECK;   /* conv.c */
enum vbs_status cu_build_deconv(struct cu_build *b) VBS_MUST_CHECK; /* conv.c */
enum vbs_status cu_build_other(struct cu_build *b) VBS_MUST_CHECK;  /* other_operators.c */

/* Appends the steps of an operator that moves values, or of a Concat (move.c). */
enum vbs_status cu_add_move(struct cu_build *b) VBS_MUST_CHECK;
enum vbs_status cu_add_concat(struct cu_build *b) VBS_MUST_CHECK;

/* Appends the steps of the operators that are fused from number first on, in place on the output;
 * *fixed_bytes grows by the parameters of them that the session keeps. */
enum vbs_status cu_fused(struct cu_build *b, int first, int64_t *fixed_bytes) VBS_MUST_CHECK;

#endif
