#include "model/network/source.h"

#include "base/arena.h"
#include "base/fail.h"
#include "base/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct file {
    const char *path;
    int64_t bytes;
    int descriptor; /* -1: an image */
    const struct vbs_extent *extents;
    int64_t n_extents;
};

struct file_name {
    const char *name;
    int file;
};

struct kept {
    int file;
    int64_t offset, bytes;
};

struct vbs_source {
    struct vbs_arena arena;
    struct file *files;
    int n_files;
    int64_t files_capacity;
    bool has_images;
    struct file_name *names;
    int n_names;
    int64_t names_capacity;
    struct kept *kept;
    int64_t n_kept, kept_capacity;
};

struct vbs_source *vbs_source_new(void)
{
    return calloc(1, sizeof(struct vbs_source));
}

void vbs_source_free(struct vbs_source *source)
{
    if (!source)
        return;
    for (int i = 0; i < source->n_files; i++)
        if (source->files[i].descriptor >= 0)
            close(source->files[i].descriptor);
    free(source->files);
    free(source->names);
    free(source->kept);
    vbs_arena_clear(&source->arena);
    free(source);
}

void *vbs_source_alloc(struct vbs_source *source, size_t n, size_t size)
{
    return vbs_arena_alloc(&source->arena, n, size);
}

/* ---- files and their names ---- */

/* Opens path into *file. */
static enum vbs_status open_file(struct vbs_ctx *ctx, const char *path, struct file *file)
{
    struct stat about;

    /* a pipe without a writer must not block the reader */
    file->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->descriptor < 0)
        return vbs_fail(ctx, VBS_IO, "cannot open '%.300s': %s", path, strerror(errno));
    if (fstat(file->descriptor, &about) == 0 && S_ISREG(about.st_mode)) {
        file->bytes = about.st_size;
        return VBS_OK;
    }
    close(file->descriptor);
    return vbs_fail(ctx, VBS_IO, "cannot read '%.300s': no regular file", path);
}

/* Makes space for one more file. */
static enum vbs_status reserve_file(struct vbs_ctx *ctx, struct vbs_source *source)
{
    return vbs_grow(ctx, &source->files, &source->files_capacity, (int64_t)source->n_files + 1,
                    sizeof *source->files);
}

enum vbs_status vbs_source_open(struct vbs_ctx *ctx, struct vbs_source *source, const char *path,
                                int *file, int64_t *bytes)
{
    struct file opened = {0};
    int n = source->n_files;

    for (int i = 0; i < n; i++)
        if (strcmp(source->files[i].path, path) == 0) {
            *file = i;
            *bytes = source->files[i].bytes;
            return VBS_OK;
        }
    if (source->has_images)
        return vbs_fail(ctx, VBS_FORMAT, "there is no '%.200s' among the model's files", path);
    VBS_TRY(reserve_file(ctx, source));
    opened.path = vbs_arena_strdup(&source->arena, path);
    if (!opened.path)
        return vbs_no_memory(ctx);
    VBS_TRY(open_file(ctx, path, &opened));
    source->files[n] = opened;
    source->n_files = n + 1;
    *file = n;
    *bytes = opened.bytes;
    return VBS_OK;
}

enum vbs_status vbs_source_add_file(struct vbs_ctx *ctx, struct vbs_source *source,
                                    const char *path, int descriptor)
{
    struct stat about;

    if (fstat(descriptor, &about) != 0)
        return vbs_fail(ctx, VBS_IO, "cannot read '%.300s': %s", path, strerror(errno));
    VBS_TRY(reserve_file(ctx, source));
    source->files[source->n_files++] =
        (struct file){.path = path, .bytes = about.st_size, .descriptor = descriptor};
    return VBS_OK;
}

enum vbs_status vbs_source_add_image(struct vbs_ctx *ctx, struct vbs_source *source,
                                     const char *path, int64_t bytes,
                                     const struct vbs_extent *extents, int64_t n_extents, int *file)
{
    VBS_TRY(reserve_file(ctx, source));
    source->files[source->n_files] = (struct file){
        .path = path, .bytes = bytes, .descriptor = -1, .extents = extents, .n_extents = n_extents};
    source->has_images = true;
    *file = source->n_files++;
    return VBS_OK;
}

enum vbs_status vbs_source_name(struct vbs_ctx *ctx, struct vbs_source *source, const char *name,
                                int file)
{
    char *copy;

    if (source->n_names == VBS_MAX_FILE_NAMES)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "more than %d names of files beside the model",
                        VBS_MAX_FILE_NAMES);
    VBS_TRY(vbs_grow(ctx, &source->names, &source->names_capacity, (int64_t)source->n_names + 1,
                     sizeof *source->names));
    copy = vbs_arena_strdup(&source->arena, name);
    if (!copy)
        return vbs_no_memory(ctx);
    source->names[source->n_names++] = (struct file_name){.name = copy, .file = file};
    return VBS_OK;
}

bool vbs_source_find(const struct vbs_source *source, const char *name, int *file, int64_t *bytes)
{
    for (int i = 0; i < source->n_names; i++)
        if (strcmp(source->names[i].name, name) == 0) {
            *file = source->names[i].file;
            *bytes = source->files[*file].bytes;
            return true;
        }
    return false;
}

int vbs_source_n_files(const struct vbs_source *source)
{
    return source->n_files;
}

int64_t vbs_source_bytes(const struct vbs_source *source, int file)
{
    return source->files[file].bytes;
}

int vbs_source_n_names(const struct vbs_source *source)
{
    return source->n_names;
}

const char *vbs_source_name_at(const struct vbs_source *source, int i, int *file)
{
    *file = source->names[i].file;
    return source->names[i].name;
}

/* ---- bytes ---- */

/* Gives the number of extents of an image that begin at or before offset. */
static int64_t count_extents(const struct file *file, int64_t offset)
{
    int64_t low = 0, high = file->n_extents;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (file->extents[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Gives the extent of an image that has the byte at offset, or null. */
static const struct vbs_extent *find_extent(const struct file *file, int64_t offset)
{
    int64_t low = count_extents(file, offset);

    if (low == 0 || offset - file->extents[low - 1].offset >= file->extents[low - 1].bytes)
        return NULL;
    return &file->extents[low - 1];
}

int64_t vbs_source_present(const struct vbs_source *source, int number, int64_t offset)
{
    const struct file *file = &source->files[number];
    const struct vbs_extent *extent;
    int64_t n = 0;

    if (file->descriptor >= 0)
        return file->bytes - offset;
    extent = find_extent(file, offset);
    for (; extent && extent < file->extents + file->n_extents; extent++) {
        if (extent->offset > offset + n)
            break;
        n = extent->offset + extent->bytes - offset;
    }
    return n;
}

int64_t vbs_source_next(const struct vbs_source *source, int number, int64_t offset)
{
    const struct file *file = &source->files[number];
    int64_t n;

    if (file->descriptor >= 0 || find_extent(file, offset))
        return offset;
    n = count_extents(file, offset);
    return n < file->n_extents ? file->extents[n].offset : file->bytes;
}

static enum vbs_status read_image(struct vbs_ctx *ctx, const struct file *file, int64_t offset,
                                  int64_t bytes, char *to)
{
    while (bytes > 0) {
        const struct vbs_extent *extent = find_extent(file, offset);
        int64_t skipped = extent ? offset - extent->offset : 0, n;

        if (!extent)
            return vbs_fail(ctx, VBS_FORMAT,
                            "byte %lld of the model's file is left out, though it is needed",
                            (long long)offset);
        n = extent->bytes - skipped < bytes ? extent->bytes - skipped : bytes;
        memcpy(to, extent->data + skipped, (size_t)n);
        to += n;
        offset += n;
        bytes -= n;
    }
    return VBS_OK;
}

enum vbs_status vbs_source_read(struct vbs_ctx *ctx, const struct vbs_source *source, int number,
                                int64_t offset, int64_t bytes, void *room)
{
    const struct file *file = &source->files[number];
    char *to = room;

    if (file->descriptor < 0)
        return read_image(ctx, file, offset, bytes, to);
    while (bytes > 0) {
        ssize_t got = pread(file->descriptor, to, (size_t)bytes, offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return vbs_fail(ctx, VBS_IO, "cannot read '%.200s': %s", file->path,
                            got < 0 ? strerror(errno) : "it ends before its values");
        to += got;
        offset += got;
        bytes -= got;
    }
    return VBS_OK;
}

/* ---- bytes that loading reads ---- */

enum vbs_status vbs_source_keep(struct vbs_ctx *ctx, struct vbs_source *source, int file,
                                int64_t offset, int64_t bytes)
{
    VBS_TRY(vbs_grow(ctx, &source->kept, &source->kept_capacity, source->n_kept + 1,
                     sizeof *source->kept));
    source->kept[source->n_kept++] = (struct kept){file, offset, bytes};
    return VBS_OK;
}

int64_t vbs_source_n_kept(const struct vbs_source *source)
{
    return source->n_kept;
}

struct vbs_extent vbs_source_kept(const struct vbs_source *source, int64_t i, int *file)
{
    const struct kept *kept = &source->kept[i];

    *file = kept->file;
    return (struct vbs_extent){.offset = kept->offset, .bytes = kept->bytes};
}
