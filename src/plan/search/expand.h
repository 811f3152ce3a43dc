/*
 * The steps out of a state of the lattice within a budget, for the network or for a projection of
 * it.
 */
#ifndef VBS_PLAN_SEARCH_EXPAND_H
#define VBS_PLAN_SEARCH_EXPAND_H

#include "plan/problem/problem.h"

struct vbs_lattice {
    const struct vbs_task *task;
    const struct vbs_order_ideals *ideals;
    int64_t memory_bytes;
};

/* A step from a state: layer on samples first..first+batch-1 of the request (from 0). */
struct vbs_edge {
    int layer, first, batch;
    int64_t ticks;
    const uint16_t *to; /* the state after it, valid until visit returns */
};

/* Calls visit for each step that fits. to is scratch memory for one state. Stops at the first
 * status that is not VBS_OK and returns it. */
enum vbs_status vbs_lattice_expand(
    const struct vbs_lattice *lattice, const uint16_t *from, uint16_t *to,
    enum vbs_status (*visit)(void *self, const struct vbs_edge *edge), void *self) VBS_MUST_CHECK;

#endif
