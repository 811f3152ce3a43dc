/*
 * The calls of a session beside the public ones where its memory is that of a device, which the
 * host cannot touch: streams and events. Internal: programs that use the library do not need them.
 * This header is in the room profile because the measurement of copies, the lowest part that uses
 * it, is there; the backend cudnn fills the table, and exec runs schedules with it.
 *
 * A device works off two streams. The stream of computations has the work of enqueue, move,
 * enqueue_write and enqueue_read, and that of the session's run, write and read, which also wait
 * for their own end. The stream of
 * copies has the work of begin_copy and load. Each stream is worked off in order; between the two
 * only events make an order.
 */
#ifndef VBS_PROFILE_DEVICE_H
#define VBS_PROFILE_DEVICE_H

#include "vbslab/measure.h"

/* Copies from the host that can be under way at once. */
#define VBS_DEVICE_BUFFERS 3

/* A copy to the device of bytes that a function of the host reads first. */
struct vbs_device_load {
    void (*read)(void *self); /* fills from; calls no function of the session */
    void *self;
    void *to;
    const void *from; /* memory of host_alloc */
    int64_t bytes;
};

struct vbs_device_ops {
    /* Does as the session's run, but returns as soon as the kernel is on the stream of
     * computations. */
    enum vbs_status (*enqueue)(struct vbs_ctx *ctx, struct vbs_session *session, int kernel,
                               const struct vbs_operands *operands);
    /* Puts a copy of bytes within the device's memory on the stream of computations; the ranges may
     * overlap. */
    enum vbs_status (*move)(struct vbs_ctx *ctx, struct vbs_session *session, void *to,
                            const void *from, int64_t bytes);
    /* Do as the session's write and read, on values in memory of host_alloc, but return as soon as
     * the copy is on the stream of computations. */
    enum vbs_status (*enqueue_write)(struct vbs_ctx *ctx, struct vbs_session *session, int tensor,
                                     int n, const float *values, void *memory);
    enum vbs_status (*enqueue_read)(struct vbs_ctx *ctx, struct vbs_session *session, int tensor,
                                    int n, const void *memory, float *values);
    /*
     * The work that is put on the stream of computations between begin_capture and end_capture
     * becomes a graph and is not done, and so does that of the stream of copies which waits for an
     * event of it. The last work must wait for the copies of the graph. end_copy is not for them.
     * launch puts all of the graph that was made last on the stream by one call, as often as is
     * wanted. Both functions of the capture give whether they succeed; there is no graph where the
     * device cannot capture some of the work. Each begin_capture that succeeds needs its
     * end_capture, after errors too.
     */
    bool (*begin_capture)(struct vbs_session *session);
    bool (*end_capture)(struct vbs_session *session);
    enum vbs_status (*launch)(struct vbs_ctx *ctx, struct vbs_session *session);
    /* Waits until all work on the stream of computations has ended. */
    enum vbs_status (*finish)(struct vbs_ctx *ctx, struct vbs_session *session);
    /*
     * make_events makes events 0 .. n - 1, once. record_event makes an event stand for all work on
     * one of the streams so far; the work that is put on the other stream after wait_event starts
     * when that work has ended. Both return 0, or a reason for explain.
     */
    enum vbs_status (*make_events)(struct vbs_ctx *ctx, struct vbs_session *session, int n);
    int (*record_event)(struct vbs_session *session, int event,
                        bool computed /* false: the stream of copies */);
    int (*wait_event)(struct vbs_session *session, int event,
                      bool computing /* false: the stream of copies */);
    /* Allocates memory of the host from which the device can copy by itself; null: out of
     * memory. */
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
    /*
     * load puts a load on the device's streams and returns at once: the copy, on the stream of
     * copies, waits for the end of the function, which a thread of the device's driver calls once
     * the load that was put before with that number (0 or 1) has ended. Loads can be captured.
     * begin_loads comes before the first of a run or a capture. Both return 0, or a reason for
     * explain.
     */
    int (*begin_loads)(struct vbs_session *session);
    int (*load)(struct vbs_session *session, int number, const struct vbs_device_load *load);
    /* Returns a reason in words. */
    const char *(*explain)(struct vbs_session *session, int reason);
    /* Gives the bytes of the device's memory that all processes use together; -1: the device does
     * not tell. */
    int64_t (*used)(struct vbs_session *session);
};

#endif
