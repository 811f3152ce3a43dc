/* Normalisations as a factor and a shift of each channel. Internal to the room. */
#ifndef VBS_BACKEND_COMMON_AFFINE_H
#define VBS_BACKEND_COMMON_AFFINE_H

#include "vbslab/model.h"

/* y = factor * x + shift of a BatchNorm or Scale: the layer's own (fused < 0) or a fused one.
 * n values each; those beyond the layer's channels are 0. */
enum vbs_status vbs_affine(struct vbs_ctx *ctx, const struct vbs_network *network, int layer,
                           int fused, int64_t n, float *factor, float *shift) VBS_MUST_CHECK;

#endif
