#include "support/store_help.h"

#include "base/ctx.h"
#include "store/schema.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct vbs_store *open_store(struct vbs_ctx *ctx, const char *path, enum vbs_store_mode mode)
{
    struct vbs_store *store = NULL;

    if (vbs_store_open(ctx, path, mode, &store) != VBS_OK)
        printf("# %s\n", ctx->detail);
    return store;
}

int newest_version(void)
{
    int n = 0;

    while (vbs_schema[n].name)
        n++;
    return n;
}

static const char *run(const char *path, bool triggers, const char *sql)
{
    static char message[200];
    char *error = NULL;
    sqlite3 *db;

    message[0] = '\0';
    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, (int)triggers, NULL) != SQLITE_OK ||
        sqlite3_exec(db, triggers ? "PRAGMA foreign_keys = ON" : "", NULL, NULL, NULL) !=
            SQLITE_OK ||
        sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
        snprintf(message, sizeof message, "%s", error ? error : sqlite3_errmsg(db));
    sqlite3_free(error);
    sqlite3_close(db);
    return message[0] ? message : NULL;
}

const char *run_sql(const char *path, const char *sql)
{
    return run(path, true, sql);
}

const char *run_sql_untriggered(const char *path, const char *sql)
{
    return run(path, false, sql);
}

/* Runs the scripts that make an empty store of a version. */
static const char *make_tables(const char *path, int version)
{
    for (int number = 1; number <= version; number++) {
        char name[32] = "schema";

        if (number > 1)
            snprintf(name, sizeof name, "migration-%d", number);
        for (const struct vbs_embedded *script = vbs_schema; script->name; script++)
            if (strcmp(script->name, name) == 0) {
                const char *error = run_sql(path, script->text);

                if (error)
                    return error;
            }
    }
    return NULL;
}

static int add_table(void *self, int n, char **values, char **names)
{
    char *sql = self;
    size_t length = strlen(sql);

    (void)n;
    (void)names;
    snprintf(sql + length, 20000 - length, "INSERT INTO %s (%s) SELECT %s FROM later.%s;",
             values[0], values[1], values[1], values[0]);
    return 0;
}

const char *make_earlier(const char *path, int version)
{
    static char sql[20000];
    char earlier[4096];
    const char *error;
    sqlite3 *db;

    snprintf(earlier, sizeof earlier, "%s.earlier", path);
    unlink(earlier);
    if ((error = make_tables(earlier, version)))
        return error;
    snprintf(sql, sizeof sql, "ATTACH '%s' AS later;", path);
    if (sqlite3_open(earlier, &db) != SQLITE_OK ||
        sqlite3_exec(
            db,
            "SELECT name, (SELECT group_concat(c.name) FROM pragma_table_info(t.name) AS c) "
            "FROM sqlite_schema AS t WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
            add_table, sql, NULL) != SQLITE_OK)
        return "no tables";
    sqlite3_close(db);
    if ((error = run_sql_untriggered(earlier, sql)))
        return error;
    return rename(earlier, path) == 0 ? NULL : "cannot rename";
}

static int take_number(void *self, int n, char **values, char **names)
{
    (void)names;
    if (n == 1 && values[0])
        *(int64_t *)self = strtoll(values[0], NULL, 10);
    return 0;
}

int64_t query(const char *path, const char *sql)
{
    int64_t number = -1;
    sqlite3 *db;

    if (sqlite3_open(path, &db) == SQLITE_OK)
        sqlite3_exec(db, sql, take_number, &number, NULL);
    sqlite3_close(db);
    return number;
}

struct vbs_profile *numbered_example(const char *model, int number)
{
    static const char ROWS[] =
        "# copy: page-cache,65536,10\n# copy: disk,65536,100,1,90,110,7\n"
        "# copy: disk,262144,400,1,390,410,7\n"
        "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
        "in_place,channels,packed_bytes,form\n1,L1,conv,0,1,default,4,1,1,1,9,0,3,10,0\n"
        "1,L1,conv,0,1,other,4,1,1,1,9,0,3,12,1\n2,L2,conv,1;0,1,default,4,2,1,4,0,1,0,0,0\n";
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};
    char text[1000];

    snprintf(text, sizeof text, "# model: %s\n# notes: %d\n%s", model, number, ROWS);
    if (vbs_profile_parse_csv(&ctx, "example", text, strlen(text), &profile) != VBS_OK)
        printf("# %s\n", ctx.detail);
    return profile;
}

struct vbs_profile *example(const char *model)
{
    return numbered_example(model, 0);
}

int64_t save_example(const char *path, const char *model)
{
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    int number = (int)query(path, "SELECT 1000 + coalesce(max(id), 0) FROM profile");
    struct vbs_profile *profile = numbered_example(model, number);
    int64_t id = 0;

    if (!store || vbs_store_save(&ctx, store, profile, &id) != VBS_OK)
        printf("# %s\n", ctx.detail);
    vbs_store_close(store);
    vbs_profile_free(profile);
    return id;
}

enum vbs_status try_open(struct vbs_ctx *ctx, const char *path, enum vbs_store_mode mode)
{
    struct vbs_store *store = NULL;
    enum vbs_status status;

    *ctx = (struct vbs_ctx){0};
    status = vbs_store_open(ctx, path, mode, &store);
    vbs_store_close(store);
    return status;
}

enum vbs_status feed(struct vbs_ctx *ctx, struct vbs_store_run *run, int n_kernels, int n)
{
    const struct vbs_sample_sink *sink = vbs_store_run_sink(run);
    enum vbs_status status = VBS_OK;

    for (int k = 0; k < n; k++)
        for (int i = 0; i < n_kernels && status == VBS_OK; i++)
            status = sink->add(ctx, sink->self, i, k, 100 + i + k / 16.0);
    return status;
}

enum vbs_status feed_copies(struct vbs_ctx *ctx, struct vbs_store_run *run, int n)
{
    const struct vbs_sample_sink *sink = vbs_store_run_sink(run);
    enum vbs_status status = VBS_OK;

    for (int k = 0; k < n; k++) {
        if (status == VBS_OK)
            status = sink->add_copy(ctx, sink->self, "page-cache", 65536, 10 + k / 16.0);
        if (status == VBS_OK)
            status = sink->add_copy(ctx, sink->self, "page-cache", 262144, 40 + k / 16.0);
        if (status == VBS_OK)
            status = sink->add_copy(ctx, sink->self, "disk", 65536, 100 + k / 16.0);
    }
    return status;
}
