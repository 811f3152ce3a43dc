/* Pools. */
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"

struct window {
    dnnl_dims_t kernel, stride, dilation, low, high;
    bool dense;
};

static struct window window(const struct vbs_window *a, int n_spatial)
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

/* Padding stays zero, because the largest and the mean of zeros are zero. */
static enum vbs_status build_window(struct od_build *b, const struct window *w,
                                    dnnl_alg_kind_t algorithm)
{
    enum od_layout layout = od_input(b, 0)->canonical;
    struct od_tensor out = od_in_layout(b->session, od_output(b), layout);
    int n_fused = out.canonical == od_output(b)->canonical ? od_fusable(b, 0) : 0;
    dnnl_memory_desc_t src, dst;
    dnnl_primitive_desc_t pd;

    VBS_TRY(od_describe(b, od_input(b, 0), b->batch, layout, true, &src));
    VBS_TRY(od_describe(b, &out, b->batch, layout, true, &dst));
    VBS_TRY(pool_pd(b, w, algorithm, &src, &dst, &n_fused, &pd));
    return od_build_primitive(b, pd, layout, n_fused);
}

enum vbs_status od_build_pool(struct od_build *b)
{
    const union vbs_attributes *a = &b->l->attributes;
    struct window w = window(&a->pool.window, od_input(b, 0)->n_spatial);
    dnnl_alg_kind_t algorithm = b->l->op == VBS_OP_POOL_MAX ? dnnl_pooling_max
                                : a->pool.pad_counts        ? dnnl_pooling_avg_include_padding
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
