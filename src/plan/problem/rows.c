#include "plan/problem/rows.h"

int64_t vbs_reach_first(const struct vbs_reach *reach, int64_t n, int64_t row, int64_t rows)
{
    if (row >= rows)
        return n;
    return vbs_reach_rows(reach, n, row, 1).first;
}

int64_t vbs_reach_available(const struct vbs_reach *reach, int64_t n, int64_t done, int64_t rows)
{
    const struct vbs_reach by = vbs_reach_of_step(reach);
    int64_t available;

    if (done >= n)
        return rows;
    if (vbs_reach_is_whole(reach) || done == 0)
        return 0;
    if (by.step == 0)
        return vbs_floor_div(by.high, by.unit) < done ? rows - 1 : 0;
    /* Row y needs the input's rows up to floor((step y + high) / unit) <= done - 1. */
    available = vbs_floor_div((int64_t)by.unit * done - 1 - by.high, by.step) + 1;
    return available < 0 ? 0 : available < rows - 1 ? available : rows - 1;
}

int64_t vbs_outside_row_bytes(const struct vbs_task *task, int layer, int row, int rows)
{
    const struct vbs_profile_layer *l = &task->profile->layers[layer];
    const struct vbs_profile_layer *input = &task->profile->layers[0];
    int64_t first = INT64_MAX, end = 0;

    if (vbs_task_kept(task, 0))
        return 0;
    for (int i = 0; i < l->n_inputs; i++) {
        struct vbs_reached read;

        if (l->inputs[i] != 0)
            continue;
        if (vbs_reach_is_whole(&l->reaches[i]))
            return input->out_bytes;
        read = vbs_reach_rows(&l->reaches[i], input->rows, row, rows);
        first = read.first < first ? read.first : first;
        end = read.end > end ? read.end : end;
    }
    return end > first ? input->out_bytes / input->rows * (end - first) : 0;
}

int64_t vbs_outside_step_bytes(const struct vbs_task *task, int layer, int row, int rows)
{
    const struct vbs_profile_layer *l = &task->profile->layers[layer];

    for (int i = 0; i < l->n_inputs && rows == l->rows; i++)
        if (l->inputs[i] == 0)
            return vbs_task_kept(task, 0) ? 0 : task->profile->layers[0].out_bytes;
    return vbs_outside_row_bytes(task, layer, row, rows);
}

const struct vbs_profile_row *vbs_task_stripe(const struct vbs_task *task,
                                              const struct vbs_step *step)
{
    int n_stripes;
    const struct vbs_profile_stripe *stripes =
        vbs_profile_stripes(task->profile, step->layer, &n_stripes);

    while (stripes->batch != step->batch || stripes->row.rows != step->rows ||
           stripes->row.algorithm != step->algorithm)
        stripes++;
    return &stripes->row;
}
