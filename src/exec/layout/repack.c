#include "exec/layout/segment.h"

#include "base/clock.h"
#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_WINDOW 4 /* new buffers of a segment */

struct repacking {
    const struct vbs_exec_repack_options *options;
    int *order; /* [n_items] by their first slot */
    int next;   /* index in order of the next item */
    int window; /* size of the next segment, which depends on how far the last ones reached */
    struct segment segment;
};

/* ---- the beginning ---- */

static struct item_state find_lifetime(const struct vbs_exec_buffers *buffers, int i)
{
    const struct vbs_place_item *item = &buffers->items[i];
    struct item_state state = {.first = INT64_MAX, .end = -1, .moves = true};

    for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++) {
        const struct vbs_place_rect *rect = &buffers->rects[r];

        state.first = rect->lower < state.first ? rect->lower : state.first;
        state.end = rect->upper > state.end ? rect->upper : state.end;
    }
    return state;
}

/* Returns the base of a resident item that begins at `at` or higher; on_top: that ends there or
 * lower. */
static int64_t resident_base(const struct vbs_place_item *item, const struct vbs_place_rect *rects,
                             int64_t at, bool on_top)
{
    int64_t end = 0;

    if (!on_top)
        return (at + item->alignment - 1) / item->alignment * item->alignment;
    for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++)
        end = rects[r].offset + rects[r].size > end ? rects[r].offset + rects[r].size : end;
    return at < end ? -1 : (at - end) / item->alignment * item->alignment;
}

/* Places resident weights, which never move, at the bottom or on top. False: they do not fit
 * there. */
static bool place_residents(struct repacking *w)
{
    const struct vbs_exec_buffers *buffers = w->segment.problem.buffers;
    const struct vbs_exec_blocks *blocks = w->segment.problem.blocks;
    bool on_top = w->options->residents_on_top;
    int64_t at = on_top ? w->options->target_bytes : 0;

    for (int i = 0; i < buffers->n_block_rects; i++) {
        int item = buffers->first_block_item + blocks->item_of[blocks->blocks[i].load];
        const struct vbs_place_item *placed = &buffers->items[item];
        struct item_state *state = &w->segment.problem.items[item];

        if (!blocks->blocks[i].is_resident || state->is_placed)
            continue;
        state->is_placed = true;
        state->moves = false;
        state->base = resident_base(placed, buffers->rects, at, on_top);
        if (state->base < 0)
            return false;
        at = on_top ? state->base : at;
        for (int64_t r = placed->first_rect; r < placed->first_rect + placed->n_rects; r++) {
            int64_t end = state->base + buffers->rects[r].offset + buffers->rects[r].size;

            at = !on_top && end > at ? end : at;
        }
    }
    return true;
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

static bool sort_items(struct repacking *w)
{
    size_t n = (size_t)w->segment.problem.buffers->n_items;
    struct key *keys = malloc(n * sizeof *keys + 1);

    if (!keys)
        return false;
    for (size_t i = 0; i < n; i++) {
        w->segment.problem.items[i] = find_lifetime(w->segment.problem.buffers, (int)i);
        keys[i] = (struct key){w->segment.problem.items[i].first, (int)i};
    }
    if (n > 0)
        qsort(keys, n, sizeof *keys, compare_keys);
    for (size_t i = 0; i < n; i++)
        w->order[i] = keys[i].item;
    free(keys);
    return true;
}

static enum vbs_status begin_repacking(struct repacking *w)
{
    size_t n = (size_t)w->segment.problem.buffers->n_items;

    w->segment.problem.items = malloc(n * sizeof *w->segment.problem.items + 1);
    w->order = malloc(n * sizeof *w->order + 1);
    w->segment.problem.members = malloc(n * sizeof *w->segment.problem.members + 1);
    w->segment.scratch.items = malloc(n * sizeof *w->segment.scratch.items + 1);
    w->segment.incumbent.bases = malloc(n * sizeof *w->segment.incumbent.bases + 1);
    w->segment.scratch.bases = malloc(n * sizeof *w->segment.scratch.bases + 1);
    w->segment.scratch.shifts =
        malloc((size_t)w->segment.problem.buffers->n_rects * sizeof *w->segment.scratch.shifts + 1);
    if (!w->segment.problem.items || !w->order || !w->segment.problem.members ||
        !w->segment.scratch.items || !w->segment.incumbent.bases || !w->segment.scratch.bases ||
        !w->segment.scratch.shifts || !sort_items(w))
        return vbs_no_memory(w->segment.ctx);
    return place_residents(w) ? VBS_OK : VBS_INFEASIBLE;
}

static void clear(struct repacking *w)
{
    free(w->segment.problem.items);
    free(w->order);
    free(w->segment.problem.members);
    free(w->segment.scratch.items);
    free(w->segment.scratch.rects);
    free(w->segment.incumbent.bases);
    free(w->segment.scratch.bases);
    free(w->segment.scratch.shifts);
}

/* ---- segments ---- */

static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;

    if (a->live_bytes != b->live_bytes)
        return a->live_bytes < b->live_bytes ? -1 : 1;
    return a->item - b->item;
}

/* Gathers the members of the segment. Those that live at its beginning come first, sorted by the
 * bytes that a relocation would copy. */
static void gather(struct repacking *w)
{
    int n = 0;

    for (int i = 0; i < w->segment.problem.n_members; i++) {
        struct member *member = &w->segment.problem.members[n];
        int item = w->segment.problem.members[i].item;

        if (w->segment.problem.items[item].end <= w->segment.problem.from)
            continue;
        *member = (struct member){.item = item};
        vbs_segment_enter(&w->segment, member);
        n++;
    }
    w->segment.problem.n_crossing = n;
    if (n > 0)
        qsort(w->segment.problem.members, (size_t)n, sizeof *w->segment.problem.members,
              compare_members);
    for (; w->next < w->segment.problem.buffers->n_items; w->next++) {
        int item = w->order[w->next];

        if (w->segment.problem.items[item].first >= w->segment.problem.to)
            break;
        w->segment.problem.members[n++] =
            (struct member){.item = item,
                            .role = w->segment.problem.items[item].is_placed ? STAYS : FREE,
                            .base = w->segment.problem.items[item].base};
    }
    w->segment.problem.n_members = n;
}

/* Cuts the segment off where the fewest bytes live in it. False: it cannot be shorter. */
static bool shorten(struct repacking *w)
{
    int64_t best = -1;

    for (int64_t slot = w->segment.problem.from + 2; slot < w->segment.problem.to; slot += 2)
        if (best < 0 || w->options->load[slot] < w->options->load[best])
            best = slot;
    if (best < 0)
        return false;
    w->segment.problem.to = best;
    while (
        w->segment.problem.n_members > w->segment.problem.n_crossing &&
        w->segment.problem.items[w->segment.problem.members[w->segment.problem.n_members - 1].item]
                .first >= best) {
        w->segment.problem.n_members--;
        w->next--;
    }
    vbs_segment_stay(&w->segment);
    return true;
}

/* Takes over the addresses of the incumbent. */
static enum vbs_status settle(struct repacking *w)
{
    for (int i = 0; i < w->segment.problem.n_members; i++) {
        const struct member *member = &w->segment.problem.members[i];
        struct item_state *state = &w->segment.problem.items[member->item];
        bool is_new = i >= w->segment.problem.n_crossing;

        if ((is_new || w->segment.incumbent.bases[i] != state->base) &&
            !vbs_exec_layout_add(w->segment.layout, member->item,
                                 is_new ? 0 : w->segment.problem.from / 2,
                                 w->segment.incumbent.bases[i]))
            return vbs_no_memory(w->segment.ctx);
        state->base = w->segment.incumbent.bases[i];
    }
    if (w->segment.incumbent.height_bytes > w->segment.options.target_bytes)
        w->segment.options.target_bytes = w->segment.incumbent.height_bytes;
    return VBS_OK;
}

/* Gives the first slot of the next segment: where the fewest bytes live in the second half of the
 * window. */
static int64_t next_cut(const struct repacking *w)
{
    int far = w->next + w->window, near = w->next + w->window / 2;
    int64_t best = -1, first, last;

    if (far >= w->segment.problem.buffers->n_items ||
        w->segment.problem.items[w->order[far]].first >= w->options->n_slots)
        return w->options->n_slots;
    first = w->segment.problem.items[w->order[near]].first;
    last = w->segment.problem.items[w->order[far]].first;
    if (first < w->segment.problem.from + 2)
        first = w->segment.problem.from + 2;
    for (int64_t slot = first + first % 2; slot <= last || best < 0; slot += 2) {
        if (slot >= w->options->n_slots)
            return w->options->n_slots;
        if (best < 0 || w->options->load[slot] < w->options->load[best])
            best = slot;
    }
    return best;
}

/* Places a segment of the size of the window, or of the part of it that fits. */
static enum vbs_status place_segment(struct repacking *w)
{
    enum vbs_status status;

    w->segment.problem.to = next_cut(w);
    gather(w);
    w->segment.options.n_kept_moves = w->segment.layout->moves.n;
    w->window = 2 * w->window < w->options->window ? 2 * w->window : w->options->window;
    w->segment.options.is_shortest = false;
    for (;;) {
        int n_new;

        status = vbs_segment_place(&w->segment);
        if (status != VBS_OK ||
            (w->segment.incumbent.exists &&
             w->segment.incumbent.height_bytes <= w->segment.options.target_bytes) ||
            w->segment.options.is_shortest)
            break;
        w->segment.options.is_shortest = !shorten(w);
        if (w->segment.options.is_shortest)
            continue;
        n_new = w->segment.problem.n_members - w->segment.problem.n_crossing;
        w->window = 2 * n_new > LEAST_WINDOW ? 2 * n_new : LEAST_WINDOW;
    }
    if (status != VBS_OK)
        return status;
    if (!w->segment.incumbent.exists) /* no order of moves was found, so that all members must
                                         move */
        return VBS_INFEASIBLE;
    return settle(w);
}

/* ---- the whole ---- */

enum vbs_status vbs_exec_repack(struct vbs_ctx *ctx, const struct vbs_exec_repack_options *options,
                                struct vbs_exec_layout *layout)
{
    struct repacking w = {.options = options, .window = options->window};
    struct segment *segment = &w.segment;
    enum vbs_status status;

    segment->ctx = ctx;
    segment->layout = layout;
    segment->problem.buffers = options->buffers;
    segment->problem.blocks = options->blocks;
    segment->options.target_bytes = options->target_bytes;
    segment->options.end_s = vbs_thread_s() + options->limit_s;
    status = begin_repacking(&w);
    for (segment->problem.from = 0; segment->problem.from < options->n_slots && status == VBS_OK;
         segment->problem.from = segment->problem.to)
        status = place_segment(&w);
    for (int i = w.next; i < options->buffers->n_items && status == VBS_OK;
         i++) /* items without bytes */
        if (!vbs_exec_layout_add(layout, w.order[i], 0, 0))
            status = vbs_no_memory(ctx);
    if (status == VBS_OK)
        status = vbs_exec_layout_finish(ctx, layout, options->buffers);
    clear(&w);
    return status;
}
