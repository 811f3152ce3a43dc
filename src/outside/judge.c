/*
 * What all planners from outside share: the replay that judges them, and the budgets of a frontier.
 */
#include "outside/internal.h"

#include "base/fail.h"
#include "vbslab/replay.h"
#include "vbslab/units.h"

double vbs_outside_limit_s(const struct vbs_task *task)
{
    return task->options.time_limit_s > 0 ? task->options.time_limit_s : VBS_OUTSIDE_TIME_S;
}

static enum vbs_status check(struct vbs_ctx *ctx, const struct vbs_replay *replay)
{
    char have[48], need[48];

    if (!replay->fits)
        return vbs_fail(ctx, VBS_OVER_BUDGET,
                        "its schedule breaks the budget of %s: it takes %s, above it from step "
                        "%lld on",
                        vbs_format_exact(replay->memory_bytes, have, sizeof have),
                        vbs_format_exact(replay->peak_bytes, need, sizeof need),
                        (long long)replay->violation_step + 1);
    if (!replay->in_time)
        return vbs_fail(ctx, VBS_OVER_BUDGET,
                        "its schedule has a sample wait %g us, beyond the bound of %g us",
                        replay->latency_us, replay->latency_bound_us);
    return VBS_OK;
}

enum vbs_status vbs_outside_judge(struct vbs_ctx *ctx, const struct vbs_task *task,
                                  const struct vbs_schedule *schedule, int64_t memory_bytes,
                                  struct vbs_draft *draft)
{
    struct vbs_schedule judged = *schedule;
    struct vbs_replay *replay = NULL;
    enum vbs_status status;

    judged.latency_us = task->problem.latency_us;
    judged.copy = task->problem.copy;
    VBS_TRY(vbs_replay_run(ctx, task->profile, &judged, memory_bytes, false, &replay));
    status = check(ctx, replay);
    if (status == VBS_OK) {
        draft->reserved_bytes = replay->peak_bytes;
        draft->judged = true;
        draft->timeline = (struct vbs_timeline){.peak_bytes = replay->peak_bytes,
                                                .time_us = replay->time_us,
                                                .latency_us = replay->latency_us,
                                                .copy_us = replay->copy_us,
                                                .copied_bytes = replay->copied_bytes,
                                                .resident_bytes = replay->resident_bytes};
    }
    vbs_replay_free(replay);
    return status;
}

/* Adds the budgets between the least one of a solver and the one with which it has enough. */
static enum vbs_status add_budgets(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                   struct vbs_budget_list *budgets)
{
    int64_t least = vbs_solver_least_bytes(solver), enough;
    struct vbs_schedule *schedule = NULL;

    VBS_TRY(vbs_solver_plan(ctx, solver, VBS_MAX_BYTES, &schedule));
    enough = schedule->predicted.reserved_bytes;
    vbs_schedule_free(schedule);
    return vbs_budget_list_add_grid(ctx, budgets, least < enough ? least : enough, enough);
}

enum vbs_status vbs_outside_thresholds(struct vbs_ctx *ctx, const struct vbs_task *task,
                                       int64_t **bytes, int *n)
{
    bool included = task->problem.weights == VBS_WEIGHTS_INCLUDED;
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;
    struct vbs_budget_list budgets = {0};
    enum vbs_status status;

    VBS_TRY(vbs_planner_find(ctx, included ? "joint" : "dp-vbs+", &planner));
    VBS_TRY(vbs_solver_new(ctx, planner, &task->problem, NULL, &solver));
    status = add_budgets(ctx, solver, &budgets);
    vbs_solver_free(solver);
    if (status != VBS_OK) {
        vbs_budget_list_clear(&budgets);
        return status;
    }
    vbs_budget_list_sort(&budgets);
    *bytes = budgets.bytes;
    *n = budgets.n;
    return VBS_OK;
}
