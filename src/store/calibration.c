/* The calibration of a profile as rows of the store. */
#include "store/rows.h"

#include "base/fail.h"

static enum vbs_status insert_factors(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                      int n_layers, const struct vbs_calibrated_source *from)
{
    enum vbs_status status;
    sqlite3_stmt *stmt;

    VBS_TRY(vbs_sql_prepare(
        ctx, store, "INSERT INTO beside (profile, source, layer, factor) VALUES (?, ?, ?, ?)",
        &stmt));
    status = VBS_OK;
    for (int layer = 0; layer <= n_layers && status == VBS_OK; layer++) {
        status = vbs_sql_bind(ctx, store, stmt, "itid", id, from->source, (int64_t)layer,
                              from->beside[layer]);
        if (status == VBS_OK)
            status = vbs_sql_finish(ctx, store, stmt);
    }
    sqlite3_finalize(stmt);
    return status;
}

enum vbs_status vbs_rows_write_calibration(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                           int n_layers, const struct vbs_calibration *calibration)
{
    const struct vbs_speed *speed = &calibration->speed;

    VBS_TRY(vbs_sql_run(ctx, store, "DELETE FROM beside WHERE profile = ?", "i", id));
    for (int i = 0; i < calibration->n_sources; i++)
        VBS_TRY(insert_factors(ctx, store, id, n_layers, &calibration->sources[i]));
    return vbs_sql_run(ctx, store,
                       "UPDATE profile SET flops_per_us = nullif(?, 0.0), cache_bytes_per_us = "
                       "nullif(?, 0.0), memory_bytes_per_us = nullif(?, 0.0) WHERE id = ?",
                       "dddi", speed->flops_per_us, speed->cache_bytes_per_us,
                       speed->memory_bytes_per_us, id);
}

struct factors_reading {
    struct vbs_profile_builder *builder;
};

static enum vbs_status read_factor(struct vbs_ctx *ctx, sqlite3_stmt *stmt, void *self)
{
    struct factors_reading *reading = self;
    const char *source = (const char *)sqlite3_column_text(stmt, 0);

    if (!source)
        return vbs_no_memory(ctx);
    return vbs_profile_builder_beside(ctx, reading->builder, source, vbs_sql_int(stmt, 1),
                                      sqlite3_column_double(stmt, 2));
}

static enum vbs_status read_speed(struct vbs_ctx *ctx, sqlite3_stmt *stmt, void *self)
{
    struct factors_reading *reading = self;
    const struct vbs_speed speed = {.flops_per_us = sqlite3_column_double(stmt, 0),
                                    .cache_bytes_per_us = sqlite3_column_double(stmt, 1),
                                    .memory_bytes_per_us = sqlite3_column_double(stmt, 2)};

    return vbs_profile_builder_speed(ctx, reading->builder, &speed);
}

enum vbs_status vbs_rows_read_calibration(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                          struct vbs_profile_builder *builder)
{
    struct factors_reading reading = {builder};

    VBS_TRY(vbs_sql_each(ctx, store, id,
                         "SELECT flops_per_us, cache_bytes_per_us, memory_bytes_per_us "
                         "FROM profile WHERE id = ?",
                         read_speed, &reading));
    return vbs_sql_each(ctx, store, id,
                        "SELECT source, layer, factor FROM beside WHERE profile = ? "
                        "ORDER BY source, layer",
                        read_factor, &reading);
}
