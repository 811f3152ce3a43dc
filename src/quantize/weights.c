/* Weights and biases in whole numbers. */
#include "quantize/internal.h"

#include "base/fail.h"
#include "model/network/network.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define LARGEST_BIAS 2147483392.0 /* the largest float below 2^31 less a step of it */

enum vbs_parameter vbs_quantize_weights_of(const struct vbs_layer *l)
{
    switch (l->op) {
    case VBS_OP_CONV:
    case VBS_OP_CONV_TRANSPOSE:
    case VBS_OP_FC:
        return VBS_PARAMETER_WEIGHTS;
    case VBS_OP_MATMUL:
        return l->operand.n_dims > 0 ? VBS_PARAMETER_OPERAND : VBS_N_PARAMETERS;
    default:
        return VBS_N_PARAMETERS;
    }
}

/* Weights that are being rounded. Weight i is of channel i / run % n_channels. */
struct rounding {
    const struct vbs_layer *l;
    int64_t count, n_channels, run;
    float *values; /* [count] */
    float *bias;   /* [out channels] or null */
    double input;  /* scale of the layer's input */
    int8_t *numbers;
    float *scales; /* [n_channels] */
};

/* Finds how many scales the weights have, and which weights belong to one. */
static void divide(struct rounding *r, bool per_tensor)
{
    const union vbs_attributes *a = &r->l->attributes;
    int64_t out = a->weighted.out_channels;

    r->n_channels = 1;
    r->run = r->count;
    if (per_tensor)
        return;
    switch (r->l->op) {
    case VBS_OP_MATMUL:
        if (r->l->operand.n_dims == 2) {
            r->n_channels = r->l->operand.dim[1];
            r->run = 1;
        }
        break;
    case VBS_OP_CONV_TRANSPOSE:
        if (a->weighted.groups == 1) {
            r->n_channels = out;
            r->run = r->count / out / r->l->views[0].dim[0];
        }
        break;
    default:
        r->n_channels = out;
        r->run = r->count / out;
    }
}

/* Raises a scale until it suits: products with the scale of the input are no denormal numbers, and
 * a bias in steps of them has 32 bits. */
static void raise_scale(const struct rounding *r, double bias, float *scale)
{
    double least = fmax(FLT_MIN, FLT_MIN / r->input);

    if (r->bias)
        least = fmax(least, fabs(bias) / (r->input * LARGEST_BIAS));
    if ((double)*scale < least)
        *scale = nextafterf((float)least, INFINITY);
}

static void choose_scales(const struct rounding *r)
{
    for (int64_t c = 0; c < r->n_channels; c++)
        r->scales[c] = 0;
    for (int64_t i = 0; i < r->count; i++) {
        int64_t c = i / r->run % r->n_channels;

        r->scales[c] = fmaxf(r->scales[c], fabsf(r->values[i]));
    }
    for (int64_t c = 0; c < r->n_channels; c++) {
        bool empty = r->scales[c] == 0;
        int64_t n = r->n_channels > 1 ? 1 : r->l->attributes.weighted.out_channels;

        r->scales[c] /= 127;
        for (int64_t i = 0; r->bias && i < n; i++)
            raise_scale(r, (double)r->bias[c + i], &r->scales[c]);
        if (!r->bias)
            raise_scale(r, 0, &r->scales[c]);
        if (empty && !r->bias)
            r->scales[c] = 1;
    }
}

/* Rounds the weights, and gives the error that this makes. */
static double round_weights(const struct rounding *r)
{
    double power = 0, error = 0;

    for (int64_t i = 0; i < r->count; i++) {
        double scale = (double)r->scales[i / r->run % r->n_channels], w = (double)r->values[i];
        double number = fmin(fmax(nearbyint(w / scale), -127), 127);

        r->numbers[i] = (int8_t)number;
        power += w * w;
        error += (w - number * scale) * (w - number * scale);
    }
    return error > 0 ? 10 * log10(power / error) : INFINITY;
}

/* Rounds the bias, in the arena; *made stays null where its steps would be no finite number. */
static enum vbs_status round_bias(struct vbs_ctx *ctx, struct vbs_quantized_network *q,
                                  const struct rounding *r, const int32_t **made)
{
    int64_t n = r->l->attributes.weighted.out_channels;
    int32_t *numbers = vbs_arena_alloc(&q->arena, (size_t)n, sizeof *numbers);

    if (!numbers)
        return vbs_no_memory(ctx);
    for (int64_t c = 0; c < n; c++) {
        double step = r->input * (double)r->scales[r->n_channels > 1 ? c : 0];

        if (step > FLT_MAX)
            return VBS_OK;
        numbers[c] = (int32_t)nearbyint((double)r->bias[c] / step);
    }
    *made = numbers;
    return VBS_OK;
}

static enum vbs_status read_values(struct vbs_ctx *ctx, const struct vbs_quantized_network *q,
                                   int layer, struct rounding *r)
{
    bool biased = r->l->op != VBS_OP_MATMUL && r->l->attributes.weighted.bias &&
                  !(r->l->op == VBS_OP_FC && r->l->attributes.weighted.rows);
    int64_t n = r->l->attributes.weighted.out_channels;

    r->values = malloc((size_t)r->count * sizeof *r->values);
    if (!r->values)
        return vbs_no_memory(ctx);
    VBS_TRY(vbs_parameter_read(ctx, q->network, layer, -1, vbs_quantize_weights_of(r->l), 0,
                               r->count, r->values));
    if (!biased)
        return VBS_OK;
    r->bias = malloc((size_t)n * sizeof *r->bias);
    return r->bias
               ? vbs_parameter_read(ctx, q->network, layer, -1, VBS_PARAMETER_BIAS, 0, n, r->bias)
               : vbs_no_memory(ctx);
}

static enum vbs_status round_layer(struct vbs_ctx *ctx, struct vbs_quantized_network *q, int layer,
                                   struct rounding *r, struct vbs_int8_weights *weights,
                                   struct vbs_quantize_row *row)
{
    VBS_TRY(read_values(ctx, q, layer, r));
    r->numbers = vbs_arena_alloc(&q->arena, (size_t)r->count, sizeof *r->numbers);
    r->scales = vbs_arena_alloc(&q->arena, (size_t)r->n_channels, sizeof *r->scales);
    if (!r->numbers || !r->scales)
        return vbs_no_memory(ctx);
    choose_scales(r);
    row->weights_db = round_weights(r);
    row->n_weights = r->count;
    row->n_channels = r->n_channels;
    *weights = (struct vbs_int8_weights){
        .layer = layer, .values = r->numbers, .scales = r->scales, .n_scales = r->n_channels};
    return r->bias ? round_bias(ctx, q, r, &weights->bias) : VBS_OK;
}

enum vbs_status vbs_quantize_weights(struct vbs_ctx *ctx, struct vbs_quantized_network *q,
                                     int layer, bool per_tensor, struct vbs_int8_weights *weights,
                                     struct vbs_quantize_row *row)
{
    const struct vbs_layer *l = &q->network->layers[layer];
    struct rounding r = {.l = l,
                         .count =
                             vbs_parameter_count(q->network, layer, -1, vbs_quantize_weights_of(l)),
                         .input = (double)q->values[q->last[l->inputs[0]]].scale};
    enum vbs_status status;

    divide(&r, per_tensor);
    status = round_layer(ctx, q, layer, &r, weights, row);
    free(r.values);
    free(r.bias);
    return status;
}
