/*
 * The fastest end of a schedule that has begun. A list of steps leads to a place (the progress of
 * the layers and the weights in memory) and to times: two clocks, and the arrival of each weight.
 * Lists are extended in the order of the least time at which they can end (A*). Of two lists that
 * lead to one place, one whose times are nowhere later is never worse, so that the other is left.
 * All steps of a list that keeps the budget do; so the first list that ends is a fastest one.
 *
 * No planner begins in the middle of a schedule, which hints need, and joint's search of tiny
 * problems also divides layers, which exercises do not. Exercises are so small that
 * hundreds to a few thousand lists suffice.
 */
#include "teach/teach.h"

#include "base/fail.h"
#include "base/grow.h"
#include "base/heap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A list of steps, by its last one. */
struct teach_list {
    struct teach_state state;
    double least_us; /* no schedule that begins with the list ends earlier */
    struct vbs_step step;
    int before; /* the list without the last step, -1: the empty one */
    int next;   /* another list that leads to the same place, -1: none */
};

struct teach_search {
    struct vbs_ctx *ctx;
    const struct vbs_exercise *exercise;
    unsigned residents;
    double limit_us;
    /* The least time that each layer alone needs for its last m samples: [layer][m]. */
    double alone_us[TEACH_LAYERS + 1][TEACH_STEPS];
    struct teach_list *lists;
    int n_lists;
    int64_t lists_capacity;
    int *first;           /* [n_places]: of the lists that lead to a place, -1: none */
    struct vbs_heap heap; /* lists to extend, the one that can end first at the top */
};

static double fastest_us(const struct vbs_profile *profile, int layer, int batch_index)
{
    int n_rows;
    const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, batch_index, &n_rows);
    double best = HUGE_VAL;

    for (int i = 0; i < n_rows; i++)
        best = fmin(best, rows[i].time_us);
    return best;
}

static void sum_alone(struct teach_search *search)
{
    const struct vbs_profile *profile = search->exercise->profile;

    for (int k = 1; k <= profile->n_layers; k++)
        for (int m = 1; m <= search->exercise->request; m++) {
            search->alone_us[k][m] = HUGE_VAL;
            for (int b = 0; b < profile->n_batches && profile->batches[b] <= m; b++)
                search->alone_us[k][m] =
                    fmin(search->alone_us[k][m],
                         fastest_us(profile, k, b) + search->alone_us[k][m - profile->batches[b]]);
        }
}

static size_t n_places(const struct vbs_exercise *exercise)
{
    size_t n = (size_t)1 << (vbs_teach_weighted(exercise) ? exercise->profile->n_layers : 0);

    for (int k = 1; k <= exercise->profile->n_layers; k++)
        n *= (size_t)exercise->request + 1;
    return n;
}

static size_t place_of(const struct vbs_exercise *exercise, const struct teach_state *state)
{
    size_t place = state->loaded;

    for (int k = 1; k <= exercise->profile->n_layers; k++)
        place = place * (size_t)(exercise->request + 1) + (size_t)state->done[k];
    return place;
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

static double least_us(const struct teach_search *search, const struct teach_state *state)
{
    double compute_us = state->clock_us;

    for (int k = 1; k <= search->exercise->profile->n_layers; k++)
        compute_us += search->alone_us[k][search->exercise->request - state->done[k]];
    return later(compute_us, state->copy_us);
}

static bool is_end(const struct teach_search *search, const struct teach_state *state)
{
    for (int k = 1; k <= search->exercise->profile->n_layers; k++)
        if (state->done[k] < search->exercise->request)
            return false;
    return (search->residents & ~state->loaded) == 0;
}

/* Gives whether no time of a is later than that of b, as far as steps that follow can tell. */
static bool is_as_good(const struct vbs_exercise *exercise, const struct teach_state *a,
                       const struct teach_state *b)
{
    if (a->clock_us > b->clock_us || a->copy_us > b->copy_us)
        return false;
    for (int k = 1; k <= exercise->profile->n_layers; k++)
        if (a->loaded & 1U << (k - 1) && a->ready_us[k] > later(b->ready_us[k], b->clock_us))
            return false;
    return true;
}

static bool is_before(const void *self, int a, int b)
{
    const struct teach_search *search = self;
    const struct teach_list *first = &search->lists[a], *second = &search->lists[b];

    return first->least_us < second->least_us || (first->least_us == second->least_us && a < b);
}

/* Adds a list, unless another one is as good or it cannot end within the limit. */
static enum vbs_status add(struct teach_search *search, const struct teach_state *state,
                           const struct vbs_step *step, int before)
{
    struct teach_list list = {.state = *state, .before = before};
    size_t place = place_of(search->exercise, state);

    list.least_us = least_us(search, state);
    if (list.least_us > search->limit_us)
        return VBS_OK;
    for (int i = search->first[place]; i >= 0; i = search->lists[i].next)
        if (is_as_good(search->exercise, &search->lists[i].state, state))
            return VBS_OK;
    if (step)
        list.step = *step;
    list.next = search->first[place];
    VBS_TRY(vbs_grow(search->ctx, &search->lists, &search->lists_capacity, search->n_lists + 1,
                     sizeof *search->lists));
    search->lists[search->n_lists] = list;
    search->first[place] = search->n_lists;
    return vbs_heap_push(search->ctx, &search->heap, search->n_lists++);
}

static enum vbs_status extend(struct teach_search *search, int list)
{
    struct vbs_step moves[TEACH_MOVES];
    const struct teach_state from = search->lists[list].state;
    int n = vbs_teach_moves(search->exercise, &from, moves);

    for (int i = 0; i < n; i++) {
        struct teach_state next = from;

        if (vbs_teach_move(search->exercise, &next, &moves[i]))
            VBS_TRY(add(search, &next, &moves[i], list));
    }
    return VBS_OK;
}

/* Fills path with the steps of a list; false where they are too many. */
static bool trace_back(const struct teach_search *search, int list, struct teach_path *path)
{
    int n = 0;

    for (int i = list; search->lists[i].before >= 0; i = search->lists[i].before)
        n++;
    if (n > TEACH_STEPS)
        return false;
    path->n_steps = n;
    for (int i = list; n > 0; i = search->lists[i].before)
        path->steps[--n] = search->lists[i].step;
    return true;
}

static enum vbs_status search_all(struct teach_search *search, const struct teach_state *from,
                                  double *time_us, struct teach_path *path)
{
    *time_us = HUGE_VAL;
    VBS_TRY(add(search, from, NULL, -1));
    while (search->heap.n > 0) {
        int list = vbs_heap_pop(&search->heap);

        VBS_TRY(vbs_check_cancel(search->ctx));
        if (is_end(search, &search->lists[list].state)) {
            *time_us = search->lists[list].least_us;
            if (path && !trace_back(search, list, path))
                return vbs_fail(search->ctx, VBS_LIBRARY, "a fastest schedule has too many steps");
            return VBS_OK;
        }
        VBS_TRY(extend(search, list));
    }
    return VBS_OK;
}

enum vbs_status vbs_teach_finish(struct vbs_ctx *ctx, const struct vbs_exercise *exercise,
                                 const struct teach_state *from, unsigned residents,
                                 double limit_us, double *time_us, struct teach_path *path)
{
    struct teach_search search = {
        .ctx = ctx, .exercise = exercise, .residents = residents, .limit_us = limit_us};
    size_t n = n_places(exercise);
    enum vbs_status status = VBS_OK;

    search.first = malloc(n * sizeof *search.first);
    if (!search.first)
        return vbs_no_memory(ctx);
    memset(search.first, -1, n * sizeof *search.first);
    search.heap = (struct vbs_heap){.comes_before = is_before, .self = &search};
    sum_alone(&search);
    status = search_all(&search, from, time_us, path);
    free(search.first);
    free(search.lists);
    vbs_heap_clear(&search.heap);
    return status;
}

/* Puts the resident loads before the steps of a path. */
static void put_residents(const struct vbs_exercise *exercise, unsigned residents,
                          struct teach_path *path)
{
    struct teach_path whole = {0};

    for (int k = 1; k <= exercise->profile->n_layers; k++)
        if (residents & 1U << (k - 1))
            whole.steps[whole.n_steps++] = vbs_teach_transfer(exercise, VBS_STEP_LOAD, k, true);
    for (int i = 0; i < path->n_steps && whole.n_steps < TEACH_STEPS; i++)
        whole.steps[whole.n_steps++] = path->steps[i];
    *path = whole;
}

enum vbs_status vbs_teach_optimum(struct vbs_ctx *ctx, const struct vbs_exercise *exercise,
                                  double limit_us, double *time_us, struct teach_path *path)
{
    unsigned weighted = vbs_teach_weighted(exercise), residents = 0;
    double best_us = HUGE_VAL;

    do {
        struct teach_state start = {.loaded = residents};
        struct teach_path found = {0};
        double found_us = HUGE_VAL;

        if (vbs_teach_between_bytes(exercise, &start) <= exercise->memory_bytes)
            VBS_TRY(
                vbs_teach_finish(ctx, exercise, &start, residents, limit_us, &found_us, &found));
        if (found_us < best_us) {
            best_us = limit_us = found_us;
            if (path) {
                *path = found;
                put_residents(exercise, residents, path);
            }
        }
        residents = (residents - weighted) & weighted; /* the next set of weights */
    } while (residents != 0);
    *time_us = best_us;
    return VBS_OK;
}
