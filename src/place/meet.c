/*
 * Where the two sides of a search of embeddings (embed.c) meet: whether the orders that their trees
 * allow the items of both are compatible.
 */
#include "place/embed.h"

/* Marks the items of a tree that are in that of the other side, too, or removes their marks;
 * returns their number. */
static int mark_common(struct place_embed *embed, const struct place_front *front,
                       const struct place_side *other, bool marked)
{
    const int *tree = embed->trees + front->tree;
    int n = 0;

    for (int at = 0; at < front->n_ints; at++)
        if (tree[at] >= 0 && other->lives[tree[at]]) {
            embed->set.marked[tree[at]] = marked;
            n++;
        }
    embed->set.n_marked = marked ? n : 0;
    return n;
}

/* Gives whether a tree allows all orders of n leaves. */
static bool is_free(const int *tree, int n_ints, int n)
{
    return n_ints == n + 1 && tree[0] % 2 == 0;
}

bool vbs_place_agree(struct place_embed *embed, const struct place_state *state, int *order)
{
    const struct place_front *fronts = state->fronts;
    int n = mark_common(embed, &fronts[0], &embed->sides[1], true), n_ints[2];

    for (int side = 0; side < 2; side++)
        n_ints[side] = vbs_place_pq_restrict(&embed->set, embed->trees + fronts[side].tree,
                                             embed->restricted[side]);
    mark_common(embed, &fronts[0], &embed->sides[1], false);
    if (!order && (n < 3 || is_free(embed->restricted[0], n_ints[0], n) ||
                   is_free(embed->restricted[1], n_ints[1], n)))
        return true;
    n_ints[0] = vbs_place_pq_meet(&embed->set, embed->restricted[0], embed->restricted[1],
                                  embed->met, embed->reduced);
    vbs_place_step(embed->search, 1 + n * n / 128);
    if (n_ints[0] == 0)
        return false;
    if (order)
        vbs_place_pq_order(embed->met, NULL, order);
    return true;
}
