#include "backend/common/wanted.h"

#include "base/fail.h"
#include "vbslab/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vbs_wanted vbs_wanted_read(const struct vbs_wanted_kernel *kernel)
{
    struct vbs_wanted wanted = {.part = kernel->part, .parts = kernel->parts};
    const char *slash = strrchr(kernel->algorithm, '/');
    size_t length = strlen(kernel->algorithm);
    char *end = NULL;
    long n = slash ? strtol(slash + 1, &end, 10) : 0;

    if (slash && end > slash + 1 && *end == '\0' && n > 1 && n <= VBS_MAX_ROW_PARTS) {
        wanted.measured = (int)n;
        length = (size_t)(slash - kernel->algorithm);
    }
    snprintf(wanted.name, sizeof wanted.name, "%.*s",
             (int)(length < sizeof wanted.name ? length : sizeof wanted.name), kernel->algorithm);
    return wanted;
}

enum vbs_status vbs_wanted_check(struct vbs_ctx *ctx, const struct vbs_session *session,
                                 const struct vbs_wanted_kernel *wanted)
{
    const struct vbs_profile_layer *layer;

    if (wanted->layer < 1 || wanted->layer > session->n_layers)
        return vbs_fail(ctx, VBS_INVALID, "the network has no layer %d", wanted->layer);
    layer = &session->layers[wanted->layer];
    if (wanted->batch < 1 || wanted->batch > VBS_MAX_BATCH)
        return vbs_fail(ctx, VBS_INVALID, "layer '%s': there is no batch %d", layer->name,
                        wanted->batch);
    if (wanted->parts > 1 &&
        (wanted->part < 1 || wanted->part > wanted->parts || wanted->parts > layer->channels))
        return vbs_fail(ctx, VBS_INVALID, "layer '%s': there is no part %d of %d", layer->name,
                        wanted->part, wanted->parts);
    return VBS_OK;
}

int vbs_wanted_same(const struct vbs_wanted_kernel *wanted, int index)
{
    const struct vbs_wanted_kernel *w = &wanted[index];

    for (int i = index - 1; i >= 0; i--)
        if (wanted[i].layer == w->layer && wanted[i].batch == w->batch &&
            wanted[i].parts == w->parts && (w->parts <= 1 || wanted[i].part == w->part) &&
            strcmp(wanted[i].algorithm, w->algorithm) == 0)
            return i;
    return -1;
}

enum vbs_status vbs_wanted_missing(struct vbs_ctx *ctx, const struct vbs_session *session,
                                   const struct vbs_wanted_kernel *wanted)
{
    return vbs_fail(ctx, VBS_NOT_FOUND,
                    "layer '%s': no algorithm '%s' at batch %d%s on this machine (%s)",
                    session->layers[wanted->layer].name, wanted->algorithm, wanted->batch,
                    wanted->parts > 1 ? " in these parts" : "", session->circumstances.library);
}
