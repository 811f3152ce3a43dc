#include "support/bail_out.h"
#include "reference/plan/rivals.h"

#include "base/ctx.h"
#include "plan/problem/planner.h"
#include "vbslab/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum vbs_status open_one(struct vbs_ctx *ctx, const struct vbs_planner *planner,
                                const struct vbs_problem *problem, double time_limit_s,
                                struct rival *rival)
{
    struct vbs_solver_options options = {.struct_size = sizeof(struct vbs_solver_options),
                                         .time_limit_s = planner->timed ? time_limit_s : 0};
    enum vbs_status status = vbs_solver_new(ctx, planner, problem, &options, &rival->solver);

    rival->name = vbs_planner_name(planner);
    rival->may_slow_down = planner->may_slow_down;
    rival->may_be_late = planner->may_be_late;
    if (status != VBS_OK)
        return status;
    rival->least_bytes = vbs_solver_least_bytes(rival->solver);
    if (rival->least_bytes == INT64_MAX || options.time_limit_s > 0)
        return VBS_OK;
    return vbs_solver_frontier(ctx, rival->solver, &rival->frontier);
}

enum vbs_status rivals_open(struct vbs_ctx *ctx, struct rivals *rivals,
                            const struct vbs_problem *problem, double time_limit_s,
                            const char **which)
{
    enum vbs_status status = VBS_OK;

    *rivals = (struct rivals){.problem = *problem};
    *which = NULL;
    for (int p = 0; status == VBS_OK && vbs_planner_at(p) && rivals->n < MAX_RIVALS; p++) {
        if (vbs_planner_estimates(vbs_planner_at(p)) ||
            (vbs_planner_transfers(vbs_planner_at(p)) && problem->weights == VBS_WEIGHTS_EXCLUDED))
            continue;
        status =
            open_one(ctx, vbs_planner_at(p), problem, time_limit_s, &rivals->list[rivals->n++]);
        if (status != VBS_OK)
            *which = vbs_planner_name(vbs_planner_at(p));
    }
    if (status != VBS_OK)
        rivals_close(rivals);
    return status;
}

void rivals_close(struct rivals *rivals)
{
    for (int p = 0; p < rivals->n; p++) {
        vbs_frontier_free(rivals->list[p].frontier);
        vbs_solver_free(rivals->list[p].solver);
    }
    rivals->n = 0;
}

int rivals_find(const struct rivals *rivals, const char *name)
{
    for (int p = 0; p < rivals->n; p++)
        if (strcmp(rivals->list[p].name, name) == 0)
            return p;
    bail_out("no planner '%s'", name);
}

void rivals_add_budget(struct rivals *rivals, int64_t budget)
{
    if (budget >= 0 && rivals->n_budgets < MAX_RIVAL_BUDGETS)
        rivals->budgets[rivals->n_budgets++] = budget;
}

int64_t rivals_add_breakpoints(struct rivals *rivals)
{
    int64_t most = 0;

    for (int p = 0; p < rivals->n; p++) {
        const struct vbs_frontier *frontier = rivals->list[p].frontier;

        for (int i = 0; frontier && i < frontier->n_points; i++) {
            int64_t bytes = frontier->points[i].memory_bytes;

            rivals_add_budget(rivals, bytes);
            rivals_add_budget(rivals, bytes - 1);
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

void rivals_sort_budgets(struct rivals *rivals)
{
    int kept = 0;

    qsort(rivals->budgets, (size_t)rivals->n_budgets, sizeof *rivals->budgets, by_size);
    for (int i = 0; i < rivals->n_budgets; i++)
        if (i == 0 || rivals->budgets[i] != rivals->budgets[kept - 1])
            rivals->budgets[kept++] = rivals->budgets[i];
    rivals->n_budgets = kept;
}

double rival_frontier_us(const struct rival *rival, int64_t budget)
{
    const struct vbs_frontier *frontier = rival->frontier;
    double time_us = HUGE_VAL;

    for (int i = 0; frontier && i < frontier->n_points; i++)
        if (frontier->points[i].memory_bytes <= budget)
            time_us = frontier->points[i].time_us;
    return time_us;
}

static bool same_time(const struct vbs_problem *problem, double a, double b)
{
    return problem->weights == VBS_WEIGHTS_EXCLUDED ? a == b : fabs(a - b) <= 1e-9 * fabs(b);
}

static bool same_copies(const struct vbs_schedule *schedule, const struct vbs_replay *replay)
{
    return replay->copied_bytes == schedule->predicted.copied_bytes &&
           replay->resident_bytes == schedule->predicted.resident_bytes &&
           fabs(replay->copy_us - schedule->predicted.copy_us) <= 1e-9 * replay->copy_us;
}

static void judge(const struct vbs_problem *problem, const struct vbs_schedule *schedule,
                  int64_t budget, struct outcome *outcome)
{
    struct vbs_ctx ctx = {0};
    struct vbs_replay *replay = NULL;
    enum vbs_status status =
        vbs_replay_run(&ctx, problem->profile, schedule, budget, false, &replay);

    outcome->is_valid = status == VBS_OK;
    if (status != VBS_OK) {
        printf("# %s\n", vbs_detail(&ctx));
        return;
    }
    outcome->fits = replay->fits && replay->peak_bytes == outcome->peak_bytes &&
                    outcome->peak_bytes <= outcome->reserved_bytes &&
                    outcome->reserved_bytes <= budget;
    outcome->in_time = replay->in_time;
    outcome->is_timed = same_time(problem, replay->time_us, outcome->time_us) &&
                        same_time(problem, replay->latency_us, outcome->latency_us) &&
                        same_copies(schedule, replay);
    vbs_replay_free(replay);
}

struct outcome rival_plan(const struct rivals *rivals, int planner, int64_t budget)
{
    struct vbs_ctx ctx = {0};
    struct vbs_schedule *schedule = NULL;
    struct outcome outcome = {.time_us = HUGE_VAL};

    outcome.status = vbs_solver_plan(&ctx, rivals->list[planner].solver, budget, &schedule);
    if (outcome.status != VBS_OK && outcome.status != VBS_INFEASIBLE)
        printf("# %s\n", vbs_detail(&ctx));
    if (outcome.status != VBS_OK)
        return outcome;
    outcome.time_us = schedule->predicted.time_us;
    outcome.bound_us = schedule->bound.time_us;
    outcome.gap_percent = schedule->bound.gap_percent;
    outcome.latency_us = schedule->predicted.latency_us;
    outcome.peak_bytes = schedule->predicted.peak_bytes;
    outcome.reserved_bytes = schedule->predicted.reserved_bytes;
    judge(&rivals->problem, schedule, budget, &outcome);
    vbs_schedule_free(schedule);
    return outcome;
}
