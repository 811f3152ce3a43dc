/*
 * The problem that all budgets share, its planner, and the planners beside it.
 *
 * With weights outside the budget the baseline is one batch for all layers (fbs-best). With weights
 * inside it is what is done without a joint plan: one batch with all weights resident, where they
 * fit (fbs-best), one batch with the weights of whole layers loaded in turn (vdnn), or samples one
 * after the other with weights in slices (mmcnn). Each of them needs less memory than the one
 * before it, and which is the fastest depends on the budget and on the link. So that the planner is
 * not held against a weak one, all are baselines.
 */
#include "learn/learn.h"

#include "base/fail.h"

static enum vbs_status find_baselines(struct learning *l)
{
    static const char *const NAMES[LEARN_BASELINES] = {"fbs-best", "vdnn", "mmcnn"};

    l->n_baselines = l->options.weights == VBS_WEIGHTS_INCLUDED ? LEARN_BASELINES : 1;
    for (int i = 0; i < l->n_baselines; i++)
        VBS_TRY(vbs_planner_find(l->ctx, NAMES[i], &l->baselines[i]));
    return VBS_OK;
}

/* Finds the link over which weights are loaded. */
static enum vbs_status find_link(struct learning *l)
{
    const char *source = l->options.copy_source;
    const struct vbs_copy *copy = source                     ? vbs_profile_copy(l->profile, source)
                                  : l->profile->n_copies > 0 ? l->profile->copies
                                                             : NULL;

    if (source && !copy)
        return vbs_fail(l->ctx, VBS_NOT_FOUND, "the profile has no copies from '%.100s'", source);
    if (copy)
        l->copy = copy->link;
    return VBS_OK;
}

enum vbs_status learn_set_task(struct learning *l)
{
    const struct vbs_learn_options *options = &l->options;
    bool included = options->weights == VBS_WEIGHTS_INCLUDED;

    if (options->weights != VBS_WEIGHTS_EXCLUDED && !included)
        return vbs_fail(l->ctx, VBS_USAGE, "weights %d are neither excluded nor included",
                        (int)options->weights);
    if (!included && (options->copy_source || options->direct))
        return vbs_fail(l->ctx, VBS_USAGE,
                        "%s is for weights included; excluded ones are never copied",
                        options->copy_source ? "copy_source" : "direct");
    if (included)
        VBS_TRY(find_link(l));
    VBS_TRY(find_baselines(l));
    l->planner = options->planner;
    if (!l->planner)
        VBS_TRY(vbs_planner_find(l->ctx, included ? "joint" : "dp-vbs+", &l->planner));
    if (vbs_planner_estimates(l->planner))
        return vbs_fail(l->ctx, VBS_UNSUPPORTED, "%s makes estimates, which cannot be executed",
                        vbs_planner_name(l->planner));
    return VBS_OK;
}

struct vbs_problem learn_problem(const struct learning *l, const struct vbs_profile *profile)
{
    const struct vbs_learn_options *options = &l->options;

    return (struct vbs_problem){.profile = profile,
                                .request = options->request,
                                .io = options->io,
                                .latency_us = options->latency_us,
                                .weights = options->weights,
                                .copy = l->copy,
                                .whole_samples = options->whole_samples};
}
