/*
 * Runs planners over budgets, and judges their plans by replay. A comparison contains only two of a
 * planner's own numbers: the time that it took, and the lower bound that it proved.
 */
#include "base/arena.h"
#include "base/fail.h"
#include "base/options.h"
#include "report/common/common.h"
#include "report/compare/gains.h"
#include "report/compare/judge.h"
#include "report/compare/solvers.h"
#include "vbslab/backend.h"
#include "vbslab/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUIET_US 500e3 /* of wall clock before progress is reported */

/* The memory behind a comparison: the arrays are in the arena. */
struct owned_compare {
    struct vbs_compare compare; /* first: vbs_compare_free gets a pointer to it */
    struct vbs_arena arena;
    double *bound_us; /* writable pointers to the arrays of the public struct */
    struct vbs_compare_row *rows;
};

/* The problem of all planners, and the state of the comparison. */
struct question {
    const struct vbs_problem *problem;
    const struct vbs_profile *judge;
    struct vbs_noise *noise;
    struct vbs_solvers *solvers;
    const struct vbs_compare_options *options;
    const int64_t *budgets;
    double *bound_us; /* raised by the bounds that planners prove */
    int n_budgets;
    bool self_judged;
    double start_us;
    int n_done, n_all; /* plans */
};

static void set_batches(struct vbs_compare_row *row, const struct vbs_schedule *schedule)
{
    row->min_batch = row->max_batch = 0;
    for (int64_t i = 0; i < schedule->n_steps; i++) {
        int batch = schedule->steps[i].batch;

        if (schedule->steps[i].op != VBS_STEP_COMPUTE)
            continue;
        if (row->min_batch == 0 || batch < row->min_batch)
            row->min_batch = batch;
        if (batch > row->max_batch)
            row->max_batch = batch;
    }
}

/* Counts the layers with a step on coded weights. */
static enum vbs_status count_coded(struct vbs_ctx *ctx, const struct question *question,
                                   const struct vbs_schedule *schedule, int *n_coded)
{
    bool *coded = calloc((size_t)question->problem->profile->n_layers + 1, sizeof *coded);

    if (!coded)
        return vbs_no_memory(ctx);
    *n_coded = 0;
    for (int64_t i = 0; i < schedule->n_steps; i++) {
        const struct vbs_step *step = &schedule->steps[i];

        if (step->op == VBS_STEP_COMPUTE && !coded[step->layer] &&
            vbs_algorithm_is_coded(schedule->algorithms[step->algorithm])) {
            coded[step->layer] = true;
            ++*n_coded;
        }
    }
    free(coded);
    return VBS_OK;
}

static enum vbs_status fail_over_budget(struct vbs_ctx *ctx, const struct question *question,
                                        const struct vbs_compare_row *row,
                                        const struct vbs_replay *replay)
{
    return vbs_fail(ctx, VBS_OVER_BUDGET, "schedule of %s for %lld bytes takes %lld in step %lld%s",
                    vbs_planner_name(row->planner), (long long)row->memory_bytes,
                    (long long)replay->peak_bytes, (long long)replay->peak_step,
                    question->self_judged
                        ? ": this is an error of the planner"
                        : " of the judging profile, which counts other bytes; judge by a "
                          "profile of the same library and network");
}

/* Checks a replay. The bound on the latency is kept by the times that were planned with; by another
 * judge's times the latency may exceed it. */
static enum vbs_status check_replay(struct vbs_ctx *ctx, const struct question *question,
                                    const struct vbs_compare_row *row,
                                    const struct vbs_replay *replay)
{
    if (!replay->fits)
        return fail_over_budget(ctx, question, row, replay);
    if (!replay->in_time && question->self_judged)
        return vbs_fail(ctx, VBS_OVER_BUDGET,
                        "schedule of %s for %lld bytes has a sample wait %g us, beyond the bound "
                        "of %g: this is an error of the planner",
                        vbs_planner_name(row->planner), (long long)row->memory_bytes,
                        replay->latency_us, replay->latency_bound_us);
    return VBS_OK;
}

static enum vbs_status judge_schedule(struct vbs_ctx *ctx, const struct question *question,
                                      const struct vbs_schedule *schedule, double *bound_us,
                                      struct vbs_compare_row *row, const struct vbs_mix **mix)
{
    struct vbs_replay *replay = NULL;
    double own_us = question->self_judged ? schedule->bound.time_us : 0;
    enum vbs_status status =
        vbs_replay_run(ctx, question->judge, schedule, row->memory_bytes, false, &replay);

    if (status != VBS_OK)
        return vbs_fail_within(ctx, status, vbs_planner_name(row->planner));
    status = check_replay(ctx, question, row, replay);
    if (status == VBS_OK)
        status = count_coded(ctx, question, schedule, &row->n_coded);
    if (status == VBS_OK)
        status = vbs_noise_mix(ctx, question->noise, schedule, replay->time_us, mix);
    if (status == VBS_OK) {
        row->feasible = true;
        row->per_sample_us = replay->time_us / (double)question->problem->request;
        row->samples_per_s = 1e6 / row->per_sample_us;
        row->peak_bytes = replay->peak_bytes;
        row->latency_us = replay->latency_us;
        row->copy_us = replay->copy_us;
        row->copied_bytes = replay->copied_bytes;
        row->resident_bytes = replay->resident_bytes;
        row->gap_percent =
            vbs_form_gap_percent(replay->time_us, question->self_judged ? own_us : *bound_us);
        set_batches(row, schedule);
        *bound_us = fmax(*bound_us, own_us);
    }
    vbs_replay_free(replay);
    return status;
}

static enum vbs_status fail_interrupted(struct vbs_ctx *ctx, const struct vbs_planner *planner)
{
    return vbs_fail(ctx, VBS_INTERRUPTED, "interrupted while %s planned",
                    vbs_planner_name(planner));
}

static enum vbs_status watch(struct vbs_ctx *ctx, const struct question *question,
                             const struct vbs_compare_row *row, const struct vbs_schedule *schedule)
{
    const struct vbs_compare_options *options = question->options;

    return options->watch ? options->watch(ctx, options->watching, row, schedule) : VBS_OK;
}

/* Takes over the figures of a planner that estimates: there is no schedule to replay, and no bound
 * of schedules holds for it. */
static enum vbs_status estimate_budget(struct vbs_ctx *ctx, const struct question *question,
                                       struct vbs_solver *solver, struct vbs_compare_row *row)
{
    struct vbs_estimate *estimate = NULL;
    double start_us = vbs_solvers_clock_us();
    enum vbs_status status = vbs_solver_estimate(ctx, solver, row->memory_bytes, &estimate);

    if (status == VBS_INFEASIBLE)
        return VBS_OK;
    if (status != VBS_OK)
        return status;
    row->feasible = true;
    row->per_sample_us = estimate->time_us / (double)question->problem->request;
    row->samples_per_s = 1e6 / row->per_sample_us;
    row->peak_bytes = estimate->peak_bytes;
    row->latency_us = estimate->latency_us;
    row->gap_percent = NAN;
    row->min_batch = row->max_batch = 1;
    row->plan_us = vbs_solvers_clock_us() - start_us;
    vbs_estimate_free(estimate);
    return VBS_OK;
}

static enum vbs_status plan_budget(struct vbs_ctx *ctx, const struct question *question,
                                   struct vbs_solver *solver, double *bound_us,
                                   struct vbs_compare_row *row, const struct vbs_mix **mix)
{
    struct vbs_schedule *schedule = NULL;
    double start_us = vbs_solvers_clock_us(), plan_us;
    enum vbs_status status;

    if (row->estimated)
        return estimate_budget(ctx, question, solver, row);
    status = row->memory_bytes < row->least_bytes
                 ? VBS_INFEASIBLE
                 : vbs_solver_plan(ctx, solver, row->memory_bytes, &schedule);

    plan_us = vbs_solvers_clock_us() - start_us;
    if (status == VBS_INFEASIBLE)
        return watch(ctx, question, row, NULL);
    if (status != VBS_OK)
        return status;
    status = schedule->solver.interrupted
                 ? fail_interrupted(ctx, row->planner)
                 : judge_schedule(ctx, question, schedule, bound_us, row, mix);
    if (status == VBS_OK)
        status = watch(ctx, question, row, schedule);
    if (status == VBS_OK)
        row->plan_us = plan_us;
    vbs_schedule_free(schedule);
    return status;
}

/* Reports progress, unless the work so far took no longer than QUIET_US. */
static void report_progress(struct question *question, const struct vbs_planner *planner)
{
    const struct vbs_progress *progress = &question->options->progress;
    char text[80];

    question->n_done++;
    if (!progress->report || vbs_solvers_clock_us() - question->start_us < QUIET_US)
        return;
    snprintf(text, sizeof text, "%.60s plans", vbs_planner_name(planner));
    progress->report(progress->self, fmin((double)question->n_done / question->n_all, 1), -1, text);
}

/* Fills all rows of one planner except the gains, which need the baselines' rows. */
static enum vbs_status run_planner(struct vbs_ctx *ctx, struct question *question,
                                   const struct vbs_planner *planner, struct vbs_row_column rows)
{
    struct vbs_opened opened;
    enum vbs_status status = vbs_solvers_hand_over(ctx, question->solvers, planner, &opened);
    double share_us = opened.open_us / question->n_budgets, least_latency_us = 0;

    if (status == VBS_OK)
        status = vbs_solvers_least_latency(ctx, opened.solver, &least_latency_us);
    for (int b = 0; b < question->n_budgets && status == VBS_OK; b++) {
        size_t at = (size_t)b * (size_t)rows.stride;
        const struct vbs_mix *mix = NULL;
        struct vbs_compare_row row = {
            .memory_bytes = question->budgets[b],
            .planner = planner,
            .least_bytes = vbs_solver_least_bytes(opened.solver),
            .least_latency_us = least_latency_us,
            .estimated = vbs_planner_estimates(planner),
        };

        status = vbs_cancelled(ctx) ? fail_interrupted(ctx, planner)
                                    : plan_budget(ctx, question, opened.solver,
                                                  &question->bound_us[b], &row, &mix);
        if (status != VBS_OK)
            break;
        if (row.feasible)
            row.plan_us += share_us;
        rows.at[at] = row;
        rows.mixes[at] = mix;
        report_progress(question, planner);
    }
    vbs_solver_free(opened.solver);
    return status;
}

/* Makes columns: those of the compared planners are in the rows of the comparison, those of other
 * baselines beside them. */
static struct vbs_row_column *make_columns(struct owned_compare *owned)
{
    size_t n_budgets = (size_t)owned->compare.n_budgets, n = (size_t)owned->compare.n_planners;
    struct vbs_row_column *columns =
        vbs_arena_alloc(&owned->arena, n + VBS_N_BASELINES, sizeof *columns);
    struct vbs_compare_row *spare =
        vbs_arena_alloc(&owned->arena, VBS_N_BASELINES * n_budgets, sizeof *spare);
    const struct vbs_mix **mixes =
        vbs_arena_alloc(&owned->arena, (n + VBS_N_BASELINES) * n_budgets, sizeof *mixes);

    if (!columns || !spare || !mixes)
        return NULL;
    for (size_t p = 0; p < n; p++)
        columns[p] = (struct vbs_row_column){owned->rows + p, mixes + p, (int)n};
    for (size_t i = 0; i < VBS_N_BASELINES; i++)
        columns[n + i] =
            (struct vbs_row_column){spare + i * n_budgets, mixes + (n + i) * n_budgets, 1};
    return columns;
}

/* Gives the column of the planner with this name; -1: it is not compared. */
static int find_column(const struct vbs_compare *compare, const char *name)
{
    for (int p = 0; p < compare->n_planners; p++)
        if (strcmp(vbs_planner_name(compare->planners[p]), name) == 0)
            return p;
    return -1;
}

/* Fills the columns of the baselines, behind those of all planners: those in compare, and those
 * that always count, which are planned before all others, so that gains are known of every row. */
static enum vbs_status run_baselines(struct vbs_ctx *ctx, struct question *question,
                                     const struct vbs_compare *compare,
                                     struct vbs_row_column *columns)
{
    int made[VBS_N_MADE], n_made = 0, n = compare->n_planners;

    for (int i = 0; i < VBS_N_BASELINES; i++) {
        int p = find_column(compare, vbs_gains_baseline(i));

        if (p >= 0)
            columns[n + i] = columns[p];
        else if (i < VBS_N_MADE)
            made[n_made++] = i;
    }
    question->n_all = (n + n_made) * compare->n_budgets;
    for (int i = 0; i < n_made; i++) {
        const struct vbs_planner *planner;

        VBS_TRY(vbs_planner_find(ctx, vbs_gains_baseline(made[i]), &planner));
        VBS_TRY(run_planner(ctx, question, planner, columns[n + made[i]]));
    }
    return VBS_OK;
}

/* Marks all rows as not planned. */
static void clear_rows(struct owned_compare *owned)
{
    const struct vbs_compare *compare = &owned->compare;
    int n = compare->n_planners;

    for (int i = 0; i < compare->n_budgets * n; i++)
        owned->rows[i] = (struct vbs_compare_row){.memory_bytes = compare->budgets[i / n],
                                                  .planner = compare->planners[i % n],
                                                  .missing = true};
}

static bool has_rows(const struct vbs_compare *compare)
{
    for (int i = 0; i < compare->n_budgets * compare->n_planners; i++)
        if (!compare->rows[i].missing)
            return true;
    return false;
}

/* An interrupted comparison has the rows that are finished, and no intervals. */
static enum vbs_status run_planners(struct vbs_ctx *ctx, struct question *question,
                                    struct owned_compare *owned)
{
    struct vbs_compare *compare = &owned->compare;
    struct vbs_row_column *columns = make_columns(owned);
    enum vbs_status status;

    if (!columns)
        return vbs_no_memory(ctx);
    clear_rows(owned);
    status = run_baselines(ctx, question, compare, columns);
    for (int p = 0; p < compare->n_planners && status == VBS_OK; p++)
        status = run_planner(ctx, question, compare->planners[p], columns[p]);
    if (status == VBS_OK)
        status = vbs_gains_set(ctx, question->noise, compare, columns);
    compare->interrupted = status == VBS_INTERRUPTED;
    if (compare->interrupted && has_rows(compare))
        return vbs_gains_set(ctx, NULL, compare, columns);
    if (status == VBS_OK)
        compare->intervals = vbs_noise_intervals(question->noise);
    return status;
}

/* Bounds come from the judge's rows: those are the times that the schedules are held against. */
static enum vbs_status set_bounds(struct vbs_ctx *ctx, const struct question *question)
{
    struct vbs_problem judged = *question->problem;

    judged.profile = question->judge;
    judged.copy = vbs_judge_link(question->judge, &judged.copy);
    if (!question->self_judged)
        judged.latency_us = 0; /* the schedules need not keep it by the judge's times */
    for (int b = 0; b < question->n_budgets; b++)
        VBS_TRY(vbs_cancelled(ctx)
                    ? vbs_fail(ctx, VBS_INTERRUPTED, "interrupted")
                    : vbs_bound_us(ctx, &judged, question->budgets[b], &question->bound_us[b]));
    return VBS_OK;
}

static const char *copy_text(struct vbs_arena *arena, const char *text, bool *failed)
{
    char *copy = vbs_arena_strdup(arena, text);

    *failed = *failed || !copy;
    return copy;
}

static struct vbs_provenance copy_provenance(struct vbs_arena *arena,
                                             const struct vbs_provenance *from, bool *failed)
{
    struct vbs_provenance copy = {.threads = from->threads};

#define COPY(member) copy.member = copy_text(arena, from->member, failed);
    VBS_PROVENANCE_TEXTS(COPY)
#undef COPY
    return copy;
}

static const struct vbs_planner **copy_planners(struct vbs_arena *arena,
                                                const struct vbs_compare_options *options,
                                                enum vbs_weights weights, int *n_planners)
{
    const struct vbs_planner **copy;
    int n_all = options->n_planners;

    if (!options->planners)
        for (n_all = 0; vbs_planner_at(n_all);)
            n_all++;
    copy = vbs_arena_alloc(arena, (size_t)n_all, sizeof *copy);
    *n_planners = 0;
    for (int p = 0; copy && p < n_all; p++)
        if (options->planners || vbs_planner_is_compared(vbs_planner_at(p), weights))
            copy[(*n_planners)++] = options->planners ? options->planners[p] : vbs_planner_at(p);
    return copy;
}

static int64_t *copy_budgets(struct vbs_arena *arena, const struct vbs_budgets *budgets)
{
    int64_t *copy = vbs_arena_alloc(arena, (size_t)budgets->n, sizeof *copy);

    if (copy)
        memcpy(copy, budgets->at, (size_t)budgets->n * sizeof *copy);
    return copy;
}

static struct vbs_link copy_link(struct vbs_arena *arena, const struct vbs_problem *problem,
                                 bool *failed)
{
    struct vbs_link link = problem->copy;

    if (problem->weights == VBS_WEIGHTS_EXCLUDED)
        return (struct vbs_link){0};
    link.source = copy_text(arena, link.source ? link.source : "", failed);
    return link;
}

static bool has_coded(const struct vbs_profile *profile)
{
    for (int a = 0; a < profile->n_algorithms; a++)
        if (vbs_algorithm_is_coded(profile->algorithms[a]))
            return true;
    return false;
}

/* All of a comparison but bounds and rows, which are zero; null: out of memory. */
static struct owned_compare *new_compare(const struct vbs_problem *problem,
                                         const struct vbs_profile *judge,
                                         const struct vbs_budgets *budgets,
                                         const struct vbs_compare_options *options)
{
    struct owned_compare *owned = calloc(1, sizeof *owned);
    int n_budgets = budgets->n, n_planners;
    struct vbs_arena *arena;
    bool failed = false;

    if (!owned)
        return NULL;
    arena = &owned->arena;
    owned->compare = (struct vbs_compare){
        .request = problem->request,
        .io = problem->io,
        .latency_bound_us = problem->latency_us,
        .weights = problem->weights,
        .copy = copy_link(arena, problem, &failed),
        .weight_bytes = vbs_profile_weight_bytes(problem->profile),
        .least_weight_bytes = vbs_least_weight_bytes(problem->profile),
        .provenance = copy_provenance(arena, &problem->profile->provenance, &failed),
        .judge = copy_provenance(arena, &judge->provenance, &failed),
        .has_coded = has_coded(problem->profile),
        .self_judged = vbs_judge_is_same(problem->profile, judge, problem->weights),
        .n_budgets = n_budgets,
        .budgets = copy_budgets(arena, budgets),
        .planners = copy_planners(arena, options, problem->weights, &n_planners),
    };
    owned->compare.model = owned->compare.provenance.model;
    vbs_profile_hash(problem->profile, owned->compare.hash);
    vbs_profile_hash(judge, owned->compare.judge_hash);
    owned->compare.n_planners = n_planners;
    owned->bound_us = vbs_arena_alloc(arena, (size_t)n_budgets, sizeof *owned->bound_us);
    owned->rows =
        vbs_arena_alloc(arena, (size_t)n_budgets * (size_t)n_planners, sizeof *owned->rows);
    owned->compare.bound_us = owned->bound_us;
    owned->compare.rows = owned->rows;
    if (failed || !owned->compare.budgets || !owned->compare.planners || !owned->bound_us ||
        !owned->rows) {
        vbs_compare_free(&owned->compare);
        return NULL;
    }
    return owned;
}

/* The comparison of a question that has all but noise, bounds and budgets. */
static enum vbs_status compare_over(struct vbs_ctx *ctx, struct question *question,
                                    const struct vbs_compare_options *options,
                                    const struct vbs_budgets *budgets, struct vbs_compare **compare)
{
    struct owned_compare *owned = new_compare(question->problem, question->judge, budgets, options);
    enum vbs_status status;

    question->noise = vbs_noise_new(question->judge, options->samples);
    if (!owned || !question->noise) {
        status = vbs_no_memory(ctx);
        goto clean_up;
    }
    question->n_budgets = owned->compare.n_budgets;
    question->budgets = owned->compare.budgets;
    question->bound_us = owned->bound_us;
    question->self_judged = owned->compare.self_judged;
    status = set_bounds(ctx, question);
    if (status == VBS_OK)
        status = run_planners(ctx, question, owned);
    if (status != VBS_OK)
        goto clean_up;
    *compare = &owned->compare;
    owned = NULL;

clean_up:
    if (owned)
        vbs_compare_free(&owned->compare);
    vbs_noise_free(question->noise);
    return status;
}

enum vbs_status vbs_compare_run(struct vbs_ctx *ctx, const struct vbs_problem *problem,
                                const struct vbs_compare_options *options,
                                struct vbs_compare **compare)
{
    struct vbs_compare_options own;
    struct vbs_solvers solvers = {0};
    struct question question = {
        .problem = problem, .solvers = &solvers, .start_us = vbs_solvers_clock_us()};
    struct vbs_budgets budgets = {0};
    enum vbs_status status;

    VBS_TRY(vbs_options_read(ctx, "vbs_compare_options", options, &own, sizeof own));
    options = &own;
    question.judge = options->judge ? options->judge : problem->profile;
    question.options = options;
    if (options->planners && options->n_planners < 1)
        return vbs_fail(ctx, VBS_USAGE, "no planner to compare");
    status = vbs_judge_check(ctx, problem->profile, question.judge);
    if (status != VBS_OK)
        goto done;
    status = vbs_solvers_init(ctx, &solvers, problem, options);
    if (status != VBS_OK)
        goto done;
    status = vbs_solvers_budgets(ctx, &solvers, options->budgets, &budgets);
    if (status != VBS_OK)
        goto done;
    solvers.budgets = &budgets;
    status = compare_over(ctx, &question, options, &budgets, compare);
done:
    free(budgets.at);
    vbs_solvers_clear(&solvers);
    return status;
}

void vbs_compare_free(struct vbs_compare *compare)
{
    struct owned_compare *owned = (struct owned_compare *)compare;

    if (!owned)
        return;
    vbs_arena_clear(&owned->arena);
    free(owned);
}
