/*
 * dp-monotone: the dynamic program of COMP V-D. Batches never shrink along the network, and each is
 * a divisor of the next: while a layer waits for its B samples, the layers before it run them in
 * B/b phases of b.
 *
 * COMP, with A bytes reserved for later layers, feasible when A + IN + WS + OUT <= TOT:
 *
 *   OPT(i, B, A) = Time(i, B) + min over b <= B, b divides B, of
 *                      (B/b) OPT(i-1, b, A + IN(i, B-b))
 *
 * Here M = TOT - A is the variable, and OPT a curve: the least time as an exact step function of
 * M, so that one solve answers every budget to the byte.
 *
 *   OPT[i, B](M) = ROWS[i, B](M) + min over b of (B/b) OPT[i-1, b](M - (B-b) wait[i])
 *
 * This program extends COMP:
 *   - times and workspaces belong to (layer, batch, algorithm), and the budget chooses among them;
 *   - any DAG: its layers in the order of their ids are a line (dp.h), and a sample that waits
 *     before layer i takes all that is live there, which for a chain is IN(i, 1);
 *   - io resident: of the B samples that layer i waits for, those to come hold the network's input
 *     (in[1] a sample) and those that wait hold what is live before i. Their number shifts from
 *     phase to phase, and first or last is the worst, for every layer apart: wait[i] is the larger
 *     of the two. io external: inputs to come take nothing;
 *   - the request: COMP takes the B <= r with the least time per sample as often as it goes, then
 *     solves again for the rest. Here the request is composed of chunks with the least time in all,
 *     chunk by chunk (REST[k]: k samples to come, r - k done); with io resident the inputs of later
 *     chunks and the outputs of earlier ones are reserved:
 *
 *   REST[k](M) = min over B of OPT[n, B](M - (r-k) out - (k-B) in[1]) + REST[k-B](M)
 *
 * Latency: with io external a chunk may not take longer (COMP: OPT above the threshold is
 * infinite), with io resident the request may not. The accounting is exact: the reserved
 * bytes are the peak.
 *
 * Complexity: layers x (pairs b | B of the profile's batches) + request x batches sums of curves,
 * each linear in their points. Memory: layers x batches + request curves.
 */
#include "plan/dp/dp.h"
#include "plan/dp/curve.h"
#include "plan/dp/reasons.h"

#include "base/fail.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Schedules of a long network take much memory: limits of the steps of all, each counted with one
 * sample, where time is limited and where it is not, and the least number of schedules. */
#define MAX_STEPS_IN_TIME (4 << 20)
#define MAX_STEPS         (64 << 20)
#define LEAST_OFFERS      64

struct monotone {
    struct vbs_ctx *ctx;
    const struct vbs_task *task;
    struct vbs_chain line;
    struct vbs_curve *opt;    /* OPT[i, B] at i * n_batches + index of B; cut: b */
    struct vbs_curve *chunks; /* [n_batches] OPT of the last layer, within the latency */
    struct vbs_curve *rest;   /* [request + 1]; cut: the next chunk */
    struct vbs_arena arena;
    struct vbs_envelope envelope;
    struct vbs_arena scratch; /* of one layer */
    size_t scratch_peak_bytes;
};

static struct vbs_curve *opt_at(const struct monotone *work, int i, int batch_index)
{
    return &work->opt[(size_t)i * (size_t)work->task->n_batches + (size_t)batch_index];
}

/* The most bytes that `samples` take while item i waits for the last sample of its batch. */
static int64_t waiting_bytes(const struct monotone *work, int i, int samples)
{
    const int64_t *cut = work->line.cut_bytes;

    return samples * (cut[i] > cut[0] ? cut[i] : cut[0]);
}

/* The bytes of the other samples of the request while a chunk runs after which `to_come` samples
 * are left. */
static int64_t outside_bytes(const struct monotone *work, int chunk, int to_come)
{
    const int64_t *cut = work->line.cut_bytes;
    int done = work->task->request - to_come - chunk;

    return done * cut[work->line.n_items] + to_come * cut[0];
}

static enum vbs_status solve_rows(struct monotone *work, int i, int batch_index,
                                  struct vbs_curve *rows)
{
    const struct vbs_task *task = work->task;
    const struct vbs_item *item = &work->line.items[i];
    int batch = task->profile->batches[batch_index], n_rows;
    const struct vbs_profile_row *row =
        vbs_profile_rows(task->profile, item->layer, batch_index, &n_rows);

    vbs_envelope_reset(&work->envelope);
    for (int a = 0; a < n_rows; a++) {
        VBS_TRY(vbs_envelope_offer(work->ctx, &work->envelope,
                                   batch * item->step_bytes + row[a].ws_bytes,
                                   vbs_task_ticks(task, row[a].time_us), 0));
    }
    return vbs_envelope_curve(work->ctx, &work->envelope, &work->scratch, rows);
}

/* A view of *curve with its times repeated. */
static enum vbs_status repeat(struct monotone *work, const struct vbs_curve *curve, int times,
                              struct vbs_curve *repeated)
{
    int64_t *ticks;

    *repeated = *curve;
    if (times == 1 || curve->n == 0)
        return VBS_OK;
    ticks = vbs_arena_alloc(&work->scratch, (size_t)curve->n, sizeof *ticks);
    if (!ticks)
        return vbs_no_memory(work->ctx);
    for (int p = 0; p < curve->n; p++)
        ticks[p] = times * curve->ticks[p];
    repeated->ticks = ticks;
    return VBS_OK;
}

/* Offers OPT[i, B] by way of each b, the largest first: of equal times the fewest steps. */
static enum vbs_status offer_divisors(struct monotone *work, int i, int batch_index,
                                      const struct vbs_curve *rows)
{
    const int *batches = work->task->profile->batches;
    int batch = batches[batch_index];

    for (int d = batch_index; d >= 0; d--) {
        struct vbs_curve before;

        if (batch % batches[d] != 0)
            continue;
        VBS_TRY(repeat(work, opt_at(work, i - 1, d), batch / batches[d], &before));
        VBS_TRY(vbs_envelope_offer_sum(
            work->ctx, &work->envelope,
            vbs_moved_by(&before, waiting_bytes(work, i, batch - batches[d])), VBS_POINTS_ALL,
            vbs_unmoved(rows), batches[d]));
    }
    return VBS_OK;
}

static enum vbs_status solve_layer(struct monotone *work, int i)
{
    enum vbs_status status = VBS_OK;

    for (int index = 0; status == VBS_OK && index < work->task->n_batches; index++) {
        struct vbs_curve rows;

        if (vbs_cancelled(work->ctx))
            return vbs_fail(work->ctx, VBS_INTERRUPTED, "interrupted");
        status = solve_rows(work, i, index, &rows);
        if (status == VBS_OK && i > 0) {
            vbs_envelope_reset(&work->envelope);
            status = offer_divisors(work, i, index, &rows);
        }
        if (status == VBS_OK)
            status = vbs_envelope_curve(work->ctx, &work->envelope, &work->arena,
                                        opt_at(work, i, index));
    }
    if (work->scratch.total_bytes > work->scratch_peak_bytes)
        work->scratch_peak_bytes = work->scratch.total_bytes;
    vbs_arena_clear(&work->scratch);
    return status;
}

/* A view of the points of a curve that take no longer than the limit. Its cuts have one sign as
 * before, so that its runs are the same. */
static struct vbs_curve within(const struct vbs_curve *curve, int64_t limit_ticks)
{
    struct vbs_curve view = *curve;

    while (view.n > 0 && *view.ticks > limit_ticks) {
        view.n--;
        view.bytes++;
        view.ticks++;
        view.cut++;
    }
    return view;
}

static enum vbs_status solve_rest(struct monotone *work, int left)
{
    const int *batches = work->task->profile->batches;

    vbs_envelope_reset(&work->envelope);
    for (int index = work->task->n_batches - 1; index >= 0; index--) {
        int chunk = batches[index];

        if (chunk > left)
            continue;
        VBS_TRY(vbs_envelope_offer_sum(
            work->ctx, &work->envelope,
            vbs_moved_by(&work->chunks[index], outside_bytes(work, chunk, left - chunk)),
            VBS_POINTS_ALL, vbs_unmoved(&work->rest[left - chunk]), chunk));
    }
    return vbs_envelope_curve(work->ctx, &work->envelope, &work->arena, &work->rest[left]);
}

/* Makes the line and allocates the curves. */
static enum vbs_status prepare(struct monotone *work)
{
    size_t n = (size_t)work->task->n_layers, n_batches = (size_t)work->task->n_batches;
    int *order = vbs_arena_alloc(&work->arena, n, sizeof *order);

    work->opt = vbs_arena_alloc(&work->arena, n * n_batches, sizeof *work->opt);
    work->chunks = vbs_arena_alloc(&work->arena, n_batches, sizeof *work->chunks);
    work->rest = vbs_arena_alloc(&work->arena, (size_t)work->task->request + 1, sizeof *work->rest);
    if (!order || !work->opt || !work->chunks || !work->rest)
        return vbs_no_memory(work->ctx);
    for (size_t i = 0; i < n; i++)
        order[i] = (int)i + 1;
    return vbs_line_build(work->ctx, work->task, &work->arena, order, &work->line);
}

static enum vbs_status solve(struct monotone *work)
{
    const struct vbs_task *task = work->task;
    bool by_chunk = task->problem.io == VBS_IO_EXTERNAL;

    VBS_TRY(prepare(work));
    for (int i = 0; i < task->n_layers; i++)
        VBS_TRY(solve_layer(work, i));
    for (int index = 0; index < task->n_batches; index++)
        work->chunks[index] = within(opt_at(work, task->n_layers - 1, index),
                                     by_chunk ? task->latency_ticks : INT64_MAX);
    work->rest[0] = VBS_CURVE_ZERO;
    for (int left = 1; left <= task->request; left++)
        VBS_TRY(vbs_cancelled(work->ctx) ? vbs_fail(work->ctx, VBS_INTERRUPTED, "interrupted")
                                         : solve_rest(work, left));
    return VBS_OK;
}

/* The steps of one chunk for a budget, layer by layer of the line. */
struct phase_emission {
    const struct monotone *work;
    struct vbs_step_list steps;
    int *batches;    /* [n_items] */
    int *algorithms; /* [n_items] */
    int *progress;   /* [n_items] samples of the chunk that are done */
};

/* Chooses batch and algorithm of every layer, from the last to the first. */
static void choose_steps(struct phase_emission *to, int chunk, int64_t bytes)
{
    const struct monotone *work = to->work;
    int batch = chunk;

    for (int i = work->line.n_items - 1; i >= 0; i--) {
        const struct vbs_item *item = &work->line.items[i];
        const struct vbs_curve *curve = opt_at(work, i, work->task->batch_index[batch]);
        int at = vbs_curve_at(curve, bytes), before = curve->cut[at];

        to->batches[i] = batch;
        to->algorithms[i] =
            vbs_task_row(work->task, item->layer, batch, batch * item->step_bytes, curve->bytes[at])
                ->algorithm;
        bytes = curve->bytes[at] - waiting_bytes(work, i, batch - before);
        batch = before;
    }
}

static enum vbs_status emit_step(struct phase_emission *to, int i)
{
    to->progress[i] += to->batches[i];
    return vbs_step_list_add(to->work->ctx, &to->steps, to->work->line.items[i].layer,
                             to->batches[i], to->algorithms[i]);
}

/* Runs the first layer again and again, and after each run the layers whose batches are complete.
 */
static enum vbs_status emit_chunk(struct phase_emission *to, int chunk, int64_t bytes)
{
    struct vbs_ctx *ctx = to->work->ctx;
    int n = to->work->line.n_items;

    choose_steps(to, chunk, bytes);
    memset(to->progress, 0, (size_t)n * sizeof *to->progress);
    while (to->progress[n - 1] < chunk) {
        VBS_TRY(vbs_cancelled(ctx) ? vbs_fail(ctx, VBS_INTERRUPTED, "interrupted")
                                   : emit_step(to, 0));
        for (int i = 1; i < n && to->progress[i - 1] - to->progress[i] == to->batches[i]; i++)
            VBS_TRY(emit_step(to, i));
    }
    return VBS_OK;
}

/* Offers the schedule at a point of REST of the whole request. */
static enum vbs_status offer_plan(struct phase_emission *to, int64_t least_bytes,
                                  struct vbs_pareto_set *pareto)
{
    const struct monotone *work = to->work;
    int64_t bytes = least_bytes;
    int chunk;

    to->steps.n_steps = 0;
    for (int left = work->task->request; left > 0; left -= chunk) {
        const struct vbs_curve *curve = &work->rest[left];
        int at = vbs_curve_at(curve, bytes);

        chunk = curve->cut[at];
        bytes = curve->bytes[at];
        VBS_TRY(emit_chunk(to, chunk, bytes - outside_bytes(work, chunk, left - chunk)));
    }
    return vbs_pareto_offer(work->ctx, pareto, least_bytes, &to->steps);
}

static enum vbs_status offer_plans(struct monotone *work, struct vbs_pareto_set *pareto)
{
    const struct vbs_task *task = work->task;
    size_t n = (size_t)task->n_layers;
    int *numbers = vbs_arena_alloc(&work->arena, 3 * n, sizeof *numbers);
    bool by_request = task->problem.io == VBS_IO_RESIDENT;
    struct vbs_curve all =
        within(&work->rest[task->request], by_request ? task->latency_ticks : INT64_MAX);
    struct phase_emission to = {.work = work, .batches = numbers};
    int stride = vbs_pareto_stride(
        task, all.n, task->cut_until_s > 0 ? MAX_STEPS_IN_TIME : MAX_STEPS, LEAST_OFFERS);
    enum vbs_status status = VBS_OK;

    if (!numbers)
        return vbs_no_memory(work->ctx);
    to.algorithms = numbers + n;
    to.progress = numbers + 2 * n;
    for (int p = 0; status == VBS_OK && p < all.n; p++)
        if (vbs_pareto_is_kept(p, all.n, stride))
            status = offer_plan(&to, all.bytes[p], pareto);
    vbs_step_list_clear(&to.steps);
    return status;
}

static void monotone_clear(struct monotone *work)
{
    vbs_envelope_clear(&work->envelope);
    vbs_arena_clear(&work->scratch);
    vbs_arena_clear(&work->arena);
}

enum vbs_status vbs_monotone_offer(struct vbs_ctx *ctx, const struct vbs_task *task,
                                   struct vbs_pareto_set *pareto)
{
    struct monotone work = {.ctx = ctx, .task = task};
    enum vbs_status status = solve(&work);
    size_t used;

    if (status == VBS_OK)
        status = offer_plans(&work, pareto);
    used = work.arena.total_bytes + work.scratch_peak_bytes;
    if (used > pareto->solving_bytes)
        pareto->solving_bytes = used;
    monotone_clear(&work);
    return status;
}

/* Adds what a part of a candidate needs and takes to the candidate: `times` the time of a curve
 * that is moved, in memory_bytes; out of memory it counts at its own least. */
static void add_part(const struct monotone *work, struct vbs_candidate *candidate,
                     struct vbs_part *part, const struct vbs_curve *curve, int64_t memory_bytes)
{
    int at = vbs_curve_at(curve, memory_bytes - part->beside_bytes);
    int64_t least = curve->n > 0 ? curve->bytes[0] + part->beside_bytes : INT64_MAX;

    part->time_us = at < 0 ? HUGE_VAL : vbs_task_us(work->task, curve->ticks[at]);
    if (least > candidate->least_bytes)
        candidate->least_bytes = least;
    candidate->time_us += part->times * part->time_us;
    if (at >= 0 && curve->bytes[at] + part->beside_bytes > candidate->needed_bytes)
        candidate->needed_bytes = curve->bytes[at] + part->beside_bytes;
}

/* Adds a candidate of two parts, with the second one's curve moved. */
static enum vbs_status add_pair(const struct monotone *work, struct vbs_reasons *reasons,
                                enum vbs_choice choice, int number, struct vbs_part parts[2],
                                const struct vbs_curve *const curves[2], int64_t memory_bytes)
{
    struct vbs_candidate candidate = {.choice = choice, .at = number};
    int64_t in_bytes = memory_bytes;
    int n = parts[1].samples > 0 ? 2 : 1;

    for (int pass = 0; pass < 2; pass++) { /* the second at the least memory, where it does not
                                              fit */
        candidate.time_us = 0;
        candidate.needed_bytes = 0;
        for (int p = 0; p < n; p++)
            add_part(work, &candidate, &parts[p], curves[p], in_bytes);
        if (candidate.least_bytes <= memory_bytes || candidate.least_bytes == INT64_MAX)
            break;
        in_bytes = candidate.least_bytes;
    }
    candidate.fits = candidate.least_bytes <= memory_bytes;
    if (candidate.least_bytes == INT64_MAX)
        candidate.needed_bytes = INT64_MAX;
    return vbs_reasons_add(reasons, &candidate, parts, n);
}

/* Explains OPT[i, B] at a memory: the batch of the layer before. */
static enum vbs_status explain_layer(struct monotone *work, struct vbs_reasons *reasons, int parent,
                                     int i, int batch, int64_t bytes)
{
    const int *batches = work->task->profile->batches;
    const struct vbs_item *items = work->line.items;
    int index = work->task->batch_index[batch], made;
    const struct vbs_curve *curve = opt_at(work, i, index);
    int chosen = curve->cut[vbs_curve_at(curve, bytes)];
    struct vbs_decision decision = {.first_layer = items[0].layer,
                                    .last_layer = items[i].layer,
                                    .n_layers = i + 1,
                                    .samples = batch,
                                    .memory_bytes = bytes};
    struct vbs_curve rows;

    if (i == 0)
        return vbs_reasons_step(reasons, parent, items[0].layer, batch, batch * items[0].step_bytes,
                                bytes);
    VBS_TRY(vbs_reasons_begin(reasons, parent, &decision, &made));
    VBS_TRY(solve_rows(work, i, index, &rows));
    for (int d = index; d >= 0; d--) {
        struct vbs_part parts[2] = {{.first_layer = items[0].layer,
                                     .last_layer = items[i - 1].layer,
                                     .samples = batches[d],
                                     .times = batch / batches[d],
                                     .beside_bytes = waiting_bytes(work, i, batch - batches[d])},
                                    {.first_layer = items[i].layer,
                                     .last_layer = items[i].layer,
                                     .samples = batch,
                                     .times = 1}};

        if (batch % batches[d] == 0)
            VBS_TRY(add_pair(work, reasons, VBS_CHOICE_DIVISOR, batches[d], parts,
                             (const struct vbs_curve *const[]){opt_at(work, i - 1, d), &rows},
                             bytes));
    }
    VBS_TRY(vbs_reasons_end(reasons, made, VBS_CHOICE_DIVISOR, chosen));
    VBS_TRY(explain_layer(work, reasons, made, i - 1, chosen,
                          bytes - waiting_bytes(work, i, batch - chosen)));
    return vbs_reasons_step(reasons, made, items[i].layer, batch, batch * items[i].step_bytes,
                            bytes);
}

/* Explains REST[left] at a memory: the next chunk. */
static enum vbs_status explain_chunk(struct monotone *work, struct vbs_reasons *reasons, int left,
                                     int64_t bytes, int *index)
{
    const int *batches = work->task->profile->batches;
    const struct vbs_curve *curve = &work->rest[left];
    int n = work->task->n_layers, last = work->line.items[n - 1].layer;
    int chosen = curve->cut[vbs_curve_at(curve, bytes)];
    struct vbs_decision decision = {.first_layer = work->line.items[0].layer,
                                    .last_layer = last,
                                    .n_layers = n,
                                    .samples = left,
                                    .memory_bytes = bytes};

    VBS_TRY(vbs_reasons_begin(reasons, *index, &decision, index));
    for (int d = work->task->n_batches - 1; d >= 0; d--) {
        int after = left - batches[d];
        struct vbs_part parts[2] = {{.first_layer = decision.first_layer,
                                     .last_layer = last,
                                     .samples = batches[d],
                                     .times = 1},
                                    {.first_layer = decision.first_layer,
                                     .last_layer = last,
                                     .samples = after,
                                     .times = 1}};

        if (after < 0)
            continue;
        parts[0].beside_bytes = outside_bytes(work, batches[d], after);
        VBS_TRY(add_pair(work, reasons, VBS_CHOICE_CHUNK, batches[d], parts,
                         (const struct vbs_curve *const[]){&work->chunks[d], &work->rest[after]},
                         bytes));
    }
    VBS_TRY(vbs_reasons_end(reasons, *index, VBS_CHOICE_CHUNK, chosen));
    return explain_layer(work, reasons, *index, n - 1, chosen,
                         bytes - outside_bytes(work, chosen, left - chosen));
}

/* Gives whether the first steps of the plan have the batches of the curves. */
static enum vbs_status has_plan(struct monotone *work, const struct vbs_question *question,
                                bool *found)
{
    const struct vbs_curve *curve = &work->rest[work->task->request];
    struct vbs_pareto_set pareto = {.task = work->task};
    struct vbs_draft draft = {0};
    enum vbs_status status = VBS_OK;

    *found = false;
    if (vbs_curve_at(curve, question->memory_bytes) < 0)
        return VBS_OK;
    status = offer_plans(work, &pareto);
    if (status == VBS_OK)
        status = vbs_pareto_plan_within(work->ctx, &pareto, question->memory_bytes, &draft);
    if (status == VBS_OK)
        *found = vbs_step_list_same_batches(&draft.steps, question->steps, question->n_steps);
    vbs_step_list_clear(&draft.steps);
    vbs_pareto_clear(&pareto);
    return status == VBS_INFEASIBLE ? VBS_OK : status;
}

enum vbs_status vbs_monotone_explain(struct vbs_reasons *reasons,
                                     const struct vbs_question *question, bool *found)
{
    struct monotone work = {.ctx = reasons->ctx, .task = reasons->task};
    int64_t bytes = question->memory_bytes;
    int index = -1;
    enum vbs_status status = solve(&work);

    *found = false;
    if (status == VBS_OK)
        status = has_plan(&work, question, found);
    for (int left = reasons->task->request; status == VBS_OK && *found && left > 0;) {
        const struct vbs_curve *curve = &work.rest[left];

        status = explain_chunk(&work, reasons, left, bytes, &index);
        left -= curve->cut[vbs_curve_at(curve, bytes)];
    }
    monotone_clear(&work);
    return status;
}

static enum vbs_status monotone_open(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    struct vbs_pareto_set *pareto = calloc(1, sizeof *pareto);
    enum vbs_status status;

    if (!pareto)
        return vbs_no_memory(ctx);
    pareto->task = task;
    status = vbs_monotone_offer(ctx, task, pareto);
    if (status != VBS_OK) {
        vbs_pareto_close(pareto);
        return status;
    }
    *self = pareto;
    return VBS_OK;
}

static enum vbs_status monotone_explain(struct vbs_reasons *reasons, void *self,
                                        const struct vbs_question *question)
{
    bool found;

    (void)self; /* has schedules and no curves */
    VBS_TRY(vbs_monotone_explain(reasons, question, &found));
    return found ? VBS_OK : VBS_NOT_FOUND;
}

const struct vbs_planner vbs_planner_dp_monotone = {
    .name = "dp-monotone",
    .summary = "batches that grow along the network, each a divisor of the next",
    .source = "COMP V-D",
    .cost = "layers x batches^2 x points of a curve, once for all budgets",
    .open = monotone_open,
    .plan = vbs_pareto_plan_within,
    .least_bytes = vbs_pareto_least_bytes,
    .peak_bytes = vbs_pareto_peak_bytes,
    .thresholds = vbs_pareto_thresholds,
    .explain = monotone_explain,
    .close = vbs_pareto_close,
};
