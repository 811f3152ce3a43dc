/* The state in which a replay starts. */
#include "replay/sim.h"

#include "base/arith.h"
#include "base/fail.h"
#include "vbslab/units.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Lists the readers of every tensor. A layer that names an input twice is its reader twice, which
 * changes nothing: the second time no sample is left to release. */
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

/* Decides which tensors count between steps, by the io accounting. */
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

/* Makes tables that lead from a step to its row of the profile in constant time. */
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

/* Chooses the link: the profile's for the schedule's source, or else the schedule's own, without
 * factors of other layers than the profile's. */
static enum vbs_status place_weights(struct vbs_ctx *ctx, struct sim *sim)
{
    const struct vbs_link *planned = &sim->schedule->copy;
    const struct vbs_copy *copy =
        planned->source ? vbs_profile_copy(sim->profile, planned->source) : NULL;

    sim->counts_weights = true;
    sim->link = copy ? copy->link : *planned;
    if (!copy && sim->schedule->n_layers > 0 && sim->schedule->n_layers != sim->profile->n_layers)
        sim->link.beside = NULL;
    if (!vbs_loaded_init(&sim->loaded, &sim->arena, sim->profile))
        return vbs_no_memory(ctx);
    return VBS_OK;
}

enum vbs_status vbs_sim_init(struct vbs_ctx *ctx, struct sim *sim,
                             const struct vbs_profile *profile, const struct vbs_schedule *schedule)
{
    sim->profile = profile;
    sim->schedule = schedule;
    sim->n_at_front = profile->n_layers;
    sim->chunk = 1;
    sim->ends_by_state = schedule->io == VBS_IO_EXTERNAL;
    if (schedule->request < 1)
        return vbs_fail(ctx, VBS_INVALID, "a request of %" PRId64 " samples", schedule->request);
    sim->tensors =
        vbs_arena_alloc(&sim->arena, (size_t)profile->n_layers + 1, sizeof *sim->tensors);
    if (!sim->tensors || !link_tensors(sim) || !index_rows(sim))
        return vbs_no_memory(ctx);
    VBS_TRY(place_io(ctx, sim));
    if (schedule->weights == VBS_WEIGHTS_INCLUDED)
        VBS_TRY(place_weights(ctx, sim));
    return VBS_OK;
}

void vbs_sim_clear(struct sim *sim)
{
    for (int k = 0; sim->tensors && k <= sim->profile->n_layers; k++)
        free(sim->tensors[k].sizes.list);
    vbs_loaded_clear(&sim->loaded);
    free(sim->held.list);
    vbs_arena_clear(&sim->arena);
}

enum vbs_status vbs_sim_refuse(struct vbs_ctx *ctx, const struct sim *sim,
                               const struct vbs_step *step, const char *format, ...)
{
    char where[VBS_DETAIL_SIZE], batch[32] = "", slice[60] = "", op[16] = "";
    enum vbs_status status;
    va_list args;

    if (step->op == VBS_STEP_COMPUTE)
        snprintf(batch, sizeof batch, " at batch %d", step->batch);
    else
        snprintf(op, sizeof op, "%s of ", step->op == VBS_STEP_EVICT ? "eviction" : "load");
    if (step->n_slices > 1)
        snprintf(slice, sizeof slice, ", slice %d of %d", step->slice, step->n_slices);
    else if (step->rows > 0)
        snprintf(slice, sizeof slice, ", rows %d to %" PRId64, step->row,
                 (int64_t)step->row + step->rows - 1);
    snprintf(where, sizeof where, "step %" PRId64 " of %" PRId64 ", %slayer %d '%s'%s%s",
             (int64_t)(step - sim->schedule->steps) + 1, sim->schedule->n_steps, op, step->layer,
             sim->profile->layers[step->layer].name, batch, slice);
    va_start(args, format);
    status = vbs_vfail_at(ctx, VBS_INVALID, where, format, args);
    va_end(args);
    return status;
}

enum vbs_status vbs_sim_refuse_overflow(struct vbs_ctx *ctx, const struct sim *sim,
                                        const struct vbs_step *step)
{
    return vbs_sim_refuse(ctx, sim, step, "needs more than %" PRId64 " bytes", VBS_MAX_BYTES);
}
