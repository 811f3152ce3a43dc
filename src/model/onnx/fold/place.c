/* Constants whose elements are those of others in other places: Concat, Tile, Pad, Trilu. */
#include "model/onnx/fold/fold.h"

#include "base/arith.h"
#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

typedef struct vbs_onnx_number number;
typedef struct vbs_onnx_constant constant;

/* ---- Concat ---- */

/* Adds an input's elements along axis to the shape of the output. */
static enum vbs_status add_part(struct vbs_onnx_import *im, const struct vbs_shape *part, int axis,
                                struct vbs_shape *shape)
{
    if (part->n_dims != shape->n_dims)
        return vbs_fail(im->ctx, VBS_FORMAT, "inputs have different dimensions");
    for (int d = 0; d < shape->n_dims; d++)
        if (d != axis && part->dim[d] != shape->dim[d])
            return vbs_fail(im->ctx, VBS_FORMAT, "sizes beside the axis differ");
    shape->dim[axis] += part->dim[axis];
    if (!vbs_onnx_bounded(shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "its output has more than 2^36 elements");
    return VBS_OK;
}

/* Returns whether all inputs have one type, and more elements together than should become numbers.
 */
static bool are_many(struct vbs_onnx_import *im, const struct vbs_shape *shape)
{
    int type = vbs_onnx_in(im, 0)->constant->type;

    for (int i = 1; i < im->node->n_inputs; i++)
        if (vbs_onnx_in(im, i)->constant->type != type)
            return false;
    return vbs_onnx_is_many(im, type, vbs_shape_elements(shape));
}

/* Joins inputs, the elements before whose axis number `before`, as floats: weights are joined of
 * recurrent operators, whose gates exporters bring into another order. */
static enum vbs_status join_floats(struct vbs_onnx_import *im, const struct vbs_shape *shape,
                                   int64_t before)
{
    int64_t row = vbs_shape_elements(shape) / before, at = 0;
    constant *made;
    float *joined;

    VBS_TRY(vbs_onnx_floats_new(im, vbs_onnx_in(im, 0)->constant, shape, &made, &joined));
    for (int i = 0; i < im->node->n_inputs; i++) {
        constant *input = vbs_onnx_in(im, i)->constant;
        int64_t count = vbs_shape_elements(&input->shape), each = count / before;
        float *part = malloc((size_t)(count + 1) * sizeof *part);
        enum vbs_status status =
            part ? vbs_onnx_floats_read(im, input, part) : vbs_no_memory(im->ctx);

        for (int64_t k = 0; k < before && status == VBS_OK; k++)
            memcpy(joined + k * row + at, part + k * each, (size_t)each * sizeof *part);
        free(part);
        VBS_TRY(status);
        at += each;
    }
    vbs_onnx_give_constant(im, 0, made);
    return VBS_OK;
}

VBS_ONNX_HANDLER(fold_concat)
{
    constant *first, *input;
    struct vbs_shape shape;
    int64_t before = 1, row, at = 0;
    int axis;
    number *joined;
    enum vbs_status status = vbs_onnx_constant_in(im, 0, &first);

    (void)operator;
    if (status != VBS_OK)
        return status;
    shape = first->shape;
    VBS_TRY(vbs_onnx_constant_axis(im, vbs_onnx_int(im, "axis", 1), shape.n_dims, &axis));
    for (int i = 1; i < im->node->n_inputs; i++) {
        VBS_TRY(vbs_onnx_constant_in(im, i, &input));
        VBS_TRY(add_part(im, &input->shape, axis, &shape));
    }
    vbs_onnx_broadcast_copies(im, shape.n_dims);
    if (im->copies == axis + 1)
        return vbs_onnx_counts(im);
    for (int d = 0; d < axis; d++)
        before *= shape.dim[d];
    if (are_many(im, &shape))
        return join_floats(im, &shape, before);
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &joined));
    row = before > 0 ? vbs_shape_elements(&shape) / before : 0;
    for (int i = 0; i < im->node->n_inputs; i++) {
        const number *x;
        int64_t each;

        VBS_TRY(vbs_onnx_numbers_in(im, i, &input, &x));
        each = before > 0 ? vbs_shape_elements(&input->shape) / before : 0;
        for (int64_t k = 0; k < before && each > 0; k++)
            memcpy(joined + k * row + at, x + k * each, (size_t)each * sizeof *x);
        at += each;
    }
    return vbs_onnx_give_numbers(im, first->type, &shape, joined);
}

/* ---- outputs each of whose elements is one of the input, or a fixed one ---- */

/* Gives the position of an input of dim elements from which position at of the output comes, or -1
 * where none does. */
typedef int64_t place_function(const void *places, int d, int64_t dim, int64_t at);

/* Makes an output of this shape; elsewhere is the element of positions that come from none. */
static enum vbs_status give_placed(struct vbs_onnx_import *im, const struct vbs_shape *shape,
                                   place_function *place, const void *places, number elsewhere)
{
    int64_t stride[VBS_MAX_DIMS], none[VBS_MAX_DIMS] = {0}, position[VBS_MAX_DIMS] = {0};
    int64_t unused = 0;
    constant *input;
    const number *x;
    number *y;

    if (!vbs_onnx_bounded(shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "its output has more than 2^36 elements");
    VBS_TRY(vbs_onnx_numbers_in(im, 0, &input, &x));
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(shape), &y));
    vbs_onnx_plain_strides(&input->shape, stride);
    for (int64_t i = 0; i < vbs_shape_elements(shape); i++) {
        int64_t from = 0;

        for (int d = 0; d < shape->n_dims && from >= 0; d++) {
            int64_t at = place(places, d, input->shape.dim[d], position[d]);

            from = at < 0 ? -1 : from + at * stride[d];
        }
        y[i] = from < 0 ? elsewhere : x[from];
        vbs_onnx_advance(shape, none, position, &unused);
    }
    return vbs_onnx_give_numbers(im, input->type, shape, y);
}

static int64_t place_tiled(const void *unused, int d, int64_t dim, int64_t at)
{
    (void)unused;
    (void)d;
    return at % dim;
}

VBS_ONNX_HANDLER(fold_tile)
{
    int64_t repeats[VBS_MAX_DIMS + 1];
    struct vbs_shape shape;
    constant *input;
    int n, open;
    enum vbs_status status = vbs_onnx_constant_in(im, 0, &input);

    (void)operator;
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_onnx_target(im, 1, repeats, &open, &n));
    shape = input->shape;
    if (n != shape.n_dims)
        return vbs_fail(im->ctx, VBS_FORMAT, "%d repeats for %d dimensions", n, shape.n_dims);
    /* what is the same for all samples is not repeated */
    if (open >= 0 && (shape.dim[open] != 1 || repeats[open] != 1))
        return vbs_onnx_mixes(im);
    for (int d = 0; d < n; d++) {
        if (repeats[d] != 1 && d != open)
            VBS_TRY(vbs_onnx_check_copies(im, input, 1u << d));
        if (repeats[d] < 0 || !vbs_mul(shape.dim[d], repeats[d], &shape.dim[d]))
            return vbs_fail(im->ctx, VBS_FORMAT, "%lld repeats", (long long)repeats[d]);
    }
    im->copies = open >= 0 ? open + 1 : input->copies;
    if (open >= 0 && input->copies > 0)
        return vbs_onnx_counts(im);
    return give_placed(im, &shape, place_tiled, NULL, (number){0, .batch = false});
}

/* A Pad: its mode, and the positions that it adds before, by dimension. */
struct padding {
    enum vbs_pad_mode mode;
    struct vbs_onnx_pads pads;
};

/* Elements are cut off first, where pads are below 0, and what is added comes from the elements
 * that are left. */
static int64_t place_padded(const void *places, int d, int64_t dim, int64_t at)
{
    const struct padding *p = places;
    int64_t before = p->pads.before[d], begin = before < 0 ? -before : 0;
    int64_t left = dim - begin + (p->pads.behind[d] < 0 ? p->pads.behind[d] : 0);
    int64_t period = 2 * (left - 1);

    at -= before > 0 ? before : 0;
    if (at >= 0 && at < left)
        return begin + at;
    switch (p->mode) {
    case VBS_PAD_REFLECT:
        at = period > 0 ? (at % period + period) % period : 0;
        return begin + (at < left ? at : period - at);
    case VBS_PAD_EDGE:
        return begin + (at < 0 ? 0 : left - 1);
    case VBS_PAD_WRAP:
        return begin + (at % left + left) % left;
    default:
        return -1;
    }
}

/* Counts the elements of a dimension of dim that pads below 0 leave. */
static int64_t count_left(const struct vbs_onnx_pads *pads, int d, int64_t dim)
{
    return dim + (pads->before[d] < 0 ? pads->before[d] : 0) +
           (pads->behind[d] < 0 ? pads->behind[d] : 0);
}

VBS_ONNX_HANDLER(fold_pad)
{
    int mode = vbs_onnx_word(im, "mode", vbs_onnx_pad_modes, 0);
    struct padding p;
    long double value;
    constant *input;
    struct vbs_shape shape;
    enum vbs_status status = vbs_onnx_constant_in(im, 0, &input);

    (void)operator;
    if (mode < 0)
        return im->bad;
    if (status != VBS_OK)
        return status;
    p.mode = (enum vbs_pad_mode)mode;
    shape = input->shape;
    VBS_TRY(vbs_onnx_read_pads(im, shape.n_dims, &p.pads));
    VBS_TRY(vbs_onnx_read_pad_value(im, &value));
    for (int d = 0; d < shape.n_dims; d++) {
        int64_t *dim = &shape.dim[d];

        if (p.pads.before[d] != 0 || p.pads.behind[d] != 0)
            VBS_TRY(vbs_onnx_check_copies(im, input, 1u << d));
        if (p.mode != VBS_PAD_CONSTANT && count_left(&p.pads, d, *dim) < 1 &&
            (p.pads.before[d] > 0 || p.pads.behind[d] > 0 || *dim == 0))
            return vbs_fail(im->ctx, VBS_FORMAT, "dimension %d has no elements to pad with", d);
        if (!vbs_add(*dim, p.pads.before[d], dim) || !vbs_add(*dim, p.pads.behind[d], dim) ||
            *dim < 0 || *dim > VBS_MAX_DIM || p.pads.before[d] < -VBS_MAX_DIM)
            return vbs_fail(im->ctx, VBS_FORMAT, "dimension %d of its output is out of range", d);
    }
    im->copies = input->copies;
    return give_placed(im, &shape, place_padded, &p, (number){value, .batch = false});
}

/* ---- Trilu ---- */

/* Keeps one triangle of every matrix of a stack; the other becomes 0. */
VBS_ONNX_HANDLER(fold_trilu)
{
    bool upper = vbs_onnx_int(im, "upper", 1) != 0;
    int64_t count, rows, columns;
    constant *input, *shift;
    const number *x;
    double k = 0;
    number *y;
    enum vbs_status status = vbs_onnx_numbers_in(im, 0, &input, &x);

    (void)operator;
    if (status != VBS_OK)
        return status;
    if (input->shape.n_dims < 2)
        return vbs_fail(im->ctx, VBS_FORMAT, "its input is no matrix");
    if (vbs_onnx_in(im, 1)) {
        VBS_TRY(vbs_onnx_constant_in(im, 1, &shift));
        VBS_TRY(vbs_onnx_scalar(im, shift, &k));
    }
    VBS_TRY(vbs_onnx_check_copies(im, input, 3u << (input->shape.n_dims - 2)));
    vbs_onnx_same_copies(im, 0);
    count = vbs_shape_elements(&input->shape);
    rows = input->shape.dim[input->shape.n_dims - 2];
    columns = input->shape.dim[input->shape.n_dims - 1];
    VBS_TRY(vbs_onnx_numbers_new(im, count, &y));
    for (int64_t i = 0; i < count; i++) {
        double right = (double)(i % columns - i / columns % rows);

        y[i] = (upper ? right >= k : right <= k) ? x[i] : (number){0, .batch = x[i].batch};
    }
    return vbs_onnx_give_numbers(im, input->type, &input->shape, y);
}
