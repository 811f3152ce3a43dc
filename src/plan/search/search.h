/*
 * plan/search: the optimal planner. Nothing else of it is used outside of this sub-room.
 */
#ifndef VBS_PLAN_SEARCH_SEARCH_H
#define VBS_PLAN_SEARCH_SEARCH_H

#include "plan/problem/problem.h"

extern const struct vbs_planner vbs_planner_optimal;

#endif
