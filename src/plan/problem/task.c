#include "plan/problem/planner.h"

#include "base/fail.h"
#include "vbslab/units.h"

#include <math.h>
#include <stdlib.h>

/* Each layer's inputs without repeats, in their order. */
static enum vbs_status find_inputs(struct vbs_ctx *ctx, struct vbs_task *task)
{
    const struct vbs_profile *profile = task->profile;
    size_t n = (size_t)task->n_layers + 1;
    int **inputs = vbs_arena_alloc(&task->arena, n, sizeof *inputs);
    int *reader = vbs_arena_alloc(&task->arena, n, sizeof *reader); /* latest of each tensor */

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

/* The readers of each tensor; ids ascend because layers do. */
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

/* The dearest schedule runs every sample alone at the dearest row of every layer. */
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
        dearest += layer * task->request;
    }
    frexp(dearest, &exponent);
    task->tick_shift = 61 - exponent;
}

/* Schedules whose reported time is the bound to the last bit are within it; but none that only
 * rounding to ticks brings there. */
static int64_t latency_ticks(const struct vbs_task *task)
{
    double ticks = ldexp(task->problem.latency_us, task->tick_shift);
    double slack = (double)vbs_task_slack_ticks(task);

    if (task->problem.latency_us == 0 || ticks >= 0x1p62)
        return INT64_MAX;
    return (int64_t)(ticks * VBS_TIME_NOISE > slack ? ticks * (1 + VBS_TIME_NOISE)
                                                    : fmax(ticks - slack, 0));
}

enum vbs_status vbs_task_init(struct vbs_ctx *ctx, struct vbs_task *task,
                              const struct vbs_problem *problem)
{
    enum vbs_status status;

    *task = (struct vbs_task){.problem = *problem, .profile = problem->profile};
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
    choose_ticks(task);
    task->latency_ticks = latency_ticks(task);
    status = vbs_task_stairs(ctx, task);
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

int64_t vbs_task_ticks(const struct vbs_task *task, double time_us)
{
    double ticks = ldexp(time_us, task->tick_shift);

    /* Only waits for copies come to more than the dearest schedule. */
    return ticks < 0x1p62 ? llrint(ticks) : (int64_t)1 << 62;
}

double vbs_task_us(const struct vbs_task *task, int64_t ticks)
{
    return ldexp((double)ticks, -task->tick_shift);
}

int vbs_task_reads_input(const struct vbs_task *task, int layer)
{
    for (int i = 0; i < task->n_inputs[layer]; i++)
        if (task->inputs[layer][i] == 0)
            return 1;
    return 0;
}

const struct vbs_profile_row *vbs_task_step_row(const struct vbs_task *task,
                                                const struct vbs_step *step)
{
    int n_rows;
    const struct vbs_profile_row *row =
        vbs_profile_rows(task->profile, step->layer, task->batch_index[step->batch], &n_rows);

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

enum vbs_status vbs_step_list_append(struct vbs_ctx *ctx, struct vbs_step_list *list,
                                     const struct vbs_step *step)
{
    if (list->n_steps == VBS_MAX_STEPS)
        return vbs_fail(ctx, VBS_USAGE, "the schedule would have more than %d steps",
                        VBS_MAX_STEPS);
    if (list->n_steps == list->capacity) {
        int64_t capacity = list->capacity ? 2 * list->capacity : 64;
        struct vbs_step *steps = realloc(list->steps, (size_t)capacity * sizeof *steps);

        if (!steps)
            return vbs_no_memory(ctx);
        list->steps = steps;
        list->capacity = capacity;
    }
    list->steps[list->n_steps++] = *step;
    return VBS_OK;
}

enum vbs_status vbs_step_list_add(struct vbs_ctx *ctx, struct vbs_step_list *list, int layer,
                                  int batch, int algorithm)
{
    struct vbs_step step = {.layer = layer, .batch = batch, .algorithm = algorithm};

    return vbs_step_list_append(ctx, list, &step);
}

enum vbs_status vbs_step_list_copy(struct vbs_ctx *ctx, const struct vbs_step *steps, int64_t n,
                                   struct vbs_step_list *to)
{
    for (int64_t s = 0; s < n; s++) {
        enum vbs_status status = vbs_step_list_append(ctx, to, &steps[s]);

        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

void vbs_step_list_clear(struct vbs_step_list *list)
{
    free(list->steps);
    *list = (struct vbs_step_list){0};
}

double vbs_step_list_us(const struct vbs_task *task, const struct vbs_step_list *list)
{
    double time_us = 0;

    for (int64_t s = 0; s < list->n_steps; s++)
        time_us += vbs_task_step_row(task, &list->steps[s])->time_us;
    return time_us;
}
