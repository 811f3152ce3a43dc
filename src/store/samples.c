/*
 * The samples of a complete profile, one row of the profile after the other. A reader needs few
 * rows, so they are looked up by the index of kernels instead of being read as a whole.
 */
#include "store/sql.h"

#include "base/fail.h"
#include "base/grow.h"

#include <limits.h>
#include <stdlib.h>

struct vbs_store_samples {
    struct vbs_store *store; /* borrowed */
    int64_t id;
    sqlite3_stmt *stmt;
    struct vbs_sample_source source;
    double *times_us;
    int64_t capacity;
};

/* Appends time_us to the n samples that were read before. */
static enum vbs_status append_time(struct vbs_ctx *ctx, struct vbs_store_samples *samples, int n,
                                   double time_us)
{
    VBS_TRY(n < INT_MAX ? vbs_grow(ctx, &samples->times_us, &samples->capacity, (int64_t)n + 1,
                                   sizeof time_us)
                        : vbs_no_memory(ctx));
    samples->times_us[n] = time_us;
    return VBS_OK;
}

static enum vbs_status read_times(struct vbs_ctx *ctx, void *self, int layer, int batch,
                                  const char *algorithm, const double **times_us, int *n_times)
{
    struct vbs_store_samples *samples = self;
    sqlite3_stmt *stmt = samples->stmt;
    enum vbs_status status = vbs_sql_bind(ctx, samples->store, stmt, "iiit", samples->id,
                                          (int64_t)layer, (int64_t)batch, algorithm);
    bool row = true;
    int n = 0;

    while (status == VBS_OK && row) {
        status = vbs_sql_step(ctx, samples->store, stmt, &row);
        if (status == VBS_OK && row)
            status = append_time(ctx, samples, n++, sqlite3_column_double(stmt, 0));
    }
    sqlite3_reset(stmt); /* ends the read transaction */
    if (status != VBS_OK)
        return status;
    *times_us = samples->times_us;
    *n_times = n;
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
                             "SELECT sample.time_us FROM kernel JOIN sample ON kernel = id "
                             "WHERE profile = ? AND layer = ? AND batch = ? AND algorithm = ? "
                             "ORDER BY sample.number",
                             &made->stmt);
    if (status != VBS_OK) {
        free(made);
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
    free(samples->times_us);
    free(samples);
}
