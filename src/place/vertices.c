/*
 * What may be tried in a state of an embedding (embed.c): the vertices that its tree and the sums
 * of bytes allow, and the order in which they are tried.
 */
#include "place/embed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LISTED (1 << 22)
#define MANY_PAIRS 256 /* pairs of a state, from which on those of more items are left out */
#define MAX_LARGE  8
#define MAX_PAIRS  2048      /* sets that are looked at while there are fewer pairs */
#define MAX_LOOKS  (1 << 16) /* equal sums that are looked at in one state */
#define N_SAMPLES  64        /* sets by which the number of pairs is estimated */
#define ANY_SIZE   (2 * MAX_AT_STEP)

/* Of this many pairs by chance only those of so many items are listed. */
static const struct {
    double n_expected;
    int size;
} MOST_ITEMS[] = {{1e5, 2}, {1e3, 3}, {200, 5}};

#define N_MOST_ITEMS ((int)(sizeof MOST_ITEMS / sizeof MOST_ITEMS[0]))

/* How likely pairs are, after 18 problems whose cuts are known: the more items a pair splits off,
 * the less so; and where none is expected by chance, one need not be right all the same. */
#define SIZE_POWER     1.6
#define LEAST_EXPECTED 0.15

static int64_t sum_of(const struct place_embed *embed, const int *items, pq_bits set)
{
    int64_t sum = 0;

    for (; set; set &= set - 1)
        sum += place_item_of(embed, items[place_lowest_bit(set)])->height;
    return sum;
}

void vbs_place_mark(struct place_embed *embed, const int *items, pq_bits set, bool marked)
{
    embed->set.n_marked = marked ? place_count_bits(set) : 0;
    for (; set; set &= set - 1)
        embed->set.marked[items[place_lowest_bit(set)]] = marked;
}

int vbs_place_reduce(struct place_embed *embed, const struct place_side *side,
                     const struct place_front *front, pq_bits ends)
{
    const int *items = place_ends_of(side, front->step);
    int n_ints;

    vbs_place_step(embed->search, 1 + front->n_ints / 16);
    vbs_place_mark(embed, items, ends, true);
    n_ints = vbs_place_pq_reduce(&embed->set, embed->trees + front->tree, embed->reduced);
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

    sums[0] = (struct place_set_sum){0};
    for (int k = 0; k < n && n < most; k++)
        for (pq_bits more = of; more && n < most; more &= more - 1) {
            pq_bits bit = more & -more;

            if (sums[k].set < bit)
                sums[n++] = (struct place_set_sum){
                    sums[k].bytes + place_item_of(embed, items[place_lowest_bit(bit)])->height,
                    sums[k].count + 1, sums[k].set | bit};
        }
    qsort(sums, (size_t)n, sizeof *sums, by_bytes);
    return n;
}

/* Finds the items before each one that are alike: of equal size and end. */
static void find_alike(const struct place_side *side, int step, struct place_halves *halves)
{
    const int *items = place_begins_of(side, step);
    int n = side->first_begin[step + 1] - side->first_begin[step];

    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (side->hashes[items[i]] == side->hashes[items[j]]) {
                halves->alike[i] |= (pq_bits)1 << j;
                halves->any_alike |= (pq_bits)1 << i;
            }
    halves->compared = true;
}

/* Gives those of the items left at a step that the other side has not placed: where it has, items
 * that are alike have different places. */
static pq_bits unplaced_of(const struct place_side *side, const struct place_side *other, int step,
                           pq_bits left)
{
    const int *items = place_begins_of(side, step);
    pq_bits unplaced = left;

    if (!side->halves[step].any_alike)
        return left;
    for (pq_bits set = left; set; set &= set - 1)
        if (other->lives[items[place_lowest_bit(set)]])
            unplaced &= ~(set & -set);
    return unplaced;
}

/* Gives whether a set of items that begin has the first of those that are alike. left: without
 * those that the other side has placed. */
static bool is_canonical(const struct place_halves *halves, pq_bits left, pq_bits set)
{
    for (pq_bits some = set & left & halves->any_alike; some; some &= some - 1)
        if (halves->alike[place_lowest_bit(some)] & left & ~set)
            return false;
    return true;
}

pq_bits vbs_place_firsts_of(const struct place_side *side, const struct place_side *other, int step,
                            pq_bits left)
{
    const struct place_halves *halves = &side->halves[step];
    pq_bits firsts = left, unplaced = unplaced_of(side, other, step, left);

    for (pq_bits some = unplaced & halves->any_alike; some; some &= some - 1)
        if (halves->alike[place_lowest_bit(some)] & unplaced)
            firsts &= ~(some & -some);
    return firsts;
}

/* Sums the items that begin at a step, in two halves. False: memory is out. */
static bool sum_halves(struct place_embed *embed, const struct place_side *side, int step)
{
    struct place_halves *halves = &side->halves[step];
    pq_bits half[2] = {vbs_place_all_of(side, step).begins, 0};
    int most = embed->n_listed < MAX_LISTED ? MAX_SUMS : FEW_SUMS;

    if (halves->sums[0])
        return true;
    for (int n = place_count_bits(half[0]) / 2; n > 0; n--) {
        half[1] |= half[0] & -half[0];
        half[0] &= half[0] - 1;
    }
    halves->complete = true;
    for (int h = 0; h < 2; h++) {
        int n_bits = place_count_bits(half[h]);
        int n = n_bits < 30 && 1 << n_bits < most ? 1 << n_bits : most;
        struct place_set_sum *sums = vbs_arena_alloc(&embed->arena, (size_t)n, sizeof *sums);

        if (!sums) {
            embed->no_memory = true;
            return false;
        }
        halves->sums[h] = sums;
        halves->of[h] = half[h];
        halves->n[h] = list_sums(embed, place_begins_of(side, step), half[h], sums, n);
        halves->complete = halves->complete && n_bits < 30 && n >> n_bits;
        embed->n_listed += n;
        vbs_place_step(embed->search, n / 16);
    }
    return true;
}

static int count_items(struct place_vertex vertex)
{
    return place_count_bits(vertex.ends) + place_count_bits(vertex.begins);
}

/* Gives the number of items of a pair, or of the others of all n_left, if they are fewer. */
static int smaller_part(int n, int n_left)
{
    return n < n_left - n ? n : n_left - n;
}

static int size_of(const struct place_front *front, struct place_vertex vertex)
{
    return smaller_part(count_items(vertex), count_items(front->left));
}

/* What pairs are listed for. */
struct place_listing {
    struct place_embed *embed;
    const struct place_side *side;
    const struct place_front *front;
    const struct place_halves *halves;
    int n_left;       /* items of the state */
    pq_bits unplaced; /* items that begin, without those that the other side has placed */
    int n_runs;       /* sets that begin, in embed->runs, if only these are possible; or -1 */
};

/* Gives whether a pair of n items may be listed. Once there are many pairs, large ones are left
 * out. */
static bool is_listed(const struct place_listing *listing, int n)
{
    const struct place_embed *embed = listing->embed;
    int size = smaller_part(n, listing->n_left);

    return size <= embed->max_size &&
           (size <= MAX_LARGE || embed->n_pairs - embed->first_pair <= MANY_PAIRS);
}

/* Appends a pair of n items, if it may be listed. */
static bool add_pair(const struct place_listing *listing, struct place_vertex vertex, int n)
{
    struct place_embed *embed = listing->embed;

    if (!is_listed(listing, n)) {
        embed->left_out = true;
        return true;
    }
    if (!is_canonical(listing->halves, listing->unplaced, vertex.begins))
        return true;
    if (!GROW(embed, pairs, 1))
        return false;
    embed->pairs[embed->n_pairs++] = (struct place_pair){vertex, 0};
    return true;
}

/* Appends the pairs of a set that ends with the runs of the same sum that begin. */
static bool add_runs(const struct place_listing *listing, pq_bits ends)
{
    struct place_embed *embed = listing->embed;
    int64_t bytes = sum_of(embed, place_ends_of(listing->side, listing->front->step), ends);
    int low = 0, high = listing->n_runs, n_ends = place_count_bits(ends);

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (embed->runs[middle].bytes < bytes)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < listing->n_runs && embed->runs[low].bytes == bytes; low++)
        if (!add_pair(listing, (struct place_vertex){ends, embed->runs[low].set},
                      n_ends + embed->runs[low].count))
            return false;
    return true;
}

/* Gives the index of the last sum that is not above a number of bytes, or -1. */
static int last_below(const struct place_set_sum *sums, int n, int64_t bytes)
{
    int low = 0, high = n;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (sums[middle].bytes <= bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

/* Keeps the sums of halves that are possible in the state: of items that are left, the first ones
 * of those that are alike, and neither so few nor so many that no listed pair has them. False:
 * memory is out. */
static bool keep_sums(const struct place_listing *listing)
{
    struct place_embed *embed = listing->embed;
    const struct place_halves *halves = listing->halves;
    pq_bits left = listing->front->left.begins;

    for (int h = 0; h < 2; h++) {
        const struct place_set_sum *sums = halves->sums[h];
        pq_bits unplaced = listing->unplaced & halves->of[h];
        int n_left = place_count_bits(left & halves->of[h]), n = 0;

        if (!embed->kept[h] &&
            !(embed->kept[h] = vbs_arena_alloc(&embed->arena, MAX_SUMS, sizeof *embed->kept[h]))) {
            embed->no_memory = true;
            return false;
        }
        for (int k = 0; k < halves->n[h]; k++) {
            if (sums[k].set & ~left || !is_canonical(halves, unplaced, sums[k].set))
                continue;
            if (sums[k].count >= embed->max_size && n_left - sums[k].count >= embed->max_size)
                embed->left_out = true;
            else
                embed->kept[h][n++] = sums[k];
        }
        embed->n_kept[h] = n;
        vbs_place_step(embed->search, halves->n[h] / 64);
    }
    return true;
}

/* Appends the pairs of a set that ends with the sets of the same sum that begin: each consists of a
 * set out of one half of the items and a set out of the other. */
static bool add_pairs(const struct place_listing *listing, pq_bits ends)
{
    struct place_embed *embed = listing->embed;
    const struct place_front *front = listing->front;
    int64_t bytes = sum_of(embed, place_ends_of(listing->side, front->step), ends);
    const struct place_set_sum *one = embed->kept[0], *two = embed->kept[1];
    int n_one = embed->n_kept[0], n_ends = place_count_bits(ends);

    if (ends == front->left.ends)
        return add_pair(listing, front->left, 0);
    vbs_place_step(embed->search, (embed->n_kept[0] + embed->n_kept[1]) / 64);
    for (int i = 0, j = last_below(two, embed->n_kept[1], bytes);
         i < n_one && j >= 0 && one[i].bytes <= bytes; i++) {
        while (j >= 0 && two[j].bytes > bytes - one[i].bytes)
            j--;
        for (int k = j; k >= 0 && two[k].bytes == bytes - one[i].bytes; k--) {
            if (++embed->n_looks > MAX_LOOKS) {
                embed->left_out = true;
                return true;
            }
            if (!add_pair(listing, (struct place_vertex){ends, one[i].set | two[k].set},
                          n_ends + one[i].count + two[k].count))
                return false;
        }
    }
    return true;
}

/* Gives whether one vertex has all items that are left. */
static bool is_single(const struct place_front *front)
{
    return place_count_bits(front->left.ends) == 1 || place_count_bits(front->left.begins) == 1;
}

/* Sorts sets by the number of their items. scratch: [n] */
static void sort_by_count(pq_bits *sets, int n, pq_bits *scratch)
{
    int first[MAX_AT_STEP + 2] = {0};

    for (int k = 0; k < n; k++)
        first[place_count_bits(sets[k]) + 1]++;
    for (int count = 0; count <= MAX_AT_STEP; count++)
        first[count + 1] += first[count];
    memcpy(scratch, sets, (size_t)n * sizeof *sets);
    for (int k = 0; k < n; k++)
        sets[first[place_count_bits(scratch[k])]++] = scratch[k];
}

/* Lists the runs of some items of a tree in embed->sets; returns their number. */
static int list_sets(struct place_embed *embed, const struct place_front *front, const int *items,
                     pq_bits of, bool *complete)
{
    int n;

    vbs_place_step(embed->search, 4 + front->n_ints / 8);
    vbs_place_mark(embed, items, of, true);
    for (pq_bits set = of; set; set &= set - 1)
        embed->bits[items[place_lowest_bit(set)]] = set & -set;
    n = vbs_place_pq_sets(&embed->set, embed->trees + front->tree, embed->bits, embed->sets,
                          embed->sets + MAX_SETS, MAX_SETS, complete);
    vbs_place_mark(embed, items, of, false);
    return n;
}

/* Lists the runs that begin in the tree of the other side. False: there are too many, or memory is
 * out. */
static bool list_runs(struct place_listing *listing, const struct place_front *beyond)
{
    struct place_embed *embed = listing->embed;
    const int *begins = place_begins_of(listing->side, listing->front->step);
    bool complete;
    int n;

    if (!embed->runs &&
        !(embed->runs = vbs_arena_alloc(&embed->arena, MAX_SETS, sizeof *embed->runs))) {
        embed->no_memory = true;
        return false;
    }
    n = list_sets(embed, beyond, begins, listing->front->left.begins, &complete);
    if (!complete)
        return false;
    for (int k = 0; k < n; k++)
        embed->runs[k] = (struct place_set_sum){sum_of(embed, begins, embed->sets[k]),
                                                place_count_bits(embed->sets[k]), embed->sets[k]};
    qsort(embed->runs, (size_t)n, sizeof *embed->runs, by_bytes);
    listing->n_runs = n;
    return true;
}

bool vbs_place_is_adjacent(const struct place_embed *embed, const struct place_front *front,
                           const struct place_side *other, const struct place_front *beyond)
{
    return front->step + beyond->step == embed->n_steps - 1 &&
           beyond->left.ends == vbs_place_all_of(other, beyond->step).ends;
}

/* Gives how many pairs of equal sums are expected by chance: the sums of the subsets that begin are
 * about normally distributed. */
static double expect_pairs(const struct place_listing *listing, int n_sets)
{
    const struct place_embed *embed = listing->embed;
    const struct place_front *front = listing->front;
    const int *ends = place_ends_of(listing->side, front->step);
    const int *begins = place_begins_of(listing->side, front->step);
    int n = n_sets < N_SAMPLES ? n_sets : N_SAMPLES;
    double mean = 0, variance = 0, density = 0, n_runs = listing->n_runs;

    for (pq_bits set = front->left.begins; set; set &= set - 1) {
        double bytes = (double)place_item_of(embed, begins[place_lowest_bit(set)])->height;

        mean += bytes / 2;
        variance += bytes * bytes / 4;
    }
    if (listing->n_runs < 0)
        n_runs = ldexp(1, place_count_bits(front->left.begins));
    for (int k = 0; k < n; k++) {
        pq_bits set = embed->sets[(int64_t)k * n_sets / n];
        double off = (double)sum_of(embed, ends, set) - mean;

        if (set != front->left.ends)
            density += exp(-off * off / (2 * variance));
    }
    return density * n_runs / sqrt(2 * M_PI * variance) * n_sets / (n > 0 ? n : 1);
}

/* Lists the pairs of a listing; *complete: all of them. */
static bool list_all(const struct place_listing *listing, bool *complete)
{
    struct place_embed *embed = listing->embed;
    const struct place_front *front = listing->front;
    int n_sets = list_sets(embed, front, place_ends_of(listing->side, front->step),
                           front->left.ends, complete);

    *complete = *complete && (listing->n_runs >= 0 || listing->halves->complete);
    embed->n_expected = embed->weighs ? expect_pairs(listing, n_sets) : 0;
    for (int k = 0; k < N_MOST_ITEMS && embed->max_size == ANY_SIZE; k++)
        if (embed->n_expected > MOST_ITEMS[k].n_expected)
            embed->max_size = MOST_ITEMS[k].size;
    sort_by_count(embed->sets, n_sets, embed->sets + MAX_SETS);
    if (listing->n_runs < 0 && !keep_sums(listing))
        return false;
    for (int k = 0; k < n_sets; k++) {
        int n = place_count_bits(embed->sets[k]);

        if (embed->n_pairs - embed->first_pair > MAX_PAIRS || embed->search->over) {
            *complete = false;
            break;
        }
        if (n > embed->max_size && place_count_bits(front->left.ends) - n > embed->max_size) {
            embed->left_out = true;
            continue;
        }
        if (!(listing->n_runs >= 0 ? add_runs : add_pairs)(listing, embed->sets[k]))
            return false;
    }
    vbs_place_step(embed->search, embed->n_looks / 64);
    *complete = *complete && !embed->left_out;
    return true;
}

bool vbs_place_list_pairs(struct place_embed *embed, const struct place_state *state, int side,
                          const struct place_front *front, bool *complete)
{
    const struct place_side *own = &embed->sides[side], *other = &embed->sides[!side];
    const struct place_front *beyond = &state->fronts[!side];
    struct place_listing listing = {
        embed, own, front, &own->halves[front->step], count_items(front->left), 0, -1};

    if (!listing.halves->compared)
        find_alike(own, front->step, &own->halves[front->step]);
    embed->max_size = ANY_SIZE;
    listing.unplaced = unplaced_of(own, other, front->step, front->left.begins);
    embed->first_pair = embed->n_pairs;
    embed->left_out = false;
    embed->n_looks = 0;
    *complete = true;
    if (is_single(front))
        return !vbs_place_reduce(embed, own, front, front->left.ends) ||
               add_pair(&listing, front->left, 0);
    if (!(vbs_place_is_adjacent(embed, front, other, beyond) && list_runs(&listing, beyond)) &&
        (embed->no_memory || !sum_halves(embed, own, front->step)))
        return false;
    if (!list_all(&listing, complete))
        return false;
    if (!*complete && vbs_place_reduce(embed, own, front, front->left.ends))
        return add_pair(&listing, front->left, 0);
    return true;
}

static int by_key(const void *a, const void *b)
{
    const struct place_pair *x = a, *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

/* Gives a number from the standard Gumbel distribution: the largest sum of it and the logarithm of
 * a weight belongs to each weight as often as the weight says. */
static double gumbel(struct place_embed *embed)
{
    return -log(-log(((double)vbs_place_random(embed->search, 1 << 20) + 0.5) / (1 << 20)));
}

static double share_of_size(int size)
{
    return pow(size, -SIZE_POWER);
}

/* Orders pairs by how likely they are. That a pair has equal sums by chance is the less likely the
 * fewer such pairs are expected; against it stands one vertex of all items that are left. */
static void sort_pairs(struct place_embed *embed, const struct place_front *front, size_t first,
                       size_t n_listed)
{
    double n_sizes[ANY_SIZE + 1] = {0}, shares = 0, odds;

    for (size_t p = first; p < embed->n_pairs; p++)
        n_sizes[size_of(front, embed->pairs[p].vertex)]++;
    for (int size = 1; size <= ANY_SIZE; size++)
        shares += n_sizes[size] > 0 ? share_of_size(size) : 0;
    odds = embed->odds * (double)n_listed / (embed->n_expected + LEAST_EXPECTED);
    for (size_t p = first; p < embed->n_pairs; p++) {
        struct place_pair *pair = &embed->pairs[p];
        int size = size_of(front, pair->vertex);
        double likely = size == 0 ? 0 : log(odds * share_of_size(size) / shares / n_sizes[size]);

        pair->key = -likely;
        if (embed->noise > 0)
            pair->key -= embed->noise * gumbel(embed);
    }
    qsort(embed->pairs + first, embed->n_pairs - first, sizeof *embed->pairs, by_key);
}

/* Orders pairs by the number of their items. All items that are left come second, as their rest is
 * empty, or among the first three. */
static void sort_by_size(struct place_embed *embed, const struct place_front *front, size_t first)
{
    size_t n = embed->n_pairs;

    for (size_t p = first; p < n; p++) {
        double key = size_of(front, embed->pairs[p].vertex);

        key *= 1 + embed->noise * (double)vbs_place_random(embed->search, 1024) / 1024;
        embed->pairs[p].key = key;
    }
    qsort(embed->pairs + first, n - first, sizeof *embed->pairs, by_key);
    if (embed->pairs[first].vertex.ends == front->left.ends) {
        struct place_pair all = embed->pairs[first];
        size_t to = first + (embed->noise > 0 ? vbs_place_random(embed->search, 3) : 1);

        for (size_t p = first; p < to && p + 1 < n; p++) {
            embed->pairs[p] = embed->pairs[p + 1];
            embed->pairs[p + 1] = all;
        }
    }
}

void vbs_place_keep_fewest(struct place_embed *embed, int side, const struct place_front *front,
                           size_t first, bool complete)
{
    pq_bits firsts = vbs_place_firsts_of(&embed->sides[side], &embed->sides[!side], front->step,
                                         front->left.begins);
    size_t fewest = SIZE_MAX, n = first, n_listed;
    struct place_vertex best = {0};
    size_t counts[2][MAX_AT_STEP] = {{0}};

    for (size_t p = first; p < embed->n_pairs; p++) {
        for (pq_bits set = embed->pairs[p].vertex.ends; set; set &= set - 1)
            counts[0][place_lowest_bit(set)]++;
        for (pq_bits set = embed->pairs[p].vertex.begins; set; set &= set - 1)
            counts[1][place_lowest_bit(set)]++;
    }
    for (int of = 0; of < 2; of++)
        for (pq_bits left = of ? firsts : front->left.ends; left; left &= left - 1) {
            pq_bits bit = left & -left;
            size_t count = counts[of][place_lowest_bit(left)];

            if (count < fewest && (count > 0 || complete)) {
                fewest = count;
                best = of ? (struct place_vertex){0, bit} : (struct place_vertex){bit, 0};
            }
        }
    for (size_t p = first; p < embed->n_pairs; p++) {
        struct place_pair pair = embed->pairs[p];

        if (complete && !(pair.vertex.ends & best.ends) && !(pair.vertex.begins & best.begins))
            continue;
        embed->pairs[n++] = pair;
    }
    n_listed = embed->n_pairs - first;
    embed->n_pairs = n;
    if (n - first > 1 && embed->weighs)
        sort_pairs(embed, front, first, n_listed);
    else if (n - first > 1)
        sort_by_size(embed, front, first);
}
