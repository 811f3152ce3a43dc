/* Truth values on data, which are the floats 1 and 0: comparisons, logic, and what is chosen by
 * them. */
#include "base/fail.h"
#include "model/onnx/operators/operators.h"

#include <math.h>

#define FLOAT ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT

/* Gives the two inputs of a node. */
static enum vbs_status both(struct vbs_onnx_import *im, struct vbs_onnx_state *a,
                            struct vbs_onnx_state *b)
{
    const struct vbs_onnx_state *first = vbs_onnx_in(im, 0), *second = vbs_onnx_in(im, 1);

    if (!first || !second)
        return vbs_fail(im->ctx, VBS_FORMAT, "input %d is missing", first ? 1 : 0);
    *a = *first;
    *b = *second;
    if (a->tensor && b->constant)
        return vbs_onnx_old_axis(im, vbs_onnx_rank(im, a), &b->constant);
    return VBS_OK;
}

/* ---- comparisons, logic, remainders ---- */

VBS_ONNX_HANDLER(compare)
{
    bool turned = operator->op == VBS_FOLD_GREATER || operator->op == VBS_FOLD_GREATER_EQUAL;
    enum vbs_op op = operator->op == VBS_FOLD_EQUAL ? VBS_OP_EQUAL :
                     operator->op == VBS_FOLD_LESS || operator->op == VBS_FOLD_GREATER
                         ? VBS_OP_LESS
                         : VBS_OP_LESS_EQUAL;
    struct vbs_onnx_state a, b, result;

    VBS_TRY(both(im, &a, &b));
    VBS_TRY(vbs_onnx_combine(im, op, turned ? &b : &a, turned ? &a : &b, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* And is the product of truth values, Or the larger one, Xor the distance. */
VBS_ONNX_HANDLER(logic)
{
    enum vbs_op op = operator->op == VBS_FOLD_AND ? VBS_OP_MUL :
                     operator->op == VBS_FOLD_OR  ? VBS_OP_MAX
                                                  : VBS_OP_SUB;
    struct vbs_onnx_state a, b, result;

    VBS_TRY(both(im, &a, &b));
    VBS_TRY(vbs_onnx_combine(im, op, &a, &b, &result));
    if (op == VBS_OP_SUB)
        VBS_TRY(vbs_onnx_apply(im, VBS_OP_ABS, NULL, result.tensor, NULL, &result.tensor));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* Gives what is true where x is not, and the other way round. */
static enum vbs_status negate(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                              struct vbs_onnx_state *result)
{
    struct vbs_onnx_state made;

    VBS_TRY(vbs_onnx_linear(im, x, -1, 1, &made));
    *result = *x;
    result->tensor = made.tensor;
    return VBS_OK;
}

VBS_ONNX_HANDLER(not )
{
    const struct vbs_onnx_state *x;
    struct vbs_onnx_state result;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(negate(im, x, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* A number is at most infinity. */
VBS_ONNX_HANDLER(is_nan)
{
    const struct vbs_onnx_state *x;
    struct vbs_onnx_state number, result;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(vbs_onnx_with_one(im, VBS_OP_LESS_EQUAL, x, INFINITY, &number));
    VBS_TRY(negate(im, &number, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

VBS_ONNX_HANDLER(is_inf)
{
    bool below = vbs_onnx_int(im, "detect_negative", 1) != 0;
    bool above = vbs_onnx_int(im, "detect_positive", 1) != 0;
    const struct vbs_onnx_state *x;
    struct vbs_onnx_state size, result;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    size = *x;
    if (below == above)
        VBS_TRY(vbs_onnx_apply(im, VBS_OP_ABS, NULL, x->tensor, NULL, &size.tensor));
    if (!below && !above) /* nothing is less than 0 in size */
        VBS_TRY(vbs_onnx_with_one(im, VBS_OP_LESS, &size, -INFINITY, &result));
    else
        VBS_TRY(vbs_onnx_with_one(im, VBS_OP_EQUAL, &size, above ? INFINITY : -INFINITY, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* ---- whole numbers ---- */

/* Makes what is true where x is not 0. */
static enum vbs_status cast_truth(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                  struct vbs_onnx_state *result)
{
    struct vbs_onnx_state made;

    VBS_TRY(vbs_onnx_with_one(im, VBS_OP_EQUAL, x, 0, &made));
    return negate(im, &made, result);
}

/* Of a number of another type, what is behind the point is cut off, and a type of few bits has a
 * nearest end for what is beyond it; of a whole number its lowest bits stay. */
enum vbs_status vbs_onnx_cast_whole(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                    int to)
{
    union vbs_attributes ends = {.clip = {0, 0}};
    struct vbs_onnx_state result = *x;
    int64_t least, most, own_least, own_most;

    vbs_onnx_range(to, &least, &most);
    vbs_onnx_range(x->type, &own_least, &own_most);
    if (to == ONNX__TENSOR_PROTO__DATA_TYPE__BOOL) {
        VBS_TRY(cast_truth(im, x, &result));
    } else if (!x->whole) {
        VBS_TRY(vbs_onnx_cut_off(im, x, &result));
        ends = (union vbs_attributes){.clip = {(double)least, (double)most}};
        if (vbs_onnx_narrow_bits(to) > 0)
            VBS_TRY(vbs_onnx_apply(im, VBS_OP_CLIP, &ends, result.tensor, NULL, &result.tensor));
    } else if (x->type == 0 || own_least < least || own_most > most) {
        VBS_TRY(vbs_onnx_wrap(im, to, &result));
    }
    return vbs_onnx_give(im, 0, result.tensor, &x->shape);
}

/* Returns whether a constant is one number whose reciprocal is exact. */
static enum vbs_status is_power_of_two(struct vbs_onnx_import *im, struct vbs_onnx_constant *c,
                                       bool *is_power)
{
    const struct vbs_onnx_number *number;
    int exponent;

    *is_power = false;
    if (vbs_shape_elements(&c->shape) != 1)
        return VBS_OK;
    VBS_TRY(vbs_onnx_numbers(im, c, &number));
    *is_power = !number->batch && frexpl(fabsl(number->value), &exponent) == 0.5L;
    return VBS_OK;
}

/* Quotients of whole numbers are cut off. They are divided as they are, because the product with
 * the reciprocal of a divisor may be below a whole number that the quotient is. */
VBS_ONNX_HANDLER(divide)
{
    struct vbs_onnx_state a, b, result;
    bool whole, exact = false;

    (void)operator;
    VBS_TRY(both(im, &a, &b));
    whole = vbs_onnx_holds_whole(&a);
    if (whole && b.constant)
        VBS_TRY(is_power_of_two(im, b.constant, &exact));
    if (whole && b.constant && !exact) {
        VBS_TRY(vbs_onnx_align(im, b.constant, vbs_onnx_rank(im, &a), &b.constant));
        VBS_TRY(vbs_onnx_keep(im, VBS_OP_DIV, &a, b.constant, false, &result));
    } else {
        VBS_TRY(vbs_onnx_combine(im, VBS_OP_DIV, &a, &b, &result));
    }
    if (whole) {
        struct vbs_onnx_state quotient = result;

        VBS_TRY(vbs_onnx_cut_off(im, &quotient, &result));
        if (vbs_onnx_is_signed(im->type_out)) /* the least one by -1 is beyond the largest */
            VBS_TRY(vbs_onnx_wrap(im, im->type_out, &result));
    }
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* Without fmod the values are whole numbers, and the result has the sign of the divisor b: it is
 * the remainder of b plus that of a. */
VBS_ONNX_HANDLER(mod)
{
    struct vbs_onnx_state a, b, rest, sum, result;

    (void)operator;
    VBS_TRY(both(im, &a, &b));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_REMAINDER, &a, &b, &rest));
    if (vbs_onnx_int(im, "fmod", 0) != 0)
        return vbs_onnx_give(im, 0, rest.tensor, &rest.shape);
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_ADD, &rest, &b, &sum));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_REMAINDER, &sum, &b, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* ---- Where ---- */

/* Gives one number, or the value of all of them. */
static bool is_uniform(const struct vbs_onnx_constant *c, const struct vbs_onnx_number *x)
{
    for (int64_t i = 0; i < vbs_shape_elements(&c->shape); i++)
        if (x[i].batch || !(x[i].value == x[0].value))
            return false;
    return vbs_shape_elements(&c->shape) > 0;
}

static bool is_finite(const struct vbs_onnx_constant *c, const struct vbs_onnx_number *x)
{
    for (int64_t i = 0; i < vbs_shape_elements(&c->shape); i++)
        if (!isfinite(x[i].value))
            return false;
    return true;
}

/* Computes the numbers of x where those of which are (wanted) or are not 0, and else 0. */
static enum vbs_status keep_numbers(struct vbs_onnx_import *im, struct vbs_onnx_constant *which,
                                    bool wanted, struct vbs_onnx_constant *x,
                                    struct vbs_onnx_constant **kept)
{
    struct vbs_shape shape = x->shape;
    const struct vbs_onnx_number *chooses, *from;
    struct vbs_onnx_number *made;

    VBS_TRY(vbs_onnx_broadcast(im, &which->shape, &shape));
    VBS_TRY(vbs_onnx_constant_expand(im, which, &shape, &which));
    VBS_TRY(vbs_onnx_constant_expand(im, x, &shape, &x));
    VBS_TRY(vbs_onnx_numbers(im, which, &chooses));
    VBS_TRY(vbs_onnx_numbers(im, x, &from));
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &made));
    for (int64_t i = 0; i < vbs_shape_elements(&shape); i++) {
        if ((chooses[i].value != 0) == wanted)
            made[i] = from[i];
        if (chooses[i].batch)
            made[i] = (struct vbs_onnx_number){made[i].value, .batch = true};
    }
    return vbs_onnx_constant_new(im, x->type, &shape, made, kept);
}

/* Makes a constant of truth values the opposite of them. */
static enum vbs_status negate_numbers(struct vbs_onnx_import *im, struct vbs_onnx_constant *c,
                                      struct vbs_onnx_constant **negated)
{
    const struct vbs_onnx_number *x;
    struct vbs_onnx_number *y;

    VBS_TRY(vbs_onnx_numbers(im, c, &x));
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&c->shape), &y));
    for (int64_t i = 0; i < vbs_shape_elements(&c->shape); i++)
        y[i] = (struct vbs_onnx_number){x[i].value == 0, .batch = x[i].batch};
    return vbs_onnx_constant_new(im, FLOAT, &c->shape, y, negated);
}

/* Computes a constant where a tensor of truth values is true, and else 0. */
static enum vbs_status keep_constant(struct vbs_onnx_import *im, const struct vbs_onnx_state *which,
                                     const struct vbs_onnx_state *x, struct vbs_onnx_state *kept)
{
    const struct vbs_onnx_number *numbers;
    struct vbs_onnx_state made;

    VBS_TRY(vbs_onnx_numbers(im, x->constant, &numbers));
    if (vbs_onnx_makes(im, VBS_OP_KEEP) || vbs_shape_elements(&x->constant->shape) != 1 ||
        !isfinite(numbers[0].value) || numbers[0].batch ||
        x->constant->shape.n_dims > which->shape.n_dims)
        return vbs_onnx_combine(im, VBS_OP_KEEP, x, which, kept);
    VBS_TRY(vbs_onnx_linear(im, which, (double)numbers[0].value, 0, &made));
    *kept = *which;
    kept->tensor = made.tensor;
    return VBS_OK;
}

/* Computes x where which is (wanted) or is not true, and else 0. */
static enum vbs_status keep_where(struct vbs_onnx_import *im, const struct vbs_onnx_state *which,
                                  bool wanted, const struct vbs_onnx_state *x,
                                  struct vbs_onnx_state *kept)
{
    struct vbs_onnx_state chooses = *which;

    *kept = (struct vbs_onnx_state){.tensor = NULL};
    if (which->constant && x->constant)
        return keep_numbers(im, which->constant, wanted, x->constant, &kept->constant);
    if (!wanted && which->constant)
        VBS_TRY(negate_numbers(im, which->constant, &chooses.constant));
    else if (!wanted)
        VBS_TRY(negate(im, which, &chooses));
    return x->tensor ? vbs_onnx_combine(im, VBS_OP_KEEP, x, &chooses, kept)
                     : keep_constant(im, &chooses, x, kept);
}

/* Adds what is kept of both sides, of which at least one is a tensor; at each position one of them
 * is 0. */
static enum vbs_status add_kept(struct vbs_onnx_import *im, const struct vbs_onnx_state *a,
                                const struct vbs_onnx_state *b, struct vbs_onnx_state *sum)
{
    const struct vbs_onnx_state *tensor = a->tensor ? a : b;
    struct vbs_onnx_constant *constant = a->tensor ? b->constant : a->constant;
    const struct vbs_onnx_number *x;

    if (a->tensor && b->tensor)
        return vbs_onnx_combine(im, VBS_OP_ADD, a, b, sum);
    VBS_TRY(vbs_onnx_numbers(im, constant, &x));
    if (is_finite(constant, x))
        return vbs_onnx_combine(im, VBS_OP_ADD, tensor,
                                &(struct vbs_onnx_state){.constant = constant}, sum);
    VBS_TRY(vbs_onnx_align(im, constant, vbs_onnx_rank(im, tensor), &constant));
    return vbs_onnx_keep(im, VBS_OP_ADD, tensor, constant, false, sum);
}

/* Gives whether x is 0 everywhere, and has one element. */
static enum vbs_status is_zero(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                               bool *zero)
{
    const struct vbs_onnx_number *numbers;

    *zero = false;
    if (!x->constant || vbs_shape_elements(&x->constant->shape) != 1)
        return VBS_OK;
    VBS_TRY(vbs_onnx_numbers(im, x->constant, &numbers));
    *zero = numbers[0].value == 0 && !numbers[0].batch;
    return VBS_OK;
}

/* Chooses between a and b by a constant that is the same everywhere and broadcasts no shape. */
static enum vbs_status choose_one(struct vbs_onnx_import *im, const struct vbs_onnx_state *which,
                                  const struct vbs_onnx_state *a, const struct vbs_onnx_state *b,
                                  const struct vbs_onnx_state **chosen)
{
    const struct vbs_onnx_number *numbers;
    const struct vbs_onnx_state *taken, *other;

    *chosen = NULL;
    if (!which->constant || vbs_onnx_makes(im, VBS_OP_KEEP))
        return VBS_OK;
    VBS_TRY(vbs_onnx_numbers(im, which->constant, &numbers));
    if (!is_uniform(which->constant, numbers))
        return VBS_OK;
    taken = numbers[0].value != 0 ? a : b;
    other = numbers[0].value != 0 ? b : a;
    if (taken->tensor && vbs_shape_elements(&which->constant->shape) == 1 &&
        which->constant->shape.n_dims <= taken->shape.n_dims &&
        (other->tensor ? vbs_shape_equal(&other->shape, &taken->shape)
                       : vbs_shape_elements(&other->constant->shape) == 1 &&
                             other->constant->shape.n_dims <= taken->shape.n_dims))
        *chosen = taken;
    return VBS_OK;
}

/* x where the condition holds, else y: what is kept of x by the condition, and of y by its
 * opposite, is added. */
VBS_ONNX_HANDLER(where)
{
    const struct vbs_onnx_state *which = vbs_onnx_in(im, 0), *x = vbs_onnx_in(im, 1);
    const struct vbs_onnx_state *y = vbs_onnx_in(im, 2), *chosen;
    struct vbs_onnx_state kept_x, kept_y, result;
    bool x_is_zero, y_is_zero;

    (void)operator;
    if (!which || !x || !y)
        return vbs_fail(im->ctx, VBS_FORMAT, "an input is missing");
    im->whole_out = vbs_onnx_holds_whole(x);
    im->type_out = vbs_onnx_type(x);
    VBS_TRY(is_zero(im, y, &y_is_zero));
    if (vbs_onnx_makes(im, VBS_OP_KEEP) && !y_is_zero) /* truth values may be any numbers then */
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "is no 'keep', as its hint says");
    VBS_TRY(choose_one(im, which, x, y, &chosen));
    if (chosen)
        return vbs_onnx_give(im, 0, chosen->tensor, &chosen->shape);
    VBS_TRY(is_zero(im, x, &x_is_zero));
    VBS_TRY(keep_where(im, which, true, x, &kept_x));
    if (y_is_zero && kept_x.tensor)
        return vbs_onnx_give(im, 0, kept_x.tensor, &kept_x.shape);
    VBS_TRY(keep_where(im, which, false, y, &kept_y));
    if (x_is_zero && kept_y.tensor)
        return vbs_onnx_give(im, 0, kept_y.tensor, &kept_y.shape);
    VBS_TRY(add_kept(im, &kept_x, &kept_y, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}
