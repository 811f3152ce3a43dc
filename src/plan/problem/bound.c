/*
 * The lower bound: each layer runs its r samples in some batches, one after the other. During each
 * step, every sample outside of it keeps some tensors alive: a sample before the layer at least the
 * least bytes of all order ideals without the layer, and a sample behind it at least those of all
 * ideals with it (order_ideals.h). In the memory that is left, the least time of one layer is a
 * shortest path over its progress 0..r, and the sum over the layers bounds every schedule. With
 * resident io, where waiting inputs fill the memory, this bound is several times tighter than the
 * sum of each layer's fastest batches.
 *
 * Where samples may run by rows, a layer's samples may also take the least time of a row for each
 * of their rows, and other samples count with nothing.
 *
 * With weights included, more bounds relate both clocks: stay_bound_us and late_bound_us. Copies
 * and steps count with the times that they take alone. Factors of a link, which are 1 or more, only
 * make some of them longer, and each step begins when certain others have ended: no step of a
 * schedule ends earlier than without factors, and the bounds hold with them too.
 *
 * Sums are in ticks, less the largest rounding error of ticks, so that no plan is below the bound.
 */
#include "plan/problem/rows.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

/* Converts ticks to microseconds, less the largest rounding error of ticks; HUGE_VAL: never. */
static double bound_us(const struct vbs_task *task, int64_t ticks)
{
    return ticks < VBS_NEVER_TICKS ? fmax(vbs_task_us(task, ticks - vbs_task_slack_ticks(task)), 0)
                                   : HUGE_VAL;
}

/* Fills togo with the least ticks of a layer, by rows too where the task allows it. */
static void find_to_go(const struct vbs_task *task, int layer, int64_t memory_bytes, int64_t *togo)
{
    if (task->has_rows)
        vbs_task_to_go_by_rows(task, layer, memory_bytes, task->request, togo);
    else
        vbs_task_to_go(task, layer, memory_bytes, task->request, togo);
}

/* Sums the bytes of all packed formats of a layer's weights. */
static int64_t all_formats_bytes(const struct vbs_task *task, int layer)
{
    int64_t total = 0;
    uint64_t seen = 0;
    int n_stripes;
    const struct vbs_profile_stripe *stripes =
        vbs_profile_stripes(task->profile, layer, &n_stripes);

    for (int i = 0; i < task->n_batches; i++) {
        int n_rows;
        const struct vbs_profile_row *rows = vbs_profile_rows(task->profile, layer, i, &n_rows);

        for (int a = 0; a < n_rows; a++) {
            if (!(seen >> rows[a].format & 1))
                total += rows[a].weight_bytes;
            seen |= (uint64_t)1 << rows[a].format;
        }
    }
    for (int i = 0; task->has_rows && i < n_stripes; i++) {
        if (!(seen >> stripes[i].row.format & 1))
            total += stripes[i].row.weight_bytes;
        seen |= (uint64_t)1 << stripes[i].row.format;
    }
    return total;
}

/* The least ticks of the steps of each layer and the weights, for the bounds below. */
struct layer_loads {
    int64_t *ticks;        /* [0..n] */
    int64_t *weight_bytes; /* [0..n] in the lightest packed format */
    bool *marked;          /* [0..n] */
};

/* Bounds the ticks of each layer's steps within memory_bytes, where stay_bytes of weights stay in
 * memory all the time: beside a layer's step there are all of them but the layer's own. Gives the
 * sum, VBS_NEVER_TICKS or more where some layer never fits; ticks of later layers are then not set.
 * togo: [request + 1]. */
static int64_t find_ticks(const struct vbs_task *task, int64_t memory_bytes, int64_t stay_bytes,
                          int64_t *ticks, int64_t *togo)
{
    int64_t total = 0;

    for (int k = 1; k <= task->n_layers && total < VBS_NEVER_TICKS; k++) {
        int64_t others = stay_bytes > 0 ? stay_bytes - all_formats_bytes(task, k) : 0;

        find_to_go(task, k, memory_bytes - (others > 0 ? others : 0), togo);
        total += togo[0];
        if (ticks)
            ticks[k] = togo[0];
    }
    return total;
}

static double copy_bound_us(const struct vbs_task *task, int64_t bytes)
{
    return bytes > 0 ? vbs_task_copy_us(task, bytes) * (1 - VBS_TIME_NOISE) : 0;
}

/* Marks the layers on which layer depends, and sums their ticks. */
static int64_t mark_before(const struct vbs_task *task, struct layer_loads *loads, int layer)
{
    int64_t total = 0;

    for (int k = 0; k <= task->n_layers; k++)
        loads->marked[k] = k == layer;
    for (int k = layer; k >= 1; k--) {
        if (!loads->marked[k])
            continue;
        if (k != layer && total < VBS_NEVER_TICKS)
            total += loads->ticks[k];
        for (int i = 0; i < task->n_inputs[k]; i++)
            loads->marked[task->inputs[k][i]] = true;
    }
    return total;
}

/* Marks layer and the layers that depend on it, and sums the bytes of their weights. */
static int64_t mark_behind(const struct vbs_task *task, struct layer_loads *loads, int layer)
{
    int64_t total = 0;

    for (int k = layer; k <= task->n_layers; k++) {
        loads->marked[k] = k == layer;
        for (int i = 0; i < task->n_inputs[k]; i++)
            if (task->inputs[k][i] >= layer && loads->marked[task->inputs[k][i]])
                loads->marked[k] = true;
        if (loads->marked[k])
            total += loads->weight_bytes[k];
    }
    return total;
}

/*
 * Weights included. When the layers before layer k have done the whole request, the last sample
 * still has to pass k and all layers behind it. Of their weights no more than the budget is in
 * memory at that moment; the rest is loaded later. This is the part of the copies of large weights
 * at the end of a network that compute steps cannot hide. loads->ticks are set. O(layers x edges).
 */
static double late_bound_us(const struct vbs_task *task, int64_t memory_bytes,
                            struct layer_loads *loads)
{
    double latest = 0;

    for (int k = 1; k <= task->n_layers; k++) {
        int64_t ticks, behind;

        if (loads->weight_bytes[k] == 0)
            continue; /* the bound of the next layer with weights is at least as large */
        ticks = mark_before(task, loads, k);
        behind = mark_behind(task, loads, k);
        latest = fmax(latest, bound_us(task, ticks) + copy_bound_us(task, behind - memory_bytes));
    }
    return latest;
}

/* Bounds the time where stay_bytes of weights stay in memory all the time, without the copies of
 * all other weights. */
static double beside_bound_us(const struct vbs_task *task, int64_t memory_bytes, int64_t stay_bytes,
                              struct layer_loads *loads, int64_t *togo)
{
    int64_t total = find_ticks(task, memory_bytes, stay_bytes, loads->ticks, togo);

    if (total >= VBS_NEVER_TICKS)
        return HUGE_VAL;
    return fmax(bound_us(task, total), late_bound_us(task, memory_bytes, loads));
}

/*
 * Weights included. Some bytes of the weights are never loaded. They are in memory all the time,
 * and leave less memory for the steps. All other bytes are loaded at least once, one copy after the
 * other. More bytes of the first kind raise the bounds that count compute steps and lower that of
 * the copies. The least of the larger of both, over all numbers of bytes, is where they cross.
 */
static double stay_bound_us(const struct vbs_task *task, int64_t memory_bytes,
                            struct layer_loads *loads, int64_t *togo)
{
    int64_t weights = vbs_task_lightest_bytes(task);
    int64_t low = 0, high = weights < memory_bytes ? weights : memory_bytes;
    double above, below;

    while (low < high) {
        int64_t stays = low + (high - low) / 2;

        if (beside_bound_us(task, memory_bytes, stays, loads, togo) >=
            copy_bound_us(task, weights - stays))
            high = stays;
        else
            low = stays + 1;
    }
    above = fmax(beside_bound_us(task, memory_bytes, low, loads, togo),
                 copy_bound_us(task, weights - low));
    if (low == 0)
        return above;
    below = fmax(beside_bound_us(task, memory_bytes, low - 1, loads, togo),
                 copy_bound_us(task, weights - low + 1));
    return fmin(above, below);
}

static enum vbs_status both_clocks_bound_us(struct vbs_ctx *ctx, const struct vbs_task *task,
                                            int64_t memory_bytes, int64_t *togo, double *time_us)
{
    size_t n = (size_t)task->n_layers + 1;
    struct layer_loads loads = {.ticks = malloc(n * sizeof *loads.ticks),
                                .weight_bytes = malloc(n * sizeof *loads.weight_bytes),
                                .marked = malloc(n * sizeof *loads.marked)};
    enum vbs_status status = VBS_OK;

    if (loads.ticks && loads.weight_bytes && loads.marked) {
        for (int k = 1; k <= task->n_layers; k++)
            loads.weight_bytes[k] = vbs_task_layer_lightest_bytes(task, k);
        *time_us = stay_bound_us(task, memory_bytes, &loads, togo);
    } else
        status = vbs_no_memory(ctx);
    free(loads.ticks);
    free(loads.weight_bytes);
    free(loads.marked);
    return status;
}

enum vbs_status vbs_task_bound_us(struct vbs_ctx *ctx, const struct vbs_task *task,
                                  int64_t memory_bytes, double *time_us)
{
    int64_t *togo = malloc(((size_t)task->request + 1) * sizeof *togo);
    enum vbs_status status = VBS_OK;

    if (!togo)
        return vbs_no_memory(ctx);
    if (task->problem.weights == VBS_WEIGHTS_INCLUDED)
        status = both_clocks_bound_us(ctx, task, memory_bytes, togo, time_us);
    else
        *time_us = bound_us(task, find_ticks(task, memory_bytes, 0, NULL, togo));
    free(togo);
    return status;
}

enum vbs_status vbs_bound_us(struct vbs_ctx *ctx, const struct vbs_problem *problem,
                             int64_t memory_bytes, double *time_us)
{
    struct vbs_task task;
    enum vbs_status status;

    VBS_TRY(vbs_task_init(ctx, &task, problem));
    status = vbs_task_bound_us(ctx, &task, memory_bytes, time_us);
    vbs_task_clear(&task);
    return status;
}
