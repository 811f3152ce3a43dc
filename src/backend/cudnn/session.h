/*
 * Internals that the cudnn*.c files share; no other file speaks to CUDA or cuDNN.
 *
 * Every tensor lies plain, [samples, C, spatial...] of floats, in memory of the device. A kernel is
 * a list of steps, each a call of cuDNN or a copy, on descriptors made once at open; running it
 * gives them their pointers. The first steps make the output, those of fused operators change it
 * where it lies.
 *
 * Weights of conv, deconv and fc are those of the network in its own order (one packed weight
 * format for all algorithms), with the factors of BatchNorm, Scale and Linear that follow at once
 * folded in. A fc is a convolution of 1x1. A layer in slices runs slice after slice; a slice writes
 * its channels of the whole output, for which it has a descriptor with the whole's strides.
 *
 * Sums are of floats: TF32 is off.
 */
#ifndef VBS_BACKEND_CUDNN_SESSION_H
#define VBS_BACKEND_CUDNN_SESSION_H

#include "backend/common/common.h"
#include "base/arena.h"
#include "profile/device.h"

#include <cuda_runtime_api.h>
#include <cudnn.h>

#define CU_ALIGNMENT 256 /* bytes, of every piece of scratch within the caller's, and parameter */
#define CU_MAX_DIMS  (VBS_MAX_DIMS + 1)

enum cu_location {
    CU_SRC,     /* input number index */
    CU_DST,     /* the output */
    CU_SCRATCH, /* the caller's */
    CU_FIXED    /* parameters that the session keeps */
};

struct cu_operand {
    cudnnTensorDescriptor_t desc;
    enum cu_location location;
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
    int n_steps;
    int64_t max_steps;
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
    struct vbs_session_core core; /* first */
    cudnnHandle_t cudnn;
    cudaStream_t stream;
    cudaEvent_t start, stop;
    _Atomic bool released; /* the list that a timed kernel is on */
    cudaStream_t copying;  /* from the host, beside what runs */
    cudaEvent_t copied[VBS_DEVICE_BUFFERS];
    void *stage; /* device memory for moves that overlap */
    int n_events;
    cudaEvent_t *events;
    int **order;                /* [n_layers + 1][n_inputs]: the network's number of each */
    struct cu_weights *weights; /* [n_layers + 1] */
    struct cu_affine **affine;  /* [n_layers + 1][1 + n_fused]; null: not made yet */
    void **operands;            /* [n_layers + 1]: constant ones, of the device */
    struct cu_kernel *kernels;  /* [core.session.n_kernels] */
    int n_objects;
    int64_t max_objects;
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
    bool no_memory;                        /* the device had none for a kernel; said in ctx */
};

/* ---- status.c ---- */

/* Statuses of failed calls; layer: its name or null; doing says what was tried. */
enum vbs_status cu_fail(struct vbs_ctx *ctx, const char *layer, cudnnStatus_t status,
                        const char *doing);
enum vbs_status cu_fail_cuda(struct vbs_ctx *ctx, const char *layer, cudaError_t error,
                             const char *doing);

/* Not supported, for reasons of the layer; some algorithms say that parameters are wrong. */
bool cu_declines(cudnnStatus_t said);
bool cu_is_of_memory(cudnnStatus_t said);

enum vbs_status cu_unsupported(const struct cu_build *b, const char *what) VBS_MUST_CHECK;

/* The same where the library says so, else its failure. */
enum vbs_status cu_refuse(const struct cu_build *b, cudnnStatus_t said,
                          const char *what) VBS_MUST_CHECK;

/* ---- session.c: the calls of a session ---- */

extern const struct vbs_session_ops cu_session_ops;

/* ---- device.c ---- */

extern const struct vbs_device_ops cu_device_ops;
enum vbs_status cu_device_init(struct cu_build *b) VBS_MUST_CHECK;
void cu_device_clear(struct cu_session *session);

/* ---- probe.c ---- */

/* False, and why in words, where this machine cannot run the backend. */
bool cu_usable(char *why, size_t size);
void cu_describe_library(char *buffer, size_t size);
void cu_describe_device(char *buffer, size_t size);

/* ---- open.c ---- */

enum vbs_status cu_open(struct cu_build *b,
                        const struct vbs_backend_options *options) VBS_MUST_CHECK;

#endif
