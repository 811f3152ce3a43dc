/*
 * Beginning a measurement. A profile that an earlier process left unfinished is resumed, or a new
 * one is begun; the choice is made and written in one transaction. The kernels follow in slices:
 * where a process is killed between two slices, the next process adds the other kernels.
 */
#include "store/run.h"

#include "store/alone.h"
#include "store/kernel_samples.h"
#include "store/rows.h"

#include "base/fail.h"
#include "base/grow.h"
#include "profile/session.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is being measured ---- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;

    while (length--)
        hash = (hash ^ *at++) * UINT64_C(1099511628211); /* FNV-1a */
    return hash;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text) + 1);
}

static uint64_t hash_int(uint64_t hash, int64_t value)
{
    unsigned char bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)value >> (8 * i));
    return hash_bytes(hash, bytes, sizeof bytes);
}

/* Adds the rows of a layer. A layer without rows adds nothing, so that the hashes of sessions
 * without them are those that earlier versions wrote. */
static uint64_t hash_rows(uint64_t hash, const struct vbs_profile_layer *layer)
{
    if (layer->rows > 0)
        hash = hash_int(hash, layer->rows);
    for (int i = 0; layer->reaches && i < layer->n_inputs; i++) {
        const struct vbs_reach *reach = &layer->reaches[i];

        hash = hash_int(hash_int(hash, reach->step), reach->unit);
        hash = hash_int(hash_int(hash, reach->low), reach->high);
    }
    return hash;
}

static uint64_t hash_session(const struct vbs_session *session)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    hash = hash_rows(hash_int(hash, session->n_layers), &session->layers[0]);
    for (int i = 1; i <= session->n_layers; i++) {
        const struct vbs_profile_layer *layer = &session->layers[i];

        hash = hash_text(hash_text(hash, layer->name), layer->kind);
        hash = hash_int(hash, layer->n_inputs);
        for (int j = 0; j < layer->n_inputs; j++)
            hash = hash_int(hash, layer->inputs[j]);
        hash = hash_int(hash_int(hash, layer->in_bytes), layer->out_bytes);
        hash = hash_int(hash_int(hash, layer->weight_bytes), layer->in_place);
        hash = hash_rows(hash, layer);
    }
    hash = hash_int(hash, session->n_kernels);
    for (int i = 0; i < session->n_kernels; i++) {
        const struct vbs_kernel *kernel = &session->kernels[i];

        hash = hash_int(hash_int(hash, kernel->layer), kernel->batch);
        hash = hash_text(hash, kernel->algorithm);
        hash = hash_int(hash_int(hash, kernel->ws_bytes), kernel->weight_bytes);
        if (kernel->rows > 0)
            hash = hash_int(hash, kernel->rows);
    }
    return hash;
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* Gives the provenance of the session, with the current date. */
static struct vbs_provenance provenance_now(const struct vbs_session *session,
                                            char date[VBS_DATE_SIZE])
{
    struct vbs_provenance now = {.threads = session->provenance.threads};
#define COPY(member) now.member = or_empty(session->provenance.member);
    VBS_PROVENANCE_TEXTS(COPY)
#undef COPY
    vbs_date_now(date);
    now.date = date;
    if (now.vbslab[0] == '\0')
        now.vbslab = vbs_version();
    return now;
}

/* Checks, before hours are spent on measuring, that the session will make a valid profile, all but
 * its times. */
static enum vbs_status check_session(struct vbs_ctx *ctx, const struct vbs_session *session)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *profile = NULL;
    enum vbs_status status = VBS_OK;

    if (!builder)
        return vbs_no_memory(ctx);
    status = vbs_profile_builder_provenance(ctx, builder, &session->provenance);
    if (status == VBS_OK)
        status = vbs_session_build_layers(ctx, session, builder);
    for (int i = 0; i < session->n_kernels && status == VBS_OK; i++) {
        const struct vbs_kernel *kernel = &session->kernels[i];
        struct vbs_profile_row row = vbs_session_row(kernel);

        status = vbs_profile_builder_row(ctx, builder, kernel->layer, kernel->batch,
                                         kernel->algorithm, &row);
    }
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(ctx, builder, &profile);
    vbs_profile_builder_free(builder);
    vbs_profile_free(profile);
    return status;
}

/* ---- an earlier profile ---- */

/* Finds the oldest unfinished profile with the same key that no process measures; 0: none. */
static enum vbs_status find_unfinished(struct vbs_ctx *ctx, struct vbs_store_run *run,
                                       const struct vbs_provenance *provenance,
                                       const struct vbs_run_key *key, int64_t *id)
{
    sqlite3_stmt *stmt;
    enum vbs_status status;
    bool row = true;

#define SAME(member) #member " = ? AND "
#define TYPE(member) "t"
#define TEXT(member) provenance->member,
    VBS_TRY(vbs_sql_prepare(
        ctx, run->store,
        "SELECT id, owner, ? - touched FROM profile WHERE completed IS NULL AND kernels_hash = ? "
        "AND network_hash = ? AND " VBS_PROVENANCE_MEASURED(SAME) "threads = ? ORDER BY id",
        &stmt));
    status = vbs_sql_bind(ctx, run->store, stmt, "iii" VBS_PROVENANCE_MEASURED(TYPE) "i",
                          (int64_t)time(NULL), vbs_rows_hash(key->kernels_hash),
                          vbs_rows_hash(key->network_hash),
                          VBS_PROVENANCE_MEASURED(TEXT) VBS_BIND_i(provenance->threads));
#undef TEXT
#undef TYPE
#undef SAME
    *id = 0;
    while (status == VBS_OK && row && *id == 0) {
        const char *owner;

        status = vbs_sql_step(ctx, run->store, stmt, &row);
        if (status != VBS_OK || !row)
            break;
        owner = (const char *)sqlite3_column_text(stmt, 1);
        if (!owner && sqlite3_column_type(stmt, 1) != SQLITE_NULL)
            status = vbs_no_memory(ctx);
        else if (!owner || !vbs_owner_is_alive(owner, sqlite3_column_int64(stmt, 2)))
            *id = sqlite3_column_int64(stmt, 0);
    }
    sqlite3_finalize(stmt);
    return status;
}

/* Appends the samples of kernel i to those of the kernels before it. */
static enum vbs_status append_samples(struct vbs_ctx *ctx, struct vbs_store_run *run, int i,
                                      const struct vbs_kernel_samples *samples)
{
    size_t first = run->first[i];

    VBS_TRY(vbs_grow(ctx, &run->times_us, &run->max_times, (int64_t)first + samples->n + 1,
                     sizeof *run->times_us));
    for (int k = 0; k < samples->n; k++) {
        run->times_us[first + (size_t)k] = samples->times_us[k];
        if (samples->rounds[k] >= run->first_round && samples->rounds[k] < INT_MAX / 2)
            run->first_round = samples->rounds[k] + 1;
    }
    run->n_samples[i] = samples->n;
    run->first[i + 1] = first + (size_t)samples->n;
    run->resumed = run->resumed || samples->n > 0;
    return VBS_OK;
}

static enum vbs_status read_samples(struct vbs_ctx *ctx, struct vbs_store_run *run)
{
    struct vbs_kernel_samples samples = {0};
    enum vbs_status status = vbs_kernel_samples_open(ctx, run->store, &samples);

    for (int i = 0; i < run->session->n_kernels && status == VBS_OK; i++) {
        status = vbs_kernel_samples_read(ctx, &samples, run->kernel_ids[i]);
        if (status == VBS_OK)
            status = append_samples(ctx, run, i, &samples);
    }
    vbs_kernel_samples_clear(&samples);
    return status;
}

static enum vbs_status read_earlier(struct vbs_ctx *ctx, struct vbs_store_run *run)
{
    enum vbs_status status;

    VBS_TRY(vbs_sql_begin_read(ctx, run->store));
    status = read_samples(ctx, run);
    if (status == VBS_OK)
        status = vbs_run_read_copies(ctx, run);
    return vbs_sql_end(ctx, run->store, status);
}

/* ---- kernels ---- */

struct kernels {
    sqlite3_stmt *insert, *update;
};

/* Finds the kernels that an earlier process wrote and did not leave out. */
static enum vbs_status read_kernel_ids(struct vbs_ctx *ctx, struct vbs_store_run *run)
{
    sqlite3_stmt *stmt;
    enum vbs_status status;
    bool row = true;

    VBS_TRY(
        vbs_sql_prepare(ctx, run->store, "SELECT id, number FROM kernel WHERE profile = ?", &stmt));
    status = vbs_sql_bind(ctx, run->store, stmt, "i", run->id);
    while (status == VBS_OK && row) {
        int64_t number;

        status = vbs_sql_step(ctx, run->store, stmt, &row);
        if (status != VBS_OK || !row)
            break;
        number = sqlite3_column_int64(stmt, 1);
        if (number < 0 || number >= run->session->n_kernels || run->kernel_ids[number] != 0)
            status = vbs_sql_fail(ctx, run->store, SQLITE_CORRUPT);
        else
            run->kernel_ids[number] = sqlite3_column_int64(stmt, 0);
    }
    sqlite3_finalize(stmt);
    return status;
}

/* Writes a kernel. A kernel that an earlier version of the store wrote gets the members that it did
 * not have then and that hash_session leaves out, from the session. */
static enum vbs_status write_kernel(struct vbs_ctx *ctx, struct vbs_store_run *run,
                                    const struct kernels *kernels, int i)
{
    const struct vbs_kernel *kernel = &run->session->kernels[i];
    bool stored = run->kernel_ids[i] != 0;
    sqlite3_stmt *stmt = stored ? kernels->update : kernels->insert;
    struct vbs_profile_row row = vbs_session_row(kernel);
    enum vbs_status status;

#define VALUE(column, member, type) , VBS_BIND(type, row.member)
    if (stored)
        status = vbs_sql_bind(ctx, run->store, stmt,
                              VBS_KERNEL_TYPES "i" VBS_KERNEL_TYPES VBS_KERNEL_COLUMNS(VALUE),
                              run->kernel_ids[i] VBS_KERNEL_COLUMNS(VALUE));
    else
        status = vbs_sql_bind(ctx, run->store, stmt, "iiiit" VBS_KERNEL_TYPES, run->id, (int64_t)i,
                              (int64_t)kernel->layer, (int64_t)kernel->batch,
                              kernel->algorithm VBS_KERNEL_COLUMNS(VALUE));
#undef VALUE
    if (status == VBS_OK)
        status = vbs_sql_finish(ctx, run->store, stmt);
    if (!stored)
        run->kernel_ids[i] = sqlite3_last_insert_rowid(run->store->db);
    return status;
}

static enum vbs_status write_slice(struct vbs_ctx *ctx, struct vbs_store_run *run, void *self,
                                   int first, int end)
{
    const struct kernels *kernels = self;
    enum vbs_status status = VBS_OK;

    for (int i = first; i < end && status == VBS_OK; i++)
        status = write_kernel(ctx, run, kernels, i);
    sqlite3_reset(kernels->insert);
    sqlite3_reset(kernels->update);
    return status;
}

static enum vbs_status write_kernels(struct vbs_ctx *ctx, struct vbs_store_run *run)
{
    struct kernels kernels = {0};
    enum vbs_status status = read_kernel_ids(ctx, run);

    if (status != VBS_OK)
        goto done;
    status = vbs_sql_prepare(ctx, run->store,
                             "INSERT INTO kernel (profile, number, layer, batch, "
                             "algorithm" VBS_KERNEL_NAMES ") "
                             "VALUES (?, ?, ?, ?, ?" VBS_KERNEL_MARKS ")",
                             &kernels.insert);
    if (status != VBS_OK)
        goto done;
    status = vbs_sql_prepare(ctx, run->store,
                             "UPDATE kernel SET (mad_us" VBS_KERNEL_NAMES ") = "
                             "(mad_us" VBS_KERNEL_MARKS ") "
                             "WHERE id = ? AND (0" VBS_KERNEL_NAMES ") IS NOT "
                             "(0" VBS_KERNEL_MARKS ")",
                             &kernels.update);
    if (status != VBS_OK)
        goto done;
    status = vbs_run_slices(ctx, run, run->session->n_kernels, write_slice, &kernels);
done:
    sqlite3_finalize(kernels.insert);
    sqlite3_finalize(kernels.update);
    return status;
}

/* ---- beginning ---- */

/* Gives the stored layers the members that hash_session leaves out, such as channels. */
static enum vbs_status take_over(struct vbs_ctx *ctx, struct vbs_store_run *run)
{
    const struct vbs_session *session = run->session;

    VBS_TRY(vbs_sql_run(ctx, run->store, "UPDATE profile SET owner = ?, touched = ? WHERE id = ?",
                        "tii", run->owner, (int64_t)time(NULL), run->id));
#define VALUE(column, member, type) , VBS_BIND(type, session->layers[i].member)
    for (int i = 1; i <= session->n_layers; i++)
        VBS_TRY(vbs_sql_run(ctx, run->store,
                            "UPDATE layer SET (name" VBS_LAYER_NAMES ") = (name" VBS_LAYER_MARKS
                            ") WHERE profile = ? AND layer = ?",
                            VBS_LAYER_TYPES "ii" VBS_LAYER_COLUMNS(VALUE), run->id, (int64_t)i));
#undef VALUE
    return VBS_OK;
}

/* Finds the profile to resume, or inserts a new one; *earlier tells which. */
static enum vbs_status find_or_insert(struct vbs_ctx *ctx, struct vbs_store_run *run,
                                      uint64_t network_hash, bool *earlier)
{
    char date[VBS_DATE_SIZE];
    struct vbs_provenance provenance = provenance_now(run->session, date);
    struct vbs_run_key key = {.network_hash = network_hash,
                              .kernels_hash = hash_session(run->session),
                              .owner = run->owner};

    VBS_TRY(vbs_alone_check_owners(ctx, run->store));
    VBS_TRY(find_unfinished(ctx, run, &provenance, &key, &run->id));
    *earlier = run->id != 0;
    if (*earlier)
        return take_over(ctx, run);
    VBS_TRY(vbs_rows_insert_profile(ctx, run->store, &provenance, run->session->layers[0].rows,
                                    &key, &run->id));
    return vbs_rows_insert_layers(ctx, run->store, run->id, run->session->n_layers,
                                  run->session->layers);
}

enum vbs_status vbs_store_run_begin(struct vbs_ctx *ctx, struct vbs_store *store,
                                    uint64_t network_hash, const struct vbs_session *session,
                                    struct vbs_store_run **run)
{
    enum vbs_status status;
    struct vbs_store_run *begun;
    bool earlier = false;

    VBS_TRY(check_session(ctx, session));
    VBS_TRY(vbs_run_new(ctx, store, session, &begun));
    status = vbs_sql_begin_write(ctx, store);
    if (status == VBS_OK)
        status = vbs_sql_end(ctx, store, find_or_insert(ctx, begun, network_hash, &earlier));
    if (status != VBS_OK) {
        vbs_run_discard(begun);
        return status;
    }
    status = write_kernels(ctx, begun);
    if (status == VBS_OK && earlier)
        status = read_earlier(ctx, begun);
    if (status != VBS_OK) {
        vbs_store_run_free(begun);
        return status;
    }
    *run = begun;
    return VBS_OK;
}
