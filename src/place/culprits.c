/*
 * Culprits: the vertices of the path that a failure of an embedding (embed.c) is due to.
 */
#include "place/embed.h"

#include <string.h>

/* Adds the vertices of a side on the path to which traced items owe their places to a set of
 * culprits: those at which they began, or those that ended there, and so on. */
static void add_origins(struct place_embed *embed, int side, uint64_t *culprits)
{
    for (size_t k = embed->n_path; k-- > 0;) {
        const struct place_chosen *chosen = &embed->path[k];
        const int *begins = place_begins_of(&embed->sides[side], chosen->front.step);
        bool origin = false;

        if (chosen->side != side)
            continue;
        for (pq_bits set = chosen->vertex.begins; set && !origin; set &= set - 1)
            origin = embed->traced[begins[place_lowest_bit(set)]];
        if (!origin)
            continue;
        culprits[k / 64] |= UINT64_C(1) << k % 64;
        for (pq_bits set = chosen->vertex.ends; set; set &= set - 1)
            embed->traced[place_ends_of(&embed->sides[side],
                                        chosen->front.step)[place_lowest_bit(set)]] = true;
    }
}

/* Traces some of the items to their origins on a side. */
static void trace(struct place_embed *embed, int side, const int *items, pq_bits of,
                  uint64_t *culprits)
{
    memset(embed->traced, 0, (size_t)embed->component->n * sizeof *embed->traced);
    for (pq_bits set = of; set; set &= set - 1)
        embed->traced[items[place_lowest_bit(set)]] = true;
    add_origins(embed, side, culprits);
}

void vbs_place_blame_common(struct place_embed *embed, const struct place_front *front)
{
    memset(embed->blamed, 0, embed->n_words * sizeof *embed->blamed);
    for (int side = 0; side < 2; side++) {
        const int *tree = embed->trees + front->tree;

        memset(embed->traced, 0, (size_t)embed->component->n * sizeof *embed->traced);
        for (int at = 0; at < front->n_ints; at++)
            if (tree[at] >= 0 && embed->sides[1].lives[tree[at]])
                embed->traced[tree[at]] = true;
        add_origins(embed, side, embed->blamed);
    }
}

void vbs_place_blame_ends(struct place_embed *embed, int side, int step)
{
    const struct place_side *own = &embed->sides[side];

    memset(embed->blamed, 0, embed->n_words * sizeof *embed->blamed);
    trace(embed, side, place_ends_of(own, step), vbs_place_all_of(own, step).ends, embed->blamed);
}

uint64_t *vbs_place_clear_culprits(struct place_embed *embed)
{
    uint64_t *culprits = embed->culprits + embed->n_path * embed->n_words;

    memset(culprits, 0, embed->n_words * sizeof *culprits);
    return culprits;
}

void vbs_place_blame_state(struct place_embed *embed, const struct place_state *state, int side,
                           uint64_t *culprits)
{
    const struct place_front *front = &state->fronts[side];
    const struct place_side *own = &embed->sides[side];

    trace(embed, side, place_ends_of(own, front->step), front->left.ends, culprits);
    if (vbs_place_is_adjacent(embed, front, &embed->sides[!side], &state->fronts[!side]))
        trace(embed, !side, place_begins_of(own, front->step), front->left.begins, culprits);
    for (size_t k = embed->n_path; k-- > 0;)
        if (embed->path[k].side == side) {
            if (embed->path[k].front.step != front->step)
                break;
            culprits[k / 64] |= UINT64_C(1) << k % 64;
        }
    culprits[embed->n_path / 64] &= ~(UINT64_C(1) << embed->n_path % 64);
    memcpy(embed->blamed, culprits, embed->n_words * sizeof *culprits);
}
