/* The copies of a whole profile as rows of the store. */
#include "store/rows.h"

#include "base/fail.h"

enum vbs_status vbs_rows_insert_copies(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                       const struct vbs_profile *profile)
{
    int64_t number = 0;
    sqlite3_stmt *stmt;
    enum vbs_status status =
        vbs_sql_prepare(ctx, store,
                        "INSERT INTO copy (profile, number, source, bytes, time_us, mad_us, "
                        "low_us, high_us, n_runs) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        &stmt);

    if (status != VBS_OK)
        return status;
    for (int i = 0; i < profile->n_copies; i++) {
        const struct vbs_copy *copy = &profile->copies[i];

        for (int j = 0; j < copy->n_rows && status == VBS_OK; j++) {
            const struct vbs_copy_row *row = &copy->rows[j];

            status = vbs_sql_bind(ctx, store, stmt, "iitiddddi", id, number++, copy->source,
                                  row->bytes, row->time_us, row->mad_us, row->low_us, row->high_us,
                                  (int64_t)row->n_runs);
            if (status == VBS_OK)
                status = vbs_sql_finish(ctx, store, stmt);
        }
    }
    sqlite3_finalize(stmt);
    return status;
}

enum vbs_status vbs_rows_read_copies(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                     struct vbs_profile_builder *builder)
{
    bool got = true;
    sqlite3_stmt *stmt;
    enum vbs_status status;

    VBS_TRY(
        vbs_sql_prepare(ctx, store,
                        "SELECT source, bytes, time_us, mad_us, low_us, high_us, n_runs FROM copy "
                        "WHERE profile = ? ORDER BY number",
                        &stmt));
    status = vbs_sql_bind(ctx, store, stmt, "i", id);
    while (status == VBS_OK && got) {
        const char *source;
        struct vbs_copy_row row;

        status = vbs_sql_step(ctx, store, stmt, &got);
        if (status != VBS_OK || !got)
            break;
        source = (const char *)sqlite3_column_text(stmt, 0);
        row = (struct vbs_copy_row){.bytes = sqlite3_column_int64(stmt, 1),
                                    .time_us = sqlite3_column_double(stmt, 2),
                                    .mad_us = sqlite3_column_double(stmt, 3),
                                    .low_us = sqlite3_column_double(stmt, 4),
                                    .high_us = sqlite3_column_double(stmt, 5),
                                    .n_runs = vbs_sql_int(stmt, 6)};
        status = source ? vbs_profile_builder_copy(ctx, builder, source, &row) : vbs_no_memory(ctx);
    }
    sqlite3_finalize(stmt);
    return status;
}
