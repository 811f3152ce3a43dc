/*
 * Checks placement problems from outside, and rewrites them for the searches.
 */
#include "place/internal.h"

#include "base/arith.h"
#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sums of heights and alignments stay below this, so that offsets never overflow. */
#define MAX_SUM (INT64_MAX / 8)

const char *vbs_place_name(const struct vbs_place_problem *problem, int64_t item, char *text)
{
    if (problem->names)
        snprintf(text, PLACE_NAME, "'%.*s'", PLACE_NAME - 3, problem->names[item]);
    else
        snprintf(text, PLACE_NAME, "%lld", (long long)item);
    return text;
}

static enum vbs_status bad_item(struct place_search *search,
                                const struct vbs_place_problem *problem, int64_t item,
                                const char *why)
{
    char name[PLACE_NAME];

    return vbs_fail(search->ctx, VBS_USAGE, "item %s %s", vbs_place_name(problem, item, name), why);
}

static bool is_power_of_two(int64_t value)
{
    return value > 0 && (value & (value - 1)) == 0;
}

/* Gives the fault of a rectangle by itself, or null. */
static const char *rect_fault(const struct vbs_place_rect *rect)
{
    if (rect->lower >= rect->upper)
        return "has a rectangle that ends before it begins";
    if (rect->offset < 0 || rect->size < 0)
        return "has a rectangle with a negative offset or size";
    if (rect->offset > MAX_SUM - rect->size)
        return "is too large";
    return NULL;
}

static int by_lower(const void *a, const void *b)
{
    const struct vbs_place_rect *x = a, *y = b;

    return (x->lower > y->lower) - (x->lower < y->lower);
}

/* Gives whether rectangles of one item overlap, whose bytes would then be counted twice. */
static bool overlaps_itself(const struct vbs_place_rect *rects, int64_t n,
                            struct vbs_place_rect *sorted)
{
    memcpy(sorted, rects, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_lower);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n && sorted[j].lower < sorted[i].upper; j++)
            if (sorted[i].offset < sorted[j].offset + sorted[j].size &&
                sorted[j].offset < sorted[i].offset + sorted[i].size)
                return true;
    return false;
}

static const char *item_fault(const struct vbs_place_problem *problem, int64_t index,
                              struct vbs_place_rect *sorted)
{
    const struct vbs_place_item *item = &problem->items[index];
    const struct vbs_place_rect *rects = problem->rects + item->first_rect;
    const char *fault;

    if (item->n_rects < 0 || item->first_rect < 0 ||
        item->first_rect > problem->n_rects - item->n_rects)
        return "has rectangles that are not there";
    if (item->n_rects > VBS_MAX_PLACE_STACK)
        return "has too many rectangles";
    if (item->alignment != 0 && !is_power_of_two(item->alignment))
        return "has an alignment that is no power of two";
    if (item->fixed && (item->fixed_offset < 0 || item->fixed_offset > MAX_SUM))
        return "is fixed at an offset that is negative or too large";
    if (item->fixed && item->alignment > 1 && item->fixed_offset % item->alignment)
        return "is fixed at an offset that is no multiple of its alignment";
    for (int64_t r = 0; r < item->n_rects; r++)
        if ((fault = rect_fault(&rects[r])))
            return fault;
    return overlaps_itself(rects, item->n_rects, sorted)
               ? "has rectangles that overlap in time and space"
               : NULL;
}

static int64_t height_of(const struct vbs_place_problem *problem, const struct vbs_place_item *item)
{
    int64_t height = 0;

    for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++)
        if (problem->rects[r].size > 0 &&
            problem->rects[r].offset + problem->rects[r].size > height)
            height = problem->rects[r].offset + problem->rects[r].size;
    return height;
}

static enum vbs_status check_problem(struct place_search *search,
                                     const struct vbs_place_problem *problem)
{
    struct vbs_place_rect *sorted;
    int64_t sum = 0;

    if (problem->n_items < 0 || problem->n_items > VBS_MAX_PLACE_ITEMS || problem->n_rects < 0 ||
        problem->n_rects > VBS_MAX_PLACE_RECTS || problem->capacity < 0)
        return vbs_fail(search->ctx, VBS_USAGE,
                        "a placement has up to %lld items, %lld rectangles and a capacity from 0",
                        (long long)VBS_MAX_PLACE_ITEMS, (long long)VBS_MAX_PLACE_RECTS);
    sorted = vbs_arena_alloc(&search->arena, VBS_MAX_PLACE_STACK, sizeof *sorted);
    if (!sorted)
        return vbs_no_memory(search->ctx);
    for (int64_t i = 0; i < problem->n_items; i++) {
        const struct vbs_place_item *item = &problem->items[i];
        const char *fault = item_fault(problem, i, sorted);
        int64_t add;

        if (fault)
            return bad_item(search, problem, i, fault);
        add = height_of(problem, item);
        if (add > MAX_SUM - sum || item->alignment > MAX_SUM - sum - add ||
            (item->fixed && item->fixed_offset > MAX_SUM - sum - add - item->alignment))
            return bad_item(search, problem, i, "makes the sum of all too large");
        sum += add + item->alignment + (item->fixed ? item->fixed_offset : 0);
        if (vbs_cancelled(search->ctx))
            return vbs_fail(search->ctx, VBS_INTERRUPTED, "interrupted");
    }
    return VBS_OK;
}

/* Gives the unit of all offsets. In a placement whose items are pushed down as far as they go, all
 * offsets are sums of sizes, rounded up to alignments, and so multiples of their greatest common
 * divisor. */
static int64_t unit_of(const struct vbs_place_problem *problem)
{
    int64_t unit = 0;

    for (int64_t i = 0; i < problem->n_items; i++) {
        const struct vbs_place_item *item = &problem->items[i];

        if (item->fixed)
            unit = vbs_gcd(unit, item->fixed_offset);
        for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++) {
            if (problem->rects[r].size == 0)
                continue;
            unit = vbs_gcd(unit, problem->rects[r].size);
            unit = vbs_gcd(unit, problem->rects[r].offset);
        }
    }
    for (int64_t i = 0; i < problem->n_items; i++)
        if (problem->items[i].alignment > 1 && unit % problem->items[i].alignment)
            unit = vbs_gcd(unit, problem->items[i].alignment);
    return unit > 0 ? unit : 1;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The steps at which a rectangle begins or ends. */
struct steps {
    int64_t *at;
    int n;
};

static enum vbs_status collect_steps(struct place_search *search,
                                     const struct vbs_place_problem *problem, struct steps *steps)
{
    size_t n = 0;
    int unique = 0;

    steps->at =
        vbs_arena_alloc(&search->arena, 2 * (size_t)problem->n_rects + 1, sizeof *steps->at);
    if (!steps->at)
        return vbs_no_memory(search->ctx);
    for (int64_t r = 0; r < problem->n_rects; r++) {
        steps->at[n++] = problem->rects[r].lower;
        steps->at[n++] = problem->rects[r].upper;
    }
    qsort(steps->at, n, sizeof *steps->at, by_value);
    for (size_t i = 0; i < n; i++)
        if (unique == 0 || steps->at[i] != steps->at[unique - 1])
            steps->at[unique++] = steps->at[i];
    steps->n = unique;
    return VBS_OK;
}

static int place_of_step(const struct steps *steps, int64_t step)
{
    int low = 0, high = steps->n - 1;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (steps->at[middle] < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Appends an item with its rectangles, unless it takes no bytes. */
static void add_item(struct place_search *search, const struct vbs_place_problem *problem,
                     const struct steps *steps, int64_t index)
{
    const struct vbs_place_item *from = &problem->items[index];
    struct place_item *item = &search->items[search->n_items];

    *item = (struct place_item){.origin = (int)index,
                                .lower = INT32_MAX,
                                .first_rect = search->n_rects,
                                .align = 1,
                                .fixed = from->fixed ? from->fixed_offset / search->unit : -1};
    if (from->alignment > search->unit)
        item->align = from->alignment / search->unit;
    for (int64_t r = from->first_rect; r < from->first_rect + from->n_rects; r++) {
        const struct vbs_place_rect *rect = &problem->rects[r];
        struct place_rect *to = &search->rects[search->n_rects];

        if (rect->size == 0)
            continue;
        *to = (struct place_rect){place_of_step(steps, rect->lower),
                                  place_of_step(steps, rect->upper), rect->offset / search->unit,
                                  rect->size / search->unit};
        item->lower = to->lower < item->lower ? to->lower : item->lower;
        item->upper = to->upper > item->upper ? to->upper : item->upper;
        if (to->offset + to->size > item->height)
            item->height = to->offset + to->size;
        item->area += ((double)rect->upper - (double)rect->lower) * (double)to->size;
        item->n_rects++;
        search->n_rects++;
    }
    if (item->n_rects == 0)
        return;
    item->life = (double)steps->at[item->upper] - (double)steps->at[item->lower];
    search->n_items++;
}

static int by_begin(const void *a, const void *b)
{
    const struct place_item *x = a, *y = b;

    if (x->lower != y->lower)
        return x->lower < y->lower ? -1 : 1;
    return (x->origin > y->origin) - (x->origin < y->origin);
}

static enum vbs_status add_items(struct place_search *search,
                                 const struct vbs_place_problem *problem, const struct steps *steps)
{
    search->unit = unit_of(problem);
    search->items =
        vbs_arena_alloc(&search->arena, (size_t)problem->n_items + 1, sizeof *search->items);
    search->rects =
        vbs_arena_alloc(&search->arena, (size_t)problem->n_rects + 1, sizeof *search->rects);
    if (!search->items || !search->rects)
        return vbs_no_memory(search->ctx);
    for (int64_t i = 0; i < problem->n_items; i++)
        add_item(search, problem, steps, i);
    qsort(search->items, (size_t)search->n_items, sizeof *search->items, by_begin);
    return VBS_OK;
}

/* Cuts the items into components at steps that no item crosses. */
static enum vbs_status cut_components(struct place_search *search)
{
    int64_t *offsets;
    int upper = -1;

    search->components =
        vbs_arena_alloc(&search->arena, (size_t)search->n_items + 1, sizeof *search->components);
    offsets = vbs_arena_alloc(&search->arena, (size_t)search->n_items + 1, sizeof *offsets);
    if (!search->components || !offsets)
        return vbs_no_memory(search->ctx);
    for (int i = 0; i < search->n_items; i++) {
        if (search->items[i].lower >= upper) {
            search->components[search->n_components].first = i;
            search->components[search->n_components++].offsets = offsets + i;
        }
        search->components[search->n_components - 1].n++;
        if (search->items[i].upper > upper)
            upper = search->items[i].upper;
    }
    return VBS_OK;
}

/* Computes for every component its load, the largest sum of living bytes at one step, and the
 * bounds that follow from it. */
static enum vbs_status find_loads(struct place_search *search, const struct steps *steps)
{
    int64_t *change = vbs_arena_alloc(&search->arena, (size_t)steps->n + 1, sizeof *change);
    int64_t live = 0;

    if (!change)
        return vbs_no_memory(search->ctx);
    for (int r = 0; r < search->n_rects; r++) {
        change[search->rects[r].lower] += search->rects[r].size;
        change[search->rects[r].upper] -= search->rects[r].size;
    }
    for (int p = 0; p < search->n_components; p++) {
        struct place_component *component = &search->components[p];
        int first = search->items[component->first].lower, last = steps->n;

        if (p + 1 < search->n_components)
            last = search->items[component[1].first].lower;
        component->height = component->greedy_height = INT64_MAX;
        for (int s = first; s < last; s++) {
            live += change[s];
            component->load = live > component->load ? live : component->load;
        }
        component->low = component->load;
        for (int i = component->first; i < component->first + component->n; i++) {
            const struct place_item *item = &search->items[i];
            int64_t top = item->height + (item->fixed > 0 ? item->fixed : 0);

            component->low = top > component->low ? top : component->low;
        }
    }
    return VBS_OK;
}

static enum vbs_status check_fixed(struct place_search *search,
                                   const struct vbs_place_problem *problem)
{
    char name[PLACE_NAME], other[PLACE_NAME];

    for (int i = 0; i < search->n_items; i++) {
        const struct place_item *item = &search->items[i];

        if (item->fixed < 0)
            continue;
        for (int64_t a = search->first_arc[i]; a < search->first_arc[i + 1]; a++) {
            const struct place_arc *arc = &search->arcs[a];
            const struct place_item *with = &search->items[arc->other];
            int64_t distance = item->fixed - with->fixed;

            if (with->fixed >= 0 && distance > arc->low && distance < arc->high)
                return vbs_fail(search->ctx, VBS_USAGE,
                                "items %s and %s are fixed in each other's way",
                                vbs_place_name(problem, item->origin, name),
                                vbs_place_name(problem, with->origin, other));
        }
    }
    return VBS_OK;
}

enum vbs_status vbs_place_prepare(struct place_search *search,
                                  const struct vbs_place_problem *problem)
{
    struct steps steps = {0};
    enum vbs_status status;

    if ((status = check_problem(search, problem)) ||
        (status = collect_steps(search, problem, &steps)) ||
        (status = add_items(search, problem, &steps)) || (status = cut_components(search)) ||
        (status = find_loads(search, &steps)) || (status = vbs_place_pairs(search)))
        return status;
    return check_fixed(search, problem);
}

void vbs_place_clear(struct place_search *search)
{
    vbs_arena_clear(&search->arena);
}
