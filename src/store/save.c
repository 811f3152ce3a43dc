/*
 * Saving whole profiles.
 */
#include "store/rows.h"

#include "base/fail.h"

static enum vbs_status insert_rows(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                   const struct vbs_profile *profile, sqlite3_stmt *stmt)
{
    int64_t number = 0;

    for (int layer = 1; layer <= profile->n_layers; layer++)
        for (int b = 0; b < profile->n_batches; b++) {
            int n_rows;
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, b, &n_rows);

            for (int i = 0; i < n_rows; i++) {
#define VALUE(column, member, type) , VBS_BIND(type, rows[i].member)
                VBS_TRY(vbs_sql_bind(ctx, store, stmt, "iiiit" VBS_KERNEL_TYPES VBS_TIME_TYPES, id,
                                     number++, (int64_t)layer, (int64_t)profile->batches[b],
                                     profile->algorithms[rows[i].algorithm] VBS_KERNEL_COLUMNS(
                                         VALUE) VBS_TIME_COLUMNS(VALUE)));
#undef VALUE
                VBS_TRY(vbs_sql_finish(ctx, store, stmt));
            }
        }
    return VBS_OK;
}

enum vbs_status vbs_rows_insert(struct vbs_ctx *ctx, struct vbs_store *store,
                                const struct vbs_profile *profile, int64_t *id)
{
    sqlite3_stmt *stmt;
    enum vbs_status status;

    VBS_TRY(vbs_rows_insert_profile(ctx, store, &profile->provenance, NULL, id));
    VBS_TRY(vbs_rows_insert_layers(ctx, store, *id, profile->n_layers, profile->layers));
    VBS_TRY(vbs_rows_insert_copies(ctx, store, *id, profile));
    VBS_TRY(vbs_sql_prepare(
        ctx, store,
        "INSERT INTO kernel (profile, number, layer, batch, algorithm" VBS_KERNEL_NAMES
            VBS_TIME_NAMES ") VALUES (?, ?, ?, ?, ?" VBS_KERNEL_MARKS VBS_TIME_MARKS ")",
        &stmt));
    status = insert_rows(ctx, store, *id, profile, stmt);
    sqlite3_finalize(stmt);
    return status;
}

/* Inserts the profile, unless a profile with the same content is in the store. */
static enum vbs_status find_or_insert(struct vbs_ctx *ctx, struct vbs_store *store,
                                      const struct vbs_profile *profile, const char *hash,
                                      int64_t *id)
{
    struct vbs_evidence evidence;

    VBS_TRY(vbs_rows_find_hash(ctx, store, hash, id));
    if (*id != 0)
        return VBS_OK;
    VBS_TRY(vbs_rows_insert(ctx, store, profile, id));
    VBS_TRY(vbs_evidence_compute(ctx, store, *id, &evidence));
    return vbs_rows_complete(ctx, store, *id, hash, &evidence, 0);
}

/* Refuses a profile with rows of samples, which the tables have no columns for. */
static enum vbs_status check_rows(struct vbs_ctx *ctx, const struct vbs_profile *profile)
{
    for (int k = 0; k <= profile->n_layers; k++)
        if (profile->layers[k].rows > 0)
            return vbs_fail(ctx, VBS_UNSUPPORTED,
                            "a store cannot keep rows of samples; commands take the profile's .csv "
                            "file in place of an id");
    return VBS_OK;
}

enum vbs_status vbs_store_save(struct vbs_ctx *ctx, struct vbs_store *store,
                               const struct vbs_profile *profile, int64_t *id)
{
    char hash[VBS_PROFILE_HASH_SIZE];
    int64_t saved = 0;

    VBS_TRY(check_rows(ctx, profile));
    vbs_profile_hash(profile, hash);
    VBS_TRY(vbs_sql_begin_write(ctx, store));
    VBS_TRY(vbs_sql_end(ctx, store, find_or_insert(ctx, store, profile, hash, &saved)));
    *id = saved;
    return VBS_OK;
}
