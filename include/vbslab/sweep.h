/*
 * vbslab/sweep.h - many runs of the program, described by lists that are multiplied out, shared
 * among processes and machines.
 *
 * A description (a TOML file, see docs/sweeps.md) becomes tasks. A task is a command line of the
 * program with a name that is derived from its content: its words and the contents of the files
 * that it reads. A folder that all workers see holds for each task the result, which appears there
 * whole or not at all, or the mark that the task failed. A worker claims a task with a file before
 * it runs it, so that no task runs twice at once; a claim whose owner has vanished is found and
 * taken over. A worker can be killed at any moment: what it had finished is kept, and what it was
 * running is run again by whoever comes next.
 *
 * Threads: one sweep per thread, because it remembers contents of files.
 */
#ifndef VBSLAB_SWEEP_H
#define VBSLAB_SWEEP_H

#include "vbslab/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_SWEEP_MAX_TASKS ((int64_t)1 << 24) /* of a description */
#define VBS_SWEEP_NAME_SIZE 17                 /* bytes of a task's name: 16 digits and the end */

/* A description, and where its results are. */
struct vbs_sweep;

/* A group of tasks: those that one [[task]] of the description stands for. */
struct vbs_sweep_group {
    const char *name;
    const char *ending; /* of the file with the standard output: "json", "csv" or "txt" */
    int exclusive;      /* not 0: its tasks run alone on their machine */
    int level; /* 0, or one more than the highest level of the groups whose results it reads */
    int64_t first, n_tasks; /* its tasks have the indexes first..first + n_tasks - 1 */
};

/* A view of a sweep, which owns everything here. Groups are in the order of their levels. */
struct vbs_sweep_info {
    const char *name;
    const char *file;    /* the description, as an absolute path */
    const char *folder;  /* in which commands run: that of the description */
    const char *results; /* the folder of results, as an absolute path */
    int64_t n_tasks;     /* with equal ones */
    int n_groups;
    const struct vbs_sweep_group *groups;
    int n_slurm_options;
    const char *const *slurm_options; /* words for sbatch */
    int64_t slurm_array;              /* elements of an array at most; 0: not given */
};

/* A task. */
struct vbs_sweep_task {
    int64_t index;
    int group;
    char name[VBS_SWEEP_NAME_SIZE];
    char **words; /* the command line without the program; null after the last */
};

/* X(NAME, word): what is known of a task. Equal: an earlier task has the same content and stands
 * for both. Blocked: it reads the result of a task that failed. */
#define VBS_SWEEP_STATE_LIST(X)                                                                    \
    X(LEFT, "left")                                                                                \
    X(RUNNING, "running")                                                                          \
    X(DONE, "done")                                                                                \
    X(FAILED, "failed")                                                                            \
    X(BLOCKED, "blocked")                                                                          \
    X(EQUAL, "equal")

#define VBS_SWEEP_ENUM(name, word) VBS_SWEEP_##name,
/* The states of VBS_SWEEP_STATE_LIST. */
enum vbs_sweep_state { VBS_SWEEP_STATE_LIST(VBS_SWEEP_ENUM) VBS_N_SWEEP_STATES };
#undef VBS_SWEEP_ENUM

/* Gives the word of a state. */
const char *vbs_sweep_state_word(enum vbs_sweep_state state);

/* Reads a description and checks all of it but the files that its tasks read. VBS_IO, VBS_FORMAT
 * (unknown keys with the nearest one, lists that no command names, groups that read each other's
 * results in a circle), VBS_NO_MEMORY. The caller frees *sweep. Complexity: O(size of the file). */
enum vbs_status vbs_sweep_load(struct vbs_ctx *ctx, const char *path,
                               struct vbs_sweep **sweep) VBS_MUST_CHECK;

/* Frees a sweep; null is allowed. */
void vbs_sweep_free(struct vbs_sweep *sweep);

/* Gives a view of a sweep, valid as long as it. */
const struct vbs_sweep_info *vbs_sweep_info(const struct vbs_sweep *sweep);

/* Makes the task of an index (0..n_tasks - 1), which the caller clears. Each file that it reads is
 * read once for the sweep. VBS_IO: such a file cannot be read; VBS_USAGE: no such index.
 * Complexity: O(words) for each group whose results it reads. */
enum vbs_status vbs_sweep_expand(struct vbs_ctx *ctx, struct vbs_sweep *sweep, int64_t index,
                                 struct vbs_sweep_task *task) VBS_MUST_CHECK;

/* Frees what a task owns. */
void vbs_sweep_task_clear(struct vbs_sweep_task *task);

/* Finds the task "INDEX-NAME". VBS_USAGE: malformed, or the description or a file has changed since
 * the task was named so. */
enum vbs_status vbs_sweep_find(struct vbs_ctx *ctx, struct vbs_sweep *sweep, const char *word,
                               int64_t *index) VBS_MUST_CHECK;

/* Counts of tasks by state. */
struct vbs_sweep_counts {
    int64_t n[VBS_N_SWEEP_STATES];
};

/* Is called for a task in the order of the indexes. A status other than VBS_OK ends the walk. */
typedef enum vbs_status vbs_sweep_visit(void *self, int64_t index, const char *name,
                                        enum vbs_sweep_state state);

/* Looks at the folder of results, and calls visit (null: no function) for each task; running are
 * tasks that are claimed and whose owner is not known to be gone. *counts has them all. Complexity:
 * O(n log n) for the tasks and the files of the folder. VBS_IO, VBS_NO_MEMORY. */
enum vbs_status vbs_sweep_look(struct vbs_ctx *ctx, struct vbs_sweep *sweep, vbs_sweep_visit *visit,
                               void *self, struct vbs_sweep_counts *counts) VBS_MUST_CHECK;

/* A task that was just done or has failed. */
struct vbs_sweep_end {
    const struct vbs_sweep_task *task;
    enum vbs_sweep_state state; /* done or failed */
    int exit_code;              /* of the command; below 0: it was ended by the signal -exit_code */
};

/* A process whose task was taken over. */
struct vbs_sweep_silence {
    const char *task; /* name */
    const char *host; /* where the process was started */
    int64_t process;  /* id there; 0: not known */
    double patience_s;
};

/* How a sweep is run. Members that are 0 stand for defaults. */
struct vbs_sweep_options {
    size_t struct_size;
    const char *program;  /* that runs the commands; null: the running program */
    int jobs;             /* commands at once (default 1) */
    int retry;            /* not 0: tasks that have failed before are run again */
    const int64_t *tasks; /* indexes of the tasks to run; null: all */
    int64_t n_tasks;
    void *self;
    /* Is called after each task that this call ended, if not null. */
    void (*ended)(void *self, const struct vbs_sweep_end *end);
    /* Is called several times a second, if not null. waiting: nothing is left but tasks that
     * other processes run. */
    void (*progress)(void *self, const struct vbs_sweep_counts *counts, int waiting);
    /* Is called, if not null, when a task is taken over from a process that has given no sign for
     * the sweep's patience, here or on another machine. */
    void (*taken_over)(void *self, const struct vbs_sweep_silence *silence);
};

/*
 * Runs the tasks that are left, and those whose results they read, and returns when each is done,
 * has failed, or is blocked, also where another process ran it; *counts tells which. Tasks that run
 * alone have the machine to themselves among all processes of the program there: other commands are
 * stopped (SIGSTOP) meanwhile. VBS_INTERRUPTED: the commands were ended and their claims given
 * back. VBS_IO: the folder of results cannot be written, for instance because the disk is full;
 * tasks that were running are then left.
 */
enum vbs_status vbs_sweep_run(struct vbs_ctx *ctx, struct vbs_sweep *sweep,
                              const struct vbs_sweep_options *options,
                              struct vbs_sweep_counts *counts) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
