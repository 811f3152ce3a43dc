/* Which operator is built where, choosing among implementations, and pools. */
#include "backend/onednn/onednn.h"

#include "base/fail.h"

#include <string.h>

/* ---- implementations ---- */

bool od_is_reference(const_dnnl_primitive_desc_t pd)
{
    const char *impl = NULL;

    return dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &impl) == dnnl_success &&
           strncmp(impl, "ref", 3) == 0;
}

static enum vbs_status create(struct od_build *b, const_dnnl_op_desc_t desc, int first, int n_fused,
                              dnnl_primitive_desc_t *pd)
{
    dnnl_primitive_attr_t attr;
    dnnl_status_t dnnl;
    enum vbs_status status = od_attributes(b, first, n_fused, &attr);

    *pd = NULL;
    if (status != VBS_OK)
        return status;
    dnnl = od_pd_first(desc, attr, b->session->engine, pd);
    dnnl_primitive_attr_destroy(attr);
    return dnnl == dnnl_success ? VBS_OK : od_fail(b, dnnl, vbs_op_word(b->l->op));
}

enum vbs_status od_best(struct od_build *b, const_dnnl_op_desc_t desc, int first, int *n_fused,
                        dnnl_primitive_desc_t *pd)
{
    enum vbs_status status = VBS_UNSUPPORTED;

    if (*n_fused > 0) {
        status = create(b, desc, first, *n_fused, pd);
        if (status == VBS_OK && od_is_reference(*pd)) {
            dnnl_primitive_desc_destroy(*pd);
            status = VBS_UNSUPPORTED;
        }
    }
    if (status != VBS_UNSUPPORTED)
        return status;
    *n_fused = 0;
    return create(b, desc, 0, 0, pd);
}

/* ---- pools ---- */

struct window {
    dnnl_dims_t kernel, stride, dilation, low, high;
    bool dense;
};

static struct window window(const struct vbs_attributes *a, int n_spatial)
{
    struct window w = {.dense = true};

    for (int i = 0; i < n_spatial; i++) {
        w.kernel[i] = a->kernel[i];
        w.stride[i] = a->stride[i];
        w.low[i] = a->pad_low[i];
        w.high[i] = a->pad_high[i];
        w.dilation[i] = a->dilation[i] > 1 ? a->dilation[i] - 1 : 0;
        w.dense &= w.dilation[i] == 0;
    }
    return w;
}

static enum vbs_status pool_pd(struct od_build *b, const struct window *w,
                               dnnl_alg_kind_t algorithm, const dnnl_memory_desc_t *src,
                               const dnnl_memory_desc_t *dst, int *n_fused,
                               dnnl_primitive_desc_t *pd)
{
    dnnl_pooling_desc_t desc;
    dnnl_pooling_v2_desc_t dilated;
    dnnl_status_t dnnl =
        w->dense ? dnnl_pooling_forward_desc_init(&desc, dnnl_forward_inference, algorithm, src,
                                                  dst, w->stride, w->kernel, w->low, w->high)
                 : dnnl_pooling_v2_forward_desc_init(&dilated, dnnl_forward_inference, algorithm,
                                                     src, dst, w->stride, w->kernel, w->dilation,
                                                     w->low, w->high);

    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing a pool");
    return od_best(b, w->dense ? (const void *)&desc : &dilated, 0, n_fused, pd);
}

/* Padding stays zero: the largest and the mean of zeros are zero. */
static enum vbs_status build_window(struct od_build *b, const struct window *w,
                                    dnnl_alg_kind_t algorithm)
{
    enum od_layout layout = od_input(b, 0)->home;
    struct od_tensor in = *od_input(b, 0);
    struct od_tensor out = od_in_layout(b->session, od_output(b), layout);
    int n_fused = out.home == od_output(b)->home ? od_fusable(b, 0) : 0;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, NULL}, {DNNL_ARG_DST, NULL}};
    struct od_target target = {0};
    int64_t weight_bytes = 0;
    dnnl_memory_desc_t src, dst;
    dnnl_primitive_desc_t pd = NULL;
    enum vbs_status status = od_describe(b, &in, b->batch, layout, true, &src);

    if (status == VBS_OK)
        status = od_describe(b, &out, b->batch, layout, true, &dst);
    if (status == VBS_OK)
        status = pool_pd(b, w, algorithm, &src, &dst, &n_fused, &pd);
    if (status == VBS_OK)
        status = od_kernel_begin_with(b, pd);
    if (status == VBS_OK)
        status = od_source(b, 0, layout, &src, &args[0].memory);
    if (status == VBS_OK)
        status = od_target(b, layout, &dst, &target);
    args[1].memory = target.memory;
    if (status == VBS_OK)
        status = od_kernel_step(b, pd, 2, args);
    if (status == VBS_OK)
        status = od_target_end(b, &target);
    if (status == VBS_OK)
        status = od_fused(b, n_fused, &weight_bytes);
    if (status == VBS_OK)
        od_kernel_end(b, weight_bytes, 0);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

enum vbs_status od_build_pool(struct od_build *b)
{
    const struct vbs_attributes *a = &b->l->attributes;
    struct window w = window(a, od_input(b, 0)->n_spatial);
    dnnl_alg_kind_t algorithm = b->l->op == VBS_OP_POOL_MAX ? dnnl_pooling_max
                                : a->pad_counts             ? dnnl_pooling_avg_include_padding
                                                            : dnnl_pooling_avg_exclude_padding;

    return build_window(b, &w, algorithm);
}

enum vbs_status od_build_global_pool(struct od_build *b, bool largest)
{
    const struct od_tensor *in = od_input(b, 0);
    struct window w = {.dense = true};

    for (int i = 0; i < in->n_spatial; i++) {
        w.kernel[i] = in->spatial[i];
        w.stride[i] = 1;
    }
    return build_window(b, &w, largest ? dnnl_pooling_max : dnnl_pooling_avg_exclude_padding);
}

/* ---- the table ---- */

enum vbs_status od_build_other(struct od_build *b)
{
    switch (b->l->op) {
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
        return od_build_pool(b);
    case VBS_OP_CONCAT:
        return od_build_concat(b);
    case VBS_OP_RESIZE:
        return od_build_resize(b);
    case VBS_OP_MATMUL:
        return od_build_matmul(b);
    case VBS_OP_LRN:
    case VBS_OP_SOFTMAX:
    case VBS_OP_LOGSOFTMAX:
    case VBS_OP_BATCHNORM:
    case VBS_OP_SCALE:
    case VBS_OP_INSTANCE_NORM:
    case VBS_OP_LAYER_NORM:
        return od_build_norm(b);
    case VBS_OP_DROPOUT: /* at inference a Dropout on a branch of its own only copies */
        return od_build_move(b);
    default:
        break;
    }
    switch (vbs_op_class(b->l->op)) {
    case VBS_CLASS_UNARY:
        return od_build_unary(b);
    case VBS_CLASS_BINARY:
        return od_build_binary(b);
    case VBS_CLASS_REDUCE:
        return od_build_reduce(b);
    case VBS_CLASS_MOVE:
        return od_build_move(b);
    default:
        return vbs_fail(b->ctx, VBS_UNSUPPORTED, "layer '%s': the onednn backend has no '%s'",
                        b->l->name, vbs_op_word(b->l->op));
    }
}
