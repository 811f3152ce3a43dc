/*
 * Bounds of the least memory of a schedule with transfers, without a search.
 *
 * From below: some step of every layer has to fit, on some batch and in some row, with its
 * workspace and one slice of its weights, beside the least bytes that the other samples of the
 * request keep (struct vbs_floor). The largest of n slices takes at least an nth of the weights.
 * Where samples may run by rows, other samples may be in windows, and count with nothing; a step
 * with rows has its rows, its workspace and all weights of its layer.
 * From above: the request runs sample by sample, each layer in as many slices as it allows, and
 * every slice is loaded immediately before its step. This is a plan of mmcnn. Where the largest
 * step of both is the same, and its weights have equally large slices, both bounds are equal, and
 * the least budget is known.
 */
#include "plan/weights/least.h"

#include "base/fail.h"

/* Gives the least bytes of weights beside a step of row; with is_exact those of the largest number
 * of slices. */
static int64_t slice_bytes(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row,
                           bool is_exact)
{
    int n_slices = vbs_row_most_slices(layer, row);

    if (row->weight_bytes == 0 || n_slices <= 1)
        return row->weight_bytes;
    if (is_exact || (layer->channels > 0 && row->weight_bytes % layer->channels == 0))
        return vbs_slice_largest(layer, row->weight_bytes, n_slices);
    return (row->weight_bytes + n_slices - 1) / n_slices;
}

/* Gives the least bytes of workspace and weights of layer at batches[index]. */
static int64_t least_row_bytes(const struct vbs_task *task, int layer, int index, bool is_exact)
{
    int n_rows;
    const struct vbs_profile_row *rows = vbs_profile_rows(task->profile, layer, index, &n_rows);
    int64_t least = INT64_MAX;

    for (int a = 0; a < n_rows; a++) {
        int64_t bytes =
            rows[a].ws_bytes + slice_bytes(&task->profile->layers[layer], &rows[a], is_exact);

        least = bytes < least ? bytes : least;
    }
    return least;
}

/* Gives a lower bound of the bytes of every step of layer. */
static int64_t layer_low_bytes(const struct vbs_task *task, int layer)
{
    const struct vbs_floor *floor = &task->floors[layer];
    int64_t waiting_bytes =
        floor->before_bytes < floor->after_bytes ? floor->before_bytes : floor->after_bytes;
    int64_t added = vbs_task_added(vbs_task_bytes(task, layer), floor->place_bytes);
    int64_t least = INT64_MAX;

    for (int i = 0; i < task->n_batches; i++) {
        int b = task->profile->batches[i];
        int64_t row_bytes = least_row_bytes(task, layer, i, false);
        int64_t step_bytes = b * (floor->base_bytes + added) + (task->request - b) * waiting_bytes;

        if (row_bytes < INT64_MAX && step_bytes + row_bytes < least)
            least = step_bytes + row_bytes;
    }
    return least;
}

/* Gives a lower bound of the bytes of every step of layer, where samples may run by rows. */
static int64_t layer_low_bytes_by_rows(const struct vbs_task *task, int layer)
{
    const struct vbs_profile_layer *l = &task->profile->layers[layer];
    int64_t each = vbs_task_whole_step_bytes(task, layer), least = INT64_MAX;
    int n_stripes;
    const struct vbs_profile_stripe *stripes =
        vbs_profile_stripes(task->profile, layer, &n_stripes);

    for (int i = 0; i < task->n_batches; i++) {
        int64_t row_bytes = least_row_bytes(task, layer, i, false);
        int64_t bytes = task->profile->batches[i] * each;

        if (row_bytes < INT64_MAX && bytes + row_bytes < least)
            least = bytes + row_bytes;
    }
    for (int i = 0; i < n_stripes; i++) {
        const struct vbs_profile_row *row = &stripes[i].row;
        int64_t bytes = stripes[i].batch * vbs_layer_rows_bytes(l, row->rows);

        bytes += row->ws_bytes + row->weight_bytes;
        least = bytes < least ? bytes : least;
    }
    return least;
}

/* Computes the peak of the schedule that runs the request sample by sample. */
static enum vbs_status find_high(struct vbs_ctx *ctx, const struct vbs_task *task,
                                 struct vbs_bracket *bracket)
{
    struct vbs_walk walk;

    bracket->high_bytes = 0;
    VBS_TRY(vbs_walk_init(ctx, &walk, task));
    for (int s = 0; s < task->request; s++)
        for (int k = 1; k <= task->n_layers; k++) {
            int64_t bytes = vbs_walk_step(&walk, k, 1) + least_row_bytes(task, k, 0, true);

            if (bytes > bracket->high_bytes) {
                bracket->high_bytes = bytes;
                bracket->layer = k;
            }
        }
    vbs_walk_clear(&walk);
    return VBS_OK;
}

static enum vbs_status find_bracket(struct vbs_ctx *ctx, const struct vbs_task *task, bool by_rows,
                                    struct vbs_bracket *bracket)
{
    struct vbs_bracket found = {.high_bytes = INT64_MAX};

    if (task->problem.copy.bytes_per_us <= 0) {
        *bracket = found;
        return VBS_OK;
    }
    VBS_TRY(find_high(ctx, task, &found));
    for (int k = 1; k <= task->n_layers; k++) {
        int64_t bytes = by_rows ? layer_low_bytes_by_rows(task, k) : layer_low_bytes(task, k);

        found.low_bytes = bytes > found.low_bytes ? bytes : found.low_bytes;
    }
    *bracket = found;
    return VBS_OK;
}

enum vbs_status vbs_transfer_bracket(struct vbs_ctx *ctx, const struct vbs_task *task,
                                     struct vbs_bracket *bracket)
{
    return find_bracket(ctx, task, false, bracket);
}

enum vbs_status vbs_transfer_bracket_by_rows(struct vbs_ctx *ctx, const struct vbs_task *task,
                                             struct vbs_bracket *bracket)
{
    return find_bracket(ctx, task, task->has_rows, bracket);
}
