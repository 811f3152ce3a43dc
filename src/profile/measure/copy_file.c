/*
 * The file to copy from. The disk is taken as the source where /proc/self/io counts bytes that this
 * process caused to be fetched from storage. Only this count tells a direct read of a disk from one
 * of a file system in memory that accepts O_DIRECT and ignores it. Caches inside the storage cannot
 * be seen.
 */
#include "profile/measure/copy_file.h"

#include "profile/device.h"

#include "base/arith.h"
#include "base/background.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/random.h"
#include "base/text.h"
#include "vbslab/units.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define HUGE_PAGE  ((int64_t)2 << 20)
#define SYNC_BYTES ((int64_t)16 << 20) /* bytes written between two looks at the clock */

/* ---- making it ---- */

static enum vbs_status fail_to_make(struct vbs_ctx *ctx, const char *folder, int reason)
{
    return vbs_fail(ctx, VBS_IO, "cannot make a file to copy from in '%s': %s", folder,
                    strerror(reason));
}

/* Gives half of the free bytes of the folder, at most what the process may write to one file. */
static int64_t free_for_file(int fd)
{
    struct statvfs info;
    struct rlimit limit;
    int64_t free_bytes = INT64_MAX;

    if (fstatvfs(fd, &info) != 0 ||
        !vbs_mul((int64_t)info.f_bavail, (int64_t)info.f_frsize, &free_bytes))
        free_bytes = INT64_MAX;
    free_bytes /= 2;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < (rlim_t)free_bytes)
        free_bytes = (int64_t)limit.rlim_cur;
    return free_bytes;
}

/* Opens two handles on a file without a name. */
static enum vbs_status open_file(struct vbs_ctx *ctx, const char *folder,
                                 struct vbs_copy_file *file)
{
    char self[40];

    file->fd = vbs_open_nameless(folder, "vbslab-copy-");
    if (file->fd < 0)
        return fail_to_make(ctx, folder, errno);
    snprintf(self, sizeof self, "/proc/self/fd/%d", file->fd);
    file->direct_fd = open(self, O_RDONLY | O_DIRECT | O_CLOEXEC);
    return VBS_OK;
}

/* Fills values with random bits. The state goes on from block to block. */
static void fill_with_noise(uint64_t *values, int64_t n, uint64_t *state)
{
    for (int64_t i = 0; i < n; i++)
        values[i] = vbs_random_next(state);
}

/* Writes data; returns 0 or errno. */
static int write_all(int fd, const char *data, int64_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(fd, data, (size_t)bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : ENOSPC;
        data += n;
        bytes -= n;
    }
    return 0;
}

/* Fills the file until it is large enough or time is over. SYNC_BYTES at a time reach the disk
 * before the clock is read, so that a slow disk gets a small file. */
static enum vbs_status fill_file(struct vbs_ctx *ctx, const char *folder, int64_t requested_bytes,
                                 int64_t least_bytes, double seconds, void *buffer,
                                 int64_t buffer_bytes, struct vbs_copy_file *file)
{
    double start_s = vbs_clock_s();
    int64_t unsynced = 0;
    uint64_t state = 1;

    while (file->bytes < requested_bytes &&
           (file->bytes < least_bytes || unsynced > 0 || vbs_clock_s() - start_s < seconds)) {
        int64_t left = requested_bytes - file->bytes;
        int64_t bytes = left < buffer_bytes ? left : buffer_bytes;
        int reason;

        if (vbs_cancelled(ctx))
            return vbs_fail(ctx, VBS_INTERRUPTED, "interrupted");
        fill_with_noise(buffer, bytes / (int64_t)sizeof(uint64_t), &state);
        if ((reason = write_all(file->fd, buffer, bytes)))
            return fail_to_make(ctx, folder, reason);
        file->bytes += bytes;
        unsynced += bytes;
        if (unsynced < SYNC_BYTES && file->bytes < requested_bytes)
            continue;
        unsynced = 0;
        if (fdatasync(file->fd) != 0)
            return fail_to_make(ctx, folder, errno);
    }
    return VBS_OK;
}

enum vbs_status vbs_copy_file_make(struct vbs_ctx *ctx, const char *folder, int64_t requested_bytes,
                                   int64_t least_bytes, double seconds, void *buffer,
                                   int64_t buffer_bytes, struct vbs_copy_file *file)
{
    struct vbs_copy_file made = {.fd = -1, .direct_fd = -1};
    enum vbs_status status = open_file(ctx, folder, &made);
    int64_t space;
    char size[24];

    if (status != VBS_OK)
        return status;
    space = free_for_file(made.fd) / VBS_COPY_ALIGNMENT * VBS_COPY_ALIGNMENT;
    if (space < least_bytes)
        status =
            vbs_fail(ctx, VBS_IO, "cannot make a file to copy from in '%s': only %s of room for it",
                     folder, vbs_format_bytes(space, size, sizeof size));
    else
        status = fill_file(ctx, folder, requested_bytes < space ? requested_bytes : space,
                           least_bytes, seconds, buffer, buffer_bytes, &made);
    if (status != VBS_OK) {
        vbs_copy_file_close(&made);
        return status;
    }
    *file = made;
    return VBS_OK;
}

void vbs_copy_file_close(struct vbs_copy_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->direct_fd >= 0)
        close(file->direct_fd);
    file->fd = file->direct_fd = -1;
}

/* ---- reading it ---- */

/* Gives the bytes that this process has caused to be fetched from storage so far; -1: the system
 * does not count them. */
static int64_t fetched_bytes(void)
{
    static const char KEY[] = "\nread_bytes: ";
    char text[512];
    int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
    ssize_t n;
    char *at;

    if (fd < 0)
        return -1;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    at = strstr(text, KEY);
    return at ? strtoll(at + sizeof KEY - 1, NULL, 10) : -1;
}

/* Reads data; returns 0 or errno. */
static int read_all(int fd, char *data, int64_t bytes, int64_t offset)
{
    while (bytes > 0) {
        ssize_t n = pread(fd, data, (size_t)bytes, offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        data += n;
        offset += n;
        bytes -= n;
    }
    return 0;
}

/* Removes the range's pages from the page cache. The read that follows fetches no others. */
static void drop(const struct vbs_copy_file *file, int64_t bytes)
{
    posix_fadvise(file->fd, file->at, bytes, POSIX_FADV_DONTNEED);
    posix_fadvise(file->fd, 0, 0, POSIX_FADV_RANDOM);
}

/* ---- where copies go ---- */

enum vbs_status vbs_copy_landing_init(struct vbs_ctx *ctx, struct vbs_copy_landing *landing,
                                      struct vbs_session *session, int64_t bytes)
{
    bool failed = false;

    *landing = (struct vbs_copy_landing){.bytes = bytes};
    if (!session->ops->device) {
        landing->memory = aligned_alloc((size_t)HUGE_PAGE, (size_t)bytes);
        if (!landing->memory)
            return vbs_no_memory(ctx);
        /* Huge pages are also advised for the arena to which runs copy weights. Failure does not
         * matter. */
        madvise(landing->memory, (size_t)bytes, MADV_HUGEPAGE);
        memset(landing->memory, 1, (size_t)bytes);
        return VBS_OK;
    }
    landing->session = session;
    landing->memory = session->ops->alloc(session, bytes);
    for (int i = 0; i < 2; i++) {
        landing->pinned[i] = session->ops->device->host_alloc(session, VBS_COPY_SLICE);
        failed |= !landing->pinned[i];
        if (landing->pinned[i])
            memset(landing->pinned[i], 1, (size_t)VBS_COPY_SLICE);
    }
    return failed || !landing->memory ? vbs_no_memory(ctx) : VBS_OK;
}

void vbs_copy_landing_clear(struct vbs_copy_landing *landing)
{
    struct vbs_session *session = landing->session;

    if (!session)
        free(landing->memory);
    for (int i = 0; session && i < 2; i++)
        if (landing->pinned[i])
            session->ops->device->host_free(session, landing->pinned[i]);
    if (session)
        session->ops->free(session, landing->memory);
    *landing = (struct vbs_copy_landing){0};
}

/* ---- copies ---- */

/* The reason of a copy that failed; all 0: it succeeded. */
struct failure {
    int file, device;
};

/* Copies slice by slice, by way of the two halves of the pinned memory in turn. fd < 0: copies the
 * present contents of the halves. */
static struct failure copy_to_device(struct vbs_copy_landing *landing, int fd, int64_t bytes,
                                     int64_t offset)
{
    const struct vbs_device_ops *device = landing->session->ops->device;
    struct failure failure = {0};
    int turn = 0;

    for (int64_t at = 0; at < bytes && !failure.file && !failure.device; at += VBS_COPY_SLICE) {
        int64_t left = bytes - at, n = left < VBS_COPY_SLICE ? left : VBS_COPY_SLICE;

        failure.device = device->end_copy(landing->session, turn);
        if (!failure.device && fd >= 0)
            failure.file = read_all(fd, landing->pinned[turn], n, offset + at);
        if (!failure.device && !failure.file)
            failure.device =
                device->begin_copy(landing->session, turn, landing->memory + landing->at + at,
                                   landing->pinned[turn], n);
        turn = 1 - turn;
    }
    for (int i = 0; i < 2; i++) {
        int ended = device->end_copy(landing->session, i);

        failure.device = failure.device ? failure.device : ended;
    }
    return failure;
}

/* A copy to the host's memory that two threads read piece by piece, as a thread that waits for
 * weights and the copy thread do in the executor (exec/weights/stream.c). */
struct shared_copy {
    int fd;
    char *to;
    int64_t bytes, offset, piece;
    _Atomic int64_t taken, left; /* bytes that threads have taken; that have not been read */
    _Atomic int reason;          /* the reason of a piece that failed, else 0 */
    _Atomic bool is_ready, begins;
};

static void read_pieces(struct shared_copy *copy)
{
    for (;;) {
        int64_t at = atomic_fetch_add(&copy->taken, copy->piece), n = copy->bytes - at;
        int reason;

        if (n <= 0)
            return;
        n = n < copy->piece ? n : copy->piece;
        reason = read_all(copy->fd, copy->to + at, n, copy->offset + at);
        if (reason)
            atomic_store(&copy->reason, reason);
        atomic_fetch_sub(&copy->left, n);
    }
}

static void *help(void *self)
{
    struct shared_copy *copy = self;

    vbs_background_spread();
    atomic_store(&copy->is_ready, true);
    while (!atomic_load(&copy->begins))
        sched_yield();
    read_pieces(copy);
    return NULL;
}

/* Copies with a second thread, which is ready when the time begins. */
static struct failure copy_with_help(struct shared_copy *copy, double *time_us)
{
    pthread_t helper;
    bool has_helper;
    double start_s;

    atomic_init(&copy->left, copy->bytes);
    has_helper = vbs_background_start(&helper, help, copy) == 0;
    while (has_helper && !atomic_load(&copy->is_ready))
        sched_yield();
    start_s = vbs_clock_s();
    atomic_store(&copy->begins, true);
    read_pieces(copy);
    while (atomic_load(&copy->left) > 0)
        sched_yield();
    *time_us = (vbs_clock_s() - start_s) * 1e6;
    if (has_helper)
        pthread_join(helper, NULL);
    return (struct failure){.file = atomic_load(&copy->reason)};
}

int64_t vbs_copy_piece(enum vbs_copy_method method)
{
    return method == VBS_COPY_CACHED ? VBS_BACKGROUND_CACHED : VBS_BACKGROUND_CHUNK;
}

static struct failure copy_bytes(struct vbs_copy_landing *landing, const struct vbs_copy_file *file,
                                 enum vbs_copy_method method, int64_t bytes, double *time_us)
{
    int fd = method == VBS_COPY_PLAIN ? -1 : method == VBS_COPY_DIRECT ? file->direct_fd : file->fd;
    struct failure failure = {0};
    double start_s;

    if (!landing->session && bytes > vbs_copy_piece(method))
        return copy_with_help(&(struct shared_copy){.fd = fd,
                                                    .to = landing->memory + landing->at,
                                                    .bytes = bytes,
                                                    .offset = file->at,
                                                    .piece = vbs_copy_piece(method)},
                              time_us);
    start_s = vbs_clock_s();
    if (landing->session)
        failure = copy_to_device(landing, fd, bytes, file->at);
    else
        failure.file = read_all(fd, landing->memory + landing->at, bytes, file->at);
    *time_us = (vbs_clock_s() - start_s) * 1e6;
    return failure;
}

enum vbs_status vbs_copy_file_read(struct vbs_ctx *ctx, struct vbs_copy_file *file,
                                   enum vbs_copy_method method, struct vbs_copy_landing *landing,
                                   int64_t bytes, double *time_us, bool *shown)
{
    struct failure failure;
    int64_t before, after;

    if (file->at > file->bytes - bytes)
        file->at = 0;
    if (landing->at > landing->bytes - bytes)
        landing->at = 0;
    if (method == VBS_COPY_DROPPED)
        drop(file, bytes);
    before = fetched_bytes();
    failure = copy_bytes(landing, file, method, bytes, time_us);
    after = fetched_bytes();
    if (failure.file)
        return vbs_fail(ctx, VBS_IO, "cannot read the file to copy from: %s",
                        strerror(failure.file));
    if (failure.device)
        return vbs_fail(ctx, VBS_LIBRARY, "cannot copy to the device: %s",
                        landing->session->ops->device->explain(landing->session, failure.device));
    file->at += bytes;
    landing->at += bytes;
    if (method == VBS_COPY_CACHED || method == VBS_COPY_PLAIN)
        *shown = after == before;
    else
        *shown = before >= 0 && after - before >= bytes;
    return VBS_OK;
}
