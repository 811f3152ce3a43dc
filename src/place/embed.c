/*
 * Search of placements without slack, as embeddings of planar graphs.
 *
 * Where the living items fill the target at every step, nothing is left free anywhere. What ends at
 * a step then makes room for what begins there: the items that end form runs without a gap between
 * them, and each run is filled exactly by some of the items that begin. Call such a run with its
 * items a vertex, and the items edges from the vertex at which they begin to the one at which they
 * end; a placement is a plane drawing of this graph. If it is known for every step which items form
 * a vertex, a drawing is found as a planar graph is recognised (Lempel, Even and Cederbaum, 1967):
 * step after step a PQ-tree holds all orders in which the living items can lie, the items that end
 * at a vertex must be consecutive in it, and then those that begin take their place in any order.
 * Offsets follow from the order, and agree at all steps, because as many bytes begin at a vertex as
 * end there.
 *
 * What is searched for is therefore only which of the items that end at a step make room for which
 * of those that begin: sets of equal sums. With many sizes hardly any sums are equal by chance, and
 * there is nearly nothing to search for. Vertices are the longest runs, so that items which the
 * tree keeps together belong to one vertex. The item with the fewest possible vertices comes first,
 * and the smallest vertices are tried first. Items that end together and live already lie beside
 * each other now: so the tree is reduced by them as soon as the last of them begins, which shows
 * early where it cannot be.
 *
 * The search begins anew after growing numbers of steps, from either end of time by turns, and
 * tries vertices in other orders. In most runs a failure ends all vertices back to the last one to
 * which the items that failed owe their places: such a run may miss placements, and refutes
 * nothing. The other runs are complete, and remember states that failed: the same orders of the
 * same items fail again.
 */
#include "place/embed.h"

#include "base/fail.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ITEMS 1024 /* the search recurs for each vertex, and in trees */
#define MEMO_BITS 16

/* ---- what suits ---- */

bool vbs_place_embed_suits(const struct place_search *search,
                           const struct place_component *component)
{
    const struct place_item *items = &search->items[component->first];
    int base = items[0].lower, upper = base;
    double area = 0;

    if (component->n > MAX_ITEMS)
        return false;
    for (int i = 0; i < component->n; i++) {
        if (items[i].n_rects > 1 || items[i].fixed >= 0 || items[i].align > 1 ||
            search->rects[items[i].first_rect].offset > 0)
            return false;
        upper = items[i].upper > upper ? items[i].upper : upper;
        area += (double)items[i].height * (items[i].upper - items[i].lower);
    }
    /* Areas may be rounded; is_full decides. */
    return area >= (double)component->load * (upper - base) * (1 - 1e-9);
}

/* Gives whether the living items fill the load at every step, and steps have few enough of them. */
static bool is_full(const struct place_embed *embed)
{
    int64_t live = 0;

    for (int s = 0; s + 1 < embed->n_steps; s++) {
        for (int k = embed->first_end[s]; k < embed->first_end[s + 1]; k++)
            live -= place_item_of(embed, embed->ends[k])->height;
        for (int k = embed->first_begin[s]; k < embed->first_begin[s + 1]; k++)
            live += place_item_of(embed, embed->begins[k])->height;
        if (live != embed->component->load ||
            embed->first_end[s + 1] - embed->first_end[s] > MAX_AT_STEP ||
            (s > 0 && embed->first_begin[s + 1] - embed->first_begin[s] > MAX_AT_STEP))
            return false;
    }
    return true;
}

/* ---- the search ---- */

static enum place_answer solve(struct place_embed *embed, struct place_state state);

/* Goes on to the next step at which items end, or to the last one. */
static void go_on(const struct place_embed *embed, struct place_state *state)
{
    do
        state->step++;
    while (state->step + 1 < embed->n_steps &&
           embed->first_end[state->step] == embed->first_end[state->step + 1]);
    state->left = vbs_place_all_of(embed, state->step);
}

/* ---- culprits ---- */

/* Adds the vertices of the path to which items owe their places to a set of culprits: those at
 * which they began, or those that ended there, and so on. ends: of a step. */
static void add_origins(struct place_embed *embed, int step, pq_bits ends, uint64_t *culprits)
{
    memset(embed->traced, 0, (size_t)embed->component->n * sizeof *embed->traced);
    for (pq_bits set = ends; set; set &= set - 1)
        embed->traced[place_ends_of(embed, step)[place_lowest_bit(set)]] = true;
    for (size_t k = embed->n_path; k-- > 0;) {
        const struct place_state *at = &embed->path[k];
        bool origin = false;

        for (pq_bits set = at->left.begins; set && !origin; set &= set - 1)
            origin = embed->traced[place_begins_of(embed, at->step)[place_lowest_bit(set)]];
        if (!origin)
            continue;
        culprits[k / 64] |= UINT64_C(1) << k % 64;
        for (pq_bits set = at->left.ends; set; set &= set - 1)
            embed->traced[place_ends_of(embed, at->step)[place_lowest_bit(set)]] = true;
    }
}

/* Begins a set of culprits for the vertex that is chosen next. */
static uint64_t *clear_culprits(struct place_embed *embed)
{
    uint64_t *culprits = embed->culprits + embed->n_path * embed->n_words;

    memset(culprits, 0, embed->n_words * sizeof *culprits);
    return culprits;
}

/* Says that the state fails because of these vertices, but for the one that is chosen there. */
static void blame(struct place_embed *embed, uint64_t *culprits)
{
    culprits[embed->n_path / 64] &= ~(UINT64_C(1) << embed->n_path % 64);
    memcpy(embed->blamed, culprits, embed->n_words * sizeof *culprits);
}

/* ---- looking ahead ---- */

/* Reduces the last tree by items that will end at a step. */
static bool reduce_last(struct place_embed *embed, struct place_state *state, int step,
                        pq_bits ends)
{
    struct place_state at = {.step = step, .tree = state->tree, .n_ints = state->n_ints};
    int n_ints = vbs_place_reduce(embed, &at, ends);

    if (n_ints == 0)
        return false;
    memcpy(embed->trees + state->tree, embed->reduced, (size_t)n_ints * sizeof *embed->trees);
    state->n_ints = n_ints;
    return true;
}

/* Gives the set of items that end in all pairs with that one; 0 if there are several, or none. */
static pq_bits only_set(const struct place_embed *embed, size_t first, pq_bits bit)
{
    pq_bits only = 0;

    for (size_t p = first; p < embed->n_pairs; p++) {
        pq_bits ends = embed->pairs[p].vertex.ends;

        if (!(ends & bit))
            continue;
        if (only && ends != only)
            return 0;
        only = ends;
    }
    return only;
}

/* Items of a vertex that live already lie beside each other now. So once all items that end at a
 * step live, the tree must allow one of its vertices for each of them, and where there is only one,
 * is reduced by it. False: some item has none. */
static bool look_at(struct place_embed *embed, struct place_state *state, int step)
{
    struct place_state then = {step, state->tree, state->n_ints, vbs_place_all_of(embed, step)};
    struct place_vertex found = {0, 0};
    size_t first = embed->n_pairs;
    bool complete, good;

    if (place_count_bits(then.left.begins) == 1)
        return reduce_last(embed, state, step, then.left.ends);
    if (!vbs_place_list_pairs(embed, &then, &complete) || !complete) {
        embed->n_pairs = first;
        return true;
    }
    for (size_t p = first; p < embed->n_pairs; p++) {
        found.ends |= embed->pairs[p].vertex.ends;
        found.begins |= embed->pairs[p].vertex.begins;
    }
    good = found.ends == then.left.ends &&
           !(vbs_place_firsts_of(&embed->halves[embed->backwards][step], then.left.begins) &
             ~found.begins);
    for (pq_bits left = then.left.ends; good && left; left &= left - 1) {
        pq_bits only = only_set(embed, first, left & -left);

        if (only & (only - 1))
            good = reduce_last(embed, state, step, only);
    }
    embed->n_pairs = first;
    return good;
}

/* Counts items that begin as living; looks at the steps of which all items live now. False: the
 * state fails. */
static bool look_ahead(struct place_embed *embed, struct place_state *state, const int *items,
                       int n)
{
    bool good = true;

    for (int k = 0; k < n; k++) {
        int step = embed->end_step[items[k]];
        int n_ends = embed->first_end[step + 1] - embed->first_end[step];

        if (++embed->n_living[step] == n_ends && n_ends > 1 && step + 1 < embed->n_steps)
            if (good && !look_at(embed, state, step)) {
                good = false;
                embed->failed_step = step;
            }
    }
    return good;
}

/* Solves what is left once a vertex is chosen. */
static enum place_answer try_vertex(struct place_embed *embed, const struct place_state *state,
                                    struct place_vertex vertex)
{
    const int *begins = place_begins_of(embed, state->step);
    size_t n_trees = embed->n_trees;
    struct place_state next = *state;
    enum place_answer answer;
    bool good;
    int n = 0;

    if (!GROW(embed, trees, 2 * embed->n_live) || !GROW(embed, path, 1))
        return PLACE_UNKNOWN;
    vbs_place_reduce(embed, state, vertex.ends);
    for (pq_bits set = vertex.begins; set; set &= set - 1)
        embed->order[n++] = begins[place_lowest_bit(set)];
    vbs_place_mark(embed, place_ends_of(embed, state->step), vertex.ends, true);
    next.tree = embed->n_trees;
    next.n_ints = vbs_place_pq_replace(&embed->set, embed->reduced, embed->order, n,
                                       embed->trees + next.tree);
    vbs_place_mark(embed, place_ends_of(embed, state->step), vertex.ends, false);
    good = look_ahead(embed, &next, embed->order, n);
    embed->n_trees += (size_t)next.n_ints;
    embed->path[embed->n_path++] =
        (struct place_state){state->step, state->tree, state->n_ints, vertex};
    next.left.ends &= ~vertex.ends;
    next.left.begins &= ~vertex.begins;
    if (!next.left.ends)
        go_on(embed, &next);
    answer = good ? solve(embed, next) : PLACE_REFUTED;
    if (!good) {
        memset(embed->blamed, 0, embed->n_words * sizeof *embed->blamed);
        add_origins(embed, embed->failed_step, vbs_place_all_of(embed, embed->failed_step).ends,
                    embed->blamed);
    }
    for (pq_bits set = vertex.begins; set; set &= set - 1)
        embed->n_living[embed->end_step[begins[place_lowest_bit(set)]]]--;
    if (answer != PLACE_FOUND) {
        embed->n_path--;
        embed->n_trees = n_trees;
    }
    return answer;
}

static uint64_t hash_of(const struct place_embed *embed, const struct place_state *state)
{
    uint64_t hash = vbs_place_pq_hash(embed->trees + state->tree, embed->hashes);
    const int *begins = place_begins_of(embed, state->step);

    hash = vbs_spread(hash + (uint64_t)state->step);
    for (pq_bits set = state->left.begins; set; set &= set - 1)
        hash += vbs_spread(embed->hashes[begins[place_lowest_bit(set)]]);
    return vbs_spread(hash);
}

/* Gives where the memo has a state if it failed before. */
static uint64_t *known_of(const struct place_embed *embed, const struct place_state *state,
                          uint64_t *hash)
{
    *hash = hash_of(embed, state);
    return &embed->memo[*hash >> (64 - MEMO_BITS)];
}

/* On PLACE_FOUND path leads to the state `last`. */
static enum place_answer solve(struct place_embed *embed, struct place_state state)
{
    enum place_answer answer = PLACE_REFUTED;
    size_t first = embed->n_pairs;
    uint64_t hash = 0, *known = NULL, *culprits;
    bool complete;

    if (state.step + 1 == embed->n_steps) {
        embed->last = state;
        return PLACE_FOUND;
    }
    if (!embed->jumps && (known = known_of(embed, &state, &hash)) && *known == hash)
        return PLACE_REFUTED;
    if (embed->search->over || embed->search->n_steps > embed->last_step ||
        !vbs_place_list_pairs(embed, &state, &complete))
        return PLACE_UNKNOWN;
    embed->partial = embed->partial || !complete;
    vbs_place_keep_fewest(embed, &state, first, complete);
    culprits = clear_culprits(embed);
    for (size_t p = first; p < embed->n_pairs && answer == PLACE_REFUTED; p++) {
        answer = try_vertex(embed, &state, embed->pairs[p].vertex);
        if (embed->jumps && answer == PLACE_REFUTED) {
            if (!(embed->blamed[embed->n_path / 64] >> embed->n_path % 64 & 1)) {
                embed->n_pairs = first;
                embed->partial = true;
                return answer;
            }
            for (size_t k = 0; k < embed->n_words; k++)
                culprits[k] |= embed->blamed[k];
        }
    }
    if (embed->jumps && answer == PLACE_REFUTED) {
        add_origins(embed, state.step, state.left.ends, culprits);
        for (size_t k = embed->n_path; k > 0 && embed->path[k - 1].step == state.step; k--)
            culprits[(k - 1) / 64] |= UINT64_C(1) << (k - 1) % 64;
        blame(embed, culprits);
    }
    embed->n_pairs = first;
    if (known && answer == PLACE_REFUTED)
        *known = hash;
    return embed->no_memory ? PLACE_UNKNOWN : answer;
}

/* ---- offsets ---- */

/* Sets the offsets of the items in an order, and the keys by their places. */
static void stack_up(struct place_embed *embed, int n, int64_t *offsets)
{
    int64_t at = 0;

    for (int k = 0; k < n; k++) {
        embed->keys[embed->order[k]] = k;
        offsets[embed->order[k]] = at;
        at += place_item_of(embed, embed->order[k])->height;
    }
}

/* Finds offsets along the path, from its end back: in the order behind a vertex, the items that
 * begin there are replaced by those that end, as the reduced tree allows. */
static void find_offsets(struct place_embed *embed, int64_t *offsets)
{
    int n = vbs_place_pq_order(embed->trees + embed->last.tree, NULL, embed->order);

    stack_up(embed, n, offsets);
    while (embed->n_path > 0) {
        const struct place_state *at = &embed->path[--embed->n_path];
        const int *begins = place_begins_of(embed, at->step),
                  *ends = place_ends_of(embed, at->step);
        int least = embed->component->n;

        for (pq_bits set = at->left.begins; set; set &= set - 1)
            if (embed->keys[begins[place_lowest_bit(set)]] < least)
                least = embed->keys[begins[place_lowest_bit(set)]];
        for (pq_bits set = at->left.ends; set; set &= set - 1)
            embed->keys[ends[place_lowest_bit(set)]] = least;
        vbs_place_reduce(embed, at, at->left.ends);
        n = vbs_place_pq_order(embed->reduced, embed->keys, embed->order);
        stack_up(embed, n, offsets);
    }
}

/* ---- the search as a whole ---- */

/* Lists items by the step at which they begin or end, in the direction of the search. */
static void list_items(struct place_embed *embed, bool ends)
{
    int *first = ends ? embed->first_end : embed->first_begin;
    int *items = ends ? embed->ends : embed->begins, base = place_item_of(embed, 0)->lower;

    memset(first, 0, ((size_t)embed->n_steps + 2) * sizeof *first);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < embed->component->n; i++) {
            bool upper = ends != embed->backwards;
            int step =
                (upper ? place_item_of(embed, i)->upper : place_item_of(embed, i)->lower) - base;

            step = embed->backwards ? embed->n_steps - 1 - step : step;
            if (ends)
                embed->end_step[i] = step;
            if (pass == 0)
                first[step + 2]++;
            else
                items[first[step + 1]++] = i;
        }
        for (int s = 0; s < embed->n_steps && pass == 0; s++)
            first[s + 2] += first[s + 1];
    }
}

/* Gives the most items that live until a step or from it on: while a step is changed vertex by
 * vertex, some of both are in the tree. */
static int most_living(const struct place_embed *embed)
{
    int live = 0, most = 0;

    for (int s = 0; s < embed->n_steps; s++) {
        live += embed->first_begin[s + 1] - embed->first_begin[s];
        most = live > most ? live : most;
        live -= embed->first_end[s + 1] - embed->first_end[s];
    }
    return most;
}

static void set_direction(struct place_embed *embed, bool backwards)
{
    embed->backwards = backwards;
    list_items(embed, false);
    list_items(embed, true);
    for (int i = 0; i < embed->component->n; i++) {
        const struct place_item *item = place_item_of(embed, i);

        embed->hashes[i] = vbs_spread(vbs_spread((uint64_t)item->height) ^
                                      (uint64_t)(backwards ? item->lower : item->upper));
    }
}

static enum vbs_status allocate(struct place_embed *embed)
{
    size_t n = (size_t)embed->component->n, n_steps = (size_t)embed->n_steps;
    struct vbs_arena *arena = &embed->arena;

    embed->first_begin = vbs_arena_alloc(arena, n_steps + 2, sizeof *embed->first_begin);
    embed->first_end = vbs_arena_alloc(arena, n_steps + 2, sizeof *embed->first_end);
    embed->begins = vbs_arena_alloc(arena, n, sizeof *embed->begins);
    embed->ends = vbs_arena_alloc(arena, n, sizeof *embed->ends);
    embed->hashes = vbs_arena_alloc(arena, n, sizeof *embed->hashes);
    embed->set.marked = vbs_arena_alloc(arena, n, sizeof *embed->set.marked);
    embed->set.n_within = vbs_arena_alloc(arena, 2 * n, sizeof *embed->set.n_within);
    embed->set.leaves = vbs_arena_alloc(arena, 2 * n, sizeof *embed->set.leaves);
    embed->reduced = vbs_arena_alloc(arena, 2 * n, sizeof *embed->reduced);
    embed->order = vbs_arena_alloc(arena, n, sizeof *embed->order);
    embed->n_words = n / 64 + 1;
    embed->culprits = vbs_arena_alloc(arena, (n + 1) * embed->n_words, sizeof *embed->culprits);
    embed->blamed = vbs_arena_alloc(arena, embed->n_words, sizeof *embed->blamed);
    embed->traced = vbs_arena_alloc(arena, n, sizeof *embed->traced);
    embed->end_step = vbs_arena_alloc(arena, n, sizeof *embed->end_step);
    embed->n_living = vbs_arena_alloc(arena, n_steps, sizeof *embed->n_living);
    embed->keys = vbs_arena_alloc(arena, n, sizeof *embed->keys);
    embed->halves[0] = vbs_arena_alloc(arena, n_steps, sizeof *embed->halves[0]);
    embed->halves[1] = vbs_arena_alloc(arena, n_steps, sizeof *embed->halves[1]);
    embed->bits = vbs_arena_alloc(arena, n, sizeof *embed->bits);
    embed->sets = vbs_arena_alloc(arena, 2 * MAX_SETS, sizeof *embed->sets);
    embed->memo = vbs_arena_alloc(arena, (size_t)1 << MEMO_BITS, sizeof *embed->memo);
    return embed->first_begin && embed->first_end && embed->begins && embed->ends &&
                   embed->hashes && embed->set.marked && embed->set.n_within && embed->set.leaves &&
                   embed->culprits && embed->blamed && embed->traced && embed->end_step &&
                   embed->n_living && embed->reduced && embed->order && embed->keys &&
                   embed->halves[0] && embed->halves[1] && embed->bits && embed->sets && embed->memo
               ? VBS_OK
               : VBS_NO_MEMORY;
}

static enum vbs_status start_search(struct place_search *search, struct place_component *component)
{
    struct place_embed *embed = calloc(1, sizeof *embed);
    int base = search->items[component->first].lower;

    if (!embed)
        return vbs_no_memory(search->ctx);
    component->embed = embed;
    embed->search = search;
    embed->component = component;
    for (int i = 0; i < component->n; i++)
        if (place_item_of(embed, i)->upper - base + 1 > embed->n_steps)
            embed->n_steps = place_item_of(embed, i)->upper - base + 1;
    if (allocate(embed) != VBS_OK) {
        vbs_place_embed_free(embed);
        component->embed = NULL;
        return vbs_no_memory(search->ctx);
    }
    set_direction(embed, false);
    embed->n_live = most_living(embed);
    embed->full = is_full(embed);
    return VBS_OK;
}

void vbs_place_embed_free(struct place_embed *embed)
{
    if (!embed)
        return;
    free(embed->trees);
    free(embed->pairs);
    free(embed->path);
    vbs_arena_clear(&embed->arena);
    free(embed);
}

/* Records the offsets that the path gives as the best of the component. */
static enum vbs_status record_offsets(struct place_embed *embed)
{
    int64_t *offsets = calloc((size_t)embed->component->n, sizeof *offsets);

    if (!offsets)
        return vbs_no_memory(embed->search->ctx);
    find_offsets(embed, offsets);
    vbs_place_record(embed->component, offsets, embed->component->load, VBS_PLACE_SEARCH);
    free(offsets);
    return VBS_OK;
}

/* Searches in the present direction. */
static enum place_answer search_once(struct place_embed *embed)
{
    struct place_state state = {0};
    enum place_answer answer;

    memset(embed->memo, 0, sizeof *embed->memo << MEMO_BITS);
    embed->n_trees = embed->n_pairs = embed->n_path = 0;
    embed->partial = false;
    if (!GROW(embed, trees, 2 * embed->n_live))
        return PLACE_UNKNOWN;
    state.n_ints =
        vbs_place_pq_make(embed->trees, place_begins_of(embed, 0), embed->first_begin[1]);
    memset(embed->n_living, 0, (size_t)embed->n_steps * sizeof *embed->n_living);
    if (!look_ahead(embed, &state, place_begins_of(embed, 0), embed->first_begin[1]))
        return PLACE_REFUTED;
    embed->n_trees = (size_t)state.n_ints;
    go_on(embed, &state);
    answer = solve(embed, state);
    return answer == PLACE_REFUTED && embed->partial ? PLACE_UNKNOWN : answer;
}

/* Gives term k, from 1, of 1, 1, 2, 1, 1, 2, 4, ...: lengths of runs that begin anew (Luby,
 * Sinclair and Zuckerman, 1993). */
static int64_t luby(unsigned k)
{
    unsigned period = 1;

    while (period < k)
        period = 2 * period + 1;
    while (period != k) {
        period /= 2;
        k = k > period ? k - period : k;
        while (period / 2 >= k)
            period /= 2;
    }
    return (period + 1) / 2;
}

/* Gives the steps of the shortest run: enough to place all items several times. */
static int64_t least_steps(const struct place_component *component)
{
    return 2000 + (int64_t)component->n * component->n / 3;
}

enum vbs_status vbs_place_embed(struct place_search *search, struct place_component *component,
                                int64_t target, int64_t n_steps, enum place_answer *answer)
{
    enum vbs_status status = component->embed ? VBS_OK : start_search(search, component);
    struct place_embed *embed = component->embed;
    int64_t last_step = search->n_steps + n_steps;

    *answer = PLACE_UNKNOWN;
    if (status != VBS_OK || target != component->load || !embed->full)
        return status;
    while (*answer == PLACE_UNKNOWN && !search->over && search->n_steps < last_step) {
        unsigned run = embed->n_runs++;

        embed->noise = run < 2 ? 0 : 1;
        embed->jumps = run % 8 > 1;
        embed->last_step = search->n_steps + luby(run / 2 + 1) * least_steps(component);
        set_direction(embed, run % 2);
        *answer = search_once(embed);
        if (embed->no_memory)
            return vbs_no_memory(search->ctx);
    }
    return *answer == PLACE_FOUND ? record_offsets(embed) : VBS_OK;
}
