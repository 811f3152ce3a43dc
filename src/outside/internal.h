/* Functions that the files of this room share. Internal to the room. */
#ifndef VBS_OUTSIDE_INTERNAL_H
#define VBS_OUTSIDE_INTERNAL_H

#include "base/text.h"
#include "plan/problem/problem.h"
#include "vbslab/planner.h"

#include <stdatomic.h>

/* A planner from outside. The first member is what the plan room sees of it. */
struct vbs_outside {
    struct vbs_planner planner;
    atomic_int n_users; /* the caller of vbs_planner_load and the solvers; the last one frees it */
    char *name;         /* planner.name */
    char *path;
    int64_t memory_bytes;                       /* of a process; 0: not limited */
    void *object;                               /* from dlopen; null: a program */
    const struct vbs_planner_object *functions; /* of the object */
};

/* Takes a planner for one more user, and gives it back. */
void vbs_outside_hold(struct vbs_outside *outside);
void vbs_outside_release(struct vbs_outside *outside);

/* Fill in the functions of a planner that has its name and path, and check its file. */
enum vbs_status vbs_outside_program(struct vbs_ctx *ctx,
                                    struct vbs_outside *outside) VBS_MUST_CHECK;
enum vbs_status vbs_outside_object(struct vbs_ctx *ctx, struct vbs_outside *outside) VBS_MUST_CHECK;

/* Gives the seconds that a planner may take for each budget. */
double vbs_outside_limit_s(const struct vbs_task *task);

/* ---- Judging ---- */

/* Judges a schedule for a budget by replay and fills in the figures of *draft, without steps.
 * VBS_INVALID, VBS_OVER_BUDGET: the detail does not name the planner. */
enum vbs_status vbs_outside_judge(struct vbs_ctx *ctx, const struct vbs_task *task,
                                  const struct vbs_schedule *schedule, int64_t memory_bytes,
                                  struct vbs_draft *draft) VBS_MUST_CHECK;

/* Lists the budgets of a frontier (vbs_solver_frontier). The caller frees *bytes. */
enum vbs_status vbs_outside_thresholds(struct vbs_ctx *ctx, const struct vbs_task *task,
                                       int64_t **bytes, int *n) VBS_MUST_CHECK;

/* Checks that the file of a shared object has all that its header says; the loader checks the rest.
 * VBS_IO: it is cut. O(segments). */
enum vbs_status vbs_outside_check_whole(struct vbs_ctx *ctx,
                                        const struct vbs_outside *outside) VBS_MUST_CHECK;

/* ---- Programs ---- */

/* Writes the problem as "vbslab-problem-1" (docs/formats.md). budgets: [n]. VBS_NO_MEMORY. */
enum vbs_status vbs_outside_problem(struct vbs_ctx *ctx, const struct vbs_outside *outside,
                                    const struct vbs_task *task, const int64_t *budgets, int n,
                                    struct vbs_text *text) VBS_MUST_CHECK;

/* A run of a program. */
struct vbs_outside_run {
    const char *name; /* of the planner, for messages */
    const char *path;
    const char *input; /* standard input, n_input bytes */
    size_t n_input;
    int n_lines;          /* lines that it has to answer */
    size_t most_bytes;    /* of a line */
    double time_limit_s;  /* of all */
    int64_t memory_limit; /* bytes of each process; 0: not limited */
    struct vbs_progress progress;
    /* Takes line number index, from 0; a failure ends the run and is its result. */
    enum vbs_status (*take)(struct vbs_ctx *ctx, void *self, int index, const char *line,
                            size_t length);
    void *self;
};

/* Runs a program until it has ended, or ends it and all processes of its group. VBS_IO: it cannot
 * be run. VBS_LIBRARY: it died, or took too long. VBS_FORMAT: it answered too many, too few or too
 * long lines. VBS_INTERRUPTED, VBS_NO_MEMORY, and errors of take. */
enum vbs_status vbs_outside_run_program(struct vbs_ctx *ctx,
                                        const struct vbs_outside_run *run) VBS_MUST_CHECK;

#endif
