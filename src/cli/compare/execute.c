/* Executes what was planned, budget after budget. */
#include "cli/compare/compare.h"

#include "base/clock.h"
#include "base/fail.h"
#include "vbslab/turns.h"

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SECONDS 86400
#define LEAST_S      1e-3 /* where preparing took all of the time */

enum vbs_status compare_read_execution(struct cli *cli, const char *const *values,
                                       struct execution *x)
{
    const char *seconds = cli_value(cli, values, "execute");

    if (!seconds)
        return VBS_OK;
    VBS_TRY(cli_parse_positive(&cli->ctx, "--execute", seconds, "seconds", &x->seconds));
    if (x->seconds > MOST_SECONDS)
        return vbs_fail(&cli->ctx, VBS_USAGE, "--execute '%.40s' is above the longest, %d seconds",
                        seconds, MOST_SECONDS);
    x->subject.cli = cli;
    x->subject.values = values;
    return VBS_OK;
}

void compare_clear_execution(struct execution *x)
{
    compare_clear_plans(&x->plans);
    for (int64_t i = 0; i < x->n_solvers; i++)
        vbs_solver_free(x->solvers[i].solver);
    free(x->solvers);
    free(x->rows);
    vbs_network_free(x->subject.owned);
    vbs_profile_free(x->subject.profile);
    *x = (struct execution){0};
}

/* ---- Rows ---- */

/* Computes the gain over an entrant, -1: there is none. */
static enum vbs_status find_gain(struct vbs_ctx *ctx, const struct vbs_turns *turns,
                                 const struct entrants *entrants, const struct entrant *ours,
                                 int base, struct vbs_gain *gain)
{
    struct vbs_turns_ratio ratio;

    *gain = (struct vbs_gain){NAN, NAN, NAN};
    if (base < 0 || entrants->at[base].executor < 0)
        return VBS_OK;
    VBS_TRY(vbs_turns_compare(ctx, turns, ours->executor, entrants->at[base].executor, &ratio));
    *gain =
        (struct vbs_gain){100 * (1 - ratio.ratio), 100 * (1 - ratio.high), 100 * (1 - ratio.low)};
    return VBS_OK;
}

static enum vbs_status fill_row(struct vbs_ctx *ctx, const struct vbs_compare *compare,
                                const struct vbs_turns *turns, const struct entrants *entrants,
                                const struct entrant *ours, struct vbs_executed_row *row)
{
    const struct vbs_schedule *plan = ours->schedule;
    bool told = compare->self_judged && plan->predicted.high_us > 0;
    double request = (double)compare->request;
    struct vbs_profile_row times;

    VBS_TRY(vbs_turns_summary(ctx, turns, ours->executor, &times));
    VBS_TRY(find_gain(ctx, turns, entrants, ours, entrants->baselines[0], &row->gain_over_fbs));
    VBS_TRY(
        find_gain(ctx, turns, entrants, ours, entrants->baselines[1], &row->gain_over_fbs_best));
    row->per_sample_us = times.time_us / request;
    row->low_us = times.low_us / request;
    row->high_us = times.high_us / request;
    row->predicted_us = ours->predicted_us;
    row->predicted_low_us = told ? plan->predicted.low_us / request : NAN;
    row->predicted_high_us = told ? plan->predicted.high_us / request : NAN;
    return VBS_OK;
}

/* Fills what the rows of all executors have in common. */
static enum vbs_status fill_turns(struct vbs_ctx *ctx, const struct vbs_turns *turns,
                                  struct vbs_executed_row *row)
{
    row->n_turns = vbs_turns_counted(turns);
    row->n_left_out = turns->n_turns - row->n_turns;
    if (row->n_left_out == 0)
        row->n_unusual = vbs_turns_unusual(turns);
    return vbs_turns_slowdown(ctx, turns, &row->slowdown);
}

/* Fills the rows of a budget. */
static enum vbs_status fill_rows(struct vbs_ctx *ctx, const struct execution *x,
                                 const struct vbs_turns *turns, const struct entrants *entrants,
                                 const struct vbs_compare *compare, int b)
{
    struct vbs_executed_row common = {0};

    VBS_TRY(fill_turns(ctx, turns, &common));
    for (int i = 0; i < entrants->n; i++)
        for (int p = 0; p < compare->n_planners; p++) {
            struct vbs_executed_row *row = &x->rows[b * compare->n_planners + p];

            if (compare->planners[p] != entrants->at[i].planner || entrants->at[i].executor < 0)
                continue;
            *row = common;
            VBS_TRY(fill_row(ctx, compare, turns, entrants, &entrants->at[i], row));
        }
    return VBS_OK;
}

/* ---- Budgets ---- */

/* Executes the schedules of budget b in limit_s seconds, preparing included. */
static enum vbs_status execute_budget(struct execution *x, const struct vbs_compare *compare, int b,
                                      double limit_s)
{
    struct cli *cli = x->subject.cli;
    struct vbs_turns_options options = {
        .struct_size = sizeof options, .seed = (uint64_t)b + 1, .progress = cli_progress(cli)};
    struct entrants entrants = {0};
    struct vbs_turns *turns = NULL;
    double start_s = vbs_clock_s();
    enum vbs_status status = compare_prepare(x, compare->budgets[b], &entrants);

    options.time_limit_s = fmax(limit_s - (vbs_clock_s() - start_s), LEAST_S);
    options.cache_bytes_per_us = x->subject.profile->speed.cache_bytes_per_us;
    if (status == VBS_OK && entrants.n_execs > 0)
        status = vbs_turns_run(&cli->ctx, entrants.n_execs, entrants.execs, &options, &turns);
    cli_progress_end(cli);
    if (status == VBS_OK && turns)
        status = fill_rows(&cli->ctx, x, turns, &entrants, compare, b);
    vbs_turns_free(turns);
    compare_clear_entrants(&entrants);
    return status;
}

/* Executes budget after budget: the time that is left is divided evenly among those that are. */
static enum vbs_status execute_budgets(struct execution *x, const struct vbs_compare *compare)
{
    double start_s = vbs_clock_s();

    for (int b = 0; b < compare->n_budgets; b++) {
        double left_s = x->seconds - (vbs_clock_s() - start_s);

        VBS_TRY(execute_budget(x, compare, b, left_s / (compare->n_budgets - b)));
        malloc_trim(0); /* of the weights of this budget's executors */
        x->n_executed++;
    }
    return VBS_OK;
}

enum vbs_status compare_execute(struct execution *x, const struct cli_compared *one,
                                struct vbs_compare *compare)
{
    size_t n = (size_t)compare->n_budgets * (size_t)compare->n_planners;
    enum vbs_status status;

    x->n_budgets = compare->n_budgets;
    x->problem = &one->problem;
    x->options = &one->options;
    x->rows = calloc(n, sizeof *x->rows);
    if (!x->rows)
        return vbs_no_memory(&x->subject.cli->ctx);
    x->executed = (struct vbs_compare_executed){x->seconds, x->rows};
    compare->executed = &x->executed;
    status = execute_budgets(x, compare);
    return status == VBS_INTERRUPTED ? VBS_OK : status;
}

enum vbs_status compare_end_execution(const struct execution *x)
{
    if (x->n_executed == x->n_budgets)
        return VBS_OK;
    return vbs_fail(&x->subject.cli->ctx, VBS_INTERRUPTED,
                    "interrupted; the schedules of %d of %d budgets are executed", x->n_executed,
                    x->n_budgets);
}
