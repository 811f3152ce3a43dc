#include "reference/plan/brute_rows_best.h"

#include "reference/plan/brute_common.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES (BRUTE_ROWS_LAYERS * BRUTE_ROWS_SAMPLES * 4)

struct node {
    unsigned char key[KEY_BYTES];
    struct brute_rows state;
    double time_us;
    bool settled;
};

/* States by their keys, and in a heap by their times. Entries of the heap may be out of date. */
struct search {
    int64_t memory_bytes;
    void *tree;
    int n_states, max_states;
    struct waiting_state {
        double time_us;
        struct node *node;
    } * heap;
    size_t n, capacity;
};

static int compare(const void *a, const void *b)
{
    return memcmp(((const struct node *)a)->key, ((const struct node *)b)->key, KEY_BYTES);
}

static void push(struct search *search, struct node *node)
{
    size_t at = search->n++;

    if (search->n > search->capacity) {
        search->capacity = 2 * search->n;
        search->heap = brute_grow(search->heap, search->capacity, sizeof *search->heap);
    }
    for (; at > 0 && search->heap[(at - 1) / 2].time_us > node->time_us; at = (at - 1) / 2)
        search->heap[at] = search->heap[(at - 1) / 2];
    search->heap[at] = (struct waiting_state){node->time_us, node};
}

static struct waiting_state pop(struct search *search)
{
    struct waiting_state first = search->heap[0], last = search->heap[--search->n];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < search->n && search->heap[child + 1].time_us < search->heap[child].time_us)
            child++;
        if (child >= search->n || search->heap[child].time_us >= last.time_us)
            break;
        search->heap[at] = search->heap[child];
        at = child;
    }
    search->heap[at] = last;
    return first;
}

static int rows_done(const struct brute_sample *sample, int rows)
{
    int n = 0;

    while (n < rows && sample->done[n])
        n++;
    return n;
}

static void make_key(struct node *node)
{
    const struct brute_rows *state = &node->state;
    unsigned char *at = node->key;

    memset(node->key, 0, KEY_BYTES);
    for (int k = 1; k <= state->profile->n_layers; k++)
        for (int s = 0; s < state->request; s++) {
            const struct brute_sample *sample = &state->samples[k][s];

            *at++ = (unsigned char)(sample->begun | sample->complete << 1 | sample->by_rows << 2 |
                                    sample->freed << 3);
            *at++ = (unsigned char)sample->window;
            *at++ = (unsigned char)sample->batch;
            *at++ = (unsigned char)(sample->begun && !sample->complete
                                        ? rows_done(sample, state->profile->layers[k].rows)
                                        : 0);
        }
}

static void reach_state(struct search *search, const struct brute_rows *state, double time_us)
{
    struct node *node = brute_alloc(1, sizeof *node), **found;

    node->state = *state;
    node->time_us = time_us;
    make_key(node);
    found = tsearch(node, &search->tree, compare);
    if (*found != node) {
        free(node);
        node = *found;
        if (node->settled || node->time_us <= time_us)
            return;
        node->time_us = time_us;
    } else {
        search->n_states++;
    }
    push(search, node);
}

/* Gives the time of the fastest row of a step that fits into spare_bytes; HUGE_VAL: none does. */
static double fastest_us(const struct vbs_profile *profile, const struct vbs_step *step,
                         int64_t spare_bytes)
{
    double best = HUGE_VAL;
    int n;

    if (step->rows == 0 || step->rows == profile->layers[step->layer].rows) {
        const struct vbs_profile_row *rows = vbs_profile_rows(
            profile, step->layer, vbs_profile_batch_index(profile, step->batch), &n);

        for (int i = 0; i < n; i++)
            if (rows[i].ws_bytes <= spare_bytes)
                best = fmin(best, rows[i].time_us);
    } else {
        const struct vbs_profile_stripe *stripes = vbs_profile_stripes(profile, step->layer, &n);

        for (int i = 0; i < n; i++)
            if (stripes[i].batch == step->batch && stripes[i].row.rows == step->rows &&
                stripes[i].row.ws_bytes <= spare_bytes)
                best = fmin(best, stripes[i].row.time_us);
    }
    return best;
}

static void try_step(struct search *search, const struct node *from, const struct vbs_step *step)
{
    struct brute_rows state = from->state;
    double time_us;
    int64_t bytes;

    if (!brute_rows_step(&state, step, &bytes))
        return;
    time_us = fastest_us(state.profile, step, search->memory_bytes - bytes);
    if (time_us < HUGE_VAL)
        reach_state(search, &state, from->time_us + time_us);
}

static void try_rows(struct search *search, const struct node *from, struct vbs_step step)
{
    const struct vbs_profile_layer *layer = &from->state.profile->layers[step.layer];
    int first = brute_rows_finished(&from->state, step.layer);
    const struct brute_sample *at = &from->state.samples[step.layer][first];

    step.row = at->begun ? rows_done(at, layer->rows) : 0;
    for (step.rows = 1; step.row + step.rows <= layer->rows; step.rows++)
        for (step.window = 0; step.window <= layer->rows; step.window++)
            if (!at->begun || step.window == at->window)
                try_step(search, from, &step);
}

static void expand(struct search *search, const struct node *from)
{
    const struct vbs_profile *profile = from->state.profile;

    for (int k = 1; k <= profile->n_layers; k++) {
        if (brute_rows_finished(&from->state, k) == from->state.request)
            continue;
        for (int b = 0; b < profile->n_batches; b++) {
            const struct vbs_step step = {.layer = k, .batch = profile->batches[b]};

            try_step(search, from, &step);
            if (profile->layers[k].reaches)
                try_rows(search, from, step);
        }
    }
}

static bool is_goal(const struct brute_rows *state)
{
    for (int k = 1; k <= state->profile->n_layers; k++)
        if (brute_rows_finished(state, k) < state->request)
            return false;
    return true;
}

double brute_rows_best_us(const struct vbs_profile *profile, int request, enum vbs_io io,
                          int64_t memory_bytes, int max_states)
{
    struct search search = {.memory_bytes = memory_bytes, .max_states = max_states};
    struct brute_rows start;
    double best = HUGE_VAL;

    brute_rows_init(&start, profile, request, io);
    reach_state(&search, &start, 0);
    while (search.n > 0 && best == HUGE_VAL) {
        struct waiting_state entry = pop(&search);

        if (entry.node->settled || entry.time_us > entry.node->time_us)
            continue;
        entry.node->settled = true;
        if (is_goal(&entry.node->state))
            best = entry.time_us;
        else if (search.n_states > max_states)
            best = -1;
        else
            expand(&search, entry.node);
    }
    tdestroy(search.tree, free);
    free(search.heap);
    return best;
}
