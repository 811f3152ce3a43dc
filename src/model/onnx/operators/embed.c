/*
 * Indices that vary. A Gather with a constant table copies the rows that they choose, a
 * GatherElements of data the elements. Of a constant it keeps what is marked, 1 in the place of the
 * index and 0 in all others, and adds up what is left along the dimension.
 */
#include "base/fail.h"
#include "model/onnx/operators/operators.h"

#define FLOAT ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT

#define MOST_ROWS   16777216 /* of a table: the whole numbers that floats have */
#define MOST_MARKED 65536    /* elements of a dimension: each index takes as many floats */

/* Makes the constant 0, 1, ... of n numbers; of one number it is `only`. */
static enum vbs_status count_up(struct vbs_onnx_import *im, int64_t n, double only,
                                struct vbs_onnx_constant **constant)
{
    const struct vbs_shape shape = {1, {n}};
    struct vbs_onnx_number *numbers;

    VBS_TRY(vbs_onnx_numbers_new(im, n, &numbers));
    for (int64_t i = 0; i < n; i++)
        numbers[i].value = n == 1 ? only : (double)i;
    return vbs_onnx_constant_new(im, FLOAT, &shape, numbers, constant);
}

/* Adds the number of rows to indices below 0, which count from the end. */
static enum vbs_status count_from_end(struct vbs_onnx_import *im, int64_t rows,
                                      struct vbs_onnx_state *x)
{
    struct vbs_onnx_state below, more, sum;
    struct vbs_onnx_constant *zero;

    VBS_TRY(count_up(im, 1, 0, &zero));
    VBS_TRY(vbs_onnx_operand(im, VBS_OP_LESS, x, zero, false, &below));
    VBS_TRY(vbs_onnx_linear(im, &below, (double)rows, 0, &more));
    more.shape = x->shape;
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_ADD, x, &more, &sum));
    x->tensor = sum.tensor;
    return VBS_OK;
}

/* Makes what is 1 where the last dimension, of all rows, is at the index. */
static enum vbs_status mark_rows(struct vbs_onnx_import *im, const struct vbs_onnx_state *indices,
                                 int64_t rows, struct vbs_onnx_state *marks)
{
    struct vbs_onnx_state x = *indices;
    struct vbs_onnx_constant *numbers;

    x.shape.dim[x.shape.n_dims++] = 1;
    VBS_TRY(count_from_end(im, rows, &x));
    VBS_TRY(count_up(im, rows, 0, &numbers));
    return vbs_onnx_operand(im, VBS_OP_EQUAL, &x, numbers, false, marks);
}

/* Notes that a tensor has numbers of so many rows. */
static void note_rows(struct vbs_onnx_tensor *tensor, int64_t rows)
{
    if (tensor->rows == 0 || rows < tensor->rows)
        tensor->rows = rows;
}

static enum vbs_status check_table(struct vbs_onnx_import *im, const struct vbs_shape *table,
                                   const struct vbs_shape *indices)
{
    if (vbs_onnx_int(im, "axis", 0) != 0)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                        "indices that vary are supported along dimension 0 of a table only");
    if (table->n_dims < 1 || vbs_shape_elements(table) == 0)
        return vbs_fail(im->ctx, VBS_FORMAT, "its table has no rows");
    if (table->dim[0] > MOST_ROWS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                        "indices that vary into a table of %lld rows; %d is the most",
                        (long long)table->dim[0], MOST_ROWS);
    if (indices->n_dims + table->n_dims > VBS_MAX_DIMS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "more than %d dimensions", VBS_MAX_DIMS);
    return VBS_OK;
}

enum vbs_status vbs_onnx_embed(struct vbs_onnx_import *im)
{
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, VBS_OP_EMBED, 1);
    struct vbs_onnx_constant *table;
    struct vbs_onnx_tensor *taken;
    const struct vbs_onnx_state *indices;
    struct vbs_shape shape, view;
    int64_t rows;

    VBS_TRY(vbs_onnx_constant_in(im, 0, &table));
    VBS_TRY(vbs_onnx_tensor_in(im, 1, &indices));
    VBS_TRY(check_table(im, &table->shape, &indices->shape));
    if (!draft)
        return vbs_no_memory(im->ctx);
    shape = indices->shape;
    for (int d = 1; d < table->shape.n_dims; d++)
        shape.dim[shape.n_dims++] = table->shape.dim[d];
    rows = table->shape.dim[0];
    note_rows(indices->tensor, rows);
    view = vbs_onnx_shape(indices);
    vbs_onnx_reads(draft, 0, indices->tensor, &view);
    draft->node.operand = (struct vbs_shape){2, {rows, vbs_shape_elements(&table->shape) / rows}};
    VBS_TRY(vbs_onnx_constant_reshape(im, table, &draft->node.operand, &table));
    VBS_TRY(vbs_onnx_parameter(im, table, 0, &draft->node.values[VBS_PARAMETER_OPERAND]));
    VBS_TRY(vbs_onnx_allow_infinite(im, &draft->node.values[VBS_PARAMETER_OPERAND]));
    VBS_TRY(vbs_onnx_tensor_new(im, draft, &taken));
    return vbs_onnx_give(im, 0, taken, &shape);
}

/* ---- GatherElements ---- */

/* Moves dimension dim of a constant behind the last one, and leaves a 1 in its place. */
static enum vbs_status put_last(struct vbs_onnx_import *im, int dim,
                                struct vbs_onnx_constant **data)
{
    struct vbs_shape wide = (*data)->shape;
    int perm[VBS_MAX_DIMS], last = wide.n_dims - 1;

    for (int d = 0; d <= last; d++)
        perm[d] = d < dim ? d : d < last ? d + 1 : dim;
    wide.dim[wide.n_dims++] = wide.dim[dim];
    wide.dim[dim] = 1;
    VBS_TRY(vbs_onnx_constant_transpose(im, *data, perm, data));
    return vbs_onnx_constant_reshape(im, *data, &wide, data);
}

/* Checks the shapes of a constant and of indices, of which dimension dim is the one of the
 * indices. */
static enum vbs_status check_marked(struct vbs_onnx_import *im, const struct vbs_shape *data,
                                    const struct vbs_shape *indices, int dim)
{
    if (data->n_dims == VBS_MAX_DIMS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "more than %d dimensions", VBS_MAX_DIMS);
    for (int d = 0; d < data->n_dims; d++)
        if (d != dim && data->dim[d] != indices->dim[d])
            return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                            "indices that vary are supported for all elements of a constant only; "
                            "dimension %d has %lld of %lld",
                            vbs_onnx_file_dim(im, d), (long long)indices->dim[d],
                            (long long)data->dim[d]);
    if (data->dim[dim] > MOST_MARKED)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                        "indices that vary into a dimension of %lld elements; %d is the most",
                        (long long)data->dim[dim], MOST_MARKED);
    return VBS_OK;
}

/* Picks elements of a constant. */
static enum vbs_status pick_marked(struct vbs_onnx_import *im, struct vbs_onnx_constant *data,
                                   const struct vbs_onnx_state *indices, int dim)
{
    struct vbs_onnx_state marks, kept, result;

    VBS_TRY(check_marked(im, &data->shape, &indices->shape, dim));
    VBS_TRY(mark_rows(im, indices, data->shape.dim[dim], &marks));
    VBS_TRY(put_last(im, dim, &data));
    VBS_TRY(vbs_onnx_operand(im, VBS_OP_KEEP, &marks, data, true, &kept));
    VBS_TRY(
        vbs_onnx_reduce_state(im, VBS_OP_REDUCE_SUM, &kept, 1u << indices->shape.n_dims, &result));
    return vbs_onnx_give(im, 0, result.tensor, &indices->shape);
}

enum vbs_status vbs_onnx_pick_elements(struct vbs_onnx_import *im,
                                       const struct vbs_onnx_state *data,
                                       const struct vbs_onnx_state *indices, int dim)
{
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, VBS_OP_PICK, 2);
    struct vbs_onnx_tensor *picked;

    if (!draft)
        return vbs_no_memory(im->ctx);
    vbs_onnx_reads(draft, 0, data->tensor, &data->shape);
    vbs_onnx_reads(draft, 1, indices->tensor, &indices->shape);
    draft->node.attributes.pick.axis = dim;
    VBS_TRY(vbs_onnx_tensor_new(im, draft, &picked));
    return vbs_onnx_give(im, 0, picked, &indices->shape);
}

enum vbs_status vbs_onnx_pick_by(struct vbs_onnx_import *im)
{
    const struct vbs_onnx_state *indices, *first = vbs_onnx_in(im, 0);
    struct vbs_onnx_constant *data;
    const struct vbs_shape *shape;
    int dim;

    VBS_TRY(vbs_onnx_tensor_in(im, 1, &indices));
    if (!first)
        return vbs_fail(im->ctx, VBS_FORMAT, "input 0 is missing");
    VBS_TRY(vbs_onnx_axis(im, vbs_onnx_int(im, "axis", 0), vbs_onnx_rank(im, indices), &dim));
    data = first->constant;
    if (data)
        VBS_TRY(vbs_onnx_align(im, data, vbs_onnx_rank(im, indices), &data));
    shape = data ? &data->shape : &first->shape;
    if (shape->n_dims != indices->shape.n_dims)
        return vbs_fail(im->ctx, VBS_FORMAT, "its indices have %d dimensions for %d",
                        indices->shape.n_dims, shape->n_dims);
    note_rows(indices->tensor, shape->dim[dim]);
    return data ? pick_marked(im, data, indices, dim)
                : vbs_onnx_pick_elements(im, first, indices, dim);
}
