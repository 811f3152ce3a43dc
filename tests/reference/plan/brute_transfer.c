#include "reference/plan/brute_transfer.h"

#include "reference/plan/brute_common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct brute_progress brute_progress_start(void)
{
    struct brute_progress progress = {0};

    for (int k = 0; k <= BRUTE_LAYERS; k++)
        progress.slices[k] = 1;
    return progress;
}

int brute_progress_least(const struct brute_progress *progress, int layer)
{
    int least = progress->done[layer][0];

    for (int p = 1; p < progress->slices[layer]; p++)
        least = progress->done[layer][p] < least ? progress->done[layer][p] : least;
    return least;
}

int brute_progress_most(const struct brute_progress *progress, int layer)
{
    int most = 0;

    for (int p = 0; p < progress->slices[layer]; p++)
        most = progress->done[layer][p] > most ? progress->done[layer][p] : most;
    return most;
}

static bool reads(const struct vbs_profile *profile, int layer, int tensor)
{
    for (int i = 0; i < profile->layers[layer].n_inputs; i++)
        if (profile->layers[layer].inputs[i] == tensor)
            return true;
    return false;
}

static bool has_readers(const struct vbs_profile *profile, int tensor)
{
    for (int k = 1; k <= profile->n_layers; k++)
        if (reads(profile, k, tensor))
            return true;
    return false;
}

/* Gives whether samples of a tensor count while no step reads or writes them. */
static bool counts(const struct brute_request *of, int tensor)
{
    return of->io == VBS_IO_RESIDENT || (tensor > 0 && has_readers(of->profile, tensor));
}

/* A sample is written from the first slice on, and is finished when all slices of all readers have
 * read it. */
static bool is_written(const struct brute_progress *progress, int tensor, int sample)
{
    return tensor == 0 || brute_progress_most(progress, tensor) > sample;
}

static bool is_finished(const struct brute_request *of, const struct brute_progress *progress,
                        int tensor, int sample)
{
    for (int k = 1; k <= of->profile->n_layers; k++)
        if (reads(of->profile, k, tensor) && brute_progress_least(progress, k) <= sample)
            return false;
    return has_readers(of->profile, tensor);
}

int64_t brute_transfer_live(const struct brute_request *of, const struct brute_progress *progress)
{
    int64_t bytes = 0;

    for (int t = 0; t <= of->profile->n_layers; t++)
        for (int s = 0; s < of->request; s++)
            if (counts(of, t) && is_written(progress, t, s) && !is_finished(of, progress, t, s))
                bytes += of->profile->layers[t].out_bytes;
    return bytes;
}

/* Gives the bytes of the first input that the step is the last to read. */
static int64_t taken_over(const struct brute_request *of, const struct brute_progress *before,
                          const struct brute_progress *after, int layer)
{
    int input = of->profile->layers[layer].inputs[0];
    int64_t bytes = 0;

    for (int s = 0; s < of->request; s++)
        if (!is_finished(of, before, input, s) && is_finished(of, after, input, s))
            bytes += of->profile->layers[input].out_bytes;
    return bytes;
}

int64_t brute_transfer_during(const struct brute_request *of, const struct brute_progress *progress,
                              int layer, int slice, int batch)
{
    const struct vbs_profile_layer *at = &of->profile->layers[layer];
    struct brute_progress after = *progress;
    int64_t out_bytes = 0, bytes = brute_transfer_live(of, progress);
    int first = progress->done[layer][slice - 1];

    after.done[layer][slice - 1] += batch;
    for (int s = first; s < first + batch; s++) {
        if (!counts(of, layer) || !is_written(progress, layer, s))
            out_bytes += at->out_bytes;
        if (reads(of->profile, layer, 0) && !counts(of, 0))
            bytes += of->profile->layers[0].out_bytes;
    }
    if (at->in_place) {
        int64_t freed = taken_over(of, progress, &after, layer);

        out_bytes = out_bytes > freed ? out_bytes - freed : 0;
    }
    return bytes + out_bytes;
}

struct brute_slice brute_transfer_slice(const struct vbs_profile *profile, int layer,
                                        int64_t weights, int slice, int slices)
{
    int channels = profile->layers[layer].channels, bytes = (int)weights, first, end;

    if (channels == 0)
        return (struct brute_slice){(slice - 1) * bytes / slices, slice * bytes / slices,
                                    1.0 / slices};
    first = (slice - 1) * channels / slices;
    end = slice * channels / slices;
    return (struct brute_slice){bytes * first / channels, bytes * end / channels,
                                (double)(end - first) / channels};
}

bool brute_divides(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row,
                   int slices)
{
    if (slices <= 1)
        return true;
    if (row->n_slices != 0)
        return slices == row->n_slices;
    return !layer->in_place && 8 * row->weight_bytes <= 9 * layer->weight_bytes;
}

int64_t brute_transfer_weights(const struct vbs_profile *profile, int layer, int format)
{
    for (int b = 0; b < profile->n_batches; b++) {
        int n_rows;
        const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, b, &n_rows);

        for (int i = 0; i < n_rows; i++)
            if (rows[i].format == format)
                return rows[i].weight_bytes;
    }
    return 0;
}

const struct vbs_profile_row *brute_transfer_row(const struct vbs_profile *profile,
                                                 const struct vbs_step *step)
{
    int n_rows;
    const struct vbs_profile_row *row = vbs_profile_rows(
        profile, step->layer, vbs_profile_batch_index(profile, step->batch), &n_rows);

    while (row->algorithm != step->algorithm)
        row++;
    return row;
}

/* ---- a schedule, event by event ---- */

/* For each byte, the index in the list of the load that brought it; -1: it is not in memory. */
struct holders {
    int64_t of[BRUTE_LAYERS + 1][BRUTE_FORMATS][BRUTE_WEIGHTS];
};

struct simulation {
    const struct vbs_profile *profile;
    const struct vbs_schedule *schedule;
    const struct vbs_link *link;
    struct brute_event *events;
    bool *ended;
    double *left_us; /* of a step that has begun: the time that the rest of it takes alone */
    bool *awaited;   /* [n_steps][n_steps] a compute step reads bytes that a load brings */
};

static struct brute_slice slice_of(const struct vbs_profile *profile, const struct vbs_step *step,
                                   int format)
{
    bool whole = step->n_slices <= 1;

    return brute_transfer_slice(profile, step->layer,
                                brute_transfer_weights(profile, step->layer, format),
                                whole ? 1 : step->slice, whole ? 1 : step->n_slices);
}

/* Counts memory by the list alone: samples, and every byte with a holder. False where a step reads
 * a byte that has none. */
static bool count_memory(struct simulation *simulation)
{
    const struct vbs_schedule *schedule = simulation->schedule;
    const struct brute_request of = {simulation->profile, (int)schedule->request, schedule->io};
    struct brute_progress progress = brute_progress_start();
    struct holders holders;
    int64_t weights = 0;

    memset(&holders, -1, sizeof holders);
    for (int64_t i = 0; i < schedule->n_steps; i++) {
        const struct vbs_step *step = &schedule->steps[i];
        const struct vbs_profile_row *row =
            step->op == VBS_STEP_COMPUTE ? brute_transfer_row(of.profile, step) : NULL;
        int format = row ? row->format : step->format, slice = step->n_slices > 1 ? step->slice : 1;
        struct brute_slice range = slice_of(of.profile, step, format);
        int64_t *bytes = holders.of[step->layer][format];

        if (row && progress.slices[step->layer] != (step->n_slices > 1 ? step->n_slices : 1)) {
            int done = brute_progress_least(&progress, step->layer);

            progress.slices[step->layer] = step->n_slices > 1 ? step->n_slices : 1;
            for (int p = 0; p < BRUTE_SLICES; p++)
                progress.done[step->layer][p] = done;
        }
        for (int b = range.from; b < range.to; b++) {
            if (row && bytes[b] < 0)
                return false;
            if (row) {
                simulation->awaited[i * schedule->n_steps + bytes[b]] = true;
            } else {
                weights += step->op == VBS_STEP_LOAD ? 1 : -1;
                bytes[b] = step->op == VBS_STEP_LOAD ? i : -1;
            }
        }
        simulation->events[i].memory_bytes =
            weights + (row ? row->ws_bytes + brute_transfer_during(&of, &progress, step->layer,
                                                                   slice, step->batch)
                           : brute_transfer_live(&of, &progress));
        if (row)
            progress.done[step->layer][slice - 1] += step->batch;
    }
    return true;
}

static double duration_us(const struct simulation *simulation, const struct vbs_step *step)
{
    const struct vbs_profile_row *row;

    if (step->op != VBS_STEP_COMPUTE)
        return step->resident ? 0
                              : simulation->link->latency_us +
                                    (double)step->bytes / simulation->link->bytes_per_us;
    row = brute_transfer_row(simulation->profile, step);
    return row->time_us * slice_of(simulation->profile, step, row->format).share;
}

/* Gives whether step i may begin, because all steps that must end before it have ended. */
static bool may_begin(const struct simulation *simulation, int64_t i)
{
    const struct vbs_step *steps = simulation->schedule->steps;
    int64_t n = simulation->schedule->n_steps;

    for (int64_t j = 0; j < i; j++) {
        bool needed;

        if (steps[i].op == VBS_STEP_COMPUTE)
            needed = steps[j].op == VBS_STEP_COMPUTE || simulation->awaited[i * n + j];
        else
            needed = steps[j].op == VBS_STEP_COMPUTE ||
                     (steps[i].op == VBS_STEP_LOAD && steps[j].op == VBS_STEP_LOAD);
        if (needed && !simulation->ended[j])
            return false;
    }
    return true;
}

static bool is_running(const struct simulation *simulation, int64_t i)
{
    return !isnan(simulation->events[i].start_us) && !simulation->ended[i];
}

/* Begins all steps that may begin at now_us, and ends those that end then; true where there was
 * one. */
static bool pass(struct simulation *simulation, double now_us)
{
    bool moved = false;

    for (int64_t i = 0; i < simulation->schedule->n_steps; i++) {
        const struct vbs_step *step = &simulation->schedule->steps[i];
        struct brute_event *event = &simulation->events[i];

        if (isnan(event->start_us) && may_begin(simulation, i)) {
            event->start_us = now_us;
            simulation->left_us[i] = step->op == VBS_STEP_EVICT ? 0 : duration_us(simulation, step);
            moved = true;
        }
        if (is_running(simulation, i) && simulation->left_us[i] <= 0) {
            event->end_us = now_us;
            simulation->ended[i] = true;
            moved = true;
        }
    }
    return moved;
}

/* Gives how many times as long a running step takes now. */
static double slowness(const struct simulation *simulation, int64_t i)
{
    const struct vbs_schedule *schedule = simulation->schedule;
    bool computes = schedule->steps[i].op == VBS_STEP_COMPUTE;

    for (int64_t j = 0; simulation->link->beside && j < schedule->n_steps; j++)
        if (is_running(simulation, j) && (schedule->steps[j].op == VBS_STEP_COMPUTE) != computes)
            return simulation->link->beside[computes ? schedule->steps[i].layer : 0];
    return 1;
}

/* Runs all steps that have begun until the first of them ends, and gives the time that this takes;
 * HUGE_VAL: none is running. */
static double run_to_next_end(struct simulation *simulation)
{
    int64_t n = simulation->schedule->n_steps, first = -1;
    double took_us = HUGE_VAL;

    for (int64_t i = 0; i < n; i++)
        if (is_running(simulation, i) &&
            simulation->left_us[i] * slowness(simulation, i) < took_us) {
            took_us = simulation->left_us[i] * slowness(simulation, i);
            first = i;
        }
    for (int64_t i = 0; i < n && first >= 0; i++)
        if (is_running(simulation, i))
            simulation->left_us[i] -= took_us / slowness(simulation, i);
    if (first >= 0)
        simulation->left_us[first] = 0;
    return took_us;
}

bool brute_transfer_events(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                           const struct vbs_link *link, struct brute_event *events)
{
    size_t n = (size_t)schedule->n_steps;
    struct simulation simulation = {.profile = profile,
                                    .schedule = schedule,
                                    .link = link,
                                    .events = events,
                                    .ended = brute_alloc(n, sizeof(bool)),
                                    .left_us = brute_alloc(n, sizeof(double)),
                                    .awaited = brute_alloc(n * n, sizeof(bool))};
    double now_us = 0;
    bool all = false, stuck;

    for (size_t i = 0; i < n; i++)
        events[i].start_us = events[i].end_us = NAN;
    stuck = !count_memory(&simulation);
    while (!all && !stuck) {
        double took_us = 0;

        while (pass(&simulation, now_us))
            ;
        all = true;
        for (size_t i = 0; i < n; i++)
            all = all && simulation.ended[i];
        if (!all)
            took_us = run_to_next_end(&simulation);
        stuck = !(took_us < HUGE_VAL);
        now_us += took_us;
    }
    if (stuck)
        printf("# some step never starts\n");
    free(simulation.ended);
    free(simulation.left_us);
    free(simulation.awaited);
    return !stuck;
}
