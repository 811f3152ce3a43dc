#include "plan/search/improve.h"
#include "plan/search/clock.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_WINDOW 8   /* steps */
#define LAST_WINDOW  256 /* steps */

/* A schedule as a path: the state before each step, and the one after the last. */
struct path {
    struct vbs_ctx *ctx;
    const struct vbs_lattice *lattice;
    const uint64_t *all_layers;
    const struct vbs_improve_limits *limits;
    struct vbs_step_list *steps;
    int64_t capacity;
    uint16_t *states; /* [capacity + 1][request] */
    int64_t *ticks;   /* [capacity + 1] of each step */
    int64_t **to_go;  /* [n_layers] to the end of a window */
    struct vbs_arena arena;
};

static uint16_t *state_at(const struct path *path, int64_t step)
{
    return path->states + (size_t)step * (size_t)path->lattice->task->request;
}

/* A search for the edge of a step among those out of a state. */
struct edge_search {
    const struct vbs_step *step;
    uint16_t *to;
    size_t bytes;
    int64_t ticks; /* -1: not found */
};

static enum vbs_status look_for(void *self, const struct vbs_edge *edge)
{
    struct edge_search *search = self;

    if (edge->layer != search->step->layer || edge->batch != search->step->batch)
        return VBS_OK;
    search->ticks = edge->ticks;
    memcpy(search->to, edge->to, search->bytes);
    return VBS_OK;
}

/* Recomputes states and ticks from step number from on. */
static enum vbs_status follow(struct path *path, int64_t from)
{
    size_t r = (size_t)path->lattice->task->request;
    uint16_t *scratch = malloc(r * sizeof *scratch);
    enum vbs_status status = scratch ? VBS_OK : vbs_no_memory(path->ctx);

    for (int64_t s = from; status == VBS_OK && s < path->steps->n_steps; s++) {
        struct edge_search search = {.step = &path->steps->steps[s],
                                     .to = state_at(path, s + 1),
                                     .bytes = r * sizeof *scratch,
                                     .ticks = -1};

        status = vbs_lattice_expand(path->lattice, state_at(path, s), scratch, look_for, &search);
        path->ticks[s] = search.ticks;
    }
    free(scratch);
    return status;
}

static enum vbs_status make_room(struct path *path)
{
    size_t n = (size_t)path->steps->n_steps, r = (size_t)path->lattice->task->request;
    uint16_t *states;
    int64_t *ticks;

    if (path->states && path->steps->n_steps <= path->capacity)
        return VBS_OK;
    states = realloc(path->states, (n + 1) * r * sizeof *states);
    if (states)
        path->states = states;
    ticks = realloc(path->ticks, (n + 1) * sizeof *ticks);
    if (ticks)
        path->ticks = ticks;
    if (!states || !ticks)
        return vbs_no_memory(path->ctx);
    path->capacity = (int64_t)n;
    return VBS_OK;
}

/* Replaces the steps from..to-1 by those of window. */
static enum vbs_status replace(struct path *path, int64_t from, int64_t to,
                               const struct vbs_step_list *window)
{
    struct vbs_step_list made = {0};
    const struct vbs_step *steps = path->steps->steps;
    enum vbs_status status = vbs_step_list_copy(path->ctx, steps, from, &made);

    if (status == VBS_OK)
        status = vbs_step_list_copy(path->ctx, window->steps, window->n_steps, &made);
    if (status == VBS_OK)
        status = vbs_step_list_copy(path->ctx, steps + to, path->steps->n_steps - to, &made);
    if (status != VBS_OK) {
        vbs_step_list_clear(&made);
        return status;
    }
    vbs_step_list_clear(path->steps);
    *path->steps = made;
    VBS_TRY(make_room(path));
    return follow(path, from);
}

static int samples_done(const struct path *path, const uint16_t *state, int layer)
{
    int done = 0;

    while (done < path->lattice->task->request &&
           vbs_order_ideal_has(path->lattice->ideals, state[done], layer))
        done++;
    return done;
}

/* Fills the least times of all layers from each of their states to goal. */
static void aim_at(struct path *path, const uint16_t *goal)
{
    const struct vbs_task *task = path->lattice->task;

    for (int k = 1; k <= task->n_layers; k++)
        vbs_task_to_go(task, k, path->lattice->memory_bytes, samples_done(path, goal, k),
                       path->to_go[k - 1]);
}

/* Looks for a shorter path between the states before the steps from and to. */
static enum vbs_status improve_window(struct path *path, int64_t from, int64_t to,
                                      enum vbs_found *found)
{
    struct vbs_search_limits limits = {.max_states = path->limits->max_states,
                                       .until = path->limits->until};
    struct vbs_step_list window = {0};
    struct vbs_heuristic heuristic;
    struct vbs_state_search search;
    enum vbs_status status;

    for (int64_t s = from; s < to; s++)
        limits.below_ticks += path->ticks[s];
    aim_at(path, state_at(path, to));
    VBS_TRY(vbs_heuristic_init(path->ctx, &heuristic, path->lattice, path->all_layers, path->to_go,
                               NULL, 0));
    status = vbs_search_run(path->ctx, &heuristic, state_at(path, from), state_at(path, to),
                            &limits, &search, found);
    vbs_heuristic_clear(&heuristic);
    if (status != VBS_OK || *found != VBS_FOUND)
        return status;
    status = vbs_search_emit(path->ctx, path->lattice, &search, &window);
    if (status == VBS_OK)
        status = replace(path, from, to, &window);
    vbs_step_list_clear(&window);
    vbs_search_clear(&search);
    return status;
}

/* Gives the first step of a pass: 0, or a step up to half a window before it. */
static int64_t first_window(const struct path *path, int length)
{
    uint64_t seed = path->lattice->task->options.seed;

    seed *= 0x9e3779b97f4a7c15;
    return -(int64_t)((seed >> 33) % (uint64_t)(length / 2));
}

/* Improves the path in overlapping windows from its first step to its last. *lost counts the
 * windows whose search was too large. */
static enum vbs_status pass(struct path *path, int length, bool *improved, int *lost, int *tried)
{
    enum vbs_status status = VBS_OK;

    *lost = *tried = 0;
    for (int64_t at = first_window(path, length); status == VBS_OK && at < path->steps->n_steps;
         at += length / 2) {
        int64_t from = at > 0 ? at : 0, to = at + length;
        enum vbs_found found = VBS_FOUND_OUT;

        if (to > path->steps->n_steps)
            to = path->steps->n_steps;
        if (vbs_search_now(path->lattice->task) > path->limits->until)
            break;
        status = improve_window(path, from, to, &found);
        *improved = *improved || found == VBS_FOUND;
        *lost += found == VBS_FOUND_OUT;
        (*tried)++;
    }
    return status;
}

static enum vbs_status path_init(struct path *path)
{
    const struct vbs_task *task = path->lattice->task;

    path->to_go = vbs_arena_alloc(&path->arena, (size_t)task->n_layers, sizeof *path->to_go);
    for (int k = 0; path->to_go && k < task->n_layers; k++) {
        path->to_go[k] =
            vbs_arena_alloc(&path->arena, (size_t)task->request + 1, sizeof **path->to_go);
        if (!path->to_go[k])
            return vbs_no_memory(path->ctx);
    }
    if (!path->to_go)
        return vbs_no_memory(path->ctx);
    VBS_TRY(make_room(path));
    memset(path->states, 0, (size_t)task->request * sizeof *path->states);
    return follow(path, 0);
}

static void path_clear(struct path *path)
{
    free(path->states);
    free(path->ticks);
    vbs_arena_clear(&path->arena);
}

enum vbs_status vbs_improve(struct vbs_ctx *ctx, const struct vbs_lattice *lattice,
                            const uint64_t *all_layers, const struct vbs_improve_limits *limits,
                            struct vbs_step_list *steps, bool *improved)
{
    struct path path = {
        .ctx = ctx, .lattice = lattice, .all_layers = all_layers, .limits = limits, .steps = steps};
    enum vbs_status status = path_init(&path);

    *improved = false;
    for (int length = FIRST_WINDOW; status == VBS_OK && length <= LAST_WINDOW;) {
        bool here = false;
        int lost, tried;

        status = pass(&path, length, &here, &lost, &tried);
        *improved = *improved || here;
        if (vbs_search_now(lattice->task) > limits->until || 2 * lost > tried)
            break;
        if (!here)
            length *= 2;
    }
    path_clear(&path);
    return status;
}

enum vbs_status vbs_path_states(struct vbs_ctx *ctx, const struct vbs_lattice *lattice,
                                struct vbs_step_list *steps, struct vbs_states *states)
{
    struct path path = {.ctx = ctx, .lattice = lattice, .steps = steps};
    enum vbs_status status = vbs_states_init(ctx, states, lattice->task->request);
    int index;

    if (status == VBS_OK)
        status = path_init(&path);
    for (int64_t s = 0; status == VBS_OK && s <= steps->n_steps; s++)
        status = vbs_states_add(ctx, states, state_at(&path, s), &index);
    path_clear(&path);
    return status;
}
