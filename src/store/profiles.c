/*
 * Whole profiles: listing, loading and deleting them.
 */
#include "base/owner.h"
#include "store/rows.h"

#include "base/fail.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

/* ---- list ---- */

/* The memory behind a list. The public struct comes first. */
struct list_body {
    struct vbs_store_list list;
    struct vbs_arena arena; /* texts */
    int64_t capacity;
};

void vbs_store_list_free(struct vbs_store_list *list)
{
    struct list_body *body = (struct list_body *)list;

    if (!body)
        return;
    free(list->entries);
    vbs_arena_clear(&body->arena);
    free(body);
}

static enum vbs_status add_entry(struct vbs_ctx *ctx, struct list_body *body, sqlite3_stmt *stmt)
{
    struct vbs_store_entry entry = {
        .id = sqlite3_column_int64(stmt, 0),
        .complete = sqlite3_column_int64(stmt, 1) != 0,
        .n_layers = vbs_sql_int(stmt, 2),
        .n_batches = vbs_sql_int(stmt, 3),
        .max_batch = vbs_sql_int(stmt, 4),
        .n_rows = sqlite3_column_int64(stmt, 5),
        .batches = vbs_sql_text(&body->arena, stmt, 6),
        .hash = vbs_sql_text(&body->arena, stmt, 7),
        .tags = vbs_sql_text(&body->arena, stmt, 8),
    };

    VBS_TRY(entry.batches && entry.hash && entry.tags
                ? vbs_rows_provenance(ctx, &body->arena, stmt, 9, &entry.provenance)
                : vbs_no_memory(ctx));
    VBS_TRY(vbs_grow(ctx, &body->list.entries, &body->capacity, body->list.n_entries + 1,
                     sizeof entry));
    body->list.entries[body->list.n_entries++] = entry;
    return VBS_OK;
}

static enum vbs_status read_list(struct vbs_ctx *ctx, struct vbs_store *store,
                                 struct list_body *body)
{
    sqlite3_stmt *stmt;
    enum vbs_status status = vbs_sql_prepare(
        ctx, store,
        "SELECT id, completed IS NOT NULL,"
        " (SELECT count(*) FROM layer WHERE profile = p.id),"
        " (SELECT count(DISTINCT batch) FROM kernel WHERE profile = p.id AND layer = 1),"
        " (SELECT max(batch) FROM kernel WHERE profile = p.id AND layer = 1),"
        " (SELECT count(*) FROM kernel WHERE profile = p.id),"
        " (SELECT group_concat(batch) FROM (SELECT DISTINCT batch FROM kernel"
        "  WHERE profile = p.id AND layer = 1 ORDER BY batch)), hash,"
        " (SELECT group_concat(tag) FROM (SELECT tag FROM tag WHERE profile = p.id"
        "  ORDER BY tag)), " VBS_ROWS_PROVENANCE
        " FROM profile p ORDER BY completed IS NULL, completed, id",
        &stmt);
    bool row = true;

    if (status != VBS_OK)
        return status;
    while (status == VBS_OK && row) {
        status = vbs_sql_step(ctx, store, stmt, &row);
        if (status == VBS_OK && row)
            status = add_entry(ctx, body, stmt);
    }
    sqlite3_finalize(stmt);
    return status;
}

enum vbs_status vbs_store_profiles(struct vbs_ctx *ctx, struct vbs_store *store,
                                   struct vbs_store_list **list)
{
    struct list_body *body = calloc(1, sizeof *body);
    enum vbs_status status;

    if (!body)
        return vbs_no_memory(ctx);
    status = vbs_sql_begin_read(ctx, store);
    if (status == VBS_OK)
        status = vbs_sql_end(ctx, store, read_list(ctx, store, body));
    if (status != VBS_OK) {
        vbs_store_list_free(&body->list);
        return status;
    }
    *list = &body->list;
    return VBS_OK;
}

/* ---- load ---- */

static enum vbs_status load(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                            struct vbs_profile **profile)
{
    bool complete;

    VBS_TRY(vbs_rows_state(ctx, store, id, &complete));
    if (!complete)
        return vbs_fail(ctx, VBS_STORE,
                        "profile %lld is unfinished; the 'vbslab measure' that began it goes on "
                        "with it when it is run again",
                        (long long)id);
    return vbs_rows_read(ctx, store, id, profile);
}

enum vbs_status vbs_store_load(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                               struct vbs_profile **profile)
{
    enum vbs_status status = vbs_sql_begin_read(ctx, store);
    struct vbs_profile *loaded = NULL;

    if (status == VBS_OK)
        status = vbs_sql_end(ctx, store, load(ctx, store, id, &loaded));
    if (status != VBS_OK)
        vbs_profile_free(loaded);
    else
        *profile = loaded;
    return status;
}

/* ---- delete ---- */

/* Gives whether a process that still runs measures the profile. */
static enum vbs_status read_measured(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                     bool *measured)
{
    sqlite3_stmt *stmt;
    enum vbs_status status;
    bool row = false;

    VBS_TRY(vbs_sql_prepare(
        ctx, store, "SELECT owner, ? - touched FROM profile WHERE id = ? AND owner IS NOT NULL",
        &stmt));
    status = vbs_sql_bind(ctx, store, stmt, "ii", (int64_t)time(NULL), id);
    if (status == VBS_OK)
        status = vbs_sql_step(ctx, store, stmt, &row);
    if (status == VBS_OK && row) {
        const char *owner = (const char *)sqlite3_column_text(stmt, 0);

        if (owner)
            *measured = vbs_owner_is_alive(owner, sqlite3_column_int64(stmt, 1));
        else
            status = vbs_no_memory(ctx);
    }
    sqlite3_finalize(stmt);
    return status;
}

static enum vbs_status delete_profile(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id)
{
    bool complete, measured = false;

    VBS_TRY(vbs_rows_state(ctx, store, id, &complete));
    VBS_TRY(read_measured(ctx, store, id, &measured));
    if (measured)
        return vbs_fail(ctx, VBS_STORE, "profile %lld is being measured by another process",
                        (long long)id);
    return vbs_sql_run(ctx, store, "DELETE FROM profile WHERE id = ?", "i", id);
}

static bool is_repeated(const int64_t *ids, int i)
{
    for (int k = 0; k < i; k++)
        if (ids[k] == ids[i])
            return true;
    return false;
}

enum vbs_status vbs_store_delete(struct vbs_ctx *ctx, struct vbs_store *store, const int64_t *ids,
                                 int n)
{
    enum vbs_status status = VBS_OK;

    VBS_TRY(vbs_sql_begin_write(ctx, store));
    for (int i = 0; i < n && status == VBS_OK; i++)
        if (!is_repeated(ids, i))
            status = delete_profile(ctx, store, ids[i]);
    return vbs_sql_end(ctx, store, status);
}
