/* Constants that meet tensors become attributes, weights of a layer, or operands. */
#include "base/fail.h"
#include "model/onnx/operators/operators.h"
#include "model/network/network.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum vbs_status vbs_onnx_broadcast(struct vbs_onnx_import *im, const struct vbs_shape *other,
                                   struct vbs_shape *shape)
{
    struct vbs_shape wide = shape->n_dims >= other->n_dims ? *shape : *other;
    const struct vbs_shape *narrow = shape->n_dims >= other->n_dims ? other : shape;
    int more = wide.n_dims - narrow->n_dims;
    char a[64], b[64];

    for (int d = 0; d < narrow->n_dims; d++) {
        int64_t *dim = &wide.dim[d + more];

        if (*dim != narrow->dim[d] && *dim != 1 && narrow->dim[d] != 1)
            return vbs_fail(im->ctx, VBS_FORMAT, "shapes %s and %s do not go together",
                            vbs_onnx_shape_text(shape, a, sizeof a),
                            vbs_onnx_shape_text(other, b, sizeof b));
        *dim = *dim == 1 ? narrow->dim[d] : *dim;
    }
    if (!vbs_onnx_bounded(&wide))
        return vbs_fail(im->ctx, VBS_FORMAT, "shapes %s and %s make more than 2^36 elements",
                        vbs_onnx_shape_text(shape, a, sizeof a),
                        vbs_onnx_shape_text(other, b, sizeof b));
    *shape = wide;
    return VBS_OK;
}

enum vbs_status vbs_onnx_align(struct vbs_onnx_import *im, struct vbs_onnx_constant *constant,
                               int rank, struct vbs_onnx_constant **aligned)
{
    struct vbs_shape shape = constant->shape;
    int at = im->at - (rank - shape.n_dims); /* of the samples in the constant */
    /* the entries of a sample stand one after the other, as what is folded into the samples */
    bool folded = im->outer > 0 && (im->n_samples == 1 || (im->outer == 1 && constant->copies > 0));

    *aligned = constant;
    if (constant->copies > 0 && (!im->batch || constant->copies - 1 != at))
        return vbs_onnx_counts(im);
    if (!im->batch || at < 0)
        return VBS_OK;
    if (constant->copies > 0) {
        VBS_TRY(vbs_onnx_constant_view(im, constant, &shape, constant->stride, 0, &constant));
        constant->copies = 0;
        *aligned = constant;
    }
    if (im->outer == 0 && im->n_samples > 1 && shape.n_dims <= rank &&
        shape.dim[at] == im->n_samples) { /* a copy for each sample of the file, such as a token */
        VBS_TRY(vbs_onnx_constant_copy(im, constant, at, &constant));
        if (!constant)
            return vbs_onnx_mixes(im);
        shape.dim[at] = 1;
    }
    if (shape.n_dims > rank || (shape.dim[at] != 1 && !folded))
        return vbs_onnx_mixes(im);
    if (im->outer > 0)
        return VBS_OK;
    vbs_shape_drop(&shape, at);
    return vbs_onnx_constant_reshape(im, constant, &shape, aligned);
}

/* ---- positions of samples ---- */

/* Takes the position out of the numbers of one sample: *own times it is in all of them. */
static enum vbs_status strip_copies(struct vbs_onnx_import *im, struct vbs_onnx_constant **constant,
                                    int64_t *own)
{
    struct vbs_onnx_constant *c = *constant;
    int64_t n = vbs_shape_elements(&c->shape);
    const struct vbs_onnx_number *given;
    struct vbs_onnx_number *made;
    bool any = false;

    VBS_TRY(vbs_onnx_numbers(im, c, &given));
    for (int64_t i = 0; i < n; i++) {
        if (given[i].batch && given[i].own == 0)
            return VBS_OK;
        any |= given[i].own != 0;
    }
    if (!any)
        return VBS_OK;
    *own = given[0].own;
    VBS_TRY(vbs_onnx_numbers_new(im, n, &made));
    for (int64_t i = 0; i < n; i++) {
        made[i].value = given[i].value;
        *own = given[i].own == *own ? *own : VBS_ONNX_ELSE;
    }
    VBS_TRY(vbs_onnx_constant_new(im, c->type, &c->shape, made, constant));
    (*constant)->copies = c->copies;
    return VBS_OK;
}

/* Does so where the numbers of all samples are there, in dimension at: those of sample s are those
 * of sample 0 and s times the same more. */
static enum vbs_status strip_entries(struct vbs_onnx_import *im,
                                     struct vbs_onnx_constant **constant, int at, int64_t *own)
{
    struct vbs_onnx_constant *c = *constant;
    struct vbs_shape shape = c->shape;
    int64_t n = shape.dim[at], each = 1, count = vbs_shape_elements(&shape), more;
    const struct vbs_onnx_number *given;
    struct vbs_onnx_number *made;

    if (count == 0 || count > VBS_ONNX_MAX_NUMBERS)
        return VBS_OK;
    for (int d = at + 1; d < shape.n_dims; d++)
        each *= shape.dim[d];
    VBS_TRY(vbs_onnx_numbers(im, c, &given));
    VBS_TRY(vbs_onnx_numbers_new(im, count / n, &made));
    more = vbs_onnx_clamp(given[each].value - given[0].value);
    for (int64_t i = 0; i < count; i++) {
        int64_t s = i / each % n;

        if (given[i].value != given[i - s * each].value + (long double)s * (long double)more)
            return VBS_OK;
        made[i / (n * each) * each + i % each].value = given[i - s * each].value;
    }
    if (more == 0)
        return VBS_OK;
    *own = more;
    shape.dim[at] = 1;
    VBS_TRY(vbs_onnx_constant_new(im, c->type, &shape, made, constant));
    (*constant)->copies = at + 1;
    return VBS_OK;
}

enum vbs_status vbs_onnx_strip_position(struct vbs_onnx_import *im, int rank,
                                        struct vbs_onnx_state *state, int64_t *own)
{
    struct vbs_onnx_constant *c = state->constant;
    int at = c ? im->at - (rank - c->shape.n_dims) : -1;

    *own = state->tensor ? state->own : 0;
    if (!im->batch || !c || !vbs_onnx_is_wide(c->type) || at < 0 || at >= c->shape.n_dims)
        return VBS_OK;
    if (c->copies > 0)
        return strip_copies(im, &state->constant, own);
    if (im->outer == 0 && im->n_samples > 1 && c->shape.dim[at] == im->n_samples)
        return strip_entries(im, &state->constant, at, own);
    return VBS_OK;
}

enum vbs_status vbs_onnx_weights(struct vbs_onnx_import *im, struct vbs_onnx_constant *constant,
                                 double factor, const struct vbs_values **values)
{
    *values = NULL;
    return im->graph->weightless ? VBS_OK : vbs_onnx_parameter(im, constant, factor, values);
}

enum vbs_status vbs_onnx_allow_infinite(struct vbs_onnx_import *im,
                                        const struct vbs_values **values)
{
    struct vbs_values *copy = vbs_source_alloc(im->source, 1, sizeof *copy);

    if (!copy)
        return vbs_no_memory(im->ctx);
    *copy = **values;
    copy->infinite = true;
    *values = copy;
    return VBS_OK;
}

enum vbs_status vbs_onnx_added(struct vbs_onnx_import *im, struct vbs_onnx_constant *constant,
                               double factor, const struct vbs_values **values)
{
    VBS_TRY(vbs_onnx_weights(im, constant, factor, values));
    return *values ? vbs_onnx_allow_infinite(im, values) : VBS_OK;
}

enum vbs_status vbs_onnx_vector(struct vbs_onnx_import *im, int index, int64_t count,
                                enum vbs_parameter what, struct vbs_onnx_draft *draft)
{
    struct vbs_onnx_constant *constant;

    VBS_TRY(vbs_onnx_constant_in(im, index, &constant));
    if (vbs_shape_elements(&constant->shape) != count)
        return vbs_fail(im->ctx, VBS_FORMAT, "input %d has %lld values for %lld channels", index,
                        (long long)vbs_shape_elements(&constant->shape), (long long)count);
    if (what == VBS_PARAMETER_BIAS || what == VBS_PARAMETER_BETA)
        return vbs_onnx_added(im, constant, 0, &draft->node.values[what]);
    return vbs_onnx_weights(im, constant, 0, &draft->node.values[what]);
}

const struct vbs_values *vbs_onnx_fill(struct vbs_onnx_import *im, double value)
{
    struct vbs_values *values = vbs_source_alloc(im->source, 1, sizeof *values);

    if (values)
        *values = (struct vbs_values){.name = "", .count = 1, .fill = value, .file = -1};
    return values;
}

/* ---- alpha x + beta ---- */

enum vbs_status vbs_onnx_linear(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                double alpha, double beta, struct vbs_onnx_state *result)
{
    const struct vbs_onnx_draft *before = vbs_onnx_pending(x->tensor, VBS_OP_LINEAR);
    struct vbs_onnx_tensor *input = x->tensor;
    union vbs_attributes attributes;

    if (!isfinite(alpha) || !isfinite(beta))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "an operand is not finite");
    if (before) {
        input = before->inputs[0];
        beta += alpha * before->node.attributes.linear.shift;
        alpha *= before->node.attributes.linear.factor;
    }
    *result = *x;
    result->tensor = input;
    if (alpha == 1 && beta == 0 && !vbs_onnx_makes(im, VBS_OP_LINEAR))
        return VBS_OK;
    attributes = (union vbs_attributes){
        .linear = {vbs_onnx_exact(im, "factor", alpha), vbs_onnx_exact(im, "shift", beta)}};
    if (!isfinite(attributes.linear.factor) || !isfinite(attributes.linear.shift))
        attributes = (union vbs_attributes){.linear = {alpha, beta}};
    return vbs_onnx_apply(im, VBS_OP_LINEAR, &attributes, input, NULL, &result->tensor);
}

/* ---- one number ---- */

/* Applies an operator with one input; attributes is null for an operator that has none. */
static enum vbs_status apply_one(struct vbs_onnx_import *im, enum vbs_op op,
                                 const union vbs_attributes *attributes,
                                 const struct vbs_onnx_state *x, struct vbs_onnx_state *result)
{
    *result = *x;
    return vbs_onnx_apply(im, op, attributes, x->tensor, NULL, &result->tensor);
}

static enum vbs_status keep_operand(struct vbs_onnx_import *im, enum vbs_op op,
                                    const struct vbs_onnx_state *x, const struct vbs_shape *operand,
                                    const struct vbs_values *values, bool swapped,
                                    struct vbs_onnx_state *result)
{
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, op, 1);
    struct vbs_shape view;
    int shift;

    if (!draft || !values)
        return vbs_no_memory(im->ctx);
    VBS_TRY(vbs_onnx_allow_infinite(im, &values));
    view = vbs_onnx_view(x, 0, &shift);
    vbs_onnx_reads(draft, 0, x->tensor, &view);
    draft->node.operand = *operand;
    draft->node.attributes.binary.swapped = swapped;
    draft->node.values[VBS_PARAMETER_OPERAND] = values;
    *result = *x;
    return vbs_onnx_tensor_new(im, draft, &result->tensor);
}

/* Computes x op value, or value op x where swapped. */
static enum vbs_status with_number(struct vbs_onnx_import *im, enum vbs_op op,
                                   const struct vbs_onnx_state *x, double value, bool swapped,
                                   struct vbs_onnx_state *result)
{
    const struct vbs_shape one = {.n_dims = 1, .dim = {1}};
    const union vbs_attributes above = {.clip = {.low = value, .high = FLT_MAX}};
    const union vbs_attributes below = {.clip = {.low = -FLT_MAX, .high = value}};
    const union vbs_attributes leaky = {.leaky_relu = {.slope = value}};

    *result = *x;
    switch (op) {
    case VBS_OP_ADD:
        return vbs_onnx_linear(im, x, 1, value, result);
    case VBS_OP_SUB:
        return vbs_onnx_linear(im, x, swapped ? -1 : 1, swapped ? value : -value, result);
    case VBS_OP_MUL:
        return vbs_onnx_linear(im, x, value, 0, result);
    case VBS_OP_DIV:
        if (!swapped && value != 0)
            return vbs_onnx_linear(im, x, 1 / value, 0, result);
        if (swapped && value == 1)
            return apply_one(im, VBS_OP_RECIPROCAL, NULL, x, result);
        break;
    case VBS_OP_MAX:
        return value == 0 ? apply_one(im, VBS_OP_RELU, NULL, x, result)
                          : apply_one(im, VBS_OP_CLIP, &above, x, result);
    case VBS_OP_MIN:
        return apply_one(im, VBS_OP_CLIP, &below, x, result);
    case VBS_OP_PRELU:
        return apply_one(im, VBS_OP_LEAKY_RELU, &leaky, x, result);
    case VBS_OP_POW:
        if (!swapped && value == 1)
            return VBS_OK;
        if (!swapped && value == 0.5)
            return apply_one(im, VBS_OP_SQRT, NULL, x, result);
        if (!swapped && value == -1)
            return apply_one(im, VBS_OP_RECIPROCAL, NULL, x, result);
        break;
    default:
        break;
    }
    return keep_operand(im, op, x, &one, vbs_onnx_fill(im, value), swapped, result);
}

enum vbs_status vbs_onnx_power(struct vbs_onnx_import *im, const struct vbs_onnx_state *x, double p,
                               struct vbs_onnx_state *result)
{
    return with_number(im, VBS_OP_POW, x, p, false, result);
}

/* ---- one number for each channel ---- */

/* Gives the first dimension of shape that is not 1, or -1 where all are 1. */
static int first_wide(const struct vbs_shape *shape)
{
    for (int d = 0; d < shape->n_dims; d++)
        if (shape->dim[d] != 1)
            return d;
    return -1;
}

/* Gives the dimension of the channels of a value that is scaled or shifted by channel: the first
 * one that is not 1, or the one that a hint means. */
static int channel_dim(const struct vbs_onnx_import *im, const struct vbs_shape *shape)
{
    int hinted = im->batch ? 0 : 1;

    return vbs_onnx_belongs(im, VBS_OP_SCALE) && shape->n_dims > hinted ? hinted
                                                                        : first_wide(shape);
}

/* Gives whether constant has one value for each position of dimension d of shape and varies along
 * no other dimension. */
static bool is_along(const struct vbs_onnx_constant *constant, const struct vbs_shape *shape, int d)
{
    int at = d - shape->n_dims + constant->shape.n_dims;

    return d >= 0 && at >= 0 && constant->shape.dim[at] == shape->dim[d] &&
           vbs_shape_elements(&constant->shape) == shape->dim[d];
}

/* Finds the draft that made x where it lacks a bias and constant can be that bias; else null. */
static struct vbs_onnx_draft *unbiased(const struct vbs_onnx_import *im,
                                       const struct vbs_onnx_state *x,
                                       const struct vbs_onnx_constant *constant)
{
    static const enum vbs_op OPS[] = {VBS_OP_CONV, VBS_OP_CONV_TRANSPOSE, VBS_OP_SCALE, VBS_OP_FC};
    int channels = channel_dim(im, &x->shape);

    for (size_t i = 0; i < sizeof OPS / sizeof OPS[0]; i++) {
        struct vbs_onnx_draft *draft = vbs_onnx_pending(x->tensor, OPS[i]);
        const struct vbs_shape *own = &x->tensor->shape;

        if (!draft || vbs_onnx_has_bias(&draft->node))
            continue;
        if (OPS[i] == VBS_OP_FC && is_along(constant, &x->shape, x->shape.n_dims - 1) &&
            own->dim[own->n_dims - 1] == x->shape.dim[x->shape.n_dims - 1])
            return draft;
        if (OPS[i] != VBS_OP_FC && is_along(constant, &x->shape, channels) &&
            own->dim[0] == x->shape.dim[channels])
            return draft;
    }
    return NULL;
}

static enum vbs_status add_bias(struct vbs_onnx_import *im, const struct vbs_onnx_draft *draft,
                                struct vbs_onnx_constant *constant, double factor,
                                struct vbs_onnx_tensor **tensor)
{
    struct vbs_onnx_draft *biased = vbs_onnx_again(im, draft);
    enum vbs_parameter what =
        draft->node.op == VBS_OP_SCALE ? VBS_PARAMETER_BETA : VBS_PARAMETER_BIAS;

    if (!biased)
        return vbs_no_memory(im->ctx);
    if (draft->node.op == VBS_OP_SCALE)
        biased->node.attributes.scale.bias = true;
    else
        biased->node.attributes.weighted.bias = true;
    VBS_TRY(vbs_onnx_added(im, constant, factor, &biased->node.values[what]));
    return vbs_onnx_tensor_new(im, biased, tensor);
}

/* Computes 1 / constant. */
static enum vbs_status inverse(struct vbs_onnx_import *im, struct vbs_onnx_constant *constant,
                               struct vbs_onnx_constant **inverted)
{
    int64_t count = vbs_shape_elements(&constant->shape);
    const struct vbs_onnx_number *x;
    struct vbs_onnx_number *y;

    VBS_TRY(vbs_onnx_numbers(im, constant, &x));
    VBS_TRY(vbs_onnx_numbers_new(im, count, &y));
    for (int64_t i = 0; i < count; i++)
        y[i] = (struct vbs_onnx_number){1 / x[i].value, .batch = x[i].batch};
    return vbs_onnx_constant_new(im, constant->type, &constant->shape, y, inverted);
}

/* Makes x op constant a scale layer, gamma x + beta by channel, in which the constant is beta of a
 * sum or difference and gamma of a product or quotient. */
static enum vbs_status scale(struct vbs_onnx_import *im, enum vbs_op op,
                             const struct vbs_onnx_state *x, struct vbs_onnx_constant *constant,
                             bool swapped, struct vbs_onnx_state *result)
{
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, VBS_OP_SCALE, 1);
    bool shifts = op == VBS_OP_ADD || op == VBS_OP_SUB, negates = op == VBS_OP_SUB;
    int first = channel_dim(im, &x->shape);
    struct vbs_shape view = {.n_dims = x->shape.n_dims - first};
    enum vbs_status status = VBS_OK;

    if (!draft)
        return vbs_no_memory(im->ctx);
    memcpy(view.dim, x->shape.dim + first, (size_t)view.n_dims * sizeof view.dim[0]);
    vbs_onnx_reads(draft, 0, x->tensor,
                   x->tensor->shape.dim[0] == view.dim[0] ? &x->tensor->shape : &view);
    draft->node.attributes.scale.bias = shifts;
    if (op == VBS_OP_DIV)
        status = inverse(im, constant, &constant);
    if (status == VBS_OK && shifts)
        status = vbs_onnx_added(im, constant, negates && !swapped ? -1 : 0,
                                &draft->node.values[VBS_PARAMETER_BETA]);
    else if (status == VBS_OK)
        status = vbs_onnx_weights(im, constant, 0, &draft->node.values[VBS_PARAMETER_GAMMA]);
    if (status == VBS_OK && shifts) {
        draft->node.values[VBS_PARAMETER_GAMMA] = vbs_onnx_fill(im, negates && swapped ? -1 : 1);
        if (!draft->node.values[VBS_PARAMETER_GAMMA])
            return vbs_no_memory(im->ctx);
    }
    *result = *x;
    return status == VBS_OK ? vbs_onnx_tensor_new(im, draft, &result->tensor) : status;
}

static bool is_scaling(enum vbs_op op, bool swapped)
{
    return op == VBS_OP_ADD || op == VBS_OP_SUB || op == VBS_OP_MUL ||
           (op == VBS_OP_DIV && !swapped);
}

/* ---- any constant ---- */

enum vbs_status vbs_onnx_keep(struct vbs_onnx_import *im, enum vbs_op op,
                              const struct vbs_onnx_state *x, struct vbs_onnx_constant *constant,
                              bool swapped, struct vbs_onnx_state *result)
{
    struct vbs_shape shape = x->shape, operand = constant->shape;
    const struct vbs_values *values;

    VBS_TRY(vbs_onnx_broadcast(im, &constant->shape, &shape));
    if (vbs_shape_elements(&constant->shape) == 0)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "an operand has no elements");
    if (operand.n_dims == 0)
        operand = (struct vbs_shape){1, {1}};
    VBS_TRY(vbs_onnx_parameter(im, constant, 0, &values));
    VBS_TRY(keep_operand(im, op, x, &operand, values, swapped, result));
    result->shape = shape;
    return VBS_OK;
}

/* Computes x op constant, which is one number; of an infinite one most operators keep the operator
 * itself. */
static enum vbs_status with_constant(struct vbs_onnx_import *im, enum vbs_op op,
                                     const struct vbs_onnx_state *x,
                                     struct vbs_onnx_constant *constant, bool swapped,
                                     struct vbs_onnx_state *result)
{
    static const struct vbs_shape ONE = {1, {1}};
    const struct vbs_onnx_number *number;
    double value;

    VBS_TRY(vbs_onnx_numbers(im, constant, &number));
    value = (double)number->value;
    if (number->batch || !isinf(value)) {
        VBS_TRY(vbs_onnx_scalar(im, constant, &value));
        return with_number(im, op, x, value, swapped, result);
    }
    *result = *x;
    if ((op == VBS_OP_MAX && value < 0) || (op == VBS_OP_MIN && value > 0)) /* bounds nothing */
        return VBS_OK;
    return keep_operand(im, op, x, &ONE, vbs_onnx_fill(im, value), swapped, result);
}

enum vbs_status vbs_onnx_operand(struct vbs_onnx_import *im, enum vbs_op op,
                                 const struct vbs_onnx_state *x, struct vbs_onnx_constant *constant,
                                 bool swapped, struct vbs_onnx_state *result)
{
    struct vbs_shape shape = x->shape;
    struct vbs_onnx_draft *draft = unbiased(im, x, constant);
    const struct vbs_values *values;
    enum vbs_status status = vbs_onnx_broadcast(im, &constant->shape, &shape);

    if (status != VBS_OK)
        return status;
    if (vbs_shape_elements(&constant->shape) == 0)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "an operand has no elements");
    *result = *x;
    if (draft && (op == VBS_OP_ADD || (op == VBS_OP_SUB && !swapped))) {
        status = add_bias(im, draft, constant, op == VBS_OP_SUB ? -1 : 0, &result->tensor);
    } else if (vbs_shape_elements(&constant->shape) == 1 &&
               !(vbs_onnx_belongs(im, VBS_OP_SCALE) && constant->shape.n_dims > 0)) {
        status = with_constant(im, op, x, constant, swapped, result);
    } else if (is_scaling(op, swapped) &&
               is_along(constant, &x->shape, channel_dim(im, &x->shape))) {
        status = scale(im, op, x, constant, swapped, result);
    } else {
        status = vbs_onnx_parameter(im, constant, 0, &values);
        if (status == VBS_OK)
            status = keep_operand(im, op, x, &constant->shape, values, swapped, result);
    }
    result->shape = shape;
    return status;
}
