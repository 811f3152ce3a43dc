/*
 * Measures how much copies and layers slow each other down, and how fast the machine is.
 *
 * A pass runs all layers in network order, each with its fastest kernel at one batch, as inference
 * does. Passes alone and passes beside a thread that copies without a pause take turns, so that
 * slow drifts of the machine meet both alike. A layer's factor is the ratio of its median times.
 * The thread copies as the executor's does: behind the threads that compute, piece by piece, from a
 * file like that from which copies are measured. The factor of copies is the ratio of the bytes
 * that are copied in a microsecond alone, at the pace of passes, where on the host a second thread
 * helps as one that waits for weights does, and of those that the thread copies beside passes.
 */
#include "base/ctx.h"
#include "profile/measure/calibration.h"

#include "base/background.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/options.h"
#include "profile/measure/copy_file.h"
#include "profile/measure/measure.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB           ((int64_t)1 << 20)
#define LANDING_BYTES (16 * MIB)
#define LEAST_FILE    (4 * MIB)
#define FILE_BYTES    (256 * MIB)
#define LEAST_PASSES  3 /* of each kind, and without those for warming up */
#define MOST_PASSES   200
#define TRIES         3      /* runs of each kernel, of which the fastest is chosen */
#define ALONE_US      20000. /* that copies alone are watched after each pass, at least */
#define SPEED_S       0.05   /* that measuring the speed takes */

/* ---- factors ---- */

static double median_of(const struct vbs_pass_record *record, int n_layers, int layer,
                        double *scratch)
{
    for (int p = 0; p < record->n_passes; p++)
        scratch[p] = record->times_us[(size_t)p * (size_t)(n_layers + 1) + (size_t)layer];
    gsl_sort(scratch, 1, (size_t)record->n_passes);
    return gsl_stats_median_from_sorted_data(scratch, 1, (size_t)record->n_passes);
}

static double mean_pass(const struct vbs_pass_record *record, int n_layers)
{
    return gsl_stats_mean(record->times_us, (size_t)(n_layers + 1), (size_t)record->n_passes);
}

void vbs_beside_factors(const struct vbs_pass_record *alone, const struct vbs_pass_record *beside,
                        int n_layers, double *scratch, double *factors)
{
    double sum_alone = 0, sum_beside = 0, common;

    for (int k = 1; k <= n_layers; k++) {
        double alone_us = median_of(alone, n_layers, k, scratch);
        double beside_us = median_of(beside, n_layers, k, scratch);

        sum_alone += alone_us;
        sum_beside += fmax(alone_us, beside_us);
        factors[k] = alone_us > 0 ? fmax(1, beside_us / alone_us) : 1;
    }
    common = sum_alone > 0 && mean_pass(alone, n_layers) > 0
                 ? mean_pass(beside, n_layers) / mean_pass(alone, n_layers) * sum_alone / sum_beside
                 : 1;
    for (int k = 1; k <= n_layers; k++)
        factors[k] = fmin(VBS_MAX_BESIDE, fmax(1, factors[k] * common));
}

/* ---- the thread that copies ---- */

struct copier {
    struct vbs_ctx ctx; /* of the thread */
    struct vbs_copy_file *file;
    struct vbs_copy_landing *landing;
    enum vbs_copy_method method;
    bool yields; /* as the thread of the executor does (exec/weights/stream.c) */
    _Atomic bool quits;
    _Atomic int64_t bytes; /* copied so far */
    enum vbs_status status;
    pthread_t thread;
};

static void *copy_on(void *self)
{
    struct copier *copier = self;
    int64_t piece = vbs_copy_piece(copier->method);

    vbs_background_spread();
    if (copier->yields)
        vbs_background_yield();
    while (copier->status == VBS_OK && !atomic_load(&copier->quits)) {
        double time_us;
        bool shown;

        copier->status = vbs_copy_file_read(&copier->ctx, copier->file, copier->method,
                                            copier->landing, piece, &time_us, &shown);
        atomic_fetch_add(&copier->bytes, piece);
    }
    return NULL;
}

static enum vbs_status start_copier(struct vbs_ctx *ctx, struct copier *copier)
{
    int reason;

    atomic_store(&copier->quits, false);
    atomic_store(&copier->bytes, 0);
    copier->status = VBS_OK;
    reason = vbs_background_start(&copier->thread, copy_on, copier);
    return reason ? vbs_fail(ctx, VBS_NO_MEMORY, "cannot start a thread: %s", strerror(reason))
                  : VBS_OK;
}

static enum vbs_status stop_copier(struct vbs_ctx *ctx, struct copier *copier)
{
    atomic_store(&copier->quits, true);
    pthread_join(copier->thread, NULL);
    if (copier->status != VBS_OK)
        return vbs_fail(ctx, copier->status, "%s", vbs_detail(&copier->ctx));
    return VBS_OK;
}

/* ---- passes ---- */

struct calibrating {
    struct vbs_ctx *ctx;
    struct vbs_session *session;
    struct vbs_calibrate_options options;
    double start_s;
    struct vbs_pass_buffers buffers;
    const void **src;
    int *kernels;           /* [n_layers + 1] the fastest kernel of each layer */
    double *least_us;       /* [n_layers + 1] its time */
    bool late;              /* there is no time for factors */
    double *alone, *beside; /* [MOST_PASSES][n_layers + 1] */
    double scratch[MOST_PASSES];
    struct vbs_weather weather;
    struct vbs_copy_file file;
    struct vbs_copy_landing landing;
    /* A second thread, which reads other places of the same file. */
    struct copier helper;
    struct vbs_copy_file helper_file;
    struct vbs_copy_landing helper_landing;
    struct vbs_arena arena;
};

static enum vbs_status run_layer(struct calibrating *c, int kernel, double *time_us)
{
    struct vbs_session *session = c->session;
    const struct vbs_kernel *k = &session->kernels[kernel];
    const struct vbs_profile_layer *layer = &session->layers[k->layer];
    struct vbs_operands operands = {.src = c->src,
                                    .dst = c->buffers.slots[c->buffers.slot_of[k->layer]],
                                    .ws = k->ws_bytes > 0 ? c->buffers.scratch : NULL};

    if (vbs_cancelled(c->ctx))
        return vbs_fail(c->ctx, VBS_INTERRUPTED, "interrupted");
    for (int i = 0; i < layer->n_inputs; i++)
        c->src[i] = c->buffers.slots[c->buffers.slot_of[layer->inputs[i]]];
    return session->ops->run(c->ctx, session, kernel, &operands, time_us);
}

/* Gives whether kernel number i runs whole samples of a layer at the batch. */
static bool is_candidate(const struct calibrating *c, int i, int layer)
{
    const struct vbs_kernel *k = &c->session->kernels[i];

    return k->layer == layer && k->batch == c->options.batch && k->rows == 0 && k->slice == 0 &&
           k->n_slices <= 1;
}

static enum vbs_status choose_kernel(struct calibrating *c, int layer)
{
    double fastest_us = HUGE_VAL;

    for (int i = 0; i < c->session->n_kernels; i++) {
        double time_us, least_us = HUGE_VAL;

        if (!is_candidate(c, i, layer))
            continue;
        for (int t = 0; t < TRIES; t++) {
            VBS_TRY(run_layer(c, i, &time_us));
            least_us = fmin(least_us, time_us);
        }
        if (least_us >= fastest_us)
            continue;
        fastest_us = least_us;
        c->kernels[layer] = i;
        c->least_us[layer] = least_us;
    }
    return isfinite(fastest_us)
               ? VBS_OK
               : vbs_fail(c->ctx, VBS_UNSUPPORTED, "no kernel runs layer '%s' at batch %d",
                          c->session->layers[layer].name, c->options.batch);
}

static enum vbs_status fill_input(struct calibrating *c)
{
    return c->session->ops->fill(c->ctx, c->session, 0, c->options.batch,
                                 c->buffers.slots[c->buffers.slot_of[0]]);
}

/* Runs all layers once; times_us: [n_layers + 1]. */
static enum vbs_status run_pass(struct calibrating *c, double *times_us)
{
    if (c->buffers.input_overwritten)
        VBS_TRY(fill_input(c));
    times_us[0] = 0;
    for (int layer = 1; layer <= c->session->n_layers; layer++) {
        VBS_TRY(run_layer(c, c->kernels[layer], &times_us[layer]));
        times_us[0] += times_us[layer];
    }
    return VBS_OK;
}

/* ---- one source ---- */

static double elapsed_s(const struct calibrating *c)
{
    return vbs_clock_s() - c->start_s;
}

static void report_progress(const struct calibrating *c)
{
    const struct vbs_progress *progress = &c->options.progress;
    double elapsed = elapsed_s(c);
    char text[VBS_DETAIL_SIZE];

    if (!progress->report)
        return;
    snprintf(text, sizeof text, "%s beside copies", c->session->provenance.model);
    progress->report(progress->self, fmin(1, elapsed / c->options.time_limit_s),
                     fmax(0, c->options.time_limit_s - elapsed), text);
}

/* The bytes and microseconds of copies. */
struct copied {
    double bytes, us;
};

/* Runs a pass beside copies. */
static enum vbs_status pass_beside(struct calibrating *c, struct copier *copier, double *times_us,
                                   struct copied *copied)
{
    double start_s;
    enum vbs_status status, stopped;

    VBS_TRY(start_copier(c->ctx, copier));
    start_s = vbs_clock_s();
    status = run_pass(c, times_us);
    copied->us += (vbs_clock_s() - start_s) * 1e6;
    copied->bytes += (double)atomic_load(&copier->bytes);
    stopped = stop_copier(c->ctx, copier);
    return status == VBS_OK ? stopped : status;
}

/* Lets copies run while nothing is computed, for as long as a pass takes. On the host two threads
 * copy then: the other one waits for weights. */
static enum vbs_status copy_alone(struct calibrating *c, struct copier *copier, double pass_us,
                                  struct copied *copied)
{
    bool shares = !c->session->ops->device;
    enum vbs_status status, stopped;
    double start_s;

    VBS_TRY(start_copier(c->ctx, copier));
    c->helper.method = copier->method;
    status = shares ? start_copier(c->ctx, &c->helper) : VBS_OK;
    shares = shares && status == VBS_OK;
    start_s = vbs_clock_s();
    usleep((useconds_t)fmin(500000, fmax(fmin(ALONE_US, 2e4 * c->options.time_limit_s), pass_us)));
    copied->us += (vbs_clock_s() - start_s) * 1e6;
    copied->bytes += (double)atomic_load(&copier->bytes);
    copied->bytes += shares ? (double)atomic_load(&c->helper.bytes) : 0;
    stopped = stop_copier(c->ctx, copier);
    status = status == VBS_OK ? stopped : status;
    stopped = shares ? stop_copier(c->ctx, &c->helper) : VBS_OK;
    return status == VBS_OK ? stopped : status;
}

/* Measures the factors of one source until until_s. */
static enum vbs_status measure_source(struct calibrating *c, struct copier *copier, double until_s,
                                      double *factors)
{
    size_t stride = (size_t)c->session->n_layers + 1;
    struct copied alone = {0}, beside = {0}, warm_up = {0};
    int n = 0;

    VBS_TRY(run_pass(c, c->alone));
    VBS_TRY(pass_beside(c, copier, c->beside, &warm_up));
    while (n < MOST_PASSES && (n < LEAST_PASSES || elapsed_s(c) < until_s)) {
        double *times_us = c->alone + (size_t)n * stride;

        VBS_TRY(run_pass(c, times_us));
        VBS_TRY(copy_alone(c, copier, times_us[0], &alone));
        VBS_TRY(pass_beside(c, copier, c->beside + (size_t)n * stride, &beside));
        n++;
        if (c->session->ops->cache_speed)
            vbs_weather_add(&c->weather, elapsed_s(c), c->session->ops->cache_speed(c->session));
        report_progress(c);
    }
    vbs_beside_factors(&(struct vbs_pass_record){c->alone, n},
                       &(struct vbs_pass_record){c->beside, n}, c->session->n_layers, c->scratch,
                       factors);
    /* Where nothing at all was copied, less than one piece was. */
    factors[0] = fmin(VBS_MAX_BESIDE,
                      fmax(1, alone.bytes / alone.us * beside.us /
                                  fmax(beside.bytes, (double)vbs_copy_piece(copier->method))));
    return VBS_OK;
}

/* ---- the whole ---- */

/* The memory behind a calibration. The public struct comes first. */
struct calibration_body {
    struct vbs_calibration calibration;
    struct vbs_arena arena;
};

void vbs_calibration_set_cache(struct vbs_calibration *calibration, double cache_bytes_per_us)
{
    if (cache_bytes_per_us > 0 && calibration->speed.flops_per_us > 0)
        calibration->speed.cache_bytes_per_us = cache_bytes_per_us;
}

void vbs_calibration_free(struct vbs_calibration *calibration)
{
    struct calibration_body *body = (struct calibration_body *)calibration;

    if (!body)
        return;
    vbs_arena_clear(&body->arena);
    free(body);
}

static enum vbs_copy_method method_of(const struct calibrating *c, const char *source)
{
    if (strcmp(source, VBS_COPY_PINNED) == 0)
        return VBS_COPY_PLAIN;
    if (strcmp(source, VBS_COPY_PAGE_CACHE) == 0)
        return VBS_COPY_CACHED;
    return c->file.direct_fd >= 0 ? VBS_COPY_DIRECT : VBS_COPY_DROPPED;
}

static enum vbs_status allocate(struct calibrating *c)
{
    const struct vbs_session *session = c->session;
    size_t n = (size_t)session->n_layers + 1, most_inputs = 1;

    for (int k = 1; k <= session->n_layers; k++)
        if ((size_t)session->layers[k].n_inputs > most_inputs)
            most_inputs = (size_t)session->layers[k].n_inputs;
    c->src = vbs_arena_alloc(&c->arena, most_inputs, sizeof *c->src);
    c->kernels = vbs_arena_alloc(&c->arena, n, sizeof *c->kernels);
    c->alone = vbs_arena_alloc(&c->arena, MOST_PASSES * n, sizeof *c->alone);
    c->beside = vbs_arena_alloc(&c->arena, MOST_PASSES * n, sizeof *c->beside);
    c->least_us = vbs_arena_alloc(&c->arena, n, sizeof *c->least_us);
    return c->src && c->kernels && c->least_us && c->alone && c->beside ? VBS_OK
                                                                        : vbs_no_memory(c->ctx);
}

/* Returns whether factors take longer than they may, when the kernels of so many layers are chosen:
 * passes of at least these follow. */
static bool is_late(const struct calibrating *c, int n_chosen)
{
    double least_us = 0;

    for (int k = 1; k <= n_chosen; k++)
        least_us += c->least_us[k];
    return c->options.most_s > 0 &&
           elapsed_s(c) + 1e-6 * least_us * 2 * (1 + LEAST_PASSES) * c->options.n_sources >
               c->options.most_s;
}

/* Chooses the kernels of all layers, unless it becomes too late. */
static enum vbs_status choose_kernels(struct calibrating *c)
{
    for (int k = 1; k <= c->session->n_layers && !c->late; k++) {
        VBS_TRY(choose_kernel(c, k));
        c->late = is_late(c, k);
    }
    return VBS_OK;
}

/* Makes the file to copy from and the memory to copy to, and chooses the kernels. */
static enum vbs_status prepare(struct calibrating *c)
{
    void *scratch = aligned_alloc(VBS_COPY_ALIGNMENT, (size_t)MIB);
    enum vbs_status status = scratch ? VBS_OK : vbs_no_memory(c->ctx);

    if (status == VBS_OK)
        status = vbs_copy_landing_init(c->ctx, &c->landing, c->session, LANDING_BYTES);
    if (status == VBS_OK)
        status = vbs_copy_file_make(c->ctx, c->options.folder, FILE_BYTES, LEAST_FILE,
                                    c->options.time_limit_s / 4, scratch, MIB, &c->file);
    free(scratch);
    if (status == VBS_OK && !c->session->ops->device)
        status = vbs_copy_landing_init(c->ctx, &c->helper_landing, c->session, LANDING_BYTES);
    c->helper_file = c->file;
    c->helper_file.at = c->file.bytes / 2 / VBS_COPY_SLICE * VBS_COPY_SLICE;
    c->helper = (struct copier){.file = &c->helper_file, .landing = &c->helper_landing};
    if (status == VBS_OK)
        status = fill_input(c);
    return status == VBS_OK ? choose_kernels(c) : status;
}

static enum vbs_status measure_sources(struct calibrating *c, struct calibration_body *body)
{
    double from_s = elapsed_s(c);

    for (int i = 0; i < c->options.n_sources; i++) {
        const char *source = c->options.sources[i];
        struct copier copier = {
            .file = &c->file, .landing = &c->landing, .method = method_of(c, source)};
        double *factors =
            vbs_arena_alloc(&body->arena, (size_t)c->session->n_layers + 1, sizeof *factors);
        double until_s =
            from_s + (c->options.time_limit_s - from_s) * (i + 1) / c->options.n_sources;

        copier.yields = !c->session->ops->device && copier.method != VBS_COPY_DIRECT;
        source = vbs_arena_strdup(&body->arena, source);
        if (!factors || !source)
            return vbs_no_memory(c->ctx);
        VBS_TRY(measure_source(c, &copier, until_s, factors));
        body->calibration.sources[body->calibration.n_sources++] =
            (struct vbs_calibrated_source){source, factors};
    }
    return VBS_OK;
}

/* Measures the factors. A file that cannot be made or read is a warning. */
static enum vbs_status measure_factors(struct calibrating *c, struct calibration_body *body,
                                       char warning[VBS_DETAIL_SIZE])
{
    enum vbs_status status;

    if (c->options.n_sources == 0)
        return VBS_OK;
    VBS_TRY(allocate(c));
    VBS_TRY(vbs_pass_buffers_init(c->ctx, c->session, c->options.batch, &c->buffers));
    status = prepare(c);
    if (status == VBS_OK && !c->late)
        status = measure_sources(c, body);
    vbs_copy_file_close(&c->file);
    vbs_copy_landing_clear(&c->landing);
    vbs_copy_landing_clear(&c->helper_landing);
    vbs_pass_buffers_release(c->session, &c->buffers);
    if (status != VBS_IO)
        return status;
    snprintf(warning, VBS_DETAIL_SIZE, "%s", vbs_detail(c->ctx));
    return VBS_OK;
}

/* Measures the speed of the machine; where there is no memory to read, or no time to obtain it from
 * the system, it stays unknown. */
static enum vbs_status measure_speed(struct calibrating *c, struct vbs_speed *speed)
{
    long last = sysconf(_SC_LEVEL3_CACHE_SIZE);
    int64_t bytes = 2 * (last > 0 ? (int64_t)last : 32 * MIB);
    enum vbs_status status;
    char *memory;

    if (!c->session->ops->speed)
        return VBS_OK;
    memory = malloc((size_t)bytes);
    if (!memory)
        return VBS_OK;
    for (int64_t at = 0; at < bytes && !is_late(c, 0); at += MIB)
        memset(memory + at, 1, (size_t)(bytes - at < MIB ? bytes - at : MIB));
    status =
        is_late(c, 0) ? VBS_OK : c->session->ops->speed(c->ctx, c->session, memory, bytes, speed);
    free(memory);
    return status;
}

enum vbs_status vbs_measure_calibration(struct vbs_ctx *ctx, struct vbs_session *session,
                                        const struct vbs_calibrate_options *options,
                                        char warning[VBS_DETAIL_SIZE],
                                        struct vbs_calibration **calibration)
{
    struct vbs_ctx silent = {.cancel = ctx ? ctx->cancel : NULL};
    struct calibrating c = {.ctx = ctx ? ctx : &silent,
                            .session = session,
                            .start_s = vbs_clock_s(),
                            .file = {.fd = -1, .direct_fd = -1}};
    struct calibration_body *body;
    enum vbs_status status;

    warning[0] = '\0';
    VBS_TRY(vbs_options_read(ctx, "vbs_calibrate_options", options, &c.options, sizeof c.options));
    if (!(c.options.time_limit_s >= 0) || c.options.n_sources < 0 ||
        c.options.n_sources > VBS_MAX_COPIES)
        return vbs_fail(ctx, VBS_USAGE, "the options of a calibration cannot be");
    if (c.options.time_limit_s == 0)
        c.options.time_limit_s = VBS_CALIBRATION_S;
    if (c.options.batch == 0)
        c.options.batch = 1;
    body = calloc(1, sizeof *body);
    if (!body)
        return vbs_no_memory(ctx);
    status = VBS_OK;
    if (!session->modelled) {
        c.late = c.options.most_s > 0 && c.options.most_s < SPEED_S;
        if (!c.late)
            status = measure_speed(&c, &body->calibration.speed);
        c.late = c.late || is_late(&c, 0);
        if (status == VBS_OK && !c.late)
            status = measure_factors(&c, body, warning);
        if (status == VBS_OK && c.late && c.options.n_sources > 0)
            snprintf(warning, VBS_DETAIL_SIZE, "there is no time for it");
        if (status == VBS_OK)
            vbs_calibration_set_cache(&body->calibration, vbs_weather_speed(&c.weather));
    }
    vbs_arena_clear(&c.arena);
    if (status == VBS_OK)
        *calibration = &body->calibration;
    else
        vbs_calibration_free(&body->calibration);
    return status;
}
