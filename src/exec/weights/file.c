/*
 * The flat file of packed weights:
 *
 *     0       struct file_header: magic, version, sizes, a hash of the packed weights
 *     64      the key: a text of what the packed weights depend on (key.c)
 *     ...     zeros up to a multiple of 4096
 *     the packed weights of each layer and format, each from a multiple of 4096 on, in the key's
 *     order
 *
 * The file is for this machine and library only. A file with another key, or a damaged one, is
 * written anew; a file of another kind is left alone.
 */

#include "base/arith.h"
#include "base/fail.h"
#include "base/new_file.h"
#include "base/text.h"
#include "exec/weights/key.h"
#include "exec/weights/loader.h"
#include "vbslab/units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define WEIGHTS_PREFIX "vbslab-weights-" /* of the file's name until it is removed */

static const char MAGIC[16] = "vbslab-weights-";
#define VERSION 1
#define HASH    UINT64_C(0xcbf29ce484222325)

struct file_header {
    char magic[16];
    uint64_t version;
    uint64_t key_bytes;
    uint64_t file_bytes;
    uint64_t packed_hash; /* of all bytes behind the key's blocks */
    uint64_t reserved[2];
};

/* The state of opening or writing a file. */
struct filing {
    struct vbs_ctx *ctx;
    struct vbs_exec_file *file;
    const struct vbs_exec_checked *checked;
    struct vbs_session *session;
    const struct vbs_exec_file_options *options;
    struct vbs_text key;
    int64_t first_bytes, file_bytes; /* beginning and end of the packed weights in the file */
    char *buffer;
    int64_t buffer_bytes;
};

static int64_t round_up(int64_t bytes)
{
    return (bytes + VBS_EXEC_SECTOR - 1) / VBS_EXEC_SECTOR * VBS_EXEC_SECTOR;
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
    const struct vbs_exec_checked *checked = f->checked;
    int64_t at;

    VBS_TRY(vbs_exec_weights_key(f->ctx, checked, network, f->session, &f->key));
    f->file->offsets = malloc((size_t)checked->n_packed * sizeof *f->file->offsets + 1);
    if (!f->file->offsets)
        return vbs_no_memory(f->ctx);
    f->first_bytes = at = round_up((int64_t)sizeof(struct file_header) + (int64_t)f->key.length);
    for (int m = 0; m < checked->n_packed; m++) {
        int64_t bytes = checked->packed[m].packed_bytes;

        f->file->offsets[m] = at;
        if (bytes > INT64_MAX / 4 || !vbs_add(at, round_up(bytes), &at) || at > INT64_MAX / 2)
            return vbs_fail(f->ctx, VBS_USAGE, "packed weights have more bytes than a file can");
    }
    f->file_bytes = at;
    f->file->first_bytes = f->first_bytes;
    f->file->end_bytes = at;
    return VBS_OK;
}

static void unmap_buffer(struct filing *f)
{
    if (f->buffer)
        munmap(f->buffer, (size_t)f->buffer_bytes);
    f->buffer = NULL;
}

/* Replaces the buffer by one of these bytes. It is a mapping, so that all of it goes back to the
 * system. */
static enum vbs_status map_buffer(struct filing *f, int64_t bytes)
{
    void *map;

    unmap_buffer(f);
    map = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return vbs_no_memory(f->ctx);
    f->buffer = map;
    f->buffer_bytes = bytes;
    return VBS_OK;
}

/* ---- reading ---- */

/* Reads bytes. Returns 0, or errno; EIO where the file ends before. */
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

/* Reads bytes from offset on by way of bounce, in whole sectors. */
static int read_bounced(const struct vbs_exec_file *file, char *to, int64_t bytes, int64_t offset,
                        char *bounce)
{
    while (bytes > 0) {
        int64_t skip = offset % VBS_EXEC_SECTOR, blocks = round_up(skip + bytes), n;
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
    int64_t head = (VBS_EXEC_SECTOR - offset % VBS_EXEC_SECTOR) % VBS_EXEC_SECTOR, whole;
    int reason;

    if (file->direct_fd < 0)
        return read_all(file->fd, to, bytes, offset);
    head = head < bytes ? head : bytes;
    whole = (bytes - head) / VBS_EXEC_SECTOR * VBS_EXEC_SECTOR;
    if ((uintptr_t)(at + head) % VBS_EXEC_SECTOR != 0 || whole == 0)
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
        *whole = read_all(fd, f->buffer, n, at) == 0;
        if (*whole)
            *hash = vbs_exec_hash(*hash, f->buffer, (size_t)n);
        report(f, (double)at / (double)f->file_bytes, "checking packed weights");
    }
    return VBS_OK;
}

/* Judges a file: *suits tells whether it has all that is needed; *ours, whether it is a file of
 * packed weights, or empty. */
static enum vbs_status judge_file(struct filing *f, int fd, bool *suits, bool *ours)
{
    struct file_header header = {{0}, 0, 0, 0, 0, {0}};
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
        (int64_t)f->key.length > f->buffer_bytes ||
        read_all(fd, f->buffer, (int64_t)f->key.length, sizeof header) != 0 ||
        memcmp(f->buffer, f->key.data, f->key.length) != 0)
        return VBS_OK;
    status = hash_file(f, fd, &hash, suits);
    *suits = *suits && status == VBS_OK && hash == header.packed_hash;
    return status;
}

static enum vbs_status refuse_kind(struct filing *f)
{
    return vbs_fail(f->ctx, VBS_FORMAT,
                    "'%s' is no file of packed weights; remove it or give another name",
                    f->options->path);
}

/* Opens the file if it suits; file->fd stays -1 where the file must be written. */
static enum vbs_status reuse(struct filing *f)
{
    const char *path = f->options->path;
    bool suits, ours;
    struct stat info;
    enum vbs_status status;
    int fd;

    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) /* opening it may hang or do harm */
        return vbs_fail(f->ctx, VBS_FORMAT, "'%s' is no regular file; give another name", path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return VBS_OK;
    if (fd < 0)
        return vbs_fail(f->ctx, VBS_IO, "cannot open '%s': %s", path, strerror(errno));
    status = judge_file(f, fd, &suits, &ours);
    if (status == VBS_OK && suits) {
        f->file->fd = fd;
        return VBS_OK;
    }
    close(fd);
    return status == VBS_OK && !ours ? refuse_kind(f) : status;
}

/* ---- a new file ---- */

static enum vbs_status refuse_write(struct filing *f, int reason)
{
    char size[24];

    return vbs_fail(f->ctx, VBS_IO, "cannot write %s of packed weights to %s'%s': %s%s",
                    vbs_format_bytes(f->file_bytes, size, sizeof size),
                    f->options->path ? "" : "a nameless file in ", f->file->path, strerror(reason),
                    f->options->path ? "" : "; --weights-file names a file elsewhere");
}

/* Where the next piece of packed weights goes. */
struct next_piece {
    struct filing *f;
    int fd;
    int64_t at;
};

/* self: the next piece. */
static enum vbs_status write_piece(struct vbs_ctx *ctx, void *self, const void *bytes,
                                   int64_t n_bytes)
{
    struct next_piece *next = self;
    int reason = vbs_write_at(next->fd, next->at, bytes, n_bytes);

    (void)ctx;
    next->at += n_bytes;
    return reason ? refuse_write(next->f, reason) : VBS_OK;
}

/* Packs the weights of a kernel in pieces, or at once where the backend has no pieces. */
static enum vbs_status pack_kernel(struct next_piece *next, int kernel, int64_t bytes)
{
    const struct vbs_pack_sink sink = {next, write_piece};
    struct filing *f = next->f;
    struct vbs_session *session = f->session;

    if (session->ops->pack_to)
        return session->ops->pack_to(f->ctx, session, kernel, &sink);
    if (f->buffer_bytes < bytes)
        VBS_TRY(map_buffer(f, bytes));
    VBS_TRY(session->ops->pack(f->ctx, session, kernel, f->buffer));
    return write_piece(f->ctx, next, f->buffer, bytes);
}

/* Packs weights as their kernels read them; weights that no kernel reads stay zeros of the new
 * file. */
static enum vbs_status pack_weights(struct filing *f, int m, int fd)
{
    const struct vbs_exec_packed *packed = &f->checked->packed[m];
    int *kernels, n;
    enum vbs_status status = vbs_exec_packers(f->ctx, f->checked, m, &kernels, &n);

    if (status != VBS_OK)
        return status;
    for (int i = 0; i < n && status == VBS_OK && packed->packed_bytes > 0; i++) {
        const struct vbs_requested_kernel *requested = &f->checked->kernels[kernels[i]].requested;
        struct vbs_exec_range range =
            vbs_exec_slice_range(packed, requested->slice, requested->n_slices);
        struct next_piece next = {f, fd, f->file->offsets[m] + range.packed_from};

        status = pack_kernel(&next, kernels[i], range.packed_to - range.packed_from);
        if (status == VBS_OK && next.at != f->file->offsets[m] + range.packed_to)
            status =
                vbs_fail(f->ctx, VBS_LIBRARY,
                         "layer %d: the backend has packed other bytes of weights than it said",
                         requested->layer);
    }
    free(kernels);
    return status;
}

/* Writes the header, by which the file will be known, when all packed weights are in it. */
static enum vbs_status write_header(struct filing *f, int fd)
{
    struct file_header header = {
        .version = VERSION, .key_bytes = f->key.length, .file_bytes = (uint64_t)f->file_bytes};
    bool whole = true;
    int reason = ftruncate(fd, f->file_bytes) != 0 ? errno : 0;

    memcpy(header.magic, MAGIC, sizeof MAGIC);
    if (reason == 0)
        VBS_TRY(hash_file(f, fd, &header.packed_hash, &whole));
    if (!whole)
        reason = EIO;
    if (reason == 0)
        reason = vbs_write_at(fd, sizeof header, f->key.data, (int64_t)f->key.length);
    if (reason == 0)
        reason = vbs_write_at(fd, 0, &header, sizeof header);
    if (reason == 0 && f->options->direct && fdatasync(fd) != 0)
        reason = errno;
    return reason ? refuse_write(f, reason) : VBS_OK;
}

static enum vbs_status write_packed(struct filing *f, int fd)
{
    for (int m = 0; m < f->checked->n_packed; m++) {
        if (vbs_cancelled(f->ctx))
            return vbs_fail(f->ctx, VBS_INTERRUPTED, "interrupted");
        report(f, (double)f->file->offsets[m] / (double)f->file_bytes, "packing weights");
        VBS_TRY(pack_weights(f, m, fd));
    }
    return write_header(f, fd);
}

/* Opens a file without a name in the folder of the options. Where none was given and the current
 * folder cannot be written, it uses the folder of temporary files. */
static enum vbs_status open_without_path(struct filing *f, int *fd)
{
    const char *folder = f->options->folder;

    *fd = vbs_open_nameless(folder ? folder : ".", WEIGHTS_PREFIX);
    if (*fd < 0 && !folder) {
        char *path = strdup(vbs_temporary_folder());

        if (!path)
            return vbs_no_memory(f->ctx);
        free(f->file->path);
        f->file->path = path;
        *fd = vbs_open_nameless(path, WEIGHTS_PREFIX);
    }
    return *fd >= 0 ? VBS_OK : refuse_write(f, errno);
}

/* Writes the file that replaces the path of the options. */
static enum vbs_status write_named(struct filing *f)
{
    struct vbs_new_file file;
    enum vbs_status status = vbs_new_file_open(f->ctx, f->options->path, &file);

    if (status == VBS_OK)
        status = write_packed(f, file.descriptor);
    if (status == VBS_OK)
        return vbs_new_file_publish(f->ctx, &file, &f->file->fd);
    vbs_new_file_abandon(&file);
    return status;
}

static enum vbs_status write_file(struct filing *f)
{
    enum vbs_status status;
    int fd;

    if (f->options->path)
        return write_named(f);
    VBS_TRY(open_without_path(f, &fd));
    status = write_packed(f, fd);
    if (status == VBS_OK)
        f->file->fd = fd;
    else
        close(fd);
    return status;
}

/* ---- the whole ---- */

/* Some file systems accept O_DIRECT but refuse reads; then reads go through the page cache. */
static void try_direct(struct filing *f)
{
    struct vbs_exec_file *file = f->file;
    char self[40];

    if (!f->options->direct)
        return;
    snprintf(self, sizeof self, "/proc/self/fd/%d", file->fd);
    file->direct_fd = open(self, O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (file->direct_fd < 0 || read_all(file->direct_fd, f->buffer, VBS_EXEC_SECTOR, 0) == 0)
        return;
    close(file->direct_fd);
    file->direct_fd = -1;
}

enum vbs_status vbs_exec_file_open(struct vbs_ctx *ctx, struct vbs_exec_file *file,
                                   const struct vbs_exec_checked *checked,
                                   const struct vbs_network *network, struct vbs_session *session,
                                   const struct vbs_exec_file_options *options)
{
    struct filing f = {
        .ctx = ctx, .file = file, .checked = checked, .session = session, .options = options};
    const char *folder = options->folder ? options->folder : ".";
    enum vbs_status status;

    file->path = strdup(options->path ? options->path : folder);
    status = file->path ? lay_out(&f, network) : vbs_no_memory(ctx);
    if (status != VBS_OK)
        goto done;
    /* for a block of the file, or for its key */
    status = map_buffer(&f, f.first_bytes > VBS_EXEC_BOUNCE ? f.first_bytes : VBS_EXEC_BOUNCE);
    if (status != VBS_OK)
        goto done;
    if (options->path)
        status = reuse(&f);
    if (status != VBS_OK)
        goto done;
    if (file->fd < 0)
        status = write_file(&f);
    if (status != VBS_OK)
        goto done;
    try_direct(&f);
done:
    unmap_buffer(&f);
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
