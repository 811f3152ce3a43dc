/*
 * Embeddings while they are searched for: what embed.c, which searches, and vertices.c, which says
 * what may be tried, share. embed.c has the method. Internal to the room.
 */
#ifndef VBS_PLACE_EMBED_H
#define VBS_PLACE_EMBED_H

#include "place/internal.h"
#include "place/pq.h"

#include "base/grow.h"

#define MAX_AT_STEP 128  /* items that end or begin at a step within */
#define MAX_SETS    4096 /* sets of items that end, in one state */

/* Items of a step, by bits: some that end and some that begin. */
struct place_vertex {
    pq_bits ends, begins;
};

struct place_pair {
    struct place_vertex vertex;
    uint64_t key; /* pairs are tried in the order of keys */
};

struct place_set_sum {
    int64_t bytes;
    pq_bits set;
};

/* The sums of two halves of the items that begin at a step. */
struct place_halves {
    struct place_set_sum *sums[2];
    int n[2];
    bool complete;              /* all subsets are listed */
    pq_bits any_alike;          /* items that are alike to one before, by bits, */
    pq_bits alike[MAX_AT_STEP]; /* and these */
};

/* A state between two vertices: a tree of the living items, and what is left at the step. */
struct place_state {
    int step;
    size_t tree; /* index in trees */
    int n_ints;
    struct place_vertex left;
};

struct place_embed {
    struct place_search *search;
    struct place_component *component;
    struct vbs_arena arena;
    int n_steps, n_live;       /* steps of the component; most items that live at one */
    int *first_begin, *begins; /* [n_steps + 1], [n]: the items that begin at a step */
    int *first_end, *ends;     /* those that end */
    uint64_t *hashes;          /* [n], equal for items of equal size and end */
    struct pq_set set;
    int *end_step;                  /* [n] */
    int *n_living;                  /* [n_steps], items that live and end at a step */
    int *reduced, *order, *keys;    /* scratch */
    struct place_halves *halves[2]; /* [n_steps] in both directions, made when they are needed */
    size_t first_pair;              /* of the state */
    bool left_out;                  /* some of its pairs are not listed */
    int64_t n_listed;               /* sums in halves */
    pq_bits *bits;                  /* [n], of the items that end at the step */
    pq_bits *sets;                  /* [2 * MAX_SETS] */
    uint64_t *memo;
    bool full;      /* the living items fill the load at every step */
    bool backwards; /* from the last step to the first */
    bool jumps;     /* failures end more than the last vertex */
    bool partial;   /* not all possibilities were tried: nothing is refuted */
    double noise;   /* of the order of pairs */
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
    struct place_state *path; /* of the states from the first step on, with the vertex in left */
    size_t n_path;
    int64_t max_path;
    struct place_state last;
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

static inline int place_count_bits(pq_bits set)
{
    return __builtin_popcountll((uint64_t)set) + __builtin_popcountll((uint64_t)(set >> 64));
}

/* Gives the place of the lowest bit of a set, which is not empty. */
static inline int place_lowest_bit(pq_bits set)
{
    uint64_t low = (uint64_t)set;

    return low ? __builtin_ctzll(low) : 64 + __builtin_ctzll((uint64_t)(set >> 64));
}

static inline const int *place_ends_of(const struct place_embed *embed, int step)
{
    return embed->ends + embed->first_end[step];
}

static inline const int *place_begins_of(const struct place_embed *embed, int step)
{
    return embed->begins + embed->first_begin[step];
}

/* Gives all items that end and begin at a step. */
struct place_vertex vbs_place_all_of(const struct place_embed *embed, int step);

/* Marks some of the items, or removes their marks: they are the set that trees are reduced by. */
void vbs_place_mark(struct place_embed *embed, const int *items, pq_bits set, bool marked);

/* Reduces the tree of a state by items that end there; returns the ints of embed->reduced, or 0. */
int vbs_place_reduce(struct place_embed *embed, const struct place_state *state, pq_bits ends);

/* Gives the first ones of those items that are alike. */
pq_bits vbs_place_firsts_of(const struct place_halves *halves, pq_bits left);

/* Lists the vertices that are possible in a state; *complete: all of them. False: memory is out. */
bool vbs_place_list_pairs(struct place_embed *embed, const struct place_state *state,
                          bool *complete);

/* Keeps the pairs of the item that has the fewest, in the order in which they are tried; no pair
 * where some item has none. */
void vbs_place_keep_fewest(struct place_embed *embed, const struct place_state *state, size_t first,
                           bool complete);

#endif
