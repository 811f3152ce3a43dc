/* The onednn backend: layers on the processor by oneDNN 2.6 or a later 2.x. */
#include "backend/onednn/onednn.h"

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/training/training.h"

#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>

static void probe(struct vbs_backend_info *info)
{
    *info = (struct vbs_backend_info){.built = true};
    od_describe_library(info->library, sizeof info->library);
    od_describe_device(info->device, sizeof info->device);
    info->usable = dnnl_engine_get_count(dnnl_cpu) > 0;
    if (!info->usable)
        snprintf(info->why, sizeof info->why, "this build of oneDNN has no engine for processors");
}

/* ---- opening ---- */

static enum vbs_status init_session(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                    const struct vbs_backend_options *options)
{
    struct od_session *s = (struct od_session *)core;
    struct od_build b = {.ctx = ctx, .session = s, .network = core->network, .batch = 1};
    struct od_threads before;
    enum vbs_status status;

    VBS_TRY(od_threads_choose(ctx, options->threads, &s->threads));
    before = od_threads_set(s->threads);
    status = od_open(&b, options);
    od_threads_restore(before);
    free(b.plain);
    return status;
}

static enum vbs_status open_session(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    const struct vbs_backend_options *options,
                                    struct vbs_session **session)
{
    static const struct vbs_session_class class = {
        .ops = &od_session_ops, .size = sizeof(struct od_session), .init = init_session};

    return vbs_session_open(ctx, &class, network, options, session);
}

const struct vbs_backend vbs_backend_onednn = {
    .name = "onednn",
    .summary = "layers on this machine's processor, by oneDNN",
    .probe = probe,
    .open = open_session,
    .open_training = od_training_open,
};
