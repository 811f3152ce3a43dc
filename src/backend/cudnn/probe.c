/* The properties of the GPU, its driver and the libraries, as the machine reports them. */
#include "backend/cudnn/session.h"

#include <stdio.h>

/* Gives the major version. 13010 is 13.1, of both the runtime and the driver; cuDNN writes 91900
 * for 9.19.0. */
static int major_of(int cuda)
{
    return cuda / 1000;
}

static int minor_of(int cuda)
{
    return cuda % 1000 / 10;
}

static bool say_driver(const struct cu_api *api, char *why, size_t size)
{
    int driver = 0, runtime = 0;

    (void)api->cudaDriverGetVersion(&driver);
    (void)api->cudaRuntimeGetVersion(&runtime);
    if (driver == 0)
        snprintf(why, size, "no CUDA device: this machine has no NVIDIA driver");
    else
        snprintf(
            why, size,
            "no CUDA device: the driver is for CUDA %d.%d, older than the CUDA runtime (%d.%d)",
            major_of(driver), minor_of(driver), major_of(runtime), minor_of(runtime));
    return false;
}

/* Checks that the libraries have the major versions with which the program was built. */
static bool libraries_match(const struct cu_api *api, char *why, size_t size)
{
    int runtime = 0, major = (int)(api->cudnnGetVersion() / 10000);
    int cudart = (int)api->cudnnGetCudartVersion();

    if (major != CUDNN_MAJOR) {
        snprintf(why, size, "cuDNN %d is installed, vbslab was built with cuDNN %d", major,
                 CUDNN_MAJOR);
        return false;
    }
    (void)api->cudaRuntimeGetVersion(&runtime);
    if (major_of(runtime) != major_of(CUDART_VERSION)) {
        snprintf(why, size, "the CUDA runtime is %d.%d, vbslab was built with CUDA %d",
                 major_of(runtime), minor_of(runtime), major_of(CUDART_VERSION));
        return false;
    }
    if (major_of(cudart) != major_of(runtime)) {
        snprintf(why, size, "the installed cuDNN is for CUDA %d, the CUDA runtime is %d.%d",
                 major_of(cudart), major_of(runtime), minor_of(runtime));
        return false;
    }
    return true;
}

bool cu_usable(const struct cu_api *api, char *why, size_t size)
{
    int n = 0;
    cudaError_t error;

    if (!libraries_match(api, why, size))
        return false;
    error = api->cudaGetDeviceCount(&n); /* leaves n unchanged where it fails */
    if (error == cudaSuccess && n > 0)
        return true;
    (void)api->cudaGetLastError();
    if (error == cudaErrorInsufficientDriver)
        return say_driver(api, why, size);
    if (error == cudaSuccess || error == cudaErrorNoDevice)
        snprintf(why, size, "no CUDA device");
    else
        snprintf(why, size, "no CUDA device: %s (%d)", api->cudaGetErrorString(error), (int)error);
    return false;
}

void cu_describe_library(const struct cu_api *api, char *buffer, size_t size)
{
    int runtime = 0, cudnn = (int)api->cudnnGetVersion();

    (void)api->cudaRuntimeGetVersion(&runtime);
    snprintf(buffer, size, "cuDNN %d.%d.%d, CUDA %d.%d", cudnn / 10000, cudnn / 100 % 100,
             cudnn % 100, major_of(runtime), minor_of(runtime));
}

void cu_describe_device(const struct cu_api *api, char *buffer, size_t size)
{
    struct cudaDeviceProp properties;

    if (api->cudaGetDeviceProperties(&properties, 0) != cudaSuccess) {
        (void)api->cudaGetLastError();
        snprintf(buffer, size, "CUDA device 0");
        return;
    }
    snprintf(buffer, size, "%s, sm_%d%d, %.1f GiB", properties.name, properties.major,
             properties.minor, (double)properties.totalGlobalMem / 0x1p30);
}
