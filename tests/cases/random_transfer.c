#include "cases/random_transfer.h"

#include "base/ctx.h"
#include "reference/plan/brute_transfer.h"
#include "cases/random_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 4096 /* steps */

/* ---- networks ---- */

/* The properties of a layer that random_transfer_profile chooses. */
struct choice {
    struct vbs_profile_layer layer;
    int inputs[2];
    int64_t second_bytes; /* the second algorithm's weights, of format 1; 0: as the first */
};

static void choose_weights(gsl_rng *rng, int max_blocks, struct choice *choice)
{
    int blocks = random_int(rng, 1, max_blocks);

    if (random_once_in(rng, 4))
        return;
    if (random_once_in(rng, 3)) {
        choice->layer.weight_bytes = random_int(rng, 1, 2 * max_blocks);
    } else {
        choice->layer.channels = blocks;
        choice->layer.weight_bytes = random_int(rng, blocks, 5 * blocks);
    }
    if (random_once_in(rng, 3))
        choice->second_bytes =
            choice->layer.weight_bytes + random_int(rng, 0, (int)choice->layer.weight_bytes);
}

static void choose_layer(gsl_rng *rng, int k, int max_blocks, const struct choice *before,
                         int64_t input_bytes, struct choice *choice)
{
    static const char *const NAMES[] = {"", "a", "b", "c", "d"};
    struct vbs_profile_layer *layer = &choice->layer;

    *layer = (struct vbs_profile_layer){.name = NAMES[k],
                                        .kind = "conv",
                                        .n_inputs = k > 1 && random_once_in(rng, 3) ? 2 : 1,
                                        .out_bytes = random_int(rng, 0, 6),
                                        .in_place = random_once_in(rng, 5)};
    choice->inputs[0] = k - 1;
    choice->inputs[1] = random_int(rng, 0, k - 1);
    for (int i = 0; i < layer->n_inputs; i++) {
        int input = choice->inputs[i];

        layer->in_bytes += input == 0 ? input_bytes : before[input].layer.out_bytes;
    }
    choose_weights(rng, max_blocks, choice);
}

static enum vbs_status add_rows(struct vbs_ctx *ctx, gsl_rng *rng,
                                struct vbs_profile_builder *builder, int k,
                                const struct choice *choice, int n_batches)
{
    enum vbs_status status = VBS_OK;
    bool second = choice->second_bytes > 0 || random_once_in(rng, 3);

    for (int b = 1; b <= n_batches; b++)
        for (int a = 0; a <= second && status == VBS_OK; a++) {
            struct vbs_profile_row row = {.time_us = random_int(rng, 1, 12) + 2 * b,
                                          .ws_bytes = random_int(rng, 0, 3)};

            if (a == 1 && choice->second_bytes > 0) {
                row.weight_bytes = choice->second_bytes;
                row.format = 1;
            }
            status = vbs_profile_builder_row(ctx, builder, k, b, a ? "second" : "first", &row);
        }
    return status;
}

struct vbs_profile *random_transfer_profile(gsl_rng *rng, int max_layers, int max_blocks)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct choice choices[BRUTE_LAYERS + 1] = {0};
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};
    int64_t input_bytes = random_int(rng, 1, 5);
    int n_layers = random_int(rng, 1, max_layers), n_batches = random_int(rng, 1, 3);
    enum vbs_status status = VBS_OK;

    for (int k = 1; k <= n_layers && status == VBS_OK; k++) {
        struct choice *choice = &choices[k];

        choose_layer(rng, k, max_blocks, choices, input_bytes, choice);
        choice->layer.inputs = choice->inputs;
        status = vbs_profile_builder_layer(&ctx, builder, &choice->layer);
        if (status == VBS_OK)
            status = add_rows(&ctx, rng, builder, k, choice, n_batches);
    }
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(&ctx, builder, &profile);
    if (status != VBS_OK)
        printf("# no profile: %s\n", vbs_detail(&ctx));
    vbs_profile_builder_free(builder);
    return profile;
}

/* ---- schedules ---- */

/* The bytes of each layer's formats that are in memory. */
struct bytes {
    bool there[BRUTE_LAYERS + 1][BRUTE_FORMATS][BRUTE_WEIGHTS];
};

struct walk {
    gsl_rng *rng;
    const struct vbs_profile *profile;
    int request, max_slices;
    struct brute_progress progress;
    struct bytes loaded, residents;
    struct vbs_step steps[ROOM];
    int n_steps;
};

static int n_there(const struct walk *walk, int layer, int format, const struct brute_slice *range)
{
    int n = 0;

    for (int b = range->from; b < range->to; b++)
        n += walk->loaded.there[layer][format][b];
    return n;
}

/* Gives the largest number of slices into which the layer's weights can be divided. */
static int blocks_of(const struct walk *walk, int layer, int format)
{
    int channels = walk->profile->layers[layer].channels;

    return channels > 0 ? channels : (int)brute_transfer_weights(walk->profile, layer, format);
}

/* Loads or evicts a slice; does nothing where some of its bytes are in memory already (load) or are
 * missing (evict). */
static void transfer(struct walk *walk, enum vbs_step_op op, int layer, int format, int slice,
                     int slices, bool resident)
{
    int64_t weights = brute_transfer_weights(walk->profile, layer, format);
    struct brute_slice range = brute_transfer_slice(walk->profile, layer, weights, slice, slices);
    int n = n_there(walk, layer, format, &range);

    if (n != (op == VBS_STEP_LOAD ? 0 : range.to - range.from) || walk->n_steps == ROOM)
        return;
    for (int b = range.from; b < range.to; b++) {
        walk->loaded.there[layer][format][b] = op == VBS_STEP_LOAD;
        walk->residents.there[layer][format][b] |= resident;
    }
    walk->steps[walk->n_steps++] =
        (struct vbs_step){.op = (uint8_t)op,
                          .layer = layer,
                          .format = (uint8_t)format,
                          .slice = slices == 1 && random_once_in(walk->rng, 2) ? 0 : slice,
                          .n_slices = slices,
                          .resident = resident,
                          .bytes = range.to - range.from};
    if (walk->steps[walk->n_steps - 1].slice == 0)
        walk->steps[walk->n_steps - 1].n_slices = 0;
}

static int random_slices(const struct walk *walk, int layer, int format)
{
    int blocks = blocks_of(walk, layer, format);

    return random_int(walk->rng, 1, blocks < walk->max_slices ? blocks : walk->max_slices);
}

static void random_transfer(struct walk *walk, enum vbs_step_op op, bool resident)
{
    int layer = random_int(walk->rng, 1, walk->profile->n_layers);
    int format = random_int(walk->rng, 0, 1);

    if (brute_transfer_weights(walk->profile, layer, format) > 0) {
        int slices = random_slices(walk, layer, format);

        transfer(walk, op, layer, format, random_int(walk->rng, 1, slices), slices, resident);
    }
}

/* Loads the missing bytes of a range: in random slices as far as possible, then block by block. */
static void bring(struct walk *walk, int layer, int format, const struct brute_slice *range)
{
    int64_t weights = brute_transfer_weights(walk->profile, layer, format);
    int blocks = blocks_of(walk, layer, format), slices = random_slices(walk, layer, format);

    for (int round = 0; round < 2; round++, slices = blocks)
        for (int p = 1; p <= slices; p++) {
            struct brute_slice at = brute_transfer_slice(walk->profile, layer, weights, p, slices);

            if (at.from < range->to && at.to > range->from)
                transfer(walk, VBS_STEP_LOAD, layer, format, p, slices, false);
        }
}

static bool inputs_there(const struct walk *walk, int layer, int done)
{
    const struct vbs_profile_layer *at = &walk->profile->layers[layer];

    for (int i = 0; i < at->n_inputs; i++)
        if (at->inputs[i] > 0 && brute_progress_least(&walk->progress, at->inputs[i]) < done)
            return false;
    return done <= walk->request;
}

/* Changes the number of slices in which the layer runs, where none is ahead. */
static void random_division(struct walk *walk, int layer)
{
    const struct vbs_profile_layer *at = &walk->profile->layers[layer];
    int done = brute_progress_least(&walk->progress, layer);
    int blocks =
        at->channels > 0 || at->weight_bytes > 0 ? blocks_of(walk, layer, 0) : BRUTE_SLICES;

    if (brute_progress_most(&walk->progress, layer) > done)
        return;
    blocks = blocks < BRUTE_SLICES ? blocks : BRUTE_SLICES;
    walk->progress.slices[layer] = at->in_place ? 1 : random_int(walk->rng, 1, blocks);
    for (int p = 0; p < BRUTE_SLICES; p++)
        walk->progress.done[layer][p] = done;
}

static void random_compute(struct walk *walk)
{
    int layer = random_int(walk->rng, 1, walk->profile->n_layers), slice, slices, batch, n_rows;
    const struct vbs_profile_row *row;
    struct brute_slice range;

    random_division(walk, layer);
    slices = walk->progress.slices[layer];
    slice = random_int(walk->rng, 1, slices);
    batch = walk->profile->batches[random_int(walk->rng, 0, walk->profile->n_batches - 1)];
    row = vbs_profile_rows(walk->profile, layer, vbs_profile_batch_index(walk->profile, batch),
                           &n_rows);
    row += random_int(walk->rng, 0, n_rows - 1);
    if (!brute_divides(&walk->profile->layers[layer], row, slices) ||
        !inputs_there(walk, layer, walk->progress.done[layer][slice - 1] + batch))
        return;
    range = brute_transfer_slice(walk->profile, layer, row->weight_bytes, slice, slices);
    if (row->weight_bytes > 0)
        bring(walk, layer, row->format, &range);
    if (walk->n_steps == ROOM)
        return;
    walk->progress.done[layer][slice - 1] += batch;
    walk->steps[walk->n_steps++] = (struct vbs_step){.layer = layer,
                                                     .batch = batch,
                                                     .algorithm = row->algorithm,
                                                     .slice = slices > 1 ? slice : 0,
                                                     .n_slices = slices > 1 ? slices : 0};
}

static bool is_done(const struct walk *walk)
{
    for (int k = 1; k <= walk->profile->n_layers; k++)
        if (brute_progress_least(&walk->progress, k) < walk->request)
            return false;
    return true;
}

static void return_residents(struct walk *walk)
{
    for (int k = 1; k <= walk->profile->n_layers; k++)
        for (int format = 0; format < BRUTE_FORMATS; format++)
            for (int b = 0; b < BRUTE_WEIGHTS; b++) {
                const struct brute_slice range = {b, b + 1, 0};

                if (walk->residents.there[k][format][b] && !walk->loaded.there[k][format][b])
                    bring(walk, k, format, &range);
            }
}

struct vbs_schedule *random_transfer_schedule(gsl_rng *rng, const struct vbs_profile *profile,
                                              int request, enum vbs_io io, int max_slices)
{
    struct walk *walk = calloc(1, sizeof *walk);
    struct vbs_schedule *schedule = NULL;

    if (!walk)
        return NULL;
    walk->rng = rng;
    walk->profile = profile;
    walk->request = request;
    walk->max_slices = max_slices;
    walk->progress = brute_progress_start();
    for (int n = random_int(rng, 0, 5); n > 0; n--)
        random_transfer(walk, VBS_STEP_LOAD, true);
    while (!is_done(walk) && walk->n_steps < ROOM)
        switch (random_int(rng, 0, 5)) {
        case 0:
            random_transfer(walk, VBS_STEP_LOAD, false);
            break;
        case 1:
        case 2:
            random_transfer(walk, VBS_STEP_EVICT, false);
            break;
        default:
            random_compute(walk);
        }
    return_residents(walk);
    const struct vbs_schedule draft = {.model = "random",
                                       .planner = "random",
                                       .request = request,
                                       .io = io,
                                       .weights = VBS_WEIGHTS_INCLUDED,
                                       .n_algorithms = profile->n_algorithms,
                                       .algorithms = profile->algorithms,
                                       .n_steps = walk->n_steps,
                                       .steps = walk->steps};
    if (vbs_schedule_copy(NULL, &draft, &schedule) != VBS_OK)
        schedule = NULL;
    free(walk);
    return schedule;
}
