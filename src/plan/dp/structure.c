#include "plan/dp/dp.h"

#include "base/fail.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * Decomposition of a network into series and parallel compositions.
 *
 * A set of layers becomes a chain. Its nodes are the layers in the order of their ids, and
 * junctions: where several layers read the same two or more tensors, a junction without work stands
 * between the tensors and these layers, as a concat without cost would. An edge bypasses a node
 * when it leads from an earlier node to a later one. A node that no edge bypasses composes what
 * precedes it and what follows it in series. The nodes between two such nodes, the source and the
 * sink, fall into connected components. Several components, or one beside an edge from source to
 * sink, are composed in parallel: each component is a branch, and together they are a special layer
 * of VBS. A single component that can be decomposed neither in series nor in parallel is not
 * series-parallel, and its layers stand in the chain one after the other.
 */

struct node {
    int layer;    /* 0: a junction */
    int junction; /* of a layer: the position of the junction through which it reads, or -1 */
    int reader;   /* of a junction: one of the layers that read through it */
    int bypass_change;
    bool bypassed; /* by an edge; else a node of a series composition */
};

/* The state shared by all levels of the recursion. */
struct chain_builder {
    struct vbs_ctx *ctx;
    const struct vbs_task *task;
    struct vbs_arena *arena;
    bool *reserved; /* [0..n] reserved by an enclosing special layer */
};

/* One level: the layers of one chain. */
struct level {
    int n_layers;
    const int *layers; /* ascending */
    int n_nodes;
    struct node *nodes;
    int *position; /* [0..n] of a layer among the nodes; -1: not of this level */
    int *parent;   /* [n_nodes] union-find */
    int *latest;   /* [n_layers] latest input of the level that a layer reads, 0: none */
};

static void level_clear(struct level *level)
{
    free(level->nodes);
    free(level->position);
    free(level->parent);
    free(level->latest);
}

static bool same_inputs(const struct vbs_task *task, int a, int b)
{
    const struct vbs_profile_layer *x = &task->profile->layers[a], *y = &task->profile->layers[b];

    return x->n_inputs == y->n_inputs &&
           memcmp(x->inputs, y->inputs, (size_t)x->n_inputs * sizeof *x->inputs) == 0;
}

static int latest_input(const struct vbs_task *task, const struct level *level, int layer)
{
    const struct vbs_profile_layer *l = &task->profile->layers[layer];
    int latest = 0;

    for (int i = 0; i < l->n_inputs; i++)
        if (l->inputs[i] > latest && level->position[l->inputs[i]] >= 0)
            latest = l->inputs[i];
    return latest;
}

/* True when a layer of the level before layers[at] reads the same several tensors. */
static bool read_before(const struct vbs_task *task, const struct level *level, int at)
{
    for (int i = 0; i < at; i++)
        if (same_inputs(task, level->layers[i], level->layers[at]))
            return true;
    return false;
}

static bool read_after(const struct vbs_task *task, const struct level *level, int at)
{
    for (int i = at + 1; i < level->n_layers; i++)
        if (same_inputs(task, level->layers[i], level->layers[at]))
            return true;
    return false;
}

/* Orders the nodes: the layers by id, each followed by the junctions of which it is the latest
 * input.
 */
static void order_nodes(const struct vbs_task *task, struct level *level)
{
    int n = 0;

    for (int i = 0; i < level->n_layers; i++) {
        int layer = level->layers[i];

        level->position[layer] = n;
        level->nodes[n++] = (struct node){.layer = layer, .junction = -1};
        for (int j = i + 1; j < level->n_layers; j++) {
            int reader = level->layers[j];

            if (task->profile->layers[reader].n_inputs >= 2 && level->latest[j] == layer &&
                !read_before(task, level, j) && read_after(task, level, j))
                level->nodes[n++] = (struct node){.reader = reader, .junction = -1};
        }
    }
    level->n_nodes = n;
    for (int p = 0; p < n; p++)
        for (int q = p + 1; level->nodes[p].layer == 0 && q < n; q++)
            if (level->nodes[q].layer &&
                same_inputs(task, level->nodes[p].reader, level->nodes[q].layer))
                level->nodes[q].junction = p;
}

/* True when a layer outside the level reads tensor. */
static bool is_read_outside(const struct vbs_task *task, const struct level *level, int tensor)
{
    for (int i = 0; i < task->n_readers[tensor]; i++)
        if (level->position[task->readers[tensor][i]] < 0)
            return true;
    return false;
}

/* Calls edge for each edge of the level with the positions of its two nodes. The source of the
 * level has position -1, and the sink has position n_nodes. */
static void each_edge(const struct vbs_task *task, const struct level *level,
                      void (*edge)(void *self, int from, int to), void *self)
{
    for (int p = 0; p < level->n_nodes; p++) {
        const struct node *node = &level->nodes[p];
        int layer = node->layer ? node->layer : node->reader;
        const struct vbs_profile_layer *l = &task->profile->layers[layer];

        if (node->layer && is_read_outside(task, level, layer))
            edge(self, p, level->n_nodes);
        if (node->junction >= 0) {
            edge(self, node->junction, p);
            continue;
        }
        for (int i = 0; i < l->n_inputs; i++)
            if (l->inputs[i])
                edge(self, level->position[l->inputs[i]], p);
    }
}

/* A difference array: the sum of bypass_change up to position p is the number of edges that bypass
 * the node there. */
static void count_bypassing(void *self, int from, int to)
{
    struct level *level = self;

    level->nodes[from + 1].bypass_change++;
    level->nodes[to].bypass_change--;
}

static void mark_bypassed(struct level *level)
{
    int past = 0;

    for (int p = 0; p < level->n_nodes; p++) {
        past += level->nodes[p].bypass_change;
        level->nodes[p].bypassed = past > 0;
    }
}

static int root_of(struct level *level, int p)
{
    while (level->parent[p] != p)
        p = level->parent[p] = level->parent[level->parent[p]];
    return p;
}

/* Merges the components of two bypassed nodes. The lower position is the root. */
static void merge_components(void *self, int from, int to)
{
    struct level *level = self;
    int a, b;

    if (from < 0 || to == level->n_nodes || !level->nodes[from].bypassed ||
        !level->nodes[to].bypassed)
        return;
    a = root_of(level, from);
    b = root_of(level, to);
    level->parent[a < b ? b : a] = a < b ? a : b;
}

static enum vbs_status level_init(struct chain_builder *at, const int *layers, int n_layers,
                                  struct level *level)
{
    size_t n = (size_t)at->task->n_layers;

    *level = (struct level){.n_layers = n_layers, .layers = layers};
    level->nodes = calloc(2 * (size_t)n_layers + 1, sizeof *level->nodes);
    level->parent = calloc(2 * (size_t)n_layers, sizeof *level->parent);
    level->position = malloc((n + 1) * sizeof *level->position);
    level->latest = calloc((size_t)n_layers, sizeof *level->latest);
    if (!level->nodes || !level->parent || !level->position || !level->latest)
        return vbs_no_memory(at->ctx);
    memset(level->position, 0xff, (n + 1) * sizeof *level->position);
    for (int i = 0; i < n_layers; i++)
        level->position[layers[i]] = 0;
    for (int i = 0; i < n_layers; i++)
        level->latest[i] = latest_input(at->task, level, layers[i]);
    order_nodes(at->task, level);
    for (int p = 0; p < level->n_nodes; p++)
        level->parent[p] = p;
    each_edge(at->task, level, count_bypassing, level);
    mark_bypassed(level);
    each_edge(at->task, level, merge_components, level);
    return VBS_OK;
}

/* True when tensor takes memory at the cut behind layer bound: it exists there, lives inside the
 * budget, and is a final output or read by a later layer. */
static bool live_behind(const struct chain_builder *at, int tensor, int bound)
{
    int last = at->task->last_reader[tensor];

    return tensor <= bound && !at->reserved[tensor] && vbs_task_kept(at->task, tensor) &&
           (last > bound || (last == 0 && tensor != 0));
}

/* Bytes of the tensors that are live at one of two cuts or at both; other -1: at one cut only. The
 * tensors of the level and the network's input can be live there: all others are reserved. */
static int64_t live_bytes(const struct chain_builder *at, const struct level *level, int bound,
                          int other)
{
    int64_t bytes = 0;

    if (live_behind(at, 0, bound) || (other >= 0 && live_behind(at, 0, other)))
        bytes += vbs_task_bytes(at->task, 0);
    for (int i = 0; i < level->n_layers; i++) {
        int t = level->layers[i];

        if (live_behind(at, t, bound) || (other >= 0 && live_behind(at, t, other)))
            bytes += vbs_task_bytes(at->task, t);
    }
    return bytes;
}

static struct vbs_item layer_item(const struct chain_builder *at, int layer, int64_t cut_bytes)
{
    const struct vbs_task *task = at->task;
    const struct vbs_profile_layer *l = &task->profile->layers[layer];
    int64_t bytes = cut_bytes, added = at->reserved[layer] ? 0 : l->out_bytes;
    int first = l->inputs[0];

    if (vbs_task_reads_input(task, layer) && !vbs_task_kept(task, 0))
        bytes += vbs_task_bytes(task, 0);
    if (l->in_place && !at->reserved[first] && task->last_reader[first] == layer) {
        added = vbs_task_added(added, vbs_task_bytes(task, first));
    }
    return (struct vbs_item){.layer = layer, .step_bytes = bytes + added};
}

static enum vbs_status build(struct chain_builder *at, const int *layers, int n_layers,
                             struct vbs_chain *chain);

/* Marks tensors as reserved by the special layer that is being built, or removes these marks. */
static void set_reserved(struct chain_builder *at, const int *tensors, int n, bool value)
{
    for (int i = 0; i < n; i++)
        at->reserved[tensors[i]] = value;
}

/* The nodes between a source and a sink, neither of which an edge bypasses. */
struct subgraph {
    int from, to;      /* positions, to excluded */
    int before, after; /* the last layer that is done before it and after it */
};

static int count_components(struct level *level, const struct subgraph *subgraph)
{
    int count = 0;

    for (int p = subgraph->from; p < subgraph->to; p++) {
        bool has_layer = false;

        if (root_of(level, p) != p)
            continue;
        for (int q = p; q < subgraph->to && !has_layer; q++)
            has_layer = level->nodes[q].layer && root_of(level, q) == p;
        count += has_layer;
    }
    return count;
}

struct edge_query {
    int from, to;
    bool found;
};

static void find_edge(void *self, int from, int to)
{
    struct edge_query *query = self;

    query->found |= from == query->from && to == query->to;
}

/* True when an edge leads from the source of a subgraph to its sink. */
static bool has_edge_from_source_to_sink(const struct vbs_task *task, const struct level *level,
                                         const struct subgraph *subgraph)
{
    struct edge_query query = {.from = subgraph->from - 1, .to = subgraph->to};

    each_edge(task, level, find_edge, &query);
    return query.found;
}

/* Whether the layers of a subgraph, which are one component, can be decomposed neither in series
 * nor in parallel. */
static enum vbs_status is_indivisible(struct chain_builder *at, const struct level *level,
                                      const struct subgraph *subgraph, bool *indivisible)
{
    int *layers = malloc((size_t)(subgraph->to - subgraph->from) * sizeof *layers);
    struct level inner = {0};
    struct subgraph whole = {0};
    enum vbs_status status = VBS_OK;
    int n = 0;

    if (!layers)
        return vbs_no_memory(at->ctx);
    for (int p = subgraph->from; p < subgraph->to; p++)
        if (level->nodes[p].layer)
            layers[n++] = level->nodes[p].layer;
    status = level_init(at, layers, n, &inner);
    if (status == VBS_OK) {
        *indivisible = true;
        for (int p = 0; p < inner.n_nodes; p++)
            *indivisible = *indivisible && inner.nodes[p].bypassed;
        whole.to = inner.n_nodes;
        *indivisible = *indivisible && count_components(&inner, &whole) == 1;
    }
    level_clear(&inner);
    free(layers);
    return status;
}

static enum vbs_status build_branches(struct chain_builder *at, struct level *level,
                                      const struct subgraph *subgraph, struct vbs_item *item)
{
    int *layers =
        vbs_arena_alloc(at->arena, (size_t)(subgraph->to - subgraph->from), sizeof *layers);

    if (!layers)
        return vbs_no_memory(at->ctx);
    for (int p = subgraph->from; p < subgraph->to; p++) {
        int n = 0;

        for (int q = p; root_of(level, p) == p && q < subgraph->to; q++)
            if (level->nodes[q].layer && root_of(level, q) == p)
                layers[n++] = level->nodes[q].layer;
        if (n == 0)
            continue;
        VBS_TRY(build(at, layers, n, &item->branches[item->n_branches++]));
    }
    return VBS_OK;
}

static enum vbs_status compose_in_parallel(struct chain_builder *at, struct level *level,
                                           const struct subgraph *subgraph, int n_components,
                                           struct vbs_item *item)
{
    int *reserved = vbs_arena_alloc(at->arena, (size_t)level->n_layers + 1, sizeof *reserved);
    enum vbs_status status;
    int n = 0;

    *item = (struct vbs_item){0};
    item->step_bytes = live_bytes(at, level, subgraph->before, subgraph->after);
    item->branches = vbs_arena_alloc(at->arena, (size_t)n_components, sizeof *item->branches);
    if (!reserved || !item->branches)
        return vbs_no_memory(at->ctx);
    for (int i = -1; i < level->n_layers; i++) {
        int t = i < 0 ? 0 : level->layers[i];

        /* Branches do not run in the order of their layers, so that none of several can know that
         * it is the last to read the network's input, even where that takes no memory. */
        bool shared_input = t == 0 && n_components > 1 && !at->reserved[0] &&
                            at->task->last_reader[0] > subgraph->before;

        if (shared_input || live_behind(at, t, subgraph->before) ||
            live_behind(at, t, subgraph->after))
            reserved[n++] = t;
    }
    set_reserved(at, reserved, n, true);
    status = build_branches(at, level, subgraph, item);
    set_reserved(at, reserved, n, false);
    return status;
}

static void append(struct chain_builder *at, const struct level *level, struct vbs_chain *chain,
                   struct vbs_item item, int bound)
{
    chain->items[chain->n_items++] = item;
    chain->cut_bytes[chain->n_items] = live_bytes(at, level, bound, -1);
}

/* Appends the layers of a subgraph one by one, in topological order. */
static void append_layers(struct chain_builder *at, const struct level *level,
                          const struct subgraph *subgraph, struct vbs_chain *chain)
{
    for (int p = subgraph->from; p < subgraph->to; p++)
        if (level->nodes[p].layer)
            append(at, level, chain,
                   layer_item(at, level->nodes[p].layer, chain->cut_bytes[chain->n_items]),
                   level->nodes[p].layer);
}

static enum vbs_status append_subgraph(struct chain_builder *at, struct level *level,
                                       struct subgraph *subgraph, struct vbs_chain *chain)
{
    int n_components = count_components(level, subgraph);
    bool one_by_one = false;
    struct vbs_item item;

    if (n_components == 0)
        return VBS_OK;
    if (n_components == 1) {
        one_by_one = !has_edge_from_source_to_sink(at->task, level, subgraph);
        if (!one_by_one)
            VBS_TRY(is_indivisible(at, level, subgraph, &one_by_one));
    }
    if (one_by_one) {
        append_layers(at, level, subgraph, chain);
        return VBS_OK;
    }
    VBS_TRY(compose_in_parallel(at, level, subgraph, n_components, &item));
    append(at, level, chain, item, subgraph->after);
    return VBS_OK;
}

static enum vbs_status build_items(struct chain_builder *at, struct level *level,
                                   struct vbs_chain *chain)
{
    /* Before the level's first layer nothing of the level is done, but the input may be there. */
    int bound = level->layers[0] - 1;

    chain->cut_bytes[0] = live_bytes(at, level, bound, -1);
    for (int p = 0; p < level->n_nodes;) {
        struct subgraph subgraph = {.from = p, .to = p, .before = bound};

        while (subgraph.to < level->n_nodes && level->nodes[subgraph.to].bypassed) {
            if (level->nodes[subgraph.to].layer)
                bound = level->nodes[subgraph.to].layer;
            subgraph.to++;
        }
        subgraph.after = bound;
        VBS_TRY(append_subgraph(at, level, &subgraph, chain));
        p = subgraph.to;
        if (p < level->n_nodes && level->nodes[p].layer) {
            bound = level->nodes[p].layer;
            append(at, level, chain, layer_item(at, bound, chain->cut_bytes[chain->n_items]),
                   bound);
        }
        p++;
    }
    return VBS_OK;
}

static enum vbs_status build(struct chain_builder *at, const int *layers, int n_layers,
                             struct vbs_chain *chain)
{
    struct level level = {0};
    enum vbs_status status = vbs_cancelled(at->ctx)
                                 ? vbs_fail(at->ctx, VBS_INTERRUPTED, "interrupted")
                                 : level_init(at, layers, n_layers, &level);

    chain->n_items = 0;
    if (status == VBS_OK) {
        chain->items = vbs_arena_alloc(at->arena, (size_t)n_layers, sizeof *chain->items);
        chain->cut_bytes =
            vbs_arena_alloc(at->arena, (size_t)n_layers + 1, sizeof *chain->cut_bytes);
        status = chain->items && chain->cut_bytes ? build_items(at, &level, chain)
                                                  : vbs_no_memory(at->ctx);
    }
    level_clear(&level);
    return status;
}

enum vbs_status vbs_chain_build(struct vbs_ctx *ctx, const struct vbs_task *task,
                                struct vbs_arena *arena, struct vbs_chain *chain)
{
    struct chain_builder at = {.ctx = ctx, .task = task, .arena = arena};
    int *layers = vbs_arena_alloc(arena, (size_t)task->n_layers, sizeof *layers);

    at.reserved = vbs_arena_alloc(arena, (size_t)task->n_layers + 1, sizeof *at.reserved);
    if (!layers || !at.reserved)
        return vbs_no_memory(ctx);
    for (int i = 0; i < task->n_layers; i++)
        layers[i] = i + 1;
    return build(&at, layers, task->n_layers, chain);
}

int vbs_item_first(const struct vbs_item *item)
{
    while (!item->layer)
        item = item->subchain ? item->subchain->items : item->branches->items;
    return item->layer;
}

int vbs_item_last(const struct vbs_item *item)
{
    while (!item->layer) {
        const struct vbs_chain *chain =
            item->subchain ? item->subchain : &item->branches[item->n_branches - 1];

        item = &chain->items[chain->n_items - 1];
    }
    return item->layer;
}

int vbs_chain_count(const struct vbs_chain *chain, int i, int j)
{
    int n = 0;

    for (int k = i; k <= j; k++) {
        const struct vbs_item *item = &chain->items[k];
        const struct vbs_chain *inside = item->subchain ? item->subchain : item->branches;
        int n_inside = item->subchain ? 1 : item->n_branches;

        n += item->layer != 0;
        for (int c = 0; c < n_inside; c++)
            n += vbs_chain_count(&inside[c], 0, inside[c].n_items - 1);
    }
    return n;
}
