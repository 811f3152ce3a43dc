/* The cudnn backend: sessions on a GPU, by cuDNN and the CUDA runtime, in plain C. */
#include "backend/cudnn/cudnn.h"

#include "backend/backends.h"
#include "backend/common/graph.h"
#include "base/clock.h"
#include "base/fail.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOLD_S 200e-6

/* ---- failures ---- */

static enum vbs_status say(struct vbs_ctx *ctx, enum vbs_status status, const char *layer,
                           const char *library, const char *doing, const char *what, int code)
{
    if (status == VBS_NO_MEMORY)
        return vbs_fail(ctx, status, "%s%s%s: the GPU is out of memory (%s)", layer ? layer : "",
                        layer ? ": " : "", doing, what);
    return vbs_fail(ctx, status, "%s%s%s: %s failed: %s (%d)", layer ? layer : "",
                    layer ? ": " : "", doing, library, what, code);
}

enum vbs_status cu_fail_cuda(struct vbs_ctx *ctx, const char *layer, cudaError_t error,
                             const char *doing)
{
    enum vbs_status status = error == cudaErrorMemoryAllocation ? VBS_NO_MEMORY : VBS_LIBRARY;
    const char *what = cudaGetErrorString(error);

    (void)cudaGetLastError(); /* what does not stay is forgotten */
    return say(ctx, status, layer, "CUDA", doing, what, (int)error);
}

bool cu_is_of_memory(cudnnStatus_t said)
{
    return said == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
           said == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
}

enum vbs_status cu_fail(struct vbs_ctx *ctx, const char *layer, cudnnStatus_t status,
                        const char *doing)
{
    cudaError_t error = cudaDeviceSynchronize(); /* cuDNN has a runtime of its own */
    bool memory = cu_is_of_memory(status);

    if (error != cudaSuccess)
        return cu_fail_cuda(ctx, layer, error, doing);
    return say(ctx, memory ? VBS_NO_MEMORY : VBS_LIBRARY, layer, "cuDNN", doing,
               cudnnGetErrorString(status), (int)status);
}

bool cu_declines(cudnnStatus_t said)
{
    bool unable = said == CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER ||
                  said == CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART ||
                  said == CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE;

    return said >= CUDNN_STATUS_BAD_PARAM && said < CUDNN_STATUS_INTERNAL_ERROR && !unable;
}

/* ---- running ---- */

static struct cu_session *own(struct vbs_session *session)
{
    return (struct cu_session *)session;
}

/* A step with its pointers. */
struct bound {
    const struct cu_step *step;
    cudnnHandle_t cudnn;
    cudaStream_t stream;
    void *x, *y, *b, *scratch;
    const void *weights;
};

static void *find(const struct cu_operand *operand, const struct vbs_operands *o)
{
    char *place = NULL;

    switch (operand->place) {
    case CU_SRC:
        place = vbs_writable(o->src[operand->index]);
        break;
    case CU_DST:
        place = o->dst;
        break;
    case CU_SCRATCH:
        place = o->ws;
        break;
    case CU_FIXED:
        place = operand->fixed;
        break;
    }
    return place ? place + operand->offset : NULL;
}

static cudnnStatus_t convolve(const struct bound *at)
{
    const struct cu_step *step = at->step;
    cudnnConvolutionFwdAlgo_t algorithm = (cudnnConvolutionFwdAlgo_t)step->algorithm;
    size_t bytes = (size_t)step->scratch_bytes;
    const float one = 1, zero = 0;

    if (step->activation)
        return cudnnConvolutionBiasActivationForward(
            at->cudnn, &one, step->x.desc, at->x, step->filter, at->weights, step->conv, algorithm,
            at->scratch, bytes, &zero, step->y.desc, at->y, step->b.desc, at->b, step->activation,
            step->y.desc, at->y);
    return cudnnConvolutionForward(at->cudnn, &one, step->x.desc, at->x, step->filter, at->weights,
                                   step->conv, algorithm, at->scratch, bytes, &zero, step->y.desc,
                                   at->y);
}

static cudnnStatus_t convolve_back(const struct bound *at)
{
    const struct cu_step *step = at->step;
    const float one = 1, zero = 0;

    return cudnnConvolutionBackwardData(at->cudnn, &one, step->filter, at->weights, step->x.desc,
                                        at->x, step->conv,
                                        (cudnnConvolutionBwdDataAlgo_t)step->algorithm, at->scratch,
                                        (size_t)step->scratch_bytes, &zero, step->y.desc, at->y);
}

static cudnnStatus_t combine(const struct bound *at)
{
    const struct cu_step *step = at->step;
    const float zero = 0;

    return cudnnOpTensor(at->cudnn, step->binary, &step->alpha, step->x.desc, at->x, &step->beta,
                         step->b.desc, at->b, &zero, step->y.desc, at->y);
}

static cudnnStatus_t copy_rows(const struct bound *at)
{
    const struct cu_step *step = at->step;

    return cudaMemcpy2DAsync(at->y, step->y_pitch, at->x, step->x_pitch, step->width, step->n_rows,
                             cudaMemcpyDeviceToDevice, at->stream) == cudaSuccess
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_EXECUTION_FAILED_CUDART;
}

static cudnnStatus_t call(const struct bound *at)
{
    const struct cu_step *step = at->step;
    const float one = 1, zero = 0;

    switch (step->what) {
    case CU_CONV:
        return convolve(at);
    case CU_DECONV:
        return convolve_back(at);
    case CU_BIAS:
        return cudnnAddTensor(at->cudnn, &one, step->b.desc, at->b, &one, step->y.desc, at->y);
    case CU_ACTIVATE:
        return cudnnActivationForward(at->cudnn, step->activation, &one, step->x.desc, at->x, &zero,
                                      step->y.desc, at->y);
    case CU_POOL:
        return cudnnPoolingForward(at->cudnn, step->pool, &one, step->x.desc, at->x, &zero,
                                   step->y.desc, at->y);
    case CU_LRN:
        return cudnnLRNCrossChannelForward(at->cudnn, step->lrn, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one,
                                           step->x.desc, at->x, &zero, step->y.desc, at->y);
    case CU_SOFTMAX:
        return cudnnSoftmaxForward(at->cudnn, (cudnnSoftmaxAlgorithm_t)step->algorithm,
                                   CUDNN_SOFTMAX_MODE_CHANNEL, &one, step->x.desc, at->x, &zero,
                                   step->y.desc, at->y);
    case CU_BINARY:
        return combine(at);
    case CU_REDUCE:
        return cudnnReduceTensor(at->cudnn, step->reduce, NULL, 0, at->scratch,
                                 (size_t)step->scratch_bytes, &step->alpha, step->x.desc, at->x,
                                 &zero, step->y.desc, at->y);
    case CU_FILL:
        return cudnnSetTensor(at->cudnn, step->y.desc, at->y, &step->alpha);
    case CU_REARRANGE:
        return cudnnTransformTensor(at->cudnn, &step->alpha, step->x.desc, at->x, &zero,
                                    step->y.desc, at->y);
    case CU_COPY:
        return copy_rows(at);
    }
    return CUDNN_STATUS_BAD_PARAM;
}

/* Weights that the session keeps are all of the layer's; given ones are the kernel's own. */
static const void *weights_for(const struct cu_session *s, const struct cu_kernel *kernel,
                               const struct cu_step *step, const struct vbs_operands *o, int layer)
{
    const struct cu_weights *w = &s->weights[layer];
    const char *weights = o->weights;

    if (!kernel->has_weights)
        return NULL;
    if (!weights)
        weights = (const char *)w->data + kernel->first_output * w->count * (int64_t)sizeof(float);
    return weights + step->weights_offset;
}

cudnnStatus_t cu_enqueue(struct cu_session *s, const struct cu_kernel *kernel,
                         const struct vbs_operands *o)
{
    int layer = s->offers[kernel - s->kernels].layer;
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

    for (int i = 0; i < kernel->n_steps && status == CUDNN_STATUS_SUCCESS; i++) {
        const struct cu_step *step = &kernel->steps[i];
        const struct bound at = {
            .step = step,
            .cudnn = s->cudnn,
            .stream = s->stream,
            .x = find(&step->x, o),
            .y = find(&step->y, o),
            .b = find(&step->b, o),
            .scratch = step->scratch_bytes > 0 ? (char *)o->ws + step->scratch_offset : NULL,
            .weights = weights_for(s, kernel, step, o, layer)};

        status = call(&at);
    }
    return status;
}

/* Holds the stream until a kernel and the events round it are on its list, so that their time is
 * the device's alone; not for long, should a call wait for the device. */
static void CUDART_CB hold(void *self)
{
    struct cu_session *s = self;
    double until_s = vbs_clock_s() + HOLD_S;

    while (!atomic_load(&s->released) && vbs_clock_s() < until_s)
        ;
}

/* Puts kernel between the two events. */
static cudnnStatus_t enqueue_timed(struct cu_session *s, const struct cu_kernel *kernel,
                                   const struct vbs_operands *operands, cudaError_t *error)
{
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

    atomic_store(&s->released, false);
    *error = cudaLaunchHostFunc(s->stream, hold, s);
    if (*error == cudaSuccess)
        *error = cudaEventRecord(s->start, s->stream);
    if (*error == cudaSuccess)
        status = cu_enqueue(s, kernel, operands);
    if (*error == cudaSuccess && status == CUDNN_STATUS_SUCCESS)
        *error = cudaEventRecord(s->stop, s->stream);
    atomic_store(&s->released, true);
    return status;
}

static enum vbs_status run(struct vbs_ctx *ctx, struct vbs_session *session, int kernel,
                           const struct vbs_operands *operands, double *time_us)
{
    struct cu_session *s = own(session);
    const struct vbs_kernel *offer = &s->offers[kernel];
    const char *name = s->layers[offer->layer].name;
    cudnnStatus_t status;
    cudaError_t error;
    float ms = 0;

    if (offer->packed_bytes > 0 && s->weights_given && !operands->weights)
        return vbs_fail(ctx, VBS_INVALID, "layer '%s': '%s' at batch %d is run without weights",
                        name, offer->algorithm, offer->batch);
    status = enqueue_timed(s, &s->kernels[kernel], operands, &error);
    if (status != CUDNN_STATUS_SUCCESS)
        return cu_fail(ctx, name, status, offer->algorithm);
    if (error == cudaSuccess)
        error = cudaEventSynchronize(s->stop);
    if (error == cudaSuccess)
        error = cudaEventElapsedTime(&ms, s->start, s->stop);
    if (error != cudaSuccess)
        return cu_fail_cuda(ctx, name, error, offer->algorithm);
    *time_us = (double)ms * 1e3;
    return VBS_OK;
}

/* ---- memory ---- */

static void *alloc(struct vbs_session *session, int64_t bytes)
{
    void *memory = NULL;

    (void)session;
    if (cudaMalloc(&memory, bytes > 0 ? (size_t)bytes : 1) == cudaSuccess)
        return memory;
    (void)cudaGetLastError();
    return NULL;
}

static void release(struct vbs_session *session, void *memory)
{
    (void)session;
    cudaFree(memory);
}

static enum vbs_status pack(struct vbs_ctx *ctx, struct vbs_session *session, int kernel,
                            void *memory)
{
    struct cu_session *s = own(session);
    int layer = s->offers[kernel].layer;
    struct cu_build b = {.ctx = ctx,
                         .session = s,
                         .network = s->network,
                         .layer = layer,
                         .l = &s->network->layers[layer],
                         .batch = 1};

    if (!s->kernels[kernel].has_weights)
        return VBS_OK;
    return cu_weights_write(&b, s->kernels[kernel].first_output, s->kernels[kernel].n_outputs,
                            memory);
}

static size_t tensor_bytes(const struct cu_session *s, int tensor, int n)
{
    return (size_t)n * (size_t)s->layers[tensor].out_bytes;
}

static enum vbs_status write_tensor(struct vbs_ctx *ctx, struct vbs_session *session, int tensor,
                                    int n, const float *values, void *memory)
{
    const struct cu_session *s = own(session);
    cudaError_t error =
        n == 0 ? cudaSuccess
               : cudaMemcpy(memory, values, tensor_bytes(s, tensor, n), cudaMemcpyHostToDevice);

    return error == cudaSuccess
               ? VBS_OK
               : cu_fail_cuda(ctx, s->layers[tensor].name, error, "copying a tensor");
}

static enum vbs_status read_tensor(struct vbs_ctx *ctx, struct vbs_session *session, int tensor,
                                   int n, const void *memory, float *values)
{
    const struct cu_session *s = own(session);
    cudaError_t error =
        n == 0 ? cudaSuccess
               : cudaMemcpy(values, memory, tensor_bytes(s, tensor, n), cudaMemcpyDeviceToHost);

    return error == cudaSuccess
               ? VBS_OK
               : cu_fail_cuda(ctx, s->layers[tensor].name, error, "copying a tensor");
}

static enum vbs_status fill(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int n,
                            void *memory)
{
    size_t bytes = tensor_bytes(own(session), tensor, n);
    float *values = malloc(bytes > 0 ? bytes : 1);
    enum vbs_status status;

    if (!values)
        return vbs_no_memory(ctx);
    vbs_tensor_values(tensor, 0, (int64_t)(bytes / sizeof *values), values);
    status = write_tensor(ctx, session, tensor, n, values, memory);
    free(values);
    return status;
}

/* ---- opening and closing ---- */

static void close_session(struct vbs_session *session)
{
    struct cu_session *s = own(session);

    if (!s)
        return;
    if (s->stream)
        cudaStreamSynchronize(s->stream);
    for (int i = 0; i < s->base.n_kernels; i++)
        cu_kernel_release(&s->kernels[i]);
    cu_device_clear(s);
    while (s->n_objects > 0)
        cu_release(&s->objects[--s->n_objects]);
    if (s->start)
        cudaEventDestroy(s->start);
    if (s->stop)
        cudaEventDestroy(s->stop);
    if (s->cudnn)
        cudnnDestroy(s->cudnn);
    if (s->stream)
        cudaStreamDestroy(s->stream);
    free(s->objects);
    free(s->offers);
    free(s->kernels);
    vbs_arena_clear(&s->arena);
    free(s);
}

static const struct vbs_session_ops ops = {
    .device = &cu_device_ops,
    .alloc = alloc,
    .free = release,
    .run = run,
    .pack = pack,
    .fill = fill,
    .write = write_tensor,
    .read = read_tensor,
    .close = close_session,
};

static enum vbs_status open_session(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    const struct vbs_backend_options *options,
                                    struct vbs_session **session)
{
    struct cu_session *s = calloc(1, sizeof *s);
    struct cu_build b = {.ctx = ctx, .session = s, .network = network, .batch = 1};
    enum vbs_status status;

    if (!s)
        return vbs_no_memory(ctx);
    s->base.ops = &ops;
    s->network = network;
    s->weights_given = options->weights_given;
    status = cu_open(&b, options);
    if (status != VBS_OK) {
        close_session(&s->base);
        return status;
    }
    *session = &s->base;
    return VBS_OK;
}

static void probe(struct vbs_backend_info *info)
{
    *info = (struct vbs_backend_info){.built = true};
    cu_describe_library(info->library, sizeof info->library);
    info->usable = cu_usable(info->why, sizeof info->why);
    if (info->usable)
        cu_describe_device(info->device, sizeof info->device);
}

const struct vbs_backend vbs_backend_cudnn = {
    .name = "cudnn",
    .summary = "layers on an NVIDIA GPU, by cuDNN",
    .device = true,
    .probe = probe,
    .open = open_session,
};
