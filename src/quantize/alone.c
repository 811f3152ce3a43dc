/* What each layer with weights costs alone: everything else stays in floats. */
#include "quantize/internal.h"

#include "base/fail.h"
#include "base/options.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The measurement. */
struct alone {
    struct vbs_ctx *ctx;
    const struct vbs_quantized_network *q;
    struct vbs_int8_value *values; /* [q->n] of one layer */
    struct quantize_comparing comparing;
    struct quantize_passes passes;
    char *path; /* of a file that is written for each layer; null: there is none */
};

/* Rounds what one layer reads, and its weights. */
static enum vbs_status measure_layer(struct alone *m, const struct vbs_int8_weights *weights,
                                     double *db)
{
    const struct vbs_quantized_network *q = m->q;
    const struct vbs_layer *l = &q->network->layers[weights->layer];
    const struct vbs_int8_table table = {
        .is_signed = q->is_signed, .values = m->values, .weights = weights, .n_weights = 1};
    struct vbs_quantize_difference difference;
    struct vbs_network *alone;
    enum vbs_status status;

    memset(m->values, 0, (size_t)q->n * sizeof *m->values);
    for (int i = 0; i < l->n_inputs; i++)
        m->values[q->last[l->inputs[i]]] = q->values[q->last[l->inputs[i]]];
    VBS_TRY(vbs_network_export_int8(m->ctx, q->network, &table, m->path));
    VBS_TRY(vbs_network_load(m->ctx, m->path, NULL, &alone));
    status = vbs_quantize_compare_with(m->ctx, &m->comparing, alone, &difference);
    vbs_network_free(alone);
    if (status == VBS_OK)
        *db = difference.db;
    return status;
}

static enum vbs_status measure(struct alone *m, double *db)
{
    const struct vbs_quantized_network *q = m->q;
    char *path;
    int file;

    m->values = malloc((size_t)q->n * sizeof *m->values);
    if (!m->values)
        return vbs_no_memory(m->ctx);
    if (asprintf(&path, "%s/vbslab.XXXXXX.onnx", vbs_temporary_folder()) < 0)
        return vbs_no_memory(m->ctx);
    file = mkstemps(path, 5);
    if (file < 0) {
        free(path);
        return vbs_fail(m->ctx, VBS_IO, "cannot make a file in '%s': %s", vbs_temporary_folder(),
                        strerror(errno));
    }
    close(file);
    m->path = path;
    for (int i = 0; i < q->n_weights; i++) {
        int row = q->row_of[vbs_network_operator(q->network, q->weights[i].layer, -1)];

        m->passes.n_done = i + 1;
        VBS_TRY(measure_layer(m, &q->weights[i], &db[row]));
    }
    return VBS_OK;
}

enum vbs_status vbs_quantized_alone(struct vbs_ctx *ctx,
                                    const struct vbs_quantized_network *quantized,
                                    const struct vbs_quantize_samples *samples,
                                    const struct vbs_quantize_options *options, double *db)
{
    struct vbs_quantize_options own;
    struct alone m = {.ctx = ctx,
                      .q = quantized,
                      .passes = {.all = &own.progress, .n = quantized->n_weights + 1}};
    double *made = malloc((size_t)quantized->n_rows * sizeof *made);
    enum vbs_status status;

    if (!made)
        return vbs_no_memory(ctx);
    for (int i = 0; i < quantized->n_rows; i++)
        made[i] = INFINITY;
    status = vbs_options_read(ctx, "vbs_quantize_options", options, &own, sizeof own);
    if (status == VBS_OK)
        status = vbs_quantize_compare_begin(ctx, quantized->network, samples, &own,
                                            vbs_quantize_progress(&m.passes), &m.comparing);
    if (status == VBS_OK)
        status = measure(&m, made);
    if (status == VBS_OK)
        memcpy(db, made, (size_t)quantized->n_rows * sizeof *made);
    if (m.path)
        unlink(m.path);
    free(m.path);
    vbs_quantize_compare_clear(&m.comparing);
    free(m.values);
    free(made);
    return status;
}
