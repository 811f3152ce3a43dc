/* What a choice costs: its network is loaded, its profile assembled, and its request planned. */
#include "mixed/internal.h"

#include "base/fail.h"
#include "vbslab/replay.h"
#include "vbslab/units.h"

#include <math.h>
#include <stdlib.h>

enum vbs_status mixed_cost_network(struct vbs_ctx *ctx, const struct mixed_cost *cost,
                                   const bool *kept, struct vbs_quantized_network **network)
{
    bool *rows = calloc((size_t)cost->n_rows, sizeof *rows);
    enum vbs_status status;

    if (!rows)
        return vbs_no_memory(ctx);
    for (int i = 0; i < cost->n_layers; i++)
        rows[cost->layers[i].row] = kept[i];
    status = vbs_quantized_keep(ctx, cost->quantized, rows, network);
    free(rows);
    return status;
}

/* Gives the network that loading a choice's file gives; error: null, or what is predicted. */
static enum vbs_status load(struct vbs_ctx *ctx, const struct mixed_cost *cost, const bool *kept,
                            double *error, struct vbs_network **network)
{
    struct vbs_quantized_network *chosen;
    enum vbs_status status;

    VBS_TRY(mixed_cost_network(ctx, cost, kept, &chosen));
    if (error)
        *error = vbs_quantized_predict(cost->quantized, chosen, cost->values, cost->weights);
    status = vbs_quantized_load(ctx, chosen, network);
    vbs_quantized_free(chosen);
    return status;
}

/* Looks the times up; only where some are missing, kernels are prepared and measured. */
static enum vbs_status assemble(struct vbs_ctx *ctx, struct mixed_cost *cost,
                                const struct vbs_network *network, struct vbs_profile **profile)
{
    struct vbs_assemble_options options = cost->options.profile;
    enum vbs_status status = VBS_NOT_FOUND;

    options.struct_size = sizeof options;
    options.copies = cost->options.problem.weights == VBS_WEIGHTS_INCLUDED;
    options.may_measure = false;
    options.lookup_threads = cost->threads;
    if (cost->threads > 0)
        status = vbs_profile_assemble(ctx, cost->store, network, &options, NULL, profile);
    if (status == VBS_NOT_FOUND) {
        options.may_measure = true;
        options.lookup_threads = 0;
        status = vbs_profile_assemble(ctx, cost->store, network, &options, NULL, profile);
    }
    if (status == VBS_OK)
        cost->threads = (*profile)->provenance.threads;
    return status;
}

/* ---- plans ---- */

static enum vbs_status plan_budget(struct vbs_ctx *ctx, const struct mixed_cost *cost,
                                   const struct vbs_profile *profile, struct vbs_solver *solver,
                                   int64_t budget, struct vbs_mixed_plan *plan)
{
    struct vbs_schedule *schedule = NULL;
    struct vbs_replay *replay = NULL;
    enum vbs_status status = vbs_solver_plan(ctx, solver, budget, &schedule);

    *plan = (struct vbs_mixed_plan){.time_us = HUGE_VAL};
    if (status == VBS_INFEASIBLE)
        return VBS_OK;
    if (status == VBS_OK)
        status = vbs_replay_run(ctx, profile, schedule, -1, false, &replay);
    if (status == VBS_OK && !replay->fits)
        status = vbs_fail(ctx, VBS_OVER_BUDGET, "planner '%s' broke its budget",
                          vbs_planner_name(cost->options.planner));
    if (status == VBS_OK)
        *plan = (struct vbs_mixed_plan){replay->time_us, replay->peak_bytes};
    vbs_replay_free(replay);
    vbs_schedule_free(schedule);
    return status;
}

/* Makes a solver for the request; most_bytes 0: budgets have no limit. */
static enum vbs_status solve(struct vbs_ctx *ctx, const struct mixed_cost *cost,
                             const struct vbs_profile *profile, int64_t most_bytes,
                             struct vbs_solver **solver)
{
    const struct vbs_solver_options options = {.struct_size = sizeof options,
                                               .most_bytes = most_bytes,
                                               .budgets = cost->budgets,
                                               .n_budgets = cost->n_budgets};
    struct vbs_problem problem = cost->options.problem;

    problem.profile = profile;
    if (problem.weights == VBS_WEIGHTS_INCLUDED && profile->n_copies > 0)
        problem.copy = profile->copies[0].link;
    return vbs_solver_new(ctx, cost->options.planner, &problem, &options, solver);
}

static enum vbs_status plan_all(struct vbs_ctx *ctx, const struct mixed_cost *cost,
                                const struct vbs_profile *profile, struct vbs_mixed_plan *plans)
{
    struct vbs_solver *solver = NULL;
    enum vbs_status status;

    for (int b = 0; b < cost->n_budgets; b++)
        plans[b] = (struct vbs_mixed_plan){.time_us = HUGE_VAL};
    status = solve(ctx, cost, profile, cost->budgets[cost->n_budgets - 1], &solver);
    if (status == VBS_INFEASIBLE)
        return VBS_OK;
    for (int b = 0; b < cost->n_budgets && status == VBS_OK; b++)
        status = plan_budget(ctx, cost, profile, solver, cost->budgets[b], &plans[b]);
    vbs_solver_free(solver);
    return status;
}

enum vbs_status mixed_cost_profile(struct vbs_ctx *ctx, struct mixed_cost *cost, const bool *kept,
                                   double *error, struct vbs_profile **profile)
{
    struct vbs_network *network;
    enum vbs_status status;

    VBS_TRY(load(ctx, cost, kept, error, &network));
    status = assemble(ctx, cost, network, profile);
    vbs_network_free(network);
    return status;
}

enum vbs_status mixed_cost_plan(struct vbs_ctx *ctx, void *self, const bool *kept,
                                struct vbs_mixed_plan *plans, double *error)
{
    struct mixed_cost *cost = self;
    struct vbs_profile *profile;
    enum vbs_status status;

    VBS_TRY(mixed_cost_profile(ctx, cost, kept, error, &profile));
    status = plan_all(ctx, cost, profile, plans);
    vbs_profile_free(profile);
    return status;
}

/* ---- budgets ---- */

/* Finds the least budget of a choice, and the one with which it has enough. */
static enum vbs_status find_range(struct vbs_ctx *ctx, struct mixed_cost *cost, const bool *kept,
                                  int64_t *least, int64_t *enough)
{
    struct vbs_profile *profile;
    struct vbs_solver *solver = NULL;
    struct vbs_frontier *frontier = NULL;
    enum vbs_status status;

    VBS_TRY(mixed_cost_profile(ctx, cost, kept, NULL, &profile));
    status = solve(ctx, cost, profile, 0, &solver);
    if (status == VBS_OK)
        status = vbs_solver_frontier(ctx, solver, &frontier);
    if (status == VBS_OK) {
        *least = frontier->points[0].memory_bytes;
        *enough = frontier->points[frontier->n_points - 1].memory_bytes;
    }
    vbs_frontier_free(frontier);
    vbs_solver_free(solver);
    vbs_profile_free(profile);
    return status;
}

enum vbs_status mixed_cost_refuse(struct vbs_ctx *ctx, struct mixed_cost *cost)
{
    bool *kept = calloc((size_t)cost->n_layers, sizeof *kept);
    int64_t least = 0, enough = 0;
    char budget[48], needed[48];
    enum vbs_status status =
        kept ? find_range(ctx, cost, kept, &least, &enough) : vbs_no_memory(ctx);

    free(kept);
    VBS_TRY(status);
    return vbs_fail(
        ctx, VBS_INFEASIBLE, "nothing fits %s: with all layers in 8 bits, planner %s needs %s",
        vbs_format_exact(cost->budgets[cost->n_budgets - 1], budget, sizeof budget),
        vbs_planner_name(cost->options.planner), vbs_format_exact(least, needed, sizeof needed));
}

enum vbs_status mixed_cost_budgets(struct vbs_ctx *ctx, struct mixed_cost *cost)
{
    bool *kept = calloc((size_t)cost->n_layers, sizeof *kept);
    int64_t least = 0, unused = 0, enough = 0;
    enum vbs_status status =
        kept ? find_range(ctx, cost, kept, &least, &unused) : vbs_no_memory(ctx);

    for (int i = 0; status == VBS_OK && i < cost->n_layers; i++)
        kept[i] = true;
    if (status == VBS_OK)
        status = find_range(ctx, cost, kept, &unused, &enough);
    free(kept);
    VBS_TRY(status);
    cost->n_budgets = VBS_MIXED_BUDGETS;
    cost->budgets = calloc(VBS_MIXED_BUDGETS, sizeof *cost->budgets);
    if (!cost->budgets)
        return vbs_no_memory(ctx);
    for (int b = 0; b < VBS_MIXED_BUDGETS; b++)
        cost->budgets[b] = llround(
            (double)least * pow((double)enough / (double)least, b / (VBS_MIXED_BUDGETS - 1.0)));
    return VBS_OK;
}

/* ---- the loss ---- */

/* Runs the network in floats when the first choice is compared. */
static enum vbs_status run_floats(struct vbs_ctx *ctx, struct mixed_cost *cost)
{
    const struct vbs_quantize_options options = {.struct_size = sizeof options,
                                                 .batch = cost->options.batch,
                                                 .threads = cost->options.threads};

    if (cost->reference)
        return VBS_OK;
    return vbs_quantize_reference_new(ctx, vbs_quantized_floats(cost->quantized), cost->samples,
                                      &options, &cost->reference);
}

enum vbs_status mixed_cost_compare(struct vbs_ctx *ctx, void *self, const bool *kept,
                                   struct vbs_quantize_difference *difference)
{
    struct mixed_cost *cost = self;
    struct vbs_network *network;
    enum vbs_status status;

    VBS_TRY(run_floats(ctx, cost));
    VBS_TRY(load(ctx, cost, kept, NULL, &network));
    status = vbs_quantize_reference_compare(ctx, cost->reference, network, difference);
    vbs_network_free(network);
    return status;
}
