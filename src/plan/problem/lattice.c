#include "plan/problem/lattice.h"

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
    for (int k = 0; walk->divisions && k <= walk->task->n_layers; k++)
        free(walk->divisions[k].done);
    free(walk->divisions);
    free(walk->windows);
    free(walk->progress);
    walk->windows = NULL;
    walk->divisions = NULL;
    walk->progress = NULL;
}

/* Counts the samples of tensor that a step of layer on batch samples is the last to read: all other
 * readers have read them before. */
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

/* Gives the bytes of n samples of a tensor from number first on. */
static int64_t sample_bytes(const struct vbs_walk *walk, int tensor, int first, int n)
{
    const struct vbs_walk_windows *windows = walk->windows ? &walk->windows[tensor] : NULL;
    int64_t each = vbs_task_bytes(walk->task, tensor), bytes = n * each;
    int from, to;

    if (!windows)
        return bytes;
    from = first > windows->first ? first : windows->first;
    to = first + n < windows->first + windows->n ? first + n : windows->first + windows->n;
    return to > from ? bytes + (to - from) * (windows->bytes - each) : bytes;
}

int64_t vbs_walk_step(struct vbs_walk *walk, int layer, int batch)
{
    const struct vbs_task *task = walk->task;
    const struct vbs_profile_layer *l = &task->profile->layers[layer];
    int64_t out_bytes = batch * l->out_bytes, added = out_bytes, freed_kept = 0;
    int64_t during = walk->live_bytes;

    for (int i = 0; i < task->n_inputs[layer]; i++) {
        int t = task->inputs[layer][i];
        int64_t freed =
            sample_bytes(walk, t, walk->progress[layer], samples_freed(walk, t, layer, batch));

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

static enum vbs_status divide(struct vbs_ctx *ctx, struct vbs_walk *walk, int layer, int n_slices)
{
    struct vbs_division *division;

    if (!walk->divisions) {
        walk->divisions = calloc((size_t)walk->task->n_layers + 1, sizeof *walk->divisions);
        if (!walk->divisions)
            return vbs_no_memory(ctx);
    }
    division = &walk->divisions[layer];
    if (division->n_slices != n_slices) {
        int *done = realloc(division->done, (size_t)n_slices * sizeof *done);

        if (!done)
            return vbs_no_memory(ctx);
        division->done = done;
        division->n_slices = n_slices;
        division->begun = -1;
    }
    if (division->begun < walk->progress[layer]) { /* steps on the whole layer came between */
        for (int p = 0; p < n_slices; p++)
            division->done[p] = walk->progress[layer];
        division->begun = walk->progress[layer];
        division->n_behind = n_slices;
    }
    return VBS_OK;
}

/* Finds the fewest samples that a slice has done, and the number of slices that have done no more.
 */
static int scan_slices(struct vbs_division *division)
{
    int least = division->done[0];

    for (int p = 1; p < division->n_slices; p++)
        if (division->done[p] < least)
            least = division->done[p];
    division->n_behind = 0;
    for (int p = 0; p < division->n_slices; p++)
        division->n_behind += division->done[p] == least;
    return least;
}

/* Advances the progress of layer by batch samples, which all its slices have done. */
static void advance(struct vbs_walk *walk, int layer, int batch)
{
    const struct vbs_task *task = walk->task;

    for (int i = 0; i < task->n_inputs[layer]; i++) {
        int t = task->inputs[layer][i];

        if (vbs_task_kept(task, t))
            walk->live_bytes -=
                sample_bytes(walk, t, walk->progress[layer], samples_freed(walk, t, layer, batch));
    }
    walk->progress[layer] += batch;
    walk->done += batch;
    if (walk->progress[layer] > walk->furthest)
        walk->furthest = walk->progress[layer];
}

/* Begins the windows of the samples of a step with rows. */
static void begin_windows(struct vbs_walk *walk, const struct vbs_step *step)
{
    const struct vbs_task *task = walk->task;
    int64_t bytes;

    walk->n_in_rows++;
    if (!vbs_task_kept(task, step->layer))
        return;
    bytes = vbs_window_bytes(&task->profile->layers[step->layer], step->window);
    walk->windows[step->layer] = (struct vbs_walk_windows){
        .first = walk->progress[step->layer], .n = step->batch, .bytes = bytes};
    walk->live_bytes += step->batch * bytes;
}

enum vbs_status vbs_walk_rows(struct vbs_ctx *ctx, struct vbs_walk *walk,
                              const struct vbs_step *step, int64_t *bytes)
{
    const struct vbs_task *task = walk->task;
    const struct vbs_profile_layer *l = &task->profile->layers[step->layer];

    if (!walk->windows)
        walk->windows = calloc((size_t)task->n_layers + 1, sizeof *walk->windows);
    if (!walk->windows)
        return vbs_no_memory(ctx);
    if (step->row == 0)
        begin_windows(walk, step);
    *bytes = walk->live_bytes +
             step->batch * vbs_outside_step_bytes(task, step->layer, step->row, step->rows);
    if (!vbs_task_kept(task, step->layer))
        *bytes += step->batch * vbs_layer_rows_bytes(l, step->rows);
    if (step->row + step->rows == l->rows) {
        advance(walk, step->layer, step->batch);
        walk->n_in_rows--;
    }
    return VBS_OK;
}

enum vbs_status vbs_walk_slice(struct vbs_ctx *ctx, struct vbs_walk *walk,
                               const struct vbs_step *step, int64_t *bytes)
{
    const struct vbs_task *task = walk->task;
    int layer = step->layer, batch = step->batch, *done;
    bool was_divided;
    struct vbs_division *division;

    if (step->n_slices <= 1) {
        *bytes = vbs_walk_step(walk, layer, batch);
        return VBS_OK;
    }
    VBS_TRY(divide(ctx, walk, layer, step->n_slices));
    division = &walk->divisions[layer];
    done = &division->done[step->slice - 1];
    was_divided = division->begun > walk->progress[layer];
    if (*done == walk->progress[layer])
        division->n_behind--;
    *done += batch;
    if (vbs_task_kept(task, layer) && *done > division->begun)
        walk->live_bytes += (*done - division->begun) * vbs_task_bytes(task, layer);
    if (*done > division->begun)
        division->begun = *done;
    *bytes = walk->live_bytes;
    if (!vbs_task_kept(task, layer))
        *bytes += batch * vbs_task_bytes(task, layer);
    for (int i = 0; i < task->n_inputs[layer]; i++)
        if (!vbs_task_kept(task, task->inputs[layer][i]))
            *bytes += batch * vbs_task_bytes(task, task->inputs[layer][i]);
    if (division->n_behind == 0)
        advance(walk, layer, scan_slices(division) - walk->progress[layer]);
    walk->n_divided += (division->begun > walk->progress[layer]) - was_divided;
    return VBS_OK;
}

bool vbs_walk_between_chunks(const struct vbs_walk *walk)
{
    return walk->task->problem.io == VBS_IO_EXTERNAL && walk->n_divided == 0 &&
           walk->n_in_rows == 0 && walk->done == (int64_t)walk->task->n_layers * walk->furthest;
}
