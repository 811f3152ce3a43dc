/* Windows of pools. oneDNN has two descriptors of a pool: the one without dilation has more
 * implementations. */
#include "backend/onednn/kernels/window.h"

#include <float.h>
#include <math.h>

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

/* ---- values that are never -infinity ---- */

bool od_bounds_below(enum vbs_op op, const union vbs_attributes *a)
{
    return op == VBS_OP_RELU || op == VBS_OP_SIGMOID ||
           (op == VBS_OP_CLIP && fmin(a->clip.low, a->clip.high) > -(double)FLT_MAX);
}

/* Returns whether the operator never makes -infinity, whatever its input is. A GELU may: its
 * polynomial is not quite 0 where -infinity is multiplied by it. */
static bool is_limited(enum vbs_op op, const union vbs_attributes *attributes)
{
    switch (op) {
    case VBS_OP_SWISH:
    case VBS_OP_HARD_SWISH:
    case VBS_OP_HARD_SIGMOID:
    case VBS_OP_MISH:
    case VBS_OP_SOFTPLUS:
    case VBS_OP_TANH:
        return true;
    default:
        return od_bounds_below(op, attributes);
    }
}

/* Returns whether the operator makes -infinity only of inputs that have it. */
static bool passes_on(enum vbs_op op)
{
    return op == VBS_OP_POOL_MAX || op == VBS_OP_CONCAT || op == VBS_OP_LRN ||
           op == VBS_OP_DROPOUT || op == VBS_OP_IDENTITY;
}

static bool is_bounded(const struct od_session *s, const struct vbs_layer *l)
{
    const struct vbs_fused *last = l->n_fused > 0 ? &l->fused[l->n_fused - 1] : NULL;
    bool bounded = passes_on(l->op);

    if (last)
        return is_limited(last->op, &last->attributes);
    for (int i = 0; i < l->n_inputs && bounded; i++)
        bounded = s->bounded[l->inputs[i]];
    return bounded || is_limited(l->op, &l->attributes);
}

void od_bounded_init(struct od_session *session, const struct vbs_network *network)
{
    for (int k = 0; k <= network->n_layers; k++)
        session->bounded[k] = vbs_storage_is_whole(session->stored[k].encoding.storage) ||
                              (k > 0 && is_bounded(session, &network->layers[k]));
}
