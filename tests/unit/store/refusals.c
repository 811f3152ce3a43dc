/*
 * Stores that cannot be opened, read or written are refused in one line, and stay unchanged.
 */
#include "support/profile_help.h"
#include "cases/random_profile.h"
#include "store/sql.h"
#include "support/store_help.h"
#include "support/tap.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void is_refused(const char *path, enum vbs_store_mode mode, const char *words,
                       const char *name)
{
    struct vbs_ctx ctx;
    enum vbs_status status = try_open(&ctx, path, mode);

    ok(status == VBS_STORE && strstr(ctx.detail, words), "%s is refused", name);
    if (status != VBS_STORE || !strstr(ctx.detail, words))
        printf("#  got %d %s\n# want %s\n", (int)status, ctx.detail, words);
}

static bool same_file(const char *path, const char *before, size_t length)
{
    size_t now;
    char *text = read_text(path, &now);
    bool same = text && now == length && memcmp(text, before, length) == 0;

    free(text);
    return same;
}

/* ---- files that are no store, or not any more ---- */

static void odd_paths_are_only_paths(const char *folder)
{
    static const char *const NAMES[] = {":memory:", "file:x?mode=memory", "a%20b#c?d.sqlite",
                                        "$(touch hostile-file)", "\xc3\xa9 'quoted'\n"};
    char *before = getcwd(NULL, 0);
    struct vbs_ctx ctx;

    if (!before || chdir(folder) != 0)
        return;
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        ok(save_example(NAMES[i], "x") == 1 && access(NAMES[i], F_OK) == 0 &&
               try_open(&ctx, NAMES[i], VBS_STORE_READ) == VBS_OK,
           "store number %zu with an odd name", i + 1);
    is_refused("", VBS_STORE_WRITE, "the store's path is empty", "an empty path");
    if (chdir(before) != 0)
        perror("chdir");
    free(before);
}

static void foreign_and_broken_files_are_refused_and_left_alone(const char *folder)
{
    static const char JUNK[] = "This is a text that is no database, and long enough for a header. "
                               "This is a text that is no database, and long enough for a header.";
    char *path = path_in(folder, "other.sqlite"), *text, sql[60], part[60];
    size_t length = 0;

    write_text(path, JUNK, sizeof JUNK - 1);
    is_refused(path, VBS_STORE_WRITE, "it is no SQLite database", "a text file");
    is_refused(path, VBS_STORE_READ, "it is no SQLite database", "a text file to read");
    ok(same_file(path, JUNK, sizeof JUNK - 1), "and is not changed");

    unlink(path);
    run_sql(path, "CREATE TABLE bookmark (url TEXT); INSERT INTO bookmark VALUES ('x')");
    text = read_text(path, &length);
    is_refused(path, VBS_STORE_WRITE,
               "is the database of another program (application id 0x00000000, version 0)",
               "another program's database");
    is_refused(path, VBS_STORE_READ, "is the database of another program", "... to read");
    ok(same_file(path, text, length), "and is not changed");
    free(text);

    unlink(path);
    run_sql(path, "PRAGMA application_id = 252006674; PRAGMA user_version = 7");
    is_refused(path, VBS_STORE_WRITE, "(application id 0x0f055112, version 7)",
               "a database without tables but with another application id");

    unlink(path);
    save_example(path, "x");
    snprintf(sql, sizeof sql, "PRAGMA user_version = %d", newest_version() + 1);
    run_sql(path, sql);
    snprintf(part, sizeof part, "knows only versions up to %d;", newest_version());
    is_refused(path, VBS_STORE_WRITE, part, "a store of a newer version");
    snprintf(part, sizeof part, "is of version %d,", newest_version() + 1);
    is_refused(path, VBS_STORE_READ, part, "... to read");
    snprintf(sql, sizeof sql, "PRAGMA user_version = %d", newest_version());
    run_sql(path, sql);
    is_int(query(path, "SELECT count(*) FROM profile"), 1, "and is not changed");

    is_refused(folder, VBS_STORE_WRITE, "cannot open store", "a folder");
    is_refused("/dev/null/x.sqlite", VBS_STORE_WRITE, "Not a directory", "a path through a file");
    free(path);
    path = path_in(folder, "missing.sqlite");
    is_refused(path, VBS_STORE_READ, "No such file or directory; 'vbslab measure'",
               "a store to read that is not there");
    ok(access(path, F_OK) != 0, "and is not made");
    write_text(path, "", 0);
    is_refused(path, VBS_STORE_READ, "is empty", "an empty file to read");
    is_int(save_example(path, "x"), 1, "but it becomes a store");
    free(path);
}

/* Leaves a database with a log that is not merged, as a killed program does. */
static void make_foreign_log(const char *path)
{
    sqlite3 *db;

    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(db,
                     "PRAGMA journal_mode = WAL; CREATE TABLE bookmark (url TEXT); "
                     "INSERT INTO bookmark VALUES ('x')",
                     NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) != SQLITE_OK)
        printf("# %s\n", sqlite3_errmsg(db));
    sqlite3_close(db);
}

static void a_foreign_log_stays_unmerged(const char *folder)
{
    char *path = path_in(folder, "logged.sqlite"), *log = path_in(folder, "logged.sqlite-wal");
    char *text, *log_text;
    size_t length = 0, log_length = 0;

    make_foreign_log(path);
    text = read_text(path, &length);
    log_text = read_text(log, &log_length);
    is_refused(path, VBS_STORE_WRITE, "is the database of another program", "one with a log");
    is_refused(path, VBS_STORE_READ, "is the database of another program", "... to read");
    ok(log_length > 0 && same_file(path, text, length) && same_file(log, log_text, log_length),
       "and neither file is changed");
    free(text);
    free(log_text);
    free(path);
    free(log);
}

static void readers_leave_no_files_and_write_no_rows(const char *folder)
{
    char *path = path_in(folder, "tidy.sqlite"), *log = path_in(folder, "tidy.sqlite-wal");
    struct vbs_profile *profile = example("x");
    struct vbs_ctx ctx = {0};
    struct vbs_store *store;
    struct vbs_store_choice choice;
    int64_t id;

    save_example(path, "x");
    store = open_store(&ctx, path, VBS_STORE_READ);
    ok(vbs_store_choose(&ctx, store, "x", NULL, &choice) == VBS_OK && choice.id == 1,
       "a store opened to be read");
    ok(vbs_store_save(&ctx, store, profile, &id) == VBS_STORE, "is not written");
    printf("# %s\n", ctx.detail);
    vbs_store_close(store);
    ok(access(log, F_OK) != 0, "and is left as one file");
    vbs_profile_free(profile);
    free(path);
    free(log);
}

/* Cuts or overwrites the file anywhere: every command either fails with VBS_STORE or works. */
static void damaged_stores_are_refused_and_left_alone(const char *folder, gsl_rng *rng)
{
    char *path = path_in(folder, "damaged.sqlite"), *good, *bad;
    int n_refused = 0, n_wrong = 0;
    struct vbs_profile *profile;
    struct vbs_ctx ctx = {0};
    size_t length = 0;

    for (int i = 0; i < 20; i++)
        save_example(path, "x");
    good = read_text(path, &length);
    bad = malloc(length);
    write_text(path, good, length / 2);
    is_refused(path, VBS_STORE_WRITE, "is damaged", "a store cut in half");
    ok(same_file(path, good, length / 2), "and is not changed");
    write_text(path, good, 100);
    is_refused(path, VBS_STORE_READ, "store", "a store of 100 bytes");
    for (int i = 0; i < 300; i++) {
        struct vbs_store *store = NULL;
        struct vbs_store_list *list = NULL;
        enum vbs_status status;

        memcpy(bad, good, length);
        for (int n = random_int(rng, 1, 40); n > 0; n--)
            bad[random_int(rng, i % 2 ? 100 : 0, (int)length - 1)] = (char)random_int(rng, 0, 255);
        write_text(path, bad, length);
        status = vbs_store_open(&ctx, path, VBS_STORE_READ, &store);
        if (status == VBS_OK && (status = vbs_store_profiles(&ctx, store, &list)) == VBS_OK)
            for (int id = 1; id <= 20 && status == VBS_OK; id++)
                if ((status = vbs_store_load(&ctx, store, id, &profile)) == VBS_OK)
                    vbs_profile_free(profile);
        vbs_store_list_free(list);
        vbs_store_close(store);
        n_refused += status != VBS_OK;
        n_wrong += status != VBS_OK && status != VBS_STORE && status != VBS_NOT_FOUND;
        n_wrong += !same_file(path, bad, length);
    }
    ok(n_refused > 30, "%d of 300 damaged stores are refused", n_refused);
    is_int(n_wrong, 0, "each as a store, and none is changed");
    free(good);
    free(bad);
    free(path);
}

static void rows_that_make_no_profile_are_refused(const char *folder)
{
    char *path = path_in(folder, "rows.sqlite");
    struct vbs_ctx ctx = {0};
    struct vbs_profile *profile;
    struct vbs_store *store;

    save_example(path, "x");
    run_sql(path, "DROP TRIGGER kernel_delete_is_final; DELETE FROM kernel WHERE layer = 2");
    store = open_store(&ctx, path, VBS_STORE_READ);
    ok(vbs_store_load(&ctx, store, 1, &profile) == VBS_STORE &&
           strstr(ctx.detail, "profile 1: layer 2 ('L2') has no row for batch 1"),
       "a profile that lacks a row names layer and batch");
    vbs_store_close(store);
    run_sql(path, "DROP TRIGGER layer_delete_is_final; DROP TRIGGER layer_input_delete_is_final; "
                  "DELETE FROM layer WHERE layer = 1");
    store = open_store(&ctx, path, VBS_STORE_READ);
    ok(vbs_store_load(&ctx, store, 1, &profile) == VBS_STORE &&
           strstr(ctx.detail, "profile 1: layer 1 is missing"),
       "one that lacks a layer says so");
    vbs_store_close(store);
    free(path);
}

/* ---- what cannot be written ---- */

/* Runs check in a child as an ordinary user; gives its exit code, or -1. */
static int as_nobody(int (*check)(const char *path), const char *path)
{
    int status;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0)
        _exit(geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0) ? 99 : check(path));
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int reads_but_does_not_write(const char *path)
{
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = NULL;
    struct vbs_profile *profile = NULL;

    if (try_open(&ctx, path, VBS_STORE_WRITE) != VBS_STORE || !strstr(ctx.detail, path))
        return 1;
    printf("# %s\n", ctx.detail);
    fflush(stdout);
    if (vbs_store_open(&ctx, path, VBS_STORE_READ, &store) != VBS_OK ||
        vbs_store_load(&ctx, store, 1, &profile) != VBS_OK) {
        printf("# %s\n", ctx.detail);
        fflush(stdout);
        return 2;
    }
    vbs_profile_free(profile);
    vbs_store_close(store);
    return 0;
}

static int reads_neither(const char *path)
{
    struct vbs_ctx ctx = {0};
    bool refused = try_open(&ctx, path, VBS_STORE_READ) == VBS_STORE &&
                   try_open(&ctx, path, VBS_STORE_WRITE) == VBS_STORE;

    printf("# %s\n", ctx.detail);
    fflush(stdout);
    return refused ? 0 : 1;
}

/* Without the log the store would be seen as it was before the log. */
static int tells_of_the_log(const char *path)
{
    struct vbs_ctx ctx = {0};

    return try_open(&ctx, path, VBS_STORE_READ) == VBS_STORE &&
                   strstr(ctx.detail, "has a log beside it (-wal) that must be merged first")
               ? 0
               : 1;
}

/* Removes the files that SQLite left beside a store. */
static void remove_logs(const char *folder)
{
    char *log = path_in(folder, "store #1?.sqlite-wal"),
         *index = path_in(folder, "store #1?.sqlite-shm");

    unlink(log);
    unlink(index);
    free(log);
    free(index);
}

static void read_only_places_are_read_from(const char *folder)
{
    char *sub = path_in(folder, "read-only"), *path, *log;

    if (mkdir(sub, 0755) != 0)
        return;
    path = path_in(sub, "store #1?.sqlite");
    log = path_in(sub, "store #1?.sqlite-wal");
    save_example(path, "x");
    chmod(folder, 0755);
    chmod(path, 0444);
    chmod(sub, 0555);
    is_int(as_nobody(reads_but_does_not_write, path), 0,
           "a store in a folder that cannot be written is read and not written");
    chmod(sub, 0777);
    is_int(as_nobody(reads_but_does_not_write, path), 0, "... also when only the file cannot");
    remove_logs(sub);
    chmod(path, 0666);
    chmod(sub, 0555);
    is_int(as_nobody(reads_but_does_not_write, path), 0, "... or only the folder cannot");
    chmod(sub, 0755);
    write_text(log, "some log", 8);
    chmod(sub, 0555);
    is_int(as_nobody(tells_of_the_log, path), 0, "but not beside a log that is not merged");
    chmod(sub, 0755);
    remove_logs(sub);
    chmod(path, 0000);
    is_int(as_nobody(reads_neither, path), 0, "a store that may not be read is refused");
    chmod(path, 0644);
    free(log);
    free(path);
    free(sub);
}

/* Mounts a small file system that only this process sees. */
static bool mount_memory(const char *folder, const char *size)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", folder, "tmpfs", 0, size) == 0;
}

static void read_only_media_are_read_from(const char *folder)
{
    char *sub = path_in(folder, "medium"), *path = path_in(sub, "store.sqlite");
    int result;

    if (mkdir(sub, 0755) != 0)
        return;
    if (!mount_memory(sub, "size=4m")) {
        skip("a store on a read-only medium", strerror(errno));
    } else {
        save_example(path, "x");
        result = mount("none", sub, "tmpfs", MS_REMOUNT | MS_RDONLY, NULL);
        if (result == 0)
            is_int(reads_but_does_not_write(path), 0, "a store on a read-only medium is read");
        else
            skip("a store on a read-only medium", strerror(errno));
        umount(sub);
    }
    free(path);
    free(sub);
}

/* Saves until the store cannot grow; all profiles saved before must be in it. */
static bool fill(const char *path, int *n_saved, struct vbs_ctx *ctx)
{
    struct vbs_store *store = NULL;
    enum vbs_status status = vbs_store_open(ctx, path, VBS_STORE_WRITE, &store);
    struct vbs_store_list *list = NULL;
    bool intact;
    int64_t id;

    for (*n_saved = 0; status == VBS_OK && *n_saved < 100000;) {
        struct vbs_profile *profile = numbered_example("x", *n_saved);

        if ((status = vbs_store_save(ctx, store, profile, &id)) == VBS_OK)
            ++*n_saved;
        vbs_profile_free(profile);
    }
    intact = store && status == VBS_STORE &&
             vbs_store_profiles(&(struct vbs_ctx){0}, store, &list) == VBS_OK &&
             list->n_entries == *n_saved;
    vbs_store_list_free(list);
    vbs_store_close(store);
    return intact;
}

static void a_full_disk_loses_nothing(const char *folder)
{
    char *sub = path_in(folder, "full"), *path = path_in(sub, "store.sqlite");
    struct vbs_ctx ctx = {0};
    int n_saved = 0;

    if (mkdir(sub, 0755) != 0)
        return;
    if (!mount_memory(sub, "size=1m")) {
        skip("a full disk", strerror(errno));
    } else {
        ok(fill(path, &n_saved, &ctx) && n_saved > 0, "%d profiles until the disk is full",
           n_saved);
        ok(strstr(ctx.detail, "no space left") != NULL, "%s", ctx.detail);
        umount(sub);
    }
    free(path);
    free(sub);
}

/* Does the same by a limit on the size of files, which needs no rights: exit code 0 when all checks
 * pass. */
static int meets_the_file_size_limit(const char *path)
{
    struct rlimit limit = {.rlim_cur = 400000, .rlim_max = 400000};
    struct vbs_ctx ctx = {0};
    bool intact;
    int n_saved = 0;

    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 3;
    intact = fill(path, &n_saved, &ctx);
    printf("# %d profiles, then: %s\n", n_saved, ctx.detail);
    fflush(stdout);
    return !intact ? 1 : strstr(ctx.detail, "File too large") ? 0 : 2;
}

static void a_limit_on_file_sizes_loses_nothing(const char *folder)
{
    char *path = path_in(folder, "limited.sqlite");
    int64_t n_saved;
    int status;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0)
        _exit(meets_the_file_size_limit(path));
    ok(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
       "a store at the limit of file sizes says so and keeps what it has");
    n_saved = query(path, "SELECT max(id) FROM profile");
    is_int(save_example(path, "x"), n_saved + 1, "without the limit it takes the next");
    free(path);
}

/* ---- waiting ---- */

static void a_lock_is_waited_for_but_not_forever(const char *folder)
{
    char *path = path_in(folder, "locked.sqlite");
    volatile sig_atomic_t cancel = 1;
    struct vbs_ctx ctx = {0};
    struct vbs_profile *profile = example("x");
    struct vbs_store *store;
    struct vbs_store_choice choice;
    sqlite3 *other;
    int64_t id = 0;

    save_example(path, "x");
    store = open_store(&ctx, path, VBS_STORE_WRITE);
    if (sqlite3_open(path, &other) != SQLITE_OK ||
        sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return;
    store->wait_ms = 100;
    ok(vbs_store_save(&ctx, store, profile, &id) == VBS_STORE &&
           strstr(ctx.detail, "another process has kept store"),
       "patience ends");
    store->wait_ms = VBS_STORE_WAIT_MS;
    ctx.cancel = &cancel;
    ok(vbs_store_save(&ctx, store, profile, &id) == VBS_INTERRUPTED, "a cancelled call ends");
    ctx.cancel = NULL;
    ok(vbs_store_choose(&ctx, store, "x", NULL, &choice) == VBS_OK, "reading does not wait");
    sqlite3_close(other);
    ok(vbs_store_save(&ctx, store, profile, &id) == VBS_OK, "then it goes on");
    vbs_store_close(store);
    vbs_profile_free(profile);
    free(path);
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    unsigned long seed = getenv("SEED") ? strtoul(getenv("SEED"), NULL, 10) : 20170328;
    char *folder = temporary_folder();

    printf("# SEED=%lu\n", seed);
    gsl_rng_set(rng, seed);
    odd_paths_are_only_paths(folder);
    foreign_and_broken_files_are_refused_and_left_alone(folder);
    a_foreign_log_stays_unmerged(folder);
    readers_leave_no_files_and_write_no_rows(folder);
    damaged_stores_are_refused_and_left_alone(folder, rng);
    rows_that_make_no_profile_are_refused(folder);
    read_only_places_are_read_from(folder);
    read_only_media_are_read_from(folder);
    a_full_disk_loses_nothing(folder);
    a_limit_on_file_sizes_loses_nothing(folder);
    a_lock_is_waited_for_but_not_forever(folder);
    remove_folder(folder);
    gsl_rng_free(rng);
    return done_testing();
}
