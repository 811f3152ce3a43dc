/*
 * PQ-trees (Booth and Lueker, "Testing for the consecutive ones property, interval graphs, and
 * graph planarity using PQ-tree algorithms", 1976). Internal to the room.
 *
 * A PQ-tree stands for a set of orders of its leaves. The children of a P-node may be in any order,
 * those of a Q-node in the given one or its reverse. Reducing a tree keeps exactly the orders in
 * which the leaves of a set are consecutive, if there are any.
 *
 * A tree is an array of ints, its nodes in preorder: a leaf is the number of an item; another node
 * is below 0 and tells its kind and how many ints it and its descendants take. A P-node has at
 * least two children, a Q-node at least three; so a tree of n leaves takes less than 2 n ints.
 * Calls take O(ints of the tree) time, but for those in which P-nodes are sorted.
 */
#ifndef VBSLAB_PLACE_PQ_H
#define VBSLAB_PLACE_PQ_H

#include <stdbool.h>
#include <stdint.h>

/* A set of up to 128 items, by bits. */
__extension__ typedef unsigned __int128 pq_bits;

/* What the calls need beside trees. */
struct pq_set {
    bool *marked; /* [items], the set */
    int n_marked; /* the number of its items, all of which are leaves of the tree */
    int *n_within,
        *n_leaves; /* scratch, [ints of the tree + 1]: leaves before a place, in the set and all */
};

/* Makes the tree of all orders of n items, n > 0; returns its ints. */
int vbs_place_pq_make(int *tree, const int *items, int n);

/* Writes the reduced tree to `reduced`; returns its ints, or 0 where no order is left. */
int vbs_place_pq_reduce(const struct pq_set *set, const int *tree, int *reduced);

/* Lists subsets of the set, of at most 128 items, as sums of the bits of their items: those that
 * are a run in some order of the tree, which means that they are consecutive and no other leaf of
 * the set lies beside them; and perhaps others that are consecutive. Returns their number, at most
 * `most`, each once; *complete: no run is left out. scratch: [most]. */
int vbs_place_pq_sets(const struct pq_set *set, const int *tree, const pq_bits *bits,
                      pq_bits *subsets, pq_bits *scratch, int most, bool *complete);

/* Replaces the leaves of the set by the tree of all orders of n items, n > 0, in a tree that was
 * reduced by the set; returns the ints of the new tree. */
int vbs_place_pq_replace(const struct pq_set *set, const int *reduced, const int *items, int n,
                         int *tree);

/* Writes the tree of the orders that the items of the set have in those of a tree; returns its
 * ints, or 0 where the set is empty. */
int vbs_place_pq_restrict(const struct pq_set *set, const int *tree, int *restricted);

/* Writes the tree of the orders that two trees of the same leaves have in common to `met`; returns
 * its ints, or 0 where there is none. set: changed, and empty before and after; scratch: [ints of
 * the tree]. O(ints of one tree) for each node of the other. */
int vbs_place_pq_meet(struct pq_set *set, const int *one, const int *two, int *met, int *scratch);

/* Writes an order of the tree. keys, by item: leaves in this order of keys if there is such an
 * order, with equal keys in any order among each other. Null: any. Returns the number of leaves. */
int vbs_place_pq_order(const int *tree, const int *keys, int *order);

/* Hashes a tree, given the hashes of items: trees of the same orders have the same hash. */
uint64_t vbs_place_pq_hash(const int *tree, const uint64_t *hashes);

#endif
