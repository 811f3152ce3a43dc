#include "support/onnx_compute.h"

#include "base/ctx.h"
#include "model/onnx/onnx.h"
#include "reference/backend/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST_INPUTS 8 /* of a layer */

/* Computes all layers; *result: the first output. */
static void compute(const struct vbs_network *network, const float *x, float **result)
{
    float **tensors = calloc((size_t)network->n_layers + 1, sizeof *tensors);
    const float *inputs[MOST_INPUTS];

    for (int k = 1; tensors && k <= network->n_layers; k++) {
        for (int i = 0; i < network->layers[k].n_inputs && i < MOST_INPUTS; i++) {
            int from = network->layers[k].inputs[i];

            inputs[i] = from == 0 ? x : tensors[from];
        }
        tensors[k] = reference_layer(network, k, inputs);
    }
    for (int k = 1; tensors && k <= network->n_layers; k++) {
        if (k == network->outputs[0].layer)
            *result = tensors[k];
        else
            free(tensors[k]);
    }
    free(tensors);
}

float *onnx_compute(const struct bytes *model, const float *x, int64_t *count)
{
    char path[] = "/tmp/t_onnx_compute.XXXXXX";
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    int file = mkstemp(path);
    float *result = NULL;

    if (file < 0 || close(file) != 0 || !bytes_write(model, path) ||
        vbs_onnx_load(&ctx, path, NULL, NULL, 0, &network) != VBS_OK) {
        printf("# %s\n", vbs_detail(&ctx));
    } else {
        *count = vbs_shape_elements(&network->outputs[0].shape);
        compute(network, x, &result);
    }
    vbs_network_free(network);
    unlink(path);
    return result;
}
