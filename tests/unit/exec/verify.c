/*
 * The judge of layouts, against one that marks every byte in every slot: random buffers at random
 * addresses, with relocations and moves, of which about half are in each other's way.
 */
#include "exec/layout/layout.h"
#include "cases/random_profile.h"
#include "support/tap.h"

#include <stdlib.h>
#include <string.h>

#define SEED      31
#define N_LAYOUTS 20000
#define N_SLOTS   12
#define N_BYTES   40
#define MOST      6 /* items */

struct drawn {
    struct vbs_exec_buffers buffers;
    struct vbs_exec_layout layout;
    struct vbs_place_item items[MOST];
    struct vbs_place_rect rects[2 * MOST];
    int64_t limit;
};

/* Draws an item of one or two rects: two live one after the other, side by side. */
static void draw_item(gsl_rng *rng, struct drawn *d)
{
    int n = random_int(rng, 0, 2), lower = 0, offset = random_int(rng, 0, 3);

    d->items[d->buffers.n_items++] = (struct vbs_place_item){
        .first_rect = d->buffers.n_rects, .n_rects = n, .alignment = 1 << random_int(rng, 0, 2)};
    for (int i = 0; i < n; i++) {
        int size = random_int(rng, 1, 8);

        lower = random_int(rng, lower, N_SLOTS - 2);
        d->rects[d->buffers.n_rects++] =
            (struct vbs_place_rect){.lower = lower,
                                    .upper = random_int(rng, lower + 1, N_SLOTS),
                                    .offset = offset,
                                    .size = size};
        offset += size;
    }
}

/* Adds the addresses of an item: from step 0 on, and mostly no other. */
static bool draw_addresses(gsl_rng *rng, struct drawn *d, int item)
{
    int64_t alignment = d->items[item].alignment;
    int n = random_once_in(rng, 4) ? 2 : 1;

    for (int i = 0; i < n; i++) {
        int64_t base = random_int(rng, -1, N_BYTES / 4) * 4;

        if (random_once_in(rng, 30))
            base++;
        else
            base = base / alignment * alignment;
        if (!vbs_exec_layout_add(&d->layout, item,
                                 i == 0 ? random_once_in(rng, 40) : random_int(rng, 1, 4), base))
            return false;
    }
    return true;
}

static bool draw(gsl_rng *rng, struct drawn *d)
{
    int n = random_int(rng, 1, MOST);

    *d = (struct drawn){.limit = random_int(rng, N_BYTES / 2, N_BYTES + 12)};
    d->buffers.items = d->items;
    d->buffers.rects = d->rects;
    for (int i = 0; i < n; i++) {
        draw_item(rng, d);
        if (!draw_addresses(rng, d, i))
            return false;
    }
    if (random_once_in(rng, 8)) {
        const struct vbs_exec_move move = {.from = random_int(rng, -1, N_BYTES),
                                           .to = random_int(rng, -1, N_BYTES),
                                           .bytes = random_int(rng, 1, 12)};

        if (!vbs_exec_moves_add(&d->layout.moves, &move))
            return false;
    }
    return vbs_exec_layout_finish(NULL, &d->layout, &d->buffers) == VBS_OK;
}

/* Finds the base of an item in a slot by a look at all relocations; false: it has none. */
static bool find_base(const struct drawn *d, int item, int slot, int64_t *base)
{
    int64_t latest = -1;

    for (int t = 0; t < d->layout.n_relocations; t++) {
        const struct vbs_exec_relocation *at = &d->layout.relocations[t];

        if (at->item == item && 2 * at->step <= slot && at->step >= latest) {
            latest = at->step;
            *base = at->base;
        }
    }
    return latest >= 0;
}

/* Marks the bytes of a rect in a slot. Returns whether they are free, inside and aligned. */
static bool mark(const struct drawn *d, int item, const struct vbs_place_rect *rect, int slot,
                 bool *taken)
{
    int64_t base;

    if (!find_base(d, item, slot, &base) || base % d->items[item].alignment != 0)
        return false;
    for (int64_t b = base + rect->offset; b < base + rect->offset + rect->size; b++) {
        if (b < 0 || b >= d->limit || taken[b])
            return false;
        taken[b] = true;
    }
    return true;
}

static bool is_valid(const struct drawn *d)
{
    for (int m = 0; m < d->layout.moves.n; m++) {
        const struct vbs_exec_move *move = &d->layout.moves.moves[m];

        if (move->from < 0 || move->to < 0 || move->from + move->bytes > d->limit ||
            move->to + move->bytes > d->limit)
            return false;
    }
    for (int slot = 0; slot < N_SLOTS; slot++) {
        bool taken[2 * N_BYTES] = {false};

        for (int i = 0; i < d->buffers.n_items; i++)
            for (int64_t r = d->items[i].first_rect;
                 r < d->items[i].first_rect + d->items[i].n_rects; r++)
                if (d->rects[r].lower <= slot && slot < d->rects[r].upper &&
                    !mark(d, i, &d->rects[r], slot, taken))
                    return false;
    }
    return true;
}

/* Returns whether an item with bytes has no address at first. The judge refuses it also where none
 * of its bytes lives so early. */
static bool begins_late(const struct drawn *d)
{
    for (int i = 0; i < d->buffers.n_items; i++) {
        int64_t base;

        if (d->items[i].n_rects > 0 && !find_base(d, i, 0, &base))
            return true;
    }
    return false;
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    int n_valid = 0, n_wrong = 0, n_moved = 0;

    gsl_rng_set(rng, SEED);
    for (int i = 0; i < N_LAYOUTS; i++) {
        struct drawn d;
        bool valid = false, want;

        if (!draw(rng, &d) ||
            vbs_exec_layout_verify(NULL, &d.layout, &d.buffers, d.limit, &valid) != VBS_OK)
            bail_out("out of memory");
        want = is_valid(&d) && !begins_late(&d);
        n_valid += want;
        n_moved += want && d.layout.n_relocations > d.layout.n_items;
        n_wrong += valid != want;
        vbs_exec_layout_clear(&d.layout);
    }
    ok(n_wrong == 0, "%d random layouts: %d of them are judged otherwise than byte by byte",
       N_LAYOUTS, n_wrong);
    ok(n_valid > N_LAYOUTS / 10 && n_valid < N_LAYOUTS - N_LAYOUTS / 10 && n_moved > 100,
       "%d of them are valid, %d with relocations", n_valid, n_moved);
    gsl_rng_free(rng);
    return done_testing();
}
