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

bool vbs_provenance_modelled(const struct vbs_provenance *provenance)
{
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
