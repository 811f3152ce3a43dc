/*
 * Rings in the arena. The pages of a ring are mapped twice, one time behind the other, at another
 * address than the arena: what goes on at the ring's beginning is contiguous there.
 */
#include "exec/arena.h"

#include "base/arith.h"
#include "base/fail.h"
#include "base/grow.h"
#include "vbslab/schedule.h"
#include "vbslab/units.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_BUCKETS 64
#define FILE_NAME     "vbslab-arena" /* as it stands in the list of the process's mappings */
#define MOST_LINE     256            /* of a line of that list; the rest is passed over */

/* ---- the arena ---- */

static enum vbs_status refuse_arena(struct vbs_ctx *ctx, int64_t bytes)
{
    char text[48];

    return vbs_fail(ctx, VBS_NO_MEMORY, "cannot obtain an arena of %s for windows: %s",
                    vbs_format_exact(bytes, text, sizeof text), strerror(errno));
}

/* Maps the file between two guard pages. */
static bool map_file(struct vbs_exec_arena *arena, int64_t page)
{
    arena->map_bytes = arena->page_bytes + 2 * page;
    arena->map = mmap(NULL, (size_t)arena->map_bytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena->map == MAP_FAILED) {
        arena->map = NULL;
        return false;
    }
    arena->base = arena->low = (char *)arena->map + page;
    return arena->page_bytes == 0 ||
           mmap(arena->low, (size_t)arena->page_bytes, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_FIXED, arena->fd, 0) != MAP_FAILED;
}

enum vbs_status vbs_exec_arena_share(struct vbs_ctx *ctx, struct vbs_exec_arena *arena,
                                     int64_t bytes)
{
    int64_t page = sysconf(_SC_PAGESIZE);

    if (page != VBS_WINDOW_ALIGNMENT)
        return vbs_fail(ctx, VBS_UNSUPPORTED,
                        "schedules with windows need pages of %d bytes; here they have %" PRId64,
                        VBS_WINDOW_ALIGNMENT, page);
    errno = ENOMEM;
    if (bytes < 0 || bytes > INT64_MAX / 2)
        return refuse_arena(ctx, bytes);
    *arena =
        (struct vbs_exec_arena){.bytes = bytes, .page_bytes = (bytes + page - 1) / page * page};
    arena->fd = memfd_create(FILE_NAME, MFD_CLOEXEC);
    arena->is_shared = arena->fd >= 0;
    if (!arena->is_shared || ftruncate(arena->fd, arena->page_bytes) != 0 ||
        !map_file(arena, page)) {
        enum vbs_status status = refuse_arena(ctx, bytes);

        vbs_exec_arena_unmap(arena);
        return status;
    }
    return VBS_OK;
}

/* ---- rings ---- */

static bool is_same(const struct vbs_exec_ring *a, const struct vbs_exec_ring *b)
{
    return a->offset == b->offset && a->bytes == b->bytes;
}

/* Finds the bucket in which a ring is, or in which it belongs. */
static int *find_bucket(const struct vbs_exec_arena *arena, const struct vbs_exec_ring *ring)
{
    uint64_t hash = vbs_mix(vbs_mix(VBS_MIX_FIRST, (uint64_t)ring->offset), (uint64_t)ring->bytes);
    uint64_t mask = (uint64_t)arena->n_buckets - 1;

    while (arena->buckets[hash & mask] >= 0 &&
           !is_same(&arena->rings[arena->buckets[hash & mask]], ring))
        hash++;
    return &arena->buckets[hash & mask];
}

/* Makes space for one more entry. The table is at most half full. */
static enum vbs_status grow(struct vbs_ctx *ctx, struct vbs_exec_arena *arena)
{
    int n = arena->n_buckets ? 2 * arena->n_buckets : FIRST_BUCKETS;
    int *buckets;

    VBS_TRY(
        vbs_grow(ctx, &arena->rings, &arena->max_rings, arena->n_rings + 1, sizeof *arena->rings));
    if (2 * (arena->n_rings + 1) <= arena->n_buckets)
        return VBS_OK;
    buckets = malloc((size_t)n * sizeof *buckets);
    if (!buckets)
        return vbs_no_memory(ctx);
    memset(buckets, -1, (size_t)n * sizeof *buckets);
    free(arena->buckets);
    arena->buckets = buckets;
    arena->n_buckets = n;
    for (int i = 0; i < arena->n_rings; i++)
        *find_bucket(arena, &arena->rings[i]) = i;
    return VBS_OK;
}

static enum vbs_status refuse_ring(struct vbs_ctx *ctx, const struct vbs_exec_arena *arena,
                                   int64_t bytes)
{
    char text[48];

    return vbs_fail(ctx, VBS_NO_MEMORY,
                    "cannot map a window of %s twice, behind %d others: %s (a process may have as "
                    "many mappings as vm.max_map_count says)",
                    vbs_format_exact(bytes, text, sizeof text), arena->n_rings, strerror(errno));
}

static bool map_ring(const struct vbs_exec_arena *arena, struct vbs_exec_ring *ring)
{
    size_t bytes = (size_t)ring->bytes;
    char *map =
        mmap(NULL, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (map == MAP_FAILED)
        return false;
    for (int i = 0; i < 2; i++)
        if (mmap(map + i * ring->bytes, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                 arena->fd, ring->offset) == MAP_FAILED) {
            int reason = errno;

            munmap(map, 2 * bytes);
            errno = reason;
            return false;
        }
    ring->at = map;
    return true;
}

enum vbs_status vbs_exec_arena_ring(struct vbs_ctx *ctx, struct vbs_exec_arena *arena,
                                    int64_t offset, int64_t bytes, char **at)
{
    struct vbs_exec_ring made = {.offset = offset, .bytes = bytes};
    int *bucket;

    VBS_TRY(grow(ctx, arena));
    bucket = find_bucket(arena, &made);
    if (*bucket < 0) {
        if (!map_ring(arena, &made))
            return refuse_ring(ctx, arena, bytes);
        arena->rings[arena->n_rings] = made;
        *bucket = arena->n_rings++;
    }
    *at = arena->rings[*bucket].at;
    return VBS_OK;
}

/* ---- what the system says ---- */

/* Reads a file of the system line by line, without the heap, whose size is measured too. */
struct smaps {
    int fd;
    ssize_t at, n;
    char bytes[4096];
};

/* Gives the next line, cut off at MOST_LINE - 1 bytes; false at the end. */
static bool next_line(struct smaps *smaps, char line[MOST_LINE])
{
    int n = 0;

    for (;;) {
        char c;

        if (smaps->at == smaps->n) {
            smaps->at = 0;
            smaps->n = read(smaps->fd, smaps->bytes, sizeof smaps->bytes);
            if (smaps->n <= 0) {
                smaps->n = 0;
                return false;
            }
        }
        c = smaps->bytes[smaps->at++];
        if (c == '\n')
            break;
        if (n < MOST_LINE - 1)
            line[n++] = c;
    }
    line[n] = '\0';
    return true;
}

/* Sums the resident bytes of all mappings of the file; -1: the system does not tell. */
static int64_t mapped_bytes(int fd)
{
    struct smaps smaps = {.fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC)};
    char line[MOST_LINE];
    struct stat about;
    int64_t bytes = 0;
    bool is_ours = false;

    if (smaps.fd < 0)
        return -1;
    if (fstat(fd, &about) != 0)
        bytes = -1;
    while (bytes >= 0 && next_line(&smaps, line)) {
        uint64_t inode;
        int64_t kib;

        /* The first line of a mapping: addresses, rights, offset, device, inode, name. */
        if (sscanf(line, "%*x-%*x %*4s %*x %*x:%*x %" SCNu64, &inode) == 1)
            is_ours = inode == (uint64_t)about.st_ino && strstr(line, "/memfd:" FILE_NAME);
        else if (is_ours && sscanf(line, "Rss: %" SCNd64 " kB", &kib) == 1)
            bytes += 1024 * kib;
    }
    close(smaps.fd);
    return bytes;
}

int64_t vbs_exec_arena_repeated(const struct vbs_exec_arena *arena)
{
    int64_t mapped, touched;

    if (!arena->is_shared)
        return 0;
    mapped = mapped_bytes(arena->fd);
    touched = vbs_exec_arena_touched(arena);
    if (mapped < 0 || touched < 0)
        return -1;
    return mapped > touched ? mapped - touched : 0;
}
