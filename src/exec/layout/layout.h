/* Where items lie, and from when on. Internal to the room. */
#ifndef VBS_EXEC_LAYOUT_LAYOUT_H
#define VBS_EXEC_LAYOUT_LAYOUT_H

#include "exec/layout/buffers.h"
#include "exec/layout/order.h"

/* From a step on, until the item's next turn. */
struct vbs_exec_turn {
    int item;
    int64_t step;
    int64_t base; /* of the item's offset 0, which need not live then; may be negative */
};

struct vbs_exec_layout {
    int n_items;
    int n_turns, max_turns;
    struct vbs_exec_turn *turns; /* by item and step; each item has one from step 0 on */
    int *first_turn;             /* [n_items + 1] */
    struct vbs_exec_moves moves; /* by step, in their order */
    int64_t height_bytes;
};

/* Starts with {0}. False: memory is out. */
bool vbs_exec_layout_add(struct vbs_exec_layout *layout, int item, int64_t step, int64_t base);

/* Sorts what was added, and finds the height for buffers. VBS_NO_MEMORY. */
enum vbs_status vbs_exec_layout_finish(struct vbs_ctx *ctx, struct vbs_exec_layout *layout,
                                       const struct vbs_exec_buffers *buffers) VBS_MUST_CHECK;
void vbs_exec_layout_clear(struct vbs_exec_layout *layout);

/* The turn of an item in which a step finds it. Logarithmic in its turns. */
const struct vbs_exec_turn *vbs_exec_layout_turn(const struct vbs_exec_layout *layout, int item,
                                                 int64_t step);

/* Slots from..to - 1 (stacks.h) of a turn. */
struct vbs_exec_slots {
    int64_t from, to;
};
struct vbs_exec_slots vbs_exec_turn_slots(const struct vbs_exec_layout *layout, int turn);

#endif
