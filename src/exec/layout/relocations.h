/* The addresses of items over time. Internal to the room, which reaches this header by layout.h. */
#ifndef VBS_EXEC_LAYOUT_RELOCATIONS_H
#define VBS_EXEC_LAYOUT_RELOCATIONS_H

#include "exec/layout/buffers.h"
#include "exec/layout/order.h"

/* The base of an item from a step on, until its next relocation. */
struct vbs_exec_relocation {
    int item;
    int64_t step;
    int64_t base; /* the address of the item's offset 0, which need not live then; may be
                     negative */
};

struct vbs_exec_layout {
    int n_items;
    int n_relocations;
    int64_t max_relocations;
    /* [max_relocations], by item and step; each item has one from step 0 on */
    struct vbs_exec_relocation *relocations;
    int *first_relocation;       /* [n_items + 1] */
    struct vbs_exec_moves moves; /* by step, in their order */
    int64_t height_bytes;
};

/* Appends a relocation; *layout starts with {0}. False: memory is out. */
bool vbs_exec_layout_add(struct vbs_exec_layout *layout, int item, int64_t step, int64_t base);

/* Sorts the relocations, and finds the height for buffers. VBS_NO_MEMORY. */
enum vbs_status vbs_exec_layout_finish(struct vbs_ctx *ctx, struct vbs_exec_layout *layout,
                                       const struct vbs_exec_buffers *buffers) VBS_MUST_CHECK;
void vbs_exec_layout_clear(struct vbs_exec_layout *layout);

/* Finds the relocation of an item that holds in a step. Logarithmic in its relocations. */
const struct vbs_exec_relocation *vbs_exec_layout_find(const struct vbs_exec_layout *layout,
                                                       int item, int64_t step);

/* Slots from..to - 1 (groups.h) of a relocation. */
struct vbs_exec_slots {
    int64_t from, to;
};
struct vbs_exec_slots vbs_exec_relocation_slots(const struct vbs_exec_layout *layout,
                                                int relocation);

#endif
