#include "plan/dp/dp.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

/* positions[t]: place of layer t in the order; -1 for the network's input. */
static void find_positions(const struct vbs_task *task, const int *order, int *positions)
{
    positions[0] = -1;
    for (int i = 0; i < task->n_layers; i++)
        positions[order[i]] = i;
}

/* Place of the last layer that reads tensor; n when it is a final output; its own place when no
 * layer reads it and it is not kept. */
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
    /* Differences first: a tensor is live from its producer up to its last reader. */
    for (int t = 0; t <= n; t++) {
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

int vbs_chain_layers(const struct vbs_chain *chain, int *order)
{
    int n = 0;

    for (int i = 0; i < chain->n_items; i++) {
        const struct vbs_item *item = &chain->items[i];

        if (item->layer)
            order[n++] = item->layer;
        if (item->subchain)
            n += vbs_chain_layers(item->subchain, order + n);
        for (int branch = 0; branch < item->n_branches; branch++)
            n += vbs_chain_layers(&item->branches[branch], order + n);
    }
    return n;
}

/* The bytes of a branch per sample beside the block's input: the largest, and those after its end.
 */
struct branch_need {
    int64_t peak_bytes, left_bytes;
    struct vbs_chain chain;
};

struct sorting {
    struct vbs_ctx *ctx;
    const struct vbs_task *task;
    int *order;    /* [n_layers] of one branch */
    int *place_in; /* [n_layers + 1] place in that branch, -1: not in it */
};

/* Place of the last reader of a tensor within the branch; n when it is read behind it or final. */
static int last_in_branch(const struct sorting *at, int tensor, int n)
{
    const struct vbs_task *task = at->task;
    int last = task->n_readers[tensor] > 0 ? 0 : n;

    for (int i = 0; i < task->n_readers[tensor]; i++) {
        int place = at->place_in[task->readers[tensor][i]];

        if (place < 0)
            return n;
        if (place > last)
            last = place;
    }
    return last;
}

/* The largest workspace at batch 1, which fast algorithms often have. If the fastest algorithm's
 * workspace counted, the order of the branches, and with it the least budget, would depend on
 * times. */
static int64_t largest_workspace(const struct vbs_task *task, int layer)
{
    int n_rows;
    const struct vbs_profile_row *rows = vbs_profile_rows(task->profile, layer, 0, &n_rows);
    int64_t most = 0;

    for (int a = 0; a < n_rows; a++)
        if (rows[a].ws_bytes > most)
            most = rows[a].ws_bytes;
    return most;
}

static struct branch_need find_need(const struct sorting *at, const struct vbs_chain *branch)
{
    struct branch_need need = {.chain = *branch};
    int n = vbs_chain_layers(branch, at->order);
    int64_t live = 0;

    for (int i = 0; i < n; i++)
        at->place_in[at->order[i]] = i;
    for (int i = 0; i < n; i++) {
        int layer = at->order[i];

        live += vbs_task_bytes(at->task, layer);
        if (live + largest_workspace(at->task, layer) > need.peak_bytes)
            need.peak_bytes = live + largest_workspace(at->task, layer);
        for (int t = 0; t < at->task->n_inputs[layer]; t++) {
            int tensor = at->task->inputs[layer][t];

            if (at->place_in[tensor] >= 0 && last_in_branch(at, tensor, n) == i)
                live -= vbs_task_bytes(at->task, tensor);
        }
    }
    for (int i = 0; i < n; i++)
        at->place_in[at->order[i]] = -1;
    need.left_bytes = live;
    return need;
}

static int by_need(const void *a, const void *b)
{
    const struct branch_need *x = a, *y = b;
    int64_t over_x = x->peak_bytes - x->left_bytes, over_y = y->peak_bytes - y->left_bytes;

    return (over_x < over_y) - (over_x > over_y);
}

static enum vbs_status sort_items(const struct sorting *at, struct vbs_chain *chain)
{
    for (int i = 0; i < chain->n_items; i++) {
        struct vbs_item *item = &chain->items[i];
        struct branch_need *needs;
        enum vbs_status status = VBS_OK;

        if (item->n_branches == 0)
            continue;
        for (int b = 0; status == VBS_OK && b < item->n_branches; b++)
            status = sort_items(at, &item->branches[b]);
        needs = malloc((size_t)item->n_branches * sizeof *needs);
        if (status == VBS_OK && !needs)
            status = vbs_no_memory(at->ctx);
        for (int b = 0; status == VBS_OK && b < item->n_branches; b++)
            needs[b] = find_need(at, &item->branches[b]);
        if (status == VBS_OK)
            qsort(needs, (size_t)item->n_branches, sizeof *needs, by_need);
        for (int b = 0; status == VBS_OK && b < item->n_branches; b++)
            item->branches[b] = needs[b].chain;
        free(needs);
        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

static enum vbs_status sort_branches(struct vbs_ctx *ctx, const struct vbs_task *task,
                                     struct vbs_chain *chain)
{
    size_t n = (size_t)task->n_layers + 1;
    struct sorting at = {.ctx = ctx, .task = task};
    enum vbs_status status;

    at.order = malloc(n * sizeof *at.order);
    at.place_in = malloc(n * sizeof *at.place_in);
    if (at.place_in)
        memset(at.place_in, 0xff, n * sizeof *at.place_in);
    status = at.order && at.place_in ? sort_items(&at, chain) : vbs_no_memory(ctx);
    free(at.order);
    free(at.place_in);
    return status;
}

/* Appends an order unless it has been found before. */
static void add_order(const struct vbs_task *task, struct vbs_orders *orders, int *layers,
                      const struct vbs_chain *structure)
{
    size_t bytes = (size_t)task->n_layers * sizeof *layers;

    for (int i = 0; i < orders->n; i++)
        if (memcmp(orders->at[i].layers, layers, bytes) == 0)
            return;
    orders->at[orders->n].layers = layers;
    if (structure)
        orders->at[orders->n].structure = *structure;
    orders->n++;
}

enum vbs_status vbs_orders_find(struct vbs_ctx *ctx, const struct vbs_task *task,
                                struct vbs_arena *arena, struct vbs_orders *orders)
{
    size_t n = (size_t)task->n_layers;
    int *layers = vbs_arena_alloc(arena, 3 * n, sizeof *layers);
    struct vbs_chain chain, sorted;
    enum vbs_status status = layers ? VBS_OK : vbs_no_memory(ctx);

    *orders = (struct vbs_orders){0};
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_chain_build(ctx, task, arena, &chain));
    VBS_TRY(vbs_chain_build(ctx, task, arena, &sorted));
    VBS_TRY(sort_branches(ctx, task, &sorted));
    vbs_chain_layers(&chain, layers);
    for (int k = 1; k <= task->n_layers; k++)
        layers[n + (size_t)k - 1] = k;
    vbs_chain_layers(&sorted, layers + 2 * n);
    add_order(task, orders, layers, &chain);
    add_order(task, orders, layers + n, NULL);
    add_order(task, orders, layers + 2 * n, &sorted);
    return VBS_OK;
}

bool vbs_orders_have_plain_ids(const struct vbs_task *task, const struct vbs_orders *orders)
{
    for (int i = 0; i < orders->n; i++) {
        int n_items = orders->at[i].structure.n_items;

        if (n_items == 0 || n_items == task->n_layers)
            return true;
    }
    return false;
}

/* The state of folding, which walks line and chain together; at is the place in the line. */
struct fold {
    struct vbs_ctx *ctx;
    struct vbs_arena *arena;
    const struct vbs_chain *line;
    int at;
};

static enum vbs_status fold_items(struct fold *fold, const struct vbs_chain *chain,
                                  struct vbs_chain *folded);

static enum vbs_status init_chain(struct fold *fold, int n_items, struct vbs_chain *chain)
{
    chain->n_items = n_items;
    chain->items = vbs_arena_alloc(fold->arena, (size_t)n_items, sizeof *chain->items);
    chain->cut_bytes = vbs_arena_alloc(fold->arena, (size_t)n_items + 1, sizeof *chain->cut_bytes);
    if (!chain->items || !chain->cut_bytes)
        return vbs_no_memory(fold->ctx);
    chain->cut_bytes[0] = fold->line->cut_bytes[fold->at];
    return VBS_OK;
}

/* Turns a branch into its only layer, or into a subchain of several items. */
static enum vbs_status fold_branch(struct fold *fold, const struct vbs_chain *branch,
                                   struct vbs_item *item)
{
    if (branch->n_items == 1 && branch->items[0].layer) {
        *item = fold->line->items[fold->at++];
        return VBS_OK;
    }
    item->subchain = vbs_arena_alloc(fold->arena, 1, sizeof *item->subchain);
    return item->subchain ? fold_items(fold, branch, item->subchain) : vbs_no_memory(fold->ctx);
}

static enum vbs_status fold_special(struct fold *fold, const struct vbs_item *special,
                                    struct vbs_item *item)
{
    struct vbs_chain *subchain = vbs_arena_alloc(fold->arena, 1, sizeof *subchain);
    enum vbs_status status =
        subchain ? init_chain(fold, special->n_branches, subchain) : vbs_no_memory(fold->ctx);

    item->subchain = subchain;
    for (int branch = 0; status == VBS_OK && branch < special->n_branches; branch++) {
        status = fold_branch(fold, &special->branches[branch], &subchain->items[branch]);
        subchain->cut_bytes[branch + 1] = fold->line->cut_bytes[fold->at];
    }
    return status;
}

static enum vbs_status fold_items(struct fold *fold, const struct vbs_chain *chain,
                                  struct vbs_chain *folded)
{
    enum vbs_status status = init_chain(fold, chain->n_items, folded);

    if (status != VBS_OK)
        return status;
    for (int i = 0; i < chain->n_items; i++) {
        if (chain->items[i].layer)
            folded->items[i] = fold->line->items[fold->at++];
        else
            status = fold_special(fold, &chain->items[i], &folded->items[i]);
        folded->cut_bytes[i + 1] = fold->line->cut_bytes[fold->at];
        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

enum vbs_status vbs_line_fold(struct vbs_ctx *ctx, struct vbs_arena *arena,
                              const struct vbs_chain *line, const struct vbs_chain *chain,
                              struct vbs_chain *folded)
{
    struct fold fold = {.ctx = ctx, .arena = arena, .line = line};

    return fold_items(&fold, chain, folded);
}
