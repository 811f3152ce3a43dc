/* What each layer with weights, or each rounding, costs alone: everything else stays in floats. */
#include "quantize/internal.h"

#include "base/fail.h"
#include "base/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The measurement. */
struct alone {
    struct vbs_ctx *ctx;
    const struct vbs_quantized_network *q;
    struct vbs_int8_value *values; /* [q->n] of one layer */
    struct quantize_comparing comparing;
    struct quantize_passes passes;
};

/* Measures a network in which the values of m and some weights are rounded; weights may be null. */
static enum vbs_status measure_rounded(struct alone *m, const struct vbs_int8_weights *weights,
                                       struct vbs_quantize_difference *difference)
{
    const struct vbs_int8_table table = {.is_signed = m->q->is_signed,
                                         .values = m->values,
                                         .weights = weights,
                                         .n_weights = weights != NULL};
    struct vbs_network *alone;
    enum vbs_status status;

    m->passes.n_done++;
    VBS_TRY(vbs_network_to_int8(m->ctx, m->q->network, &table, &alone));
    status = vbs_quantize_compare_with(m->ctx, &m->comparing, alone, difference);
    vbs_network_free(alone);
    return status;
}

static void round_nothing(struct alone *m)
{
    memset(m->values, 0, (size_t)m->q->n * sizeof *m->values);
}

/* Rounds what one layer reads, and its weights. */
static enum vbs_status measure_layer(struct alone *m, const struct vbs_int8_weights *weights,
                                     double *db)
{
    const struct vbs_quantized_network *q = m->q;
    const struct vbs_layer *l = &q->network->layers[weights->layer];
    struct vbs_quantize_difference difference;

    round_nothing(m);
    for (int i = 0; i < l->n_inputs; i++)
        m->values[q->last[l->inputs[i]]] = q->values[q->last[l->inputs[i]]];
    VBS_TRY(measure_rounded(m, weights, &difference));
    *db = difference.db;
    return VBS_OK;
}

static int row_of_weights(const struct vbs_quantized_network *q, int i)
{
    return q->row_of[vbs_network_operator(q->network, q->weights[i].layer, -1)];
}

static enum vbs_status measure_layers(struct alone *m, double *db)
{
    for (int i = 0; i < m->q->n_weights; i++)
        VBS_TRY(measure_layer(m, &m->q->weights[i], &db[row_of_weights(m->q, i)]));
    return VBS_OK;
}

/* Runs the network in floats, beside which all else is held. */
static enum vbs_status begin(struct alone *m, const struct vbs_quantize_samples *samples,
                             const struct vbs_quantize_options *options, int n_passes)
{
    m->passes = (struct quantize_passes){.all = &options->progress, .n = n_passes + 1};
    m->values = malloc((size_t)m->q->n * sizeof *m->values);
    if (!m->values)
        return vbs_no_memory(m->ctx);
    return vbs_quantize_compare_begin(m->ctx, m->q->network, samples, options,
                                      vbs_quantize_progress(&m->passes), &m->comparing);
}

static void end(struct alone *m)
{
    vbs_quantize_compare_clear(&m->comparing);
    free(m->values);
}

enum vbs_status vbs_quantized_alone(struct vbs_ctx *ctx,
                                    const struct vbs_quantized_network *quantized,
                                    const struct vbs_quantize_samples *samples,
                                    const struct vbs_quantize_options *options, double *db)
{
    struct vbs_quantize_options own;
    struct alone m = {.ctx = ctx, .q = quantized};
    double *made = malloc((size_t)quantized->n_rows * sizeof *made);
    enum vbs_status status;

    if (!made)
        return vbs_no_memory(ctx);
    for (int i = 0; i < quantized->n_rows; i++)
        made[i] = INFINITY;
    status = vbs_options_read(ctx, "vbs_quantize_options", options, &own, sizeof own);
    if (status == VBS_OK)
        status = begin(&m, samples, &own, quantized->n_weights);
    if (status == VBS_OK)
        status = measure_layers(&m, made);
    if (status == VBS_OK)
        memcpy(db, made, (size_t)quantized->n_rows * sizeof *made);
    end(&m);
    free(made);
    return status;
}

/* ---- each rounding ---- */

/* Gives whether an operator's value is rounded by itself, and not because it moves one that is. */
static bool is_rounded(const struct vbs_quantized_network *q, int i)
{
    return q->operators[i].rounded && q->operators[i].root == i;
}

static enum vbs_status measure_each(struct alone *m, double *values, double *weights)
{
    const struct vbs_quantized_network *q = m->q;
    struct vbs_quantize_difference difference;

    for (int i = 0; i < q->n; i++) {
        if (!is_rounded(q, i))
            continue;
        round_nothing(m);
        m->values[i] = q->values[i];
        VBS_TRY(measure_rounded(m, NULL, &difference));
        values[i] = vbs_quantize_error(difference.db);
    }
    round_nothing(m);
    for (int i = 0; i < q->n_weights; i++) {
        struct vbs_int8_weights only = q->weights[i];

        only.bias = NULL; /* its steps are those of the input, which is not rounded */
        VBS_TRY(measure_rounded(m, &only, &difference));
        weights[row_of_weights(q, i)] = vbs_quantize_error(difference.db);
    }
    return VBS_OK;
}

static int count_rounded(const struct vbs_quantized_network *q)
{
    int n = 0;

    for (int i = 0; i < q->n; i++)
        n += is_rounded(q, i);
    return n;
}

enum vbs_status vbs_quantized_errors(struct vbs_ctx *ctx,
                                     const struct vbs_quantized_network *quantized,
                                     const struct vbs_quantize_samples *samples,
                                     const struct vbs_quantize_options *options, double *values,
                                     double *weights)
{
    struct vbs_quantize_options own;
    struct alone m = {.ctx = ctx, .q = quantized};
    enum vbs_status status;

    VBS_TRY(vbs_options_read(ctx, "vbs_quantize_options", options, &own, sizeof own));
    memset(values, 0, (size_t)quantized->n * sizeof *values);
    memset(weights, 0, (size_t)quantized->n_rows * sizeof *weights);
    status = begin(&m, samples, &own, count_rounded(quantized) + quantized->n_weights);
    if (status == VBS_OK)
        status = measure_each(&m, values, weights);
    end(&m);
    return status;
}

double vbs_quantized_predict(const struct vbs_quantized_network *quantized,
                             const struct vbs_quantized_network *mixed, const double *values,
                             const double *weights)
{
    double error = 0;

    for (int i = 0; i < mixed->n; i++)
        error += is_rounded(mixed, i) ? values[i] : 0;
    for (int i = 0; i < mixed->n_weights; i++)
        error += weights[quantized->row_of[vbs_network_operator(mixed->network,
                                                                mixed->weights[i].layer, -1)]];
    return error;
}

double vbs_quantized_row_error(const struct vbs_quantized_network *quantized, int row,
                               const double *values, const double *weights)
{
    const struct vbs_layer *l = &quantized->network->layers[quantized->rows[row].layer];
    double error = weights[row];

    for (int i = 0; i < l->n_inputs; i++)
        error += values[quantized->operators[quantized->last[l->inputs[i]]].root];
    return error;
}
