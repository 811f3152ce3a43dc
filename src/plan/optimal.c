/*
 * optimal: the shortest path through the lattice of progress (DESIGN 2), for any DAG and any io.
 *
 * It starts from the best guillotine cutting without regard to the structure of the network
 * (guillotine.h), improves it and proves a bound (prove.h) until both meet or the time limit is
 * reached; then the best schedule is given with the bound, and its gap is proven. What was found
 * for one budget serves the others: a schedule for every budget that it fits, a bound for every
 * smaller one.
 *
 * With a latency and external io a schedule is a sequence of chunks between which nothing is alive,
 * so that chunks of 1..r samples are searched one by one and the best sequence put together.
 */
#include "plan/guillotine.h"
#include "plan/lattice.h"
#include "plan/line.h"
#include "plan/pattern.h"
#include "plan/prove.h"

#include "base/fail.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* What a search found at the budget high_bytes: a bound for all up to it, and a schedule (unless
 * best_ticks is VBS_NEVER_TICKS) for all from low_bytes on. */
struct fact {
    int64_t low_bytes, high_bytes;
    int64_t best_ticks, bound_ticks;
    double limit_s; /* how long the search might take */
    struct vbs_step_list steps;
};

/* The best of all facts for a budget; steps belong to a fact, null: none. */
struct known {
    int64_t best_ticks, bound_ticks;
    const struct vbs_step_list *steps;
    double searched_s; /* how long a search at this very budget might take, 0: there was none */
};

/* Requests of one size; the whole request, or the chunks of a size when latency is bounded. */
struct part {
    struct vbs_task task; /* shares the arena of the solver's task */
    struct vbs_answers cuttings;
    int n_facts, capacity;
    struct fact *facts;
    int64_t least_bytes;
};

struct optimal {
    const struct vbs_task *task;
    struct vbs_positions positions;
    bool listed;
    bool in_chunks;
    struct vbs_task whole; /* the task without its latency; shares its arena */
    int n_parts;
    struct part *parts; /* [n_parts] chunks of 1..n_parts samples; or one, the request */
    int64_t least_bytes;
    double limit_s; /* of a plan */
    size_t search_bytes;
};

static const struct vbs_positions *positions_of(const struct optimal *optimal)
{
    return optimal->listed ? &optimal->positions : NULL;
}

static enum vbs_status copy_steps(struct vbs_ctx *ctx, const struct vbs_step *steps, int64_t n,
                                  struct vbs_step_list *to)
{
    for (int64_t s = 0; s < n; s++) {
        enum vbs_status status =
            vbs_step_list_add(ctx, to, steps[s].layer, steps[s].batch, steps[s].algorithm);

        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

static int64_t ticks_of(const struct vbs_task *task, const struct vbs_step_list *steps)
{
    int64_t ticks = 0;

    for (int64_t s = 0; s < steps->n_steps; s++)
        ticks += vbs_task_ticks(task, vbs_task_step_row(task, &steps->steps[s])->time_us);
    return ticks;
}

static struct known look_up(const struct part *part, int64_t memory_bytes)
{
    struct known known = {.best_ticks = VBS_NEVER_TICKS};

    for (int f = 0; f < part->n_facts; f++) {
        const struct fact *fact = &part->facts[f];

        if (fact->high_bytes >= memory_bytes && fact->bound_ticks > known.bound_ticks)
            known.bound_ticks = fact->bound_ticks;
        if (fact->low_bytes <= memory_bytes && fact->best_ticks < known.best_ticks) {
            known.best_ticks = fact->best_ticks;
            known.steps = &fact->steps;
        }
        if (fact->high_bytes == memory_bytes && fact->limit_s > known.searched_s)
            known.searched_s = fact->limit_s;
    }
    return known;
}

/* Begins with what is known, or with a cutting that is better. */
static enum vbs_status start_proof(struct vbs_ctx *ctx, struct part *part, int64_t memory_bytes,
                                   const struct known *known, struct vbs_proof *proof)
{
    struct vbs_draft draft = {0};
    enum vbs_status status = vbs_answers_plan(ctx, &part->cuttings, memory_bytes, &draft);

    *proof = (struct vbs_proof){
        .best_ticks = VBS_NEVER_TICKS, .bound_ticks = known->bound_ticks, .steps = draft.steps};
    if (status == VBS_OK)
        proof->best_ticks = ticks_of(&part->task, &proof->steps);
    else if (status != VBS_INFEASIBLE)
        return status;
    if (known->best_ticks >= proof->best_ticks)
        return VBS_OK;
    proof->best_ticks = known->best_ticks;
    proof->steps.n_steps = 0;
    return copy_steps(ctx, known->steps->steps, known->steps->n_steps, &proof->steps);
}

/* Keeps what a proof found; takes its steps. */
static enum vbs_status add_fact(struct vbs_ctx *ctx, struct part *part, int64_t memory_bytes,
                                double limit_s, struct vbs_proof *proof)
{
    struct vbs_walked walked = {.peak_bytes = INT64_MAX};
    enum vbs_status status = VBS_OK;

    if (part->n_facts == part->capacity) {
        int capacity = part->capacity ? 2 * part->capacity : 16;
        struct fact *more = realloc(part->facts, (size_t)capacity * sizeof *more);

        if (!more)
            return vbs_no_memory(ctx);
        part->facts = more;
        part->capacity = capacity;
    }
    if (proof->best_ticks < VBS_NEVER_TICKS)
        status = vbs_walk_all(ctx, &part->task, &proof->steps, &walked);
    if (status != VBS_OK)
        return status;
    part->facts[part->n_facts++] = (struct fact){.low_bytes = walked.peak_bytes,
                                                 .high_bytes = memory_bytes,
                                                 .best_ticks = proof->best_ticks,
                                                 .bound_ticks = proof->bound_ticks,
                                                 .limit_s = fmax(limit_s, 1e-9),
                                                 .steps = proof->steps};
    proof->steps = (struct vbs_step_list){0};
    return VBS_OK;
}

/* What is known of a budget after a search of at most limit_s; schedules of below_ticks and more do
 * not count. Valid until the next call. */
static enum vbs_status find_out(struct vbs_ctx *ctx, struct optimal *optimal, struct part *part,
                                int64_t memory_bytes, double limit_s, int64_t below_ticks,
                                struct known *known)
{
    const struct vbs_prove_limits limits = {
        .until_s = vbs_clock_s() + limit_s, .below_ticks = below_ticks, .seeds = &part->cuttings};
    struct vbs_proof proof = {0};
    enum vbs_status status;

    *known = look_up(part, memory_bytes);
    /* A search that had much less time does not count: find_least is short. */
    if ((known->searched_s > 0 && 2 * known->searched_s > limit_s) ||
        known->bound_ticks >= known->best_ticks)
        return VBS_OK;
    status = start_proof(ctx, part, memory_bytes, known, &proof);
    if (status == VBS_OK)
        status = vbs_prove(ctx, &part->task, positions_of(optimal), memory_bytes, &limits, &proof);
    if (status == VBS_OK)
        status = add_fact(ctx, part, memory_bytes, limit_s, &proof);
    if (proof.peak_bytes > optimal->search_bytes)
        optimal->search_bytes = proof.peak_bytes;
    vbs_step_list_clear(&proof.steps);
    *known = look_up(part, memory_bytes);
    return status;
}

/* Cuttings without regard to the structure cost the square of the layers: where that would take
 * more than a few seconds the structure is kept. */
static bool cuts_freely(const struct vbs_task *task)
{
    double n = task->n_layers, r = task->request;

    return n * n * r * (n + r) < 2e7;
}

static enum vbs_status cut_order(struct vbs_ctx *ctx, const struct optimal *optimal,
                                 const struct vbs_orders *orders, int at,
                                 struct vbs_answers *answers)
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
                                      answers, optimal->n_parts);
    vbs_arena_clear(&arena);
    return status;
}

/* The guillotine cuttings of all parts. */
static enum vbs_status cut(struct vbs_ctx *ctx, struct optimal *optimal)
{
    struct vbs_answers *answers = calloc((size_t)optimal->n_parts, sizeof *answers);
    struct vbs_arena arena = {0};
    struct vbs_orders orders;
    enum vbs_status status =
        answers ? vbs_orders_find(ctx, optimal->task, &arena, &orders) : vbs_no_memory(ctx);

    for (int p = 0; answers && p < optimal->n_parts; p++)
        answers[p].task = &optimal->parts[p].task;
    for (int i = 0; status == VBS_OK && i < orders.n; i++)
        status = cut_order(ctx, optimal, &orders, i, answers);
    for (int p = 0; answers && p < optimal->n_parts; p++)
        optimal->parts[p].cuttings = answers[p];
    free(answers);
    vbs_arena_clear(&arena);
    return status;
}

/* The least budget at which every layer alone has a schedule. */
static int64_t least_by_layers(const struct vbs_task *task, int64_t *togo, int64_t high)
{
    int64_t low = -1;

    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        bool feasible = true;

        for (int k = 1; feasible && k <= task->n_layers; k++) {
            vbs_task_to_go(task, k, middle, task->request, togo);
            feasible = togo[0] < VBS_NEVER_TICKS;
        }
        if (feasible)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* Lowers least_bytes of a part below that of its cuttings while there is a schedule. */
static enum vbs_status find_least(struct vbs_ctx *ctx, struct optimal *optimal, struct part *part)
{
    int64_t *togo = malloc(((size_t)part->task.request + 1) * sizeof *togo), floor;
    double until_s = vbs_clock_s() + optimal->limit_s / 10;
    enum vbs_status status = VBS_OK;

    part->least_bytes = vbs_answers_least_bytes(&part->cuttings);
    if (!togo)
        return vbs_no_memory(ctx);
    floor = least_by_layers(&part->task, togo, part->least_bytes);
    free(togo);
    while (status == VBS_OK && part->least_bytes > floor && vbs_clock_s() < until_s) {
        struct vbs_walked walked;
        struct known known;

        status = find_out(ctx, optimal, part, part->least_bytes - 1, until_s - vbs_clock_s(),
                          VBS_NEVER_TICKS, &known);
        if (status != VBS_OK || !known.steps)
            break;
        status = vbs_walk_all(ctx, &part->task, known.steps, &walked);
        part->least_bytes = walked.peak_bytes;
    }
    return status;
}

/* The task of a part: the same network and ticks, fewer samples, no latency. */
static struct vbs_task part_task(const struct vbs_task *task, int request)
{
    struct vbs_task part = *task;

    part.request = request;
    part.problem.request = request;
    part.latency_ticks = INT64_MAX;
    while (part.profile->batches[part.n_batches - 1] > request) /* ends: batches[0] is 1 */
        part.n_batches--;
    return part;
}

/* One part for the request; or, where chunks are bounded, one for each size of a chunk. */
static enum vbs_status open_parts(struct vbs_ctx *ctx, struct optimal *optimal)
{
    const struct vbs_task *task = optimal->task;
    enum vbs_status status;

    optimal->in_chunks = task->latency_ticks != INT64_MAX && task->problem.io == VBS_IO_EXTERNAL;
    optimal->n_parts = optimal->in_chunks ? task->request : 1;
    optimal->whole = part_task(task, task->request);
    optimal->parts = calloc((size_t)optimal->n_parts, sizeof *optimal->parts);
    if (!optimal->parts)
        return vbs_no_memory(ctx);
    for (int p = 0; p < optimal->n_parts; p++)
        optimal->parts[p].task = part_task(task, optimal->in_chunks ? p + 1 : task->request);
    status = cut(ctx, optimal);
    for (int p = 0; status == VBS_OK && p < optimal->n_parts; p++)
        status = find_least(ctx, optimal, &optimal->parts[p]);
    return status;
}

static void part_clear(struct part *part)
{
    for (int f = 0; f < part->n_facts; f++)
        vbs_step_list_clear(&part->facts[f].steps);
    free(part->facts);
    vbs_answers_clear(&part->cuttings);
}

static void optimal_close(void *self)
{
    struct optimal *optimal = self;

    if (!optimal)
        return;
    for (int p = 0; optimal->parts && p < optimal->n_parts; p++)
        part_clear(&optimal->parts[p]);
    free(optimal->parts);
    vbs_positions_clear(&optimal->positions);
    free(optimal);
}

/* The best sequence of chunks. */
struct sequence {
    int64_t *best_ticks, *bound_ticks;  /* [request + 1] */
    int *first;                         /* [request + 1] first chunk of the best; 0: none */
    const struct vbs_step_list **steps; /* [request + 1] of a chunk of that size */
};

/* Searches chunks of all sizes; those that must take longer than the latency are out. */
static enum vbs_status find_chunks(struct vbs_ctx *ctx, struct optimal *optimal,
                                   int64_t memory_bytes, struct sequence *sequence)
{
    int r = optimal->n_parts;
    int64_t limit = optimal->task->latency_ticks;
    double until_s = vbs_clock_s() + optimal->limit_s;

    for (int b = 1; b <= r; b++) {
        struct known known;
        double limit_s = (until_s - vbs_clock_s()) / (r + 1 - b);
        enum vbs_status status = find_out(ctx, optimal, &optimal->parts[b - 1], memory_bytes,
                                          limit_s, limit + 1, &known);
        int64_t best, bound;

        if (status != VBS_OK)
            return status;
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
    enum vbs_status status = VBS_OK;

    /* The two parts of a sum may be sums themselves: the first is the smaller problem. */
    while (status == VBS_OK && b > 0) {
        int first = sequence->first[b];

        if (first == b)
            return copy_steps(ctx, sequence->steps[b]->steps, sequence->steps[b]->n_steps, steps);
        status = emit_chunks(ctx, sequence, first, steps);
        b -= first;
    }
    return status;
}

static enum vbs_status plan_chunks(struct vbs_ctx *ctx, struct optimal *optimal,
                                   int64_t memory_bytes, struct vbs_draft *draft)
{
    int r = optimal->n_parts;
    struct vbs_arena arena = {0};
    size_t n = (size_t)r + 1;
    struct sequence sequence = {
        .best_ticks = vbs_arena_alloc(&arena, n, sizeof(int64_t)),
        .bound_ticks = vbs_arena_alloc(&arena, n, sizeof(int64_t)),
        .first = vbs_arena_alloc(&arena, n, sizeof(int)),
        .steps = vbs_arena_alloc(&arena, n, sizeof(struct vbs_step_list *)),
    };
    enum vbs_status status = VBS_OK;

    if (!sequence.best_ticks || !sequence.bound_ticks || !sequence.first || !sequence.steps)
        status = vbs_no_memory(ctx);
    if (status == VBS_OK)
        status = find_chunks(ctx, optimal, memory_bytes, &sequence);
    if (status == VBS_OK && sequence.best_ticks[r] >= VBS_NEVER_TICKS)
        status = VBS_INFEASIBLE;
    if (status == VBS_OK) {
        draft->bound_us = vbs_task_us(optimal->task, sequence.bound_ticks[r]);
        status = emit_chunks(ctx, &sequence, r, &draft->steps);
    }
    vbs_arena_clear(&arena);
    return status;
}

static enum vbs_status plan_whole(struct vbs_ctx *ctx, struct optimal *optimal,
                                  int64_t memory_bytes, struct vbs_draft *draft)
{
    int64_t limit = optimal->task->latency_ticks; /* of resident io, or none */
    struct known known;
    enum vbs_status status =
        find_out(ctx, optimal, &optimal->parts[0], memory_bytes, optimal->limit_s,
                 limit < VBS_NEVER_TICKS ? limit + 1 : VBS_NEVER_TICKS, &known);

    if (status != VBS_OK)
        return status;
    if (known.best_ticks > limit || !known.steps)
        return VBS_INFEASIBLE;
    draft->bound_us = vbs_task_us(optimal->task, known.bound_ticks);
    return copy_steps(ctx, known.steps->steps, known.steps->n_steps, &draft->steps);
}

static enum vbs_status optimal_plan(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                                    struct vbs_draft *draft)
{
    struct optimal *optimal = self;
    struct vbs_walked walked;
    enum vbs_status status = optimal->in_chunks ? plan_chunks(ctx, optimal, memory_bytes, draft)
                                                : plan_whole(ctx, optimal, memory_bytes, draft);

    if (status == VBS_OK)
        status = vbs_walk_all(ctx, optimal->task, &draft->steps, &walked);
    if (status == VBS_OK)
        draft->reserved_bytes = walked.peak_bytes;
    return status;
}

/*
 * From the largest budget down: a schedule serves every budget that it fits, and the next smaller
 * budget is a byte less than that. Appends those at which some schedule begins to fit.
 */
static enum vbs_status descend(struct vbs_ctx *ctx, struct optimal *optimal, int64_t from_bytes,
                               int64_t **bytes, int *n)
{
    int64_t *list = NULL;
    int count = 0, room = 0;
    enum vbs_status status = VBS_OK;

    for (int64_t memory = from_bytes; status == VBS_OK;) {
        struct vbs_draft draft = {0};

        if (count == room) {
            int64_t *more = realloc(list, (2 * (size_t)room + 64) * sizeof *more);

            if (!more) {
                status = vbs_no_memory(ctx);
                break;
            }
            list = more;
            room = 2 * room + 64;
        }
        status = optimal_plan(ctx, optimal, memory, &draft);
        vbs_step_list_clear(&draft.steps);
        if (status != VBS_OK)
            break;
        list[count++] = draft.reserved_bytes;
        memory = draft.reserved_bytes - 1;
    }
    if (status != VBS_INFEASIBLE) {
        free(list);
        return status;
    }
    *bytes = list;
    *n = count;
    return VBS_OK;
}

/* No budget above this changes anything. */
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

/* Of chunks of any size: scratch need not grow with the batch, so that a larger one may need less.
 */
static int64_t least_of_parts(const struct optimal *optimal)
{
    int64_t least = INT64_MAX;

    for (int p = 0; p < optimal->n_parts; p++)
        if (optimal->parts[p].least_bytes < least)
            least = optimal->parts[p].least_bytes;
    return least;
}

/* Narrows the least budget with a schedule in time down from a feasible one: plans get no slower
 * with memory. */
static enum vbs_status bisect_least(struct vbs_ctx *ctx, struct optimal *optimal)
{
    int64_t low = least_of_parts(optimal) - 1;
    enum vbs_status status = VBS_OK;

    while (status == VBS_OK && optimal->least_bytes - low > 1) {
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
    }
    return status;
}

/* All its plans together take at most a fifth of the time limit of one. */
static enum vbs_status find_least_in_time(struct vbs_ctx *ctx, struct optimal *optimal)
{
    double limit_s = optimal->limit_s;
    struct vbs_draft draft = {0};
    enum vbs_status status;

    optimal->limit_s = limit_s / 10;
    status = optimal_plan(ctx, optimal, enough_bytes(optimal->task), &draft);
    vbs_step_list_clear(&draft.steps);
    optimal->least_bytes = status == VBS_OK ? draft.reserved_bytes : INT64_MAX;
    optimal->limit_s = limit_s / 10 / 40;
    if (status == VBS_OK)
        status = bisect_least(ctx, optimal);
    optimal->limit_s = limit_s;
    return status == VBS_INFEASIBLE ? VBS_OK : status;
}

static enum vbs_status optimal_open(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    struct optimal *optimal = calloc(1, sizeof *optimal);
    enum vbs_status status;

    if (!optimal)
        return vbs_no_memory(ctx);
    optimal->task = task;
    optimal->limit_s =
        task->options.time_limit_s > 0 ? task->options.time_limit_s : VBS_TIME_LIMIT_S;
    status = vbs_positions_list(ctx, task, &optimal->positions, &optimal->listed);
    if (status == VBS_OK)
        status = open_parts(ctx, optimal);
    if (status == VBS_OK && task->latency_ticks != INT64_MAX)
        status = find_least_in_time(ctx, optimal);
    else if (status == VBS_OK)
        optimal->least_bytes = optimal->parts[0].least_bytes;
    if (status != VBS_OK) {
        optimal_close(optimal);
        return status;
    }
    *self = optimal;
    return VBS_OK;
}

static int64_t optimal_least_bytes(const void *self)
{
    return ((const struct optimal *)self)->least_bytes;
}

static size_t optimal_peak_bytes(const void *self)
{
    const struct optimal *optimal = self;
    size_t bytes = optimal->search_bytes + optimal->positions.arena.total_bytes;

    for (int p = 0; p < optimal->n_parts; p++)
        bytes += vbs_answers_peak_bytes(&optimal->parts[p].cuttings);
    return bytes;
}

const struct vbs_planner vbs_planner_optimal = {
    .name = "optimal",
    .summary = "the shortest path through the lattice, proven or with a proven gap",
    .open = optimal_open,
    .plan = optimal_plan,
    .least_bytes = optimal_least_bytes,
    .peak_bytes = optimal_peak_bytes,
    .thresholds = optimal_thresholds,
    .close = optimal_close,
};
