/* Weights inside the budget: loads and evicts (schedule.h). Their clock is in copies.c. */
#include "replay/sim.h"

#include "base/arith.h"
#include "base/fail.h"

#include <inttypes.h>

/* Finds the slice of the packed weights that a transfer moves, and checks its size. */
static enum vbs_status find_slice(struct vbs_ctx *ctx, const struct sim *sim,
                                  const struct vbs_step *step, struct packed **packed,
                                  struct slice *slice)
{
    int64_t bytes;

    *packed = vbs_loaded_packed(&sim->loaded, step->layer, step->format);
    if (!*packed)
        return vbs_sim_refuse(ctx, sim, step, "the profile has no weights in packed format %d",
                              step->format);
    VBS_TRY(vbs_sim_slice(ctx, sim, step, (*packed)->bytes, slice));
    bytes = slice->weights.to - slice->weights.from;
    if (step->bytes == bytes)
        return VBS_OK;
    return vbs_sim_refuse(ctx, sim, step, "says %" PRId64 " bytes, the profile %" PRId64,
                          step->bytes, bytes);
}

/* Checks that a copy takes some time. */
static enum vbs_status check_copy(struct vbs_ctx *ctx, const struct sim *sim,
                                  const struct vbs_step *step)
{
    const struct vbs_link *link = &sim->link;
    double time_us;

    if (!link->source)
        return vbs_sim_refuse(ctx, sim, step,
                              "the schedule does not say where weights are copied from");
    if (!(link->bytes_per_us > 0))
        return vbs_sim_refuse(ctx, sim, step, "nothing can be copied from '%s': 0 bytes per us",
                              link->source);
    time_us = vbs_sim_copy_us(sim, step);
    if (!(time_us >= 0 && time_us <= VBS_MAX_TIME_US))
        return vbs_sim_refuse(ctx, sim, step, "the copy would take for ever");
    return VBS_OK;
}

static enum vbs_status result_status(struct vbs_ctx *ctx, const struct sim *sim,
                                     const struct vbs_step *step, enum loaded_result result)
{
    switch (result) {
    case LOADED_TWICE:
        return vbs_sim_refuse(ctx, sim, step, "weights are loaded that are already in memory");
    case LOADED_MISSING:
        return vbs_sim_refuse(ctx, sim, step,
                              step->op == VBS_STEP_EVICT
                                  ? "weights are evicted that are not in memory"
                                  : "its weights are not all in memory");
    case LOADED_TOO_MUCH:
        return vbs_sim_refuse_overflow(ctx, sim, step);
    case LOADED_NO_MEMORY:
        return vbs_no_memory(ctx);
    default:
        return VBS_OK;
    }
}

static enum vbs_status load(struct vbs_ctx *ctx, struct sim *sim, const struct vbs_step *step,
                            struct vbs_replay *replay)
{
    if (step->resident) {
        if (step != sim->schedule->steps + sim->n_residents)
            return vbs_sim_refuse(ctx, sim, step, "a resident load stands behind other steps");
        if (!vbs_add(replay->resident_bytes, step->bytes, &replay->resident_bytes))
            return vbs_sim_refuse_overflow(ctx, sim, step);
        sim->n_residents++;
        return VBS_OK;
    }
    VBS_TRY(check_copy(ctx, sim, step));
    if (!vbs_add(replay->copied_bytes, step->bytes, &replay->copied_bytes))
        return vbs_sim_refuse_overflow(ctx, sim, step);
    replay->n_copies++;
    vbs_sim_issue(sim, step);
    return VBS_OK;
}

enum vbs_status vbs_sim_transfer(struct vbs_ctx *ctx, struct sim *sim, const struct vbs_step *step,
                                 struct vbs_replay *replay, struct vbs_replay_step *record)
{
    struct packed *packed;
    struct slice slice;
    int64_t load_number;

    if (!sim->counts_weights)
        return vbs_sim_refuse(ctx, sim, step, "the schedule leaves weights outside its budget");
    VBS_TRY(find_slice(ctx, sim, step, &packed, &slice));
    *record = (struct vbs_replay_step){.start_us = sim->clock_us,
                                       .end_us = sim->clock_us,
                                       .live_bytes = sim->live_bytes,
                                       .after_bytes = sim->live_bytes,
                                       .chunk = sim->chunk};
    if (step->op == VBS_STEP_LOAD) {
        VBS_TRY(load(ctx, sim, step, replay));
        load_number = step->resident ? -1 : replay->n_copies - 1;
        VBS_TRY(result_status(ctx, sim, step,
                              vbs_loaded_add(&sim->loaded, packed, &slice.weights, load_number)));
    } else {
        VBS_TRY(result_status(
            ctx, sim, step, vbs_loaded_remove(&sim->loaded, packed, &slice.weights, &load_number)));
    }
    record->weight_bytes = sim->loaded.bytes;
    record->wait_us = sim->chunk_us;
    if (!vbs_add(record->live_bytes, record->weight_bytes, &record->memory_bytes))
        return vbs_sim_refuse_overflow(ctx, sim, step);
    sim->event = (struct vbs_replay_event){
        .load = load_number, .weights_from = slice.weights.from, .weights_to = slice.weights.to};
    return VBS_OK;
}

enum vbs_status vbs_sim_read_weights(struct vbs_ctx *ctx, struct sim *sim,
                                     const struct vbs_step *step, int format,
                                     const struct byte_range *weights, int64_t *load)
{
    struct packed *packed = vbs_loaded_packed(&sim->loaded, step->layer, format);

    return result_status(ctx, sim, step, vbs_loaded_read(packed, weights, load));
}

enum vbs_status vbs_sim_check_residents(struct vbs_ctx *ctx, struct sim *sim)
{
    const struct vbs_schedule *schedule = sim->schedule;

    for (int64_t i = 0; i < sim->n_residents; i++) {
        const struct vbs_step *step = &schedule->steps[i];
        struct packed *packed;
        struct slice slice;
        int64_t load;

        VBS_TRY(find_slice(ctx, sim, step, &packed, &slice));
        if (vbs_loaded_read(packed, &slice.weights, &load) != LOADED_DONE)
            return vbs_sim_refuse(ctx, sim, step,
                                  "resident weights are not in memory after the last step");
    }
    return VBS_OK;
}
