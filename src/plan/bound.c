/*
 * The lower bound: each layer runs its r samples in some batches, and the least time for that,
 * over the rows whose step fits the budget alone, is a knapsack over r. The sum over the layers
 * bounds every schedule. Sums are in ticks, so the bound never exceeds a plan by rounding beyond
 * the last bit.
 */
#include "plan/planner.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

/* The least memory of any step of layer on one sample, without workspace: its inputs and what its
 * output adds when all that it may take the place of is free. */
static int64_t least_step_bytes(const struct vbs_task *task, int layer)
{
    const struct vbs_profile_layer *l = &task->profile->layers[layer];
    int64_t bytes = 0;

    for (int i = 0; i < task->n_inputs[layer]; i++)
        bytes += vbs_task_bytes(task, task->inputs[layer][i]);
    return bytes +
           vbs_task_added(l->out_bytes, l->in_place ? vbs_task_bytes(task, l->inputs[0]) : 0);
}

/* Least ticks for 0..r samples of layer in least[]; false when r samples cannot be had. */
static int layer_bound(const struct vbs_task *task, int layer, int64_t memory_bytes,
                       int64_t *batch_ticks, int64_t *least)
{
    int64_t step_bytes = least_step_bytes(task, layer);
    int r = task->request;

    for (int b = 1; b <= r; b++) {
        const struct vbs_profile_row *row =
            vbs_task_row(task, layer, b, b * step_bytes, memory_bytes);

        batch_ticks[b] = row ? vbs_task_ticks(task, row->time_us) : -1;
    }
    least[0] = 0;
    for (int done = 1; done <= r; done++) {
        least[done] = -1;
        for (int i = 0; i < task->profile->n_batches && task->profile->batches[i] <= done; i++) {
            int b = task->profile->batches[i];

            if (batch_ticks[b] < 0 || least[done - b] < 0)
                continue;
            if (least[done] < 0 || least[done - b] + batch_ticks[b] < least[done])
                least[done] = least[done - b] + batch_ticks[b];
        }
    }
    return least[r] >= 0;
}

enum vbs_status vbs_task_bound_us(struct vbs_ctx *ctx, const struct vbs_task *task,
                                  int64_t memory_bytes, double *time_us)
{
    size_t n = (size_t)task->request + 1;
    int64_t *batch_ticks = malloc(n * sizeof *batch_ticks), *least = malloc(n * sizeof *least);
    enum vbs_status status = batch_ticks && least ? VBS_OK : vbs_no_memory(ctx);
    int64_t total = 0;
    int feasible = 1;

    for (int k = 1; status == VBS_OK && feasible && k <= task->n_layers; k++) {
        feasible = layer_bound(task, k, memory_bytes, batch_ticks, least);
        total += feasible ? least[task->request] : 0;
    }
    if (status == VBS_OK)
        *time_us = feasible ? vbs_task_us(task, total) : HUGE_VAL;
    free(batch_ticks);
    free(least);
    return status;
}

enum vbs_status vbs_bound_us(struct vbs_ctx *ctx, const struct vbs_problem *problem,
                             int64_t memory_bytes, double *time_us)
{
    struct vbs_task task;
    enum vbs_status status = vbs_task_init(ctx, &task, problem);

    if (status != VBS_OK)
        return status;
    status = vbs_task_bound_us(ctx, &task, memory_bytes, time_us);
    vbs_task_clear(&task);
    return status;
}
