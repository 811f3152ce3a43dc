#include "plan/problem/task.h"

#include "base/fail.h"

#include <stdlib.h>

static int by_bytes(const void *a, const void *b)
{
    const struct vbs_row_point *x = a, *y = b;

    if (x->ws_bytes != y->ws_bytes)
        return x->ws_bytes < y->ws_bytes ? -1 : 1;
    return (x->ticks > y->ticks) - (x->ticks < y->ticks);
}

/* Weights included: gives the least bytes of weights beside a step on row. A divisible row may run
 * channel by channel; a row that was measured in slices runs slice by slice. */
static int64_t least_weights(const struct vbs_task *task, int layer,
                             const struct vbs_profile_row *row)
{
    const struct vbs_profile_layer *l = &task->profile->layers[layer];

    if (task->problem.weights == VBS_WEIGHTS_EXCLUDED)
        return 0;
    if (row->n_slices > 0)
        return row->weight_bytes / row->n_slices;
    if (!vbs_profile_divisible(l, row))
        return row->weight_bytes;
    return l->channels > 0 ? row->weight_bytes / l->channels : 0;
}

/* Appends the rows of layer at a batch that can be of use and have at most most_bytes of weights;
 * returns their number. */
static int add_points(const struct vbs_task *task, int layer, int batch_index, int64_t most_bytes,
                      struct vbs_row_point *to)
{
    int n_rows, n_within = 0, n = 0;
    const struct vbs_profile_row *rows =
        vbs_profile_rows(task->profile, layer, batch_index, &n_rows);

    for (int a = 0; a < n_rows; a++)
        if (rows[a].weight_bytes <= most_bytes)
            to[n_within++] = (struct vbs_row_point){
                .ws_bytes = rows[a].ws_bytes + least_weights(task, layer, &rows[a]),
                .ticks = vbs_task_ticks(task, rows[a].time_us)};
    qsort(to, (size_t)n_within, sizeof *to, by_bytes);
    for (int a = 0; a < n_within; a++)
        if (n == 0 || to[a].ticks < to[n - 1].ticks)
            to[n++] = to[a];
    return n;
}

enum vbs_status vbs_task_row_pareto(struct vbs_ctx *ctx, const struct vbs_task *task,
                                    const int64_t *most_bytes, struct vbs_arena *arena,
                                    struct vbs_row_pareto *row_pareto)
{
    size_t n = (size_t)task->n_layers * (size_t)task->n_batches, capacity = 0;
    int count = 0;

    for (int k = 1; k <= task->n_layers; k++)
        for (int i = 0; i < task->n_batches; i++) {
            int n_rows;

            vbs_profile_rows(task->profile, k, i, &n_rows);
            capacity += (size_t)n_rows;
        }
    row_pareto->n_batches = task->n_batches;
    row_pareto->first = vbs_arena_alloc(arena, n + 1, sizeof *row_pareto->first);
    row_pareto->points = vbs_arena_alloc(arena, capacity, sizeof *row_pareto->points);
    if (!row_pareto->first || !row_pareto->points)
        return vbs_no_memory(ctx);
    for (int k = 1; k <= task->n_layers; k++)
        for (int i = 0; i < task->n_batches; i++) {
            row_pareto->first[(k - 1) * task->n_batches + i] = count;
            count += add_points(task, k, i, most_bytes ? most_bytes[k] : INT64_MAX,
                                row_pareto->points + count);
        }
    row_pareto->first[n] = count;
    return VBS_OK;
}
