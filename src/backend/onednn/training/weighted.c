/*
 * Convolutions and fully connected layers.
 *
 * The weights are kept in the layout that the forward pass reads. The other two passes use it too
 * where the library's first choice for them can; else the weights, or their gradient, are copied.
 * Passes of convolutions of few weights are computed by direct.h where that is faster, on
 * processors with AVX2 but without AVX-512.
 */
#include "backend/onednn/training/training.h"

#include "backend/onednn/training/direct.h"
#include "backend/onednn/training/tile.h"
#include "base/fail.h"

#include <string.h>

/* What a convolution and a fully connected layer have in common; a fully connected layer is a
 * product of matrices, for which the input's values are a row. */
struct weighted {
    bool conv;
    dnnl_memory_desc_t src, dst, weights, bias; /* weights: in any layout */
    dnnl_memory_desc_t plain;                   /* weights in plain order */
    dnnl_dims_t stride, dilation, low, high;
    struct od_direct *direct; /* null: the library computes all passes of the layer */
    dnnl_memory_desc_t own;   /* weights as direct reads them */
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

/* ---- direct convolutions ---- */

/* Describes weights as direct convolutions read them: the output's channels last, behind the
 * input's. */
static enum vbs_status describe_own(struct od_train_build *b, struct weighted *w)
{
    const dnnl_dim_t *dims = w->plain.dims;
    dnnl_dims_t strides = {1, dims[0]};
    dnnl_dim_t next = dims[0] * dims[1];
    dnnl_status_t dnnl;

    for (int i = w->plain.ndims - 1; i >= 2; i--) {
        strides[i] = next;
        next *= dims[i];
    }
    dnnl = dnnl_memory_desc_init_by_strides(&w->own, w->plain.ndims, dims, dnnl_f32, strides);
    return dnnl == dnnl_success ? VBS_OK : od_fail(&b->build, dnnl, "describing weights");
}

/* Sets w->direct where this pays. */
static enum vbs_status choose_direct(struct od_train_build *b, struct weighted *w)
{
    const struct od_tensor *in = &b->t->activations[b->o->inputs[0]].tensor;
    const struct od_tensor *out = &b->t->activations[b->number].tensor;
    const struct vbs_window *window = &b->o->attributes->weighted.window;
    struct od_direct d = {.batch = b->build.batch,
                          .in_channels = in->channels,
                          .out_channels = out->channels,
                          .parts = b->t->base.threads};
    int first = OD_DIRECT_AXES - in->n_spatial;

    if (b->o->attributes->weighted.groups > 1 || in->n_spatial > OD_DIRECT_AXES ||
        b->t->base.block != OD_LANES)
        return VBS_OK;
    for (int i = 0; i < OD_DIRECT_AXES; i++) {
        bool has = i >= first;

        d.in[i] = has ? in->spatial[i - first] : 1;
        d.out[i] = has ? out->spatial[i - first] : 1;
        d.kernel[i] = has ? window->kernel[i - first] : 1;
        d.stride[i] = has ? window->stride[i - first] : 1;
        d.dilation[i] = has ? window->dilation[i - first] : 1;
        d.low[i] = has ? window->pad_low[i - first] : 0;
    }
    if (!od_direct_pays(&d))
        return VBS_OK;
    w->direct = vbs_arena_alloc(&b->t->base.core.arena, 1, sizeof *w->direct);
    if (!w->direct)
        return vbs_no_memory(b->build.ctx);
    *w->direct = d;
    return describe_own(b, w);
}

/* Appends a step on what is written and what is read. */
static enum vbs_status add_direct(struct od_train_build *b, const struct weighted *w,
                                  od_function *function, dnnl_memory_t to, dnnl_memory_t first,
                                  dnnl_memory_t second)
{
    dnnl_memory_t operands[4] = {to, first, second, NULL};
    dnnl_memory_desc_t scratch;

    if (b->o->bias >= 0) {
        w->direct->bias = b->t->session.trainable[b->o->bias].values;
        w->direct->bias_gradient = b->t->arrays[b->o->bias].gradient;
    }
    VBS_TRY(od_describe_vector(&b->build, od_direct_scratch(w->direct), &scratch));
    VBS_TRY(od_in_region(b, &scratch, OD_REGION_SUMS, &operands[3]));
    return od_kernel_call(&b->build, function, w->direct, 4, operands);
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

static bool is_direct_forward(const struct weighted *w)
{
    return w->direct && od_direct_pays_forward(w->direct);
}

static enum vbs_status add_parameters(struct od_train_build *b, const struct weighted *w)
{
    struct od_operator *o = b->o;
    const struct od_activation *in = &b->t->activations[o->inputs[0]];
    struct vbs_trainable *p;
    int64_t outputs = o->attributes->weighted.out_channels;

    VBS_TRY(od_add_trainable(
        b, VBS_PARAMETER_WEIGHTS,
        is_direct_forward(w) ? &w->own
                             : dnnl_primitive_desc_query_md(o->forward, dnnl_query_weights_md, 0),
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

static enum vbs_status forward_direct(struct od_train_build *b, const struct weighted *w)
{
    dnnl_memory_t to, from, weights;

    VBS_TRY(od_at(b, &w->dst, b->t->activations[b->number].values, &to));
    VBS_TRY(od_at(b, &w->src, b->t->activations[b->o->inputs[0]].values, &from));
    VBS_TRY(od_at(b, &w->own, values_of(b, b->o->weights), &weights));
    return add_direct(b, w, od_direct_forward, to, from, weights);
}

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

/* Gives the memory into which a kernel writes the gradient of the weights in the layout md: that of
 * the gradient itself, or, where that has another layout, a region. */
static enum vbs_status begin_weights_gradient(struct od_train_build *b,
                                              const dnnl_memory_desc_t *md, dnnl_memory_t *memory)
{
    const struct od_array *weights = &b->t->arrays[b->o->weights];

    return dnnl_memory_desc_equal(md, &weights->md)
               ? od_at(b, md, weights->gradient, memory)
               : od_in_region(b, md, OD_REGION_GRADIENT, memory);
}

/* Appends the copy that the region needs. */
static enum vbs_status end_weights_gradient(struct od_train_build *b, const dnnl_memory_desc_t *md,
                                            dnnl_memory_t memory)
{
    const struct od_array *weights = &b->t->arrays[b->o->weights];
    dnnl_memory_t kept = NULL;

    if (dnnl_memory_desc_equal(md, &weights->md))
        return VBS_OK;
    VBS_TRY(od_at(b, &weights->md, weights->gradient, &kept));
    return od_kernel_reorder(&b->build, md, memory, &weights->md, kept);
}

static enum vbs_status add_direct_weights_gradient(struct od_train_build *b,
                                                   const struct weighted *w)
{
    dnnl_memory_t to, input, gradient;

    VBS_TRY(od_at(b, &w->src, b->t->activations[b->o->inputs[0]].values, &input));
    VBS_TRY(od_at(b, &w->dst, b->t->activations[b->number].gradient, &gradient));
    VBS_TRY(begin_weights_gradient(b, &w->own, &to));
    VBS_TRY(add_direct(b, w, od_direct_weights, to, input, gradient));
    return end_weights_gradient(b, &w->own, to);
}

/* Appends the gradients of weights and bias. */
static enum vbs_status add_weights_gradient(struct od_train_build *b, const struct weighted *w)
{
    dnnl_memory_desc_t md;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_exec_arg_t args[4];
    enum vbs_status status;
    int n = 0;

    VBS_TRY(od_arg(b, DNNL_ARG_SRC, &w->src, b->t->activations[b->o->inputs[0]].values, &n, args));
    VBS_TRY(od_arg(b, DNNL_ARG_DIFF_DST, &w->dst, b->t->activations[b->number].gradient, &n, args));
    if (b->o->bias >= 0)
        VBS_TRY(
            od_arg(b, DNNL_ARG_DIFF_BIAS, &w->bias, b->t->arrays[b->o->bias].gradient, &n, args));
    VBS_TRY(find_backward(b, w, true, &pd));
    md = *dnnl_primitive_desc_query_md(pd, dnnl_query_diff_weights_md, 0);
    args[n].arg = DNNL_ARG_DIFF_WEIGHTS;
    status = begin_weights_gradient(b, &md, &args[n].memory);
    if (status != VBS_OK) {
        dnnl_primitive_desc_destroy(pd);
        return status;
    }
    VBS_TRY(od_train_step(b, pd, n + 1, args));
    return end_weights_gradient(b, &md, args[n].memory);
}

/* Gives the weights in the layout md, after a copy if they are kept in another one. */
static enum vbs_status read_weights(struct od_train_build *b, const dnnl_memory_desc_t *md,
                                    dnnl_memory_t *memory)
{
    const struct od_array *weights = &b->t->arrays[b->o->weights];
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
    status = read_weights(b, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0),
                          &args[0].memory);
    if (status != VBS_OK) {
        dnnl_primitive_desc_destroy(pd);
        return status;
    }
    VBS_TRY(od_train_step(b, pd, n, args));
    return od_input_gradient_end(b, 0, args[1].memory);
}

static enum vbs_status add_direct_input_gradient(struct od_train_build *b, const struct weighted *w)
{
    struct od_activation *in = &b->t->activations[b->o->inputs[0]];
    dnnl_memory_t to, gradient, weights;

    VBS_TRY(od_at(b, &w->src, in->gradient, &to));
    VBS_TRY(od_at(b, &w->dst, b->t->activations[b->number].gradient, &gradient));
    VBS_TRY(read_weights(b, &w->own, &weights));
    return add_direct(b, w, in->n_written++ > 0 ? od_direct_input_accumulate : od_direct_input, to,
                      gradient, weights);
}

static enum vbs_status add_backward(struct od_train_build *b, const struct weighted *w)
{
    VBS_TRY(w->direct ? add_direct_weights_gradient(b, w) : add_weights_gradient(b, w));
    if (!b->t->activations[b->o->inputs[0]].learns)
        return VBS_OK;
    return w->direct && od_direct_pays_input(w->direct) ? add_direct_input_gradient(b, w)
                                                        : add_input_gradient(b, w);
}

static enum vbs_status add_pass(struct od_train_build *b, enum od_pass pass,
                                const struct weighted *w)
{
    if (pass == OD_PASS_BACKWARD)
        return add_backward(b, w);
    if (pass == OD_PASS_TRAIN) {
        VBS_TRY(find_forward(b, w, &b->o->forward));
        VBS_TRY(add_parameters(b, w));
    }
    return is_direct_forward(w) ? forward_direct(b, w) : add_forward(b, w);
}

enum vbs_status od_train_conv(struct od_train_build *b, enum od_pass pass)
{
    struct weighted w;

    VBS_TRY(shape_conv(b, &w));
    VBS_TRY(choose_direct(b, &w));
    return add_pass(b, pass, &w);
}

enum vbs_status od_train_fc(struct od_train_build *b, enum od_pass pass)
{
    struct weighted w;

    VBS_TRY(shape_fc(b, &w));
    return add_pass(b, pass, &w);
}
