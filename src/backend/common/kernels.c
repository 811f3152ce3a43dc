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

static enum vbs_status check_interrupted(struct vbs_ctx *ctx, const struct vbs_session_core *core,
                                         int layer)
{
    if (vbs_cancelled(ctx))
        return vbs_fail(ctx, VBS_INTERRUPTED, "interrupted while preparing layer '%s'",
                        core->layers[layer].name);
    return VBS_OK;
}

static enum vbs_status make_layer(struct vbs_ctx *ctx, const struct vbs_session_core *core,
                                  const struct vbs_kernel_maker *maker, int layer, int batch,
                                  const struct vbs_requested *requested)
{
    VBS_TRY(check_interrupted(ctx, core, layer));
    return maker->make(maker->build, layer, batch, requested);
}

static enum vbs_status make_requested(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                      const struct vbs_requested_kernel *kernel,
                                      const struct vbs_kernel_maker *maker)
{
    struct vbs_requested requested;
    bool in_slices = kernel->n_slices > 1, by_rows;
    int first = core->session.n_kernels;

    VBS_TRY(vbs_requested_check(ctx, &core->session, kernel));
    requested = vbs_requested_read(kernel);
    /* All rows are whole samples. */
    by_rows = kernel->rows > 0 && kernel->rows < core->layers[kernel->layer].rows;
    if (!by_rows) {
        VBS_TRY(make_layer(ctx, core, maker, kernel->layer, kernel->batch, &requested));
    } else {
        VBS_TRY(check_interrupted(ctx, core, kernel->layer));
        VBS_TRY(
            maker->make_rows(maker->build, kernel->layer, kernel->row, kernel->rows, &requested));
    }
    if (!maker->keep(maker->build, first, kernel->algorithm))
        return vbs_requested_missing(ctx, &core->session, kernel);
    core->offers[first].rows = by_rows ? kernel->rows : 0;
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

/* Makes the kernels of a layer on 1, 2, 4, ... rows of one sample: in the middle, where both sides
 * reach into the input, if there is such a place. */
static enum vbs_status make_stripes(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                    const struct vbs_kernel_maker *maker, int layer)
{
    int all = core->layers[layer].rows;

    for (int64_t n = 1; core->layers[layer].reaches && n < all; n *= 2) {
        int first = core->session.n_kernels;

        VBS_TRY(check_interrupted(ctx, core, layer));
        VBS_TRY(maker->make_rows(maker->build, layer, (int)(all / n / 2 * n), (int)n, NULL));
        for (int i = first; i < core->session.n_kernels; i++) {
            core->offers[i].rows = (int)n;
            core->offers[i].row_slices = 1;
        }
    }
    return VBS_OK;
}

static enum vbs_status make_all(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                const struct vbs_backend_options *options,
                                const struct vbs_kernel_maker *maker)
{
    int n_layers = core->session.n_layers;

    VBS_TRY(vbs_graph_check_kernels(ctx, n_layers, options->n_batches,
                                    (int64_t)n_layers * options->n_batches));
    for (int k = 1; k <= n_layers; k++) {
        for (int i = 0; i < options->n_batches; i++)
            VBS_TRY(make_some(ctx, core, options, maker, k, options->batches[i]));
        if (options->stripes)
            VBS_TRY(make_stripes(ctx, core, maker, k));
    }
    return VBS_OK;
}

enum vbs_status vbs_kernels_make(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                 const struct vbs_backend_options *options,
                                 const struct vbs_kernel_maker *maker)
{
    if (options->stripes && !maker->make_rows)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "this backend has no kernels on rows of a sample");
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
