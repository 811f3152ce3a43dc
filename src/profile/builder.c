/*
 * Collects the layers and rows of a profile. Faults of a single layer or row are refused here;
 * check.c judges the whole.
 */
#include "profile/builder.h"

#include "base/fail.h"
#include "base/grow.h"
#include "base/utf8.h"
#include "profile/reach.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_SLOTS (2 * VBS_MAX_ALGORITHMS) /* a power of two: at most half full */

struct vbs_profile_builder *vbs_profile_builder_new(void)
{
    struct vbs_profile_builder *builder = calloc(1, sizeof *builder);

    if (!builder)
        return NULL;
    builder->algorithms = calloc(VBS_MAX_ALGORITHMS, sizeof *builder->algorithms);
    builder->slots = calloc(N_SLOTS, sizeof *builder->slots);
    if (!builder->algorithms || !builder->slots) {
        vbs_profile_builder_free(builder);
        return NULL;
    }
#define EMPTY(member) builder->provenance.member = "";
    VBS_PROVENANCE_TEXTS(EMPTY)
#undef EMPTY
    return builder;
}

void vbs_profile_builder_free(struct vbs_profile_builder *builder)
{
    if (!builder)
        return;
    vbs_arena_clear(&builder->arena);
    free(builder->layers);
    free(builder->rows);
    free(builder->algorithms);
    free(builder->slots);
    free(builder);
}

enum vbs_status vbs_builder_fail(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                 int line, const char *format, ...)
{
    char text[VBS_DETAIL_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!builder->source)
        return vbs_fail(ctx, VBS_FORMAT, "%s", text);
    if (line == 0)
        return vbs_fail(ctx, VBS_FORMAT, "%s: %s", builder->source, text);
    return vbs_fail(ctx, VBS_FORMAT, "%s:%d: %s", builder->source, line, text);
}

/* Checks the name of a layer, kind or algorithm, which every format must be able to carry. */
static enum vbs_status check_name(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                  int layer, const char *what, const char *name)
{
    if (strlen(name) >= VBS_MAX_NAME)
        return vbs_builder_fail(ctx, builder, builder->line,
                                "layer %d: %s is longer than %d bytes: '%.40s...'", layer, what,
                                VBS_MAX_NAME - 1, name);
    if (!vbs_utf8_valid(name))
        return vbs_builder_fail(ctx, builder, builder->line, "layer %d: %s is not valid UTF-8",
                                layer, what);
    return VBS_OK;
}

static enum vbs_status check_bytes(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                   int layer, const char *what, int64_t bytes)
{
    if (bytes < 0)
        return vbs_builder_fail(ctx, builder, builder->line, "layer %d: %s is negative: %lld",
                                layer, what, (long long)bytes);
    return VBS_OK;
}

static enum vbs_status check_inputs(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                    int id, const struct vbs_profile_layer *layer)
{
    if (layer->n_inputs < 1)
        return vbs_builder_fail(ctx, builder, builder->line,
                                "layer %d ('%s') reads nothing; 0 is the network's input", id,
                                layer->name);
    for (int i = 0; i < layer->n_inputs; i++) {
        if (layer->inputs[i] < 0)
            return vbs_builder_fail(ctx, builder, builder->line, "layer %d: input %d is negative",
                                    id, layer->inputs[i]);
        if (layer->inputs[i] >= id)
            return vbs_builder_fail(
                ctx, builder, builder->line,
                "layer %d ('%s') reads layer %d, which does not come before it; layers are "
                "numbered in topological order, without cycles",
                id, layer->name, layer->inputs[i]);
    }
    return VBS_OK;
}

/* Checks the reach of one input by itself; check.c compares it with the input. */
static enum vbs_status check_reach(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                   int id, int input, const struct vbs_reach *reach)
{
    bool whole = reach->unit == 0 && (reach->step == 0 || reach->step == 1) && reach->low == 0 &&
                 reach->high == 0;

    if (whole || (reach->unit >= 1 && reach->unit <= VBS_MAX_REACH && reach->step >= 0 &&
                  reach->step <= VBS_MAX_REACH && reach->low >= -(int64_t)VBS_MAX_REACH &&
                  reach->high <= VBS_MAX_REACH && reach->low <= reach->high))
        return VBS_OK;
    return vbs_builder_fail(ctx, builder, builder->line,
                            "layer %d: the reach of input %d is none: step %d, unit %d, low %lld, "
                            "high %lld",
                            id, input + 1, reach->step, reach->unit, (long long)reach->low,
                            (long long)reach->high);
}

static enum vbs_status check_layer_rows(struct vbs_ctx *ctx,
                                        const struct vbs_profile_builder *builder, int id,
                                        const struct vbs_profile_layer *layer)
{
    if (layer->rows < 0)
        return vbs_builder_fail(ctx, builder, builder->line, "layer %d: rows is negative: %d", id,
                                layer->rows);
    if (layer->rows > 0 && layer->out_bytes % layer->rows != 0 && !vbs_layer_accumulates(layer))
        return vbs_builder_fail(ctx, builder, builder->line,
                                "layer %d: %lld out_bytes are no %d equal rows", id,
                                (long long)layer->out_bytes, layer->rows);
    if (layer->reaches && layer->rows == 0)
        return vbs_builder_fail(ctx, builder, builder->line,
                                "layer %d: it has a reach, but no rows", id);
    for (int i = 0; layer->reaches && i < layer->n_inputs; i++)
        VBS_TRY(check_reach(ctx, builder, id, i, &layer->reaches[i]));
    for (int i = 0; layer->reaches && i < layer->n_inputs; i++)
        if (vbs_reach_accumulates(&layer->reaches[i]) != vbs_layer_accumulates(layer))
            return vbs_builder_fail(ctx, builder, builder->line,
                                    "layer %d: it accumulates the rows of some inputs only", id);
    return VBS_OK;
}

static enum vbs_status check_layer(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                   int id, const struct vbs_profile_layer *layer)
{
    enum vbs_status status;

    if ((status = check_name(ctx, builder, id, "name", layer->name)) ||
        (status = check_name(ctx, builder, id, "kind", layer->kind)) ||
        (status = check_inputs(ctx, builder, id, layer)) ||
        (status = check_bytes(ctx, builder, id, "in_bytes", layer->in_bytes)) ||
        (status = check_bytes(ctx, builder, id, "out_bytes", layer->out_bytes)) ||
        (status = check_bytes(ctx, builder, id, "weight_bytes", layer->weight_bytes)))
        return status;
    if (layer->channels < 0)
        return vbs_builder_fail(ctx, builder, builder->line, "layer %d: channels is negative: %d",
                                id, layer->channels);
    return check_layer_rows(ctx, builder, id, layer);
}

/* Makes space for layer id; layers that are new then are not given yet. */
static bool reserve_layers(struct vbs_profile_builder *builder, int id)
{
    int64_t before = builder->layers_capacity;

    if (vbs_grow(NULL, &builder->layers, &builder->layers_capacity, (int64_t)id + 1,
                 sizeof *builder->layers) != VBS_OK)
        return false;
    memset(builder->layers + before, 0,
           (size_t)(builder->layers_capacity - before) * sizeof *builder->layers);
    return true;
}

enum vbs_status vbs_builder_set_layer(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                      int id, const struct vbs_profile_layer *layer)
{
    enum vbs_status status = check_layer(ctx, builder, id, layer);
    struct vbs_profile_layer copy = *layer;
    size_t n_inputs = (size_t)layer->n_inputs;
    struct vbs_reach *reaches = NULL;
    int *inputs;

    if (status != VBS_OK)
        return status;
    copy.name = vbs_arena_strdup(&builder->arena, layer->name);
    copy.kind = vbs_arena_strdup(&builder->arena, layer->kind);
    copy.inputs = inputs = vbs_arena_alloc(&builder->arena, n_inputs, sizeof *inputs);
    if (layer->reaches)
        reaches = vbs_arena_alloc(&builder->arena, n_inputs, sizeof *reaches);
    copy.reaches = reaches;
    if (!copy.name || !copy.kind || !inputs || (layer->reaches && !reaches) ||
        !reserve_layers(builder, id))
        return vbs_no_memory(ctx);
    memcpy(inputs, layer->inputs, n_inputs * sizeof *inputs);
    if (reaches)
        memcpy(reaches, layer->reaches, n_inputs * sizeof *reaches);
    builder->layers[id] =
        (struct builder_layer){.layer = copy, .given = true, .line = builder->line};
    if (id > builder->n_layers)
        builder->n_layers = id;
    return VBS_OK;
}

enum vbs_status vbs_profile_builder_layer(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                          const struct vbs_profile_layer *layer)
{
    if (builder->n_layers == VBS_MAX_LAYERS)
        return vbs_builder_fail(ctx, builder, builder->line, "more than %d layers", VBS_MAX_LAYERS);
    return vbs_builder_set_layer(ctx, builder, builder->n_layers + 1, layer);
}

enum vbs_status vbs_profile_builder_input_rows(struct vbs_ctx *ctx,
                                               struct vbs_profile_builder *builder, int rows)
{
    if (rows < 0)
        return vbs_builder_fail(ctx, builder, builder->line,
                                "the rows of the network's input are negative: %d", rows);
    builder->input_rows = rows;
    return VBS_OK;
}

static unsigned hash_name(const char *name)
{
    unsigned hash = 2166136261u; /* FNV-1a */

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

/* Gives the index of an algorithm, which is added when it is new. */
static enum vbs_status find_algorithm(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                      int layer, const char *name, int *index)
{
    unsigned slot = hash_name(name) & (N_SLOTS - 1);
    enum vbs_status status;

    for (; builder->slots[slot]; slot = (slot + 1) & (N_SLOTS - 1))
        if (strcmp(builder->algorithms[builder->slots[slot] - 1], name) == 0) {
            *index = builder->slots[slot] - 1;
            return VBS_OK;
        }
    if (builder->n_algorithms == VBS_MAX_ALGORITHMS)
        return vbs_builder_fail(ctx, builder, builder->line, "more than %d algorithms",
                                VBS_MAX_ALGORITHMS);
    if ((status = check_name(ctx, builder, layer, "algorithm", name)))
        return status;
    if (name[0] == '\0')
        return vbs_builder_fail(ctx, builder, builder->line, "layer %d: algorithm is empty", layer);
    name = vbs_arena_strdup(&builder->arena, name);
    if (!name)
        return vbs_no_memory(ctx);
    builder->algorithms[builder->n_algorithms] = name;
    builder->slots[slot] = ++builder->n_algorithms;
    *index = builder->n_algorithms - 1;
    return VBS_OK;
}

const char *vbs_builder_time_fault(double time_us)
{
    return isnan(time_us)              ? "not a number"
           : isinf(time_us)            ? "not finite"
           : time_us < 0               ? "negative"
           : time_us > VBS_MAX_TIME_US ? "above the largest, 1e18"
                                       : NULL;
}

static enum vbs_status check_time(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                  int layer, int batch, const char *what, double time_us)
{
    const char *why = vbs_builder_time_fault(time_us);

    if (why)
        return vbs_builder_fail(ctx, builder, builder->line, "layer %d batch %d: %s is %s", layer,
                                batch, what, why);
    return VBS_OK;
}

/* Checks the slices of a row. Slices that were measured are equal, so that one time stands for
 * each. */
static enum vbs_status check_slices(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                    int layer, int batch, int n_slices)
{
    const struct vbs_profile_layer *about = &builder->layers[layer].layer;

    if (n_slices < 0 || n_slices > VBS_MAX_ROW_SLICES)
        return vbs_builder_fail(ctx, builder, builder->line,
                                "layer %d batch %d: parts %d is out of range; it goes from 0 to %d",
                                layer, batch, n_slices, VBS_MAX_ROW_SLICES);
    if (n_slices > 1 && about->in_place)
        return vbs_builder_fail(ctx, builder, builder->line,
                                "layer %d batch %d: a layer in place cannot run in %d slices",
                                layer, batch, n_slices);
    if (n_slices > 1 && about->channels % n_slices != 0)
        return vbs_builder_fail(ctx, builder, builder->line,
                                "layer %d batch %d: %d channels make no %d equal slices", layer,
                                batch, about->channels, n_slices);
    return VBS_OK;
}

/* Checks a row of a stripe. */
static enum vbs_status check_stripe(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                    int layer, int batch, const struct vbs_profile_row *row)
{
    const struct vbs_profile_layer *about = &builder->layers[layer].layer;

    if (row->rows == 0)
        return VBS_OK;
    if (!about->reaches)
        return vbs_builder_fail(
            ctx, builder, builder->line,
            "layer %d batch %d: a stripe of %d rows, but the layer has no reach", layer, batch,
            row->rows);
    if (row->rows < 0 || row->rows >= about->rows)
        return vbs_builder_fail(ctx, builder, builder->line,
                                "layer %d batch %d: a stripe of %d rows, but the layer has %d",
                                layer, batch, row->rows, about->rows);
    if (row->n_slices != 1)
        return vbs_builder_fail(ctx, builder, builder->line,
                                "layer %d batch %d: a stripe in %d parts; it has 1", layer, batch,
                                row->n_slices);
    return VBS_OK;
}

static enum vbs_status check_row(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                 int layer, int batch, const struct vbs_profile_row *row)
{
    enum vbs_status status;

    if (layer < 1 || layer > builder->n_layers)
        return vbs_builder_fail(ctx, builder, builder->line, "row of layer %d, which is not there",
                                layer);
    if (batch < 1 || batch > VBS_MAX_BATCH)
        return vbs_builder_fail(ctx, builder, builder->line,
                                "layer %d: batch %d is out of range; it goes from 1 to %d", layer,
                                batch, VBS_MAX_BATCH);
    if ((status = check_time(ctx, builder, layer, batch, "time_us", row->time_us)) ||
        (status = check_time(ctx, builder, layer, batch, "mad_us", row->mad_us)) ||
        (status = check_time(ctx, builder, layer, batch, "low_us", row->low_us)) ||
        (status = check_time(ctx, builder, layer, batch, "high_us", row->high_us)) ||
        (status = check_bytes(ctx, builder, layer, "ws_bytes", row->ws_bytes)) ||
        (status = check_bytes(ctx, builder, layer, "packed weight_bytes", row->weight_bytes)))
        return status;
    if (row->format < 0 || row->format >= VBS_MAX_FORMATS)
        return vbs_builder_fail(ctx, builder, builder->line,
                                "layer %d batch %d: form %d is out of range; it goes from 0 to %d",
                                layer, batch, row->format, VBS_MAX_FORMATS - 1);
    if ((status = check_slices(ctx, builder, layer, batch, row->n_slices)) ||
        (status = check_stripe(ctx, builder, layer, batch, row)))
        return status;
    if (row->n_runs < 0)
        return vbs_builder_fail(ctx, builder, builder->line,
                                "layer %d batch %d: n_runs is negative", layer, batch);
    if (row->n_runs > 0 && !(row->low_us <= row->time_us && row->time_us <= row->high_us))
        return vbs_builder_fail(ctx, builder, builder->line,
                                "layer %d batch %d: time_us lies outside low_us..high_us", layer,
                                batch);
    return VBS_OK;
}

static bool reserve_row(struct vbs_profile_builder *builder)
{
    return vbs_grow(NULL, &builder->rows, &builder->rows_capacity, (int64_t)builder->n_rows + 1,
                    sizeof *builder->rows) == VBS_OK;
}

enum vbs_status vbs_profile_builder_row(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                        int layer, int batch, const char *algorithm,
                                        const struct vbs_profile_row *row)
{
    struct builder_row *place;
    int index = 0;

    VBS_TRY(check_row(ctx, builder, layer, batch, row));
    VBS_TRY(find_algorithm(ctx, builder, layer, algorithm, &index));
    if (!reserve_row(builder))
        return vbs_no_memory(ctx);
    place = &builder->rows[builder->n_rows++];
    *place =
        (struct builder_row){.row = *row, .layer = layer, .batch = batch, .line = builder->line};
    place->row.algorithm = index;
    /* Rows that were not measured may have the interval of a prediction. */
    if (row->n_runs == 0 && !(row->high_us > 0 && row->low_us <= row->time_us &&
                              row->time_us <= row->high_us && row->mad_us == 0))
        place->row.mad_us = place->row.low_us = place->row.high_us = 0;
    place->row.time_us += 0.0; /* -0 becomes 0 */
    place->row.mad_us += 0.0;
    place->row.low_us += 0.0;
    place->row.high_us += 0.0;
    return VBS_OK;
}

static enum vbs_status copy_text(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                 const char *what, const char *text, const char **copy)
{
    if (!text)
        text = "";
    if (!vbs_utf8_valid(text))
        return vbs_builder_fail(ctx, builder, 0, "%s is not valid UTF-8", what);
    *copy = vbs_arena_strdup(&builder->arena, text);
    return *copy ? VBS_OK : vbs_no_memory(ctx);
}

enum vbs_status vbs_profile_builder_provenance(struct vbs_ctx *ctx,
                                               struct vbs_profile_builder *builder,
                                               const struct vbs_provenance *provenance)
{
    struct vbs_provenance copy = {.threads = provenance->threads};
    enum vbs_status status = VBS_OK;

    if (provenance->threads < 0)
        return vbs_builder_fail(ctx, builder, 0, "threads is negative: %d", provenance->threads);
#define COPY(member)                                                                               \
    if (status == VBS_OK)                                                                          \
        status = copy_text(ctx, builder, #member, provenance->member, &copy.member);
    VBS_PROVENANCE_TEXTS(COPY)
#undef COPY
    if (status == VBS_OK)
        builder->provenance = copy;
    return status;
}
