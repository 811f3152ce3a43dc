#include "exec/weights/file.h"

#include "base/arith.h"
#include "base/fail.h"
#include "vbslab/units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char MAGIC[16] = "vbslab-weights-";
#define VERSION 1
#define HASH    UINT64_C(0xcbf29ce484222325)

struct header {
    char magic[16];
    uint64_t version;
    uint64_t key_bytes;
    uint64_t file_bytes;
    uint64_t images_hash; /* of all bytes behind the key's blocks */
    uint64_t reserved[2];
};

/* A file being opened or written. */
struct filing {
    struct vbs_ctx *ctx;
    struct vbs_exec_file *file;
    const struct vbs_exec_walk *walk;
    struct vbs_session *session;
    const struct vbs_exec_file_options *options;
    struct vbs_text key;
    int64_t first_bytes, file_bytes; /* where the images begin, and end */
    char *image;                     /* room for the largest, or a part of a file */
    int64_t image_bytes;
};

static int64_t round_up(int64_t bytes)
{
    return (bytes + VBS_EXEC_BLOCK - 1) / VBS_EXEC_BLOCK * VBS_EXEC_BLOCK;
}

static void report(const struct filing *f, double done, const char *text)
{
    const struct vbs_progress *progress = &f->options->progress;

    if (progress->report)
        progress->report(progress->self, done, -1, text);
}

/* ---- layout ---- */

static enum vbs_status lay_out(struct filing *f, const struct vbs_network *network)
{
    const struct vbs_exec_walk *walk = f->walk;
    enum vbs_status status = vbs_exec_weights_key(f->ctx, walk, network, f->session, &f->key);
    int64_t at;

    if (status != VBS_OK)
        return status;
    f->file->offsets = malloc((size_t)walk->n_images * sizeof *f->file->offsets + 1);
    if (!f->file->offsets)
        return vbs_no_memory(f->ctx);
    f->first_bytes = at = round_up((int64_t)sizeof(struct header) + (int64_t)f->key.length);
    f->image_bytes = VBS_EXEC_BOUNCE;
    for (int m = 0; m < walk->n_images; m++) {
        int64_t bytes = walk->images[m].packed_bytes;

        f->file->offsets[m] = at;
        if (bytes > INT64_MAX / 4 || !vbs_add(at, round_up(bytes), &at) || at > INT64_MAX / 2)
            return vbs_fail(f->ctx, VBS_USAGE, "packed weights have more bytes than a file can");
        f->image_bytes = round_up(bytes) > f->image_bytes ? round_up(bytes) : f->image_bytes;
    }
    f->file_bytes = at;
    return VBS_OK;
}

/* Of its own mapping, so that all of it goes back to the system. */
static enum vbs_status map_image(struct filing *f)
{
    void *map = mmap(NULL, (size_t)f->image_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (map == MAP_FAILED)
        return vbs_no_memory(f->ctx);
    f->image = map;
    return VBS_OK;
}

/* ---- reading ---- */

/* 0, or errno; EIO where the file ends. */
static int read_all(int fd, char *to, int64_t bytes, int64_t offset)
{
    while (bytes > 0) {
        ssize_t n = pread(fd, to, (size_t)bytes, offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        to += n;
        offset += n;
        bytes -= n;
    }
    return 0;
}

/* Bytes of blocks from..to - 1, of which a piece from offset on, bytes long, is requested. */
static int read_bounced(const struct vbs_exec_file *file, char *to, int64_t bytes, int64_t offset,
                        char *bounce)
{
    while (bytes > 0) {
        int64_t skip = offset % VBS_EXEC_BLOCK, blocks = round_up(skip + bytes), n;
        int reason;

        blocks = blocks < VBS_EXEC_BOUNCE ? blocks : VBS_EXEC_BOUNCE;
        n = blocks - skip < bytes ? blocks - skip : bytes;
        reason = read_all(file->direct_fd, bounce, blocks, offset - skip);
        if (reason)
            return reason;
        memcpy(to, bounce + skip, (size_t)n);
        to += n;
        offset += n;
        bytes -= n;
    }
    return 0;
}

int vbs_exec_file_read(const struct vbs_exec_file *file, void *to, int64_t bytes, int64_t offset,
                       void *bounce)
{
    char *at = to;
    int64_t head = (VBS_EXEC_BLOCK - offset % VBS_EXEC_BLOCK) % VBS_EXEC_BLOCK, whole;
    int reason;

    if (file->direct_fd < 0)
        return read_all(file->fd, to, bytes, offset);
    head = head < bytes ? head : bytes;
    whole = (bytes - head) / VBS_EXEC_BLOCK * VBS_EXEC_BLOCK;
    if ((uintptr_t)(at + head) % VBS_EXEC_BLOCK != 0 || whole == 0)
        return read_bounced(file, to, bytes, offset, bounce);
    reason = read_bounced(file, at, head, offset, bounce);
    if (reason == 0)
        reason = read_all(file->direct_fd, at + head, whole, offset + head);
    if (reason == 0)
        reason = read_bounced(file, at + head + whole, bytes - head - whole, offset + head + whole,
                              bounce);
    return reason;
}

enum vbs_status vbs_exec_file_refuse(struct vbs_ctx *ctx, const struct vbs_exec_file *file,
                                     int reason)
{
    return vbs_fail(ctx, VBS_IO, "cannot read packed weights from '%s': %s", file->path,
                    reason == EIO ? "it is damaged or its disk is" : strerror(reason));
}

/* ---- a file that is there ---- */

static enum vbs_status hash_file(struct filing *f, int fd, uint64_t *hash, bool *whole)
{
    *hash = HASH;
    *whole = true;
    for (int64_t at = f->first_bytes; at < f->file_bytes && *whole; at += VBS_EXEC_BOUNCE) {
        int64_t left = f->file_bytes - at, n = left < VBS_EXEC_BOUNCE ? left : VBS_EXEC_BOUNCE;

        if (vbs_cancelled(f->ctx))
            return vbs_fail(f->ctx, VBS_INTERRUPTED, "interrupted");
        *whole = read_all(fd, f->image, n, at) == 0;
        if (*whole)
            *hash = vbs_exec_hash(*hash, f->image, (size_t)n);
        report(f, (double)at / (double)f->file_bytes, "checking packed weights");
    }
    return VBS_OK;
}

/* *suits: the file has all that is needed; *ours: it is such a file, or empty. */
static enum vbs_status judge(struct filing *f, int fd, bool *suits, bool *ours)
{
    struct header header = {{0}, 0, 0, 0, 0, {0}};
    struct stat info;
    uint64_t hash;
    enum vbs_status status;

    *suits = *ours = false;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return VBS_OK;
    if (info.st_size == 0)
        *ours = true;
    if (read_all(fd, (char *)&header, sizeof header, 0) != 0 ||
        memcmp(header.magic, MAGIC, sizeof MAGIC) != 0)
        return VBS_OK;
    *ours = true;
    if (header.version != VERSION || header.key_bytes != f->key.length ||
        header.file_bytes != (uint64_t)f->file_bytes || info.st_size != f->file_bytes ||
        (int64_t)f->key.length > f->image_bytes ||
        read_all(fd, f->image, (int64_t)f->key.length, sizeof header) != 0 ||
        memcmp(f->image, f->key.data, f->key.length) != 0)
        return VBS_OK;
    status = hash_file(f, fd, &hash, suits);
    *suits = *suits && status == VBS_OK && hash == header.images_hash;
    return status;
}

/* Opens the file if it suits; file->fd stays -1 where it is to be written. */
static enum vbs_status reuse(struct filing *f)
{
    const char *path = f->options->path;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool suits, ours;
    enum vbs_status status;

    if (fd < 0 && errno == ENOENT)
        return VBS_OK;
    if (fd < 0)
        return vbs_fail(f->ctx, VBS_IO, "cannot open '%s': %s", path, strerror(errno));
    status = judge(f, fd, &suits, &ours);
    if (status == VBS_OK && suits) {
        f->file->fd = fd;
        return VBS_OK;
    }
    close(fd);
    if (status == VBS_OK && !ours)
        return vbs_fail(f->ctx, VBS_FORMAT,
                        "'%s' is no file of packed weights; remove it or give another name", path);
    return status;
}

/* ---- a new file ---- */

static enum vbs_status refuse_write(struct filing *f, int reason)
{
    char size[24];

    return vbs_fail(f->ctx, VBS_IO, "cannot write %s of packed weights to %s'%s': %s",
                    vbs_format_bytes(f->file_bytes, size, sizeof size),
                    f->options->path ? "" : "a nameless file in ", f->file->path, strerror(reason));
}

static int write_all(int fd, const char *from, int64_t bytes, int64_t offset)
{
    while (bytes > 0) {
        ssize_t n = pwrite(fd, from, (size_t)bytes, offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : ENOSPC;
        from += n;
        offset += n;
        bytes -= n;
    }
    return 0;
}

/* The image as its kernels want it; zeros where none reads it. */
static enum vbs_status pack(struct filing *f, int m)
{
    const struct vbs_exec_image *image = &f->walk->images[m];
    int *kernels, n;
    enum vbs_status status = vbs_exec_packers(f->ctx, f->walk, m, &kernels, &n);

    if (status != VBS_OK)
        return status;
    memset(f->image, 0, (size_t)round_up(image->packed_bytes));
    for (int i = 0; i < n && status == VBS_OK && image->packed_bytes > 0; i++) {
        const struct vbs_requested_kernel *requested = &f->walk->kernels[kernels[i]].requested;
        struct vbs_exec_range range = vbs_exec_range(image, requested->slice, requested->n_slices);

        status =
            f->session->ops->pack(f->ctx, f->session, kernels[i], f->image + range.packed_from);
    }
    free(kernels);
    return status;
}

static enum vbs_status write_images(struct filing *f, int fd)
{
    struct header header = {.version = VERSION,
                            .key_bytes = f->key.length,
                            .file_bytes = (uint64_t)f->file_bytes,
                            .images_hash = HASH};
    int reason = 0;

    for (int m = 0; m < f->walk->n_images && reason == 0; m++) {
        int64_t bytes = round_up(f->walk->images[m].packed_bytes);
        enum vbs_status status;

        if (vbs_cancelled(f->ctx))
            return vbs_fail(f->ctx, VBS_INTERRUPTED, "interrupted");
        report(f, (double)f->file->offsets[m] / (double)f->file_bytes, "packing weights");
        status = pack(f, m);
        if (status != VBS_OK)
            return status;
        reason = write_all(fd, f->image, bytes, f->file->offsets[m]);
        /* In the pieces in which it is checked. */
        header.images_hash = vbs_exec_hash(header.images_hash, f->image, (size_t)bytes);
    }
    memcpy(header.magic, MAGIC, sizeof MAGIC);
    if (reason == 0)
        reason = write_all(fd, f->key.data, (int64_t)f->key.length, sizeof header);
    if (reason == 0 && ftruncate(fd, f->file_bytes) != 0)
        reason = errno;
    if (reason == 0)
        reason = write_all(fd, (const char *)&header, sizeof header, 0);
    if (reason == 0 && f->options->direct && fdatasync(fd) != 0)
        reason = errno;
    return reason ? refuse_write(f, reason) : VBS_OK;
}

/* Under a name of its own, which becomes the one asked for or vanishes. */
static enum vbs_status write_file(struct filing *f)
{
    const char *path = f->options->path;
    const char *folder = f->options->folder ? f->options->folder : ".";
    char *name;
    enum vbs_status status;
    int fd;

    if (path ? asprintf(&name, "%s.XXXXXX", path) < 0
             : asprintf(&name, "%s/vbslab-weights-XXXXXX", folder) < 0)
        return vbs_no_memory(f->ctx);
    fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0) {
        status = refuse_write(f, errno);
        free(name);
        return status;
    }
    status = write_images(f, fd);
    if (status == VBS_OK && f->options->direct)
        f->file->direct_fd = open(name, O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (status == VBS_OK && path && rename(name, path) != 0)
        status = refuse_write(f, errno);
    if (status != VBS_OK || !path)
        unlink(name);
    free(name);
    if (status == VBS_OK)
        f->file->fd = fd;
    else
        close(fd);
    return status;
}

/* ---- the whole ---- */

/* Some file systems take O_DIRECT and refuse reads: then the page cache it is. */
static void try_direct(struct filing *f)
{
    struct vbs_exec_file *file = f->file;

    if (!f->options->direct)
        return;
    if (file->direct_fd < 0 && f->options->path)
        file->direct_fd = open(f->options->path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (file->direct_fd < 0 || read_all(file->direct_fd, f->image, VBS_EXEC_BLOCK, 0) == 0)
        return;
    close(file->direct_fd);
    file->direct_fd = -1;
}

enum vbs_status vbs_exec_file_open(struct vbs_ctx *ctx, struct vbs_exec_file *file,
                                   const struct vbs_exec_walk *walk,
                                   const struct vbs_network *network, struct vbs_session *session,
                                   const struct vbs_exec_file_options *options)
{
    struct filing f = {
        .ctx = ctx, .file = file, .walk = walk, .session = session, .options = options};
    const char *folder = options->folder ? options->folder : ".";
    enum vbs_status status;

    if (!session->ops->pack)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "backend '%s' keeps weights outside the budget",
                        session->provenance.backend);
    file->path = strdup(options->path ? options->path : folder);
    status = file->path ? lay_out(&f, network) : vbs_no_memory(ctx);
    if (status == VBS_OK)
        status = map_image(&f);
    if (status == VBS_OK && options->path)
        status = reuse(&f);
    if (status == VBS_OK && file->fd < 0)
        status = write_file(&f);
    if (status == VBS_OK)
        try_direct(&f);
    if (f.image)
        munmap(f.image, (size_t)f.image_bytes);
    vbs_text_clear(&f.key);
    return status;
}

void vbs_exec_file_close(struct vbs_exec_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->direct_fd >= 0)
        close(file->direct_fd);
    free(file->path);
    free(file->offsets);
    *file = (struct vbs_exec_file){.fd = -1, .direct_fd = -1};
}
