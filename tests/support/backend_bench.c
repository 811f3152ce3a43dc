#include "support/backend_bench.h"

#include "backend/common/common.h"
#include "base/ctx.h"
#include "base/random.h"
#include "model/network/network.h"
#include "reference/backend/ops.h"
#include "support/guard.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int64_t bench_elements(const struct bench *t, int tensor)
{
    const struct vbs_network *n = t->network;

    return vbs_shape_elements(tensor == 0 ? &n->input : &n->layers[tensor].shape);
}

/* Fills a tensor with the session's own values, or with values of the case's range. */
static bool fill(struct bench *t, int tensor, int64_t count)
{
    const struct vbs_session_ops *ops = t->session->ops;

    if (t->low == 0 && t->high == 0 && !t->hooks)
        return ops->fill(&t->ctx, t->session, tensor, MAX_BATCH, t->canonical[tensor]) == VBS_OK;
    for (int64_t i = 0; i < count && (t->low != 0 || t->high != 0); i++)
        t->plain[tensor][i] = t->low + (t->high - t->low) * (t->plain[tensor][i] + 1) / 2;
    if (t->hooks)
        t->hooks->plant(t, tensor, count, t->plain[tensor]);
    return ops->write(&t->ctx, t->session, tensor, MAX_BATCH, t->plain[tensor],
                      t->canonical[tensor]) == VBS_OK;
}

/* Gives from how many rows a layer chooses by number i of its last input. */
static float rows_of(const struct vbs_layer *l, int64_t i)
{
    const struct vbs_shape *last = &l->views[l->n_inputs - 1];

    if (l->op == VBS_OP_EMBED)
        return (float)l->operand.dim[0];
    if (l->op == VBS_OP_PICK)
        return (float)l->views[0].dim[l->attributes.pick.axis];
    return (float)l->views[0].dim[l->attributes.take.common + i % last->dim[last->n_dims - 1]];
}

/* Spreads values from -1 to 1 over the rows from which the first layer chooses by them, and beyond
 * these. */
static void spread_over_rows(const struct bench *t, int tensor, int64_t count)
{
    for (int k = 1; k <= t->network->n_layers; k++) {
        const struct vbs_layer *l = &t->network->layers[k];
        bool chooses = l->op == VBS_OP_EMBED || l->op == VBS_OP_PICK || l->op == VBS_OP_TAKE;

        if (!chooses || l->inputs[l->n_inputs - 1] != tensor)
            continue;
        for (int64_t i = 0; i < count; i++)
            t->plain[tensor][i] *= 1.2f * rows_of(l, i);
        return;
    }
}

bool bench_tensors(struct bench *t)
{
    size_t n = (size_t)t->network->n_layers + 1;

    t->plain = calloc(n, sizeof *t->plain);
    t->canonical = calloc(n, sizeof *t->canonical);
    for (int k = 0; t->plain && t->canonical && k < (int)n; k++) {
        int64_t count = MAX_BATCH * bench_elements(t, k);

        t->plain[k] = malloc((size_t)count * sizeof(float));
        t->canonical[k] =
            t->session->ops->alloc(t->session, MAX_BATCH * t->session->layers[k].out_bytes);
        if (!t->plain[k] || !t->canonical[k])
            return false;
        vbs_tensor_values(k, 0, count, t->plain[k]);
        spread_over_rows(t, k, count);
        if (!fill(t, k, count) || t->session->ops->read(&t->ctx, t->session, k, MAX_BATCH,
                                                        t->canonical[k], t->plain[k]) != VBS_OK)
            return false;
    }
    return t->plain && t->canonical;
}

static bool open_at(struct bench *t, const char *backend, const int *batches, int n_batches,
                    int threads, bool stripes)
{
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .batches = batches,
                                          .n_batches = n_batches,
                                          .stripes = stripes,
                                          .threads = threads,
                                          .weights_given = t->given};
    const struct vbs_backend *found;

    return vbs_backend_find(&t->ctx, backend, &found) == VBS_OK &&
           found->open(&t->ctx, t->network, &options, &t->session) == VBS_OK;
}

static bool open_on(struct bench *t, const char *backend, int threads)
{
    return open_at(t, backend, (const int[]){1, 2, 3}, 3, threads, false);
}

bool bench_open_few(struct bench *t, bool stripes)
{
    return open_at(t, "onednn", (const int[]){1, MAX_BATCH}, 2, 1, stripes);
}

bool bench_open(struct bench *t, const struct backend_case *c, const char *backend, int threads)
{
    *t = (struct bench){.name = c->name};
    return backend_case_network(&t->ctx, c, &t->network) == VBS_OK && open_on(t, backend, threads);
}

bool bench_open_operator(struct bench *t, const struct operator_case *c, const char *backend,
                         bool given)
{
    *t = (struct bench){.name = c->name, .low = c->low, .high = c->high, .given = given};
    return operator_case_network(&t->ctx, c, &t->network) == VBS_OK && open_on(t, backend, 0);
}

enum vbs_status bench_session(struct vbs_ctx *ctx, const struct vbs_network *network,
                              const struct vbs_requested_kernel *requested, int n_requested,
                              struct vbs_session **session)
{
    static const int batches[] = {1, 2};
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .batches = batches,
                                          .n_batches = 2,
                                          .threads = 1,
                                          .requested = requested,
                                          .n_requested = n_requested};
    const struct vbs_backend *found;
    enum vbs_status status = vbs_backend_find(ctx, "onednn", &found);

    return status == VBS_OK ? found->open(ctx, network, &options, session) : status;
}

void bench_close(struct bench *t)
{
    for (int k = 0; t->network && k <= t->network->n_layers; k++) {
        if (t->plain)
            free(t->plain[k]);
        if (t->canonical && t->session)
            t->session->ops->free(t->session, t->canonical[k]);
    }
    free(t->plain);
    free(t->canonical);
    if (t->session)
        t->session->ops->close(t->session);
    vbs_network_free(t->network);
}

/* Gives the largest difference as a fraction of the largest value. */
double difference(const float *got, const float *want, int64_t n)
{
    double most = 0, largest = 1e-30;

    for (int64_t i = 0; i < n; i++) {
        double d = fabs((double)got[i] - want[i]);

        if (!(d <= most))
            most = isnan(d) ? INFINITY : d;
        largest = fmax(largest, fabs(want[i]));
    }
    return most / largest;
}

static double tolerance(const char *algorithm)
{
    return strstr(algorithm, "wino") ? 1e-4 : 1e-5;
}

int64_t non_zeros(const float *values, int64_t n)
{
    int64_t count = 0;

    for (int64_t i = 0; i < n; i++)
        count += values[i] != 0;
    return count;
}

struct outcome {
    double worst;  /* difference from the reference */
    bool guards;   /* nothing was written outside */
    bool padding;  /* the padding is zero */
    bool sources;  /* the sources are unchanged */
    bool failed;   /* some call failed */
    bool negative; /* a time was negative */
    bool judged;   /* hooks: the values are as wanted */
};

/* ---- encoded tensors ---- */

static double tolerance(const char *algorithm);

/* Gives how far a value may be from the expected one: a step of 8 bits, of which few values may
 * differ, and the last digit of a bfloat16. largest: of the output. */
static double allowed(const struct vbs_encoding *e, double want, double largest, const char *name)
{
    bool wide = strstr(name, "+f32") == NULL; /* weights of bfloat16 have 8 digits */
    double floats = (e->storage == VBS_BFLOAT16 && wide ? 1.0 / 128 : tolerance(name)) * largest;

    switch (e->storage) {
    case VBS_UINT8:
    case VBS_INT8:
        return 1.01 * (double)e->scale;
    case VBS_BFLOAT16:
        return floats + fabs(want) / 128;
    default:
        return floats;
    }
}

/* Returns the share of the values of 8 bits that may differ by a step. Of the means of four whole
 * numbers a quarter ends on a half, which goes to either side by the last digit of a float, as do
 * sums of two whole numbers of which one step is half a step of the result. */
static double may_differ(enum vbs_op op)
{
    return op == VBS_OP_POOL_AVG || op == VBS_OP_ADD || op == VBS_OP_SUB ? 0.3 : 0.05;
}

/* Gives the largest difference of the values of an encoded layer, as a fraction of what is allowed;
 * infinite where more than two, and more than may, of the values of 8 bits differ. */
static double encoded_difference(const struct vbs_layer *l, const float *got, const float *want,
                                 int64_t n, const char *name)
{
    const struct vbs_encoding *e = &l->encoding;
    bool whole = vbs_storage_is_whole(e->storage);
    double most = 0, largest = 1e-30;
    int64_t n_differ = 0;

    for (int64_t i = 0; i < n; i++)
        largest = isfinite(want[i]) ? fmax(largest, fabs((double)want[i])) : largest;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs((double)got[i] - want[i]);

        if (got[i] == want[i] || (isnan(got[i]) && isnan(want[i])))
            continue;
        most = fmax(most, isnan(d) ? INFINITY : d / allowed(e, want[i], largest, name));
        n_differ += d > 0.01 * (double)e->scale;
    }
    return whole && n_differ > 2 && (double)n_differ > may_differ(l->op) * (double)n ? INFINITY
                                                                                     : most;
}

static bool is_encoded(const struct bench *t, int layer)
{
    const struct vbs_layer *l = &t->network->layers[layer];

    for (int i = 0; i < l->n_inputs; i++)
        if (t->network->layers[l->inputs[i]].encoding.storage != VBS_FLOAT32)
            return true;
    return l->encoding.storage != VBS_FLOAT32;
}

/* Returns the alignment of bytes of packed weights that a kernel of the host may count on
 * (measure.h). */
static int64_t least_alignment(int64_t bytes)
{
    return bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
}

/* Packs the weights of a kernel into *memory, which the caller frees, where runs are given them,
 * and for two of three kernels where the session has its own. Returns them as little aligned as
 * they may be; null: none are given, or *failed. */
static unsigned char *packed(struct bench *t, int kernel, unsigned char **memory, bool *failed)
{
    const struct vbs_kernel *k = &t->session->kernels[kernel];
    bool given = k->packed_bytes > 0 && (t->given || kernel % 3 > 0);
    int64_t shift = least_alignment(k->packed_bytes);

    *memory = given ? t->session->ops->alloc(t->session, shift + k->packed_bytes) : NULL;
    *failed = given && (!*memory || t->session->ops->pack(&t->ctx, t->session, kernel,
                                                          *memory + shift) != VBS_OK);
    return given && !*failed ? *memory + shift : NULL;
}

/* Gives how far the values of a kernel are from those wanted. */
static double differs(const struct bench *t, int kernel, const float *got, const float *want,
                      int64_t count)
{
    const struct vbs_kernel *k = &t->session->kernels[kernel];

    return is_encoded(t, k->layer)
               ? tolerance(k->algorithm) * encoded_difference(&t->network->layers[k->layer], got,
                                                              want, count, k->algorithm)
               : difference(got, want, count);
}

/* Runs kernel on the seeded inputs. */
static void run_kernel(struct bench *t, int kernel, const float *want, struct outcome *o)
{
    const struct vbs_kernel *k = &t->session->kernels[kernel];
    const struct vbs_profile_layer *layer = &t->session->layers[k->layer];
    int64_t out_bytes = k->batch * layer->out_bytes, count = k->batch * bench_elements(t, k->layer);
    unsigned char *dst = guarded(t->session, out_bytes), *ws = guarded(t->session, k->ws_bytes);
    float *got = malloc((size_t)count * sizeof *got);
    bool failed;
    unsigned char *memory, *weights = packed(t, kernel, &memory, &failed);
    struct vbs_operands operands;
    const struct vbs_encoding *encoding = &t->network->layers[k->layer].encoding;
    const void *src[16];
    double time_us = -1;

    for (int i = 0; i < layer->n_inputs; i++)
        src[i] = t->canonical[layer->inputs[i]];
    if (layer->in_place && dst) {
        memcpy(dst, src[0], (size_t)out_bytes);
        src[0] = dst;
    } else if (t->hooks && dst) {
        memset(dst, 0xff, (size_t)out_bytes);
    }
    if (t->hooks && ws)
        memset(ws, 0xff, (size_t)k->ws_bytes);
    operands = (struct vbs_operands){.src = src, .dst = dst, .ws = ws, .weights = weights};
    if (failed || !dst || !ws || !got ||
        t->session->ops->run(&t->ctx, t->session, kernel, &operands, &time_us) != VBS_OK ||
        t->session->ops->read(&t->ctx, t->session, k->layer, k->batch, dst, got) != VBS_OK) {
        o->failed = true;
    } else {
        if (t->hooks)
            o->judged &= t->hooks->judge(t, kernel, got, want, count);
        else
            o->worst = fmax(o->worst, differs(t, kernel, got, want, count));
        o->guards &=
            is_guard(dst + out_bytes, GUARD_BYTES) && is_guard(ws + k->ws_bytes, GUARD_BYTES);
        if (encoding->storage == VBS_FLOAT32 && !t->hooks) /* padding of NaN may be NaN */
            o->padding &=
                non_zeros((const float *)(const void *)dst, out_bytes / 4) == non_zeros(got, count);
        o->negative |= !(time_us >= 0 && time_us < 1e9);
    }
    t->session->ops->free(t->session, dst);
    t->session->ops->free(t->session, ws);
    t->session->ops->free(t->session, memory);
    free(got);
}

/* Computes MAX_BATCH samples of layer's output by the definition. */
float *bench_reference(struct bench *t, int layer)
{
    const struct vbs_layer *l = &t->network->layers[layer];
    int64_t n = bench_elements(t, layer);
    float *all = malloc((size_t)(MAX_BATCH * n) * sizeof *all);

    for (int s = 0; all && s < MAX_BATCH; s++) {
        const float *inputs[16];
        float *one;

        for (int i = 0; i < l->n_inputs; i++)
            inputs[i] = t->plain[l->inputs[i]] + s * bench_elements(t, l->inputs[i]);
        one = reference_layer(t->network, layer, inputs);
        if (!one) {
            free(all);
            return NULL;
        }
        memcpy(all + s * n, one, (size_t)n * sizeof *one);
        free(one);
    }
    return all;
}

static bool sources_unchanged(struct bench *t, const struct vbs_profile_layer *layer)
{
    for (int i = 0; i < layer->n_inputs; i++) {
        int tensor = layer->inputs[i];
        int64_t n = MAX_BATCH * bench_elements(t, tensor);
        float *now = malloc((size_t)n * sizeof *now);
        bool same = now &&
                    t->session->ops->read(&t->ctx, t->session, tensor, MAX_BATCH,
                                          t->canonical[tensor], now) == VBS_OK &&
                    memcmp(now, t->plain[tensor], (size_t)n * sizeof *now) == 0;

        free(now);
        if (!same)
            return false;
    }
    return true;
}

/* Checks one algorithm of one layer at all batches. */
static void check_algorithm(struct bench *t, int first, const float *want, bench_report *report)
{
    const struct vbs_session *s = t->session;
    const char *algorithm = s->kernels[first].algorithm;
    int layer = s->kernels[first].layer;
    struct outcome o = {.guards = true, .padding = true, .judged = true};
    char name[300], detail[400];
    int n = 0;

    for (int i = first; i < s->n_kernels && s->kernels[i].layer == layer; i++)
        if (s->kernels[i].rows == 0 && strcmp(s->kernels[i].algorithm, algorithm) == 0) {
            run_kernel(t, i, want, &o);
            n++;
        }
    o.sources = sources_unchanged(t, &s->layers[layer]);
    snprintf(name, sizeof name, "%.120s: '%.80s' by %.64s at %d batches", t->name,
             s->layers[layer].name, algorithm, n);
    snprintf(detail, sizeof detail,
             "differs by %.3g, calls %s, guards %d, padding %d, sources %d: %.200s", o.worst,
             o.failed ? "failed" : "worked", o.guards, o.padding, o.sources, vbs_detail(&t->ctx));
    report(!o.failed && o.guards && o.padding && o.sources && !o.negative && o.judged &&
               o.worst <= tolerance(algorithm),
           name, detail);
}

static bool seen_before(const struct vbs_session *s, int kernel)
{
    for (int i = kernel - 1; i >= 0 && s->kernels[i].layer == s->kernels[kernel].layer; i--)
        if (strcmp(s->kernels[i].algorithm, s->kernels[kernel].algorithm) == 0)
            return true;
    return false;
}

static void check_kernels(struct bench *t, bench_report *report)
{
    float *want = NULL;
    int layer = 0;

    for (int i = 0; i < t->session->n_kernels; i++) {
        if (t->session->kernels[i].layer != layer) {
            free(want);
            layer = t->session->kernels[i].layer;
            want = bench_reference(t, layer);
            if (!want) {
                report(false, t->name, "out of memory");
                return;
            }
        }
        if (t->session->kernels[i].rows == 0 && !seen_before(t->session, i))
            check_algorithm(t, i, want, report);
    }
    free(want);
}

void bench_check_kernels(struct bench *t, bool opened, bench_report *report)
{
    if (opened && bench_tensors(t))
        check_kernels(t, report);
    else
        report(false, t->name, vbs_detail(&t->ctx));
    bench_close(t);
}

/* Checks the properties on which measuring and profiles rely. */
static bool session_is_sound(const struct bench *t)
{
    const struct vbs_session *s = t->session;
    int batch = 0, layer = 0;

    for (int k = 1; k <= s->n_layers; k++) {
        int64_t in_bytes = 0;

        for (int i = 0; i < s->layers[k].n_inputs; i++) {
            if (s->layers[k].inputs[i] >= k)
                return false;
            in_bytes += s->layers[s->layers[k].inputs[i]].out_bytes;
        }
        if (in_bytes != s->layers[k].in_bytes ||
            s->layers[k].out_bytes < vbs_network_out_bytes(t->network, k))
            return false;
    }
    for (int i = 0; i < s->n_kernels; i++) {
        const struct vbs_kernel *k = &s->kernels[i];
        bool next_batch = k->layer == layer && (k->batch == batch || k->batch == batch + 1);
        bool next_layer = k->layer == layer + 1 && k->batch == 1 && (layer == 0 || batch == 3);

        if (!(next_batch || next_layer) || k->ws_bytes < 0 ||
            (!s->modelled && k->ws_bytes % 64 != 0) || strpbrk(k->algorithm, " ,;\""))
            return false;
        layer = k->layer;
        batch = k->batch;
    }
    return layer == s->n_layers && batch == 3;
}

/* Checks an opened session and closes it. */
static void check(struct bench *t, bool opened, bench_report *report)
{
    char name[300];

    if (!opened || !bench_tensors(t)) {
        report(false, t->name, vbs_detail(&t->ctx));
    } else {
        snprintf(name, sizeof name, "%.200s: its layers and kernels are in order", t->name);
        report(session_is_sound(t), name, "");
        check_kernels(t, report);
    }
    bench_close(t);
}

void bench_check(const struct backend_case *c, bench_report *report)
{
    struct bench t;
    bool opened = bench_open(&t, c, "onednn", 0);

    check(&t, opened, report);
}

void bench_check_operator(const struct operator_case *c, bench_report *report)
{
    struct bench t;
    bool opened = bench_open_operator(&t, c, "onednn", false);

    check(&t, opened, report);
}

void bench_check_given(const struct operator_case *c, bench_report *report)
{
    struct bench t;
    bool opened = bench_open_operator(&t, c, "onednn", true);

    check(&t, opened, report);
}

/* Makes an encoding, or float32, at random. */
static struct vbs_encoding random_encoding(uint64_t seed, int tensor)
{
    static const float scales[] = {1.0f / 128, 1.0f / 60, 0.01f, 0.03f};
    uint64_t bits = vbs_random(seed, (uint64_t)tensor);
    struct vbs_encoding e = {.storage = (enum vbs_storage)(bits % VBS_N_STORAGES)};

    if (e.storage != VBS_UINT8 && e.storage != VBS_INT8)
        return e;
    e.scale = scales[bits / 8 % 4];
    e.zero = bits / 32 % 2 ? vbs_storage_low(e.storage)
                           : vbs_storage_low(e.storage) + (int)(bits / 64 % 256);
    return e;
}

static bool has_filter(enum vbs_op op)
{
    return op == VBS_OP_CONV || op == VBS_OP_CONV_TRANSPOSE || op == VBS_OP_FC;
}

/* Gives the output to which a weight of count belongs: those of a deconv are [I][O / G][K...], all
 * others begin with the outputs. */
static int64_t output_of(const struct vbs_layer *l, int64_t count, int64_t weight)
{
    int64_t outputs = l->attributes.weighted.out_channels, groups = l->attributes.weighted.groups;
    int64_t inputs = l->views[0].dim[0], window;

    if (l->op != VBS_OP_CONV_TRANSPOSE)
        return weight / (count / outputs);
    window = count / inputs / (outputs / groups);
    return weight / (count / groups) * (outputs / groups) + weight / window % (outputs / groups);
}

/* Makes weights of conv, deconv and fc whole multiples of a step for each channel: -127 to 127 of
 * them. */
static enum vbs_status whole_weights(struct vbs_ctx *ctx, const struct vbs_network *network,
                                     struct vbs_network **made)
{
    struct vbs_new_values *list = calloc((size_t)network->n_layers, sizeof *list);
    enum vbs_status status = list ? VBS_OK : VBS_NO_MEMORY;
    int n = 0;

    for (int k = 1; k <= network->n_layers && status == VBS_OK; k++) {
        const struct vbs_layer *l = &network->layers[k];
        int64_t count = vbs_parameter_count(network, k, -1, VBS_PARAMETER_WEIGHTS);
        float *values;

        if (!has_filter(l->op) || count == 0)
            continue;
        values = malloc((size_t)count * sizeof *values);
        status = values ? vbs_parameter_values(ctx, network, k, -1, VBS_PARAMETER_WEIGHTS, 0, count,
                                               values)
                        : VBS_NO_MEMORY;
        for (int64_t i = 0; i < count && status == VBS_OK; i++)
            values[i] = rintf(values[i] * 100) *
                        (float)(0.01 + 0.001 * (double)(output_of(l, count, i) % 7));
        list[n++] = (struct vbs_new_values){k, -1, VBS_PARAMETER_WEIGHTS, count, values};
    }
    if (status == VBS_OK)
        status = vbs_network_revalue(ctx, network, list, n, made);
    for (int i = 0; i < n; i++)
        free(vbs_writable(list[i].values));
    free(list);
    return status;
}

/* Gives whether an operator jumps at a number of which the definition and the kernel have different
 * floats, so that values of a grid may fall on either side. */
static bool jumps(const struct vbs_network *network)
{
    bool found = false;

    for (int k = 1; k <= network->n_layers; k++) {
        found |= network->layers[k].op == VBS_OP_SHRINK;
        for (int f = 0; f < network->layers[k].n_fused; f++)
            found |= network->layers[k].fused[f].op == VBS_OP_SHRINK;
    }
    return found;
}

/* Stores the weights of a layer in 8 bits where they have steps. */
static bool encode_weights(struct bench *t, int k, struct vbs_layer *l)
{
    float *steps =
        vbs_network_alloc(t->network, (size_t)l->attributes.weighted.out_channels, sizeof *steps);
    bool whole = false;

    if (!steps || vbs_weight_steps(&t->ctx, t->network, k, steps, &whole) != VBS_OK)
        return false;
    l->weights = whole ? VBS_INT8 : VBS_FLOAT32;
    l->weight_steps = whole ? steps : NULL;
    return true;
}

/* Encodes the tensors of the case's network, which is replaced. */
static bool encode(struct bench *t, uint64_t seed)
{
    struct vbs_network *made = NULL;
    struct vbs_layer *layers;

    if (whole_weights(&t->ctx, t->network, &made) != VBS_OK)
        return false;
    vbs_network_free(t->network);
    t->network = made;
    layers = vbs_network_layers(made);
    for (int k = 0; k <= made->n_layers && !jumps(made); k++) {
        struct vbs_layer *l = &layers[k];
        enum vbs_storage read = k > 0 ? layers[l->inputs[0]].encoding.storage : VBS_FLOAT32;

        l->encoding = t->encodings ? t->encodings[k] : random_encoding(seed, k);
        if (k > 0 && !t->encodings && vbs_random(seed, (uint64_t)(k + 10000)) % 2 == 0)
            l->encoding = layers[l->inputs[0]].encoding;
        if (!has_filter(l->op))
            continue;
        if (vbs_storage_is_whole(read) && !encode_weights(t, k, l))
            return false;
        if (read == VBS_BFLOAT16 && l->op != VBS_OP_CONV_TRANSPOSE)
            l->weights = VBS_BFLOAT16;
    }
    return true;
}

bool bench_open_encoded(struct bench *t, const struct operator_case *c,
                        const struct vbs_encoding *encodings)
{
    *t = (struct bench){.name = c->name, .low = -1, .high = 1, .encodings = encodings};
    return operator_case_network(&t->ctx, c, &t->network) == VBS_OK && encode(t, 0) &&
           open_on(t, "onednn", 0);
}

static void check_encoded(struct bench *t, bool made, uint64_t seed, bench_report *report)
{
    bool opened = made && encode(t, seed) && open_on(t, "onednn", 0);

    check(t, opened, report);
}

void bench_check_encoded(const struct backend_case *c, uint64_t seed, bench_report *report)
{
    struct bench t = {.name = c->name};
    bool made = backend_case_network(&t.ctx, c, &t.network) == VBS_OK;

    check_encoded(&t, made, seed, report);
}

void bench_check_encoded_operator(const struct operator_case *c, uint64_t seed,
                                  bench_report *report)
{
    struct bench t = {.name = c->name, .low = c->low, .high = c->high};
    bool made = operator_case_network(&t.ctx, c, &t.network) == VBS_OK;

    check_encoded(&t, made, seed, report);
}

#define MAX_CODED_KERNELS 300

/* Gives whether a layer has coded weights, and channels that share them. */
static bool is_coded(const struct vbs_network *network, int layer)
{
    const struct vbs_layer *l = &network->layers[layer];

    return vbs_network_coded(network, layer) &&
           (l->op == VBS_OP_FC || l->attributes.weighted.groups == 1 ||
            l->attributes.weighted.groups < l->views[0].dim[0]);
}

/* Requests the algorithms of all coded layers at all batches. */
static int request(const struct vbs_network *network, const char *const *algorithms,
                   struct vbs_requested_kernel *requested)
{
    int n = 0;

    for (int k = 1; k <= network->n_layers; k++)
        for (int a = 0; is_coded(network, k) && algorithms[a]; a++)
            for (int batch = 1; batch <= MAX_BATCH; batch++)
                requested[n++] = (struct vbs_requested_kernel){
                    .layer = k, .batch = batch, .algorithm = algorithms[a]};
    return n;
}

bool bench_is_coded(const struct vbs_network *network)
{
    for (int k = 1; k <= network->n_layers; k++)
        if (is_coded(network, k))
            return true;
    return false;
}

bool bench_open_coded(struct bench *t, const char *name, struct vbs_network *network,
                      const char *const *algorithms, bool given)
{
    struct vbs_requested_kernel requested[MAX_CODED_KERNELS];
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .requested = requested,
                                          .n_requested =
                                              network ? request(network, algorithms, requested) : 0,
                                          .weights_given = given};
    const struct vbs_backend *found;

    *t = (struct bench){.name = name, .network = network, .given = given};

    return network && vbs_backend_find(&t->ctx, "onednn", &found) == VBS_OK &&
           found->open(&t->ctx, network, &options, &t->session) == VBS_OK;
}

void bench_check_coded(const char *name, struct vbs_network *network, const char *const *algorithms,
                       bool given, bench_report *report)
{
    struct bench t;

    if (network && !bench_is_coded(network)) {
        vbs_network_free(network);
        return;
    }
    bench_check_kernels(&t, bench_open_coded(&t, name, network, algorithms, given), report);
}

bool bench_passes_on(char *program, const char *isa)
{
    char *arguments[] = {program, NULL};
    int status = -1;
    pid_t child;

    if (getenv("DNNL_MAX_CPU_ISA"))
        return true;
    child = fork();
    if (child == 0) {
        if (setenv("DNNL_MAX_CPU_ISA", isa, 1) == 0 && freopen("/dev/null", "w", stdout))
            execv(program, arguments);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}
