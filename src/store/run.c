/*
 * Samples on their way into the store, and the profile that they make in the end.
 *
 * Samples gather in memory and are committed together. Each commit first renews the profile's
 * `touched` as its owner, and so notices when another process took the profile over.
 */
#include "store/run.h"

#include "store/rows.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

void vbs_date_now(char date[VBS_DATE_SIZE])
{
    time_t seconds = time(NULL);
    struct tm utc;

    if (!gmtime_r(&seconds, &utc) || strftime(date, VBS_DATE_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        date[0] = '\0';
}

/* ---- committing ---- */

enum vbs_status vbs_run_renew(struct vbs_ctx *ctx, struct vbs_store_run *run)
{
    enum vbs_status status =
        vbs_sql_run(ctx, run->store,
                    "UPDATE profile SET touched = ? WHERE id = ? AND owner = ? "
                    "AND completed IS NULL",
                    "iit", (int64_t)time(NULL), run->id, run->owner);

    if (status != VBS_OK || sqlite3_changes(run->store->db) == 1)
        return status;
    run->over = true;
    return vbs_fail(ctx, VBS_STORE,
                    "profile %lld was deleted, or taken over by another process that thought this "
                    "one gone",
                    (long long)run->id);
}

/* How many samples the kernel or copy of sample has in the store. */
static int *n_committed(struct vbs_store_run *run, const struct vbs_run_pending *sample)
{
    return sample->copied ? &run->copies[sample->index].n_samples : &run->n_samples[sample->index];
}

static enum vbs_status insert_sample(struct vbs_ctx *ctx, struct vbs_store_run *run,
                                     const struct vbs_run_pending *sample, sqlite3_stmt *kernels,
                                     sqlite3_stmt *copies)
{
    sqlite3_stmt *stmt = sample->copied ? copies : kernels;
    int64_t number = *n_committed(run, sample);
    enum vbs_status status;

    if (sample->copied)
        status = vbs_sql_bind(ctx, run->store, stmt, "iid", run->copies[sample->index].id, number,
                              sample->time_us);
    else
        status = vbs_sql_bind(ctx, run->store, stmt, "iiid", run->kernel_ids[sample->index], number,
                              (int64_t)sample->round, sample->time_us);
    return status == VBS_OK ? vbs_sql_finish(ctx, run->store, stmt) : status;
}

static enum vbs_status insert_pending(struct vbs_ctx *ctx, struct vbs_store_run *run,
                                      int *n_inserted)
{
    sqlite3_stmt *kernels = NULL, *copies = NULL;
    enum vbs_status status =
        vbs_sql_prepare(ctx, run->store, "INSERT INTO sample VALUES (?, ?, ?, ?)", &kernels);

    if (status == VBS_OK)
        status =
            vbs_sql_prepare(ctx, run->store, "INSERT INTO copy_sample VALUES (?, ?, ?)", &copies);
    while (status == VBS_OK && *n_inserted < run->n_pending) {
        const struct vbs_run_pending *sample = &run->pending[*n_inserted];

        status = insert_sample(ctx, run, sample, kernels, copies);
        if (status != VBS_OK)
            break;
        ++*n_committed(run, sample);
        ++*n_inserted;
    }
    sqlite3_finalize(kernels);
    sqlite3_finalize(copies);
    return status;
}

/* On failure everything stays pending. */
static enum vbs_status commit_pending(struct vbs_ctx *ctx, struct vbs_store_run *run)
{
    enum vbs_status status;
    int n_inserted = 0;

    if (run->n_pending == 0)
        return VBS_OK;
    if ((status = vbs_sql_begin_write(ctx, run->store)))
        return status;
    status = vbs_run_renew(ctx, run);
    if (status == VBS_OK)
        status = insert_pending(ctx, run, &n_inserted);
    status = vbs_sql_end(ctx, run->store, status);
    if (status != VBS_OK) {
        while (n_inserted > 0)
            --*n_committed(run, &run->pending[--n_inserted]);
        return status;
    }
    run->n_pending = 0;
    run->pending_us = 0;
    return VBS_OK;
}

/* ---- the sink ---- */

static enum vbs_status sink_stored(struct vbs_ctx *ctx, void *self, int kernel,
                                   const double **times_us, int *n_times)
{
    struct vbs_store_run *run = self;

    (void)ctx; /* all was read at the beginning */
    *n_times = (int)(run->first[kernel + 1] - run->first[kernel]);
    *times_us = *n_times ? run->times_us + run->first[kernel] : NULL;
    return VBS_OK;
}

enum vbs_status vbs_run_add(struct vbs_ctx *ctx, struct vbs_store_run *run,
                            struct vbs_run_pending sample)
{
    enum vbs_status status;

    if (run->over)
        return vbs_fail(ctx, VBS_STORE, "profile %lld is no longer measured here",
                        (long long)run->id);
    if (run->n_pending == VBS_RUN_PENDING && (status = commit_pending(ctx, run)))
        return status;
    run->pending[run->n_pending++] = sample;
    if (!run->session->modelled)
        run->pending_us += sample.time_us;
    if (run->n_pending == VBS_RUN_PENDING || run->pending_us >= VBS_RUN_COMMIT_US)
        return commit_pending(ctx, run);
    return VBS_OK;
}

static enum vbs_status sink_add(struct vbs_ctx *ctx, void *self, int kernel, int round,
                                double time_us)
{
    struct vbs_store_run *run = self;

    if (kernel < 0 || kernel >= run->session->n_kernels || !isfinite(time_us) || time_us < 0)
        return vbs_fail(ctx, VBS_STORE, "kernel %d: a time of %g us is no sample", kernel, time_us);
    return vbs_run_add(ctx, run,
                       (struct vbs_run_pending){
                           .index = kernel, .round = run->first_round + round, .time_us = time_us});
}

bool vbs_store_run_resumed(const struct vbs_store_run *run)
{
    return run->resumed;
}

const struct vbs_sample_sink *vbs_store_run_sink(struct vbs_store_run *run)
{
    return &run->sink;
}

/* ---- finishing ---- */

static enum vbs_status read_times(struct vbs_ctx *ctx, struct vbs_store_run *run, int kernel,
                                  sqlite3_stmt *stmt, double *times_us, int *n_times)
{
    enum vbs_status status = vbs_sql_bind(ctx, run->store, stmt, "i", run->kernel_ids[kernel]);
    bool row = true;

    for (*n_times = 0; status == VBS_OK && *n_times < run->n_samples[kernel];) {
        status = vbs_sql_step(ctx, run->store, stmt, &row);
        if (!row)
            break;
        times_us[(*n_times)++] = sqlite3_column_double(stmt, 0);
    }
    return status;
}

static enum vbs_status summarise_kernel(struct vbs_ctx *ctx, struct vbs_store_run *run, int index,
                                        sqlite3_stmt *samples, sqlite3_stmt *update,
                                        double *times_us)
{
    const struct vbs_kernel *kernel = &run->session->kernels[index];
    struct vbs_profile_row row = {0};
    enum vbs_status status;
    int n_times;

    if ((status = read_times(ctx, run, index, samples, times_us, &n_times)))
        return status;
    if (n_times == 0)
        return vbs_fail(ctx, VBS_STORE,
                        "profile %lld: layer %d batch %d algorithm '%s' has no sample yet",
                        (long long)run->id, kernel->layer, kernel->batch, kernel->algorithm);
    vbs_measure_summary(times_us, n_times, &row);
    status = vbs_sql_bind(ctx, run->store, update, "ddddii", row.time_us, row.mad_us, row.low_us,
                          row.high_us, (int64_t)row.n_runs, run->kernel_ids[index]);
    return status == VBS_OK ? vbs_sql_finish(ctx, run->store, update) : status;
}

static enum vbs_status summarise(struct vbs_ctx *ctx, struct vbs_store_run *run)
{
    sqlite3_stmt *samples = NULL, *update = NULL;
    enum vbs_status status;
    double *times_us;
    int most = 1;

    for (int i = 0; i < run->session->n_kernels; i++)
        if (run->n_samples[i] > most)
            most = run->n_samples[i];
    times_us = malloc((size_t)most * sizeof *times_us);
    if (!times_us)
        return vbs_no_memory(ctx);
    status = vbs_sql_prepare(
        ctx, run->store, "SELECT time_us FROM sample WHERE kernel = ? ORDER BY number", &samples);
    if (status == VBS_OK)
        status = vbs_sql_prepare(ctx, run->store,
                                 "UPDATE kernel SET time_us = ?, mad_us = ?, low_us = ?, "
                                 "high_us = ?, n_runs = ? WHERE id = ?",
                                 &update);
    for (int i = 0; i < run->session->n_kernels && status == VBS_OK; i++)
        status = summarise_kernel(ctx, run, i, samples, update, times_us);
    sqlite3_finalize(samples);
    sqlite3_finalize(update);
    free(times_us);
    return status;
}

/* What is complete can never be changed, so it is read back as a profile before. */
static enum vbs_status complete(struct vbs_ctx *ctx, struct vbs_store_run *run, const char *notes)
{
    struct vbs_profile *profile = NULL;
    char date[VBS_DATE_SIZE];
    enum vbs_status status;

    vbs_date_now(date);
    if ((status = vbs_run_renew(ctx, run)) || (status = summarise(ctx, run)) ||
        (status = vbs_run_summarise_copies(ctx, run)) ||
        (status = vbs_sql_run(ctx, run->store,
                              "UPDATE profile SET date = ?, notes = coalesce(?, notes) "
                              "WHERE id = ?",
                              "tti", date, notes, run->id)) ||
        (status = vbs_rows_read(ctx, run->store, run->id, &profile)))
        return status;
    vbs_profile_free(profile);
    return vbs_rows_complete(ctx, run->store, run->id);
}

enum vbs_status vbs_store_run_finish(struct vbs_ctx *ctx, struct vbs_store_run *run,
                                     const char *notes, int64_t *id)
{
    enum vbs_status status;

    if (run->over)
        return vbs_fail(ctx, VBS_STORE, "profile %lld is no longer measured here",
                        (long long)run->id);
    if ((status = commit_pending(ctx, run)) || (status = vbs_sql_begin_write(ctx, run->store)))
        return status;
    status = vbs_sql_end(ctx, run->store, complete(ctx, run, notes));
    if (status != VBS_OK)
        return status;
    run->over = true;
    *id = run->id;
    return VBS_OK;
}

/* ---- memory ---- */

enum vbs_status vbs_run_new(struct vbs_ctx *ctx, struct vbs_store *store,
                            const struct vbs_session *session, struct vbs_store_run **run)
{
    struct vbs_store_run *made = calloc(1, sizeof *made);
    size_t n_kernels = (size_t)session->n_kernels;

    if (!made)
        return vbs_no_memory(ctx);
    made->store = store;
    made->session = session;
    made->sink = (struct vbs_sample_sink){.self = made,
                                          .stored = sink_stored,
                                          .add = sink_add,
                                          .stored_copies = vbs_run_stored_copies,
                                          .add_copy = vbs_run_add_copy};
    made->kernel_ids = calloc(n_kernels + 1, sizeof *made->kernel_ids);
    made->n_samples = calloc(n_kernels + 1, sizeof *made->n_samples);
    made->first = calloc(n_kernels + 1, sizeof *made->first);
    if (!made->kernel_ids || !made->n_samples || !made->first) {
        vbs_run_discard(made);
        return vbs_no_memory(ctx);
    }
    vbs_owner_self(made->owner);
    *run = made;
    return VBS_OK;
}

void vbs_run_discard(struct vbs_store_run *run)
{
    free(run->kernel_ids);
    free(run->n_samples);
    free(run->first);
    free(run->times_us);
    free(run->copies);
    vbs_arena_clear(&run->arena);
    free(run);
}

/* Gives up the ownership; without a single sample there is nothing to go on with. */
static enum vbs_status release(struct vbs_store_run *run)
{
    enum vbs_status status = vbs_sql_begin_write(NULL, run->store);

    if (status != VBS_OK)
        return status;
    status =
        vbs_sql_run(NULL, run->store, "UPDATE profile SET owner = NULL WHERE id = ? AND owner = ?",
                    "it", run->id, run->owner);
    if (status == VBS_OK && sqlite3_changes(run->store->db) == 1)
        status = vbs_sql_run(NULL, run->store,
                             "DELETE FROM profile WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM "
                             "kernel JOIN sample ON kernel = kernel.id WHERE profile = ?1) "
                             "AND NOT EXISTS (SELECT 1 FROM copy JOIN copy_sample "
                             "ON copy = copy.id WHERE profile = ?1)",
                             "i", run->id);
    return vbs_sql_end(NULL, run->store, status);
}

void vbs_store_run_free(struct vbs_store_run *run)
{
    enum vbs_status status = VBS_OK;

    if (!run)
        return;
    if (!run->over)
        status = commit_pending(NULL, run);
    /* Where this fails the owner is seen to be gone once the process has ended. */
    if (!run->over && status == VBS_OK)
        status = release(run);
    (void)status;
    vbs_run_discard(run);
}
