/*
 * The samples of a complete profile, one row of the profile after the other. A reader needs few
 * rows, so they are looked up by the index of kernels instead of being read as a whole.
 */
#include "store/kernel_samples.h"

#include "base/fail.h"
#include "base/grow.h"
#include "profile/builder.h"

#include <stdlib.h>
#include <string.h>

struct vbs_store_samples {
    struct vbs_store *store; /* borrowed */
    int64_t id;
    sqlite3_stmt *stmt; /* finds a kernel */
    struct vbs_sample_source source;
    struct vbs_kernel_samples read;
};

static enum vbs_status read_times(struct vbs_ctx *ctx, void *self, int layer, int batch, int rows,
                                  const char *algorithm, const double **times_us, int *n_times)
{
    struct vbs_store_samples *samples = self;
    enum vbs_status status = vbs_sql_bind(ctx, samples->store, samples->stmt, "iiiit", samples->id,
                                          (int64_t)layer, (int64_t)batch, (int64_t)rows, algorithm);
    bool row = false;

    if (status == VBS_OK)
        status = vbs_sql_step(ctx, samples->store, samples->stmt, &row);
    samples->read.n = 0;
    if (status == VBS_OK && row)
        status =
            vbs_kernel_samples_read(ctx, &samples->read, sqlite3_column_int64(samples->stmt, 0));
    /* Ends the read transaction, in which the kernel and its samples are of one state. */
    sqlite3_reset(samples->stmt);
    if (status != VBS_OK)
        return status;
    *times_us = samples->read.times_us;
    *n_times = samples->read.n;
    return VBS_OK;
}

enum vbs_status vbs_store_samples_open(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                       struct vbs_store_samples **samples)
{
    struct vbs_store_samples *made = calloc(1, sizeof *made);
    enum vbs_status status;

    if (!made)
        return vbs_no_memory(ctx);
    made->store = store;
    made->id = id;
    made->source = (struct vbs_sample_source){.self = made, .times = read_times};
    status = vbs_sql_prepare(ctx, store,
                             "SELECT id FROM kernel WHERE profile = ? AND layer = ? AND batch = ? "
                             "AND rows = ? AND algorithm = ?",
                             &made->stmt);
    if (status == VBS_OK)
        status = vbs_kernel_samples_open(ctx, store, &made->read);
    if (status != VBS_OK) {
        vbs_store_samples_free(made);
        return status;
    }
    *samples = made;
    return VBS_OK;
}

const struct vbs_sample_source *vbs_store_samples_source(const struct vbs_store_samples *samples)
{
    return &samples->source;
}

void vbs_store_samples_free(struct vbs_store_samples *samples)
{
    if (!samples)
        return;
    sqlite3_finalize(samples->stmt);
    vbs_kernel_samples_clear(&samples->read);
    free(samples);
}

/* ---- medians ---- */

/* The rows of a profile with their medians. */
struct medians {
    struct vbs_ctx *ctx;
    const struct vbs_profile *profile;
    const struct vbs_sample_source *source;
    struct vbs_profile_row *rows;
    int64_t n, capacity;
    double *times_us; /* scratch */
    int64_t most_times;
};

static enum vbs_status add_median(void *self, int layer, int batch,
                                  const struct vbs_profile_row *row)
{
    struct medians *m = self;
    struct vbs_profile_row made = *row;
    const double *times_us = NULL;
    int n = 0;

    VBS_TRY(m->source->times(m->ctx, m->source->self, layer, batch, row->rows,
                             m->profile->algorithms[row->algorithm], &times_us, &n));
    if (n > 0) {
        VBS_TRY(vbs_grow(m->ctx, &m->times_us, &m->most_times, n, sizeof *m->times_us));
        memcpy(m->times_us, times_us, (size_t)n * sizeof *times_us);
        vbs_measure_summary(m->times_us, n, &made);
    }
    VBS_TRY(vbs_grow(m->ctx, &m->rows, &m->capacity, m->n + 1, sizeof *m->rows));
    m->rows[m->n++] = made;
    return VBS_OK;
}

enum vbs_status vbs_store_load_medians(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                       struct vbs_profile **profile)
{
    struct vbs_store_samples *samples = NULL;
    struct vbs_profile *loaded = NULL;
    struct medians m = {.ctx = ctx};
    struct vbs_provenance provenance = {0};
    enum vbs_status status = vbs_store_load(ctx, store, id, &loaded);

    if (status == VBS_OK)
        status = vbs_store_samples_open(ctx, store, id, &samples);
    if (status == VBS_OK) {
        m.profile = loaded;
        m.source = vbs_store_samples_source(samples);
        provenance = loaded->provenance;
        provenance.times = "";
    }
    for (int layer = 1; status == VBS_OK && layer <= loaded->n_layers; layer++)
        status = vbs_profile_each_row(loaded, layer, add_median, &m);
    if (status == VBS_OK)
        status = vbs_profile_change(ctx, loaded, m.rows, &provenance, profile);
    vbs_store_samples_free(samples);
    vbs_profile_free(loaded);
    free(m.rows);
    free(m.times_us);
    return status;
}
