/*
 * What lists of steps of a small problem lead to: progress of layers, segments of weights in
 * memory, the bytes of both, and lower bounds of the time that is left (exact.h).
 */
#include "plan/weights/exact.h"

#include <math.h>
#include <string.h>

#define DONE_BITS 4 /* for 0..EXACT_REQUEST */

/* ---- weights ---- */

/* Gives whether the weights of a layer in a format have segments already. */
static bool is_known(const struct exact_problem *problem, int layer, int format)
{
    for (int i = 0; i < problem->n_segments; i++)
        if (problem->segments[i].layer == layer && problem->segments[i].format == format)
            return true;
    return false;
}

static void add_block(struct exact_problem *problem, int layer, int format, int slice, int n_slices,
                      unsigned segments)
{
    struct exact_block *block = &problem->blocks[problem->n_blocks++];

    *block = (struct exact_block){
        .step = {.layer = layer,
                 .format = (uint8_t)format,
                 .slice = slice,
                 .n_slices = n_slices,
                 .bytes = vbs_exact_bytes(problem, segments)},
        .segments = segments,
    };
    block->copy_us = vbs_task_copy_us(problem->task, block->step.bytes);
}

/* Adds the weights of a layer in one format, in two segments where both halves have bytes. */
static bool add_weights(struct exact_problem *problem, int layer, int format, int64_t bytes)
{
    const struct vbs_profile_layer *l = &problem->task->profile->layers[layer];
    int64_t first, end;
    int n, at = problem->n_segments;

    vbs_slice_bytes(l, bytes, 1, 2, &first, &end);
    n = end > 0 && end < bytes ? 2 : 1;
    if (at + n > EXACT_SEGMENTS)
        return false;
    for (int i = 0; i < n; i++)
        problem->segments[at + i] = (struct exact_segment){
            .layer = layer,
            .format = format,
            .first = i == 0 ? 0 : end,
            .end = i + 1 == n ? bytes : end,
        };
    problem->n_segments += n;
    add_block(problem, layer, format, 0, 0, n == 2 ? 3u << at : 1u << at);
    for (int i = 0; i < n && n == 2; i++)
        add_block(problem, layer, format, i + 1, 2, 1u << (at + i));
    return true;
}

static bool add_layer(struct exact_problem *problem, int layer)
{
    const struct vbs_task *task = problem->task;
    const struct vbs_profile_layer *l = &task->profile->layers[layer];
    const struct vbs_profile_row whole = {.time_us = 1};
    int n_rows, format = vbs_profile_rows(task->profile, layer, 0, &n_rows)[0].format;

    problem->sample_us[layer] = HUGE_VAL;
    problem->has_one_format[layer] = true;
    for (int i = 0; i < 2; i++)
        problem->shares[layer][i] = vbs_slice_us(l, &whole, i + 1, 2);
    for (int b = 0; b < task->n_batches; b++) {
        const struct vbs_profile_row *rows = vbs_profile_rows(task->profile, layer, b, &n_rows);

        for (int i = 0; i < n_rows; i++) {
            problem->sample_us[layer] =
                fmin(problem->sample_us[layer], rows[i].time_us / task->profile->batches[b]);
            if (rows[i].weight_bytes == 0 || rows[i].format != format)
                problem->has_one_format[layer] = false;
            if (rows[i].weight_bytes > 0 && !is_known(problem, layer, rows[i].format) &&
                !add_weights(problem, layer, rows[i].format, rows[i].weight_bytes))
                return false;
        }
    }
    return true;
}

bool vbs_exact_problem_init(struct exact_problem *problem, const struct vbs_task *task)
{
    *problem = (struct exact_problem){.task = task};
    if (task->n_layers > EXACT_LAYERS || task->request > EXACT_REQUEST)
        return false;
    for (int k = 1; k <= task->n_layers; k++)
        if (!add_layer(problem, k))
            return false;
    return true;
}

int64_t vbs_exact_bytes(const struct exact_problem *problem, unsigned segments)
{
    int64_t bytes = 0;

    for (int i = 0; i < problem->n_segments; i++)
        if (segments >> i & 1)
            bytes += problem->segments[i].end - problem->segments[i].first;
    return bytes;
}

unsigned vbs_exact_needs(const struct exact_problem *problem, const struct vbs_step *step,
                         const struct vbs_profile_row *row)
{
    const struct vbs_profile_layer *l = &problem->task->profile->layers[step->layer];
    unsigned needs = 0;
    int64_t first, end;

    vbs_slice_bytes(l, row->weight_bytes, step->slice, step->n_slices, &first, &end);
    for (int i = 0; i < problem->n_segments; i++) {
        const struct exact_segment *segment = &problem->segments[i];

        if (segment->layer == step->layer && segment->format == row->format &&
            segment->first < end && segment->end > first)
            needs |= 1u << i;
    }
    return needs;
}

/* ---- progress ---- */

uint64_t vbs_exact_pack(const struct exact_problem *problem, const struct exact_progress *progress)
{
    uint64_t packed = 0;

    for (int k = 1; k <= problem->task->n_layers; k++)
        for (int i = 0; i < 2; i++)
            packed = packed << DONE_BITS | (uint64_t)progress->done[k][i];
    return packed;
}

void vbs_exact_unpack(const struct exact_problem *problem, uint64_t packed,
                      struct exact_progress *progress)
{
    memset(progress, 0, sizeof *progress);
    progress->done[0][0] = progress->done[0][1] = problem->task->request;
    for (int k = problem->task->n_layers; k >= 1; k--)
        for (int i = 1; i >= 0; i--) {
            progress->done[k][i] = (int)(packed & ((1 << DONE_BITS) - 1));
            packed >>= DONE_BITS;
        }
}

/* Gives the samples of a tensor that all its readers have read; 0 for one without readers. */
static int finished(const struct exact_problem *problem, const struct exact_progress *progress,
                    int tensor)
{
    const struct vbs_task *task = problem->task;
    int least = task->n_readers[tensor] > 0 ? task->request : 0;

    for (int i = 0; i < task->n_readers[tensor]; i++) {
        int done = vbs_exact_least(progress, task->readers[tensor][i]);

        least = done < least ? done : least;
    }
    return least;
}

/* Gives the samples of a tensor of which some half is written. */
static int begun(const struct exact_progress *progress, int tensor)
{
    const int *done = progress->done[tensor];

    return done[0] > done[1] ? done[0] : done[1];
}

int64_t vbs_exact_live_bytes(const struct exact_problem *problem,
                             const struct exact_progress *progress)
{
    const struct vbs_task *task = problem->task;
    int64_t bytes = 0;

    for (int t = 0; t <= task->n_layers; t++)
        if (vbs_task_kept(task, t))
            bytes +=
                (begun(progress, t) - finished(problem, progress, t)) * vbs_task_bytes(task, t);
    return bytes;
}

int64_t vbs_exact_step(const struct exact_problem *problem, struct exact_progress *progress,
                       const struct vbs_step *step)
{
    const struct vbs_task *task = problem->task;
    const struct vbs_profile_layer *l = &task->profile->layers[step->layer];
    int64_t bytes = vbs_exact_live_bytes(problem, progress), out_bytes, freed = 0;
    int *done = progress->done[step->layer];
    int first = step->n_slices > 1 ? done[step->slice - 1] : done[0], written = first;

    if (vbs_task_kept(task, step->layer) && begun(progress, step->layer) > first)
        written = begun(progress, step->layer);
    out_bytes = first + step->batch > written
                    ? (first + step->batch - written) * vbs_task_bytes(task, step->layer)
                    : 0;
    if (!vbs_task_kept(task, 0) && vbs_task_reads_input(task, step->layer))
        bytes += step->batch * vbs_task_bytes(task, 0);
    if (l->in_place)
        freed -= finished(problem, progress, l->inputs[0]) * vbs_task_bytes(task, l->inputs[0]);
    for (int i = 0; i < 2; i++)
        if (step->n_slices <= 1 || step->slice == i + 1)
            done[i] += step->batch;
    if (l->in_place)
        freed += finished(problem, progress, l->inputs[0]) * vbs_task_bytes(task, l->inputs[0]);
    return bytes + vbs_task_added(out_bytes, freed);
}

/* ---- lower bounds ---- */

double vbs_exact_compute_us(const struct exact_problem *problem,
                            const struct exact_progress *progress)
{
    const struct vbs_task *task = problem->task;
    double left_us = 0;

    for (int k = 1; k <= task->n_layers; k++)
        for (int i = 0; i < 2; i++)
            left_us += problem->sample_us[k] * problem->shares[k][i] *
                       (task->request - progress->done[k][i]);
    return left_us;
}

double vbs_exact_copy_us(const struct exact_problem *problem, const struct exact_progress *progress,
                         unsigned loaded, unsigned residents)
{
    const struct vbs_task *task = problem->task;
    double left_us = 0;

    for (int k = 1; k <= task->n_layers; k++) {
        unsigned of_layer = 0, missing;

        for (int i = 0; i < problem->n_segments; i++)
            if (problem->segments[i].layer == k)
                of_layer |= 1u << i;
        missing = of_layer & residents;
        /* With one half ahead perhaps only the other one is needed. */
        if (problem->has_one_format[k] && progress->done[k][0] < task->request &&
            progress->done[k][1] < task->request)
            missing = of_layer;
        missing &= ~loaded;
        if (missing)
            left_us += vbs_task_copy_us(task, vbs_exact_bytes(problem, missing));
    }
    return left_us;
}
