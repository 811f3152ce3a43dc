/*
 * plan/uniform: planners that choose from a list of schedules that is fixed before the budget is
 * known. Nothing but the planners is used outside of this sub-room.
 */
#ifndef VBS_PLAN_UNIFORM_UNIFORM_H
#define VBS_PLAN_UNIFORM_UNIFORM_H

#include "plan/problem/problem.h"

extern const struct vbs_planner vbs_planner_fbs;
extern const struct vbs_planner vbs_planner_fbs_best;
extern const struct vbs_planner vbs_planner_greedy_vbs;

#endif
