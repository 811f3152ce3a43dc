/* Walking through a schedule: progress of layers and parts, what is live, what in place allows. */
#include "exec/check/walk.h"

#include "base/arith.h"
#include "base/fail.h"
#include "vbslab/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS_BETWEEN_CANCEL_CHECKS 65536

/* A layer and the tensor that it writes; [0] is the network's input. */
struct progress {
    int64_t sample_bytes;
    int done;     /* samples that all parts have finished; of the input all */
    int furthest; /* samples that some part has finished */
    int freed;    /* samples that all readers have finished */
    bool counted; /* live samples stay inside the budget between steps */
    int n_readers;
    int *readers;
    int parts, n_last, max_parts; /* while some part is ahead; n_last parts have done the fewest */
    int *part_done;
};

struct walker {
    struct vbs_ctx *ctx;
    struct vbs_exec_walk *walk;
    const struct vbs_profile *profile;
    const struct vbs_schedule *schedule;
    struct vbs_exec_rows rows;
    struct progress *layers; /* [n_layers + 1] */
    int request;
    bool external;
    int64_t live_bytes;   /* between steps */
    int64_t loaded_bytes; /* weights */
    int64_t n_visits;
};

/* floor(whole * some / all) for 0 <= some <= all: no product exceeds whole, or all squared. */
static int64_t portion(int64_t whole, int64_t some, int64_t all)
{
    return whole / all * some + whole % all * some / all;
}

/* Of so many pieces a part is made. */
static int64_t pieces_of(const struct vbs_exec_image *image)
{
    return image->channels > 0 ? image->channels : image->bytes;
}

struct vbs_exec_range vbs_exec_range(const struct vbs_exec_image *image, int part, int parts)
{
    int64_t pieces = pieces_of(image), first, end;

    if (parts <= 1)
        return (struct vbs_exec_range){0, image->bytes, 0, image->packed_bytes};
    first = portion(pieces, part - 1, parts);
    end = portion(pieces, part, parts);
    return (struct vbs_exec_range){
        portion(image->bytes, first, pieces), portion(image->bytes, end, pieces),
        portion(image->packed_bytes, first, pieces), portion(image->packed_bytes, end, pieces)};
}

enum vbs_status vbs_exec_refuse(struct vbs_ctx *ctx, const struct vbs_exec_walk *walk, int64_t i)
{
    const struct vbs_step *step = &walk->schedule->steps[i];
    char where[VBS_DETAIL_SIZE], batch[32] = "", part[40] = "", op[16] = "";

    if (step->op == VBS_STEP_COMPUTE)
        snprintf(batch, sizeof batch, " at batch %d", step->batch);
    else
        snprintf(op, sizeof op, "%s of ", vbs_step_word((enum vbs_step_op)step->op));
    if (step->n_slices > 1)
        snprintf(part, sizeof part, ", part %d of %d", step->slice, step->n_slices);
    snprintf(where, sizeof where, "step %" PRId64 " of %" PRId64 ", %slayer %d '%s'%s%s", i + 1,
             walk->schedule->n_steps, op, step->layer, walk->profile->layers[step->layer].name,
             batch, part);
    return vbs_fail_within(ctx, VBS_INVALID, where);
}

static enum vbs_status refuse(struct walker *w, int64_t i, const char *why)
{
    (void)vbs_fail(w->ctx, VBS_INVALID, "%s", why);
    return vbs_exec_refuse(w->ctx, w->walk, i);
}

static enum vbs_status refuse_overflow(struct walker *w, int64_t i)
{
    return refuse(w, i, "needs more bytes than can be counted");
}

/* ---- the start ---- */

static enum vbs_status check_size(struct walker *w)
{
    int64_t n = w->schedule->n_steps, samples;

    if (w->schedule->request < 1)
        return vbs_fail(w->ctx, VBS_INVALID, "a request of %" PRId64 " samples",
                        w->schedule->request);
    if (n > VBS_EXEC_MAX_STEPS)
        return vbs_fail(w->ctx, VBS_USAGE,
                        "the schedule has %" PRId64 " steps; up to %d can be executed", n,
                        VBS_EXEC_MAX_STEPS);
    if (!vbs_mul(w->profile->n_layers + 1, w->schedule->request, &samples) ||
        samples > VBS_EXEC_MAX_SAMPLES)
        return vbs_fail(w->ctx, VBS_USAGE,
                        "%" PRId64 " samples in %d layers are too many to be executed; a request "
                        "of up to %d can be",
                        w->schedule->request, w->profile->n_layers,
                        VBS_EXEC_MAX_SAMPLES / (w->profile->n_layers + 1));
    w->request = (int)w->schedule->request;
    return VBS_OK;
}

/* The readers of every tensor, a layer that names an input twice twice. */
static bool link_layers(struct walker *w)
{
    const struct vbs_profile *profile = w->profile;

    for (int k = 1; k <= profile->n_layers; k++)
        for (int i = 0; i < profile->layers[k].n_inputs; i++)
            w->layers[profile->layers[k].inputs[i]].n_readers++;
    for (int k = 0; k <= profile->n_layers; k++) {
        struct progress *layer = &w->layers[k];

        layer->readers =
            vbs_arena_alloc(&w->walk->arena, (size_t)layer->n_readers, sizeof *layer->readers);
        if (!layer->readers)
            return false;
        w->walk->is_read[k] = layer->n_readers > 0;
        layer->n_readers = 0;
    }
    for (int k = 1; k <= profile->n_layers; k++)
        for (int i = 0; i < profile->layers[k].n_inputs; i++) {
            struct progress *input = &w->layers[profile->layers[k].inputs[i]];

            input->readers[input->n_readers++] = k;
        }
    return true;
}

static enum vbs_status begin(struct walker *w)
{
    const struct vbs_profile *profile = w->profile;
    struct vbs_exec_walk *walk = w->walk;
    size_t n = (size_t)profile->n_layers + 1;

    walk->steps = vbs_arena_alloc(&walk->arena, (size_t)w->schedule->n_steps, sizeof *walk->steps);
    walk->is_read = vbs_arena_alloc(&walk->arena, n, sizeof *walk->is_read);
    walk->shares = vbs_arena_alloc(&walk->arena, n, sizeof *walk->shares);
    w->layers = vbs_arena_alloc(&walk->arena, n, sizeof *w->layers);
    if (!walk->steps || !walk->is_read || !walk->shares || !w->layers || !link_layers(w))
        return vbs_no_memory(w->ctx);
    for (int k = 0; k < (int)n; k++) {
        const struct vbs_profile_layer *layer = &profile->layers[k];

        w->layers[k].sample_bytes = layer->out_bytes;
        w->layers[k].counted = !w->external || (k > 0 && walk->is_read[k]);
        walk->shares[k] = layer->in_place;
        if (layer->in_place && profile->layers[layer->inputs[0]].out_bytes != layer->out_bytes)
            return vbs_fail(w->ctx, VBS_UNSUPPORTED,
                            "layer %d '%s' is in place, but not as large as its first input", k,
                            layer->name);
    }
    w->layers[0].done = w->layers[0].furthest = w->request;
    if (!w->external && !vbs_mul(w->request, w->layers[0].sample_bytes, &w->live_bytes))
        return vbs_fail(w->ctx, VBS_INVALID,
                        "the request's inputs take more than %" PRId64 " bytes", VBS_MAX_BYTES);
    return VBS_OK;
}

/* ---- parts ---- */

static enum vbs_status check_part(struct walker *w, int64_t i, const struct vbs_exec_image *image)
{
    const struct vbs_step *step = &w->schedule->steps[i];
    int channels = w->profile->layers[step->layer].channels;
    struct vbs_exec_range range;

    if (step->n_slices == 0 ? step->slice != 0 && step->slice != 1
                            : step->n_slices < 0 || step->n_slices > VBS_MAX_PARTS ||
                                  step->slice < 1 || step->slice > step->n_slices) {
        (void)vbs_fail(w->ctx, VBS_INVALID, "there is no part %d of %d", step->slice,
                       step->n_slices);
        return vbs_exec_refuse(w->ctx, w->walk, i);
    }
    if (step->n_slices <= 1)
        return VBS_OK;
    if (channels > 0 && step->n_slices > channels)
        return refuse(w, i, "the layer has fewer channels than parts");
    if (!image)
        return VBS_OK;
    range = vbs_exec_range(image, step->slice, step->n_slices);
    if (step->n_slices > pieces_of(image) || range.from == range.to)
        return refuse(w, i, "nothing is left of the weights for some part");
    return VBS_OK;
}

/* All parts as far as the layer. */
static bool divide(struct walker *w, struct progress *layer, int parts)
{
    if (layer->max_parts < parts) {
        int max = parts > 2 * layer->max_parts ? parts : 2 * layer->max_parts;

        layer->part_done = vbs_arena_alloc(&w->walk->arena, (size_t)max, sizeof(int));
        if (!layer->part_done)
            return false;
        layer->max_parts = max;
    }
    layer->parts = layer->n_last = parts;
    for (int p = 0; p < parts; p++)
        layer->part_done[p] = layer->done;
    return true;
}

/* *done: samples that the step's part has finished. */
static enum vbs_status enter_part(struct walker *w, int64_t i, int *done)
{
    const struct vbs_step *step = &w->schedule->steps[i];
    struct progress *layer = &w->layers[step->layer];
    int parts = step->n_slices > 1 ? step->n_slices : 1;
    bool is_divided = layer->done < layer->furthest;

    if (is_divided && layer->parts != parts) {
        (void)vbs_fail(w->ctx, VBS_INVALID,
                       "the layer is taken in %d part%s while, of %d, one is ahead of another",
                       parts, parts == 1 ? "" : "s", layer->parts);
        return vbs_exec_refuse(w->ctx, w->walk, i);
    }
    *done = layer->done;
    if (parts == 1)
        return VBS_OK;
    if (!is_divided && !divide(w, layer, parts))
        return vbs_no_memory(w->ctx);
    *done = layer->part_done[step->slice - 1];
    return VBS_OK;
}

/* The layer is as far as its last part. */
static void find_last(struct progress *layer)
{
    layer->done = layer->part_done[0];
    layer->n_last = 0;
    for (int p = 0; p < layer->parts; p++) {
        if (layer->part_done[p] < layer->done) {
            layer->done = layer->part_done[p];
            layer->n_last = 0;
        }
        layer->n_last += layer->part_done[p] == layer->done;
    }
}

/* Moves the step's part on; returns how many of its samples no part had finished before. */
static int advance(struct progress *layer, const struct vbs_step *step, int done)
{
    int end = done + step->batch, fresh = end > layer->furthest ? end - layer->furthest : 0;

    if (fresh > 0)
        layer->furthest = end;
    if (step->n_slices <= 1) {
        layer->done = end;
        return fresh;
    }
    layer->part_done[step->slice - 1] = end;
    if (done == layer->done && --layer->n_last == 0)
        find_last(layer);
    return fresh;
}

/* ---- compute steps ---- */

static enum vbs_status check_order(struct walker *w, int64_t i, int done)
{
    const struct vbs_step *step = &w->schedule->steps[i];
    const struct vbs_profile_layer *layer = &w->profile->layers[step->layer];

    if (step->batch > w->request - done) {
        (void)vbs_fail(w->ctx, VBS_INVALID,
                       "runs past the request; the layer has finished %d of %d samples", done,
                       w->request);
        return vbs_exec_refuse(w->ctx, w->walk, i);
    }
    for (int n = 0; n < layer->n_inputs; n++) {
        int input = layer->inputs[n];

        if (w->layers[input].done >= done + step->batch)
            continue;
        (void)vbs_fail(
            w->ctx, VBS_INVALID, "reads up to sample %d of layer %d '%s', which has finished %d",
            done + step->batch, input, w->profile->layers[input].name, w->layers[input].done);
        return vbs_exec_refuse(w->ctx, w->walk, i);
    }
    return VBS_OK;
}

/* Samples of tensor that became free because one of its readers went on. */
static int release(const struct walker *w, struct progress *tensor)
{
    int least = w->request, before = tensor->freed;

    for (int i = 0; i < tensor->n_readers; i++)
        if (w->layers[tensor->readers[i]].done < least)
            least = w->layers[tensor->readers[i]].done;
    tensor->freed = least;
    return least - before;
}

/* What is live after the layer went on from done_before; *first: samples of its first input that
 * are free now. */
static int64_t release_inputs(struct walker *w, int layer, int done_before, int *first)
{
    const struct vbs_profile_layer *l = &w->profile->layers[layer];
    int64_t bytes = 0;

    *first = 0;
    for (int i = 0; i < l->n_inputs; i++) {
        struct progress *input = &w->layers[l->inputs[i]];
        int n;

        if (w->layers[layer].done == done_before || input->freed != done_before)
            continue; /* another reader is still behind */
        n = release(w, input);
        if (i == 0)
            *first = n;
        if (input->counted)
            bytes += n * input->sample_bytes;
    }
    return bytes;
}

static bool reads_outside(const struct walker *w, int layer)
{
    const struct vbs_profile_layer *l = &w->profile->layers[layer];
    bool reads = false;

    for (int i = 0; i < l->n_inputs && w->external; i++)
        reads = reads || l->inputs[i] == 0;
    return reads;
}

/* The memory of a step (docs/accounting.md), and what happens to its terms in parts (schedule.h).
 */
static enum vbs_status count_step(struct walker *w, int64_t i, int done,
                                  const struct vbs_profile_row *row)
{
    const struct vbs_step *step = &w->schedule->steps[i];
    struct progress *layer = &w->layers[step->layer];
    int done_before = layer->done, fresh = advance(layer, step, done), first;
    int n_out = layer->counted ? fresh : step->batch;
    int64_t out_bytes, outside_bytes = 0, bytes, freed_bytes, added_bytes;

    w->walk->steps[i].again = fresh < step->batch;
    if (!vbs_mul(n_out, layer->sample_bytes, &out_bytes) ||
        (reads_outside(w, step->layer) &&
         !vbs_mul(step->batch, w->layers[0].sample_bytes, &outside_bytes)))
        return refuse_overflow(w, i);
    freed_bytes = release_inputs(w, step->layer, done_before, &first);
    added_bytes = out_bytes;
    if (w->profile->layers[step->layer].in_place)
        added_bytes = out_bytes - first * layer->sample_bytes;
    if (first != step->batch)
        w->walk->shares[step->layer] = false;
    if (!vbs_add(w->live_bytes, outside_bytes, &bytes) || !vbs_add(bytes, added_bytes, &bytes) ||
        !vbs_add(bytes, row->ws_bytes, &bytes) || !vbs_add(bytes, w->loaded_bytes, &bytes))
        return refuse_overflow(w, i);
    if (bytes > w->walk->live_bytes)
        w->walk->live_bytes = bytes;
    w->live_bytes += (layer->counted ? out_bytes : 0) - freed_bytes;
    return VBS_OK;
}

static enum vbs_status compute(struct walker *w, int64_t i)
{
    const struct vbs_step *step = &w->schedule->steps[i];
    const struct progress *layer = &w->layers[step->layer];
    struct vbs_exec_walked *walked = &w->walk->steps[i];
    const struct vbs_profile_row *row;
    enum vbs_status status = vbs_exec_find_row(w->ctx, &w->rows, i, &row);

    if (status != VBS_OK)
        return status;
    status = vbs_exec_find_kernel(w->ctx, &w->rows, i, row, &walked->kernel);
    if (status != VBS_OK)
        return status;
    walked->image = w->walk->kernels[walked->kernel].image;
    status = check_part(w, i, walked->image < 0 ? NULL : &w->walk->images[walked->image]);
    if (status != VBS_OK)
        return status;
    if (!vbs_profile_divides(&w->profile->layers[step->layer], row, step->n_slices)) {
        (void)vbs_fail(w->ctx, VBS_INVALID,
                       "the layer cannot be taken in parts with algorithm '%s'",
                       w->profile->algorithms[row->algorithm]);
        return vbs_exec_refuse(w->ctx, w->walk, i);
    }
    status = enter_part(w, i, &walked->first);
    if (status == VBS_OK)
        status = check_order(w, i, walked->first);
    if (status != VBS_OK)
        return status;
    walked->divided = step->n_slices > 1 || layer->done < layer->furthest;
    w->n_visits += (int64_t)step->batch * (1 + w->profile->layers[step->layer].n_inputs);
    if (w->n_visits > VBS_EXEC_MAX_VISITS)
        return vbs_fail(w->ctx, VBS_USAGE,
                        "the schedule is too large to be executed: its steps "
                        "read and write more than %" PRId64 " samples",
                        VBS_EXEC_MAX_VISITS);
    return count_step(w, i, walked->first, row);
}

/* ---- transfers ---- */

/* Whether weights are where they are read, dropped or loaded is for weights_pieces.c to say. */
static enum vbs_status transfer(struct walker *w, int64_t i)
{
    const struct vbs_step *step = &w->schedule->steps[i];
    struct vbs_exec_walked *walked = &w->walk->steps[i];
    struct vbs_exec_range range;
    enum vbs_status status;
    int64_t bytes;

    walked->kernel = -1;
    if (w->schedule->weights != VBS_WEIGHTS_INCLUDED)
        return refuse(w, i, "the schedule leaves weights outside its budget");
    status = vbs_exec_find_image(w->ctx, &w->rows, i, step->layer, step->format, &walked->image);
    if (status == VBS_OK)
        status = check_part(w, i, &w->walk->images[walked->image]);
    if (status != VBS_OK)
        return status;
    range = vbs_exec_range(&w->walk->images[walked->image], step->slice, step->n_slices);
    bytes = range.to - range.from;
    if (step->bytes != bytes) {
        (void)vbs_fail(w->ctx, VBS_INVALID, "says %" PRId64 " bytes, the profile %" PRId64,
                       step->bytes, bytes);
        return vbs_exec_refuse(w->ctx, w->walk, i);
    }
    if (step->op == VBS_STEP_LOAD && step->resident && i != w->walk->n_residents++)
        return refuse(w, i, "a resident load stands behind other steps");
    if (step->op == VBS_STEP_EVICT)
        bytes = -bytes;
    else if (!vbs_add(w->loaded_bytes, bytes, &bytes) || !vbs_add(bytes, w->live_bytes, &bytes))
        return refuse_overflow(w, i);
    else
        bytes = range.to - range.from;
    w->loaded_bytes += bytes;
    if (w->live_bytes + w->loaded_bytes > w->walk->live_bytes)
        w->walk->live_bytes = w->live_bytes + w->loaded_bytes;
    return VBS_OK;
}

/* ---- the whole ---- */

static enum vbs_status walk_steps(struct walker *w)
{
    const struct vbs_schedule *schedule = w->schedule;

    for (int64_t i = 0; i < schedule->n_steps; i++) {
        const struct vbs_step *step = &schedule->steps[i];
        enum vbs_status status;

        if (i % STEPS_BETWEEN_CANCEL_CHECKS == 0 && vbs_cancelled(w->ctx))
            return vbs_fail(w->ctx, VBS_INTERRUPTED, "interrupted");
        if (step->layer < 1 || step->layer > w->profile->n_layers || step->op > VBS_STEP_EVICT)
            return vbs_fail(w->ctx, VBS_INVALID,
                            "step %" PRId64 " of %" PRId64 ": there is no layer %d or operation %d",
                            i + 1, schedule->n_steps, step->layer, step->op);
        status = step->op == VBS_STEP_COMPUTE ? compute(w, i) : transfer(w, i);
        if (status != VBS_OK)
            return status;
    }
    for (int k = 1; k <= w->profile->n_layers; k++)
        if (w->layers[k].done != w->request)
            return vbs_fail(w->ctx, VBS_INVALID,
                            "after the last step layer %d '%s' has finished %d of %d samples", k,
                            w->profile->layers[k].name, w->layers[k].done, w->request);
    return VBS_OK;
}

enum vbs_status vbs_exec_walk_init(struct vbs_ctx *ctx, struct vbs_exec_walk *walk,
                                   const struct vbs_profile *profile,
                                   const struct vbs_schedule *schedule)
{
    struct walker w = {.ctx = ctx,
                       .walk = walk,
                       .profile = profile,
                       .schedule = schedule,
                       .external = schedule->io == VBS_IO_EXTERNAL};
    enum vbs_status status = check_size(&w);

    walk->profile = profile;
    walk->schedule = schedule;
    if (status == VBS_OK)
        status = begin(&w);
    if (status == VBS_OK)
        status = vbs_exec_rows_init(ctx, &w.rows, walk);
    if (status != VBS_OK)
        return status;
    status = walk_steps(&w);
    vbs_exec_rows_clear(&w.rows);
    return status;
}

void vbs_exec_walk_clear(struct vbs_exec_walk *walk)
{
    free(walk->kernels);
    free(walk->images);
    vbs_arena_clear(&walk->arena);
    *walk = (struct vbs_exec_walk){0};
}
