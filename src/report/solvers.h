/* The solvers of one problem, so that the search for default budgets and the comparison solve once
 * between them. Internal to the report room. */
#ifndef VBS_REPORT_SOLVERS_H
#define VBS_REPORT_SOLVERS_H

#include "vbslab/report.h"

/* A solver and how long it took to open. */
struct vbs_opened {
    struct vbs_solver *solver;
    double open_us;
};

/* One place per planner, in the order of all planners; its solver is null until it is opened and
 * once it is taken. */
struct vbs_solvers {
    const struct vbs_problem *problem; /* borrowed */
    double time_limit_s;               /* of those that have one */
    int n;
    struct vbs_opened *at;
};

/* True of optimal: how good its plans are depends on the time that it gets. */
bool vbs_solvers_is_timed(const struct vbs_planner *planner);

/* Microseconds of a clock that never goes back. */
double vbs_solvers_clock_us(void);

/* No solver is opened yet; vbs_solvers_clear frees, after a failure too. time_limit_s: 0 is
 * VBS_COMPARE_TIME_LIMIT_S. VBS_NO_MEMORY. */
enum vbs_status vbs_solvers_init(struct vbs_ctx *ctx, struct vbs_solvers *solvers,
                                 const struct vbs_problem *problem,
                                 double time_limit_s) VBS_MUST_CHECK;
void vbs_solvers_clear(struct vbs_solvers *solvers);

/* Opens all that are not; those with a time limit only on demand. Errors as vbs_solver_new. */
enum vbs_status vbs_solvers_open(struct vbs_ctx *ctx, struct vbs_solvers *solvers,
                                 bool timed_too) VBS_MUST_CHECK;

/* Gives away the solver of planner, opened now unless it was: a comparison takes one planner after
 * the other, so that their memory does not add up. Free it with vbs_solver_free. */
enum vbs_status vbs_solvers_take(struct vbs_ctx *ctx, struct vbs_solvers *solvers,
                                 const struct vbs_planner *planner,
                                 struct vbs_opened *taken) VBS_MUST_CHECK;

/* The least bound on the latency that solver keeps in some budget, where it keeps its own in none;
 * else 0. Errors as vbs_solver_explain. */
enum vbs_status vbs_solvers_least_latency(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                          double *latency_us) VBS_MUST_CHECK;

/* vbs_compare_default_budgets, with and leaving open the solvers that it asks. */
enum vbs_status vbs_solvers_budgets(struct vbs_ctx *ctx, struct vbs_solvers *solvers,
                                    struct vbs_byte_range *budgets) VBS_MUST_CHECK;

#endif
