/*
 * Slow references for dp-vbs and dp-vbs+ on chains of layers and blocks: recursions over exact
 * budgets, one for each of the rules of cutting. They share no code with the library beyond reading
 * profiles, and end the program when memory is out.
 */
#ifndef TESTS_BRUTE_CHAIN_H
#define TESTS_BRUTE_CHAIN_H

#include "reference/plan/brute_force.h"

/*
 * Every sample goes through the items of a chain one after the other. An item is a layer; or a
 * block of branches, which run one after the other beside reserved_bytes (VBS III, "Generalization
 * to branched models"); or a subchain, whose cuts do not reach beyond it. All bytes are per sample.
 */
struct brute_item {
    int layer;              /* or 0 */
    int64_t step_bytes;     /* during a step of the layer, without its workspace */
    int64_t reserved_bytes; /* of a block */
    int n_branches;
    struct brute_chain *branches;
    struct brute_chain *subchain;
};

struct brute_chain {
    int n_items;
    struct brute_item *items;
    int64_t *cut_bytes; /* [n_items + 1] of a sample before the first item, ..., after the last */
    double *memo;       /* the results known so far; null at first */
};

enum brute_rule {
    BRUTE_PIVOTS,  /* recurrences 1, 2, 3 of VBS III */
    BRUTE_BARRIERS /* any cut between two items or two samples */
};

struct brute_cutting {
    const struct vbs_problem *problem;
    enum brute_rule rule;
    int64_t top_bytes; /* no larger budget changes anything */
};

/* Computes the least time of the problem's request on a chain; call brute_chain_forget before
 * another rule. HUGE_VAL: infeasible. */
double brute_chain_us(const struct brute_cutting *cutting, struct brute_chain *chain,
                      int64_t memory_bytes);
/* The least time of b samples on the items i..j of it, and of item k on b samples at once. */
double brute_part_us(const struct brute_cutting *cutting, struct brute_chain *chain, int i, int j,
                     int b, int64_t memory_bytes);
double brute_item_us(const struct brute_cutting *cutting, struct brute_chain *chain, int k, int b,
                     int64_t memory_bytes);
void brute_chain_forget(struct brute_chain *chain);
void brute_chain_free(struct brute_chain *chain); /* with all that is inside; the chain itself is
                                                     not freed */

/* Makes a line of the layers of any network in a topological order: the bytes that a sample keeps
 * alive between two layers, and during a step, counted sample by sample. */
struct brute_chain brute_line(const struct vbs_problem *problem, const int *order);

/* Gives the bytes of all tensors of the whole request and the largest workspace. */
int64_t brute_top_bytes(const struct vbs_problem *problem);

#endif
