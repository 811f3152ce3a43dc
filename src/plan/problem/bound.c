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
 * With weights included, copies count too: weights_bound.c.
 *
 * Sums are in ticks, less the largest rounding error of ticks, so that no plan is below the bound.
 */
#include "plan/problem/rows.h"
#include "plan/problem/weights_bound.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

/* Converts ticks to microseconds, less the largest rounding error of ticks; HUGE_VAL: never. */
static double bound_us(const struct vbs_task *task, int64_t ticks)
{
    return ticks < VBS_NEVER_TICKS ? fmax(vbs_task_us(task, ticks - vbs_task_slack_ticks(task)), 0)
                                   : HUGE_VAL;
}

/* Bounds the ticks of all steps within memory_bytes; VBS_NEVER_TICKS or more where some layer never
 * fits. togo: [request + 1]. */
static int64_t find_ticks(const struct vbs_task *task, int64_t memory_bytes, int64_t *togo)
{
    int64_t total = 0;

    for (int k = 1; k <= task->n_layers && total < VBS_NEVER_TICKS; k++) {
        if (task->has_rows)
            vbs_task_to_go_by_rows(task, k, memory_bytes, task->request, togo);
        else
            vbs_task_to_go(task, k, memory_bytes, task->request, togo);
        total += togo[0];
    }
    return total;
}

enum vbs_status vbs_task_bound_us(struct vbs_ctx *ctx, const struct vbs_task *task,
                                  int64_t memory_bytes, double *time_us)
{
    int64_t *togo;

    if (task->problem.weights == VBS_WEIGHTS_INCLUDED)
        return vbs_weights_bound_us(ctx, task, memory_bytes, time_us);
    togo = malloc(((size_t)task->request + 1) * sizeof *togo);
    if (!togo)
        return vbs_no_memory(ctx);
    *time_us = bound_us(task, find_ticks(task, memory_bytes, togo));
    free(togo);
    return VBS_OK;
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
