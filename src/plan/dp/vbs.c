/*
 * dp-vbs: recurrences 1, 2 and 3 of VBS III with its special layers for branches, solved on curves
 * (the best time as an exact step function of memory) instead of tables over rounded memory sizes.
 * One solve answers every budget to the byte. guillotine.c has the recurrences and the complexity.
 */
#include "plan/dp/dp.h"
#include "plan/dp/reasons.h"

#include "base/fail.h"

#include <stdlib.h>

static enum vbs_status dp_open(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    struct vbs_pareto_set *pareto = calloc(1, sizeof *pareto);
    struct vbs_arena arena = {0};
    struct vbs_chain chain;
    enum vbs_status status;

    if (!pareto)
        return vbs_no_memory(ctx);
    pareto->task = task;
    status = vbs_chain_build(ctx, task, &arena, &chain);
    if (status == VBS_OK)
        status = vbs_guillotine_solve(ctx, task, &chain, VBS_CUT_PIVOT, pareto, 1);
    vbs_arena_clear(&arena);
    if (status != VBS_OK) {
        vbs_pareto_close(pareto);
        return status;
    }
    *self = pareto;
    return VBS_OK;
}

static enum vbs_status dp_bracket(struct vbs_ctx *ctx, const struct vbs_task *task,
                                  struct vbs_bracket *bracket)
{
    struct vbs_arena arena = {0};
    struct vbs_chain chain;
    enum vbs_status status = vbs_chain_build(ctx, task, &arena, &chain);

    if (status == VBS_OK)
        vbs_chain_bracket(task, &chain, bracket);
    vbs_arena_clear(&arena);
    return status;
}

static enum vbs_status dp_explain(struct vbs_reasons *reasons, void *self,
                                  const struct vbs_question *question)
{
    struct vbs_arena arena = {0};
    struct vbs_chain chain;
    bool found = false;
    enum vbs_status status = vbs_chain_build(reasons->ctx, reasons->task, &arena, &chain);

    (void)self; /* has schedules and no curves */
    if (status == VBS_OK)
        status = vbs_guillotine_explain(reasons, &chain, VBS_CUT_PIVOT, question, &found);
    vbs_arena_clear(&arena);
    return status == VBS_OK && !found ? VBS_NOT_FOUND : status;
}

const struct vbs_planner vbs_planner_dp_vbs = {
    .name = "dp-vbs",
    .summary = "a batch size per layer by dynamic programming, exact to the byte",
    .source = "VBS III",
    .cost = "layers^2 x request x (layers + request) x points of a curve, once for all budgets",
    .open = dp_open,
    .bracket = dp_bracket,
    .plan = vbs_pareto_plan_within,
    .least_bytes = vbs_pareto_least_bytes,
    .peak_bytes = vbs_pareto_peak_bytes,
    .thresholds = vbs_pareto_thresholds,
    .explain = dp_explain,
    .explains_parts = true,
    .close = vbs_pareto_close,
};
