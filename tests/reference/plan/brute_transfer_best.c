/*
 * The best schedule with weights included, by search over the lists of steps. The steps that can
 * follow a list depend on the progress of the layers and on the weights in memory (together: a
 * place), and on times: the two clocks, and the time at which each segment of weights was loaded.
 * Of two lists that lead to the same place, one whose times are nowhere later is never worse, so
 * that only such lists are kept. Lists are extended in the order of the least time that they can
 * lead to. Two kinds of lists are left out, because other lists do the same no later: those in
 * which an evict step could as well come a step later, and those that evict weights that no step
 * has read (the same list with a load less, or a resident less, is as good; with slices of 3 this
 * holds for residents only).
 */
#include "support/bail_out.h"
#include "reference/plan/brute_transfer.h"

#include "reference/plan/brute_common.h"
#include "reference/plan/brute_segments.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LISTS 200000
#define N_SLOTS   ((size_t)1 << 18)

/* A list of steps, by its last step. */
struct list {
    uint64_t place;
    double clock_us, copy_us, ready_us[BRUTE_SEGMENTS];
    double least_us; /* the least time of all schedules that begin with the list */
    struct vbs_step step;
    unsigned unread; /* segments that may not be evicted yet */
    int before;      /* the list without that step, -1: the empty one */
    int next;        /* the next list that leads to the same place */
    size_t slot;
    bool worse; /* another list is at least as good */
};

struct search {
    const struct brute_best *best;
    struct brute_segments weights;
    double sample_us[BRUTE_LAYERS + 1]; /* the least that a sample of a layer takes */
    unsigned residents;
    bool hasty;             /* one list to each place is enough */
    int n_lists, n_entered; /* lists with these residents; lists with any */
    struct list *lists;
    int *slots; /* the first list of a place, by hash; -1: none */
    int *heap, n_heap;
    double best_us;
    bool too_many;
};

/* ---- places ---- */

static uint64_t pack(const struct search *search, const struct brute_progress *progress,
                     unsigned segments)
{
    uint64_t place = segments;

    for (int k = 1; k <= search->best->of.profile->n_layers; k++) {
        bool level = brute_progress_least(progress, k) == brute_progress_most(progress, k);

        place = place << 2 | (unsigned)(level ? 0 : progress->slices[k] - 1);
        for (int p = 0; p < BRUTE_SLICES; p++)
            place = place << 2 |
                    (unsigned)(p < progress->slices[k] && (p == 0 || !level) ? progress->done[k][p]
                                                                             : 0);
    }
    return place;
}

static void unpack(const struct search *search, uint64_t place, struct brute_progress *progress,
                   unsigned *segments)
{
    *progress = brute_progress_start();
    for (int k = search->best->of.profile->n_layers; k >= 1; k--) {
        for (int p = BRUTE_SLICES - 1; p >= 0; p--, place >>= 2)
            progress->done[k][p] = (int)(place & 3);
        progress->slices[k] = (int)(place & 3) + 1;
        place >>= 2;
    }
    *segments = (unsigned)place;
}

/* ---- lists ---- */

static void find_least_times(struct search *search)
{
    const struct vbs_profile *profile = search->best->of.profile;

    for (int k = 1; k <= profile->n_layers; k++) {
        search->sample_us[k] = HUGE_VAL;
        for (int b = 0; b < profile->n_batches; b++) {
            int n_rows;
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, k, b, &n_rows);

            for (int i = 0; i < n_rows; i++) {
                search->too_many = search->too_many || rows[i].format >= BRUTE_FORMATS;
                search->sample_us[k] =
                    fmin(search->sample_us[k], rows[i].time_us / profile->batches[b]);
            }
        }
    }
}

static double promise_us(const struct search *search, const struct brute_progress *progress,
                         const struct list *list)
{
    const struct brute_request *of = &search->best->of;
    double left_us = 0;

    for (int k = 1; k <= of->profile->n_layers; k++)
        for (int p = 1; p <= progress->slices[k]; p++)
            left_us += search->sample_us[k] * (of->request - progress->done[k][p - 1]) *
                       brute_transfer_slice(of->profile, k, 0, p, progress->slices[k]).share;
    return fmax(list->clock_us + left_us, list->copy_us);
}

static bool is_nowhere_later(const struct search *search, const struct list *a,
                             const struct list *b, unsigned segments)
{
    if (search->hasty)
        return true;
    if (a->clock_us > b->clock_us || a->copy_us > b->copy_us)
        return false;
    for (int i = 0; i < search->weights.n_segments; i++)
        if (segments >> i & 1 && a->ready_us[i] > fmax(b->ready_us[i], b->clock_us))
            return false;
    return true;
}

static size_t find_slot(const struct search *search, uint64_t place)
{
    size_t slot = (size_t)((place * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % N_SLOTS;

    while (search->slots[slot] >= 0 && search->lists[search->slots[slot]].place != place)
        slot = (slot + 1) % N_SLOTS;
    return slot;
}

static bool comes_before(const struct search *search, int a, int b)
{
    const struct list *first = &search->lists[a], *second = &search->lists[b];

    if (first->least_us != second->least_us)
        return first->least_us < second->least_us;
    return first->clock_us > second->clock_us; /* the list that is nearer to the end comes first */
}

static void swap(int *a, int *b)
{
    int was = *a;

    *a = *b;
    *b = was;
}

static void push(struct search *search, int list)
{
    int i = search->n_heap++;

    search->heap[i] = list;
    for (; i > 0 && comes_before(search, search->heap[i], search->heap[(i - 1) / 2]);
         i = (i - 1) / 2)
        swap(&search->heap[i], &search->heap[(i - 1) / 2]);
}

static int pop(struct search *search)
{
    int first = search->heap[0], i = 0;

    search->heap[0] = search->heap[--search->n_heap];
    for (;;) {
        int least = i;

        for (int child = 2 * i + 1; child <= 2 * i + 2 && child < search->n_heap; child++)
            if (comes_before(search, search->heap[child], search->heap[least]))
                least = child;
        if (least == i)
            return first;
        swap(&search->heap[i], &search->heap[least]);
        i = least;
    }
}

/* Removes lists that a new one to the same place makes needless. One of them stays in the slot,
 * because it identifies the place; the new list comes before it. */
static void forget_worse(struct search *search, size_t slot, const struct list *list,
                         unsigned segments)
{
    for (int *at = &search->slots[slot]; *at >= 0;) {
        struct list *other = &search->lists[*at];

        other->worse = other->worse || is_nowhere_later(search, list, other, segments);
        if (other->worse && at != &search->slots[slot])
            *at = other->next;
        else
            at = &other->next;
    }
}

/* Enters a list, unless one to the same place is nowhere later. */
static void enter(struct search *search, struct list list, const struct brute_progress *progress,
                  unsigned segments)
{
    size_t slot;

    list.place = pack(search, progress, segments);
    list.least_us = promise_us(search, progress, &list);
    list.worse = false;
    if ((list.least_us >= search->best_us && !search->hasty) || search->too_many)
        return;
    slot = find_slot(search, list.place);
    for (int i = search->slots[slot]; i >= 0; i = search->lists[i].next)
        if (is_nowhere_later(search, &search->lists[i], &list, segments))
            return;
    forget_worse(search, slot, &list, segments);
    if (search->n_entered == MAX_LISTS) {
        search->too_many = true;
        return;
    }
    search->n_entered++;
    list.slot = slot;
    list.next = search->slots[slot];
    search->slots[slot] = search->n_lists;
    search->lists[search->n_lists] = list;
    push(search, search->n_lists++);
}

/* ---- steps ---- */

/* Gives whether a range is of use: some of it is resident, or steps of its layer are left. */
static bool is_useful(const struct search *search, const struct brute_progress *progress,
                      const struct brute_range *range)
{
    return range->segments & search->residents ||
           brute_progress_least(progress, range->step.layer) < search->best->of.request;
}

/* Gives whether a step that takes memory_bytes fits, and would not fit without each of the evict
 * steps right before it. */
static bool fits(const struct search *search, int from, int64_t memory_bytes)
{
    if (memory_bytes > search->best->memory_bytes)
        return false;
    for (const struct list *list = &search->lists[from];
         list->before >= 0 && list->step.op == VBS_STEP_EVICT; list = &search->lists[list->before])
        if (memory_bytes + list->step.bytes <= search->best->memory_bytes)
            return false;
    return true;
}

static void extend_by_transfers(struct search *search, int from,
                                const struct brute_progress *progress, unsigned segments)
{
    const struct brute_best *best = search->best;
    int64_t live_bytes = brute_transfer_live(&best->of, progress);

    for (int i = 0; i < search->weights.n_ranges; i++) {
        const struct brute_range *range = &search->weights.ranges[i];
        struct list list = search->lists[from];

        list.before = from;
        list.step = range->step;
        if ((segments & range->segments) == range->segments && !(range->segments & list.unread)) {
            list.step.op = VBS_STEP_EVICT;
            enter(search, list, progress, segments & ~range->segments);
        }
        if (segments & range->segments || !is_useful(search, progress, range) ||
            !(best->link.bytes_per_us > 0) ||
            !fits(search, from,
                  live_bytes + brute_segments_bytes(&search->weights, segments | range->segments)))
            continue;
        if (best->max_slices <= 2)
            list.unread |= range->segments;
        list.copy_us = fmax(list.copy_us, list.clock_us) + best->link.latency_us +
                       (double)list.step.bytes / best->link.bytes_per_us;
        for (int p = 0; p < search->weights.n_segments; p++)
            if (range->segments >> p & 1)
                list.ready_us[p] = list.copy_us;
        enter(search, list, progress, segments | range->segments);
    }
}

static bool inputs_there(const struct search *search, const struct brute_progress *progress,
                         int layer, int done)
{
    const struct vbs_profile_layer *at = &search->best->of.profile->layers[layer];

    for (int i = 0; i < at->n_inputs; i++)
        if (at->inputs[i] > 0 && brute_progress_least(progress, at->inputs[i]) < done)
            return false;
    return done <= search->best->of.request;
}

/* Extends a list by one slice of a layer on one row. */
static void extend_by_row(struct search *search, int from, const struct brute_progress *progress,
                          unsigned segments, const struct vbs_step *step,
                          const struct vbs_profile_row *row)
{
    const struct brute_best *best = search->best;
    const struct vbs_profile *profile = best->of.profile;
    struct brute_slice range =
        brute_transfer_slice(profile, step->layer, row->weight_bytes, step->slice, step->n_slices);
    unsigned needed = brute_segments_in(&search->weights, step->layer, row->format, &range);
    struct brute_progress after = *progress;
    struct list list = search->lists[from];
    double start_us = list.clock_us;

    if (!brute_divides(&profile->layers[step->layer], row, step->n_slices) ||
        step->n_slices > brute_most_slices(search->best, step->layer, row->weight_bytes) ||
        (segments & needed) != needed ||
        !fits(search, from,
              brute_transfer_during(&best->of, progress, step->layer, step->slice, step->batch) +
                  row->ws_bytes + brute_segments_bytes(&search->weights, segments)))
        return;
    for (int p = 0; p < search->weights.n_segments; p++)
        if (needed >> p & 1)
            start_us = fmax(start_us, list.ready_us[p]);
    list.before = from;
    list.step = *step;
    list.step.algorithm = row->algorithm;
    list.unread &= ~needed;
    list.clock_us = start_us + row->time_us * range.share;
    after.done[step->layer][step->slice - 1] += step->batch;
    enter(search, list, &after, segments);
}

static void extend_by_layer(struct search *search, int from, const struct brute_progress *progress,
                            unsigned segments, int layer)
{
    const struct vbs_profile *profile = search->best->of.profile;
    int n_rows;

    for (int slice = 1; slice <= progress->slices[layer]; slice++)
        for (int b = 0; b < profile->n_batches; b++) {
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, b, &n_rows);
            const struct vbs_step step = {.layer = layer,
                                          .batch = profile->batches[b],
                                          .slice = slice,
                                          .n_slices = progress->slices[layer]};

            if (inputs_there(search, progress, layer,
                             progress->done[layer][slice - 1] + step.batch))
                for (int i = 0; i < n_rows; i++)
                    extend_by_row(search, from, progress, segments, &step, &rows[i]);
        }
}

static void extend(struct search *search, int from)
{
    const struct vbs_profile *profile = search->best->of.profile;
    struct brute_progress progress;
    unsigned segments;

    unpack(search, search->lists[from].place, &progress, &segments);
    extend_by_transfers(search, from, &progress, segments);
    for (int k = 1; k <= profile->n_layers; k++) {
        struct brute_progress divided = progress;
        bool may_divide = search->best->bands || profile->layers[k].weight_bytes > 0;

        if (progress.slices[k] > 1) {
            extend_by_layer(search, from, &progress, segments, k);
            continue;
        }
        for (int n = 1; n <= (may_divide ? search->best->max_slices : 1); n++) {
            divided.slices[k] = n;
            for (int p = 0; p < n; p++)
                divided.done[k][p] = progress.done[k][0];
            extend_by_layer(search, from, &divided, segments, k);
        }
    }
}

static bool is_goal(const struct search *search, const struct list *list)
{
    const struct brute_request *of = &search->best->of;
    struct brute_progress progress;
    unsigned segments;

    unpack(search, list->place, &progress, &segments);
    for (int k = 1; k <= of->profile->n_layers; k++)
        if (brute_progress_least(&progress, k) < of->request)
            return false;
    return (segments & search->residents) == search->residents;
}

/* ---- the search ---- */

/* Copies the steps of a list, first to last. */
static void copy_steps(const struct search *search, int list, struct vbs_step *steps, int *n_steps)
{
    int n = 0;

    for (int i = list; search->lists[i].before >= 0; i = search->lists[i].before)
        n++;
    if (n > BRUTE_STEPS)
        bail_out("a schedule of %d steps", n);
    *n_steps = n;
    for (int i = list; search->lists[i].before >= 0; i = search->lists[i].before)
        steps[--n] = search->lists[i].step;
}

/* Searches with these residents; true where the result is better than the best before. */
static bool search_with(struct search *search, unsigned residents, struct vbs_step *steps,
                        int *n_steps)
{
    struct brute_progress start = brute_progress_start();

    for (int i = 0; i < search->n_lists; i++)
        search->slots[search->lists[i].slot] = -1;
    search->residents = residents;
    search->n_lists = search->n_heap = 0;
    if (brute_transfer_live(&search->best->of, &start) +
            brute_segments_bytes(&search->weights, residents) >
        search->best->memory_bytes)
        return false;
    enter(search, (struct list){.before = -1, .unread = residents}, &start, residents);
    while (search->n_heap > 0 && !search->too_many) {
        int list = pop(search);

        if (search->lists[list].worse)
            continue;
        if (!is_goal(search, &search->lists[list])) {
            extend(search, list);
            continue;
        }
        search->best_us = search->lists[list].least_us;
        copy_steps(search, list, steps, n_steps);
        return true;
    }
    return false;
}

/* Finds loads that bring exactly the missing segments; false: no slices consist of just these. */
static bool bring(const struct search *search, unsigned missing, struct vbs_step *loads, int *n)
{
    unsigned lowest = missing & ~(missing - 1);

    if (missing == 0) {
        *n = 0;
        return true;
    }
    for (int i = 0; i < search->weights.n_ranges; i++) {
        unsigned segments = search->weights.ranges[i].segments;

        if (!(segments & lowest) || (segments & missing) != segments ||
            !bring(search, missing & ~segments, loads, n))
            continue;
        loads[*n] = search->weights.ranges[i].step;
        loads[(*n)++].resident = true;
        return true;
    }
    return false;
}

static int compare_descending(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;

    return (*a < *b) - (*a > *b);
}

/* Gives whether no schedule exists. Where something can be copied, every schedule with residents
 * has one without them, though it ends later. */
static bool is_infeasible(struct search *search)
{
    struct vbs_step steps[BRUTE_STEPS];
    bool infeasible;
    int n_steps;

    if (!(search->best->link.bytes_per_us > 0))
        return false;
    search->hasty = true;
    infeasible = !search_with(search, 0, steps, &n_steps);
    search->hasty = false;
    search->best_us = HUGE_VAL;
    return infeasible;
}

/* Gives a lower bound of the time of all schedules. */
static double least_of_all_us(const struct search *search)
{
    struct brute_progress start = brute_progress_start();

    return promise_us(search, &start, &(struct list){0});
}

/* Searches with every set of residents, the largest first: these searches are short, and their
 * results bound the others. */
static void search_all(struct search *search, struct vbs_step *steps, int *n_steps)
{
    struct vbs_step loads[BRUTE_SEGMENTS], others[BRUTE_STEPS];
    int n_sets = 1 << search->weights.n_segments, n_loads, n_others;
    int64_t *sets = brute_alloc((size_t)n_sets, sizeof *sets);

    for (int i = 0; i < n_sets; i++)
        sets[i] = brute_segments_bytes(&search->weights, (unsigned)i) << BRUTE_SEGMENTS | i;
    qsort(sets, (size_t)n_sets, sizeof *sets, compare_descending);
    for (int s = 0; s < n_sets && search->best_us > least_of_all_us(search); s++) {
        unsigned residents = (unsigned)sets[s] & ((1u << BRUTE_SEGMENTS) - 1);

        if (search->too_many || !bring(search, residents, loads, &n_loads) ||
            !search_with(search, residents, others, &n_others) || !steps)
            continue;
        *n_steps = n_loads + n_others < BRUTE_STEPS ? n_loads + n_others : BRUTE_STEPS;
        for (int i = 0; i < *n_steps; i++)
            steps[i] = i < n_loads ? loads[i] : others[i - n_loads];
    }
    free(sets);
}

double brute_transfer_best(const struct brute_best *best, struct vbs_step *steps, int *n_steps)
{
    struct search search = {.best = best, .best_us = HUGE_VAL};

    if (best->of.profile->n_layers > BRUTE_LAYERS || best->of.request > BRUTE_REQUEST)
        return NAN;
    search.lists = brute_alloc(MAX_LISTS, sizeof *search.lists);
    search.heap = brute_alloc(MAX_LISTS, sizeof *search.heap);
    search.slots = brute_alloc(N_SLOTS, sizeof *search.slots);
    for (size_t i = 0; i < N_SLOTS; i++)
        search.slots[i] = -1;
    search.too_many = !brute_segments_list(best, &search.weights);
    find_least_times(&search);
    if (!is_infeasible(&search))
        search_all(&search, steps, n_steps);
    free(search.lists);
    free(search.heap);
    free(search.slots);
    return search.too_many ? NAN : search.best_us;
}
