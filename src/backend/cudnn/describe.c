/* Descriptors of tensors and operations. */
#include "backend/cudnn/operators.h"

#include "base/fail.h"

#include <limits.h>
#include <string.h>

/* ---- tensors ---- */

static enum vbs_status describe(struct cu_build *b, int n_dims, const int64_t *dims,
                                const int64_t *strides, cudnnTensorDescriptor_t desc)
{
    int n = n_dims < 4 ? 4 : n_dims, dim[CU_MAX_DIMS], stride[CU_MAX_DIMS];
    int64_t dense = 1;
    cudnnStatus_t status;

    if (n > CUDNN_DIM_MAX)
        return cu_unsupported(b, "tensors of so many dimensions");
    for (int i = n - 1; i >= 0; i--) {
        int64_t size = i < n_dims ? dims[i] : 1, step = i < n_dims && strides ? strides[i] : dense;

        if (size > INT_MAX || step > INT_MAX)
            return cu_unsupported(b, "tensors of so many values");
        dim[i] = (int)size;
        stride[i] = (int)step;
        dense = dense > INT_MAX ? dense : dense * size;
    }
    status = b->session->api.cudnnSetTensorNdDescriptor(desc, CUDNN_DATA_FLOAT, n, dim, stride);
    return status == CUDNN_STATUS_SUCCESS ? VBS_OK : cu_refuse(b, status, "tensors of that size");
}

enum vbs_status cu_tensor(struct cu_build *b, int n_dims, const int64_t *dims,
                          const int64_t *strides, cudnnTensorDescriptor_t *desc)
{
    cudnnStatus_t made = b->session->api.cudnnCreateTensorDescriptor(desc);

    if (made != CUDNN_STATUS_SUCCESS)
        return cu_fail(b->ctx, b->session, b->l->name, made, "describing a tensor");
    VBS_TRY(cu_adopt(b, CU_TENSOR, *desc));
    return describe(b, n_dims, dims, strides, *desc);
}

int cu_image_dims(const struct cu_build *b, const struct vbs_shape *shape, int64_t *dims)
{
    int n_spatial = shape->n_dims - 1, n = n_spatial > 2 ? n_spatial : 2, from = n - n_spatial;

    dims[0] = b->batch;
    dims[1] = shape->dim[0];
    for (int i = 0; i < n; i++)
        dims[2 + i] = i < from ? 1 : shape->dim[1 + i - from];
    return n;
}

enum vbs_status cu_image(struct cu_build *b, const struct vbs_shape *shape, int *n_spatial,
                         cudnnTensorDescriptor_t *desc)
{
    int64_t dims[CU_MAX_DIMS];

    if (shape->n_dims > 1 + VBS_MAX_SPATIAL)
        return cu_unsupported(b, "images of so many dimensions");
    *n_spatial = cu_image_dims(b, shape, dims);
    return cu_tensor(b, 2 + *n_spatial, dims, NULL, desc);
}

enum vbs_status cu_samples(struct cu_build *b, const struct vbs_shape *shape,
                           cudnnTensorDescriptor_t *desc)
{
    int64_t dims[CU_MAX_DIMS] = {b->batch};

    memcpy(dims + 1, shape->dim, (size_t)shape->n_dims * sizeof *dims);
    return cu_tensor(b, 1 + shape->n_dims, dims, NULL, desc);
}

enum vbs_status cu_channels(struct cu_build *b, int64_t n, int n_spatial,
                            cudnnTensorDescriptor_t *desc)
{
    int64_t dims[2 + VBS_MAX_SPATIAL] = {1, n, 1, 1, 1};

    return cu_tensor(b, 2 + n_spatial, dims, NULL, desc);
}

const struct vbs_shape *cu_view(const struct cu_build *b, int index)
{
    return &b->l->views[b->session->order[b->layer][index]];
}

struct cu_operand cu_at(enum cu_location location, int index, cudnnTensorDescriptor_t desc)
{
    return (struct cu_operand){.desc = desc, .location = location, .index = index};
}

/* ---- windows ---- */

struct cu_window cu_window(const struct vbs_window *window, int n_spatial)
{
    struct cu_window w = {.n = n_spatial > 2 ? n_spatial : 2,
                          .kernel = {1, 1, 1},
                          .stride = {1, 1, 1},
                          .dilation = {1, 1, 1}};
    int from = w.n - n_spatial;

    for (int i = 0; i < n_spatial; i++) {
        w.kernel[from + i] = (int)window->kernel[i];
        w.stride[from + i] = (int)window->stride[i];
        w.dilation[from + i] = window->dilation[i] > 1 ? (int)window->dilation[i] : 1;
        w.low[from + i] = window->pad_low[i];
        w.high[from + i] = window->pad_high[i];
        w.uneven |= window->pad_low[i] != window->pad_high[i];
    }
    for (int i = 0; i < w.n && !w.uneven; i++)
        w.pad[i] = (int)w.low[i];
    return w;
}

/* Describes the inside of the padded image, in its strides. */
static enum vbs_status describe_inside(struct cu_build *b, int n_dims, const int64_t *dims,
                                       const int64_t *padded, const struct cu_window *window,
                                       struct cu_operand *inside)
{
    int64_t strides[CU_MAX_DIMS], stride = 1;

    for (int i = n_dims - 1; i >= 0; i--) {
        strides[i] = stride;
        if (i >= 2)
            inside->offset += window->low[i - 2] * stride * (int64_t)sizeof(float);
        stride *= padded[i];
    }
    return cu_tensor(b, n_dims, dims, strides, &inside->desc);
}

enum vbs_status cu_pad(struct cu_build *b, const struct cu_window *window, float value,
                       struct cu_operand *image)
{
    int64_t dims[CU_MAX_DIMS], padded[CU_MAX_DIMS], values = 1;
    int n = 2 + cu_image_dims(b, cu_view(b, 0), dims);
    struct cu_operand inside;
    struct cu_step *step;

    for (int i = 0; i < n; i++) {
        padded[i] = dims[i] + (i >= 2 ? window->low[i - 2] + window->high[i - 2] : 0);
        values *= padded[i];
    }
    *image = cu_at(CU_SCRATCH, 0, NULL);
    image->offset = cu_reserve(b, values * (int64_t)sizeof(float));
    inside = *image;
    VBS_TRY(cu_tensor(b, n, padded, NULL, &image->desc));
    VBS_TRY(describe_inside(b, n, dims, padded, window, &inside));
    step = cu_step(b, CU_FILL);
    if (!step)
        return vbs_no_memory(b->ctx);
    step->alpha = value;
    step->y = *image;
    step = cu_step(b, CU_REARRANGE);
    if (!step)
        return vbs_no_memory(b->ctx);
    step->x = cu_at(CU_SRC, 0, NULL);
    step->y = inside;
    return cu_tensor(b, n, dims, NULL, &step->x.desc);
}

/* ---- operations ---- */

enum vbs_status cu_activation(struct cu_build *b, cudnnActivationMode_t mode, double coefficient,
                              cudnnNanPropagation_t nan, cudnnActivationDescriptor_t *desc)
{
    cudnnStatus_t made = b->session->api.cudnnCreateActivationDescriptor(desc);

    if (made != CUDNN_STATUS_SUCCESS)
        return cu_fail(b->ctx, b->session, b->l->name, made, "describing an activation");
    VBS_TRY(cu_adopt(b, CU_ACTIVATION, *desc));
    made = b->session->api.cudnnSetActivationDescriptor(*desc, mode, nan, coefficient);
    if (made == CUDNN_STATUS_SUCCESS && mode == CUDNN_ACTIVATION_SWISH)
        made = b->session->api.cudnnSetActivationDescriptorSwishBeta(*desc, 1);
    return made == CUDNN_STATUS_SUCCESS
               ? VBS_OK
               : cu_fail(b->ctx, b->session, b->l->name, made, "describing an activation");
}

enum vbs_status cu_operation(struct cu_build *b, cudnnOpTensorOp_t op,
                             cudnnOpTensorDescriptor_t *desc)
{
    cudnnStatus_t made = b->session->api.cudnnCreateOpTensorDescriptor(desc);

    if (made != CUDNN_STATUS_SUCCESS)
        return cu_fail(b->ctx, b->session, b->l->name, made, "describing an operation");
    VBS_TRY(cu_adopt(b, CU_OPERATION, *desc));
    made = b->session->api.cudnnSetOpTensorDescriptor(*desc, op, CUDNN_DATA_FLOAT,
                                                      CUDNN_PROPAGATE_NAN);
    return made == CUDNN_STATUS_SUCCESS
               ? VBS_OK
               : cu_fail(b->ctx, b->session, b->l->name, made, "describing an operation");
}
