#include "reference/place/place_check.h"

#include <stdlib.h>

static const struct vbs_place_rect *rects_of(const struct vbs_place_problem *problem, int64_t item)
{
    return problem->rects + problem->items[item].first_rect;
}

static bool meet(const struct vbs_place_rect *a, int64_t a_offset, const struct vbs_place_rect *b,
                 int64_t b_offset)
{
    int64_t a_begin = a_offset + a->offset, b_begin = b_offset + b->offset;

    return a->size > 0 && b->size > 0 && a->lower < b->upper && b->lower < a->upper &&
           a_begin < b_begin + b->size && b_begin < a_begin + a->size;
}

static bool items_meet(const struct vbs_place_problem *problem, int64_t i, int64_t i_offset,
                       int64_t j, int64_t j_offset)
{
    for (int64_t a = 0; a < problem->items[i].n_rects; a++)
        for (int64_t b = 0; b < problem->items[j].n_rects; b++)
            if (meet(rects_of(problem, i) + a, i_offset, rects_of(problem, j) + b, j_offset))
                return true;
    return false;
}

static int64_t top_of(const struct vbs_place_problem *problem, int64_t item)
{
    int64_t top = 0;

    for (int64_t r = 0; r < problem->items[item].n_rects; r++) {
        const struct vbs_place_rect *rect = rects_of(problem, item) + r;

        if (rect->size > 0 && rect->offset + rect->size > top)
            top = rect->offset + rect->size;
    }
    return top;
}

const char *place_fault(const struct vbs_place_problem *problem, const int64_t *offsets,
                        int64_t *height)
{
    int64_t top = 0;

    for (int64_t i = 0; i < problem->n_items; i++) {
        const struct vbs_place_item *item = &problem->items[i];

        if (offsets[i] < 0)
            return "an offset is negative";
        if (item->alignment > 1 && offsets[i] % item->alignment)
            return "an offset is not aligned";
        if (item->fixed && offsets[i] != item->fixed_offset)
            return "a fixed item has moved";
        if (top_of(problem, i) > 0 && offsets[i] + top_of(problem, i) > top)
            top = offsets[i] + top_of(problem, i);
        for (int64_t j = 0; j < i; j++)
            if (items_meet(problem, i, offsets[i], j, offsets[j]))
                return "two items overlap";
    }
    *height = top;
    return NULL;
}

int64_t place_load(const struct vbs_place_problem *problem)
{
    int64_t load = 0;

    /* The load is largest at a step at which some rectangle begins. */
    for (int64_t r = 0; r < problem->n_rects; r++) {
        int64_t sum = 0;

        for (int64_t s = 0; s < problem->n_rects; s++)
            if (problem->rects[s].lower <= problem->rects[r].lower &&
                problem->rects[r].lower < problem->rects[s].upper)
                sum += problem->rects[s].size;
        load = sum > load ? sum : load;
    }
    return load;
}

/* Gives whether items from item on can be placed below height, beside those before. */
static bool brute_fits(const struct vbs_place_problem *problem, int64_t item, int64_t *offsets,
                       int64_t height)
{
    const struct vbs_place_item *it;
    int64_t step, from = 0, to;

    if (item == problem->n_items)
        return true;
    it = &problem->items[item];
    step = it->alignment > 1 ? it->alignment : 1;
    to = height - top_of(problem, item);
    if (it->fixed && it->fixed_offset > to)
        return false;
    if (it->fixed)
        from = to = it->fixed_offset;
    for (int64_t offset = from; offset <= to; offset += step) {
        bool free = true;

        for (int64_t j = 0; j < item && free; j++)
            free = !items_meet(problem, item, offset, j, offsets[j]);
        offsets[item] = offset;
        if (free && brute_fits(problem, item + 1, offsets, height))
            return true;
    }
    return false;
}

int64_t place_brute_height(const struct vbs_place_problem *problem, int64_t limit)
{
    int64_t *offsets = calloc((size_t)problem->n_items + 1, sizeof *offsets);
    int64_t height = place_load(problem);

    while (height <= limit && !brute_fits(problem, 0, offsets, height))
        height++;
    free(offsets);
    return height;
}
