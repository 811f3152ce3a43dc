#include "report/compare/solvers.h"

#include "base/clock.h"
#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

double vbs_solvers_clock_us(void)
{
    return 1e6 * vbs_clock_s();
}

bool vbs_compare_can(const struct vbs_planner *planner, enum vbs_weights weights)
{
    return weights == VBS_WEIGHTS_INCLUDED ? !vbs_planner_estimates(planner)
                                           : !vbs_planner_transfers(planner);
}

/* Gives whether the options name a planner of the library. */
static bool names_own(const struct vbs_compare_options *options)
{
    for (int i = 0; options->planners && i < options->n_planners; i++)
        if (!vbs_planner_is_outside(options->planners[i]))
            return true;
    return false;
}

/* Gives whether a planner takes part in the search for budgets. With weights excluded the budgets
 * are the same whichever planners are compared: their range ends where the best of all plans has
 * enough memory. */
static bool is_considered(const struct vbs_problem *problem,
                          const struct vbs_compare_options *options,
                          const struct vbs_planner *planner)
{
    if (problem->weights == VBS_WEIGHTS_EXCLUDED || !names_own(options))
        return vbs_planner_is_compared(planner, problem->weights);
    for (int i = 0; i < options->n_planners; i++)
        if (options->planners[i] == planner)
            return true;
    return false;
}

enum vbs_status vbs_solvers_init(struct vbs_ctx *ctx, struct vbs_solvers *solvers,
                                 const struct vbs_problem *problem,
                                 const struct vbs_compare_options *options)
{
    double limit_s = options->time_limit_s;

    *solvers = (struct vbs_solvers){
        .problem = problem,
        .time_limit_s = limit_s == 0 ? VBS_COMPARE_TIME_LIMIT_S : limit_s,
        .outside_limit_s = limit_s,
        .node_limit = options->node_limit,
        .seed = options->seed,
    };
    while (vbs_planner_at(solvers->n))
        solvers->n++;
    solvers->at = calloc((size_t)solvers->n, sizeof *solvers->at);
    if (!solvers->at)
        return vbs_no_memory(ctx);
    for (int i = 0; i < solvers->n; i++)
        solvers->at[i].considered = is_considered(problem, options, vbs_planner_at(i));
    return VBS_OK;
}

void vbs_solvers_clear(struct vbs_solvers *solvers)
{
    for (int i = 0; solvers->at && i < solvers->n; i++)
        vbs_solver_free(solvers->at[i].solver);
    free(solvers->at);
    solvers->at = NULL;
}

static enum vbs_status open_one(struct vbs_ctx *ctx, const struct vbs_solvers *solvers,
                                const struct vbs_planner *planner, struct vbs_opened *opened)
{
    struct vbs_solver_options options = {.struct_size = sizeof(struct vbs_solver_options)};
    double start_us = vbs_solvers_clock_us();
    enum vbs_status status;

    if (opened->solver)
        return VBS_OK;
    if (vbs_planner_is_timed(planner)) {
        options.time_limit_s = solvers->time_limit_s;
        options.node_limit = solvers->node_limit;
        options.seed = solvers->seed;
    }
    if (vbs_planner_is_outside(planner)) {
        options.time_limit_s = solvers->outside_limit_s;
        options.budgets = solvers->budgets ? solvers->budgets->at : NULL;
        options.n_budgets = solvers->budgets ? solvers->budgets->n : 0;
    }
    status = vbs_solver_new(ctx, planner, solvers->problem, &options, &opened->solver);
    opened->open_us = vbs_solvers_clock_us() - start_us;
    return status;
}

enum vbs_status vbs_solvers_open(struct vbs_ctx *ctx, struct vbs_solvers *solvers, bool timed_too)
{
    for (int i = 0; i < solvers->n; i++)
        if (solvers->at[i].considered && (timed_too || !vbs_planner_is_timed(vbs_planner_at(i))))
            VBS_TRY(open_one(ctx, solvers, vbs_planner_at(i), &solvers->at[i]));
    return VBS_OK;
}

enum vbs_status vbs_solvers_hand_over(struct vbs_ctx *ctx, struct vbs_solvers *solvers,
                                      const struct vbs_planner *planner, struct vbs_opened *taken)
{
    *taken = (struct vbs_opened){0};
    for (int i = 0; i < solvers->n; i++) {
        if (vbs_planner_at(i) == planner) {
            *taken = solvers->at[i];
            solvers->at[i].solver = NULL;
        }
    }
    return open_one(ctx, solvers, planner, taken);
}

enum vbs_status vbs_solvers_least_latency(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                          double *latency_us)
{
    struct vbs_infeasibility infeasibility;
    enum vbs_status status;

    *latency_us = 0;
    if (vbs_solver_least_bytes(solver) < INT64_MAX)
        return VBS_OK;
    status = vbs_solver_explain(ctx, solver, &infeasibility);
    if (status == VBS_UNSUPPORTED) /* not known with weights inside the budget */
        return VBS_OK;
    VBS_TRY(status);
    *latency_us = infeasibility.least_latency_us;
    return VBS_OK;
}
