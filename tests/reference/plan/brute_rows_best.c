#include "reference/plan/brute_rows_best.h"

#include "reference/plan/brute_common.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#define STATE_BYTES (BRUTE_ROWS_LAYERS * BRUTE_ROWS_SAMPLES * 4)
#define KEY_BYTES   (STATE_BYTES + 2)

/* Weights of a layer in a format are one bit of a set. */
#define N_SETS (2 * BRUTE_ROWS_WEIGHTED)

/* The two clocks, and when the weights in memory are loaded. */
struct clocks {
    double compute_us, copy_us, ready_us[N_SETS];
};

struct label {
    struct clocks clocks;
    bool dominated;
    struct node *node;
    struct label *next; /* of the node */
};

struct node {
    unsigned char key[KEY_BYTES];
    struct brute_rows state;
    unsigned loaded, resident; /* sets of weights: in memory, and at the start */
    struct label *labels;
};

/* States by their keys, and their labels in a heap by their times. */
struct search {
    const struct brute_rows_problem *of;
    void *tree;
    int n_labels;
    struct label **heap;
    size_t n, capacity;
};

static int compare(const void *a, const void *b)
{
    return memcmp(((const struct node *)a)->key, ((const struct node *)b)->key, KEY_BYTES);
}

static double end_us(const struct label *label)
{
    return fmax(label->clocks.compute_us, label->clocks.copy_us);
}

static void push(struct search *search, struct label *label)
{
    size_t at = search->n++;

    if (search->n > search->capacity) {
        search->capacity = 2 * search->n;
        search->heap = brute_grow(search->heap, search->capacity, sizeof *search->heap);
    }
    for (; at > 0 && end_us(search->heap[(at - 1) / 2]) > end_us(label); at = (at - 1) / 2)
        search->heap[at] = search->heap[(at - 1) / 2];
    search->heap[at] = label;
}

static struct label *pop(struct search *search)
{
    struct label *first = search->heap[0], *last = search->heap[--search->n];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < search->n && end_us(search->heap[child + 1]) < end_us(search->heap[child]))
            child++;
        if (child >= search->n || end_us(search->heap[child]) >= end_us(last))
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
    *at++ = (unsigned char)node->loaded;
    *at++ = (unsigned char)node->resident;
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

/* ---- labels ---- */

static bool is_no_later(const struct clocks *a, const struct clocks *b)
{
    bool no_later = a->compute_us <= b->compute_us && a->copy_us <= b->copy_us;

    for (int i = 0; i < N_SETS; i++)
        no_later = no_later && a->ready_us[i] <= b->ready_us[i];
    return no_later;
}

/* Reaches a state, which is copied, at these times. */
static void reach_state(struct search *search, const struct node *state,
                        const struct clocks *clocks)
{
    struct node *node = brute_alloc(1, sizeof *node), **found;
    struct label *made;

    *node = *state;
    node->labels = NULL;
    make_key(node);
    found = tsearch(node, &search->tree, compare);
    if (*found != node) {
        free(node);
        node = *found;
    }
    for (const struct label *label = node->labels; label; label = label->next)
        if (is_no_later(&label->clocks, clocks))
            return;
    for (struct label *label = node->labels; label; label = label->next)
        label->dominated = label->dominated || is_no_later(clocks, &label->clocks);
    made = brute_alloc(1, sizeof *made);
    *made = (struct label){.clocks = *clocks, .node = node, .next = node->labels};
    node->labels = made;
    search->n_labels++;
    push(search, made);
}

static void free_node(void *at)
{
    struct node *node = at;

    while (node->labels) {
        struct label *label = node->labels;

        node->labels = label->next;
        free(label);
    }
    free(node);
}

/* ---- weights ---- */

static int set_index(int layer, int format)
{
    return 2 * (layer - 1) + format;
}

static int64_t set_bytes(const struct vbs_profile *profile, int index)
{
    return vbs_profile_format_bytes(profile, index / 2 + 1, index % 2);
}

static bool has_format(const struct vbs_profile *profile, int layer, int format)
{
    int n;
    const struct vbs_profile_stripe *stripes = vbs_profile_stripes(profile, layer, &n);
    bool found = false;

    for (int i = 0; i < n; i++)
        found = found || stripes[i].row.format == format;
    for (int b = 0; b < profile->n_batches; b++) {
        const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, b, &n);

        for (int i = 0; i < n; i++)
            found = found || rows[i].format == format;
    }
    return found;
}

static int64_t loaded_bytes(const struct search *search, const struct node *node)
{
    int64_t bytes = 0;

    for (int i = 0; i < 2 * search->of->profile->n_layers; i++)
        if (node->loaded >> i & 1)
            bytes += set_bytes(search->of->profile, i);
    return bytes;
}

static bool fits_between_steps(const struct search *search, const struct node *node)
{
    return brute_rows_live(&node->state) + loaded_bytes(search, node) <= search->of->memory_bytes;
}

static double copy_us(const struct search *search, int64_t bytes)
{
    const struct vbs_link *link = &search->of->link;

    return link->bytes_per_us > 0 ? link->latency_us + (double)bytes / link->bytes_per_us
                                  : HUGE_VAL;
}

/* Loads or evicts each format of each layer. */
static void try_transfers(struct search *search, const struct label *from)
{
    const struct vbs_profile *profile = search->of->profile;

    for (int i = 0; i < 2 * profile->n_layers; i++) {
        struct node state = *from->node;
        struct clocks clocks = from->clocks;

        if (!has_format(profile, i / 2 + 1, i % 2) || set_bytes(profile, i) == 0)
            continue;
        state.loaded ^= 1U << i;
        if (state.loaded >> i & 1)
            clocks.ready_us[i] = clocks.copy_us =
                fmax(clocks.compute_us, clocks.copy_us) + copy_us(search, set_bytes(profile, i));
        else
            clocks.ready_us[i] = 0;
        if (clocks.copy_us < HUGE_VAL && fits_between_steps(search, &state))
            reach_state(search, &state, &clocks);
    }
}

/* ---- steps ---- */

/* Gives whether the row's weights are in memory, as far as they count. */
static bool are_loaded(const struct search *search, const struct node *node, int layer,
                       const struct vbs_profile_row *row)
{
    return !search->of->weights || row->weight_bytes == 0 ||
           (node->loaded >> set_index(layer, row->format) & 1);
}

/* Runs a step on a row, which leads to the state after. */
static void run_row(struct search *search, const struct label *from, const struct node *after,
                    int layer, const struct vbs_profile_row *row)
{
    struct clocks clocks = from->clocks;

    if (search->of->weights && row->weight_bytes > 0)
        clocks.compute_us = fmax(clocks.compute_us, clocks.ready_us[set_index(layer, row->format)]);
    clocks.compute_us += row->time_us;
    /* What lies behind does not matter any more. */
    for (int i = 0; i < N_SETS; i++)
        if (clocks.ready_us[i] <= clocks.compute_us)
            clocks.ready_us[i] = 0;
    if (clocks.copy_us <= clocks.compute_us)
        clocks.copy_us = 0;
    reach_state(search, after, &clocks);
}

static void try_step(struct search *search, const struct label *from, const struct vbs_step *step)
{
    const struct vbs_profile *profile = search->of->profile;
    struct node after = *from->node;
    bool whole = step->rows == 0 || step->rows == profile->layers[step->layer].rows;
    int64_t bytes, spare;
    int n;

    if (!brute_rows_step(&after.state, step, &bytes))
        return;
    spare = search->of->memory_bytes - bytes;
    if (search->of->weights)
        spare -= loaded_bytes(search, from->node);
    if (whole) {
        const struct vbs_profile_row *rows = vbs_profile_rows(
            profile, step->layer, vbs_profile_batch_index(profile, step->batch), &n);

        for (int i = 0; i < n; i++)
            if (rows[i].ws_bytes <= spare && are_loaded(search, from->node, step->layer, &rows[i]))
                run_row(search, from, &after, step->layer, &rows[i]);
    } else {
        const struct vbs_profile_stripe *stripes = vbs_profile_stripes(profile, step->layer, &n);

        for (int i = 0; i < n; i++)
            if (stripes[i].batch == step->batch && stripes[i].row.rows == step->rows &&
                stripes[i].row.ws_bytes <= spare &&
                are_loaded(search, from->node, step->layer, &stripes[i].row))
                run_row(search, from, &after, step->layer, &stripes[i].row);
    }
}

static void try_rows(struct search *search, const struct label *from, struct vbs_step step)
{
    const struct brute_rows *state = &from->node->state;
    const struct vbs_profile_layer *layer = &state->profile->layers[step.layer];
    int first = brute_rows_finished(state, step.layer);
    const struct brute_sample *at = &state->samples[step.layer][first];

    step.row = at->begun ? rows_done(at, layer->rows) : 0;
    for (step.rows = 1; step.row + step.rows <= layer->rows; step.rows++)
        for (step.window = 0; step.window <= layer->rows; step.window++)
            if (!at->begun || step.window == at->window)
                try_step(search, from, &step);
}

static void expand(struct search *search, const struct label *from)
{
    const struct vbs_profile *profile = search->of->profile;

    if (search->of->weights)
        try_transfers(search, from);
    for (int k = 1; k <= profile->n_layers; k++) {
        if (brute_rows_finished(&from->node->state, k) == search->of->request)
            continue;
        for (int b = 0; b < profile->n_batches; b++) {
            const struct vbs_step step = {.layer = k, .batch = profile->batches[b]};

            try_step(search, from, &step);
            if (profile->layers[k].reaches)
                try_rows(search, from, step);
        }
    }
}

/* ---- the search ---- */

static bool is_goal(const struct search *search, const struct node *node)
{
    for (int k = 1; k <= search->of->profile->n_layers; k++)
        if (brute_rows_finished(&node->state, k) < search->of->request)
            return false;
    return (node->loaded & node->resident) == node->resident;
}

/* Reaches the states at the start: with any weights in memory from the request before. */
static void start(struct search *search)
{
    const struct clocks clocks = {0};
    const struct vbs_profile *profile = search->of->profile;
    unsigned all = search->of->weights ? 1U << 2 * profile->n_layers : 1;
    struct node *node = brute_alloc(1, sizeof *node);

    memset(node, 0, sizeof *node);
    brute_rows_init(&node->state, profile, search->of->request, search->of->io);
    for (unsigned set = 0; set < all; set++) {
        bool exists = true;

        for (int i = 0; i < 2 * profile->n_layers; i++)
            if (set >> i & 1)
                exists = exists && has_format(profile, i / 2 + 1, i % 2) && set_bytes(profile, i);
        node->loaded = node->resident = set;
        if (exists && fits_between_steps(search, node))
            reach_state(search, node, &clocks);
    }
    free(node);
}

double brute_rows_best_us(const struct brute_rows_problem *problem)
{
    struct search search = {.of = problem};
    double best = HUGE_VAL;

    start(&search);
    while (search.n > 0 && best == HUGE_VAL) {
        const struct label *label = pop(&search);

        if (label->dominated)
            continue;
        if (is_goal(&search, label->node))
            best = end_us(label);
        else if (search.n_labels > problem->max_states)
            best = -1;
        else
            expand(&search, label);
    }
    tdestroy(search.tree, free_node);
    free(search.heap);
    return best;
}
