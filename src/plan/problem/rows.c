#include "plan/problem/rows.h"

bool vbs_task_has_rows(const struct vbs_task *task)
{
    for (int k = 1; k <= task->n_layers && !task->problem.whole_samples; k++)
        if (task->profile->layers[k].reaches)
            return true;
    return false;
}

static int64_t within(int64_t row, int64_t n)
{
    return row < 0 ? 0 : row > n ? n : row;
}

int64_t vbs_reach_first(const struct vbs_reach *reach, int64_t n, int64_t row, int64_t rows)
{
    if (row >= rows)
        return n;
    if (reach->unit == 0)
        return 0;
    return within(vbs_floor_div(reach->step * row + reach->low, reach->unit), n);
}

int64_t vbs_reach_end(const struct vbs_reach *reach, int64_t n, int64_t end)
{
    if (reach->unit == 0)
        return n;
    return within(vbs_floor_div(reach->step * (end - 1) + reach->high, reach->unit) + 1, n);
}

int64_t vbs_reach_available(const struct vbs_reach *reach, int64_t n, int64_t done, int64_t rows)
{
    int64_t available;

    if (done >= n)
        return rows;
    if (reach->unit == 0 || done == 0)
        return 0;
    if (reach->step == 0)
        return vbs_floor_div(reach->high, reach->unit) < done ? rows - 1 : 0;
    /* Row y needs the input's rows up to floor((step y + high) / unit) <= done - 1. */
    available = vbs_floor_div((int64_t)reach->unit * done - 1 - reach->high, reach->step) + 1;
    return within(available, rows - 1);
}

int64_t vbs_window_bytes(const struct vbs_task *task, int tensor, int window)
{
    const struct vbs_profile_layer *layer = &task->profile->layers[tensor];
    int64_t bytes;

    if (window == layer->rows)
        return layer->out_bytes;
    bytes = layer->out_bytes / layer->rows * window + VBS_WINDOW_ALIGNMENT - 1;
    return bytes - bytes % VBS_WINDOW_ALIGNMENT;
}

int64_t vbs_outside_row_bytes(const struct vbs_task *task, int layer, int row, int rows)
{
    const struct vbs_profile_layer *l = &task->profile->layers[layer];
    const struct vbs_profile_layer *input = &task->profile->layers[0];
    int64_t first = INT64_MAX, end = 0;

    if (vbs_task_kept(task, 0))
        return 0;
    for (int i = 0; i < l->n_inputs; i++) {
        int64_t from, to;

        if (l->inputs[i] != 0)
            continue;
        if (l->reaches[i].unit == 0)
            return input->out_bytes;
        from = vbs_reach_first(&l->reaches[i], input->rows, row, l->rows);
        to = vbs_reach_end(&l->reaches[i], input->rows, (int64_t)row + rows);
        first = from < first ? from : first;
        end = to > end ? to : end;
    }
    return end > first ? input->out_bytes / input->rows * (end - first) : 0;
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
