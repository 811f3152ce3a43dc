/*
 * A search that decides which of two items lies above the other, as job shops are solved by
 * deciding which of two jobs comes first: a step is a machine, bytes are time, and rigid groups are
 * jobs on several machines at once.
 *
 * The distance of two items must not lie in a hole, an interval of distances at which they would
 * overlap. A decision puts the distance of a pair on one side of a hole, and its consequences for
 * all offsets are propagated. Once no hole is left undecided the least offsets are a placement, so
 * the search is complete, also for rigid groups, alignment and fixed items. It chooses the pair for
 * which both sides leave the least slack (Smith and Cheng, 1993) and which failed most often
 * (Boussemart, Hemery, Lecoutre and Sais, 2004); it chooses the side by slack and by the best
 * placement, in turns. The search begins anew after growing numbers of failures, and keeps only the
 * counts of failures.
 *
 * Relaxing starts from the best placement: items that end too high and some near them are free, all
 * other pairs keep their sides (not their offsets), and the search tries to lower the free items.
 */
#include "place/bounds.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

#define MAX_ITEMS   ((int)1 << 15)
#define MAX_ARCS    ((int64_t)1 << 21)
#define FIRST_FAILS 64  /* failures until the search begins anew for the first time */
#define MORE_FAILS  1.3 /* factor of that number for each next time */
#define RELAX_FAILS 30  /* failures allowed for one set of free items */
#define LEAST_FREE  10
#define LEAST_SHARE 0.001

struct decision {
    int pair;
    const struct place_arc *hole;
    bool above;
    struct bounds_mark before;
};

struct place_orient {
    struct place_search *search;
    struct place_component *component;
    struct place_bounds *bounds;
    struct decision *decisions; /* [pairs and their holes] */
    int n_decisions;
    unsigned n_runs;

    /* These members serve relaxing. */
    bool *free;    /* [n] */
    int *freed;    /* [n], the free ones */
    double n_free; /* the number of items freed next time */
    double share;  /* the share of the way to the target that is tried next time */
};

bool vbs_place_orient_suits(const struct place_search *search,
                            const struct place_component *component)
{
    return component->n <= MAX_ITEMS && search->first_arc[component->first + component->n] -
                                                search->first_arc[component->first] <=
                                            MAX_ARCS;
}

static enum vbs_status start(struct place_search *search, struct place_component *component)
{
    struct place_orient *orient;
    size_t n = (size_t)component->n;
    size_t n_arcs = (size_t)(search->first_arc[component->first + component->n] -
                             search->first_arc[component->first]);

    if (component->orient)
        return VBS_OK;
    orient = calloc(1, sizeof *orient);
    if (!orient)
        return vbs_no_memory(search->ctx);
    component->orient = orient;
    *orient = (struct place_orient){.search = search,
                                    .component = component,
                                    .n_free = LEAST_FREE + (double)component->n / 8,
                                    .share = 0.25};
    orient->decisions = calloc(n_arcs / 2 + 1, sizeof *orient->decisions);
    orient->free = calloc(n, sizeof *orient->free);
    orient->freed = calloc(n, sizeof *orient->freed);
    orient->bounds = vbs_bounds_new(search, component);
    if (orient->decisions && orient->free && orient->freed && orient->bounds)
        return VBS_OK;
    vbs_place_orient_free(orient);
    component->orient = NULL;
    return vbs_no_memory(search->ctx);
}

void vbs_place_orient_free(struct place_orient *orient)
{
    if (!orient)
        return;
    vbs_bounds_free(orient->bounds);
    free(orient->decisions);
    free(orient->free);
    free(orient->freed);
    free(orient);
}

/* ---- deciding ---- */

static bool in_hole(const struct bounds_pair *pair, int64_t distance)
{
    for (int h = 0; h < pair->n_holes && pair->holes[h].low < distance; h++)
        if (distance < pair->holes[h].high)
            return true;
    return false;
}

/* Gives a score: the lower, the sooner the pair is to be decided. */
static double score_of(const struct place_bounds *bounds, const struct bounds_pair *pair)
{
    const struct place_arc *hole = vbs_bounds_hole(pair);
    double below = (double)(hole->low - pair->low), above = (double)(pair->high - hole->high);
    double least = below < above ? below : above, most = below < above ? above : below;

    return (least * sqrt((most + 1) / (least + 1)) + 1) /
           (pair->weight + bounds->blame[pair->i] + bounds->blame[pair->j]);
}

/* Chooses the pair to decide next; -1: the least offsets are a placement. */
static int choose_pair(struct place_bounds *bounds)
{
    double best_score = HUGE_VAL;
    bool violated = false;
    int best = -1;

    vbs_place_step(bounds->search, 1 + bounds->n_open / 64);
    for (int o = 0; o < bounds->n_open; o++) {
        const struct bounds_pair *pair = &bounds->pairs[bounds->open[o]];
        double score = score_of(bounds, pair);

        violated = violated || in_hole(pair, bounds->least[pair->i] - bounds->least[pair->j]);
        if (score < best_score || (score == best_score && bounds->open[o] < best)) {
            best_score = score;
            best = bounds->open[o];
        }
    }
    return violated ? best : -1;
}

static bool prefers_above(const struct place_orient *orient, const struct bounds_pair *pair,
                          const struct place_arc *hole)
{
    const int64_t *best = orient->component->offsets;

    if (orient->n_runs % 2)
        return best[pair->i] - best[pair->j] > hole->low;
    return pair->high - hole->high >= hole->low - pair->low;
}

static bool decide(struct place_orient *orient, int chosen)
{
    struct bounds_pair *pair = &orient->bounds->pairs[chosen];
    const struct place_arc *hole = vbs_bounds_hole(pair);
    bool above = prefers_above(orient, pair, hole);

    orient->decisions[orient->n_decisions++] =
        (struct decision){chosen, hole, above, vbs_bounds_mark(orient->bounds)};
    return vbs_bounds_decide(orient->bounds, pair, hole, above) &&
           vbs_bounds_propagate(orient->bounds);
}

/* Takes back decisions up to one whose other side is possible. This other side follows from the
 * decisions before it, and is no decision any more. False: there is none. */
static bool turn_back(struct place_orient *orient)
{
    struct place_bounds *bounds = orient->bounds;

    while (orient->n_decisions > 0 && !vbs_bounds_gave_up(bounds)) {
        const struct decision *last = &orient->decisions[--orient->n_decisions];

        vbs_bounds_undo(bounds, last->before);
        if (vbs_bounds_decide(bounds, &bounds->pairs[last->pair], last->hole, !last->above) &&
            vbs_bounds_propagate(bounds))
            return true;
    }
    return false;
}

/* Makes the least offsets, which leave no distance in a hole, the best of the component. */
static void record_offsets(struct place_orient *orient)
{
    const struct place_bounds *bounds = orient->bounds;
    int64_t height = 0;

    for (int i = 0; i < bounds->n; i++)
        if (bounds->least[i] + bounds->items[i].height > height)
            height = bounds->least[i] + bounds->items[i].height;
    vbs_place_record(orient->component, bounds->least, height, VBS_PLACE_SEARCH);
}

/* Searches until n_fails decisions have failed or last_step is reached, and then takes all
 * decisions back. */
static enum place_answer search_until(struct place_orient *orient, double n_fails,
                                      int64_t last_step)
{
    struct bounds_mark begin = vbs_bounds_mark(orient->bounds);
    enum place_answer answer = PLACE_UNKNOWN;

    orient->n_runs++;
    orient->n_decisions = 0;
    for (double fails = 0;
         answer == PLACE_UNKNOWN && fails < n_fails && orient->search->n_steps < last_step;) {
        int chosen = choose_pair(orient->bounds);

        if (chosen < 0) {
            record_offsets(orient);
            answer = PLACE_FOUND;
        } else if (!decide(orient, chosen)) {
            fails++;
            if (!turn_back(orient))
                answer = PLACE_REFUTED;
        }
        if (vbs_bounds_gave_up(orient->bounds) && answer != PLACE_FOUND)
            break;
    }
    if (vbs_bounds_gave_up(orient->bounds) && answer == PLACE_REFUTED)
        answer = PLACE_UNKNOWN;
    vbs_bounds_undo(orient->bounds, begin);
    return answer;
}

enum vbs_status vbs_place_orient(struct place_search *search, struct place_component *component,
                                 int64_t target, int64_t n_steps, enum place_answer *answer)
{
    enum vbs_status status = start(search, component);
    struct place_orient *orient = component->orient;
    int64_t last_step = search->n_steps + n_steps;

    if (status != VBS_OK)
        return status;
    *answer = PLACE_UNKNOWN;
    if (!vbs_bounds_reset(orient->bounds, target) || !vbs_bounds_propagate(orient->bounds))
        *answer = vbs_bounds_gave_up(orient->bounds) ? PLACE_UNKNOWN : PLACE_REFUTED;
    for (double n_fails = FIRST_FAILS;
         *answer == PLACE_UNKNOWN && !vbs_bounds_gave_up(orient->bounds) &&
         search->n_steps < last_step;
         n_fails *= MORE_FAILS)
        *answer = search_until(orient, n_fails, last_step);
    return orient->bounds->no_memory ? vbs_no_memory(search->ctx) : VBS_OK;
}

/* ---- relaxing ---- */

static void set_free(struct place_orient *orient, int item, int *n)
{
    orient->free[item] = true;
    orient->freed[(*n)++] = item;
}

/* Frees the items that end above goal, and then up to n_free items that share steps with free
 * ones. */
static void choose_free(struct place_orient *orient, int64_t goal)
{
    const struct place_bounds *bounds = orient->bounds;
    struct place_search *search = orient->search;
    int n = 0, most;

    for (int i = 0; i < bounds->n; i++) {
        orient->free[i] = false;
        if (orient->component->offsets[i] + bounds->items[i].height > goal)
            set_free(orient, i, &n);
    }
    most = n + (int)orient->n_free < bounds->n ? n + (int)orient->n_free : bounds->n;
    for (int head = 0; head < n && n < most; head++) {
        int item = orient->freed[head];

        for (int p = bounds->first_pair[item]; p < bounds->first_pair[item + 1] && n < most; p++) {
            const struct bounds_pair *pair = &bounds->pairs[bounds->pairs_of[p]];
            int other = pair->i == item ? pair->j : pair->i;

            if (!orient->free[other] && vbs_place_random(search, 3) > 0)
                set_free(orient, other, &n);
        }
    }
}

/* Fixes the distances of pairs that are not both free on their present sides of all holes. */
static void keep_sides(struct place_orient *orient)
{
    struct place_bounds *bounds = orient->bounds;
    const int64_t *best = orient->component->offsets;

    for (int p = 0; p < bounds->n_pairs; p++) {
        struct bounds_pair *pair = &bounds->pairs[p];
        int64_t distance = best[pair->i] - best[pair->j];

        if (orient->free[pair->i] && orient->free[pair->j])
            continue;
        for (int h = 0; h < pair->n_holes; h++) {
            if (pair->holes[h].high <= distance && pair->holes[h].high > pair->low)
                pair->low = pair->holes[h].high;
            else if (pair->holes[h].low >= distance && pair->holes[h].low < pair->high)
                pair->high = pair->holes[h].low;
        }
    }
    vbs_place_step(orient->search, 1 + bounds->n_pairs / 64);
}

/* Relaxes one set of free items. The result determines the size of the next set. */
static void relax_once(struct place_orient *orient, int64_t target, int64_t last_step)
{
    struct place_component *component = orient->component;
    int64_t way = (int64_t)((double)(component->height - target) * orient->share);
    int64_t goal = component->height - (way > 1 ? way : 1);
    bool begun;

    choose_free(orient, goal);
    begun = vbs_bounds_reset(orient->bounds, goal);
    if (begun) {
        keep_sides(orient);
        begun = vbs_bounds_propagate(orient->bounds);
    }
    if (!begun) {
        orient->share = orient->share < LEAST_SHARE ? 0.5 : orient->share * 0.7;
        orient->n_free *= 1.1;
    } else {
        enum place_answer answer = search_until(orient, RELAX_FAILS, last_step);

        if (answer == PLACE_FOUND)
            orient->share = orient->share * 1.5 < 1 ? orient->share * 1.5 : 1;
        else
            orient->n_free *= answer == PLACE_REFUTED ? 1.1 : 0.95;
    }
    if (orient->n_free > component->n)
        orient->n_free = component->n / 2.0;
    if (orient->n_free < LEAST_FREE)
        orient->n_free = LEAST_FREE;
}

enum vbs_status vbs_place_relax(struct place_search *search, struct place_component *component,
                                int64_t target, int64_t n_steps, enum place_answer *answer)
{
    enum vbs_status status = start(search, component);
    struct place_orient *orient = component->orient;
    int64_t last_step = search->n_steps + n_steps;

    if (status != VBS_OK)
        return status;
    while (component->height > target && !vbs_bounds_gave_up(orient->bounds) &&
           search->n_steps < last_step)
        relax_once(orient, target, last_step);
    *answer = component->height <= target ? PLACE_FOUND : PLACE_UNKNOWN;
    return orient->bounds->no_memory ? vbs_no_memory(search->ctx) : VBS_OK;
}
