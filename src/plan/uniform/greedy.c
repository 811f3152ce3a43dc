/*
 * greedy-vbs: layer by layer over the whole request; each layer takes the largest batch that fits
 * beside all r inputs and outputs (VBS IV, second baseline).
 *
 * Reserved while layer k runs: r samples of every tensor that k or a later layer still
 * reads, r samples of k's own output, and the workspace. With external io the request's own inputs
 * and outputs count only the samples inside the step. The request is one chunk: where it takes
 * longer than the latency bound there is no plan. O(layers x batches x algorithms) a budget.
 */
#include "plan/uniform/uniform.h"
#include "plan/uniform/fixed.h"
#include "plan/problem/problem.h"

#include "base/fail.h"

#include <stdlib.h>

struct greedy {
    const struct vbs_task *task;
    struct vbs_fixed *candidates; /* [layer - 1][task->n_batches]: the chunks of the layer alone */
    int64_t least_bytes;
};

/* The bytes of layer k's step on batch samples, without the workspace. */
struct layer_bytes {
    int64_t whole;      /* for the whole request, whatever the batch */
    int64_t per_sample; /* per sample inside the step */
};

/* Gives the bytes per sample of the first input whose place the output of an in-place layer takes.
 * Places that exist only for the step (of an external input) cannot hold outputs that stay. */
static int64_t place_taken(const struct vbs_task *task, int layer)
{
    const struct vbs_profile_layer *l = &task->profile->layers[layer];
    int first = l->inputs[0];

    if (!l->in_place || task->last_reader[first] != layer ||
        (vbs_task_kept(task, layer) && !vbs_task_kept(task, first)))
        return 0;
    return vbs_task_bytes(task, first);
}

/* Computes the bytes of a layer's step. live_whole: r samples of all tensors that are kept before
 * the layer runs. */
static struct layer_bytes bytes_of(const struct vbs_task *task, int layer, int64_t live_whole)
{
    const struct vbs_profile_layer *l = &task->profile->layers[layer];
    struct layer_bytes bytes = {.whole = live_whole};
    int64_t added = vbs_task_added(l->out_bytes, place_taken(task, layer));

    if (vbs_task_kept(task, layer))
        bytes.whole += task->request * added;
    else
        bytes.per_sample += added;
    if (vbs_task_reads_input(task, layer) && !vbs_task_kept(task, 0))
        bytes.per_sample += vbs_task_bytes(task, 0);
    return bytes;
}

struct layer_chunks {
    const struct vbs_task *task;
    struct vbs_fixed *fixed;
    struct layer_bytes bytes;
    int layer;
};

static enum vbs_status add_chunk(struct vbs_ctx *ctx, void *self, int chunk)
{
    struct layer_chunks *at = self;

    return vbs_fixed_add(ctx, at->task, at->fixed, at->layer, chunk,
                         at->bytes.whole + chunk * at->bytes.per_sample);
}

/* Gives the bytes of r samples of the tensors that have no reader left once layer has run. */
static int64_t finished_bytes(const struct vbs_task *task, int layer)
{
    int64_t bytes = 0;

    for (int i = 0; i < task->n_inputs[layer]; i++) {
        int t = task->inputs[layer][i];

        if (task->last_reader[t] == layer && vbs_task_kept(task, t))
            bytes += task->request * vbs_task_bytes(task, t);
    }
    return bytes;
}

static enum vbs_status make_candidates(struct vbs_ctx *ctx, struct greedy *greedy)
{
    const struct vbs_task *task = greedy->task;
    int64_t live = vbs_task_kept(task, 0) ? task->request * vbs_task_bytes(task, 0) : 0;

    for (int k = 1; k <= task->n_layers; k++) {
        struct layer_chunks at = {.task = task, .bytes = bytes_of(task, k, live), .layer = k};

        if (vbs_cancelled(ctx))
            return vbs_fail(ctx, VBS_INTERRUPTED, "interrupted");
        for (int c = 0; c < greedy->task->n_batches; c++) {
            at.fixed =
                &greedy->candidates[(size_t)(k - 1) * (size_t)greedy->task->n_batches + (size_t)c];
            VBS_TRY(vbs_fixed_chunks(ctx, task, task->profile->batches[c], add_chunk, &at));
        }
        live -= finished_bytes(task, k);
        if (vbs_task_kept(task, k))
            live += task->request * vbs_task_bytes(task, k);
    }
    return VBS_OK;
}

static int n_candidates(const struct greedy *greedy)
{
    return greedy->task->n_batches * greedy->task->n_layers;
}

static void greedy_close(void *self)
{
    struct greedy *greedy = self;

    if (!greedy)
        return;
    for (int c = 0; greedy->candidates && c < n_candidates(greedy); c++)
        vbs_fixed_clear(&greedy->candidates[c]);
    free(greedy->candidates);
    free(greedy);
}

static enum vbs_status check_latency(struct vbs_ctx *ctx, const struct vbs_task *task,
                                     const struct vbs_step_list *steps)
{
    struct vbs_timeline timeline;

    if (task->latency_ticks == INT64_MAX)
        return VBS_OK;
    VBS_TRY(vbs_timeline_find(ctx, task, steps, &timeline));
    if (timeline.latency_ticks > task->latency_ticks)
        return VBS_INFEASIBLE;
    return VBS_OK;
}

/* Gives the largest batch of a layer (its index in the profile) that fits; -1: none. */
static int largest(const struct greedy *greedy, const struct vbs_fixed *of_layer,
                   int64_t memory_bytes)
{
    int c = greedy->task->n_batches - 1;

    while (c >= 0 && of_layer[c].least_bytes > memory_bytes)
        c--;
    return c;
}

static enum vbs_status greedy_plan(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                                   struct vbs_draft *draft)
{
    const struct greedy *greedy = self;

    for (int k = 0; k < greedy->task->n_layers; k++) {
        const struct vbs_fixed *of_layer =
            greedy->candidates + (size_t)k * (size_t)greedy->task->n_batches;
        int c = largest(greedy, of_layer, memory_bytes);

        if (c < 0)
            return VBS_INFEASIBLE;
        VBS_TRY(vbs_fixed_emit(ctx, greedy->task, &of_layer[c], memory_bytes, draft));
    }
    return check_latency(ctx, greedy->task, &draft->steps);
}

/* Finds the least budget at which every layer has a batch that fits. */
static int64_t least_fitting(const struct greedy *greedy)
{
    int64_t bytes = 0;

    for (int k = 0; k < greedy->task->n_layers; k++) {
        const struct vbs_fixed *of_layer =
            greedy->candidates + (size_t)k * (size_t)greedy->task->n_batches;
        int64_t least = of_layer[0].least_bytes;

        for (int c = 1; c < greedy->task->n_batches; c++)
            if (of_layer[c].least_bytes < least)
                least = of_layer[c].least_bytes;
        if (least > bytes)
            bytes = least;
    }
    return bytes;
}

static enum vbs_status greedy_thresholds(struct vbs_ctx *ctx, const void *self, int64_t **bytes,
                                         int *n)
{
    const struct greedy *greedy = self;

    return vbs_fixed_thresholds(ctx, greedy->task, greedy->candidates, n_candidates(greedy), bytes,
                                n);
}

/* Finds the least budget at which the plan fits and keeps the latency. More memory can make the
 * plan slower, so every budget at which it may change is tried. */
static enum vbs_status find_least(struct vbs_ctx *ctx, struct greedy *greedy)
{
    enum vbs_status status;
    int64_t *bytes;
    int n;

    greedy->least_bytes = least_fitting(greedy);
    if (greedy->task->latency_ticks == INT64_MAX)
        return VBS_OK;
    status = greedy_thresholds(ctx, greedy, &bytes, &n);
    if (status != VBS_OK)
        return status;
    greedy->least_bytes = INT64_MAX;
    for (int i = 0; status == VBS_OK && i < n; i++) {
        struct vbs_draft draft = {0};

        if (bytes[i] >= greedy->least_bytes)
            continue;
        status = greedy_plan(ctx, greedy, bytes[i], &draft);
        vbs_step_list_clear(&draft.steps);
        if (status == VBS_OK)
            greedy->least_bytes = bytes[i];
        else if (status == VBS_INFEASIBLE)
            status = VBS_OK;
    }
    free(bytes);
    return status;
}

static enum vbs_status greedy_open(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    struct greedy *greedy = calloc(1, sizeof *greedy);
    enum vbs_status status;

    if (!greedy)
        return vbs_no_memory(ctx);
    greedy->task = task;
    greedy->candidates = calloc((size_t)n_candidates(greedy), sizeof *greedy->candidates);
    status = greedy->candidates ? make_candidates(ctx, greedy) : vbs_no_memory(ctx);
    if (status == VBS_OK)
        status = find_least(ctx, greedy);
    if (status != VBS_OK) {
        greedy_close(greedy);
        return status;
    }
    *self = greedy;
    return VBS_OK;
}

static int64_t greedy_least_bytes(const void *self)
{
    return ((const struct greedy *)self)->least_bytes;
}

static size_t greedy_peak_bytes(const void *self)
{
    return vbs_fixed_bytes(((const struct greedy *)self)->candidates, n_candidates(self));
}

/* The latency bounds the whole request, and no layer by itself. */
static bool begins_layer(const struct vbs_fixed_step *step)
{
    (void)step;
    return true;
}

/* Adds the batches of layer k + 1, from the largest down. */
static enum vbs_status explain_layer(struct vbs_reasons *reasons, const struct greedy *greedy,
                                     int k, int64_t memory_bytes)
{
    const struct vbs_task *task = greedy->task;
    const struct vbs_fixed *of_layer = greedy->candidates + (size_t)k * (size_t)task->n_batches;
    int chosen = largest(greedy, of_layer, memory_bytes), index;
    struct vbs_decision decision = {.first_layer = k + 1,
                                    .last_layer = k + 1,
                                    .n_layers = 1,
                                    .samples = task->request,
                                    .memory_bytes = memory_bytes};

    VBS_TRY(vbs_reasons_begin(reasons, 0, &decision, &index));
    for (int c = task->n_batches - 1; c >= 0; c--)
        VBS_TRY(vbs_fixed_explain(reasons, &of_layer[c], task->profile->batches[c], memory_bytes,
                                  begins_layer));
    return vbs_reasons_end(reasons, index, VBS_CHOICE_BATCH, task->profile->batches[chosen]);
}

/* Adds a decision without candidates for the whole, and one for each layer below it. */
static enum vbs_status greedy_explain(struct vbs_reasons *reasons, void *self,
                                      const struct vbs_question *question)
{
    const struct greedy *greedy = self;
    int n = greedy->task->n_layers, index;
    struct vbs_decision decision = {.first_layer = 1,
                                    .last_layer = n,
                                    .n_layers = n,
                                    .samples = greedy->task->request,
                                    .memory_bytes = question->memory_bytes};

    VBS_TRY(vbs_reasons_begin(reasons, -1, &decision, &index));
    VBS_TRY(vbs_reasons_end(reasons, index, VBS_CHOICE_BATCH, 0));
    for (int k = 0; k < n; k++)
        VBS_TRY(explain_layer(reasons, greedy, k, question->memory_bytes));
    vbs_reasons_sum(reasons, index);
    return VBS_OK;
}

const struct vbs_planner vbs_planner_greedy_vbs = {
    .name = "greedy-vbs",
    .summary = "layer by layer, the largest batch that fits beside the whole request",
    .source = "VBS IV",
    .cost = "layers x batches x algorithms a budget",
    .baseline = true,
    .may_slow_down = true,
    .may_be_late = true,
    .open = greedy_open,
    .plan = greedy_plan,
    .least_bytes = greedy_least_bytes,
    .thresholds = greedy_thresholds,
    .peak_bytes = greedy_peak_bytes,
    .explain = greedy_explain,
    .close = greedy_close,
};
