/* Operators that normalise, and softmax. */
#include "backend/onednn/operators/operators.h"

#include "backend/common/common.h"
#include "base/fail.h"

#include <stdint.h>

/* ---- BatchNorm and Scale as layers ---- */

static bool relu_follows(const struct od_build *b)
{
    return b->l->n_fused > 0 && b->l->fused[0].op == VBS_OP_RELU;
}

static enum vbs_status build_affine(struct od_build *b)
{
    const struct od_tensor *out = od_output(b);
    bool relu = relu_follows(b);
    int64_t weight_bytes = 0;
    dnnl_memory_t from = NULL, to = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_memory_desc_t md;
    enum vbs_status status = od_affine_pd(b, relu, &pd);

    if (status != VBS_OK)
        goto done;
    status = od_describe(b, out, b->batch, out->canonical, true, &md);
    if (status != VBS_OK)
        goto done;
    status = od_kernel_begin_with(b, pd);
    if (status != VBS_OK)
        goto done;
    status = od_source(b, 0, out->canonical, &md, &from);
    if (status != VBS_OK)
        goto done;
    status = od_kernel_memory(b, &md, OD_DST, 0, NULL, &to);
    if (status != VBS_OK)
        goto done;
    status = od_affine_step_with(b, pd, -1, from, to, &weight_bytes);
    if (status != VBS_OK)
        goto done;
    status = od_fused_end(b, relu ? 1 : 0, weight_bytes, 0);
done:
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* ---- statistics of each sample ---- */

static double epsilon(const struct od_build *b)
{
    return b->l->attributes.norm.epsilon != 0 ? b->l->attributes.norm.epsilon
                                              : VBS_BATCHNORM_EPSILON;
}

/* Makes gamma and beta of the layer: [copies][n] each; values from number of on are 0. */
static enum vbs_status norm_args(struct od_build *b, int64_t of, int64_t n, int copies, int *n_args,
                                 dnnl_exec_arg_t *args, int64_t *bytes)
{
    static const int ids[] = {DNNL_ARG_SCALE, DNNL_ARG_SHIFT};
    static const enum vbs_parameter parameters[] = {VBS_PARAMETER_GAMMA, VBS_PARAMETER_BETA};
    int64_t stride = (copies * n + 15) / 16 * 16;
    float *values = od_constants(b, 2 * stride);
    enum vbs_status status = values ? VBS_OK : vbs_no_memory(b->ctx);

    for (int p = 0; p < 2 && status == VBS_OK; p++) {
        float *vector = values + p * stride;

        status =
            vbs_parameter_values(b->ctx, b->network, b->layer, -1, parameters[p], 0, of, vector);
        for (int64_t i = n; i < copies * n; i++)
            vector[i] = vector[i - n];
        if (status == VBS_OK)
            status = od_add_vector(b, ids[p], copies * n, vector, n_args, args);
    }
    /* One copy counts, as at batch 1, because rows of one format must read weights of the same
     * size. */
    *bytes += 2 * n * (int64_t)sizeof *values;
    return status;
}

/* Ends a kernel of one primitive that reads input 0 and writes the output in layout, both described
 * by md, with gamma and beta. Takes ownership of pd. */
static enum vbs_status build_norm(struct od_build *b, dnnl_primitive_desc_t pd,
                                  enum od_layout layout, const dnnl_memory_desc_t *md, int64_t of,
                                  int64_t n, int copies, int first_fused)
{
    dnnl_exec_arg_t args[4] = {{DNNL_ARG_SRC, NULL}, {DNNL_ARG_DST, NULL}};
    struct od_target target = {0};
    int64_t weight_bytes = 0;
    int n_args = 2;
    enum vbs_status status = od_kernel_begin_with(b, pd);

    if (status != VBS_OK)
        goto done;
    status = od_source(b, 0, layout, md, &args[0].memory);
    if (status != VBS_OK)
        goto done;
    status = od_target(b, layout, md, &target);
    args[1].memory = target.memory;
    if (status != VBS_OK)
        goto done;
    if (n > 0)
        status = norm_args(b, of, n, copies, &n_args, args, &weight_bytes);
    if (status != VBS_OK)
        goto done;
    status = od_kernel_step(b, pd, n_args, args);
    if (status != VBS_OK)
        goto done;
    status = od_target_end(b, &target);
    if (status != VBS_OK)
        goto done;
    status = od_fused_end(b, first_fused, weight_bytes, 0);
done:
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* The channels of all samples are computed as those of one sample of a BatchNorm that computes its
 * own statistics. Padding has mean and variance 0 and stays 0. */
static enum vbs_status build_instance_norm(struct od_build *b)
{
    const struct od_tensor *out = od_output(b);
    struct od_tensor all = *out;
    bool relu = relu_follows(b);
    unsigned flags = dnnl_use_scale | dnnl_use_shift |
                     (relu ? dnnl_fuse_norm_relu : dnnl_normalization_flags_none);
    int n_fused = 0;
    dnnl_batch_normalization_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_memory_desc_t md;
    dnnl_status_t dnnl;

    all.stored_channels *= b->batch;
    all.channels = all.stored_channels;
    all.n_spatial = 2;
    all.spatial[0] = 1;
    all.spatial[1] = all.positions;
    VBS_TRY(od_describe(b, &all, 1, out->canonical, true, &md));
    dnnl = dnnl_batch_normalization_forward_desc_init(&desc, dnnl_forward_inference, &md,
                                                      (float)epsilon(b), flags);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing a normalization");
    VBS_TRY(od_best(b, &desc, 0, &n_fused, &pd));
    return build_norm(b, pd, out->canonical, &md, out->channels, out->stored_channels, b->batch,
                      relu ? 1 : 0);
}

/* Counts the elements of dimensions first .. end - 1. */
static int64_t elements(const struct vbs_shape *shape, int first, int end)
{
    int64_t n = 1;

    for (int i = first; i < end; i++)
        n *= shape->dim[i];
    return n;
}

static enum vbs_status build_layer_norm(struct od_build *b)
{
    const struct vbs_shape *shape = &b->l->shape;
    int axis = b->l->attributes.norm.axis;
    int64_t n = elements(shape, axis, shape->n_dims);
    bool affine = b->l->attributes.norm.affine;
    unsigned flags = affine ? (unsigned)dnnl_use_scale | dnnl_use_shift : 0;
    dnnl_dims_t dims = {b->batch * elements(shape, 0, axis), n};
    int n_fused = 0;
    dnnl_layer_normalization_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_memory_desc_t md;
    dnnl_status_t dnnl = dnnl_memory_desc_init_by_tag(&md, 2, dims, dnnl_f32, dnnl_ab);

    if (dnnl == dnnl_success)
        dnnl = dnnl_layer_normalization_forward_desc_init(&desc, dnnl_forward_inference, &md, NULL,
                                                          (float)epsilon(b), flags);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing a normalization");
    VBS_TRY(od_best(b, &desc, 0, &n_fused, &pd));
    return build_norm(b, pd, OD_PLAIN, &md, n, affine ? n : 0, 1, 0);
}

/* ---- across channels ---- */

/* LRN works across channels, so that any number of spatial dimensions can be described as the two
 * for which there are fast kernels; zeros of the padding add nothing to a sum of squares. */
static enum vbs_status build_lrn(struct od_build *b)
{
    const union vbs_attributes *a = &b->l->attributes;
    struct od_tensor flat = *od_output(b);
    int n_fused = 0;
    dnnl_memory_desc_t md;
    dnnl_lrn_desc_t desc;
    dnnl_primitive_desc_t pd;
    dnnl_status_t dnnl;

    if (flat.n_spatial != 2) {
        flat.n_spatial = 2;
        flat.spatial[0] = 1;
        flat.spatial[1] = flat.positions;
    }
    VBS_TRY(od_describe(b, &flat, b->batch, flat.canonical, true, &md));
    dnnl = dnnl_lrn_forward_desc_init(&desc, dnnl_forward_inference, dnnl_lrn_across_channels, &md,
                                      a->lrn.size, (float)a->lrn.alpha, (float)a->lrn.beta,
                                      (float)a->lrn.k);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing a local response normalization");
    VBS_TRY(od_best(b, &desc, 0, &n_fused, &pd));
    return build_norm(b, pd, flat.canonical, &md, 0, 0, 1, 0);
}

/* Describes plain samples as [before, axis, behind]; last: the axis varies fastest. */
static enum vbs_status describe_around(struct od_build *b, int axis, bool last,
                                       dnnl_memory_desc_t *md)
{
    const struct vbs_shape *shape = &b->l->shape;
    int64_t n = shape->dim[axis], behind = elements(shape, axis + 1, shape->n_dims);
    dnnl_dims_t dims = {b->batch * elements(shape, 0, axis), n, behind};
    dnnl_dims_t strides = {n * behind, last ? 1 : behind, last ? n : 1};
    dnnl_status_t dnnl = dnnl_memory_desc_init_by_strides(md, 3, dims, dnnl_f32, strides);

    return dnnl == dnnl_success ? VBS_OK : od_fail(b, dnnl, "describing a softmax");
}

static enum vbs_status softmax_pd(struct od_build *b, const dnnl_memory_desc_t *md, int axis,
                                  dnnl_primitive_desc_t *pd)
{
    dnnl_alg_kind_t algorithm =
        b->l->op == VBS_OP_SOFTMAX ? dnnl_softmax_accurate : dnnl_softmax_log;
    int n_fused = 0;
    dnnl_softmax_v2_desc_t desc;
    dnnl_status_t dnnl =
        dnnl_softmax_v2_forward_desc_init(&desc, dnnl_forward_inference, algorithm, md, md, axis);

    return dnnl == dnnl_success ? od_best(b, &desc, 0, &n_fused, pd)
                                : od_fail(b, dnnl, "describing a softmax");
}

/* Copies to workspace in which the axis varies fastest, and back, because oneDNN has only a
 * reference for other axes. */
static enum vbs_status build_turned_softmax(struct od_build *b)
{
    int axis = b->l->attributes.softmax.axis;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, NULL}, {DNNL_ARG_DST, NULL}};
    dnnl_memory_t from = NULL, to = NULL;
    dnnl_memory_desc_t md, turned;
    dnnl_primitive_desc_t pd = NULL;
    enum vbs_status status = describe_around(b, axis, false, &md);

    if (status != VBS_OK)
        goto done;
    status = describe_around(b, axis, true, &turned);
    if (status != VBS_OK)
        goto done;
    status = softmax_pd(b, &turned, 1, &pd);
    if (status != VBS_OK)
        goto done;
    status = od_kernel_begin_with(b, pd);
    if (status != VBS_OK)
        goto done;
    status = od_source(b, 0, OD_PLAIN, &md, &from);
    if (status != VBS_OK)
        goto done;
    status = od_kernel_memory(b, &md, OD_DST, 0, NULL, &to);
    if (status != VBS_OK)
        goto done;
    status = od_kernel_buffer(b, &turned, &args[0].memory);
    args[1].memory = args[0].memory;
    if (status != VBS_OK)
        goto done;
    status = od_kernel_reorder(b, &md, from, &turned, args[0].memory);
    if (status != VBS_OK)
        goto done;
    status = od_kernel_step(b, pd, 2, args);
    if (status != VBS_OK)
        goto done;
    status = od_kernel_reorder(b, &turned, args[0].memory, &md, to);
    if (status != VBS_OK)
        goto done;
    status = od_fused_end(b, 0, 0, 0);
done:
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* Softmax is over the true channels only: padding must not take part in the sum. */
static enum vbs_status build_softmax(struct od_build *b)
{
    const struct od_tensor *out = od_output(b);
    int axis = b->l->attributes.softmax.axis;
    dnnl_memory_desc_t md;
    dnnl_primitive_desc_t pd;

    VBS_TRY(axis == 0 ? od_describe(b, out, b->batch, out->canonical, false, &md)
                      : describe_around(b, axis, false, &md));
    VBS_TRY(softmax_pd(b, &md, 1, &pd));
    if (out->canonical == OD_BLOCKED || !od_is_reference(pd))
        return build_norm(b, pd, out->canonical, &md, 0, 0, 1, 0);
    dnnl_primitive_desc_destroy(pd);
    return build_turned_softmax(b);
}

enum vbs_status od_build_norm(struct od_build *b)
{
    switch (b->l->op) {
    case VBS_OP_INSTANCE_NORM:
        return build_instance_norm(b);
    case VBS_OP_LAYER_NORM:
        return build_layer_norm(b);
    case VBS_OP_LRN:
        return build_lrn(b);
    case VBS_OP_SOFTMAX:
        VBS_TRY(build_softmax(b));
        return od_is_encoded(b) ? VBS_OK : od_build_native_norm(b);
    case VBS_OP_LOGSOFTMAX:
        return build_softmax(b);
    default:
        return build_affine(b);
    }
}
