/*
 * Declarations that the files of the command compare share, for --execute. In the order of work:
 * execute.c finds the network and goes over the budgets, keep.c keeps the schedules of the
 * comparison, prepare.c makes the executors of a budget, each of which may be of several planners.
 */
#ifndef VBS_CLI_COMPARE_COMPARE_H
#define VBS_CLI_COMPARE_COMPARE_H

#include "cli/common/common.h"
#include "schedule/same_steps.h"
#include "cli/run/run.h"

/* A schedule of the comparison. */
struct kept_plan {
    const struct vbs_planner *planner;
    int64_t memory_bytes;
    double predicted_us; /* per sample, by the judge */
    struct vbs_schedule *schedule;
};

struct kept_plans {
    struct kept_plan *at;
    int64_t n, capacity;
};

/* A planner at one budget. */
struct entrant {
    const struct vbs_planner *planner;
    struct vbs_schedule *schedule; /* that was placed */
    double predicted_us;           /* per sample */
    int executor;                  /* the one that runs its schedule; -1: it could not be placed */
};

/* The planners at one budget that have a plan, and their executors, of which each is first made for
 * an entrant. */
struct entrants {
    struct entrant *at;
    int n;
    struct vbs_exec **execs; /* [n_execs] */
    int *owners;             /* [n_execs] the entrant of each */
    int n_execs;
    int baselines[2]; /* the entrants that are fbs and fbs-best; -1: it is none */
};

/* A planner's solver, for plans of less memory. */
struct opened_solver {
    const struct vbs_planner *planner;
    struct vbs_solver *solver;
};

/* The execution of a comparison. Begin with {0}. */
struct execution {
    double seconds; /* 0: nothing is executed */
    struct run_job subject;
    struct kept_plans plans;
    const struct vbs_problem *problem;
    const struct vbs_compare_options *options;
    struct opened_solver *solvers;
    int64_t n_solvers, max_solvers;
    struct vbs_executed_row *rows;
    int n_budgets, n_executed; /* budgets; those that were executed before somebody ended it */
    struct vbs_compare_executed executed;
};

/* --- execute.c --- */

/* Reads --execute. VBS_USAGE. */
enum vbs_status compare_read_execution(struct cli *cli, const char *const *values,
                                       struct execution *execution) VBS_MUST_CHECK;

/* Executes the schedules that were kept of compare, and sets compare->executed. An interruption
 * ends it without a failure, which compare_end_execution gives after the results. Errors of placing
 * and executing. */
enum vbs_status compare_execute(struct execution *execution, const struct cli_compared *one,
                                struct vbs_compare *compare) VBS_MUST_CHECK;

/* VBS_INTERRUPTED where the execution was interrupted; else VBS_OK. */
enum vbs_status compare_end_execution(const struct execution *execution) VBS_MUST_CHECK;
void compare_clear_execution(struct execution *execution);

/* --- keep.c --- */

/* A watcher of comparisons (vbs_compare_watcher), whose self is struct kept_plans. */
enum vbs_status compare_keep_plan(struct vbs_ctx *ctx, void *self,
                                  const struct vbs_compare_row *row,
                                  const struct vbs_schedule *schedule) VBS_MUST_CHECK;
void compare_clear_plans(struct kept_plans *plans);

/* --- prepare.c --- */

/* Makes the entrants of a budget and their executors, *entrants being {0}. A plan that cannot be
 * placed is planned again for less; where there is none, the entrant has no executor, and a note
 * says why. VBS_NO_MEMORY also where the machine has not enough memory for all. The caller clears
 * *entrants, also where this fails. */
enum vbs_status compare_prepare(struct execution *execution, int64_t memory_bytes,
                                struct entrants *entrants) VBS_MUST_CHECK;
void compare_clear_entrants(struct entrants *entrants);

#endif
