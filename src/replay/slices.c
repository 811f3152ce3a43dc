/* Slices of layers: their channels and bytes, and the progress of each. */
#include "replay/sim.h"

#include "base/fail.h"

#include <inttypes.h>

/* Computes floor(whole * some / all) for 0 <= some <= all. No intermediate product exceeds whole,
 * or all squared. */
static int64_t portion(int64_t whole, int64_t some, int64_t all)
{
    return whole / all * some + whole % all * some / all;
}

static enum vbs_status check_number(struct vbs_ctx *ctx, const struct sim *sim,
                                    const struct vbs_step *step)
{
    if (step->n_slices == 0
            ? step->slice == 0 || step->slice == 1
            : step->n_slices <= VBS_MAX_SLICES && step->slice >= 1 && step->slice <= step->n_slices)
        return VBS_OK;
    return vbs_sim_refuse(ctx, sim, step, "there is no slice %d of %d", step->slice,
                          step->n_slices);
}

/* Refuses a division in which some slice has no channel or no byte of weights. */
static enum vbs_status refuse_empty(struct vbs_ctx *ctx, const struct sim *sim,
                                    const struct vbs_step *step, int64_t weight_bytes)
{
    return vbs_sim_refuse(ctx, sim, step,
                          "some slice would be empty: the layer has %d channels and %" PRId64
                          " bytes of weights",
                          sim->profile->layers[step->layer].channels, weight_bytes);
}

enum vbs_status vbs_sim_slice(struct vbs_ctx *ctx, const struct sim *sim,
                              const struct vbs_step *step, int64_t weight_bytes,
                              struct slice *slice)
{
    int64_t channels = sim->profile->layers[step->layer].channels, first, end;
    /* Units that are not divided: channels, or else bytes, or else one for each slice. */
    int64_t units = channels > 0 ? channels : weight_bytes > 0 ? weight_bytes : step->n_slices;
    enum vbs_status status = check_number(ctx, sim, step);

    *slice = (struct slice){.weights = {0, weight_bytes}, .share = 1};
    if (status != VBS_OK || step->n_slices <= 1)
        return status;
    if (step->n_slices > units)
        return refuse_empty(ctx, sim, step, weight_bytes);
    first = portion(units, step->slice - 1, step->n_slices);
    end = portion(units, step->slice, step->n_slices);
    slice->weights.from = portion(weight_bytes, first, units);
    slice->weights.to = portion(weight_bytes, end, units);
    slice->share =
        channels > 0 ? (double)(end - first) / (double)channels : 1 / (double)step->n_slices;
    if (weight_bytes > 0 && slice->weights.from == slice->weights.to)
        return refuse_empty(ctx, sim, step, weight_bytes);
    return VBS_OK;
}

/* Divides the layer into slices that have finished as many samples as it has. False: memory is out.
 */
static bool begin_division(struct sim *sim, struct tensor *layer, int n_slices)
{
    struct division *division = layer->division;

    if (!division) {
        division = vbs_arena_alloc(&sim->arena, 1, sizeof *division);
        if (!division)
            return false;
        layer->division = division;
    }
    if (division->capacity < n_slices) {
        int capacity = n_slices > 2 * division->capacity ? n_slices : 2 * division->capacity;
        int64_t *done = vbs_arena_alloc(&sim->arena, (size_t)capacity, sizeof *done);

        if (!done)
            return false;
        division->done = done;
        division->capacity = capacity;
    }
    division->n_slices = division->n_last = n_slices;
    division->furthest = layer->done;
    for (int i = 0; i < n_slices; i++)
        division->done[i] = layer->done;
    return true;
}

enum vbs_status vbs_sim_divide(struct vbs_ctx *ctx, struct sim *sim, const struct vbs_step *step,
                               int64_t *done)
{
    struct tensor *layer = &sim->tensors[step->layer];
    int n_slices = step->n_slices > 1 ? step->n_slices : 1;

    if (layer->divided && layer->division->n_slices != n_slices) {
        return vbs_sim_refuse(
            ctx, sim, step, "the layer runs %s while one of its %d slices is ahead of another",
            n_slices == 1 ? "whole" : "in another number of slices", layer->division->n_slices);
    }
    if (!layer->divided && !begin_division(sim, layer, n_slices))
        return vbs_no_memory(ctx);
    *done = layer->division->done[step->slice - 1];
    return VBS_OK;
}

/* Finds the progress of the layer, which is that of its last slice, and how many slices have no
 * more. Each slice has advanced since the time before, so that this costs a step no more than one
 * look. */
static void find_last(struct tensor *layer)
{
    struct division *division = layer->division;

    layer->done = division->done[0];
    division->n_last = 0;
    for (int i = 0; i < division->n_slices; i++) {
        if (division->done[i] < layer->done) {
            layer->done = division->done[i];
            division->n_last = 0;
        }
        if (division->done[i] == layer->done)
            division->n_last++;
    }
}

int64_t vbs_sim_move_slice(struct sim *sim, const struct vbs_step *step)
{
    struct tensor *layer = &sim->tensors[step->layer];
    struct division *division = layer->division;
    int64_t *done = &division->done[step->slice - 1], fresh = 0;
    bool was_last = *done == layer->done;

    *done += step->batch;
    if (*done > division->furthest) {
        fresh = *done - division->furthest;
        division->furthest = *done;
    }
    if (was_last && --division->n_last == 0)
        find_last(layer);
    sim->n_divided -= layer->divided;
    layer->divided = layer->done != division->furthest;
    sim->n_divided += layer->divided;
    return fresh;
}
