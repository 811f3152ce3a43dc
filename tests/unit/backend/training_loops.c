/*
 * Direct convolutions and max pools of training against their definitions, on shapes drawn at
 * random: more of them, and stranger ones, than the networks of training.c have.
 */
#include "backend/onednn/training/direct.h"
#include "backend/onednn/training/max_pool.h"
#include "backend/onednn/training/tile.h"

#include "support/tap.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_SHAPES 60

static uint64_t state = 12345;

/* A whole number from low to high. */
static int64_t draw(int64_t low, int64_t high)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (int64_t)((state >> 33) % (uint64_t)(high - low + 1));
}

/* Whole numbers of few bits, whose products and sums are exact. */
static float *draw_floats(int64_t n)
{
    float *values = malloc((size_t)n * sizeof *values);

    for (int64_t i = 0; values && i < n; i++)
        values[i] = (float)draw(-8, 8);
    return values;
}

static bool is_equal(const float *a, const float *b, int64_t n)
{
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

/* Gives the output positions of a window along an axis; 0: the window is larger than the input. */
static int64_t positions(int64_t in, int64_t low, int64_t high, int64_t kernel, int64_t stride,
                         int64_t dilation)
{
    int64_t left = in + low + high - ((kernel - 1) * dilation + 1);

    return left < 0 ? 0 : left / stride + 1;
}

/* ---- convolutions ---- */

struct conv {
    struct od_direct d;
    int64_t n_in, n_out, n_weights;
    float *in, *out, *weights, *bias;                 /* what the passes read; out: the gradient */
    float *to_in, *to_out, *to_weights, *to_bias;     /* what they write */
    float *own_in, *own_out, *own_weights, *own_bias; /* by the definition */
    float *scratch;
};

static struct od_direct draw_conv(void)
{
    struct od_direct d = {.batch = draw(1, 5), .in_channels = draw(1, 21), .parts = draw(1, 4)};

    d.out_channels = draw(1, 4) == 1 ? draw(1, 4) * 8 : draw(1, 51);
    for (int i = 0; i < OD_DIRECT_AXES; i++) {
        int64_t high;

        do {
            d.in[i] = draw(1, 12);
            d.kernel[i] = draw(1, 5);
            d.stride[i] = draw(1, 3);
            d.dilation[i] = draw(1, 4) == 1 ? draw(1, 3) : 1;
            d.low[i] = draw(0, 1) * draw(0, 4);
            high = draw(0, 1) * draw(0, 4);
            d.out[i] = positions(d.in[i], d.low[i], high, d.kernel[i], d.stride[i], d.dilation[i]);
        } while (d.out[i] == 0);
    }
    return d;
}

/* The three passes by the definition: calls for each product. */
static void define_conv(struct conv *c)
{
    const struct od_direct *d = &c->d;
    int64_t in = d->in_channels, out = d->out_channels;

    memset(c->own_in, 0, (size_t)c->n_in * sizeof(float));
    memset(c->own_weights, 0, (size_t)c->n_weights * sizeof(float));
    memset(c->own_bias, 0, (size_t)out * sizeof(float));
    for (int64_t i = 0; i < c->n_out; i++) {
        c->own_out[i] = d->bias ? c->bias[i % out] : 0;
        c->own_bias[i % out] += c->out[i];
    }
    for (int64_t p = 0; p < d->batch * d->out[0] * d->out[1]; p++)
        for (int64_t k = 0; k < d->kernel[0] * d->kernel[1]; k++) {
            int64_t y = p / d->out[1] % d->out[0] * d->stride[0] +
                        k / d->kernel[1] * d->dilation[0] - d->low[0];
            int64_t x =
                p % d->out[1] * d->stride[1] + k % d->kernel[1] * d->dilation[1] - d->low[1];
            int64_t at = (p / (d->out[0] * d->out[1]) * d->in[0] + y) * d->in[1] + x;

            for (int64_t n = 0; n < in * out && y >= 0 && y < d->in[0] && x >= 0 && x < d->in[1];
                 n++) {
                int64_t i = n / out, o = n % out, w = (k * in + i) * out + o;

                c->own_out[p * out + o] += c->in[at * in + i] * c->weights[w];
                c->own_in[at * in + i] += c->out[p * out + o] * c->weights[w];
                c->own_weights[w] += c->out[p * out + o] * c->in[at * in + i];
            }
        }
}

static bool open_conv(struct conv *c)
{
    const struct od_direct *d = &c->d;

    c->n_in = d->batch * d->in[0] * d->in[1] * d->in_channels;
    c->n_out = d->batch * d->out[0] * d->out[1] * d->out_channels;
    c->n_weights = d->kernel[0] * d->kernel[1] * d->in_channels * d->out_channels;
    c->in = draw_floats(c->n_in);
    c->out = draw_floats(c->n_out);
    c->weights = draw_floats(c->n_weights);
    c->bias = draw_floats(d->out_channels);
    c->to_in = draw_floats(c->n_in);
    c->to_out = draw_floats(c->n_out);
    c->to_weights = draw_floats(c->n_weights);
    c->to_bias = draw_floats(d->out_channels);
    c->own_in = draw_floats(c->n_in);
    c->own_out = draw_floats(c->n_out);
    c->own_weights = draw_floats(c->n_weights);
    c->own_bias = draw_floats(d->out_channels);
    c->scratch = draw_floats(od_direct_scratch(d));
    return c->in && c->out && c->weights && c->bias && c->to_in && c->to_out && c->to_weights &&
           c->to_bias && c->own_in && c->own_out && c->own_weights && c->own_bias && c->scratch;
}

static void close_conv(struct conv *c)
{
    float *all[] = {c->in,          c->out,        c->weights, c->bias,   c->to_in,
                    c->to_out,      c->to_weights, c->to_bias, c->own_in, c->own_out,
                    c->own_weights, c->own_bias,   c->scratch};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static bool same_passes(struct conv *c)
{
    float *forward[] = {c->to_out, c->in, c->weights, c->scratch};
    float *input[] = {c->to_in, c->out, c->weights, c->scratch};
    float *weights[] = {c->to_weights, c->in, c->out, c->scratch};
    bool same;

    define_conv(c);
    same = od_direct_forward(&c->d, forward) && is_equal(c->to_out, c->own_out, c->n_out) &&
           od_direct_input(&c->d, input) && is_equal(c->to_in, c->own_in, c->n_in) &&
           od_direct_weights(&c->d, weights) &&
           is_equal(c->to_weights, c->own_weights, c->n_weights) &&
           (!c->d.bias || is_equal(c->to_bias, c->own_bias, c->d.out_channels)) &&
           od_direct_input_accumulate(&c->d, input);
    for (int64_t i = 0; i < c->n_in; i++)
        same = same && c->to_in[i] == 2 * c->own_in[i];
    return same;
}

static void check_convs(void)
{
    int n_same = 0;

    for (int i = 0; i < N_SHAPES; i++) {
        struct conv c = {.d = draw_conv()};
        bool same;

        if (!open_conv(&c)) {
            close_conv(&c);
            ok(false, "out of memory");
            return;
        }
        if (draw(0, 1) == 1) {
            c.d.bias = c.bias;
            c.d.bias_gradient = c.to_bias;
        }
        same = same_passes(&c);
        n_same += same;
        if (!same)
            printf("# batch %d, %dx%dx%d to %dx%dx%d, kernel %dx%d, stride %dx%d, dilation %dx%d, "
                   "padding %dx%d, parts %d\n",
                   (int)c.d.batch, (int)c.d.in_channels, (int)c.d.in[0], (int)c.d.in[1],
                   (int)c.d.out_channels, (int)c.d.out[0], (int)c.d.out[1], (int)c.d.kernel[0],
                   (int)c.d.kernel[1], (int)c.d.stride[0], (int)c.d.stride[1], (int)c.d.dilation[0],
                   (int)c.d.dilation[1], (int)c.d.low[0], (int)c.d.low[1], (int)c.d.parts);
        close_conv(&c);
    }
    is_int(n_same, N_SHAPES, "direct convolutions are what their definition says, in all passes");
}

/* ---- max pools ---- */

static struct od_max_pool draw_pool(void)
{
    struct od_max_pool p = {.batch = draw(1, 4), .channels = draw(1, 21)};

    for (int i = 0; i < OD_POOL_AXES; i++) {
        do {
            p.in[i] = draw(1, 7);
            p.kernel[i] = draw(1, 4);
            p.stride[i] = draw(1, 3);
            p.dilation[i] = draw(1, 4) == 1 ? draw(1, 5) : 1;
            p.low[i] = draw(0, 1) * draw(0, 4);
            p.out[i] =
                positions(p.in[i], p.low[i], draw(0, 4), p.kernel[i], p.stride[i], p.dilation[i]);
        } while (p.out[i] == 0);
    }
    return p;
}

/* Computes one output by the definition; gives the input that is the largest, below 0: none. */
static int64_t find_largest(const struct od_max_pool *p, const float *in, int64_t position,
                            int64_t channel)
{
    int64_t best = -1, k[3],
            o[3] = {position / (p->out[1] * p->out[2]) % p->out[0],
                    position / p->out[2] % p->out[1], position % p->out[2]};
    int64_t image = position / (p->out[0] * p->out[1] * p->out[2]);

    for (k[0] = 0; k[0] < p->kernel[0]; k[0]++)
        for (k[1] = 0; k[1] < p->kernel[1]; k[1]++)
            for (k[2] = 0; k[2] < p->kernel[2]; k[2]++) {
                int64_t at = image;
                bool inside = true;

                for (int i = 0; i < OD_POOL_AXES; i++) {
                    int64_t x = o[i] * p->stride[i] + k[i] * p->dilation[i] - p->low[i];

                    inside = inside && x >= 0 && x < p->in[i];
                    at = at * p->in[i] + x;
                }
                at = at * p->channels + channel;
                if (inside && (best < 0 || in[at] > in[best]))
                    best = at;
            }
    return best;
}

static bool same_pool(struct od_max_pool *p)
{
    int64_t n_in = p->batch * p->in[0] * p->in[1] * p->in[2] * p->channels;
    int64_t n_out = p->batch * p->out[0] * p->out[1] * p->out[2] * p->channels;
    float *in = draw_floats(n_in), *out = draw_floats(n_out), *gradient = draw_floats(n_out);
    float *to = draw_floats(n_in), *own = calloc((size_t)n_in, sizeof *own);
    uint8_t *taps = malloc((size_t)n_out);
    float *forward[] = {out, in}, *backward[] = {to, gradient};
    bool same = in && out && gradient && to && own && taps && od_max_pool(p, forward);

    for (int64_t i = 0; same && i < n_out; i++) {
        int64_t best = find_largest(p, in, i / p->channels, i % p->channels);

        same = out[i] == (best < 0 ? -FLT_MAX : in[best]);
        if (best >= 0)
            own[best] += gradient[i];
    }
    p->taps = taps;
    if (same)
        memset(out, 0, (size_t)n_out * sizeof *out);
    same = same && od_max_pool(p, forward) && od_max_pool_gradient(p, backward) &&
           is_equal(to, own, n_in) && od_max_pool_gradient_accumulate(p, backward);
    for (int64_t i = 0; same && i < n_in; i++)
        same = to[i] == 2 * own[i];
    free(in);
    free(out);
    free(gradient);
    free(to);
    free(own);
    free(taps);
    return same;
}

static void check_pools(void)
{
    int n_same = 0;

    for (int i = 0; i < N_SHAPES; i++) {
        struct od_max_pool p = draw_pool();

        n_same += same_pool(&p);
    }
    is_int(n_same, N_SHAPES, "max pools are what their definition says, in both directions");
}

int main(void)
{
    if (od_has_products())
        check_convs();
    else
        skip("direct convolutions", "the processor has no AVX2");
    check_pools();
    return done_testing();
}
