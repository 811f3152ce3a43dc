/*
 * The search for the best schedules of a small problem with transfers, for all budgets at once.
 *
 * A label is a list of steps by what it leads to: the progress of the layers, the segments of
 * weights in memory, those that are resident, the memory that it took, both clocks, and the time at
 * which each segment was loaded. Of two labels with the same progress and the same segments, one
 * that took no more memory and whose times are nowhere later leads to all that the other leads to,
 * and the other is dropped (labels of shortest paths with several criteria; Martins, 1984). A label
 * is also dropped where the least time of all that it can lead to is no better than that of a known
 * plan that takes no more memory. Labels are extended in the order of this least time. The search
 * begins with every set of residents.
 *
 * Some lists are left out because another list does the same, no later and in no more memory:
 *
 *   a load directly before a step that needs it not and ends before the copy can begin: the load
 * can as well come behind the step; an evict step directly before a step that fits beside the
 * evicted weights into the memory that the list takes anyway: it can as well come behind that step;
 *   evicting weights that no step has read.
 */
#include "plan/weights/exact.h"
#include "plan/weights/least.h"
#include "plan/weights/trial.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/grow.h"
#include "base/heap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SAMPLES 8 /* of all layers */
#define MAX_LABELS   200000
#define N_SLOTS      ((size_t)1 << 18)
#define CHECK_EVERY  64 /* labels between two looks for Ctrl-C and at the clock */

/* Comparisons of labels of one place. Where copies of several weights lie in memory, thousands of
 * labels of a place may be no better than each other, and comparing them takes most of the time. */
#define MAX_COMPARED ((int64_t)1 << 29)

struct exact_label {
    uint64_t progress;
    uint16_t loaded, residents, unread; /* segments; those that may not be evicted yet */
    bool worse;                         /* another label is at least as good */
    int16_t block;                      /* of the last step, where it is an evict step */
    int before;                         /* the label without the last step; -1: there is none */
    double clock_us;                    /* of computing */
    double copy_us;                     /* when the next copy can begin */
    double load_us;                     /* when the last load can begin */
    double ready_us[EXACT_SEGMENTS];    /* when segments that are in memory were loaded */
    double least_us;                    /* of all schedules that begin with these steps */
    int64_t peak_bytes;
    struct vbs_step step;
};

/* What most comparisons of two labels look at. */
struct exact_key {
    double clock_us, copy_us;
    int64_t peak_bytes;
    int label;
    uint16_t unread;
};

/* Labels with the same progress and the same segments, none of which is as good as another. */
struct exact_place {
    int first; /* a label of the place, perhaps a worse one */
    int n;
    int64_t capacity;
    struct exact_key *keys;
};

struct exact_search {
    struct vbs_ctx *ctx;
    struct exact_problem problem;
    struct vbs_pareto_set *pareto;
    int64_t most_bytes;
    double until_s; /* 0: no limit */
    int64_t n_compared;
    int n_labels;
    int64_t label_capacity;
    struct exact_label *labels;
    struct vbs_heap heap; /* of labels to extend */
    int *slots;           /* [N_SLOTS] places by hash; -1: none */
    int n_places;
    int64_t place_capacity;
    struct exact_place *places;
    struct vbs_step_list steps;
};

/* ---- labels ---- */

static bool comes_before(const void *self, int a, int b)
{
    const struct exact_search *search = self;
    const struct exact_label *first = &search->labels[a], *second = &search->labels[b];

    if (first->least_us != second->least_us)
        return first->least_us < second->least_us;
    return first->clock_us > second->clock_us; /* the one that is nearer to the end */
}

static bool is_same_place(const struct exact_label *a, const struct exact_label *b)
{
    return a->progress == b->progress && a->loaded == b->loaded && a->residents == b->residents;
}

static size_t find_slot(const struct exact_search *search, const struct exact_label *label)
{
    uint64_t hash = (label->progress ^ (uint64_t)label->loaded << 54) * 0x9e3779b97f4a7c15;
    size_t slot;

    hash = (hash ^ hash >> 29 ^ label->residents) * 0xff51afd7ed558ccd;
    slot = (hash ^ hash >> 32) % N_SLOTS;
    while (search->slots[slot] >= 0 &&
           !is_same_place(&search->labels[search->places[search->slots[slot]].first], label))
        slot = (slot + 1) % N_SLOTS;
    return slot;
}

static bool is_key_as_good(const struct exact_key *a, const struct exact_key *b)
{
    return a->peak_bytes <= b->peak_bytes && a->clock_us <= b->clock_us &&
           a->copy_us <= b->copy_us && !(a->unread & ~b->unread);
}

/* Returns whether the segments of label a of a place are loaded when those of label b are, or when
 * b's next step can begin. */
static bool is_ready(const struct exact_search *search, const struct exact_label *a,
                     const struct exact_label *b)
{
    for (int i = 0; i < search->problem.n_segments; i++)
        if (a->loaded >> i & 1 && a->ready_us[i] > b->ready_us[i] && a->ready_us[i] > b->clock_us)
            return false;
    return true;
}

/* Returns whether a label of the place leads to all that the new one leads to. Such labels are
 * found often, and come forward. */
static bool has_as_good(struct exact_search *search, struct exact_place *place,
                        const struct exact_label *label, const struct exact_key *key)
{
    int i = 0;

    while (i < place->n && !(is_key_as_good(&place->keys[i], key) &&
                             is_ready(search, &search->labels[place->keys[i].label], label)))
        i++;
    search->n_compared += i;
    if (i < place->n) {
        const struct exact_key found = place->keys[i];

        place->keys[i] = place->keys[i / 2];
        place->keys[i / 2] = found;
    }
    return i < place->n;
}

/* Removes the labels of a place that are no better than a new one, and marks them. */
static void remove_worse(struct exact_search *search, struct exact_place *place,
                         const struct exact_label *label, const struct exact_key *key)
{
    int n = 0;

    search->n_compared += place->n;
    for (int i = 0; i < place->n; i++) {
        struct exact_label *other = &search->labels[place->keys[i].label];

        if (is_key_as_good(key, &place->keys[i]) && is_ready(search, label, other))
            other->worse = true;
        else
            place->keys[n++] = place->keys[i];
    }
    place->n = n;
}

/* Finds the place of a label that is about to be added, or makes it. */
static enum vbs_status find_place(struct exact_search *search, const struct exact_label *label,
                                  struct exact_place **place)
{
    size_t slot = find_slot(search, label);

    if (search->slots[slot] < 0) {
        VBS_TRY(vbs_grow(search->ctx, &search->places, &search->place_capacity,
                         (int64_t)search->n_places + 1, sizeof *search->places));
        search->places[search->n_places] = (struct exact_place){.first = search->n_labels};
        search->slots[slot] = search->n_places++;
    }
    *place = &search->places[search->slots[slot]];
    return VBS_OK;
}

/* Enters a label, unless nothing of use can come of it. */
static enum vbs_status enter(struct exact_search *search, struct exact_label *label,
                             const struct exact_progress *progress)
{
    double copies_us =
        vbs_exact_copy_us(&search->problem, progress, label->loaded, label->residents);
    double copied_us =
        copies_us > 0 ? fmax(label->copy_us, label->clock_us) + copies_us : label->copy_us;
    struct exact_place *place;
    struct exact_key key;

    label->progress = vbs_exact_pack(&search->problem, progress);
    label->least_us =
        fmax(label->clock_us + vbs_exact_compute_us(&search->problem, progress), copied_us);
    if (label->peak_bytes > search->most_bytes || search->n_labels == MAX_LABELS ||
        !vbs_pareto_wants(search->pareto, label->peak_bytes, label->least_us))
        return VBS_OK;
    label->copy_us = fmax(label->copy_us, label->clock_us);
    key = (struct exact_key){label->clock_us, label->copy_us, label->peak_bytes, search->n_labels,
                             label->unread};
    VBS_TRY(find_place(search, label, &place));
    if (has_as_good(search, place, label, &key))
        return VBS_OK;
    VBS_TRY(vbs_grow(search->ctx, &search->labels, &search->label_capacity,
                     (int64_t)search->n_labels + 1, sizeof *search->labels));
    VBS_TRY(vbs_grow(search->ctx, &place->keys, &place->capacity, (int64_t)place->n + 1,
                     sizeof *place->keys));
    remove_worse(search, place, label, &key);
    place->keys[place->n++] = key;
    search->labels[search->n_labels] = *label;
    return vbs_heap_push(search->ctx, &search->heap, search->n_labels++);
}

/* ---- steps ---- */

/* Sets the memory of a label whose last step takes so many bytes; false where the evict steps right
 * before could as well come behind it. */
static bool take(const struct exact_search *search, struct exact_label *label, int64_t bytes)
{
    if (bytes > label->peak_bytes)
        label->peak_bytes = bytes;
    for (int i = label->before; search->labels[i].before >= 0; i = search->labels[i].before) {
        if (search->labels[i].step.op != VBS_STEP_EVICT)
            return true;
        if (bytes + search->labels[i].step.bytes <= label->peak_bytes)
            return false;
    }
    return true;
}

static enum vbs_status extend_by_evictions(struct exact_search *search, int from,
                                           const struct exact_progress *progress)
{
    struct exact_label at = search->labels[from];

    for (int i = 0; i < search->problem.n_blocks; i++) {
        const struct exact_block *block = &search->problem.blocks[i];
        struct exact_label label = at;

        if ((at.loaded & block->segments) != block->segments || at.unread & block->segments ||
            (at.before >= 0 && at.step.op == VBS_STEP_EVICT && i < at.block))
            continue;
        label.before = from;
        label.block = (int16_t)i;
        label.step = block->step;
        label.step.op = VBS_STEP_EVICT;
        label.loaded = (uint16_t)(at.loaded & ~block->segments);
        VBS_TRY(enter(search, &label, progress));
    }
    return VBS_OK;
}

static enum vbs_status extend_by_loads(struct exact_search *search, int from,
                                       const struct exact_progress *progress)
{
    const struct exact_problem *problem = &search->problem;
    struct exact_label at = search->labels[from];
    int64_t bytes = vbs_exact_live_bytes(problem, progress) + vbs_exact_bytes(problem, at.loaded);

    for (int i = 0; i < problem->n_blocks; i++) {
        const struct exact_block *block = &problem->blocks[i];
        struct exact_label label = at;

        if (at.loaded & block->segments ||
            (!(at.residents & block->segments) &&
             vbs_exact_least(progress, block->step.layer) == problem->task->request))
            continue;
        label.before = from;
        label.step = block->step;
        label.step.op = VBS_STEP_LOAD;
        if (!take(search, &label, bytes + block->step.bytes))
            continue;
        label.loaded = (uint16_t)(at.loaded | block->segments);
        label.unread = (uint16_t)(at.unread | block->segments);
        label.load_us = fmax(at.copy_us, at.clock_us);
        label.copy_us = label.load_us + block->copy_us;
        for (int s = 0; s < problem->n_segments; s++)
            if (block->segments >> s & 1)
                label.ready_us[s] = label.copy_us;
        VBS_TRY(enter(search, &label, progress));
    }
    return VBS_OK;
}

static bool runs_in_halves(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row)
{
    return vbs_profile_divides(layer, row, 2) &&
           (row->weight_bytes == 0 || vbs_slice_limit(layer, row->weight_bytes) >= 2);
}

/* A step without an algorithm: the bytes of activations during it, and the progress behind it. */
struct exact_move {
    struct vbs_step step;
    int64_t bytes;
    struct exact_progress after;
};

/* Extends a label by a move on one row. */
static enum vbs_status extend_by_row(struct exact_search *search, int from,
                                     const struct exact_move *move,
                                     const struct vbs_profile_row *row)
{
    const struct exact_problem *problem = &search->problem;
    const struct vbs_step *step = &move->step;
    const struct vbs_profile_layer *l = &problem->task->profile->layers[step->layer];
    struct exact_label label = search->labels[from];
    unsigned needs = row->weight_bytes > 0 ? vbs_exact_needs(problem, step, row) : 0;
    double start_us = label.clock_us;

    if (needs & ~(unsigned)label.loaded || (step->n_slices > 1 && !runs_in_halves(l, row)))
        return VBS_OK;
    for (int s = 0; s < problem->n_segments; s++)
        if (needs >> s & 1)
            start_us = fmax(start_us, label.ready_us[s]);
    label.clock_us = start_us + vbs_slice_us(l, row, step->slice, step->n_slices);
    if (label.before >= 0 && label.step.op == VBS_STEP_LOAD && !(needs & label.unread) &&
        label.load_us >= label.clock_us)
        return VBS_OK;
    label.before = from;
    label.step = *step;
    label.step.algorithm = row->algorithm;
    label.unread = (uint16_t)(label.unread & ~needs);
    return take(search, &label,
                move->bytes + row->ws_bytes + vbs_exact_bytes(problem, label.loaded))
               ? enter(search, &label, &move->after)
               : VBS_OK;
}

/* Gives the samples that all inputs of a layer have done. */
static int ready_samples(const struct exact_problem *problem, const struct exact_progress *progress,
                         int layer)
{
    const struct vbs_task *task = problem->task;
    int least = task->request;

    for (int i = 0; i < task->n_inputs[layer]; i++) {
        int done = vbs_exact_least(progress, task->inputs[layer][i]);

        least = done < least ? done : least;
    }
    return least;
}

static enum vbs_status extend_by_layer(struct exact_search *search, int from,
                                       const struct exact_progress *progress, int layer)
{
    const struct vbs_task *task = search->problem.task;
    const int *done = progress->done[layer];
    int ready = ready_samples(&search->problem, progress, layer);

    for (int slice = done[0] == done[1] ? 0 : 1; slice <= 2; slice++)
        for (int b = 0; b < task->n_batches; b++) {
            struct exact_move move = {.step = {.layer = layer,
                                               .batch = task->profile->batches[b],
                                               .slice = slice,
                                               .n_slices = slice > 0 ? 2 : 0},
                                      .after = *progress};
            int n_rows;
            const struct vbs_profile_row *rows = vbs_profile_rows(task->profile, layer, b, &n_rows);

            if (done[slice > 0 ? slice - 1 : 0] + move.step.batch > ready)
                break;
            move.bytes = vbs_exact_step(&search->problem, &move.after, &move.step);
            for (int i = 0; i < n_rows; i++)
                VBS_TRY(extend_by_row(search, from, &move, &rows[i]));
        }
    return VBS_OK;
}

static enum vbs_status extend(struct exact_search *search, int from)
{
    struct exact_progress progress;

    vbs_exact_unpack(&search->problem, search->labels[from].progress, &progress);
    VBS_TRY(extend_by_evictions(search, from, &progress));
    VBS_TRY(extend_by_loads(search, from, &progress));
    for (int k = 1; k <= search->problem.task->n_layers; k++)
        VBS_TRY(extend_by_layer(search, from, &progress, k));
    return VBS_OK;
}

/* ---- whole schedules ---- */

/* Appends resident loads of segments, in as few blocks as there are. */
static enum vbs_status append_residents(struct exact_search *search, unsigned segments)
{
    for (int i = 0; i < search->problem.n_blocks; i++) {
        const struct exact_block *block = &search->problem.blocks[i];
        struct vbs_step step = block->step;

        if ((segments & block->segments) != block->segments)
            continue; /* the block of all weights of a format comes before those of its halves */
        segments &= ~block->segments;
        step.op = VBS_STEP_LOAD;
        step.resident = true;
        VBS_TRY(vbs_step_list_append(search->ctx, &search->steps, &step));
    }
    return VBS_OK;
}

/* Appends the steps of a label, first to last. */
static enum vbs_status append_steps(struct exact_search *search, int label)
{
    int64_t at = search->steps.n_steps;

    for (int i = label; search->labels[i].before >= 0; i = search->labels[i].before)
        VBS_TRY(vbs_step_list_append(search->ctx, &search->steps, &search->labels[i].step));
    for (int64_t end = search->steps.n_steps - 1; at < end; at++, end--) {
        struct vbs_step step = search->steps.steps[at];

        search->steps.steps[at] = search->steps.steps[end];
        search->steps.steps[end] = step;
    }
    return VBS_OK;
}

static bool is_goal(const struct exact_search *search, const struct exact_label *label)
{
    struct exact_progress progress;

    vbs_exact_unpack(&search->problem, label->progress, &progress);
    for (int k = 1; k <= search->problem.task->n_layers; k++)
        if (vbs_exact_least(&progress, k) < search->problem.task->request)
            return false;
    return (label->residents & ~label->loaded) == 0;
}

static enum vbs_status offer(struct exact_search *search, int label)
{
    const struct exact_label *at = &search->labels[label];

    search->steps.n_steps = 0;
    VBS_TRY(append_residents(search, at->residents));
    VBS_TRY(append_steps(search, label));
    return vbs_trial_offer(search->ctx, at->peak_bytes, &search->steps, search->pareto);
}

/* ---- the search ---- */

/* Enters the label of no steps with each set of residents. */
static enum vbs_status begin(struct exact_search *search)
{
    const struct exact_problem *problem = &search->problem;
    struct exact_progress none;
    struct vbs_bracket bracket;

    VBS_TRY(vbs_transfer_bracket(search->ctx, problem->task, &bracket));
    vbs_exact_unpack(problem, 0, &none);
    for (unsigned residents = 0; residents < 1u << problem->n_segments; residents++) {
        struct exact_label label = {.loaded = (uint16_t)residents,
                                    .residents = (uint16_t)residents,
                                    .unread = (uint16_t)residents,
                                    .before = -1};

        label.peak_bytes =
            vbs_exact_live_bytes(problem, &none) + vbs_exact_bytes(problem, residents);
        if (label.peak_bytes < bracket.low_bytes)
            label.peak_bytes = bracket.low_bytes;
        VBS_TRY(enter(search, &label, &none));
    }
    return VBS_OK;
}

static enum vbs_status search_all(struct exact_search *search)
{
    VBS_TRY(begin(search));
    for (int n = 0;
         search->heap.n > 0 && search->n_labels < MAX_LABELS && search->n_compared < MAX_COMPARED;
         n++) {
        int label = vbs_heap_pop(&search->heap);
        const struct exact_label *at = &search->labels[label];

        if (n % CHECK_EVERY == 0)
            VBS_TRY(vbs_check_cancel(search->ctx));
        if (n % CHECK_EVERY == 0 && search->until_s > 0 && vbs_clock_s() > search->until_s)
            break;
        if (at->worse || !vbs_pareto_wants(search->pareto, at->peak_bytes, at->least_us))
            continue;
        if (is_goal(search, at))
            VBS_TRY(offer(search, label));
        else
            VBS_TRY(extend(search, label));
    }
    return VBS_OK;
}

/* Gives whether the problem is small, has weights that can be copied, and copies and layers that do
 * not slow each other down; fills *problem then. */
static bool suits(const struct vbs_task *task, struct exact_problem *problem)
{
    return task->n_layers * task->request <= MOST_SAMPLES && !task->problem.copy.beside &&
           task->problem.copy.bytes_per_us > 0 && task->latency_ticks == INT64_MAX &&
           vbs_exact_problem_init(problem, task) && problem->n_segments > 0;
}

/* Frees what the search holds, and returns how many bytes there were. */
static size_t release(struct exact_search *search)
{
    size_t held = (size_t)search->label_capacity * sizeof *search->labels +
                  (size_t)search->place_capacity * sizeof *search->places +
                  (size_t)search->heap.capacity * sizeof *search->heap.items +
                  N_SLOTS * sizeof *search->slots;

    for (int i = 0; i < search->n_places; i++) {
        held += (size_t)search->places[i].capacity * sizeof *search->places[i].keys;
        free(search->places[i].keys);
    }
    vbs_step_list_clear(&search->steps);
    free(search->places);
    free(search->labels);
    vbs_heap_clear(&search->heap);
    free(search->slots);
    return held;
}

enum vbs_status vbs_exact_offer(struct vbs_ctx *ctx, const struct vbs_task *task, double until_s,
                                struct vbs_pareto_set *pareto)
{
    struct exact_search search = {
        .ctx = ctx, .pareto = pareto, .most_bytes = INT64_MAX, .until_s = until_s};
    enum vbs_status status;
    size_t held;

    if (!suits(task, &search.problem))
        return VBS_OK;
    search.heap = (struct vbs_heap){.comes_before = comes_before, .self = &search};
    if (task->options.most_bytes > 0)
        search.most_bytes = task->options.most_bytes;
    search.slots = malloc(N_SLOTS * sizeof *search.slots);
    if (!search.slots)
        return vbs_no_memory(ctx);
    memset(search.slots, 0xff, N_SLOTS * sizeof *search.slots);
    status = search_all(&search);
    held = release(&search);
    if (held > pareto->solving_bytes)
        pareto->solving_bytes = held;
    return status;
}
