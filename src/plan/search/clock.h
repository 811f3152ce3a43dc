/*
 * The clock of a search counts seconds or expanded states. With states the plan is the same on
 * every machine. Every `until` of the sub-room is a moment of this clock.
 */
#ifndef VBS_PLAN_SEARCH_CLOCK_H
#define VBS_PLAN_SEARCH_CLOCK_H

#include "plan/problem/problem.h"

double vbs_search_now(const struct vbs_task *task);

/* Counts one expanded state. */
static inline void vbs_search_count(const struct vbs_task *task)
{
    if (task->clock)
        task->clock->n_nodes++;
}

/* Reports progress when the last report is old enough. */
void vbs_search_report(const struct vbs_task *task);

#endif
