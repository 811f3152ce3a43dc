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
 * and small or likely vertices are tried first. Items that end together and live already lie beside
 * each other now: so the tree is reduced by them as soon as the last of them begins, which shows
 * early where it cannot be.
 *
 * Hard are steps at which dozens of items end and begin, and many sums are equal. So the search may
 * also begin at both ends of time: each side has a tree and a front, the step at which it chooses
 * vertices, and both meet somewhere between. The items that are in both trees must have an order
 * that both allow. At the step where the sides meet, both trees say which items form runs: those
 * that end in the tree of one side, those that begin in that of the other, and few sets of both are
 * left whose sums are equal. The sides meet at the step with the most items, or, where the side
 * whose front has fewer possible vertices goes on each time, at the one that is put off longest.
 *
 * One vertex of all items that are left at a step, or several? Sums that are equal by chance are
 * expected in a number that the sizes tell; the fewer of them, the more likely is a vertex that
 * splits others off. The search begins anew after growing numbers of steps, by turns from the first
 * step, from the last, and from both, and tries vertices in an order drawn at random: by turns
 * small ones mostly first, and the more likely ones. In most runs a failure ends all vertices back
 * to the last one to which the items that failed owe their places: such a run may miss placements,
 * and refutes nothing. The other runs are complete, and remember states that failed: the same
 * orders of the same items fail again.
 */
#include "place/embed.h"

#include "base/fail.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ITEMS 1024 /* the search recurs for each vertex, and in trees */
#define MEMO_BITS 16
#define ODDS_BITS 4 /* the odds of several vertices at a step vary between runs by 2^ODDS_BITS */

/* The kinds of runs, by turns: vertices are chosen on one side alone; on the side that has fewer
 * possible ones; or so that the sides meet at a step with many items. */
enum { ON_FIRST, ON_LAST, ON_FEWER, AT_WALL, ON_FIRST_AGAIN, ON_LAST_AGAIN, N_KINDS };

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
    /* Areas may be rounded; vbs_place_is_full decides. */
    return area >= (double)component->load * (upper - base) * (1 - 1e-9);
}

/* ---- the search ---- */

static enum place_answer solve(struct place_embed *embed, struct place_state state);

/* Goes on to the next step at which items end, or to the last one. */
static void go_on(const struct place_embed *embed, struct place_state *state, int of)
{
    const struct place_side *side = &embed->sides[of];
    struct place_front *front = &state->fronts[of];

    do
        front->step++;
    while (front->step + 1 < embed->n_steps &&
           side->first_end[front->step] == side->first_end[front->step + 1]);
    front->left = vbs_place_all_of(side, front->step);
}

/* Gives whether all vertices between the two sides are chosen. */
static bool have_met(const struct place_embed *embed, const struct place_state *state)
{
    return state->fronts[0].step + state->fronts[1].step >= embed->n_steps;
}

/* ---- looking ahead ---- */

/* Reduces the last tree by items that will end at a step. */
static bool reduce_last(struct place_embed *embed, int side, struct place_front *front, int step,
                        pq_bits ends)
{
    struct place_front at = {.step = step, .tree = front->tree, .n_ints = front->n_ints};
    int n_ints = vbs_place_reduce(embed, &embed->sides[side], &at, ends);

    if (n_ints == 0)
        return false;
    memcpy(embed->trees + front->tree, embed->reduced, (size_t)n_ints * sizeof *embed->trees);
    front->n_ints = n_ints;
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
static bool look_at(struct place_embed *embed, struct place_state *state, int side, int step)
{
    struct place_front *front = &state->fronts[side];
    const struct place_side *own = &embed->sides[side];
    struct place_front then = {step, front->tree, front->n_ints, vbs_place_all_of(own, step), -1};
    struct place_vertex found = {0, 0};
    size_t first = embed->n_pairs;
    bool complete, good;

    if (place_count_bits(then.left.begins) == 1)
        return reduce_last(embed, side, front, step, then.left.ends);
    if (!vbs_place_list_pairs(embed, state, side, &then, &complete) || !complete) {
        embed->n_pairs = first;
        return true;
    }
    for (size_t p = first; p < embed->n_pairs; p++) {
        found.ends |= embed->pairs[p].vertex.ends;
        found.begins |= embed->pairs[p].vertex.begins;
    }
    good =
        found.ends == then.left.ends &&
        !(vbs_place_firsts_of(own, &embed->sides[!side], step, then.left.begins) & ~found.begins);
    for (pq_bits left = then.left.ends; good && left; left &= left - 1) {
        pq_bits only = only_set(embed, first, left & -left);

        if (only & (only - 1))
            good = reduce_last(embed, side, front, step, only);
    }
    embed->n_pairs = first;
    return good;
}

/* Gives whether the other side has chosen no vertex at a step. */
static bool is_untouched(const struct place_embed *embed, const struct place_state *state, int side,
                         int step)
{
    const struct place_front *beyond = &state->fronts[!side];
    int last = embed->n_steps - 1 - beyond->step;

    return step < last ||
           (step == last && vbs_place_is_adjacent(embed, &(struct place_front){.step = step},
                                                  &embed->sides[!side], beyond));
}

/* Counts items that begin as living; looks at the steps of which all items live now. False: the
 * state fails. */
static bool look_ahead(struct place_embed *embed, struct place_state *state, int side,
                       const int *items, int n)
{
    struct place_side *own = &embed->sides[side], *other = &embed->sides[!side];
    bool good = true;

    for (int k = 0; k < n; k++) {
        own->lives[items[k]] = true;
        other->leaf_hashes[items[k]] = vbs_spread(~(uint64_t)items[k]);
    }
    for (int k = 0; k < n; k++) {
        int step = own->end_step[items[k]];
        int n_ends = own->first_end[step + 1] - own->first_end[step];

        if (++own->n_living[step] == n_ends && n_ends > 1 && step + 1 < embed->n_steps && good &&
            is_untouched(embed, state, side, step) && !look_at(embed, state, side, step)) {
            good = false;
            embed->failed_step = step;
        }
    }
    return good;
}

/* Undoes look_ahead. */
static void forget(struct place_embed *embed, int side, const int *items, pq_bits of)
{
    struct place_side *own = &embed->sides[side], *other = &embed->sides[!side];

    for (pq_bits set = of; set; set &= set - 1) {
        int item = items[place_lowest_bit(set)];

        own->n_living[own->end_step[item]]--;
        own->lives[item] = false;
        other->leaf_hashes[item] = other->hashes[item];
    }
}

/* Replaces the items that end at a vertex by those that begin, in a new tree. */
static void replace(struct place_embed *embed, const struct place_front *front, int side,
                    struct place_vertex vertex, struct place_front *next, int n)
{
    const int *ends = place_ends_of(&embed->sides[side], front->step);

    vbs_place_reduce(embed, &embed->sides[side], front, vertex.ends);
    vbs_place_mark(embed, ends, vertex.ends, true);
    next->tree = embed->n_trees;
    next->n_ints = vbs_place_pq_replace(&embed->set, embed->reduced, embed->order, n,
                                        embed->trees + next->tree);
    vbs_place_mark(embed, ends, vertex.ends, false);
    next->left.ends &= ~vertex.ends;
    next->left.begins &= ~vertex.begins;
    next->n_pairs = -1;
}

/* Solves what is left once a vertex is chosen. */
static enum place_answer try_vertex(struct place_embed *embed, const struct place_state *state,
                                    int side, struct place_vertex vertex)
{
    struct place_side *own = &embed->sides[side];
    const struct place_front *front = &state->fronts[side];
    const int *begins = place_begins_of(own, front->step), *ends = place_ends_of(own, front->step);
    size_t n_trees = embed->n_trees;
    struct place_state next = *state;
    enum place_answer answer;
    bool looks, agrees;
    int n = 0;

    if (!GROW(embed, trees, 2 * embed->n_live) || !GROW(embed, path, 1))
        return PLACE_UNKNOWN;
    for (pq_bits set = vertex.begins; set; set &= set - 1)
        embed->order[n++] = begins[place_lowest_bit(set)];
    replace(embed, front, side, vertex, &next.fronts[side], n);
    for (pq_bits set = vertex.ends; set; set &= set - 1)
        own->lives[ends[place_lowest_bit(set)]] = false;
    looks = look_ahead(embed, &next, side, embed->order, n);
    agrees = looks && (embed->only >= 0 || vbs_place_agree(embed, &next, NULL));
    embed->n_trees += (size_t)next.fronts[side].n_ints;
    embed->path[embed->n_path++] = (struct place_chosen){side, *front, vertex};
    if (!next.fronts[side].left.ends)
        go_on(embed, &next, side);
    answer = agrees ? solve(embed, next) : PLACE_REFUTED;
    if (!agrees && embed->jumps) {
        if (looks)
            vbs_place_blame_common(embed, &next.fronts[0]);
        else
            vbs_place_blame_ends(embed, side, embed->failed_step);
    }
    if (answer == PLACE_FOUND)
        return answer;
    forget(embed, side, begins, vertex.begins);
    for (pq_bits set = vertex.ends; set; set &= set - 1)
        own->lives[ends[place_lowest_bit(set)]] = true;
    embed->n_path--;
    embed->n_trees = n_trees;
    return answer;
}

static uint64_t hash_of(const struct place_embed *embed, const struct place_state *state)
{
    uint64_t hash = 0;

    for (int side = 0; side < 2; side++) {
        const struct place_front *front = &state->fronts[side];
        const struct place_side *own = &embed->sides[side];
        const int *begins = place_begins_of(own, front->step);

        hash = vbs_spread(hash + (uint64_t)front->step) +
               vbs_place_pq_hash(embed->trees + front->tree, own->leaf_hashes);
        for (pq_bits set = front->left.begins; set; set &= set - 1)
            hash += vbs_spread(own->leaf_hashes[begins[place_lowest_bit(set)]]);
    }
    return vbs_spread(hash);
}

/* Gives where the memo has a state if it failed before. */
static uint64_t *known_of(const struct place_embed *embed, const struct place_state *state,
                          uint64_t *hash)
{
    *hash = hash_of(embed, state);
    return &embed->memo[*hash >> (64 - MEMO_BITS)];
}

/* Lists the pairs that may be tried at the front of a side. False: memory is out. */
static bool list_front(struct place_embed *embed, struct place_state *state, int side,
                       bool *complete)
{
    struct place_front *front = &state->fronts[side];
    size_t first = embed->n_pairs;

    if (!vbs_place_list_pairs(embed, state, side, front, complete))
        return false;
    vbs_place_keep_fewest(embed, side, front, first, *complete);
    front->n_pairs = (int)(embed->n_pairs - first);
    return true;
}

/* Chooses the side whose front has fewer pairs, and lists them. Where both fronts are at the same
 * step, the one that has chosen a vertex there goes on. Returns the side, or -1: memory is out. */
static int choose_side(struct place_embed *embed, struct place_state *state, bool *complete)
{
    size_t first = embed->n_pairs;
    int side = embed->only, last = -1;

    if (side < 0 && state->fronts[0].step + state->fronts[1].step == embed->n_steps - 1)
        side =
            !vbs_place_is_adjacent(embed, &state->fronts[0], &embed->sides[1], &state->fronts[1]);
    if (side < 0 && embed->wall > 0)
        side = state->fronts[0].step >= embed->wall;
    for (int s = 0; s < 2 && side < 0; s++)
        if (state->fronts[s].n_pairs < 0) {
            embed->n_pairs = first;
            if (!list_front(embed, state, s, complete))
                return -1;
            last = s;
        }
    if (side < 0)
        side = state->fronts[1].n_pairs < state->fronts[0].n_pairs;
    if (side == last)
        return side;
    embed->n_pairs = first;
    return list_front(embed, state, side, complete) ? side : -1;
}

/* On PLACE_FOUND path leads to the order in embed->order. */
static enum place_answer solve(struct place_embed *embed, struct place_state state)
{
    enum place_answer answer = PLACE_REFUTED;
    size_t first = embed->n_pairs;
    uint64_t hash = 0, *known = NULL, *culprits;
    bool complete;
    int side;

    if (have_met(embed, &state)) {
        if (vbs_place_agree(embed, &state, embed->order))
            return PLACE_FOUND;
        vbs_place_blame_common(embed, &state.fronts[0]);
        return PLACE_REFUTED;
    }
    if (!embed->jumps && (known = known_of(embed, &state, &hash)) && *known == hash)
        return PLACE_REFUTED;
    if (embed->search->over || embed->search->n_steps > embed->last_step ||
        (side = choose_side(embed, &state, &complete)) < 0)
        return PLACE_UNKNOWN;
    embed->partial = embed->partial || !complete;
    culprits = vbs_place_clear_culprits(embed);
    for (size_t p = first; p < embed->n_pairs && answer == PLACE_REFUTED; p++) {
        answer = try_vertex(embed, &state, side, embed->pairs[p].vertex);
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
    if (embed->jumps && answer == PLACE_REFUTED)
        vbs_place_blame_state(embed, &state, side, culprits);
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

/* Finds the offsets of the items of a side from the order where both meet, along the path, from its
 * end back: in the order behind a vertex, the items that begin there are replaced by those that
 * end, as the reduced tree allows. */
static void unwind(struct place_embed *embed, int side, int64_t *offsets)
{
    const struct place_side *own = &embed->sides[side];

    for (size_t k = embed->n_path; k-- > 0;) {
        const struct place_chosen *at = &embed->path[k];
        const int *begins = place_begins_of(own, at->front.step),
                  *ends = place_ends_of(own, at->front.step);
        int least = embed->component->n, n;

        if (at->side != side)
            continue;
        for (pq_bits set = at->vertex.begins; set; set &= set - 1)
            if (embed->keys[begins[place_lowest_bit(set)]] < least)
                least = embed->keys[begins[place_lowest_bit(set)]];
        for (pq_bits set = at->vertex.ends; set; set &= set - 1)
            embed->keys[ends[place_lowest_bit(set)]] = least;
        vbs_place_reduce(embed, own, &at->front, at->vertex.ends);
        n = vbs_place_pq_order(embed->reduced, embed->keys, embed->order);
        stack_up(embed, n, offsets);
    }
}

/* Finds all offsets, from the order in embed->order. */
static void find_offsets(struct place_embed *embed, int64_t *offsets)
{
    int n = 0;

    for (int i = 0; i < embed->component->n; i++)
        n += embed->sides[0].lives[i] && embed->sides[1].lives[i];
    memcpy(embed->met, embed->order, (size_t)n * sizeof *embed->met);
    for (int side = 0; side < 2; side++) {
        memcpy(embed->order, embed->met, (size_t)n * sizeof *embed->met);
        stack_up(embed, n, offsets);
        unwind(embed, side, offsets);
    }
}

/* ---- the search as a whole ---- */

static enum vbs_status allocate(struct place_embed *embed)
{
    size_t n = (size_t)embed->component->n;
    struct vbs_arena *arena = &embed->arena;

    embed->set.marked = vbs_arena_alloc(arena, n, sizeof *embed->set.marked);
    embed->set.n_within = vbs_arena_alloc(arena, 2 * n, sizeof *embed->set.n_within);
    embed->set.n_leaves = vbs_arena_alloc(arena, 2 * n, sizeof *embed->set.n_leaves);
    embed->reduced = vbs_arena_alloc(arena, 2 * n, sizeof *embed->reduced);
    embed->restricted[0] = vbs_arena_alloc(arena, 2 * n, sizeof *embed->restricted[0]);
    embed->restricted[1] = vbs_arena_alloc(arena, 2 * n, sizeof *embed->restricted[1]);
    embed->met = vbs_arena_alloc(arena, 2 * n, sizeof *embed->met);
    embed->order = vbs_arena_alloc(arena, n, sizeof *embed->order);
    embed->n_words = n / 64 + 1;
    embed->culprits = vbs_arena_alloc(arena, (n + 1) * embed->n_words, sizeof *embed->culprits);
    embed->blamed = vbs_arena_alloc(arena, embed->n_words, sizeof *embed->blamed);
    embed->traced = vbs_arena_alloc(arena, n, sizeof *embed->traced);
    embed->keys = vbs_arena_alloc(arena, n, sizeof *embed->keys);
    embed->bits = vbs_arena_alloc(arena, n, sizeof *embed->bits);
    embed->sets = vbs_arena_alloc(arena, 2 * MAX_SETS, sizeof *embed->sets);
    embed->memo = vbs_arena_alloc(arena, (size_t)1 << MEMO_BITS, sizeof *embed->memo);
    return vbs_place_allocate_side(embed, 0) && vbs_place_allocate_side(embed, 1) &&
                   embed->set.marked && embed->set.n_within && embed->set.n_leaves &&
                   embed->reduced && embed->restricted[0] && embed->restricted[1] && embed->met &&
                   embed->culprits && embed->blamed && embed->traced && embed->order &&
                   embed->keys && embed->bits && embed->sets && embed->memo
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
    vbs_place_set_side(embed, 0);
    vbs_place_set_side(embed, 1);
    embed->n_live = vbs_place_most_living(embed);
    embed->full = vbs_place_is_full(embed);
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

/* Begins a side with the items that begin at its first step. */
static void begin_side(struct place_embed *embed, struct place_state *state, int of)
{
    struct place_side *side = &embed->sides[of];
    struct place_front *front = &state->fronts[of];

    memset(side->n_living, 0, (size_t)embed->n_steps * sizeof *side->n_living);
    memset(side->lives, 0, (size_t)embed->component->n * sizeof *side->lives);
    memcpy(side->leaf_hashes, side->hashes,
           (size_t)embed->component->n * sizeof *side->leaf_hashes);
    front->tree = embed->n_trees;
    front->n_pairs = -1;
    front->n_ints = vbs_place_pq_make(embed->trees + front->tree, place_begins_of(side, 0),
                                      side->first_begin[1]);
    embed->n_trees += 2 * (size_t)embed->n_live; /* the tree may still become larger */
    go_on(embed, state, of);
}

/* Searches anew. */
static enum place_answer search_once(struct place_embed *embed)
{
    struct place_state state = {0};
    enum place_answer answer;

    memset(embed->memo, 0, sizeof *embed->memo << MEMO_BITS);
    embed->n_trees = embed->n_pairs = embed->n_path = 0;
    embed->partial = false;
    if (!GROW(embed, trees, 4 * embed->n_live))
        return PLACE_UNKNOWN;
    begin_side(embed, &state, 0);
    begin_side(embed, &state, 1);
    for (int of = 0; of < 2; of++)
        if (!look_ahead(embed, &state, of, place_begins_of(&embed->sides[of], 0),
                        embed->sides[of].first_begin[1]))
            return PLACE_REFUTED;
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

/* Gives a step of side 0 with many items that end and begin. */
static int choose_wall(struct place_embed *embed)
{
    const struct place_side *side = &embed->sides[0];
    double most = 0;
    int wall = 0;

    for (int s = 1; s + 1 < embed->n_steps; s++) {
        double n_ends = side->first_end[s + 1] - side->first_end[s];
        double n_begins = side->first_begin[s + 1] - side->first_begin[s];
        double score = (n_ends - 1) * (n_begins - 1);

        score *= 1 + embed->noise * (double)vbs_place_random(embed->search, 1024) / 256;
        if (score > most) {
            most = score;
            wall = s;
        }
    }
    return wall;
}

/* Gives the steps of the shortest run: enough to place all items several times. */
static int64_t least_steps(const struct place_component *component)
{
    return 1000 + (int64_t)component->n * component->n / 8;
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
        int kind = (int)(run % N_KINDS);

        if (run >= 2 * N_KINDS && kind == ON_FEWER)
            kind = ON_LAST; /* where the first runs failed, this hardly ever finds any */
        embed->only = kind == ON_FEWER || kind == AT_WALL ? -1 : kind % 2;
        embed->noise = run < 2 * N_KINDS ? 0 : 1;
        embed->weighs = run / N_KINDS % 2 == 1;
        embed->odds = 1;
        if (run >= 2 * N_KINDS)
            embed->odds =
                exp2(ODDS_BITS * (double)vbs_place_random(search, 1024) / 1024 - ODDS_BITS / 2.0);
        embed->jumps = run / (2 * N_KINDS) % 4 > 0;
        embed->wall = kind == AT_WALL ? choose_wall(embed) : 0;
        embed->last_step = search->n_steps + luby(run / (2 * N_KINDS) + 1) * least_steps(component);
        *answer = search_once(embed);
        if (embed->no_memory)
            return vbs_no_memory(search->ctx);
    }
    return *answer == PLACE_FOUND ? record_offsets(embed) : VBS_OK;
}
