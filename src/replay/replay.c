/*
 * The replay: the memory and the time of each step, one after another, and the verdict on the
 * schedule's limits.
 */
#include "vbslab/replay.h"

#include "base/arith.h"
#include "base/fail.h"
#include "replay/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_BETWEEN_CANCEL_CHECKS 65536
/* Share of a latency bound by which sums of times may differ when they are added in another order.
 */
#define ROUNDING 1e-9

static enum vbs_status refuse_missing_layer(struct vbs_ctx *ctx, const struct sim *sim,
                                            const struct vbs_step *step)
{
    return vbs_fail(
        ctx, VBS_INVALID, "step %" PRId64 " of %" PRId64 ": the profile has no layer %d",
        (int64_t)(step - sim->schedule->steps) + 1, sim->schedule->n_steps, step->layer);
}

static enum vbs_status refuse_missing_row(struct vbs_ctx *ctx, const struct sim *sim,
                                          const struct vbs_step *step)
{
    const struct vbs_schedule *schedule = sim->schedule;
    int64_t number = (int64_t)(step - schedule->steps) + 1;

    if (step->layer < 1 || step->layer > sim->profile->n_layers)
        return refuse_missing_layer(ctx, sim, step);
    if (step->algorithm < 0 || step->algorithm >= schedule->n_algorithms)
        return vbs_fail(ctx, VBS_INVALID,
                        "step %" PRId64 " of %" PRId64 ": the schedule has no algorithm %d", number,
                        schedule->n_steps, step->algorithm);
    if (vbs_profile_batch_index(sim->profile, step->batch) < 0)
        return vbs_sim_refuse(ctx, sim, step, "the profile has no batch %d", step->batch);
    if (step->rows != 0 && !vbs_profile_has_stripes(sim->profile))
        return vbs_sim_refuse(ctx, sim, step, "the profile was measured without stripes");
    if (step->rows != 0)
        return vbs_sim_refuse(ctx, sim, step,
                              "the profile has no row of %d rows with algorithm '%s'", step->rows,
                              schedule->algorithms[step->algorithm]);
    return vbs_sim_refuse(ctx, sim, step, "the profile has no row with algorithm '%s'",
                          schedule->algorithms[step->algorithm]);
}

/* Gives the row of a stripe that a step runs, or null. */
static const struct vbs_profile_row *find_stripe(const struct sim *sim, const struct vbs_step *step,
                                                 int algorithm)
{
    int n_stripes;
    const struct vbs_profile_stripe *stripes =
        vbs_profile_stripes(sim->profile, step->layer, &n_stripes);

    for (int i = 0; i < n_stripes; i++)
        if (stripes[i].batch == step->batch && stripes[i].row.rows == step->rows &&
            stripes[i].row.algorithm == algorithm)
            return &stripes[i].row;
    return NULL;
}

/* Gives the row that a step runs, or null. */
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
    if (step->rows != 0 && step->rows != sim->profile->layers[step->layer].rows)
        return find_stripe(sim, step, algorithm);
    rows = vbs_profile_rows(sim->profile, step->layer, batch_index, &n_rows);
    for (int i = 0; i < n_rows; i++)
        if (rows[i].algorithm == algorithm)
            return &rows[i];
    return NULL;
}

/* Checks that the samples that the step reads exist, in the order of the samples, and that the
 * request has them. */
static enum vbs_status check_order(struct vbs_ctx *ctx, const struct sim *sim,
                                   const struct vbs_step *step, int64_t done_before)
{
    const struct tensor *tensor = &sim->tensors[step->layer];
    int64_t done = done_before + step->batch;

    if (done > sim->schedule->request)
        return vbs_sim_refuse(ctx, sim, step,
                              "runs past the request; the layer has finished %" PRId64
                              " of %" PRId64 " samples",
                              done_before, sim->schedule->request);
    for (int i = 0; i < tensor->n_inputs; i++) {
        int input = tensor->inputs[i];

        if (sim->tensors[input].done < done)
            return vbs_sim_refuse(
                ctx, sim, step,
                "reads up to sample %" PRId64 " of layer %d '%s', which has finished %" PRId64,
                done, input, sim->profile->layers[input].name, sim->tensors[input].done);
    }
    return vbs_sim_check_whole(ctx, sim, step, done_before);
}

/* Gives the number of samples of tensor that all its readers have finished. */
static int64_t count_free(const struct sim *sim, const struct tensor *tensor)
{
    int64_t least = sim->tensors[tensor->readers[0]].done;

    for (int i = 1; i < tensor->n_readers; i++)
        if (sim->tensors[tensor->readers[i]].done < least)
            least = sim->tensors[tensor->readers[i]].done;
    return least;
}

/* The bytes of inputs that a step was the last to read when it advanced its layer from
 * done_before. */
struct released {
    int64_t first_bytes;   /* of the first input, which an in-place output overwrites */
    int64_t first_samples; /* of the first input */
    int64_t counted_bytes; /* of all inputs that count between steps, which leave the total */
};

static struct released release_inputs(struct sim *sim, const struct tensor *layer,
                                      int64_t done_before)
{
    struct released released = {0};

    for (int i = 0; i < layer->n_inputs; i++) {
        struct tensor *input = &sim->tensors[layer->inputs[i]];
        int64_t from = input->freed, bytes;

        if (from != done_before)
            continue; /* some reader is still as far behind as this one was */
        input->freed = count_free(sim, input);
        bytes = vbs_sim_released_bytes(input, from, input->freed);
        if (i == 0) {
            released.first_samples = input->freed - from;
            released.first_bytes = bytes;
        }
        if (input->counted)
            released.counted_bytes += bytes;
    }
    return released;
}

/* Records that a layer has advanced to done samples; at the front are the layers that no other is
 * ahead of. */
static void move_front(struct sim *sim, int64_t done)
{
    if (done > sim->front) {
        sim->front = done;
        sim->n_at_front = 0;
    }
    if (done == sim->front)
        sim->n_at_front++;
}

/* Adds up the memory of a compute step. */
static bool add_up(struct vbs_replay_step *record)
{
    int64_t bytes;

    return vbs_add(record->live_bytes, record->added_bytes, &bytes) &&
           vbs_add(bytes, record->ws_bytes, &bytes) &&
           vbs_add(bytes, record->weight_bytes, &record->memory_bytes);
}

/*
 * Counts the memory of a compute step, and the bytes that stay live after it. Only the sums of a
 * step's memory can overflow: released bytes were part of the live bytes, and the live bytes
 * afterwards are at most the step's memory.
 */
static enum vbs_status count_memory(struct vbs_ctx *ctx, struct sim *sim,
                                    const struct vbs_step *step, bool in_slices,
                                    struct vbs_replay_step *record)
{
    struct tensor *layer = &sim->tensors[step->layer];
    int64_t out_samples = step->batch, out_bytes, outside_bytes = 0, done_before = layer->done;
    int64_t fresh = step->batch;
    struct released released = {0};

    if (in_slices) {
        fresh = vbs_sim_move_slice(sim, step);
        /* The output of a tensor outside the budget is inside only for the step, with all its
         * bytes. */
        if (layer->counted)
            out_samples = fresh;
    } else {
        layer->done += step->batch;
    }
    if (!vbs_mul(out_samples, layer->sample_bytes, &out_bytes) ||
        (layer->reads_outside &&
         !vbs_mul(step->batch, sim->tensors[0].sample_bytes, &outside_bytes)) ||
        !vbs_add(sim->live_bytes, outside_bytes, &record->live_bytes))
        return vbs_sim_refuse_overflow(ctx, sim, step);
    if (layer->done > done_before) {
        move_front(sim, layer->done);
        released = release_inputs(sim, layer, done_before);
    }
    record->added_bytes = out_bytes;
    if (layer->in_place)
        record->added_bytes -= out_bytes < released.first_bytes ? out_bytes : released.first_bytes;
    record->weight_bytes = sim->loaded.bytes;
    if (!add_up(record))
        return vbs_sim_refuse_overflow(ctx, sim, step);
    sim->live_bytes -= released.counted_bytes;
    if (layer->counted)
        sim->live_bytes += out_bytes;
    record->after_bytes = sim->live_bytes;
    sim->n_fresh = fresh;
    sim->n_released = released.first_samples;
    return VBS_OK;
}

/* Does the same for a step with rows. */
static enum vbs_status count_rows(struct vbs_ctx *ctx, struct sim *sim, const struct vbs_step *step,
                                  struct vbs_replay_step *record)
{
    struct tensor *layer = &sim->tensors[step->layer];
    int64_t done_before = layer->done, outside;
    struct released released = {0};

    if (step->row == 0)
        VBS_TRY(vbs_sim_begin_samples(ctx, sim, step));
    if (!vbs_sim_count_rows(sim, step, &record->added_bytes, &outside) ||
        !vbs_add(sim->live_bytes, outside, &record->live_bytes))
        return vbs_sim_refuse_overflow(ctx, sim, step);
    record->weight_bytes = sim->loaded.bytes;
    if (!add_up(record))
        return vbs_sim_refuse_overflow(ctx, sim, step);
    vbs_sim_move_rows(sim, step);
    if (layer->done > done_before) {
        move_front(sim, layer->done);
        released = release_inputs(sim, layer, done_before);
    }
    if (layer->counted)
        sim->live_bytes += record->added_bytes;
    sim->live_bytes -= released.counted_bytes;
    record->after_bytes = sim->live_bytes;
    sim->n_fresh = step->row == 0 ? step->batch : 0;
    sim->n_released = released.first_samples;
    return VBS_OK;
}

/* Runs a step of layer that takes time_us alone, once the step before and the load have ended. */
static void run_clock(struct sim *sim, struct vbs_replay *replay, int layer, int64_t load,
                      double time_us, struct vbs_replay_step *record)
{
    double stall_us = 0, took_us = time_us;

    record->start_us = sim->clock_us;
    if (sim->copies.n > 0) {
        vbs_sim_await(sim, replay, load);
        if (sim->copies.clock_us > sim->clock_us)
            record->start_us = sim->copies.clock_us;
        stall_us = record->start_us - sim->clock_us;
    }
    record->end_us = record->start_us + time_us;
    if (sim->copies.n > 0) {
        double end_us = vbs_sim_run_beside(sim, replay, layer, record->start_us, time_us);

        took_us += end_us - record->end_us;
        record->end_us = end_us;
    }
    sim->clock_us = record->end_us;
    sim->chunk_us += stall_us + took_us;
    sim->compute_us += took_us;
    record->chunk = sim->chunk;
    record->wait_us = sim->chunk_us;
}

/* The additional data of a compute step whose weights count, or of a layer in slices. */
struct special {
    int64_t load; /* the last that brought some of its weights; -1: none */
    struct byte_range weights;
    double share; /* share of the layer's time */
    bool in_slices;
    int64_t done; /* in slices: samples that the step's slice has finished */
};

static enum vbs_status refuse_slices(struct vbs_ctx *ctx, const struct sim *sim,
                                     const struct vbs_step *step, const struct vbs_profile_row *row)
{
    const char *algorithm = sim->profile->algorithms[row->algorithm];

    if (row->n_slices > 1)
        return vbs_sim_refuse(ctx, sim, step,
                              "the layer runs whole or in %d slices with algorithm '%s'",
                              row->n_slices, algorithm);
    return vbs_sim_refuse(ctx, sim, step, "the layer cannot run in slices with algorithm '%s'",
                          algorithm);
}

static enum vbs_status begin_special(struct vbs_ctx *ctx, struct sim *sim,
                                     const struct vbs_step *step, const struct vbs_profile_row *row,
                                     struct special *special)
{
    struct slice slice;

    VBS_TRY(vbs_sim_slice(ctx, sim, step, row->weight_bytes, &slice));
    special->share = slice.share;
    special->in_slices = step->n_slices > 1 || sim->tensors[step->layer].divided;
    if (!vbs_profile_divides(&sim->profile->layers[step->layer], row, step->n_slices))
        return refuse_slices(ctx, sim, step, row);
    if (sim->counts_weights && slice.weights.from < slice.weights.to) {
        special->weights = slice.weights;
        VBS_TRY(vbs_sim_read_weights(ctx, sim, step, row->format, &slice.weights, &special->load));
    }
    if (special->in_slices)
        VBS_TRY(vbs_sim_divide(ctx, sim, step, &special->done));
    return VBS_OK;
}

/* Checks that the layer has finished the samples that it began by rows, before a step of whole
 * samples. */
static enum vbs_status begin_whole(struct vbs_ctx *ctx, struct sim *sim,
                                   const struct vbs_step *step)
{
    const struct tensor *layer = &sim->tensors[step->layer];

    if (step->row != 0 || step->window != 0)
        return vbs_sim_refuse(ctx, sim, step, "a step of whole samples has no row and no window");
    if (layer->stripes.batch > 0)
        return vbs_sim_refuse(ctx, sim, step, "the layer has finished %d of %d rows of samples",
                              layer->stripes.done, sim->profile->layers[step->layer].rows);
    return layer->sizes.n > 0 ? vbs_sim_begin_samples(ctx, sim, step) : VBS_OK;
}

/* Fills the event of the compute step that ran, for an observer. */
static void describe(struct sim *sim, const struct vbs_profile_row *row,
                     const struct special *special)
{
    sim->event = (struct vbs_replay_event){.load = special->load,
                                           .weights_from = special->weights.from,
                                           .weights_to = special->weights.to,
                                           .row = row,
                                           .share = special->share,
                                           .n_fresh = sim->n_fresh,
                                           .n_released = sim->n_released};
}

static enum vbs_status compute(struct vbs_ctx *ctx, struct sim *sim, const struct vbs_step *step,
                               struct vbs_replay *replay, struct vbs_replay_step *record)
{
    const struct vbs_profile_row *row = find_row(sim, step);
    struct special special = {.share = 1, .load = -1};

    if (!row)
        return refuse_missing_row(ctx, sim, step);
    record->done_before = sim->tensors[step->layer].done;
    record->ws_bytes = row->ws_bytes;
    if (sim->counts_weights || step->n_slices != 0 || sim->n_divided > 0) {
        VBS_TRY(begin_special(ctx, sim, step, row, &special));
        if (special.in_slices)
            record->done_before = special.done;
    }
    if (step->rows != 0) {
        VBS_TRY(vbs_sim_check_rows(ctx, sim, step));
        VBS_TRY(count_rows(ctx, sim, step, record));
    } else {
        VBS_TRY(check_order(ctx, sim, step, record->done_before));
        VBS_TRY(begin_whole(ctx, sim, step));
        VBS_TRY(count_memory(ctx, sim, step, special.in_slices, record));
    }
    run_clock(sim, replay, step->layer, special.load, row->time_us * special.share, record);
    if (sim->observer)
        describe(sim, row, &special);
    return VBS_OK;
}

static enum vbs_status run_step(struct vbs_ctx *ctx, struct sim *sim, const struct vbs_step *step,
                                struct vbs_replay *replay, struct vbs_replay_step *record)
{
    struct vbs_replay_step transfer;

    if (step->op == VBS_STEP_COMPUTE)
        return compute(ctx, sim, step, replay, record);
    if (step->op > VBS_STEP_EVICT)
        return vbs_fail(
            ctx, VBS_INVALID, "step %" PRId64 " of %" PRId64 ": there is no operation %d",
            (int64_t)(step - sim->schedule->steps) + 1, sim->schedule->n_steps, step->op);
    if (step->layer < 1 || step->layer > sim->profile->n_layers)
        return refuse_missing_layer(ctx, sim, step);
    /* A second record is used, because the compiler can then keep record in registers for compute
     * steps. */
    VBS_TRY(vbs_sim_transfer(ctx, sim, step, replay, &transfer));
    *record = transfer;
    return VBS_OK;
}

/* Compares the memory of step i, which has just run, with the peak and the budget. */
static void judge_memory(struct vbs_replay *replay, int64_t i, const struct vbs_replay_step *record)
{
    if (i == 0 || record->memory_bytes > replay->peak_bytes) {
        replay->peak_bytes = record->memory_bytes;
        replay->peak_step = i;
    }
    if (record->memory_bytes > replay->memory_bytes && replay->violation_step < 0)
        replay->violation_step = i;
}

/* Compares the wait of step i with the latency and its bound. */
static void judge_wait(struct vbs_replay *replay, int64_t i, const struct vbs_replay_step *record)
{
    if (replay->latency_bound_us > 0 && replay->late_step < 0 &&
        record->wait_us > replay->latency_bound_us * (1 + ROUNDING))
        replay->late_step = i;
}

/* Ends the chunk after compute step i, where all layers have done the same samples and no slice and
 * no row is ahead; with resident io only at the end of the request. Transfers behind the last chunk
 * belong to it. */
static void end_chunk(struct sim *sim, struct vbs_replay *replay, int64_t i)
{
    bool is_last = sim->front == sim->schedule->request;

    if (sim->n_at_front < sim->profile->n_layers || sim->n_divided > 0 || sim->n_in_rows > 0 ||
        !(sim->ends_by_state || is_last))
        return;
    if (replay->latency_step < 0 || sim->chunk_us > replay->latency_us) {
        replay->latency_us = sim->chunk_us;
        replay->latency_step = i;
    }
    if (is_last)
        return;
    sim->chunk++;
    sim->chunk_us = 0;
}

/* Keeps the event of step i for later. */
static enum vbs_status hold(struct vbs_ctx *ctx, struct sim *sim,
                            const struct vbs_replay_step *record)
{
    struct held_events *held = &sim->held;

    if (held->n == 0) {
        held->from = 0;
        held->first_index = sim->event.index;
    } else if (held->from > held->n) {
        memmove(held->list, held->list + held->from, (size_t)held->n * sizeof *held->list);
        held->from = 0;
    }
    VBS_TRY(
        vbs_grow(ctx, &held->list, &held->capacity, held->from + held->n + 1, sizeof *held->list));
    held->list[held->from + held->n++] = (struct held_event){sim->event, *record};
    return VBS_OK;
}

/* Calls the observer for the steps before the first load that has not ended. */
static enum vbs_status tell_held(struct vbs_ctx *ctx, struct sim *sim)
{
    struct held_events *held = &sim->held;

    while (held->n > 0 && (sim->copies.n == 0 || held->first_index < sim->copies.head)) {
        struct held_event *first = &held->list[held->from++];

        held->n--;
        held->first_index++;
        first->event.record = &first->record;
        VBS_TRY(sim->observer(ctx, sim->observing, &first->event));
    }
    return VBS_OK;
}

/* Calls the observer for step i, at once or when all loads up to it have ended. The record is a
 * copy, so that the loop's own one can stay in registers. */
static enum vbs_status tell(struct vbs_ctx *ctx, struct sim *sim, int64_t i,
                            struct vbs_replay_step record)
{
    sim->event.index = i;
    sim->event.step = &sim->schedule->steps[i];
    if (sim->held.n == 0 && sim->copies.n == 0) {
        sim->event.record = &record;
        return sim->observer(ctx, sim->observing, &sim->event);
    }
    VBS_TRY(hold(ctx, sim, &record));
    return tell_held(ctx, sim);
}

static enum vbs_status run_steps(struct vbs_ctx *ctx, struct sim *sim, struct vbs_replay *replay)
{
    const struct vbs_schedule *schedule = sim->schedule;

    for (int64_t i = 0; i < schedule->n_steps; i++) {
        struct vbs_replay_step record;

        if (i % STEPS_BETWEEN_CANCEL_CHECKS == 0 && vbs_cancelled(ctx))
            return vbs_fail(ctx, VBS_INTERRUPTED,
                            "interrupted at step %" PRId64 " of %" PRId64 " of the replay", i + 1,
                            schedule->n_steps);
        VBS_TRY(run_step(ctx, sim, &schedule->steps[i], replay, &record));
        judge_memory(replay, i, &record);
        if (schedule->steps[i].op == VBS_STEP_COMPUTE) {
            judge_wait(replay, i, &record);
            end_chunk(sim, replay, i);
        }
        if (replay->steps)
            replay->steps[i] = record;
        if (sim->observer)
            VBS_TRY(tell(ctx, sim, i, record));
    }
    vbs_sim_await(sim, replay, INT64_MAX);
    return tell_held(ctx, sim);
}

static enum vbs_status check_end(struct vbs_ctx *ctx, struct sim *sim)
{
    int64_t request = sim->schedule->request;

    for (int k = 1; k <= sim->profile->n_layers; k++)
        if (sim->tensors[k].done != request)
            return vbs_fail(ctx, VBS_INVALID,
                            "after the last step layer %d '%s' has finished %" PRId64 " of %" PRId64
                            " samples",
                            k, sim->profile->layers[k].name, sim->tensors[k].done, request);
    return sim->counts_weights ? vbs_sim_check_residents(ctx, sim) : VBS_OK;
}

/* The options of a replay. */
struct manner {
    int64_t memory_bytes; /* -1: the schedule's own */
    bool with_trace;
    vbs_replay_observer *observer; /* or null */
    void *self;
};

static enum vbs_status replay_all(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                  const struct vbs_schedule *schedule, const struct manner *manner,
                                  struct vbs_replay **result)
{
    struct vbs_replay *replay = NULL;
    struct sim sim = {.observer = manner->observer, .observing = manner->self};
    enum vbs_status status = vbs_sim_init(ctx, &sim, profile, schedule);

    if (status != VBS_OK)
        goto clean_up;
    replay = calloc(1, sizeof *replay);
    if (!replay) {
        status = vbs_no_memory(ctx);
        goto clean_up;
    }
    replay->memory_bytes = manner->memory_bytes < 0 ? schedule->memory_bytes : manner->memory_bytes;
    replay->latency_bound_us = schedule->latency_us;
    replay->violation_step = replay->late_step = replay->latency_step = -1;
    replay->n_steps = schedule->n_steps;
    if (manner->with_trace) {
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
    replay->time_us = sim.copies.clock_us > sim.clock_us ? sim.copies.clock_us : sim.clock_us;
    replay->compute_us = sim.compute_us;
    replay->fits = replay->violation_step < 0;
    replay->in_time = replay->late_step < 0;
    *result = replay;
    replay = NULL;
clean_up:
    vbs_replay_free(replay);
    vbs_sim_clear(&sim);
    return status;
}

enum vbs_status vbs_replay_run(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                               const struct vbs_schedule *schedule, int64_t memory_bytes,
                               bool with_trace, struct vbs_replay **replay)
{
    const struct manner manner = {.memory_bytes = memory_bytes, .with_trace = with_trace};

    return replay_all(ctx, profile, schedule, &manner, replay);
}

enum vbs_status vbs_replay_observe(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                   const struct vbs_schedule *schedule, int64_t memory_bytes,
                                   vbs_replay_observer *observer, void *self,
                                   struct vbs_replay **replay)
{
    const struct manner manner = {.memory_bytes = memory_bytes, .observer = observer, .self = self};
    struct vbs_replay *made;

    VBS_TRY(replay_all(ctx, profile, schedule, &manner, &made));
    if (replay)
        *replay = made;
    else
        vbs_replay_free(made);
    return VBS_OK;
}

void vbs_replay_free(struct vbs_replay *replay)
{
    if (!replay)
        return;
    free(replay->steps);
    free(replay);
}
