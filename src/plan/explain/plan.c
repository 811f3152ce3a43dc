/*
 * Explanations of plans: asks the planner of a solver, and checks its answer against the plan.
 */
#include "plan/explain/explain.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

static enum vbs_status check_part(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                  const struct vbs_explain_options *options)
{
    const struct vbs_task *task = opened->task;
    const struct vbs_planner *planner = task->resident ? task->resident : opened->planner;

    if (!planner->explains_parts)
        return vbs_fail(ctx, VBS_USAGE, "%s does not decide about parts of the layers",
                        planner->name);
    if (options->first_layer < 1 || options->last_layer > task->n_layers ||
        options->last_layer < 1 || options->first_layer > task->n_layers)
        return vbs_fail(ctx, VBS_USAGE, "layers %d to %d are not among the layers 1 to %d",
                        options->first_layer, options->last_layer, task->n_layers);
    if (options->samples < 1 || options->samples > task->request)
        return vbs_fail(ctx, VBS_USAGE, "%d samples are not among the 1 to %d of the request",
                        options->samples, task->request);
    return VBS_OK;
}

/* Explains what the question asks, and gives the planner's own refusals their texts. */
static enum vbs_status ask(const struct vbs_opened_planner *opened, struct vbs_reasons *reasons,
                           const struct vbs_question *question)
{
    const char *name = opened->planner->name;
    enum vbs_status status = VBS_UNSUPPORTED;

    if (opened->planner->explain)
        status = opened->planner->explain(reasons, opened->self, question);
    if (status == VBS_UNSUPPORTED)
        return vbs_fail(reasons->ctx, status, "%s does not explain its plans", name);
    if (status == VBS_NOT_FOUND && question->steps)
        return vbs_fail(reasons->ctx, VBS_UNSUPPORTED,
                        "the plan is none that %s finds again in its curves", name);
    if (status == VBS_NOT_FOUND)
        return vbs_fail(reasons->ctx, VBS_USAGE,
                        "%s has no part from layer %d to layer %d: cuts begin and end within one "
                        "branch, or take a block whole",
                        name, question->first_layer, question->last_layer);
    return status;
}

enum vbs_status vbs_explain_plan(struct vbs_ctx *ctx, const struct vbs_opened_planner *opened,
                                 int64_t memory_bytes, const struct vbs_explain_options *options,
                                 const struct vbs_draft *draft,
                                 struct vbs_explanation **explanation)
{
    bool is_part = options->first_layer || options->last_layer || options->samples;
    struct vbs_question question = {.memory_bytes = memory_bytes,
                                    .with_cells = options->with_cells,
                                    .with_curves = options->with_curves,
                                    .first_layer = options->first_layer,
                                    .last_layer = options->last_layer,
                                    .samples = options->samples};
    struct vbs_reasons *reasons;
    enum vbs_status status;

    if (is_part)
        VBS_TRY(check_part(ctx, opened, options));
    else {
        question.steps = draft->steps.steps;
        question.n_steps = draft->steps.n_steps;
    }
    reasons = calloc(1, sizeof *reasons);
    if (!reasons)
        return vbs_no_memory(ctx);
    reasons->ctx = ctx;
    reasons->task = opened->task;
    reasons->made.n_layers = opened->task->n_layers;
    status = ask(opened, reasons, &question);
    if (status != VBS_OK) {
        vbs_explanation_free(&reasons->made);
        return status;
    }
    reasons->made.decisions = reasons->decisions;
    *explanation = &reasons->made;
    return VBS_OK;
}
