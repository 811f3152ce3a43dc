/* Copies of networks in which factors of channels are in the weights, or with more outputs. */
#ifndef VBS_MODEL_NETWORK_FOLD_H
#define VBS_MODEL_NETWORK_FOLD_H

#include "vbslab/model.h"

/*
 * Makes a copy of a network without the BatchNorms, Scales and Dropouts that are fused directly
 * with a conv, deconv or fc: their factors are in its weights, and their constants in its bias.
 * *copy is null where there are none. VBS_NO_MEMORY, VBS_INTERRUPTED; errors of
 * vbs_parameter_values.
 */
enum vbs_status vbs_network_fold(struct vbs_ctx *ctx, const struct vbs_network *network,
                                 struct vbs_network **copy) VBS_MUST_CHECK;

/* Makes a copy of a network in which each value that is inside a layer, and for which wanted has
 * true (by vbs_network_operator), is what a layer makes. Errors as above. */
enum vbs_status vbs_network_tap(struct vbs_ctx *ctx, const struct vbs_network *network,
                                const bool *wanted, struct vbs_network **copy) VBS_MUST_CHECK;

#endif
