/* Measuring into memory: samples are kept in arrays, of which a profile is made in the end. */
#include "simple/internal.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/grow.h"
#include "profile/session.h"
#include "vbslab/measure.h"
#include "vbslab/posterior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_BATCHES 12

/* The times of a kernel or of a copy. */
struct sample_array {
    double *times_us;
    int n_times;
    int64_t capacity;
};

struct copy_samples {
    const char *source; /* in the recorder's arena */
    int64_t bytes;
    struct sample_array samples;
};

/* A sink that keeps samples in memory. */
struct recorder {
    struct vbs_session *session;
    struct sample_array *kernels; /* [session->n_kernels]; those that are left out are empty */
    bool *left_out;               /* [session->n_kernels] */
    struct copy_samples *copies;
    int n_copies;
    int64_t max_copies;
    struct vbs_arena arena;
    struct vbs_calibration *calibration;
};

/* ---- The sink ---- */

static enum vbs_status add_sample(struct vbs_ctx *ctx, struct sample_array *samples, double time_us)
{
    VBS_TRY(vbs_grow(ctx, &samples->times_us, &samples->capacity, (int64_t)samples->n_times + 1,
                     sizeof *samples->times_us));
    samples->times_us[samples->n_times++] = time_us;
    return VBS_OK;
}

/* There are no samples of an earlier process. */
static enum vbs_status stored(struct vbs_ctx *ctx, void *self, int kernel, const double **times_us,
                              int *n_times)
{
    (void)ctx, (void)self, (void)kernel;
    *times_us = NULL;
    *n_times = 0;
    return VBS_OK;
}

static enum vbs_status stored_copies(struct vbs_ctx *ctx, void *self, const char *source,
                                     int64_t bytes, const double **times_us, int *n_times)
{
    (void)ctx, (void)self, (void)source, (void)bytes;
    *times_us = NULL;
    *n_times = 0;
    return VBS_OK;
}

static enum vbs_status add(struct vbs_ctx *ctx, void *self, int kernel, int round, double time_us)
{
    struct recorder *recorder = self;

    (void)round;
    return add_sample(ctx, &recorder->kernels[kernel], time_us);
}

static enum vbs_status leave_out(struct vbs_ctx *ctx, void *self, int kernel)
{
    struct recorder *recorder = self;

    (void)ctx;
    recorder->left_out[kernel] = true;
    return VBS_OK;
}

static enum vbs_status add_copy(struct vbs_ctx *ctx, void *self, const char *source, int64_t bytes,
                                double time_us)
{
    struct recorder *r = self;
    struct copy_samples copy = {.bytes = bytes};

    for (int i = 0; i < r->n_copies; i++)
        if (r->copies[i].bytes == bytes && strcmp(r->copies[i].source, source) == 0)
            return add_sample(ctx, &r->copies[i].samples, time_us);
    if (vbs_grow(ctx, &r->copies, &r->max_copies, r->n_copies + 1, sizeof copy) != VBS_OK)
        return VBS_NO_MEMORY;
    copy.source = vbs_arena_strdup(&r->arena, source);
    if (!copy.source)
        return vbs_no_memory(ctx);
    r->copies[r->n_copies] = copy;
    return add_sample(ctx, &r->copies[r->n_copies++].samples, time_us);
}

static void clear(struct recorder *r)
{
    for (int i = 0; r->kernels && i < r->session->n_kernels; i++)
        free(r->kernels[i].times_us);
    for (int i = 0; i < r->n_copies; i++)
        free(r->copies[i].samples.times_us);
    free(r->kernels);
    free(r->left_out);
    free(r->copies);
    vbs_calibration_free(r->calibration);
    vbs_arena_clear(&r->arena);
}

/* ---- The profile ---- */

static enum vbs_status build_rows(struct vbs_ctx *ctx, const struct recorder *r,
                                  struct vbs_profile_builder *builder)
{
    for (int i = 0; i < r->session->n_kernels; i++) {
        const struct vbs_kernel *kernel = &r->session->kernels[i];
        struct vbs_profile_row row = vbs_session_row(kernel);

        if (r->left_out[i])
            continue;
        if (r->kernels[i].n_times == 0)
            return vbs_fail(ctx, VBS_LIBRARY, "layer %d, batch %d, algorithm '%s' has no sample",
                            kernel->layer, kernel->batch, kernel->algorithm);
        vbs_measure_summary(r->kernels[i].times_us, r->kernels[i].n_times, &row);
        VBS_TRY(vbs_profile_builder_row(ctx, builder, kernel->layer, kernel->batch,
                                        kernel->algorithm, &row));
    }
    return VBS_OK;
}

static enum vbs_status build_copies(struct vbs_ctx *ctx, const struct recorder *r,
                                    struct vbs_profile_builder *builder)
{
    for (int i = 0; i < r->n_copies; i++) {
        const struct copy_samples *copy = &r->copies[i];
        struct vbs_profile_row row = {0};
        struct vbs_copy_row made;

        vbs_measure_summary(copy->samples.times_us, copy->samples.n_times, &row);
        made = (struct vbs_copy_row){.bytes = copy->bytes,
                                     .time_us = row.time_us,
                                     .mad_us = row.mad_us,
                                     .low_us = row.low_us,
                                     .high_us = row.high_us,
                                     .n_runs = row.n_runs};
        VBS_TRY(vbs_profile_builder_copy(ctx, builder, copy->source, &made));
    }
    return VBS_OK;
}

static enum vbs_status build_calibration(struct vbs_ctx *ctx, const struct recorder *r,
                                         struct vbs_profile_builder *builder)
{
    for (int i = 0; i < r->calibration->n_sources; i++)
        for (int layer = 0; layer <= r->session->n_layers; layer++)
            VBS_TRY(vbs_profile_builder_beside(ctx, builder, r->calibration->sources[i].source,
                                               layer, r->calibration->sources[i].beside[layer]));
    return vbs_profile_builder_speed(ctx, builder, &r->calibration->speed);
}

static enum vbs_status build(struct vbs_ctx *ctx, const struct recorder *r,
                             struct vbs_profile **profile)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_provenance provenance = r->session->provenance;
    char date[VBS_DATE_SIZE];
    enum vbs_status status;

    if (!builder)
        return vbs_no_memory(ctx);
    vbs_date_now(date);
    provenance.date = date;
    if (!provenance.vbslab || !provenance.vbslab[0])
        provenance.vbslab = vbs_version();
    status = vbs_profile_builder_provenance(ctx, builder, &provenance);
    if (status != VBS_OK)
        goto done;
    status = vbs_session_build_layers(ctx, r->session, builder);
    if (status != VBS_OK)
        goto done;
    status = build_rows(ctx, r, builder);
    if (status != VBS_OK)
        goto done;
    status = build_copies(ctx, r, builder);
    if (status != VBS_OK)
        goto done;
    status = build_calibration(ctx, r, builder);
    if (status != VBS_OK)
        goto done;
    status = vbs_profile_builder_finish(ctx, builder, profile);
done:
    vbs_profile_builder_free(builder);
    return status;
}

/* ---- Measuring ---- */

static enum vbs_status calibrate(struct vbs_ctx *ctx, const struct vbs_simple_options *own,
                                 const struct vbs_measure_shares *shares, const char *folder,
                                 const struct vbs_copy_report *copied, struct recorder *r)
{
    const struct vbs_calibrate_options options = {
        .struct_size = sizeof options,
        .folder = folder,
        .n_sources = copied->n_sources,
        .sources = copied->sources,
        .time_limit_s = vbs_measure_part_s(shares, shares->calibration_s),
        .progress = own->progress,
        .most_s = vbs_measure_part_s(shares, shares->calibrated_s)};
    char warning[VBS_DETAIL_SIZE];

    return vbs_measure_calibration(ctx, r->session, &options, warning, &r->calibration);
}

/* Takes the samples. Copies come first, and their time counts within the limit. */
static enum vbs_status take_samples(struct vbs_ctx *ctx, const struct vbs_simple_options *own,
                                    const struct vbs_measure_shares *shares, struct recorder *r)
{
    const struct vbs_sample_sink sink = {.self = r,
                                         .stored = stored,
                                         .add = add,
                                         .stored_copies = stored_copies,
                                         .add_copy = add_copy,
                                         .leave_out = leave_out};
    struct vbs_measure_options options = {.struct_size = sizeof(struct vbs_measure_options),
                                          .save_runs = true,
                                          .time_limit_s = own->time_limit_s,
                                          .seed = 1,
                                          .progress = own->progress};
    struct vbs_copy_options copies = {.struct_size = sizeof(struct vbs_copy_options),
                                      .folder = own->folder ? own->folder : ".",
                                      .time_limit_s = vbs_measure_part_s(shares, shares->limit_s),
                                      .progress = own->progress};
    struct vbs_measure_report report = {0};
    struct vbs_copy_report copied = {0};
    enum vbs_status status = VBS_OK;
    double start_s = vbs_clock_s();

    if (own->weights == VBS_WEIGHTS_INCLUDED)
        status = vbs_measure_copies(ctx, r->session, &copies, &sink, &copied);
    if (status == VBS_OK)
        status = calibrate(ctx, own, shares, copies.folder, &copied, r);
    if (options.time_limit_s > 0)
        options.time_limit_s =
            fmax(options.time_limit_s / 2, options.time_limit_s - (vbs_clock_s() - start_s));
    options.most_s = vbs_measure_left_s(shares, shares->timed_s);
    if (status == VBS_OK)
        status = vbs_measure(ctx, r->session, &options, &sink, &report);
    if (status == VBS_OK)
        vbs_calibration_set_cache(r->calibration, report.cache_bytes_per_us);
    return status;
}

static enum vbs_status measure_session(struct vbs_ctx *ctx, const struct vbs_simple_options *own,
                                       const struct vbs_measure_shares *shares,
                                       struct vbs_session *session, struct vbs_profile **profile)
{
    const struct vbs_posterior_options options = {.struct_size = sizeof options};
    struct recorder recorder = {.session = session};
    struct vbs_profile *draft = NULL;
    enum vbs_status status;

    recorder.kernels = calloc((size_t)session->n_kernels + 1, sizeof *recorder.kernels);
    recorder.left_out = calloc((size_t)session->n_kernels + 1, sizeof *recorder.left_out);
    status = recorder.kernels && recorder.left_out ? take_samples(ctx, own, shares, &recorder)
                                                   : vbs_no_memory(ctx);
    if (status == VBS_OK)
        status = build(ctx, &recorder, session->modelled ? profile : &draft);
    if (status == VBS_OK && !session->modelled)
        status = vbs_profile_posterior(ctx, draft, &options, NULL, profile);
    vbs_profile_free(draft);
    clear(&recorder);
    return status;
}

enum vbs_status vbs_simple_measure(struct vbs_ctx *ctx, const struct vbs_network *network,
                                   const struct vbs_simple_options *options,
                                   struct vbs_profile **profile)
{
    struct vbs_simple_options own;
    const struct vbs_backend *backend;
    struct vbs_session *session = NULL;
    int first[DEFAULT_BATCHES];
    struct vbs_backend_options prepare = {.struct_size = sizeof(struct vbs_backend_options)};
    struct vbs_measure_shares shares;
    enum vbs_status status;

    VBS_TRY(vbs_simple_read_options(ctx, options, &own));
    if (own.batches && (own.n_batches < 1 || own.batches[0] != 1))
        return vbs_fail(ctx, VBS_USAGE, "the batches to measure do not begin with 1");
    if (!(own.time_limit_s >= 0 && isfinite(own.time_limit_s)))
        return vbs_fail(ctx, VBS_USAGE, "a time limit of %g seconds", own.time_limit_s);
    VBS_TRY(vbs_simple_find_backend(ctx, own.backend, &backend));
    vbs_measure_divide(own.time_limit_s, 0, false, &shares);
    for (int i = 0; i < DEFAULT_BATCHES; i++)
        first[i] = i + 1;
    prepare.batches = own.batches ? own.batches : first;
    prepare.n_batches = own.batches ? own.n_batches : DEFAULT_BATCHES;
    if (!own.batches && own.request > 0 && own.request < DEFAULT_BATCHES)
        prepare.n_batches = (int)own.request;
    prepare.threads = own.threads;
    prepare.stripes = own.stripes;
    prepare.time_limit_s = shares.prepared_s;
    if (own.progress.report)
        own.progress.report(own.progress.self, 0, -1, "preparing kernels");
    VBS_TRY(backend->open(ctx, network, &prepare, &session));
    status = measure_session(ctx, &own, &shares, session, profile);
    session->ops->close(session);
    return status;
}
