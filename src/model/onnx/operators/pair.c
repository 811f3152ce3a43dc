/* Operators on pairs of values, and operators that work value by value. */
#include "base/arith.h"
#include "base/fail.h"
#include "model/onnx/operators/operators.h"
#include "model/network/network.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- gates: x times a function of x ---- */

static bool is_near(double value, double want)
{
    return fabs(value - want) <= 1e-3 * fabs(want);
}

/* Gives the tensor of which tensor is a multiple, and the factor, where the multiplication is still
 * a draft; else tensor itself and 1. */
static struct vbs_onnx_tensor *multiple_of(struct vbs_onnx_tensor *tensor, double *factor)
{
    const struct vbs_onnx_draft *linear = vbs_onnx_pending(tensor, VBS_OP_LINEAR);

    *factor = 1;
    if (!linear || linear->node.attributes.linear.shift != 0)
        return tensor;
    *factor = linear->node.attributes.linear.factor;
    return linear->inputs[0];
}

/* Gives the input of tensor where its operator is op and it is still a draft; else null. */
static struct vbs_onnx_tensor *input_of(const struct vbs_onnx_tensor *tensor, enum vbs_op op,
                                        const union vbs_attributes **attributes)
{
    const struct vbs_onnx_draft *draft = tensor ? vbs_onnx_pending(tensor, op) : NULL;

    if (!draft)
        return NULL;
    *attributes = &draft->node.attributes;
    return draft->inputs[0];
}

/* Recognises x times gate as an operator on x, times *factor; VBS_N_OPS where the product is
 * none. */
static enum vbs_op gated(const struct vbs_onnx_tensor *x, const struct vbs_onnx_tensor *gate,
                         double *factor)
{
    const union vbs_attributes *a = NULL, *b = NULL;
    const struct vbs_onnx_tensor *inner;

    *factor = 1;
    if (input_of(gate, VBS_OP_SIGMOID, &a) == x)
        return VBS_OP_SWISH;
    if (input_of(gate, VBS_OP_HARD_SIGMOID, &a) == x && is_near(a->hard_sigmoid.slope, 1.0 / 6) &&
        is_near(a->hard_sigmoid.offset, 0.5))
        return VBS_OP_HARD_SWISH;
    if (input_of(input_of(gate, VBS_OP_TANH, &a), VBS_OP_SOFTPLUS, &a) == x)
        return VBS_OP_MISH;
    /* The gate of hard swish is clip(x + 3, 0, 6) / 6. */
    inner = input_of(gate, VBS_OP_CLIP, &a);
    if (inner && a->clip.low == 0 && a->clip.high == 6 && input_of(inner, VBS_OP_LINEAR, &b) == x &&
        b->linear.factor == 1 && b->linear.shift == 3) {
        *factor = 6;
        return VBS_OP_HARD_SWISH;
    }
    /* The gate of GELU is c (1 + erf(x / sqrt(2))), with *factor = 2 c. */
    inner = input_of(gate, VBS_OP_LINEAR, &a);
    inner = inner && a->linear.factor == a->linear.shift ? input_of(inner, VBS_OP_ERF, &b) : NULL;
    if (inner && input_of(inner, VBS_OP_LINEAR, &b) == x && b->linear.shift == 0 &&
        is_near(b->linear.factor, sqrt(0.5))) {
        *factor = 2 * a->linear.factor;
        return VBS_OP_GELU;
    }
    return VBS_N_OPS;
}

enum vbs_status vbs_onnx_gate(struct vbs_onnx_import *im, const struct vbs_onnx_state *a,
                              const struct vbs_onnx_state *b, bool *found,
                              struct vbs_onnx_state *result)
{
    const struct vbs_onnx_state *const orders[2][2] = {{a, b}, {b, a}};

    *found = false;
    if (!vbs_shape_equal(&a->shape, &b->shape))
        return VBS_OK;
    for (int i = 0; i < 2; i++) {
        double x_factor, gate_factor = 1, factor;
        struct vbs_onnx_tensor *x = orders[i][0]->tensor, *gate = orders[i][1]->tensor;
        enum vbs_op op = gated(x, gate, &factor);
        struct vbs_onnx_state product;

        x_factor = 1;
        if (op == VBS_N_OPS) {
            x = multiple_of(x, &x_factor);
            op = gated(x, gate, &factor);
        }
        if (op == VBS_N_OPS) {
            gate = multiple_of(gate, &gate_factor);
            op = gated(x, gate, &factor);
        }
        if (op == VBS_N_OPS)
            continue;
        *found = true;
        product = *a;
        VBS_TRY(vbs_onnx_apply(im, op, NULL, x, NULL, &product.tensor));
        return vbs_onnx_linear(im, &product, factor * x_factor * gate_factor, 0, result);
    }
    return VBS_OK;
}

/* ---- pairs ---- */

/* Computes x op x. */
static enum vbs_status with_itself(struct vbs_onnx_import *im, enum vbs_op op,
                                   const struct vbs_onnx_state *x, bool *found,
                                   struct vbs_onnx_state *result)
{
    struct vbs_shape scalar = {.n_dims = 0};
    struct vbs_onnx_number *two;
    struct vbs_onnx_constant *constant;

    *found = true;
    *result = *x;
    if (op == VBS_OP_MAX || op == VBS_OP_MIN)
        return VBS_OK;
    if (op == VBS_OP_ADD || op == VBS_OP_SUB)
        return vbs_onnx_linear(im, x, op == VBS_OP_ADD ? 2 : 0, 0, result);
    *found = op == VBS_OP_MUL;
    if (!*found)
        return VBS_OK;
    VBS_TRY(vbs_onnx_numbers_new(im, 1, &two));
    two->value = 2;
    VBS_TRY(
        vbs_onnx_constant_new(im, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, &scalar, two, &constant));
    return vbs_onnx_operand(im, VBS_OP_POW, x, constant, false, result);
}

static enum vbs_status combine_tensors(struct vbs_onnx_import *im, enum vbs_op op,
                                       const struct vbs_onnx_state *a,
                                       const struct vbs_onnx_state *b,
                                       struct vbs_onnx_state *result)
{
    struct vbs_onnx_draft *draft;
    struct vbs_shape shape = a->shape, view;
    bool found = false;
    int shift;
    enum vbs_status status = vbs_onnx_broadcast(im, &b->shape, &shape);

    if (im->batch && a->shape.n_dims != b->shape.n_dims)
        return vbs_onnx_mixes(im);
    if (status == VBS_OK && a->tensor == b->tensor && vbs_shape_equal(&a->shape, &b->shape))
        status = with_itself(im, op, a, &found, result);
    else if (status == VBS_OK && op == VBS_OP_MUL && !vbs_onnx_makes(im, op))
        status = vbs_onnx_gate(im, a, b, &found, result);
    if (status != VBS_OK || found)
        return status;
    draft = vbs_onnx_draft(im, op, 2);
    if (!draft)
        return vbs_no_memory(im->ctx);
    view = vbs_onnx_view(a, 0, &shift);
    vbs_onnx_reads(draft, 0, a->tensor, &view);
    view = vbs_onnx_view(b, 0, &shift);
    vbs_onnx_reads(draft, 1, b->tensor, &view);
    *result = (struct vbs_onnx_state){.shape = shape, .at = a->at, .outer = a->outer};
    return vbs_onnx_tensor_new(im, draft, &result->tensor);
}

enum vbs_status vbs_onnx_combine(struct vbs_onnx_import *im, enum vbs_op op,
                                 const struct vbs_onnx_state *a, const struct vbs_onnx_state *b,
                                 struct vbs_onnx_state *result)
{
    bool swapped = !a->tensor;
    const struct vbs_onnx_state *x = swapped ? b : a;
    struct vbs_onnx_constant *constant = swapped ? a->constant : b->constant;

    if (a->tensor && b->tensor)
        return combine_tensors(im, op, a, b, result);
    VBS_TRY(vbs_onnx_align(im, constant, vbs_onnx_rank(im, x), &constant));
    if (vbs_onnx_makes(im, op) || op >= VBS_OP_EQUAL)
        return vbs_onnx_keep(im, op, x, constant, swapped, result);
    return vbs_onnx_operand(im, op, x, constant, swapped, result);
}

enum vbs_status vbs_onnx_old_axis(struct vbs_onnx_import *im, int rank,
                                  struct vbs_onnx_constant **second)
{
    int64_t axis = vbs_onnx_int(im, "axis", -1);
    struct vbs_shape shape = (*second)->shape;

    if (im->graph->opset >= 7 || !vbs_onnx_has(im, "axis"))
        return VBS_OK;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis > rank - shape.n_dims || rank - axis > VBS_MAX_DIMS)
        return vbs_fail(im->ctx, VBS_FORMAT, "there is no dimension %lld", (long long)axis);
    while (shape.n_dims < rank - axis)
        shape.dim[shape.n_dims++] = 1;
    return vbs_onnx_constant_reshape(im, *second, &shape, second);
}

enum vbs_status vbs_onnx_old_slope(struct vbs_onnx_import *im, int rank,
                                   struct vbs_onnx_constant **slope)
{
    struct vbs_shape shape = (*slope)->shape;

    if (im->graph->opset >= 7 || shape.n_dims != 1)
        return VBS_OK;
    while (shape.n_dims < rank - 1)
        shape.dim[shape.n_dims++] = 1;
    return vbs_onnx_constant_reshape(im, *slope, &shape, slope);
}

static enum vbs_status both(struct vbs_onnx_import *im, struct vbs_onnx_state *a,
                            struct vbs_onnx_state *b)
{
    const struct vbs_onnx_state *first = vbs_onnx_in(im, 0), *second = vbs_onnx_in(im, 1);

    if (!first || !second || im->node->n_inputs != 2)
        return vbs_fail(im->ctx, VBS_FORMAT, "has %d inputs, not two", im->node->n_inputs);
    *a = *first;
    *b = *second;
    return VBS_OK;
}

/* Gives the rank in the file of an operand. */
static int rank_of(const struct vbs_onnx_import *im, const struct vbs_onnx_state *state)
{
    return state->tensor ? vbs_onnx_rank(im, state) : state->constant->shape.n_dims;
}

/* Gives a tensor in batch mode that has fewer dimensions than the other operand more of them, which
 * are 1 and before the others. */
static enum vbs_status widen(struct vbs_onnx_import *im, struct vbs_onnx_state *state, int rank)
{
    int more = rank - rank_of(im, state), n = state->shape.n_dims;

    if (!im->batch || !state->tensor || more <= 0)
        return VBS_OK;
    if (n + more > VBS_MAX_DIMS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "more than %d dimensions", VBS_MAX_DIMS);
    memmove(state->shape.dim + more, state->shape.dim, (size_t)n * sizeof state->shape.dim[0]);
    for (int d = 0; d < more; d++)
        state->shape.dim[d] = 1;
    state->shape.n_dims = n + more;
    state->at += more;
    im->at = im->at_out = state->at > im->at ? state->at : im->at;
    return VBS_OK;
}

/* ---- positions of samples ---- */

/* Returns the number of an operand that is one constant number; 0: it is none, or not known. */
static int64_t factor_of(struct vbs_onnx_import *im, const struct vbs_onnx_state *state)
{
    const struct vbs_onnx_number *number;

    if (!state->constant || vbs_shape_elements(&state->constant->shape) != 1 ||
        vbs_onnx_numbers(im, state->constant, &number) != VBS_OK || number->batch)
        return 0;
    return vbs_onnx_clamp(number->value);
}

/* Takes the sample's position out of both operands, and notes what the result has of it. Of a
 * largest or smallest number only the shape may be read. */
static enum vbs_status strip_both(struct vbs_onnx_import *im, enum vbs_op op,
                                  struct vbs_onnx_state *a, struct vbs_onnx_state *b)
{
    int rank = rank_of(im, a) > rank_of(im, b) ? rank_of(im, a) : rank_of(im, b);
    bool fits = op == VBS_OP_MAX || op == VBS_OP_MIN;
    int64_t first, second, own = VBS_ONNX_ELSE;

    VBS_TRY(vbs_onnx_strip_position(im, rank, a, &first));
    VBS_TRY(vbs_onnx_strip_position(im, rank, b, &second));
    if (first == 0 && second == 0)
        return VBS_OK;
    if ((op == VBS_OP_ADD || op == VBS_OP_SUB) && first != VBS_ONNX_ELSE && second != VBS_ONNX_ELSE)
        fits = vbs_add(first, op == VBS_OP_ADD ? second : -second, &own);
    else if (op == VBS_OP_MUL && (first == 0 || second == 0) && first + second != VBS_ONNX_ELSE)
        fits = vbs_mul(first + second, factor_of(im, first == 0 ? a : b), &own) && own != 0;
    im->own_out = own;
    return fits ? VBS_OK : vbs_onnx_counts(im);
}

/* ---- whole numbers ---- */

enum vbs_status vbs_onnx_with_one(struct vbs_onnx_import *im, enum vbs_op op,
                                  const struct vbs_onnx_state *x, double value,
                                  struct vbs_onnx_state *result)
{
    static const struct vbs_shape SCALAR = {.n_dims = 0};
    struct vbs_onnx_constant *constant;
    struct vbs_onnx_number *number;

    VBS_TRY(vbs_onnx_numbers_new(im, 1, &number));
    number->value = value;
    VBS_TRY(vbs_onnx_constant_new(im, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, &SCALAR, number,
                                  &constant));
    return vbs_onnx_keep(im, op, x, constant, false, result);
}

enum vbs_status vbs_onnx_cut_off(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                 struct vbs_onnx_state *result)
{
    struct vbs_onnx_state rest;

    VBS_TRY(vbs_onnx_with_one(im, VBS_OP_REMAINDER, x, 1, &rest));
    return vbs_onnx_combine(im, VBS_OP_SUB, x, &rest, result);
}

enum vbs_status vbs_onnx_divide_whole(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                      int64_t n, struct vbs_onnx_state *result)
{
    struct vbs_onnx_state quotient;

    VBS_TRY(vbs_onnx_with_one(im, VBS_OP_DIV, x, (double)n, &quotient));
    return vbs_onnx_cut_off(im, &quotient, result);
}

enum vbs_status vbs_onnx_wrap(struct vbs_onnx_import *im, int type, struct vbs_onnx_state *x)
{
    int bits = vbs_onnx_narrow_bits(type);
    struct vbs_onnx_state turns, back, result;
    int64_t least, most;
    double span;

    if (bits == 0)
        return VBS_OK;
    vbs_onnx_range(type, &least, &most);
    span = (double)(most - least + 1);
    VBS_TRY(vbs_onnx_linear(im, x, 1 / span, -(double)least / span, &turns));
    VBS_TRY(vbs_onnx_apply(im, VBS_OP_FLOOR, NULL, turns.tensor, NULL, &turns.tensor));
    VBS_TRY(vbs_onnx_linear(im, &turns, -span, 0, &back));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_ADD, x, &back, &result));
    x->tensor = result.tensor;
    return VBS_OK;
}

/* Makes whole numbers of powers of whole numbers: powers with whole exponents are no further from
 * one than what kernels round; of others what is behind the point is cut off. */
static enum vbs_status settle_power(struct vbs_onnx_import *im, bool whole_exponent,
                                    struct vbs_onnx_state *power)
{
    const struct vbs_onnx_state computed = *power;

    if (whole_exponent)
        return vbs_onnx_apply(im, VBS_OP_ROUND, NULL, computed.tensor, NULL, &power->tensor);
    VBS_TRY(vbs_onnx_cut_off(im, &computed, power));
    return VBS_OK;
}

/* Makes what an operator has computed of whole numbers a number of their type. */
static enum vbs_status settle_whole(struct vbs_onnx_import *im, enum vbs_op op, bool whole_exponent,
                                    struct vbs_onnx_state *result)
{
    int bits = vbs_onnx_narrow_bits(im->type_out);

    if (op == VBS_OP_POW)
        VBS_TRY(settle_power(im, whole_exponent, result));
    if (bits > (op == VBS_OP_POW ? 0 : op == VBS_OP_MUL ? 12 : 16))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                        "products of whole numbers of %d bits, which 32-bit floats do not hold",
                        bits);
    return vbs_onnx_wrap(im, im->type_out, result);
}

VBS_ONNX_HANDLER(pair)
{
    struct vbs_onnx_state a, b, result;

    VBS_TRY(both(im, &a, &b));
    if (a.tensor && b.constant)
        VBS_TRY(vbs_onnx_old_axis(im, vbs_onnx_rank(im, &a), &b.constant));
    VBS_TRY(widen(im, &a, rank_of(im, &b)));
    VBS_TRY(widen(im, &b, rank_of(im, &a)));
    if (operator->op == VBS_OP_ADD || operator->op == VBS_OP_SUB || operator->op == VBS_OP_MUL)
        VBS_TRY(strip_both(im, (enum vbs_op) operator->op, &a, &b));
    VBS_TRY(vbs_onnx_combine(im, (enum vbs_op) operator->op, &a, &b, &result));
    if (vbs_onnx_type(&a) != 0)
        VBS_TRY(settle_whole(im, (enum vbs_op) operator->op, vbs_onnx_holds_whole(&b), &result));
    else if (operator->op == VBS_OP_POW && vbs_onnx_holds_whole(&a))
        VBS_TRY(settle_power(im, vbs_onnx_holds_whole(&b), &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* Sum, Mean, Max and Min take any number of inputs and combine them one by one, the first tensor
 * first. */
VBS_ONNX_HANDLER(sum)
{
    bool mean = strcmp(operator->name, "Mean") == 0;
    struct vbs_onnx_state result, sum;
    int first = 0;

    while (vbs_onnx_in(im, first) && !vbs_onnx_in(im, first)->tensor)
        first++;
    if (!vbs_onnx_in(im, first))
        return vbs_fail(im->ctx, VBS_FORMAT, "an input is missing");
    sum = *vbs_onnx_in(im, first);
    for (int i = 0; i < im->node->n_inputs; i++) {
        struct vbs_onnx_state next;

        if (i == first)
            continue;
        if (!vbs_onnx_in(im, i))
            return vbs_fail(im->ctx, VBS_FORMAT, "input %d is missing", i);
        next = *vbs_onnx_in(im, i);
        VBS_TRY(strip_both(im, (enum vbs_op) operator->op, &sum, &next));
        VBS_TRY(vbs_onnx_combine(im, (enum vbs_op) operator->op, &sum, &next, &result));
        sum = result;
        sum.own = im->own_out;
    }
    if (mean) {
        VBS_TRY(vbs_onnx_linear(im, &sum, 1.0 / im->node->n_inputs, 0, &result));
        sum = result;
    }
    return vbs_onnx_give(im, 0, sum.tensor, &sum.shape);
}

VBS_ONNX_HANDLER(prelu)
{
    struct vbs_onnx_state x, slope, result;
    enum vbs_status status = both(im, &x, &slope);

    (void)operator;
    if (status != VBS_OK)
        return status;
    if (!x.tensor)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "input 0 is a constant");
    if (slope.constant && x.shape.n_dims > 0)
        VBS_TRY(vbs_onnx_old_slope(im, vbs_onnx_rank(im, &x), &slope.constant));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_PRELU, &x, &slope, &result));
    return vbs_onnx_give(im, 0, result.tensor, &x.shape);
}

/* ---- value by value ---- */

/* Reads an attribute that must be finite. */
static enum vbs_status read_finite(struct vbs_onnx_import *im, const char *name, double missing,
                                   double *value)
{
    *value = vbs_onnx_real(im, name, missing);
    if (isfinite(*value))
        return VBS_OK;
    return vbs_fail(im->ctx, VBS_FORMAT, "attribute '%s' is %g", name, *value);
}

enum vbs_status vbs_onnx_read_unary(struct vbs_onnx_import *im, enum vbs_op op,
                                    union vbs_attributes *a)
{
    bool old = im->graph->opset < 6;
    enum vbs_status status;

    switch (op) {
    case VBS_OP_ELU:
    case VBS_OP_CELU:
        return read_finite(im, "alpha", 1, &a->elu.alpha);
    case VBS_OP_THRESHOLDED_RELU:
        return read_finite(im, "alpha", 1, &a->thresholded_relu.threshold);
    case VBS_OP_LEAKY_RELU:
        return read_finite(im, "alpha", 0.01, &a->leaky_relu.slope);
    case VBS_OP_SELU:
        status = read_finite(im, "alpha", old ? 1.6732 : 1.6732632423543772, &a->selu.alpha);
        if (status != VBS_OK)
            return status;
        return read_finite(im, "gamma", old ? 1.0507 : 1.0507009873554805, &a->selu.gamma);
    case VBS_OP_HARD_SIGMOID:
        status = read_finite(im, "alpha", 0.2, &a->hard_sigmoid.slope);
        if (status != VBS_OK)
            return status;
        return read_finite(im, "beta", 0.5, &a->hard_sigmoid.offset);
    case VBS_OP_SHRINK:
        status = read_finite(im, "lambd", 0.5, &a->shrink.lambda);
        return status == VBS_OK ? read_finite(im, "bias", 0, &a->shrink.bias) : status;
    case VBS_OP_GELU:
        a->gelu.by_tanh = vbs_onnx_is(im, "approximate", "tanh", false);
        return VBS_OK;
    default:
        return VBS_OK;
    }
}

VBS_ONNX_HANDLER(unary)
{
    enum vbs_op op = (enum vbs_op) operator->op;
    union vbs_attributes attributes = {0};
    const struct vbs_onnx_state *x;
    struct vbs_onnx_tensor *tensor;

    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(vbs_onnx_read_unary(im, op, &attributes));
    VBS_TRY(vbs_onnx_apply(im, op, &attributes, x->tensor, NULL, &tensor));
    if (x->whole && (op == VBS_OP_NEG || op == VBS_OP_ABS || op == VBS_OP_SHRINK)) {
        struct vbs_onnx_state result = *x, made;

        result.tensor = tensor;
        if (op == VBS_OP_SHRINK) {
            made = result;
            VBS_TRY(vbs_onnx_cut_off(im, &made, &result));
        }
        VBS_TRY(vbs_onnx_wrap(im, x->type, &result));
        tensor = result.tensor;
    }
    return vbs_onnx_give(im, 0, tensor, &x->shape);
}

/* Reads a bound of Clip from input index or from an attribute; missing where there is none. */
static enum vbs_status read_bound(struct vbs_onnx_import *im, const char *name, int index,
                                  double missing, double *bound)
{
    const struct vbs_onnx_number *number;
    struct vbs_onnx_constant *constant;

    *bound = vbs_onnx_real(im, name, missing);
    if (im->graph->opset >= 11 && vbs_onnx_in(im, index)) {
        VBS_TRY(vbs_onnx_constant_in(im, index, &constant));
        VBS_TRY(vbs_onnx_numbers(im, constant, &number));
        if (vbs_shape_elements(&constant->shape) != 1)
            return vbs_fail(im->ctx, VBS_FORMAT, "'%s' is to be one number", name);
        if (number->batch)
            return vbs_onnx_counts(im);
        *bound = (double)number->value;
    }
    if (isnan(*bound))
        return vbs_fail(im->ctx, VBS_FORMAT, "'%s' is no number", name);
    *bound = vbs_onnx_exact(im, name, fmin(fmax(*bound, -FLT_MAX), FLT_MAX));
    return VBS_OK;
}

static bool is_computed(const struct vbs_onnx_import *im, int index)
{
    const struct vbs_onnx_state *bound = vbs_onnx_in(im, index);

    return im->graph->opset >= 11 && bound && bound->tensor;
}

/* Clips by bounds of which at least one is computed from the network's input. */
static enum vbs_status clip_by_tensors(struct vbs_onnx_import *im)
{
    const struct vbs_onnx_state *x = vbs_onnx_in(im, 0);
    struct vbs_onnx_state result;

    if (!x)
        return vbs_fail(im->ctx, VBS_FORMAT, "input 0 is missing");
    result = *x;
    for (int i = 1; i <= 2; i++) {
        const struct vbs_onnx_state before = result;

        if (vbs_onnx_in(im, i))
            VBS_TRY(vbs_onnx_combine(im, i == 1 ? VBS_OP_MAX : VBS_OP_MIN, &before,
                                     vbs_onnx_in(im, i), &result));
    }
    if (!result.tensor)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "its only tensor is a bound that is left out");
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

VBS_ONNX_HANDLER(clip)
{
    union vbs_attributes a = {.clip = {0, 0}};
    const struct vbs_onnx_state *x;
    struct vbs_onnx_tensor *tensor;
    bool relu;

    (void)operator;
    if (is_computed(im, 1) || is_computed(im, 2))
        return clip_by_tensors(im);
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(read_bound(im, "min", 1, -FLT_MAX, &a.clip.low));
    VBS_TRY(read_bound(im, "max", 2, FLT_MAX, &a.clip.high));
    relu = a.clip.low == 0 && a.clip.high == FLT_MAX && !vbs_onnx_makes(im, VBS_OP_CLIP);
    VBS_TRY(vbs_onnx_apply(im, relu ? VBS_OP_RELU : VBS_OP_CLIP, relu ? NULL : &a, x->tensor, NULL,
                           &tensor));
    return vbs_onnx_give(im, 0, tensor, &x->shape);
}
