/*
 * The statements of common work on a store find their rows by keys: none reads a whole table that
 * grows with kernels or samples, and so none becomes slow in a large store.
 */
#include "base/ctx.h"
#include "store/sql.h"
#include "support/profile_help.h"
#include "support/store_help.h"
#include "support/tap.h"

#include <stdlib.h>

#define MAX_STATEMENTS 400

/* The texts of the statements that a store ran. */
struct statements {
    char *texts[MAX_STATEMENTS];
    int n;
};

static int collect(unsigned kind, void *self, void *stmt, void *unused)
{
    struct statements *all = self;
    const char *text = sqlite3_sql(stmt);

    (void)kind;
    (void)unused;
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->texts[i], text) == 0)
            return 0;
    if (all->n < MAX_STATEMENTS)
        all->texts[all->n++] = strdup(text);
    return 0;
}

/* Tables of a store, and aliases, that do not grow with kernels or samples. */
static bool is_small(const char *table)
{
    static const char *const SMALL[] = {"profile",       "p",        "tag",      "study",
                                        "sqlite_master", "CONSTANT", "(subquery"};

    for (size_t i = 0; i < sizeof SMALL / sizeof SMALL[0]; i++)
        if (strncmp(table, SMALL[i], strlen(SMALL[i])) == 0 &&
            strchr(" -", table[strlen(SMALL[i])]))
            return true;
    return false;
}

/* Gives the first step of a statement's plan that reads the whole of a table that is not small, or
 * null. The caller frees it. */
static char *scan_of(sqlite3 *db, const char *statement)
{
    char *sql = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", statement), *found = NULL;
    sqlite3_stmt *stmt = NULL;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        printf("# %s: %s\n", sql, sqlite3_errmsg(db));
    while (!found && stmt && sqlite3_step(stmt) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(stmt, 3);

        if (strncmp(step, "SCAN ", 5) == 0 && !is_small(step + 5))
            found = strdup(step);
    }
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
    return found;
}

/* Gives whether a statement is the look whether there are samples that are rows, which ends at the
 * first one. */
static bool ends_at_first(const char *statement)
{
    return strcmp(statement, "SELECT EXISTS (SELECT 1 FROM sample)") == 0;
}

static void measure(struct vbs_ctx *ctx, struct vbs_store *store, const char *model)
{
    struct plain_session *plain = plain_session_new(3, 2, 2);
    struct vbs_store_run *run = NULL;
    int64_t id;

    plain->session.provenance.model = model;
    if (vbs_store_run_begin(ctx, store, 9, &plain->session, &run) != VBS_OK ||
        feed(ctx, run, 12, 2) != VBS_OK || feed_copies(ctx, run, 2) != VBS_OK)
        printf("# begin\n");
    vbs_store_run_free(run);
    if (vbs_store_run_begin(ctx, store, 9, &plain->session, &run) != VBS_OK ||
        feed(ctx, run, 12, 1) != VBS_OK || vbs_store_run_finish(ctx, run, NULL, &id) != VBS_OK)
        printf("# finish\n");
    vbs_store_run_free(run);
    plain_session_free(plain);
}

/* Does everything that commands do with a store. */
static void use(struct vbs_ctx *ctx, struct vbs_store *store, const char *other)
{
    struct vbs_merge_report *report = NULL;
    struct vbs_store_samples *samples = NULL;
    struct vbs_store_choice choice;
    struct vbs_store_list *list = NULL;
    struct vbs_profile *profile = NULL;
    const struct vbs_sample_source *source;
    const double *times_us;
    bool another;
    int64_t id;
    int n = 0;

    measure(ctx, store, "measured");
    ok(vbs_store_profiles(ctx, store, &list) == VBS_OK &&
           vbs_store_choose(ctx, store, "measured", NULL, &choice) == VBS_OK &&
           vbs_store_choose(ctx, store, "none", NULL, &choice) == VBS_NOT_FOUND &&
           vbs_store_load(ctx, store, choice.id, &profile) == VBS_OK &&
           vbs_store_is_of_another(ctx, store, choice.id, 1, &another) == VBS_OK,
       "listed, chosen and loaded");
    ok(vbs_store_samples_open(ctx, store, choice.id, &samples) == VBS_OK, "its samples");
    source = vbs_store_samples_source(samples);
    ok(source->times(ctx, source->self, 1, 1, 0, "direct", &times_us, &n) == VBS_OK && n == 3,
       "are read");
    vbs_store_samples_free(samples);
    vbs_profile_free(profile);
    vbs_store_list_free(list);
    profile = example("saved");
    ok(vbs_store_save(ctx, store, profile, &id) == VBS_OK &&
           vbs_store_tag(ctx, store, id, "tag") == VBS_OK &&
           vbs_store_find_tag(ctx, store, "tag", &id) == VBS_OK &&
           vbs_store_merge(ctx, store, other, NULL, &report) == VBS_OK && report->n_added == 1,
       "saved, tagged and merged");
    vbs_merge_report_free(report);
    ok(vbs_store_merge(ctx, store, other, NULL, &report) == VBS_OK && report->n_added == 0,
       "merged again");
    vbs_merge_report_free(report);
    ok(vbs_store_delete(ctx, store, &id, 1) == VBS_OK &&
           vbs_store_untag(ctx, store, "tag") == VBS_NOT_FOUND,
       "deleted");
    vbs_profile_free(profile);
}

int main(void)
{
    char *folder = temporary_folder(), *path = path_in(folder, "store.sqlite");
    char *other = path_in(folder, "other.sqlite");
    struct statements statements = {0};
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, other, VBS_STORE_WRITE);

    measure(&ctx, store, "other");
    vbs_store_close(store);
    store = open_store(&ctx, path, VBS_STORE_WRITE);
    sqlite3_trace_v2(store->db, SQLITE_TRACE_STMT, collect, &statements);
    use(&ctx, store, other);
    sqlite3_trace_v2(store->db, 0, NULL, NULL);
    ok(statements.n > 30 && statements.n < MAX_STATEMENTS, "%d statements", statements.n);
    for (int i = 0; i < statements.n; i++) {
        char *scan = scan_of(store->db, statements.texts[i]);

        if (!ends_at_first(statements.texts[i]) || !scan)
            ok(!scan, "no scan: %.60s", statements.texts[i]);
        if (scan && !ends_at_first(statements.texts[i]))
            printf("# %s: %s\n", scan, statements.texts[i]);
        free(scan);
        free(statements.texts[i]);
    }
    vbs_store_close(store);
    free(path);
    free(other);
    remove_folder(folder);
    return done_testing();
}
