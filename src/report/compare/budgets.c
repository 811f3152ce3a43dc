/*
 * The default budgets of a comparison: an even range in round steps over the part of the memory
 * axis where the choice of planner matters. With weights included this part spans several powers of
 * two, each of which gets the same round steps.
 */
#include "base/arith.h"
#include "report/common/common.h"
#include "report/compare/solvers.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

#define AIM 25 /* budgets */

/* A plan so close to the fastest counts as the fastest: the last thousandth of the time is within
 * the noise of a measurement, and would make the range several times longer. */
#define CLOSE 1.001

/* Bisection ends at this fraction of the distance that is left: finer than a step of the range. */
#define FINENESS 64

/* One planner's view of the memory axis. */
struct view {
    struct vbs_solver *solver; /* borrowed */
    int64_t least_bytes;       /* of all its plans; INT64_MAX: no budget is feasible */
    int64_t enough_bytes;      /* of its plan for unlimited memory */
    double best_us;            /* time of that plan; HUGE_VAL: there is none */
};

static enum vbs_status plan_at(struct vbs_ctx *ctx, struct vbs_solver *solver, int64_t memory_bytes,
                               double *time_us, int64_t *taken_bytes)
{
    struct vbs_schedule *schedule = NULL;

    VBS_TRY(vbs_cancelled(ctx) ? vbs_fail(ctx, VBS_INTERRUPTED, "interrupted")
                               : vbs_solver_plan(ctx, solver, memory_bytes, &schedule));
    *time_us = schedule->predicted.time_us;
    *taken_bytes = schedule->predicted.reserved_bytes;
    vbs_schedule_free(schedule);
    return VBS_OK;
}

static enum vbs_status fill_views(struct vbs_ctx *ctx, const struct vbs_solvers *solvers,
                                  struct view *views)
{
    for (int i = 0; i < solvers->n; i++) {
        struct view *view = &views[i];

        *view = (struct view){
            .solver = solvers->at[i].solver, .least_bytes = INT64_MAX, .best_us = HUGE_VAL};
        if (!view->solver)
            continue;
        view->least_bytes = vbs_solver_least_bytes(view->solver);
        if (view->least_bytes < INT64_MAX)
            VBS_TRY(plan_at(ctx, view->solver, VBS_MAX_BYTES, &view->best_us, &view->enough_bytes));
    }
    return VBS_OK;
}

/* Lowers *enough_bytes to the least budget at which the planner of view is as fast as limit_us. */
static enum vbs_status find_enough(struct vbs_ctx *ctx, const struct view *view, double limit_us,
                                   int64_t *enough_bytes)
{
    int64_t low = view->least_bytes, high = *enough_bytes, taken_bytes;
    double time_us;

    if (view->enough_bytes < high)
        high = view->enough_bytes;
    while (high - low > (high - view->least_bytes) / FINENESS) {
        int64_t middle = low + (high - low) / 2;
        enum vbs_status status = plan_at(ctx, view->solver, middle, &time_us, &taken_bytes);

        if (status != VBS_OK && status != VBS_INFEASIBLE)
            return status;
        if (status == VBS_OK && time_us <= limit_us)
            high = middle;
        else if (middle > low)
            low = middle;
        else
            break;
    }
    if (high < *enough_bytes)
        *enough_bytes = high;
    return VBS_OK;
}

/* Gives a round step: 1, 2, 5, 10, ..., 500 B, then the same in KiB, and so on; the last is 500
 * PiB. */
static int64_t round_step(int index)
{
    static const int SERIES[] = {1, 2, 5, 10, 20, 50, 100, 200, 500};

    return (int64_t)SERIES[index % 9] << (10 * (index / 9));
}

/* Rounds the range: outwards at the top and inwards at the bottom, because below least nothing can
 * be planned. */
static bool round_range(int64_t least_bytes, int64_t enough_bytes, int64_t step_bytes,
                        struct vbs_byte_range *range)
{
    int64_t from = least_bytes / step_bytes + (least_bytes % step_bytes != 0);
    int64_t to = enough_bytes / step_bytes + (enough_bytes % step_bytes != 0);

    range->step_bytes = step_bytes;
    return vbs_mul(from, step_bytes, &range->from_bytes) &&
           vbs_mul(to, step_bytes, &range->to_bytes);
}

/* Gives the round range whose number of budgets is nearest to AIM, as a ratio. */
static struct vbs_byte_range choose_range(int64_t least_bytes, int64_t enough_bytes)
{
    struct vbs_byte_range best = {least_bytes, least_bytes, 1, 0}, range = {0};
    double best_miss = HUGE_VAL;

    if (enough_bytes <= least_bytes)
        return best;
    for (int i = 0; i < 6 * 9; i++) {
        int64_t step = round_step(i);
        double miss = fabs(log((double)(enough_bytes - least_bytes) / (double)step / (AIM - 1)));

        if (miss < best_miss && round_range(least_bytes, enough_bytes, step, &range)) {
            best_miss = miss;
            best = range;
        }
    }
    return best;
}

/* Fails because no planner has a schedule for any budget: none keeps the bound of the latency, or
 * their time was over. */
static enum vbs_status fail_late(struct vbs_ctx *ctx, const struct vbs_solvers *solvers)
{
    double least_us = HUGE_VAL, own_us;
    char needed[VBS_FORM_US_SIZE];
    int least = 0;

    if (solvers->problem->latency_us == 0)
        return vbs_fail(ctx, VBS_INFEASIBLE,
                        "the time for planning was over before a planner found a schedule; with "
                        "more time they may find some");
    for (int i = 0; i < solvers->n; i++) {
        if (!solvers->at[i].solver)
            continue;
        VBS_TRY(vbs_solvers_least_latency(ctx, solvers->at[i].solver, &own_us));
        if (own_us < least_us) {
            least_us = own_us;
            least = i;
        }
    }
    return vbs_fail(ctx, VBS_INFEASIBLE,
                    "no planner answers within %g us in any memory; the least latency that works "
                    "is %s us, with %s",
                    solvers->problem->latency_us, vbs_form_us_up(least_us, needed),
                    vbs_planner_name(vbs_planner_at(least)));
}

/* Finds the range in which the n planners differ; empty where none has a schedule. */
static enum vbs_status find_range(struct vbs_ctx *ctx, const struct view *views, int n,
                                  struct vbs_byte_range *budgets)
{
    int64_t least_bytes = INT64_MAX, enough_bytes = VBS_MAX_BYTES;
    double fastest_us = HUGE_VAL;

    *budgets = (struct vbs_byte_range){1, 0, 1, 0};
    for (int i = 0; i < n; i++) {
        least_bytes = views[i].least_bytes < least_bytes ? views[i].least_bytes : least_bytes;
        fastest_us = fmin(fastest_us, views[i].best_us);
    }
    if (least_bytes == INT64_MAX)
        return VBS_OK;
    for (int i = 0; i < n; i++)
        if (views[i].least_bytes < INT64_MAX && views[i].best_us <= CLOSE * fastest_us)
            VBS_TRY(find_enough(ctx, &views[i], CLOSE * fastest_us, &enough_bytes));
    *budgets = choose_range(least_bytes, enough_bytes);
    return VBS_OK;
}

/* Gives the least budget of all open planners; INT64_MAX: no budget is feasible. */
static int64_t find_least(const struct vbs_solvers *solvers)
{
    int64_t least_bytes = INT64_MAX;

    for (int i = 0; i < solvers->n; i++) {
        const struct vbs_solver *solver = solvers->at[i].solver;

        if (solver && vbs_solver_least_bytes(solver) < least_bytes)
            least_bytes = vbs_solver_least_bytes(solver);
    }
    return least_bytes;
}

/* Gives the least budget of all planners; those with a time limit count where no other has a
 * plan. */
static enum vbs_status find_timed_least(struct vbs_ctx *ctx, struct vbs_solvers *solvers,
                                        int64_t *least_bytes)
{
    VBS_TRY(vbs_solvers_open(ctx, solvers, true));
    *least_bytes = find_least(solvers);
    return *least_bytes == INT64_MAX ? fail_late(ctx, solvers) : VBS_OK;
}

static int64_t twice(int64_t bytes)
{
    return bytes < VBS_MAX_BYTES / 2 ? 2 * bytes : VBS_MAX_BYTES;
}

/* Finds a range where only a planner with a time limit may keep the latency: from its least budget
 * to twice as much. */
static enum vbs_status find_timed_range(struct vbs_ctx *ctx, struct vbs_solvers *solvers,
                                        struct vbs_byte_range *budgets)
{
    int64_t least_bytes;

    VBS_TRY(find_timed_least(ctx, solvers, &least_bytes));
    *budgets = choose_range(least_bytes, twice(least_bytes));
    return VBS_OK;
}

enum vbs_status vbs_solvers_range(struct vbs_ctx *ctx, struct vbs_solvers *solvers,
                                  struct vbs_byte_range *budgets)
{
    struct view *views = calloc((size_t)solvers->n, sizeof *views);
    enum vbs_status status = views ? vbs_solvers_open(ctx, solvers, false) : vbs_no_memory(ctx);
    struct vbs_byte_range range;

    if (status != VBS_OK)
        goto done;
    status = fill_views(ctx, solvers, views);
    if (status != VBS_OK)
        goto done;
    status = find_range(ctx, views, solvers->n, &range);
    if (status != VBS_OK)
        goto done;
    if (range.from_bytes > range.to_bytes)
        status = find_timed_range(ctx, solvers, &range);
    if (status != VBS_OK)
        goto done;
    *budgets = range;
done:
    free(views);
    return status;
}

/* ---- Weights included ---- */

/* Rounds up to hundredths of the unit of bytes, so that the text of the size reads back the
 * same. */
static int64_t round_up(int64_t bytes)
{
    int64_t unit = 1, rest, up;

    while (unit < 1 << 30 && bytes / unit >= 1024)
        unit *= 1024;
    rest = (bytes % unit * 100 + unit - 1) / unit * unit / 100;
    return vbs_add(bytes / unit * unit, rest, &up) ? up : bytes;
}

/* A series: the number of sizes in each power of two, and the fraction of it of which they are
 * multiples. */
struct series {
    int n, denominator;
};

/* Gives size index of a series, rounded down where it is no whole byte, INT64_MAX beyond the
 * largest. For denominator 4 and n 3: 1, 1.25, 1.5, 2, 2.5, 3, 4, ... */
static int64_t series_size(const struct series *series, int index)
{
    int power = index / series->n, step = index % series->n;
    int64_t bytes;

    if (power > 62)
        return INT64_MAX;
    bytes = INT64_C(1) << power;
    return bytes + bytes / series->denominator * step +
           bytes % series->denominator * step / series->denominator;
}

/* Lists least_bytes, and then the sizes of series above it up to the first that is at least
 * enough_bytes; with at null it only counts them. */
static int list_series(const struct series *series, int64_t least_bytes, int64_t enough_bytes,
                       int64_t *at)
{
    int64_t last = least_bytes;
    int n = 1;

    if (at)
        at[0] = least_bytes;
    for (int i = 0; last < enough_bytes; i++) {
        int64_t bytes = series_size(series, i);

        if (bytes <= last)
            continue;
        if (at)
            at[n] = bytes;
        n++;
        last = bytes;
    }
    return n;
}

/* Gives the series with the number of budgets that is nearest to AIM, as a ratio. */
static const struct series *choose_series(int64_t least_bytes, int64_t enough_bytes)
{
    static const struct series ALL[] = {{1, 1}, {2, 2},   {3, 4},   {4, 4},
                                        {8, 8}, {16, 16}, {32, 32}, {64, 64}};
    const struct series *best = NULL;
    double best_miss = HUGE_VAL;

    for (size_t i = 0; i < sizeof ALL / sizeof ALL[0]; i++) {
        int n = list_series(&ALL[i], least_bytes, enough_bytes, NULL);
        double miss = fabs(log((double)n / AIM));

        if (miss < best_miss) {
            best_miss = miss;
            best = &ALL[i];
        }
    }
    return best;
}

/* Lists the budgets with weights included: from the least feasible one to twice the weights, but at
 * least to twice the least. */
static enum vbs_status list_total(struct vbs_ctx *ctx, struct vbs_solvers *solvers,
                                  struct vbs_budgets *budgets)
{
    const struct vbs_profile *profile = solvers->problem->profile;
    int64_t weight_bytes = vbs_profile_weight_bytes(profile), least_bytes, enough_bytes;
    const struct series *series;

    VBS_TRY(vbs_solvers_open(ctx, solvers, false));
    least_bytes = find_least(solvers);
    if (least_bytes == INT64_MAX)
        VBS_TRY(find_timed_least(ctx, solvers, &least_bytes));
    enough_bytes = twice(weight_bytes > least_bytes ? weight_bytes : least_bytes);
    least_bytes = round_up(least_bytes);
    series = choose_series(least_bytes, enough_bytes);
    budgets->n = list_series(series, least_bytes, enough_bytes, NULL);
    budgets->at = calloc((size_t)budgets->n, sizeof *budgets->at);
    if (!budgets->at)
        return vbs_no_memory(ctx);
    list_series(series, least_bytes, enough_bytes, budgets->at);
    return VBS_OK;
}

/* ---- All of them ---- */

static enum vbs_status list_range(struct vbs_ctx *ctx, const struct vbs_byte_range *range,
                                  struct vbs_budgets *budgets)
{
    if (!vbs_byte_range_valid(range))
        return vbs_fail(ctx, VBS_USAGE, "range of budgets is empty or has more than %d",
                        VBS_MAX_BUDGETS);
    budgets->n = vbs_byte_range_count(range);
    budgets->at = calloc((size_t)budgets->n, sizeof *budgets->at);
    if (!budgets->at)
        return vbs_no_memory(ctx);
    for (int b = 0; b < budgets->n; b++)
        budgets->at[b] = vbs_byte_range_at(range, b);
    return VBS_OK;
}

enum vbs_status vbs_solvers_budgets(struct vbs_ctx *ctx, struct vbs_solvers *solvers,
                                    const struct vbs_byte_range *range, struct vbs_budgets *budgets)
{
    struct vbs_byte_range found;

    if (range)
        return list_range(ctx, range, budgets);
    if (solvers->problem->weights == VBS_WEIGHTS_INCLUDED)
        return list_total(ctx, solvers, budgets);
    VBS_TRY(vbs_solvers_range(ctx, solvers, &found));
    return list_range(ctx, &found, budgets);
}

enum vbs_status vbs_compare_default_budgets(struct vbs_ctx *ctx, const struct vbs_problem *problem,
                                            struct vbs_byte_range *budgets)
{
    static const struct vbs_compare_options DEFAULTS = {.struct_size =
                                                            sizeof(struct vbs_compare_options)};
    struct vbs_solvers solvers;
    enum vbs_status status;

    if (problem->weights == VBS_WEIGHTS_INCLUDED)
        return vbs_fail(ctx, VBS_USAGE, "with weights included the default budgets are no range");
    status = vbs_solvers_init(ctx, &solvers, problem, &DEFAULTS);
    if (status == VBS_OK)
        status = vbs_solvers_range(ctx, &solvers, budgets);
    vbs_solvers_clear(&solvers);
    return status;
}
