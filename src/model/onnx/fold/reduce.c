/* Constants that are computed along dimensions of others: sums and their like, running sums, the
 * places of the largest values. */
#include "model/onnx/fold/fold.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

#define INT64 ONNX__TENSOR_PROTO__DATA_TYPE__INT64
#define BOOL  ONNX__TENSOR_PROTO__DATA_TYPE__BOOL

typedef struct vbs_onnx_number number;
typedef struct vbs_onnx_constant constant;

/* ---- reductions ---- */

/* Gives the result of a reduction of no values. */
static long double reduce_start(int op, int type)
{
    if (op == VBS_OP_REDUCE_MAX)
        return type == BOOL ? 0 : -INFINITY;
    if (op == VBS_OP_REDUCE_LOG_SUM_EXP)
        return -INFINITY;
    return op == VBS_OP_REDUCE_PROD ? 1 : op == VBS_OP_REDUCE_MIN ? INFINITY : 0;
}

/* Returns log(e^a + e^b), of which only the result may overflow. */
static long double log_add_exp(long double a, long double b)
{
    long double most = vbs_onnx_combined(VBS_OP_MAX, ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE, a, b);

    return isfinite(most) ? most + log1pl(expl(-fabsl(a - b))) : most;
}

/* Adds x to a reduction. */
static long double reduce_more(int op, int type, long double so_far, long double x)
{
    switch (op) {
    case VBS_OP_REDUCE_PROD:
        return vbs_onnx_combined(VBS_OP_MUL, type, so_far, x);
    case VBS_OP_REDUCE_MAX:
        return vbs_onnx_combined(VBS_OP_MAX, type, so_far, x);
    case VBS_OP_REDUCE_MIN:
        return vbs_onnx_combined(VBS_OP_MIN, type, so_far, x);
    case VBS_OP_REDUCE_L1:
        return vbs_onnx_combined(VBS_OP_ADD, type, so_far, fabsl(x));
    case VBS_OP_REDUCE_L2:
    case VBS_OP_REDUCE_SUM_SQUARE:
        return vbs_onnx_combined(VBS_OP_ADD, type, so_far,
                                 vbs_onnx_combined(VBS_OP_MUL, type, x, x));
    case VBS_OP_REDUCE_LOG_SUM_EXP:
        return log_add_exp(so_far, x);
    default:
        return vbs_onnx_combined(VBS_OP_ADD, type, so_far, x);
    }
}

/* Gives the result of a reduction of n values. */
static long double reduce_end(int op, long double so_far, int64_t n)
{
    switch (op) {
    case VBS_OP_REDUCE_MEAN:
        return so_far / n;
    case VBS_OP_REDUCE_L2:
        return sqrtl(so_far);
    case VBS_OP_REDUCE_LOG_SUM:
        return logl(so_far);
    default:
        return so_far;
    }
}

/* Returns the copies of a constant, as struct vbs_onnx_constant has them, whose dimensions of the
 * bits axes are reduced, and stay as 1 (keep) or go. */
static int reduced_copies(int copies, unsigned axes, bool keep)
{
    int left = copies;

    if (copies > 0 && (axes >> (copies - 1) & 1))
        return 0;
    for (int d = 0; d < copies - 1; d++)
        left -= !keep && (axes >> d & 1);
    return left;
}

/* Gives whether a reduction of copies of a value is that value. */
static bool ignores_copies(int op)
{
    return op == VBS_OP_REDUCE_MAX || op == VBS_OP_REDUCE_MIN || op == VBS_OP_REDUCE_MEAN;
}

/* Adds a number to a reduction of numbers of this type. */
static void reduce_one(int op, int type, number more, number *so_far)
{
    so_far->value = reduce_more(op, type, so_far->value, more.value);
    so_far->batch |= more.batch;
}

/* Reduces the numbers of a constant to y, whose strides along its dimensions are these. */
static void reduce_numbers(int op, const constant *input, const number *x, const int64_t *stride,
                           number *y)
{
    int64_t position[VBS_MAX_DIMS] = {0}, at = 0;

    for (int64_t i = 0; i < vbs_shape_elements(&input->shape); i++) {
        reduce_one(op, input->type, x[i], &y[at]);
        vbs_onnx_advance(&input->shape, stride, position, &at);
    }
}

/* Does so with elements that should not become numbers, because they are many. */
static enum vbs_status reduce_floats(struct vbs_onnx_import *im, int op, constant *input,
                                     const int64_t *stride, number *y)
{
    int64_t count = vbs_shape_elements(&input->shape), position[VBS_MAX_DIMS] = {0}, at = 0;
    float *floats = malloc((size_t)(count + 1) * sizeof *floats);
    enum vbs_status status =
        floats ? vbs_onnx_floats_read(im, input, floats) : vbs_no_memory(im->ctx);

    for (int64_t i = 0; i < count && status == VBS_OK; i++) {
        reduce_one(op, input->type, (number){.value = floats[i]}, &y[at]);
        vbs_onnx_advance(&input->shape, stride, position, &at);
    }
    free(floats);
    return status;
}

VBS_ONNX_HANDLER(fold_reduce)
{
    int64_t stride[VBS_MAX_DIMS] = {0}, count, each = 1, n_made;
    struct vbs_shape kept, shape;
    constant *input;
    const number *x;
    number *y;
    unsigned axes;
    bool keep;

    VBS_TRY(vbs_onnx_constant_in(im, 0, &input));
    VBS_TRY(vbs_onnx_reduced(im, &input->shape, false, &axes, &keep));
    if (axes == 0 && vbs_onnx_int(im, "noop_with_empty_axes", 0) != 0 &&
        !vbs_onnx_reduces_alone((enum vbs_op) operator->op)) {
        im->copies = input->copies;
        vbs_onnx_give_constant(im, 0, input);
        return VBS_OK;
    }
    if (!ignores_copies(operator->op))
        VBS_TRY(vbs_onnx_check_copies(im, input, axes));
    im->copies = reduced_copies(input->copies, axes, keep);
    vbs_onnx_reduced_shapes(&input->shape, axes, keep, &kept, &shape);
    count = vbs_shape_elements(&input->shape);
    n_made = vbs_shape_elements(&shape);
    VBS_TRY(vbs_onnx_numbers_read(im, count));
    for (int d = input->shape.n_dims - 1; d >= 0; d--)
        if (!(axes >> d & 1)) {
            stride[d] = each;
            each *= input->shape.dim[d];
        }
    VBS_TRY(vbs_onnx_numbers_new(im, n_made, &y));
    for (int64_t i = 0; i < n_made; i++)
        y[i].value = reduce_start(operator->op, input->type);
    if (vbs_onnx_is_many(im, input->type, count)) {
        VBS_TRY(reduce_floats(im, operator->op, input, stride, y));
    } else {
        VBS_TRY(vbs_onnx_numbers(im, input, &x));
        reduce_numbers(operator->op, input, x, stride, y);
    }
    for (int64_t i = 0; i < n_made; i++)
        y[i].value =
            vbs_onnx_rounded(input->type, reduce_end(operator->op, y[i].value, count / n_made));
    return vbs_onnx_give_numbers(im, input->type, &shape, y);
}

/* ---- lines ---- */

/* The elements of a constant as lines along one of its dimensions. */
struct lines {
    int64_t n;      /* of lines */
    int64_t length; /* of each line, in elements */
    int64_t step;   /* from one element of a line to the next */
};

static struct lines lines_along(const struct vbs_shape *shape, int axis)
{
    struct lines lines = {.length = shape->dim[axis], .step = 1};

    for (int d = axis + 1; d < shape->n_dims; d++)
        lines.step *= shape->dim[d];
    lines.n = lines.length > 0 ? vbs_shape_elements(shape) / lines.length : 0;
    return lines;
}

/* Gives the first element of a line among lines of this length and step. */
static int64_t first_of(const struct lines *lines, int64_t line)
{
    return line / lines->step * lines->step * lines->length + line % lines->step;
}

VBS_ONNX_HANDLER(fold_cum_sum)
{
    bool exclusive = vbs_onnx_int(im, "exclusive", 0) != 0;
    bool reverse = vbs_onnx_int(im, "reverse", 0) != 0;
    constant *input, *along;
    struct lines lines;
    const number *x;
    double value;
    number *y;
    int axis;
    enum vbs_status status = vbs_onnx_numbers_in(im, 0, &input, &x);

    (void)operator;
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_onnx_constant_in(im, 1, &along));
    VBS_TRY(vbs_onnx_scalar(im, along, &value));
    VBS_TRY(vbs_onnx_constant_axis(im, vbs_onnx_clamp(value), input->shape.n_dims, &axis));
    VBS_TRY(vbs_onnx_check_copies(im, input, 1u << axis));
    vbs_onnx_same_copies(im, 0);
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&input->shape), &y));
    lines = lines_along(&input->shape, axis);
    for (int64_t line = 0; line < lines.n; line++) {
        number sum = {0};

        for (int64_t k = 0; k < lines.length; k++) {
            int64_t i = reverse ? lines.length - 1 - k : k;
            int64_t at = first_of(&lines, line) + i * lines.step;
            number before = sum;

            sum.value = vbs_onnx_combined(VBS_OP_ADD, input->type, sum.value, x[at].value);
            sum.batch |= x[at].batch;
            y[at] = exclusive ? before : sum;
            y[at].value = vbs_onnx_rounded(input->type, y[at].value);
        }
    }
    return vbs_onnx_give_numbers(im, input->type, &input->shape, y);
}

/* ---- largest and smallest values ---- */

/* Gives whether a comes before b among the largest values, or among the smallest. What is no number
 * is above all numbers. */
static bool precedes(bool largest, long double a, long double b)
{
    long double above = largest ? a : b, below = largest ? b : a;

    return above > below || (isnan(above) && !isnan(below));
}

/* ArgMax and ArgMin. No element of a line with what is no number is found, as in layers. */
VBS_ONNX_HANDLER(fold_arg)
{
    bool largest = operator->op == VBS_FOLD_ARG_MAX, keep = vbs_onnx_int(im, "keepdims", 1) != 0;
    bool last = vbs_onnx_int(im, "select_last_index", 0) != 0;
    struct vbs_shape kept, shape;
    struct lines lines;
    constant *input;
    const number *x;
    number *y;
    int axis;

    VBS_TRY(vbs_onnx_numbers_in(im, 0, &input, &x));
    VBS_TRY(vbs_onnx_constant_axis(im, vbs_onnx_int(im, "axis", 0), input->shape.n_dims, &axis));
    lines = lines_along(&input->shape, axis);
    VBS_TRY(vbs_onnx_check_copies(im, input, 1u << axis));
    im->copies = reduced_copies(input->copies, 1u << axis, keep);
    vbs_onnx_reduced_shapes(&input->shape, 1u << axis, keep, &kept, &shape);
    if (lines.length == 0)
        return vbs_fail(im->ctx, VBS_FORMAT, "dimension %d has no elements", axis);
    VBS_TRY(vbs_onnx_numbers_new(im, lines.n, &y));
    for (int64_t line = 0; line < lines.n; line++) {
        const number *first = x + first_of(&lines, line);
        bool numbers = true;
        int64_t best = 0;

        for (int64_t k = 0; k < lines.length; k++) {
            long double value = first[k * lines.step].value, most = first[best * lines.step].value;

            if (precedes(largest, value, most) || (last && value == most))
                best = k;
            numbers &= !isnan(value);
            y[line].batch |= first[k * lines.step].batch;
        }
        y[line].value = numbers ? best : last ? -1 : lines.length;
    }
    return vbs_onnx_give_numbers(im, INT64, &shape, y);
}

/* An element of a line that is sorted. */
struct line_element {
    number x;
    int64_t index;
    bool largest;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct line_element *a = left, *b = right;

    if (precedes(a->largest, a->x.value, b->x.value))
        return -1;
    if (precedes(a->largest, b->x.value, a->x.value))
        return 1;
    return a->index < b->index ? -1 : 1;
}

/* Reads how many elements TopK takes. */
static enum vbs_status count_in(struct vbs_onnx_import *im, int64_t most, int64_t *k)
{
    constant *input;
    double value;

    if (im->graph->opset < 10) {
        *k = vbs_onnx_int(im, "k", 0);
    } else {
        VBS_TRY(vbs_onnx_constant_in(im, 1, &input));
        VBS_TRY(vbs_onnx_scalar(im, input, &value));
        *k = vbs_onnx_clamp(value);
    }
    if (*k < 0 || *k > most)
        return vbs_fail(im->ctx, VBS_FORMAT, "takes %lld of %lld elements", (long long)*k,
                        (long long)most);
    return VBS_OK;
}

/* Gives the elements sorted, also where the attribute allows any order. */
VBS_ONNX_HANDLER(fold_top_k)
{
    bool largest = vbs_onnx_int(im, "largest", 1) != 0;
    struct lines from, to;
    struct vbs_shape shape;
    struct line_element *ranked;
    constant *input, *places;
    number *y, *at;
    const number *x;
    int axis;
    enum vbs_status status = vbs_onnx_numbers_in(im, 0, &input, &x);

    (void)operator;
    if (status != VBS_OK)
        return status;
    shape = input->shape;
    VBS_TRY(vbs_onnx_constant_axis(im, vbs_onnx_int(im, "axis", -1), shape.n_dims, &axis));
    VBS_TRY(vbs_onnx_check_copies(im, input, 1u << axis));
    vbs_onnx_same_copies(im, 0);
    VBS_TRY(count_in(im, shape.dim[axis], &shape.dim[axis]));
    from = lines_along(&input->shape, axis);
    to = lines_along(&shape, axis);
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &y));
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &at));
    ranked = vbs_arena_alloc(im->arena, (size_t)from.length, sizeof *ranked);
    if (!ranked)
        return vbs_no_memory(im->ctx);
    for (int64_t line = 0; line < to.n; line++) {
        bool batch = false;

        for (int64_t k = 0; k < from.length; k++) {
            ranked[k] = (struct line_element){x[first_of(&from, line) + k * from.step], k, largest};
            batch |= ranked[k].x.batch;
        }
        qsort(ranked, (size_t)from.length, sizeof *ranked, compare_ranked);
        for (int64_t k = 0; k < to.length; k++) {
            y[first_of(&to, line) + k * to.step] = (number){ranked[k].x.value, .batch = batch};
            at[first_of(&to, line) + k * to.step] = (number){ranked[k].index, .batch = batch};
        }
    }
    VBS_TRY(vbs_onnx_constant_new(im, INT64, &shape, at, &places));
    vbs_onnx_give_constant(im, 1, places);
    return vbs_onnx_give_numbers(im, input->type, &shape, y);
}

/* Marks the largest element of each line, the first of equal ones. */
VBS_ONNX_HANDLER(fold_hardmax)
{
    bool old = im->graph->opset < 13;
    struct lines lines;
    constant *input;
    const number *x;
    number *y;
    int axis;

    (void)operator;
    VBS_TRY(vbs_onnx_numbers_in(im, 0, &input, &x));
    VBS_TRY(vbs_onnx_constant_axis(im, vbs_onnx_int(im, "axis", old ? 1 : -1), input->shape.n_dims,
                                   &axis));
    lines = lines_along(&input->shape, axis);
    if (old) { /* all dimensions from axis on are one line */
        lines = (struct lines){.length = lines.length * lines.step, .step = 1};
        lines.n = lines.length > 0 ? vbs_shape_elements(&input->shape) / lines.length : 0;
    }
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&input->shape), &y));
    for (int64_t line = 0; line < lines.n; line++) {
        int64_t first = first_of(&lines, line), best = first;
        bool batch = false;

        for (int64_t k = 0; k < lines.length; k++) {
            int64_t at = first + k * lines.step;

            best = precedes(true, x[at].value, x[best].value) ? at : best;
            batch |= x[at].batch;
        }
        for (int64_t k = 0; k < lines.length; k++)
            y[first + k * lines.step] =
                (number){.value = first + k * lines.step == best, .batch = batch};
    }
    return vbs_onnx_give_numbers(im, input->type, &input->shape, y);
}

/* Divides each line by its length; a line of zeros stays one. */
VBS_ONNX_HANDLER(fold_lp_norm)
{
    struct lines lines;
    constant *input;
    const number *x;
    number *y;
    int axis, p;

    (void)operator;
    VBS_TRY(vbs_onnx_numbers_in(im, 0, &input, &x));
    VBS_TRY(vbs_onnx_constant_axis(im, vbs_onnx_int(im, "axis", -1), input->shape.n_dims, &axis));
    VBS_TRY(vbs_onnx_read_p(im, &p));
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&input->shape), &y));
    lines = lines_along(&input->shape, axis);
    for (int64_t line = 0; line < lines.n; line++) {
        int64_t first = first_of(&lines, line);
        long double length = 0;
        bool batch = false;

        for (int64_t k = 0; k < lines.length; k++) {
            const number *each = &x[first + k * lines.step];

            length += p == 1 ? fabsl(each->value) : each->value * each->value;
            batch |= each->batch;
        }
        length = p == 1 ? length : sqrtl(length);
        for (int64_t k = 0; k < lines.length; k++) {
            long double value = length == 0 ? 0 : x[first + k * lines.step].value / length;

            y[first + k * lines.step] =
                (number){.value = vbs_onnx_rounded(input->type, value), .batch = batch};
        }
    }
    return vbs_onnx_give_numbers(im, input->type, &input->shape, y);
}
