/* Pools. */
#include "backend/onednn/training/training.h"

#include "base/fail.h"

static enum vbs_status find_forward(struct od_train_build *b, const struct od_window *w,
                                    bool training, dnnl_primitive_desc_t *pd)
{
    const struct od_activation *in = &b->t->activations[b->o->inputs[0]];
    const struct od_activation *out = &b->t->activations[b->number];
    union od_pool_desc d;
    dnnl_status_t dnnl = od_pool_desc(w, training ? dnnl_forward_training : dnnl_forward_inference,
                                      &in->md, &out->md, &d);

    return dnnl == dnnl_success ? od_forward_pd(b, &d, pd)
                                : od_fail(&b->build, dnnl, "describing a pool");
}

static enum vbs_status add_forward(struct od_train_build *b, const struct od_window *w,
                                   bool training)
{
    const struct od_activation *in = &b->t->activations[b->o->inputs[0]];
    const struct od_activation *out = &b->t->activations[b->number];
    dnnl_primitive_desc_t pd = NULL;
    dnnl_exec_arg_t args[3];
    int n = 0;

    if (training) {
        VBS_TRY(find_forward(b, w, true, &b->o->forward));
        VBS_TRY(od_add_workspace(b));
    }
    VBS_TRY(od_arg(b, DNNL_ARG_SRC, &in->md, in->values, &n, args));
    VBS_TRY(od_arg(b, DNNL_ARG_DST, &out->md, out->values, &n, args));
    if (training && b->o->workspace)
        args[n++] = (dnnl_exec_arg_t){DNNL_ARG_WORKSPACE, b->o->workspace};
    VBS_TRY(find_forward(b, w, training, &pd));
    return od_train_step(b, pd, n, args);
}

static enum vbs_status add_backward(struct od_train_build *b, const struct od_window *w)
{
    const struct od_activation *in = &b->t->activations[b->o->inputs[0]];
    const struct od_activation *out = &b->t->activations[b->number];
    dnnl_exec_arg_t args[3] = {{DNNL_ARG_DIFF_SRC, NULL}};
    union od_pool_desc d;
    dnnl_status_t dnnl = od_pool_gradient_desc(w, &in->md, &out->md, &d);

    if (dnnl != dnnl_success)
        return od_fail(&b->build, dnnl, "describing the gradient of a pool");
    VBS_TRY(od_input_gradient(b, 0, &in->md, &args[0].memory));
    VBS_TRY(od_backward_step(b, &d, 1, args));
    return od_input_gradient_end(b, 0, args[0].memory);
}

enum vbs_status od_train_pool(struct od_train_build *b, enum od_pass pass)
{
    const struct od_activation *in = &b->t->activations[b->o->inputs[0]];
    struct od_window w = od_window_of(b->o->op, b->o->attributes, in->tensor.n_spatial);

    if (pass != OD_PASS_BACKWARD)
        return add_forward(b, &w, pass == OD_PASS_TRAIN);
    return in->learns ? add_backward(b, &w) : VBS_OK;
}
