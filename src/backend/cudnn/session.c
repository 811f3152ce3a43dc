/* A session's calls: running kernels, packing their weights, memory, tensors, and the end. */
#include "backend/cudnn/operators.h"

#include "base/fail.h"

#include <stdlib.h>

static struct cu_session *own(struct vbs_session *session)
{
    return (struct cu_session *)session;
}

/* ---- running ---- */

static enum vbs_status run_kernel(struct vbs_ctx *ctx, struct vbs_session *session, int kernel,
                                  const struct vbs_operands *operands, double *time_us)
{
    struct cu_session *s = own(session);
    const struct vbs_kernel *offer = &s->core.offers[kernel];
    const char *name = s->core.layers[offer->layer].name;
    cudnnStatus_t status;
    cudaError_t error = cudaSuccess;

    if (offer->packed_bytes > 0 && s->core.weights_given && !operands->weights)
        return vbs_fail(ctx, VBS_INVALID, "layer '%s': '%s' at batch %d is run without weights",
                        name, offer->algorithm, offer->batch);
    status = time_us ? cu_run_timed(s, &s->kernels[kernel], operands, time_us, &error)
                     : cu_enqueue(s, &s->kernels[kernel], operands);
    if (status != CUDNN_STATUS_SUCCESS)
        return cu_fail(ctx, s, name, status, offer->algorithm);
    if (error == cudaSuccess)
        error = s->api.cudaStreamSynchronize(s->stream);
    if (error != cudaSuccess)
        return cu_fail_cuda(ctx, s, name, error, offer->algorithm);
    return VBS_OK;
}

/* ---- memory ---- */

static void *alloc(struct vbs_session *session, int64_t bytes)
{
    const struct cu_session *s = own(session);
    void *memory = NULL;

    if (s->api.cudaMalloc(&memory, bytes > 0 ? (size_t)bytes : 1) == cudaSuccess)
        return memory;
    (void)s->api.cudaGetLastError();
    return NULL;
}

static void release(struct vbs_session *session, void *memory)
{
    own(session)->api.cudaFree(memory);
}

static enum vbs_status pack(struct vbs_ctx *ctx, struct vbs_session *session, int kernel,
                            void *memory)
{
    struct cu_session *s = own(session);
    int layer = s->core.offers[kernel].layer;
    struct cu_build b = {.ctx = ctx,
                         .session = s,
                         .network = s->core.network,
                         .layer = layer,
                         .l = &s->core.network->layers[layer],
                         .batch = 1};

    if (!s->kernels[kernel].has_weights)
        return VBS_OK;
    return cu_weights_write(&b, s->kernels[kernel].first_output, s->kernels[kernel].n_outputs,
                            memory);
}

static size_t tensor_bytes(const struct cu_session *s, int tensor, int n)
{
    return (size_t)n * (size_t)s->core.layers[tensor].out_bytes;
}

static enum vbs_status write_tensor(struct vbs_ctx *ctx, struct vbs_session *session, int tensor,
                                    int n, const float *values, void *memory)
{
    const struct cu_session *s = own(session);
    cudaError_t error = n == 0 ? cudaSuccess
                               : s->api.cudaMemcpy(memory, values, tensor_bytes(s, tensor, n),
                                                   cudaMemcpyHostToDevice);

    return error == cudaSuccess
               ? VBS_OK
               : cu_fail_cuda(ctx, s, s->core.layers[tensor].name, error, "copying a tensor");
}

static enum vbs_status read_tensor(struct vbs_ctx *ctx, struct vbs_session *session, int tensor,
                                   int n, const void *memory, float *values)
{
    const struct cu_session *s = own(session);
    cudaError_t error = n == 0 ? cudaSuccess
                               : s->api.cudaMemcpy(values, memory, tensor_bytes(s, tensor, n),
                                                   cudaMemcpyDeviceToHost);

    return error == cudaSuccess
               ? VBS_OK
               : cu_fail_cuda(ctx, s, s->core.layers[tensor].name, error, "copying a tensor");
}

static enum vbs_status fill(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int n,
                            void *memory)
{
    size_t bytes = tensor_bytes(own(session), tensor, n);
    float *values = malloc(bytes > 0 ? bytes : 1);
    enum vbs_status status;

    if (!values)
        return vbs_no_memory(ctx);
    if (tensor == 0)
        vbs_network_input_values(own(session)->core.network, 0, (int64_t)(bytes / sizeof *values),
                                 values);
    else
        vbs_tensor_values(tensor, 0, (int64_t)(bytes / sizeof *values), values);
    status = write_tensor(ctx, session, tensor, n, values, memory);
    free(values);
    return status;
}

/* ---- closing ---- */

static void close_session(struct vbs_session *session)
{
    struct cu_session *s = own(session);

    if (s->stream)
        s->api.cudaStreamSynchronize(s->stream);
    for (int i = 0; i < s->core.session.n_kernels; i++)
        cu_kernel_release(&s->kernels[i]);
    cu_device_clear(s);
    while (s->n_objects > 0)
        cu_release(s, &s->objects[--s->n_objects]);
    if (s->start)
        s->api.cudaEventDestroy(s->start);
    if (s->stop)
        s->api.cudaEventDestroy(s->stop);
    if (s->cudnn)
        s->api.cudnnDestroy(s->cudnn);
    if (s->stream)
        s->api.cudaStreamDestroy(s->stream);
    free(s->objects);
    free(s->kernels);
    vbs_session_core_clear(&s->core);
    free(s);
}

static uint64_t geometry(const struct vbs_session *session, int layer)
{
    return vbs_session_geometry((const struct vbs_session_core *)session, layer, layer);
}

const struct vbs_session_ops cu_session_ops = {
    .device = &cu_device_ops,
    .alloc = alloc,
    .free = release,
    .run = run_kernel,
    .pack = pack,
    .fill = fill,
    .write = write_tensor,
    .read = read_tensor,
    .close = close_session,
    .geometry = geometry,
};
