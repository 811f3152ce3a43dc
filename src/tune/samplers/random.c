/* The sampler that takes random points. */
#include "tune/samplers/samplers.h"

enum vbs_status vbs_tune_suggest_random(struct vbs_ctx *ctx, struct tune_problem *problem,
                                        double *point, struct vbs_suggestion *suggestion)
{
    struct tune_random random =
        vbs_tune_random(problem->options.seed, TUNE_POINTS, (uint64_t)problem->n_trials);

    (void)suggestion;
    return vbs_tune_random_open(ctx, problem, &random, point);
}
