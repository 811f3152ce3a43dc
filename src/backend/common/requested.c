#include "backend/common/common.h"

#include "base/fail.h"
#include "vbslab/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vbs_requested vbs_requested_read(const struct vbs_requested_kernel *kernel)
{
    struct vbs_requested requested = {.slice = kernel->slice, .n_slices = kernel->n_slices};
    const char *slash = strrchr(kernel->algorithm, '/');
    size_t length = strlen(kernel->algorithm);
    char *end = NULL;
    long n = slash ? strtol(slash + 1, &end, 10) : 0;

    if (slash && end > slash + 1 && *end == '\0' && n > 1 && n <= VBS_MAX_ROW_SLICES) {
        requested.row_slices = (int)n;
        length = (size_t)(slash - kernel->algorithm);
    }
    snprintf(requested.name, sizeof requested.name, "%.*s",
             (int)(length < sizeof requested.name ? length : sizeof requested.name),
             kernel->algorithm);
    return requested;
}

static enum vbs_status check_rows(struct vbs_ctx *ctx, const struct vbs_profile_layer *layer,
                                  const struct vbs_requested_kernel *requested)
{
    if (!layer->reaches)
        return vbs_fail(ctx, VBS_INVALID, "layer '%s' (%s) has no kernels on rows", layer->name,
                        layer->kind);
    if (requested->batch != 1)
        return vbs_fail(ctx, VBS_INVALID,
                        "layer '%s': kernels on rows are of one sample, not of a batch of %d",
                        layer->name, requested->batch);
    if (requested->n_slices > 1)
        return vbs_fail(ctx, VBS_INVALID, "layer '%s': slices have no kernels on rows",
                        layer->name);
    if (requested->rows < 0 || requested->row < 0 || requested->row > layer->rows - requested->rows)
        return vbs_fail(ctx, VBS_INVALID, "layer '%s': there are no rows %d to %lld of %d",
                        layer->name, requested->row,
                        (long long)requested->row + requested->rows - 1, layer->rows);
    return VBS_OK;
}

enum vbs_status vbs_requested_check(struct vbs_ctx *ctx, const struct vbs_session *session,
                                    const struct vbs_requested_kernel *requested)
{
    const struct vbs_profile_layer *layer;

    if (requested->layer < 1 || requested->layer > session->n_layers)
        return vbs_fail(ctx, VBS_INVALID, "the network has no layer %d", requested->layer);
    layer = &session->layers[requested->layer];
    if (requested->batch < 1 || requested->batch > VBS_MAX_BATCH)
        return vbs_fail(ctx, VBS_INVALID, "layer '%s': there is no batch %d", layer->name,
                        requested->batch);
    if (requested->n_slices > 1 &&
        (requested->slice < 1 || requested->slice > requested->n_slices ||
         requested->n_slices > layer->channels))
        return vbs_fail(ctx, VBS_INVALID, "layer '%s': there is no slice %d of %d", layer->name,
                        requested->slice, requested->n_slices);
    return requested->rows != 0 ? check_rows(ctx, layer, requested) : VBS_OK;
}

int vbs_requested_same(const struct vbs_requested_kernel *requested, int index)
{
    const struct vbs_requested_kernel *w = &requested[index];

    for (int i = index - 1; i >= 0; i--)
        if (requested[i].layer == w->layer && requested[i].batch == w->batch &&
            requested[i].n_slices == w->n_slices && requested[i].rows == w->rows &&
            requested[i].row == w->row && (w->n_slices <= 1 || requested[i].slice == w->slice) &&
            strcmp(requested[i].algorithm, w->algorithm) == 0)
            return i;
    return -1;
}

enum vbs_status vbs_requested_missing(struct vbs_ctx *ctx, const struct vbs_session *session,
                                      const struct vbs_requested_kernel *requested)
{
    return vbs_fail(ctx, VBS_NOT_FOUND,
                    "layer '%s': no algorithm '%s' at batch %d%s on this machine (%s)",
                    session->layers[requested->layer].name, requested->algorithm, requested->batch,
                    requested->n_slices > 1 ? " in these slices"
                    : requested->rows > 0   ? " on so many rows"
                                            : "",
                    session->provenance.library);
}
