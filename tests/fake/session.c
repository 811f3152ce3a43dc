#include "support/bail_out.h"
#include "fake/session.h"

#include "base/ctx.h"
#include "base/fail.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fake *of_session(struct vbs_session *session)
{
    return (struct fake *)session;
}

static void *fake_alloc(struct vbs_session *session, int64_t bytes)
{
    struct fake *fake = of_session(session);

    void *memory = fake->n_allocs == fake->fail_alloc ? NULL : malloc((size_t)bytes);

    if (!memory)
        return NULL;
    fake->n_allocs++;
    fake->allocated_bytes += bytes;
    return memory;
}

static void fake_release(struct vbs_session *session, void *memory)
{
    of_session(session)->n_frees++;
    free(memory);
}

static bool holds(const void *memory, int64_t bytes, int value)
{
    const unsigned char *byte = memory;

    for (int64_t i = 0; i < bytes; i++)
        if (byte[i] != value)
            return false;
    return true;
}

static void touch(struct fake *fake, int kernel, const struct vbs_operands *o)
{
    const void *const *src = o->src;
    void *dst = o->dst, *ws = o->ws;
    const struct vbs_kernel *k = &fake->kernels[kernel];
    const struct vbs_profile_layer *layer = &fake->layers[k->layer];

    for (int i = 0; i < layer->n_inputs; i++) {
        int tensor = layer->inputs[i];

        fake->n_wrong += !holds(src[i], fake->layers[tensor].out_bytes * k->batch, 1 + tensor);
    }
    fake->n_wrong += layer->in_place && dst != src[0];
    memset(dst, 1 + k->layer, (size_t)(layer->out_bytes * k->batch));
    fake->n_wrong += (ws == NULL) != (k->ws_bytes == 0);
    if (ws)
        memset(ws, 255, (size_t)k->ws_bytes);
}

static enum vbs_status fake_run(struct vbs_ctx *ctx, struct vbs_session *session, int kernel,
                                const struct vbs_operands *o, double *time_us)
{
    struct fake *fake = of_session(session);
    int call = fake->n_calls++;

    if (call < FAKE_CALLS)
        fake->calls[call] = (short)kernel;
    if (call == fake->die_at)
        return vbs_fail(ctx, VBS_LIBRARY, "the kernel died");
    if (!session->modelled)
        touch(fake, kernel, o);
    else
        fake->n_wrong += o->dst != NULL || o->src[0] != NULL || o->ws != NULL;
    *time_us = fake->base_us[kernel];
    if (fake->sigma > 0)
        *time_us *= gsl_ran_lognormal(fake->rng, 0, fake->sigma);
    if (fake->disturb)
        *time_us *= fake->disturb(fake, call);
    fake->n_preemptions += fake->preempt && fake->preempt(fake, call);
    fake->now_s += *time_us * 1e-6 * fake->clock_factor;
    if (call == fake->cancel_at)
        fake->cancel = 1;
    if (call == fake->nan_at)
        *time_us = NAN;
    return VBS_OK;
}

static enum vbs_status fake_fill(struct vbs_ctx *ctx, struct vbs_session *session, int tensor,
                                 int n, void *memory)
{
    struct fake *fake = of_session(session);

    (void)ctx;
    fake->n_fills++;
    memset(memory, 1 + tensor, (size_t)(fake->layers[tensor].out_bytes * n));
    return VBS_OK;
}

static uint64_t fake_geometry(const struct vbs_session *session, int layer)
{
    return ((const struct fake *)session)->geometry[layer];
}

static const struct vbs_session_ops fake_ops = {
    .alloc = fake_alloc,
    .free = fake_release,
    .run = fake_run,
    .fill = fake_fill,
    .geometry = fake_geometry,
};

static enum vbs_status sink_stored(struct vbs_ctx *ctx, void *self, int kernel,
                                   const double **times_us, int *n_times)
{
    struct fake *fake = self;

    (void)ctx;
    *times_us = fake->runs[kernel].times_us;
    *n_times = fake->runs[kernel].n_stored;
    return VBS_OK;
}

static enum vbs_status sink_add(struct vbs_ctx *ctx, void *self, int kernel, int round,
                                double time_us)
{
    struct fake *fake = self;
    struct fake_runs *runs = &fake->runs[kernel];

    if (fake->n_added == fake->fail_add || runs->n == FAKE_RUNS)
        return vbs_fail(ctx, VBS_STORE, "the store is full");
    fake->n_added++;
    /* A kernel runs at most once in a round, and rounds only grow. */
    if (runs->n > runs->n_stored && runs->rounds[runs->n - 1] >= round)
        fake->n_wrong++;
    runs->times_us[runs->n] = time_us;
    runs->rounds[runs->n++] = round;
    return VBS_OK;
}

static enum vbs_status sink_leave_out(struct vbs_ctx *ctx, void *self, int kernel)
{
    struct fake *fake = self;

    (void)ctx;
    fake->n_wrong += fake->runs[kernel].n > 0;
    fake->left_out[kernel] = true;
    return VBS_OK;
}

static double fake_now(void *self)
{
    return ((struct fake *)self)->now_s;
}

static int64_t fake_preemptions(void *self)
{
    return ((struct fake *)self)->n_preemptions;
}

static void make_layers(struct fake *fake, int n_layers)
{
    fake->layers[0] = (struct vbs_profile_layer){.name = "input", .kind = "input", .out_bytes = 48};
    for (int k = 1; k <= n_layers; k++) {
        struct vbs_profile_layer *layer = &fake->layers[k];

        snprintf(fake->names[k], sizeof fake->names[k], "L%d", k);
        fake->geometry[k] = (uint64_t)k;
        fake->inputs[k][0] = k - 1;
        fake->inputs[k][1] = k - 3;
        *layer = (struct vbs_profile_layer){
            .name = fake->names[k],
            .kind = "conv",
            .n_inputs = k % 4 == 0 ? 2 : 1,
            .inputs = fake->inputs[k],
            .out_bytes = 16 + 8 * (k % 7),
            /* never over a tensor that a later layer reads too */
            .in_place = k % 5 == 0 && (k + 2) % 4 != 0,
        };
        if (layer->in_place)
            layer->out_bytes = fake->layers[k - 1].out_bytes;
    }
}

static void make_kernels(struct fake *fake, int n_layers)
{
    static const char *const algorithms[FAKE_ALGORITHMS] = {"first", "second", "third"};
    int n = 0;

    for (int layer = 1; layer <= n_layers; layer++) {
        for (int b = 0; b < fake->n_batches; b++) {
            for (int a = 0; a < fake->n_algorithms; a++) {
                fake->base_us[n] = (100.0 + layer) * (1 << b) * (1 + a / 5.0);
                fake->kernels[n++] = (struct vbs_kernel){.layer = layer,
                                                         .batch = 1 << b,
                                                         .algorithm = algorithms[a],
                                                         .ws_bytes = (2 - a) * 1000};
            }
        }
    }
    fake->session.n_kernels = n;
}

static void forget_calls(struct fake *fake)
{
    fake->die_at = fake->cancel_at = fake->nan_at = fake->fail_alloc = fake->fail_add = -1;
    fake->n_calls = fake->n_allocs = fake->n_frees = fake->n_fills = fake->n_added = 0;
    fake->allocated_bytes = 0;
    fake->now_s = 1000;
    fake->cancel = 0;
}

struct fake *fake_new(int n_layers, int n_batches, int n_algorithms)
{
    struct fake *fake = calloc(1, sizeof *fake);

    if (!fake)
        bail_out("out of memory");
    fake->n_batches = n_batches;
    fake->n_algorithms = n_algorithms;
    make_layers(fake, n_layers);
    make_kernels(fake, n_layers);
    fake->session.ops = &fake_ops;
    fake->session.n_layers = n_layers;
    fake->session.layers = fake->layers;
    fake->session.kernels = fake->kernels;
    fake->session.provenance.model = "fake";
    fake->sink = (struct vbs_sample_sink){
        .self = fake, .stored = sink_stored, .add = sink_add, .leave_out = sink_leave_out};
    fake->clock = (struct vbs_measure_clock){
        .now_s = fake_now, .n_preemptions = fake_preemptions, .self = fake};
    fake->clock_factor = 1;
    fake->ctx.cancel = &fake->cancel;
    fake->rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(fake->rng, 7);
    forget_calls(fake);
    return fake;
}

void fake_free(struct fake *fake)
{
    gsl_rng_free(fake->rng);
    free(fake);
}

int fake_kernel(const struct fake *fake, int layer, int batch_index, int algorithm)
{
    return ((layer - 1) * fake->n_batches + batch_index) * fake->n_algorithms + algorithm;
}

enum vbs_status fake_measure(struct fake *fake, const struct vbs_measure_options *options,
                             struct vbs_measure_report *report)
{
    return vbs_measure_by_clock(&fake->ctx, &fake->session, options, &fake->sink, &fake->clock,
                                report);
}

void fake_restart(struct fake *fake)
{
    forget_calls(fake);
    for (int i = 0; i < fake->session.n_kernels; i++)
        fake->runs[i].n_stored = fake->runs[i].n;
}

int fake_fewest_runs(const struct fake *fake)
{
    int fewest = FAKE_RUNS;

    for (int i = 0; i < fake->session.n_kernels; i++)
        if (fake->runs[i].n < fewest)
            fewest = fake->runs[i].n;
    return fewest;
}

int fake_most_runs(const struct fake *fake)
{
    int most = 0;

    for (int i = 0; i < fake->session.n_kernels; i++)
        if (fake->runs[i].n > most)
            most = fake->runs[i].n;
    return most;
}

void fake_pass(struct fake *fake, const struct vbs_pass_buffers *buffers, int batch_index)
{
    struct vbs_session *session = &fake->session;
    double time_us;

    if (fake_fill(&fake->ctx, session, 0, 1 << batch_index, buffers->slots[buffers->slot_of[0]]))
        fake->n_wrong++;
    for (int layer = 1; layer <= session->n_layers; layer++) {
        int kernel = fake_kernel(fake, layer, batch_index, 0);
        const void *src[3] = {0};
        struct vbs_operands operands = {.src = src};

        for (int i = 0; i < fake->layers[layer].n_inputs; i++)
            src[i] = buffers->slots[buffers->slot_of[fake->layers[layer].inputs[i]]];
        operands.dst = buffers->slots[buffers->slot_of[layer]];
        operands.ws = fake->kernels[kernel].ws_bytes ? buffers->scratch : NULL;
        if (fake_run(&fake->ctx, session, kernel, &operands, &time_us))
            fake->n_wrong++;
    }
}
