/* DFT, and STFT, which transforms pieces of a signal. */
#include "base/fail.h"
#include "model/onnx/operators/operators.h"

/* Reads input index, a whole number above 0, where the node has it. */
static enum vbs_status read_count(struct vbs_onnx_import *im, int index, int64_t *count)
{
    struct vbs_onnx_constant *constant;
    double value;

    if (!vbs_onnx_in(im, index))
        return VBS_OK;
    VBS_TRY(vbs_onnx_constant_in(im, index, &constant));
    VBS_TRY(vbs_onnx_scalar(im, constant, &value));
    if (!(value >= 1 && value <= VBS_MAX_DIM))
        return vbs_fail(im->ctx, VBS_FORMAT, "input %d is %.0f, not a number above 0", index,
                        value);
    *count = (int64_t)value;
    return VBS_OK;
}

enum vbs_status vbs_onnx_read_dft(struct vbs_onnx_import *im, union vbs_attributes *a,
                                  int64_t *axis)
{
    struct vbs_onnx_constant *constant;
    double value;

    *axis = im->graph->opset < 20 ? vbs_onnx_int(im, "axis", 1) : -2;
    if (im->graph->opset >= 20 && vbs_onnx_in(im, 2)) {
        VBS_TRY(vbs_onnx_constant_in(im, 2, &constant));
        VBS_TRY(vbs_onnx_scalar(im, constant, &value));
        *axis = vbs_onnx_clamp(value);
    }
    a->dft.inverse = vbs_onnx_int(im, "inverse", 0) != 0;
    a->dft.onesided = vbs_onnx_int(im, "onesided", 0) != 0;
    return read_count(im, 1, &a->dft.n);
}

void vbs_onnx_default_dft(union vbs_attributes *a, int64_t length)
{
    if (a->dft.n == 0)
        a->dft.n = a->dft.inverse && a->dft.onesided ? 2 * (length - 1) : length;
}

/* Makes the transform of a state. *result belongs to no value. */
static enum vbs_status transform(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                 const union vbs_attributes *a, struct vbs_onnx_state *result)
{
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, VBS_OP_DFT, 1);

    if (!draft)
        return vbs_no_memory(im->ctx);
    *result = *x;
    draft->node.attributes.dft = a->dft;
    vbs_onnx_reads(draft, 0, x->tensor, &x->shape);
    VBS_TRY(vbs_onnx_tensor_new(im, draft, &result->tensor));
    result->shape = result->tensor->shape;
    return VBS_OK;
}

VBS_ONNX_HANDLER(dft)
{
    union vbs_attributes a = {.dft = {.n = 0}};
    const struct vbs_onnx_state *x;
    struct vbs_onnx_state result;
    int64_t axis;
    int rank;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(vbs_onnx_read_dft(im, &a, &axis));
    rank = vbs_onnx_rank(im, x);
    if (im->batch && im->at == rank - 1)
        return vbs_onnx_mixes(im);
    VBS_TRY(vbs_onnx_axis(im, axis, rank, &a.dft.axis));
    vbs_onnx_default_dft(&a, x->shape.dim[a.dft.axis]);
    VBS_TRY(transform(im, x, &a, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* ---- STFT ---- */

enum vbs_status vbs_onnx_read_frames(struct vbs_onnx_import *im, int64_t length,
                                     struct vbs_onnx_frames *f)
{
    *f = (struct vbs_onnx_frames){.length = length, .step = 0};
    VBS_TRY(read_count(im, 1, &f->step));
    if (f->step == 0)
        return vbs_fail(im->ctx, VBS_FORMAT, "input 1 is missing");
    if (vbs_onnx_in(im, 2)) {
        VBS_TRY(vbs_onnx_constant_in(im, 2, &f->window));
        if (f->window->shape.n_dims != 1)
            return vbs_fail(im->ctx, VBS_FORMAT, "its window is no list of numbers");
        f->length = f->window->shape.dim[0];
    }
    VBS_TRY(read_count(im, 3, &f->length));
    if (f->window && f->window->shape.dim[0] != f->length)
        return vbs_fail(im->ctx, VBS_FORMAT, "a window of %lld elements for frames of %lld",
                        (long long)f->window->shape.dim[0], (long long)f->length);
    if (f->length < 1 || f->length > length)
        return vbs_fail(im->ctx, VBS_FORMAT, "frames of %lld elements in a signal of %lld",
                        (long long)f->length, (long long)length);
    f->n = (length - f->length) / f->step + 1;
    return VBS_OK;
}

/* Makes the pieces of a signal, which are two dimensions in the place of dimension dim. */
static enum vbs_status cut_frames(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                  int dim, const struct vbs_onnx_frames *f,
                                  struct vbs_onnx_state *cut)
{
    const struct vbs_shape list = {1, {f->n * f->length}}, column = {2, {f->length, 1}};
    struct vbs_onnx_constant *places, *window;
    struct vbs_onnx_number *numbers;

    VBS_TRY(vbs_onnx_numbers_new(im, list.dim[0], &numbers));
    for (int64_t i = 0; i < list.dim[0]; i++)
        numbers[i].value = i / f->length * f->step + i % f->length;
    VBS_TRY(
        vbs_onnx_constant_new(im, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, &list, numbers, &places));
    VBS_TRY(vbs_onnx_take_along(im, x, dim, places, cut));
    cut->shape.dim[dim] = f->n;
    for (int d = cut->shape.n_dims++; d > dim + 1; d--)
        cut->shape.dim[d] = cut->shape.dim[d - 1];
    cut->shape.dim[dim + 1] = f->length;
    if (!f->window)
        return VBS_OK;
    VBS_TRY(vbs_onnx_constant_reshape(im, f->window, &column, &window));
    return vbs_onnx_operand(im, VBS_OP_MUL, cut, window, false, cut);
}

/* Transforms each piece of a signal, [N, elements, 1 or 2] in the file. */
VBS_ONNX_HANDLER(stft)
{
    union vbs_attributes a = {.dft = {.onesided = vbs_onnx_int(im, "onesided", 1) != 0}};
    const struct vbs_onnx_state *x;
    struct vbs_onnx_state cut, result;
    struct vbs_onnx_frames f;
    int dim;

    (void)operator;
    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    if (vbs_onnx_rank(im, x) != 3)
        return vbs_fail(im->ctx, VBS_FORMAT, "its signal has %d dimensions, not 3",
                        vbs_onnx_rank(im, x));
    if (im->batch && (im->at != 0 || im->outer > 0))
        return vbs_onnx_mixes(im);
    VBS_TRY(vbs_onnx_axis(im, 1, 3, &dim));
    VBS_TRY(vbs_onnx_read_frames(im, x->shape.dim[dim], &f));
    VBS_TRY(cut_frames(im, x, dim, &f, &cut));
    a.dft.axis = dim + 1;
    a.dft.n = f.length;
    VBS_TRY(transform(im, &cut, &a, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}
