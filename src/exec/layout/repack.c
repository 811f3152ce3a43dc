#include "exec/layout/segment.h"

#include "base/clock.h"
#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_HORIZON 4 /* new buffers of a segment */

/* ---- the beginning ---- */

static struct life life_of(const struct vbs_exec_buffers *buffers, int i)
{
    const struct vbs_place_item *item = &buffers->items[i];
    struct life life = {.first = INT64_MAX, .end = -1, .moves = true};

    for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++) {
        const struct vbs_place_rect *rect = &buffers->rects[r];

        life.first = rect->lower < life.first ? rect->lower : life.first;
        life.end = rect->upper > life.end ? rect->upper : life.end;
    }
    return life;
}

/* Resident weights, which never move: at the bottom. */
static void place_residents(struct sweep *w)
{
    int64_t at = 0;

    for (int i = 0; i < w->buffers->n_piece_rects; i++) {
        const struct vbs_exec_piece *piece = &w->pieces->pieces[i];
        int item = w->buffers->first_piece_item + w->pieces->item_of[piece->load];
        int64_t alignment = w->buffers->items[item].alignment;
        int64_t first = w->buffers->items[item].first_rect;

        if (!piece->is_resident || w->lives[item].is_placed)
            continue;
        w->lives[item].is_placed = true;
        w->lives[item].moves = false;
        w->lives[item].base = (at + alignment - 1) / alignment * alignment;
        for (int64_t r = first; r < first + w->buffers->items[item].n_rects; r++) {
            int64_t end =
                w->lives[item].base + w->buffers->rects[r].offset + w->buffers->rects[r].size;

            at = end > at ? end : at;
        }
    }
}

struct key {
    int64_t first;
    int item;
};

static int compare_keys(const void *left, const void *right)
{
    const struct key *a = left, *b = right;

    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->item - b->item;
}

static bool sort_items(struct sweep *w)
{
    size_t n = (size_t)w->buffers->n_items;
    struct key *keys = malloc(n * sizeof *keys + 1);

    if (!keys)
        return false;
    for (size_t i = 0; i < n; i++) {
        w->lives[i] = life_of(w->buffers, (int)i);
        keys[i] = (struct key){w->lives[i].first, (int)i};
    }
    if (n > 0)
        qsort(keys, n, sizeof *keys, compare_keys);
    for (size_t i = 0; i < n; i++)
        w->order[i] = keys[i].item;
    free(keys);
    return true;
}

static enum vbs_status begin(struct sweep *w)
{
    size_t n = (size_t)w->buffers->n_items;

    w->lives = malloc(n * sizeof *w->lives + 1);
    w->order = malloc(n * sizeof *w->order + 1);
    w->members = malloc(n * sizeof *w->members + 1);
    w->items = malloc(n * sizeof *w->items + 1);
    w->best = malloc(n * sizeof *w->best + 1);
    w->bases = malloc(n * sizeof *w->bases + 1);
    w->blocks = malloc((size_t)w->buffers->n_rects * sizeof *w->blocks + 1);
    if (!w->lives || !w->order || !w->members || !w->items || !w->best || !w->bases || !w->blocks ||
        !sort_items(w))
        return vbs_no_memory(w->ctx);
    place_residents(w);
    return VBS_OK;
}

static void clear(struct sweep *w)
{
    free(w->lives);
    free(w->order);
    free(w->members);
    free(w->items);
    free(w->rects);
    free(w->best);
    free(w->bases);
    free(w->blocks);
}

/* ---- segments ---- */

static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;

    if (a->live_bytes != b->live_bytes)
        return a->live_bytes < b->live_bytes ? -1 : 1;
    return a->item - b->item;
}

/* Those that still live at the segment's beginning come first, by what they have to copy. */
static void gather(struct sweep *w)
{
    int n = 0;

    for (int i = 0; i < w->n_members; i++) {
        struct member *member = &w->members[n];
        int item = w->members[i].item;

        if (w->lives[item].end <= w->from)
            continue;
        *member = (struct member){.item = item};
        vbs_segment_enter(w, member);
        n++;
    }
    w->n_crossing = n;
    if (n > 0)
        qsort(w->members, (size_t)n, sizeof *w->members, compare_members);
    for (; w->next < w->buffers->n_items; w->next++) {
        int item = w->order[w->next];

        if (w->lives[item].first >= w->to)
            break;
        w->members[n++] = (struct member){.item = item,
                                          .part = w->lives[item].is_placed ? STAYS : FREE,
                                          .base = w->lives[item].base};
    }
    w->n_members = n;
}

/* The segment ends where least lives in it. False: it is as short as it can be. */
static bool shorten(struct sweep *w)
{
    int64_t best = -1;

    for (int64_t slot = w->from + 2; slot < w->to; slot += 2)
        if (best < 0 || w->load[slot] < w->load[best])
            best = slot;
    if (best < 0)
        return false;
    w->to = best;
    while (w->n_members > w->n_crossing &&
           w->lives[w->members[w->n_members - 1].item].first >= best) {
        w->n_members--;
        w->next--;
    }
    vbs_segment_stay(w);
    return true;
}

/* Everything is where the best placement has it. */
static enum vbs_status settle(struct sweep *w)
{
    for (int i = 0; i < w->n_members; i++) {
        const struct member *member = &w->members[i];
        struct life *life = &w->lives[member->item];
        bool is_new = i >= w->n_crossing;

        if ((is_new || w->best[i] != life->base) &&
            !vbs_exec_layout_add(w->layout, member->item, is_new ? 0 : w->from / 2, w->best[i]))
            return vbs_no_memory(w->ctx);
        life->base = w->best[i];
    }
    if (w->best_bytes > w->target_bytes)
        w->target_bytes = w->best_bytes;
    return VBS_OK;
}

/* The first slot of the next segment: where least lives in the second half of the horizon. */
static int64_t next_cut(const struct sweep *w)
{
    int far = w->next + w->horizon, near = w->next + w->horizon / 2;
    int64_t best = -1, first, last;

    if (far >= w->buffers->n_items || w->lives[w->order[far]].first >= w->n_slots)
        return w->n_slots;
    first = w->lives[w->order[near]].first;
    last = w->lives[w->order[far]].first;
    if (first < w->from + 2)
        first = w->from + 2;
    for (int64_t slot = first + first % 2; slot <= last || best < 0; slot += 2) {
        if (slot >= w->n_slots)
            return w->n_slots;
        if (best < 0 || w->load[slot] < w->load[best])
            best = slot;
    }
    return best;
}

/* As long as it is to be, or as far as it fits. */
static enum vbs_status place_segment(struct sweep *w)
{
    enum vbs_status status;

    w->to = next_cut(w);
    gather(w);
    w->n_kept_moves = w->layout->moves.n;
    w->horizon = 2 * w->horizon < w->most_horizon ? 2 * w->horizon : w->most_horizon;
    w->is_shortest = false;
    for (;;) {
        int n_new;

        status = vbs_segment_place(w);
        if (status != VBS_OK || (w->has_best && w->best_bytes <= w->target_bytes) || w->is_shortest)
            break;
        w->is_shortest = !shorten(w);
        if (w->is_shortest)
            continue;
        n_new = w->n_members - w->n_crossing;
        w->horizon = 2 * n_new > LEAST_HORIZON ? 2 * n_new : LEAST_HORIZON;
    }
    if (status == VBS_OK && !w->has_best) /* no order of moves was found, and all must move */
        return VBS_INFEASIBLE;
    return status == VBS_OK ? settle(w) : status;
}

/* ---- the whole ---- */

enum vbs_status vbs_exec_sweep(struct vbs_ctx *ctx, const struct vbs_exec_sweep *sweep,
                               struct vbs_exec_layout *layout)
{
    struct sweep w = {.ctx = ctx,
                      .buffers = sweep->buffers,
                      .pieces = sweep->pieces,
                      .load = sweep->load,
                      .n_slots = sweep->n_slots,
                      .target_bytes = sweep->target_bytes,
                      .horizon = sweep->horizon,
                      .most_horizon = sweep->horizon,
                      .end_s = vbs_clock_s() + sweep->limit_s,
                      .layout = layout};
    enum vbs_status status = begin(&w);

    for (w.from = 0; w.from < w.n_slots && status == VBS_OK; w.from = w.to)
        status = place_segment(&w);
    for (int i = w.next; i < sweep->buffers->n_items && status == VBS_OK; i++) /* without bytes */
        if (!vbs_exec_layout_add(layout, w.order[i], 0, 0))
            status = vbs_no_memory(ctx);
    if (status == VBS_OK)
        status = vbs_exec_layout_finish(ctx, layout, sweep->buffers);
    clear(&w);
    return status;
}
