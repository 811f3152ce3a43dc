/*
 * Kernel times of merged stores. Times are the same where their key is: geometry, batches, backend,
 * library, device, build and threads. Of two measurements of one key the one with more runs is
 * kept, of equally many the one with the greater hash: a maximum, so that the order of merges does
 * not matter.
 */
#include "store/merge/merge.h"

#include "base/ctx.h"
#include "base/fail.h"

#include <stdio.h>
#include <string.h>

#define KEY                                                                                        \
    "geometry = ?2 AND batches = ?3 AND backend = ?4 AND library = ?5 AND device = ?6 AND "        \
    "vbslab = ?7 AND threads = ?8"
#define KEY_COLUMNS   "geometry, batches, backend, library, device, vbslab, threads"
#define N_KEY         7
#define ROW_COLUMNS   "number, batch, algorithm" VBS_KERNEL_NAMES VBS_TIME_NAMES
#define COPY_COLUMNS  "number, source, bytes, time_us, mad_us, low_us, high_us, n_runs"
#define SELECT_ROWS   "SELECT " ROW_COLUMNS " FROM timing_row WHERE timing = ? ORDER BY number"
#define SELECT_COPIES "SELECT " COPY_COLUMNS " FROM timing_copy WHERE timing = ? ORDER BY number"

/* What decides which of two measurements of one key is kept. */
struct timing_weight {
    int64_t n_runs;
    struct vbs_merge_content content;
};

/* Times that are being merged. */
struct timing_merging {
    sqlite3_stmt *row; /* of the source: id, key, date */
    int64_t id, own;   /* in the source, and in the other store; 0: it has none */
};

static enum vbs_status weigh(struct vbs_merging *m, struct vbs_store *store, int64_t id,
                             struct timing_weight *weight)
{
    struct vbs_sha256 hash;

    VBS_TRY(vbs_sql_value(m->ctx, store, &weight->n_runs,
                          "SELECT (SELECT total(n_runs) FROM timing_row WHERE timing = ?1) + "
                          "(SELECT total(n_runs) FROM timing_copy WHERE timing = ?1)",
                          "i", id));
    vbs_sha256_begin(&hash);
    VBS_TRY(vbs_merge_hash(m, store, SELECT_ROWS, id, &hash));
    VBS_TRY(vbs_merge_hash(m, store, SELECT_COPIES, id, &hash));
    vbs_sha256_end(&hash, weight->content.digest);
    return VBS_OK;
}

static int compare(const struct timing_weight *a, const struct timing_weight *b)
{
    if (a->n_runs != b->n_runs)
        return a->n_runs < b->n_runs ? -1 : 1;
    return memcmp(a->content.digest, b->content.digest, sizeof a->content.digest);
}

/* Copies times in the place of those that the store has, if any. */
static enum vbs_status copy(struct vbs_merging *m, void *self)
{
    const struct timing_merging *t = self;
    int64_t copy;

    VBS_TRY(vbs_sql_run(m->ctx, m->into, "DELETE FROM timing WHERE id = ?", "i", t->own));
    VBS_TRY(vbs_merge_run(m,
                          "INSERT INTO timing (id, " KEY_COLUMNS ", date) "
                          "VALUES (nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?)",
                          t->own, t->row, 1, N_KEY + 1, NULL));
    copy = sqlite3_last_insert_rowid(m->into->db);
    VBS_TRY(vbs_merge_copy_rows(m, SELECT_ROWS, t->id,
                                "INSERT INTO timing_row (timing, " ROW_COLUMNS ") "
                                "VALUES (?, ?, ?, ?" VBS_KERNEL_MARKS VBS_TIME_MARKS ")",
                                copy, NULL));
    return vbs_merge_copy_rows(m, SELECT_COPIES, t->id,
                               "INSERT INTO timing_copy (timing, " COPY_COLUMNS ") "
                               "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                               copy, NULL);
}

/* The names of times in a note. */
struct timing_names {
    char geometry[17];
    char text[200];
};

static enum vbs_status name(struct vbs_merging *m, sqlite3_stmt *row, struct timing_names *names)
{
    const char *batches = (const char *)sqlite3_column_text(row, 2);
    const char *backend = (const char *)sqlite3_column_text(row, 3);
    const char *device = (const char *)sqlite3_column_text(row, 5);

    if (!batches || !backend || !device)
        return vbs_no_memory(m->ctx);
    snprintf(names->geometry, sizeof names->geometry, "%016llx",
             (unsigned long long)sqlite3_column_int64(row, 1));
    snprintf(names->text, sizeof names->text,
             "kernel times of geometry %s, batches %.40s, %.20s on '%.60s'", names->geometry,
             batches, backend, device);
    return VBS_OK;
}

/* Copies times; those that no sound store has are left out. */
static enum vbs_status take(struct vbs_merging *m, struct timing_merging *t, int64_t *counter)
{
    struct timing_names names;
    bool damaged;

    VBS_TRY(vbs_merge_try(m, copy, t, &damaged));
    *counter += !damaged;
    if (!damaged)
        return VBS_OK;
    VBS_TRY(name(m, t->row, &names));
    m->body->report.n_damaged++;
    return vbs_merge_note(m, VBS_MERGE_DAMAGED, names.geometry, "", "",
                          "%s in '%s' were left out: %s", names.text, m->from->shown,
                          m->ctx ? m->ctx->detail : "they are damaged");
}

/* Merges times of a key that both stores have. */
static enum vbs_status unite(struct vbs_merging *m, struct timing_merging *t)
{
    struct timing_weight ours, theirs;
    struct timing_names names;
    int order;

    VBS_TRY(weigh(m, m->from, t->id, &theirs));
    VBS_TRY(weigh(m, m->into, t->own, &ours));
    order = compare(&theirs, &ours);
    if (order == 0) /* only their dates may differ */
        return vbs_merge_run(m, "UPDATE timing SET date = ?2 WHERE id = ?1 AND date > ?2", t->own,
                             t->row, 1 + N_KEY, 1, NULL);
    VBS_TRY(name(m, t->row, &names));
    VBS_TRY(vbs_merge_note(m, VBS_MERGE_TIMES, names.geometry, "", "",
                           "%s are others in '%s' than here, of %lld runs against %lld; those of "
                           "%s are kept",
                           names.text, m->from->shown, (long long)theirs.n_runs,
                           (long long)ours.n_runs, order > 0 ? "the other store" : "this store"));
    return order > 0 ? take(m, t, &m->body->report.n_timings_improved) : VBS_OK;
}

static enum vbs_status merge_timing(struct vbs_ctx *ctx, sqlite3_stmt *row, void *self)
{
    struct vbs_merging *m = self;
    struct timing_merging t = {.row = row, .id = sqlite3_column_int64(row, 0)};

    (void)ctx;
    m->body->report.n_timings++;
    VBS_TRY(
        vbs_merge_run(m, "SELECT id FROM timing WHERE ?1 = 0 AND " KEY, 0, row, 1, N_KEY, &t.own));
    return t.own ? unite(m, &t) : take(m, &t, &m->body->report.n_timings_added);
}

enum vbs_status vbs_merge_timings(struct vbs_merging *m)
{
    return vbs_sql_walk(m->ctx, m->from, merge_timing, m,
                        "SELECT id, " KEY_COLUMNS ", date FROM timing ORDER BY " KEY_COLUMNS, "");
}
