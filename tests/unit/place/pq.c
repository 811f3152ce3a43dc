/* PQ-trees against lists of all permutations. */
#include "support/tap.h"
#include "support/trials.h"

#include "place/pq.h"

#include <gsl/gsl_rng.h>
#include <stdlib.h>
#include <string.h>

#define SEED       8
#define N_TREES    400
#define LEAVES     6
#define ITEMS      (LEAVES + 3) /* with those that replace others */
#define MAX_ORDERS 5040         /* of 7 leaves */
#define MAX_INTS   (2 * ITEMS)
#define MAX_SETS   256

/* The orders that a tree should have. */
struct orders {
    int n, n_leaves;
    int leaf[MAX_ORDERS][ITEMS];
};

struct scratch {
    bool marked[ITEMS];
    int n_within[MAX_INTS], leaves[MAX_INTS];
};

static struct pq_set set_of(struct scratch *scratch, unsigned set)
{
    struct pq_set made = {scratch->marked, 0, scratch->n_within, scratch->leaves};

    for (int i = 0; i < ITEMS; i++) {
        scratch->marked[i] = set >> i & 1;
        made.n_marked += scratch->marked[i];
    }
    return made;
}

/* Appends all orders of items from place `at` on. */
static void permute(struct orders *orders, int *items, int at, int n)
{
    if (at == n) {
        memcpy(orders->leaf[orders->n++], items, (size_t)n * sizeof *items);
        return;
    }
    for (int i = at; i < n; i++) {
        int item = items[i];

        items[i] = items[at];
        items[at] = item;
        permute(orders, items, at + 1, n);
        items[at] = items[i];
        items[i] = item;
    }
}

/* Gives the runs of an order in which items of a set lie; -1 behind the last. */
static int next_run(const int *order, int n, unsigned set, int from, unsigned *run)
{
    *run = 0;
    while (from < n && !(set >> order[from] & 1))
        from++;
    for (; from < n && set >> order[from] & 1; from++)
        *run |= 1u << order[from];
    return *run ? from : -1;
}

static bool is_consecutive(const int *order, int n, unsigned set)
{
    unsigned run;

    return next_run(order, n, set, 0, &run) >= 0 && run == set;
}

static void keep_consecutive(struct orders *orders, unsigned set)
{
    int n = 0;

    for (int k = 0; k < orders->n; k++)
        if (is_consecutive(orders->leaf[k], orders->n_leaves, set))
            memmove(orders->leaf[n++], orders->leaf[k], sizeof orders->leaf[k]);
    orders->n = n;
}

/* Gives whether a tree allows exactly these orders, out of all orders of its leaves. */
static bool has_orders(const int *tree, const struct orders *orders, const struct orders *all)
{
    int n = 0;

    for (int k = 0; k < all->n; k++) {
        int keys[ITEMS] = {0}, order[ITEMS];

        for (int i = 0; i < all->n_leaves; i++)
            keys[all->leaf[k][i]] = i;
        if (vbs_place_pq_order(tree, keys, order) != all->n_leaves)
            return false;
        n += memcmp(order, all->leaf[k], (size_t)all->n_leaves * sizeof *order) == 0;
    }
    if (n != orders->n)
        return false;
    for (int k = 0; k < orders->n; k++) {
        int keys[ITEMS] = {0}, order[ITEMS];

        for (int i = 0; i < orders->n_leaves; i++)
            keys[orders->leaf[k][i]] = i;
        vbs_place_pq_order(tree, keys, order);
        if (memcmp(order, orders->leaf[k], (size_t)orders->n_leaves * sizeof *order))
            return false;
    }
    return true;
}

/* Gives whether the sets that are listed are those of runs of all orders, and perhaps others that
 * are consecutive in one. */
static bool has_sets(const int *tree, const struct orders *orders, unsigned set)
{
    static const pq_bits BITS[ITEMS] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
    pq_bits subsets[MAX_SETS], other[MAX_SETS];
    bool listed[1 << ITEMS] = {false}, complete;
    struct scratch scratch;
    struct pq_set marked = set_of(&scratch, set);
    int n = vbs_place_pq_sets(&marked, tree, BITS, subsets, other, MAX_SETS, &complete);

    for (int s = 0; s < n; s++) {
        bool found = false;

        for (int k = 0; k < orders->n && !found; k++)
            found = is_consecutive(orders->leaf[k], orders->n_leaves, (unsigned)subsets[s]);
        if (!found || listed[subsets[s]])
            return false;
        listed[subsets[s]] = true;
    }
    for (int k = 0; k < orders->n; k++) {
        unsigned run;

        for (int at = 0; (at = next_run(orders->leaf[k], orders->n_leaves, set, at, &run)) >= 0;)
            if (!listed[run])
                return false;
    }
    return complete;
}

/* Replaces the items of a set, which are consecutive, in all orders by all orders of new ones. */
static void replace(struct orders *orders, unsigned set, int *items, int n)
{
    static struct orders parts, made;
    int n_kept = 0;

    parts = (struct orders){.n_leaves = n};
    permute(&parts, items, 0, n);
    made = (struct orders){0};
    for (int k = 0; k < orders->n; k++) {
        int mixed[ITEMS], at = 0;

        for (int i = 0; i < orders->n_leaves; i++)
            if (!(set >> orders->leaf[k][i] & 1))
                mixed[at++] = orders->leaf[k][i];
            else if (i == 0 || !(set >> orders->leaf[k][i - 1] & 1))
                mixed[at++] = -1;
        for (n_kept = 0; n_kept < made.n; n_kept++) { /* each order of the others once */
            int i = 0, j = 0;

            for (; i < at; i++, j += mixed[i - 1] < 0 ? n : 1)
                if (mixed[i] >= 0 ? made.leaf[n_kept][j] != mixed[i]
                                  : made.leaf[n_kept][j] < LEAVES)
                    break;
            if (i == at)
                break;
        }
        if (n_kept < made.n)
            continue;
        made.n_leaves = at - 1 + n;
        for (int p = 0; p < parts.n; p++, made.n++)
            for (int i = 0, j = 0; i < at; i++) {
                if (mixed[i] < 0)
                    memcpy(made.leaf[made.n] + j, parts.leaf[p], (size_t)n * sizeof *items);
                else
                    made.leaf[made.n][j] = mixed[i];
                j += mixed[i] < 0 ? n : 1;
            }
    }
    *orders = made;
}

/* Hashes of trees, and of the lists of their orders. */
struct hashes {
    uint64_t tree[4 * N_TREES], orders[4 * N_TREES];
    int n;
};

static void add_hashes(struct hashes *hashes, const int *tree, const struct orders *orders)
{
    static const uint64_t ITEM_HASHES[LEAVES] = {11, 12, 13, 14, 15, 16};
    uint64_t hash = 14695981039346656037u; /* FNV-1a */

    for (int k = 0; k < orders->n; k++)
        for (int i = 0; i < orders->n_leaves; i++)
            hash = (hash ^ (uint64_t)orders->leaf[k][i]) * 1099511628211u;
    hashes->tree[hashes->n] = vbs_place_pq_hash(tree, ITEM_HASHES);
    hashes->orders[hashes->n++] = hash;
}

/* Gives whether the hashes of two trees are equal just where their orders are. */
static bool are_hashes_right(const struct hashes *hashes, int *n_equal)
{
    *n_equal = 0;
    for (int i = 0; i < hashes->n; i++)
        for (int j = 0; j < i; j++) {
            bool equal = hashes->orders[i] == hashes->orders[j];

            if (equal != (hashes->tree[i] == hashes->tree[j]))
                return false;
            *n_equal += equal;
        }
    return true;
}

/* Keeps the orders that are among others, too. */
static void keep_shared(struct orders *orders, const struct orders *others)
{
    int n = 0;

    for (int k = 0; k < orders->n; k++) {
        bool shared = false;

        for (int other = 0; other < others->n && !shared; other++)
            shared = memcmp(orders->leaf[k], others->leaf[other],
                            (size_t)orders->n_leaves * sizeof *orders->leaf[k]) == 0;
        if (shared)
            memmove(orders->leaf[n++], orders->leaf[k], sizeof orders->leaf[k]);
    }
    orders->n = n;
}

/* Keeps the items of a set in all orders, and each order once. */
static void restrict_to(struct orders *orders, unsigned set)
{
    int n_orders = 0;

    for (int k = 0; k < orders->n; k++) {
        int kept[ITEMS], n = 0, other = 0;

        for (int i = 0; i < orders->n_leaves; i++)
            if (set >> orders->leaf[k][i] & 1)
                kept[n++] = orders->leaf[k][i];
        while (other < n_orders && memcmp(orders->leaf[other], kept, (size_t)n * sizeof *kept) != 0)
            other++;
        memcpy(orders->leaf[other], kept, (size_t)n * sizeof *kept);
        n_orders += other == n_orders;
    }
    orders->n = n_orders;
    orders->n_leaves = __builtin_popcount(set);
}

/* Makes a tree of random sets, some of which it refuses, and its orders. */
static void make_random(gsl_rng *rng, const struct orders *all, int *tree, struct orders *orders)
{
    int reduced[MAX_INTS], n_sets = (int)gsl_rng_uniform_int(rng, 4);
    struct scratch scratch;

    *orders = *all;
    vbs_place_pq_make(tree, all->leaf[0], all->n_leaves);
    for (int k = 0; k < n_sets; k++) {
        unsigned set = 1 + (unsigned)gsl_rng_uniform_int(rng, (1 << LEAVES) - 1);
        struct pq_set marked = set_of(&scratch, set);

        if (vbs_place_pq_reduce(&marked, tree, reduced) == 0)
            continue;
        memcpy(tree, reduced, sizeof reduced);
        keep_consecutive(orders, set);
    }
}

/* Two random trees: what they have in common, and one of them restricted to a set. */
static bool check_two(gsl_rng *rng, int *n_apart)
{
    static struct orders all, one, two;
    int items[LEAVES] = {0, 1, 2, 3, 4, 5}, n = 0;
    int tree[2][MAX_INTS], met[MAX_INTS], other[MAX_INTS], restricted[MAX_INTS];
    unsigned kept = 1 + (unsigned)gsl_rng_uniform_int(rng, (1 << LEAVES) - 1);
    struct scratch scratch;
    struct pq_set set = set_of(&scratch, kept);
    bool good;

    all = (struct orders){.n_leaves = LEAVES};
    permute(&all, items, 0, LEAVES);
    make_random(rng, &all, tree[0], &one);
    make_random(rng, &all, tree[1], &two);
    vbs_place_pq_restrict(&set, tree[0], restricted);
    set = set_of(&scratch, 0);
    good = (vbs_place_pq_meet(&set, tree[0], tree[1], met, other) == 0) ==
           (keep_shared(&two, &one), two.n == 0);
    good = good && set.n_marked == 0 && (two.n == 0 || has_orders(met, &two, &all));
    *n_apart += two.n == 0;
    restrict_to(&one, kept);
    for (int i = 0; i < LEAVES; i++)
        if (kept >> i & 1)
            items[n++] = i;
    all = (struct orders){.n_leaves = n};
    permute(&all, items, 0, n);
    return good && has_orders(restricted, &one, &all);
}

/* Reduces a tree by random sets until no order is left, or some times, and replaces a set. */
static bool check_tree(gsl_rng *rng, struct hashes *hashes, int *n_refused)
{
    static struct orders orders, all;
    int items[LEAVES] = {0, 1, 2, 3, 4, 5}, others[3] = {LEAVES, LEAVES + 1, LEAVES + 2};
    int tree[MAX_INTS], reduced[MAX_INTS], n = LEAVES, n_new = 1 + (int)gsl_rng_uniform_int(rng, 3);
    struct scratch scratch;
    unsigned set = 0;

    all = (struct orders){.n_leaves = LEAVES};
    permute(&all, items, 0, LEAVES);
    orders = all;
    vbs_place_pq_make(tree, items, n);
    for (int round = 0; round < 4; round++) {
        struct pq_set marked;

        set = 1 + (unsigned)gsl_rng_uniform_int(rng, (1 << LEAVES) - 1);
        if (!has_sets(tree, &orders, set))
            return false;
        marked = set_of(&scratch, set);
        keep_consecutive(&orders, set);
        if ((vbs_place_pq_reduce(&marked, tree, reduced) == 0) != (orders.n == 0))
            return false;
        if (orders.n == 0) {
            ++*n_refused;
            return true;
        }
        memcpy(tree, reduced, sizeof tree);
        add_hashes(hashes, tree, &orders);
        if (!has_orders(tree, &orders, &all))
            return false;
    }
    if (LEAVES - __builtin_popcount(set) + n_new > 6)
        return true;
    {
        struct pq_set marked = set_of(&scratch, set);

        vbs_place_pq_replace(&marked, tree, others, n_new, reduced);
        replace(&orders, set, others, n_new);
        all = (struct orders){.n_leaves = orders.n_leaves};
        memcpy(items, orders.leaf[0], (size_t)orders.n_leaves * sizeof *items);
        permute(&all, items, 0, orders.n_leaves);
        return has_orders(reduced, &orders, &all);
    }
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    static struct hashes hashes;
    int n = trials_some(N_TREES), n_wrong = 0, n_refused = 0, n_equal;
    bool good;

    gsl_rng_set(rng, SEED);
    for (int k = 0; k < n; k++)
        n_wrong += !check_tree(rng, &hashes, &n_refused);
    ok(n_wrong == 0, "%d trees have the orders, and the runs, of lists of permutations (%d wrong)",
       n, n_wrong);
    ok(n_refused > n / 10 && n_refused < n, "  of %d no order is left", n_refused);
    n_wrong = n_refused = 0;
    for (int k = 0; k < n; k++)
        n_wrong += !check_two(rng, &n_refused);
    ok(n_wrong == 0 && n_refused > n / 10 && n_refused < n,
       "%d pairs of trees meet, and trees restricted to a set, as lists do (%d wrong; %d have no "
       "order in common)",
       n, n_wrong, n_refused);
    good = are_hashes_right(&hashes, &n_equal);
    ok(good && n_equal > 0,
       "  %d trees have equal hashes just where they have equal orders: %d pairs", hashes.n,
       n_equal);
    gsl_rng_free(rng);
    return done_testing();
}
