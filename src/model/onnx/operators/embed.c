/*
 * Indices that vary. A Gather with a constant table copies the rows that they choose, a Gather or
 * GatherND of data the parts, a GatherElements of data the elements. Of a constant GatherElements
 * keeps what is marked, 1 in the place of the index and 0 in all others, and adds up what is left
 * along the dimension.
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

/* ---- rows of a constant table ---- */

static enum vbs_status check_table(struct vbs_onnx_import *im, const struct vbs_shape *table,
                                   int axis, const struct vbs_onnx_state *indices)
{
    if (vbs_shape_elements(table) == 0)
        return vbs_fail(im->ctx, VBS_FORMAT, "its table has no rows");
    if (table->dim[axis] > MOST_ROWS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                        "indices that vary into a table of %lld rows; %d is the most",
                        (long long)table->dim[axis], MOST_ROWS);
    if (indices->shape.n_dims + table->n_dims > VBS_MAX_DIMS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "more than %d dimensions", VBS_MAX_DIMS);
    return indices->own != 0 ? vbs_onnx_counts(im) : VBS_OK;
}

/* Moves n dimensions of a shape, from number `from` on, to number `to`: makes the permutation. */
static void moving_perm(int n_dims, int from, int n, int to, int *perm)
{
    int left = 0, moved = 0;

    for (int d = 0; d < n_dims; d++) {
        if (d >= to && d < to + n) {
            perm[d] = from + moved++;
            continue;
        }
        left += left == from ? n : 0;
        perm[d] = left++;
    }
}

/* Takes the rows of a table along dimension axis of it, and gives them as output 0. */
static enum vbs_status embed(struct vbs_onnx_import *im, struct vbs_onnx_constant *table, int axis,
                             const struct vbs_onnx_state *indices)
{
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, VBS_OP_EMBED, 1);
    struct vbs_onnx_state taken = {.shape = indices->shape}, result;
    struct vbs_shape view = vbs_onnx_shape(indices);
    int perm[VBS_MAX_DIMS];
    int64_t rows;

    VBS_TRY(check_table(im, &table->shape, axis, indices));
    if (!draft)
        return vbs_no_memory(im->ctx);
    rows = table->shape.dim[axis];
    for (int d = 0; d < table->shape.n_dims; d++)
        if (d != axis)
            taken.shape.dim[taken.shape.n_dims++] = table->shape.dim[d];
    note_rows(indices->tensor, rows);
    vbs_onnx_reads(draft, 0, indices->tensor, &view);
    draft->node.operand = (struct vbs_shape){2, {rows, vbs_shape_elements(&table->shape) / rows}};
    if (axis > 0) {
        moving_perm(table->shape.n_dims, axis, 1, 0, perm);
        VBS_TRY(vbs_onnx_constant_transpose(im, table, perm, &table));
    }
    VBS_TRY(vbs_onnx_constant_reshape(im, table, &draft->node.operand, &table));
    VBS_TRY(vbs_onnx_parameter(im, table, 0, &draft->node.values[VBS_PARAMETER_OPERAND]));
    VBS_TRY(vbs_onnx_allow_infinite(im, &draft->node.values[VBS_PARAMETER_OPERAND]));
    VBS_TRY(vbs_onnx_tensor_new(im, draft, &taken.tensor));
    result = taken;
    if (axis > 0) {
        moving_perm(taken.shape.n_dims, 0, indices->shape.n_dims, axis, perm);
        VBS_TRY(vbs_onnx_permute(im, &taken, perm, &result));
    }
    im->at_out = im->at + axis;
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* ---- parts of data ---- */

/* How a node takes parts of data: the shapes in which a layer reads both inputs, the indices with
 * one row of numbers for each part, and how many dimensions both have in common (common) or which
 * dimension of the data they choose from (axis); what becomes of the samples. */
struct taking {
    struct vbs_shape data, places;
    struct vbs_onnx_tensor *indices;
    int common, axis;
    int at;
    int64_t outer;
    bool inserted; /* dimension at is there with one sample in it, and is to go */
};

/* Inserts a dimension of 1 for the sample of a file of one sample. */
static enum vbs_status insert_sample(struct vbs_onnx_import *im, int at, struct vbs_shape *shape)
{
    if (shape->n_dims == VBS_MAX_DIMS)
        return vbs_onnx_mixes(im);
    vbs_shape_insert(shape, at);
    return VBS_OK;
}

/* Returns whether indices along dimension 0 of data, with which the samples are folded, choose from
 * the elements of the same sample. */
static bool chooses_own(const struct vbs_onnx_import *im, const struct vbs_onnx_state *data,
                        const struct vbs_onnx_state *indices)
{
    return data->outer == 1 && data->at == 0 && !indices->shared &&
           (indices->own == data->shape.dim[0] || (indices->own == 0 && im->n_samples == 1));
}

/* Finds how the samples of a Gather along dimension axis of the file go together, in batch mode. */
static enum vbs_status pair_gather(struct vbs_onnx_import *im, const struct vbs_onnx_state *data,
                                   const struct vbs_onnx_state *indices, int axis, struct taking *c)
{
    bool apart = !data->shared && data->outer == 0;
    bool alone = im->n_samples == 1 && data->outer == 0 && indices->outer == 0;

    c->axis = axis - (apart && axis > data->at);
    c->at = indices->at + axis;
    c->outer = indices->outer;
    if (axis == 0 && !data->shared && chooses_own(im, data, indices))
        return VBS_OK;
    if (indices->own != 0)
        return vbs_onnx_counts(im);
    if (data->shared)
        return VBS_OK;
    if (axis == data->at || (!indices->shared && !alone))
        return vbs_onnx_mixes(im);
    if (!indices->shared)
        VBS_TRY(insert_sample(im, indices->at, &c->places));
    c->at = data->at + (axis < data->at ? c->places.n_dims - 1 : 0);
    c->outer = data->outer;
    return VBS_OK;
}

/* Takes the parts, and gives them as output 0. */
static enum vbs_status take(struct vbs_onnx_import *im, const struct vbs_onnx_state *data,
                            struct taking *c)
{
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, VBS_OP_TAKE, 2);
    struct vbs_onnx_state from = {.tensor = data->tensor, .shape = c->data}, taken, result;
    int rows = c->places.n_dims - 1, n = (int)c->places.dim[rows], perm[VBS_MAX_DIMS];

    if (!draft)
        return vbs_no_memory(im->ctx);
    if (rows + c->data.n_dims - c->common - n > VBS_MAX_DIMS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "more than %d dimensions", VBS_MAX_DIMS);
    if (c->axis > 0) {
        moving_perm(c->data.n_dims, c->axis, 1, 0, perm);
        taken = from;
        VBS_TRY(vbs_onnx_permute(im, &taken, perm, &from));
    }
    vbs_onnx_reads(draft, 0, from.tensor, &from.shape);
    vbs_onnx_reads(draft, 1, c->indices, &c->places);
    draft->node.attributes.take.common = c->common;
    taken = (struct vbs_onnx_state){.shape = c->places};
    taken.shape.n_dims = rows;
    for (int d = c->common + n; d < from.shape.n_dims; d++)
        taken.shape.dim[taken.shape.n_dims++] = from.shape.dim[d];
    VBS_TRY(vbs_onnx_tensor_new(im, draft, &taken.tensor));
    result = taken;
    if (c->axis > 0) {
        moving_perm(taken.shape.n_dims, 0, rows, c->axis, perm);
        VBS_TRY(vbs_onnx_permute(im, &taken, perm, &result));
    }
    if (c->inserted) {
        vbs_shape_drop(&result.shape, c->at);
    }
    im->at_out = c->at;
    im->outer_out = c->outer;
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* Returns the rank in the file of an input of the node. */
static int rank_in(const struct vbs_onnx_import *im, const struct vbs_onnx_state *state)
{
    return state->shape.n_dims + (im->batch && !state->shared && state->outer == 0);
}

/* Imports a Gather whose indices are a tensor. */
static enum vbs_status gather_by(struct vbs_onnx_import *im)
{
    const struct vbs_onnx_state *data = vbs_onnx_in(im, 0), *indices;
    int64_t given = vbs_onnx_int(im, "axis", 0);
    struct taking c = {.common = 0};
    int axis;

    VBS_TRY(vbs_onnx_tensor_in(im, 1, &indices));
    if (!data)
        return vbs_fail(im->ctx, VBS_FORMAT, "input 0 is missing");
    VBS_TRY(vbs_onnx_constant_axis(
        im, given, data->tensor ? rank_in(im, data) : data->constant->shape.n_dims, &axis));
    if (data->constant)
        return embed(im, data->constant, axis, indices);
    c = (struct taking){
        .data = data->shape, .places = indices->shape, .indices = indices->tensor, .axis = axis};
    if (im->batch)
        VBS_TRY(pair_gather(im, data, indices, axis, &c));
    if (c.places.n_dims == VBS_MAX_DIMS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "more than %d dimensions", VBS_MAX_DIMS);
    c.places.dim[c.places.n_dims++] = 1;
    note_rows(indices->tensor, c.data.dim[c.axis]);
    return take(im, data, &c);
}

VBS_ONNX_HANDLER(gather)
{
    (void)operator;
    return vbs_onnx_in(im, 1) && vbs_onnx_in(im, 1)->tensor ? gather_by(im)
                                                            : vbs_onnx_gather_at(im);
}

/* ---- GatherND ---- */

/* Finds how the samples of a GatherND go together, where both inputs have some of their own; n: the
 * dimensions of the data that rows of indices choose from. */
static enum vbs_status pair_rows(struct vbs_onnx_import *im, const struct vbs_onnx_state *data,
                                 const struct vbs_onnx_state *indices, int n, struct taking *c)
{
    bool apart = data->outer == 0 && indices->outer == 0;
    int common = c->common, last = c->places.n_dims - 1;

    c->at = indices->at;
    c->outer = indices->outer;
    if (indices->within && common == 0 && data->at == 0 && data->outer == 0) {
        c->indices = indices->within;
        c->places.dim[last]--;
        return VBS_OK;
    }
    if (common == 0 && n == 1 && chooses_own(im, data, indices))
        return VBS_OK;
    if (indices->own != 0)
        return vbs_onnx_counts(im);
    c->common -= apart;
    if (common > data->at && data->at == indices->at && data->outer == indices->outer)
        return VBS_OK;
    if (im->n_samples != 1 || !apart || data->at < common || data->at >= common + n)
        return vbs_onnx_mixes(im);
    c->common = common;
    c->inserted = true;
    VBS_TRY(insert_sample(im, data->at, &c->data));
    return insert_sample(im, indices->at, &c->places);
}

/* Finds it where all samples may share one input. */
static enum vbs_status pair_shared(struct vbs_onnx_import *im, const struct vbs_onnx_state *data,
                                   const struct vbs_onnx_state *indices, int n, struct taking *c)
{
    if (!data->shared && !indices->shared)
        return pair_rows(im, data, indices, n, c);
    if (indices->own != 0)
        return vbs_onnx_counts(im);
    if (c->common > 0 || (indices->shared && data->at < n))
        return vbs_onnx_mixes(im);
    c->at = data->shared ? indices->at : data->at - n + indices->shape.n_dims - 1;
    c->outer = data->shared ? indices->outer : data->outer;
    return VBS_OK;
}

/* Takes parts of a constant: rows of a table, or parts of the tensor that it becomes. */
static enum vbs_status take_of_constant(struct vbs_onnx_import *im,
                                        const struct vbs_onnx_state *indices, int common,
                                        struct vbs_onnx_state *data)
{
    const struct vbs_shape *places = &indices->shape;
    struct vbs_onnx_state x = *indices, list = *indices;
    bool batch = im->batch;

    if (common == 0 && places->dim[places->n_dims - 1] == 1) {
        list.shape.n_dims--;
        return embed(im, data->constant, 0, &list);
    }
    im->batch = false; /* every sample has all of it */
    VBS_TRY(vbs_onnx_constant_tensor(im, &x, data->constant, data));
    im->batch = batch;
    data->shared = batch;
    return VBS_OK;
}

enum vbs_status vbs_onnx_take_by(struct vbs_onnx_import *im)
{
    int64_t common = vbs_onnx_int(im, "batch_dims", 0), n;
    const struct vbs_onnx_state *indices, *given = vbs_onnx_in(im, 0);
    struct vbs_onnx_state data;
    struct taking c;
    int rank, rows;

    VBS_TRY(vbs_onnx_tensor_in(im, 1, &indices));
    if (!given)
        return vbs_fail(im->ctx, VBS_FORMAT, "input 0 is missing");
    rank = given->tensor ? rank_in(im, given) : given->constant->shape.n_dims;
    rows = rank_in(im, indices) - 1;
    if (im->batch && !indices->shared && indices->at == rows)
        return vbs_onnx_mixes(im);
    if (rows < 0)
        return vbs_fail(im->ctx, VBS_FORMAT, "its indices are no rows");
    n = indices->shape.dim[indices->shape.n_dims - 1];
    if (common < 0 || common > rows || n > rank - common)
        return vbs_fail(im->ctx, VBS_FORMAT,
                        "rows of %lld indices into %d dimensions, of which %lld are common",
                        (long long)n, rank, (long long)common);
    data = *given;
    if (given->constant)
        VBS_TRY(take_of_constant(im, indices, (int)common, &data));
    if (!data.tensor)
        return VBS_OK;
    c = (struct taking){.data = data.shape,
                        .places = indices->shape,
                        .indices = indices->tensor,
                        .common = (int)common};
    if (im->batch)
        VBS_TRY(pair_shared(im, &data, indices, (int)n, &c));
    if (n == 1)
        note_rows(indices->tensor, c.data.dim[c.common]);
    return take(im, &data, &c);
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
