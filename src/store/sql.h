/*
 * SQLite as this room uses it: with prepared statements only, with a wait for other processes, and
 * with failures as one line. Internal to the room.
 */
#ifndef VBS_STORE_SQL_H
#define VBS_STORE_SQL_H

#include "base/arena.h"
#include "vbslab/store.h"

#include <sqlite3.h>
#include <time.h>

#define VBS_STORE_APPLICATION_ID 0x5642534C /* "VBSL" */
#define VBS_STORE_WAIT_MS        60000      /* to wait for other processes before giving up */

struct vbs_store {
    sqlite3 *db;
    char shown[128];            /* the path, for messages */
    const struct vbs_ctx *ctx;  /* of the running call: it stops waiting when it is cancelled */
    int wait_ms;                /* VBS_STORE_WAIT_MS; tests set less */
    struct timespec wait_start; /* when waiting for the current lock began */
    int rc;                     /* extended code of the last failure */
};

/* Fails with the status and the detail for rc, the code of a failed SQLite call on store. */
enum vbs_status vbs_sql_fail(struct vbs_ctx *ctx, struct vbs_store *store, int rc);

enum vbs_status vbs_sql_prepare(struct vbs_ctx *ctx, struct vbs_store *store, const char *sql,
                                sqlite3_stmt **stmt) VBS_MUST_CHECK;

/* Resets the statement and binds its parameters 1, 2, ...; types has one letter for each: i for
 * int64_t, d for double, t for a text, which must live until the statement has run (null: NULL), b
 * for bytes, which must live as long, and their number as int64_t. */
enum vbs_status vbs_sql_bind(struct vbs_ctx *ctx, struct vbs_store *store, sqlite3_stmt *stmt,
                             const char *types, ...) VBS_MUST_CHECK;

/* Runs a statement to its next row; *row tells whether there is one. VBS_INTERRUPTED within some
 * thousand instructions of SQLite once ctx is cancelled, so that no statement on a file from
 * elsewhere can run for ever. */
enum vbs_status vbs_sql_step(struct vbs_ctx *ctx, struct vbs_store *store, sqlite3_stmt *stmt,
                             bool *row) VBS_MUST_CHECK;

/* Is handed a row of a result. */
typedef enum vbs_status vbs_sql_take(struct vbs_ctx *ctx, sqlite3_stmt *row, void *self);

/* Prepares and binds a statement, and hands each row of its result to take until that fails. */
enum vbs_status vbs_sql_walk(struct vbs_ctx *ctx, struct vbs_store *store, vbs_sql_take *take,
                             void *self, const char *sql, const char *types, ...) VBS_MUST_CHECK;

/* Does the same with one parameter, an id. */
enum vbs_status vbs_sql_each(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                             const char *sql, vbs_sql_take *take, void *self) VBS_MUST_CHECK;

/* Runs a statement to its end and ignores its rows. */
enum vbs_status vbs_sql_finish(struct vbs_ctx *ctx, struct vbs_store *store,
                               sqlite3_stmt *stmt) VBS_MUST_CHECK;

/* Prepares, binds and runs one statement. */
enum vbs_status vbs_sql_run(struct vbs_ctx *ctx, struct vbs_store *store, const char *sql,
                            const char *types, ...) VBS_MUST_CHECK;

/* Prepares, binds and runs one statement. *value is the first column of its first row, which must
 * exist. */
enum vbs_status vbs_sql_value(struct vbs_ctx *ctx, struct vbs_store *store, int64_t *value,
                              const char *sql, const char *types, ...) VBS_MUST_CHECK;

/* Runs every statement of a script. */
enum vbs_status vbs_sql_script(struct vbs_ctx *ctx, struct vbs_store *store,
                               const char *script) VBS_MUST_CHECK;

/* Copies a column as text into arena; null where memory is out. */
const char *vbs_sql_text(struct vbs_arena *arena, sqlite3_stmt *stmt, int column);

/* Gives a column as an int; a number that does not fit becomes INT_MIN or INT_MAX. */
int vbs_sql_int(sqlite3_stmt *stmt, int column);

/* Begin a transaction: one that reads a single state of the store, or one that may write while no
 * other process does. Both wait for other processes. VBS_STORE: the file that is to be written no
 * longer has its name. */
enum vbs_status vbs_sql_begin_read(struct vbs_ctx *ctx, struct vbs_store *store) VBS_MUST_CHECK;
enum vbs_status vbs_sql_begin_write(struct vbs_ctx *ctx, struct vbs_store *store) VBS_MUST_CHECK;

/* Ends a transaction: commits when status is VBS_OK, else rolls back, as it does when the commit
 * fails. Returns status, or the reason why the commit failed, or that the file has lost its name
 * meanwhile. */
enum vbs_status vbs_sql_end(struct vbs_ctx *ctx, struct vbs_store *store,
                            enum vbs_status status) VBS_MUST_CHECK;

/* Runs one statement without parameters, which SQLite may refuse as busy at once where waiting
 * would be a deadlock. It is tried again until wait_ms have passed. */
enum vbs_status vbs_sql_insist(struct vbs_ctx *ctx, struct vbs_store *store,
                               const char *sql) VBS_MUST_CHECK;

/* SQLite calls this function every so many instructions of its virtual machine; a result other than
 * 0 ends the statement. self: a store. */
#define VBS_SQL_INSTRUCTIONS 4000
int vbs_sql_is_cancelled(void *self);

/* Opens path with flags of SQLite. store->shown and store->wait_ms must be set. */
enum vbs_status vbs_sql_open(struct vbs_ctx *ctx, struct vbs_store *store, const char *path,
                             int flags) VBS_MUST_CHECK;

/* Opens a store that is read and in no way changed: neither its file nor a log that a process left
 * beside it. Of a store that an earlier version wrote a temporary copy is read (open.c). */
enum vbs_status vbs_sql_open_unchanged(struct vbs_ctx *ctx, const char *path,
                                       struct vbs_store **store) VBS_MUST_CHECK;

#endif
