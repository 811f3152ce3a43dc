#include "plan/lattice.h"

#include "base/fail.h"

#include <stdbool.h>
#include <stdlib.h>

enum vbs_status vbs_walk_init(struct vbs_ctx *ctx, struct vbs_walk *walk,
                              const struct vbs_task *task)
{
    *walk = (struct vbs_walk){.task = task};
    walk->progress = calloc((size_t)task->n_layers + 1, sizeof *walk->progress);
    if (!walk->progress)
        return vbs_no_memory(ctx);
    walk->progress[0] = task->request;
    if (task->problem.io == VBS_IO_RESIDENT)
        walk->live_bytes = task->request * vbs_task_bytes(task, 0);
    return VBS_OK;
}

void vbs_walk_clear(struct vbs_walk *walk)
{
    free(walk->progress);
    walk->progress = NULL;
}

/* Samples of tensor that all of its readers but one have done beyond that one's progress: what a
 * step of layer on batch samples is the last to read. */
static int64_t samples_freed(const struct vbs_walk *walk, int tensor, int layer, int batch)
{
    const struct vbs_task *task = walk->task;
    int done = walk->progress[layer], least = done + batch;

    for (int i = 0; i < task->n_readers[tensor]; i++) {
        int reader = task->readers[tensor][i];

        if (reader != layer && walk->progress[reader] < least)
            least = walk->progress[reader];
    }
    return least > done ? least - done : 0;
}

int64_t vbs_walk_step(struct vbs_walk *walk, int layer, int batch)
{
    const struct vbs_task *task = walk->task;
    const struct vbs_profile_layer *l = &task->profile->layers[layer];
    int64_t out_bytes = batch * l->out_bytes, added = out_bytes, freed_kept = 0;
    int64_t during = walk->live_bytes;

    for (int i = 0; i < task->n_inputs[layer]; i++) {
        int t = task->inputs[layer][i];
        int64_t freed = samples_freed(walk, t, layer, batch) * vbs_task_bytes(task, t);

        if (vbs_task_kept(task, t))
            freed_kept += freed;
        else
            during += batch * vbs_task_bytes(task, t);
        if (i == 0 && l->in_place)
            added = vbs_task_added(out_bytes, freed);
    }
    walk->progress[layer] += batch;
    walk->done += batch;
    if (walk->progress[layer] > walk->furthest)
        walk->furthest = walk->progress[layer];
    walk->live_bytes -= freed_kept;
    if (vbs_task_kept(task, layer))
        walk->live_bytes += out_bytes;
    return during + added;
}

/* True when every layer has done the same samples: with external io a chunk ends here. */
static bool between_chunks(const struct vbs_walk *walk)
{
    return walk->task->problem.io == VBS_IO_EXTERNAL &&
           walk->done == (int64_t)walk->task->n_layers * walk->furthest;
}

enum vbs_status vbs_walk_all(struct vbs_ctx *ctx, const struct vbs_task *task,
                             const struct vbs_step_list *steps, struct vbs_walked *walked)
{
    struct vbs_walk walk;
    enum vbs_status status = vbs_walk_init(ctx, &walk, task);
    int64_t ticks = 0;
    double time_us = 0;

    if (status != VBS_OK)
        return status;
    *walked = (struct vbs_walked){.peak_step = steps->steps[0]};
    for (int64_t s = 0; s < steps->n_steps; s++) {
        const struct vbs_step *step = &steps->steps[s];
        const struct vbs_profile_row *row = vbs_task_step_row(task, step);
        int64_t bytes = vbs_walk_step(&walk, step->layer, step->batch) + row->ws_bytes;

        if (bytes > walked->peak_bytes) {
            walked->peak_bytes = bytes;
            walked->peak_step = *step;
        }
        ticks += vbs_task_ticks(task, row->time_us);
        time_us += row->time_us;
        if (ticks > walked->latency_ticks)
            walked->latency_ticks = ticks;
        if (time_us > walked->latency_us)
            walked->latency_us = time_us;
        if (between_chunks(&walk)) {
            ticks = 0;
            time_us = 0;
        }
    }
    vbs_walk_clear(&walk);
    return VBS_OK;
}
