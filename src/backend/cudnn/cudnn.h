/*
 * Internals that the cudnn*.c files share; no other file speaks to CUDA or cuDNN.
 *
 * Every tensor lies plain, [samples, C, spatial...] of floats, in memory of the device. A kernel is
 * a list of steps, each a call of cuDNN or a copy, on descriptors made once at open; running it
 * gives them their pointers. The first steps make the output, those of fused operators change it
 * where it lies.
 *
 * Weights of conv, deconv and fc are those of the network in its own order (one form for all
 * algorithms), with the factors of BatchNorm, Scale and Linear that follow at once folded in. A fc
 * is a convolution of 1x1. Layers in parts run part after part; a part writes its channels of the
 * whole output, of which it has a descriptor with the whole's strides.
 *
 * Sums are of floats: TF32 is off.
 */
#ifndef VBS_BACKEND_CUDNN_CUDNN_H
#define VBS_BACKEND_CUDNN_CUDNN_H

#include "backend/common/requested.h"
#include "base/arena.h"

#include <cuda_runtime_api.h>
#include <cudnn.h>

#define CU_ALIGNMENT 256 /* bytes, of every piece of scratch within the caller's, and parameter */
#define CU_MAX_DIMS  (VBS_MAX_DIMS + 1)

enum cu_place {
    CU_SRC,     /* input number index */
    CU_DST,     /* the output */
    CU_SCRATCH, /* the caller's */
    CU_FIXED    /* parameters that the session keeps */
};

struct cu_operand {
    cudnnTensorDescriptor_t desc;
    enum cu_place place;
    int index;
    int64_t offset; /* bytes behind where its place begins */
    void *fixed;
};

enum cu_do {
    CU_CONV,      /* y = conv(x), and where there is a bias, + bias (and ReLU) */
    CU_DECONV,    /* y = the transposed conv of x */
    CU_BIAS,      /* y += b */
    CU_ACTIVATE,  /* y = f(x) */
    CU_POOL,      /* y = pool(x) */
    CU_LRN,       /* y = lrn(x) */
    CU_SOFTMAX,   /* y = softmax(x) */
    CU_BINARY,    /* y = op(alpha * x, beta * b) */
    CU_REDUCE,    /* y = alpha * reduce(x) */
    CU_FILL,      /* y = alpha */
    CU_REARRANGE, /* y = alpha * x, in the order of y */
    CU_COPY       /* rows of bytes */
};

/* Of normalisations: vectors of the device. */
struct cu_affine {
    cudnnTensorDescriptor_t desc;
    void *factor, *shift;
};

struct cu_step {
    enum cu_do what;
    struct cu_operand x, y, b; /* read, written, the second one read */
    int64_t weights_offset;
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t conv;
    cudnnActivationDescriptor_t activation; /* conv: the one that is fused */
    cudnnPoolingDescriptor_t pool;
    cudnnLRNDescriptor_t lrn;
    cudnnOpTensorDescriptor_t binary;
    cudnnReduceTensorDescriptor_t reduce;
    int algorithm; /* of conv, deconv, softmax */
    float alpha, beta;
    int64_t scratch_offset, scratch_bytes;  /* what the call asks for */
    size_t width, n_rows, x_pitch, y_pitch; /* copy: bytes */
};

struct cu_kernel {
    int n_steps, max_steps;
    struct cu_step *steps;
    bool has_weights;
    int64_t first_output, n_outputs; /* that it reads the weights of */
    bool shared;                     /* its steps are those of a kernel before it */
};

/* What is made at open and given back at close. */
enum cu_kind {
    CU_TENSOR,
    CU_FILTER,
    CU_CONVOLUTION,
    CU_ACTIVATION,
    CU_POOLING,
    CU_NORMALISATION,
    CU_OPERATION,
    CU_REDUCTION,
    CU_MEMORY
};

struct cu_object {
    enum cu_kind kind;
    void *handle;
};

/* Of conv, deconv and fc. */
struct cu_weights {
    float *scale;    /* [outputs]: factors on the network's weights; null: not made yet */
    void *bias;      /* [outputs], of the device; null: none */
    void *data;      /* all weights, of the device; null: given with every run */
    int n_folded;    /* fused operators in scale and bias */
    int64_t outputs; /* channels that have weights of their own */
    int64_t count;   /* values of one of them; deconv: of all, by outputs */
};

struct cu_session {
    struct vbs_session base;
    struct vbs_arena arena;
    cudnnHandle_t cudnn;
    cudaStream_t stream;
    cudaEvent_t start, stop;
    _Atomic bool released; /* the list that a timed kernel is on */
    cudaStream_t copying;  /* from the host, beside what runs */
    cudaEvent_t copied[VBS_DEVICE_BUFFERS];
    void *stage; /* device memory for moves that overlap */
    int n_points;
    cudaEvent_t *points;
    bool weights_given;
    const struct vbs_network *network; /* borrowed */
    struct vbs_profile_layer *layers;  /* [n_layers + 1] */
    int **order;                       /* [n_layers + 1][n_inputs]: the network's number of each */
    struct cu_weights *weights;        /* [n_layers + 1] */
    struct cu_affine **affine;         /* [n_layers + 1][1 + n_fused]; null: not made yet */
    void **operands;                   /* [n_layers + 1]: constant ones, of the device */
    struct vbs_kernel *offers;         /* [base.n_kernels], base.kernels */
    struct cu_kernel *kernels;         /* [base.n_kernels] */
    int max_kernels;
    int n_objects, max_objects;
    struct cu_object *objects;
};

/* What is being built: kernels of one layer at one batch. */
struct cu_build {
    struct vbs_ctx *ctx;
    struct cu_session *session;
    const struct vbs_network *network;
    int layer;
    const struct vbs_layer *l;
    int batch;
    const struct vbs_requested *requested; /* of all kernels only this one; null: all */
    struct cu_kernel *kernel;              /* the one begun last; valid until the next begin */
    int64_t scratch_bytes;                 /* of its own pieces, before what calls ask for */
    int64_t most_asked;                    /* by a call */
    bool no_room;                          /* the device had none for a kernel; said in ctx */
};

/* ---- cudnn.c ---- */

/* Statuses of failed calls; layer: its name or null; doing says what was tried. */
enum vbs_status cu_fail(struct vbs_ctx *ctx, const char *layer, cudnnStatus_t status,
                        const char *doing);
enum vbs_status cu_fail_cuda(struct vbs_ctx *ctx, const char *layer, cudaError_t error,
                             const char *doing);

/* Not supported, for reasons of the layer; some algorithms say that parameters are wrong. */
bool cu_declines(cudnnStatus_t said);
bool cu_is_of_memory(cudnnStatus_t said);

/* Puts kernel's steps on the session's stream. */
cudnnStatus_t cu_enqueue(struct cu_session *session, const struct cu_kernel *kernel,
                         const struct vbs_operands *operands);

/* ---- cudnn_device.c ---- */

extern const struct vbs_device_ops cu_device_ops;
enum vbs_status cu_device_init(struct cu_build *b) VBS_MUST_CHECK;
void cu_device_clear(struct cu_session *session);

/* ---- cudnn_probe.c ---- */

/* False, and why in words, where this machine cannot run the backend. */
bool cu_usable(char *why, size_t size);
void cu_describe_library(char *buffer, size_t size);
void cu_describe_device(char *buffer, size_t size);

/* ---- cudnn_open.c ---- */

enum vbs_status cu_open(struct cu_build *b,
                        const struct vbs_backend_options *options) VBS_MUST_CHECK;

/* ---- cudnn_try.c ---- */

/* Runs the kernels from number first on once each, and keeps those that can be run. */
enum vbs_status cu_try(struct cu_build *b, int first) VBS_MUST_CHECK;

/* ---- cudnn_kernel.c ---- */

/* Adopts an object; it is given back at once where that fails. */
enum vbs_status cu_keep(struct cu_build *b, enum cu_kind kind, void *handle) VBS_MUST_CHECK;
void cu_release(struct cu_object *object);

/* Memory of the device that the session keeps, a copy of bytes of the host's. */
enum vbs_status cu_upload(struct cu_build *b, const void *values, int64_t bytes,
                          void **memory) VBS_MUST_CHECK;

enum vbs_status cu_kernel_begin(struct cu_build *b, const char *algorithm) VBS_MUST_CHECK;

/* A step with nothing in it, alpha 1; null: out of memory. Valid until the next one. */
struct cu_step *cu_step(struct cu_build *b, enum cu_do what);

/* A piece of the caller's scratch; where. */
int64_t cu_room(struct cu_build *b, int64_t bytes);

/* What a call asks for beside, one call at a time. */
void cu_ask(struct cu_build *b, struct cu_step *step, size_t bytes);

/* Ends it: its scratch is known. fixed_bytes: of parameters that the session keeps; packed_bytes:
 * of the weights it reads. */
void cu_kernel_end(struct cu_build *b, int64_t fixed_bytes, int64_t packed_bytes);

/* Takes the kernel begun last away again. */
void cu_kernel_undo(struct cu_build *b);

enum vbs_status cu_kernel_share(struct cu_build *b, int index) VBS_MUST_CHECK;
void cu_kernel_release(struct cu_kernel *kernel);

/* ---- cudnn_describe.c ---- */

/* [dims...] of floats; strides in values, null: dense. cuDNN wants four dimensions at least. */
enum vbs_status cu_tensor(struct cu_build *b, int n_dims, const int64_t *dims,
                          const int64_t *strides, cudnnTensorDescriptor_t *desc) VBS_MUST_CHECK;

/* batch samples of a shape that has channels and at most three spatial dimensions: [N, C, H, W] or
 * [N, C, D, H, W]; *n_spatial is 2 or 3. */
enum vbs_status cu_image(struct cu_build *b, const struct vbs_shape *shape, int *n_spatial,
                         cudnnTensorDescriptor_t *desc) VBS_MUST_CHECK;

/* The dimensions of that. */
int cu_image_dims(const struct cu_build *b, const struct vbs_shape *shape, int64_t *dims);

/* batch samples in any shape. */
enum vbs_status cu_samples(struct cu_build *b, const struct vbs_shape *shape,
                           cudnnTensorDescriptor_t *desc) VBS_MUST_CHECK;

/* [1, n, 1, 1] or [1, n, 1, 1, 1]: as many dimensions as images of n_spatial have. */
enum vbs_status cu_channels(struct cu_build *b, int64_t n, int n_spatial,
                            cudnnTensorDescriptor_t *desc) VBS_MUST_CHECK;

/* Spatial attributes as cuDNN wants them: 2 or 3 dimensions. */
struct cu_window {
    int n;
    int kernel[3], stride[3], dilation[3];
    int pad[3]; /* on both sides; 0 where uneven */
    bool uneven;
    int64_t low[3], high[3];
};
struct cu_window cu_window(const struct vbs_attributes *a, int n_spatial);

/* Input 0 of the layer with value round it, in scratch: steps that make it. *image becomes what to
 * read in its place. */
enum vbs_status cu_pad(struct cu_build *b, const struct cu_window *window, float value,
                       struct cu_operand *image) VBS_MUST_CHECK;

/* nan: fused ones must not propagate it. */
enum vbs_status cu_activation(struct cu_build *b, cudnnActivationMode_t mode, double coefficient,
                              cudnnNanPropagation_t nan,
                              cudnnActivationDescriptor_t *desc) VBS_MUST_CHECK;
enum vbs_status cu_operation(struct cu_build *b, cudnnOpTensorOp_t op,
                             cudnnOpTensorDescriptor_t *desc) VBS_MUST_CHECK;

/* The shape in which the layer reads the session's input number index. */
const struct vbs_shape *cu_view(const struct cu_build *b, int index);

struct cu_operand cu_at(enum cu_place place, int index, cudnnTensorDescriptor_t desc);

/* ---- cudnn_weights.c ---- */

/* Scale, bias and what is folded; once for a layer. */
enum vbs_status cu_weights_init(struct cu_build *b) VBS_MUST_CHECK;

/* Weights of outputs first.. first + count - 1, as kernels read them. */
enum vbs_status cu_weights_write(struct cu_build *b, int64_t first, int64_t count,
                                 float *values) VBS_MUST_CHECK;

/* All weights on the device, unless runs are given them. */
enum vbs_status cu_weights_keep(struct cu_build *b) VBS_MUST_CHECK;

/* ---- the operators ---- */

enum vbs_status cu_build_conv(struct cu_build *b) VBS_MUST_CHECK;   /* cudnn_conv.c */
enum vbs_status cu_build_deconv(struct cu_build *b) VBS_MUST_CHECK; /* cudnn_conv.c */
enum vbs_status cu_build_other(struct cu_build *b) VBS_MUST_CHECK;  /* cudnn_ops.c */

/* Steps of an operator that moves values, of a concat. cudnn_move.c */
enum vbs_status cu_add_move(struct cu_build *b) VBS_MUST_CHECK;
enum vbs_status cu_add_concat(struct cu_build *b) VBS_MUST_CHECK;

/* Steps of the operators that are fused from number first on, where the output lies;
 * *fixed_bytes grows by what the session keeps of them. */
enum vbs_status cu_fused(struct cu_build *b, int first, int64_t *fixed_bytes) VBS_MUST_CHECK;

enum vbs_status cu_unsupported(const struct cu_build *b, const char *what) VBS_MUST_CHECK;

/* The same where the library says so, else its failure. */
enum vbs_status cu_refuse(const struct cu_build *b, cudnnStatus_t said,
                          const char *what) VBS_MUST_CHECK;

#endif
