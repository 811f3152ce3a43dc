#include "report/solvers.h"

#include "base/clock.h"
#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

bool vbs_solvers_is_timed(const struct vbs_planner *planner)
{
    return strcmp(vbs_planner_name(planner), "optimal") == 0;
}

double vbs_solvers_clock_us(void)
{
    return 1e6 * vbs_clock_s();
}

enum vbs_status vbs_solvers_init(struct vbs_ctx *ctx, struct vbs_solvers *solvers,
                                 const struct vbs_problem *problem, double time_limit_s)
{
    *solvers = (struct vbs_solvers){
        .problem = problem,
        .time_limit_s = time_limit_s == 0 ? VBS_COMPARE_TIME_LIMIT_S : time_limit_s,
    };
    while (vbs_planner_at(solvers->n))
        solvers->n++;
    solvers->at = calloc((size_t)solvers->n, sizeof *solvers->at);
    return solvers->at ? VBS_OK : vbs_no_memory(ctx);
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
    struct vbs_solver_options options = {0};
    double start_us = vbs_solvers_clock_us();
    enum vbs_status status;

    if (opened->solver)
        return VBS_OK;
    if (vbs_solvers_is_timed(planner))
        options.time_limit_s = solvers->time_limit_s;
    status = vbs_solver_new(ctx, planner, solvers->problem, &options, &opened->solver);
    opened->open_us = vbs_solvers_clock_us() - start_us;
    return status;
}

enum vbs_status vbs_solvers_open(struct vbs_ctx *ctx, struct vbs_solvers *solvers, bool timed_too)
{
    enum vbs_status status = VBS_OK;

    for (int i = 0; i < solvers->n && status == VBS_OK; i++)
        if (timed_too || !vbs_solvers_is_timed(vbs_planner_at(i)))
            status = open_one(ctx, solvers, vbs_planner_at(i), &solvers->at[i]);
    return status;
}

enum vbs_status vbs_solvers_take(struct vbs_ctx *ctx, struct vbs_solvers *solvers,
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
    struct vbs_certificate certificate;
    enum vbs_status status;

    *latency_us = 0;
    if (vbs_solver_least_bytes(solver) < INT64_MAX)
        return VBS_OK;
    status = vbs_solver_explain(ctx, solver, &certificate);
    if (status == VBS_OK)
        *latency_us = certificate.least_latency_us;
    return status;
}
