/* A network that runs on samples while somebody looks at what its layers make. */
#include "vbslab/eval.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/options.h"
#include "eval/runner.h"
#include "vbslab/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A run. */
struct observation {
    struct vbs_ctx *ctx;
    const struct vbs_network *network;
    const struct vbs_observer *observer;
    const struct vbs_eval_options *options;
    struct vbs_runner runner;
    float *inputs; /* of a batch */
    float *values; /* of a batch, for the largest tensor that is wanted */
    int64_t n_inputs, n_values;
    double start_s;
};

static enum vbs_status read_options(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    const struct vbs_observer *observer,
                                    const struct vbs_eval_options *options,
                                    struct vbs_eval_options *own)
{
    VBS_TRY(vbs_options_read(ctx, "vbs_eval_options", options, own, sizeof *own));
    if (own->batch < 0 || own->batch > VBS_MAX_BATCH || observer->n_samples < 1)
        return vbs_fail(ctx, VBS_USAGE, "%d of %" PRId64 " samples at once; possible are 1 to %d",
                        own->batch, observer->n_samples, VBS_MAX_BATCH);
    if (own->batch == 0)
        own->batch = vbs_eval_batch(network);
    if (own->batch > observer->n_samples)
        own->batch = (int)observer->n_samples;
    return VBS_OK;
}

static enum vbs_status allocate(struct observation *o)
{
    size_t batch = (size_t)o->runner.batch;

    o->n_inputs = vbs_shape_elements(&o->network->input);
    for (int k = 0; k <= o->network->n_layers; k++) {
        int64_t n = vbs_shape_elements(&o->network->layers[k].shape);

        if (o->observer->wanted[k] && n > o->n_values)
            o->n_values = n;
    }
    o->inputs = calloc(batch * (size_t)o->n_inputs, sizeof *o->inputs);
    o->values = malloc(batch * (size_t)o->n_values * sizeof *o->values + 1);
    return o->inputs && o->values ? VBS_OK : vbs_no_memory(o->ctx);
}

static void report_progress(const struct observation *o, int64_t n_done)
{
    double done = (double)n_done / (double)o->observer->n_samples;
    double spent_s = vbs_clock_s() - o->start_s;
    char text[100];

    if (!o->options->progress.report)
        return;
    snprintf(text, sizeof text, "%" PRId64 " of %" PRId64 " samples", n_done,
             o->observer->n_samples);
    o->options->progress.report(o->options->progress.self, done, vbs_left_s(done, spent_s, spent_s),
                                text);
}

/* Shows what layer k has made, where it is wanted. */
static enum vbs_status show(struct observation *o, int k, int64_t first, int n)
{
    const struct vbs_observer *observer = o->observer;

    if (!observer->wanted[k])
        return VBS_OK;
    if (k == 0)
        return observer->look(o->ctx, observer->self, 0, first, n, o->inputs);
    VBS_TRY(vbs_runner_read(o->ctx, &o->runner, k, n, o->values));
    return observer->look(o->ctx, observer->self, k, first, n, o->values);
}

/* Runs the samples from number first on. Those of a shorter batch are followed by older ones, which
 * are not shown. */
static enum vbs_status run_batch(struct observation *o, int64_t first)
{
    const struct vbs_observer *observer = o->observer;
    int64_t left = observer->n_samples - first;
    int n = left < o->runner.batch ? (int)left : o->runner.batch;

    VBS_TRY(observer->inputs(o->ctx, observer->self, first, n, o->inputs));
    VBS_TRY(vbs_runner_put(o->ctx, &o->runner, o->inputs));
    VBS_TRY(show(o, 0, first, n));
    for (int k = 1; k <= o->network->n_layers; k++) {
        VBS_TRY(vbs_runner_layer(o->ctx, &o->runner, k));
        VBS_TRY(show(o, k, first, n));
    }
    return VBS_OK;
}

static enum vbs_status run_all(struct observation *o, struct vbs_eval_report *report)
{
    VBS_TRY(allocate(o));
    o->start_s = vbs_clock_s();
    for (int64_t first = 0; first < o->observer->n_samples; first += o->runner.batch) {
        report_progress(o, first);
        VBS_TRY(run_batch(o, first));
    }
    if (report)
        *report = (struct vbs_eval_report){
            .batch = o->runner.batch,
            .threads = o->runner.session->provenance.threads,
            .time_s = vbs_clock_s() - o->start_s,
            .compute_s = o->runner.compute_s,
            .held_bytes = o->runner.held_bytes + o->runner.batch * (o->n_inputs + o->n_values) * 4};
    return VBS_OK;
}

enum vbs_status vbs_observe(struct vbs_ctx *ctx, const struct vbs_network *network,
                            const struct vbs_observer *observer,
                            const struct vbs_eval_options *options, struct vbs_eval_report *report)
{
    struct vbs_eval_options own;
    struct observation o = {.ctx = ctx, .network = network, .observer = observer, .options = &own};
    const struct vbs_backend *backend;
    enum vbs_status status;

    VBS_TRY(read_options(ctx, network, observer, options, &own));
    VBS_TRY(vbs_backend_find(ctx, "onednn", &backend));
    if (own.progress.report)
        own.progress.report(own.progress.self, 0, -1, "preparing kernels");
    status = vbs_runner_open(ctx, network, backend, own.batch, own.threads, &o.runner);
    if (status == VBS_OK)
        status = run_all(&o, report);
    vbs_runner_clear(&o.runner);
    free(o.inputs);
    free(o.values);
    return status;
}
