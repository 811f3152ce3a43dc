/*
 * patch, patch-2d, fusion, fusion-2d: layers in tiles, each of which computes its borders
 * again.
 *
 * A network is a path of segments in the order of its layers, for one sample after another: single
 * layers on whole samples, and segments of layers in tiles. All of them have the same memory, so
 * that the time within M bytes is a shortest path:
 *
 *   T[j](M) = min over segments i..j of T[i-1](M) + S[i, j](M)
 *
 * kept as exact step functions of M. patch allows one segment in tiles, at the beginning, as
 * MCUNetV2 does; fusion any, as msf-CNN does. O(layers^2 x tiles x layers of a segment).
 */
#include "plan/recompute/recompute.h"
#include "plan/recompute/tiles.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

/* What distinguishes the planners. */
struct recompute_rule {
    enum tile_shape shape;
    bool anywhere; /* segments begin anywhere, and may end with a layer that accumulates */
};

struct recompute {
    const struct vbs_task *task;
    struct recompute_rule rule;
    struct row_costs *costs;          /* [0..n] */
    int64_t *before_bytes;            /* [0..n] of one sample, live before a layer */
    int64_t *whole_bytes;             /* [0..n] of its step on a whole sample, without workspace */
    int64_t others_bytes;             /* the most of other samples, with resident io */
    struct estimate_curve **segments; /* [0..n][0..to] by last layer and first layer */
    struct estimate_curve *paths;     /* [0..n] from layer 1 to each layer */
    struct vbs_arena arena;
};

static void recompute_close(void *self)
{
    struct recompute *work = self;

    if (!work)
        return;
    for (int to = 0; to <= work->task->n_layers; to++) {
        for (int from = 0; work->segments && work->segments[to] && from <= to; from++)
            free(work->segments[to][from].points);
        if (work->paths)
            free(work->paths[to].points);
    }
    vbs_arena_clear(&work->arena);
    free(work);
}

/* Finds the bytes of whole samples by walking one sample through the layers. With resident io the
 * inputs of the other samples wait inside, or their outputs do. */
static enum vbs_status find_bytes(struct vbs_ctx *ctx, struct recompute *work)
{
    const struct vbs_task *task = work->task;
    int64_t waiting = 0, finished = 0;
    struct vbs_walk walk;

    VBS_TRY(vbs_walk_init(ctx, &walk, task));
    if (vbs_task_kept(task, 0))
        waiting = (int64_t)(task->request - 1) * vbs_task_bytes(task, 0);
    for (int k = 1; k <= task->n_layers; k++) {
        work->before_bytes[k] = walk.live_bytes - waiting;
        work->whole_bytes[k] = vbs_walk_step(&walk, k, 1) - waiting;
        if (task->last_reader[k] == 0 && vbs_task_kept(task, k))
            finished += (int64_t)(task->request - 1) * vbs_task_bytes(task, k);
    }
    vbs_walk_clear(&walk);
    work->others_bytes = waiting > finished ? waiting : finished;
    return VBS_OK;
}

static enum vbs_status prepare(struct vbs_ctx *ctx, struct recompute *work)
{
    size_t size = (size_t)work->task->n_layers + 1;
    struct vbs_arena *arena = &work->arena;

    work->costs = vbs_arena_alloc(arena, size, sizeof *work->costs);
    work->before_bytes = vbs_arena_alloc(arena, size, sizeof *work->before_bytes);
    work->whole_bytes = vbs_arena_alloc(arena, size, sizeof *work->whole_bytes);
    work->segments = vbs_arena_alloc(arena, size, sizeof(struct estimate_curve *));
    work->paths = vbs_arena_alloc(arena, size, sizeof *work->paths);
    if (!work->costs || !work->before_bytes || !work->whole_bytes || !work->segments ||
        !work->paths)
        return vbs_no_memory(ctx);
    for (int k = 1; k < (int)size; k++) {
        VBS_TRY(vbs_row_costs_find(ctx, work->task, k, arena, &work->costs[k]));
        work->segments[k] = vbs_arena_alloc(arena, (size_t)k + 1, sizeof **work->segments);
        if (!work->segments[k])
            return vbs_no_memory(ctx);
    }
    return find_bytes(ctx, work);
}

/* Offers the segment from..to in all numbers of tiles above one. Of heights that lead to the same
 * number the least is tried. */
static enum vbs_status offer_segment(struct vbs_ctx *ctx, struct recompute *work,
                                     struct tiling *tiling, int from, int to)
{
    const struct vbs_task *task = work->task;
    int all = task->profile->layers[to].rows;
    bool accumulates = work->rule.anywhere && vbs_tiling_accumulates(task, to);

    for (int rows = 1; rows < all; rows++) {
        int n = (all + rows - 1) / rows;

        if (rows != (all + n - 1) / n)
            continue;
        VBS_TRY(vbs_tiling_offer(ctx, tiling, from, to, rows, 0, &work->segments[to][from]));
        if (accumulates)
            VBS_TRY(
                vbs_tiling_offer(ctx, tiling, from, to, rows, 1, &work->segments[to + 1][from]));
    }
    return VBS_OK;
}

static enum vbs_status find_segments(struct vbs_ctx *ctx, struct recompute *work,
                                     struct tiling *tiling)
{
    const struct vbs_task *task = work->task;

    for (int from = 1; from <= task->n_layers; from++) {
        int last = from == 1 || work->rule.anywhere ? vbs_tiling_reach(task, from) : 0;

        VBS_TRY(vbs_tiling_offer_whole(ctx, tiling, from, work->whole_bytes[from],
                                       &work->segments[from][from]));
        for (int to = from; to <= last; to++)
            if (vbs_tiling_is_segment(task, from, to))
                VBS_TRY(offer_segment(ctx, work, tiling, from, to));
    }
    return VBS_OK;
}

static enum vbs_status find_paths(struct vbs_ctx *ctx, struct recompute *work)
{
    VBS_TRY(vbs_estimate_offer(ctx, &work->paths[0], &(struct estimate_point){0}));
    for (int to = 1; to <= work->task->n_layers; to++) {
        VBS_TRY(vbs_check_cancel(ctx));
        for (int from = 1; from <= to; from++) {
            vbs_estimate_settle(&work->segments[to][from]);
            VBS_TRY(vbs_estimate_offer_sums(ctx, &work->paths[to], &work->paths[from - 1], from - 1,
                                            &work->segments[to][from]));
        }
        vbs_estimate_settle(&work->paths[to]);
    }
    return VBS_OK;
}

static enum vbs_status recompute_open(struct vbs_ctx *ctx, const struct vbs_task *task,
                                      struct recompute_rule rule, void **self)
{
    struct recompute *work = calloc(1, sizeof *work);
    struct tiling tiling = {0};
    enum vbs_status status;

    if (!work)
        return vbs_no_memory(ctx);
    *work = (struct recompute){.task = task, .rule = rule};
    status = prepare(ctx, work);
    if (status == VBS_OK)
        status = vbs_tiling_init(ctx, &tiling, task, work->costs, work->before_bytes, rule.shape);
    if (status == VBS_OK)
        status = find_segments(ctx, work, &tiling);
    if (status == VBS_OK)
        status = find_paths(ctx, work);
    vbs_tiling_clear(&tiling);
    if (status != VBS_OK) {
        recompute_close(work);
        return status;
    }
    *self = work;
    return VBS_OK;
}

/* ---- plans ---- */

/* Gives the time of the longest chunk: of a sample, or of the request where io is resident. */
static double latency_us(const struct vbs_task *task, double sample_us)
{
    return task->problem.io == VBS_IO_RESIDENT ? task->request * sample_us : sample_us;
}

static bool is_in_time(const struct vbs_task *task, double sample_us)
{
    double bound_us = task->problem.latency_us;

    return bound_us == 0 || latency_us(task, sample_us) <= bound_us * (1 + VBS_TIME_NOISE);
}

/* Gives the point for a budget, or null. */
static const struct estimate_point *find_point(const struct recompute *work, int64_t memory_bytes)
{
    const struct estimate_point *point =
        vbs_estimate_at(&work->paths[work->task->n_layers], memory_bytes - work->others_bytes);

    return point && is_in_time(work->task, point->us) ? point : NULL;
}

static enum vbs_status recompute_plan(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                                      struct vbs_draft *draft)
{
    const struct recompute *work = self;
    const struct estimate_point *point = find_point(work, memory_bytes);

    (void)ctx;
    if (!point)
        return VBS_INFEASIBLE;
    draft->judged = true;
    draft->reserved_bytes = point->bytes + work->others_bytes;
    draft->timeline = (struct vbs_timeline){.peak_bytes = draft->reserved_bytes,
                                            .time_us = work->task->request * point->us,
                                            .latency_us = latency_us(work->task, point->us)};
    return VBS_OK;
}

/* Adds a segment before those that *parts has: a layer on whole samples to a part of such layers.
 */
static void add_part(const struct recompute *work, const struct estimate_point *point, int last,
                     double sample_us, struct vbs_estimate_part *parts, int *n)
{
    const struct vbs_profile_layer *layers = work->task->profile->layers;
    struct vbs_estimate_part *next = *n > 0 ? &parts[*n - 1] : NULL;

    if (next && next->tile_rows == 0 && point->tiles == 0) {
        next->first_layer = point->from + 1;
        next->sample_us += sample_us;
        return;
    }
    parts[(*n)++] = (struct vbs_estimate_part){
        .first_layer = point->from + 1,
        .last_layer = last,
        .tile_rows = point->tiles,
        .n_tiles = point->tiles > 0
                       ? (layers[last - point->tail].rows + point->tiles - 1) / point->tiles
                       : 0,
        .is_square = point->tiles > 0 && work->rule.shape == TILE_SQUARE,
        .accumulates = point->tail == 1,
        .sample_us = sample_us};
}

static enum vbs_status recompute_estimate(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                                          struct vbs_estimate **estimate)
{
    const struct recompute *work = self;
    const struct estimate_point *point = find_point(work, memory_bytes);
    struct vbs_estimate_part *parts;
    struct vbs_estimate *made;
    int n = 0;

    if (!point)
        return VBS_INFEASIBLE;
    made = calloc(1, sizeof *made);
    parts = calloc((size_t)work->task->n_layers, sizeof *parts);
    if (!made || !parts) {
        free(made);
        free(parts);
        return vbs_no_memory(ctx);
    }
    made->peak_bytes = point->bytes + work->others_bytes;
    made->time_us = work->task->request * point->us;
    made->latency_us = latency_us(work->task, point->us);
    for (int last = work->task->n_layers; last > 0; last = point->from) {
        const struct estimate_point *before;

        point = vbs_estimate_at(&work->paths[last], made->peak_bytes - work->others_bytes);
        before = vbs_estimate_at(&work->paths[point->from], made->peak_bytes - work->others_bytes);
        add_part(work, point, last, point->us - before->us, parts, &n);
    }
    made->n_parts = n;
    made->parts = parts;
    for (int i = 0; i < n / 2; i++) {
        struct vbs_estimate_part part = parts[i];

        parts[i] = parts[n - 1 - i];
        parts[n - 1 - i] = part;
    }
    *estimate = made;
    return VBS_OK;
}

static int64_t recompute_least_bytes(const void *self)
{
    const struct recompute *work = self;
    const struct estimate_curve *curve = &work->paths[work->task->n_layers];

    for (int64_t i = 0; i < curve->n; i++)
        if (is_in_time(work->task, curve->points[i].us))
            return curve->points[i].bytes + work->others_bytes;
    return INT64_MAX;
}

static size_t recompute_peak_bytes(const void *self)
{
    const struct recompute *work = self;
    size_t bytes = sizeof *work + work->arena.total_bytes;

    for (int to = 0; to <= work->task->n_layers; to++) {
        bytes += (size_t)work->paths[to].capacity * sizeof(struct estimate_point);
        for (int from = 1; from <= to; from++)
            bytes += (size_t)work->segments[to][from].capacity * sizeof(struct estimate_point);
    }
    return bytes;
}

static enum vbs_status recompute_thresholds(struct vbs_ctx *ctx, const void *self, int64_t **bytes,
                                            int *n)
{
    const struct recompute *work = self;
    const struct estimate_curve *curve = &work->paths[work->task->n_layers];
    int64_t *made = malloc(((size_t)curve->n + 1) * sizeof *made);

    if (!made)
        return vbs_no_memory(ctx);
    for (int64_t i = 0; i < curve->n; i++)
        made[i] = curve->points[i].bytes + work->others_bytes;
    *bytes = made;
    *n = (int)curve->n;
    return VBS_OK;
}

/* ---- planners ---- */

#define RECOMPUTE_FUNCTIONS                                                                        \
    .baseline = true, .estimates = true, .plan = recompute_plan, .estimate = recompute_estimate,   \
    .least_bytes = recompute_least_bytes, .peak_bytes = recompute_peak_bytes,                      \
    .thresholds = recompute_thresholds, .close = recompute_close

static enum vbs_status open_patch(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    return recompute_open(ctx, task, (struct recompute_rule){TILE_ROWS, false}, self);
}

static enum vbs_status open_patch_2d(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    return recompute_open(ctx, task, (struct recompute_rule){TILE_SQUARE, false}, self);
}

static enum vbs_status open_fusion(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    return recompute_open(ctx, task, (struct recompute_rule){TILE_ROWS, true}, self);
}

static enum vbs_status open_fusion_2d(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    return recompute_open(ctx, task, (struct recompute_rule){TILE_SWEPT, true}, self);
}

const struct vbs_planner vbs_planner_patch = {
    .name = "patch",
    .summary = "estimate: first layers in patches of rows, borders computed again",
    .source = "MCUNetV2",
    .cost = "layers^2 x patches",
    .open = open_patch,
    RECOMPUTE_FUNCTIONS,
};

const struct vbs_planner vbs_planner_patch_2d = {
    .name = "patch-2d",
    .summary = "estimate: patch in n x n patches, columns taken to be like rows",
    .source = "MCUNetV2",
    .cost = "layers^2 x patches",
    .open = open_patch_2d,
    RECOMPUTE_FUNCTIONS,
};

const struct vbs_planner vbs_planner_fusion = {
    .name = "fusion",
    .summary = "estimate: the best segments in tiles of rows, borders computed again",
    .source = "msf-CNN",
    .cost = "layers^3 x tiles",
    .open = open_fusion,
    RECOMPUTE_FUNCTIONS,
};

const struct vbs_planner vbs_planner_fusion_2d = {
    .name = "fusion-2d",
    .summary = "estimate: fusion in tiles whose columns are kept (H-cache)",
    .source = "msf-CNN",
    .cost = "layers^3 x tiles, and layers^3 x columns",
    .open = open_fusion_2d,
    RECOMPUTE_FUNCTIONS,
};
