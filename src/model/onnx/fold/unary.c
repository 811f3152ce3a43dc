/* Constants that are computed value by value from one input. */
#include "model/onnx/fold/fold.h"

#include "base/fail.h"

#include <float.h>
#include <math.h>

#define FLOAT ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT
#define BOOL  ONNX__TENSOR_PROTO__DATA_TYPE__BOOL

typedef struct vbs_onnx_number number;
typedef struct vbs_onnx_constant constant;

static long double softplus(long double x)
{
    return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x));
}

static long double elu(long double x, long double alpha)
{
    return x > 0 ? x : alpha * expm1l(x);
}

static long double hard_sigmoid(long double x, long double slope, long double offset)
{
    long double y = slope * x + offset;

    return y < 0 ? 0 : y > 1 ? 1 : y;
}

static long double gelu(long double x, bool by_tanh)
{
    const long double two_over_pi = 0.636619772367581343076L;

    if (by_tanh)
        return x / 2 * (1 + tanhl(sqrtl(two_over_pi) * (x + 0.044715L * x * x * x)));
    return x / 2 * (1 + erfl(x * sqrtl(0.5L)));
}

/* The activations. What is no number stays so: comparisons with it are false. */
static long double activation(int op, const union vbs_attributes *a, long double x)
{
    switch (op) {
    case VBS_OP_RELU:
        return x <= 0 ? 0 : x;
    case VBS_OP_LEAKY_RELU:
        return x < 0 ? a->leaky_relu.slope * x : x;
    case VBS_OP_THRESHOLDED_RELU:
        return x <= a->thresholded_relu.threshold ? 0 : x;
    case VBS_OP_ELU:
        return elu(x, a->elu.alpha);
    case VBS_OP_CELU:
        return a->elu.alpha * elu(x / a->elu.alpha, 1);
    case VBS_OP_SELU:
        return a->selu.gamma * elu(x, a->selu.alpha);
    case VBS_OP_SIGMOID:
        return 1 / (1 + expl(-x));
    case VBS_OP_HARD_SIGMOID:
        return hard_sigmoid(x, a->hard_sigmoid.slope, a->hard_sigmoid.offset);
    case VBS_OP_HARD_SWISH:
        return x * hard_sigmoid(x, 1 / 6.0L, 0.5L);
    case VBS_OP_GELU:
        return gelu(x, a->gelu.by_tanh);
    case VBS_OP_MISH:
        return x * tanhl(softplus(x));
    case VBS_OP_SOFTPLUS:
        return softplus(x);
    case VBS_OP_SOFTSIGN:
        return x / (1 + fabsl(x));
    case VBS_OP_SHRINK:
        return x < -a->shrink.lambda   ? x + a->shrink.bias
               : x <= a->shrink.lambda ? 0
                                       : x - a->shrink.bias;
    default:
        return NAN;
    }
}

static long double unary(int op, const union vbs_attributes *a, long double x)
{
    switch (op) {
    case VBS_OP_NEG:
        return -x;
    case VBS_OP_ABS:
        return fabsl(x);
    case VBS_OP_SQRT:
        return sqrtl(x);
    case VBS_OP_EXP:
        return expl(x);
    case VBS_OP_LOG:
        return logl(x);
    case VBS_OP_ERF:
        return erfl(x);
    case VBS_OP_FLOOR:
        return floorl(x);
    case VBS_OP_CEIL:
        return ceill(x);
    case VBS_OP_ROUND:
        return rintl(x);
    case VBS_OP_RECIPROCAL:
        return 1 / x;
    case VBS_OP_SIGN:
        return isnan(x) ? x : (x > 0) - (x < 0);
    case VBS_OP_SIN:
        return sinl(x);
    case VBS_OP_COS:
        return cosl(x);
    case VBS_OP_TAN:
        return tanl(x);
    case VBS_OP_ASIN:
        return asinl(x);
    case VBS_OP_ACOS:
        return acosl(x);
    case VBS_OP_ATAN:
        return atanl(x);
    case VBS_OP_SINH:
        return sinhl(x);
    case VBS_OP_COSH:
        return coshl(x);
    case VBS_OP_TANH:
        return tanhl(x);
    case VBS_OP_ASINH:
        return asinhl(x);
    case VBS_OP_ACOSH:
        return acoshl(x);
    case VBS_OP_ATANH:
        return atanhl(x);
    case VBS_FOLD_NOT:
        return x == 0;
    case VBS_FOLD_IS_NAN:
        return isnan(x);
    default:
        return activation(op, a, x);
    }
}

/* Gives -x or ~x of a whole number; they keep its lowest bits. Gives false for other operators. */
static bool unary_bits(int op, uint64_t x, uint64_t *y)
{
    *y = op == VBS_OP_NEG ? 0 - x : ~x;
    return op == VBS_OP_NEG || op == VBS_FOLD_BIT_NOT;
}

/* A function of one value; how: what it is computed by. */
typedef long double value_function(const void *how, long double x);

/* Computes a constant of this type, of many values, as floats. */
static enum vbs_status map_floats(struct vbs_onnx_import *im, constant *input, int type,
                                  value_function *function, const void *how)
{
    constant *made;
    float *y;

    VBS_TRY(vbs_onnx_floats_new(im, input, &input->shape, &made, &y));
    VBS_TRY(vbs_onnx_floats_read(im, input, y));
    made->type = type;
    for (int64_t i = 0; i < vbs_shape_elements(&input->shape); i++)
        VBS_TRY(vbs_onnx_round_many(im, type, function(how, y[i]), &y[i]));
    vbs_onnx_give_constant(im, 0, made);
    return VBS_OK;
}

/* Computes a constant of this type, value by value, and gives it as output 0. batch: all depend on
 * the number of samples. */
static enum vbs_status map(struct vbs_onnx_import *im, constant *input, int type,
                           value_function *function, const void *how, bool batch)
{
    int64_t count = vbs_shape_elements(&input->shape);
    const number *x;
    number *y;

    if (vbs_onnx_is_many(im, input->type, count))
        return batch ? vbs_onnx_counts(im) : map_floats(im, input, type, function, how);
    VBS_TRY(vbs_onnx_numbers(im, input, &x));
    VBS_TRY(vbs_onnx_numbers_new(im, count, &y));
    for (int64_t i = 0; i < count; i++)
        y[i] = (number){function(how, x[i].value), .batch = x[i].batch || batch};
    return vbs_onnx_give_numbers(im, type, &input->shape, y);
}

/* An operator of one value, the type of its result, and its attributes. */
struct unary_step {
    int op, type;
    const union vbs_attributes *attributes;
};

static long double computed(const void *how, long double x)
{
    const struct unary_step *step = how;
    uint64_t bits;

    if (vbs_onnx_is_whole(step->type) && unary_bits(step->op, vbs_onnx_bits(x), &bits))
        return vbs_onnx_wrapped(step->type, bits);
    return vbs_onnx_rounded(step->type, unary(step->op, step->attributes, x));
}

VBS_ONNX_HANDLER(fold_unary)
{
    union vbs_attributes attributes = {0};
    struct unary_step step = {.op = operator->op, .attributes = &attributes};
    constant *input;

    VBS_TRY(vbs_onnx_constant_in(im, 0, &input));
    if (step.op < VBS_N_OPS)
        VBS_TRY(vbs_onnx_read_unary(im, (enum vbs_op)step.op, &attributes));
    vbs_onnx_same_copies(im, 0);
    step.type = vbs_onnx_is_truth(step.op) ? BOOL : input->type;
    return map(im, input, step.type, computed, &step, false);
}

/* The infinities that the attributes of IsInf ask for. */
struct infinities {
    bool negative, positive;
};

static long double is_infinite(const void *how, long double x)
{
    const struct infinities *asked = how;

    return isinf(x) && (x > 0 ? asked->positive : asked->negative);
}

VBS_ONNX_HANDLER(fold_is_inf)
{
    const struct infinities asked = {.negative = vbs_onnx_int(im, "detect_negative", 1) != 0,
                                     .positive = vbs_onnx_int(im, "detect_positive", 1) != 0};
    constant *input;

    (void)operator;
    VBS_TRY(vbs_onnx_constant_in(im, 0, &input));
    vbs_onnx_same_copies(im, 0);
    return map(im, input, BOOL, is_infinite, &asked, false);
}

/* Gives a bound of Clip: input index, from version 11 on, or an attribute; missing where there is
 * none. */
static enum vbs_status bound_in(struct vbs_onnx_import *im, const char *name, int index,
                                long double missing, number *bound)
{
    constant *input;
    const number *given;

    *bound = (number){missing, .batch = false};
    if (im->graph->opset < 11 && vbs_onnx_has(im, name))
        bound->value = vbs_onnx_real(im, name, 0);
    if (im->graph->opset < 11 || !vbs_onnx_in(im, index))
        return VBS_OK;
    VBS_TRY(vbs_onnx_numbers_in(im, index, &input, &given));
    if (vbs_shape_elements(&input->shape) != 1)
        return vbs_fail(im->ctx, VBS_FORMAT, "'%s' is to be one number", name);
    *bound = *given;
    return VBS_OK;
}

/* The bounds of a Clip, and the type of its values. */
struct bounds {
    number low, high;
    int type;
};

static long double clipped(const void *how, long double x)
{
    const struct bounds *bounds = how;
    long double value = vbs_onnx_combined(VBS_OP_MAX, bounds->type, x, bounds->low.value);

    value = vbs_onnx_combined(VBS_OP_MIN, bounds->type, value, bounds->high.value);
    return vbs_onnx_rounded(bounds->type, value);
}

VBS_ONNX_HANDLER(fold_clip)
{
    struct bounds bounds;
    constant *input;

    (void)operator;
    VBS_TRY(vbs_onnx_constant_in(im, 0, &input));
    vbs_onnx_same_copies(im, 0);
    VBS_TRY(bound_in(im, "min", 1, -INFINITY, &bounds.low));
    VBS_TRY(bound_in(im, "max", 2, INFINITY, &bounds.high));
    bounds.type = input->type;
    if (bounds.low.value <= -FLT_MAX) /* no bound, as in layers */
        bounds.low.value = -INFINITY;
    if (bounds.high.value >= FLT_MAX)
        bounds.high.value = INFINITY;
    return map(im, input, input->type, clipped, &bounds, bounds.low.batch || bounds.high.batch);
}

/* Returns whether a type has all numbers of another one. */
static bool has_all_of(int type, int other)
{
    static const long double ENDS[] = {-0x1p63L, 0x1p64L};

    if (!vbs_onnx_is_whole(type))
        return true; /* values are read as floats in any case */
    for (int i = 0; i < 2; i++) {
        long double end = vbs_onnx_is_whole(other) ? vbs_onnx_rounded(other, ENDS[i]) : INFINITY;

        if (vbs_onnx_rounded(type, end) != end)
            return false;
    }
    return true;
}

/* The types of a Cast. */
struct types {
    int from, to;
};

/* Whole numbers lose the bits that the other type has not; floats become the nearest number of it.
 */
static long double cast(const void *how, long double x)
{
    const struct types *types = how;

    return vbs_onnx_is_whole(types->to) && vbs_onnx_is_whole(types->from)
               ? vbs_onnx_wrapped(types->to, vbs_onnx_bits(x))
               : vbs_onnx_rounded(types->to, x);
}

VBS_ONNX_HANDLER(fold_cast)
{
    struct types types;
    constant *input, *made;
    const number *x;
    int64_t count;
    number *y;

    VBS_TRY(vbs_onnx_constant_in(im, 0, &input));
    im->copies = input->copies; /* of a CastLike, input 1 has a type only */
    VBS_TRY(vbs_onnx_cast_type(im, operator->op == 1, &types.to));
    types.from = input->type;
    count = vbs_shape_elements(&input->shape);
    if (vbs_onnx_feeds(im, VBS_OP_KEEP)) { /* which takes floats */
        vbs_onnx_give_constant(im, 0, input);
        return VBS_OK;
    }
    if (has_all_of(types.to, types.from) && !input->computed) {
        made = vbs_arena_alloc(im->arena, 1, sizeof *made);
        if (!made)
            return vbs_no_memory(im->ctx);
        *made = *input;
        made->type = types.to;
        vbs_onnx_give_constant(im, 0, made);
        return VBS_OK;
    }
    if (vbs_onnx_is_many(im, types.from, count) && vbs_onnx_is_many(im, types.to, count))
        return map_floats(im, input, types.to, cast, &types);
    VBS_TRY(vbs_onnx_numbers(im, input, &x));
    VBS_TRY(vbs_onnx_numbers_new(im, count, &y));
    for (int64_t i = 0; i < count; i++)
        y[i] = (number){cast(&types, x[i].value), x[i].batch,
                        vbs_onnx_is_wide(types.to) ? x[i].own : 0};
    return vbs_onnx_give_numbers(im, types.to, &input->shape, y);
}
