#include "reference/backend/ops.h"

#include "reference/backend/ops_common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

float *subject_values(const struct subject *s, int fused, enum vbs_parameter what, int64_t n)
{
    float *values = malloc((size_t)n * sizeof *values);

    if (values &&
        vbs_parameter_values(NULL, s->network, s->layer, fused, what, 0, n, values) == VBS_OK)
        return values;
    free(values);
    return NULL;
}

void indices_of(const struct vbs_shape *shape, int64_t i, int64_t *index)
{
    for (int d = shape->n_dims - 1; d >= 0; d--) {
        index[d] = i % shape->dim[d];
        i /= shape->dim[d];
    }
}

int64_t number_of(const struct vbs_shape *shape, const int64_t *index)
{
    int64_t i = 0;

    for (int d = 0; d < shape->n_dims; d++)
        i = i * shape->dim[d] + index[d];
    return i;
}

/* A sample as [before, n, behind] of dimension axis. */
struct around {
    int64_t before, n, behind;
};

static struct around around(const struct vbs_shape *shape, int axis)
{
    struct around a = {1, shape->dim[axis], 1};

    for (int d = 0; d < shape->n_dims; d++) {
        a.before *= d < axis ? shape->dim[d] : 1;
        a.behind *= d > axis ? shape->dim[d] : 1;
    }
    return a;
}

/* Computes fc on the whole sample, or on its rows. */
static bool fc(const struct subject *s, const float *x, float *y)
{
    int64_t n_out = s->l->attributes.weighted.out_channels,
            n = vbs_weight_count(s->network, s->layer);
    int64_t n_in = n / n_out, rows = vbs_shape_elements(&s->l->shape) / n_out;
    float *weights = subject_values(s, -1, VBS_PARAMETER_WEIGHTS, n);
    float *bias = subject_values(s, -1, VBS_PARAMETER_BIAS, n_out);

    for (int64_t i = 0; weights && bias && i < rows * n_out; i++) {
        double sum = bias[i % n_out];

        for (int64_t j = 0; j < n_in; j++)
            sum += (double)weights[i % n_out * n_in + j] * x[i / n_out * n_in + j];
        y[i] = (float)sum;
    }
    free(weights);
    free(bias);
    return weights && bias;
}

/* Gives the address of matrix number i of the product's stack in a stack that may be broadcast. */
static const float *in_stack(const struct vbs_shape *out, const struct vbs_shape *shape, int64_t i,
                             const float *x)
{
    struct vbs_shape stack = *out, own = *shape;
    int64_t index[VBS_MAX_DIMS], at[VBS_MAX_DIMS] = {0};

    stack.n_dims -= 2;
    own.n_dims -= 2;
    indices_of(&stack, i, index);
    for (int d = 0; d < own.n_dims; d++)
        at[d] = own.dim[d] == 1 ? 0 : index[d + stack.n_dims - own.n_dims];
    return x + number_of(&own, at) * shape->dim[own.n_dims] * shape->dim[own.n_dims + 1];
}

static void multiply(const struct vbs_shape *a_shape, const float *a,
                     const struct vbs_shape *b_shape, const float *b, float *y)
{
    struct vbs_shape out = a_shape->n_dims > b_shape->n_dims ? *a_shape : *b_shape;
    int64_t rows = a_shape->dim[a_shape->n_dims - 2], columns = b_shape->dim[b_shape->n_dims - 1];
    int64_t inner = b_shape->dim[b_shape->n_dims - 2], stack = 1;

    for (int d = 0; d < out.n_dims - 2; d++) {
        int p = d - (out.n_dims - a_shape->n_dims), q = d - (out.n_dims - b_shape->n_dims);

        out.dim[d] = 1;
        if (p >= 0 && a_shape->dim[p] > 1)
            out.dim[d] = a_shape->dim[p];
        if (q >= 0 && b_shape->dim[q] > 1)
            out.dim[d] = b_shape->dim[q];
        stack *= out.dim[d];
    }
    for (int64_t i = 0; i < stack * rows * columns; i++) {
        int64_t r = i / columns % rows, c = i % columns;
        const float *p = in_stack(&out, a_shape, i / (rows * columns), a);
        const float *q = in_stack(&out, b_shape, i / (rows * columns), b);
        double sum = 0;

        for (int64_t k = 0; k < inner; k++)
            sum += (double)p[r * inner + k] * q[k * columns + c];
        y[i] = (float)sum;
    }
}

static bool matmul(const struct subject *s, const float *const *inputs, float *y)
{
    bool constant = s->l->operand.n_dims > 0, swapped = constant && s->l->attributes.binary.swapped;
    const struct vbs_shape *second = constant ? &s->l->operand : &s->l->views[1];
    float *values =
        constant ? subject_values(s, -1, VBS_PARAMETER_OPERAND, vbs_shape_elements(&s->l->operand))
                 : NULL;

    if (constant && !values)
        return false;
    if (swapped)
        multiply(second, values, &s->l->views[0], inputs[0], y);
    else
        multiply(&s->l->views[0], inputs[0], second, constant ? values : inputs[1], y);
    free(values);
    return true;
}

/* The row of the table whose number is the whole part of an element; zeros where there is none,
 * and no numbers where the element is none or infinite. */
static bool embed(const struct subject *s, const float *x, float *y)
{
    int64_t rows = s->l->operand.dim[0], width = s->l->operand.dim[1];
    float *table = subject_values(s, -1, VBS_PARAMETER_OPERAND, rows * width);

    if (!table)
        return false;
    for (int64_t i = 0; i < vbs_shape_elements(&s->l->shape); i++) {
        double row = trunc((double)x[i / width]);

        row += row < 0 ? (double)rows : 0;
        y[i] = row >= 0 && row < (double)rows ? table[(int64_t)row * width + i % width]
                                              : (float)(row - row);
    }
    free(table);
    return true;
}

/* What is no number is above all numbers. */
static bool is_above(float a, float b)
{
    return a > b || (isnan(a) && !isnan(b));
}

/* Of each line the elements in their order: each stands behind as many as precede it. */
static void topk(const struct subject *s, const float *x, float *y)
{
    const union vbs_attributes *a = &s->l->attributes;
    struct around v = around(&s->l->views[0], a->topk.axis);

    for (int64_t line = 0; line < v.before * v.behind; line++) {
        const float *from = x + line / v.behind * v.n * v.behind + line % v.behind;
        float *to = y + line / v.behind * a->topk.k * v.behind + line % v.behind;

        for (int64_t i = 0; i < v.n; i++) {
            int64_t before = 0;

            for (int64_t j = 0; j < v.n; j++) {
                float other = from[j * v.behind], own = from[i * v.behind];

                bool above = is_above(other, own), below = is_above(own, other);

                before += (a->topk.smallest ? below : above) || (!above && !below && j < i);
            }
            if (before < a->topk.k)
                to[before * v.behind] = a->topk.positions ? (float)i : from[i * v.behind];
        }
    }
}

static void pick(const struct subject *s, const float *const *inputs, float *y)
{
    const struct vbs_shape *data = &s->l->views[0];
    int axis = s->l->attributes.pick.axis;
    int64_t index[VBS_MAX_DIMS];

    for (int64_t i = 0; i < vbs_shape_elements(&s->l->shape); i++) {
        double place = trunc((double)inputs[1][i]);

        place += place < 0 ? (double)data->dim[axis] : 0;
        y[i] = (float)(place - place); /* there is no such element: 0, or no number */
        if (!(place >= 0 && place < (double)data->dim[axis]))
            continue;
        indices_of(&s->l->shape, i, index);
        index[axis] = (int64_t)place;
        y[i] = inputs[0][number_of(data, index)];
    }
}

/* Looks for the place of every element of the output by its indices. */
static void take(const struct subject *s, const float *const *inputs, float *y)
{
    const struct vbs_shape *data = &s->l->views[0], *places = &s->l->views[1];
    int common = s->l->attributes.take.common, rows = places->n_dims - 1;
    int n = (int)places->dim[rows];

    for (int64_t i = 0; i < vbs_shape_elements(&s->l->shape); i++) {
        int64_t out[VBS_MAX_DIMS], row[VBS_MAX_DIMS], index[VBS_MAX_DIMS];
        bool found = true;

        indices_of(&s->l->shape, i, out);
        for (int d = 0; d < rows; d++)
            row[d] = out[d];
        for (int d = 0; d < data->n_dims; d++) {
            double place;

            if (d < common || d >= common + n) {
                index[d] = d < common ? out[d] : out[rows + d - common - n];
                continue;
            }
            row[rows] = d - common;
            place = trunc((double)inputs[1][number_of(places, row)]);
            place += place < 0 ? (double)data->dim[d] : 0;
            found = found && place >= 0 && place < (double)data->dim[d];
            index[d] = found ? (int64_t)place : 0;
        }
        y[i] = found ? inputs[0][number_of(data, index)] : 0;
    }
}

static bool lrn(const struct subject *s, const float *x, float *y)
{
    const union vbs_attributes *a = &s->l->attributes;
    struct around v = around(&s->l->shape, 0);
    int64_t half = (a->lrn.size - 1) / 2;

    for (int64_t i = 0; i < v.n * v.behind; i++) {
        int64_t c = i / v.behind;
        double sum = 0;

        for (int64_t o = c - half; o < c - half + a->lrn.size; o++)
            if (o >= 0 && o < v.n)
                sum += pow(x[i + (o - c) * v.behind], 2);
        y[i] =
            (float)(x[i] / pow(a->lrn.k + a->lrn.alpha / (double)a->lrn.size * sum, a->lrn.beta));
    }
    return true;
}

static bool softmax(const struct subject *s, const float *x, float *y)
{
    struct around v = around(&s->l->shape, s->l->attributes.softmax.axis);

    for (int64_t p = 0; p < v.before * v.behind; p++) {
        int64_t first = p / v.behind * v.n * v.behind + p % v.behind;
        double sum = 0, most = -INFINITY;

        for (int64_t c = 0; c < v.n; c++)
            most = fmax(most, x[first + c * v.behind]);
        for (int64_t c = 0; c < v.n; c++)
            sum += exp(x[first + c * v.behind] - most);
        for (int64_t c = 0; c < v.n; c++) {
            double value = x[first + c * v.behind] - most;

            y[first + c * v.behind] =
                (float)(s->l->op == VBS_OP_SOFTMAX ? exp(value) / sum : value - log(sum));
        }
    }
    return true;
}

static bool concat(const struct subject *s, const float *const *inputs, float *y)
{
    struct around v = around(&s->l->shape, s->l->attributes.concat.axis);
    int64_t first = 0;

    for (int i = 0; i < s->l->n_inputs; i++) {
        int64_t n = s->l->views[i].dim[s->l->attributes.concat.axis];

        for (int64_t b = 0; b < v.before; b++)
            memcpy(y + (b * v.n + first) * v.behind, inputs[i] + b * n * v.behind,
                   (size_t)(n * v.behind) * sizeof *y);
        first += n;
    }
    return true;
}

/* Gives the variance of which BatchNorm and its kin take the root. */
static double stable(const union vbs_attributes *a, double variance)
{
    return variance + (a->norm.epsilon != 0 ? a->norm.epsilon : VBS_BATCHNORM_EPSILON);
}

static bool affine(const struct subject *s, int fused, const float *x, float *y)
{
    struct around v = around(&s->l->shape, 0);
    float *gamma = subject_values(s, fused, VBS_PARAMETER_GAMMA, v.n);
    float *beta = subject_values(s, fused, VBS_PARAMETER_BETA, v.n);
    float *mean = subject_values(s, fused, VBS_PARAMETER_MEAN, v.n);
    float *variance = subject_values(s, fused, VBS_PARAMETER_VARIANCE, v.n);
    bool norm = (fused < 0 ? s->l->op : s->l->fused[fused].op) == VBS_OP_BATCHNORM;
    const union vbs_attributes *a = fused < 0 ? &s->l->attributes : &s->l->fused[fused].attributes;
    bool made = gamma && beta && mean && variance;

    for (int64_t i = 0; made && i < v.n * v.behind; i++) {
        int64_t c = i / v.behind;
        double value = x[i];

        if (norm)
            value = (value - mean[c]) / sqrt(stable(a, variance[c]));
        y[i] = (float)(gamma[c] * value + beta[c]);
    }
    free(gamma);
    free(beta);
    free(mean);
    free(variance);
    return made;
}

/* Normalises rows of n values; value i of row r has parameter number r (by_row) or i. */
static bool normalise(const struct subject *s, int64_t n, bool by_row, const float *x, float *y)
{
    int64_t rows = vbs_shape_elements(&s->l->shape) / n;
    float *gamma = subject_values(s, -1, VBS_PARAMETER_GAMMA, by_row ? rows : n);
    float *beta = subject_values(s, -1, VBS_PARAMETER_BETA, by_row ? rows : n);

    for (int64_t r = 0; gamma && beta && r < rows; r++) {
        double mean = 0, variance = 0;

        for (int64_t i = 0; i < n; i++)
            mean += x[r * n + i] / (double)n;
        for (int64_t i = 0; i < n; i++)
            variance += pow(x[r * n + i] - mean, 2) / (double)n;
        for (int64_t i = 0; i < n; i++) {
            int64_t p = by_row ? r : i;

            y[r * n + i] = (float)(gamma[p] * (x[r * n + i] - mean) /
                                       sqrt(stable(&s->l->attributes, variance)) +
                                   beta[p]);
        }
    }
    free(gamma);
    free(beta);
    return gamma && beta;
}

/* Applies an operator in place; fused < 0: the layer's own. */
static bool elementwise(const struct subject *s, int fused, const float *x, float *y)
{
    enum vbs_op op = fused < 0 ? s->l->op : s->l->fused[fused].op;
    const union vbs_attributes *a = fused < 0 ? &s->l->attributes : &s->l->fused[fused].attributes;

    if (op == VBS_OP_BATCHNORM || op == VBS_OP_SCALE)
        return affine(s, fused, x, y);
    for (int64_t i = 0; i < vbs_shape_elements(&s->l->shape); i++)
        y[i] = (float)reference_unary(op, a, x[i]);
    return true;
}

static bool compute(const struct subject *s, const float *const *inputs, float *y)
{
    const struct vbs_layer *l = s->l;
    struct around v = around(&l->shape, l->op == VBS_OP_LAYER_NORM ? l->attributes.norm.axis : 0);

    switch (l->op) {
    case VBS_OP_CONV:
        return reference_conv(s, inputs[0], y);
    case VBS_OP_CONV_TRANSPOSE:
        return reference_deconv(s, inputs[0], y);
    case VBS_OP_FC:
        return fc(s, inputs[0], y);
    case VBS_OP_MATMUL:
        return matmul(s, inputs, y);
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
        return reference_pool(s, inputs[0], y);
    case VBS_OP_LRN:
        return lrn(s, inputs[0], y);
    case VBS_OP_CONCAT:
        return concat(s, inputs, y);
    case VBS_OP_SOFTMAX:
    case VBS_OP_LOGSOFTMAX:
        return softmax(s, inputs[0], y);
    case VBS_OP_INSTANCE_NORM:
        return normalise(s, v.behind, true, inputs[0], y);
    case VBS_OP_LAYER_NORM:
        return normalise(s, v.n * v.behind, false, inputs[0], y);
    case VBS_OP_RESIZE:
        return reference_resize(s, inputs[0], y);
    case VBS_OP_EMBED:
        return embed(s, inputs[0], y);
    case VBS_OP_TOPK:
        topk(s, inputs[0], y);
        return true;
    case VBS_OP_PICK:
        pick(s, inputs, y);
        return true;
    case VBS_OP_TAKE:
        take(s, inputs, y);
        return true;
    case VBS_OP_GRID_SAMPLE:
        reference_grid_sample(s, inputs, y);
        return true;
    case VBS_OP_DEFORM_CONV:
        return reference_deform_conv(s, inputs, y);
    case VBS_OP_DFT:
        reference_dft(s, inputs[0], y);
        return true;
    case VBS_OP_RNN:
    case VBS_OP_GRU:
    case VBS_OP_LSTM:
        return reference_recurrent(s, inputs, y);
    default:
        break;
    }
    switch (vbs_op_class(l->op)) {
    case VBS_CLASS_BINARY:
        return reference_binary(s, inputs, y);
    case VBS_CLASS_REDUCE:
        return reference_reduce(s, inputs[0], y);
    case VBS_CLASS_MOVE:
        return reference_move(s, inputs[0], y);
    default:
        return elementwise(s, -1, inputs[0], y);
    }
}

float reference_stored(const struct vbs_encoding *e, float x)
{
    double low = e->storage == VBS_INT8 ? -128 : 0, high = e->storage == VBS_INT8 ? 127 : 255;
    int exponent;
    double q;

    switch (e->storage) {
    case VBS_UINT8:
    case VBS_INT8:
        q = isnan(x) ? low : rint((double)(x / e->scale)) + e->zero;
        return (float)(fmin(fmax(q, low), high) - e->zero) * e->scale;
    case VBS_BFLOAT16: /* 8 digits */
        q = frexp((double)x, &exponent);
        return isfinite(x) ? (float)ldexp(rint(ldexp(q, 8)), exponent - 8) : x;
    default:
        return x;
    }
}

float *reference_layer(const struct vbs_network *network, int layer, const float *const *inputs)
{
    struct subject s = {network, layer, &network->layers[layer]};
    float *y = malloc((size_t)vbs_shape_elements(&s.l->shape) * sizeof *y);
    bool made = y && compute(&s, inputs, y);

    for (int i = 0; i < s.l->n_fused && made; i++)
        made = elementwise(&s, i, y, y);
    for (int64_t i = 0; made && i < vbs_shape_elements(&s.l->shape); i++)
        y[i] = reference_stored(&s.l->encoding, y[i]);
    if (made)
        return y;
    free(y);
    return NULL;
}
