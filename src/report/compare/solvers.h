/* The solvers of one problem, so that the search for default budgets and the comparison solve once
 * between them. Internal to the report room. */
#ifndef VBS_REPORT_COMPARE_SOLVERS_H
#define VBS_REPORT_COMPARE_SOLVERS_H

#include "vbslab/report.h"

/* A solver and the time that it took to open. */
struct vbs_opened {
    struct vbs_solver *solver;
    double open_us;
    bool considered; /* it takes part in the search for default budgets */
};

/* Budgets, ascending; list is freed with free(). */
struct vbs_budgets {
    int64_t *at;
    int n;
};

/* One entry for each planner, in the order of all planners; its solver is null until it is opened,
 * and again once it is handed over. */
struct vbs_solvers {
    const struct vbs_problem *problem; /* borrowed */
    double time_limit_s;               /* of planners that have a time limit */
    double outside_limit_s;            /* of planners from outside; 0: their default */
    int64_t node_limit;                /* of planners that have a time limit, with the seed */
    uint64_t seed;
    const struct vbs_budgets *budgets; /* borrowed: those of the comparison; null: not known yet */
    int n;
    struct vbs_opened *at;
};

/* Gives the microseconds of a clock that never goes back. */
double vbs_solvers_clock_us(void);

/* Begins without an open solver; vbs_solvers_clear frees, after a failure too. options: planners,
 * limits and seed of a comparison. VBS_NO_MEMORY. */
enum vbs_status vbs_solvers_init(struct vbs_ctx *ctx, struct vbs_solvers *solvers,
                                 const struct vbs_problem *problem,
                                 const struct vbs_compare_options *options) VBS_MUST_CHECK;
void vbs_solvers_clear(struct vbs_solvers *solvers);

/* Opens all solvers that take part and are not open; those with a time limit only on demand. Errors
 * as vbs_solver_new. */
enum vbs_status vbs_solvers_open(struct vbs_ctx *ctx, struct vbs_solvers *solvers,
                                 bool timed_too) VBS_MUST_CHECK;

/* Hands the solver of a planner over to the caller, who frees it with vbs_solver_free; opens it
 * first unless it was open. A comparison works with one planner after the other, so that the
 * memory of their solvers does not add up. */
enum vbs_status vbs_solvers_hand_over(struct vbs_ctx *ctx, struct vbs_solvers *solvers,
                                      const struct vbs_planner *planner,
                                      struct vbs_opened *taken) VBS_MUST_CHECK;

/* Gives the least bound on the latency that solver keeps in some budget, where it keeps its own
 * bound in none; else 0. Errors as vbs_solver_explain. */
enum vbs_status vbs_solvers_least_latency(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                          double *latency_us) VBS_MUST_CHECK;

/* Gives the budgets of the range, or, where range is null, the default ones of vbs_compare_run. The
 * solvers that this needs are left open. VBS_USAGE: the range is not valid. */
enum vbs_status vbs_solvers_budgets(struct vbs_ctx *ctx, struct vbs_solvers *solvers,
                                    const struct vbs_byte_range *range,
                                    struct vbs_budgets *budgets) VBS_MUST_CHECK;

/* Does as vbs_compare_default_budgets, with these solvers. */
enum vbs_status vbs_solvers_range(struct vbs_ctx *ctx, struct vbs_solvers *solvers,
                                  struct vbs_byte_range *range) VBS_MUST_CHECK;

#endif
