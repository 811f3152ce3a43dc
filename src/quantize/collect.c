/* What the values of a network are on samples: least and largest ones, then histograms. */
#include "quantize/internal.h"

#include "base/fail.h"
#include "model/network/network.h"
#include "vbslab/eval.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BINS VBS_QUANTIZE_BINS

/* The passes over the samples. */
struct collecting {
    struct vbs_ctx *ctx;
    struct vbs_quantized_network *q;
    const struct vbs_quantize_samples *samples;
    const struct vbs_quantize_options *options;
    struct vbs_network *tapped;        /* or null: no value is inside a layer */
    const struct vbs_network *network; /* that runs */
    int *maker;   /* [n_layers of it + 1] the operator of a layer's output, or -1 */
    bool *wanted; /* [n_layers of it + 1] */
    struct quantize_passes passes; /* the second one counts */
};

/* ---- the network that runs ---- */

static bool is_measured(const struct quantize_operator *o, int i)
{
    return o->rounded && o->root == i;
}

static enum vbs_status tap(struct collecting *c)
{
    struct vbs_quantized_network *q = c->q;
    bool *wanted = vbs_arena_alloc(&q->arena, (size_t)q->n, sizeof *wanted);
    bool any = false;

    if (!wanted)
        return vbs_no_memory(c->ctx);
    for (int i = 1; i < q->n; i++) {
        const struct quantize_operator *o = &q->operators[i];

        wanted[i] = is_measured(o, i) && i != q->last[o->layer];
        any = any || wanted[i];
    }
    if (any)
        VBS_TRY(vbs_network_tap(c->ctx, q->network, wanted, &c->tapped));
    c->network = any ? c->tapped : q->network;
    return VBS_OK;
}

/* Finds the operators of q that make the outputs of layers: both networks have them in one order,
 * and the one that runs has others between them. */
static enum vbs_status match(struct collecting *c)
{
    const struct vbs_network *network = c->network;
    struct vbs_quantized_network *q = c->q;
    size_t n = (size_t)network->n_layers + 1;
    int next = 1;

    c->maker = vbs_arena_alloc(&q->arena, n, sizeof *c->maker);
    c->wanted = vbs_arena_alloc(&q->arena, n, sizeof *c->wanted);
    if (!c->maker || !c->wanted)
        return vbs_no_memory(c->ctx);
    c->wanted[0] = q->operators[0].rounded;
    for (int k = 1; k <= network->n_layers; k++) {
        const struct vbs_layer *l = &network->layers[k];

        c->maker[k] = -1;
        if (next == q->n || strcmp(l->name, q->operators[next].name) != 0)
            continue;
        next += 1 + l->n_fused;
        c->maker[k] = next - 1;
        c->wanted[k] = is_measured(&q->operators[next - 1], next - 1);
    }
    return VBS_OK;
}

/* ---- what is seen ---- */

static enum vbs_status see_range(struct collecting *c, const struct quantize_operator *o,
                                 struct quantize_seen *seen, int64_t first, int64_t each,
                                 int64_t count, const float *values)
{
    float low = values[0], high = values[0];

    for (int64_t i = 0; i < count; i++) {
        if (!(values[i] >= -FLT_MAX && values[i] <= FLT_MAX))
            return vbs_fail(c->ctx, VBS_LIBRARY,
                            "%s '%.100s' is no finite number for sample %" PRId64
                            " (the first is 0)",
                            o->layer == 0 ? "a value of the input" : "a value that is made by",
                            o->name, first + i / each);
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    seen->low = first == 0 || (double)low < seen->low ? (double)low : seen->low;
    seen->high = first == 0 || (double)high > seen->high ? (double)high : seen->high;
    return VBS_OK;
}

static int bin_of(double position)
{
    return position < 0 ? 0 : position >= BINS ? BINS - 1 : (int)position;
}

static void see_bins(const struct collecting *c, struct quantize_seen *seen, int64_t count,
                     const float *values)
{
    bool absolute = c->options->method == VBS_QUANTIZE_ENTROPY;
    double begin = absolute ? 0 : seen->low;
    double range = absolute ? fmax(-seen->low, seen->high) : seen->high - seen->low;
    double factor = range > 0 ? BINS / range : 0;

    for (int64_t i = 0; i < count; i++) {
        double x = absolute ? fabs((double)values[i]) : (double)values[i];

        if (absolute && x == 0)
            continue;
        seen->counts[bin_of((x - begin) * factor)]++;
        seen->total++;
    }
}

static enum vbs_status look(struct vbs_ctx *ctx, void *self, int layer, int64_t first, int n,
                            const float *values)
{
    struct collecting *c = self;
    int i = layer == 0 ? 0 : c->maker[layer];
    int64_t each = vbs_shape_elements(&c->network->layers[layer].shape);

    (void)ctx;
    if (c->passes.n_done == 0)
        return see_range(c, &c->q->operators[i], &c->q->seen[i], first, each, each * n, values);
    see_bins(c, &c->q->seen[i], each * n, values);
    return VBS_OK;
}

static enum vbs_status give_inputs(struct vbs_ctx *ctx, void *self, int64_t first, int n,
                                   float *inputs)
{
    const struct collecting *c = self;

    return c->samples->inputs(ctx, c->samples->self, first, n, inputs);
}

/* ---- the passes ---- */

static enum vbs_status pass(struct collecting *c)
{
    const struct vbs_observer observer = {.self = c,
                                          .n_samples = c->samples->n,
                                          .inputs = give_inputs,
                                          .wanted = c->wanted,
                                          .look = look};
    const struct vbs_eval_options options = {.struct_size = sizeof options,
                                             .batch = c->options->batch,
                                             .threads = c->options->threads,
                                             .progress = vbs_quantize_progress(&c->passes)};

    return vbs_observe(c->ctx, c->network, &observer, &options, NULL);
}

static enum vbs_status allocate_bins(struct collecting *c)
{
    struct vbs_quantized_network *q = c->q;

    for (int i = 0; i < q->n; i++) {
        if (!is_measured(&q->operators[i], i))
            continue;
        q->seen[i].counts = vbs_arena_alloc(&q->arena, BINS, sizeof *q->seen[i].counts);
        if (!q->seen[i].counts)
            return vbs_no_memory(c->ctx);
    }
    return VBS_OK;
}

static enum vbs_status collect(struct collecting *c)
{
    VBS_TRY(tap(c));
    VBS_TRY(match(c));
    c->q->seen = vbs_arena_alloc(&c->q->arena, (size_t)c->q->n, sizeof *c->q->seen);
    if (!c->q->seen)
        return vbs_no_memory(c->ctx);
    VBS_TRY(pass(c));
    if (c->passes.n == 1)
        return VBS_OK;
    c->passes.n_done = 1;
    VBS_TRY(allocate_bins(c));
    return pass(c);
}

enum vbs_status vbs_quantize_collect(struct vbs_ctx *ctx, struct vbs_quantized_network *q,
                                     const struct vbs_quantize_samples *samples,
                                     const struct vbs_quantize_options *options)
{
    struct collecting c = {
        .ctx = ctx,
        .q = q,
        .samples = samples,
        .options = options,
        .passes = {.all = &options->progress, .n = options->method == VBS_QUANTIZE_MINMAX ? 1 : 2}};
    enum vbs_status status = collect(&c);

    vbs_network_free(c.tapped);
    return status;
}
