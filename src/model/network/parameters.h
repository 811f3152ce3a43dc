/* Where the parameters of a network's layers come from. */
#ifndef VBS_MODEL_NETWORK_PARAMETERS_H
#define VBS_MODEL_NETWORK_PARAMETERS_H

#include "vbslab/model.h"

#include "model/network/values.h"

struct vbs_layer_values {
    const struct vbs_values *of[VBS_N_PARAMETERS]; /* null: seeded */
};

struct vbs_parameters {
    struct vbs_source *source; /* or null; owned by the network */
    int n_stored;
    int *first; /* of layer k's operators in values: its own, then the fused ones */
    struct vbs_layer_values *values;
};

#endif
