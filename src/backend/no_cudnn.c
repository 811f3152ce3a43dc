/* Stands for the cudnn backend where it is not built. */
#include "backend/cudnn/cudnn.h"

#include "base/fail.h"

#include <stdio.h>

static const char why[] = "this vbslab was built without CUDA";

static void probe(struct vbs_backend_info *info)
{
    *info = (struct vbs_backend_info){0};
    snprintf(info->why, sizeof info->why, "%s", why);
}

static enum vbs_status open_session(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    const struct vbs_backend_options *options,
                                    struct vbs_session **session)
{
    (void)network, (void)options, (void)session;
    return vbs_fail(ctx, VBS_UNSUPPORTED, "%s", why);
}

const struct vbs_backend vbs_backend_cudnn = {
    .name = "cudnn",
    .summary = "layers on an NVIDIA GPU, by cuDNN",
    .device = true,
    .probe = probe,
    .open = open_session,
};
