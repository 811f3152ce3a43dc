/*
 * A measurement under way: the calls that receive its samples, and the profile that is made of them
 * in the end.
 */
#include "store/run.h"

#include "store/evidence.h"
#include "store/kernel_samples.h"
#include "store/rows.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

/* ---- the sink ---- */

static enum vbs_status sink_stored(struct vbs_ctx *ctx, void *self, int kernel,
                                   const double **times_us, int *n_times)
{
    struct vbs_store_run *run = self;

    (void)ctx; /* all samples were read at the beginning */
    *n_times = (int)(run->first[kernel + 1] - run->first[kernel]);
    *times_us = *n_times ? run->times_us + run->first[kernel] : NULL;
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

static enum vbs_status sink_leave_out(struct vbs_ctx *ctx, void *self, int kernel)
{
    struct vbs_store_run *run = self;

    if (kernel < 0 || kernel >= run->session->n_kernels)
        return vbs_fail(ctx, VBS_STORE, "there is no kernel %d to leave out", kernel);
    run->left_out[kernel] = true;
    return VBS_OK;
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

struct summarising {
    struct vbs_kernel_samples samples;
    struct vbs_sample_packer packer;
    sqlite3_stmt *update, *remove;
};

/* Takes time and interval of a kernel from the revised profile, where there is one. */
static enum vbs_status revise(struct vbs_ctx *ctx, const struct vbs_store_run *run,
                              const struct vbs_kernel *kernel, struct vbs_profile_row *row)
{
    const struct vbs_profile_row *revised;
    int algorithm;

    if (!run->revised)
        return VBS_OK;
    algorithm = vbs_profile_algorithm(run->revised, kernel->algorithm);
    revised = kernel->layer <= run->revised->n_layers && algorithm >= 0
                  ? vbs_profile_find_row(run->revised, kernel->layer, kernel->batch, kernel->rows,
                                         algorithm)
                  : NULL;
    if (!revised)
        return vbs_fail(ctx, VBS_INVALID,
                        "the revised profile lacks layer %d batch %d algorithm '%s'", kernel->layer,
                        kernel->batch, kernel->algorithm);
    row->time_us = revised->time_us;
    row->low_us = revised->low_us;
    row->high_us = revised->high_us;
    return VBS_OK;
}

/* Removes a kernel that is left out, with its samples. A run that resumes this one writes it again.
 */
static enum vbs_status remove_kernel(struct vbs_ctx *ctx, struct vbs_store_run *run, int index,
                                     struct summarising *s)
{
    VBS_TRY(vbs_sql_bind(ctx, run->store, s->remove, "i", run->kernel_ids[index]));
    VBS_TRY(vbs_sql_finish(ctx, run->store, s->remove));
    run->kernel_ids[index] = 0;
    return VBS_OK;
}

/* Writes the statistics of a kernel, and packs its samples. */
static enum vbs_status summarise_kernel(struct vbs_ctx *ctx, struct vbs_store_run *run, int index,
                                        struct summarising *s)
{
    const struct vbs_kernel *kernel = &run->session->kernels[index];
    struct vbs_profile_row row = {0};

    if (run->left_out[index] && run->kernel_ids[index] == 0)
        return VBS_OK;
    if (run->left_out[index])
        return remove_kernel(ctx, run, index, s);
    VBS_TRY(vbs_kernel_samples_read(ctx, &s->samples, run->kernel_ids[index]));
    if (s->samples.n == 0)
        return vbs_fail(ctx, VBS_STORE,
                        "profile %lld: layer %d batch %d algorithm '%s' has no sample yet",
                        (long long)run->id, kernel->layer, kernel->batch, kernel->algorithm);
    VBS_TRY(vbs_sample_packer_write(ctx, &s->packer, run->kernel_ids[index], &s->samples));
    vbs_measure_summary(s->samples.times_us, s->samples.n, &row);
    VBS_TRY(revise(ctx, run, kernel, &row));
    VBS_TRY(vbs_sql_bind(ctx, run->store, s->update, "ddddii", row.time_us, row.mad_us, row.low_us,
                         row.high_us, (int64_t)row.n_runs, run->kernel_ids[index]));
    return vbs_sql_finish(ctx, run->store, s->update);
}

static enum vbs_status summarise_slice(struct vbs_ctx *ctx, struct vbs_store_run *run, void *self,
                                       int first, int end)
{
    struct summarising *s = self;
    enum vbs_status status = VBS_OK;

    for (int i = first; i < end && status == VBS_OK; i++)
        status = summarise_kernel(ctx, run, i, s);
    sqlite3_reset(s->update);
    sqlite3_reset(s->remove);
    return status;
}

static enum vbs_status summarise(struct vbs_ctx *ctx, struct vbs_store_run *run)
{
    struct summarising s = {0};
    enum vbs_status status = vbs_kernel_samples_open(ctx, run->store, &s.samples);

    if (status == VBS_OK)
        status = vbs_sample_packer_open(ctx, run->store, true, &s.packer);
    if (status == VBS_OK)
        status = vbs_sql_prepare(ctx, run->store,
                                 "UPDATE kernel SET time_us = ?, mad_us = ?, low_us = ?, "
                                 "high_us = ?, n_runs = ? WHERE id = ?",
                                 &s.update);
    if (status == VBS_OK)
        status = vbs_sql_prepare(ctx, run->store, "DELETE FROM kernel WHERE id = ?", &s.remove);
    if (status == VBS_OK)
        status = vbs_run_slices(ctx, run, run->session->n_kernels, summarise_slice, &s);
    sqlite3_finalize(s.update);
    sqlite3_finalize(s.remove);
    vbs_kernel_samples_clear(&s.samples);
    vbs_sample_packer_clear(&s.packer);
    return status;
}

static enum vbs_status lost(struct vbs_ctx *ctx, const struct vbs_store_run *run)
{
    return vbs_fail(ctx, VBS_STORE, "profile %lld is no longer measured here", (long long)run->id);
}

static enum vbs_status write_rest(struct vbs_ctx *ctx, struct vbs_store_run *run, const char *notes)
{
    char date[VBS_DATE_SIZE];
    enum vbs_status status;

    vbs_date_now(date);
    if ((status = vbs_run_renew(ctx, run)) || (status = vbs_run_summarise_copies(ctx, run)))
        return status;
    return vbs_sql_run(ctx, run->store,
                       "UPDATE profile SET date = ?, notes = coalesce(?, notes), times = ? "
                       "WHERE id = ?",
                       "ttti", date, notes, run->revised ? run->revised->provenance.times : "",
                       run->id);
}

static enum vbs_status draft(struct vbs_ctx *ctx, struct vbs_store_run *run,
                             struct vbs_profile **profile)
{
    VBS_TRY(vbs_sql_begin_read(ctx, run->store));
    return vbs_sql_end(ctx, run->store, vbs_rows_read(ctx, run->store, run->id, profile));
}

enum vbs_status vbs_store_run_draft(struct vbs_ctx *ctx, struct vbs_store_run *run,
                                    struct vbs_profile **profile)
{
    if (run->over)
        return lost(ctx, run);
    VBS_TRY(vbs_run_commit(ctx, run));
    VBS_TRY(summarise(ctx, run));
    VBS_TRY(vbs_sql_begin_write(ctx, run->store));
    VBS_TRY(vbs_sql_end(ctx, run->store, write_rest(ctx, run, NULL)));
    return draft(ctx, run, profile);
}

void vbs_store_run_revise(struct vbs_store_run *run, const struct vbs_profile *profile)
{
    run->revised = profile;
}

/* Reads the profile back before it is completed, because a complete profile can never be
 * changed. */
static enum vbs_status read_rows(struct vbs_ctx *ctx, struct vbs_store_run *run,
                                 char hash[VBS_PROFILE_HASH_SIZE], struct vbs_evidence *evidence)
{
    struct vbs_profile *profile = NULL;

    VBS_TRY(vbs_rows_read(ctx, run->store, run->id, &profile));
    vbs_profile_hash(profile, hash);
    vbs_profile_free(profile);
    return vbs_evidence_compute(ctx, run->store, run->id, evidence);
}

static enum vbs_status read_back(struct vbs_ctx *ctx, struct vbs_store_run *run,
                                 char hash[VBS_PROFILE_HASH_SIZE], struct vbs_evidence *evidence)
{
    VBS_TRY(vbs_sql_begin_read(ctx, run->store));
    return vbs_sql_end(ctx, run->store, read_rows(ctx, run, hash, evidence));
}

static enum vbs_status complete(struct vbs_ctx *ctx, struct vbs_store_run *run, const char *hash,
                                const struct vbs_evidence *evidence)
{
    VBS_TRY(vbs_run_renew(ctx, run));
    return vbs_rows_complete(ctx, run->store, run->id, hash, evidence, 0);
}

enum vbs_status vbs_store_run_finish(struct vbs_ctx *ctx, struct vbs_store_run *run,
                                     const char *notes, int64_t *id)
{
    char hash[VBS_PROFILE_HASH_SIZE];
    struct vbs_evidence evidence;
    enum vbs_status status;

    if (run->over)
        return lost(ctx, run);
    if ((status = vbs_run_commit(ctx, run)) || (status = summarise(ctx, run)) ||
        (status = vbs_sql_begin_write(ctx, run->store)) ||
        (status = vbs_sql_end(ctx, run->store, write_rest(ctx, run, notes))) ||
        (status = read_back(ctx, run, hash, &evidence)) ||
        (status = vbs_sql_begin_write(ctx, run->store)) ||
        (status = vbs_sql_end(ctx, run->store, complete(ctx, run, hash, &evidence))))
        return status;
    run->over = true;
    *id = run->id;
    return VBS_OK;
}

static enum vbs_status write_to_run(struct vbs_ctx *ctx, struct vbs_store_run *run,
                                    const struct vbs_calibration *calibration)
{
    VBS_TRY(vbs_run_renew(ctx, run));
    return vbs_rows_write_calibration(ctx, run->store, run->id, run->session->n_layers,
                                      calibration);
}

enum vbs_status vbs_store_run_calibrate(struct vbs_ctx *ctx, struct vbs_store_run *run,
                                        const struct vbs_calibration *calibration)
{
    VBS_TRY(vbs_run_commit(ctx, run));
    VBS_TRY(vbs_sql_begin_write(ctx, run->store));
    return vbs_sql_end(ctx, run->store, write_to_run(ctx, run, calibration));
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
                                          .add_copy = vbs_run_add_copy,
                                          .leave_out = sink_leave_out};
    made->left_out = calloc(n_kernels + 1, sizeof *made->left_out);
    made->kernel_ids = calloc(n_kernels + 1, sizeof *made->kernel_ids);
    made->n_samples = calloc(n_kernels + 1, sizeof *made->n_samples);
    made->first = calloc(n_kernels + 1, sizeof *made->first);
    if (!made->left_out || !made->kernel_ids || !made->n_samples || !made->first) {
        vbs_run_discard(made);
        return vbs_no_memory(ctx);
    }
    vbs_owner_self(made->owner);
    *run = made;
    return VBS_OK;
}

void vbs_run_discard(struct vbs_store_run *run)
{
    free(run->left_out);
    free(run->kernel_ids);
    free(run->n_samples);
    free(run->first);
    free(run->times_us);
    free(run->copies);
    vbs_arena_clear(&run->arena);
    free(run);
}

/* Kernels: to delete more would take longer than people wait for an interrupted program to end. */
#define MOST_DELETED 20000

/* Gives up the ownership. A profile without a single sample is deleted, because there is nothing to
 * resume. */
static enum vbs_status release(struct vbs_store_run *run)
{
    enum vbs_status status;

    VBS_TRY(vbs_sql_begin_write(NULL, run->store));
    status =
        vbs_sql_run(NULL, run->store, "UPDATE profile SET owner = NULL WHERE id = ? AND owner = ?",
                    "it", run->id, run->owner);
    if (status == VBS_OK && sqlite3_changes(run->store->db) == 1 &&
        run->session->n_kernels <= MOST_DELETED)
        status = vbs_sql_run(NULL, run->store,
                             "DELETE FROM profile WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM "
                             "kernel JOIN sample ON kernel = kernel.id WHERE profile = ?1) "
                             "AND NOT EXISTS (SELECT 1 FROM kernel JOIN packed_sample "
                             "ON kernel = kernel.id WHERE profile = ?1) "
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
        status = vbs_run_commit(NULL, run);
    /* Where this fails, other processes see that the owner is gone once this process has ended. */
    if (!run->over && status == VBS_OK)
        status = release(run);
    (void)status;
    vbs_run_discard(run);
}
