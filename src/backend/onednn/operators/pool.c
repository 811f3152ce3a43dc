/* Pools. */
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"

/* Padding stays zero, because the largest and the mean of zeros are zero. */
static enum vbs_status build_window(struct od_build *b, const struct od_window *w)
{
    enum od_layout layout = od_input(b, 0)->canonical;
    struct od_tensor out = od_in_layout(b->session, od_output(b), layout);
    int n_fused = out.canonical == od_output(b)->canonical ? od_fusable(b, 0) : 0;
    dnnl_memory_desc_t src, dst;
    dnnl_primitive_desc_t pd;
    union od_pool_desc desc;
    dnnl_status_t dnnl;

    VBS_TRY(od_describe(b, od_input(b, 0), b->batch, layout, true, &src));
    VBS_TRY(od_describe(b, &out, b->batch, layout, true, &dst));
    dnnl = od_pool_desc(w, dnnl_forward_inference, &src, &dst, &desc);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing a pool");
    VBS_TRY(od_best(b, &desc, 0, &n_fused, &pd));
    return od_build_primitive(b, pd, layout, n_fused);
}

enum vbs_status od_build_pool(struct od_build *b)
{
    struct od_window w = od_window_of(b->l->op, &b->l->attributes, od_input(b, 0)->n_spatial);

    return build_window(b, &w);
}

enum vbs_status od_build_global_pool(struct od_build *b, bool largest)
{
    const struct od_tensor *in = od_input(b, 0);
    struct od_window w = {
        .algorithm = largest ? dnnl_pooling_max : dnnl_pooling_avg_exclude_padding, .dense = true};

    for (int i = 0; i < in->n_spatial; i++) {
        w.kernel[i] = in->spatial[i];
        w.stride[i] = 1;
    }
    return build_window(b, &w);
}
