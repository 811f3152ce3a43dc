/*
 * Operators that choose elements of tensors by constant indices, and that give indices of elements.
 *
 * Which element stands where is found by the function that works on constants: it gets the numbers
 * of the elements in place of the elements.
 */
#include "base/fail.h"
#include "model/network/network.h"
#include "model/onnx/operators/operators.h"

#define FLOAT ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT
#define INT64 ONNX__TENSOR_PROTO__DATA_TYPE__INT64

/* ---- chosen elements ---- */

/* Gives the shape in the file of a tensor that has one sample there. */
static enum vbs_status file_shape(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                  struct vbs_shape *shape)
{
    *shape = x->shape;
    if (!im->batch)
        return VBS_OK;
    if (im->n_samples != 1 || im->outer > 0 || shape->n_dims == VBS_MAX_DIMS)
        return vbs_onnx_mixes(im);
    vbs_shape_insert(shape, im->at);
    return VBS_OK;
}

/* Makes the constant of the numbers of x's elements, from first on. */
static enum vbs_status number_elements(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                       int64_t first, struct vbs_onnx_state *numbered)
{
    struct vbs_onnx_number *numbers;
    struct vbs_shape shape;

    *numbered = (struct vbs_onnx_state){.tensor = NULL};
    if (x->tensor)
        VBS_TRY(file_shape(im, x, &shape));
    else
        shape = x->constant->shape;
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &numbers));
    for (int64_t i = 0; i < vbs_shape_elements(&shape); i++)
        numbers[i].value = (long double)(first + i);
    return vbs_onnx_constant_new(im, INT64, &shape, numbers, &numbered->constant);
}

/* Gives the shape of a tensor from one in the file. */
static enum vbs_status sample_shape(struct vbs_onnx_import *im, struct vbs_shape *shape)
{
    if (!im->batch)
        return VBS_OK;
    if (im->at >= shape->n_dims || shape->dim[im->at] != 1)
        return vbs_onnx_mixes(im);
    vbs_shape_drop(shape, im->at);
    return VBS_OK;
}

/* Makes the tensor of the elements of flat whose numbers these are, in the shape that these have.
 */
static enum vbs_status gather_numbers(struct vbs_onnx_import *im, struct vbs_onnx_tensor *tensor,
                                      const struct vbs_onnx_constant *numbers,
                                      struct vbs_onnx_state *result)
{
    const struct vbs_shape flat = {1, {vbs_shape_elements(&tensor->shape)}};
    const struct vbs_shape list = {1, {vbs_shape_elements(&numbers->shape)}};
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, VBS_OP_GATHER, 1);
    struct vbs_onnx_constant *indices;

    if (!draft)
        return vbs_no_memory(im->ctx);
    if (list.dim[0] == 0)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "its output has no elements");
    vbs_onnx_reads(draft, 0, tensor, &flat);
    draft->node.attributes.gather.axis = 0;
    draft->node.attributes.gather.indices = list;
    draft->node.operand = list;
    VBS_TRY(vbs_onnx_constant_new(im, INT64, &list, numbers->numbers, &indices));
    VBS_TRY(vbs_onnx_parameter(im, indices, 0, &draft->node.values[VBS_PARAMETER_OPERAND]));
    *result = (struct vbs_onnx_state){.shape = numbers->shape, .at = im->at};
    return vbs_onnx_tensor_new(im, draft, &result->tensor);
}

/* Does the same in the shape of a sample. */
static enum vbs_status gather_flat(struct vbs_onnx_import *im, struct vbs_onnx_tensor *tensor,
                                   const struct vbs_onnx_constant *numbers,
                                   struct vbs_onnx_state *result)
{
    VBS_TRY(gather_numbers(im, tensor, numbers, result));
    return sample_shape(im, &result->shape);
}

/* ---- each sample's own elements ---- */

/* Returns whether index number n of rows of depth indices is one of a sample into its own elements,
 * or (the first of a row) chooses the sample itself; each: indices of a sample; own: they are made
 * of the sample's position. */
static bool is_own_index(const struct vbs_onnx_number *given, int64_t n, int64_t depth,
                         int64_t each, bool own)
{
    const struct vbs_onnx_number *x = &given[n];

    if (n % depth > 0)
        return !x->batch && x->value == given[n % each].value;
    return own ? x->own == 1 && x->value == 0 : !x->batch && x->value == n / each;
}

/* Returns rows of indices into a sample, of rows whose first index is the sample's position, where
 * dimension *at counts the samples; null: they are other ones. */
static enum vbs_status strip_position(struct vbs_onnx_import *im, struct vbs_onnx_constant *indices,
                                      int *at, struct vbs_onnx_constant **stripped)
{
    struct vbs_shape shape = indices->shape;
    int64_t depth = shape.n_dims > 0 ? shape.dim[shape.n_dims - 1] : 0, each;
    bool own = indices->copies > 0;
    int64_t n = own ? 1 : im->n_samples;
    const struct vbs_onnx_number *given;
    struct vbs_onnx_number *made;

    *stripped = NULL;
    *at = own ? indices->copies - 1 : 0;
    if (*at >= shape.n_dims - 1 || n < 1 || shape.dim[*at] != n || depth < 2)
        return VBS_OK;
    each = vbs_shape_elements(&shape) / n;
    shape.dim[shape.n_dims - 1]--;
    vbs_shape_drop(&shape, *at);
    VBS_TRY(vbs_onnx_numbers(im, indices, &given));
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &made));
    for (int64_t i = 0; i < n * each; i++) {
        if (!is_own_index(given, i, depth, each, own))
            return VBS_OK;
        if (i < each && i % depth > 0)
            made[i / depth * (depth - 1) + i % depth - 1] = given[i];
    }
    return vbs_onnx_constant_new(im, indices->type, &shape, made, stripped);
}

/* Imports a GatherND in which each sample chooses from its own elements. *done: it is one. */
static enum vbs_status pick_own(struct vbs_onnx_import *im, const struct vbs_onnx_state *data,
                                struct vbs_onnx_constant *indices, bool *done)
{
    struct vbs_onnx_state inputs[2] = {{.tensor = NULL}, {.tensor = NULL}}, numbers, result;
    struct vbs_onnx_number *count;
    int at;

    *done = false;
    if (!im->batch || im->outer > 0 || im->at > 0 || vbs_onnx_int(im, "batch_dims", 0) != 0)
        return VBS_OK;
    VBS_TRY(strip_position(im, indices, &at, &inputs[1].constant));
    *done = inputs[1].constant != NULL;
    if (!*done)
        return VBS_OK;
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&data->shape), &count));
    for (int64_t i = 0; i < vbs_shape_elements(&data->shape); i++)
        count[i].value = (long double)i;
    VBS_TRY(vbs_onnx_constant_new(im, INT64, &data->shape, count, &inputs[0].constant));
    VBS_TRY(vbs_onnx_run_as(im, "GatherND", inputs, 2, &numbers));
    VBS_TRY(gather_numbers(im, data->tensor, numbers.constant, &result));
    im->at_out = at;
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* GatherElements and GatherND of data. */
VBS_ONNX_HANDLER(pick)
{
    struct vbs_onnx_state inputs[2], numbers, result;
    struct vbs_onnx_constant *indices;
    const struct vbs_onnx_state *data, *places = vbs_onnx_in(im, 1);
    bool done = false;

    if (places && places->tensor)
        return operator->op == 1 ? vbs_onnx_take_by(im) : vbs_onnx_pick_by(im);
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &data));
    VBS_TRY(vbs_onnx_constant_in(im, 1, &indices));
    if (operator->op == 1)
        VBS_TRY(pick_own(im, data, indices, &done));
    if (done)
        return VBS_OK;
    if (im->batch && operator->op == 1 && vbs_onnx_int(im, "batch_dims", 0) <= im->at)
        return vbs_onnx_mixes(im);
    VBS_TRY(number_elements(im, data, 0, &inputs[0]));
    inputs[1] = (struct vbs_onnx_state){.constant = indices};
    VBS_TRY(vbs_onnx_run_as(im, operator->name, inputs, 2, &numbers));
    VBS_TRY(gather_flat(im, data->tensor, numbers.constant, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* ---- scattered elements ---- */

/* Joins the elements of two tensors, one after the other. */
static enum vbs_status join_flat(struct vbs_onnx_import *im, struct vbs_onnx_tensor *a,
                                 struct vbs_onnx_tensor *b, struct vbs_onnx_tensor **joined)
{
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, VBS_OP_CONCAT, 2);
    const struct vbs_shape first = {1, {vbs_shape_elements(&a->shape)}};
    const struct vbs_shape second = {1, {vbs_shape_elements(&b->shape)}};

    if (!draft)
        return vbs_no_memory(im->ctx);
    vbs_onnx_reads(draft, 0, a, &first);
    vbs_onnx_reads(draft, 1, b, &second);
    return vbs_onnx_tensor_new(im, draft, joined);
}

/* Puts together a tensor whose elements come from a tensor (with numbers first .. first + count -
 * 1) and others from a constant (from number other on). */
static enum vbs_status mix_flat(struct vbs_onnx_import *im, struct vbs_onnx_tensor *tensor,
                                int64_t first, struct vbs_onnx_constant *others, int64_t other,
                                const struct vbs_onnx_constant *numbers,
                                struct vbs_onnx_state *result)
{
    int64_t count = vbs_shape_elements(&numbers->shape), n = vbs_shape_elements(&tensor->shape);
    struct vbs_onnx_number *at, *mask, *fixed;
    struct vbs_onnx_state gathered, kept, chosen = {.tensor = NULL}, constant = {.tensor = NULL};
    const struct vbs_onnx_number *values;
    struct vbs_onnx_constant *places;

    VBS_TRY(vbs_onnx_numbers(im, others, &values));
    VBS_TRY(vbs_onnx_numbers_new(im, count, &at));
    VBS_TRY(vbs_onnx_numbers_new(im, count, &mask));
    VBS_TRY(vbs_onnx_numbers_new(im, count, &fixed));
    for (int64_t i = 0; i < count; i++) {
        int64_t from = (int64_t)numbers->numbers[i].value - first;

        mask[i].value = from >= 0 && from < n;
        if (mask[i].value != 0)
            at[i].value = (long double)from;
        else
            fixed[i] = values[(int64_t)numbers->numbers[i].value - other];
    }
    VBS_TRY(vbs_onnx_constant_new(im, INT64, &numbers->shape, at, &places));
    VBS_TRY(vbs_onnx_constant_new(im, FLOAT, &numbers->shape, mask, &chosen.constant));
    VBS_TRY(vbs_onnx_constant_new(im, FLOAT, &numbers->shape, fixed, &constant.constant));
    VBS_TRY(gather_flat(im, tensor, places, &gathered));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_KEEP, &gathered, &chosen, &kept));
    return vbs_onnx_combine(im, VBS_OP_ADD, &kept, &constant, result);
}

/* ScatterElements and ScatterND; data, updates or both are tensors. */
VBS_ONNX_HANDLER(scatter)
{
    const struct vbs_onnx_state *data = vbs_onnx_in(im, 0), *updates = vbs_onnx_in(im, 2);
    struct vbs_onnx_state inputs[3], numbers, result;
    struct vbs_onnx_constant *indices;
    struct vbs_onnx_tensor *joined;
    int64_t n;

    if (!data || !updates)
        return vbs_fail(im->ctx, VBS_FORMAT, "an input is missing");
    if (!vbs_onnx_is(im, "reduction", "none", true))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                        "combines updates with what is there; on data "
                        "they can only take its place");
    VBS_TRY(vbs_onnx_constant_in(im, 1, &indices));
    VBS_TRY(number_elements(im, data, 0, &inputs[0]));
    n = vbs_shape_elements(&inputs[0].constant->shape);
    VBS_TRY(number_elements(im, updates, n, &inputs[2]));
    inputs[1] = (struct vbs_onnx_state){.constant = indices};
    VBS_TRY(vbs_onnx_run_as(im, operator->name, inputs, 3, &numbers));
    if (data->tensor && updates->tensor) {
        VBS_TRY(join_flat(im, data->tensor, updates->tensor, &joined));
        VBS_TRY(gather_flat(im, joined, numbers.constant, &result));
    } else if (data->tensor) {
        VBS_TRY(mix_flat(im, data->tensor, 0, updates->constant, n, numbers.constant, &result));
    } else {
        VBS_TRY(mix_flat(im, updates->tensor, n, data->constant, 0, numbers.constant, &result));
    }
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* ---- triangles and sums ---- */

static enum vbs_status ones(struct vbs_onnx_import *im, int64_t rows, int64_t columns,
                            bool diagonal, struct vbs_onnx_state *result)
{
    const struct vbs_shape shape = {2, {rows, columns}};
    struct vbs_onnx_number *numbers;

    *result = (struct vbs_onnx_state){.tensor = NULL};
    if (columns > VBS_ONNX_MAX_NUMBERS / rows)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                        "a matrix of %lldx%lld is too large to compute with", (long long)rows,
                        (long long)columns);
    VBS_TRY(vbs_onnx_numbers_new(im, rows * columns, &numbers));
    for (int64_t i = 0; i < rows * columns; i++)
        numbers[i].value = !diagonal || i / columns == i % columns;
    return vbs_onnx_constant_new(im, FLOAT, &shape, numbers, &result->constant);
}

/* Keeps one triangle of each matrix: the mask is that of a matrix of ones. */
VBS_ONNX_HANDLER(trilu)
{
    struct vbs_onnx_state inputs[2] = {{.tensor = NULL}}, mask, result;
    const struct vbs_onnx_state *x, *shift = vbs_onnx_in(im, 1);
    int row, column;

    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    if (shift && !shift->constant)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "input 1 is to be a constant");
    VBS_TRY(vbs_onnx_axis(im, -2, vbs_onnx_rank(im, x), &row));
    VBS_TRY(vbs_onnx_axis(im, -1, vbs_onnx_rank(im, x), &column));
    VBS_TRY(ones(im, x->shape.dim[row], x->shape.dim[column], false, &inputs[0]));
    if (shift)
        inputs[1] = *shift;
    VBS_TRY(vbs_onnx_run_as(im, operator->name, inputs, 2, &mask));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_KEEP, x, &mask, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* Multiplies each line by a triangle of ones, which is the cumulative sum of a diagonal. */
VBS_ONNX_HANDLER(cum_sum)
{
    struct vbs_onnx_state inputs[2] = {{.tensor = NULL}}, turned, sums, result;
    const struct vbs_onnx_state *x;
    struct vbs_onnx_constant *along;
    struct vbs_onnx_number *one;
    int perm[VBS_MAX_DIMS], dim, last;
    double axis = 0;

    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(vbs_onnx_constant_in(im, 1, &along));
    VBS_TRY(vbs_onnx_scalar(im, along, &axis));
    VBS_TRY(vbs_onnx_axis(im, vbs_onnx_clamp(axis), vbs_onnx_rank(im, x), &dim));
    last = x->shape.n_dims - 1;
    for (int d = 0; d <= last; d++)
        perm[d] = d == dim ? last : d == last ? dim : d;
    VBS_TRY(ones(im, x->shape.dim[dim], x->shape.dim[dim], true, &inputs[0]));
    VBS_TRY(vbs_onnx_numbers_new(im, 1, &one));
    one->value = 1;
    VBS_TRY(vbs_onnx_constant_new(im, INT64, &(struct vbs_shape){.n_dims = 0}, one,
                                  &inputs[1].constant));
    VBS_TRY(vbs_onnx_run_as(im, operator->name, inputs, 2, &sums));
    VBS_TRY(vbs_onnx_permute(im, x, perm, &turned));
    turned.at = x->at;
    turned.outer = x->outer;
    inputs[0] = turned;
    inputs[1] = sums;
    VBS_TRY(vbs_onnx_run_as(im, "MatMul", inputs, 2, &turned));
    VBS_TRY(vbs_onnx_permute(im, &turned, perm, &result));
    return vbs_onnx_give(im, 0, result.tensor, &x->shape);
}

/* ---- indices of elements ---- */

/* Makes first, first + 1, ... along dimension dim of rank ones. */
static enum vbs_status count_along(struct vbs_onnx_import *im, int rank, int dim, int64_t n,
                                   int64_t first, struct vbs_onnx_state *result)
{
    struct vbs_shape shape = {.n_dims = rank - dim, .dim = {n}};
    struct vbs_onnx_number *numbers;

    for (int d = 1; d < shape.n_dims; d++)
        shape.dim[d] = 1;
    *result = (struct vbs_onnx_state){.tensor = NULL};
    VBS_TRY(vbs_onnx_numbers_new(im, n, &numbers));
    for (int64_t i = 0; i < n; i++)
        numbers[i].value = (long double)(first + i);
    return vbs_onnx_constant_new(im, INT64, &shape, numbers, &result->constant);
}

/* The first place of the largest element: the smallest of i - n where it is, and of 0 elsewhere,
 * and n more. The last place: the largest of i + 1 where it is, and of 0, and 1 less. */
VBS_ONNX_HANDLER(arg)
{
    bool largest = operator->op == VBS_FOLD_ARG_MAX, keep = vbs_onnx_int(im, "keepdims", 1) != 0;
    bool last = vbs_onnx_int(im, "select_last_index", 0) != 0;
    struct vbs_onnx_state most, same, places, marked, found, result;
    struct vbs_shape kept, shape;
    const struct vbs_onnx_state *x;
    int rank, dim;
    int64_t n;

    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    rank = vbs_onnx_rank(im, x);
    VBS_TRY(vbs_onnx_axis(im, vbs_onnx_int(im, "axis", 0), rank, &dim));
    n = x->shape.dim[dim];
    VBS_TRY(vbs_onnx_reduce_state(im, largest ? VBS_OP_REDUCE_MAX : VBS_OP_REDUCE_MIN, x, 1u << dim,
                                  &most));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_EQUAL, x, &most, &same));
    VBS_TRY(count_along(im, rank, vbs_onnx_file_dim(im, dim), n, last ? 1 : -n, &places));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_MUL, &same, &places, &marked));
    VBS_TRY(vbs_onnx_reduce_state(im, last ? VBS_OP_REDUCE_MAX : VBS_OP_REDUCE_MIN, &marked,
                                  1u << dim, &found));
    VBS_TRY(vbs_onnx_linear(im, &found, 1, last ? -1 : (double)n, &result));
    im->whole_out = true;
    im->type_out = INT64;
    vbs_onnx_reduced_shapes(&x->shape, 1u << dim, keep, &kept, &shape);
    if (!keep && im->batch && im->outer == 0 && vbs_onnx_file_dim(im, dim) < im->at)
        im->at_out--;
    return vbs_onnx_give(im, 0, result.tensor, &shape);
}

/* Gives x a new dimension of 1, number dim in the file, and makes it the state of the node. */
static enum vbs_status insert_dimension(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                        int dim, struct vbs_onnx_state *result)
{
    bool apart = vbs_onnx_is_apart(im);
    int own = dim - (apart && dim > im->at);

    if (im->batch && !apart)
        return vbs_onnx_mixes(im);
    if (x->shape.n_dims == VBS_MAX_DIMS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "more than %d dimensions", VBS_MAX_DIMS);
    *result = *x;
    vbs_shape_insert(&result->shape, own);
    im->at += apart && dim <= im->at;
    result->at = im->at_out = im->at;
    return VBS_OK;
}

/* on where the index is the place along the new dimension, counted from either end, else off. */
VBS_ONNX_HANDLER(one_hot)
{
    struct vbs_onnx_state wide, places, front, behind, either, result;
    struct vbs_onnx_constant *deep, *values;
    const struct vbs_onnx_number *off_on;
    const struct vbs_onnx_state *x;
    int rank, axis;
    double depth = 0;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(vbs_onnx_constant_in(im, 1, &deep));
    VBS_TRY(vbs_onnx_scalar(im, deep, &depth));
    VBS_TRY(vbs_onnx_known_in(im, 2, &values, &off_on));
    rank = vbs_onnx_rank(im, x) + 1;
    if (depth < 1 || depth > VBS_ONNX_MAX_NUMBERS || vbs_shape_elements(&values->shape) != 2)
        return vbs_fail(im->ctx, VBS_FORMAT, "needs a depth and two values");
    VBS_TRY(vbs_onnx_constant_axis(im, vbs_onnx_int(im, "axis", -1), rank, &axis));
    VBS_TRY(insert_dimension(im, x, axis, &wide));
    VBS_TRY(count_along(im, rank, axis, (int64_t)depth, 0, &places));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_EQUAL, &wide, &places, &front));
    VBS_TRY(count_along(im, rank, axis, (int64_t)depth, -(int64_t)depth, &places));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_EQUAL, &wide, &places, &behind));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_MAX, &front, &behind, &either));
    VBS_TRY(vbs_onnx_linear(im, &either, (double)(off_on[1].value - off_on[0].value),
                            (double)off_on[0].value, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* ---- the largest elements ---- */

/* Gives how many elements a TopK takes: an attribute in versions before 10. */
static enum vbs_status read_k(struct vbs_onnx_import *im, int64_t *k)
{
    struct vbs_onnx_constant *given;
    double value = 0;

    *k = vbs_onnx_int(im, "k", 0);
    if (im->graph->opset < 10)
        return VBS_OK;
    VBS_TRY(vbs_onnx_constant_in(im, 1, &given));
    VBS_TRY(vbs_onnx_scalar(im, given, &value));
    *k = vbs_onnx_clamp(value);
    return VBS_OK;
}

/* The elements and their positions are two layers, of which one is mostly not needed. */
VBS_ONNX_HANDLER(top_k)
{
    union vbs_attributes attributes = {.topk = {.axis = 0}};
    const struct vbs_onnx_state *x;
    struct vbs_onnx_tensor *taken;
    struct vbs_shape shape;
    int dim;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(vbs_onnx_axis(im, vbs_onnx_int(im, "axis", -1), vbs_onnx_rank(im, x), &dim));
    VBS_TRY(read_k(im, &attributes.topk.k));
    attributes.topk.axis = dim;
    attributes.topk.smallest = vbs_onnx_int(im, "largest", 1) == 0;
    shape = x->shape;
    if (attributes.topk.k < 1 || attributes.topk.k > shape.dim[dim])
        return vbs_fail(im->ctx, VBS_FORMAT, "takes %lld of %lld elements",
                        (long long)attributes.topk.k, (long long)shape.dim[dim]);
    shape.dim[dim] = attributes.topk.k;
    im->whole_more = true;
    for (int i = 0; i < 2; i++) {
        attributes.topk.positions = i == 1;
        if (!vbs_onnx_output_used(im, i))
            continue;
        VBS_TRY(vbs_onnx_apply(im, VBS_OP_TOPK, &attributes, x->tensor, &x->shape, &taken));
        if (!vbs_onnx_output_used(im, 0))
            taken->draft->name = im->node->label;
        VBS_TRY(vbs_onnx_give(im, i, taken, &shape));
    }
    return VBS_OK;
}

/* 1 at the first place of the largest element, else 0: of each line along a dimension or, before
 * version 13, of all dimensions from axis on as one line. */
VBS_ONNX_HANDLER(hardmax)
{
    union vbs_attributes attributes = {.topk = {.k = 1, .positions = true}};
    bool old = im->graph->opset < 13;
    struct vbs_onnx_state place, places, result;
    const struct vbs_onnx_state *x;
    struct vbs_shape view;
    int dim;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(vbs_onnx_axis(im, vbs_onnx_int(im, "axis", old ? 1 : -1), vbs_onnx_rank(im, x), &dim));
    if (old && im->batch && im->at > dim)
        return vbs_onnx_mixes(im);
    view = x->shape;
    if (old) {
        view = (struct vbs_shape){2, {1, 1}};
        for (int d = 0; d < x->shape.n_dims; d++)
            view.dim[d >= dim] *= x->shape.dim[d];
        dim = 1;
    }
    attributes.topk.axis = dim;
    place = *x;
    place.shape = view;
    place.shape.dim[dim] = 1;
    VBS_TRY(vbs_onnx_apply(im, VBS_OP_TOPK, &attributes, x->tensor, &view, &place.tensor));
    VBS_TRY(count_along(im, view.n_dims, dim, view.dim[dim], 0, &places));
    VBS_TRY(vbs_onnx_keep(im, VBS_OP_EQUAL, &place, places.constant, false, &result));
    return vbs_onnx_give(im, 0, result.tensor, &x->shape);
}

/* ---- sequences that are reversed ---- */

enum vbs_status vbs_onnx_read_reversed(struct vbs_onnx_import *im, int rank, int *batch_axis,
                                       int *time_axis)
{
    int64_t batch = vbs_onnx_int(im, "batch_axis", 1), time = vbs_onnx_int(im, "time_axis", 0);

    if (rank < 2 || (batch != 0 && batch != 1) || time != 1 - batch)
        return vbs_fail(im->ctx, VBS_FORMAT,
                        "samples in dimension %lld and elements in dimension %lld of %d",
                        (long long)batch, (long long)time, rank);
    *batch_axis = (int)batch;
    *time_axis = (int)time;
    return VBS_OK;
}

/* Reads the lengths of n sequences, which are constants, of at most `most` elements; *same is the
 * one that all have, or -1. */
static enum vbs_status read_lengths(struct vbs_onnx_import *im, int64_t n, int64_t most,
                                    int64_t *same)
{
    const struct vbs_onnx_number *numbers;
    struct vbs_onnx_constant *lengths;
    int64_t count;

    VBS_TRY(vbs_onnx_numbers_in(im, 1, &lengths, &numbers));
    count = vbs_shape_elements(&lengths->shape);
    /* samples have one length that stands for all */
    if (count != n && !(im->batch && count == 1))
        return im->batch ? vbs_onnx_mixes(im)
                         : vbs_fail(im->ctx, VBS_FORMAT, "%lld lengths of %lld sequences",
                                    (long long)count, (long long)n);
    for (int64_t i = 0; i < count; i++) {
        int64_t length = vbs_onnx_clamp(numbers[i].value);

        if (numbers[i].batch)
            return vbs_onnx_mixes(im);
        if (length < 0 || length > most)
            return vbs_fail(im->ctx, VBS_FORMAT, "reverses %lld of %lld elements",
                            (long long)length, (long long)most);
        *same = i == 0 || length == *same ? length : -1;
        if (*same < 0)
            return VBS_OK;
    }
    return VBS_OK;
}

/* Reverses the first elements of all sequences. */
static enum vbs_status reverse_alike(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                     int dim, int64_t length)
{
    const struct vbs_shape list = {1, {x->shape.dim[dim]}};
    struct vbs_onnx_constant *places;
    struct vbs_onnx_number *numbers;
    struct vbs_onnx_state result;

    VBS_TRY(vbs_onnx_numbers_new(im, list.dim[0], &numbers));
    for (int64_t i = 0; i < list.dim[0]; i++)
        numbers[i].value = i < length ? length - 1 - i : i;
    VBS_TRY(vbs_onnx_constant_new(im, INT64, &list, numbers, &places));
    VBS_TRY(vbs_onnx_take_along(im, x, dim, places, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* Reverses as many elements as a tensor says: element i comes from i + (n - 1 - 2 i) (i < n). */
static enum vbs_status reverse_by(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                  int dim, int batch_axis)
{
    const union vbs_attributes wide = {.expand = {x->shape}};
    struct vbs_onnx_state n = *vbs_onnx_in(im, 1), i, turn, moved, within, places;
    struct vbs_onnx_constant *twice;
    struct vbs_onnx_number *numbers;
    int64_t most = x->shape.dim[dim];

    n.at = x->at;
    n.shape = x->shape;
    for (int d = 0; d < n.shape.n_dims; d++)
        n.shape.dim[d] = im->batch || d != batch_axis ? 1 : x->shape.dim[d];
    if (vbs_shape_elements(&n.shape) != vbs_shape_elements(&n.tensor->shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "has not one length for each sequence");
    VBS_TRY(count_along(im, x->shape.n_dims, dim, most, 0, &i));
    VBS_TRY(vbs_onnx_numbers_new(im, most, &numbers));
    for (int64_t k = 0; k < most; k++)
        numbers[k].value = 1 + 2 * k;
    VBS_TRY(vbs_onnx_constant_new(im, INT64, &i.constant->shape, numbers, &twice));
    VBS_TRY(vbs_onnx_keep(im, VBS_OP_SUB, &n, twice, false, &turn));
    VBS_TRY(vbs_onnx_keep(im, VBS_OP_LESS, &n, i.constant, true, &within));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_MUL, &turn, &within, &moved));
    VBS_TRY(vbs_onnx_keep(im, VBS_OP_ADD, &moved, i.constant, false, &places));
    VBS_TRY(vbs_onnx_apply(im, VBS_OP_EXPAND, &wide, places.tensor, &places.shape, &places.tensor));
    places.shape = x->shape;
    return vbs_onnx_pick_elements(im, x, &places, dim);
}

VBS_ONNX_HANDLER(reverse_sequence)
{
    const struct vbs_onnx_state *x, *lengths = vbs_onnx_in(im, 1);
    struct vbs_onnx_state inputs[2], numbers, result;
    int batch_axis, time_axis, dim, rank;
    int64_t same = -1;

    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    rank = vbs_onnx_rank(im, x);
    VBS_TRY(vbs_onnx_read_reversed(im, rank, &batch_axis, &time_axis));
    VBS_TRY(vbs_onnx_axis(im, time_axis, rank, &dim));
    if (im->batch && (im->at != batch_axis || im->outer > 0))
        return vbs_onnx_mixes(im);
    if (lengths && lengths->tensor)
        return reverse_by(im, x, dim, batch_axis);
    VBS_TRY(read_lengths(im, im->batch ? im->n_samples : x->shape.dim[batch_axis],
                         x->shape.dim[dim], &same));
    if (same >= 0)
        return reverse_alike(im, x, dim, same);
    if (im->batch)
        return vbs_onnx_mixes(im);
    VBS_TRY(number_elements(im, x, 0, &inputs[0]));
    inputs[1] = *lengths;
    VBS_TRY(vbs_onnx_run_as(im, operator->name, inputs, 2, &numbers));
    VBS_TRY(gather_flat(im, x->tensor, numbers.constant, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}
