/*
 * Rows that are copied from store to store by value, and compared by a hash of their values. What
 * they may contain is decided by the tables of the store into which they are copied.
 */
#include "store/merge/merge.h"

#include "base/fail.h"

#include <string.h>

/* ---- hashing ---- */

static void add_bits(struct vbs_sha256 *hash, uint64_t bits)
{
    unsigned char bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(bits >> (8 * i));
    vbs_sha256_add(hash, bytes, sizeof bytes);
}

/* Adds the type of a value, its length, and its bytes. */
static void add_value(struct vbs_sha256 *hash, sqlite3_stmt *row, int column)
{
    int type = sqlite3_column_type(row, column);
    double number = sqlite3_column_double(row, column);
    uint64_t bits = 0;

    add_bits(hash, (uint64_t)type);
    if (type == SQLITE_TEXT || type == SQLITE_BLOB) {
        const void *bytes = sqlite3_column_blob(row, column);
        int length = sqlite3_column_bytes(row, column);

        add_bits(hash, (uint64_t)length);
        vbs_sha256_add(hash, bytes ? bytes : "", bytes ? (size_t)length : 0);
    } else if (type == SQLITE_FLOAT) {
        memcpy(&bits, &number, sizeof bits);
        add_bits(hash, bits);
    } else if (type == SQLITE_INTEGER) {
        add_bits(hash, (uint64_t)sqlite3_column_int64(row, column));
    }
}

static enum vbs_status hash_row(struct vbs_ctx *ctx, sqlite3_stmt *row, void *self)
{
    (void)ctx;
    for (int i = 0; i < sqlite3_column_count(row); i++)
        add_value(self, row, i);
    return VBS_OK;
}

enum vbs_status vbs_merge_hash(struct vbs_merging *m, struct vbs_store *store, const char *sql,
                               int64_t id, struct vbs_sha256 *hash)
{
    return vbs_sql_each(m->ctx, store, id, sql, hash_row, hash);
}

/* ---- copying ---- */

/* Binds id, and n columns of a row from first on. */
static enum vbs_status bind_row(struct vbs_merging *m, sqlite3_stmt *stmt, int64_t id,
                                sqlite3_stmt *row, int first, int n)
{
    int rc = SQLITE_OK;

    VBS_TRY(vbs_sql_bind(m->ctx, m->into, stmt, "i", id));
    for (int i = 0; i < n && rc == SQLITE_OK; i++)
        rc = sqlite3_bind_value(stmt, 2 + i, sqlite3_column_value(row, first + i));
    return rc == SQLITE_OK ? VBS_OK : vbs_sql_fail(m->ctx, m->into, rc);
}

struct rows_copying {
    struct vbs_merging *m;
    sqlite3_stmt *write;
    int64_t copy, n;
};

static enum vbs_status copy_row(struct vbs_ctx *ctx, sqlite3_stmt *row, void *self)
{
    struct rows_copying *c = self;

    VBS_TRY(bind_row(c->m, c->write, c->copy, row, 0, sqlite3_column_count(row)));
    c->n++;
    return vbs_sql_finish(ctx, c->m->into, c->write);
}

enum vbs_status vbs_merge_copy_rows(struct vbs_merging *m, const char *select, int64_t id,
                                    const char *write, int64_t copy, int64_t *n_rows)
{
    struct rows_copying c = {.m = m, .copy = copy};
    enum vbs_status status;

    VBS_TRY(vbs_sql_prepare(m->ctx, m->into, write, &c.write));
    status = vbs_sql_each(m->ctx, m->from, id, select, copy_row, &c);
    sqlite3_finalize(c.write);
    if (n_rows)
        *n_rows += c.n;
    return status;
}

enum vbs_status vbs_merge_run(struct vbs_merging *m, const char *sql, int64_t id, sqlite3_stmt *row,
                              int first, int n, int64_t *value)
{
    sqlite3_stmt *stmt;
    enum vbs_status status;
    bool has_row = false;

    VBS_TRY(vbs_sql_prepare(m->ctx, m->into, sql, &stmt));
    status = bind_row(m, stmt, id, row, first, n);
    if (status == VBS_OK)
        status = vbs_sql_step(m->ctx, m->into, stmt, &has_row);
    if (status == VBS_OK && value)
        *value = has_row ? sqlite3_column_int64(stmt, 0) : 0;
    sqlite3_finalize(stmt);
    return status;
}

enum vbs_status vbs_merge_try(struct vbs_merging *m,
                              enum vbs_status (*work)(struct vbs_merging *m, void *self),
                              void *self, bool *damaged)
{
    enum vbs_status status;

    *damaged = false;
    VBS_TRY(vbs_sql_run(m->ctx, m->into, "SAVEPOINT item", ""));
    vbs_merge_forget_failures(m);
    status = work(m, self);
    if (status == VBS_STORE && (m->into->rc & 0xff) == SQLITE_CONSTRAINT) {
        *damaged = true;
        status = vbs_sql_run(m->ctx, m->into, "ROLLBACK TO item", "");
    }
    VBS_TRY(status);
    return vbs_sql_run(m->ctx, m->into, "RELEASE item", "");
}
