/*
 * The plans of a planner for all budgets. Its frontier names the budgets at which its time changes;
 * between two of them the plan may change without its time. Wherever the plans at both ends of such
 * a range differ, the range is cut in halves until the budget is found.
 */
#include "report/html/html.h"

#include "base/fail.h"
#include "base/grow.h"
#include "schedule/same_steps.h"
#include "vbslab/units.h"

#include <stdlib.h>

#define MOST_PLANS 4000 /* of one planner */

/* The planner at work, the plans so far, and how many of them there may be. */
struct vbs_page_search {
    struct vbs_page_profile *profile;
    struct vbs_page_plans *plans;
    struct vbs_solver *solver;
    int64_t most;
};

static enum vbs_status append(struct vbs_ctx *ctx, struct vbs_page_plans *plans,
                              const struct vbs_page_plan *plan)
{
    VBS_TRY(vbs_grow(ctx, &plans->list, &plans->capacity, plans->n + 1, sizeof *plans->list));
    plans->list[plans->n++] = *plan;
    return VBS_OK;
}

/* Appends a budget from which on there is no plan, where the budget before it has one. */
static enum vbs_status append_end(struct vbs_ctx *ctx, struct vbs_page_plans *plans,
                                  int64_t memory_bytes)
{
    if (plans->n == 0 || plans->list[plans->n - 1].n_steps == 0)
        return VBS_OK;
    return append(ctx, plans, &(struct vbs_page_plan){.memory_bytes = memory_bytes});
}

enum vbs_status vbs_page_plan_add(struct vbs_ctx *ctx, struct vbs_page_profile *profile,
                                  struct vbs_page_plans *plans, int64_t memory_bytes,
                                  const struct vbs_schedule *schedule)
{
    struct vbs_page_plan plan;
    bool accepted;

    if (!schedule)
        return append_end(ctx, plans, memory_bytes);
    VBS_TRY(vbs_page_steps_add(ctx, &profile->steps, profile->problem->profile, schedule, &plan,
                               &accepted));
    if (!accepted)
        return vbs_fail(ctx, VBS_OVER_BUDGET,
                        "the replay does not accept the schedule of %s for %lld bytes: this is "
                        "an error of the planner",
                        schedule->planner, (long long)schedule->memory_bytes);
    return append(ctx, plans, &plan);
}

/* Makes the schedule for a budget; *schedule is null where there is none. */
static enum vbs_status plan_at(struct vbs_ctx *ctx, const struct vbs_page_search *search,
                               int64_t memory_bytes, struct vbs_schedule **schedule)
{
    enum vbs_status status = vbs_check_cancel(ctx);

    *schedule = NULL;
    if (status == VBS_OK)
        status = vbs_solver_plan(ctx, search->solver, memory_bytes, schedule);
    if (status == VBS_OK && (*schedule)->solver.interrupted) {
        vbs_schedule_free(*schedule);
        *schedule = NULL;
        return vbs_fail(ctx, VBS_INTERRUPTED, "interrupted");
    }
    return status == VBS_INFEASIBLE ? VBS_OK : status;
}

static bool same_plan(const struct vbs_schedule *a, const struct vbs_schedule *b)
{
    if (!a || !b)
        return a == b;
    return a->predicted.reserved_bytes == b->predicted.reserved_bytes &&
           vbs_schedule_same_steps(a, b);
}

/* Appends the plan for a budget, or that there is none from here on. */
static enum vbs_status keep(struct vbs_ctx *ctx, const struct vbs_page_search *search,
                            int64_t memory_bytes, const struct vbs_schedule *schedule)
{
    return vbs_page_plan_add(ctx, search->profile, search->plans, memory_bytes, schedule);
}

/* Appends the plans of budgets above low_bytes and up to high_bytes. low is the plan at low_bytes,
 * which the page has. */
static enum vbs_status cut(struct vbs_ctx *ctx, const struct vbs_page_search *search,
                           int64_t low_bytes, const struct vbs_schedule *low, int64_t high_bytes,
                           const struct vbs_schedule *high)
{
    int64_t middle_bytes = low_bytes + (high_bytes - low_bytes) / 2;
    struct vbs_schedule *middle;
    enum vbs_status status;

    if (same_plan(low, high) || search->plans->n >= search->most)
        return VBS_OK;
    if (high_bytes == low_bytes + 1)
        return keep(ctx, search, high_bytes, high);
    VBS_TRY(plan_at(ctx, search, middle_bytes, &middle));
    status = cut(ctx, search, low_bytes, low, middle_bytes, middle);
    if (status == VBS_OK)
        status = cut(ctx, search, middle_bytes, middle, high_bytes, high);
    vbs_schedule_free(middle);
    return status;
}

/* Appends the plans of budgets from a breakpoint up to end_bytes; where the page has not all
 * breakpoints, only that of the breakpoint. */
static enum vbs_status plan_range(struct vbs_ctx *ctx, const struct vbs_page_search *search,
                                  int64_t memory_bytes, int64_t end_bytes)
{
    struct vbs_schedule *first, *last = NULL;
    enum vbs_status status = plan_at(ctx, search, memory_bytes, &first);

    if (status == VBS_OK)
        status = keep(ctx, search, memory_bytes, first);
    if (status == VBS_OK && search->plans->budgets == VBS_PAGE_EXACT)
        status = plan_at(ctx, search, end_bytes, &last);
    if (status == VBS_OK && search->plans->budgets == VBS_PAGE_EXACT)
        status = cut(ctx, search, memory_bytes, first, end_bytes, last);
    vbs_schedule_free(first);
    vbs_schedule_free(last);
    return status;
}

/* Gives how many plans fit into the planner's share of steps; the first plan has the smallest
 * batches, and so about the most steps. */
static enum vbs_status count_most(struct vbs_ctx *ctx, struct vbs_page_search *search,
                                  const struct vbs_frontier *frontier)
{
    struct vbs_schedule *first;
    int64_t most;

    VBS_TRY(plan_at(ctx, search, frontier->points[0].memory_bytes, &first));
    most = search->profile->max_steps / (first && first->n_steps ? first->n_steps : 1);
    vbs_schedule_free(first);
    search->most = most < 2 ? 2 : most > MOST_PLANS ? MOST_PLANS : most;
    return VBS_OK;
}

static void report_progress(const struct vbs_page_search *search, double done)
{
    const struct vbs_progress *progress = &search->profile->progress;

    if (progress->report)
        progress->report(progress->self, done, -1, "plans of the page");
}

/* Plans at all points of the frontier, or at as many as there may be, evenly. */
static enum vbs_status plan_points(struct vbs_ctx *ctx, struct vbs_page_search *search,
                                   const struct vbs_frontier *frontier)
{
    int64_t n = frontier->n_points, n_planned;

    VBS_TRY(count_most(ctx, search, frontier));
    search->plans->n_breakpoints = frontier->n_points;
    search->plans->budgets = n <= search->most ? VBS_PAGE_EXACT : VBS_PAGE_SOME;
    n_planned = n <= search->most ? n : search->most;
    for (int64_t i = 0; i < n_planned; i++) {
        int64_t at = n_planned > 1 ? i * (n - 1) / (n_planned - 1) : 0;

        VBS_TRY(plan_range(ctx, search, frontier->points[at].memory_bytes,
                           at + 1 < n ? frontier->points[at + 1].memory_bytes - 1 : VBS_MAX_BYTES));
        report_progress(search, (double)(i + 1) / (double)n_planned);
    }
    if (search->plans->n >= search->most)
        search->plans->budgets = VBS_PAGE_SOME;
    return VBS_OK;
}

enum vbs_status vbs_page_plan_all(struct vbs_ctx *ctx, struct vbs_page_profile *profile,
                                  struct vbs_page_plans *plans)
{
    struct vbs_page_search search = {.profile = profile, .plans = plans};
    struct vbs_solver_options options = {.struct_size = sizeof options,
                                         .progress = profile->progress};
    struct vbs_frontier *frontier = NULL;
    enum vbs_status status =
        vbs_solver_new(ctx, plans->planner, profile->problem, &options, &search.solver);

    if (status == VBS_OK)
        status = vbs_solver_frontier(ctx, search.solver, &frontier);
    if (status == VBS_OK && frontier->interrupted)
        status = vbs_fail(ctx, VBS_INTERRUPTED, "interrupted");
    if (status == VBS_OK)
        status = plan_points(ctx, &search, frontier);
    vbs_frontier_free(frontier);
    vbs_solver_free(search.solver);
    return status == VBS_INFEASIBLE ? VBS_OK : status;
}
