/*
 * Tags of merged stores. A tag that names different profiles goes to the one measured last, of one
 * date to the greater content hash: a maximum, so that the order of merges does not matter.
 */
#include "store/merge/merge.h"

#include "base/fail.h"

#include <string.h>

/* A profile that has a tag. */
struct tagged {
    int64_t id; /* in the store into which is merged; 0: none */
    char hash[VBS_PROFILE_HASH_SIZE];
    char date[40];
};

static int compare(const struct tagged *a, const struct tagged *b)
{
    int order = strcmp(a->date, b->date);

    return order ? order : strcmp(a->hash, b->hash);
}

/* Reads the date of profile id, and its content. */
static enum vbs_status read_tagged(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                   struct tagged *tagged)
{
    enum vbs_status status;
    sqlite3_stmt *stmt;
    bool row = false;

    VBS_TRY(vbs_rows_content(ctx, store, id, tagged->hash));
    VBS_TRY(vbs_sql_prepare(ctx, store, "SELECT date FROM profile WHERE id = ?", &stmt));
    status = vbs_sql_bind(ctx, store, stmt, "i", id);
    if (status == VBS_OK)
        status = vbs_sql_step(ctx, store, stmt, &row);
    if (status == VBS_OK && row) {
        const char *date = (const char *)sqlite3_column_text(stmt, 0);

        status = date ? VBS_OK : vbs_no_memory(ctx);
        strncpy(tagged->date, date ? vbs_rows_date(date) : "", sizeof tagged->date - 1);
    }
    sqlite3_finalize(stmt);
    return status;
}

static enum vbs_status give(struct vbs_merging *m, const char *tag, int64_t id)
{
    m->body->report.n_tags++;
    return vbs_sql_run(m->ctx, m->into, "INSERT OR REPLACE INTO tag VALUES (?, ?)", "ti", tag, id);
}

static enum vbs_status settle(struct vbs_merging *m, const char *tag, const struct tagged *ours,
                              const struct tagged *theirs)
{
    bool moves = compare(theirs, ours) > 0;
    const struct tagged *kept = moves ? theirs : ours, *other = moves ? ours : theirs;

    if (moves)
        VBS_TRY(give(m, tag, theirs->id));
    return vbs_merge_note(m, VBS_MERGE_TAG, tag, kept->hash, other->hash,
                          "tag '%s' named profile %.12s here and %.12s in '%s'; it %s %.12s, %s",
                          tag, ours->hash, theirs->hash, m->from->shown,
                          moves ? "names now" : "still names", kept->hash,
                          strcmp(kept->date, other->date) ? "which was measured last"
                                                          : "of one date the greater hash");
}

/* Merges one tag, which profile id of the source has. */
static enum vbs_status merge_tag(struct vbs_merging *m, const char *tag, int64_t id)
{
    struct tagged ours = {0}, theirs = {0};
    enum vbs_status status;

    if (vbs_rows_check_tag(NULL, tag) != VBS_OK)
        return vbs_merge_note(m, VBS_MERGE_TAG, tag, "", "",
                              "'%.80s' in '%s' cannot be a tag, and was left out", tag,
                              m->from->shown);
    vbs_merge_forget_failures(m);
    status = read_tagged(m->ctx, m->from, id, &theirs);
    if (vbs_merge_is_damage(m, status))
        return VBS_OK; /* the profile was left out, and noted */
    VBS_TRY(status);
    VBS_TRY(vbs_rows_find_hash(m->ctx, m->into, theirs.hash, &theirs.id));
    if (theirs.id == 0)
        return VBS_OK; /* the same */
    VBS_TRY(vbs_sql_value(m->ctx, m->into, &ours.id,
                          "SELECT coalesce((SELECT profile FROM tag WHERE tag = ?), 0)", "t", tag));
    if (ours.id == 0)
        return give(m, tag, theirs.id);
    VBS_TRY(read_tagged(m->ctx, m->into, ours.id, &ours));
    return strcmp(ours.hash, theirs.hash) == 0 ? VBS_OK : settle(m, tag, &ours, &theirs);
}

static enum vbs_status take_tag(struct vbs_ctx *ctx, sqlite3_stmt *stmt, void *self)
{
    const char *tag = (const char *)sqlite3_column_text(stmt, 0);

    return tag ? merge_tag(self, tag, sqlite3_column_int64(stmt, 1)) : vbs_no_memory(ctx);
}

enum vbs_status vbs_merge_tags(struct vbs_merging *m)
{
    return vbs_sql_walk(m->ctx, m->from, take_tag, m,
                        "SELECT tag, id FROM tag JOIN profile ON profile = id "
                        "WHERE completed IS NOT NULL ORDER BY tag",
                        "");
}
