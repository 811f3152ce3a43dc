/*
 * Bringing two stores together.
 *
 * What a merge leaves in a store is a union of contents, and for each content and each tag the
 * maximum of an order that the profiles themselves decide. Unions and maxima do not depend on the
 * order in which they are taken, and taking one again changes nothing.
 */
#include "store/merge/merge.h"

#include "base/owner.h"

#include "base/clock.h"
#include "base/ctx.h"
#include "base/fail.h"
#include "base/options.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void report_progress(const struct vbs_merging *m, int64_t n_done, int64_t n_profiles)
{
    const struct vbs_progress *progress = &m->options.progress;
    double share = n_profiles ? (double)n_done / (double)n_profiles : 1;
    double elapsed_s = vbs_clock_s() - m->start_s;

    if (progress->report)
        progress->report(progress->self, share, vbs_left_s(share, elapsed_s, elapsed_s),
                         m->from->shown);
}

/* ---- a profile ---- */

static enum vbs_status note_damage(struct vbs_merging *m, int64_t id, const char *model)
{
    m->body->report.n_damaged++;
    return vbs_merge_note(m, VBS_MERGE_DAMAGED, model, "", "", "profile %lld was left out: %s",
                          (long long)id, m->ctx ? m->ctx->detail : "it is damaged");
}

/* A profile that was just copied. */
struct added {
    struct vbs_merging *m;
    const struct vbs_profile *profile;
    const char *hash;
};

static enum vbs_status note_other(struct vbs_ctx *ctx, sqlite3_stmt *stmt, void *self)
{
    const struct added *added = self;
    const struct vbs_provenance *p = &added->profile->provenance;
    const char *other = (const char *)sqlite3_column_text(stmt, 1);

    if (!other)
        return vbs_no_memory(ctx);
    return vbs_merge_note(added->m, VBS_MERGE_PROVENANCE, p->model, added->hash, other,
                          "profiles %.12s of '%s' and %lld here are both of '%s', "
                          "one device and %s, but differ; both are kept",
                          added->hash, added->m->from->shown,
                          (long long)sqlite3_column_int64(stmt, 0), p->model, p->date);
}

/* Notes complete profiles of another content whose provenance is that of profile id, but for the
 * notes. A profile without a date has too little of a provenance. */
static enum vbs_status note_same_provenance(struct vbs_merging *m, int64_t id,
                                            const struct vbs_profile *profile, const char *hash)
{
    const struct vbs_provenance *p = &profile->provenance;
    struct added added = {m, profile, hash};

    if (p->date[0] == '\0')
        return VBS_OK;
#define SAME(member) #member " = ? AND "
#define TYPE(member) "t"
#define TEXT(member) p->member,
    return vbs_sql_walk(m->ctx, m->into, note_other, &added,
                        "SELECT id, coalesce(hash, '') FROM profile WHERE " VBS_PROVENANCE_MEASURED(
                            SAME) "date = ? AND threads = ? "
                                  "AND id <> ? AND completed IS NOT NULL ORDER BY hash",
                        VBS_PROVENANCE_MEASURED(TYPE) "tii", VBS_PROVENANCE_MEASURED(TEXT) p->date,
                        (int64_t)p->threads, id);
#undef TEXT
#undef TYPE
#undef SAME
}

/* Copies a profile of which the store has nothing. Where its samples turn out to be damaged, it is
 * taken back. */
static enum vbs_status add(struct vbs_merging *m, int64_t id, const struct vbs_profile *profile,
                           const char *hash)
{
    int64_t copy = 0, n_samples = m->body->report.n_samples;
    enum vbs_status status = vbs_merge_copy(m, id, profile, 0, &copy);

    if (vbs_merge_is_damage(m, status)) {
        m->body->report.n_samples = n_samples;
        VBS_TRY(note_damage(m, id, profile->provenance.model));
        return vbs_sql_run(m->ctx, m->into, "DELETE FROM profile WHERE id = ?", "i", copy);
    }
    VBS_TRY(status);
    m->body->report.n_profiles++;
    m->body->report.n_added++;
    return note_same_provenance(m, copy, profile, hash);
}

/* What a profile that is deleted leaves to its successor of the same id. */
struct replaced {
    int64_t completed;
    struct vbs_text tags; /* each ends with a newline, which no tag contains */
};

static enum vbs_status keep_tag(struct vbs_ctx *ctx, sqlite3_stmt *stmt, void *self)
{
    struct replaced *kept = self;

    vbs_text_addf(&kept->tags, "%s\n", (const char *)sqlite3_column_text(stmt, 0));
    return kept->tags.failed ? vbs_no_memory(ctx) : VBS_OK;
}

static enum vbs_status keep(struct vbs_merging *m, int64_t id, struct replaced *kept)
{
    VBS_TRY(vbs_sql_value(m->ctx, m->into, &kept->completed,
                          "SELECT completed FROM profile WHERE id = ?", "i", id));
    return vbs_sql_each(m->ctx, m->into, id, "SELECT tag FROM tag WHERE profile = ?", keep_tag,
                        kept);
}

static enum vbs_status give_back(struct vbs_merging *m, int64_t id, const struct replaced *kept)
{
    char *tag = kept->tags.data;

    while (tag && *tag) {
        char *end = strchr(tag, '\n');

        *end = '\0';
        VBS_TRY(vbs_sql_run(m->ctx, m->into, "INSERT INTO tag VALUES (?, ?)", "ti", tag, id));
        tag = end + 1;
    }
    return VBS_OK;
}

/* Puts the source's profile in the place of the store's own one of the same content, which has
 * fewer samples or others. A complete profile cannot be changed, but deleted. */
static enum vbs_status replace(struct vbs_merging *m, int64_t id, int64_t own,
                               const struct vbs_profile *profile)
{
    struct replaced kept = {0};
    enum vbs_status status = keep(m, own, &kept);

    if (status == VBS_OK)
        status = vbs_sql_run(m->ctx, m->into, "DELETE FROM profile WHERE id = ?", "i", own);
    if (status == VBS_OK)
        status = vbs_merge_copy(m, id, profile, kept.completed, &own);
    if (status == VBS_OK)
        status = give_back(m, own, &kept);
    vbs_text_clear(&kept.tags);
    m->body->report.n_improved++;
    return status;
}

/* Reads the evidence of the store's own profile, and keeps it where it had to be computed. */
static enum vbs_status read_own_evidence(struct vbs_merging *m, int64_t own,
                                         struct vbs_evidence *evidence)
{
    VBS_TRY(vbs_evidence_read(m->ctx, m->into, own, evidence));
    if (evidence->is_stored)
        return VBS_OK;
    return vbs_sql_run(m->ctx, m->into,
                       "UPDATE profile SET n_samples = ?, samples_hash = ? WHERE id = ?", "iti",
                       evidence->n_samples, evidence->hash, own);
}

/* Merges a profile that both stores have: the greater evidence is kept. */
static enum vbs_status unite(struct vbs_merging *m, int64_t id, int64_t own,
                             const struct vbs_profile *profile, const char *hash)
{
    struct vbs_evidence ours, theirs;
    enum vbs_status status;
    int order;

    vbs_merge_forget_failures(m);
    status = vbs_evidence_compute(m->ctx, m->from, id, &theirs);
    if (vbs_merge_is_damage(m, status))
        return note_damage(m, id, profile->provenance.model);
    VBS_TRY(status);
    VBS_TRY(read_own_evidence(m, own, &ours));
    m->body->report.n_profiles++;
    order = vbs_evidence_compare(&theirs, &ours);
    if (order > 0)
        VBS_TRY(replace(m, id, own, profile));
    if (order == 0 || ours.n_samples == 0 || theirs.n_samples == 0)
        return VBS_OK;
    return vbs_merge_note(m, VBS_MERGE_SAMPLES, profile->provenance.model, hash, hash,
                          "profile %.12s of '%s' has other samples in '%s' than here, %lld against "
                          "%lld; those of %s are kept",
                          hash, profile->provenance.model, m->from->shown,
                          (long long)theirs.n_samples, (long long)ours.n_samples,
                          order > 0 ? "the other store" : "this store");
}

/* Gives whether the store has the profile with the evidence that the source's row tells, so that
 * nothing has to be read. */
static enum vbs_status is_known(struct vbs_merging *m, int64_t id, const char *hash, bool *known)
{
    struct vbs_evidence ours, theirs;
    enum vbs_status status;
    int64_t own;
    int order;

    *known = false;
    if (hash[0] == '\0')
        return VBS_OK;
    VBS_TRY(vbs_rows_find_hash(m->ctx, m->into, hash, &own));
    if (own == 0)
        return VBS_OK;
    vbs_merge_forget_failures(m);
    status = vbs_evidence_read(m->ctx, m->from, id, &theirs);
    if (vbs_merge_is_damage(m, status))
        return VBS_OK;
    VBS_TRY(status);
    VBS_TRY(read_own_evidence(m, own, &ours));
    order = vbs_evidence_compare(&ours, &theirs);
    *known = order == 0 || (order > 0 && theirs.n_samples == 0);
    return VBS_OK;
}

static enum vbs_status merge_read(struct vbs_merging *m, int64_t id,
                                  const struct vbs_profile *profile)
{
    char hash[VBS_PROFILE_HASH_SIZE];
    int64_t own;

    vbs_profile_hash(profile, hash);
    VBS_TRY(vbs_rows_find_hash(m->ctx, m->into, hash, &own));
    vbs_merge_forget_failures(m);
    return own ? unite(m, id, own, profile, hash) : add(m, id, profile, hash);
}

static enum vbs_status merge_profile(struct vbs_merging *m, int64_t id, const char *hash,
                                     const char *model)
{
    struct vbs_profile *profile = NULL;
    enum vbs_status status;
    bool known;

    VBS_TRY(is_known(m, id, hash, &known));
    m->body->report.n_profiles += known;
    if (known)
        return VBS_OK;
    vbs_merge_forget_failures(m);
    status = vbs_rows_read(m->ctx, m->from, id, &profile);
    if (vbs_merge_is_damage(m, status))
        return note_damage(m, id, model);
    if (status == VBS_OK)
        status = merge_read(m, id, profile);
    vbs_profile_free(profile);
    return status;
}

/* ---- all ---- */

/* The profiles of the source, one after the other. */
struct listed {
    struct vbs_merging *m;
    int64_t n_done, n_profiles;
};

static enum vbs_status take_profile(struct vbs_ctx *ctx, sqlite3_stmt *stmt, void *self)
{
    struct listed *listed = self;
    const char *hash = (const char *)sqlite3_column_text(stmt, 1);
    const char *model = (const char *)sqlite3_column_text(stmt, 2);

    if (!hash || !model)
        return vbs_no_memory(ctx);
    report_progress(listed->m, listed->n_done++, listed->n_profiles);
    return merge_profile(listed->m, sqlite3_column_int64(stmt, 0), hash, model);
}

static enum vbs_status merge_profiles(struct vbs_merging *m)
{
    struct listed listed = {.m = m};

    VBS_TRY(vbs_sql_value(m->ctx, m->from, &listed.n_profiles,
                          "SELECT count(*) FROM profile WHERE completed IS NOT NULL", ""));
    VBS_TRY(vbs_sql_walk(m->ctx, m->from, take_profile, &listed,
                         "SELECT id, coalesce(hash, ''), model FROM profile "
                         "WHERE completed IS NOT NULL ORDER BY completed",
                         ""));
    report_progress(m, listed.n_done, listed.n_profiles);
    return VBS_OK;
}

static enum vbs_status note_unfinished(struct vbs_ctx *ctx, sqlite3_stmt *stmt, void *self)
{
    struct vbs_merging *m = self;
    const char *model = (const char *)sqlite3_column_text(stmt, 1);
    const char *owner = (const char *)sqlite3_column_text(stmt, 2);

    if (!model || !owner)
        return vbs_no_memory(ctx);
    m->body->report.n_unfinished++;
    return vbs_merge_note(
        m, VBS_MERGE_UNFINISHED, model, "", "",
        "profile %lld of '%s' in '%s' is %s; merge again when it is complete",
        (long long)sqlite3_column_int64(stmt, 0), model, m->from->shown,
        vbs_owner_is_alive(owner, sqlite3_column_int64(stmt, 3)) ? "being measured" : "unfinished");
}

static enum vbs_status merge_all(struct vbs_merging *m)
{
    VBS_TRY(merge_profiles(m));
    VBS_TRY(vbs_merge_tags(m));
    VBS_TRY(vbs_sql_walk(m->ctx, m->from, note_unfinished, m,
                         "SELECT id, model, coalesce(owner, ''), ? - touched FROM profile "
                         "WHERE completed IS NULL ORDER BY id",
                         "i", (int64_t)time(NULL)));
    VBS_TRY(vbs_merge_timings(m));
    return vbs_merge_studies(m);
}

/* Merges while the source stands still in one state, and no other process writes to the store. */
static enum vbs_status merge_states(struct vbs_merging *m)
{
    enum vbs_status status;

    VBS_TRY(vbs_sql_begin_read(m->ctx, m->from));
    status = vbs_sql_begin_write(m->ctx, m->into);
    if (status == VBS_OK)
        status = vbs_sql_end(m->ctx, m->into, merge_all(m));
    return vbs_sql_end(m->ctx, m->from, status);
}

/* Gives whether the file at path is that of store, be it by another name. */
static bool is_same_file(const struct vbs_store *store, const char *path)
{
    const char *own = sqlite3_db_filename(store->db, "main");
    struct stat a, b;

    return own && stat(own, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static enum vbs_status merge_file(struct vbs_merging *m, const char *from)
{
    enum vbs_status status;

    VBS_TRY(vbs_sql_open_unchanged(m->ctx, from, &m->from));
    status = merge_states(m);
    vbs_store_close(m->from);
    return status;
}

enum vbs_status vbs_store_merge(struct vbs_ctx *ctx, struct vbs_store *store, const char *from,
                                const struct vbs_merge_options *options,
                                struct vbs_merge_report **report)
{
    struct vbs_merging m = {.ctx = ctx, .into = store, .start_s = vbs_clock_s()};
    enum vbs_status status;

    VBS_TRY(vbs_options_read(ctx, "vbs_merge_options", options, &m.options, sizeof m.options));
    m.body = calloc(1, sizeof *m.body);
    if (!m.body)
        return vbs_no_memory(ctx);
    m.body->report.same_file = is_same_file(store, from);
    status = m.body->report.same_file ? VBS_OK : merge_file(&m, from);
    if (status != VBS_OK) {
        vbs_merge_report_free(&m.body->report);
        return status;
    }
    *report = &m.body->report;
    return VBS_OK;
}
