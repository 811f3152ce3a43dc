/* The cudnn backend: sessions on a GPU, by cuDNN and the CUDA runtime, in plain C. */
#include "backend/cudnn/cudnn.h"

#include "backend/cudnn/session.h"

static enum vbs_status init_session(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                    const struct vbs_backend_options *options)
{
    struct cu_build b = {
        .ctx = ctx, .session = (struct cu_session *)core, .network = core->network, .batch = 1};

    return cu_open(&b, options);
}

static enum vbs_status open_session(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    const struct vbs_backend_options *options,
                                    struct vbs_session **session)
{
    static const struct vbs_session_class class = {
        .ops = &cu_session_ops, .size = sizeof(struct cu_session), .init = init_session};

    return vbs_session_open(ctx, &class, network, options, session);
}

static void probe(struct vbs_backend_info *info)
{
    struct cu_api api;

    *info = (struct vbs_backend_info){.built = true};
    if (!cu_load(&api, NULL, NULL, info->why, sizeof info->why))
        return;
    cu_describe_library(&api, info->library, sizeof info->library);
    info->usable = cu_usable(&api, info->why, sizeof info->why);
    if (info->usable)
        cu_describe_device(&api, info->device, sizeof info->device);
}

const struct vbs_backend vbs_backend_cudnn = {
    .name = "cudnn",
    .summary = "layers on an NVIDIA GPU, by cuDNN",
    .device = true,
    .probe = probe,
    .open = open_session,
};
