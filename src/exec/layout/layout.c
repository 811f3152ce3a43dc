#include "exec/layout/layout.h"

#include "base/fail.h"

#include <stdlib.h>

bool vbs_exec_layout_add(struct vbs_exec_layout *layout, int item, int64_t step, int64_t base)
{
    if (layout->n_turns == layout->max_turns) {
        int max = layout->max_turns ? 2 * layout->max_turns : 256;
        struct vbs_exec_turn *turns = realloc(layout->turns, (size_t)max * sizeof *turns);

        if (!turns)
            return false;
        layout->turns = turns;
        layout->max_turns = max;
    }
    layout->turns[layout->n_turns++] = (struct vbs_exec_turn){item, step, base};
    return true;
}

static int compare(const void *left, const void *right)
{
    const struct vbs_exec_turn *a = left, *b = right;

    if (a->item != b->item)
        return a->item - b->item;
    return a->step < b->step ? -1 : a->step > b->step;
}

static void find_height(struct vbs_exec_layout *layout, const struct vbs_exec_buffers *buffers)
{
    layout->height_bytes = 0;
    for (int t = 0; t < layout->n_turns; t++) {
        const struct vbs_place_item *item = &buffers->items[layout->turns[t].item];
        const struct vbs_exec_slots slots = vbs_exec_turn_slots(layout, t);

        for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++) {
            const struct vbs_place_rect *rect = &buffers->rects[r];
            int64_t end = layout->turns[t].base + rect->offset + rect->size;

            if (rect->lower < slots.to && rect->upper > slots.from && end > layout->height_bytes)
                layout->height_bytes = end;
        }
    }
    for (int m = 0; m < layout->moves.n; m++) { /* detours */
        int64_t end = layout->moves.moves[m].to + layout->moves.moves[m].bytes;

        layout->height_bytes = end > layout->height_bytes ? end : layout->height_bytes;
    }
}

enum vbs_status vbs_exec_layout_finish(struct vbs_ctx *ctx, struct vbs_exec_layout *layout,
                                       const struct vbs_exec_buffers *buffers)
{
    layout->n_items = buffers->n_items;
    free(layout->first_turn);
    layout->first_turn = calloc((size_t)layout->n_items + 2, sizeof *layout->first_turn);
    if (!layout->first_turn)
        return vbs_no_memory(ctx);
    if (layout->n_turns > 0)
        qsort(layout->turns, (size_t)layout->n_turns, sizeof *layout->turns, compare);
    for (int t = 0; t < layout->n_turns; t++)
        layout->first_turn[layout->turns[t].item + 1]++;
    for (int i = 0; i < layout->n_items; i++)
        layout->first_turn[i + 1] += layout->first_turn[i];
    find_height(layout, buffers);
    return VBS_OK;
}

void vbs_exec_layout_clear(struct vbs_exec_layout *layout)
{
    free(layout->turns);
    free(layout->first_turn);
    free(layout->moves.moves);
    *layout = (struct vbs_exec_layout){0};
}

const struct vbs_exec_turn *vbs_exec_layout_turn(const struct vbs_exec_layout *layout, int item,
                                                 int64_t step)
{
    int low = layout->first_turn[item], high = layout->first_turn[item + 1];

    while (low + 1 < high) { /* the turn is low or behind, and before high */
        int middle = low + (high - low) / 2;

        if (layout->turns[middle].step <= step)
            low = middle;
        else
            high = middle;
    }
    return &layout->turns[low];
}

struct vbs_exec_slots vbs_exec_turn_slots(const struct vbs_exec_layout *layout, int turn)
{
    const struct vbs_exec_turn *at = &layout->turns[turn];
    struct vbs_exec_slots slots = {.from = 2 * at->step, .to = INT64_MAX};

    if (turn + 1 < layout->first_turn[at->item + 1])
        slots.to = 2 * at[1].step;
    return slots;
}
