/* Gather with a constant table and indices that vary: the rows of the table are multiplied by what
 * is 1 in the place of the index and 0 in all others, which is exact. */
#include "base/fail.h"
#include "model/onnx/operators/operators.h"

#define FLOAT ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT

#define MOST_ROWS 65536 /* of a table: each index takes as many floats */

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

/* Multiplies marks [n, rows] by the table [rows, values of a row]. */
static enum vbs_status take_rows(struct vbs_onnx_import *im, struct vbs_onnx_tensor *marks,
                                 struct vbs_onnx_constant *table, struct vbs_onnx_tensor **taken)
{
    int64_t rows = table->shape.dim[0];
    const struct vbs_shape flat = {2, {rows, vbs_shape_elements(&table->shape) / rows}};
    const struct vbs_shape view = {2, {vbs_shape_elements(&marks->shape) / rows, rows}};
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, VBS_OP_MATMUL, 1);

    if (!draft)
        return vbs_no_memory(im->ctx);
    VBS_TRY(vbs_onnx_constant_reshape(im, table, &flat, &table));
    vbs_onnx_reads(draft, 0, marks, &view);
    draft->node.operand = flat;
    VBS_TRY(vbs_onnx_parameter(im, table, 0, &draft->node.values[VBS_PARAMETER_OPERAND]));
    return vbs_onnx_tensor_new(im, draft, taken);
}

enum vbs_status vbs_onnx_embed(struct vbs_onnx_import *im)
{
    struct vbs_onnx_constant *table;
    struct vbs_onnx_tensor *taken;
    const struct vbs_onnx_state *indices;
    struct vbs_onnx_state marks;
    struct vbs_shape shape;

    VBS_TRY(vbs_onnx_constant_in(im, 0, &table));
    VBS_TRY(vbs_onnx_tensor_in(im, 1, &indices));
    VBS_TRY(check_table(im, &table->shape, &indices->shape));
    shape = indices->shape;
    for (int d = 1; d < table->shape.n_dims; d++)
        shape.dim[shape.n_dims++] = table->shape.dim[d];
    if (indices->tensor->rows == 0 || table->shape.dim[0] < indices->tensor->rows)
        indices->tensor->rows = table->shape.dim[0];
    VBS_TRY(mark_rows(im, indices, table->shape.dim[0], &marks));
    VBS_TRY(take_rows(im, marks.tensor, table, &taken));
    return vbs_onnx_give(im, 0, taken, &shape);
}
