/* Outputs of two networks on the same samples. */
#include "quantize/internal.h"

#include "base/fail.h"
#include "base/options.h"
#include "vbslab/eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_VALUES ((int64_t)1 << 26) /* of outputs that are kept */

double vbs_quantize_error(double db)
{
    return pow(10, -db / 10);
}

double vbs_quantize_decibels(double error)
{
    return -10 * log10(error);
}

static enum vbs_status give_inputs(struct vbs_ctx *ctx, void *self, int64_t first, int n,
                                   float *inputs)
{
    const struct quantize_comparing *c = self;

    return c->samples->inputs(ctx, c->samples->self, first, n, inputs);
}

static int64_t largest_of(const float *values, int64_t n)
{
    int64_t at = 0;

    for (int64_t i = 1; i < n; i++)
        at = values[i] > values[at] ? i : at;
    return at;
}

static enum vbs_status look(struct vbs_ctx *ctx, void *self, int layer, int64_t first, int n,
                            const float *values)
{
    struct quantize_comparing *c = self;

    (void)ctx;
    (void)layer;
    if (!c->second) {
        memcpy(c->kept + first * c->each, values, (size_t)(n * c->each) * sizeof *values);
        return VBS_OK;
    }
    for (int64_t s = 0; s < n; s++) {
        const float *a = c->kept + (first + s) * c->each, *b = values + s * c->each;

        c->result.n_same += largest_of(a, c->each) == largest_of(b, c->each);
        for (int64_t i = 0; i < c->each; i++) {
            double difference = (double)a[i] - (double)b[i];

            c->power += (double)a[i] * (double)a[i];
            c->error += difference * difference;
            c->result.largest = fmax(c->result.largest, fabs(difference));
        }
    }
    return VBS_OK;
}

static enum vbs_status run(struct vbs_ctx *ctx, struct quantize_comparing *c,
                           const struct vbs_network *network)
{
    bool *wanted = calloc((size_t)network->n_layers + 1, sizeof *wanted);
    const struct vbs_observer observer = {
        .self = c, .n_samples = c->result.n, .inputs = give_inputs, .wanted = wanted, .look = look};
    const struct vbs_eval_options options = {.struct_size = sizeof options,
                                             .batch = c->options->batch,
                                             .threads = c->options->threads,
                                             .progress = c->progress};
    enum vbs_status status;

    if (!wanted)
        return vbs_no_memory(ctx);
    wanted[network->outputs[0].layer] = true;
    status = vbs_observe(ctx, network, &observer, &options, NULL);
    free(wanted);
    return status;
}

enum vbs_status vbs_quantize_compare_begin(struct vbs_ctx *ctx, const struct vbs_network *a,
                                           const struct vbs_quantize_samples *samples,
                                           const struct vbs_quantize_options *options,
                                           struct vbs_progress progress,
                                           struct quantize_comparing *c)
{
    *c = (struct quantize_comparing){.samples = samples,
                                     .options = options,
                                     .progress = progress,
                                     .each = vbs_shape_elements(&a->outputs[0].shape),
                                     .result = {.n = samples->n}};
    if (c->result.n > MOST_VALUES / c->each)
        c->result.n = c->each > MOST_VALUES ? 1 : MOST_VALUES / c->each;
    c->kept = malloc((size_t)(c->result.n * c->each) * sizeof *c->kept);
    return c->kept ? run(ctx, c, a) : vbs_no_memory(ctx);
}

enum vbs_status vbs_quantize_compare_with(struct vbs_ctx *ctx, struct quantize_comparing *c,
                                          const struct vbs_network *b,
                                          struct vbs_quantize_difference *difference)
{
    if (c->each != vbs_shape_elements(&b->outputs[0].shape))
        return vbs_fail(ctx, VBS_USAGE, "the networks have outputs of different sizes");
    c->second = true;
    c->power = c->error = 0;
    c->result = (struct vbs_quantize_difference){.n = c->result.n};
    VBS_TRY(run(ctx, c, b));
    c->result.db = c->error > 0 ? 10 * log10(c->power / c->error) : INFINITY;
    *difference = c->result;
    return VBS_OK;
}

void vbs_quantize_compare_clear(struct quantize_comparing *c)
{
    free(c->kept);
}

static void report(void *self, double done, double left_s, const char *text)
{
    const struct quantize_passes *passes = self;

    passes->all->report(passes->all->self, (done + passes->n_done) / passes->n,
                        passes->n == 1 ? left_s : -1, text);
}

struct vbs_progress vbs_quantize_progress(struct quantize_passes *passes)
{
    return (struct vbs_progress){passes, passes->all->report ? report : NULL};
}

enum vbs_status vbs_quantize_compare(struct vbs_ctx *ctx, const struct vbs_network *a,
                                     const struct vbs_network *b,
                                     const struct vbs_quantize_samples *samples,
                                     const struct vbs_quantize_options *options,
                                     struct vbs_quantize_difference *difference)
{
    struct vbs_quantize_options own;
    struct quantize_comparing c;
    struct quantize_passes passes = {.all = &own.progress, .n = 2};
    enum vbs_status status;

    VBS_TRY(vbs_options_read(ctx, "vbs_quantize_options", options, &own, sizeof own));
    status = vbs_quantize_compare_begin(ctx, a, samples, &own, vbs_quantize_progress(&passes), &c);
    passes.n_done = 1;
    if (status == VBS_OK)
        status = vbs_quantize_compare_with(ctx, &c, b, difference);
    vbs_quantize_compare_clear(&c);
    return status;
}

/* ---- one network beside several ---- */

struct vbs_quantize_reference {
    struct vbs_quantize_options options;
    struct quantize_comparing comparing;
};

enum vbs_status vbs_quantize_reference_new(struct vbs_ctx *ctx, const struct vbs_network *network,
                                           const struct vbs_quantize_samples *samples,
                                           const struct vbs_quantize_options *options,
                                           struct vbs_quantize_reference **reference)
{
    struct vbs_quantize_reference *r = calloc(1, sizeof *r);
    enum vbs_status status;

    if (!r)
        return vbs_no_memory(ctx);
    status = vbs_options_read(ctx, "vbs_quantize_options", options, &r->options, sizeof r->options);
    if (status == VBS_OK)
        status = vbs_quantize_compare_begin(ctx, network, samples, &r->options,
                                            (struct vbs_progress){0}, &r->comparing);
    if (status != VBS_OK)
        vbs_quantize_reference_free(r);
    else
        *reference = r;
    return status;
}

enum vbs_status vbs_quantize_reference_compare(struct vbs_ctx *ctx,
                                               struct vbs_quantize_reference *reference,
                                               const struct vbs_network *network,
                                               struct vbs_quantize_difference *difference)
{
    return vbs_quantize_compare_with(ctx, &reference->comparing, network, difference);
}

void vbs_quantize_reference_free(struct vbs_quantize_reference *reference)
{
    if (!reference)
        return;
    vbs_quantize_compare_clear(&reference->comparing);
    free(reference);
}
