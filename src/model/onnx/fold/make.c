/* Constants that nodes make from attributes, from shapes and from ranges. */
#include "model/onnx/fold/fold.h"

#include "base/fail.h"
#include "vbslab/units.h"

#include <math.h>

#define INT64 ONNX__TENSOR_PROTO__DATA_TYPE__INT64
#define FLOAT ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT

typedef struct vbs_onnx_number number;
typedef struct vbs_onnx_constant constant;

/* Makes a constant of the numbers in attribute value_ints, value_floats or their scalar forms. */
static enum vbs_status listed_constant(struct vbs_onnx_import *im)
{
    int n_ints, n_reals;
    const int64_t *ints = vbs_onnx_ints(im, "value_ints", &n_ints);
    const float *reals = vbs_onnx_reals(im, "value_floats", &n_reals);
    bool one_int = vbs_onnx_has(im, "value_int"), one_real = vbs_onnx_has(im, "value_float");
    bool list = vbs_onnx_has(im, "value_ints") || vbs_onnx_has(im, "value_floats");
    int count = list ? n_ints + n_reals : 1;
    struct vbs_shape shape = {.n_dims = list, .dim = {count}};
    number *numbers;

    VBS_TRY(vbs_onnx_numbers_new(im, count, &numbers));
    if (!list && !one_int && !one_real)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "has no value that is a tensor of numbers");
    for (int i = 0; i < count && list; i++)
        numbers[i].value = n_ints ? (long double)ints[i] : (long double)reals[i];
    if (one_int)
        numbers[0].value = vbs_onnx_int(im, "value_int", 0);
    else if (one_real)
        numbers[0].value = vbs_onnx_real(im, "value_float", 0);
    return vbs_onnx_give_numbers(im, one_int || n_ints ? INT64 : FLOAT, &shape, numbers);
}

VBS_ONNX_HANDLER(fold_constant)
{
    const Onnx__TensorProto *tensor = vbs_onnx_tensor_attribute(im, "value");
    const Onnx__SparseTensorProto *sparse = vbs_onnx_sparse_attribute(im, "sparse_value");
    constant *made;

    (void)operator;
    if (!tensor && !sparse)
        return listed_constant(im);
    if (tensor)
        VBS_TRY(vbs_onnx_file_constant(im->ctx, im->graph->file, tensor, &made));
    else
        VBS_TRY(
            vbs_onnx_file_sparse(im->ctx, im->graph->file, sparse, &im->graph->n_sparse, &made));
    if (!made->name[0])
        made->name = im->node->label;
    vbs_onnx_give_constant(im, 0, made);
    return VBS_OK;
}

VBS_ONNX_HANDLER(fold_constant_of_shape)
{
    const Onnx__TensorProto *tensor = vbs_onnx_tensor_attribute(im, "value");
    int64_t values[VBS_MAX_DIMS + 1];
    constant *value = NULL, *made;
    const number *numbers = NULL;
    struct vbs_shape shape;
    int open, n;
    enum vbs_status status = vbs_onnx_target(im, 0, values, &open, &n);

    (void)operator;
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_onnx_constant_shape(im, values, n, &shape));
    if (tensor)
        VBS_TRY(vbs_onnx_file_constant(im->ctx, im->graph->file, tensor, &value));
    if (value)
        VBS_TRY(vbs_onnx_numbers(im, value, &numbers));
    if (value && vbs_shape_elements(&value->shape) != 1)
        return vbs_fail(im->ctx, VBS_FORMAT, "its value has more than one element");
    made = vbs_arena_alloc(im->arena, 1, sizeof *made);
    if (!made)
        return vbs_no_memory(im->ctx);
    *made =
        (constant){.name = im->node->label, .type = value ? value->type : FLOAT, .shape = shape};
    made->values = (struct vbs_values){.file = -1, .fill = numbers ? (double)numbers[0].value : 0};
    vbs_onnx_plain_strides(&shape, made->stride);
    im->copies = open + 1;
    vbs_onnx_give_constant(im, 0, made);
    return VBS_OK;
}

/* Makes the positions of all samples, or of so many (each) elements of every sample, and keeps the
 * positions of one sample. */
static enum vbs_status give_positions(struct vbs_onnx_import *im, int type, int64_t each)
{
    struct vbs_shape shape = {.n_dims = 1, .dim = {each}};
    number *numbers;

    VBS_TRY(vbs_onnx_numbers_new(im, each, &numbers));
    for (int64_t i = 0; i < each; i++)
        numbers[i] = (number){i, true, each};
    im->copies = 1;
    return vbs_onnx_give_numbers(im, type, &shape, numbers);
}

/* Returns the elements of every sample over which a range from 0 in steps of 1 goes, where its
 * limit is a multiple of the number of samples; else 0. */
static int64_t count_positions(const number *first, const number *limit, const number *step)
{
    int64_t n = vbs_onnx_clamp(limit->value);

    if (first->batch || step->batch || first->value != 0 || step->value != 1 || !limit->batch ||
        limit->own != 0 || n < VBS_ONNX_OPEN_BATCH || n % VBS_ONNX_OPEN_BATCH != 0)
        return 0;
    return n / VBS_ONNX_OPEN_BATCH;
}

VBS_ONNX_HANDLER(fold_range)
{
    constant *input[3];
    const number *given[3] = {NULL, NULL, NULL};
    long double value[3], count;
    struct vbs_shape shape = {.n_dims = 1};
    number *numbers;
    int64_t each;

    (void)operator;
    for (int i = 0; i < 3; i++) {
        VBS_TRY(vbs_onnx_numbers_in(im, i, &input[i], &given[i]));
        if (vbs_shape_elements(&input[i]->shape) != 1)
            return vbs_fail(im->ctx, VBS_FORMAT,
                            "start, limit and delta are to be one number each");
        value[i] = given[i]->value;
    }
    each = vbs_onnx_is_wide(input[0]->type) ? count_positions(given[0], given[1], given[2]) : 0;
    if (each > 0)
        return give_positions(im, input[0]->type, each);
    if (given[0]->batch || given[1]->batch || given[2]->batch)
        return vbs_onnx_counts(im);
    count = value[2] == 0 ? NAN : ceill((value[1] - value[0]) / value[2]);
    if (!(count <= VBS_ONNX_MAX_NUMBERS))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "the range is too long, or endless");
    shape.dim[0] = count > 0 ? (int64_t)count : 0;
    VBS_TRY(vbs_onnx_numbers_new(im, shape.dim[0], &numbers));
    for (int64_t i = 0; i < shape.dim[0]; i++)
        numbers[i].value = vbs_onnx_rounded(input[0]->type, value[0] + i * value[2]);
    return vbs_onnx_give_numbers(im, input[0]->type, &shape, numbers);
}

/* Makes a matrix of the input's shape, with ones on a diagonal. */
VBS_ONNX_HANDLER(fold_eye_like)
{
    int64_t shift = vbs_onnx_int(im, "k", 0), columns;
    constant *input;
    number *ones;
    int type;
    enum vbs_status status = vbs_onnx_constant_in(im, 0, &input);

    (void)operator;
    if (status != VBS_OK)
        return status;
    type = (int)vbs_onnx_int(im, "dtype", input->type);
    if (input->shape.n_dims != 2)
        return vbs_fail(im->ctx, VBS_FORMAT, "its input is no matrix");
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&input->shape), &ones));
    columns = input->shape.dim[1];
    for (int64_t i = 0; i < vbs_shape_elements(&input->shape); i++)
        ones[i].value = i % columns - i / columns == shift;
    return vbs_onnx_give_numbers(im, type, &input->shape, ones);
}

/* ---- shapes of values ---- */

void vbs_onnx_dims_of(const struct vbs_onnx_import *im, int64_t *dims, int *batch, int *n)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, 0);
    const struct vbs_shape *shape = state->constant ? &state->constant->shape : &state->shape;

    bool apart = im->batch && !state->constant && im->outer == 0;

    if (state->constant)
        *batch = state->constant->copies - 1;
    else
        *batch = im->batch ? im->at : -1;
    *n = 0;
    for (int d = 0; d <= shape->n_dims; d++) {
        if (d == *batch && apart)
            dims[(*n)++] = VBS_ONNX_OPEN_BATCH;
        if (d < shape->n_dims)
            dims[(*n)++] = shape->dim[d] * (d == *batch && !apart ? VBS_ONNX_OPEN_BATCH : 1);
    }
}

static int64_t within(int64_t value, int n)
{
    value = value < 0 ? value + n : value;
    return value < 0 ? 0 : value > n ? n : value;
}

VBS_ONNX_HANDLER(fold_shape)
{
    int64_t dims[VBS_MAX_DIMS + 1], begin, end;
    struct vbs_shape shape = {.n_dims = 1};
    number *numbers;
    int batch, n;

    (void)operator;
    if (!vbs_onnx_in(im, 0))
        return vbs_fail(im->ctx, VBS_FORMAT, "input 0 is missing");
    vbs_onnx_dims_of(im, dims, &batch, &n);
    im->copies = 0;
    begin = within(vbs_onnx_int(im, "start", 0), n);
    end = within(vbs_onnx_int(im, "end", n), n);
    shape.dim[0] = end > begin ? end - begin : 0;
    VBS_TRY(vbs_onnx_numbers_new(im, shape.dim[0], &numbers));
    for (int64_t i = 0; i < shape.dim[0]; i++)
        numbers[i] = (number){dims[begin + i], .batch = begin + i == batch};
    return vbs_onnx_give_numbers(im, INT64, &shape, numbers);
}

VBS_ONNX_HANDLER(fold_size)
{
    struct vbs_shape scalar = {.n_dims = 0};
    int64_t dims[VBS_MAX_DIMS + 1];
    number *size;
    int batch, n;
    enum vbs_status status = vbs_onnx_numbers_new(im, 1, &size);

    (void)operator;
    if (status != VBS_OK)
        return status;
    if (!vbs_onnx_in(im, 0))
        return vbs_fail(im->ctx, VBS_FORMAT, "input 0 is missing");
    vbs_onnx_dims_of(im, dims, &batch, &n);
    im->copies = 0;
    *size = (number){1, .batch = batch >= 0};
    for (int d = 0; d < n; d++)
        size->value *= dims[d];
    return vbs_onnx_give_numbers(im, INT64, &scalar, size);
}
