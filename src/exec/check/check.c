#include "exec/check/check.h"

#include "base/arith.h"
#include "base/fail.h"
#include "exec/check/tables.h"
#include "vbslab/replay.h"

#include <inttypes.h>
#include <stdlib.h>

struct checking {
    struct vbs_exec_checked *checked;
    struct vbs_exec_tables tables;
    int64_t n_visits;
};

/* Computes floor(whole * some / all) for 0 <= some <= all. No intermediate product exceeds whole,
 * or all squared. */
static int64_t portion(int64_t whole, int64_t some, int64_t all)
{
    return whole / all * some + whole % all * some / all;
}

struct vbs_exec_range vbs_exec_slice_range(const struct vbs_exec_packed *packed, int slice,
                                           int n_slices)
{
    int64_t units = packed->channels > 0 ? packed->channels : packed->bytes, first, end;

    if (n_slices <= 1)
        return (struct vbs_exec_range){0, packed->bytes, 0, packed->packed_bytes};
    first = portion(units, slice - 1, n_slices);
    end = portion(units, slice, n_slices);
    return (struct vbs_exec_range){
        portion(packed->bytes, first, units), portion(packed->bytes, end, units),
        portion(packed->packed_bytes, first, units), portion(packed->packed_bytes, end, units)};
}

/* ---- before the replay ---- */

static enum vbs_status check_size(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                  const struct vbs_schedule *schedule)
{
    int64_t samples;

    if (schedule->request < 1)
        return vbs_fail(ctx, VBS_INVALID, "a request of %" PRId64 " samples", schedule->request);
    if (schedule->n_steps > VBS_EXEC_MAX_STEPS)
        return vbs_fail(ctx, VBS_USAGE,
                        "the schedule has %" PRId64 " steps; up to %d can be executed",
                        schedule->n_steps, VBS_EXEC_MAX_STEPS);
    if (!vbs_mul(profile->n_layers + 1, schedule->request, &samples) ||
        samples > VBS_EXEC_MAX_SAMPLES)
        return vbs_fail(ctx, VBS_USAGE,
                        "%" PRId64 " samples in %d layers are too many to be executed; a request "
                        "of up to %d can be",
                        schedule->request, profile->n_layers,
                        VBS_EXEC_MAX_SAMPLES / (profile->n_layers + 1));
    return VBS_OK;
}

static enum vbs_status allocate(struct vbs_ctx *ctx, struct vbs_exec_checked *checked)
{
    size_t n_layers = (size_t)checked->profile->n_layers + 1;
    size_t n_steps = (size_t)checked->schedule->n_steps;

    checked->steps = vbs_arena_alloc(&checked->arena, n_steps, sizeof *checked->steps);
    checked->is_read = vbs_arena_alloc(&checked->arena, n_layers, sizeof *checked->is_read);
    checked->shares = vbs_arena_alloc(&checked->arena, n_layers, sizeof *checked->shares);
    checked->has_rings = vbs_arena_alloc(&checked->arena, n_layers, sizeof *checked->has_rings);
    return checked->steps && checked->is_read && checked->shares && checked->has_rings
               ? VBS_OK
               : vbs_no_memory(ctx);
}

static enum vbs_status describe_layers(struct vbs_ctx *ctx, struct vbs_exec_checked *checked)
{
    const struct vbs_profile *profile = checked->profile;

    for (int k = 1; k <= profile->n_layers; k++) {
        const struct vbs_profile_layer *layer = &profile->layers[k];

        for (int i = 0; i < layer->n_inputs; i++)
            checked->is_read[layer->inputs[i]] = true;
        checked->shares[k] = layer->in_place;
        if (layer->in_place && profile->layers[layer->inputs[0]].out_bytes != layer->out_bytes)
            return vbs_fail(ctx, VBS_UNSUPPORTED,
                            "layer %d '%s' is in place, but not as large as its first input", k,
                            layer->name);
    }
    return VBS_OK;
}

/* ---- steps ---- */

static enum vbs_status note_compute(struct vbs_ctx *ctx, struct checking *c,
                                    const struct vbs_replay_event *event)
{
    struct vbs_exec_checked *checked = c->checked;
    const struct vbs_step *step = event->step;
    struct vbs_exec_checked_step *noted = &checked->steps[event->index];

    VBS_TRY(vbs_exec_find_kernel(ctx, &c->tables, step, event->row, &noted->kernel));
    noted->packed = checked->kernels[noted->kernel].packed;
    noted->first = (int)event->record->done_before;
    noted->waits = (int)event->load + 1;
    noted->again = event->n_fresh < step->batch;
    if (event->n_released != step->batch || step->rows > 0) /* no layer works in place by rows */
        checked->shares[step->layer] = false;
    checked->has_stripes |= vbs_exec_is_stripe(checked->profile, step);
    if (vbs_exec_ring_bytes(checked->profile, step) > 0)
        checked->needs_rings = checked->has_rings[step->layer] = true;
    c->n_visits += (int64_t)step->batch * (1 + checked->profile->layers[step->layer].n_inputs);
    if (c->n_visits > VBS_EXEC_MAX_VISITS)
        return vbs_fail(ctx, VBS_USAGE,
                        "the schedule is too large to be executed: its steps "
                        "read and write more than %" PRId64 " samples",
                        VBS_EXEC_MAX_VISITS);
    return VBS_OK;
}

static enum vbs_status note_transfer(struct vbs_ctx *ctx, struct checking *c,
                                     const struct vbs_replay_event *event)
{
    const struct vbs_step *step = event->step;
    struct vbs_exec_checked_step *noted = &c->checked->steps[event->index];

    noted->kernel = -1;
    noted->waits = (int)event->load + 1;
    c->checked->n_residents += step->op == VBS_STEP_LOAD && step->resident;
    return vbs_exec_find_packed(ctx, &c->tables, step->layer, step->format, &noted->packed);
}

/* Is the observer of the replay (struct vbs_replay_observer). */
static enum vbs_status note_step(struct vbs_ctx *ctx, void *self,
                                 const struct vbs_replay_event *event)
{
    struct checking *c = self;
    struct vbs_exec_checked_step *noted = &c->checked->steps[event->index];

    noted->start_us = event->record->start_us;
    noted->end_us = event->record->end_us;
    return event->row ? note_compute(ctx, c, event) : note_transfer(ctx, c, event);
}

/* ---- the whole ---- */

enum vbs_status vbs_exec_check(struct vbs_ctx *ctx, struct vbs_exec_checked *checked,
                               const struct vbs_profile *profile,
                               const struct vbs_schedule *schedule)
{
    struct checking c = {.checked = checked};
    struct vbs_replay *replay;
    enum vbs_status status = check_size(ctx, profile, schedule);

    checked->profile = profile;
    checked->schedule = schedule;
    if (status != VBS_OK)
        return status;
    VBS_TRY(allocate(ctx, checked));
    VBS_TRY(describe_layers(ctx, checked));
    VBS_TRY(vbs_exec_tables_init(ctx, &c.tables, checked));
    status = vbs_replay_observe(ctx, profile, schedule, -1, note_step, &c, &replay);
    if (status == VBS_OK) {
        checked->live_bytes = replay->peak_bytes;
        checked->compute_us = replay->compute_us;
        vbs_replay_free(replay);
    }
    vbs_exec_tables_clear(&c.tables);
    return status;
}

void vbs_exec_checked_clear(struct vbs_exec_checked *checked)
{
    free(checked->kernels);
    free(checked->packed);
    vbs_arena_clear(&checked->arena);
    *checked = (struct vbs_exec_checked){0};
}
