/*
 * Bounds of the offsets of a placement below a target height, and constraint propagation over them.
 * Internal to the room.
 *
 * Every item has a least and a most offset. Every pair of items that share a step has an interval
 * for its distance, offset(i) - offset(j), and holes, open intervals in which the distance must not
 * lie. Bounds of distances tighten bounds of offsets, and bounds of offsets decide on which side of
 * a hole a distance is. A section is contradicted when some of its rectangles need more bytes than
 * lie between the least of their begins and the most of their ends. The least offsets of all items
 * are a placement when they leave no distance in a hole.
 */
#ifndef VBS_PLACE_BOUNDS_H
#define VBS_PLACE_BOUNDS_H

#include "place/internal.h"

struct bounds_pair {
    int i, j;
    int n_holes;
    const struct place_arc *holes; /* of offset(i) - offset(j), ascending */
    int64_t low, high;             /* of the same */
    double weight;                 /* 1 + failures */
    int place;                     /* in open */
};

struct bounds_change {
    int64_t *at, before;
};

/* A state to which vbs_bounds_undo returns. */
struct bounds_mark {
    size_t n_changes;
    int n_open;
};

struct place_bounds {
    struct place_search *search;
    const struct place_item *items; /* [n], the component's */
    struct vbs_arena arena;
    struct place_sections sections;
    int n, n_pairs;
    struct bounds_pair *pairs;
    int *first_pair, *pairs_of; /* of each item: pairs_of[first_pair[i] .. first_pair[i + 1]) */
    int64_t *least, *most;      /* [n] */
    double *blame;              /* [n], failures of sections */
    int *open, n_open;          /* pairs with a hole inside their interval */
    bool no_memory;             /* a change failed for want of memory */

    int *queue, n_queue, first_queue; /* items whose bounds changed */
    bool *queued;                     /* [n] */
    int *to_check, n_to_check;        /* sections with items whose bounds changed */
    bool *changed;                    /* [sections], the section is in to_check */
    int64_t *begins, *ends;           /* [most members of a section] */
    int *sorted;                      /* likewise */
    struct bounds_change *changes;    /* [max_changes] */
    size_t n_changes;
    int64_t max_changes;
};

/* Makes the bounds of a component, which must be reset before they are used; null when memory is
 * out. */
struct place_bounds *vbs_bounds_new(struct place_search *search,
                                    const struct place_component *component);
void vbs_bounds_free(struct place_bounds *bounds);

/* Sets the bounds that follow from the target alone: no item ends above it. False: some item is
 * higher than the target. */
bool vbs_bounds_reset(struct place_bounds *bounds, int64_t target);

/* Propagates the bounds until nothing changes. False: they contradict each other, or the search
 * gave up (vbs_bounds_gave_up tells). */
bool vbs_bounds_propagate(struct place_bounds *bounds);

struct bounds_mark vbs_bounds_mark(const struct place_bounds *bounds);
void vbs_bounds_undo(struct place_bounds *bounds, struct bounds_mark mark);

/* Decides that a pair's distance lies above, or below, a hole. False: memory is out. */
bool vbs_bounds_decide(struct place_bounds *bounds, struct bounds_pair *pair,
                       const struct place_arc *hole, bool above);

/* Gives the first hole inside the pair's interval, or null. */
const struct place_arc *vbs_bounds_hole(const struct bounds_pair *pair);

/* Gives whether propagation or deciding failed for want of time or memory. */
static inline bool vbs_bounds_gave_up(const struct place_bounds *bounds)
{
    return bounds->search->over || bounds->no_memory;
}

#endif
