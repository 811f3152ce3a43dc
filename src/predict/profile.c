/* Predictors, and the profiles that they make. */
#include "predict/calibrate.h"
#include "predict/predict.h"

#include "base/arith.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/grow.h"
#include "base/options.h"
#include "base/text.h"
#include "profile/session.h"
#include "vbslab/timings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vbs_predictor {
    struct vbs_predict_options options;
    char *vbslab, *folder; /* of options, in the arena */
    struct vbs_arena arena;
    struct predict_point *points;
    int n_points;
    int64_t capacity;
    struct predict_model model;
};

/* ---- learning ---- */

/* Gives the network's layer of this name. Null: there is none. */
static const struct vbs_layer *find_layer(const struct vbs_network *network, const char *name)
{
    for (int k = 1; k <= network->n_layers; k++)
        if (strcmp(network->layers[k].name, name) == 0)
            return &network->layers[k];
    return NULL;
}

static enum vbs_status no_layer(struct vbs_ctx *ctx, const char *name)
{
    return vbs_fail(ctx, VBS_LIBRARY, "a session has a layer '%.100s' that its network has not",
                    name);
}

static enum vbs_status add_point(struct vbs_ctx *ctx, struct vbs_predictor *p,
                                 const struct predict_point *point)
{
    if (!point->algorithm)
        return vbs_no_memory(ctx);
    VBS_TRY(vbs_grow(ctx, &p->points, &p->capacity, (int64_t)p->n_points + 1, sizeof *p->points));
    p->points[p->n_points++] = *point;
    return VBS_OK;
}

/* Adds the rows of a layer. Times that are 0, below the clock's resolution, say nothing. */
static enum vbs_status add_layer(struct vbs_ctx *ctx, struct vbs_predictor *p,
                                 const struct vbs_layer *l, const struct vbs_profile *profile,
                                 int layer, int geometry)
{
    for (int b = 0, n_rows; b < profile->n_batches; b++) {
        const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, b, &n_rows);

        for (int i = 0; i < n_rows; i++) {
            struct predict_point point =
                vbs_predict_describe(l, &profile->layers[layer], profile->batches[b],
                                     profile->algorithms[rows[i].algorithm], &rows[i], &p->arena);

            point.time_us = rows[i].time_us;
            point.geometry = geometry;
            if (point.time_us > 0)
                VBS_TRY(add_point(ctx, p, &point));
        }
    }
    return VBS_OK;
}

/* Adds the times of a network to learn from. */
static enum vbs_status add_network(struct vbs_ctx *ctx, struct vbs_store *store,
                                   struct vbs_predictor *p, int which)
{
    const struct vbs_assemble_options how = vbs_predict_assembly(&p->options);
    struct vbs_network *network = NULL;
    struct vbs_profile *profile = NULL;
    enum vbs_status status = vbs_predict_network(ctx, which, &network);

    if (status == VBS_OK)
        status = vbs_profile_assemble(ctx, store, network, &how, NULL, &profile);
    for (int k = 1; status == VBS_OK && k <= profile->n_layers; k++) {
        const struct vbs_layer *l = find_layer(network, profile->layers[k].name);

        status = l ? add_layer(ctx, p, l, profile, k, which * VBS_MAX_LAYERS + k)
                   : no_layer(ctx, profile->layers[k].name);
    }
    vbs_profile_free(profile);
    vbs_network_free(network);
    return status;
}

static enum vbs_status load(struct vbs_ctx *ctx, struct vbs_store *store, struct vbs_predictor *p)
{
    const struct vbs_predict_options *from = &p->options;

    p->vbslab = from->vbslab ? vbs_arena_strdup(&p->arena, from->vbslab) : NULL;
    p->folder = from->folder ? vbs_arena_strdup(&p->arena, from->folder) : NULL;
    if ((from->vbslab && !p->vbslab) || (from->folder && !p->folder))
        return vbs_no_memory(ctx);
    p->options.vbslab = p->vbslab;
    p->options.folder = p->folder;
    for (int i = 0; i < vbs_predict_n_networks(); i++) {
        enum vbs_status status = add_network(ctx, store, p, i);

        if (status == VBS_NOT_FOUND)
            return vbs_fail(ctx, status,
                            "this machine is not calibrated for predictions with this build of "
                            "vbslab and this number of threads");
        VBS_TRY(status);
    }
    return vbs_predict_learn(ctx, p->points, p->n_points, &p->model);
}

enum vbs_status vbs_predictor_load(struct vbs_ctx *ctx, struct vbs_store *store,
                                   const struct vbs_predict_options *options,
                                   struct vbs_predictor **predictor)
{
    struct vbs_predictor *p = calloc(1, sizeof *p);
    enum vbs_status status;

    if (!p)
        return vbs_no_memory(ctx);
    status = vbs_options_read(ctx, "vbs_predict_options", options, &p->options, sizeof p->options);
    if (status == VBS_OK)
        status = load(ctx, store, p);
    if (status != VBS_OK) {
        vbs_predictor_free(p);
        return status;
    }
    *predictor = p;
    return VBS_OK;
}

void vbs_predictor_free(struct vbs_predictor *predictor)
{
    if (!predictor)
        return;
    vbs_predict_clear(&predictor->model);
    free(predictor->points);
    vbs_arena_clear(&predictor->arena);
    free(predictor);
}

/* ---- profiles ---- */

/* A profile that is being made. */
struct prediction {
    struct vbs_ctx *ctx;
    struct vbs_store *store;
    const struct vbs_network *network;
    struct vbs_session *session;
    struct vbs_text batches;      /* "1,2,4" */
    struct predict_point *points; /* [n_kernels] */
    struct predict_time *times;   /* [n_kernels] */
    struct vbs_arena arena;
    int n_measured; /* rows with measured times */
    struct vbs_profile_builder *builder;
};

static enum vbs_status predict_kernels(struct prediction *p, const struct predict_model *model)
{
    const struct vbs_session *s = p->session;

    p->points = calloc((size_t)s->n_kernels + 1, sizeof *p->points);
    p->times = calloc((size_t)s->n_kernels + 1, sizeof *p->times);
    if (!p->points || !p->times)
        return vbs_no_memory(p->ctx);
    for (int i = 0; i < s->n_kernels; i++) {
        const struct vbs_kernel *kernel = &s->kernels[i];
        const struct vbs_profile_layer *about = &s->layers[kernel->layer];
        const struct vbs_layer *l = find_layer(p->network, about->name);
        const struct vbs_profile_row row = vbs_session_row(kernel);

        if (!l)
            return no_layer(p->ctx, about->name);
        p->points[i] =
            vbs_predict_describe(l, about, kernel->batch, kernel->algorithm, &row, &p->arena);
        if (!p->points[i].algorithm)
            return vbs_no_memory(p->ctx);
    }
    VBS_TRY(vbs_predict_times(p->ctx, model, p->points, s->n_kernels, p->times));
    vbs_predict_prefer_known(s->kernels, s->n_kernels, p->times);
    return VBS_OK;
}

/* Gives the measured row of a kernel; null: the store has none. */
static const struct vbs_timing_row *find_measured(const struct vbs_timing *timing,
                                                  const struct vbs_kernel *kernel)
{
    for (int i = 0; timing && i < timing->n_rows; i++)
        if (timing->rows[i].batch == kernel->batch && timing->rows[i].row.rows == kernel->rows &&
            strcmp(timing->rows[i].algorithm, kernel->algorithm) == 0)
            return &timing->rows[i];
    return NULL;
}

/* Adds the row of a kernel, with its measured times, if there are any. */
static enum vbs_status add_row(struct prediction *p, int i, const struct vbs_timing *timing)
{
    const struct vbs_kernel *kernel = &p->session->kernels[i];
    const struct vbs_timing_row *measured = find_measured(timing, kernel);
    struct vbs_profile_row row = vbs_session_row(kernel);
    double half = VBS_NORMAL_95 * p->times[i].deviation;

    row.time_us = fmin(exp(p->times[i].log_us), VBS_MAX_TIME_US);
    row.low_us = row.time_us * exp(-half);
    row.high_us = fmin(row.time_us * exp(half), VBS_MAX_TIME_US);
    if (measured) {
        row.time_us = measured->row.time_us;
        row.mad_us = measured->row.mad_us;
        row.low_us = measured->row.low_us;
        row.high_us = measured->row.high_us;
        row.n_runs = measured->row.n_runs;
        p->n_measured++;
    }
    return vbs_profile_builder_row(p->ctx, p->builder, kernel->layer, kernel->batch,
                                   kernel->algorithm, &row);
}

static struct vbs_timing_key key_of(const struct prediction *p, uint64_t geometry)
{
    return (struct vbs_timing_key){.geometry = geometry,
                                   .batches = geometry ? p->batches.data : "",
                                   .provenance = &p->session->provenance};
}

/* Adds the rows of all layers; kernels are ascending by layer. */
static enum vbs_status add_rows(struct prediction *p)
{
    const struct vbs_session *s = p->session;
    enum vbs_status status = VBS_OK;

    for (int i = 0, layer; i < s->n_kernels && status == VBS_OK;) {
        struct vbs_timing *timing = NULL;

        layer = s->kernels[i].layer;
        if (s->ops->geometry) {
            struct vbs_timing_key key = key_of(p, s->ops->geometry(s, layer));

            VBS_TRY(vbs_store_timing_find(p->ctx, p->store, &key, &timing));
        }
        for (; i < s->n_kernels && s->kernels[i].layer == layer && status == VBS_OK; i++)
            status = add_row(p, i, timing);
        vbs_timing_free(timing);
    }
    return status;
}

static enum vbs_status add_copies(struct prediction *p)
{
    const struct vbs_timing_key key = key_of(p, 0);
    struct vbs_timing *copies = NULL;
    enum vbs_status status = vbs_store_timing_find(p->ctx, p->store, &key, &copies);

    for (int i = 0; status == VBS_OK && copies && i < copies->n_copies; i++)
        status = vbs_profile_builder_copy(p->ctx, p->builder, copies->copies[i].source,
                                          &copies->copies[i].row);
    vbs_timing_free(copies);
    return status;
}

static enum vbs_status add_provenance(struct prediction *p, const struct vbs_predictor *predictor)
{
    struct vbs_provenance provenance = p->session->provenance;
    char date[VBS_DATE_SIZE], notes[200];
    int n = p->session->n_kernels;

    vbs_date_now(date);
    snprintf(notes, sizeof notes,
             VBS_PREDICTED_NOTE " (%d of %d rows), from the times of %d kernels of this machine's "
                                "calibration",
             n - p->n_measured, n, predictor->model.n_points);
    provenance.date = date;
    provenance.notes = notes;
    return vbs_profile_builder_provenance(p->ctx, p->builder, &provenance);
}

static enum vbs_status build(struct prediction *p, const struct vbs_predictor *predictor,
                             struct vbs_profile **profile)
{
    p->builder = vbs_profile_builder_new();
    if (!p->builder)
        return vbs_no_memory(p->ctx);
    VBS_TRY(vbs_session_build_layers(p->ctx, p->session, p->builder));
    VBS_TRY(add_rows(p));
    VBS_TRY(add_copies(p));
    VBS_TRY(add_provenance(p, predictor));
    return vbs_profile_builder_finish(p->ctx, p->builder, profile);
}

static enum vbs_status open_session(struct prediction *p, const struct vbs_predictor *predictor,
                                    const int *batches, int n_batches)
{
    const struct vbs_predict_options *from = &predictor->options;
    /* Nothing runs, so that no kernel needs its weights, which would take long to pack. */
    const struct vbs_backend_options options = {.struct_size = sizeof options,
                                                .batches = batches,
                                                .n_batches = n_batches,
                                                .threads = from->threads,
                                                .weights_given = true};

    for (int i = 0; i < n_batches; i++)
        vbs_text_addf(&p->batches, "%s%d", i ? "," : "", batches[i]);
    if (p->batches.failed)
        return vbs_no_memory(p->ctx);
    VBS_TRY(from->backend->open(p->ctx, p->network, &options, &p->session));
    if (from->vbslab)
        p->session->provenance.vbslab = from->vbslab;
    return VBS_OK;
}

enum vbs_status vbs_predict_profile(struct vbs_ctx *ctx, struct vbs_store *store,
                                    const struct vbs_predictor *predictor,
                                    const struct vbs_network *network, const int *batches,
                                    int n_batches, struct vbs_profile **profile)
{
    struct prediction p = {.ctx = ctx, .store = store, .network = network};
    enum vbs_status status = open_session(&p, predictor, batches, n_batches);

    if (status == VBS_OK)
        status = predict_kernels(&p, &predictor->model);
    if (status == VBS_OK)
        status = build(&p, predictor, profile);
    vbs_profile_builder_free(p.builder);
    if (p.session)
        p.session->ops->close(p.session);
    free(p.points);
    free(p.times);
    vbs_text_clear(&p.batches);
    vbs_arena_clear(&p.arena);
    return status;
}
