#include "plan/search/state_search.h"
#include "plan/search/clock.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

/* A search under way. */
struct state_search {
    struct vbs_ctx *ctx;
    const struct vbs_heuristic *heuristic;
    struct vbs_state_search *search;
    const struct vbs_search_limits *limits;
    const uint16_t *goal; /* null: all samples done */
    int capacity;
    int64_t *estimate;    /* [capacity] ticks to the goal by the heuristic */
    int32_t *next;        /* [capacity] the next state of the same progress */
    int32_t *by_progress; /* [last_progress + 1] first state, -1: none; the start has progress 0 */
    int last_progress;
    int64_t *database_ticks; /* [n_databases] of the state that is expanded */
    uint16_t *scratch;       /* [2 * request] */
    int from, progress;      /* of the state that is expanded */
    int64_t best;
};

/* Grows the arrays beside the states with them. */
static enum vbs_status keep_up(struct state_search *at)
{
    struct vbs_state_search *search = at->search;
    size_t capacity = (size_t)search->states.capacity;
    int64_t *togo, *estimate;
    int32_t *next;

    if (at->capacity == search->states.capacity)
        return VBS_OK;
    togo = realloc(search->togo, capacity * sizeof *togo);
    if (togo)
        search->togo = togo;
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

/* Gives the heuristic's estimate after an edge. Only the bound of the database, or of the layer, to
 * which the step belongs changes. */
static int64_t estimate_behind(const struct state_search *at, const struct vbs_edge *edge)
{
    int which = at->heuristic->database_of[edge->layer];
    const int64_t *layer = at->heuristic->layer_to_go[edge->layer - 1];
    int64_t estimate = at->estimate[at->from];

    if (which >= 0)
        return estimate - at->database_ticks[which] +
               vbs_heuristic_database_ticks(at->heuristic, which, edge->to);
    return estimate - layer[edge->first] + layer[edge->first + edge->batch];
}

static enum vbs_status add_state(struct state_search *at, const uint16_t *ideals, int64_t ticks,
                                 int64_t estimate, int progress)
{
    struct vbs_state_search *search = at->search;
    int before = search->states.n, index;

    VBS_TRY(vbs_states_add(at->ctx, &search->states, ideals, &index));
    VBS_TRY(keep_up(at));
    if (index < before) {
        if (ticks < search->togo[index])
            search->togo[index] = ticks;
        return VBS_OK;
    }
    search->togo[index] = ticks;
    at->estimate[index] = estimate;
    at->next[index] = at->by_progress[progress];
    at->by_progress[progress] = index;
    return VBS_OK;
}

/* Gives whether the state after an edge is not beyond the goal: the goal includes what the edge
 * does. */
static bool is_before_goal(const struct state_search *at, const struct vbs_edge *edge)
{
    int last = edge->first + edge->batch - 1;

    return !at->goal ||
           vbs_order_ideal_has(at->heuristic->lattice->ideals, at->goal[last], edge->layer);
}

/* Forward pass: adds the state after an edge. togo holds the least ticks from the start so far. */
static enum vbs_status reach(void *self, const struct vbs_edge *edge)
{
    struct state_search *at = self;
    int64_t ticks = at->search->togo[at->from] + edge->ticks;
    int64_t estimate = estimate_behind(at, edge);

    if (ticks + estimate >= at->limits->below_ticks || !is_before_goal(at, edge))
        return VBS_OK;
    return add_state(at, edge->to, ticks, estimate, at->progress + edge->batch);
}

/* Backward pass: improves the best time to the goal over an edge. togo of the states behind is
 * final. */
static enum vbs_status look_back(void *self, const struct vbs_edge *edge)
{
    struct state_search *at = self;
    int index = vbs_states_find(&at->search->states, edge->to);

    if (index >= 0 && edge->ticks + at->search->togo[index] < at->best)
        at->best = edge->ticks + at->search->togo[index];
    return VBS_OK;
}

static enum vbs_status expand(struct state_search *at, int index, bool forward)
{
    int r = at->heuristic->lattice->task->request;
    uint16_t *from = at->scratch, *to = from + r;

    if (index % 256 == 0 && vbs_cancelled(at->ctx))
        return vbs_fail(at->ctx, VBS_INTERRUPTED, "interrupted");
    if (forward)
        vbs_search_count(at->heuristic->lattice->task);
    memcpy(from, vbs_states_at(&at->search->states, index), (size_t)r * sizeof *from);
    for (int which = 0; forward && which < at->heuristic->n_databases; which++)
        at->database_ticks[which] = vbs_heuristic_database_ticks(at->heuristic, which, from);
    return vbs_lattice_expand(at->heuristic->lattice, from, to, forward ? reach : look_back, at);
}

/* A state and the least time that a schedule through it can take. */
struct promise {
    int64_t ticks; /* -1: the state is to be kept */
    int state;
};

static int by_ticks(const void *a, const void *b)
{
    const struct promise *x = a, *y = b;

    if (x->ticks != y->ticks)
        return x->ticks < y->ticks ? -1 : 1;
    return (x->state > y->state) - (x->state < y->state);
}

static int64_t promise_of(const struct state_search *at, int state)
{
    const uint16_t *ideals = vbs_states_at(&at->search->states, state);

    if (vbs_states_find(at->limits->kept, ideals) >= 0)
        return -1;
    return at->search->togo[state] + at->estimate[state];
}

/* Leaves beam_width states of a progress: those to be kept, and those with the least times. */
static enum vbs_status narrow(struct state_search *at, int progress)
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
        at->search->togo[promises[p].state] = VBS_NEVER_TICKS;
    free(promises);
    return VBS_OK;
}

static bool is_late(const struct state_search *at)
{
    const struct vbs_task *task = at->heuristic->lattice->task;

    vbs_search_report(task);
    return vbs_search_now(task) > at->limits->until;
}

/* Expands all states in the order of their progress. *done is false when a limit is reached. */
static enum vbs_status search_forward(struct state_search *at, bool *done)
{
    int turn = 0;

    *done = true;
    for (int progress = 0; progress < at->last_progress; progress++) {
        VBS_TRY(narrow(at, progress));
        for (int i = at->by_progress[progress]; i >= 0; i = at->next[i]) {
            at->from = i;
            at->progress = progress;
            if (at->search->states.n > at->limits->max_states ||
                (turn++ % 64 == 0 && is_late(at))) {
                *done = false;
                return VBS_OK;
            }
            if (at->search->togo[i] + at->estimate[i] < at->limits->below_ticks)
                VBS_TRY(expand(at, i, true));
        }
    }
    return VBS_OK;
}

/* Computes the least time to the goal of all states, in the opposite order. */
static enum vbs_status search_backward(struct state_search *at, bool *done)
{
    enum vbs_status status = VBS_OK;
    int turn = 0;

    *done = true;
    for (int i = at->by_progress[at->last_progress]; i >= 0; i = at->next[i])
        at->search->togo[i] = 0;
    for (int progress = at->last_progress - 1; progress >= 0; progress--)
        for (int i = at->by_progress[progress]; i >= 0; i = at->next[i]) {
            if (turn++ % 64 == 0 && is_late(at)) {
                *done = false;
                return VBS_OK;
            }
            at->best = VBS_NEVER_TICKS;
            status = expand(at, i, false);
            at->search->togo[i] = at->best;
            if (status != VBS_OK)
                return status;
        }
    return VBS_OK;
}

/* Sums the layers done over the samples of a state; null: of the state in which all are done. */
static int progress_of(const struct vbs_lattice *lattice, const uint16_t *state)
{
    int progress = 0;

    for (int s = 0; s < lattice->task->request; s++)
        progress += lattice->ideals->n_done[state ? state[s] : lattice->ideals->n - 1];
    return progress;
}

static enum vbs_status state_search_init(struct state_search *at, const uint16_t *start)
{
    const struct vbs_lattice *lattice = at->heuristic->lattice;
    size_t r = (size_t)lattice->task->request;

    at->scratch = calloc(2 * r, sizeof *at->scratch);
    at->database_ticks =
        malloc(((size_t)at->heuristic->n_databases + 1) * sizeof *at->database_ticks);
    if (!at->scratch || !at->database_ticks)
        return vbs_no_memory(at->ctx);
    if (start)
        memcpy(at->scratch, start, r * sizeof *start);
    at->last_progress = progress_of(lattice, at->goal) - progress_of(lattice, at->scratch);
    at->by_progress = malloc(((size_t)at->last_progress + 1) * sizeof *at->by_progress);
    if (!at->by_progress)
        return vbs_no_memory(at->ctx);
    memset(at->by_progress, 0xff, ((size_t)at->last_progress + 1) * sizeof *at->by_progress);
    return vbs_states_init(at->ctx, &at->search->states, lattice->task->request);
}

static enum vbs_status search_both_ways(struct state_search *at, enum vbs_found *found)
{
    struct vbs_state_search *search = at->search;
    int64_t estimate = vbs_heuristic_ticks(at->heuristic, at->scratch);
    bool done;
    enum vbs_status status;

    search->start_ticks = at->limits->below_ticks;
    *found = VBS_FOUND_NONE;
    if (estimate >= at->limits->below_ticks)
        return VBS_OK;
    VBS_TRY(add_state(at, at->scratch, 0, estimate, 0));
    status = search_forward(at, &done);
    if (status != VBS_OK)
        return status;
    if (!done) {
        *found = VBS_FOUND_OUT;
        search->start_ticks = estimate;
    } else if (at->by_progress[at->last_progress] >= 0) {
        search->goal = at->by_progress[at->last_progress];
        status = search_backward(at, &done);
        *found = done ? VBS_FOUND : VBS_FOUND_OUT;
        search->start_ticks = done ? search->togo[0] : estimate;
    }
    return status;
}

enum vbs_status vbs_search_run(struct vbs_ctx *ctx, const struct vbs_heuristic *heuristic,
                               const uint16_t *start, const uint16_t *goal,
                               const struct vbs_search_limits *limits,
                               struct vbs_state_search *search, enum vbs_found *found)
{
    struct state_search at = {
        .ctx = ctx, .heuristic = heuristic, .search = search, .limits = limits, .goal = goal};
    enum vbs_status status;

    *search = (struct vbs_state_search){0};
    *found = VBS_FOUND_OUT;
    status = state_search_init(&at, start);
    if (status == VBS_OK)
        status = search_both_ways(&at, found);
    free(at.estimate);
    free(at.next);
    free(at.by_progress);
    free(at.database_ticks);
    free(at.scratch);
    if (status != VBS_OK || *found != VBS_FOUND) {
        int64_t start_ticks = search->start_ticks;

        vbs_search_clear(search);
        search->start_ticks = start_ticks;
    }
    return status;
}

void vbs_search_clear(struct vbs_state_search *search)
{
    free(search->togo);
    vbs_states_clear(&search->states);
    *search = (struct vbs_state_search){0};
}

/* A search for the step to take from a state: the first that lies on a best path. */
struct descent {
    const struct vbs_state_search *search;
    int64_t togo;
    struct vbs_edge edge;
    int to; /* -1: not found yet */
};

static enum vbs_status pick(void *self, const struct vbs_edge *edge)
{
    struct descent *at = self;
    int index = at->to < 0 ? vbs_states_find(&at->search->states, edge->to) : -1;

    if (index >= 0 && edge->ticks + at->search->togo[index] == at->togo) {
        at->edge = *edge;
        at->to = index;
    }
    return VBS_OK;
}

enum vbs_status vbs_search_emit(struct vbs_ctx *ctx, const struct vbs_lattice *lattice,
                                const struct vbs_state_search *search, struct vbs_step_list *steps)
{
    size_t r = (size_t)lattice->task->request;
    uint16_t *scratch = malloc(2 * r * sizeof *scratch);
    int state = 0;
    enum vbs_status status = scratch ? VBS_OK : vbs_no_memory(ctx);

    while (status == VBS_OK && state != search->goal) {
        struct descent at = {.search = search, .togo = search->togo[state], .to = -1};

        memcpy(scratch, vbs_states_at(&search->states, state), r * sizeof *scratch);
        status = vbs_lattice_expand(lattice, scratch, scratch + r, pick, &at);
        if (status == VBS_OK)
            status = vbs_step_list_add(ctx, steps, at.edge.layer, at.edge.batch, 0);
        state = at.to;
    }
    free(scratch);
    return status;
}

size_t vbs_search_bytes(const struct vbs_state_search *search)
{
    return vbs_states_bytes(&search->states) +
           (size_t)search->states.capacity * sizeof *search->togo;
}
