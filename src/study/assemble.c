/*
 * Profiles from kernel times by geometry. A session without kernels tells the layers of the
 * network: their bytes, and their geometries. Times that the store has are taken from there. Where
 * some are missing, the whole network is run in place, as any measurement does, so that each layer
 * finds the caches as inference leaves them; but layers whose times are known have one kernel for
 * each batch, the fastest, which needs no samples.
 */
#include "study/study.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/grow.h"
#include "base/options.h"
#include "base/text.h"
#include "profile/session.h"
#include "vbslab/posterior.h"
#include "vbslab/timings.h"

#include <stdlib.h>
#include <string.h>

/* The times of one kernel, or of a size of copy, as they are taken. */
struct taken {
    double *times_us;
    int n_times;
    int64_t capacity;
};

/* Sizes of copies. */
struct taken_copy {
    const char *source; /* in the arena */
    int64_t bytes;
    struct taken taken;
};

/* A profile that is being assembled. Layers are those of the session. */
struct assembly {
    struct vbs_ctx *ctx;
    struct vbs_store *store;
    const struct vbs_network *network;
    struct vbs_assemble_options options;
    struct vbs_assemble_report report;
    struct vbs_text batches;        /* "1,2,4" */
    struct vbs_session *layers;     /* without kernels */
    uint64_t *geometry;             /* [n_layers + 1] */
    int *same;                      /* [n_layers + 1] the first layer of this geometry */
    struct vbs_timing **timing;     /* [n_layers + 1] of first layers; null: missing */
    struct vbs_timing *copies;      /* null: none are needed */
    struct vbs_session *session;    /* with the kernels to measure, or null */
    struct taken *taken;            /* [session->n_kernels] */
    double known_us[KNOWN_SAMPLES]; /* times of a kernel that needs no samples */
    struct taken_copy *taken_copies;
    int n_taken_copies;
    int64_t max_taken_copies;
    struct vbs_arena arena;
};

/* ---- looking up ---- */

static struct vbs_timing_key key_of(const struct assembly *a, uint64_t geometry)
{
    return (struct vbs_timing_key){.geometry = geometry,
                                   .batches = geometry ? a->batches.data : "",
                                   .provenance = &a->layers->provenance};
}

/* Finds the times of all layers, each geometry once. */
static enum vbs_status look_up(struct assembly *a)
{
    size_t n = (size_t)a->layers->n_layers + 1;

    a->geometry = vbs_arena_alloc(&a->arena, n, sizeof *a->geometry);
    a->same = vbs_arena_alloc(&a->arena, n, sizeof *a->same);
    a->timing = vbs_arena_alloc(&a->arena, n, sizeof(struct vbs_timing *));
    if (!a->geometry || !a->same || !a->timing)
        return vbs_no_memory(a->ctx);
    for (int k = 1; k < (int)n; k++) {
        struct vbs_timing_key key = key_of(a, a->layers->ops->geometry(a->layers, k));

        a->geometry[k] = key.geometry;
        for (int j = 1; j <= k && a->same[k] == 0; j++)
            if (a->geometry[j] == key.geometry)
                a->same[k] = j;
        if (a->same[k] != k)
            continue;
        VBS_TRY(vbs_store_timing_find(a->ctx, a->store, &key, &a->timing[k]));
        a->report.n_geometries++;
        a->report.n_missing += !a->timing[k];
    }
    return VBS_OK;
}

/* ---- the sink of samples ---- */

static bool is_known(const struct assembly *a, int layer)
{
    return a->timing[a->same[layer]] != NULL;
}

static enum vbs_status append(struct vbs_ctx *ctx, struct taken *taken, double time_us)
{
    VBS_TRY(vbs_grow(ctx, &taken->times_us, &taken->capacity, (int64_t)taken->n_times + 1,
                     sizeof *taken->times_us));
    taken->times_us[taken->n_times++] = time_us;
    return VBS_OK;
}

/* A kernel whose times are known has as many equal samples as make it need no more. */
static enum vbs_status stored(struct vbs_ctx *ctx, void *self, int kernel, const double **times_us,
                              int *n_times)
{
    const struct assembly *a = self;

    (void)ctx;
    *times_us = a->known_us;
    *n_times = is_known(a, a->session->kernels[kernel].layer) ? KNOWN_SAMPLES : 0;
    return VBS_OK;
}

static enum vbs_status add(struct vbs_ctx *ctx, void *self, int kernel, int round, double time_us)
{
    struct assembly *a = self;

    (void)round;
    return append(ctx, &a->taken[kernel], time_us);
}

static enum vbs_status stored_copies(struct vbs_ctx *ctx, void *self, const char *source,
                                     int64_t bytes, const double **times_us, int *n_times)
{
    (void)ctx, (void)self, (void)source, (void)bytes;
    *times_us = NULL;
    *n_times = 0;
    return VBS_OK;
}

static enum vbs_status add_copy(struct vbs_ctx *ctx, void *self, const char *source, int64_t bytes,
                                double time_us)
{
    struct assembly *a = self;
    struct taken_copy copy = {.bytes = bytes};

    for (int i = 0; i < a->n_taken_copies; i++)
        if (a->taken_copies[i].bytes == bytes && strcmp(a->taken_copies[i].source, source) == 0)
            return append(ctx, &a->taken_copies[i].taken, time_us);
    VBS_TRY(vbs_grow(ctx, &a->taken_copies, &a->max_taken_copies, (int64_t)a->n_taken_copies + 1,
                     sizeof copy));
    copy.source = vbs_arena_strdup(&a->arena, source);
    if (!copy.source)
        return vbs_no_memory(ctx);
    a->taken_copies[a->n_taken_copies] = copy;
    return append(ctx, &a->taken_copies[a->n_taken_copies++].taken, time_us);
}

/* ---- measuring what is missing ---- */

/* Gives the fastest algorithm of a layer whose times are known; null: all are to be measured. */
static const char *choose_only(void *self, int layer, int batch)
{
    const struct assembly *a = self;
    const struct vbs_timing *timing = a->timing[a->same[layer]];
    const struct vbs_timing_row *best = NULL;

    for (int i = 0; timing && i < timing->n_rows; i++)
        if (timing->rows[i].batch == batch && timing->rows[i].row.rows == 0 &&
            (!best || timing->rows[i].row.time_us < best->row.time_us))
            best = &timing->rows[i];
    return best ? best->algorithm : NULL;
}

/* Fills the row of a kernel with the times of all layers of its geometry. Frees nothing. */
static enum vbs_status sum_up(struct assembly *a, int first, struct vbs_timing_row *row)
{
    const struct vbs_session *s = a->session;
    const struct vbs_kernel *kernel = &s->kernels[first];
    struct taken pool = {0};
    enum vbs_status status = VBS_OK;

    *row = (struct vbs_timing_row){
        .batch = kernel->batch, .algorithm = kernel->algorithm, .row = vbs_session_row(kernel)};
    for (int i = first; i < s->n_kernels && status == VBS_OK; i++) {
        const struct vbs_kernel *other = &s->kernels[i];

        if (a->same[other->layer] != kernel->layer || other->batch != kernel->batch ||
            other->rows != kernel->rows || strcmp(other->algorithm, kernel->algorithm) != 0)
            continue;
        if (other->ws_bytes != kernel->ws_bytes || other->weight_bytes != kernel->weight_bytes)
            status = vbs_fail(a->ctx, VBS_LIBRARY,
                              "layers '%s' and '%s' have one geometry, but '%s' takes other memory "
                              "at batch %d",
                              s->layers[kernel->layer].name, s->layers[other->layer].name,
                              kernel->algorithm, kernel->batch);
        for (int j = 0; j < a->taken[i].n_times && status == VBS_OK; j++)
            status = append(a->ctx, &pool, a->taken[i].times_us[j]);
    }
    if (status == VBS_OK && pool.n_times == 0)
        status = vbs_fail(a->ctx, VBS_LIBRARY, "layer '%s', batch %d, algorithm '%s' has no sample",
                          s->layers[kernel->layer].name, kernel->batch, kernel->algorithm);
    if (status == VBS_OK)
        vbs_measure_summary(pool.times_us, pool.n_times, &row->row);
    free(pool.times_us);
    return status;
}

/* Keeps the times of the geometry whose first layer is k, and reads them back, so that this profile
 * has the times that the store has. */
static enum vbs_status keep(struct assembly *a, int k)
{
    const struct vbs_session *s = a->session;
    const struct vbs_timing_key key = key_of(a, a->geometry[k]);
    struct vbs_timing made = {0};
    struct vbs_timing_row *rows = calloc((size_t)s->n_kernels + 1, sizeof *rows);
    enum vbs_status status = rows ? VBS_OK : vbs_no_memory(a->ctx);

    for (int i = 0; i < s->n_kernels && status == VBS_OK; i++)
        if (s->kernels[i].layer == k)
            status = sum_up(a, i, &rows[made.n_rows++]);
    made.rows = rows;
    if (status == VBS_OK)
        status = vbs_store_timing_save(a->ctx, a->store, &key, &made);
    free(rows);
    return status == VBS_OK ? vbs_store_timing_find(a->ctx, a->store, &key, &a->timing[k]) : status;
}

static enum vbs_status run_session(struct assembly *a)
{
    const struct vbs_sample_sink sink = {.self = a,
                                         .stored = stored,
                                         .add = add,
                                         .stored_copies = stored_copies,
                                         .add_copy = add_copy};
    struct vbs_measure_options options = a->options.measure;
    struct vbs_measure_report measured;

    options.struct_size = sizeof options;
    for (int i = 0; i < KNOWN_SAMPLES; i++)
        a->known_us[i] = 1;
    a->taken = calloc((size_t)a->session->n_kernels + 1, sizeof *a->taken);
    if (!a->taken)
        return vbs_no_memory(a->ctx);
    VBS_TRY(vbs_measure(a->ctx, a->session, &options, &sink, &measured));
    a->report.n_samples = measured.n_samples;
    a->report.measured_s = measured.total_s;
    for (int k = 1; k <= a->session->n_layers; k++)
        if (a->same[k] == k && !a->timing[k])
            VBS_TRY(keep(a, k));
    return VBS_OK;
}

static enum vbs_status measure_missing(struct assembly *a)
{
    struct vbs_backend_options prepare = {.struct_size = sizeof prepare,
                                          .batches = a->options.batches,
                                          .n_batches = a->options.n_batches,
                                          .threads = a->options.threads,
                                          .self = a,
                                          .only = choose_only};

    if (!a->options.may_measure)
        return vbs_fail(a->ctx, VBS_NOT_FOUND, "the times of %d of %d geometries are not known",
                        a->report.n_missing, a->report.n_geometries);
    VBS_TRY(a->options.backend->open(a->ctx, a->network, &prepare, &a->session));
    if (a->session->n_layers != a->layers->n_layers)
        return vbs_fail(a->ctx, VBS_LIBRARY, "two sessions of '%s' have different layers",
                        a->network->name);
    return run_session(a);
}

/* ---- copies ---- */

static enum vbs_status keep_copies(struct assembly *a, const struct vbs_timing_key *key)
{
    struct vbs_timing made = {.n_copies = a->n_taken_copies};
    struct vbs_timing_copy *copies = calloc((size_t)a->n_taken_copies + 1, sizeof *copies);
    enum vbs_status status;

    if (!copies)
        return vbs_no_memory(a->ctx);
    for (int i = 0; i < a->n_taken_copies; i++) {
        struct taken_copy *copy = &a->taken_copies[i];
        struct vbs_profile_row row = {0};

        vbs_measure_summary(copy->taken.times_us, copy->taken.n_times, &row);
        copies[i] = (struct vbs_timing_copy){.source = copy->source,
                                             .row = {.bytes = copy->bytes,
                                                     .time_us = row.time_us,
                                                     .mad_us = row.mad_us,
                                                     .low_us = row.low_us,
                                                     .high_us = row.high_us,
                                                     .n_runs = row.n_runs}};
    }
    made.copies = copies;
    status = vbs_store_timing_save(a->ctx, a->store, key, &made);
    free(copies);
    return status == VBS_OK ? vbs_store_timing_find(a->ctx, a->store, key, &a->copies) : status;
}

static enum vbs_status find_copies(struct assembly *a)
{
    const struct vbs_timing_key key = key_of(a, 0);
    const struct vbs_sample_sink sink = {.self = a,
                                         .stored = stored,
                                         .add = add,
                                         .stored_copies = stored_copies,
                                         .add_copy = add_copy};
    const struct vbs_copy_options options = {.struct_size = sizeof options,
                                             .folder = a->options.folder ? a->options.folder : ".",
                                             .time_limit_s = a->options.measure.time_limit_s};
    struct vbs_copy_report report;

    VBS_TRY(vbs_store_timing_find(a->ctx, a->store, &key, &a->copies));
    if (a->copies)
        return VBS_OK;
    if (!a->options.may_measure)
        return vbs_fail(a->ctx, VBS_NOT_FOUND, "the times of copies are not known");
    VBS_TRY(vbs_measure_copies(a->ctx, a->layers, &options, &sink, &report));
    return keep_copies(a, &key);
}

/* ---- the profile ---- */

static enum vbs_status build_layer(struct assembly *a, struct vbs_profile_builder *builder, int k)
{
    const struct vbs_timing *timing = a->timing[a->same[k]];

    for (int i = 0; i < timing->n_rows; i++)
        VBS_TRY(vbs_profile_builder_row(a->ctx, builder, k, timing->rows[i].batch,
                                        timing->rows[i].algorithm, &timing->rows[i].row));
    return VBS_OK;
}

static enum vbs_status fill(struct assembly *a, struct vbs_profile_builder *builder)
{
    struct vbs_provenance provenance = a->layers->provenance;
    char date[VBS_DATE_SIZE];

    vbs_date_now(date);
    provenance.date = date;
    provenance.notes = "assembled from kernel times by geometry";
    VBS_TRY(vbs_profile_builder_provenance(a->ctx, builder, &provenance));
    VBS_TRY(vbs_session_build_layers(a->ctx, a->layers, builder));
    for (int k = 1; k <= a->layers->n_layers; k++)
        VBS_TRY(build_layer(a, builder, k));
    for (int i = 0; a->copies && i < a->copies->n_copies; i++)
        VBS_TRY(vbs_profile_builder_copy(a->ctx, builder, a->copies->copies[i].source,
                                         &a->copies->copies[i].row));
    return VBS_OK;
}

/* Times of a model are exact; those that were measured become posterior ones, as of any profile
 * that is measured. */
static enum vbs_status build(struct assembly *a, struct vbs_profile **profile)
{
    const struct vbs_posterior_options options = {.struct_size = sizeof options};
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    enum vbs_status status = builder ? fill(a, builder) : vbs_no_memory(a->ctx);
    struct vbs_profile *medians = NULL;

    if (status == VBS_OK)
        status = vbs_profile_builder_finish(a->ctx, builder, &medians);
    vbs_profile_builder_free(builder);
    if (status == VBS_OK && !a->options.backend->modelled)
        status = vbs_profile_posterior(a->ctx, medians, &options, NULL, profile);
    else if (status == VBS_OK)
        *profile = medians;
    if (!a->options.backend->modelled)
        vbs_profile_free(medians);
    return status;
}

/* ---- the whole ---- */

static enum vbs_status open_layers(struct assembly *a)
{
    static const struct vbs_requested_kernel none = {0};
    bool quick = a->options.lookup_threads > 0 && !a->options.may_measure;
    const struct vbs_backend_options options = {.struct_size = sizeof options,
                                                .threads = quick ? 1 : a->options.threads,
                                                .requested = &none};

    for (int i = 0; i < a->options.n_batches; i++)
        vbs_text_addf(&a->batches, "%s%d", i ? "," : "", a->options.batches[i]);
    if (a->batches.failed)
        return vbs_no_memory(a->ctx);
    VBS_TRY(a->options.backend->open(a->ctx, a->network, &options, &a->layers));
    if (quick)
        a->layers->provenance.threads = a->options.lookup_threads;
    if (a->options.vbslab)
        a->layers->provenance.vbslab = a->options.vbslab;
    if (!a->layers->ops->geometry)
        return vbs_fail(a->ctx, VBS_UNSUPPORTED, "backend '%s' does not tell geometries of layers",
                        a->options.backend->name);
    return VBS_OK;
}

static void release(struct assembly *a)
{
    for (int i = 0; a->taken && i < a->session->n_kernels; i++)
        free(a->taken[i].times_us);
    free(a->taken);
    for (int i = 0; i < a->n_taken_copies; i++)
        free(a->taken_copies[i].taken.times_us);
    free(a->taken_copies);
    for (int k = 1; a->timing && k <= a->layers->n_layers; k++)
        vbs_timing_free(a->timing[k]);
    vbs_timing_free(a->copies);
    if (a->session)
        a->session->ops->close(a->session);
    if (a->layers)
        a->layers->ops->close(a->layers);
    vbs_text_clear(&a->batches);
    vbs_arena_clear(&a->arena);
}

enum vbs_status vbs_profile_assemble(struct vbs_ctx *ctx, struct vbs_store *store,
                                     const struct vbs_network *network,
                                     const struct vbs_assemble_options *options,
                                     struct vbs_assemble_report *report,
                                     struct vbs_profile **profile)
{
    struct assembly a = {.ctx = ctx, .store = store, .network = network};
    enum vbs_status status;

    VBS_TRY(vbs_options_read(ctx, "vbs_assemble_options", options, &a.options, sizeof a.options));
    status = open_layers(&a);
    if (status == VBS_OK)
        status = look_up(&a);
    if (status == VBS_OK && a.options.copies)
        status = find_copies(&a);
    if (status == VBS_OK && a.report.n_missing > 0)
        status = measure_missing(&a);
    if (status == VBS_OK)
        status = build(&a, profile);
    if (report && (status == VBS_OK || status == VBS_NOT_FOUND))
        *report = a.report;
    release(&a);
    return status;
}
