/*
 * The simulator: walks a schedule over the lattice of progress (DESIGN 2) and counts what DESIGN 3
 * defines. All that changes in a step is the progress of one layer, so a step touches the tensor
 * that it writes and the tensors that it reads, and one running total holds all live bytes.
 */
#include "vbslab/replay.h"

#include "base/arena.h"
#include "base/fail.h"
#include "vbslab/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS_BETWEEN_CANCEL_CHECKS 65536
/* Part of a latency bound that sums of times, added up in different orders, may differ by. */
#define ROUNDING 1e-9

/* A layer and the tensor that it writes; [0] is the network's input, which no layer writes. */
struct tensor {
    int64_t sample_bytes;
    int64_t done;  /* samples written: the layer's progress; all of the request for the input */
    int64_t freed; /* samples that all readers have finished: their least progress */
    bool counted;  /* its live samples take part in the total between steps */
    bool in_place;
    bool reads_outside; /* reads the network's input while that waits outside the budget */
    int n_inputs, n_readers;
    const int *inputs;
    int *readers;
};

struct sim {
    const struct vbs_profile *profile;
    const struct vbs_schedule *schedule;
    struct vbs_arena arena;
    struct tensor *tensors;
    int *batch_index; /* of batches 0..largest_batch, -1: no row has it */
    int largest_batch;
    int *algorithms; /* from the schedule's to the profile's, -1: not there */
    int64_t live_bytes;
    double clock_us;
    int64_t front;      /* most samples that any layer has finished */
    int n_at_front;     /* layers that have finished as many */
    int64_t chunk;      /* 1, 2, ...: the one that runs */
    double chunk_us;    /* since it began */
    bool ends_by_state; /* chunks end where all layers have done the same: io external */
};

/* The readers of every tensor. A layer that names an input twice is its reader twice, which changes
 * nothing: the second time there is nothing left to release. */
static bool link_tensors(struct sim *sim)
{
    const struct vbs_profile *profile = sim->profile;

    for (int k = 1; k <= profile->n_layers; k++) {
        sim->tensors[k].n_inputs = profile->layers[k].n_inputs;
        sim->tensors[k].inputs = profile->layers[k].inputs;
        for (int i = 0; i < profile->layers[k].n_inputs; i++)
            sim->tensors[profile->layers[k].inputs[i]].n_readers++;
    }
    for (int k = 0; k <= profile->n_layers; k++) {
        struct tensor *tensor = &sim->tensors[k];

        tensor->readers = vbs_arena_alloc(&sim->arena, (size_t)tensor->n_readers + 1, sizeof(int));
        if (!tensor->readers)
            return false;
        tensor->n_readers = 0;
    }
    for (int k = 1; k <= profile->n_layers; k++)
        for (int i = 0; i < sim->tensors[k].n_inputs; i++) {
            struct tensor *input = &sim->tensors[sim->tensors[k].inputs[i]];

            input->readers[input->n_readers++] = k;
        }
    return true;
}

/* What the io accounting counts between steps. */
static enum vbs_status place_io(struct vbs_ctx *ctx, struct sim *sim)
{
    bool resident = sim->schedule->io == VBS_IO_RESIDENT;
    struct tensor *input = &sim->tensors[0];

    for (int k = 0; k <= sim->profile->n_layers; k++) {
        struct tensor *tensor = &sim->tensors[k];

        tensor->sample_bytes = sim->profile->layers[k].out_bytes;
        tensor->in_place = sim->profile->layers[k].in_place;
        tensor->counted = resident || (k > 0 && tensor->n_readers > 0);
    }
    input->done = sim->schedule->request;
    for (int i = 0; i < input->n_readers && !resident; i++)
        sim->tensors[input->readers[i]].reads_outside = true;
    if (!resident)
        return VBS_OK;
    if (!vbs_mul(input->done, input->sample_bytes, &sim->live_bytes))
        return vbs_fail(ctx, VBS_INVALID, "the request's inputs take more than %" PRId64 " bytes",
                        VBS_MAX_BYTES);
    return VBS_OK;
}

/* Constant-time paths from a step to its row of the profile. */
static bool index_rows(struct sim *sim)
{
    const struct vbs_profile *profile = sim->profile;
    const struct vbs_schedule *schedule = sim->schedule;

    sim->largest_batch = profile->batches[profile->n_batches - 1];
    sim->batch_index =
        vbs_arena_alloc(&sim->arena, (size_t)sim->largest_batch + 1, sizeof *sim->batch_index);
    sim->algorithms =
        vbs_arena_alloc(&sim->arena, (size_t)schedule->n_algorithms + 1, sizeof *sim->algorithms);
    if (!sim->batch_index || !sim->algorithms)
        return false;
    for (int b = 0; b <= sim->largest_batch; b++)
        sim->batch_index[b] = -1;
    for (int i = 0; i < profile->n_batches; i++)
        sim->batch_index[profile->batches[i]] = i;
    for (int i = 0; i < schedule->n_algorithms; i++)
        sim->algorithms[i] = vbs_profile_algorithm(profile, schedule->algorithms[i]);
    return true;
}

static enum vbs_status sim_init(struct vbs_ctx *ctx, struct sim *sim,
                                const struct vbs_profile *profile,
                                const struct vbs_schedule *schedule)
{
    *sim = (struct sim){.profile = profile,
                        .schedule = schedule,
                        .n_at_front = profile->n_layers,
                        .chunk = 1,
                        .ends_by_state = schedule->io == VBS_IO_EXTERNAL};
    if (schedule->request < 1)
        return vbs_fail(ctx, VBS_INVALID, "a request of %" PRId64 " samples", schedule->request);
    sim->tensors =
        vbs_arena_alloc(&sim->arena, (size_t)profile->n_layers + 1, sizeof *sim->tensors);
    if (!sim->tensors || !link_tensors(sim) || !index_rows(sim))
        return vbs_no_memory(ctx);
    return place_io(ctx, sim);
}

/* VBS_INVALID for a step, after the detail said what is wrong with it. */
static enum vbs_status refuse_step(struct vbs_ctx *ctx, const struct sim *sim,
                                   const struct vbs_step *step)
{
    char where[VBS_DETAIL_SIZE];

    snprintf(where, sizeof where, "step %" PRId64 " of %" PRId64 ", layer %d '%s' at batch %d",
             (int64_t)(step - sim->schedule->steps) + 1, sim->schedule->n_steps, step->layer,
             sim->profile->layers[step->layer].name, step->batch);
    return vbs_fail_within(ctx, VBS_INVALID, where);
}

static enum vbs_status refuse_missing_row(struct vbs_ctx *ctx, const struct sim *sim,
                                          const struct vbs_step *step)
{
    const struct vbs_schedule *schedule = sim->schedule;
    int64_t number = (int64_t)(step - schedule->steps) + 1;

    if (step->layer < 1 || step->layer > sim->profile->n_layers)
        return vbs_fail(ctx, VBS_INVALID,
                        "step %" PRId64 " of %" PRId64 ": the profile has no layer %d", number,
                        schedule->n_steps, step->layer);
    if (step->algorithm < 0 || step->algorithm >= schedule->n_algorithms)
        return vbs_fail(ctx, VBS_INVALID,
                        "step %" PRId64 " of %" PRId64 ": the schedule has no algorithm %d", number,
                        schedule->n_steps, step->algorithm);
    if (vbs_profile_batch_index(sim->profile, step->batch) < 0)
        (void)vbs_fail(ctx, VBS_INVALID, "the profile has no batch %d", step->batch);
    else
        (void)vbs_fail(ctx, VBS_INVALID, "the profile has no row with algorithm '%s'",
                       schedule->algorithms[step->algorithm]);
    return refuse_step(ctx, sim, step);
}

/* The row that a step runs, or null. */
static const struct vbs_profile_row *find_row(const struct sim *sim, const struct vbs_step *step)
{
    const struct vbs_profile_row *rows;
    int n_rows, batch_index, algorithm;

    if (step->layer < 1 || step->layer > sim->profile->n_layers || step->algorithm < 0 ||
        step->algorithm >= sim->schedule->n_algorithms || step->batch < 1 ||
        step->batch > sim->largest_batch)
        return NULL;
    batch_index = sim->batch_index[step->batch];
    algorithm = sim->algorithms[step->algorithm];
    if (batch_index < 0 || algorithm < 0)
        return NULL;
    rows = vbs_profile_rows(sim->profile, step->layer, batch_index, &n_rows);
    for (int i = 0; i < n_rows; i++)
        if (rows[i].algorithm == algorithm)
            return &rows[i];
    return NULL;
}

/* First in, first out: the samples that the step reads must be there, and be asked for. */
static enum vbs_status check_order(struct vbs_ctx *ctx, const struct sim *sim,
                                   const struct vbs_step *step)
{
    const struct tensor *tensor = &sim->tensors[step->layer];
    int64_t done = tensor->done + step->batch;

    if (done > sim->schedule->request) {
        (void)vbs_fail(ctx, VBS_INVALID,
                       "runs past the request; the layer has finished %" PRId64 " of %" PRId64
                       " samples",
                       tensor->done, sim->schedule->request);
        return refuse_step(ctx, sim, step);
    }
    for (int i = 0; i < tensor->n_inputs; i++) {
        int input = tensor->inputs[i];

        if (sim->tensors[input].done >= done)
            continue;
        (void)vbs_fail(ctx, VBS_INVALID,
                       "reads up to sample %" PRId64
                       " of layer %d '%s', which has finished %" PRId64,
                       done, input, sim->profile->layers[input].name, sim->tensors[input].done);
        return refuse_step(ctx, sim, step);
    }
    return VBS_OK;
}

/* Samples of tensor that became free because one of its readers went on. */
static int64_t release(const struct sim *sim, struct tensor *tensor)
{
    int64_t least = sim->tensors[tensor->readers[0]].done;
    int64_t released;

    for (int i = 1; i < tensor->n_readers; i++)
        if (sim->tensors[tensor->readers[i]].done < least)
            least = sim->tensors[tensor->readers[i]].done;
    released = least - tensor->freed;
    tensor->freed = least;
    return released;
}

/* Bytes of inputs that a step, which moved its layer on from done_before, was the last to read. */
struct released {
    int64_t first_bytes;   /* of the first input: what an in-place output takes over */
    int64_t counted_bytes; /* of all inputs that count between steps: what the total loses */
};

static struct released release_inputs(struct sim *sim, const struct tensor *layer,
                                      int64_t done_before)
{
    struct released released = {0};

    for (int i = 0; i < layer->n_inputs; i++) {
        struct tensor *input = &sim->tensors[layer->inputs[i]];
        int64_t bytes;

        if (input->freed != done_before)
            continue; /* some reader is still behind where this one was */
        bytes = release(sim, input) * input->sample_bytes;
        if (i == 0)
            released.first_bytes = bytes;
        if (input->counted)
            released.counted_bytes += bytes;
    }
    return released;
}

static enum vbs_status refuse_overflow(struct vbs_ctx *ctx, const struct sim *sim,
                                       const struct vbs_step *step)
{
    (void)vbs_fail(ctx, VBS_INVALID, "needs more than %" PRId64 " bytes", VBS_MAX_BYTES);
    return refuse_step(ctx, sim, step);
}

/* A layer has gone on to done samples: at the front stand those that no layer is ahead of. */
static void move_front(struct sim *sim, int64_t done)
{
    if (done > sim->front) {
        sim->front = done;
        sim->n_at_front = 0;
    }
    if (done == sim->front)
        sim->n_at_front++;
}

/*
 * Runs one step. Only the sums that make its memory can overflow: whatever is released was part of
 * the live bytes, and what is live afterwards is at most the step's memory.
 */
static enum vbs_status run_step(struct vbs_ctx *ctx, struct sim *sim, const struct vbs_step *step,
                                struct vbs_replay_step *record)
{
    const struct vbs_profile_row *row = find_row(sim, step);
    int64_t out_bytes, outside_bytes = 0, memory_bytes;
    struct released released;
    struct tensor *layer;
    enum vbs_status status;

    if (!row)
        return refuse_missing_row(ctx, sim, step);
    status = check_order(ctx, sim, step);
    if (status != VBS_OK)
        return status;
    layer = &sim->tensors[step->layer];
    if (!vbs_mul(step->batch, layer->sample_bytes, &out_bytes) ||
        (layer->reads_outside &&
         !vbs_mul(step->batch, sim->tensors[0].sample_bytes, &outside_bytes)) ||
        !vbs_add(sim->live_bytes, outside_bytes, &record->live_bytes))
        return refuse_overflow(ctx, sim, step);

    record->done_before = layer->done;
    layer->done += step->batch;
    move_front(sim, layer->done);
    released = release_inputs(sim, layer, record->done_before);
    record->added_bytes = out_bytes;
    if (layer->in_place)
        record->added_bytes -= out_bytes < released.first_bytes ? out_bytes : released.first_bytes;
    record->ws_bytes = row->ws_bytes;
    if (!vbs_add(record->live_bytes, record->added_bytes, &memory_bytes) ||
        !vbs_add(memory_bytes, record->ws_bytes, &record->memory_bytes))
        return refuse_overflow(ctx, sim, step);

    sim->live_bytes -= released.counted_bytes;
    if (layer->counted)
        sim->live_bytes += out_bytes;
    record->after_bytes = sim->live_bytes;
    record->start_us = sim->clock_us;
    sim->clock_us += row->time_us;
    record->end_us = sim->clock_us;
    sim->chunk_us += row->time_us;
    record->chunk = sim->chunk;
    record->wait_us = sim->chunk_us;
    return VBS_OK;
}

/* What step i, just run, says of peak, latency and their limits. */
static void judge_step(struct vbs_replay *replay, int64_t i, const struct vbs_replay_step *record)
{
    if (i == 0 || record->memory_bytes > replay->peak_bytes) {
        replay->peak_bytes = record->memory_bytes;
        replay->peak_step = i;
    }
    if (record->memory_bytes > replay->memory_bytes && replay->violation_step < 0)
        replay->violation_step = i;
    if (replay->latency_bound_us > 0 && replay->late_step < 0 &&
        record->wait_us > replay->latency_bound_us * (1 + ROUNDING))
        replay->late_step = i;
}

/* After step i: with external io the next step begins a chunk where all layers have come as far. */
static void end_chunk(struct sim *sim, struct vbs_replay *replay, int64_t i)
{
    bool at_state = sim->ends_by_state && sim->n_at_front == sim->profile->n_layers;

    if (!at_state && i + 1 < sim->schedule->n_steps)
        return;
    if (replay->latency_step < 0 || sim->chunk_us > replay->latency_us) {
        replay->latency_us = sim->chunk_us;
        replay->latency_step = i;
    }
    sim->chunk++;
    sim->chunk_us = 0;
}

static enum vbs_status run_steps(struct vbs_ctx *ctx, struct sim *sim, struct vbs_replay *replay)
{
    const struct vbs_schedule *schedule = sim->schedule;

    for (int64_t i = 0; i < schedule->n_steps; i++) {
        struct vbs_replay_step record;
        enum vbs_status status;

        if (i % STEPS_BETWEEN_CANCEL_CHECKS == 0 && vbs_cancelled(ctx))
            return vbs_fail(ctx, VBS_INTERRUPTED,
                            "interrupted at step %" PRId64 " of %" PRId64 " of the replay", i + 1,
                            schedule->n_steps);
        status = run_step(ctx, sim, &schedule->steps[i], &record);
        if (status != VBS_OK)
            return status;
        judge_step(replay, i, &record);
        end_chunk(sim, replay, i);
        if (replay->steps)
            replay->steps[i] = record;
    }
    return VBS_OK;
}

static enum vbs_status check_end(struct vbs_ctx *ctx, const struct sim *sim)
{
    int64_t request = sim->schedule->request;

    for (int k = 1; k <= sim->profile->n_layers; k++)
        if (sim->tensors[k].done != request)
            return vbs_fail(ctx, VBS_INVALID,
                            "after the last step layer %d '%s' has finished %" PRId64 " of %" PRId64
                            " samples",
                            k, sim->profile->layers[k].name, sim->tensors[k].done, request);
    return VBS_OK;
}

enum vbs_status vbs_replay_run(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                               const struct vbs_schedule *schedule, int64_t memory_bytes,
                               bool with_trace, struct vbs_replay **result)
{
    struct vbs_replay *replay = NULL;
    struct sim sim;
    enum vbs_status status = sim_init(ctx, &sim, profile, schedule);

    if (status != VBS_OK)
        goto clean_up;
    replay = calloc(1, sizeof *replay);
    if (!replay) {
        status = vbs_no_memory(ctx);
        goto clean_up;
    }
    replay->memory_bytes = memory_bytes < 0 ? schedule->memory_bytes : memory_bytes;
    replay->latency_bound_us = schedule->latency_us;
    replay->violation_step = replay->late_step = replay->latency_step = -1;
    replay->n_steps = schedule->n_steps;
    if (with_trace) {
        replay->steps = calloc((size_t)schedule->n_steps + 1, sizeof *replay->steps);
        if (!replay->steps) {
            status = vbs_no_memory(ctx);
            goto clean_up;
        }
    }
    status = run_steps(ctx, &sim, replay);
    if (status == VBS_OK)
        status = check_end(ctx, &sim);
    if (status != VBS_OK)
        goto clean_up;
    replay->time_us = sim.clock_us;
    replay->fits = replay->violation_step < 0;
    replay->in_time = replay->late_step < 0;
    *result = replay;
    replay = NULL;
clean_up:
    vbs_replay_free(replay);
    vbs_arena_clear(&sim.arena);
    return status;
}

void vbs_replay_free(struct vbs_replay *replay)
{
    if (!replay)
        return;
    free(replay->steps);
    free(replay);
}
