/*
 * vbslab/teach.h - profiles to teach with, a course, and exercises that judge their answers.
 *
 * An exercise is a small planning problem that a person can solve by hand. It follows from a level
 * and a seed alone, on every machine, and holds no solution: the judge searches for the optimum
 * each time. Its sizes are a few bytes, which its text calls units, and its times whole
 * milliseconds. An answer is a schedule (schedule.h); its member `model` names the exercise.
 *
 * Threads: exercises are immutable and may be shared; the calls keep nothing between them.
 */
#ifndef VBSLAB_TEACH_H
#define VBSLAB_TEACH_H

#include "vbslab/profile.h"
#include "vbslab/schedule.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- profiles to teach with ---- */

/* A built-in profile that shows one idea. Constant data of the library. */
struct vbs_teaching_profile {
    const char *name;
    const char *about;    /* what it shows, in one line */
    const char *options;  /* of `vbslab plan` and `vbslab compare`, with which it shows that */
    int64_t request;      /* samples, as the options have it */
    int64_t memory_bytes; /* the budget, as the options have it */
    enum vbs_weights weights;
};

/* Gives the profiles one after another, the simplest first; null after the last. */
const struct vbs_teaching_profile *vbs_teaching_profile_at(int index);

/* Loads one of them by its name; *profile is freed by vbs_profile_free. VBS_NOT_FOUND,
 * VBS_NO_MEMORY. */
enum vbs_status vbs_teaching_profile_load(struct vbs_ctx *ctx, const char *name,
                                          struct vbs_profile **profile) VBS_MUST_CHECK;

/* ---- the course ---- */

#define VBS_LESSONS         7 /* lessons are 1..VBS_LESSONS */
#define VBS_MAX_LESSON_NAME 80

/* A lesson. A plain value: its texts are constant data of the library. */
struct vbs_lesson {
    char title[VBS_MAX_LESSON_NAME]; /* one line, with the time that it takes */
    const char *text;                /* for terminals of 80 columns */
    const char *page;                /* the same as one page of HTML, with its pictures inside */
};

/* Gives lesson `number`, in the order of the course. VBS_NOT_FOUND. */
enum vbs_status vbs_lesson_open(struct vbs_ctx *ctx, int64_t number,
                                struct vbs_lesson *lesson) VBS_MUST_CHECK;

#define VBS_LESSON_FILE_SIZE 24

/* Writes the name that the page of a lesson has in a folder with all of them, "lesson-3.html"; of
 * 0, the page that lists them, "index.html". Returns name. */
char *vbs_lesson_file(int64_t number, char name[VBS_LESSON_FILE_SIZE]);

/* Makes the page of a lesson, or of 0 the list of all, for a folder with all of them: it links to
 * the list, and to the lessons before and behind it. *page is freed by the caller with free().
 * VBS_NOT_FOUND, VBS_NO_MEMORY. */
enum vbs_status vbs_lesson_linked_page(struct vbs_ctx *ctx, int64_t number,
                                       char **page) VBS_MUST_CHECK;

/* ---- exercises ---- */

#define VBS_EXERCISE_LEVELS   6 /* levels are 1..VBS_EXERCISE_LEVELS */
#define VBS_MAX_EXERCISE_SEED INT64_C(9000000000000000)

/* A planning problem with its optimum. Immutable, may be shared between threads; freed by
 * vbs_exercise_free. The optimum takes at least 5% less time than fbs-best; at the levels from 2 on
 * less than greedy-vbs, which has a schedule there; with weights inside the memory less than any
 * schedule that keeps all of them there. */
struct vbs_exercise {
    int level;
    int64_t seed;
    struct vbs_profile *profile; /* owned */
    int64_t request;             /* samples */
    int64_t memory_bytes;
    enum vbs_io io;
    enum vbs_weights weights;
    struct vbs_link copy; /* weights included: its source is in the profile; else {0} */
    double optimum_us;    /* no schedule takes less */
    double fbs_best_us;
    double greedy_us; /* HUGE_VAL: greedy-vbs has no schedule in this budget */
};

/* Gives what the problems of a level are like, in one line; null: there is no such level. */
const char *vbs_exercise_level_text(int level);

/* Makes the exercise of a level and a seed (0..VBS_MAX_EXERCISE_SEED). VBS_USAGE (out of range),
 * VBS_NO_MEMORY, VBS_INTERRUPTED. It draws problems until one has the properties above, and solves
 * each: some milliseconds. */
enum vbs_status vbs_exercise_new(struct vbs_ctx *ctx, int level, int64_t seed,
                                 struct vbs_exercise **exercise) VBS_MUST_CHECK;
/* Frees an exercise with its profile; null is allowed. */
void vbs_exercise_free(struct vbs_exercise *exercise);

/* Gives the text of the problem in Markdown, without the solution: *text is freed by the caller
 * with free(). VBS_NO_MEMORY. */
enum vbs_status vbs_exercise_text(struct vbs_ctx *ctx, const struct vbs_exercise *exercise,
                                  char **text) VBS_MUST_CHECK;

/* Makes an answer to start from: a valid schedule that fits, with batch 1 in every step and all
 * weights resident. *schedule is freed by vbs_schedule_free. */
enum vbs_status vbs_exercise_start(struct vbs_ctx *ctx, const struct vbs_exercise *exercise,
                                   struct vbs_schedule **schedule) VBS_MUST_CHECK;

/* Makes a schedule that takes the least time, for the teacher. *schedule is freed by
 * vbs_schedule_free. */
enum vbs_status vbs_exercise_solution(struct vbs_ctx *ctx, const struct vbs_exercise *exercise,
                                      struct vbs_schedule **schedule) VBS_MUST_CHECK;

/* Finds the level and the seed of the exercise that a schedule answers. VBS_INVALID: it answers
 * none. */
enum vbs_status vbs_exercise_of(struct vbs_ctx *ctx, const struct vbs_schedule *schedule,
                                int *level, int64_t *seed) VBS_MUST_CHECK;

/* Returns the number of the variant that has this seed in a sheet or a class (1..VBS_MAX_SHEET); 0:
 * no sheet has it. */
int vbs_exercise_variant(int64_t seed);

/* What the judge says of an answer. A plain value: copy it freely. */
struct vbs_exercise_verdict {
    bool is_schedule; /* all steps keep the order and have a row, and the request is finished */
    bool fits;        /* it is one, and no step exceeds the budget */
    int64_t step;     /* 1, 2, ...: the first step that breaks an order or the budget; 0: none does,
                         or the request is not finished */
    char reason[VBS_DETAIL_SIZE]; /* why, in one line; "" where it fits */
    char hint[VBS_DETAIL_SIZE];   /* what to look at next, in one line */
    /* Of a schedule: */
    double time_us;
    int64_t peak_bytes;
};

/*
 * Judges an answer by the replay, with the request, the budget and the link of the exercise, and
 * compares it with the optimum. A wrong answer is a result, not a failure. The hint names a step,
 * and what kind of change would help there: it never names the batch or gives further steps.
 * VBS_INVALID: the schedule answers another exercise, or has another request, budget, io or
 * weights, or comes from a version of vbslab whose exercise of this seed was another one.
 * VBS_NO_MEMORY, VBS_INTERRUPTED. Some milliseconds: it searches from the states of the answer.
 */
enum vbs_status vbs_exercise_judge(struct vbs_ctx *ctx, const struct vbs_exercise *exercise,
                                   const struct vbs_schedule *answer,
                                   struct vbs_exercise_verdict *verdict) VBS_MUST_CHECK;

#define VBS_MAX_SHEET 999 /* variants of one sheet */

/* A sheet of exercises and the key to it, in Markdown. Freed by vbs_exercise_sheet_clear. */
struct vbs_exercise_sheet {
    char *text; /* the problems */
    char *key;  /* of each the optimal time and a schedule that takes it */
};

/* Makes a sheet of n (1..VBS_MAX_SHEET) variants of a level: variant i = 1, 2, ... has the seed
 * 1000 seed + i. VBS_USAGE (out of range), VBS_NO_MEMORY, VBS_INTERRUPTED. */
enum vbs_status vbs_exercise_sheet_make(struct vbs_ctx *ctx, int level, int64_t seed, int n,
                                        struct vbs_exercise_sheet *sheet) VBS_MUST_CHECK;
/* Frees the texts of a sheet, which is {0} then. */
void vbs_exercise_sheet_clear(struct vbs_exercise_sheet *sheet);

/* What one student of a class gets. */
struct vbs_exercise_handout {
    char *file;                 /* a name for files, without an ending: "007-Ann_Lee" */
    char *text;                 /* the problem, with the student's name, in Markdown */
    struct vbs_schedule *start; /* an answer to start from, to be saved as FILE.json */
};

/* A problem for each student of a class, and the key to all. Freed by vbs_exercise_class_clear. */
struct vbs_exercise_class {
    int n;
    struct vbs_exercise_handout *handouts; /* in the order of the names */
    char *key; /* as that of a sheet, with the students' names and files */
};

/*
 * Makes a variant of a level for each of n (1..VBS_MAX_SHEET) students, with the seeds of
 * vbs_exercise_sheet_make. Names are UTF-8, and may be any text: in Markdown they are plain text,
 * and names of files, which begin with the variant's number, have letters, digits, dashes and
 * underscores. VBS_USAGE (out of range), VBS_NO_MEMORY, VBS_INTERRUPTED.
 */
enum vbs_status vbs_exercise_class_make(struct vbs_ctx *ctx, int level, int64_t seed,
                                        const char *const *names, int n,
                                        struct vbs_exercise_class *made) VBS_MUST_CHECK;
/* Frees all of a class, which is {0} then. */
void vbs_exercise_class_clear(struct vbs_exercise_class *made);

#ifdef __cplusplus
}
#endif
#endif
