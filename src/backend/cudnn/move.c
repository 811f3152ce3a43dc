/* Operators that only change where values stand. */
#include "backend/cudnn/operators.h"

#include "base/fail.h"

#include <string.h>

/* Computes the strides of [N, shape...] without gaps. */
static void dense_strides(const struct vbs_shape *shape, int64_t *strides)
{
    int64_t stride = 1;

    for (int i = shape->n_dims; i >= 0; i--) {
        strides[i] = stride;
        stride *= i > 0 ? shape->dim[i - 1] : 1;
    }
}

/* A step that copies [N, dims...] from one set of strides to another, each from an offset on. */
struct rearrangement {
    int n_dims; /* including N */
    int64_t dims[CU_MAX_DIMS];
    int64_t from[CU_MAX_DIMS], to[CU_MAX_DIMS]; /* strides */
    int64_t from_first, to_first;               /* offsets, in values */
};

static enum vbs_status add_rearrangement(struct cu_build *b, const struct rearrangement *r)
{
    struct cu_step *step = cu_step(b, CU_REARRANGE);

    if (!step)
        return vbs_no_memory(b->ctx);
    step->x = cu_at(CU_SRC, 0, NULL);
    step->y = cu_at(CU_DST, 0, NULL);
    step->x.offset = r->from_first * (int64_t)sizeof(float);
    step->y.offset = r->to_first * (int64_t)sizeof(float);
    VBS_TRY(cu_tensor(b, r->n_dims, r->dims, r->from, &step->x.desc));
    return cu_tensor(b, r->n_dims, r->dims, r->to, &step->y.desc);
}

static enum vbs_status add_transpose(struct cu_build *b)
{
    const struct vbs_shape *in = cu_view(b, 0), *out = &b->l->shape;
    struct rearrangement r = {.n_dims = 1 + in->n_dims, .dims = {b->batch}};
    int64_t strides[CU_MAX_DIMS];

    dense_strides(in, strides);
    dense_strides(out, r.to);
    r.from[0] = strides[0];
    for (int i = 0; i < out->n_dims; i++) {
        r.dims[1 + i] = out->dim[i];
        r.from[1 + i] = strides[1 + b->l->attributes.transpose.perm[i]];
    }
    return add_rearrangement(b, &r);
}

/* Transposes the channels as [groups, C / groups]. */
static enum vbs_status add_shuffle(struct cu_build *b)
{
    const struct vbs_shape *in = cu_view(b, 0);
    int64_t groups = b->l->attributes.shuffle.groups, size = in->dim[0] / groups;
    int64_t all = vbs_shape_elements(in), positions = all / in->dim[0];
    struct rearrangement r = {.n_dims = 2 + in->n_dims,
                              .dims = {b->batch, size, groups},
                              .from = {all, positions, size * positions},
                              .to = {all, groups * positions, positions}};
    int64_t strides[CU_MAX_DIMS];

    if (r.n_dims > CU_MAX_DIMS)
        return cu_unsupported(b, "shuffles of so many dimensions");
    dense_strides(in, strides);
    for (int i = 1; i < in->n_dims; i++) {
        r.dims[2 + i] = in->dim[i];
        r.from[2 + i] = r.to[2 + i] = strides[1 + i];
    }
    return add_rearrangement(b, &r);
}

static enum vbs_status add_slice(struct cu_build *b)
{
    const union vbs_attributes *a = &b->l->attributes;
    const struct vbs_shape *out = &b->l->shape;
    struct rearrangement r = {.n_dims = 1 + out->n_dims, .dims = {b->batch}};
    int64_t strides[CU_MAX_DIMS];

    dense_strides(cu_view(b, 0), strides);
    dense_strides(out, r.to);
    r.from[0] = strides[0];
    for (int i = 0; i < out->n_dims; i++) {
        if (a->slice.step[i] < 0)
            return cu_unsupported(b, "slices that go backwards");
        r.dims[1 + i] = out->dim[i];
        r.from[1 + i] = strides[1 + i] * a->slice.step[i];
        r.from_first += strides[1 + i] * a->slice.begin[i];
    }
    return add_rearrangement(b, &r);
}

static enum vbs_status fill_output(struct cu_build *b, float value)
{
    struct cu_step *step = cu_step(b, CU_FILL);

    if (!step)
        return vbs_no_memory(b->ctx);
    step->alpha = value;
    step->y = cu_at(CU_DST, 0, NULL);
    return cu_samples(b, &b->l->shape, &step->y.desc);
}

static enum vbs_status add_pad(struct cu_build *b)
{
    const union vbs_attributes *a = &b->l->attributes;
    const struct vbs_shape *in = cu_view(b, 0);
    struct rearrangement r = {.n_dims = 1 + in->n_dims, .dims = {b->batch}};

    dense_strides(in, r.from);
    dense_strides(&b->l->shape, r.to);
    for (int i = 0; i < in->n_dims; i++) {
        if (a->pad.mode != VBS_PAD_CONSTANT || a->pad.before[i] < 0 || a->pad.behind[i] < 0)
            return cu_unsupported(b, "pads other than with a constant");
        r.dims[1 + i] = in->dim[i];
        r.to_first += r.to[1 + i] * a->pad.before[i];
    }
    VBS_TRY(fill_output(b, (float)a->pad.value));
    return add_rearrangement(b, &r);
}

enum vbs_status cu_add_move(struct cu_build *b)
{
    switch (b->l->op) {
    case VBS_OP_TRANSPOSE:
        return add_transpose(b);
    case VBS_OP_SHUFFLE:
        return add_shuffle(b);
    case VBS_OP_SLICE:
        return add_slice(b);
    case VBS_OP_PAD:
        return add_pad(b);
    default:
        return cu_unsupported(b, vbs_op_word(b->l->op));
    }
}

/* Gives the bytes of one index of the dimensions before axis. */
static size_t row_bytes(const struct vbs_shape *shape, int axis)
{
    size_t bytes = sizeof(float);

    for (int i = axis; i < shape->n_dims; i++)
        bytes *= (size_t)shape->dim[i];
    return bytes;
}

enum vbs_status cu_add_concat(struct cu_build *b)
{
    int axis = b->l->attributes.concat.axis;
    size_t pitch = row_bytes(&b->l->shape, axis);
    int64_t all = vbs_shape_elements(&b->l->shape) * (int64_t)sizeof(float), at = 0;

    for (int i = 0; i < b->l->n_inputs; i++) {
        struct cu_step *step = cu_step(b, CU_COPY);

        if (!step)
            return vbs_no_memory(b->ctx);
        step->x = cu_at(CU_SRC, i, NULL);
        step->y = cu_at(CU_DST, 0, NULL);
        step->y.offset = at;
        step->width = step->x_pitch = row_bytes(cu_view(b, i), axis);
        step->y_pitch = pitch;
        step->n_rows = (size_t)(b->batch * (all / (int64_t)pitch));
        at += (int64_t)step->width;
    }
    return VBS_OK;
}
