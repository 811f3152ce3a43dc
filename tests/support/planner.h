/* Planners by name, for tests. */
#ifndef TESTS_PLANNER_H
#define TESTS_PLANNER_H

#include "vbslab/plan.h"

#include <stdio.h>
#include <stdlib.h>

/* Ends the program where there is no planner of that name. */
static inline const struct vbs_planner *planner_named(const char *name)
{
    const struct vbs_planner *planner;

    if (vbs_planner_find(NULL, name, &planner) == VBS_OK)
        return planner;
    printf("Bail out! no planner '%s'\n", name);
    exit(1);
}

#endif
