/* Copies of networks in which tensors have fewer positions along a dimension: fewer channels. */
#ifndef VBS_MODEL_NETWORK_CUT_H
#define VBS_MODEL_NETWORK_CUT_H

#include "vbslab/model.h"

#include <stdbool.h>

/* The positions along one dimension of a layer's output that stay. */
struct vbs_cut {
    int axis;         /* dimension of the output */
    const bool *keep; /* [shape.dim[axis]]; null: all stay */
};

/*
 * Makes a copy of a network whose tensors have only the positions that stay: cuts[k], 1..n_layers,
 * is that of the output of layer k, also behind its fused operators; cuts[0] is not read. Every
 * layer that reads a cut tensor loses the weights and the values by channel that belong to what is
 * gone. seeded: the copy has seeded parameters, and nothing is read; else it has the values that
 * stay, in memory of its own. The copy is freed by vbs_network_free, and comes neither from a text
 * nor from ONNX.
 *
 * The caller says what is cut everywhere: vbs_network_cut does not find out which tensors must be
 * cut together, but refuses cuts that it sees not to fit together.
 *
 * Errors: VBS_USAGE (an output of the network is cut; nothing of a tensor would stay; an operator
 * needs what is gone, or would mix channels: the detail names the layer), VBS_NO_MEMORY,
 * VBS_INTERRUPTED; errors of vbs_parameter_values. Complexity: O(parameters + elements of views).
 */
enum vbs_status vbs_network_cut(struct vbs_ctx *ctx, const struct vbs_network *network,
                                const struct vbs_cut *cuts, bool seeded,
                                struct vbs_network **copy) VBS_MUST_CHECK;

#endif
