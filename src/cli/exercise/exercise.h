/* What the files of the command exercise share. */
#ifndef VBS_CLI_EXERCISE_EXERCISE_H
#define VBS_CLI_EXERCISE_EXERCISE_H

#include "base/text.h"
#include "cli/common/common.h"

#include <jansson.h>

/* The exercise that a command line names. */
struct exercise_words {
    int64_t level; /* 1 where it is not given */
    int64_t seed;
    bool names_seed, names_level;
};

/* ---- judge.c ---- */

#define EXERCISE_STEPS_SIZE 33 /* of the text of a hash */

/* An answer that was judged. */
struct exercise_judged {
    struct vbs_exercise *exercise; /* owned; null: the file names none that could be made */
    struct vbs_exercise_verdict verdict;
    char steps[EXERCISE_STEPS_SIZE]; /* a hash of the steps; "": the file could not be read */
    int named_variant; /* the variant of a class by which the file is called, as handouts are, where
                          the answer is to another one; 0: there is no such contradiction */
};

/* Reads the answer in a file ("-": standard input) and judges it by the exercise that the command
 * line names, or else the one that the answer does. Where that fails, the exercise is there if it
 * was found; the caller clears *judged, which is {0} before, in any case. */
enum vbs_status exercise_judge(struct cli *cli, const struct exercise_words *words,
                               const char *path, struct exercise_judged *judged) VBS_MUST_CHECK;
void exercise_judged_clear(struct exercise_judged *judged);

/* Gives whether an answer takes the least time of all schedules that fit. */
bool exercise_is_optimal(const struct exercise_judged *judged);

/* Gives how far the time of an answer that fits is above the optimum. */
double exercise_gap_percent(const struct exercise_judged *judged);

/* Puts a verdict into a JSON object. */
void exercise_put_verdict(json_t *object, const struct exercise_judged *judged, bool *failed);
/* Puts the variant by which the file is called, or null. */
void exercise_put_named(json_t *object, const struct exercise_judged *judged, bool *failed);

/* ---- twins.c ---- */

/* The answers that were judged so far, among which one may be there under several names. Begin with
 * {0}. */
struct exercise_twins {
    struct exercise_twin *answers;
    int64_t capacity;
    int n;
};

/* An answer of another file to the same exercise. */
struct exercise_twin {
    char *file; /* owned */
    int level;
    int64_t seed;
    char steps[EXERCISE_STEPS_SIZE];
};

/* Finds the first answer so far to the same exercise, one with the same steps before others, and
 * adds this answer; *twin is null where there is none, or the exercise is not known, and holds
 * until the next call. VBS_NO_MEMORY. O(answers). */
enum vbs_status exercise_twins_add(struct vbs_ctx *ctx, struct exercise_twins *twins,
                                   const char *file, const struct exercise_judged *judged,
                                   const struct exercise_twin **twin) VBS_MUST_CHECK;
void exercise_twins_clear(struct exercise_twins *twins);

/* ---- check.c, class.c ---- */

enum exercise_form { EXERCISE_TEXT, EXERCISE_JSON, EXERCISE_CSV };

/* Judges one answer, and prints verdict and hint, or the verdict as JSON. VBS_INVALID: it is no
 * schedule of the exercise; VBS_OVER_BUDGET: it exceeds the memory. */
enum vbs_status exercise_check_one(struct cli *cli, const struct exercise_words *words,
                                   const char *path, enum exercise_form form) VBS_MUST_CHECK;

/* Judges the answers of a class, and prints a row for each, also for one that cannot be read.
 * VBS_INVALID: some are no schedules; VBS_OVER_BUDGET: all are, but some exceed the memory. */
enum vbs_status exercise_check_class(struct cli *cli, const struct exercise_words *words,
                                     const char *const *paths, int n,
                                     enum exercise_form form) VBS_MUST_CHECK;

/* ---- sheet.c ---- */

/* Writes the sheet that the options ask for, and its key. */
enum vbs_status exercise_write_sheet(struct cli *cli, const char *const *values,
                                     const struct exercise_words *words) VBS_MUST_CHECK;

/* Writes the key of "sheet.md", "sheet-key.md", into text; of a folder "class", "class-key.md". */
void exercise_name_key(const char *output, bool is_folder, struct vbs_text *text);

/* ---- students.c ---- */

/* Writes a folder with a problem and an answer to start from for each student of a list, and the
 * key. */
enum vbs_status exercise_write_class(struct cli *cli, const char *const *values,
                                     const struct exercise_words *words) VBS_MUST_CHECK;

#endif
