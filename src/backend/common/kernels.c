/* The kernels of a session while it is opened: all of them, or those that are requested. */
#include "backend/common/common.h"

#include "base/fail.h"
#include "base/grow.h"

enum vbs_status vbs_kernel_append(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                  const struct vbs_kernel *kernel, void *own, size_t own_size)
{
    int64_t needed = (int64_t)core->session.n_kernels + 1;

    VBS_TRY(vbs_grow(ctx, &core->offers, &core->max_offers, needed, sizeof *core->offers));
    core->session.kernels = core->offers;
    VBS_TRY(vbs_grow(ctx, own, &core->max_own, needed, own_size));
    core->offers[core->session.n_kernels++] = *kernel;
    return VBS_OK;
}

static enum vbs_status make_layer(struct vbs_ctx *ctx, const struct vbs_session_core *core,
                                  const struct vbs_kernel_maker *maker, int layer, int batch,
                                  const struct vbs_requested *requested)
{
    if (vbs_cancelled(ctx))
        return vbs_fail(ctx, VBS_INTERRUPTED, "interrupted while preparing layer '%s'",
                        core->layers[layer].name);
    return maker->make(maker->build, layer, batch, requested);
}

static enum vbs_status make_requested(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                      const struct vbs_requested_kernel *kernel,
                                      const struct vbs_kernel_maker *maker)
{
    struct vbs_requested requested;
    bool in_slices = kernel->n_slices > 1;
    int first = core->session.n_kernels;

    VBS_TRY(vbs_requested_check(ctx, &core->session, kernel));
    requested = vbs_requested_read(kernel);
    VBS_TRY(make_layer(ctx, core, maker, kernel->layer, kernel->batch, &requested));
    if (!maker->keep(maker->build, first, kernel->algorithm))
        return vbs_requested_missing(ctx, &core->session, kernel);
    core->offers[first].slice = in_slices ? kernel->slice : 0;
    core->offers[first].n_slices = in_slices ? kernel->n_slices : 0;
    return VBS_OK;
}

/* Makes the kernels of a layer at a batch: all, or the only one that the options name. */
static enum vbs_status make_some(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                 const struct vbs_backend_options *options,
                                 const struct vbs_kernel_maker *maker, int layer, int batch)
{
    struct vbs_requested_kernel only = {.layer = layer, .batch = batch};

    if (options->only)
        only.algorithm = options->only(options->self, layer, batch);
    if (only.algorithm)
        return make_requested(ctx, core, &only, maker);
    return make_layer(ctx, core, maker, layer, batch, NULL);
}

static enum vbs_status make_all(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                const struct vbs_backend_options *options,
                                const struct vbs_kernel_maker *maker)
{
    int n_layers = core->session.n_layers;

    VBS_TRY(vbs_graph_check_kernels(ctx, n_layers, options->n_batches,
                                    (int64_t)n_layers * options->n_batches));
    for (int k = 1; k <= n_layers; k++)
        for (int i = 0; i < options->n_batches; i++)
            VBS_TRY(make_some(ctx, core, options, maker, k, options->batches[i]));
    return VBS_OK;
}

enum vbs_status vbs_kernels_make(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                 const struct vbs_backend_options *options,
                                 const struct vbs_kernel_maker *maker)
{
    if (!options->requested)
        return make_all(ctx, core, options, maker);
    for (int i = 0; i < options->n_requested; i++) {
        int same = vbs_requested_same(options->requested, i);

        if (same >= 0)
            VBS_TRY(maker->share(maker->build, same));
        else
            VBS_TRY(make_requested(ctx, core, &options->requested[i], maker));
    }
    return VBS_OK;
}
