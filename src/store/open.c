/*
 * Opening a store: checking whose file it is and of which version, and migrating it to the current
 * version.
 *
 * A file is ours when its application_id says so, and becomes ours when it is empty. Nothing is
 * written before the owner is known. Every step tolerates that other processes do the same at the
 * same moment: the version is read again inside the transaction that changes it.
 */
#include "store/rows.h"
#include "store/schema.h"

#include "base/fail.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Finds the script that migrates a store from version to version + 1; null where there is none. */
static const struct vbs_embedded *script_after(int version)
{
    char name[32] = "schema";

    if (version > 0)
        snprintf(name, sizeof name, "migration-%d", version + 1);
    for (const struct vbs_embedded *script = vbs_schema; script->name; script++)
        if (strcmp(script->name, name) == 0)
            return script;
    return NULL;
}

static int newest_version(void)
{
    int version = 0;

    while (script_after(version))
        version++;
    return version;
}

/* Reads the version of the store, which is 0 for an empty file. Must be called in a transaction. */
static enum vbs_status read_version(struct vbs_ctx *ctx, struct vbs_store *store, int *version)
{
    int64_t id, number, n_tables;
    enum vbs_status status;

    if ((status = vbs_sql_value(ctx, store, &id, "PRAGMA application_id", "")) ||
        (status = vbs_sql_value(ctx, store, &number, "PRAGMA user_version", "")) ||
        (status = vbs_sql_value(ctx, store, &n_tables, "SELECT count(*) FROM sqlite_schema", "")))
        return status;
    if (id == 0 && n_tables == 0 && number == 0) {
        *version = 0;
        return VBS_OK;
    }
    if (id != VBS_STORE_APPLICATION_ID || number < 1)
        return vbs_fail(ctx, VBS_STORE,
                        "'%s' is the database of another program (application id 0x%08x, version "
                        "%lld); nothing was changed",
                        store->shown, (unsigned)id, (long long)number);
    if (number > newest_version())
        return vbs_fail(ctx, VBS_STORE,
                        "store '%s' is of version %lld, but vbslab %s knows only versions up to "
                        "%d; use the newer vbslab that wrote it",
                        store->shown, (long long)number, vbs_version(), newest_version());
    *version = (int)number;
    return VBS_OK;
}

static enum vbs_status inspect(struct vbs_ctx *ctx, struct vbs_store *store, int *version)
{
    VBS_TRY(vbs_sql_begin_read(ctx, store));
    return vbs_sql_end(ctx, store, read_version(ctx, store, version));
}

#define VERSION_WITH_HASHES 4 /* complete profiles of older versions have no content hash */

/* Runs all scripts that the store lacks, in one transaction. */
static enum vbs_status run_scripts(struct vbs_ctx *ctx, struct vbs_store *store)
{
    enum vbs_status status;
    bool had_hashes;
    int version = 0;

    VBS_TRY(vbs_sql_begin_write(ctx, store));
    status = read_version(ctx, store, &version);
    had_hashes = version >= VERSION_WITH_HASHES;
    if (status != VBS_OK)
        goto done;
    for (const struct vbs_embedded *script; (script = script_after(version));) {
        int before = version;

        status = vbs_sql_script(ctx, store, script->text);
        if (status != VBS_OK)
            goto done;
        status = read_version(ctx, store, &version);
        if (status != VBS_OK)
            goto done;
        if (version != before + 1) {
            status = vbs_fail(ctx, VBS_STORE, "script '%s' does not set version %d", script->name,
                              before + 1);
            goto done;
        }
    }
    if (!had_hashes)
        status = vbs_rows_add_hashes(ctx, store);
done:
    return vbs_sql_end(ctx, store, status);
}

/* Migrates the store. Foreign keys, which cannot be turned off within a transaction, are off
 * meanwhile: a script that makes a table anew drops the old one, and must not delete the rows that
 * refer to it. */
static enum vbs_status migrate(struct vbs_ctx *ctx, struct vbs_store *store)
{
    enum vbs_status status;
    int rc, was;

    rc = sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_FKEY, 0, &was);
    if (rc != SQLITE_OK)
        return vbs_sql_fail(ctx, store, rc);
    status = run_scripts(ctx, store);
    rc = sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, &was);
    return status == VBS_OK && rc != SQLITE_OK ? vbs_sql_fail(ctx, store, rc) : status;
}

/*
 * Chooses write-ahead logging where the file system supports it. With the log, a commit is safe
 * from a crash of the process without a flush to the disk; without the log it needs one.
 */
static enum vbs_status choose_journal(struct vbs_ctx *ctx, struct vbs_store *store)
{
    enum vbs_status status;
    sqlite3_stmt *stmt;
    bool row = false, logged = false;

    VBS_TRY(vbs_sql_insist(ctx, store, "PRAGMA journal_mode = WAL"));
    VBS_TRY(vbs_sql_prepare(ctx, store, "PRAGMA journal_mode", &stmt));
    status = vbs_sql_step(ctx, store, stmt, &row);
    if (status == VBS_OK && row) {
        const char *mode = (const char *)sqlite3_column_text(stmt, 0);

        logged = mode && strcmp(mode, "wal") == 0;
    }
    sqlite3_finalize(stmt);
    if (status != VBS_OK)
        return status;
    return vbs_sql_run(ctx, store,
                       logged ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL", "");
}

/* Makes the folders in which path lies. */
static enum vbs_status make_folders(struct vbs_ctx *ctx, const char *path)
{
    enum vbs_status status = VBS_OK;
    char *folder = strdup(path);

    if (!folder)
        return vbs_no_memory(ctx);
    for (char *slash = strchr(folder + 1, '/'); slash && status == VBS_OK;
         slash = strchr(slash + 1, '/')) {
        int reason;

        *slash = '\0';
        reason = mkdir(folder, 0777) != 0 ? errno : 0;
        if (reason && reason != EEXIST && access(folder, F_OK) != 0)
            status =
                vbs_fail(ctx, VBS_STORE, "cannot make folder '%s': %s", folder, strerror(reason));
        *slash = '/';
    }
    free(folder);
    return status;
}

/* Refuses a folder that does not exist, which is most likely a mistake in the path. */
static enum vbs_status check_folder(struct vbs_ctx *ctx, const struct vbs_store *store,
                                    const char *path)
{
    enum vbs_status status = VBS_OK;
    char *folder = strdup(path);
    struct stat info;

    if (!folder)
        return vbs_no_memory(ctx);
    *strrchr(folder, '/') = '\0';
    if (folder[0] && stat(folder, &info) != 0 && errno == ENOENT)
        status = vbs_fail(ctx, VBS_STORE,
                          "cannot make store '%s': its folder does not exist; 'mkdir' makes one",
                          store->shown);
    free(folder);
    return status;
}

/* Fails with the reason why path, or a file beside it, cannot be written, because SQLite does not
 * report it; VBS_OK when both can. */
static enum vbs_status check_access(struct vbs_ctx *ctx, const struct vbs_store *store,
                                    const char *path)
{
    enum vbs_status status = VBS_OK;
    char *folder = strdup(path);

    if (!folder)
        return vbs_no_memory(ctx);
    strrchr(folder, '/')[1] = '\0';
    if (access(path, F_OK) == 0 && access(path, W_OK) != 0)
        status = vbs_fail(ctx, VBS_STORE, "store '%s' cannot be written: %s", store->shown,
                          strerror(errno));
    else if (access(folder, W_OK) != 0)
        status = vbs_fail(ctx, VBS_STORE,
                          "store '%s' cannot be written: its folder, where SQLite keeps files of "
                          "its own, says: %s",
                          store->shown, strerror(errno));
    free(folder);
    return status;
}

static bool is_access_failure(const struct vbs_store *store)
{
    return (store->rc & 0xff) == SQLITE_CANTOPEN || (store->rc & 0xff) == SQLITE_READONLY;
}

static enum vbs_status open_for_writing(struct vbs_ctx *ctx, struct vbs_store *store,
                                        const char *path)
{
    enum vbs_status status, reason;
    int version = 0;

    if ((status = check_folder(ctx, store, path)))
        return status;
    /* SQLite would open such a file for reading only, and leave files beside it. */
    if (access(path, F_OK) == 0 && access(path, W_OK) != 0)
        return check_access(ctx, store, path);
    status = vbs_sql_open(ctx, store, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    if (status == VBS_OK)
        status = inspect(ctx, store, &version);
    if (status == VBS_OK && sqlite3_db_readonly(store->db, "main") == 1)
        status = vbs_sql_fail(ctx, store, SQLITE_READONLY);
    if (status == VBS_OK)
        status = choose_journal(ctx, store);
    if (status == VBS_OK && version < newest_version())
        status = migrate(ctx, store);
    if (status == VBS_STORE && is_access_failure(store) &&
        (reason = check_access(ctx, store, path)) != VBS_OK)
        return reason;
    return status;
}

/* Writes path as a URI of SQLite: "file:", with every byte that could have a meaning as %XX. */
static enum vbs_status immutable_uri(struct vbs_ctx *ctx, const char *path, struct vbs_text *uri)
{
    vbs_text_add(uri, "file:");
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;

        if (strchr("/.-_", c) || (c < 0x80 && isalnum(c)))
            vbs_text_addf(uri, "%c", c);
        else
            vbs_text_addf(uri, "%%%02x", c);
    }
    vbs_text_add(uri, "?immutable=1");
    return uri->failed ? vbs_no_memory(ctx) : VBS_OK;
}

/* Gives the bytes of the log beside the store, or -1 when there is none. */
static enum vbs_status measure_log(struct vbs_ctx *ctx, const char *path, int64_t *bytes)
{
    struct vbs_text log = {0};
    struct stat info;

    vbs_text_addf(&log, "%s-wal", path);
    if (log.failed) {
        vbs_text_clear(&log);
        return vbs_no_memory(ctx);
    }
    *bytes = stat(log.data, &info) == 0 ? info.st_size : -1;
    vbs_text_clear(&log);
    return VBS_OK;
}

/* Refuses a store whose log was not merged yet: without the log an old state would be read. */
static enum vbs_status check_no_log(struct vbs_ctx *ctx, const struct vbs_store *store,
                                    const char *path)
{
    int64_t bytes;

    VBS_TRY(measure_log(ctx, path, &bytes));
    if (bytes > 0)
        return vbs_fail(ctx, VBS_STORE,
                        "store '%s' has a log beside it (-wal) that must be merged first, and "
                        "nothing can be written here; copy both to where you may write",
                        store->shown);
    return VBS_OK;
}

/*
 * Opens a store that cannot be changed. To read a store with a write-ahead log, SQLite must make
 * files beside it. Where this is not possible (a read-only medium or folder) and no log is left,
 * the file alone has the whole state and is read as a file that nobody changes.
 */
static enum vbs_status open_immutable(struct vbs_ctx *ctx, struct vbs_store *store,
                                      const char *path, int *version)
{
    struct vbs_text uri = {0};
    enum vbs_status status = check_no_log(ctx, store, path);

    sqlite3_close(store->db);
    store->db = NULL;
    if (status != VBS_OK)
        goto done;
    status = immutable_uri(ctx, path, &uri);
    if (status != VBS_OK)
        goto done;
    status = vbs_sql_open(ctx, store, uri.data, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    if (status != VBS_OK)
        goto done;
    status = inspect(ctx, store, version);
done:
    vbs_text_clear(&uri);
    return status;
}

/*
 * Opens a store for a process that only reads. A process with permission to write opens it for
 * writing, so that SQLite removes its files at the end; "query_only" keeps it from writing rows. A
 * process without permission would leave files of its own beside the store, to which the store's
 * owner could then not write. So it makes none: where there is no log, nobody has the store open.
 */
static enum vbs_status open_file_for_reading(struct vbs_ctx *ctx, struct vbs_store *store,
                                             const char *path, int *version)
{
    enum vbs_status writing = check_access(NULL, store, path), status;
    int64_t log_bytes;

    if (writing == VBS_NO_MEMORY)
        return vbs_no_memory(ctx);
    status = measure_log(ctx, path, &log_bytes);
    if (status != VBS_OK)
        return status;
    if (writing != VBS_OK && log_bytes < 0)
        return open_immutable(ctx, store, path, version);
    status = vbs_sql_open(ctx, store, path,
                          writing == VBS_OK ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
    if (status == VBS_OK)
        status = vbs_sql_run(ctx, store, "PRAGMA query_only = ON", "");
    return status == VBS_OK ? inspect(ctx, store, version) : status;
}

/* Migrates a store that an earlier version wrote before it is read. */
static enum vbs_status bring_up(struct vbs_ctx *ctx, struct vbs_store *store, const char *path,
                                int version)
{
    enum vbs_status writing = check_access(NULL, store, path), status;

    if (writing == VBS_NO_MEMORY)
        return vbs_no_memory(ctx);
    if (writing != VBS_OK)
        return vbs_fail(ctx, VBS_STORE,
                        "store '%s' is of version %d and must be brought to version %d, but cannot "
                        "be written here; copy it to where you may write",
                        store->shown, version, newest_version());
    sqlite3_close(store->db);
    store->db = NULL;
    status = open_for_writing(ctx, store, path);
    return status == VBS_OK ? vbs_sql_run(ctx, store, "PRAGMA query_only = ON", "") : status;
}

#define COPIED_PAGES 1024 /* of a store, between two looks whether the caller wants to stop */

/* Copies all pages of a database to another one. */
static enum vbs_status copy_pages(struct vbs_ctx *ctx, struct vbs_store *from, struct vbs_store *to)
{
    sqlite3_backup *backup = sqlite3_backup_init(to->db, "main", from->db, "main");
    enum vbs_status status = VBS_OK;
    int rc = SQLITE_OK;

    if (!backup)
        return vbs_sql_fail(ctx, to, sqlite3_extended_errcode(to->db));
    while (rc == SQLITE_OK && status == VBS_OK) {
        status = vbs_check_cancel(ctx);
        if (status == VBS_OK)
            rc = sqlite3_backup_step(backup, COPIED_PAGES);
    }
    sqlite3_backup_finish(backup);
    if (status != VBS_OK)
        return status;
    return rc == SQLITE_DONE ? VBS_OK : vbs_sql_fail(ctx, from, rc);
}

/*
 * Copies a store that an earlier version wrote into a temporary file, migrates the copy, and goes
 * on with it. SQLite makes the file without a name, in the folder of temporary files, so that
 * nothing is left of it however the process ends.
 */
static enum vbs_status bring_up_copy(struct vbs_ctx *ctx, struct vbs_store *store)
{
    struct vbs_store copy = {.wait_ms = store->wait_ms};
    enum vbs_status status;

    snprintf(copy.shown, sizeof copy.shown, "a copy of %.*s", (int)sizeof copy.shown - 11,
             store->shown);
    status = vbs_sql_open(ctx, &copy, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    if (status == VBS_OK)
        status = copy_pages(ctx, store, &copy);
    if (status == VBS_OK)
        status = migrate(ctx, &copy);
    if (status != VBS_OK) {
        sqlite3_close(copy.db);
        return status;
    }
    sqlite3_close(store->db);
    store->db = copy.db;
    sqlite3_busy_handler(store->db, NULL, NULL); /* the copy is this process's own */
    sqlite3_progress_handler(store->db, VBS_SQL_INSTRUCTIONS, vbs_sql_is_cancelled, store);
    return vbs_sql_run(ctx, store, "PRAGMA query_only = ON", "");
}

/* Makes closing leave a log, which a process that was killed left beside the store, as it is. */
static enum vbs_status keep_log(struct vbs_ctx *ctx, struct vbs_store *store, const char *path)
{
    int64_t log_bytes;
    int was;

    VBS_TRY(measure_log(ctx, path, &log_bytes));
    if (log_bytes > 0)
        sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, &was);
    return VBS_OK;
}

static enum vbs_status open_for_reading(struct vbs_ctx *ctx, struct vbs_store *store,
                                        const char *path, bool unchanged)
{
    enum vbs_status status;
    int version = 0;

    if (access(path, F_OK) != 0)
        return vbs_fail(ctx, VBS_STORE,
                        "cannot open store '%s': %s; 'vbslab measure' or 'vbslab profiles import' "
                        "makes one",
                        store->shown, strerror(errno));
    status = open_file_for_reading(ctx, store, path, &version);
    if (status == VBS_STORE && access(path, R_OK) == 0 && is_access_failure(store))
        status = open_immutable(ctx, store, path, &version);
    if (status == VBS_OK && unchanged)
        status = keep_log(ctx, store, path);
    if (status != VBS_OK)
        return status;
    if (version == 0)
        return vbs_fail(ctx, VBS_STORE, "store '%s' is empty", store->shown);
    if (version == newest_version())
        return VBS_OK;
    return unchanged ? bring_up_copy(ctx, store) : bring_up(ctx, store, path, version);
}

/* What a store is opened for. */
enum purpose { TO_READ, TO_READ_UNCHANGED, TO_WRITE, TO_MAKE_FOLDER };

static enum vbs_status open_path(struct vbs_ctx *ctx, struct vbs_store *store, const char *path,
                                 enum purpose purpose)
{
    switch (purpose) {
    case TO_READ:
        return open_for_reading(ctx, store, path, false);
    case TO_READ_UNCHANGED:
        return open_for_reading(ctx, store, path, true);
    case TO_MAKE_FOLDER:
        VBS_TRY(make_folders(ctx, path));
        return open_for_writing(ctx, store, path);
    default:
        return open_for_writing(ctx, store, path);
    }
}

static enum vbs_status open_file(struct vbs_ctx *ctx, const char *path, enum purpose purpose,
                                 struct vbs_store **store)
{
    struct vbs_store *opened = calloc(1, sizeof *opened);
    struct vbs_text plain = {0};
    size_t length = strlen(path);
    enum vbs_status status = VBS_OK;

    if (!opened)
        return vbs_no_memory(ctx);
    snprintf(opened->shown, sizeof opened->shown, "%s%s",
             length < sizeof opened->shown ? "" : "...",
             length < sizeof opened->shown ? path : path + length - 120);
    opened->wait_ms = VBS_STORE_WAIT_MS;
    /* SQLite gives a meaning to names such as ":memory:" and "file:...", but not to a path with a
     * slash. */
    vbs_text_addf(&plain, "%s%s", path[0] == '/' ? "" : "./", path);
    if (plain.failed)
        status = vbs_no_memory(ctx);
    else if (length == 0)
        status = vbs_fail(ctx, VBS_STORE, "the store's path is empty");
    if (status == VBS_OK)
        status = open_path(ctx, opened, plain.data, purpose);
    vbs_text_clear(&plain);
    if (status != VBS_OK) {
        /* A file that is refused stays as it is, with its log. */
        if (opened->db)
            sqlite3_db_config(opened->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        vbs_store_close(opened);
        return status;
    }
    *store = opened;
    return VBS_OK;
}

enum vbs_status vbs_store_open(struct vbs_ctx *ctx, const char *path, enum vbs_store_mode mode,
                               struct vbs_store **store)
{
    return open_file(ctx, path,
                     mode == VBS_STORE_READ          ? TO_READ
                     : mode == VBS_STORE_MAKE_FOLDER ? TO_MAKE_FOLDER
                                                     : TO_WRITE,
                     store);
}

enum vbs_status vbs_sql_open_unchanged(struct vbs_ctx *ctx, const char *path,
                                       struct vbs_store **store)
{
    return open_file(ctx, path, TO_READ_UNCHANGED, store);
}

void vbs_store_close(struct vbs_store *store)
{
    if (!store)
        return;
    sqlite3_close(store->db);
    free(store);
}
