/*
 * Checks of a profile as a whole, once all its layers and rows are known.
 */
#include "profile/builder.h"

#include "base/arith.h"
#include "base/fail.h"
#include "profile/reach.h"

#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b)
{
    const char *const *first = a, *const *second = b;

    return strcmp(*first, *second);
}

/* Numbers the algorithms by name, so that their numbers do not depend on the order of the rows, and
 * a file that was read is written in the same way again. */
static bool sort_algorithms(struct vbs_profile_builder *builder)
{
    size_t count = (size_t)builder->n_algorithms;
    const char **sorted = vbs_arena_alloc(&builder->arena, count, sizeof *sorted);
    int *rank = vbs_arena_alloc(&builder->arena, count, sizeof *rank);

    if (!sorted || !rank)
        return false;
    memcpy(sorted, builder->algorithms, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_names);
    for (size_t i = 0; i < count; i++) {
        const char **found =
            bsearch(&builder->algorithms[i], sorted, count, sizeof *sorted, compare_names);

        rank[i] = (int)(found - sorted);
    }
    for (size_t i = 0; i < builder->n_rows; i++)
        builder->rows[i].row.algorithm = rank[builder->rows[i].row.algorithm];
    memcpy(builder->algorithms, sorted, count * sizeof *sorted);
    return true;
}

static int compare_rows(const void *a, const void *b)
{
    const struct builder_row *first = a, *second = b;

    if ((first->row.rows > 0) != (second->row.rows > 0))
        return first->row.rows > 0 ? 1 : -1;
    if (first->layer != second->layer)
        return first->layer < second->layer ? -1 : 1;
    if (first->batch != second->batch)
        return first->batch < second->batch ? -1 : 1;
    if (first->row.rows != second->row.rows)
        return first->row.rows < second->row.rows ? -1 : 1;
    if (first->row.algorithm != second->row.algorithm)
        return first->row.algorithm < second->row.algorithm ? -1 : 1;
    return (first->line > second->line) - (first->line < second->line);
}

static enum vbs_status check_given(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder)
{
    if (builder->n_layers == 0)
        return vbs_builder_fail(ctx, builder, 0, "no layers");
    for (int id = 1; id <= builder->n_layers; id++)
        if (!builder->layers[id].given)
            return vbs_builder_fail(ctx, builder, builder->layers[builder->n_layers].line,
                                    "there is a layer %d but no layer %d; layers are numbered from "
                                    "1 without gaps",
                                    builder->n_layers, id);
    return VBS_OK;
}

/* Counts the rows of whole samples, and those of stripes, which are sorted behind them. */
static void count_stripes(struct vbs_profile_builder *builder)
{
    size_t n = builder->n_rows;

    while (builder->n_rows > 0 && builder->rows[builder->n_rows - 1].row.rows > 0)
        builder->n_rows--;
    builder->n_stripes = n - builder->n_rows;
}

static enum vbs_status check_repeats(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder)
{
    for (size_t i = 1; i < builder->n_rows; i++) {
        const struct builder_row *first = &builder->rows[i - 1], *second = &builder->rows[i];
        const char *algorithm = builder->algorithms[second->row.algorithm];

        if (first->layer != second->layer || first->batch != second->batch ||
            first->row.rows != second->row.rows || first->row.algorithm != second->row.algorithm)
            continue;
        if (second->line)
            return vbs_builder_fail(ctx, builder, second->line,
                                    "repeats layer %d batch %d algorithm '%s' of line %d",
                                    second->layer, second->batch, algorithm, first->line);
        return vbs_builder_fail(ctx, builder, 0, "layer %d batch %d: algorithm '%s' is there twice",
                                second->layer, second->batch, algorithm);
    }
    return VBS_OK;
}

/* Collects the batches of any layer, and 1: every layer must have all of these. owner[i] has
 * batches[i]. */
static bool collect_batches(struct vbs_profile_builder *builder, int **batches, int **owner,
                            int *n_batches)
{
    int *owner_of = vbs_arena_alloc(&builder->arena, VBS_MAX_BATCH + 1, sizeof *owner_of);
    int count = 0;

    if (!owner_of)
        return false;
    for (size_t i = 0; i < builder->n_rows; i++)
        if (!owner_of[builder->rows[i].batch])
            owner_of[builder->rows[i].batch] = builder->rows[i].layer;
    for (int batch = 1; batch <= VBS_MAX_BATCH; batch++)
        count += batch == 1 || owner_of[batch];
    *batches = vbs_arena_alloc(&builder->arena, (size_t)count, sizeof **batches);
    *owner = vbs_arena_alloc(&builder->arena, (size_t)count, sizeof **owner);
    if (!*batches || !*owner)
        return false;
    *n_batches = count;
    count = 0;
    for (int batch = 1; batch <= VBS_MAX_BATCH; batch++)
        if (batch == 1 || owner_of[batch]) {
            (*batches)[count] = batch;
            (*owner)[count++] = owner_of[batch];
        }
    return true;
}

static enum vbs_status fail_missing(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                    int layer, int batch, int owner)
{
    const struct builder_layer *lacks = &builder->layers[layer];

    if (owner && owner != layer)
        return vbs_builder_fail(
            ctx, builder, lacks->line,
            "layer %d ('%s') has no row for batch %d, which layer %d has; every "
            "layer must have the same batches",
            layer, lacks->layer.name, batch, owner);
    return vbs_builder_fail(ctx, builder, lacks->line, "layer %d ('%s') has no row for batch %d",
                            layer, lacks->layer.name, batch);
}

/* Checks that every layer has every batch. Rows are sorted, so one walk over both finds missing
 * batches. */
static enum vbs_status check_batches(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                     int **batches, int *n_batches)
{
    size_t at = 0;
    int *owner;

    if (!collect_batches(builder, batches, &owner, n_batches))
        return vbs_no_memory(ctx);
    for (int layer = 1; layer <= builder->n_layers; layer++)
        for (int i = 0; i < *n_batches; i++) {
            if (at == builder->n_rows || builder->rows[at].layer != layer ||
                builder->rows[at].batch != (*batches)[i])
                return fail_missing(ctx, builder, layer, (*batches)[i], owner[i]);
            while (at < builder->n_rows && builder->rows[at].layer == layer &&
                   builder->rows[at].batch == (*batches)[i])
                at++;
        }
    return VBS_OK;
}

static enum vbs_status fail_overflow(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                     const char *what)
{
    return vbs_builder_fail(ctx, builder, 0, "%s of all layers together exceed 2^63 bytes", what);
}

/* Compares in_bytes of every layer with the outputs of its inputs. The size of the network's
 * input follows from the layers that read it. A layer may name an input twice, and then reads it
 * twice. */
static enum vbs_status check_edges(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                   int64_t *input_bytes)
{
    *input_bytes = 0;
    for (int id = 1; id <= builder->n_layers; id++) {
        const struct vbs_profile_layer *layer = &builder->layers[id].layer;
        int64_t produced = 0, needed;
        int n_network = 0;

        for (int i = 0; i < layer->n_inputs; i++) {
            if (layer->inputs[i] == 0)
                n_network++;
            else if (!vbs_add(produced, builder->layers[layer->inputs[i]].layer.out_bytes,
                              &produced))
                return fail_overflow(ctx, builder, "inputs");
        }
        if (layer->in_bytes <= produced)
            continue;
        if (n_network == 0)
            return vbs_builder_fail(
                ctx, builder, builder->layers[id].line,
                "layer %d ('%s') reads %lld bytes per sample, but its inputs produce only %lld", id,
                layer->name, (long long)layer->in_bytes, (long long)produced);
        needed = (layer->in_bytes - produced - 1) / n_network + 1;
        if (needed > *input_bytes)
            *input_bytes = needed;
    }
    return VBS_OK;
}

/* The rows of each format of a layer that come first. */
struct first_rows {
    const struct builder_row *first[VBS_MAX_FORMATS];
    int64_t bytes; /* of the weights of all formats */
};

/* Checks that rows of a layer with the same format read weights of the same size. *next goes from
 * the first of the layer's rows that end before row number end to the row behind them. */
static enum vbs_status check_formats(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                     int id, size_t end, size_t *next, struct first_rows *formats)
{
    for (; *next < end && builder->rows[*next].layer == id; ++*next) {
        struct builder_row *row = &builder->rows[*next];
        const struct builder_row **same = &formats->first[row->row.format];

        if (row->row.weight_bytes == 0)
            row->row.weight_bytes = builder->layers[id].layer.weight_bytes;
        if (!*same) {
            *same = row;
            if (!vbs_add(formats->bytes, row->row.weight_bytes, &formats->bytes))
                return fail_overflow(ctx, builder, "weights");
        } else if ((*same)->row.weight_bytes != row->row.weight_bytes) {
            return vbs_builder_fail(
                ctx, builder, row->line,
                "layer %d batch %d: form %d takes %lld bytes of packed weights, but at batch %d "
                "%lld; rows of one form read the same weights",
                id, row->batch, row->row.format, (long long)row->row.weight_bytes, (*same)->batch,
                (long long)(*same)->row.weight_bytes);
        }
    }
    return VBS_OK;
}

/* Checks that the inputs that are read by rows have rows, equal ones. */
static enum vbs_status check_reaches(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                     int64_t input_bytes)
{
    if (builder->input_rows > 0 && input_bytes % builder->input_rows != 0)
        return vbs_builder_fail(ctx, builder, 0,
                                "the network's input takes %lld bytes, which are no %d equal rows",
                                (long long)input_bytes, builder->input_rows);
    for (int id = 1; id <= builder->n_layers; id++) {
        const struct vbs_profile_layer *layer = &builder->layers[id].layer;

        for (int i = 0; layer->reaches && i < layer->n_inputs; i++) {
            int input = layer->inputs[i];
            int rows = input > 0 ? builder->layers[input].layer.rows : builder->input_rows;

            if (vbs_reach_is_whole(&layer->reaches[i]))
                continue;
            if (input > 0 && vbs_layer_accumulates(&builder->layers[input].layer))
                return vbs_builder_fail(ctx, builder, builder->layers[id].line,
                                        "layer %d ('%s') reads rows of layer %d, which accumulates "
                                        "and is read whole",
                                        id, layer->name, input);
            if (vbs_layer_accumulates(layer) && rows != layer->rows)
                return vbs_builder_fail(ctx, builder, builder->layers[id].line,
                                        "layer %d ('%s') accumulates %d rows of layer %d, which "
                                        "has %d",
                                        id, layer->name, layer->rows, input, rows);
            if (rows == 0)
                return vbs_builder_fail(ctx, builder, builder->layers[id].line,
                                        "layer %d ('%s') reads rows of layer %d, which has none",
                                        id, layer->name, input);
        }
    }
    return VBS_OK;
}

static enum vbs_status check_totals(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                    int64_t input_bytes)
{
    int64_t activations = input_bytes, weights = 0, workspace = 0;
    size_t n_all = builder->n_rows + builder->n_stripes, next = 0, next_stripe = builder->n_rows;

    for (int id = 1; id <= builder->n_layers; id++) {
        const struct vbs_profile_layer *layer = &builder->layers[id].layer;
        struct first_rows formats = {0};

        if (!vbs_add(activations, layer->in_bytes, &activations) ||
            !vbs_add(activations, layer->out_bytes, &activations))
            return fail_overflow(ctx, builder, "activations");
        VBS_TRY(check_formats(ctx, builder, id, builder->n_rows, &next, &formats));
        VBS_TRY(check_formats(ctx, builder, id, n_all, &next_stripe, &formats));
        if (!vbs_add(weights,
                     formats.bytes > layer->weight_bytes ? formats.bytes : layer->weight_bytes,
                     &weights))
            return fail_overflow(ctx, builder, "weights");
    }
    for (size_t i = 0; i < n_all; i++)
        if (builder->rows[i].row.ws_bytes > workspace)
            workspace = builder->rows[i].row.ws_bytes;
    if (!vbs_mul(activations, VBS_MAX_REQUEST, &activations) ||
        !vbs_add(activations, weights, &activations) ||
        !vbs_add(activations, workspace, &activations))
        return vbs_builder_fail(ctx, builder, 0,
                                "activations of %d samples, workspace and weights together exceed "
                                "2^63 bytes",
                                VBS_MAX_REQUEST);
    return VBS_OK;
}

enum vbs_status vbs_builder_check(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                  int **batches, int *n_batches, int64_t *input_bytes)
{
    enum vbs_status status = check_given(ctx, builder);

    if (status != VBS_OK)
        return status;
    if (!sort_algorithms(builder))
        return vbs_no_memory(ctx);
    if (builder->n_rows)
        qsort(builder->rows, builder->n_rows, sizeof *builder->rows, compare_rows);
    if ((status = check_repeats(ctx, builder)))
        return status;
    count_stripes(builder);
    if ((status = check_batches(ctx, builder, batches, n_batches)) ||
        (status = check_edges(ctx, builder, input_bytes)) ||
        (status = check_reaches(ctx, builder, *input_bytes)) ||
        (status = check_totals(ctx, builder, *input_bytes)))
        return status;
    return VBS_OK;
}
