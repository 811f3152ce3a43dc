/* Functions of CUDA and cuDNN that the tests of the fake use again and again. */
#ifndef TESTS_FAKE_CUDA_HELP_H
#define TESTS_FAKE_CUDA_HELP_H

#include "fake/cuda.h"
#include "support/tap.h"

#include <cudnn.h>

/* Allocates n floats on the device, with these values or as new. */
static inline float *on_device(const float *values, int n)
{
    void *device = NULL;

    if (cudaMalloc(&device, (size_t)n * sizeof *values) == cudaSuccess && values)
        cudaMemcpy(device, values, (size_t)n * sizeof *values, cudaMemcpyHostToDevice);
    return device;
}

static inline float *pinned(int n)
{
    void *host = NULL;

    cudaMallocHost(&host, (size_t)n * sizeof(float));
    return host;
}

static inline float from_device(const float *device, int i)
{
    float value = -1;

    cudaMemcpy(&value, device + i, sizeof value, cudaMemcpyDeviceToHost);
    return value;
}

static inline cudaStream_t new_stream(void)
{
    cudaStream_t stream = NULL;

    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    return stream;
}

static inline cudaEvent_t new_event(void)
{
    cudaEvent_t event = NULL;

    cudaEventCreate(&event);
    return event;
}

static inline cudnnHandle_t new_handle(cudaStream_t stream)
{
    cudnnHandle_t handle = NULL;

    cudnnCreate(&handle);
    cudnnSetStream(handle, stream);
    return handle;
}

/* Describes [N, C, ...] without gaps. */
static inline cudnnTensorDescriptor_t tensor(int n_dims, const int *dims)
{
    cudnnTensorDescriptor_t descriptor = NULL;
    int strides[8];

    for (int d = n_dims - 1, n = 1; d >= 0; n *= dims[d--])
        strides[d] = n;
    cudnnCreateTensorDescriptor(&descriptor);
    cudnnSetTensorNdDescriptor(descriptor, CUDNN_DATA_FLOAT, n_dims, dims, strides);
    return descriptor;
}

#define TENSOR(...)                                                                                \
    tensor((int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (const int[]){__VA_ARGS__})

static const float one = 1, none = 0;

#endif
