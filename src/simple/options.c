#include "simple/internal.h"

#include "base/fail.h"
#include "base/options.h"

#define MAX_THREADS 4096

enum vbs_status vbs_simple_read_options(struct vbs_ctx *ctx,
                                        const struct vbs_simple_options *options,
                                        struct vbs_simple_options *own)
{
    VBS_TRY(vbs_options_read(ctx, "vbs_simple_options", options, own, sizeof *own));
    if (own->threads < 0 || own->threads > MAX_THREADS)
        return vbs_fail(ctx, VBS_USAGE,
                        "%d threads; 1 to %d are possible, 0 stands for the default", own->threads,
                        MAX_THREADS);
    if (own->io != VBS_IO_EXTERNAL && own->io != VBS_IO_RESIDENT)
        return vbs_fail(ctx, VBS_USAGE, "io is %d, which is no value of enum vbs_io", (int)own->io);
    if (own->weights != VBS_WEIGHTS_EXCLUDED && own->weights != VBS_WEIGHTS_INCLUDED)
        return vbs_fail(ctx, VBS_USAGE, "weights is %d, which is no value of enum vbs_weights",
                        (int)own->weights);
    return VBS_OK;
}

enum vbs_status vbs_simple_find_backend(struct vbs_ctx *ctx, const char *name,
                                        const struct vbs_backend **backend)
{
    struct vbs_backend_info info;
    const struct vbs_backend *found;

    VBS_TRY(vbs_backend_find(ctx, name && name[0] ? name : vbs_backend_at(0)->name, &found));
    found->probe(&info);
    if (!info.built || !info.usable)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "backend '%s' cannot be used here: %s", found->name,
                        info.why);
    *backend = found;
    return VBS_OK;
}
