#include "support/vbz_help.h"

#include "base/ctx.h"
#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static enum vbs_status code_layer(struct vbs_ctx *ctx, const struct vbs_network *network, int layer,
                                  const struct vbz_recipe *recipe, struct vbs_coded **coded)
{
    int64_t n = vbs_weight_count(network, layer);
    int64_t n_rows = network->layers[layer].attributes.weighted.out_channels;
    float *weights = malloc((size_t)n * sizeof *weights);
    struct vbs_quantised quantised = {0};
    enum vbs_status status = weights ? VBS_OK : vbs_no_memory(ctx);

    if (status == VBS_OK)
        status =
            vbs_parameter_values(ctx, network, layer, -1, VBS_PARAMETER_WEIGHTS, 0, n, weights);
    if (status == VBS_OK)
        status = vbs_prune(ctx, weights, n, recipe->density);
    if (status == VBS_OK)
        status = vbs_quantise(ctx, weights, n_rows, n / n_rows, recipe->bits, &quantised);
    if (status == VBS_OK)
        status = vbs_code(ctx, &quantised, &recipe->options, coded);
    vbs_quantised_clear(&quantised);
    free(weights);
    return status;
}

enum vbs_status vbz_write(struct vbs_ctx *ctx, const struct vbs_network *network,
                          const struct vbz_recipe *recipe, const char *path)
{
    size_t n_layers = (size_t)network->n_layers;
    struct vbs_layer_weights *weights = calloc(n_layers, sizeof *weights);
    struct vbs_coded **coded = calloc(n_layers, sizeof *coded);
    enum vbs_status status = weights && coded ? VBS_OK : vbs_no_memory(ctx);
    int n = 0;

    for (int k = 1; k <= network->n_layers && status == VBS_OK; k++) {
        enum vbs_op op = network->layers[k].op;

        if ((op != VBS_OP_CONV && op != VBS_OP_FC) || vbs_weight_count(network, k) < 2)
            continue;
        status = code_layer(ctx, network, k, recipe, &coded[n]);
        weights[n] =
            (struct vbs_layer_weights){.layer = k, .coded = coded[n], .any_form = recipe->any_form};
        n++;
    }
    if (status == VBS_OK)
        status = vbs_network_write(ctx, network, weights, n, path);
    for (int i = 0; coded && i < n; i++)
        vbs_coded_free(coded[i]);
    free(coded);
    free(weights);
    return status;
}

struct vbs_network *vbz_coded(struct vbs_network *plain, const struct vbz_recipe *recipe)
{
    char path[] = "/tmp/t_vbz.XXXXXX.vbz";
    int file = plain ? mkstemps(path, 4) : -1;
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    if (file < 0)
        return NULL;
    if (vbz_write(&ctx, plain, recipe, path) != VBS_OK ||
        vbs_network_load(&ctx, path, NULL, &network) != VBS_OK)
        printf("# %s: %s\n", plain->name, vbs_detail(&ctx));
    vbs_network_free(plain);
    close(file);
    unlink(path);
    return network;
}

struct vbs_network *vbz_network(const char *model, const struct vbz_recipe *recipe)
{
    struct vbs_network *plain = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_network_load(&ctx, model, NULL, &plain) != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    return vbz_coded(plain, recipe);
}
