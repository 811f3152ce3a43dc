/*
 * joint: a local search from its plans, with the exact times of both clocks.
 *
 * The recursion has one price of a copy for all layers. But in a schedule some layers wait for
 * their weights, and others run while the link is idle: the first want light weights, the second
 * fast rows. And the last samples matter more than the others, because what is copied after them
 * runs beside nothing. The search changes one layer after the other, plans the transfers anew
 * (stream.h), and keeps what makes the request faster:
 *
 *   rows     another algorithm for all steps of the layer, or for the last of them
 *   samples  steps of half the samples, all or the last; two equal steps in one
 *   slices   twice or half as many
 *   order    where none of these helps: layers from this one on take two of its steps together, so
 *            that one load serves both, or one after the other, which takes less memory; or the
 *            next samples pass the first layers before these pass the last ones, whose weights are
 *            copied meanwhile
 *
 * It starts in budgets of a grid, from the best plan so far, and from the plan that joint had
 * before the search, and ends where no change helps.
 */
#include "plan/weights/joint.h"
#include "plan/weights/trial.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROUNDS    20
#define MOST_VISITS    4096 /* of a stream, which the search makes many times */
#define MOST_SEARCHED  160  /* visits of a stream whose gaps are searched for each cutting */
#define OCTAVE_SHARE   8    /* the least number of budgets for each doubling */
#define MOST_BYTES     ((int64_t)1 << 60)
#define LEAST_GAIN     1e-4
#define NEAR_BOUND     1.002 /* a plan is good enough */
#define NEARLY_OPTIMAL 1.02  /* it is not worth a long search */

/* Whole steps in the order in which they run, without transfers. */
struct whole_steps {
    struct vbs_step *steps; /* [layers * request] */
    int n;
};

struct polish {
    struct joint *joint;
    const struct vbs_task *task;
    struct vbs_slicing slicing;
    int64_t memory_bytes;
    struct whole_steps now, tried;
    double now_us;
    int n_visits;          /* of the latest cutting */
    bool searches;         /* gaps to keep are searched (stream_search.c) */
    bool joins_steps;      /* as of struct vbs_stream_order */
    int reserves;          /* largest blocks that are kept free for prefetching */
    struct vbs_step *was;  /* [layers * request] */
    int n_narrow, *narrow; /* [n] layers before which fewer bytes of a sample wait than before any
                              earlier layer, ascending */
    int *done, *next;      /* [0..n] samples of a layer, and the next of its steps in `was` */
    const struct vbs_step *latest_steps; /* of the plan where the search began */
    int64_t latest_bytes;                /* the budget of that search */
    struct vbs_arena arena;
};

static bool has_row(const struct polish *polish, int layer, int batch, int algorithm)
{
    return vbs_profile_find_row(polish->task->profile, layer, batch, 0, algorithm) != NULL;
}

/* Takes the whole steps and the slices of a plan; false: it runs by rows. */
static bool take_plan(struct polish *polish, const struct vbs_pareto_plan *plan)
{
    size_t n_formats = (size_t)(polish->task->n_layers + 1) * (size_t)polish->slicing.n_formats;

    polish->now.n = 0;
    memset(polish->slicing.n_slices, 0, n_formats * sizeof *polish->slicing.n_slices);
    for (int64_t s = 0; s < plan->n_steps; s++) {
        const struct vbs_step *step = &plan->steps[s];

        if (step->op == VBS_STEP_LOAD)
            *vbs_slicing_at(&polish->slicing, step->layer, step->format) = step->n_slices;
        if (step->op != VBS_STEP_COMPUTE || step->slice > 1)
            continue;
        if (step->rows > 0)
            return false;
        polish->now.steps[polish->now.n++] = (struct vbs_step){
            .layer = step->layer, .batch = step->batch, .algorithm = step->algorithm};
    }
    return true;
}

/* Plans the transfers of a cutting, and offers the schedule where it is faster than the current
 * one. HUGE_VAL: it does not fit. */
static enum vbs_status plan_cutting(struct polish *polish, const struct whole_steps *cutting,
                                    double *time_us)
{
    struct joint *joint = polish->joint;
    const struct vbs_stream_order order = {.joins_steps = polish->joins_steps};
    struct vbs_stream_rule rule = {.keeps = true};
    struct vbs_streamed streamed = {.time_us = HUGE_VAL};
    struct vbs_stream stream;
    enum vbs_status status;

    *time_us = HUGE_VAL;
    VBS_TRY(vbs_stream_init(joint->ctx, polish->task, cutting->steps, cutting->n, &polish->slicing,
                            &order, &stream));
    rule.reserved_bytes = polish->reserves * vbs_stream_largest_block(&stream);
    polish->n_visits = stream.n_visits;
    if (stream.n_visits > MOST_VISITS || stream.least_bytes > polish->memory_bytes)
        status = VBS_INFEASIBLE;
    else if (polish->searches)
        status =
            vbs_trial_search(joint->ctx, &stream, polish->memory_bytes, joint->pareto, time_us);
    else
        status = vbs_stream_plan(joint->ctx, &stream, &rule, polish->memory_bytes, &streamed, NULL);
    if (status == VBS_OK && !polish->searches) {
        *time_us = streamed.time_us;
        if (streamed.time_us < polish->now_us &&
            vbs_pareto_wants(joint->pareto, streamed.peak_bytes, streamed.time_us))
            status =
                vbs_trial_stream(joint->ctx, &stream, &rule, polish->memory_bytes, joint->pareto);
    }
    vbs_stream_clear(&stream);
    return status == VBS_INFEASIBLE ? VBS_OK : status;
}

/* Finds the order of slices and the reserve with which the current cutting is fastest. */
static enum vbs_status choose_rule(struct polish *polish)
{
    bool joins_steps = false;
    int best_reserves = 0;

    polish->now_us = HUGE_VAL;
    for (int joins = 0; joins <= 1; joins++)
        for (int reserves = 0; reserves <= VBS_MOST_RESERVES;
             reserves = vbs_more_reserves(reserves)) {
            double time_us;

            polish->joins_steps = joins;
            polish->reserves = reserves;
            VBS_TRY(plan_cutting(polish, &polish->now, &time_us));
            if (time_us < polish->now_us) {
                polish->now_us = time_us;
                joins_steps = joins;
                best_reserves = reserves;
            }
        }
    polish->joins_steps = joins_steps;
    polish->reserves = best_reserves;
    return VBS_OK;
}

/* Makes polish->tried the current cutting where it is faster; then *improved is set. */
static enum vbs_status try_cutting(struct polish *polish, bool *improved)
{
    double time_us;

    VBS_TRY(plan_cutting(polish, &polish->tried, &time_us));
    if (time_us < polish->now_us * (1 - LEAST_GAIN)) {
        struct whole_steps now = polish->now;

        polish->now = polish->tried;
        polish->tried = now;
        polish->now_us = time_us;
        *improved = true;
    }
    return VBS_OK;
}

static void copy_cutting(struct polish *polish)
{
    polish->tried.n = polish->now.n;
    memcpy(polish->tried.steps, polish->now.steps,
           (size_t)polish->now.n * sizeof *polish->tried.steps);
}

static int last_step_of(const struct whole_steps *cutting, int layer)
{
    int s = cutting->n - 1;

    while (cutting->steps[s].layer != layer)
        s--;
    return s;
}

/* ---- Rows ---- */

/* Runs the steps of layer from `from` on by an algorithm. False: one has no such row, or nothing
 * changes. */
static bool change_rows(struct polish *polish, int layer, int from, int algorithm)
{
    bool changed = false;

    copy_cutting(polish);
    for (int s = from; s < polish->tried.n; s++) {
        struct vbs_step *step = &polish->tried.steps[s];

        if (step->layer != layer || step->algorithm == algorithm)
            continue;
        step->algorithm = algorithm;
        changed = true;
        if (!has_row(polish, layer, step->batch, algorithm))
            return false;
    }
    return changed;
}

static enum vbs_status try_rows(struct polish *polish, int layer, bool *improved)
{
    int last = last_step_of(&polish->now, layer);

    for (int a = 0; a < polish->task->profile->n_algorithms; a++) {
        if (change_rows(polish, layer, 0, a))
            VBS_TRY(try_cutting(polish, improved));
        if (polish->task->request > 1 && change_rows(polish, layer, last, a))
            VBS_TRY(try_cutting(polish, improved));
    }
    return VBS_OK;
}

/* ---- Samples ---- */

/* Halves the steps of layer from `from` on. False: nothing changes. */
static bool halve_steps(struct polish *polish, int layer, int from)
{
    struct whole_steps *tried = &polish->tried;
    bool changed = false;

    tried->n = 0;
    for (int s = 0; s < polish->now.n; s++) {
        struct vbs_step step = polish->now.steps[s];

        if (step.layer == layer && s >= from && step.batch % 2 == 0 &&
            has_row(polish, layer, step.batch / 2, step.algorithm)) {
            step.batch /= 2;
            tried->steps[tried->n++] = step;
            changed = true;
        }
        tried->steps[tried->n++] = step;
    }
    return changed;
}

/* Joins pairs of equal steps of layer that follow each other. False: nothing changes. */
static bool join_steps(struct polish *polish, int layer)
{
    struct whole_steps *tried = &polish->tried;
    bool changed = false;

    tried->n = 0;
    for (int s = 0; s < polish->now.n; s++) {
        struct vbs_step step = polish->now.steps[s];
        const struct vbs_step *next = s + 1 < polish->now.n ? &polish->now.steps[s + 1] : &step;

        if (step.layer == layer && next != &step && next->layer == layer &&
            next->batch == step.batch && has_row(polish, layer, 2 * step.batch, step.algorithm)) {
            step.batch *= 2;
            changed = true;
            s++;
        }
        tried->steps[tried->n++] = step;
    }
    return changed;
}

static enum vbs_status try_samples(struct polish *polish, int layer, bool *improved)
{
    if (halve_steps(polish, layer, 0))
        VBS_TRY(try_cutting(polish, improved));
    if (halve_steps(polish, layer, last_step_of(&polish->now, layer)))
        VBS_TRY(try_cutting(polish, improved));
    if (join_steps(polish, layer))
        VBS_TRY(try_cutting(polish, improved));
    return VBS_OK;
}

/* ---- Slices ---- */

static enum vbs_status try_slices(struct polish *polish, int layer, bool *improved)
{
    const struct vbs_step *step = &polish->now.steps[last_step_of(&polish->now, layer)];
    const struct vbs_profile_row *row = vbs_task_step_row(polish->task, step);
    int *slices = vbs_slicing_at(&polish->slicing, layer, row->format), was = *slices;
    int most = vbs_slice_limit(&polish->task->profile->layers[layer], row->weight_bytes);

    if (row->weight_bytes == 0 || row->n_slices > 0)
        return VBS_OK;
    for (int up = 0; up <= 1; up++) {
        bool better = false;

        *slices = up ? 2 * (was > 1 ? was : 1) : was / 2;
        if (*slices < 1 || *slices > most)
            continue;
        copy_cutting(polish);
        VBS_TRY(try_cutting(polish, &better));
        if (better) {
            *improved = true;
            return VBS_OK;
        }
    }
    *slices = was;
    return VBS_OK;
}

/* ---- Order ---- */

/* Gives the first of all layers, or the last, whose next step in `was` comes before `to` and has
 * its inputs. */
static int ready_layer(const struct polish *polish, int to, bool last)
{
    const struct vbs_task *task = polish->task;

    for (int i = 1; i <= task->n_layers; i++) {
        int k = last ? task->n_layers + 1 - i : i;
        bool ready = polish->next[k] < to;

        for (int j = 0; ready && j < task->n_inputs[k]; j++)
            ready = polish->done[task->inputs[k][j]] >=
                    polish->done[k] + polish->was[polish->next[k]].batch;
        if (ready)
            return k;
    }
    return 0; /* never: the first step that is left has its inputs */
}

/* Finds the next step of a layer in was[*at..to-1]. */
static void find_next(const struct polish *polish, int layer, int to, int *at)
{
    while (*at < to && polish->was[*at].layer != layer)
        (*at)++;
}

/* Orders steps from..to-1 of polish->tried anew: each time a step of the first layer, or of the
 * last, whose inputs exist. The steps of one layer keep their order. O(steps x layers) */
static void order_steps(struct polish *polish, int from, int to, bool last)
{
    struct vbs_step *steps = polish->tried.steps;
    int n = polish->task->n_layers;

    memcpy(polish->was + from, steps + from, (size_t)(to - from) * sizeof *steps);
    for (int k = 0; k <= n; k++) {
        polish->done[k] = k == 0 ? polish->task->request : 0;
        polish->next[k] = from;
        find_next(polish, k, to, &polish->next[k]);
    }
    for (int s = 0; s < from; s++)
        polish->done[steps[s].layer] += steps[s].batch;
    for (int s = from; s < to; s++) {
        int layer = ready_layer(polish, to, last);

        steps[s] = polish->was[polish->next[layer]++];
        polish->done[layer] += steps[s].batch;
        find_next(polish, layer, to, &polish->next[layer]);
    }
}

/* Gives whether steps that differ in nothing but their order have the same one. */
static bool has_equal_order(const struct whole_steps *a, const struct whole_steps *b)
{
    int s = 0;

    while (s < a->n && a->steps[s].layer == b->steps[s].layer)
        s++;
    return s == a->n;
}

enum pairs { FIRST_PAIR, LAST_PAIR, ALL_PAIRS };

/* Orders pairs of steps of layer, the steps between them, and those of later layers behind them.
 * False: nothing changes. */
static bool order_pairs(struct polish *polish, int layer, enum pairs pairs, bool last)
{
    const struct vbs_step *steps = polish->tried.steps;
    int n_pairs = 0, at = 0;

    copy_cutting(polish);
    for (int s = 0; s < polish->tried.n; s++)
        n_pairs += steps[s].layer == layer;
    n_pairs /= 2;
    for (int pair = 0; pair < n_pairs; pair++) {
        int from, to;

        while (steps[at].layer != layer)
            at++;
        from = at++;
        while (steps[at].layer != layer)
            at++;
        for (to = at + 1; to < polish->tried.n && steps[to].layer > layer;)
            to++;
        at = to;
        if (pairs == ALL_PAIRS || pair == (pairs == FIRST_PAIR ? 0 : n_pairs - 1))
            order_steps(polish, from, to, last);
    }
    return !has_equal_order(&polish->tried, &polish->now);
}

static enum vbs_status try_orders(struct polish *polish, int layer, bool *improved)
{
    for (int last = 0; last <= 1; last++)
        for (int pairs = FIRST_PAIR; pairs <= ALL_PAIRS; pairs++)
            if (order_pairs(polish, layer, (enum pairs)pairs, last))
                VBS_TRY(try_cutting(polish, improved));
    return VBS_OK;
}

/* Swaps each run of steps of layers from `behind` on with the run of steps of layers before `ahead`
 * that follows it; ahead <= behind, so that all steps find their inputs. False: nothing changes. */
static bool swap_runs(struct polish *polish, int ahead, int behind)
{
    const struct vbs_step *steps = polish->now.steps;
    struct whole_steps *tried = &polish->tried;
    int n = polish->now.n;

    tried->n = 0;
    for (int s = 0, middle, to; s < n; s = to) {
        for (middle = s; middle < n && steps[middle].layer >= behind;)
            middle++;
        for (to = middle; to < n && steps[to].layer < ahead;)
            to++;
        if (to == s) /* a layer between them */
            middle = ++to;
        for (int i = middle; i < to; i++)
            tried->steps[tried->n++] = steps[i];
        for (int i = s; i < middle; i++)
            tried->steps[tried->n++] = steps[i];
    }
    return !has_equal_order(tried, &polish->now);
}

static enum vbs_status try_swaps(struct polish *polish, bool *improved)
{
    for (int b = polish->n_narrow - 1; b >= 0; b--)
        for (int a = b; a >= 0 && !vbs_joint_is_late(polish->joint); a--)
            if (swap_runs(polish, polish->narrow[a], polish->narrow[b]))
                VBS_TRY(try_cutting(polish, improved));
    return VBS_OK;
}

static void find_narrow(struct polish *polish)
{
    const struct vbs_task *task = polish->task;
    int64_t least_bytes = INT64_MAX;

    for (int k = 2; k <= task->n_layers; k++) {
        int64_t bytes = 0;

        for (int j = 1; j < k; j++)
            bytes += task->last_reader[j] >= k ? vbs_task_bytes(task, j) : 0;
        if (bytes < least_bytes)
            polish->narrow[polish->n_narrow++] = k;
        least_bytes = bytes < least_bytes ? bytes : least_bytes;
    }
}

/* ---- The search ---- */

static enum vbs_status run_round(struct polish *polish, bool *improved)
{
    int n = polish->task->n_layers;

    for (int k = n; k >= 1 && !vbs_joint_is_late(polish->joint); k--) {
        VBS_TRY(try_rows(polish, k, improved));
        VBS_TRY(try_samples(polish, k, improved));
        VBS_TRY(try_slices(polish, k, improved));
    }
    for (int k = n; k >= 1 && !*improved && !vbs_joint_is_late(polish->joint); k--)
        VBS_TRY(try_orders(polish, k, improved));
    return *improved ? VBS_OK : try_swaps(polish, improved);
}

static enum vbs_status run_rounds(struct polish *polish)
{
    bool improved = true;

    for (int i = 0; improved && i < MOST_ROUNDS && !vbs_joint_is_late(polish->joint); i++) {
        improved = false;
        VBS_TRY(run_round(polish, &improved));
    }
    return VBS_OK;
}

/* First each cutting is timed by the rule that keeps the shortest gaps; then, where the stream is
 * short, by a search for the gaps to keep, which takes many times as long. */
static enum vbs_status polish_plan(struct polish *polish, const struct vbs_pareto_plan *plan,
                                   double bound_us)
{
    double first_us;
    bool is_short;

    if (!take_plan(polish, plan))
        return VBS_OK;
    polish->searches = false;
    VBS_TRY(choose_rule(polish));
    first_us = polish->now_us;
    if (first_us == HUGE_VAL)
        return VBS_OK;
    VBS_TRY(run_rounds(polish));
    is_short = polish->n_visits <= MOST_SEARCHED;
    if (polish->now_us == first_us && !is_short)
        return VBS_OK;
    polish->searches = true;
    VBS_TRY(plan_cutting(polish, &polish->now, &polish->now_us));
    if (!is_short || polish->now_us == HUGE_VAL || polish->now_us <= bound_us * NEARLY_OPTIMAL)
        return VBS_OK;
    return run_rounds(polish);
}

/* first: the plans before the search, of which the budget fits one */
static enum vbs_status polish_budget(struct polish *polish, const struct vbs_pareto_set *first)
{
    const struct vbs_pareto_plan was = *vbs_pareto_within(first, polish->memory_bytes);
    const struct vbs_pareto_plan now =
        *vbs_pareto_within(polish->joint->pareto, polish->memory_bytes);
    double bound_us;

    VBS_TRY(vbs_task_bound_us(polish->joint->ctx, polish->task, polish->memory_bytes, &bound_us));
    if (now.time_us <= bound_us * NEAR_BOUND ||
        (now.steps == polish->latest_steps && polish->memory_bytes / 2 < polish->latest_bytes))
        return VBS_OK;
    polish->latest_steps = now.steps;
    polish->latest_bytes = polish->memory_bytes;
    VBS_TRY(polish_plan(polish, &now, bound_us));
    return now.steps != was.steps ? polish_plan(polish, &was, bound_us) : VBS_OK;
}

/* Lists budgets of a grid, from the least one of a plan to behind the largest. */
static enum vbs_status list_budgets(struct polish *polish, const struct vbs_pareto_set *first,
                                    struct vbs_budget_list *budgets)
{
    int64_t step = 1, least_bytes = first->list[0].bytes;
    int64_t most_bytes = first->list[first->n - 1].bytes;

    if (most_bytes > MOST_BYTES)
        most_bytes = MOST_BYTES;
    for (int64_t at = least_bytes; at / 2 < most_bytes;) {
        while (step <= at / (2 * OCTAVE_SHARE))
            step *= 2;
        at = (at / step + 1) * step;
        VBS_TRY(vbs_budget_list_add(polish->joint->ctx, budgets, at));
    }
    return VBS_OK;
}

/* Begins with the least budget; where time is short, with the largest one that matters. */
static enum vbs_status polish_budgets(struct polish *polish, const struct vbs_pareto_set *first,
                                      struct vbs_budget_list *budgets)
{
    struct joint *joint = polish->joint;
    int64_t most_bytes = joint->task->options.most_bytes;
    bool falls = joint->hurries;

    VBS_TRY(list_budgets(polish, first, budgets));
    if (falls && most_bytes >= first->list[0].bytes) {
        budgets->n = vbs_budget_list_count(budgets, most_bytes);
        VBS_TRY(vbs_budget_list_add(joint->ctx, budgets, most_bytes));
    }
    for (int i = 0; i < budgets->n && !vbs_joint_is_late(joint); i++) {
        vbs_joint_report(joint, (double)i / budgets->n);
        polish->memory_bytes = budgets->bytes[falls ? budgets->n - 1 - i : i];
        VBS_TRY(polish_budget(polish, first));
    }
    return VBS_OK;
}

static enum vbs_status allocate(struct polish *polish)
{
    size_t n_layers = (size_t)polish->task->n_layers + 1;
    size_t n = n_layers * (size_t)polish->task->request;

    VBS_TRY(vbs_slicing_init(polish->joint->ctx, polish->task, &polish->arena, &polish->slicing));
    polish->now.steps = vbs_arena_alloc(&polish->arena, n, sizeof *polish->now.steps);
    polish->tried.steps = vbs_arena_alloc(&polish->arena, n, sizeof *polish->tried.steps);
    polish->was = vbs_arena_alloc(&polish->arena, n, sizeof *polish->was);
    polish->done = vbs_arena_alloc(&polish->arena, n_layers, sizeof *polish->done);
    polish->narrow = vbs_arena_alloc(&polish->arena, n_layers, sizeof *polish->narrow);
    polish->next = vbs_arena_alloc(&polish->arena, n_layers, sizeof *polish->next);
    return polish->now.steps && polish->tried.steps && polish->was && polish->done &&
                   polish->next && polish->narrow
               ? VBS_OK
               : vbs_no_memory(polish->joint->ctx);
}

enum vbs_status vbs_joint_polish(struct joint *joint)
{
    struct polish polish = {.joint = joint, .task = joint->task};
    struct vbs_pareto_set first = {.n = joint->pareto->n};
    struct vbs_budget_list budgets = {0};
    enum vbs_status status = allocate(&polish);

    if (status == VBS_OK)
        find_narrow(&polish);
    if (status == VBS_OK && first.n > 0) {
        first.list = vbs_arena_alloc(&polish.arena, (size_t)first.n, sizeof *first.list);
        if (first.list) {
            memcpy(first.list, joint->pareto->list, (size_t)first.n * sizeof *first.list);
            status = polish_budgets(&polish, &first, &budgets);
        } else
            status = vbs_no_memory(joint->ctx);
    }
    joint->n_done++;
    vbs_budget_list_clear(&budgets);
    vbs_arena_clear(&polish.arena);
    return status;
}
