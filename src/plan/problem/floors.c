/*
 * Floors: the least bytes that a sample keeps alive before, during and after each layer, and the
 * least time of a layer that follows from them.
 */
#include "plan/problem/order_ideals.h"
#include "plan/problem/rows.h"

#include "base/fail.h"

/* Computes the floor without a list of order ideals: then a sample may keep only the tensors that
 * the step itself reads. */
static struct vbs_floor plain_floor(const struct vbs_task *task, int layer)
{
    const struct vbs_profile_layer *l = &task->profile->layers[layer];
    struct vbs_floor least = {0};

    for (int i = 0; i < task->n_inputs[layer]; i++)
        least.base_bytes += vbs_task_bytes(task, task->inputs[layer][i]);
    if (l->in_place)
        least.place_bytes = vbs_task_bytes(task, l->inputs[0]);
    return least;
}

static struct vbs_floor find_floor(const struct vbs_order_ideals *ideals, int layer)
{
    struct vbs_floor least = {
        .before_bytes = INT64_MAX, .base_bytes = INT64_MAX, .after_bytes = INT64_MAX};

    for (int p = 0; p < ideals->n; p++) {
        bool done = vbs_order_ideal_has(ideals, p, layer);
        int64_t *side = done ? &least.after_bytes : &least.before_bytes;
        const struct vbs_move *move = done ? NULL : vbs_order_ideal_move(ideals, p, layer);

        if (ideals->live_bytes[p] < *side)
            *side = ideals->live_bytes[p];
        if (move && move->base_bytes < least.base_bytes)
            least.base_bytes = move->base_bytes;
        if (move && move->place_bytes > least.place_bytes)
            least.place_bytes = move->place_bytes;
    }
    return least;
}

enum vbs_status vbs_task_floors(struct vbs_ctx *ctx, struct vbs_task *task)
{
    struct vbs_order_ideals ideals;
    bool listed;

    VBS_TRY(vbs_order_ideals_list(ctx, task, &ideals, &listed));
    task->floors = vbs_arena_alloc(&task->arena, (size_t)task->n_layers + 1, sizeof *task->floors);
    for (int k = 1; task->floors && k <= task->n_layers; k++)
        task->floors[k] = listed ? find_floor(&ideals, k) : plain_floor(task, k);
    vbs_order_ideals_clear(&ideals);
    return task->floors ? VBS_OK : vbs_no_memory(ctx);
}

/* Gives no more ticks than one sample of the layer takes by rows within memory_bytes; NEVER: no
 * stripe fits. However its rows are divided, each takes at least the least time of a row. */
static int64_t least_row_ticks(const struct vbs_task *task, int layer, int64_t memory_bytes)
{
    const struct vbs_profile_layer *l = &task->profile->layers[layer];
    int64_t least = VBS_NEVER_TICKS;
    bool includes = task->problem.weights == VBS_WEIGHTS_INCLUDED; /* a step reads all of them */
    int n_stripes;
    const struct vbs_profile_stripe *stripes =
        vbs_profile_stripes(task->profile, layer, &n_stripes);

    for (int i = 0; i < n_stripes; i++) {
        const struct vbs_profile_row *row = &stripes[i].row;
        /* Of all samples of a stripe, so that one of them has its share. */
        int64_t samples = stripes[i].batch;
        int64_t bytes = vbs_layer_rows_bytes(l, row->rows) * samples + row->ws_bytes +
                        (includes ? row->weight_bytes : 0);
        int64_t ticks = (int64_t)((double)vbs_task_ticks(task, row->time_us) * l->rows /
                                  ((double)row->rows * (double)samples) * (1 - VBS_TIME_NOISE));

        if (bytes <= memory_bytes && ticks < least)
            least = ticks;
    }
    return least;
}

int64_t vbs_task_whole_step_bytes(const struct vbs_task *task, int layer)
{
    const struct vbs_profile_layer *l = &task->profile->layers[layer];
    int64_t each = l->out_bytes;

    if (l->reaches) /* a step of all rows may read windows, which can be small */
        return each;
    if (l->in_place)
        each = vbs_task_added(each, vbs_task_bytes(task, l->inputs[0]));
    for (int i = 0; i < task->n_inputs[layer]; i++)
        each += vbs_task_bytes(task, task->inputs[layer][i]);
    return each;
}

void vbs_task_to_go_by_rows(const struct vbs_task *task, int layer, int64_t memory_bytes, int goal,
                            int64_t *togo)
{
    int64_t by_rows = least_row_ticks(task, layer, memory_bytes);
    int64_t each = vbs_task_whole_step_bytes(task, layer);

    togo[goal] = 0;
    for (int x = goal - 1; x >= 0; x--) {
        togo[x] = by_rows < VBS_NEVER_TICKS && togo[x + 1] < VBS_NEVER_TICKS ? by_rows + togo[x + 1]
                                                                             : VBS_NEVER_TICKS;
        for (int i = 0; i < task->n_batches && x + task->profile->batches[i] <= goal; i++) {
            int b = task->profile->batches[i];
            int64_t ticks =
                vbs_row_pareto_ticks(&task->row_pareto, layer, i, memory_bytes - b * each);

            if (ticks >= 0 && ticks + togo[x + b] < togo[x])
                togo[x] = ticks + togo[x + b];
        }
    }
}

/* Gives the least ticks of a layer's step of b samples behind x others, of these rows; negative:
 * none fits. */
static int64_t step_ticks(const struct vbs_task *task, const struct vbs_row_pareto *rows, int layer,
                          int64_t memory_bytes, int x, int batch_index)
{
    const struct vbs_floor *least = &task->floors[layer];
    int64_t added = vbs_task_added(task->profile->layers[layer].out_bytes, least->place_bytes);
    int b = task->profile->batches[batch_index];
    int64_t bytes = (task->request - x - b) * least->before_bytes + x * least->after_bytes +
                    b * (least->base_bytes + added);

    return vbs_row_pareto_ticks(rows, layer, batch_index, memory_bytes - bytes);
}

void vbs_task_to_go(const struct vbs_task *task, int layer, int64_t memory_bytes, int goal,
                    int64_t *togo)
{
    togo[goal] = 0;
    for (int x = goal - 1; x >= 0; x--) {
        togo[x] = VBS_NEVER_TICKS;
        for (int i = 0; i < task->n_batches && x + task->profile->batches[i] <= goal; i++) {
            int b = task->profile->batches[i];
            int64_t ticks = step_ticks(task, &task->row_pareto, layer, memory_bytes, x, i);

            if (ticks >= 0 && ticks + togo[x + b] < togo[x])
                togo[x] = ticks + togo[x + b];
        }
    }
}

void vbs_task_come(const struct vbs_task *task, const struct vbs_row_pareto *rows, int layer,
                   int64_t memory_bytes, int64_t *come)
{
    come[0] = 0;
    for (int x = 1; x <= task->request; x++) {
        come[x] = VBS_NEVER_TICKS;
        for (int i = 0; i < task->n_batches && task->profile->batches[i] <= x; i++) {
            int from = x - task->profile->batches[i];
            int64_t ticks = step_ticks(task, rows, layer, memory_bytes, from, i);

            if (ticks >= 0 && ticks + come[from] < come[x])
                come[x] = ticks + come[from];
        }
    }
}
