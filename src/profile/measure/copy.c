/*
 * Measures how fast weights are copied from the page cache and from the disk into memory.
 *
 * Sizes go from 64 KiB in powers of four to 64 MiB, but not beyond the network's weights. Each
 * round copies all sizes in turn, the large ones with two threads, as the executor copies weights
 * for which a step waits. Each copy reads another place of a file that is larger than the
 * processor's caches, and writes to another place of a buffer. A round that is not counted comes
 * first: it warms up, shows whether the data really come from the source, and finds the sizes that
 * are too slow for the time limit.
 */
#include "base/ctx.h"
#include "vbslab/measure.h"

#include "base/arith.h"
#include "profile/measure/copy_file.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KIB              ((int64_t)1 << 10)
#define MIB              ((int64_t)1 << 20)
#define MAX_SIZES        6
#define LEAST_SIZES      3 /* enough to fit a line and its error */
#define MIN_RUNS         5
#define MAX_RUNS         25
#define MAX_ROUNDS       60 /* also where many runs are rejected */
#define TRIES            3  /* attempts until a source is given up */
#define COPIES_S         2.0
#define LEAST_S          1e-3 /* below which copies are not measured */
#define LEAST_BUFFER     (16 * MIB)
#define LEAST_FILE_BYTES (4 * MIB)
#define FILE_BYTES       (256 * MIB)
#define MAX_FILE_BYTES   (1024 * MIB)

struct copying {
    struct vbs_ctx *ctx;
    struct vbs_session *session;
    const struct vbs_copy_options *options;
    const struct vbs_sample_sink *sink;
    struct vbs_copy_report report;
    double start_s, budget_s;
    int64_t sizes[MAX_SIZES];
    int n_sizes;
    struct vbs_copy_file file;
    struct vbs_copy_landing landing;
};

/* A source while it is measured. */
struct measured_source {
    const char *name;
    enum vbs_copy_method method;
    double until_s; /* when to stop refining; of the whole measurement */
    int n_sizes;    /* sizes for which the source is fast enough */
    int n_runs[MAX_SIZES];
};

static double elapsed_s(const struct copying *c)
{
    return vbs_clock_s() - c->start_s;
}

/* ---- sizes ---- */

static void choose_sizes(struct copying *c)
{
    int64_t weights = 0;

    for (int k = 1; k <= c->session->n_layers; k++)
        if (!vbs_add(weights, c->session->layers[k].weight_bytes, &weights))
            weights = INT64_MAX;
    for (int i = 0; i < MAX_SIZES; i++) {
        c->sizes[i] = 64 * KIB << (2 * i);
        if (i < LEAST_SIZES || c->sizes[i] <= weights)
            c->n_sizes = i + 1;
    }
}

/* Takes over the samples of a source that earlier processes measured; true when it needs no
 * more. */
static enum vbs_status take_up_stored(struct copying *c, struct measured_source *source,
                                      bool *complete)
{
    int n_begun = 0, n_done = 0;

    for (int i = 0; i < c->n_sizes; i++) {
        const double *times_us;

        VBS_TRY(c->sink->stored_copies(c->ctx, c->sink->self, source->name, c->sizes[i], &times_us,
                                       &source->n_runs[i]));
        n_begun += source->n_runs[i] > 0;
        n_done += source->n_runs[i] >= MIN_RUNS;
    }
    *complete = n_done >= LEAST_SIZES && n_done == n_begun;
    return VBS_OK;
}

/* ---- one copy ---- */

static void report_progress(const struct copying *c)
{
    const struct vbs_progress *progress = &c->options->progress;
    double elapsed = elapsed_s(c);
    char text[VBS_DETAIL_SIZE];

    if (!progress->report)
        return;
    snprintf(text, sizeof text, "%s copies", c->session->provenance.model);
    progress->report(progress->self, fmin(1, elapsed / c->budget_s), fmax(0, c->budget_s - elapsed),
                     text);
}

static enum vbs_status copy_once(struct copying *c, const struct measured_source *source, int size,
                                 double *time_us, bool *shown)
{
    int64_t bytes = c->sizes[size];
    enum vbs_status status;

    if (vbs_cancelled(c->ctx))
        return vbs_fail(c->ctx, VBS_INTERRUPTED, "interrupted");
    status =
        vbs_copy_file_read(c->ctx, &c->file, source->method, &c->landing, bytes, time_us, shown);
    report_progress(c);
    return status;
}

/* ---- one source ---- */

/* Runs the round that is not counted. *shown tells whether the data come from the source. */
static enum vbs_status try_source(struct copying *c, struct measured_source *source, bool *shown)
{
    double budget_us = (source->until_s - elapsed_s(c)) * 1e6;

    *shown = true;
    for (source->n_sizes = 0; source->n_sizes < c->n_sizes && *shown;) {
        double time_us = 0;

        *shown = false;
        for (int i = 0; i < TRIES && !*shown; i++) {
            VBS_TRY(copy_once(c, source, source->n_sizes, &time_us, shown));
        }
        source->n_sizes++;
        /* The next size takes about four times as long, which must leave time for MIN_RUNS. */
        if (source->n_sizes >= LEAST_SIZES && 4 * time_us * (MIN_RUNS + 1) > budget_us)
            break;
    }
    return VBS_OK;
}

static bool needs_runs(const struct measured_source *source)
{
    for (int i = 0; i < source->n_sizes; i++)
        if (source->n_runs[i] < MIN_RUNS)
            return true;
    return false;
}

static enum vbs_status run_rounds(struct copying *c, struct measured_source *source)
{
    for (int round = 0; round < MAX_ROUNDS; round++) {
        if (!needs_runs(source) && elapsed_s(c) > source->until_s)
            break;
        for (int i = 0; i < source->n_sizes; i++) {
            enum vbs_status status;
            double time_us;
            bool shown;

            if (source->n_runs[i] >= MAX_RUNS)
                continue;
            status = copy_once(c, source, i, &time_us, &shown);
            if (status != VBS_OK)
                return status;
            if (shown) {
                status = c->sink->add_copy(c->ctx, c->sink->self, source->name, c->sizes[i],
                                           fmax(time_us, 1e-3));
                source->n_runs[i]++;
                c->report.n_samples++;
            }
            if (status != VBS_OK)
                return status;
        }
    }
    return VBS_OK;
}

static void add_source(struct copying *c, const char *name)
{
    c->report.sources[c->report.n_sources++] = name;
}

/* Measures with the first of the methods that really reads from the source; *method: this one, or
 * null. */
static enum vbs_status measure_source(struct copying *c, struct measured_source *source,
                                      int n_methods, const enum vbs_copy_method *methods,
                                      const enum vbs_copy_method **method)
{
    bool shown = false;

    *method = NULL;
    for (int i = 0; i < n_methods && !shown; i++) {
        enum vbs_status status;

        if (methods[i] == VBS_COPY_DIRECT && c->file.direct_fd < 0)
            continue;
        source->method = methods[i];
        status = try_source(c, source, &shown);
        if (status == VBS_IO && methods[i] == VBS_COPY_DIRECT) /* some file systems refuse
                                                                  O_DIRECT only when reading */
            continue;
        if (status != VBS_OK)
            return status;
        if (shown) {
            *method = &methods[i];
            VBS_TRY(run_rounds(c, source));
            add_source(c, source->name);
        }
    }
    return VBS_OK;
}

/* ---- the file and the buffer ---- */

static int64_t file_bytes_to_make(void)
{
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    int64_t bytes = FILE_BYTES;

    while (bytes < MAX_FILE_BYTES && bytes / 2 < cache)
        bytes *= 2;
    return bytes;
}

static enum vbs_status obtain(struct copying *c)
{
    int64_t largest = c->sizes[c->n_sizes - 1];

    void *scratch = aligned_alloc(VBS_COPY_ALIGNMENT, (size_t)MIB);
    enum vbs_status status =
        scratch ? vbs_copy_landing_init(c->ctx, &c->landing, c->session,
                                        largest > LEAST_BUFFER ? largest : LEAST_BUFFER)
                : vbs_no_memory(c->ctx);

    if (status == VBS_OK)
        status = vbs_copy_file_make(c->ctx, c->options->folder, file_bytes_to_make(),
                                    LEAST_FILE_BYTES, c->budget_s / 2, scratch, MIB, &c->file);
    free(scratch);
    return status;
}

static void release(struct copying *c)
{
    vbs_copy_file_close(&c->file);
    vbs_copy_landing_clear(&c->landing);
}

/* ---- the whole ---- */

static const char *const NOTES[] = {
    [VBS_COPY_CACHED] = "",
    [VBS_COPY_DIRECT] = "copies from disk by O_DIRECT",
    [VBS_COPY_DROPPED] = "copies from disk through an emptied page cache",
};

static void note(struct copying *c, const char *text)
{
    size_t length = strlen(c->report.notes);

    snprintf(c->report.notes + length, sizeof c->report.notes - length, "%s", text);
}

static enum vbs_status measure_cached(struct copying *c, struct measured_source *source)
{
    static const enum vbs_copy_method METHODS[] = {VBS_COPY_CACHED};
    const enum vbs_copy_method *method;

    source->until_s = elapsed_s(c) + c->budget_s / 5;
    VBS_TRY(measure_source(c, source, 1, METHODS, &method));
    if (!method)
        note(c, "no copies from the page cache: it does not keep the file; ");
    return VBS_OK;
}

static enum vbs_status measure_pinned(struct copying *c, struct measured_source *source)
{
    static const enum vbs_copy_method METHODS[] = {VBS_COPY_PLAIN};
    const enum vbs_copy_method *method;

    source->until_s = elapsed_s(c) + c->budget_s / 5;
    return measure_source(c, source, 1, METHODS, &method);
}

static enum vbs_status measure_disk(struct copying *c, struct measured_source *source)
{
    static const enum vbs_copy_method METHODS[] = {VBS_COPY_DIRECT, VBS_COPY_DROPPED};
    const enum vbs_copy_method *method;

    source->until_s = elapsed_s(c) + c->budget_s / 2;
    VBS_TRY(measure_source(c, source, 2, METHODS, &method));
    note(c, method ? NOTES[*method]
                   : "no copies from disk: reads from this folder cannot be shown to reach one");
    return VBS_OK;
}

struct copy_source {
    struct measured_source source;
    enum vbs_status (*measure)(struct copying *c, struct measured_source *source);
    bool complete;
};

static enum vbs_status measure_sources(struct copying *c, struct copy_source *methods, int n)
{
    VBS_TRY(obtain(c));
    while (c->n_sizes > LEAST_SIZES && c->sizes[c->n_sizes - 1] > c->file.bytes)
        c->n_sizes--;
    for (int i = 0; i < n; i++)
        if (!methods[i].complete)
            VBS_TRY(methods[i].measure(c, &methods[i].source));
    return VBS_OK;
}

static enum vbs_status measure_timed(struct copying *c)
{
    struct copy_source all[] = {
        {.source = {.name = VBS_COPY_PINNED}, .measure = measure_pinned},
        {.source = {.name = VBS_COPY_PAGE_CACHE}, .measure = measure_cached},
        {.source = {.name = VBS_COPY_DISK}, .measure = measure_disk},
    };
    struct copy_source *methods = c->session->ops->device ? all : all + 1;
    int n = c->session->ops->device ? 3 : 2, n_complete = 0;
    enum vbs_status status = VBS_OK;

    for (int i = 0; i < n && status == VBS_OK; i++) {
        status = take_up_stored(c, &methods[i].source, &methods[i].complete);
        n_complete += methods[i].complete;
        if (methods[i].complete)
            add_source(c, methods[i].source.name);
    }
    if (status != VBS_OK || n_complete == n)
        return status;
    status = measure_sources(c, methods, n);
    release(c);
    if (status != VBS_IO)
        return status;
    snprintf(c->report.warning, sizeof c->report.warning, "%s", vbs_detail(c->ctx));
    return VBS_OK;
}

/* A modelled device has modelled copies, without noise: as with kernels, one sample is enough. */
static enum vbs_status measure_modelled(struct copying *c)
{
    static const struct vbs_link MODELS[] = {
        {.source = VBS_COPY_PAGE_CACHE, .latency_us = 20, .bytes_per_us = 5000},
        {.source = VBS_COPY_DISK, .latency_us = 100, .bytes_per_us = 1000}};

    for (size_t m = 0; m < sizeof MODELS / sizeof MODELS[0]; m++)
        for (int i = 0; i < c->n_sizes; i++) {
            double time_us = MODELS[m].latency_us + (double)c->sizes[i] / MODELS[m].bytes_per_us;
            const double *times_us;
            int n;
            enum vbs_status status = c->sink->stored_copies(c->ctx, c->sink->self, MODELS[m].source,
                                                            c->sizes[i], &times_us, &n);

            if (status != VBS_OK)
                return status;
            if (n == 0) {
                status = c->sink->add_copy(c->ctx, c->sink->self, MODELS[m].source, c->sizes[i],
                                           time_us);
                c->report.n_samples++;
            }
            if (status != VBS_OK)
                return status;
        }
    return VBS_OK;
}

enum vbs_status vbs_measure_copies(struct vbs_ctx *ctx, struct vbs_session *session,
                                   const struct vbs_copy_options *options,
                                   const struct vbs_sample_sink *sink,
                                   struct vbs_copy_report *report)
{
    struct vbs_ctx silent = {.cancel = ctx ? ctx->cancel : NULL};
    struct vbs_copy_options own;
    struct copying c = {.ctx = ctx ? ctx : &silent,
                        .session = session,
                        .options = &own,
                        .sink = sink,
                        .start_s = vbs_clock_s(),
                        .budget_s = COPIES_S,
                        .file = {.fd = -1, .direct_fd = -1}};

    VBS_TRY(vbs_options_read(ctx, "vbs_copy_options", options, &own, sizeof own));
    if (own.time_limit_s > 0)
        c.budget_s = fmin(COPIES_S, own.time_limit_s / 4);
    choose_sizes(&c);
    if (session->modelled)
        VBS_TRY(measure_modelled(&c));
    else if (c.budget_s >= LEAST_S)
        VBS_TRY(measure_timed(&c));
    else
        snprintf(c.report.warning, sizeof c.report.warning, "there is no time for it");
    c.report.total_s = elapsed_s(&c);
    *report = c.report;
    return VBS_OK;
}
