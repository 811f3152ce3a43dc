/* The rows that a step reads, and its window. */
#include "exec/check/check.h"

#include "profile/reach.h"

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
    int64_t in_rows = profile->layers[about->inputs[input]].rows;
    const struct vbs_reached read = vbs_reach_rows(reach, in_rows, row, rows);

    return (struct vbs_exec_rows){
        .first = read.first,
        .end = read.end,
        .above = read.above,
        .below = read.below,
        .phase = vbs_reach_phase(reach, in_rows, row, rows),
    };
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

    return about->rows > 0 && !vbs_layer_accumulates(about) ? about->out_bytes / about->rows : 0;
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
    const struct vbs_profile_layer *about = &profile->layers[step->layer];

    if (!vbs_exec_is_stripe(profile, step) || step->window == 0 || step->window == about->rows)
        return 0;
    return vbs_window_bytes(about, step->window);
}
