/* PQ-trees in arrays. Each call builds a new tree, which is as fast as changing one for the few
 * hundred leaves of placement problems. */
#include "place/pq.h"

#include "base/random.h"

#include <stdlib.h>
#include <string.h>

/* ---- nodes ---- */

static int extent_of(const int *tree, int node)
{
    return tree[node] >= 0 ? 1 : -tree[node] / 2;
}

static bool is_leaf(const int *tree, int node)
{
    return tree[node] >= 0;
}

static bool is_q(const int *tree, int node)
{
    return tree[node] < 0 && -tree[node] % 2;
}

static int end_of(const int *tree, int node)
{
    return node + extent_of(tree, node);
}

#define CHILDREN(child, tree, node)                                                                \
    int child = (node) + 1, child##_end = end_of(tree, node);                                      \
    child < child##_end;                                                                           \
    child = end_of(tree, child)

/* ---- writing a tree ---- */

struct pq_writer {
    const struct pq_set *set;
    const int *from; /* the tree that is read */
    int *to;
    int n; /* ints written */
};

static void copy_node(struct pq_writer *writer, int node)
{
    int extent = extent_of(writer->from, node);

    memcpy(writer->to + writer->n, writer->from + node, (size_t)extent * sizeof *writer->to);
    writer->n += extent;
}

/* Begins a node, whose children are written next; returns where it stands. */
static int begin_node(struct pq_writer *writer)
{
    return writer->n++;
}

/* Ends a node. One with two children is a P-node in any case. */
static void end_node(struct pq_writer *writer, int node, bool q)
{
    int n = 0;

    writer->to[node] = -2 * (writer->n - node);
    if (q)
        for (CHILDREN(child, writer->to, node))
            n++;
    writer->to[node] -= n > 2;
}

int vbs_place_pq_make(int *tree, const int *items, int n)
{
    struct pq_writer writer = {.to = tree};
    int root;

    if (n == 1) {
        tree[0] = items[0];
        return 1;
    }
    root = begin_node(&writer);
    for (int i = 0; i < n; i++)
        tree[writer.n++] = items[i];
    end_node(&writer, root, false);
    return writer.n;
}

/* ---- nodes and the set ---- */

enum share { NONE, SOME, ALL };

/* Gives the number of leaves below a node that are in the set. */
static int within_of(const struct pq_set *set, const int *tree, int node)
{
    return set->n_within[end_of(tree, node)] - set->n_within[node];
}

static enum share share_of(const struct pq_set *set, const int *tree, int node)
{
    int end = end_of(tree, node), n = set->n_within[end] - set->n_within[node];

    if (n == 0)
        return NONE;
    return n == set->n_leaves[end] - set->n_leaves[node] ? ALL : SOME;
}

/* Counts the leaves before each place of a tree, which tells how many are below a node. */
static void count_leaves(const struct pq_set *set, const int *tree)
{
    int end = extent_of(tree, 0), n_within = 0, n_leaves = 0;

    for (int at = 0; at < end; at++) {
        set->n_within[at] = n_within;
        set->n_leaves[at] = n_leaves;
        if (is_leaf(tree, at)) {
            n_within += set->marked[tree[at]];
            n_leaves++;
        }
    }
    set->n_within[end] = n_within;
    set->n_leaves[end] = n_leaves;
}

static int count_children(const struct pq_writer *writer, int node, enum share share)
{
    int n = 0;

    for (CHILDREN(child, writer->from, node))
        n += share_of(writer->set, writer->from, child) == share;
    return n;
}

/* Writes the children of which that share is in the set, below a P-node of their own if there are
 * several. */
static void write_group(struct pq_writer *writer, int node, enum share share)
{
    int n = count_children(writer, node, share), group = 0;

    if (n > 1)
        group = begin_node(writer);
    for (CHILDREN(child, writer->from, node))
        if (share_of(writer->set, writer->from, child) == share)
            copy_node(writer, child);
    if (n > 1)
        end_node(writer, group, false);
}

/* ---- reducing ---- */

static bool write_line(struct pq_writer *writer, int node, bool set_first);

/* Writes the child of a P-node that is partly in the set, if there is one. */
static bool write_partial(struct pq_writer *writer, int node, bool set_first)
{
    for (CHILDREN(child, writer->from, node))
        if (share_of(writer->set, writer->from, child) == SOME)
            return write_line(writer, child, set_first);
    return true;
}

/* Gives whether the children of a Q-node, from the first to the last, are outside the set, then at
 * most one partly inside, then inside; or the other way round (set_first). */
static bool is_sorted(const struct pq_writer *writer, int node, bool set_first)
{
    enum share last = set_first ? ALL : NONE;

    for (CHILDREN(child, writer->from, node)) {
        enum share share = share_of(writer->set, writer->from, child);

        if ((set_first ? share > last : share < last) || (share == SOME && last == SOME))
            return false;
        last = share;
    }
    return true;
}

/* Writes the children of a Q-node from the last to the first, or from the first to the last. */
static bool write_q_line(struct pq_writer *writer, int node, bool set_first, bool reverse)
{
    int end = end_of(writer->from, node), n = 0;

    for (CHILDREN(child, writer->from, node))
        n++;
    for (int k = 0; k < n; k++) {
        int child = node + 1;

        for (int before = reverse ? n - 1 - k : k; before > 0 && child < end; before--)
            child = end_of(writer->from, child);
        if (!write_line(writer, child, set_first))
            return false;
    }
    return true;
}

/* Writes a node as a sequence of nodes, first those outside the set, then those inside, or the
 * other way round. */
static bool write_line(struct pq_writer *writer, int node, bool set_first)
{
    if (share_of(writer->set, writer->from, node) != SOME) {
        copy_node(writer, node);
        return true;
    }
    if (is_q(writer->from, node)) {
        if (is_sorted(writer, node, set_first))
            return write_q_line(writer, node, set_first, false);
        return is_sorted(writer, node, !set_first) && write_q_line(writer, node, set_first, true);
    }
    if (count_children(writer, node, SOME) > 1)
        return false;
    write_group(writer, node, set_first ? ALL : NONE);
    if (!write_partial(writer, node, set_first))
        return false;
    write_group(writer, node, set_first ? NONE : ALL);
    return true;
}

/* Reduces a P-node that is the lowest one above the whole set. */
static bool reduce_p(struct pq_writer *writer, int node)
{
    int n_partial = count_children(writer, node, SOME), n_done = 0, root = 0, q;
    bool others = count_children(writer, node, NONE) > 0;

    if (n_partial > 2)
        return false;
    if (others) {
        root = begin_node(writer);
        for (CHILDREN(child, writer->from, node))
            if (share_of(writer->set, writer->from, child) == NONE)
                copy_node(writer, child);
    }
    if (n_partial == 0) {
        write_group(writer, node, ALL);
    } else {
        q = begin_node(writer);
        for (CHILDREN(child, writer->from, node))
            if (share_of(writer->set, writer->from, child) == SOME) {
                if (n_done++ == 1)
                    write_group(writer, node, ALL);
                if (!write_line(writer, child, n_done == 2))
                    return false;
            }
        if (n_done == 1)
            write_group(writer, node, ALL);
        end_node(writer, q, true);
    }
    if (others)
        end_node(writer, root, false);
    return true;
}

/* Reduces a Q-node that is the lowest one above the whole set. */
static bool reduce_q(struct pq_writer *writer, int node)
{
    enum { BEFORE, INSIDE, BEHIND } at = BEFORE;
    int q = begin_node(writer);

    for (CHILDREN(child, writer->from, node)) {
        enum share share = share_of(writer->set, writer->from, child);

        if (share == NONE) {
            at = at == BEFORE ? BEFORE : BEHIND;
            copy_node(writer, child);
            continue;
        }
        if (at == BEHIND || !write_line(writer, child, at == INSIDE))
            return false;
        at = share == SOME && at == INSIDE ? BEHIND : INSIDE;
    }
    end_node(writer, q, true);
    return true;
}

/* Writes the tree below node, of whose descendants one is to be reduced. */
static bool write_reduced(struct pq_writer *writer, int node)
{
    const int *from = writer->from;
    bool done = true;
    int at;

    if (share_of(writer->set, writer->from, node) != SOME) {
        copy_node(writer, node);
        return true;
    }
    for (CHILDREN(below, from, node)) {
        if (within_of(writer->set, from, below) < writer->set->n_marked)
            continue;
        at = begin_node(writer);
        for (CHILDREN(child, from, node))
            if (child == below)
                done = done && write_reduced(writer, child);
            else
                copy_node(writer, child);
        end_node(writer, at, is_q(from, node));
        return done;
    }
    return is_q(from, node) ? reduce_q(writer, node) : reduce_p(writer, node);
}

int vbs_place_pq_reduce(const struct pq_set *set, const int *tree, int *reduced)
{
    struct pq_writer writer = {set, tree, reduced, 0};

    count_leaves(set, tree);
    return write_reduced(&writer, 0) ? writer.n : 0;
}

/* ---- subsets ---- */

#define MAX_PARTS 128 /* as many as bits */

/* The subsets that are listed consist of nodes and runs of children of Q-nodes that lie in the set
 * as a whole: these cannot lie apart, and only the whole run counts. */

/* A child of a node that has some leaves in the set. */
struct pq_part {
    pq_bits whole;  /* its leaves, or 0 if not all of them are in the set */
    bool adjacent;  /* of a Q-node: follows the part before it */
    int first, end; /* of sides: its subsets that can lie at one end of it */
};

struct lister {
    const struct pq_set *set;
    const int *tree;
    const pq_bits *bits;
    pq_bits *subsets, *sides;
    int n, n_sides, most;
    bool full; /* not all are listed */
};

static void add_subset(struct lister *lister, pq_bits subset)
{
    if (lister->n < lister->most)
        lister->subsets[lister->n++] = subset;
    else
        lister->full = true;
}

static void add_side(struct lister *lister, pq_bits subset)
{
    if (lister->n_sides < lister->most)
        lister->sides[lister->n_sides++] = subset;
    else
        lister->full = true;
}

static pq_bits bits_of(const struct lister *lister, int node)
{
    int end = end_of(lister->tree, node);
    pq_bits bits = 0;

    for (int at = node; at < end; at++)
        if (is_leaf(lister->tree, at))
            bits |= lister->bits[lister->tree[at]];
    return bits;
}

static void list_sides(struct lister *lister, int node);

/* Lists the children of a node that have leaves in the set, with their sides. */
static int list_parts(struct lister *lister, int node, struct pq_part *parts)
{
    bool adjacent = false;
    int n = 0;

    for (CHILDREN(child, lister->tree, node)) {
        enum share share = share_of(lister->set, lister->tree, child);

        if (share != NONE && n < MAX_PARTS) {
            parts[n] = (struct pq_part){share == ALL ? bits_of(lister, child) : 0, adjacent,
                                        lister->n_sides, 0};
            list_sides(lister, child);
            parts[n++].end = lister->n_sides;
        }
        adjacent = share != NONE;
    }
    return n;
}

/* Appends the unions of some whole parts each, the empty one first, to the sides, where they are
 * for a while; returns their number. */
static int join_wholes(struct lister *lister, const struct pq_part *parts, int n)
{
    int first = lister->n_sides;

    add_side(lister, 0);
    for (int p = 0; p < n && !lister->full; p++) {
        int end = lister->n_sides;

        for (int k = first; parts[p].whole && k < end; k++)
            add_side(lister, lister->sides[k] | parts[p].whole);
    }
    return lister->n_sides - first;
}

static void list_p_sides(struct lister *lister, const struct pq_part *parts, int n)
{
    int first = lister->n_sides, n_joined = join_wholes(lister, parts, n);
    int end = lister->n_sides;

    for (int p = 0; p < n; p++)
        for (int s = parts[p].first; s < parts[p].end; s++)
            for (int k = first; k < end; k++)
                add_side(lister, lister->sides[k] | lister->sides[s]);
    if (n_joined > 0) /* the empty one is no side */
        lister->sides[first] = lister->sides[--lister->n_sides];
}

/* Lists the sides of a Q-node that lie at its last child, or at its first. */
static void list_q_sides(struct lister *lister, const struct pq_part *parts, int n, bool at_last)
{
    pq_bits bits = 0;

    for (int k = 0; k < n; k++) {
        const struct pq_part *part = &parts[at_last ? n - 1 - k : k];

        if (!part->whole)
            for (int s = part->first; s < part->end; s++)
                add_side(lister, bits | lister->sides[s]);
        bits |= part->whole;
        if (!part->whole || k + 1 == n || !(at_last ? part : part + 1)->adjacent)
            break;
    }
    if (bits)
        add_side(lister, bits);
}

static void list_own_sides(struct lister *lister, int node, const struct pq_part *parts, int n)
{
    enum share last = NONE;

    if (!is_q(lister->tree, node)) {
        list_p_sides(lister, parts, n);
        return;
    }
    for (CHILDREN(child, lister->tree, node))
        last = share_of(lister->set, lister->tree, child);
    if (share_of(lister->set, lister->tree, node + 1) != NONE)
        list_q_sides(lister, parts, n, false);
    if (last != NONE)
        list_q_sides(lister, parts, n, true);
}

/* Lists the subsets of the set that can lie at one end of the leaves of a node. */
static void list_sides(struct lister *lister, int node)
{
    struct pq_part parts[MAX_PARTS];
    int n, first = lister->n_sides, own;

    if (share_of(lister->set, lister->tree, node) != SOME)
        return;
    n = list_parts(lister, node, parts);
    own = lister->n_sides;
    list_own_sides(lister, node, parts, n);
    memmove(lister->sides + first, lister->sides + own,
            (size_t)(lister->n_sides - own) * sizeof *lister->sides);
    lister->n_sides += first - own;
}

/* Lists the subsets of children of a P-node: whole ones, and sides of two at most. */
static void list_p_subsets(struct lister *lister, const struct pq_part *parts, int n)
{
    int first = lister->n_sides, n_joined = join_wholes(lister, parts, n);
    const pq_bits *sides = lister->sides, *joined = sides + first;

    for (int k = 1; k < n_joined; k++)
        add_subset(lister, joined[k]);
    for (int p = 0; p < n; p++)
        for (int s = parts[p].first; s < parts[p].end; s++) {
            for (int k = 1; k < n_joined; k++)
                add_subset(lister, joined[k] | sides[s]);
            for (int q = p + 1; q < n; q++)
                for (int t = parts[q].first; t < parts[q].end; t++)
                    for (int k = 0; k < n_joined && !lister->full; k++)
                        add_subset(lister, joined[k] | sides[s] | sides[t]);
        }
    lister->n_sides = first;
}

/* Lists the runs of a Q-node that begin with some leaves of a part. */
static void list_runs(struct lister *lister, const struct pq_part *parts, int n, int p,
                      pq_bits bits)
{
    int last = p;

    while (last + 1 < n && parts[last + 1].adjacent && parts[last + 1].whole)
        bits |= parts[++last].whole;
    if (last > p || parts[p].whole)
        add_subset(lister, bits);
    if (last + 1 < n && parts[last + 1].adjacent)
        for (int t = parts[last + 1].first; t < parts[last + 1].end; t++)
            add_subset(lister, bits | lister->sides[t]);
}

static void list_q_subsets(struct lister *lister, const struct pq_part *parts, int n)
{
    for (int p = 0; p < n; p++)
        if (!parts[p].whole)
            for (int s = parts[p].first; s < parts[p].end; s++)
                list_runs(lister, parts, n, p, lister->sides[s]);
        else if (p == 0 || !parts[p].adjacent || !parts[p - 1].whole)
            list_runs(lister, parts, n, p, parts[p].whole);
}

static void list_subsets(struct lister *lister, int node)
{
    struct pq_part parts[MAX_PARTS];
    int n, n_sides = lister->n_sides;

    if (share_of(lister->set, lister->tree, node) == NONE)
        return;
    if (share_of(lister->set, lister->tree, node) == ALL) {
        add_subset(lister, bits_of(lister, node));
        return;
    }
    for (CHILDREN(child, lister->tree, node))
        if (share_of(lister->set, lister->tree, child) == SOME)
            list_subsets(lister, child);
    n = list_parts(lister, node, parts);
    if (is_q(lister->tree, node))
        list_q_subsets(lister, parts, n);
    else
        list_p_subsets(lister, parts, n);
    lister->n_sides = n_sides;
}

int vbs_place_pq_sets(const struct pq_set *set, const int *tree, const pq_bits *bits,
                      pq_bits *subsets, pq_bits *scratch, int most, bool *complete)
{
    struct lister lister = {set, tree, bits, subsets, scratch, 0, 0, most, false};

    count_leaves(set, tree);
    list_subsets(&lister, 0);
    *complete = !lister.full;
    return lister.n;
}

/* ---- replacing ---- */

struct replacement {
    const int *items;
    int n;
    bool done;
};

static void write_replaced(struct pq_writer *writer, int node, struct replacement *by)
{
    int at;

    if (share_of(writer->set, writer->from, node) == ALL) {
        if (!by->done)
            writer->n += vbs_place_pq_make(writer->to + writer->n, by->items, by->n);
        by->done = true;
        return;
    }
    if (share_of(writer->set, writer->from, node) == NONE) {
        copy_node(writer, node);
        return;
    }
    at = begin_node(writer);
    for (CHILDREN(child, writer->from, node))
        write_replaced(writer, child, by);
    end_node(writer, at, is_q(writer->from, node));
}

int vbs_place_pq_replace(const struct pq_set *set, const int *reduced, const int *items, int n,
                         int *tree)
{
    struct pq_writer writer = {set, reduced, tree, 0};
    struct replacement by = {items, n, false};

    count_leaves(set, reduced);
    write_replaced(&writer, 0, &by);
    return writer.n;
}

/* ---- restricting ---- */

static void write_kept(struct pq_writer *writer, int node)
{
    int n = 0, at;

    if (is_leaf(writer->from, node)) {
        copy_node(writer, node);
        return;
    }
    for (CHILDREN(child, writer->from, node))
        n += share_of(writer->set, writer->from, child) != NONE;
    at = n > 1 ? begin_node(writer) : 0;
    for (CHILDREN(child, writer->from, node))
        if (share_of(writer->set, writer->from, child) != NONE)
            write_kept(writer, child);
    if (n > 1)
        end_node(writer, at, is_q(writer->from, node));
}

int vbs_place_pq_restrict(const struct pq_set *set, const int *tree, int *restricted)
{
    struct pq_writer writer = {set, tree, restricted, 0};

    count_leaves(set, tree);
    if (within_of(set, tree, 0) > 0)
        write_kept(&writer, 0);
    return writer.n;
}

/* ---- meeting ---- */

/* Trees that are reduced one after the other. */
struct meeting {
    struct pq_set *set;
    const int *by;     /* the tree whose orders are kept */
    int *tree, *spare; /* the tree so far, and where the next one is written */
    int n;             /* its ints, or 0 */
};

/* Keeps the orders in which the leaves between two places of the tree `by` are consecutive. */
static void keep_consecutive(struct meeting *meeting, int begin, int end)
{
    int *last = meeting->tree;

    for (int at = begin; at < end; at++)
        if (is_leaf(meeting->by, at)) {
            meeting->set->marked[meeting->by[at]] = true;
            meeting->set->n_marked++;
        }
    meeting->n = vbs_place_pq_reduce(meeting->set, last, meeting->spare);
    meeting->tree = meeting->spare;
    meeting->spare = last;
    for (int at = begin; at < end; at++)
        if (is_leaf(meeting->by, at))
            meeting->set->marked[meeting->by[at]] = false;
    meeting->set->n_marked = 0;
}

/* Neighbours in a Q-node are consecutive, and so is what is below a P-node. */
int vbs_place_pq_meet(struct pq_set *set, const int *one, const int *two, int *met, int *scratch)
{
    struct meeting meeting = {set, two, met, scratch, extent_of(one, 0)};
    int end = end_of(two, 0);

    memcpy(met, one, (size_t)meeting.n * sizeof *met);
    for (int node = 0; node < end && meeting.n > 0; node++) {
        int before = -1;

        if (is_leaf(two, node))
            continue;
        if (!is_q(two, node) && node > 0)
            keep_consecutive(&meeting, node, end_of(two, node));
        if (!is_q(two, node))
            continue;
        for (CHILDREN(child, two, node)) {
            if (before >= 0 && meeting.n > 0)
                keep_consecutive(&meeting, before, end_of(two, child));
            before = child;
        }
    }
    if (meeting.n > 0 && meeting.tree != met)
        memcpy(met, meeting.tree, (size_t)meeting.n * sizeof *met);
    return meeting.n;
}

/* ---- orders ---- */

static int least_key(const int *tree, int node, const int *keys)
{
    int end = end_of(tree, node), least = -1;

    for (int at = node; at < end; at++)
        if (is_leaf(tree, at) && (least < 0 || keys[tree[at]] < least))
            least = keys[tree[at]];
    return least;
}

static int write_order(const int *tree, int node, const int *keys, int *order);

/* Writes the children of a P-node in the order of their least keys. */
static int write_sorted(const int *tree, int node, const int *keys, int *order)
{
    int n = 0, key = -1;

    for (;;) {
        int next = -1;

        for (CHILDREN(child, tree, node)) {
            int its = least_key(tree, child, keys);

            if (its > key && (next < 0 || its < next))
                next = its;
        }
        if (next < 0)
            return n;
        key = next;
        for (CHILDREN(child, tree, node))
            if (least_key(tree, child, keys) == key)
                n += write_order(tree, child, keys, order + n);
    }
}

static int write_reverse(const int *tree, int first, int end, const int *keys, int *order)
{
    int next = end_of(tree, first), n = 0;

    if (next < end)
        n = write_reverse(tree, next, end, keys, order);
    return n + write_order(tree, first, keys, order + n);
}

static int write_order(const int *tree, int node, const int *keys, int *order)
{
    int n = 0, last = node + 1;

    if (is_leaf(tree, node)) {
        order[0] = tree[node];
        return 1;
    }
    if (keys && !is_q(tree, node))
        return write_sorted(tree, node, keys, order);
    for (CHILDREN(child, tree, node))
        last = child;
    if (keys && least_key(tree, node + 1, keys) > least_key(tree, last, keys))
        return write_reverse(tree, node + 1, end_of(tree, node), keys, order);
    for (CHILDREN(child, tree, node))
        n += write_order(tree, child, keys, order + n);
    return n;
}

int vbs_place_pq_order(const int *tree, const int *keys, int *order)
{
    return write_order(tree, 0, keys, order);
}

static uint64_t hash_node(const int *tree, int node, const uint64_t *hashes)
{
    uint64_t up = 1, down = 0, sum = 0, power = 1;

    if (is_leaf(tree, node))
        return vbs_spread(hashes[tree[node]]);
    for (CHILDREN(child, tree, node)) {
        uint64_t hash = hash_node(tree, child, hashes);

        sum += hash;
        up = up * 0x9e3779b97f4a7c15u + hash;
        down += power * hash;
        power *= 0x9e3779b97f4a7c15u;
    }
    down += power;
    return vbs_spread(is_q(tree, node) ? vbs_spread(up) + vbs_spread(down) : sum + 1);
}

uint64_t vbs_place_pq_hash(const int *tree, const uint64_t *hashes)
{
    return hash_node(tree, 0, hashes);
}
