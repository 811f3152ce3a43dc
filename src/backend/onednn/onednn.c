/* The onednn backend: layers on the processor by oneDNN 2.6 or a later 2.x. */
#include "backend/onednn/onednn.h"

#include "backend/onednn/kernels/kernels.h"

#include "base/fail.h"
#include "base/options.h"

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

static enum vbs_status open_session(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    const struct vbs_backend_options *options,
                                    struct vbs_session **session)
{
    struct od_session *s;
    struct od_build b = {.ctx = ctx, .network = network, .batch = 1};
    struct vbs_backend_options own;
    struct od_threads before;
    enum vbs_status status;

    VBS_TRY(vbs_options_read(ctx, "vbs_backend_options", options, &own, sizeof own));
    options = &own;
    s = calloc(1, sizeof *s);
    if (!s)
        return vbs_no_memory(ctx);
    b.session = s;
    s->base.ops = &od_session_ops;
    s->network = network;
    s->weights_given = options->weights_given;
    status = od_threads_choose(ctx, options->threads, &s->threads);
    if (status == VBS_OK) {
        before = od_threads_set(s->threads);
        status = od_open(&b, options);
        od_threads_restore(before);
    }
    free(b.plain);
    if (status != VBS_OK) {
        od_session_ops.close(&s->base);
        return status;
    }
    *session = &s->base;
    return VBS_OK;
}

const struct vbs_backend vbs_backend_onednn = {
    .name = "onednn",
    .summary = "layers on this machine's processor, by oneDNN",
    .probe = probe,
    .open = open_session,
};
