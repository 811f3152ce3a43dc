/* Whether a shared object is whole. The loader maps what the object's header says; where the file
 * is shorter, the process would die by a signal when it touches the missing pages. */
#include "outside/internal.h"

#include "base/fail.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_HEADERS 1024

static bool read_at(int file, void *data, size_t size, uint64_t offset)
{
    return offset <= INT64_MAX && pread(file, data, size, (off_t)offset) == (ssize_t)size;
}

/* Gives where the last segment that the loader maps ends in the file; 0 where the file is no object
 * of this machine, or its headers are not there, both of which the loader says itself. */
static uint64_t end_of_segments(int file)
{
    ElfW(Ehdr) head;
    ElfW(Phdr) segment;
    uint64_t end = 0;

    if (!read_at(file, &head, sizeof head, 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_phentsize != sizeof segment || head.e_phnum > MOST_HEADERS)
        return 0;
    for (uint64_t i = 0; i < head.e_phnum; i++) {
        uint64_t stop;

        if (!read_at(file, &segment, sizeof segment, head.e_phoff + i * sizeof segment))
            return 0;
        if (segment.p_type != PT_LOAD)
            continue;
        if (__builtin_add_overflow((uint64_t)segment.p_offset, (uint64_t)segment.p_filesz, &stop))
            return UINT64_MAX;
        end = stop > end ? stop : end;
    }
    return end;
}

enum vbs_status vbs_outside_check_whole(struct vbs_ctx *ctx, const struct vbs_outside *outside)
{
    int file = open(outside->path, O_RDONLY | O_CLOEXEC);
    enum vbs_status status = VBS_OK;
    struct stat about;

    if (file < 0) /* the loader says why */
        return VBS_OK;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
        end_of_segments(file) > (uint64_t)about.st_size)
        status = vbs_fail(ctx, VBS_IO,
                          "%s: the file is cut: its %lld bytes are fewer than its header says",
                          outside->name, (long long)about.st_size);
    close(file);
    return status;
}
