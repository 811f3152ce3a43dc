/*
 * Rings in the arena: bytes behind the end of a ring are those at its beginning, and all of them
 * are bytes of the arena; pages that are mapped again are told apart; and where a call of the
 * system fails, the reason is said and nothing stays mapped.
 */
#include "base/ctx.h"
#include "exec/arena.h"
#include "support/fault.h"
#include "support/tap.h"

#include "vbslab/schedule.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE VBS_WINDOW_ALIGNMENT

/* ---- calls that fail ---- */

static struct faults map_faults, file_faults, size_faults;

void *__real_mmap(void *at, size_t bytes, int rights, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int rights, int flags, int fd, off_t offset);
int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
int __real_ftruncate(int fd, off_t bytes);
int __wrap_ftruncate(int fd, off_t bytes);

void *__wrap_mmap(void *at, size_t bytes, int rights, int flags, int fd, off_t offset)
{
    if (!fault_strikes(&map_faults))
        return __real_mmap(at, bytes, rights, flags, fd, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

int __wrap_memfd_create(const char *name, unsigned flags)
{
    if (!fault_strikes(&file_faults))
        return __real_memfd_create(name, flags);
    errno = ENOSYS;
    return -1;
}

int __wrap_ftruncate(int fd, off_t bytes)
{
    if (!fault_strikes(&size_faults))
        return __real_ftruncate(fd, bytes);
    errno = ENOSPC;
    return -1;
}

/* Counts the mappings of arenas. */
static int count_mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[512];
    int n = 0;

    while (file && fgets(line, sizeof line, file))
        n += strstr(line, "vbslab-arena") != NULL;
    if (file)
        fclose(file);
    return n;
}

/* Gives a file descriptor that is free. */
static int free_descriptor(void)
{
    int fd = dup(0);

    close(fd);
    return fd;
}

/* ---- the tests ---- */

static bool is_a_ring(const struct vbs_exec_arena *arena, char *at, int64_t offset, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i++)
        arena->base[offset + i] = (char)(i * 31 / 7);
    for (int64_t i = 0; i < 2 * bytes; i++)
        if (at[i] != (char)(i % bytes * 31 / 7))
            return false;
    /* A row that goes on at the beginning. */
    memset(at + bytes - 100, 5, 300);
    for (int64_t i = 0; i < 100; i++)
        if (arena->base[offset + bytes - 1 - i] != 5)
            return false;
    for (int64_t i = 0; i < 200; i++)
        if (arena->base[offset + i] != 5 || at[i] != 5)
            return false;
    return arena->base[offset + 200] != 5 || at[200] == 5;
}

static void check_rings(void)
{
    struct vbs_ctx ctx = {0};
    struct vbs_exec_arena arena = {0};
    char *a = NULL, *b = NULL, *again = NULL, *other = NULL;
    enum vbs_status status = vbs_exec_arena_share(&ctx, &arena, 10 * PAGE + 100);

    ok(status == VBS_OK && arena.page_bytes == 11 * PAGE && (uintptr_t)arena.base % PAGE == 0,
       "an arena of whole pages, which begins at a page");
    is_int(vbs_exec_arena_touched(&arena), 0, "none of them is touched");
    status = vbs_exec_arena_ring(&ctx, &arena, 3 * PAGE, PAGE, &a);
    ok(status == VBS_OK && vbs_exec_arena_repeated(&arena) == 0, "a ring touches none either");
    ok(a && is_a_ring(&arena, a, 3 * PAGE, PAGE), "a ring of a page");
    status = vbs_exec_arena_ring(&ctx, &arena, 2 * PAGE, 3 * PAGE, &b);
    ok(status == VBS_OK && b != a && is_a_ring(&arena, b, 2 * PAGE, 3 * PAGE),
       "a ring of three pages in the same memory");
    is_int(vbs_exec_arena_touched(&arena), 3 * PAGE, "pages that were touched, each once");
    /* Three pages are mapped in the arena and twice in b, one of them twice in a. */
    is_int(vbs_exec_arena_repeated(&arena), (3 + 2 * 3 + 2 - 3) * PAGE,
           "bytes that the system counts again");
    for (int i = 0; i < 120 && status == VBS_OK;
         i++) /* more than the table has space for at first */
        status = vbs_exec_arena_ring(&ctx, &arena, i % 6 * PAGE, (1 + i / 6 % 6) * PAGE, &other);
    if (status == VBS_OK)
        status = vbs_exec_arena_ring(&ctx, &arena, 3 * PAGE, PAGE, &again);
    ok(status == VBS_OK && again == a, "a ring that is asked for again has the same address");
    vbs_exec_arena_unmap(&arena);
    is_int(count_mappings(), 0, "nothing stays mapped");
}

/* Lets the first, second, ... call of a kind fail while an arena with rings is made. */
static void check_faults(struct faults *faults, const char *name, const char *says)
{
    int n_faults = 0, n_wrong = 0, fd = free_descriptor();

    for (int n = 1; n < 100; n++) {
        struct vbs_ctx ctx = {0};
        struct vbs_exec_arena arena = {0};
        char *at;
        enum vbs_status status;

        *faults = (struct faults){.countdown = n};
        status = vbs_exec_arena_share(&ctx, &arena, 8 * PAGE);
        for (int i = 0; i < 3 && status == VBS_OK; i++)
            status = vbs_exec_arena_ring(&ctx, &arena, i * PAGE, 2 * PAGE, &at);
        vbs_exec_arena_unmap(&arena);
        n_faults += faults->hit;
        if (faults->hit && (status != VBS_NO_MEMORY || !strstr(vbs_detail(&ctx), says))) {
            printf("# call %d: status %d, %s\n", n, (int)status, vbs_detail(&ctx));
            n_wrong++;
        }
        n_wrong += count_mappings() != 0 || free_descriptor() != fd;
        if (!faults->hit)
            break;
    }
    *faults = (struct faults){0};
    ok(n_faults > 0 && n_wrong == 0, "%s: %d calls that fail are told, and leave nothing", name,
       n_faults);
}

int main(void)
{
    struct vbs_ctx ctx = {0};
    struct vbs_exec_arena arena = {0};

    check_rings();
    check_faults(&file_faults, "memfd_create",
                 "cannot obtain an arena of 32768 bytes (32 KiB) for windows");
    check_faults(&size_faults, "ftruncate",
                 "cannot obtain an arena of 32768 bytes (32 KiB) for windows");
    check_faults(&map_faults, "mmap", "cannot ");
    ok(vbs_exec_arena_share(&ctx, &arena, 0) == VBS_OK, "an arena without bytes");
    vbs_exec_arena_unmap(&arena);
    ok(vbs_exec_arena_share(&ctx, &arena, INT64_MAX) == VBS_NO_MEMORY, "too large an arena");
    return done_testing();
}
