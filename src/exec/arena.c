#include "exec/arena.h"

#include "base/fail.h"
#include "vbslab/units.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((int64_t)1 << 21)
#define ALIGNMENT 64    /* of the base of an arena that ends at the upper guard page */
#define CHUNK     16384 /* pages whose residence is looked up in one call */

static int64_t round_up(int64_t bytes, int64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static enum vbs_status refuse(struct vbs_ctx *ctx, int64_t bytes)
{
    char text[48];

    return vbs_fail(ctx, VBS_NO_MEMORY, "cannot obtain an arena of %s: %s",
                    vbs_format_exact(bytes, text, sizeof text), strerror(errno));
}

enum vbs_status vbs_exec_arena_map(struct vbs_ctx *ctx, struct vbs_exec_arena *arena, int64_t bytes,
                                   bool flush)
{
    int64_t page = sysconf(_SC_PAGESIZE), pages, all;
    char *map, *low;

    errno = ENOMEM;
    if (bytes < 0 || bytes > INT64_MAX / 2)
        return refuse(ctx, bytes);
    pages = round_up(bytes, page);
    all = pages + 3 * HUGE_PAGE;
    map = mmap(NULL, (size_t)all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return refuse(ctx, bytes);
    low = map + (round_up((int64_t)((uintptr_t)map + (uintptr_t)page), HUGE_PAGE) -
                 (int64_t)(uintptr_t)map);
    if (pages > 0 && mprotect(low, (size_t)pages, PROT_READ | PROT_WRITE) != 0) {
        enum vbs_status status = refuse(ctx, bytes);

        munmap(map, (size_t)all);
        return status;
    }
    if (pages > 0)
        (void)madvise(low, (size_t)pages, MADV_HUGEPAGE);
    *arena =
        (struct vbs_exec_arena){.base = low + (flush ? (pages - bytes) / ALIGNMENT * ALIGNMENT : 0),
                                .bytes = bytes,
                                .low = low,
                                .page_bytes = pages,
                                .map = map,
                                .map_bytes = all};
    return VBS_OK;
}

enum vbs_status vbs_exec_arena_obtain(struct vbs_ctx *ctx, struct vbs_exec_arena *arena,
                                      struct vbs_session *session, int64_t bytes)
{
    char text[48];
    char *base = session->ops->alloc(session, bytes);

    if (!base)
        return vbs_fail(ctx, VBS_NO_MEMORY, "cannot obtain an arena of %s on the device",
                        vbs_format_exact(bytes, text, sizeof text));
    *arena = (struct vbs_exec_arena){.base = base, .bytes = bytes, .session = session};
    return VBS_OK;
}

void vbs_exec_arena_unmap(struct vbs_exec_arena *arena)
{
    if (arena->session)
        arena->session->ops->free(arena->session, arena->base);
    for (int i = 0; i < arena->n_rings; i++)
        munmap(arena->rings[i].at, 2 * (size_t)arena->rings[i].bytes);
    free(arena->rings);
    free(arena->buckets);
    if (arena->map)
        munmap(arena->map, (size_t)arena->map_bytes);
    if (arena->is_shared)
        close(arena->fd);
    *arena = (struct vbs_exec_arena){0};
}

int64_t vbs_exec_arena_touched(const struct vbs_exec_arena *arena)
{
    int64_t page = sysconf(_SC_PAGESIZE), touched = 0;
    unsigned char there[CHUNK];

    if (arena->session)
        return arena->bytes;
    for (int64_t at = 0; at < arena->page_bytes; at += CHUNK * page) {
        int64_t left = arena->page_bytes - at, bytes = left < CHUNK * page ? left : CHUNK * page;

        if (mincore(arena->low + at, (size_t)bytes, there) != 0)
            return -1;
        for (int64_t i = 0; i < bytes / page; i++)
            touched += (there[i] & 1) * page;
    }
    return touched;
}

/* ---- what the system says ---- */

int64_t vbs_exec_resident_bytes(enum vbs_exec_resident which)
{
    static const char *const KEYS[] = {
        [VBS_EXEC_NOW] = "\nVmRSS:", [VBS_EXEC_PEAK] = "\nVmHWM:", [VBS_EXEC_FILES] = "\nRssFile:"};
    const char *key = KEYS[which];
    char text[4096];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    const char *at;

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    at = strstr(text, key);
    return at ? strtoll(at + strlen(key), NULL, 10) * 1024 : -1;
}

int64_t vbs_exec_heap_bytes(void)
{
    return (int64_t)mallinfo2().arena;
}

bool vbs_exec_reset_peak(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, "5", 1) == 1;

    if (fd >= 0)
        close(fd);
    return done;
}
