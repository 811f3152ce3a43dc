#include "fake/cuda_common.h"

/* ---- Streams ---- */

static int create_stream(cudaStream_t *stream, unsigned flags)
{
    struct fake_object *s;

    if (!stream || flags > cudaStreamNonBlocking)
        return fake_wrong("no place for the stream, or unknown flags %#x", flags);
    s = fake_object_new(FAKE_STREAM);
    if (!s)
        return cudaErrorMemoryAllocation;
    s->stream.blocking = flags == cudaStreamDefault;
    fake_keep_stream(s);
    *stream = (cudaStream_t)s;
    return 0;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    int code = fake_enter(__func__);

    return fake_leave(code ? code : create_stream(stream, cudaStreamDefault));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    int code = fake_enter(__func__);

    return fake_leave(code ? code : create_stream(stream, flags));
}

/* The work that is queued is still done. */
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    int code = fake_enter(__func__), ended = fake_end(FAKE_STREAM, stream);

    return fake_leave(code ? code : ended);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    int code = fake_enter(__func__);
    struct fake_object *s = code ? NULL : fake_stream(stream);

    if (s)
        fake_settle_stream(s);
    return fake_leave(code || s ? code : (int)cudaErrorInvalidResourceHandle);
}

cudaError_t cudaDeviceSynchronize(void)
{
    int code = fake_enter(__func__);

    if (!code)
        fake_settle_device();
    return fake_leave(code);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    int code = fake_enter(__func__);
    struct fake_object *s = code ? NULL : fake_stream(stream);

    if (!code)
        code = s ? fake_query(s) : (int)cudaErrorInvalidResourceHandle;
    return fake_leave(code);
}

/* ---- Events ---- */

/* Gives the event, or null and a violation. */
static struct fake_object *event_of(cudaEvent_t event, int *code)
{
    struct fake_object *e = *code ? NULL : fake_object(FAKE_EVENT, event);

    if (!e && !*code)
        *code = cudaErrorInvalidResourceHandle;
    return e;
}

static int create_event(cudaEvent_t *event, unsigned flags)
{
    struct fake_object *e;

    if (!event || flags > 7)
        return fake_wrong("no place for the event, or unknown flags %#x", flags);
    e = fake_object_new(FAKE_EVENT);
    if (!e)
        return cudaErrorMemoryAllocation;
    e->event.timed = !(flags & cudaEventDisableTiming);
    *event = (cudaEvent_t)e;
    return 0;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    int code = fake_enter(__func__);

    return fake_leave(code ? code : create_event(event, cudaEventDefault));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    int code = fake_enter(__func__);

    return fake_leave(code ? code : create_event(event, flags));
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    int code = fake_enter(__func__), ended = fake_end(FAKE_EVENT, event);

    return fake_leave(code ? code : ended);
}

static int record(struct fake_object *event, struct fake_object *stream)
{
    struct fake_object *r = fake_object_new(FAKE_RECORD);

    if (!r)
        return cudaErrorMemoryAllocation;
    r->record.stream = stream;
    event->event.latest = r;
    r->record.number = fake_queue(
        stream,
        &(struct fake_op){.records = r, .cost_us = event->event.timed ? fake_cuda.event_us : 0});
    return 0;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    int code = fake_enter(__func__);
    struct fake_object *e = event_of(event, &code), *s = e ? fake_stream(stream) : NULL;

    if (e)
        code = s ? record(e, s) : (int)cudaErrorInvalidResourceHandle;
    return fake_leave(code);
}

static void call_host(const struct fake_op *op)
{
    op->host(op->self);
}

/* The function is called with the fake's lock held: like CUDA's, it must not call CUDA. */
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *self)
{
    int code = fake_enter(__func__);
    struct fake_object *s = fake_stream(stream);

    if (!s)
        code = cudaErrorInvalidResourceHandle;
    else if (code == 0 && !function)
        code = fake_wrong("no function");
    if (s && code == 0)
        fake_queue(s, &(struct fake_op){.run = call_host, .host = function, .self = self});
    return fake_leave(code);
}

/* Waits for the latest record until now; an event without one is no reason to wait. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    int code = fake_enter(__func__);
    struct fake_object *e = event_of(event, &code), *s = e ? fake_stream(stream) : NULL;

    if (e && flags != cudaEventWaitDefault)
        code = fake_wrong("unknown flags %#x", flags);
    else if (e && !s)
        code = cudaErrorInvalidResourceHandle;
    else if (e && e->event.latest) {
        code = fake_join(s, e->event.latest);
        if (!code)
            fake_queue(s, &(struct fake_op){.waits = e->event.latest});
    }
    return fake_leave(code);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    int code = fake_enter(__func__);
    struct fake_object *e = event_of(event, &code), *r = e ? e->event.latest : NULL;

    if (r && r->record.graph)
        code = fake_wrong("the event was recorded by a capture");
    else if (r) {
        fake_settle(r->record.stream, r->record.number);
        fake_wait_until(r->record.us);
    }
    return fake_leave(code);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    int code = fake_enter(__func__);
    struct fake_object *e = event_of(event, &code), *r = e ? e->event.latest : NULL;

    if (r && r->record.graph)
        code = fake_wrong("the event was recorded by a capture");
    else if (r && !r->record.done)
        fake_step(r->record.stream);
    if (r && r->record.done)
        fake_wait_until(r->record.us);
    else if (r && !r->record.graph)
        code = cudaErrorNotReady;
    return fake_leave(code);
}

static int elapsed(float *ms, const struct fake_object *start, const struct fake_object *end)
{
    if (!ms || !start->event.timed || !end->event.timed)
        return fake_wrong("no place for the time, or events without timing");
    if (!start->event.latest || !end->event.latest)
        return fake_wrong("an event was never recorded");
    if (!start->event.latest->record.done || !end->event.latest->record.done)
        return cudaErrorNotReady;
    *ms = (float)((end->event.latest->record.us - start->event.latest->record.us) / 1000);
    return 0;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    int code = fake_enter(__func__);
    struct fake_object *a = event_of(start, &code), *b = event_of(end, &code);

    return fake_leave(code ? code : elapsed(ms, a, b));
}
