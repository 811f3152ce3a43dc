#include "exec/weights/loader.h"

#include "base/background.h"
#include "base/clock.h"
#include "base/fail.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Looks at a value before a thread sleeps; they take a microsecond or two. */
#define SPINS   200
#define LOOK_NS 50000000L /* time between two looks at ctx->cancel while a thread waits */
#define NOBODY  INT64_MAX

/* A number that only grows during a run, and a thread that waits for it to reach a value. */
struct gate {
    _Atomic int64_t value;
    _Atomic int64_t requested; /* the value that a thread waits for; NOBODY: none sleeps */
    pthread_mutex_t mutex;
    pthread_cond_t cond;
};

/* The load under way, which is read in chunks by every thread that has time, and ended by the last
 * of them; guarded by loaded.mutex. */
struct sharing {
    int next;                         /* the first load that has not ended */
    const struct vbs_exec_load *load; /* this load, once it has begun; else null */
    int64_t at;                       /* bytes that threads have taken so far */
    int n_readers;
    int reason; /* the reason of a chunk that failed, else 0 */
    double start_s;
};

struct chunk {
    void *to;
    int64_t bytes, offset;
};

struct vbs_exec_stream {
    const struct vbs_exec_load *loads;
    int n_loads;
    struct vbs_exec_loader *loader;
    bool alone;     /* the computing thread enqueues the loads of a device, whose events keep the
                       order; there is no copy thread. Event i: load i may begin; event n_loads + i:
                       it has ended */
    int n_enqueued; /* loads */
    int n_used;     /* chunks of them */
    struct vbs_exec_chunk *chunks; /* of all loads, where the device's driver reads them */
    _Atomic int chunk_reason; /* the reason of a chunk that the driver could not read, else 0 */
    struct sharing sharing;
    struct gate run;    /* the number of runs begun; the last one is the wish to end */
    struct gate passed; /* the number of half steps passed */
    struct gate loaded; /* the number of loads ended */
    struct gate idle;   /* the number of runs ended */
    _Atomic bool stops, quits;
    int reason; /* the reason of a load that failed, else 0; valid once loaded says that the load
                   ended */
    double start_s;
    struct vbs_exec_step *trace;
    struct vbs_exec_streamed streamed;
    pthread_t thread;
};

/* ---- gates ---- */

static void gate_init(struct gate *gate)
{
    pthread_condattr_t attributes;

    atomic_init(&gate->value, 0);
    atomic_init(&gate->requested, NOBODY);
    pthread_mutex_init(&gate->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&gate->cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void gate_destroy(struct gate *gate)
{
    pthread_cond_destroy(&gate->cond);
    pthread_mutex_destroy(&gate->mutex);
}

/* Raises the value of a gate. Both threads write first and then look, in one order for all. So
 * either the thread that raises the value sees the one that waits, or the latter sees the value. */
static void gate_raise(struct gate *gate, int64_t value)
{
    atomic_store(&gate->value, value);
    if (value < atomic_load(&gate->requested))
        return;
    pthread_mutex_lock(&gate->mutex);
    pthread_cond_broadcast(&gate->cond);
    pthread_mutex_unlock(&gate->mutex);
}

static void gate_sleep(struct gate *gate)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_NS;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&gate->cond, &gate->mutex, &until);
}

static void gate_wait(struct gate *gate, int64_t value)
{
    for (int i = 0; i < SPINS; i++)
        if (atomic_load_explicit(&gate->value, memory_order_acquire) >= value)
            return;
    pthread_mutex_lock(&gate->mutex);
    atomic_store(&gate->requested, value);
    while (atomic_load(&gate->value) < value)
        gate_sleep(gate);
    atomic_store(&gate->requested, NOBODY);
    pthread_mutex_unlock(&gate->mutex);
}

/* ---- chunks ---- */

/* Gives whether loads are copies from the page cache to the host. */
static bool is_cached(const struct vbs_exec_stream *stream)
{
    return !stream->loader->session && stream->loader->file->direct_fd < 0;
}

static bool has_chunk(const struct vbs_exec_stream *stream)
{
    const struct sharing *sharing = &stream->sharing;

    return sharing->load && sharing->at < sharing->load->bytes && sharing->reason == 0;
}

/* Ends the load under way; the caller holds loaded.mutex. */
static void end_load(struct vbs_exec_stream *stream)
{
    struct sharing *sharing = &stream->sharing;
    const struct vbs_exec_load *load = sharing->load;
    double end_s = vbs_clock_s();

    sharing->load = NULL;
    if (sharing->reason) {
        stream->reason = sharing->reason;
        atomic_store(&stream->loaded.value, NOBODY - 1); /* no thread needs to wait any longer */
    } else {
        stream->streamed.copy_us += (end_s - sharing->start_s) * 1e6;
        stream->streamed.bytes += load->bytes;
        if (stream->trace)
            stream->trace[load->step] = (struct vbs_exec_step){
                (sharing->start_s - stream->start_s) * 1e6, (end_s - stream->start_s) * 1e6};
        atomic_store(&stream->loaded.value, ++sharing->next);
    }
    pthread_cond_broadcast(&stream->loaded.cond);
}

/* Begins the next load, if the one before has ended and it may begin. A thread that waits for
 * weights of the host begins loads too, because it takes long to wake the other one. A device's
 * loads are begun and ended by the copy thread alone, which is one of their readers to the end. */
static void begin_load(struct vbs_exec_stream *stream, enum vbs_exec_reader who)
{
    struct sharing *sharing = &stream->sharing;
    const struct vbs_exec_load *load = &stream->loads[sharing->next];
    bool holds = stream->loader->session != NULL;

    if (sharing->load || sharing->next == stream->n_loads || sharing->reason ||
        (holds && who == VBS_READER_COMPUTES) || atomic_load(&stream->passed.value) < load->after)
        return;
    sharing->load = load;
    sharing->at = 0;
    sharing->n_readers = holds;
    sharing->start_s = vbs_clock_s();
    if (load->bytes == 0 && !holds)
        end_load(stream);
    else if (atomic_load(&stream->loaded.requested) != NOBODY)
        pthread_cond_broadcast(&stream->loaded.cond);
}

/* Takes the next chunk of the load under way; false when none is left. */
static bool take_chunk(struct vbs_exec_stream *stream, enum vbs_exec_reader who,
                       struct chunk *chunk)
{
    struct sharing *sharing = &stream->sharing;
    int64_t most = is_cached(stream) ? VBS_BACKGROUND_CACHED : VBS_BACKGROUND_CHUNK;
    bool has;

    pthread_mutex_lock(&stream->loaded.mutex);
    if (!atomic_load(&stream->stops))
        begin_load(stream, who);
    has = has_chunk(stream) && !atomic_load(&stream->stops);
    if (has) {
        const struct vbs_exec_load *load = sharing->load;
        int64_t left = load->bytes - sharing->at;

        *chunk = (struct chunk){(char *)load->to + sharing->at, left < most ? left : most,
                                load->offset + sharing->at};
        sharing->at += chunk->bytes;
        sharing->n_readers++;
    }
    pthread_mutex_unlock(&stream->loaded.mutex);
    return has;
}

/* Lets go of the load under way, of which a thread has read a part. reason: why it could not; 0: it
 * has. */
static void leave_load(struct vbs_exec_stream *stream, int reason)
{
    struct sharing *sharing = &stream->sharing;

    pthread_mutex_lock(&stream->loaded.mutex);
    if (reason)
        sharing->reason = reason;
    if (--sharing->n_readers == 0 && !has_chunk(stream))
        end_load(stream);
    pthread_mutex_unlock(&stream->loaded.mutex);
}

/* Reads a chunk. A computing thread waits for a device at once; the copy thread does so at the end
 * of the load. */
static void read_chunk(struct vbs_exec_stream *stream, const struct chunk *chunk,
                       enum vbs_exec_reader who)
{
    int reason = vbs_exec_loader_read(stream->loader, who, chunk->to, chunk->bytes, chunk->offset);

    if (reason == 0 && who == VBS_READER_COMPUTES)
        reason = vbs_exec_loader_finish(stream->loader, who);
    leave_load(stream, reason);
}

/* ---- the thread ---- */

/* Waits until the load under way has a chunk or has ended. Gives the load that is the next one
 * then; null: all have ended, or one has failed. */
static const struct vbs_exec_load *next_load(struct vbs_exec_stream *stream)
{
    struct sharing *sharing = &stream->sharing;
    const struct vbs_exec_load *next = NULL;

    pthread_mutex_lock(&stream->loaded.mutex);
    while (sharing->load && !has_chunk(stream) && !atomic_load(&stream->stops))
        gate_sleep(&stream->loaded);
    if (sharing->next < stream->n_loads && sharing->reason == 0)
        next = &stream->loads[sharing->next];
    pthread_mutex_unlock(&stream->loaded.mutex);
    return next;
}

static void run_loads(struct vbs_exec_stream *stream)
{
    const struct vbs_exec_load *load;

    while ((load = next_load(stream)) != NULL) {
        bool holds = stream->loader->session != NULL;
        struct chunk chunk;

        gate_wait(&stream->passed, load->after);
        while (take_chunk(stream, VBS_READER_COPIES, &chunk))
            read_chunk(stream, &chunk, VBS_READER_COPIES);
        if (holds && stream->sharing.load)
            leave_load(stream, vbs_exec_loader_finish(stream->loader, VBS_READER_COPIES));
        if (atomic_load(&stream->stops))
            return;
    }
}

static void *live(void *self)
{
    struct vbs_exec_stream *stream = self;

    vbs_background_spread();
    /* On the host, both threads need processors to copy from the page cache. A thread that waits
     * for weights copies too, so that loads always go on. Direct reads from a disk need little of a
     * processor, but soon. */
    if (is_cached(stream))
        vbs_background_yield();
    for (int64_t run = 1;; run++) {
        gate_wait(&stream->run, run);
        if (atomic_load(&stream->quits))
            return NULL;
        run_loads(stream);
        gate_raise(&stream->idle, run);
    }
}

static void free_stream(struct vbs_exec_stream *stream)
{
    gate_destroy(&stream->run);
    gate_destroy(&stream->passed);
    gate_destroy(&stream->loaded);
    gate_destroy(&stream->idle);
    free(stream->chunks);
    free(stream);
}

/* ---- the other side ---- */

/* Makes space for the chunks that the device's driver reads. */
static bool make_chunks(struct vbs_exec_stream *stream)
{
    int64_t n = 0;

    for (int i = 0; i < stream->n_loads && stream->alone; i++)
        n += vbs_exec_loader_chunks(stream->loader, stream->loads[i].bytes);
    stream->chunks = n > 0 ? calloc((size_t)n, sizeof *stream->chunks) : NULL;
    return n == 0 || stream->chunks;
}

enum vbs_status vbs_exec_stream_new(struct vbs_ctx *ctx, const struct vbs_exec_load *loads,
                                    int n_loads, struct vbs_exec_loader *loader, bool waits,
                                    struct vbs_exec_stream **result)
{
    struct vbs_exec_stream *stream = calloc(1, sizeof *stream);
    int reason;

    if (!stream)
        return vbs_no_memory(ctx);
    stream->loads = loads;
    stream->n_loads = n_loads;
    stream->loader = loader;
    stream->alone = loader->session && !waits;
    if (!make_chunks(stream)) {
        free(stream);
        return vbs_no_memory(ctx);
    }
    gate_init(&stream->run);
    gate_init(&stream->passed);
    gate_init(&stream->loaded);
    gate_init(&stream->idle);
    reason = stream->alone ? 0 : vbs_background_start(&stream->thread, live, stream);
    if (reason) {
        free_stream(stream);
        return vbs_fail(ctx, VBS_LIBRARY, "cannot start a thread that copies weights: %s",
                        strerror(reason));
    }
    *result = stream;
    return VBS_OK;
}

void vbs_exec_stream_free(struct vbs_exec_stream *stream)
{
    if (!stream)
        return;
    atomic_store(&stream->quits, true);
    gate_raise(&stream->run, atomic_load(&stream->run.value) + 1);
    if (!stream->alone)
        pthread_join(stream->thread, NULL);
    free_stream(stream);
}

bool vbs_exec_stream_is_alone(const struct vbs_exec_stream *stream)
{
    return stream->alone;
}

/* ---- without a copy thread ---- */

/* Puts a load on the device's stream of copies, behind all work that has been enqueued on the
 * stream of computations. Returns 0, or the reason of a failure. */
static int enqueue_load(struct vbs_exec_stream *stream, int index)
{
    const struct vbs_exec_load *load = &stream->loads[index];
    int reason = vbs_exec_loader_record(stream->loader, index, true);

    if (reason == 0)
        reason = vbs_exec_loader_wait(stream->loader, index, false);
    if (reason == 0)
        reason = vbs_exec_loader_enqueue(stream->loader, load->to, load->bytes, load->offset,
                                         stream->chunks ? stream->chunks + stream->n_used : NULL,
                                         &stream->chunk_reason);
    if (reason == 0)
        reason = vbs_exec_loader_record(stream->loader, stream->n_loads + index, false);
    stream->n_used += (int)vbs_exec_loader_chunks(stream->loader, load->bytes);
    stream->streamed.bytes += load->bytes;
    return reason;
}

/* Enqueues the loads that may begin once so many half steps have been passed. */
static enum vbs_status enqueue_loads(struct vbs_ctx *ctx, struct vbs_exec_stream *stream,
                                     int64_t n_half_steps)
{
    int reason = 0;

    for (; reason == 0 && stream->n_enqueued < stream->n_loads &&
           stream->loads[stream->n_enqueued].after <= n_half_steps;
         stream->n_enqueued++)
        reason = enqueue_load(stream, stream->n_enqueued);
    return reason ? vbs_exec_loader_refuse(ctx, stream->loader, reason) : VBS_OK;
}

/* Lets the stream of computations wait for a load that has been enqueued. */
static enum vbs_status wait_on_device(struct vbs_ctx *ctx, const struct vbs_exec_stream *stream,
                                      int n_loads)
{
    int reason =
        n_loads > 0 ? vbs_exec_loader_wait(stream->loader, stream->n_loads + n_loads - 1, true) : 0;

    return reason ? vbs_exec_loader_refuse(ctx, stream->loader, reason) : VBS_OK;
}

/* ---- the computing thread ---- */

enum vbs_status vbs_exec_stream_begin(struct vbs_ctx *ctx, struct vbs_exec_stream *stream,
                                      double start_s, struct vbs_exec_step *trace)
{
    stream->start_s = start_s;
    stream->trace = trace;
    stream->reason = 0;
    stream->n_enqueued = stream->n_used = 0;
    stream->streamed = (struct vbs_exec_streamed){0};
    stream->sharing = (struct sharing){0};
    if (stream->alone) {
        int reason = vbs_exec_loader_begin(stream->loader);

        return reason ? vbs_exec_loader_refuse(ctx, stream->loader, reason)
                      : enqueue_loads(ctx, stream, 0);
    }
    atomic_store(&stream->stops, false);
    atomic_store(&stream->passed.value, 0);
    atomic_store(&stream->loaded.value, 0);
    gate_raise(&stream->run, atomic_load(&stream->run.value) + 1);
    return VBS_OK;
}

enum vbs_status vbs_exec_stream_pass(struct vbs_ctx *ctx, struct vbs_exec_stream *stream,
                                     int64_t n_half_steps)
{
    if (stream->alone)
        return enqueue_loads(ctx, stream, n_half_steps);
    gate_raise(&stream->passed, n_half_steps);
    return VBS_OK;
}

/* Waits until a load has ended, or there is a chunk to read or a load to begin, at most LOOK_NS. */
static void wait_for_load(struct vbs_exec_stream *stream, int64_t n_loads)
{
    struct gate *loaded = &stream->loaded;

    for (int i = 0; i < SPINS; i++)
        if (atomic_load_explicit(&loaded->value, memory_order_acquire) >= n_loads)
            return;
    pthread_mutex_lock(&loaded->mutex);
    atomic_store(&loaded->requested, n_loads);
    if (atomic_load(&loaded->value) < n_loads && !has_chunk(stream) &&
        (stream->sharing.load || stream->loader->session))
        gate_sleep(loaded);
    atomic_store(&loaded->requested, NOBODY);
    pthread_mutex_unlock(&loaded->mutex);
}

enum vbs_status vbs_exec_stream_wait(struct vbs_ctx *ctx, struct vbs_exec_stream *stream,
                                     int n_loads)
{
    struct chunk chunk;

    if (stream->alone)
        return wait_on_device(ctx, stream, n_loads);
    while (atomic_load(&stream->loaded.value) < n_loads) {
        if (vbs_cancelled(ctx))
            return vbs_fail(ctx, VBS_INTERRUPTED, "interrupted");
        if (take_chunk(stream, VBS_READER_COMPUTES, &chunk))
            read_chunk(stream, &chunk, VBS_READER_COMPUTES);
        else
            wait_for_load(stream, n_loads);
    }
    if (atomic_load(&stream->loaded.value) > stream->n_loads)
        return vbs_exec_loader_refuse(ctx, stream->loader, stream->reason);
    return VBS_OK;
}

void vbs_exec_stream_stop(struct vbs_exec_stream *stream)
{
    if (!stream->alone) {
        atomic_store(&stream->stops, true);
        gate_raise(&stream->passed, NOBODY - 1);
        gate_wait(&stream->idle, atomic_load(&stream->run.value));
    }
    if (stream->alone) { /* copies that are still under way must not reach the arena of the next
                            run */
        (void)vbs_exec_loader_finish(stream->loader, VBS_READER_COPIES);
        (void)vbs_exec_loader_finish(stream->loader, VBS_READER_COMPUTES);
    }
}

enum vbs_status vbs_exec_stream_check(struct vbs_ctx *ctx, struct vbs_exec_stream *stream)
{
    int reason = atomic_exchange(&stream->chunk_reason, 0);

    return reason ? vbs_exec_loader_refuse(ctx, stream->loader, reason) : VBS_OK;
}

struct vbs_exec_streamed vbs_exec_stream_streamed(const struct vbs_exec_stream *stream)
{
    return stream->streamed;
}
