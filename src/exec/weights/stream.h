/*
 * The copy thread: loads of weights from their file into the arena, in the order of the schedule.
 * Internal to the room.
 *
 * Two counters join the two clocks: how many steps of the list the thread that computes has passed,
 * for which loads wait, and how many loads have ended, for which steps wait. Who waits does so
 * actively for a moment, then sleeps. A copy out of the page cache is work of a processor, of which
 * none may be idle: the thread has the lowest priority, and a step that waits for weights helps to
 * copy them.
 */
#ifndef VBS_EXEC_WEIGHTS_STREAM_H
#define VBS_EXEC_WEIGHTS_STREAM_H

#include "exec/weights/loader.h"
#include "vbslab/exec.h"

struct vbs_exec_load {
    int64_t step;   /* place in the list */
    int64_t after;  /* steps of the list that must have been passed before it begins */
    int64_t offset; /* in the file */
    int64_t bytes;
    void *to;
};

struct vbs_exec_stream;

/*
 * On a device the two threads only put work on its lists: "passed" and "ended" then say that it is
 * there, and points on the device keep the order. waits: loads end, and steps pass, when the
 * device has done them, so that their times can be taken.
 *
 * Borrows loads and loader until it is freed. VBS_NO_MEMORY, VBS_LIBRARY: no thread. */
enum vbs_status vbs_exec_stream_new(struct vbs_ctx *ctx, const struct vbs_exec_load *loads,
                                    int n_loads, struct vbs_exec_loader *loader, bool waits,
                                    struct vbs_exec_stream **stream) VBS_MUST_CHECK;
void vbs_exec_stream_free(struct vbs_exec_stream *stream);

/* Begins a run at start_s (base/clock.h). trace: null, or times of steps to fill in. */
void vbs_exec_stream_begin(struct vbs_exec_stream *stream, double start_s,
                           struct vbs_exec_step *trace);

/* Says that so many half steps of the list have been passed: 2 s + 1 when all that comes before
 * step s (from 0) has been done, 2 s + 2 when the step has. VBS_LIBRARY: the device. */
enum vbs_status vbs_exec_stream_pass(struct vbs_ctx *ctx, struct vbs_exec_stream *stream,
                                     int64_t n_half_steps) VBS_MUST_CHECK;

/* Waits until so many loads have ended. VBS_IO; VBS_LIBRARY: the device; VBS_INTERRUPTED:
 * ctx->cancel was set. */
enum vbs_status vbs_exec_stream_wait(struct vbs_ctx *ctx, struct vbs_exec_stream *stream,
                                     int n_loads) VBS_MUST_CHECK;

/* Begins no more loads and waits until the thread is idle. */
void vbs_exec_stream_stop(struct vbs_exec_stream *stream);

struct vbs_exec_streamed {
    double copy_us;
    int64_t bytes;
};

/* What the last run copied; when it has ended. */
struct vbs_exec_streamed vbs_exec_stream_streamed(const struct vbs_exec_stream *stream);

#endif
