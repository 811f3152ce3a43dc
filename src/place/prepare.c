/*
 * Placement problems from outside: checked, and put into the form that the searches need.
 */
#include "place/internal.h"

#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sums of heights and alignments stay below this, so that offsets never overflow. */
#define MAX_SUM (INT64_MAX / 8)

const char *vbs_placing_name(const struct vbs_place_problem *problem, int64_t item, char *text)
{
    if (problem->names)
        snprintf(text, PLACING_NAME, "'%.*s'", PLACING_NAME - 3, problem->names[item]);
    else
        snprintf(text, PLACING_NAME, "%lld", (long long)item);
    return text;
}

static enum vbs_status bad_item(struct placing *placing, const struct vbs_place_problem *problem,
                                int64_t item, const char *why)
{
    char name[PLACING_NAME];

    return vbs_fail(placing->ctx, VBS_USAGE, "item %s %s", vbs_placing_name(problem, item, name),
                    why);
}

static bool is_power_of_two(int64_t value)
{
    return value > 0 && (value & (value - 1)) == 0;
}

/* What is wrong with a rectangle by itself; null: nothing. */
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

/* Rectangles of one stack must not overlap, or its load would be counted twice. */
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

static enum vbs_status check(struct placing *placing, const struct vbs_place_problem *problem)
{
    struct vbs_place_rect *sorted;
    int64_t sum = 0;

    if (problem->n_items < 0 || problem->n_items > VBS_MAX_PLACE_ITEMS || problem->n_rects < 0 ||
        problem->n_rects > VBS_MAX_PLACE_RECTS || problem->capacity < 0)
        return vbs_fail(placing->ctx, VBS_USAGE,
                        "a placement has up to %lld items, %lld rectangles and a capacity from 0",
                        (long long)VBS_MAX_PLACE_ITEMS, (long long)VBS_MAX_PLACE_RECTS);
    sorted = vbs_arena_alloc(&placing->arena, VBS_MAX_PLACE_STACK, sizeof *sorted);
    if (!sorted)
        return vbs_no_memory(placing->ctx);
    for (int64_t i = 0; i < problem->n_items; i++) {
        const struct vbs_place_item *item = &problem->items[i];
        const char *fault = item_fault(problem, i, sorted);
        int64_t add;

        if (fault)
            return bad_item(placing, problem, i, fault);
        add = height_of(problem, item);
        if (add > MAX_SUM - sum || item->alignment > MAX_SUM - sum - add ||
            (item->fixed && item->fixed_offset > MAX_SUM - sum - add - item->alignment))
            return bad_item(placing, problem, i, "makes the sum of all too large");
        sum += add + item->alignment + (item->fixed ? item->fixed_offset : 0);
        if (vbs_cancelled(placing->ctx))
            return vbs_fail(placing->ctx, VBS_INTERRUPTED, "interrupted");
    }
    return VBS_OK;
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Pushed down as far as they go, all items lie at sums of sizes, rounded up to alignments: at
 * multiples of what divides all of these. */
static int64_t unit_of(const struct vbs_place_problem *problem)
{
    int64_t unit = 0;

    for (int64_t i = 0; i < problem->n_items; i++) {
        const struct vbs_place_item *item = &problem->items[i];

        if (item->fixed)
            unit = gcd(unit, item->fixed_offset);
        for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++) {
            if (problem->rects[r].size == 0)
                continue;
            unit = gcd(unit, problem->rects[r].size);
            unit = gcd(unit, problem->rects[r].offset);
        }
    }
    for (int64_t i = 0; i < problem->n_items; i++)
        if (problem->items[i].alignment > 1 && unit % problem->items[i].alignment)
            unit = gcd(unit, problem->items[i].alignment);
    return unit > 0 ? unit : 1;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* All steps at which a rectangle begins or ends. */
struct steps {
    int64_t *at;
    int n;
};

static enum vbs_status collect_steps(struct placing *placing,
                                     const struct vbs_place_problem *problem, struct steps *steps)
{
    size_t n = 0;
    int unique = 0;

    steps->at =
        vbs_arena_alloc(&placing->arena, 2 * (size_t)problem->n_rects + 1, sizeof *steps->at);
    if (!steps->at)
        return vbs_no_memory(placing->ctx);
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

/* One item with its rectangles, behind those that are there; nothing when it takes no bytes. */
static void add_item(struct placing *placing, const struct vbs_place_problem *problem,
                     const struct steps *steps, int64_t index)
{
    const struct vbs_place_item *from = &problem->items[index];
    struct placing_item *item = &placing->items[placing->n_items];

    *item = (struct placing_item){.origin = (int)index,
                                  .lower = INT32_MAX,
                                  .first_rect = placing->n_rects,
                                  .align = 1,
                                  .fixed = from->fixed ? from->fixed_offset / placing->unit : -1};
    if (from->alignment > placing->unit)
        item->align = from->alignment / placing->unit;
    for (int64_t r = from->first_rect; r < from->first_rect + from->n_rects; r++) {
        const struct vbs_place_rect *rect = &problem->rects[r];
        struct placing_rect *to = &placing->rects[placing->n_rects];

        if (rect->size == 0)
            continue;
        *to = (struct placing_rect){place_of_step(steps, rect->lower),
                                    place_of_step(steps, rect->upper), rect->offset / placing->unit,
                                    rect->size / placing->unit};
        item->lower = to->lower < item->lower ? to->lower : item->lower;
        item->upper = to->upper > item->upper ? to->upper : item->upper;
        if (to->offset + to->size > item->height)
            item->height = to->offset + to->size;
        item->area += ((double)rect->upper - (double)rect->lower) * (double)to->size;
        item->n_rects++;
        placing->n_rects++;
    }
    if (item->n_rects == 0)
        return;
    item->life = (double)steps->at[item->upper] - (double)steps->at[item->lower];
    placing->n_items++;
}

static int by_begin(const void *a, const void *b)
{
    const struct placing_item *x = a, *y = b;

    if (x->lower != y->lower)
        return x->lower < y->lower ? -1 : 1;
    return (x->origin > y->origin) - (x->origin < y->origin);
}

static enum vbs_status add_items(struct placing *placing, const struct vbs_place_problem *problem,
                                 const struct steps *steps)
{
    placing->unit = unit_of(problem);
    placing->items =
        vbs_arena_alloc(&placing->arena, (size_t)problem->n_items + 1, sizeof *placing->items);
    placing->rects =
        vbs_arena_alloc(&placing->arena, (size_t)problem->n_rects + 1, sizeof *placing->rects);
    if (!placing->items || !placing->rects)
        return vbs_no_memory(placing->ctx);
    for (int64_t i = 0; i < problem->n_items; i++)
        add_item(placing, problem, steps, i);
    qsort(placing->items, (size_t)placing->n_items, sizeof *placing->items, by_begin);
    return VBS_OK;
}

/* Cuts the items into components at steps that no item crosses. */
static enum vbs_status cut_parts(struct placing *placing)
{
    int64_t *offsets;
    int upper = -1;

    placing->components =
        vbs_arena_alloc(&placing->arena, (size_t)placing->n_items + 1, sizeof *placing->components);
    offsets = vbs_arena_alloc(&placing->arena, (size_t)placing->n_items + 1, sizeof *offsets);
    if (!placing->components || !offsets)
        return vbs_no_memory(placing->ctx);
    for (int i = 0; i < placing->n_items; i++) {
        if (placing->items[i].lower >= upper) {
            placing->components[placing->n_components].first = i;
            placing->components[placing->n_components++].offsets = offsets + i;
        }
        placing->components[placing->n_components - 1].n++;
        if (placing->items[i].upper > upper)
            upper = placing->items[i].upper;
    }
    return VBS_OK;
}

/* Of every component: the largest sum of what lives at one step, and what follows from it at once.
 */
static enum vbs_status find_loads(struct placing *placing, const struct steps *steps)
{
    int64_t *change = vbs_arena_alloc(&placing->arena, (size_t)steps->n + 1, sizeof *change);
    int64_t live = 0;

    if (!change)
        return vbs_no_memory(placing->ctx);
    for (int r = 0; r < placing->n_rects; r++) {
        change[placing->rects[r].lower] += placing->rects[r].size;
        change[placing->rects[r].upper] -= placing->rects[r].size;
    }
    for (int p = 0; p < placing->n_components; p++) {
        struct placing_component *component = &placing->components[p];
        int first = placing->items[component->first].lower, last = steps->n;

        if (p + 1 < placing->n_components)
            last = placing->items[component[1].first].lower;
        component->height = component->greedy_height = INT64_MAX;
        for (int s = first; s < last; s++) {
            live += change[s];
            component->load = live > component->load ? live : component->load;
        }
        component->low = component->load;
        for (int i = component->first; i < component->first + component->n; i++) {
            const struct placing_item *item = &placing->items[i];
            int64_t top = item->height + (item->fixed > 0 ? item->fixed : 0);

            component->low = top > component->low ? top : component->low;
        }
    }
    return VBS_OK;
}

static enum vbs_status check_fixed(struct placing *placing, const struct vbs_place_problem *problem)
{
    char name[PLACING_NAME], other[PLACING_NAME];

    for (int i = 0; i < placing->n_items; i++) {
        const struct placing_item *item = &placing->items[i];

        if (item->fixed < 0)
            continue;
        for (int64_t a = placing->first_arc[i]; a < placing->first_arc[i + 1]; a++) {
            const struct placing_arc *arc = &placing->arcs[a];
            const struct placing_item *with = &placing->items[arc->other];
            int64_t distance = item->fixed - with->fixed;

            if (with->fixed >= 0 && distance > arc->low && distance < arc->high)
                return vbs_fail(placing->ctx, VBS_USAGE,
                                "items %s and %s are fixed in each other's way",
                                vbs_placing_name(problem, item->origin, name),
                                vbs_placing_name(problem, with->origin, other));
        }
    }
    return VBS_OK;
}

enum vbs_status vbs_placing_prepare(struct placing *placing,
                                    const struct vbs_place_problem *problem)
{
    struct steps steps = {0};
    enum vbs_status status;

    if ((status = check(placing, problem)) || (status = collect_steps(placing, problem, &steps)) ||
        (status = add_items(placing, problem, &steps)) || (status = cut_parts(placing)) ||
        (status = find_loads(placing, &steps)) || (status = vbs_placing_pairs(placing)))
        return status;
    return check_fixed(placing, problem);
}

void vbs_placing_clear(struct placing *placing)
{
    vbs_arena_clear(&placing->arena);
}
