/* The sources of the parameters of a network's layers. */
#ifndef VBS_MODEL_NETWORK_PARAMETERS_H
#define VBS_MODEL_NETWORK_PARAMETERS_H

#include "vbslab/model.h"

#include "model/network/values.h"

/* The parameters of one operator. */
struct vbs_layer_values {
    const struct vbs_values *of[VBS_N_PARAMETERS]; /* null: the parameter is seeded */
};

/* The parameters of a network. */
struct vbs_parameters {
    struct vbs_source *source; /* null: there is none; owned by the network */
    int n_stored;              /* parameters that the source has */
    int *first; /* [k] index in values at which layer k begins: its own operator, then the fused
                   ones */
    struct vbs_layer_values *values;
};

#endif
