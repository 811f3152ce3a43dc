/* Constants that are computed from pairs of values, or chosen between them. */
#include "model/onnx/fold/fold.h"

#include "base/arith.h"
#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FLOAT ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT
#define BOOL  ONNX__TENSOR_PROTO__DATA_TYPE__BOOL

typedef struct vbs_onnx_number number;
typedef struct vbs_onnx_constant constant;

/* ---- two values ---- */

static uint64_t power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;

    for (; exponent > 0; exponent >>= 1, base *= base)
        if (exponent & 1)
            result *= base;
    return result;
}

/* Divides whole numbers; a quotient by 0 is 0. */
static uint64_t quotient(bool is_signed, uint64_t a, uint64_t b)
{
    if (b == 0)
        return 0;
    if (!is_signed)
        return a / b;
    return b == UINT64_MAX ? -a : (uint64_t)((int64_t)a / (int64_t)b);
}

/* Gives what is left of a behind the multiple of b that quotient() gives. */
static uint64_t remainder_of(bool is_signed, uint64_t a, uint64_t b)
{
    return b == 0 ? 0 : a - b * quotient(is_signed, a, b);
}

/* Combines the bits of whole numbers; sums and products keep the lowest 64 bits. Gives false for
 * operators that need no integers. */
static bool combine_bits(int op, bool is_signed, uint64_t a, uint64_t b, uint64_t *result)
{
    switch (op) {
    case VBS_OP_ADD:
        *result = a + b;
        return true;
    case VBS_OP_SUB:
        *result = a - b;
        return true;
    case VBS_OP_MUL:
        *result = a * b;
        return true;
    case VBS_OP_DIV:
        *result = quotient(is_signed, a, b);
        return true;
    case VBS_OP_POW:
        *result = power(a, b);
        return true;
    case VBS_FOLD_MOD: /* the result has the sign of the divisor */
        *result = remainder_of(is_signed, a, b);
        if (is_signed && *result != 0 && (*result ^ b) >> 63)
            *result += b;
        return true;
    case VBS_FOLD_REMAINDER:
        *result = remainder_of(is_signed, a, b);
        return true;
    case VBS_FOLD_BIT_AND:
        *result = a & b;
        return true;
    case VBS_FOLD_BIT_OR:
        *result = a | b;
        return true;
    case VBS_FOLD_BIT_XOR:
        *result = a ^ b;
        return true;
    case VBS_FOLD_SHIFT_LEFT:
        *result = b < 64 ? a << b : 0;
        return true;
    case VBS_FOLD_SHIFT_RIGHT:
        *result = b < 64 ? a >> b : 0;
        return true;
    default:
        return false;
    }
}

/* Gives the remainder that has the sign of the divisor. */
static long double modulo(long double a, long double b)
{
    long double rest = fmodl(a, b);

    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static long double compared(int op, long double a, long double b)
{
    switch (op) {
    case VBS_FOLD_EQUAL:
        return a == b;
    case VBS_FOLD_LESS:
        return a < b;
    case VBS_FOLD_LESS_EQUAL:
        return a <= b;
    case VBS_FOLD_GREATER:
        return a > b;
    case VBS_FOLD_GREATER_EQUAL:
        return a >= b;
    case VBS_FOLD_AND:
        return a != 0 && b != 0;
    case VBS_FOLD_OR:
        return a != 0 || b != 0;
    default:
        return (a != 0) != (b != 0);
    }
}

long double vbs_onnx_combined(int op, int type, long double a, long double b)
{
    bool whole = vbs_onnx_is_whole(type) && truncl(b) == b && !(op == VBS_OP_POW && b < 0);
    uint64_t bits;

    if (whole &&
        combine_bits(op, vbs_onnx_is_signed(type), vbs_onnx_bits(a), vbs_onnx_bits(b), &bits))
        return vbs_onnx_wrapped(type, bits);
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
        return powl(a, b);
    case VBS_OP_MAX:
        return a > b || isnan(a) ? a : b;
    case VBS_OP_MIN:
        return a < b || isnan(a) ? a : b;
    case VBS_OP_PRELU:
        return a < 0 ? a * b : a;
    case VBS_FOLD_MOD:
        return modulo(a, b);
    case VBS_FOLD_REMAINDER:
        return fmodl(a, b);
    default:
        return vbs_onnx_is_truth(op) ? compared(op, a, b) : NAN;
    }
}

/* ---- whole constants ---- */

/* Computes the strides of a constant's elements along the dimensions of a shape to which it
 * broadcasts. */
static void repeated_strides(const struct vbs_shape *input, const struct vbs_shape *shape,
                             int64_t *stride)
{
    int64_t plain[VBS_MAX_DIMS];
    int more = shape->n_dims - input->n_dims;

    vbs_onnx_plain_strides(input, plain);
    for (int d = 0; d < shape->n_dims; d++)
        stride[d] = d < more || input->dim[d - more] == 1 ? 0 : plain[d - more];
}

/* The numbers of a constant, each at every position of a shape to which it broadcasts. */
struct repeated {
    const number *next; /* the one at the position that comes next */
    const struct vbs_shape *shape;
    int64_t stride[VBS_MAX_DIMS], position[VBS_MAX_DIMS];
};

static enum vbs_status repeat(struct vbs_onnx_import *im, constant *input,
                              const struct vbs_shape *shape, struct repeated *r)
{
    *r = (struct repeated){.shape = shape};
    repeated_strides(&input->shape, shape, r->stride);
    return vbs_onnx_numbers(im, input, &r->next);
}

static const number *take(struct repeated *r)
{
    const number *taken = r->next;
    int64_t at = 0;

    vbs_onnx_advance(r->shape, r->stride, r->position, &at);
    r->next += at;
    return taken;
}

/* Returns what the position of a sample is multiplied with in a op b, where the result is a number
 * and a multiple of the position; else 0. */
static int64_t own_of(int op, const number *a, const number *b)
{
    bool both = (!a->batch || a->own != 0) && (!b->batch || b->own != 0), fits = false;
    int64_t own = 0;

    if (!both || (a->own == 0 && b->own == 0))
        return 0;
    if (op == VBS_OP_ADD)
        fits = vbs_add(a->own, b->own, &own);
    else if (op == VBS_OP_SUB)
        fits = b->own != INT64_MIN && vbs_add(a->own, -b->own, &own);
    else if (op == VBS_OP_MUL && b->own == 0)
        fits = vbs_mul(a->own, vbs_onnx_clamp(b->value), &own);
    else if (op == VBS_OP_MUL && a->own == 0)
        fits = vbs_mul(b->own, vbs_onnx_clamp(a->value), &own);
    return fits ? own : 0;
}

/* Returns whether a < b is false for all samples: no position is below 0. */
static bool is_never_less(int op, const number *a, const number *b)
{
    return op == VBS_FOLD_LESS && a->own > 0 && a->value >= 0 && !b->batch && b->value <= 0;
}

/* Replaces a number by what it is combined with another one, in numbers of a type. */
static void combine_one(int op, int type, int made, const number *with, number *result)
{
    int64_t own = vbs_onnx_is_wide(type) ? own_of(op, result, with) : 0;
    long double value =
        vbs_onnx_rounded(made, vbs_onnx_combined(op, type, result->value, with->value));

    if (is_never_less(op, result, with))
        *result = (number){0, false, 0};
    else
        *result = (number){value, result->batch || with->batch, own};
}

/* Combines the values of result, which fill shape, with those of input, in numbers of this type. */
static enum vbs_status combine_with(struct vbs_onnx_import *im, int op, int type, constant *input,
                                    const struct vbs_shape *shape, number *result)
{
    int made = vbs_onnx_is_truth(op) ? BOOL : type;
    struct repeated x;

    VBS_TRY(repeat(im, input, shape, &x));
    VBS_TRY(vbs_onnx_numbers_read(im, vbs_shape_elements(shape)));
    for (int64_t i = 0; i < vbs_shape_elements(shape); i++) {
        combine_one(op, type, made, take(&x), &result[i]);
    }
    return VBS_OK;
}

/* ---- many numbers ---- */

/* The floats of a constant, likewise. */
struct repeated_floats {
    float *all; /* belong to the caller, who frees them with free() */
    int64_t at; /* of the one at the position that comes next */
    const struct vbs_shape *shape;
    int64_t stride[VBS_MAX_DIMS], position[VBS_MAX_DIMS];
};

static enum vbs_status repeat_floats(struct vbs_onnx_import *im, constant *input,
                                     const struct vbs_shape *shape, struct repeated_floats *r)
{
    *r = (struct repeated_floats){.shape = shape};
    repeated_strides(&input->shape, shape, r->stride);
    r->all = malloc((size_t)(vbs_shape_elements(&input->shape) + 1) * sizeof *r->all);
    return r->all ? vbs_onnx_floats_read(im, input, r->all) : vbs_no_memory(im->ctx);
}

static float take_float(struct repeated_floats *r)
{
    float taken = r->all[r->at];

    vbs_onnx_advance(r->shape, r->stride, r->position, &r->at);
    return taken;
}

/* Combines two floats by arithmetic; op below 0: *y becomes x. False: op is another operator. */
static bool combine_two(int op, float x, float *y)
{
    switch (op) {
    case -1:
        *y = x;
        return true;
    case VBS_OP_ADD:
        *y += x;
        return true;
    case VBS_OP_SUB:
        *y -= x;
        return true;
    case VBS_OP_MUL:
        *y *= x;
        return true;
    case VBS_OP_DIV:
        *y /= x;
        return true;
    default:
        return false;
    }
}

/* Combines the values y, which fill shape, with those of input, in numbers of this type; op below
 * 0: they become those. */
static enum vbs_status combine_floats(struct vbs_onnx_import *im, int op, int type, constant *input,
                                      const struct vbs_shape *shape, float *y)
{
    int made = op >= 0 && vbs_onnx_is_truth(op) ? BOOL : type;
    struct repeated_floats from;
    enum vbs_status status = repeat_floats(im, input, shape, &from);

    for (int64_t i = 0; i < vbs_shape_elements(shape) && status == VBS_OK; i++) {
        float x = take_float(&from);

        if (type != FLOAT || !combine_two(op, x, &y[i]))
            status = vbs_onnx_round_many(im, made,
                                         op < 0 ? x : vbs_onnx_combined(op, type, y[i], x), &y[i]);
    }
    free(from.all);
    return status;
}

/* Combines n inputs as floats. */
static enum vbs_status pair_floats(struct vbs_onnx_import *im, int op, constant **inputs, int n,
                                   const struct vbs_shape *shape, bool mean)
{
    int type = inputs[0]->type;
    constant *made;
    float *y;

    VBS_TRY(vbs_onnx_floats_new(im, inputs[0], shape, &made, &y));
    made->type = vbs_onnx_is_truth(op) ? BOOL : type;
    for (int i = 0; i < n; i++)
        VBS_TRY(combine_floats(im, i == 0 ? -1 : op, type, inputs[i], shape, y));
    for (int64_t i = 0; i < vbs_shape_elements(shape) && mean; i++)
        VBS_TRY(vbs_onnx_round_many(im, type, (long double)y[i] / n, &y[i]));
    vbs_onnx_give_constant(im, 0, made);
    return VBS_OK;
}

/* Gives the inputs, as they go together, and the shape to which all of them broadcast. */
static enum vbs_status broadcast_inputs(struct vbs_onnx_import *im, int op, constant **inputs,
                                        struct vbs_shape *shape)
{
    *shape = (struct vbs_shape){.n_dims = 0};
    for (int i = 0; i < im->node->n_inputs; i++) {
        VBS_TRY(vbs_onnx_constant_in(im, i, &inputs[i]));
        if (i == 1 && op == VBS_OP_PRELU)
            VBS_TRY(vbs_onnx_old_slope(im, inputs[0]->shape.n_dims, &inputs[i]));
        else if (i == 1)
            VBS_TRY(vbs_onnx_old_axis(im, inputs[0]->shape.n_dims, &inputs[i]));
        VBS_TRY(vbs_onnx_broadcast(im, &inputs[i]->shape, shape));
    }
    return VBS_OK;
}

/* Gives the operator of the node where attributes choose it. */
static int chosen(struct vbs_onnx_import *im, int op)
{
    static const char *const DIRECTIONS[] = {"LEFT", "RIGHT", NULL};

    if (op == VBS_FOLD_MOD && vbs_onnx_int(im, "fmod", 0) != 0)
        return VBS_FOLD_REMAINDER;
    if (op == VBS_FOLD_SHIFT_LEFT && vbs_onnx_word(im, "direction", DIRECTIONS, 0) == 1)
        return VBS_FOLD_SHIFT_RIGHT;
    return op;
}

/* Combines the inputs from left to right: two, or any number for Sum and its like. The output has
 * the type of the first input, also where the exponent of a power has another one. */
VBS_ONNX_HANDLER(fold_pair)
{
    int n = im->node->n_inputs, op = chosen(im, operator->op), type;
    int least = operator->inputs[0].most == VBS_ONNX_ANY ? 1 : 2;
    constant **inputs = vbs_arena_alloc(im->arena, (size_t)n, sizeof(constant *));
    bool mean = strcmp(operator->name, "Mean") == 0;
    struct repeated first;
    struct vbs_shape shape;
    number *result;
    enum vbs_status status;

    if (n < least)
        return vbs_fail(im->ctx, VBS_FORMAT, "input %d is missing", n);
    if (!inputs)
        return vbs_no_memory(im->ctx);
    status = broadcast_inputs(im, op, inputs, &shape);
    if (status != VBS_OK)
        return status;
    type = inputs[0]->type;
    vbs_onnx_broadcast_copies(im, shape.n_dims);
    if (vbs_onnx_is_many(im, type, vbs_shape_elements(&shape)))
        return pair_floats(im, op, inputs, n, &shape, mean);
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &result));
    VBS_TRY(repeat(im, inputs[0], &shape, &first));
    for (int64_t i = 0; i < vbs_shape_elements(&shape); i++)
        result[i] = *take(&first);
    for (int i = 1; i < n; i++)
        VBS_TRY(combine_with(im, op, type, inputs[i], &shape, result));
    for (int64_t i = 0; i < vbs_shape_elements(&shape) && mean; i++)
        result[i].value = vbs_onnx_rounded(type, result[i].value / n);
    return vbs_onnx_give_numbers(im, vbs_onnx_is_truth(op) ? BOOL : type, &shape, result);
}

/* Chooses between inputs 1 and 2 as floats. */
static enum vbs_status where_floats(struct vbs_onnx_import *im, constant **inputs,
                                    const struct vbs_shape *shape)
{
    struct repeated_floats which = {.all = NULL}, x = {.all = NULL};
    enum vbs_status status;
    constant *made;
    float *y;

    VBS_TRY(vbs_onnx_floats_new(im, inputs[1], shape, &made, &y));
    VBS_TRY(combine_floats(im, -1, inputs[2]->type, inputs[2], shape, y));
    status = repeat_floats(im, inputs[0], shape, &which);
    if (status == VBS_OK)
        status = repeat_floats(im, inputs[1], shape, &x);
    for (int64_t i = 0; i < vbs_shape_elements(shape) && status == VBS_OK; i++) {
        float yes = take_float(&x);

        y[i] = take_float(&which) != 0 ? yes : y[i];
    }
    free(which.all);
    free(x.all);
    VBS_TRY(status);
    vbs_onnx_give_constant(im, 0, made);
    return VBS_OK;
}

VBS_ONNX_HANDLER(fold_where)
{
    struct repeated which, x, y;
    constant *inputs[3];
    struct vbs_shape shape = {.n_dims = 0};
    number *result = NULL;

    (void)operator;
    for (int i = 0; i < 3; i++) {
        VBS_TRY(vbs_onnx_constant_in(im, i, &inputs[i]));
        VBS_TRY(vbs_onnx_broadcast(im, &inputs[i]->shape, &shape));
    }
    vbs_onnx_broadcast_copies(im, shape.n_dims);
    if (vbs_onnx_is_many(im, inputs[1]->type, vbs_shape_elements(&shape)))
        return where_floats(im, inputs, &shape);
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &result));
    VBS_TRY(repeat(im, inputs[0], &shape, &which));
    VBS_TRY(repeat(im, inputs[1], &shape, &x));
    VBS_TRY(repeat(im, inputs[2], &shape, &y));
    for (int64_t i = 0; i < vbs_shape_elements(&shape); i++) {
        const number *chooses = take(&which), *yes = take(&x), *no = take(&y);

        result[i] = chooses->value != 0 ? *yes : *no;
        if (chooses->batch)
            result[i] = (number){result[i].value, true, 0};
    }
    return vbs_onnx_give_numbers(im, inputs[1]->type, &shape, result);
}
