/* The rows that a step reads, and its window. */
#include "exec/check/check.h"

/* Computes floor(a / b) for b above 0. */
static int64_t divide_down(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static int64_t within(int64_t row, int64_t low, int64_t high)
{
    return row < low ? low : row > high ? high : row;
}

bool vbs_exec_is_stripe(const struct vbs_profile *profile, const struct vbs_step *step)
{
    return step->op == VBS_STEP_COMPUTE && step->rows > 0 &&
           step->rows < profile->layers[step->layer].rows;
}

bool vbs_exec_uses_stripes(const struct vbs_exec_checked *checked)
{
    return vbs_profile_has_stripes(checked->profile);
}

struct vbs_exec_rows vbs_exec_rows_read(const struct vbs_profile *profile, int layer, int input,
                                        int row, int rows)
{
    const struct vbs_profile_layer *about = &profile->layers[layer];
    const struct vbs_reach *reach = &about->reaches[input];
    int64_t n = profile->layers[about->inputs[input]].rows, low, end;
    struct vbs_exec_rows read = {.first = 0, .end = n};

    if (reach->unit == 0)
        return read;
    low = divide_down(reach->step * (int64_t)row + reach->low, reach->unit);
    end = divide_down(reach->step * ((int64_t)row + rows - 1) + reach->high, reach->unit) + 1;
    read.first = within(low, 0, n);
    read.end = within(end, 0, n);
    read.above = read.first - low;
    read.below = end - read.end;
    read.phase = reach->step * (int64_t)row % reach->unit;
    return read;
}

struct vbs_exec_rows vbs_exec_input_rows(const struct vbs_profile *profile,
                                         const struct vbs_step *step)
{
    const struct vbs_profile_layer *about = &profile->layers[step->layer];
    struct vbs_exec_rows all = {.first = INT64_MAX};

    for (int i = 0; i < about->n_inputs; i++) {
        struct vbs_exec_rows rows;

        if (about->inputs[i] != 0)
            continue;
        rows = vbs_exec_rows_read(profile, step->layer, i, step->row, step->rows);
        all.first = rows.first < all.first ? rows.first : all.first;
        all.end = rows.end > all.end ? rows.end : all.end;
    }
    return all;
}

int64_t vbs_exec_row_bytes(const struct vbs_profile *profile, int tensor)
{
    const struct vbs_profile_layer *about = &profile->layers[tensor];

    return about->rows > 0 ? about->out_bytes / about->rows : 0;
}

int64_t vbs_exec_rows_bytes(const struct vbs_profile *profile, int tensor,
                            const struct vbs_exec_rows *rows)
{
    if (rows->first == 0 && rows->end == profile->layers[tensor].rows)
        return profile->layers[tensor].out_bytes;
    return (rows->end - rows->first) * vbs_exec_row_bytes(profile, tensor);
}

int64_t vbs_exec_ring_bytes(const struct vbs_profile *profile, const struct vbs_step *step)
{
    int64_t bytes;

    if (!vbs_exec_is_stripe(profile, step) || step->window == 0 ||
        step->window == profile->layers[step->layer].rows)
        return 0;
    bytes = vbs_exec_row_bytes(profile, step->layer) * step->window; /* at most the sample's */
    return (bytes + VBS_WINDOW_ALIGNMENT - 1) / VBS_WINDOW_ALIGNMENT * VBS_WINDOW_ALIGNMENT;
}
