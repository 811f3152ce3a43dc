/*
 * Placing items one after the other in an order, each as low as it fits among those before it.
 *
 * Some order (by ascending offset) gives the best placement of plain items, so the search is for an
 * order. Six fixed orders come first (ORDERS). Then comes repair, which is "squeaky wheel"
 * optimization (Joslin and Clements, 1999): items that ended above the target get more weight and
 * are placed earlier in the next pass, until none ends above it or there is no progress.
 */
#include "place/internal.h"

#include "base/fail.h"

#include <stdlib.h>
#include <math.h>

#define MAX_STALE 300 /* passes without progress before repair begins anew */

struct span {
    int64_t low, high;
};

struct rank {
    double weight;
    int item; /* of the component */
};

struct fit {
    struct place_search *search;
    struct place_component *component;
    struct rank *ranks; /* [n], the order of items */
    int *placed_order;  /* [n_placed] items */
    int n_placed;
    bool *placed;         /* [n] */
    int64_t *offsets;     /* [n] */
    int64_t *heights;     /* [n + 1], heights of the first items of placed_order */
    struct span *blocked; /* [most arcs of an item] */
    struct vbs_arena arena;
};

static enum vbs_status start_fit(struct fit *fit, struct place_search *search,
                                 struct place_component *component)
{
    size_t n = (size_t)component->n;
    int64_t degree = 0;

    *fit = (struct fit){.search = search, .component = component};
    for (int i = component->first; i < component->first + component->n; i++)
        if (search->first_arc[i + 1] - search->first_arc[i] > degree)
            degree = search->first_arc[i + 1] - search->first_arc[i];
    fit->ranks = vbs_arena_alloc(&fit->arena, n, sizeof *fit->ranks);
    fit->placed_order = vbs_arena_alloc(&fit->arena, n, sizeof *fit->placed_order);
    fit->placed = vbs_arena_alloc(&fit->arena, n, sizeof *fit->placed);
    fit->offsets = vbs_arena_alloc(&fit->arena, n, sizeof *fit->offsets);
    fit->heights = vbs_arena_alloc(&fit->arena, n + 1, sizeof *fit->heights);
    fit->blocked = vbs_arena_alloc(&fit->arena, (size_t)degree + 1, sizeof *fit->blocked);
    if (fit->ranks && fit->placed_order && fit->placed && fit->offsets && fit->heights &&
        fit->blocked)
        return VBS_OK;
    vbs_arena_clear(&fit->arena);
    return vbs_no_memory(search->ctx);
}

/* Sorts spans by their low ends. Shellsort is enough, because the lists are short. */
static void sort_spans(struct span *spans, int64_t n)
{
    static const int64_t GAPS[] = {29524, 9841, 3280, 1093, 364, 121, 40, 13, 4, 1};

    for (size_t g = 0; g < sizeof GAPS / sizeof GAPS[0]; g++)
        for (int64_t i = GAPS[g]; i < n; i++) {
            struct span span = spans[i];
            int64_t k = i;

            for (; k >= GAPS[g] && spans[k - GAPS[g]].low > span.low; k -= GAPS[g])
                spans[k] = spans[k - GAPS[g]];
            spans[k] = span;
        }
}

/* Lists the spans of offsets at which an item would overlap the items placed so far; sorted. */
static int64_t find_blocked(struct fit *fit, int item)
{
    const struct place_search *search = fit->search;
    int first = fit->component->first;
    int64_t n = 0;

    for (int64_t a = search->first_arc[first + item]; a < search->first_arc[first + item + 1];
         a++) {
        const struct place_arc *arc = &search->arcs[a];
        int other = arc->other - first;

        if (fit->placed[other])
            fit->blocked[n++] =
                (struct span){fit->offsets[other] + arc->low, fit->offsets[other] + arc->high};
    }
    sort_spans(fit->blocked, n);
    return n;
}

/* Gives the lowest offset at which the item fits. */
static int64_t lowest_offset(const struct fit *fit, const struct place_item *item, int64_t n)
{
    int64_t at = 0;

    for (int64_t b = 0; b < n && at > fit->blocked[b].low; b++)
        if (fit->blocked[b].high > at)
            at = vbs_place_align(fit->blocked[b].high, item->align);
    return at;
}

/* Gives the offset at which the item fits most tightly below the target, or else the lowest
 * offset. */
static int64_t tightest_offset(const struct fit *fit, const struct place_item *item, int64_t n,
                               int64_t target)
{
    int64_t at = 0, best = -1, best_room = INT64_MAX;

    for (int64_t b = 0; b <= n && at + item->height <= target; b++) {
        int64_t low = b < n ? fit->blocked[b].low : target - item->height;

        if (low >= at && low - at < best_room) {
            best_room = low - at;
            best = at;
        }
        if (b < n && fit->blocked[b].high > at)
            at = vbs_place_align(fit->blocked[b].high, item->align);
    }
    return best >= 0 ? best : lowest_offset(fit, item, n);
}

/* Chooses the offset of an item among those placed so far. */
static int64_t choose_offset(struct fit *fit, int i, int64_t target, bool tight)
{
    const struct place_item *item = &fit->search->items[fit->component->first + i];
    int64_t n_blocked;

    if (item->fixed >= 0)
        return item->fixed;
    n_blocked = find_blocked(fit, i);
    return tight ? tightest_offset(fit, item, n_blocked, target)
                 : lowest_offset(fit, item, n_blocked);
}

/* Places the items in the order of ranks. Leading items that are the same as in the order before
 * stay. False when a limit ended the pass; where must is set, limits are ignored. */
static bool place_all(struct fit *fit, int64_t target, bool tight, bool must)
{
    struct place_search *search = fit->search;
    int keep = 0;

    while (keep < fit->n_placed && fit->ranks[keep].item == fit->placed_order[keep])
        keep++;
    while (fit->n_placed > keep)
        fit->placed[fit->placed_order[--fit->n_placed]] = false;
    while (fit->n_placed < fit->component->n) {
        int k = fit->n_placed, i = fit->ranks[k].item, item = fit->component->first + i;
        int64_t top;

        fit->offsets[i] = choose_offset(fit, i, target, tight);
        top = fit->offsets[i] + search->items[item].height;
        fit->heights[k + 1] = top > fit->heights[k] ? top : fit->heights[k];
        fit->placed[i] = true;
        fit->placed_order[fit->n_placed++] = i;
        if (!vbs_place_step(search,
                            1 + (search->first_arc[item + 1] - search->first_arc[item]) / 8) &&
            !must)
            return false;
    }
    return true;
}

static int by_weight(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

/* ---- fixed orders ---- */

static double by_size(const struct place_search *search, int i)
{
    return (double)search->items[i].height;
}

static double by_area(const struct place_search *search, int i)
{
    return search->items[i].area;
}

static double by_box(const struct place_search *search, int i)
{
    return (double)search->items[i].height * search->items[i].life;
}

static double by_life(const struct place_search *search, int i)
{
    return search->items[i].life;
}

static double by_start(const struct place_search *search, int i)
{
    return -(double)search->items[i].lower;
}

/* Sums the bytes of all items that share a step with this one. */
static double by_crowd(const struct place_search *search, int i)
{
    double sum = 0;

    for (int64_t a = search->first_arc[i]; a < search->first_arc[i + 1]; a++)
        sum += (double)search->items[search->arcs[a].other].height;
    return sum;
}

typedef double weight_of(const struct place_search *search, int i);

static weight_of *const ORDERS[] = {by_area, by_size, by_box, by_crowd, by_life, by_start};

#define N_ORDERS ((int)(sizeof ORDERS / sizeof ORDERS[0]))

/* Sorts the items by weight. Fixed items come first, whatever their weight. noise: how far weights
 * vary, or 0. */
static void set_order(struct fit *fit, weight_of *weight, double noise)
{
    const struct place_search *search = fit->search;

    for (int i = 0; i < fit->component->n; i++) {
        double value = weight(search, fit->component->first + i);

        if (noise > 0)
            value *= 1 + noise * (double)vbs_place_random(fit->search, 1024) / 1024;
        fit->ranks[i] = (struct rank){
            search->items[fit->component->first + i].fixed >= 0 ? HUGE_VAL : value, i};
    }
    qsort(fit->ranks, (size_t)fit->component->n, sizeof *fit->ranks, by_weight);
}

enum vbs_status vbs_place_greedy(struct place_search *search, struct place_component *component,
                                 int64_t target)
{
    struct fit fit;

    VBS_TRY(start_fit(&fit, search, component));
    for (int pass = 0; pass < 2 * N_ORDERS && component->height > target; pass++) {
        set_order(&fit, ORDERS[pass / 2], 0);
        while (fit.n_placed > 0)
            fit.placed[fit.placed_order[--fit.n_placed]] = false;
        place_all(&fit, target, pass % 2, true);
        if (fit.heights[component->n] < component->height)
            vbs_place_record(component, fit.offsets, fit.heights[component->n], VBS_PLACE_GREEDY);
        if (search->over)
            break;
    }
    component->greedy_height = component->height;
    vbs_arena_clear(&fit.arena);
    return VBS_OK;
}

/* ---- repair ---- */

/* Gives items that end above the target more weight, in units of one place in the order. */
static void blame(struct fit *fit, int64_t target)
{
    const struct place_item *items = &fit->search->items[fit->component->first];
    double n = fit->component->n;

    for (int k = 0; k < fit->component->n; k++) {
        int i = fit->ranks[k].item;

        if (fit->offsets[i] + items[i].height > target)
            fit->ranks[k].weight +=
                n * (0.02 + 0.3 * (double)vbs_place_random(fit->search, 1024) / 1024);
    }
    qsort(fit->ranks, (size_t)fit->component->n, sizeof *fit->ranks, by_weight);
}

/* Repairs one order until the target is reached, a limit ends it or there is no more progress. */
static void repair_once(struct fit *fit, int64_t target, int64_t last_step)
{
    struct place_component *component = fit->component;
    int64_t best = INT64_MAX;
    int n = component->n;

    for (int k = 0; k < n; k++)
        if (fit->ranks[k].weight < HUGE_VAL)
            fit->ranks[k].weight = n - k;
    for (int stale = 0; stale < MAX_STALE && fit->search->n_steps < last_step; stale++) {
        if (!place_all(fit, target, false, false))
            return;
        if (fit->heights[n] < best) {
            best = fit->heights[n];
            stale = 0;
        }
        if (best < component->height)
            vbs_place_record(component, fit->offsets, best, VBS_PLACE_REPAIR);
        if (best <= target)
            return;
        blame(fit, target);
    }
}

enum vbs_status vbs_place_repair(struct place_search *search, struct place_component *component,
                                 int64_t target, int64_t n_steps, enum place_answer *answer)
{
    int64_t last_step = search->n_steps + n_steps;
    struct fit fit;

    VBS_TRY(start_fit(&fit, search, component));
    while (component->height > target && !search->over && search->n_steps < last_step) {
        unsigned try = component->n_tries++;

        set_order(&fit, ORDERS[try % 3], try < 3 ? 0 : 2);
        repair_once(&fit, target, last_step);
    }
    *answer = component->height <= target ? PLACE_FOUND : PLACE_UNKNOWN;
    vbs_arena_clear(&fit.arena);
    return VBS_OK;
}
