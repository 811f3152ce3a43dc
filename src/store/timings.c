/* Kernel times by geometry. */
#include "store/rows.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/grow.h"
#include "vbslab/timings.h"

#include <stdlib.h>

/* Times that are being read, or were. */
struct read_timing {
    struct vbs_timing timing; /* first */
    struct vbs_arena arena;
    struct vbs_timing_row *rows;
    struct vbs_timing_copy *copies;
    int64_t max_rows, max_copies;
};

void vbs_timing_free(struct vbs_timing *timing)
{
    struct read_timing *read = (struct read_timing *)timing;

    if (!read)
        return;
    free(read->rows);
    free(read->copies);
    vbs_arena_clear(&read->arena);
    free(read);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

#define KEY_TYPES "ittttti"
/* The arguments for them. */
#define KEY_VALUES(key)                                                                            \
    vbs_rows_hash((key)->geometry), or_empty((key)->batches),                                      \
        or_empty((key)->provenance->backend), or_empty((key)->provenance->library),                \
        or_empty((key)->provenance->device), or_empty((key)->provenance->vbslab),                  \
        (int64_t)(key)->provenance->threads

/* Gives the id of the key's times; 0: there are none. Part of any transaction. */
static enum vbs_status find(struct vbs_ctx *ctx, struct vbs_store *store,
                            const struct vbs_timing_key *key, int64_t *id)
{
    return vbs_sql_value(ctx, store, id,
                         "SELECT coalesce((SELECT id FROM timing WHERE geometry = ? AND "
                         "batches = ? AND backend = ? AND library = ? AND device = ? AND "
                         "vbslab = ? AND threads = ?), 0)",
                         KEY_TYPES, KEY_VALUES(key));
}

/* ---- reading ---- */

static enum vbs_status read_row(struct vbs_ctx *ctx, sqlite3_stmt *stmt, void *self)
{
    struct read_timing *read = self;
    struct vbs_timing_row made = {.batch = vbs_sql_int(stmt, 0)};
    int column = 2;

    VBS_TRY(vbs_grow(ctx, &read->rows, &read->max_rows, (int64_t)read->timing.n_rows + 1,
                     sizeof *read->rows));
    made.algorithm = vbs_sql_text(&read->arena, stmt, 1);
    if (!made.algorithm)
        return vbs_no_memory(ctx);
#define READ(name, member, type) made.row.member = VBS_READ_NUMBER(stmt, column++, made.row.member);
    VBS_KERNEL_COLUMNS(READ)
    VBS_TIME_COLUMNS(READ)
#undef READ
    read->rows[read->timing.n_rows++] = made;
    return VBS_OK;
}

static enum vbs_status read_copy(struct vbs_ctx *ctx, sqlite3_stmt *stmt, void *self)
{
    struct read_timing *read = self;
    struct vbs_timing_copy made = {.row = {.bytes = sqlite3_column_int64(stmt, 1),
                                           .time_us = sqlite3_column_double(stmt, 2),
                                           .mad_us = sqlite3_column_double(stmt, 3),
                                           .low_us = sqlite3_column_double(stmt, 4),
                                           .high_us = sqlite3_column_double(stmt, 5),
                                           .n_runs = vbs_sql_int(stmt, 6)}};

    VBS_TRY(vbs_grow(ctx, &read->copies, &read->max_copies, (int64_t)read->timing.n_copies + 1,
                     sizeof *read->copies));
    made.source = vbs_sql_text(&read->arena, stmt, 0);
    if (!made.source)
        return vbs_no_memory(ctx);
    read->copies[read->timing.n_copies++] = made;
    return VBS_OK;
}

static enum vbs_status read_timing(struct vbs_ctx *ctx, struct vbs_store *store,
                                   const struct vbs_timing_key *key, struct read_timing *read,
                                   bool *found)
{
    int64_t id;

    VBS_TRY(find(ctx, store, key, &id));
    *found = id != 0;
    if (!*found)
        return VBS_OK;
    VBS_TRY(vbs_sql_each(ctx, store, id,
                         "SELECT batch, algorithm" VBS_KERNEL_NAMES VBS_TIME_NAMES
                         " FROM timing_row WHERE timing = ? ORDER BY number",
                         read_row, read));
    return vbs_sql_each(ctx, store, id,
                        "SELECT source, bytes, time_us, mad_us, low_us, high_us, n_runs "
                        "FROM timing_copy WHERE timing = ? ORDER BY number",
                        read_copy, read);
}

enum vbs_status vbs_store_timing_find(struct vbs_ctx *ctx, struct vbs_store *store,
                                      const struct vbs_timing_key *key, struct vbs_timing **timing)
{
    struct read_timing *read = calloc(1, sizeof *read);
    enum vbs_status status;
    bool found = false;

    if (!read)
        return vbs_no_memory(ctx);
    status = vbs_sql_begin_read(ctx, store);
    if (status == VBS_OK)
        status = vbs_sql_end(ctx, store, read_timing(ctx, store, key, read, &found));
    read->timing.rows = read->rows;
    read->timing.copies = read->copies;
    if (status == VBS_OK && found) {
        *timing = &read->timing;
        return VBS_OK;
    }
    vbs_timing_free(&read->timing);
    if (status == VBS_OK)
        *timing = NULL;
    return status;
}

/* ---- writing ---- */

static enum vbs_status write_rows(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                  const struct vbs_timing *timing)
{
    sqlite3_stmt *stmt;
    enum vbs_status status =
        vbs_sql_prepare(ctx, store,
                        "INSERT INTO timing_row (timing, number, batch, "
                        "algorithm" VBS_KERNEL_NAMES VBS_TIME_NAMES ") "
                        "VALUES (?, ?, ?, ?" VBS_KERNEL_MARKS VBS_TIME_MARKS ")",
                        &stmt);

    if (status != VBS_OK)
        return status;
#define VALUE(column, member, type) , VBS_BIND(type, timing->rows[i].row.member)
    for (int i = 0; i < timing->n_rows && status == VBS_OK; i++) {
        status = vbs_sql_bind(ctx, store, stmt, "iiit" VBS_KERNEL_TYPES VBS_TIME_TYPES, id,
                              (int64_t)i, (int64_t)timing->rows[i].batch,
                              timing->rows[i].algorithm VBS_KERNEL_COLUMNS(VALUE)
                                  VBS_TIME_COLUMNS(VALUE));
        if (status == VBS_OK)
            status = vbs_sql_finish(ctx, store, stmt);
    }
#undef VALUE
    sqlite3_finalize(stmt);
    return status;
}

static enum vbs_status write_copies(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                    const struct vbs_timing *timing)
{
    sqlite3_stmt *stmt;
    enum vbs_status status =
        vbs_sql_prepare(ctx, store,
                        "INSERT INTO timing_copy (timing, number, source, bytes, time_us, mad_us, "
                        "low_us, high_us, n_runs) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        &stmt);

    if (status != VBS_OK)
        return status;
    for (int i = 0; i < timing->n_copies && status == VBS_OK; i++) {
        const struct vbs_copy_row *row = &timing->copies[i].row;

        status = vbs_sql_bind(ctx, store, stmt, "iitiddddi", id, (int64_t)i,
                              timing->copies[i].source, row->bytes, row->time_us, row->mad_us,
                              row->low_us, row->high_us, (int64_t)row->n_runs);
        if (status == VBS_OK)
            status = vbs_sql_finish(ctx, store, stmt);
    }
    sqlite3_finalize(stmt);
    return status;
}

static enum vbs_status write_timing(struct vbs_ctx *ctx, struct vbs_store *store,
                                    const struct vbs_timing_key *key,
                                    const struct vbs_timing *timing)
{
    char date[VBS_DATE_SIZE];
    int64_t id;

    VBS_TRY(find(ctx, store, key, &id));
    if (id != 0)
        return VBS_OK;
    vbs_date_now(date);
    VBS_TRY(vbs_sql_run(ctx, store,
                        "INSERT INTO timing (geometry, batches, backend, library, device, vbslab, "
                        "threads, date) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                        KEY_TYPES "t", KEY_VALUES(key), date));
    id = sqlite3_last_insert_rowid(store->db);
    VBS_TRY(write_rows(ctx, store, id, timing));
    return write_copies(ctx, store, id, timing);
}

enum vbs_status vbs_store_timing_save(struct vbs_ctx *ctx, struct vbs_store *store,
                                      const struct vbs_timing_key *key,
                                      const struct vbs_timing *timing)
{
    VBS_TRY(vbs_sql_begin_write(ctx, store));
    return vbs_sql_end(ctx, store, write_timing(ctx, store, key, timing));
}

enum vbs_status vbs_store_timing_delete(struct vbs_ctx *ctx, struct vbs_store *store,
                                        const struct vbs_timing_key *key)
{
    VBS_TRY(vbs_sql_begin_write(ctx, store));
    return vbs_sql_end(
        ctx, store,
        vbs_sql_run(ctx, store,
                    "DELETE FROM timing WHERE batches = ? AND backend = ? AND library = ? AND "
                    "device = ? AND vbslab = ? AND threads = ?",
                    "ttttti", or_empty(key->batches), or_empty(key->provenance->backend),
                    or_empty(key->provenance->library), or_empty(key->provenance->device),
                    or_empty(key->provenance->vbslab), (int64_t)key->provenance->threads));
}
