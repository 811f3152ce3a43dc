/*
 * Copying one profile from store to store. The profile itself is written anew from what was read,
 * so that it is checked like any other; this file copies what belongs to it in the store only.
 */
#include "store/merge/merge.h"

#include "store/kernel_samples.h"

#include "base/fail.h"

#include <string.h>

struct profile_copying {
    struct vbs_merging *m;
    int64_t id, copy; /* of the profile in the source, and in the other store */
    sqlite3_stmt *from, *into;
    struct vbs_kernel_samples samples;
    struct vbs_sample_packer packer;
};

#define SELECT_KERNELS                                                                             \
    "SELECT id, layer, batch, algorithm, rows FROM kernel WHERE profile = ? "                      \
    "ORDER BY layer, batch, rows, algorithm"

/* Gives whether two rows of SELECT_KERNELS are of the same kernel. */
static bool is_same_kernel(sqlite3_stmt *a, sqlite3_stmt *b)
{
    const void *name = sqlite3_column_blob(a, 3), *other = sqlite3_column_blob(b, 3);
    int length = sqlite3_column_bytes(a, 3);

    return sqlite3_column_int64(a, 1) == sqlite3_column_int64(b, 1) &&
           sqlite3_column_int64(a, 2) == sqlite3_column_int64(b, 2) &&
           sqlite3_column_int64(a, 4) == sqlite3_column_int64(b, 4) && name && other &&
           length == sqlite3_column_bytes(b, 3) && memcmp(name, other, (size_t)length) == 0;
}

/* Copies the samples of each kernel. Both stores give the kernels in the same order. */
static enum vbs_status copy_each_kernel(struct profile_copying *c)
{
    struct vbs_merging *m = c->m;

    for (bool row = true, other;;) {
        VBS_TRY(vbs_sql_step(m->ctx, m->from, c->from, &row));
        VBS_TRY(vbs_sql_step(m->ctx, m->into, c->into, &other));
        if (!row && !other)
            return VBS_OK;
        if (!row || !other || !is_same_kernel(c->from, c->into))
            return vbs_sql_fail(m->ctx, m->from, SQLITE_CORRUPT);
        VBS_TRY(vbs_kernel_samples_read(m->ctx, &c->samples, sqlite3_column_int64(c->from, 0)));
        VBS_TRY(vbs_sample_packer_write(m->ctx, &c->packer, sqlite3_column_int64(c->into, 0),
                                        &c->samples));
        m->body->report.n_samples += c->samples.n;
    }
}

static enum vbs_status copy_kernel_samples(struct profile_copying *c)
{
    struct vbs_merging *m = c->m;

    VBS_TRY(vbs_kernel_samples_open(m->ctx, m->from, &c->samples));
    VBS_TRY(vbs_sample_packer_open(m->ctx, m->into, false, &c->packer));
    VBS_TRY(vbs_sql_prepare(m->ctx, m->from, SELECT_KERNELS, &c->from));
    VBS_TRY(vbs_sql_bind(m->ctx, m->from, c->from, "i", c->id));
    VBS_TRY(vbs_sql_prepare(m->ctx, m->into, SELECT_KERNELS, &c->into));
    VBS_TRY(vbs_sql_bind(m->ctx, m->into, c->into, "i", c->copy));
    return copy_each_kernel(c);
}

/* Copies the hashes of the network and its kernels, where the source knows them. */
static enum vbs_status copy_network(const struct profile_copying *c)
{
    return vbs_merge_copy_rows(
        c->m,
        "SELECT network_hash, kernels_hash FROM profile WHERE id = ? "
        "AND network_hash IS NOT NULL AND kernels_hash IS NOT NULL",
        c->id, "UPDATE profile SET network_hash = ?2, kernels_hash = ?3 WHERE id = ?1", c->copy,
        NULL);
}

static enum vbs_status copy_copy_samples(const struct profile_copying *c)
{
    return vbs_merge_copy_rows(c->m,
                               "SELECT source, bytes, copy_sample.number, copy_sample.time_us "
                               "FROM copy JOIN copy_sample ON copy = id WHERE profile = ?",
                               c->id,
                               "INSERT INTO copy_sample SELECT id, ?4, ?5 FROM copy "
                               "WHERE profile = ?1 AND source = ?2 AND bytes = ?3",
                               c->copy, &c->m->body->report.n_samples);
}

static enum vbs_status copy_rest(struct profile_copying *c)
{
    enum vbs_status status = copy_network(c);

    if (status == VBS_OK)
        status = copy_kernel_samples(c);
    sqlite3_finalize(c->from);
    sqlite3_finalize(c->into);
    vbs_kernel_samples_clear(&c->samples);
    vbs_sample_packer_clear(&c->packer);
    return status == VBS_OK ? copy_copy_samples(c) : status;
}

enum vbs_status vbs_merge_copy(struct vbs_merging *m, int64_t id, const struct vbs_profile *profile,
                               int64_t completed, int64_t *copy)
{
    struct profile_copying c = {.m = m, .id = id};
    struct vbs_evidence evidence;
    char hash[VBS_PROFILE_HASH_SIZE];

    vbs_profile_hash(profile, hash);
    VBS_TRY(vbs_rows_insert(m->ctx, m->into, profile, copy));
    c.copy = *copy;
    VBS_TRY(copy_rest(&c));
    VBS_TRY(vbs_evidence_compute(m->ctx, m->into, *copy, &evidence));
    return vbs_rows_complete(m->ctx, m->into, *copy, hash, &evidence, completed);
}
