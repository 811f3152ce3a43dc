/*
 * Weights that are read from a file while a schedule runs: the file, the loader that reads it into
 * the arena, and the copy thread. Internal to the room; the header of this folder for all others.
 */
#ifndef VBS_EXEC_WEIGHTS_WEIGHTS_H
#define VBS_EXEC_WEIGHTS_WEIGHTS_H

#include "exec/check/check.h"
#include "profile/device.h"
#include "vbslab/exec.h"

/* ---- file.c: the flat file of packed weights ---- */

/* The offsets, sizes and addresses in memory of direct reads are multiples of this. */
#define VBS_EXEC_SECTOR 4096

struct vbs_exec_file {
    int fd;
    int direct_fd;                  /* -1: reads go through the page cache */
    char *path;                     /* for messages */
    int64_t *offsets;               /* [n_packed] */
    int64_t first_bytes, end_bytes; /* beginning and end of the packed weights */
};

struct vbs_exec_file_options {
    const char *path;   /* null: a file without a name in folder, which vanishes with the process */
    const char *folder; /* null: ".", or, where it cannot be written, TMPDIR or /tmp */
    bool direct;
    struct vbs_progress progress;
};

/*
 * Opens the file of checked's packed weights, or writes it: kernel i of session is checked's kernel
 * i. Start with {.fd = -1, .direct_fd = -1}; close it after success and failure. A path that is a
 * symbolic link stays one: the file to which it leads is read and written. VBS_IO (nothing is left
 * behind). VBS_FORMAT: path is no regular file, or a file of another kind. Fails as packing does.
 */
enum vbs_status vbs_exec_file_open(struct vbs_ctx *ctx, struct vbs_exec_file *file,
                                   const struct vbs_exec_checked *checked,
                                   const struct vbs_network *network, struct vbs_session *session,
                                   const struct vbs_exec_file_options *options) VBS_MUST_CHECK;
void vbs_exec_file_close(struct vbs_exec_file *file);

/* Lists the kernels that together pack the weights number packed of checked: one for each slice, or
 * one for the whole. The caller frees the list of *n kernels. VBS_UNSUPPORTED: no kernels pack all
 * slices. */
enum vbs_status vbs_exec_packers(struct vbs_ctx *ctx, const struct vbs_exec_checked *checked,
                                 int packed, int **kernels, int *n) VBS_MUST_CHECK;

/* ---- loader.c: reading from the file into the arena ---- */

/* The thread that reads. */
enum vbs_exec_reader { VBS_READER_COPIES, VBS_READER_COMPUTES, VBS_N_READERS };

/*
 * Reads straight to the address in the arena where the host can. A device's memory is filled by way
 * of pinned memory, of which one half is filled while the device copies the other (Shi et al.,
 * mmCNN, section 3.3); or straight from all packed weights in pinned memory.
 */
struct vbs_exec_loader {
    const struct vbs_exec_file *file;
    struct vbs_session *session;      /* null: the host's memory */
    void *bounce[VBS_N_READERS];      /* for direct reads, VBS_EXEC_BOUNCE bytes */
    void *pinned[VBS_DEVICE_BUFFERS]; /* for a device, VBS_EXEC_BOUNCE bytes; the first two are
                                         the copy thread's, or the driver's */
    int next_pinned;                  /* the one of these two that it fills next */
    char *all;                        /* the file's packed weights in pinned memory, or null */
};

/* session: the session on whose device the arena is, or null. Borrows both. Clear it after success
 * and failure. */
enum vbs_status vbs_exec_loader_init(struct vbs_ctx *ctx, struct vbs_exec_loader *loader,
                                     const struct vbs_exec_file *file,
                                     struct vbs_session *session) VBS_MUST_CHECK;
void vbs_exec_loader_clear(struct vbs_exec_loader *loader);

/* Reads all packed weights into pinned memory of a device, from which it copies them by itself;
 * before the first read of the loader. */
enum vbs_status vbs_exec_loader_pin(struct vbs_ctx *ctx,
                                    struct vbs_exec_loader *loader) VBS_MUST_CHECK;

/* Reads bytes from offset of the file to an address in the arena; they are there when finish has
 * returned. Returns 0, or a reason for vbs_exec_loader_refuse. */
int vbs_exec_loader_read(struct vbs_exec_loader *loader, enum vbs_exec_reader who, void *to,
                         int64_t bytes, int64_t offset);
int vbs_exec_loader_finish(struct vbs_exec_loader *loader, enum vbs_exec_reader who);

/* A chunk of a load that the device's driver has read when the device wants it. */
struct vbs_exec_chunk {
    struct vbs_exec_loader *loader;
    void *pinned;
    int64_t bytes, offset;
    _Atomic int *reason; /* 0, or errno of the first read that failed */
};

/* Counts the chunks of a load of bytes from the file. */
int64_t vbs_exec_loader_chunks(const struct vbs_exec_loader *loader, int64_t bytes);

/* Puts a load on the device's streams, by its chunks, which must stay there until the device has
 * done it: of a captured load as long as the graph is launched. Returns 0, or a reason for
 * vbs_exec_loader_refuse. */
int vbs_exec_loader_enqueue(struct vbs_exec_loader *loader, void *to, int64_t bytes, int64_t offset,
                            struct vbs_exec_chunk *chunks, _Atomic int *reason);
int vbs_exec_loader_begin(struct vbs_exec_loader *loader);

enum vbs_status vbs_exec_loader_refuse(struct vbs_ctx *ctx, const struct vbs_exec_loader *loader,
                                       int reason) VBS_MUST_CHECK;

/* ---- stream.c: the copy thread ---- */

/*
 * Loads of weights from their file into the arena, in the order of the schedule. Two counters join
 * the two clocks: how many steps of the list the computing thread has passed, for which loads wait,
 * and how many loads have ended, for which steps wait. A thread that waits spins for a moment, then
 * sleeps. A copy out of the page cache is work of a processor, none of which may be idle: the
 * thread has the lowest priority, and a step that waits for weights helps to copy them.
 */

struct vbs_exec_load {
    int64_t step;   /* place in the list */
    int64_t after;  /* the number of half steps of the list that must have been passed before it
                       begins */
    int64_t offset; /* in the file */
    int64_t bytes;
    void *to;
};

struct vbs_exec_stream;

/*
 * On a device there is no copy thread: the computing thread enqueues the loads on the device's
 * streams, whose events keep the order, so that a run can be captured. "Passed" and "ended" then
 * mean that the work is enqueued. Weights that are not in pinned memory are read by a thread of the
 * device's driver, one chunk while the device copies another. Where waits is set, there is a copy
 * thread: loads have ended, and steps have passed, when the device has finished them, so that their
 * times can be taken.
 *
 * Borrows loads and loader until it is freed. VBS_NO_MEMORY, VBS_LIBRARY: no thread.
 */
enum vbs_status vbs_exec_stream_new(struct vbs_ctx *ctx, const struct vbs_exec_load *loads,
                                    int n_loads, struct vbs_exec_loader *loader, bool waits,
                                    struct vbs_exec_stream **stream) VBS_MUST_CHECK;
void vbs_exec_stream_free(struct vbs_exec_stream *stream);

/* Begins a run at start_s (base/clock.h). trace: null, or times of steps to fill in. VBS_LIBRARY:
 * the device failed; the run is to be stopped all the same. */
enum vbs_status vbs_exec_stream_begin(struct vbs_ctx *ctx, struct vbs_exec_stream *stream,
                                      double start_s, struct vbs_exec_step *trace) VBS_MUST_CHECK;

/* Tells the stream that so many half steps of the list have been passed: 2 s + 1 when all work
 * before step s (from 0) is done, 2 s + 2 when the step itself is. VBS_LIBRARY: the device
 * failed. */
enum vbs_status vbs_exec_stream_pass(struct vbs_ctx *ctx, struct vbs_exec_stream *stream,
                                     int64_t n_half_steps) VBS_MUST_CHECK;

/* Waits until so many loads have ended. VBS_IO; VBS_LIBRARY: the device failed; VBS_INTERRUPTED:
 * ctx->cancel was set. */
enum vbs_status vbs_exec_stream_wait(struct vbs_ctx *ctx, struct vbs_exec_stream *stream,
                                     int n_loads) VBS_MUST_CHECK;

/* Begins no more loads and waits until the thread is idle. */
void vbs_exec_stream_stop(struct vbs_exec_stream *stream);

/* Gives VBS_IO where the driver of a device could not read a load since the last check; after the
 * end of the device's work. */
enum vbs_status vbs_exec_stream_check(struct vbs_ctx *ctx,
                                      struct vbs_exec_stream *stream) VBS_MUST_CHECK;

/* Gives whether the computing thread enqueues the loads. */
bool vbs_exec_stream_is_alone(const struct vbs_exec_stream *stream);

struct vbs_exec_streamed {
    double copy_us;
    int64_t bytes;
};

/* Gives the bytes and the time of all copies of the last run, once it has ended. */
struct vbs_exec_streamed vbs_exec_stream_streamed(const struct vbs_exec_stream *stream);

#endif
