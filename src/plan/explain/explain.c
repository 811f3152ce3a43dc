/*
 * Certificates of infeasible budgets: what binds, and the least budget if one thing were different.
 *
 * Each "if" is solved for real, on a copy of the profile with that difference. What fits a budget
 * does not depend on times as long as no latency is bounded, and with all times 0 a curve has one
 * point only, so that these solves take a fraction of the first one.
 */
#include "plan/explain/explain.h"

#include "base/fail.h"
#include "plan/problem/derive.h"
#include "plan/problem/timeline.h"
#include "vbslab/units.h"

#include <stdio.h>
#include <string.h>

/* What takes long with times and bytes is quick where there is only one of them. */
static bool searches_long(const struct vbs_planner *planner)
{
    return planner == &vbs_planner_optimal;
}

bool vbs_explain_asks(const struct vbs_opened_planner *opened, const struct vbs_planner *planner,
                      bool timed)
{
    int64_t request = opened->task->request;
    int64_t effort = opened->task->n_layers * request * request;

    return planner != opened->planner && !searches_long(planner) && !planner->transfers &&
           effort <= (timed ? VBS_EXPLAIN_EFFORT / 40 : VBS_EXPLAIN_EFFORT);
}

/* A profile, and what its copy does without. */
struct reduction {
    const struct vbs_profile *profile;
    const struct vbs_without *without;
};

static void reduce_layer(void *self, struct vbs_profile_layer *layer)
{
    const struct reduction *reduction = self;

    if (reduction->without->bytes)
        layer->in_bytes = layer->out_bytes = 0;
}

static enum vbs_status reduced_rows(struct vbs_ctx *ctx, void *self,
                                    struct vbs_profile_builder *builder, int layer, int batch)
{
    const struct reduction *reduction = self;
    const struct vbs_profile *profile = reduction->profile;
    const struct vbs_without *without = reduction->without;
    bool no_ws = without->bytes || without->ws_of_layer == layer;
    int n_rows;
    const struct vbs_profile_row *rows =
        vbs_profile_rows(profile, layer, vbs_profile_batch_index(profile, batch), &n_rows);
    enum vbs_status status = VBS_OK;

    for (int a = 0; status == VBS_OK && a < n_rows; a++) {
        struct vbs_profile_row row = {.time_us = without->times ? 0 : rows[a].time_us,
                                      .ws_bytes = no_ws ? 0 : rows[a].ws_bytes};

        status = vbs_profile_builder_row(ctx, builder, layer, batch,
                                         profile->algorithms[rows[a].algorithm], &row);
    }
    return status;
}

enum vbs_status vbs_profile_without(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                    const struct vbs_without *without, struct vbs_profile **copy)
{
    struct reduction reduction = {profile, without};
    struct vbs_derivation derivation = {.self = &reduction,
                                        .layer = reduce_layer,
                                        .rows = reduced_rows,
                                        .n_batches = profile->n_batches,
                                        .batches = profile->batches};

    return vbs_profile_derive(ctx, profile, &derivation, copy);
}

/* The least budget with which planner solves problem. */
static enum vbs_status least_bytes(struct vbs_ctx *ctx, const struct vbs_planner *planner,
                                   const struct vbs_problem *problem,
                                   const struct vbs_solver_options *options, int64_t *bytes)
{
    struct vbs_task task;
    void *self;
    enum vbs_status status = vbs_task_init(ctx, &task, problem);

    if (status != VBS_OK)
        return status;
    if (options)
        task.options = *options;
    status = planner->open(ctx, &task, &self);
    if (status == VBS_OK) {
        *bytes = planner->least_bytes(self);
        planner->close(self);
    }
    vbs_task_clear(&task);
    return status;
}

/* What the planner's answer is compared with, and the profile that tells it soonest. */
struct question {
    const struct vbs_opened_planner *opened;
    struct vbs_problem
        problem; /* the opened one, on a profile without times where none is bounded */
    int64_t least_bytes;
};

/* The least budget of the same planner for a changed problem, or -1 where that is no less or would
 * take long to find. */
static enum vbs_status ask_same(struct vbs_ctx *ctx, const struct question *question,
                                const struct vbs_problem *changed, int64_t *bytes)
{
    const struct vbs_opened_planner *opened = question->opened;
    enum vbs_status status;

    if (searches_long(opened->planner) && changed->latency_us > 0)
        return VBS_OK;
    status = least_bytes(ctx, opened->planner, changed, &opened->task->options, bytes);
    if (status == VBS_OK && *bytes >= question->least_bytes)
        *bytes = -1;
    return status;
}

static enum vbs_status ask_without_ws(struct vbs_ctx *ctx, const struct question *question,
                                      int layer, int64_t *bytes)
{
    const struct vbs_without without = {.ws_of_layer = layer};
    struct vbs_problem changed = question->problem;
    struct vbs_profile *copy;
    enum vbs_status status = vbs_profile_without(ctx, question->problem.profile, &without, &copy);

    if (status != VBS_OK)
        return status;
    changed.profile = copy;
    status = ask_same(ctx, question, &changed, bytes);
    vbs_profile_free(copy);
    return status;
}

/* Of planners that need as little, the last of the table, which plans the fastest; or dp-vbs in the
 * place of its tables. */
static enum vbs_status ask_others(struct vbs_ctx *ctx, const struct question *question,
                                  struct vbs_infeasibility *infeasibility)
{
    int64_t least = question->least_bytes;
    int n = 0;

    while (vbs_planner_at(n))
        n++;
    while (n-- > 0) {
        const struct vbs_planner *planner = vbs_planner_at(n);
        enum vbs_status status;
        int64_t bytes;

        if (!vbs_explain_asks(question->opened, planner, question->problem.latency_us > 0))
            continue;
        status = least_bytes(ctx, planner, &question->problem, NULL, &bytes);
        if (status != VBS_OK)
            return status;
        if (bytes < least || (bytes == infeasibility->other_bytes &&
                              strcmp(planner->name, question->opened->planner->name) == 0)) {
            least = infeasibility->other_bytes = bytes;
            infeasibility->other = planner;
        }
    }
    return VBS_OK;
}

/* What is different without a bound of the latency is solved without times. */
static enum vbs_status ask_without_latency(struct vbs_ctx *ctx, const struct question *question,
                                           int64_t *bytes)
{
    const struct vbs_without without = {.times = true};
    struct vbs_problem changed = question->problem;
    struct vbs_profile *copy;
    enum vbs_status status = vbs_profile_without(ctx, question->problem.profile, &without, &copy);

    if (status != VBS_OK)
        return status;
    changed.profile = copy;
    changed.latency_us = 0;
    status = ask_same(ctx, question, &changed, bytes);
    vbs_profile_free(copy);
    return status;
}

static enum vbs_status ask_all(struct vbs_ctx *ctx, const struct question *question,
                               struct vbs_infeasibility *infeasibility)
{
    enum vbs_status status = VBS_OK;

    if (infeasibility->ws_bytes > 0)
        status = ask_without_ws(ctx, question, infeasibility->step.layer,
                                &infeasibility->without_ws_bytes);
    if (status == VBS_OK && question->problem.io == VBS_IO_RESIDENT) {
        struct vbs_problem changed = question->problem;

        changed.io = VBS_IO_EXTERNAL;
        status = ask_same(ctx, question, &changed, &infeasibility->external_bytes);
    }
    if (status == VBS_OK && question->problem.latency_us > 0)
        status = ask_without_latency(ctx, question, &infeasibility->without_latency_bytes);
    if (status == VBS_OK)
        status = ask_others(ctx, question, infeasibility);
    return status;
}

/* What the plan at the least budget is made of where it takes most. */
static enum vbs_status find_largest(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                    struct vbs_infeasibility *infeasibility)
{
    struct vbs_draft draft = {0};
    struct vbs_walked walked;
    enum vbs_status status =
        opened->planner->plan(ctx, opened->self, infeasibility->least_bytes, &draft);

    if (status == VBS_OK)
        status = vbs_walk_all(ctx, opened->task, &draft.steps, &walked);
    vbs_step_list_clear(&draft.steps);
    if (status != VBS_OK)
        return status;
    infeasibility->step = walked.peak_step;
    infeasibility->ws_bytes = vbs_task_step_row(opened->task, &walked.peak_step)->ws_bytes;
    infeasibility->tensor_bytes = walked.peak_bytes - infeasibility->ws_bytes;
    infeasibility->set_aside_bytes = infeasibility->least_bytes - walked.peak_bytes;
    return VBS_OK;
}

/* Any plan in the least budget will do, so that a planner that searches long for a fast one is
 * asked for one without times. */
static enum vbs_status find_untimed(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                    struct vbs_infeasibility *infeasibility)
{
    const struct vbs_without without = {.times = true};
    struct vbs_opened_planner untimed = {.planner = opened->planner};
    struct vbs_problem problem = opened->task->problem;
    struct vbs_profile *copy;
    struct vbs_task task;
    enum vbs_status status = vbs_profile_without(ctx, problem.profile, &without, &copy);

    if (status != VBS_OK)
        return status;
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

    if (searches_long(opened->planner) && opened->task->problem.latency_us == 0)
        status = find_untimed(ctx, opened, infeasibility);
    if (status == VBS_INFEASIBLE) /* of the untimed search: it was cut short */
        status = find_largest(ctx, opened, infeasibility);
    return status;
}

static enum vbs_status explain_bytes(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                     struct vbs_infeasibility *infeasibility)
{
    const struct vbs_without without = {.times = true};
    struct question question = {.opened = opened,
                                .problem = opened->task->problem,
                                .least_bytes = infeasibility->least_bytes};
    struct vbs_profile *copy = NULL;
    enum vbs_status status = find_binding(ctx, opened, infeasibility);

    if (status == VBS_OK && question.problem.latency_us == 0)
        status = vbs_profile_without(ctx, question.problem.profile, &without, &copy);
    if (status != VBS_OK)
        return status;
    if (copy)
        question.problem.profile = copy;
    status = ask_all(ctx, &question, infeasibility);
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
    enum vbs_status status;

    if (made.least_bytes == INT64_MAX)
        status = vbs_explain_latency(ctx, opened, &made);
    else
        status = explain_bytes(ctx, opened, &made);
    if (status == VBS_OK)
        *infeasibility = made;
    return status;
}

/* No budget helps: the latency is too short for the planner. */
static enum vbs_status refuse_latency(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened)
{
    return vbs_fail(ctx, VBS_INFEASIBLE,
                    "no schedule of %s answers within %g us in any memory; a longer latency%s "
                    "would help",
                    opened->planner->name, opened->task->problem.latency_us,
                    opened->task->request > 1 ? " or a smaller request" : "");
}

/* More memory let the planner take larger batches, and these take too long. */
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
    enum vbs_status status;

    if (binding.least_bytes == INT64_MAX)
        return refuse_latency(ctx, opened);
    vbs_format_bytes(memory_bytes, have, sizeof have);
    vbs_format_exact(binding.least_bytes, need, sizeof need);
    if (memory_bytes >= binding.least_bytes)
        return refuse_more(ctx, opened, have, need);
    status = find_binding(ctx, opened, &binding);
    if (status != VBS_OK)
        return status;
    if (opened->task->problem.latency_us > 0)
        snprintf(within, sizeof within, " and answers within %g us",
                 opened->task->problem.latency_us);
    return vbs_fail(ctx, VBS_INFEASIBLE,
                    "no schedule of %s fits %s%s; the least budget is %s, where layer '%s' binds",
                    opened->planner->name, have, within, need,
                    opened->task->profile->layers[binding.step.layer].name);
}
