/* Pools. */
#include "backend/onednn/training/training.h"

#include "base/fail.h"

struct train_window {
    dnnl_alg_kind_t algorithm;
    dnnl_dims_t kernel, stride, dilation, low, high;
    bool dense;
};

static struct train_window read_window(const struct od_operator *o, int n_spatial)
{
    const struct vbs_window *a = &o->attributes->pool.window;
    struct train_window w = {.dense = true,
                             .algorithm = o->op == VBS_OP_POOL_MAX ? dnnl_pooling_max
                                          : o->attributes->pool.pad_counts
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

union pool_desc {
    dnnl_pooling_desc_t dense;
    dnnl_pooling_v2_desc_t dilated;
};

static enum vbs_status find_forward(struct od_train_build *b, const struct train_window *w,
                                    bool training, const dnnl_memory_desc_t *src,
                                    const dnnl_memory_desc_t *dst, dnnl_primitive_desc_t *pd)
{
    dnnl_prop_kind_t kind = training ? dnnl_forward_training : dnnl_forward_inference;
    union pool_desc d;
    dnnl_status_t dnnl =
        w->dense
            ? dnnl_pooling_forward_desc_init(&d.dense, kind, w->algorithm, src, dst, w->stride,
                                             w->kernel, w->low, w->high)
            : dnnl_pooling_v2_forward_desc_init(&d.dilated, kind, w->algorithm, src, dst, w->stride,
                                                w->kernel, w->dilation, w->low, w->high);

    return dnnl == dnnl_success ? od_forward_pd(b, &d, pd)
                                : od_fail(&b->build, dnnl, "describing a pool");
}

static enum vbs_status add_forward(struct od_train_build *b, const struct train_window *w,
                                   bool training)
{
    const struct od_activation *in = &b->t->activations[b->o->inputs[0]];
    const struct od_activation *out = &b->t->activations[b->number];
    dnnl_primitive_desc_t pd = NULL;
    dnnl_exec_arg_t args[3];
    int n = 0;

    if (training) {
        VBS_TRY(find_forward(b, w, true, &in->md, &out->md, &b->o->forward));
        VBS_TRY(od_add_workspace(b));
    }
    VBS_TRY(od_arg(b, DNNL_ARG_SRC, &in->md, in->values, &n, args));
    VBS_TRY(od_arg(b, DNNL_ARG_DST, &out->md, out->values, &n, args));
    if (training && b->o->workspace)
        args[n++] = (dnnl_exec_arg_t){DNNL_ARG_WORKSPACE, b->o->workspace};
    VBS_TRY(find_forward(b, w, training, &in->md, &out->md, &pd));
    return od_train_step(b, pd, n, args);
}

static enum vbs_status add_backward(struct od_train_build *b, const struct train_window *w)
{
    const struct od_activation *in = &b->t->activations[b->o->inputs[0]];
    const struct od_activation *out = &b->t->activations[b->number];
    dnnl_primitive_desc_t pd = NULL;
    dnnl_exec_arg_t args[3] = {{DNNL_ARG_DIFF_SRC, NULL}};
    union pool_desc d;
    dnnl_status_t dnnl =
        w->dense ? dnnl_pooling_backward_desc_init(&d.dense, w->algorithm, &in->md, &out->md,
                                                   w->stride, w->kernel, w->low, w->high)
                 : dnnl_pooling_v2_backward_desc_init(&d.dilated, w->algorithm, &in->md, &out->md,
                                                      w->stride, w->kernel, w->dilation, w->low,
                                                      w->high);
    int n = 1;

    if (dnnl != dnnl_success)
        return od_fail(&b->build, dnnl, "describing the gradient of a pool");
    VBS_TRY(od_input_gradient(b, 0, &in->md, &args[0].memory));
    VBS_TRY(od_arg(b, DNNL_ARG_DIFF_DST, &out->md, out->gradient, &n, args));
    if (b->o->workspace)
        args[n++] = (dnnl_exec_arg_t){DNNL_ARG_WORKSPACE, b->o->workspace};
    VBS_TRY(od_backward_pd(b, &d, &pd));
    VBS_TRY(od_train_step(b, pd, n, args));
    return od_input_gradient_end(b, 0, args[0].memory);
}

enum vbs_status od_train_pool(struct od_train_build *b, enum od_pass pass)
{
    const struct od_activation *in = &b->t->activations[b->o->inputs[0]];
    struct train_window w = read_window(b->o, in->tensor.n_spatial);

    if (pass != OD_PASS_BACKWARD)
        return add_forward(b, &w, pass == OD_PASS_TRAIN);
    return in->learns ? add_backward(b, &w) : VBS_OK;
}
