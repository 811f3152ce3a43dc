/* The meaning of failed calls, and of cases that the backend does not support. */
#include "backend/cudnn/session.h"

#include "base/fail.h"

static enum vbs_status say(struct vbs_ctx *ctx, enum vbs_status status, const char *layer,
                           const char *library, const char *doing, const char *what, int code)
{
    if (status == VBS_NO_MEMORY)
        return vbs_fail(ctx, status, "%s%s%s: the GPU is out of memory (%s)", layer ? layer : "",
                        layer ? ": " : "", doing, what);
    return vbs_fail(ctx, status, "%s%s%s: %s failed: %s (%d)", layer ? layer : "",
                    layer ? ": " : "", doing, library, what, code);
}

enum vbs_status cu_fail_cuda(struct vbs_ctx *ctx, const struct cu_session *s, const char *layer,
                             cudaError_t error, const char *doing)
{
    enum vbs_status status = error == cudaErrorMemoryAllocation ? VBS_NO_MEMORY : VBS_LIBRARY;
    const char *what = s->api.cudaGetErrorString(error);

    (void)s->api.cudaGetLastError(); /* clears an error that is not permanent */
    return say(ctx, status, layer, "CUDA", doing, what, (int)error);
}

bool cu_is_of_memory(cudnnStatus_t said)
{
    return said == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
           said == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
}

enum vbs_status cu_fail(struct vbs_ctx *ctx, const struct cu_session *s, const char *layer,
                        cudnnStatus_t status, const char *doing)
{
    cudaError_t error = s->api.cudaDeviceSynchronize(); /* cuDNN has a runtime of its own */
    bool memory = cu_is_of_memory(status);

    if (error != cudaSuccess)
        return cu_fail_cuda(ctx, s, layer, error, doing);
    return say(ctx, memory ? VBS_NO_MEMORY : VBS_LIBRARY, layer, "cuDNN", doing,
               s->api.cudnnGetErrorString(status), (int)status);
}

bool cu_declines(cudnnStatus_t said)
{
    bool unable = said == CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER ||
                  said == CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART ||
                  said == CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE;

    return said >= CUDNN_STATUS_BAD_PARAM && said < CUDNN_STATUS_INTERNAL_ERROR && !unable;
}

enum vbs_status cu_unsupported(const struct cu_build *b, const char *what)
{
    return vbs_fail(b->ctx, VBS_UNSUPPORTED, "layer '%s': the cudnn backend has no %s", b->l->name,
                    what);
}

enum vbs_status cu_refuse(const struct cu_build *b, cudnnStatus_t said, const char *what)
{
    return cu_declines(said) ? cu_unsupported(b, what)
                             : cu_fail(b->ctx, b->session, b->l->name, said, what);
}
