/* The reference of unary operators, and of those that combine and reduce values. Where a value is
 * no number, so is what is made of it; only comparisons are false. */
#include "reference/backend/ops_common.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* The larger and the smaller one; fmax and fmin would leave out what is no number. */
static double larger(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

static double smaller(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : fmin(a, b);
}

static double clip(double x, double low, double high)
{
    return smaller(larger(x, low), high);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double softplus(double x)
{
    return log1p(exp(-fabs(x))) + fmax(x, 0);
}

static double elu(double x, double alpha)
{
    return x > 0 ? x : alpha * expm1(x);
}

static double gelu(double x, bool by_tanh)
{
    double root = sqrt(2 / acos(-1));

    return by_tanh ? 0.5 * x * (1 + tanh(root * (x + 0.044715 * x * x * x)))
                   : 0.5 * x * (1 + erf(x / sqrt(2)));
}

static double activation(enum vbs_op op, const union vbs_attributes *a, double x)
{
    switch (op) {
    case VBS_OP_RELU:
        return larger(x, 0);
    case VBS_OP_LEAKY_RELU:
        return x < 0 ? a->leaky_relu.slope * x : x;
    case VBS_OP_ELU:
        return elu(x, a->elu.alpha);
    case VBS_OP_SELU:
        return a->selu.gamma * elu(x, a->selu.alpha);
    case VBS_OP_CELU:
        return larger(0, x) + smaller(0, a->elu.alpha * expm1(x / a->elu.alpha));
    case VBS_OP_HARD_SIGMOID:
        return clip(a->hard_sigmoid.slope * x + a->hard_sigmoid.offset, 0, 1);
    case VBS_OP_HARD_SWISH:
        return x * clip(x / 6 + 0.5, 0, 1);
    case VBS_OP_SWISH:
        return x * sigmoid(x);
    case VBS_OP_GELU:
        return gelu(x, a->gelu.by_tanh);
    case VBS_OP_MISH:
        return x * tanh(softplus(x));
    case VBS_OP_SOFTPLUS:
        return softplus(x);
    case VBS_OP_SOFTSIGN:
        return x / (1 + fabs(x));
    case VBS_OP_THRESHOLDED_RELU:
        return isnan(x) || x > a->thresholded_relu.threshold ? x : 0;
    case VBS_OP_SHRINK:
        return x < -a->shrink.lambda  ? x + a->shrink.bias
               : x > a->shrink.lambda ? x - a->shrink.bias
               : isnan(x)             ? x
                                      : 0;
    case VBS_OP_CLIP:
        return clip(x, a->clip.low <= -FLT_MAX ? -INFINITY : a->clip.low,
                    a->clip.high >= FLT_MAX ? INFINITY : a->clip.high);
    case VBS_OP_LINEAR:
        return a->linear.factor * x + a->linear.shift;
    default:
        return x;
    }
}

double reference_unary(enum vbs_op op, const union vbs_attributes *a, double x)
{
    static const struct {
        enum vbs_op op;
        double (*function)(double);
    } functions[] = {
        {VBS_OP_SIGMOID, sigmoid}, {VBS_OP_TANH, tanh},   {VBS_OP_EXP, exp},
        {VBS_OP_LOG, log},         {VBS_OP_SQRT, sqrt},   {VBS_OP_ABS, fabs},
        {VBS_OP_FLOOR, floor},     {VBS_OP_CEIL, ceil},   {VBS_OP_ROUND, rint},
        {VBS_OP_ERF, erf},         {VBS_OP_SIN, sin},     {VBS_OP_COS, cos},
        {VBS_OP_TAN, tan},         {VBS_OP_ASIN, asin},   {VBS_OP_ACOS, acos},
        {VBS_OP_ATAN, atan},       {VBS_OP_SINH, sinh},   {VBS_OP_COSH, cosh},
        {VBS_OP_ASINH, asinh},     {VBS_OP_ACOSH, acosh}, {VBS_OP_ATANH, atanh},
    };

    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (functions[i].op == op)
            return functions[i].function(x);
    if (op == VBS_OP_RECIPROCAL)
        return 1 / x;
    if (op == VBS_OP_NEG)
        return -x;
    if (op == VBS_OP_SIGN)
        return isnan(x) ? x : (x > 0) - (x < 0);
    return activation(op, a, x);
}

static double combine(enum vbs_op op, double a, double b)
{
    switch (op) {
    case VBS_OP_ADD:
        return a + b;
    case VBS_OP_SUB:
        return a - b;
    case VBS_OP_MUL:
        return a * b;
    case VBS_OP_DIV:
        return a / b;
    case VBS_OP_POW:
        return pow(a, b);
    case VBS_OP_MAX:
        return larger(a, b);
    case VBS_OP_MIN:
        return smaller(a, b);
    case VBS_OP_EQUAL:
        return a == b;
    case VBS_OP_LESS:
        return a < b;
    case VBS_OP_LESS_EQUAL:
        return a <= b;
    case VBS_OP_KEEP:
        return b != 0 ? a : 0;
    case VBS_OP_REMAINDER:
        return fmod(a, b);
    default: /* prelu */
        return a < 0 ? a * b : a;
    }
}

/* Gives the value of an operand that is broadcast to the output's position index. */
static double broadcast(const struct vbs_shape *out, const int64_t *index,
                        const struct vbs_shape *shape, const float *x)
{
    int64_t own[VBS_MAX_DIMS];

    for (int d = 0; d < shape->n_dims; d++)
        own[d] = shape->dim[d] == 1 ? 0 : index[d + out->n_dims - shape->n_dims];
    return x[number_of(shape, own)];
}

bool reference_binary(const struct subject *s, const float *const *inputs, float *y)
{
    const struct vbs_layer *l = s->l;
    bool constant = l->operand.n_dims > 0, swapped = constant && l->attributes.binary.swapped;
    const struct vbs_shape *second = constant ? &l->operand : &l->views[1];
    float *values =
        constant ? subject_values(s, -1, VBS_PARAMETER_OPERAND, vbs_shape_elements(second)) : NULL;
    int64_t index[VBS_MAX_DIMS];

    if (constant && !values)
        return false;
    for (int64_t i = 0; i < vbs_shape_elements(&l->shape); i++) {
        double a, b;

        indices_of(&l->shape, i, index);
        a = broadcast(&l->shape, index, &l->views[0], inputs[0]);
        b = broadcast(&l->shape, index, second, constant ? values : inputs[1]);
        y[i] = (float)(swapped ? combine(l->op, b, a) : combine(l->op, a, b));
    }
    free(values);
    return true;
}

/* The three functions of a reduction: start, take a value in, and end. most: the largest value. */
static double fold_start(enum vbs_op op)
{
    return op == VBS_OP_REDUCE_MAX    ? -INFINITY
           : op == VBS_OP_REDUCE_MIN  ? INFINITY
           : op == VBS_OP_REDUCE_PROD ? 1
                                      : 0;
}

static double fold(enum vbs_op op, double sum, double x, double most)
{
    switch (op) {
    case VBS_OP_REDUCE_MAX:
        return larger(sum, x);
    case VBS_OP_REDUCE_MIN:
        return smaller(sum, x);
    case VBS_OP_REDUCE_PROD:
        return sum * x;
    case VBS_OP_REDUCE_L1:
        return sum + fabs(x);
    case VBS_OP_REDUCE_L2:
    case VBS_OP_REDUCE_SUM_SQUARE:
        return sum + x * x;
    case VBS_OP_REDUCE_LOG_SUM_EXP:
        return sum + exp(x - (isfinite(most) ? most : 0));
    default:
        return sum + x;
    }
}

static double fold_end(enum vbs_op op, double sum, double n, double most)
{
    switch (op) {
    case VBS_OP_REDUCE_MEAN:
        return sum / n;
    case VBS_OP_REDUCE_L2:
        return sqrt(sum);
    case VBS_OP_REDUCE_LOG_SUM:
        return log(sum);
    case VBS_OP_REDUCE_LOG_SUM_EXP:
        return log(sum) + (isfinite(most) ? most : 0);
    default:
        return sum;
    }
}

/* Gives the output to which an input's position belongs; reduced dimensions are 1. */
static int64_t folded(const struct vbs_layer *l, int64_t i)
{
    struct vbs_shape kept = l->views[0];
    int64_t index[VBS_MAX_DIMS];

    indices_of(&l->views[0], i, index);
    for (int d = 0; d < kept.n_dims; d++)
        if (l->attributes.reduce.axes >> d & 1) {
            index[d] = 0;
            kept.dim[d] = 1;
        }
    return number_of(&kept, index);
}

bool reference_reduce(const struct subject *s, const float *x, float *y)
{
    enum vbs_op op = s->l->op;
    int64_t n = vbs_shape_elements(&s->l->shape), n_in = vbs_shape_elements(&s->l->views[0]);
    double *sums = malloc((size_t)n * sizeof *sums), *most = malloc((size_t)n * sizeof *most);

    for (int64_t i = 0; sums && most && i < n; i++) {
        sums[i] = fold_start(op);
        most[i] = -INFINITY;
    }
    for (int64_t i = 0; sums && most && i < n_in; i++)
        most[folded(s->l, i)] = fmax(most[folded(s->l, i)], x[i]);
    for (int64_t i = 0; sums && most && i < n_in; i++) {
        int64_t to = folded(s->l, i);

        sums[to] = fold(op, sums[to], x[i], most[to]);
    }
    for (int64_t i = 0; sums && most && i < n; i++)
        y[i] = (float)fold_end(op, sums[i], (double)(n_in / n), most[i]);
    free(sums);
    free(most);
    return sums && most;
}

/* A number of the input of a Fourier transform, [..., 1] or [..., 2], along whose axis `at` is. */
struct complex_number {
    double re, im;
};

/* Returns element j along the axis. Behind the end there are zeros. Of half of the transform of
 * real numbers, the other half is the first one mirrored, with the imaginary parts negated. */
static struct complex_number element(const struct vbs_layer *l, const float *x, const int64_t *at,
                                     int64_t j)
{
    const union vbs_attributes *a = &l->attributes;
    const struct vbs_shape *in = &l->views[0];
    int last = in->n_dims - 1;
    bool half = a->dft.inverse && a->dft.onesided, mirrored = half && 2 * j > a->dft.n;
    struct complex_number value = {0, 0};
    int64_t from[VBS_MAX_DIMS];

    for (int d = 0; d < last; d++)
        from[d] = at[d];
    from[a->dft.axis] = mirrored ? a->dft.n - j : j;
    from[last] = 0;
    if (from[a->dft.axis] >= in->dim[a->dft.axis])
        return value;
    value.re = x[number_of(in, from)];
    from[last] = 1;
    if (in->dim[last] == 2 && !(half && (j == 0 || 2 * j == a->dft.n)))
        value.im = (mirrored ? -1.0 : 1.0) * x[number_of(in, from)];
    return value;
}

/* Adds up the definition of the discrete Fourier transform for each element. */
void reference_dft(const struct subject *s, const float *x, float *y)
{
    const union vbs_attributes *a = &s->l->attributes;
    const struct vbs_shape *out = &s->l->shape;
    int64_t n = a->dft.n, at[VBS_MAX_DIMS], parts = out->dim[out->n_dims - 1];
    double scale = a->dft.inverse ? 1 / (double)n : 1;

    for (int64_t i = 0; i < vbs_shape_elements(out); i += parts) {
        struct complex_number sum = {0, 0};

        indices_of(out, i, at);
        for (int64_t j = 0; j < n; j++) {
            struct complex_number value = element(s->l, x, at, j);
            double angle = (a->dft.inverse ? 2 : -2) * acos(-1.0) *
                           (double)(at[a->dft.axis] * j % n) / (double)n;

            sum.re += value.re * cos(angle) - value.im * sin(angle);
            sum.im += value.re * sin(angle) + value.im * cos(angle);
        }
        y[i] = (float)(scale * sum.re);
        if (parts == 2)
            y[i + 1] = (float)(scale * sum.im);
    }
}
