/*
 * Checkpoints: a mark, the identity of the training, the point that it has reached,
 * then for each trainable array the optimiser's states and the values, then the running statistics,
 * all floats in plain order, then a hash of all bytes before it. Numbers are as the machine has
 * them in memory. The file does not depend on the layouts of the backend.
 */
#include "train/run.h"

#include "base/fail.h"
#include "base/new_file.h"
#include "base/sha256.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK         "vbslab training 2\n"
#define BUFFER_BYTES (1 << 14)

/* ---- a file that is written or read ---- */

struct hashed_file {
    struct vbs_ctx *ctx;
    const char *path;
    struct vbs_new_file file; /* written */
    int64_t offset;
    struct vbs_sha256 hash; /* of what is written */
    FILE *stream;           /* read */
    float *plain, *kept;    /* the largest array in plain order, and as it is stored */
};

static enum vbs_status alloc_arrays(struct hashed_file *f, const struct vbs_train_run *run)
{
    int64_t largest = 1;

    for (int i = 0; i < run->session->n_trainable; i++)
        if (run->session->trainable[i].stored > largest)
            largest = run->session->trainable[i].stored;
    f->plain = malloc((size_t)largest * sizeof *f->plain);
    f->kept = malloc((size_t)largest * sizeof *f->kept);
    return f->plain && f->kept ? VBS_OK : vbs_no_memory(f->ctx);
}

static enum vbs_status put(struct hashed_file *f, const void *bytes, size_t n)
{
    VBS_TRY(vbs_new_file_write(f->ctx, &f->file, f->offset, bytes, (int64_t)n));
    f->offset += (int64_t)n;
    vbs_sha256_add(&f->hash, bytes, n);
    return VBS_OK;
}

static enum vbs_status fail_damaged(const struct hashed_file *f)
{
    return vbs_fail(f->ctx, VBS_FORMAT,
                    "the checkpoint '%s' is cut or damaged; remove it, or name another file, and "
                    "training begins anew",
                    f->path);
}

static enum vbs_status get(struct hashed_file *f, void *bytes, size_t n)
{
    if (fread(bytes, 1, n, f->stream) == n)
        return VBS_OK;
    return ferror(f->stream)
               ? vbs_fail(f->ctx, VBS_IO, "cannot read '%s': %s", f->path, strerror(errno))
               : fail_damaged(f);
}

/* ---- writing ---- */

/* Writes an array that has the layout of trainable array number index: the values, or a state,
 * which takes the place of the values while the session converts it. */
static enum vbs_status put_array(struct hashed_file *f, struct vbs_train_run *run, int index,
                                 const float *state)
{
    struct vbs_training *s = run->session;
    struct vbs_trainable *p = &s->trainable[index];
    size_t stored = (size_t)p->stored * sizeof *p->values;
    enum vbs_status status;

    memcpy(f->kept, p->values, stored);
    if (state)
        memcpy(p->values, state, stored);
    status = s->ops->read(f->ctx, s, index, false, f->plain);
    memcpy(p->values, f->kept, stored);
    return status == VBS_OK ? put(f, f->plain, (size_t)p->count * sizeof *f->plain) : status;
}

static enum vbs_status put_all(struct hashed_file *f, struct vbs_train_run *run)
{
    struct vbs_training *s = run->session;
    unsigned char digest[VBS_SHA256_BYTES];

    VBS_TRY(put(f, MARK, strlen(MARK)));
    VBS_TRY(put(f, &run->identity, sizeof run->identity));
    VBS_TRY(put(f, &run->at, sizeof run->at));
    for (int i = 0; i < s->n_trainable; i++) {
        for (int k = 0; k < run->n_states; k++)
            VBS_TRY(put_array(f, run, i, run->states[k * s->n_trainable + i]));
        VBS_TRY(put_array(f, run, i, NULL));
    }
    for (int i = 0; i < s->n_statistics; i++)
        VBS_TRY(put(f, s->statistics[i].values, (size_t)s->statistics[i].count * sizeof(float)));
    vbs_sha256_end(&f->hash, digest);
    return vbs_new_file_write(f->ctx, &f->file, f->offset, digest, sizeof digest);
}

enum vbs_status vbs_checkpoint_write(struct vbs_ctx *ctx, struct vbs_train_run *run)
{
    struct hashed_file f = {.ctx = ctx, .path = run->options.checkpoint};
    enum vbs_status status = alloc_arrays(&f, run);

    vbs_sha256_begin(&f.hash);
    if (status == VBS_OK)
        status = vbs_new_file_open(ctx, f.path, &f.file);
    if (status == VBS_OK) {
        status = put_all(&f, run);
        if (status == VBS_OK)
            status = vbs_new_file_commit(ctx, &f.file);
        else
            vbs_new_file_abandon(&f.file);
    }
    free(f.plain);
    free(f.kept);
    return status;
}

/* ---- reading ---- */

static enum vbs_status get_array(struct hashed_file *f, struct vbs_train_run *run, int index,
                                 float *state)
{
    struct vbs_training *s = run->session;
    struct vbs_trainable *p = &s->trainable[index];

    VBS_TRY(get(f, f->plain, (size_t)p->count * sizeof *f->plain));
    VBS_TRY(s->ops->write(f->ctx, s, index, f->plain));
    if (state)
        memcpy(state, p->values, (size_t)p->stored * sizeof *state);
    return VBS_OK;
}

static enum vbs_status get_arrays(struct hashed_file *f, struct vbs_train_run *run)
{
    struct vbs_training *s = run->session;

    for (int i = 0; i < s->n_trainable; i++) {
        for (int k = 0; k < run->n_states; k++)
            VBS_TRY(get_array(f, run, i, run->states[k * s->n_trainable + i]));
        VBS_TRY(get_array(f, run, i, NULL));
    }
    for (int i = 0; i < s->n_statistics; i++)
        VBS_TRY(get(f, s->statistics[i].values, (size_t)s->statistics[i].count * sizeof(float)));
    return VBS_OK;
}

static enum vbs_status go_to(const struct hashed_file *f, int64_t offset, int from)
{
    if (fseeko(f->stream, offset, from) == 0)
        return VBS_OK;
    return vbs_fail(f->ctx, VBS_IO, "cannot read '%s': %s", f->path, strerror(errno));
}

/* Checks mark and hash of the whole file before any of it is believed, and stops behind the mark.
 */
static enum vbs_status check_whole(struct hashed_file *f)
{
    unsigned char bytes[BUFFER_BYTES], own[VBS_SHA256_BYTES];
    char mark[sizeof MARK - 1];
    struct vbs_sha256 hash;
    int64_t left;

    VBS_TRY(get(f, mark, sizeof mark));
    if (memcmp(mark, MARK, sizeof mark) != 0)
        return vbs_fail(f->ctx, VBS_FORMAT, "'%s' is no checkpoint of this version", f->path);
    VBS_TRY(go_to(f, 0, SEEK_END));
    left = ftello(f->stream) - VBS_SHA256_BYTES;
    VBS_TRY(go_to(f, 0, SEEK_SET));
    for (vbs_sha256_begin(&hash); left > 0;) {
        size_t n = left < BUFFER_BYTES ? (size_t)left : BUFFER_BYTES;

        VBS_TRY(get(f, bytes, n));
        vbs_sha256_add(&hash, bytes, n);
        left -= (int64_t)n;
    }
    vbs_sha256_end(&hash, own);
    VBS_TRY(get(f, bytes, VBS_SHA256_BYTES));
    return memcmp(own, bytes, sizeof own) == 0 ? go_to(f, sizeof mark, SEEK_SET) : fail_damaged(f);
}

static enum vbs_status get_all(struct hashed_file *f, struct vbs_train_run *run)
{
    struct vbs_train_identity kept;
    char rest[VBS_SHA256_BYTES + 1];

    VBS_TRY(check_whole(f));
    VBS_TRY(get(f, &kept, sizeof kept));
    VBS_TRY(vbs_train_compare(f->ctx, run, &kept, f->path));
    VBS_TRY(get(f, &run->at, sizeof run->at));
    VBS_TRY(get_arrays(f, run));
    if (fread(rest, 1, sizeof rest, f->stream) != VBS_SHA256_BYTES || run->at.step < 0 ||
        run->at.step > run->epoch_steps * run->options.epochs)
        return fail_damaged(f);
    return VBS_OK;
}

enum vbs_status vbs_checkpoint_read(struct vbs_ctx *ctx, struct vbs_train_run *run)
{
    struct hashed_file f = {.ctx = ctx, .path = run->options.checkpoint};
    enum vbs_status status;

    f.stream = fopen(f.path, "rbe");
    if (!f.stream)
        return errno == ENOENT
                   ? VBS_OK
                   : vbs_fail(ctx, VBS_IO, "cannot read '%s': %s", f.path, strerror(errno));
    status = alloc_arrays(&f, run);
    if (status == VBS_OK)
        status = get_all(&f, run);
    free(f.plain);
    free(f.kept);
    fclose(f.stream);
    return status;
}
