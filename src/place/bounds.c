/* Bounds of offsets, and the conclusions that are drawn from them (bounds.h). */
#include "place/bounds.h"

#include "base/grow.h"

#include <stdlib.h>

/* ---- changes that can be undone ---- */

static bool set(struct place_bounds *bounds, int64_t *at, int64_t value)
{
    int64_t needed = (int64_t)bounds->n_changes + 1;

    if (needed > bounds->max_changes &&
        vbs_grow(bounds->search->ctx, &bounds->changes, &bounds->max_changes, needed,
                 sizeof *bounds->changes) != VBS_OK) {
        bounds->no_memory = true;
        return false;
    }
    bounds->changes[bounds->n_changes++] = (struct bounds_change){at, *at};
    *at = value;
    return true;
}

struct bounds_mark vbs_bounds_mark(const struct place_bounds *bounds)
{
    return (struct bounds_mark){bounds->n_changes, bounds->n_open};
}

void vbs_bounds_undo(struct place_bounds *bounds, struct bounds_mark mark)
{
    while (bounds->n_changes > mark.n_changes) {
        struct bounds_change *change = &bounds->changes[--bounds->n_changes];

        *change->at = change->before;
    }
    bounds->n_open = mark.n_open;
}

/* ---- propagation ---- */

static void enqueue(struct place_bounds *bounds, int item)
{
    int end = bounds->first_queue + bounds->n_queue;

    if (bounds->queued[item])
        return;
    bounds->queued[item] = true;
    bounds->queue[end >= bounds->n ? end - bounds->n : end] = item;
    bounds->n_queue++;
}

static int dequeue(struct place_bounds *bounds)
{
    int item = bounds->queue[bounds->first_queue];

    bounds->first_queue = bounds->first_queue + 1 == bounds->n ? 0 : bounds->first_queue + 1;
    bounds->n_queue--;
    bounds->queued[item] = false;
    return item;
}

static bool raise_least(struct place_bounds *bounds, int item, int64_t least)
{
    if (least <= bounds->least[item])
        return true;
    least = vbs_place_align(least, bounds->items[item].align);
    enqueue(bounds, item);
    return least <= bounds->most[item] && set(bounds, &bounds->least[item], least);
}

static bool lower_most(struct place_bounds *bounds, int item, int64_t most)
{
    if (most >= bounds->most[item])
        return true;
    if (most < 0)
        return false;
    most -= most % bounds->items[item].align;
    enqueue(bounds, item);
    return most >= bounds->least[item] && set(bounds, &bounds->most[item], most);
}

const struct place_arc *vbs_bounds_hole(const struct bounds_pair *pair)
{
    for (int h = 0; h < pair->n_holes; h++)
        if (pair->holes[h].low >= pair->low && pair->holes[h].high <= pair->high)
            return &pair->holes[h];
    return NULL;
}

static void close_pair(struct place_bounds *bounds, struct bounds_pair *pair)
{
    int last = bounds->open[--bounds->n_open];

    bounds->open[pair->place] = last;
    bounds->open[bounds->n_open] = (int)(pair - bounds->pairs);
    bounds->pairs[last].place = pair->place;
    pair->place = bounds->n_open;
}

/* Propagates between the offsets of a pair and the distance of the pair, in both directions. */
static bool propagate_pair(struct place_bounds *bounds, struct bounds_pair *pair)
{
    int64_t low = bounds->least[pair->i] - bounds->most[pair->j];
    int64_t high = bounds->most[pair->i] - bounds->least[pair->j];

    low = low > pair->low ? low : pair->low;
    high = high < pair->high ? high : pair->high;
    for (int h = 0; h < pair->n_holes && pair->holes[h].low < low; h++)
        if (pair->holes[h].high > low)
            low = pair->holes[h].high;
    for (int h = pair->n_holes - 1; h >= 0 && pair->holes[h].high > high; h--)
        if (pair->holes[h].low < high)
            high = pair->holes[h].low;
    if (low > high || (low > pair->low && !set(bounds, &pair->low, low)) ||
        (high < pair->high && !set(bounds, &pair->high, high)))
        return false;
    if (pair->place < bounds->n_open && !vbs_bounds_hole(pair))
        close_pair(bounds, pair);
    return raise_least(bounds, pair->i, bounds->least[pair->j] + low) &&
           lower_most(bounds, pair->j, bounds->most[pair->i] - low) &&
           lower_most(bounds, pair->i, bounds->most[pair->j] + high) &&
           raise_least(bounds, pair->j, bounds->least[pair->i] - high);
}

/* Gives whether a section has room for its rectangles: any of them must fit between the least of
 * their begins and the most of their ends. */
static bool check_section(struct place_bounds *bounds, int section)
{
    const struct place_member *members = &bounds->sections.members[bounds->sections.first[section]];
    int n = (int)(bounds->sections.first[section + 1] - bounds->sections.first[section]);
    int *sorted = bounds->sorted;
    int64_t total = 0;

    for (int m = 0; m < n; m++) {
        int k = m;

        bounds->begins[m] = bounds->least[members[m].item] + members[m].offset;
        bounds->ends[m] = bounds->most[members[m].item] + members[m].offset + members[m].size;
        for (; k > 0 && bounds->ends[sorted[k - 1]] > bounds->ends[m]; k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = m;
        total += members[m].size;
    }
    for (int m = 0; m < n; m++) {
        int64_t from = bounds->begins[m], sum = 0;

        if (from + total <= bounds->ends[sorted[0]])
            continue;
        for (int k = 0; k < n; k++) {
            if (bounds->begins[sorted[k]] < from)
                continue;
            sum += members[sorted[k]].size;
            if (from + sum > bounds->ends[sorted[k]]) {
                for (; k >= 0; k--)
                    if (bounds->begins[sorted[k]] >= from)
                        bounds->blame[members[sorted[k]].item]++;
                return false;
            }
        }
    }
    return true;
}

static bool propagate_item(struct place_bounds *bounds, int item)
{
    for (int p = bounds->first_pair[item]; p < bounds->first_pair[item + 1]; p++) {
        struct bounds_pair *pair = &bounds->pairs[bounds->pairs_of[p]];

        if (!propagate_pair(bounds, pair)) {
            pair->weight++;
            return false;
        }
    }
    for (int s = bounds->sections.lower[item]; s < bounds->sections.upper[item]; s++)
        if (!bounds->changed[s]) {
            bounds->changed[s] = true;
            bounds->to_check[bounds->n_to_check++] = s;
        }
    return true;
}

/* Propagates pairs until nothing changes, and then checks the sections concerned. They come last
 * because they cost more and change no bound. */
static bool propagate_all(struct place_bounds *bounds)
{
    while (bounds->n_queue > 0) {
        int item = dequeue(bounds);

        vbs_place_step(bounds->search,
                       1 + (bounds->first_pair[item + 1] - bounds->first_pair[item]) / 16);
        if (bounds->search->over || !propagate_item(bounds, item))
            return false;
    }
    vbs_place_step(bounds->search, 1 + bounds->n_to_check / 2);
    while (bounds->n_to_check > 0) {
        int section = bounds->to_check[--bounds->n_to_check];

        bounds->changed[section] = false;
        if (!check_section(bounds, section))
            return false;
    }
    return true;
}

bool vbs_bounds_propagate(struct place_bounds *bounds)
{
    if (propagate_all(bounds))
        return true;
    while (bounds->n_queue > 0)
        dequeue(bounds);
    while (bounds->n_to_check > 0)
        bounds->changed[bounds->to_check[--bounds->n_to_check]] = false;
    return false;
}

bool vbs_bounds_decide(struct place_bounds *bounds, struct bounds_pair *pair,
                       const struct place_arc *hole, bool above)
{
    enqueue(bounds, pair->i);
    return above ? set(bounds, &pair->low, hole->high) : set(bounds, &pair->high, hole->low);
}

/* ---- made and reset ---- */

static int n_holes_of(const struct place_search *search, int64_t arc, int64_t end)
{
    int n = 1;

    while (arc + n < end && search->arcs[arc + n].other == search->arcs[arc].other)
        n++;
    return n;
}

/* Counts the pairs, or writes them where there is room for them. Arcs to an earlier item come
 * first. */
static void add_pairs(struct place_bounds *bounds)
{
    const struct place_search *search = bounds->search;
    int first = (int)(bounds->items - search->items);

    bounds->n_pairs = 0;
    for (int i = 0; i < bounds->n; i++) {
        int64_t a = search->first_arc[first + i], end = search->first_arc[first + i + 1];

        while (a < end && search->arcs[a].other < first + i) {
            int n_holes = n_holes_of(search, a, end);

            if (bounds->pairs)
                bounds->pairs[bounds->n_pairs] =
                    (struct bounds_pair){.i = i,
                                         .j = search->arcs[a].other - first,
                                         .n_holes = n_holes,
                                         .holes = &search->arcs[a],
                                         .weight = 1};
            bounds->n_pairs++;
            a += n_holes;
        }
    }
}

static void list_pairs_of_items(struct place_bounds *bounds)
{
    for (int p = 0; p < bounds->n_pairs; p++) {
        bounds->first_pair[bounds->pairs[p].i + 1]++;
        bounds->first_pair[bounds->pairs[p].j + 1]++;
    }
    for (int i = 0; i < bounds->n; i++)
        bounds->first_pair[i + 1] += bounds->first_pair[i];
    for (int p = 0; p < bounds->n_pairs; p++) {
        bounds->pairs_of[bounds->first_pair[bounds->pairs[p].i]++] = p;
        bounds->pairs_of[bounds->first_pair[bounds->pairs[p].j]++] = p;
    }
    for (int i = bounds->n; i > 0; i--)
        bounds->first_pair[i] = bounds->first_pair[i - 1];
    bounds->first_pair[0] = 0;
}

static bool allocate(struct place_bounds *bounds, const struct place_component *component)
{
    struct vbs_arena *arena = &bounds->arena;
    size_t n = (size_t)bounds->n, n_pairs, most = 0;

    if (vbs_place_sections(bounds->search, component, arena, &bounds->sections) != VBS_OK)
        return false;
    for (int s = 0; s < bounds->sections.n; s++) {
        size_t members = (size_t)(bounds->sections.first[s + 1] - bounds->sections.first[s]);

        most = members > most ? members : most;
    }
    add_pairs(bounds);
    n_pairs = (size_t)bounds->n_pairs;
    bounds->pairs = vbs_arena_alloc(arena, n_pairs + 1, sizeof *bounds->pairs);
    bounds->first_pair = vbs_arena_alloc(arena, n + 1, sizeof *bounds->first_pair);
    bounds->pairs_of = vbs_arena_alloc(arena, 2 * n_pairs + 1, sizeof *bounds->pairs_of);
    bounds->least = vbs_arena_alloc(arena, n, sizeof *bounds->least);
    bounds->most = vbs_arena_alloc(arena, n, sizeof *bounds->most);
    bounds->blame = vbs_arena_alloc(arena, n, sizeof *bounds->blame);
    bounds->open = vbs_arena_alloc(arena, n_pairs + 1, sizeof *bounds->open);
    bounds->queue = vbs_arena_alloc(arena, n, sizeof *bounds->queue);
    bounds->queued = vbs_arena_alloc(arena, n, sizeof *bounds->queued);
    bounds->changed = vbs_arena_alloc(arena, (size_t)bounds->sections.n, sizeof *bounds->changed);
    bounds->to_check = vbs_arena_alloc(arena, (size_t)bounds->sections.n, sizeof *bounds->to_check);
    bounds->begins = vbs_arena_alloc(arena, most, sizeof *bounds->begins);
    bounds->ends = vbs_arena_alloc(arena, most, sizeof *bounds->ends);
    bounds->sorted = vbs_arena_alloc(arena, most, sizeof *bounds->sorted);
    return bounds->pairs && bounds->first_pair && bounds->pairs_of && bounds->least &&
           bounds->most && bounds->blame && bounds->open && bounds->queue && bounds->queued &&
           bounds->changed && bounds->to_check && bounds->begins && bounds->ends && bounds->sorted;
}

struct place_bounds *vbs_bounds_new(struct place_search *search,
                                    const struct place_component *component)
{
    struct place_bounds *bounds = calloc(1, sizeof *bounds);

    if (!bounds)
        return NULL;
    bounds->search = search;
    bounds->items = &search->items[component->first];
    bounds->n = component->n;
    if (!allocate(bounds, component)) {
        vbs_bounds_free(bounds);
        return NULL;
    }
    add_pairs(bounds);
    list_pairs_of_items(bounds);
    return bounds;
}

void vbs_bounds_free(struct place_bounds *bounds)
{
    if (!bounds)
        return;
    free(bounds->changes);
    vbs_arena_clear(&bounds->arena);
    free(bounds);
}

bool vbs_bounds_reset(struct place_bounds *bounds, int64_t target)
{
    bool fits = true;

    bounds->n_changes = 0;
    bounds->n_open = bounds->n_pairs;
    for (int p = 0; p < bounds->n_pairs; p++) {
        struct bounds_pair *pair = &bounds->pairs[p];

        pair->low = -target;
        pair->high = target;
        pair->place = p;
        bounds->open[p] = p;
    }
    for (int i = 0; i < bounds->n; i++) {
        const struct place_item *item = &bounds->items[i];

        bounds->least[i] = item->fixed >= 0 ? item->fixed : 0;
        bounds->most[i] = target - item->height;
        fits = fits && bounds->most[i] >= bounds->least[i];
        bounds->most[i] -= bounds->most[i] % item->align;
        if (item->fixed >= 0)
            bounds->most[i] = item->fixed;
        enqueue(bounds, i);
    }
    while (!fits && bounds->n_queue > 0)
        dequeue(bounds);
    return fits;
}
