#include "fake/cuda_common.h"

#include <stdio.h>
#include <string.h>

cudaError_t cudaGetDeviceCount(int *count)
{
    int code = fake_enter(__func__);

    if (!code && !count)
        code = fake_wrong("nowhere to put the count");
    if (!code)
        *count = fake_cuda.n_devices;
    return fake_leave(code);
}

static int no_device(int device)
{
    return device < 0 || device >= fake_cuda.n_devices ? (int)cudaErrorInvalidDevice : 0;
}

cudaError_t cudaSetDevice(int device)
{
    int code = fake_enter(__func__);

    if (!code)
        code = no_device(device);
    if (!code)
        fake_thread.device = device;
    return fake_leave(code);
}

cudaError_t cudaGetDevice(int *device)
{
    int code = fake_enter(__func__);

    if (!code && !device)
        code = fake_wrong("nowhere to put the device");
    if (!code)
        *device = fake_thread.device;
    return fake_leave(code);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    int code = fake_enter(__func__);

    if (!code && !properties)
        code = fake_wrong("nowhere to put the properties");
    if (!code)
        code = no_device(device);
    if (!code) {
        memset(properties, 0, sizeof *properties);
        snprintf(properties->name, sizeof properties->name, "fake device %d", device);
        memset(&properties->uuid, 0x10 + device, sizeof properties->uuid);
        properties->totalGlobalMem = fake_cuda.total_bytes;
        properties->major = fake_cuda.major;
        properties->minor = fake_cuda.minor;
        properties->multiProcessorCount = fake_cuda.n_multiprocessors;
        properties->asyncEngineCount = 2;
        properties->pciBusID = device + 1;
    }
    return fake_leave(code);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    int code = fake_enter(__func__);

    if (!code && !value)
        code = fake_wrong("nowhere to put the value");
    if (!code)
        code = no_device(device);
    if (!code)
        *value = attribute == cudaDevAttrComputeCapabilityMajor   ? fake_cuda.major
                 : attribute == cudaDevAttrComputeCapabilityMinor ? fake_cuda.minor
                 : attribute == cudaDevAttrClockRate              ? fake_cuda.clock_khz
                 : attribute == cudaDevAttrMultiProcessorCount    ? fake_cuda.n_multiprocessors
                                                                  : 0;
    return fake_leave(code);
}

cudaError_t cudaDriverGetVersion(int *version)
{
    int code = fake_enter(__func__);

    if (!code && !version)
        code = fake_wrong("nowhere to put the version");
    if (!code)
        *version = fake_cuda.driver_version;
    return fake_leave(code);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    int code = fake_enter(__func__);

    if (!code && !version)
        code = fake_wrong("nowhere to put the version");
    if (!code)
        *version = fake_cuda.runtime_version;
    return fake_leave(code);
}

/* ---- Errors ---- */

static const struct {
    cudaError_t code;
    const char *name, *text;
} error_texts[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const char *cudaGetErrorString(cudaError_t error)
{
    for (size_t i = 0; i < sizeof error_texts / sizeof error_texts[0]; i++) {
        if (error_texts[i].code == error)
            return error_texts[i].text;
    }
    return "unrecognized error code";
}

const char *cudaGetErrorName(cudaError_t error)
{
    for (size_t i = 0; i < sizeof error_texts / sizeof error_texts[0]; i++) {
        if (error_texts[i].code == error)
            return error_texts[i].name;
    }
    return "unrecognized error code";
}

/* The error of a lost device cannot be cleared. */
static cudaError_t last_error(const char *function, bool forgets)
{
    int code;

    fake_note(function);
    code = fake_lost() ? fake_lost() : fake_thread.last_error;
    if (forgets)
        fake_thread.last_error = 0;
    pthread_mutex_unlock(&fake_lock);
    return (cudaError_t)code;
}

cudaError_t cudaGetLastError(void)
{
    return last_error(__func__, true);
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error(__func__, false);
}
