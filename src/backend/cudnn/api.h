/*
 * The functions of the CUDA runtime and of cuDNN that this folder calls, as a table that is filled
 * when the libraries are loaded. So a program with this backend is linked with neither library, and
 * starts where they are not installed.
 */
#ifndef VBS_BACKEND_CUDNN_API_H
#define VBS_BACKEND_CUDNN_API_H

#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <stdbool.h>
#include <stddef.h>

/* X(function): the functions, each by the name under which the headers declare it. */
#define CU_RUNTIME_LIST(X)                                                                         \
    X(cudaDeviceGetAttribute)                                                                      \
    X(cudaDeviceSynchronize)                                                                       \
    X(cudaDriverGetVersion)                                                                        \
    X(cudaEventCreate)                                                                             \
    X(cudaEventCreateWithFlags)                                                                    \
    X(cudaEventDestroy)                                                                            \
    X(cudaEventElapsedTime)                                                                        \
    X(cudaEventRecord)                                                                             \
    X(cudaEventSynchronize)                                                                        \
    X(cudaFree)                                                                                    \
    X(cudaFreeHost)                                                                                \
    X(cudaGetDeviceCount)                                                                          \
    X(cudaGetDeviceProperties)                                                                     \
    X(cudaGetErrorString)                                                                          \
    X(cudaGetLastError)                                                                            \
    X(cudaGraphDestroy)                                                                            \
    X(cudaGraphExecDestroy)                                                                        \
    X(cudaGraphInstantiate)                                                                        \
    X(cudaGraphLaunch)                                                                             \
    X(cudaLaunchHostFunc)                                                                          \
    X(cudaMalloc)                                                                                  \
    X(cudaMallocHost)                                                                              \
    X(cudaMemGetInfo)                                                                              \
    X(cudaMemcpy)                                                                                  \
    X(cudaMemcpy2DAsync)                                                                           \
    X(cudaMemcpyAsync)                                                                             \
    X(cudaRuntimeGetVersion)                                                                       \
    X(cudaStreamBeginCapture)                                                                      \
    X(cudaStreamCreate)                                                                            \
    X(cudaStreamCreateWithFlags)                                                                   \
    X(cudaStreamDestroy)                                                                           \
    X(cudaStreamEndCapture)                                                                        \
    X(cudaStreamSynchronize)                                                                       \
    X(cudaStreamWaitEvent)

#define CU_CUDNN_LIST(X)                                                                           \
    X(cudnnActivationForward)                                                                      \
    X(cudnnAddTensor)                                                                              \
    X(cudnnConvolutionBackwardData)                                                                \
    X(cudnnConvolutionBiasActivationForward)                                                       \
    X(cudnnConvolutionForward)                                                                     \
    X(cudnnCreate)                                                                                 \
    X(cudnnCreateActivationDescriptor)                                                             \
    X(cudnnCreateConvolutionDescriptor)                                                            \
    X(cudnnCreateFilterDescriptor)                                                                 \
    X(cudnnCreateLRNDescriptor)                                                                    \
    X(cudnnCreateOpTensorDescriptor)                                                               \
    X(cudnnCreatePoolingDescriptor)                                                                \
    X(cudnnCreateReduceTensorDescriptor)                                                           \
    X(cudnnCreateTensorDescriptor)                                                                 \
    X(cudnnDestroy)                                                                                \
    X(cudnnDestroyActivationDescriptor)                                                            \
    X(cudnnDestroyConvolutionDescriptor)                                                           \
    X(cudnnDestroyFilterDescriptor)                                                                \
    X(cudnnDestroyLRNDescriptor)                                                                   \
    X(cudnnDestroyOpTensorDescriptor)                                                              \
    X(cudnnDestroyPoolingDescriptor)                                                               \
    X(cudnnDestroyReduceTensorDescriptor)                                                          \
    X(cudnnDestroyTensorDescriptor)                                                                \
    X(cudnnGetConvolutionBackwardDataWorkspaceSize)                                                \
    X(cudnnGetConvolutionForwardWorkspaceSize)                                                     \
    X(cudnnGetCudartVersion)                                                                       \
    X(cudnnGetErrorString)                                                                         \
    X(cudnnGetReductionWorkspaceSize)                                                              \
    X(cudnnGetVersion)                                                                             \
    X(cudnnLRNCrossChannelForward)                                                                 \
    X(cudnnOpTensor)                                                                               \
    X(cudnnPoolingForward)                                                                         \
    X(cudnnReduceTensor)                                                                           \
    X(cudnnSetActivationDescriptor)                                                                \
    X(cudnnSetActivationDescriptorSwishBeta)                                                       \
    X(cudnnSetConvolutionGroupCount)                                                               \
    X(cudnnSetConvolutionMathType)                                                                 \
    X(cudnnSetConvolutionNdDescriptor)                                                             \
    X(cudnnSetFilterNdDescriptor)                                                                  \
    X(cudnnSetLRNDescriptor)                                                                       \
    X(cudnnSetOpTensorDescriptor)                                                                  \
    X(cudnnSetPoolingNdDescriptor)                                                                 \
    X(cudnnSetReduceTensorDescriptor)                                                              \
    X(cudnnSetStream)                                                                              \
    X(cudnnSetTensor)                                                                              \
    X(cudnnSetTensorNdDescriptor)                                                                  \
    X(cudnnSoftmaxForward)                                                                         \
    X(cudnnTransformTensor)

/* Each member has the name of its function and a pointer to the type of its declaration. */
struct cu_api {
#define CU_MEMBER(function) __typeof__(function) *function;
    CU_RUNTIME_LIST(CU_MEMBER)
    CU_CUDNN_LIST(CU_MEMBER)
#undef CU_MEMBER
};

/*
 * Loads the libraries, which then stay in the process, and finds all functions in them. cudart,
 * cudnn: a name that the dynamic linker looks for, or a path; null: the name of the version with
 * whose headers this file was compiled, such as libcudnn.so.9. False: *api is unchanged, and why
 * says in one line which library or function is missing. Threads may call it at the same time.
 */
bool cu_load(struct cu_api *api, const char *cudart, const char *cudnn, char *why, size_t size);

#endif
