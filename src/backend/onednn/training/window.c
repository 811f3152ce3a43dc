/* Pools: mean pools are oneDNN's, max pools loops (max_pool.h) but for windows of many elements. */
#include "backend/onednn/training/training.h"

#include "backend/onednn/training/max_pool.h"
#include "base/fail.h"

/* ---- pools of oneDNN ---- */

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

/* ---- max pools ---- */

static void put_axes(struct od_max_pool *p, const struct od_window *w, const struct od_tensor *in,
                     const struct od_tensor *out)
{
    int first = OD_POOL_AXES - in->n_spatial;

    for (int i = 0; i < OD_POOL_AXES; i++) {
        p->in[i] = p->out[i] = p->kernel[i] = p->stride[i] = p->dilation[i] = 1;
        p->low[i] = 0;
    }
    for (int i = 0; i < in->n_spatial; i++) {
        p->in[first + i] = in->spatial[i];
        p->out[first + i] = out->spatial[i];
        p->kernel[first + i] = w->kernel[i];
        p->stride[first + i] = w->stride[i];
        p->dilation[first + i] = w->dilation[i] + 1;
        p->low[first + i] = w->low[i];
    }
}

static enum vbs_status plan_max_pool(struct od_train_build *b, const struct od_window *w,
                                     bool training, struct od_max_pool **made)
{
    const struct od_tensor *in = &b->t->activations[b->o->inputs[0]].tensor;
    const struct od_tensor *out = &b->t->activations[b->number].tensor;
    struct od_max_pool *p = vbs_arena_alloc(&b->t->base.core.arena, 1, sizeof *p);

    if (!p)
        return vbs_no_memory(b->build.ctx);
    *p = (struct od_max_pool){.batch = b->build.batch, .channels = in->channels};
    put_axes(p, w, in, out);
    if (training) {
        int64_t bytes = p->batch * p->channels * out->positions;

        VBS_TRY(od_train_alloc(b, bytes, &p->taps));
        b->t->session.workspace_bytes += bytes;
    }
    *made = p;
    return VBS_OK;
}

static enum vbs_status forward_max_pool(struct od_train_build *b, const struct od_window *w,
                                        bool training)
{
    const struct od_activation *in = &b->t->activations[b->o->inputs[0]];
    const struct od_activation *out = &b->t->activations[b->number];
    dnnl_memory_t operands[2];
    struct od_max_pool *plan = NULL;

    VBS_TRY(plan_max_pool(b, w, training, &plan));
    if (training)
        b->o->max_pool = plan;
    VBS_TRY(od_at(b, &out->md, out->values, &operands[0]));
    VBS_TRY(od_at(b, &in->md, in->values, &operands[1]));
    return od_kernel_call(&b->build, od_max_pool, plan, 2, operands);
}

static enum vbs_status backward_max_pool(struct od_train_build *b)
{
    struct od_activation *in = &b->t->activations[b->o->inputs[0]];
    const struct od_activation *out = &b->t->activations[b->number];
    dnnl_memory_t operands[2];

    VBS_TRY(od_at(b, &in->md, in->gradient, &operands[0]));
    VBS_TRY(od_at(b, &out->md, out->gradient, &operands[1]));
    return od_kernel_call(
        &b->build, in->n_written++ > 0 ? od_max_pool_gradient_accumulate : od_max_pool_gradient,
        b->o->max_pool, 2, operands);
}

/* ---- both ---- */

static bool has_loops(const struct od_window *w, int n_spatial)
{
    int64_t taps = 1;

    for (int i = 0; i < n_spatial && taps <= OD_POOL_TAPS; i++)
        taps *= w->kernel[i];
    return w->algorithm == dnnl_pooling_max && taps <= OD_POOL_TAPS;
}

enum vbs_status od_train_pool(struct od_train_build *b, enum od_pass pass)
{
    const struct od_activation *in = &b->t->activations[b->o->inputs[0]];
    struct od_window w = od_window_of(b->o->op, b->o->attributes, in->tensor.n_spatial);
    bool loops = has_loops(&w, in->tensor.n_spatial);

    if (pass != OD_PASS_BACKWARD)
        return loops ? forward_max_pool(b, &w, pass == OD_PASS_TRAIN)
                     : add_forward(b, &w, pass == OD_PASS_TRAIN);
    if (!in->learns)
        return VBS_OK;
    return loops ? backward_max_pool(b) : add_backward(b, &w);
}
