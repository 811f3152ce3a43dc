/*
 * plan/weights: planners for weights inside the budget. Nothing but the planners is used outside of
 * this sub-room.
 */
#ifndef VBS_PLAN_WEIGHTS_WEIGHTS_H
#define VBS_PLAN_WEIGHTS_WEIGHTS_H

#include "plan/problem/problem.h"

/* Keeps all weights resident and runs the planner task->resident in the memory that is left. It is
 * not in the table of planners: solver.c puts it in front of planners that do not transfer weights.
 */
extern const struct vbs_planner vbs_planner_resident;

extern const struct vbs_planner vbs_planner_mmcnn;
extern const struct vbs_planner vbs_planner_vdnn;
extern const struct vbs_planner vbs_planner_joint;

#endif
