/* The work: layer by layer, weights are read, pruned, quantised and coded. */
#include "cli/compress/compress.h"

#include "base/clock.h"
#include "base/fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The stages of a layer, for the progress bar. */
enum stage { READ, QUANTISE, CODE, N_STAGES };

static const char *const STAGE_TEXTS[N_STAGES] = {"reading", "quantising", "coding"};

struct work {
    struct cli *cli;
    const struct vbs_network *network;
    const struct compress_recipe *recipe;
    struct vbs_progress progress;
    int64_t n_all, n_done; /* weights */
    double start_s;
};

static void report(const struct work *work, int layer, enum stage stage)
{
    int64_t n = vbs_weight_count(work->network, layer);
    double done = ((double)work->n_done + (double)n * stage / N_STAGES) / (double)work->n_all;
    double elapsed_s = vbs_clock_s() - work->start_s;
    char text[VBS_MAX_NAME + 32];

    if (!work->progress.report)
        return;
    snprintf(text, sizeof text, "%s %.100s", STAGE_TEXTS[stage], work->network->layers[layer].name);
    work->progress.report(work->progress.self, done,
                          done > 0.02 ? elapsed_s / done * (1 - done) : -1, text);
}

/* Gives the error of the quantised weights, relative to the weights. */
static double relative_error(const struct vbs_quantised *q, const float *weights)
{
    double error = 0, square = 0;

    for (int64_t i = 0; i < q->n_rows * q->n_columns; i++) {
        double w = weights[i], e = w - q->codebook[q->indices[i]];

        error += e * e;
        square += w * w;
    }
    return square > 0 ? sqrt(error / square) : 0;
}

/* Gives whether these coded weights are stored in place of those that were made before. */
static bool is_stored(const struct compress_choice *choice, const struct compress_layer *layer,
                      const struct vbs_coded_shape *shape)
{
    if (!choice->automatic)
        return shape->coding == choice->coding;
    return !layer->coded || shape->n_bytes < layer->shape.n_bytes;
}

/* Codes the weights in all forms, of which one is kept. */
static enum vbs_status code_forms(const struct work *work, const struct vbs_quantised *q,
                                  struct vbs_coding_options options, struct compress_layer *layer)
{
    /* The form that is used with the least work stays where several are as small. */
    static const enum vbs_coding CODINGS[] = {VBS_CODING_BYTES, VBS_CODING_JOINT, VBS_CODING_COMP};
    const struct compress_choice *choice = &work->recipe->choices[layer->layer];
    int least_bits = q->bits + (choice->index_bits ? choice->index_bits : 1);

    options.index_bits = choice->index_bits;
    for (int i = 0; i < VBS_N_CODINGS; i++) {
        struct vbs_coded *coded;
        struct vbs_coded_shape shape;

        options.coding = CODINGS[i];
        if (options.coding == VBS_CODING_JOINT && least_bits > VBS_MAX_PAIR_BITS)
            continue;
        VBS_TRY(vbs_code(&work->cli->ctx, q, &options, &coded));
        vbs_coded_describe(coded, &shape);
        layer->sizes.bytes.forms[options.coding] = (int64_t)shape.n_bytes;
        if (!is_stored(choice, layer, &shape)) {
            vbs_coded_free(coded);
            continue;
        }
        vbs_coded_free(layer->coded);
        layer->coded = coded;
        layer->shape = shape;
        layer->sizes.bytes.stored = (int64_t)shape.n_bytes;
    }
    return VBS_OK;
}

/* Gives the weights of a channel in each row of the matrix of a layer. */
static int64_t window_of(const struct vbs_layer *layer)
{
    int64_t n = 1;

    for (int i = 0; layer->op == VBS_OP_CONV && i + 1 < layer->views[0].n_dims; i++)
        n *= layer->attributes.weighted.window.kernel[i];
    return n;
}

static enum vbs_status code_quantised(const struct work *work, const struct vbs_quantised *q,
                                      struct compress_layer *layer)
{
    const struct compress_choice *choice = &work->recipe->choices[layer->layer];
    struct vbs_coding_options options = {.block_rows = work->recipe->block_rows,
                                         .block_columns = work->recipe->block_columns};

    if (options.block_rows == 0)
        vbs_coded_choose_blocks(choice->automatic ? VBS_CODING_JOINT : choice->coding, q->n_rows,
                                q->n_columns, window_of(&work->network->layers[layer->layer]),
                                &options);
    VBS_TRY(code_forms(work, q, options, layer));
    options.index_bits = layer->shape.index_bits;
    return compress_find_sizes(&work->cli->ctx, q, &options, &layer->sizes);
}

static enum vbs_status compress_weights(const struct work *work, float *weights, int64_t n,
                                        struct compress_layer *layer)
{
    struct vbs_ctx *ctx = &work->cli->ctx;
    const struct compress_choice *choice = &work->recipe->choices[layer->layer];
    int64_t n_rows = work->network->layers[layer->layer].attributes.weighted.out_channels;
    struct vbs_quantised quantised = {0};
    enum vbs_status status;

    report(work, layer->layer, READ);
    VBS_TRY(vbs_parameter_values(ctx, work->network, layer->layer, -1, VBS_PARAMETER_WEIGHTS, 0, n,
                                 weights));
    report(work, layer->layer, QUANTISE);
    VBS_TRY(vbs_check_cancel(ctx));
    VBS_TRY(vbs_prune(ctx, weights, n, choice->density));
    VBS_TRY(vbs_quantise_within(ctx, weights, n_rows, n / n_rows, choice->bits, choice->excess,
                                &quantised));
    layer->error = relative_error(&quantised, weights);
    report(work, layer->layer, CODE);
    status = code_quantised(work, &quantised, layer);
    vbs_quantised_clear(&quantised);
    return status;
}

static enum vbs_status compress_layer(const struct work *work, struct compress_layer *layer)
{
    struct vbs_ctx *ctx = &work->cli->ctx;
    int64_t n = vbs_weight_count(work->network, layer->layer);
    float *weights = malloc((size_t)n * sizeof *weights);
    char place[160];
    enum vbs_status status =
        weights ? compress_weights(work, weights, n, layer) : vbs_no_memory(ctx);

    free(weights);
    if (status == VBS_OK || status == VBS_NO_MEMORY || status == VBS_INTERRUPTED)
        return status;
    snprintf(place, sizeof place, "layer %d '%.100s'", layer->layer,
             work->network->layers[layer->layer].name);
    return vbs_fail_within(ctx, status, place);
}

enum vbs_status compress_layers(struct cli *cli, const struct vbs_network *network,
                                const struct compress_recipe *recipe,
                                struct compress_result *result)
{
    struct work work = {.cli = cli,
                        .network = network,
                        .recipe = recipe,
                        .progress = cli_progress(cli),
                        .start_s = vbs_clock_s()};
    enum vbs_status status = VBS_OK;

    *result = (struct compress_result){
        .layers = calloc((size_t)network->n_layers, sizeof *result->layers),
        .parameter_bytes = 4 * vbs_network_parameters(network)};
    if (!result->layers)
        return vbs_no_memory(&cli->ctx);
    for (int k = 1; k <= network->n_layers; k++)
        work.n_all += recipe->choices[k].coded ? vbs_weight_count(network, k) : 0;
    for (int k = 1; k <= network->n_layers && status == VBS_OK; k++) {
        struct compress_layer *layer = &result->layers[result->n_layers];

        if (!recipe->choices[k].coded)
            continue;
        layer->layer = k;
        result->n_layers++;
        status = compress_layer(&work, layer);
        work.n_done += vbs_weight_count(network, k);
        compress_add_sizes(&result->total, &layer->sizes);
    }
    cli_progress_end(cli);
    result->network_bytes =
        result->parameter_bytes - result->total.bytes.dense + result->total.bytes.stored;
    if (status != VBS_OK)
        compress_result_clear(result);
    return status;
}

void compress_result_clear(struct compress_result *result)
{
    for (int i = 0; i < result->n_layers; i++)
        vbs_coded_free(result->layers[i].coded);
    free(result->layers);
    *result = (struct compress_result){0};
}
