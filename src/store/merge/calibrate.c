/* Copies of a complete profile with other times or another calibration, within one store. */
#include "store/merge/merge.h"

#include "base/fail.h"

static enum vbs_status copy_changed(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                    const struct vbs_profile *profile, int64_t *copy)
{
    struct vbs_merge_body body = {0};
    struct vbs_merging m = {.ctx = ctx, .into = store, .from = store, .body = &body};
    char hash[VBS_PROFILE_HASH_SIZE];

    vbs_profile_hash(profile, hash);
    VBS_TRY(vbs_rows_find_hash(ctx, store, hash, copy));
    if (*copy != 0)
        return VBS_OK;
    return vbs_merge_copy(&m, id, profile, 0, copy);
}

enum vbs_status vbs_store_revise(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                 const struct vbs_profile *profile, int64_t *revised)
{
    int64_t made = 0;

    VBS_TRY(vbs_sql_begin_write(ctx, store));
    VBS_TRY(vbs_sql_end(ctx, store, copy_changed(ctx, store, id, profile, &made)));
    *revised = made;
    return VBS_OK;
}

enum vbs_status vbs_store_calibrate(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                    const struct vbs_calibration *calibration, int64_t *calibrated)
{
    struct vbs_profile *profile = NULL, *copy = NULL;
    enum vbs_status status;

    VBS_TRY(vbs_store_load(ctx, store, id, &profile));
    status = vbs_profile_calibrate(ctx, profile, calibration, &copy);
    vbs_profile_free(profile);
    if (status == VBS_OK)
        status = vbs_store_revise(ctx, store, id, copy, calibrated);
    vbs_profile_free(copy);
    return status;
}
