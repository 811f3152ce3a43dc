/*
 * The samples of a complete profile, one row of the profile after the other. A reader needs few
 * rows, so they are looked up by the index of kernels instead of being read as a whole.
 */
#include "store/kernel_samples.h"

#include "base/fail.h"

#include <stdlib.h>

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
