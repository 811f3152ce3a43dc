/*
 * Studies of merged stores. A study is the same where its name, description, hash and build are.
 * Its trials are united by their numbers. Of two trials of one number the one that is further is
 * kept, of two that are equally far the one with the greater hash: a maximum, so that the order of
 * merges does not matter. Numbers stay without gaps, because trials refer to each other by them,
 * and trial 0 is the control.
 */
#include "store/merge/merge.h"

#include "base/ctx.h"
#include "base/fail.h"
#include "base/owner.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SELECT_VALUES                                                                              \
    "SELECT kind, name, value FROM trial_value WHERE trial = ? ORDER BY kind, name"

/* How far a trial is, and what came out. Where only times differ, they decide. */
struct trial_standing {
    int64_t progress; /* from FIRST_END on: it has ended */
    struct vbs_merge_content content, times;
};

#define FIRST_END 3
#define PROGRESS                                                                                   \
    "CASE state WHEN 'complete' THEN 5 WHEN 'infeasible' THEN 4 WHEN 'failed' THEN 3 "             \
    "ELSE CASE stage WHEN 'judge' THEN 2 WHEN 'train' THEN 1 ELSE 0 END END"

/* A study that is being merged, and the trial that is at hand. */
struct study_merging {
    struct vbs_merging *m;
    const char *name;
    int64_t into;        /* the study's id in the store into which is merged */
    int64_t next;        /* the lowest number that no trial has there */
    bool waits;          /* trials were left out, because one before them is missing */
    sqlite3_stmt *trial; /* of the source */
    int64_t id, number;  /* of the trial in the source */
    int64_t own;         /* its id in the other store; 0: it has none */
    bool own_is_alive;   /* a living process works on it there */
    struct vbs_text own_file;
    char *file; /* of the network that was copied, or null */
};

/* Columns of the query for trials. */
enum { ID, NUMBER, SEED, BEGUN, STATE, STAGE, ENDED, SPENT, REASON, TRAINING, NETWORK, OWNER, AGE };

/* ---- which trial is kept ---- */

static enum vbs_status stand(struct vbs_merging *m, struct vbs_store *store, int64_t id,
                             struct trial_standing *standing)
{
    struct vbs_sha256 hash;

    VBS_TRY(vbs_sql_value(m->ctx, store, &standing->progress,
                          "SELECT " PROGRESS " FROM trial WHERE id = ?", "i", id));
    vbs_sha256_begin(&hash);
    VBS_TRY(vbs_merge_hash(m, store, "SELECT seed, state, stage, reason FROM trial WHERE id = ?",
                           id, &hash));
    VBS_TRY(vbs_merge_hash(m, store, SELECT_VALUES, id, &hash));
    vbs_sha256_end(&hash, standing->content.digest);
    vbs_sha256_begin(&hash);
    VBS_TRY(vbs_merge_hash(
        m, store, "SELECT begun, ended, spent_s, training FROM trial WHERE id = ?", id, &hash));
    vbs_sha256_end(&hash, standing->times.digest);
    return VBS_OK;
}

static int compare_content(const struct vbs_merge_content *a, const struct vbs_merge_content *b)
{
    return memcmp(a->digest, b->digest, sizeof a->digest);
}

static int compare(const struct trial_standing *a, const struct trial_standing *b)
{
    int order = compare_content(&a->content, &b->content);

    if (a->progress != b->progress)
        return a->progress < b->progress ? -1 : 1;
    return order ? order : compare_content(&a->times, &b->times);
}

/* ---- copying a trial ---- */

/* Writes the trial, in the place of the one that the store has, if any. A trial that has ended
 * cannot be changed, but deleted. */
static enum vbs_status write_trial(struct vbs_merging *m, void *self)
{
    const struct study_merging *s = self;
    int64_t copy;

    VBS_TRY(vbs_sql_run(m->ctx, m->into, "DELETE FROM trial WHERE id = ?", "i", s->own));
    VBS_TRY(vbs_sql_run(m->ctx, m->into,
                        "INSERT INTO trial (id, study, number, state, stage, seed, begun) "
                        "VALUES (nullif(?, 0), ?, ?, 'running', '', 0, '')",
                        "iii", s->own, s->into, s->number));
    copy = sqlite3_last_insert_rowid(m->into->db);
    VBS_TRY(vbs_merge_copy_rows(
        m, SELECT_VALUES, s->id,
        "INSERT INTO trial_value (trial, kind, name, value) VALUES (?, ?, ?, ?)", copy, NULL));
    VBS_TRY(vbs_sql_run(m->ctx, m->into, "UPDATE trial SET file = ? WHERE id = ?", "ti",
                        s->file ? s->file : "", copy));
    return vbs_merge_run(m,
                         "UPDATE trial SET seed = ?2, begun = ?3, state = ?4, stage = ?5, "
                         "ended = ?6, spent_s = ?7, reason = ?8, training = ?9 WHERE id = ?1",
                         copy, s->trial, SEED, TRAINING - SEED + 1, NULL);
}

static enum vbs_status copy_network(struct study_merging *s)
{
    const char *network = (const char *)sqlite3_column_text(s->trial, NETWORK);

    if (!network)
        return vbs_no_memory(s->m->ctx);
    return vbs_merge_network(s->m, s->name, s->number, network, &s->file);
}

/* Copies the trial, with its network where s->file does not name one already. *damaged: it was left
 * out, and noted. */
static enum vbs_status take(struct study_merging *s, int64_t *counter, bool *damaged)
{
    struct vbs_merging *m = s->m;

    if (!s->file)
        VBS_TRY(copy_network(s));
    VBS_TRY(vbs_merge_try(m, write_trial, s, damaged));
    *counter += !*damaged;
    if (*damaged) {
        m->body->report.n_damaged++;
        return vbs_merge_note(m, VBS_MERGE_DAMAGED, s->name, "", "",
                              "trial %lld of study '%s' in '%s' was left out: %s",
                              (long long)s->number, s->name, m->from->shown,
                              m->ctx ? m->ctx->detail : "it is damaged");
    }
    if (s->file || sqlite3_column_bytes(s->trial, NETWORK) == 0 || !m->options.from_networks)
        return VBS_OK;
    return vbs_merge_note(m, VBS_MERGE_NETWORK, s->name, "", "",
                          "trial %lld of study '%s' came without its network, which is not beside "
                          "'%s'",
                          (long long)s->number, s->name, m->from->shown);
}

/* Copies a trial of which the store has nothing, unless it would leave a gap. */
static enum vbs_status add(struct study_merging *s)
{
    struct vbs_merging *m = s->m;
    enum vbs_status status;
    bool damaged;

    if (s->number <= s->next) {
        status = take(s, &m->body->report.n_trials_added, &damaged);
        s->next += status == VBS_OK && !damaged && s->number == s->next;
        return status;
    }
    if (s->waits)
        return VBS_OK;
    s->waits = true;
    return vbs_merge_note(
        m, VBS_MERGE_UNFINISHED, s->name, "", "",
        "trials of study '%s' stay in '%s' from %lld on, because trial %lld does; "
        "merge again later",
        s->name, m->from->shown, (long long)s->number, (long long)s->next);
}

/* ---- a trial that both stores have ---- */

#define POINT_SIZE 160

static enum vbs_status read_point(struct vbs_ctx *ctx, sqlite3_stmt *row, void *self)
{
    const char *text = (const char *)sqlite3_column_text(row, 0);

    snprintf(self, POINT_SIZE, "%s", text ? text : "");
    return text ? VBS_OK : vbs_no_memory(ctx);
}

static enum vbs_status note_conflict(struct study_merging *s, const char *end)
{
    return vbs_merge_note(s->m, VBS_MERGE_TRIAL, s->name, "", "",
                          "trial %lld of study '%s' has other results in '%s' than here; those of "
                          "%s",
                          (long long)s->number, s->name, s->m->from->shown, end);
}

/* Puts an ended trial in the place of another one, and says what it takes to carry that one out
 * again. Its network stays where it is. */
static enum vbs_status replace(struct study_merging *s)
{
    struct vbs_merging *m = s->m;
    char point[POINT_SIZE] = "", end[VBS_DETAIL_SIZE];
    bool damaged;

    VBS_TRY(vbs_sql_each(m->ctx, m->into, s->own,
                         "SELECT coalesce((SELECT group_concat(format('%s %.6g', name, value), "
                         "', ') FROM trial_value WHERE trial = id AND kind = 'parameter'), "
                         "'no parameters') || format(', seed %lld', seed) FROM trial WHERE id = ?",
                         read_point, point));
    VBS_TRY(take(s, &m->body->report.n_trials_improved, &damaged));
    snprintf(end, sizeof end, "the other store are kept; the trial that was here had %s%s%s", point,
             s->own_file.length ? ", and left the network " : "",
             s->own_file.length ? s->own_file.data : "");
    return damaged ? VBS_OK : note_conflict(s, end);
}

static enum vbs_status unite(struct study_merging *s)
{
    struct vbs_merging *m = s->m;
    struct trial_standing ours, theirs;
    bool has_network = s->own_file.length > 0 && access(s->own_file.data, R_OK) == 0;
    bool same, damaged;
    int order;

    VBS_TRY(stand(m, m->from, s->id, &theirs));
    VBS_TRY(stand(m, m->into, s->own, &ours));
    same = compare_content(&theirs.content, &ours.content) == 0;
    order = compare(&theirs, &ours);
    if (!same && ours.progress >= FIRST_END && theirs.progress >= FIRST_END)
        return order > 0 ? replace(s) : note_conflict(s, "this store are kept");
    if (same && has_network && !(s->file = strdup(s->own_file.data)))
        return vbs_no_memory(m->ctx);
    if (order < 0 || (order == 0 && s->file))
        return VBS_OK;
    if (order == 0) { /* the network may be there now */
        VBS_TRY(copy_network(s));
        return s->file ? take(s, &m->body->report.n_trials_improved, &damaged) : VBS_OK;
    }
    if (ours.progress < FIRST_END)
        VBS_TRY(vbs_merge_drop_checkpoint(m, s->name, s->number));
    return take(s, &m->body->report.n_trials_improved, &damaged);
}

/* ---- the trials of a study ---- */

static enum vbs_status read_own(struct vbs_ctx *ctx, sqlite3_stmt *row, void *self)
{
    struct study_merging *s = self;
    const char *file = (const char *)sqlite3_column_text(row, 1);
    const char *owner = (const char *)sqlite3_column_text(row, 2);

    if (!file || !owner)
        return vbs_no_memory(ctx);
    s->own = sqlite3_column_int64(row, 0);
    s->own_is_alive = owner[0] && vbs_owner_is_alive(owner, sqlite3_column_int64(row, 3));
    vbs_text_add(&s->own_file, file);
    return s->own_file.failed ? vbs_no_memory(ctx) : VBS_OK;
}

static enum vbs_status note_running(struct study_merging *s, const char *where)
{
    return vbs_merge_note(s->m, VBS_MERGE_UNFINISHED, s->name, "", "",
                          "a process works on trial %lld of study '%s' %s; merge again when it has "
                          "ended",
                          (long long)s->number, s->name, where);
}

static enum vbs_status merge_trial(struct study_merging *s)
{
    struct vbs_merging *m = s->m;
    const char *owner = (const char *)sqlite3_column_text(s->trial, OWNER);
    char where[VBS_DETAIL_SIZE];

    if (!owner)
        return vbs_no_memory(m->ctx);
    if (owner[0] && vbs_owner_is_alive(owner, sqlite3_column_int64(s->trial, AGE))) {
        snprintf(where, sizeof where, "in '%s'", m->from->shown);
        return note_running(s, where);
    }
    VBS_TRY(vbs_sql_walk(m->ctx, m->into, read_own, s,
                         "SELECT id, file, coalesce(owner, ''), ? - touched FROM trial "
                         "WHERE study = ? AND number = ?",
                         "iii", (int64_t)time(NULL), s->into, s->number));
    if (s->own_is_alive)
        return note_running(s, "here");
    return s->own ? unite(s) : add(s);
}

static enum vbs_status take_trial(struct vbs_ctx *ctx, sqlite3_stmt *row, void *self)
{
    struct study_merging *study = self, s = *study;
    enum vbs_status status;

    (void)ctx;
    s.trial = row;
    s.id = sqlite3_column_int64(row, ID);
    s.number = sqlite3_column_int64(row, NUMBER);
    s.m->body->report.n_trials++;
    status = merge_trial(&s);
    study->next = s.next;
    study->waits = s.waits;
    vbs_text_clear(&s.own_file);
    free(s.file);
    return status;
}

static enum vbs_status merge_trials(struct study_merging *s, int64_t id)
{
    struct vbs_merging *m = s->m;

    m->body->report.n_studies++;
    VBS_TRY(vbs_sql_value(m->ctx, m->into, &s->next,
                          "SELECT coalesce(max(number), -1) + 1 FROM trial WHERE study = ?", "i",
                          s->into));
    return vbs_sql_walk(
        m->ctx, m->from, take_trial, s,
        "SELECT id, number, seed, begun, state, stage, ended, spent_s, reason, training, "
        "file, coalesce(owner, ''), ? - touched FROM trial WHERE study = ? "
        "ORDER BY number",
        "ii", (int64_t)time(NULL), id);
}

/* ---- studies ---- */

#define STUDY_COLUMNS "name, description, hash, vbslab, date"

static enum vbs_status add_study(struct vbs_merging *m, void *self)
{
    return vbs_merge_run(m,
                         "INSERT INTO study (id, " STUDY_COLUMNS ") "
                         "VALUES (nullif(?, 0), ?, ?, ?, ?, ?)",
                         0, self, 1, 5, NULL);
}

/* Finds the study of the source, or makes it. *into: its id; 0: it was left out, and noted. */
static enum vbs_status find_study(struct vbs_merging *m, sqlite3_stmt *row, const char *name,
                                  int64_t *into)
{
    int64_t same_name;
    bool damaged = !vbs_merge_is_file_name(name);

    VBS_TRY(vbs_merge_run(m, "SELECT id FROM study WHERE ?1 = 0 AND name = ?2", 0, row, 1, 1,
                          &same_name));
    VBS_TRY(vbs_merge_run(m,
                          "SELECT id FROM study WHERE id = ?1 AND name = ?2 AND description = ?3 "
                          "AND hash = ?4 AND vbslab = ?5",
                          same_name, row, 1, 4, into));
    if (same_name && !*into)
        return vbs_merge_note(m, VBS_MERGE_STUDY, name, "", "",
                              "study '%s' stays in '%s', because the one of this name here has "
                              "another description, network, data or build",
                              name, m->from->shown);
    if (*into) /* only their dates may differ */
        return vbs_merge_run(m, "UPDATE study SET date = ?2 WHERE id = ?1 AND date > ?2", *into,
                             row, 5, 1, NULL);
    if (!damaged)
        VBS_TRY(vbs_merge_try(m, add_study, row, &damaged));
    if (!damaged) {
        *into = sqlite3_last_insert_rowid(m->into->db);
        return VBS_OK;
    }
    m->body->report.n_damaged++;
    return vbs_merge_note(m, VBS_MERGE_DAMAGED, name, "", "",
                          "study '%s' of '%s' cannot be one, and was left out", name,
                          m->from->shown);
}

static enum vbs_status take_study(struct vbs_ctx *ctx, sqlite3_stmt *row, void *self)
{
    struct study_merging s = {.m = self, .name = (const char *)sqlite3_column_text(row, 1)};

    if (!s.name)
        return vbs_no_memory(ctx);
    VBS_TRY(find_study(s.m, row, s.name, &s.into));
    return s.into ? merge_trials(&s, sqlite3_column_int64(row, 0)) : VBS_OK;
}

enum vbs_status vbs_merge_studies(struct vbs_merging *m)
{
    return vbs_sql_walk(m->ctx, m->from, take_study, m,
                        "SELECT id, " STUDY_COLUMNS " FROM study ORDER BY name", "");
}
