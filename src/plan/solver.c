/*
 * The solver: it opens a planner on a task, checks the planner's drafts, and makes schedules,
 * frontiers and refusals of them.
 */
#include "base/clock.h"
#include "base/fail.h"
#include "base/options.h"
#include "plan/dp/dp.h"
#include "plan/explain/explain.h"
#include "plan/registry.h"
#include "plan/table/table.h"
#include "plan/weights/weights.h"
#include "vbslab/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPORT_S 0.1 /* seconds between two reports of a frontier */

/* The progress of a frontier: the budgets before `at` have their plans. */
struct frontier_progress {
    int at, n_budgets; /* n_budgets is 0 while no frontier is made */
    double from_s, reported_s;
};

struct vbs_solver {
    const char *name;             /* the planner's name as the caller gave it */
    struct vbs_progress progress; /* the caller's */
    struct frontier_progress frontier;
    const struct vbs_planner *planner;
    struct vbs_task task;
    void *self;
    char profile_hash[VBS_PROFILE_HASH_SIZE]; /* the hash that the options give; "": none */
    const char **layer_names;                 /* in the arena of the task */
};

static enum vbs_status check_options(struct vbs_ctx *ctx, const struct vbs_planner *planner,
                                     const struct vbs_solver_options *options)
{
    if (options->table_bytes < 0)
        return vbs_fail(ctx, VBS_USAGE, "a table in steps of %lld bytes is none",
                        (long long)options->table_bytes);
    if (options->table_bytes && planner != &vbs_planner_dp_vbs)
        return vbs_fail(ctx, VBS_USAGE, "a table of memory sizes is for dp-vbs, not %s",
                        planner->name);
    if (options->most_bytes < 0)
        return vbs_fail(ctx, VBS_USAGE, "a largest budget of %lld bytes is out of range",
                        (long long)options->most_bytes);
    if (options->node_limit < 0)
        return vbs_fail(ctx, VBS_USAGE, "a limit of %lld nodes is out of range",
                        (long long)options->node_limit);
    if (!(options->time_limit_s >= 0))
        return vbs_fail(ctx, VBS_USAGE, "a time limit of %g s is out of range",
                        options->time_limit_s);
    if (options->n_budgets < 0 || (options->n_budgets > 0 && !options->budgets))
        return vbs_fail(ctx, VBS_USAGE, "a list of %d budgets is none", options->n_budgets);
    if (options->profile_hash && strlen(options->profile_hash) != VBS_PROFILE_HASH_SIZE - 1)
        return vbs_fail(ctx, VBS_USAGE, "the hash of the profile has %zu characters, not %d",
                        strlen(options->profile_hash), VBS_PROFILE_HASH_SIZE - 1);
    return VBS_OK;
}

static enum vbs_status check_weights(struct vbs_ctx *ctx, const struct vbs_planner *planner,
                                     const struct vbs_problem *problem)
{
    const struct vbs_link *copy = &problem->copy;

    if (planner->transfers && problem->weights == VBS_WEIGHTS_EXCLUDED)
        return vbs_fail(ctx, VBS_USAGE,
                        "%s plans how weights come into the budget; it needs weights included",
                        planner->name);
    if (planner->estimates && problem->weights == VBS_WEIGHTS_INCLUDED)
        return vbs_fail(ctx, VBS_UNSUPPORTED,
                        "%s estimates activations alone; it needs weights excluded", planner->name);
    if (!(copy->latency_us >= 0 && copy->latency_us <= VBS_MAX_TIME_US && copy->bytes_per_us >= 0 &&
          copy->bytes_per_us <= (double)VBS_MAX_BYTES))
        return vbs_fail(ctx, VBS_USAGE,
                        "copies of %g us and then %g bytes a microsecond are out of range",
                        copy->latency_us, copy->bytes_per_us);
    return VBS_OK;
}

/* Chooses the planner whose functions are called: planner, or the one that plans beside resident
 * weights. */
static void choose_planner(struct vbs_solver *solver, const struct vbs_planner *planner)
{
    const struct vbs_task *task = &solver->task;

    solver->planner = task->options.table_bytes ? &vbs_planner_dp_vbs_table : planner;
    solver->task.outside = planner->outside ? planner : NULL;
    if (task->problem.weights == VBS_WEIGHTS_INCLUDED && !planner->transfers && !planner->outside) {
        solver->task.resident = solver->planner;
        solver->planner = &vbs_planner_resident;
    }
}

/* Gives whether cuttings take so long that knowing the largest budget before saves time. */
static bool is_long(const struct vbs_task *task)
{
    double n = task->n_layers, r = task->request;

    return n * n * r * (n + r) > 1e8;
}

static enum vbs_status refuse_early(struct vbs_ctx *ctx, const struct vbs_solver *solver,
                                    const struct vbs_bracket *bracket)
{
    const struct vbs_task *task = &solver->task;
    bool is_included = task->problem.weights == VBS_WEIGHTS_INCLUDED;
    const char *beside = is_included ? " with weights inside" : "";
    char have[24], low[48], high[48], all[24], weights[48] = "";

    vbs_format_bytes(task->options.most_bytes, have, sizeof have);
    vbs_format_exact(bracket->low_bytes, low, sizeof low);
    vbs_format_exact(bracket->high_bytes, high, sizeof high);
    vbs_format_bytes(vbs_task_lightest_bytes(task), all, sizeof all);
    if (is_included)
        snprintf(weights, sizeof weights, "; the weights take %s", all);
    if (bracket->low_bytes < bracket->high_bytes)
        return vbs_fail(ctx, VBS_INFEASIBLE,
                        "no schedule of %s fits %s%s; %s is enough, and nothing below %s%s",
                        solver->name, have, beside, high, low, weights);
    return vbs_fail(ctx, VBS_INFEASIBLE,
                    "no schedule of %s fits %s%s; the least budget is %s, where layer '%s' binds%s",
                    solver->name, have, beside, low, task->profile->layers[bracket->layer].name,
                    weights);
}

/* Fails with VBS_INFEASIBLE where the largest budget is certainly infeasible, without a solve. For
 * a planner that transfers weights, a short network is solved nevertheless where the bracket is not
 * exact, because the planner's own least budget may lie inside of it. */
static enum vbs_status check_most(struct vbs_ctx *ctx, const struct vbs_solver *solver)
{
    const struct vbs_task *task = &solver->task;
    struct vbs_bracket bracket;

    if (task->options.most_bytes == 0 || !solver->planner->bracket ||
        task->latency_ticks != INT64_MAX)
        return VBS_OK;
    VBS_TRY(solver->planner->bracket(ctx, task, &bracket));
    if (task->options.most_bytes >= bracket.low_bytes)
        return VBS_OK;
    if (solver->planner->transfers && bracket.low_bytes < bracket.high_bytes && !is_long(task))
        return VBS_OK;
    return refuse_early(ctx, solver, &bracket);
}

/* Opens the planner again for any budget, to find the least one. joint knows its least budget
 * already. */
static enum vbs_status open_for_all(struct vbs_ctx *ctx, struct vbs_solver *solver)
{
    void *self;

    if (solver->task.options.most_bytes == 0 || solver->planner == &vbs_planner_joint)
        return VBS_OK;
    solver->task.options.most_bytes = 0;
    VBS_TRY(solver->planner->open(ctx, &solver->task, &self));
    solver->planner->close(solver->self);
    solver->self = self;
    return VBS_OK;
}

/* Reports the progress of the whole frontier. share: the part of the current plan that is done. */
static void report_frontier(struct vbs_solver *solver, double share)
{
    struct frontier_progress *frontier = &solver->frontier;
    double now_s = vbs_clock_s(), done = (frontier->at + share) / frontier->n_budgets;
    double elapsed_s = now_s - frontier->from_s;

    if (!solver->progress.report || now_s < frontier->reported_s + REPORT_S)
        return;
    frontier->reported_s = now_s;
    solver->progress.report(solver->progress.self, done, vbs_left_s(done, elapsed_s, elapsed_s),
                            "plans of the frontier");
}

/* Passes the planner's reports on to the caller; while a frontier is made, as a share of the
 * frontier. */
static void relay_report(void *self, double done, double left_s, const char *text)
{
    struct vbs_solver *solver = self;

    if (solver->frontier.n_budgets > 0)
        report_frontier(solver, done);
    else
        solver->progress.report(solver->progress.self, done, left_s, text);
}

/* Makes the planner report to the solver, where the caller wants reports. */
static void relay_progress(struct vbs_solver *solver)
{
    struct vbs_progress *progress = &solver->task.options.progress;

    solver->progress = *progress;
    if (progress->report)
        *progress = (struct vbs_progress){.self = solver, .report = relay_report};
}

/* Fills in the members that describe the profile in all schedules of the solver. */
static enum vbs_status describe_profile(struct vbs_ctx *ctx, struct vbs_solver *solver)
{
    const struct vbs_profile *profile = solver->task.profile;
    struct vbs_solver_options *options = &solver->task.options;
    const char **names =
        vbs_arena_alloc(&solver->task.arena, (size_t)profile->n_layers + 1, sizeof *names);

    if (!names)
        return vbs_no_memory(ctx);
    for (int k = 1; k <= profile->n_layers; k++)
        names[k] = profile->layers[k].name;
    solver->layer_names = names;
    if (options->profile_hash)
        memcpy(solver->profile_hash, options->profile_hash, VBS_PROFILE_HASH_SIZE);
    options->profile_hash = NULL; /* the caller's text may be freed after vbs_solver_new */
    return VBS_OK;
}

enum vbs_status vbs_solver_new(struct vbs_ctx *ctx, const struct vbs_planner *planner,
                               const struct vbs_problem *problem,
                               const struct vbs_solver_options *options, struct vbs_solver **solver)
{
    struct vbs_solver_options own;
    struct vbs_solver *made;
    enum vbs_status status;

    VBS_TRY(vbs_options_read(ctx, "vbs_solver_options", options, &own, sizeof own));
    VBS_TRY(check_options(ctx, planner, &own));
    VBS_TRY(check_weights(ctx, planner, problem));
    made = calloc(1, sizeof *made);
    if (!made)
        return vbs_no_memory(ctx);
    made->name = planner->name;
    status = vbs_task_init(ctx, &made->task, problem);
    if (status != VBS_OK)
        goto done;
    made->task.options = own;
    made->task.options.struct_size = sizeof own;
    relay_progress(made);
    if (planner != &vbs_planner_joint && !is_long(&made->task))
        made->task.options.most_bytes = 0;
    if (planner == &vbs_planner_dp_vbs_plus && own.time_limit_s > 0)
        made->task.cut_until_s = vbs_clock_s() + own.time_limit_s;
    choose_planner(made, planner);
    status = describe_profile(ctx, made);
    if (status == VBS_OK)
        status = check_most(ctx, made);
    if (status == VBS_OK)
        status = made->planner->open(ctx, &made->task, &made->self);
    made->task.options.budgets = NULL; /* the caller's list may be freed after vbs_solver_new */
    made->task.options.n_budgets = 0;
    if (status != VBS_OK)
        vbs_task_clear(&made->task);
done:
    if (status != VBS_OK) {
        free(made);
        return status;
    }
    *solver = made;
    return VBS_OK;
}

void vbs_solver_free(struct vbs_solver *solver)
{
    if (!solver)
        return;
    solver->planner->close(solver->self);
    vbs_task_clear(&solver->task);
    free(solver);
}

int64_t vbs_solver_least_bytes(const struct vbs_solver *solver)
{
    return solver->planner->least_bytes(solver->self);
}

size_t vbs_solver_peak_bytes(const struct vbs_solver *solver)
{
    return solver->planner->peak_bytes(solver->self);
}

static enum vbs_status refuse(struct vbs_ctx *ctx, const struct vbs_solver *solver,
                              int64_t memory_bytes);

static struct vbs_opened_planner opened_by(const struct vbs_solver *solver)
{
    return (struct vbs_opened_planner){.planner = solver->planner,
                                       .task = &solver->task,
                                       .self = solver->self,
                                       .others = vbs_all_planners};
}

enum vbs_status vbs_solver_explain(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                   struct vbs_infeasibility *infeasibility)
{
    struct vbs_opened_planner opened = opened_by(solver);

    if (solver->task.problem.weights == VBS_WEIGHTS_INCLUDED)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "what would help is not known with weights included");
    if (solver->planner->outside || solver->planner->estimates)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "what would help %s is not known", solver->name);
    return vbs_explain(ctx, &opened, infeasibility);
}

static enum vbs_status fail_without_schedule(struct vbs_ctx *ctx, const struct vbs_solver *solver)
{
    return vbs_fail(ctx, VBS_UNSUPPORTED,
                    "%s computes rows twice, which no schedule can say; it has estimates of bytes "
                    "and time alone, which plan, frontier and compare show",
                    solver->name);
}

enum vbs_status vbs_solver_explain_plan(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                        int64_t memory_bytes,
                                        const struct vbs_explain_options *options,
                                        struct vbs_explanation **explanation)
{
    struct vbs_opened_planner opened = opened_by(solver);
    struct vbs_explain_options own;
    struct vbs_draft draft = {0};
    enum vbs_status status = VBS_OK;

    VBS_TRY(vbs_options_read(ctx, "vbs_explain_options", options, &own, sizeof own));
    if (solver->planner->estimates)
        return fail_without_schedule(ctx, solver);
    if (!own.first_layer && !own.last_layer && !own.samples)
        status = solver->planner->plan(ctx, solver->self, memory_bytes, &draft);
    if (status == VBS_INFEASIBLE)
        status = refuse(ctx, solver, memory_bytes);
    else if (status == VBS_OK)
        status = vbs_explain_plan(ctx, &opened, memory_bytes, &own, &draft, explanation);
    vbs_step_list_clear(&draft.steps);
    return status;
}

static bool includes_weights(const struct vbs_solver *solver)
{
    return solver->task.problem.weights == VBS_WEIGHTS_INCLUDED;
}

/* Writes that joint has a schedule, or may have one, where the planner keeps all weights resident;
 * "" where joint has none, or where that is not known without a solve. */
static enum vbs_status offer_joint(struct vbs_ctx *ctx, const struct vbs_solver *solver,
                                   int64_t memory_bytes, char *text, size_t size)
{
    const struct vbs_task *task = &solver->task;
    struct vbs_bracket bracket;

    text[0] = '\0';
    if (solver->planner->transfers || task->problem.copy.bytes_per_us <= 0 ||
        task->latency_ticks != INT64_MAX)
        return VBS_OK;
    VBS_TRY(vbs_planner_joint.bracket(ctx, task, &bracket));
    if (memory_bytes >= bracket.low_bytes)
        snprintf(text, size, "; planner joint, which copies weights in when they are needed, %s",
                 memory_bytes >= bracket.high_bytes ? "fits" : "may fit");
    return VBS_OK;
}

/* Fails with VBS_INFEASIBLE where a search within the largest budget has found no schedule: what is
 * known of the least budget without a search. */
static enum vbs_status refuse_unfound(struct vbs_ctx *ctx, const struct vbs_solver *solver)
{
    struct vbs_bracket bracket;

    VBS_TRY(solver->planner->bracket(ctx, &solver->task, &bracket));
    return refuse_early(ctx, solver, &bracket);
}

/* Fails with VBS_INFEASIBLE where the planner has no schedule for any budget: because of the
 * latency or, where none is bounded, because its time was over. what: "schedule" or "way". */
static enum vbs_status refuse_any(struct vbs_ctx *ctx, const struct vbs_solver *solver,
                                  const char *what)
{
    double latency_us = solver->task.problem.latency_us;
    int64_t most = solver->task.options.most_bytes;
    char text[24];

    if (latency_us > 0)
        return vbs_fail(ctx, VBS_INFEASIBLE, "no %s of %s answers within %g us in any memory", what,
                        solver->name, latency_us);
    if (most > 0)
        return vbs_fail(ctx, VBS_INFEASIBLE, "%s found no %s that fits %s", solver->name, what,
                        vbs_format_bytes(most, text, sizeof text));
    return vbs_fail(ctx, VBS_INFEASIBLE,
                    "the time for planning was over before %s found a %s; with more time it may "
                    "find one",
                    solver->name, what);
}

/* Fails with VBS_INFEASIBLE, with weights included. */
static enum vbs_status refuse_with_weights(struct vbs_ctx *ctx, const struct vbs_solver *solver,
                                           int64_t memory_bytes)
{
    int64_t least = vbs_solver_least_bytes(solver);
    int64_t weights = vbs_task_lightest_bytes(&solver->task);
    const char *held = solver->planner->transfers ? "" : "all ";
    char have[24], need[48], all[24], joint[100];

    vbs_format_bytes(memory_bytes, have, sizeof have);
    vbs_format_bytes(weights, all, sizeof all);
    if (least == INT64_MAX && solver->task.problem.copy.bytes_per_us == 0)
        return vbs_fail(ctx, VBS_INFEASIBLE,
                        "no schedule of %s in any memory: weights must be copied in, and nothing "
                        "is known of copies",
                        solver->name);
    if (least == INT64_MAX && solver->task.problem.latency_us == 0 && solver->planner->bracket &&
        solver->task.options.most_bytes > 0)
        return refuse_unfound(ctx, solver);
    if (least == INT64_MAX)
        return refuse_any(ctx, solver, "schedule");
    VBS_TRY(offer_joint(ctx, solver, memory_bytes, joint, sizeof joint));
    return vbs_fail(ctx, VBS_INFEASIBLE,
                    "no schedule of %s fits %s with %sweights inside; the least budget is %s; the "
                    "weights take %s%s",
                    solver->name, have, held, vbs_format_exact(least, need, sizeof need), all,
                    joint);
}

/* Refuses a budget of a planner that estimates. */
static enum vbs_status refuse_estimate(struct vbs_ctx *ctx, const struct vbs_solver *solver,
                                       int64_t memory_bytes)
{
    int64_t least = vbs_solver_least_bytes(solver);
    char have[24], need[48];

    if (least == INT64_MAX)
        return refuse_any(ctx, solver, "way");
    return vbs_fail(ctx, VBS_INFEASIBLE, "no way of %s fits %s; the least budget is %s",
                    solver->name, vbs_format_bytes(memory_bytes, have, sizeof have),
                    vbs_format_exact(least, need, sizeof need));
}

static enum vbs_status refuse(struct vbs_ctx *ctx, const struct vbs_solver *solver,
                              int64_t memory_bytes)
{
    struct vbs_opened_planner opened = opened_by(solver);

    if (includes_weights(solver))
        return refuse_with_weights(ctx, solver, memory_bytes);
    if (solver->planner->estimates)
        return refuse_estimate(ctx, solver, memory_bytes);
    if (solver->task.problem.latency_us == 0 && vbs_solver_least_bytes(solver) == INT64_MAX)
        return refuse_any(ctx, solver, "schedule");
    return vbs_explain_refusal(ctx, &opened, memory_bytes);
}

/* Sets the bound: the larger of the planner's own bound, less the largest rounding error of ticks,
 * and the bound for every planner. A plan whose time differs from its bound only in the last bits
 * is proven. */
static enum vbs_status set_bound(struct vbs_ctx *ctx, const struct vbs_solver *solver,
                                 int64_t memory_bytes, double proven_us,
                                 struct vbs_schedule *schedule)
{
    double slack_us = vbs_task_us(&solver->task, vbs_task_slack_ticks(&solver->task));
    double time_us = schedule->predicted.time_us, bound_us;
    enum vbs_status status = vbs_task_bound_us(ctx, &solver->task, memory_bytes, &bound_us);

    /* A planner that plans whole samples proves nothing of schedules by rows. */
    if (!solver->task.has_rows)
        bound_us = fmax(bound_us, proven_us - slack_us);
    if (bound_us > time_us * (1 - VBS_TIME_NOISE))
        bound_us = time_us;
    schedule->bound.time_us = bound_us;
    if (bound_us > 0)
        schedule->bound.gap_percent = 100 * (time_us - bound_us) / bound_us;
    return status;
}

/* Gives the figures of a draft: those of the replay, where it was judged. */
static enum vbs_status find_timeline(struct vbs_ctx *ctx, const struct vbs_task *task,
                                     const struct vbs_draft *draft, struct vbs_timeline *timeline)
{
    if (!draft->judged)
        return vbs_timeline_find(ctx, task, &draft->steps, timeline);
    *timeline = draft->timeline;
    return VBS_OK;
}

/* Checks the planner's draft and makes it a schedule. */
static enum vbs_status finish(struct vbs_ctx *ctx, struct vbs_solver *solver, int64_t memory_bytes,
                              const struct vbs_draft *draft, struct vbs_schedule **schedule)
{
    const struct vbs_task *task = &solver->task;
    const struct vbs_profile *profile = task->profile;
    struct vbs_schedule made = {
        .model = profile->provenance.model,
        .planner = solver->name,
        .request = task->request,
        .memory_bytes = memory_bytes,
        .io = task->problem.io,
        .weights = task->problem.weights,
        .weight_bytes = vbs_profile_weight_bytes(profile),
        .latency_us = task->problem.latency_us,
        .predicted = {.reserved_bytes = draft->reserved_bytes},
        .solver = {.peak_bytes = (int64_t)vbs_solver_peak_bytes(solver),
                   .interrupted = draft->interrupted},
        .provenance = {.hash = solver->profile_hash[0] ? solver->profile_hash : NULL,
                       .device = profile->provenance.device,
                       .library = profile->provenance.library,
                       .backend = profile->provenance.backend,
                       .date = profile->provenance.date,
                       .threads = profile->provenance.threads,
                       .modelled = profile->provenance.backend &&
                                   strcmp(profile->provenance.backend, "analytic") == 0},
        .n_layers = profile->n_layers,
        .layer_names = solver->layer_names,
        .n_algorithms = profile->n_algorithms,
        .algorithms = profile->algorithms,
        .n_steps = draft->steps.n_steps,
        .steps = draft->steps.steps,
    };
    struct vbs_timeline timeline;
    enum vbs_status status = find_timeline(ctx, task, draft, &timeline);

    made.predicted.time_us = timeline.time_us;
    if (includes_weights(solver)) {
        made.copy = task->problem.copy;
        made.predicted.copy_us = timeline.copy_us;
        made.predicted.copied_bytes = timeline.copied_bytes;
        made.predicted.resident_bytes = timeline.resident_bytes;
    }
    if (status != VBS_OK)
        return status;
    VBS_TRY(set_bound(ctx, solver, memory_bytes, draft->bound_us, &made));
    if (timeline.peak_bytes > draft->reserved_bytes || draft->reserved_bytes > memory_bytes)
        return vbs_fail(ctx, VBS_OVER_BUDGET, "%s planned %lld bytes beyond what it had reserved",
                        made.planner, (long long)(timeline.peak_bytes - draft->reserved_bytes));
    if (timeline.latency_ticks > task->latency_ticks)
        return vbs_fail(ctx, VBS_OVER_BUDGET, "%s planned a latency of %g us", made.planner,
                        timeline.latency_us);
    made.predicted.peak_bytes = timeline.peak_bytes;
    made.predicted.latency_us = timeline.latency_us;
    (void)vbs_schedule_interval(profile, &made, &made.predicted.low_us, &made.predicted.high_us);
    return vbs_schedule_copy(ctx, &made, schedule);
}

/* Refuses a budget, with the least one of all. */
static enum vbs_status refuse_all(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                  int64_t memory_bytes)
{
    VBS_TRY(open_for_all(ctx, solver));
    return refuse(ctx, solver, memory_bytes);
}

enum vbs_status vbs_solver_plan(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                int64_t memory_bytes, struct vbs_schedule **schedule)
{
    struct vbs_draft draft = {0};
    enum vbs_status status;

    if (solver->planner->estimates)
        return fail_without_schedule(ctx, solver);
    status = solver->planner->plan(ctx, solver->self, memory_bytes, &draft);
    if (status == VBS_INFEASIBLE) { /* a search that was interrupted before it found a schedule
                                       proves nothing */
        status = vbs_check_cancel(ctx);
        if (status == VBS_OK && solver->planner->outside)
            status = VBS_INFEASIBLE;
        else if (status == VBS_OK)
            status = refuse_all(ctx, solver, memory_bytes);
    } else if (status == VBS_OK)
        status = finish(ctx, solver, memory_bytes, &draft, schedule);
    vbs_step_list_clear(&draft.steps);
    return status;
}

enum vbs_status vbs_solver_estimate(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                    int64_t memory_bytes, struct vbs_estimate **estimate)
{
    enum vbs_status status;

    if (!solver->planner->estimates)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "%s has schedules, and no estimates", solver->name);
    status = solver->planner->estimate(ctx, solver->self, memory_bytes, estimate);
    if (status == VBS_INFEASIBLE)
        return refuse_estimate(ctx, solver, memory_bytes);
    if (status == VBS_OK) {
        (*estimate)->request = solver->task.request;
        (*estimate)->memory_bytes = memory_bytes;
    }
    return status;
}

void vbs_estimate_free(struct vbs_estimate *estimate)
{
    if (!estimate)
        return;
    free(estimate->parts);
    free(estimate);
}

static bool same_time(double a, double b)
{
    return a == b || (isfinite(b) && fabs(a - b) <= VBS_TIME_NOISE * fabs(b));
}

static enum vbs_status draft_us(struct vbs_ctx *ctx, const struct vbs_solver *solver,
                                const struct vbs_draft *draft, double *time_us)
{
    struct vbs_timeline timeline;
    enum vbs_status status;

    if (!includes_weights(solver) && !draft->judged) {
        *time_us = vbs_step_list_us(&solver->task, &draft->steps);
        return VBS_OK;
    }
    status = find_timeline(ctx, &solver->task, draft, &timeline);
    *time_us = timeline.time_us;
    return status;
}

/* Gives whether a planner whose search the caller ended still gives the schedules that it knows. */
static bool gives_known(const struct vbs_solver *solver, const struct vbs_draft *draft)
{
    const struct vbs_planner *planner =
        solver->task.resident ? solver->task.resident : solver->planner;

    return planner->timed || draft->interrupted;
}

static void add_point(struct vbs_frontier *frontier, int64_t memory_bytes, double time_us)
{
    if (frontier->n_points == 0 ||
        !same_time(frontier->points[frontier->n_points - 1].time_us, time_us))
        frontier->points[frontier->n_points++] =
            (struct vbs_frontier_point){.memory_bytes = memory_bytes, .time_us = time_us};
}

/* Makes the plan for a budget, and adds its point. Sets *ends where the caller asked to stop and
 * the planner has no further schedules at hand. */
static enum vbs_status trace_point(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                   int64_t memory_bytes, struct vbs_frontier *frontier, bool *ends)
{
    struct vbs_draft draft = {0};
    double time_us = 0;
    bool stopped, known;
    enum vbs_status status = solver->planner->plan(ctx, solver->self, memory_bytes, &draft);

    if (status == VBS_OK)
        status = draft_us(ctx, solver, &draft, &time_us);
    stopped = vbs_cancelled(ctx);
    known = gives_known(solver, &draft);
    frontier->interrupted = frontier->interrupted || stopped || draft.interrupted;
    *ends = stopped && !known;
    vbs_step_list_clear(&draft.steps);
    if (status == VBS_INTERRUPTED)
        return VBS_OK;
    if (status == VBS_INFEASIBLE) { /* a search that was interrupted does not prove it */
        if (frontier->n_points > 0 && !(stopped && known))
            add_point(frontier, memory_bytes, HUGE_VAL);
        return VBS_OK;
    }
    if (status == VBS_OK)
        add_point(frontier, memory_bytes, time_us);
    return status;
}

/* Computes the points of a frontier. bytes: [n] ascending, each once. */
static enum vbs_status trace_points(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                    const int64_t *bytes, int n, struct vbs_frontier *frontier)
{
    bool ends = false;

    for (int i = 0; i < n && !ends; i++) {
        solver->frontier.at = i;
        report_frontier(solver, 0);
        VBS_TRY(trace_point(ctx, solver, bytes[i], frontier, &ends));
    }
    if (frontier->n_points > 0)
        return VBS_OK;
    if (solver->planner->outside && !frontier->interrupted)
        return vbs_fail(ctx, VBS_INFEASIBLE, "%s has a schedule for none of %d budgets",
                        solver->name, n);
    return vbs_fail(ctx, VBS_INTERRUPTED, "interrupted");
}

enum vbs_status vbs_solver_frontier(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                    struct vbs_frontier **frontier)
{
    struct vbs_frontier *made = NULL;
    struct vbs_budget_list budgets = {0};
    enum vbs_status status;

    if (vbs_solver_least_bytes(solver) == INT64_MAX)
        return refuse(ctx, solver, INT64_MAX);
    made = calloc(1, sizeof *made);
    status = made ? solver->planner->thresholds(ctx, solver->self, &budgets.bytes, &budgets.n)
                  : vbs_no_memory(ctx);
    if (status == VBS_OK) {
        made->points = calloc((size_t)budgets.n, sizeof *made->points);
        vbs_budget_list_sort(&budgets);
        solver->frontier =
            (struct frontier_progress){.n_budgets = budgets.n, .from_s = vbs_clock_s()};
        status = made->points ? trace_points(ctx, solver, budgets.bytes, budgets.n, made)
                              : vbs_no_memory(ctx);
    }
    solver->frontier = (struct frontier_progress){0};
    vbs_budget_list_clear(&budgets);
    if (status != VBS_OK) {
        vbs_frontier_free(made);
        return status;
    }
    *frontier = made;
    return VBS_OK;
}

void vbs_frontier_free(struct vbs_frontier *frontier)
{
    if (!frontier)
        return;
    free(frontier->points);
    free(frontier);
}
