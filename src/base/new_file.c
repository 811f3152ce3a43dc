#include "base/new_file.h"

#include "base/fail.h"
#include "base/leftover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_LINKS 40  /* in one path, as many as the system follows */
#define MOST_NAMES 100 /* that are tried beside the target */

/* Gives the path of the file to which a path leads through symbolic links. The file need not exist.
 * Null, with errno set: memory is out, or the links form a circle. The caller frees it. */
static char *follow_links(const char *path)
{
    char *at = strdup(path);

    for (int i = 0; at && i < MOST_LINKS; i++) {
        const char *slash = strrchr(at, '/');
        char link[PATH_MAX], *next = NULL;
        ssize_t length = readlink(at, link, sizeof link - 1);

        if (length < 0)
            return at;
        link[length] = '\0';
        if (link[0] == '/' || !slash)
            next = strdup(link);
        else if (asprintf(&next, "%.*s/%s", (int)(slash - at), at, link) < 0)
            next = NULL;
        free(at);
        at = next;
    }
    errno = at ? ELOOP : ENOMEM;
    free(at);
    return NULL;
}

/* Makes a name beside the target for each number. False: memory is out. */
static bool name_beside(struct vbs_new_file *file, int number)
{
    free(file->name);
    file->name = vbs_part_name(file->target, number);
    if (!file->name)
        errno = ENOMEM;
    return file->name != NULL;
}

static void forget_name(struct vbs_new_file *file)
{
    free(file->name);
    file->name = NULL;
}

/* Opens a file with a name beside the target. Returns -1, and sets errno, on failure. */
static int open_beside(struct vbs_new_file *file)
{
    int fd = -1;

    for (int i = 0; i < MOST_NAMES && fd < 0; i++) {
        if (!name_beside(file, i))
            return -1;
        fd = open(file->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        forget_name(file);
    return fd;
}

/* Opens a file without a name beside the target, where it can get a name later. */
static int open_nameless(const struct vbs_new_file *file)
{
    const char *slash = strrchr(file->target, '/');
    char *folder = slash ? strndup(file->target, (size_t)(slash - file->target) + 1) : strdup(".");
    int fd = -1;

    if (folder && access("/proc/self/fd", X_OK) == 0)
        fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    free(folder);
    return fd;
}

static enum vbs_status cannot(struct vbs_ctx *ctx, const char *what,
                              const struct vbs_new_file *file, int reason)
{
    if (reason == ENOMEM)
        return vbs_no_memory(ctx);
    return vbs_fail(ctx, VBS_IO, "cannot %s '%.300s': %s", what, file->path, strerror(reason));
}

enum vbs_status vbs_new_file_open(struct vbs_ctx *ctx, const char *path, struct vbs_new_file *file)
{
    struct stat about;

    *file = (struct vbs_new_file){.descriptor = -1, .path = path};
    file->target = follow_links(path);
    if (!file->target)
        return cannot(ctx, "create", file, errno);
    if (stat(file->target, &about) == 0 && !S_ISREG(about.st_mode)) {
        vbs_new_file_abandon(file);
        return vbs_fail(ctx, VBS_IO, "cannot write '%.300s': no regular file", path);
    }
    vbs_leftover_look(ctx, file->target);
    file->descriptor = open_nameless(file);
    if (file->descriptor < 0)
        file->descriptor = open_beside(file);
    if (file->descriptor < 0) {
        enum vbs_status status = cannot(ctx, "create", file, errno);

        vbs_new_file_abandon(file);
        return status;
    }
    vbs_part_lock(file->descriptor);
    return VBS_OK;
}

int vbs_write_at(int descriptor, int64_t offset, const void *bytes, int64_t n_bytes)
{
    const char *from = bytes;

    while (n_bytes > 0) {
        ssize_t wrote = pwrite(descriptor, from, (size_t)n_bytes, offset);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return wrote < 0 ? errno : ENOSPC;
        from += wrote;
        offset += wrote;
        n_bytes -= wrote;
    }
    return 0;
}

enum vbs_status vbs_new_file_write(struct vbs_ctx *ctx, const struct vbs_new_file *file,
                                   int64_t offset, const void *bytes, int64_t n_bytes)
{
    int reason = vbs_write_at(file->descriptor, offset, bytes, n_bytes);

    return reason ? cannot(ctx, "write", file, reason) : VBS_OK;
}

/* Gives a file without a name a name beside the target. False, with errno set, on failure. */
static bool link_beside(struct vbs_new_file *file)
{
    char self[40];

    snprintf(self, sizeof self, "/proc/self/fd/%d", file->descriptor);
    for (int i = 0; i < MOST_NAMES; i++) {
        if (!name_beside(file, i))
            return false;
        if (linkat(AT_FDCWD, self, AT_FDCWD, file->name, AT_SYMLINK_FOLLOW) == 0)
            return true;
        if (errno != EEXIST)
            break;
    }
    forget_name(file); /* it is another file's, or nobody's */
    return false;
}

/* Closes the file before it gets its name: some file systems tell only then that it is too large.
 */
static bool close_early(struct vbs_new_file *file)
{
    int descriptor = file->descriptor;

    file->descriptor = -1;
    return close(descriptor) == 0;
}

/* Renames the file to the target's name, in one operation, with the mode of the file that is there.
 */
static enum vbs_status replace_target(struct vbs_ctx *ctx, struct vbs_new_file *file, bool closes)
{
    struct stat before;

    if ((stat(file->target, &before) == 0 &&
         fchmod(file->descriptor, before.st_mode & 07777) != 0) ||
        (!file->name && !link_beside(file)) || (closes && !close_early(file)) ||
        rename(file->name, file->target) != 0)
        return cannot(ctx, "write", file, errno);
    forget_name(file);
    return VBS_OK;
}

enum vbs_status vbs_new_file_commit(struct vbs_ctx *ctx, struct vbs_new_file *file)
{
    enum vbs_status status = fsync(file->descriptor) == 0 ? replace_target(ctx, file, false)
                                                          : cannot(ctx, "write", file, errno);

    vbs_new_file_abandon(file);
    return status;
}

enum vbs_status vbs_new_file_finish(struct vbs_ctx *ctx, struct vbs_new_file *file)
{
    enum vbs_status status = replace_target(ctx, file, true);

    vbs_new_file_abandon(file);
    return status;
}

enum vbs_status vbs_new_file_publish(struct vbs_ctx *ctx, struct vbs_new_file *file,
                                     int *descriptor)
{
    enum vbs_status status = replace_target(ctx, file, false);

    if (status == VBS_OK) {
        vbs_part_unlock(file->descriptor);
        *descriptor = file->descriptor;
        file->descriptor = -1;
    }
    vbs_new_file_abandon(file);
    return status;
}

void vbs_new_file_abandon(struct vbs_new_file *file)
{
    if (file->name)
        unlink(file->name);
    if (file->target && file->descriptor >= 0)
        close(file->descriptor);
    free(file->name);
    free(file->target);
    *file = (struct vbs_new_file){.descriptor = -1};
}
