/*
 * Branch and bound with additive pattern databases that are merged step by step.
 *
 * Every layer begins as a group of its own, with the bound of vbs_task_to_go. The two groups that
 * hinder each other most are merged: a search covers the lattice of the layers of both, with the
 * bounds of the two groups as its heuristic. It prunes every state from which, with the bounds of
 * all other groups, no schedule better than the best known one can follow. States are therefore few
 * as long as the bounds are tight. The sum of the bounds of the groups is the lower bound. When one
 * group has all layers its search is exact, and when a search finds no schedule the best known one
 * is proven to be the optimum. Between merges, two methods look for better schedules: beam searches
 * around the best schedule with the same bounds, and shortest paths between two of its states
 * (improve.h).
 *
 * Searches that would expand more than max_states are postponed until no other search is left; then
 * max_states grows. Limit: states of the lattice of k layers of a chain, C(k + r, r).
 */
#include "plan/search/prove.h"
#include "plan/search/clock.h"

#include "base/fail.h"
#include "plan/search/improve.h"
#include "plan/problem/problem.h"
#include "plan/search/pattern_database.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_MAX_STATES 20000
#define MAX_SEARCH_BYTES ((size_t)1 << 30)
/* A merge must close at least this fraction (1/WORTHWHILE) of the gap; else the groups stay small
 * for better merges. */
#define WORTHWHILE 1000
#define FIRST_BEAM 64
/* The share of the time left in which the search finds out which layers hinder each other. */
#define PAIR_SHARE 0.2
/* The share of the time left that goes into a better schedule at the start. */
#define IMPROVE_SHARE 0.2
#define N_SEEDS       12

struct group {
    struct vbs_pattern_database database; /* {0} for a single layer */
    uint64_t *layers;
    int64_t start_ticks;
};

struct prover {
    struct vbs_ctx *ctx;
    struct vbs_lattice lattice;
    const struct vbs_prove_limits *limits;
    struct vbs_proof *proof;
    struct vbs_arena arena;
    int64_t **layer_to_go;
    uint64_t *all_layers;
    int n_groups;
    struct group *groups; /* [n_layers], of which n_groups are left */
    float *hindrance;     /* [n_layers][n_layers] by group: ticks of two together less those of each
                             alone */
    unsigned char *failed;               /* [n_layers][n_layers] by group: 1: postponed */
    struct vbs_pattern_database *others; /* [n_layers] scratch */
    int max_states, most_states;
    int beam_width;
};

static bool is_over(const struct prover *at)
{
    const struct vbs_task *task = at->lattice.task;

    if (task->clock) {
        task->clock->best_ticks = at->proof->best_ticks;
        task->clock->bound_ticks = at->proof->bound_ticks;
    }
    vbs_search_report(task);
    return at->proof->bound_ticks >= at->proof->best_ticks ||
           at->proof->bound_ticks >= at->limits->below_ticks ||
           vbs_search_now(task) > at->limits->until;
}

/* Gives the ticks at and above which schedules do not count. */
static int64_t ceiling(const struct prover *at)
{
    return at->proof->best_ticks < at->limits->below_ticks ? at->proof->best_ticks
                                                           : at->limits->below_ticks;
}

/* Raises the lower bound to ticks, but not above the ceiling: searches leave out schedules that
 * reach the ceiling, so that they prove nothing beyond it, and the optimum of a smaller budget may
 * lie exactly there. */
static void raise_bound(struct prover *at, int64_t ticks)
{
    if (ticks > ceiling(at))
        ticks = ceiling(at);
    if (ticks > at->proof->bound_ticks)
        at->proof->bound_ticks = ticks;
}

static int64_t groups_ticks(const struct prover *at)
{
    int64_t ticks = 0;

    for (int g = 0; g < at->n_groups && ticks < VBS_NEVER_TICKS; g++)
        ticks += at->groups[g].start_ticks;
    return ticks < VBS_NEVER_TICKS ? ticks : VBS_NEVER_TICKS;
}

/* Sets the fastest algorithm that fits for every step, and makes the steps the best schedule when
 * they are better than it. */
static enum vbs_status take_steps(struct prover *at, struct vbs_step_list *steps)
{
    const struct vbs_task *task = at->lattice.task;
    struct vbs_walk walk;
    int64_t ticks = 0;
    enum vbs_status status = vbs_walk_init(at->ctx, &walk, task);

    for (int64_t s = 0; status == VBS_OK && s < steps->n_steps; s++) {
        struct vbs_step *step = &steps->steps[s];
        int64_t base = vbs_walk_step(&walk, step->layer, step->batch);
        const struct vbs_profile_row *row =
            vbs_task_row(task, step->layer, step->batch, base, at->lattice.memory_bytes);

        step->algorithm = row->algorithm;
        ticks += vbs_task_ticks(task, row->time_us);
    }
    vbs_walk_clear(&walk);
    if (status == VBS_OK && ticks < at->proof->best_ticks) {
        struct vbs_step_list swap = at->proof->steps;

        at->proof->steps = *steps;
        at->proof->best_ticks = ticks;
        *steps = swap;
    }
    return status;
}

static void note_bytes(struct prover *at, size_t bytes)
{
    for (int g = 0; g < at->n_groups; g++)
        bytes += vbs_pattern_database_bytes(&at->groups[g].database);
    if (bytes > at->proof->peak_bytes)
        at->proof->peak_bytes = bytes;
}

/* Copies the pattern databases of all groups into one array, and returns their number. */
static int gather_databases(struct prover *at)
{
    int n = 0;

    for (int g = 0; g < at->n_groups; g++)
        if (at->groups[g].database.layers)
            at->others[n++] = at->groups[g].database;
    return n;
}

/* Improves a schedule window by window, and keeps it when it is better than the best known one. */
static enum vbs_status improve(struct prover *at, const struct vbs_step *from, int64_t n,
                               double until)
{
    const struct vbs_improve_limits limits = {.max_states = at->max_states, .until = until};
    struct vbs_step_list steps = {0};
    bool improved = false;
    enum vbs_status status = vbs_step_list_copy(at->ctx, from, n, &steps);

    if (status == VBS_OK && steps.n_steps > 0)
        status = vbs_improve(at->ctx, &at->lattice, at->all_layers, &limits, &steps, &improved);
    if (status == VBS_OK && improved)
        status = take_steps(at, &steps);
    vbs_step_list_clear(&steps);
    return status;
}

static double share_of_time(const struct prover *at, double share)
{
    double now = vbs_search_now(at->lattice.task);

    return now + share * (at->limits->until - now);
}

static enum vbs_status improve_best(struct prover *at)
{
    const struct vbs_step_list *best = &at->proof->steps;

    return improve(at, best->steps, best->n_steps, share_of_time(at, IMPROVE_SHARE));
}

/* Improves the best schedules of smaller budgets too: they differ in kind, and one of them may end
 * lower. */
static enum vbs_status improve_seeds(struct prover *at)
{
    const struct vbs_pareto_set *seeds = at->limits->seeds;
    double until = share_of_time(at, IMPROVE_SHARE);
    int last = seeds ? seeds->n - 1 : -1;

    while (last >= 0 && seeds->list[last].bytes > at->lattice.memory_bytes)
        last--;
    for (int i = last; i >= 0 && i > last - N_SEEDS; i--)
        if (!is_over(at) && vbs_search_now(at->lattice.task) < until)
            VBS_TRY(improve(at, seeds->list[i].steps, seeds->list[i].n_steps, until));
    return VBS_OK;
}

/* Searches the lattice of all layers, and takes over the schedule that it finds. */
static enum vbs_status search_lattice(struct prover *at, const struct vbs_search_limits *limits,
                                      enum vbs_found *found, int64_t *start_ticks)
{
    struct vbs_step_list steps = {0};
    struct vbs_state_search search;
    struct vbs_heuristic heuristic;
    enum vbs_status status;

    VBS_TRY(vbs_heuristic_init(at->ctx, &heuristic, &at->lattice, at->all_layers, at->layer_to_go,
                               at->others, gather_databases(at)));
    status = vbs_search_run(at->ctx, &heuristic, NULL, NULL, limits, &search, found);
    vbs_heuristic_clear(&heuristic);
    *start_ticks = search.start_ticks;
    if (status != VBS_OK || *found != VBS_FOUND)
        return status;
    note_bytes(at, vbs_search_bytes(&search));
    status = vbs_search_emit(at->ctx, &at->lattice, &search, &steps);
    vbs_search_clear(&search);
    if (status == VBS_OK)
        status = take_steps(at, &steps);
    vbs_step_list_clear(&steps);
    return status;
}

/* Runs the exact search. */
static enum vbs_status search_all(struct prover *at)
{
    const struct vbs_search_limits limits = {
        .below_ticks = ceiling(at), .max_states = at->max_states, .until = at->limits->until};
    enum vbs_found found;
    int64_t ticks;

    VBS_TRY(search_lattice(at, &limits, &found, &ticks));
    if (found != VBS_FOUND_OUT)
        raise_bound(at, ticks);
    return VBS_OK;
}

/* Runs a beam search around the best schedule known, if there is one. */
static enum vbs_status search_beam(struct prover *at)
{
    struct vbs_step_list steps = {0};
    struct vbs_states kept = {0};
    struct vbs_search_limits limits = {.below_ticks = at->proof->best_ticks + 1,
                                       .max_states = at->most_states,
                                       .until = at->limits->until,
                                       .beam_width = at->beam_width,
                                       .kept = &kept};
    enum vbs_found found;
    int64_t ticks;
    enum vbs_status status =
        vbs_step_list_copy(at->ctx, at->proof->steps.steps, at->proof->steps.n_steps, &steps);

    if (status != VBS_OK)
        goto done;
    if (steps.n_steps > 0)
        status = vbs_path_states(at->ctx, &at->lattice, &steps, &kept);
    else
        status = vbs_states_init(at->ctx, &kept, at->lattice.task->request);
    if (status != VBS_OK)
        goto done;
    status = search_lattice(at, &limits, &found, &ticks);
done:
    vbs_states_clear(&kept);
    vbs_step_list_clear(&steps);
    return status;
}

static void join_layers(const struct prover *at, uint64_t *to, const uint64_t *from)
{
    for (int w = 0; w < at->lattice.ideals->n_words; w++)
        to[w] |= from[w];
}

/* Computes the least time of a pair of groups together. *together is VBS_NEVER_TICKS when this
 * completes the proof, and -1 when the search was postponed. The database is given in keep where it
 * is not null. */
static enum vbs_status search_pair(struct prover *at, int g, int h,
                                   struct vbs_pattern_database *keep, int64_t *together)
{
    const struct group *a = &at->groups[g], *b = &at->groups[h];
    int64_t rest = groups_ticks(at) - a->start_ticks - b->start_ticks;
    uint64_t *layers = calloc((size_t)at->lattice.ideals->n_words, sizeof *layers);
    struct vbs_pattern_request request = {.all = &at->lattice,
                                          .layers = layers,
                                          .layer_to_go = at->layer_to_go,
                                          .databases = at->others,
                                          .limits = {.below_ticks = ceiling(at) - rest,
                                                     .max_states = at->max_states,
                                                     .until = at->limits->until}};
    struct vbs_pattern_database database;
    enum vbs_found found;
    enum vbs_status status;

    if (!layers)
        return vbs_no_memory(at->ctx);
    join_layers(at, layers, a->layers);
    join_layers(at, layers, b->layers);
    request.n_databases = gather_databases(at);
    status = vbs_pattern_database_build(at->ctx, &request, &database, &found);
    free(layers);
    if (status != VBS_OK)
        return status;
    *together = found == VBS_FOUND ? database.search.start_ticks
                                   : (found == VBS_FOUND_NONE ? VBS_NEVER_TICKS : -1);
    if (found == VBS_FOUND)
        note_bytes(at, vbs_pattern_database_bytes(&database));
    if (found == VBS_FOUND_NONE)
        raise_bound(at, ceiling(at));
    if (found == VBS_FOUND && keep)
        *keep = database;
    else if (found == VBS_FOUND)
        vbs_pattern_database_clear(&database);
    return VBS_OK;
}

/* A layer, and how far its time depends on its batches and algorithms. */
struct weight {
    int layer;
    int64_t ticks;
};

static int by_weight(const void *a, const void *b)
{
    const struct weight *x = a, *y = b;

    if (x->ticks != y->ticks)
        return x->ticks > y->ticks ? -1 : 1;
    return x->layer - y->layer;
}

/* Sorts the layers by how far their time depends on memory, the most dependent first. */
static void weigh(const struct prover *at, struct weight *weights)
{
    const struct vbs_task *task = at->lattice.task;

    for (int k = 1; k <= task->n_layers; k++) {
        int64_t single = vbs_row_pareto_ticks(&task->row_pareto, k, 0, INT64_MAX);

        weights[k - 1] = (struct weight){
            .layer = k, .ticks = task->request * single - at->layer_to_go[k - 1][0]};
    }
    qsort(weights, (size_t)task->n_layers, sizeof *weights, by_weight);
}

/* Fills hindrance for pairs of layers until its share of the time is over. Groups are still single
 * layers: group k - 1 is layer k. */
static enum vbs_status find_hindrance(struct prover *at)
{
    int n = at->lattice.task->n_layers;
    double now = vbs_search_now(at->lattice.task),
           until = now + PAIR_SHARE * (at->limits->until - now);
    struct weight *weights = malloc((size_t)n * sizeof *weights);
    enum vbs_status status = weights ? VBS_OK : vbs_no_memory(at->ctx);

    if (status != VBS_OK)
        goto done;
    weigh(at, weights);
    for (int j = 1; status == VBS_OK && j < n; j++)
        for (int i = 0; status == VBS_OK && i < j && !is_over(at); i++) {
            int g = weights[i].layer - 1, h = weights[j].layer - 1;
            int64_t together, apart = at->groups[g].start_ticks + at->groups[h].start_ticks;

            if (vbs_search_now(at->lattice.task) > until)
                break;
            status = search_pair(at, g, h, NULL, &together);
            if (status == VBS_OK && together > apart && together < VBS_NEVER_TICKS)
                at->hindrance[g * n + h] = at->hindrance[h * n + g] = (float)(together - apart);
        }
done:
    free(weights);
    return status;
}

/* Chooses the two groups that hinder each other most, of those not postponed; false: there are
 * none. */
static bool choose_pair(const struct prover *at, int *g, int *h)
{
    int n = at->lattice.task->n_layers;
    float most = 0;

    for (int i = 0; i < at->n_groups; i++)
        for (int j = i + 1; j < at->n_groups; j++)
            if (at->hindrance[i * n + j] > most && !at->failed[i * n + j]) {
                most = at->hindrance[i * n + j];
                *g = i;
                *h = j;
            }
    return most > 0;
}

/* Replaces group g by the merged group, and group h by the last group. */
static void replace(struct prover *at, int g, int h, const struct vbs_pattern_database *database)
{
    int n = at->lattice.task->n_layers, last = at->n_groups - 1;

    vbs_pattern_database_clear(&at->groups[g].database);
    vbs_pattern_database_clear(&at->groups[h].database);
    join_layers(at, at->groups[g].layers, at->groups[h].layers);
    at->groups[g].database = *database;
    at->groups[g].start_ticks = database->search.start_ticks;
    at->groups[h] = at->groups[last];
    at->n_groups = last;
    for (int i = 0; i <= last; i++) {
        at->hindrance[g * n + i] += at->hindrance[h * n + i];
        at->hindrance[i * n + g] = at->hindrance[g * n + i];
        at->failed[g * n + i] = at->failed[i * n + g] = 0;
    }
    for (int i = 0; i < last; i++) {
        at->hindrance[h * n + i] = at->hindrance[i * n + h] = at->hindrance[last * n + i];
        at->failed[h * n + i] = at->failed[i * n + h] = at->failed[last * n + i];
    }
}

/* Merges groups until nothing is left to merge within max_states. */
static enum vbs_status merge_groups(struct prover *at)
{
    int n = at->lattice.task->n_layers, g, h;

    while (!is_over(at) && choose_pair(at, &g, &h)) {
        int64_t together, apart = at->groups[g].start_ticks + at->groups[h].start_ticks;
        struct vbs_pattern_database database;

        VBS_TRY(search_pair(at, g, h, &database, &together));
        if (together >= VBS_NEVER_TICKS)
            return VBS_OK;
        if (together - apart > (at->proof->best_ticks - at->proof->bound_ticks) / WORTHWHILE)
            replace(at, g, h, &database);
        else {
            at->failed[g * n + h] = at->failed[h * n + g] = 1;
            if (together >= 0)
                vbs_pattern_database_clear(&database);
        }
        raise_bound(at, groups_ticks(at));
    }
    return VBS_OK;
}

static enum vbs_status prover_init(struct prover *at)
{
    const struct vbs_task *task = at->lattice.task;
    size_t n = (size_t)task->n_layers, n_words = (size_t)at->lattice.ideals->n_words;

    at->layer_to_go = vbs_arena_alloc(&at->arena, n, sizeof *at->layer_to_go);
    at->all_layers = vbs_arena_alloc(&at->arena, n_words, sizeof *at->all_layers);
    at->groups = vbs_arena_alloc(&at->arena, n, sizeof *at->groups);
    at->others = vbs_arena_alloc(&at->arena, n, sizeof *at->others);
    at->hindrance = vbs_arena_alloc(&at->arena, n * n, sizeof *at->hindrance);
    at->failed = vbs_arena_alloc(&at->arena, n * n, sizeof *at->failed);
    if (!at->layer_to_go || !at->all_layers || !at->groups || !at->others || !at->hindrance ||
        !at->failed)
        return vbs_no_memory(at->ctx);
    for (int k = 1; k <= task->n_layers; k++) {
        int64_t *togo = vbs_arena_alloc(&at->arena, (size_t)task->request + 1, sizeof *togo);
        uint64_t *layers = vbs_arena_alloc(&at->arena, n_words, sizeof *layers);

        if (!togo || !layers)
            return vbs_no_memory(at->ctx);
        vbs_task_to_go(task, k, at->lattice.memory_bytes, task->request, togo);
        vbs_layers_add(layers, k);
        vbs_layers_add(at->all_layers, k);
        at->layer_to_go[k - 1] = togo;
        at->groups[k - 1] = (struct group){.layers = layers, .start_ticks = togo[0]};
    }
    at->n_groups = task->n_layers;
    at->most_states = (int)(MAX_SEARCH_BYTES / (16 * (size_t)((task->request + 3) / 4) + 64));
    return VBS_OK;
}

/* Works in rounds, each with larger limits than the one before: better schedules, better bounds,
 * and the exact search. */
static enum vbs_status run_rounds(struct prover *at)
{
    size_t n = (size_t)at->lattice.task->n_layers;
    enum vbs_status status = search_all(at);

    if (status != VBS_OK)
        return status;
    if (!is_over(at)) {
        status = improve_best(at);
        if (status != VBS_OK)
            return status;
    }
    if (!is_over(at)) {
        status = improve_seeds(at);
        if (status != VBS_OK)
            return status;
    }
    if (!is_over(at)) {
        status = find_hindrance(at);
        if (status != VBS_OK)
            return status;
    }
    while (status == VBS_OK && !is_over(at)) {
        status = merge_groups(at);
        if (status == VBS_OK && !is_over(at))
            status = search_beam(at);
        if (status == VBS_OK && !is_over(at))
            status = improve_best(at);
        if (status == VBS_OK && !is_over(at))
            status = search_all(at);
        if (at->max_states == at->most_states)
            break;
        at->max_states =
            at->max_states < at->most_states / 4 ? 4 * at->max_states : at->most_states;
        at->beam_width *= 4;
        memset(at->failed, 0, n * n * sizeof *at->failed);
    }
    return status;
}

/* Notes how the layers are grouped, for explanations. */
static void note_groups(const struct prover *at)
{
    struct vbs_proof *proof = at->proof;

    proof->n_groups = at->n_groups;
    for (int g = 0; g < at->n_groups; g++) {
        int n = 0;

        for (int w = 0; w < at->lattice.ideals->n_words; w++)
            n += __builtin_popcountll(at->groups[g].layers[w]);
        if (n > proof->largest_group)
            proof->largest_group = n;
    }
}

static void prover_clear(struct prover *at)
{
    for (int g = 0; at->groups && g < at->n_groups; g++)
        vbs_pattern_database_clear(&at->groups[g].database);
    vbs_arena_clear(&at->arena);
}

/* Takes the bound of each layer by itself. */
static enum vbs_status prove_plainly(struct vbs_ctx *ctx, const struct vbs_task *task,
                                     int64_t memory_bytes, struct vbs_proof *proof)
{
    double bound_us;
    enum vbs_status status = vbs_task_bound_us(ctx, task, memory_bytes, &bound_us);
    int64_t ticks = bound_us < VBS_MAX_TIME_US ? vbs_task_ticks(task, bound_us) : VBS_NEVER_TICKS;

    if (status == VBS_OK && ticks > proof->bound_ticks)
        proof->bound_ticks = ticks;
    return status;
}

enum vbs_status vbs_prove(struct vbs_ctx *ctx, const struct vbs_task *task,
                          const struct vbs_order_ideals *ideals, int64_t memory_bytes,
                          const struct vbs_prove_limits *limits, struct vbs_proof *proof)
{
    struct prover at = {.ctx = ctx,
                        .lattice = {.task = task, .ideals = ideals, .memory_bytes = memory_bytes},
                        .limits = limits,
                        .proof = proof,
                        .max_states =
                            limits->first_states ? limits->first_states : FIRST_MAX_STATES,
                        .beam_width = FIRST_BEAM};
    enum vbs_status status;

    if (!ideals)
        return prove_plainly(ctx, task, memory_bytes, proof);
    status = prover_init(&at);
    if (status == VBS_OK) {
        raise_bound(&at, groups_ticks(&at));
        if (!is_over(&at))
            status = run_rounds(&at);
        note_groups(&at);
    }
    prover_clear(&at);
    return status;
}
