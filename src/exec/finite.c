/* Looking for numbers that are not finite in what a kernel has written. */
#include "exec/finite.h"

#include "base/fail.h"

#include <math.h>

enum vbs_status vbs_exec_finite_able(struct vbs_ctx *ctx, const struct vbs_network *network,
                                     const struct vbs_session *session)
{
    if (session->ops->device)
        return vbs_fail(ctx, VBS_UNSUPPORTED,
                        "numbers are looked at in the arena, which is on a device here");
    for (int k = 0; k <= network->n_layers; k++)
        if (network->layers[k].encoding.storage != VBS_FLOAT32)
            return vbs_fail(ctx, VBS_UNSUPPORTED,
                            "layer %d '%.100s' is not stored as floats, which can be looked at", k,
                            network->layers[k].name ? network->layers[k].name : "");
    return VBS_OK;
}

/* Returns the floats that the kernel writes. */
static int64_t floats_of(const struct vbs_session *session, const struct vbs_kernel *kernel)
{
    const struct vbs_profile_layer *layer = &session->layers[kernel->layer];
    int64_t bytes = layer->out_bytes;

    if (kernel->rows > 0 && layer->rows > 0)
        bytes = bytes / layer->rows * kernel->rows;
    return kernel->batch * bytes / (int64_t)sizeof(float);
}

enum vbs_status vbs_exec_finite_look(struct vbs_ctx *ctx, const struct vbs_session *session,
                                     int kernel, const void *output)
{
    const struct vbs_kernel *k = &session->kernels[kernel];
    const float *values = output;
    int64_t n = floats_of(session, k), n_nans = 0, n_infinite = 0;

    if (k->n_slices > 1 && k->slice < k->n_slices)
        return VBS_OK;
    for (int64_t i = 0; i < n; i++) {
        n_nans += isnan(values[i]) != 0;
        n_infinite += isinf(values[i]) != 0;
    }
    if (n_nans + n_infinite == 0)
        return VBS_OK;
    return vbs_fail(ctx, VBS_LIBRARY,
                    "layer %d '%.100s' is the first one with numbers that are not finite: of %lld "
                    "values at batch %d, %lld are no numbers and %lld are infinite",
                    k->layer, session->layers[k->layer].name, (long long)n, k->batch,
                    (long long)n_nans, (long long)n_infinite);
}
