/* The tasks of one call by their names, with their states. Internal to the room. */
#ifndef VBS_SWEEP_ITEMS_H
#define VBS_SWEEP_ITEMS_H

#include "sweep/description.h"

struct vbs_sweep_item {
    uint64_t name;
    uint32_t index; /* of the task */
    uint8_t state;  /* enum vbs_sweep_state */
};

struct vbs_sweep_items {
    struct vbs_sweep_item *items; /* in the order of the indexes */
    int64_t n, capacity;
    uint32_t *table; /* [size], a power of 2: numbers of items plus 1, by name */
    size_t size;
    struct vbs_sweep_counts counts;
};

/* Makes the items of n tasks and of those whose results they read (tasks null: of all tasks), each
 * with what the folder of results says of it. Of tasks of equal content the first one stands for
 * all. VBS_USAGE: no such index; VBS_IO, VBS_NO_MEMORY. */
enum vbs_status vbs_items_make(struct vbs_ctx *ctx, struct vbs_sweep *sweep, const int64_t *tasks,
                               int64_t n, struct vbs_sweep_items *items) VBS_MUST_CHECK;

void vbs_items_free(struct vbs_sweep_items *items);

/* Gives the item of a name; null: there is none. */
struct vbs_sweep_item *vbs_items_find(const struct vbs_sweep_items *items, uint64_t name);

/* Changes the state of an item, and the counts. */
void vbs_items_set(struct vbs_sweep_items *items, struct vbs_sweep_item *item,
                   enum vbs_sweep_state state);

/* Gives the state of the tasks whose results an item's task reads: blocked where one has failed or
 * is blocked itself, done where all are done, else left. VBS_IO, VBS_NO_MEMORY. */
enum vbs_status vbs_items_needs(struct vbs_ctx *ctx, struct vbs_sweep *sweep,
                                const struct vbs_sweep_items *items,
                                const struct vbs_sweep_item *item,
                                enum vbs_sweep_state *state) VBS_MUST_CHECK;

/* Gives the ending of the standard output of an item's task. */
const char *vbs_items_ending(const struct vbs_sweep *sweep, const struct vbs_sweep_item *item);

#endif
