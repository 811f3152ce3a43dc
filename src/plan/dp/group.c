/*
 * Long chains in groups: their cuttings take time by the third power of the number of items, and
 * those of groups of n items by the number of items and the square of n.
 *
 * A chain of more than n items becomes a chain of at most n groups, each a subchain, whose items
 * are groups again until at most n of them are left. Cuts begin and end within one group, or take
 * groups whole. So each cutting of the grouped chain is a cutting of the chain, with the same bytes
 * and the same time, but the best one may be missing.
 */
#include "plan/dp/dp.h"

#include "base/fail.h"

/* A group ends where few bytes wait, at most so far from where groups would be equally long: a
 * share of their length. */
#define MOST_SHIFT 4

/* Returns the place near `at`, within `shift`, where a sample takes the fewest bytes. */
static int narrowest(const struct vbs_chain *chain, int at, int shift)
{
    int best = at;

    for (int d = 1; d <= shift; d++) {
        if (chain->cut_bytes[at - d] < chain->cut_bytes[best])
            best = at - d;
        if (chain->cut_bytes[at + d] < chain->cut_bytes[best])
            best = at + d;
    }
    return best;
}

/* Makes items from..to-1 of a chain one item: a subchain, or the only item itself. */
static enum vbs_status group_run(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                 const struct vbs_chain *chain, int from, int to, int most_items,
                                 struct vbs_item *item)
{
    const struct vbs_chain run = {
        .n_items = to - from, .items = chain->items + from, .cut_bytes = chain->cut_bytes + from};

    if (run.n_items == 1) {
        *item = run.items[0];
        return VBS_OK;
    }
    *item = (struct vbs_item){.subchain = vbs_arena_alloc(arena, 1, sizeof *item->subchain)};
    return item->subchain ? vbs_chain_group(ctx, arena, &run, most_items, item->subchain)
                          : vbs_no_memory(ctx);
}

/* Groups within the subchains that the items of a short chain are. */
static enum vbs_status group_inside(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                    const struct vbs_chain *chain, int most_items,
                                    struct vbs_chain *grouped)
{
    size_t n = (size_t)chain->n_items;

    *grouped = *chain;
    grouped->items = vbs_arena_alloc(arena, n, sizeof *grouped->items);
    if (!grouped->items)
        return vbs_no_memory(ctx);
    for (size_t i = 0; i < n; i++) {
        grouped->items[i] = chain->items[i];
        if (!chain->items[i].subchain)
            continue;
        grouped->items[i].subchain = vbs_arena_alloc(arena, 1, sizeof *grouped);
        if (!grouped->items[i].subchain)
            return vbs_no_memory(ctx);
        VBS_TRY(vbs_chain_group(ctx, arena, chain->items[i].subchain, most_items,
                                grouped->items[i].subchain));
    }
    return VBS_OK;
}

enum vbs_status vbs_chain_group(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                const struct vbs_chain *chain, int most_items,
                                struct vbs_chain *grouped)
{
    int n = chain->n_items, n_groups = (n + most_items - 1) / most_items;

    if (n <= most_items)
        return group_inside(ctx, arena, chain, most_items, grouped);
    n_groups = n_groups < most_items ? n_groups : most_items;
    grouped->n_items = n_groups;
    grouped->items = vbs_arena_alloc(arena, (size_t)n_groups, sizeof *grouped->items);
    grouped->cut_bytes = vbs_arena_alloc(arena, (size_t)n_groups + 1, sizeof *grouped->cut_bytes);
    if (!grouped->items || !grouped->cut_bytes)
        return vbs_no_memory(ctx);
    grouped->cut_bytes[0] = chain->cut_bytes[0];
    for (int g = 0, from = 0; g < n_groups; g++) {
        int to = (int)((int64_t)n * (g + 1) / n_groups);

        if (to < n)
            to = narrowest(chain, to, n / n_groups / MOST_SHIFT);
        VBS_TRY(group_run(ctx, arena, chain, from, to, most_items, &grouped->items[g]));
        grouped->cut_bytes[g + 1] = chain->cut_bytes[to];
        from = to;
    }
    return VBS_OK;
}

/* Adds up n items of one chain. */
static double line_effort(double n, double samples, double most_items)
{
    double together = most_items > 0 && most_items < n ? most_items : n;

    return n * together * samples * (together + samples);
}

static double chain_effort(const struct vbs_chain *chain, double samples, double most_items)
{
    double effort = line_effort(chain->n_items, samples, most_items);

    for (int i = 0; i < chain->n_items; i++)
        for (int b = 0; b < chain->items[i].n_branches; b++)
            effort += chain_effort(&chain->items[i].branches[b], samples, most_items);
    return effort;
}

double vbs_orders_effort(const struct vbs_task *task, const struct vbs_orders *orders, int samples,
                         int most_items)
{
    double effort = 0;

    for (int i = 0; i < orders->n; i++)
        effort += orders->at[i].structure.n_items > 0
                      ? chain_effort(&orders->at[i].structure, samples, most_items)
                      : line_effort(task->n_layers, samples, most_items);
    return effort;
}

int vbs_orders_items_within(const struct vbs_task *task, const struct vbs_orders *orders,
                            int samples, double most_effort)
{
    int items = VBS_LEAST_ITEMS;

    if (vbs_orders_effort(task, orders, samples, 0) <= most_effort)
        return 0;
    while (vbs_orders_effort(task, orders, samples, 2 * items) <= most_effort)
        items *= 2;
    return items;
}
