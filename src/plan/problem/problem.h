/*
 * plan/problem: the problem as planners see it. This header names everything that the other
 * sub-rooms of plan use of it.
 *
 *   task.h          the problem with data computed once for all planners
 *   steps.h         lists of steps
 *   planner.h       the functions of a planner
 *   order_ideals.h  sets of layers that one sample can have finished, and its live bytes
 *   lattice.h       memory of a schedule step by step, weights left out
 *   rows.h          rows of samples
 *   slices.h        slices of layers and weights
 *   timeline.h      memory and both clocks of a whole schedule
 *   pareto.h        one schedule for every budget at which the least time falls
 *   budget_list.h   budgets to try
 *   derive.h        profiles made from a profile
 *   reasons.h       explanations while they are made
 */
#ifndef VBS_PLAN_PROBLEM_PROBLEM_H
#define VBS_PLAN_PROBLEM_PROBLEM_H

#include "plan/problem/budget_list.h"
#include "plan/problem/derive.h"
#include "plan/problem/lattice.h"
#include "plan/problem/order_ideals.h"
#include "plan/problem/pareto.h"
#include "plan/problem/planner.h"
#include "plan/problem/reasons.h"
#include "plan/problem/rows.h"
#include "plan/problem/slices.h"
#include "plan/problem/steps.h"
#include "plan/problem/task.h"
#include "plan/problem/timeline.h"

#endif
