#include "reference_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Any sample as [C, D, H, W]; dimensions that are not there are 1. */
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

static const struct vbs_shape *input_shape(const struct vbs_network *network,
                                           const struct vbs_layer *layer, int input)
{
    int id = layer->inputs[input];

    return id == 0 ? &network->input : &network->layers[id].shape;
}

/* All of a parameter; null: out of memory. */
static float *parameter(const struct vbs_network *network, int layer, int bundled,
                        enum vbs_parameter what, int64_t n)
{
    float *values = malloc((size_t)n * sizeof *values);

    if (values && vbs_parameter_values(NULL, network, layer, bundled, what, 0, n, values) == VBS_OK)
        return values;
    free(values);
    return NULL;
}

static void conv_channel(const struct vbs_layer *l, struct volume in, struct volume out,
                         const float *x, const float *weights, double bias, int64_t o, float *y)
{
    struct triple k = triple(&l->shape, l->attributes.kernel, 1);
    struct triple stride = triple(&l->shape, l->attributes.stride, 1);
    struct triple dilation = triple(&l->shape, l->attributes.dilation, 1);
    struct triple pad = triple(&l->shape, l->attributes.pad_low, 0);
    int64_t n_in = in.c / l->attributes.groups;
    int64_t first = o / (out.c / l->attributes.groups) * n_in;
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

static bool conv(const struct vbs_network *network, int layer, const float *x, float *y)
{
    const struct vbs_layer *l = &network->layers[layer];
    struct volume in = volume(input_shape(network, l, 0)), out = volume(&l->shape);
    float *weights =
        parameter(network, layer, -1, VBS_PARAMETER_WEIGHTS, vbs_weight_count(network, layer));
    float *bias = parameter(network, layer, -1, VBS_PARAMETER_BIAS, out.c);

    for (int64_t o = 0; weights && bias && o < out.c; o++)
        conv_channel(l, in, out, x, weights, bias[o], o, y);
    free(weights);
    free(bias);
    return weights && bias;
}

static bool fc(const struct vbs_network *network, int layer, const float *x, float *y)
{
    const struct vbs_layer *l = &network->layers[layer];
    int64_t n_in = vbs_shape_elements(input_shape(network, l, 0)), n_out = l->shape.dim[0];
    float *weights = parameter(network, layer, -1, VBS_PARAMETER_WEIGHTS, n_in * n_out);
    float *bias = parameter(network, layer, -1, VBS_PARAMETER_BIAS, n_out);

    for (int64_t o = 0; weights && bias && o < n_out; o++) {
        double sum = bias[o];

        for (int64_t i = 0; i < n_in; i++)
            sum += (double)weights[o * n_in + i] * x[i];
        y[o] = (float)sum;
    }
    free(weights);
    free(bias);
    return weights && bias;
}

static float pool_window(const struct vbs_layer *l, struct volume in, const float *x, int64_t c,
                         struct triple from)
{
    struct triple k = triple(&l->shape, l->attributes.kernel, 1);
    double sum = 0, most = -INFINITY;
    int64_t n = 0;

    for (int64_t i = 0; i < k.d * k.h * k.w; i++) {
        int64_t d = from.d + i / (k.h * k.w), h = from.h + i / k.w % k.h, w = from.w + i % k.w;

        if (!inside(in, d, h, w))
            continue;
        n++;
        sum += x[at(in, c, d, h, w)];
        most = fmax(most, x[at(in, c, d, h, w)]);
    }
    if (l->op == VBS_OP_POOL_MAX)
        return (float)most;
    return (float)(sum / (double)(l->attributes.pad_counts ? k.d * k.h * k.w : n));
}

static bool pool(const struct vbs_network *network, int layer, const float *x, float *y)
{
    const struct vbs_layer *l = &network->layers[layer];
    struct volume in = volume(input_shape(network, l, 0)), out = volume(&l->shape);
    struct triple stride = triple(&l->shape, l->attributes.stride, 1);
    struct triple pad = triple(&l->shape, l->attributes.pad_low, 0);

    for (int64_t i = 0; i < count(out); i++) {
        struct triple from = {i / (out.h * out.w) % out.d * stride.d - pad.d,
                              i / out.w % out.h * stride.h - pad.h, i % out.w * stride.w - pad.w};

        y[i] = pool_window(l, in, x, i / (out.d * out.h * out.w), from);
    }
    return true;
}

static bool lrn(const struct vbs_network *network, int layer, const float *x, float *y)
{
    const struct vbs_attributes *a = &network->layers[layer].attributes;
    struct volume v = volume(&network->layers[layer].shape);
    int64_t positions = v.d * v.h * v.w, half = (a->lrn_size - 1) / 2;

    for (int64_t i = 0; i < count(v); i++) {
        int64_t c = i / positions;
        double sum = 0;

        for (int64_t o = c - half; o < c - half + a->lrn_size; o++)
            if (o >= 0 && o < v.c)
                sum += pow(x[i + (o - c) * positions], 2);
        y[i] =
            (float)(x[i] / pow(a->lrn_k + a->lrn_alpha / (double)a->lrn_size * sum, a->lrn_beta));
    }
    return true;
}

static bool softmax(const struct vbs_network *network, int layer, const float *x, float *y)
{
    struct volume v = volume(&network->layers[layer].shape);
    int64_t positions = v.d * v.h * v.w;

    for (int64_t p = 0; p < positions; p++) {
        double sum = 0, most = -INFINITY;

        for (int64_t c = 0; c < v.c; c++)
            most = fmax(most, x[c * positions + p]);
        for (int64_t c = 0; c < v.c; c++)
            sum += exp(x[c * positions + p] - most);
        for (int64_t c = 0; c < v.c; c++)
            y[c * positions + p] = (float)(exp(x[c * positions + p] - most) / sum);
    }
    return true;
}

static bool add(const struct vbs_network *network, int layer, const float *const *inputs, float *y)
{
    for (int64_t i = 0; i < vbs_shape_elements(&network->layers[layer].shape); i++)
        y[i] = inputs[0][i] + inputs[1][i];
    return true;
}

static bool concat(const struct vbs_network *network, int layer, const float *const *inputs,
                   float *y)
{
    const struct vbs_layer *l = &network->layers[layer];

    for (int i = 0; i < l->n_inputs; i++) {
        int64_t n = vbs_shape_elements(input_shape(network, l, i));

        memcpy(y, inputs[i], (size_t)n * sizeof *y);
        y += n;
    }
    return true;
}

static bool affine(const struct vbs_network *network, int layer, int bundled, const float *x,
                   float *y)
{
    struct volume v = volume(&network->layers[layer].shape);
    int64_t positions = v.d * v.h * v.w;
    float *gamma = parameter(network, layer, bundled, VBS_PARAMETER_GAMMA, v.c);
    float *beta = parameter(network, layer, bundled, VBS_PARAMETER_BETA, v.c);
    float *mean = parameter(network, layer, bundled, VBS_PARAMETER_MEAN, v.c);
    float *variance = parameter(network, layer, bundled, VBS_PARAMETER_VARIANCE, v.c);
    bool norm = (bundled < 0 ? network->layers[layer].op
                             : network->layers[layer].bundled[bundled].op) == VBS_OP_BATCHNORM;
    bool made = gamma && beta && mean && variance;

    for (int64_t i = 0; made && i < count(v); i++) {
        int64_t c = i / positions;
        double value = x[i];

        if (norm)
            value = (value - mean[c]) / sqrt(variance[c] + VBS_BATCHNORM_EPSILON);
        y[i] = (float)(gamma[c] * value + beta[c]);
    }
    free(gamma);
    free(beta);
    free(mean);
    free(variance);
    return made;
}

/* An operator that works value by value; bundled < 0: the layer's own. */
static bool elementwise(const struct vbs_network *network, int layer, int bundled, enum vbs_op op,
                        const float *x, float *y)
{
    int64_t n = vbs_shape_elements(&network->layers[layer].shape);

    if (op == VBS_OP_BATCHNORM || op == VBS_OP_SCALE)
        return affine(network, layer, bundled, x, y);
    for (int64_t i = 0; i < n; i++)
        y[i] = op == VBS_OP_RELU && x[i] < 0 ? 0 : x[i];
    return true;
}

static bool compute(const struct vbs_network *network, int layer, const float *const *inputs,
                    float *y)
{
    enum vbs_op op = network->layers[layer].op;

    switch (op) {
    case VBS_OP_CONV:
        return conv(network, layer, inputs[0], y);
    case VBS_OP_FC:
        return fc(network, layer, inputs[0], y);
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
        return pool(network, layer, inputs[0], y);
    case VBS_OP_LRN:
        return lrn(network, layer, inputs[0], y);
    case VBS_OP_CONCAT:
        return concat(network, layer, inputs, y);
    case VBS_OP_ADD:
        return add(network, layer, inputs, y);
    case VBS_OP_SOFTMAX:
        return softmax(network, layer, inputs[0], y);
    default:
        return elementwise(network, layer, -1, op, inputs[0], y);
    }
}

float *reference_layer(const struct vbs_network *network, int layer, const float *const *inputs)
{
    const struct vbs_layer *l = &network->layers[layer];
    float *y = malloc((size_t)vbs_shape_elements(&l->shape) * sizeof *y);
    bool made = y && compute(network, layer, inputs, y);

    for (int i = 0; i < l->n_bundled && made; i++)
        made = elementwise(network, layer, i, l->bundled[i].op, y, y);
    if (made)
        return y;
    free(y);
    return NULL;
}
