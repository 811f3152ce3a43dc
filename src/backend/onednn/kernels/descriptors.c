/* Descriptors of convolutions and inner products, of whole layers and of slices. */
#include "backend/onednn/kernels/slices.h"
#include "backend/onednn/kernels/weights.h"

#include "base/fail.h"

enum vbs_status od_conv_desc(struct od_build *b, dnnl_alg_kind_t algorithm,
                             const dnnl_memory_desc_t *src, const dnnl_memory_desc_t *weights,
                             const dnnl_memory_desc_t *dst, union od_conv_desc *desc)
{
    const int64_t *out_pad = b->l->attributes.weighted.out_pad;
    const struct vbs_window *w = &b->l->attributes.weighted.window;
    bool bias = b->session->weights[b->layer].bias, deconv = b->l->op == VBS_OP_CONV_TRANSPOSE;
    dnnl_memory_desc_t bias_md;
    dnnl_dims_t strides, dilates, low, high;
    dnnl_status_t dnnl;

    VBS_TRY(od_describe_vector(b, dst->dims[1], &bias_md));
    for (int i = 0; i < od_input(b, 0)->n_spatial; i++) {
        strides[i] = w->stride[i];
        dilates[i] = w->dilation[i] - 1;
        low[i] = w->pad_low[i];
        high[i] = w->pad_high[i] - (deconv ? out_pad[i] : 0);
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

enum vbs_status od_fc_desc(struct od_build *b, const dnnl_memory_desc_t *weights,
                           dnnl_inner_product_desc_t *desc)
{
    int64_t rows = b->batch * vbs_shape_elements(&b->l->shape) / od_weights_outputs(b);
    dnnl_dims_t src_dims = {rows, weights->dims[1]}, dst_dims = {rows, weights->dims[0]};
    bool bias = b->session->weights[b->layer].bias;
    dnnl_memory_desc_t src, dst, bias_md;
    dnnl_status_t dnnl;

    VBS_TRY(od_describe_vector(b, dst_dims[1], &bias_md));
    dnnl = dnnl_memory_desc_init_by_tag(&src, 2, src_dims, dnnl_f32, dnnl_nc);
    if (dnnl == dnnl_success)
        dnnl = dnnl_memory_desc_init_by_tag(&dst, 2, dst_dims, dnnl_f32, dnnl_nc);
    if (dnnl == dnnl_success)
        dnnl = dnnl_inner_product_forward_desc_init(desc, dnnl_forward_inference, &src, weights,
                                                    bias ? &bias_md : NULL, &dst);
    return dnnl == dnnl_success ? VBS_OK : od_fail(b, dnnl, "describing an inner product");
}
