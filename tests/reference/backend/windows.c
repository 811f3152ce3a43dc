/* The reference of operators with windows. */
#include "reference/backend/ops_common.h"

#include <math.h>
#include <stdlib.h>

/* A sample of any shape as [C, D, H, W]; missing dimensions are 1. */
struct volume {
    int64_t c, d, h, w;
};

/* Kernel, stride and the like in the same form. */
struct triple {
    int64_t d, h, w;
};

static struct volume volume(const struct vbs_shape *shape)
{
    int64_t dims[4] = {shape->dim[0], 1, 1, 1};

    for (int i = 1; i < shape->n_dims; i++)
        dims[4 - shape->n_dims + i] = shape->dim[i];
    return (struct volume){dims[0], dims[1], dims[2], dims[3]};
}

static struct triple triple(const struct vbs_shape *shape, const int64_t *values, int64_t missing)
{
    int64_t v[3] = {missing, missing, missing};

    for (int i = 1; i < shape->n_dims; i++)
        v[3 - shape->n_dims + i] = values[i - 1];
    return (struct triple){v[0], v[1], v[2]};
}

static int64_t count(struct volume v)
{
    return v.c * v.d * v.h * v.w;
}

static int64_t at(struct volume v, int64_t c, int64_t d, int64_t h, int64_t w)
{
    return ((c * v.d + d) * v.h + h) * v.w + w;
}

static bool inside(struct volume v, int64_t d, int64_t h, int64_t w)
{
    return d >= 0 && d < v.d && h >= 0 && h < v.h && w >= 0 && w < v.w;
}

static void conv_channel(const struct vbs_layer *l, struct volume in, struct volume out,
                         const float *x, const float *weights, double bias, int64_t o, float *y)
{
    struct triple k = triple(&l->shape, l->attributes.weighted.window.kernel, 1);
    struct triple stride = triple(&l->shape, l->attributes.weighted.window.stride, 1);
    struct triple dilation = triple(&l->shape, l->attributes.weighted.window.dilation, 1);
    struct triple pad = triple(&l->shape, l->attributes.weighted.window.pad_low, 0);
    int64_t n_in = in.c / l->attributes.weighted.groups;
    int64_t first = o / (out.c / l->attributes.weighted.groups) * n_in;
    const float *w = weights + o * n_in * k.d * k.h * k.w;

    for (int64_t p = 0; p < out.d * out.h * out.w; p++) {
        int64_t d0 = p / (out.h * out.w) * stride.d - pad.d;
        int64_t h0 = p / out.w % out.h * stride.h - pad.h;
        int64_t w0 = p % out.w * stride.w - pad.w;
        double sum = bias;

        for (int64_t i = 0; i < n_in * k.d * k.h * k.w; i++) {
            int64_t d = d0 + i / (k.h * k.w) % k.d * dilation.d;
            int64_t h = h0 + i / k.w % k.h * dilation.h;
            int64_t column = w0 + i % k.w * dilation.w;
            int64_t c = first + i / (k.d * k.h * k.w);

            if (inside(in, d, h, column))
                sum += (double)w[i] * x[at(in, c, d, h, column)];
        }
        y[o * out.d * out.h * out.w + p] = (float)sum;
    }
}

bool reference_conv(const struct subject *s, const float *x, float *y)
{
    struct volume in = volume(&s->l->views[0]), out = volume(&s->l->shape);
    float *weights =
        subject_values(s, -1, VBS_PARAMETER_WEIGHTS, vbs_weight_count(s->network, s->layer));
    float *bias = subject_values(s, -1, VBS_PARAMETER_BIAS, out.c);

    for (int64_t o = 0; weights && bias && o < out.c; o++)
        conv_channel(s->l, in, out, x, weights, bias[o], o, y);
    free(weights);
    free(bias);
    return weights && bias;
}

/* Spreads value number p of input channel c over the windows of the group's output channels. */
static void spread(const struct vbs_layer *l, struct volume in, struct volume out, int64_t c,
                   int64_t p, double value, const float *weights, double *sums)
{
    struct triple k = triple(&l->shape, l->attributes.weighted.window.kernel, 1);
    struct triple stride = triple(&l->shape, l->attributes.weighted.window.stride, 1);
    struct triple dilation = triple(&l->shape, l->attributes.weighted.window.dilation, 1);
    struct triple pad = triple(&l->shape, l->attributes.weighted.window.pad_low, 0);
    int64_t n_out = out.c / l->attributes.weighted.groups, n = k.d * k.h * k.w;
    int64_t first = c / (in.c / l->attributes.weighted.groups) * n_out;

    for (int64_t i = 0; i < n_out * n; i++) {
        int64_t d = p / (in.h * in.w) * stride.d - pad.d + i % n / (k.h * k.w) * dilation.d;
        int64_t h = p / in.w % in.h * stride.h - pad.h + i / k.w % k.h * dilation.h;
        int64_t w = p % in.w * stride.w - pad.w + i % k.w * dilation.w;

        if (inside(out, d, h, w))
            sums[at(out, first + i / n, d, h, w)] += value * weights[c * n_out * n + i];
    }
}

bool reference_deconv(const struct subject *s, const float *x, float *y)
{
    struct volume in = volume(&s->l->views[0]), out = volume(&s->l->shape);
    int64_t positions = in.d * in.h * in.w, n = count(out);
    double *sums = calloc((size_t)n, sizeof *sums);
    float *weights =
        subject_values(s, -1, VBS_PARAMETER_WEIGHTS, vbs_weight_count(s->network, s->layer));
    float *bias = subject_values(s, -1, VBS_PARAMETER_BIAS, out.c);
    bool made = sums && weights && bias;

    for (int64_t i = 0; made && i < count(in); i++)
        spread(s->l, in, out, i / positions, i % positions, x[i], weights, sums);
    for (int64_t i = 0; made && i < n; i++)
        y[i] = (float)(sums[i] + bias[i / (n / out.c)]);
    free(sums);
    free(weights);
    free(bias);
    return made;
}

static float pool_window(const struct vbs_layer *l, struct volume in, const float *x, int64_t c,
                         struct triple from)
{
    struct triple k = triple(&l->shape, l->attributes.pool.window.kernel, 1);
    struct triple dilation = triple(&l->shape, l->attributes.pool.window.dilation, 1);
    double sum = 0, most = -INFINITY;
    int64_t n = 0;

    for (int64_t i = 0; i < k.d * k.h * k.w; i++) {
        int64_t d = from.d + i / (k.h * k.w) * dilation.d;
        int64_t h = from.h + i / k.w % k.h * dilation.h;
        int64_t w = from.w + i % k.w * dilation.w;

        if (!inside(in, d, h, w))
            continue;
        n++;
        sum += x[at(in, c, d, h, w)];
        if (!(x[at(in, c, d, h, w)] <= most) && !isnan(most)) /* also what is no number */
            most = x[at(in, c, d, h, w)];
    }
    if (l->op == VBS_OP_POOL_MAX)
        return (float)most;
    return (float)(sum / (double)(l->attributes.pool.pad_counts ? k.d * k.h * k.w : n));
}

bool reference_pool(const struct subject *s, const float *x, float *y)
{
    const struct vbs_layer *l = s->l;
    struct volume in = volume(&l->views[0]), out = volume(&l->shape);
    struct triple stride = triple(&l->shape, l->attributes.pool.window.stride, 1);
    struct triple pad = triple(&l->shape, l->attributes.pool.window.pad_low, 0);

    for (int64_t i = 0; i < count(out); i++) {
        struct triple from = {i / (out.h * out.w) % out.d * stride.d - pad.d,
                              i / out.w % out.h * stride.h - pad.h, i % out.w * stride.w - pad.w};

        y[i] = pool_window(l, in, x, i / (out.d * out.h * out.w), from);
    }
    return true;
}

/* Returns the value of an image at a place between its elements: each element counts by how near it
 * is, and outside there is nothing. */
static double between(const float *image, int64_t height, int64_t width, float y, float x)
{
    double sum = isnan(y) || isnan(x) ? NAN : 0;

    for (int64_t i = 0; i < height * width; i++) {
        double down = 1 - fabs((double)y - (double)(i / width));
        double across = 1 - fabs((double)x - (double)(i % width));

        if (down > 0 && across > 0)
            sum += down * across * image[i];
    }
    return sum;
}

/* Returns what a window reads of channel c for element tap, of image k: inputs are the images, what
 * moves places, and factors (null: all are 1). */
static double deformed(const struct vbs_layer *l, const float *const *inputs, int64_t k, int64_t c,
                       int64_t tap, int64_t p)
{
    const union vbs_attributes *a = &l->attributes;
    const struct vbs_window *w = &a->weighted.window;
    const struct vbs_shape *in = &l->views[0], *out = &l->shape;
    int64_t height = in->dim[in->n_dims - 2], width = in->dim[in->n_dims - 1];
    int64_t channels = in->dim[in->n_dims - 3], columns = out->dim[out->n_dims - 1];
    int64_t positions = out->dim[out->n_dims - 2] * columns, taps = w->kernel[0] * w->kernel[1];
    int64_t group = (k * a->weighted.offset_groups) + c * a->weighted.offset_groups / channels;
    const float *offsets = inputs[1] + (group * taps + tap) * 2 * positions;
    float y =
        (float)(p / columns * w->stride[0] - w->pad_low[0] + tap / w->kernel[1] * w->dilation[0]) +
        offsets[p];
    float x =
        (float)(p % columns * w->stride[1] - w->pad_low[1] + tap % w->kernel[1] * w->dilation[1]) +
        offsets[positions + p];
    double value = between(inputs[0] + (k * channels + c) * height * width, height, width, y, x);

    return l->n_inputs > 2 ? value * inputs[2][(group * taps + tap) * positions + p] : value;
}

bool reference_deform_conv(const struct subject *s, const float *const *inputs, float *y)
{
    const struct vbs_layer *l = s->l;
    const union vbs_attributes *a = &l->attributes;
    const struct vbs_shape *in = &l->views[0], *out = &l->shape;
    int64_t n_out = a->weighted.out_channels, groups = a->weighted.groups;
    int64_t n_in = in->dim[in->n_dims - 3] / groups;
    int64_t taps = a->weighted.window.kernel[0] * a->weighted.window.kernel[1];
    int64_t positions = out->dim[out->n_dims - 2] * out->dim[out->n_dims - 1];
    float *weights = subject_values(s, -1, VBS_PARAMETER_WEIGHTS, n_out * n_in * taps);
    float *bias = subject_values(s, -1, VBS_PARAMETER_BIAS, n_out);

    for (int64_t i = 0; weights && bias && i < vbs_shape_elements(out); i++) {
        int64_t o = i / positions % n_out, first = o / (n_out / groups) * n_in;
        double sum = bias[o];

        for (int64_t t = 0; t < n_in * taps; t++)
            sum +=
                weights[o * n_in * taps + t] * deformed(l, inputs, i / positions / n_out,
                                                        first + t / taps, t % taps, i % positions);
        y[i] = (float)sum;
    }
    free(weights);
    free(bias);
    return weights && bias;
}
