/* Live bytes and latency as docs/accounting.md defines them, sample by sample. */
#include "support/bail_out.h"
#include "reference/plan/brute_common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void *brute_alloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (!memory)
        bail_out("out of memory");
    return memory;
}

void *brute_grow(void *memory, size_t count, size_t size)
{
    void *grown = realloc(memory, count * size);

    if (!grown)
        bail_out("out of memory");
    return grown;
}

bool brute_reads(const struct vbs_problem *problem, int layer, int tensor)
{
    const struct vbs_profile_layer *reader = &problem->profile->layers[layer];

    for (int i = 0; i < reader->n_inputs; i++)
        if (reader->inputs[i] == tensor)
            return true;
    return false;
}

bool brute_is_final(const struct vbs_problem *problem, int tensor)
{
    for (int k = 1; k <= problem->profile->n_layers; k++)
        if (brute_reads(problem, k, tensor))
            return false;
    return true;
}

int64_t brute_sample_bytes(const struct vbs_problem *problem, int tensor)
{
    return problem->profile->layers[tensor].out_bytes;
}

/* Gives whether any layer but except still has to read this sample. */
static bool is_awaited(const struct vbs_problem *problem, const int *done, int tensor, int sample,
                       int except)
{
    for (int k = 1; k <= problem->profile->n_layers; k++)
        if (k != except && brute_reads(problem, k, tensor) && done[k] <= sample)
            return true;
    return false;
}

/* Gives whether this sample is in the budget between steps. */
static bool is_live(const struct vbs_problem *problem, const int *done, int tensor, int sample)
{
    bool resident = problem->io == VBS_IO_RESIDENT;

    if (tensor == 0)
        return resident && is_awaited(problem, done, 0, sample, 0);
    if (done[tensor] <= sample)
        return false;
    return brute_is_final(problem, tensor) ? resident
                                           : is_awaited(problem, done, tensor, sample, 0);
}

bool brute_step_allowed(const struct vbs_problem *problem, const int *done, int layer, int batch)
{
    const struct vbs_profile_layer *runs = &problem->profile->layers[layer];

    if (done[layer] + batch > problem->request)
        return false;
    for (int i = 0; i < runs->n_inputs; i++)
        if (runs->inputs[i] > 0 && done[runs->inputs[i]] < done[layer] + batch)
            return false;
    return true;
}

int64_t brute_live_bytes(const struct vbs_problem *problem, const int *done)
{
    int64_t bytes = 0;

    for (int tensor = 0; tensor <= problem->profile->n_layers; tensor++)
        for (int sample = 0; sample < problem->request; sample++)
            if (is_live(problem, done, tensor, sample))
                bytes += brute_sample_bytes(problem, tensor);
    return bytes;
}

int64_t brute_step_bytes(const struct vbs_problem *problem, const int *done, int layer, int batch)
{
    const struct vbs_profile_layer *runs = &problem->profile->layers[layer];
    int64_t bytes = brute_live_bytes(problem, done), taken_bytes = 0;
    int64_t out_bytes = batch * runs->out_bytes;

    for (int sample = done[layer]; sample < done[layer] + batch; sample++) {
        if (brute_reads(problem, layer, 0) && problem->io == VBS_IO_EXTERNAL)
            bytes += brute_sample_bytes(problem, 0);
        if (runs->in_place && !is_awaited(problem, done, runs->inputs[0], sample, layer))
            taken_bytes += brute_sample_bytes(problem, runs->inputs[0]);
    }
    return bytes + (taken_bytes < out_bytes ? out_bytes - taken_bytes : 0);
}

const struct vbs_profile_row *brute_rows(const struct vbs_problem *problem, int layer, int batch,
                                         int *n_rows)
{
    int index = vbs_profile_batch_index(problem->profile, batch);

    *n_rows = 0;
    return index < 0 ? NULL : vbs_profile_rows(problem->profile, layer, index, n_rows);
}

const struct vbs_profile_row *brute_fastest_row(const struct vbs_problem *problem, int layer,
                                                int batch, int64_t left_bytes)
{
    int n_rows;
    const struct vbs_profile_row *rows = brute_rows(problem, layer, batch, &n_rows), *best = NULL;

    for (int i = 0; i < n_rows; i++)
        if (rows[i].ws_bytes <= left_bytes && (!best || rows[i].time_us < best->time_us))
            best = &rows[i];
    return best;
}

double brute_fastest_us(const struct vbs_problem *problem, int layer, int batch, int64_t left_bytes)
{
    const struct vbs_profile_row *row = brute_fastest_row(problem, layer, batch, left_bytes);

    return row ? row->time_us : HUGE_VAL;
}

static bool is_between_chunks(const struct brute_clock *clock)
{
    if (clock->problem->io == VBS_IO_RESIDENT)
        return false;
    for (int k = 2; k <= clock->problem->profile->n_layers; k++)
        if (clock->done[k] != clock->done[1])
            return false;
    return true;
}

void brute_clock_step(struct brute_clock *clock, int layer, int batch, double time_us)
{
    if (!clock->done)
        clock->done = brute_alloc((size_t)clock->problem->profile->n_layers + 1, sizeof(int));
    clock->done[layer] += batch;
    clock->chunk_us += time_us;
    if (clock->chunk_us > clock->longest_us)
        clock->longest_us = clock->chunk_us;
    if (is_between_chunks(clock))
        clock->chunk_us = 0;
}

bool brute_in_time(const struct brute_clock *clock)
{
    double latency_us = clock->problem->latency_us;

    return latency_us == 0 || clock->longest_us <= latency_us;
}
