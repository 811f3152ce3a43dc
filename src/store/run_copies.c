/*
 * Copies of a measurement under way. Their samples are stored as those of kernels are (run.c), but
 * which copies there are is known only once they are measured.
 */
#include "store/run.h"

#include "store/rows.h"

#include "base/fail.h"
#include "base/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what there is ---- */

/* Gives the index of a copy, or -1 where there is none. */
static int find(const struct vbs_store_run *run, const char *source, int64_t bytes)
{
    for (int i = 0; i < run->n_copies; i++)
        if (run->copies[i].bytes == bytes && strcmp(run->copies[i].source, source) == 0)
            return i;
    return -1;
}

/* Appends a copy, with a copy of the text source. */
static enum vbs_status append(struct vbs_ctx *ctx, struct vbs_store_run *run,
                              const struct vbs_run_copy *copy)
{
    struct vbs_run_copy own = *copy;

    if (vbs_grow(ctx, &run->copies, &run->max_copies, run->n_copies + 1, sizeof own) != VBS_OK)
        return VBS_NO_MEMORY;
    own.source = vbs_arena_strdup(&run->arena, copy->source);
    if (!own.source)
        return vbs_no_memory(ctx);
    run->copies[run->n_copies++] = own;
    return VBS_OK;
}

/* ---- the sink ---- */

enum vbs_status vbs_run_stored_copies(struct vbs_ctx *ctx, void *self, const char *source,
                                      int64_t bytes, const double **times_us, int *n_times)
{
    const struct vbs_store_run *run = self;
    int index = find(run, source, bytes);

    (void)ctx; /* all was read at the beginning */
    *n_times = index < 0 ? 0 : run->copies[index].n_stored;
    *times_us = *n_times ? run->copies[index].times_us : NULL;
    return VBS_OK;
}

static enum vbs_status insert(struct vbs_ctx *ctx, struct vbs_store_run *run,
                              struct vbs_run_copy *copy)
{
    enum vbs_status status = vbs_run_renew(ctx, run);

    if (status == VBS_OK)
        status = vbs_sql_run(ctx, run->store,
                             "INSERT INTO copy (profile, number, source, bytes) "
                             "VALUES (?, ?, ?, ?)",
                             "iiti", run->id, (int64_t)run->n_copies, copy->source, copy->bytes);
    copy->id = sqlite3_last_insert_rowid(run->store->db);
    return status == VBS_OK ? append(ctx, run, copy) : status;
}

/* Inserts the row of a copy, in a transaction of its own, so that the samples that are held back
 * have a row to refer to. */
static enum vbs_status make(struct vbs_ctx *ctx, struct vbs_store_run *run, const char *source,
                            int64_t bytes)
{
    struct vbs_run_copy copy = {.source = source, .bytes = bytes};
    enum vbs_status status = vbs_sql_begin_write(ctx, run->store);
    int n_before = run->n_copies;

    if (status != VBS_OK)
        return status;
    status = vbs_sql_end(ctx, run->store, insert(ctx, run, &copy));
    if (status != VBS_OK)
        run->n_copies = n_before;
    return status;
}

enum vbs_status vbs_run_add_copy(struct vbs_ctx *ctx, void *self, const char *source, int64_t bytes,
                                 double time_us)
{
    struct vbs_store_run *run = self;
    int index = find(run, source, bytes);
    enum vbs_status status;

    if (run->over)
        return vbs_fail(ctx, VBS_STORE, "profile %lld is no longer measured here",
                        (long long)run->id);
    if (source[0] == '\0' || bytes < 1 || !isfinite(time_us) || time_us <= 0)
        return vbs_fail(ctx, VBS_STORE,
                        "copy of %lld bytes from '%s': a time of %g us is no sample",
                        (long long)bytes, source, time_us);
    if (index < 0) {
        index = run->n_copies;
        if ((status = make(ctx, run, source, bytes)))
            return status;
    }
    return vbs_run_add(
        ctx, run, (struct vbs_run_pending){.copied = true, .index = index, .time_us = time_us});
}

/* ---- resuming ---- */

static enum vbs_status read_times(struct vbs_ctx *ctx, struct vbs_store_run *run, int64_t copy,
                                  sqlite3_stmt *stmt, double *times_us, int n)
{
    bool row;

    VBS_TRY(vbs_sql_bind(ctx, run->store, stmt, "i", copy));
    for (int i = 0; i < n; i++) {
        VBS_TRY(vbs_sql_step(ctx, run->store, stmt, &row));
        if (!row)
            return vbs_sql_fail(ctx, run->store, SQLITE_CORRUPT);
        times_us[i] = sqlite3_column_double(stmt, 0);
    }
    return VBS_OK;
}

#define SELECT_TIMES "SELECT time_us FROM copy_sample WHERE copy = ? ORDER BY number"

static enum vbs_status read_copy(struct vbs_ctx *ctx, struct vbs_store_run *run, sqlite3_stmt *stmt,
                                 sqlite3_stmt *samples)
{
    struct vbs_run_copy copy = {.id = sqlite3_column_int64(stmt, 0),
                                .source = (const char *)sqlite3_column_text(stmt, 1),
                                .bytes = sqlite3_column_int64(stmt, 2),
                                .n_samples = vbs_sql_int(stmt, 3)};
    double *times_us = vbs_arena_alloc(&run->arena, (size_t)copy.n_samples, sizeof *times_us);

    if (!copy.source || !times_us)
        return vbs_no_memory(ctx);
    copy.times_us = times_us;
    copy.n_stored = copy.n_samples;
    run->resumed = run->resumed || copy.n_samples > 0;
    VBS_TRY(read_times(ctx, run, copy.id, samples, times_us, copy.n_samples));
    return append(ctx, run, &copy);
}

enum vbs_status vbs_run_read_copies(struct vbs_ctx *ctx, struct vbs_store_run *run)
{
    sqlite3_stmt *stmt, *samples = NULL;
    bool row = true;
    enum vbs_status status;

    VBS_TRY(vbs_sql_prepare(ctx, run->store,
                            "SELECT id, source, bytes, "
                            "(SELECT count(*) FROM copy_sample WHERE copy = c.id) "
                            "FROM copy AS c WHERE profile = ? ORDER BY number",
                            &stmt));
    status = vbs_sql_prepare(ctx, run->store, SELECT_TIMES, &samples);
    if (status == VBS_OK)
        status = vbs_sql_bind(ctx, run->store, stmt, "i", run->id);
    while (status == VBS_OK && row) {
        status = vbs_sql_step(ctx, run->store, stmt, &row);
        if (status == VBS_OK && row)
            status = read_copy(ctx, run, stmt, samples);
    }
    sqlite3_finalize(samples);
    sqlite3_finalize(stmt);
    return status;
}

/* ---- finishing ---- */

static enum vbs_status summarise(struct vbs_ctx *ctx, struct vbs_store_run *run,
                                 const struct vbs_run_copy *copy, sqlite3_stmt *samples,
                                 sqlite3_stmt *update)
{
    size_t n = (size_t)copy->n_samples;
    double *times_us = malloc((n + 1) * sizeof *times_us);
    struct vbs_profile_row row;
    enum vbs_status status;

    if (!times_us)
        return vbs_no_memory(ctx);
    status = read_times(ctx, run, copy->id, samples, times_us, copy->n_samples);
    if (status == VBS_OK) {
        vbs_measure_summary(times_us, copy->n_samples, &row);
        status = vbs_sql_bind(ctx, run->store, update, "ddddii", row.time_us, row.mad_us,
                              row.low_us, row.high_us, (int64_t)row.n_runs, copy->id);
    }
    free(times_us);
    return status == VBS_OK ? vbs_sql_finish(ctx, run->store, update) : status;
}

enum vbs_status vbs_run_summarise_copies(struct vbs_ctx *ctx, struct vbs_store_run *run)
{
    sqlite3_stmt *samples = NULL, *update = NULL;
    enum vbs_status status = vbs_sql_run(ctx, run->store,
                                         "DELETE FROM copy WHERE profile = ? AND NOT EXISTS "
                                         "(SELECT 1 FROM copy_sample WHERE copy = copy.id)",
                                         "i", run->id);

    if (status == VBS_OK)
        status = vbs_sql_prepare(ctx, run->store, SELECT_TIMES, &samples);
    if (status == VBS_OK)
        status = vbs_sql_prepare(ctx, run->store,
                                 "UPDATE copy SET time_us = ?, mad_us = ?, low_us = ?, "
                                 "high_us = ?, n_runs = ? WHERE id = ?",
                                 &update);
    for (int i = 0; i < run->n_copies && status == VBS_OK; i++)
        if (run->copies[i].n_samples > 0)
            status = summarise(ctx, run, &run->copies[i], samples, update);
    sqlite3_finalize(samples);
    sqlite3_finalize(update);
    return status;
}
