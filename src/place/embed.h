/*
 * Embeddings while they are searched for: what embed.c, which searches, vertices.c, which says
 * what may be tried, and the files that they use share. embed.c has the method. Internal to the
 * room.
 */
#ifndef VBS_PLACE_EMBED_H
#define VBS_PLACE_EMBED_H

#include "place/internal.h"
#include "place/pq.h"

#include "base/grow.h"

#define MAX_AT_STEP 128   /* items that end or begin at a step within */
#define MAX_SETS    4096  /* sets of items that end, in one state */
#define MAX_SUMS    16384 /* sums of half of the items that begin, */
#define FEW_SUMS    256   /* and once there are too many of them */

/* Items of a step, by bits: some that end and some that begin. */
struct place_vertex {
    pq_bits ends, begins;
};

struct place_pair {
    struct place_vertex vertex;
    double key; /* pairs are tried in the order of keys */
};

struct place_set_sum {
    int64_t bytes;
    int count; /* of its items */
    pq_bits set;
};

/* The items that begin at a step: sums of two halves of them, once they are needed. */
struct place_halves {
    struct place_set_sum *sums[2];
    int n[2];
    pq_bits of[2];              /* the items of a half */
    bool complete;              /* all subsets are listed */
    bool compared;              /* those that are alike are known */
    pq_bits any_alike;          /* items that are alike to one before, by bits, */
    pq_bits alike[MAX_AT_STEP]; /* and these */
};

/* One direction of time: side 0 goes from the first step to the last, side 1 back. Each counts the
 * steps from its own begin, and calls the ends of items in its own direction so. */
struct place_side {
    int *first_begin, *begins;   /* [n_steps + 1], [n]: the items that begin at a step */
    int *first_end, *ends;       /* those that end */
    int *end_step;               /* [n] */
    int *n_living;               /* [n_steps], items that live and end at a step */
    bool *lives;                 /* [n], items that are in the tree of the side */
    uint64_t *hashes;            /* [n], equal for items of equal size and end */
    uint64_t *leaf_hashes;       /* [n], the same, but unique for items in the other side's tree */
    struct place_halves *halves; /* [n_steps], made when they are needed */
};

/* How far a side is: a tree of the living items, and what is left at the step. */
struct place_front {
    int step;
    size_t tree; /* index in trees */
    int n_ints;
    struct place_vertex left;
    int n_pairs; /* the pairs that may be tried next, as counted before, or -1 */
};

/* A state between two vertices. */
struct place_state {
    struct place_front fronts[2];
};

/* A vertex that was chosen, and its front before. */
struct place_chosen {
    int side;
    struct place_front front;
    struct place_vertex vertex;
};

struct place_embed {
    struct place_search *search;
    struct place_component *component;
    struct vbs_arena arena;
    int n_steps, n_live; /* steps of the component; most items that live at one */
    struct place_side sides[2];
    struct pq_set set;
    int *reduced, *order, *keys;   /* scratch */
    int *restricted[2], *met;      /* scratch */
    size_t first_pair;             /* of the state */
    bool left_out;                 /* some of its pairs are not listed */
    double n_expected;             /* pairs of equal sums by chance */
    int max_size;                  /* pairs of more items are not listed */
    int n_looks;                   /* sums that were looked at for them */
    int64_t n_listed;              /* sums in halves */
    pq_bits *bits;                 /* [n], of the items that end or begin at the step */
    pq_bits *sets;                 /* [2 * MAX_SETS] */
    struct place_set_sum *runs;    /* [MAX_SETS], sets that begin; made when it is needed */
    struct place_set_sum *kept[2]; /* [MAX_SUMS], the sums of halves that are possible in the state;
                                      made when they are needed */
    int n_kept[2];
    uint64_t *memo;
    bool full;    /* the living items fill the load at every step */
    int only;     /* the side that all vertices are chosen on, or -1 */
    int wall;     /* the step of side 0 at which both sides are to meet, or 0 */
    bool jumps;   /* failures end more than the last vertex */
    bool partial; /* not all possibilities were tried: nothing is refuted */
    double noise; /* of the order of pairs */
    bool weighs;  /* pairs are tried by how likely they are, else small ones first */
    double odds;  /* of several vertices at a step, against one */
    unsigned n_runs;
    int64_t last_step;

    /* Vertices of the path that a failure is due to, as sets of bits. */
    size_t n_words;
    uint64_t *culprits; /* [n + 1][n_words], for each length of the path */
    uint64_t *blamed;   /* [n_words], of the last failure */
    bool *traced;       /* [n], scratch */
    int failed_step;    /* the step ahead at which it failed */

    int *trees;
    size_t n_trees;
    int64_t max_trees;
    struct place_pair *pairs;
    size_t n_pairs;
    int64_t max_pairs;
    struct place_chosen *path; /* in the order in which they were chosen */
    size_t n_path;
    int64_t max_path;
    bool no_memory;
};

static inline bool place_grow(struct place_embed *embed, void *array, int64_t *capacity,
                              size_t needed, size_t item_size)
{
    if ((int64_t)needed > *capacity &&
        vbs_grow(embed->search->ctx, array, capacity, (int64_t)needed, item_size) != VBS_OK)
        embed->no_memory = true;
    return (int64_t)needed <= *capacity;
}

#define GROW(embed, array, count)                                                                  \
    place_grow(embed, &(embed)->array, &(embed)->max_##array,                                      \
               (embed)->n_##array + (size_t)(count), sizeof *(embed)->array)

static inline const struct place_item *place_item_of(const struct place_embed *embed, int i)
{
    return &embed->search->items[embed->component->first + i];
}

/* Counts bits; a builtin would call a function where the processor is not known to have it. */
static inline int place_count_word(uint64_t set)
{
    set -= set >> 1 & 0x5555555555555555;
    set = (set & 0x3333333333333333) + (set >> 2 & 0x3333333333333333);
    return (int)(((set + (set >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101 >> 56);
}

static inline int place_count_bits(pq_bits set)
{
    return place_count_word((uint64_t)set) + place_count_word((uint64_t)(set >> 64));
}

/* Gives the bits of the first n items. */
static inline pq_bits place_bits_below(int n)
{
    return n >= MAX_AT_STEP ? ~(pq_bits)0 : ((pq_bits)1 << n) - 1;
}

/* Gives the place of the lowest bit of a set, which is not empty. */
static inline int place_lowest_bit(pq_bits set)
{
    uint64_t low = (uint64_t)set;

    return low ? __builtin_ctzll(low) : 64 + __builtin_ctzll((uint64_t)(set >> 64));
}

static inline const int *place_ends_of(const struct place_side *side, int step)
{
    return side->ends + side->first_end[step];
}

static inline const int *place_begins_of(const struct place_side *side, int step)
{
    return side->begins + side->first_begin[step];
}

/* ---- sides.c ---- */

/* Gives all items that end and begin at a step. */
struct place_vertex vbs_place_all_of(const struct place_side *side, int step);

/* Gives whether the living items fill the load at every step, and steps have few enough of them. */
bool vbs_place_is_full(const struct place_embed *embed);

/* Gives the most items that live until a step or from it on: while a step is changed vertex by
 * vertex, some of both are in the tree. */
int vbs_place_most_living(const struct place_embed *embed);

/* Allocates the arrays of a side; false: memory is out. */
bool vbs_place_allocate_side(struct place_embed *embed, int of);

/* Fills a side with the items in its direction. */
void vbs_place_set_side(struct place_embed *embed, int of);

/* ---- culprits.c ---- */

/* Begins a set of culprits for the vertex that is chosen next. */
uint64_t *vbs_place_clear_culprits(struct place_embed *embed);

/* The items that are in the trees of both fronts have no order in common: blames the vertices to
 * which they owe their places. */
void vbs_place_blame_common(struct place_embed *embed, const struct place_front *front);

/* The items that end at a step ahead of a side cannot: blames the vertices to which they owe their
 * places. */
void vbs_place_blame_ends(struct place_embed *embed, int side, int step);

/* No pair at the front of a side is left: blames the culprits of all, those to which the items at
 * the front owe their places, and those that were chosen at the same step. */
void vbs_place_blame_state(struct place_embed *embed, const struct place_state *state, int side,
                           uint64_t *culprits);

/* ---- vertices.c ---- */

/* Marks some of the items, or removes their marks: they are the set that trees are reduced by. */
void vbs_place_mark(struct place_embed *embed, const int *items, pq_bits set, bool marked);

/* Reduces the tree of a front by items that end there; returns the ints of embed->reduced, or 0. */
int vbs_place_reduce(struct place_embed *embed, const struct place_side *side,
                     const struct place_front *front, pq_bits ends);

/* Gives the first ones of those items that are alike; other: the other side. */
pq_bits vbs_place_firsts_of(const struct place_side *side, const struct place_side *other, int step,
                            pq_bits left);

/* Gives whether the front of the other side is just behind the step, so that its tree has all items
 * that begin there. */
bool vbs_place_is_adjacent(const struct place_embed *embed, const struct place_front *front,
                           const struct place_side *other, const struct place_front *beyond);

/* Lists the vertices that are possible at a front of that side; the state has the front of the
 * other one. *complete: all of them. False: memory is out. */
bool vbs_place_list_pairs(struct place_embed *embed, const struct place_state *state, int side,
                          const struct place_front *front, bool *complete);

/* Keeps the pairs of the item that has the fewest, in the order in which they are tried; no pair
 * where some item has none. */
void vbs_place_keep_fewest(struct place_embed *embed, int side, const struct place_front *front,
                           size_t first, bool complete);

/* ---- meet.c ---- */

/* Gives whether some order of the items that are in the trees of both fronts agrees with both. If
 * order is not null, the trees are of the same items, and one of the orders is written there. */
bool vbs_place_agree(struct place_embed *embed, const struct place_state *state, int *order);

#endif
