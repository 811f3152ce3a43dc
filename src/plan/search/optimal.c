/*
 * optimal: the shortest path through the lattice of progress, for any DAG and any io.
 *
 * It starts from the best guillotine cutting without regard to the structure of the network
 * (guillotine.c), improves it and proves a bound (prove.h) until both meet or the time limit is
 * reached. Then it gives the best schedule with the bound, so that its gap is proven. Results for
 * one budget also serve others: a schedule serves every budget that it fits, and a bound every
 * smaller budget.
 *
 * With a latency and external io a schedule is a sequence of chunks between which no sample is
 * live. So chunks of 1..r samples are searched one by one, and the best sequence is put together.
 */
#include "plan/search/search.h"
#include "plan/search/clock.h"
#include "plan/dp/dp.h"
#include "plan/search/known.h"
#include "plan/problem/problem.h"
#include "plan/search/pattern_database.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/grow.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct optimal {
    const struct vbs_task *task;
    struct vbs_order_ideals ideals;
    bool listed;
    bool in_chunks;
    struct vbs_task whole; /* the task without its latency, in the same arena */
    int n_chunks;
    struct vbs_chunk *chunks; /* [n_chunks] chunks of 1..n_chunks samples; or one, the request */
    int64_t least_bytes;
    struct vbs_search_clock clock;
    double limit; /* of one plan, in the clock of the search */
    double spent; /* time of the first plan's limit that was used before it */
};

static const struct vbs_order_ideals *ideals_of(const struct optimal *optimal)
{
    return optimal->listed ? &optimal->ideals : NULL;
}

static void start_clock(struct optimal *optimal, double limit)
{
    optimal->clock.from = vbs_search_now(&optimal->whole);
    optimal->clock.until = optimal->clock.from + limit;
}

/* Gives whether cuttings disregard the structure. Their time grows with the square of the layers;
 * where it would be more than a few seconds, the structure is kept. */
static bool cuts_freely(const struct vbs_task *task)
{
    double n = task->n_layers, r = task->request;

    return n * n * r * (n + r) < 2e7;
}

static enum vbs_status cut_order(struct vbs_ctx *ctx, const struct optimal *optimal,
                                 const struct vbs_orders *orders, int at,
                                 struct vbs_pareto_set *pareto)
{
    const struct vbs_chain *structure = &orders->at[at].structure;
    bool fold = structure->n_items > 0 && !cuts_freely(optimal->task);
    struct vbs_arena arena = {0};
    struct vbs_chain line, folded;
    enum vbs_status status =
        vbs_line_build(ctx, optimal->task, &arena, orders->at[at].layers, &line);

    if (status == VBS_OK && fold)
        status = vbs_line_fold(ctx, &arena, &line, structure, &folded);
    if (status == VBS_OK)
        status = vbs_guillotine_solve(ctx, &optimal->whole, fold ? &folded : &line, VBS_CUT_BARRIER,
                                      pareto, optimal->n_chunks);
    vbs_arena_clear(&arena);
    return status;
}

/* Offers the monotone schedules that dp-vbs+ considers beside its cuttings. */
static enum vbs_status offer_monotone(struct vbs_ctx *ctx, const struct optimal *optimal,
                                      struct vbs_pareto_set *pareto)
{
    for (int p = 0; p < optimal->n_chunks; p++)
        VBS_TRY(vbs_monotone_offer(ctx, &optimal->chunks[p].task, &pareto[p]));
    return VBS_OK;
}

/* Gives whether cuttings were given up, or may have been, because their time is over. */
static bool is_late(const struct optimal *optimal, const struct vbs_pareto_set *cuttings)
{
    return vbs_task_is_late(&optimal->whole) || cuttings->n == 0;
}

/* Computes the guillotine cuttings of all chunks. Long ones may take half of the time limit. */
static enum vbs_status cut(struct vbs_ctx *ctx, struct optimal *optimal)
{
    struct vbs_pareto_set *pareto = calloc((size_t)optimal->n_chunks, sizeof *pareto);
    struct vbs_arena arena = {0};
    struct vbs_orders orders;
    enum vbs_status status =
        pareto ? vbs_orders_find(ctx, optimal->task, &arena, &orders) : vbs_no_memory(ctx);

    for (int p = 0; pareto && p < optimal->n_chunks; p++)
        pareto[p].task = &optimal->chunks[p].task;
    for (int i = 0; status == VBS_OK && i < orders.n; i++)
        status = cut_order(ctx, optimal, &orders, i, pareto);
    if (status == VBS_OK && !cuts_freely(optimal->task) &&
        (is_late(optimal, &pareto[0]) || !vbs_orders_have_plain_ids(optimal->task, &orders)))
        status = offer_monotone(ctx, optimal, pareto);
    for (int p = 0; pareto && p < optimal->n_chunks; p++)
        optimal->chunks[p].cuttings = pareto[p];
    free(pareto);
    vbs_arena_clear(&arena);
    return status;
}

/* Makes the task of a chunk: the same network and ticks, fewer samples, and no latency. */
static struct vbs_task chunk_task(const struct vbs_task *task, struct vbs_search_clock *clock,
                                  int request)
{
    struct vbs_task chunk = *task;

    chunk.request = request;
    chunk.problem.request = request;
    chunk.latency_ticks = INT64_MAX;
    chunk.options.most_bytes = 0;
    chunk.clock = clock;
    while (chunk.profile->batches[chunk.n_batches - 1] > request) /* ends, since batches[0] is 1 */
        chunk.n_batches--;
    return chunk;
}

/* Makes one struct vbs_chunk for the request, or, where the latency is bounded, one for each
 * size. */
static enum vbs_status open_chunks(struct vbs_ctx *ctx, struct optimal *optimal)
{
    const struct vbs_task *task = optimal->task;

    optimal->in_chunks = task->latency_ticks != INT64_MAX && task->problem.io == VBS_IO_EXTERNAL;
    optimal->n_chunks = optimal->in_chunks ? task->request : 1;
    optimal->whole = chunk_task(task, &optimal->clock, task->request);
    if (!optimal->clock.counts_nodes && !cuts_freely(task))
        optimal->whole.cut_until_s = optimal->clock.from + optimal->limit / 2;
    optimal->chunks = calloc((size_t)optimal->n_chunks, sizeof *optimal->chunks);
    if (!optimal->chunks)
        return vbs_no_memory(ctx);
    for (int p = 0; p < optimal->n_chunks; p++)
        optimal->chunks[p].task =
            chunk_task(task, &optimal->clock, optimal->in_chunks ? p + 1 : task->request);
    VBS_TRY(cut(ctx, optimal));
    for (int p = 0; p < optimal->n_chunks; p++)
        VBS_TRY(vbs_chunk_find_least(ctx, &optimal->chunks[p], ideals_of(optimal),
                                     optimal->limit / 10 / optimal->n_chunks));
    return VBS_OK;
}

static void optimal_close(void *self)
{
    struct optimal *optimal = self;

    if (!optimal)
        return;
    for (int p = 0; optimal->chunks && p < optimal->n_chunks; p++)
        vbs_chunk_clear(&optimal->chunks[p]);
    free(optimal->chunks);
    vbs_order_ideals_clear(&optimal->ideals);
    free(optimal);
}

/* The best sequences of chunks for 1..request samples. */
struct sequence {
    int64_t *best_ticks, *bound_ticks;  /* [request + 1] */
    int *first;                         /* [request + 1] size of the first chunk of the best; 0:
                                           there is none */
    const struct vbs_step_list **steps; /* [request + 1] of a chunk of that size */
};

/* Searches chunks of all sizes except those that certainly take longer than the latency. */
static enum vbs_status find_chunks(struct vbs_ctx *ctx, struct optimal *optimal,
                                   int64_t memory_bytes, struct sequence *sequence)
{
    int r = optimal->n_chunks;
    int64_t limit = optimal->task->latency_ticks;
    double until = optimal->clock.until;

    for (int b = 1; b <= r; b++) {
        struct vbs_known known;
        double share = (until - vbs_search_now(&optimal->whole)) / (r + 1 - b);
        int64_t best, bound;

        VBS_TRY(vbs_chunk_search(ctx, &optimal->chunks[b - 1], ideals_of(optimal), memory_bytes,
                                 share, limit + 1, &known));
        best = known.best_ticks <= limit ? known.best_ticks : VBS_NEVER_TICKS;
        bound = known.bound_ticks <= limit ? known.bound_ticks : VBS_NEVER_TICKS;
        sequence->best_ticks[b] = best;
        sequence->bound_ticks[b] = bound;
        sequence->first[b] = best < VBS_NEVER_TICKS ? b : 0;
        sequence->steps[b] = known.steps;
        for (int b1 = 1; b1 < b; b1++) {
            int64_t both = sequence->best_ticks[b1] + sequence->best_ticks[b - b1];
            int64_t least = sequence->bound_ticks[b1] + sequence->bound_ticks[b - b1];

            if (both < sequence->best_ticks[b]) {
                sequence->best_ticks[b] = both;
                sequence->first[b] = b1;
            }
            if (least < sequence->bound_ticks[b])
                sequence->bound_ticks[b] = least;
        }
    }
    return VBS_OK;
}

static enum vbs_status emit_chunks(struct vbs_ctx *ctx, const struct sequence *sequence, int b,
                                   struct vbs_step_list *steps)
{
    /* Either term of a sum may be a sum itself: the loop walks down the second, and the recursion
     * the first, which is smaller. */
    while (b > 0) {
        int first = sequence->first[b];

        if (first == b)
            return vbs_step_list_copy(ctx, sequence->steps[b]->steps, sequence->steps[b]->n_steps,
                                      steps);
        VBS_TRY(emit_chunks(ctx, sequence, first, steps));
        b -= first;
    }
    return VBS_OK;
}

static enum vbs_status plan_chunks(struct vbs_ctx *ctx, struct optimal *optimal,
                                   int64_t memory_bytes, struct vbs_draft *draft)
{
    int r = optimal->n_chunks;
    struct vbs_arena arena = {0};
    size_t n = (size_t)r + 1;
    struct sequence sequence = {
        .best_ticks = vbs_arena_alloc(&arena, n, sizeof(int64_t)),
        .bound_ticks = vbs_arena_alloc(&arena, n, sizeof(int64_t)),
        .first = vbs_arena_alloc(&arena, n, sizeof(int)),
        .steps = vbs_arena_alloc(&arena, n, sizeof(struct vbs_step_list *)),
    };
    enum vbs_status status = VBS_OK;

    if (!sequence.best_ticks || !sequence.bound_ticks || !sequence.first || !sequence.steps) {
        status = vbs_no_memory(ctx);
        goto done;
    }
    status = find_chunks(ctx, optimal, memory_bytes, &sequence);
    if (status != VBS_OK)
        goto done;
    if (sequence.best_ticks[r] >= VBS_NEVER_TICKS)
        status = VBS_INFEASIBLE;
    if (status != VBS_OK)
        goto done;
    draft->bound_us = vbs_task_us(optimal->task, sequence.bound_ticks[r]);
    status = emit_chunks(ctx, &sequence, r, &draft->steps);
done:
    vbs_arena_clear(&arena);
    return status;
}

static enum vbs_status plan_whole(struct vbs_ctx *ctx, struct optimal *optimal,
                                  int64_t memory_bytes, struct vbs_draft *draft)
{
    int64_t limit = optimal->task->latency_ticks; /* of resident io, or none */
    struct vbs_known known;

    VBS_TRY(vbs_chunk_search(ctx, &optimal->chunks[0], ideals_of(optimal), memory_bytes,
                             optimal->clock.until - optimal->clock.from,
                             limit < VBS_NEVER_TICKS ? limit + 1 : VBS_NEVER_TICKS, &known));
    if (known.best_ticks > limit || !known.steps)
        return VBS_INFEASIBLE;
    draft->bound_us = vbs_task_us(optimal->task, known.bound_ticks);
    return vbs_step_list_copy(ctx, known.steps->steps, known.steps->n_steps, &draft->steps);
}

static enum vbs_status optimal_plan(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                                    struct vbs_draft *draft)
{
    struct optimal *optimal = self;
    struct vbs_timeline timeline;
    enum vbs_status status;

    start_clock(optimal, fmax(optimal->limit - optimal->spent, optimal->limit / 10));
    optimal->spent = 0;
    optimal->clock.interrupted = false;
    status = optimal->in_chunks ? plan_chunks(ctx, optimal, memory_bytes, draft)
                                : plan_whole(ctx, optimal, memory_bytes, draft);
    draft->interrupted = optimal->clock.interrupted;
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_timeline_find(ctx, optimal->task, &draft->steps, &timeline));
    draft->reserved_bytes = timeline.peak_bytes;
    return VBS_OK;
}

/* Counts the cuttings of the request that need at most memory_bytes. */
static int count_cuttings(const struct optimal *optimal, int64_t memory_bytes)
{
    const struct vbs_pareto_set *cuttings = &optimal->chunks[optimal->n_chunks - 1].cuttings;
    int n = 0;

    while (n < cuttings->n && cuttings->list[n].bytes <= memory_bytes)
        n++;
    return n;
}

/* Estimates the share of a frontier's budgets that are above memory_bytes, which the cuttings tell:
 * a budget at which the best schedule changes is mostly near one at which the cutting changes. */
static double share_above(const struct optimal *optimal, int64_t memory_bytes)
{
    int n_below = count_cuttings(optimal, optimal->least_bytes - 1);
    int n = count_cuttings(optimal, INT64_MAX) - n_below;
    int n_left = count_cuttings(optimal, memory_bytes) - n_below;

    return n > 0 && n_left > 0 ? 1 - (double)n_left / n : n > 0;
}

/*
 * Lists the budgets at which some schedule begins to fit, from the largest down: a schedule serves
 * every budget that it fits, so that the next budget is one byte less than its peak. Once the
 * caller asks to stop, the list goes on with the schedules that are known.
 */
static enum vbs_status descend(struct vbs_ctx *ctx, struct optimal *optimal, int64_t from_bytes,
                               int64_t **bytes, int *n)
{
    int64_t *list = NULL;
    int count = 0;
    int64_t capacity = 0;
    enum vbs_status status = VBS_OK;

    optimal->clock.frontier_from_s = vbs_clock_s();
    optimal->clock.frontier_reached_s = optimal->clock.frontier_from_s;
    optimal->clock.frontier_share = 0;
    for (int64_t memory = from_bytes; status == VBS_OK;) {
        struct vbs_draft draft = {0};

        status = vbs_grow(ctx, &list, &capacity, count + 1, sizeof *list);
        if (status != VBS_OK)
            break;
        status = optimal_plan(ctx, optimal, memory, &draft);
        vbs_step_list_clear(&draft.steps);
        if (status != VBS_OK)
            break;
        list[count++] = draft.reserved_bytes;
        memory = draft.reserved_bytes - 1;
        optimal->clock.frontier_share = share_above(optimal, memory);
        optimal->clock.frontier_reached_s = vbs_clock_s();
    }
    optimal->clock.frontier_from_s = 0;
    if (status != VBS_INFEASIBLE && !(status == VBS_INTERRUPTED && count > 0)) {
        free(list);
        return status;
    }
    *bytes = list;
    *n = count;
    return VBS_OK;
}

/* Gives a budget that no schedule exceeds. */
static int64_t enough_bytes(const struct vbs_task *task)
{
    int64_t bytes = 0, ws = 0;

    for (int k = 0; k <= task->n_layers; k++)
        bytes += task->request * vbs_task_bytes(task, k);
    for (int k = 1; k <= task->n_layers; k++)
        for (int i = 0; i < task->n_batches; i++) {
            int n_rows;
            const struct vbs_profile_row *rows = vbs_profile_rows(task->profile, k, i, &n_rows);

            for (int a = 0; a < n_rows; a++)
                if (rows[a].ws_bytes > ws)
                    ws = rows[a].ws_bytes;
        }
    return bytes + ws;
}

static enum vbs_status optimal_thresholds(struct vbs_ctx *ctx, const void *self, int64_t **bytes,
                                          int *n)
{
    struct optimal *optimal = (void *)(uintptr_t)self;

    return descend(ctx, optimal, enough_bytes(optimal->task), bytes, n);
}

/* Gives the least budget of any chunk. A larger chunk may need less, because workspace need not
 * grow with the batch. */
static int64_t least_of_chunks(const struct optimal *optimal)
{
    int64_t least = INT64_MAX;

    for (int p = 0; p < optimal->n_chunks; p++)
        if (optimal->chunks[p].least_bytes < least)
            least = optimal->chunks[p].least_bytes;
    return least;
}

/* Bisects for the least budget with a schedule within the latency, from a feasible one down: with
 * more memory plans get no slower. */
static enum vbs_status bisect_least(struct vbs_ctx *ctx, struct optimal *optimal)
{
    int64_t low = least_of_chunks(optimal) - 1;
    enum vbs_status status = VBS_OK;

    while (optimal->least_bytes - low > 1) {
        int64_t middle = low + (optimal->least_bytes - low) / 2;
        struct vbs_draft draft = {0};

        status = optimal_plan(ctx, optimal, middle, &draft);
        vbs_step_list_clear(&draft.steps);
        if (status == VBS_OK)
            optimal->least_bytes = draft.reserved_bytes;
        else if (status == VBS_INFEASIBLE) {
            low = middle;
            status = VBS_OK;
        }
        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

/* Finds the least budget. All plans that it makes take at most a fifth of the time limit of one
 * plan. */
static enum vbs_status find_least_in_time(struct vbs_ctx *ctx, struct optimal *optimal)
{
    double limit = optimal->limit;
    struct vbs_draft draft = {0};
    enum vbs_status status;

    optimal->limit = limit / 10;
    status = optimal_plan(ctx, optimal, enough_bytes(optimal->task), &draft);
    vbs_step_list_clear(&draft.steps);
    optimal->least_bytes = status == VBS_OK ? draft.reserved_bytes : INT64_MAX;
    optimal->limit = limit / 10 / 40;
    if (status == VBS_OK)
        status = bisect_least(ctx, optimal);
    optimal->limit = limit;
    return status == VBS_INFEASIBLE ? VBS_OK : status;
}

static enum vbs_status optimal_open(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    struct optimal *optimal = calloc(1, sizeof *optimal);
    double begin;
    enum vbs_status status;

    if (!optimal)
        return vbs_no_memory(ctx);
    optimal->task = task;
    optimal->whole.clock = &optimal->clock;
    optimal->clock.counts_nodes = task->options.node_limit > 0;
    optimal->limit = optimal->clock.counts_nodes      ? (double)task->options.node_limit
                     : task->options.time_limit_s > 0 ? task->options.time_limit_s
                                                      : VBS_TIME_LIMIT_S;
    start_clock(optimal, optimal->limit);
    begin = optimal->clock.from;
    status = vbs_order_ideals_list(ctx, task, &optimal->ideals, &optimal->listed);
    if (status != VBS_OK)
        goto done;
    status = open_chunks(ctx, optimal);
    if (status != VBS_OK)
        goto done;
    if (task->latency_ticks != INT64_MAX)
        status = find_least_in_time(ctx, optimal);
    else
        optimal->least_bytes = optimal->chunks[0].least_bytes;
done:
    if (status != VBS_OK) {
        optimal_close(optimal);
        return status;
    }
    optimal->spent = vbs_search_now(&optimal->whole) - begin;
    *self = optimal;
    return VBS_OK;
}

/* Tells what the bound rests on. With a latency it rests on bounds of chunks of all sizes, of which
 * only the sums are told. */
static enum vbs_status optimal_explain(struct vbs_reasons *reasons, void *self,
                                       const struct vbs_question *question)
{
    const struct optimal *optimal = self;
    const struct vbs_task *task = optimal->task;
    struct vbs_bound_report *bound = &reasons->made.bound;
    int64_t memory_bytes = question->memory_bytes, proven = 0;

    reasons->made.has_bound = true;
    bound->cutting_us = HUGE_VAL;
    for (int p = 0; p < optimal->n_chunks; p++) {
        struct vbs_known known = vbs_chunk_known(&optimal->chunks[p], memory_bytes);

        bound->n_states += known.n_states;
        if (optimal->in_chunks)
            continue;
        bound->n_groups = known.n_groups;
        bound->largest_group = known.largest_group;
        proven = known.bound_ticks;
    }
    bound->proven_us = vbs_task_us(task, proven);
    if (!optimal->in_chunks)
        for (int i = 0; i < count_cuttings(optimal, memory_bytes); i++)
            bound->cutting_us = optimal->chunks[0].cuttings.list[i].time_us;
    VBS_TRY(vbs_task_bound_us(reasons->ctx, task, enough_bytes(task), &bound->free_us));
    return vbs_task_bound_us(reasons->ctx, task, memory_bytes, &bound->waiting_us);
}

static int64_t optimal_least_bytes(const void *self)
{
    return ((const struct optimal *)self)->least_bytes;
}

static size_t optimal_peak_bytes(const void *self)
{
    const struct optimal *optimal = self;
    size_t bytes = optimal->ideals.arena.total_bytes, search = 0;

    for (int p = 0; p < optimal->n_chunks; p++) {
        bytes += vbs_pareto_peak_bytes(&optimal->chunks[p].cuttings);
        if (optimal->chunks[p].search_bytes > search)
            search = optimal->chunks[p].search_bytes;
    }
    return bytes + search;
}

static enum vbs_status optimal_bracket(struct vbs_ctx *ctx, const struct vbs_task *task,
                                       struct vbs_bracket *bracket)
{
    VBS_TRY(vbs_orders_bracket(ctx, task, bracket));
    return vbs_least_by_layers(ctx, task, bracket->high_bytes, &bracket->low_bytes);
}

const struct vbs_planner vbs_planner_optimal = {
    .name = "optimal",
    .summary = "the shortest path through the lattice of all schedules; its gap is proven",
    .source = "vbslab",
    .cost = "exponential in the worst case, --time-limit a budget",
    .timed = true,
    .searches_long = true,
    .open = optimal_open,
    .bracket = optimal_bracket,
    .plan = optimal_plan,
    .least_bytes = optimal_least_bytes,
    .peak_bytes = optimal_peak_bytes,
    .thresholds = optimal_thresholds,
    .explain = optimal_explain,
    .close = optimal_close,
};
