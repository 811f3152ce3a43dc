/*
 * What may be tried in a state of an embedding (embed.c): the vertices that its tree and the sums
 * of bytes allow, and the order in which they are tried.
 */
#include "place/embed.h"

#include <stdlib.h>

#define MAX_SUMS   16384 /* sums of half of the items that begin, */
#define FEW_SUMS   256   /* and once there are too many of them */
#define MAX_LISTED (1 << 22)
#define MANY_PAIRS 256 /* pairs of a state, from which on those of more items are left out */
#define MAX_LARGE  8
#define MAX_PAIRS  4096 /* sets that are looked at while there are fewer pairs */

static int64_t sum_of(const struct place_embed *embed, const int *items, pq_bits set)
{
    int64_t sum = 0;

    for (; set; set &= set - 1)
        sum += place_item_of(embed, items[place_lowest_bit(set)])->height;
    return sum;
}

/* Gives the bits of the first n items. */
static pq_bits bits_below(int n)
{
    return n >= MAX_AT_STEP ? ~(pq_bits)0 : ((pq_bits)1 << n) - 1;
}

struct place_vertex vbs_place_all_of(const struct place_embed *embed, int step)
{
    return (struct place_vertex){
        bits_below(embed->first_end[step + 1] - embed->first_end[step]),
        bits_below(embed->first_begin[step + 1] - embed->first_begin[step])};
}

void vbs_place_mark(struct place_embed *embed, const int *items, pq_bits set, bool marked)
{
    embed->set.n_marked = marked ? place_count_bits(set) : 0;
    for (; set; set &= set - 1)
        embed->set.marked[items[place_lowest_bit(set)]] = marked;
}

int vbs_place_reduce(struct place_embed *embed, const struct place_state *state, pq_bits ends)
{
    const int *items = place_ends_of(embed, state->step);
    int n_ints;

    vbs_place_step(embed->search, 1 + state->n_ints / 16);
    vbs_place_mark(embed, items, ends, true);
    n_ints = vbs_place_pq_reduce(&embed->set, embed->trees + state->tree, embed->reduced);
    vbs_place_mark(embed, items, ends, false);
    return n_ints;
}

static int by_bytes(const void *a, const void *b)
{
    const struct place_set_sum *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->set > y->set) - (x->set < y->set);
}

/* Lists the sums of the subsets of some items, the empty one too, in ascending order. Returns their
 * number; of many items only `most` subsets, of the fewest, are listed. */
static int list_sums(struct place_embed *embed, const int *items, pq_bits of,
                     struct place_set_sum *sums, int most)
{
    int n = 1;

    sums[0] = (struct place_set_sum){0, 0};
    for (int k = 0; k < n && n < most; k++)
        for (pq_bits more = of; more && n < most; more &= more - 1) {
            pq_bits bit = more & -more;

            if (sums[k].set < bit)
                sums[n++] = (struct place_set_sum){
                    sums[k].bytes + place_item_of(embed, items[place_lowest_bit(bit)])->height,
                    sums[k].set | bit};
        }
    qsort(sums, (size_t)n, sizeof *sums, by_bytes);
    return n;
}

/* Finds the items before each one that are alike: of equal size and end. */
static void find_alike(const struct place_embed *embed, int step, struct place_halves *halves)
{
    const int *items = place_begins_of(embed, step);
    int n = embed->first_begin[step + 1] - embed->first_begin[step];

    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (embed->hashes[items[i]] == embed->hashes[items[j]]) {
                halves->alike[i] |= (pq_bits)1 << j;
                halves->any_alike |= (pq_bits)1 << i;
            }
}

/* Gives whether a set of items that begin has the first of those that are alike. */
static bool is_canonical(const struct place_halves *halves, pq_bits left, pq_bits set)
{
    for (pq_bits some = set & halves->any_alike; some; some &= some - 1)
        if (halves->alike[place_lowest_bit(some)] & left & ~set)
            return false;
    return true;
}

pq_bits vbs_place_firsts_of(const struct place_halves *halves, pq_bits left)
{
    pq_bits firsts = left;

    for (pq_bits some = left & halves->any_alike; some; some &= some - 1)
        if (halves->alike[place_lowest_bit(some)] & left)
            firsts &= ~(some & -some);
    return firsts;
}

/* Gives the sums of the items that begin at a step, in two halves; null: memory is out. */
static const struct place_halves *halves_of(struct place_embed *embed, int step)
{
    struct place_halves *halves = &embed->halves[embed->backwards][step];
    pq_bits half[2] = {vbs_place_all_of(embed, step).begins, 0};
    int most = embed->n_listed < MAX_LISTED ? MAX_SUMS : FEW_SUMS;

    if (halves->sums[0])
        return halves;
    for (int n = place_count_bits(half[0]) / 2; n > 0; n--) {
        half[1] |= half[0] & -half[0];
        half[0] &= half[0] - 1;
    }
    halves->complete = true;
    find_alike(embed, step, halves);
    for (int h = 0; h < 2; h++) {
        int n_bits = place_count_bits(half[h]);
        int n = n_bits < 30 && 1 << n_bits < most ? 1 << n_bits : most;
        struct place_set_sum *sums = vbs_arena_alloc(&embed->arena, (size_t)n, sizeof *sums);

        if (!sums) {
            embed->no_memory = true;
            return NULL;
        }
        halves->sums[h] = sums;
        halves->n[h] = list_sums(embed, place_begins_of(embed, step), half[h], sums, n);
        halves->complete = halves->complete && n_bits < 30 && n >> n_bits;
        embed->n_listed += n;
        vbs_place_step(embed->search, n / 16);
    }
    return halves;
}

/* Gives the number of items of a pair, or of the others that are left, if they are fewer. */
static int size_of(const struct place_state *state, struct place_vertex vertex)
{
    int n = place_count_bits(vertex.ends) + place_count_bits(vertex.begins);
    int n_left = place_count_bits(state->left.ends) + place_count_bits(state->left.begins);

    return n < n_left - n ? n : n_left - n;
}

/* Appends a pair. Once there are many, large ones are left out. */
static bool add_pair(struct place_embed *embed, const struct place_state *state,
                     const struct place_halves *halves, struct place_vertex vertex)
{
    if (!is_canonical(halves, state->left.begins, vertex.begins))
        return true;
    if (embed->n_pairs - embed->first_pair > MANY_PAIRS && size_of(state, vertex) > MAX_LARGE) {
        embed->left_out = true;
        return true;
    }
    if (!GROW(embed, pairs, 1))
        return false;
    embed->pairs[embed->n_pairs++] = (struct place_pair){vertex, 0};
    return true;
}

/* Appends the pairs of a set that ends with the sets of the same sum that begin: each consists of a
 * set out of one half of the items and a set out of the other. */
static bool add_pairs(struct place_embed *embed, const struct place_state *state,
                      const struct place_halves *halves, pq_bits ends)
{
    int64_t bytes = sum_of(embed, place_ends_of(embed, state->step), ends);
    const struct place_set_sum *one = halves->sums[0], *two = halves->sums[1];
    pq_bits gone = ~state->left.begins;

    if (ends == state->left.ends)
        return add_pair(embed, state, halves, state->left);
    vbs_place_step(embed->search, (halves->n[0] + halves->n[1]) / 64);
    for (int i = 0, j = halves->n[1] - 1; i < halves->n[0] && j >= 0;) {
        int64_t sum = one[i].bytes + two[j].bytes;

        if (one[i].set & gone) {
            i++;
            continue;
        }
        if (sum > bytes || two[j].set & gone) {
            j--;
            continue;
        }
        for (int k = j; sum == bytes && k >= 0 && two[k].bytes == two[j].bytes; k--)
            if (!(two[k].set & gone) &&
                !add_pair(embed, state, halves,
                          (struct place_vertex){ends, one[i].set | two[k].set}))
                return false;
        i++;
    }
    return true;
}

/* Gives whether one vertex has all items that are left. */
static bool is_single(const struct place_state *state)
{
    return place_count_bits(state->left.ends) == 1 || place_count_bits(state->left.begins) == 1;
}

static int by_count(const void *a, const void *b)
{
    pq_bits x = *(const pq_bits *)a, y = *(const pq_bits *)b;
    int n_x = place_count_bits(x), n_y = place_count_bits(y);

    return n_x != n_y ? n_x - n_y : (x > y) - (x < y);
}

bool vbs_place_list_pairs(struct place_embed *embed, const struct place_state *state,
                          bool *complete)
{
    const int *ends = place_ends_of(embed, state->step);
    const struct place_halves *halves = halves_of(embed, state->step);
    size_t first = embed->n_pairs;
    int n_sets;

    if (!halves)
        return false;
    embed->first_pair = first;
    embed->left_out = false;
    *complete = true;
    if (is_single(state))
        return !vbs_place_reduce(embed, state, state->left.ends) ||
               add_pair(embed, state, halves, state->left);
    vbs_place_step(embed->search, 4 + state->n_ints / 8);
    vbs_place_mark(embed, ends, state->left.ends, true);
    for (pq_bits set = state->left.ends; set; set &= set - 1)
        embed->bits[ends[place_lowest_bit(set)]] = set & -set;
    n_sets = vbs_place_pq_sets(&embed->set, embed->trees + state->tree, embed->bits, embed->sets,
                               embed->sets + MAX_SETS, MAX_SETS, complete);
    vbs_place_mark(embed, ends, state->left.ends, false);
    *complete = *complete && halves->complete;
    qsort(embed->sets, (size_t)n_sets, sizeof *embed->sets, by_count);
    for (int k = 0; k < n_sets; k++) {
        if (embed->n_pairs - first > MAX_PAIRS || embed->search->over) {
            *complete = false;
            break;
        }
        if (!add_pairs(embed, state, halves, embed->sets[k]))
            return false;
    }
    *complete = *complete && !embed->left_out;
    if (!*complete && vbs_place_reduce(embed, state, state->left.ends))
        return add_pair(embed, state, halves, state->left);
    return true;
}

static int by_key(const void *a, const void *b)
{
    const struct place_pair *x = a, *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

void vbs_place_keep_fewest(struct place_embed *embed, const struct place_state *state, size_t first,
                           bool complete)
{
    pq_bits firsts =
        vbs_place_firsts_of(&embed->halves[embed->backwards][state->step], state->left.begins);
    size_t fewest = SIZE_MAX, n = first;
    struct place_vertex best = {0};

    for (int side = 0; side < 2; side++)
        for (pq_bits left = side ? firsts : state->left.ends; left; left &= left - 1) {
            pq_bits bit = left & -left;
            size_t count = 0;

            for (size_t p = first; p < embed->n_pairs; p++)
                count += ((side ? embed->pairs[p].vertex.begins : embed->pairs[p].vertex.ends) &
                          bit) != 0;
            if (count < fewest && (count > 0 || complete)) {
                fewest = count;
                best = side ? (struct place_vertex){0, bit} : (struct place_vertex){bit, 0};
            }
        }
    for (size_t p = first; p < embed->n_pairs; p++) {
        struct place_pair pair = embed->pairs[p];
        double key = size_of(state, pair.vertex);

        if (complete && !(pair.vertex.ends & best.ends) && !(pair.vertex.begins & best.begins))
            continue;
        key *= 1 + embed->noise * (double)vbs_place_random(embed->search, 1024) / 1024;
        pair.key = (uint64_t)(key * (1 << 20)) + (n - first);
        embed->pairs[n++] = pair;
    }
    embed->n_pairs = n;
    qsort(embed->pairs + first, n - first, sizeof *embed->pairs, by_key);
    /* The pair of all items comes first now: its rest is empty. */
    if (n - first > 1 && embed->pairs[first].vertex.ends == state->left.ends) {
        struct place_pair all = embed->pairs[first];
        size_t to = first + (embed->noise > 0 ? vbs_place_random(embed->search, 3) : 1);

        for (size_t p = first; p < to && p + 1 < n; p++) {
            embed->pairs[p] = embed->pairs[p + 1];
            embed->pairs[p + 1] = all;
        }
    }
}
