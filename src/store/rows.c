#include "store/rows.h"

#include "base/fail.h"
#include "vbslab/model.h"

#include <stdio.h>
#include <string.h>

int64_t vbs_rows_hash(uint64_t hash)
{
    int64_t value;

    memcpy(&value, &hash, sizeof value);
    return value;
}

enum vbs_status vbs_rows_insert_profile(struct vbs_ctx *ctx, struct vbs_store *store,
                                        const struct vbs_provenance *provenance, int input_rows,
                                        const struct vbs_run_key *key, int64_t *id)
{
#define TYPE(member) "t"
#define TEXT(member) provenance->member,
    VBS_TRY(vbs_sql_run(ctx, store,
                        "INSERT INTO profile (id, " VBS_ROWS_PROVENANCE ", input_rows) "
                        "VALUES (nullif(?, 0), " VBS_PROVENANCE_TEXTS(VBS_ROWS_MARK) "?, ?)",
                        "i" VBS_PROVENANCE_TEXTS(TYPE) "ii", *id,
                        VBS_PROVENANCE_TEXTS(TEXT) VBS_BIND_i(provenance->threads),
                        (int64_t)input_rows));
#undef TEXT
#undef TYPE
    *id = sqlite3_last_insert_rowid(store->db);
    if (!key)
        return VBS_OK;
    return vbs_sql_run(ctx, store,
                       "UPDATE profile SET network_hash = ?, kernels_hash = ?, owner = ?, "
                       "touched = ? WHERE id = ?",
                       "iitii", vbs_rows_hash(key->network_hash), vbs_rows_hash(key->kernels_hash),
                       key->owner, (int64_t)time(NULL), *id);
}

static enum vbs_status insert_layer(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                    int number, const struct vbs_profile_layer *layer,
                                    sqlite3_stmt *layers, sqlite3_stmt *inputs)
{
#define VALUE(column, member, type) , VBS_BIND(type, layer->member)
    VBS_TRY(vbs_sql_bind(ctx, store, layers, "iitt" VBS_LAYER_TYPES, id, (int64_t)number,
                         layer->name, layer->kind VBS_LAYER_COLUMNS(VALUE)));
#undef VALUE
    VBS_TRY(vbs_sql_finish(ctx, store, layers));
    for (int i = 0; i < layer->n_inputs; i++) {
        const struct vbs_reach reach = layer->reaches ? layer->reaches[i] : (struct vbs_reach){0};

        VBS_TRY(vbs_sql_bind(ctx, store, inputs, "iiiiiiiii", id, (int64_t)number, (int64_t)i,
                             (int64_t)layer->inputs[i], (int64_t)(layer->reaches != NULL),
                             (int64_t)reach.step, (int64_t)reach.unit, reach.low, reach.high));
        VBS_TRY(vbs_sql_finish(ctx, store, inputs));
    }
    return VBS_OK;
}

enum vbs_status vbs_rows_insert_layers(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                       int n_layers, const struct vbs_profile_layer *layers)
{
    sqlite3_stmt *layer = NULL, *input = NULL;
    enum vbs_status status;

    status = vbs_sql_prepare(ctx, store,
                             "INSERT INTO layer (profile, layer, name, kind" VBS_LAYER_NAMES ") "
                             "VALUES (?, ?, ?, ?" VBS_LAYER_MARKS ")",
                             &layer);
    if (status == VBS_OK)
        status =
            vbs_sql_prepare(ctx, store,
                            "INSERT INTO layer_input (profile, layer, position, source, "
                            "step, unit, low, high) VALUES (?1, ?2, ?3, ?4, iif(?5, ?6, NULL), "
                            "iif(?5, ?7, NULL), iif(?5, ?8, NULL), iif(?5, ?9, NULL))",
                            &input);
    for (int i = 1; i <= n_layers && status == VBS_OK; i++)
        status = insert_layer(ctx, store, id, i, &layers[i], layer, input);
    sqlite3_finalize(layer);
    sqlite3_finalize(input);
    return status;
}

enum vbs_status vbs_rows_find_hash(struct vbs_ctx *ctx, struct vbs_store *store, const char *hash,
                                   int64_t *id)
{
    return vbs_sql_value(ctx, store, id,
                         "SELECT coalesce((SELECT id FROM profile WHERE hash = ?), 0)", "t", hash);
}

enum vbs_status vbs_rows_complete(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                  const char *hash, const struct vbs_evidence *evidence,
                                  int64_t completed)
{
    return vbs_sql_run(ctx, store,
                       "UPDATE profile SET owner = NULL, touched = NULL, "
                       "hash = iif(EXISTS (SELECT 1 FROM profile WHERE hash = ?1), NULL, ?1), "
                       "n_samples = ?2, samples_hash = ?3, completed = coalesce(nullif(?4, 0), "
                       "(SELECT coalesce(max(completed), 0) + 1 FROM profile)) WHERE id = ?5",
                       "titii", hash, evidence->n_samples, evidence->hash, completed, id);
}

/* ---- reading ---- */

enum vbs_status vbs_rows_state(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                               bool *complete)
{
    int64_t count, value = 0;
    enum vbs_status status;

    status =
        vbs_sql_value(ctx, store, &count, "SELECT count(*) FROM profile WHERE id = ?", "i", id);
    if (status == VBS_OK && count == 0)
        status = vbs_fail(ctx, VBS_NOT_FOUND,
                          "store '%s' has no profile %lld; 'vbslab profiles' lists them",
                          store->shown, (long long)id);
    if (status == VBS_OK)
        status = vbs_sql_value(ctx, store, &value,
                               "SELECT completed IS NOT NULL FROM profile WHERE id = ?", "i", id);
    *complete = value != 0;
    return status;
}

enum vbs_status vbs_rows_provenance(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                    sqlite3_stmt *stmt, int column,
                                    struct vbs_provenance *provenance)
{
    bool complete = true;

#define READ(member)                                                                               \
    provenance->member = vbs_sql_text(arena, stmt, column++);                                      \
    complete = complete && provenance->member;
    VBS_PROVENANCE_TEXTS(READ)
#undef READ
    provenance->threads = vbs_sql_int(stmt, column);
    return complete ? VBS_OK : vbs_no_memory(ctx);
}

struct profile_reading {
    struct vbs_ctx *ctx;
    struct vbs_store *store;
    int64_t id;
    struct vbs_profile_builder *builder;
    struct vbs_arena arena; /* texts and inputs, until the builder has copied them */
};

static enum vbs_status open_query(struct profile_reading *reading, const char *sql,
                                  sqlite3_stmt **stmt)
{
    enum vbs_status status;

    VBS_TRY(vbs_sql_prepare(reading->ctx, reading->store, sql, stmt));
    status = vbs_sql_bind(reading->ctx, reading->store, *stmt, "i", reading->id);
    if (status != VBS_OK)
        sqlite3_finalize(*stmt);
    return status;
}

static enum vbs_status read_head(struct profile_reading *reading)
{
    struct vbs_provenance provenance;
    enum vbs_status status;
    sqlite3_stmt *stmt;
    bool row = false;

    VBS_TRY(open_query(
        reading, "SELECT input_rows, " VBS_ROWS_PROVENANCE " FROM profile WHERE id = ?", &stmt));
    status = vbs_sql_step(reading->ctx, reading->store, stmt, &row);
    if (status != VBS_OK)
        goto done;
    if (!row) {
        status = vbs_fail(reading->ctx, VBS_NOT_FOUND, "store '%s' has no profile %lld",
                          reading->store->shown, (long long)reading->id);
        goto done;
    }
    status = vbs_profile_builder_input_rows(reading->ctx, reading->builder, vbs_sql_int(stmt, 0));
    if (status != VBS_OK)
        goto done;
    status = vbs_rows_provenance(reading->ctx, &reading->arena, stmt, 1, &provenance);
    if (status != VBS_OK)
        goto done;
    status = vbs_profile_builder_provenance(reading->ctx, reading->builder, &provenance);
done:
    sqlite3_finalize(stmt);
    return status;
}

static struct vbs_reach read_reach(sqlite3_stmt *stmt)
{
    return (struct vbs_reach){.step = vbs_sql_int(stmt, 1),
                              .unit = vbs_sql_int(stmt, 2),
                              .low = sqlite3_column_int64(stmt, 3),
                              .high = sqlite3_column_int64(stmt, 4)};
}

static enum vbs_status read_inputs(struct profile_reading *reading, sqlite3_stmt *stmt,
                                   int64_t layer, struct vbs_profile_layer *about)
{
    struct vbs_reach *reaches;
    int64_t n_inputs;
    enum vbs_status status;
    int n_reaches = 0;
    bool row;
    int *inputs;

    VBS_TRY(vbs_sql_value(reading->ctx, reading->store, &n_inputs,
                          "SELECT count(*) FROM layer_input WHERE profile = ? AND layer = ?", "ii",
                          reading->id, layer));
    status = vbs_sql_bind(reading->ctx, reading->store, stmt, "ii", reading->id, layer);
    if (status != VBS_OK)
        return status;
    if (n_inputs > VBS_MAX_LAYERS)
        return vbs_fail(reading->ctx, VBS_FORMAT, "layer %lld has too many inputs",
                        (long long)layer);
    inputs = vbs_arena_alloc(&reading->arena, (size_t)n_inputs, sizeof *inputs);
    reaches = vbs_arena_alloc(&reading->arena, (size_t)n_inputs, sizeof *reaches);
    if (!inputs || !reaches)
        return vbs_no_memory(reading->ctx);
    about->inputs = inputs;
    for (about->n_inputs = 0; about->n_inputs < n_inputs; about->n_inputs++) {
        if ((status = vbs_sql_step(reading->ctx, reading->store, stmt, &row)))
            return status;
        if (!row)
            break;
        inputs[about->n_inputs] = vbs_sql_int(stmt, 0);
        reaches[about->n_inputs] = read_reach(stmt);
        n_reaches += sqlite3_column_type(stmt, 2) != SQLITE_NULL;
    }
    if (n_reaches > 0 && n_reaches < about->n_inputs)
        return vbs_fail(reading->ctx, VBS_FORMAT, "layer %lld has reaches of %d of its %d inputs",
                        (long long)layer, n_reaches, about->n_inputs);
    about->reaches = n_reaches > 0 ? reaches : NULL;
    return VBS_OK;
}

static enum vbs_status read_layer(struct profile_reading *reading, sqlite3_stmt *stmt,
                                  sqlite3_stmt *inputs, int expected)
{
    struct vbs_profile_layer layer = {
        .name = vbs_sql_text(&reading->arena, stmt, 1),
        .kind = vbs_sql_text(&reading->arena, stmt, 2),
    };
    int column = 3;

#define READ(name, member, type) layer.member = VBS_READ_NUMBER(stmt, column++, layer.member);
    VBS_LAYER_COLUMNS(READ)
#undef READ
    if (!layer.name || !layer.kind)
        return vbs_no_memory(reading->ctx);
    if (sqlite3_column_int64(stmt, 0) != expected)
        return vbs_fail(reading->ctx, VBS_FORMAT, "layer %d is missing", expected);
    VBS_TRY(read_inputs(reading, inputs, expected, &layer));
    return vbs_profile_builder_layer(reading->ctx, reading->builder, &layer);
}

static enum vbs_status read_layers(struct profile_reading *reading)
{
    sqlite3_stmt *stmt, *inputs = NULL;
    enum vbs_status status;
    bool row = true;

    VBS_TRY(open_query(reading,
                       "SELECT layer, name, kind" VBS_LAYER_NAMES " FROM layer "
                       "WHERE profile = ? ORDER BY layer",
                       &stmt));
    status = vbs_sql_prepare(reading->ctx, reading->store,
                             "SELECT source, step, unit, low, high FROM layer_input "
                             "WHERE profile = ? AND layer = ? ORDER BY position",
                             &inputs);
    for (int expected = 1; status == VBS_OK && row; expected++) {
        status = vbs_sql_step(reading->ctx, reading->store, stmt, &row);
        if (status == VBS_OK && row)
            status = read_layer(reading, stmt, inputs, expected);
    }
    sqlite3_finalize(inputs);
    sqlite3_finalize(stmt);
    return status;
}

static enum vbs_status read_kernel(struct profile_reading *reading, sqlite3_stmt *stmt)
{
    const char *algorithm = (const char *)sqlite3_column_text(stmt, 2);
    struct vbs_profile_row row = {0};
    int column = 4;

    /* An unknown weight_bytes is null, is read as 0, and then becomes that of the layer. */
#define READ(name, member, type) row.member = VBS_READ_NUMBER(stmt, column++, row.member);
    VBS_KERNEL_COLUMNS(READ)
    VBS_TIME_COLUMNS(READ)
#undef READ
    if (!algorithm)
        return vbs_no_memory(reading->ctx);
    if (sqlite3_column_int64(stmt, 3))
        return vbs_fail(reading->ctx, VBS_FORMAT, "layer %d batch %d algorithm '%s' has no time",
                        vbs_sql_int(stmt, 0), vbs_sql_int(stmt, 1), algorithm);
    return vbs_profile_builder_row(reading->ctx, reading->builder, vbs_sql_int(stmt, 0),
                                   vbs_sql_int(stmt, 1), algorithm, &row);
}

static enum vbs_status read_kernels(struct profile_reading *reading)
{
    enum vbs_status status;
    sqlite3_stmt *stmt;
    bool row = true;

    status =
        open_query(reading,
                   "SELECT layer, batch, algorithm, time_us IS NULL" VBS_KERNEL_NAMES VBS_TIME_NAMES
                   " FROM kernel WHERE profile = ?",
                   &stmt);
    if (status != VBS_OK)
        return status;
    while (status == VBS_OK && row) {
        status = vbs_sql_step(reading->ctx, reading->store, stmt, &row);
        if (status == VBS_OK && row)
            status = read_kernel(reading, stmt);
    }
    sqlite3_finalize(stmt);
    return status;
}

enum vbs_status vbs_rows_read(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                              struct vbs_profile **profile)
{
    struct profile_reading reading = {
        .ctx = ctx, .store = store, .id = id, .builder = vbs_profile_builder_new()};
    enum vbs_status status = reading.builder ? VBS_OK : vbs_no_memory(ctx);
    char prefix[200];

    if (status == VBS_OK)
        status = read_head(&reading);
    if (status == VBS_OK)
        status = read_layers(&reading);
    if (status == VBS_OK)
        status = read_kernels(&reading);
    if (status == VBS_OK)
        status = vbs_rows_read_copies(ctx, store, id, reading.builder);
    if (status == VBS_OK)
        status = vbs_rows_read_calibration(ctx, store, id, reading.builder);
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(ctx, reading.builder, profile);
    if (status == VBS_FORMAT) {
        snprintf(prefix, sizeof prefix, "store '%s': profile %lld", store->shown, (long long)id);
        status = vbs_fail_within(ctx, VBS_STORE, prefix);
    }
    vbs_profile_builder_free(reading.builder);
    vbs_arena_clear(&reading.arena);
    return status;
}

/* ---- content hashes ---- */

static enum vbs_status read_hash(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                 char hash[VBS_PROFILE_HASH_SIZE])
{
    enum vbs_status status;
    sqlite3_stmt *stmt;
    bool row = false;

    VBS_TRY(
        vbs_sql_prepare(ctx, store, "SELECT coalesce(hash, '') FROM profile WHERE id = ?", &stmt));
    status = vbs_sql_bind(ctx, store, stmt, "i", id);
    if (status == VBS_OK)
        status = vbs_sql_step(ctx, store, stmt, &row);
    if (status == VBS_OK && row) {
        const char *text = (const char *)sqlite3_column_text(stmt, 0);

        snprintf(hash, VBS_PROFILE_HASH_SIZE, "%s", text ? text : "");
        status = text ? VBS_OK : vbs_no_memory(ctx);
    }
    sqlite3_finalize(stmt);
    return status;
}

enum vbs_status vbs_rows_content(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                 char hash[VBS_PROFILE_HASH_SIZE])
{
    struct vbs_profile *profile = NULL;

    hash[0] = '\0';
    store->rc = SQLITE_OK;
    VBS_TRY(read_hash(ctx, store, id, hash));
    if (hash[0])
        return VBS_OK;
    VBS_TRY(vbs_rows_read(ctx, store, id, &profile));
    vbs_profile_hash(profile, hash);
    vbs_profile_free(profile);
    return VBS_OK;
}

static enum vbs_status add_hash(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id)
{
    char hash[VBS_PROFILE_HASH_SIZE];
    enum vbs_status status = vbs_rows_content(ctx, store, id, hash);

    if (status == VBS_STORE && store->rc == SQLITE_OK)
        return VBS_OK; /* the rows make no valid profile; whoever loads it gets the error */
    if (status != VBS_OK)
        return status;
    return vbs_sql_run(ctx, store, "UPDATE OR IGNORE profile SET hash = ? WHERE id = ?", "ti", hash,
                       id);
}

enum vbs_status vbs_rows_add_hashes(struct vbs_ctx *ctx, struct vbs_store *store)
{
    enum vbs_status status = VBS_OK;
    int64_t id = 0;

    while (status == VBS_OK) {
        status = vbs_sql_value(ctx, store, &id,
                               "SELECT coalesce(min(id), 0) FROM profile WHERE id > ? AND "
                               "completed IS NOT NULL AND hash IS NULL",
                               "i", id);
        if (status != VBS_OK || id == 0)
            break;
        status = add_hash(ctx, store, id);
    }
    return status;
}
