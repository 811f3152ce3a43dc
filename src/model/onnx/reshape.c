/* Operators that make no layer, because they give the same elements another shape. */
#include "base/fail.h"
#include "model/onnx/operators.h"

#include <string.h>

/* Makes output 0 of the elements of input 0, in shape: of the file for a constant, else of a
 * tensor. */
static enum vbs_status give_reshaped(struct vbs_onnx_import *im, const struct vbs_shape *shape)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, 0);
    struct vbs_onnx_constant *view;

    if (state->tensor)
        return vbs_onnx_give(im, 0, state->tensor, shape);
    VBS_TRY(vbs_onnx_constant_reshape(im, state->constant, shape, &view));
    vbs_onnx_give_constant(im, 0, view);
    return VBS_OK;
}

/* Gives input 0 and the shape that the file knows of it. */
static enum vbs_status shape_in(struct vbs_onnx_import *im, const struct vbs_shape **shape,
                                bool *batch)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, 0);

    if (!state)
        return vbs_fail(im->ctx, VBS_FORMAT, "input 0 is missing");
    *batch = im->batch && state->tensor;
    *shape = state->tensor ? &state->shape : &state->constant->shape;
    return VBS_OK;
}

enum vbs_status vbs_onnx_list(struct vbs_onnx_import *im, const char *name, int index, int since,
                              int most, int64_t *values, int *n, bool *given)
{
    struct vbs_onnx_constant *constant;
    const int64_t *list;

    *n = 0;
    if (im->graph->opset >= since) {
        *given = vbs_onnx_in(im, index) != NULL;
        if (!*given)
            return VBS_OK;
        VBS_TRY(vbs_onnx_constant_in(im, index, &constant));
        return vbs_onnx_whole_numbers(im, constant, most, values, n);
    }
    *given = vbs_onnx_has(im, name);
    list = vbs_onnx_ints(im, name, n);
    if (*n > most)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "'%s' has %d values, more than %d", name, *n,
                        most);
    if (*n > 0)
        memcpy(values, list, (size_t)*n * sizeof *values);
    return VBS_OK;
}

/* ---- Reshape ---- */

/* Gives whether value, as dimension 0 of a tensor in batch mode, stands for its samples. */
static bool is_batch(const struct vbs_onnx_import *im, int64_t value, bool open, bool keeps_zero)
{
    return open || value == -1 || (value == 0 && !keeps_zero) ||
           (im->n_samples > 0 && value == im->n_samples);
}

/* Makes a shape of values, in which -1 and 0 stand for dimensions that follow from the shape
 * from. */
static enum vbs_status resolve_shape(struct vbs_onnx_import *im, const struct vbs_shape *from,
                                     const int64_t *values, int n, bool keeps_zero,
                                     struct vbs_shape *shape)
{
    int64_t elements = vbs_shape_elements(from), known = 1;
    int open = -1;

    *shape = (struct vbs_shape){.n_dims = n};
    if (n > VBS_MAX_DIMS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "more than %d dimensions", VBS_MAX_DIMS);
    for (int d = 0; d < n; d++) {
        int64_t dim = values[d];

        if (dim == 0 && !keeps_zero && d < from->n_dims)
            dim = from->dim[d];
        if (dim == -1 && open < 0) {
            open = d;
            continue;
        }
        if (dim < 0 || dim > VBS_MAX_DIM || (known > 0 && dim > VBS_MAX_ELEMENTS / known))
            return vbs_fail(im->ctx, VBS_FORMAT, "dimension %d of the new shape is %lld", d,
                            (long long)dim);
        shape->dim[d] = dim;
        known *= dim;
    }
    if (open >= 0) {
        shape->dim[open] = known > 0 ? elements / known : 0;
        known *= shape->dim[open];
    }
    if (known != elements || !vbs_onnx_bounded(shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "%lld elements do not fit the new shape",
                        (long long)elements);
    return VBS_OK;
}

VBS_ONNX_HANDLER(reshape)
{
    bool keeps_zero = vbs_onnx_int(im, "allowzero", 0) != 0, batch = false, open = false;
    const struct vbs_shape *from = NULL;
    int64_t values[VBS_MAX_DIMS + 1];
    struct vbs_shape shape;
    int n = 0;
    enum vbs_status status = shape_in(im, &from, &batch);

    (void)operator;
    if (status == VBS_OK && im->graph->opset < 5) {
        bool given;

        status = vbs_onnx_list(im, "shape", 1, 5, VBS_MAX_DIMS + 1, values, &n, &given);
    } else if (status == VBS_OK) {
        status = vbs_onnx_target(im, 1, values, &open, &n);
    }
    if (status == VBS_OK && batch && (n == 0 || !is_batch(im, values[0], open, keeps_zero)))
        return vbs_onnx_mixes(im);
    if (status == VBS_OK && !batch && open)
        return vbs_onnx_mixes(im);
    if (status == VBS_OK)
        status = resolve_shape(im, from, values + batch, n - batch, keeps_zero, &shape);
    if (status == VBS_FORMAT && batch) /* the other dimensions may include some of dimension 0 */
        im->mixed = true;
    return status == VBS_OK ? give_reshaped(im, &shape) : status;
}

VBS_ONNX_HANDLER(flatten)
{
    const struct vbs_shape *from;
    struct vbs_shape shape = {.n_dims = 2, .dim = {1, 1}};
    int64_t axis = vbs_onnx_int(im, "axis", 1);
    bool batch;
    enum vbs_status status = shape_in(im, &from, &batch);
    int rank;

    (void)operator;
    if (status != VBS_OK)
        return status;
    rank = from->n_dims + batch;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis > rank)
        return vbs_fail(im->ctx, VBS_FORMAT, "there is no dimension %lld", (long long)axis);
    for (int d = 0; d < from->n_dims; d++)
        shape.dim[d + batch >= axis] *= from->dim[d];
    if (batch) {
        if (axis == 0 || shape.dim[0] != 1)
            return vbs_onnx_mixes(im);
        shape = (struct vbs_shape){.n_dims = 1, .dim = {shape.dim[1]}};
    }
    return give_reshaped(im, &shape);
}

/* ---- Squeeze, Unsqueeze ---- */

/* Gives the dimensions that axes name among rank ones, as bits. VBS_FORMAT. */
static enum vbs_status axis_bits(struct vbs_onnx_import *im, const int64_t *axes, int n, int rank,
                                 unsigned *bits)
{
    *bits = 0;
    for (int i = 0; i < n; i++) {
        int64_t axis = axes[i] + (axes[i] < 0 ? rank : 0);

        if (axis < 0 || axis >= rank || *bits >> axis & 1)
            return vbs_fail(im->ctx, VBS_FORMAT, "dimension %lld is not among %d, or named twice",
                            (long long)axes[i], rank);
        *bits |= 1u << axis;
    }
    return VBS_OK;
}

VBS_ONNX_HANDLER(squeeze)
{
    const struct vbs_shape *from = NULL;
    int64_t axes[VBS_MAX_DIMS + 1];
    struct vbs_shape shape = {.n_dims = 0};
    bool given = false, batch = false;
    unsigned bits = 0;
    int n = 0;
    enum vbs_status status = shape_in(im, &from, &batch);

    (void)operator;
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_onnx_list(im, "axes", 1, 13, VBS_MAX_DIMS + 1, axes, &n, &given));
    VBS_TRY(axis_bits(im, axes, n, from->n_dims + batch, &bits));
    if (batch && (given ? bits & 1 : im->n_samples == 1))
        return vbs_onnx_mixes(im);
    for (int d = 0; d < from->n_dims; d++) {
        bool dropped = given ? bits >> (d + batch) & 1 : from->dim[d] == 1;

        if (dropped && from->dim[d] != 1)
            return vbs_fail(im->ctx, VBS_FORMAT, "dimension %d is %lld, not 1", d + batch,
                            (long long)from->dim[d]);
        if (!dropped)
            shape.dim[shape.n_dims++] = from->dim[d];
    }
    return give_reshaped(im, &shape);
}

VBS_ONNX_HANDLER(unsqueeze)
{
    const struct vbs_shape *from = NULL;
    int64_t axes[VBS_MAX_DIMS];
    struct vbs_shape shape = {.n_dims = 0};
    bool given, batch = false;
    unsigned bits = 0;
    int n = 0, rank = 0, d = 0;
    enum vbs_status status = shape_in(im, &from, &batch);

    (void)operator;
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_onnx_list(im, "axes", 1, 13, VBS_MAX_DIMS, axes, &n, &given));
    rank = from->n_dims + batch + n;
    if (rank - batch > VBS_MAX_DIMS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "more than %d dimensions", VBS_MAX_DIMS);
    VBS_TRY(axis_bits(im, axes, n, rank, &bits));
    if (batch && bits & 1)
        return vbs_onnx_mixes(im);
    for (int i = batch; i < rank; i++)
        shape.dim[shape.n_dims++] = bits >> i & 1 ? 1 : from->dim[d++];
    return give_reshaped(im, &shape);
}

/* ---- operators that do nothing ---- */

VBS_ONNX_HANDLER(identity)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, 0);

    (void)operator;
    if (!state)
        return vbs_fail(im->ctx, VBS_FORMAT, "input 0 is missing");
    if (!state->tensor) {
        vbs_onnx_give_constant(im, 0, state->constant);
        return VBS_OK;
    }
    if (vbs_onnx_makes(im, VBS_OP_DROPOUT) || vbs_onnx_makes(im, VBS_OP_IDENTITY)) {
        enum vbs_op op = vbs_onnx_makes(im, VBS_OP_DROPOUT) ? VBS_OP_DROPOUT : VBS_OP_IDENTITY;
        struct vbs_onnx_tensor *copy;

        VBS_TRY(vbs_onnx_apply(im, op, NULL, state->tensor, NULL, &copy));
        return vbs_onnx_give(im, 0, copy, &state->shape);
    }
    return vbs_onnx_give(im, 0, state->tensor, &state->shape);
}

/* Makes the mask of a Dropout: true for every element, because none is dropped. */
static enum vbs_status give_mask(struct vbs_onnx_import *im, const struct vbs_onnx_constant *input)
{
    struct vbs_onnx_constant *mask;
    struct vbs_onnx_number *kept;

    if (!input)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "its mask is not supported");
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&input->shape), &kept));
    for (int64_t i = 0; i < vbs_shape_elements(&input->shape); i++)
        kept[i].value = 1;
    VBS_TRY(
        vbs_onnx_constant_new(im, ONNX__TENSOR_PROTO__DATA_TYPE__BOOL, &input->shape, kept, &mask));
    vbs_onnx_give_constant(im, 1, mask);
    return VBS_OK;
}

/* A Dropout of a version before 7 that says that it trains is refused, because its scaling
 * differs. */
VBS_ONNX_HANDLER(dropout)
{
    bool trains = im->graph->opset < 7 && vbs_onnx_int(im, "is_test", 0) == 0;

    if (im->graph->opset >= 12 && vbs_onnx_in(im, 2)) {
        struct vbs_onnx_constant *mode;
        double value = 0;

        VBS_TRY(vbs_onnx_constant_in(im, 2, &mode));
        VBS_TRY(vbs_onnx_scalar(im, mode, &value));
        trains = value != 0;
    }
    if (trains)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "is in training mode");
    if (vbs_onnx_output_used(im, 1) && vbs_onnx_in(im, 0))
        VBS_TRY(give_mask(im, vbs_onnx_in(im, 0)->constant));
    return vbs_onnx_identity(im, operator);
}

VBS_ONNX_HANDLER(cast)
{
    int to = (int)vbs_onnx_int(im, "to", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    enum vbs_element element;

    if (!vbs_onnx_element(to, &element) || vbs_onnx_is_whole(to))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "casts to element type %s",
                        vbs_onnx_type_name(to));
    return vbs_onnx_identity(im, operator);
}
