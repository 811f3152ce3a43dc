#include "plan/problem/task.h"

#include "base/fail.h"
#include "vbslab/units.h"

#include <math.h>
#include <stdlib.h>

/* Lists each layer's inputs without repeats, in their order. */
static enum vbs_status find_inputs(struct vbs_ctx *ctx, struct vbs_task *task)
{
    const struct vbs_profile *profile = task->profile;
    size_t n = (size_t)task->n_layers + 1;
    int **inputs = vbs_arena_alloc(&task->arena, n, sizeof *inputs);
    int *reader = vbs_arena_alloc(&task->arena, n, sizeof *reader); /* the last reader found so far
                                                                       of each tensor */

    task->n_inputs = vbs_arena_alloc(&task->arena, n, sizeof *task->n_inputs);
    if (!inputs || !reader || !task->n_inputs)
        return vbs_no_memory(ctx);
    for (int k = 1; k <= task->n_layers; k++) {
        const struct vbs_profile_layer *layer = &profile->layers[k];

        inputs[k] = vbs_arena_alloc(&task->arena, (size_t)layer->n_inputs, sizeof **inputs);
        if (!inputs[k])
            return vbs_no_memory(ctx);
        for (int i = 0; i < layer->n_inputs; i++) {
            int t = layer->inputs[i];

            if (reader[t] != k)
                inputs[k][task->n_inputs[k]++] = t;
            reader[t] = k;
        }
    }
    task->inputs = inputs;
    return VBS_OK;
}

/* Lists the readers of each tensor; ids ascend because layers do. */
static enum vbs_status find_readers(struct vbs_ctx *ctx, struct vbs_task *task)
{
    int n = task->n_layers;
    int **readers = vbs_arena_alloc(&task->arena, (size_t)n + 1, sizeof *readers);

    task->n_readers = vbs_arena_alloc(&task->arena, (size_t)n + 1, sizeof(int));
    task->last_reader = vbs_arena_alloc(&task->arena, (size_t)n + 1, sizeof(int));
    if (!readers || !task->n_readers || !task->last_reader)
        return vbs_no_memory(ctx);
    for (int pass = 0; pass < 2; pass++) {
        for (int t = 0; pass == 1 && t <= n; t++) {
            readers[t] = vbs_arena_alloc(&task->arena, (size_t)task->n_readers[t], sizeof(int));
            if (!readers[t])
                return vbs_no_memory(ctx);
            task->n_readers[t] = task->last_reader[t] = 0;
        }
        for (int k = 1; k <= n; k++) {
            for (int i = 0; i < task->n_inputs[k]; i++) {
                int t = task->inputs[k][i];

                if (pass == 1)
                    readers[t][task->n_readers[t]] = k;
                task->n_readers[t]++;
                task->last_reader[t] = k;
            }
        }
    }
    task->readers = readers;
    return VBS_OK;
}

static enum vbs_status find_batches(struct vbs_ctx *ctx, struct vbs_task *task)
{
    task->batch_index = vbs_arena_alloc(&task->arena, (size_t)task->request + 1, sizeof(int));
    if (!task->batch_index)
        return vbs_no_memory(ctx);
    for (int b = 0; b <= task->request; b++) {
        task->batch_index[b] = vbs_profile_batch_index(task->profile, b);
        task->n_batches += task->batch_index[b] >= 0;
    }
    return VBS_OK;
}

/* Gives the time of a sample that runs by rows, at the slowest row of the layer, with a load of the
 * weights for each row where weights count. */
static double dearest_stripes(const struct vbs_task *task, int layer)
{
    const struct vbs_rows_source *source = task->rows_source;
    const struct vbs_profile *profile = source ? source->task->profile : task->profile;
    double dearest = 0;
    int n_stripes;
    const struct vbs_profile_stripe *stripes = vbs_profile_stripes(profile, layer, &n_stripes);

    for (int i = 0; i < n_stripes; i++) {
        const struct vbs_profile_row *row = &stripes[i].row;
        double load_us = source ? source->load_us + source->byte_us * (double)row->weight_bytes : 0;

        dearest = fmax(dearest, row->time_us + load_us);
    }
    return dearest * profile->layers[layer].rows;
}

/* Chooses the length of a tick. The slowest schedule runs every sample alone at the slowest row of
 * every layer, row by row where this is slower. */
static void choose_ticks(struct vbs_task *task)
{
    double dearest = 1;
    int exponent;

    for (int k = 1; k <= task->n_layers; k++) {
        double layer = 0;

        for (int i = 0; i < task->profile->n_batches; i++) {
            int n_rows;
            const struct vbs_profile_row *rows = vbs_profile_rows(task->profile, k, i, &n_rows);

            for (int a = 0; a < n_rows; a++)
                layer = fmax(layer, rows[a].time_us);
        }
        layer = fmax(layer, dearest_stripes(task, k));
        dearest += layer * task->request;
    }
    frexp(dearest, &exponent);
    task->tick_shift = 61 - exponent;
}

/* Converts the bound of the latency to ticks. Schedules whose reported time equals the bound to the
 * last bit are within it; no schedule is that only rounding to ticks brings within it. */
static int64_t latency_ticks(const struct vbs_task *task)
{
    double ticks = ldexp(task->problem.latency_us, task->tick_shift);
    double slack = (double)vbs_task_slack_ticks(task);

    if (task->problem.latency_us == 0 || ticks >= 0x1p62)
        return INT64_MAX;
    return (int64_t)(ticks * VBS_TIME_NOISE > slack ? ticks * (1 + VBS_TIME_NOISE)
                                                    : fmax(ticks - slack, 0));
}

static void find_rows(struct vbs_task *task)
{
    task->most_rows = 1;
    for (int k = 1; k <= task->n_layers && !task->problem.whole_samples; k++) {
        const struct vbs_profile_layer *layer = &task->profile->layers[k];

        task->has_rows = task->has_rows || layer->reaches;
        if (layer->reaches && layer->rows > task->most_rows)
            task->most_rows = layer->rows;
    }
}

enum vbs_status vbs_task_init(struct vbs_ctx *ctx, struct vbs_task *task,
                              const struct vbs_problem *problem)
{
    return vbs_task_init_rows(ctx, task, problem, NULL);
}

enum vbs_status vbs_task_init_rows(struct vbs_ctx *ctx, struct vbs_task *task,
                                   const struct vbs_problem *problem,
                                   const struct vbs_rows_source *source)
{
    enum vbs_status status;

    *task =
        (struct vbs_task){.problem = *problem, .profile = problem->profile, .rows_source = source};
    if (!(problem->latency_us >= 0 && problem->latency_us <= VBS_MAX_TIME_US))
        return vbs_fail(ctx, VBS_USAGE, "a latency of %g us is out of range", problem->latency_us);
    if (problem->request < 1 || problem->request > VBS_MAX_REQUEST)
        return vbs_fail(ctx, VBS_USAGE,
                        "a request of %lld samples is out of range; it goes from 1 to %d",
                        (long long)problem->request, VBS_MAX_REQUEST);
    task->request = (int)problem->request;
    task->n_layers = problem->profile->n_layers;
    status = find_inputs(ctx, task);
    if (status == VBS_OK)
        status = find_readers(ctx, task);
    if (status == VBS_OK)
        status = find_batches(ctx, task);
    if (status != VBS_OK) {
        vbs_task_clear(task);
        return status;
    }
    find_rows(task);
    choose_ticks(task);
    task->latency_ticks = latency_ticks(task);
    status = vbs_task_row_pareto(ctx, task, NULL, &task->arena, &task->row_pareto);
    if (status == VBS_OK)
        status = vbs_task_floors(ctx, task);
    if (status != VBS_OK)
        vbs_task_clear(task);
    return status;
}

void vbs_task_clear(struct vbs_task *task)
{
    vbs_arena_clear(&task->arena);
}
