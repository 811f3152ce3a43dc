/*
 * vdnn: weights are transferred for whole layers; those of the next weighted layer are prefetched,
 * and those of finished layers are evicted (Rhu et al., "vDNN", MICRO 2016, as MMCNN 2.3 and 4.2
 * use it). Every layer runs one batch, and the request runs in chunks of this batch and a
 * remainder; of all batches the fastest that fits is taken. A load is placed no earlier than the
 * step of the weighted layer before it, and from there on as early as memory allows. Where nothing
 * can be prefetched, the least budget is the largest layer with its weights.
 *
 * Budgets are tried one by one: those at which some row of a layer fits, alone or beside the next
 * layer's weights, and a grid between them. A budget gets the best of all plans that need no more.
 * O(budgets x batches x steps).
 */
#include "plan/weights/weights.h"
#include "plan/weights/trial.h"

#include "base/fail.h"

#include <stdlib.h>

struct vdnn {
    struct vbs_ctx *ctx;
    const struct vbs_task *task;
    struct vbs_pareto_set *pareto;
    struct vbs_slicing whole;
};

/* Lists the steps of chunks of batch, each with the best row that fits memory_bytes.
 * VBS_INFEASIBLE: a layer has none. */
static enum vbs_status list_steps(struct vdnn *vdnn, int batch, int64_t memory_bytes,
                                  struct vbs_step_list *steps)
{
    const struct vbs_task *task = vdnn->task;
    struct vbs_walk walk;
    enum vbs_status status = vbs_walk_init(vdnn->ctx, &walk, task);

    for (int left = task->request; status == VBS_OK && left > 0;) {
        int b = vbs_trial_batch(task, left < batch ? left : batch);

        for (int k = 1; status == VBS_OK && k <= task->n_layers; k++) {
            const struct vbs_profile_row *row =
                vbs_trial_row(task, k, b, vbs_walk_step(&walk, k, b), memory_bytes, false);

            status =
                row ? vbs_step_list_add(vdnn->ctx, steps, k, b, row->algorithm) : VBS_INFEASIBLE;
        }
        left -= b;
    }
    vbs_walk_clear(&walk);
    return status;
}

/* Fills earliest[v]: the step of the weighted layer before visit v. */
static void find_earliest(const struct vbs_stream *stream, int *earliest)
{
    for (int v = 0, before = 0, latest = 0; v < stream->n_visits; v++) {
        if (stream->visits[v].slot != latest)
            before = latest;
        latest = stream->visits[v].slot;
        earliest[v] = before;
    }
}

static enum vbs_status try_stream(struct vdnn *vdnn, const struct vbs_stream *stream,
                                  int64_t memory_bytes)
{
    int *earliest = malloc(((size_t)stream->n_visits + 1) * sizeof *earliest);
    struct vbs_stream_rule rule = {.earliest = earliest};
    enum vbs_status status;

    if (!earliest)
        return vbs_no_memory(vdnn->ctx);
    find_earliest(stream, earliest);
    status = vbs_trial_stream(vdnn->ctx, stream, &rule, memory_bytes, vdnn->pareto);
    free(earliest);
    return status;
}

static enum vbs_status try_budget(struct vdnn *vdnn, int batch, int64_t memory_bytes)
{
    struct vbs_step_list steps = {0};
    struct vbs_stream stream;
    enum vbs_status status = list_steps(vdnn, batch, memory_bytes, &steps);

    if (status == VBS_OK) {
        status = vbs_stream_init(vdnn->ctx, vdnn->task, steps.steps, steps.n_steps, &vdnn->whole,
                                 &(struct vbs_stream_order){0}, &stream);
        if (status == VBS_OK) {
            status = try_stream(vdnn, &stream, memory_bytes);
            vbs_stream_clear(&stream);
        }
    }
    vbs_step_list_clear(&steps);
    return status == VBS_INFEASIBLE ? VBS_OK : status;
}

/* Adds the budgets at which a row of layer fits, alone and beside the lightest weights of the next
 * layer. base_bytes: the bytes of its step without workspace and weights. */
static enum vbs_status add_budgets(struct vdnn *vdnn, int layer, int batch, int64_t base_bytes,
                                   int64_t next_bytes, struct vbs_budget_list *budgets)
{
    int n_rows;
    const struct vbs_profile_row *rows =
        vbs_profile_rows(vdnn->task->profile, layer, vdnn->task->batch_index[batch], &n_rows);

    for (int a = 0; a < n_rows; a++) {
        int64_t bytes = base_bytes + rows[a].ws_bytes + rows[a].weight_bytes;

        VBS_TRY(vbs_budget_list_add(vdnn->ctx, budgets, bytes));
        VBS_TRY(vbs_budget_list_add(vdnn->ctx, budgets, bytes + next_bytes));
    }
    return VBS_OK;
}

/* Gives the lightest weights of the weighted layer after layer; after the last one, of the
 * first. */
static int64_t next_weights(const struct vbs_task *task, int layer)
{
    for (int i = 1; i <= task->n_layers; i++) {
        int k = (layer + i - 1) % task->n_layers + 1;

        if (task->profile->layers[k].weight_bytes > 0)
            return task->profile->layers[k].weight_bytes;
    }
    return 0;
}

static enum vbs_status find_budgets(struct vdnn *vdnn, int batch, struct vbs_budget_list *budgets)
{
    const struct vbs_task *task = vdnn->task;
    struct vbs_walk walk;
    enum vbs_status status = vbs_walk_init(vdnn->ctx, &walk, task);
    int64_t least = INT64_MAX, most = 0;

    if (status != VBS_OK)
        return status;
    for (int k = 1; status == VBS_OK && k <= task->n_layers; k++)
        status = add_budgets(vdnn, k, batch, vbs_walk_step(&walk, k, batch), next_weights(task, k),
                             budgets);
    vbs_walk_clear(&walk);
    for (int i = 0; i < budgets->n; i++) {
        least = budgets->bytes[i] < least ? budgets->bytes[i] : least;
        most = budgets->bytes[i] > most ? budgets->bytes[i] : most;
    }
    if (task->problem.io == VBS_IO_RESIDENT) /* the outputs of the chunks before */
        for (int k = 1; k <= task->n_layers; k++)
            most += task->last_reader[k] ? 0 : task->request * vbs_task_bytes(task, k);
    if (status == VBS_OK && least > 0)
        status = vbs_budget_list_add_grid(vdnn->ctx, budgets, least, most);
    vbs_budget_list_sort(budgets);
    return status;
}

/* Tries all budgets; where time is limited, the largest that matters first. */
static enum vbs_status try_batch(struct vdnn *vdnn, int batch)
{
    const struct vbs_task *task = vdnn->task;
    int64_t most_bytes = task->options.most_bytes;
    struct vbs_budget_list budgets = {0};
    enum vbs_status status = find_budgets(vdnn, batch, &budgets);

    if (task->cut_until_s > 0 && most_bytes > 0)
        budgets.n = vbs_budget_list_count(&budgets, most_bytes);
    for (int i = 0; status == VBS_OK && i < budgets.n && !vbs_task_is_late(task); i++)
        status =
            try_budget(vdnn, batch, budgets.bytes[task->cut_until_s > 0 ? budgets.n - 1 - i : i]);
    vbs_budget_list_clear(&budgets);
    return status;
}

/* Where time is limited: tries every batch in the largest budget that matters. */
static enum vbs_status try_most(struct vdnn *vdnn)
{
    const struct vbs_task *task = vdnn->task;

    if (task->cut_until_s == 0 || task->options.most_bytes == 0)
        return VBS_OK;
    for (int i = 0; i < task->n_batches && !vbs_task_is_late(task); i++)
        VBS_TRY(try_budget(vdnn, task->profile->batches[i], task->options.most_bytes));
    return VBS_OK;
}

static enum vbs_status vdnn_open(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    struct vbs_pareto_set *pareto = calloc(1, sizeof *pareto);
    struct vdnn vdnn = {.ctx = ctx, .task = task, .pareto = pareto};
    struct vbs_arena arena = {0};
    enum vbs_status status;

    if (!pareto)
        return vbs_no_memory(ctx);
    pareto->task = task;
    status = vbs_slicing_init(ctx, task, &arena, &vdnn.whole);
    if (status == VBS_OK)
        status = try_most(&vdnn);
    for (int i = 0; status == VBS_OK && i < task->n_batches && !vbs_task_is_late(task); i++)
        status = try_batch(&vdnn, task->profile->batches[i]);
    vbs_arena_clear(&arena);
    if (status != VBS_OK) {
        vbs_pareto_close(pareto);
        return status;
    }
    *self = pareto;
    return VBS_OK;
}

const struct vbs_planner vbs_planner_vdnn = {
    .name = "vdnn",
    .summary = "weights of whole layers, the next layer's prefetched, finished ones evicted",
    .source = "vDNN",
    .cost = "budgets tried x batches x steps, once for all budgets",
    .baseline = true,
    .transfers = true,
    .open = vdnn_open,
    .plan = vbs_pareto_plan_within,
    .least_bytes = vbs_pareto_least_bytes,
    .peak_bytes = vbs_pareto_peak_bytes,
    .thresholds = vbs_pareto_thresholds,
    .close = vbs_pareto_close,
};
