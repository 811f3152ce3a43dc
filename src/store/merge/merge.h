/* A merge of one store into another. Internal to the room. */
#ifndef VBS_STORE_MERGE_MERGE_H
#define VBS_STORE_MERGE_MERGE_H

#include "store/rows.h"

#include "base/sha256.h"

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

/* The content of some rows, by which they are compared with those of another store. */
struct vbs_merge_content {
    unsigned char digest[VBS_SHA256_BYTES];
};

/* ---- report.c ---- */

/* Adds a note to the report; other and hash may be "". */
enum vbs_status vbs_merge_note(struct vbs_merging *m, enum vbs_merge_note_kind kind,
                               const char *name, const char *hash, const char *other,
                               const char *format, ...) VBS_PRINTF(6, 7) VBS_MUST_CHECK;

/* Gives whether a call failed because a profile of the source is damaged, and not a file: status is
 * its outcome, and the failures before it had been forgotten. */
bool vbs_merge_is_damage(const struct vbs_merging *m, enum vbs_status status);
void vbs_merge_forget_failures(struct vbs_merging *m);

/* ---- copy.c, tags.c ---- */

/* Copies the profile id of the source, whose content is profile, with its samples into the other
 * store, where it gets the id *copy and the place completed in the order of completion (0: new
 * ones), and is complete. */
enum vbs_status vbs_merge_copy(struct vbs_merging *m, int64_t id, const struct vbs_profile *profile,
                               int64_t completed, int64_t *copy) VBS_MUST_CHECK;

/* Copies the tags of the source. All profiles must have been copied. */
enum vbs_status vbs_merge_tags(struct vbs_merging *m) VBS_MUST_CHECK;

/* ---- rows.c: rows as values, whatever they mean ---- */

/* Adds all values of the rows that a query with the parameter id gives, in their order. */
enum vbs_status vbs_merge_hash(struct vbs_merging *m, struct vbs_store *store, const char *sql,
                               int64_t id, struct vbs_sha256 *hash) VBS_MUST_CHECK;

/* Copies the rows that the query select, with the parameter id, gives in the source: write is run
 * for each, and has a parameter for copy, and then one for each column. *n_rows, where not null, is
 * raised by their number. */
enum vbs_status vbs_merge_copy_rows(struct vbs_merging *m, const char *select, int64_t id,
                                    const char *write, int64_t copy,
                                    int64_t *n_rows) VBS_MUST_CHECK;

/* Runs a statement in the store into which is merged, with the parameter id and then the values of
 * n columns of row from first on. *value, where not null, is the first column of its first row, or
 * 0 where it has none. */
enum vbs_status vbs_merge_run(struct vbs_merging *m, const char *sql, int64_t id, sqlite3_stmt *row,
                              int first, int n, int64_t *value) VBS_MUST_CHECK;

/* Does work, which writes. Where the store refuses a value that the source has, because a sound
 * store could not have it, nothing of the work stays, and *damaged is true. */
enum vbs_status vbs_merge_try(struct vbs_merging *m,
                              enum vbs_status (*work)(struct vbs_merging *m, void *self),
                              void *self, bool *damaged) VBS_MUST_CHECK;

/* ---- timings.c, studies.c, files.c ---- */

/* Copies the kernel times of the source. */
enum vbs_status vbs_merge_timings(struct vbs_merging *m) VBS_MUST_CHECK;

/* Copies the studies of the source, and their trials with their networks. */
enum vbs_status vbs_merge_studies(struct vbs_merging *m) VBS_MUST_CHECK;

/* Copies the network of a trial, which the source calls file, from the source's folder of the study
 * into that of the other store, whole or not at all. *path, which the caller frees, is then its
 * path there; null where the source's folder has no such file, or no folders are given. */
enum vbs_status vbs_merge_network(struct vbs_merging *m, const char *study, int64_t number,
                                  const char *file, char **path) VBS_MUST_CHECK;

/* Removes the checkpoint of a trial, with which another training cannot go on. */
enum vbs_status vbs_merge_drop_checkpoint(const struct vbs_merging *m, const char *study,
                                          int64_t number) VBS_MUST_CHECK;

/* Gives whether a name can be that of a file or folder, and leads nowhere else. */
bool vbs_merge_is_file_name(const char *name);

#endif
