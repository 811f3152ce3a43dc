/*
 * Runs planners over budgets and lets the replay judge what they plan. No number of a planner
 * itself enters a comparison, but how long it took.
 */
#include "report/solvers.h"

#include "base/arena.h"
#include "base/fail.h"
#include "vbslab/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the public struct points into lives in the arena. */
struct owned_compare {
    struct vbs_compare compare; /* first: vbs_compare_free gets a pointer to it */
    struct vbs_arena arena;
    double *bound_us; /* the same as the public ones, to be filled */
    struct vbs_compare_row *rows;
};

/* What every planner is asked. */
struct question {
    const struct vbs_problem *problem;
    const struct vbs_profile *judge;
    struct vbs_solvers *solvers;
    const int64_t *budgets;
    const double *bound_us;
    int n_budgets;
};

/* The rows of one planner: at[b * stride] is that of budget b. */
struct row_column {
    struct vbs_compare_row *at;
    int stride;
};

bool vbs_compare_is_baseline(const struct vbs_planner *planner)
{
    static const char *const NAMES[] = {"fbs", "fbs-best", "greedy-vbs"};

    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (strcmp(vbs_planner_name(planner), NAMES[i]) == 0)
            return true;
    return false;
}

static double gap_percent(double time_us, double bound_us)
{
    double gap;

    if (!(bound_us > 0))
        return 0;
    gap = 100 * (time_us - bound_us) / bound_us;
    /* The two sum the same numbers in different orders. */
    return gap < 0 && gap > -1e-9 ? 0 : gap;
}

/* Percent less time than base takes; both infeasible or base in no time: not a number. */
static double gain_percent(const struct vbs_compare_row *row, const struct vbs_compare_row *base)
{
    if (!row->feasible)
        return 0;
    if (!base->feasible)
        return NAN;
    if (!(base->per_sample_us > 0))
        return row->per_sample_us > 0 ? NAN : 0;
    return 100 * (1 - row->per_sample_us / base->per_sample_us);
}

static void set_batches(struct vbs_compare_row *row, const struct vbs_schedule *schedule)
{
    row->min_batch = row->max_batch = schedule->steps[0].batch;
    for (int64_t i = 1; i < schedule->n_steps; i++) {
        int batch = schedule->steps[i].batch;

        if (batch < row->min_batch)
            row->min_batch = batch;
        if (batch > row->max_batch)
            row->max_batch = batch;
    }
}

static enum vbs_status fail_over_budget(struct vbs_ctx *ctx, const struct question *question,
                                        const struct vbs_compare_row *row,
                                        const struct vbs_replay *replay)
{
    bool self_judged = question->judge == question->problem->profile;

    return vbs_fail(ctx, VBS_OVER_BUDGET, "schedule of %s for %lld bytes takes %lld in step %lld%s",
                    vbs_planner_name(row->planner), (long long)row->memory_bytes,
                    (long long)replay->peak_bytes, (long long)replay->peak_step,
                    self_judged ? ": this is an error of the planner"
                                : " of the judging profile, which counts other bytes; judge by a "
                                  "profile of the same library and network");
}

static enum vbs_status judge_schedule(struct vbs_ctx *ctx, const struct question *question,
                                      const struct vbs_schedule *schedule, double bound_us,
                                      struct vbs_compare_row *row)
{
    struct vbs_replay *replay = NULL;
    enum vbs_status status =
        vbs_replay_run(ctx, question->judge, schedule, row->memory_bytes, false, &replay);

    if (status != VBS_OK)
        return vbs_fail_within(ctx, status, vbs_planner_name(row->planner));
    if (replay->fits) {
        row->feasible = true;
        row->per_sample_us = replay->time_us / (double)question->problem->request;
        row->samples_per_s = 1e6 / row->per_sample_us;
        row->peak_bytes = replay->peak_bytes;
        row->gap_percent = gap_percent(replay->time_us, bound_us);
        set_batches(row, schedule);
    } else {
        status = fail_over_budget(ctx, question, row, replay);
    }
    vbs_replay_free(replay);
    return status;
}

static enum vbs_status plan_budget(struct vbs_ctx *ctx, const struct question *question,
                                   struct vbs_solver *solver, double bound_us,
                                   struct vbs_compare_row *row)
{
    struct vbs_schedule *schedule = NULL;
    double start_us = vbs_solvers_clock_us(), plan_us;
    enum vbs_status status;

    if (row->memory_bytes < row->least_bytes)
        return VBS_OK;
    status = vbs_solver_plan(ctx, solver, row->memory_bytes, &schedule);
    plan_us = vbs_solvers_clock_us() - start_us;
    if (status == VBS_INFEASIBLE)
        return VBS_OK;
    if (status == VBS_OK)
        status = judge_schedule(ctx, question, schedule, bound_us, row);
    if (status == VBS_OK)
        row->plan_us = plan_us;
    vbs_schedule_free(schedule);
    return status;
}

/* Fills all rows of one planner except the gains, which need the baselines' rows. */
static enum vbs_status run_planner(struct vbs_ctx *ctx, const struct question *question,
                                   const struct vbs_planner *planner, struct row_column rows)
{
    struct vbs_opened opened;
    enum vbs_status status = vbs_solvers_take(ctx, question->solvers, planner, &opened);
    double share_us = opened.open_us / question->n_budgets;

    for (int b = 0; b < question->n_budgets && status == VBS_OK; b++) {
        struct vbs_compare_row *row = &rows.at[(size_t)b * (size_t)rows.stride];

        *row = (struct vbs_compare_row){
            .memory_bytes = question->budgets[b],
            .planner = planner,
            .least_bytes = vbs_solver_least_bytes(opened.solver),
        };
        if (vbs_cancelled(ctx))
            status = vbs_fail(ctx, VBS_INTERRUPTED, "interrupted while %s planned",
                              vbs_planner_name(planner));
        else
            status = plan_budget(ctx, question, opened.solver, question->bound_us[b], row);
        if (row->feasible)
            row->plan_us += share_us;
    }
    vbs_solver_free(opened.solver);
    return status;
}

/* The rows of the baseline called name: those in compare, or else planned into spare. */
static enum vbs_status find_baseline(struct vbs_ctx *ctx, const struct question *question,
                                     const char *name, const struct vbs_compare *compare,
                                     struct vbs_compare_row *rows, struct vbs_compare_row *spare,
                                     struct row_column *baseline)
{
    const struct vbs_planner *planner;
    enum vbs_status status;

    for (int p = 0; p < compare->n_planners; p++) {
        if (strcmp(vbs_planner_name(compare->planners[p]), name) == 0) {
            *baseline = (struct row_column){rows + p, compare->n_planners};
            return VBS_OK;
        }
    }
    *baseline = (struct row_column){spare, 1};
    status = vbs_planner_find(ctx, name, &planner);
    if (status == VBS_OK)
        status = run_planner(ctx, question, planner, *baseline);
    return status;
}

static void set_gains(const struct vbs_compare *compare, struct vbs_compare_row *rows,
                      struct row_column fbs, struct row_column fbs_best)
{
    for (int b = 0; b < compare->n_budgets; b++) {
        for (int p = 0; p < compare->n_planners; p++) {
            struct vbs_compare_row *row =
                &rows[(size_t)b * (size_t)compare->n_planners + (size_t)p];

            row->gain_over_fbs_percent = gain_percent(row, &fbs.at[(size_t)b * (size_t)fbs.stride]);
            row->gain_over_fbs_best_percent =
                gain_percent(row, &fbs_best.at[(size_t)b * (size_t)fbs_best.stride]);
        }
    }
}

static enum vbs_status run_planners(struct vbs_ctx *ctx, const struct question *question,
                                    struct owned_compare *owned)
{
    const struct vbs_compare *compare = &owned->compare;
    struct vbs_compare_row *rows = owned->rows;
    struct vbs_compare_row *spare =
        vbs_arena_alloc(&owned->arena, 2 * (size_t)compare->n_budgets, sizeof *spare);
    struct row_column fbs, fbs_best;
    enum vbs_status status = VBS_OK;

    if (!spare)
        return vbs_no_memory(ctx);
    for (int p = 0; p < compare->n_planners && status == VBS_OK; p++)
        status = run_planner(ctx, question, compare->planners[p],
                             (struct row_column){rows + p, compare->n_planners});
    if (status == VBS_OK)
        status = find_baseline(ctx, question, "fbs", compare, rows, spare, &fbs);
    if (status == VBS_OK)
        status = find_baseline(ctx, question, "fbs-best", compare, rows, spare + compare->n_budgets,
                               &fbs_best);
    if (status == VBS_OK)
        set_gains(compare, rows, fbs, fbs_best);
    return status;
}

/* Bounds come from the judge's rows: those are the times that the schedules are held against. */
static enum vbs_status set_bounds(struct vbs_ctx *ctx, const struct question *question,
                                  double *bound_us)
{
    struct vbs_problem judged = *question->problem;
    enum vbs_status status = VBS_OK;

    judged.profile = question->judge;
    for (int b = 0; b < question->n_budgets && status == VBS_OK; b++)
        status = vbs_cancelled(ctx)
                     ? vbs_fail(ctx, VBS_INTERRUPTED, "interrupted")
                     : vbs_bound_us(ctx, &judged, question->budgets[b], &bound_us[b]);
    return status;
}

/* A schedule of one network means nothing on another; the replay would stumble over it late. */
static enum vbs_status check_judge(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                   const struct vbs_profile *judge)
{
    if (judge->n_layers != profile->n_layers)
        return vbs_fail(ctx, VBS_INVALID,
                        "the judging profile is of another network: it has %d layers, not %d",
                        judge->n_layers, profile->n_layers);
    for (int k = 0; k <= profile->n_layers; k++)
        if (judge->layers[k].out_bytes != profile->layers[k].out_bytes)
            return vbs_fail(ctx, VBS_INVALID,
                            "the judging profile is of another network or input: layer %d '%s' "
                            "gives %lld bytes per sample, not %lld",
                            k, k > 0 ? judge->layers[k].name : "input",
                            (long long)judge->layers[k].out_bytes,
                            (long long)profile->layers[k].out_bytes);
    return VBS_OK;
}

static bool same_rows(const struct vbs_profile *a, const struct vbs_profile *b, int layer,
                      int batch)
{
    int n_a, n_b;
    const struct vbs_profile_row *rows_a = vbs_profile_rows(a, layer, batch, &n_a);
    const struct vbs_profile_row *rows_b = vbs_profile_rows(b, layer, batch, &n_b);

    if (n_a != n_b)
        return false;
    for (int i = 0; i < n_a; i++)
        if (rows_a[i].time_us != rows_b[i].time_us || rows_a[i].ws_bytes != rows_b[i].ws_bytes)
            return false;
    return true;
}

/* A profile that was exported or copied is no second opinion. */
static bool same_measurements(const struct vbs_profile *a, const struct vbs_profile *b)
{
    if (a == b)
        return true;
    if (a->n_layers != b->n_layers || a->n_batches != b->n_batches)
        return false;
    for (int layer = 1; layer <= a->n_layers; layer++)
        for (int batch = 0; batch < a->n_batches; batch++)
            if (!same_rows(a, b, layer, batch))
                return false;
    return true;
}

static const char *copy_text(struct vbs_arena *arena, const char *text, bool *failed)
{
    char *copy = vbs_arena_strdup(arena, text);

    *failed = *failed || !copy;
    return copy;
}

static struct vbs_circumstances copy_circumstances(struct vbs_arena *arena,
                                                   const struct vbs_circumstances *from,
                                                   bool *failed)
{
    return (struct vbs_circumstances){
        .model = copy_text(arena, from->model, failed),
        .input = copy_text(arena, from->input, failed),
        .backend = copy_text(arena, from->backend, failed),
        .library = copy_text(arena, from->library, failed),
        .device = copy_text(arena, from->device, failed),
        .vbslab = copy_text(arena, from->vbslab, failed),
        .date = copy_text(arena, from->date, failed),
        .notes = copy_text(arena, from->notes, failed),
        .threads = from->threads,
    };
}

static const struct vbs_planner **copy_planners(struct vbs_arena *arena,
                                                const struct vbs_planner *const *planners,
                                                int *n_planners)
{
    const struct vbs_planner **copy;

    if (!planners)
        for (*n_planners = 0; vbs_planner_at(*n_planners);)
            ++*n_planners;
    copy = vbs_arena_alloc(arena, (size_t)*n_planners, sizeof *copy);
    for (int p = 0; copy && p < *n_planners; p++)
        copy[p] = planners ? planners[p] : vbs_planner_at(p);
    return copy;
}

static int64_t *list_budgets(struct vbs_arena *arena, const struct vbs_byte_range *range, int count)
{
    int64_t *budgets = vbs_arena_alloc(arena, (size_t)count, sizeof *budgets);

    for (int b = 0; budgets && b < count; b++)
        budgets[b] = range->from_bytes + b * range->step_bytes;
    return budgets;
}

static enum vbs_status check_range(struct vbs_ctx *ctx, const struct vbs_byte_range *range)
{
    if (range->step_bytes < 1 || range->from_bytes < 0 || range->to_bytes < range->from_bytes ||
        (range->to_bytes - range->from_bytes) / range->step_bytes >= VBS_MAX_BUDGETS)
        return vbs_fail(ctx, VBS_USAGE, "range of budgets is empty or has more than %d",
                        VBS_MAX_BUDGETS);
    return VBS_OK;
}

/* All of a comparison but bounds and rows, which are zero; null: out of memory. */
static struct owned_compare *new_compare(const struct vbs_problem *problem,
                                         const struct vbs_profile *judge,
                                         const struct vbs_byte_range *range,
                                         const struct vbs_planner *const *planners, int n_planners)
{
    struct owned_compare *owned = calloc(1, sizeof *owned);
    int n_budgets = vbs_byte_range_count(range);
    struct vbs_arena *arena;
    bool failed = false;

    if (!owned)
        return NULL;
    arena = &owned->arena;
    owned->compare = (struct vbs_compare){
        .request = problem->request,
        .io = problem->io,
        .circumstances = copy_circumstances(arena, &problem->profile->circumstances, &failed),
        .judge = copy_circumstances(arena, &judge->circumstances, &failed),
        .self_judged = same_measurements(problem->profile, judge),
        .n_budgets = n_budgets,
        .budgets = list_budgets(arena, range, n_budgets),
        .planners = copy_planners(arena, planners, &n_planners),
    };
    owned->compare.model = owned->compare.circumstances.model;
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

/* The comparison of a question that has all but bounds and budgets. */
static enum vbs_status compare_over(struct vbs_ctx *ctx, struct question *question,
                                    const struct vbs_byte_range *range,
                                    const struct vbs_planner *const *planners, int n_planners,
                                    struct vbs_compare **compare)
{
    struct owned_compare *owned =
        new_compare(question->problem, question->judge, range, planners, n_planners);
    enum vbs_status status;

    if (!owned)
        return vbs_no_memory(ctx);
    question->n_budgets = owned->compare.n_budgets;
    question->budgets = owned->compare.budgets;
    question->bound_us = owned->bound_us;
    status = set_bounds(ctx, question, owned->bound_us);
    if (status == VBS_OK)
        status = run_planners(ctx, question, owned);
    if (status == VBS_OK)
        *compare = &owned->compare;
    else
        vbs_compare_free(&owned->compare);
    return status;
}

enum vbs_status vbs_compare_run(struct vbs_ctx *ctx, const struct vbs_problem *problem,
                                const struct vbs_profile *judge,
                                const struct vbs_byte_range *budgets,
                                const struct vbs_planner *const *planners, int n_planners,
                                struct vbs_compare **compare)
{
    struct vbs_solvers solvers = {0};
    struct question question = {
        .problem = problem, .judge = judge ? judge : problem->profile, .solvers = &solvers};
    struct vbs_byte_range range;
    enum vbs_status status;

    if (planners && n_planners < 1)
        return vbs_fail(ctx, VBS_USAGE, "no planner to compare");
    status = budgets ? check_range(ctx, budgets) : VBS_OK;
    if (status == VBS_OK)
        status = check_judge(ctx, problem->profile, question.judge);
    if (status == VBS_OK)
        status = vbs_solvers_init(ctx, &solvers, problem);
    if (status == VBS_OK && !budgets)
        status = vbs_solvers_budgets(ctx, &solvers, &range);
    if (status == VBS_OK)
        status =
            compare_over(ctx, &question, budgets ? budgets : &range, planners, n_planners, compare);
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
