/*
 * SQLite as this room uses it: prepared statements only, waiting for other processes, and failures
 * as one line. Internal to the room.
 */
#ifndef VBS_STORE_SQL_H
#define VBS_STORE_SQL_H

#include "base/arena.h"
#include "vbslab/store.h"

#include <sqlite3.h>
#include <time.h>

#define VBS_STORE_APPLICATION_ID 0x5642534C /* "VBSL" */
#define VBS_STORE_WAIT_MS        60000      /* for other processes before giving up */

struct vbs_store {
    sqlite3 *db;
    char shown[128];            /* the path, for messages */
    const struct vbs_ctx *ctx;  /* of the running call: waiting ends when it is cancelled */
    int wait_ms;                /* VBS_STORE_WAIT_MS; tests have less patience */
    struct timespec wait_start; /* of the lock being waited for */
    int rc;                     /* of the last failure, extended code */
};

/* The status and the one line for rc, the code of a failed SQLite call on store. */
enum vbs_status vbs_sql_fail(struct vbs_ctx *ctx, struct vbs_store *store, int rc);

enum vbs_status vbs_sql_prepare(struct vbs_ctx *ctx, struct vbs_store *store, const char *sql,
                                sqlite3_stmt **stmt) VBS_MUST_CHECK;

/* Binds parameters 1, 2, ...: one letter each, i int64_t, d double, t text, which must live until
 * the statement has run (null: NULL). Resets the statement first. */
enum vbs_status vbs_sql_bind(struct vbs_ctx *ctx, struct vbs_store *store, sqlite3_stmt *stmt,
                             const char *types, ...) VBS_MUST_CHECK;

/* *row: whether there is one. VBS_INTERRUPTED within some thousand instructions of SQLite once ctx
 * is cancelled, so that no statement of a file from elsewhere can run for ever. */
enum vbs_status vbs_sql_step(struct vbs_ctx *ctx, struct vbs_store *store, sqlite3_stmt *stmt,
                             bool *row) VBS_MUST_CHECK;

/* Runs a statement that gives no rows of interest, to its end. */
enum vbs_status vbs_sql_finish(struct vbs_ctx *ctx, struct vbs_store *store,
                               sqlite3_stmt *stmt) VBS_MUST_CHECK;

/* Prepares, binds and runs one statement. */
enum vbs_status vbs_sql_run(struct vbs_ctx *ctx, struct vbs_store *store, const char *sql,
                            const char *types, ...) VBS_MUST_CHECK;

/* The same; *value is the first column of the first row, which must be there. */
enum vbs_status vbs_sql_value(struct vbs_ctx *ctx, struct vbs_store *store, int64_t *value,
                              const char *sql, const char *types, ...) VBS_MUST_CHECK;

/* Runs every statement of a script. */
enum vbs_status vbs_sql_script(struct vbs_ctx *ctx, struct vbs_store *store,
                               const char *script) VBS_MUST_CHECK;

/* Column as text in arena; null only without memory. */
const char *vbs_sql_text(struct vbs_arena *arena, sqlite3_stmt *stmt, int column);

/* Column as int; what does not fit becomes INT_MIN or INT_MAX. */
int vbs_sql_int(sqlite3_stmt *stmt, int column);

/* A transaction: of one state of the store to read from, or alone in writing. Both wait for other
 * processes. VBS_STORE when the file that is to be written no longer has its name. */
enum vbs_status vbs_sql_begin_read(struct vbs_ctx *ctx, struct vbs_store *store) VBS_MUST_CHECK;
enum vbs_status vbs_sql_begin_write(struct vbs_ctx *ctx, struct vbs_store *store) VBS_MUST_CHECK;

/* Commits when status is VBS_OK, else (and when that fails) rolls back. Returns status or why the
 * commit failed, or that the file has lost its name meanwhile. */
enum vbs_status vbs_sql_end(struct vbs_ctx *ctx, struct vbs_store *store,
                            enum vbs_status status) VBS_MUST_CHECK;

/* One statement without parameters that SQLite may refuse as busy at once where waiting would
 * deadlock: tried again until the patience ends. */
enum vbs_status vbs_sql_insist(struct vbs_ctx *ctx, struct vbs_store *store,
                               const char *sql) VBS_MUST_CHECK;

/* Opens path with SQLite's flags; store->shown and wait_ms are set. */
enum vbs_status vbs_sql_open(struct vbs_ctx *ctx, struct vbs_store *store, const char *path,
                             int flags) VBS_MUST_CHECK;

#endif
