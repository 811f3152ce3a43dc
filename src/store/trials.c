/*
 * Studies and trials: reading and making studies, beginning trials, taking them over, and
 * committing what was done with them. The owner of a trial is written as owner.c says.
 */
#include "store/alone.h"
#include "store/rows.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/grow.h"
#include "base/text.h"
#include "base/owner.h"
#include "vbslab/trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORD(name, word) word,
static const char *const state_words[] = {VBS_TRIAL_STATE_LIST(WORD)};
#undef WORD

/* ---- studies ---- */

/* Fails with the most similar name of a study. */
static enum vbs_status fail_no_study(struct vbs_ctx *ctx, struct vbs_store *store, const char *name)
{
    struct vbs_arena arena = {0};
    const char **names = NULL, *near;
    int64_t max_names = 0;
    int n_names = 0;
    sqlite3_stmt *stmt;
    enum vbs_status status;
    bool row = true;

    VBS_TRY(vbs_sql_prepare(ctx, store, "SELECT name FROM study ORDER BY id", &stmt));
    status = vbs_sql_bind(ctx, store, stmt, "");
    while (status == VBS_OK && row) {
        status = vbs_sql_step(ctx, store, stmt, &row);
        if (status != VBS_OK || !row)
            break;
        status = vbs_grow(ctx, &names, &max_names, (int64_t)n_names + 1, sizeof *names);
        if (status == VBS_OK && !(names[n_names++] = vbs_sql_text(&arena, stmt, 0)))
            status = vbs_no_memory(ctx);
    }
    sqlite3_finalize(stmt);
    if (status == VBS_OK) {
        near = vbs_nearest_name(name, names, n_names);
        status = vbs_fail(ctx, VBS_NOT_FOUND, "store '%s' has no study '%s'%s%s%s", store->shown,
                          name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    free(names);
    vbs_arena_clear(&arena);
    return status;
}

/* Checks that the study that the store has under this name is this one. */
static enum vbs_status check_study(struct vbs_ctx *ctx, struct vbs_store *store, sqlite3_stmt *stmt,
                                   const struct vbs_study_record *study)
{
    const char *hash = (const char *)sqlite3_column_text(stmt, 1);
    const char *build = (const char *)sqlite3_column_text(stmt, 2);

    if (!hash || !build)
        return vbs_no_memory(ctx);
    if (study->hash && strcmp(hash, study->hash) != 0)
        return vbs_fail(ctx, VBS_USAGE,
                        "store '%s' has a study '%s' with another description, network or data; "
                        "give this one another "
                        "name, or delete that one ('vbslab tune FILE --delete')",
                        store->shown, study->name);
    if (study->vbslab && strcmp(build, study->vbslab) != 0)
        return vbs_fail(
            ctx, VBS_USAGE,
            "study '%s' was begun by vbslab %s and this is %s, whose results may differ; "
            "go on with that one, or give the study another name",
            study->name, build, study->vbslab);
    return VBS_OK;
}

static enum vbs_status find_study(struct vbs_ctx *ctx, struct vbs_store *store,
                                  const struct vbs_study_record *study, int64_t *id)
{
    sqlite3_stmt *stmt;
    enum vbs_status status;
    bool row = false;

    VBS_TRY(
        vbs_sql_prepare(ctx, store, "SELECT id, hash, vbslab FROM study WHERE name = ?", &stmt));
    status = vbs_sql_bind(ctx, store, stmt, "t", study->name);
    if (status == VBS_OK)
        status = vbs_sql_step(ctx, store, stmt, &row);
    if (status == VBS_OK && row)
        status = check_study(ctx, store, stmt, study);
    *id = row ? sqlite3_column_int64(stmt, 0) : 0;
    sqlite3_finalize(stmt);
    return status;
}

static enum vbs_status find_or_make(struct vbs_ctx *ctx, struct vbs_store *store,
                                    const struct vbs_study_record *study, int64_t *id)
{
    char date[VBS_DATE_SIZE];

    VBS_TRY(find_study(ctx, store, study, id));
    if (*id != 0)
        return VBS_OK;
    vbs_date_now(date);
    VBS_TRY(vbs_sql_run(ctx, store,
                        "INSERT INTO study (name, description, hash, vbslab, date) "
                        "VALUES (?, ?, ?, ?, ?)",
                        "ttttt", study->name, study->description, study->hash, study->vbslab,
                        date));
    *id = sqlite3_last_insert_rowid(store->db);
    return VBS_OK;
}

enum vbs_status vbs_store_study(struct vbs_ctx *ctx, struct vbs_store *store,
                                const struct vbs_study_record *study, bool make, int64_t *id)
{
    int64_t found = 0;
    enum vbs_status status;

    VBS_TRY(make ? vbs_sql_begin_write(ctx, store) : vbs_sql_begin_read(ctx, store));
    status = make ? find_or_make(ctx, store, study, &found) : find_study(ctx, store, study, &found);
    if (status == VBS_OK && found == 0)
        status = fail_no_study(ctx, store, study->name);
    VBS_TRY(vbs_sql_end(ctx, store, status));
    *id = found;
    return VBS_OK;
}

/* ---- reading trials ---- */

/* A list that is being read, or was. */
struct read_trials {
    struct vbs_trial_list list; /* first */
    struct vbs_arena arena;
    struct vbs_trial_record *trials;
    struct vbs_trial_value *values; /* of all trials, one after the other */
    int64_t max_trials, max_values;
    int n_values;
    int at; /* the trial whose values are read */
};

void vbs_trial_list_free(struct vbs_trial_list *list)
{
    struct read_trials *read = (struct read_trials *)list;

    if (!read)
        return;
    free(read->trials);
    free(read->values);
    vbs_arena_clear(&read->arena);
    free(read);
}

double vbs_trial_number(const struct vbs_trial_record *trial, bool is_result, const char *name)
{
    for (int i = 0; i < trial->n_values; i++)
        if (trial->values[i].is_result == is_result && strcmp(trial->values[i].name, name) == 0)
            return trial->values[i].value;
    return (double)NAN;
}

static enum vbs_trial_state state_of(const char *word)
{
    for (int i = 0; i < VBS_N_TRIAL_STATES; i++)
        if (word && strcmp(word, state_words[i]) == 0)
            return (enum vbs_trial_state)i;
    return VBS_TRIAL_FAILED;
}

static enum vbs_status read_trial(struct vbs_ctx *ctx, sqlite3_stmt *stmt, void *self)
{
    struct read_trials *read = self;
    const char *owner = (const char *)sqlite3_column_text(stmt, 5);
    struct vbs_trial_record made = {
        .id = sqlite3_column_int64(stmt, 0),
        .number = vbs_sql_int(stmt, 1),
        .state = state_of((const char *)sqlite3_column_text(stmt, 2)),
        .stage = vbs_sql_text(&read->arena, stmt, 3),
        .seed = (uint64_t)sqlite3_column_int64(stmt, 4),
        .owned = owner && vbs_owner_is_alive(owner, sqlite3_column_int64(stmt, 6)),
        .begun = vbs_sql_text(&read->arena, stmt, 7),
        .ended = vbs_sql_text(&read->arena, stmt, 8),
        .spent_s = sqlite3_column_double(stmt, 9),
        .file = vbs_sql_text(&read->arena, stmt, 10),
        .reason = vbs_sql_text(&read->arena, stmt, 11)};

    if (!made.stage || !made.begun || !made.ended || !made.file || !made.reason)
        return vbs_no_memory(ctx);
    VBS_TRY(vbs_grow(ctx, &read->trials, &read->max_trials, (int64_t)read->list.n_trials + 1,
                     sizeof *read->trials));
    read->trials[read->list.n_trials++] = made;
    return VBS_OK;
}

/* Takes a value. Rows come in the order of the trials, of which those that follow have none yet. */
static enum vbs_status read_value(struct vbs_ctx *ctx, sqlite3_stmt *stmt, void *self)
{
    struct read_trials *read = self;
    struct vbs_trial_value made = {.is_result = sqlite3_column_int64(stmt, 1) != 0,
                                   .name = vbs_sql_text(&read->arena, stmt, 2),
                                   .value = sqlite3_column_double(stmt, 3)};
    int64_t id = sqlite3_column_int64(stmt, 0);

    if (!made.name)
        return vbs_no_memory(ctx);
    VBS_TRY(vbs_grow(ctx, &read->values, &read->max_values, (int64_t)read->n_values + 1,
                     sizeof *read->values));
    read->values[read->n_values++] = made;
    while (read->at < read->list.n_trials && read->trials[read->at].id != id)
        read->at++;
    if (read->at < read->list.n_trials)
        read->trials[read->at].n_values++;
    return VBS_OK;
}

static enum vbs_status read_trials(struct vbs_ctx *ctx, struct vbs_store *store, int64_t study,
                                   struct read_trials *read)
{
    VBS_TRY(
        vbs_sql_each(ctx, store, study,
                     "SELECT id, number, state, stage, seed, owner, unixepoch() - touched, begun, "
                     "ended, spent_s, file, reason FROM trial WHERE study = ? ORDER BY number",
                     read_trial, read));
    return vbs_sql_each(
        ctx, store, study,
        "SELECT trial, kind = 'result', name, value FROM trial "
        "JOIN trial_value ON trial = id WHERE study = ? ORDER BY number, kind, name",
        read_value, read);
}

enum vbs_status vbs_store_trials(struct vbs_ctx *ctx, struct vbs_store *store, int64_t study,
                                 struct vbs_trial_list **list)
{
    struct read_trials *read = calloc(1, sizeof *read);
    enum vbs_status status;
    int next = 0;

    if (!read)
        return vbs_no_memory(ctx);
    status = vbs_sql_begin_read(ctx, store);
    if (status == VBS_OK)
        status = vbs_sql_end(ctx, store, read_trials(ctx, store, study, read));
    if (status != VBS_OK) {
        vbs_trial_list_free(&read->list);
        return status;
    }
    for (int i = 0; i < read->list.n_trials; i++) {
        read->trials[i].values = read->values + next;
        next += read->trials[i].n_values;
    }
    read->list.trials = read->trials;
    *list = &read->list;
    return VBS_OK;
}

/* ---- changing trials ---- */

/* Each of these is part of a write transaction. */

static enum vbs_status write_values(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id, int n,
                                    const struct vbs_trial_value *values)
{
    for (int i = 0; i < n; i++)
        VBS_TRY(vbs_sql_run(ctx, store,
                            "INSERT OR REPLACE INTO trial_value (trial, kind, name, value) "
                            "VALUES (?, ?, ?, ?)",
                            "ittd", id, values[i].is_result ? "result" : "parameter",
                            values[i].name, values[i].value));
    return VBS_OK;
}

static enum vbs_status insert_trial(struct vbs_ctx *ctx, struct vbs_store *store, int64_t study,
                                    const struct vbs_trial_begin *begin, int64_t *id)
{
    char owner[VBS_OWNER_SIZE], date[VBS_DATE_SIZE];
    int64_t same;

    *id = 0;
    VBS_TRY(vbs_alone_check_owners(ctx, store));
    VBS_TRY(vbs_sql_value(ctx, store, &same,
                          "SELECT count(*) FROM trial WHERE study = ? AND number = ?", "ii", study,
                          (int64_t)begin->number));
    if (same > 0)
        return VBS_OK;
    vbs_owner_self(owner);
    vbs_date_now(date);
    VBS_TRY(vbs_sql_run(ctx, store,
                        "INSERT INTO trial (study, number, state, stage, seed, owner, touched, "
                        "begun) VALUES (?, ?, 'running', ?, ?, ?, ?, ?)",
                        "iititit", study, (int64_t)begin->number, begin->stage,
                        vbs_rows_hash(begin->seed), owner, (int64_t)time(NULL), date));
    *id = sqlite3_last_insert_rowid(store->db);
    return write_values(ctx, store, *id, begin->n_values, begin->values);
}

enum vbs_status vbs_store_trial_begin(struct vbs_ctx *ctx, struct vbs_store *store, int64_t study,
                                      const struct vbs_trial_begin *begin, int64_t *id)
{
    int64_t made = 0;

    VBS_TRY(vbs_sql_begin_write(ctx, store));
    VBS_TRY(vbs_sql_end(ctx, store, insert_trial(ctx, store, study, begin, &made)));
    *id = made;
    return VBS_OK;
}

static enum vbs_status find_waiting(struct vbs_ctx *ctx, struct vbs_store *store, int64_t study,
                                    const char *stage, int64_t *id)
{
    sqlite3_stmt *stmt;
    enum vbs_status status;
    bool row = true;

    *id = 0;
    VBS_TRY(vbs_sql_prepare(ctx, store,
                            "SELECT id, owner, unixepoch() - touched FROM trial WHERE study = ? "
                            "AND state = 'running' AND stage = ? ORDER BY number",
                            &stmt));
    status = vbs_sql_bind(ctx, store, stmt, "it", study, stage);
    while (status == VBS_OK && row && *id == 0) {
        const char *owner;

        status = vbs_sql_step(ctx, store, stmt, &row);
        if (status != VBS_OK || !row)
            break;
        owner = (const char *)sqlite3_column_text(stmt, 1);
        if (!owner || !vbs_owner_is_alive(owner, sqlite3_column_int64(stmt, 2)))
            *id = sqlite3_column_int64(stmt, 0);
    }
    sqlite3_finalize(stmt);
    return status;
}

static enum vbs_status claim(struct vbs_ctx *ctx, struct vbs_store *store, int64_t study,
                             const char *stage, int64_t *id)
{
    char owner[VBS_OWNER_SIZE];

    VBS_TRY(vbs_alone_check_owners(ctx, store));
    VBS_TRY(find_waiting(ctx, store, study, stage, id));
    if (*id == 0)
        return VBS_OK;
    vbs_owner_self(owner);
    return vbs_sql_run(ctx, store, "UPDATE trial SET owner = ?, touched = ? WHERE id = ?", "tii",
                       owner, (int64_t)time(NULL), *id);
}

enum vbs_status vbs_store_trial_claim(struct vbs_ctx *ctx, struct vbs_store *store, int64_t study,
                                      const char *stage, int64_t *id)
{
    int64_t claimed = 0;

    VBS_TRY(vbs_sql_begin_write(ctx, store));
    VBS_TRY(vbs_sql_end(ctx, store, claim(ctx, store, study, stage, &claimed)));
    *id = claimed;
    return VBS_OK;
}

/* Fails where this process does not own the trial; else renews the time of the last commit. */
static enum vbs_status renew(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id)
{
    char owner[VBS_OWNER_SIZE];

    vbs_owner_self(owner);
    VBS_TRY(vbs_sql_run(ctx, store,
                        "UPDATE trial SET touched = ? WHERE id = ? AND owner = ? "
                        "AND state = 'running'",
                        "iit", (int64_t)time(NULL), id, owner));
    if (sqlite3_changes(store->db) == 1)
        return VBS_OK;
    return vbs_fail(ctx, VBS_STORE,
                    "store '%s': another process has taken this trial over, or it was deleted",
                    store->shown);
}

enum vbs_status vbs_store_trial_touch(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id)
{
    VBS_TRY(vbs_sql_begin_write(ctx, store));
    return vbs_sql_end(ctx, store, renew(ctx, store, id));
}

static enum vbs_status write_step(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                  const struct vbs_trial_step *step)
{
    char date[VBS_DATE_SIZE];

    VBS_TRY(renew(ctx, store, id));
    VBS_TRY(write_values(ctx, store, id, step->n_values, step->values));
    VBS_TRY(vbs_sql_run(ctx, store,
                        "UPDATE trial SET spent_s = spent_s + ?, file = coalesce(?, file), "
                        "reason = coalesce(?, reason), training = coalesce(?, training) "
                        "WHERE id = ?",
                        "dttti", step->spent_s, step->file, step->reason, step->training, id));
    vbs_date_now(date);
    if (step->state != VBS_TRIAL_RUNNING)
        return vbs_sql_run(ctx, store,
                           "UPDATE trial SET state = ?, stage = '', owner = NULL, touched = NULL, "
                           "ended = ? WHERE id = ?",
                           "tti", state_words[step->state], date, id);
    if (!step->stage)
        return VBS_OK;
    return vbs_sql_run(ctx, store,
                       "UPDATE trial SET stage = ?, owner = NULL, touched = NULL WHERE id = ?",
                       "ti", step->stage, id);
}

enum vbs_status vbs_store_trial_step(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                     const struct vbs_trial_step *step)
{
    VBS_TRY(vbs_sql_begin_write(ctx, store));
    return vbs_sql_end(ctx, store, write_step(ctx, store, id, step));
}

/* ---- what others have trained ---- */

enum vbs_status vbs_store_trained(struct vbs_ctx *ctx, struct vbs_store *store,
                                  const char *training, int64_t *trial, int64_t *study, int *number)
{
    sqlite3_stmt *stmt;
    enum vbs_status status;
    bool row = false;

    VBS_TRY(vbs_sql_prepare(ctx, store,
                            "SELECT id, study, number FROM trial WHERE training = ? AND id > ? "
                            "AND file <> '' ORDER BY id LIMIT 1",
                            &stmt));
    status = vbs_sql_bind(ctx, store, stmt, "ti", training, *trial);
    if (status == VBS_OK)
        status = vbs_sql_step(ctx, store, stmt, &row);
    *trial = 0;
    if (status == VBS_OK && row) {
        *trial = sqlite3_column_int64(stmt, 0);
        *study = sqlite3_column_int64(stmt, 1);
        *number = vbs_sql_int(stmt, 2);
    }
    sqlite3_finalize(stmt);
    return status;
}

/* ---- deleting ---- */

static enum vbs_status delete_study(struct vbs_ctx *ctx, struct vbs_store *store, const char *name)
{
    const struct vbs_study_record study = {.name = name};
    struct read_trials read = {0};
    enum vbs_status status;
    int64_t id;

    VBS_TRY(find_study(ctx, store, &study, &id));
    if (id == 0)
        return fail_no_study(ctx, store, name);
    status = read_trials(ctx, store, id, &read);
    for (int i = 0; i < read.list.n_trials && status == VBS_OK; i++)
        if (read.trials[i].owned)
            status = vbs_fail(ctx, VBS_STORE, "a process that still runs works on trial %d of '%s'",
                              read.trials[i].number, name);
    free(read.trials);
    free(read.values);
    vbs_arena_clear(&read.arena);
    VBS_TRY(status);
    return vbs_sql_run(ctx, store, "DELETE FROM study WHERE id = ?", "i", id);
}

enum vbs_status vbs_store_study_delete(struct vbs_ctx *ctx, struct vbs_store *store,
                                       const char *name)
{
    VBS_TRY(vbs_sql_begin_write(ctx, store));
    return vbs_sql_end(ctx, store, delete_study(ctx, store, name));
}
