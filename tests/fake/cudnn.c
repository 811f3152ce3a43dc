#include "fake/cuda_common.h"

#include <stdio.h>
#include <string.h>

/* ---- Library and handle ---- */

size_t cudnnGetVersion(void)
{
    return fake_cuda.cudnn_version;
}

size_t cudnnGetCudartVersion(void)
{
    return fake_cuda.cudnn_cudart_version;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    switch (status) {
    case CUDNN_STATUS_SUCCESS:
        return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED:
        return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM:
        return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
        return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_INTERNAL_ERROR:
        return "CUDNN_STATUS_INTERNAL_ERROR";
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
        return "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED";
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
        return "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED";
    case CUDNN_STATUS_EXECUTION_FAILED:
        return "CUDNN_STATUS_EXECUTION_FAILED";
    case CUDNN_STATUS_EXECUTION_FAILED_CUDART:
        return "CUDNN_STATUS_EXECUTION_FAILED_CUDART";
    default:
        return "CUDNN_STATUS_UNKNOWN";
    }
}

/* Gives the latest violation, if there is one. */
void cudnnGetLastErrorString(char *message, size_t max_size)
{
    int n = fake_cuda_violations();
    const char *text = fake_cuda_violation(n > 0 ? n - 1 : 0);

    if (message && max_size > 0)
        snprintf(message, max_size, "%s", text ? text : "");
}

/* Makes a handle or descriptor; out is a pointer to it. */
static cudnnStatus_t create(const char *function, enum fake_kind kind, void *out)
{
    int code = fake_enter(function);
    struct fake_object *object = NULL;

    if (!code && !out)
        code = fake_wrong("nowhere to put it");
    if (!code && !(object = fake_object_new(kind)))
        code = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    if (!code)
        memcpy(out, &object, sizeof(void *));
    if (!code && kind == FAKE_CONVOLUTION)
        object->window.groups = 1;
    return fake_leave(code);
}

static cudnnStatus_t destroy(const char *function, enum fake_kind kind, const void *handle)
{
    int code = fake_enter(function), ended = fake_end(kind, handle);

    return fake_leave(code ? code : ended);
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    return create(__func__, FAKE_HANDLE, handle);
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    return destroy(__func__, FAKE_HANDLE, handle);
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    int code = fake_enter(__func__);
    struct fake_object *h = code ? NULL : fake_object(FAKE_HANDLE, handle);

    if (!code && (!h || !fake_stream(stream)))
        code = CUDNN_STATUS_BAD_PARAM;
    if (!code)
        h->handle_stream = stream;
    return fake_leave(code);
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t *stream)
{
    int code = fake_enter(__func__);
    struct fake_object *h = code ? NULL : fake_object(FAKE_HANDLE, handle);

    if (!code && (!h || !stream))
        code = h ? fake_wrong("nowhere to put the stream") : (int)CUDNN_STATUS_BAD_PARAM;
    if (!code)
        *stream = h->handle_stream;
    return fake_leave(code);
}

/* ---- Descriptors ---- */

#define DESCRIPTOR(name, kind)                                                                     \
    cudnnStatus_t cudnnCreate##name##Descriptor(cudnn##name##Descriptor_t *descriptor)             \
    {                                                                                              \
        return create(__func__, kind, descriptor);                                                 \
    }                                                                                              \
    cudnnStatus_t cudnnDestroy##name##Descriptor(cudnn##name##Descriptor_t descriptor)             \
    {                                                                                              \
        return destroy(__func__, kind, descriptor);                                                \
    }

DESCRIPTOR(Tensor, FAKE_TENSOR)
DESCRIPTOR(Filter, FAKE_FILTER)
DESCRIPTOR(Convolution, FAKE_CONVOLUTION)
DESCRIPTOR(Activation, FAKE_ACTIVATION)
DESCRIPTOR(Pooling, FAKE_POOLING)
DESCRIPTOR(LRN, FAKE_LRN)
DESCRIPTOR(OpTensor, FAKE_OP_TENSOR)
DESCRIPTOR(ReduceTensor, FAKE_REDUCTION)

/* Begins a function that sets a descriptor; null, and the code: it must not be set. */
static struct fake_object *setting(const char *function, enum fake_kind kind, const void *handle,
                                   int *code)
{
    struct fake_object *object;

    *code = fake_enter(function);
    object = *code ? NULL : fake_object(kind, handle);
    if (!object && !*code)
        *code = CUDNN_STATUS_BAD_PARAM;
    return object;
}

/* Ends such a function: the descriptor is set if no check failed. */
static cudnnStatus_t now_set(struct fake_object *object, int code)
{
    if (!code)
        object->set = true;
    return fake_leave(code);
}

/* Sets a tensor; strides is null for values without gaps. */
static int set_tensor(struct fake_tensor *t, cudnnDataType_t type, int n_dims, const int *dims,
                      const int *strides)
{
    int64_t n = 1, span = 1;

    if (type != CUDNN_DATA_FLOAT || n_dims < 3 || n_dims > CUDNN_DIM_MAX || !dims)
        return fake_wrong("data type %d, %d dimensions", (int)type, n_dims);
    *t = (struct fake_tensor){.n_dims = n_dims};
    for (int d = n_dims - 1; d >= 0; d--) {
        t->dim[d] = dims[d];
        t->stride[d] = strides ? strides[d] : (int)n;
        if (dims[d] < 1 || t->stride[d] < 1)
            return fake_wrong("dimension %d is %d, its stride %d", d, dims[d], t->stride[d]);
        n *= dims[d];
        span += (int64_t)(dims[d] - 1) * t->stride[d];
        if (n > INT32_MAX || span > INT32_MAX)
            return fake_wrong("more than 2^31 values");
    }
    return 0;
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type,
                                         int n_dims, const int dims[], const int strides[])
{
    int code;
    struct fake_object *object = setting(__func__, FAKE_TENSOR, descriptor, &code);

    if (!code && !strides)
        code = fake_wrong("no strides");
    if (!code)
        code = set_tensor(&object->tensor, type, n_dims, dims, strides);
    return now_set(object, code);
}

cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type,
                                           int n, int c, int h, int w, int n_stride, int c_stride,
                                           int h_stride, int w_stride)
{
    int code, dims[4] = {n, c, h, w}, strides[4] = {n_stride, c_stride, h_stride, w_stride};
    struct fake_object *object = setting(__func__, FAKE_TENSOR, descriptor, &code);

    if (!code)
        code = set_tensor(&object->tensor, type, 4, dims, strides);
    return now_set(object, code);
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t descriptor,
                                         cudnnTensorFormat_t format, cudnnDataType_t type, int n,
                                         int c, int h, int w)
{
    int code, dims[4] = {n, c, h, w};
    struct fake_object *object = setting(__func__, FAKE_TENSOR, descriptor, &code);

    if (!code && format != CUDNN_TENSOR_NCHW)
        code = fake_wrong("format %d", (int)format);
    if (!code)
        code = set_tensor(&object->tensor, type, 4, dims, NULL);
    return now_set(object, code);
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int n_dims, const int dims[])
{
    int code;
    struct fake_object *object = setting(__func__, FAKE_FILTER, descriptor, &code);

    if (!code && format != CUDNN_TENSOR_NCHW)
        code = fake_wrong("format %d", (int)format);
    if (!code)
        code = set_tensor(&object->tensor, type, n_dims, dims, NULL);
    return now_set(object, code);
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t descriptor, int n,
                                              const int pad[], const int stride[],
                                              const int dilation[], cudnnConvolutionMode_t mode,
                                              cudnnDataType_t type)
{
    int code;
    struct fake_object *object = setting(__func__, FAKE_CONVOLUTION, descriptor, &code);

    if (!code && (n < 2 || n > 3 || !pad || !stride || !dilation))
        code = fake_wrong("%d spatial dimensions, or a null pointer", n);
    if (!code && (mode != CUDNN_CROSS_CORRELATION || type != CUDNN_DATA_FLOAT))
        code = fake_wrong("mode %d, data type %d", (int)mode, (int)type);
    for (int d = 0; !code && d < n; d++) {
        if (pad[d] < 0 || stride[d] < 1 || dilation[d] < 1)
            code = fake_wrong("dimension %d: pad %d, stride %d, dilation %d", d, pad[d], stride[d],
                              dilation[d]);
        object->window.n = n;
        object->window.pad[d] = pad[d];
        object->window.stride[d] = stride[d];
        object->window.dilation[d] = dilation[d];
    }
    return now_set(object, code);
}

/* Alone it does not set a descriptor. */
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t descriptor, int groups)
{
    int code;
    struct fake_object *object = setting(__func__, FAKE_CONVOLUTION, descriptor, &code);

    if (!code && groups < 1)
        code = fake_wrong("%d groups", groups);
    if (!code)
        object->window.groups = groups;
    return fake_leave(code);
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor,
                                          cudnnMathType_t math)
{
    int code;

    setting(__func__, FAKE_CONVOLUTION, descriptor, &code);
    if (!code && (unsigned)math > CUDNN_FMA_MATH)
        code = fake_wrong("math type %d", (int)math);
    return fake_leave(code);
}

cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t descriptor,
                                          const cudnnPoolingMode_t mode,
                                          const cudnnNanPropagation_t nan, int n, const int size[],
                                          const int pad[], const int stride[])
{
    int code;
    struct fake_object *object = setting(__func__, FAKE_POOLING, descriptor, &code);

    if (!code && (n < 2 || n > 3 || !size || !pad || !stride ||
                  (unsigned)mode > CUDNN_POOLING_MAX_DETERMINISTIC))
        code = fake_wrong("mode %d, %d spatial dimensions, or a null pointer", (int)mode, n);
    for (int d = 0; !code && d < n; d++) {
        if (size[d] < 1 || pad[d] < 0 || stride[d] < 1 || pad[d] >= size[d])
            code = fake_wrong("dimension %d: size %d, pad %d, stride %d", d, size[d], pad[d],
                              stride[d]);
        object->window.n = n;
        object->window.size[d] = size[d];
        object->window.pad[d] = pad[d];
        object->window.stride[d] = stride[d];
        object->window.dilation[d] = 1;
    }
    if (!code) {
        object->window.mode = (int)mode;
        object->window.nan = (int)nan;
    }
    return now_set(object, code);
}

/* Sets a descriptor of a mode and numbers. */
static cudnnStatus_t set_scalar(const char *function, enum fake_kind kind, const void *descriptor,
                                bool good, int mode, const double *numbers)
{
    int code;
    struct fake_object *object = setting(function, kind, descriptor, &code);

    if (!code && !good)
        code = fake_wrong("mode %d with %g, %g, %g, %g", mode, numbers[0], numbers[1], numbers[2],
                          numbers[3]);
    if (!code) {
        object->scalar.mode = mode;
        memcpy(object->scalar.numbers, numbers, sizeof object->scalar.numbers);
    }
    return now_set(object, code);
}

cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t descriptor,
                                           cudnnActivationMode_t mode, cudnnNanPropagation_t nan,
                                           double coefficient)
{
    return set_scalar(__func__, FAKE_ACTIVATION, descriptor,
                      (unsigned)mode <= CUDNN_ACTIVATION_SWISH && (unsigned)nan <= 1, (int)mode,
                      (double[4]){coefficient, 1});
}

cudnnStatus_t cudnnSetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t descriptor,
                                                    double beta)
{
    int code;
    struct fake_object *object = setting(__func__, FAKE_ACTIVATION, descriptor, &code);

    if (!code && !object->set)
        code = fake_wrong("the descriptor has no mode yet");
    if (!code)
        object->scalar.numbers[1] = beta;
    return fake_leave(code);
}

cudnnStatus_t cudnnSetLRNDescriptor(cudnnLRNDescriptor_t descriptor, unsigned n, double alpha,
                                    double beta, double k)
{
    return set_scalar(__func__, FAKE_LRN, descriptor,
                      n >= CUDNN_LRN_MIN_N && n <= CUDNN_LRN_MAX_N && k >= CUDNN_LRN_MIN_K &&
                          beta >= CUDNN_LRN_MIN_BETA,
                      0, (double[4]){n, alpha, beta, k});
}

cudnnStatus_t cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t descriptor, cudnnOpTensorOp_t op,
                                         cudnnDataType_t type, cudnnNanPropagation_t nan)
{
    return set_scalar(__func__, FAKE_OP_TENSOR, descriptor,
                      (unsigned)op <= CUDNN_OP_TENSOR_NOT && type == CUDNN_DATA_FLOAT, (int)op,
                      (double[4]){nan});
}

cudnnStatus_t cudnnSetReduceTensorDescriptor(cudnnReduceTensorDescriptor_t descriptor,
                                             cudnnReduceTensorOp_t op, cudnnDataType_t type,
                                             cudnnNanPropagation_t nan,
                                             cudnnReduceTensorIndices_t indices,
                                             cudnnIndicesType_t indices_type)
{
    return set_scalar(__func__, FAKE_REDUCTION, descriptor,
                      (unsigned)op <= CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS &&
                          type == CUDNN_DATA_FLOAT && indices == CUDNN_REDUCE_TENSOR_NO_INDICES,
                      (int)op, (double[4]){nan, indices_type});
}
