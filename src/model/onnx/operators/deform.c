/* DeformConv: convolutions that read their windows at places which another tensor moves. */
#include "base/fail.h"
#include "model/onnx/operators/operators.h"

#include <string.h>

/* Reads the attributes and the weights, for images of shape view = [C, H, W] or [K, C, H, W]. */
static enum vbs_status read_weights(struct vbs_onnx_import *im, const struct vbs_shape *view,
                                    struct vbs_onnx_draft *draft)
{
    union vbs_attributes *a = &draft->node.attributes;
    struct vbs_onnx_constant *weights;
    struct vbs_shape image = {.n_dims = 3};

    memcpy(image.dim, view->dim + view->n_dims - 3, 3 * sizeof image.dim[0]);
    VBS_TRY(vbs_onnx_constant_in(im, 1, &weights));
    VBS_TRY(vbs_onnx_read_conv(im, &image, &weights->shape, a));
    VBS_TRY(vbs_onnx_finish_conv(im, &image, &weights->shape, a));
    a->weighted.offset_groups = vbs_onnx_int(im, "offset_group", 1);
    a->weighted.bias = vbs_onnx_in(im, 3) != NULL;
    if (a->weighted.bias)
        VBS_TRY(vbs_onnx_vector(im, 3, a->weighted.out_channels, VBS_PARAMETER_BIAS, draft));
    return vbs_onnx_weights(im, weights, 0, &draft->node.values[VBS_PARAMETER_WEIGHTS]);
}

VBS_ONNX_HANDLER(deform_conv)
{
    static const int INPUTS[] = {0, 2, 4}; /* the images, what moves places, and factors */
    int n_inputs = vbs_onnx_in(im, 4) ? 3 : 2;
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, VBS_OP_DEFORM_CONV, n_inputs);
    struct vbs_onnx_state read;
    struct vbs_onnx_tensor *tensor;
    struct vbs_shape view, shape = {.n_dims = 0};

    (void)operator;
    if (!draft)
        return vbs_no_memory(im->ctx);
    for (int i = 0; i < n_inputs; i++) {
        VBS_TRY(vbs_onnx_images(im, INPUTS[i], &read, &view));
        vbs_onnx_reads(draft, i, read.tensor, &view);
        if (i > 0)
            continue;
        shape = read.shape;
        VBS_TRY(read_weights(im, &view, draft));
    }
    VBS_TRY(vbs_onnx_tensor_new(im, draft, &tensor));
    memcpy(shape.dim + shape.n_dims - 3, tensor->shape.dim + tensor->shape.n_dims - 3,
           3 * sizeof shape.dim[0]);
    return vbs_onnx_give(im, 0, tensor, &shape);
}
