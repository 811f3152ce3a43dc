/* The course: folding, roles, samples, scales, weights, rows. */
#include "quantize/internal.h"

#include "base/fail.h"
#include "base/options.h"
#include "model/network/network.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is refused ---- */

static enum vbs_status read_options(struct vbs_ctx *ctx, const struct vbs_quantize_options *options,
                                    const struct vbs_quantize_samples *samples,
                                    struct vbs_quantize_options *own)
{
    VBS_TRY(vbs_options_read(ctx, "vbs_quantize_options", options, own, sizeof *own));
    if (own->percentile == 0)
        own->percentile = VBS_QUANTIZE_DEFAULT_PERCENTILE;
    if (!vbs_quantize_method_word(own->method)[0])
        return vbs_fail(ctx, VBS_USAGE, "no such method");
    if (!(own->percentile > 50 && own->percentile <= 100))
        return vbs_fail(ctx, VBS_USAGE, "a percentile of %g; it is above 50 and at most 100",
                        own->percentile);
    return samples->n > 0 ? VBS_OK : vbs_fail(ctx, VBS_USAGE, "no sample to measure ranges with");
}

/* Gives whether a clip keeps values within a type of whole numbers. */
static bool clips_to_whole(const struct quantize_operator *o)
{
    static const double LIMITS[][2] = {{0, 255}, {-128, 127}, {0, 65535}, {-32768, 32767}};

    for (size_t i = 0; o->op == VBS_OP_CLIP && i < sizeof LIMITS / sizeof LIMITS[0]; i++)
        if (o->attributes->clip.low == LIMITS[i][0] && o->attributes->clip.high == LIMITS[i][1])
            return true;
    return false;
}

static enum vbs_status check_network(struct vbs_ctx *ctx, const struct vbs_quantized_network *q)
{
    bool rounds = false, clips = false, weights = false;

    for (int i = 1; i < q->n; i++) {
        const struct quantize_operator *o = &q->operators[i];

        rounds = rounds || o->op == VBS_OP_ROUND;
        clips = clips || clips_to_whole(o);
        weights =
            weights || (o->role == ROLE_EIGHT && o->fused < 0 &&
                        vbs_quantize_weights_of(&q->network->layers[o->layer]) != VBS_N_PARAMETERS);
    }
    if (rounds && clips)
        return vbs_fail(ctx, VBS_UNSUPPORTED,
                        "'%.100s' is quantised already; quantise the network that it was made from",
                        q->network->name);
    return weights ? VBS_OK
                   : vbs_fail(ctx, VBS_USAGE,
                              "'%.100s' has no convolution and no product with weights that could "
                              "be quantised",
                              q->network->name);
}

/* ---- rows ---- */

static bool has_row(const struct quantize_operator *o)
{
    return o->role != ROLE_JOINED && (o->fused < 0 || o->rounded || o[1].role == ROLE_JOINED);
}

/* Gives the last of the operators that are computed together with operator i. */
static int end_of(const struct vbs_quantized_network *q, int i)
{
    while (i + 1 < q->n && q->operators[i + 1].role == ROLE_JOINED)
        i++;
    return i;
}

static const char *kind_of(struct vbs_quantized_network *q, int first, int last)
{
    size_t size = 1;
    char *kind;

    for (int i = first; i <= last; i++)
        size += strlen(vbs_op_word(q->operators[i].op)) + 1;
    kind = vbs_arena_alloc(&q->arena, 1, size);
    for (int i = first; kind && i <= last; i++) {
        strcat(kind, i > first ? "+" : "");
        strcat(kind, vbs_op_word(q->operators[i].op));
    }
    return kind;
}

static enum vbs_status add_row(struct vbs_ctx *ctx, struct vbs_quantized_network *q, int i)
{
    const struct quantize_operator *o = &q->operators[i];
    int end = end_of(q, i);
    struct vbs_quantize_row *row = &q->rows[q->n_rows];

    *row = (struct vbs_quantize_row){.layer = o->layer,
                                     .name = o->name,
                                     .op = o->op,
                                     .kind = kind_of(q, i, end),
                                     .rounded = q->operators[end].rounded,
                                     .why = o->why};
    if (!row->kind)
        return vbs_no_memory(ctx);
    for (int at = i; at <= end; at++)
        q->row_of[at] = q->n_rows;
    q->n_rows++;
    return VBS_OK;
}

enum vbs_status vbs_quantize_rows(struct vbs_ctx *ctx, struct vbs_quantized_network *q)
{
    q->rows = vbs_arena_alloc(&q->arena, (size_t)q->n, sizeof *q->rows);
    q->row_of = vbs_arena_alloc(&q->arena, (size_t)q->n, sizeof *q->row_of);
    if (!q->rows || !q->row_of)
        return vbs_no_memory(ctx);
    for (int i = 0; i < q->n; i++)
        if (has_row(&q->operators[i]))
            VBS_TRY(add_row(ctx, q, i));
    return VBS_OK;
}

/* ---- scales ---- */

static void fill_value(struct vbs_quantized_network *q, int i,
                       const struct vbs_quantize_options *options)
{
    int root = q->operators[i].root, least = options->is_signed ? -128 : 0;
    const struct quantize_seen *seen = &q->seen[root];
    struct vbs_int8_value *value = &q->values[i];
    struct vbs_quantize_row *row = &q->rows[q->row_of[i]];
    double low, high;

    low = seen->low;
    high = seen->high;
    /* The distribution of inputs says little of what matters in them: a background that most pixels
     * have draws the threshold of entropy to itself. */
    if (options->method != VBS_QUANTIZE_ENTROPY || !vbs_quantize_is_input(q, &q->operators[root]))
        vbs_quantize_range(seen, options, &low, &high);
    *value = vbs_quantize_value(low, high, options->is_signed, options->symmetric);
    row->value = *value;
    row->seen_low = seen->low;
    row->seen_high = seen->high;
    row->low = (least + options->symmetric - value->zero) * (double)value->scale;
    row->high = (least + 255 - value->zero) * (double)value->scale;
    row->clipped = vbs_quantize_outside(seen, options->method, row->low, row->high);
}

static enum vbs_status choose_scales(struct vbs_ctx *ctx, struct vbs_quantized_network *q,
                                     const struct vbs_quantize_options *options)
{
    q->values = vbs_arena_alloc(&q->arena, (size_t)q->n, sizeof *q->values);
    if (!q->values)
        return vbs_no_memory(ctx);
    for (int i = 0; i < q->n; i++) {
        VBS_TRY(vbs_check_cancel(ctx));
        if (q->operators[i].rounded)
            fill_value(q, i, options);
    }
    return VBS_OK;
}

static enum vbs_status round_all_weights(struct vbs_ctx *ctx, struct vbs_quantized_network *q,
                                         const struct vbs_quantize_options *options)
{
    q->weights = vbs_arena_alloc(&q->arena, (size_t)q->network->n_layers + 1, sizeof *q->weights);
    if (!q->weights)
        return vbs_no_memory(ctx);
    for (int i = 1; i < q->n; i++) {
        const struct quantize_operator *o = &q->operators[i];

        if (o->role == ROLE_EIGHT && o->fused < 0 &&
            vbs_quantize_weights_of(&q->network->layers[o->layer]) != VBS_N_PARAMETERS)
            VBS_TRY(vbs_quantize_weights(ctx, q, o->layer, options->per_tensor,
                                         &q->weights[q->n_weights++], &q->rows[q->row_of[i]]));
    }
    return VBS_OK;
}

/* ---- the calls ---- */

static enum vbs_status quantise(struct vbs_ctx *ctx, const struct vbs_network *network,
                                const struct vbs_quantize_samples *samples,
                                const struct vbs_quantize_options *options,
                                struct vbs_quantized_network *q)
{
    VBS_TRY(vbs_network_fold(ctx, network, &q->own));
    q->network = q->own ? q->own : network;
    q->is_signed = options->is_signed;
    VBS_TRY(vbs_quantize_roles(ctx, q, options));
    VBS_TRY(check_network(ctx, q));
    VBS_TRY(vbs_quantize_rows(ctx, q));
    VBS_TRY(vbs_quantize_collect(ctx, q, samples, options));
    VBS_TRY(choose_scales(ctx, q, options));
    return round_all_weights(ctx, q, options);
}

enum vbs_status vbs_quantize(struct vbs_ctx *ctx, const struct vbs_network *network,
                             const struct vbs_quantize_samples *samples,
                             const struct vbs_quantize_options *options,
                             struct vbs_quantized_network **quantized)
{
    struct vbs_quantize_options own;
    struct vbs_quantized_network *q;
    enum vbs_status status;

    VBS_TRY(read_options(ctx, options, samples, &own));
    q = calloc(1, sizeof *q);
    if (!q)
        return vbs_no_memory(ctx);
    status = quantise(ctx, network, samples, &own, q);
    if (status != VBS_OK)
        vbs_quantized_free(q);
    else
        *quantized = q;
    return status;
}

void vbs_quantized_free(struct vbs_quantized_network *quantized)
{
    if (!quantized)
        return;
    vbs_network_free(quantized->own);
    vbs_arena_clear(&quantized->arena);
    free(quantized);
}

const struct vbs_network *vbs_quantized_floats(const struct vbs_quantized_network *quantized)
{
    return quantized->network;
}

const struct vbs_quantize_row *vbs_quantized_rows(const struct vbs_quantized_network *quantized,
                                                  int *n)
{
    *n = quantized->n_rows;
    return quantized->rows;
}

struct vbs_int8_table vbs_quantize_table(const struct vbs_quantized_network *q)
{
    return (struct vbs_int8_table){.is_signed = q->is_signed,
                                   .values = q->values,
                                   .weights = q->weights,
                                   .n_weights = q->n_weights};
}

enum vbs_status vbs_quantized_write(struct vbs_ctx *ctx,
                                    const struct vbs_quantized_network *quantized, const char *path)
{
    const struct vbs_int8_table table = vbs_quantize_table(quantized);

    return vbs_network_export_int8(ctx, quantized->network, &table, path);
}

enum vbs_status vbs_quantized_load(struct vbs_ctx *ctx,
                                   const struct vbs_quantized_network *quantized,
                                   struct vbs_network **network)
{
    const struct vbs_int8_table table = vbs_quantize_table(quantized);

    return vbs_network_to_int8(ctx, quantized->network, &table, network);
}
