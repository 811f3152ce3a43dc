/*
 * Internals that the files of this folder share; no other file calls CUDA or cuDNN, and these call
 * them through the table of the session (api.h).
 *
 * Every tensor is plain, [samples, C, spatial...] of floats, in memory of the device. A kernel is a
 * list of steps, each a call of cuDNN or a copy, on descriptors made once at open; running it gives
 * them their pointers. The first steps make the output, and those of fused operators change it in
 * place.
 *
 * Weights of conv, deconv and fc are those of the network in its own order (one packed weight
 * format for all algorithms), into which the factors of a BatchNorm, Scale or Linear right behind
 * the layer are folded. An fc is a convolution of 1x1. A layer in slices runs slice after slice; a
 * slice writes its channels of the whole output, for which it has a descriptor with the whole's
 * strides.
 *
 * Sums are of floats: TF32 is off.
 */
#ifndef VBS_BACKEND_CUDNN_SESSION_H
#define VBS_BACKEND_CUDNN_SESSION_H

#include "backend/common/common.h"
#include "backend/cudnn/api.h"
#include "base/arena.h"
#include "profile/device.h"

/* Bytes, for every range within the caller's scratch and for every parameter. */
#define CU_ALIGNMENT 256
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
    int64_t offset; /* bytes from the beginning of this memory */
    void *fixed;
};

enum cu_do {
    CU_CONV,      /* y = conv(x) + bias, where there is one, and ReLU, where it is fused */
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

/* The vectors of a normalisation, on the device. */
struct cu_affine {
    cudnnTensorDescriptor_t desc;
    void *factor, *shift;
};

struct cu_step {
    enum cu_do what;
    struct cu_operand x, y, b; /* read, written, and the second operand */
    int64_t weights_offset;
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t conv;
    cudnnActivationDescriptor_t activation; /* conv: the fused one */
    cudnnPoolingDescriptor_t pool;
    cudnnLRNDescriptor_t lrn;
    cudnnOpTensorDescriptor_t binary;
    cudnnReduceTensorDescriptor_t reduce;
    int algorithm; /* of conv, deconv, softmax */
    float alpha, beta;
    int64_t scratch_offset, scratch_bytes;  /* range of the call's workspace */
    size_t width, n_rows, x_pitch, y_pitch; /* copy: bytes */
};

struct cu_kernel {
    int n_steps;
    int64_t max_steps;
    struct cu_step *steps;
    bool has_weights;
    int64_t first_output, n_outputs; /* the outputs whose weights it reads */
    bool shared;                     /* its steps are those of a kernel before it */
    bool has_excess;                 /* the two members below are known (timing.c) */
    double excess_us;                /* that the events around it add to its time */
    double graph_us;                 /* its time in a graph; 0: not known */
};

/* The kinds of objects that open makes and close frees. */
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

/* The weights of conv, deconv and fc. */
struct cu_weights {
    float *scale;    /* [outputs] factors of the network's weights; null: not made yet */
    void *bias;      /* [outputs] on the device; null: none */
    void *data;      /* all weights, on the device; null: given with every run */
    int n_folded;    /* fused operators that scale and bias contain */
    int64_t outputs; /* channels that have weights of their own */
    int64_t count;   /* values of one such channel; deconv: of all, by outputs */
};

struct cu_session {
    struct vbs_session_core core; /* first */
    struct cu_api api;
    cudnnHandle_t cudnn;
    cudaStream_t stream;
    cudaEvent_t start, stop;
    _Atomic bool released; /* releases the stream on which a timed kernel is held */
    cudaStream_t copying;  /* the stream of copies from the host */
    cudaEvent_t copied[VBS_DEVICE_BUFFERS];
    cudaStream_t reading; /* the stream of functions that read what is copied */
    cudaEvent_t begun;    /* of the stream of computations: loads may begin */
    struct cu_half {
        cudaEvent_t full, empty; /* it was read; it was copied */
        bool used;               /* since loads began */
    } halves[2];
    bool captures;         /* the stream captures, so that nothing may wait for the device */
    cudaGraphExec_t graph; /* null: none */
    void *stage;           /* device memory for moves between ranges that overlap */
    int n_events;
    cudaEvent_t *events;
    int **order;                /* [n_layers + 1][n_inputs] the network's number of each input */
    struct cu_weights *weights; /* [n_layers + 1] */
    struct cu_affine **affine;  /* [n_layers + 1][1 + n_fused]; null: not made yet */
    void **operands;            /* [n_layers + 1] constant operands, on the device */
    struct cu_kernel *kernels;  /* [core.session.n_kernels] */
    int n_objects;
    int64_t max_objects;
    struct cu_object *objects;
};

/* The kernels that are being made: those of one layer at one batch. */
struct cu_build {
    struct vbs_ctx *ctx;
    struct cu_session *session;
    const struct vbs_network *network;
    int layer;
    const struct vbs_layer *l;
    int batch;
    const struct vbs_requested *requested; /* make only this kernel; null: all */
    bool pads;    /* pools whose windows reach unevenly beyond the input read a copy of it */
    bool can_pad; /* such a pool was built to read the input itself */
    struct cu_kernel *kernel; /* the one begun last; valid until the next one begins */
    int64_t scratch_bytes;    /* ranges of its own, before the workspace of calls */
    int64_t most_asked;       /* the largest workspace of a call */
    bool no_memory;           /* the device had no memory for a kernel; the reason
                                 is in ctx */
};

/* ---- status.c ---- */

/* Converts the status of a failed call. layer: its name or null; doing names the attempt. */
enum vbs_status cu_fail(struct vbs_ctx *ctx, const struct cu_session *session, const char *layer,
                        cudnnStatus_t status, const char *doing);
enum vbs_status cu_fail_cuda(struct vbs_ctx *ctx, const struct cu_session *session,
                             const char *layer, cudaError_t error, const char *doing);

/* Gives whether the library does not support the layer; some algorithms report wrong parameters
 * then. */
bool cu_declines(cudnnStatus_t said);
bool cu_is_of_memory(cudnnStatus_t said);

enum vbs_status cu_unsupported(const struct cu_build *b, const char *what) VBS_MUST_CHECK;

/* Fails with VBS_UNSUPPORTED, which names what, where the library does not support it; else as
 * cu_fail does. */
enum vbs_status cu_refuse(const struct cu_build *b, cudnnStatus_t said,
                          const char *what) VBS_MUST_CHECK;

/* ---- session.c: the calls of a session ---- */

extern const struct vbs_session_ops cu_session_ops;

/* ---- device.c ---- */

extern const struct vbs_device_ops cu_device_ops;
enum vbs_status cu_device_init(struct cu_build *b) VBS_MUST_CHECK;
void cu_device_clear(struct cu_session *session);

/* Begin and end a capture of the session's stream; *graph is null where the second function gives
 * false. Each begin that succeeds needs its end. */
bool cu_capture_begin(struct cu_session *session);
bool cu_capture_end(struct cu_session *session, cudaGraphExec_t *graph);

/* ---- probe.c ---- */

/* Returns whether this machine can run the backend with these libraries; if not, why is the reason
 * in words. */
bool cu_usable(const struct cu_api *api, char *why, size_t size);
void cu_describe_library(const struct cu_api *api, char *buffer, size_t size);
void cu_describe_device(const struct cu_api *api, char *buffer, size_t size);

/* ---- open.c ---- */

enum vbs_status cu_open(struct cu_build *b,
                        const struct vbs_backend_options *options) VBS_MUST_CHECK;

#endif
