#include "fake/cuda_common.h"

/* ---- Windows ---- */

/* Counts the positions of the window; below 1: it does not fit. */
static int fits(const struct fake_window *w, int d, int size)
{
    int64_t seen = (int64_t)(w->size[d] - 1) * w->dilation[d] + 1;
    int64_t room = size + 2 * (int64_t)w->pad[d] - seen;

    return room < 0 ? 0 : (int)(room / w->stride[d]) + 1;
}

static void check_samples(struct fake_op *op, const struct fake_tensor *s,
                          const struct fake_tensor *t)
{
    fake_op_must(op, s->n_dims == op->window.n + 2 && t->n_dims == s->n_dims,
                 "tensors and window differ in their number of dimensions");
    fake_op_must(op, op->code || s->dim[0] == t->dim[0], "another number of samples");
}

/* Checks that tensor out has the shape that the window makes of in. */
static void check_places(struct fake_op *op, enum fake_slot in, enum fake_slot out)
{
    const struct fake_tensor *s = &op->at[in].t, *t = &op->at[out].t;

    check_samples(op, s, t);
    for (int d = 0; !op->code && d < op->window.n; d++) {
        if (t->dim[d + 2] != fits(&op->window, d, s->dim[d + 2]) || t->dim[d + 2] < 1)
            op->code = fake_wrong("dimension %d of the result is %d, should be %d", d + 2,
                                  t->dim[d + 2], fits(&op->window, d, s->dim[d + 2]));
    }
}

/* Makes two spatial dimensions three, of which the first has size 1. */
static void to_volumes(struct fake_op *op)
{
    struct fake_window *w = &op->window;

    if (op->code || w->n == 3)
        return;
    for (int i = 0; i < FAKE_SLOTS; i++) {
        struct fake_tensor *t = &op->at[i].t;

        for (int d = 4; d > 2; d--) {
            t->dim[d] = t->dim[d - 1];
            t->stride[d] = t->stride[d - 1];
        }
        t->dim[2] = t->stride[2] = 1;
        t->n_dims += t->n_dims > 0;
    }
    for (int d = 2; d > 0; d--) {
        w->size[d] = w->size[d - 1];
        w->pad[d] = w->pad[d - 1];
        w->stride[d] = w->stride[d - 1];
        w->dilation[d] = w->dilation[d - 1];
    }
    w->size[0] = w->stride[0] = w->dilation[0] = 1;
    w->pad[0] = 0;
}

/* Reads the window of a convolution, with the filter of slot w. */
static void check_filter(struct fake_op *op, const void *convolution, enum fake_slot in)
{
    const struct fake_object *object = fake_op_get(op, FAKE_CONVOLUTION, convolution);
    const struct fake_tensor *w = &op->at[FAKE_W].t, *x = &op->at[in].t;

    if (!object)
        return;
    op->window = object->window;
    fake_op_must(op, w->n_dims == op->window.n + 2 && x->n_dims == w->n_dims,
                 "tensor, filter and convolution differ in their number of dimensions");
    fake_op_must(op, op->code || x->dim[1] == w->dim[1] * op->window.groups,
                 "channels are not the filter's times the groups");
    fake_op_must(op, op->code || w->dim[0] % op->window.groups == 0,
                 "the groups do not divide the channels");
    for (int d = 0; !op->code && d < op->window.n; d++)
        op->window.size[d] = w->dim[d + 2];
}

static void check_convolution(struct fake_op *op, const void *convolution, enum fake_slot in,
                              enum fake_slot out)
{
    check_filter(op, convolution, in);
    check_places(op, in, out);
    fake_op_must(op, op->code || op->at[out].t.dim[1] == op->at[FAKE_W].t.dim[0],
                 "the result has not the filter's channels");
}

/* Counts products and sums; out is the result of the forward direction. */
static double operations(const struct fake_op *op, enum fake_slot out)
{
    const struct fake_tensor *w = &op->at[FAKE_W].t;

    return op->code
               ? 0
               : 2.0 * (double)fake_elements(&op->at[out].t) * (double)fake_elements(w) / w->dim[0];
}

/* ---- Convolutions ---- */

static bool supports(const struct fake_op *op)
{
    const struct fake_window *w = &op->window;
    bool plain = w->n == 2, square = w->n == 2, spread = false;

    for (int d = 0; d < w->n; d++) {
        spread = spread || w->dilation[d] != 1;
        plain = plain && w->stride[d] == 1 && w->dilation[d] == 1;
        square = square && w->size[d] == 3;
    }
    switch (op->algorithm) {
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM:
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM:
        return true;
    case CUDNN_CONVOLUTION_FWD_ALGO_GEMM:
        return w->n == 2 && !spread;
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD:
        return plain && square && w->groups == 1;
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT:
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING:
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED:
        return plain;
    default:
        return false;
    }
}

/* Gives an invented size that is not round. */
static size_t forward_scratch(const struct fake_op *op)
{
    size_t x = (size_t)fake_elements(&op->at[FAKE_X].t),
           y = (size_t)fake_elements(&op->at[FAKE_Y].t);
    size_t w = (size_t)fake_elements(&op->at[FAKE_W].t), n = (size_t)op->at[FAKE_Y].t.dim[0];
    size_t k = (size_t)op->at[FAKE_W].t.dim[0];

    switch (op->algorithm) {
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM:
        return 4 * (w / k + y / n / k) + 68;
    case CUDNN_CONVOLUTION_FWD_ALGO_GEMM:
        return 4 * (w / k) * (y / n / k) * (size_t)op->window.groups;
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT:
        return 16 * (x + y + w) + 4;
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING:
        return 8 * (x + y) / n + 8 * w + 12;
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD:
        return 64 * k + 4;
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED:
        return 16 * w + 10 * (x + y);
    default:
        return 0;
    }
}

static double forward_operations(const struct fake_op *op)
{
    static const double factors[] = {1.5, 1, 1.25, 0, 0.875, 0.9375, 0.5, 0.625};

    return operations(op, FAKE_Y) * (op->code ? 0 : factors[op->algorithm]);
}

/* An algorithm that does not support the case is refused without a violation. */
static void check_algorithm(struct fake_op *op, int algorithm)
{
    op->algorithm = algorithm;
    if (!op->code && !supports(op))
        op->code = CUDNN_STATUS_NOT_SUPPORTED;
}

static cudnnStatus_t output_dims(struct fake_op *op, int n_channels, int n_dims, int *dims)
{
    const struct fake_tensor *x = &op->at[FAKE_X].t;

    fake_op_must(op, dims && n_dims == x->n_dims && n_dims == op->window.n + 2,
                 "another number of dimensions");
    for (int d = 0; !op->code && d < n_dims; d++) {
        dims[d] = d == 0 ? x->dim[0] : d == 1 ? n_channels : fits(&op->window, d - 2, x->dim[d]);
        fake_op_must(op, dims[d] > 0, "the window does not fit");
    }
    return fake_leave(op->code);
}

cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t convolution,
                                                    const cudnnTensorDescriptor_t x_descriptor,
                                                    const cudnnFilterDescriptor_t filter,
                                                    int n_dims, int dims[])
{
    struct fake_op op;

    fake_op_ask(&op, __func__);
    fake_op_tensor(&op, FAKE_X, x_descriptor, NULL);
    fake_op_filter(&op, filter, NULL);
    check_filter(&op, convolution, FAKE_X);
    return output_dims(&op, op.at[FAKE_W].t.dim[0], n_dims, dims);
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithmMaxCount(cudnnHandle_t handle, int *count)
{
    struct fake_op op;

    fake_op_begin(&op, __func__, handle, NULL);
    fake_op_must(&op, count, "nowhere to put the count");
    if (!op.code)
        *count = CUDNN_CONVOLUTION_FWD_ALGO_COUNT;
    return fake_leave(op.code);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x_descriptor,
    const cudnnFilterDescriptor_t filter, const cudnnConvolutionDescriptor_t convolution,
    const cudnnTensorDescriptor_t y_descriptor, cudnnConvolutionFwdAlgo_t algorithm,
    size_t *n_bytes)
{
    struct fake_op op;

    fake_op_begin(&op, __func__, handle, NULL);
    fake_op_x_to_y(&op, x_descriptor, NULL, y_descriptor, NULL);
    fake_op_filter(&op, filter, NULL);
    check_convolution(&op, convolution, FAKE_X, FAKE_Y);
    fake_op_must(&op, n_bytes, "nowhere to put the size");
    check_algorithm(&op, (int)algorithm);
    if (!op.code)
        *n_bytes = forward_scratch(&op);
    return fake_leave(op.code);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                      const cudnnTensorDescriptor_t x_descriptor, const void *x,
                                      const cudnnFilterDescriptor_t filter, const void *w,
                                      const cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algorithm, void *scratch,
                                      size_t scratch_bytes, const void *beta,
                                      const cudnnTensorDescriptor_t y_descriptor, void *y)
{
    struct fake_op op;

    fake_op_blend(&op, __func__, handle, fake_convolve, alpha, beta);
    fake_op_x_to_y(&op, x_descriptor, x, y_descriptor, y);
    fake_op_filter(&op, filter, w);
    check_convolution(&op, convolution, FAKE_X, FAKE_Y);
    fake_op_apart(&op, FAKE_X, FAKE_Y, false);
    fake_op_apart(&op, FAKE_W, FAKE_Y, false);
    check_algorithm(&op, (int)algorithm);
    fake_op_scratch(&op, scratch, scratch_bytes, op.code ? 0 : forward_scratch(&op));
    to_volumes(&op);
    return fake_op_issue(&op, forward_operations(&op));
}

/* Checks an operand of one value for each channel of y. */
static void check_channels(struct fake_op *op, enum fake_slot slot)
{
    const struct fake_tensor *t = &op->at[slot].t;

    fake_op_must(op, op->code || fake_elements(t) == op->at[FAKE_Y].t.dim[1],
                 "not one value for each channel");
    fake_op_same(op, slot, FAKE_Y, true);
}

/* Checks the activation as real cuDNN does: it is ReLU, or with one algorithm the identity. */
static void check_activation(struct fake_op *op, const void *activation)
{
    fake_op_numbers(op, FAKE_ACTIVATION, activation);
    if (!op->code && op->mode != CUDNN_ACTIVATION_RELU &&
        (op->mode != CUDNN_ACTIVATION_IDENTITY ||
         op->algorithm != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM))
        op->code = CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void *alpha1, const cudnnTensorDescriptor_t x_descriptor,
    const void *x, const cudnnFilterDescriptor_t filter, const void *w,
    const cudnnConvolutionDescriptor_t convolution, cudnnConvolutionFwdAlgo_t algorithm,
    void *scratch, size_t scratch_bytes, const void *alpha2,
    const cudnnTensorDescriptor_t z_descriptor, const void *z,
    const cudnnTensorDescriptor_t bias_descriptor, const void *bias,
    const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t y_descriptor,
    void *y)
{
    struct fake_op op;

    fake_op_begin(&op, __func__, handle, fake_convolve);
    fake_op_number(&op, &op.alpha, alpha1);
    fake_op_number(&op, &op.alpha2, alpha2);
    fake_op_x_to_y(&op, x_descriptor, x, y_descriptor, y);
    fake_op_tensor(&op, FAKE_Z, z_descriptor, z);
    fake_op_tensor(&op, FAKE_BIAS, bias_descriptor, bias);
    fake_op_filter(&op, filter, w);
    check_convolution(&op, convolution, FAKE_X, FAKE_Y);
    fake_op_same(&op, FAKE_Z, FAKE_Y, false);
    check_channels(&op, FAKE_BIAS);
    fake_op_apart(&op, FAKE_X, FAKE_Y, false);
    fake_op_apart(&op, FAKE_W, FAKE_Y, false);
    fake_op_apart(&op, FAKE_BIAS, FAKE_Y, false);
    fake_op_apart(&op, FAKE_Z, FAKE_Y, true);
    check_algorithm(&op, (int)algorithm);
    check_activation(&op, activation);
    fake_op_scratch(&op, scratch, scratch_bytes, op.code ? 0 : forward_scratch(&op));
    to_volumes(&op);
    return fake_op_issue(&op, forward_operations(&op));
}

/* There are two algorithms; the second needs workspace. x holds dy, and y holds dx. */
static size_t back_scratch(struct fake_op *op, int algorithm)
{
    if (!op->code && algorithm != CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 &&
        algorithm != CUDNN_CONVOLUTION_BWD_DATA_ALGO_1)
        op->code = CUDNN_STATUS_NOT_SUPPORTED;
    if (op->code || algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_0)
        return 0;
    return 4 * (size_t)(fake_elements(&op->at[FAKE_W].t) + fake_elements(&op->at[FAKE_X].t)) + 20;
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t filter,
    const cudnnTensorDescriptor_t dy_descriptor, const cudnnConvolutionDescriptor_t convolution,
    const cudnnTensorDescriptor_t dx_descriptor, cudnnConvolutionBwdDataAlgo_t algorithm,
    size_t *n_bytes)
{
    struct fake_op op;
    size_t needed;

    fake_op_begin(&op, __func__, handle, NULL);
    fake_op_x_to_y(&op, dy_descriptor, NULL, dx_descriptor, NULL);
    fake_op_filter(&op, filter, NULL);
    check_convolution(&op, convolution, FAKE_Y, FAKE_X);
    fake_op_must(&op, n_bytes, "nowhere to put the size");
    needed = back_scratch(&op, (int)algorithm);
    if (!op.code)
        *n_bytes = needed;
    return fake_leave(op.code);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
                                           const cudnnFilterDescriptor_t filter, const void *w,
                                           const cudnnTensorDescriptor_t dy_descriptor,
                                           const void *dy,
                                           const cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void *scratch,
                                           size_t scratch_bytes, const void *beta,
                                           const cudnnTensorDescriptor_t dx_descriptor, void *dx)
{
    struct fake_op op;
    size_t needed;

    fake_op_blend(&op, __func__, handle, fake_convolve_back, alpha, beta);
    fake_op_x_to_y(&op, dy_descriptor, dy, dx_descriptor, dx);
    fake_op_filter(&op, filter, w);
    check_convolution(&op, convolution, FAKE_Y, FAKE_X);
    fake_op_apart(&op, FAKE_X, FAKE_Y, false);
    fake_op_apart(&op, FAKE_W, FAKE_Y, false);
    needed = back_scratch(&op, (int)algorithm);
    fake_op_scratch(&op, scratch, scratch_bytes, needed);
    to_volumes(&op);
    return fake_op_issue(&op, operations(&op, FAKE_X) *
                                  (algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 ? 1.5 : 1));
}

/* ---- Pooling ---- */

/* Checks that every window has a value of x: cuDNN clips those that reach beyond its end, and makes
 * as many as y has. Means that count the padding are wanted by cuDNN's own formula alone. */
static void check_pools(struct fake_op *op)
{
    const struct fake_window *w = &op->window;
    const struct fake_tensor *s = &op->at[FAKE_X].t, *t = &op->at[FAKE_Y].t;

    if (w->mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING) {
        check_places(op, FAKE_X, FAKE_Y);
        return;
    }
    check_samples(op, s, t);
    for (int d = 0; !op->code && d < w->n; d++)
        if ((int64_t)(t->dim[d + 2] - 1) * w->stride[d] - w->pad[d] >= s->dim[d + 2])
            op->code = fake_wrong("the last of %d windows begins behind the %d values of "
                                  "dimension %d",
                                  t->dim[d + 2], s->dim[d + 2], d + 2);
}

static void check_pooling(struct fake_op *op, const void *pooling)
{
    const struct fake_object *object = fake_op_get(op, FAKE_POOLING, pooling);

    if (object)
        op->window = object->window;
}

cudnnStatus_t cudnnGetPoolingNdForwardOutputDim(const cudnnPoolingDescriptor_t pooling,
                                                const cudnnTensorDescriptor_t x_descriptor,
                                                int n_dims, int dims[])
{
    struct fake_op op;

    fake_op_ask(&op, __func__);
    fake_op_tensor(&op, FAKE_X, x_descriptor, NULL);
    check_pooling(&op, pooling);
    return output_dims(&op, op.at[FAKE_X].t.dim[1], n_dims, dims);
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling,
                                  const void *alpha, const cudnnTensorDescriptor_t x_descriptor,
                                  const void *x, const void *beta,
                                  const cudnnTensorDescriptor_t y_descriptor, void *y)
{
    struct fake_op op;

    fake_op_blend(&op, __func__, handle, fake_pool, alpha, beta);
    fake_op_x_to_y(&op, x_descriptor, x, y_descriptor, y);
    check_pooling(&op, pooling);
    check_pools(&op);
    fake_op_must(&op, op.at[FAKE_X].t.dim[1] == op.at[FAKE_Y].t.dim[1],
                 "another number of channels");
    fake_op_apart(&op, FAKE_X, FAKE_Y, false);
    to_volumes(&op);
    return fake_op_issue(&op, fake_n_values(&op) * op.window.size[0] * op.window.size[1] *
                                  op.window.size[2]);
}
