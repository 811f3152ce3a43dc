/*
 * What a session offers beside its calls where its memory is that of a device, which the host
 * cannot touch: streams and events. Internal: programs that use the library need none of it. It is
 * in the room profile because measuring copies, the lowest part that uses it, is there; the backend
 * cudnn fills the table, and exec runs schedules with it.
 *
 * A device works off two streams. The stream of computations has what enqueue and move put on it,
 * and what the session's run, write and read do, which also wait for their own end. The stream of
 * copies has what begin_copy puts on it. Each stream is worked off in order; between the two only
 * events make an order.
 */
#ifndef VBS_PROFILE_DEVICE_H
#define VBS_PROFILE_DEVICE_H

#include "vbslab/measure.h"

/* Copies from the host that can be under way at once. */
#define VBS_DEVICE_BUFFERS 3

struct vbs_device_ops {
    /* As the session's run, but returns as soon as the kernel is on the stream of computations. */
    enum vbs_status (*enqueue)(struct vbs_ctx *ctx, struct vbs_session *session, int kernel,
                               const struct vbs_operands *operands);
    /* Puts a copy of bytes within the device's memory on the stream of computations; the ranges may
     * overlap. */
    enum vbs_status (*move)(struct vbs_ctx *ctx, struct vbs_session *session, void *to,
                            const void *from, int64_t bytes);
    /* Waits until everything on the stream of computations has ended. */
    enum vbs_status (*finish)(struct vbs_ctx *ctx, struct vbs_session *session);
    /*
     * Events 0 .. n - 1, made once. record_event lets the event stand for everything that was put
     * on the one stream so far; what is put on the other stream after wait_event starts when that
     * has ended. Both return 0, or a reason for explain.
     */
    enum vbs_status (*make_events)(struct vbs_ctx *ctx, struct vbs_session *session, int n);
    int (*record_event)(struct vbs_session *session, int event, bool computed /* or copied */);
    int (*wait_event)(struct vbs_session *session, int event, bool computing /* or copying */);
    /* Memory of the host from which the device can copy by itself; null: out of memory. */
    void *(*host_alloc)(struct vbs_session *session, int64_t bytes);
    void (*host_free)(struct vbs_session *session, void *memory);
    /*
     * Puts a copy of bytes from memory of host_alloc to the device on the stream of copies, and
     * returns at once. end_copy waits for the copy that was begun last with that number (0 ..
     * VBS_DEVICE_BUFFERS - 1). Threads may call these at the same time with different numbers.
     * Both return 0, or a reason for explain.
     */
    int (*begin_copy)(struct vbs_session *session, int number, void *to, const void *from,
                      int64_t bytes);
    int (*end_copy)(struct vbs_session *session, int number);
    /* A reason in words. */
    const char *(*explain)(int reason);
    /* Bytes of the device's memory that all processes use together; -1: it does not say. */
    int64_t (*used)(struct vbs_session *session);
};

#endif
