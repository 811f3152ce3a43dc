/*
 * Saving whole profiles.
 */
#include "store/rows.h"

#include "base/fail.h"

/* The rows of a profile on their way into the table of kernels. */
struct row_inserter {
    struct vbs_ctx *ctx;
    struct vbs_store *store;
    const struct vbs_profile *profile;
    int64_t id, number; /* of the profile, and of the next row */
    sqlite3_stmt *stmt;
};

static enum vbs_status insert_row(struct row_inserter *in, int layer, int batch,
                                  const struct vbs_profile_row *row)
{
#define VALUE(column, member, type) , VBS_BIND(type, row->member)
    VBS_TRY(vbs_sql_bind(in->ctx, in->store, in->stmt, "iiiit" VBS_KERNEL_TYPES VBS_TIME_TYPES,
                         in->id, in->number++, (int64_t)layer, (int64_t)batch,
                         in->profile->algorithms[row->algorithm] VBS_KERNEL_COLUMNS(VALUE)
                             VBS_TIME_COLUMNS(VALUE)));
#undef VALUE
    return vbs_sql_finish(in->ctx, in->store, in->stmt);
}

static enum vbs_status insert_rows(struct row_inserter *in)
{
    const struct vbs_profile *profile = in->profile;

    for (int layer = 1; layer <= profile->n_layers; layer++) {
        const struct vbs_profile_stripe *stripes;
        int n_stripes;

        for (int b = 0; b < profile->n_batches; b++) {
            int n_rows;
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, b, &n_rows);

            for (int i = 0; i < n_rows; i++)
                VBS_TRY(insert_row(in, layer, profile->batches[b], &rows[i]));
        }
        stripes = vbs_profile_stripes(profile, layer, &n_stripes);
        for (int i = 0; i < n_stripes; i++)
            VBS_TRY(insert_row(in, layer, stripes[i].batch, &stripes[i].row));
    }
    return VBS_OK;
}

enum vbs_status vbs_rows_insert(struct vbs_ctx *ctx, struct vbs_store *store,
                                const struct vbs_profile *profile, int64_t *id)
{
    struct row_inserter in = {.ctx = ctx, .store = store, .profile = profile};
    struct vbs_calibration calibration;
    enum vbs_status status;

    VBS_TRY(vbs_rows_insert_profile(ctx, store, &profile->provenance, profile->layers[0].rows, NULL,
                                    id));
    VBS_TRY(vbs_rows_insert_layers(ctx, store, *id, profile->n_layers, profile->layers));
    VBS_TRY(vbs_rows_insert_copies(ctx, store, *id, profile));
    vbs_profile_calibration(profile, &calibration);
    VBS_TRY(vbs_rows_write_calibration(ctx, store, *id, profile->n_layers, &calibration));
    VBS_TRY(vbs_sql_prepare(
        ctx, store,
        "INSERT INTO kernel (profile, number, layer, batch, algorithm" VBS_KERNEL_NAMES
            VBS_TIME_NAMES ") VALUES (?, ?, ?, ?, ?" VBS_KERNEL_MARKS VBS_TIME_MARKS ")",
        &in.stmt));
    in.id = *id;
    status = insert_rows(&in);
    sqlite3_finalize(in.stmt);
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

enum vbs_status vbs_store_save(struct vbs_ctx *ctx, struct vbs_store *store,
                               const struct vbs_profile *profile, int64_t *id)
{
    char hash[VBS_PROFILE_HASH_SIZE];
    int64_t saved = 0;

    vbs_profile_hash(profile, hash);
    VBS_TRY(vbs_sql_begin_write(ctx, store));
    VBS_TRY(vbs_sql_end(ctx, store, find_or_insert(ctx, store, profile, hash, &saved)));
    *id = saved;
    return VBS_OK;
}
