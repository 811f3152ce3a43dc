/*
 * mmcnn: Algorithm 1 of MMCNN in a form that can be executed. The request runs sample by sample
 * (batch 1). A segment is the layers after one weighted layer up to and including the next; within
 * the limit L, the bytes free beside its largest step decide how the w bytes of weights of its last
 * layer are loaded:
 *
 *   w / free <= 5   in cn = ceil(w / free) slices, the first of them from the head of the segment
 * on otherwise       in k = ceil(w / (L - step)) slices, none before the layer itself
 *
 * The tables of the paper (mmcnn.h) divide bytes. Here slices are whole output channels, and their
 * number is the least of which the largest slice fits. The input and the output of a slice stay in
 * memory, because weights alone leave the budget. A slice is evicted when it is done, and where
 * memory allows, the next one is loaded while it is computed.
 *
 * The plan changes with L wherever a number of slices does. The planner tries these limits one by
 * one (all of them up to 8 slices, then in steps of a quarter), and a grid between them. A budget
 * gets the best of all plans that need no more. Where all samples of the request are alike, limits
 * are compared on three of them. O(limits x steps of those samples + plans kept x steps).
 */
#include "plan/weights/weights.h"
#include "plan/weights/trial.h"

#include "base/fail.h"

#include <stdlib.h>

#define MOST_PREFETCHED_SLICES 5
#define FEW_SAMPLES            3

struct mmcnn {
    struct vbs_ctx *ctx;
    const struct vbs_task *task;
    const struct vbs_task *tried;  /* the task, or one with fewer samples that stands for it */
    struct vbs_pareto_set *pareto; /* to which the schedules of tried are offered */
    struct vbs_arena arena;
    struct vbs_slicing slicing;
    int64_t *base_bytes; /* [0..n] of a step at batch 1 without workspace and weights */
    const struct vbs_profile_row **row; /* [0..n] for the current limit */
    bool *prefetched;                   /* [0..n] for the current limit: the first slice is
                                           loaded from the head on */
};

/* Applies the rule to the segment head..layer, whose last layer has weights. False: the limit is
 * too small. */
static bool plan_segment(struct mmcnn *mmcnn, int head, int layer, int64_t limit_bytes)
{
    const struct vbs_profile_row *row = mmcnn->row[layer];
    const struct vbs_profile_layer *l = &mmcnn->task->profile->layers[layer];
    int64_t largest = 0, free_bytes, fifth_bytes;
    int n_slices = 0;

    for (int k = head; k <= layer; k++) {
        int64_t bytes = mmcnn->base_bytes[k] + mmcnn->row[k]->ws_bytes;

        largest = bytes > largest ? bytes : largest;
    }
    free_bytes = limit_bytes - largest;
    fifth_bytes = row->weight_bytes / MOST_PREFETCHED_SLICES +
                  (row->weight_bytes % MOST_PREFETCHED_SLICES != 0);
    mmcnn->prefetched[layer] = free_bytes > 0 && fifth_bytes <= free_bytes;
    if (mmcnn->prefetched[layer])
        n_slices = vbs_row_slices_within(l, row, free_bytes);
    if (n_slices == 0) { /* whole channels may not fit where the same number of bytes would */
        mmcnn->prefetched[layer] = false;
        n_slices =
            vbs_row_slices_within(l, row, limit_bytes - mmcnn->base_bytes[layer] - row->ws_bytes);
    }
    *vbs_slicing_at(&mmcnn->slicing, layer, row->format) = n_slices;
    return n_slices > 0;
}

static bool plan_limit(struct mmcnn *mmcnn, int64_t limit_bytes)
{
    const struct vbs_task *task = mmcnn->task;
    int head = 1;

    for (int k = 1; k <= task->n_layers; k++) {
        mmcnn->row[k] = vbs_trial_row(task, k, 1, mmcnn->base_bytes[k], limit_bytes, true);
        if (!mmcnn->row[k])
            return false;
        if (mmcnn->row[k]->weight_bytes == 0)
            continue;
        if (!plan_segment(mmcnn, head, k, limit_bytes))
            return false;
        head = k + 1;
    }
    return true;
}

/* Fills earliest[v]: the segment's head for the first slice of a layer that is prefetched, else the
 * layer's own first step. */
static void find_earliest(const struct mmcnn *mmcnn, const struct vbs_stream *stream, int *earliest)
{
    int head = 0, own = 0, layer = 0;

    for (int v = 0; v < stream->n_visits; v++) {
        const struct vbs_visit *visit = &stream->visits[v];
        const struct vbs_weight_block *block = &stream->blocks[visit->block];

        if (block->slice == 1) {
            head = layer ? stream->visits[v - 1].slot + 1 : 0;
            own = visit->slot;
            layer = block->layer;
        }
        earliest[v] = block->slice == 1 && mmcnn->prefetched[layer] ? head : own;
    }
}

static enum vbs_status try_stream(struct mmcnn *mmcnn, const struct vbs_stream *stream,
                                  int64_t limit_bytes)
{
    int *earliest = malloc(((size_t)stream->n_visits + 1) * sizeof *earliest);
    struct vbs_stream_rule rule = {.earliest = earliest};
    enum vbs_status status;

    if (!earliest)
        return vbs_no_memory(mmcnn->ctx);
    find_earliest(mmcnn, stream, earliest);
    status = vbs_trial_stream(mmcnn->ctx, stream, &rule, limit_bytes, mmcnn->pareto);
    free(earliest);
    return status;
}

static enum vbs_status try_limit(struct mmcnn *mmcnn, int64_t limit_bytes)
{
    const struct vbs_task *task = mmcnn->tried;
    struct vbs_step_list steps = {0};
    struct vbs_stream stream;
    enum vbs_status status = VBS_OK;

    if (!plan_limit(mmcnn, limit_bytes))
        return VBS_OK;
    for (int s = 0; s < task->request; s++)
        for (int k = 1; status == VBS_OK && k <= task->n_layers; k++)
            status = vbs_step_list_add(mmcnn->ctx, &steps, k, 1, mmcnn->row[k]->algorithm);
    if (status == VBS_OK) {
        status = vbs_stream_init(mmcnn->ctx, task, steps.steps, steps.n_steps, &mmcnn->slicing,
                                 &(struct vbs_stream_order){0}, &stream);
        if (status == VBS_OK) {
            if (task != mmcnn->task)
                vbs_stream_repeat(&stream, 1, mmcnn->task->request - task->request);
            status = try_stream(mmcnn, &stream, limit_bytes);
            vbs_stream_clear(&stream);
        }
    }
    vbs_step_list_clear(&steps);
    return status;
}

/* Adds the limits at which a row of layer fits in fewer slices, beside its own step or beside the
 * largest step of its segment, segment_bytes. */
static enum vbs_status add_limits(struct mmcnn *mmcnn, int layer, int64_t segment_bytes,
                                  const struct vbs_profile_row *row, struct vbs_budget_list *limits)
{
    const struct vbs_profile_layer *l = &mmcnn->task->profile->layers[layer];
    int most = vbs_row_most_slices(l, row);
    int64_t own = mmcnn->base_bytes[layer] + row->ws_bytes;
    enum vbs_status status = VBS_OK;

    for (int n_slices = 1, next; status == VBS_OK; n_slices = next) {
        int64_t bytes = vbs_slice_largest(l, row->weight_bytes, n_slices);

        status = vbs_budget_list_add(mmcnn->ctx, limits, own + bytes);
        if (status == VBS_OK)
            status = vbs_budget_list_add(mmcnn->ctx, limits,
                                         (segment_bytes > own ? segment_bytes : own) + bytes);
        if (n_slices == most)
            break;
        next = n_slices + (n_slices < 8 ? 1 : n_slices / 4);
        next = row->n_slices == 0 && next < most ? next : most;
    }
    return status;
}

static enum vbs_status find_limits(struct mmcnn *mmcnn, struct vbs_budget_list *limits)
{
    const struct vbs_task *task = mmcnn->task;
    int64_t segment_bytes = 0;
    enum vbs_status status = VBS_OK;

    for (int k = 1; status == VBS_OK && k <= task->n_layers; k++) {
        int n_rows;
        const struct vbs_profile_row *rows = vbs_profile_rows(task->profile, k, 0, &n_rows);
        bool weighted = false;

        for (int a = 0; status == VBS_OK && a < n_rows; a++) {
            int64_t bytes = mmcnn->base_bytes[k] + rows[a].ws_bytes;

            if (a == 0 && bytes > segment_bytes)
                segment_bytes = bytes;
            status = vbs_budget_list_add(mmcnn->ctx, limits, bytes);
            if (status == VBS_OK && rows[a].weight_bytes > 0)
                status = add_limits(mmcnn, k, segment_bytes, &rows[a], limits);
            weighted = weighted || rows[a].weight_bytes > 0;
        }
        if (weighted)
            segment_bytes = 0;
    }
    vbs_budget_list_sort(limits);
    if (status == VBS_OK && limits->n > 0)
        status = vbs_budget_list_add_grid(mmcnn->ctx, limits, limits->bytes[0],
                                          limits->bytes[limits->n - 1]);
    vbs_budget_list_sort(limits);
    return status;
}

/* Computes the bytes of each step at batch 1; with resident io, the most over the request. */
static enum vbs_status find_bases(struct mmcnn *mmcnn)
{
    const struct vbs_task *task = mmcnn->task;
    struct vbs_walk walk;

    VBS_TRY(vbs_walk_init(mmcnn->ctx, &walk, task));
    for (int s = 0; s < task->request; s++)
        for (int k = 1; k <= task->n_layers; k++) {
            int64_t bytes = vbs_walk_step(&walk, k, 1);

            if (bytes > mmcnn->base_bytes[k])
                mmcnn->base_bytes[k] = bytes;
        }
    vbs_walk_clear(&walk);
    return VBS_OK;
}

/* Tries all limits, the largest first; at least one, also where time is over. */
static enum vbs_status try_limits(struct mmcnn *mmcnn, const struct vbs_budget_list *limits)
{
    int64_t most_bytes = mmcnn->task->options.most_bytes;

    for (int i = limits->n - 1; i >= 0; i--) {
        if (most_bytes > 0 && limits->bytes[i] > most_bytes)
            continue;
        mmcnn->pareto->tag = i;
        VBS_TRY(try_limit(mmcnn, limits->bytes[i]));
        if (vbs_task_is_late(mmcnn->task))
            break;
    }
    return VBS_OK;
}

/* Whether all samples but the first and the last are alike: the bytes beside them do not change,
 * and no step is shared by two of them. */
static bool has_equal_samples(const struct vbs_task *task)
{
    return task->request > FEW_SAMPLES && task->n_layers > 1 &&
           task->problem.io == VBS_IO_EXTERNAL && task->latency_ticks == INT64_MAX;
}

/* Tries all limits on few samples, and on the whole request the best ones alone. */
static enum vbs_status try_limits_on_few(struct mmcnn *mmcnn, const struct vbs_budget_list *limits)
{
    struct vbs_pareto_set *pareto = mmcnn->pareto, found = {.has_totals_only = true};
    struct vbs_problem problem = mmcnn->task->problem;
    struct vbs_task few;
    enum vbs_status status;

    problem.request = FEW_SAMPLES;
    VBS_TRY(vbs_task_init(mmcnn->ctx, &few, &problem));
    found.task = mmcnn->tried = &few;
    mmcnn->pareto = &found;
    status = try_limits(mmcnn, limits);
    mmcnn->tried = mmcnn->task;
    mmcnn->pareto = pareto;
    for (int i = found.n - 1, stride = vbs_trial_stride(mmcnn->task, found.n);
         status == VBS_OK && i >= 0; i--)
        if (vbs_pareto_is_kept(i, found.n, stride))
            status = try_limit(mmcnn, limits->bytes[found.list[i].tag]);
    vbs_pareto_clear(&found);
    vbs_task_clear(&few);
    return status;
}

static enum vbs_status try_all(struct mmcnn *mmcnn)
{
    size_t n = (size_t)mmcnn->task->n_layers + 1;
    struct vbs_budget_list limits = {0};
    enum vbs_status status =
        vbs_slicing_init(mmcnn->ctx, mmcnn->task, &mmcnn->arena, &mmcnn->slicing);

    mmcnn->base_bytes = vbs_arena_alloc(&mmcnn->arena, n, sizeof *mmcnn->base_bytes);
    mmcnn->row = vbs_arena_alloc(&mmcnn->arena, n, sizeof(void *));
    mmcnn->prefetched = vbs_arena_alloc(&mmcnn->arena, n, sizeof *mmcnn->prefetched);
    if (!mmcnn->base_bytes || !mmcnn->row || !mmcnn->prefetched)
        status = vbs_no_memory(mmcnn->ctx);
    if (status == VBS_OK)
        status = find_bases(mmcnn);
    if (status == VBS_OK)
        status = find_limits(mmcnn, &limits);
    if (status == VBS_OK)
        status = has_equal_samples(mmcnn->task) ? try_limits_on_few(mmcnn, &limits)
                                                : try_limits(mmcnn, &limits);
    vbs_budget_list_clear(&limits);
    return status;
}

static enum vbs_status mmcnn_open(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    struct vbs_pareto_set *pareto = calloc(1, sizeof *pareto);
    struct mmcnn mmcnn = {.ctx = ctx, .task = task, .tried = task, .pareto = pareto};
    enum vbs_status status;

    if (!pareto)
        return vbs_no_memory(ctx);
    pareto->task = task;
    status = try_all(&mmcnn);
    vbs_arena_clear(&mmcnn.arena);
    if (status != VBS_OK) {
        vbs_pareto_close(pareto);
        return status;
    }
    *self = pareto;
    return VBS_OK;
}

const struct vbs_planner vbs_planner_mmcnn = {
    .name = "mmcnn",
    .summary = "batch 1, weights in slices of whole channels, prefetched by segments",
    .source = "MMCNN 3.2",
    .cost = "numbers of slices x steps, once for all budgets",
    .baseline = true,
    .transfers = true,
    .open = mmcnn_open,
    .plan = vbs_pareto_plan_within,
    .least_bytes = vbs_pareto_least_bytes,
    .peak_bytes = vbs_pareto_peak_bytes,
    .thresholds = vbs_pareto_thresholds,
    .close = vbs_pareto_close,
};
