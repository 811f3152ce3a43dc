/* Layers without weights, and what is bundled with any layer and cannot be fused. */
#include "backend/onednn.h"

#include "base/fail.h"

#include <stddef.h>
#include <stdint.h>

/* The first implementation that oneDNN offers is its best. */
static enum vbs_status best(struct od_build *b, const_dnnl_op_desc_t desc, bool relu,
                            dnnl_primitive_desc_t *pd)
{
    dnnl_primitive_attr_t attr;
    dnnl_status_t dnnl;
    enum vbs_status status = od_attributes(b, relu, &attr);

    if (status != VBS_OK)
        return status;
    dnnl = dnnl_primitive_desc_create(pd, desc, attr, b->session->engine, NULL);
    dnnl_primitive_attr_destroy(attr);
    return dnnl == dnnl_success ? VBS_OK : od_fail(b, dnnl, vbs_op_word(b->l->op));
}

/* Input number index as it lies at home, padding as channels. */
static enum vbs_status stored_input(struct od_build *b, int index, dnnl_memory_desc_t *md)
{
    const struct od_tensor *tensor = od_input(b, index);

    return od_describe(b, tensor, b->batch, tensor->home, true, md);
}

static enum vbs_status stored_output(struct od_build *b, dnnl_memory_desc_t *md)
{
    const struct od_tensor *tensor = od_output(b);

    return od_describe(b, tensor, b->batch, tensor->home, true, md);
}

/* ---- BatchNorm, Scale and ReLU, as layers and in place after others ---- */

static enum vbs_status relu_pd(struct od_build *b, const dnnl_memory_desc_t *md,
                               dnnl_primitive_desc_t *pd)
{
    dnnl_eltwise_desc_t desc;
    dnnl_status_t dnnl =
        dnnl_eltwise_forward_desc_init(&desc, dnnl_forward_inference, dnnl_eltwise_relu, md, 0, 0);

    return dnnl == dnnl_success ? best(b, &desc, false, pd) : od_fail(b, dnnl, "describing a relu");
}

/* factor * x + shift is a normalization with mean 0 and variance 1. */
static enum vbs_status affine_pd(struct od_build *b, const dnnl_memory_desc_t *md,
                                 dnnl_primitive_desc_t *pd)
{
    dnnl_batch_normalization_desc_t desc;
    dnnl_status_t dnnl = dnnl_batch_normalization_forward_desc_init(
        &desc, dnnl_forward_inference, md, 0,
        dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift);

    return dnnl == dnnl_success ? best(b, &desc, false, pd)
                                : od_fail(b, dnnl, "describing a normalization");
}

/* n floats that live as long as the session, aligned. */
static float *constants(struct od_build *b, int64_t n)
{
    char *piece = vbs_arena_alloc(&b->session->arena, (size_t)n * sizeof(float) + OD_ALIGNMENT, 1);
    size_t beyond = (uintptr_t)piece % OD_ALIGNMENT;

    return piece ? (float *)(void *)(piece + (OD_ALIGNMENT - beyond) % OD_ALIGNMENT) : NULL;
}

/* Appends the four constants of affine_pd to args. */
static enum vbs_status affine_args(struct od_build *b, int bundled, int *n_args,
                                   dnnl_exec_arg_t *args, int64_t *bytes)
{
    static const int ids[] = {DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE};
    int64_t n = od_output(b)->stored_channels;
    int64_t stride = (n + 15) / 16 * 16;
    float *values = constants(b, 4 * stride);
    dnnl_memory_desc_t md;
    enum vbs_status status = values ? od_describe_vector(b, n, &md) : vbs_no_memory(b->ctx);

    if (status == VBS_OK)
        status = od_affine(b, bundled, n, values, values + stride);
    if (status != VBS_OK)
        return status;
    for (int64_t c = 0; c < n; c++)
        values[3 * stride + c] = 1;
    for (int i = 0; i < 4 && status == VBS_OK; i++) {
        args[*n_args].arg = ids[i];
        status =
            od_kernel_memory(b, &md, OD_FIXED, 0, values + i * stride, &args[(*n_args)++].memory);
    }
    *bytes += 4 * n * (int64_t)sizeof *values;
    return status;
}

static enum vbs_status append_bundled(struct od_build *b, int bundled, int64_t *weight_bytes)
{
    bool relu = b->l->bundled[bundled].op == VBS_OP_RELU;
    dnnl_exec_arg_t args[6] = {{DNNL_ARG_SRC, NULL}, {DNNL_ARG_DST, NULL}};
    dnnl_primitive_desc_t pd = NULL;
    dnnl_memory_desc_t md;
    int n_args = 2;
    enum vbs_status status = stored_output(b, &md);

    if (status == VBS_OK)
        status = relu ? relu_pd(b, &md, &pd) : affine_pd(b, &md, &pd);
    if (status == VBS_OK)
        status = od_kernel_memory(b, &md, OD_DST, 0, NULL, &args[0].memory);
    args[1].memory = args[0].memory;
    if (status == VBS_OK && !relu)
        status = affine_args(b, bundled, &n_args, args, weight_bytes);
    if (status == VBS_OK)
        status = od_kernel_step(b, pd, n_args, args);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

enum vbs_status od_bundled(struct od_build *b, int first, int64_t *weight_bytes)
{
    enum vbs_status status = VBS_OK;

    for (int i = first; i < b->l->n_bundled && status == VBS_OK; i++) {
        if (b->l->bundled[i].op == VBS_OP_DROPOUT)
            continue;
        status = append_bundled(b, i, weight_bytes);
    }
    return status;
}

/* ---- layers ---- */

/* The layer's kernel: pd (which it destroys), reading each input as pd describes it, then what is
 * bundled from first_bundled on. */
static enum vbs_status build(struct od_build *b, dnnl_primitive_desc_t pd, int first_bundled)
{
    bool many = b->l->op == VBS_OP_CONCAT;
    bool affine = b->l->op == VBS_OP_BATCHNORM || b->l->op == VBS_OP_SCALE;
    dnnl_exec_arg_t *args =
        vbs_arena_alloc(&b->session->arena, (size_t)b->l->n_inputs + 5, sizeof *args);
    int64_t weight_bytes = 0;
    const char *impl = "";
    int n = 0;
    enum vbs_status status = args ? VBS_OK : vbs_no_memory(b->ctx);

    if (status == VBS_OK &&
        dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &impl) != dnnl_success)
        status = od_fail(b, dnnl_runtime_error, "asking for an implementation's name");
    if (status == VBS_OK)
        status = od_kernel_begin(b, impl);
    for (int i = 0; i < b->l->n_inputs && status == VBS_OK; i++) {
        const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, i);

        args[n].arg = many ? DNNL_ARG_MULTIPLE_SRC + i : i == 0 ? DNNL_ARG_SRC_0 : DNNL_ARG_SRC_1;
        status = od_kernel_memory(b, md, OD_SRC, i, NULL, &args[n++].memory);
    }
    if (status == VBS_OK) {
        args[n].arg = DNNL_ARG_DST;
        status = od_kernel_memory(b, dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0), OD_DST,
                                  0, NULL, &args[n++].memory);
    }
    if (status == VBS_OK && affine)
        status = affine_args(b, -1, &n, args, &weight_bytes);
    if (status == VBS_OK)
        status = od_kernel_step(b, pd, n, args);
    if (status == VBS_OK)
        status = od_bundled(b, first_bundled, &weight_bytes);
    if (status == VBS_OK)
        od_kernel_end(b, weight_bytes, 0);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* Padding stays zero: the largest and the mean of zeros are zero. */
static enum vbs_status build_pool(struct od_build *b)
{
    const struct vbs_attributes *a = &b->l->attributes;
    dnnl_alg_kind_t algorithm = b->l->op == VBS_OP_POOL_MAX ? dnnl_pooling_max
                                : a->pad_counts             ? dnnl_pooling_avg_include_padding
                                                            : dnnl_pooling_avg_exclude_padding;
    dnnl_dims_t kernel, stride, low, high;
    dnnl_memory_desc_t src, dst;
    dnnl_pooling_desc_t desc;
    dnnl_primitive_desc_t pd;
    dnnl_status_t dnnl;
    enum vbs_status status = stored_input(b, 0, &src);

    if (status == VBS_OK)
        status = stored_output(b, &dst);
    if (status != VBS_OK)
        return status;
    for (int i = 0; i < od_input(b, 0)->n_spatial; i++) {
        kernel[i] = a->kernel[i];
        stride[i] = a->stride[i];
        low[i] = a->pad_low[i];
        high[i] = a->pad_high[i];
    }
    dnnl = dnnl_pooling_forward_desc_init(&desc, dnnl_forward_inference, algorithm, &src, &dst,
                                          stride, kernel, low, high);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing a pool");
    status = best(b, &desc, false, &pd);
    return status == VBS_OK ? build(b, pd, 0) : status;
}

/* Across channels, so that any number of spatial dimensions may be seen as the two for which there
 * are fast kernels; zeros of the padding add nothing to a sum of squares. */
static enum vbs_status build_lrn(struct od_build *b)
{
    const struct vbs_attributes *a = &b->l->attributes;
    struct od_tensor flat = *od_output(b);
    dnnl_memory_desc_t md;
    dnnl_lrn_desc_t desc;
    dnnl_primitive_desc_t pd;
    dnnl_status_t dnnl;
    enum vbs_status status;

    if (flat.n_spatial != 2) {
        flat.n_spatial = 2;
        flat.spatial[0] = 1;
        flat.spatial[1] = flat.positions;
    }
    status = od_describe(b, &flat, b->batch, flat.home, true, &md);
    if (status != VBS_OK)
        return status;
    dnnl = dnnl_lrn_forward_desc_init(&desc, dnnl_forward_inference, dnnl_lrn_across_channels, &md,
                                      a->lrn_size, (float)a->lrn_alpha, (float)a->lrn_beta,
                                      (float)a->lrn_k);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing a local response normalization");
    status = best(b, &desc, false, &pd);
    return status == VBS_OK ? build(b, pd, 0) : status;
}

/* Over the true channels: padding must not take part in the sum. */
static enum vbs_status build_softmax(struct od_build *b)
{
    const struct od_tensor *tensor = od_output(b);
    dnnl_memory_desc_t md;
    dnnl_softmax_v2_desc_t desc;
    dnnl_primitive_desc_t pd;
    dnnl_status_t dnnl;
    enum vbs_status status = od_describe(b, tensor, b->batch, tensor->home, false, &md);

    if (status != VBS_OK)
        return status;
    dnnl = dnnl_softmax_v2_forward_desc_init(&desc, dnnl_forward_inference, dnnl_softmax_accurate,
                                             &md, &md, 1);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing a softmax");
    status = best(b, &desc, false, &pd);
    return status == VBS_OK ? build(b, pd, 0) : status;
}

/* Input and output are equal in shape and layout; dst may be src_0. A ReLU that follows is fused.
 */
static enum vbs_status build_add(struct od_build *b)
{
    bool relu = b->l->n_bundled > 0 && b->l->bundled[0].op == VBS_OP_RELU;
    dnnl_memory_desc_t md;
    dnnl_binary_desc_t desc;
    dnnl_primitive_desc_t pd;
    dnnl_status_t dnnl;
    enum vbs_status status = stored_output(b, &md);

    if (status != VBS_OK)
        return status;
    dnnl = dnnl_binary_desc_init(&desc, dnnl_binary_add, &md, &md, &md);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing an addition");
    status = best(b, &desc, relu, &pd);
    return status == VBS_OK ? build(b, pd, relu ? 1 : 0) : status;
}

/* Whole blocks side by side: only the last input may be padded. */
static bool concat_can_be_stored(const struct od_build *b)
{
    for (int i = 0; i < b->l->n_inputs; i++) {
        const struct od_tensor *in = od_input(b, i);
        bool last = i == b->l->n_inputs - 1;

        if (in->home != od_output(b)->home)
            return false;
        if (!last && in->channels != in->stored_channels)
            return false;
    }
    return true;
}

/* Inputs and output of a concat; *src has n_inputs descriptors. */
static enum vbs_status concat_descriptors(struct od_build *b, bool stored, dnnl_memory_desc_t **src,
                                          dnnl_memory_desc_t *dst)
{
    const struct od_tensor *out = od_output(b);
    dnnl_memory_desc_t *list =
        vbs_arena_alloc(&b->session->arena, (size_t)b->l->n_inputs, sizeof *list);
    enum vbs_status status = list ? VBS_OK : vbs_no_memory(b->ctx);

    for (int i = 0; i < b->l->n_inputs && status == VBS_OK; i++)
        status = od_describe(b, od_input(b, i), b->batch, od_input(b, i)->home, stored, &list[i]);
    if (status == VBS_OK)
        status = od_describe(b, out, b->batch, out->home, stored, dst);
    *src = list;
    return status;
}

/* Appends the copy of an input into its part of the output, which begins at channel first. */
static enum vbs_status append_part(struct od_build *b, int input, const dnnl_memory_desc_t *src,
                                   const dnnl_memory_desc_t *dst, dnnl_dim_t first)
{
    dnnl_dims_t offsets = {0, first};
    dnnl_memory_desc_t part;
    dnnl_memory_t from, to;
    dnnl_status_t dnnl = dnnl_memory_desc_init_submemory(&part, dst, src->dims, offsets);
    enum vbs_status status;

    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing a part of a concat");
    status = od_kernel_memory(b, src, OD_SRC, input, NULL, &from);
    if (status == VBS_OK)
        status = od_kernel_memory(b, &part, OD_DST, 0, NULL, &to);
    return status == VBS_OK ? od_kernel_reorder(b, src, from, &part, to) : status;
}

/* A copy for each input. oneDNN's concat moves one float at a time at batch 1, which takes up
 * to seven times as long. */
static enum vbs_status build_parts(struct od_build *b, const dnnl_memory_desc_t *src,
                                   const dnnl_memory_desc_t *dst)
{
    int64_t weight_bytes = 0;
    dnnl_dim_t first = 0;
    enum vbs_status status = od_kernel_begin(b, "reorder");

    for (int i = 0; i < b->l->n_inputs && status == VBS_OK; i++) {
        status = append_part(b, i, &src[i], dst, first);
        first += src[i].dims[1];
    }
    if (status == VBS_OK)
        status = od_bundled(b, 0, &weight_bytes);
    if (status == VBS_OK)
        od_kernel_end(b, weight_bytes, 0);
    return status;
}

static enum vbs_status build_concat(struct od_build *b)
{
    bool stored = concat_can_be_stored(b);
    dnnl_memory_desc_t *src, dst;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t dnnl;
    enum vbs_status status = concat_descriptors(b, stored, &src, &dst);

    if (status == VBS_OK)
        status = od_attributes(b, false, &attr);
    if (status != VBS_OK)
        return status;
    dnnl = dnnl_concat_primitive_desc_create(&pd, &dst, b->l->n_inputs, 1, src, attr,
                                             b->session->engine);
    dnnl_primitive_attr_destroy(attr);
    status = dnnl == dnnl_success ? build(b, pd, 0) : od_fail(b, dnnl, vbs_op_word(b->l->op));
    return status == VBS_OK && stored ? build_parts(b, src, &dst) : status;
}

/* At inference a Dropout on a branch of its own only copies. */
static enum vbs_status build_copy(struct od_build *b)
{
    dnnl_engine_t engine = b->session->engine;
    dnnl_memory_desc_t md;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t dnnl;
    enum vbs_status status = stored_output(b, &md);

    if (status == VBS_OK)
        status = od_attributes(b, false, &attr);
    if (status != VBS_OK)
        return status;
    dnnl = dnnl_reorder_primitive_desc_create(&pd, &md, engine, &md, engine, attr);
    dnnl_primitive_attr_destroy(attr);
    return dnnl == dnnl_success ? build(b, pd, 0) : od_fail(b, dnnl, vbs_op_word(b->l->op));
}

static enum vbs_status build_in_channels(struct od_build *b)
{
    dnnl_memory_desc_t md;
    dnnl_primitive_desc_t pd = NULL;
    enum vbs_status status = stored_output(b, &md);

    if (status == VBS_OK)
        status = b->l->op == VBS_OP_RELU ? relu_pd(b, &md, &pd) : affine_pd(b, &md, &pd);
    return status == VBS_OK ? build(b, pd, 0) : status;
}

enum vbs_status od_build_other(struct od_build *b)
{
    switch (b->l->op) {
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
        return build_pool(b);
    case VBS_OP_LRN:
        return build_lrn(b);
    case VBS_OP_CONCAT:
        return build_concat(b);
    case VBS_OP_ADD:
        return build_add(b);
    case VBS_OP_SOFTMAX:
        return build_softmax(b);
    case VBS_OP_DROPOUT:
        return build_copy(b);
    case VBS_OP_RELU:
    case VBS_OP_BATCHNORM:
    case VBS_OP_SCALE:
        return build_in_channels(b);
    default:
        return vbs_fail(b->ctx, VBS_UNSUPPORTED, "layer '%s': the onednn backend has no '%s'",
                        b->l->name, vbs_op_word(b->l->op));
    }
}
