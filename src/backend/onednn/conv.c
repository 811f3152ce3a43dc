/* Convolutions and inner products. */
#include "backend/onednn/candidates.h"

#include <stddef.h>

/* ---- convolutions ---- */

enum vbs_status od_conv_desc(struct od_build *b, dnnl_alg_kind_t algorithm,
                             const dnnl_memory_desc_t *src, const dnnl_memory_desc_t *weights,
                             const dnnl_memory_desc_t *dst, union od_conv_desc *desc)
{
    const struct vbs_attributes *a = &b->l->attributes;
    bool bias = b->session->weights[b->layer].bias, deconv = b->l->op == VBS_OP_CONV_TRANSPOSE;
    dnnl_memory_desc_t bias_md;
    dnnl_dims_t strides, dilates, low, high;
    dnnl_status_t dnnl;
    enum vbs_status status = od_describe_vector(b, dst->dims[1], &bias_md);

    if (status != VBS_OK)
        return status;
    for (int i = 0; i < od_input(b, 0)->n_spatial; i++) {
        strides[i] = a->stride[i];
        dilates[i] = a->dilation[i] - 1;
        low[i] = a->pad_low[i];
        high[i] = a->pad_high[i] - (deconv ? a->out_pad[i] : 0);
    }
    dnnl = deconv ? dnnl_dilated_deconvolution_forward_desc_init(
                        &desc->transposed, dnnl_forward_inference,
                        algorithm == dnnl_convolution_winograd ? dnnl_deconvolution_winograd
                                                               : dnnl_deconvolution_direct,
                        src, weights, bias ? &bias_md : NULL, dst, strides, dilates, low, high)
                  : dnnl_dilated_convolution_forward_desc_init(
                        &desc->forward, dnnl_forward_inference, algorithm, src, weights,
                        bias ? &bias_md : NULL, dst, strides, dilates, low, high);
    return dnnl == dnnl_success ? VBS_OK : od_fail(b, dnnl, "describing a convolution");
}

static enum vbs_status whole_desc(struct od_build *b, struct od_variant v, union od_conv_desc *desc)
{
    dnnl_memory_desc_t src, dst, weights;
    dnnl_dims_t dims = {0};
    dnnl_status_t dnnl;
    int n = od_filter_dims(b, v.stored, dims);
    enum vbs_status status = od_describe(b, od_input(b, 0), b->batch, v.src, v.stored, &src);

    if (status == VBS_OK)
        status = od_describe(b, od_output(b), b->batch, v.dst, v.stored, &dst);
    if (status != VBS_OK)
        return status;
    dnnl = dnnl_memory_desc_init_by_tag(&weights, n, dims, dnnl_f32, dnnl_format_tag_any);
    return dnnl == dnnl_success ? od_conv_desc(b, v.algorithm, &src, &weights, &dst, desc)
                                : od_fail(b, dnnl, "describing weights");
}

static enum vbs_status add_variant(struct od_build *b, struct od_candidates *all,
                                   struct od_variant v)
{
    static const dnnl_alg_kind_t algorithms[] = {dnnl_convolution_direct,
                                                 dnnl_convolution_winograd};

    for (int i = 0; i < 2; i++) {
        union od_conv_desc desc;
        enum vbs_status status;

        v.algorithm = algorithms[i];
        status = whole_desc(b, v, &desc);
        if (status == VBS_OK)
            status = od_candidates_add(b, all, &desc, v);
        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

static struct od_variant home_variant(const struct od_build *b)
{
    return (struct od_variant){od_input(b, 0)->home, od_output(b)->home, true,
                               od_filter_can_be_stored(b), 0};
}

static enum vbs_status build_all(struct od_build *b)
{
    enum od_layout src = od_input(b, 0)->home, dst = od_output(b)->home;
    struct od_variant blocked = {OD_BLOCKED, OD_BLOCKED, false, false, 0};
    struct od_variant last = {OD_CHANNELS_LAST, OD_CHANNELS_LAST, false, false, 0};
    struct od_candidates all = {0};
    enum vbs_status status = add_variant(b, &all, home_variant(b));

    if (status == VBS_OK && b->session->block > 1 && (src != OD_BLOCKED || dst != OD_BLOCKED))
        status = add_variant(b, &all, blocked);
    if (status == VBS_OK)
        status = add_variant(b, &all, last);
    if (status == VBS_OK)
        status = od_candidates_build(b, &all);
    od_candidates_release(&all);
    return status;
}

/* What is measured in parts: of large weights, with a primitive for one sample. */
static enum vbs_status build_measured(struct od_build *b)
{
    struct od_candidates all = {0};
    const struct od_candidate *chosen = NULL;
    int batch = b->batch;
    enum vbs_status status;

    b->batch = 1;
    status = add_variant(b, &all, home_variant(b));
    if (status == VBS_OK)
        status = od_candidates_measured(b, &all, &chosen);
    b->batch = batch;
    if (status == VBS_OK && chosen) {
        struct od_way way = {chosen->impl, chosen->variant.algorithm, NULL, chosen->variant.stored};

        status = od_build_measured(b, chosen->name, &way, od_candidate_bytes(chosen));
    }
    od_candidates_release(&all);
    return status;
}

enum vbs_status od_build_conv(struct od_build *b)
{
    enum vbs_status status = od_weights_init(b);

    if (status == VBS_OK && !(b->requested && b->requested->measured))
        status = build_all(b);
    if (status == VBS_OK && od_may_be_measured(b))
        status = build_measured(b);
    return status;
}

/* ---- inner products ---- */

enum vbs_status od_fc_desc(struct od_build *b, const dnnl_memory_desc_t *weights,
                           dnnl_inner_product_desc_t *desc)
{
    int64_t rows = b->batch * vbs_shape_elements(&b->l->shape) / od_weights_outputs(b);
    dnnl_dims_t src_dims = {rows, weights->dims[1]}, dst_dims = {rows, weights->dims[0]};
    bool bias = b->session->weights[b->layer].bias;
    dnnl_memory_desc_t src, dst, bias_md;
    dnnl_status_t dnnl;
    enum vbs_status status = od_describe_vector(b, dst_dims[1], &bias_md);

    if (status != VBS_OK)
        return status;
    dnnl = dnnl_memory_desc_init_by_tag(&src, 2, src_dims, dnnl_f32, dnnl_nc);
    if (dnnl == dnnl_success)
        dnnl = dnnl_memory_desc_init_by_tag(&dst, 2, dst_dims, dnnl_f32, dnnl_nc);
    if (dnnl == dnnl_success)
        dnnl = dnnl_inner_product_forward_desc_init(desc, dnnl_forward_inference, &src, weights,
                                                    bias ? &bias_md : NULL, &dst);
    return dnnl == dnnl_success ? VBS_OK : od_fail(b, dnnl, "describing an inner product");
}

/* Implementations with weights in a layout. */
static enum vbs_status add_matrix(struct od_build *b, struct od_candidates *all,
                                  dnnl_format_tag_t layout)
{
    const struct od_tensor *in = od_input(b, 0), *out = od_output(b);
    dnnl_dims_t dims = {od_weights_outputs(b), od_weights_inputs(b)};
    struct od_variant home = {in->home, out->home, true, true, 0};
    dnnl_memory_desc_t weights;
    dnnl_inner_product_desc_t desc;
    dnnl_status_t dnnl = dnnl_memory_desc_init_by_tag(&weights, 2, dims, dnnl_f32, layout);
    enum vbs_status status = dnnl == dnnl_success ? od_fc_desc(b, &weights, &desc)
                                                  : od_fail(b, dnnl, "describing weights");

    return status == VBS_OK ? od_candidates_add(b, all, &desc, home) : status;
}

/* One that does not divide, in parts of whole blocks of its weights, which need no other form. */
static enum vbs_status build_matrix_parts(struct od_build *b, const struct od_candidates *all)
{
    const struct od_candidate *chosen;
    struct od_way way = {0};
    enum vbs_status status = od_candidates_measured(b, all, &chosen);

    if (status != VBS_OK || !chosen)
        return status;
    way = (struct od_way){.impl = chosen->impl,
                          .md = dnnl_primitive_desc_query_md(chosen->pd, dnnl_query_weights_md, 0),
                          .stored = true};
    return od_build_measured(b, chosen->name, &way, od_candidate_bytes(chosen));
}

/* A product of matrices: [N, I] by [I, O]. A spatial input is read as one row per sample, in the
 * order in which it is stored; the weights are packed to match. Kernels that can do with weights
 * output by output are not asked for others: GEMM would like them transposed at some batches, which
 * gains nothing and cannot be divided. */
enum vbs_status od_build_fc(struct od_build *b)
{
    struct od_candidates all = {0};
    enum vbs_status status = od_weights_init(b);

    if (status == VBS_OK)
        status = add_matrix(b, &all, dnnl_ab);
    if (status == VBS_OK)
        status = add_matrix(b, &all, dnnl_format_tag_any);
    if (status == VBS_OK && !(b->requested && b->requested->measured))
        status = od_candidates_build(b, &all);
    if (status == VBS_OK && od_may_be_measured(b))
        status = build_matrix_parts(b, &all);
    od_candidates_release(&all);
    return status;
}
