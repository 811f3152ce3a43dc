/* Suggestions: checks, and the samplers by their names. */
#include "tune/samplers/samplers.h"

#include "base/fail.h"

#include <math.h>
#include <string.h>

static enum vbs_status suggest(struct vbs_ctx *ctx, struct tune_problem *problem, double *point,
                               struct vbs_suggestion *suggestion)
{
    switch (problem->options.sampler) {
    case VBS_SAMPLER_RANDOM:
        return vbs_tune_suggest_random(ctx, problem, point, suggestion);
    case VBS_SAMPLER_GRID:
        return vbs_tune_suggest_grid(ctx, problem, point, suggestion);
    case VBS_SAMPLER_HALVING:
        return vbs_tune_suggest_halving(ctx, problem, point, suggestion);
    default:
        return vbs_tune_suggest_bayesian(ctx, problem, point, suggestion);
    }
}

enum vbs_status vbs_sampler_suggest(struct vbs_ctx *ctx, const struct vbs_search_space *space,
                                    const struct vbs_sampler_options *options,
                                    const struct vbs_search_trial *trials, int n_trials,
                                    double *point, struct vbs_suggestion *suggestion)
{
    struct vbs_suggestion made = {.score = NAN};
    double found[VBS_SEARCH_MAX_PARAMETERS];
    struct tune_problem problem;
    enum vbs_status status = vbs_tune_problem_init(ctx, space, options, trials, n_trials, &problem);

    if (status == VBS_OK)
        status = suggest(ctx, &problem, found, &made);
    if (status == VBS_OK) {
        memcpy(point, found, sizeof *found * (size_t)space->n_parameters);
        *suggestion = made;
    }
    vbs_tune_problem_clear(&problem);
    return status;
}
