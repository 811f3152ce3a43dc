/*
 * The two directions in which embeddings (embed.c) are searched: what begins and ends at each step.
 */
#include "place/embed.h"

#include "base/random.h"

#include <string.h>

struct place_vertex vbs_place_all_of(const struct place_side *side, int step)
{
    return (struct place_vertex){
        place_bits_below(side->first_end[step + 1] - side->first_end[step]),
        place_bits_below(side->first_begin[step + 1] - side->first_begin[step])};
}

bool vbs_place_is_full(const struct place_embed *embed)
{
    const struct place_side *side = &embed->sides[0];
    int64_t live = 0;

    for (int s = 0; s + 1 < embed->n_steps; s++) {
        for (int k = side->first_end[s]; k < side->first_end[s + 1]; k++)
            live -= place_item_of(embed, side->ends[k])->height;
        for (int k = side->first_begin[s]; k < side->first_begin[s + 1]; k++)
            live += place_item_of(embed, side->begins[k])->height;
        if (live != embed->component->load ||
            (s > 0 && (side->first_end[s + 1] - side->first_end[s] > MAX_AT_STEP ||
                       side->first_begin[s + 1] - side->first_begin[s] > MAX_AT_STEP)))
            return false;
    }
    return true;
}

/* Lists items by the step at which they begin or end, in the direction of a side. */
static void list_items(struct place_embed *embed, int of, bool ends)
{
    struct place_side *side = &embed->sides[of];
    int *first = ends ? side->first_end : side->first_begin;
    int *items = ends ? side->ends : side->begins, base = place_item_of(embed, 0)->lower;

    memset(first, 0, ((size_t)embed->n_steps + 2) * sizeof *first);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < embed->component->n; i++) {
            bool upper = ends != (of == 1);
            int step =
                (upper ? place_item_of(embed, i)->upper : place_item_of(embed, i)->lower) - base;

            step = of == 1 ? embed->n_steps - 1 - step : step;
            if (ends)
                side->end_step[i] = step;
            if (pass == 0)
                first[step + 2]++;
            else
                items[first[step + 1]++] = i;
        }
        for (int s = 0; s < embed->n_steps && pass == 0; s++)
            first[s + 2] += first[s + 1];
    }
}

int vbs_place_most_living(const struct place_embed *embed)
{
    const struct place_side *side = &embed->sides[0];
    int live = 0, most = 0;

    for (int s = 0; s < embed->n_steps; s++) {
        live += side->first_begin[s + 1] - side->first_begin[s];
        most = live > most ? live : most;
        live -= side->first_end[s + 1] - side->first_end[s];
    }
    return most;
}

void vbs_place_set_side(struct place_embed *embed, int of)
{
    struct place_side *side = &embed->sides[of];

    list_items(embed, of, false);
    list_items(embed, of, true);
    for (int i = 0; i < embed->component->n; i++) {
        const struct place_item *item = place_item_of(embed, i);

        side->hashes[i] = vbs_spread(vbs_spread((uint64_t)item->height) ^
                                     (uint64_t)(of == 1 ? item->lower : item->upper));
    }
}

bool vbs_place_allocate_side(struct place_embed *embed, int of)
{
    struct place_side *side = &embed->sides[of];
    size_t n = (size_t)embed->component->n, n_steps = (size_t)embed->n_steps;
    struct vbs_arena *arena = &embed->arena;

    side->first_begin = vbs_arena_alloc(arena, n_steps + 2, sizeof *side->first_begin);
    side->first_end = vbs_arena_alloc(arena, n_steps + 2, sizeof *side->first_end);
    side->begins = vbs_arena_alloc(arena, n, sizeof *side->begins);
    side->ends = vbs_arena_alloc(arena, n, sizeof *side->ends);
    side->end_step = vbs_arena_alloc(arena, n, sizeof *side->end_step);
    side->n_living = vbs_arena_alloc(arena, n_steps, sizeof *side->n_living);
    side->lives = vbs_arena_alloc(arena, n, sizeof *side->lives);
    side->hashes = vbs_arena_alloc(arena, n, sizeof *side->hashes);
    side->leaf_hashes = vbs_arena_alloc(arena, n, sizeof *side->leaf_hashes);
    side->halves = vbs_arena_alloc(arena, n_steps, sizeof *side->halves);
    return side->first_begin && side->first_end && side->begins && side->ends && side->end_step &&
           side->n_living && side->lives && side->hashes && side->leaf_hashes && side->halves;
}
