#include "backend/common/common.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

enum vbs_status vbs_affine(struct vbs_ctx *ctx, const struct vbs_network *network, int layer,
                           int fused, int64_t n, float *factor, float *shift)
{
    const struct vbs_layer *l = &network->layers[layer];
    const union vbs_attributes *a = fused < 0 ? &l->attributes : &l->fused[fused].attributes;
    bool norm = (fused < 0 ? l->op : l->fused[fused].op) == VBS_OP_BATCHNORM;
    double epsilon = norm && a->norm.epsilon != 0 ? a->norm.epsilon : VBS_BATCHNORM_EPSILON;
    int64_t channels = l->shape.dim[0];
    float *statistics = malloc(2 * (size_t)channels * sizeof *statistics);
    float *mean = statistics, *variance = statistics ? statistics + channels : NULL;
    const struct {
        enum vbs_parameter what;
        float *values;
    } parameters[] = {{VBS_PARAMETER_GAMMA, factor},
                      {VBS_PARAMETER_BETA, shift},
                      {VBS_PARAMETER_MEAN, mean},
                      {VBS_PARAMETER_VARIANCE, variance}};
    enum vbs_status status = VBS_OK;

    if (!statistics)
        return vbs_no_memory(ctx);
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0] && status == VBS_OK; i++)
        status = vbs_parameter_values(ctx, network, layer, fused, parameters[i].what, 0, channels,
                                      parameters[i].values);
    if (status != VBS_OK) {
        free(statistics);
        return status;
    }
    if (norm)
        for (int64_t c = 0; c < channels; c++) {
            double scale = factor[c] / sqrt(variance[c] + epsilon);

            factor[c] = (float)scale;
            shift[c] = (float)(shift[c] - scale * mean[c]);
        }
    for (int64_t c = channels; c < n; c++)
        factor[c] = shift[c] = 0;
    free(statistics);
    return VBS_OK;
}
