#include "data/file.h"

#include "base/fail.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES (1 << 17) /* of zlib, for compressed bytes */
#define MOST_AT_ONCE (1 << 30) /* bytes of one call of zlib, which counts in unsigned int */

/* Writes the path of a file; false where it is too long. */
static bool join(const char *folder, const char *name, const char *end, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/%s%s", folder, name, end) < PATH_MAX;
}

static bool is_there(const char *folder, const char *name, const char *end)
{
    char path[PATH_MAX];

    return join(folder, name, end, path) && access(path, F_OK) == 0;
}

const char *vbs_data_file_find(const char *folder, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        if (is_there(folder, names[i], "") || is_there(folder, names[i], ".gz"))
            return names[i];
    return NULL;
}

enum vbs_status vbs_data_file_open(struct vbs_ctx *ctx, const char *folder, const char *name,
                                   struct vbs_data_file *file)
{
    struct stat about;
    int descriptor;

    *file = (struct vbs_data_file){.ctx = ctx};
    if (!join(folder, name, is_there(folder, name, "") ? "" : ".gz", file->path))
        return vbs_fail(ctx, VBS_IO, "the path of %s in '%.100s...' is too long", name, folder);
    /* A pipe would let the program wait for a writer. */
    descriptor = open(file->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &about) != 0) {
        int reason = errno;

        if (descriptor >= 0)
            close(descriptor);
        return vbs_fail(ctx, VBS_IO, "cannot open '%.300s': %s", file->path, strerror(reason));
    }
    if (!S_ISREG(about.st_mode)) {
        close(descriptor);
        return vbs_fail(ctx, VBS_IO, "%.300s: no regular file", file->path);
    }
    file->n_bytes = about.st_size;
    file->gz = gzdopen(descriptor, "rb");
    if (!file->gz) {
        close(descriptor);
        return vbs_no_memory(ctx);
    }
    (void)gzbuffer(file->gz, BUFFER_BYTES); /* without it, reading is slower */
    return VBS_OK;
}

void vbs_data_file_close(struct vbs_data_file *file)
{
    if (file->gz)
        (void)gzclose_r(file->gz); /* nothing was written */
    file->gz = NULL;
}

/* Says why zlib could not go on. */
static enum vbs_status fail_reading(struct vbs_data_file *file)
{
    int number;

    (void)gzerror(file->gz, &number);
    if (number == Z_ERRNO)
        return vbs_fail(file->ctx, VBS_IO, "cannot read '%.300s': %s", file->path, strerror(errno));
    if (number == Z_MEM_ERROR)
        return vbs_no_memory(file->ctx);
    if (number == Z_BUF_ERROR)
        return vbs_fail(file->ctx, VBS_FORMAT, "%.300s: the compressed file is cut", file->path);
    return vbs_fail(file->ctx, VBS_FORMAT, "%.300s: the compressed data are damaged", file->path);
}

enum vbs_status vbs_data_file_some(struct vbs_data_file *file, void *bytes, size_t size,
                                   size_t *n_read)
{
    size_t n = 0;

    while (n < size) {
        size_t left = size - n;
        int got = gzread(file->gz, (char *)bytes + n,
                         (unsigned)(left < MOST_AT_ONCE ? left : MOST_AT_ONCE));
        int number = Z_OK;

        if (got < 0)
            return fail_reading(file);
        n += (size_t)got;
        if ((size_t)got < left && got < MOST_AT_ONCE) {
            (void)gzerror(file->gz, &number);
            if (number != Z_OK && number != Z_STREAM_END)
                return fail_reading(file);
            break;
        }
    }
    *n_read = n;
    return VBS_OK;
}

enum vbs_status vbs_data_file_read(struct vbs_data_file *file, void *bytes, size_t size,
                                   const char *what)
{
    size_t n;

    VBS_TRY(vbs_data_file_some(file, bytes, size, &n));
    if (n < size)
        return vbs_fail(file->ctx, VBS_FORMAT, "%.300s: the file ends within %s", file->path, what);
    return VBS_OK;
}

enum vbs_status vbs_data_file_measure(struct vbs_data_file *file, int64_t whole)
{
    if (gzdirect(file->gz) && file->n_bytes != whole)
        return vbs_fail(file->ctx, VBS_FORMAT,
                        "%.300s: has %" PRId64 " bytes; by its header there are %" PRId64,
                        file->path, file->n_bytes, whole);
    return VBS_OK;
}

enum vbs_status vbs_data_file_end(struct vbs_data_file *file)
{
    size_t n;
    char more;

    VBS_TRY(vbs_data_file_some(file, &more, 1, &n));
    if (n > 0)
        return vbs_fail(file->ctx, VBS_FORMAT,
                        "%.300s: there is more in the file than its header "
                        "announces",
                        file->path);
    return VBS_OK;
}
