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
 * What is wider than in COMP:
 *   - times and workspaces belong to (layer, batch, algorithm), and the budget chooses among them;
 *   - any DAG: its layers in the order of their ids are a line (line.h), and a sample that waits
 *     before layer i takes all that is live there, which for a chain is IN(i, 1);
 *   - io resident: of the B samples that layer i waits for, those to come hold the network's input
 *     (in[1] a sample) and those that wait hold what is live before i. Their number shifts from
 *     phase to phase, and first or last is the worst, for every layer apart: wait[i] is the larger
 *     of the two. io external: inputs to come take nothing;
 *   - the request: COMP takes the B <= r with the least time per sample as often as it goes, then
 *     solves again for the rest. Here the request is composed of chunks with the least time in all,
 *     chunk by chunk (REST[k]: k samples to come, r - k done); with io resident the inputs of later
 *     chunks and the outputs of earlier ones are set aside:
 *
 *   REST[k](M) = min over B of OPT[n, B](M - (r-k) out - (k-B) in[1]) + REST[k-B](M)
 *
 * Latency: with io external a chunk may not take longer (COMP: OPT above the threshold is
 * infinite), with io resident the request may not. The accounting is exact: what is set aside is
 * the peak.
 *
 * Complexity: layers x (pairs b | B of the profile's batches) + request x batches sums of curves,
 * each linear in their points. Memory: layers x batches + request curves.
 */
#include "plan/curve.h"
#include "plan/line.h"
#include "plan/planner.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct monotone {
    const struct vbs_task *task;
    struct vbs_chain line;
    struct vbs_curve *opt;    /* OPT[i, B] at i * n_batches + index of B; cut: b */
    struct vbs_curve *chunks; /* [n_batches] OPT of the last layer, within the latency */
    struct vbs_curve *rest;   /* [request + 1]; cut: the next chunk */
    struct vbs_curve answers; /* bytes only: REST of the request, but what gains nothing */
    struct vbs_arena arena;
    size_t peak_bytes;
};

/* What is only needed while solving. */
struct work {
    struct vbs_ctx *ctx;
    struct monotone *dp;
    struct vbs_envelope envelope;
    struct vbs_arena scratch; /* of the layer at hand */
};

static struct vbs_curve *opt_at(const struct monotone *dp, int i, int batch_index)
{
    return &dp->opt[(size_t)i * (size_t)dp->task->n_batches + (size_t)batch_index];
}

/* What `samples` take at most while item i waits for the last of its batch. */
static int64_t waiting_bytes(const struct monotone *dp, int i, int samples)
{
    const int64_t *cut = dp->line.cut_bytes;

    return samples * (cut[i] > cut[0] ? cut[i] : cut[0]);
}

/* What the other samples of the request take while a chunk runs that leaves `to_come`. */
static int64_t outside_bytes(const struct monotone *dp, int chunk, int to_come)
{
    const int64_t *cut = dp->line.cut_bytes;

    return (dp->task->request - to_come - chunk) * cut[dp->line.n_items] + to_come * cut[0];
}

static enum vbs_status solve_rows(struct work *work, int i, int batch_index, struct vbs_curve *rows)
{
    const struct vbs_task *task = work->dp->task;
    const struct vbs_item *item = &work->dp->line.items[i];
    int batch = task->profile->batches[batch_index], n_rows;
    const struct vbs_profile_row *row =
        vbs_profile_rows(task->profile, item->layer, batch_index, &n_rows);

    vbs_envelope_reset(&work->envelope);
    for (int a = 0; a < n_rows; a++) {
        enum vbs_status status = vbs_envelope_offer(work->ctx, &work->envelope,
                                                    batch * item->step_bytes + row[a].ws_bytes,
                                                    vbs_task_ticks(task, row[a].time_us), 0);

        if (status != VBS_OK)
            return status;
    }
    return vbs_envelope_curve(work->ctx, &work->envelope, &work->scratch, rows);
}

/* A view of *curve with its times repeated. */
static enum vbs_status repeat(struct work *work, const struct vbs_curve *curve, int times,
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
static enum vbs_status offer_divisors(struct work *work, int i, int batch_index,
                                      const struct vbs_curve *rows)
{
    const struct monotone *dp = work->dp;
    const int *batches = dp->task->profile->batches;
    int batch = batches[batch_index];

    for (int d = batch_index; d >= 0; d--) {
        struct vbs_curve before;
        enum vbs_status status;

        if (batch % batches[d] != 0)
            continue;
        status = repeat(work, opt_at(dp, i - 1, d), batch / batches[d], &before);
        if (status == VBS_OK)
            status = vbs_envelope_offer_sum(
                work->ctx, &work->envelope,
                (struct vbs_moved){&before, waiting_bytes(dp, i, batch - batches[d])},
                VBS_POINTS_ALL, (struct vbs_moved){.curve = rows}, batches[d]);
        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

/* Notes the memory in use, which only grows until the scratch is cleared. */
static void note_peak(struct work *work)
{
    const struct vbs_envelope *envelope = &work->envelope;
    size_t points = (size_t)envelope->best.capacity + (size_t)envelope->gains.capacity +
                    (size_t)envelope->merged.capacity;
    size_t bytes = sizeof *work->dp + work->dp->arena.total_bytes + work->scratch.total_bytes +
                   points * (2 * sizeof(int64_t) + sizeof(int32_t));

    if (bytes > work->dp->peak_bytes)
        work->dp->peak_bytes = bytes;
}

static enum vbs_status solve_layer(struct work *work, int i)
{
    struct monotone *dp = work->dp;
    enum vbs_status status = VBS_OK;

    for (int index = 0; status == VBS_OK && index < dp->task->n_batches; index++) {
        struct vbs_curve rows;

        if (vbs_cancelled(work->ctx))
            return vbs_fail(work->ctx, VBS_INTERRUPTED, "interrupted");
        status = solve_rows(work, i, index, &rows);
        if (status == VBS_OK && i > 0) {
            vbs_envelope_reset(&work->envelope);
            status = offer_divisors(work, i, index, &rows);
        }
        if (status == VBS_OK)
            status =
                vbs_envelope_curve(work->ctx, &work->envelope, &dp->arena, opt_at(dp, i, index));
    }
    note_peak(work);
    vbs_arena_clear(&work->scratch);
    return status;
}

/* A view of what is no longer than limit: times fall along a curve. */
static struct vbs_curve within(const struct vbs_curve *curve, int64_t limit_ticks)
{
    int late = 0;

    while (late < curve->n && curve->ticks[late] > limit_ticks)
        late++;
    if (late == 0)
        return *curve; /* without points there is nothing to move along */
    return (struct vbs_curve){.n = curve->n - late,
                              .bytes = curve->bytes + late,
                              .ticks = curve->ticks + late,
                              .cut = curve->cut + late};
}

static enum vbs_status solve_rest(struct work *work, int left)
{
    struct monotone *dp = work->dp;
    const int *batches = dp->task->profile->batches;

    vbs_envelope_reset(&work->envelope);
    for (int index = dp->task->n_batches - 1; index >= 0; index--) {
        int chunk = batches[index];
        enum vbs_status status;

        if (chunk > left)
            continue;
        status = vbs_envelope_offer_sum(
            work->ctx, &work->envelope,
            (struct vbs_moved){&dp->chunks[index], outside_bytes(dp, chunk, left - chunk)},
            VBS_POINTS_ALL, (struct vbs_moved){.curve = &dp->rest[left - chunk]}, chunk);
        if (status != VBS_OK)
            return status;
    }
    return vbs_envelope_curve(work->ctx, &work->envelope, &dp->arena, &dp->rest[left]);
}

static enum vbs_status solve(struct work *work)
{
    struct monotone *dp = work->dp;
    const struct vbs_task *task = dp->task;
    int last = dp->line.n_items - 1;
    int64_t chunk_ticks = task->problem.io == VBS_IO_EXTERNAL ? task->latency_ticks : INT64_MAX;
    enum vbs_status status = VBS_OK;

    for (int i = 0; status == VBS_OK && i <= last; i++)
        status = solve_layer(work, i);
    for (int index = 0; status == VBS_OK && index < task->n_batches; index++)
        dp->chunks[index] = within(opt_at(dp, last, index), chunk_ticks);
    dp->rest[0] = VBS_CURVE_ZERO;
    for (int left = 1; status == VBS_OK && left <= task->request; left++) {
        if (vbs_cancelled(work->ctx))
            return vbs_fail(work->ctx, VBS_INTERRUPTED, "interrupted");
        status = solve_rest(work, left);
    }
    note_peak(work);
    return status;
}

/* One chunk at some memory, layer by layer of the line. */
struct emission {
    struct vbs_ctx *ctx;
    const struct monotone *dp;
    struct vbs_step_list *steps;
    int *batches;    /* [n_items] */
    int *algorithms; /* [n_items] */
    int *progress;   /* [n_items] samples of the chunk that are done */
};

/* Batch and algorithm of every layer, from the last to the first. */
static void choose_steps(struct emission *to, int chunk, int64_t bytes)
{
    const struct monotone *dp = to->dp;
    int batch = chunk;

    for (int i = dp->line.n_items - 1; i >= 0; i--) {
        const struct vbs_item *item = &dp->line.items[i];
        const struct vbs_curve *curve = opt_at(dp, i, dp->task->batch_index[batch]);
        int at = vbs_curve_at(curve, bytes), before = curve->cut[at];

        to->batches[i] = batch;
        to->algorithms[i] =
            vbs_task_row(dp->task, item->layer, batch, batch * item->step_bytes, curve->bytes[at])
                ->algorithm;
        bytes = curve->bytes[at] - waiting_bytes(dp, i, batch - before);
        batch = before;
    }
}

static enum vbs_status emit_step(struct emission *to, int i)
{
    to->progress[i] += to->batches[i];
    return vbs_step_list_add(to->ctx, to->steps, to->dp->line.items[i].layer, to->batches[i],
                             to->algorithms[i]);
}

/* Runs the first layer again and again, and behind it each layer whose batch has come together. */
static enum vbs_status emit_chunk(struct emission *to, int chunk, int64_t bytes)
{
    int n = to->dp->line.n_items;

    choose_steps(to, chunk, bytes);
    memset(to->progress, 0, (size_t)n * sizeof *to->progress);
    while (to->progress[n - 1] < chunk) {
        enum vbs_status status = vbs_cancelled(to->ctx)
                                     ? vbs_fail(to->ctx, VBS_INTERRUPTED, "interrupted")
                                     : emit_step(to, 0);

        for (int i = 1;
             status == VBS_OK && i < n && to->progress[i - 1] - to->progress[i] == to->batches[i];
             i++)
            status = emit_step(to, i);
        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

/* The steps at a point of REST of the whole request. */
static enum vbs_status emit_request(struct vbs_ctx *ctx, const struct monotone *dp, int64_t bytes,
                                    struct vbs_step_list *steps)
{
    size_t n = (size_t)dp->line.n_items;
    int *numbers = calloc(3 * n, sizeof *numbers);
    struct emission to = {.ctx = ctx, .dp = dp, .steps = steps, .batches = numbers};
    enum vbs_status status = VBS_OK;
    int chunk;

    if (!numbers)
        return vbs_no_memory(ctx);
    to.algorithms = numbers + n;
    to.progress = numbers + 2 * n;
    for (int left = dp->task->request; status == VBS_OK && left > 0; left -= chunk) {
        const struct vbs_curve *curve = &dp->rest[left];
        int at = vbs_curve_at(curve, bytes);

        chunk = curve->cut[at];
        bytes = curve->bytes[at];
        status = emit_chunk(&to, chunk, bytes - outside_bytes(dp, chunk, left - chunk));
    }
    free(numbers);
    return status;
}

/*
 * Ticks tell times apart that, added up as people see them, are equal or even the other way round
 * by the last bit. Keeps the points at which the reported time falls, so that a larger budget never
 * plans slower.
 */
static enum vbs_status keep_gains(struct work *work)
{
    struct monotone *dp = work->dp;
    const struct vbs_task *task = dp->task;
    struct vbs_curve all = within(&dp->rest[task->request], task->latency_ticks);
    int64_t *kept = vbs_arena_alloc(&dp->arena, (size_t)all.n, sizeof *kept);
    double least_us = HUGE_VAL;
    int n = 0;

    if (!kept)
        return vbs_no_memory(work->ctx);
    for (int p = 0; p < all.n; p++) {
        struct vbs_step_list steps = {0};
        enum vbs_status status = emit_request(work->ctx, dp, all.bytes[p], &steps);
        double time_us = status == VBS_OK ? vbs_step_list_us(task, &steps) : 0;

        vbs_step_list_clear(&steps);
        if (status != VBS_OK)
            return status;
        if (time_us >= least_us * (1 - VBS_TIME_NOISE))
            continue;
        least_us = time_us;
        kept[n++] = all.bytes[p];
    }
    dp->answers = (struct vbs_curve){.n = n, .bytes = kept};
    return VBS_OK;
}

static void monotone_close(void *self)
{
    struct monotone *dp = self;

    if (!dp)
        return;
    vbs_arena_clear(&dp->arena);
    free(dp);
}

/* The line and room for the curves. */
static enum vbs_status prepare(struct vbs_ctx *ctx, struct monotone *dp)
{
    const struct vbs_task *task = dp->task;
    size_t n = (size_t)task->n_layers, n_batches = (size_t)task->n_batches;
    int *order = vbs_arena_alloc(&dp->arena, n, sizeof *order);

    dp->opt = vbs_arena_alloc(&dp->arena, n * n_batches, sizeof *dp->opt);
    dp->chunks = vbs_arena_alloc(&dp->arena, n_batches, sizeof *dp->chunks);
    dp->rest = vbs_arena_alloc(&dp->arena, (size_t)task->request + 1, sizeof *dp->rest);
    if (!order || !dp->opt || !dp->chunks || !dp->rest)
        return vbs_no_memory(ctx);
    vbs_line_order_of_ids(task, order);
    return vbs_line_build(ctx, task, &dp->arena, order, &dp->line);
}

static enum vbs_status monotone_open(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    struct monotone *dp = calloc(1, sizeof *dp);
    struct work work = {.ctx = ctx, .dp = dp};
    enum vbs_status status;

    if (!dp)
        return vbs_no_memory(ctx);
    dp->task = task;
    status = prepare(ctx, dp);
    if (status == VBS_OK)
        status = solve(&work);
    if (status == VBS_OK)
        status = keep_gains(&work);
    note_peak(&work);
    vbs_envelope_clear(&work.envelope);
    vbs_arena_clear(&work.scratch);
    if (status != VBS_OK) {
        monotone_close(dp);
        return status;
    }
    *self = dp;
    return VBS_OK;
}

static enum vbs_status monotone_plan(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                                     struct vbs_draft *draft)
{
    const struct monotone *dp = self;
    int at = vbs_curve_at(&dp->answers, memory_bytes);

    if (at < 0)
        return VBS_INFEASIBLE;
    draft->reserved_bytes = dp->answers.bytes[at];
    return emit_request(ctx, dp, draft->reserved_bytes, &draft->steps);
}

static int64_t monotone_least_bytes(const void *self)
{
    const struct vbs_curve *answers = &((const struct monotone *)self)->answers;

    return answers->n > 0 ? answers->bytes[0] : INT64_MAX;
}

static size_t monotone_peak_bytes(const void *self)
{
    return ((const struct monotone *)self)->peak_bytes;
}

static enum vbs_status monotone_thresholds(struct vbs_ctx *ctx, const void *self, int64_t **bytes,
                                           int *n)
{
    const struct vbs_curve *answers = &((const struct monotone *)self)->answers;

    *bytes = calloc((size_t)answers->n + 1, sizeof **bytes); /* also where nothing is in time */
    if (!*bytes)
        return vbs_no_memory(ctx);
    for (int p = 0; p < answers->n; p++)
        (*bytes)[p] = answers->bytes[p];
    *n = answers->n;
    return VBS_OK;
}

const struct vbs_planner vbs_planner_dp_monotone = {
    .name = "dp-monotone",
    .summary = "batches that grow along the network, each a divisor of the next (COMP V-D)",
    .open = monotone_open,
    .plan = monotone_plan,
    .least_bytes = monotone_least_bytes,
    .thresholds = monotone_thresholds,
    .peak_bytes = monotone_peak_bytes,
    .close = monotone_close,
};
