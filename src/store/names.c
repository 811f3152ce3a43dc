/*
 * Finding a profile by a name. A name is a tag, or the name of a model, of which the best profile
 * is chosen.
 */
#include "store/rows.h"

#include "base/fail.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

/* ---- models ---- */

/* Fails with the most similar name of a model that has a complete profile. */
static enum vbs_status fail_no_model(struct vbs_ctx *ctx, struct vbs_store *store,
                                     const char *model, int64_t unfinished, int n_passed)
{
    struct vbs_store_list *list = NULL;
    enum vbs_status status = vbs_store_profiles(ctx, store, &list);
    const char **names, *near;
    int n_names = 0;

    if (status != VBS_OK)
        return status;
    names = malloc((size_t)(list->n_entries + 1) * sizeof *names);
    if (!names) {
        vbs_store_list_free(list);
        return vbs_no_memory(ctx);
    }
    for (int i = 0; i < list->n_entries; i++)
        if (list->entries[i].complete)
            names[n_names++] = list->entries[i].provenance.model;
    near = vbs_nearest_name(model, names, n_names);
    if (n_passed > 0)
        status = vbs_fail(ctx, VBS_NOT_FOUND,
                          "store '%s' has profiles of '%s', but of another network with this name; "
                          "'vbslab measure' makes one",
                          store->shown, model);
    else if (unfinished > 0)
        status = vbs_fail(ctx, VBS_NOT_FOUND,
                          "store '%s' has only an unfinished profile of '%s'; 'vbslab measure' "
                          "goes on with it",
                          store->shown, model);
    else if (near)
        status =
            vbs_fail(ctx, VBS_NOT_FOUND, "store '%s' has no profile of '%s'; did you mean '%s'?",
                     store->shown, model, near);
    else
        status = vbs_fail(ctx, VBS_NOT_FOUND,
                          "store '%s' has no profile of '%s'; 'vbslab measure' makes one",
                          store->shown, model);
    free(names);
    vbs_store_list_free(list);
    return status;
}

const char *vbs_rows_date(const char *date)
{
    static const char FORM[] = "dddd-dd-dd";

    for (int i = 0; FORM[i]; i++)
        if (FORM[i] == 'd' ? date[i] < '0' || date[i] > '9' : date[i] != FORM[i])
            return "";
    return date;
}

struct choosing {
    struct vbs_store_choice best;
    int n_passed;               /* profiles of other networks with this name */
    struct vbs_arena arenas[2]; /* of the best profile and of the next one; the two are swapped */
    const char *best_date;
};

/* Returns the part of the text of inputs that says where the network ends
 * (vbs_network_inputs_text);
 * "": with the file's outputs. */
static const char *ends_of(const char *input)
{
    const char *ends = input ? strstr(input, ";>") : NULL;

    return ends ? ends : "";
}

/* Gives whether the row was measured on another network than the preference says; the hash is in
 * column 1. */
static bool is_of_another(const struct vbs_store_preference *preference, sqlite3_stmt *stmt,
                          const struct vbs_provenance *provenance)
{
    bool same =
        !preference || !preference->input || strcmp(preference->input, provenance->input) == 0;

    if (!same && preference->input_only)
        return true;
    if (preference && strcmp(ends_of(preference->input), ends_of(provenance->input)) != 0)
        return true;
    return preference && preference->input && sqlite3_column_type(stmt, 1) != SQLITE_NULL && same &&
           sqlite3_column_int64(stmt, 1) != vbs_rows_hash(preference->network_hash);
}

/* Rows come in the order in which profiles were completed. Of equally good profiles the later one
 * is taken. */
static enum vbs_status consider(struct vbs_ctx *ctx, struct choosing *choosing, sqlite3_stmt *stmt,
                                const struct vbs_store_preference *preference)
{
    struct vbs_provenance provenance;
    struct vbs_arena *arena = &choosing->arenas[1];
    struct vbs_store_choice *best = &choosing->best;
    int rank = 0;

    VBS_TRY(vbs_rows_provenance(ctx, arena, stmt, 2, &provenance));
    if (is_of_another(preference, stmt, &provenance)) {
        choosing->n_passed++;
        vbs_arena_clear(arena);
        return VBS_OK;
    }
    if (preference && preference->rank)
        rank = preference->rank(preference->self, &provenance);
    best->n_complete++;
    if (best->id == 0 || rank > best->rank ||
        (rank == best->rank && strcmp(vbs_rows_date(provenance.date), choosing->best_date) >= 0)) {
        struct vbs_arena other = choosing->arenas[0];

        best->id = sqlite3_column_int64(stmt, 0);
        best->rank = rank;
        choosing->best_date = vbs_rows_date(provenance.date);
        choosing->arenas[0] = *arena;
        *arena = other;
    }
    vbs_arena_clear(arena);
    return VBS_OK;
}

static enum vbs_status choose(struct vbs_ctx *ctx, struct vbs_store *store, const char *model,
                              const struct vbs_store_preference *preference,
                              struct choosing *choosing)
{
    sqlite3_stmt *stmt;
    enum vbs_status status;
    bool row = true;

    VBS_TRY(vbs_sql_prepare(ctx, store,
                            "SELECT id, network_hash, " VBS_ROWS_PROVENANCE " FROM profile WHERE "
                            "model = ? AND completed IS NOT NULL ORDER BY completed",
                            &stmt));
    status = vbs_sql_bind(ctx, store, stmt, "t", model);
    while (status == VBS_OK && row) {
        status = vbs_sql_step(ctx, store, stmt, &row);
        if (status == VBS_OK && row)
            status = consider(ctx, choosing, stmt, preference);
    }
    sqlite3_finalize(stmt);
    return status;
}

enum vbs_status vbs_store_choose(struct vbs_ctx *ctx, struct vbs_store *store, const char *model,
                                 const struct vbs_store_preference *preference,
                                 struct vbs_store_choice *choice)
{
    enum vbs_status status;
    struct choosing choosing = {0};
    int64_t unfinished = 0;

    VBS_TRY(vbs_sql_begin_read(ctx, store));
    status = choose(ctx, store, model, preference, &choosing);
    vbs_arena_clear(&choosing.arenas[0]);
    vbs_arena_clear(&choosing.arenas[1]);
    if (status == VBS_OK && choosing.best.id == 0)
        status = vbs_sql_value(ctx, store, &unfinished,
                               "SELECT count(*) FROM profile WHERE model = ? AND completed IS NULL",
                               "t", model);
    status = vbs_sql_end(ctx, store, status);
    if (status != VBS_OK)
        return status;
    if (choosing.best.id == 0)
        return fail_no_model(ctx, store, model, unfinished, choosing.n_passed);
    *choice = choosing.best;
    return VBS_OK;
}

enum vbs_status vbs_store_is_of_another(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                        uint64_t network_hash, bool *another)
{
    int64_t n;

    VBS_TRY(vbs_sql_value(ctx, store, &n,
                          "SELECT count(*) FROM profile WHERE id = ? AND network_hash <> ?", "ii",
                          id, vbs_rows_hash(network_hash)));
    *another = n > 0;
    return VBS_OK;
}

/* ---- tags ---- */

enum vbs_status vbs_rows_check_tag(struct vbs_ctx *ctx, const char *tag)
{
    static const char *const FILES[] = {".csv", ".net", ".onnx", ".vbz"};
    size_t length = strlen(tag);

    if (length == 0 || length > VBS_MAX_TAG || strspn(tag, LETTERS DIGITS "._+-") != length ||
        !strchr(LETTERS, tag[0]))
        return vbs_fail(ctx, VBS_USAGE,
                        "tag '%.80s': a tag has at most %d letters, digits and '.', '_', '+', '-', "
                        "and begins with a letter",
                        tag, VBS_MAX_TAG);
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++)
        if (length > strlen(FILES[i]) && strcmp(tag + length - strlen(FILES[i]), FILES[i]) == 0)
            return vbs_fail(ctx, VBS_USAGE, "tag '%s' would be taken for a file", tag);
    return VBS_OK;
}

/* Checks that a tag is none of the names of models in the store. */
static enum vbs_status check_no_model(struct vbs_ctx *ctx, struct vbs_store *store, const char *tag)
{
    int64_t n_models;

    VBS_TRY(vbs_sql_value(ctx, store, &n_models, "SELECT count(*) FROM profile WHERE model = ?",
                          "t", tag));
    if (n_models > 0)
        return vbs_fail(ctx, VBS_USAGE, "tag '%s' is the name of a model in store '%s'", tag,
                        store->shown);
    return VBS_OK;
}

static enum vbs_status insert_tag(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                  const char *tag)
{
    bool complete;

    VBS_TRY(vbs_rows_state(ctx, store, id, &complete));
    if (!complete)
        return vbs_fail(ctx, VBS_STORE, "profile %lld is unfinished and cannot have a tag",
                        (long long)id);
    VBS_TRY(vbs_rows_check_tag(ctx, tag));
    VBS_TRY(check_no_model(ctx, store, tag));
    return vbs_sql_run(ctx, store, "INSERT OR REPLACE INTO tag VALUES (?, ?)", "ti", tag, id);
}

enum vbs_status vbs_store_tag(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                              const char *tag)
{
    VBS_TRY(vbs_sql_begin_write(ctx, store));
    return vbs_sql_end(ctx, store, insert_tag(ctx, store, id, tag));
}

static enum vbs_status delete_tag(struct vbs_ctx *ctx, struct vbs_store *store, const char *tag)
{
    VBS_TRY(vbs_sql_run(ctx, store, "DELETE FROM tag WHERE tag = ?", "t", tag));
    if (sqlite3_changes(store->db) == 0)
        return vbs_fail(ctx, VBS_NOT_FOUND, "no profile of store '%s' has the tag '%.80s'",
                        store->shown, tag);
    return VBS_OK;
}

enum vbs_status vbs_store_untag(struct vbs_ctx *ctx, struct vbs_store *store, const char *tag)
{
    VBS_TRY(vbs_sql_begin_write(ctx, store));
    return vbs_sql_end(ctx, store, delete_tag(ctx, store, tag));
}

enum vbs_status vbs_store_find_tag(struct vbs_ctx *ctx, struct vbs_store *store, const char *tag,
                                   int64_t *id)
{
    int64_t found = 0;

    VBS_TRY(vbs_sql_value(ctx, store, &found,
                          "SELECT coalesce((SELECT profile FROM tag WHERE tag = ?), 0)", "t", tag));
    if (found == 0)
        return vbs_fail(ctx, VBS_NOT_FOUND, "no profile of store '%s' has the tag '%.80s'",
                        store->shown, tag);
    *id = found;
    return VBS_OK;
}
