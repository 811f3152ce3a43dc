/* The cudnn backend: sessions on a GPU, by cuDNN and the CUDA runtime, in plain C. */
#include "backend/cudnn/cudnn.h"

#include "backend/cudnn/session.h"
#include "base/fail.h"
#include "base/options.h"

#include <stdlib.h>

static enum vbs_status open_session(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    const struct vbs_backend_options *options,
                                    struct vbs_session **session)
{
    struct cu_session *s;
    struct cu_build b = {.ctx = ctx, .network = network, .batch = 1};
    struct vbs_backend_options own;
    enum vbs_status status;

    VBS_TRY(vbs_options_read(ctx, "vbs_backend_options", options, &own, sizeof own));
    options = &own;
    s = calloc(1, sizeof *s);
    if (!s)
        return vbs_no_memory(ctx);
    b.session = s;
    s->base.ops = &cu_session_ops;
    s->network = network;
    s->weights_given = options->weights_given;
    status = cu_open(&b, options);
    if (status != VBS_OK) {
        cu_session_ops.close(&s->base);
        return status;
    }
    *session = &s->base;
    return VBS_OK;
}

static void probe(struct vbs_backend_info *info)
{
    *info = (struct vbs_backend_info){.built = true};
    cu_describe_library(info->library, sizeof info->library);
    info->usable = cu_usable(info->why, sizeof info->why);
    if (info->usable)
        cu_describe_device(info->device, sizeof info->device);
}

const struct vbs_backend vbs_backend_cudnn = {
    .name = "cudnn",
    .summary = "layers on an NVIDIA GPU, by cuDNN",
    .device = true,
    .probe = probe,
    .open = open_session,
};
