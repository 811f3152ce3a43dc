/*
 * Samples of a measurement, held in memory and committed together. Each commit first renews
 * `touched` of the profile as its owner, and so notices when another process has taken the profile
 * over.
 *
 * Many rows are committed in slices, so that other processes that write do not wait for long, and
 * that the measurement of a network of any size can be interrupted.
 */
#include "store/run.h"

#include "base/fail.h"

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

/* Gives the place of the count of committed samples of the kernel or copy that sample belongs
 * to. */
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

    if (sample->copied)
        VBS_TRY(vbs_sql_bind(ctx, run->store, stmt, "iid", run->copies[sample->index].id, number,
                             sample->time_us));
    else
        VBS_TRY(vbs_sql_bind(ctx, run->store, stmt, "iiid", run->kernel_ids[sample->index], number,
                             (int64_t)sample->round, sample->time_us));
    return vbs_sql_finish(ctx, run->store, stmt);
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

enum vbs_status vbs_run_commit(struct vbs_ctx *ctx, struct vbs_store_run *run)
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

enum vbs_status vbs_run_add(struct vbs_ctx *ctx, struct vbs_store_run *run,
                            struct vbs_run_pending sample)
{
    enum vbs_status status;

    if (run->over)
        return vbs_fail(ctx, VBS_STORE, "profile %lld is no longer measured here",
                        (long long)run->id);
    if (run->n_pending == VBS_RUN_PENDING && (status = vbs_run_commit(ctx, run)))
        return status;
    run->pending[run->n_pending++] = sample;
    if (!run->session->modelled)
        run->pending_us += sample.time_us;
    if (run->n_pending == VBS_RUN_PENDING || run->pending_us >= VBS_RUN_COMMIT_US)
        return vbs_run_commit(ctx, run);
    return VBS_OK;
}

/* ---- long work ---- */

/* Pauses between two transactions: a process that waits for the lock looks every few milliseconds,
 * and would hardly ever find it free without a pause. */
static void let_others_write(void)
{
    struct timespec pause = {.tv_nsec = 2000000};

    nanosleep(&pause, NULL);
}

enum vbs_status vbs_run_slices(struct vbs_ctx *ctx, struct vbs_store_run *run, int n,
                               vbs_run_work *work, void *self)
{
    enum vbs_status status = VBS_OK;

    for (int first = 0; first < n && status == VBS_OK; first += VBS_RUN_SLICE) {
        int end = n - first < VBS_RUN_SLICE ? n : first + VBS_RUN_SLICE;

        if (first > 0)
            let_others_write();
        if ((status = vbs_sql_begin_write(ctx, run->store)))
            break;
        status = vbs_run_renew(ctx, run);
        if (status == VBS_OK)
            status = work(ctx, run, self, first, end);
        status = vbs_sql_end(ctx, run->store, status);
    }
    return status;
}
