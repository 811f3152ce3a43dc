/* Windows of pools. oneDNN has two descriptors of a pool: the one without dilation has more
 * implementations. */
#include "backend/onednn/kernels/window.h"

struct od_window od_window_of(enum vbs_op op, const union vbs_attributes *attributes, int n_spatial)
{
    const struct vbs_window *a = &attributes->pool.window;
    struct od_window w = {.dense = true,
                          .algorithm = op == VBS_OP_POOL_MAX ? dnnl_pooling_max
                                       : attributes->pool.pad_counts
                                           ? dnnl_pooling_avg_include_padding
                                           : dnnl_pooling_avg_exclude_padding};

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

dnnl_status_t od_pool_desc(const struct od_window *w, dnnl_prop_kind_t kind,
                           const dnnl_memory_desc_t *src, const dnnl_memory_desc_t *dst,
                           union od_pool_desc *desc)
{
    return w->dense ? dnnl_pooling_forward_desc_init(&desc->dense, kind, w->algorithm, src, dst,
                                                     w->stride, w->kernel, w->low, w->high)
                    : dnnl_pooling_v2_forward_desc_init(&desc->dilated, kind, w->algorithm, src,
                                                        dst, w->stride, w->kernel, w->dilation,
                                                        w->low, w->high);
}

dnnl_status_t od_pool_gradient_desc(const struct od_window *w, const dnnl_memory_desc_t *src,
                                    const dnnl_memory_desc_t *dst, union od_pool_desc *desc)
{
    return w->dense ? dnnl_pooling_backward_desc_init(&desc->dense, w->algorithm, src, dst,
                                                      w->stride, w->kernel, w->low, w->high)
                    : dnnl_pooling_v2_backward_desc_init(&desc->dilated, w->algorithm, src, dst,
                                                         w->stride, w->kernel, w->dilation, w->low,
                                                         w->high);
}
