#include "plan/line.h"

#include "base/fail.h"

/* positions[t]: place of layer t in the order; -1 for the network's input. */
static void find_positions(const struct vbs_task *task, const int *order, int *positions)
{
    positions[0] = -1;
    for (int i = 0; i < task->n_layers; i++)
        positions[order[i]] = i;
}

/* Place of the last layer that reads tensor; n when it is a final output; its own place when nobody
 * reads it and nothing is kept. */
static int last_position(const struct vbs_task *task, const int *positions, int tensor)
{
    int last = positions[tensor];

    if (tensor != 0 && task->n_readers[tensor] == 0)
        return task->n_layers;
    for (int i = 0; i < task->n_readers[tensor]; i++)
        if (positions[task->readers[tensor][i]] > last)
            last = positions[task->readers[tensor][i]];
    return last;
}

/* Bytes that a step adds per sample beside what is live before it. */
static int64_t added_bytes(const struct vbs_task *task, const int *positions, int layer)
{
    const struct vbs_profile_layer *l = &task->profile->layers[layer];
    int first = l->inputs[0];
    int64_t place = 0, lent = 0;

    if (l->in_place && last_position(task, positions, first) == positions[layer])
        place = vbs_task_bytes(task, first);
    if (vbs_task_reads_input(task, layer) && !vbs_task_kept(task, 0))
        lent = vbs_task_bytes(task, 0);
    return lent + vbs_task_added(l->out_bytes, place);
}

enum vbs_status vbs_line_build(struct vbs_ctx *ctx, const struct vbs_task *task,
                               struct vbs_arena *arena, const int *order, struct vbs_chain *chain)
{
    int n = task->n_layers;
    int *positions = vbs_arena_alloc(arena, (size_t)n + 1, sizeof *positions);

    chain->n_items = n;
    chain->items = vbs_arena_alloc(arena, (size_t)n, sizeof *chain->items);
    chain->cut_bytes = vbs_arena_alloc(arena, (size_t)n + 2, sizeof *chain->cut_bytes);
    if (!positions || !chain->items || !chain->cut_bytes)
        return vbs_no_memory(ctx);
    find_positions(task, order, positions);
    for (int t = 0; t <= n; t++) { /* differences first: live behind its maker, up to its reader */
        if (!vbs_task_kept(task, t))
            continue;
        chain->cut_bytes[positions[t] + 1] += vbs_task_bytes(task, t);
        chain->cut_bytes[last_position(task, positions, t) + 1] -= vbs_task_bytes(task, t);
    }
    for (int i = 1; i <= n; i++)
        chain->cut_bytes[i] += chain->cut_bytes[i - 1];
    for (int i = 0; i < n; i++)
        chain->items[i] = (struct vbs_item){.layer = order[i],
                                            .step_bytes = chain->cut_bytes[i] +
                                                          added_bytes(task, positions, order[i])};
    return VBS_OK;
}

void vbs_line_order_of_ids(const struct vbs_task *task, int *order)
{
    for (int i = 0; i < task->n_layers; i++)
        order[i] = i + 1;
}

/* Appends the layers of chain to order at n; returns their number so far. */
static int append(const struct vbs_chain *chain, int *order, int n)
{
    for (int i = 0; i < chain->n_items; i++) {
        const struct vbs_item *item = &chain->items[i];

        if (item->layer)
            order[n++] = item->layer;
        for (int branch = 0; branch < item->n_branches; branch++)
            n = append(&item->branches[branch], order, n);
    }
    return n;
}

void vbs_line_order_of_chain(const struct vbs_chain *chain, int *order)
{
    append(chain, order, 0);
}
