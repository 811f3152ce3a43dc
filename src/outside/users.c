/*
 * The users of planners from outside: a solver may outlive the caller's own hold of its planner.
 */
#include "outside/internal.h"

#include <dlfcn.h>
#include <stdlib.h>

void vbs_outside_hold(struct vbs_outside *outside)
{
    atomic_fetch_add(&outside->n_users, 1);
}

void vbs_outside_release(struct vbs_outside *outside)
{
    if (atomic_fetch_sub(&outside->n_users, 1) > 1)
        return;
    if (outside->object)
        dlclose(outside->object);
    free(outside->name);
    free(outside->path);
    free(outside);
}
