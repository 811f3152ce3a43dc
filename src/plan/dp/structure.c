#include "plan/dp/dp.h"

#include "base/fail.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * How a set of layers becomes a chain. The layers are put in line by id; between two of them may
 * stand a join, a point without work where several tensors that the same layers read come together
 * (a concat that costs nothing). A node past which no edge leads is a point of the chain. What lies
 * between two such points falls into connected components: several of them, or one beside an edge
 * from point to point, make a special layer; a single one that has neither points nor branches of
 * its own is not series-parallel and stands in the chain layer by layer.
 */

struct node {
    int layer;    /* 0: a join */
    int join;     /* a layer: the position of the join that feeds it, or -1 */
    int exemplar; /* a join: a layer that reads through it */
    int edges_past;
    bool passed; /* some edge leads past it */
};

/* The state shared by all levels of the recursion. */
struct chain_builder {
    struct vbs_ctx *ctx;
    const struct vbs_task *task;
    struct vbs_arena *arena;
    bool *reserved; /* [0..n] set aside by an enclosing special layer */
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

/* Puts the layers in line, each followed by the joins whose latest input it is. */
static void line_up(const struct vbs_task *task, struct level *level)
{
    int n = 0;

    for (int i = 0; i < level->n_layers; i++) {
        int layer = level->layers[i];

        level->position[layer] = n;
        level->nodes[n++] = (struct node){.layer = layer, .join = -1};
        for (int j = i + 1; j < level->n_layers; j++) {
            int reader = level->layers[j];

            if (task->profile->layers[reader].n_inputs >= 2 && level->latest[j] == layer &&
                !read_before(task, level, j) && read_after(task, level, j))
                level->nodes[n++] = (struct node){.exemplar = reader, .join = -1};
        }
    }
    level->n_nodes = n;
    for (int p = 0; p < n; p++)
        for (int q = p + 1; level->nodes[p].layer == 0 && q < n; q++)
            if (level->nodes[q].layer &&
                same_inputs(task, level->nodes[p].exemplar, level->nodes[q].layer))
                level->nodes[q].join = p;
}

/* True when a layer outside the level reads tensor. */
static bool is_read_outside(const struct vbs_task *task, const struct level *level, int tensor)
{
    for (int i = 0; i < task->n_readers[tensor]; i++)
        if (level->position[task->readers[tensor][i]] < 0)
            return true;
    return false;
}

/* Calls edge for each edge of the level, from and to being positions. What a branch reads of its
 * block's input comes from position -1, and what is read behind the block goes to n_nodes. */
static void each_edge(const struct vbs_task *task, const struct level *level,
                      void (*edge)(void *self, int from, int to), void *self)
{
    for (int p = 0; p < level->n_nodes; p++) {
        const struct node *node = &level->nodes[p];
        int layer = node->layer ? node->layer : node->exemplar;
        const struct vbs_profile_layer *l = &task->profile->layers[layer];

        if (node->layer && is_read_outside(task, level, layer))
            edge(self, p, level->n_nodes);
        if (node->join >= 0) {
            edge(self, node->join, p);
            continue;
        }
        for (int i = 0; i < l->n_inputs; i++)
            if (l->inputs[i])
                edge(self, level->position[l->inputs[i]], p);
    }
}

/* A difference array: the sum of edges_past up to p counts the edges that lead past p. */
static void count_passing(void *self, int from, int to)
{
    struct level *level = self;

    level->nodes[from + 1].edges_past++;
    level->nodes[to].edges_past--;
}

static void mark_passed(struct level *level)
{
    int past = 0;

    for (int p = 0; p < level->n_nodes; p++) {
        past += level->nodes[p].edges_past;
        level->nodes[p].passed = past > 0;
    }
}

static int root_of(struct level *level, int p)
{
    while (level->parent[p] != p)
        p = level->parent[p] = level->parent[level->parent[p]];
    return p;
}

/* Joins the components of nodes that are no points of the chain. The lower position is the root. */
static void unite(void *self, int from, int to)
{
    struct level *level = self;
    int a, b;

    if (from < 0 || to == level->n_nodes || !level->nodes[from].passed || !level->nodes[to].passed)
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
    line_up(at->task, level);
    for (int p = 0; p < level->n_nodes; p++)
        level->parent[p] = p;
    each_edge(at->task, level, count_passing, level);
    mark_passed(level);
    each_edge(at->task, level, unite, level);
    return VBS_OK;
}

/* True when tensor takes memory at the cut behind layer bound: made, kept, and read later or final.
 */
static bool live_behind(const struct chain_builder *at, int tensor, int bound)
{
    int last = at->task->last_reader[tensor];

    return tensor <= bound && !at->reserved[tensor] && vbs_task_kept(at->task, tensor) &&
           (last > bound || (last == 0 && tensor != 0));
}

/* Bytes live behind both of two cuts together; bound -1 is no cut. Only tensors of the level (and
 * the network's input) can be live there: all others are set aside. */
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

static struct vbs_item leaf(const struct chain_builder *at, int layer, int64_t cut_bytes)
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

/* Marks tensors as set aside by the special layer that is being built, or takes that back. */
static void set_reserved(struct chain_builder *at, const int *tensors, int n, bool value)
{
    for (int i = 0; i < n; i++)
        at->reserved[tensors[i]] = value;
}

/* A stretch of nodes between two points of the chain. */
struct stretch {
    int from, to;      /* positions, to excluded */
    int before, after; /* highest layer done before and after it */
};

static int count_components(struct level *level, const struct stretch *stretch)
{
    int count = 0;

    for (int p = stretch->from; p < stretch->to; p++) {
        bool has_layer = false;

        if (root_of(level, p) != p)
            continue;
        for (int q = p; q < stretch->to && !has_layer; q++)
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

/* True when an edge leads from the point before a stretch to the point behind it. */
static bool has_edge_beside(const struct vbs_task *task, const struct level *level,
                            const struct stretch *stretch)
{
    struct edge_query query = {.from = stretch->from - 1, .to = stretch->to};

    each_edge(task, level, find_edge, &query);
    return query.found;
}

/* True when the layers of a stretch, one component, have neither points nor branches of their own:
 * what they are part of is not series-parallel. */
static enum vbs_status is_indivisible(struct chain_builder *at, const struct level *level,
                                      const struct stretch *stretch, bool *indivisible)
{
    int *layers = malloc((size_t)(stretch->to - stretch->from) * sizeof *layers);
    struct level inner = {0};
    struct stretch whole = {0};
    enum vbs_status status = VBS_OK;
    int n = 0;

    if (!layers)
        return vbs_no_memory(at->ctx);
    for (int p = stretch->from; p < stretch->to; p++)
        if (level->nodes[p].layer)
            layers[n++] = level->nodes[p].layer;
    status = level_init(at, layers, n, &inner);
    if (status == VBS_OK) {
        *indivisible = true;
        for (int p = 0; p < inner.n_nodes; p++)
            *indivisible = *indivisible && inner.nodes[p].passed;
        whole.to = inner.n_nodes;
        *indivisible = *indivisible && count_components(&inner, &whole) == 1;
    }
    level_clear(&inner);
    free(layers);
    return status;
}

static enum vbs_status build_branches(struct chain_builder *at, struct level *level,
                                      const struct stretch *stretch, struct vbs_item *item)
{
    int *layers = vbs_arena_alloc(at->arena, (size_t)(stretch->to - stretch->from), sizeof *layers);

    if (!layers)
        return vbs_no_memory(at->ctx);
    for (int p = stretch->from; p < stretch->to; p++) {
        enum vbs_status status;
        int n = 0;

        for (int q = p; root_of(level, p) == p && q < stretch->to; q++)
            if (level->nodes[q].layer && root_of(level, q) == p)
                layers[n++] = level->nodes[q].layer;
        if (n == 0)
            continue;
        status = build(at, layers, n, &item->branches[item->n_branches++]);
        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

static enum vbs_status special(struct chain_builder *at, struct level *level,
                               const struct stretch *stretch, int n_components,
                               struct vbs_item *item)
{
    int *aside = vbs_arena_alloc(at->arena, (size_t)level->n_layers + 1, sizeof *aside);
    enum vbs_status status;
    int n = 0;

    *item = (struct vbs_item){0};
    item->step_bytes = live_bytes(at, level, stretch->before, stretch->after);
    item->branches = vbs_arena_alloc(at->arena, (size_t)n_components, sizeof *item->branches);
    if (!aside || !item->branches)
        return vbs_no_memory(at->ctx);
    for (int i = -1; i < level->n_layers; i++) {
        int t = i < 0 ? 0 : level->layers[i];

        /* Branches do not run in the order of their layers, so that none of several can know that
         * it is the last to read the network's input, even where that takes no memory. */
        bool shared_input = t == 0 && n_components > 1 && !at->reserved[0] &&
                            at->task->last_reader[0] > stretch->before;

        if (shared_input || live_behind(at, t, stretch->before) ||
            live_behind(at, t, stretch->after))
            aside[n++] = t;
    }
    set_reserved(at, aside, n, true);
    status = build_branches(at, level, stretch, item);
    set_reserved(at, aside, n, false);
    return status;
}

static void append(struct chain_builder *at, const struct level *level, struct vbs_chain *chain,
                   struct vbs_item item, int bound)
{
    chain->items[chain->n_items++] = item;
    chain->cut_bytes[chain->n_items] = live_bytes(at, level, bound, -1);
}

/* The layers of a stretch one by one, in topological order. */
static void append_layers(struct chain_builder *at, const struct level *level,
                          const struct stretch *stretch, struct vbs_chain *chain)
{
    for (int p = stretch->from; p < stretch->to; p++)
        if (level->nodes[p].layer)
            append(at, level, chain,
                   leaf(at, level->nodes[p].layer, chain->cut_bytes[chain->n_items]),
                   level->nodes[p].layer);
}

static enum vbs_status append_stretch(struct chain_builder *at, struct level *level,
                                      struct stretch *stretch, struct vbs_chain *chain)
{
    int n_components = count_components(level, stretch);
    bool in_a_row = false;
    struct vbs_item item;
    enum vbs_status status = VBS_OK;

    if (n_components == 0)
        return VBS_OK;
    if (n_components == 1) {
        in_a_row = !has_edge_beside(at->task, level, stretch);
        if (!in_a_row)
            status = is_indivisible(at, level, stretch, &in_a_row);
        if (status != VBS_OK)
            return status;
    }
    if (in_a_row) {
        append_layers(at, level, stretch, chain);
        return VBS_OK;
    }
    status = special(at, level, stretch, n_components, &item);
    if (status == VBS_OK)
        append(at, level, chain, item, stretch->after);
    return status;
}

static enum vbs_status build_items(struct chain_builder *at, struct level *level,
                                   struct vbs_chain *chain)
{
    /* Before the level's first layer nothing of the level is done, but the input may be there. */
    int bound = level->layers[0] - 1;

    chain->cut_bytes[0] = live_bytes(at, level, bound, -1);
    for (int p = 0; p < level->n_nodes;) {
        struct stretch stretch = {.from = p, .to = p, .before = bound};
        enum vbs_status status;

        while (stretch.to < level->n_nodes && level->nodes[stretch.to].passed) {
            if (level->nodes[stretch.to].layer)
                bound = level->nodes[stretch.to].layer;
            stretch.to++;
        }
        stretch.after = bound;
        status = append_stretch(at, level, &stretch, chain);
        if (status != VBS_OK)
            return status;
        p = stretch.to;
        if (p < level->n_nodes && level->nodes[p].layer) {
            bound = level->nodes[p].layer;
            append(at, level, chain, leaf(at, bound, chain->cut_bytes[chain->n_items]), bound);
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
