/*
 * plan/recompute: planners that run layers by rows and compute borders again, as those do who cut
 * images into patches today. No schedule can say that rows are computed twice, so that these
 * planners give estimates: bytes and times by a model (docs/concepts.md, "Rows that are computed
 * again"). Nothing but the planners is used outside of this sub-room.
 */
#ifndef VBS_PLAN_RECOMPUTE_RECOMPUTE_H
#define VBS_PLAN_RECOMPUTE_RECOMPUTE_H

#include "plan/problem/problem.h"

extern const struct vbs_planner vbs_planner_patch;
extern const struct vbs_planner vbs_planner_patch_2d;
extern const struct vbs_planner vbs_planner_fusion;
extern const struct vbs_planner vbs_planner_fusion_2d;

#endif
