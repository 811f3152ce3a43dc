/*
 * Infeasibility reports: which step binds, and the least budget if one thing were different.
 *
 * Each "if" is solved exactly, on a copy of the profile with this difference. As long as no latency
 * is bounded, whether a schedule fits a budget does not depend on times. With all times 0 a curve
 * has one point only, so that these solves take a fraction of the first one.
 */
#include "plan/explain/internal.h"

#include "base/fail.h"
#include "plan/problem/problem.h"
#include "vbslab/units.h"

#include <stdio.h>
#include <string.h>

/* Computes the least budget with which planner solves problem. For a long network the planner's
 * bracket gives it without a solve, where its two ends meet. */
static enum vbs_status least_bytes(struct vbs_ctx *ctx, const struct vbs_planner *planner,
                                   const struct vbs_problem *problem,
                                   const struct vbs_solver_options *options, int64_t *bytes)
{
    struct vbs_task task;
    struct vbs_bracket bracket;
    void *self;
    enum vbs_status status;

    VBS_TRY(vbs_task_init(ctx, &task, problem));
    if (options)
        task.options = *options;
    if (planner->bracket && problem->weights == VBS_WEIGHTS_EXCLUDED &&
        task.latency_ticks == INT64_MAX) {
        status = planner->bracket(ctx, &task, &bracket);
        if (status != VBS_OK)
            goto clear_task;
        if (bracket.low_bytes == bracket.high_bytes) {
            *bytes = bracket.low_bytes;
            goto clear_task;
        }
    }
    status = planner->open(ctx, &task, &self);
    if (status == VBS_OK) {
        *bytes = planner->least_bytes(self);
        planner->close(self);
    }
clear_task:
    vbs_task_clear(&task);
    return status;
}

/* A problem for which the least budgets of changed copies, and of other planners, are computed. */
struct changed_problem {
    const struct vbs_opened_planner *opened;
    struct vbs_problem problem; /* the opened one; on a profile without times where no latency is
                                   bounded, because its solves are faster */
    int64_t least_bytes;
};

/* Computes the least budget of the same planner for a changed problem, or -1 where it is no smaller
 * or would take long to find. */
static enum vbs_status ask_same(struct vbs_ctx *ctx, const struct changed_problem *change,
                                const struct vbs_problem *changed, int64_t *bytes)
{
    const struct vbs_opened_planner *opened = change->opened;

    if (opened->planner->searches_long && changed->latency_us > 0)
        return VBS_OK;
    VBS_TRY(least_bytes(ctx, opened->planner, changed, &opened->task->options, bytes));
    if (*bytes >= change->least_bytes)
        *bytes = -1;
    return VBS_OK;
}

static enum vbs_status ask_without_ws(struct vbs_ctx *ctx, const struct changed_problem *change,
                                      int layer, int64_t *bytes)
{
    const struct vbs_without without = {.ws_of_layer = layer};
    struct vbs_problem changed = change->problem;
    struct vbs_profile *copy;
    enum vbs_status status;

    VBS_TRY(vbs_profile_without(ctx, change->problem.profile, &without, &copy));
    changed.profile = copy;
    status = ask_same(ctx, change, &changed, bytes);
    vbs_profile_free(copy);
    return status;
}

/* Finds the planner with the smallest least budget. Of several the last in the table is reported,
 * which plans the fastest; but where the opened planner is dp-vbs with tables, dp-vbs with exact
 * curves. */
static enum vbs_status ask_others(struct vbs_ctx *ctx, const struct changed_problem *change,
                                  struct vbs_infeasibility *infeasibility)
{
    int64_t least = change->least_bytes;
    int n = 0;

    while (change->opened->others[n])
        n++;
    while (n-- > 0) {
        const struct vbs_planner *planner = change->opened->others[n];
        int64_t bytes;

        if (!vbs_explain_asks(change->opened, planner, change->problem.latency_us > 0))
            continue;
        VBS_TRY(least_bytes(ctx, planner, &change->problem, NULL, &bytes));
        if (bytes < least || (bytes == infeasibility->other_bytes &&
                              strcmp(planner->name, change->opened->planner->name) == 0)) {
            least = infeasibility->other_bytes = bytes;
            infeasibility->other = planner;
        }
    }
    return VBS_OK;
}

/* Computes the least budget without a bound of the latency, for which no times are needed. */
static enum vbs_status ask_without_latency(struct vbs_ctx *ctx,
                                           const struct changed_problem *change, int64_t *bytes)
{
    const struct vbs_without without = {.times = true};
    struct vbs_problem changed = change->problem;
    struct vbs_profile *copy;
    enum vbs_status status;

    VBS_TRY(vbs_profile_without(ctx, change->problem.profile, &without, &copy));
    changed.profile = copy;
    changed.latency_us = 0;
    status = ask_same(ctx, change, &changed, bytes);
    vbs_profile_free(copy);
    return status;
}

static enum vbs_status ask_all(struct vbs_ctx *ctx, const struct changed_problem *change,
                               struct vbs_infeasibility *infeasibility)
{
    if (infeasibility->ws_bytes > 0)
        VBS_TRY(ask_without_ws(ctx, change, infeasibility->step.layer,
                               &infeasibility->without_ws_bytes));
    if (change->problem.io == VBS_IO_RESIDENT) {
        struct vbs_problem changed = change->problem;

        changed.io = VBS_IO_EXTERNAL;
        VBS_TRY(ask_same(ctx, change, &changed, &infeasibility->external_bytes));
    }
    if (change->problem.latency_us > 0)
        VBS_TRY(ask_without_latency(ctx, change, &infeasibility->without_latency_bytes));
    return ask_others(ctx, change, infeasibility);
}

/* Fills the largest step of the plan at the least budget, and its parts. */
static enum vbs_status find_largest(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                    struct vbs_infeasibility *infeasibility)
{
    struct vbs_draft draft = {0};
    struct vbs_timeline timeline;
    enum vbs_status status =
        opened->planner->plan(ctx, opened->self, infeasibility->least_bytes, &draft);

    if (status == VBS_OK)
        status = vbs_timeline_find(ctx, opened->task, &draft.steps, &timeline);
    vbs_step_list_clear(&draft.steps);
    if (status != VBS_OK)
        return status;
    infeasibility->step = timeline.peak_step;
    infeasibility->ws_bytes = vbs_task_step_row(opened->task, &timeline.peak_step)->ws_bytes;
    infeasibility->tensor_bytes = timeline.peak_bytes - infeasibility->ws_bytes;
    infeasibility->extra_reserved_bytes = infeasibility->least_bytes - timeline.peak_bytes;
    return VBS_OK;
}

/* Finds the largest step without times: any plan in the least budget has one, and a planner that
 * searches long for a fast plan ends at once when all times are 0. */
static enum vbs_status find_untimed(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                    struct vbs_infeasibility *infeasibility)
{
    const struct vbs_without without = {.times = true};
    struct vbs_opened_planner untimed = {.planner = opened->planner};
    struct vbs_problem problem = opened->task->problem;
    struct vbs_profile *copy;
    struct vbs_task task;
    enum vbs_status status;

    VBS_TRY(vbs_profile_without(ctx, problem.profile, &without, &copy));
    problem.profile = copy;
    status = vbs_task_init(ctx, &task, &problem);
    if (status == VBS_OK) {
        task.options = opened->task->options;
        untimed.task = &task;
        status = untimed.planner->open(ctx, &task, &untimed.self);
        if (status == VBS_OK) {
            status = find_largest(ctx, &untimed, infeasibility);
            untimed.planner->close(untimed.self);
        }
        vbs_task_clear(&task);
    }
    vbs_profile_free(copy);
    return status;
}

static enum vbs_status find_binding(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                    struct vbs_infeasibility *infeasibility)
{
    enum vbs_status status = VBS_INFEASIBLE;

    if (opened->planner->searches_long && opened->task->problem.latency_us == 0)
        status = find_untimed(ctx, opened, infeasibility);
    if (status == VBS_INFEASIBLE) /* the untimed search was cut short */
        status = find_largest(ctx, opened, infeasibility);
    return status;
}

static enum vbs_status explain_bytes(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                     struct vbs_infeasibility *infeasibility)
{
    const struct vbs_without without = {.times = true};
    struct changed_problem change = {.opened = opened,
                                     .problem = opened->task->problem,
                                     .least_bytes = infeasibility->least_bytes};
    struct vbs_profile *copy = NULL;
    enum vbs_status status;

    VBS_TRY(find_binding(ctx, opened, infeasibility));
    if (change.problem.latency_us == 0)
        VBS_TRY(vbs_profile_without(ctx, change.problem.profile, &without, &copy));
    if (copy)
        change.problem.profile = copy;
    status = ask_all(ctx, &change, infeasibility);
    vbs_profile_free(copy);
    return status;
}

enum vbs_status vbs_explain(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                            struct vbs_infeasibility *infeasibility)
{
    struct vbs_infeasibility made = {.least_bytes = opened->planner->least_bytes(opened->self),
                                     .without_ws_bytes = -1,
                                     .external_bytes = -1,
                                     .without_latency_bytes = -1,
                                     .other_bytes = -1,
                                     .external_latency_us = -1,
                                     .other_latency_us = -1};

    if (made.least_bytes == INT64_MAX)
        VBS_TRY(vbs_explain_latency(ctx, opened, &made));
    else
        VBS_TRY(explain_bytes(ctx, opened, &made));
    *infeasibility = made;
    return VBS_OK;
}

/* Fails because no budget is feasible: the latency is too short for the planner. */
static enum vbs_status refuse_latency(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened)
{
    return vbs_fail(ctx, VBS_INFEASIBLE,
                    "no schedule of %s answers within %g us in any memory; a longer latency%s "
                    "would help",
                    opened->planner->name, opened->task->problem.latency_us,
                    opened->task->request > 1 ? " or a smaller request" : "");
}

/* Fails because in this budget, though it is above the least one, the planner takes larger batches,
 * which take too long. */
static enum vbs_status refuse_more(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                   const char *have, const char *need)
{
    return vbs_fail(ctx, VBS_INFEASIBLE,
                    "the batches that %s takes in %s answer later than %g us; the least budget is "
                    "%s",
                    opened->planner->name, have, opened->task->problem.latency_us, need);
}

enum vbs_status vbs_explain_refusal(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                    int64_t memory_bytes)
{
    struct vbs_infeasibility binding = {.least_bytes = opened->planner->least_bytes(opened->self)};
    char have[24], need[48], within[48] = "";

    if (binding.least_bytes == INT64_MAX)
        return refuse_latency(ctx, opened);
    vbs_format_bytes(memory_bytes, have, sizeof have);
    vbs_format_exact(binding.least_bytes, need, sizeof need);
    if (memory_bytes >= binding.least_bytes)
        return refuse_more(ctx, opened, have, need);
    VBS_TRY(find_binding(ctx, opened, &binding));
    if (opened->task->problem.latency_us > 0)
        snprintf(within, sizeof within, " and answers within %g us",
                 opened->task->problem.latency_us);
    return vbs_fail(ctx, VBS_INFEASIBLE,
                    "no schedule of %s fits %s%s; the least budget is %s, where layer '%s' binds",
                    opened->planner->name, have, within, need,
                    opened->task->profile->layers[binding.step.layer].name);
}
