/* The key of a file of packed weights: a text of everything on which they depend. */
#include "exec/weights/key.h"

#include "base/fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Hashes eight bytes at a time, by multiplication and folding. The hash is not meant for
 * secrets. */
uint64_t vbs_exec_hash(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t word;

    for (; bytes >= sizeof word; at += sizeof word, bytes -= sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    for (; bytes > 0; at++, bytes--)
        hash = (hash ^ *at) * UINT64_C(0x100000001b3);
    return hash;
}

/* Finds the kernel that packs weights alone, or the first of the slices that pack them together;
 * -1: there is none. */
static int find_packer(const struct vbs_exec_checked *checked, int packed)
{
    int packer = -1;

    for (int i = 0; i < checked->n_kernels; i++) {
        const struct vbs_exec_kernel *kernel = &checked->kernels[i];

        if (kernel->packed != packed)
            continue;
        if (kernel->requested.n_slices == 0)
            return i;
        if (packer < 0)
            packer = i;
    }
    return packer;
}

enum vbs_status vbs_exec_packers(struct vbs_ctx *ctx, const struct vbs_exec_checked *checked,
                                 int packed, int **kernels, int *n)
{
    int packer = find_packer(checked, packed);
    int n_slices = packer >= 0 ? checked->kernels[packer].requested.n_slices : 0;
    int *found = malloc(((size_t)n_slices + 1) * sizeof *found);

    if (!found)
        return vbs_no_memory(ctx);
    for (int p = 0; p < n_slices; p++)
        found[p] = -1;
    if (n_slices == 0)
        found[0] = packer;
    for (int i = checked->n_kernels - 1; i >= 0 && n_slices > 0; i--)
        if (checked->kernels[i].packed == packed &&
            checked->kernels[i].requested.n_slices == n_slices)
            found[checked->kernels[i].requested.slice - 1] = i;
    for (int p = 0; p < n_slices; p++)
        if (found[p] < 0) {
            free(found);
            return vbs_fail(
                ctx, VBS_UNSUPPORTED,
                "layer %d '%s' runs in slices that read different packed formats of its weights",
                checked->packed[packed].layer,
                checked->profile->layers[checked->packed[packed].layer].name);
        }
    *kernels = found;
    *n = n_slices > 0 ? n_slices : packer >= 0;
    return VBS_OK;
}

/* ---- values that a file brings ---- */

static enum vbs_status hash_values(struct vbs_ctx *ctx, const struct vbs_network *network,
                                   int layer, int fused, enum vbs_parameter what, int64_t count,
                                   uint64_t *hash)
{
    int64_t most = vbs_parameter_at_once(network, layer, fused, what);
    float *values = malloc((size_t)(count < most ? count + 1 : most) * sizeof *values);
    enum vbs_status status = values ? VBS_OK : vbs_no_memory(ctx);

    for (int64_t at = 0; at < count && status == VBS_OK; at += most) {
        int64_t n = count - at < most ? count - at : most;

        status = vbs_check_cancel(ctx);
        if (status == VBS_OK)
            status = vbs_parameter_values(ctx, network, layer, fused, what, at, n, values);
        if (status == VBS_OK)
            *hash = vbs_exec_hash(*hash, values, (size_t)n * sizeof *values);
    }
    free(values);
    return status;
}

/* Hashes the parameters of BatchNorm and Scale, which may be folded into the weights before
 * them. */
static enum vbs_status hash_fused(struct vbs_ctx *ctx, const struct vbs_network *network, int layer,
                                  uint64_t *hash)
{
    static const enum vbs_parameter FOLDED[] = {VBS_PARAMETER_MEAN, VBS_PARAMETER_VARIANCE,
                                                VBS_PARAMETER_GAMMA, VBS_PARAMETER_BETA};
    const struct vbs_layer *l = &network->layers[layer];
    enum vbs_status status = VBS_OK;

    for (int b = 0; b < l->n_fused; b++)
        for (int i = 0; i < 4 && status == VBS_OK; i++)
            if (l->fused[b].op == VBS_OP_BATCHNORM || l->fused[b].op == VBS_OP_SCALE)
                status = hash_values(ctx, network, layer, b, FOLDED[i], l->shape.dim[0], hash);
    return status;
}

static enum vbs_status hash_stored(struct vbs_ctx *ctx, const struct vbs_network *network,
                                   uint64_t *hash)
{
    for (int k = 1; k <= network->n_layers; k++) {
        const struct vbs_layer *l = &network->layers[k];

        if (!vbs_network_coded(network, k)) /* else the hash of the network holds them */
            VBS_TRY(hash_values(ctx, network, k, -1, VBS_PARAMETER_WEIGHTS,
                                vbs_weight_count(network, k), hash));
        if (l->operand.n_dims > 0)
            VBS_TRY(hash_values(ctx, network, k, -1, VBS_PARAMETER_OPERAND,
                                vbs_shape_elements(&l->operand), hash));
        VBS_TRY(hash_fused(ctx, network, k, hash));
    }
    return VBS_OK;
}

/* ---- the text ---- */

enum vbs_status vbs_exec_weights_key(struct vbs_ctx *ctx, const struct vbs_exec_checked *checked,
                                     const struct vbs_network *network,
                                     const struct vbs_session *session, struct vbs_text *key)
{
    const struct vbs_provenance *c = &session->provenance;
    uint64_t stored = 0;

    if (vbs_network_stored(network) > 0)
        VBS_TRY(hash_stored(ctx, network, &stored));
    vbs_text_addf(key, "network %016" PRIx64 "\nvalues %016" PRIx64 "\nbackend %s\nlibrary %s\n",
                  vbs_network_hash(network), stored, c->backend ? c->backend : "",
                  c->library ? c->library : "");
    vbs_text_addf(key, "device %s\nthreads %d\n", c->device ? c->device : "", c->threads);
    if (vbs_exec_uses_stripes(checked))
        vbs_text_add(key, "stripes\n");
    for (int m = 0; m < checked->n_packed; m++) {
        const struct vbs_exec_packed *packed = &checked->packed[m];
        int packer = find_packer(checked, m);

        vbs_text_addf(key, "layer %d bytes %" PRId64, packed->layer, packed->packed_bytes);
        if (packer >= 0) {
            const struct vbs_requested_kernel *requested = &checked->kernels[packer].requested;

            vbs_text_addf(key, " parts %d batch %d ", requested->n_slices, requested->batch);
            if (requested->rows > 0)
                vbs_text_addf(key, "rows %d ", requested->rows);
            vbs_text_add(key, "algorithm ");
            vbs_text_add(key, requested->algorithm);
        }
        vbs_text_add(key, "\n");
    }
    return key->failed ? vbs_no_memory(ctx) : VBS_OK;
}
