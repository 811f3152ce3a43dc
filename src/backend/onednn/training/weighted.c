/*
 * Convolutions and fully connected layers.
 *
 * The weights are kept in the layout that the forward pass reads. The other two passes use it too
 * where the library's first choice for them can; else the weights, or their gradient, are copied.
 */
#include "backend/onednn/training/training.h"

#include "base/fail.h"

#include <string.h>

/* What a convolution and a fully connected layer have in common; a fully connected layer is a
 * product of matrices, for which the input's values are a row. */
struct weighted {
    bool conv;
    dnnl_memory_desc_t src, dst, weights, bias; /* weights: in any layout */
    dnnl_memory_desc_t plain;                   /* weights in plain order */
    dnnl_dims_t stride, dilation, low, high;
};

union weighted_desc {
    dnnl_convolution_desc_t conv;
    dnnl_inner_product_desc_t product;
};

/* ---- shapes ---- */

static enum vbs_status describe_weights(struct od_train_build *b, int n, const dnnl_dims_t dims,
                                        struct weighted *w)
{
    dnnl_status_t dnnl =
        dnnl_memory_desc_init_by_tag(&w->weights, n, dims, dnnl_f32, dnnl_format_tag_any);

    if (dnnl != dnnl_success)
        return od_fail(&b->build, dnnl, "describing weights");
    VBS_TRY(od_describe_dense(&b->build, n, dims, &w->plain));
    return od_describe_vector(&b->build, b->o->attributes->weighted.out_channels, &w->bias);
}

static enum vbs_status shape_conv(struct od_train_build *b, struct weighted *w)
{
    const struct od_activation *in = &b->t->activations[b->o->inputs[0]];
    const struct od_activation *out = &b->t->activations[b->number];
    const struct vbs_window *window = &b->o->attributes->weighted.window;
    int64_t groups = b->o->attributes->weighted.groups;
    dnnl_dims_t dims;
    int n = 0;

    *w = (struct weighted){.conv = true, .src = in->md, .dst = out->md};
    if (groups > 1)
        dims[n++] = groups;
    dims[n++] = out->tensor.channels / groups;
    dims[n++] = in->tensor.channels / groups;
    for (int i = 0; i < in->tensor.n_spatial; i++) {
        dims[n++] = window->kernel[i];
        w->stride[i] = window->stride[i];
        w->dilation[i] = window->dilation[i] - 1;
        w->low[i] = window->pad_low[i];
        w->high[i] = window->pad_high[i];
    }
    return describe_weights(b, n, dims, w);
}

static enum vbs_status shape_fc(struct od_train_build *b, struct weighted *w)
{
    int64_t columns = vbs_shape_elements(&b->t->activations[b->o->inputs[0]].tensor.shape);
    int64_t outputs = b->o->attributes->weighted.out_channels;
    dnnl_dims_t src = {b->build.batch, columns}, dst = {b->build.batch, outputs};
    dnnl_dims_t dims = {outputs, columns};

    *w = (struct weighted){.conv = false};
    VBS_TRY(od_describe_dense(&b->build, 2, src, &w->src));
    VBS_TRY(od_describe_dense(&b->build, 2, dst, &w->dst));
    return describe_weights(b, 2, dims, w);
}

/* ---- implementations ---- */

static enum vbs_status find_forward(struct od_train_build *b, const struct weighted *w,
                                    dnnl_primitive_desc_t *pd)
{
    const dnnl_memory_desc_t *bias = b->o->attributes->weighted.bias ? &w->bias : NULL;
    union weighted_desc d;
    dnnl_status_t dnnl =
        w->conv ? dnnl_dilated_convolution_forward_desc_init(
                      &d.conv, dnnl_forward_training, dnnl_convolution_direct, &w->src, &w->weights,
                      bias, &w->dst, w->stride, w->dilation, w->low, w->high)
                : dnnl_inner_product_forward_desc_init(&d.product, dnnl_forward_training, &w->src,
                                                       &w->weights, bias, &w->dst);

    return dnnl == dnnl_success ? od_forward_pd(b, &d, pd)
                                : od_fail(&b->build, dnnl, "describing a layer with weights");
}

/* Gives the implementation that computes the gradient of the weights (of_weights) or of the input,
 * with weights described by md. */
static enum vbs_status find_with(struct od_train_build *b, const struct weighted *w,
                                 bool of_weights, const dnnl_memory_desc_t *md,
                                 dnnl_primitive_desc_t *pd)
{
    const dnnl_memory_desc_t *bias = b->o->attributes->weighted.bias ? &w->bias : NULL;
    union weighted_desc d;
    dnnl_status_t dnnl;

    if (w->conv)
        dnnl = of_weights ? dnnl_dilated_convolution_backward_weights_desc_init(
                                &d.conv, dnnl_convolution_direct, &w->src, md, bias, &w->dst,
                                w->stride, w->dilation, w->low, w->high)
                          : dnnl_dilated_convolution_backward_data_desc_init(
                                &d.conv, dnnl_convolution_direct, &w->src, md, &w->dst, w->stride,
                                w->dilation, w->low, w->high);
    else
        dnnl = of_weights
                   ? dnnl_inner_product_backward_weights_desc_init(&d.product, &w->src, md, bias,
                                                                   &w->dst)
                   : dnnl_inner_product_backward_data_desc_init(&d.product, &w->src, md, &w->dst);
    return dnnl == dnnl_success ? od_backward_pd(b, &d, pd)
                                : od_fail(&b->build, dnnl, "describing a gradient");
}

/* Prefers the implementation that reads or writes the weights as they are kept, if it is the one
 * that the library chooses freely. */
static enum vbs_status find_backward(struct od_train_build *b, const struct weighted *w,
                                     bool of_weights, dnnl_primitive_desc_t *pd)
{
    dnnl_primitive_desc_t kept = NULL, chosen = NULL;
    const char *kept_name, *chosen_name;
    enum vbs_status status;

    VBS_TRY(find_with(b, w, of_weights, &w->weights, &chosen));
    status = find_with(b, w, of_weights, &b->t->arrays[b->o->weights].md, &kept);
    kept_name = status == VBS_OK ? od_pd_name(kept) : NULL;
    chosen_name = od_pd_name(chosen);
    if (kept_name && chosen_name && strcmp(kept_name, chosen_name) == 0) {
        dnnl_primitive_desc_destroy(chosen);
        *pd = kept;
        return VBS_OK;
    }
    dnnl_primitive_desc_destroy(kept);
    if (status != VBS_OK && status != VBS_UNSUPPORTED) {
        dnnl_primitive_desc_destroy(chosen);
        return status;
    }
    *pd = chosen;
    return VBS_OK;
}

/* ---- parameters ---- */

static enum vbs_status add_parameters(struct od_train_build *b, const struct weighted *w)
{
    struct od_operator *o = b->o;
    const struct od_activation *in = &b->t->activations[o->inputs[0]];
    struct vbs_trainable *p;
    int64_t outputs = o->attributes->weighted.out_channels;

    VBS_TRY(od_add_trainable(b, VBS_PARAMETER_WEIGHTS,
                             dnnl_primitive_desc_query_md(o->forward, dnnl_query_weights_md, 0),
                             &w->plain, NULL, NULL, &o->weights));
    p = &b->t->session.trainable[o->weights];
    p->fan_in = p->count / outputs;
    p->fan_out = p->count / in->tensor.channels;
    if (!w->conv) {
        p->fan_out = outputs;
        b->t->arrays[o->weights].channels = in->tensor.channels;
        b->t->arrays[o->weights].positions = in->tensor.positions;
    }
    if (!o->attributes->weighted.bias)
        return VBS_OK;
    return od_add_trainable(b, VBS_PARAMETER_BIAS, &w->bias, &w->bias, NULL, NULL, &o->bias);
}

static float *values_of(const struct od_train_build *b, int index)
{
    return b->t->session.trainable[index].values;
}

/* ---- steps ---- */

static enum vbs_status add_forward(struct od_train_build *b, const struct weighted *w)
{
    const struct od_array *weights = &b->t->arrays[b->o->weights];
    dnnl_exec_arg_t args[4];
    dnnl_primitive_desc_t pd = NULL;
    int n = 0;

    VBS_TRY(od_arg(b, DNNL_ARG_SRC, &w->src, b->t->activations[b->o->inputs[0]].values, &n, args));
    VBS_TRY(od_arg(b, DNNL_ARG_WEIGHTS, &weights->md, values_of(b, b->o->weights), &n, args));
    if (b->o->bias >= 0)
        VBS_TRY(od_arg(b, DNNL_ARG_BIAS, &w->bias, values_of(b, b->o->bias), &n, args));
    VBS_TRY(od_arg(b, DNNL_ARG_DST, &w->dst, b->t->activations[b->number].values, &n, args));
    VBS_TRY(find_forward(b, w, &pd));
    return od_train_step(b, pd, n, args);
}

/* Appends the gradients of weights and bias. */
static enum vbs_status add_weights_gradient(struct od_train_build *b, const struct weighted *w)
{
    const struct od_array *weights = &b->t->arrays[b->o->weights];
    const dnnl_memory_desc_t *md;
    dnnl_memory_desc_t own;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_memory_t kept = NULL;
    dnnl_exec_arg_t args[4];
    bool copied;
    int n = 0;

    VBS_TRY(od_arg(b, DNNL_ARG_SRC, &w->src, b->t->activations[b->o->inputs[0]].values, &n, args));
    VBS_TRY(od_arg(b, DNNL_ARG_DIFF_DST, &w->dst, b->t->activations[b->number].gradient, &n, args));
    if (b->o->bias >= 0)
        VBS_TRY(
            od_arg(b, DNNL_ARG_DIFF_BIAS, &w->bias, b->t->arrays[b->o->bias].gradient, &n, args));
    VBS_TRY(od_at(b, &weights->md, weights->gradient, &kept));
    VBS_TRY(find_backward(b, w, true, &pd));
    md = dnnl_primitive_desc_query_md(pd, dnnl_query_diff_weights_md, 0);
    own = *md;
    copied = !dnnl_memory_desc_equal(&own, &weights->md);
    args[n] = (dnnl_exec_arg_t){DNNL_ARG_DIFF_WEIGHTS, kept};
    if (copied) {
        enum vbs_status status = od_in_region(b, &own, OD_REGION_GRADIENT, &args[n].memory);

        if (status != VBS_OK) {
            dnnl_primitive_desc_destroy(pd);
            return status;
        }
    }
    VBS_TRY(od_train_step(b, pd, n + 1, args));
    return copied ? od_kernel_reorder(&b->build, &own, args[n].memory, &weights->md, kept) : VBS_OK;
}

/* Gives the weights in the layout that pd reads, after a copy if that is another one. */
static enum vbs_status read_weights(struct od_train_build *b, const_dnnl_primitive_desc_t pd,
                                    dnnl_memory_t *memory)
{
    const struct od_array *weights = &b->t->arrays[b->o->weights];
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    dnnl_memory_t kept = NULL;

    VBS_TRY(od_at(b, &weights->md, values_of(b, b->o->weights), &kept));
    if (dnnl_memory_desc_equal(md, &weights->md)) {
        *memory = kept;
        return VBS_OK;
    }
    VBS_TRY(od_in_region(b, md, OD_REGION_WEIGHTS, memory));
    return od_kernel_reorder(&b->build, &weights->md, kept, md, *memory);
}

static enum vbs_status add_input_gradient(struct od_train_build *b, const struct weighted *w)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_exec_arg_t args[3] = {{DNNL_ARG_WEIGHTS, NULL}, {DNNL_ARG_DIFF_SRC, NULL}};
    enum vbs_status status;
    int n = 2;

    VBS_TRY(od_arg(b, DNNL_ARG_DIFF_DST, &w->dst, b->t->activations[b->number].gradient, &n, args));
    VBS_TRY(od_input_gradient(b, 0, &w->src, &args[1].memory));
    VBS_TRY(find_backward(b, w, false, &pd));
    status = read_weights(b, pd, &args[0].memory);
    if (status != VBS_OK) {
        dnnl_primitive_desc_destroy(pd);
        return status;
    }
    VBS_TRY(od_train_step(b, pd, n, args));
    return od_input_gradient_end(b, 0, args[1].memory);
}

static enum vbs_status add_pass(struct od_train_build *b, enum od_pass pass,
                                const struct weighted *w)
{
    if (pass == OD_PASS_BACKWARD) {
        VBS_TRY(add_weights_gradient(b, w));
        return b->t->activations[b->o->inputs[0]].learns ? add_input_gradient(b, w) : VBS_OK;
    }
    if (pass == OD_PASS_TRAIN) {
        VBS_TRY(find_forward(b, w, &b->o->forward));
        VBS_TRY(add_parameters(b, w));
    }
    return add_forward(b, w);
}

enum vbs_status od_train_conv(struct od_train_build *b, enum od_pass pass)
{
    struct weighted w;

    VBS_TRY(shape_conv(b, &w));
    return add_pass(b, pass, &w);
}

enum vbs_status od_train_fc(struct od_train_build *b, enum od_pass pass)
{
    struct weighted w;

    VBS_TRY(shape_fc(b, &w));
    return add_pass(b, pass, &w);
}
