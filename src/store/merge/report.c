/* What a merge tells of its course. */
#include "store/merge/merge.h"

#include "base/fail.h"
#include "base/grow.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *vbs_merge_note_word(enum vbs_merge_note_kind kind)
{
#define WORD(name, word) word,
    static const char *const WORDS[] = {VBS_MERGE_NOTE_LIST(WORD)};
#undef WORD

    return (unsigned)kind < VBS_N_MERGE_NOTES ? WORDS[kind] : "";
}

void vbs_merge_report_free(struct vbs_merge_report *report)
{
    struct vbs_merge_body *body = (struct vbs_merge_body *)report;

    if (!body)
        return;
    free(body->notes);
    vbs_arena_clear(&body->arena);
    free(body);
}

enum vbs_status vbs_merge_note(struct vbs_merging *m, enum vbs_merge_note_kind kind,
                               const char *name, const char *hash, const char *other,
                               const char *format, ...)
{
    struct vbs_merge_body *body = m->body;
    struct vbs_merge_note note = {.kind = kind,
                                  .name = vbs_arena_strdup(&body->arena, name),
                                  .hash = vbs_arena_strdup(&body->arena, hash),
                                  .other = vbs_arena_strdup(&body->arena, other)};
    char text[VBS_DETAIL_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    note.text = vbs_arena_strdup(&body->arena, text);
    if (!note.name || !note.hash || !note.other || !note.text)
        return vbs_no_memory(m->ctx);
    VBS_TRY(vbs_grow(m->ctx, &body->notes, &body->max_notes, (int64_t)body->report.n_notes + 1,
                     sizeof note));
    body->notes[body->report.n_notes++] = note;
    body->report.notes = body->notes;
    body->report.n_conflicts +=
        kind != VBS_MERGE_UNFINISHED && kind != VBS_MERGE_DAMAGED && kind != VBS_MERGE_NETWORK;
    return VBS_OK;
}

void vbs_merge_forget_failures(struct vbs_merging *m)
{
    m->from->rc = m->into->rc = SQLITE_OK;
}

bool vbs_merge_is_damage(const struct vbs_merging *m, enum vbs_status status)
{
    return status == VBS_STORE && m->from->rc == SQLITE_OK && m->into->rc == SQLITE_OK;
}
