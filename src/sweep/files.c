/* The memory of contents of files: a hash table by path, in which each file is read once. */
#include "sweep/description.h"

#include "base/fail.h"
#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 65536

/* What a path names: a regular file, by its hash, or none. */
struct known_file {
    const char *path;
    bool is_file;
    unsigned char digest[VBS_SHA256_BYTES];
};

struct vbs_file_memory {
    struct vbs_arena arena;
    struct known_file **table; /* [size], a power of 2, at most half full */
    size_t size, used;
};

struct vbs_file_memory *vbs_file_memory_new(void)
{
    return calloc(1, sizeof(struct vbs_file_memory));
}

void vbs_file_memory_free(struct vbs_file_memory *memory)
{
    if (!memory)
        return;
    vbs_arena_clear(&memory->arena);
    free(memory->table);
    free(memory);
}

/* Gives the entry of a path: a known file, or the empty one where it belongs. */
static struct known_file **find(const struct vbs_file_memory *memory, const char *path)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    size_t i;

    for (const char *c = path; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    for (i = (size_t)hash & (memory->size - 1); memory->table[i]; i = (i + 1) & (memory->size - 1))
        if (strcmp(memory->table[i]->path, path) == 0)
            break;
    return &memory->table[i];
}

/* Makes space for one file more. */
static enum vbs_status grow(struct vbs_ctx *ctx, struct vbs_file_memory *memory)
{
    struct vbs_file_memory larger = *memory;

    if (2 * memory->used < memory->size)
        return VBS_OK;
    larger.size = memory->size > 0 ? 2 * memory->size : 64;
    larger.table = calloc(larger.size, sizeof(struct known_file *));
    if (!larger.table)
        return vbs_no_memory(ctx);
    for (size_t i = 0; i < memory->size; i++)
        if (memory->table[i])
            *find(&larger, memory->table[i]->path) = memory->table[i];
    free(memory->table);
    *memory = larger;
    return VBS_OK;
}

static enum vbs_status hash_file(struct vbs_ctx *ctx, int file, const char *path,
                                 struct known_file *known)
{
    struct vbs_sha256 hash;
    char *block = malloc(BLOCK);
    ssize_t n = 0;

    if (!block)
        return vbs_no_memory(ctx);
    vbs_sha256_begin(&hash);
    while ((n = read(file, block, BLOCK)) > 0)
        vbs_sha256_add(&hash, block, (size_t)n);
    free(block);
    vbs_sha256_end(&hash, known->digest);
    return n == 0 ? VBS_OK
                  : vbs_fail(ctx, VBS_IO, "cannot read '%.200s': %s", path, strerror(errno));
}

/* Reads a file where there is one. */
static enum vbs_status read_file(struct vbs_ctx *ctx, const char *folder, const char *path,
                                 struct known_file *known)
{
    int at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int file = at < 0 ? -1 : openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum vbs_status status = VBS_OK;
    int error = errno;
    struct stat is;

    if (at >= 0)
        close(at);
    if (file < 0 && error != ENOENT && error != ENOTDIR && error != ENAMETOOLONG)
        return vbs_fail(ctx, VBS_IO, "cannot open '%.200s': %s", path, strerror(error));
    known->is_file = file >= 0 && fstat(file, &is) == 0 && S_ISREG(is.st_mode);
    if (known->is_file)
        status = hash_file(ctx, file, path, known);
    if (file >= 0)
        close(file);
    return status;
}

static enum vbs_status learn(struct vbs_ctx *ctx, struct vbs_file_memory *memory,
                             const char *folder, const char *path, struct known_file **known)
{
    struct known_file *made;

    VBS_TRY(grow(ctx, memory));
    *known = *find(memory, path);
    if (*known)
        return VBS_OK;
    made = vbs_arena_alloc(&memory->arena, 1, sizeof *made);
    if (!made)
        return vbs_no_memory(ctx);
    made->path = vbs_arena_strdup(&memory->arena, path);
    if (!made->path)
        return vbs_no_memory(ctx);
    VBS_TRY(read_file(ctx, folder, path, made));
    *find(memory, path) = made;
    memory->used++;
    *known = made;
    return VBS_OK;
}

enum vbs_status vbs_file_digest(struct vbs_ctx *ctx, struct vbs_file_memory *memory,
                                const char *folder, const char *path, bool must,
                                const unsigned char **digest)
{
    struct known_file *known;

    VBS_TRY(learn(ctx, memory, folder, path, &known));
    if (!known->is_file && must)
        return vbs_fail(ctx, VBS_IO, "cannot read '%.200s', which a task reads: it is no file",
                        path);
    *digest = known->is_file ? known->digest : NULL;
    return VBS_OK;
}
