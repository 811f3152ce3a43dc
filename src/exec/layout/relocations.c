#include "exec/layout/relocations.h"

#include "base/fail.h"
#include "base/grow.h"

#include <stdlib.h>

bool vbs_exec_layout_add(struct vbs_exec_layout *layout, int item, int64_t step, int64_t base)
{
    if (vbs_grow(NULL, &layout->relocations, &layout->max_relocations, layout->n_relocations + 1,
                 sizeof *layout->relocations) != VBS_OK)
        return false;
    layout->relocations[layout->n_relocations++] = (struct vbs_exec_relocation){item, step, base};
    return true;
}

static int compare(const void *left, const void *right)
{
    const struct vbs_exec_relocation *a = left, *b = right;

    if (a->item != b->item)
        return a->item - b->item;
    return a->step < b->step ? -1 : a->step > b->step;
}

static void find_height(struct vbs_exec_layout *layout, const struct vbs_exec_buffers *buffers)
{
    layout->height_bytes = 0;
    for (int t = 0; t < layout->n_relocations; t++) {
        const struct vbs_place_item *item = &buffers->items[layout->relocations[t].item];
        const struct vbs_exec_slots slots = vbs_exec_relocation_slots(layout, t);

        for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++) {
            const struct vbs_place_rect *rect = &buffers->rects[r];
            int64_t end = layout->relocations[t].base + rect->offset + rect->size;

            if (rect->lower < slots.to && rect->upper > slots.from && end > layout->height_bytes)
                layout->height_bytes = end;
        }
    }
    for (int m = 0; m < layout->moves.n; m++) { /* counts detours */
        int64_t end = layout->moves.moves[m].to + layout->moves.moves[m].bytes;

        layout->height_bytes = end > layout->height_bytes ? end : layout->height_bytes;
    }
}

enum vbs_status vbs_exec_layout_finish(struct vbs_ctx *ctx, struct vbs_exec_layout *layout,
                                       const struct vbs_exec_buffers *buffers)
{
    layout->n_items = buffers->n_items;
    free(layout->first_relocation);
    layout->first_relocation =
        calloc((size_t)layout->n_items + 2, sizeof *layout->first_relocation);
    if (!layout->first_relocation)
        return vbs_no_memory(ctx);
    if (layout->n_relocations > 0)
        qsort(layout->relocations, (size_t)layout->n_relocations, sizeof *layout->relocations,
              compare);
    for (int t = 0; t < layout->n_relocations; t++)
        layout->first_relocation[layout->relocations[t].item + 1]++;
    for (int i = 0; i < layout->n_items; i++)
        layout->first_relocation[i + 1] += layout->first_relocation[i];
    find_height(layout, buffers);
    return VBS_OK;
}

void vbs_exec_layout_clear(struct vbs_exec_layout *layout)
{
    free(layout->relocations);
    free(layout->first_relocation);
    free(layout->moves.moves);
    *layout = (struct vbs_exec_layout){0};
}

const struct vbs_exec_relocation *vbs_exec_layout_find(const struct vbs_exec_layout *layout,
                                                       int item, int64_t step)
{
    int low = layout->first_relocation[item], high = layout->first_relocation[item + 1];

    while (low + 1 < high) { /* invariant: the relocation is low or behind it, and before high */
        int middle = low + (high - low) / 2;

        if (layout->relocations[middle].step <= step)
            low = middle;
        else
            high = middle;
    }
    return &layout->relocations[low];
}

struct vbs_exec_slots vbs_exec_relocation_slots(const struct vbs_exec_layout *layout,
                                                int relocation)
{
    const struct vbs_exec_relocation *at = &layout->relocations[relocation];
    struct vbs_exec_slots slots = {.from = 2 * at->step, .to = INT64_MAX};

    if (relocation + 1 < layout->first_relocation[at->item + 1])
        slots.to = 2 * at[1].step;
    return slots;
}
