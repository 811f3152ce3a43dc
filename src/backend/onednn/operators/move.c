/* Operators that change where values stand. */
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"

#include <math.h>

/* Makes the routes of a copy that moves nothing. */
static struct od_copy identity(const struct vbs_shape *shape)
{
    struct od_copy copy = {.n_routes = shape->n_dims};

    for (int d = 0; d < shape->n_dims; d++)
        copy.routes[d] = (struct od_route){.n = shape->dim[d], .source = d, .step = 1};
    return copy;
}

/* Allocates a table for n positions of a dimension. */
static int64_t *table(struct od_build *b, int64_t n)
{
    return vbs_arena_alloc(&b->session->core.arena, (size_t)n, sizeof(int64_t));
}

/* Describes the plain one of a transposition's two tensors in the order of the dimensions of the
 * other one, which is in blocks. */
static enum vbs_status describe_turned(struct od_build *b, bool from_blocks, dnnl_memory_desc_t *md)
{
    const struct vbs_shape *plain = from_blocks ? &b->l->shape : &od_input(b, 0)->shape;
    const int *perm = b->l->attributes.transpose.perm;
    dnnl_dims_t dims = {b->batch}, strides = {vbs_shape_elements(plain)};
    int64_t stride[VBS_MAX_DIMS] = {0}, step = 1;
    dnnl_status_t dnnl;

    for (int d = plain->n_dims - 1; d >= 0; d--) {
        stride[d] = step;
        step *= plain->dim[d];
    }
    for (int d = 0; d < plain->n_dims; d++) {
        int theirs = from_blocks ? perm[d] : d, ours = from_blocks ? d : perm[d];

        dims[1 + theirs] = plain->dim[ours];
        strides[1 + theirs] = stride[ours];
    }
    dnnl = dnnl_memory_desc_init_by_strides(md, plain->n_dims + 1, dims, dnnl_f32, strides);
    return dnnl == dnnl_success ? VBS_OK : od_fail(b, dnnl, "describing a transposition");
}

/* Builds a transposition between blocks of channels and a plain tensor. Where channels become the
 * dimension that varies fastest, or were it, it copies whole blocks. */
static enum vbs_status build_between_layouts(struct od_build *b)
{
    const struct od_tensor *in = od_input(b, 0), *out = od_output(b);
    bool from_blocks = in->canonical == OD_BLOCKED;
    dnnl_memory_desc_t blocked, plain;
    dnnl_memory_t from = NULL, to = NULL;

    VBS_TRY(od_describe(b, from_blocks ? in : out, b->batch, OD_BLOCKED, false, &blocked));
    VBS_TRY(describe_turned(b, from_blocks, &plain));
    VBS_TRY(od_kernel_begin(b, "reorder"));
    VBS_TRY(od_kernel_memory(b, from_blocks ? &blocked : &plain, OD_SRC, 0, NULL, &from));
    VBS_TRY(od_kernel_memory(b, from_blocks ? &plain : &blocked, OD_DST, 0, NULL, &to));
    VBS_TRY(od_kernel_reorder(b, from_blocks ? &blocked : &plain, from,
                              from_blocks ? &plain : &blocked, to));
    return od_fused_end(b, 0, 0, 0);
}

/* Gives whether kernels copy values of 8 bits, which are never in blocks. */
static bool is_stored(const struct od_build *b)
{
    return od_value_bytes(b, 0) == 1;
}

static enum vbs_status build_transpose(struct od_build *b)
{
    struct od_copy copy = identity(&b->l->shape);

    if (!is_stored(b) &&
        (od_input(b, 0)->canonical == OD_BLOCKED) != (od_output(b)->canonical == OD_BLOCKED))
        return build_between_layouts(b);
    for (int d = 0; d < copy.n_routes; d++)
        copy.routes[d].source = b->l->attributes.transpose.perm[d];
    return od_build_copy(b, &copy);
}

static enum vbs_status build_slice(struct od_build *b)
{
    struct od_copy copy = identity(&b->l->shape);

    for (int d = 0; d < copy.n_routes; d++) {
        copy.routes[d].first = b->l->attributes.slice.begin[d];
        copy.routes[d].step = b->l->attributes.slice.step[d];
    }
    if (b->row_output) /* rows are counted from the first that is read */
        copy.routes[1].first += copy.routes[1].step * b->row - b->row_read;
    return od_build_copy(b, &copy);
}

static enum vbs_status build_expand(struct od_build *b)
{
    const struct vbs_shape *in = &od_input(b, 0)->shape;
    struct od_copy copy = identity(&b->l->shape);
    int missing = copy.n_routes - in->n_dims;

    for (int d = 0; d < copy.n_routes; d++) {
        int source = d - missing;

        copy.routes[d].source = source >= 0 && in->dim[source] > 1 ? source : -1;
    }
    return od_build_copy(b, &copy);
}

/* Gives the position that position i, which may be outside of a dimension of n, takes its value
 * from. */
static int64_t pad_position(enum vbs_pad_mode mode, int64_t i, int64_t n)
{
    int64_t period = mode == VBS_PAD_REFLECT ? 2 * (n - 1) : n;

    if (i >= 0 && i < n)
        return i;
    switch (mode) {
    case VBS_PAD_EDGE:
        return i < 0 ? 0 : n - 1;
    case VBS_PAD_REFLECT:
    case VBS_PAD_WRAP:
        if (period == 0)
            return 0;
        i = (i % period + period) % period;
        return i < n ? i : period - i;
    default:
        return -1;
    }
}

static enum vbs_status build_pad(struct od_build *b)
{
    const union vbs_attributes *a = &b->l->attributes;
    const struct vbs_shape *in = &od_input(b, 0)->shape;
    struct od_copy copy = identity(&b->l->shape);

    copy.fill = (float)a->pad.value;
    for (int d = 0; d < copy.n_routes; d++) {
        /* Rows are counted from the first that is read. */
        int64_t first = d == 1 && b->row_output ? b->row - b->row_read : 0;
        int64_t *positions;

        if (a->pad.before[d] == 0 && a->pad.behind[d] == 0)
            continue;
        positions = table(b, copy.routes[d].n);
        if (!positions)
            return vbs_no_memory(b->ctx);
        for (int64_t i = 0; i < copy.routes[d].n; i++)
            positions[i] = pad_position(a->pad.mode, first + i - a->pad.before[d], in->dim[d]);
        copy.routes[d].table = positions;
    }
    return od_build_copy(b, &copy);
}

/* Makes the routes of a shuffle: [C / groups, groups] of channels, which in plain samples are two
 * dimensions. */
static enum vbs_status copy_shuffle(struct od_build *b)
{
    int64_t groups = b->l->attributes.shuffle.groups, n = b->l->shape.dim[0] / groups;
    struct od_copy copy = identity(&b->l->shape);
    int64_t *positions;

    if (is_stored(b) ? od_stored_layout(b, 1) == OD_PLAIN : od_output(b)->canonical == OD_PLAIN) {
        for (int d = copy.n_routes++; d > 1; d--)
            copy.routes[d] = copy.routes[d - 1];
        copy.routes[0] = (struct od_route){.n = n, .source = 0, .step = 1};
        copy.routes[1] = (struct od_route){.n = groups, .source = 0, .step = n};
        return od_build_copy(b, &copy);
    }
    positions = table(b, groups * n);
    if (!positions)
        return vbs_no_memory(b->ctx);
    for (int64_t i = 0; i < groups * n; i++)
        positions[i] = i % groups * n + i / groups;
    copy.routes[0].table = positions;
    return od_build_copy(b, &copy);
}

static enum vbs_status build_shuffle(struct od_build *b)
{
    const struct od_tensor *out = od_output(b);
    int n_fused = 0;
    dnnl_shuffle_desc_t desc;
    dnnl_primitive_desc_t pd;
    dnnl_memory_desc_t md;
    dnnl_status_t dnnl;
    enum vbs_status status;

    if (b->native || out->canonical != OD_BLOCKED || od_input(b, 0)->canonical != OD_BLOCKED)
        return copy_shuffle(b);
    VBS_TRY(od_describe(b, out, b->batch, out->canonical, false, &md));
    dnnl = dnnl_shuffle_forward_desc_init(&desc, dnnl_forward_inference, &md, 1,
                                          out->channels / b->l->attributes.shuffle.groups);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing a shuffle");
    status = od_best(b, &desc, 0, &n_fused, &pd);
    if (status != VBS_OK || !od_is_reference(pd))
        return status == VBS_OK ? od_build_primitive(b, pd, od_output(b)->canonical, 0) : status;
    dnnl_primitive_desc_destroy(pd);
    return copy_shuffle(b);
}

/* Reads the constant operand as positions of a dimension of size n; negative ones count from its
 * end. */
static enum vbs_status read_indices(struct od_build *b, int64_t count, int64_t n,
                                    int64_t *positions)
{
    float *values = vbs_arena_alloc(&b->session->core.arena, (size_t)count, sizeof *values);

    VBS_TRY(values ? vbs_parameter_values(b->ctx, b->network, b->layer, -1, VBS_PARAMETER_OPERAND,
                                          0, count, values)
                   : vbs_no_memory(b->ctx));
    for (int64_t i = 0; i < count; i++) {
        double at = values[i] < 0 ? values[i] + (double)n : values[i];

        if (at != floor(at) || at < 0 || at >= (double)n)
            return vbs_fail(b->ctx, VBS_FORMAT,
                            "layer '%s': index %lld is %g, of a dimension of %lld", b->l->name,
                            (long long)i, (double)values[i], (long long)n);
        positions[i] = (int64_t)at;
    }
    return VBS_OK;
}

static enum vbs_status build_gather(struct od_build *b)
{
    const struct vbs_shape *in = &od_input(b, 0)->shape;
    int axis = b->l->attributes.gather.axis;
    int64_t count = vbs_shape_elements(&b->l->operand);
    struct od_copy copy = identity(in);
    int64_t *positions = table(b, count);

    VBS_TRY(positions ? read_indices(b, count, in->dim[axis], positions) : vbs_no_memory(b->ctx));
    copy.routes[axis].n = count;
    copy.routes[axis].table = positions;
    return od_build_copy(b, &copy);
}

/* Builds a copy that moves nothing. */
static enum vbs_status build_same(struct od_build *b)
{
    const struct od_tensor *out = od_output(b);
    dnnl_memory_desc_t md;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t dnnl;

    VBS_TRY(od_describe(b, out, b->batch, out->canonical, true, &md));
    VBS_TRY(od_attributes(b, 0, 0, &attr));
    dnnl = od_pd_reorder(&md, &md, attr, b->session->engine, &pd);
    dnnl_primitive_attr_destroy(attr);
    return dnnl == dnnl_success ? od_build_primitive(b, pd, od_output(b)->canonical, 0)
                                : od_fail(b, dnnl, vbs_op_word(b->l->op));
}

enum vbs_status od_build_move(struct od_build *b)
{
    switch (b->l->op) {
    case VBS_OP_TRANSPOSE:
        return build_transpose(b);
    case VBS_OP_SHUFFLE:
        return build_shuffle(b);
    case VBS_OP_SLICE:
        return build_slice(b);
    case VBS_OP_PAD:
        return build_pad(b);
    case VBS_OP_EXPAND:
        return build_expand(b);
    case VBS_OP_GATHER:
        return build_gather(b);
    default:
        if (b->native) {
            struct od_copy copy = identity(&b->l->shape);

            return od_build_copy(b, &copy);
        }
        return build_same(b);
    }
}
