/*
 * The table of all planners, and the functions that look them up by index or name.
 */
#include "plan/registry.h"

#include "base/fail.h"
#include "base/text.h"
#include "plan/dp/dp.h"
#include "plan/recompute/recompute.h"
#include "plan/search/search.h"
#include "plan/uniform/uniform.h"
#include "plan/weights/weights.h"

#include <string.h>

/* The order is that of tables and plots: of planners of one kind, baselines first. */
const struct vbs_planner *const vbs_all_planners[] = {
    &vbs_planner_fbs,         &vbs_planner_fbs_best,  &vbs_planner_greedy_vbs,
    &vbs_planner_dp_monotone, &vbs_planner_dp_vbs,    &vbs_planner_dp_vbs_plus,
    &vbs_planner_optimal,     &vbs_planner_mmcnn,     &vbs_planner_vdnn,
    &vbs_planner_joint,       &vbs_planner_patch,     &vbs_planner_patch_2d,
    &vbs_planner_fusion,      &vbs_planner_fusion_2d, NULL,
};

#define N_PLANNERS ((int)(sizeof vbs_all_planners / sizeof vbs_all_planners[0]) - 1)

const struct vbs_planner *vbs_planner_at(int index)
{
    return index >= 0 && index < N_PLANNERS ? vbs_all_planners[index] : NULL;
}

const char *vbs_planner_name(const struct vbs_planner *planner)
{
    return planner->name;
}

const char *vbs_planner_summary(const struct vbs_planner *planner)
{
    return planner->summary;
}

const char *vbs_planner_source(const struct vbs_planner *planner)
{
    return planner->source;
}

const char *vbs_planner_cost(const struct vbs_planner *planner)
{
    return planner->cost;
}

bool vbs_planner_is_baseline(const struct vbs_planner *planner)
{
    return planner->baseline;
}

bool vbs_planner_is_timed(const struct vbs_planner *planner)
{
    return planner->timed;
}

bool vbs_planner_is_compared(const struct vbs_planner *planner, enum vbs_weights weights)
{
    if (weights == VBS_WEIGHTS_EXCLUDED)
        return !planner->transfers && !planner->estimates;
    return planner->transfers || planner->compared_beside_weights;
}

bool vbs_planner_transfers(const struct vbs_planner *planner)
{
    return planner->transfers;
}

bool vbs_planner_estimates(const struct vbs_planner *planner)
{
    return planner->estimates;
}

bool vbs_planner_is_outside(const struct vbs_planner *planner)
{
    return planner->outside;
}

enum vbs_status vbs_planner_find(struct vbs_ctx *ctx, const char *name,
                                 const struct vbs_planner **planner)
{
    const char *names[N_PLANNERS], *nearest;

    for (int i = 0; i < N_PLANNERS; i++) {
        names[i] = vbs_all_planners[i]->name;
        if (strcmp(name, names[i]) == 0) {
            *planner = vbs_all_planners[i];
            return VBS_OK;
        }
    }
    nearest = vbs_nearest_name(name, names, N_PLANNERS);
    if (nearest)
        return vbs_fail(ctx, VBS_NOT_FOUND, "no planner '%s'; did you mean '%s'?", name, nearest);
    return vbs_fail(ctx, VBS_NOT_FOUND, "no planner '%s'; 'vbslab planners' lists them", name);
}
