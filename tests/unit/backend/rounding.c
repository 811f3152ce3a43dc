/* Kernels of whole numbers round as ONNX Runtime's kernels for x86 do, so that both give the same
 * numbers: where a result lies in the middle between two of them, too, of which these cases have
 * many. */
#include "vbslab/vbslab.h"

#include "cases/operator_cases.h"
#include "support/backend_bench.h"
#include "support/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define IN  (1.0f / 64)
#define OUT (2 * IN * 0.01f) /* the first channel's sums are halves of it */

/* What the last layer of a case makes of whole numbers, of one sample. */
typedef void expecting(const struct bench *t, int sample, int *want);

static const struct vbs_encoding *encoding_of(const struct bench *t, int tensor)
{
    return &t->network->layers[tensor].encoding;
}

/* Gives the number that is stored for a value, less the zero. */
static int number(const struct bench *t, int tensor, int sample, int64_t i)
{
    float value = t->plain[tensor][sample * bench_elements(t, tensor) + i];

    return (int)lrintf(value / encoding_of(t, tensor)->scale);
}

static int clipped(const struct vbs_encoding *e, float q)
{
    float low = (float)vbs_storage_low(e->storage), high = (float)vbs_storage_high(e->storage);

    return (int)(q < low ? low : q > high ? high : q);
}

/* ---- what is expected ---- */

/* A weighted layer: the sum times one factor is rounded, then the zero is added. */
static int weighted(const struct bench *t, int64_t sum, int channel)
{
    const struct vbs_layer *l = &t->network->layers[1];
    const struct vbs_encoding *to = &l->encoding;
    float factor = encoding_of(t, 0)->scale * l->weight_steps[channel] / to->scale;

    return clipped(to, rintf((float)sum * factor) + (float)to->zero);
}

/* Gives weight i of the layer, which belongs to this output channel, in steps. */
static int64_t weight(const struct bench *t, int64_t i, int64_t channel)
{
    const struct vbs_layer *l = &t->network->layers[1];
    float value = 0;

    if (vbs_parameter_values(NULL, t->network, 1, -1, VBS_PARAMETER_WEIGHTS, i, 1, &value) !=
        VBS_OK)
        return 0;
    return lrintf(value / l->weight_steps[channel]);
}

/* A convolution of 3x3 with padding. */
static void expect_conv(const struct bench *t, int sample, int *want)
{
    const int64_t *in = t->network->layers[0].shape.dim, *out = t->network->layers[1].shape.dim;

    for (int64_t o = 0; o < out[0]; o++)
        for (int64_t p = 0; p < out[1] * out[2]; p++) {
            int64_t sum = 0;

            for (int64_t w = 0; w < in[0] * 9; w++) {
                int64_t y = p / out[2] + w / 3 % 3 - 1, x = p % out[2] + w % 3 - 1;

                if (y >= 0 && y < in[1] && x >= 0 && x < in[2])
                    sum += weight(t, o * in[0] * 9 + w, o) *
                           number(t, 0, sample, (w / 9 * in[1] + y) * in[2] + x);
            }
            want[o * out[1] * out[2] + p] = weighted(t, sum, (int)o);
        }
}

/* Gives the sum of a transposed convolution at one position of an output. Its weights are
 * [I][O][K...], and input (y, x) adds to the outputs from (stride * y - pad, stride * x - pad) on.
 */
static int64_t transposed_sum(const struct bench *t, int sample, int64_t o, int64_t y, int64_t x)
{
    const struct vbs_layer *l = &t->network->layers[1];
    const struct vbs_window *w = &l->attributes.weighted.window;
    const int64_t *in = t->network->layers[0].shape.dim;
    int64_t n = w->kernel[0] * w->kernel[1], sum = 0;

    for (int64_t i = 0; i < in[0] * n; i++) {
        int64_t from_y = y + w->pad_low[0] - i % n / w->kernel[1];
        int64_t from_x = x + w->pad_low[1] - i % w->kernel[1];
        int64_t at = (i / n * in[1] + from_y / w->stride[0]) * in[2] + from_x / w->stride[1];

        if (from_y >= 0 && from_x >= 0 && from_y % w->stride[0] == 0 &&
            from_x % w->stride[1] == 0 && from_y / w->stride[0] < in[1] &&
            from_x / w->stride[1] < in[2])
            sum +=
                weight(t, (i / n * l->shape.dim[0] + o) * n + i % n, o) * number(t, 0, sample, at);
    }
    return sum;
}

static void expect_deconv(const struct bench *t, int sample, int *want)
{
    const int64_t *out = t->network->layers[1].shape.dim;

    for (int64_t o = 0; o < out[0]; o++)
        for (int64_t p = 0; p < out[1] * out[2]; p++)
            want[o * out[1] * out[2] + p] =
                weighted(t, transposed_sum(t, sample, o, p / out[2], p % out[2]), (int)o);
}

static void expect_fc(const struct bench *t, int sample, int *want)
{
    int64_t in = bench_elements(t, 0), out = bench_elements(t, 1);

    for (int64_t o = 0; o < out; o++) {
        int64_t sum = 0;

        for (int64_t i = 0; i < in; i++)
            sum += weight(t, o * in + i, o) * number(t, 0, sample, i);
        want[o] = weighted(t, sum, (int)o);
    }
}

/* A sum: the zero of the output is a part of the number that is rounded. */
static void expect_add(const struct bench *t, int sample, int *want)
{
    const struct vbs_encoding *a = encoding_of(t, 0), *b = encoding_of(t, 1),
                              *to = encoding_of(t, 2);
    float x = a->scale / to->scale, y = b->scale / to->scale;
    float shift = (float)to->zero - fmaf(x, (float)a->zero, y * (float)b->zero);

    for (int64_t i = 0; i < bench_elements(t, 2); i++) {
        float q = (float)(number(t, 0, sample, i) + a->zero);
        float r = (float)(number(t, 1, sample, i) + b->zero);

        want[i] = clipped(to, rintf(fmaf(q, x, fmaf(r, y, shift))));
    }
}

static void expect_mul(const struct bench *t, int sample, int *want)
{
    const struct vbs_encoding *to = encoding_of(t, 2);
    float factor = encoding_of(t, 0)->scale * encoding_of(t, 1)->scale / to->scale;

    for (int64_t i = 0; i < bench_elements(t, 2); i++) {
        int product = number(t, 0, sample, i) * number(t, 1, sample, i);
        volatile float scaled = (float)product * factor; /* rounded before the zero is added */

        want[i] = clipped(to, rintf(scaled + (float)to->zero));
    }
}

static void expect_mean(const struct bench *t, int sample, int *want)
{
    int64_t out = bench_elements(t, 1), n = bench_elements(t, 0) / out;
    const struct vbs_encoding *to = encoding_of(t, 1);
    float factor = encoding_of(t, 0)->scale / (to->scale * (float)n);

    for (int64_t c = 0; c < out; c++) {
        int sum = 0;

        for (int64_t i = 0; i < n; i++)
            sum += number(t, 0, sample, c * n + i);
        want[c] = clipped(to, rintf((float)sum * factor) + (float)to->zero);
    }
}

/* A product of the input, [rows, terms], with the tanh of it, read as [terms, columns]. */
static void expect_matmul(const struct bench *t, int sample, int *want)
{
    const struct vbs_layer *l = &t->network->layers[2];
    int64_t columns = l->shape.dim[1], terms = l->views[0].dim[1];
    const struct vbs_encoding *to = encoding_of(t, 2);
    float factor = encoding_of(t, 0)->scale * encoding_of(t, 1)->scale / to->scale;

    for (int64_t i = 0; i < bench_elements(t, 2); i++) {
        int sum = 0;

        for (int64_t k = 0; k < terms; k++)
            sum += number(t, 0, sample, i / columns * terms + k) *
                   number(t, 1, sample, k * columns + i % columns);
        want[i] = clipped(to, rintf((float)sum * factor) + (float)to->zero);
    }
}

/* ---- the cases ---- */

static const struct rounding_case {
    struct operator_case network;
    struct vbs_encoding encodings[3];
    expecting *expect;
} cases[] = {
    {{.name = "a convolution",
      .input = DIMS(20, 9, 8),
      .nodes = {{VBS_OP_CONV, "n", FROM(0),
                 .attributes = {.weighted = {.out_channels = 24,
                                             .groups = 1,
                                             .window = WINDOW(3, 1, 1, 1)}}}}},
     {{VBS_UINT8, IN, 101}, {VBS_UINT8, 8 * OUT, 131}},
     expect_conv},
    {{.name = "a transposed convolution",
      .input = DIMS(20, 5, 6),
      .nodes = {{VBS_OP_CONV_TRANSPOSE, "n", FROM(0),
                 .attributes = {.weighted = {.out_channels = 24,
                                             .groups = 1,
                                             .window = WINDOW(3, 2, 1, 1)}}}}},
     {{VBS_UINT8, IN, 101}, {VBS_UINT8, 8 * OUT, 131}},
     expect_deconv},
    {{.name = "a transposed convolution whose windows lie side by side",
      .input = DIMS(20, 5, 6),
      .nodes = {{VBS_OP_CONV_TRANSPOSE, "n", FROM(0),
                 .attributes = {.weighted = {.out_channels = 24,
                                             .groups = 1,
                                             .window = WINDOW(2, 2, 1, 0)}}}}},
     {{VBS_UINT8, IN, 101}, {VBS_UINT8, 8 * OUT, 131}},
     expect_deconv},
    {{.name = "a transposed convolution to one channel",
      .input = DIMS(24, 5, 6),
      .nodes = {{VBS_OP_CONV_TRANSPOSE, "n", FROM(0),
                 .attributes = {.weighted = {.out_channels = 1,
                                             .groups = 1,
                                             .window = WINDOW(2, 2, 1, 0)}}}}},
     {{VBS_UINT8, IN, 101}, {VBS_UINT8, 8 * OUT, 131}},
     expect_deconv},
    {{.name = "an inner product",
      .input = DIMS(150),
      .nodes = {{VBS_OP_FC, "n", FROM(0), .attributes = {.weighted = {.out_channels = 600}}}}},
     {{VBS_UINT8, IN, 101}, {VBS_INT8, 8 * OUT, -3}},
     expect_fc},
    {{.name = "a sum",
      .input = DIMS(20, 9, 8),
      .nodes = {{VBS_OP_TANH, "t", FROM(0)}, {VBS_OP_ADD, "n", FROM(0, 1)}}},
     {{VBS_UINT8, IN, 101}, {VBS_UINT8, 3 * IN, 7}, {VBS_UINT8, 2 * IN, 131}},
     expect_add},
    {{.name = "a product",
      .input = DIMS(20, 9, 8),
      .nodes = {{VBS_OP_TANH, "t", FROM(0)}, {VBS_OP_MUL, "n", FROM(0, 1)}}},
     {{VBS_UINT8, IN, 101}, {VBS_UINT8, IN / 2, 120}, {VBS_INT8, IN, 3}},
     expect_mul},
    {{.name = "a mean of all positions",
      .input = DIMS(70, 4, 8),
      .nodes = {{VBS_OP_REDUCE_MEAN, "n", FROM(0), .attributes = {.reduce = {.axes = 6}}}}},
     {{VBS_UINT8, IN, 101}, {VBS_UINT8, IN / 16, 131}},
     expect_mean},
    {{.name = "a product of matrices without signs",
      .input = DIMS(30, 40),
      .nodes = {{VBS_OP_TANH, "t", FROM(0)},
                {VBS_OP_MATMUL, "n", FROM(0, 1), VIEWS(DIMS(30, 40), DIMS(40, 30))}}},
     {{VBS_UINT8, IN, 101}, {VBS_UINT8, IN / 2, 120}, {VBS_UINT8, IN / 4, 131}},
     expect_matmul},
    {{.name = "a product of matrices with signs",
      .input = DIMS(30, 40),
      .nodes = {{VBS_OP_TANH, "t", FROM(0)},
                {VBS_OP_MATMUL, "n", FROM(0, 1), VIEWS(DIMS(30, 40), DIMS(40, 30))}}},
     {{VBS_INT8, IN, 3}, {VBS_INT8, IN / 2, -7}, {VBS_INT8, IN / 4, 0}},
     expect_matmul},
    {{.name = "a product of matrices, of which one has a sign",
      .input = DIMS(30, 40),
      .nodes = {{VBS_OP_TANH, "t", FROM(0)},
                {VBS_OP_MATMUL, "n", FROM(0, 1), VIEWS(DIMS(30, 40), DIMS(40, 30))}}},
     {{VBS_INT8, IN, 0}, {VBS_UINT8, IN / 2, 128}, {VBS_UINT8, IN / 4, 128}},
     expect_matmul},
};

/* Counts the values of one sample that a kernel gives and that are not expected; below 0: it
 * failed. */
static int64_t wrong_values(struct bench *t, int kernel, const int *want)
{
    const struct vbs_session_ops *ops = t->session->ops;
    const struct vbs_kernel *k = &t->session->kernels[kernel];
    const struct vbs_profile_layer *layer = &t->session->layers[k->layer];
    int64_t n = bench_elements(t, k->layer), wrong = 0;
    void *dst = ops->alloc(t->session, layer->out_bytes), *ws = ops->alloc(t->session, k->ws_bytes);
    float *got = malloc((size_t)n * sizeof *got);
    const void *src[2];
    double time_us;

    for (int i = 0; i < layer->n_inputs; i++)
        src[i] = t->canonical[layer->inputs[i]];
    if (layer->in_place) {
        memcpy(dst, src[0], (size_t)layer->out_bytes);
        src[0] = dst;
    }
    if (ops->run(&t->ctx, t->session, kernel,
                 &(struct vbs_operands){.src = src, .dst = dst, .ws = ws}, &time_us) != VBS_OK ||
        ops->read(&t->ctx, t->session, k->layer, 1, dst, got) != VBS_OK)
        wrong = -1;
    for (int64_t i = 0; i < n && wrong >= 0; i++) {
        const struct vbs_encoding *e = encoding_of(t, k->layer);

        wrong += lrintf(got[i] / e->scale) + e->zero != want[i];
    }
    free(got);
    ops->free(t->session, dst);
    ops->free(t->session, ws);
    return wrong;
}

static void check(const struct rounding_case *c)
{
    struct bench t;
    int *want = NULL, n = 0, last;

    if (!bench_open_encoded(&t, &c->network, c->encodings) || !bench_tensors(&t)) {
        ok(false, "%s: %s", c->network.name, vbs_detail(&t.ctx));
        bench_close(&t);
        return;
    }
    last = t.network->n_layers;
    want = calloc((size_t)bench_elements(&t, last), sizeof *want);
    if (want)
        c->expect(&t, 0, want);
    for (int i = 0; want && i < t.session->n_kernels; i++) {
        const struct vbs_kernel *k = &t.session->kernels[i];

        if (k->layer != last || k->batch != 1 || strstr(k->algorithm, "+f32"))
            continue;
        n++;
        ok(wrong_values(&t, i, want) == 0, "%s by %s rounds as ONNX Runtime does", c->network.name,
           k->algorithm);
    }
    ok(n > 0, "%s has kernels of whole numbers", c->network.name);
    free(want);
    bench_close(&t);
}

/* Gives whether the processor adds a product with one rounding, and multiplies whole numbers
 * without sums that overflow; others round in other ways. */
static bool rounds_alike(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("avx512vnni");
#else
    return false;
#endif
}

int main(void)
{
    if (!rounds_alike()) {
        skip("rounding", "this processor has no AVX-512 VNNI");
        return done_testing();
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check(&cases[i]);
    return done_testing();
}
