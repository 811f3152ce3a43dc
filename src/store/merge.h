/* A merge of one store into another. Internal to the room. */
#ifndef VBS_STORE_MERGE_H
#define VBS_STORE_MERGE_H

#include "store/rows.h"

/* The memory behind a report. The public struct comes first. */
struct vbs_merge_body {
    struct vbs_merge_report report;
    struct vbs_arena arena; /* texts */
    struct vbs_merge_note *notes;
    int64_t max_notes;
};

struct vbs_merging {
    struct vbs_ctx *ctx;
    struct vbs_store *into, *from; /* each in a transaction */
    struct vbs_merge_body *body;
    struct vbs_merge_options options;
    double start_s;
};

/* ---- merge_report.c ---- */

/* Adds a note to the report; other and hash may be "". */
enum vbs_status vbs_merge_note(struct vbs_merging *m, enum vbs_merge_note_kind kind,
                               const char *name, const char *hash, const char *other,
                               const char *format, ...) VBS_PRINTF(6, 7) VBS_MUST_CHECK;

/* Gives whether a call failed because a profile of the source is damaged, and not a file: status is
 * its outcome, and the failures before it had been forgotten. */
bool vbs_merge_is_damage(const struct vbs_merging *m, enum vbs_status status);
void vbs_merge_forget_failures(struct vbs_merging *m);

/* ---- merge_copy.c, merge_tags.c ---- */

/* Copies the profile id of the source, whose content is profile, with its samples into the other
 * store, where it gets the id *copy and the place completed in the order of completion (0: new
 * ones), and is complete. */
enum vbs_status vbs_merge_copy(struct vbs_merging *m, int64_t id, const struct vbs_profile *profile,
                               int64_t completed, int64_t *copy) VBS_MUST_CHECK;

/* Copies the tags of the source. All profiles must have been copied. */
enum vbs_status vbs_merge_tags(struct vbs_merging *m) VBS_MUST_CHECK;

#endif
