/* The table of all planners. Internal to the room. */
#ifndef VBS_PLAN_REGISTRY_H
#define VBS_PLAN_REGISTRY_H

#include "plan/problem/problem.h"

/* All planners in the order of tables and plots, baselines first; null after the last. */
extern const struct vbs_planner *const vbs_all_planners[];

#endif
