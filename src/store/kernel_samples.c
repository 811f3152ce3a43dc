#include "store/kernel_samples.h"

#include "base/fail.h"
#include "base/grow.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- packed samples ---- */

static uint64_t get_number(const unsigned char *bytes, int n)
{
    uint64_t number = 0;

    for (int i = 0; i < n; i++)
        number |= (uint64_t)bytes[i] << (8 * i);
    return number;
}

static void put_number(unsigned char *bytes, int n, uint64_t number)
{
    for (int i = 0; i < n; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
}

void vbs_samples_pack(const struct vbs_kernel_samples *samples, int first, int n,
                      unsigned char *bytes)
{
    for (int i = 0; i < n; i++, bytes += VBS_SAMPLE_BYTES) {
        uint64_t bits;

        memcpy(&bits, &samples->times_us[first + i], sizeof bits);
        put_number(bytes, 4, (uint64_t)samples->rounds[first + i]);
        put_number(bytes + 4, 8, bits);
    }
}

/* Appends a sample; space for it was made before. */
static void append(struct vbs_kernel_samples *samples, int round, double time_us)
{
    samples->rounds[samples->n] = round;
    samples->times_us[samples->n++] = time_us;
}

static enum vbs_status reserve(struct vbs_ctx *ctx, struct vbs_kernel_samples *samples, int64_t n)
{
    VBS_TRY(n <= INT_MAX ? VBS_OK : vbs_no_memory(ctx));
    VBS_TRY(vbs_grow(ctx, &samples->times_us, &samples->max_times, n, sizeof(double)));
    return vbs_grow(ctx, &samples->rounds, &samples->max_rounds, n, sizeof(int));
}

static enum vbs_status fail_damaged(struct vbs_ctx *ctx, struct vbs_store *store, int64_t kernel)
{
    store->rc = SQLITE_OK;
    return vbs_fail(ctx, VBS_STORE, "store '%s': the samples of kernel %lld are no samples",
                    store->shown, (long long)kernel);
}

static enum vbs_status unpack(struct vbs_ctx *ctx, struct vbs_kernel_samples *samples,
                              int64_t kernel, const unsigned char *bytes, int64_t n_bytes)
{
    if (n_bytes % VBS_SAMPLE_BYTES != 0)
        return fail_damaged(ctx, samples->store, kernel);
    VBS_TRY(reserve(ctx, samples, n_bytes / VBS_SAMPLE_BYTES));
    for (int64_t at = 0; at < n_bytes; at += VBS_SAMPLE_BYTES) {
        uint64_t round = get_number(bytes + at, 4), bits = get_number(bytes + at + 4, 8);
        double time_us;

        memcpy(&time_us, &bits, sizeof time_us);
        if (round > INT_MAX || !isfinite(time_us) || time_us < 0)
            return fail_damaged(ctx, samples->store, kernel);
        append(samples, (int)round, time_us);
    }
    return VBS_OK;
}

/* ---- reading ---- */

enum vbs_status vbs_kernel_samples_open(struct vbs_ctx *ctx, struct vbs_store *store,
                                        struct vbs_kernel_samples *samples)
{
    int64_t has_rows;

    samples->store = store;
    VBS_TRY(vbs_sql_value(ctx, store, &has_rows, "SELECT EXISTS (SELECT 1 FROM sample)", ""));
    VBS_TRY(vbs_sql_prepare(ctx, store, "SELECT samples FROM packed_sample WHERE kernel = ?",
                            &samples->packed));
    if (!has_rows)
        return VBS_OK;
    return vbs_sql_prepare(ctx, store,
                           "SELECT round, time_us FROM sample WHERE kernel = ? ORDER BY number",
                           &samples->rows);
}

static enum vbs_status read_packed(struct vbs_ctx *ctx, struct vbs_kernel_samples *samples,
                                   int64_t kernel)
{
    sqlite3_stmt *stmt = samples->packed;
    bool row;
    const void *bytes;

    VBS_TRY(vbs_sql_bind(ctx, samples->store, stmt, "i", kernel));
    VBS_TRY(vbs_sql_step(ctx, samples->store, stmt, &row));
    if (!row)
        return VBS_OK;
    bytes = sqlite3_column_blob(stmt, 0);
    if (!bytes)
        return sqlite3_errcode(samples->store->db) == SQLITE_NOMEM
                   ? vbs_no_memory(ctx)
                   : fail_damaged(ctx, samples->store, kernel);
    return unpack(ctx, samples, kernel, bytes, sqlite3_column_bytes(stmt, 0));
}

static enum vbs_status read_rows(struct vbs_ctx *ctx, struct vbs_kernel_samples *samples,
                                 int64_t kernel)
{
    bool row = true;

    VBS_TRY(vbs_sql_bind(ctx, samples->store, samples->rows, "i", kernel));
    for (;;) {
        int round;
        double time_us;

        VBS_TRY(vbs_sql_step(ctx, samples->store, samples->rows, &row));
        if (!row)
            return VBS_OK;
        round = vbs_sql_int(samples->rows, 0);
        time_us = sqlite3_column_double(samples->rows, 1);
        if (round < 0 || !isfinite(time_us) || time_us < 0)
            return fail_damaged(ctx, samples->store, kernel);
        VBS_TRY(reserve(ctx, samples, (int64_t)samples->n + 1));
        append(samples, round, time_us);
    }
}

enum vbs_status vbs_kernel_samples_read(struct vbs_ctx *ctx, struct vbs_kernel_samples *samples,
                                        int64_t kernel)
{
    enum vbs_status status;

    samples->n = 0;
    status = read_packed(ctx, samples, kernel);
    sqlite3_reset(samples->packed);
    if (status == VBS_OK && samples->rows)
        status = read_rows(ctx, samples, kernel);
    sqlite3_reset(samples->rows);
    return status;
}

void vbs_kernel_samples_clear(struct vbs_kernel_samples *samples)
{
    sqlite3_finalize(samples->packed);
    sqlite3_finalize(samples->rows);
    free(samples->times_us);
    free(samples->rounds);
    *samples = (struct vbs_kernel_samples){0};
}

/* ---- writing ---- */

enum vbs_status vbs_sample_packer_open(struct vbs_ctx *ctx, struct vbs_store *store, bool has_rows,
                                       struct vbs_sample_packer *packer)
{
    packer->store = store;
    VBS_TRY(vbs_sql_prepare(ctx, store, "INSERT OR REPLACE INTO packed_sample VALUES (?, ?)",
                            &packer->insert));
    if (!has_rows)
        return VBS_OK;
    return vbs_sql_prepare(ctx, store, "DELETE FROM sample WHERE kernel = ?", &packer->remove);
}

enum vbs_status vbs_sample_packer_write(struct vbs_ctx *ctx, struct vbs_sample_packer *packer,
                                        int64_t kernel, const struct vbs_kernel_samples *samples)
{
    int64_t n_bytes = (int64_t)samples->n * VBS_SAMPLE_BYTES;
    enum vbs_status status;

    if (samples->n == 0)
        return VBS_OK;
    VBS_TRY(vbs_grow(ctx, &packer->bytes, &packer->max_bytes, n_bytes, 1));
    vbs_samples_pack(samples, 0, samples->n, packer->bytes);
    status = vbs_sql_bind(ctx, packer->store, packer->insert, "ib", kernel, packer->bytes, n_bytes);
    if (status == VBS_OK)
        status = vbs_sql_finish(ctx, packer->store, packer->insert);
    sqlite3_reset(packer->insert);
    if (!packer->remove)
        return status;
    if (status == VBS_OK)
        status = vbs_sql_bind(ctx, packer->store, packer->remove, "i", kernel);
    if (status == VBS_OK)
        status = vbs_sql_finish(ctx, packer->store, packer->remove);
    sqlite3_reset(packer->remove);
    return status;
}

void vbs_sample_packer_clear(struct vbs_sample_packer *packer)
{
    sqlite3_finalize(packer->insert);
    sqlite3_finalize(packer->remove);
    free(packer->bytes);
    *packer = (struct vbs_sample_packer){0};
}
