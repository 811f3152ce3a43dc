#include "store/evidence.h"

#include "store/kernel_samples.h"

#include "base/fail.h"
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

#define HASHED_AT_ONCE 64 /* samples */

struct hashing {
    struct vbs_kernel_samples samples; /* of the kernel that is being added */
    struct vbs_sha256 hash;
    int64_t n_samples;
    bool has_network;
};

static void add_int(struct hashing *h, int64_t value)
{
    unsigned char bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)value >> (8 * i));
    vbs_sha256_add(&h->hash, bytes, sizeof bytes);
}

static void add_double(struct hashing *h, double value)
{
    int64_t bits;

    memcpy(&bits, &value, sizeof bits);
    add_int(h, bits);
}

/* Adds a text behind its length. */
static void add_text(struct hashing *h, const unsigned char *text, int length)
{
    add_int(h, length);
    vbs_sha256_add(&h->hash, text ? text : (const unsigned char *)"", (size_t)length);
}

/* Adds a column: whether it is null, and its number. */
static void add_number(struct hashing *h, sqlite3_stmt *stmt, int column)
{
    bool known = sqlite3_column_type(stmt, column) != SQLITE_NULL;

    add_int(h, known);
    add_int(h, known ? sqlite3_column_int64(stmt, column) : 0);
}

static enum vbs_status add_network(struct vbs_ctx *ctx, sqlite3_stmt *stmt, void *self)
{
    struct hashing *h = self;

    (void)ctx;
    h->has_network = sqlite3_column_type(stmt, 0) != SQLITE_NULL;
    add_number(h, stmt, 0);
    add_number(h, stmt, 1);
    return VBS_OK;
}

/* Adds a kernel with its samples; a kernel without samples adds nothing, so that profiles without
 * samples are equal. */
static enum vbs_status add_kernel(struct vbs_ctx *ctx, sqlite3_stmt *stmt, void *self)
{
    struct hashing *h = self;
    struct vbs_kernel_samples *samples = &h->samples;

    VBS_TRY(vbs_kernel_samples_read(ctx, samples, sqlite3_column_int64(stmt, 0)));
    if (samples->n == 0)
        return VBS_OK;
    h->n_samples += samples->n;
    if (sqlite3_column_int64(stmt, 4) > 0) /* no layer has such a number */
        add_int(h, -sqlite3_column_int64(stmt, 4));
    add_int(h, sqlite3_column_int64(stmt, 1));
    add_int(h, sqlite3_column_int64(stmt, 2));
    add_text(h, sqlite3_column_text(stmt, 3), sqlite3_column_bytes(stmt, 3));
    add_int(h, samples->n);
    for (int first = 0; first < samples->n; first += HASHED_AT_ONCE) {
        int n = samples->n - first < HASHED_AT_ONCE ? samples->n - first : HASHED_AT_ONCE;
        unsigned char bytes[HASHED_AT_ONCE * VBS_SAMPLE_BYTES];

        vbs_samples_pack(samples, first, n, bytes);
        vbs_sha256_add(&h->hash, bytes, (size_t)n * VBS_SAMPLE_BYTES);
    }
    return VBS_OK;
}

static enum vbs_status add_copy_sample(struct vbs_ctx *ctx, sqlite3_stmt *stmt, void *self)
{
    struct hashing *h = self;

    (void)ctx;
    h->n_samples++;
    add_text(h, sqlite3_column_text(stmt, 0), sqlite3_column_bytes(stmt, 0));
    add_int(h, sqlite3_column_int64(stmt, 1));
    add_double(h, sqlite3_column_double(stmt, 2));
    return VBS_OK;
}

static enum vbs_status add_kernels(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                   struct hashing *h)
{
    enum vbs_status status = vbs_kernel_samples_open(ctx, store, &h->samples);

    if (status == VBS_OK)
        status = vbs_sql_each(ctx, store, id,
                              "SELECT id, layer, batch, algorithm, rows FROM kernel "
                              "WHERE profile = ? ORDER BY layer, batch, rows, algorithm",
                              add_kernel, h);
    vbs_kernel_samples_clear(&h->samples);
    return status;
}

enum vbs_status vbs_evidence_compute(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                     struct vbs_evidence *evidence)
{
    struct hashing h = {0};

    vbs_sha256_begin(&h.hash);
    VBS_TRY(vbs_sql_each(ctx, store, id,
                         "SELECT network_hash, kernels_hash FROM profile WHERE id = ?", add_network,
                         &h));
    VBS_TRY(add_kernels(ctx, store, id, &h));
    add_int(&h, 0); /* no layer: copies follow */
    VBS_TRY(vbs_sql_each(ctx, store, id,
                         "SELECT source, bytes, copy_sample.time_us FROM copy JOIN copy_sample "
                         "ON copy = id WHERE profile = ? "
                         "ORDER BY source, bytes, copy_sample.number",
                         add_copy_sample, &h));
    *evidence = (struct vbs_evidence){.n_samples = h.n_samples, .has_network = h.has_network};
    vbs_sha256_end_text(&h.hash, evidence->hash, sizeof evidence->hash);
    return VBS_OK;
}

enum vbs_status vbs_evidence_read(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                  struct vbs_evidence *evidence)
{
    struct vbs_evidence stored = {0};
    bool row = false, known = false;
    enum vbs_status status;
    sqlite3_stmt *stmt;

    VBS_TRY(vbs_sql_prepare(ctx, store,
                            "SELECT n_samples, network_hash IS NOT NULL, samples_hash FROM profile "
                            "WHERE id = ?",
                            &stmt));
    status = vbs_sql_bind(ctx, store, stmt, "i", id);
    if (status == VBS_OK)
        status = vbs_sql_step(ctx, store, stmt, &row);
    if (status == VBS_OK && row && sqlite3_column_type(stmt, 2) == SQLITE_TEXT) {
        const char *hash = (const char *)sqlite3_column_text(stmt, 2);

        stored.n_samples = sqlite3_column_int64(stmt, 0);
        stored.has_network = sqlite3_column_int64(stmt, 1) != 0;
        snprintf(stored.hash, sizeof stored.hash, "%s", hash ? hash : "");
        stored.is_stored = known = hash != NULL;
        status = hash ? VBS_OK : vbs_no_memory(ctx);
    }
    sqlite3_finalize(stmt);
    if (status != VBS_OK)
        return status;
    if (!known)
        return vbs_evidence_compute(ctx, store, id, evidence);
    *evidence = stored;
    return VBS_OK;
}

int vbs_evidence_compare(const struct vbs_evidence *a, const struct vbs_evidence *b)
{
    if (a->n_samples != b->n_samples)
        return a->n_samples < b->n_samples ? -1 : 1;
    if (a->has_network != b->has_network)
        return a->has_network ? 1 : -1;
    return strcmp(a->hash, b->hash);
}
