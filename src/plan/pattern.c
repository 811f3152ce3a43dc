#include "plan/pattern.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

double vbs_clock_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* maps[part][p]: the position of the part's pattern that position p of the lattice belongs to. */
static enum vbs_status add_part(struct vbs_ctx *ctx, struct vbs_guide *guide,
                                const struct vbs_pattern *pattern)
{
    const struct vbs_positions *positions = guide->lattice->positions;
    int *map = vbs_arena_alloc(&guide->arena, (size_t)positions->n, sizeof *map);

    if (!map)
        return vbs_no_memory(ctx);
    if (positions->projected)
        for (int p = 0, i = 0; i < positions->n_original; i++) {
            p = positions->projected[i];
            map[p] = pattern->positions.projected[i];
        }
    else
        memcpy(map, pattern->positions.projected, (size_t)positions->n * sizeof *map);
    for (int k = 1; k <= guide->lattice->task->n_layers; k++)
        if (vbs_layers_have(pattern->layers, k))
            guide->part_of[k] = guide->n_parts;
    guide->patterns[guide->n_parts] = pattern;
    guide->maps[guide->n_parts++] = map;
    return VBS_OK;
}

static bool is_within(const uint64_t *some, const uint64_t *layers, int n_words)
{
    for (int w = 0; w < n_words; w++)
        if (some[w] & ~layers[w])
            return false;
    return true;
}

enum vbs_status vbs_guide_init(struct vbs_ctx *ctx, struct vbs_guide *guide,
                               const struct vbs_lattice *lattice, const uint64_t *layers,
                               int64_t *const *layer_to_go, const struct vbs_pattern *patterns,
                               int n_patterns)
{
    const struct vbs_task *task = lattice->task;
    enum vbs_status status = VBS_OK;
    struct vbs_arena *arena;

    *guide = (struct vbs_guide){.lattice = lattice, .layer_to_go = layer_to_go};
    arena = &guide->arena;
    guide->patterns = vbs_arena_alloc(arena, (size_t)n_patterns, sizeof(struct vbs_pattern *));
    guide->maps = vbs_arena_alloc(arena, (size_t)n_patterns, sizeof *guide->maps);
    guide->part_of = vbs_arena_alloc(arena, (size_t)task->n_layers + 1, sizeof *guide->part_of);
    guide->scratch = vbs_arena_alloc(arena, (size_t)task->request, sizeof *guide->scratch);
    if (!guide->patterns || !guide->maps || !guide->part_of || !guide->scratch)
        status = vbs_no_memory(ctx);
    for (int k = 1; status == VBS_OK && k <= task->n_layers; k++)
        guide->part_of[k] = vbs_layers_have(layers, k) ? -1 : -2;
    for (int i = 0; status == VBS_OK && i < n_patterns; i++)
        if (is_within(patterns[i].layers, layers, lattice->positions->n_words))
            status = add_part(ctx, guide, &patterns[i]);
    if (status != VBS_OK)
        vbs_guide_clear(guide);
    return status;
}

void vbs_guide_clear(struct vbs_guide *guide)
{
    struct vbs_arena arena = guide->arena;

    vbs_arena_clear(&arena);
    *guide = (struct vbs_guide){0};
}

int64_t vbs_guide_part(const struct vbs_guide *guide, int part, const uint16_t *state)
{
    const struct vbs_pattern *pattern = guide->patterns[part];
    const int *map = guide->maps[part];
    int index;

    for (int s = 0; s < guide->lattice->task->request; s++)
        guide->scratch[s] = (uint16_t)map[state[s]];
    index = vbs_states_find(&pattern->states, guide->scratch);
    return index >= 0 ? pattern->togo[index] : VBS_NEVER_TICKS;
}

int64_t vbs_guide_start(const struct vbs_guide *guide)
{
    int64_t ticks = 0;

    for (int part = 0; part < guide->n_parts; part++)
        ticks += guide->patterns[part]->start_ticks;
    for (int k = 1; k <= guide->lattice->task->n_layers; k++)
        if (guide->part_of[k] == -1)
            ticks += guide->layer_to_go[k - 1][0];
    return ticks < VBS_NEVER_TICKS ? ticks : VBS_NEVER_TICKS;
}

/* A build under way: states by their progress, so that each is final when its turn comes. */
struct build {
    struct vbs_ctx *ctx;
    struct vbs_lattice lattice; /* the projection */
    struct vbs_guide guide;
    struct vbs_pattern *pattern;
    const struct vbs_pattern_limits *limits;
    int capacity;
    int64_t *estimate;    /* [capacity] ticks to go by the guide */
    int32_t *next;        /* [capacity] of the same progress */
    int32_t *by_progress; /* [n_layers * request + 1] first state, -1: none */
    int64_t *parts;       /* [guide.n_parts] of the state at hand */
    uint16_t *scratch;    /* [2 * request] */
    int from, progress;   /* of the state at hand */
    int64_t best;
};

/* Arrays beside the states grow with them. */
static enum vbs_status keep_up(struct build *at)
{
    struct vbs_pattern *pattern = at->pattern;
    size_t capacity = (size_t)pattern->states.capacity;
    int64_t *togo, *estimate;
    int32_t *next;

    if (at->capacity == pattern->states.capacity)
        return VBS_OK;
    togo = realloc(pattern->togo, capacity * sizeof *togo);
    if (togo)
        pattern->togo = togo;
    estimate = realloc(at->estimate, capacity * sizeof *estimate);
    if (estimate)
        at->estimate = estimate;
    next = realloc(at->next, capacity * sizeof *next);
    if (next)
        at->next = next;
    if (!togo || !estimate || !next)
        return vbs_no_memory(at->ctx);
    at->capacity = (int)capacity;
    return VBS_OK;
}

/* The guide's estimate behind an edge: only what the layer belongs to changes. */
static int64_t estimate_behind(const struct build *at, const struct vbs_edge *edge)
{
    int part = at->guide.part_of[edge->layer];
    const int64_t *layer = at->guide.layer_to_go[edge->layer - 1];
    int64_t estimate = at->estimate[at->from];

    if (part >= 0)
        return estimate - at->parts[part] + vbs_guide_part(&at->guide, part, edge->to);
    return estimate - layer[edge->first] + layer[edge->first + edge->batch];
}

static enum vbs_status add_state(struct build *at, const uint16_t *positions, int64_t ticks,
                                 int64_t estimate, int progress)
{
    struct vbs_pattern *pattern = at->pattern;
    int before = pattern->states.n, index;
    enum vbs_status status = vbs_states_add(at->ctx, &pattern->states, positions, &index);

    if (status == VBS_OK)
        status = keep_up(at);
    if (status != VBS_OK)
        return status;
    if (index < before) {
        if (ticks < pattern->togo[index])
            pattern->togo[index] = ticks;
        return VBS_OK;
    }
    pattern->togo[index] = ticks;
    at->estimate[index] = estimate;
    at->next[index] = at->by_progress[progress];
    at->by_progress[progress] = index;
    return VBS_OK;
}

/* Forward: togo holds the least ticks from the start so far. */
static enum vbs_status reach(void *self, const struct vbs_edge *edge)
{
    struct build *at = self;
    int64_t ticks = at->pattern->togo[at->from] + edge->ticks;
    int64_t estimate = estimate_behind(at, edge);

    if (ticks + estimate >= at->limits->below_ticks)
        return VBS_OK;
    return add_state(at, edge->to, ticks, estimate, at->progress + edge->batch);
}

/* Backward: togo of the states behind is final. */
static enum vbs_status look_back(void *self, const struct vbs_edge *edge)
{
    struct build *at = self;
    int index = vbs_states_find(&at->pattern->states, edge->to);

    if (index >= 0 && edge->ticks + at->pattern->togo[index] < at->best)
        at->best = edge->ticks + at->pattern->togo[index];
    return VBS_OK;
}

static enum vbs_status expand(struct build *at, int index, bool forward)
{
    int r = at->lattice.task->request;
    uint16_t *from = at->scratch, *to = from + r;

    if (index % 256 == 0 && vbs_cancelled(at->ctx))
        return vbs_fail(at->ctx, VBS_INTERRUPTED, "interrupted");
    memcpy(from, vbs_states_at(&at->pattern->states, index), (size_t)r * sizeof *from);
    for (int part = 0; forward && part < at->guide.n_parts; part++)
        at->parts[part] = vbs_guide_part(&at->guide, part, from);
    return vbs_lattice_expand(&at->lattice, from, to, forward ? reach : look_back, at);
}

/* A state and the time that a schedule through it takes at least. */
struct promise {
    int64_t ticks;
    int state;
};

static int by_ticks(const void *a, const void *b)
{
    const struct promise *x = a, *y = b;

    if (x->ticks != y->ticks)
        return x->ticks < y->ticks ? -1 : 1;
    return (x->state > y->state) - (x->state < y->state);
}

/* Leaves beam_width states of a progress, those that promise most. */
static enum vbs_status narrow(struct build *at, int progress)
{
    struct promise *promises;
    int n = 0, width = at->limits->beam_width;

    for (int i = at->by_progress[progress]; width > 0 && i >= 0; i = at->next[i])
        n++;
    if (n <= width)
        return VBS_OK;
    promises = malloc((size_t)n * sizeof *promises);
    if (!promises)
        return vbs_no_memory(at->ctx);
    n = 0;
    for (int i = at->by_progress[progress]; i >= 0; i = at->next[i])
        promises[n++] = (struct promise){at->pattern->togo[i] + at->estimate[i], i};
    qsort(promises, (size_t)n, sizeof *promises, by_ticks);
    at->by_progress[progress] = -1;
    for (int p = width - 1; p >= 0; p--) {
        at->next[promises[p].state] = at->by_progress[progress];
        at->by_progress[progress] = promises[p].state;
    }
    for (int p = width; p < n; p++)
        at->pattern->togo[promises[p].state] = VBS_NEVER_TICKS;
    free(promises);
    return VBS_OK;
}

/* *done is false when the limits are reached. */
static enum vbs_status sweep_forward(struct build *at, int last_progress, bool *done)
{
    enum vbs_status status = VBS_OK;
    int turn = 0;

    *done = true;
    for (int progress = 0; status == VBS_OK && progress < last_progress; progress++) {
        status = narrow(at, progress);
        for (int i = at->by_progress[progress]; status == VBS_OK && i >= 0; i = at->next[i]) {
            at->from = i;
            at->progress = progress;
            if (at->pattern->states.n > at->limits->max_states ||
                (turn++ % 64 == 0 && vbs_clock_s() > at->limits->until_s)) {
                *done = false;
                return VBS_OK;
            }
            if (at->pattern->togo[i] + at->estimate[i] < at->limits->below_ticks)
                status = expand(at, i, true);
        }
    }
    return status;
}

static enum vbs_status sweep_backward(struct build *at, int last_progress)
{
    enum vbs_status status = VBS_OK;

    for (int i = at->by_progress[last_progress]; i >= 0; i = at->next[i])
        at->pattern->togo[i] = 0;
    for (int progress = last_progress - 1; status == VBS_OK && progress >= 0; progress--)
        for (int i = at->by_progress[progress]; status == VBS_OK && i >= 0; i = at->next[i]) {
            at->best = VBS_NEVER_TICKS;
            status = expand(at, i, false);
            at->pattern->togo[i] = at->best;
        }
    return status;
}

static enum vbs_status sweep(struct build *at, enum vbs_built *built)
{
    struct vbs_pattern *pattern = at->pattern;
    int r = at->lattice.task->request, last_progress = pattern->n_layers * r;
    int64_t estimate = vbs_guide_start(&at->guide);
    bool done;
    enum vbs_status status;

    pattern->start_ticks = at->limits->below_ticks;
    *built = VBS_BUILT_NONE;
    if (estimate >= at->limits->below_ticks)
        return VBS_OK;
    memset(at->by_progress, 0xff, ((size_t)last_progress + 1) * sizeof *at->by_progress);
    memset(at->scratch, 0, (size_t)r * sizeof *at->scratch);
    status = add_state(at, at->scratch, 0, estimate, 0);
    if (status == VBS_OK)
        status = sweep_forward(at, last_progress, &done);
    if (status != VBS_OK)
        return status;
    if (!done) {
        *built = VBS_BUILT_NOT;
        pattern->start_ticks = estimate;
    } else if (at->by_progress[last_progress] >= 0) {
        *built = VBS_BUILT;
        status = sweep_backward(at, last_progress);
        pattern->start_ticks = pattern->togo[0];
    }
    return status;
}

static enum vbs_status build_init(struct build *at, const struct vbs_lattice *all,
                                  const uint64_t *layers, int64_t *const *layer_to_go,
                                  const struct vbs_pattern *patterns, int n_patterns)
{
    struct vbs_pattern *pattern = at->pattern;
    size_t n_words = (size_t)all->positions->n_words, r = (size_t)all->task->request;
    enum vbs_status status;

    pattern->layers = malloc(n_words * sizeof *layers);
    if (!pattern->layers)
        return vbs_no_memory(at->ctx);
    memcpy(pattern->layers, layers, n_words * sizeof *layers);
    for (size_t w = 0; w < n_words; w++)
        pattern->n_layers += __builtin_popcountll(layers[w]);
    status = vbs_positions_project(at->ctx, all->positions, layers, &pattern->positions);
    if (status == VBS_OK)
        status = vbs_states_init(at->ctx, &pattern->states, all->task->request);
    if (status == VBS_OK)
        status = vbs_guide_init(at->ctx, &at->guide, &at->lattice, layers, layer_to_go, patterns,
                                n_patterns);
    if (status != VBS_OK)
        return status;
    at->by_progress = malloc(((size_t)pattern->n_layers * r + 1) * sizeof *at->by_progress);
    at->parts = malloc(((size_t)at->guide.n_parts + 1) * sizeof *at->parts);
    at->scratch = malloc(2 * r * sizeof *at->scratch);
    return at->by_progress && at->parts && at->scratch ? VBS_OK : vbs_no_memory(at->ctx);
}

enum vbs_status vbs_pattern_build(struct vbs_ctx *ctx, const struct vbs_lattice *all,
                                  const uint64_t *layers, int64_t *const *layer_to_go,
                                  const struct vbs_pattern *patterns, int n_patterns,
                                  const struct vbs_pattern_limits *limits,
                                  struct vbs_pattern *pattern, enum vbs_built *built)
{
    struct build at = {.ctx = ctx, .lattice = *all, .pattern = pattern, .limits = limits};
    enum vbs_status status;

    *pattern = (struct vbs_pattern){0};
    *built = VBS_BUILT_NOT;
    at.lattice.positions = &pattern->positions;
    status = build_init(&at, all, layers, layer_to_go, patterns, n_patterns);
    if (status == VBS_OK)
        status = sweep(&at, built);
    vbs_guide_clear(&at.guide);
    free(at.estimate);
    free(at.next);
    free(at.by_progress);
    free(at.parts);
    free(at.scratch);
    if (status != VBS_OK || *built != VBS_BUILT) {
        int64_t start_ticks = pattern->start_ticks;

        vbs_pattern_clear(pattern);
        pattern->start_ticks = start_ticks;
    }
    return status;
}

void vbs_pattern_clear(struct vbs_pattern *pattern)
{
    free(pattern->layers);
    free(pattern->togo);
    vbs_states_clear(&pattern->states);
    vbs_positions_clear(&pattern->positions);
    *pattern = (struct vbs_pattern){0};
}

/* The step to take from a state: the first that lies on a best schedule. */
struct descent {
    const struct vbs_pattern *pattern;
    int64_t togo;
    struct vbs_edge edge;
    int to; /* -1: not found yet */
};

static enum vbs_status pick(void *self, const struct vbs_edge *edge)
{
    struct descent *at = self;
    int index = at->to < 0 ? vbs_states_find(&at->pattern->states, edge->to) : -1;

    if (index >= 0 && edge->ticks + at->pattern->togo[index] == at->togo) {
        at->edge = *edge;
        at->to = index;
    }
    return VBS_OK;
}

enum vbs_status vbs_pattern_emit(struct vbs_ctx *ctx, const struct vbs_lattice *all,
                                 const struct vbs_pattern *pattern, struct vbs_step_list *steps)
{
    struct vbs_lattice lattice = *all;
    size_t r = (size_t)all->task->request;
    uint16_t *scratch = malloc(2 * r * sizeof *scratch);
    int state = 0, goal = pattern->n_layers * all->task->request, progress = 0;
    enum vbs_status status = scratch ? VBS_OK : vbs_no_memory(ctx);

    lattice.positions = &pattern->positions;
    while (status == VBS_OK && progress < goal) {
        struct descent at = {.pattern = pattern, .togo = pattern->togo[state], .to = -1};

        memcpy(scratch, vbs_states_at(&pattern->states, state), r * sizeof *scratch);
        status = vbs_lattice_expand(&lattice, scratch, scratch + r, pick, &at);
        if (status == VBS_OK)
            status = vbs_step_list_add(ctx, steps, at.edge.layer, at.edge.batch, 0);
        state = at.to;
        progress += at.edge.batch;
    }
    free(scratch);
    return status;
}

size_t vbs_pattern_bytes(const struct vbs_pattern *pattern)
{
    return vbs_states_bytes(&pattern->states) +
           (size_t)pattern->states.capacity * sizeof *pattern->togo +
           pattern->positions.arena.total_bytes;
}
