/* Planners by name, for tests. */
#ifndef TESTS_PLANNER_H
#define TESTS_PLANNER_H

#include "support/bail_out.h"

#include "vbslab/plan.h"

/* Gives the planner of this name; ends the program where there is none. */
static inline const struct vbs_planner *planner_named(const char *name)
{
    const struct vbs_planner *planner;

    if (vbs_planner_find(NULL, name, &planner) == VBS_OK)
        return planner;
    bail_out("no planner '%s'", name);
}

#endif
