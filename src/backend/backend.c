#include "backend/analytic.h"
#include "backend/cudnn/cudnn.h"
#include "backend/onednn/onednn.h"

#include "base/fail.h"
#include "base/text.h"
#include "vbslab/coded.h"

#include <stddef.h>
#include <string.h>

static const struct vbs_backend *const table[] = {
    &vbs_backend_onednn,
    &vbs_backend_cudnn,
    &vbs_backend_analytic,
};

#define N_BACKENDS ((int)(sizeof table / sizeof table[0]))

const struct vbs_backend *vbs_backend_at(int index)
{
    return index >= 0 && index < N_BACKENDS ? table[index] : NULL;
}

bool vbs_algorithm_is_coded(const char *algorithm)
{
    for (int c = 0; c < VBS_N_CODINGS; c++) {
        const char *name = vbs_coding_name((enum vbs_coding)c);
        size_t length = strlen(name);

        if (strncmp(algorithm, name, length) == 0 && algorithm[length] == ':')
            return true;
    }
    return false;
}

static int64_t least_of_layer(const struct vbs_profile *profile, int layer)
{
    int64_t least = profile->layers[layer].weight_bytes;

    for (int i = 0; i < profile->n_batches; i++) {
        int n_rows;
        const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, i, &n_rows);

        for (int r = 0; r < n_rows; r++)
            if (rows[r].weight_bytes < least &&
                vbs_algorithm_is_coded(profile->algorithms[rows[r].algorithm]))
                least = rows[r].weight_bytes;
    }
    return least;
}

int64_t vbs_least_weight_bytes(const struct vbs_profile *profile)
{
    int64_t bytes = 0;

    for (int k = 1; k <= profile->n_layers; k++)
        bytes += least_of_layer(profile, k);
    return bytes;
}

const struct vbs_backend *vbs_provenance_device(const struct vbs_provenance *provenance)
{
    for (int i = 0; provenance->backend && i < N_BACKENDS; i++)
        if (table[i]->device && strcmp(provenance->backend, table[i]->name) == 0)
            return table[i];
    return NULL;
}

bool vbs_provenance_modelled(const struct vbs_provenance *provenance)
{
    if (vbs_provenance_predicted(provenance))
        return true;
    for (int i = 0; provenance->backend && i < N_BACKENDS; i++)
        if (strcmp(provenance->backend, table[i]->name) == 0)
            return table[i]->modelled;
    return false;
}

enum vbs_status vbs_backend_find(struct vbs_ctx *ctx, const char *name,
                                 const struct vbs_backend **backend)
{
    const char *names[N_BACKENDS];
    const char *nearest;

    for (int i = 0; i < N_BACKENDS; i++) {
        if (strcmp(name, table[i]->name) == 0) {
            *backend = table[i];
            return VBS_OK;
        }
        names[i] = table[i]->name;
    }
    nearest = vbs_nearest_name(name, names, N_BACKENDS);
    if (nearest)
        return vbs_fail(ctx, VBS_NOT_FOUND, "no backend '%s'; did you mean '%s'?", name, nearest);
    return vbs_fail(ctx, VBS_NOT_FOUND, "no backend '%s'; 'vbslab backends' lists them", name);
}

enum vbs_status vbs_training_open(struct vbs_ctx *ctx, const char *backend,
                                  const struct vbs_network *network,
                                  const struct vbs_training_options *options,
                                  struct vbs_training **session)
{
    const struct vbs_backend *found = NULL;

    VBS_TRY(vbs_backend_find(ctx, backend, &found));
    if (!found->open_training)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "the backend '%s' cannot train; 'onednn' can",
                        backend);
    return found->open_training(ctx, network, options, session);
}
