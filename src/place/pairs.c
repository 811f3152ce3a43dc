/*
 * Which items share a step, and which distances their rectangles forbid.
 *
 * A sweep visits the rectangles in the order of their begin, beside those that live: O(n log n +
 * pairs). Each pair of rectangles forbids one open interval of offset(i) - offset(j). Intervals of
 * one pair of items are joined where they overlap; few remain, mostly one.
 */
#include "place/internal.h"

#include "base/fail.h"

#include <stdlib.h>

struct sweep {
    struct place_search *search;
    const int *order;   /* rectangles, by begin */
    const int *item_of; /* [rectangles] item of each */
    int *live;          /* rectangles */
    int64_t *first;     /* [n_items + 1] begin of the pairs that each item owns, as the later
                           one; then their end */
    struct place_arc *pairs;
    int64_t n_pairs;
};

struct begin {
    int lower, rect;
};

static int by_lower(const void *a, const void *b)
{
    const struct begin *x = a, *y = b;

    if (x->lower != y->lower)
        return x->lower < y->lower ? -1 : 1;
    return (x->rect > y->rect) - (x->rect < y->rect);
}

/* Adds the pair of two rectangles. The later one of their items owns it. */
static void add_pair(struct sweep *sweep, int rect, int other)
{
    const struct place_rect *x = &sweep->search->rects[rect];
    const struct place_rect *y = &sweep->search->rects[other];
    int i = sweep->item_of[rect], j = sweep->item_of[other];

    sweep->n_pairs++;
    if (i < j) {
        const struct place_rect *swap = x;
        int item = i;

        x = y;
        y = swap;
        i = j;
        j = item;
    }
    if (!sweep->pairs)
        sweep->first[i + 1]++;
    else
        sweep->pairs[sweep->first[i]++] =
            (struct place_arc){j, y->offset - x->offset - x->size, y->offset + y->size - x->offset};
}

/* Counts the pairs of every item, or, where there is room for them, writes them. */
static enum vbs_status walk_steps(struct sweep *sweep)
{
    const struct place_search *search = sweep->search;
    int n_live = 0;

    sweep->n_pairs = 0;
    for (int k = 0; k < search->n_rects; k++) {
        int rect = sweep->order[k];

        for (int l = 0; l < n_live;) {
            int other = sweep->live[l];

            if (search->rects[other].upper <= search->rects[rect].lower) {
                sweep->live[l] = sweep->live[--n_live];
                continue;
            }
            if (sweep->item_of[other] != sweep->item_of[rect])
                add_pair(sweep, rect, other);
            l++;
        }
        sweep->live[n_live++] = rect;
        if (sweep->n_pairs > VBS_MAX_PLACE_PAIRS)
            return vbs_fail(search->ctx, VBS_UNSUPPORTED,
                            "more than %lld pairs of buffers share a step",
                            (long long)VBS_MAX_PLACE_PAIRS);
        if (k % 1024 == 0 && vbs_cancelled(search->ctx))
            return vbs_fail(search->ctx, VBS_INTERRUPTED, "interrupted");
    }
    return VBS_OK;
}

static enum vbs_status start_sweep(struct sweep *sweep, struct vbs_arena *arena)
{
    const struct place_search *search = sweep->search;
    size_t n = (size_t)search->n_rects + 1;
    struct begin *begins = vbs_arena_alloc(arena, n, sizeof *begins);
    int *order = vbs_arena_alloc(arena, n, sizeof *order);
    int *item_of = vbs_arena_alloc(arena, n, sizeof *item_of);

    sweep->live = vbs_arena_alloc(arena, n, sizeof *sweep->live);
    sweep->first = vbs_arena_alloc(arena, (size_t)search->n_items + 1, sizeof *sweep->first);
    if (!begins || !order || !item_of || !sweep->live || !sweep->first)
        return vbs_no_memory(search->ctx);
    for (int i = 0; i < search->n_items; i++)
        for (int r = 0; r < search->items[i].n_rects; r++)
            item_of[search->items[i].first_rect + r] = i;
    for (int r = 0; r < search->n_rects; r++)
        begins[r] = (struct begin){search->rects[r].lower, r};
    qsort(begins, (size_t)search->n_rects, sizeof *begins, by_lower);
    for (int r = 0; r < search->n_rects; r++)
        order[r] = begins[r].rect;
    sweep->order = order;
    sweep->item_of = item_of;
    return VBS_OK;
}

static int by_other(const void *a, const void *b)
{
    const struct place_arc *x = a, *y = b;

    if (x->other != y->other)
        return x->other < y->other ? -1 : 1;
    return (x->low > y->low) - (x->low < y->low);
}

/* Sorts the pairs and joins intervals of the same items that overlap; returns how many remain. */
static int64_t join(struct place_arc *pairs, int64_t n)
{
    int64_t kept = 0;

    qsort(pairs, (size_t)n, sizeof *pairs, by_other);
    for (int64_t p = 0; p < n; p++) {
        struct place_arc *last = &pairs[kept - (kept > 0)];

        if (kept == 0 || last->other != pairs[p].other || last->high <= pairs[p].low)
            pairs[kept++] = pairs[p];
        else if (last->high < pairs[p].high)
            last->high = pairs[p].high;
    }
    return kept;
}

/* Makes arcs of both items of each pair. ends: where the pairs of each item end, from first on. */
static enum vbs_status make_arcs(struct place_search *search, const struct place_arc *pairs,
                                 const int64_t *first, const int64_t *ends, int64_t *next)
{
    int64_t *starts = search->first_arc;

    for (int i = 0; i < search->n_items; i++)
        for (int64_t p = first[i]; p < ends[i]; p++) {
            starts[i + 1]++;
            starts[pairs[p].other + 1]++;
        }
    for (int i = 0; i < search->n_items; i++) {
        starts[i + 1] += starts[i];
        next[i] = starts[i];
    }
    search->arcs =
        vbs_arena_alloc(&search->arena, (size_t)starts[search->n_items] + 1, sizeof *search->arcs);
    if (!search->arcs)
        return vbs_no_memory(search->ctx);
    for (int i = 0; i < search->n_items; i++)
        for (int64_t p = first[i]; p < ends[i]; p++) {
            const struct place_arc *pair = &pairs[p];

            search->arcs[next[i]++] = *pair;
            search->arcs[next[pair->other]++] = (struct place_arc){i, -pair->high, -pair->low};
        }
    return VBS_OK;
}

static enum vbs_status pairs_of(struct sweep *sweep, struct vbs_arena *arena)
{
    struct place_search *search = sweep->search;
    int64_t *first = sweep->first, *starts, *next;
    enum vbs_status status;

    if ((status = start_sweep(sweep, arena)) || (status = walk_steps(sweep)))
        return status;
    first = sweep->first;
    starts = vbs_arena_alloc(arena, (size_t)search->n_items + 1, sizeof *starts);
    next = vbs_arena_alloc(arena, (size_t)search->n_items + 1, sizeof *next);
    sweep->pairs = vbs_arena_alloc(arena, (size_t)sweep->n_pairs + 1, sizeof *sweep->pairs);
    search->first_arc =
        vbs_arena_alloc(&search->arena, (size_t)search->n_items + 1, sizeof *search->first_arc);
    if (!starts || !next || !sweep->pairs || !search->first_arc)
        return vbs_no_memory(search->ctx);
    for (int i = 0; i < search->n_items; i++) {
        first[i + 1] += first[i];
        starts[i] = first[i];
    }
    if ((status = walk_steps(sweep)))
        return status;
    for (int i = 0; i < search->n_items; i++)
        first[i] = starts[i] + join(&sweep->pairs[starts[i]], first[i] - starts[i]);
    return make_arcs(search, sweep->pairs, starts, first, next);
}

enum vbs_status vbs_place_pairs(struct place_search *search)
{
    struct sweep sweep = {.search = search};
    struct vbs_arena arena = {0};
    enum vbs_status status = pairs_of(&sweep, &arena);

    vbs_arena_clear(&arena);
    return status;
}
