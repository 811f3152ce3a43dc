/* Copies within the device's memory, and to it from the host's. */
#include "backend/cudnn/kernel.h"

#include "base/fail.h"

#include <stdlib.h>

/* Bytes of device memory, for copies between ranges that overlap. */
#define STAGE_BYTES ((int64_t)1 << 20)

static struct cu_session *own(struct vbs_session *session)
{
    return (struct cu_session *)session;
}

enum vbs_status cu_device_init(struct cu_build *b)
{
    struct cu_session *s = b->session;
    cudaError_t error = s->api.cudaStreamCreateWithFlags(&s->copying, cudaStreamNonBlocking);

    for (int i = 0; i < VBS_DEVICE_BUFFERS && error == cudaSuccess; i++)
        error = s->api.cudaEventCreateWithFlags(&s->copied[i],
                                                cudaEventDisableTiming | cudaEventBlockingSync);
    if (error == cudaSuccess)
        error = s->api.cudaStreamCreateWithFlags(&s->reading, cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = s->api.cudaEventCreateWithFlags(&s->begun, cudaEventDisableTiming);
    for (int i = 0; i < 2 && error == cudaSuccess; i++) {
        error = s->api.cudaEventCreateWithFlags(&s->halves[i].full, cudaEventDisableTiming);
        if (error == cudaSuccess)
            error = s->api.cudaEventCreateWithFlags(&s->halves[i].empty, cudaEventDisableTiming);
    }
    if (error == cudaSuccess)
        error = s->api.cudaMalloc(&s->stage, (size_t)STAGE_BYTES);
    return error == cudaSuccess ? VBS_OK
                                : cu_fail_cuda(b->ctx, b->session, NULL, error, "preparing copies");
}

static void drop_graph(struct cu_session *s)
{
    if (s->graph)
        s->api.cudaGraphExecDestroy(s->graph);
    s->graph = NULL;
}

static void destroy_event(const struct cu_session *s, cudaEvent_t event)
{
    if (event)
        s->api.cudaEventDestroy(event);
}

void cu_device_clear(struct cu_session *s)
{
    if (s->reading)
        s->api.cudaStreamSynchronize(s->reading);
    if (s->copying)
        s->api.cudaStreamSynchronize(s->copying);
    for (int i = 0; i < 2; i++) {
        destroy_event(s, s->halves[i].full);
        destroy_event(s, s->halves[i].empty);
    }
    destroy_event(s, s->begun);
    for (int i = 0; i < VBS_DEVICE_BUFFERS; i++)
        destroy_event(s, s->copied[i]);
    while (s->n_events > 0)
        s->api.cudaEventDestroy(s->events[--s->n_events]);
    free(s->events);
    drop_graph(s);
    if (s->stage)
        s->api.cudaFree(s->stage);
    if (s->copying)
        s->api.cudaStreamDestroy(s->copying);
    if (s->reading)
        s->api.cudaStreamDestroy(s->reading);
}

static cudaError_t copy(const struct cu_session *s, char *to, const char *from, int64_t bytes)
{
    return s->api.cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToDevice, s->stream);
}

/* Copies stage by stage, beginning at the end that the destination leaves first. */
static cudaError_t copy_overlapping(const struct cu_session *s, char *to, const char *from,
                                    int64_t bytes)
{
    cudaError_t error = cudaSuccess;

    for (int64_t done = 0; done < bytes && error == cudaSuccess;) {
        int64_t left = bytes - done, n = left < STAGE_BYTES ? left : STAGE_BYTES;
        int64_t at = to < from ? done : left - n;

        error = copy(s, s->stage, from + at, n);
        if (error == cudaSuccess)
            error = copy(s, to + at, s->stage, n);
        done += n;
    }
    return error;
}

static enum vbs_status move(struct vbs_ctx *ctx, struct vbs_session *session, void *to,
                            const void *from, int64_t bytes)
{
    const struct cu_session *s = own(session);
    char *target = to;
    const char *source = from;
    bool apart = target + bytes <= source || source + bytes <= target;
    cudaError_t error = apart              ? copy(s, target, source, bytes)
                        : target == source ? cudaSuccess
                                           : copy_overlapping(s, target, source, bytes);

    return error == cudaSuccess ? VBS_OK : cu_fail_cuda(ctx, s, NULL, error, "moving samples");
}

/* ---- the two streams ---- */

/* Gives an error as a number, and clears it where it is not permanent. */
static int reason_of(const struct cu_session *s, cudaError_t error)
{
    if (error != cudaSuccess)
        (void)s->api.cudaGetLastError();
    return (int)error;
}

static enum vbs_status enqueue(struct vbs_ctx *ctx, struct vbs_session *session, int kernel,
                               const struct vbs_operands *operands)
{
    struct cu_session *s = own(session);
    const struct vbs_kernel *offer = &s->core.offers[kernel];
    cudnnStatus_t status = cu_enqueue(s, &s->kernels[kernel], operands);

    if (status != CUDNN_STATUS_SUCCESS && s->captures)
        return vbs_fail(ctx, VBS_LIBRARY, "%s: cannot be captured: %s",
                        s->core.layers[offer->layer].name, s->api.cudnnGetErrorString(status));
    return status == CUDNN_STATUS_SUCCESS
               ? VBS_OK
               : cu_fail(ctx, s, s->core.layers[offer->layer].name, status, offer->algorithm);
}

static enum vbs_status enqueue_copy(struct vbs_ctx *ctx, const struct cu_session *s, int tensor,
                                    int n, void *to, const void *from, enum cudaMemcpyKind kind)
{
    size_t bytes = (size_t)n * (size_t)s->core.layers[tensor].out_bytes;
    cudaError_t error = s->api.cudaMemcpyAsync(to, from, bytes, kind, s->stream);

    return error == cudaSuccess
               ? VBS_OK
               : cu_fail_cuda(ctx, s, s->core.layers[tensor].name, error, "copying a tensor");
}

static enum vbs_status enqueue_write(struct vbs_ctx *ctx, struct vbs_session *session, int tensor,
                                     int n, const float *values, void *memory)
{
    return enqueue_copy(ctx, own(session), tensor, n, memory, values, cudaMemcpyHostToDevice);
}

static enum vbs_status enqueue_read(struct vbs_ctx *ctx, struct vbs_session *session, int tensor,
                                    int n, const void *memory, float *values)
{
    return enqueue_copy(ctx, own(session), tensor, n, values, memory, cudaMemcpyDeviceToHost);
}

static enum vbs_status finish(struct vbs_ctx *ctx, struct vbs_session *session)
{
    const struct cu_session *s = own(session);
    cudaError_t error = s->api.cudaStreamSynchronize(s->stream);

    return error == cudaSuccess ? VBS_OK : cu_fail_cuda(ctx, s, NULL, error, "running a schedule");
}

static enum vbs_status make_events(struct vbs_ctx *ctx, struct vbs_session *session, int n)
{
    struct cu_session *s = own(session);
    cudaError_t error = cudaSuccess;
    cudaEvent_t *more = realloc(s->events, ((size_t)n + 1) * sizeof *more);

    if (!more)
        return vbs_no_memory(ctx);
    s->events = more;
    for (; s->n_events < n && error == cudaSuccess; s->n_events += error == cudaSuccess)
        error = s->api.cudaEventCreateWithFlags(&s->events[s->n_events], cudaEventDisableTiming);
    return error == cudaSuccess ? VBS_OK : cu_fail_cuda(ctx, s, NULL, error, "preparing copies");
}

static int record_event(struct vbs_session *session, int event, bool computed)
{
    const struct cu_session *s = own(session);

    return reason_of(s,
                     s->api.cudaEventRecord(s->events[event], computed ? s->stream : s->copying));
}

static int wait_event(struct vbs_session *session, int event, bool computing)
{
    const struct cu_session *s = own(session);

    return reason_of(
        s, s->api.cudaStreamWaitEvent(computing ? s->stream : s->copying, s->events[event], 0));
}

/* ---- graphs of CUDA ---- */

/* Gives whether a call succeeded. An error that is permanent fails the next call on the device,
 * too. */
static bool succeeds(const struct cu_session *s, cudaError_t error)
{
    return reason_of(s, error) == 0;
}

bool cu_capture_begin(struct cu_session *s)
{
    s->captures =
        succeeds(s, s->api.cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeThreadLocal));
    return s->captures;
}

bool cu_capture_end(struct cu_session *s, cudaGraphExec_t *exec)
{
    cudaGraph_t graph = NULL;

    *exec = NULL;
    s->captures = false;
    if (succeeds(s, s->api.cudaStreamEndCapture(s->stream, &graph)) &&
        !succeeds(s, s->api.cudaGraphInstantiate(exec, graph, 0)))
        *exec = NULL;
    if (graph)
        s->api.cudaGraphDestroy(graph);
    return *exec != NULL;
}

static bool begin_capture(struct vbs_session *session)
{
    drop_graph(own(session));
    return cu_capture_begin(own(session));
}

static bool end_capture(struct vbs_session *session)
{
    return cu_capture_end(own(session), &own(session)->graph);
}

static enum vbs_status launch(struct vbs_ctx *ctx, struct vbs_session *session)
{
    struct cu_session *s = own(session);
    cudaError_t error = s->api.cudaGraphLaunch(s->graph, s->stream);

    return error == cudaSuccess ? VBS_OK : cu_fail_cuda(ctx, s, NULL, error, "running a schedule");
}

/* ---- from the host ---- */

static void *host_alloc(struct vbs_session *session, int64_t bytes)
{
    const struct cu_session *s = own(session);
    void *memory = NULL;

    if (s->api.cudaMallocHost(&memory, (size_t)bytes) == cudaSuccess)
        return memory;
    (void)s->api.cudaGetLastError();
    return NULL;
}

static void host_free(struct vbs_session *session, void *memory)
{
    own(session)->api.cudaFreeHost(memory);
}

static int begin_copy(struct vbs_session *session, int number, void *to, const void *from,
                      int64_t bytes)
{
    const struct cu_session *s = own(session);
    cudaError_t error =
        s->api.cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyHostToDevice, s->copying);

    if (error == cudaSuccess && !s->captures)
        error = s->api.cudaEventRecord(s->copied[number], s->copying);
    return reason_of(s, error);
}

static int end_copy(struct vbs_session *session, int number)
{
    const struct cu_session *s = own(session);

    return reason_of(s, s->api.cudaEventSynchronize(s->copied[number]));
}

static int begin_loads(struct vbs_session *session)
{
    struct cu_session *s = own(session);
    cudaError_t error = s->api.cudaEventRecord(s->begun, s->stream);

    if (error == cudaSuccess)
        error = s->api.cudaStreamWaitEvent(s->reading, s->begun, 0);
    s->halves[0].used = s->halves[1].used = false;
    return reason_of(s, error);
}

/* Puts the call of the function on the stream of reads. */
static cudaError_t enqueue_call(struct cu_session *s, struct cu_half *half,
                                const struct vbs_device_load *load)
{
    cudaError_t error =
        half->used ? s->api.cudaStreamWaitEvent(s->reading, half->empty, 0) : cudaSuccess;

    if (error == cudaSuccess)
        error = s->api.cudaLaunchHostFunc(s->reading, load->read, load->self);
    if (error == cudaSuccess)
        error = s->api.cudaEventRecord(half->full, s->reading);
    if (error == cudaSuccess)
        error = s->api.cudaStreamWaitEvent(s->copying, half->full, 0);
    return error;
}

/* Waits after an error for the function, which may be called although nobody waits for it. */
static int load_half(struct vbs_session *session, int number, const struct vbs_device_load *load)
{
    struct cu_session *s = own(session);
    struct cu_half *half = &s->halves[number];
    cudaError_t error = enqueue_call(s, half, load);
    int reason = reason_of(s, error);

    if (reason == 0)
        reason = begin_copy(session, number, load->to, load->from, load->bytes);
    if (reason == 0)
        reason = reason_of(s, s->api.cudaEventRecord(half->empty, s->copying));
    half->used = true;
    if (reason && !s->captures)
        (void)reason_of(s, s->api.cudaStreamSynchronize(s->reading));
    return reason;
}

static const char *explain(struct vbs_session *session, int reason)
{
    return own(session)->api.cudaGetErrorString((cudaError_t)reason);
}

static int64_t used(struct vbs_session *session)
{
    size_t unused, all;

    return own(session)->api.cudaMemGetInfo(&unused, &all) == cudaSuccess ? (int64_t)(all - unused)
                                                                          : -1;
}

const struct vbs_device_ops cu_device_ops = {
    .enqueue = enqueue,
    .move = move,
    .enqueue_write = enqueue_write,
    .enqueue_read = enqueue_read,
    .begin_capture = begin_capture,
    .end_capture = end_capture,
    .launch = launch,
    .finish = finish,
    .make_events = make_events,
    .record_event = record_event,
    .wait_event = wait_event,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .begin_copy = begin_copy,
    .end_copy = end_copy,
    .begin_loads = begin_loads,
    .load = load_half,
    .explain = explain,
    .used = used,
};
