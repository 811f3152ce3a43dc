/*
 * The networks of trials, which lie in a folder for each study beside its store. A network that a
 * merge copies gets a name with a hash of its content, so that it never replaces another one, and
 * that a merge which fails later has done no harm.
 */
#include "store/merge/merge.h"

#include "base/fail.h"
#include "base/new_file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES 8 /* of the hash, in the name of a network */

bool vbs_merge_is_file_name(const char *name)
{
    return name[0] && strlen(name) <= 200 && !strchr(name, '/') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

/* A file that is being copied, a block at a time. */
struct file_copying {
    struct vbs_merging *m;
    int source;
    const char *shown;
    struct vbs_sha256 hash;
};

/* Hashes the file, and copies it into made; null: the file is only hashed. */
static enum vbs_status read_all(struct file_copying *c, struct vbs_new_file *made)
{
    unsigned char block[65536];
    int64_t offset = 0;
    ssize_t n;

    vbs_sha256_begin(&c->hash);
    while ((n = pread(c->source, block, sizeof block, offset)) > 0) {
        VBS_TRY(vbs_check_cancel(c->m->ctx));
        vbs_sha256_add(&c->hash, block, (size_t)n);
        if (made)
            VBS_TRY(vbs_new_file_write(c->m->ctx, made, offset, block, n));
        offset += n;
    }
    return n == 0 ? VBS_OK
                  : vbs_fail(c->m->ctx, VBS_IO, "cannot read '%s': %s", c->shown, strerror(errno));
}

static enum vbs_status copy_to(struct file_copying *c, const char *path)
{
    struct vbs_new_file made = {0};
    enum vbs_status status = vbs_new_file_open(c->m->ctx, path, &made);

    if (status == VBS_OK)
        status = read_all(c, &made);
    if (status == VBS_OK)
        status = vbs_new_file_commit(c->m->ctx, &made);
    vbs_new_file_abandon(&made);
    return status;
}

/* Makes a folder where there is none. */
static enum vbs_status make_folder(struct vbs_merging *m, const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return VBS_OK;
    return vbs_fail(m->ctx, VBS_IO, "cannot make folder '%s': %s", path, strerror(errno));
}

/* Makes the folder of a study in the other store. *folder: its path from the root, by which its
 * files are found from elsewhere. */
static enum vbs_status study_folder(struct vbs_merging *m, const char *study, char **folder)
{
    struct vbs_text path = {0};
    enum vbs_status status;

    vbs_text_addf(&path, "%s/%s", m->options.networks, study);
    status = path.failed ? vbs_no_memory(m->ctx) : make_folder(m, m->options.networks);
    if (status == VBS_OK)
        status = make_folder(m, path.data);
    if (status == VBS_OK && !(*folder = realpath(path.data, NULL)))
        status =
            vbs_fail(m->ctx, VBS_IO, "cannot find folder '%s': %s", path.data, strerror(errno));
    vbs_text_clear(&path);
    return status;
}

/* Copies an open file into the folder of a study. */
static enum vbs_status copy_open(struct file_copying *c, const char *study, int64_t number,
                                 char **path)
{
    unsigned char digest[VBS_SHA256_BYTES];
    struct vbs_text target = {0};
    enum vbs_status status;
    char *folder = NULL;

    VBS_TRY(read_all(c, NULL));
    vbs_sha256_end(&c->hash, digest);
    VBS_TRY(study_folder(c->m, study, &folder));
    vbs_text_addf(&target, "%s/trial-%04lld-", folder, (long long)number);
    for (int i = 0; i < NAME_BYTES; i++)
        vbs_text_addf(&target, "%02x", digest[i]);
    vbs_text_add(&target, ".onnx");
    free(folder);
    status = target.failed ? vbs_no_memory(c->m->ctx) : copy_to(c, target.data);
    if (status != VBS_OK) {
        vbs_text_clear(&target);
        return status;
    }
    c->m->body->report.n_networks++;
    *path = target.data;
    return VBS_OK;
}

enum vbs_status vbs_merge_network(struct vbs_merging *m, const char *study, int64_t number,
                                  const char *file, char **path)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    struct file_copying c = {.m = m, .source = -1};
    struct vbs_text source = {0};
    enum vbs_status status = VBS_OK;
    struct stat about;

    if (!m->options.from_networks || !m->options.networks || !vbs_merge_is_file_name(name))
        return VBS_OK;
    vbs_text_addf(&source, "%s/%s/%s", m->options.from_networks, study, name);
    if (source.failed)
        return vbs_no_memory(m->ctx);
    c.shown = source.data;
    c.source = open(source.data, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (c.source >= 0 && fstat(c.source, &about) == 0 && S_ISREG(about.st_mode))
        status = copy_open(&c, study, number, path);
    else if (c.source < 0 && errno != ENOENT && errno != ENOTDIR)
        status = vbs_fail(m->ctx, VBS_IO, "cannot open '%s': %s", source.data, strerror(errno));
    if (c.source >= 0)
        close(c.source);
    vbs_text_clear(&source);
    return status;
}

enum vbs_status vbs_merge_drop_checkpoint(const struct vbs_merging *m, const char *study,
                                          int64_t number)
{
    struct vbs_text path = {0};

    if (!m->options.networks)
        return VBS_OK;
    vbs_text_addf(&path, "%s/%s/trial-%04lld.checkpoint", m->options.networks, study,
                  (long long)number);
    if (path.failed)
        return vbs_no_memory(m->ctx);
    unlink(path.data);
    vbs_text_clear(&path);
    return VBS_OK;
}
