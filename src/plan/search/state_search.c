#include "plan/search/state_search.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

/* A sweep under way. */
struct run {
    struct vbs_ctx *ctx;
    const struct vbs_guide *guide;
    struct vbs_sweep *sweep;
    const struct vbs_sweep_limits *limits;
    const uint16_t *goal; /* null: all done */
    int capacity;
    int64_t *estimate;    /* [capacity] ticks to go by the guide */
    int32_t *next;        /* [capacity] of the same progress */
    int32_t *by_progress; /* [last_progress + 1] first state, -1: none; the start has progress 0 */
    int last_progress;
    int64_t *parts;     /* [guide->n_parts] of the state at hand */
    uint16_t *scratch;  /* [2 * request] */
    int from, progress; /* of the state at hand */
    int64_t best;
};

/* Arrays beside the states grow with them. */
static enum vbs_status keep_up(struct run *at)
{
    struct vbs_sweep *sweep = at->sweep;
    size_t capacity = (size_t)sweep->states.capacity;
    int64_t *togo, *estimate;
    int32_t *next;

    if (at->capacity == sweep->states.capacity)
        return VBS_OK;
    togo = realloc(sweep->togo, capacity * sizeof *togo);
    if (togo)
        sweep->togo = togo;
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
static int64_t estimate_behind(const struct run *at, const struct vbs_edge *edge)
{
    int part = at->guide->part_of[edge->layer];
    const int64_t *layer = at->guide->layer_to_go[edge->layer - 1];
    int64_t estimate = at->estimate[at->from];

    if (part >= 0)
        return estimate - at->parts[part] + vbs_guide_part(at->guide, part, edge->to);
    return estimate - layer[edge->first] + layer[edge->first + edge->batch];
}

static enum vbs_status add_state(struct run *at, const uint16_t *positions, int64_t ticks,
                                 int64_t estimate, int progress)
{
    struct vbs_sweep *sweep = at->sweep;
    int before = sweep->states.n, index;
    enum vbs_status status = vbs_states_add(at->ctx, &sweep->states, positions, &index);

    if (status == VBS_OK)
        status = keep_up(at);
    if (status != VBS_OK)
        return status;
    if (index < before) {
        if (ticks < sweep->togo[index])
            sweep->togo[index] = ticks;
        return VBS_OK;
    }
    sweep->togo[index] = ticks;
    at->estimate[index] = estimate;
    at->next[index] = at->by_progress[progress];
    at->by_progress[progress] = index;
    return VBS_OK;
}

/* True when the goal has done what the edge does. */
static bool is_before_goal(const struct run *at, const struct vbs_edge *edge)
{
    int last = edge->first + edge->batch - 1;

    return !at->goal ||
           vbs_position_done(at->guide->lattice->positions, at->goal[last], edge->layer);
}

/* Forward: togo holds the least ticks from the start so far. */
static enum vbs_status reach(void *self, const struct vbs_edge *edge)
{
    struct run *at = self;
    int64_t ticks = at->sweep->togo[at->from] + edge->ticks;
    int64_t estimate = estimate_behind(at, edge);

    if (ticks + estimate >= at->limits->below_ticks || !is_before_goal(at, edge))
        return VBS_OK;
    return add_state(at, edge->to, ticks, estimate, at->progress + edge->batch);
}

/* Backward: togo of the states behind is final. */
static enum vbs_status look_back(void *self, const struct vbs_edge *edge)
{
    struct run *at = self;
    int index = vbs_states_find(&at->sweep->states, edge->to);

    if (index >= 0 && edge->ticks + at->sweep->togo[index] < at->best)
        at->best = edge->ticks + at->sweep->togo[index];
    return VBS_OK;
}

static enum vbs_status expand(struct run *at, int index, bool forward)
{
    int r = at->guide->lattice->task->request;
    uint16_t *from = at->scratch, *to = from + r;

    if (index % 256 == 0 && vbs_cancelled(at->ctx))
        return vbs_fail(at->ctx, VBS_INTERRUPTED, "interrupted");
    memcpy(from, vbs_states_at(&at->sweep->states, index), (size_t)r * sizeof *from);
    for (int part = 0; forward && part < at->guide->n_parts; part++)
        at->parts[part] = vbs_guide_part(at->guide, part, from);
    return vbs_lattice_expand(at->guide->lattice, from, to, forward ? reach : look_back, at);
}

/* A state and the time that a schedule through it takes at least. */
struct promise {
    int64_t ticks; /* -1: to be kept */
    int state;
};

static int by_ticks(const void *a, const void *b)
{
    const struct promise *x = a, *y = b;

    if (x->ticks != y->ticks)
        return x->ticks < y->ticks ? -1 : 1;
    return (x->state > y->state) - (x->state < y->state);
}

static int64_t promise_of(const struct run *at, int state)
{
    const uint16_t *positions = vbs_states_at(&at->sweep->states, state);

    if (vbs_states_find(at->limits->kept, positions) >= 0)
        return -1;
    return at->sweep->togo[state] + at->estimate[state];
}

/* Leaves beam_width states of a progress, those that are kept and those that promise most. */
static enum vbs_status narrow(struct run *at, int progress)
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
        promises[n++] = (struct promise){promise_of(at, i), i};
    qsort(promises, (size_t)n, sizeof *promises, by_ticks);
    at->by_progress[progress] = -1;
    for (int p = width - 1; p >= 0; p--) {
        at->next[promises[p].state] = at->by_progress[progress];
        at->by_progress[progress] = promises[p].state;
    }
    for (int p = width; p < n; p++)
        at->sweep->togo[promises[p].state] = VBS_NEVER_TICKS;
    free(promises);
    return VBS_OK;
}

/* *done is false when the limits are reached. */
static enum vbs_status sweep_forward(struct run *at, bool *done)
{
    enum vbs_status status = VBS_OK;
    int turn = 0;

    *done = true;
    for (int progress = 0; status == VBS_OK && progress < at->last_progress; progress++) {
        status = narrow(at, progress);
        for (int i = at->by_progress[progress]; status == VBS_OK && i >= 0; i = at->next[i]) {
            at->from = i;
            at->progress = progress;
            if (at->sweep->states.n > at->limits->max_states ||
                (turn++ % 64 == 0 && vbs_clock_s() > at->limits->until_s)) {
                *done = false;
                return VBS_OK;
            }
            if (at->sweep->togo[i] + at->estimate[i] < at->limits->below_ticks)
                status = expand(at, i, true);
        }
    }
    return status;
}

static enum vbs_status sweep_backward(struct run *at)
{
    enum vbs_status status = VBS_OK;

    for (int i = at->by_progress[at->last_progress]; i >= 0; i = at->next[i])
        at->sweep->togo[i] = 0;
    for (int progress = at->last_progress - 1; status == VBS_OK && progress >= 0; progress--)
        for (int i = at->by_progress[progress]; status == VBS_OK && i >= 0; i = at->next[i]) {
            at->best = VBS_NEVER_TICKS;
            status = expand(at, i, false);
            at->sweep->togo[i] = at->best;
        }
    return status;
}

/* Layers done by all samples of a state together; null: the last position throughout. */
static int progress_of(const struct vbs_lattice *lattice, const uint16_t *state)
{
    int progress = 0;

    for (int s = 0; s < lattice->task->request; s++)
        progress += lattice->positions->n_done[state ? state[s] : lattice->positions->n - 1];
    return progress;
}

static enum vbs_status run_init(struct run *at, const uint16_t *start)
{
    const struct vbs_lattice *lattice = at->guide->lattice;
    size_t r = (size_t)lattice->task->request;

    at->scratch = calloc(2 * r, sizeof *at->scratch);
    at->parts = malloc(((size_t)at->guide->n_parts + 1) * sizeof *at->parts);
    if (!at->scratch || !at->parts)
        return vbs_no_memory(at->ctx);
    if (start)
        memcpy(at->scratch, start, r * sizeof *start);
    at->last_progress = progress_of(lattice, at->goal) - progress_of(lattice, at->scratch);
    at->by_progress = malloc(((size_t)at->last_progress + 1) * sizeof *at->by_progress);
    if (!at->by_progress)
        return vbs_no_memory(at->ctx);
    memset(at->by_progress, 0xff, ((size_t)at->last_progress + 1) * sizeof *at->by_progress);
    return vbs_states_init(at->ctx, &at->sweep->states, lattice->task->request);
}

static enum vbs_status run(struct run *at, enum vbs_found *found)
{
    struct vbs_sweep *sweep = at->sweep;
    int64_t estimate = vbs_guide_ticks(at->guide, at->scratch);
    bool done;
    enum vbs_status status;

    sweep->start_ticks = at->limits->below_ticks;
    *found = VBS_FOUND_NONE;
    if (estimate >= at->limits->below_ticks)
        return VBS_OK;
    status = add_state(at, at->scratch, 0, estimate, 0);
    if (status == VBS_OK)
        status = sweep_forward(at, &done);
    if (status != VBS_OK)
        return status;
    if (!done) {
        *found = VBS_FOUND_OUT;
        sweep->start_ticks = estimate;
    } else if (at->by_progress[at->last_progress] >= 0) {
        *found = VBS_FOUND;
        sweep->goal = at->by_progress[at->last_progress];
        status = sweep_backward(at);
        sweep->start_ticks = sweep->togo[0];
    }
    return status;
}

enum vbs_status vbs_sweep_run(struct vbs_ctx *ctx, const struct vbs_guide *guide,
                              const uint16_t *start, const uint16_t *goal,
                              const struct vbs_sweep_limits *limits, struct vbs_sweep *sweep,
                              enum vbs_found *found)
{
    struct run at = {.ctx = ctx, .guide = guide, .sweep = sweep, .limits = limits, .goal = goal};
    enum vbs_status status;

    *sweep = (struct vbs_sweep){0};
    *found = VBS_FOUND_OUT;
    status = run_init(&at, start);
    if (status == VBS_OK)
        status = run(&at, found);
    free(at.estimate);
    free(at.next);
    free(at.by_progress);
    free(at.parts);
    free(at.scratch);
    if (status != VBS_OK || *found != VBS_FOUND) {
        int64_t start_ticks = sweep->start_ticks;

        vbs_sweep_clear(sweep);
        sweep->start_ticks = start_ticks;
    }
    return status;
}

void vbs_sweep_clear(struct vbs_sweep *sweep)
{
    free(sweep->togo);
    vbs_states_clear(&sweep->states);
    *sweep = (struct vbs_sweep){0};
}

/* The step to take from a state: the first that lies on a best path. */
struct descent {
    const struct vbs_sweep *sweep;
    int64_t togo;
    struct vbs_edge edge;
    int to; /* -1: not found yet */
};

static enum vbs_status pick(void *self, const struct vbs_edge *edge)
{
    struct descent *at = self;
    int index = at->to < 0 ? vbs_states_find(&at->sweep->states, edge->to) : -1;

    if (index >= 0 && edge->ticks + at->sweep->togo[index] == at->togo) {
        at->edge = *edge;
        at->to = index;
    }
    return VBS_OK;
}

enum vbs_status vbs_sweep_emit(struct vbs_ctx *ctx, const struct vbs_lattice *lattice,
                               const struct vbs_sweep *sweep, struct vbs_step_list *steps)
{
    size_t r = (size_t)lattice->task->request;
    uint16_t *scratch = malloc(2 * r * sizeof *scratch);
    int state = 0;
    enum vbs_status status = scratch ? VBS_OK : vbs_no_memory(ctx);

    while (status == VBS_OK && state != sweep->goal) {
        struct descent at = {.sweep = sweep, .togo = sweep->togo[state], .to = -1};

        memcpy(scratch, vbs_states_at(&sweep->states, state), r * sizeof *scratch);
        status = vbs_lattice_expand(lattice, scratch, scratch + r, pick, &at);
        if (status == VBS_OK)
            status = vbs_step_list_add(ctx, steps, at.edge.layer, at.edge.batch, 0);
        state = at.to;
    }
    free(scratch);
    return status;
}

size_t vbs_sweep_bytes(const struct vbs_sweep *sweep)
{
    return vbs_states_bytes(&sweep->states) + (size_t)sweep->states.capacity * sizeof *sweep->togo;
}
