#include "store/sql.h"

#include "base/fail.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- failures ---- */

/* Gives SQLite's message for rc; its general one where the last message belongs to another
 * failure. */
static const char *words(const struct vbs_store *store, int rc)
{
    if (store->db && sqlite3_extended_errcode(store->db) == rc)
        return sqlite3_errmsg(store->db);
    return sqlite3_errstr(rc);
}

/* Gives the system's reason for a failure of a commit, which SQLite does not keep. errno was 0
 * before the step. */
static const char *system_reason(const struct vbs_store *store, int rc)
{
    int last = errno, error = store->db ? sqlite3_system_errno(store->db) : 0;

    if (error == 0 && (rc & 0xff) == SQLITE_IOERR)
        error = last;
    return error ? strerror(error) : words(store, rc);
}

enum vbs_status vbs_sql_fail(struct vbs_ctx *ctx, struct vbs_store *store, int rc)
{
    const char *shown = store->shown;

    store->rc = rc;
    if (rc == SQLITE_IOERR_NOMEM)
        return vbs_no_memory(ctx);
    switch (rc & 0xff) {
    case SQLITE_NOMEM:
        return vbs_no_memory(ctx);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        if (vbs_cancelled(ctx))
            return vbs_fail(ctx, VBS_INTERRUPTED, "interrupted while waiting for store '%s'",
                            shown);
        return vbs_fail(ctx, VBS_STORE, "another process has kept store '%s' locked for %d s",
                        shown, store->wait_ms / 1000);
    case SQLITE_INTERRUPT:
        return vbs_fail(ctx, VBS_INTERRUPTED, "interrupted while using store '%s'", shown);
    case SQLITE_NOTADB:
        return vbs_fail(ctx, VBS_STORE, "'%s' is not a store of vbslab: it is no SQLite database",
                        shown);
    case SQLITE_CORRUPT:
        return vbs_fail(ctx, VBS_STORE,
                        "store '%s' is damaged: %s; nothing was changed, and the sqlite3 program's "
                        "'.recover' may save what it holds",
                        shown, words(store, rc));
    case SQLITE_FULL:
        return vbs_fail(ctx, VBS_STORE,
                        "no space left to write store '%s'; what it held before is intact", shown);
    case SQLITE_READONLY:
        return vbs_fail(ctx, VBS_STORE, "store '%s' cannot be written: %s", shown,
                        words(store, rc));
    case SQLITE_CANTOPEN:
        return vbs_fail(ctx, VBS_STORE,
                        "cannot open store '%s': %s; SQLite keeps files of its own beside it",
                        shown, system_reason(store, rc));
    case SQLITE_IOERR:
        return vbs_fail(ctx, VBS_STORE, "cannot read or write store '%s': %s", shown,
                        system_reason(store, rc));
    default:
        return vbs_fail(ctx, VBS_STORE, "store '%s': %s", shown, words(store, rc));
    }
}

/* ---- waiting for other processes ---- */

static int64_t waited_ms(const struct timespec *start)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)(now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000;
}

/* Pauses before a lock is tried again. Pauses grow, and differ between processes, so that two
 * processes do not collide again and again. */
static void pause_before_retry(int count)
{
    long us = count < 6 ? 500L << count : 20000L + (getpid() * 37L + count * 1009L) % 15000L;
    struct timespec pause = {.tv_nsec = us * 1000};

    nanosleep(&pause, NULL);
}

static int wait_for_lock(void *self, int count)
{
    struct vbs_store *store = self;

    if (count == 0)
        clock_gettime(CLOCK_MONOTONIC, &store->wait_start);
    if (vbs_cancelled(store->ctx) || waited_ms(&store->wait_start) >= store->wait_ms)
        return 0;
    pause_before_retry(count);
    return 1;
}

int vbs_sql_is_cancelled(void *self)
{
    const struct vbs_store *store = self;

    return vbs_cancelled(store->ctx);
}

static bool is_busy(int rc)
{
    return (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_PROTOCOL;
}

enum vbs_status vbs_sql_insist(struct vbs_ctx *ctx, struct vbs_store *store, const char *sql)
{
    struct timespec start;

    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int count = 0;; count++) {
        enum vbs_status status = vbs_sql_run(ctx, store, sql, "");

        if (status != VBS_STORE || !is_busy(store->rc) || waited_ms(&start) >= store->wait_ms)
            return status;
        pause_before_retry(count);
    }
}

/* ---- statements ---- */

enum vbs_status vbs_sql_prepare(struct vbs_ctx *ctx, struct vbs_store *store, const char *sql,
                                sqlite3_stmt **stmt)
{
    int rc;

    store->ctx = ctx;
    errno = 0;
    rc = sqlite3_prepare_v2(store->db, sql, -1, stmt, NULL);
    store->ctx = NULL;
    return rc == SQLITE_OK ? VBS_OK : vbs_sql_fail(ctx, store, rc);
}

static int bind_all(sqlite3_stmt *stmt, const char *types, va_list args)
{
    int rc = SQLITE_OK;

    sqlite3_reset(stmt);
    for (int i = 1; *types && rc == SQLITE_OK; i++, types++) {
        if (*types == 'i')
            rc = sqlite3_bind_int64(stmt, i, va_arg(args, int64_t));
        else if (*types == 'd')
            rc = sqlite3_bind_double(stmt, i, va_arg(args, double));
        else if (*types == 'b') {
            const void *bytes = va_arg(args, const void *);

            rc = sqlite3_bind_blob64(stmt, i, bytes, (sqlite3_uint64)va_arg(args, int64_t),
                                     SQLITE_STATIC);
        } else
            rc = sqlite3_bind_text(stmt, i, va_arg(args, const char *), -1, SQLITE_STATIC);
    }
    return rc;
}

enum vbs_status vbs_sql_bind(struct vbs_ctx *ctx, struct vbs_store *store, sqlite3_stmt *stmt,
                             const char *types, ...)
{
    va_list args;
    int rc;

    va_start(args, types);
    rc = bind_all(stmt, types, args);
    va_end(args);
    return rc == SQLITE_OK ? VBS_OK : vbs_sql_fail(ctx, store, rc);
}

enum vbs_status vbs_sql_step(struct vbs_ctx *ctx, struct vbs_store *store, sqlite3_stmt *stmt,
                             bool *row)
{
    int rc;

    if (vbs_cancelled(ctx))
        return vbs_sql_fail(ctx, store, SQLITE_INTERRUPT);
    store->ctx = ctx;
    errno = 0;
    rc = sqlite3_step(stmt);
    store->ctx = NULL;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return vbs_sql_fail(ctx, store, rc);
    *row = rc == SQLITE_ROW;
    return VBS_OK;
}

enum vbs_status vbs_sql_walk(struct vbs_ctx *ctx, struct vbs_store *store, vbs_sql_take *take,
                             void *self, const char *sql, const char *types, ...)
{
    sqlite3_stmt *stmt;
    enum vbs_status status;
    bool row = true;
    va_list args;
    int rc;

    VBS_TRY(vbs_sql_prepare(ctx, store, sql, &stmt));
    va_start(args, types);
    rc = bind_all(stmt, types, args);
    va_end(args);
    status = rc == SQLITE_OK ? VBS_OK : vbs_sql_fail(ctx, store, rc);
    while (status == VBS_OK && row) {
        status = vbs_sql_step(ctx, store, stmt, &row);
        if (status == VBS_OK && row)
            status = take(ctx, stmt, self);
    }
    sqlite3_finalize(stmt);
    return status;
}

enum vbs_status vbs_sql_each(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                             const char *sql, vbs_sql_take *take, void *self)
{
    return vbs_sql_walk(ctx, store, take, self, sql, "i", id);
}

enum vbs_status vbs_sql_finish(struct vbs_ctx *ctx, struct vbs_store *store, sqlite3_stmt *stmt)
{
    enum vbs_status status;
    bool row;

    do
        status = vbs_sql_step(ctx, store, stmt, &row);
    while (status == VBS_OK && row);
    return status;
}

enum vbs_status vbs_sql_run(struct vbs_ctx *ctx, struct vbs_store *store, const char *sql,
                            const char *types, ...)
{
    sqlite3_stmt *stmt;
    enum vbs_status status;
    va_list args;
    int rc;

    VBS_TRY(vbs_sql_prepare(ctx, store, sql, &stmt));
    va_start(args, types);
    rc = bind_all(stmt, types, args);
    va_end(args);
    status = rc == SQLITE_OK ? vbs_sql_finish(ctx, store, stmt) : vbs_sql_fail(ctx, store, rc);
    sqlite3_finalize(stmt);
    return status;
}

enum vbs_status vbs_sql_value(struct vbs_ctx *ctx, struct vbs_store *store, int64_t *value,
                              const char *sql, const char *types, ...)
{
    sqlite3_stmt *stmt;
    enum vbs_status status;
    bool row = false;
    va_list args;
    int rc;

    VBS_TRY(vbs_sql_prepare(ctx, store, sql, &stmt));
    va_start(args, types);
    rc = bind_all(stmt, types, args);
    va_end(args);
    status = rc == SQLITE_OK ? vbs_sql_step(ctx, store, stmt, &row) : vbs_sql_fail(ctx, store, rc);
    if (status == VBS_OK && !row)
        status = vbs_sql_fail(ctx, store, SQLITE_CORRUPT);
    if (status == VBS_OK)
        *value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return status;
}

enum vbs_status vbs_sql_script(struct vbs_ctx *ctx, struct vbs_store *store, const char *script)
{
    while (*script) {
        enum vbs_status status;
        sqlite3_stmt *stmt;
        int rc;

        errno = 0;
        store->ctx = ctx;
        rc = sqlite3_prepare_v2(store->db, script, -1, &stmt, &script);
        store->ctx = NULL;
        if (rc != SQLITE_OK)
            return vbs_sql_fail(ctx, store, rc);
        if (!stmt) /* blanks and comments at the end of the script */
            break;
        status = vbs_sql_finish(ctx, store, stmt);
        sqlite3_finalize(stmt);
        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

const char *vbs_sql_text(struct vbs_arena *arena, sqlite3_stmt *stmt, int column)
{
    const char *text = "";

    if (sqlite3_column_type(stmt, column) != SQLITE_NULL)
        text = (const char *)sqlite3_column_text(stmt, column);
    return text ? vbs_arena_strdup(arena, text) : NULL;
}

int vbs_sql_int(sqlite3_stmt *stmt, int column)
{
    int64_t value = sqlite3_column_int64(stmt, column);

    return value < INT_MIN ? INT_MIN : value > INT_MAX ? INT_MAX : (int)value;
}

/* ---- transactions ---- */

/* Rolls back any open transaction. A commit or rollback that failed leaves its transaction open,
 * and nothing of it is to be kept. */
static void roll_back(struct vbs_store *store)
{
    sqlite3_stmt *stmt;

    if (sqlite3_get_autocommit(store->db))
        return;
    if (sqlite3_prepare_v2(store->db, "ROLLBACK", -1, &stmt, NULL) != SQLITE_OK)
        return;
    sqlite3_step(stmt);
    sqlite3_finalize(stmt);
}

/* Fails where the store's file has lost its name: SQLite would go on writing to it without an
 * error, and the data would be lost. */
static enum vbs_status check_place(struct vbs_ctx *ctx, struct vbs_store *store)
{
    const char *name = sqlite3_db_filename(store->db, "main");
    int moved = 0;

    if (!name || !name[0]) /* a temporary file, which has no name */
        return VBS_OK;
    if (sqlite3_file_control(store->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK ||
        !moved)
        return VBS_OK;
    return vbs_fail(ctx, VBS_STORE,
                    "store '%s' was deleted, moved or replaced while it was open; what was written "
                    "to it since is not there",
                    store->shown);
}

enum vbs_status vbs_sql_begin_write(struct vbs_ctx *ctx, struct vbs_store *store)
{
    enum vbs_status status;

    roll_back(store);
    status = vbs_sql_insist(ctx, store, "BEGIN IMMEDIATE");
    if (status == VBS_OK && (status = check_place(ctx, store)))
        roll_back(store);
    return status;
}

enum vbs_status vbs_sql_begin_read(struct vbs_ctx *ctx, struct vbs_store *store)
{
    enum vbs_status status;

    roll_back(store);
    if ((status = vbs_sql_run(ctx, store, "BEGIN", "")))
        return status;
    /* Only the first read fixes the state of the store that the transaction sees. */
    status = vbs_sql_insist(ctx, store, "SELECT count(*) FROM sqlite_schema");
    if (status != VBS_OK)
        roll_back(store);
    return status;
}

enum vbs_status vbs_sql_end(struct vbs_ctx *ctx, struct vbs_store *store, enum vbs_status status)
{
    bool written = sqlite3_txn_state(store->db, "main") == SQLITE_TXN_WRITE;

    if (status == VBS_OK)
        status = vbs_sql_insist(ctx, store, "COMMIT");
    if (status != VBS_OK)
        roll_back(store);
    else if (written)
        status = check_place(ctx, store);
    return status;
}

/* ---- opening ---- */

enum vbs_status vbs_sql_open(struct vbs_ctx *ctx, struct vbs_store *store, const char *path,
                             int flags)
{
    int rc, was;

    errno = 0;
    rc = sqlite3_open_v2(path, &store->db, flags | SQLITE_OPEN_EXRESCODE, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_busy_handler(store->db, wait_for_lock, store);
    if (rc == SQLITE_OK)
        sqlite3_progress_handler(store->db, VBS_SQL_INSTRUCTIONS, vbs_sql_is_cancelled, store);
    /* A file from elsewhere may define views and triggers of any kind, so they must not call
     * functions that have side effects. */
    if (rc == SQLITE_OK)
        rc = sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, &was);
    if (rc == SQLITE_OK)
        rc = sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, &was);
    if (rc == SQLITE_OK)
        rc = sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, &was);
    return rc == SQLITE_OK ? VBS_OK : vbs_sql_fail(ctx, store, rc);
}
