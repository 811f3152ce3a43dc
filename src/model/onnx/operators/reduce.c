/* Reductions. */
#include "base/fail.h"
#include "model/network/network.h"
#include "model/onnx/operators/operators.h"

#include <float.h>
#include <string.h>

enum vbs_status vbs_onnx_reduced(struct vbs_onnx_import *im, const struct vbs_shape *shape,
                                 bool batch, unsigned *axes, bool *keep)
{
    bool sum = strcmp(im->node->op, "ReduceSum") == 0, given;
    bool noop = vbs_onnx_int(im, "noop_with_empty_axes", 0) != 0;
    int64_t list[VBS_MAX_DIMS + 1];
    bool apart = batch && vbs_onnx_is_apart(im);
    int n, rank = shape->n_dims + apart;
    enum vbs_status status =
        vbs_onnx_list(im, "axes", 1, sum ? 13 : 18, VBS_MAX_DIMS + 1, list, &n, &given);

    *keep = vbs_onnx_int(im, "keepdims", 1) != 0;
    *axes = 0;
    if (status != VBS_OK)
        return status;
    if (n == 0 && !noop) {
        if (batch)
            return vbs_onnx_mixes(im);
        *axes = (1u << shape->n_dims) - 1;
    }
    for (int i = 0; i < n; i++) {
        int64_t axis = list[i] + (list[i] < 0 ? rank : 0);

        if (axis < 0 || axis >= rank)
            return vbs_fail(im->ctx, VBS_FORMAT, "there is no dimension %lld", (long long)list[i]);
        if (batch && axis == im->at)
            return vbs_onnx_mixes(im);
        *axes |= 1u << (axis - (apart && axis > im->at));
    }
    for (int d = 0; batch && !*keep && d < im->at; d++)
        im->at_out -= *axes >> d & 1;
    return VBS_OK;
}

void vbs_onnx_reduced_shapes(const struct vbs_shape *shape, unsigned axes, bool keep,
                             struct vbs_shape *kept, struct vbs_shape *given)
{
    struct vbs_shape shorter = {.n_dims = 0};

    *kept = *shape;
    for (int d = 0; d < shape->n_dims; d++) {
        if (axes >> d & 1)
            kept->dim[d] = 1;
        else
            shorter.dim[shorter.n_dims++] = shape->dim[d];
    }
    *given = keep ? *kept : shorter;
}

/* Gives the pool that takes the mean or the largest value of all dimensions of x but the channels,
 * or VBS_N_OPS where there is none. */
static enum vbs_op as_pool(enum vbs_op op, const struct vbs_shape *own, unsigned axes)
{
    if (own->n_dims < 3 || own->n_dims > 1 + VBS_MAX_SPATIAL || axes != (1u << own->n_dims) - 2)
        return VBS_N_OPS;
    return op == VBS_OP_REDUCE_MEAN  ? VBS_OP_POOL_AVG
           : op == VBS_OP_REDUCE_MAX ? VBS_OP_POOL_MAX
                                     : VBS_N_OPS;
}

enum vbs_status vbs_onnx_reduce_state(struct vbs_onnx_import *im, enum vbs_op op,
                                      const struct vbs_onnx_state *state, unsigned axes,
                                      struct vbs_onnx_state *result)
{
    union vbs_attributes attributes = {.reduce = {0}};
    struct vbs_shape view, given;
    enum vbs_op pool;
    int first = 0, shift;

    *result = *state;
    vbs_onnx_reduced_shapes(&state->shape, axes, true, &result->shape, &given);
    while (first < state->shape.n_dims - 1 && !(axes >> first & 1))
        first++;
    view = vbs_onnx_view(state, first, &shift);
    axes = shift >= 0 ? axes << shift : axes >> -shift;
    pool = vbs_onnx_makes(im, op) ? VBS_N_OPS : as_pool(op, &view, axes);
    if (pool == VBS_N_OPS) {
        attributes.reduce.axes = axes;
    } else {
        struct vbs_window *window = &attributes.pool.window;

        attributes = (union vbs_attributes){.pool = {.pad_counts = false}};
        for (int d = 1; d < view.n_dims; d++) {
            window->kernel[d - 1] = view.dim[d];
            window->stride[d - 1] = window->dilation[d - 1] = 1;
        }
        op = pool;
    }
    return vbs_onnx_apply(im, op, &attributes, state->tensor, &view, &result->tensor);
}

bool vbs_onnx_reduces_alone(enum vbs_op op)
{
    return op == VBS_OP_REDUCE_L1 || op == VBS_OP_REDUCE_L2 || op == VBS_OP_REDUCE_LOG_SUM ||
           op == VBS_OP_REDUCE_SUM_SQUARE;
}

/* Reduces, and cuts off fractions where the elements are whole numbers. Their mean is the quotient
 * of their sum, which is exact. */
static enum vbs_status reduce_axes(struct vbs_onnx_import *im, enum vbs_op op,
                                   const struct vbs_onnx_state *x, unsigned axes,
                                   struct vbs_onnx_state *result)
{
    struct vbs_onnx_state made;
    int64_t n = 1;

    if (!x->whole)
        return vbs_onnx_reduce_state(im, op, x, axes, result);
    for (int d = 0; d < x->shape.n_dims; d++)
        n *= axes >> d & 1 ? x->shape.dim[d] : 1;
    if (op == VBS_OP_REDUCE_MEAN) {
        VBS_TRY(vbs_onnx_reduce_state(im, VBS_OP_REDUCE_SUM, x, axes, &made));
        return vbs_onnx_divide_whole(im, &made, n, result);
    }
    if (op != VBS_OP_REDUCE_L2 && op != VBS_OP_REDUCE_LOG_SUM && op != VBS_OP_REDUCE_LOG_SUM_EXP)
        return vbs_onnx_reduce_state(im, op, x, axes, result);
    VBS_TRY(vbs_onnx_reduce_state(im, op, x, axes, &made));
    return vbs_onnx_cut_off(im, &made, result);
}

/* Reduces along no dimension: each element alone, along a further dimension of one element. */
static enum vbs_status reduce_none(struct vbs_onnx_import *im, enum vbs_op op,
                                   const struct vbs_onnx_state *x)
{
    struct vbs_onnx_state alone = *x, result;

    if (!vbs_onnx_reduces_alone(op))
        return vbs_onnx_give(im, 0, x->tensor, &x->shape);
    if (alone.shape.n_dims == VBS_MAX_DIMS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "each element alone of %d dimensions",
                        VBS_MAX_DIMS);
    alone.shape.dim[alone.shape.n_dims++] = 1;
    VBS_TRY(reduce_axes(im, op, &alone, 1u << x->shape.n_dims, &result));
    return vbs_onnx_give(im, 0, result.tensor, &x->shape);
}

VBS_ONNX_HANDLER(reduce)
{
    const struct vbs_onnx_state *x;
    struct vbs_onnx_state result;
    struct vbs_shape kept, shape;
    unsigned axes = 0;
    bool keep = true;

    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(vbs_onnx_reduced(im, &x->shape, im->batch, &axes, &keep));
    vbs_onnx_reduced_shapes(&x->shape, axes, keep, &kept, &shape);
    if (axes == 0 && vbs_onnx_int(im, "noop_with_empty_axes", 0))
        return reduce_none(im, (enum vbs_op) operator->op, x);
    VBS_TRY(reduce_axes(im, (enum vbs_op) operator->op, x, axes, &result));
    return vbs_onnx_give(im, 0, result.tensor, &shape);
}

/* ---- lengths ---- */

enum vbs_status vbs_onnx_read_p(struct vbs_onnx_import *im, int *p)
{
    int64_t given = vbs_onnx_int(im, "p", 2);

    if (given != 1 && given != 2)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "attribute 'p' is %lld", (long long)given);
    *p = (int)given;
    return VBS_OK;
}

/* Divides each line by its length. A line of zeros stays one: its length, 0, becomes the smallest
 * normal number. */
VBS_ONNX_HANDLER(lp_norm)
{
    const union vbs_attributes above = {.clip = {.low = FLT_MIN, .high = FLT_MAX}};
    struct vbs_onnx_state length, result;
    const struct vbs_onnx_state *x;
    int dim, p;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(vbs_onnx_axis(im, vbs_onnx_int(im, "axis", -1), vbs_onnx_rank(im, x), &dim));
    VBS_TRY(vbs_onnx_read_p(im, &p));
    VBS_TRY(vbs_onnx_reduce_state(im, p == 1 ? VBS_OP_REDUCE_L1 : VBS_OP_REDUCE_L2, x, 1u << dim,
                                  &length));
    VBS_TRY(vbs_onnx_apply(im, VBS_OP_CLIP, &above, length.tensor, NULL, &length.tensor));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_DIV, x, &length, &result));
    return vbs_onnx_give(im, 0, result.tensor, &x->shape);
}
