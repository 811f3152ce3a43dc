/*
 * The costs of steps and copies of a task: ticks, rows of the profile, and bytes of weights.
 */
#include "plan/problem/rows.h"

#include "base/clock.h"

#include <math.h>

bool vbs_task_is_late(const struct vbs_task *task)
{
    return task->cut_until_s > 0 && vbs_clock_s() > task->cut_until_s;
}

int64_t vbs_task_ticks(const struct vbs_task *task, double time_us)
{
    double ticks = ldexp(time_us, task->tick_shift);

    /* Only waits for copies can exceed the time of the slowest schedule, and reach 2^62 ticks. */
    return ticks < 0x1p62 ? llrint(ticks) : (int64_t)1 << 62;
}

double vbs_task_us(const struct vbs_task *task, int64_t ticks)
{
    return ldexp((double)ticks, -task->tick_shift);
}

const struct vbs_profile_row *vbs_task_step_row(const struct vbs_task *task,
                                                const struct vbs_step *step)
{
    int n_rows;
    const struct vbs_profile_row *row;

    if (step->rows > 0 && step->rows < task->profile->layers[step->layer].rows)
        return vbs_task_stripe(task, step);
    row = vbs_profile_rows(task->profile, step->layer, task->batch_index[step->batch], &n_rows);
    while (row->algorithm != step->algorithm)
        row++;
    return row;
}

const struct vbs_profile_row *vbs_task_row(const struct vbs_task *task, int layer, int batch,
                                           int64_t base_bytes, int64_t memory_bytes)
{
    const struct vbs_profile_row *rows, *best = NULL;
    int n_rows, index = batch <= task->request ? task->batch_index[batch] : -1;

    if (index < 0 || base_bytes > memory_bytes)
        return NULL;
    rows = vbs_profile_rows(task->profile, layer, index, &n_rows);
    for (int a = 0; a < n_rows; a++)
        if (rows[a].ws_bytes <= memory_bytes - base_bytes &&
            (!best || rows[a].time_us < best->time_us))
            best = &rows[a];
    return best;
}

double vbs_task_copy_us(const struct vbs_task *task, int64_t bytes)
{
    const struct vbs_link *copy = &task->problem.copy;

    return copy->bytes_per_us > 0 ? copy->latency_us + (double)bytes / copy->bytes_per_us
                                  : HUGE_VAL;
}

double vbs_task_hidden_price(const struct vbs_task *task, int layer)
{
    const double *beside = task->problem.copy.beside;

    return beside ? fmin(beside[0] * (1 - 1 / beside[layer]), 1) : 0;
}

int64_t vbs_task_layer_lightest_bytes(const struct vbs_task *task, int layer)
{
    int64_t least = INT64_MAX;
    int n_stripes;
    const struct vbs_profile_stripe *stripes =
        vbs_profile_stripes(task->profile, layer, &n_stripes);

    for (int i = 0; i < task->n_batches; i++) {
        int n_rows;
        const struct vbs_profile_row *rows = vbs_profile_rows(task->profile, layer, i, &n_rows);

        for (int a = 0; a < n_rows; a++)
            if (rows[a].weight_bytes < least)
                least = rows[a].weight_bytes;
    }
    for (int i = 0; task->has_rows && i < n_stripes; i++)
        if (stripes[i].row.weight_bytes < least)
            least = stripes[i].row.weight_bytes;
    return least;
}

int64_t vbs_task_lightest_bytes(const struct vbs_task *task)
{
    int64_t total = 0;

    for (int k = 1; k <= task->n_layers; k++)
        total += vbs_task_layer_lightest_bytes(task, k);
    return total;
}
